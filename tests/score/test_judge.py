"""The judge must not flatter: rows of truth and answer, and the verdict a person would give."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from judge import judge, links, wilson  # noqa: E402
import table  # noqa: E402

FABRIC = '''links:
  - { a: "leaf1:Ethernet1", b: "host:node-001:rail0", cable: 3.0m, speed: 400G }
  - { a: "leaf1:Ethernet9", b: "spine1:Ethernet1", cable: 30.0m, speed: 400G }
'''


def fault(cause, subject, **more):
    return {"cause": cause, "accept": [cause, *more.pop("accept", [])], "subject": subject, "onset_s": 100.0, "end_s": 200.0, **more}


def said(cause, severity="warning", parent=None, confidence=0.8, **subject):
    return {"cause": cause, "severity": severity, "parent": parent, "confidence_ratio": confidence, "opened": "1970-01-01T00:02:00.000000000Z",
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
            rows.append({"scenario": "s", "face": "full", "cadence": "1s", "packets": False, "perturb": False, "hours": 1.0, **judge(truth, incidents, peers)})
        text = table.markdown(rows)
        self.assertIn("Two faults at once: both named in 50.0 %", text)
        self.assertIn("Brier score", text)

    def test_wilson(self):
        lo, hi = wilson(99, 100)  # published: 0.9455, 0.9982
        self.assertAlmostEqual(lo, 0.9455, 3)
        self.assertAlmostEqual(hi, 0.9982, 3)


unittest.main()
