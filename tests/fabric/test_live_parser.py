#!/usr/bin/env python3
"""test_live_parser.py BUILD - the process that reads packets for a live agent is killed, crashes, and ends with the agent: the agent lives
on, every switch is polled on, the capture comes up again, the log, the database and the status say what happened, and no incident opens."""
import os, signal, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from live_lab import SKIP, Failed, Live, check, late_s, main, wait_for
from patience import HANG_S  # noqa: E402

CAPTURE = "capture:\n  - { name: mirror, interface: lo, interval: 1s }\n  - { name: samples, listen: \"127.0.0.1:0\", interval: 1s }\n"


def children(pid, word="parser"):
    found = []
    for other in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % other) as f:
                parent = int(f.read().rsplit(")", 1)[1].split()[1])
            with open("/proc/%s/cmdline" % other) as f:
                if parent == pid and f.read().split("\0")[1:2] == [word]:
                    found.append(int(other))
        except (OSError, IndexError):
            pass
    return sorted(found)


def field(pid, name):
    with open("/proc/%d/status" % pid) as f:
        return next(line.split(":", 1)[1].strip() for line in f if line.startswith(name + ":"))


def state(lab, name):
    rows = [row for row in lab.sql("SELECT * FROM targets") if row.get("device", row.get("name")) == name]
    return rows[0]["state"] if rows else ""


def events(lab):
    return [row["text"] for row in lab.sql("SELECT text FROM events WHERE kind='parser_down'")]


def ended(lab, before, signum, word):
    """Each of @before is ended; new ones come, and the database says why."""
    told = len(events(lab))
    for pid in before:
        os.kill(pid, signum)
    wait_for("events of the end", lambda: len(events(lab)) >= told + len(before), 30)
    check(any(word in text for text in events(lab)), "no event says %s: %s" % (word, events(lab)))
    return wait_for("a new process", lambda: (lambda now: len(now) == len(before) and not set(now) & set(before) and now)(
        children(lab.agent_process.pid)), 60)


def rows(lab, since_ns=0):
    return len(lab.sql("SELECT to_ns FROM flows WHERE total=1 AND to_ns>%d" % since_ns))


def test(build, work):
    lab = Live(build, os.path.join(work, "healthy"), "healthy")
    try:
        lab.start()
        lab.served()
        with open(lab.config) as f:
            text = f.read()
        if "capture:" in text:
            raise Failed("the lab has captures of its own")
        with open(lab.config, "w") as f:
            f.write(text + CAPTURE.replace(":0\"", ":%d\"" % (20000 + os.getpid() % 20000)))
        lab.agent()
        agent = lab.agent_process
        wait_for("polls of every switch", lambda: lab.polls_since(0) >= 3, 60)
        if os.geteuid() != 0:
            print("no rights to capture: not run")
            sys.exit(SKIP)
        parsers = wait_for("two processes", lambda: (lambda now: len(now) == 2 and now)(children(agent.pid)), 60)
        wait_for("rows of the capture", lambda: rows(lab) >= 2, 60)
        for pid in parsers:
            check(int(field(pid, "CapPrm"), 16) == 0 and int(field(pid, "CapEff"), 16) == 0, "it has rights: %s" % field(pid, "CapPrm"))
            check(field(pid, "NoNewPrivs") == "1" and field(pid, "Seccomp") == "2", "it is not confined")
            score = [int(open("/proc/%d/oom_score_adj" % p).read()) for p in (pid, agent.pid)]
            check(score[0] > score[1], "out of memory, the agent would go first: %s" % score)
        began = lab.newest()
        parsers = ended(lab, parsers, signal.SIGKILL, "SIGKILL")
        parsers = ended(lab, parsers, signal.SIGABRT, "SIGABRT")  # AddressSanitizer makes an exit of SIGSEGV
        check(agent.poll() is None, "the agent ended with %s" % agent.returncode)
        again = time.time_ns()
        wait_for("rows of the new process", lambda: rows(lab, again) >= 2, 60)
        wait_for("polls after it", lambda: lab.polls_since(began) >= 10, 60)
        span_s = (lab.newest() - began) / 1e9
        polls = lab.polls_since(began)
        check(polls >= 0.5 * span_s / late_s(), "a switch was polled %d times in %.0f s" % (polls, span_s))
        check(not lab.incidents(), "incidents: %s" % lab.incidents())
        agent.send_signal(signal.SIGTERM)
        agent.wait(HANG_S)
        check(not any(os.path.exists("/proc/%d" % pid) for pid in parsers), "a process outlived the agent")
        # the agent is killed: nobody stays
        lab.agent()
        parsers = wait_for("two processes", lambda: (lambda now: len(now) == 2 and now)(children(lab.agent_process.pid)), 60)
        lab.agent_process.kill()
        lab.agent_process.wait()
        wait_for("their end", lambda: not any(os.path.exists("/proc/%d" % pid) for pid in parsers), 30)
        return "ended 4 times by signals, and with the agent"
    finally:
        Live.stop([lab])


if __name__ == "__main__":
    main(test)
