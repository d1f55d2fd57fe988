#!/usr/bin/env python3
"""test_live_incidents.py BUILD - faults that begin while an agent watches: through real SNMP agents at 1 s polls, the incident names cause and place within
30 s of data after the onset, and a healthy fabric has none. All labs run at once, each with its own seed, so each fault is elsewhere."""
import os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from live_lab import Live, check, main, parse_time, wait_for

WITHIN_S = 30
CASES = [  # scenario, face, seed
    ("link-100g", "nxos", 2), ("dead-spine-link", "eos", 3), ("ecmp-stuck", "nxos", 4), ("dirty-optic", "cumulus", 5), ("dcqcn-off", None, 7), ("incast", None, 8),
    ("slow-receiver", None, 9), ("pfc-storm", None, 10)]  # None: the one the lab chooses
AT = "25s"


def at_place(subject, fault):
    """A host, or a port at either end, or the device and its group."""
    hosts = {subject["host"], *subject["hosts"]} - {None}
    if fault["host"]:
        return fault["host"] in hosts
    ends = {fault["device"]: fault["port"], fault.get("peer_device"): fault.get("peer_port")}
    return subject["device"] in ends and (subject["port"] in (None, ends[subject["device"]]))


def named(lab, truth):
    for i in lab.incidents():
        if i["cause"] in truth["accept"] and i["opened"] and any(at_place(i["subject"], f) for f in truth["faults"]):
            return i
    return None


def judged(lab):
    """How long after the onset, in the time of the data."""
    truth = lab.truth()
    try:
        incident = wait_for("found", lambda: named(lab, truth), 90, every_s=2)
    except Exception:
        return "%s on %s: expected %s at %s, told: %s" % (lab.scenario, lab.face, truth["accept"], truth["faults"][0],
                                                         [(i["cause"], i["subject"]["device"], i["subject"]["port"], i["subject"]["host"]) for i in lab.incidents()])
    after = (parse_time(incident["opened"]) - parse_time(truth["onset"])) / 1e9
    print("%-16s %-8s %-16s %4.1f s after the onset" % (lab.scenario, lab.face or "default", incident["cause"], after), flush=True)
    if not 0 <= after <= WITHIN_S:
        return "%s on %s: opened %.1f s after the onset" % (lab.scenario, lab.face, after)
    others = [i for i in lab.incidents() if i["severity"] != "info" and parse_time(i["opened"]) < parse_time(truth["onset"])]
    return "%s on %s: before the onset: %s" % (lab.scenario, lab.face, [i["cause"] for i in others]) if others else None


def test(build, work):
    labs = [Live(build, os.path.join(work, s), s, face=f, at=AT, seed=n) for s, f, n in CASES]
    quiet = Live(build, os.path.join(work, "quiet"), "healthy", seed=6)
    try:
        for lab in [*labs, quiet]:
            lab.start()
            lab.agent()
        wrong = [w for w in map(judged, labs) if w]
        check(not wrong, "\n".join(wrong))
        told = [(i["cause"], i["severity"]) for i in quiet.incidents() if i["severity"] != "info"]
        check(not told, "a healthy fabric has incidents: %s" % told)
    finally:
        for lab in [*labs, quiet]:
            lab.stop()
    return "%d faults" % len(labs)


main(test)
