#!/usr/bin/env python3
"""run.py ROCEWATCH - poll each vendor's walk through the agent and compare what was stored with expect.py's reading.

snmpsim serves the walks of walks.py (the community names the vendor), snmpbulkwalk and expect.py make the expected samples
without any part of rocewatch, and the agent polls the same simulator by the profile it chose itself. Every metric, port,
priority and value must agree, both ways: nothing missing, nothing made up. Exit 77 where snmpsim is not installed.
"""
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
VENDORS = ["generic", "sonic", "eos", "nxos", "cumulus", "onyx", "junos", "dell-os9"]


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(what, seconds, probe):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if probe():
            return
        time.sleep(0.1)
    sys.exit(f"{what}: not within {seconds} s")


def main():
    rocewatch = os.path.abspath(sys.argv[1])
    simulator = shutil.which("snmpsimd") or shutil.which("snmpsim-command-responder")
    if not simulator:
        print("snmpsim is not installed: skipped")
        return 77
    work = tempfile.mkdtemp(prefix="rw-profiles-")
    os.chmod(work, 0o755)
    data = os.path.join(work, "data")
    os.mkdir(data)
    for v in VENDORS:
        with open(os.path.join(data, v + ".snmprec"), "w") as f:
            subprocess.run([sys.executable, os.path.join(HERE, "walks.py"), v], stdout=f, check=True)
    port = free_port()
    args = [simulator, f"--data-dir={data}", f"--agent-udpv4-endpoint=127.0.0.1:{port}", f"--cache-dir={work}/cache"]
    if os.geteuid() == 0:
        args += ["--process-user=nobody", "--process-group=nogroup"]
        shutil.chown(work, "nobody")
    log = open(os.path.join(work, "snmpsim.log"), "w")
    sim = subprocess.Popen(args, stdout=log, stderr=log, start_new_session=True)
    failed = 0
    try:
        def get(v):
            return subprocess.run(["snmpget", "-v2c", "-c", v, "-On", "-m", "", "-t1", "-r0", f"127.0.0.1:{port}", ".1.3.6.1.2.1.1.5.0"],
                                  capture_output=True).returncode == 0
        wait_for("snmpsim", 20, lambda: get("generic"))
        expected = {}
        for v in VENDORS:
            walk = subprocess.run(["snmpbulkwalk", "-v2c", "-c", v, "-On", "-m", "", "-Cr20", f"127.0.0.1:{port}", ".1"], capture_output=True, text=True, check=True).stdout
            out = subprocess.run([sys.executable, os.path.join(HERE, "expect.py"), v], input=walk, capture_output=True, text=True, check=True).stdout
            expected[v] = {}
            for line in out.splitlines():
                p, prio, metric, value = line.split("\t")
                expected[v][(p, prio, metric)] = int(value)
            assert len(expected[v]) > 30, f"{v}: the second path found next to nothing"

        config = os.path.join(work, "rocewatch.yaml")
        database = os.path.join(work, "p.db")
        with open(config, "w") as f:
            f.write(f"fabric: profiles\nstore: {{ path: {database} }}\ndefaults: {{ interval: 1s, slow_interval: 30s, timeout: 2s, profile: auto }}\ncredentials:\n")
            for v in VENDORS:
                with open(os.path.join(work, "c-" + v), "w") as c:
                    c.write(v + "\n")
                f.write(f"  {v}: {{ snmp: {{ version: 2c, community_file: {work}/c-{v} }} }}\n")
            f.write("devices:\n")
            for v in VENDORS:
                f.write(f"  - {{ name: {v}, role: leaf, snmp: {{ address: \"127.0.0.1:{port}\", credentials: {v} }} }}\n")
            f.write("links: []\n")
        run = subprocess.run([rocewatch, "-c", config, "agent", "--for", "12s"], capture_output=True, text=True)
        if run.returncode != 0:
            print(run.stderr[-4000:])
            sys.exit(f"agent: exit {run.returncode}")
        db = sqlite3.connect(database)
        for v in VENDORS:
            got = {}
            for p, prio, metric, value in db.execute("select port, priority, metric, value from samples where device = ? order by t_ns", (v,)):
                got[(p or "-", "-" if prio is None else str(prio), metric)] = int(value)
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
        profiles = dict(db.execute("select device, profile from devices"))
        for v in VENDORS:
            if profiles.get(v) != v:
                print(f"{v}: profile {profiles.get(v)} was chosen")
                failed += 1
        # The two directions that must never be mixed up, on the vendor whose MIB shows both.
        nx = expected["nxos"]
        more = nx[("Ethernet1/1", "3", "cfg.pg_headroom_bytes")] + nx[("Ethernet1/1", "3", "cfg.pg_xoff_level_bytes")]
        assert more == 101921, "buffer size = level at which XOFF is sent + headroom behind it"
    finally:
        os.killpg(sim.pid, signal.SIGKILL)
        sim.wait()
        if not os.environ.get("KEEP"):
            shutil.rmtree(work, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
