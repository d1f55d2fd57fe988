#!/usr/bin/env python3
"""oracle - what a face could tell: a bound beside which the score of a face is read.

For each scenario, cases are recorded on the full face (seeds 1-12, every second one perturbed), and what their counters do is put into numbers: for each
metric and kind of port (to hosts, to spines, of spines) the change from before the onset to after it, at the port where it is largest and smallest and
in the middle; how many settings changed; which switches fell silent. What is wrong from the start has no onset, and no bound. A face has the metrics
that its recordings have. A forest of random trees (Geurts 2006, extremely randomized) learns from labelled cases which scenario such numbers belong
to, and is asked about cases it did not learn from (cross-validation by seed). Where it takes one scenario for another with another cause, the face
does not tell them apart; where it takes it for a fabric with nothing wrong, nothing that this face counts moves. It knows which faults exist and has
seen each under the same traffic, so it is an optimist about the cause; it is no strict bound either, for a rule can use what these numbers leave out.
The place of a fault is not asked of it.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import score  # noqa: E402

FACES = ["full", "sonic-gnmi", "cumulus-gnmi", "openconfig-gnmi", "nxos-snmp", "eos-snmp", "cumulus-snmp", "sonic-snmp"]
GAUGES = ("optic.", "port.pre_fec_ber", "queue.depth_bytes")
STATES = ("cfg.", "port.oper_up", "port.speed_bps", "port.mtu_bytes")
UNITS = {"octets": 1e6, "packets": 1e3, "pause_ns": 1e5, "pause_ns_hi": 1e5, "bytes": 1e4, "dbm": 0.3, "temperature_c": 3, "ber": 0.5, "corrected": 1e3}
SETTLE_S, AFTER_S = 20, 330


def unit_of(metric):
    return next((u for end, u in UNITS.items() if metric.endswith(end)), 0.05)


# ---- a case as numbers -----------------------------------------------------

def port_groups(fabric_text):
    groups = {}
    for end, peer in score.links(fabric_text).items():
        if not end.startswith("host:"):
            groups[end] = "host" if peer.startswith("host:") else "spine" if "spine" in end.split(":")[0] else "up"
    return groups


def group_of(groups, device, port):
    return "device" if port == "-" or ":" in port else groups.get(f"{device}:{port}", "other")


def settings_numbers(values, prefix, out):
    """@values: [(before, after)] of one setting in a group: does one differ from the others, did one change, how large is it?"""
    after = [a for _, a in values]
    common = collections.Counter(after).most_common(1)[0]
    out[prefix + ":odd"] = math.log2(1 + len(after) - common[1])
    out[prefix + ":changed"] = math.log2(1 + sum(b is not None and b != a for b, a in values))
    try:
        out[prefix + ":level"] = math.asinh(float(common[0]))
    except ValueError:
        pass


def moving_numbers(values, unit, prefix, out):
    """@values: [(before, after)] of one metric in a group. What is 5 % of the usual, or less than a unit, is noise."""
    usual = sorted(abs(b) for b, _ in values)[len(values) // 2]
    moves = sorted(math.asinh((a - b) / (unit + 0.05 * usual)) for b, a in values)
    levels = sorted(math.asinh(a / unit) for _, a in values)
    for name, v in (("move", moves), ("level", levels)):
        out[f"{prefix}:{name}:max"], out[f"{prefix}:{name}:min"], out[f"{prefix}:{name}:mid"] = v[-1], v[0], v[len(v) // 2]
    out[f"{prefix}:spread"] = math.log2(1 + sum(m > moves[-1] / 2 for m in moves)) if moves[-1] > 0.5 else 0
    out[f"{prefix}:second"] = moves[-1] - moves[-2] if len(moves) > 1 else 0


def read_samples(lines, onset):
    """{(device, port, metric): [first before, last before, first after, last after, sum before, n, sum after, n]}; of a state its texts before and after;
    and {device: times at which it answered}."""
    seen, answered = {}, collections.defaultdict(list)
    for line in lines:
        time, device, port, priority, metric, value = line.split("\t", 6)[:6]
        t, name = float(time), (device, port, metric if priority == "-" else f"{metric}/{priority}")
        at = seen.setdefault(name, [None] * 4 + [0.0, 0, 0.0, 0])
        if not answered[device] or answered[device][-1] < t <= onset + AFTER_S:
            answered[device].append(t)
        if metric.startswith(STATES):
            at[0 if t < onset else 1] = value.rstrip("\n")
            continue
        v = float(value)
        if metric == "port.pre_fec_ber":
            v = math.log10(v) if v > 0 else -12
        where = 0 if t < onset else 2
        if where and not SETTLE_S <= t - onset <= AFTER_S:
            continue
        if at[where] is None:
            at[where] = (t, v)
        at[where + 1] = (t, v)
        at[4 + where] += v
        at[5 + where] += 1
    return seen, answered


def rate(a, b):
    return max(0.0, (b[1] - a[1]) / (b[0] - a[0])) if a and b and b[0] > a[0] else 0.0


def silent_devices(answered, onset):
    """How many switches did not answer for a minute after the onset. @answered: {device: times of its samples, ascending}."""
    def gap(times):
        after = [onset] + [t for t in times if t >= onset] + [onset + AFTER_S]
        return max(b - a for a, b in zip(after, after[1:]))
    return sum(gap(times) > 60 for times in answered.values())


def gather(seen, groups):
    """{(metric, kind of port): [(before, after)]}."""
    gathered = collections.defaultdict(list)
    for (device, port, metric), at in seen.items():
        key = (metric, group_of(groups, device, port))
        if metric.startswith(STATES):
            gathered[key].append((at[0], at[1] if at[1] is not None else at[0]))
        elif metric.startswith(GAUGES) or "watermark" in metric:
            if at[7]:
                gathered[key].append((at[4] / at[5] if at[5] else 0.0, at[6] / at[7]))
        elif at[2] and at[3] and at[3][0] > at[2][0]:
            gathered[key].append((rate(at[0], at[1]), rate(at[2], at[3])))
    return gathered


def case_numbers(folder, onset):
    with open(os.path.join(folder, "fabric.yaml"), encoding="utf-8") as f:
        groups = port_groups(f.read())
    with open(os.path.join(folder, "samples.tsv"), encoding="utf-8") as f:
        seen, answered = read_samples((line for line in f if line[0] != "#"), onset)
    gathered = gather(seen, groups)
    out = {"devices:silent": float(silent_devices(answered, onset))}
    for (metric, group), values in gathered.items():
        prefix = f"{metric}@{group}"
        if metric.startswith(STATES):
            settings_numbers(values, prefix, out)
        else:
            moving_numbers(values, unit_of(metric.split("/")[0]), prefix, out)
    return {k: round(v, 2) for k, v in out.items() if v}


# ---- recording -------------------------------------------------------------

def recorded(options, c, face="full", length=None):
    """The lab's folder of a case, in a temporary directory; the caller removes it."""
    work = tempfile.mkdtemp(prefix="oracle-")
    onset = score.onset_s({**c, "quiet": False, "cadence": "10s"}, options) or 0
    command = [options.lab, "record", "--begin", "1970-01-01T00:00:00Z", c["scenario"], "--out", work, "--seed", str(c["seed"]), "--interval", "10s", "--face", face, "--for",
               f"{length or onset + AFTER_S + 30:.0f}s"]
    if onset and not length:
        command += ["--at", f"{onset * 1000:.0f}ms"]
    if options.cache:
        command += ["--cache", options.cache]
    if c["perturb"]:
        command += ["--perturb", str(c["seed"])]
    subprocess.run(command, check=True, capture_output=True)
    return work, onset


def one_case(options, c):
    work, onset = recorded(options, c)
    try:
        truth = json.load(open(os.path.join(work, "truth.json"), encoding="utf-8"))
        faults = [f for f in truth["faults"] if f["cause"] != "none"]
        return {**c, "cause": truth["cause"], "accept": faults[0]["accept"] if faults else ["none"], "faults": len(faults), "onset_s": faults[0]["onset_s"] if faults else onset,
                "numbers": case_numbers(work, onset)}
    finally:
        shutil.rmtree(work, ignore_errors=True)


def face_metrics(options):
    """Which metrics the recordings of a face have."""
    out = {}
    for face in FACES:
        out[face] = set()
        for scenario in ("pfc-watchdog", "class-leak", "dirty-optic"):
            work, _ = recorded(options, {"scenario": scenario, "seed": 1, "perturb": False}, face, 250)
            out[face] |= {line.split("\t")[4] for line in open(os.path.join(work, "samples.tsv"), encoding="utf-8") if line[0] != "#"}
            shutil.rmtree(work)
    return out


# ---- the forest ------------------------------------------------------------

def leaf(labels):
    return collections.Counter(labels)


def tree(rows, labels, dice, names):
    """Extremely randomized: of some features drawn, each cut at random, the cut that leaves the least Gini impurity."""
    if len(set(labels)) == 1 or len(rows) < 3:
        return leaf(labels)
    best = None
    for name in dice.sample(names, min(len(names), 40)):
        v = [r.get(name, 0.0) for r in rows]
        lo, hi = min(v), max(v)
        if lo == hi:
            continue
        cut = dice.uniform(lo, hi)
        left, right = collections.Counter(), collections.Counter()
        for x, y in zip(v, labels):
            (left if x < cut else right)[y] += 1
        nl, nr = sum(left.values()), sum(right.values())
        if not nl or not nr:
            continue
        impurity = nl - sum(k * k for k in left.values()) / nl + nr - sum(k * k for k in right.values()) / nr
        if best is None or impurity < best[0]:
            best = (impurity, name, cut)
    if best is None:
        return leaf(labels)
    _, name, cut = best
    at = [r.get(name, 0.0) < cut for r in rows]
    sides = [tree([r for r, a in zip(rows, at) if a == s], [y for y, a in zip(labels, at) if a == s], dice, names) for s in (True, False)]
    return (name, cut, *sides)


def ask(node, row):
    while isinstance(node, tuple):
        node = node[2] if row.get(node[0], 0.0) < node[1] else node[3]
    n = sum(node.values())
    return {y: k / n for y, k in node.items()}


def answers(train, test, trees, seed):
    """For each row of @test the label that the forest gives it."""
    dice = random.Random(seed)
    rows, labels = [r["numbers"] for r in train], [r["scenario"] for r in train]
    names = sorted({n for r in rows for n in r})
    votes = [collections.Counter() for _ in test]
    for _ in range(trees):
        grown = tree(rows, labels, dice, names)
        for v, r in zip(votes, test):
            for y, p in ask(grown, r["numbers"]).items():
                v[y] += p
    return [max(sorted(v), key=lambda y: v[y]) for v in votes]


def seen_by(rows, metrics):
    """The rows as a face shows them: what changed at the onset. Levels are left out, for by its traffic a scenario would be known without its fault."""
    def kept(name):
        return name.startswith("devices:") or (":level" not in name and ":odd" not in name and name.split("@")[0].split("/")[0] in metrics)
    return [{**r, "numbers": {k: v for k, v in r["numbers"].items() if kept(k)}} for r in rows]


def bound(rows, metrics, trees, folds=4):
    """{scenario: (told, visible, Counter of what it was taken for)} on a face."""
    cause = {r["scenario"]: r["cause"] for r in rows}
    rows = seen_by(rows, metrics)
    out = collections.defaultdict(lambda: [0, 0, 0, collections.Counter()])
    for fold in range(folds):
        train = [r for r in rows if r["seed"] % folds != fold]
        test = [r for r in rows if r["seed"] % folds == fold]
        for r, said in zip(test, answers(train, test, trees, fold)):
            at = out[r["scenario"]]
            told = said == r["scenario"] or cause[said] in r["accept"]
            at[0] += 1
            at[1] += told
            at[2] += cause[said] != "none" or told
            if not told:
                at[3][cause[said]] += 1
    return {s: (told / n, seen / n, wrong) for s, (n, told, seen, wrong) in out.items()}


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--lab", required=True)
    p.add_argument("--out", required=True, help="what the cases are as numbers, appended to; goes on where it stopped")
    p.add_argument("--text", default=os.path.join(HERE, "oracle.txt"))
    p.add_argument("--seeds", type=score.seed_range, default=(1, 12))
    p.add_argument("--scenarios", default=r"(?!tune-|two-(?!classes|jobs)).*")
    p.add_argument("--trees", type=int, default=60)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--cache", default=None)
    p.add_argument("--scenario-dir", default=os.path.join(HERE, "..", "fabric", "scenarios"))
    p.add_argument("--only-record", action="store_true", help="record cases, write no table")
    p.add_argument("--as-is", action="store_true", help="record nothing, write the table of the cases that are there")
    options = p.parse_args()
    rows = [json.loads(line) for line in open(options.out, encoding="utf-8")] if os.path.exists(options.out) else []
    done = {(r["scenario"], r["seed"]) for r in rows}
    todo = [{"scenario": name, "seed": seed, "perturb": seed % 2 == 0} for seed in range(options.seeds[0], options.seeds[1] + 1)
            for name, _ in score.scenario_rows(options) if (name, seed) not in done and not options.as_is]
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool, open(options.out, "a", encoding="utf-8") as log:
        for future in concurrent.futures.as_completed([pool.submit(one_case, options, c) for c in todo]):
            rows.append(future.result())
            log.write(json.dumps(rows[-1]) + "\n")
            log.flush()
    if options.only_record:
        return 0
    rows = [r for r in rows if r["cause"] == "none" or r.get("onset_s", 1) > 0]
    rows.sort(key=lambda r: (r["scenario"], r["seed"]))
    metrics = face_metrics(options)
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        bounds = dict(zip(FACES, pool.map(bound, [rows] * len(FACES), [metrics[f] for f in FACES], [options.trees] * len(FACES))))
    with open(options.text, "w", encoding="utf-8") as f:
        f.write(f"# What a face could tell (oracle.py; {len(rows)} cases of seeds {min(r['seed'] for r in rows)}-{max(r['seed'] for r in rows)}): scenario, face, share of cases whose cause "
                "the forest names,\n# share in which it sees that something is wrong, what it takes the others for.\n")
        for face in FACES:
            for scenario in sorted(bounds[face]):
                told, seen, wrong = bounds[face][scenario]
                f.write(f"{scenario} {face} {told:.2f} {seen:.2f} {' '.join(f'{c}:{n}' for c, n in wrong.most_common(3))}".rstrip() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
