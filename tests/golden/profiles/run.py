#!/usr/bin/env python3
"""run.py ROCEWATCH - poll each vendor's walk through the agent and compare what was stored with expect.py's reading; then ask
`profile test` of each and hold it against the same walk, column by column.

snmpsim serves the walks of walks.py (the community names the vendor), snmpbulkwalk and expect.py make the expected samples
without any part of rocewatch, and the agent polls the same simulator by the profile it chose itself. Every metric, port,
priority and value must agree, both ways: nothing missing, nothing made up. Exit 77 where snmpsim is not installed, or cannot start.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", ".."))
import samples_db
from patience import HANG_S, Limit, stretched
from ports import free_port
VENDORS = ["generic", "sonic", "eos", "nxos", "cumulus", "onyx", "junos", "dell-os9", "dell-os10", "comware"]
VARIANTS = {"nxos-headroom": "nxos", "nxos-xoff": "nxos", "dell-os9-headroom": "dell-os9", "cumulus-old": "cumulus", "cumulus-5.9": "cumulus", "cumulus-no-cell": "cumulus", "junos-old": "junos"}  # after one change of the configuration
ALL = VENDORS + list(VARIANTS)
# Values in buffer cells of which `profile test` by address knows no size.
UNTOLD = {"dell-os9": {"cfg.pg_headroom_bytes"}, "cumulus-no-cell": {"pg.shared_watermark_bytes", "queue.depth_bytes", "queue.watermark_bytes", "pool.watermark_bytes"}}
DELL_CELL = 208  # declared in the configuration: no object of that vendor tells it


def until(seconds, probe):
    limit = Limit(seconds)
    while not limit.over():
        if probe():
            return True
        time.sleep(0.2)
    return False


def number(metric, text):
    """Counters are exact; what went through a logarithm is compared to a millionth."""
    return round(float(text), 6) if metric.startswith("optic.") else int(text)


def read_walk(text):
    """oid -> (type, is it zero) of snmpbulkwalk -On output; a second look at what the agent answers."""
    kinds = {"INTEGER": "INTEGER", "Gauge32": "Gauge32", "Counter32": "Counter32", "Counter64": "Counter64", "Timeticks": "TimeTicks",
             "STRING": "OCTET STRING", "Hex-STRING": "OCTET STRING", "OID": "OBJECT IDENTIFIER", "Unsigned32": "Gauge32"}
    cells = {}
    for line in text.splitlines():
        if "No more variables left" in line:
            continue
        m = re.match(r'\.([0-9.]+) = (?:([A-Za-z0-9-]+): ?)?(.*)$', line)
        if m:
            kind = kinds[m.group(2)] if m.group(2) else "OCTET STRING"  # net-snmp prints an empty string as ""
            number = re.search(r"-?\d+", m.group(3)) if kind not in ("OCTET STRING", "OBJECT IDENTIFIER") else None
            cells[m.group(1)] = (kind, number is not None and int(number.group()) == 0)
    return cells


def test_columns(v, doc, walk, expected):
    """Differences between what `profile test` says of each column and the walk."""
    wrong = []
    if doc["device"]["profile"] != VARIANTS.get(v, v):
        wrong.append(f"profile {doc['device']['profile']} was chosen")
    if doc["implausible"]:
        wrong.append(f"implausible: {doc['implausible'][:2]}")
    answered = set()
    for c in doc["columns"]:
        if (c["verdict"], c["rows"]) == ("not needed", 0):  # the better column or table answered
            continue
        under = [cell for oid, cell in walk.items() if oid.startswith(c["oid"] + ".")]
        rows, zero = len(under), sum(z for _kind, z in under)
        verdict = c["verdict"] if rows == 0 and c["verdict"] in ("empty", "not needed") else "all zero" if rows and zero == rows else "answers"
        if rows and c["value"] in UNTOLD.get(v, ()):
            verdict = "no cell size"
        if (c["rows"], c["zero"], c["wrong_type"], c["verdict"]) != (rows, zero, 0, verdict):
            wrong.append(f"{c['oid']} {c['value']}: rows {c['rows']} zero {c['zero']} wrong {c['wrong_type']} '{c['verdict']}', the walk has {rows} {zero} '{verdict}'")
        if rows and c["type"] not in {kind for kind, _zero in under}:
            wrong.append(f"{c['oid']}: type {c['type']}")
        if rows:
            answered.add(c["value"])
    for metric in sorted({m for _port, _prio, m in expected} - answered - {"cfg.cell_bytes"}):  # the cell is one object, not a column
        wrong.append(f"{metric} is in the walk, and no column that answers brings it")
    return wrong


def recorded_cells(protocol):
    """(profile, metric) that docs/coverage.md calls recorded over this protocol."""
    cells, profiles = set(), []
    with open(os.path.join(HERE, "..", "..", "..", "docs", "coverage.md")) as f:
        for line in f:
            words = [word.strip() for word in line.split("|")[1:-1]]
            if words[:1] == ["metric"]:
                profiles = words[1:]
            elif profiles and words and words[0].startswith("`"):
                cells |= {(p, words[0].strip("`")) for p, cell in zip(profiles, words[1:]) if f"{protocol} R" in cell.split(", ")}
    return cells


def main():
    rocewatch = os.path.abspath(sys.argv[1])
    simulator = shutil.which("snmpsimd") or shutil.which("snmpsim-command-responder")
    if not simulator:
        print("snmpsim is not installed: skipped")
        return 77
    starts = subprocess.run([simulator, "--version"], capture_output=True, text=True)
    if "ModuleNotFoundError" in starts.stderr:  # Debian 13's, of 0.4.5, asks for what its pyasn1 has no more
        print(f"this distribution's snmpsim does not start: skipped\n{starts.stderr}")
        return 77
    work = tempfile.mkdtemp(prefix="rw-profiles-")
    os.chmod(work, 0o755)
    data = os.path.join(work, "data")
    os.mkdir(data)
    for v in ALL:
        with open(os.path.join(data, v + ".snmprec"), "w") as f:
            subprocess.run([sys.executable, os.path.join(HERE, "walks.py"), v], stdout=f, check=True)
    port = port_number = free_port()
    args = [simulator, f"--data-dir={data}", f"--agent-udpv4-endpoint=127.0.0.1:{port}", f"--cache-dir={work}/cache"]
    if os.geteuid() == 0:
        args += ["--process-user=nobody", "--process-group=nogroup"]
        shutil.chown(work, "nobody")
    log = open(os.path.join(work, "snmpsim.log"), "w")
    sim = subprocess.Popen(args, stdout=log, stderr=log, start_new_session=True)
    failed = 0
    try:
        def get(v):
            return subprocess.run(["snmpget", "-v2c", "-c", v, "-On", "-m", "", "-t5", "-r0", f"127.0.0.1:{port}", ".1.3.6.1.2.1.1.5.0"],
                                  capture_output=True).returncode == 0
        if not until(60, lambda: get("generic")):
            sys.exit("snmpsim: not within 60 s")
        expected, walks = {}, {}
        for v in ALL:
            walk = subprocess.run(["snmpbulkwalk", "-v2c", "-c", v, "-On", "-m", "", "-Cr20", f"127.0.0.1:{port}", ".1"], capture_output=True, text=True, check=True).stdout
            out = subprocess.run([sys.executable, os.path.join(HERE, "expect.py"), VARIANTS.get(v, v)], input=walk, capture_output=True, text=True, check=True).stdout
            walks[v] = read_walk(walk)
            expected[v] = {}
            for line in out.splitlines():
                p, prio, metric, value = line.split("\t")
                expected[v][(p, prio, metric)] = number(metric, value)
            assert len(expected[v]) > 30, f"{v}: the second path found next to nothing"

        config = os.path.join(work, "rocewatch.yaml")
        database = os.path.join(work, "p.db")
        with open(config, "w") as f:
            f.write(f"fabric: profiles\nstore: {{ path: {database} }}\ndefaults: {{ interval: 40s, slow_interval: 40s, timeout: 20s, profile: auto }}\ncredentials:\n")
            for v in ALL:
                with open(os.path.join(work, "c-" + v), "w") as c:
                    c.write(v + "\n")
                f.write(f"  {v}: {{ snmp: {{ version: 2c, community_file: {work}/c-{v} }} }}\n")
            f.write("devices:\n")
            for v in ALL:
                f.write(f"  - {{ name: {v}, role: leaf, snmp: {{ address: \"127.0.0.1:{port}\", credentials: {v} }} }}\n")
            f.write("links: []\n")
            f.write(f"thresholds:\n  - {{ devices: \"dell*\", ports: \"*\", priority: 3, cell: {DELL_CELL}B }}\n")
        def samples(v):
            rows = samples_db.rows(rocewatch, database, f"select port, priority, metric, value from samples where device = '{v}' order by t_ns")
            return {(p or "-", "-" if prio is None else str(prio), metric): number(metric, value) for p, prio, metric, value in rows}

        def complete():
            """Every expected sample is stored. What never comes is told by the comparison."""
            if agent.poll() is not None:
                sys.exit(f"agent: exit {agent.returncode}\n{said()}")
            try:
                return all(set(expected[v]) <= set(samples(v)) for v in ALL)
            except OSError:  # not made yet
                return False

        def said():
            with open(os.path.join(work, "agent.log")) as f:
                return f.read()[-4000:]
        with open(os.path.join(work, "agent.log"), "w") as out:
            agent = subprocess.Popen([rocewatch, "-c", config, "agent"], stdout=out, stderr=out)
        try:
            until(90, complete)
            doctor = {}

            def judged():
                """The agent writes of its targets once a second."""
                out = subprocess.run([rocewatch, "-c", config, "doctor", "--format", "json"], capture_output=True, text=True).stdout
                doctor.update(json.loads(out) if out else {})
                return any("buffer cell" in t["what"] for t in doctor.get("todo", []))
            until(30, judged)
        finally:
            agent.terminate()
            agent.wait(HANG_S)
        if agent.returncode != 0:
            sys.exit(f"agent: exit {agent.returncode}\n{said()}")
        db = sqlite3.connect(database)
        for v in ALL:
            got = samples(v)
            missing = sorted(set(expected[v]) - set(got))
            extra = sorted(set(got) - set(expected[v]))
            wrong = sorted(k for k in set(got) & set(expected[v]) if got[k] != expected[v][k])
            print(f"{v}: {len(expected[v])} expected, {len(got)} stored, {len(missing)} missing, {len(extra)} made up, {len(wrong)} wrong")
            for k in missing[:8]:
                print("   missing", *k, expected[v][k])
            for k in extra[:8]:
                print("   made up", *k, got[k])
            for k in wrong[:8]:
                print("   wrong  ", *k, "expected", expected[v][k], "got", got[k])
            failed += bool(missing or extra or wrong)
        # Values in buffer cells of an unknown size are not stored, and that is told; 64 ports with it bring all of them.
        cells = [t for t in doctor["todo"] if "buffer cell" in t["what"]]
        if [t["subject"] for t in cells] != ["cumulus-no-cell"] or "50 values" not in cells[0]["what"] or "thresholds" not in cells[0]["do"]:
            print(f"doctor says of the cell: {cells}")
            failed += 1
        buffers = sum(metric in ("pg.shared_watermark_bytes", "queue.depth_bytes", "queue.watermark_bytes") for _p, _prio, metric in samples("cumulus-5.9"))
        if buffers != 1536:
            print(f"cumulus-5.9: {buffers} of 1536 values of buffers are stored")
            failed += 1
        # What the page calls recorded has arrived here: in the database, from the walk of that kind of switch.
        arrived = {(VARIANTS.get(v, v), metric) for v in ALL for _p, _prio, metric in samples(v)}
        recorded = {cell for cell in recorded_cells("snmp") if cell[0] in ALL}
        assert len(recorded) > 8 * len(VENDORS) / 2, "the page tells next to nothing"
        for profile, metric in sorted(recorded - arrived):
            print(f"{profile}: docs/coverage.md says 'snmp R' of {metric}, which never arrived in the database")
            failed += 1
        profiles = dict(db.execute("select device, profile from devices"))
        for v in ALL:
            if profiles.get(v) != VARIANTS.get(v, v):
                print(f"{v}: profile {profiles.get(v)} was chosen")
                failed += 1

        # Directions that must never be mixed up: what each change of the configuration does to what is read back.
        stored = {}
        for device, port, prio, metric, value in samples_db.rows(rocewatch, database, "select device, port, priority, metric, value from samples where metric like 'cfg.pg_%'"):
            stored[(device, port, prio, metric)] = int(value)
        headroom, level = "cfg.pg_headroom_bytes", "cfg.pg_xoff_level_bytes"
        for base, variant, port, more_headroom, more_level in (
                ("nxos", "nxos-headroom", "Ethernet1/1", 208, 0),      # a cell more of buffer: headroom, and the level stays
                ("nxos", "nxos-xoff", "Ethernet1/1", -416, 416),       # pause sent later: the level up, and headroom shrinks by as much
                ("dell-os9", "dell-os9-headroom", "fortyGigE 0/0", DELL_CELL, None)):
            for metric, more in ((headroom, more_headroom), (level, more_level)):
                if more is None:
                    continue
                was, now = stored.get((base, port, 3, metric)), stored.get((variant, port, 3, metric))
                if was is None or now is None or now - was != more:
                    print(f"{variant}: {metric} was {was}, is {now}, expected {more:+d}")
                    failed += 1
        declared = {bool("estimated" in flags) for (flags,) in samples_db.rows(rocewatch, database, f"select coalesce(flags, '') from samples where device = 'dell-os9' and metric = '{headroom}'")}
        if declared != {True}:
            print(f"dell-os9: headroom from a declared cell must be flagged estimated, is {declared}")
            failed += 1

        # `profile test` by address: no device of the configuration
        tests = {}
        for v in VENDORS + ["cumulus-no-cell"]:
            tests[v] = subprocess.Popen([rocewatch, "-c", config, "profile", "test", f"127.0.0.1:{port_number}", "--community-file",
                                         os.path.join(work, "c-" + v), "--for", "1s", "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for v in tests:
            out, err = tests[v].communicate(timeout=stretched(90))
            if tests[v].returncode != 0:
                print(f"{v}: profile test: exit {tests[v].returncode}: {err.strip()[-300:]}")
                failed += 1
                continue
            doc = json.loads(out)
            wrong = test_columns(v, doc, walks[v], expected[v])
            print(f"{v}: profile test: {len(doc['columns'])} columns, {len(wrong)} differ from the walk")
            for w in wrong[:8]:
                print("   " + w)
            failed += bool(wrong)
    finally:
        os.killpg(sim.pid, signal.SIGKILL)
        sim.wait()
        if not os.environ.get("KEEP"):
            shutil.rmtree(work, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
