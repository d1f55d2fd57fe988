#!/usr/bin/env python3
"""test_one_story.py ROCEWATCH LAB - one fault, one accused: incident, pause tree, blame and threshold review name the same
culprit, or the tree says why it differs; and the incident costs the same on every surface.

Each row is a recorded scenario as one kind of switch shows it; what is true is written by the lab itself (truth.json)."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

ROCEWATCH, LAB = sys.argv[1], sys.argv[2]

# scenario, face, who did it (host, or switch), what the tree's root is, profile of the switches, a command to copy
ROWS = [
    ("dcqcn-off", "full", "node-010", "sender", "nxos", ["leaf2", "show queuing interface Ethernet2"]),
    ("dcqcn-off", "sonic-gnmi", "node-010", "sender", "sonic", ["leaf2", "sudo ecnconfig -l"]),
    ("pfc-storm", "full", "node-010", "host", "eos", ["leaf2", "show priority-flow-control counters"]),
    ("ecmp-fields", "full", "leaf2", "queue", "eos", ["here", "rocewatch ecmp collisions leaf2"]),
]


def run(*words):
    done = subprocess.run([ROCEWATCH, *words], capture_output=True, text=True, timeout=HANG_S)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def document(db, *words):
    return json.loads(run(*words, "--db", db, "--format", "json"))


def check(what, holds, *shown):
    if not holds:
        sys.exit(f"{what}: {json.dumps(shown, indent=1)[:4000]}")


def culprit_of(incident):
    subject = incident["subject"]
    return subject["host"] or subject["device"]


def check_tree(what, db, incident, truth, origin):
    tree = document(db, "pause", "tree", "--incident", incident["id"])
    check(f"{what}: the pause tree has no root", tree["trees"], tree)
    root = tree["trees"][0]
    check(f"{what}: the pause tree accuses another", (root["host"] if origin != "queue" else root["device"]) == truth, root)
    check(f"{what}: root of another kind", root["origin"] == origin, root)
    check(f"{what}: the root is not the incident's culprit", root["role"] == "culprit" and root["incident"] == incident["id"], root)
    check(f"{what}: it differs without need", tree["differs_because"] is None, tree["differs_because"])
    victims = [e for e in tree["rows"] if e["role"] == "victim" and e["waits"] == "hosts"]
    check(f"{what}: the culprit stands among the victims", not any(truth in e["ports"] for e in victims), victims)
    if origin == "sender":
        drawn = [e for e in tree["rows"] if e["root"] == truth]
        waits = sum(len(e["ports"]) for e in drawn)
        check(f"{what}: edges are not drawn", waits == tree["waiting"], waits, tree["waiting"], drawn)
        check(f"{what}: the culprit's own wait is not drawn", any(e["role"] == "culprit" and e["waits"] == truth for e in drawn), drawn)


def check_review(what, db, incident, truth):
    for sheet in document(db, "tune", "review")["sheets"]:
        if sheet["advice"] in ("none", "watch"):
            continue
        check(f"{what}: a threshold review does not defer to the incident", sheet["blocked_by"] == incident["id"], sheet)


def check_price(what, db, incident):
    price = (incident["usd_per_hour"], incident["usd_total"])
    check(f"{what}: no price", price[0] and price[1], price)
    listed = [i for i in document(db, "incident", "list")["incidents"] if i["id"] == incident["id"]][0]
    check(f"{what}: the list has another price", (listed["usd_per_hour"], listed["usd_total"]) == price, price, listed)
    frame = document(db, "watch", "--once")
    painted = [i for i in frame["incidents"] if i["id"] == incident["id"]][0]
    check(f"{what}: the screen has another price", (painted["usd_per_hour"], painted["usd_total"]) == price, price, painted)
    if incident["subject"]["group"]:
        report = document(db, "report", "spine-imbalance")
        check(f"{what}: the report has another price", abs(report["usd_total"] - price[1]) < 0.01, price, report["usd_total"])


def check_row(work, scenario, face, truth, origin, profile, command):
    what = f"{scenario}, {face}"
    case, db = os.path.join(work, "case"), os.path.join(work, "out.db")
    subprocess.run([LAB, "record", scenario, "--out", case, "--face", face, "--for", "12m"], check=True, capture_output=True, timeout=HANG_S)
    fabric = os.path.join(case, "fabric.yaml")
    with open(fabric) as f:
        text = f.read()
    with open(fabric, "w") as f:
        f.write(re.sub(r"(\{ name: \w+, role: \w+)", rf"\1, profile: {profile}", text))
    run("replay", "--from", case, "--format", "json", "--db", db)
    incidents = document(db, "incident", "list", "--state", "open", "--severity", "warning")["incidents"]
    check(f"{what}: one fault, {len(incidents)} incidents", len(incidents) == 1, [i["headline"] for i in incidents])
    shown = document(db, "incident", "show", incidents[0]["id"])
    check(f"{what}: the incident accuses another", culprit_of(shown) == truth, shown["subject"])
    copied = [[c["where"], c["command"]] for c in shown["commands"]]
    check(f"{what}: not among the commands to copy: {command}", command in copied, copied)
    check(f"{what}: a command that does more than read", all(c["risk"] == "read only" for c in shown["commands"]), copied)
    check_tree(what, db, shown, truth, origin)
    entity = truth if shown["subject"]["host"] else f"{truth}:{shown['subject']['member']}"
    against = document(db, "blame", entity)["incidents"]
    check(f"{what}: blame has another story", [i["id"] for i in against] == [shown["id"]], [i["headline"] for i in against])
    check(f"{what}: blame has another price", against[0]["usd_total"] == shown["usd_total"], against[0]["usd_total"], shown["usd_total"])
    check_review(what, db, shown, truth)
    check_price(what, db, shown)
    if scenario == "ecmp-fields":
        check(f"{what}: the proof is not used", any("hash fields read back" in r for r in shown["reasons_for"]), shown["reasons_for"])
        check(f"{what}: confidence", shown["confidence_ratio"] >= 0.85, shown["confidence_ratio"])
    for words in (["incident", "show", shown["id"]], ["incident", "list"]):
        text = run(*words, "--db", db)
        check(f"{what}: {' '.join(words)} is wider than a terminal", max(len(line) for line in text.splitlines()) <= 80, text)
        if words[1] == "show":  # into a pipe nothing is cut; unit.incident_card holds it to the height of a terminal
            check(f"{what}: the card is cut", not any(line.endswith(" ...") for line in text.splitlines()), text)
        else:
            check(f"{what}: {' '.join(words)} is longer than a screen", len(text.splitlines()) <= 12, text)


def check_many(work, scenario):
    """A fault of settings has no single culprit: the tree shows where pause begins, and why it accuses nobody."""
    case, db = os.path.join(work, "case"), os.path.join(work, "out.db")
    subprocess.run([LAB, "record", scenario, "--out", case, "--for", "12m"], check=True, capture_output=True, timeout=HANG_S)
    run("replay", "--from", case, "--format", "json", "--db", db)
    incident = document(db, "incident", "list", "--cause", "ecn_late")["incidents"][0]
    check(f"{scenario}: not about many devices", incident["subject"]["device"] is None, incident["subject"])
    tree = document(db, "pause", "tree", "--incident", incident["id"])
    check(f"{scenario}: it does not say why it differs", "many devices" in (tree["differs_because"] or ""), tree["differs_because"])
    check(f"{scenario}: somebody is accused", not any(t["role"] for t in tree["trees"]), tree["trees"])


MANY = ["ecn-late"]
for name in MANY:
    folder = tempfile.mkdtemp(prefix="rw-one-story-")
    try:
        check_many(folder, name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
for row in ROWS:
    folder = tempfile.mkdtemp(prefix="rw-one-story-")
    try:
        check_row(folder, *row)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
print(f"{len(ROWS)} stories, one accused each")
