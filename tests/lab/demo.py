#!/usr/bin/python3
"""The story scripts/demo tells: a fabric, an agent, traffic, and - unless --healthy - one leaf whose traffic has too little entropy.

Exit code: 0 rocewatch said what is true of the fabric, 1 it did not, 77 no rights for network namespaces.
"""
import argparse
import datetime
import json
import os
import random
import shutil
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lab import HOSTS, LEAVES, PAIRS, SKIP, SPINES, SWITCHES, UPLINKS, Failed, Lab, check, wait_for  # noqa: E402
from patience import Limit  # noqa: E402

WINDOW_S, HOLD = 5, 3
DEADLINE_S = 60  # for the incident on an idle machine, from the fault on: it takes about HOLD + 1 windows
# What low entropy may be called: chance can explain it (the remedy is entropy), or it cannot (the remedy is the hash).
CAUSES = {"ecmp_low_entropy", "unlucky_placement", "ecmp_imbalance"}
FAULTY_SPORTS = 2  # per host; eight queue pairs share them

tty = sys.stdout.isatty()
color = tty and not os.environ.get("NO_COLOR")


def paint(code, text):
    return "\033[%sm%s\033[0m" % (code, text) if color else text


def say(text=""):
    print(text, flush=True)


def next_window(later_s=0):
    """Where the next window of the analyzer begins (they lie at multiples of their length), as --since takes it."""
    t = (int(time.time() + later_s) // WINDOW_S + 1) * WINDOW_S
    return datetime.datetime.fromtimestamp(t, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Steps:
    def __init__(self, total):
        self.total, self.now, self.began = total, 0, time.monotonic()

    def __call__(self, title, *lines):
        self.now += 1
        say()
        say(paint("1;36", "[%d/%d] %s" % (self.now, self.total, title)) + paint("2", "   %.0f s" % (time.monotonic() - self.began)))
        for line in lines:
            say("      " + line)


def map_of_fabric():
    return (
        "         spine1                    spine2",
        "        /  |  |  \\________________/  |  |  \\       each leaf reaches each spine over one 100 Mbit/s uplink:",
        "       /   |  |   \\______________/   |  |   \\      swp51 to spine1, swp52 to spine2; the kernel hashes",
        "     leaf1    leaf2          leaf3    leaf4        every 5-tuple onto one of the two (ECMP)",
        "     h1 h2    h3 h4          h5 h6    h7 h8",
    )


class Bars:
    """One line of bars, once a second: what leaves each uplink, from the kernel itself (not from rocewatch)."""

    def __init__(self, lab):
        self.lab, self.last, self.at, self.lines = lab, None, 0, 0

    def tick(self, note):
        now, values = time.monotonic(), {leaf: lab_out(self.lab, leaf) for leaf in LEAVES}
        if self.last and now - self.at >= 0.99:
            cells = []
            for leaf in LEAVES:
                mbit = [8e-6 * (values[leaf][p] - self.last[leaf][p]) / (now - self.at) for p in UPLINKS]
                mean = sum(mbit) / len(mbit)
                worst = max(mbit) / mean - 1 if mean > 1 else 0
                cells.append(paint("1;31" if worst > 0.5 else "32", "%s %s|%s" % (leaf, bar(mbit[0]), bar(mbit[1]))))
            line = "      " + "  ".join(cells) + "  " + paint("2", note)
            if tty:
                sys.stdout.write("\r\033[K" + line)
                sys.stdout.flush()
                self.lines = 1
            elif self.lines % 5 == 0:
                say(line)
            self.lines += 0 if tty else 1
        if not self.last or now - self.at >= 0.99:
            self.last, self.at = values, now

    def end(self):
        if tty and self.lines:
            say()


def lab_out(lab, leaf):
    kernel = lab.kernel(leaf)
    return {p: kernel[p][1] for p in UPLINKS}


def bar(mbit, width=8, full=50):
    n = min(width, round(width * mbit / full))
    return "#" * n + "." * (width - n)


def watch(bars, seconds, note, until=None):
    """Shows the bars for @seconds, or until @until() says so (asked about once a second): then they are those of an idle machine. True when it did."""
    end, limit, asked = time.monotonic() + seconds, Limit(seconds), time.monotonic()
    while (not limit.over()) if until else time.monotonic() < end:
        bars.tick(note)
        time.sleep(0.1)
        if until and time.monotonic() - asked >= 1:
            if until():
                return True
            asked = time.monotonic()
    return False


def show(lab, config, *args):
    say()
    say(paint("1", "$ rocewatch " + " ".join(args)))
    text = lab.run(config, *args, *(["--color", "always"] if color else []))
    say("\n".join("  " + line for line in text.rstrip("\n").splitlines()))
    return text


def incidents_of_imbalance(lab, config, since):
    return [i for i in lab.json(config, "incident", "list", "--since", since)["incidents"] if i["cause"] in CAUSES]


def verify_fault(lab, config, since, fault_since, leaf, uplink, hosts, sports):
    """What must have been said, from the JSON forms; returns the incident."""
    found = incidents_of_imbalance(lab, config, since)
    check(found, "no imbalance incident was reported")
    check({i["subject"]["device"] for i in found} == {leaf},
          "the fault is in %s, incidents name %s" % (leaf, sorted({i["subject"]["device"] or "?" for i in found})))
    incident = found[0]
    subject = incident["subject"]
    check(subject["group"] == "uplinks", "the incident is of group %r, not of the uplinks" % subject["group"])
    check(subject.get("member") == uplink, "the hot member is %s, the incident names %s" % (uplink, subject.get("member")))
    addresses = {lab.address(h) for h in hosts}
    flows = [f for f in subject["flows"] if f["src"] in addresses and f["src_port"] in sports and f["port"] == uplink]
    check(len(flows) >= 2, "of the colliding flows only %d are named: %s" % (len(flows), json.dumps(subject["flows"])))
    check(incident["confidence_ratio"] and 0 < incident["confidence_ratio"] <= 1, "no confidence: %r" % incident["confidence_ratio"])

    report = lab.json(config, "report", "spine-imbalance", "--since", fault_since)
    rows = {(g["device"], g["group"]): g for g in report["groups"]}
    check({d for d, g in rows} >= set(LEAVES), "the report misses leaves: %s" % sorted(rows))
    row = rows[leaf, "uplinks"]
    check(row["persistent_member"] == uplink, "the report's persistent member of %s is %s, not %s" % (leaf, row["persistent_member"], uplink))
    check(row["windows_over"] >= HOLD, "only %d windows over the limit" % row["windows_over"])
    check(row["imbalance_ratio"] > 0.8, "imbalance %.2f: one of two uplinks carries all, 1.00 is true" % row["imbalance_ratio"])
    check(row["expected_by_chance_ratio"] is not None, "no chance baseline")
    check(report["usd_total"] is None or report["usd_total"] >= 0, "cost")
    for other in LEAVES:
        if other != leaf:
            check(rows[other, "uplinks"]["windows"] > 0, "%s was not judged at all" % other)

    collisions = json.dumps(lab.json(config, "ecmp", "collisions", "--since", fault_since))
    check(leaf in collisions and uplink in collisions and any(str(s) in collisions for s in sports),
          "ecmp collisions names no colliding flow of %s %s" % (leaf, uplink))
    return incident, flows, row


def verify_healthy(lab, config, since):
    found = incidents_of_imbalance(lab, config, since)
    check(not found, "an imbalance incident on a healthy fabric: %s" % json.dumps(found)[:2000])
    report = lab.json(config, "report", "spine-imbalance", "--since", since)
    rows = {g["device"]: g for g in report["groups"] if g["group"] == "uplinks"}
    for leaf in LEAVES:
        check(leaf in rows and rows[leaf]["windows"] >= HOLD, "%s was not judged: a silent report proves nothing: %s" % (leaf, rows.get(leaf)))
        check(rows[leaf]["imbalance_ratio"] is not None, "%s has no imbalance figure" % leaf)
    return rows


def story(args, lab):
    rng = random.Random(args.seed)
    leaf = args.leaf or rng.choice(LEAVES)
    uplink = args.uplink or rng.choice(list(UPLINKS))
    hosts = ["host%d" % (2 * int(leaf[-1]) - 1), "host%d" % (2 * int(leaf[-1]))]
    since = next_window()
    step = args.step

    config = lab.config(window="%ds" % WINDOW_S, hold=HOLD)
    lab.run(config, "config", "check")
    step("Agent: SNMP from six switches each second, packets from eight uplinks, into SQLite",
         paint("2", "%s agent -c %s   (in the management namespace)" % (lab.rocewatch.name, config)))
    agent = lab.agent(config)
    wait_for("six switches up", lambda: lab.all_up(config), 30, 0.2, agent)
    say("      six switches answer")

    step("Traffic: every host sends RoCEv2 writes to a host of another leaf, over 1,024 source ports",
         "bursts of 50 ms every 100 ms, as a training job's exchange phases; uplinks of each leaf as swp51|swp52:")
    lab.sinks()
    senders = {h: lab.send_healthy(h) for h in HOSTS}
    bars = Bars(lab)
    watch(bars, args.seconds or (4 if args.healthy else 2) * WINDOW_S, "healthy")
    bars.end()
    check(all(p.poll() is None for p in senders.values()), "a traffic generator ended early")
    check(agent.poll() is None, "the agent ended early:\n" + lab.log_text()[-3000:])

    if args.healthy:
        step("What rocewatch says of a healthy fabric")
        # A window closes one interval after its end: the last one is still due.
        enough = wait_for("%d judged windows of every leaf" % HOLD, lambda: judged(lab, config, since), 6 * WINDOW_S, 1, agent)
        show(lab, config, "report", "spine-imbalance", "--since", since)
        show(lab, config, "ecmp", "heatmap", "--since", since)
        show(lab, config, "incident", "list", "--since", since)
        rows = verify_healthy(lab, config, since)
        stop(lab, agent)
        save(args, lab, config, {"healthy": True, "windows": enough})
        worst = max(rows.values(), key=lambda g: g["imbalance_ratio"])
        say()
        say(paint("1;32", "HEALTHY") + " as it should be: no imbalance incident; worst %s with %.0f %%, judged over %d windows." % (
            worst["device"], 100 * worst["imbalance_ratio"], worst["windows"]))
        return

    ports = {h: [int(p) for p in lab.ports_to(leaf, h, uplink, FAULTY_SPORTS)] for h in hosts}
    step("Fault: the hosts of %s lose their source-port entropy" % leaf,
         "eight queue pairs each, but only %d UDP source ports - and this kernel's hash happens to send" % FAULTY_SPORTS,
         "  " + ", ".join("%s: %s" % (h, ", ".join(map(str, ports[h]))) for h in hosts) + "   all to %s (%s)." % (uplink, UPLINKS[uplink]),
         "Same bytes, same job - and the other uplink idles. rocewatch is told nothing; waiting for %d windows of %d s:" % (HOLD, WINDOW_S))
    for h in hosts:
        lab.end(senders[h])
        senders[h] = lab.send(h, "--qps", "8", "--sport-list", ",".join(map(str, ports[h])))
    fault_since = next_window(2)  # a window's first sample is one interval old: that one must see the fault alone
    seen = watch(bars, DEADLINE_S, "fault", lambda: any(
        i["subject"]["flows"] for i in incidents_of_imbalance(lab, config, since)) and judged(lab, config, fault_since))
    bars.end()
    check(agent.poll() is None, "the agent ended early:\n" + lab.log_text()[-3000:])
    check(all(p.poll() is None for p in senders.values()), "a traffic generator ended early")
    check(seen, "no imbalance incident within %d s" % DEADLINE_S)
    say("      incident opened %.0f s after the demo began" % (time.monotonic() - step.began))

    step("What rocewatch says")
    show(lab, config, "report", "spine-imbalance", "--since", fault_since)
    show(lab, config, "ecmp", "heatmap", "--since", fault_since)
    show(lab, config, "ecmp", "collisions", "--since", fault_since)
    show(lab, config, "incident", "list", "--since", fault_since)
    all_sports = {s for v in ports.values() for s in v}
    incident, flows, row = verify_fault(lab, config, since, fault_since, leaf, uplink, hosts, all_sports)
    show(lab, config, "incident", "show", incident["id"])
    stop(lab, agent)
    save(args, lab, config, {"healthy": False, "leaf": leaf, "uplink": uplink, "hosts": hosts, "sports": sorted(all_sports), "incident": incident})
    say()
    say(paint("1;32", "FOUND") + " what was hidden: %s, uplink %s to %s, %s, and %d of its %d colliding 5-tuples by name;" % (
        leaf, uplink, UPLINKS[uplink], incident["cause"], len({(f["src"], f["src_port"]) for f in flows}), FAULTY_SPORTS * len(hosts)))
    say("      imbalance %.0f %%, chance alone would give %.0f %%, confidence %.2f." % (
        100 * row["imbalance_ratio"], 100 * row["expected_by_chance_ratio"], incident["confidence_ratio"]))


def judged(lab, config, since):
    """Windows in which every leaf was judged, once there are HOLD of them; else 0."""
    rows = {g["device"]: g["windows"] for g in lab.json(config, "report", "spine-imbalance", "--since", since)["groups"] if g["group"] == "uplinks"}
    fewest = min(rows.get(leaf, 0) for leaf in LEAVES)
    return fewest if fewest >= HOLD else 0


def stop(lab, agent):
    code = lab.end(agent)
    check(code == 0, "the agent ended with %d:\n%s" % (code, lab.log_text()[-3000:]))


def save(args, lab, config, facts):
    """--keep DIR: the database, configuration and log outlive the lab."""
    if not args.keep:
        return
    os.makedirs(args.keep, exist_ok=True)
    for name in ("rocewatch.db", "rocewatch.yaml", "agent.log"):
        if (lab.dir / name).exists():
            shutil.copy(lab.dir / name, args.keep)
    with open(os.path.join(args.keep, "facts.json"), "w") as f:
        json.dump(facts, f, indent=1)
    if "SUDO_UID" in os.environ:  # made by root for whoever asked
        for name in [args.keep] + [os.path.join(args.keep, n) for n in os.listdir(args.keep)]:
            os.chown(name, int(os.environ["SUDO_UID"]), int(os.environ.get("SUDO_GID", -1)))
    say()
    say("kept in %s: try  rocewatch --db %s incident list" % (args.keep, os.path.join(args.keep, "rocewatch.db")))


def main():
    a = argparse.ArgumentParser(prog="demo")
    a.add_argument("--build", required=True, help="build directory with rocewatch and tests/lab/roce_gen")
    a.add_argument("--healthy", action="store_true", help="no fault: expect no imbalance incident")
    a.add_argument("--keep", metavar="DIR", nargs="?", const="demo-result", help="copy database, configuration and log to DIR (default: demo-result)")
    a.add_argument("--seconds", type=int, help="how long traffic runs before the fault, or before judging with --healthy")
    a.add_argument("--leaf", choices=LEAVES, help="where the fault goes (default: drawn)")
    a.add_argument("--uplink", choices=list(UPLINKS), help="the uplink that gets hot (default: drawn)")
    a.add_argument("--seed", type=int, help="for the draw")
    args = a.parse_args()
    steps = args.step = Steps(4 if args.healthy else 5)
    try:
        steps("Fabric: 2 spines, 4 leaves, 8 hosts in Linux network namespaces, real snmpd and lldpd", *map_of_fabric())
        with Lab(args.build, "demo%d" % (os.getpid() % 1000000)) as lab:
            story(args, lab)
    except Failed as e:
        say()
        print(paint("1;31", "NOT as expected: ") + str(e), file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    say(paint("2", "(%.0f s; the lab is gone again)" % (time.monotonic() - steps.began)))


if __name__ == "__main__":
    main()
