"""A live lab and an agent on it as Python objects, for the live tests. Debian's python3, standard library only. Everything is started as a
child and ended by its own id, whatever happens."""
import csv, datetime, io, json, os, re, shutil, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from patience import HANG_S, SPARE, Limit, stretched  # noqa: E402
from shipped import shipped  # noqa: E402

SKIP = 77


class Failed(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failed(message)


def wait_for(what, condition, deadline_s, every_s=0.2):
    limit = Limit(deadline_s)
    while True:
        value = condition()
        if value:
            return value
        if limit.over():
            raise Failed("%s: not after %s" % (what, limit))
        time.sleep(every_s)


def late_s():
    """For how long a process may wait for the processor now: a second, or the seconds by which this machine is overloaded."""
    return stretched(1) / SPARE


def sanitizer(binary):
    """The run-time library of AddressSanitizer, which must be loaded first; "" in a build without it."""
    libraries = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout.split()
    found = [word for word in libraries if word.startswith("/") and "libasan" in word]
    return found[0] + " " if found else ""


def sanitized(binary):
    """Is AddressSanitizer in it, linked in or as a library? It keeps freed memory back."""
    with open(binary, "rb") as f:
        return b"__asan_init" in f.read()


def snmpds(directory):
    """Those that run in @directory: a lab's snmpds have it as their working directory."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/comm" % pid) as f:
                if f.read().strip() == "snmpd" and os.readlink("/proc/%s/cwd" % pid) == os.path.realpath(directory):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def parse_time(text):
    m = re.fullmatch(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", text)
    check(m, "not a time: %r" % text)
    return int(datetime.datetime.fromisoformat("%s %s+00:00" % (m[1], m[2])).timestamp()) * 10**9 + int((m[3] or "0").ljust(9, "0"))


class Live:
    def __init__(self, build, directory, scenario, face=None, at="20s", seed=1, checked=False):
        """@checked: the fabric, too, is served by the program of @build, with its sanitizers."""
        self.binary = os.path.join(os.path.realpath(build), "rocewatch")
        self.shipped = shipped(build)  # answers the test's questions; @binary is what is tested
        self.server = self.binary if checked else self.shipped
        self.dir, self.scenario, self.face, self.at, self.seed = directory, scenario, face, at, seed
        self.config = os.path.join(directory, "rocewatch.yaml")
        self.lab_process = self.agent_process = None

    def argv(self):
        return [self.server, "lab", "run", self.scenario, "--dir", self.dir, "--at", self.at, "--seed", str(self.seed), *(["--face", self.face] if self.face else [])]

    def start(self):
        os.makedirs(self.dir, exist_ok=True)
        with open(self.dir + ".lab.log", "w") as out:
            self.lab_process = subprocess.Popen(self.argv(), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)

    def served(self):
        def serving():
            check(self.lab_process.poll() is None, "%s ended with %s: %s" % (self.scenario, self.lab_process.returncode, self.said()))
            return "serving" in self.said()
        wait_for("%s is served" % self.scenario, serving, 90)

    def unhurried(self):
        """Polls each three seconds: enough where it is not asked how soon something is seen, and a third of the work."""
        with open(self.config) as f:
            text = f.read()
        slower = re.sub(r"defaults: { interval: \w+,", "defaults: { interval: 3s,", text)
        check(slower != text, "the lab's configuration names no interval")
        with open(self.config, "w") as f:
            f.write(slower)

    def said(self):
        with open(self.dir + ".lab.log") as f:
            return f.read()

    def refused(self):
        p = subprocess.run(self.argv(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)
        check(p.returncode == 1, "exit %d, expected 1" % p.returncode)
        return p.stderr

    def agent(self):
        with open(self.dir + ".agent.log", "w") as out:
            self.agent_process = subprocess.Popen([self.binary, "-c", self.config, "agent"], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        wait_for("%s: the agent's store" % self.scenario, lambda: os.path.exists(os.path.join(self.dir, "rocewatch.db")), 30)

    @staticmethod
    def stop(labs, agents_only=False):
        """All are told first, then each is waited for. Two cores do not serve and watch what has been looked at."""
        processes = [p for lab in labs for p in (lab.agent_process, None if agents_only else lab.lab_process) if p is not None and p.poll() is None]
        for p in processes:
            p.terminate()
        for p in processes:
            try:
                p.wait(15)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()

    def run(self, argv, code):
        p = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)
        check(p.returncode == code, "%s: exit %d, expected %d: %s" % (" ".join(argv[1:]), p.returncode, code, p.stderr[:500]))
        return p.stdout

    def lab(self, *args, code=0):
        return self.run([self.shipped, "lab", *args, "--dir", self.dir], code)

    def rocewatch(self, *args, code=0):
        return self.run([self.shipped, "-c", self.config, *args], code)

    def discover(self):
        """What `topology discover` says. It polls each switch once; on a busy machine that takes longer than the lab allows, so it gets a
        configuration of its own with time enough."""
        config = os.path.join(self.dir, "discover.yaml")
        with open(self.config) as f:
            text = f.read()
        with open(config, "w") as f:
            f.write(re.sub(r"(deadline|defaults: { interval): \w+,", r"\1: 30s,", text))
        return self.run([self.binary, "-c", config, "topology", "discover"], 0)

    def sql(self, statement):
        return list(csv.DictReader(io.StringIO(self.rocewatch("query", "sql", statement, "--format", "csv"))))

    def truth(self):
        with open(os.path.join(self.dir, "truth.json")) as f:
            return json.load(f)

    def incidents(self):
        return json.loads(self.rocewatch("incident", "list", "--format", "json"))["incidents"]

    # --- what the agent has stored ---

    def newest(self, which="max"):
        rows = self.sql("SELECT %s(time) t FROM samples WHERE metric = 'port.in_octets'" % which)
        return parse_time(rows[0]["t"]) if rows and rows[0]["t"] else 0

    def oldest(self):
        return self.newest("min")

    def polls_since(self, t_ns, until_ns=2**63):
        """How often the device that was asked least often was asked since."""
        polls = {}
        for row in self.sql("SELECT DISTINCT device, time FROM samples WHERE metric = 'port.in_octets'"):
            if t_ns < parse_time(row["time"]) <= until_ns:
                polls[row["device"]] = polls.get(row["device"], 0) + 1
        return min(polls.values(), default=0) if len(polls) == self.devices() else 0

    def gaps(self, t_ns, until_ns, longer_s):
        """How many times the device that was asked least regularly was not asked for so long: each of its windows of that time is judged later."""
        times = {}
        for row in self.sql("SELECT DISTINCT device, time FROM samples WHERE metric = 'port.in_octets' ORDER BY time"):
            times.setdefault(row["device"], []).append(parse_time(row["time"]))
        return max((sum(b - a > longer_s * 1e9 for a, b in zip(seen, seen[1:]) if t_ns < b and a <= until_ns) for seen in times.values()), default=0)

    def devices(self):
        with open(self.config) as f:
            return len(re.findall(r"credentials: lab \}", f.read()))

    def latest(self, metric=None):
        """{(device, port, priority, metric): value} of the newest sample of each, or of each of @metric, that is a number."""
        ret = {}
        of = "WHERE metric = '%s'" % metric if metric else ""
        for row in self.sql("SELECT device, port, priority, metric, value, max(time) FROM samples %s GROUP BY device, port, priority, metric" % of):
            if re.fullmatch(r"-?[0-9][0-9.e+-]*", row["value"]):
                value = float(row["value"]) if "." in row["value"] or "e" in row["value"] else int(row["value"])
                ret[row["device"], row["port"], row["priority"], row["metric"]] = int(value) if value == int(value) else value
        return ret


def main(test, snmpd=True):
    if len(sys.argv) < 2:
        print("usage: %s BUILD_DIRECTORY" % sys.argv[0], file=sys.stderr)
        sys.exit(2)
    if snmpd and not any(os.access(os.path.join(d, "snmpd"), os.X_OK) for d in ("/usr/sbin", "/usr/local/sbin")):
        print("snmpd is not installed: not run")
        sys.exit(SKIP)
    signal.signal(signal.SIGTERM, lambda n, frame: sys.exit(128 + n))  # ctest's timeout: children end too
    began, work = time.monotonic(), tempfile.mkdtemp(prefix="live-")
    try:
        said = test(sys.argv[1], work)
    except (Failed, subprocess.TimeoutExpired) as e:
        print("FAILED: %s (logs in %s)" % (e, work), file=sys.stderr)
        sys.exit(1)
    shutil.rmtree(work)
    print("passed in %.0f s: %s" % (time.monotonic() - began, said))
