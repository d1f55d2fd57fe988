"""The quick score fails when a family falls by more than its interval, and only then."""
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import quick  # noqa: E402
import score  # noqa: E402


def rows(**verdicts):
    return {(s.replace("_", "-"), face, 1): v for s, vs in verdicts.items() for face, v in zip("ab", vs.split())}


class Quick(unittest.TestCase):
    def test_compare(self):
        before = rows(dcqcn_off="right right", incast="right right", slow_receiver="right unknown", moe="quiet quiet")
        self.assertEqual(quick.compare(before, before), ([], []))
        one_less = rows(dcqcn_off="right unknown", incast="right right", slow_receiver="right unknown", moe="quiet quiet")
        self.assertEqual(quick.compare(before, one_less), ([], []))
        fell, _ = quick.compare(before, rows(dcqcn_off="wrong wrong", incast="right right", slow_receiver="right unknown", moe="quiet quiet"))
        self.assertEqual(fell, ["dcqcn-off: 0 of 2 right, were 2"])
        fell, _ = quick.compare(before, rows(dcqcn_off="right wrong", incast="right wrong", slow_receiver="unknown wrong", moe="quiet quiet"))
        self.assertEqual(fell, ["all of pause: 2 of 6 right, were 5", "slow-receiver: 0 of 2 right, were 1"])
        fell, _ = quick.compare(before, rows(dcqcn_off="right right", incast="right right", slow_receiver="right unknown", moe="alarm alarm"))
        self.assertEqual(len(fell), 2)
        _, rose = quick.compare(before, rows(dcqcn_off="right right", incast="right right", slow_receiver="right right", moe="quiet quiet"))
        self.assertEqual(sorted(rose), ["all of pause: 6 of 6 right, were 5", "slow-receiver: 2 of 2 right, were 1"])


class Rounds(unittest.TestCase):
    """A round counts when all its runs are there."""

    def options(self, **more):
        class Options:
            seeds, cadences, faces, packets, perturb, rounds = (1, 4), ["10s", "30s"], ["full"], [False], [False, True], 4
        for k, v in more.items():
            setattr(Options, k, v)
        return Options

    def setUp(self):
        self.rows = score.scenario_rows
        score.scenario_rows = lambda options: [("incast", "incast"), ("healthy", "none")]

    def tearDown(self):
        score.scenario_rows = self.rows

    def test_complete(self):
        options = self.options()
        walked = [[c for g in score.groups_of_round(options, turn) for c in g] for turn in range(2)]
        self.assertEqual(len(walked[0]), 4)
        first = {score.key(c) for c in walked[0]}
        self.assertEqual(score.complete_rounds(options, {})[0], 0)
        part = {k: 1 for k in sorted(first)[1:]}
        self.assertEqual(score.complete_rounds(options, part)[::2], (0, "3 of 4 runs of round 1"))
        self.assertEqual(score.complete_rounds(options, {k: 1 for k in first})[0], 1)
        both = first | {score.key(c) for c in walked[1]}
        self.assertEqual(len(both), 8)
        self.assertEqual(score.complete_rounds(options, {k: 1 for k in both})[::2], (2, "no seed is left"))

    def test_each_run_is_a_fabric(self):
        """A row of the table is of as many fabrics as it has runs: faces and cadences see others, each round does. Captures share theirs."""
        options = self.options(seeds=(1, 100), faces=["full", "eos-snmp"], packets="some")
        runs = [c for turn in range(20) for g in score.groups_of_round(options, turn) for c in g]
        for name in ("incast", "healthy"):
            mine = [c for c in runs if c["scenario"] == name and not c["packets"]]
            self.assertEqual(len(mine), 80)
            self.assertEqual(len({c["seed"] for c in mine}), 80)
            for face in options.faces:
                self.assertEqual({c["perturb"] for c in mine if c["face"] == face}, {False, True})
        twice = {(c["scenario"], c["seed"], c["perturb"]) for c in runs if c["packets"]}
        self.assertTrue(twice < {(c["scenario"], c["seed"], c["perturb"]) for c in runs if not c["packets"]})

    def test_one_program(self):
        """Results of another program are not gone on with."""
        row = {"scenario": "incast", "face": "full", "cadence": "1s", "packets": False, "perturb": False, "seed": 1, "program": "a"}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "score.jsonl")
            self.assertEqual(score.read_results(path, "a"), {})
            with open(path, "w", encoding="utf-8") as f:
                f.write(json.dumps(row) + "\n" + json.dumps({**row, "seed": 2}) + "\n")
            self.assertEqual(len(score.read_results(path, "a")), 2)
            with self.assertRaisesRegex(ValueError, "holds results of a; this is b"):
                score.read_results(path, "b")

    def test_onset(self):
        """The phase of an onset is the seed's, the same at every cadence; fabrics with nothing wrong have none."""
        options = self.options(scenario_dir=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fabric", "scenarios"))
        run = {"scenario": "incast", "cadence": "1s", "seed": 1, "quiet": False}
        at = score.onset_s(run, options)
        self.assertEqual(at, score.onset_s({**run, "cadence": "30s"}, options))
        self.assertTrue(240 <= at < 300)
        self.assertEqual(len({score.onset_s({**run, "seed": seed}, options) for seed in range(20)}), 20)
        self.assertIsNone(score.onset_s({**run, "quiet": True}, options))


unittest.main()
