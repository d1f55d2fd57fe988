#!/usr/bin/env python3
"""check_blocks.py BUILD ROOT [--list] [PAGE...] - runs every command block of README and the docs, as it stands.

How a page says what a block is, by the words behind its fence:
  sh                  commands; they run in the order of the page, one shell for the page, in a directory of its own. Each must exit 0, or with
                      what a comment at its end says: '# exit 1', '# exit 0 or 1'
  sh background       each line is started and goes on until the page ends
  sh screen           each line is started in a terminal, gets 'q' after it has drawn, and must exit 0
  sh installed        needs a machine with systemd: tests/package runs it in a bare root (--installed prints these)
  sh source           builds from source: tests/package runs it in a bare root with the source tree (--source prints these)
  sh manual: REASON   is not run: the words of its commands are checked all the same
  console             lines that begin with '$ ' are commands, and run; the others show what they print
  yaml                a part of rocewatch.yaml: 'config check' must accept it; with a further word (yaml prometheus) it is for another program
  anything else       must be one of the languages in OTHERS, and is not run
Comments before a block, which readers do not see:
  <!-- world: live SCENARIO -->   once a page: a lab serves SCENARIO, an agent watches it and has found the fault; configuration
                                  and database are at their default places
  <!-- world: case SCENARIO -->   once a page: the scenario was recorded into ./case and replayed into the database at its default place
  <!-- let: ID = COMMAND -->      from here on the word ID in commands stands for what COMMAND prints
  <!-- wait: COMMAND -->          wait until COMMAND succeeds
Commands in the text (`rocewatch ...`) and in blocks that are not run must exist: command, subcommand and each --option are looked up in the help.

It works in network, process and mount namespaces of its own: /etc, /usr and /var/lib are copies on which nothing remains, and rocewatch is installed
there. Exit 77 without root."""
import glob, json, os, re, shlex, shutil, signal, subprocess, sys, tempfile, time

from pages import Page, pages
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S, Limit  # noqa: E402

CONFIG, DATABASE = "/etc/rocewatch/rocewatch.yaml", "/var/lib/rocewatch/rocewatch.db"
LISTENER = 'http: { listen: "127.0.0.1:9421" }\n'
RECEIVERS = "alerts: { mail: { to: [noc@example.org], command: [/bin/true] } }\n"
OTHERS = "text json jsonl sql ini nginx c js python xml eos nxos sonic cumulus junos srlinux csv promql http diff dockerfile".split()
INSIDE = "ROCEWATCH_DOCS_NAMESPACE"
SETTLED_S = 80  # until a live lab's fault is found

# What a page's script begins with. Its lines have the numbers of the page's lines, so that the shell's own messages name the page.
BEGIN = r"""set -euo pipefail
trap 'echo "$0:$LINENO: exit $?: $BASH_COMMAND" >&2' ERR
expect() { case " $1 " in *" $2 "*) return ;; esac; echo "$0:$3: exit $2, expected $1" >&2; exit 1; }
waits() { local n=0; until eval "$1" >/dev/null 2>&1; do n=$((n + 1)); [ $n -lt 3000 ] || { echo "$0:$2: never: $1" >&2; exit 1; }; sleep 0.2; done; }
curl() { command curl --fail "$@"; }
BACKGROUND=()
background() { eval "$1" & BACKGROUND+=("$! $2 $1"); }
ended() { # each that was started in the background still runs, or has ended well
	local row pid
	for row in "${BACKGROUND[@]}"; do
		pid=${row%% *}
		if kill -0 "$pid" 2>/dev/null; then kill "$pid"; wait "$pid" || true; else wait "$pid" || { echo "$0: line ${row#* }: exit $?" >&2; return 1; }; fi
	done
}
screen() { { sleep 2; printf q; sleep 5; } | timeout 60 script -qec "$1" /dev/null >/dev/null || { echo "$0:$2: exit $?: $1" >&2; exit 1; }; }
"""


class NotMade(Exception):
    pass


def live_scenario(page):
    """Which live lab the page needs; "": none."""
    worlds = [rest.partition(" ") for _, word, rest in page.directives if word == "world"]
    return next((scenario for kind, _, scenario in worlds if kind == "live"), "")


class World:
    """Makes the directories in which the pages' commands run."""

    def __init__(self, folder):
        self.folder, self.cases, self.live, self.children = folder, {}, {}, []

    def start(self, argv, log):
        self.children.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        return self.children[-1]

    def end(self):
        for child in self.children:
            child.terminate()
        for child in self.children:
            child.wait()
        self.children, self.live = [], {}

    def run(self, *words):
        done = subprocess.run(["rocewatch", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)
        if done.returncode:
            raise NotMade("rocewatch %s: exit %d: %s" % (" ".join(words), done.returncode, done.stderr))
        return done.stdout

    def case(self, words, page):
        base = os.path.join(self.folder, "case-" + re.sub(r"\W+", "-", words))
        if words not in self.cases:
            self.run("lab", "record", *words.split(), "--for", "10m", "--out", base)
            self.run("replay", "--from", base, "--db", base + ".db", "--quiet")
            self.cases[words] = base
        subprocess.run(["cp", "-r", base, os.path.join(page, "case")], check=True)
        shutil.copy(base + ".db", DATABASE)
        with open(os.path.join(base, "fabric.yaml")) as f:
            text = re.sub(r"^(  - \{ name: [^}]*role: [^}]*)\}$", r"\1, snmp: { address: 127.0.0.9, credentials: ro } }", f.read(), flags=re.M)
        with open(CONFIG, "w") as f:
            f.write("store: { path: %s }\ntuning: { min_evidence: 5m }\n%s%s" % (DATABASE, text, HEAD_CREDENTIALS))

    def lab(self, scenario, _page):
        """One lab and one agent for all pages that name this scenario; the fault has been found when it is handed out. They follow each other, then it ends."""
        if scenario not in self.live:
            folder = os.path.join(self.folder, "live-" + re.sub(r"\W+", "-", scenario))
            log = open(folder + ".log", "w")
            lab = self.start(["rocewatch", "lab", "run", *scenario.split(), "--dir", folder, "--at", "20s"], log)
            config = os.path.join(folder, "rocewatch.yaml")
            self.until("%s is served" % scenario, lambda: lab.poll() is None and "serving" in open(folder + ".log").read())
            with open(config, "a") as f:
                f.write(RECEIVERS)
                f.write(LISTENER if not self.live else "")
            self.start(["rocewatch", "-c", config, "agent"], log)
            self.until("%s: the agent answers" % scenario, lambda: subprocess.run(["rocewatch", "-c", config, "status"], capture_output=True).returncode == 0)
            if "healthy" not in scenario:
                self.until("%s: an incident" % scenario, lambda: json.loads(self.run("-c", config, "incident", "list", "--format", "json"))["incidents"])
            self.live[scenario] = config
        os.symlink(self.live[scenario], CONFIG)
        os.symlink(os.path.join(os.path.dirname(self.live[scenario]), "rocewatch.db"), DATABASE)

    @staticmethod
    def until(what, holds):
        limit = Limit(SETTLED_S)
        while not holds():
            if limit.over():
                raise NotMade("%s: not after %s" % (what, limit))
            time.sleep(0.3)


# ---- from a page to a script ---------------------------------------------------------------------


def commands(block):
    """(number, line) of each command, with its continuation lines, and of what a reader would type."""
    number, line = block.line, None
    for i, text in enumerate(block.lines):
        if block.language == "console":
            if line is None and not text.startswith("$ "):
                continue
            text = text[2:] if line is None else re.sub(r"^> ", "", text)
        if line is None:
            number, line = block.line + i, text
        else:
            line += "\n" + text
        if line.endswith("\\"):
            continue
        yield number, line
        line = None


def with_words(line, words):
    for word in words:
        line = re.sub(r"(?<![\w$-])%s(?![\w-])" % re.escape(word), "${LET_%s}" % re.sub(r"\W", "_", word), line)
    return line


def is_run(block):
    return block.language == "console" and not block.note.startswith("manual") or block.language == "sh" and not re.match(r"installed|source|manual: \S", block.note)


def is_installed(block):
    return block.language == "sh" and block.note == "installed"


def is_source(block):
    return block.language == "sh" and block.note == "source"


def script(page, wanted=is_run):
    """The commands of the page's blocks that are wanted, each in its own line number."""
    lines = [""] * (len(page.lines) + 2)
    words, todo = [], []
    for block in page.blocks:
        if wanted(block):
            todo += [(number, block, line) for number, line in commands(block)]
    if wanted == is_run:
        todo += [(number, None, (word, rest)) for number, word, rest in page.directives if word != "world"]
    for number, block, line in sorted(todo, key=lambda t: t[0]):
        if block is None:
            word, rest = line
            if word == "wait":
                text = "waits %s %d" % (shlex.quote(with_words(rest, words)), number)
                text = re.sub(r"\$\{LET_\w+\}", lambda m: "'\"%s\"'" % m[0], text)
            else:
                name, _, value = rest.partition(" = ")
                text = "LET_%s=$(%s); [ -n \"$LET_%s\" ]" % (re.sub(r"\W", "_", name), with_words(value, words), re.sub(r"\W", "_", name))
                words.append(name)
        elif block.note == "background" and line.strip() and not line.lstrip().startswith("#"):
            text = "background %s %d" % (shlex.quote(re.sub(r"\s+# .*$", "", with_words(line, words))), number)
        elif block.note == "screen" and line.strip():
            text = "screen %s %d" % (shlex.quote(re.sub(r"\s+# .*$", "", line)), number)
        else:
            text = with_words(line, words)
            code = re.search(r"\s+# (?:.*\W)?exit (\d+(?: or \d+)*)$", text)
            if code:
                text = "rc=0; { %s\n} || rc=$?; expect '%s' $rc %d" % (text[:code.start()], code[1], number)
        parts = text.split("\n")
        for i, part in enumerate(parts[:-1]):
            lines[number + i] = (lines[number + i] + "; " if lines[number + i] else "") + part
        at = number + len(parts) - 1
        lines[at] = (lines[at] + "; " if lines[at] else "") + parts[-1]
    return "\n".join(lines[1:]) + "\n"


def run_page(page, world, folder):
    place = tempfile.mkdtemp(dir=folder)
    env = dict(os.environ, HOME=place, TMPDIR=place, TERM=os.environ.get("TERM", "xterm"))  # a reader has a terminal
    for left in (CONFIG, *glob.glob(DATABASE + "*")):
        if os.path.lexists(left):
            os.unlink(left)
    env.pop("ROCEWATCH_CONFIG", None)
    for number, word, rest in page.directives:
        if word == "world":
            kind, _, scenario = rest.partition(" ")
            try:
                {"live": world.lab, "case": world.case}[kind](scenario, place)
            except NotMade as why:
                return "%s:%d: %s" % (page.name, number, why)
    begin = os.path.join(folder, "begin.sh")
    with open(begin, "w") as f:
        f.write(BEGIN)
    path = os.path.join(folder, "pages", page.name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(script(page).replace("/tmp/", place + "/"))  # what a reader puts there is gone with the test
    out = os.path.join(folder, "out")
    with open(out, "w") as f:
        # -c reads the beginning, so that the page's own first line is line 1
        shell = subprocess.Popen(["bash", "-c", '. "$1"; . "$0"; ended', path, begin],
                                 cwd=place, env=env, stdin=subprocess.DEVNULL, stdout=f, stderr=f, start_new_session=True)
        try:
            code = shell.wait(HANG_S)
        except subprocess.TimeoutExpired:
            code = "none after %d s" % HANG_S
    try:
        os.killpg(shell.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    if code == 0:
        return None
    with open(out, errors="replace") as f:
        said = f.read()[-3000:].replace(path, page.name)
    return "%s: exit %s\n%s" % (page.name, code, said)


# ---- what is not run: words and configurations ---------------------------------------------------


class Help:
    """What the help says exists."""

    def __init__(self):
        self.texts = {}

    def text(self, *words):
        if words not in self.texts:
            done = subprocess.run(["rocewatch", *words, "--help"], capture_output=True, text=True, timeout=HANG_S)
            self.texts[words] = done.stdout if done.returncode == 0 else ""
        return self.texts[words]

    def fault(self, line):
        """A sentence about a word of the command line that does not exist, or None."""
        words = re.sub(r"\s#\s.*$", "", line).split()
        everywhere, options, plain = self.text(), [], []
        for word in words[1:]:
            if re.match(r"[|;&><]|\)$", word):
                break
            if word.startswith("--"):
                options.append(re.match(r"--[\w-]*", word)[0])
            elif re.fullmatch(r"[a-z][a-z0-9-]*", word) and not (options and options[-1] is not None and not plain):
                plain.append(word)
        if not plain:
            return None
        if not self.text(plain[0]):
            return "unknown command '%s'" % plain[0]
        known = everywhere + self.text(plain[0]) + (self.text(*plain[:2]) if len(plain) > 1 else "")
        for option in options:
            if option not in ("--help", "--version", "--") and not re.search(re.escape(option) + r"(?![\w-])", known):
                return "'%s' has no option %s" % (plain[0], option)
        return None


def word_faults(page, known):
    for number, line in page.prose:
        for span in re.findall(r"`(rocewatch [^`]+)`", line):
            fault = known.fault(span)
            if fault:
                yield "%s:%d: %s: %s" % (page.name, number, span, fault)
    for block in page.blocks:
        if block.language in ("sh", "console"):
            for number, line in commands(block):
                if re.match(r"(sudo )?rocewatch ", line):
                    fault = known.fault(line.removeprefix("sudo "))
                    if fault:
                        yield "%s:%d: %s: %s" % (page.name, number, line, fault)


def fence_faults(page):
    for block in page.blocks:
        name = "%s:%d" % (page.name, block.line - 1)
        if not block.language:
            yield "%s: this block does not say its language: sh, console, yaml, text ..." % name
        elif block.language not in ["sh", "console", "yaml", *OTHERS]:
            yield "%s: unknown language '%s'" % (name, block.language)
        elif block.language == "sh" and not re.fullmatch(r"|background|screen|installed|source|manual: \S.*", block.note):
            yield "%s: unknown words behind sh: '%s'" % (name, block.note)


HEAD_DEVICES = """devices:
  - { name: leaf1, role: leaf, snmp: { address: 192.0.2.11, credentials: ro } }
"""
HEAD_CREDENTIALS = """credentials:
  ro: { snmp: { version: 2c, community_env: COMMUNITY } }
  v3: { snmp: { version: 3, user: rocewatch, auth: sha256, auth_env: COMMUNITY, priv: aes128, priv_env: COMMUNITY } }
"""


def yaml_faults(page, folder):
    for block in page.blocks:
        if block.language != "yaml" or block.note:
            continue
        text = "\n".join(block.lines) + "\n"
        for path in set(re.findall(r"/etc/rocewatch/[\w.-]+|[\w/-]+\.(?:password|key|crt|pem|secret|token|tokens)\b", text)):
            path = os.path.join(folder, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if not os.path.exists(path):
                with open(path, "w") as f:
                    f.write("0123456789abcdef\n")
                os.chmod(path, 0o600)
        if not re.search(r"^devices:", text, re.M):
            text = HEAD_DEVICES + text
        if not re.search(r"^credentials:", text, re.M):
            text = HEAD_CREDENTIALS + text
        config = os.path.join(folder, "block.yaml")
        with open(config, "w") as f:
            f.write(text)
        done = subprocess.run(["rocewatch", "config", "check", config], capture_output=True, text=True, timeout=HANG_S, cwd=folder, env=dict(os.environ, COMMUNITY="0123456789"))
        # A part of a configuration names devices that stand elsewhere; every other warning is a fault of the page.
        warned = [line for line in done.stderr.split("\n") if "warning" in line and not re.search("no device has a name like|no agent asks", line)]
        if done.returncode or warned:
            yield "%s:%d: %s" % (page.name, block.line, done.stderr.replace(config, "configuration"))


# ---- the machine ----------------------------------------------------------------------------------


def go_inside(argv):
    """Runs this again in namespaces of its own, as their first process: when it ends, everything in them ends."""
    if os.geteuid() != 0:
        print("needs root: namespaces", file=sys.stderr)
        sys.exit(77)
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, *argv])


def install(build, layer):
    """rocewatch as it is installed, over copies of the machine's directories."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    os.mkdir(layer)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", layer], check=True)
    for where in ("/etc", "/usr", "/var/lib"):
        upper, work = (os.path.join(layer, kind + where.replace("/", "-")) for kind in ("upper", "work"))
        os.mkdir(upper)
        os.mkdir(work)
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", "lowerdir=%s,upperdir=%s,workdir=%s" % (where, upper, work), where], check=True)
    done = subprocess.run(["cmake", "--install", build, "--prefix", "/usr"], capture_output=True, text=True)
    if done.returncode:
        sys.exit("cmake --install: %s" % done.stderr)
    for where in ("/etc/rocewatch", "/var/lib/rocewatch"):
        os.makedirs(where, exist_ok=True)
    os.environ["PATH"] = "/usr/bin:/usr/sbin:/bin:/sbin"


# Each must be found, by a part of the sentence about it.
PLANTED = [
    ("```sh\nfalse\n```\n", "planted.md:2: exit 1"),
    ("```sh\ntrue  # exit 1\n```\n", "exit 0, expected 1"),
    ("```sh\ntrue  # exit 1 or 2\n```\n", "exit 0, expected 1 or 2"),
    ("```sh background\nfalse\n```\n\n```sh\nsleep 1\n```\n", "exit 1"),
    ("```console\n$ rocewatch calc nothing\n```\n", "exit 2"),
    ("```sh manual: x\nrocewatch status --no-such-option\n```\n", "no option --no-such-option"),
    ("Run `rocewatch chekc` now.\n", "unknown command 'chekc'"),
    ("```\nx\n```\n", "does not say its language"),
    ("```yaml\nlossles: {}\n```\n", "unknown key 'lossles'"),
]


def prove_it_can_fail(world, known, folder):
    root = os.path.join(folder, "planted")
    os.mkdir(root)
    for text, wanted in PLANTED:
        with open(os.path.join(root, "planted.md"), "w") as f:
            f.write(text)
        found = "\n".join(faults_of(Page(root, "planted.md"), world, known, folder))
        if wanted not in found:
            sys.exit("a planted mistake was not found: %r, only: %s" % (wanted, found))


def faults_of(page, world, known, folder):
    found = [*fence_faults(page), *word_faults(page, known), *yaml_faults(page, folder)]
    if any(is_run(block) for block in page.blocks):
        fault = run_page(page, world, folder)
        found += [fault] if fault else []
    return found


class Installed:
    """While it lasts, rocewatch is installed; then nothing holds the folder."""

    def __init__(self, build, folder):
        self.build, self.layer = build, os.path.join(folder, "layer")

    def __enter__(self):
        install(self.build, self.layer)

    def __exit__(self, *_):
        for where in ("/etc", "/usr", "/var/lib", self.layer):
            subprocess.run(["umount", "-l", where], capture_output=True)


def main(argv):
    flags = [a for a in argv[1:] if a.startswith("--")]
    build, root, *only = [a for a in argv[1:] if not a.startswith("--")]
    all_pages = [p for p in pages(root) if not only or p.name in only]
    if "--list" in flags:
        for page in all_pages:
            for block in page.blocks:
                if block.language in ("sh", "console"):
                    print("%s:%d %s %s" % (page.name, block.line, block.language, block.note))
        return 0
    for flag, wanted in (("--installed", is_installed), ("--source", is_source)):
        if flag in flags:
            for page in all_pages:
                if any(wanted(b) for b in page.blocks):
                    print(BEGIN + script(page, wanted))
            return 0
    if INSIDE not in os.environ:
        go_inside(argv)
    faults, runs = [], 0
    with tempfile.TemporaryDirectory(prefix="rw-docs-", ignore_cleanup_errors=True) as folder, Installed(os.path.realpath(build), folder):
        world, known = World(folder), Help()
        prove_it_can_fail(world, known, folder)
        in_turn = sorted(all_pages, key=live_scenario)
        for page, after in zip(in_turn, [*in_turn[1:], None]):
            here = [b for b in page.blocks if is_run(b)]
            found = faults_of(page, world, known, folder)
            if here or found:
                print("%s: %d blocks: %s" % (page.name, len(here), "FAILED" if found else "ok"), flush=True)
            runs += len(here)
            faults += found
            if not after or live_scenario(after) != live_scenario(page):
                world.end()
        manual = [b for p in all_pages for b in p.blocks if b.language == "sh" and b.note.startswith("manual")]
        for block in manual:
            print("not run: %s:%d %s" % (block.page.name, block.line, block.note))
    print("%d blocks run, %d not run, %d faults" % (runs, len(manual), len(faults)))
    print("\n".join(faults), file=sys.stderr)
    return 1 if faults else 0


sys.exit(main(sys.argv))
