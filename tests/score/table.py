"""table - the results of a score as markdown: rates with their intervals, the worst beside the mean, confusion, times, calibration."""
import collections
import datetime
import math

from judge import wilson

FULL = ("right", "half", "wrong", "unknown", "silent")


def pct(k, n):
    if not n:
        return "-"
    lo, hi = wilson(k, n)
    return f"{100 * k / n:.1f} % ({100 * lo:.0f}-{100 * hi:.0f})"


def seconds_after(row):
    out = []
    for f in row["faults"]:
        if f["opened"]:
            t = datetime.datetime.fromisoformat(f["opened"].replace("Z", "+00:00")).timestamp()
            out.append(t - f["onset_s"])
    return out


def quantile(v, q):
    v = sorted(v)
    if not v:
        return math.nan
    at = q * (len(v) - 1)
    lo = int(at)
    return v[lo] + (v[min(lo + 1, len(v) - 1)] - v[lo]) * (at - lo)


def rate_rows(rows, by, name):
    groups = collections.defaultdict(list)
    for r in rows:
        groups[by(r)].append(r)
    out = [f"| {name} | runs | right | wrong root | unknown or silent | precision | s from onset p50 / p95 |", "|---|---|---|---|---|---|---|"]
    for g in sorted(groups):
        v = groups[g]
        n = len(v)
        count = collections.Counter(r["verdict"] for r in v)
        said = [i for r in v for i in r["named"] if i["severity"] != "info" and i["cause"] != "unknown"]
        t = [s for r in v for s in seconds_after(r)]
        times = f"{quantile(t, 0.5):.0f} / {quantile(t, 0.95):.0f}" if t else "-"
        out.append(f"| {g} | {n} | {pct(count['right'], n)} | {pct(count['wrong'], n)} | {count['unknown'] + count['silent'] + count['half']} | "
                   f"{pct(sum(bool(i['right']) for i in said), len(said))} | {times} |")
    return out


def markdown(results):
    ok = [r for r in results if r["verdict"] != "error"]
    single = [r for r in ok if len(r["faults"]) == 1]
    double = [r for r in ok if len(r["faults"]) > 1]
    quiet = [r for r in ok if not r["faults"]]
    out = []
    out.append(f"{len(results)} runs: {len(single)} with one fault, {len(double)} with two, {len(quiet)} with none "
               f"({sum(r['hours'] for r in quiet):.0f} fabric-hours); {len(results) - len(ok)} did not run.")
    out.append("")
    out.append("Shares carry their 95 % Wilson interval. *Right*: the cause (or one the truth accepts) at the right host, port or group, and nothing else named before it. "
               "*Wrong root*: the worst incident names something that is not at fault. *Precision*: of all incidents of warning or critical with a cause.")
    out.append("")
    out += ["### One fault, by face and cadence", ""] + rate_rows(single, lambda r: f"{r['face']} {r['cadence']}", "face, cadence") + [""]
    out += ["### One fault, by scenario (all faces and cadences)", ""] + rate_rows(single, lambda r: r["scenario"], "scenario") + [""]
    full = [r for r in single if r["face"] == "full" and r["cadence"] == "1s"]
    if full:
        out += ["### One fault, full face at 1 s, by scenario", ""] + rate_rows(full, lambda r: r["scenario"], "scenario") + [""]
    if any(r["perturb"] for r in single):
        out += ["### Perturbed fabric", ""] + rate_rows(single, lambda r: "perturbed" if r["perturb"] else "as tuned", "fabric") + [""]
    if any(r["packets"] for r in single):
        out += ["### Packets", ""] + rate_rows(single, lambda r: "with packets" if r["packets"] else "counters alone", "evidence") + [""]
    families = collections.defaultdict(list)
    for r in single:
        families[r["cause"]].append(r)
    if families:
        worst = min(families, key=lambda c: sum(r["verdict"] == "right" for r in families[c]) / len(families[c]))
        points = sum({"right": 1, "wrong": -5, "unknown": -1, "silent": -1, "half": 0}[r["verdict"]] for r in single) / len(single)
        k = sum(r["verdict"] == "right" for r in families[worst])
        out.append(f"Worst family: {worst}, {pct(k, len(families[worst]))}. Mean score with a wrong root weighed five times an unknown (1 is perfect): {points:.3f}.")
        out.append("")
    if double:
        both = sum(all(f["found"] for f in r["faults"]) for r in double)
        out.append(f"Two faults at once: both named in {pct(both, len(double))} of {len(double)} runs.")
        out.append("")
    if quiet:
        hours = sum(r["hours"] for r in quiet)
        alarms = [r for r in quiet if r["verdict"] == "alarm"]
        infos = sum(r["infos"] for r in quiet)
        out += ["### Nothing wrong", "", f"{hours:.0f} fabric-hours: {sum(r['false'] for r in quiet)} warnings or criticals with a cause, {len(alarms)} runs with any; "
                f"{infos / hours:.3f} infos an hour.", "", "| scenario | runs | hours | runs with an alarm | named |", "|---|---|---|---|---|"]
        groups = collections.defaultdict(list)
        for r in quiet:
            groups[r["scenario"]].append(r)
        for g in sorted(groups):
            v = groups[g]
            said = collections.Counter(n["cause"] for r in v for n in r["named"] if n["severity"] != "info")
            out.append(f"| {g} | {len(v)} | {sum(r['hours'] for r in v):.0f} | {sum(r['verdict'] == 'alarm' for r in v)} | "
                       f"{', '.join(f'{c} {n}' for c, n in said.most_common(4)) or '-'} |")
        out.append("")
    confusion = collections.defaultdict(collections.Counter)
    for r in single:
        if r["verdict"] == "right":
            said = "right"
        else:
            loud = [n for n in r["named"] if n["severity"] != "info"]
            said = loud[0]["cause"] + (" elsewhere" if loud and loud[0]["cause"] == r["cause"] else "") if loud else "nothing"
        confusion[r["cause"]][said] += 1
    out += ["### What was said instead", "", "| true cause | runs | right | instead |", "|---|---|---|---|"]
    for c in sorted(confusion):
        n = sum(confusion[c].values())
        instead = ", ".join(f"{s} {k}" for s, k in confusion[c].most_common() if s != "right")
        out.append(f"| {c} | {n} | {confusion[c]['right']} | {instead or '-'} |")
    out.append("")
    said = [n for r in ok for n in r["named"] if n["severity"] != "info" and n["cause"] != "unknown" and n["confidence"] is not None]
    if said:
        brier = sum((n["confidence"] - bool(n["right"])) ** 2 for n in said) / len(said)
        out += ["### Is the confidence honest?", "", f"Brier score {brier:.3f} over {len(said)} incidents (0 is perfect, 0.25 is a coin).", "",
                "| confidence | incidents | mean confidence | really right |", "|---|---|---|---|"]
        for lo in (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9):
            hi = {0.0: 0.2, 0.2: 0.4, 0.4: 0.6, 0.6: 0.7, 0.7: 0.8, 0.8: 0.9, 0.9: 1.01}[lo]
            v = [n for n in said if lo <= n["confidence"] < hi]
            if v:
                out.append(f"| {lo:.1f}-{min(hi, 1):.1f} | {len(v)} | {sum(n['confidence'] for n in v) / len(v):.2f} | {pct(sum(bool(n['right']) for n in v), len(v))} |")
        out.append("")
    return "\n".join(out)


BEGIN, END = "<!-- score: begin -->", "<!-- score: end -->"


def into(path, text):
    page = open(path, encoding="utf-8").read()
    head, rest = page.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"{head}{BEGIN}\n{text}\n{END}{tail}")
