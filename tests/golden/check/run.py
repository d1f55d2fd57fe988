#!/usr/bin/env python3
"""run.py ROCEWATCH [--update] - the lines and exit codes of `rocewatch check` on recorded scenarios, on old data, on broken input and for
wrong usage, held against expected.txt beside this file. Times are masked. --update rewrites it: read the diff before you commit it.

Two things are asked of every line whatever it says: exit 3 has a line on stdout, and its state is the exit code's word."""
import os, re, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "watch"))
import run as watch  # noqa: E402
from patience import HANG_S  # noqa: E402

STATES = ["OK", "WARNING", "CRITICAL", "UNKNOWN"]
CHECKS = ["fabric", "target", "freshness", "pfc", "ecn", "drops", "ecmp", "links", "mtu", "config"]


def ask(cases, *args):
    """Exit code and stdout, with what must hold of any check."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("ROCEWATCH")}
    p = subprocess.run([cases.binary, *args], cwd=cases.dir, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S, env=env)
    words = " ".join(args)
    watch.check(p.returncode in range(4), "%s: exit %d: %s" % (words, p.returncode, p.stderr))
    line = p.stdout.splitlines()[0] if p.stdout else ""
    if "json" not in args:
        watch.check(re.match(r"[A-Z]+ %s - \S" % STATES[p.returncode], line), "%s: exit %d says '%s'" % (words, p.returncode, line))
    return "$ rocewatch %s\n%sexit %d\n" % (words, p.stdout, p.returncode)


def lines(cases):
    shows = {"healthy": CHECKS, "pfc-storm": ["fabric", "pfc", "ecn"], "ecn-late": ["fabric", "ecn", "config"]}
    for scenario, checks in shows.items():
        for check in checks:
            yield ask(cases, "--db", scenario + ".db", "check", check)
        yield ask(cases, "--db", scenario + ".db", "check", "accept", "--job", "train")
    storm = ("--db", "pfc-storm.db", "check")
    yield ask(cases, *storm, "pfc", "--device", "spine2")
    yield ask(cases, *storm, "pfc", "--device", "leaf3", "--warn", "80%", "--crit", "90%")
    yield ask(cases, *storm, "drops", "--priority", "3", "--port", "Ethernet2")
    yield ask(cases, *storm, "links", "--job", "train", "--format", "json")
    # a lossless fabric before the fault
    yield ask(cases, *storm, "pfc", "--until", "1970-01-01 00:03:00")


def faults(cases):
    """Each of these is UNKNOWN."""
    now = int(time.time())
    old = cases.by_agent(cases.moved("pfc-storm", "old", now - now % 900 - 8 * 3600 + 0.079))
    config = cases.configuration("pfc-storm", old)
    with open(cases.path("junk.db"), "w") as f:
        f.write("this is no database " * 500)
    rows = [("-c", config, "check", check) for check in ("fabric", "freshness", "drops", "accept")]
    rows += [("--db", "old.db", "check", "pfc"), ("--db", "junk.db", "check", "pfc"), ("--db", "missing.db", "check", "drops")]
    healthy = ("--db", "healthy.db", "check")
    rows += [(*healthy,), (*healthy, "pcf"), (*healthy, "pfc", "extra"), (*healthy, "pfc", "--warn", "bogus"), (*healthy, "mtu", "--crit", "1"),
             (*healthy, "pfc", "--priority", "8"), (*healthy, "pfc", "--device", "nope*"), (*healthy, "accept", "--job", "nope"),
             (*healthy, "ecmp", "--group", "nope"), (*healthy, "pfc", "--bogus"), ("--bogus", *healthy, "pfc"), (*healthy, "pfc", "--since", "x"),
             ("--db", "healthy.db", "report", "spine-imbalance", "--check", "--warn", "bogus"),
             ("--db", "healthy.db", "report", "spine-imbalance", "--check", "--group", "nope")]
    for row in rows:
        text = ask(cases, *row)
        watch.check("exit 3\n" in text, "not UNKNOWN:\n%s" % text)
        yield text
    cases.configuration("pfc-storm", old, broken=True)
    text = ask(cases, "-c", config, "check", "pfc")
    watch.check("exit 3\n" in text and re.search(r"old\.yaml:\d+:\d+: unknown key 'rolle'", text), "no place of the mistake:\n%s" % text)
    yield text


def limits_agree(cases):
    """What the line calls out of limits by --warn, the report below it shows as out of limits, and the other way round."""
    for warn, out in (("3", 0), ("5%", 1)):
        p = subprocess.run([cases.binary, "--db", "ecn-late.db", "report", "spine-imbalance", "--check", "--warn", warn, "--crit", "9"], cwd=cases.dir,
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)
        watch.check(p.returncode == out, "--warn %s: exit %d:\n%s" % (warn, p.returncode, p.stdout))
        verdict = re.search(r"^(?:OK|UNKNOWN|WARNING|CRITICAL)  (.*)", p.stdout, re.M)[1]
        watch.check(("out of limits" in verdict) == (out == 1), "--warn %s: the line has exit %d, the report says '%s'" % (warn, out, verdict))


def main():
    path = os.path.join(HERE, "expected.txt")
    with tempfile.TemporaryDirectory(prefix="rw-check-") as directory:
        cases = watch.Cases(os.path.realpath(sys.argv[1]), directory)
        for scenario in ("healthy", "pfc-storm", "ecn-late"):
            cases.record(scenario)
            cases.replayed(scenario)
        try:
            text = "".join([*lines(cases), *faults(cases)])
            limits_agree(cases)
        except watch.Failed as e:
            print(e)
            return 1
    text = re.sub(r"\d+h\d\dm old", "AGE old", text)
    text = re.sub(r"'age'=\d+\.\d", "'age'=AGE", text)
    if "--update" in sys.argv[2:]:
        with open(path, "w") as f:
            f.write(text)
        return 0
    with open(path) as f:
        want = f.read()
    if text == want:
        return 0
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
        f.write(text)
        f.flush()
        subprocess.run(["diff", "-u", path, f.name])
    return 1


if __name__ == "__main__":
    sys.exit(main())
