"""table - the results of a score as markdown: rates with their intervals, the worst beside the mean, confusion, times, calibration, the bound of a face."""
import collections
import math
import os
import random

from judge import gap, wilson

# Seconds in which the fault should be seen, and its cause named, by cadence: three polls, or what an engineer at a screen would wait
TARGETS_S = {"1s": (15, 20), "10s": (30, 30), "30s": (90, 90)}
FACE_ORDER = ["full", "sonic-gnmi", "cumulus-gnmi", "openconfig-gnmi", "nxos-snmp", "eos-snmp", "cumulus-snmp", "sonic-snmp"]
MISSED = ("unknown", "silent", "half")


def distinct(rows):
    """How many fabrics the rows looked at: a scenario with a seed, perturbed or not. Each face and cadence looks at the same ones, so that a
    mistake on one of them stands in the table many times, and so does what happens to be easy."""
    return len({fabric_of(r) for r in rows})


def plural(n, word):
    return f"{n} {word}{'s' if n != 1 else ''}"


def fabric_of(row):
    return (row["scenario"], bool(row["perturb"]), row["seed"])


RESAMPLES = 1000


def share(rows, hits, of=lambda row: 1):
    """A share over rows, the sum of @hits over that of @of, with its 95 % interval. The fabrics are drawn anew where one was looked at more than once, as a
    whole, since what is easy on one is easy in all looks at it (cluster bootstrap); else, and where all or none hit, which no drawing changes, Wilson's."""
    by = collections.defaultdict(lambda: [0, 0])
    for r in rows:
        by[fabric_of(r)][0] += hits(r)
        by[fabric_of(r)][1] += of(r)
    looks = [v for v in by.values() if v[1]]
    k, n = sum(v[0] for v in looks), sum(v[1] for v in looks)
    if k in (0, n) or all(v[1] == 1 for v in looks):
        return pct(k, n, len(looks))
    draw, drawn = random.Random(len(looks)), []
    for _ in range(RESAMPLES):
        again = draw.choices(looks, k=len(looks))
        drawn.append(sum(v[0] for v in again) / sum(v[1] for v in again))
    return f"{100 * k / n:.1f} % ({100 * quantile(drawn, 0.025):.0f}-{100 * quantile(drawn, 0.975):.0f})"


def pct(k, n, fabrics=None):
    """A share and its interval. @fabrics: what was looked at, where that is fewer than @n; the interval counts these."""
    if not n:
        return "-"
    m = min(n, fabrics) if fabrics else n
    lo, hi = wilson(k / n * m, m)
    return f"{100 * k / n:.1f} % ({100 * lo:.0f}-{100 * hi:.0f})"


def quantile(v, q):
    v = sorted(v)
    if not v:
        return math.nan
    at = q * (len(v) - 1)
    lo = int(at)
    return v[lo] + (v[min(lo + 1, len(v) - 1)] - v[lo]) * (at - lo)


def p50_p95(v):
    return f"{quantile(v, 0.5):.0f} / {quantile(v, 0.95):.0f}" if v else "-"


def times(rows, what):
    return [f[what] for r in rows for f in r["faults"] if f.get(what) is not None]


def grouped(rows, by):
    groups = collections.defaultdict(list)
    for r in rows:
        groups[by(r)].append(r)
    return groups


def face_cadence(r):
    order = FACE_ORDER.index(r["face"]) if r["face"] in FACE_ORDER else len(FACE_ORDER)
    return (order, float(r["cadence"].rstrip("s")), f"{r['face']} {r['cadence']}")


def name_of(group):
    return group[-1] if isinstance(group, tuple) else group


# ---- the bound -------------------------------------------------------------

# A host is accused of not reacting only with proof: marks at its receivers while it does not slow down. These faces have no marks; there the right
# answer is unknown, with the host and what to collect. The oracle, which guesses by likeness, does not ask for proof.
UNPROVABLE = {(scenario, face) for scenario in ("dcqcn-off", "node-047") for face in ("sonic-snmp", "nxos-snmp")}


def oracle_read(path=None):
    """{(scenario, face): (attainable share, visible share)} of the text that oracle.py wrote; empty when there is none."""
    path = path or os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle.txt")
    bound = {}
    if os.path.exists(path):
        for line in open(path, encoding="utf-8"):
            if line.strip() and not line.startswith("#"):
                scenario, face, told, seen = line.split()[:4]
                bound[scenario, face] = (0.0 if (scenario, face) in UNPROVABLE else float(told), float(seen))
    return bound


def cannot_tell(row, bound):
    """Does the oracle say that this face shows too little for the cause?"""
    return bound.get((row["scenario"], row["face"]), (1, 1))[0] < 0.5


def abstained(row, bound):
    """Said nothing wrong where nobody could have said the cause: with the place and what to collect, or nothing where nothing moves."""
    if row["verdict"] not in MISSED or not cannot_tell(row, bound):
        return False
    blind = bound[row["scenario"], row["face"]][1] < 0.5
    return bool(row.get("abstained")) or (blind and row["verdict"] == "silent")


# ---- tables ----------------------------------------------------------------

def is_right(row):
    return row["verdict"] == "right"


def is_wrong(row):
    return row["verdict"] == "wrong"


def said(row):
    """Warnings and criticals that name a cause."""
    return sum(i["severity"] != "info" and i["cause"] != "unknown" for i in row["named"])


def said_right(row):
    return sum(bool(i["right"]) for i in row["named"] if i["severity"] != "info" and i["cause"] != "unknown")


def rate_rows(rows, by, name, bound):
    out = [f"| {name} | fabrics | runs | right | wrong root | abstained rightly | missed | precision | incidents a fault | s to see p50 / p95 | s to root p50 / p95 |",
           "|---|---|---|---|---|---|---|---|---|---|---|"]
    groups = grouped(rows, by)
    for g in sorted(groups):
        v = groups[g]
        n, m = len(v), distinct(v)
        count = collections.Counter(r["verdict"] for r in v)
        rightly = sum(abstained(r, bound) for r in v)
        missed = sum(count[m] for m in MISSED) - rightly
        faults = sum(len(r["faults"]) for r in v)
        out.append(f"| {name_of(g)} | {m} | {n} | {share(v, is_right)} | {share(v, is_wrong)} | {rightly} | {missed} | "
                   f"{share(v, said_right, said)} | {sum(r['loud'] for r in v) / faults:.2f} | {p50_p95(times(v, 'detect_s'))} | "
                   f"{p50_p95(times(v, 'root_s'))} |")
    return out


def family_rows(rows, bound):
    return rate_rows(rows, lambda r: r["scenario"], "scenario", bound)


def faults_of(row):
    return len(row["faults"])


def within(what, most_s):
    return lambda row: sum(f[what] is not None and f[what] <= most_s for f in row["faults"])


def time_rows(rows):
    out = ["| face, cadence | fabrics | faults | seen in time | root in time | s to see p50 / p95 | s to root p50 / p95 |", "|---|---|---|---|---|---|---|"]
    groups = grouped(rows, face_cadence)
    for g in sorted(groups):
        v = groups[g]
        see, root = TARGETS_S.get(v[0]["cadence"], (math.inf, math.inf))
        seen = share(v, within("detect_s", see), faults_of)
        rooted = share(v, within("root_s", root), faults_of)
        out.append(f"| {name_of(g)} | {distinct(v)} | {sum(map(faults_of, v))} | {seen} in {see} s | {rooted} in {root} s | "
                   f"{p50_p95(times(v, 'detect_s'))} | {p50_p95(times(v, 'root_s'))} |")
    return out


def slow_rows(rows):
    """Families whose root comes late, full face at 1 s and 10 s."""
    out = ["| scenario | cadence | fabrics | s to see p50 / p95 | s to root p50 / p95 | root in time |", "|---|---|---|---|---|---|"]
    groups = grouped([r for r in rows if r["face"] == "full" and r["cadence"] in ("1s", "10s")], lambda r: (r["scenario"], float(r["cadence"].rstrip("s")), r["cadence"]))
    for g in sorted(groups):
        v = groups[g]
        root = TARGETS_S[g[2]][1]
        rooted = sum(f["root_s"] is not None and f["root_s"] <= root for r in v for f in r["faults"])
        if rooted < 0.9 * len(v):
            out.append(f"| {g[0]} | {g[2]} | {distinct(v)} | {p50_p95(times(v, 'detect_s'))} | {p50_p95(times(v, 'root_s'))} | {share(v, within('root_s', root), faults_of)} |")
    return out if len(out) > 2 else []


def bound_rows(rows, bound):
    out = ["| face | fabrics | runs | bound: could be told | reached: right | right or rightly abstained | distance to the bound, points (95 %) | wrong root |",
           "|---|---|---|---|---|---|---|---|"]
    groups = grouped(rows, lambda r: (face_cadence(r)[0], r["face"]))
    for g in sorted(groups):
        v = [r for r in groups[g] if (r["scenario"], r["face"]) in bound]
        if not v:
            continue
        n, m = len(v), distinct(v)
        could = sum(bound[r["scenario"], r["face"]][0] for r in v) / n
        right = sum(r["verdict"] == "right" for r in v)
        lo, hi = wilson(right / n * m, m)
        out.append(f"| {g[1]} | {m} | {n} | {100 * could:.1f} % | {share(v, is_right)} | {share(v, lambda r: is_right(r) or abstained(r, bound))} | "
                   f"{100 * (right / n - could):+.1f} ({100 * (lo - could):+.1f} to {100 * (hi - could):+.1f}) | "
                   f"{share(v, is_wrong)} |")
    return out


def bound_misses(rows, bound):
    """Scenario and face where what is reached stays clearly under the bound: the list of what to work on."""
    out = ["| scenario | face | fabrics | runs | bound | right |", "|---|---|---|---|---|---|"]
    groups = grouped(rows, lambda r: (r["scenario"], face_cadence(r)[0], r["face"]))
    for g in sorted(groups):
        v = groups[g]
        if (g[0], g[2]) not in bound:
            continue
        could = bound[g[0], g[2]][0]
        right = sum(r["verdict"] == "right" for r in v)
        if wilson(right, len(v))[1] < could - 0.03:
            out.append(f"| {g[0]} | {g[2]} | {distinct(v)} | {len(v)} | {100 * could:.0f} % | {share(v, is_right)} |")
    return out if len(out) > 2 else []


def rate_interval(quiet):
    """Of warnings a day and fabric; where none was seen, up to what three of such scores would show once (the rule of three)."""
    if not any(r["loud"] for r in quiet):
        return f"0 to {24 * 3 / sum(r['hours'] for r in quiet):.2f}"
    draw, drawn = random.Random(len(quiet)), []
    for _ in range(RESAMPLES):
        again = draw.choices(quiet, k=len(quiet))
        drawn.append(24 * sum(r["loud"] for r in again) / sum(r["hours"] for r in again))
    return f"{quantile(drawn, 0.025):.2f} to {quantile(drawn, 0.975):.2f}"


def quiet_part(quiet):
    hours = sum(r["hours"] for r in quiet)
    loud = sum(r["loud"] for r in quiet)
    caused = sum(r["false"] for r in quiet)
    infos = sum(r["infos"] for r in quiet)
    fabrics = distinct(quiet)
    rate = "The runs repeat what few fabrics do: no rate a day follows from them"
    if fabrics == len(quiet):
        rate = f"{24 * loud / hours:.2f} false warnings a day and fabric (95 % {rate_interval(quiet)}, fabrics drawn anew)"
    alarmed = distinct([r for r in quiet if r["loud"]])
    out = ["### Nothing wrong", "",
           f"{plural(fabrics, 'distinct fabric')} with nothing wrong, most of them chosen because they look as if: {alarmed} of them, {pct(alarmed, fabrics)}, had a warning or a critical in at least "
           f"one of {plural(len(quiet), 'run')} ({loud} in all, {caused} with a cause). The runs last {hours:.0f} hours together. {rate}. "
           f"{infos / hours:.3f} infos an hour.",
           "", "| scenario | fabrics | with an alarm | runs | hours | warnings and criticals | named |", "|---|---|---|---|---|---|---|"]
    groups = grouped(quiet, lambda r: r["scenario"])
    for g in sorted(groups):
        v = groups[g]
        h = sum(r["hours"] for r in v)
        said = collections.Counter(n["cause"] for r in v for n in r["named"] if n["severity"] != "info")
        out.append(f"| {g} | {distinct(v)} | {distinct([r for r in v if r['loud']])} | {len(v)} | {h:.0f} | {sum(r['loud'] for r in v)} | "
                   f"{', '.join(f'{c} {n}' for c, n in said.most_common(4)) or '-'} |")
    return out + [""]


def price_part(single):
    """What the incidents of a run cost an hour, together, beside what the fault really costs. Runs that stand still have no step to compare."""
    rows = [r for r in single if r["face"] == "full" and r.get("usd_true") and r["verdict"] == "right"]
    if not rows:
        return []
    out = ["### Prices, full face", "", "Told over true price an hour, where the cause was right and the fault costs something: 1 is right.", "",
           "| scenario | cadence | fabrics | true, USD/h | told over true p5 / p50 / p95 | within 1 % | within 5 % |", "|---|---|---|---|---|---|---|"]
    groups = grouped(rows, lambda r: (r["scenario"], float(r["cadence"].rstrip("s")), r["cadence"]))
    groups["all", 0, "all"] = rows
    for g in sorted(groups, key=lambda g: (g[0] == "all", g)):
        v = groups[g]
        ratio = [r["usd_told"] / r["usd_true"] for r in v]
        near = [share(v, lambda r, most=most: abs(r["usd_told"] / r["usd_true"] - 1) <= most) for most in (0.01, 0.05)]
        usd = sorted(r["usd_true"] for r in v)
        out.append(f"| {g[0]} | {g[2]} | {distinct(v)} | {usd[0]:.0f} to {usd[-1]:.0f} | {quantile(ratio, 0.05):.3f} / {quantile(ratio, 0.5):.3f} / {quantile(ratio, 0.95):.3f} | "
                   f"{near[0]} | {near[1]} |")
    return out + [""]


def confusion_part(single):
    confusion = collections.defaultdict(collections.Counter)
    families = grouped(single, lambda r: r["cause"])
    for r in single:
        if r["verdict"] == "right":
            said = "right"
        else:
            loud = [n for n in r["named"] if n["severity"] != "info"]
            said = loud[0]["cause"] + (" elsewhere" if loud and loud[0]["cause"] == r["cause"] else "") if loud else "nothing"
        confusion[r["cause"]][said] += 1
    out = ["### What was said instead", "", "| true cause | fabrics | runs | right | instead |", "|---|---|---|---|---|"]
    for c in sorted(confusion):
        n = sum(confusion[c].values())
        instead = ", ".join(f"{s} {k}" for s, k in confusion[c].most_common() if s != "right")
        m = distinct(families[c])
        out.append(f"| {c} | {m} | {n} | {share(families[c], is_right)} | {instead or '-'} |")
    return out + [""]


def calibration_part(ok):
    named = [(n, r) for r in ok for n in r["named"] if n["severity"] != "info" and n["cause"] != "unknown" and n["confidence"] is not None]
    said = [n for n, _ in named]
    if not said:
        return []
    brier = sum((n["confidence"] - bool(n["right"])) ** 2 for n in said) / len(said)
    out = ["### Is the confidence honest?", "", f"Brier score {brier:.3f} over {len(said)} incidents (0 is perfect, 0.25 is a coin).", "",
           "| confidence | fabrics | incidents | mean confidence | really right |", "|---|---|---|---|---|"]
    edges = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1.01)
    for lo, hi in zip(edges, edges[1:]):
        v = [n for n in said if lo <= n["confidence"] < hi]
        m = distinct([r for n, r in named if lo <= n["confidence"] < hi])
        if v:
            out.append(f"| {lo:.1f}-{min(hi, 1):.1f} | {m} | {len(v)} | {sum(n['confidence'] for n in v) / len(v):.2f} | {pct(sum(bool(n['right']) for n in v), len(v), m)} |")
    return out + [""]


def perturbed_part(single, bound):
    tuned, other = ([r for r in single if bool(r["perturb"]) == p] for p in (False, True))
    if not tuned or not other:
        return []
    k = [sum(r["verdict"] == "right" for r in v) for v in (tuned, other)]
    m = [distinct(v) for v in (tuned, other)]
    lo, hi = gap(k[0] / len(tuned) * m[0], m[0], k[1] / len(other) * m[1], m[1])
    points = 100 * (k[0] / len(tuned) - k[1] / len(other))
    return ["### Perturbed fabric", "",
            f"Gap, as tuned minus perturbed: {points:.1f} points (95 % interval {100 * lo:.1f} to {100 * hi:.1f}, Newcombe).", ""] + \
        rate_rows(single, lambda r: "perturbed" if r["perturb"] else "as tuned", "fabric", bound) + [""]


def parted(results):
    """(rows that ran, with one fault, with several, with none)."""
    ok = [r for r in results if r["verdict"] != "error" and not r["packets"]]
    single = [r for r in ok if len(r["faults"]) == 1]
    double = [r for r in ok if len(r["faults"]) > 1]
    return ok, single, double, [r for r in ok if not r["faults"]]


def heading(results, rounds):
    if not results:
        return "no runs"
    ok, single, double, quiet = parted(results)
    seeds = sorted({r["seed"] for r in results})
    whole = f"{rounds} complete round{'s' if rounds != 1 else ''}" if rounds else "INCOMPLETE: not a whole round"
    return (f"{whole}, seeds {seeds[0]} to {seeds[-1]}: {plural(len(results), 'run')} on {plural(distinct(results), 'distinct fabric')}: {len(single)} with one fault ({plural(distinct(single), 'fabric')}), "
            f"{len(double)} with two ({distinct(double)}), {len(quiet)} with none ({distinct(quiet)}); {sum(bool(r['packets']) for r in results)} with captures, in a table of their own; "
            f"{sum(r['verdict'] == 'error' for r in results)} did not run.\n\n{programs(results)}")


def programs(results):
    """Which program was scored. Rows of several are told apart: a table of them is a table of none."""
    count = collections.Counter(r.get("program") or "a program that was not recorded" for r in results)
    if len(count) == 1:
        commits = sorted({r["commit"] for r in results if r.get("commit")})
        return f"Measured with {next(iter(count))}{', built at commit ' + ' or '.join(commits) if commits else ''}."
    return "Measured with DIFFERENT programs: " + "; ".join(f"{plural(n, 'run')} with {p}" for p, n in count.most_common()) + "."


def packets_part(results, bound):
    """Runs with captures beside those of the same face, cadence, fabric and seed without."""
    def cell(r):
        return (r["scenario"], r["face"], r["cadence"], bool(r["perturb"]), r["seed"])
    ran = [r for r in results if r["verdict"] != "error" and len(r["faults"]) == 1]
    cells = {cell(r) for r in ran if r["packets"]} & {cell(r) for r in ran if not r["packets"]}
    rows = [r for r in ran if cell(r) in cells]
    if not rows:
        return []
    return ["### Packets", ""] + rate_rows(rows, lambda r: "with captures" if r["packets"] else "counters alone", "evidence", bound) + [""]


def both_found(row):
    return all(f["found"] for f in row["faults"])


def double_part(double, bound):
    return ["### Two faults at once", "", f"Two faults at once: both named in {share(double, both_found)} of {plural(len(double), 'run')} on {plural(distinct(double), 'fabric')}.", ""] + \
        rate_rows(double, face_cadence, "face, cadence", bound) + [""]


def brief(results, rounds=None):
    """The main tables only, with their heading: without a last look the page says nothing of it."""
    bound = oracle_read()
    ok, single, double, quiet = parted(results)
    out = ["## Seeds nobody had looked at", "", heading(results, rounds), ""] + rate_rows(single, face_cadence, "face, cadence", bound) + [""] + time_rows(single) + [""]
    if any((r["scenario"], r["face"]) in bound for r in single):
        out += bound_rows(single, bound) + [""]
    for part in (perturbed_part(single, bound), double_part(double, bound) if double else [], quiet_part(quiet) if quiet else []):
        out += [line for line in part if not line.startswith("###")]
    return "\n".join(out)


def markdown(results, rounds=None):
    """@rounds: complete ones; None: the rows are a part, and the text says so."""
    bound = oracle_read()
    ok, single, double, quiet = parted(results)
    out = [heading(results, rounds), ""]
    out += ["### One fault, by face and cadence", ""] + rate_rows(single, face_cadence, "face, cadence", bound) + [""]
    for cadence in ("1s", "10s"):
        full = [r for r in single if r["face"] == "full" and r["cadence"] == cadence]
        if full:
            out += [f"### One fault, full face at {cadence.replace('s', ' s')}, by scenario", ""] + family_rows(full, bound) + [""]
    out += ["### One fault, by scenario (all faces and cadences)", ""] + family_rows(single, bound) + [""]
    families = grouped(single, lambda r: r["cause"])
    if families:
        worst = min(families, key=lambda c: sum(r["verdict"] == "right" for r in families[c]) / len(families[c]))
        points = sum({"right": 1, "wrong": -5, "unknown": -1, "silent": -1, "half": 0}[r["verdict"]] for r in single) / len(single)
        k = sum(r["verdict"] == "right" for r in families[worst])
        out += [f"Worst family: {worst}, {pct(k, len(families[worst]), distinct(families[worst]))}. Mean score with a wrong root weighed five times an unknown (1 is perfect): {points:.3f}.", ""]
    if single:
        out += ["### In time?", ""] + time_rows(single) + [""]
        slow = slow_rows(single)
        if slow:
            out += ["Where the full face is late in more than a tenth of the runs:", ""] + slow + [""]
    if any((r["scenario"], r["face"]) in bound for r in single):
        out += ["### What a face could tell, and what was told", ""] + bound_rows(single, bound) + [""]
        misses = bound_misses(single, bound)
        if misses:
            out += ["Clearly under the bound:", ""] + misses + [""]
    out += perturbed_part(single, bound)
    out += packets_part(results, bound)
    if double:
        out += double_part(double, bound)
    if quiet:
        out += quiet_part(quiet)
    out += price_part(single)
    out += confusion_part(single)
    out += calibration_part(ok)
    return "\n".join(out)


WHOLE, LAST = "score", "score-last"


def into(path, text, what=WHOLE):
    """Between the marks of @what in the page."""
    begin, end = f"<!-- {what}: begin -->", f"<!-- {what}: end -->"
    with open(path, encoding="utf-8") as f:
        head, rest = f.read().split(begin, 1)
    tail = rest.split(end, 1)[1]
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"{head}{begin}\n{text}\n{end}{tail}")
