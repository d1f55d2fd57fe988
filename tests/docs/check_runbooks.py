"""docs/runbooks/: a page for each cause of db/model/cause.def and none without a cause; each with all its sections, with what the tables
of the program know between markers, with keys that exist and with commands of rocewatch that can be typed.
check_runbooks.py PRINT_RUNBOOKS ROCEWATCH DIR [--update]: --update writes the printed parts."""
import glob, os, re, shlex, shutil, subprocess, sys, tempfile

SECTIONS = ["What it is", "What you see", "Confirm by hand", "Look-alikes", "Fix", "Escalate", "How it clears", "Settings that matter", "Sources"]
PARTS = ["facts", "commands", "related", "steps", "options"]
failures = []


def check(fine, text):
    if not fine:
        failures.append(text)


def printed(program):
    """{cause: {part: text}}"""
    out = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    pages = {}
    for head, text in re.findall(r"^=== (\w+ \w+)\n(.*?)(?=^=== |\Z)", out, re.M | re.S):
        cause, part = head.split()
        pages.setdefault(cause, {})[part] = text.strip() + "\n"
    return pages


def fill(name, text, parts, update):
    for part in PARTS:
        begin, end = "<!-- printed: %s -->\n" % part, "<!-- end: %s -->" % part
        where = re.search(re.escape(begin) + "(.*?)" + re.escape(end), text, re.S)
        check(where, "%s: no lines %r and %r" % (name, begin, end))
        if not where:
            continue
        wanted = "\n" + parts[part] + "\n"
        if update:
            text = text[:where.start(1)] + wanted + text[where.end(1):]
        check(update or where.group(1) == wanted, "%s: the printed part '%s' is not what the tables say: build docs_runbooks" % (name, part))
    return text


def check_page(name, text, causes):
    check(text.startswith("# %s: " % name), "%s: its first line is not '# %s: ...'" % (name, name))
    found = re.findall(r"^## (.*)$", text, re.M)
    check(found == SECTIONS, "%s: sections %s" % (name, found))
    for section, body in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", text, re.M | re.S):
        by_hand = re.sub(r"<!-- printed: (\w+) -->.*?<!-- end: \1 -->", "", body, flags=re.S)
        least = 0 if section == "Settings that matter" else 40
        check(len(by_hand.strip()) >= least, "%s: '%s' says next to nothing" % (name, section))
    for to in re.findall(r"\]\((\w+)\.md\)", text):
        check(to in causes or to == "README", "%s: a link to '%s', which has no runbook" % (name, to))
    sentences = text.split("## What it is")[-1].split("## ")[0].count(". ") + 1
    check(2 <= sentences <= 6, "%s: %d sentences under 'What it is'" % (name, sentences))


def lines_of(text):
    """Commands of rocewatch in blocks, and in the printed list."""
    for block in re.findall(r"^```text\n(.*?)^```", text, re.M | re.S):
        for line in block.splitlines():
            if line.startswith("rocewatch "):
                yield line
    yield from re.findall(r"^- any time: `(rocewatch [^`]*)`", text, re.M)


def check_commands(binary, pages):
    """Each command is typed against a replayed case, with a real incident, switch, port and host in the place of the words in capitals."""
    work = tempfile.mkdtemp(prefix="rw-runbooks-")
    try:
        case, db = os.path.join(work, "case"), os.path.join(work, "case.db")
        for argv in (["lab", "record", "pfc-storm", "--out", case], ["replay", "--from", case, "--db", db]):
            done = subprocess.run([binary] + argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            check(done.returncode == 0, "%s: %s" % (argv, done.stderr))
        lines = {}
        for name, text in pages.items():
            for line in lines_of(text):
                lines.setdefault(re.sub(r"\s+#.*", "", line), name)
        check_runbook_command(binary, db)
        incident = subprocess.run([binary, "--db", db, "incident", "list", "--all", "--format", "csv", "--no-header"], capture_output=True,
                                  text=True).stdout.split(",")[0]
        words = {"ID": incident, "DEVICE": "leaf2", "PORT": "Ethernet2", "HOST": "node-010", "DIR": os.path.join(work, "out")}
        typed = set()
        for line, name in sorted(lines.items()):
            argv = shlex.split(line)[1:]
            if "FILE" in argv or argv[0] in ("doctor", "tune", "event", "profile"):
                # what needs a file, an agent or a switch: at least it is a command with these words
                argv = [a for a in argv if a not in words and a != "FILE"][:2 if argv[0] in ("tune", "event", "import", "profile") else 1] + ["--help"]
            argv = [words.get(a, a) for a in argv]
            if tuple(argv) in typed:
                continue
            typed.add(tuple(argv))
            where = [] if argv[0] == "calc" or "--help" in argv else ["--db", db]
            done = subprocess.run([binary] + where + argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            usage = "--help'" in done.stderr
            check(not usage and done.returncode >= 0, "%s: '%s': %s" % (name, line, done.stderr.strip()))
    finally:
        shutil.rmtree(work)


def check_runbook_command(binary, db):
    """`rocewatch runbook`: without a word, by cause, by incident, as a page; a wrong word."""
    def say(*argv):
        done = subprocess.run([binary, "--db", db, *argv], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr

    found = say("incident", "list", "--all", "--cause", "pfc_storm", "--format", "csv", "--no-header")[1].split(",")[0]
    code, page, _ = say("runbook", "pfc_storm")
    check(code == 0 and page.startswith("# pfc_storm: "), "runbook pfc_storm: %d %s" % (code, page[:80]))
    check("<!--" not in page, "runbook pfc_storm shows the marks of its printed parts")
    check(say("runbook", found)[:2] == (0, page), "runbook %s is not the page of its cause" % found)
    code, index, _ = say("runbook")
    check(code == 0 and "](pfc_storm.md)" in index, "runbook: %d" % code)
    code, html, _ = say("runbook", "pfc_storm", "--format", "html")
    check(code == 0 and "<title>pfc_storm" in html and "href=\"http" not in html and "src=" not in html, "runbook --format html: %d" % code)
    code, _, said = say("runbook", "pfc_strom")
    check(code == 2 and "did you mean 'pfc_storm'" in said, "runbook pfc_strom: %d %s" % (code, said))
    code, _, said = say("runbook", "../README")
    check(code == 2 and "unknown cause" in said, "runbook ../README: %d %s" % (code, said))
    code, _, said = say("runbook", "zzzzzzzz")
    check(code == 1 and "no incident" in said, "runbook zzzzzzzz: %d %s" % (code, said))


def check_keys(binary, pages):
    """`analyzers.x.y`, and keys of the configuration in code, exist."""
    known = subprocess.run([binary, "config", "explain"], capture_output=True, text=True).stdout
    keys = set(re.findall(r"^([a-z][\w.\[\]]*)$", known, re.M))
    for name, text in pages.items():
        for key in re.findall(r"Beside the options of the detector: (.*)\.$", text, re.M):
            for word in re.findall(r"`([^`]*)`", key):
                check(word in keys, "%s: there is no key '%s'" % (name, word))


def main():
    program, binary, folder = sys.argv[1:4]
    update = "--update" in sys.argv
    parts = printed(program)
    pages = {os.path.basename(p)[:-3]: p for p in glob.glob(os.path.join(folder, "*.md"))}
    check("README" in pages, "no README.md")
    for cause in parts:
        check(cause in pages, "%s: a cause without a runbook" % cause)
    texts = {}
    for name, path in sorted(pages.items()):
        with open(path) as f:
            text = f.read()
        if name != "README":
            check(name in parts, "%s: a runbook without a cause" % name)
        if name in parts:
            filled = fill(name, text, parts[name], update)
            if filled != text:
                with open(path, "w") as f:
                    f.write(filled)
            text = texts[name] = filled
            check_page(name, text, parts)
    with open(pages["README"]) as f:
        index = f.read()
    for cause in parts:
        check("](%s.md)" % cause in index, "README.md does not name %s" % cause)
    check_keys(binary, texts)
    check_commands(binary, texts)
    if failures:
        sys.exit("\n".join(failures))
    print("%d runbooks" % len(texts))


main()
