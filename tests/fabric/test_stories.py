#!/usr/bin/env python3
"""test_stories.py ROCEWATCH - the two stories of the sources, recorded and replayed: cause, share of wall time lost, how much of it is explained, and the
price. What is expected is the story's figure; what the counters give may differ by what the recording's own drift and jitter are worth."""
import json, os, re, shutil, subprocess, sys, tempfile

rocewatch = sys.argv[1]
work = tempfile.mkdtemp(prefix="stories-")


def run(*args):
    p = subprocess.run([rocewatch, *args], capture_output=True, text=True)
    if p.returncode != 0:
        sys.exit(f"{' '.join(args)}: exit code {p.returncode}\n{p.stderr[:2000]}")
    return p.stdout


def near(what, got, expected, within):
    if got is None or not abs(got - expected) <= within * abs(expected):
        sys.exit(f"{what}: {got}, expected {expected} within {100 * within:.1f} %")


stories = [
    # name, interval, length, step, cause, usd per hour, share lost; the step is what the job's owner knows
    ("ecmp-half", "10s", "30m", "1s", "ecmp_imbalance", 1645.71, 0.2143),
    ("ecmp-half", "1s", "16m", "1s", "ecmp_imbalance", 1645.71, 0.2143),
    ("node-047", "10s", "8m", "422ms", "dcqcn_off", 955.73, 0.0622),
]
try:
    for name, interval, length, step, cause, usd, lost in stories:
        case = os.path.join(work, f"{name}-{interval}")
        run("lab", "record", "--begin", "1970-01-01T00:00:00Z", name, "--out", case, "--interval", interval, "--for", length)
        fabric = os.path.join(case, "fabric.yaml")
        with open(fabric) as f:
            text = f.read()
        with open(fabric, "w") as f:
            f.write(re.sub(r"(name: train, )", rf"\1step: {step}, ", text))
        with open(os.path.join(case, "truth.json")) as f:
            truth = json.load(f)
        db = os.path.join(work, "out.db")
        incidents = json.loads(run("replay", "--from", case, "--format", "json", "--db", db))["incidents"]
        steps = json.loads(run("steps", "--db", db, "--since", "3h", "--format", "json"))
        shown = run("steps", "--db", db, "--since", "3h") + run("incident", "show", incidents[0]["id"], "--db", db)
        for file in os.listdir(work):
            if file.startswith("out.db"):
                os.remove(os.path.join(work, file))
        shutil.rmtree(case)
        what = f"{name}, {interval}"
        # other stories may stand beside it, but what the job lost is given away once
        told = [i for i in incidents if i["cause"] == cause and i["usd_per_hour"]]
        if not told:
            sys.exit(f"{what}: no {cause} with a price among {[(i['cause'], i['usd_per_hour']) for i in incidents]}")
        i, loss = told[0], told[0]["loss"][0]
        near(f"{what}: usd_per_hour of all", sum(k["usd_per_hour"] or 0 for k in incidents if not k["parent"]), usd, 0.06)
        near(f"{what}: usd_per_hour", i["usd_per_hour"], usd, 0.06)
        near(f"{what}: loss", loss["loss_ratio"], lost, 0.06)
        near(f"{what}: step", loss["step_s"], truth["step_in_fault_s"], 0.02)
        near(f"{what}: explained", i["explained_ratio"], 1, 0)
        if len(steps["levels"]) != 2:
            sys.exit(f"{what}: levels of throughput: {steps['levels']}")
        near(f"{what}: steps: change", -steps["levels"][1]["change_ratio"], lost, 0.06)
        if "change point -" not in shown or not re.search(r"steps [\d.]+ s, were [\d.]+ s", shown):
            sys.exit(f"{what}: what people read:\n{shown}")
        excess = loss["step_s"] - loss["step_before_s"]
        near(f"{what}: explained time per step", i["explained_ratio"] * excess, truth["step_in_fault_s"] - truth["step_s"], 0.08)
finally:
    shutil.rmtree(work, ignore_errors=True)
