#!/usr/bin/python3
"""SIGHUP while polling: an unchanged configuration changes nothing, a changed one is applied as a difference, a broken one is refused
whole with its place; devices that are not concerned miss no poll."""
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lab import LEAVES, check, largest_gap_s, main, wait_for  # noqa: E402

INTERVAL_S = 1
MISSED_S = 1.8  # two polls further apart than this: one is missing (the interval has 10 % jitter)


def test(lab):
    untouched = ["leaf1", "leaf2", "leaf3"]
    config = lab.config(interval="1s", capture=False, switches=LEAVES + ["spine1"])
    reader = lab.config("reader.yaml", interval="1s", capture=False)  # for the reading commands: stays valid
    agent = lab.agent(config)

    def newer(devices, count, than_ns):
        polls = lab.polls(reader, "1m")
        return all(sum(t > than_ns for t in polls.get(d, [])) >= count for d in devices)

    def hup():
        t = time.time_ns()
        agent.send_signal(signal.SIGHUP)
        return t
    wait_for("five switches up", lambda: lab.all_up(config, LEAVES + ["spine1"]), 30, 0.2, agent)
    wait_for("five switches polled", lambda: newer(LEAVES + ["spine1"], 2, 0), 30, 0.2, agent)

    before = lab.targets(reader)

    # 1. unchanged
    t = hup()
    wait_for("polls after an unchanged reload", lambda: newer(LEAVES + ["spine1"], 3, t), 15, 0.2, agent)

    # 2. changed: spine1 goes, spine2 comes, leaf4 is polled slower
    check("spine2" not in lab.polls(reader), "spine2 was polled before it was configured")
    lab.config(interval="1s", capture=False, switches=LEAVES + ["spine2"], overrides={"leaf4": "interval: 3s"})
    changed = hup()
    wait_for("spine2 polled", lambda: newer(["spine2"], 3, changed) and newer(["leaf4"], 3, changed), 20, 0.2, agent)
    settled, leaf4 = max(lab.polls(reader)["spine1"]), lab.polls(reader)["leaf4"]
    check(leaf4[-1] - leaf4[-2] > (2.4 - lab.late_s()) * 10**9, "leaf4 is not polled every 3 s: %s" % leaf4)

    # 3. broken: refused whole, although its device list is a valid change
    broken = lab.config(interval="1s", capture=False, switches=["leaf1"])
    text = broken.read_text().replace("interval: 1s,", "interval: 1s, intervall: 2s,")
    check("intervall" in text, "the broken configuration was not made")
    broken.write_text(text)
    lines = text.splitlines()
    line = next(n for n, content in enumerate(lines, 1) if "intervall" in content)
    place = "%s:%d:%d" % (broken, line, lines[line - 1].index("intervall") + 1)
    check(place not in lab.log_text(), "the log names the place beforehand")
    t = hup()
    wait_for("%s in the log" % place, lambda: place in lab.log_text(), 10, 0.05, agent)
    wait_for("polls after the refused reload", lambda: newer(untouched + ["spine2"], 3, t) and newer(["leaf4"], 1, t), 15, 0.2, agent)
    lab.run(config, "config", "check", ok=(2,))
    check(max(lab.polls(reader)["spine1"]) == settled, "spine1 is still polled after it left the configuration")
    check(lab.end(agent) == 0, "the agent did not end well")

    polls = lab.polls(reader)
    for d in untouched:
        check(len(polls[d]) >= 10, "%s has only %d polls" % (d, len(polls[d])))
        gap = largest_gap_s(polls[d])
        check(gap < MISSED_S + lab.late_s(), "%s missed a poll: %.2f s between two, %.2f s allowed for" % (d, gap, lab.late_s()))
    after = lab.targets(reader)
    for d in untouched:
        check(after[d]["since"] == before[d]["since"], "%s was started anew: up since %s, then since %s" % (d, before[d]["since"], after[d]["since"]))
        check(int(after[d]["polls"]) > int(before[d]["polls"]), "%s: its count of polls began again" % d)
    restarts = [(t, d) for t, d, port, value, flags in lab.samples(reader, "port.out_octets") if "restart" in flags and d in untouched and t > min(polls[d])]
    check(not restarts, "untouched targets were restarted: %s" % restarts[:5])
    print("polls: %s; largest gap of the untouched %.2f s" % (
        {d: len(v) for d, v in sorted(polls.items())}, max(largest_gap_s(polls[d]) for d in untouched)))


main(test, "reload")
