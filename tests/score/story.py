#!/usr/bin/env python3
"""story - the case that this product exists for: one host of 64 came back from a re-image without DCQCN. For each kind of switch, each cadence and seed:
is the host named, by which cause, which share of the job's loss is laid at it, what it costs, how long after the onset it was said.

Where a face counts ECN marks the cause is dcqcn_off. Where it does not, nobody can prove that the host ignores them: `unknown` that names the host is right.

    tests/score/story.py --lab rocewatch-lab --rocewatch rocewatch --seeds 1-3
    tests/score/story.py --build build/release --live --faces cumulus,sonic-gnmi

Exits with 1 when a row is wrong. --live: a lab run with an agent that polls it, at 1 s, by the faces of `lab run`.
"""
import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "fabric"))
from judge import wilson  # noqa: E402

FACES = ["full", "sonic-gnmi", "sonic-snmp", "eos-snmp", "nxos-snmp", "cumulus-snmp"]
NO_MARKS = {"sonic-snmp", "nxos-snmp", "sonic", "nxos"}  # ECN marks are not counted: the cause cannot be proven
AFTER_S = {"1s": 90, "10s": 240, "30s": 600}
SCENARIO, AT_S = "node-047", {"1s": 60, "10s": 240, "30s": 600}


def stamp(text):
    """Seconds of an ISO time of 1970, as replay prints them."""
    h, m, s = text.split("T")[1].rstrip("Z").split(":")
    return int(h) * 3600 + int(m) * 60 + float(s)


def about(incident, host):
    return host in (incident["subject"]["host"], *incident["subject"]["hosts"])


def row_of(face, incidents, host, onset_s, when=stamp):
    """What a person reads: the incident of the host, and whether anything else is blamed beside it."""
    loud = [i for i in incidents if i["severity"] != "info" and not i["parent"]]
    mine = [i for i in loud if about(i, host)]
    # a machine that is too busy to serve every switch every second has gaps, which are true and not the story's
    others = [i for i in loud if not about(i, host) and i["cause"] not in ("unknown", "telemetry_gap")]
    if not mine:
        return {"right": False, "host": None, "cause": ",".join(sorted({i["cause"] for i in loud})) or "nothing", "others": len(others)}
    top = mine[0]
    right = top["cause"] == "dcqcn_off" or (face in NO_MARKS and top["cause"] == "unknown" and bool(top["not_proved"]))
    return {"right": right and not others and len(mine) == 1, "host": host, "cause": top["cause"], "others": len(others) + len(mine) - 1,
            "confidence": top["confidence_ratio"], "explained": top["explained_ratio"], "usd": top["usd_per_hour"], "after": when(top["opened"]) - onset_s,
            "collect": [t for t in top["not_proved"] if t.startswith("missing")]}


def replayed(options, face, cadence, seed):
    work = tempfile.mkdtemp(prefix="story-", dir=options.tmp)
    try:
        at = AT_S[cadence] + seed % 7 * 1.3
        record = [options.lab, "record", "--begin", "1970-01-01T00:00:00Z", SCENARIO, "--out", work, "--seed", str(seed), "--interval", cadence, "--face", face, "--at", f"{at * 1000:.0f}ms",
                  "--for", f"{(at + AFTER_S[cadence]) * 1000:.0f}ms", *(["--cache", options.cache] if options.cache else []),
                  *(["--perturb", str(seed)] if options.perturb else [])]
        subprocess.run(record, check=True, capture_output=True)
        truth = json.load(open(os.path.join(work, "truth.json"), encoding="utf-8"))
        out = subprocess.run([options.rocewatch, "replay", "--from", work, "--format", "json"], check=True, capture_output=True, text=True).stdout
        return row_of(face, json.loads(out)["incidents"], truth["faults"][0]["host"], truth["onset_s"])
    finally:
        shutil.rmtree(work, ignore_errors=True)


def live(options, face, cadence, seed):
    from live_lab import Live, parse_time
    work = tempfile.mkdtemp(prefix="story-", dir=options.tmp)
    lab = Live(options.build, os.path.join(work, SCENARIO), SCENARIO, face=face, at="40s", seed=seed)
    try:
        lab.start()
        lab.served()
        lab.agent()
        truth, end = lab.truth(), time.monotonic() + options.live_s
        host, row = truth["faults"][0]["host"], {}
        while time.monotonic() < end and not row.get("host"):
            time.sleep(2)
            row = row_of(face, lab.incidents(), host, parse_time(truth["onset"]) / 1e9, lambda t: parse_time(t) / 1e9)
        time.sleep(options.settle_s)  # throughput since the onset: the price needs some steps
        return row_of(face, lab.incidents(), host, parse_time(truth["onset"]) / 1e9, lambda t: parse_time(t) / 1e9)
    finally:
        Live.stop([lab])
        shutil.rmtree(work, ignore_errors=True)


def shown(face, cadence, seed, row):
    if not row["host"]:
        return f'{face:13} {cadence:4} {seed:5}  WRONG  no host; said {row["cause"]}'
    explained = "-" if row["explained"] is None else f'{100 * row["explained"]:.0f} %'
    usd = "-" if row["usd"] is None else f'${row["usd"]:.0f}/h'
    text = (f'{face:13} {cadence:4} {seed:5}  {"right" if row["right"] else "WRONG"}  {row["host"]} {row["cause"]} {row["confidence"]:.2f}  explains {explained}'
            f'  {usd}  after {row["after"]:.0f} s  beside it {row["others"]}')
    return text + (f'  collect: {len(row["collect"])} things' if row["cause"] == "unknown" else "")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build/release", help="folder with rocewatch and rocewatch-lab")
    p.add_argument("--lab")
    p.add_argument("--rocewatch")
    p.add_argument("--faces", type=lambda s: s.split(","), default=FACES)
    p.add_argument("--cadences", type=lambda s: s.split(","), default=["1s", "10s", "30s"])
    p.add_argument("--seeds", default="1-3")
    p.add_argument("--perturb", action="store_true")
    p.add_argument("--live", action="store_true")
    p.add_argument("--live-s", type=float, default=180, help="s to wait for the incident")
    p.add_argument("--settle-s", type=float, default=60, help="s to wait for the price")
    p.add_argument("--cache")
    p.add_argument("--tmp")
    options = p.parse_args()
    options.lab = options.lab or os.path.join(options.build, "rocewatch-lab")
    options.rocewatch = options.rocewatch or os.path.join(options.build, "rocewatch")
    first, _, last = options.seeds.partition("-")
    sums = collections.defaultdict(list)
    for cadence in ["1s"] if options.live else options.cadences:
        for seed in range(int(first), int(last or first) + 1):
            for face in options.faces:
                row = (live if options.live else replayed)(options, face, cadence, seed)
                sums[face, cadence].append(row)
                print(shown(face, cadence, seed, row), flush=True)
    print("\n| face | cadence | runs | right | p50 s after the onset | explains | price an hour |\n|---|---|---|---|---|---|---|")
    for (face, cadence), rows in sums.items():
        k, n = sum(r["right"] for r in rows), len(rows)
        low, high = wilson(k, n)
        found = sorted((r for r in rows if r["host"]), key=lambda r: r["after"])
        middle = found[len(found) // 2] if found else None
        number = "-" if middle is None else f'{middle["after"]:.0f}'
        explained = "-" if not middle or middle["explained"] is None else f'{100 * middle["explained"]:.0f} %'
        usd = "-" if not middle or middle["usd"] is None else f'${middle["usd"]:.0f}'
        print(f"| {face} | {cadence} | {n} | {100 * k / n:.0f} % ({100 * low:.0f}-{100 * high:.0f}) | {number} | {explained} | {usd} |")
    sys.exit(0 if all(r["right"] for rows in sums.values() for r in rows) else 1)


if __name__ == "__main__":
    main()
