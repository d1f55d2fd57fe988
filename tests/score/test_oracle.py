"""The oracle must see what the counters show, and no more."""
import os
import random
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import oracle  # noqa: E402

FABRIC = '  - { a: "leaf1:Ethernet1", b: "host:node-001:rail0" }\n  - { a: "leaf1:Ethernet2", b: "host:node-002:rail0" }\n' \
         '  - { a: "leaf1:Ethernet9", b: "spine1:Ethernet1" }\n'


def case(lines):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "fabric.yaml"), "w", encoding="utf-8") as f:
            f.write(FABRIC)
        with open(os.path.join(folder, "samples.tsv"), "w", encoding="utf-8") as f:
            f.write("# a case\n" + "".join(lines))
        return oracle.case_numbers(folder, 100)


def row(scenario, seed, dice, **numbers):
    return {"scenario": scenario, "cause": {"healthy": "none", "quiet": "none"}.get(scenario, scenario), "accept": [scenario], "seed": seed,
            "numbers": {"port.in_octets@host:move:max": dice.gauss(0, 1), **numbers}}


class Oracle(unittest.TestCase):
    def test_numbers(self):
        """Frames of one host port begin at the onset, and a setting of the other changes: its own group moves, the uplinks do not."""
        lines = []
        for t in range(0, 440, 10):
            for port, slope in (("Ethernet1", 1000 if t > 100 else 0), ("Ethernet2", 0), ("Ethernet9", 0)):
                lines.append(f"{t}\tleaf1\t{port}\t3\tpfc.tx_frames\t{slope * max(0, t - 100)}\n")
        lines += ["0\tleaf1\tEthernet1\t-\tport.mtu_bytes\t9216\n", "0\tleaf1\tEthernet2\t-\tport.mtu_bytes\t9216\n",
                  "120\tleaf1\tEthernet2\t-\tport.mtu_bytes\t1500\n"]
        numbers = case(lines)
        self.assertGreater(numbers["pfc.tx_frames/3@host:move:max"], 5)
        self.assertNotIn("pfc.tx_frames/3@host:move:min", numbers)
        self.assertNotIn("pfc.tx_frames/3@up:move:max", numbers)
        self.assertEqual(numbers["port.mtu_bytes@host:changed"], 1)
        self.assertEqual(numbers["port.mtu_bytes@host:odd"], 1)
        self.assertNotIn("devices:silent", numbers)
        self.assertEqual(case([line for line in lines if not 150 < float(line.split()[0]) < 300])["devices:silent"], 1)

    def test_bound(self):
        """Marks tell two causes apart; a face without marks sees that something moves, and one without pause either sees nothing."""
        dice, rows = random.Random(1), []
        for seed in range(24):
            rows.append(row("healthy", seed, dice))
            rows.append(row("ecn_off", seed, dice, **{"pfc.tx_frames/3@host:move:max": 8 + dice.random()}))
            rows.append(row("incast", seed, dice, **{"pfc.tx_frames/3@host:move:max": 8 + dice.random(), "queue.ecn_marked/3@host:move:max": 6 + dice.random()}))
        base = {"port.in_octets"}
        full = oracle.bound(rows, base | {"pfc.tx_frames", "queue.ecn_marked"}, 30)
        self.assertTrue(all(full[s][0] > 0.9 and full[s][1] > 0.9 for s in full), full)
        frames = oracle.bound(rows, base | {"pfc.tx_frames"}, 30)
        self.assertLess(frames["ecn_off"][0] + frames["incast"][0], 1.5)
        self.assertGreater(frames["incast"][1], 0.9)
        blind = oracle.bound(rows, base, 30)
        self.assertLess(blind["incast"][0], 0.7)


unittest.main()
