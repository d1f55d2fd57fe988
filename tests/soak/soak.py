#!/usr/bin/env python3
"""soak.py BUILD [--hours 24] [--speed 60] [--interval 30] [--keep] - a day of an agent's life in which nothing goes well.

A real agent polls eight simulated switches; fast_clock.c makes time pass faster for all of them. During that time names change, switches
restart and fall silent, the clock is set both ways, the disk is full, a reader keeps its snapshot, the configuration is reloaded every
minute, the log is rotated, backups are made, the agent is stopped and killed. Promised, and checked at the end: no sample that was
committed is lost, switches that nobody touched have no gap, memory is flat, and each of these faults was told. Prints figures; exit 1 on a
broken promise. The disk is a small tmpfs, where mounting is allowed; else phases of a full disk are left out, and it says so."""
import argparse, os, shutil, signal, sqlite3, statistics, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "fabric"), os.path.join(HERE, "..")]
import samples_db
from fast_clock import NS, FastClock
from live_lab import Failed, check, sanitized, sanitizer
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

UNTOUCHED = ["sw0", "sw1", "sw2", "sw3"]
CHURN, RESTARTS, MUTE, EDITED = 4, 5, 6, 7
SWITCHES, PORTS = 8, 16
HOUR, MINUTE = 3600, 60
GUARD_S = 6  # STOP_GUARD_START_NS
STEP_S = 2 * 86400  # a clock that is wrong by two days: no wall time is ever shown twice
DISK = "600m"


class Machine:
    """How late this machine itself is: a thread that wants to wake up every 20 ms."""
    def __init__(self):
        self.stalls, self.over = [], False
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        before = time.monotonic_ns()
        while not self.over:
            time.sleep(0.02)
            now = time.monotonic_ns()
            if now - before > 60_000_000:
                self.stalls.append((before, now))
            before = now

    def stalled_ns(self, from_ns, to_ns):
        return sum(max(0, min(b, to_ns) - max(a, from_ns)) for a, b in self.stalls)


class Switches:
    def __init__(self, program, clock, udp):
        self.process = subprocess.Popen([program, str(SWITCHES), str(PORTS), str(udp)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=clock.environment, bufsize=1)
        check(self.process.stdout.readline() == "serving\n", "the switches do not serve")

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")

    def polls(self):
        self.tell("counts")
        return [int(n) for n in self.process.stdout.readline().split()]

    def end(self):
        self.process.stdin.close()
        self.process.wait(10)


class Soak:
    def __init__(self, args, directory, udp):
        self.args, self.dir, self.udp = args, directory, udp
        self.binary = os.path.join(os.path.realpath(args.build), "rocewatch")
        self.disk = os.path.join(directory, "disk")
        self.db = os.path.join(self.disk, "rocewatch.db")
        self.config = os.path.join(directory, "rocewatch.yaml")
        self.log = os.path.join(directory, "agent.log")
        self.old_logs = []
        libraries = [os.path.join(args.build, "tests", "soak", "libfast_clock.so")]
        self.clock = FastClock(os.path.join(directory, "clock"), libraries[0], args.speed, sanitizer(self.binary))
        self.machine = Machine()
        self.agent = self.reader = None
        self.merged = self.answers = 0
        self.reloads = self.backups = self.steps = self.snapshots = self.starts = 0
        self.figures, self.away, self.broken, self.guarded = [], [], [], 0
        self.seen = {name: {} for name in UNTOUCHED}  # time of a sample -> the steps of the clock it may have been taken under
        self.step_now = self.step_before = 0
        os.mkdir(self.disk)
        self.mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + DISK, "soak", self.disk], stderr=subprocess.DEVNULL).returncode == 0
        with open(os.path.join(directory, "community"), "w") as f:
            f.write("public\n")
        os.chmod(os.path.join(directory, "community"), 0o600)

    # --- the programs ---

    def write_config(self):
        n = self.reloads
        lines = ["# reload %d" % n, "fabric: soak", "store: { path: %s }" % self.db,
                 "credentials: { v2: { snmp: { version: 2c, community_file: %s/community } } }" % self.dir,
                 "defaults: { interval: %ds, slow_interval: 1h, timeout: %ds, profile: generic }" % (self.args.interval, max(5, self.args.interval // 3)),
                 "limits: { names_per_device: 256 }", "devices:"]
        for i in range(SWITCHES):
            if i == EDITED and n % 3 == 1:
                continue  # gone with this reload, back with the next
            every = ", interval: %ds" % (self.args.interval * 2) if i == EDITED and n % 3 == 2 else ""
            lines.append("  - { name: sw%d, role: leaf, snmp: { address: \"127.2.0.%d:%d\", credentials: v2%s } }" % (i, i + 1, self.udp, every))
        lines.append("links: []")
        with open(self.config + ".new", "w") as f:
            f.write("\n".join(lines) + "\n")
        os.rename(self.config + ".new", self.config)

    def start_agent(self):
        self.starts += 1
        with open(self.log, "a") as out:
            self.agent = subprocess.Popen([self.binary, "-c", self.config, "agent"], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                          env=self.clock.environment)

    def end_agent(self, number):
        """The guard of a stop counts seconds of the fast clock, while disk and processors work at their own speed: what it ends within so many
        real seconds as it has of its own was ended by the simulation, and loses nothing that the next start does not find."""
        began = time.monotonic()
        self.agent.send_signal(number)
        rc = self.agent.wait(HANG_S)
        if number != signal.SIGTERM or rc == 0:
            return
        took = time.monotonic() - began
        if rc == 1 and took < GUARD_S and "the stop hangs" in self.said()[-3000:]:
            self.guarded += 1
        else:
            self.broken.append("the agent ended with %d, %.1f s after SIGTERM" % (rc, took))

    def stop_agent(self, number):
        began = self.clock.passed_ns()
        self.end_agent(number)
        self.clock.sleep(4 * self.args.interval)  # longer than what the agent takes for no absence at all
        self.start_agent()
        self.clock.sleep(2 * self.args.interval)
        self.away.append((began, self.clock.passed_ns() + 2 * NS * self.args.interval))

    def rocewatch(self, *argv):
        return subprocess.run([self.binary, "-c", self.config, *argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S,
                              env=self.clock.environment)

    # --- what is stored ---

    def sql(self, statement):
        return samples_db.rows(self.binary, self.db, statement)

    def snapshot(self):
        """All samples of the untouched switches; those of the last snapshot must be among them."""
        now = {name: set() for name in UNTOUCHED}
        for name, t in self.sql("SELECT device, t_ns FROM samples WHERE port='eth2' AND metric='port.in_octets'"):
            if name in now:
                now[name].add(t)
        for name in UNTOUCHED:
            lost = [t for t in self.seen[name] if t not in now[name]]
            if lost:
                self.broken.append("%d samples of %s that were committed are gone, the first of %d" % (len(lost), name, min(lost)))
            for t in now[name]:
                self.seen[name].setdefault(t, (self.step_now, self.step_before))
            for t in lost:
                del self.seen[name][t]
        self.step_before = self.step_now
        self.snapshots += 1

    def measure(self):
        try:
            with open("/proc/%d/status" % self.agent.pid) as f:
                rss = [int(line.split()[1]) for line in f if line.startswith("VmRSS")]
        except OSError:
            return
        size = sum(os.path.getsize(self.db + end) for end in ("", "-wal") if os.path.exists(self.db + end))
        wal = os.path.getsize(self.db + "-wal") if os.path.exists(self.db + "-wal") else 0
        if rss:
            self.figures.append((self.clock.passed_s() / HOUR, rss[0] / 1024, size / 2**20, wal / 2**20))

    # --- what happens ---

    def wait_started(self):
        until = time.monotonic() + 60
        while self.said().count('msg="started: ') < self.starts and time.monotonic() < until:
            time.sleep(0.05)

    def reload(self):
        self.wait_started()  # it reads its configuration anyway while it starts
        answers = self.said().count("configuration reloaded")
        self.merged += self.reloads > 0 and answers == self.answers
        self.answers = answers
        self.reloads += 1
        self.write_config()
        self.agent.send_signal(signal.SIGHUP)

    def set_clock(self, seconds):
        self.wait_started()  # one that is still starting knows no other time than the one it began with
        self.snapshot()
        self.clock.set_by(seconds)
        self.step_before, self.step_now = self.step_now, self.step_now + seconds
        self.steps += 1

    def fill(self):
        try:
            with open(os.path.join(self.disk, "filler"), "wb") as f:
                while True:
                    f.write(bytes(1 << 16))
                    f.flush()
        except OSError:
            pass

    def room(self):
        os.unlink(os.path.join(self.disk, "filler"))

    def read_for_ever(self):
        self.reader = sqlite3.connect("file:%s?mode=ro" % self.db, uri=True, timeout=HANG_S, isolation_level=None)
        self.reader.execute("BEGIN")
        self.reader.execute("SELECT count(*) FROM entity").fetchall()

    def rotate(self):
        """As logrotate does with copytruncate."""
        old = "%s.%d" % (self.log, len(self.old_logs))
        shutil.copy(self.log, old)
        os.truncate(self.log, 0)
        self.old_logs.append(old)

    def backup(self):
        copy = os.path.join(self.dir, "backup.db")
        if os.path.exists(copy):
            os.unlink(copy)
        p = self.rocewatch("db", "backup", copy)
        if p.returncode != 0:
            self.broken.append("backup: %s" % p.stderr.strip())
            return
        self.backups += 1
        db = sqlite3.connect(copy)
        word = db.execute("PRAGMA integrity_check").fetchone()[0]
        db.close()
        if word != "ok":
            self.broken.append("the backup is damaged: %s" % word)

    def hourly(self):
        self.snapshot()
        self.backup()
        self.rotate()
        for argv in (("status",), ("doctor",), ("incident", "list")):
            p = self.rocewatch(*argv)
            if p.returncode > 2:
                self.broken.append("%s: exit %d: %s" % (argv[0], p.returncode, p.stderr[:200]))

    def plan(self):
        """(second, what). Parts of the whole, so that a short run has all of it too."""
        whole = self.args.hours * HOUR
        events = []

        def at(part, action, *argv):
            events.append((part * whole, action, argv))
        for minute in range(1, int(whole / MINUTE)):
            events.append((minute * MINUTE, self.reload, ()))
        for k in range(1, max(2, int(self.args.hours))):
            events.append((k * whole / max(2, int(self.args.hours)) + 7, self.hourly, ()))
        for k in range(int(whole / 300)):
            events.append((k * 300 + 20, self.switches.tell, ("rename", CHURN)))
        for k in range(1, 9):
            at(k / 9, self.switches.tell, "restart", RESTARTS)
        for k in range(1, 5):
            at(k / 5, self.switches.tell, "mute", MUTE)
            at(k / 5 + 0.02, self.switches.tell, "honest", MUTE)
        at(0.15, self.set_clock, STEP_S)
        at(0.18, self.set_clock, -STEP_S)
        at(0.45, self.set_clock, -whole * 0.1)
        at(0.70, self.set_clock, 90)
        if self.mounted:
            for part in (0.25, 0.55):
                at(part, self.fill)
                at(part + 0.03, self.room)
        at(0.35, self.stop_agent, signal.SIGTERM)
        at(0.62, self.stop_agent, signal.SIGKILL)
        at(0.80, self.read_for_ever)
        for k in range(1, 200):
            at(k / 200, self.measure)
        return sorted(events, key=lambda event: event[0])

    def run(self):
        self.write_config()
        self.switches = Switches(os.path.join(self.args.build, "tests", "soak", "switches"), self.clock, self.udp)
        self.start_agent()
        for second, action, argv in self.plan():
            wait = second - self.clock.passed_s()
            if wait > 0:
                self.clock.sleep(wait)
            if self.agent.poll() is not None:
                raise Failed("the agent ended with %d:\n%s" % (self.agent.returncode, self.said()[-3000:]))
            action(*argv)
        wait = self.args.hours * HOUR - self.clock.passed_s()
        if wait > 0:
            self.clock.sleep(wait)
        if self.reader:
            self.reader.close()
        self.polls = self.switches.polls()
        self.ended_ns = self.clock.passed_ns()
        self.end_agent(signal.SIGTERM)
        self.snapshot()

    def said(self):
        text = ""
        for path in self.old_logs + [self.log]:
            with open(path, errors="replace") as f:
                text += f.read()
        return text

    # --- what was promised ---

    def instants(self, name):
        """When this switch was polled, by the clock that was never set."""
        out = []
        for t, steps in self.seen[name].items():
            at = [t - self.clock.wall0 - int(step * NS) for step in steps]
            fits = [a for a in at if -60 * NS <= a <= self.ended_ns + 60 * NS]
            out.append(fits[0] if fits else at[0])
        return sorted(out)

    def judge_gaps(self):
        every = self.args.interval * NS
        worst, excused = {}, 0
        for name in UNTOUCHED:
            at = [0] + self.instants(name) + [self.ended_ns]
            worst[name] = 0
            for a, b in zip(at, at[1:]):
                if any(a <= until and b >= since for since, until in self.away):
                    continue
                stalled = self.machine.stalled_ns(self.clock.real0 + a // self.args.speed, self.clock.real0 + b // self.args.speed) * self.args.speed
                if b - a > 2.5 * every and b - a - stalled <= 2.5 * every:
                    excused += 1
                elif b - a > 2.5 * every:
                    self.broken.append("%s: nothing for %.0f s at %.2f h (this machine was late by %.0f s of them)" % (
                        name, (b - a) / NS, a / NS / HOUR, stalled / NS))
                worst[name] = max(worst[name], b - a)
        print("largest gap     %s; %d longer than 2.5 intervals because this machine was late" % (
            ", ".join("%s %.0f s" % (name, gap / NS) for name, gap in worst.items()), excused))

    def judge_samples(self):
        expected = self.ended_ns / NS / self.args.interval
        for i, name in enumerate(UNTOUCHED):
            stored = len(self.seen[name])
            print("samples         %s: %d polls stored, %d answered, %.0f intervals" % (name, stored, self.polls[i], expected))
            # a poll may be under way at the end, at a stop and at a kill; a second of samples is lost with a kill
            lost = self.polls[i] - stored
            if lost > 4 + 2 * len(self.away):
                self.broken.append("%s: %d polls were answered and are not stored" % (name, lost))

    def judge_memory(self):
        calm = [rss for hour, rss, _, _ in self.figures]
        if len(calm) < 20:
            return
        # after the last start of the agent: both halves of what is left
        since = self.away[-1][1] / NS / HOUR if self.away else 0
        last = [rss for hour, rss, _, _ in self.figures if hour > since]
        before, after = statistics.median(last[:len(last) // 3]), statistics.median(last[-len(last) // 3:])
        print("memory          %.1f MB after the start, %.1f MB median, %.1f MB at most; last run %.1f -> %.1f MB" % (
            calm[0], statistics.median(calm), max(calm), before, after))
        if sanitized(self.binary):
            return  # it keeps freed memory back for a while
        if after > before * 1.10 + 4:
            self.broken.append("memory grows: %.1f -> %.1f MB" % (before, after))

    def judge_told(self):
        log = self.said()
        events = dict(self.sql("SELECT kind, count(*) FROM event GROUP BY kind"))
        entities = self.sql("SELECT count(*) FROM entity")[0][0]
        print("events          %s" % ", ".join("%s %d" % row for row in sorted(events.items())))
        print("names           %d entities; reloads %d, backups %d, snapshots %d" % (entities, self.reloads, self.backups, self.snapshots))
        print("file            %.1f MB at most, log of it %.1f MB at most" % (max(f[2] for f in self.figures), max(f[3] for f in self.figures)))
        levels = {}
        for line in log.splitlines():
            word = (line.split() + ["", "", ""])[1]
            levels[word] = levels.get(word, 0) + 1
        print("log             %s" % ", ".join("%s %d" % row for row in sorted(levels.items(), key=lambda row: -row[1])[:6]))

        if self.guarded:
            print("left out        %d stops: the guard counts seconds of the fast clock, and this machine was late" % self.guarded)

        def told(condition, what):
            if not condition:
                self.broken.append("not told: %s" % what)
        told(events.get("clock_step", 0) >= self.steps, "%d steps of the clock, %d events" % (self.steps, events.get("clock_step", 0)))
        told(events.get("agent_away", 0) >= 1, "the agent was killed")
        told(events.get("agent_start", 0) == 3, "three starts, %d events" % events.get("agent_start", 0))
        # the kernel keeps one signal that waits: of two before the agent looks there is one reload
        asked = self.reloads - self.merged
        told(events.get("config_reloaded", 0) >= 0.9 * asked, "%d reloads, %d events" % (asked, events.get("config_reloaded", 0)))
        # A disk that answers late is told, too; this machine's may be late at any time.
        held = [line for line in log.splitlines() if ("waits in memory" in line or "wait in memory" in line) and "has not answered" not in line]
        if held:
            told("disk is full" in log, "a full disk")
        elif self.mounted:
            print("left out        the disk was full, and nothing had to be written to a new page meanwhile")
        told("sw%d" % MUTE in log, "a silent switch")

    def judge(self):
        print("simulated       %.1f h at x%d, %d s between polls" % (self.ended_ns / NS / HOUR, self.args.speed, self.args.interval))
        self.judge_samples()
        self.judge_gaps()
        self.judge_memory()
        self.judge_told()
        word = self.sql("PRAGMA integrity_check")[0][0]
        if word != "ok":
            self.broken.append("the database is damaged: %s" % word)
        if not self.mounted:
            print("left out        phases of a full disk: mounting is not allowed here")
        for line in self.broken:
            print("BROKEN          %s" % line)
        return 1 if self.broken else 0

    def end(self):
        self.machine.over = True
        for process in (self.agent, getattr(self, "switches", None) and self.switches.process):
            if process and process.poll() is None:
                process.kill()
                process.wait()
        if self.mounted:
            subprocess.run(["umount", "-l", self.disk])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build")
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--speed", type=int, default=60)
    parser.add_argument("--interval", type=int, default=30, help="simulated seconds between two polls")
    parser.add_argument("--keep", action="store_true", help="leave the directory with log and configuration")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda n, frame: sys.exit(128 + n))
    directory = tempfile.mkdtemp(prefix="soak-")
    soak = Soak(args, directory, 20000 + os.getpid() % 20000)
    rc = 1
    try:
        soak.run()
        rc = soak.judge()
    except Failed as why:
        print("soak: %s" % why)
    finally:
        soak.end()
        if args.keep or rc != 0:
            print("left in         %s" % directory)
        else:
            shutil.rmtree(directory, ignore_errors=True)
    return rc


sys.exit(main())
