"""The families of cases about time: rates and CNPs, receivers, pauses, stalls, the training rhythm."""
from case import MS
from families import family
from simulate import Bottleneck, Dcqcn
from wire import CE, CNP


def senders(case, n, gbps, ms, rate_of=None, **settings):
	"""@n hosts that write to one receiver without end, for @ms, at @gbps each."""
	dst = case.host()
	flows = []
	case.gbps = gbps
	for nic in case.nics.values():
		nic.ns_per_byte = 8 / gbps
	for i in range(n):
		src = case.host()
		flow = case.flow(src, dst, mtu=4096, window=1 << 20, timeout=67 * MS, ack_every=64,
			near=case.rng.randrange(300, 2500), **settings)
		flow.gbps = float(gbps if rate_of is None else rate_of(i))
		message = case.rng.choice([64, 256, 1024])
		packets = int(ms * 1e6 * flow.gbps / 8 / 4200) + 1
		case.plan(flow, [(case.rng.randrange(50000) if k == 0 else 0, 'write', message * 4096)
			for k in range(packets // message + 1)])
		flows.append(flow)
	case.until = int(ms * MS)
	case.snap = 256
	return flows


def react(case, flows, answers=True):
	"""Truth per host, from what the capture shows."""
	rows = {}
	for flow in flows:
		host = flow.src.text(flow.family)
		row = rows.setdefault(host, dict(host=host, cnp=0, ce=0, verdict=None, accept=[]))
		row['verdict'] = flow.truth_verdict
		row['accept'] = [flow.truth_verdict]
	case.extra_truth['reaction'] = list(rows.values())
	case.extra_truth['receivers'] = []
	case.answers_truth = answers


def counted(case):
	"""CE and CNP of each host, once the capture is known."""
	rows, receivers = {row['host']: row for row in case.extra_truth['reaction']}, {}
	for _, packet, flow, way in case.shown:
		if packet.opcode == CNP:
			host = packet.dst.text(packet.family)
			if host in rows:
				rows[host]['cnp'] += 1
			at = receivers.setdefault(packet.src.text(packet.family), [0, 0])
			at[1] += 1
		elif packet.ecn == CE:
			host = packet.src.text(packet.family)
			if host in rows:
				rows[host]['ce'] += 1
			at = receivers.setdefault(packet.dst.text(packet.family), [0, 0])
			at[0] += 1
	for host, (marks, cnps) in receivers.items():
		verdict = 'answers' if case.answers_truth else 'does_not_answer'
		if case.direction == 'out' or not marks:
			verdict = 'answers' if cnps else None
		case.extra_truth['receivers'].append(dict(host=host, ce=marks, cnp=cnps, verdict=verdict))


def queue(case, gbps):
	case.sim.marker = Bottleneck(gbps, 20000, 200000, case.rng.choice([0.05, 0.2, 1.0]))


def dcqcn(case, flow, gbps, timer=None):
	flow.dcqcn = Dcqcn(gbps * 1e9, timer_ns=timer or case.rng.choice([55000, 150000, 300000]),
		additive=case.rng.choice([5e6, 40e6]))


@family('react_on', 'react_off', 'react_one_off')
def reaction(case):
	"""Senders share a bottleneck; with DCQCN, without it, or one of them without."""
	gbps, n = case.rng.choice([10, 25]), case.rng.randrange(2, 5)
	flows = senders(case, n, gbps, case.rng.randrange(18, 40) * (25 if gbps == 10 else 10) / 25)
	queue(case, gbps)
	for i, flow in enumerate(flows):
		on = case.family == 'react_on' or case.family == 'react_one_off' and i
		flow.truth_verdict = 'slows' if on else 'does_not_slow'
		if on:
			dcqcn(case, flow, gbps)
		else:
			flow.gbps = gbps / n * 1.3
		flow.cnp_ns = case.rng.choice([4000, 50000])
	react(case, flows)
	case.after = counted


@family('react_application')
def application(case):
	"""The application never asks for more than the rate machine gives: CNPs cut a rate nobody uses."""
	gbps = 25
	flows = senders(case, 3, gbps, 4)
	queue(case, gbps)
	for flow in flows:
		flow.messages, flow.total = [], 0
	case.sim.heap.clear()
	for flow in flows:
		dcqcn(case, flow, gbps, 55000)
		flow.truth_verdict = 'too_few'
		octets = case.rng.randrange(4, 12) * 4096
		gap = case.rng.randrange(60000, 120000)
		case.plan(flow, [(int(gap * case.rng.uniform(0.9, 1.1)), 'write', octets) for _ in range(350)])
	case.sim.marker.kmin, case.sim.marker.kmax, case.sim.marker.share = 4000, 60000, 0.5
	react(case, flows)
	case.after = counted


@family('react_burst_end')
def burst_end(case):
	"""Without DCQCN: each burst ends shortly after its CNPs, because it is over."""
	gbps = 25
	flows = senders(case, 3, gbps, 1)
	queue(case, gbps)
	for flow in flows:
		flow.messages, flow.total = [], 0
	case.sim.heap.clear()
	step = case.rng.randrange(2 * MS, 6 * MS)
	for flow in flows:
		flow.truth_verdict = 'does_not_slow'
		octets = case.rng.randrange(80, 200) * 4096
		case.plan(flow, [(step if k else case.rng.randrange(20000), 'write', octets) for k in range(12)])
	react(case, flows)
	for row in case.extra_truth['reaction']:
		row['accept'].append('too_few')
	case.after = counted


@family('react_paused')
def paused(case):
	"""Without DCQCN, and PFC stops the senders now and then: they get slower, but not for the CNPs."""
	gbps = 25
	flows = senders(case, 2, gbps, 14)
	queue(case, gbps)
	for flow in flows:
		flow.truth_verdict = 'does_not_slow'
		flow.gbps = gbps * 0.7
		t = 1 * MS
		while t < 13 * MS:
			case.pause(flow.src, t, t + case.rng.randrange(80000, 300000), 3, 'xon')
			t += case.rng.randrange(500000, 1200000)
	react(case, flows)
	case.after = counted


@family('react_few')
def few(case):
	"""Two or three CNPs in all."""
	gbps = 25
	flows = senders(case, 1, gbps, 6)
	flow = flows[0]
	flow.truth_verdict = 'too_few'
	flow.gbps = 10.0
	for _ in range(case.rng.randrange(1, 4)):
		case.sim.at(case.rng.randrange(1 * MS, 5 * MS), flow.answer, 'cnp', 0, None, 0)
	react(case, flows)
	case.after = counted


@family('np_off', 'np_one_direction', 'np_marked_beyond')
def receiver(case):
	"""The receiver never answers marks; or its answers are not in the capture; or the marks are not."""
	gbps = 25
	flows = senders(case, 3, gbps, 8)
	queue(case, gbps)
	for flow in flows:
		flow.gbps = gbps / 3 * 1.2
		flow.truth_verdict = 'does_not_slow'
		flow.answers = case.family != 'np_off'
		if case.family == 'np_marked_beyond':
			flow.marked_beyond = True
			dcqcn(case, flow, gbps)
			flow.truth_verdict = 'slows'
	if case.family == 'np_one_direction':
		case.direction = 'out'
	react(case, flows, case.family != 'np_off')
	if case.family != 'np_marked_beyond':
		case.extra_truth['reaction'] = []
	case.after = counted


@family('pause_xon', 'pause_runs_out', 'pause_sparse', 'pause_short', 'pause_two')
def pauses(case):
	flow_a, flow_b = None, None
	a, b, c = case.host(), case.host(), case.host()
	flow_a, flow_b = case.flow(a, c, timeout=67 * MS), case.flow(b, c, timeout=67 * MS)
	for flow in (flow_a, flow_b):
		case.plan(flow, [(case.rng.randrange(1000, 400000), 'write', case.rng.randrange(1, 30) * flow.mtu)
			for _ in range(60)])
	mode = {'pause_xon': 'xon', 'pause_runs_out': 'out', 'pause_sparse': 'sparse', 'pause_short': 'short',
		'pause_two': 'xon'}[case.family]
	t = 1 * MS
	for _ in range(case.rng.randrange(2, 8)):
		length = case.rng.randrange(20000, 4 * MS)
		case.pause(a, t, t + length, 3, mode)
		if case.family == 'pause_two':
			case.pause(b, t + length // 3, t + length, case.rng.choice([3, 4]), mode)
		t += length + case.rng.randrange(2 * MS, 8 * MS)
	case.until = max(case.until, t)


@family('rhythm_step', 'rhythm_last', 'rhythm_long')
def rhythm(case):
	"""A training job: all hosts exchange in each step, and compute in between."""
	n = case.rng.randrange(3, 7)
	case.mtu, case.snap = 1024, 128
	period = case.rng.randrange(20 * MS, 400 * MS)
	if case.family == 'rhythm_long':
		period = case.rng.randrange(400 * MS, 1500 * MS)
	duty = case.rng.uniform(0.1, 0.5)
	steps = case.rng.randrange(12, 24)
	hosts = [case.host() for _ in range(n)]
	late = case.rng.randrange(n) if case.family == 'rhythm_last' else None
	by = int(period * duty * case.rng.uniform(0.15, 0.4))
	parts = 20
	for i, src in enumerate(hosts):
		flow = case.flow(src, hosts[(i + 1) % n], timeout=67 * MS)
		burst = int(period * duty) + (by if i == late else 0)
		wave, t, last = [], 0, 0
		for step in range(steps):
			begin = step * period + int(case.rng.gauss(0, period * 0.004)) + 5 * MS
			for k in range(parts):
				t = max(last, begin + int(burst * (k + case.rng.random() * 0.6) / parts))
				wave.append((t - last, 'write', case.rng.randrange(2, 7) * flow.mtu))
				last = t
		case.plan(flow, wave)
	case.extra_truth['rhythm'] = dict(period_s=period / 1e9,
		burst_s=(period * duty + (by if late is not None else 0)) / 1e9,
		last=hosts[late].text(case.ip_family) if late is not None else None)


@family('rhythm_none')
def rhythm_none(case):
	"""Messages that come when they like."""
	case.mtu, case.snap = 1024, 128
	for _ in range(4):
		flow = pair_of(case)
		case.plan(flow, [(int(case.rng.expovariate(1 / 4e6)), 'write', case.rng.randrange(1, 40) * 1024)
			for _ in range(300)])
	case.extra_truth['rhythm'] = None


def pair_of(case):
	return case.flow(case.host(), case.host(), timeout=67 * MS)


@family('stall_idle', 'stall_timeout', 'stall_rnr', 'stall_pause')
def stalls(case):
	"""A queue pair stands still for a long time, once or twice, for one reason."""
	flow = case.flow(case.host(), case.host(), timeout=4096 << case.rng.randrange(11, 15), window=128)
	other = case.flow(case.host(), case.host(), timeout=67 * MS)
	case.plan(other, [(case.rng.randrange(1000, 300000), 'write', 8 * other.mtu) for _ in range(200)])
	kind = case.family.split('_')[1]
	verb = 'send' if kind == 'rnr' else 'write'
	waits = [case.rng.randrange(1000, 200000) for _ in range(40)]
	if kind == 'idle':
		waits[13] = case.rng.randrange(20 * MS, 200 * MS)
		waits[27] = case.rng.randrange(20 * MS, 200 * MS)
	spans = case.plan(flow, [(gap, verb, case.rng.randrange(8, 30) * flow.mtu) for gap in waits])
	if kind == 'timeout':
		flow.window = 32
		flow.ack_every = 16
		at = spans[20][0] + 2
		for number in range(at, at + 64):
			flow.loss[number] = ['after']
	elif kind == 'rnr':
		flow.timeout = 600 * MS
		for first, _ in (spans[12], spans[30]):
			flow.rnr[first] = [case.rng.randrange(20, 27)]
		case.until += 400 * MS
	elif kind == 'pause':
		flow.timeout = 600 * MS
		t = sum(waits[:20])
		case.pause(flow.src, t, t + case.rng.randrange(15 * MS, 60 * MS), 3, 'xon')
		case.until += 100 * MS

