#!/usr/bin/env python3
"""tune_packet - threshold advice on a simulator that it was not tuned on: tests/packetsim.

Each run simulates an hour with wrong thresholds, asks `replay --db` and `tune review`, applies what is advised, simulates again, for up to three rounds, and
prints what each round was worth (J: step time + p99 of the flows beside the incast, each relative to before; 2 is unchanged). Beside it stand a grid of
static settings and a vendor's own tuner. Rows have the form of tune_score.
"""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tune_judge as judge  # noqa: E402
import tune_vendor as vendor  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

FRESH = ["--fresh", "1"]  # a queue pair a message, as the HPCC simulator has it: no luck of the hash lasts
LATE = ["--alpha", "1/16", "--kmin", "1048KB", "--kmax", "2097KB", "--pmax", "5%", "--cause", "ecn_late", "--accept", "incast,ecn_off"]
GOOD = ["--alpha", "1/2", "--kmin", "400KB", "--kmax", "1600KB", "--pmax", "5%"]
BY_SPEED = ["--by-speed", "1"]  # a profile for each speed: Kmin and Kmax of an uplink are twice those of a host
BURST = ["--workload", "ring+storage", "--senders", "4", "--qps", "1", "--flow-kb", "250", "--store-kb", "4000"]  # a checkpoint to two hosts that take it at line rate
BIG = ["--leaves", "8", "--hosts", "8", "--spines", "4"]
FAMILIES = {  # name: (kind, options of packetsim)
    "late-small-alpha": ("fault", LATE + FRESH),
    "late-fixed-ports": ("fault", LATE + ["--root", "-1"]),
    "late-shuffle": ("fault", LATE + FRESH + ["--workload", "shuffle", "--peers", "12", "--shuffle-kb", "400", "--alpha", "1/64"]),
    "late-storage": ("fault", LATE + FRESH + ["--workload", "storage"]),
    "late-by-speed": ("fault", LATE + FRESH + BY_SPEED),
    "late-by-speed-fixed": ("fault", LATE + BY_SPEED),
    "late-by-speed-64": ("fault", LATE + FRESH + BY_SPEED + BIG + ["--senders", "24", "--steps", "4"]),
    "early-by-speed": ("fault", FRESH + BY_SPEED + ["--alpha", "1/4", "--kmin", "20KB", "--kmax", "80KB", "--pmax", "20%", "--cause", "ecn_early"]),
    "storage-beside-ring": ("fault", LATE + BURST),
    "storage-beside-ring-by-speed": ("fault", LATE + BURST + BY_SPEED + ["--fresh", "1"]),
    "headroom-alpha-64": ("fault", FRESH + ["--alpha", "64", "--kmin", "1048KB", "--kmax", "2097KB", "--pmax", "5%", "--headroom-factor", "0.3", "--cause", "headroom_small",
                                    "--accept", "lossless_loss,pool_exhausted"]),
    "headroom-by-speed": ("fault", FRESH + BY_SPEED + ["--alpha", "1/16", "--kmin", "1048KB", "--kmax", "2097KB", "--pmax", "5%", "--headroom-factor", "0.3", "--cause",
                                                       "headroom_small", "--accept", "lossless_loss"]),
    "headroom-ring": ("fault", ["--workload", "ring", "--alpha", "1/16", "--kmin", "1048KB", "--kmax", "2097KB", "--pmax", "5%", "--headroom-factor", "0.3", "--cause",
                                "headroom_small", "--accept", "lossless_loss,ecmp_imbalance"]),
    "late-64-hosts": ("fault", LATE + FRESH + BIG + ["--senders", "24", "--steps", "4"]),
    "late-alpha-1-64": ("fault", FRESH + ["--alpha", "1/64", "--kmin", "1048KB", "--kmax", "2097KB", "--pmax", "5%", "--cause", "ecn_late", "--accept", "incast,ecn_off"]),
    "headroom-tight": ("fault", FRESH + ["--alpha", "1/4", "--kmin", "200KB", "--kmax", "800KB", "--pmax", "5%", "--headroom-factor", "0.4", "--buffer", "1536KiB",
                                 "--cause", "headroom_small", "--accept", "lossless_loss"]),
    "headroom-small": ("fault", FRESH + ["--alpha", "1/8", "--kmin", "400KB", "--kmax", "1600KB", "--headroom-factor", "0.6", "--cause", "headroom_small",
                                 "--accept", "lossless_loss"]),
    "early": ("fault", FRESH + ["--alpha", "1/4", "--kmin", "20KB", "--kmax", "80KB", "--pmax", "20%", "--cause", "ecn_early"]),
    "early-paper": ("fault", FRESH + ["--alpha", "1/4", "--kmin", "5KB", "--kmax", "200KB", "--pmax", "1%", "--cause", "ecn_early"]),
    "kmax-high": ("fault", FRESH + ["--alpha", "1/4", "--kmin", "400KB", "--kmax", "1600KB", "--pmax", "5%", "--cause", "ecn_late", "--accept", "incast"]),
    "good": ("healthy", GOOD + FRESH),
    "good-ring": ("healthy", GOOD + ["--workload", "ring"]),
    "good-shuffle": ("healthy", GOOD + FRESH + ["--workload", "shuffle"]),
    "good-storage": ("healthy", FRESH + ["--alpha", "1", "--kmin", "400KB", "--kmax", "1600KB", "--pmax", "5%", "--workload", "storage"]),
    "cc-off": ("dont", GOOD + ["--fault", "cc-off"]),
    "slow-receiver": ("dont", GOOD + ["--workload", "shuffle", "--fault", "slow-receiver"]),
    "bad-cable": ("dont", GOOD + ["--workload", "ring", "--fault", "bad-cable"]),
    "link-down": ("dont", LATE[:-4] + ["--workload", "ring", "--fault", "link-down"]),
    "blind-hash": ("dont", GOOD + ["--workload", "ring", "--fault", "blind-hash"]),
}
GRID = [(alpha, kmin, factor, pmax) for alpha in ("1/16", "1/4", "1") for kmin, factor, pmax in ((1048, 2, 0.05), (800, 4, 0.05), (400, 4, 0.05), (400, 4, 0.2))]


class Fabric:
    """One run's fabric: options and seed; asked for what settings would do."""

    def __init__(self, options, family, seed, work):
        self.options, self.args, self.seed, self.work = options, FAMILIES[family][1], seed, work
        self.hosts = int(self.args[self.args.index("--hosts") + 1]) if "--hosts" in self.args else 4

    def run(self, settings, more=()):
        args = [self.options.packetsim, *self.args, "--seed", str(self.seed), *more]
        for i in range(0, len(settings), 8):
            args += ["--set", ",".join(settings[i:i + 8])]
        r = subprocess.run(args, capture_output=True, text=True, timeout=HANG_S)
        if r.returncode:
            raise RuntimeError("packetsim: " + r.stderr.strip()[-300:])
        return r.stdout

    def outcome(self, settings):
        return self.outcome_in(json.loads(self.run(settings)))

    @staticmethod
    def outcome_in(truth):
        return truth["outcome"]["fault"] or truth["outcome"]["ok"]

    def record(self, settings):
        case = os.path.join(self.work, "case")
        shutil.rmtree(case, ignore_errors=True)
        self.run(settings, ["--out", case, "--length", self.options.length, "--interval", self.options.interval])
        with open(os.path.join(case, "truth.json"), encoding="utf-8") as f:
            return case, json.load(f)

    def review(self, case):
        db = os.path.join(self.work, "case.db")
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(db + suffix):
                os.unlink(db + suffix)
        for args in (["replay", "--from", case], ["tune", "review"]):
            r = subprocess.run([self.options.rocewatch, *args, "--db", db, "--format", "json"], capture_output=True, text=True, timeout=HANG_S)
            if r.returncode:
                raise RuntimeError(f"{args[0]}: exit code {r.returncode}: {r.stderr.strip()[-300:]}")
        return json.loads(r.stdout)["sheets"]


def brief(sheet):
    return {k: sheet.get(k) for k in ("id", "device", "port_group", "ports", "rest", "diagnosis", "advice", "changes", "expected", "checks", "confidence_ratio", "summary")}


def rounds_of(fabric, kind, most):
    """Rounds of review and change; with what each review said, and what its change was worth."""
    row = {"rounds": [], "converged": False}
    held = {}
    for turn in range(most + 1):
        case, truth = fabric.record([f"{k}={v}" for k, v in held.items()])
        here = fabric.outcome_in(truth)
        if turn:
            row["rounds"][-1]["outcome"] = here
        row.setdefault("base", here)
        row["final"] = here
        if turn == most and kind == "fault":
            sheets = fabric.review(case)
            row["converged"] = not judge.round_of(sheets, fabric.hosts)
            break
        sheets = fabric.review(case)
        now = judge.round_of(sheets, fabric.hosts)
        row["rounds"].append({"advice": [s["advice"] for s in sheets][:8], "diagnoses": [s["diagnosis"] for s in sheets][:8],
                              "why": [(s.get("blocked_by") or s.get("summary") or "")[:400] for s in sheets][:3], "sheets": [brief(s) for s in now]})
        if not now or kind != "fault":
            row["converged"] = not now
            break
        for sheet in now:
            settings, _ = judge.settings_of(sheet, fabric.hosts)
            held = judge.fold(held, settings)
    row["held"] = [f"{k}={v}" for k, v in held.items()]
    return row


def option_bytes(args, name):
    text = args[args.index(name) + 1]
    return float(text.removesuffix("KB")) * 1e3


def add_baselines(fabric, row):
    row["vendor"] = {}
    pool = json.loads(fabric.run([]))["thresholds"]["pool"]
    for what, anomaly in vendor.ANOMALIES.items():
        seen = vendor.tune(lambda kmin, kmax: fabric.outcome([f"kmin={kmin:.0f}B", f"kmax={kmax:.0f}B"]), option_bytes(fabric.args, "--kmin"),
                           option_bytes(fabric.args, "--kmax"), pool, anomaly)
        js = [judge.j_of(s["outcome"], row["base"]) for s in seen]
        row["vendor"][what] = {"j": js[-1], "j_worst": max(js), "windows": len(seen) - 1, "kmin": seen[-1]["kmin"], "host_pause_ratio": seen[-1]["outcome"]["host_pause_ratio"]}
    best = None
    for alpha, kmin, factor, pmax in GRID:
        o = fabric.outcome([f"alpha={alpha}", f"kmin={kmin}KB", f"kmax={kmin * factor}KB", f"pmax={pmax}"])
        j = judge.j_of(o, row["base"]) if not o["lossless_drops"] else math.inf
        if best is None or j < best[0]:
            best = (j, f"alpha {alpha}, Kmin {kmin} KB x{factor}, Pmax {pmax}")
    row["oracle"] = {"j": best[0], "settings": best[1]}


def one(options, family, seed):
    work = tempfile.mkdtemp(prefix="tune-packet-", dir=options.tmp)
    try:
        fabric = Fabric(options, family, seed, work)
        kind = FAMILIES[family][0]
        row = {"family": family, "kind": kind, "seed": seed, **rounds_of(fabric, kind, options.rounds)}
        if options.baselines and kind == "fault":
            add_baselines(fabric, row)
        return row
    finally:
        shutil.rmtree(work, ignore_errors=True)


def told_round(r):
    changes = " + ".join(f"{s['diagnosis']}@{s['device']}+{len(s.get('rest') or [])}/{s['port_group']} " +
                         ",".join(f"{c['knob']} {c['current'] if c['current'] is None else format(c['current'], 'g')}>{c['proposed']:g}" for c in s["changes"]) for s in r["sheets"])
    return changes or f"{r['advice'][:3]} {r['diagnoses'][:3]} {r['why'][:1]}"


def tell(row):
    base, final = row["base"], row["final"]
    js = [judge.j_of(r["outcome"], base) for r in row["rounds"] if "outcome" in r]
    line = (f"{row['kind']:7} {row['family']}/{row['seed']}: J {' '.join(f'{j:.2f}' for j in [2.0] + js)} pause {100 * base['host_pause_ratio']:.2f}>"
            f"{100 * final['host_pause_ratio']:.2f} % drops {base['lossless_drops']:.0f}>{final['lossless_drops']:.0f}{'' if row['converged'] else ' NOT SETTLED'}")
    if "vendor" in row:
        line += " | vendor " + ", ".join(f"{what}: {v['j']:.2f} (worst {v['j_worst']:.2f}, {v['windows']} windows)" for what, v in row["vendor"].items())
        line += f" | grid {row['oracle']['j']:.2f} {row['oracle']['settings']}"
    return line + "".join("\n      " + told_round(r) for r in row["rounds"])


def table(rows):
    """Families with the J of each round, the median of the seeds and the worst, beside the vendor's tuner and the best of the grid."""
    out = ["| family | runs | changed | J by round, median | J final, median (worst) | worst of any round | host pause before, after | frames lost at the end | vendor's tuner: any PFC; above 1 % | best of the grid |",
           "|---|---|---|---|---|---|---|---|---|---|"]
    for family in dict.fromkeys(r["family"] for r in rows):
        mine = [r for r in rows if r["family"] == family]
        by_round, worst = [], []
        for r in mine:
            worst.append(max([judge.j_of(x["outcome"], r["base"]) for x in r["rounds"] if "outcome" in x], default=2.0))
        for turn in range(max(len(r["rounds"]) for r in mine)):
            js = sorted(judge.j_of(r["rounds"][turn]["outcome"], r["base"]) for r in mine if turn < len(r["rounds"]) and "outcome" in r["rounds"][turn])
            if js:
                by_round.append(f"{js[len(js) // 2]:.2f}")
        finals = sorted(judge.j_of(r["final"], r["base"]) for r in mine)
        beside = [r for r in mine if "vendor" in r]
        def middle(values):
            values = sorted(values)
            return f"{values[len(values) // 2]:.2f}" if values else "-"
        cells = [family, str(len(mine)), str(sum(any(x["sheets"] for x in r["rounds"]) for r in mine)), " ".join(by_round) or "-", f"{middle(finals)} ({finals[-1]:.2f})", f"{max(worst):.2f}",
                 f"{100 * sum(r['base']['host_pause_ratio'] for r in mine) / len(mine):.2f}, {100 * sum(r['final']['host_pause_ratio'] for r in mine) / len(mine):.2f} %",
                 f"{sum(bool(r['final']['lossless_drops']) for r in mine)} of {len(mine)}",
                 "; ".join(middle(r["vendor"][w]["j"] for r in beside) for w in vendor.ANOMALIES) if beside else "-", middle(r["oracle"]["j"] for r in beside)]
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--packetsim", required=True, help="the packetsim executable")
    p.add_argument("--rocewatch", required=True, help="the rocewatch executable")
    p.add_argument("--families", default="", help="names with commas; all when not given")
    p.add_argument("--seeds", default="1-5")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--length", default="66m")
    p.add_argument("--interval", default="30s")
    p.add_argument("--no-baselines", dest="baselines", action="store_false", help="without the vendor's tuner and the grid")
    p.add_argument("--out", help="results, a JSON object a line")
    p.add_argument("--tmp", default=None)
    options = p.parse_args()
    first, _, last = options.seeds.partition("-")
    rows = []
    for family in options.families.split(",") if options.families else FAMILIES:
        for seed in range(int(first), int(last or first) + 1):
            rows.append(one(options, family, seed))
            print(tell(rows[-1]), flush=True)
    print(table(rows))
    if options.out:
        with open(options.out, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(r) + "\n" for r in rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
