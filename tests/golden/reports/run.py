#!/usr/bin/env python3
"""run.py ROCEWATCH CASES - what must hold of every report about a shift, a day, pause, links and thresholds, in every format, on databases of which
much is missing: an empty one, one with a gap, one that keeps minutes only. CASES holds the inputs of golden cases: those of the
detectors are asked."""
import csv, html.parser, io, json, os, re, shutil, sqlite3, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "schema"))
sys.path.insert(0, os.path.join(HERE, "..", ".."))
CASES = os.path.realpath(sys.argv[2])
import schemas  # noqa: E402
from patience import HANG_S  # noqa: E402
from shipped import shipped  # noqa: E402

REPORTS = ["pause", "links", "daily", "handover", "tuning"]
EXITS = {"OK": 0, "WARNING": 1, "CRITICAL": 2, "UNKNOWN": 3}
FRAME = ["report", "fabric", "since", "until", "state", "verdict", "problems", "missing", "figures"]


class Failed(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failed(message)


class Page(html.parser.HTMLParser):
    """Open elements, and what a mail client or a browser would fetch or run."""
    VOID = {"meta", "br", "hr", "img", "link", "col", "path", "line", "rect", "polyline", "circle"}

    def __init__(self):
        super().__init__()
        self.open, self.bad, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag in ("script", "link", "img", "iframe", "object") or any(k in ("src", "srcset", "onload", "onclick") for k, _ in attrs):
            self.bad.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.bad.append("/" + tag)

    def handle_data(self, data):
        self.words.append(data)


class Asked:
    def __init__(self, binary, directory):
        self.binary, self.directory = binary, directory

    def run(self, *args, codes=(0,), program=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith("ROCEWATCH")}
        p = subprocess.run([program or self.binary, *args], cwd=self.directory, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S, env=env)
        check(p.returncode in codes, "%s: exit %d\n%s%s" % (" ".join(args), p.returncode, p.stdout, p.stderr))
        return p.stdout

    def replay(self, case, name):
        self.run("replay", "--from", os.path.join(CASES, case), "--db", name, program=shipped(os.path.dirname(self.binary)))
        return name

    def samples(self, name, begin, rows):
        """A case of one link, from rows of (time, device, port, priority, metric, value)."""
        folder = os.path.join(self.directory, name)
        os.mkdir(folder)
        shutil.copy(os.path.join(CASES, "pause_storm", "healthy", "fabric.yaml"), folder)
        with open(os.path.join(folder, "samples.tsv"), "w") as f:
            f.write("# time_s\tdevice\tport\tpriority\tmetric\tvalue\n")
            for t, *rest in rows:
                f.write("\t".join(str(x) for x in (begin + t, *rest)) + "\n")
        self.run("replay", "--from", folder, "--db", name + ".db", program=shipped(os.path.dirname(self.binary)))
        return name + ".db"

    def json(self, db, report, *more):
        doc = json.loads(self.run("--db", db, "report", report, "--format", "json", *more))
        check(all(k in doc for k in FRAME), "%s of %s lacks a part of the frame: %s" % (report, db, list(doc)))
        check(doc["report"] == report and doc["state"] in EXITS, "%s of %s: %s" % (report, db, doc["verdict"]))
        keys = [p["key"] for p in doc["problems"]]
        check(len(keys) == len(set(keys)), "%s of %s: a key twice: %s" % (report, db, keys))
        check(not any(re.search(r"\d{4}-\d\d-\d\d", k) for k in keys), "%s of %s: a time in a key: %s" % (report, db, keys))
        return doc


def edited(asked, db, name, statements):
    """A copy of a database with rows taken out, as retention or an empty disk would."""
    path = os.path.join(asked.directory, name)
    shutil.copy(os.path.join(asked.directory, db), path)
    if os.path.exists(os.path.join(asked.directory, db + "-wal")):
        shutil.copy(os.path.join(asked.directory, db + "-wal"), path + "-wal")
    with sqlite3.connect(path) as c:
        for statement in statements:
            c.execute(statement)
    c.close()
    return name


def formats(asked, db):
    """Each report in each format: text, md, html, csv, json of the same document."""
    for report in REPORTS:
        doc = asked.json(db, report, "--no-compare")
        ask = ("--db", db, "report", report, "--no-compare", "--format")
        state, verdict = doc["state"], doc["verdict"]
        text, md = asked.run(*ask, "table"), asked.run(*ask, "md")
        page = Page()
        page.feed(asked.run(*ask, "html"))
        words = re.sub(r"\s+", " ", " ".join(page.words))
        check(not page.bad and not page.open, "%s: html holds %s, and %s is not closed" % (report, page.bad, page.open))
        for name, got in (("text", text), ("md", md.replace("\\", "")), ("html", words)):
            flat = re.sub(r"\s+", " ", got)
            check(state in flat and verdict.split(" (incident")[0] in flat, "%s: %s lacks the verdict %s\n%s" % (report, name, verdict, got))
        check(md.startswith("#"), "%s: md begins with no heading" % report)
        rows = list(csv.reader(io.StringIO(asked.run(*ask, "csv"))))
        check(len({len(r) for r in rows}) == 1, "%s: csv has rows of different length" % report)


def verdict_is_exit(asked, db):
    for report in REPORTS:
        doc = asked.json(db, report, "--no-compare")
        code = EXITS[doc["state"]]
        line = asked.run("--db", db, "report", report, "--no-compare", "--check", "--out", "out.txt", codes=(code,))
        check(" %s - " % doc["state"] in line, "%s: exit %d, and the line says %s" % (report, code, line))


def silent_where_well(asked, db):
    """--only-problems prints nothing of a fabric without problems."""
    for report in ("pause", "handover"):
        doc = asked.json(db, report, "--no-compare")
        check(doc["state"] == "OK" and not doc["problems"], "%s of %s: %s" % (report, db, doc["problems"]))
        said = asked.run("--db", db, "report", report, "--only-problems")
        check(said == "", "%s --only-problems: %s" % (report, said))


def empty(asked, db):
    """Nothing is stored: never OK but for what needs no samples, never a 0, and it is said."""
    for report in REPORTS:
        doc = asked.json(db, report)
        check(doc["state"] == "UNKNOWN", "%s of an empty database: %s" % (report, doc["verdict"]))
        check(doc["missing"], "%s of an empty database says nothing of missing data" % report)
    doc = asked.json(db, "pause")
    check(all(f["value"] is None for f in doc["figures"] if f["key"] != "incidents"), "figures of nothing: %s" % doc["figures"])
    doc = asked.json(db, "daily")
    check(doc["drops"]["lossless"] is None and doc["telemetry"]["coverage_ratio"] is None, "0 for what is not known: %s" % doc["drops"])


def gap(asked):
    """Ten minutes, a silence of ten, ten minutes: the pause of both ends counts, the gap is said, and the share of time is of what was seen."""
    at, rows, ns, octets = 0, [], 0, 0
    while at <= 1800:
        if not 600 < at < 1200:
            rows.append((at, "leaf1", "Eth1", 3, "pfc.rx_pause_ns", ns))
            rows.append((at, "leaf1", "Eth1", "-", "port.out_octets", octets))
        at += 10
        ns += 1000000000  # 10 % of the time
        octets += 1000000000
    db = asked.samples("gap", 1767571200, rows)
    doc = asked.json(db, "pause")
    said = [m for m in doc["missing"] if m.startswith("a gap")]
    check(len(said) == 1 and "2026-01-05 00:10:00Z to 2026-01-05 00:19:00Z" in said[0], "the gap is not said: %s" % doc["missing"])
    top = doc["ports"][0]
    check(top["port"] == "Eth1" and abs(top["hi_ratio"] - 0.1) < 0.001 and top["quality"] == "time", "not 10 %%: %s" % top)
    chart = doc["chart"]["series"][0]["values"]
    check(len(chart) in (30, 31) and chart[14] is None and abs(chart[5] - 0.1) < 0.001, "the chart draws over the gap: %s" % chart)
    seen = asked.json(db, "handover")["telemetry"]
    check(0.6 < seen["coverage_ratio"] < 0.72, "availability of telemetry with a third missing: %s" % seen)
    check(seen["devices"][0]["longest_gap_s"] == 600, "longest gap: %s" % seen)


def minutes_only(asked):
    """Single values of the first two of three hours are gone: pause and links are the same, read from minutes and hours."""
    rows = []
    for at in range(0, 10801, 20):
        rows += [(at, "leaf1", "Eth1", 3, "pfc.rx_pause_ns", at * 100000000), (at, "leaf1", "Eth1", "-", "port.in_errors", at * 3),
                 (at, "leaf1", "Eth1", "-", "port.out_octets", at * 1000000000), (at, "leaf1", "Eth1", "-", "port.oper_up", 1)]
    begin = 1767571200
    db = asked.samples("hours", begin, rows)
    bare = edited(asked, db, "minutes.db", ["DELETE FROM block WHERE to_ns <= %d" % ((begin + 7200) * 10**9)])
    left = sqlite3.connect(os.path.join(asked.directory, bare)).execute("SELECT min(from_ns), count(*) FROM block").fetchone()
    check(left[1] > 0 and left[0] > (begin + 3600) * 10**9, "single values are still there: %s" % (left,))
    for report, keys in (("pause", ("ports", "watchdog", "figures", "chart")), ("links", ("ports", "figures", "chart"))):
        whole, rest = asked.json(db, report, "--no-compare"), asked.json(bare, report, "--no-compare")
        check("minutes" in rest["source"], "%s reads %s" % (report, rest["source"]))
        for key in keys:
            check(whole[key] == rest[key], "%s, %s: from minutes %s, from all %s" % (report, key, rest[key], whole[key]))
        check(whole["verdict"] == rest["verdict"], "%s: %s, was %s" % (report, rest["verdict"], whole["verdict"]))
    top = asked.json(bare, "pause", "--no-compare")["ports"][0]
    check(abs(top["paused_s"] - 1080) < 1 and abs(top["hi_ratio"] - 0.1) < 0.0001, "a tenth of three hours is 1080 s: %s" % top)


def week(asked, db):
    """Over 7 days the steps are hours, and the counts those of a day."""
    day, seven = asked.json(db, "pause", "--no-compare"), asked.json(db, "pause", "--no-compare", "--since", "7d")
    check([p["paused_s"] for p in day["ports"]] == [p["paused_s"] for p in seven["ports"]], "7 d and 1 d differ")
    check(any("before the first sample" in m for m in seven["missing"]), "six days without data are not said: %s" % seven["missing"])


def state_changes(asked):
    """Speed and MTU are told seldom: a change has the time at which the new value was read, and what was told before the range holds in it."""
    begin, rows = 1767571200, []
    for at in range(0, 3601, 10):
        rows.append((at, "leaf1", "Eth1", "-", "port.out_octets", at * 1000000))
    for at, speed, mtu in ((0, 400, 9216), (605, 100, 9216), (1205, 400, 9216), (1805, 400, 4200)):
        rows += [(at, "leaf1", "Eth1", "-", "port.speed_bps", speed * 10**9), (at, "leaf1", "Eth1", "-", "port.mtu_bytes", mtu)]
    db = asked.samples("states", begin, sorted(rows))
    for span, want in (("24h", ["speed 400 Gbit/s -> 100 Gbit/s", "speed 100 Gbit/s -> 400 Gbit/s", "MTU 9.22 KB -> 4.20 KB"]), ("45m", ["speed 100", "MTU"]), ("20m", [])):
        doc = asked.json(db, "links", "--no-compare", "--since", span)
        mistakes = schemas.Schemas(os.path.dirname(os.path.realpath(sys.argv[1]))).mistakes("report-links", doc)
        check(not mistakes, "report links --since %s: %s" % (span, mistakes))
        got = [c["text"] for c in doc["changes"]]
        check(len(got) == len(want) and all(g.startswith(w) for g, w in zip(got, want)), "--since %s: changes %s" % (span, doc["changes"]))
        check(doc["ports_known"]["speed"] == 1, "--since %s: the speed told before is not known: %s" % (span, doc["ports_known"]))
    whole = asked.json(db, "links", "--no-compare", "--since", "24h")["changes"]
    check([c["time"] for c in whole] == ["2026-01-05T00:%s.000Z" % t for t in ("10:05", "20:05", "30:05")], "times of the changes: %s" % whole)


def slow_link(asked):
    """One slow link: one problem, in the words of the incident, and the port stands in the table with the same words."""
    db = asked.replay("link_health/slow_by_declaration", "slow.db")
    doc = asked.json(db, "links", "--no-compare")
    words = "runs at 200 Gbit/s, declared 400 Gbit/s"
    check(len(doc["problems"]) == 1 and words in doc["problems"][0]["text"], "one slow link is told as %s" % doc["problems"])
    check([(p["port"], p["words"]) for p in doc["ports"]] == [("Ethernet2", [words])], "ports: %s" % doc["ports"])
    check([a["text"] for a in doc["audit"]] == [words], "the audit says %s" % doc["audit"])
    check(doc["ports_known"]["speed"] == 3, "speed of 3 ports was told: %s" % doc["ports_known"])


def trees_of_incidents(asked):
    """Where pause began is shown in the window of each incident about it, as `pause tree --incident` draws it."""
    db = asked.replay("config_mismatch/credits_paused", "credits.db")
    doc = asked.json(db, "pause", "--no-compare")
    check(doc["incidents"] and doc["trees"], "credits.db has no incident about pause, or no tree")
    wanted = []
    for incident in doc["incidents"][:3]:
        drawn = json.loads(asked.run("--db", db, "pause", "tree", "--incident", incident["id"], "--format", "json"))
        wanted += [(drawn["from"], drawn["to"], tree["device"], tree["port"]) for tree in drawn["trees"]]
    got = [(tree["from"], tree["to"], tree["device"], tree["port"]) for tree in doc["trees"]]
    check(got == wanted, "trees of the report: %s; of its incidents: %s" % (got, wanted))


def stale(asked, db):
    """A database that an agent wrote and writes no more is not well: its newest sample is years old. Nor is it hidden that something was wrong."""
    with sqlite3.connect(os.path.join(asked.directory, db)) as c:
        columns = [r[1] for r in c.execute("PRAGMA table_info(health)")]
    c.close()
    health = "INSERT INTO health(%s) VALUES (%s)" % (",".join(columns), ",".join({"key": "'up'", "t_ns": "30000000000", "unit": "''"}.get(k, "0") for k in columns))
    old = edited(asked, db, "old-" + db, ["DELETE FROM meta WHERE key='recorded'", health])
    for report in REPORTS:
        doc = asked.json(old, report, "--no-compare")
        check(doc["state"] != "OK" and "stale_data:" in [p["key"] for p in doc["problems"]], "%s of old data: %s" % (report, doc["verdict"]))
        check(any("the newest sample is" in m for m in doc["missing"]), "%s does not say how old: %s" % (report, doc["missing"]))
    return old


def scope(asked, db):
    """--device: neither ports nor incidents of others count."""
    asked.replay("link_flap/flapping", "flap.db")
    whole, one = asked.json("flap.db", "links", "--no-compare"), asked.json("flap.db", "links", "--no-compare", "--device", "spine1")
    check(whole["state"] == "WARNING" and [i["where"] for i in whole["incidents"]] == ["leaf1:Ethernet50"], "%s" % whole["incidents"])
    check(not one["incidents"] and not one["ports"] and not one["problems"], "of spine1: %s" % one["problems"])
    ring = asked.replay("rings/many_down", "ring.db")
    open_ring, repaired = asked.json(ring, "links", "--no-compare", "--until", "1970-01-01T00:02:00Z"), asked.json(ring, "links", "--no-compare")
    check(open_ring["ring_open"] and not repaired["ring_open"], "a ring of buffers is told as %s, then %s" % (open_ring["ring_open"], repaired["ring_open"]))
    check(open_ring["rings_clean"] < repaired["rings_clean"], "the last time without a ring: %s" % repaired["rings_clean"])
    one = asked.json(db, "pause", "--no-compare", "--device", "spine*")
    check({p["device"] for p in one["ports"]} == {"spine1", "spine2"} and len(one["incidents"]) == 1, "of the spines: %s" % one["ports"])


def people(asked, db):
    """What a shift noted stands in its handover, and a sheet that waits in the review of the week."""
    worst = json.loads(asked.run("--db", db, "incident", "list", "--all", "--format", "json"))["incidents"][0]["id"]
    asked.run("--db", db, "event", "add", "--text", "NIC of node-004 exchanged", "--at", "1970-01-01T00:00:25Z")
    doc = asked.json(db, "handover", "--no-compare")
    check([i["id"] for i in doc["open"]] == [worst], "open: %s" % doc["open"])
    check([c["text"] for c in doc["changes"]] == ["NIC of node-004 exchanged"], "changes: %s" % doc["changes"])
    rows = asked.json(db, "links", "--no-compare")["changes"]
    check([(r["text"], r["time"]) for r in rows] == [("NIC of node-004 exchanged", "1970-01-01T00:00:25.000Z")], "changes in links: %s" % rows)
    check(doc["money"]["usd_in_range"] is None and any("price" in m for m in doc["missing"]), "money without a price: %s" % doc["money"])


def sheets(asked):
    db = asked.replay("tune/headroom", "sheets.db")
    asked.run("--db", db, "tune", "review")
    doc = asked.json(db, "tuning", "--no-compare")
    check(len(doc["sheets"]) == 1 and doc["sheets"][0]["waits_for"] == "waits for approval", "the sheet: %s" % doc["sheets"])
    check([p["key"] for p in doc["problems"] if p["key"].startswith("sheet_waits")] == ["sheet_waits:leaf1 uplinks p3"], "%s" % doc["problems"])
    check(doc["near_limit"] and doc["near_limit"][0]["what"] == "headroom", "headroom that was full is not near its limit: %s" % doc["near_limit"])
    risk = asked.json(db, "handover", "--no-compare")["risk"]
    check([r["text"] for r in risk] == ["waits for approval"], "risk: %s" % risk)


def main():
    with tempfile.TemporaryDirectory(prefix="rw-reports-") as directory:
        asked = Asked(os.path.realpath(sys.argv[1]), directory)
        try:
            storm, healthy = asked.replay("pause_storm/spread", "storm.db"), asked.replay("pause_storm/healthy", "healthy.db")
            dropped = asked.replay("pause_storm/watchdog_drops", "dropped.db")
            trees_of_incidents(asked)
            nothing = edited(asked, healthy, "nothing.db", ["DELETE FROM " + t for t in ("block", "block_minute", "block_hour", "tail", "target", "incident")])
            formats(asked, storm)
            verdict_is_exit(asked, storm)
            verdict_is_exit(asked, healthy)
            verdict_is_exit(asked, dropped)
            silent_where_well(asked, healthy)
            empty(asked, nothing)
            gap(asked)
            minutes_only(asked)
            week(asked, healthy)
            scope(asked, storm)
            state_changes(asked)
            slow_link(asked)
            stale(asked, healthy)
            people(asked, storm)
            sheets(asked)
        except Failed as e:
            print(e)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
