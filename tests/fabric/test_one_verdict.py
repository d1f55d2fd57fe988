#!/usr/bin/env python3
"""test_one_verdict.py ROCEWATCH LAB [--golden FOLDER] [--scenarios A,B] [--cases A,B] [--all] [--healthy SEEDS] [--done FILE] - one database, one verdict.

Each recorded fault ends in the middle of its recording. It is looked at when it begins, in its middle, when it is repaired and ten minutes after that:
`status`, `watch`, `doctor`, `check fabric`, `report handover`, `incident list` and `metrics` tell the same state in the same sentence, the same
incidents with cause, severity, place and price; and a check or a report that says WARNING or worse names an incident, or why there is none. What is open
stands on its card as in the list and costs together no more than all jobs, no check and no signal in which it shows is milder, and `doctor` does not call it invisible where it is.

--golden: the recorded cases of the analyzers, in the build tree, which are short: at the newest opening, in the middle, after the end, and at their end.
--healthy N: the scenarios in which nothing is wrong, with seeds 1 to N: no face says WARNING or worse at any of four times; prints a table.
Without a list a sample of each is taken; --all takes everything. --done FILE: a run that is ended goes on there: what agreed stands in FILE, one a line.
Prints each disagreement; exits with 1 when there is one."""
import argparse
import datetime
import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from patience import HANG_S  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SCENARIOS = os.path.join(HERE, "scenarios")
ENV = {k: v for k, v in os.environ.items() if not k.startswith("ROCEWATCH")}
STATES = ["OK", "UNKNOWN", "WARNING", "CRITICAL"]
SEVERITY = {None: "WARNING", "info": "OK", "warning": "WARNING", "critical": "CRITICAL"}
with open(os.path.join(HERE, "..", "..", "db", "model", "golden.def")) as f:  # in which signal of the wall a cause shows
    SIGNALS = {name: {c.lower() for c in re.findall(r"CAUSE_(\w+)", causes)} for name, causes in re.findall(r'^GOLDEN\(\w+, "(\w+)"(.*?)\)$', f.read(), re.M | re.S)}
REPORTS = ["pause", "links", "spine-imbalance"]
PARTS = ["target", "freshness", "pfc", "ecn", "drops", "ecmp", "links", "mtu", "config"]
AFTER_S = 600  # a fault is over for long
SOON_S = 20  # two windows of a recording at 10 s

SAMPLE = ["checkpoint", "pfc-only", "unlucky-harmless", "ecn-late", "mtu-mismatch", "pfc-storm", "slow-compute"]
SAMPLE_CASES = ["ecmp_imbalance/source_routed", "ecmp_imbalance/spray_weak", "ecmp_imbalance/missing_samples", "pause_storm/watchdog_drops",
                "pause_storm/bound_only", "pause_storm/bound_only*0.42", "link_health/fec_corrected", "link_health/light_falls",
                "deadlock/four", "congestion/xon_close", "settings_drift/hash_seed", "settings_drift/pool_resized", "settings_drift/spray_declared_hash_read"]
SAMPLE_HEALTHY = ["healthy-hashed", "checkpoint", "job-end", "drain"]
ANALYZERS = ["baseline", "config_mismatch", "congestion", "conservation", "deadlock", "ecmp_imbalance", "ecmp_paths", "link_flap", "link_health",
             "lossless_loss", "pause_spread", "pause_storm", "rings", "settings_drift", "steps", "straggler", "telemetry"]


# How no face writes a number or a word; a command for a switch or a shell has its own words.
MISWRITTEN = [("an exponent", re.compile(r"\b\d[\d.]*e\+?\d\d\b")), ("a number without separators", re.compile(r"(?<![\w.,:/=+-])\d{5,}(?![\w.,:/=-])")),
              ("many of one", re.compile(r"(?<!of )(?<![\w.,:/=+-])1 (?:host|incident|queue|link|port|part|window|job|poll|step|GPU|frame|packet|device|flow|group|change)s\b")),
              ("a raw key", re.compile(r"\b(?:kmin|kmax|xoff|xon|[a-z]+_(?:ratio|bytes|ns|bps)) [\d.]+(?! ?(?:[kKMG]?B\b|%)|[\d.])"))]
SEEDS = re.compile(r"seed (?:was )?\d+(?:, now \d+)?")  # no number of anything
COMMANDS = {"command", "commands", "cli", "config_db", "sql", "run", "do", "fix"}


def sentences(told):
    if isinstance(told, str):
        return [told] if " " in told else []
    parts = [v for k, v in told.items() if k not in COMMANDS] if isinstance(told, dict) else told if isinstance(told, list) else []
    return [s for part in parts for s in sentences(part)]


def rank(state):
    """-1: the face tells none."""
    return STATES.index(state) if state in STATES else -1


class Asked(Exception):
    """A face gave no answer."""


def iso(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def place(row):
    """Where an incident is, as far as all faces tell it."""
    return tuple(row.get(key) or "" for key in ("device", "port", "host"))


def price(row):
    return None if row.get("usd_per_hour") is None else round(row["usd_per_hour"], 2)


class Faces:
    def __init__(self, program, db, until, most=math.inf):
        self.program, self.db, self.most = program, db, most
        self.at = [] if until is None else ["--until", iso(until)]
        self.unexplained = []  # where no incident is about something, and nothing says why

    def ask(self, *words, codes=(0,)):
        p = subprocess.run([self.program, "--db", self.db, *words, *self.at], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S, env=ENV)
        if p.returncode not in codes:
            raise Asked("%s: exit %d: %s%s" % (" ".join(words), p.returncode, p.stdout[-300:], p.stderr[-300:]))
        return p.stdout

    def document(self, *words, codes=(0,)):
        text = self.ask(*words, "--format", "json", codes=codes)
        self.unexplained += ["%s does not say why: %s" % (" ".join(words), part) for part in re.findall(r'[^"]*no incident is about it(?!:)[^"]*', text)]
        told = json.loads(text)
        self.unexplained += ["%s writes %s: %s" % (" ".join(words), wrong, s) for s in sentences(told) for wrong, form in MISWRITTEN if form.search(SEEDS.sub("seed", s))]
        return told

    @staticmethod
    def lines(rows):
        return {r["id"]: (r["cause"], r["severity"], place(r), price(r)) for r in rows}

    def state(self, name):
        """What a live face tells: state, sentence, incidents, price of all."""
        if name in ("status", "watch"):
            doc = self.document(*(["status"] if name == "status" else ["watch", "--once"]))
            return (doc.get("state") or "none").upper(), doc.get("state_why"), self.lines(doc["incidents"]), price(doc.get("money") or {})
        if name == "doctor":
            doc = self.document("doctor", codes=(0, 1))
            return doc["state"].upper(), doc["state_why"], None, None
        if name == "fabric":
            doc = self.document("check", "fabric", codes=range(4))
            values = {v["name"]: v["value"] for v in doc["values"]}
            return doc["state"], doc["text"], {i["id"]: i["cause"] for i in doc["incidents"]}, price(values)
        if name == "handover":
            doc = self.document("report", "handover")
            return doc["state"], doc["verdict"], {i["id"]: (i["cause"], i["severity"]) for i in doc["open"]}, None
        doc = self.document("incident", "list", "--state", "open")
        rows = [dict(r["subject"], **{k: r[k] for k in ("id", "cause", "severity", "usd_per_hour")}) for r in doc["incidents"]]
        state = max([SEVERITY[r["severity"]] for r in rows], key=STATES.index, default="OK")
        return state, None, self.lines(rows), None

    def metrics(self):
        """State, incidents and price on the page of /metrics."""
        page = self.ask("metrics", "--top", "1000")
        state = re.search(r'rocewatch_fabric_state\{state="(\w+)"\} 1', page)[1].upper()
        rows = {}
        for labels in re.findall(r"^rocewatch_incident_info\{(.*)\} 1", page, re.M):
            r = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))
            rows[r["id"]] = [r["cause"], r["severity"], place(r), None]
        for one, usd in re.findall(r'^rocewatch_incident_cost_usd_per_hour\{id="(\w+)"\} (\S+)', page, re.M):
            if one in rows and usd != "NaN":
                rows[one][3] = round(float(usd), 2)
        total = re.search(r"^rocewatch_cost_usd_per_hour (\S+)", page, re.M)
        return state, None, {k: tuple(v) for k, v in rows.items()}, round(float(total[1]), 2) if total and total[1] != "NaN" else None


def disagreements(faces, now):
    """Texts; @now: the newest instant, which /metrics shows as well."""
    told = {name: faces.state(name) for name in ("list", "status", "watch", "doctor", "fabric", "handover")}
    if now:
        told["metrics"] = faces.metrics()
    found = []
    state, _, rows, _ = told["list"]
    lead, sentence, _, money = told["status"]
    if lead != state and lead != "UNKNOWN" and "no incident" not in (sentence or ""):
        found.append("incident list is %s, status %s: %s" % (state, lead, sentence))
    if rank(lead) < rank(state) and lead != "UNKNOWN":  # when the data ended nobody knows whether it still is
        found.append("status is %s, better than what is open: %s" % (lead, state))
    if (money or 0) > faces.most * 1.0001:
        found.append("all that is open costs %s, all jobs together %s" % (money, faces.most))
    for name, (own, text, own_rows, own_money) in told.items():
        if name != "list" and own != lead:
            found.append("%s is %s, status %s (%s | %s)" % (name, own, lead, text, sentence))
        if name in ("watch", "doctor", "handover") and text != sentence:
            found.append("%s says '%s', status '%s'" % (name, text, sentence))
        if name == "fabric" and not (text or "").startswith(str(sentence)):
            found.append("check fabric says '%s', status '%s'" % (text, sentence))
        if name == "fabric":
            want = {k: v[0] for k, v in rows.items()}
        elif name == "handover":
            want = {k: v[:2] for k, v in rows.items()}
        else:
            want = rows
        if own_rows is not None and own_rows != want:
            found.append("%s has the incidents %s, incident list %s" % (name, own_rows, want))
        if name in ("watch", "fabric", "metrics") and own_money != money:
            found.append("%s costs %s, status %s" % (name, own_money, money))
    for part in PARTS:
        doc = faces.document("check", part, codes=range(4))
        if doc["state"] in ("WARNING", "CRITICAL") and not doc["incidents"] and "no incident" not in doc["text"]:
            found.append("check %s is %s without an incident: %s" % (part, doc["state"], doc["text"]))
        named = [SEVERITY[rows[i["id"]][1]] for i in doc["incidents"] if i["id"] in rows]
        if rank(doc["state"]) < max(map(rank, named), default=0) and lead != "UNKNOWN":
            found.append("check %s is %s, an incident that it names %s: %s" % (part, doc["state"], max(named, key=rank), doc["text"]))
        if rank(doc["state"]) > rank(lead) and doc["state"] != "UNKNOWN" and "no incident" not in doc["text"]:
            found.append("check %s is %s, status %s: %s" % (part, doc["state"], lead, doc["text"]))
    for name in REPORTS:
        for problem in faces.document("report", name, "--no-compare")["problems"]:
            if problem["state"] in ("WARNING", "CRITICAL") and "incident" not in problem["text"]:
                found.append("report %s is %s without an incident: %s" % (name, problem["state"], problem["text"]))
    frame = faces.document("watch", "--once")
    for signal in frame["signals"]:
        own = signal["state"].upper()
        if own in ("WARNING", "CRITICAL") and rank(own) > rank(lead):
            found.append("signal %s is %s, status %s: %s" % (signal["name"], own, lead, signal["why"]))
        for cause, severity, _, _ in rows.values():
            if cause in SIGNALS[signal["name"]] and rank(own) < rank(SEVERITY[severity]) and lead != "UNKNOWN":
                found.append("signal %s is %s while %s is open: %s" % (signal["name"], own, cause, severity))
    cards = [text for one in rows for text in disagreements_about(faces, one, rows[one])] if now else []
    return found + cards + blind(faces, rows) + faces.unexplained


def disagreements_about(faces, one, told):
    """The card of an open incident, and each check that names it, against the list."""
    doc = faces.document("incident", "show", one)
    own = doc["cause"], doc["severity"], place(doc["subject"]), price(doc)
    return [] if own == told else ["incident show has %s, incident list %s" % (own, told)]


def blind(faces, rows):
    """Causes that are open at a device and that `doctor` calls invisible there."""
    coverage = {device: {b["cause"] for b in r["blind"]} for r in faces.document("doctor", codes=(0, 1))["coverage"] or [] for device in r["devices"]}
    open_at = {(where[0], cause) for cause, _, where, _ in rows.values()}
    return ["doctor is blind for %s at %s, where it is open" % (cause, device) for device, cause in sorted(open_at) if cause in coverage.get(device, ())]


def worse(faces):
    """What a face says where nothing is wrong; UNKNOWN is no warning."""
    found = []
    for name in ("list", "status", "watch", "doctor", "fabric", "handover"):
        state, text, rows, _ = faces.state(name)
        if state in ("WARNING", "CRITICAL"):
            found.append("%s is %s: %s %s" % (name, state, text, rows))
    for part in PARTS:
        doc = faces.document("check", part, codes=range(4))
        if doc["state"] in ("WARNING", "CRITICAL"):
            found.append("check %s is %s: %s" % (part, doc["state"], doc["text"]))
    for name in REPORTS:
        doc = faces.document("report", name, "--no-compare")
        if doc["state"] in ("WARNING", "CRITICAL"):
            found.append("report %s is %s: %s" % (name, doc["state"], doc["verdict"]))
    for signal in faces.document("watch", "--once")["signals"]:
        if signal["state"] in ("warning", "critical"):
            found.append("signal %s is %s: %s" % (signal["name"], signal["state"], signal["why"]))
    return found


class Work:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder

    def record(self, name, seed, ends):
        """The scenario, its fault ended after six minutes unless it says itself how long it lasts. Returns the case and its truth."""
        with open(os.path.join(SCENARIOS, name + ".yaml")) as f:
            text = f.read()
        if ends and not re.search(r"^(for|every):", text, re.M):
            text = re.sub(r"^length:.*\n", "", text, flags=re.M) + "\nfor: 6m\nlength: 21m\n"
        case, scenario = os.path.join(self.folder, "case"), os.path.join(self.folder, name + ".yaml")
        with open(scenario, "w") as f:
            f.write(text)
        subprocess.run([self.options.lab, "record", scenario, "--seed", str(seed), "--out", case], check=True, capture_output=True, timeout=HANG_S, env=ENV)
        with open(os.path.join(case, "truth.json")) as f:
            return case, json.load(f)

    def cut(self, case, at):
        """A copy of the case as it was when it was recorded up to then."""
        copy = tempfile.mkdtemp(prefix="cut-", dir=self.folder)
        shutil.copy(os.path.join(case, "fabric.yaml"), copy)
        with open(os.path.join(case, "samples.tsv")) as f, open(os.path.join(copy, "samples.tsv"), "w") as kept:
            kept.writelines(line for line in f if not line[:1].isdigit() or float(line.split("\t", 1)[0]) <= at)
        return copy

    def replay(self, case):
        db = os.path.join(self.folder, os.path.basename(case) + ".db")
        p = subprocess.run([self.options.rocewatch, "replay", "--from", case, "--db", db], capture_output=True, text=True, timeout=HANG_S, env=ENV)
        return db if p.returncode == 0 and os.path.exists(db) else None

    def span(self, case):
        with open(os.path.join(case, "samples.tsv")) as f:
            times = [float(line.split("\t", 1)[0]) for line in f if line[:1].isdigit()]
        return min(times), max(times)


def all_jobs_cost(case):
    """US dollars per hour; nothing limits what has no price, or costs GPUs that are not told."""
    with open(os.path.join(case, "fabric.yaml")) as f:
        text = f.read()
    price, gpus = re.search(r"usd_per_gpu_hour: *([\d.]+)", text), sum(map(int, re.findall(r"\bgpus: *(\d+)", text)))
    return float(price[1]) * gpus if price and gpus else math.inf


def look(what, case, db, program, moments):
    found, most = [], all_jobs_cost(case)
    for word, at in moments:
        try:
            found += ["%s, %s: %s" % (what, word, text) for text in disagreements(Faces(program, db, at, most), at is None)]
        except Asked as e:
            found.append("%s, %s: %s" % (what, word, e))
    return found


def look_scenario(work, name):
    case, truth = work.record(name, 1, True)
    first, last = work.span(case)
    db = work.replay(case)
    onset = truth["onset_s"] if truth.get("onset_s") else first + 240
    end = min(truth.get("end_s") or last, last)
    moments = [("at the onset", onset + SOON_S), ("in the middle", (onset + end) / 2), ("at the repair", end + SOON_S)]
    if end + AFTER_S < last:
        moments.append(("10 min after", end + AFTER_S))
    moments = [(word, at) for word, at in moments if at < last]
    found = look(name, case, db, work.options.rocewatch, moments + [("now", None)])
    for word, at in moments:  # as somebody saw it then, who knew of nothing later
        found += look(name, case, work.replay(work.cut(case, at)), work.options.rocewatch, [(word + ", then", None)])
    return found


def scaled(folder, source, factor):
    """A copy of a case whose pause frames are fewer."""
    case = os.path.join(folder, "scaled")
    shutil.copytree(source, case)
    path = os.path.join(case, "samples.tsv")
    with open(path) as f:
        lines = f.read().splitlines()
    os.remove(path)
    with open(path, "w") as f:
        for line in lines:
            words = line.split("\t")
            if len(words) > 5 and words[4] in ("pfc.rx_frames", "pfc.tx_frames"):
                words[5] = str(int(int(words[5]) * factor))
            f.write("\t".join(words) + "\n")
    return case


def look_case(work, name):
    """"CASE*FACTOR": with so many of its pause frames."""
    name, _, factor = name.partition("*")
    case = os.path.join(work.options.golden, name)
    if factor:
        case = scaled(work.folder, case, float(factor))
    db = work.replay(case)
    if not db:
        return []
    first, last = work.span(case)
    middle, known = (first + last) / 2, Faces(work.options.rocewatch, db, None).document("incident", "list")["incidents"]
    moments = [("at its opening", seconds(i["opened"]) + SOON_S) for i in known[-1:]] + [("in the middle", middle)]
    moments += [("10 s after its end", seconds(i["closed"]) + 10) for i in known if i["closed"]][:1]
    found = look(name, case, db, work.options.rocewatch, [(word, at) for word, at in moments if at < last] + [("now", None)])
    for word, at in moments[:1] + [("in the middle", middle)]:
        then = work.replay(work.cut(case, at)) if at < last else None
        found += look(name, case, then, work.options.rocewatch, [(word + ", then", None)]) if then else []
    return found


def look_healthy(work, name, seed):
    case, _ = work.record(name, seed, False)
    first, last = work.span(case)
    db = work.replay(case)
    found = []
    for at in (first + (last - first) / 4, first + (last - first) / 2, first + 3 * (last - first) / 4, None):
        found += ["%s, seed %d, %s: %s" % (name, seed, "now" if at is None else iso(at), text) for text in worse(Faces(work.options.rocewatch, db, at))]
    return found


def healthy_names():
    for file in sorted(os.listdir(SCENARIOS)):
        with open(os.path.join(SCENARIOS, file)) as f:
            if re.search(r"^cause: none", f.read(), re.M):
                yield file[:-5]


def all_cases(folder):
    for analyzer in ANALYZERS:
        for case in sorted(os.listdir(os.path.join(folder, analyzer))):
            if os.path.exists(os.path.join(folder, analyzer, case, "samples.tsv")):
                yield analyzer + "/" + case


def jobs(options):
    words = lambda text: [w for w in text.split(",") if w]
    every = sorted(f[:-5] for f in os.listdir(SCENARIOS))
    named = options.scenarios is not None or options.cases is not None
    if options.healthy:
        names = words(options.scenarios) if options.scenarios else list(healthy_names()) if options.all else SAMPLE_HEALTHY
        return [(look_healthy, (name, seed)) for name in names for seed in range(1, options.healthy + 1)]
    names = words(options.scenarios or "") if named else every if options.all else SAMPLE
    cases = words(options.cases or "") if named else list(all_cases(options.golden)) if options.all and options.golden else SAMPLE_CASES
    if not options.golden:
        cases = []
    return [(look_scenario, (name,)) for name in names] + [(look_case, (name,)) for name in cases]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rocewatch")
    parser.add_argument("lab")
    parser.add_argument("--golden")
    parser.add_argument("--scenarios")
    parser.add_argument("--cases")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--healthy", type=int, default=0)
    parser.add_argument("--done", help="what agreed is noted here, and not looked at again")
    options = parser.parse_args()
    total, rows, table = 0, jobs(options), {}
    with open(options.rocewatch, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()[:12]  # another program is looked at anew
    done = set()
    if options.done and os.path.exists(options.done):
        with open(options.done) as f:
            done = set(f.read().splitlines())
    for look_at, args in rows:
        key = " ".join([digest, look_at.__name__] + [str(a) for a in args])
        table.setdefault(args[0], [])
        if key in done:
            table[args[0]].append(0)
            continue
        folder = tempfile.mkdtemp(prefix="rw-one-verdict-")
        try:
            found = look_at(Work(options, folder), *args)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        total += len(found)
        table[args[0]].append(len(found))
        for text in found:
            print(text, flush=True)
        if options.done and not found:
            with open(options.done, "a") as f:
                f.write(key + "\n")
    if options.healthy:
        print("%-22s %5s %9s" % ("healthy scenario", "seeds", "warnings"))
        for name, counts in table.items():
            print("%-22s %5d %9d" % (name, len(counts), sum(counts)))
    print("%d looked at, %d disagreements" % (len(rows), total))
    sys.exit(1 if total or not rows else 0)


main()
