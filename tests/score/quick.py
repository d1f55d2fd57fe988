#!/usr/bin/env python3
"""quick - a small part of the score for every build: has a family of faults fallen since the table was written?

Some scenarios of each kind, 10 s cadence, on the full face and on one other, fixed seeds. The verdicts are compared with quick.txt, by scenario and by
kind: a share of right answers below the 95 % Wilson interval of the table's fails the test. When more is right than in the table, the command that
writes it again is printed. It is a guard, not a measure: for figures see score.py.
"""
import argparse
import collections
import concurrent.futures
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import score  # noqa: E402
from judge import wilson  # noqa: E402

TABLE = os.path.join(HERE, "quick.txt")
# kind, scenario, its second face
CASES = [
    ("pause", "dcqcn-off", "sonic-gnmi"),
    ("pause", "incast", "cumulus-snmp"),
    ("pause", "slow-receiver", "sonic-snmp"),
    ("thresholds", "ecn-late", "sonic-gnmi"),
    ("thresholds", "headroom-small", "nxos-snmp"),
    ("thresholds", "xon-close", "nxos-snmp"),
    ("thresholds", "class-leak", "eos-snmp"),
    ("paths", "ecmp-stuck", "sonic-snmp"),
    ("paths", "missing-route", "eos-snmp"),
    ("paths", "dead-spine-link", "sonic-snmp"),
    ("links", "dirty-optic", "eos-snmp"),
    ("links", "link-100g", "sonic-snmp"),
    ("links", "missing-rail", "cumulus-snmp"),
    ("nothing", "healthy-hashed", "nxos-snmp"),
    ("nothing", "moe", "eos-snmp"),
    ("nothing", "checkpoint", "sonic-gnmi"),
]
GOOD = ("right", "quiet")


def read_table():
    rows = {}
    if os.path.exists(TABLE):
        for line in open(TABLE, encoding="utf-8"):
            if line.strip() and not line.startswith("#"):
                scenario, face, seed, verdict = line.split()
                rows[scenario, face, int(seed)] = verdict
    return rows


def write_table(rows):
    with open(TABLE, "w", encoding="utf-8") as f:
        f.write("# Expected verdicts of the quick score: scenario, face, seed, verdict. Written by quick.py --write.\n")
        for (scenario, face, seed), verdict in rows.items():
            f.write(f"{scenario} {face} {seed} {verdict}\n")


def shares(rows):
    """{family: [right, runs]} by scenario and by kind."""
    kind = {scenario: k for k, scenario, _ in CASES}
    out = collections.defaultdict(lambda: [0, 0])
    for (scenario, _, _), verdict in rows.items():
        for family in (scenario, f"all of {kind.get(scenario, 'no kind')}"):
            out[family][0] += verdict in GOOD
            out[family][1] += 1
    return out


def compare(before, now):
    """(families that fell by more than their interval, families that rose), as sentences."""
    fell, rose = [], []
    then, here = shares({k: v for k, v in before.items() if k in now}), shares({k: v for k, v in now.items() if k in before})
    for family, (k, n) in then.items():
        right = here[family][0]
        if right < wilson(k, n)[0] * n:
            fell.append(f"{family}: {right} of {n} right, were {k}")
        elif right > k:
            rose.append(f"{family}: {right} of {n} right, were {k}")
    return fell, rose


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--lab", required=True)
    p.add_argument("--rocewatch", required=True)
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--seeds", type=score.seed_range, default=(1, 1))
    p.add_argument("--write", action="store_true", help="what is now becomes the table")
    options = p.parse_args()
    options.scenario_dir, options.cases, options.tmp, options.quiet = os.path.join(HERE, "..", "fabric", "scenarios"), None, None, 0.2
    with tempfile.TemporaryDirectory(prefix="quick-") as options.cache:
        def group(case):
            _, scenario, other = case
            quiet = case[0] == "nothing"
            return [score.run({"scenario": scenario, "face": face, "cadence": "10s", "packets": False, "perturb": False, "seed": seed, "quiet": quiet}, options)
                    for seed in range(options.seeds[0], options.seeds[1] + 1) for face in ("full", other)]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            rows = [r for rs in pool.map(group, CASES) for r in rs]
    now = {(r["scenario"], r["face"], r["seed"]): r["verdict"] for r in rows}
    before = read_table()
    for r in rows:
        was = before.get((r["scenario"], r["face"], r["seed"]))
        if r["verdict"] != was or r["verdict"] == "error":
            print(f'{r["scenario"]} {r["face"]} seed {r["seed"]}: {r["verdict"]}, was {was}; said {r.get("error", score.said_of(r))}')
    if options.write:
        write_table(now)
        return 0
    missing = [k for k in now if k not in before]
    fell, rose = compare(before, now)
    good = sum(v in GOOD for v in now.values())
    print(f"{good} of {len(now)} right; the table has {sum(before.get(k) in GOOD for k in now)}")
    if rose and not fell:
        print("better: " + "; ".join(rose) + f"\nto keep it: {sys.executable} {os.path.relpath(__file__)} --lab {options.lab} --rocewatch {options.rocewatch} --write")
    if missing:
        print(f"not in the table: {missing}")
    for line in fell:
        print(f"FELL: {line}")
    return 1 if fell or missing or any(r["verdict"] == "error" for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
