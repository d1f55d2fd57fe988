"""Frames of RoCEv2, PFC and capture files, written from the specifications.

InfiniBand Architecture Specification volume 1, chapter 9 (transport headers), annex A17 (RoCEv2),
annex A14 (XRC); IEEE 802.1Qbb (PFC); draft-ietf-opsawg-pcapng; link types of tcpdump.org.
Nothing here is shared with the decoder that is tested.
"""
import struct
import zlib

ROCE_PORT = 4791
RC, UC, RD, UD, XRC = 0x00, 0x20, 0x40, 0x60, 0xA0
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM = range(6)
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = range(6, 12)
READ_REQUEST, READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY = range(12, 17)
ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE, COMPARE_SWAP, FETCH_ADD = range(17, 21)
CNP = 0x81
NAK_SEQUENCE = 0
PSN_MASK = 0xFFFFFF
NOT_ECT, ECT1, ECT0, CE = range(4)

# AETH syndrome (section 9.7.5.2.4): ACK 000, RNR NAK 001, NAK 011, each with five bits.
RNR_TIMER_US = [655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920, 2560,
	3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680,
	491520]
# Credits (table 46): the code of the AETH for 0, 1, 2, 3, 4, 6, 8, 12, ... 32768; 31: no credits kept.
CREDITS = [0, 1, 2, 3] + [value for i in range(2, 16) for value in ((1 << i), (1 << i) * 3 // 2)][:27]


def aeth(syndrome, msn):
	return struct.pack('>I', syndrome << 24 | msn & PSN_MASK)


class Host:
	def __init__(self, number, mac, ip4, ip6, id_mode):
		self.number, self.mac, self.ip4, self.ip6, self.id_mode = number, mac, ip4, ip6, id_mode
		self.ip_id = number * 977 & 0xFFFF

	def next_id(self):
		if self.id_mode == 'zero':
			return 0
		if self.id_mode == 'constant':
			return 0x1234
		self.ip_id = self.ip_id + 1 & 0xFFFF
		return self.ip_id

	def text(self, family):
		if family == 4:
			return '.'.join(str(byte) for byte in self.ip4)
		import ipaddress
		return str(ipaddress.IPv6Address(self.ip6))


class Packet:
	"""What an endpoint puts on the wire; the path may change ecn, ttl and the link header only."""
	__slots__ = ('src', 'dst', 'family', 'sport', 'dscp', 'ecn', 'ttl', 'ip_id', 'opcode', 'dst_qp',
		'psn', 'ack_request', 'becn', 'extension', 'payload', 'flow_label')

	def __init__(self, src, dst, family, sport, dscp, ecn, opcode, dst_qp, psn, ack_request, extension,
			payload):
		self.src, self.dst, self.family, self.sport, self.dscp = src, dst, family, sport, dscp
		self.ecn, self.opcode, self.dst_qp, self.psn = ecn, opcode, dst_qp, psn & PSN_MASK
		self.ack_request, self.extension, self.payload = ack_request, extension, payload
		self.ttl, self.becn, self.ip_id = 64, 0, src.next_id()

	def octets(self):
		"""On the wire without preamble, with Ethernet header and ICRC, without FCS."""
		ip = 20 if self.family == 4 else 40
		return 14 + ip + 8 + 12 + len(self.extension) + (self.payload + 3 & ~3) + 4


_ZEROS = bytes(16384)


def _ip_header(packet, length, ones):
	if packet.family == 4:
		head = bytearray(struct.pack('>BBHHHBBH', 0x45, packet.dscp << 2 | packet.ecn, length + 20,
			packet.ip_id, 0x4000, packet.ttl, 17, 0) + packet.src.ip4 + packet.dst.ip4)
		total = sum(struct.unpack('>10H', head))
		while total > 0xFFFF:
			total = (total & 0xFFFF) + (total >> 16)
		struct.pack_into('>H', head, 10, ~total & 0xFFFF)
		if ones:
			head[1] = head[8] = head[10] = head[11] = 0xFF
		return bytes(head)
	first = 6 << 28 | (packet.dscp << 2 | packet.ecn) << 20 | packet.sport
	if ones:
		first |= 0x0FFFFFFF
	return struct.pack('>IHBB', first, length, 17, 255 if ones else packet.ttl) + \
		packet.src.ip6 + packet.dst.ip6


def ip_bytes(packet, limit):
	"""The packet from the IP header on: at most about @limit bytes of it, and its true length. The
	ICRC is there, and right, when all of it is."""
	pad = -packet.payload & 3
	flags = 0x40 | pad << 4
	bth = struct.pack('>BBHII', packet.opcode, flags, 0xFFFF, packet.becn << 24 | packet.dst_qp,
		packet.ack_request << 31 | packet.psn)
	length = 8 + 12 + len(packet.extension) + packet.payload + pad + 4
	udp = struct.pack('>HHHH', packet.sport, ROCE_PORT, length, 0)
	head = _ip_header(packet, length, False) + udp + bth + packet.extension
	total = length + (20 if packet.family == 4 else 40)
	if limit < total:
		return head + _ZEROS[:max(0, limit - len(head))], total
	body = _ZEROS[:packet.payload + pad]
	masked = b'\xff' * 8 + _ip_header(packet, length, True) + udp[:6] + b'\xff\xff' + bth[:4] + \
		b'\xff' + bth[5:] + packet.extension
	return head + body + struct.pack('<I', zlib.crc32(body, zlib.crc32(masked))), total


def ethernet(dst_mac, src_mac, tags, ethertype):
	head = dst_mac + src_mac
	for tag in tags:
		head += struct.pack('>HH', 0x8100, tag)
	return head + struct.pack('>H', ethertype)


def pfc_frame(src_mac, quanta):
	"""IEEE 802.1Qbb: @quanta is {priority: quanta}; 0 is XON."""
	enable, times = 0, []
	for priority in range(8):
		if priority in quanta:
			enable |= 1 << priority
		times.append(quanta.get(priority, 0))
	body = struct.pack('>HHH8H', 0x8808, 0x0101, enable, *times)
	return (b'\x01\x80\xc2\x00\x00\x01' + src_mac + body).ljust(60, b'\0')


LINK_ETHERNET, LINK_SLL2 = 1, 276


def sll2(interface, kind, src_mac, ethertype):
	return struct.pack('>HHIHBB', ethertype, 0, interface, 1, kind, 6) + src_mac + b'\0\0'


def write_pcap(path, records, link, snap, nanoseconds):
	"""@records: (t_ns, bytes, length on the wire, interface)."""
	scale = 1 if nanoseconds else 1000
	with open(path, 'wb') as out:
		out.write(struct.pack('<IHHiIII', 0xA1B23C4D if nanoseconds else 0xA1B2C3D4, 2, 4, 0, 0,
			snap or 262144, link))
		parts = []
		for t_ns, data, length, _ in records:
			if snap and len(data) > snap:
				data = data[:snap]
			parts.append(struct.pack('<IIII', t_ns // 1000000000, t_ns % 1000000000 // scale, len(data),
				length))
			parts.append(data)
		out.write(b''.join(parts))


def _block(kind, body):
	body += b'\0' * (-len(body) & 3)
	total = len(body) + 12
	return struct.pack('<II', kind, total) + body + struct.pack('<I', total)


def _option(code, value):
	return struct.pack('<HH', code, len(value)) + value + b'\0' * (-len(value) & 3)


def write_pcapng(path, records, link, snap, nanoseconds, interfaces, drops):
	"""@drops: packets the capture itself lost, of the first interface; None: no statistics block."""
	digits = 9 if nanoseconds else 6
	scale = 10 ** (9 - digits)
	parts = [_block(0x0A0D0D0A, struct.pack('<IHHq', 0x1A2B3C4D, 1, 0, -1))]
	for name in interfaces:
		parts.append(_block(1, struct.pack('<HHI', link, 0, snap or 0) +
			_option(2, name.encode()) + _option(9, bytes([digits])) + _option(0, b'')))
	for t_ns, data, length, interface in records:
		if snap and len(data) > snap:
			data = data[:snap]
		t = t_ns // scale
		parts.append(_block(6, struct.pack('<IIIII', interface, t >> 32, t & 0xFFFFFFFF, len(data),
			length) + data))
	if drops is not None:
		t = (records[-1][0] if records else 0) // scale
		parts.append(_block(5, struct.pack('<III', 0, t >> 32, t & 0xFFFFFFFF) +
			_option(4, struct.pack('<Q', len(records) + drops)) + _option(5, struct.pack('<Q', drops)) +
			_option(0, b'')))
	with open(path, 'wb') as out:
		out.write(b''.join(parts))
