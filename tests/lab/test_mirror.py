#!/usr/bin/python3
"""The agent reads what switches mirror: the flows that collide on one uplink are named in the incident and land in history, whether the
uplinks come by ERSPAN and VXLAN or by sFlow.

Nothing is captured at the uplinks themselves: tests/lab/mirror_gen.c copies what leaves them, as a switch's mirror session does.
"""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lab import UPLINKS, check, main, wait_for  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

LEAF, HOT = "leaf2", "swp51"
HOSTS = ("host3", "host4")
CAUSES = {"ecmp_low_entropy", "unlucky_placement", "ecmp_imbalance"}
SPORTS = 2  # per host


def wire(lab, name):
    """A pair of interfaces in the leaf's namespace: what the mirror sends into one end arrives at the other, "name"."""
    for line in ("link add %s-in type veth peer name %s" % (name, name), "link set %s-in mtu 9600 up" % name, "link set %s mtu 9600 up" % name):
        check(lab.popen(LEAF, ["ip", *line.split()]).wait(HANG_S) == 0, "ip " + line)


def mirror(lab, *argv):
    return lab.popen(LEAF, [lab.build / "tests/lab/mirror_gen", *argv])


def imbalance(lab, config):
    found = [i for i in lab.json(config, "incident", "list", "--since", "10m")["incidents"] if i["cause"] in CAUSES]
    return [i for i in found if i["subject"]["flows"]]


def named(lab, incident, sports):
    """The injected 5-tuples that the incident names."""
    addresses = {lab.address(h) for h in HOSTS}
    return {(f["src"], f["src_port"]) for f in incident["subject"]["flows"]
            if f["src"] in addresses and f["src_port"] in sports and f["port"] == HOT}


def stored(lab, config, sports):
    rows = lab.sql(config, "SELECT src, src_port, sum(packets) AS n FROM flows WHERE device='%s' AND port='%s' AND total=0 GROUP BY src, src_port" % (LEAF, HOT))
    return {(r["src"], int(r["src_port"])): int(r["n"]) for r in rows if r["src_port"] and int(r["src_port"]) in sports}


def judge(lab, name, captures, mirrors):
    config = lab.config(name=name, captures=captures)
    lab.run(config, "config", "check")
    agent = lab.agent(config)
    wait_for("the switches", lambda: (lab.dir / "rocewatch.db").exists() and lab.all_up(config), 30, 0.3, agent)
    copies = [mirror(lab, *argv) for argv in mirrors]
    ports = {h: [int(p) for p in lab.ports_to(LEAF, h, HOT, SPORTS)] for h in HOSTS}
    sports = {p for v in ports.values() for p in v}
    senders = [lab.send(h, "--qps", "8", "--sport-list", ",".join(map(str, ports[h]))) for h in HOSTS]
    want = {(lab.address(h), p) for h in HOSTS for p in ports[h]}
    incident = wait_for("the incident with its flows", lambda: next(iter(imbalance(lab, config)), None), 60, 1, agent)
    check(incident["subject"]["device"] == LEAF and incident["subject"].get("member") == HOT, "the incident is about %s" % json.dumps(incident["subject"])[:500])
    check(len(named(lab, incident, sports)) >= 2, "of the colliding flows %s only these are named: %s" % (want, json.dumps(incident["subject"]["flows"])))
    wait_for("all of them in history", lambda: set(stored(lab, config, sports)) >= want, 30, 0.5, agent)
    doctor = lab.json(config, "doctor", ok=(0, 1))
    for p in senders + copies:
        lab.end(p)
    check(lab.end(agent) == 0, "the agent did not end well")
    print("%s: %s, %d of %d colliding flows named, %d in history" % (
        name, incident["cause"], len(named(lab, incident, sports)), len(want), len(stored(lab, config, sports))))
    (lab.dir / "rocewatch.db").unlink()
    return doctor


def rights_are_dropped(lab):
    """`pcap -i` gives up what opening needed, and says what is missing where it may not open."""
    p = lab.popen(LEAF, [lab.rocewatch, "pcap", "-i", "er51", "--for", "60s"], stdout=subprocess.DEVNULL)
    status = "/proc/%d/status" % p.pid

    def effective():
        with open(status) as f:
            return {line.split(":")[0]: line.split()[1] for line in f if line.startswith(("Cap", "NoNewPrivs"))}
    seen = wait_for("the rights to be dropped", lambda: effective() if int(effective()["CapEff"], 16) == 0 else None, 20, 0.1, p)
    check(int(seen["CapPrm"], 16) == 0 and seen["NoNewPrivs"] == "1", "rights of the capture: %s" % seen)
    lab.end(p)
    nobody = lab.popen(LEAF, ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", lab.rocewatch, "pcap", "-i", "er51", "--for", "1s"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    _, said = nobody.communicate(timeout=HANG_S)
    check(nobody.returncode == 1 and "CAP_NET_RAW" in said, "without rights: exit %s, %r" % (nobody.returncode, said))


def test(lab):
    netns = "%s-%s" % (lab.prefix, LEAF)
    wire(lab, "er51")
    wire(lab, "vx52")
    rights_are_dropped(lab)
    lab.sinks()
    wrapped = ['  - { name: %s, interface: %s, netns: %s, port: "%s:%s", mirrored: out, snaplen: 192B, interval: 1s }' % (i, i, netns, LEAF, port)
               for i, port in (("er51", "swp51"), ("vx52", "swp52"))]
    doctor = judge(lab, "wrapped.yaml", wrapped, [("erspan2", "swp51", "er51-in"), ("vxlan", "swp52", "vx52-in")])
    row = next(c for c in doctor["captures"] if c["name"] == "er51")
    check(row["roce_packets"] > 0 and row["tunneled_packets"] == row["roce_packets"], "doctor says of the mirror: %s" % row)
    sampled = ['  - { name: samples, listen: "10.255.0.1:6343", interval: 1s }']
    judge(lab, "sampled.yaml", sampled, [("sflow", port, "10.255.0.1:6343", "4") for port in UPLINKS])


main(test, "mirror")
