#!/usr/bin/python3
"""LLDP discovery: `topology discover` and `links: discover` give the lab's links, no more and no less; the groups follow; a fault is found
as with declared links; a link that goes down changes no group; a restart knows the links at once; a cable moved is followed."""
import os
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lab import HOSTS, LEAVES, SWITCHES, UPLINKS, check, main, wait_for  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

WINDOW_S, HOLD = 2, 2
CAUSES = {"ecmp_low_entropy", "unlucky_placement", "ecmp_imbalance"}


def wires(lab):
    """{(device, port, peer, port)}: what fabric.sh really plugged between switches; the hosts do not speak LLDP."""
    rows = [line.split() for line in (lab.dir / "wires").read_text().splitlines()]
    return {tuple(r) for r in rows if not r[2].startswith("host")}


def yaml_links(text):
    """The links of a configuration, read by nothing of rocewatch's own."""
    found = re.findall(r'a: "([^":]+):([^"]+)"[,\s]+b: "([^":]+):([^"]+)"', re.sub(r"(?m)^\s*#.*$", "", text))
    return {tuple(f) if f[0].startswith("leaf") else (f[2], f[3], f[0], f[1]) for f in found}


def shown(lab, config):
    doc = lab.json(config, "topology", "show")
    return doc, {(x["device"], x["port"], x["peer"], x["peer_port"]) for x in doc["links"]}


def groups(lab, config):
    """{leaf: members of its uplinks}, as the reading commands see the fabric in force."""
    doc, _ = shown(lab, config)
    return {d["name"]: g["members"] for d in doc["devices"] for g in d["groups"] if g["id"] == "uplinks"}


def in_namespace(lab, config, *args, ok=(0,)):
    """A command that polls: it has to run where the switches can be reached."""
    r = subprocess.run(["ip", "netns", "exec", lab.prefix + "-noc", lab.rocewatch, "-c", config, *args], stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=HANG_S)
    check(r.returncode in ok, "rocewatch %s: exit %d\n%s%s" % (" ".join(map(str, args)), r.returncode, r.stdout, r.stderr))
    return r


def ip(lab, node, *args):
    subprocess.run(["ip", "-n", "%s-%s" % (lab.prefix, node), *args], check=True, stdin=subprocess.DEVNULL)


def findings(lab, config, ok=(0, 1)):
    return lab.json(config, "topology", "check", ok=ok)["findings"]


def by_command(lab, config, truth):
    """`topology discover`: exactly the truth, accepted by `config check`; silent devices are named, nobody at all is a failure."""
    found = in_namespace(lab, config, "topology", "discover")
    check(yaml_links(found.stdout) == truth, "topology discover printed\n%s" % found.stdout)
    check(found.stderr == "", "and said %s" % found.stderr)
    out = lab.dir / "found.yaml"
    in_namespace(lab, config, "topology", "discover", "--out", out)
    said = lab.run(out, "config", "check")
    check("8 links" in said and "4 ECMP groups" in said, "config check of what was found: %s" % said)
    check(all("role: %s" % s.rstrip("0123456789") in out.read_text() for s in SWITCHES), "roles were lost")

    some = lab.dir / "some.yaml"
    some.write_text(config.read_text().replace(lab.address("spine2"), "10.255.0.250").replace("timeout: 500ms", "timeout: 100ms"))
    r = in_namespace(lab, some, "topology", "discover")
    check("spine2: " in r.stderr and "10.255.0.250" in r.stderr, "the silent device is not named: %r" % r.stderr)
    check({(a, b, c) for a, b, c, d in yaml_links(r.stdout)} == {(a, b, c) for a, b, c, d in truth}, "its neighbours know its links:\n%s" % r.stdout)
    lab.run(some, "config", "check")
    none = lab.dir / "none.yaml"
    none.write_text(re.sub(r"address: [\d.]+", "address: 10.255.0.250", config.read_text()).replace("timeout: 500ms", "timeout: 100ms"))
    r = in_namespace(lab, none, "topology", "discover", "--deadline", "10s", ok=(1,))
    check("no device answered" in r.stderr and r.stdout == "", "nobody there: %r %r" % (r.stdout, r.stderr))


def low_entropy(lab, config, agent):
    """One leaf's hosts with few source ports: found as it is with declared links."""
    leaf, uplink, hosts = "leaf2", "swp51", ["host3", "host4"]
    lab.sinks()
    senders = [lab.send_healthy(h) for h in HOSTS if h not in hosts]
    for h in hosts:
        senders.append(lab.send(h, "--qps", "8", "--sport-list", ",".join(lab.ports_to(leaf, h, uplink, 2))))

    def seen():
        return [i for i in lab.json(config, "incident", "list", "--since", "5m")["incidents"] if i["cause"] in CAUSES and i["subject"]["device"] == leaf]
    found = wait_for("an imbalance incident of " + leaf, seen, 60, 1, agent)
    check(found[0]["subject"]["group"] == "uplinks" and found[0]["subject"]["member"] == uplink, "it names %s" % found[0]["subject"])
    for p in senders:
        lab.end(p)


def test(lab):
    truth = wires(lab)
    check(len(truth) == 8, "the lab has %d links between switches" % len(truth))
    config = lab.config(window="%ds" % WINDOW_S, hold=HOLD, switches=SWITCHES)
    declared = config.read_text()
    discover = re.sub(r"(?m)^links:\n(  - .*\n)+", "links: discover\n", declared).replace("timeout: 500ms }", "timeout: 500ms, slow_interval: 3s }")
    check("links: discover" in discover and "slow_interval" in discover, "the configuration was not made:\n" + discover)
    config.write_text(discover)
    lab.run(config, "config", "check")
    by_command(lab, config, truth)

    # The agent begins without links and ends with all of them; the reading commands follow though the file names none.
    agent = lab.agent(config)
    wait_for("the links in the graph", lambda: (lab.dir / "rocewatch.db").exists() and lab.all_up(config) and shown(lab, config)[1] == truth, 40, 0.5, agent)
    doc, _ = shown(lab, config)
    check(all(x["source"] == "discovered" and x["state"] == "up" and x["speed_bps"] == 100000000 for x in doc["links"]), "topology show: %s" % doc["links"])
    want = {leaf: sorted(UPLINKS) for leaf in LEAVES}
    check(groups(lab, config) == want, "groups %s" % groups(lab, config))
    stored = lab.sql(config, "SELECT device, port, peer_device, peer_port FROM links WHERE device LIKE 'leaf%' AND peer_device LIKE 'spine%'")
    check({tuple(r.values()) for r in stored} == truth, "the view links: %s" % stored)
    kinds = {f["kind"] for f in findings(lab, config)}
    check(not kinds, "topology check of a fabric as it should be: %s" % findings(lab, config))
    polls = lab.targets(config)
    low_entropy(lab, config, agent)
    after = lab.targets(config)
    # On a busy machine a switch may be late for once: the log tells. Nothing else begins a session anew.
    late = set(re.findall(r'where=(\w+) msg="snmp: up -> backoff', (lab.dir / "agent.log").read_text()))
    anew = [d for d in SWITCHES if after[d]["since"] != polls[d]["since"] and d not in late]
    check(not anew, "sessions were started anew: %s" % ", ".join(anew))

    # A link that is down, long enough for both ends to forget the neighbour, changes no group and loses no link.
    # lldpd drops the neighbour with the carrier, so its end is known to have heard of it when the MIB has no row.
    ip(lab, "leaf3", "link", "set", "swp52", "down")
    wait_for("the link down in topology show", lambda: [x for x in shown(lab, config)[0]["links"] if (x["device"], x["port"], x["state"]) == ("leaf3", "swp52", "down")],
             40, 0.5, agent)
    wait_for("two more slow polls", lambda n=time.time_ns(): all(sum(t > n for t in v) >= 8 for v in lab.polls(config, "2m").values()), 40, 0.5, agent)
    check(groups(lab, config) == want, "groups with a link down: %s" % groups(lab, config))
    check(shown(lab, config)[1] == truth, "links with a link down: %s" % sorted(truth - shown(lab, config)[1]))
    down = [f for f in findings(lab, config, ok=(1,)) if f["kind"] == "link_down"]
    check([(f["device"], f["port"], f["peer"]) for f in down] == [("leaf3", "swp52", "spine2:swp3")] and down[0]["remedy"], "topology check: %s" % down)

    # A restarted agent knows the links, also the one that nobody hears now.
    check(lab.end(agent) == 0, "the agent did not end well")
    check(shown(lab, config)[1] == truth, "without an agent the graph is another")
    agent = lab.agent(config)
    wait_for("six switches up again", lambda: lab.all_up(config), 30, 0.2, agent)
    check(groups(lab, config) == want, "groups after a restart: %s" % groups(lab, config))
    ip(lab, "leaf3", "link", "set", "swp52", "up")

    # A cable moved: followed once both ends say so, and only that group has another member's peer.
    ip(lab, "spine1", "link", "set", "swp4", "netns", lab.prefix + "-spine2", "name", "swp9")
    ip(lab, "spine2", "link", "set", "swp9", "up")
    now = truth - {("leaf4", "swp51", "spine1", "swp4")} | {("leaf4", "swp51", "spine2", "swp9")}
    wait_for("the moved cable in the graph", lambda: shown(lab, config)[1] == now, 60, 0.5, agent)
    check(groups(lab, config) == want, "groups after a cable was moved: %s" % groups(lab, config))

    # Declared links that are not true are told, not followed.
    wrong = declared.replace('a: "leaf1:swp51", b: "spine1:swp1"', 'a: "leaf1:swp51", b: "spine1:swp2"') \
        .replace('a: "leaf2:swp51", b: "spine1:swp2"', 'a: "leaf2:swp51", b: "spine1:swp1"')
    check(wrong != declared, "the wrong configuration was not made")
    config.write_text(wrong)
    agent.send_signal(signal.SIGHUP)
    wait_for("the disagreement in the log", lambda: "leaf1:swp51 is declared to lead to spine1:swp2, but hears spine1:swp1" in lab.log_text(), 30, 0.2, agent)
    crossed = {("leaf1", "swp51"), ("leaf2", "swp51"), ("spine1", "swp1"), ("spine1", "swp2")}
    moved = {("leaf4", "swp51")}

    def told():
        return {(f["device"], f["port"]) for f in findings(lab, config) if f["kind"] == "lldp_mismatch"}
    wait_for("the disagreement in topology check", lambda: told() >= crossed | moved, 10, 0.5, agent)
    check(told() == crossed | moved, "topology check: %s" % told())
    new = [(f["device"], f["port"], f["peer"]) for f in findings(lab, config) if f["kind"] == "link_undeclared"]
    check(new == [("spine2", "swp9", "leaf4:swp51")], "undeclared: %s" % new)
    check(("leaf1", "swp51", "spine1", "swp2") in shown(lab, config)[1], "declared links were changed")
    check(lab.log_text().count("leaf1:swp51 is declared to lead to") == 1, "told more than once")
    check(lab.end(agent) == 0, "the agent did not end well")
    print("8 of 8 links, groups %s" % want)


main(test, "disc")
