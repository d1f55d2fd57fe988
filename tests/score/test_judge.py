"""The judge must not flatter: rows of truth and answer, and the verdict a person would give."""
import datetime
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from judge import gap, judge, links, told_per_hour, wilson  # noqa: E402
import table  # noqa: E402

FABRIC = '''links:
  - { a: "leaf1:Ethernet1", b: "host:node-001:rail0", cable: 3.0m, speed: 400G }
  - { a: "leaf1:Ethernet9", b: "spine1:Ethernet1", cable: 30.0m, speed: 400G }
'''


def fault(cause, subject, **more):
    return {"cause": cause, "accept": [cause, *more.pop("accept", [])], "subject": subject, "onset_s": 100.0, "end_s": 200.0, **more}


def at(s):
    return datetime.datetime.fromtimestamp(s, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def said(cause, severity="warning", parent=None, confidence=0.8, opened_s=120, timeline=(), steps=(), **subject):
    return {"cause": cause, "severity": severity, "parent": parent, "confidence_ratio": confidence, "opened": at(opened_s),
            "timeline": [{"t": at(t), "text": text} for t, text in timeline], "next_steps": [{"text": s} for s in steps],
            "subject": {"device": None, "port": None, "host": None, "hosts": [], "group": None, **subject}}


HOST = fault("slow_receiver", "host", device="leaf1", port="Ethernet1", host="node-001")
LINK = fault("link_errors", "uplink", device="leaf1", port="Ethernet9", host=None)
GROUP = fault("ecmp_imbalance", "uplinks", device="leaf1", port=None, host=None, accept=["ecmp_low_entropy"])
ROWS = [
    ("named by host", [HOST], [said("slow_receiver", host="node-001")], "right"),
    ("named by its port", [HOST], [said("slow_receiver", device="leaf1", port="Ethernet1")], "right"),
    ("another host", [HOST], [said("slow_receiver", host="node-002")], "wrong"),
    ("right host, wrong cause", [HOST], [said("incast", host="node-001")], "wrong"),
    ("nothing said", [HOST], [], "silent"),
    ("unknown is not wrong", [HOST], [said("unknown")], "unknown"),
    ("a shadow of the right one does not count against", [HOST], [said("slow_receiver", host="node-001"), said("incast", parent="x", device="spine1")], "right"),
    ("something worse named before it", [HOST], [said("incast", "critical", device="spine1"), said("slow_receiver", host="node-001")], "wrong"),
    ("only an info, but right", [HOST], [said("slow_receiver", "info", host="node-001")], "right"),
    ("the other end of the link", [LINK], [said("link_errors", device="spine1", port="Ethernet1")], "right"),
    ("another link", [LINK], [said("link_errors", device="leaf2", port="Ethernet9")], "wrong"),
    ("group of the device", [GROUP], [said("ecmp_low_entropy", device="leaf1", group="uplinks")], "right"),
    ("group of another device", [GROUP], [said("ecmp_imbalance", device="leaf2", group="uplinks")], "wrong"),
    ("both of two", [HOST, LINK], [said("link_errors", device="leaf1", port="Ethernet9"), said("slow_receiver", host="node-001")], "right"),
    ("one of two", [HOST, LINK], [said("slow_receiver", host="node-001")], "half"),
    ("nothing wrong, nothing said", [], [], "quiet"),
    ("nothing wrong, an info", [], [said("incast", "info", host="node-001")], "quiet"),
    ("nothing wrong, a warning", [], [said("incast", host="node-001")], "alarm"),
    ("nothing wrong, an unknown as a warning is an alarm too", [], [said("unknown")], "alarm"),
]


class Judge(unittest.TestCase):
    def test_rows(self):
        peers = links(FABRIC)
        self.assertEqual(peers["spine1:Ethernet1"], "leaf1:Ethernet9")
        for what, faults, incidents, expected in ROWS:
            with self.subTest(what):
                truth = {"cause": faults[0]["cause"] if faults else "none", "faults": faults}
                self.assertEqual(judge(truth, incidents, peers)["verdict"], expected)

    def test_table_counts(self):
        peers = links(FABRIC)
        rows = []
        for _, faults, incidents, _ in ROWS:
            truth = {"cause": faults[0]["cause"] if faults else "none", "faults": faults}
            rows.append({"scenario": "s", "face": "full", "cadence": "1s", "seed": 1, "packets": False, "perturb": False, "hours": 1.0, **judge(truth, incidents, peers)})
        text = table.markdown(rows)
        self.assertIn("Two faults at once: both named in 50.0 %", text)
        self.assertIn("Brier score", text)
        self.assertIn("INCOMPLETE", text)
        self.assertIn("3 complete rounds", table.markdown(rows, 3))

    def test_a_fabric_counts_once(self):
        """One fabric, seen by three faces at six cadences, is one fabric: 18 right answers of it say as much as one."""
        peers = links(FABRIC)
        answer = judge({"cause": HOST["cause"], "faults": [HOST]}, [said("slow_receiver", host="node-001")], peers)
        rows = [{"scenario": "s", "face": face, "cadence": f"{s}s", "seed": 1, "packets": False, "perturb": False, "hours": 1.0, "program": "p", **answer}
                for face in ("full", "eos-snmp", "sonic-snmp") for s in range(1, 7)]
        text = table.markdown(rows, 1)
        self.assertIn("18 runs on 1 distinct fabric: 18 with one fault (1 fabric)", text)
        self.assertIn("| s | 1 | 18 | 100.0 % (21-100) |", text)
        self.assertIn("| slow_receiver | 1 | 18 | 100.0 % (21-100) |", text)
        self.assertNotIn("(82-100)", text)  # what 18 fabrics would show
        other = table.markdown(rows + [{**r, "seed": 2} for r in rows], 1)
        self.assertIn("| s | 2 | 36 | 100.0 % (34-100) |", other)

    def test_fabrics_are_drawn_as_a_whole(self):
        """40 fabrics, four looks at each: where looks at one agree the interval is that of 40 runs, where they do not it is that of 160."""
        def rows(right):
            return [{"scenario": "s", "perturb": False, "seed": seed, "hit": right(seed, look)} for seed in range(40) for look in range(4)]
        wide = table.share(rows(lambda seed, look: seed % 2 == 0), lambda r: r["hit"])
        close = table.share(rows(lambda seed, look: (seed + look) % 2 == 0), lambda r: r["hit"])
        self.assertRegex(wide, r"^50.0 % \(3[45]-6[56]\)$")
        self.assertEqual(close, "50.0 % (50-50)")
        self.assertEqual(table.share(rows(lambda seed, look: True), lambda r: r["hit"]), "100.0 % (91-100)")

    def test_prices(self):
        answer = judge({"cause": HOST["cause"], "faults": [HOST]}, [said("slow_receiver", host="node-001")], links(FABRIC))
        row = {"scenario": "s", "face": "full", "cadence": "1s", "packets": False, "perturb": False, "hours": 1.0, "program": "p", **answer}
        text = table.markdown([{**row, "seed": seed, "usd_true": 100, "usd_told": 100 + 2 * seed} for seed in range(4)], 1)
        self.assertIn("| s | 1s | 4 | 100 to 100 | 1.003 / 1.030 / 1.057 | 25.0 % (5-70) | 75.0 % (30-95) |", text)

    def test_quiet_fabrics_are_counted(self):
        answer = judge({"cause": "none", "faults": []}, [], {})
        loud = judge({"cause": "none", "faults": []}, [said("incast", host="node-001")], {})
        row = {"scenario": "q", "face": "full", "cadence": "1s", "seed": 1, "packets": False, "perturb": False, "hours": 100.0, "program": "p"}
        rows = [{**row, "cadence": f"{s}s", **answer} for s in range(1, 11)] + [{**row, "seed": 2, **answer}, {**row, "seed": 2, "cadence": "2s", **loud}]
        text = table.markdown(rows, 1)
        self.assertIn("2 distinct fabrics with nothing wrong", text)
        self.assertIn("1 of them, 50.0 % (9-91), had a warning", text)
        self.assertIn("| q | 2 | 1 | 12 | 1200 | 1 | incast 1 |", text)
        self.assertNotIn("a day and fabric", text)

    def test_program_is_told(self):
        answer = judge({"cause": "none", "faults": []}, [], {})
        row = {"scenario": "q", "face": "full", "cadence": "1s", "seed": 1, "packets": False, "perturb": False, "hours": 1.0, **answer}
        self.assertIn("Measured with rocewatch 1, commit a of 2026-01-01.", table.markdown([{**row, "program": "rocewatch 1, commit a of 2026-01-01"}], 1))
        mixed = table.markdown([{**row, "program": "a"}, {**row, "seed": 2, "program": "b"}, {**row, "seed": 3}], 1)
        self.assertIn("DIFFERENT programs: 1 run with a; 1 run with b; 1 run with a program that was not recorded.", mixed)

    def test_times(self):
        """Onset is at 100 s: what opened before it saw nothing; a cause that was found later counts from then."""
        peers = links(FABRIC)
        host = {"host": "node-001"}
        for what, incidents, detect, root in [
                ("at once", [said("slow_receiver", opened_s=112, **host)], 12, 12),
                ("cause found later", [said("slow_receiver", opened_s=112, timeline=[(130, "cause: slow_receiver, was unknown")], **host)], 12, 30),
                ("the accepted cause was said first", [said("slow_receiver", opened_s=112, timeline=[(120, "cause: incast, was slow_receiver"),
                                                                                                  (140, "cause: slow_receiver, was incast")], **host)], 12, 12),
                ("cause never found", [said("incast", opened_s=112, **host)], 12, None),
                ("elsewhere", [said("slow_receiver", opened_s=112, host="node-002")], None, None),
                ("open before the fault", [said("slow_receiver", opened_s=90, timeline=[(130, "cause: slow_receiver, was incast")], **host)], None, 30),
                ("its shadow was seen first", [said("incast", opened_s=105, parent="x", **host), said("slow_receiver", opened_s=112, **host)], 5, 12)]:
            with self.subTest(what):
                f = judge({"cause": "slow_receiver", "faults": [HOST]}, incidents, peers)["faults"][0]
                self.assertEqual((f["detect_s"], f["root_s"]), (detect, root))

    def test_abstained(self):
        """Unknown at the right host with what to collect is a right answer only where the face shows no more."""
        peers = links(FABRIC)
        truth = {"cause": "slow_receiver", "faults": [HOST]}
        good = judge(truth, [said("unknown", host="node-001", steps=["read rp_cnp_handled"])], peers)
        self.assertTrue(good["abstained"])
        self.assertFalse(judge(truth, [said("unknown", host="node-001")], peers)["abstained"])
        self.assertFalse(judge(truth, [said("unknown", host="node-002", steps=["x"])], peers)["abstained"])
        self.assertFalse(judge(truth, [said("incast", host="node-002"), said("unknown", host="node-001", steps=["x"])], peers)["abstained"])
        row = {"scenario": "s", "face": "sonic-snmp", **good}
        self.assertTrue(table.abstained(row, {("s", "sonic-snmp"): (0.2, 1.0)}))
        self.assertFalse(table.abstained(row, {("s", "sonic-snmp"): (0.9, 1.0)}))
        self.assertFalse(table.abstained({**row, "verdict": "wrong"}, {("s", "sonic-snmp"): (0.2, 1.0)}))

    def test_told_per_hour(self):
        first = {"opened": "1970-01-01T00:05:00.000Z", "closed": "1970-01-01T00:08:00.000Z", "usd_per_hour": 100}
        beside = {"opened": "1970-01-01T00:06:00.000Z", "closed": None, "usd_per_hour": 30}
        instead = {"opened": "1970-01-01T00:09:00.000Z", "closed": None, "usd_per_hour": 90}
        self.assertEqual(told_per_hour([first, beside]), 130)
        self.assertEqual(told_per_hour([first, instead]), 100)  # the sum is 190
        self.assertEqual(told_per_hour([first, beside, instead, {**first, "parent": "x"}]), 130)
        self.assertEqual(told_per_hour([]), 0)

    def test_intervals(self):
        lo, hi = gap(56, 70, 48, 80)  # Newcombe 1998, table II, contrast (a), method 10
        self.assertAlmostEqual(lo, 0.0524, 3)
        self.assertAlmostEqual(hi, 0.3339, 3)

    def test_wilson(self):
        lo, hi = wilson(99, 100)  # published: 0.9455, 0.9982
        self.assertAlmostEqual(lo, 0.9455, 3)
        self.assertAlmostEqual(hi, 0.9982, 3)


unittest.main()
