#!/usr/bin/env python3
"""test_live_disk.py BUILD LIBRARY - the disk of a live agent stops to answer: polling goes on, the log says so, what was polled meanwhile is
written when it answers again; and SIGTERM ends an agent whose disk hangs. After a start on the same file nothing that was committed is missing."""
import json, os, shutil, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from live_lab import Failed, Live, check, sanitizer, wait_for
from patience import HANG_S  # noqa: E402


class Disk:
    def __init__(self, path, binary, library):
        self.path = path
        self.environment = dict(os.environ, LD_PRELOAD=sanitizer(binary) + os.path.realpath(library), HANG_WHILE=path,
                                HANG_READS_WHILE=path + ".reads")

    def hang(self, what=""):
        with open(self.path + what, "w"):
            pass

    def answer(self, what=""):
        os.unlink(self.path + what)


def log(lab):
    with open(lab.dir + ".agent.log") as f:
        return f.read()


def agent(lab, disk):
    with open(lab.dir + ".agent.log", "a") as out:
        lab.agent_process = subprocess.Popen([lab.binary, "-c", lab.config, "agent"], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                             env=disk.environment)
    wait_for("the agent's store", lambda: os.path.exists(os.path.join(lab.dir, "rocewatch.db")), 30)


def end(lab, what):
    """SIGTERM ends an agent that the disk has stopped, wherever that was. Without the bound it waits for ever."""
    lab.agent_process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    try:
        lab.agent_process.wait(HANG_S)
    except subprocess.TimeoutExpired:
        raise Failed("%s: SIGTERM does not end the agent: %s" % (what, log(lab)[-600:]))
    print("%s: ended %.1f s after SIGTERM" % (what, time.monotonic() - began))


def store_of(lab):
    return json.loads(lab.rocewatch("status", "--format", "json"))["agent"]["store"]


def instants(lab):
    rows = lab.sql("SELECT min(n) n FROM (SELECT device, count(DISTINCT t_ns) n FROM samples WHERE metric='port.in_octets' GROUP BY device)")
    return int(rows[0]["n"]) if rows else 0  # a single empty field is an empty line


def polls_between(lab, begin_ns, end_ns):
    """Polls of that time, of the device that has the fewest of them."""
    rows = lab.sql("SELECT min(n) n FROM (SELECT device, count(DISTINCT CASE WHEN t_ns BETWEEN %d AND %d THEN t_ns END) n FROM samples "
                   "WHERE metric='port.in_octets' GROUP BY device)" % (begin_ns, end_ns))
    return int(rows[0]["n"]) if rows else 0


def test(lab, disk):
    agent(lab, disk)
    wait_for("polls of every switch", lambda: instants(lab) >= 3, 120)
    before = instants(lab)
    disk.hang()
    hung_ns = time.time_ns()
    wait_for("the log says that the disk does not answer", lambda: "the disk has not answered a write for" in log(lab), 60)
    wait_for("status says so too", lambda: store_of(lab)["state"] == "waiting" and "not answered" in store_of(lab)["reason"], 60)
    time.sleep(12)  # several polls of each switch, also on a slow machine
    answered_ns = time.time_ns()
    disk.answer()
    wait_for("the log says how long it took", lambda: "a write took" in log(lab), 60)
    wait_for("status is well again", lambda: store_of(lab)["state"] == "writing", 60)
    wait_for("the log says that it answers again", lambda: "the disk answers again" in log(lab), 60)
    wait_for("what was polled meanwhile", lambda: instants(lab) > before, 60)
    wait_for("two polls of each switch from the time in which the disk hung", lambda: polls_between(lab, hung_ns, answered_ns) >= 2, 60)

    disk.hang()
    wait_for("a write that hangs again", lambda: log(lab).count("the disk has not answered a write for") >= 2, 60)
    end(lab, "a write that hangs")
    check("the disk does not answer: rows that wait are given up" in log(lab), "the end of the log: %s" % log(lab)[-600:])
    disk.answer()
    kept = instants(lab)
    agent(lab, disk)
    wait_for("polls after the new start", lambda: instants(lab) >= kept + 2, 60)
    lab.agent_process.send_signal(signal.SIGKILL)
    lab.agent_process.wait()
    for what in ("", ".reads"):
        disk.hang(what)
        agent(lab, disk)
        time.sleep(2)  # until it hangs in its start; sooner is no harm
        check(lab.agent_process.poll() is None, "it ended by itself: %s" % log(lab)[-600:])
        end(lab, "a start whose %s hang" % (what[1:] or "writes"))
        disk.answer(what)


def main(build, library):
    directory = tempfile.mkdtemp(prefix="live-disk-")
    lab = Live(build, os.path.join(directory, "healthy"), "healthy")
    disk = Disk(os.path.join(directory, "hang"), lab.binary, library)
    try:
        lab.start()
        lab.served()
        lab.unhurried()
        test(lab, disk)
        print("test_live_disk: ok")
        return 0
    except (Failed, subprocess.TimeoutExpired) as why:
        print("test_live_disk: %s\n%s" % (why, log(lab)[-4000:]))
        return 1
    finally:
        for what in ("", ".reads"):
            if os.path.exists(disk.path + what):
                disk.answer(what)
        Live.stop([lab])
        shutil.rmtree(directory, ignore_errors=True)


sys.exit(main(sys.argv[1], sys.argv[2]))
