#!/usr/bin/env python3
"""Two agents' databases, one judge that is a process of its own and is killed in between: incidents, findings and what commands say of the
whole fabric equal those of one database that holds everything.

A pause storm is recorded, split by device (the two ends of many links fall to different agents), and each half stored in a file of its own.
Usage: test_judge.py ROCEWATCH
"""
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

ROCEWATCH = sys.argv[1]
POD1 = {"leaf1", "leaf2", "spine1", "spine2"}
SHARES = """
credentials: {{ c: {{ snmp: {{ version: 2c, community_env: C }} }} }}
store: {{ path: "{dir}/judge.db" }}
agents:
  - {{ name: pod1, devices: [leaf1, leaf2, spine1, spine2] }}
  - {{ name: pod2, devices: ["leaf[34]", "spine[34]"] }}
judge: {{ from: "{source}", wait: 5s, begin: 10y }}
"""
FINDINGS = ("SELECT from_ns, to_ns, analyzer, cause, verdict, severity, device, port, priority, ecmp_group, host, value, summary "
            "FROM finding ORDER BY to_ns, from_ns, analyzer, cause, device, port, priority, ecmp_group, host")
EVENTS = "SELECT t_ns, kind, incident_id, text FROM event WHERE incident_id IS NOT NULL ORDER BY t_ns, text"


def run(*args, **more):
    return subprocess.run([ROCEWATCH, *args], check=True, capture_output=True, text=True, **more).stdout


def shift(source, base):
    """The lines of a case, later by whole seconds: a judge keeps what is recent."""
    with open(source) as lines:
        for line in lines:
            if not line.startswith("#"):
                seconds, rest = line.split("\t", 1)
                whole, _, part = seconds.partition(".")
                yield rest.split("\t", 1)[0], f"{int(whole) + base}.{part or 0}\t{rest}"


def split(work):
    fabric = open(f"{work}/case/fabric.yaml").read()
    base = int(time.time()) - 3000
    files = {}
    for name in ("all", "pod1", "pod2"):
        os.mkdir(f"{work}/{name}")
        open(f"{work}/{name}/fabric.yaml", "w").write(fabric)
        files[name] = open(f"{work}/{name}/samples.tsv", "w")
    for device, line in shift(f"{work}/case/samples.tsv", base):
        files["all"].write(line)
        files["pod1" if device in POD1 else "pod2"].write(line)
    for name, file in files.items():
        file.close()
        run("replay", "--from", f"{work}/{name}", "--db", f"{work}/{name}.db")
    return fabric, base


def rows(path, sql):
    db = sqlite3.connect(path)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def interval(work):
    return re.search(r"\n  interval: (\S+)", rows(f"{work}/all.db", "SELECT yaml FROM fabric_history")[0][0]).group(1)


def configure(work, fabric, source):
    every = interval(work)
    yaml = re.sub(r"- \{ name: (\w+), role: (\w+) \}",
                  rf"- {{ name: \1, role: \2, snmp: {{ address: 127.0.0.1, credentials: c, interval: {every} }} }}", fabric)
    open(f"{work}/rocewatch.yaml", "w").write(yaml + SHARES.format(dir=work, source=source))


def number(path, sql):
    try:
        found = rows(path, sql)
    except sqlite3.OperationalError:
        return 0
    return found[0][0] if found and found[0][0] else 0


def until(path):
    return number(path, "SELECT value FROM health WHERE key='judge/judge/until_s'")


def judge(work, reached, at_most=120):
    """A judge until it says of itself that it is there, then killed: what it leaves must do."""
    log = open(f"{work}/judge.log", "a")
    process = subprocess.Popen([ROCEWATCH, "-c", f"{work}/rocewatch.yaml", "agent", "--judge"], stdout=log, stderr=log,
                               env={**os.environ, "C": "x"})
    try:
        end = time.monotonic() + at_most
        while time.monotonic() < end and process.poll() is None:
            if reached(until(f"{work}/judge.db")):
                return
            time.sleep(0.05)
        sys.exit("the judge did not come so far:\n" + open(f"{work}/judge.log").read())
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def document(work, databases, *command):
    first, last = rows(f"{work}/all.db", "SELECT min(from_ns), max(to_ns) FROM finding")[0]
    stamp = lambda t: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(t / 1e9))
    times = [] if "show" in command else ["--since", stamp(first), "--until", stamp(last)]
    text = run("--db", databases, *command, *times, "--format", "json")
    document = json.loads(text)
    drop_ages(document)
    return document


def drop_ages(value):
    """One database is a recording, whose present is its end; the other is of a living fabric."""
    if isinstance(value, dict):
        for key in [k for k in value if k.endswith("age_s")]:
            del value[key]
        for each in value.values():
            drop_ages(each)
    elif isinstance(value, list):
        value[:] = [each for each in value if not (isinstance(each, dict) and str(each.get("kind", "")).startswith("agent_"))]
        for each in value:
            drop_ages(each)


def compare(work, databases):
    for sql in (FINDINGS, EVENTS, "SELECT json FROM incident ORDER BY id"):
        expected, got = rows(f"{work}/all.db", sql), rows(f"{work}/judge.db", sql)
        assert expected and expected == got, (sql, [row for row in expected if row not in got], [row for row in got if row not in expected], len(got) - len(expected))
    incident = rows(f"{work}/all.db", "SELECT id FROM incident")[0][0]
    for command in (["incident", "list"], ["incident", "show", incident], ["pause", "tree"], ["pause", "tree", "--incident", incident],
                    ["pause", "ports"], ["ecmp", "groups"], ["ecmp", "heatmap"], ["report", "spine-imbalance"],
                    ["steps"], ["query", "pfc.rx_frames", "--device", "leaf*"]):
        expected = document(work, f"{work}/all.db", *command)
        assert document(work, databases, *command) == expected, command
    tree = json.dumps(document(work, databases, "pause", "tree"))
    assert "leaf2" in tree and ("leaf3" in tree or "spine3" in tree), "the tree ends at the border of an agent"


def main():
    with tempfile.TemporaryDirectory(prefix="rocewatch-judge-") as work:
        run("lab", "record", "pfc-storm", "--for", "450s", "--out", f"{work}/case")
        fabric, base = split(work)
        source = f"{work}/pod1.db,{work}/pod2.db"
        configure(work, fabric, source)
        last = rows(f"{work}/all.db", "SELECT max(to_ns) FROM finding")[0][0] / 1e9
        # as soon as it has found something: mostly before it says how far it came
        judge(work, lambda at: number(f"{work}/judge.db", "SELECT count(*) FROM finding") > 0)
        judge(work, lambda at: at > 0)
        judge(work, lambda at: at >= last - 1)
        compare(work, f"{work}/judge.db,{source}")
    print("ok")


if __name__ == "__main__":
    main()
