#!/usr/bin/env python3
"""Inputs for the fuzz targets that have none, or too few, in corpus/: small captures with a known truth, scripts of chance, requests, datagrams,
stored records, small databases, and what golden cases read. make_seeds.py FOLDER ROCEWATCH CASES writes FOLDER/<target>/; the same bytes each time, but for
the databases and records, which ROCEWATCH makes of CASES, the inputs of golden cases."""
import glob
import json
import os
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'packets'))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'sflow'))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'push'))
import gzip  # noqa: E402

import generate  # noqa: E402
import otlp as O  # noqa: E402
import sflow as S  # noqa: E402
from wire import LINK_ETHERNET, LINK_SLL2, write_pcap, write_pcapng  # noqa: E402

CAPTURES = ['clean_mixed', 'clean_ud', 'clean_routed', 'clean_any', 'lost_before', 'lost_beyond', 'capture_loss_told',
	'rnr', 'timeout_beyond', 'selective_before', 'read_lost_before', 'reconnected', 'react_few', 'pause_two',
	'clean_xrc']


def capture(folder, family, number):
	_, records, truth = generate.make(family, 1)
	records = records[:400]
	link = LINK_SLL2 if truth['link'] == 'sll2' else LINK_ETHERNET
	name = os.path.join(folder, family)
	if number % 2:
		write_pcap(name, records, link, 100, True)
	else:
		names = ['a'] * (1 + max(record[3] for record in records))
		write_pcapng(name, records, link, 100, number % 4 == 0, names, 7)


def story(folder, number):
	rng = random.Random(number)
	data = bytes([rng.choice([0, 0, 0, 250])])
	lanes = rng.choice([1, 2, 8])
	for _ in range(1500):
		# mostly in order, with some of everything else
		step = rng.choice([4] * 30 + [rng.randrange(256)])
		data += bytes([rng.randrange(lanes) | rng.choice([0] * 40 + [0x70]), rng.choice([1, 1, 1, 4, 7, rng.randrange(256)]),
			step, rng.choice([9, 9, 9, rng.randrange(256)]), rng.randrange(256), rng.randrange(256)])
	with open(os.path.join(folder, 'story%d' % number), 'wb') as out:
		out.write(data)


def tunnel(folder, number):
	rng = random.Random(1000 + number)
	data = b''
	for _ in range(300):
		layers = [rng.randrange(13) for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3, 4, 5]))]
		changes = [bytes(rng.randrange(256) if i != 1 else 0 for i in range(4)) for _ in range(rng.choice([0, 0, 1, 2, 4]))]
		data += bytes([rng.randrange(256), len(layers)] + layers + [len(changes)]) + b''.join(changes)
	with open(os.path.join(folder, 'tunnel%d' % number), 'wb') as out:
		out.write(data)


def sflow(folder, number):
	rng = random.Random(2000 + number)
	data = b''
	for i in range(40):
		frame = S.roce(qp=rng.randrange(8), psn=i, payload=rng.choice([0, 64, 1024]), vlan=rng.choice([None, 7]))
		items = [S.raw_header(frame, rng.choice([64, 128]), rng.choice([S.ETHERNET, S.IPV4, S.IPV6, S.PPP])), S.switch(1, 3, 2, 3),
			S.egress_queue(3), S.transit_delay(rng.randrange(1 << 20)), S.queue_depth(77), S.router()]
		items = rng.sample(items, rng.randrange(1, len(items) + 1))
		sample = rng.choice([
			lambda: S.flow(i, 7, 100, 100 * i, items, inp=7, out=9),
			lambda: S.flow_expanded(i, 7, 100, 100 * i, items, inp=(0, 7), out=(0, 9)),
			lambda: S.counters(i, 7, [S.interface_counters(7), S.ethernet_counters()]),
			lambda: S.counters_expanded(i, 7, [S.interface_counters(7)]),
			lambda: S.discard(i, 7, rng.choice([1, 259, 9999]), items, inp=7, out=9)])
		datagram = S.datagram(i, [sample()], agent=rng.choice(['192.0.2.1', '2001:db8::1', None]), sub_agent=rng.randrange(2))
		data += len(datagram).to_bytes(2, 'big') + datagram
	with open(os.path.join(folder, 'sflow%d' % number), 'wb') as out:
		out.write(data)


def ipfix(folder):
	"""messages of another encoder, objects as a configuration has them; a burst: one group of one field, a block of two records"""
	messages = []
	with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'ipfix', 'messages.txt')) as f:
		for line in f:
			if line.startswith('message '):
				messages.append(bytes.fromhex(line[8:]))
	put(folder, 'messages', b'\0' + b''.join(struct.pack('>H', len(m)) + m for m in messages))
	for n, m in enumerate(messages):
		put(folder, 'message%d' % n, b'\0' + struct.pack('>H', 0x8000 | len(m)) + m)
	put(folder, 'burst', b'\1RWB1' + bytes([1, 1, 1, 9, 1, 0, 2, 6, 1, 100, 2, 0, 7]))
	for mode in range(5):
		put(folder, 'column%d' % mode, b'\1RWB1' + bytes([1, 1, 1, 9, 1, 0, 3, 14, 1, 100, 2, mode, 7, 2, 3, 0xb4, 0x5a, 0x11, 0, 0, 0, 0]))
	for n, text in enumerate((b'QUEUE 1,2,3=Ethernet0|3,Ethernet0|4,Ethernet4|3', b'PORT 1-3=a,b,c', b'PORT =Ethernet0,Ethernet4')):
		put(folder, 'objects%d' % n, b'\2' + text)


def put(folder, name, data):
	with open(os.path.join(folder, name), 'wb') as out:
		out.write(data)


def sized(parts):
	return b''.join(len(part).to_bytes(2, 'big') + part for part in parts)


def tlv(tag, body):
	length = bytes([len(body)]) if len(body) < 128 else bytes([0x82]) + len(body).to_bytes(2, 'big')
	return bytes([tag]) + length + body


def oid(*arcs):
	out = bytes([arcs[0] * 40 + arcs[1]])
	for arc in arcs[2:]:
		septets = [arc & 0x7f]
		while arc > 0x7f:
			arc >>= 7
			septets.append(0x80 | (arc & 0x7f))
		out += bytes(reversed(septets))
	return tlv(6, out)


def trap_io(folder):
	"""linkDown as a v1 trap, a v2c trap and an inform (RFC 1157, RFC 3416), and the head of a v3 message (RFC 3412)."""
	def number(value):
		return tlv(2, value.to_bytes(4, 'big'))
	bind = [tlv(0x30, oid(1, 3, 6, 1, 2, 1, 1, 3, 0) + tlv(0x43, b'\x00\x10')),
		tlv(0x30, oid(1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0) + oid(1, 3, 6, 1, 6, 3, 1, 1, 5, 3)),
		tlv(0x30, oid(1, 3, 6, 1, 2, 1, 2, 2, 1, 1, 7) + number(7)),
		tlv(0x30, oid(1, 3, 6, 1, 2, 1, 2, 2, 1, 2, 7) + tlv(4, b'Ethernet7'))]
	def community(version, pdu, name=b'public'):
		return tlv(0x30, tlv(2, bytes([version])) + tlv(4, name) + pdu)
	v2 = number(5) + number(0) + number(0) + tlv(0x30, b''.join(bind))
	v1 = (oid(1, 3, 6, 1, 4, 1, 33049) + tlv(0x40, b'\x7f\x00\x00\x01') + tlv(2, b'\x02') + tlv(2, b'\x00') + tlv(0x43, b'\x05') +
		tlv(0x30, bind[2] + bind[3]))
	usm = tlv(0x30, tlv(4, bytes.fromhex('80001f8804686f7374')) + tlv(2, b'\x01') + tlv(2, b'\x05') + tlv(4, b'plain') + tlv(4, b'') + tlv(4, b''))
	scoped = tlv(0x30, tlv(4, bytes.fromhex('80001f8804686f7374')) + tlv(4, b'') + tlv(0xa7, v2))
	v3 = tlv(0x30, tlv(2, b'\x03') + tlv(0x30, number(1) + tlv(2, b'\x05\xdc') + tlv(4, b'\x00') + tlv(2, b'\x03')) + tlv(4, usm) + scoped)
	for name, parts in (('v1', [community(0, tlv(0xa4, v1))]), ('v2', [community(1, tlv(0xa7, v2))]), ('inform', [community(1, tlv(0xa6, v2))]),
		('v3', [v3]), ('wrong', [community(1, tlv(0xa7, v2), b'other')]), ('many', [community(1, tlv(0xa7, v2))] * 5 + [v3])):
		put(folder, name, sized(parts))


def capture_case(folder, captures):
	yamls = {'plain': 'capture:\n  - { name: a, interface: m0, port: "leaf1:e49", direction: out, interval: 10s }\n',
		'sampled': 'capture:\n  - { name: a, interface: m0, device: leaf1, sampling: 1000 }\n', 'none': 'capture: []\n'}
	for i, (name, text) in enumerate(sorted(yamls.items())):
		with open(os.path.join(captures, CAPTURES[2 * i + 1]), 'rb') as packets:
			put(folder, name, sized([text.encode()]) + packets.read(20000))


def scripts(folder, base, count, size):
	"""Bytes of chance, many of them small: counts, kinds and numbers of targets that read a script."""
	for number in range(count):
		rng = random.Random(base + number)
		put(folder, 'script%d' % number, bytes(rng.choice([rng.randrange(8), rng.randrange(8), rng.randrange(256)]) for _ in range(size)))


def walker_messages():
	"""Name and messages of each file in the walker's corpus: a byte, then two bytes of length before each message."""
	corpus = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'corpus', 'gnmi_walk')
	for name in sorted(os.listdir(corpus)):
		with open(os.path.join(corpus, name), 'rb') as file:
			data = file.read()[1:]
		messages = []
		while len(data) >= 2:
			end = 2 + int.from_bytes(data[:2], 'big')
			messages.append(data[:end])
			data = data[end:]
		yield name, messages


def gnmi_feed(folder):
	"""The messages of the walker's corpus, to each profile."""
	for number, (name, messages) in enumerate(walker_messages()):
		put(folder, name, bytes([number]) + b''.join(bytes([number % 5]) + message for message in messages) + b'\x00\xff\xff')


def gnmi_update(names, keys, value):
	"""A SubscribeResponse with one update (gnmi.proto 0.10): path of elements, value as JSON_IETF."""
	def field(number, body):
		return bytes([number << 3 | 2]) + varint(len(body)) + body
	def varint(n):
		out = b''
		while n > 0x7f:
			out += bytes([n & 0x7f | 0x80])
			n >>= 7
		return out + bytes([n])
	path = b''
	for name in names:
		name, own = name if isinstance(name, tuple) else (name, keys.get(name, {}))
		elem = field(1, name.encode())
		for key, text in own.items():
			elem += field(2, field(1, key.encode()) + field(2, text.encode()))
		path += field(3, elem)
	update = field(1, path) + field(3, field(11, value.encode()))
	return field(1, bytes([1 << 3]) + varint(10 ** 18) + field(4, update))


def gnmi_objects(folder):
	"""Keys in elements without a name, transceivers and their lanes, queues with names: what the streams of the profiles know."""
	port = lambda number: ('interface', {'name': 'Ethernet%d' % number})
	messages = []
	for number in range(3):
		messages += [(['interfaces', port(number), 'state', 'transceiver'], '"optic%d"' % (number // 2)),
			(['interfaces', port(number), 'state', 'physical-channel'], '[%d,%d,64,-1,"x"]' % (number, number + 1)),
			(['components', ('component', {'name': 'optic%d' % number}), 'transceiver', 'physical-channels', ('channel', {'index': str(number)}), 'state', 'input-power', 'instant'], '"-%d.5"' % number),
			(['components', ('component', {'name': 'optic%d' % number}), 'state', 'temperature', 'instant'], '%d' % number),
			(['qos', 'queues', ('queue', {'name': 'roce%d' % number}), 'state', 'queue-id'], '%d' % (number * 40)),
			(['qos', 'queues', ('pfc-queue', {'pfc-queue-name': 'in'}), 'queue-index'], '%d' % number),
			(['qos', 'interfaces', ('interface', {'interface-id': 'Ethernet1'}), 'output', 'queues', ('queue', {'name': 'roce%d' % number}), 'state', 'transmit-octets'], '"%d"' % number),
			(['junos', 'system', 'linecard', 'qmon-sw', ('', {'name': 'xe-0/0/%d' % number}), 'egress', ('', {'queue-number': str(number)}), 'red-drop-packets-color-0'], '%d' % number),
			(['a', ('b', {'c': 'd'}), ('', {'e': ']'}), ('', {'f': 'g'})], '1'), ([('', {'h': 'i'})], '2')]
	for number in range(24):
		out = bytes([number])
		for stream in range(8):
			for names, value in messages:
				message = gnmi_update(names, {}, value)
				out += bytes([stream]) + len(message).to_bytes(2, 'big') + message
			out += bytes([stream]) + b'\xff\xff'
		put(folder, 'objects%d' % number, out + b'\x00\xff\xff')


def gnmi_ports(folder):
	for number in range(24):
		out = bytes([number])
		for stream in range(6):
			for port in ('Ethernet1', 'Ethernet1/1', 'et-0/0/1', '=1+1', 'a\x1b[2J', '\u202e'):
				keys = {'interface': {'name': port}, 'queue': {'name': '3'}}
				for names, value in ((['interfaces', 'interface', 'state', 'counters', 'in-octets'], '"77"'),
					(['interfaces', 'interface', 'state', 'description'], '"x\\u001b[2J"'),
					(['interfaces', 'interface', 'state', 'oper-status'], '"UP"')):
					message = gnmi_update(names, keys, value)
					out += bytes([stream]) + len(message).to_bytes(2, 'big') + message
			out += bytes([stream]) + b'\xff\xff'
		put(folder, 'ports%d' % number, out)


def printed(folder):
	texts = ['Ethernet1', '=1+1|\'x\'', '\x1b[2J', '\u009b31m', '\u202eabc', 'a,b"c\nd', '<script>x</script>', '2026-01-01T00:00:00Z', '-1.5', '@x',
		'|`*_', '\ufeff', '\uff1d1+1', '']
	put(folder, 'texts', '\0'.join(texts).encode() + b'\xff\xfe\xed\xa0\x80\0')
	for number, text in enumerate(texts):
		put(folder, 'text%d' % number, (text + '\0' + text + '\0' + text).encode())


REQUESTS = [{'cmd': 'status'}, {'cmd': 'ack', 'id': 'k3v7q2ab', 'note': 'x'}, {'cmd': 'assign', 'id': 'k3v7q2ab', 'note': 'alice'},
	{'cmd': 'note', 'id': 'K3V7Q2AB', 'note': 'a\x1b[2J\u202e\nb'}, {'cmd': 'close', 'id': 'k3v7q2ab'},
	{'cmd': 'merge', 'id': 'k3v7q2ab', 'note': 'k3v7q2ab'}, {'cmd': 'silence_add', 'device': 'leaf*', 'until_ns': 2 ** 62, 'why': 'x'},
	{'cmd': 'silence_expire', 'id': 'a'}, {'cmd': 'event_add', 'text': 'x', 't_ns': -2 ** 63}, {'cmd': 'alert_test', 'receiver': None},
	{'cmd': 'alert_result', 'ticket': 1}, {'cmd': 'tune_applied', 'id': 'a', 'at_ns': 2 ** 63 - 1}, {'cmd': 'tune_reject', 'id': 'a', 'note': 'no'},
	{'cmd': 'tune_accept', 'id': 'a'}, {'cmd': 'tune_verified', 'id': 'a', 'verified': {}}]


def stored(program, golden, folders):
	"""Databases of recorded cases, and the records in them."""
	requests = list(REQUESTS)
	with tempfile.TemporaryDirectory(prefix='rw-seeds-') as work:
		for case in ('pause_storm/two_priorities', 'tune/ecn-late', 'tune/pool'):
			name = case.replace('/', '-')
			path = os.path.join(work, name + '.db')
			subprocess.run([program, 'replay', '--from', os.path.join(golden, case), '--db', path], check=True, capture_output=True)
			subprocess.run([program, 'tune', 'review', '--db', path], capture_output=True)
			db = sqlite3.connect(path)
			for kind, query in ((0, 'SELECT json FROM recommendation'), (1, 'SELECT json FROM incident')):
				for number, (text,) in enumerate(db.execute(query).fetchmany(4)):
					put(folders['record'], '%s-%d-%d' % (name, kind, number), bytes([kind]) + text.encode())
					if kind == 0 and len(requests) < 24:
						sheet = json.loads(text)
						requests += [{'cmd': 'tune_propose', 'sheet': sheet}, {'cmd': 'tune_accept', 'id': sheet.get('id', 'a'), 'note': 'x'},
							{'cmd': 'tune_applied', 'id': sheet.get('id', 'a')}]
			# the newest samples are enough: a small file is mutated in more of its pages
			for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type='table' AND sql LIKE '%t_ns%' AND name LIKE 'sample%'").fetchall():
				db.execute('DELETE FROM %s WHERE t_ns < (SELECT max(t_ns) FROM %s) - 60000000000' % (table, table))
			db.commit()
			db.execute('PRAGMA journal_mode=DELETE')
			db.execute('VACUUM')
			db.close()
			with open(path, 'rb') as file:
				data = bytearray(file.read())
			for counter in range(0, 40, 3):
				data[27] = counter
				put(folders['database'], '%s-%d' % (name, counter), bytes(data))
				if case != 'tune/ecn-late':
					break
	for number, request in enumerate(requests):
		put(folders['requests'], 'request%d' % number, json.dumps(request).encode())
	put(folders['requests'], 'all', b'\n'.join(json.dumps(request).encode() for request in requests))


def otlp(folder):
	rng = random.Random(9)
	t = 1732312800 * 10**9 - 10**9
	names = ['nvswitch_interface_sp_rx_pause', 'nvswitch_interface_tc_tx_octet', 'nvswitch_interface_if_in_octets', 'nvswitch_interface_oper_state',
		'sai_counter_type_1_stat_109', 'sai_counter_type_21_stat_34', 'rx_prio3_pause', 'rx_power_lane_1', 'nobody', '']
	for number in range(12):
		out = b''
		for _ in range(rng.choice([1, 2, 4])):
			metrics = []
			for name in rng.sample(names, 4):
				labels = {'interface': 'swp%d' % rng.randrange(3), 'sp': str(rng.randrange(9)), 'tc': str(rng.randrange(12)),
					'object_name': 'Ethernet0|%d' % rng.randrange(8), 'device_name': 'mlx5_0', 'n': 7, 'b': True, 'f': 1.5}
				points = [O.point(rng.choice([1, 12, -1, 3.5, float('nan'), 1e300, None]), t + rng.randrange(10**9), labels,
					rng.choice([0, 5]), rng.choice([0, 1])) for _ in range(3)]
				metrics.append(rng.choice([O.gauge, O.total, lambda a, b: O.total(a, b, O.DELTA), lambda a, b: O.histogram(a, 2)])(name, points))
			message = O.request(O.resource({'host.name': rng.choice(['leaf1', 'leaf1.example.com', 'leaf9'])}, metrics, rng.random() < 0.3))
			if rng.random() < 0.2:
				message = gzip.compress(message, mtime=0)
			out += struct.pack('>H', len(message)) + message
		put(folder, 'otlp%d' % number, out)


def blocks(folder):
	"""Samples (kind odd; kind & 2: their block is damaged), each: kind, entity and time when it changes, marks, a number."""
	rng = random.Random(6000)
	for number in range(48):
		kind = 1 | rng.choice([0, 2, 2]) | rng.choice([0, 64]) | rng.choice([0, 128])
		data = bytes([kind])
		shape = rng.randrange(6)
		for i in range(rng.choice([1, 40, 400])):
			first = i == 0 or rng.random() < 0.02
			step = 0x10 if shape < 4 else rng.randrange(16) << 4
			data += bytes([step | (0 if first else 1) | (4 if rng.random() < 0.03 else 8)])
			if first:
				data += bytes([rng.choice([0, 0, 200]), 7])
			if data[-1 if not first else -3] & 12 == 4:
				data += rng.randbytes(6)
			data += {0: lambda: bytes([32]), 1: lambda: bytes([33, 5]), 2: lambda: bytes([33, rng.choice([0] * 30 + [9])]),
				3: lambda: bytes([36]) + rng.randbytes(4), 4: lambda: bytes([23]) + rng.randbytes(7),
				5: lambda: bytes([rng.randrange(64) & ~7])}[shape]()
		with open(os.path.join(folder, 'samples%d' % number), 'wb') as out:
			out.write(data)
	for number in range(4):
		with open(os.path.join(folder, 'bytes%d' % number), 'wb') as out:
			out.write(bytes([0, 1 + number % 2, number // 2]) + rng.randbytes(100))


def clickhouse(folder):
	"""rows of each table as RowBinary has them, and a part of the spool: one port, two counters, three samples"""
	def text(word):
		return bytes([len(word)]) + word.encode()
	head = text('agent') + (7).to_bytes(8, 'little') + (1).to_bytes(4, 'little')
	for table in range(17):
		rng = random.Random(8000 + table)
		data = b''
		for _ in range(6):
			data += head
			if table < 3:
				data += rng.randbytes(8) + text('leaf1') + text('eth%d' % table) + rng.randbytes(8)
				data += b''.join(rng.choice([b'\1', b'\0' + rng.randbytes(8)]) for _ in range(12))
			else:
				data += b'\0' + b''.join(rng.choice([b'\1', b'\0' + text('word'), rng.randbytes(8)]) for _ in range(20))
		with open(os.path.join(folder, 'rows%d' % table), 'wb') as out:
			out.write(bytes([table]) + data)
	samples = b'\1' + b'\1' + text('leaf1') + b'\1' + text('eth1') + b'\1' + b'\0\0\1' + b'\1' + text('dscp')
	samples += b'\2' + text('uport.in_octets') + text('fport.pre_fec_ber') + b'\1\0' + b'\3'
	samples += b'\0\0\0\x02\5' + b'\0\1\0\x02' + bytes(8) + b'\0\0\0\x02\7'
	row = b'\2' + text('events') + b'\0' + b'\2' + text('t_ns') + b'\3\0\x10' + text('kind') + b'\0\0' + text('ack')
	with open(os.path.join(folder, 'spool'), 'wb') as out:
		out.write(bytes([17]) + samples + row)


def ber(tag, content):
	"""One element (ITU-T X.690)."""
	n = len(content)
	length = bytes([n]) if n < 128 else bytes([0x82, n >> 8, n & 255])
	return bytes([tag]) + length + content


def snmp_message(folder):
	"""Answers of SNMPv2c: each type of value alone, then all in one, then a long one."""
	oid = bytes([0x2b, 6, 1, 2, 1, 31, 1, 1, 1, 6, 0x81, 5])
	values = [ber(2, b'\x7f'), ber(2, b'\xff\x01'), ber(0x41, b'\x00\xff\xff\xff\xff'), ber(0x42, b'\x05'), ber(0x43, b'\x01\x02'),
		ber(0x46, b'\x00' + b'\xff' * 8), ber(4, b'Ethernet1'), ber(0x40, b'\x7f\x00\x00\x01'), ber(6, oid), ber(5, b''),
		ber(0x80, b''), ber(0x81, b''), ber(0x82, b'')]
	lists = [[v] for v in values] + [values, [values[5]] * 60, []]
	for number, some in enumerate(lists):
		names = b''.join(ber(0x30, ber(6, oid) + v) for v in some)
		pdu = ber(0xa2, ber(2, b'\x12\x34\x56') + ber(2, b'\x00') + ber(2, b'\x00') + ber(0x30, names))
		with open(os.path.join(folder, 'answer%d' % number), 'wb') as out:
			out.write(ber(0x30, ber(2, b'\x01') + ber(4, b'public') + pdu))


def proto(tag, body):
	"""A field of bytes: https://protobuf.dev/programming-guides/encoding/"""
	length, n = bytearray(), len(body)
	while n > 127:
		length.append(n & 127 | 128)
		n >>= 7
	return bytes([tag]) + bytes(length) + bytes([n]) + body


def gnmi_codec(folder):
	"""The messages of the walker's corpus, one by one; a leaf whose value is a list in a list, three thousand deep."""
	for name, messages in walker_messages():
		for number, message in enumerate(messages):
			put(folder, '%s-%d' % (name, number), b'\0' + message[2:])
	value = b'\x18\x01'
	for _ in range(3000):
		value = proto(0x42, proto(0x0a, value))
	update = proto(0x0a, proto(0x1a, proto(0x0a, b'x'))) + proto(0x1a, value)
	put(folder, 'deep-lists', b'\0' + proto(0x0a, bytes.fromhex('088080edb2e3f9fabc18') + proto(0x22, update)))


TARGETS = ('capture', 'story', 'tunnel', 'sflow', 'ipfix', 'otlp', 'capture_case', 'database', 'discovery', 'flow_table', 'gnmi_feed', 'printed', 'record',
	'requests', 'snmp_decode', 'snmp_message', 'trap_io', 'block', 'tail', 'rollup_row', 'clickhouse', 'gnmi_codec', 'config', 'import_sonic')


def golden(cases, inputs, folder):
	"""What golden cases read: each file that @inputs names below the folder of all cases."""
	for path in glob.glob(os.path.join(cases, inputs)):
		with open(path, 'rb') as file:
			put(folder, '-'.join(path.split(os.sep)[-2:]), file.read())


def main():
	folders = {name: os.path.join(sys.argv[1], name) for name in TARGETS}
	for folder in folders.values():
		os.makedirs(folder, exist_ok=True)
	for number, family in enumerate(CAPTURES):
		capture(folders['capture'], family, number)
	for number in range(8):
		sflow(folders['sflow'], number)
	for number in range(12):
		story(folders['story'], number)
		tunnel(folders['tunnel'], number)
	ipfix(folders['ipfix'])
	otlp(folders['otlp'])
	trap_io(folders['trap_io'])
	snmp_message(folders['snmp_message'])
	capture_case(folders['capture_case'], folders['capture'])
	blocks(folders['block'])
	clickhouse(folders['clickhouse'])
	scripts(folders['tail'], 7000, 8, 600)
	scripts(folders['rollup_row'], 7100, 8, 300)
	scripts(folders['discovery'], 3000, 12, 200)
	scripts(folders['flow_table'], 4000, 8, 4000)
	scripts(folders['snmp_decode'], 5000, 40, 3000)
	gnmi_feed(folders['gnmi_feed'])
	gnmi_ports(folders['gnmi_feed'])
	gnmi_codec(folders['gnmi_codec'])
	gnmi_objects(folders['gnmi_feed'])
	printed(folders['printed'])
	golden(sys.argv[3], 'config/*/input.yaml', folders['config'])
	golden(sys.argv[3], 'import/*/*.json', folders['import_sonic'])
	stored(os.path.abspath(sys.argv[2]), sys.argv[3], folders)
	return 0


if __name__ == '__main__':
	sys.exit(main())
