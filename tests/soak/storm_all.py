#!/usr/bin/env python3
"""storm_all.py BUILD [--keep] - all ports of 64 switches begin to pause in one window, while an agent polls them.

Eight pods of six leaves with 46 hosts each and two spines. In the first two one hung host stops its whole pod: its leaf pauses the spines, they pause
the other leaves, those pause their hosts. In the others each host pauses its leaf by itself. Promised: every switch is polled on, none is blamed for
what the agent itself is busy with, the agent and `status` answer, memory stays bounded, a pod that waits for one host is one incident, at that host,
and each host of the others has its own. Prints figures; exit 1 on a broken promise."""
import argparse, json, os, random, re, shutil, signal, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "fabric"), os.path.join(HERE, "..")]
from live_lab import Failed, check, sanitized, wait_for
from patience import HANG_S, Limit

PODS, TREES, LEAVES, SPINES, HOSTS = 8, 2, 6, 2, 46  # of the pods, so many wait for one host; HOSTS of a leaf
SWITCHES, PORTS = PODS * (LEAVES + SPINES), HOSTS + SPINES
INTERVAL_S = 6  # a poll may take as long: on a busy machine, too, no switch is down
MEMORY_MB = 512
# thousandths of the time
HUNG, LEAF, SPINE, VICTIM = 950, 900, 850, 800


def leaves():
    """[(its number among all switches, pod, leaf)]"""
    return [(pod * (LEAVES + SPINES) + k, pod, k) for pod in range(PODS) for k in range(LEAVES)]


def spines():
    return [(pod * (LEAVES + SPINES) + LEAVES + k, pod, k) for pod in range(PODS) for k in range(SPINES)]


def hung(pod):
    """(leaf, port) of the host that its pod waits for."""
    return pod % LEAVES, pod % HOSTS + 1


def pauses():
    """["pause SWITCH FIRST LAST RX TX"]: nothing is left out, every port sends or gets pause."""
    lines = []
    for i, pod, leaf in leaves():
        if pod >= TREES:
            lines += ["pause %d 1 %d %d 0" % (i, HOSTS, HUNG), "pause %d %d %d 0 %d" % (i, HOSTS + 1, PORTS, LEAF)]
        elif leaf == hung(pod)[0]:
            port = hung(pod)[1]
            lines += ["pause %d %d %d %d 0" % (i, port, port, HUNG), "pause %d %d %d 0 %d" % (i, HOSTS + 1, PORTS, LEAF)]
            lines += ["pause %d %d %d 0 %d" % (i, a, b, VICTIM) for a, b in ((1, port - 1), (port + 1, HOSTS)) if a <= b]
        else:
            lines += ["pause %d %d %d %d 0" % (i, HOSTS + 1, PORTS, SPINE), "pause %d 1 %d 0 %d" % (i, HOSTS, VICTIM)]
    for i, pod, _ in spines():
        if pod >= TREES:
            lines.append("pause %d 1 %d %d 0" % (i, LEAVES, LEAF))
            continue
        port = hung(pod)[0] + 1
        lines.append("pause %d %d %d %d 0" % (i, port, port, LEAF))
        lines += ["pause %d %d %d 0 %d" % (i, a, b, SPINE) for a, b in ((1, port - 1), (port + 1, LEAVES)) if a <= b]
    return lines


def host(pod, leaf, port):
    return "node-%d-%d-%d" % (pod, leaf, port)


def configuration(directory, udp):
    lines = ["fabric: storm", "store: { path: %s/rocewatch.db }" % directory,
             "credentials: { v2: { snmp: { version: 2c, community_file: %s/community } } }" % directory,
             "defaults: { interval: %ds, slow_interval: 1h, timeout: %ds, profile: nxos }" % (INTERVAL_S, INTERVAL_S), "lossless: { priorities: [3] }", "devices:"]
    for role, those in (("leaf", leaves()), ("spine", spines())):
        for i, pod, k in those:
            lines.append("  - { name: %s-%d-%d, role: %s, snmp: { address: \"127.2.0.%d:%d\", credentials: v2 } }" % (role, pod, k, role, i + 1, udp))
    lines.append("links:")
    for _, pod, leaf in leaves():
        for port in range(1, HOSTS + 1):
            lines.append("  - { a: \"leaf-%d-%d:eth%d\", b: \"host:%s\", speed: 400G }" % (pod, leaf, port, host(pod, leaf, port)))
        for spine in range(SPINES):
            lines.append("  - { a: \"leaf-%d-%d:eth%d\", b: \"spine-%d-%d:eth%d\", speed: 400G }" % (pod, leaf, HOSTS + 1 + spine, pod, spine, leaf + 1))
    lines.append("jobs:\n  - { name: train, gpus: %d, hosts: \"node-*\" }" % (PODS * LEAVES * HOSTS))
    return "\n".join(lines) + "\n"


class Storm:
    def __init__(self, build, directory):
        self.dir, self.children = directory, []
        self.binary = os.path.join(os.path.realpath(build), "rocewatch")
        self.config = os.path.join(directory, "rocewatch.yaml")
        udp = random.randrange(20000, 50000)
        for name, text in (("community", "public\n"), ("rocewatch.yaml", configuration(directory, udp))):
            with open(os.path.join(directory, name), "w") as f:
                f.write(text)
            os.chmod(os.path.join(directory, name), 0o600)
        self.switches = self.start([os.path.join(build, "tests", "soak", "switches"), str(SWITCHES), str(PORTS), str(udp)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, bufsize=1)
        check(self.switches.stdout.readline() == "serving\n", "the switches do not serve")
        for i, _, _ in spines():
            self.tell("ports %d %d" % (i, LEAVES))
        with open(os.path.join(directory, "agent.log"), "w") as out:
            self.agent = self.start([self.binary, "-c", self.config, "agent"], stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def start(self, argv, **more):
        p = subprocess.Popen(argv, **more)
        self.children.append(p)
        return p

    def tell(self, line):
        self.switches.stdin.write(line + "\n")

    def polls(self):
        """How many polls each switch has answered."""
        self.tell("counts")
        return [int(n) for n in self.switches.stdout.readline().split()]

    def said(self):
        with open(os.path.join(self.dir, "agent.log")) as f:
            return f.read()

    def rocewatch(self, *argv):
        check(self.agent.poll() is None, "the agent ended with %s:\n%s" % (self.agent.returncode, self.said()[-2000:]))
        return subprocess.run([self.binary, "-c", self.config, *argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)

    def document(self, *argv):
        return json.loads(self.rocewatch(*argv, "--format", "json").stdout)

    def memory_mb(self):
        with open("/proc/%d/status" % self.agent.pid) as f:
            return [int(line.split()[1]) for line in f if line.startswith("VmHWM")][0] / 1024

    def cpu_s(self):
        with open("/proc/%d/stat" % self.agent.pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        for p in self.children:
            if p.poll() is None:
                p.kill()
            p.wait()


def wanted():
    """The hosts that must have an incident, each one; no other may."""
    return {host(pod, leaf, port) for pod in range(TREES, PODS) for leaf in range(LEAVES) for port in range(1, HOSTS + 1)} | {
        host(pod, *hung(pod)) for pod in range(TREES)}


def answer(storm):
    """What `status` says while it storms; all that it says must be true at any time."""
    d = storm.document("status")
    check(d["agent"]["state"] == "running" and not d["agent"]["stale"], "status says of the agent: %s" % d["agent"])
    quality = d["data_quality"]
    check((quality["up"], quality["down"], quality["unknown"]) == (SWITCHES, 0, 0), "status: %(up)d up, %(down)d down, %(unknown)d unknown" % quality)
    check((quality["timeouts"], quality["errors"]) == (0, 0), "status: %(timeouts)d timeouts, %(errors)d errors" % quality)
    return d["open_incidents"]


def judge(storm):
    wait_for("two polls of every switch", lambda: min(storm.polls()) >= 2, 60)
    wait_for("the agent has read every switch", lambda: storm.document("status")["data_quality"]["unknown"] == 0, 60)
    answers, hosts = 0, wanted()
    for line in pauses():
        storm.tell(line)
    before, limit = storm.polls(), Limit(60)
    while answer(storm) < len(hosts):
        answers += 1
        check(not limit.over(), "%d incidents, not after %s" % (len(hosts), limit))
        time.sleep(0.5)
    opened = storm.polls()
    wait_for("two more polls of every switch", lambda: all(n >= then + 2 for n, then in zip(storm.polls(), opened)), 60)
    answer(storm)
    least = min(n - then for n, then in zip(storm.polls(), before))

    told = {}
    for i in storm.document("incident", "list")["incidents"]:
        told.setdefault(i["subject"]["host"], []).append(i)
    others = [(i["cause"], i["subject"]["device"], i["subject"]["port"], name) for name, those in told.items() for i in those if name not in hosts]
    check(not others, "%d incidents at those who wait, such as %s" % (len(others), others[:3]))
    check(set(told) == hosts, "%d hosts have no incident, such as %s" % (len(hosts - set(told)), sorted(hosts - set(told))[:3]))
    several = [name for name, those in told.items() if len(those) > 1]
    check(not several, "%d hosts have more than one incident, such as %s" % (len(several), several[:3]))
    causes = {i["cause"] for those in told.values() for i in those}
    check(causes <= {"pfc_storm", "slow_receiver"}, "causes: %s" % causes)
    blamed = [line for line in storm.said().splitlines() if re.search("where=(leaf|spine)-", line) and "starting -> up" not in line]
    check(not blamed, "%d lines of the log blame switches: %s" % (len(blamed), blamed[:2]))
    memory_mb = storm.memory_mb()
    check(memory_mb < MEMORY_MB or sanitized(storm.binary), "%.0f MB of memory" % memory_mb)
    return "%d incidents of %d switches, %d times `status` meanwhile, at least %d polls of each switch, %.0f MB, %.1f s of CPU" % (
        len(hosts), SWITCHES, answers, least, memory_mb, storm.cpu_s())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build")
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda n, frame: sys.exit(128 + n))
    directory = tempfile.mkdtemp(prefix="storm-")
    storm = None
    began = time.monotonic()
    try:
        storm = Storm(args.build, directory)
        said = judge(storm)
        print("passed in %.0f s: %s" % (time.monotonic() - began, said))
        storm.agent.send_signal(signal.SIGTERM)
        check(storm.agent.wait(HANG_S) == 0, "the agent ended with %s:\n%s" % (storm.agent.returncode, storm.said()[-2000:]))
    except (Failed, subprocess.TimeoutExpired) as why:
        print("BROKEN  %s" % why)
        return 1
    finally:
        if storm:
            storm.end()
        if args.keep:
            print("kept: %s" % directory)
        else:
            shutil.rmtree(directory, ignore_errors=True)
    return 0


sys.exit(main())
