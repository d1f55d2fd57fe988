#!/usr/bin/env python3
"""test_live_full.py BUILD - a live fabric and an agent whose disk is full, from the start and later: it polls on and answers its socket, what
it polled is written when there is room, readers say that it cannot write and call no switch silent, and no incident of silence opens. The disk
is a tmpfs in a mount namespace of the test's own, so the test needs root."""
import ctypes, json, os, shutil, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from live_lab import SKIP, Failed, Live, check, wait_for
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

CLONE_NEWNS, MS_PRIVATE, MS_REC = 0x20000, 1 << 18, 1 << 14
DISK_MB = 12


def own_mounts():
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or libc.unshare(CLONE_NEWNS) != 0:
        return False
    return libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0


def mount(directory):
    libc = ctypes.CDLL(None, use_errno=True)
    os.makedirs(directory, exist_ok=True)
    return libc.mount(b"tmpfs", directory.encode(), b"tmpfs", 0, b"size=%dm" % DISK_MB) == 0


class Disk:
    def __init__(self, directory):
        self.directory, self.ballast = directory, os.path.join(directory, "ballast")

    def fill(self):
        with open(self.ballast, "wb", buffering=0) as f:
            block = bytes(4096)
            try:
                while True:
                    f.write(block)
            except OSError:
                pass

    def free(self):
        os.unlink(self.ballast)


def log(lab):
    with open(lab.dir + ".agent.log") as f:
        return f.read()


def agent(lab):
    with open(lab.dir + ".agent.log", "a") as out:
        lab.agent_process = subprocess.Popen([lab.binary, "-c", lab.config, "agent"], stdin=subprocess.DEVNULL, stdout=out, stderr=out)


def ask(lab, *words):
    p = subprocess.run([lab.shipped, "-c", lab.config, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)
    return p.stdout + p.stderr


def number(lab, statement):
    p = subprocess.run([lab.shipped, "-c", lab.config, "query", "sql", statement, "--format", "csv"], stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=HANG_S)
    lines = p.stdout.split("\n")
    return int(lines[1]) if p.returncode == 0 and len(lines) > 1 and lines[1] else 0


LEAST = "SELECT min(n) n FROM (SELECT device, count(DISTINCT t_ns) n FROM samples WHERE metric='port.in_octets' %s GROUP BY device)"


def test_full_at_start(lab, disk):
    disk.fill()
    agent(lab)
    wait_for("the log says that the agent watches from memory", lambda: "the agent watches from memory" in log(lab), 60)
    wait_for("a reader without a database hears of the agent", lambda: "an agent polls without a database since" in ask(lab, "status"), 60)
    text = ask(lab, "doctor")
    check("keeps samples in memory" in text and "full" in text.lower() or "No space" in text, text)
    time.sleep(16)  # of polling without a disk
    opened_ns = time.time_ns()
    disk.free()
    wait_for("the database is open", lambda: "the database is open after" in log(lab), 60)
    wait_for("what was polled before is there", lambda: number(lab, LEAST % ("AND t_ns < %d" % opened_ns)) >= 3, 60)
    wait_for("an event says so", lambda: number(lab, "SELECT count(*) n FROM events WHERE kind='store_late'") == 1, 60)


def test_full_later(lab, disk):
    wait_for("every switch is up", lambda: all(d["up"] for d in json.loads(ask(lab, "status", "--format", "json"))["devices"]), 60)
    disk.fill()

    def stuck():
        status = json.loads(ask(lab, "status", "--format", "json"))
        store = status["agent"]["store"]
        check(not any("silent" in (d["reason"] or "") for d in status["devices"]), status["devices"])
        return store and store["state"] == "waiting" and store["for_s"] > 15 and status
    status = wait_for("status says that the agent cannot write", stuck, 120)
    reasons = {d["reason"] for d in status["devices"] if d["protocol"]}
    check(all(r and "the agent polls, but cannot write for" in r for r in reasons), reasons)
    check(status["agent"]["state"] == "running" and "full" in status["agent"]["store"]["reason"], status["agent"])
    check("CANNOT WRITE" in ask(lab, "status"), ask(lab, "status"))
    todo = json.loads(ask(lab, "doctor", "--format", "json"))["todo"]
    check(todo[0]["severity"] == "critical" and todo[0]["subject"] == "store" and "nothing has reached the database for" in todo[0]["what"], todo)
    check(not any("silent" in t["what"] or "unknown" in t["what"] for t in todo), todo)
    watch = ask(lab, "watch", "--once", "--format", "json")
    check(json.loads(watch)["state"] in ("unknown", "warning") and "CANNOT WRITE" in json.loads(watch)["state_why"], watch[:2000])
    check("cannot write" in ask(lab, "check", "fabric"), ask(lab, "check", "fabric"))
    check("rocewatch_store_waiting 1" in ask(lab, "metrics"), "metrics")
    before_ns = time.time_ns()
    disk.free()
    wait_for("status is well again", lambda: "CANNOT WRITE" not in ask(lab, "status") and "unknown 0" in ask(lab, "status"), 120)
    check(number(lab, LEAST % ("AND t_ns BETWEEN %d AND %d" % (before_ns - 15 * 10**9, before_ns))) >= 3, "samples of the outage")
    gaps = [i for i in lab.incidents() if i["cause"] in ("telemetry_gap", "device_down")]
    check(not gaps, "incidents of silence: %r" % [i["summary"] for i in gaps])


def test_stopped_reader(lab):
    """A log whose reader stopped does not stop the agent."""
    lab.agent_process.terminate()
    lab.agent_process.wait(HANG_S)
    r, w = os.pipe()
    lab.agent_process = subprocess.Popen([lab.binary, "-c", lab.config, "-vv", "agent"], stdin=subprocess.DEVNULL, stdout=w, stderr=w)
    os.close(w)
    try:
        import fcntl
        fcntl.fcntl(r, 1031, 4096)  # F_SETPIPE_SZ: full at once
        start_ns = time.time_ns()
        wait_for("polls although nobody reads the log", lambda: number(lab, LEAST % ("AND t_ns > %d" % (start_ns + 5 * 10**9))) >= 5, 120)
        lab.agent_process.terminate()
        lab.agent_process.wait(HANG_S)
    finally:
        os.close(r)


def main(build):
    if not own_mounts():
        print("test_live_full: needs root and a mount namespace: not run")
        return SKIP
    work = tempfile.mkdtemp(prefix="live-full-")
    lab = Live(build, os.path.join(work, "healthy"), "healthy")
    store = os.path.join(work, "disk")
    try:
        if not mount(store):
            print("test_live_full: cannot mount a tmpfs: not run")
            return SKIP
        lab.start()
        lab.served()
        lab.unhurried()
        with open(lab.config) as f:
            text = f.read()
        with open(lab.config, "w") as f:
            f.write(text.replace("path: rocewatch.db", "path: %s/rocewatch.db" % store).replace(
                os.path.join(lab.dir, "rocewatch.db"), os.path.join(store, "rocewatch.db")) + "socket: %s/agent.sock\n" % work)
        disk = Disk(store)
        test_full_at_start(lab, disk)
        test_full_later(lab, disk)
        test_stopped_reader(lab)
        print("test_live_full: ok")
        return 0
    except (Failed, subprocess.TimeoutExpired) as why:
        print("test_live_full: %s\n%s" % (why, log(lab)[-4000:]))
        return 1
    finally:
        Live.stop([lab])
        subprocess.run(["umount", store], check=False)
        shutil.rmtree(work, ignore_errors=True)


signal.signal(signal.SIGTERM, lambda n, frame: sys.exit(128 + n))
sys.exit(main(sys.argv[1]))
