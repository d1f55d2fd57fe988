"""What a report says against what happened. Every comparison gives (row, outcome, detail); outcomes:

right       what happened
wrong       something else was said as a fact
rightly     nothing was said ("unknown", null, "too_few") where this view cannot tell
missed      nothing was said where this view can tell
"""
import re
from datetime import datetime, timezone

SAMPLED = ('random100', 'blind100', 'steady100')
MS = 1000000


def time_ns(text):
	if text is None:
		return None
	match = re.match(r'(.*?)(?:\.(\d+))?Z$', text)
	whole = datetime.strptime(match.group(1), '%Y-%m-%dT%H:%M:%S').replace(tzinfo=timezone.utc)
	return int(whole.timestamp()) * 10 ** 9 + int((match.group(2) or '').ljust(9, '0')[:9] or 0)


class View:
	"""What this view lets through."""

	def __init__(self, name, truth):
		self.name, self.sampled = name, name in SAMPLED
		base = (20 if truth['link'] == 'sll2' else 14) + 4 * truth['vlan'] + \
			(20 if truth['family_ip'] == 4 else 40) + 8
		snap = int(name) if name.isdigit() else truth['snap'] or 1 << 30
		self.psn, self.aeth, self.no_aeth = snap >= base + 12, snap >= base + 16, snap < base + 13
		self.length = snap >= base


def within(psn, low, high):
	return (psn - low) & 0xFFFFFF < max(1, (high - low) & 0xFFFFFF)


def same_pair(row, event):
	forward = row['src'] == event['src'] and row['dst'] == event['dst'] and row['dst_qp'] == event['dst_qp']
	back = row['src'] == event['dst'] and row['dst'] == event['src'] and row['dst_qp'] == event['src_qp']
	return forward or back


def event_matches(row, reported, event, slack=2 * MS):
	if not same_pair(row, event):
		return False
	t = time_ns(reported.get('t'))
	in_time = t is None or event['t0'] - slack <= t <= event['t1'] + slack
	psn = reported.get('psn')
	return in_time and (psn is None or within(psn, event['psn'], event['psn_end']))


def judge_events(report, truth, view):
	out, claimed = [], {}
	# A sample does miss the packets: to say so is true, and says nothing of the fabric.
	background = truth['background'] + (['capture_loss'] if view.sampled else [])
	for row in report.get('qps', []):
		for reported in row.get('events') or []:
			cause = reported.get('cause')
			hits = [i for i, event in enumerate(truth['events']) if event_matches(row, reported, event)]
			good = [i for i in hits if cause in truth['events'][i]['accept']]
			fresh = [i for i in good if i not in claimed] or good
			exact = [i for i in fresh if truth['events'][i]['psn'] == reported.get('psn')] or fresh
			if good:
				claimed.setdefault(exact[0], []).append((cause, reported))
			elif hits:
				claimed.setdefault(hits[0], []).append((cause, reported))
			elif cause not in background and cause != 'unknown':
				out.append(('no event', 'wrong', 'said %s at PSN %s: %s' % (
					cause, reported.get('psn'), reported.get('proof'))))
	for i, event in enumerate(truth['events']):
		said = claimed.get(i, [])
		words = [cause for cause, _ in said if cause != 'unknown' and cause not in background]
		bad = [(cause, reported) for cause, reported in said
			if cause not in event['accept'] and cause != 'unknown' and cause not in background]
		decidable = event['decidable'] and view.psn and not view.sampled
		if bad:
			out.append((event['cause'], 'wrong', 'said %s at PSN %s for %s of PSN %d to %d: %s' % (
				bad[0][0], bad[0][1].get('psn'), event['cause'], event['psn'], event['psn_end'],
				bad[0][1].get('proof'))))
		elif words:
			out.append((event['cause'], 'right', ''))
		else:
			out.append((event['cause'], 'missed' if decidable else 'rightly',
				'PSN %d to %d' % (event['psn'], event['psn_end'])))
	return out


def judge_rows(report, truth, view):
	"""Rows of queue pairs to which nothing happened, and what a sample can say about the others."""
	out = []
	for row in report.get('qps', []):
		touched = any(same_pair(row, event) for event in truth['events']) or truth['background']
		numbers = [row.get(key) for key in ('gaps', 'retransmits')]
		if view.sampled:
			if row.get('packets', 0) < 10:
				continue
			bad = [number for number in numbers if number is not None]
			out.append(('no event', 'wrong' if bad else 'rightly', 'sampled: gaps, retransmits %s' % numbers))
		elif not touched or truth['copies'] and not truth['events']:
			named = [event for event in row.get('events') or [] if event.get('cause') not in ('unknown', 'copy')]
			if any(numbers):
				out.append(('no event', 'wrong', 'gaps, retransmits %s' % numbers))
			elif None in numbers or named:
				out.append(('no event', 'missed' if view.psn else 'rightly', ''))
			else:
				out.append(('no event', 'right' if view.psn else 'wrong', 'no PSN in view: %s' % numbers))
	return out


def judge_stalls(report, truth, view):
	out, rows = [], {}
	if view.sampled:
		return out
	reads = {(stall['src'], stall['dst_qp']) for stall in truth['stalls'] if stall.get('read')}
	for stall in truth['stalls']:
		rows.setdefault((stall['src'], stall['dst'], stall['dst_qp']), []).append(stall)
	for row in report.get('qps', []):
		key = (row['src'], row['dst'], row['dst_qp'])
		if key not in rows or (row['src'], row['dst_qp']) in reads:
			continue
		longest = sorted(rows[key], key=lambda stall: -stall['s'])[:4]
		told = row.get('stalls') or []
		for stall in longest:
			if stall['s'] < 0.01:
				continue
			hit = [one for one in told if abs((one.get('s') or 0) - stall['s']) < 0.1 * stall['s'] + 0.0005 and
				abs((time_ns(one['t']) or 0) - stall['t']) < 0.1 * stall['s'] * 1e9 + MS]
			name = 'stall: ' + stall['accept'][0]
			if not hit or hit[0].get('cause') in (None, 'unknown') or hit[0]['cause'] in stall['tolerate']:
				sure = stall['decidable'] and view.psn
				out.append((name, 'missed' if sure else 'rightly', '%.4f s' % stall['s']))
			elif hit[0]['cause'] in stall['accept']:
				out.append((name, 'right', ''))
			else:
				out.append((name, 'wrong', 'said %s for %.4f s of QP %d' % (hit[0]['cause'], stall['s'], row['dst_qp'])))
		for one in told:
			t, s = time_ns(one['t']), one.get('s') or 0
			if s > 0.001 and not any(stall['t'] - MS < t + s * 1e9 and t < stall['end'] + MS for stall in rows[key]):
				out.append(('no stall', 'wrong', 'said %s for %.4f s of QP %d' % (one.get('cause'), s, row['dst_qp'])))
	return out


def judge_hosts(report, truth, view):
	out = []
	told = {row['host']: row for row in report.get('cnp_reaction') or []}
	for row in truth.get('reaction', []):
		if not row['cnp']:
			continue
		said = (told.get(row['host']) or {}).get('verdict')
		name = 'CNP: ' + row['verdict']
		if said in (None, 'too_few', 'unknown'):
			enough = row['cnp'] >= 20 and view.length and not view.sampled and 'too_few' not in row['accept']
			outcome = 'right' if row['verdict'] == 'too_few' else 'missed' if enough else 'rightly'
			out.append((name, outcome, '%s of %s' % (said, row['host'])))
		else:
			out.append((name, 'right' if said in row['accept'] else 'wrong', 'said %s of %s, %s' % (
				said, row['host'], {key: told[row['host']].get(key) for key in ('n', 'ratio', 'cnp')})))
	told = {row['host']: row for row in report.get('receivers') or []}
	for row in truth.get('receivers', []):
		said = (told.get(row['host']) or {}).get('verdict')
		name = 'receiver: %s' % (row['verdict'] or 'cannot be known')
		if said in (None, 'too_few', 'unknown'):
			enough = row['verdict'] and row['ce'] >= 50 and view.length and not view.sampled
			outcome = 'missed' if enough else 'rightly'
			out.append((name, outcome, '%s of %s: %d CE, %d CNP' % (said, row['host'], row['ce'], row['cnp'])))
		else:
			out.append((name, 'right' if said == row['verdict'] else 'wrong', 'said %s of %s: %d CE, %d CNP' % (
				said, row['host'], row['ce'], row['cnp'])))
	return out


def judge_pause(report, truth, view):
	out = []
	told = {(row.get('mac'), row.get('priority')): row for row in report.get('pause') or []}
	for row in truth['pause']:
		said = told.get((row['mac'], row['priority']))
		low, high = (said or {}).get('paused_s_low'), (said or {}).get('paused_s_high')
		true = row['paused_s']
		slack = true * 0.01 + 2e-6
		if low is not None and low > true + slack or high is not None and high < true - slack:
			out.append(('pause time', 'wrong', 'said %s to %s s, was %.6f s (%s)' % (low, high, true, row['mac'])))
		elif low is None or high is None or (low < true / 2 and high > true * 2 + 0.001):
			out.append(('pause time', 'rightly' if view.sampled else 'missed', 'said %s to %s s, was %.6f s' % (
				low, high, true)))
		else:
			out.append(('pause time', 'right', ''))
	return out


def judge_rhythm(report, truth, view):
	if 'rhythm' not in truth:
		return []
	said, true = report.get('rhythm') or {}, truth['rhythm']
	period = said.get('period_s', said.get('step_s'))
	if true is None:
		return [('rhythm', 'right' if period is None else 'wrong', 'said %s s, has none' % period)]
	if period is None:
		return [('rhythm', 'rightly' if view.sampled else 'missed', '')]
	good = abs(period - true['period_s']) < 0.05 * true['period_s']
	out = [('rhythm', 'right' if good else 'wrong', 'said %s s, was %.4f s' % (period, true['period_s']))]
	if not good:
		return out
	burst = said.get('burst_s')
	if burst is None:
		out.append(('burst length', 'rightly' if view.sampled else 'missed', ''))
	else:
		good = abs(burst - true['burst_s']) < 0.3 * true['burst_s']
		out.append(('burst length', 'right' if good else 'wrong', 'said %s s, was %.4f s' % (burst, true['burst_s'])))
	last = said.get('last_finisher')
	last = (last.get('src') or last.get('host')) if isinstance(last, dict) else last
	if last == true['last']:
		out.append(('last finisher', 'right', ''))
	elif last is None:
		out.append(('last finisher', 'rightly' if view.sampled else 'missed', ''))
	else:
		out.append(('last finisher', 'wrong', 'said %s, was %s' % (last, true['last'])))
	return out


def judge_copies(report, truth, view):
	told = report.get('copies') or {}
	n, where = told.get('packets'), told.get('from')
	if view.sampled:
		wrong = not truth['copies'] and n
		return [('copies', 'wrong' if wrong else 'rightly', 'said %s copies of a sample' % n)]
	if not truth['copies']:
		if n is None:
			return []
		return [('copies', 'right' if n == 0 else 'wrong', 'said %s copies, there are none' % n)]
	if not n:
		return [('copies', 'missed' if view.psn else 'rightly', '%d copies' % truth['copies'])]
	exact = n == truth['copies'] if view.name == 'full' else abs(n - truth['copies']) <= 0.01 * truth['copies']
	out = [('copies', 'right' if exact else 'wrong', 'said %d, are %d' % (n, truth['copies']))]
	if where in (None, 'unknown'):
		out.append(('where copies come from', 'right' if 'unknown' in truth['copies_from'] else 'missed', ''))
	else:
		good = where in truth['copies_from']
		out.append(('where copies come from', 'right' if good else 'wrong', 'said %s, is %s' % (
			where, truth['copies_from'])))
	return out


def judge_sampling(report, view):
	told = report.get('sampling') or {}
	n, known = told.get('n'), told.get('psn_known')
	if not view.sampled:
		if n is None:
			return [('sampling', 'missed', '')] if told else []
		return [('sampling', 'right' if n == 1 else 'wrong', 'said 1 in %s' % n)]
	if not told:
		return []
	if view.name == 'random100':
		return [('sampling', 'right' if n == 100 and not known else 'wrong', 'said 1 in %s, psn_known %s' % (n, known))]
	most = max([row.get('packets', 0) for row in report.get('qps', [])] or [0])
	if n is not None and n > 1:
		return [('sampling', 'right' if 50 <= n <= 200 else 'wrong', 'said 1 in %s' % n)]
	if n == 1 and known and most >= 10:
		return [('sampling', 'wrong', 'said all packets are here: %d in one row' % most)]
	return [('sampling', 'rightly' if most < 20 else 'missed', '')]


def judge_totals(report, truth, view):
	out, true = [], truth['totals']
	if view.sampled or not view.psn:
		return out
	same = report.get('packets') == true['packets'] and report.get('roce_packets') == true['roce_packets'] and \
		report.get('cnp') == true['cnp'] and report.get('pfc_frames') == true['pfc_frames'] and \
		(report.get('ecn') or {}).get('ce') == true['ce']
	out.append(('totals', 'right' if same else 'wrong', 'packets %s of %d, RoCE %s of %d, CNP %s of %d' % (
		report.get('packets'), true['packets'], report.get('roce_packets'), true['roce_packets'],
		report.get('cnp'), true['cnp'])))
	return out


def judge_aeth(report, truth, view):
	"""NAKs, on the row that carries them, and credits, on the row of the data that they are about."""
	out = []
	if view.sampled or truth['copies']:
		return out
	acks = truth['totals']['opcodes'].get('17', truth['totals']['opcodes'].get(17, 0))
	rows = report.get('qps', [])
	naks = [row.get('nak') for row in rows]
	if acks and view.no_aeth and view.psn:
		back = {(row['dst'], row['back_qp']) for row in truth['credits']}
		naks = [row.get('nak') for row in rows if (row['src'], row['dst_qp']) in back]
		bad = [nak for nak in naks if nak is not None]
		out.append(('NAKs', 'wrong' if bad else 'rightly', 'no AETH in view, said %s' % bad))
	elif view.aeth and truth['totals']['nak'] + truth['totals']['rnr_nak']:
		total = sum(nak or 0 for nak in naks)
		out.append(('NAKs', 'right' if total == truth['totals']['nak'] else 'wrong', 'said %d, are %d' % (
			total, truth['totals']['nak'])))
	told = {(row['src'], row['dst'], row['dst_qp']): row.get('credits_least') for row in rows}
	for row in truth['credits']:
		key = (row['src'], row['dst'], row['dst_qp'])
		if key not in told:
			continue
		said = told[key]
		if said is None:
			out.append(('credits', 'missed' if row['least'] is not None and view.aeth else 'rightly', ''))
		else:
			out.append(('credits', 'right' if said == row['least'] and view.aeth else 'wrong', 'said %s, are %s' % (
				said, row['least'])))
	return out


def judge_messages(report, truth, view):
	out = []
	if truth['events'] or truth['direction'] == 'back':
		return out
	told = {(row['src'], row['dst'], row['dst_qp']): row for row in report.get('qps', [])}
	for row in truth['messages']:
		said = told.get((row['src'], row['dst'], row['dst_qp']))
		if not said:
			continue
		n, sizes = said.get('messages'), said.get('message_bytes') or {}
		if n is None:
			out.append(('messages', 'missed' if view.psn and not view.sampled else 'rightly', ''))
			continue
		middle = row['median']
		good = n == row['n'] and sizes.get('max') in (row['max'], None) and \
			(sizes.get('median') is None or min(middle) <= sizes['median'] <= max(middle))
		out.append(('messages', 'right' if good else 'wrong', 'said %s of %s, are %d of %s to %d' % (
			n, sizes, row['n'], middle, row['max'])))
	return out


def judge_share(report, truth, view):
	"""Which share of the gaps the capture itself lost."""
	causes = {event['cause'] for event in truth['events']}
	if view.sampled or truth['direction'] == 'back' or truth['family'].startswith('uc') or \
			causes not in ({'capture_loss'}, {'lost_before'}):
		return []
	said = (report.get('loss') or {}).get('capture_lost_ratio')
	if said is None:
		return [('share the capture lost', 'missed' if view.psn else 'rightly', '')]
	good = said >= 0.8 if causes == {'capture_loss'} else said <= 0.2
	return [('share the capture lost', 'right' if good else 'wrong', 'said %s of %s' % (said, causes))]


def judge(report, truth, name):
	view = View(name, truth)
	out = judge_events(report, truth, view) + judge_rows(report, truth, view)
	out += judge_stalls(report, truth, view) + judge_hosts(report, truth, view)
	out += judge_pause(report, truth, view) + judge_rhythm(report, truth, view)
	out += judge_copies(report, truth, view) + judge_sampling(report, view)
	out += judge_totals(report, truth, view) + judge_aeth(report, truth, view)
	return out + judge_messages(report, truth, view) + judge_share(report, truth, view)
