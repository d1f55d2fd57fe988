"""Queue pairs that talk over a path with a capture point on it, and what really happened.

Requester and responder follow the InfiniBand specification volume 1, chapter 9: PSN windows, coalesced
ACKs, NAK and go-back-N (9.7.5), RNR NAK (9.7.5.2.8), the transport timer (9.7.6.1.3), READ with
responses (9.7.7), atomics. The rate machine is that of Zhu et al., "Congestion Control for Large-Scale
RDMA Deployments" (SIGCOMM 2015), figure 7. Times are integers of nanoseconds.

The path of a request is: requester - near - capture point - far - responder; answers run back.
"""
import heapq

from wire import (ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE, CE, CNP, COMPARE_SWAP, CREDITS, ECT0, FETCH_ADD,
	NAK_SEQUENCE, PSN_MASK, RC, READ_FIRST, READ_LAST, READ_MIDDLE, READ_ONLY, READ_REQUEST, RNR_TIMER_US,
	SEND_FIRST, SEND_ONLY, UC, UD, WRITE_FIRST, XRC, Packet, aeth)

CONTROL_DSCP = 48


class Sim:
	def __init__(self, rng):
		self.rng = rng
		self.heap, self.serial, self.now = [], 0, 0
		self.seen = []  # (t, packet, flow, 'out' or 'back')
		self.marker = None  # Bottleneck
		self.truth = []

	def at(self, t, call, *args):
		self.serial += 1
		heapq.heappush(self.heap, (t, self.serial, call, args))

	def run(self, until):
		heap = self.heap
		while heap and heap[0][0] <= until:
			t, _, call, args = heapq.heappop(heap)
			self.now = t
			call(*args)
		self.now = until


class Nic:
	"""A host's transmitter: one packet at a time, none while paused."""

	def __init__(self, gbps):
		self.ns_per_byte, self.free, self.pauses = 8 / gbps, 0, []

	def take(self, t, octets):
		"""The time the packet can leave at the earliest, and whether a pause made it wait."""
		t = max(t, self.free)
		waited = False
		for begin, end in self.pauses:
			if begin <= t < end:
				t, waited = end, True
		self.free = t + int((octets + 24) * self.ns_per_byte)
		return t, waited


class Bottleneck:
	"""A queue that marks as DCQCN asks: nothing up to kmin, everything above kmax."""

	def __init__(self, gbps, kmin, kmax, share, seen_marked=True):
		self.ns_per_byte, self.kmin, self.kmax, self.share = 8 / gbps, kmin, kmax, share
		self.empty_at, self.seen_marked, self.most = 0, seen_marked, 0

	def enter(self, sim, t, packet):
		self.empty_at = max(self.empty_at, t) + int(packet.octets() * self.ns_per_byte)
		queue = (self.empty_at - t) / self.ns_per_byte
		self.most = max(self.most, queue)
		if packet.ecn and queue > self.kmin:
			chance = 1.0 if queue > self.kmax else (queue - self.kmin) / (self.kmax - self.kmin) * self.share
			if sim.rng.random() < chance:
				packet.ecn = CE
		return self.empty_at - t


class Dcqcn:
	"""The reaction point; evaluated when it is asked."""

	def __init__(self, line_bps, timer_ns=300000, additive=40e6, g=1 / 256):
		self.line, self.rc, self.rt, self.alpha, self.g = line_bps, line_bps, line_bps, 1.0, g
		self.timer, self.additive, self.rounds = timer_ns, additive, 0
		self.cut_at = self.last_timer = self.last_alpha = 0
		self.active = False

	def rate(self, t):
		while t - self.last_alpha >= 55000 and self.active:
			self.alpha *= 1 - self.g
			self.last_alpha += 55000
		while t - self.last_timer >= self.timer and self.active:
			self.last_timer += self.timer
			self.rounds += 1
			if self.rounds > 5:
				self.rt = min(self.line, self.rt + self.additive)
			self.rc = min(self.line, (self.rc + self.rt) / 2)
		return self.rc

	def cut(self, t):
		self.rate(t)
		if self.active and t - self.cut_at < 50000:
			return
		if not self.active:
			self.alpha = 1.0
		self.active, self.cut_at = True, t
		self.rt, self.rc = self.rc, max(self.rc * (1 - self.alpha / 2), self.line / 1000)
		self.alpha = (1 - self.g) * self.alpha + self.g
		self.last_alpha = self.last_timer = t
		self.rounds = 0


class Message:
	__slots__ = ('kind', 'octets', 'packets', 'first', 'post')

	def __init__(self, kind, octets, packets, first, post):
		self.kind, self.octets, self.packets, self.first, self.post = kind, octets, packets, first, post


class Flow:
	"""One requester and its responder."""

	def __init__(self, sim, src, dst, **settings):
		self.sim, self.src, self.dst = sim, src, dst
		self.transport, self.family, self.mtu = RC, 4, 4096
		self.src_qp = self.dst_qp = self.sport = self.psn0 = 0
		self.gbps, self.nic, self.back_nic, self.window = 100.0, None, None, 64
		self.near, self.far, self.ack_every, self.ack_delay = 1000, 2000, 16, 400
		self.timeout, self.selective, self.dscp, self.credits = 4000000, False, 26, 31
		self.ecn, self.dcqcn, self.cnp_ns, self.answers = ECT0, None, 50000, True
		self.bottleneck_before = True
		for key, value in settings.items():
			assert hasattr(self, key), key
			setattr(self, key, value)
		self.ack_every = min(self.ack_every, self.window // 2)
		self.loss, self.answer_loss = {}, {}  # number: [where, ...] of each transmission
		self.rnr = {}  # number of a request packet: [timer code, ...]
		self.messages, self.total = [], 0
		self.at_message = 0
		self.next = self.una = self.top = 0  # numbers, not PSNs: they do not wrap
		self.wait_until, self.waiting_for, self.progress_at, self.sending = 0, None, 0, False
		self.resend = []  # numbers, of a selective repeat
		self.expected, self.naked, self.held, self.answer_at = 0, False, set(), 0
		self.rnr_of = None
		self.read_expected = None
		self.msn, self.last_cnp = 0, -10 ** 9
		self.ends_at = 0
		self.last_sent, self.gaps = None, []  # (t, ns, why)
		self.back_last, self.back_gaps = None, []
		self.open, self.timer_set = [], False
		self.retries, self.dead = 0, False
		self.spray = 0  # source ports that one queue pair uses at random, each its own way through the fabric

	# ---- what there is to send

	def post(self, kind, octets):
		"""kind: send, write, read, swap, add."""
		packets = max(1, -(-octets // self.mtu)) if kind not in ('swap', 'add') else 1
		self.messages.append(Message(kind, octets, packets, self.total, self.sim.now))
		self.total += packets
		self.wake()

	def post_at(self, t, kind, octets):
		self.sim.at(t, self.post, kind, octets)

	def psn(self, number):
		return self.psn0 + number & PSN_MASK

	def message_of(self, number):
		low, high = 0, len(self.messages) - 1
		while low < high:
			middle = (low + high + 1) // 2
			if self.messages[middle].first <= number:
				low = middle
			else:
				high = middle - 1
		return self.messages[low]

	# ---- requester

	def wake(self):
		if not self.sending and not self.dead:
			self.sending = True
			self.sim.at(max(self.sim.now, self.wait_until), self.pump)

	def pump(self):
		self.sending = False
		now = self.sim.now
		if now < self.wait_until:
			return self.wake()
		if self.resend:
			number = self.resend.pop(0)
		elif self.next < self.total and self.next - self.una < self.window:
			number = self.next
		else:
			return None
		message = self.message_of(number)
		left = message.first + message.packets - number
		packet = self.request(message, number, left)
		taken = left if message.kind == 'read' else 1
		octets = packet.octets()
		leave, paused = self.nic.take(now, octets)
		if paused:
			self.waiting_for = 'pause'
		if number == self.next:
			self.next += taken
		if self.next > self.top:
			self.top = self.next
		if leave > now:
			self.sim.at(leave, self.leave, packet, number, taken)
		else:
			self.leave(packet, number, taken)
		rate = self.dcqcn.rate(leave) if self.dcqcn else self.gbps * 1e9
		gap = int((octets + 24) * 8e9 / rate)
		self.sending = True
		self.sim.at(leave + gap, self.pump)
		return None

	def request(self, message, number, left):
		kind, index = message.kind, number - message.first
		last = left == 1
		extension = b''
		if self.transport == XRC:
			extension = (self.dst_qp + 7 & 0xFFFFFF).to_bytes(4, 'big')
		if self.transport == UD:
			extension = (0x11111111).to_bytes(4, 'big') + self.src_qp.to_bytes(4, 'big')
		size = message.octets
		payload = self.mtu if not last else size - (message.packets - 1) * self.mtu
		ask = last or number % self.ack_every == 0
		if kind == 'read':
			code, payload, ask = READ_REQUEST, 0, True
			extension += b'\0' * 12 + (size - index * self.mtu).to_bytes(4, 'big')
		elif kind in ('swap', 'add'):
			code, payload, ask = COMPARE_SWAP if kind == 'swap' else FETCH_ADD, 0, True
			extension += bytes(28)
		else:
			code = SEND_FIRST if kind == 'send' else WRITE_FIRST
			if message.packets == 1:
				code += 4
			elif last:
				code += 2
			elif index:
				code += 1
			if kind == 'write' and index == 0:
				extension += b'\0' * 12 + size.to_bytes(4, 'big')
		if self.transport in (UC, UD):
			ask = False
		return Packet(self.src, self.dst, self.family, self.sport, self.dscp, self.ecn,
			self.transport | code, self.dst_qp, self.psn(number), int(ask), extension, payload)

	def leave(self, packet, number, taken):
		now = self.sim.now
		why = self.waiting_for
		if self.last_sent is not None and now - self.last_sent > 400000:
			asked = self.message_of(number).post > self.last_sent
			if why is None:
				why = 'idle' if asked else 'other'
			elif why == 'pause' and asked:
				why = 'pause_idle'
			self.gaps.append((self.last_sent, now, why))
		self.waiting_for, self.last_sent = None, now
		where = None
		if number in self.loss:
			marks = self.loss[number]
			where = marks.pop(0)
			if not marks:
				del self.loss[number]
		if where in ('before', 'after', 'capture'):
			self.note(where, number, taken, packet)
		near, far, marked = self.near, self.far, packet.ecn == CE
		if self.sim.marker and where != 'before':
			delay = self.sim.marker.enter(self.sim, now, packet)
			if self.bottleneck_before:
				near += delay
			else:
				far += delay
			if self.marked_beyond and packet.ecn == CE:
				packet.ecn, marked = self.ecn, True
		if self.spray:
			packet.sport = 50000 + self.sim.rng.randrange(self.spray)
			near += packet.sport * 7919 % 13 * self.late_by // 12
		if where == 'late':
			near += self.late_by
			self.note(where, number, taken, packet)
		if where not in ('before', 'capture'):
			self.sim.seen.append((now + near, packet, self, 'out'))
		if where not in ('before', 'after'):
			self.sim.at(now + near + far, self.arrive, packet, number, taken, marked or packet.ecn == CE)
		self.arm()

	late_by, marked_beyond = 3000, False  # marked_beyond: the queue is behind the capture point

	def arm(self):
		if not self.timer_set and self.transport in (RC, XRC):
			self.timer_set = True
			self.progress_at = max(self.progress_at, self.sim.now)
			self.sim.at(self.sim.now + self.timeout, self.timer)

	def timer(self):
		self.timer_set = False
		if self.una >= self.top or self.dead:
			return
		since = max(self.progress_at, self.wait_until)
		if self.last_sent is not None:
			since = max(since, min(self.last_sent, self.sim.now))
		if self.sim.now < since + self.timeout:
			self.timer_set = True
			self.sim.at(since + self.timeout, self.timer)
			return
		self.waiting_for = 'timeout'
		self.retries += 1
		if self.retries > 7:
			self.dead = True
			return
		self.rewind(self.una, 'timeout')
		self.progress_at = self.sim.now
		self.arm()

	def rewind(self, number, why):
		for event in self.open:
			event['number'] = min(event['number'], number)
			if event['end'] is None or event['end'] < self.top:
				event['end'] = self.top
			if why not in event['repairs']:
				event['repairs'].append(why)
		if not self.open:
			self.note(why, number, self.top - number, None)
			self.open[-1]['end'] = self.top
			self.open[-1]['repairs'].append(why)
		self.next = number
		self.wake()

	def note(self, where, number, taken, packet):
		"""A piece of truth: it stays open until all that it touched is acknowledged."""
		for event in self.open:
			if event['where'] == where and event['end'] is None and number <= event['number'] + event['missing']:
				event['missing'] = max(event['missing'], number + taken - event['number'])
				return
		event = {'flow': self, 'where': where, 'number': number, 'missing': taken, 'end': None,
			't0': self.sim.now, 't1': None, 'repairs': []}
		self.open.append(event)
		self.sim.truth.append(event)

	def acknowledged(self, number):
		"""All below @number has arrived."""
		if number <= self.una:
			return
		self.una = min(number, self.top)
		self.progress_at, self.retries = self.sim.now, 0
		if self.next < self.una:
			self.next = self.una
		for event in list(self.open):
			end = event['end'] if event['end'] is not None else event['number'] + event['missing']
			if self.una >= end:
				event['t1'] = self.sim.now
				self.open.remove(event)
		self.wake()

	def answered(self, kind, number, timer):
		if kind == 'ack':
			self.acknowledged(number + 1)
		elif kind == 'nak':
			self.acknowledged(number)
			if number < self.una:
				return
			if self.selective:
				self.repeat(number)
			else:
				self.rewind(number, 'nak')
		elif kind == 'rnr':
			self.acknowledged(number)
			self.wait_until = self.sim.now + int(RNR_TIMER_US[timer] * 1000 * 1.05)
			self.rewind(number, 'rnr')
			self.waiting_for = 'rnr'
		elif kind == 'cnp' and self.dcqcn:
			self.dcqcn.cut(self.sim.now)

	def repeat(self, number):
		for event in self.open:
			if 'nak' not in event['repairs']:
				event['repairs'].append('nak')
				event['end'] = max(event['end'] or 0, self.top)
		self.resend.append(number)
		self.wake()

	def response(self, number, last):
		"""A READ response; a gap in them is an implied NAK (9.7.5.2.7)."""
		if self.read_expected is None or number == self.read_expected or number < self.una:
			self.read_expected = number + 1
			self.acknowledged(number + 1)
			self.implied = False
			if last:
				self.read_expected = None
		elif not self.implied:
			self.implied = True
			self.rewind(self.read_expected, 'implied')

	implied = False

	# ---- responder

	def arrive(self, packet, number, taken, marked):
		now = self.sim.now
		if marked and self.answers and now - self.last_cnp >= self.cnp_ns:
			self.last_cnp = now
			self.answer('cnp', 0, None, now)
		if self.transport in (UC, UD):
			self.acknowledged(number + taken)
			return
		if self.rnr_of is not None and number != self.rnr_of:
			return
		if number == self.expected:
			codes = self.rnr.get(number)
			if codes:
				code = codes.pop(0)
				self.rnr_of = number
				self.answer('rnr', number, code, now + self.ack_delay)
				return
			self.rnr_of = None
			self.accept(packet, number, taken, now)
		elif number > self.expected:
			if self.selective or self.tolerant:
				self.held.add(number)
			if not self.naked and not self.tolerant:
				self.naked = True
				self.answer('nak', self.expected, None, now + self.ack_delay)
		else:
			self.duplicate(packet, number, taken, now)

	tolerant = False

	def accept(self, packet, number, taken, now):
		self.expected = number + taken
		had = bool(self.held)
		while self.expected in self.held:
			self.held.remove(self.expected)
			self.expected += 1
		self.naked = False
		if self.held and self.selective and not self.tolerant:
			self.naked = True
			self.answer('nak', self.expected, None, now + self.ack_delay)
			return
		code = packet.opcode & 31
		if code == READ_REQUEST:
			self.msn += 1
			self.respond(number, taken, now)
		elif code in (COMPARE_SWAP, FETCH_ADD):
			self.msn += 1
			self.answer('atomic', number, None, now + self.ack_delay)
		elif packet.ack_request or had:
			self.msn = self.msn + 1 & PSN_MASK
			self.answer('ack', self.expected - 1, None, now + self.ack_delay)

	def duplicate(self, packet, number, taken, now):
		code = packet.opcode & 31
		if code == READ_REQUEST:
			self.respond(number, taken, now)
		elif code in (COMPARE_SWAP, FETCH_ADD):
			self.answer('atomic', number, None, now + self.ack_delay)
		elif packet.ack_request or number == self.expected - 1:
			self.answer('ack', self.expected - 1, None, now + self.ack_delay)

	def respond(self, number, taken, now):
		message = self.message_of(number)
		last = message.first + message.packets - 1
		t = max(now + self.ack_delay, self.answer_at)
		for i in range(taken):
			at = number + i
			code = READ_MIDDLE
			if taken == 1:
				code = READ_ONLY
			elif i == 0:
				code = READ_FIRST
			elif i == taken - 1:
				code = READ_LAST
			payload = self.mtu if at != last else message.octets - (message.packets - 1) * self.mtu
			extension = b'' if code == READ_MIDDLE else aeth(self.credits, self.msn)
			packet = Packet(self.dst, self.src, self.family, self.sport ^ 0x55, self.dscp, self.ecn,
				self.transport | code, self.src_qp, self.psn(at), 0, extension, payload)
			t, _ = self.back_nic.take(t, packet.octets())
			self.sim.at(t, self.send_back, packet, ('response', at, at == last))
			t += int(packet.octets() * 8 / self.gbps)
		self.answer_at = t

	def answer(self, kind, number, timer, t):
		t = max(t, self.answer_at)
		if kind == 'cnp':
			packet = Packet(self.dst, self.src, self.family, self.sport ^ 0x33, CONTROL_DSCP, self.ecn, CNP,
				self.src_qp, 0, 0, bytes(16), 0)
			packet.becn = 0x40
		else:
			syndrome = {'ack': self.credits, 'nak': 0x60 | NAK_SEQUENCE, 'atomic': self.credits}.get(kind)
			if kind == 'rnr':
				syndrome = 0x20 | timer
			code = ATOMIC_ACKNOWLEDGE if kind == 'atomic' else ACKNOWLEDGE
			extension = aeth(syndrome, self.msn) + (bytes(8) if kind == 'atomic' else b'')
			packet = Packet(self.dst, self.src, self.family, self.sport ^ 0x55, self.dscp, self.ecn,
				self.transport | code, self.src_qp, self.psn(number), 0, extension, 0)
		self.sim.at(t, self.send_back, packet, ('ack' if kind == 'atomic' else kind, number, timer))

	def send_back(self, packet, what):
		kind, number, _ = what
		now = self.sim.now
		where = None
		marks = self.answer_loss.get((kind, number))
		if marks:
			where = marks.pop(0)
		if where in ('before', 'after', 'capture'):
			self.note('answer-' + where, number, 1, packet)
			self.open[-1]['kind'] = kind
		if kind == 'response':
			if self.back_last is not None and now - self.back_last > 400000:
				self.back_gaps.append((self.back_last, now))
			self.back_last = now
		if where not in ('before', 'capture'):
			self.sim.seen.append((now + self.far, packet, self, 'back'))
		if where not in ('before', 'after'):
			self.sim.at(now + self.far + self.near, self.back, what)

	def back(self, what):
		kind, number, extra = what
		if kind == 'response':
			self.response(number, extra)
		else:
			self.answered(kind, number, extra)


def credit_count(code):
	return None if code >= len(CREDITS) else CREDITS[code]
