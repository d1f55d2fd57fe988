#!/usr/bin/env python3
"""test_frames.py BUILDDIR FRAMESDIR [--update] - the watch frame of recorded faults, in the words a person reads, against FRAMESDIR/NAME.txt; and
that a counter which a switch refreshes every 10 s stands still in no frame of a switch that is asked every second. Numbers have three digits."""
import json, os, subprocess, sys, tempfile
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402
from shipped import shipped  # noqa: E402

BUILD, FRAMES = map(os.path.realpath, sys.argv[1:3])
UPDATE = "--update" in sys.argv
ROCEWATCH, SHIPPED = os.path.join(BUILD, "rocewatch"), shipped(BUILD)
SCENARIOS = {  # name: (scenario, time of the frame; "" = the end)
    "healthy": ("healthy", ""),
    "pfc-storm": ("pfc-storm", ""),
    "pfc-storm-before": ("pfc-storm", "1970-01-01T00:04:00Z"),  # as it was before the fault began
    "pfc-deadlock": ("pfc-deadlock", ""),
    "ecn-late": ("ecn-late", ""),
}


def check(condition, message, *values):
    if not condition:
        sys.exit("FAILED: " + message % values)


def run(*argv, program=None):
    p = subprocess.run([program or ROCEWATCH, *argv], capture_output=True, text=True, timeout=HANG_S)
    check(p.returncode == 0, "%s: exit %s: %s", " ".join(argv), p.returncode, p.stderr[-1500:])
    return p.stdout


def recorded(directory, scenario, *options):
    db = os.path.join(directory, scenario + "".join(options).replace(":", "") + ".db")
    if not os.path.exists(db):
        case = db[:-3]
        run("lab", "record", "--begin", "1970-01-01T00:00:00Z", scenario, "--out", case, *options, program=SHIPPED)
        run("replay", "--from", case, "--db", db, program=SHIPPED)
    return db


def frame(db, at):
    return json.loads(run("--db", db, "watch", "--once", "--format", "json", *(["--until", at] if at else [])))


def number(value):
    return "-" if value is None else "%.3g" % (value if abs(value) > 1e-6 else 0)  # rounding of sums is not the same in all builds


def text(doc):
    """What the wall says, without ids and without the sentences of incidents, which have tests of their own."""
    causes = {incident["id"]: incident["cause"] for incident in doc["incidents"]}
    lines = ["state %s, %d open" % (doc["state"], doc["open_incidents"]), "window %s .. %s" % (doc["window"]["from"], doc["window"]["to"])]
    for s in doc["signals"]:
        lines.append("%-18s %9s >= %-9s usual %-9s %-8s %-9s %s%s" % (s["name"], number(s["value"]), number(s["value_low"]), number(s["baseline"]), s["state"], s["quality"],
                     s["where"] or "-", "; because of " + causes[s["incident"]] if s["incident"] else "; " + s["why"] if s["why"] else ""))
    for p in doc["paused"]:
        lines.append("paused %s %s p%s: %s, %s (%s), %s" % (p["device"], p["port"], p["priority"], p["sentence"], number(p["pause_ratio"]), p["quality"], p["role"]))
    for j in doc["jobs"]:
        lines.append("job %s %s, step %s usual %s change %s" % (j["job"], j["state"], number(j["step_s"]), number(j["step_base_s"]), number(j["change_ratio"])))
    lines.append("money %s USD/h" % number(doc["money"]["usd_per_hour"]))
    return "\n".join(lines) + "\n"


def test_scenarios(directory):
    for name, (scenario, at) in SCENARIOS.items():
        doc, path = frame(recorded(directory, scenario), at), os.path.join(FRAMES, name + ".txt")
        if UPDATE:
            open(path, "w").write(text(doc))
            continue
        check(open(path).read() == text(doc), "%s is not\n%s\n(test_frames.py --update writes it; read the difference)", path, text(doc))


def test_one_stop(directory):
    """The wall and `steps` say the same time since which a job stands still, whatever a minute is kept of it."""
    for scenario in ("pfc-storm", "pfc-deadlock"):
        db = recorded(directory, scenario)
        steps = {j["job"]: j["stopped_since"] for j in json.loads(run("--db", db, "steps", "--format", "json"))["jobs"]}
        wall = {j["job"]: j["since"] for j in frame(db, "")["jobs"] if j["state"] == "stopped"}
        check(wall and wall == {job: since for job, since in steps.items() if since}, "%s: stopped since: wall %s, steps %s", scenario, wall, steps)


def test_invariants(directory):
    """What must hold whatever the numbers are."""
    for name, (scenario, at) in SCENARIOS.items():
        doc = frame(recorded(directory, scenario), at)
        for s in doc["signals"]:
            check(not s["incident"] or s["state"] in ("warning", "critical"), "%s: %s has an incident and is %s", name, s["name"], s["state"])
            check(s["value"] is not None or s["state"] in ("unknown", "idle") or s["incident"], "%s: %s is %s without a value", name, s["name"], s["state"])
        shown = [(u["device"], u["port"]) for u in doc["uplinks"]]
        check(len(shown) == len(set(shown)), "%s: an uplink twice", name)
        marks = {s["name"]: s for s in doc["signals"]}
        silent = (marks["pause_time"]["value"] or 0) > 0.01 and marks["ecn_marks"]["value"] == 0 and marks["ecn_marks"]["state"] == "ok"
        check(not silent or marks["pause_time"]["incident"], "%s: PFC without marks is ok, and no incident says who pauses", name)


def test_no_flicker(directory):
    db = recorded(directory, "dcqcn-off", "--face", "sonic-gnmi", "--interval", "1s", "--for", "60s")
    seen = []
    for second in range(45, 57, 2):
        signals = {s["name"]: s for s in frame(db, "1970-01-01T00:00:%d.5Z" % second)["signals"]}
        marks = signals["ecn_marks"]
        check(marks["value"] and "every 10 s" in marks["why"], "at %d s: marks are %s, %s", second, marks["value"], marks["why"])
        check(signals["lossless_drops"]["state"] == "ok", "at %d s: drops are %s", second, signals["lossless_drops"]["state"])
        seen.append(marks["value"])
    check(max(seen) < 1.1 * min(seen), "the marks jump: %s", seen)


def main():
    with tempfile.TemporaryDirectory(prefix="rw-frames-") as directory:
        test_scenarios(directory)
        test_invariants(directory)
        test_one_stop(directory)
        test_no_flicker(directory)
    print("ok")


main()
