"""One case: hosts, flows, the capture point, and from them the capture file and its truth."""
import json
import os

from simulate import Flow, Nic, Sim
from wire import (CE, CNP, LINK_ETHERNET, LINK_SLL2, UC, UD, Host, ethernet, ip_bytes, pfc_frame, sll2,
	write_pcap, write_pcapng)

EPOCH = 1790000000 * 10 ** 9
MS = 1000000

# Why a sender stood still: words that are right, and words that say nothing false.
STALLS = {'idle': (['idle'], []), 'pause': (['pause'], []), 'pause_idle': (['pause', 'idle'], []),
	'timeout': (['timeout'], []), 'rnr': (['rnr'], []), 'other': (['unknown'], [])}


class Case:
	def __init__(self, family, seed, rng):
		self.family, self.seed, self.rng = family, seed, rng
		self.sim = Sim(rng)
		self.hosts, self.flows, self.nics = [], [], {}
		self.start = EPOCH + rng.randrange(10 ** 15)
		self.ip_family = 6 if rng.random() < 0.2 else 4
		self.id_mode = rng.choice(['counter', 'counter', 'zero', 'constant'])
		self.vlan = (rng.randrange(1, 4095) | 3 << 13) if rng.random() < 0.3 else None
		self.ng, self.nanoseconds = rng.random() < 0.5, rng.random() < 0.6
		self.direction, self.copies, self.mirror_jitter = 'both', None, 0
		self.capture_drop, self.tell_drops, self.snap = 0.0, False, 0
		self.frames = []  # (t, bytes): PFC
		self.paused = {}  # (mac, priority): [[t, end], ...]
		self.until = 0
		self.background, self.extra_truth = set(), {}
		self.gbps = rng.choice([10, 25, 50, 100, 100, 200, 400])
		self.near, self.far = rng.randrange(300, 5000), rng.randrange(500, 20000)
		self.mtu = rng.choice([1024, 1024, 4096])
		self.timeout = 4096 << rng.randrange(8, 15)
		self.one_sided = set()

	def after(self, _):
		"""Replaced by families whose truth depends on what the capture shows."""

	def host(self):
		number = len(self.hosts) + 1
		rng = self.rng
		if not self.hosts:
			self.net = rng.randrange(256)
		host = Host(number, bytes([2, 0, rng.randrange(256), rng.randrange(256), self.net, number]),
			bytes([10, self.net, rng.randrange(4), number]),
			bytes([0xFD, 0, self.net, 1] + [0] * 10 + [self.net, number]), self.id_mode)
		self.hosts.append(host)
		self.nics[number] = Nic(self.gbps)
		return host

	def flow(self, src, dst, **settings):
		rng = self.rng
		plain = dict(family=self.ip_family, mtu=self.mtu, src_qp=rng.randrange(2, 1 << 24),
			dst_qp=rng.randrange(2, 1 << 24), sport=rng.randrange(49152, 65536), psn0=rng.randrange(1 << 24),
			gbps=float(self.gbps), nic=self.nics[src.number], back_nic=self.nics[dst.number],
			window=rng.choice([32, 64, 128]), near=self.near, far=self.far,
			ack_every=rng.choice([4, 8, 16, 64]), ack_delay=rng.randrange(200, 1500), timeout=self.timeout,
			credits=rng.choice([31, 31, rng.randrange(4, 31)]))
		plain.update(settings)
		flow = Flow(self.sim, src, dst, **plain)
		self.flows.append(flow)
		return flow

	def plan(self, flow, messages, at=0):
		"""@messages: (gap before it in ns, kind, octets). Returns (first number, packets) of each."""
		t, number, spans = self.sim.now + at, 0, []
		for gap, kind, octets in messages:
			t += gap
			flow.post_at(t, kind, octets)
			packets = 1 if kind in ('swap', 'add') else max(1, -(-octets // flow.mtu))
			spans.append((number, packets))
			number += packets
		self.until = max(self.until, t)
		return spans

	def pause(self, host, t, end, priority, mode):
		"""The switch in front of @host pauses it from @t to @end. Frames: XOFF with all quanta,
		repeated; then XON, or they run out."""
		mac = b'\x02\xff\xee' + host.mac[3:]
		quantum = 512 / self.gbps
		quanta = 65535 if mode != 'short' else self.rng.randrange(200, 3000)
		lasts = quanta * quantum
		at, finish = t, t
		spans = self.paused.setdefault((mac, priority), [])
		while at < end:
			self.frames.append((int(at), pfc_frame(mac, {priority: quanta})))
			finish = at + lasts
			at += lasts * (0.5 if mode != 'sparse' else 1.6)
			if mode == 'sparse':
				spans.append([finish - lasts, finish])
				self.nics[host.number].pauses.append((int(finish - lasts) + self.near, int(finish) + self.near))
		if mode == 'sparse':
			return
		if mode == 'xon':
			finish = end
			self.frames.append((int(end), pfc_frame(mac, {priority: 0})))
		spans.append([t, finish])
		self.nics[host.number].pauses.append((int(t) + self.near, int(finish) + self.near))

	# ---- the capture

	def link(self, packet, side, vlan):
		tags = [] if vlan is None else [vlan]
		src = packet.src.mac if side == 0 else b'\x02\xee\0\0\0' + bytes([packet.dst.number])
		dst = packet.dst.mac if side == 1 else b'\x02\xee\0\0\0' + bytes([packet.src.number])
		return ethernet(dst, src, tags, 0x0800 if packet.family == 4 else 0x86DD)

	def capture(self):
		rng, records, shown = self.rng, [], []
		self.copied = self.capture_lost = 0
		limit = self.snap or 1 << 30
		for t, packet, flow, way in self.sim.seen:
			if self.direction not in ('both', way) or flow in self.one_sided and way == 'back':
				continue
			if self.capture_drop and rng.random() < self.capture_drop:
				self.capture_lost += 1
				self.dropped(flow, way, packet, t)
				continue
			shown.append((t, packet, flow, way))
			data, total = ip_bytes(packet, limit)
			if self.copies == 'any':
				for i in range(3):
					head = sll2(2 + i, 4 if way == 'out' else 0, packet.src.mac,
						0x0800 if packet.family == 4 else 0x86DD)
					records.append((t + i * rng.randrange(300, 1500), head + data, len(head) + total, i))
				self.copied += 2
				continue
			head = self.link(packet, 0 if way == 'out' else 1, self.vlan)
			records.append((t + (rng.randrange(self.mirror_jitter) if self.mirror_jitter else 0),
				head + data, len(head) + total, 0))
			if self.copies:
				self.copied += 1
				records.append(self.copy(t, packet, way, head, data, total, limit))
		for t, data in self.frames:
			records.append((t, data, len(data), 0))
		records.sort(key=lambda record: record[0])
		self.shown = shown
		return [(self.start + t, data, length, interface) for t, data, length, interface in records]

	def copy(self, t, packet, way, head, data, total, limit):
		later = t + self.rng.randrange(700, self.copy_delay)
		if self.copies == 'routed':
			packet.ttl -= 1
			data, total = ip_bytes(packet, limit)
			head = self.link(packet, 2, self.vlan)
		elif self.copies == 'vlan':
			head = self.link(packet, 0 if way == 'out' else 1, None if self.vlan else 100)
		return later, head + data, len(head) + total, 1 if self.ng and self.copies == 'span' and self.two else 0

	copy_delay, two = 6000, False

	def dropped(self, flow, way, packet, t):
		if way == 'out' and packet.opcode != CNP:
			number = (packet.psn - flow.psn0) & 0xFFFFFF
			self.sim.truth.append({'flow': flow, 'where': 'capture', 'number': number, 'missing': 1, 'end': None,
				't0': t, 't1': t, 'repairs': []})
		elif packet.opcode & 31 in (13, 14, 15, 16):
			number = (packet.psn - flow.psn0) & 0xFFFFFF
			self.sim.truth.append({'flow': flow, 'where': 'capture', 'number': number, 'missing': 1, 'end': None,
				't0': t, 't1': t, 'repairs': []})

	# ---- the truth

	def events(self):
		lost_naks = {(event['flow'], event['number']) for event in self.sim.truth
			if event['where'].startswith('answer') and event.get('kind') == 'nak'}
		rows = []
		for event in self.sim.truth:
			causes, decidable = self.causes(event, lost_naks)
			if not causes:
				continue
			flow = event['flow']
			end = event['end'] if event['end'] is not None else event['number'] + event['missing']
			rows.append(dict(src=flow.src.text(flow.family), dst=flow.dst.text(flow.family),
				src_qp=flow.src_qp, dst_qp=flow.dst_qp, psn=flow.psn(event['number']),
				psn_end=flow.psn(max(end, event['number'] + event['missing'])), missing=event['missing'],
				t0=self.start + event['t0'], t1=self.start + (event['t1'] or self.sim.now), cause=causes[0],
				accept=causes, decidable=decidable))
		return merged(rows)

	def causes(self, event, lost_naks):
		flow, where, repairs = event['flow'], event['where'], event['repairs']
		both = self.direction == 'both' and flow not in self.one_sided
		if flow.transport in (UC, UD):
			known = {'before': ['lost_before'], 'after': [], 'capture': ['capture_loss'], 'late': ['reordered']}
			return known[where], where == 'late'
		if where == 'capture':
			return ['capture_loss'], self.direction != 'back'
		if where == 'late':
			return ['reordered'], self.direction != 'back'
		if where == 'reconnect':
			return ['reconnected'], self.direction != 'back'
		if where == 'rnr':
			return ['rnr'], self.direction != 'out' and flow not in self.one_sided
		if where == 'timeout':
			return ['timeout'], self.direction != 'back'
		if where.startswith('answer'):
			if event['kind'] == 'response':
				return (['read_response_lost'], both) if repairs else ([], False)
			if event['kind'] == 'nak' or 'timeout' not in repairs:
				return [], False
			if where == 'answer-after':
				return ['ack_lost', 'timeout'], both
			return ['timeout', 'ack_lost'], self.direction != 'back'
		word = 'lost_before' if where == 'before' else 'lost_beyond'
		if not repairs:
			return [], False
		if flow.selective and 'nak' in repairs:
			return ['selective_repeat', word], both
		if 'timeout' in repairs:
			read = flow.messages and flow.message_of(event['number']).kind == 'read'
			seen = where == 'after' or (flow, event['number']) in lost_naks
			return ['timeout', word] + (['read_response_lost'] if read and where == 'after' else []), \
				seen and self.direction != 'back'
		return [word], self.direction != 'back'

	def stalls(self):
		rows = []
		for flow in self.flows:
			if self.direction == 'back':
				break
			read = any(message.kind == 'read' for message in flow.messages) or self.shares_row(flow)
			for t, end, why in flow.gaps:
				accept, tolerate = STALLS[why]
				rows.append(dict(src=flow.src.text(flow.family), dst=flow.dst.text(flow.family),
					dst_qp=flow.dst_qp, src_qp=flow.src_qp, t=self.start + t + flow.near,
					end=self.start + end + flow.near, s=(end - t) / 1e9, accept=accept, read=read,
					tolerate=tolerate + self.hidden(flow, why), decidable=not self.hidden(flow, why)))
		return rows

	def shares_row(self, flow):
		"""Whether packets of another flow stand in the row of this one."""
		return any(one is not flow and ((one.src, one.dst, one.dst_qp) == (flow.src, flow.dst, flow.dst_qp) or
			(one.dst, one.src, one.src_qp) == (flow.src, flow.dst, flow.dst_qp)) for one in self.flows)

	def hidden(self, flow, why):
		"""Causes that look the same here: the end of a message lost before the capture point, an answer
		that this capture point does not see."""
		if why == 'timeout' and any(event['flow'] is flow and event['where'] == 'before' for event in self.sim.truth):
			return ['idle']
		if why == 'rnr' and self.direction == 'out':
			return ['idle']
		return []

	def messages(self):
		"""Of rows that carry whole SENDs and WRITEs of one flow only."""
		rows, seen = [], {}
		for t, packet, flow, way in self.shown:
			code = packet.opcode & 31
			if way == 'out' and packet.opcode != CNP and code < 12:
				row = seen.setdefault(id(flow), [flow, 0, [], 0])
				row[1] += packet.payload
				if code in (2, 3, 4, 5, 8, 9, 10, 11):
					row[2].append(row[1])
					row[1] = 0
		for flow, _, sizes, _ in seen.values():
			if any(m.kind in ('read', 'swap', 'add') for m in flow.messages) or not sizes or self.shares_row(flow):
				continue
			sizes.sort()
			rows.append(dict(src=flow.src.text(flow.family), dst=flow.dst.text(flow.family), dst_qp=flow.dst_qp,
				n=len(sizes), median=[sizes[(len(sizes) - 1) // 2], sizes[len(sizes) // 2]], max=sizes[-1]))
		return rows

	def totals(self):
		counts = dict(packets=len(self.shown) + self.copied + len(self.frames), roce_packets=len(self.shown),
			cnp=0, nak=0, rnr_nak=0, ce=0, pfc_frames=len(self.frames), retransmits=0)
		by_opcode = {}
		for _, packet, _, _ in self.shown:
			by_opcode[packet.opcode] = by_opcode.get(packet.opcode, 0) + 1
			counts['cnp'] += packet.opcode == CNP
			counts['ce'] += packet.ecn == CE
			if packet.opcode & 31 == 17 and packet.opcode != CNP:
				counts['nak'] += packet.extension[0] >> 5 == 3
				counts['rnr_nak'] += packet.extension[0] >> 5 == 1
		counts['opcodes'] = by_opcode
		return counts

	def pause_truth(self, last):
		"""Up to the last packet of the capture."""
		rows = []
		for (mac, priority), spans in self.paused.items():
			spans = [(t, min(end, last)) for t, end in spans]
			rows.append(dict(mac=':'.join('%02x' % byte for byte in mac), priority=priority,
				paused_s=sum(end - t for t, end in spans) / 1e9,
				longest_s=max(end - t for t, end in spans) / 1e9))
		return rows

	def finish(self, tail=None):
		self.sim.run(self.until + (tail if tail is not None else 4 * self.timeout + 20 * MS))
		records = self.capture()
		self.after(self)
		truth = dict(family=self.family, seed=self.seed, direction=self.direction, family_ip=self.ip_family,
			vlan=self.vlan is not None, link='sll2' if self.copies == 'any' else 'ethernet',
			copies=self.copied, copies_from=self.copies_from(), totals=self.totals(), events=self.events(),
			background=sorted(self.background), stalls=self.stalls(), messages=self.messages(),
			pause=self.pause_truth(records[-1][0] - self.start if records else 0), snap=self.snap, credits=self.credit_truth(),
			capture_drops=self.capture_lost if self.tell_drops else None)
		truth.update(self.extra_truth)
		return records, truth

	def copies_from(self):
		return {None: None, 'span': ['direction', 'interface', 'unknown'], 'routed': ['ttl', 'direction'],
			'any': ['interface'], 'vlan': ['vlan', 'direction']}[self.copies]

	def credit_truth(self):
		from wire import CREDITS
		rows = []
		for flow in self.flows:
			if flow.transport in (UC, UD) or self.direction == 'out' or flow in self.one_sided or self.shares_row(flow):
				continue
			value = None if flow.credits == 31 else CREDITS[flow.credits]
			rows.append(dict(src=flow.src.text(flow.family), dst=flow.dst.text(flow.family), dst_qp=flow.dst_qp,
				back_qp=flow.src_qp, least=value))
		return rows

	def write(self, directory, records, truth):
		os.makedirs(directory, exist_ok=True)
		link = LINK_SLL2 if self.copies == 'any' else LINK_ETHERNET
		name = os.path.join(directory, 'full.pcapng' if self.ng else 'full.pcap')
		write_file(name, records, link, self.snap, self.nanoseconds, truth['capture_drops'])
		with open(os.path.join(directory, 'truth.json'), 'w', encoding='ascii') as out:
			json.dump(truth, out)
		return name


def merged(rows):
	"""Losses that one repair covers are one event: whoever tells either of them tells it."""
	out = []
	for row in sorted(rows, key=lambda row: row['t0']):
		for one in out:
			same = all(one[key] == row[key] for key in ('src', 'dst', 'src_qp', 'dst_qp'))
			if same and row['t0'] <= one['t1'] and overlap(one, row):
				one['t1'] = max(one['t1'], row['t1'])
				low = min(0, signed(row['psn'], one['psn']))
				high = max(signed(one['psn_end'], one['psn']), signed(row['psn_end'], one['psn']))
				one['psn'], one['psn_end'] = one['psn'] + low & 0xFFFFFF, one['psn'] + high & 0xFFFFFF
				one['accept'] = one['accept'] + [word for word in row['accept'] if word not in one['accept']]
				one['missing'] += row['missing']
				one['decidable'] = one['decidable'] and row['decidable']
				break
		else:
			out.append(row)
	return out


def signed(left, right):
	return (left - right + 0x800000 & 0xFFFFFF) - 0x800000


def overlap(one, other):
	return signed(other['psn'], one['psn_end']) < 0 and signed(one['psn'], other['psn_end']) < 0


def write_file(name, records, link, snap, nanoseconds, drops):
	if name.endswith('ng'):
		names = ['mirror%d' % i for i in range(1 + max([record[3] for record in records] or [0]))]
		write_pcapng(name, records, link, snap, nanoseconds, names, drops)
	else:
		write_pcap(name, records, link, snap, nanoseconds)
