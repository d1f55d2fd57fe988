#!/usr/bin/env python3
"""Is what `rocewatch pcap` says about a capture what happened?

    judge.py --rocewatch build/release/rocewatch --seeds 1-10 --families 'lost|rnr' --views full,64
    judge.py ... --jsonl FILE    one line per answer, for table.py
    judge.py ... --least 0.4     exit 1 on any wrong answer, or when fewer of the answers are right

Every wrong answer is printed with the commands that show it again. A wrong answer costs five abstentions.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import generate  # noqa: E402
from verdicts import judge  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
OUTCOMES = ('right', 'wrong', 'rightly', 'missed')


def ask(rocewatch, name, view):
	command = [rocewatch, 'pcap', name, '--format', 'json']
	if view == 'random100':
		command += ['--sampling', '100']
	done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
	try:
		return json.loads(done.stdout), command
	except ValueError:
		return None, command


def one_case(job):
	rocewatch, family, seed, views, scratch = job
	answers = []
	directory = tempfile.mkdtemp(dir=scratch)
	try:
		case, records, truth = generate.make(family, seed)
		truth = json.loads(json.dumps(truth))
		for view in views:
			name = os.path.join(directory, view + ('.pcapng' if case.ng else '.pcap'))
			kept = generate.write_view(case, view, seed, records, truth, name)
			if kept:
				report, command = ask(rocewatch, name, view)
				if report is None:
					answers.append((family, seed, view, 'runs', 'wrong', 'no document: ' + ' '.join(command)))
				else:
					answers += [(family, seed, view) + answer for answer in judge(report, truth, view)]
			os.unlink(name)
	finally:
		shutil.rmtree(directory)
	return answers


def numbers(text):
	first, _, last = text.partition('-')
	return range(int(first), int(last or first) + 1)


def collect(args, families):
	jobs = [(args.rocewatch, family, seed, args.views, args.scratch) for seed in numbers(args.seeds)
		for family in families]
	if args.jobs == 1:
		for job in jobs:
			yield from one_case(job)
		return
	with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
		for answers in pool.map(one_case, jobs, chunksize=4):
			yield from answers


def matrix(counts, views):
	rows = sorted({row for row, _ in counts})
	width = max(len(row) for row in rows)
	print('%-*s  %s' % (width, 'right/wrong/rightly abstained/missed', '  '.join('%15s' % view for view in views)))
	for row in rows:
		cells = []
		for view in views:
			cell = counts.get((row, view))
			cells.append('%15s' % ('' if not cell else '/'.join(str(cell[outcome]) for outcome in OUTCOMES)))
		print('%-*s  %s' % (width, row, '  '.join(cells)))


def show(answer):
	family, seed, view, row, _, detail = answer
	option = ' --sampling 100' if view == 'random100' else ''
	print('WRONG %s (%s, seed %d, %s): %s' % (row, family, seed, view, detail))
	print('    %s/generate.py --family %s --seed %d --view %s --out /tmp/case; rocewatch pcap /tmp/case/%s.pcap*%s' % (
		HERE, family, seed, view, view, option))


def arguments():
	parser = argparse.ArgumentParser(description='is what rocewatch pcap says about a capture what happened?')
	parser.add_argument('--rocewatch', required=True)
	parser.add_argument('--seeds', default='1-5')
	parser.add_argument('--families', default='.', help='regular expression')
	parser.add_argument('--rows', default='.', help='regular expression: show wrong answers of these rows only')
	parser.add_argument('--views', default=','.join(generate.VIEWS))
	parser.add_argument('--jobs', type=int, default=1)
	parser.add_argument('--jsonl', help='write every answer here')
	parser.add_argument('--least', type=float, help='share of right answers, of those that could be given')
	parser.add_argument('--show', type=int, default=20, help='wrong answers to print')
	parser.add_argument('--missed', action='store_true', help='print missed answers too')
	args = parser.parse_args()
	args.views = args.views.split(',')
	args.scratch = '/dev/shm' if os.path.isdir('/dev/shm') else None
	return args


def main():
	args = arguments()
	families = [name for name in generate.FAMILIES if re.search(args.families, name)]
	counts, shown, total = {}, 0, dict.fromkeys(OUTCOMES, 0)
	out = open(args.jsonl, 'w', encoding='ascii') if args.jsonl else None
	for answer in collect(args, families):
		_, _, view, row, outcome, detail = answer
		counts.setdefault((row, view), dict.fromkeys(OUTCOMES, 0))[outcome] += 1
		total[outcome] += 1
		if out:
			out.write(json.dumps(answer) + '\n')
		if outcome == 'wrong' and shown < args.show and re.search(args.rows, row):
			shown += 1
			show(answer)
		elif outcome == 'missed' and args.missed and re.search(args.rows, row):
			print('missed %s (%s, seed %d, %s): %s' % (row, answer[0], answer[1], view, detail))
	if out:
		out.close()
	matrix(counts, args.views)
	n = sum(total.values())
	could = total['right'] + total['wrong'] + total['missed']
	print('%d answers: %d right, %d wrong, %d abstained rightly, %d missed; score %.3f' % (n, total['right'],
		total['wrong'], total['rightly'], total['missed'], (total['right'] - 5 * total['wrong']) / max(1, could)))
	if args.least is not None and (total['wrong'] or total['right'] < args.least * could):
		return 1
	return 0


if __name__ == '__main__':
	sys.exit(main())
