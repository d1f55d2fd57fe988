#!/usr/bin/env python3
"""check.py ROCEWATCH CASES [--update] - `report spine-imbalance` and the card of an incident in every form, held against the files beside this
one; that all forms tell the same story and the same price; and what a report does for cron: --check, --only-problems, --only-changes, --out
and the comparison with earlier ranges. Two recorded cases of CASES, the inputs of golden cases: one with packets, one whose fault begins at 5 and ends at 20 minutes.
--update rewrites the files: read the diff before you commit it."""
import json, os, subprocess, sys, tempfile
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from patience import HANG_S  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
REPLAY = os.path.join(sys.argv[2], "replay")
FORMS = {"table": "txt", "md": "md", "html": "html", "json": "json", "csv": "csv"}
ENV = {**{k: v for k, v in os.environ.items() if not k.startswith("ROCEWATCH")}, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def check(condition, message):
    if not condition:
        sys.exit("failed: " + message)


class Case:
    def __init__(self, binary, name, folder):
        self.binary, self.db = binary, os.path.join(folder, name + ".db")
        self.run("replay", os.path.join(REPLAY, name), "--db", self.db)

    def run(self, *args, code=0, **env):
        p = subprocess.run([self.binary, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S, env={**ENV, **env})
        check(p.returncode == code, "%s: exit %d, not %d: %s%s" % (" ".join(args), p.returncode, code, p.stdout[-400:], p.stderr[-400:]))
        return p.stdout

    def ask(self, *args, **options):
        return self.run("--db", self.db, *args, **options)

    def report(self, since, until, *args, **options):
        return self.ask("report", "spine-imbalance", "--since", "1970-01-01T00:%02d:00Z" % since, "--until", "1970-01-01T00:%02d:00Z" % until, *args, **options)


def golden(name, text, update):
    path = os.path.join(HERE, name)
    if update:
        with open(path, "w") as f:
            f.write(text)
        return
    with open(path) as f:
        wanted = f.read()
    if text != wanted:
        got = os.path.join(tempfile.gettempdir(), "got-" + name)
        with open(got, "w") as f:
            f.write(text)
        sys.exit("another answer than expected: diff %s %s" % (path, got))


def forms(case, update):
    """All that the text says, markdown and html say too."""
    incident = json.loads(case.ask("incident", "list", "--format", "json"))["incidents"][0]
    asks = {"spine-imbalance": ["report", "spine-imbalance"], "incident": ["incident", "show", incident["id"], "--full"]}
    story = {"spine-imbalance": ["WARNING", "ACTION", "Ethernet49", "spine1", "is hot in 100", "uniform hash", "10.1.0.1", "49153", "0x001a2f",
                                 "rocewatch ecmp collisions", "max/mean-1 over time", "nothing to compare with", "packets of 1 of 2"],
             "incident": [incident["id"], incident["headline"], incident["summary"], "risk:", "read only", "not proved", "ruled out", "EVIDENCE",
                          "WHAT HAPPENED", "onset", "runbook", "GPUs wait", "confidence", "culprit"]}
    for name, words in asks.items():
        for form, ending in FORMS.items():
            text = case.ask(*words, "--format", form)
            golden("%s.%s" % (name, ending), text, update)
            flat = " ".join(text.replace("\\", "").split())
            if form == "html":
                check("<script" not in text and "http" not in text and "<svg" in text + "<svg" * (name == "incident"), "%s in html needs something else" % name)
            if form in ("table", "md", "html"):
                for word in story[name]:
                    check(word in flat or word.replace(">", "&gt;") in flat, "%s as %s does not say '%s'" % (name, form, word))
    ascii_only = case.ask("report", "spine-imbalance", LANG="C", LC_ALL="C")
    check(ascii_only.isascii(), "characters beyond ASCII in the locale C")


def price(case):
    """One price of an incident: in the list, in the report as JSON and as text, and on its card."""
    incident = json.loads(case.ask("incident", "list", "--all", "--format", "json"))["incidents"][0]
    usd = round(json.loads(case.ask("incident", "show", incident["id"], "--format", "json"))["usd_total"], 2)
    report = json.loads(case.ask("report", "spine-imbalance", "--format", "json"))
    group = next(g for g in report["groups"] if g["incident"] == incident["id"])
    check(usd > 0 and round(group["usd"], 2) == usd and round(report["usd_total"], 2) == usd, "the report says %s, the incident %s" % (group["usd"], usd))
    words = "$%.2f" % usd
    for text in (case.ask("report", "spine-imbalance"), case.ask("report", "spine-imbalance", "--format", "html"), case.ask("incident", "show", incident["id"], "--full")):
        check(words in text.replace(",", ""), "the price %s is missing in\n%s" % (words, text[:2000]))


def cron(case, folder):
    even, begun, still = (0, 5), (5, 10), (10, 15)
    check("uneven" in case.report(*begun, "--only-problems"), "a problem is printed")
    check(case.report(*even, "--only-problems") == "", "nothing is printed while all is OK")
    check(case.report(*even, "--only-problems", "--check") == "", "not even the line of the check")
    check("NEW" in case.report(*begun, "--only-changes"), "a problem that came is a change, and is called new")
    check(case.report(*still, "--only-changes") == "", "the same problem as before is no change")
    check(case.report(*still, "--only-changes", "--check", code=1) == "", "and the exit code is that of the check all the same")
    check("gone" in case.report(20, 25, "--only-changes"), "a problem that went is a change")
    # what is not there is no change for the better: a range behind all data
    check("UNKNOWN" in case.ask("report", "spine-imbalance", "--since", "1970-01-02T00:00:00Z", "--until", "1970-01-02T01:00:00Z", "--only-problems"), "missing data is printed")
    doc = json.loads(case.report(*begun, "--format", "json"))
    check([c["with"] for c in doc["compare"]] == ["previous", "yesterday", "last_week"], "compared with %s" % doc["compare"])
    previous, yesterday, _ = doc["compare"]
    key = doc["problems"][0]["key"]
    check(key == "ecmp_imbalance:leaf1 uplinks" and previous["new"] == [key] and previous["gone"] == [], "news: %s" % previous)
    over = next(f for f in previous["figures"] if f["key"] == "groups_over")
    check(over["value"] == 0 and over["change"] == 1, "the figures of before: %s" % over)
    check(yesterday["state"] is None and all(f["value"] is None for f in yesterday["figures"]), "no data of yesterday is null, not 0")
    check("compare" not in json.loads(case.report(*begun, "--no-compare", "--format", "json")), "--no-compare")
    out = os.path.join(folder, "report.html")
    line = case.report(*begun, "--check", "--out", out, "--format", "html", code=1)
    check(line.startswith("ECMP WARNING - ") and line.count("\n") == 1, "only the line on stdout: " + line)
    with open(out) as f:
        page = f.read()
    check(page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n"), "the file is whole")
    case.report(*even, "--only-problems", "--out", out)
    with open(out) as f:
        check(f.read() == page, "the file is left alone when there is nothing to print")
    check(case.report(*even, "--check").startswith("ECMP OK - "), "exit 0")
    check("max/mean-1 = 0 " in case.report(*even, "--check"), "an even group is 0, not 1e-13")
    both = case.report(*even, "--check") + case.report(*even)
    check("-0.0" not in both and " -0 " not in both and "e-1" not in both, "no minus zero and no 1e-13")


def main():
    update = "--update" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        captured, skew = (Case(sys.argv[1], name, folder) for name in ("captured", "skew"))
        forms(captured, update)
        price(captured)
        price(skew)
        cron(skew, folder)
    print("reports: as expected in %d forms" % len(FORMS))


main()
