#!/usr/bin/python3
"""One dead device of five: the others keep their cadence, it is reported once and then with growing gaps, `status` shows it down,
and it is back when it answers again."""
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lab import LEAVES, check, largest_gap_s, main, wait_for  # noqa: E402

DEAD = "spine1"
MACHINE_LATE_S, SLOW = 0.2, "a poll takes longer than its deadline"
MISSED_S = 1.8  # at 1 s interval with 10 % jitter
COMPLAINTS = 3  # at once, after 10 s, after 20 s more


def test(lab):
    # Silence, not a refusal: the port is open, nobody answers. The timeout is longer than the interval, so waiting would show.
    os.kill(lab.pid[DEAD], signal.SIGSTOP)
    config = lab.config(interval="1s", timeout="2s", capture=False, switches=LEAVES + [DEAD])
    agent = lab.agent(config)
    wait_for("four switches up", lambda: lab.all_up(config, LEAVES), 30, 0.2, agent)

    def complaints():
        return [(t, line) for t, level, line in lab.log_lines(DEAD) if level.startswith(("warn", "err"))]
    wait_for("%d complaints about %s" % (COMPLAINTS, DEAD), lambda: len(complaints()) >= COMPLAINTS, 60, 0.5, agent)
    status = lab.status(config)
    check(set(status) == set(LEAVES) | {DEAD}, "status lists %s" % sorted(status))
    check(status[DEAD]["up"] is False and status[DEAD]["reason"], "status shows the dead device as %s" % status[DEAD])
    check(all(status[d]["up"] for d in LEAVES), "status: %s" % status)

    polls = lab.polls(config)
    check(DEAD not in polls, "samples of a device that never answered")
    for d in LEAVES:
        check(len(polls[d]) >= 20, "%s has only %d polls" % (d, len(polls[d])))
        gaps = sorted((b - a) / 1e9 for a, b in zip(polls[d], polls[d][1:]))
        # The dead one takes two seconds of each try: who waits for it is late each time.
        check(gaps[len(gaps) // 2] < MISSED_S and gaps[-1] < MISSED_S + lab.late_s(), "%s was delayed: %.2f s between two polls, %.2f s mostly, %.2f s allowed for" % (
            d, gaps[-1], gaps[len(gaps) // 2], lab.late_s()))
        # Where the processor kept this process waiting, it keeps a switch's snmpd waiting for longer than the second of its deadline as well.
        check(not [line for _, level, line in lab.log_lines(d) if level.startswith(("warn", "err")) and not (lab.late_s() > MACHINE_LATE_S and SLOW in line)],
              "complaints about %s, which is well; the machine was late by %.2f s" % (d, lab.late_s()))
    told = complaints()
    gaps = [(b[0] - a[0]) / 1e9 for a, b in zip(told, told[1:])]
    check(all(b > 1.5 * a for a, b in zip(gaps, gaps[1:])), "the gaps between complaints do not grow: %s" % gaps)
    row = lab.targets(config)[DEAD]
    tries = int(row["timeouts"]) + int(row["errors"])
    check(tries > len(told) + 1, "%d complaints for %d failed tries: every failure is told" % (len(told), tries))

    # Back again.
    os.kill(lab.pid[DEAD], signal.SIGCONT)
    wait_for("%s up again" % DEAD, lambda: lab.status(config)[DEAD]["up"], 15, 0.2, agent)
    wait_for("polls of %s" % DEAD, lambda: len(lab.polls(config, "1m").get(DEAD, [])) >= 2, 15, 0.2, agent)
    after = [line for t, level, line in lab.log_lines(DEAD) if t > told[-1][0] and level.startswith("info")]
    check(after, "nothing in the log says that %s is back" % DEAD)
    check(lab.end(agent) == 0, "the agent did not end well")
    print("cadence of the four: largest gap %.2f s over %d polls; complaints %s s apart" % (
        max(largest_gap_s(polls[d]) for d in LEAVES), sum(len(polls[d]) for d in LEAVES), ["%.0f" % g for g in gaps]))


main(test, "dead")
