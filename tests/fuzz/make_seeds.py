#!/usr/bin/env python3
"""Inputs for the fuzz targets capture, story, tunnel and sflow: small captures with a known truth, and scripts of
chance. make_seeds.py FOLDER writes FOLDER/capture, FOLDER/story, FOLDER/tunnel and FOLDER/sflow; the same bytes each time."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'packets'))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'sflow'))
import generate  # noqa: E402
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


def main():
	folders = {name: os.path.join(sys.argv[1], name) for name in ('capture', 'story', 'tunnel', 'sflow')}
	for folder in folders.values():
		os.makedirs(folder, exist_ok=True)
	for number, family in enumerate(CAPTURES):
		capture(folders['capture'], family, number)
	for number in range(8):
		sflow(folders['sflow'], number)
	for number in range(12):
		story(folders['story'], number)
		tunnel(folders['tunnel'], number)
	return 0


if __name__ == '__main__':
	sys.exit(main())
