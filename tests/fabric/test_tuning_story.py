#!/usr/bin/env python3
"""test_tuning_story.py ROCEWATCH - the same way from evidence to proof in history: two recorded stretches of one fabric, before and after the thresholds a review of the first one
proposes. Nothing runs meanwhile: the ledger is written by the commands themselves."""
import json, os, shutil, subprocess, sys, tempfile
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

SCENARIO, CHANGE_AT, LENGTH = "tune-late-storage", "25m", "40m"


class Failed(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failed(message)


class Story:
    def __init__(self, binary, work):
        self.binary, self.work = binary, work

    def run(self, *args, code=0):
        p = subprocess.run([self.binary, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)
        check(p.returncode == code, "%s: exit %d, expected %d: %s" % (" ".join(args), p.returncode, code, p.stderr[:500]))
        return p

    def record(self, name, *args):
        """As a database: what a replay of the recorded case stores."""
        case, db = os.path.join(self.work, name), os.path.join(self.work, name + ".db")
        self.run("lab", "record", "--begin", "1970-01-01T00:00:00Z", SCENARIO, "--out", case, "--seed", "8", "--for", LENGTH, *args)
        with open(os.path.join(case, "fabric.yaml"), "a") as f:
            f.write("tuning: { min_evidence: 20m }\n")
        self.run("replay", "--from", case, "--db", db)
        return db

    def tune(self, db, *args):
        return json.loads(self.run("--db", db, "tune", *args, "--format", "json").stdout)

    def reviewed(self, db):
        sheets = [s for s in self.tune(db, "review", "--until", "1970-01-01T00:%s:00Z" % CHANGE_AT[:-1])["sheets"] if s["advice"] == "change"]
        check(sheets, "no change is proposed")
        return sheets[0]

    def state(self, db, sheet):
        return {s["id"]: s["state"] for s in self.tune(db, "list")["sheets"]}.get(sheet["id"])

    def proven(self, db, sheet):
        check(self.state(db, sheet) in ("proposed", "expired"), "recorded as %s" % self.state(db, sheet))
        self.run("--db", db, "tune", "accept", sheet["id"])
        check(self.state(db, sheet) == "applied", "accepted, and %s by what was read back" % self.state(db, sheet))
        proof = self.tune(db, "verify", sheet["id"])
        check(self.state(db, sheet) == "verified", "after verify it is %s" % self.state(db, sheet))
        again = self.tune(db, "verify", sheet["id"])
        check({k: v for k, v in again.items()} == proof, "asked again it says something else")
        return proof


def thresholds(sheet, values):
    words = {"kmin": "B", "kmax": "B", "headroom": "B", "xon_offset": "B", "pmax": "", "alpha": ""}
    return ",".join("%s=%s%s" % (knob, "%d" % value if unit else "%g" % value, unit) for knob, value in values.items() for unit in [words[knob]])


def relative(story):
    """The same switches with ECN in relative mode: the bytes that they tell are defaults which the hardware ignores, so none may be advised. With the face
    that tells bytes in force the same stretch asks for Kmin or Kmax (test() below)."""
    db = story.record("relative", "--face", "relative-ecn")
    sheets = [s for s in story.tune(db, "review")["sheets"] if s["priority"] == 3]
    check(sheets, "no sheet about a fabric that is late")
    for s in sheets:
        knobs = {c["knob"] for c in s["changes"]}
        check(not knobs & {"kmin", "kmax", "pmax"}, "advice in bytes for relative ECN: %s" % s["summary"])
        check("ECN relative (read back" in (s["world"] or ""), "the sheet says of its class: %s" % s["world"])
    classes = json.loads(story.run("--db", db, "status", "--format", "json").stdout)["classes"]
    check([c["ecn"]["word"] for c in classes] == ["relative"], "status says %s" % classes)
    return sheets[0]["summary"]


def test(binary, work):
    story = Story(binary, work)
    without_bytes = relative(story)
    sheet = story.reviewed(story.record("before"))
    for option, name in (("--device", "leaf99"), ("--uplinks", "spine99"), ("--port", "Ethernet99")):
        wrong = story.run("--db", os.path.join(work, "before.db"), "tune", "review", option, name, code=2)
        check(name in wrong.stderr and "nothing in this time range" not in wrong.stdout, "%s %s reads as health" % (option, name))
    values = {c["knob"]: c["programmed"] or c["proposed"] for c in sheet["changes"]}
    for form in ("table", "md", "html", "csv"):
        check(sheet["id"] in story.run("--db", os.path.join(work, "before.db"), "tune", "show", sheet["id"], "--format", form).stdout, "%s lacks the sheet" % form)
    for vendor in ("sonic", "eos", "nxos", "nvue", "junos"):
        story.run("--db", os.path.join(work, "before.db"), "tune", "render", sheet["id"], "--vendor", vendor)

    db = story.record("after", "--set", thresholds(sheet, values), "--set-at", CHANGE_AT)
    same = story.reviewed(db)
    check(same["id"] == sheet["id"], "the same stretch gives another sheet: %s, %s" % (same["id"], sheet["id"]))
    proof = story.proven(db, same)
    check(proof["verdict"] == "keep", "a change that helps: %s" % json.dumps(proof))
    story.run("--db", db, "tune", "reject", sheet["id"], "--why", "too late", code=1)

    check({"kmin", "kmax"} & set(values), "the face that tells bytes is advised no bytes: %s" % values)
    return "%s %s: %s; relative: %s" % (sheet["diagnosis"], thresholds(sheet, values), proof["why"], without_bytes)


if len(sys.argv) < 2:
    sys.exit("usage: test_tuning_story.py ROCEWATCH")
directory = tempfile.mkdtemp(prefix="tuning-")
try:
    print("passed: " + test(os.path.realpath(sys.argv[1]), directory))
except (Failed, subprocess.TimeoutExpired) as e:
    sys.exit("FAILED: %s" % e)
finally:
    shutil.rmtree(directory)
