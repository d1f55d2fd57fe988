#!/usr/bin/python3
"""test_live_loss.py BUILD - a link that drops packets, seen by two ERSPAN mirrors and by no counter: no switch answers. The incident names the link,
its side and the queue pairs; Debian's Alertmanager has it, and hears of its end when the link is well again. What is stored of losses is held against
what the generator dropped."""
import json, os, shutil, signal, socket, subprocess, sys, tempfile, time, urllib.request

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, ".."))
from lab import Failed, check, wait_for  # noqa: E402
from patience import HANG_S  # noqa: E402
from ports import free_port  # noqa: E402

SKIP = 77
NS = "rwloss-%d" % os.getpid()
DROP = 0.01
LINK = ("spine2:swp3", "leaf3:swp52")
CONFIG = """fabric: lab
user: root  # the lab is root's
store: {{ path: {dir}/rocewatch.db }}
credentials:
  lab: {{ snmp: {{ version: 2c, community_file: {dir}/community }} }}
devices: # nobody answers there
  - {{ name: leaf3, role: leaf, snmp: {{ address: "127.0.0.1:{silent}", credentials: lab }} }}
  - {{ name: spine2, role: spine, snmp: {{ address: "127.0.0.1:{silent}", credentials: lab }} }}
links:
  - {{ a: "spine2:swp3", b: "leaf3:swp52", speed: 100G }}
  - {{ a: "leaf3:swp1", b: "host:host5", speed: 100G }}
capture:
  - {{ name: near, interface: near, netns: {ns}, port: "spine2:swp3", interval: 1s }}
  - {{ name: far, interface: far, netns: {ns}, port: "leaf3:swp52", interval: 1s }}
analyzers: {{ packet_loss: {{ window: 10s }} }}
alerts:
  alertmanager: {{ url: "http://127.0.0.1:{port}", resend: 3s, retry: 1s }}
"""


class Place:
    def __init__(self, build, work):
        self.rocewatch, self.dir, self.children = os.path.join(build, "rocewatch"), work, []
        self.config, self.truth = os.path.join(work, "rocewatch.yaml"), os.path.join(work, "truth.json")
        self.port = free_port()

    def ip(self, *words):
        subprocess.run(["ip", *words], check=True, timeout=HANG_S)

    def namespaces(self):
        if os.geteuid() or subprocess.run(["ip", "netns", "add", NS], stderr=subprocess.DEVNULL).returncode:
            print("no network namespaces here: not run")
            sys.exit(SKIP)
        for name in ("near", "far"):
            self.ip("-n", NS, "link", "add", name + "-in", "type", "veth", "peer", "name", name)
            for end in (name + "-in", name):
                self.ip("-n", NS, "link", "set", end, "mtu", "9000", "up")

    def start(self, name, argv, **more):
        with open(os.path.join(self.dir, name + ".log"), "w") as out:
            p = subprocess.Popen(argv, stdout=out, stderr=out, **{"stdin": subprocess.DEVNULL, **more})
        self.children.append(p)
        return p

    def end(self):
        for p in self.children:
            if p.poll() is None:
                p.terminate()
        for p in self.children:
            try:
                p.wait(HANG_S)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        subprocess.run(["ip", "netns", "del", NS], stderr=subprocess.DEVNULL)

    def alertmanager(self):
        config = os.path.join(self.dir, "alertmanager.yaml")
        with open(config, "w") as f:
            f.write("route: { receiver: none }\nreceivers: [ { name: none } ]\n")
        self.start("alertmanager", ["prometheus-alertmanager", "--config.file", config, "--storage.path", os.path.join(self.dir, "am"), "--cluster.listen-address=",
                                    "--web.listen-address", "127.0.0.1:%d" % self.port])
        wait_for("Alertmanager serves", lambda: self.alerts() is not None, 60)

    def alerts(self):
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open("http://127.0.0.1:%d/api/v2/alerts" % self.port, timeout=HANG_S) as r:
                return json.load(r)
        except OSError:
            return None

    def json(self, *words, ok=(0,)):
        p = subprocess.run([self.rocewatch, "-c", self.config, *words, "--format", "json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)
        check(p.returncode in ok, "%s: exit %d: %s" % (" ".join(words), p.returncode, p.stderr[:500]))
        return json.loads(p.stdout)

    def incidents(self):
        return self.json("incident", "list", "--since", "1h")["incidents"]

    def stored(self, what, port):
        rows = self.json("query", "sql", "SELECT dst_qp, sum(%s) AS n FROM flows WHERE port = '%s' AND total = 0 GROUP BY 1" % (what, port))
        return {int(r["dst_qp"]): int(r["n"]) for r in rows.get("rows", rows) if r["n"]}

    def dropped(self):
        with open(self.truth) as f:
            return {int(qp): n for qp, n in json.load(f)["dropped"].items() if n}


def test(build, work):
    place = Place(build, work)
    place.namespaces()
    try:
        place.alertmanager()
        with open(place.config, "w") as f:
            f.write(CONFIG.format(dir=work, ns=NS, port=place.port, silent=free_port()))
        with open(os.path.join(work, "community"), "w") as f:
            f.write("nobody\n")
        os.chmod(os.path.join(work, "community"), 0o600)
        agent = place.start("agent", [place.rocewatch, "-c", place.config, "agent"])
        generator = place.start("generator", ["ip", "netns", "exec", NS, sys.executable, os.path.join(HERE, "loss_gen.py"), "near-in", "far-in", place.truth],
                                stdin=subprocess.PIPE)

        def tell(line):
            generator.stdin.write(line + b"\n")
            generator.stdin.flush()
        return story(place, agent, generator, tell)
    finally:
        place.end()


def story(place, agent, generator, tell):
    # 1. both mirrors see a link that is well: nothing is said
    wait_for("both mirrors are stored", lambda: os.path.exists(os.path.join(place.dir, "rocewatch.db")) and
             len(place.stored("packets", "swp3")) >= 12 and len(place.stored("packets", "swp52")) >= 8, 60, 1, agent)
    seen = sum(place.stored("packets", "swp52").values())
    wait_for("ten thousand packets more", lambda: sum(place.stored("packets", "swp52").values()) > seen + 10000, 90, 1, agent)
    check(not place.incidents(), "a healthy link: %s" % [(i["cause"], i["summary"]) for i in place.incidents()])
    check(not place.stored("lost_before + lost_beyond", "swp52"), "losses are stored of a link that lost nothing")

    # 2. it drops one packet in a hundred
    tell(b"drop %g" % DROP)
    one = wait_for("the incident", lambda: next((i for i in place.incidents() if i["opened"]), None), 90, 1, agent)
    full = place.json("incident", "show", one["id"])
    full = full.get("incident", full)
    check(full["cause"] == "packet_loss", "the cause is %s: %s" % (full["cause"], full["summary"]))
    check("between %s and %s" % LINK in full["summary"], "it is placed: %s" % full["summary"])
    check((full["subject"]["device"], full["subject"]["port"]) == ("leaf3", "swp52"), "its subject: %s" % full["subject"])
    qps = {f["dst_qp"] for f in full["subject"]["flows"]}
    check(qps == set(range(0x100, 0x108)), "the queue pairs: %s" % sorted(map(hex, qps)))
    check({(f["src"], f["dst"]) for f in full["subject"]["flows"]} == {("10.1.1.2", "10.1.5.2")}, "their hosts: %s" % full["subject"]["flows"])
    check("lost_before" in json.dumps(full), "the cause word and its side are missing")
    check(full["severity"] == "critical", "1 %% of the packets is %s" % full["severity"])

    # 3. Alertmanager has it, under its name and with its place
    def alerted():
        return next((a for a in place.alerts() or [] if a["labels"]["incident"] == one["id"]), None)
    alert = wait_for("Alertmanager has it", alerted, 60, 1, agent)
    check(alert["labels"].get("cause", alert["annotations"].get("cause")) == "packet_loss", "the alert: %s" % alert)
    check(all(end in json.dumps(alert) for end in LINK), "the alert does not name the link: %s" % alert)

    # 4. the link is well again: the losses that were told are those that were made, and the incident ends
    tell(b"drop 0")
    time_of = {i["id"]: i for i in place.incidents()}
    check(one["id"] in time_of, "the incident is gone")
    wait_for("it closes", lambda: next(i for i in place.incidents() if i["id"] == one["id"])["state"] == "closed", 150, 2, agent)
    made, told = place.dropped(), place.stored("max(missing, lost_before)", "swp52")
    # neighbours that are lost together, and what is lost again within one resend, are one event: fewer than were dropped, never more
    for where, events in (("far", told), ("near", place.stored("lost_beyond", "swp3"))):
        check(set(events) == set(made) and all(events[qp] <= made[qp] for qp in made) and sum(events.values()) >= 0.95 * sum(made.values()),
              "dropped %s, told at the %s end %s" % (made, where, events))
    wrong = [place.stored("lost_beyond", "swp52"), place.stored("lost_before", "swp3")]
    check(sum(sum(w.values()) for w in wrong) <= 0.02 * sum(made.values()), "told on the wrong side: %s" % wrong)
    wait_for("Alertmanager hears of the end", lambda: not alerted(), 90, 2, agent)
    generator.stdin.close()
    check(generator.wait(HANG_S) == 0, "the generator failed")
    agent.send_signal(signal.SIGTERM)
    check(agent.wait(HANG_S) == 0, "the agent did not end well")
    print("%d of %d losses told on both sides; %s" % (sum(told.values()), sum(made.values()), full["summary"]))


def main(build):
    if not shutil.which("prometheus-alertmanager"):
        print("prometheus-alertmanager is not installed: not run")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="rwloss.") as work:
        try:
            test(build, work)
        except Failed as e:
            for name in ("agent", "generator"):
                path = os.path.join(work, name + ".log")
                if os.path.exists(path):
                    with open(path) as f:
                        print(f.read()[-3000:])
            print("FAILED: %s" % e)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
