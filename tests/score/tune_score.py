#!/usr/bin/env python3
"""tune_score - what threshold advice is worth on simulated fabrics: families of wrong thresholds, other faults, and healthy fabrics, x seeds.

Each run records a case with rocewatch-lab, replays it into a database, asks `tune review`, applies the first sheet that says "change" to its canary and
the rest (with what says the same of other places), records again with these thresholds, and so on for up to three rounds. What the fabric then does
(truth.json) is judged by tune_judge.py against before, with one more sender and a fifth more load, against static defaults, and for some runs against a
grid of settings. Results are appended to a file, one JSON object a line: an interrupted score goes on where it stopped. Tune on seeds 1-20, score on
1001-1100 (the default).
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tune_judge as judge  # noqa: E402
import tune_table as table  # noqa: E402
import tune_vendor as vendor  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

FAULT = ["tune-late-gather", "tune-late-storage", "tune-late-shuffle", "tune-alpha-small", "tune-alpha-storage", "tune-kmax-high", "tune-early",
         "tune-early-gather", "tune-headroom-small", "tune-xon-close"]
DONT = ["slow-receiver", "slow-receiver-spread", "pfc-storm", "dirty-optic", "dcqcn-off", "ecmp-stuck", "ecmp-fields", "ecmp-polarization", "lag-skew", "low-entropy", "pfc-only",
        "host-100g", "link-100g", "missing-route", "remote-capacity", "dscp-mismatch", "mtu-mismatch", "pfc-mismatch", "ecn-off", "wrong-class", "class-leak", "storage-receiver",
        "no-settings", "wrong-cable-length",
        "tune-one-leaf"]  # decision table, row 12: align it to its tier, no tuning
HEALTHY = ["healthy", "healthy-hashed", "healthy-heavy", "healthy-shuffle", "tune-good", "tune-good-storage", "moe", "fsdp", "storage", "checkpoint", "two-jobs", "packet-balancing"]
KINDS = {**dict.fromkeys(FAULT, "fault"), **dict.fromkeys(DONT, "dont"), **dict.fromkeys(HEALTHY, "healthy")}
# Recorded as another scenario, then what the advice needs is taken away or spoilt in the case.
MADE_OF = {"no-settings": "tune-late-storage", "wrong-cable-length": "tune-headroom-small"}
ROUNDS = 3
MORE = {"k+1 senders": ["--senders", "+1"], "load x1.2": ["--load", "1.2"]}
STATICS = {  # of the whole fabric; @bps: speed of a host
    "SONiC default": lambda bps: ["kmin=1048576B", "kmax=2097152B", "pmax=5%"],
    "DCQCN paper": lambda bps: ["kmin=5KB", "kmax=200KB", "pmax=1%"],
    "HPCC-scaled": lambda bps: [f"kmin={100e3 * bps / 25e9:.0f}B", f"kmax={400e3 * bps / 25e9:.0f}B", "pmax=20%"],
}
GRID = [(alpha, kmin) for alpha in (None, "1/8", "1/2") for kmin in (None, 200, 400, 800, 1600)]  # KB; Kmax is four times that


def outcome_of(truth):
    o = truth["outcome"]["fault"] or truth["outcome"]["ok"]
    return {k: o[k] for k in ("step_s", "exchange_s", "slice_us", "victim_p50_us", "victim_p99_us", "host_pause_ratio", "link_pause_ratio", "marks_ratio", "lossless_drops",
                              "goodput_bps_per_host")}


class Run:
    def __init__(self, cell, options, work):
        self.cell, self.options, self.work = cell, options, work

    def record(self, out, settings, length, interval, more=()):
        o, c = self.options, self.cell
        args = [o.lab, "record", "--begin", "1970-01-01T00:00:00Z", MADE_OF.get(c["family"], c["family"]), "--out", out, "--seed", str(c["seed"]), "--for", length, "--interval", interval, "--face", c["face"], *more]
        args += ["--cache", os.path.join(self.work, "cache")]  # what is the same in all recordings of a run; it goes with the run
        if c["perturb"]:
            args += ["--perturb", str(c["seed"])]
        if settings:
            args += ["--set", ",".join(settings)]
        r = subprocess.run(args, capture_output=True, text=True, timeout=HANG_S)
        if r.returncode:
            raise RuntimeError("record: " + r.stderr.strip()[-300:])
        return json.load(open(os.path.join(out, "truth.json"), encoding="utf-8"))

    def outcome(self, settings, more=()):
        """Only what the exchange does: a recording of two samples."""
        out = os.path.join(self.work, "short")
        try:
            return outcome_of(self.record(out, settings, "20s", "10s", more))
        finally:
            shutil.rmtree(out, ignore_errors=True)

    def spoil(self, case):
        if self.cell["family"] == "no-settings":
            rewrite(os.path.join(case, "samples.tsv"), lambda line: None if "\tcfg." in line else line)
            rewrite(os.path.join(case, "fabric.yaml"), lambda line: None if line.startswith(("thresholds:", '  - { devices: "*"')) else line)
        elif self.cell["family"] == "wrong-cable-length":
            rewrite(os.path.join(case, "samples.tsv"), lambda line: re.sub(r"(\tcfg\.cable_m\t)[\d.]+", r"\g<1>5", line))

    def review(self, case):
        o, db = self.options, os.path.join(self.work, "case.db")
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(db + suffix):
                os.unlink(db + suffix)
        r = subprocess.run([o.rocewatch, "replay", "--from", case, "--db", db, "--format", "json"], capture_output=True, text=True, timeout=HANG_S)
        if r.returncode:
            raise RuntimeError("replay: " + r.stderr.strip()[-300:])
        r = subprocess.run([o.rocewatch, "tune", "review", "--db", db, "--format", "json"], capture_output=True, text=True, timeout=HANG_S)
        if r.returncode:
            raise RuntimeError(f"tune review, exit code {r.returncode}: " + r.stderr.strip()[-300:])
        return json.loads(r.stdout)["sheets"]


def rewrite(path, change):
    with open(path, encoding="utf-8") as f:
        lines = [new for new in (change(line) for line in f) if new is not None]
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(lines)


def hosts_of(case):
    """(hosts per leaf, their speed) from the links that rocewatch-lab writes."""
    found = re.findall(r'a: "leaf1:Ethernet\d+", b: "host:.*?speed: (\d+)G', open(os.path.join(case, "fabric.yaml"), encoding="utf-8").read())
    return max(1, len(found)), float(found[0]) * 1e9 if found else 400e9


def pool_of(case):
    """Shared buffer of a switch; None where the face does not tell."""
    with open(os.path.join(case, "samples.tsv"), encoding="utf-8") as f:
        return next((float(line.split("\t")[5]) for line in f if "\tcfg.buffer_pool_bytes\t" in line), None)


def vendor_of(run, row):
    """A vendor's own tuner on the same fabric: J where it arrives, and the worst window on the way."""
    kmin, kmax = row["thresholds"]["kmin"], row["thresholds"]["kmax"]
    out = {}
    for what, anomaly in vendor.ANOMALIES.items():
        seen = vendor.tune(lambda lower, upper: run.outcome([f"kmin={lower:.0f}B", f"kmax={upper:.0f}B"]), kmin, kmax, row["pool_bytes"], anomaly)
        js = [judge.j_of(s["outcome"], row["base"]) for s in seen]
        out[what] = {"j": js[-1], "j_worst": max(js), "windows": len(seen) - 1, "kmin": seen[-1]["kmin"], "objective": judge.objective(seen[-1]["outcome"], row["base"]),
                     "host_pause_ratio": seen[-1]["outcome"]["host_pause_ratio"]}
    return out


def seen_at(case, device, hosts, priority="3"):
    """What the switch of a sheet itself counted over the recording, in the metrics of its expectations."""
    first, last, peak, of_port = {}, {}, collections.defaultdict(float), {}
    want = {"pfc.tx_pause_ns", "queue.ecn_marked", "queue.out_packets", "pg.drops", "queue.watermark_bytes", "pg.headroom_watermark_bytes"}
    with open(os.path.join(case, "samples.tsv"), encoding="utf-8") as samples:
        lines = [line for line in samples if f"\t{device}\t" in line]
    for line in lines:
        f = line.rstrip("\n").split("\t")
        if f[1] != device or f[3] != priority or f[4] not in want:
            continue
        key, value, at = (f[4], f[2]), float(f[5]), float(f[0])
        if "watermark" in f[4]:
            peak[f[4]] = max(peak[f[4]], value)
            continue
        first.setdefault(key, (at, value))
        last[key] = (at, value)
        of_port[f[2]] = True
    out = dict(peak)
    def sums(metric, ports):
        return [(last[(metric, p)][1] - first[(metric, p)][1], last[(metric, p)][0] - first[(metric, p)][0]) for p in ports if (metric, p) in last]
    to_hosts = [f"Ethernet{i}" for i in range(1, hosts + 1)] if device.startswith("leaf") else list(of_port)
    pause, marked, sent, drops = (sums(m, p) for m, p in (("pfc.tx_pause_ns", to_hosts), ("queue.ecn_marked", of_port), ("queue.out_packets", of_port), ("pg.drops", of_port)))
    if pause:
        out["pfc.tx_pause_ratio"] = sum(d / (t * 1e9) for d, t in pause) / len(pause)
    if marked and sum(d for d, _ in sent):
        out["queue.marked_ratio"] = sum(d for d, _ in marked) / sum(d for d, _ in sent)
    if drops:
        out["pg.drops"] = sum(d / t for d, t in drops)
    return out


def compare(sheet, before, after, case, hosts):
    """Each expectation of a sheet beside what came; step_time is a ratio of before."""
    got = seen_at(case, sheet["device"], hosts)
    got["step_time"] = None if after["step_s"] is None or not before["step_s"] else after["step_s"] / before["step_s"]
    return [{"metric": e["metric"], "low": e["low"], "high": e["high"], "unit": e["unit"], "value": got[e["metric"]]} for e in sheet["expected"]
            if e["low"] is not None and e["high"] is not None and got.get(e["metric"]) is not None]


def brief(sheet):
    return {k: sheet.get(k) for k in ("id", "device", "port_group", "ports", "rest", "diagnosis", "advice", "changes", "expected", "confidence_ratio", "summary")}


def apply_until_quiet(run, row):
    """Rounds of review and change; the settings at the end."""
    held, before, expected = {}, None, None
    row["rounds"], row["measured"], row["converged"] = [], [], False
    for _ in range(ROUNDS + 1 if row["kind"] == "fault" else 1):
        case = os.path.join(run.work, "case")
        truth = run.record(case, [f"{k}={v}" for k, v in held.items()], run.options.length, run.options.interval)
        here = outcome_of(truth)
        hosts, row["host_bps"] = hosts_of(case)
        run.spoil(case)
        if "pool_bytes" not in row:
            row["pool_bytes"], row["thresholds"] = pool_of(case), truth["thresholds"]
        if expected:
            for sheet in expected:
                row["measured"] += compare(sheet, before, here, case, hosts)
            row["rounds"][-1]["outcome"] = here
        else:
            row["base"] = here
        row["final"] = here
        sheets = run.review(case)
        shutil.rmtree(case, ignore_errors=True)
        now = judge.round_of(sheets, hosts)
        said = {"advice": [s["advice"] for s in sheets][:8], "diagnoses": [s["diagnosis"] for s in sheets][:8],
                "why": [(s.get("blocked_by") or s.get("summary") or "")[:200] for s in sheets][:3]}
        if len(row["rounds"]) == ROUNDS and now:
            break  # asked for once more
        row["rounds"].append({**said, "sheets": [brief(x) for x in now]})
        row["converged"] = not now
        if not now or row["kind"] != "fault":
            break
        row["not_in_lab"] = []
        for sheet in now:
            settings, unknown = judge.settings_of(sheet, hosts)
            row["not_in_lab"] += unknown
            held = judge.fold(held, settings)
        before, expected = here, now
    return [f"{k}={v}" for k, v in held.items()]


def grid(run, row):
    best, points = None, 0
    for alpha, kmin in GRID:
        settings = ([f"alpha={alpha}"] if alpha else []) + ([f"kmin={kmin}KB", f"kmax={4 * kmin}KB"] if kmin else [])
        if row["family"] == "tune-headroom-small":
            settings.append("headroom=400KB")
        try:
            o = run.outcome(settings)
        except RuntimeError:
            continue
        j = judge.j_of(o, row["base"]) if not o["lossless_drops"] else math.inf
        points += 1
        if best is None or j < best[0]:
            best = (j, settings)
    ours = judge.j_of(row["final"], row["base"])
    return {"j": min(best[0], ours), "grid_j": best[0], "settings": best[1], "points": points}


def one(cell, options):
    work = tempfile.mkdtemp(prefix="tune-score-", dir=options.tmp)
    t0 = time.monotonic()
    row = {**cell}
    run = Run(cell, options, work)
    try:
        held = apply_until_quiet(run, row)
        if cell["kind"] == "fault" and not options.quick:
            row["more"] = {what: {"base": run.outcome([], args), "final": run.outcome(held, args)} for what, args in MORE.items()}
            if cell["statics"] or not judge.manifest(row):  # what does not show by itself may still be worth a change
                row["statics"] = {what: run.outcome(settings(row["host_bps"])) for what, settings in STATICS.items()}
            row["oracle"] = grid(run, row) if cell["oracle"] else None
            if cell["statics"] and row["pool_bytes"]:
                row["vendor"] = vendor_of(run, row)
        row["took_s"] = round(time.monotonic() - t0, 2)
        return row
    except (RuntimeError, subprocess.TimeoutExpired, OSError, ValueError, KeyError, TypeError) as e:
        return {**row, "error": f"{type(e).__name__}: {e}"[-400:]}
    finally:
        shutil.rmtree(work, ignore_errors=True)


def key(c):
    return "/".join(str(c[k]) for k in ("family", "face", "perturb", "seed"))


def cells(options):
    """Rounds over all families, each with another seed, in an order drawn by the round: a score that is cut short has seen some of everything."""
    first, last = options.seeds
    n = last - first + 1
    for turn in range(min(options.rounds, n // 2)):
        todo = [(f, k, i) for f, k in KINDS.items() if re.fullmatch(options.families, f) for i in range(2 if k == "fault" else 1)]
        random.Random(turn).shuffle(todo)
        for family, kind, i in todo:
            h = int(hashlib.sha256(family.encode()).hexdigest()[:8], 16)
            at = 2 * turn + i  # families of wrong thresholds come twice a round, with and without perturbation
            for face in options.faces:
                yield {"family": family, "kind": kind, "face": face, "seed": first + (h + at) % n, "perturb": (turn + h + i) % 2 == 1 if options.perturb is None else options.perturb,
                       "statics": i == 0, "oracle": bool(options.oracle) and (at + h) % options.oracle == 0}


def seed_range(text):
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def tell(row):
    if "error" in row:
        return f"ERROR {key(row)}: {row['error']}"
    rounds = []
    for r in row["rounds"]:
        rounds.append(" + ".join(f"{s['diagnosis']}@{s['device']}+{len(s.get('rest') or [])}/{s['port_group']} " +
                                 ",".join(f"{c['knob']} {c['current']:g}>{c['proposed']:g}" for c in s["changes"]) for s in r["sheets"]) or f"{r['advice'][:3]} {r['diagnoses'][:3]} {r['why'][:1]}")
    b, f = row["base"], row["final"]
    return (f"{row['kind']:7} {key(row)}: J {judge.j_of(f, b):.3f} pause {100 * b['host_pause_ratio']:.2f}>{100 * f['host_pause_ratio']:.2f} % drops "
            f"{b['lossless_drops']:.0f}>{f['lossless_drops']:.0f}{'' if row['converged'] else ' NOT SETTLED'} | " + " | ".join(rounds))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--lab", required=True, help="the rocewatch-lab executable")
    p.add_argument("--rocewatch", required=True, help="the rocewatch executable")
    p.add_argument("--out", default="tune_score.jsonl", help="results, appended to; runs that are there already are not run again")
    p.add_argument("--seeds", type=seed_range, default=(1001, 1100))
    p.add_argument("--families", default=".*", help="regular expression")
    p.add_argument("--faces", type=lambda s: s.split(","), default=["full"])
    p.add_argument("--perturb", type=lambda s: bool(int(s)), default=None, help="0 or 1: the fabric's constants changed; every second run when not given")
    p.add_argument("--interval", default="30s")
    p.add_argument("--length", default="66m", help="of a recording; no change is advised on less history than an hour")
    p.add_argument("--oracle", type=int, default=3, help="a grid of settings is searched in every Nth run of a family; 0: never")
    p.add_argument("--rounds", type=int, default=1000)
    p.add_argument("--minutes", type=float, default=55)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--tmp", default=None)
    p.add_argument("--table", help="write the tables as markdown into this file, between its marks")
    p.add_argument("--quick", action="store_true", help="only what the advice leads to: no statics, no grid, no other loads")
    p.add_argument("--quiet", action="store_true", help="do not print each run")
    options = p.parse_args()

    results = {}
    if os.path.exists(options.out):
        for line in open(options.out, encoding="utf-8"):
            row = json.loads(line)
            results[key(row)] = row
    end = time.monotonic() + options.minutes * 60
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, open(options.out, "a", encoding="utf-8") as log:
        running, todo = set(), iter(c for c in cells(options) if key(c) not in results)
        while True:
            while len(running) < options.jobs and time.monotonic() < end and (c := next(todo, None)):
                running.add(pool.submit(one, c, options))
            if not running:
                break
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                row = future.result()
                results[key(row)] = row
                log.write(json.dumps(row) + "\n")
                log.flush()
                if not options.quiet:
                    print(tell(row), flush=True)
    if not results:
        print("nothing was run")
        return 1
    text = table.markdown(list(results.values()))
    print(text)
    if options.table:
        table.into(options.table, text)
    return 1 if any("error" in r for r in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
