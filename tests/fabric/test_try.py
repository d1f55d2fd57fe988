#!/usr/bin/env python3
"""test_try.py BUILD - `rocewatch try` and `config init` on live labs, by SNMP and by gNMI, with nothing but addresses and a community or a password: the origin of the storm and its
host are named, what the switches do not tell stands beside it, no file stays, whoever does not answer is named; as somebody without rights,
where this test may choose who it is. The ten lines have the lab's names, roles and links."""
import glob, os, re, shutil, signal, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from live_lab import Live, check, main, wait_for
from patience import HANG_S  # noqa: E402

NOBODY = 65534
PLACES = ("/dev/shm/rocewatch-try-*", "/tmp/rocewatch-try-*")


def left():
    return {path for place in PLACES for path in glob.glob(place)}


class Newcomer:
    """Has addresses, a community in a file, and an empty directory."""

    def __init__(self, lab, folder):
        self.binary, self.folder, self.before = lab.binary, folder, left()
        with open(lab.config) as f:
            text = f.read()
        self.hosts = re.findall(r'snmp: \{ address: "([^"]+)"', text)
        self.roles = dict(re.findall(r"name: ([\w-]+), role: (\w+), snmp", text))
        self.community = os.path.join(folder, "community")
        shutil.copy(os.path.join(lab.dir, "community"), self.community)
        os.chmod(folder, 0o755)
        os.chmod(self.community, 0o644)

    def start(self, *words):
        who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 and self.reachable() else {}
        return subprocess.Popen([self.binary, *words], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, **who)

    def reachable(self):
        """May somebody without rights run the program where it was built?"""
        path = self.binary
        while path != "/":
            if not os.stat(path).st_mode & 1:
                return False
            path = os.path.dirname(path)
        return True

    def run(self, *words, code=0):
        process = self.start(*words)
        out, err = process.communicate(timeout=2 * HANG_S)
        check(process.returncode == code, "%s: exit %d, expected %d: %s%s" % (" ".join(words), process.returncode, code, out[-500:], err[-500:]))
        self.nothing_stays(" ".join(words[:1]))
        return out, err

    def nothing_stays(self, what):
        check(left() == self.before, "%s leaves %s" % (what, left() - self.before))
        check(os.listdir(self.folder) == ["community"], "%s writes into its directory: %s" % (what, os.listdir(self.folder)))


def tries(newcomer):
    silent = newcomer.hosts[0].rsplit(":", 1)[0].rsplit(".", 1)[0] + ".77:1161"
    out, _ = newcomer.run("try", *newcomer.hosts, silent, "--community-file", newcomer.community)
    check("answered %d of %d" % (len(newcomer.hosts), len(newcomer.hosts) + 1) in out, "who answered: %s" % out)
    check(silent.split(":")[0] in out, "the silent one is not named: %s" % out)
    first = re.search(r"^OPEN +(\w+) (\w+): (.*)$", out, re.M)
    check(first and first[2] == "pfc_storm" and "node-010" in first[3], "not the host of the storm: %s" % out)
    check(re.search(r"^VERDICT +(?:CRITICAL|WARNING) ", out, re.M), "no verdict: %s" % out)
    check(re.search(r"^  blind: +.*no ", out, re.M), "not what is blind, and why: %s" % out)


def stops(newcomer):
    """Ctrl-C: the directory goes, too, as soon as there is one."""
    process = newcomer.start("try", *newcomer.hosts, "--community-file", newcomer.community, "--for", "1h")
    wait_for("a trial's directory", lambda: any(os.path.exists(os.path.join(d, "rocewatch.db")) for d in left() - newcomer.before), 60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=HANG_S)
    check(process.returncode == 0 and "VERDICT" in out, "stopped early: exit %d: %s%s" % (process.returncode, out, err))
    newcomer.nothing_stays("a trial that was stopped")


def refusals(newcomer):
    silent = newcomer.hosts[0].rsplit(":", 1)[0].rsplit(".", 1)[0] + ".77:1161"
    _, err = newcomer.run("try", silent, "--community-file", newcomer.community, code=1)
    check("no switch answered" in err, "a silent switch: %s" % err)
    _, err = newcomer.run("try", 'x" } }', "--community-file", newcomer.community, code=2)
    check("is not an address" in err, "no address: %s" % err)
    _, err = newcomer.run("try", newcomer.hosts[0], code=2)
    check("--community-file" in err, "no community: %s" % err)


def init(newcomer):
    out, _ = newcomer.run("config", "init", *newcomer.hosts, "--community-file", newcomer.community)
    found = dict(re.findall(r"name: ([\w-]+), role: (\w+), snmp", out))
    check(found == newcomer.roles, "names and roles: %s, the lab's are %s" % (found, newcomer.roles))
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(out)
        f.flush()
        done = subprocess.run([newcomer.binary, "config", "check", f.name], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)
        check(done.returncode == 0, "config check: %s%s" % (done.stdout, done.stderr))
    lines = [line for line in out.splitlines() if not line.startswith(("#", "  - {"))]
    check(len(lines) <= 10, "more than ten lines beside the switches: %s" % out)


class GnmiLive(Live):
    def argv(self):
        return [*super().argv(), "--tls"]


def streams(build, directory, folder):
    """The same by gNMI alone, over TLS: nothing but addresses, a user, its password and the authority."""
    lab = GnmiLive(build, os.path.join(directory, "gnmi"), "pfc-storm", face="sonic-gnmi", at="5s")
    try:
        lab.start()
        lab.served()
        with open(lab.config) as f:
            text = f.read()
        roles = dict(re.findall(r"name: ([\w-]+), role: (\w+), gnmi", text))
        hosts = ["gnmi:" + address for address in re.findall(r'gnmi: \{ address: "([^"]+)"', text)]
        login = ["--gnmi-user", "lab", "--gnmi-password-file", os.path.join(lab.dir, "password"), "--gnmi-ca", os.path.join(lab.dir, "ca.pem")]
        before = left()

        def run(*words, code=0):
            done = subprocess.run([lab.binary, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=2 * HANG_S)
            check(done.returncode == code, "%s: exit %d, expected %d: %s%s" % (words[0], done.returncode, code, done.stdout[-500:], done.stderr[-500:]))
            check(left() == before, "%s by gNMI leaves %s" % (words[0], left() - before))
            return done.stdout + done.stderr

        first = re.search(r"^OPEN +(\w+) (\w+): (.*)$", run("try", *hosts, *login), re.M)
        check(first and first[2] == "pfc_storm" and "node-010" in first[3], "by gNMI: not the host of the storm: %s" % (first and first[0]))
        found = dict(re.findall(r"name: ([\w-]+), role: (\w+), gnmi", run("config", "init", *hosts, *login)))
        check(found == roles, "by gNMI: names and roles: %s, the lab's are %s" % (found, roles))
        check("no switch answered" in run("try", hosts[0], *login[:4], code=1), "a certificate of an unknown authority was taken")
        for words, says in ((login[:2], "--gnmi-password-file"), (login[2:], "--gnmi-user"), ([*login, "--gnmi-no-tls"], "contradict")):
            check(says in run("try", hosts[0], *words, code=2), "refusal: %s" % says)
    finally:
        Live.stop([lab])


def test(build, directory):
    lab = Live(build, os.path.join(directory, "lab"), "pfc-storm", face="nxos", at="5s")
    try:
        lab.start()
        lab.served()
        with tempfile.TemporaryDirectory() as folder:
            newcomer = Newcomer(lab, folder)
            tries(newcomer)
            stops(newcomer)
            refusals(newcomer)
            init(newcomer)
    finally:
        Live.stop([lab])
    with tempfile.TemporaryDirectory() as folder:
        streams(build, directory, folder)
    return "a storm was tried"


if __name__ == "__main__":
    main(test)
