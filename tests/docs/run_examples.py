#!/usr/bin/env python3
"""Every example of every command, report and check is true: it runs on a recorded case and exits as its row says. What asks a switch or
runs until it is stopped is only read ('not_run' says why). Help of every row fits 80 columns, names its options, and is the same by --help
and by help; an option that does not apply is refused."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

BUILD, SOURCE, CASES = (os.path.abspath(p) for p in sys.argv[1:4])  # CASES: the inputs of golden cases
ONLY = sys.argv[4] if len(sys.argv) > 4 else ""
PROGRAM, MANUAL = BUILD + "/rocewatch", BUILD + "/agent/manual/rocewatch-manual"
wrong = []


def say(text):
    wrong.append(text)
    print(text, flush=True)


def run(words, **more):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S, **more)


def name_of(row):
    return row["command"] + (" " + row["subcommand"] if row["subcommand"] else "")


# ---- the world that the examples speak of -----------------------------------------------------------------------------------------------

def configuration(case, database, more=""):
    """fabric.yaml of a case, with what an agent needs."""
    text = open(case + "/fabric.yaml").read()
    head = "store: { path: %s }\ncredentials: { ro: { snmp: { version: 2c, community_file: %s/community } } }\n%s" % (database, os.getcwd(), more)
    number = iter(range(11, 250))
    text = re.sub(r"(- \{ name: [a-z0-9]+, role: [a-z]+) \}", lambda m: "%s, snmp: { address: 192.0.2.%d, credentials: ro } }" % (m[1], next(number)), text)
    return text.replace("devices:\n", head + "devices:\n", 1)


def make_world():
    with open("community", "w") as f:
        f.write("public\n")
    os.chmod("community", 0o600)
    for name, scenario, settings in (("storm", "pfc-storm", []), ("two", "pfc-deadlock", []), ("tune", "tune-early", ["--set", "tuning.min_evidence=5m"])):
        case = name + ".case"
        for words in (["lab", "record", scenario, "--out", case] + (["--packets"] if name == "two" else []),
                      ["replay", "--from", case, "--db", name + ".start.db"] + settings):
            done = run([PROGRAM] + words)
            if done.returncode != 0:
                sys.exit("%s: %s" % (words, done.stderr))
        with open(name + ".yaml", "w") as f:
            f.write(configuration(case, os.path.abspath("used.db"), "tuning: { min_evidence: 5m }\n" if name == "tune" else ""))
    captures = sorted(f for f in os.listdir("two.case") if f.endswith(".pcap"))
    shutil.copy("two.case/" + captures[0], "spine.pcap")
    shutil.copy("storm.yaml", "rocewatch.yaml")
    golden = CASES + "/"
    shutil.copy(golden + "import/leaf/leaf-01.json", "config_db.json")
    for source in ["nccl_nodes/node-00%d.txt" % n for n in range(1, 6)] + ["nccl_log/job.log", "ethtool_mlx5/before.txt", "ethtool_mlx5/after.txt"]:
        shutil.copy(golden + "hosts/" + source, ".")
    shutil.copy(SOURCE + "/tests/fuzz/corpus/collectives/inspector.jsonl", "inspector.log")
    for source in ("samples.csv", "job.csv", "links.csv"):
        shutil.copy(golden + "xray/tiers/" + source, ".")


def first(words, environment):
    """First column of the first row of a list."""
    done = run([PROGRAM] + words + ["--format", "csv", "--no-header"], env=environment)
    rows = done.stdout.split("\n") if done.returncode == 0 else []
    return [r.split(",")[0] for r in rows if r]


# What must have been done before the example of a row makes sense.
BEFORE = {
    "tune list": ["review"], "tune show": ["review"], "tune render": ["review"], "tune accept": ["review"], "tune reject": ["review"],
    "tune applied": ["review", "accept"], "tune verify": ["review", "accept", "applied"],
}


def prepare(row, environment):
    """A fresh database, and the identifiers that stand for those of the examples."""
    world = {"tune": "tune", "incident merge": "two"}.get(row["command"], "storm")
    if name_of(row) == "incident merge":
        world = "two"
    for old in ("used.db", "copy.db", "copy1.db", "copy2.db", "again.db", "bundle.tar.gz"):
        for end in ("", "-wal", "-shm", ".lock", ".state"):
            if os.path.exists(old + end):
                os.unlink(old + end)
    for old in ("last-hour", "recorded", "short", "case"):
        shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree("storm.case.new", ignore_errors=True)
    shutil.copy(world + ".start.db", "used.db")
    shutil.copy(world + ".start.db", "copy.db")
    environment["ROCEWATCH_CONFIG"] = os.path.abspath(world + ".yaml")
    ids = first(["incident", "list", "--all"], environment)
    names = dict(zip(("72drcj3l", "gsq2kfcd"), ids + ["none", "none"]))
    for step in BEFORE.get(name_of(row), []):
        sheet = first(["tune", "list"], environment)
        done = run([PROGRAM, "tune", step] + (sheet[:1] if step != "review" else []), env=environment)
        if done.returncode != 0:
            say("before %s: tune %s: %s" % (name_of(row), step, done.stderr))
    names["hk2v7q4d"] = (first(["tune", "list"], environment) + ["none"])[0]
    if name_of(row) == "silence expire":
        run([PROGRAM, "silence", "add", "--device", "leaf1", "--for", "2h", "--why", "test"], env=environment)
        names["5vf2xq3h"] = (first(["silence", "list"], environment) + ["none"])[0]
    return names


# ---- the tests --------------------------------------------------------------------------------------------------------------------------

def check_example(row, example, environment):
    line = example["line"]
    if not line.startswith(name_of(row)):
        say("rocewatch %s: is no example of '%s'" % (line, name_of(row)))
    if not re.match(r"(also )?[a-z]+s,? ", example["does"]) or example["does"].endswith("."):
        say("rocewatch %s: '%s' does not say what it does, a verb first, without a full stop" % (line, example["does"]))
    if len("  rocewatch " + line) > 80:
        say("rocewatch %s: longer than 80 columns" % line)
    if example["not_run"]:
        return None
    for old, new in prepare(row, environment).items():
        line = line.replace(old, new)
    if name_of(row) == "incident export":
        line = line.replace("storm.case", "case")
    done = run(["sh", "-c", "rocewatch " + line], env=environment)
    if done.returncode != example["exit"]:
        say("rocewatch %s: exit %d, expected %d\n%s%s" % (line, done.returncode, example["exit"], done.stdout[-600:], done.stderr[-600:]))
    if "--format json" in line and ">" not in line:
        try:
            json.loads(done.stdout)
        except ValueError as e:
            say("rocewatch %s: not one JSON document: %s" % (line, e))
    return None


def check_help(row):
    for line in row["page"].split("\n"):
        if len(line) > 80:
            say("%s --help: %d columns: %s" % (name_of(row), len(line), line))
    for option in row["options"]:
        if "--" + option not in row["page"]:
            say("%s --help does not name --%s" % (name_of(row), option))
    if len(row["examples"]) != 2:
        say("%s: has %d examples, not two" % (name_of(row), len(row["examples"])))


def check_pages(rows):
    """--help and help print the page of the row; three rows stand for all, which come the same way."""
    for row in [r for r in rows if name_of(r) in ("incident ack", "report spine-imbalance", "query")]:
        words = name_of(row).split()
        for line in (words + ["--help"], ["help"] + words, [words[0], "--help"] + words[1:]):
            done = run([PROGRAM] + line)
            if done.returncode != 0 or done.stderr or done.stdout != row["page"]:
                say("rocewatch %s: not the help of '%s'" % (" ".join(line), name_of(row)))


def check_overview():
    """One line a command in the list by role; the others have their names below. Each command stands there once."""
    page = run([PROGRAM, "--help"]).stdout
    listed, others = page.split("Commands:")[1].split("Global options")[0].split("\nOthers: ")
    named = re.findall(r"^  ([a-z-]+) ", listed, re.M) + re.findall(r"[a-z-]+", others)
    every = {row["command"] for row in json.loads(run([MANUAL, "list"]).stdout)}
    if sorted(named) != sorted(every):
        say("--help: %s, the commands are %s" % (sorted(named), sorted(every)))
    for line in re.findall(r"^  .*$", listed, re.M):
        if not re.match(r"  [a-z-]+ +[^ ].{10,}$", line):
            say("--help: more than a line for a command: %s" % line)
    for line in page.split("\n"):
        if len(line) > 80:
            say("--help: %d columns: %s" % (len(line), line))


def check_mistakes(environment):
    """A mistake is told by the subject, the value and the remedy, with exit 2."""
    incident = first(["incident", "list", "--all"], environment)[0]
    for words, code, text in (
            (["helpp"], 2, "rocewatch: unknown command 'helpp'; did you mean 'help'?"),
            (["silence", "add", "--device", "nope", "--for", "1h", "--why", "test"], 2, "nope"),
            (["help", "incidnt"], 2, "rocewatch help: unknown command or topic 'incidnt'; did you mean 'incident'?"),
            (["help", "incident", "shwo"], 2, "did you mean 'show'?"),
            (["help", "exit-code"], 2, "did you mean 'exit-codes'?"),
            (["incident", "shwo"], 2, "rocewatch incident: unknown subcommand 'shwo'; expected list, show,"),
            (["incident", "show"], 2, "rocewatch incident show: missing ID\nTry 'rocewatch incident show --help'."),
            (["incident", "show", "a", "b"], 2, "rocewatch incident show: unexpected argument 'b'"),
            (["incident", "ack", incident, "--full"], 2, "rocewatch incident ack: option '--full' does not apply; it is for show"),
            (["incident", "merge", incident, incident], 2, "rocewatch incident merge: an incident cannot be merged into itself; name another one"),
            (["status", "--since", "1h"], 2, "option '--since' does not apply: this shows a state, not a time range; give --until or --around"),
            (["calc", "cost", "--cable", "4m"], 2, "option '--cable' does not apply; it is for headroom"),
            (["calc", "headroom"], 2, "rocewatch calc headroom: missing --speed RATE"),
            (["config", "explain", "stor"], 2, "unknown key 'stor'; did you mean 'store'?"),
            (["check", "pfx"], 3, "CHECK UNKNOWN - unknown check 'pfx'; expected"),
            (["check", "pfc", "--group", "x"], 3, "option '--group' does not apply; it is for"),
            (["report", "pauze"], 2, "unknown report 'pauze'; expected"),
            (["report", "pauze", "--check"], 3, "CHECK UNKNOWN - unknown report 'pauze'"),
            (["topology", "show", "--format", "slurm"], 2, "--format slurm is for topology export"),
            (["db", "export", "x", "--format", "json"], 2, "--format: not written here; expected table|csv"),
    ):
        done = run([PROGRAM] + words, env=environment)
        if done.returncode != code or text not in done.stdout + done.stderr or (code == 2 and done.stdout):
            say("rocewatch %s: exit %d: %s%s" % (" ".join(words), done.returncode, done.stdout[:300], done.stderr[:300]))


def parse(lines):
    """What the command line makes of each list of words, without running it: exit codes."""
    text = "".join("\t".join(["rocewatch"] + words) + "\n" for words in lines)
    done = subprocess.run([MANUAL, "parse"], input=text, capture_output=True, text=True, timeout=HANG_S)
    return [int(line) for line in done.stdout.split("\n") if line.isdigit()], done.stderr


GLOBAL = {"db": ["x.db"], "since": ["1h"], "until": ["1h"], "around": ["1h"], "format": ["json"], "no-header": []}


def check_refused(rows):
    """An option that is not in the row is a usage error; one that is, is read."""
    lines, expected = [], []
    for row in rows:
        enough = [w for w in (row["arguments"] or "").split() if not w.startswith("[")]
        taken = row["global_options"] + row["options"]
        for option, value in GLOBAL.items():
            if option == "format" and option in taken and not row["formats"] & 4:
                continue
            lines.append(name_of(row).split() + enough + ["--" + option] + value)
            expected.append(0 if option in taken else 3 if row["command"] == "check" else 2)
    codes, _ = parse(lines)
    for line, code, want in zip(lines, codes, expected, strict=True):
        if code != want:
            say("rocewatch %s: exit %d, expected %d" % (" ".join(line), code, want))


def check_read(rows):
    examples = [e for r in rows for e in r["examples"]]
    codes, text = parse([shlex.split(re.sub(r"[<>|].*", "", e["line"])) for e in examples])
    for example, code in zip(examples, codes, strict=True):
        if code != 0:
            say("rocewatch %s: is not read: exit %d\n%s" % (example["line"], code, text))


def main():
    rows = [r for r in json.loads(run([MANUAL, "list"]).stdout) if name_of(r).startswith(ONLY)]
    environment = dict(os.environ, PATH=BUILD + ":" + os.environ["PATH"], NO_COLOR="1")
    with tempfile.TemporaryDirectory(prefix="rw-examples-") as world:
        os.chdir(world)
        make_world()
        check_pages(rows)
        check_read(rows)
        check_refused(rows)
        check_overview()
        prepare({"command": "incident", "subcommand": "list"}, environment)
        check_mistakes(environment)
        for row in rows:
            check_help(row)
            for example in row["examples"]:
                check_example(row, example, environment)
        os.chdir("/")
    if len(rows) < 60 and not ONLY:
        say("only %d rows" % len(rows))
    print("%d rows, %d wrong" % (len(rows), len(wrong)))
    sys.exit(1 if wrong else 0)


main()
