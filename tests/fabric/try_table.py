#!/usr/bin/env python3
"""try_table.py BUILD TABLE.tsv FACE [SCENARIO...] - does `rocewatch try` name the same first cause as an agent that watches the same live lab for the
same time? FACE is one of `lab run --face`, or "-" for that of the scenario. One scenario after the other (default: all of `lab list`), about 75 s each. A
row is appended when it is known and never asked again, so the table grows over many runs. Columns: scenario, face, truth, agent, try, same (1, 0).
tests/fabric/try.tsv is what was found: docs/accuracy/faults.md tells it."""
import csv, json, os, re, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from live_lab import Live  # noqa: E402

NONE = "-"


def scenarios(build):
    text = subprocess.run([os.path.join(build, "rocewatch"), "lab", "list", "--format", "json"], capture_output=True, text=True, check=True).stdout
    return [row["name"] for row in json.loads(text)["scenarios"]]


def first_cause(lab):
    """Of the incident that the agent tells of first."""
    told = json.loads(lab.rocewatch("status", "--format", "json"))["incidents"]
    return told[0]["cause"] if told else NONE


def trial(lab):
    """The command, with nothing but addresses and secrets."""
    with open(lab.config) as f:
        text = f.read()
    hosts = re.findall(r'snmp: \{ address: "([^"]+)"', text) + ["gnmi:" + a for a in re.findall(r'gnmi: \{ address: "([^"]+)"', text)]
    login = ["--community-file", os.path.join(lab.dir, "community")]
    if hosts[0].startswith("gnmi:"):
        login = ["--gnmi-user", "lab", "--gnmi-password-file", os.path.join(lab.dir, "password"), "--gnmi-no-tls"]
    return [lab.binary, "try", *hosts, *login]


def row_of(build, folder, scenario, face):
    lab = Live(build, os.path.join(folder, "lab"), scenario, face=None if face == NONE else face, at="5s")
    try:
        lab.start()
        lab.served()
        lab.agent()
        done = subprocess.run(trial(lab), stdin=subprocess.DEVNULL, capture_output=True, text=True)
        agent = first_cause(lab)
        tried = re.search(r"^OPEN +\w+ (\w+): ", done.stdout, re.M)
        found = tried[1] if tried else NONE
        if done.returncode:
            found = "exit %d: %s" % (done.returncode, done.stderr.strip()[-200:])
        if os.environ.get("TRY_SHOW"):
            print(done.stdout, [(r["severity"], r["cause"], r["summary"]) for r in lab.incidents()])
        truth = lab.truth().get("cause") or NONE
        return [scenario, face, truth, agent, found, str(int(agent == found))]
    finally:
        Live.stop([lab])


def main():
    build, table, face, asked = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    known = {}
    if os.path.exists(table):
        with open(table) as f:
            known = {row[0]: row for row in csv.reader(f, delimiter="\t")}
    for scenario in asked or scenarios(build):
        if scenario in known:
            continue
        with tempfile.TemporaryDirectory() as folder:
            row = row_of(build, folder, scenario, face)
        known[scenario] = row
        with open(table, "a") as f:
            f.write("\t".join(row) + "\n")
        print("\t".join(row), flush=True)
    same = sum(row[5] == "1" for row in known.values())
    print("%d of %d: the same first cause" % (same, len(known)))
    return 0 if not known or same >= 0.9 * len(known) else 1


if __name__ == "__main__":
    sys.exit(main())
