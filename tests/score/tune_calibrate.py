#!/usr/bin/env python3
"""tune_calibrate - how far sheets' expected effects are off: from rows of tune_drawn.py to the table in analyzers/tune/tune_effect.c, and its proof on other rows.

    tune_calibrate.py fit ROWS...            the rows of the table, as C: quantiles of (came - likely) over the larger of now and likely, by kind of change
    tune_calibrate.py check NEW... [--old OLD...]   how often what came lies between, how wide that is; beside an older program's rows

`fit` takes rows whose sheets were made with an open table (likely values of the model as they are); `check` takes those of the program that is judged.
"""
import argparse
import collections
import json
import math

KINDS = ["headroom", "alpha", "alpha, mixed speeds", "ecn up"]  # enum sheet_kind; the others keep the margins of tune_whatif
METRICS = {"pfc.tx_pause_ratio": 0.001, "queue.marked_ratio": 0.01, "pg.drops": 0, "queue.watermark_bytes": 0, "pg.headroom_watermark_bytes": 0, "step_time": 1, "j": 1}
LEAST = 20    # values: fewer tell no quantile
WORSE = 1.01


def kind_of(sheet, row=None):
    """As sheet_kind_of(). Where a switch has hosts of several speeds, deeper queues were seen to cost the others more."""
    up = {c["knob"] for c in sheet["changes"] if c["proposed"] > (c["current"] or 0)}
    if "headroom" in up:
        return "headroom"
    if "alpha" in up:
        return "alpha, mixed speeds" if row and "--second-gbps" in row.get("args", []) and sheet["device"].startswith("leaf") else "alpha"
    return "ecn up" if "kmin" in up else None


def values(rows):
    """(kind, metric) -> [{"low", "high", "likely", "now", "value"}]; step time and J once a round, where several sheets were applied together."""
    out = collections.defaultdict(list)
    for row in rows:
        sheets = [(i == 0, s) for r in row.get("rounds", []) for i, s in enumerate(r["sheets"])]
        for (first, sheet), m in zip(sheets, row.get("measured", [])):
            together = {"step_time": m["step_ratio"], "j": m["j_ratio"]}
            for e in sheet["expected"]:
                if e["metric"] in together and first and math.isfinite(together[e["metric"]]):
                    out[kind_of(sheet, row), e["metric"]].append({**e, "value": together[e["metric"]], "seed": row["seed"]})
            for e in m["came"]:
                if e["metric"] not in together:
                    out[kind_of(sheet, row), e["metric"]].append({**e, "seed": row["seed"]})
    return out


def quantile(values, q):
    values = sorted(values)
    at = q * (len(values) - 1)
    low = int(at)
    return values[low] + (at - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def residuals(metric, found):
    return [(v["value"] - v["likely"]) / max(METRICS[metric], v["now"], v["likely"]) if max(METRICS[metric], v["now"], v["likely"]) else 0.0 for v in found]


def number(x):
    text = f"{x:.3f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def fit(rows):
    found = values(rows)
    out = []
    for metric in METRICS:
        cells = []
        for kind in KINDS:
            mine = found.get((kind, metric), [])
            if len(mine) < LEAST:
                cells.append("{NAN, NAN, NAN, NAN}")
                continue
            r = residuals(metric, mine)
            worse = number(100 * sum(v["value"] > WORSE for v in mine) / len(mine)) if metric in ("step_time", "j") else "NAN"
            cells.append("{" + ", ".join(number(quantile(r, q)) for q in (0.1, 0.5, 0.9)) + f", {worse}}}")
        out.append(f'\t{{"{metric}", {METRICS[metric]:g},\n\t\t{{' + ", ".join(cells) + "}},")
    out.append("".join(f"/* {kind}: {len(found.get((kind, 'j'), []))} sheets */\n" for kind in KINDS))
    return "\n".join(out)


def inside(v):
    slack = 1e-9 + 1e-6 * abs(v["value"])
    return v["low"] - slack <= v["value"] <= v["high"] + slack


def check(new, old):
    found, before = values(new), values(old)
    lines = ["| what | sheets | between, of 100 | width, median | width before | chance to be worse, said | came |", "|---|---|---|---|---|---|---|"]
    total, hit = 0, 0
    for metric in METRICS:
        mine = [v for kind in KINDS for v in found.get((kind, metric), [])]
        theirs = [v for kind in KINDS for v in before.get((kind, metric), [])]
        if not mine:
            continue
        total, hit = total + len(mine), hit + sum(map(inside, mine))
        told = [v["worse_ratio"] for v in mine if v.get("worse_ratio") is not None]
        lines.append(f"| {metric} | {len(mine)} | {100 * sum(map(inside, mine)) / len(mine):.0f} | {quantile([v['high'] - v['low'] for v in mine], 0.5):.4g} | "
                     + (f"{quantile([v['high'] - v['low'] for v in theirs], 0.5):.4g}" if theirs else "-") + " | "
                     + (f"{100 * sum(told) / len(told):.0f} % | {100 * sum(v['value'] > WORSE for v in mine) / len(mine):.0f} % |" if told else "- | - |"))
    lines.append(f"| **all** | {total} | {100 * hit / max(1, total):.0f} | | | | |")
    return "\n".join(lines)


def read(paths):
    rows = {}
    for path in paths:
        with open(path, encoding="utf-8") as f:
            rows.update({r["seed"]: r for r in map(json.loads, f) if "error" not in r})
    return list(rows.values())


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("what", choices=["fit", "check"])
    p.add_argument("rows", nargs="+")
    p.add_argument("--old", nargs="*", default=[])
    options = p.parse_args()
    print(fit(read(options.rows)) if options.what == "fit" else check(read(options.rows), read(options.old)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
