#!/usr/bin/env python3
"""run.py ROCEWATCH CASES [CASE...] - databases in which every name and text was written by an attacker, asked every command in every format.

A recorded case of CASES (the inputs of golden cases) is replayed into a database; then names of ports, texts and the strings inside stored documents get a tail of
terminal sequences, 8-bit controls, overrides of text direction, line breaks and markup, and a head that a spreadsheet would run.
Whatever a command prints on stdout or stderr must be text that does nothing: lines of our own making, UTF-8, no controls; json
that parses, csv without formulas, html and markdown without foreign markup, page for monitoring without foreign lines."""
import csv, io, json, os, re, sqlite3, subprocess, sys, tempfile
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

CASES = {"pause": "pause_storm/spread", "tune": "tune/ecn-late", "skew": "replay/skew"}
TAIL = "\x1b]0;pwned\x07\x1b[2J\x9b31m\u202e\u2066\u200b\x7f\r\nFORGED: line\n<script>x</script>|`id`$(id);reload"
HEAD = "=1+1|'x'"
FORMATS = ["table", "csv", "json", "jsonl", "html", "md"]
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff]")

COMMANDS = """alert list
silence list
silence list --all
event list
doctor
profile list
topology show
topology check
query port.in_octets --since 1d
query pfc.rx_pause_ns --since 1d --rate
query cfg.trust --since 1d
query sql SELECT*FROM(ports)LIMIT(40)
query sql SELECT*FROM(devices)
query sql SELECT*FROM(incidents)
query sql SELECT*FROM(findings)LIMIT(40)
query sql SELECT*FROM(recommendations)
query sql SELECT*FROM(events)
query sql SELECT*FROM(links)
query sql SELECT*FROM(flows)LIMIT(9)
query sql SELECT*FROM(samples)LIMIT(40)
query sql SELECT*FROM(port_attr)LIMIT(40)
ecmp groups
ecmp heatmap
ecmp collisions
pause tree
pause ports --all
report spine-imbalance
incident list --all
incident show {ID}
incident show {ID} --full
incident timeline {ID}
blame {DEVICE}:{PORT}
blame host:{HOST}
status
check fabric
check target
check freshness
check pfc
check ecn
check drops
check ecmp
check links
check mtu
check config
check accept
watch --once
metrics
metrics --all-ports --openmetrics
steps
tune review --no-record
tune list
tune show {SHEET}
tune render {SHEET}
tune render {SHEET} --vendor sonic
tune render {SHEET} --vendor nxos
tune render {SHEET} --vendor eos
tune render {SHEET} --vendor junos
tune render {SHEET} --vendor cumulus --undo
tune verify {SHEET}
db stat
config show""".splitlines()
PAGES = ("incident", "tune", "report", "status")
DATA = ["table", "csv", "json"]
ONE_FORMAT = ("metrics", "watch", "check accept", "db")


def run(program, folder, words, stdin=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith("ROCEWATCH")}
    return subprocess.run([program, *words], cwd=folder, input=stdin, stdin=None if stdin else subprocess.DEVNULL, capture_output=True,
                          timeout=HANG_S, env=env)


def poison_strings(value, words):
    """A stored document: every sentence, and every name of a port."""
    if isinstance(value, dict):
        return {k: poison_strings(v, words) for k, v in value.items()}
    if isinstance(value, list):
        return [poison_strings(v, words) for v in value]
    return poison_text(value, words) if isinstance(value, str) else value


def poison_text(text, words):
    if text in words:
        return words[text]
    changed = re.sub(r"[A-Za-z0-9/_.-]+", lambda m: words.get(m[0], m[0]), text)
    return changed + TAIL if " " in text else changed


def poison(path):
    """Every text of every table. What numbers and states hang on (kinds, states, metrics, times) keeps its meaning."""
    db = sqlite3.connect(path)
    keep = {"metric", "kind", "state", "cause", "severity", "key", "flags", "source", "unit", "protocol", "id", "x", "src", "dst",
            "incident_id", "verdict", "detector", "yaml", "sums", "device"}
    ports = [p for (p,) in db.execute("SELECT DISTINCT port FROM entity WHERE port<>'' ORDER BY port")]
    # the first ports of a device become formulas, the others get the tail
    words = {p: (HEAD + p + TAIL if i % 3 == 0 else p + TAIL) for i, p in enumerate(ports) if not p.startswith("(")}
    # alphabetical: what a reader searches by pattern stays sorted
    n = 0
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite%'").fetchall():
        if table == "meta":
            continue
        columns = [c[1] for c in db.execute("PRAGMA table_info(%s)" % table)]
        for column in columns:
            if column in keep and not (table == "text" or column == "device" and table in ("health",)):
                continue
            found = db.execute('SELECT DISTINCT "%s" FROM "%s" WHERE typeof("%s")=\'text\'' % (column, table, column)).fetchall()
            for (old,) in found:
                if not old:
                    continue
                if old[0] in "{[":
                    try:
                        new = json.dumps(poison_strings(json.loads(old), words))
                    except ValueError:
                        new = poison_text(old, words)
                elif column == "port":
                    new = words.get(old, old)
                elif column in ("alias", "descr", "text", "note", "why", "who", "serial", "model", "version", "remote_port", "reason"):
                    new = HEAD + old + TAIL
                else:
                    new = poison_text(old, words)
                if new != old:
                    n += db.execute('UPDATE OR IGNORE "%s" SET "%s"=? WHERE "%s"=?' % (table, column, column), (new, old)).rowcount
    db.commit()
    db.close()
    return n, words


class Faults:
    def __init__(self):
        self.n = 0
        self.told = []

    def add(self, line, what, text=""):
        self.n += 1
        if len(self.told) < 30:
            self.told.append("%s: %s: %r" % (line, what, text[:160]))


def is_number(text):
    try:
        float(text)
        return True
    except ValueError:
        return False


def look_text(faults, line, name, raw, quoted=False, form=""):
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as why:
        faults.add(line, name + " is no UTF-8: %s" % why)
        return ""
    code = False  # the configuration of a switch keeps its lines, in a block of code
    for found in text.split("\n"):
        if form == "md" and found.startswith("```"):
            code = not code
        if form == "html":
            code = (code or "<pre" in found) and "</pre>" not in found
        bad = HIDDEN.search(found)
        if bad:
            faults.add(line, name + " holds U+%04X" % ord(bad[0]), found[max(0, bad.start() - 60):])
            break
        if found.startswith("FORGED") and not quoted and not code: # indented is wrapped text
            faults.add(line, name + " has a line of the attacker's", found)
            break
    return text


def look_format(faults, line, form, text):
    if form == "json":
        try:
            json.loads(text)
        except ValueError as why:
            faults.add(line, "no JSON: %s" % why, text)
    if form == "jsonl":
        for row in text.splitlines():
            try:
                json.loads(row)
            except ValueError as why:
                faults.add(line, "no JSON: %s" % why, row)
                break
    if form == "csv":
        for row in csv.reader(io.StringIO(text)):
            bad = [field for field in row if re.match(r"\s*[=+\-@\t\r]", field) and len(field) > 1 and not is_number(field)]
            if bad:
                faults.add(line, "a field that a spreadsheet runs", bad[0])
                break
    if form == "md": # in a block of code everything is itself
        text = re.sub(r"(?ms)^```.*?^```$", "", text)
    if form in ("html", "md") and re.search(r"(?<!\\)<script>x", text):
        faults.add(line, "markup of the attacker's", text[re.search(r"(?<!\\)<script>x", text).start() - 60:])


def ask(faults, program, folder, line, words, form):
    p = run(program, folder, words)
    if p.returncode < 0 or p.returncode > 3 or b"Sanitizer" in p.stderr or b"runtime error" in p.stderr:
        faults.add(line, "exit %d" % p.returncode, p.stderr.decode(errors="replace")[-400:])
    # a field of csv in quotes may have lines
    text = look_text(faults, line, "stdout", p.stdout, quoted=form == "csv" and "sql" in words, form=form)
    look_text(faults, line, "stderr", p.stderr)
    if p.returncode in (0, 1) and text:
        look_format(faults, line, form, text)
    return p


def no_foreign_commands(faults, line, text):
    """Commands for a switch: comments, or lines without what a shell or a command line would run."""
    for found in text.splitlines():
        if re.match(r"\s*([#!]|//|/\*|$)", found):
            continue
        if re.search(r"\$\(id\)|`id`|;reload|=1\+1", found):
            faults.add(line, "a command of the attacker's", found)
            return


def mcp(faults, program, folder, db):
    asks = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {}}},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]
    first = run(program, folder, ["mcp", "--db", db], stdin="".join(json.dumps(a) + "\n" for a in asks).encode())
    tools = []
    for row in first.stdout.decode().splitlines():
        tools += [t["name"] for t in json.loads(row).get("result", {}).get("tools", [])]
    if not tools:
        faults.add("mcp", "no tools", first.stderr.decode())
    for i, tool in enumerate(tools):
        asks.append({"jsonrpc": "2.0", "id": 10 + i, "method": "tools/call", "params": {"name": tool, "arguments": {}}})
    p = run(program, folder, ["mcp", "--db", db], stdin="".join(json.dumps(a) + "\n" for a in asks).encode())
    look_text(faults, "mcp", "stdout", p.stdout)
    for row in p.stdout.decode(errors="replace").splitlines():
        message = json.loads(row)
        texts = [c.get("text", "") for c in message.get("result", {}).get("content", [])] if "result" in message else []
        for text in texts:
            look_text(faults, "mcp result", "text", text.encode())
    return len(tools)


def case(program, folder, name, source):
    db = os.path.join(folder, name + ".db")
    p = run(program, folder, ["replay", "--from", os.path.join(os.path.abspath(sys.argv[2]), source), "--db", db, "--format", "json"])
    if p.returncode != 0:
        sys.exit("replay of %s: %s" % (source, p.stderr.decode()))
    run(program, folder, ["tune", "review", "--db", db])
    run(program, folder, ["event", "add", "--text", "cables moved", "--db", db])
    run(program, folder, ["silence", "add", "--device", "x*", "--for", "1h", "--why", "being fixed", "--db", db])
    incidents = json.loads(p.stdout).get("incidents", [])
    sheets = json.loads(run(program, folder, ["tune", "list", "--format", "json", "--db", db]).stdout or b"{}")
    sheet = next((r["id"] for rows in sheets.values() if isinstance(rows, list) for r in rows if isinstance(r, dict) and "id" in r), "none")
    n, words = poison(db)
    if n < 20:
        sys.exit("%s: only %d texts were changed" % (name, n))
    fill = {"ID": incidents[0]["id"] if incidents else "none", "SHEET": sheet, "DEVICE": "leaf1", "PORT": next(iter(words.values()), "p"), "HOST": "node-001"}
    faults = Faults()
    asked = 0
    for command in COMMANDS:
        parts = [re.sub(r"\{([A-Z]+)\}", lambda m: fill[m[1]], w) for w in command.split()]
        if parts[1:2] == ["sql"]:
            parts[2] = parts[2].replace("*", " * ").replace("(", " ").replace(")", " ")
        formats = ["table"] if command.startswith(ONE_FORMAT) else FORMATS if command.startswith(PAGES) else DATA
        for form in formats:
            line = "%s: %s --format %s" % (name, command, form)
            p = ask(faults, program, folder, line, [*parts, "--db", db, "--format", form], form)
            asked += 1
            if command.startswith("tune render") and form == "table" and p.returncode == 0:
                no_foreign_commands(faults, line, p.stdout.decode(errors="replace"))
            if p.returncode == 2 and form != "table": # no such format here
                continue
    out = os.path.join(folder, name + "-export")
    ask(faults, program, folder, name + ": db export", ["db", "export", out, "--db", db], "table")
    ask(faults, program, folder, name + ": replay", ["replay", "--from", db, "--format", "json"], "json")
    asked += mcp(faults, program, folder, db)
    return asked, faults


def main():
    program = os.path.abspath(sys.argv[1])
    names = sys.argv[3:] or ["tune"]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="rw-hostile-") as folder:
        for name in names:
            asked, faults = case(program, folder, name, CASES[name])
            print("%s: %d answers, %d faults" % (name, asked, faults.n))
            for told in faults.told:
                print("  " + told)
            failed += faults.n
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
