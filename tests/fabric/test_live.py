#!/usr/bin/env python3
"""test_live.py BUILD - a live lab through the front door, on each face: what an agent has stored is what the model's switches count, at one
instant and with nothing in between but snmpd; neighbours are found by LLDP; thresholds change the exchange; nothing is left behind."""
import os, re, signal, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from live_lab import Live, check, main, snmpds, wait_for
from patience import HANG_S  # noqa: E402

CELL, POOL = 208, 32000000
ROUNDED = {  # what SNMP carries in other units
    "pfc.rx_pause_ns": lambda v: v // 1000 * 1000, "pfc.tx_pause_ns": lambda v: v // 1000 * 1000,
    "pg.shared_watermark_bytes": lambda v: -(-v // CELL) * CELL, "pg.headroom_watermark_bytes": lambda v: -(-v // CELL) * CELL}
MUST = {"port.in_octets", "port.out_octets", "port.in_packets", "port.in_errors", "port.out_discards", "port.speed_bps", "port.oper_up", "pfc.rx_frames", "pfc.tx_frames",
        "queue.out_octets"}
HAS = {"nxos": {"pfc.rx_pause_ns", "pfc.tx_pause_ns", "pg.shared_watermark_bytes", "cfg.pg_headroom_bytes", "port.fcs_errors"}, "cumulus": {"queue.ecn_marked"},
       "eos": {"queue.ecn_marked", "port.fcs_errors"}, "sonic": set()}
HAS_NOT = {"nxos": {"queue.ecn_marked"}, "cumulus": {"pfc.rx_pause_ns", "pg.shared_watermark_bytes"}, "eos": {"pfc.rx_pause_ns"}, "sonic": {"queue.ecn_marked", "pfc.rx_pause_ns"}}


def same_numbers(lab):
    """Time stands still: every number must be equal."""
    model = {}
    for line in lab.lab("show", "counters").splitlines():
        _, device, port, priority, metric, value = line.split("\t")
        model[device, port, priority if priority != "-" else "", metric] = int(value)
    stored = lab.latest()
    equal, metrics = 0, set()
    for key, value in model.items():
        if key not in stored:
            continue
        expected = ROUNDED.get(key[3], lambda v: v)(value)
        check(stored[key] == expected, "%s: %s: stored %d, the model counts %d" % (lab.face, key, stored[key], expected))
        equal += 1
        if stored[key]:
            metrics.add(key[3])
    known = {k[3] for k in stored}
    missing = (MUST | HAS[lab.face]) - known
    check(not missing, "%s: not stored: %s" % (lab.face, missing))
    check(not known & HAS_NOT[lab.face], "%s: stored what it cannot answer: %s" % (lab.face, known & HAS_NOT[lab.face]))
    moved = {"port.in_octets", "queue.out_octets"} | ({"pfc.rx_frames"} if lab.face in ("nxos", "eos") else set())  # the others' caches may be older than the fault
    check(metrics >= moved, "%s: nothing but zeros: %s" % (lab.face, metrics))
    check(equal > 1000, "%s: only %d numbers were compared" % (lab.face, equal))
    return equal


def neighbours(lab):
    """What LLDP tells is what the configuration declares."""
    with open(os.path.join(lab.dir, "rocewatch.yaml")) as f:
        declared = {frozenset(m) for m in re.findall(r'a: "([\w:-]+)", b: "([\w:-]+)"', f.read()) if not m[1].startswith("host:")}

    def discovered():
        said = lab.discover()
        return said if "8 of 8 devices answered" in said else None
    said = wait_for("%s: all switches answer to LLDP" % lab.face, discovered, 60)
    found = {frozenset(m) for m in re.findall(r'a: "([\w:-]+)", b: "([\w:-]+)"', said) if not m[1].startswith("host:")}
    check(declared and found == declared, "%s: LLDP found %d links, %d are declared; not found: %s; not declared: %s" % (
        lab.face, len(found), len(declared), sorted(map(sorted, declared - found))[:3], sorted(map(sorted, found - declared))[:3]))


def thresholds(lab):
    """A smaller alpha pauses hosts more, and the counters of the same lab go on from where they are."""
    before = lab.latest("port.out_octets")
    said = lab.lab("set", "alpha=1/128")
    check(re.search(r"exchange takes [\d.]+ ms now", said), "set said %r" % said)
    held = lab.newest()
    wait_for("two polls after the setting", lambda: lab.polls_since(held) >= 2, 40)
    after = lab.latest("port.out_octets")
    check(all(after[k] >= before[k] for k in before), "counters went back when a setting changed")
    check(any(after[k] > before[k] for k in before), "traffic stands still")

    def levels(device):
        return {v for k, v in lab.latest("cfg.pg_xoff_level_bytes").items() if k[0] == device and k[2] == "3"}
    lab.lab("set", "alpha=1/4", "--device", "leaf2")
    wait_for("the new pause thresholds are read back", lambda: levels("leaf1") == {POOL // 128} and levels("leaf2") == {POOL // 4}, 30)
    check("on leaf2" in lab.lab("show"), "leaf2's own setting is not shown")
    for wrong in (["alpha=x"], ["alpha=1000"], ["kmin=5"], ["colour=red"], ["kmin"], ["alpha=1/8", "--device", "leaf9"], ["fault=off", "--device", "leaf1"]):
        check(lab.lab("set", *wrong, code=2) == "", "%s was taken" % wrong)


def faults(lab):
    check("on" in re.search(r"fault +(\w+)", lab.lab("show"))[1], "the fault has not begun")
    lab.lab("set", "fault=off")
    check("off" in re.search(r"fault +(\w+)", lab.lab("show"))[1], "the fault is not off")


def ends(labs):
    """SIGTERM, SIGINT and SIGKILL of the lab: no snmpd stays."""
    for lab, how in zip(labs, (signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGTERM)):
        lab.lab_process.send_signal(how)
    for lab in labs:
        rc = lab.lab_process.wait(HANG_S)
        check(rc in (0, -signal.SIGKILL), "%s: the lab ended with %d" % (lab.face, rc))
        wait_for("%s: its snmpds are gone" % lab.face, lambda: not snmpds(lab.dir), 10)


def test(build, work):
    labs = [Live(build, os.path.join(work, f), "incast", face=f, at="1s", checked=True) for f in ("nxos", "cumulus", "eos", "sonic")]
    try:
        for lab in labs:
            lab.start()
        for lab in labs:
            lab.served()
        second = Live(build, labs[0].dir, "healthy")
        check("runs there already" in second.refused(), "two labs in one directory")
        for lab in labs:
            lab.agent()
        for lab in labs:
            wait_for("%s: polls" % lab.face, lambda: lab.polls_since(0) >= 1, 60)
        held = [(lab.lab("set", "clock=hold"), lab.newest())[1] for lab in labs]
        for lab, since in zip(labs, held):
            wait_for("%s: two polls of each switch after time was held" % lab.face, lambda: lab.polls_since(since) >= 2, 40)
        compared = sum(same_numbers(lab) for lab in labs)
        Live.stop(labs[1:], agents_only=True)
        for lab in labs:
            lab.lab("set", "clock=run")
        neighbours(labs[0])
        neighbours(labs[3])
        thresholds(labs[0])
        faults(labs[1])
        ends(labs)
    finally:
        Live.stop(labs)
    return "%d numbers compared" % compared


main(test)
