#!/usr/bin/env python3
"""hostile.py BUILD [--minutes 10] [--kinds a,b] [--repeats 1] [--honest 40] [--short] - one hostile switch beside honest ones.

An agent polls honest switches each second, once alone and once with a hostile one of each kind, in turn. Figures: time between two polls of
the honest ones (p50, p99, max) and its ratio to the run without, memory, and what was told. The numbers are of this machine: the hostile
server itself works on the same cores, with the least priority.

--short: some seconds of each kind, and counts instead of times: the agent lives, every honest switch is polled on, the log names the hostile
one. Exit 1 on a broken promise."""
import argparse, os, random, re, shutil, signal, socket, sqlite3, statistics, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "fabric"), os.path.join(HERE, "..")]
import samples_db
from live_lab import Failed, check, sanitized, wait_for
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

# kind: (protocol, command of the server, what the log or the doctor must say of it; "" = nothing is wrong enough to be told)
KINDS = {
    "names": ("snmp", [("ports", 250000), ("churn", None)], "invents names|takes longer|deadline|too many"),
    "long": ("snmp", [("long", None)], ""),
    "slow": ("snmp", [("slow", None)], "deadline|takes longer|later than|no answer|too slow"),
    "endless": ("snmp", [("endless", None)], "rows|deadline|takes longer|too many"),
    "garbage": ("snmp", [("garbage", None)], ""),
    "gnmi-paths": ("gnmi", "paths", "invents names"),
    "gnmi-cells": ("gnmi", "cells", "invents names"),
    "gnmi-big": ("gnmi", "big", ""),
    "gnmi-string": ("gnmi", "string", ""),
    "gnmi-flood": ("gnmi", "flood", ""),
    "gnmi-bomb": ("gnmi", "bomb", "compress"),
    "gnmi-garbage": ("gnmi", "garbage", "more often"),
    "gnmi-hello": ("tls", None, "TLS handshake"),
    "traps": ("udp", "traps", ""),
    "sflow": ("udp", "sflow", ""),
}
MEMORY_MB = 1024  # of the agent, whatever one switch does


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))] if values else float("nan")


class Flood(threading.Thread):
    """Random datagrams to one port, as fast as this process may."""
    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.over, self.sent = port, False, 0
        self.start()

    def run(self):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        packets = [bytes([0x30, 0x82]) + random.randbytes(random.choice([20, 200, 1300])) for _ in range(200)]
        packets += [b"\0\0\0\5\0\0\0\1\x7f\0\0\1" + random.randbytes(200) for _ in range(50)]  # begins like sFlow version 5
        while not self.over:
            for p in packets:
                try:
                    s.sendto(p, ("127.0.0.1", self.port))
                    self.sent += 1
                except OSError:
                    pass


class Hellos(threading.Thread):
    """A TLS server that answers each ClientHello with HelloRequests (RFC 5246, 7.4.1.1), as fast as they are taken. It hangs up on every second
    client: gRPC fails then, and our own handshake gets the flood."""
    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port, self.clients = self.socket.getsockname()[1], 0
        self.start()

    def run(self):
        while True:
            client, _ = self.socket.accept()
            self.clients += 1
            if self.clients % 2:
                client.recv(4096)
                client.close()
            else:
                threading.Thread(target=self.flood, args=(client,), daemon=True).start()

    def flood(self, client):
        try:
            client.recv(4096)
            while True:
                client.sendall(b"\x16\3\3\0\4\0\0\0\0" * 400)
        except OSError:
            client.close()


class Run:
    def __init__(self, args, kind, seconds):
        self.args, self.kind, self.seconds = args, kind, seconds
        self.binary = os.path.join(os.path.realpath(args.build), "rocewatch")
        self.tools = os.path.join(args.build, "tests", "soak")
        self.dir = tempfile.mkdtemp(prefix="hostile-")
        self.port = random.randrange(20000, 50000)
        self.children, self.flood = [], None

    def start(self, argv, **more):
        p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, **more)
        self.children.append(p)
        return p, p.stdout.readline()

    def hostile(self):
        """The server of the hostile switch; its line of the configuration."""
        if not self.kind:
            return ""
        protocol, what, _ = KINDS[self.kind]
        if protocol == "snmp":
            p, said = self.start([os.path.join(self.tools, "switches"), "1", "16", str(self.port + 1), "127.3.0.1"], preexec_fn=lambda: os.nice(19))
            check(said == "serving\n", "the hostile switch does not serve")
            for verb, number in what:
                p.stdin.write("%s 0 %s\n" % (verb, "" if number is None else number))
            return "  - { name: evil, role: leaf, snmp: { address: \"127.3.0.1:%d\", credentials: v2 } }" % (self.port + 1)
        if protocol == "gnmi":
            p, said = self.start([os.path.join(self.tools, "hostile_gnmi"), what], preexec_fn=lambda: os.nice(19))
            check(said.startswith("listening on "), "the hostile server does not listen")
            return "  - { name: evil, role: leaf, profile: openconfig, gnmi: { address: \"127.0.0.1:%s\", credentials: g } }" % said.split()[-1]
        if protocol == "tls":
            return "  - { name: evil, role: leaf, profile: openconfig, gnmi: { address: \"127.0.0.1:%d\", credentials: t, timeout: 1s } }" % Hellos().port
        return ""

    def configure(self):
        lines = ["fabric: hostile", "store: { path: %s/rocewatch.db }" % self.dir, "credentials:",
                 "  v2: { snmp: { version: 2c, community_file: %s/community } }" % self.dir,
                 "  g: { gnmi: { tls: { off: true } } }", "  t: { gnmi: { username: noc } }",
                 "defaults: { interval: 1s, slow_interval: 1m, timeout: 2s, profile: generic }", "devices:"]
        for i in range(self.args.honest):
            lines.append("  - { name: sw%d, role: leaf, snmp: { address: \"127.2.0.%d:%d\", credentials: v2 } }" % (i, i + 1, self.port))
        lines.append(self.hostile())
        if self.args.short:
            lines.insert(1, "limits: { names_per_device: 1000 }")  # reached within seconds
        lines.append("links: []")
        if self.kind == "traps":
            lines.append("traps: { listen: \"127.0.0.1:%d\", credentials: [v2] }" % (self.port + 2))
        if self.kind == "sflow":
            lines.append("capture:\n  - { name: samples, listen: \"127.0.0.1:%d\", allow: [127.0.0.1] }" % (self.port + 2))
        for name, text in (("community", "public\n"), ("rocewatch.yaml", "\n".join(line for line in lines if line) + "\n")):
            with open(os.path.join(self.dir, name), "w") as f:
                f.write(text)
            os.chmod(os.path.join(self.dir, name), 0o600)

    def sql(self, statement):
        try:
            return samples_db.rows(self.binary, os.path.join(self.dir, "rocewatch.db"), statement)
        except OSError:
            return []

    def polls(self):
        times = {}
        for name, t in self.sql("SELECT device, t_ns FROM samples WHERE port='eth1' AND device LIKE 'sw%' AND metric='port.in_octets' ORDER BY t_ns"):
            times.setdefault(name, []).append(t)
        return times

    def said(self):
        with open(os.path.join(self.dir, "agent.log"), errors="replace") as f:
            return f.read()

    def run(self):
        _, said = self.start([os.path.join(self.tools, "switches"), str(self.args.honest), "16", str(self.port)])
        check(said == "serving\n", "the switches do not serve")
        self.configure()
        with open(os.path.join(self.dir, "agent.log"), "w") as out:
            self.agent = subprocess.Popen([self.binary, "-c", os.path.join(self.dir, "rocewatch.yaml"), "agent"], stdin=subprocess.DEVNULL,
                                          stdout=out, stderr=out)
        wait_for("the first polls", lambda: self.agent.poll() is not None or (
            os.path.exists(self.dir + "/rocewatch.db") and len(self.polls()) == self.args.honest), 60)
        check(self.agent.poll() is None, "the agent did not start: %s" % self.said()[-1000:])
        if KINDS.get(self.kind, ("",))[0] == "udp":
            self.flood = Flood(self.port + 2)
        before = {name: len(t) for name, t in self.polls().items()}
        began = time.time_ns()
        if self.args.short:
            # every honest switch is polled on, whatever the hostile one does
            wait_for("three more polls of every honest switch beside %s" % self.kind, lambda: self.agent.poll() is not None or all(
                len(t) >= before.get(name, 0) + 3 for name, t in self.polls().items()), 60, 0.5)
            wanted = KINDS[self.kind][2]
            wait_for("a word about %s (%s)" % (self.kind, wanted), lambda: not wanted or re.search(
                wanted, "\n".join(line for line in self.said().splitlines() if "where=evil" in line)), 40, 0.5)
        else:
            time.sleep(self.seconds)
        check(self.agent.poll() is None, "the agent ended with %s beside %s:\n%s" % (self.agent.returncode, self.kind, self.said()[-2000:]))
        with open("/proc/%d/status" % self.agent.pid) as f:
            self.hwm_mb = [int(line.split()[1]) for line in f if line.startswith("VmHWM")][0] / 1024
        with open("/proc/%d/stat" % self.agent.pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        self.cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        # after a second for everybody to begin
        self.gaps = [(b - a) / 1e9 for t in self.polls().values() for a, b in zip(t, t[1:]) if a > began]
        doctor = subprocess.run([self.binary, "-c", self.dir + "/rocewatch.yaml", "doctor"], stdin=subprocess.DEVNULL, capture_output=True,
                                text=True, timeout=HANG_S)
        self.doctor = doctor.stdout
        self.size_mb = sum(os.path.getsize(os.path.join(self.dir, n)) for n in os.listdir(self.dir) if n.startswith("rocewatch.db")) / 2**20
        self.agent.send_signal(signal.SIGTERM)
        code = self.agent.wait(HANG_S)
        said = self.said()
        # clang 14's search for leaks may crash itself, now and then, beside gRPC's threads that end: it says so after "stopped"
        if code == 1 and "LeakSanitizer has encountered a fatal error" in said and re.search(r"where=agent msg=\"?stopped", said):
            print("beside %s the search for leaks crashed after the agent had stopped: leaks were not looked for" % self.kind)
            code = 0
        check(code == 0, "the agent ended with %s beside %s:\n%s" % (code, self.kind, said[-6000:]))

    def told(self):
        """A line of the log or of the doctor about the hostile one."""
        lines = [line for line in self.said().splitlines() if "where=evil" in line and "starting -> up" not in line]
        lines += [line for line in self.doctor.splitlines() if line.startswith("evil") or "evil" in line]
        return lines

    def end(self):
        if self.flood:
            self.flood.over = True
        for p in self.children + [getattr(self, "agent", None)]:
            if p and p.poll() is None:
                p.kill()
                p.wait()
        if not self.args.keep:
            shutil.rmtree(self.dir, ignore_errors=True)


def measure(args, kind, seconds):
    run = Run(args, kind, seconds)
    try:
        run.run()
        run.lines = run.told() if kind else []
        return run
    finally:
        run.end()


def judge(run, kind):
    wanted = KINDS[kind][2]
    bad = []
    if run.hwm_mb > MEMORY_MB and not sanitized(run.binary):
        bad.append("%s: %.0f MB of memory" % (kind, run.hwm_mb))
    if wanted and not any(re.search(wanted, line) for line in run.lines):
        bad.append("%s: nobody was told (%s): %r" % (kind, wanted, run.lines[-3:]))
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--honest", type=int, default=40)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda n, frame: sys.exit(128 + n))
    bad, names = [], args.kinds.split(",")
    try:
        for kind in names:
            ratios = []
            for _ in range(1 if args.short else args.repeats):
                alone = None if args.short else measure(args, None, args.minutes * 60)
                beside = measure(args, kind, args.minutes * 60)
                bad += judge(beside, kind)
                p50, p99, most = (quantile(beside.gaps, q) for q in (0.5, 0.99, 1))
                line = "%-13s %5d gaps  p50 %.3f  p99 %.3f  max %.3f s" % (kind, len(beside.gaps), p50, p99, most)
                if alone:
                    ratios.append(p99 / quantile(alone.gaps, 0.99))
                    line += "  (alone p99 %.3f max %.3f: p99 x%.3f)" % (quantile(alone.gaps, 0.99), max(alone.gaps), ratios[-1])
                print("%s  %.0f MB  cpu %.1f s  file %.0f MB" % (line, beside.hwm_mb, beside.cpu_s, beside.size_mb), flush=True)
            if len(ratios) > 1:
                print("%-13s p99 x%.3f (median of %d)" % (kind, statistics.median(ratios), len(ratios)), flush=True)
            if beside.lines:
                print("              told: %s" % beside.lines[0][:200])
    except (Failed, subprocess.TimeoutExpired) as why:
        bad.append(str(why))
    for line in bad:
        print("BROKEN  %s" % line)
    return 1 if bad else 0


sys.exit(main())
