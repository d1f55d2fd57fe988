#!/usr/bin/env python3
"""test_metrics.py BUILDDIR SOURCEDIR - the page of /metrics of recorded faults: read by a strict reader of our own and by Debian's promtool; the
rules and the dashboard that are shipped name only metrics that the table has."""
import json, os, re, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import exposition
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402
from shipped import shipped  # noqa: E402

BUILD, SOURCE = map(os.path.realpath, sys.argv[1:3])
ROCEWATCH = os.path.join(BUILD, "rocewatch")


def check(condition, message, *values):
    if not condition:
        sys.exit("FAILED: " + message % values)


def run(*argv, code=0, stdin=None):
    p = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=HANG_S)
    check(p.returncode == code, "%s: exit %s: %s", " ".join(argv), p.returncode, p.stdout[-500:] + p.stderr[-1500:])
    return p.stdout


def replayed(directory, scenario):
    case, db = os.path.join(directory, scenario), os.path.join(directory, scenario + ".db")
    run(shipped(BUILD), "lab", "record", "--begin", "1970-01-01T00:00:00Z", scenario, "--out", case)
    run(shipped(BUILD), "replay", "--from", case, "--db", db)
    return db


def page(db, *options):
    text = run(ROCEWATCH, "--db", db, "metrics", *options)
    return text, exposition.parse(text, "--openmetrics" in options)


def test_reader_is_strict():
    good = '# HELP a_seconds h\n# TYPE a_seconds gauge\n# UNIT a_seconds seconds\na_seconds{x="1"} 2\n# EOF\n'
    exposition.parse(good, True)
    for bad in (good.replace("# EOF\n", ""), good.replace("2\n", "two\n"), good.replace('"1"', '"1'), good.replace("UNIT a_seconds seconds", "UNIT a_seconds bytes"),
                good.replace("gauge", "counter"), good.replace('a_seconds{x="1"} 2\n', 'a_seconds{x="1"} 2\na_seconds{x="1"} 2\n')):
        try:
            exposition.parse(bad, True)
        except exposition.Wrong:
            continue
        check(False, "the reader accepts %r", bad)


def test_storm(db):
    text, families = page(db)
    _, open_families = page(db, "--openmetrics")
    check(sum(len(f["samples"]) for f in families.values()) == sum(len(f["samples"]) for f in open_families.values()), "the formats hold different samples")
    if shutil.which("promtool"):
        said = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
        check(said.returncode == 0 and not said.stdout + said.stderr, "promtool: %s", said.stdout + said.stderr)
    taken = {(name, label) for name, f in families.items() for _, labels, _ in f["samples"] for label in labels if label in ("job", "instance")}
    check(not taken, "labels that Prometheus gives each series itself: %s", sorted(taken))
    value = lambda name, **labels: exposition.values(families, name, **labels)
    check(value("rocewatch_fabric_state", state="critical") == [1], "the fabric is critical")
    check(value("rocewatch_fabric_state", state="ok") == [0], "states that do not hold are 0")
    check(value("rocewatch_incident_open", severity="critical") == [1] and value("rocewatch_incident_open", severity="info") == [0], "incidents by severity")
    check(value("rocewatch_incidents", cause="pfc_storm", severity="critical") == [1], "incidents by cause")
    check(value("rocewatch_incidents", cause="ecn_late", severity="critical") == [0], "a cause without incident is 0, not absent")
    check(value("rocewatch_signal", signal="pause_time")[0] > 0.9, "the pause is shown as time")
    check(value("rocewatch_signal_state", signal="pause_time", state="ok") == [0], "a signal with an open incident is never ok")
    origin = value("rocewatch_pause_ratio", role="origin", peer="node-010")
    check(origin and origin[0] > 0.9, "the host that pauses is the origin")
    check(not value("rocewatch_signal", signal="nak") and value("rocewatch_signal_state", signal="nak", state="unknown") == [1], "a signal that is not collected is absent and unknown, not 0")
    check(value("rocewatch_target_up") == [1] * 8, "every device has its gauge")
    check(value("rocewatch_cost_usd_per_hour")[0] > 0, "money")
    # bounded: the first subjects, and how many there are beside
    _, narrow = page(db, "--top", "1")
    check(len(exposition.values(narrow, "rocewatch_pause_ratio")) == 1, "--top 1")
    check(exposition.values(narrow, "rocewatch_exposition_dropped_series", family="rocewatch_pause_ratio")[0] >= 1, "what is left out is counted")
    _, wide = page(db, "--all-ports")
    check(len(exposition.values(wide, "rocewatch_port_octets_total")) > len(value("rocewatch_port_octets_total")) > 0, "--all-ports")


def test_silent_device(db):
    """A device that stops answering keeps its gauges, at 0."""
    _, families = page(db)
    check(len(exposition.values(families, "rocewatch_target_up")) == 8, "stale devices keep their gauge")
    check(0 in exposition.values(families, "rocewatch_target_up"), "a silent device is not up")
    reasons = [has["reason"] for _, has, _ in families["rocewatch_target_info"]["samples"]]
    check("silent" in reasons, "the reason has no age, which would make a new series each time: %s", reasons)


def names(expression):
    """Metric names in a PromQL expression."""
    return set(re.findall(r"\brocewatch_[a-z0-9_]+", expression))


def test_shipped(known):
    grafana = json.load(open(os.path.join(SOURCE, "config/grafana/rocewatch.json")))
    shown = set()
    for panel in grafana["panels"]:
        for target in panel.get("targets", []):
            shown |= names(target["expr"])
            for selector in re.findall(r"\brocewatch_[a-z0-9_]+(?:\{[^}]*\})?", target["expr"]):
                check('instance=~"$instance"' in selector, "panel '%s' is of all fabrics together: %s", panel["title"], selector)
    for annotation in grafana["annotations"]["list"]:
        shown |= names(annotation["expr"])
    rules = open(os.path.join(SOURCE, "config/prometheus/rocewatch.rules.yml")).read()
    asked = set().union(*(names(line) for line in rules.splitlines() if line.strip().startswith("expr:")))
    check(len(shown) > 30 and len(asked) > 12, "the dashboard and the rules are read")
    check(not shown - known, "the dashboard asks for %s", shown - known)
    check(not asked - known, "the rules ask for %s", asked - known)
    ids = [panel["id"] for panel in grafana["panels"]]
    check(len(ids) == len(set(ids)), "panels with the same id")
    if shutil.which("promtool"):
        folder = os.path.join(SOURCE, "config/prometheus")
        run("promtool", "check", "rules", os.path.join(folder, "rocewatch.rules.yml"))
        run("promtool", "test", "rules", os.path.join(folder, "rocewatch.test.yml"))


def main():
    test_reader_is_strict()
    manual = open(os.path.join(SOURCE, "docs/metrics-exported.md")).read()
    known = set(re.findall(r"^\| `(rocewatch_[a-z0-9_]+)` \|", manual, re.M))  # docs.exported holds this to the table
    test_shipped(known)
    with tempfile.TemporaryDirectory(prefix="rw-metrics-") as directory:
        storm = replayed(directory, "pfc-storm")
        test_storm(storm)
        _, families = page(storm)
        check(set(families) <= known, "not in the manual: %s", set(families) - known)
        test_silent_device(replayed(directory, "device-down"))
    print("ok")


main()
