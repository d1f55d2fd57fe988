#!/usr/bin/env python3
"""check_numbers.py SOURCE - what people read keeps to docs/numbers.md: scans the expected texts of tests/golden and tests/metrics/frames, and the
sentences and example outputs of the docs. JSON, CSV and recorded samples are for programs and are not looked at. Every rule is tried on a
line that breaks it."""
import glob, os, re, sys

COUNTED = ("frames|packets|hosts|switches|ports|flows|links|members|windows|devices|queues|samples|CNPs|NICs|GPUs|inputs|senders|receivers|"
           "steps|groups|victims|targets|incidents|edges|rails|uplinks|jobs|events|rows|times|days|hours|minutes|seconds|values|losses|copies|polls|causes|"
           "names|commands|sheets|captures|files|readings|devices|requests|findings|drops|pauses|edges")
RULES = (
    ("one of something is singular", re.compile(r"(?<![\w.,:/-])(?<! of )1 (?:other |more |lossless )?(?:%s)\b(?! [0-9]/s)" % COUNTED)),
    ("counts have separators", re.compile(r"(?<![\w.,:/#=-])\d{4,} (?:other |lossless |damaged |a )?(?:second|%s)\b" % COUNTED)),
    ("at most six digits after the point", re.compile(r"(?<![\w.:])\d+\.\d{10,}\b(?! s\b)")),
    ("bytes are KB, MB or GB, decimal", re.compile(r"(?<![\w.])\d[\d.,]* ?(?:kB|kb|KiB|MiB|GiB)\b")),
    ("a blank stands before the unit", re.compile(r"(?<![\w.=:{-])\d[\d.,]*(?:[KMGT]B|[KMGT]bit)(?:/s)?\b")),
    ("alpha is a fraction, not an exponent", re.compile(r"pg_alpha_exp +(?:was )?-?\d")),
    ("alpha is a fraction, not a decimal", re.compile(r"\balpha (?:was |is |= ?)?0\.\d")),
    ("a number has no exponent, but for a bit error ratio", re.compile(r"(?<![\w.])\d+(?:\.\d+)?e\+?\d+\b")),
    ("a threshold has a unit", re.compile(r"\b(?:kmin|kmax|xoff|xon|headroom|\w+_bytes) (?:was |is |-> |now )?\d{4,}\b(?! ?B)", re.I)),
    ("a sentence has words, not the keys of metrics", re.compile(r"\bcfg\.\w+ (?:was|is) ")),
    ("a time has a blank, not a T", re.compile(r"(?<![\w\"'=:])\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")),
)
BREAKS = ("1 hosts", "alpha 0.125 -> 1", "8 switches: 2.4e+07 bytes", "kmin 400000", "the last change (kmax 1000000 -> 200000)",
          "cfg.hash_seed was 10, now 11", "leaf1 lost 1684595 lossless frames", "pauses of 2.1 us, 34917 a second", "13627335 lossless drops since", "0.12345678901234567", "33.5kB", "33.5KB of it", "cfg.pg_alpha_exp  -4",
          "since 2026-11-22T02:33:45Z")


# Rules that a page of the docs keeps, too: it may name a size as a program takes it (64MB), and measured memory in MiB.
WORDS = ("one of something is singular", "alpha is a fraction, not an exponent", "alpha is a fraction, not a decimal", "a threshold has a unit",
         "a number has no exponent, but for a bit error ratio", "a sentence has words, not the keys of metrics")


def broken(line, names=None):
    return [name for name, rule in RULES if (names is None or name in names) and rule.search(line)]


# What programs read, in a file of people's text: commands, CSV, exact values asked for, log lines, and evidence as it is recorded.
PROGRAMS = re.compile(r"^ +(?:evidence|flow|hold)  |^ *sudo |usual [0-9.e+]+ |^window |^\s*\$|^\s*[{\[\"]|\"[a-z_]+\":|^[^ ]*,[^ ]*,|--(?:since|until|around|at|begin)\b|level=|SELECT |\bcalc ")


def people(source):
    golden = os.path.join(source, "tests", "golden")
    for pattern in ("*/*/findings.txt", "story/*/expected.txt", "incidents/*/expected.txt", "tune/*/expected.txt", "replay/*/expected.txt",
                    "watch/*.txt", "check/expected.txt", "hosts/*/expected.txt", "reports/*/expected.txt", "report/*.txt",
                    "report/*.md", "import/*/expected.txt"):
        found = sorted(glob.glob(os.path.join(golden, pattern)))
        if not found:
            sys.exit("no file matches " + pattern)
        yield from found
    yield from sorted(glob.glob(os.path.join(source, "tests", "metrics", "frames", "*.txt")))


def pages(source):
    """The lines of README and docs that people read as sentences or as what a command printed: no statements, no configuration, no tables
    of formulas, no examples of what must not be."""
    for path in [os.path.join(source, "README.md"), *sorted(glob.glob(os.path.join(source, "docs", "**", "*.md"), recursive=True))]:
        if os.path.basename(path) in ("numbers.md", "formulas.md", "json.md", "accuracy.md", "sql.md") or os.path.basename(os.path.dirname(path)) == "accuracy":
            continue
        fence = None
        with open(path) as f:
            for n, line in enumerate(f, 1):
                if line.startswith("```"):
                    fence = None if fence is not None else line[3:].strip()
                    continue
                if fence in (None, "", "text"):
                    yield path, n, re.sub(r"`[^`]*`", "", line) if fence is None else line


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
    for path, n, line in pages(sys.argv[1]):
        if not PROGRAMS.search(line):
            wrong += ["%s:%d: %s: %s" % (os.path.relpath(path, sys.argv[1]), n, name, line.strip()[:160]) for name in broken(line, WORDS)]
    print("\n".join(wrong[:60]))
    print("%d files, %d lines break a rule of docs/numbers.md" % (files, len(wrong)))
    return 1 if wrong else 0


sys.exit(main())
