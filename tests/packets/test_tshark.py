#!/usr/bin/env python3
"""Two independent readers of generated captures: tshark and rocewatch count the same, and both count what was
made. test_tshark.py ROCEWATCH; 77 without tshark."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import generate  # noqa: E402
from verdicts import time_ns  # noqa: E402

FAMILIES = ['react_one_off', 'pause_two', 'mixed', 'clean_xrc', 'rnr_again', 'lost_beyond', 'clean_both_ways']
FIELDS = ['frame.time_epoch', 'frame.len', 'ip.src', 'ipv6.src', 'infiniband.bth.opcode', 'infiniband.bth.destqp',
	'infiniband.bth.psn', 'infiniband.aeth.syndrome.opcode', 'macc.opcode']
failed = []


def same(what, tshark, told):
	if tshark != told:
		failed.append('%s: tshark %s, rocewatch %s' % (what, tshark, told))


def tshark_rows(name):
	command = ['tshark', '-r', name, '-T', 'fields']
	for field in FIELDS:
		command += ['-e', field]
	done = subprocess.run(command, capture_output=True, text=True, check=True)
	return [dict(zip(FIELDS, line.split('\t'))) for line in done.stdout.splitlines()]


def number(text):
	return int(text, 0) if text else None


def epoch_ns(text):
	whole, _, part = text.partition('.')
	return int(whole) * 10 ** 9 + int(part.ljust(9, '0')[:9])


def by_row(rows):
	found = {}
	for row in rows:
		if row['infiniband.bth.opcode']:
			key = (row['ip.src'] or row['ipv6.src'], number(row['infiniband.bth.destqp']))
			found.setdefault(key, []).append(row)
	return found


def data(row):
	"""Whether it carries a message: SEND, WRITE, READ response."""
	code = number(row['infiniband.bth.opcode'])
	return code != 0x81 and (code & 31 < 12 or 13 <= code & 31 <= 16)


def compare(family, name, truth, report):
	rows = tshark_rows(name)
	roce = [row for row in rows if row['infiniband.bth.opcode']]
	codes = {}
	for row in roce:
		code = number(row['infiniband.bth.opcode'])
		codes[code] = codes.get(code, 0) + 1
	same(family + ' opcodes as made', codes, {int(code): n for code, n in truth['totals']['opcodes'].items()})
	same(family + ' opcodes', sorted(codes.values()), sorted(report['by_opcode'].values()))
	same(family + ' packets', len(rows), report['packets'])
	same(family + ' CNPs', codes.get(0x81, 0), report['cnp'])
	kinds = [number(row['infiniband.aeth.syndrome.opcode']) for row in roce]
	same(family + ' NAKs', kinds.count(3), report['nak'])
	same(family + ' RNR NAKs', kinds.count(1), report['rnr_nak'])
	same(family + ' PFC', sum(number(row['macc.opcode']) == 0x0101 for row in rows), report['pfc_frames'])
	found = by_row(rows)
	for row in report['qps']:
		mine = found[(row['src'], row['dst_qp'])]
		same(family + ' packets of a row', len(mine), row['packets'])
		same(family + ' octets of a row', sum(number(one['frame.len']) for one in mine), row['octets'])
		if row.get('t_first'):
			same(family + ' first of a row', epoch_ns(mine[0]['frame.time_epoch']), time_ns(row['t_first']))
			same(family + ' last of a row', epoch_ns(mine[-1]['frame.time_epoch']), time_ns(row['t_last']))
	bins = (report.get('rates') or {}).get('bins')
	if bins:
		same(family + ' octets of all bins', sum(number(row['frame.len']) for row in roce if data(row)),
			sum(one['octets'] for one in bins))


def one_family(rocewatch, family, folder):
	case, records, truth = generate.make(family, 7)
	name = case.write(folder, records, truth)
	truth = json.loads(json.dumps(truth))
	done = subprocess.run([rocewatch, 'pcap', name, '--format', 'json'], capture_output=True, text=True, check=True)
	report = json.loads(done.stdout)
	compare(family, name, truth, report)


def main():
	if not shutil.which('tshark'):
		print('tshark is not there: not compared')
		return 77
	for family in FAMILIES:
		folder = tempfile.mkdtemp()
		try:
			one_family(sys.argv[1], family, folder)
		finally:
			shutil.rmtree(folder)
	print('\n'.join(failed) or '%d captures: the same' % len(FAMILIES))
	return 1 if failed else 0


if __name__ == '__main__':
	sys.exit(main())
