"""One round of advice on the second simulator, and a few of its cases diagnosed: neither the simulator nor the loop may rot."""
import argparse
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import packet_matrix  # noqa: E402
import tune_calibrate as calibrate  # noqa: E402
import tune_drawn as drawn  # noqa: E402
import tune_judge as judge  # noqa: E402
import tune_packet  # noqa: E402
import tune_vendor as vendor  # noqa: E402

OPTIONS = argparse.Namespace(packetsim=None, rocewatch=None, length="66m", interval="60s", rounds=1, tmp=None, cases=None, tmp_case=None, baselines=False, lab=None)


class Vendor(unittest.TestCase):
    def test_rule(self):
        def out(pause=0.0, marks=0.0, drops=0):
            return {"host_pause_ratio": pause, "link_pause_ratio": 0, "marks_ratio": marks, "lossless_drops": drops}
        self.assertEqual(vendor.direction(out(pause=0.005), 0), -1)
        self.assertEqual(vendor.direction(out(pause=0.005, marks=0.2), 0.01), 1)
        self.assertEqual(vendor.direction(out(drops=1, marks=0.2), 0.01), -1)
        self.assertEqual(vendor.direction(out(), 0), 0)
        # paused above 500 KB, marks below: left in steps of 50 KB, back in steps of 10 KB once it has turned
        seen = vendor.tune(lambda kmin, kmax: out(pause=0.1 if kmin > 500e3 else 0, marks=0.1), 640e3, 1640e3, 1e6, 0)
        self.assertEqual([round(s["kmin"] / 1e3) for s in seen][:5], [640, 590, 540, 490, 500])
        self.assertTrue(all(round(s["kmax"] - s["kmin"]) == 1000000 for s in seen))


class Calibration(unittest.TestCase):
    @staticmethod
    def rows(values):
        sheet = {"changes": [{"knob": "alpha", "current": 0.1, "proposed": 0.5}], "expected": [{"metric": "j", "now": 1, "likely": 1, "low": 0.9, "high": 1.0, "worse_ratio": 0.1}]}
        return [{"seed": i, "rounds": [{"sheets": [dict(sheet)]}], "measured": [{"step_ratio": 1.0, "j_ratio": v, "came": []}]} for i, v in enumerate(values)]

    def test_quantiles(self):
        rows = self.rows([0.5 + i / 100 for i in range(51)])  # 0.5 to 1.0
        self.assertIn('{"j", 1,\n\t\t{{NAN, NAN, NAN, NAN}, {-0.45, -0.25, -0.05, 0}', calibrate.fit(rows))
        self.assertIn("| j | 51 | 22 |", calibrate.check(rows, []))  # 0.90 to 1.00: 11 of 51

    def test_several_sheets_of_a_round_are_one_change(self):
        row = self.rows([0.8])[0]
        row["rounds"][0]["sheets"] *= 2
        row["measured"] *= 2
        self.assertEqual(len(calibrate.values([row])["alpha", "j"]), 1)


class Drawn(unittest.TestCase):
    def test_the_same_seed_is_the_same_fabric(self):
        self.assertEqual(drawn.drawn(7), drawn.drawn(7))
        self.assertNotEqual(drawn.drawn(7)["args"], drawn.drawn(19)["args"])
        speeds = {tuple(a for a in drawn.drawn(s)["args"] if a == "--second-gbps") for s in range(40)}
        self.assertEqual(len(speeds), 2)  # some have two speeds within a switch, some have not

    def test_misses(self):
        out = {"step_s": 1.0, "victim_p99_us": 10.0, "host_pause_ratio": 0, "lossless_drops": 0}
        row = {"kind": "late", "base": out, "final": out, "converged": True, "statics": {"x": {**out, "step_s": 0.9}}, "vendor": {}, "rounds": [{"outcome": {**out, "step_s": 1.2}}]}
        self.assertEqual(drawn.misses(row), ["J above 2.06", "statics better"])
        row["statics"]["x"]["lossless_drops"] = 5  # no baseline: it loses frames
        self.assertEqual(drawn.misses(row), ["J above 2.06"])

    def test_slow_timers(self):
        """NICs with a timer of 300 us: the larger share of the pool must not bring the first marks (J 1.76 and steps half as long again where Kmin stayed)."""
        row = drawn.one(OPTIONS, 1032)
        self.assertLess(row["final"]["step_s"] / row["base"]["step_s"], 1.1)
        self.assertLess(judge.j_of(row["final"], row["base"]), 1.5)


class Loop(unittest.TestCase):
    def test_late(self):
        row = tune_packet.one(OPTIONS, "late-small-alpha", 1)
        self.assertTrue(row["rounds"][0]["sheets"], row["rounds"][0])
        j = judge.j_of(row["final"], row["base"])
        self.assertLess(j, 1.95)
        self.assertLess(row["final"]["host_pause_ratio"], 0.7 * row["base"]["host_pause_ratio"])

    def test_by_speed(self):
        """Kmin in proportion to the speed of a port is one profile: the uplinks, which pause, are in the sheet with the hosts."""
        row = tune_packet.one(OPTIONS, "late-by-speed", 1)
        sheets = row["rounds"][0]["sheets"]
        self.assertEqual([s["port_group"] for s in sheets], ["all"], row["rounds"][0])
        self.assertIn("Ethernet5", sheets[0]["ports"])
        self.assertLess(judge.j_of(row["final"], row["base"]), 1.7)
        row = tune_packet.one(OPTIONS, "early-by-speed", 1)
        self.assertEqual({s["port_group"] for s in row["rounds"][0]["sheets"]}, {"all"})
        self.assertLess(judge.j_of(row["final"], row["base"]), 1.4)

    def test_luck_of_the_hash(self):
        """Few lasting source ports fall unevenly; with Kmin above the depth at which PFC fires marks are late on every path."""
        row = tune_packet.one(OPTIONS, "late-fixed-ports", 1)
        self.assertTrue(row["rounds"][0]["sheets"], row["rounds"][0])
        self.assertLess(judge.j_of(row["final"], row["base"]), 1.6)

    def test_storage(self):
        """A checkpoint to hosts that take it at line rate: deeper queues made the step 29 % longer (J 2.29) and nobody faster."""
        row = tune_packet.one(OPTIONS, "storage-beside-ring", 1)
        self.assertEqual(row["rounds"][0]["sheets"], [])
        self.assertIn("writes to storage", row["rounds"][0]["why"][0])
        self.assertTrue(row["converged"])

    def test_headroom(self):
        row = tune_packet.one(OPTIONS, "headroom-tight", 1)
        self.assertGreater(row["base"]["lossless_drops"], 10000)
        self.assertEqual(row["final"]["lossless_drops"], 0)

    def test_headroom_and_alpha(self):
        """alpha 64 lets one port take all of the pool that headroom has to come from: both change, and nothing is lost any more."""
        row = tune_packet.one(OPTIONS, "headroom-alpha-64", 1)
        self.assertGreater(row["base"]["lossless_drops"], 1000)
        for sheet in row["rounds"][0]["sheets"]:
            self.assertEqual([c["proposed"] for c in sheet["changes"] if c["knob"] == "alpha"], [4], sheet)
        self.assertLess(judge.j_of(row["final"], row["base"]), 2.06)
        self.assertEqual(row["final"]["lossless_drops"], 0)

    def test_diagnosis(self):
        with tempfile.TemporaryDirectory() as OPTIONS.tmp_case:
            for name in ("slow receiver", "slow link", "late ECN", "cc-off, two hosts of a leaf"):
                row = packet_matrix.one(OPTIONS, name, "10s", 1)
                self.assertEqual(row["verdict"], "right", (name, row["said"]))


if __name__ == "__main__":
    OPTIONS.packetsim, OPTIONS.rocewatch = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
