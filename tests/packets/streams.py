#!/usr/bin/env python3
"""On which side of the mirrors was it lost? Queue pairs seen by several mirrors, over several paths, in storms of loss.
Truth is what was thrown away while the capture was made. A wrong side, a loss that was none, or over 5 % "unknown" end it with 1. See README.md."""
import argparse, json, os, random, re, struct, subprocess, sys, tempfile, zlib  # noqa: E401
from collections import Counter; from heapq import heappop, heappush  # noqa: E702

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import wire  # noqa: E402

US, START, WORDS = 1000, 1790000000 * 10 ** 9, 'right side false unknown reordered copy missed asked off copies twice'.split()
PLAIN = dict(qps=6, n=1500, mpps=None, before=0.0, beyond=0.0, goes_back=True, paths=1, mirrors=1, lag=0, span=False, holes=0.0, cut=0.0, answers=True)
CASES = {'clean': {}, 'data_only': dict(answers=False), 'middle': dict(cut=0.4), 'data_only_before': dict(before=1 / 1000, answers=False, n=3000),
	'holes_before': dict(mirrors=2, lag=40 * US, holes=0.01, before=1 / 400, n=2500), 'spray4_mirrors2': dict(paths=4, mirrors=2, lag=40 * US)}
CASES.update({'spray%d' % paths: dict(paths=paths) for paths in (2, 4, 16, 64)})
for lag in (0, 2500, 40 * US, 200 * US, 1000 * US):
	for name, case in (('mirrors2', {}), ('mirrors3', dict(mirrors=3)), ('span', dict(span=True)), ('fast', dict(mpps=12, qps=24, n=1000))):
		CASES['%s_%dus' % (name, lag // US)] = dict(dict(mirrors=2, lag=lag), **case)
for side in ('before', 'beyond'):
	for rate, n, repair in ((60, 1200, 'gbn'), (60, 1200, 'sel'), (1000, 3000, 'gbn'), (1000, 3000, 'sel')):
		for mirrors in (1, 2):
			CASES['%s_%s_%d_%d' % (repair, side, rate, mirrors)] = {side: 1 / rate, 'goes_back': repair == 'gbn', 'n': n, 'mirrors': mirrors, 'lag': 40 * US}
	for paths, name, more in ((2, '', {}), (8, '', {}), (64, '', {}), (4, '_gbn', dict(goes_back=True)), (4, '_mirrors2', dict(mirrors=2, lag=40 * US))):
		CASES['spray%d%s_%s' % (paths, name, side)] = dict({side: 1 / 700, 'paths': paths, 'goes_back': False, 'n': 2500}, **more)
	CASES.update({'middle_%s' % side: {side: 1 / 200, 'cut': 0.3, 'n': 2500}, 'storm_%s' % side: {side: 1 / 12, 'n': 300, 'qps': 16}})
	CASES['span_gbn_%s' % side] = {side: 1 / 300, 'mirrors': 2, 'lag': 30 * US, 'span': True, 'n': 2500}


def simulate(case, rng, gap):
	"""seen here: [t, sent at, is data, number, sent before, NAK, MSN]; lost: (number, side); NAKs: (t, number); timers: (acknowledged here, and there)"""
	heap, seen, lost, asked, timers, again, got, named = [], [], [], [], [], [], set(), set()
	near, far, window, timer = rng.randrange(500, 5000), rng.randrange(1000, 12000), rng.choice([64, 128, 256]), rng.choice([1, 2, 4]) * 1000 * US
	ways, keeps = [rng.randrange(2 * US, 20 * US) for _ in range(case['paths'])] if case['paths'] > 1 else [0], not case['goes_back'] or case['paths'] > 1
	n, una, nxt, high, busy, progress, expect, open_nak, told = case['n'], 0, 0, -1, True, 0, 0, False, [0]

	def answer(number, nak):
		if nak:
			named.add(number)
			asked.append((t, number))
		told.append(max(told[-1], number + (not nak)))
		seen.append([t + far, t, False, number, False, nak, expect & 0xFFFFFF])
		heappush(heap, (t + far + near, len(seen), 'answer', (number, nak)))

	heap = [(0, 0, 'send', 0), (timer, 0, 'timer', 0)]
	while heap and una < n:
		t, _, kind, what = heappop(heap)
		if kind == 'send':
			busy = bool(again) or nxt < min(n, una + window)
			if not busy:
				continue
			number, nxt = (again.pop(0), nxt) if again else (nxt, nxt + 1)
			here = t + near + ways[rng.randrange(len(ways))]
			passes, arrives = rng.random() >= case['before'], rng.random() >= case['beyond']
			if passes:
				seen.append([here, t, True, number, number <= high, False, 0])
			if passes and arrives:
				heappush(heap, (here + far, len(seen), 'receive', number))
			else:
				lost.append((number, 'lost_beyond' if passes else 'lost_before'))
			high = max(high, number)
			heappush(heap, (t + gap, len(seen), 'send', 0))
		elif kind == 'receive' and (what == expect or what > expect and keeps):
			moved = expect
			got.add(what)
			while expect in got:
				expect += 1
			got -= set(range(moved, expect))
			open_nak = open_nak and expect == moved
			if expect // 8 > moved // 8 or expect == n:
				answer(expect - 1, False)
			if got:
				heappush(heap, (t + (24 * US if len(ways) > 1 else 0), len(seen), 'check', expect))
		elif kind == 'receive' and what < expect:
			answer(expect - 1, False)
		elif kind == 'receive' or kind == 'check' and what == expect and got:
			if not (open_nak if case['goes_back'] else expect in named):
				open_nak = True
				answer(expect, True)
		elif kind == 'answer':
			una, progress = max(una, what[0] + (not what[1])), t
			nxt = max(nxt, una)
			if what[1] and case['goes_back']:
				nxt, again = min(nxt, what[0]), []
			elif what[1] and what[0] < nxt:
				again.append(what[0])
		elif kind == 'timer':
			if t - progress >= timer:
				timers.append((una, told[-1]))
				nxt, again, progress = una, [], t
			heappush(heap, (max(progress, t - timer + 1) + timer, len(seen), 'timer', 0))
		if kind in ('answer', 'timer') and not busy:
			busy, _ = True, heappush(heap, (t, len(seen), 'send', 0))
	return seen, lost, asked, timers


def capture(case, rng):
	"""(records, queue pairs with their truth)"""
	flows, events, records, ids = [], [], [], rng.choice(['zero', 'constant', 'counter'])
	hosts = [wire.Host(i, bytes([2, 0, 0, 0, 0, i]), bytes([10, 0, 0, i]), bytes(16), ids) for i in range(1, 5)]
	gap = int(1000 * case['qps'] / (case['mpps'] or rng.choice([0.5, 1, 4])))
	for i in range(case['qps']):
		begin = rng.randrange(50 * US)
		seen, lost, asked, timers = simulate(case, rng, gap)
		flows.append(dict(psn=rng.randrange(1 << 24) if i else 0xFFFF00, lost=lost, asked=[(t + begin, number) for t, number in asked], timers=timers, resent=0))
		events += [[t + begin, j, i, sent + begin] + rest for j, (t, sent, *rest) in enumerate(seen)]
	for event in sorted(events, key=lambda event: event[3]):
		event[3] = hosts[event[2] % 2 + 2 * (not event[4])].next_id()
	events.sort()
	cut = events[int(len(events) * case['cut'])][0]
	for flow in flows:
		flow['asked'] = [one for one in flow['asked'] if one[0] > cut]
	for t, _, i, ip_id, data, number, before, nak, msn in events:
		if t < cut or not data and not case['answers']:
			continue
		src, dst, opcode, extension = hosts[i % 2], hosts[2 + i % 2], wire.WRITE_MIDDLE + (number % 16 == 15), b''
		if not data:
			src, dst, opcode, extension = dst, src, wire.ACKNOWLEDGE, wire.aeth(0x60 if nak else 0x1F, msn)
		elif number % 16 == 0:
			opcode, extension = wire.WRITE_FIRST, struct.pack('>QII', number, 1, 16384)
		flows[i]['resent'] += data and before
		packet = wire.Packet(src, dst, 4, 50000 + i, 26, 2, opcode, (100 if data else 200) + i, flows[i]['psn'] + number, data and number % 8 == 7, extension, 1024 * data)
		packet.ip_id = ip_id
		body, total = wire.ip_bytes(packet, 128)
		for mirror in range(case['mirrors']):
			head = wire.ethernet(bytes(6), bytes(6), [], 0x0800) + struct.pack('>BBHHHBBH8BHHIHHI', 0x45, 0, 50 + total, 0, 0x4000, 60, 47, 0, 192, 0, 2, mirror,
				192, 0, 2, 99, 0x1000, 0x88BE, len(records), 0x1001, mirror, 0) if case['mirrors'] > 1 and not case['span'] else b''
			if not mirror or rng.random() >= case['holes']:
				records.append((START + t + mirror * case['lag'], head + wire.ethernet(dst.mac, src.mac, [], 0x0800) + body, len(head) + 14 + total, 0))
	return sorted(records, key=lambda record: record[0]), flows


def judge(report, flows, case, count):
	"""What was wrong, in words."""
	rows = {row['dst_qp']: row for row in report['qps']}
	for qp, flow in enumerate(flows, 100):
		row, covered, events = rows[qp], set(), rows[qp]['events'] or []
		for event in events:
			at, width, cause = event['psn'] - flow['psn'] & 0xFFFFFF, max(1, event['missing']), event['cause']
			sides = {side for number, side in flow['lost'] if (number - at) & 0xFFFFFF < width}
			covered.update(range(at, at + width))
			right = cause in sides or cause == 'selective_repeat' and sides or cause == 'timeout' and flow['timers'] or cause == 'ack_lost' and any(
				una <= at < told for una, told in flow['timers'])
			word = cause if cause in WORDS else 'right' if right else 'side' if sides else 'false'
			count[word] += 1
			if word not in ('right', 'reordered'):
				yield '%s: %s at %d+%d of QP %d (%s): %s' % (word, cause, at, width, qp, ','.join(sides), event['proof'])
		if case['answers'] and row['events_total'] <= len(events):
			count.update(asked=len(flow['asked']), missed=sum(number not in covered for t, number in flow['asked']))
		count['off'] += abs((row['retransmits'] or 0) - flow['resent'])


def main():
	parser, bad = argparse.ArgumentParser(description='streams.py --rocewatch build/release/rocewatch --seeds 1-20 --cases "mirrors|spray"'), False
	for option, default in (('rocewatch', 'rocewatch'), ('seeds', '1-3'), ('cases', '.'), ('show', '3')):
		parser.add_argument('--' + option, default=default)
	args = parser.parse_args()
	for name in filter(re.compile(args.cases).search, CASES):
		count, case = Counter(), dict(PLAIN, **CASES[name])
		for seed in range(int(args.seeds.split('-')[0]), int(args.seeds.split('-')[1]) + 1):
			records, flows = capture(case, random.Random(zlib.crc32(name.encode()) * 1000003 + seed))
			with tempfile.NamedTemporaryFile(suffix='.pcap') as file:
				wire.write_pcap(file.name, records, wire.LINK_ETHERNET, 0, True)
				report = json.loads(subprocess.run([args.rocewatch, 'pcap', file.name, '--format', 'json'], capture_output=True, check=False).stdout)
			print(*('  %s.%d %s\n' % (name, seed, note) for note in list(judge(report, flows, case, count))[:int(args.show)]), sep='', end='')
			count.update(copies=report['copies']['packets'], twice=len(records) - len(records) // case['mirrors'])
		print(name, *('%s %d' % (word, count[word]) for word in WORDS), flush=True)
		bad |= count['side'] + count['false'] > 0 or case['answers'] and count['unknown'] > 3 + 0.05 * (count['right'] + count['reordered'])
	return bad


if __name__ == '__main__':
	sys.exit(main())
