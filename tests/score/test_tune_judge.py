"""The judge of threshold advice must not flatter: rows of outcomes and sheets, and what a person would say of them."""
import math
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tune_judge as judge  # noqa: E402
import tune_table as table  # noqa: E402


def out(step=0.4, p99=200.0, pause=0.1, drops=0):
    return {"step_s": step, "victim_p99_us": p99, "host_pause_ratio": pause, "marks_ratio": 0.0, "lossless_drops": drops, "slice_us": 1.0}


def sheet(device="leaf1", group="all", rest=("leaf2",), advice="change", **changes):
    return {"device": device, "port_group": group, "ports": [], "rest": list(rest), "advice": advice, "diagnosis": "ecn_late", "expected": [],
            "changes": [{"knob": k, "current": a, "proposed": b, "programmed": None} for k, (a, b) in changes.items()]}


class Judge(unittest.TestCase):
    def test_j(self):
        rows = [("as before", out(), 2.0), ("both 3 % longer", out(0.412, 206), 2.06), ("pause is gone, steps are not shorter", out(0.44, 240, 0), 2.3),
                ("a frame is lost where none was", out(drops=1), math.inf), ("it never ends", out(step=None), math.inf), ("flows never end", out(p99=None), math.inf)]
        for what, after, expected in rows:
            with self.subTest(what):
                self.assertAlmostEqual(judge.j_of(after, out()), expected, 6)
        self.assertAlmostEqual(judge.j_of(out(drops=5), out(drops=10)), 2.0)
        self.assertAlmostEqual(judge.j_of(out(drops=10), out(drops=10)), 2.0)
        self.assertEqual(judge.j_of(out(drops=11), out(drops=10)), math.inf)
        self.assertEqual(judge.objective(out(drops=5), out(drops=10)), math.inf)
        self.assertAlmostEqual(judge.objective(out(pause=0.4), out()), 2.2)

    def test_pause(self):
        self.assertAlmostEqual(judge.pause_cut(out(pause=0.01), out()), 0.9)
        self.assertLess(judge.pause_cut(out(pause=0.2), out()), 0)
        self.assertIsNone(judge.pause_cut(out(pause=0), out(pause=0.0005)))
        self.assertTrue(judge.new_drops(out(drops=1), out()))
        self.assertFalse(judge.new_drops(out(drops=1), out(drops=1)))

    def test_manifest(self):
        quiet = out(pause=0)
        self.assertFalse(judge.manifest({"base": quiet, "statics": {"a": out(0.395, 200, 0)}}))
        self.assertTrue(judge.manifest({"base": quiet, "statics": {"a": out(0.36, 180, 0)}}))
        self.assertTrue(judge.manifest({"base": out(pause=0.002), "statics": {}}))
        self.assertTrue(judge.manifest({"base": out(pause=0, drops=1)}))

    def test_settings(self):
        got, unknown = judge.settings_of(sheet(kmin=(8e6, 4e6), alpha=(1 / 16, 1 / 8), weight=(0, 1)))
        self.assertEqual(got, {"leaf1:kmin": "4000000B", "leaf2:kmin": "4000000B", "leaf1:alpha": "0.125", "leaf2:alpha": "0.125"})
        self.assertEqual(unknown, ["weight"])
        self.assertEqual(list(judge.settings_of(sheet(group="hosts", rest=(), kmin=(2, 1)))[0]), ["leaf1/hosts:kmin"])
        some = {**sheet(group="2 ports", rest=(), headroom=(1, 2)), "ports": ["Ethernet9", "Ethernet10"]}
        self.assertEqual(list(judge.settings_of(some)[0]), ["leaf1/uplinks:headroom"])
        some["ports"].append("Ethernet1")
        self.assertEqual(list(judge.settings_of(some)[0]), ["leaf1:headroom"])
        programmed = sheet(rest=(), headroom=(1, 100000))
        programmed["changes"][0]["programmed"] = 100224
        self.assertEqual(judge.settings_of(programmed)[0], {"leaf1:headroom": "100224B"})
        held = judge.fold({"leaf1/hosts:kmin": "5B", "leaf1/hosts:kmax": "6B", "leaf2:kmin": "1B"}, {"leaf1:kmin": "7B", "leaf2/hosts:kmin": "3B"})
        self.assertEqual(held, {"leaf1/hosts:kmax": "6B", "leaf2:kmin": "1B", "leaf1:kmin": "7B", "leaf2/hosts:kmin": "3B"})

    def test_turned_back(self):
        up, down, other, canary = sheet(kmin=(1, 2)), sheet(kmin=(2, 1)), sheet(device="leaf3", kmin=(2, 1)), sheet(device="leaf2", rest=("leaf1",), kmin=(2, 1))
        self.assertTrue(judge.turned_back([{"sheets": [up]}, {"sheets": [down]}]))
        self.assertTrue(judge.turned_back([{"sheets": [up]}, {"sheets": [canary]}]))  # another canary, the same switches
        self.assertFalse(judge.turned_back([{"sheets": [up]}, {"sheets": [up]}, {"sheets": [{**other, "rest": []}]}, {"sheets": []}]))

    def test_round(self):
        self.assertEqual(judge.round_of([sheet(advice="fix_first"), sheet(advice="watch")]), [])
        again, spine, hosts, elsewhere = sheet(device="leaf2"), sheet(device="spine1", rest=()), sheet(group="hosts"), {**sheet(device="leaf7", rest=()), "diagnosis": "xon_close"}
        self.assertEqual(judge.round_of([sheet(advice="none"), sheet(), again, spine, hosts, elsewhere]), [sheet(), spine])
        self.assertEqual(len(judge.round_of([hosts, sheet(group="uplinks")])), 2)

    def test_table(self):
        def row(family, kind, final, rounds, **more):
            return {"family": family, "kind": kind, "seed": 1, "perturb": False, "face": "full", "base": out(), "final": final, "rounds": rounds, "converged": True,
                    "more": {"k+1 senders": {"base": out(), "final": final}}, "statics": {"vendor": out(0.5)}, "oracle": None, "measured": [], **more}
        change = [{"sheets": [sheet(kmin=(2, 1))], "advice": ["change"], "outcome": out(pause=0)}, {"sheets": [], "advice": ["none"]}]
        text = table.markdown([row("late", "fault", out(pause=0.01), change, oracle={"j": 1.9, "points": 20}), row("late", "fault", out(0.6, 200, 0.2), change),
                               row("late", "fault", out(), [{"sheets": [], "advice": ["watch"]}]), row("receiver", "dont", out(), [{"sheets": [], "advice": ["fix_first"]}]),
                               row("even", "healthy", out(), change)])
        self.assertIn("| a change where thresholds are the fault | 66.7 %", text)
        self.assertIn("| no change where they are not | 100.0 %", text)
        self.assertIn("| a good fabric left alone | 0.0 %", text)
        self.assertIn("| J, worst run | 2.500 |", text)
        self.assertIn("| J, worst round of any run | 2.000 |", text)
        self.assertIn("| runs in which a static default is better | 1 of 3 | 0 |", text)


unittest.main()
