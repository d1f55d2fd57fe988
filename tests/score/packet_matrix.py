#!/usr/bin/env python3
"""packet_matrix - diagnosis held against a simulator that it was not tuned on: tests/packetsim, each fault x seeds x cadences, replayed and judged.

Prints each run that is not right with what was said, and a table of what was right. The cases can be kept (--cases) and replayed again.
"""
import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from judge import judge, links, wilson  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

GOOD = ["--alpha", "1/4", "--kmin", "400KB", "--kmax", "1600KB", "--pmax", "5%"]
TIGHT = ["--alpha", "1/16", "--kmin", "400KB", "--kmax", "1600KB", "--pmax", "20%"]
WIDE = ["--leaves", "4", "--hosts", "8", "--spines", "4", "--steps", "6"]
RING = GOOD + WIDE + ["--workload", "ring", "--qps", "8", "--flow-kb", "500"]
PRESSED = ["--cause", "incast", "--accept", "ecn_late,pool_exhausted"]
CELLS = {  # what it is: options of packetsim
    "nothing, ring": RING,
    "nothing, ring, new ports each step": RING + ["--fresh", "1"],
    "nothing, shuffle": GOOD + WIDE + ["--workload", "shuffle", "--peers", "8", "--fresh", "1"],
    "nothing, storage": ["--alpha", "1", "--kmin", "400KB", "--kmax", "1600KB", "--pmax", "5%", "--workload", "storage", "--cause", "none"],
    "incast": GOOD + PRESSED,
    "incast, alpha 1/16": TIGHT + PRESSED,
    "incast, alpha 1/16, new ports each step": TIGHT + PRESSED + ["--fresh", "1"],
    "incast of 5, little pressure": TIGHT + PRESSED + ["--senders", "5", "--incast-kb", "400"],
    "incast of 3, alpha 1/16, fixed ports": TIGHT + PRESSED + ["--senders", "3", "--workload", "incast"],
    "late ECN": ["--alpha", "1/16", "--kmin", "1048KB", "--kmax", "2097KB", "--pmax", "5%", "--fresh", "1", "--cause", "ecn_late", "--accept", "incast,ecn_off"],
    "early ECN": ["--alpha", "1/4", "--kmin", "5KB", "--kmax", "20KB", "--pmax", "20%", "--fresh", "1", "--cause", "ecn_early"],
    "headroom small": GOOD + ["--headroom-factor", "0.5", "--alpha", "1/16", "--cause", "headroom_small", "--accept", "lossless_loss"],
    "cc-off": ["--kmin", "400KB", "--kmax", "1600KB", "--alpha", "1/8", "--workload", "incast", "--fresh", "1", "--fault", "cc-off"],
    "cc-off, alpha 1/4": ["--kmin", "400KB", "--kmax", "1600KB", "--alpha", "1/4", "--workload", "incast", "--fresh", "1", "--fault", "cc-off"],
    "cc-off, alpha 1/16, beside a shuffle": TIGHT + ["--fault", "cc-off", "--fresh", "1"],
    "cc-off, two hosts of a leaf": ["--kmin", "400KB", "--kmax", "1600KB", "--alpha", "1/8", "--workload", "incast", "--fresh", "1", "--fault", "cc-off-pair"],
    "slow receiver": GOOD + ["--workload", "shuffle", "--fault", "slow-receiver"],
    "bad cable": RING + ["--fault", "bad-cable"],
    "link down": RING + ["--fault", "link-down"],
    "link down, incast": GOOD + ["--fault", "link-down"],
    "slow link": RING + ["--fault", "slow-link"],
    "hash without ports": RING + ["--fault", "blind-hash"],
    "hash without ports, one leaf": RING + ["--fault", "blind-leaf"],
    "hash without ports, link down": RING + ["--fault", "blind-down"],
    "hash without ports, bad cable": RING + ["--fault", "blind-cable"],
    "no route": RING + ["--fault", "no-route"],
    "ECN off at a leaf": GOOD + ["--alpha", "1/8", "--fault", "ecn-off", "--fresh", "1"],
}
def has_incast(args):
    return "--workload" not in args or "incast" in args[args.index("--workload") + 1]


# Of the workload, not of the fault: many hosts do send to one, and where alpha is tight PFC does come before marks. To say so as well is not wrong.
BESIDE = {"incast": has_incast, "ecn_late": lambda args: "1/16" in args, "pool_exhausted": has_incast}
TIMES = {"1s": ["--interval", "1s", "--length", "300s"], "10s": ["--interval", "10s", "--length", "660s"], "30s": ["--interval", "30s", "--length", "1800s"]}
ONSET = {"1s": "120s", "10s": "240s", "30s": "600s"}


def case_of(options, name, cadence, seed):
    folder = os.path.join(options.cases or options.tmp_case, f"{name.replace(' ', '-').replace(',', '').replace('/', '_')}-{cadence}-{seed}")
    if os.path.exists(os.path.join(folder, "truth.json")):
        return folder
    args = [options.packetsim, *CELLS[name], *TIMES[cadence], "--seed", str(seed), "--out", folder, "--name", name.replace(",", "")]
    if "--fault" in args:
        args += ["--onset", ONSET[cadence]]
    r = subprocess.run(args, capture_output=True, text=True, timeout=HANG_S)
    if r.returncode:
        raise RuntimeError("packetsim: " + r.stderr.strip()[-300:])
    return folder


def said(incident):
    s = incident["subject"]
    where = ":".join(str(s[k]) for k in ("device", "port", "host", "group") if s.get(k))
    return f"{incident['cause']} {where} {incident['severity']} {incident['confidence_ratio'] or 0:.2f}{' (inside another)' if incident.get('parent') else ''}"


def one(options, name, cadence, seed):
    folder = case_of(options, name, cadence, seed)
    r = subprocess.run([options.rocewatch, "replay", "--from", folder, "--format", "json"], capture_output=True, text=True, timeout=HANG_S)
    if r.returncode:
        raise RuntimeError("replay: " + r.stderr.strip()[-300:])
    with open(os.path.join(folder, "truth.json"), encoding="utf-8") as f:
        truth = json.load(f)
    with open(os.path.join(folder, "fabric.yaml"), encoding="utf-8") as f:
        peers = links(f.read())
    incidents = json.loads(r.stdout)["incidents"]
    beside = {cause for cause, test in BESIDE.items() if test(CELLS[name])} - set(truth["accept"])
    incidents = [i for i in incidents if i["cause"] not in beside]
    out = judge(truth, incidents, peers)
    out["said"] = [said(i) for i in incidents if i["severity"] != "info" and not i.get("parent")]
    out.update(name=name, cadence=cadence, seed=seed, case=folder)
    if not options.cases:
        shutil.rmtree(folder, ignore_errors=True)
    return out


def pct(k, n):
    low, high = wilson(k, n)
    return f"{k} of {n} ({100 * low:.0f}-{100 * high:.0f} %)"


def table(rows):
    out = ["| what is wrong | runs | right | abstained | wrong root | false warnings beside | what was said wrongly |", "|---|---|---|---|---|---|---|"]
    for name in dict.fromkeys(r["name"] for r in rows):
        mine = [r for r in rows if r["name"] == name]
        count = collections.Counter(r["verdict"] for r in mine)
        wrong = collections.Counter(n["cause"] for r in mine for n in r["named"] if n["severity"] != "info" and not n["right"] and n["cause"] != "unknown")
        words = ", ".join(f"{c} {k}" for c, k in wrong.most_common(4)) or "-"
        out.append(f"| {name} | {len(mine)} | {count['right'] + count['quiet']} | {count['unknown'] + count['silent'] + count['half']} | {count['wrong'] + count['alarm']} | "
                   f"{sum(r['false'] for r in mine)} | {words} |")
    good = sum(r["verdict"] in ("right", "quiet") for r in rows)
    bad = sum(r["verdict"] in ("wrong", "alarm") for r in rows)
    out.append(f"| **all** | {len(rows)} | {pct(good, len(rows))} | {len(rows) - good - bad} | {pct(bad, len(rows))} | {sum(r['false'] for r in rows)} | |")
    return "\n".join(out) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--packetsim", required=True)
    p.add_argument("--rocewatch", required=True)
    p.add_argument("--seeds", default="1-3")
    p.add_argument("--cadences", default="1s,10s")
    p.add_argument("--cells", default="", help="part of a name")
    p.add_argument("--cases", help="keep the recorded cases in this folder, and use those that are there")
    options = p.parse_args()
    first, _, last = options.seeds.partition("-")
    rows = []
    with tempfile.TemporaryDirectory(prefix="packet-matrix-") as options.tmp_case:
        if options.cases:
            os.makedirs(options.cases, exist_ok=True)
        for name in CELLS:
            for cadence in options.cadences.split(",") if options.cells in name else []:
                for seed in range(int(first), int(last or first) + 1):
                    row = one(options, name, cadence, seed)
                    rows.append(row)
                    if row["verdict"] not in ("right", "quiet") or row["false"]:
                        print(f"{row['verdict']:8} {row['case']}: {'; '.join(row['said'][:6]) or 'nothing'}", flush=True)
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
