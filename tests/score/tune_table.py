"""tune_table - the results of tune_score as markdown: the targets with what was reached, families with their worst run, losses one by one."""
import collections
import math

import tune_judge as judge
from table import pct, quantile

BEGIN, END = "<!-- tune score: begin -->", "<!-- tune score: end -->"


def num(v, digits=3):
    return "-" if v is None or (isinstance(v, float) and math.isnan(v)) else "lost" if v == math.inf else f"{v:.{digits}f}"


def median(v):
    """Of an even number with settings that are lost among them the worse one: there is no middle between a number and a loss."""
    v = sorted(v)
    return math.nan if not v else v[len(v) // 2] if math.inf in v else quantile(v, 0.5)


def changed(r):
    return any(x["sheets"] for x in r["rounds"])


def final_j(r):
    return judge.j_of(r["final"], r["base"])


def regret(r):
    return final_j(r) / r["oracle"]["j"] - 1 if r.get("oracle") and r["oracle"]["j"] else None


def cuts(rows):
    return [c for c in (judge.pause_cut(r["final"], r["base"]) for r in rows) if c is not None]


def share(rows, test):
    return pct(sum(bool(test(r)) for r in rows), len(rows))


def verdict(good):
    return "reached" if good else "**missed**"


def target_rows(fault, dont, healthy):
    """(what, reached as text, target, is it)"""
    out = []
    n, shown = len(fault), [r for r in fault if judge.manifest(r)]
    out.append(("a change where thresholds are the fault", share(shown, changed), ">= 90 %", shown and sum(changed(r) for r in shown) / len(shown) >= 0.9))
    quiet = sum(not changed(r) for r in dont)
    out.append(("no change where they are not", share(dont, lambda r: not changed(r)), ">= 99 %", dont and quiet / len(dont) >= 0.99))
    alone = sum(not changed(r) for r in healthy)
    out.append(("a good fabric left alone", share(healthy, lambda r: not changed(r)), ">= 99 %", healthy and alone / len(healthy) >= 0.99))
    c = cuts(fault)
    out.append(("host pause that is gone, median", f"{100 * median(c):.1f} %", ">= 80 %", c and median(c) >= 0.8))
    js = [final_j(r) for r in fault]
    out.append(("J, median", num(median(js)), f"<= {judge.J_LIMIT}", js and median(js) <= judge.J_LIMIT))
    out.append(("J, worst run", num(max(js, default=math.nan)), f"<= {judge.J_LIMIT}", js and max(js) <= judge.J_LIMIT))
    for what in sorted({w for r in fault for w in r.get("more") or {}}):
        v = [judge.j_of(r["more"][what]["final"], r["more"][what]["base"]) for r in fault if what in (r.get("more") or {})]
        out.append((f"J, worst run, {what}", num(max(v, default=math.nan)), f"<= {judge.J_LIMIT}", v and max(v) <= judge.J_LIMIT))
        lost = [r for r in fault if what in (r.get("more") or {}) and judge.new_drops(r["more"][what]["final"], r["more"][what]["base"])]
        out.append((f"runs that lose lossless frames they did not lose, {what}", f"{len(lost)} of {len(v)}", "0", not lost))
    lost = [r for r in fault if any(x.get("outcome") and judge.new_drops(x["outcome"], r["base"]) for x in r["rounds"])]
    out.append(("runs that lose lossless frames they did not lose, in any round", f"{len(lost)} of {n}", "0", not lost))
    left = [r for r in fault if r["final"]["lossless_drops"]]
    out.append(("runs that lose lossless frames at the end", f"{len(left)} of {n}", "0", not left))
    g = [x for x in (regret(r) for r in fault) if x is not None]
    if g:
        out.append(("regret of J <= 5 % against the grid", pct(sum(x <= 0.05 for x in g), len(g)), ">= 95 %", sum(x <= 0.05 for x in g) / len(g) >= 0.95))
    some = [r for r in fault if changed(r)]
    out.append(("settled within 3 rounds", share(some, lambda r: r["converged"]), "100 %", all(r["converged"] for r in some)))
    rounds = [judge.j_of(x["outcome"], r["base"]) for r in fault for x in r["rounds"] if x.get("outcome")]
    out.append(("J, worst round of any run", num(max(rounds, default=math.nan)), f"<= {judge.J_LIMIT}", rounds and max(rounds) <= judge.J_LIMIT))
    beside = [r for r in fault if r.get("statics")]
    beaten = [r for r in beside if judge.beaten_by_static(r)]
    out.append(("runs in which a static default is better", f"{len(beaten)} of {len(beside)}", "0", beside and not beaten))
    back = [r for r in some if judge.turned_back(r["rounds"])]
    out.append(("a knob that goes one way and then back", f"{len(back)} of {len(some)}", "0", not back))
    return out


def family_rows(fault):
    groups = collections.defaultdict(list)
    for r in fault:
        groups[r["family"]].append(r)
    out = ["| family | runs | changed | host pause before | after | gone, median (worst) | J median (worst) | rounds of change | best J of the grid, regret median (worst) |", "|---|---|---|---|---|---|---|---|---|"]
    for name in sorted(groups):
        v = groups[name]
        c, js, g = cuts(v), [final_j(r) for r in v], [x for x in (regret(r) for r in v) if x is not None]
        best = [r["oracle"]["j"] for r in v if r.get("oracle")]
        gone = f"{100 * median(c):.1f} % ({100 * min(c):.1f})" if c else "-"
        grid = f"{num(median(best))}, {100 * median(g):.1f} % ({100 * max(g):.1f})" if g else "-"
        out.append(f"| {name} | {len(v)} | {sum(changed(r) for r in v)} | {100 * median([r['base']['host_pause_ratio'] for r in v]):.2f} % | "
                   f"{100 * median([r['final']['host_pause_ratio'] for r in v]):.2f} % | {gone} | {num(median(js))} ({num(max(js))}) | "
                   f"{median([sum(bool(x['sheets']) for x in r['rounds']) for r in v]):.0f} | {grid} |")
    return out


def static_rows(fault):
    names = sorted({n for r in fault for n in r.get("statics") or {}})
    groups = collections.defaultdict(list)
    for r in fault:
        if r.get("statics"):
            groups[r["family"]].append(r)
    out = ["| family | advice | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    worse = []
    for name in sorted(groups):
        v = groups[name]
        ours = median([judge.objective(r["final"], r["base"]) for r in v])
        cells = []
        for s in names:
            theirs = median([judge.objective(r["statics"][s], r["base"]) for r in v if s in r["statics"]])
            cells.append(num(theirs) + (" (better)" if theirs < ours - 0.03 else ""))
            if theirs < ours - 0.03:
                worse.append((name, s))
        out.append(f"| {name} | {num(ours)} | " + " | ".join(cells) + " |")
    return out, worse


def quiet_rows(rows):
    """One line a kind for those that are left alone, a table of those that are not."""
    groups = collections.defaultdict(list)
    for r in rows:
        groups[(r["kind"], r["family"])].append(r)
    out = []
    for kind, what in (("dont", "Another fault, no change"), ("healthy", "Nothing wrong, no change")):
        quiet = {f: v for (k, f), v in sorted(groups.items()) if k == kind and not any(changed(r) for r in v)}
        said = collections.Counter(r["rounds"][0]["advice"][0] if r["rounds"] and r["rounds"][0]["advice"] else "nothing" for v in quiet.values() for r in v)
        if quiet:
            out += [f"{what}, in {sum(len(v) for v in quiet.values())} runs ({', '.join(f'{k} {n}' for k, n in said.most_common())}): "
                    f"{', '.join(f if len(v) == 1 else f'{f} ({len(v)})' for f, v in quiet.items())}.", ""]
    loud = {f: v for (k, f), v in sorted(groups.items()) if any(changed(r) for r in v)}
    if loud:
        out += ["| a change was proposed for | runs | of |", "|---|---|---|"] + [f"| {f} | {sum(changed(r) for r in v)} | {len(v)} |" for f, v in loud.items()]
    return out


def expected_rows(rows):
    groups = collections.defaultdict(list)
    for r in rows:
        for m in r.get("measured") or []:
            groups[m["metric"]].append(m)
    out = ["| expectation | sheets | measured lies in the range | error of its middle, median | 90 % of errors below |", "|---|---|---|---|---|"]
    for name in sorted(groups):
        v = groups[name]
        error = [abs((m["low"] + m["high"]) / 2 - m["value"]) for m in v]
        unit = v[0].get("unit") or ""
        out.append(f"| {name} ({unit}) | {len(v)} | {pct(sum(judge.within(m['low'], m['high'], m['value']) for m in v), len(v))} | {median(error):.4g} | {quantile(error, 0.9):.4g} |")
    return out if len(out) > 2 else []


def step(c):
    digits = 4 if c["knob"] in ("alpha", "pmax") else 0
    return f"{c['knob']} {num(c['current'], digits)} to {num(c['proposed'], digits)}"


def losses(fault, dont, healthy):
    out = []
    def tell(r, what):
        steps = "; ".join(", ".join(step(c) for c in s["changes"]) + f" ({s['diagnosis']}, {s['device']})" for x in r["rounds"] for s in x["sheets"])
        out.append(f"- {r['family']}, seed {r['seed']}{', perturbed' if r['perturb'] else ''}: {what}" + (f". Applied: {steps}" if steps else ""))
    for r in fault:
        j = final_j(r)
        if not changed(r) and judge.manifest(r):
            tell(r, f"no change ({', '.join(r['rounds'][0]['advice']) if r['rounds'] else 'nothing said'}); hosts paused {100 * r['base']['host_pause_ratio']:.2f} %")
        elif j > judge.J_LIMIT:
            tell(r, f"J {num(j)}, host pause {100 * r['base']['host_pause_ratio']:.2f} to {100 * r['final']['host_pause_ratio']:.2f} %")
        elif r["final"]["lossless_drops"]:
            tell(r, f"{r['final']['lossless_drops']:.0f} frames are still lost")
    for r in dont + healthy:
        if changed(r):
            tell(r, "a change was proposed")
    return out


def markdown(results):
    ok = [r for r in results if "error" not in r]
    fault, dont, healthy = ([r for r in ok if r["kind"] == k] for k in ("fault", "dont", "healthy"))
    hidden = sum(not judge.manifest(r) for r in fault)
    out = [f"{len(results)} runs: {len(fault)} where thresholds are the fault ({hidden} of them drawn so mildly that nothing shows: no change is asked for there), {len(dont)} where something else is, {len(healthy)} where nothing is; {len(results) - len(ok)} did not run. "
           f"Seeds {min((r['seed'] for r in ok), default=0)} to {max((r['seed'] for r in ok), default=0)}, {sum(r['perturb'] for r in ok)} on a perturbed fabric.", "",
           "| what | reached | target | |", "|---|---|---|---|"]
    rows = target_rows(fault, dont, healthy)
    statics, worse = static_rows(fault)
    rows.append(("families in which a static default is better", ", ".join(f"{a}: {b}" for a, b in worse) or "none", "none", not worse))
    out += [f"| {what} | {got} | {target} | {verdict(good)} |" for what, got, target, good in rows]
    out += ["", "### By family", "", *family_rows(fault), "", "### Against static defaults", "",
            "J plus half the share of time in which hosts are paused, median over the same runs; less is better, differences up to 0.03 are noise.", "", *statics]
    vendors = vendor_rows(fault)
    if vendors:
        out += ["", "### Against a vendor's own tuner", "",
                "One rule for the whole fabric, window by window: any PFC or tail drop moves Kmin and Kmax left, none but ECN marks right; quanta of 5 %, after a turn 1 % of the pool, up to 16 windows.",
                "J plus half the share of host pause where it arrives, median (worst window on the way: J).", "", *vendors]
    expected = expected_rows(ok)
    if expected:
        out += ["", "### What was expected, and what came", "", *expected]
    out += ["", "### Where thresholds are not the fault", "", *quiet_rows(dont + healthy)]
    lost = losses(fault, dont, healthy)
    out += ["", f"### Losses ({len(lost)})", "", *(lost[:60] or ["None."])] + ([f"- and {len(lost) - 60} more"] if len(lost) > 60 else [])
    return "\n".join(out)


def vendor_rows(fault):
    """Per family: advice beside the vendor's tuner, for each threshold of its anomaly, over the runs that have both."""
    rows = [r for r in fault if r.get("vendor")]
    kinds = list(dict.fromkeys(what for r in rows for what in r["vendor"]))
    out = ["| family | runs | advice | " + " | ".join(kinds) + " |", "|---|---|---|" + "---|" * len(kinds)] if rows else []
    for family in sorted({r["family"] for r in rows}):
        mine = [r for r in rows if r["family"] == family]
        ours = median(judge.objective(r["final"], r["base"]) for r in mine)
        cells = []
        for what in kinds:
            there = [r["vendor"][what] for r in mine]
            better = " (better)" if median(v["objective"] for v in there) < ours - 0.03 else ""
            cells.append(f"{num(median(v['objective'] for v in there))}{better} ({num(max(v['j_worst'] for v in there))})")
        out.append(f"| {family} | {len(mine)} | {num(ours)} | " + " | ".join(cells) + " |")
    return out


def into(path, text, begin=BEGIN, end=END):
    page = open(path, encoding="utf-8").read()
    head, rest = page.split(begin, 1)
    tail = rest.split(end, 1)[1]
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"{head}{begin}\n{text}\n{end}{tail}")
