#!/usr/bin/env python3
"""whatif_score - how well `tune whatif` predicts: it is calibrated on a recording of a simulated fabric, and asked for settings that are then recorded.

Each run records a case, asks for the switch that pauses its hosts most, and compares every expectation with what the same switch shows in a recording with the new
thresholds; step_time with what the fabric did (truth.json). The model and the fabric share no code; its ranges were set on seeds 1-20, the default seeds
are others. Results are appended to a file, one JSON object a line: an interrupted score goes on where it stopped.
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

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from table import pct, quantile  # noqa: E402

BEGIN, END = "<!-- whatif score: begin -->", "<!-- whatif score: end -->"
FAMILIES = ["tune-late-gather", "tune-late-storage", "tune-late-shuffle", "tune-alpha-small", "tune-alpha-storage", "tune-kmax-high", "tune-one-leaf", "tune-early",
            "tune-early-gather", "tune-headroom-small", "tune-xon-close", "tune-good", "tune-good-storage"]
# Below these two values are the same: noise of a recording, and what nobody would notice.
SLACK = {"pfc.tx_pause_ratio": 0.002, "queue.marked_ratio": 0.005, "pg.drops": 1, "step_time": 0.01, "queue.watermark_bytes": 20e3, "pg.headroom_watermark_bytes": 5e3}
UNIT = {"pfc.tx_pause_ratio": "share of time", "queue.marked_ratio": "share of packets", "pg.drops": "frames/s", "step_time": "of now", "queue.watermark_bytes": "bytes",
        "pg.headroom_watermark_bytes": "bytes"}


def scaled(now, by):
    """Kmin and Kmax, in the order in which neither passes the other."""
    order = ("kmin", "kmax") if by < 1 else ("kmax", "kmin")
    return {key: now[key] * by for key in order}


def changes(now, family):
    """name -> settings, from those in force on the switch asked."""
    out = {"alpha x2": {"alpha": 2 * now["alpha"]}, "alpha x4": {"alpha": 4 * now["alpha"]}}
    for name, by in (("Kmin, Kmax x8", 8),) if "early" in family else (("Kmin, Kmax /2", 1 / 2), ("Kmin, Kmax /4", 1 / 4)):
        out[name] = scaled(now, by)
    out["Kmin, Kmax x2"] = scaled(now, 2)
    if "headroom" in family:
        out["headroom x1.25"] = {"headroom": now["headroom"] * 1.25}
        out["headroom x2"] = {"headroom": now["headroom"] * 2}
    return out


def argument(key, value):
    return f"{key}={value:.6f}" if key in ("alpha", "pmax") else f"{key}={value:.0f}B"


class Run:
    def __init__(self, o, family, seed, perturb, work):
        self.o, self.family, self.seed, self.perturb, self.work = o, family, seed, perturb, work

    def record(self, name, settings):
        """A database of the case and what the fabric did."""
        case, db = os.path.join(self.work, name), os.path.join(self.work, name + ".db")
        args = [self.o.lab, "record", "--begin", "1970-01-01T00:00:00Z", self.family, "--out", case, "--seed", str(self.seed), "--interval", "10s", "--for", "5m", "--cache", os.path.join(self.work, "cache")]
        if self.perturb:
            args += ["--perturb", str(self.perturb)]
        for key, value in settings.items():
            args += ["--set", argument(key, value)]
        subprocess.run(args, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([self.o.rocewatch, "replay", "--from", case, "--db", db], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(os.path.join(case, "truth.json"), encoding="utf-8") as f:
            truth = json.load(f)["outcome"]
        shutil.rmtree(case)
        return db, truth["fault"] or truth["ok"]

    def ask(self, db, device, settings):
        args = [self.o.rocewatch, "--db", db, "tune", "whatif", "--device", device, "--since", "1h", "--format", "json"]
        for key, value in settings.items():
            args += ["--set", argument(key, value)]
        r = subprocess.run(args, capture_output=True, text=True)
        return json.loads(r.stdout) if r.returncode == 0 else None

    def now(self, db, device):
        doc = self.ask(db, device, {"pmax": 0.5})
        return doc and {e["metric"]: e["now"] for e in doc["expected"]}

    def worst(self, db):
        """The switch that pauses most; where none does, the one that marks most."""
        seen = {d: self.now(db, d) for d in ("leaf1", "leaf2", "leaf3", "leaf4")}
        return max((d for d in seen if seen[d]), key=lambda d: ((seen[d].get("pfc.tx_pause_ratio") or 0) > 0.001, seen[d].get("pfc.tx_pause_ratio") or 0, seen[d].get("queue.marked_ratio") or 0))

    def go(self):
        db, before = self.record("base", {})
        device = self.worst(db)
        zero = self.ask(db, device, {"alpha": 0.125, "kmin": 1000, "kmax": 2000, "headroom": 1e5})
        now = {c["knob"]: c["current"] for c in zero["changes"]}
        rows = []
        for name, settings in changes(now, self.family).items():
            doc = self.ask(db, device, settings)
            try:
                db2, after = self.record("after", settings)
            except subprocess.CalledProcessError:
                rows.append({"change": name, "failed": True})
                continue
            got = self.now(db2, device)
            os.unlink(db2)
            if doc is None or got is None or after["step_s"] is None or before["step_s"] is None:
                rows.append({"change": name, "failed": True})
                continue
            got["step_time"] = after["step_s"] / before["step_s"]
            rows.append({"change": name, "residual": doc["residual_ratio"], "expected": [{**e, "came": got.get(e["metric"])} for e in doc["expected"]]})
        return rows


def judged(rows):
    """(change, metric) -> [(error, in range, direction right, width)] of what moved or could have."""
    out = collections.defaultdict(list)
    for r in rows:
        for e in r.get("expected", ()):
            now, low, high, likely, came, slack = e["now"], e["low"], e["high"], e["likely"], e["came"], SLACK[e["metric"]]
            if None in (now, low, high, likely, came) or (max(now, came, likely) <= slack and e["metric"] != "step_time"):
                continue
            base = max(now, came, slack)
            still = abs(came - now) <= max(slack, 0.1 * now)
            out[r["change"], e["metric"]].append((abs(likely - came) / base, low - slack <= came <= high + slack, still or (likely - now) * (came - now) > 0, (high - low) / base))
    return out


def table(rows):
    v = judged([r for x in rows for r in x["rows"]])
    n = sum(len(x["rows"]) for x in rows)
    lost = sum(r.get("failed", False) for x in rows for r in x["rows"])
    out = [f"{len(rows)} fabrics ({sum(bool(x['perturb']) for x in rows)} perturbed), {n} predictions, {lost} of them without an answer.", "",
           "Error: distance of the likely value from what came, over the larger of before and after. Direction: what moved by more than a tenth moved the way that was said.", "",
           "| asked for | expectation | n | error, median | 90 % below | in the range | direction | width of the range, median |", "|---|---|---|---|---|---|---|---|"]
    everything = collections.defaultdict(list)
    for (change, metric), x in sorted(v.items()):
        everything[metric] += x
        if len(x) >= 5:
            out.append(line(change, metric, x))
    for metric, x in sorted(everything.items()):
        out.append(line("**all**", metric, x))
    return "\n".join(out)


def line(change, metric, x):
    e = [i[0] for i in x]
    return (f"| {change} | {metric} ({UNIT[metric]}) | {len(x)} | {100 * quantile(e, 0.5):.0f} % | {100 * quantile(e, 0.9):.0f} % | {pct(sum(i[1] for i in x), len(x))} "
            f"| {pct(sum(i[2] for i in x), len(x))} | {100 * quantile([i[3] for i in x], 0.5):.0f} % |")


def write_table(path, text):
    with open(path, encoding="utf-8") as f:
        old = f.read()
    if BEGIN not in old:
        sys.exit(f"{path}: expected the line '{BEGIN}', and found none")
    a, b = old.index(BEGIN) + len(BEGIN), old.index(END)
    with open(path, "w", encoding="utf-8") as f:
        f.write(old[:a] + "\n" + text + "\n" + old[b:])


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--lab", required=True)
    p.add_argument("--rocewatch", required=True)
    p.add_argument("--out", required=True, help="results so far, and where they go")
    p.add_argument("--seeds", default="1001-1004")
    p.add_argument("--minutes", type=float, default=30)
    p.add_argument("--table", help="document whose table is rewritten")
    o = p.parse_args()
    first, last = (int(x) for x in o.seeds.split("-"))
    done = [json.loads(x) for x in open(o.out, encoding="utf-8")] if os.path.exists(o.out) else []
    seen, end = {(x["family"], x["seed"]) for x in done}, time.monotonic() + 60 * o.minutes
    for seed in range(first, last + 1):
        for family in FAMILIES:
            if (family, seed) in seen or time.monotonic() > end:
                continue
            with tempfile.TemporaryDirectory(prefix="rw-whatif-") as work:
                x = {"family": family, "seed": seed, "perturb": seed if seed % 2 else 0}
                x["rows"] = Run(o, family, seed, x["perturb"], work).go()
            done.append(x)
            with open(o.out, "a", encoding="utf-8") as f:
                f.write(json.dumps(x) + "\n")
    text = table(done)
    print(text)
    if o.table:
        write_table(o.table, text)


if __name__ == "__main__":
    main()
