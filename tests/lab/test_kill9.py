#!/usr/bin/python3
"""kill -9 of the agent at random moments: what was polled up to 1.2 s before is in the file, the file is sound, and the next agent
starts on it."""
import os
import random
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lab import check, main, wait_for  # noqa: E402

KILLS_POLLING = 20 # while polls are being stored
KILLS_STARTING = 5 # at any moment of the start
MOST_LOST_S = 1.2


def test(lab):
    seed = int(os.environ.get("RW_SEED", time.time_ns() % 10**6))
    rng = random.Random(seed)
    print("RW_SEED=%d" % seed)
    config = lab.config(interval="500ms", capture=False)
    witnessed = []  # (t_ns, device, port, value): each must still be there at the end

    def newest():
        rows = lab.samples(config, "port.out_octets", "30s")
        return rows[-1] if rows else None

    ages = []
    for n in range(KILLS_POLLING):
        began = time.time_ns()
        agent = lab.agent(config)

        def polled():
            row = newest()
            return row if row and row[0] > began else None
        wait_for("run %d: six switches up" % (n + 1), lambda: lab.all_up(config), 30, 0.05, agent)
        wait_for("run %d: polls in the store" % (n + 1), polled, 30, 0.05, agent)
        time.sleep(rng.uniform(0, 2.5))  # the random moment
        check(agent.poll() is None, "run %d: the agent ended by itself with %s" % (n + 1, agent.returncode))
        killed = time.time_ns()
        check(lab.end(agent, signal.SIGKILL) == -signal.SIGKILL, "run %d: not killed" % (n + 1))
        row = newest()
        check(row, "run %d: the store is empty after the kill" % (n + 1))
        age = (killed - row[0]) / 1e9
        check(age <= MOST_LOST_S + lab.late_s(), "run %d: the last committed poll is %.2f s older than the kill, %.2f s allowed for" % (n + 1, age, lab.late_s()))
        check(age > -1, "run %d: a poll from the future, %.2f s" % (n + 1, -age))
        lab.store_ok("run %d" % (n + 1))
        witnessed.append(row)
        ages.append(age)
    for n in range(KILLS_STARTING):
        agent = lab.agent(config)
        time.sleep(rng.uniform(0, 0.6))  # the random moment
        check(agent.poll() is None, "start %d: the agent ended by itself with %s" % (n + 1, agent.returncode))
        lab.end(agent, signal.SIGKILL)
        lab.store_ok("start %d" % (n + 1))

    agent = lab.agent(config)
    wait_for("six switches up after the last kill", lambda: lab.all_up(config), 30, 0.2, agent)
    check(lab.end(agent) == 0, "the last agent did not end well")
    stored = set(row[:4] for row in lab.samples(config, "port.out_octets", "30m"))
    check(all(row[:4] in stored for row in witnessed), "polls that were committed before a kill are gone")
    lab.store_ok("at the end")
    print("%d kills while polling: last committed poll %.2f s old at worst, %.2f s in the middle; %d kills while starting" % (
        KILLS_POLLING, max(ages), sorted(ages)[len(ages) // 2], KILLS_STARTING))


main(test, "kill")
