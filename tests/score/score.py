#!/usr/bin/env python3
"""score - how often rocewatch is right on simulated fabrics: scenarios x seeds x cadences x faces, with and without packets.

Each run records a case with rocewatch-lab, replays it with rocewatch, and compares with truth.json (judge.py). Results are appended to a file, one
JSON object a line, so that an interrupted score goes on where it stopped. The matrix is walked in rounds: each round visits every scenario, face and
cadence once, each on a fabric of its own: no seed of a scenario is seen twice, so that a row of n runs is n fabrics. Only a run with captures shares its
fabric, with the run without. The tables are made of complete rounds of one program only: each result holds what the programs' files add up to, and a file
with results of others is refused. Tune on seeds 1-20, score on 10001-19999 (the default).
"""
import argparse
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
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from judge import judge, links, told_per_hour  # noqa: E402
import table  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

FACES = ["full", "sonic-gnmi", "sonic-snmp", "nxos-snmp", "eos-snmp", "cumulus-snmp"]
CADENCES = ["1s", "10s", "30s"]
AFTER_ONSET_S = {"1s": 420, "10s": 420, "30s": 1200}  # how long a fault is watched
QUIET_S = {"1s": 600, "10s": 3600, "30s": 4 * 3600}   # how long a healthy fabric is
ONSET_SPREAD_S = 60  # the fault begins at the scenario's time and up to this later, drawn by the seed: windows do not begin with it
# 512 ports with 2 GB a run at 1 s: visited in every so many rounds, beginning with the first, and recorded from and to s around the onset.
EVERY_ROUNDS = {("node-047", "1s"): 5}
SHORT_S = {("node-047", "1s"): (120, 180)}
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
    with open(os.path.join(options.scenario_dir, name + ".yaml"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("at:"):
                return seconds(line.split(":", 1)[1].split("#")[0].strip())
    return 240.0


def drawn(*what):
    """A number from 0 to 1 that follows from @what."""
    return int(hashlib.sha256("/".join(str(w) for w in what).encode()).hexdigest()[:8], 16) / 2 ** 32


def onset_s(c, options):
    """When the fault begins; None: when the scenario says."""
    if c["quiet"]:
        return None
    at = SHORT_S.get((c["scenario"], c["cadence"]), (at_s(c["scenario"], options),))[0]
    return at + round(ONSET_SPREAD_S * drawn("onset", c["scenario"], c["seed"]), 3) if at > 0 else None


def length_s(c, options):
    if c["quiet"]:
        return QUIET_S[c["cadence"]] * (1 if c["cadence"] == "1s" else options.quiet)
    after = SHORT_S.get((c["scenario"], c["cadence"]), (0, AFTER_ONSET_S[c["cadence"]]))[1]
    return (onset_s(c, options) or at_s(c["scenario"], options)) + after


def captures(options, face, cadence):
    """Without, with captures, or both. "some": the full face at 10 s has both."""
    if options.packets == "some":
        return [False, True] if (face, cadence) == ("full", "10s") else [False]
    return options.packets


def groups_of_round(options, turn):
    """The runs of a round, in an order drawn by the round: those of one fabric stand together. Each view of a scenario has the next seed, so it takes
    rounds x views of them; a round for which too few are left has no runs."""
    first, last = options.seeds
    n = last - first + 1
    views = [(face, cadence) for cadence in options.cadences for face in options.faces]
    if (turn + 1) * len(views) > n:
        return
    groups = [(name, cause, view) for name, cause in scenario_rows(options) for view in range(len(views))]
    random.Random(turn).shuffle(groups)
    for name, cause, view in groups:
        face, cadence = views[view]
        if turn % EVERY_ROUNDS.get((name, cadence), 1):
            continue
        seed = first + (int(drawn(name) * 1e6) + turn * len(views) + view) % n
        perturb = options.perturb[(turn + view) % len(options.perturb)]
        yield [{"scenario": name, "face": face, "cadence": cadence, "packets": packets, "perturb": perturb, "seed": seed, "quiet": cause == "none"}
               for packets in captures(options, face, cadence)]


def key(c):
    return "/".join(str(c[k]) for k in ("scenario", "face", "cadence", "packets", "perturb", "seed"))


def case_folder(c, options):
    """Where the recorded case of a run lies, and whether it stays there: kept cases are named by what they were recorded from."""
    if not options.cases:
        return tempfile.mkdtemp(prefix="score-", dir=options.tmp), False
    return os.path.join(options.cases, key(c).replace("/", ",") + f",{length_s(c, options):.0f}s"), True


def run(c, options):
    work, kept = case_folder(c, options)
    t0 = time.monotonic()
    try:
        length, onset = length_s(c, options), onset_s(c, options)
        record = [options.lab, "record", "--begin", "1970-01-01T00:00:00Z", c["scenario"], "--out", work, "--seed", str(c["seed"]), "--interval", c["cadence"], "--face", c["face"], "--for",
                  f"{length * 1000:.0f}ms"]
        if onset:
            record += ["--at", f"{onset * 1000:.0f}ms"]
        if options.cache:
            record += ["--cache", options.cache]
        if c["packets"]:
            record.append("--packets")
        if c["perturb"]:
            record += ["--perturb", str(c["seed"])]
        if not os.path.exists(os.path.join(work, "truth.json")):
            r = subprocess.run(record, capture_output=True, text=True, timeout=HANG_S)
            if r.returncode:
                return {**c, "verdict": "error", "error": "record: " + r.stderr.strip()[-300:]}
        truth = json.load(open(os.path.join(work, "truth.json"), encoding="utf-8"))
        r = subprocess.run([options.rocewatch, "replay", "--from", work, "--format", "json"], capture_output=True, text=True, timeout=HANG_S)
        if r.returncode:
            return {**c, "verdict": "error", "error": "replay: " + r.stderr.strip()[-300:]}
        answer = json.loads(r.stdout)
        peers = links(open(os.path.join(work, "fabric.yaml"), encoding="utf-8").read())
        out = {**c, "hours": length / 3600, **judge(truth, answer["incidents"], peers)}
        out["usd_true"] = truth["usd_per_hour"]
        out["usd_told"] = told_per_hour(answer["incidents"])
        out["truth"] = [{k: f.get(k) for k in ("cause", "subject", "device", "port", "host", "group")} for f in truth.get("faults", [])]
        out["took_s"] = round(time.monotonic() - t0, 2)
        return out
    except (subprocess.TimeoutExpired, OSError, ValueError, KeyError) as e:
        return {**c, "verdict": "error", "error": f"{type(e).__name__}: {e}"[-300:]}
    finally:
        if not kept:
            shutil.rmtree(work, ignore_errors=True)


def complete_rounds(options, results):
    """How many of the first rounds have all their runs, the keys of these, and what is there of the round after them."""
    seen = set()
    for turn in range(options.rounds):
        asked = {key(c) for group in groups_of_round(options, turn) for c in group}
        there = sum(k in results for k in asked)
        if not asked:
            return turn, seen, "no seed is left"
        if there < len(asked):
            return turn, seen, f"{there} of {len(asked)} runs of round {turn + 1}"
        seen |= asked
    return options.rounds, seen, "all that was asked for"


def said_of(row):
    return "; ".join(f'{n["severity"]} {n["cause"]} {":".join(n["subject"].values())} {n["confidence"]}' for n in row.get("named", [])) or "nothing"


class Walk:
    """The rounds, group by group, by several threads; each result is appended to the file at once."""

    def __init__(self, options, results):
        self.options, self.results = options, results
        self.end = time.monotonic() + options.minutes * 60
        self.lock = threading.Lock()
        self.log = open(options.out, "a", encoding="utf-8")
        self.groups = (g for turn in range(options.rounds) for g in groups_of_round(options, turn))

    def next_group(self):
        with self.lock:
            for group in self.groups:
                todo = [c for c in group if key(c) not in self.results]
                if todo:
                    return todo
        return None

    def take(self, row):
        with self.lock:
            self.results[key(row)] = row
            self.log.write(json.dumps(row) + "\n")
            self.log.flush()
        if self.options.wrong and row["verdict"] not in ("right", "quiet"):
            print(f'{row["verdict"]:7} {key(row)}: truth {json.dumps(row.get("truth"))}: said {row.get("error", said_of(row))}', flush=True)

    def work(self):
        while time.monotonic() < self.end:
            group = self.next_group()
            if not group:
                return
            for c in group:
                if time.monotonic() >= self.end:
                    return
                self.take({**run(c, self.options), "program": self.options.program, "commit": self.options.commit})


def program_of(*programs):
    """What the files of the programs add up to, the detectors' and the simulation's: a commit does not say what was built."""
    sums = hashlib.sha256()
    for path in programs:
        with open(path, "rb") as f:
            sums.update(hashlib.sha256(f.read()).digest())
    version = subprocess.run([programs[0], "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    return f"{version}, files {sums.hexdigest()[:12]}"


def commit_of():
    """Commit and day of the tree that the score stands in; None without git, or where it was changed since."""
    git = ["git", "-C", os.path.dirname(os.path.abspath(__file__))]
    commit = subprocess.run([*git, "log", "-1", "--format=%h of %cs"], capture_output=True, text=True)
    changed = subprocess.run([*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True)
    return None if commit.returncode or changed.stdout.strip() else commit.stdout.strip()


def read_results(path, program):
    """{key: row} of the file; {} where there is none. A file with results of another program is refused: its name."""
    results = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            for line in f:
                row = json.loads(line)
                if row.get("program") != program:
                    raise ValueError(f"{path} holds results of {row.get('program') or 'a program that was not recorded'}; this is {program}: give another file with --out")
                results[key(row)] = row
    return results


def seed_range(text):
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--lab", required=True, help="the rocewatch-lab executable")
    p.add_argument("--rocewatch", required=True, help="the rocewatch executable")
    p.add_argument("--out", default="score.jsonl", help="results, appended to; runs that are there already are not run again")
    p.add_argument("--seeds", type=seed_range, default=(10001, 19999))
    p.add_argument("--scenarios", default=r"(?!tune-).*", help="regular expression; those of threshold tuning have a score of their own")
    p.add_argument("--faces", type=lambda s: s.split(","), default=FACES)
    p.add_argument("--cadences", type=lambda s: s.split(","), default=CADENCES)
    p.add_argument("--packets", type=lambda s: s if s == "some" else [bool(int(v)) for v in s.split(",")], default=[False],
                   help="0, 1 or 0,1: captures beside the counters; some: both on the full face at 10 s")
    p.add_argument("--perturb", type=lambda s: [bool(int(v)) for v in s.split(",")], default=[False, True], help="0, 1 or 0,1: the fabric's constants changed")
    p.add_argument("--rounds", type=int, default=20)
    p.add_argument("--minutes", type=float, default=600)
    p.add_argument("--quiet", type=float, default=1, help="times the hours (1 at 10 s, 4 at 30 s) of a fabric with nothing wrong")
    p.add_argument("--partial", action="store_true", help="print tables of all runs there are, also where no round is complete")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--tmp", default=None)
    p.add_argument("--cache", default=None, help="folder that keeps what was simulated, for the next face and cadence")
    p.add_argument("--cases", default=None, help="folder that keeps the recorded cases: a later score with the same folder only replays them")
    p.add_argument("--scenario-dir", default=os.path.join(here, "..", "fabric", "scenarios"))
    p.add_argument("--table", help="write the tables as markdown into this file, between its score marks")
    p.add_argument("--brief", action="store_true", help="the main tables only, between the marks of the last run")
    p.add_argument("--wrong", action="store_true", help="print each run that was not right")
    options = p.parse_args()
    options.program = program_of(options.rocewatch, options.lab)
    options.commit = commit_of()
    try:
        results = read_results(options.out, options.program)
    except ValueError as e:
        print(f"score: {e}", file=sys.stderr)
        return 2
    for folder in filter(None, (options.cases, options.cache)):
        os.makedirs(folder, exist_ok=True)
    begun = time.monotonic()
    walk = Walk(options, results)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in [pool.submit(walk.work) for _ in range(options.jobs)]:
            future.result()
    rounds, keys, there = complete_rounds(options, results)
    print(f"complete rounds: {rounds}; then {there}; {(time.monotonic() - begun) / 60:.1f} minutes", file=sys.stderr)
    if not options.partial:
        if rounds == 0:
            print(f"no round is complete ({there}): no table. Run it again to go on, or --partial for a look.", file=sys.stderr)
            return 2
        results = {k: r for k, r in results.items() if k in keys}
    write = table.brief if options.brief else table.markdown
    text = write(list(results.values()), None if options.partial else rounds)
    print(text)
    if options.table:
        table.into(options.table, text, table.LAST if options.brief else table.WHOLE)
    return 1 if any(r["verdict"] == "error" for r in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
