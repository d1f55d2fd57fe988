"""The families of cases about loss, copies and things that only look like them. Each draws its
parameters from the seed. A family is a function of a Case; its name is what --families matches."""
from case import MS
from wire import RNR_TIMER_US, UC, UD, XRC

FAMILIES = {}


def family(*names):
	def enter(function):
		for name in names:
			FAMILIES[name] = function
		return function
	return enter


def pair(case, **settings):
	a, b = case.host(), case.host()
	return case.flow(a, b, **settings)


def bursts(case, flow, n, kinds=('write',), low=24, high=90, idle=0.3):
	"""@n messages of @low to @high packets; some after an idle time, the others close together."""
	rng, messages = case.rng, []
	for _ in range(n):
		gap = rng.randrange(1000, 60000)
		if rng.random() < idle:
			gap = rng.randrange(1 * MS, 12 * MS)
		kind = rng.choice(kinds)
		octets = rng.randrange(low * flow.mtu, high * flow.mtu)
		if kind in ('swap', 'add'):
			octets = 8
		messages.append((gap, kind, octets))
	return case.plan(flow, messages)


def inside(case, spans, n, room=14, least=24):
	"""@n numbers in different messages, each with @room packets of its message after it."""
	rng = case.rng
	able = [span for span in spans[1:] if span[1] >= least]
	chosen = rng.sample(able, min(n, len(able)))
	return sorted(first + rng.randrange(2, packets - room) for first, packets in chosen)


def others(case, n=2):
	"""Flows with nothing wrong, for company."""
	for _ in range(n):
		flow = pair(case)
		bursts(case, flow, case.rng.randrange(3, 10), low=1, high=40)


# ---- nothing wrong

@family('clean_idle', 'clean_mixed')
def clean(case):
	kinds = ('write', 'send') if case.family == 'clean_idle' else ('write', 'send', 'read', 'swap', 'add')
	for _ in range(case.rng.randrange(2, 5)):
		bursts(case, pair(case), case.rng.randrange(4, 14), kinds, 1, 50)


@family('clean_wrap')
def clean_wrap(case):
	for _ in range(2):
		flow = pair(case, psn0=(1 << 24) - case.rng.randrange(1, 150))
		bursts(case, flow, 8, ('write', 'send', 'read'), 4, 60)


@family('clean_ud')
def clean_ud(case):
	"""Two senders of one host, and one of another, write to one UD queue pair."""
	a, b, c = case.host(), case.host(), case.host()
	qp = case.rng.randrange(2, 1 << 24)
	for src in (a, a, c):
		flow = case.flow(src, b, transport=UD, dst_qp=qp, window=1 << 30, gbps=case.gbps / 4)
		case.plan(flow, [(case.rng.randrange(500, 30000), 'send', case.rng.randrange(1, flow.mtu))
			for _ in range(case.rng.randrange(100, 400))])


@family('clean_uc')
def clean_uc(case):
	bursts(case, pair(case, transport=UC, window=1 << 30), 12, ('write', 'send'), 1, 60)


@family('clean_xrc')
def clean_xrc(case):
	bursts(case, pair(case, transport=XRC), 10, ('write', 'send', 'read'), 1, 60)


@family('clean_both_ways')
def clean_both_ways(case):
	"""Requests of both sides on one queue pair: two PSN spaces that share rows with the other's ACKs."""
	a, b = case.host(), case.host()
	flow = case.flow(a, b)
	back = case.flow(b, a, src_qp=flow.dst_qp, dst_qp=flow.src_qp, sport=flow.sport ^ 0x55, near=flow.far,
		far=flow.near, credits=flow.credits)
	bursts(case, flow, 10, ('write', 'send', 'read'), 1, 60)
	bursts(case, back, 10, ('write', 'send', 'read'), 1, 60)


@family('clean_read')
def clean_read(case):
	for _ in range(3):
		bursts(case, pair(case), 10, ('read',), 1, 90)


@family('clean_incast')
def clean_incast(case):
	from simulate import Bottleneck
	dst = case.host()
	case.sim.marker = Bottleneck(case.gbps, 5000, 200000, 0.3)
	for _ in range(case.rng.randrange(5, 12)):
		flow = case.flow(case.host(), dst, timeout=67 * MS)
		bursts(case, flow, 4, ('write',), 30, 90, idle=0)


@family('clean_one_direction', 'clean_acks_only')
def clean_half(case):
	case.direction = 'out' if case.family == 'clean_one_direction' else 'back'
	for _ in range(3):
		bursts(case, pair(case), 10, ('write', 'send'), 1, 60)


@family('clean_large_paused')
def clean_large_paused(case):
	"""One large message, whose sender is paused in the midst of it."""
	flow = pair(case, timeout=67 * MS, window=1 << 20)
	case.gbps = 10
	flow.nic.ns_per_byte = 0.8
	flow.gbps = 10.0
	packets = case.rng.randrange(1500, 4000)
	case.plan(flow, [(1000, 'write', packets * flow.mtu)])
	takes = packets * flow.mtu * 0.8
	t = int(takes / 3)
	for _ in range(2):
		end = t + case.rng.randrange(5 * MS, 20 * MS)
		case.pause(flow.src, t, end, 3, 'xon')
		t = end + case.rng.randrange(1 * MS, 15 * MS)
	case.until += 80 * MS


@family('clean_span', 'clean_routed', 'clean_any', 'clean_vlan_copy', 'clean_two_interfaces')
def clean_copies(case):
	case.copies = {'clean_span': 'span', 'clean_routed': 'routed', 'clean_any': 'any',
		'clean_vlan_copy': 'vlan', 'clean_two_interfaces': 'span'}[case.family]
	case.ng = case.ng or case.family in ('clean_any', 'clean_two_interfaces')
	case.two = case.family == 'clean_two_interfaces'
	case.copy_delay = case.rng.choice([1500, 4000, 9000])
	case.background.add('copy')
	for _ in range(2):
		bursts(case, pair(case), 8, ('write', 'send', 'read'), 1, 60)


@family('clean_mirror_reorder')
def clean_mirror_reorder(case):
	case.mirror_jitter = case.rng.randrange(500, 5000)
	case.background.add('reordered')
	for _ in range(2):
		bursts(case, pair(case), 10, ('write', 'send'), 1, 60)


@family('clean_spray')
def clean_spray(case):
	"""One queue pair over many ways of different length; the responder takes packets in any order."""
	case.background.add('reordered')
	for _ in range(2):
		flow = pair(case, window=128)
		flow.tolerant, flow.spray = True, case.rng.choice([16, 64, 256])
		flow.late_by = case.rng.randrange(500, 4000)
		bursts(case, flow, 10, ('write', 'send'), 4, 60)


@family('clean_long', 'lost_long')
def long(case):
	"""Enough packets that one in 100 of them still says something."""
	case.mtu, case.snap = 1024, 128
	for _ in range(2):
		flow = pair(case, window=256, timeout=67 * MS)
		spans = bursts(case, flow, 60, ('write', 'send'), 60, 200, idle=0.1)
		if case.family == 'lost_long':
			for number in inside(case, spans, 8):
				flow.loss[number] = [case.rng.choice(['before', 'after'])]


@family('reconnected')
def reconnected(case):
	"""The connection ends, and the same queue pair numbers come again with another PSN."""
	flow = pair(case)
	bursts(case, flow, 5, low=4)
	begin = case.until + case.rng.randrange(5 * MS, 60 * MS)
	again = case.flow(flow.src, flow.dst, src_qp=flow.src_qp, dst_qp=flow.dst_qp, sport=flow.sport,
		psn0=flow.psn0 + case.rng.randrange(1 << 18, (1 << 24) - (1 << 18)) & 0xFFFFFF)
	spans = case.plan(again, [(case.rng.randrange(1000, 2 * MS), 'write', 40 * again.mtu) for _ in range(5)],
		at=begin)
	event = {'flow': again, 'where': 'reconnect', 'number': 0, 'missing': spans[0][1], 'end': None,
		't0': begin, 't1': begin + 3 * MS, 'repairs': []}
	case.sim.truth.append(event)


# ---- something lost

@family('lost_before', 'lost_beyond', 'lost_before_out', 'lost_beyond_out', 'lost_back_only')
def lost(case):
	where = 'after' if 'beyond' in case.family else 'before'
	flow = pair(case)
	if case.family.endswith('_out'):
		case.direction = 'out'
	if case.family.endswith('back_only'):
		case.direction = 'back'
	spans = bursts(case, flow, 14, ('write', 'send'))
	for number in inside(case, spans, case.rng.randrange(2, 7)):
		for i in range(case.rng.choice([1, 1, 1, 2, 5])):
			flow.loss[number + i] = [where]
	others(case)


@family('lost_twice')
def lost_twice(case):
	"""The packet that is sent again is lost again, or another one of the same flight is."""
	flow = pair(case)
	spans = bursts(case, flow, 14, low=40)
	for number in inside(case, spans, 4, room=20, least=40):
		where = case.rng.choice(['before', 'after'])
		flow.loss[number] = [where]
		flow.loss[number + case.rng.randrange(2, 9)] = [where]


@family('lost_copied')
def lost_copied(case):
	"""Real loss in a capture that sees each packet twice."""
	lost_plain = pair(case)
	case.copies = case.rng.choice(['span', 'routed'])
	case.background.add('copy')
	case.copy_delay = 3000
	spans = bursts(case, lost_plain, 14)
	for number in inside(case, spans, 4):
		lost_plain.loss[number] = [case.rng.choice(['before', 'after'])]


@family('lost_both_ways')
def lost_both_ways(case):
	clean_both_ways(case)
	for flow in case.flows:
		for number in case.rng.sample(range(60, 200), 2):
			flow.loss[number] = [case.rng.choice(['before', 'after'])]


@family('capture_loss', 'capture_loss_told', 'capture_loss_out', 'capture_loss_burst')
def capture_loss(case):
	flow = pair(case)
	if case.family == 'capture_loss_out':
		case.direction = 'out'
	if case.family == 'capture_loss_told':
		case.ng = case.tell_drops = True
		case.capture_drop = 0.004
	spans = bursts(case, flow, 14)
	if case.family != 'capture_loss_told':
		for number in inside(case, spans, case.rng.randrange(2, 7)):
			n = 1
			if case.family == 'capture_loss_burst':
				n = case.rng.randrange(3, 14)
			for i in range(n):
				flow.loss[number + i] = ['capture']
	others(case)


@family('reordered')
def reordered(case):
	"""The path reorders, and the responder takes packets in any order."""
	flow = pair(case, window=128)
	flow.tolerant = True
	spans = bursts(case, flow, 12)
	step = flow.mtu * 8 / case.gbps
	flow.late_by = int(step * case.rng.randrange(2, 7))
	for number in inside(case, spans, 5):
		flow.loss[number] = ['late']
	others(case)


@family('rnr', 'rnr_again', 'rnr_out')
def rnr(case):
	flow = pair(case, timeout=67 * MS)
	if case.family == 'rnr_out':
		case.direction = 'out'
	spans = bursts(case, flow, 12, ('send',), 4, 60, idle=0)
	code = case.rng.randrange(4, 24)
	for first, _ in case.rng.sample(spans[1:], case.rng.randrange(1, 5)):
		n = 1 if case.family != 'rnr_again' else case.rng.randrange(2, 4)
		flow.rnr[first] = [code] * n
	case.until += int(40 * RNR_TIMER_US[code] * 1000)
	others(case)


@family('timeout_beyond', 'timeout_before', 'nak_lost')
def timeout(case):
	flow = pair(case)
	spans = bursts(case, flow, 9, idle=0.6)
	if case.family == 'nak_lost':
		for number in inside(case, spans, 2):
			flow.loss[number] = [case.rng.choice(['before', 'after'])]
			flow.answer_loss[('nak', number)] = [case.rng.choice(['before', 'after'])]
		case.until += 4 * case.timeout
		return
	where = 'after' if case.family == 'timeout_beyond' else 'before'
	last_first, last_packets = spans[-1]
	n = case.rng.randrange(1, min(6, last_packets))
	for number in range(last_first + last_packets - n, last_first + last_packets):
		flow.loss[number] = [where]
	others(case)


@family('ack_lost', 'ack_lost_before')
def ack_lost(case):
	flow = pair(case, window=128)
	spans = bursts(case, flow, 6, low=2, high=30, idle=0.5)
	last = spans[-1][0] + spans[-1][1] - 1
	flow.answer_loss[('ack', last)] = ['after' if case.family == 'ack_lost' else 'before']
	others(case)


@family('selective_before', 'selective_beyond')
def selective(case):
	flow = pair(case, window=128)
	flow.selective = True
	spans = bursts(case, flow, 14)
	where = 'before' if case.family == 'selective_before' else 'after'
	for number in inside(case, spans, case.rng.randrange(2, 6)):
		flow.loss[number] = [where]
	others(case)


@family('read_lost_before', 'read_lost_beyond')
def read_lost(case):
	"""A response is lost before the capture point, as seen from the responder, or beyond it."""
	flow = pair(case)
	spans = bursts(case, flow, 9, ('read',))
	where = 'before' if case.family == 'read_lost_before' else 'after'
	for number in inside(case, spans, case.rng.randrange(1, 5)):
		flow.answer_loss[('response', number)] = [where]
	others(case)


@family('read_tail_lost', 'read_request_lost')
def read_tail(case):
	flow = pair(case)
	spans = bursts(case, flow, 6, ('read',), 4, 50, idle=0.5)
	first, packets = spans[-1]
	if case.family == 'read_tail_lost':
		flow.answer_loss[('response', first + packets - 1)] = [case.rng.choice(['before', 'after'])]
	else:
		flow.loss[first] = ['after']
	others(case)


@family('uc_lost', 'uc_capture_loss')
def uc_lost(case):
	flow = pair(case, transport=UC, window=1 << 30)
	spans = bursts(case, flow, 12, ('write', 'send'))
	for number in inside(case, spans, 4):
		flow.loss[number] = ['before' if case.family == 'uc_lost' else 'capture']


@family('xrc_lost')
def xrc_lost(case):
	flow = pair(case, transport=XRC)
	spans = bursts(case, flow, 12)
	for number in inside(case, spans, 4):
		flow.loss[number] = [case.rng.choice(['before', 'after', 'capture'])]


@family('mixed')
def mixed(case):
	"""Several causes in one capture, on several queue pairs."""
	for kind in case.rng.sample(['before', 'after', 'capture', 'rnr', 'read', 'selective', 'tail'], 4):
		flow = pair(case, timeout=case.timeout)
		verb = {'rnr': 'send', 'read': 'read'}.get(kind, 'write')
		flow.selective = kind == 'selective'
		spans = bursts(case, flow, 10, (verb,))
		if kind == 'rnr':
			flow.rnr[spans[3][0]] = [case.rng.randrange(4, 18)]
			flow.timeout = 67 * MS
		elif kind == 'read':
			flow.answer_loss[('response', inside(case, spans, 1)[0])] = ['before']
		elif kind == 'tail':
			flow.loss[spans[-1][0] + spans[-1][1] - 1] = ['after']
		else:
			for number in inside(case, spans, 2):
				flow.loss[number] = ['before' if kind == 'selective' else kind]


@family('wrap_lost')
def wrap_lost(case):
	"""Loss where the PSN begins again at 0."""
	flow = pair(case, psn0=(1 << 24) - case.rng.randrange(100, 400))
	spans = bursts(case, flow, 14)
	for number in inside(case, spans, 5):
		flow.loss[number] = [case.rng.choice(['before', 'after'])]

