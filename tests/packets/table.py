#!/usr/bin/env python3
"""The answers of judge.py --jsonl as the table of docs/accuracy/captures.md.

    table.py FILE.jsonl [--into docs/accuracy/captures.md]
"""
import argparse
import importlib.util
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
VIEWS = [('full', ['full']), ('1 in 100', ['random100', 'blind100', 'steady100']), ('128', ['128']), ('96', ['96']),
	('80', ['80']), ('64', ['64']), ('54', ['54'])]
GROUPS = [('What happened to a packet', ['lost_before', 'lost_beyond', 'capture_loss', 'reordered', 'rnr', 'timeout',
	'selective_repeat', 'read_response_lost', 'ack_lost', 'reconnected', 'no event', 'share the capture lost', 'copies',
	'where copies come from', 'sampling', 'totals', 'NAKs']), ('Time', [])]
MARKS = '<!-- packet verdicts: begin -->', '<!-- packet verdicts: end -->'


def scores():
	"""tests/score/judge.py, whose name is also that of a file here."""
	spec = importlib.util.spec_from_file_location('score_judge', os.path.join(HERE, '..', 'score', 'judge.py'))
	module = importlib.util.module_from_spec(spec)
	spec.loader.exec_module(module)
	return module


WILSON = scores().wilson


def share(part, n):
	if not n:
		return '-'
	low, high = WILSON(part, n)
	return '%.1f %% (%.0f-%.0f)' % (100 * part / n, 100 * low, 100 * high)


def read(path):
	counts, seeds, families = {}, set(), set()
	with open(path, encoding='ascii') as lines:
		for line in lines:
			family, seed, view, row, outcome, _ = json.loads(line)
			cell = counts.setdefault((row, view), dict(right=0, wrong=0, rightly=0, missed=0))
			cell[outcome] += 1
			seeds.add(seed)
			families.add(family)
	return counts, seeds, families


def cell_of(counts, row, views):
	cell = dict(right=0, wrong=0, rightly=0, missed=0)
	for view in views:
		for key, n in counts.get((row, view), {}).items():
			cell[key] += n
	return cell


def full_rows(counts, rows):
	out = ['| what | n | right | wrong | abstained rightly | missed |', '|---|---|---|---|---|---|']
	for row in rows:
		cell = cell_of(counts, row, ['full'])
		n = sum(cell.values())
		if n:
			out.append('| %s | %d | %s | %s | %d | %d |' % (row, n, share(cell['right'], n - cell['rightly']),
				share(cell['wrong'], n), cell['rightly'], cell['missed']))
	return out


def view_rows(counts, rows):
	out = ['| what | ' + ' | '.join(name for name, _ in VIEWS) + ' |', '|---' * (len(VIEWS) + 1) + '|']
	for row in rows:
		cells = []
		for _, views in VIEWS:
			cell = cell_of(counts, row, views)
			text = '%d / %d / %d' % (cell['right'], cell['wrong'], cell['rightly'] + cell['missed'])
			cells.append(text if sum(cell.values()) else '-')
		out.append('| %s | %s |' % (row, ' | '.join(cells)))
	return out


def total(counts):
	out = ['| view | answers | right | wrong | abstained rightly | missed | score |', '|---|---|---|---|---|---|---|']
	names = sorted({row for row, _ in counts})
	for name, views in VIEWS:
		cell = dict(right=0, wrong=0, rightly=0, missed=0)
		for row in names:
			for key, n in cell_of(counts, row, views).items():
				cell[key] += n
		n = sum(cell.values())
		could = n - cell['rightly']
		if n:
			out.append('| %s | %d | %d | %d | %d | %d | %.3f |' % (name, n, cell['right'], cell['wrong'],
				cell['rightly'], cell['missed'], (cell['right'] - 5 * cell['wrong']) / max(1, could)))
	return out


def markdown(path):
	counts, seeds, families = read(path)
	names = sorted({row for row, _ in counts})
	events = [row for row in GROUPS[0][1] if row in names]
	time = [row for row in names if row not in events]
	out = ['%d families of cases, seeds %d to %d, %d captures, each in nine views.' % (
		len(families), min(seeds), max(seeds), len(families) * len(seeds)), '', '### By view', '']
	out += total(counts)
	for title, rows in ((GROUPS[0][0], events), (GROUPS[1][0], time)):
		out += ['', '### %s, full capture' % title, ''] + full_rows(counts, rows)
		out += ['', '### %s, by view: right / wrong / abstained' % title, ''] + view_rows(counts, rows)
	return '\n'.join(out)


def into(path, text):
	with open(path, encoding='utf-8') as page:
		head, rest = page.read().split(MARKS[0], 1)
	tail = rest.split(MARKS[1], 1)[1]
	with open(path, 'w', encoding='utf-8') as page:
		page.write('%s%s\n%s\n%s%s' % (head, MARKS[0], text, MARKS[1], tail))


def main():
	parser = argparse.ArgumentParser(description='the answers of judge.py as a table')
	parser.add_argument('jsonl')
	parser.add_argument('--into', help='write it between the marks of this page')
	args = parser.parse_args()
	text = markdown(args.jsonl)
	if args.into:
		into(args.into, text)
	else:
		print(text)
	return 0


if __name__ == '__main__':
	sys.exit(main())
