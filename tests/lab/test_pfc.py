#!/usr/bin/python3
"""PFC frames on a wire of the lab arrive as the right counter of the right port, priority and direction at both of its ends.

The switches' agents get a vendor's PFC tables by AgentX (tests/fake/switch_tables.c), counted from the frames themselves. What the
sender sent, its own switch calls tx ("we paused the neighbour") and the other end rx ("the neighbour paused us").
"""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lab import check, main, wait_for  # noqa: E402
from patience import HANG_S  # noqa: E402

# One vendor's tables on each switch: the same frames must read the same through all of them.
FACES = {"leaf1": ("cisco", "nxos"), "leaf2": ("arista", "eos"), "spine1": ("cumulus", "cumulus"), "spine2": ("cisco", "nxos")}
PORTS = {"leaf1": ["swp51", "swp52"], "leaf2": ["swp51", "swp52"], "spine1": ["swp1", "swp2"], "spine2": ["swp1", "swp2"]}
# sender, its port, the other end, priority, frames
BURSTS = [("spine1", "swp1", "leaf1", "swp51", 3, 250), ("leaf1", "swp52", "spine2", "swp1", 3, 120), ("spine2", "swp2", "leaf2", "swp52", 4, 77),
          ("leaf2", "swp51", "spine1", "swp2", 0, 31)]


def test(lab):
    for switch, (face, _) in FACES.items():
        agent = lab.popen(switch, [lab.build / "tests/fake/switch_tables", "-x", lab.dir / switch / "agentx.sock", "-f", face,
                                   *[a for p in PORTS[switch] for a in ("-i", p)]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = agent.stdout.readline()
        check(line.startswith("serving"), "switch_tables on %s: %r" % (switch, line))
    config = lab.config(switches=list(FACES), capture=False, profiles={s: p for s, (_, p) in FACES.items()})
    rocewatch = lab.agent(config)

    def frames():
        """{(device, port, priority, metric): newest value}"""
        rows = lab.sql(config, "SELECT device, port, priority, metric, value FROM samples WHERE metric IN ('pfc.rx_frames', 'pfc.tx_frames') ORDER BY t_ns")
        return {(r["device"], r["port"], int(r["priority"]), r["metric"]): int(r["value"]) for r in rows}

    def known():
        return {(d, p) for d, p, _, _ in frames()} >= {(d, p) for d in FACES for p in PORTS[d]}
    wait_for("PFC counters of every port", lambda: (lab.dir / "rocewatch.db").exists() and lab.all_up(config, FACES) and known(), 30, 0.3, rocewatch)
    check(not any(frames().values()), "counted before anything was sent: %s" % {k: v for k, v in frames().items() if v})

    expected = {}
    for sender, port, other, other_port, priority, count in BURSTS:
        done = lab.popen(sender, [lab.build / "tests/lab/pfc_gen", port, priority, count])
        check(done.wait(HANG_S) == 0, "pfc_gen on %s: exit %s" % (sender, done.returncode))
        expected[(sender, port, priority, "pfc.tx_frames")] = count
        expected[(other, other_port, priority, "pfc.rx_frames")] = count
    wait_for("the last frame in the store", lambda: {k: v for k, v in frames().items() if v} == expected, 20, 0.3, rocewatch)
    # And it stays so: nothing is counted twice by a later poll.
    polls = len(lab.polls(config)["leaf1"])
    wait_for("three more polls", lambda: len(lab.polls(config)["leaf1"]) >= polls + 3, 30, 0.3, rocewatch)
    got = {k: v for k, v in frames().items() if v}
    check(got == expected, "expected %s, got %s" % (expected, got))
    check(lab.end(rocewatch) == 0, "the agent did not end well")
    print("%d counters over %d ports and 8 priorities: %d moved, each as sent" % (len(frames()), 2 * len(FACES), len(got)))


main(test, "pfc")
