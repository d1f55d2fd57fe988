#!/usr/bin/env python3
"""A live fabric, and an agent whose wall clock is set an hour forward and back again (fast_clock.c): no sample is lost, none is taken for a
duplicate, both steps are events at once, no switch is accused of being silent, and what comes after the step back is judged. Also an agent
that is killed or stopped for a while: one event, and no incident. And one that is started thirty days ahead again and again: nothing is deleted. All of it, fabric and agent, lives SPEED times as fast."""
import os, shutil, signal, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "soak")]
from fast_clock import NS, FastClock
from live_lab import Failed, Live, check, sanitizer, wait_for

AHEAD_S = 3600  # a test on a busy machine must not last half as long
SPEED = 2  # the polls, 3 s apart, are asked for as often as other live labs ask


def number(lab, statement):
    rows = lab.sql(statement)
    value = rows[0]["n"] if rows else ""
    return float(value) if value else 0


class Clock(FastClock):
    """The wall clock of one agent, which is set; the fabric's is not."""
    def ahead(self, seconds):
        self.set_by(seconds - self.step / NS)

    def right_ns(self):
        """The wall clock that was never set."""
        return self.wall_ns() - self.step


class Served(Live):
    def start(self, clock):
        os.makedirs(self.dir, exist_ok=True)
        with open(self.dir + ".lab.log", "w") as out:
            self.lab_process = subprocess.Popen(self.argv(), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=clock.environment)


def agent(lab, clock):
    with open(lab.dir + ".agent.log", "a") as out:
        lab.agent_process = subprocess.Popen([lab.binary, "-c", lab.config, "agent"], stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=clock.environment)


def events(lab, kind):
    return [row["text"] for row in lab.sql("SELECT text FROM events WHERE kind='%s' ORDER BY t_ns" % kind)]


INSTANTS = ("SELECT min(n) n FROM (SELECT device, count(DISTINCT t_ns) n FROM samples WHERE metric='port.in_octets' %s GROUP BY device)")


def test_steps(lab, clock):
    agent(lab, clock)
    wait_for("polls of every switch", lambda: os.path.exists(lab.dir + "/rocewatch.db") and number(lab, INSTANTS % "") >= 4, 120)
    clock.ahead(AHEAD_S)
    wait_for("a step forward as an event", lambda: len(events(lab, "clock_step")) == 1, 120)
    cut = clock.right_ns() + AHEAD_S // 2 * NS
    wait_for("samples ahead", lambda: number(lab, INSTANTS % ("AND t_ns > %d" % cut)) >= 4, 120)
    back_at = clock.right_ns()
    clock.ahead(0)
    wait_for("a step back as an event", lambda: len(events(lab, "clock_step")) == 2, 120)
    texts = sorted(events(lab, "clock_step"))
    check("set back by 1h00m" in texts[0] and "set forward by " in texts[1], texts)
    # accepted, stored and judged at once
    wait_for("samples by the right clock", lambda: number(lab, INSTANTS % ("AND t_ns BETWEEN %d AND %d" % (back_at, cut))) >= 8, 120)
    wait_for("health by the right clock", lambda: number(lab, "SELECT max(t_ns) n FROM health") < cut, 120)
    check(number(lab, "SELECT value n FROM health WHERE key='pipeline/duplicates'") == 0, "duplicates")
    missed = number(lab, "SELECT max(value) n FROM health WHERE key LIKE 'target/%/missed'")
    check(missed < AHEAD_S / 10, "the hours that the clock was set by count as polls that did not happen: %d" % missed)
    windows = number(lab, "SELECT value n FROM health WHERE key='pipeline/windows'")
    wait_for("windows go on", lambda: number(lab, "SELECT value n FROM health WHERE key='pipeline/windows'") > windows, 120)
    flags = lab.sql("SELECT min(flags LIKE '%%late%%') least, max(flags LIKE '%%late%%') most FROM samples WHERE metric='port.in_octets' "
                    "AND t_ns > %d" % cut)
    check(flags[0]["least"] == "1", "samples ahead of the clock are not all late: %r" % flags)
    gaps = [i for i in lab.incidents() if i["cause"] in ("telemetry_gap", "device_down")]
    # On a machine that has no time for the polls the switches are silent indeed: the log says so, and nothing follows about clocks.
    with open(lab.dir + ".agent.log") as f:
        overloaded = "its deadline of" in f.read()
    check(overloaded or not gaps, "incidents of silence: %r" % [i["summary"] for i in gaps])


def test_away(lab, clock):
    lab.agent_process.send_signal(signal.SIGKILL)
    lab.agent_process.wait()
    clock.sleep(15) # the absence itself: longer than what is worth an event
    before = len(events(lab, "agent_start"))
    agent(lab, clock)
    wait_for("the second start", lambda: len(events(lab, "agent_start")) == before + 1, 120)
    away = events(lab, "agent_away")
    check(len(away) == 1 and "had not been stopped" in away[0], away)
    polls = number(lab, INSTANTS % "")
    wait_for("polls again", lambda: number(lab, INSTANTS % "") >= polls + 8, 120)
    gaps = [i for i in lab.incidents() if i["cause"] in ("telemetry_gap", "device_down")]
    # On a machine that has no time for the polls the switches are silent indeed: the log says so, and nothing follows about clocks.
    with open(lab.dir + ".agent.log") as f:
        overloaded = "its deadline of" in f.read()
    check(overloaded or not gaps, "incidents of silence: %r" % [i["summary"] for i in gaps])


def stop(lab):
    lab.agent_process.send_signal(signal.SIGTERM)
    lab.agent_process.wait()


def start(lab, clock, ahead_s, what):
    """A start with the clock so far ahead; its newest event about the clock."""
    steps = len(events(lab, "clock_step"))
    clock.ahead(ahead_s)
    agent(lab, clock)
    wait_for("the event of %s" % what, lambda: len(events(lab, "clock_step")) > steps, 120)
    rows = lab.sql("SELECT text FROM event WHERE kind='clock_step' ORDER BY id DESC LIMIT 1")
    check(what in rows[0]["text"], rows)


def test_stopped(lab, clock):
    """SIGSTOP for longer than what is worth an event."""
    before = len(events(lab, "agent_away"))
    lab.agent_process.send_signal(signal.SIGSTOP)
    clock.sleep(13)
    lab.agent_process.send_signal(signal.SIGCONT)
    wait_for("the event of a stopped process", lambda: len(events(lab, "agent_away")) == before + 1, 120)
    check("did not run" in events(lab, "agent_away")[-1], events(lab, "agent_away"))


def test_restarts_ahead(lab, clock):
    """Thirty days ahead, started and stopped there twice: retention deletes nothing, and the right clock finds everything as it was."""
    stop(lab)
    right = clock.right_ns()
    old = "AND t_ns < %d" % right
    polls = number(lab, INSTANTS % old)
    away = len(events(lab, "agent_away"))
    start(lab, clock, 30 * 86400, "set forward by 30d")
    # Where stop and start took long there is a short absence; its text ends with why the agent was away.
    called = [text for text in events(lab, "agent_away")[away:] if not text.endswith("the agent was stopped: SIGTERM")]
    check(not called, "a set clock was called an absence: %r" % called)
    for _ in range(2):
        held = "SELECT max(value) n FROM health WHERE key='store/retention_held'"
        wait_for("retention, and that it does not follow the clock", lambda: number(lab, held) == 1, 120)
        stop(lab)
        agent(lab, clock)
        ahead = number(lab, INSTANTS % ("AND t_ns > %d" % (right + 86400 * NS)))
        wait_for("polls ahead", lambda: number(lab, INSTANTS % ("AND t_ns > %d" % (right + 86400 * NS))) >= ahead + 2, 120)
    check(number(lab, INSTANTS % old) == polls, "history was deleted: %d polls of %d are left" % (number(lab, INSTANTS % old), polls))
    stop(lab)
    start(lab, clock, 0, "set back by 30d")
    now = "AND t_ns BETWEEN %d AND %d" % (right, right + 86400 * NS)
    wait_for("polls by the right clock", lambda: number(lab, INSTANTS % now) >= 4, 120)
    windows = number(lab, "SELECT value n FROM health WHERE key='pipeline/windows'")
    wait_for("windows go on", lambda: number(lab, "SELECT value n FROM health WHERE key='pipeline/windows'") > windows, 120)
    check(number(lab, INSTANTS % old) == polls, "history was deleted after the step back")
    gaps = [i for i in lab.incidents() if i["cause"] in ("telemetry_gap", "device_down")]
    # On a machine that has no time for the polls the switches are silent indeed: the log says so, and nothing follows about clocks.
    with open(lab.dir + ".agent.log") as f:
        overloaded = "its deadline of" in f.read()
    check(overloaded or not gaps, "incidents of silence: %r" % [i["summary"] for i in gaps])


def main(build):
    directory = tempfile.mkdtemp(prefix="live-clock-")
    lab = Served(build, os.path.join(directory, "healthy"), "healthy")
    library, first = os.path.join(build, "tests", "soak", "libfast_clock.so"), sanitizer(lab.binary)
    try:
        lab.start(FastClock(os.path.join(directory, "fabric-clock"), library, SPEED, first))
        lab.served()
        lab.unhurried()
        clock = Clock(os.path.join(directory, "clock"), library, SPEED, first)
        test_steps(lab, clock)
        test_away(lab, clock)
        test_stopped(lab, clock)
        test_restarts_ahead(lab, clock)
        print("test_live_clock: ok")
        return 0
    except Failed as why:
        with open(lab.dir + ".agent.log") as f:
            print("test_live_clock: %s\n%s" % (why, f.read()[-4000:]))
        return 1
    finally:
        Live.stop([lab])
        shutil.rmtree(directory, ignore_errors=True)


sys.exit(main(sys.argv[1]))
