#!/usr/bin/env python3
"""check_sql.py BUILD PAGE [--update] - every statement of docs/sql.md is run on the recorded case that is named above it, and its table is what
the page shows. Where rocewatch's SQLite extension was built and the sqlite3 shell is there, the shell must give the same rows. Two more things
are held on the same cases: 'db export --format csv' writes every sample, and 'query' adds up to what SQL adds up to. --update writes the
tables into the page: read the difference."""
import csv, glob, io, os, re, shutil, subprocess, sys, tempfile
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

BLOCK = re.compile(r"<!-- case: (.*?) -->\n```sql\n(.*?)```\n```text\n(.*?)```\n", re.S)
LENGTH = {"ecmp-fields --packets": "270s", "telemetry-gap": "10m"}
DAY = 86400


class Cases:
    def __init__(self, build, folder):
        self.binary, self.folder, self.made = os.path.join(build, "rocewatch"), folder, {}
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("ROCEWATCH")}

    def run(self, *words, code=0):
        p = subprocess.run([self.binary, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S, env=self.env)
        if p.returncode != code:
            sys.exit("rocewatch %s: exit %d\n%s" % (" ".join(words), p.returncode, p.stderr))
        return p.stdout

    def recorded(self, words):
        folder = os.path.join(self.folder, re.sub(r"\W+", "-", words))
        if not os.path.isdir(folder):
            self.run("lab", "record", *words.split(), "--for", LENGTH.get(words, "6m"), "--out", folder)
        return folder

    def week(self):
        """Traffic as it is on a good day a week ago and yesterday, and that of a PFC storm today."""
        folder = os.path.join(self.folder, "week")
        os.mkdir(folder)
        shutil.copy(os.path.join(self.recorded("pfc-storm"), "fabric.yaml"), folder)
        with open(os.path.join(folder, "samples.tsv"), "w") as out:
            for scenario, day in (("healthy", 0), ("healthy", 6), ("pfc-storm", 7)):
                seen = set()
                with open(os.path.join(self.recorded(scenario), "samples.tsv")) as rows:
                    for row in rows:
                        word = row.rstrip("\n").split("\t")
                        if len(word) < 6 or word[4] != "port.out_octets":
                            continue
                        flags = "-" if (word[1], word[2]) in seen else "restart"
                        seen.add((word[1], word[2]))
                        out.write("%.3f\t%s\t%s\n" % (float(word[0]) + day * DAY + 36000, "\t".join(word[1:6]), flags))
        return folder

    def db(self, words):
        if words not in self.made:
            folder = self.week() if words == "week" else self.recorded(words)
            self.made[words] = folder + ".db"
            self.run("replay", "--from", folder, "--db", folder + ".db", "--quiet")
        return self.made[words]


def close(mine, shell):
    """Do both say the same? The shell prints reals with 15 digits."""
    if mine == shell:
        return True
    try:
        return abs(float(mine) - float(shell)) <= 1e-9 * abs(float(mine))
    except ValueError:
        return False


def shell_agrees(extension, db, statement, expected):
    p = subprocess.run(["sqlite3", "-readonly", "-csv", "-header", "-cmd", ".load " + extension, db, statement], stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=HANG_S)
    if p.returncode != 0:
        return p.stderr
    rows = [list(csv.reader(io.StringIO(text))) for text in (expected, p.stdout)]
    same = len(rows[0]) == len(rows[1]) and all(
        len(a) == len(b) and all(close(x, y) for x, y in zip(a, b)) for a, b in zip(*rows))
    return "" if same else "the shell says:\n%s\nrocewatch says:\n%s" % (p.stdout, expected)


def agree(cases):
    """The three ways out of the database add up to the same."""
    db = cases.db("pfc-storm")
    count = list(csv.DictReader(io.StringIO(cases.run("--db", db, "query", "sql", "SELECT metric, count(*) AS n FROM samples GROUP BY 1", "--format", "csv"))))
    wanted = {row["metric"]: int(row["n"]) for row in count}
    out = os.path.join(cases.folder, "csv")
    cases.run("--db", db, "-q", "db", "export", out, "--format", "csv")
    cases.run("--db", db, "-q", "db", "export", out, "--format", "csv", code=1)  # nothing is overwritten
    got = {}
    for path in glob.glob(out + "/*.csv"):
        with open(path) as rows:
            got[os.path.basename(path)[:-4]] = sum(1 for _ in csv.DictReader(rows))
    if got != wanted:
        sys.exit("db export: %s" % sorted(set(got.items()) ^ set(wanted.items())))
    stream = cases.run("--db", db, "-q", "db", "export", "-", "--format", "csv", "--metric", "pfc.*", "--device", "leaf2")
    n = int(cases.run("--db", db, "query", "sql", "SELECT count(*) FROM samples WHERE device = 'leaf2' AND metric GLOB 'pfc.*'", "--no-header"))
    if stream.count("\n") != n + 1:
        sys.exit("db export -: %d lines, expected %d" % (stream.count("\n"), n + 1))
    sums = dict(line.split(",") for line in cases.run(
        "--db", db, "query", "sql", "SELECT device, CAST(round(sum(rate * interval_s)) AS INTEGER) FROM rates WHERE metric = 'port.out_octets' "
        "GROUP BY 1", "--format", "csv", "--no-header").split())
    rows = csv.DictReader(io.StringIO(cases.run("--db", db, "query", "port.out_octets", "--agg", "increase", "--by", "device", "--format", "csv",
                                                "--since", "2026-01-05T00:00:00Z")))
    got = {row["device"]: row["value"] for row in rows}
    if any(abs(int(got[d]) - int(sums[d])) > 64 for d in sums) or got.keys() != sums.keys():
        sys.exit("query: %s\nSQL: %s" % (got, sums))


def main():
    build, page = sys.argv[1:3]
    update = "--update" in sys.argv
    with open(page) as f:
        text = f.read()
    extension = [p[:-3] for p in glob.glob(build + "/**/rocewatch_sqlite.so", recursive=True)]
    shell = bool(extension) and shutil.which("sqlite3")
    wrong, n = [], 0
    with tempfile.TemporaryDirectory(prefix="rw-sql-") as folder:
        cases = Cases(build, folder)

        def answer(match):
            nonlocal n
            n += 1
            words, statement, shown = match.groups()
            db = cases.db(words)
            got = re.sub(r" +\n", "\n", cases.run("--db", db, "query", "sql", statement))
            if got != shown and not update:
                wrong.append("%s\n%s--- the page shows\n%s--- got\n%s" % (words, statement, shown, got))
            if shell:
                said = shell_agrees(extension[0], db, statement, cases.run("--db", db, "query", "sql", statement, "--format", "csv"))
                if said:
                    wrong.append("%s\n%s%s" % (words, statement, said))
            return "<!-- case: %s -->\n```sql\n%s```\n```text\n%s```\n" % (words, statement, got)

        written = BLOCK.sub(answer, text)
        agree(cases)
    if n < 10:
        wrong.append("only %d statements were found" % n)
    if update:
        with open(page, "w") as f:
            f.write(written)
    if wrong:
        sys.exit("\n\n".join(wrong))
    print("%d statements%s" % (n, ", in the sqlite3 shell too" if shell else ""))


main()
