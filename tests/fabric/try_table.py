#!/usr/bin/env python3
"""try_table.py BUILD TABLE.tsv [SCENARIO...] - does `rocewatch try` name the same first cause as an agent that watches the same live lab for the same
time? One scenario after the other (default: all of `lab list`), about 75 s each. A row is appended when it is known and never asked again, so the
table grows over many runs. Columns: scenario, truth, agent, try, same (1, 0). tests/fabric/try.tsv is what is known so far: a trial misses links that
are slower than the lab's configuration declares, since nobody has told it a speed."""
import csv, json, os, re, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from live_lab import Failed, Live  # noqa: E402

NONE = "-"


def scenarios(build):
    text = subprocess.run([os.path.join(build, "rocewatch"), "lab", "list", "--format", "json"], capture_output=True, text=True, check=True).stdout
    return [row["name"] for row in json.loads(text)["scenarios"]]


def first_cause(rows):
    """Of the worst open incident."""
    return next((row["cause"] for row in rows if row["state"] != "closed"), NONE)


def row_of(build, folder, scenario):
    lab = Live(build, os.path.join(folder, "lab"), scenario, at="5s")
    try:
        lab.start()
        lab.served()
        with open(lab.config) as f:
            hosts = re.findall(r'snmp: \{ address: "([^"]+)"', f.read())
        if not hosts:
            raise Failed("%s is served by gNMI only" % scenario)
        lab.agent()
        done = subprocess.run([lab.binary, "try", *hosts, "--community-file", os.path.join(lab.dir, "community")], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        agent = first_cause(lab.incidents())
        tried = re.search(r"^OPEN +\w+ (\w+): ", done.stdout, re.M)
        found = tried[1] if tried else NONE
        if done.returncode:
            found = "exit %d" % done.returncode
        truth = lab.truth().get("cause") or NONE
        return [scenario, truth, agent, found, str(int(agent == found))]
    finally:
        Live.stop([lab])


def main():
    build, table, asked = sys.argv[1], sys.argv[2], sys.argv[3:]
    known = {}
    if os.path.exists(table):
        with open(table) as f:
            known = {row[0]: row for row in csv.reader(f, delimiter="\t")}
    for scenario in asked or scenarios(build):
        if scenario in known:
            continue
        with tempfile.TemporaryDirectory() as folder:
            row = row_of(build, folder, scenario)
        known[scenario] = row
        with open(table, "a") as f:
            f.write("\t".join(row) + "\n")
        print("\t".join(row), flush=True)
    same = sum(row[4] == "1" for row in known.values())
    print("%d of %d: the same first cause" % (same, len(known)))
    return 0 if not known or same >= 0.9 * len(known) else 1


if __name__ == "__main__":
    sys.exit(main())
