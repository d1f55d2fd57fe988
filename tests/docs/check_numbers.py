#!/usr/bin/env python3
"""check_numbers.py SOURCE - what people read keeps to docs/numbers.md: scans the expected texts of tests/golden and tests/metrics/frames and
the example outputs of the docs. JSON, CSV and recorded samples are for programs and are not looked at. 'self-test' tries every rule on a line
that breaks it."""
import glob, os, re, sys

COUNTED = ("frames|packets|hosts|switches|ports|flows|links|members|windows|devices|queues|samples|CNPs|NICs|GPUs|inputs|senders|receivers|"
           "steps|groups|victims|targets|incidents|edges|rails|uplinks|jobs|events|rows|times|days|hours|minutes|seconds|values|losses|copies")
RULES = (
    ("one of something is singular", re.compile(r"(?<![\w.,:/-])1 (?:other |more |lossless )?(?:%s)\b(?! [0-9]/s)" % COUNTED)),
    ("counts have separators", re.compile(r"(?<![\w.,:/#=-])\d{4,} (?:other |lossless |damaged )?(?:%s)\b" % COUNTED)),
    ("at most six digits after the point", re.compile(r"(?<![\w.:])\d+\.\d{10,}\b(?! s\b)")),
    ("bytes are KB, MB or GB, decimal", re.compile(r"(?<![\w.])\d[\d.,]* ?(?:kB|kb|KiB|MiB|GiB)\b")),
    ("a blank stands before the unit", re.compile(r"(?<![\w.=:{-])\d[\d.,]*(?:[KMGT]B|[KMGT]bit)(?:/s)?\b")),
    ("alpha is a fraction, not an exponent", re.compile(r"pg_alpha_exp +(?:was )?-?\d")),
    ("a time has a blank, not a T", re.compile(r"(?<![\w\"'=:])\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")),
)
BREAKS = ("1 hosts", "leaf1 lost 1684595 lossless frames", "0.12345678901234567", "33.5kB", "33.5KB of it", "cfg.pg_alpha_exp  -4",
          "since 2026-11-22T02:33:45Z")


def broken(line):
    return [name for name, rule in RULES if rule.search(line)]


# What programs read, in a file of people's text: commands, CSV, exact values asked for, log lines, and evidence as it is recorded.
PROGRAMS = re.compile(r"^ +(?:evidence|flow|hold)  |^window |^\s*\$|^\s*[{\[\"]|\"[a-z_]+\":|^[^ ]*,[^ ]*,|--(?:since|until|around|at|begin)\b|level=")


def people(source):
    golden = os.path.join(source, "tests", "golden")
    for pattern in ("*/*/findings.txt", "story/*/expected.txt", "incidents/*/expected.txt", "tune/*/expected.txt", "replay/*/expected.txt",
                    "watch/*.txt", "check/expected.txt", "hosts/*/expected.txt"):
        found = sorted(glob.glob(os.path.join(golden, pattern)))
        if not found:
            sys.exit("no file matches " + pattern)
        yield from found
    yield from sorted(glob.glob(os.path.join(source, "tests", "metrics", "frames", "*.txt")))


def stated(source):
    """Numbers that pages state about the program, against the program."""
    def text(*path):
        with open(os.path.join(source, *path)) as f:
            return f.read()
    version = re.search(r"#define SCHEMA_VERSION (\d+)", text("db", "sqlite", "schema", "schema.h"))[1]
    if "the schema's version (%s)" % version not in text("docs", "database.md"):
        yield "docs/database.md: the schema's version is %s" % version
    n = len(glob.glob(os.path.join(source, "tests", "fabric", "scenarios", "*.yaml")))
    word = ["sixty", "seventy", "eighty", "ninety", "a hundred"][min(4, max(0, (n + 5) // 10 - 6))]
    for page in ("README.md", "CHANGELOG.md"):
        if not re.search("[Aa]bout %s scenarios" % word, text(page)):
            yield "%s: it should say 'about %s scenarios': there are %d" % (page, word, n)


def main():
    for line in BREAKS:
        if not broken(line):
            sys.exit("no rule notices: " + line)
    wrong, files = list(stated(sys.argv[1])), 0
    for path in people(sys.argv[1]):
        files += 1
        with open(path) as f:
            for n, line in enumerate(f, 1):
                if PROGRAMS.search(line):
                    continue
                wrong += ["%s:%d: %s: %s" % (os.path.relpath(path, sys.argv[1]), n, name, line.strip()[:160]) for name in broken(line)]
    print("\n".join(wrong[:60]))
    print("%d files, %d lines break a rule of docs/numbers.md" % (files, len(wrong)))
    return 1 if wrong else 0


sys.exit(main())
