#!/usr/bin/env python3
"""Small promises, each on a recorded fault: nothing is predicted by a model that misses the present; one cause on eight switches is one incident;
an information hides no loss; what was just written is read; a tree of pause says its range and what its signs mean; unknown is not 0; an empty secret
is a mistake.
Usage: test_promises.py ROCEWATCH"""
import json, os, re, subprocess, sys, tempfile
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

ROCEWATCH = sys.argv[1]
ENV = {k: v for k, v in os.environ.items() if not k.startswith("ROCEWATCH")}


def expect(ok, text):
    if not ok:
        sys.exit("FAILED: " + text)


def run(*argv, code=0):
    p = subprocess.run([ROCEWATCH, *argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S, env=ENV)
    expect(p.returncode == code, "%s: exit %d\n%s%s" % (" ".join(argv), p.returncode, p.stdout[-500:], p.stderr[-500:]))
    return p.stdout + p.stderr


def doc(*argv):
    return json.loads(run(*argv, "--format", "json"))


def recorded(work, scenario):
    case, db = os.path.join(work, scenario), os.path.join(work, scenario + ".db")
    run("lab", "record", scenario, "--for", "6m", "--out", case)
    run("replay", "--from", case, "--db", db)
    return db


def storm(work):
    db = recorded(work, "pfc-storm")
    said = run("--db", db, "tune", "whatif", "--device", "leaf2", "--priority", "3", "--set", "kmin=100KB")
    miss = re.search(r"nothing is predicted: the model misses what is measured now by (\d+) %", said)
    expect(miss and int(miss[1]) > 50 and "EXPECTED AFTER" not in said, "whatif predicts although the model misses:\n" + said)
    one = doc("--db", db, "incident", "list")["incidents"][0]["id"]
    run("--db", db, "incident", "ack", one)
    run("--db", db, "incident", "assign", one, "ann")
    card = doc("--db", db, "incident", "show", one)
    card = card.get("incident", card)
    expect(card["assigned_to"] == "ann" and card["acked_by"], "ack or assign is not read back: %s" % {k: card.get(k) for k in ("assigned_to", "acked_by")})
    tree = run("--db", db, "pause", "tree")
    expect(re.search(r"WAIT-FOR TREE  2026-01-05 \d\d:\d\d:\d\dZ to 2026-01-05 \d\d:\d\d:\d\dZ", tree), "the tree does not say its range:\n" + tree)
    expect('"X <-- Y": Y pauses X' in tree and "ROOT node-010" in tree and "node-002" in tree, "the tree does not name its hosts:\n" + tree)
    tree = run("--db", db, "pause", "tree", "--since", "15m")
    expect("watchdog would fire if it is on: 100 % paused" in tree, "a mean over more than the storm judges the watchdog:\n" + tree)
    marks = run("--db", db, "check", "ecn")
    expect("wrong order" not in marks, "a host that hangs is taken for wrong thresholds:\n" + marks)
    expect('"+N": N more ports' in tree and "L1 the port alone" in tree, "the tree does not explain '+1' and 'L3':\n" + tree)


def headroom(work):
    db = recorded(work, "tune-headroom-small")
    causes = [i["cause"] for i in doc("--db", db, "incident", "list", "--all")["incidents"]]
    expect(causes.count("headroom_small") == 1 and causes.count("ecn_late") <= 1, "one cause, many incidents: %s" % causes)


def milder(work):
    """The ports of this incast show little, and say so as an information; what the job loses is a warning of its own, with the money."""
    case = os.path.join(work, "incast")
    run("lab", "record", "incast", "--seed", "3", "--out", case)
    told = doc("replay", "--from", case)["incidents"]
    infos = [i["id"] for i in told if i["severity"] == "info"]
    costly = [i for i in told if i["severity"] != "info" and i["usd_per_hour"]]
    expect(infos, "the recording shows no information any more, this part proves nothing: %s" % [(i["cause"], i["severity"]) for i in told])
    expect(costly, "a job loses more than half of its throughput: %s" % [(i["cause"], i["severity"], i["usd_per_hour"]) for i in told])
    expect(0.5 < costly[0]["loss"][0]["loss_ratio"] < 0.65 and costly[0]["usd_per_hour"] > 400,
           "loss %s, %s USD/h" % (costly[0]["loss"], costly[0]["usd_per_hour"]))
    expect(not any(i["parent"] in infos for i in told if i["severity"] != "info"), "a warning is part of an information")


def families(work):
    """What a fault explains is told with it: one row for all, wherever incidents stand in a list; the parts stay in the documents."""
    case, db = os.path.join(work, "device-down"), os.path.join(work, "device-down.db")
    run("lab", "record", "device-down", "--for", "6m", "--out", case)
    told = run("replay", "--from", case, "--db", db)
    rows = doc("--db", db, "incident", "list", "--all")["incidents"]
    parts = [i for i in rows if i["parent"]]
    expect(len(parts) > 1 and len({i["parent"] for i in parts}) == 1, "the recording has no family any more: %s" % [(i["id"], i["parent"]) for i in rows])
    for said in (told, run("--db", db, "incident", "list", "--all")):
        expect("(+%d parts)" % len(parts) in said, "nothing says how many are part of it:\n" + said)
        expect(parts[0]["parent"] in said and not any(i["id"] in said for i in parts), "a part stands beside what it is part of:\n" + said)


def same_depth(work):
    """The depth at which PFC fires: the card of the incident and the sheet of the same switch measured it once."""
    db = recorded(work, "ecn-late")
    one = next(i for i in doc("--db", db, "incident", "list", "--all")["incidents"] if i["cause"] == "ecn_late")
    card = doc("--db", db, "incident", "show", one["id"])
    depth = {e["value"] for e in card["evidence"] if e["metric"] == "ecn.q_pfc_most_bytes"}
    said = {e["value"] for s in doc("--db", db, "tune", "review")["sheets"] for e in s["evidence"] if e["metric"] == "pfc.q_pfc_bytes"}
    expect(depth and min(abs(d / s - 1) for d in depth for s in said) < 0.05, "the card has %s, the sheets %s" % (depth, said))


def unknown(work):
    expect(doc("calc", "pause", "--speed", "400G")["paused_at_most_ratio"] is None, "calc pause: unknown is printed as 0")
    expect(doc("calc", "pause", "--speed", "400G", "--frames", "0")["paused_at_most_ratio"] == 0, "calc pause: 0 frames are 0")
    expect("1..65535" in run("calc", "pause", "--speed", "400G", "--quanta", "0", code=2), "calc pause: quanta")
    open(os.path.join(work, "empty"), "w").close()
    os.chmod(os.path.join(work, "empty"), 0o600)
    path = os.path.join(work, "rocewatch.yaml")
    with open(path, "w") as f:
        f.write("fabric: f\ncredentials: { c: { snmp: { version: 2c, community_file: %s/empty } } }\n"
                "devices: [ { name: leaf1, snmp: { address: 192.0.2.11, credentials: c } } ]\n" % work)
    expect("is empty; expected the secret" in run("-c", path, "config", "check", code=2), "config check lets an empty community through")


def main():
    with tempfile.TemporaryDirectory() as work:
        for part in (storm, headroom, milder, families, same_depth, unknown):
            part(work)
            print("ok  ", part.__name__)


main()
