#!/usr/bin/env python3
"""Captures of RoCEv2 with a known truth.

    generate.py --list
    generate.py --family lost_before --seed 3 --out DIR     writes DIR/full.pcap[ng] and DIR/truth.json
    generate.py --family lost_before --seed 3 --view 64 --out DIR   ... and DIR/64.pcap[ng]

The same family and seed give the same bytes. See README.md for the families and for truth.json.
"""
import argparse
import os
import random
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from case import Case, write_file  # noqa: E402
from families import FAMILIES  # noqa: E402
import time_families  # noqa: E402,F401

VIEWS = ['full', 'random100', 'blind100', 'steady100', '54', '64', '80', '96', '128']


def make(family, seed):
	"""(case, records, truth)"""
	rng = random.Random(zlib.crc32(family.encode()) * 1000003 + seed)
	case = Case(family, seed, rng)
	FAMILIES[family](case)
	records, truth = case.finish()
	return case, records, truth


def view_of(view, seed, records):
	"""(records, snap). random100, blind100: each packet with a chance of 1 in 100; steady100: every 100th."""
	if view in ('random100', 'blind100'):
		rng = random.Random(seed * 7919 + 1)
		return [record for record in records if rng.random() < 0.01], 0
	if view == 'steady100':
		return records[seed % 100::100], 0
	return records, int(view) if view.isdigit() else 0


def write_view(case, view, seed, records, truth, name):
	from wire import LINK_ETHERNET, LINK_SLL2
	kept, snap = view_of(view, seed, records)
	link = LINK_SLL2 if truth['link'] == 'sll2' else LINK_ETHERNET
	drops = truth['capture_drops'] if view not in ('random100', 'blind100', 'steady100') else None
	write_file(name, kept, link, snap or case.snap, case.nanoseconds, drops)
	return len(kept)


def main():
	parser = argparse.ArgumentParser(description='captures of RoCEv2 with a known truth')
	parser.add_argument('--list', action='store_true', help='name the families')
	parser.add_argument('--family')
	parser.add_argument('--seed', type=int, default=1)
	parser.add_argument('--view', choices=VIEWS, action='append', default=[])
	parser.add_argument('--out', default='.')
	args = parser.parse_args()
	if args.list:
		print('\n'.join(FAMILIES))
		return 0
	if args.family not in FAMILIES:
		parser.error('--family: one of those that --list prints')
	case, records, truth = make(args.family, args.seed)
	full = case.write(args.out, records, truth)
	for view in args.view:
		name = os.path.join(args.out, view + os.path.splitext(full)[1])
		write_view(case, view, args.seed, records, truth, name)
	print('%s: %d packets, %d events' % (full, len(records), len(truth['events'])))
	return 0


if __name__ == '__main__':
	sys.exit(main())
