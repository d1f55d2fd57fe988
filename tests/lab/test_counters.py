#!/usr/bin/python3
"""The octets in the store are the kernel's own: each poll lies between a reading just before and one just after it while traffic runs,
and is exactly equal where the kernel's counter stood still around the poll (traffic paused)."""
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lab import HOSTS, SWITCHES, KernelRecorder, check, main, wait_for  # noqa: E402

POLLS_MOVING, POLLS_PAUSED = 14, 7 # of each switch
# A sample carries the agent's clock through sysUpTime (10 ms steps) or the middle of the poll; the counter was read this near to it.
NEAR_NS = 200 * 10**6


def test(lab):
    config = lab.config(interval="500ms", capture=False)
    agent = lab.agent(config)
    wait_for("six switches up", lambda: lab.all_up(config), 30, 0.2, agent)
    recorder = KernelRecorder(lab, SWITCHES)
    recorder.start()
    lab.sinks()
    senders = [lab.send_healthy(h) for h in HOSTS]

    def polled(count, since):
        polls = lab.polls(config)
        return all(sum(t > since for t in polls.get(s, [])) >= count for s in SWITCHES)

    began = time.time_ns()
    wait_for("polls under traffic", lambda: polled(POLLS_MOVING, began), 30, 1, agent)
    check(all(p.poll() is None for p in senders), "a traffic generator ended early")
    paused = time.time_ns()
    for p in senders:
        lab.end(p)
    ended = time.time_ns()
    wait_for("polls without traffic", lambda: polled(POLLS_PAUSED, ended), 30, 1, agent)
    recorder.stop()
    check(lab.end(agent) == 0, "the agent did not end well")

    fabric_ports = set()
    for line in (lab.dir / "wires").read_text().splitlines():
        a, a_port, b, b_port = line.split()
        fabric_ports |= {(a, a_port), (b, b_port)}
    fabric_ports = {(d, p) for d, p in fabric_ports if d in SWITCHES}
    check(len(fabric_ports) == 24, "the lab has %d switch ports, not 24" % len(fabric_ports))
    moving, exact, outside = {}, {}, []
    near_ns = NEAR_NS + int(lab.late_s() * 10**9)
    for column, metric in enumerate(("port.in_octets", "port.out_octets")):
        for t, device, port, value, _ in lab.samples(config, metric):
            around = recorder.around(device, t - near_ns, t + near_ns)
            if (device, port) not in fabric_ports or not around:
                continue
            low, high = (r[port][column] for r in around)
            if not low <= value <= high:
                outside.append("%s %s %s at %d: stored %d, kernel %d .. %d" % (device, port, metric, t, value, low, high))
            elif low < high:
                moving[device, port, metric] = moving.get((device, port, metric), 0) + 1
            elif value > 10**6 and t > paused:
                exact[device, port, metric] = exact.get((device, port, metric), 0) + 1
    check(not outside, "%d stored values are not the kernel's:\n%s" % (len(outside), "\n".join(outside[:10])))
    series = {(d, p, m) for d, p in fabric_ports for m in ("port.in_octets", "port.out_octets")}
    check(set(moving) >= series and min(moving.values()) >= 5, "too few polls under traffic were compared: %s" % moving)
    check(set(exact) >= series and min(exact.values()) >= 3, "too few polls of the paused fabric were compared: %s" % exact)
    print("%d polls under traffic between two kernel readings, %d exactly equal while paused, over %d counters" % (
        sum(moving.values()), sum(exact.values()), len(series)))


main(test, "count")
