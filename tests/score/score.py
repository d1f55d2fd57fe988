#!/usr/bin/env python3
"""score - how often rocewatch is right on simulated fabrics: scenarios x seeds x cadences x faces, with and without packets.

Each run records a case with rocewatch-lab, replays it with rocewatch, and compares with truth.json (judge.py). Results are appended to a file, one
JSON object a line, so that an interrupted score goes on where it stopped. The matrix is walked in rounds: each round visits every scenario, face
and cadence once, with another seed, until the time is up. Tune on seeds 1-20, score on 1001-1100 (the default).
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from judge import judge, links  # noqa: E402
import table  # noqa: E402

FACES = ["full", "sonic-gnmi", "sonic-snmp", "nxos-snmp", "cumulus-snmp"]
CADENCES = ["1s", "10s", "30s"]
AFTER_ONSET_S = {"1s": 420, "10s": 420, "30s": 1200}  # how long a fault is watched
QUIET_S = {"1s": 600, "10s": 3600, "30s": 4 * 3600}   # how long a healthy fabric is
UNIT_S = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text):
    m = re.fullmatch(r"([0-9.]+)(ms|s|m|h|d)", text.split("..")[-1].strip())
    return float(m[1]) * UNIT_S[m[2]]


def scenario_rows(options):
    out = subprocess.run([options.lab, "list"], capture_output=True, text=True, check=True).stdout
    rows = []
    for line in out.splitlines():
        name, cause = line.split()[:2]
        if re.fullmatch(options.scenarios, name):
            rows.append((name, cause))
    return rows


def at_s(name, options):
    for line in open(os.path.join(options.scenario_dir, name + ".yaml"), encoding="utf-8"):
        if line.startswith("at:"):
            return seconds(line.split(":", 1)[1].split("#")[0].strip())
    return 240.0


def cells(options):
    """Endless rounds of runs. Each (scenario, cadence, perturbed or not) of a round is one simulated fabric that all faces look at; they come in an order
    drawn by the round, so that a score that is cut short has still seen some of everything."""
    rows = scenario_rows(options)
    first, last = options.seeds
    n = last - first + 1
    for turn in range(options.rounds):
        groups = [(name, cause, cadence, perturb) for name, cause in rows for cadence in options.cadences for perturb in options.perturb]
        random.Random(turn).shuffle(groups)
        for name, cause, cadence, perturb in groups:
            h = int(hashlib.sha256(f"{name}/{cadence}/{perturb}".encode()).hexdigest()[:8], 16)
            for face in options.faces:
                for packets in options.packets:
                    yield {"scenario": name, "face": face, "cadence": cadence, "packets": packets, "perturb": perturb, "seed": first + (h + turn) % n,
                           "quiet": cause == "none"}


def key(c):
    return "/".join(str(c[k]) for k in ("scenario", "face", "cadence", "packets", "perturb", "seed"))


def case_folder(c, options):
    """Where the recorded case of a run lies, and whether it stays there: kept cases are named by what they were recorded from."""
    if not options.cases:
        return tempfile.mkdtemp(prefix="score-", dir=options.tmp), False
    return os.path.join(options.cases, key(c).replace("/", ",")), True


def run(c, options):
    work, kept = case_folder(c, options)
    t0 = time.monotonic()
    try:
        length = QUIET_S[c["cadence"]] if c["quiet"] else at_s(c["scenario"], options) + AFTER_ONSET_S[c["cadence"]]
        record = [options.lab, "record", c["scenario"], "--out", work, "--seed", str(c["seed"]), "--interval", c["cadence"], "--face", c["face"], "--for",
                  f"{length:.0f}s"]
        if options.cache:
            record += ["--cache", options.cache]
        if c["packets"]:
            record.append("--packets")
        if c["perturb"]:
            record += ["--perturb", str(c["seed"])]
        if not os.path.exists(os.path.join(work, "truth.json")):
            r = subprocess.run(record, capture_output=True, text=True, timeout=900)
            if r.returncode:
                return {**c, "verdict": "error", "error": "record: " + r.stderr.strip()[-300:]}
        truth = json.load(open(os.path.join(work, "truth.json"), encoding="utf-8"))
        r = subprocess.run([options.rocewatch, "replay", "--from", work, "--format", "json"], capture_output=True, text=True, timeout=900)
        if r.returncode:
            return {**c, "verdict": "error", "error": "replay: " + r.stderr.strip()[-300:]}
        answer = json.loads(r.stdout)
        peers = links(open(os.path.join(work, "fabric.yaml"), encoding="utf-8").read())
        out = {**c, "hours": length / 3600, **judge(truth, answer["incidents"], peers)}
        out["truth"] = [{k: f.get(k) for k in ("cause", "subject", "device", "port", "host", "group")} for f in truth.get("faults", [])]
        out["took_s"] = round(time.monotonic() - t0, 2)
        return out
    except (subprocess.TimeoutExpired, OSError, ValueError, KeyError) as e:
        return {**c, "verdict": "error", "error": f"{type(e).__name__}: {e}"[-300:]}
    finally:
        if not kept:
            shutil.rmtree(work, ignore_errors=True)


def seed_range(text):
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--lab", required=True, help="the rocewatch-lab executable")
    p.add_argument("--rocewatch", required=True, help="the rocewatch executable")
    p.add_argument("--out", default="score.jsonl", help="results, appended to; runs that are there already are not run again")
    p.add_argument("--seeds", type=seed_range, default=(1001, 1100))
    p.add_argument("--scenarios", default=r"(?!tune-).*", help="regular expression; those of threshold tuning have a score of their own")
    p.add_argument("--faces", type=lambda s: s.split(","), default=FACES)
    p.add_argument("--cadences", type=lambda s: s.split(","), default=CADENCES)
    p.add_argument("--packets", type=lambda s: [bool(int(v)) for v in s.split(",")], default=[False], help="0, 1 or 0,1")
    p.add_argument("--perturb", type=lambda s: [bool(int(v)) for v in s.split(",")], default=[False, True], help="0, 1 or 0,1: the fabric's constants changed")
    p.add_argument("--rounds", type=int, default=1000)
    p.add_argument("--minutes", type=float, default=55)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--tmp", default=None)
    p.add_argument("--cache", default=None, help="folder that keeps what was simulated, for the next face and cadence")
    p.add_argument("--cases", default=None, help="folder that keeps the recorded cases: a later score with the same folder only replays them")
    p.add_argument("--scenario-dir", default=os.path.join(here, "..", "fabric", "scenarios"))
    p.add_argument("--table", help="write the tables as markdown into this file, between its score marks")
    p.add_argument("--wrong", action="store_true", help="print each run that was not right")
    options = p.parse_args()

    done = {}
    if os.path.exists(options.out):
        for line in open(options.out, encoding="utf-8"):
            row = json.loads(line)
            done[key(row)] = row
    end = time.monotonic() + options.minutes * 60
    results = dict(done)
    asked = set()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, open(options.out, "a", encoding="utf-8") as log:
        running = collections.deque()
        todo = iter(cells(options))

        def finish(future):
            row = future.result()
            results[key(row)] = row
            log.write(json.dumps(row) + "\n")
            log.flush()
            if options.wrong and row["verdict"] not in ("right", "quiet"):
                said = "; ".join(f'{n["severity"]} {n["cause"]} {":".join(n["subject"].values())} {n["confidence"]}' for n in row.get("named", [])) or "nothing"
                print(f'{row["verdict"]:7} {key(row)}: truth {json.dumps(row.get("truth"))}: said {row.get("error", said)}', flush=True)
        for c in todo:
            if time.monotonic() > end or len(asked) > 10 * len(results) + 100000:
                break
            if key(c) in results or key(c) in asked:
                continue
            asked.add(key(c))
            running.append(pool.submit(run, c, options))
            while len(running) >= 2 * options.jobs:
                finish(running.popleft())
        while running:
            finish(running.popleft())
    text = table.markdown(list(results.values()))
    print(text)
    if options.table:
        table.into(options.table, text)
    return 1 if any(r["verdict"] == "error" for r in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
