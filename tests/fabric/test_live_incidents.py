#!/usr/bin/env python3
"""test_live_incidents.py BUILD - faults that begin while an agent watches: through real SNMP agents at 1 s polls, the incident names cause and place within
30 s of data after the onset, and a healthy fabric has none. Labs run side by side, each with its own seed, so each fault is elsewhere. It is about what
is found and when: nine agents run as they are shipped. Agents that poll these faces run sanitized in lab.live, one that finds a fault in lab.live_alerts
and lab.live_jobs."""
import os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from live_lab import Failed, Live, check, main, parse_time, shipped, wait_for

WITHIN_S = 30
WINDOW_S = 10  # of the slowest detector
WAVES = [  # what two cores can serve and watch at once: (scenario, face, seed); no face: the one the lab chooses
    [("healthy", None, 6), ("dcqcn-off", None, 7), ("link-100g", "nxos", 2), ("ecmp-stuck", "nxos", 4), ("pfc-storm", None, 10)],
    [("dead-spine-link", "eos", 3), ("dirty-optic", "cumulus", 5), ("incast", None, 8), ("slow-receiver", None, 9)]]
AT = "10s"


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


def starved(lab, since_ns, what):
    """Was this machine too busy to poll every second? Then what the counters show late, or not at all, proves nothing."""
    until = lab.newest()
    if lab.polls_since(since_ns, until) >= 0.8 * (until - since_ns) / 1e9:
        return False
    print("    %s: not judged, this machine was too busy to poll every second" % what, flush=True)
    return True


def looked_for(labs):
    """Each ends when it is found: two cores have more time for the others. What is wrong with each, or None."""
    said, left = [], list(labs)

    def one_more():
        for lab in list(left):
            incident = named(lab, lab.truth())
            if incident:
                said.append(judged(lab, incident))
                left.remove(lab)
                Live.stop([lab])
        return not left
    try:
        wait_for("all are found", one_more, 90, every_s=1)
    except Failed:
        said += [judged(lab, None) for lab in left]
    return said


def judged(lab, incident):
    """How long after the onset, in the time of the data."""
    truth = lab.truth()
    if not incident:
        if starved(lab, parse_time(truth["onset"]), "%s is not found" % lab.scenario):
            return None
        return "%s on %s: expected %s at %s, told: %s" % (lab.scenario, lab.face, truth["accept"], truth["faults"][0],
                                                         [(i["cause"], i["subject"]["device"], i["subject"]["port"], i["subject"]["host"]) for i in lab.incidents()])
    opened, onset = parse_time(incident["opened"]), parse_time(truth["onset"])
    after = (opened - onset) / 1e9
    print("%-16s %-8s %-16s %4.1f s after the onset" % (lab.scenario, lab.face or "default", incident["cause"], after), flush=True)
    # a poll that this machine was too late for makes the windows that need it wait for the next ones
    within = WITHIN_S + WINDOW_S * lab.gaps(onset, opened, 1.5)
    if not 0 <= after <= within and not (after > 0 and starved(lab, onset, "%.1f s" % after)):
        return "%s on %s: opened %.1f s after the onset, %g s asked" % (lab.scenario, lab.face, after, within)
    others = [i for i in lab.incidents() if i["severity"] != "info" and parse_time(i["opened"]) < onset]
    return "%s on %s: before the onset: %s" % (lab.scenario, lab.face, [i["cause"] for i in others]) if others else None


def quiet(lab):
    """Asked when the faults beside it have been found: as much time has gone by."""
    told = [i["cause"] for i in lab.incidents() if i["severity"] != "info"]
    if not told or starved(lab, lab.oldest(), "%s: %s" % (lab.scenario, told)):
        return None
    return "%s has incidents: %s" % (lab.scenario, told)


def wave(build, work, cases):
    labs = [Live(os.path.dirname(shipped(build)), os.path.join(work, s), s, face=f, at=AT, seed=n) for s, f, n in cases]
    try:
        for lab in labs:
            lab.start()
        for lab in labs:
            lab.served()
            lab.agent()
        healthy = [lab for lab in labs if lab.truth()["cause"] == "none"]
        return [w for w in [*looked_for([lab for lab in labs if lab not in healthy]), *map(quiet, healthy)] if w]
    finally:
        Live.stop(labs)


def test(build, work):
    wrong = [w for cases in WAVES for w in wave(build, work, cases)]
    check(not wrong, "\n".join(wrong))
    return "%d labs" % sum(map(len, WAVES))


main(test)
