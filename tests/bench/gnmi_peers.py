#!/usr/bin/python3
"""gnmi_peers.py BUILD [TARGETS...] - what an update costs rocewatch, gnmic and telegraf, each reading the same kind of stream in the same run.

One C server (tests/fake/gnmi_server prebuilt=, a process of its own) serves TARGETS targets (1 64 512 when none is named): PORTS ports x 40
counters that grow with each sample, as (i) one update per notification, (ii) 100 per notification, (iii) one JSON table, like SONiC's.
The pace is fixed: all of a target's counters every INTERVAL, some 20,000 updates/s in all; so CPU is compared at equal work, not at each
one's limit. As it is: 1 target x 64 ports every 100 ms, 64 x 8 every 1 s, 512 x 2 every 2 s.

CPU is the process's own clock (user + system, all threads) over FOR seconds after the first data of every target, per value received:
  rocewatch   the agent: decoded, profile applied, samples in memory, and committed to SQLite; the count is of samples in the database. Windows
              of all analyzers are of 1 h, so that none ends meanwhile; "rocewatch all" (ONLY=rocewatch-all) has the windows as they are. SET: configuration lines
  gnmic       subscribe --quiet without output: received and dropped; its count is of messages (its own metrics) x updates of a message
  gnmic event the same with the file output to /dev/null in the format "event": values decoded, as a database output would have them
  telegraf    inputs.gnmi and outputs.discard: decoded into metrics; its count is what its log says it wrote
A row whose count is not what the server sent in the time says so. Latency is of committed rows: from the server's timestamp to the time a
reader of the database sees the row (looked for every 20 ms).

  ONLY=rocewatch,gnmic   SHAPES=i,ii,iii   FOR=15   INTERVAL=1s   PORTS=8   TLS=1"""
import http.client
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "interop"))
from peers import Unavailable, build, version  # noqa: E402
sys.path.insert(0, str(HERE.parent))
from ports import free_port  # noqa: E402

FOR = float(os.environ.get("FOR", "15"))
LEAVES = 40
BASE = 1 << 56
PORT_LEAVES = {"in-octets": "port.in_octets", "out-octets": "port.out_octets", "in-packets": "port.in_packets", "out-packets": "port.out_packets",
               "in-errors": "port.in_errors", "out-errors": "port.out_errors", "in-discards": "port.in_discards", "out-discards": "port.out_discards",
               "in-fcs": "port.fcs_errors", "symbol-errors": "port.symbol_errors"}
LANE_LEAVES = (("pfc-%d-rx", "pfc.rx_frames", 8), ("pfc-%d-tx", "pfc.tx_frames", 8), ("queue-%d-octets", "queue.out_octets", 7),
               ("queue-%d-packets", "queue.out_packets", 7))
SHAPES = {"i": "1 update per notification", "ii": "100 updates per notification", "iii": "JSON table"}


def leaves():
    """(name, metric, priority) of the 40 leaves of a port."""
    return [(n, m, None) for n, m in PORT_LEAVES.items()] + [(t % p, m, p) for t, m, n in LANE_LEAVES for p in range(n)]


def table(shape, ports):
    names = [leaf for leaf, _, _ in leaves()]
    if shape == "iii":
        text = ",".join('"Ethernet%d":{%s}' % (p, ",".join('"%s":"%d"' % (leaf, BASE + 1000 * i) for i, leaf in enumerate(names))) for p in range(ports))
        return "COUNTERS_DB\t/COUNTERS\tjson_ietf\t{%s}\n" % text
    return "".join("-\t/interface[name=Ethernet%d]/statistics/%s\tuint\t%d\n" % (p, leaf, BASE + 1000 * i)
                   for p in range(ports) for i, leaf in enumerate(names))


def profile(shape):
    lines = "".join("            - { path: %s, metric: %s%s }\n" % (leaf, metric, "" if p is None else ", priority: %d" % p) for leaf, metric, p in leaves())
    where = ("/COUNTERS", "/COUNTERS/{port}", "      target: COUNTERS_DB\n      plain_names: true\n") if shape == "iii" else (
        "/interface[name=*]/statistics", "/interface[name={port}]/statistics", "")
    return """\
name: bench
doc: 40 counters of a port
gnmi:
  encodings: [%s]
  streams:
    - name: counters
%s      subscribe:
        - { path: "%s", mode: sample }
      values:
        - at: "%s"
          leaves:
%s""" % ("json_ietf" if shape == "iii" else "proto", where[2], where[0], where[1], lines)


def cpu(pid):
    """Seconds of all threads, those that ended too: the process's CPU clock (clock_getcpuclockid(3): ~pid << 3 | CPUCLOCK_SCHED)."""
    return time.clock_gettime(((~pid) << 3) | 2)


def rss_mb(pid):
    return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path("/proc/%d/status" % pid).read_text()).group(1)) / 1024


def percentile(v, share):
    return sorted(v)[min(len(v) - 1, int(share * len(v)))] if v else float("nan")


class Run:
    """One shape, one number of targets: the server and, one after the other, its readers."""

    def __init__(self, build_dir, shape, targets):
        self.build, self.shape, self.targets = pathlib.Path(build_dir).resolve(), shape, targets
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gnmi_peers"))
        usual = (64, "100ms") if targets < 8 else (8, "1s") if targets < 256 else (2, "2s")
        self.ports, self.interval = int(os.environ.get("PORTS", usual[0])), os.environ.get("INTERVAL", usual[1])
        self.values = self.ports * LEAVES
        self.messages = {"i": self.values, "ii": -(-self.values // 100), "iii": 1}[shape]
        self.interval_s = float(self.interval[:-2]) / 1000 if self.interval.endswith("ms") else float(self.interval[:-1])
        self.tls = os.environ.get("TLS") == "1"
        self.file("table.tsv", table(shape, self.ports))
        self.file("profiles/bench.yaml", profile(shape))
        if self.tls:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem", "-out",
                            "cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                           cwd=self.dir, check=True, capture_output=True)

    def file(self, name, text):
        path = self.dir / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return str(path)

    def server(self):
        self.port = free_port()
        tls = ["cert=cert.pem", "key=key.pem"] if self.tls else []
        p = subprocess.Popen([self.build / "tests/fake/gnmi_server", "table.tsv", "listen=127.0.0.1:%d" % self.port, *tls,
                              "prebuilt=%d" % {"i": 1, "ii": 100, "iii": 1}[self.shape]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.dir)
        p.stdout.readline()
        return p

    def measure(self, name, argv, count, wait_s=120, after=None, between=None):
        """Waits until the reader @argv has three rounds of all targets, then looks at count() and the CPU FOR seconds apart; @between counts what
        the server stamped in that time."""
        self.from_ns = self.to_ns = 0
        p = subprocess.Popen([str(a) for a in argv], cwd=self.dir, stdout=open(self.dir / "out", "w"), stderr=subprocess.STDOUT)
        try:
            until = time.monotonic() + wait_s
            while count() < 3 * self.values * self.targets and p.poll() is None and time.monotonic() < until:
                time.sleep(0.2)
            if p.poll() is not None or count() == 0:
                print("%-13s received nothing: %s" % (name, (self.dir / "out").read_text()[-500:]), flush=True)
                return
            begun, n0, c0, self.from_ns = time.monotonic(), count(), cpu(p.pid), time.time_ns()
            notes = after(begun + FOR) if after else ""
            time.sleep(max(0, begun + FOR - time.monotonic()))
            n1, c1, wall, self.to_ns = count(), cpu(p.pid), time.monotonic() - begun, time.time_ns()
            if between:
                time.sleep(3)  # the last of them have to be committed
                n0, n1 = 0, between(self.from_ns, self.to_ns)
            expected = wall / self.interval_s * self.values * self.targets
            share = (n1 - n0) / expected
            bad = "" if 0.9 < share < 1.1 else "  !! %.0f %% of what the server was asked for" % (share * 100)
            print("%-13s %10d values  %7.3f us CPU/value  %6.1f %% of a core  %5.0f MiB  %s%s" % (
                name, n1 - n0, (c1 - c0) / max(1, n1 - n0) * 1e6, (c1 - c0) / wall * 100, rss_mb(p.pid), notes, bad), flush=True)
        finally:
            p.terminate()
            try:
                p.wait(30)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()

    # --- the readers

    def rocewatch(self, judged):
        tls = "ca: %s" % (self.dir / "cert.pem") if self.tls else "off: true"
        names = re.findall(r"analyzers\.(\w+)\.window\n", subprocess.run([self.build / "rocewatch", "config", "explain", "analyzers"], text=True,
                                                                        capture_output=True, check=True).stdout)
        windows = "" if judged else "analyzers: { %s }\n" % ", ".join("%s: { window: 1h }" % n for n in names)
        devices = "".join('  - { name: leaf%d, role: leaf, profile: bench, gnmi: { address: "127.0.0.1:%d", credentials: c } }\n' % (i, self.port)
                          for i in range(self.targets))
        config = self.file("rocewatch.yaml", "fabric: bench\nstore: { path: %s }\ncredentials: { c: { gnmi: { tls: { %s } } } }\nprofile_dir: %s\n"
                           "defaults: { interval: %s, slow_interval: 1h }\n%s%s\ndevices:\n%s" % (
                               self.dir / "rw.db", tls, self.dir / "profiles", self.interval, windows, os.environ.get("SET", ""), devices))
        db = "file:%s?mode=ro" % (self.dir / "rw.db")

        def one(c, statement, *args):
            return c.execute(statement, args).fetchone()[0] or 0

        def connect():
            c = sqlite3.connect(db, uri=True, timeout=10)
            c.enable_load_extension(True)
            c.load_extension(str(next(self.build.rglob("rocewatch_sqlite.so"))))
            return c

        def rows(from_ns=None, to_ns=None):
            """Committed samples: all, as the rows of the tail and the blocks say; or those of a time, looked for among the values."""
            try:
                c = connect()
                if from_ns is None:
                    n = one(c, "SELECT sum(n) FROM (SELECT n FROM tail UNION ALL SELECT n FROM block)")
                else:
                    n = one(c, "SELECT count(*) FROM rocewatch_samples WHERE t_ns BETWEEN ? AND ? AND device NOT LIKE '(%'", from_ns, to_ns)
                c.close()
                return n
            except sqlite3.Error:
                return 0

        def latency(until):
            """A commit leaves a row of the tail for each target, which says when its oldest and its newest value were taken."""
            c, seen, lag, version = connect(), None, [], 0
            while time.monotonic() < until:
                time.sleep(0.02)
                if one(c, "PRAGMA data_version") == version:
                    continue
                version, now = one(c, "PRAGMA data_version"), time.time_ns()
                there = set(c.execute("SELECT device, from_ns, to_ns FROM tail WHERE to_ns > ?", (now - 20 * 10**9,)))
                if seen is not None:
                    lag += [(now - t) / 1e9 for _, *times in there - seen for t in times]
                seen = there
            c.close()
            return "committed p50 %.2f s, p99 %.2f s" % (percentile(lag, 0.5), percentile(lag, 0.99))

        self.measure("rocewatch all" if judged else "rocewatch", [self.build / "rocewatch", "-c", config, "-q", "agent"], rows, after=latency, between=rows)
        for f in self.dir.glob("rw.db*"):
            f.unlink()

    def gnmic(self, event):
        program, api = build(self.build, "gnmic"), free_port()
        path = "/COUNTERS" if self.shape == "iii" else "/interface[name=*]/statistics"
        config = self.file("gnmic.yaml", json.dumps({
            **({"tls-ca": str(self.dir / "cert.pem")} if self.tls else {"insecure": True}), "encoding": "json_ietf" if self.shape == "iii" else "proto",
            "timeout": "60s", "max-msg-size": 1 << 26,
            "targets": {"leaf%d" % i: {"address": "127.0.0.1:%d" % self.port} for i in range(self.targets)},
            "subscriptions": {"counters": {"paths": [path], "stream-mode": "sample", "sample-interval": self.interval,
                                           **({"target": "COUNTERS_DB", "prefix": ""} if self.shape == "iii" else {})}},
            "outputs": {"null": {"type": "file", "filename": "/dev/null", "format": "event"}} if event else {},
            "api-server": {"address": "127.0.0.1:%d" % api, "enable-metrics": True}}))

        last = 0

        def messages():
            nonlocal last
            try:
                with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % api, timeout=10) as r:
                    n = sum(float(line.split()[-1]) for line in r.read().decode().splitlines()
                            if line.startswith("gnmic_subscribe_number_of_received_subscribe_response_messages_total"))
            except (OSError, http.client.HTTPException):  # not there yet, or busy
                return last
            last = int(n * self.values / self.messages)
            return last

        self.measure("gnmic event" if event else "gnmic", [program, "--config", config, "subscribe", "--quiet"], messages)

    def telegraf(self):
        tls = 'tls_enable = true\n  tls_ca = "%s"\n' % (self.dir / "cert.pem") if self.tls else ""
        where = ('target = "COUNTERS_DB"\n  encoding = "json_ietf"\n', "/COUNTERS") if self.shape == "iii" else (
            'encoding = "proto"\n', "/interface[name=*]/statistics")
        config = self.file("telegraf.conf", """\
[agent]
  interval = "10s"
  flush_interval = "1s"
  metric_batch_size = 50000
  metric_buffer_limit = 2000000
  debug = true
  omit_hostname = true
[[outputs.discard]]
[[inputs.gnmi]]
  addresses = [%s]
  max_msg_size = "64MB"
  %s  %s
  [[inputs.gnmi.subscription]]
    name = "counters"
    path = "%s"
    subscription_mode = "sample"
    sample_interval = "%s"
""" % (", ".join('"127.0.0.1:%d"' % self.port for _ in range(self.targets)), tls, where[0], where[1], self.interval))
        # metrics of a round: one for each port that a message has values of
        step = {"i": 1, "ii": 100, "iii": self.values}[self.shape]
        metrics = 1 if self.shape == "iii" else sum(len({v // LEAVES for v in range(k, min(k + step, self.values))}) for k in range(0, self.values, step))

        def written():
            return int(sum(map(int, re.findall(r"Wrote batch of (\d+) metrics", (self.dir / "out").read_text()))) * self.values / metrics)

        self.measure("telegraf", [build(self.build, "telegraf"), "--config", config], written)

    def all(self):
        print("\n(%s) %s, %d targets x %d ports x %d leaves every %s%s; load %s" % (
            self.shape, SHAPES[self.shape], self.targets, self.ports, LEAVES, self.interval, ", TLS" if self.tls else "", os.getloadavg()[0]), flush=True)
        readers = {"rocewatch": lambda: self.rocewatch(False), "gnmic": lambda: self.gnmic(False), "gnmic-event": lambda: self.gnmic(True), "telegraf": self.telegraf}
        usual = ",".join(readers)
        readers["rocewatch-all"] = lambda: self.rocewatch(True)
        for name in os.environ.get("ONLY", usual).split(","):
            server = self.server()
            try:
                readers[name]()
            except Unavailable as e:
                print("%-13s skipped: %s" % (name, str(e).splitlines()[0]))
            finally:
                server.stdin.close()
                server.wait()
                server.stdout.close()


def main():
    targets = [int(n) for n in sys.argv[2:]] or [1, 64, 512]
    print("gnmic: %s; telegraf: %s" % (version("gnmic"), version("telegraf")))
    for shape in os.environ.get("SHAPES", "i,ii,iii").split(","):
        for n in targets:
            run = Run(sys.argv[1], shape, n)
            try:
                run.all()
            finally:
                shutil.rmtree(run.dir, ignore_errors=True)


main()
