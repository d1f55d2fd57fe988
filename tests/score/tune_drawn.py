#!/usr/bin/env python3
"""tune_drawn - threshold advice over fabrics that are drawn from a seed, on tests/packetsim and on tests/fabric.

A seed draws speeds (also mixed within a switch), cables, NIC generations and their timers, buffers, profiles (one for all, by speed, uplinks of their own), the workload, the
thresholds that are wrong, and how often switches are polled. Then the loop of tune_packet.py: review, apply as written, simulate again, up to three rounds. Beside it stand
SONiC's, HPCC's and the DCQCN paper's settings and a vendor's own tuner. On tests/fabric (--lab) a seed draws the scenario and what --perturb draws. One JSON object a line is appended to --out: an interrupted run goes on where it stopped.
"""
import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tune_judge as judge  # noqa: E402
import tune_table  # noqa: E402
import tune_vendor as vendor  # noqa: E402
from tune_score import FAULT, STATICS, hosts_of, pool_of, seen_at  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

ROUNDS = 3
RTT_US = 8.0                        # what a bandwidth-delay product is counted with
POLLS = [(60, 66, 60), (10, 20, 15), (1, 6, 5)]  # interval s, length min, tuning.min_evidence min
KINDS = ["late", "late", "late", "early", "headroom", "headroom-greedy", "kmax-high", "storage-beside", "storage", "few-flows", "good", "cc-off-pair"]
SOUND = ["good", "cc-off-pair", "tune-good", "two-classes", "tune-good-storage", "ecmp-fields", "low-entropy", "dcqcn-off", "two-jobs"]  # thresholds are not at fault
OLD_NIC, NEW_NIC = (300, 40), (55, 400)  # increase timer us, additive increase Mbit/s


def drawn(seed):
    """What packetsim is started with, and what is wrong; the same for a seed each time."""
    r = random.Random(f"fabric {seed}")
    kind = KINDS[seed % len(KINDS)]
    gbps = r.choice([50, 100, 100, 100, 200])
    leaves, hosts, spines = r.choice([(4, 4, 2), (4, 4, 2), (3, 5, 2), (2, 6, 2), (4, 6, 3)])
    scale = gbps / 100
    bdp_kb = gbps * RTT_US / 8
    out = {"--leaves": leaves, "--hosts": hosts, "--spines": spines, "--host-gbps": gbps, "--uplink-gbps": gbps * r.choice([2, 2, 4]), "--steps": 8,
           "--buffer": f"{4194304 * scale * r.choice([0.75, 1, 1, 2]):.0f}", "--fresh": int(r.random() < 0.7), "--root": r.choice([0, -1]), "--by-speed": int(r.random() < 0.6)}
    if r.random() < 0.3:
        out["--second-gbps"] = gbps * r.choice([2, 4])
    if r.random() < 0.3:
        out["--third-us"] = r.choice([2, 3])
    first, second = r.choice([(OLD_NIC, OLD_NIC), (NEW_NIC, NEW_NIC), (OLD_NIC, NEW_NIC)])
    out.update({"--rp-timer-us": first[0], "--ai-mbps": first[1], "--second-timer-us": second[0], "--second-ai-mbps": second[1], "--cnp-us": r.choice([4, 4, 50])})
    n = leaves * hosts
    flow = {"--incast-kb": 800 * scale, "--shuffle-kb": 160 * scale, "--peers": r.choice([2, 3]), "--senders": min(n - hosts, r.choice([6, 8, 12]))}
    workload = "incast+shuffle"
    knobs = {"--alpha": r.choice(["1/64", "1/32", "1/16", "1/16", "1/8"]), "--kmin": f"{bdp_kb * r.choice([6, 8, 10, 12]):.0f}KB", "--pmax": r.choice(["1%", "5%", "5%", "20%"])}
    kmax_by = r.choice([2, 2, 4])
    if kind == "early":
        knobs = {"--alpha": r.choice(["1/4", "1/2", "1"]), "--kmin": f"{bdp_kb * r.choice([0.05, 0.1, 0.2, 0.4]):.0f}KB", "--pmax": r.choice(["5%", "20%", "100%"])}
        kmax_by = r.choice([2, 4])
    elif kind in ("headroom", "headroom-greedy"):
        out["--headroom-factor"] = r.choice([0.3, 0.3, 0.5, 0.7])
        knobs["--alpha"] = r.choice(["1/16", "1/8", "1/4"]) if kind == "headroom" else r.choice(["8", "64"])
        workload = r.choice(["incast+shuffle", "incast+shuffle", "ring"])
    elif kind == "kmax-high":
        knobs = {"--alpha": r.choice(["1/8", "1/4"]), "--kmin": f"{bdp_kb * 4:.0f}KB", "--pmax": "5%"}
        kmax_by = r.choice([6, 8])
    elif kind == "storage-beside":
        workload = "ring+storage"
        flow = {"--senders": r.choice([3, 4, 6]), "--qps": 1, "--flow-kb": 250 * scale, "--store-kb": r.choice([2000, 4000]) * scale}
    elif kind == "storage":
        workload, flow = "storage", {"--flow-kb": 300 * scale, "--qps": 2}
    elif kind == "few-flows":
        workload = r.choice(["shuffle", "ring"])
        out["--fresh"], flow = 0, {"--peers": 1, "--shuffle-kb": 1000 * scale, "--qps": 1, "--flow-kb": 1000 * scale}
    elif kind in ("good", "cc-off-pair"):
        knobs = {"--alpha": r.choice(["1/2", "1"]), "--kmin": f"{bdp_kb * 4:.0f}KB", "--pmax": r.choice(["5%", "20%"])}
        kmax_by, workload = 4, r.choice(["incast+shuffle", "shuffle", "ring"])
        if kind == "cc-off-pair":
            out["--fault"], workload = "cc-off-pair", "incast+shuffle"
    kmin = float(knobs["--kmin"].removesuffix("KB"))
    knobs["--kmax"] = f"{kmin * kmax_by:.0f}KB"
    more = []
    if r.random() < 0.2:  # uplinks with a profile of their own
        more = ["--set", f"*/uplinks:kmin={kmin * 1.5:.0f}KB,*/uplinks:kmax={kmin * 1.5 * kmax_by:.0f}KB"]
    poll = r.choices(POLLS, [6, 3, 1])[0]
    args = [str(x) for pair in {**out, **flow, **knobs, "--workload": workload}.items() for x in pair] + ["--limit-ms", "120", *more]
    return {"seed": seed, "kind": kind, "args": args, "poll": poll, "hosts": hosts, "gbps": gbps, "kmin": kmin * 1e3, "kmax": kmin * kmax_by * 1e3}


class Fabric:
    def __init__(self, options, draw, work):
        self.options, self.draw, self.work = options, draw, work

    def run(self, settings, more=()):
        args = [self.options.packetsim, *self.draw["args"], "--seed", str(self.draw["seed"]), *more]
        for i in range(0, len(settings), 8):
            args += ["--set", ",".join(settings[i:i + 8])]
        r = subprocess.run(args, capture_output=True, text=True, timeout=HANG_S)
        if r.returncode:
            raise RuntimeError("packetsim: " + r.stderr.strip()[-300:])
        return r.stdout

    def outcome(self, settings):
        return outcome_in(json.loads(self.run(settings)))

    def record(self, settings):
        case = os.path.join(self.work, "case")
        shutil.rmtree(case, ignore_errors=True)
        interval, length, _ = self.draw["poll"]
        self.run(settings, ["--out", case, "--length", f"{length}m", "--interval", f"{interval}s"])
        with open(os.path.join(case, "truth.json"), encoding="utf-8") as f:
            return case, json.load(f)

    def review(self, case):
        db = os.path.join(self.work, "case.db")
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(db + suffix):
                os.unlink(db + suffix)
        evidence = ["--set", f"tuning.min_evidence={self.draw['poll'][2]}m"]
        for args in (["replay", "--from", case, *evidence], ["tune", "review"]):
            r = subprocess.run([self.options.rocewatch, *args, "--db", db, "--format", "json"], capture_output=True, text=True, timeout=HANG_S)
            if r.returncode:
                raise RuntimeError(f"{args[0]}: exit code {r.returncode}: {r.stderr.strip()[-300:]}")
        return json.loads(r.stdout)["sheets"]


LAB_KINDS = FAULT + SOUND[2:]


class LabFabric(Fabric):
    """The same on the simulated fabric of tests/fabric: @seed draws a scenario, the fabric's constants and the rhythm of polls."""

    @staticmethod
    def drawn(seed):
        r = random.Random(f"lab {seed}")
        return {"seed": seed, "kind": LAB_KINDS[seed % len(LAB_KINDS)], "args": ["--perturb", str(seed)], "poll": r.choices(POLLS, [6, 3, 1])[0]}

    def lab(self, settings, out, interval, length):
        draw = self.draw
        args = [self.options.lab, "record", "--begin", "1970-01-01T00:00:00Z", draw["kind"], "--out", out, "--seed", str(draw["seed"]), *draw["args"], "--for", length,
                "--interval", interval, "--face", "full", "--cache", os.path.join(self.work, "cache")]
        r = subprocess.run(args + (["--set", ",".join(settings)] if settings else []), capture_output=True, text=True, timeout=HANG_S)
        if r.returncode:
            raise RuntimeError("record: " + r.stderr.strip()[-300:])
        with open(os.path.join(out, "truth.json"), encoding="utf-8") as f:
            return json.load(f)

    def outcome(self, settings):
        short = os.path.join(self.work, "short")
        shutil.rmtree(short, ignore_errors=True)
        return outcome_in(self.lab(settings, short, "10s", "20s"))

    def record(self, settings):
        case = os.path.join(self.work, "case")
        shutil.rmtree(case, ignore_errors=True)
        interval, length, _ = self.draw["poll"]
        truth = self.lab(settings, case, f"{interval}s", f"{length}m")
        hosts, bps = hosts_of(case)
        self.draw.setdefault("hosts", hosts)
        self.draw.setdefault("gbps", bps / 1e9)
        for key in ("kmin", "kmax"):
            self.draw.setdefault(key, truth["thresholds"][key])
        truth["thresholds"]["pool"] = pool_of(case)
        return case, truth


def outcome_in(truth):
    return truth["outcome"]["fault"] or truth["outcome"]["ok"]


def brief(sheet):
    return {k: sheet.get(k) for k in ("id", "device", "port_group", "ports", "rest", "diagnosis", "advice", "changes", "expected", "checks", "confidence_ratio", "summary")}


def came(sheet, before, after, case, hosts):
    """Each expectation of a sheet beside what came; ratios of before for what is told so."""
    got = seen_at(case, sheet["device"], hosts)
    got["step_time"], got["j"] = judge.ratio(after["step_s"], before["step_s"]), judge.j_parts(after, before) / 2
    return [{**{k: e.get(k) for k in ("metric", "low", "high", "likely", "now", "worse_ratio")}, "value": got[e["metric"]], "knobs": sorted({c["knob"] for c in sheet["changes"]})}
            for e in sheet["expected"] if e.get("low") is not None and e.get("high") is not None and got.get(e["metric"]) is not None]


def rounds_of(fabric, most):
    """Up to @most rounds of review and change: what each said, and what came of it."""
    row = {"rounds": [], "converged": False, "measured": []}
    held, before, sheets = {}, None, []
    for turn in range(most + 1):
        case, truth = fabric.record([f"{k}={v}" for k, v in held.items()])
        here = outcome_in(truth)
        row.setdefault("base", here)
        row["pool"] = truth["thresholds"]["pool"]
        if turn:
            row["rounds"][-1]["outcome"] = here
            for sheet in sheets:
                row["measured"].append({"id": sheet["id"], "came": came(sheet, before, here, case, fabric.draw["hosts"]), "drops": here["lossless_drops"],
                                        "step_ratio": judge.ratio(here["step_s"], before["step_s"]), "j_ratio": judge.j_parts(here, before) / 2, "host_pause": [before["host_pause_ratio"], here["host_pause_ratio"]],
                                        "sheets": len(sheets)})
        row["final"], before = here, here
        if turn == most < ROUNDS:
            break
        said = fabric.review(case)
        sheets = judge.round_of(said, fabric.draw["hosts"])
        row["converged"] = not sheets
        if turn == most or not sheets:
            row["said"] = [[s["advice"], s["diagnosis"], (s.get("blocked_by") or s.get("summary") or "")[:500]] for s in said][:4]
            row["left"] = [brief(s) for s in sheets]
            break
        row["rounds"].append({"sheets": [brief(s) for s in sheets]})
        for sheet in sheets:
            settings, _ = judge.settings_of(sheet, fabric.draw["hosts"], by_port=not fabric.options.lab)
            held = judge.fold(held, settings)
    row["held"] = [f"{k}={v}" for k, v in held.items()]
    return row


def baselines(fabric, row):
    draw, seen_before = fabric.draw, {}

    def measure(kmin, kmax):
        key = (round(kmin), round(kmax))
        if key not in seen_before:
            seen_before[key] = fabric.outcome([f"kmin={kmin:.0f}B", f"kmax={kmax:.0f}B"])
        return seen_before[key]
    row["statics"] = {what: fabric.outcome(settings(draw["gbps"] * 1e9)) for what, settings in STATICS.items()}
    row["vendor"] = {}
    for what, anomaly in vendor.ANOMALIES.items() if fabric.options.windows else ():
        seen = vendor.tune(measure, draw["kmin"], draw["kmax"], row["pool"], anomaly, fabric.options.windows)
        row["vendor"][what] = seen[-1]["outcome"]


def one(options, seed):
    work = tempfile.mkdtemp(prefix="tune-drawn-", dir=options.tmp)
    world = LabFabric if options.lab else Fabric
    draw = world.drawn(seed) if options.lab else drawn(seed)
    try:
        fabric = world(options, draw, work)
        row = {k: draw[k] for k in ("seed", "kind", "args", "poll")}
        row.update(rounds_of(fabric, options.rounds))
        if options.baselines:
            baselines(fabric, row)
        return row
    except RuntimeError as e:
        return {"seed": seed, "kind": draw["kind"], "error": str(e)[-400:]}
    finally:
        shutil.rmtree(work, ignore_errors=True)


def j_rounds(row):
    return [judge.j_of(r["outcome"], row["base"]) for r in row["rounds"] if "outcome" in r]


def beside(row, name):
    """J of the best of the baselines @name ("statics", "vendor"); those that lose frames do not count. inf: none."""
    return min((judge.j_of(o, row["base"]) for o in row.get(name, {}).values() if not o["lossless_drops"]), default=math.inf)


def misses(row):
    """What the row fails of that is asked, by name."""
    js = j_rounds(row)
    final = js[-1] if js else 2.0
    out = []
    if max(js, default=2.0) > judge.J_LIMIT and not row["base"]["lossless_drops"]:
        out.append("J above 2.06")
    if row["final"]["lossless_drops"]:
        out.append("frames lost")
    if not row["converged"]:
        out.append("not settled")
    for name in ("statics", "vendor"):
        if final > 1.03 * beside(row, name):
            out.append(f"{name} better")
    if row["kind"] in SOUND and js:
        out.append("changed")
    return out


def middle(values):
    values = sorted(values)
    return f"{values[len(values) // 2]:.2f}" if values else "-"


def table(rows):
    """A line for each kind: J of the advice beside what others make of the same fabrics, and what is missed of what is asked."""
    lost = [r for r in rows if "error" in r]
    rows = [r for r in rows if "error" not in r]
    out = [f"{len(rows)} fabrics" + (f" ({len(lost)} more did not run)" if lost else "") + ".", "",
           "| what is wrong | fabrics | changed | J, median (worst) | worst round | host pause before, after | frames still lost | settled | best of SONiC, HPCC, DCQCN paper | vendor's tuner |",
           "|---|---|---|---|---|---|---|---|---|---|"]
    for kind in dict.fromkeys(r["kind"] for r in sorted(rows, key=lambda r: (r["kind"] in SOUND, r["kind"]))):
        mine = [r for r in rows if r["kind"] == kind]
        final = [(j_rounds(r) or [2.0])[-1] for r in mine]
        beyond = {name: [b for b in (beside(r, name) for r in mine) if math.isfinite(b)] for name in ("statics", "vendor")}
        out.append("| " + " | ".join([
            kind, str(len(mine)), str(sum(bool(r["rounds"]) for r in mine)), f"{middle(final)} ({max(final):.2f})", f"{max(max(j_rounds(r), default=2.0) for r in mine):.2f}",
            f"{100 * sum(r['base']['host_pause_ratio'] for r in mine) / len(mine):.1f}, {100 * sum(r['final']['host_pause_ratio'] for r in mine) / len(mine):.1f} %",
            f"{sum(bool(r['final']['lossless_drops']) for r in mine)} of {sum(bool(r['base']['lossless_drops']) for r in mine)}", f"{sum(r['converged'] for r in mine)}",
            middle(beyond["statics"]), middle(beyond["vendor"])]) + " |")
    out += ["", "| asked | missed in |", "|---|---|"]
    for what in ("J above 2.06", "frames lost", "not settled", "statics better", "vendor better", "changed"):
        words = {"statics better": "the best static setting has J more than 3 % lower", "vendor better": "the vendor's tuner ends more than 3 % lower", "J above 2.06": "J above 2.06 in any round",
                 "frames lost": "frames lost at the end", "not settled": "a fourth round would be wanted", "changed": "a change where thresholds are not at fault"}[what]
        missed = [r for r in rows if what in misses(r)]
        seeds = ", ".join(str(r["seed"]) for r in missed[:12])
        out.append(f"| {words} | {len(missed)} of {len(rows)}" + (f" (seeds {seeds}{' ...' if len(missed) > 12 else ''})" if missed else "") + " |")
    return "\n".join(out) + "\n"


def tell(row):
    if "error" in row:
        return f"{row['kind']:15}/{row['seed']}: ERROR {row['error']}"
    base, final = row["base"], row["final"]
    line = (f"{row['kind']:15}/{row['seed']}: J {' '.join(f'{j:.2f}' for j in [2.0] + j_rounds(row))} pause {100 * base['host_pause_ratio']:.2f}>{100 * final['host_pause_ratio']:.2f} % "
            f"drops {base['lossless_drops']:.0f}>{final['lossless_drops']:.0f} statics {beside(row, 'statics'):.2f} vendor {beside(row, 'vendor'):.2f} {misses(row) or ''}")
    for r in row["rounds"]:
        line += "\n      " + " + ".join(f"{s['diagnosis']}@{s['device']}+{len(s.get('rest') or [])}/{s['port_group']} " + ",".join(
            f"{c['knob']}{'(' + c['port_group'] + ')' if c.get('port_group') else ''} {c['current'] or 0:g}>{c['proposed']:g}" for c in s["changes"]) for s in r["sheets"])
    return line + ("\n      " + str(row.get("said", [])[:2])[:700])


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--packetsim", help="the packetsim executable")
    p.add_argument("--lab", help="the rocewatch-lab executable, instead of packetsim")
    p.add_argument("--rocewatch", required=True, help="the rocewatch executable")
    p.add_argument("--seeds", default="1-200")
    p.add_argument("--out", default="tune_drawn.jsonl", help="results, appended to; seeds that are there already are not run again")
    p.add_argument("--kinds", default="", help="names with commas; all when not given")
    p.add_argument("--rounds", type=int, default=ROUNDS)
    p.add_argument("--windows", type=int, default=8, help="of the vendor's tuner; 0: without it")
    p.add_argument("--no-baselines", dest="baselines", action="store_false")
    p.add_argument("--tmp", default=None)
    p.add_argument("--table", help="write the table into this file, between its marks")
    options = p.parse_args()
    if bool(options.lab) == bool(options.packetsim):
        p.error("one of --packetsim and --lab")
    rows = {}
    if os.path.exists(options.out):
        with open(options.out, encoding="utf-8") as f:
            rows = {r["seed"]: r for r in map(json.loads, f)}
    first, _, last = options.seeds.partition("-")
    with open(options.out, "a", encoding="utf-8") as log:
        for seed in range(int(first), int(last or first) + 1):
            if seed in rows or (options.kinds and (LabFabric.drawn if options.lab else drawn)(seed)["kind"] not in options.kinds.split(",")):
                continue
            rows[seed] = one(options, seed)
            log.write(json.dumps(rows[seed]) + "\n")
            log.flush()
            print(tell(rows[seed]), flush=True)
    if not options.baselines:
        return 0
    text = table(list(rows.values()))
    print(text)
    if options.table:
        mark = "fabric" if options.lab else "packetsim"
        tune_table.into(options.table, text, f"<!-- drawn {mark}: begin -->", f"<!-- drawn {mark}: end -->")
    return 0


if __name__ == "__main__":
    sys.exit(main())
