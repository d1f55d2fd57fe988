"""The lab's fabric, agent and traffic as Python objects, for scripts/demo and the lab tests. Debian's python3, standard library only.

Whoever makes a Lab leaves nothing behind: everything is started as a child, stopped by its own id, and the fabric watches this
process and takes itself down should it be killed.
"""
import atexit
import csv
import datetime
import io
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from patience import HANG_S, Limit  # noqa: E402

SKIP = 77  # ctest: not run here

SPINES = ["spine1", "spine2"]
LEAVES = ["leaf1", "leaf2", "leaf3", "leaf4"]
SWITCHES = SPINES + LEAVES
HOSTS = ["host%d" % i for i in range(1, 9)]
UPLINKS = {"swp51": "spine1", "swp52": "spine2"}
# Each host sends to one other: two flows leave and two enter every leaf, all of them over the spines.
PAIRS = {"host1": "host3", "host3": "host5", "host5": "host7", "host7": "host1",
         "host2": "host6", "host4": "host8", "host6": "host2", "host8": "host4"}


class Failed(Exception):
    pass


def check(condition, message):
    """What a test asserts; the message says what was seen, so that a failure can be understood from the log alone."""
    if not condition:
        raise Failed(message)


def wait_for(what, condition, deadline_s=30, every_s=0.05, alive=None):
    """Until condition() is true; returns its value. @alive: a process that must not end meanwhile."""
    limit = Limit(deadline_s)
    while True:
        value = condition()
        if value:
            return value
        if alive is not None and alive.poll() is not None:
            raise Failed("%s: the process ended with %d before" % (what, alive.returncode))
        if limit.over():
            raise Failed("%s: not after %s" % (what, limit))
        time.sleep(every_s)


def parse_time(text):
    """RFC 3339 UTC with fraction to ns; exact, which float seconds are not."""
    m = re.fullmatch(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", text)
    check(m, "not a time: %r" % text)
    t = datetime.datetime.fromisoformat("%s %s+00:00" % (m[1], m[2]))
    return int(t.timestamp()) * 10**9 + int((m[3] or "0").ljust(9, "0"))


class Stalls(threading.Thread):
    """How long this machine keeps a process waiting that has next to nothing to do: what is asked of the agent's punctuality allows for it."""

    TICK_S = 0.02

    def __init__(self):
        super().__init__(daemon=True)
        self.worst_s, self.over = 0.0, threading.Event()

    def run(self):
        last = time.monotonic()
        while not self.over.wait(self.TICK_S):
            now = time.monotonic()
            self.worst_s, last = max(self.worst_s, now - last - self.TICK_S), now


class Lab:
    def __init__(self, build, prefix):
        self.build = pathlib.Path(build).resolve()
        self.rocewatch = self.build / "rocewatch"
        self.roce_gen = self.build / "tests/lab/roce_gen"
        self.prefix = prefix
        self.children = []
        self.stalls = Stalls()
        for program in (self.rocewatch, self.roce_gen):
            if not os.access(program, os.X_OK):
                raise Failed("%s is not there: build it first" % program)

    def fabric(self, *args, **kw):
        return subprocess.run([HERE / "fabric.sh", "--prefix", self.prefix, *args], stdin=subprocess.DEVNULL, text=True, **kw)

    def __enter__(self):
        # SIGTERM (ctest's timeout, a service manager) and SIGHUP must clean up like Ctrl-C does.
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda n, frame: sys.exit(128 + n))
        atexit.register(self.down)
        r = self.fabric("up", "--owner", str(os.getpid()), stderr=subprocess.PIPE)
        if r.returncode == SKIP:
            atexit.unregister(self.down)  # nothing was made
            print(r.stderr.strip(), file=sys.stderr)
            sys.exit(SKIP)
        if r.returncode:
            raise Failed(r.stderr.strip())
        self.stalls.start()
        self.dir = pathlib.Path("/run/rocewatch-lab") / self.prefix
        self.agent_pid = None
        self.pid = {n: int((self.dir / n / "snmpd.pid").read_text()) for n in SWITCHES}
        return self

    def __exit__(self, *_):
        self.down()

    def late_s(self):
        """By how much an agent may be late: it waits for the processor at each step of a poll, this process at each tick."""
        return 3 * self.stalls.worst_s

    def down(self):
        self.stalls.over.set()
        for p in self.children:
            if p.poll() is None:
                p.kill()
                p.wait()
        self.children = []
        self.fabric("down")

    # --- traffic ----------------------------------------------------------------------------------------------------------

    def popen(self, node, argv, **kw):
        p = subprocess.Popen(["ip", "netns", "exec", "%s-%s" % (self.prefix, node), *map(str, argv)], stdin=subprocess.DEVNULL, **kw)
        self.children.append(p)
        return p

    def end(self, p, how=signal.SIGTERM, deadline_s=HANG_S):
        if p.poll() is None:
            p.send_signal(how)
        try:
            p.wait(deadline_s)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
            raise Failed("%s did not end within %d s of signal %d" % (p.args[4], deadline_s, how))
        finally:
            if p in self.children:
                self.children.remove(p)
        return p.returncode

    def address(self, node):
        number = int(re.sub(r"\D", "", node))
        return {"s": "10.255.0.%d" % (10 + number), "l": "10.255.0.%d" % (20 + number), "h": "10.1.%d.2" % number}[node[0]]

    def sinks(self):
        for h in HOSTS:
            self.popen(h, [self.roce_gen, "--sink"], stdout=subprocess.DEVNULL)

    def send(self, host, *options, mbit=45):
        """@mbit in bursts of 50 ms each 100 ms, as a bulk-synchronous job does: half of it on average."""
        return self.popen(host, [self.roce_gen, "--src", self.address(host), "--dst", self.address(PAIRS[host]), "--rate", "%dM" % mbit,
                                 "--period", "100ms", "--duty", "50", "--mtu", "4096", "--message", "2", *options],
                          stdout=subprocess.DEVNULL)

    def send_healthy(self, host):
        return self.send(host, "--sports", "49152-50175")  # 1,024 source ports

    def ports_to(self, leaf, host, uplink, count):
        """Source ports that this kernel's hash sends to @uplink: asked, since every namespace has its own seed."""
        r = self.fabric("probe", leaf, host, PAIRS[host], "49152", "49407", stdout=subprocess.PIPE)
        rows = [line.split() for line in r.stdout.splitlines()]
        check(len(rows) == 256, "the kernel's route lookup answered %d of 256 source ports" % len(rows))
        ports = [sport for sport, port in rows if port == uplink]
        check(len(ports) >= count, "only %d of 256 source ports go to %s %s" % (len(ports), leaf, uplink))
        return ports[:count]

    # --- what the kernel says ---------------------------------------------------------------------------------------------

    def kernel(self, switch):
        """{port: (in_octets, out_octets)} from the kernel itself: /proc/net/dev as snmpd's namespace sees it."""
        ret = {}
        for line in pathlib.Path("/proc/%d/net/dev" % self.pid[switch]).read_text().splitlines()[2:]:
            name, values = line.split(":")
            values = values.split()
            ret[name.strip()] = (int(values[0]), int(values[8]))
        return ret

    # --- configuration and agent ------------------------------------------------------------------------------------------

    def config(self, name="rocewatch.yaml", interval="1s", switches=SWITCHES, capture=True, window="5s", hold=3, overrides=None,
               timeout="500ms", extra="", profiles=None, captures=None):
        """Writes a configuration and returns its path. @overrides: {switch: "interval: 2s"}, @profiles: {switch: name}, @extra: lines at
        the end. @captures: lines of the section, instead of one for each uplink of each leaf."""
        lines = [
            "fabric: lab",
            "user: root  # the lab is root's; a user named rocewatch could not read it",
            "store: { path: %s }" % (self.dir / "rocewatch.db"),
            "credentials:",
            "  lab: { snmp: { version: 2c, community_file: %s } }" % (self.dir / "community"),
            "defaults: { interval: %s, timeout: %s }" % (interval, timeout),
            "devices:",
        ]
        for s in switches:
            more = (overrides or {}).get(s)
            lines.append("  - { name: %s, role: %s, profile: %s, snmp: { address: %s, credentials: lab%s } }" % (
                s, s.rstrip("0123456789"), (profiles or {}).get(s, "auto"), self.address(s), ", " + more if more else ""))
        links = []
        for line in (self.dir / "wires").read_text().splitlines():
            a, a_port, b, b_port = line.split()
            if a in switches and b in switches:
                links.append('  - { a: "%s:%s", b: "%s:%s", speed: 100M }' % (a, a_port, b, b_port))
            elif a in switches and b.startswith("host"):
                links.append('  - { a: "%s:%s", b: "host:%s" }' % (a, a_port, b))
        lines += ["links:", *links]
        if captures:
            lines += ["capture:", *captures]
        elif capture:
            lines.append("capture:")
            for leaf in LEAVES:
                for port in UPLINKS:
                    lines.append("  - { name: %s-%s, interface: %s, netns: %s-%s, port: \"%s:%s\", direction: out, interval: 1s }" % (
                        leaf, port, port, self.prefix, leaf, leaf, port))
        lines += ["jobs:", '  - { name: llm-lab, gpus: 64, hosts: "host*" }', "cost: { usd_per_gpu_hour: 3 }"]
        lines.append("analyzers:")
        lines.append("  ecmp_imbalance: { window: %s, hold: %d }" % (window, hold))
        path = self.dir / name
        path.write_text("\n".join(lines) + "\n" + extra)
        return path

    def agent(self, config, *options):
        """The agent in the NOC's namespace; its log goes to agent.log."""
        self.log = self.dir / "agent.log"
        out = open(self.log, "ab")
        p = self.popen("noc", [self.rocewatch, "-c", config, "agent", *options], stdout=out, stderr=out)
        out.close()
        return p

    def log_text(self):
        return self.log.read_text(errors="replace")

    def log_lines(self, about):
        """[(t_ns, level, line)] of the log whose subject names @about."""
        ret = []
        for line in self.log_text().splitlines():
            m = re.match(r'time=(\S+) level=(\S+) where=("[^"]*"|\S+)', line)
            if m and about in re.split(r"[^\w.-]+", m[3]):
                ret.append((parse_time(m[1]), m[2], line))
        return ret

    def status(self, config):
        """{device: its SNMP row} of `status`, {} while there is no database to answer from yet."""
        out = self.run(config, "status", "--format", "json", ok=(0, 1, 2))
        return {d["name"]: d for d in json.loads(out)["devices"] if d["protocol"] == "snmp"} if out.strip() else {}

    def all_up(self, config, devices=SWITCHES):
        return {name for name, d in self.status(config).items() if d["up"]} >= set(devices)

    def run(self, config, *args, ok=(0,)):
        r = subprocess.run([self.rocewatch, "-c", config, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)
        check(r.returncode in ok, "rocewatch %s: exit %d\n%s%s" % (" ".join(args), r.returncode, r.stdout, r.stderr))
        return r.stdout

    def json(self, config, *args, **kw):
        return json.loads(self.run(config, *args, "--format", "json", **kw))

    def samples(self, config, metric, since="10m"):
        """[(t_ns, device, port, value, flags)] in time order, from the command people use."""
        ret = []
        for row in csv.DictReader(io.StringIO(self.run(config, "query", metric, "--since", since, "--format", "csv"))):
            if row["value"] != "":
                ret.append((parse_time(row["time"]), row["device"], row["port"], int(row["value"]), row["flags"]))
        return sorted(ret)

    def polls(self, config, since="10m"):
        """{device: [t_ns of each poll that was stored]}: a poll is one instant at which a fabric port's octets were taken."""
        ret = {}
        for t, device, port, value, flags in self.samples(config, "port.out_octets", since):
            if port != "lo":
                ret.setdefault(device, set()).add(t)
        return {d: sorted(v) for d, v in ret.items()}

    def sql(self, config, statement):
        return list(csv.DictReader(io.StringIO(self.run(config, "query", "sql", statement, "--format", "csv"))))

    def targets(self, config):
        """{device: row of the SNMP target} from the documented view."""
        return {r["device"]: r for r in self.sql(config, "SELECT * FROM devices WHERE protocol = 'snmp'")}

    def store_ok(self, when):
        """Fails with what SQLite says of the file, and what lies beside it."""
        try:
            with sqlite3.connect("file:%s?mode=ro" % (self.dir / "rocewatch.db"), uri=True) as db:
                said = db.execute("PRAGMA integrity_check").fetchall()
        except sqlite3.Error as e:
            said = "%s: %s" % (type(e).__name__, e)
        files = sorted((f.name, f.stat().st_size) for f in self.dir.glob("rocewatch.db*"))
        check(said == [("ok",)], "%s: integrity_check: %s; %s; free: %d bytes" % (when, said, files, shutil.disk_usage(self.dir).free))


def largest_gap_s(times, from_ns=None, to_ns=None):
    """The longest time between two polls that touches (from, to), in seconds."""
    gaps = [(b - a) / 1e9 for a, b in zip(times, times[1:]) if (from_ns is None or b > from_ns) and (to_ns is None or a < to_ns)]
    return max(gaps, default=float("inf"))


class KernelRecorder(threading.Thread):
    """Reads the kernel's counters all the time, so that each poll can be held between a reading before and one after it."""

    def __init__(self, lab, switches, every_s=0.02):
        super().__init__(daemon=True)
        self.lab, self.switches, self.every_s = lab, switches, every_s
        self.readings = {s: [] for s in switches}  # [(ns before, ns after, {port: (in, out)})]
        self.stop_asked = threading.Event()

    def run(self):
        while not self.stop_asked.is_set():
            for s in self.switches:
                before = time.time_ns()
                values = self.lab.kernel(s)
                self.readings[s].append((before, time.time_ns(), values))
            time.sleep(self.every_s)

    def stop(self):
        self.stop_asked.set()
        self.join()

    def around(self, switch, from_ns, to_ns):
        """The last reading wholly before @from_ns and the first wholly after @to_ns, or None."""
        low = high = None
        for before, after, values in self.readings[switch]:
            if after <= from_ns:
                low = values
            elif before >= to_ns:
                high = values
                break
        return (low, high) if low and high else None


def main(test, name):
    """Runs test(lab) as a ctest: 0, 1 with one reason, or SKIP. Several may run side by side."""
    if len(sys.argv) != 2:
        print("usage: %s BUILD_DIRECTORY" % sys.argv[0], file=sys.stderr)
        sys.exit(2)
    began = time.monotonic()
    try:
        with Lab(sys.argv[1], "%s%d" % (name, os.getpid() % 1000000)) as lab:
            try:
                test(lab)
            except BaseException as e:
                if isinstance(e, SystemExit):
                    raise
                # The reason comes first: who cuts a long output keeps its beginning.
                known = isinstance(e, (Failed, subprocess.TimeoutExpired))
                print("FAILED: %s" % (e if known else traceback.format_exc()), file=sys.stderr)
                if getattr(lab, "log", None) and lab.log.exists():
                    print("--- agent.log, its end ---\n" + lab.log_text()[-4000:], file=sys.stderr)
                sys.exit(1)
    except Failed as e:
        print("FAILED: %s" % e, file=sys.stderr)
        sys.exit(1)
    print("passed in %.0f s" % (time.monotonic() - began))
