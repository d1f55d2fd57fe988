#!/usr/bin/env python3
"""The judge: what is true counts as right, what is not counts as wrong, and silence is neither."""
import os
import sys
import unittest
from datetime import datetime, timezone

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import generate  # noqa: E402
from verdicts import View, judge_copies, judge_events, judge_hosts, judge_pause, judge_rhythm, judge_stalls, time_ns  # noqa: E402,E501


def rfc3339(t_ns):
	whole = datetime.fromtimestamp(t_ns // 10 ** 9, timezone.utc).strftime('%Y-%m-%dT%H:%M:%S')
	return '%s.%09dZ' % (whole, t_ns % 10 ** 9)


def said(truth, cause=None):
	rows = {}
	for event in truth['events']:
		row = rows.setdefault((event['src'], event['dst'], event['dst_qp']), [])
		row.append(dict(t=rfc3339(event['t0']), psn=event['psn'], cause=cause or event['cause'], proof=''))
	return {'qps': [dict(src=key[0], dst=key[1], dst_qp=key[2], events=events) for key, events in rows.items()]}


class Judged(unittest.TestCase):
	def outcomes(self, report, truth, view='full'):
		return [outcome for _, outcome, _ in judge_events(report, truth, View(view, truth))]

	def test_every_family_has_a_truth_that_counts_as_right(self):
		for family in generate.FAMILIES:
			if family.startswith(('react', 'np_', 'rhythm')):
				continue
			_, _, truth = generate.make(family, 3)
			with self.subTest(family):
				self.assertEqual(set(self.outcomes(said(truth), truth)) - {'right'}, set())

	def test_another_cause_is_wrong_and_silence_is_not(self):
		_, _, truth = generate.make('lost_before', 3)
		self.assertEqual(set(self.outcomes(said(truth, 'reordered'), truth)), {'wrong'})
		self.assertEqual(set(self.outcomes(said(truth, 'unknown'), truth)), {'missed'})
		self.assertEqual(set(self.outcomes({'qps': []}, truth)), {'missed'})
		self.assertEqual(set(self.outcomes({'qps': []}, truth, 'random100')), {'rightly'})

	def test_an_event_where_nothing_was_is_wrong(self):
		_, _, truth = generate.make('lost_before', 3)
		report = said(truth)
		truth['events'] = []
		self.assertEqual(set(self.outcomes(report, truth)), {'wrong'})

	def test_the_place_of_the_other_loss_is_wrong(self):
		_, _, truth = generate.make('lost_beyond', 3)
		self.assertEqual(set(self.outcomes(said(truth, 'lost_before'), truth)), {'wrong'})

	def test_hosts_pauses_stalls(self):
		_, _, truth = generate.make('react_one_off', 1)
		flip = {'slows': 'does_not_slow', 'does_not_slow': 'slows'}
		for change, want in ((dict, 'right'), (lambda row: dict(row, verdict=flip[row['verdict']]), 'wrong')):
			report = {'cnp_reaction': [change(row) for row in truth['reaction']], 'receivers': truth['receivers']}
			answers = judge_hosts(report, truth, View('full', truth))
			self.assertEqual({outcome for row, outcome, _ in answers if row.startswith('CNP')}, {want})
		_, _, truth = generate.make('pause_two', 1)
		for factor, want in ((1, 'right'), (3, 'wrong'), (0.3, 'wrong')):
			report = {'pause': [dict(row, paused_s_low=row['paused_s'] * factor, paused_s_high=row['paused_s'] * factor)
				for row in truth['pause']]}
			self.assertEqual({outcome for _, outcome, _ in judge_pause(report, truth, View('full', truth))}, {want})
		_, _, truth = generate.make('stall_timeout', 1)
		longest = max(truth['stalls'], key=lambda stall: stall['s'] if stall['accept'] == ['timeout'] else 0)
		row = dict(src=longest['src'], dst=longest['dst'], dst_qp=longest['dst_qp'])
		for cause, want in (('timeout', 'right'), ('pause', 'wrong')):
			row['stalls'] = [dict(t=rfc3339(longest['t']), s=longest['s'], cause=cause)]
			answers = judge_stalls({'qps': [row]}, truth, View('full', truth))
			self.assertIn(('stall: timeout', want), [answer[:2] for answer in answers])

	def test_copies_and_rhythm(self):
		_, _, truth = generate.make('clean_routed', 1)
		for n, want in ((truth['copies'], 'right'), (truth['copies'] - 1, 'wrong'), (None, 'missed')):
			answers = judge_copies({'copies': {'packets': n, 'from': 'ttl'}}, truth, View('full', truth))
			self.assertEqual(answers[0][1], want)
		_, _, truth = generate.make('rhythm_last', 1)
		true = truth['rhythm']
		report = {'rhythm': {'period_s': true['period_s'] * 2}}
		self.assertEqual(judge_rhythm(report, truth, View('full', truth))[0][1], 'wrong')

	def test_times(self):
		self.assertEqual(time_ns('1970-01-01T00:00:01.5Z'), 1500000000)
		self.assertEqual(time_ns('1970-01-01T00:00:01Z'), 1000000000)

	def test_the_same_seed_makes_the_same_capture(self):
		self.assertEqual(generate.make('mixed', 4)[1], generate.make('mixed', 4)[1])
		self.assertNotEqual(generate.make('mixed', 4)[1], generate.make('mixed', 5)[1])


if __name__ == '__main__':
	unittest.main()
