#!/usr/bin/env python3
"""test_lab.py ROCEWATCH - the lab through the front door: every scenario can be recorded and replayed, the same seed gives the same
bytes, faces hold back what such a switch does not answer, ECMP faults are found where they are, and healthy fabrics stay quiet."""
import json, os, subprocess, sys, tempfile

rocewatch = sys.argv[1]
work = tempfile.mkdtemp(prefix="lab-")


def run(*args, code=0):
    p = subprocess.run([rocewatch, *args], capture_output=True, text=True)
    if p.returncode != code:
        sys.exit(f"{' '.join(args)}: exit code {p.returncode}, expected {code}\n{p.stderr[:2000]}")
    return p


def record(name, seed=1, face="full", length="10m", tag=""):
    out = os.path.join(work, f"{name}-{seed}-{face}{tag}")
    run("lab", "record", name, "--out", out, "--seed", str(seed), "--face", face, "--for", length)
    return out


def incidents(case):
    return json.loads(run("replay", "--from", case, "--format", "json").stdout)["incidents"]


def truth(case):
    with open(os.path.join(case, "truth.json")) as f:
        return json.load(f)


def metrics(case):
    with open(os.path.join(case, "samples.tsv")) as f:
        return {line.split("\t")[4] for line in f if not line.startswith("#")}


def expect(ok, what):
    if not ok:
        sys.exit(what)


names = [line.split()[0] for line in run("lab", "list").stdout.splitlines()]
expect(len(names) > 20, f"only {len(names)} scenarios")
for name in names:
    if name != "node-047":  # a thousand ports: below, shorter
        incidents(record(name, length="2m"))

for seed in (1, 2, 3):
    case = record("ecmp-stuck", seed)
    where = truth(case)["faults"][0]["device"]
    found = [i for i in incidents(case) if i["cause"] == "ecmp_imbalance"]
    expect(any(i["subject"]["device"] == where and i["subject"]["group"] == "uplinks" for i in found), f"ecmp-stuck, seed {seed}: not found at {where}")
for name in ("healthy", "healthy-shuffle", "checkpoint", "counter-reset"):
    for face in ("full", "sonic-snmp"):
        got = [i["cause"] for i in incidents(record(name, face=face))]
        expect(not got, f"{name}, face {face}: {got}")

a, b = record("incast", 7, tag="a"), record("incast", 7, tag="b")
for name in ("samples.tsv", "fabric.yaml", "truth.json"):
    with open(os.path.join(a, name)) as x, open(os.path.join(b, name)) as y:
        expect(x.read() == y.read(), f"{name} differs between two recordings of one seed")

for face, absent in (("sonic-snmp", {"queue.ecn_marked", "queue.watermark_bytes", "pfc.rx_pause_ns", "pg.drops"}), ("sonic-gnmi", {"pfc.tx_pause_ns", "queue.ecn_marked"}),
                     ("cumulus-snmp", {"pfc.rx_pause_ns", "queue.watermark_bytes"}), ("nxos-snmp", {"queue.ecn_marked", "pg.drops"})):
    got = metrics(record("incast", face=face, length="1m"))
    expect(not got & absent, f"{face} answers {got & absent}")
    expect("pfc.tx_frames" in got, f"{face} has no PFC frames")

half = truth(record("ecmp-half", length="20m"))
expect(abs(half["lost_ratio"] - 450 / 2100) < 1e-4 and abs(half["usd_per_hour"] * 96 - 157988.57) < 10, f"the 21.4 % story: {half}")
node = truth(record("node-047", length="20s"))
expect(abs(node["step_in_fault_s"] - node["step_s"] - 0.028) < 1e-6 and abs(node["usd_per_hour"] - 955.73) < 0.01 and
       node["faults"][0]["host"] == "node-047", f"the story of node-047: {node}")

expect("did you mean 'incast'" in run("lab", "record", "incats", "--out", work + "/x", code=2).stderr, "no hint for a misspelt scenario")
run("lab", "record", "healthy", code=2)
run("lab", "record", "healthy", "--out", work + "/x", "--face", "ios", code=2)
run("lab", "nonsense", code=2)
subprocess.run(["rm", "-rf", work], check=True)
print(f"{len(names)} scenarios")
