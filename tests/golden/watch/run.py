#!/usr/bin/env python3
"""run.py ROCEWATCH [--update] - drives `rocewatch watch` in tmux as a person would, at 80x24 and 160x50, and holds what is on the screen
against <case>-<size>.txt beside this file. Times and ages are masked. --update rewrites the answers: read the diff before you commit it.

The cases are recorded from the simulated fabric and replayed; those that need a clock are moved to the present, and a lock on the
database plays the agent. Everything waits for a text with a deadline. Exit 77 where tmux is not installed."""
import contextlib, fcntl, os, re, shutil, signal, sqlite3, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(os.path.dirname(HERE)))
from patience import HANG_S, Limit  # noqa: E402
from shipped import shipped  # noqa: E402

SIZES = [(80, 24), (160, 50)]
DEADLINE_S = int(os.environ.get("RW_WATCH_DEADLINE_S", "60"))
DEVICES = ["leaf1", "leaf2", "leaf3", "leaf4", "spine1", "spine2", "spine3", "spine4"]
KEYS = r"\[q\]uit"  # the foot line: the screen is complete


class Failed(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failed(message)


def wait_for(what, probe, deadline_s=DEADLINE_S):
    limit = Limit(deadline_s)
    while True:
        value = probe()
        if value:
            return value
        check(not limit.over(), "%s: not after %s" % (what, limit))
        time.sleep(0.1)


class Screen:
    """One terminal. Its tmux server is its own, so that tests run side by side."""
    number = 0

    def __init__(self, directory, argv, cols, rows):
        Screen.number += 1
        self.tmux = ["tmux", "-S", os.path.join(directory, "tmux%d" % Screen.number), "-f", "/dev/null"]
        self.exit = os.path.join(directory, "exit%d" % Screen.number)
        command = "env -u NO_COLOR -u ROCEWATCH_CONFIG LC_ALL=C.UTF-8 %s; echo $? >%s; exec sleep 600" % (" ".join(argv), self.exit)
        subprocess.run([*self.tmux, "new-session", "-d", "-c", directory, "-x", str(cols), "-y", str(rows), command], check=True)
        self.shell = int(subprocess.run([*self.tmux, "display-message", "-p", "#{pane_pid}"], check=True, capture_output=True, text=True).stdout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Nothing is left behind, the shell that writes the exit code neither. The program is killed, not hung up: see hang_up()."""
        with contextlib.suppress(OSError, IndexError, subprocess.CalledProcessError):
            os.kill(self.pid(), signal.SIGKILL)
        self.close()
        wait_for("the end of the shell", lambda: not os.path.exists("/proc/%d" % self.shell))

    def close(self):
        subprocess.run([*self.tmux, "kill-server"], stderr=subprocess.DEVNULL)

    def text(self, *options):
        return subprocess.run([*self.tmux, "capture-pane", "-p", *options], check=True, capture_output=True, text=True).stdout

    def keys(self, *keys):
        for key in keys:
            subprocess.run([*self.tmux, "send-keys", key], check=True)

    def until(self, pattern, absent=None):
        """The screen once @pattern is on it and @absent is not."""
        def shown():
            text = self.text()
            return text if re.search(pattern, text, re.M) and not (absent and re.search(absent, text, re.M)) else None
        try:
            return wait_for("/%s/ on the screen" % pattern, shown)
        except Failed as e:
            raise Failed("%s; it shows\n%s" % (e, self.text()))

    def resize(self, cols, rows):
        subprocess.run([*self.tmux, "resize-window", "-x", str(cols), "-y", str(rows)], check=True)

    def pid(self):
        """Of rocewatch, the shell's child."""
        with open("/proc/%d/task/%d/children" % (self.shell, self.shell)) as f:
            return int(f.read().split()[0])

    def ended(self):
        """The exit code of rocewatch."""
        def code():
            with contextlib.suppress(OSError):
                with open(self.exit) as f:
                    return f.read().strip() or None
        return int(wait_for("the end of rocewatch", code))


def mask(text):
    """Times and ages differ from run to run; their width stays."""
    def digits(m):
        return re.sub(r"\d", "0", m[0])
    text = re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z?", digits, text)
    text = re.sub(r"\d\d:\d\d:\d\d", digits, text)
    text = re.sub(r"\d+h\d\dm|\d+m\d\ds", digits, text)
    text = re.sub(r"data \d\w* old", "data AGE old", text)
    # Windows begin at multiples of 10.007 s, not at the quarter of an hour: what it cost so far, and the window in which it opened.
    text = re.sub(r"\$\d\d+(?= )", digits, text)
    text = re.sub(r"is paused [\d.]+ % of the time, at \d+ % of line", digits, text)
    text = re.sub(r"(?m)^( (?:critical|warning|info) .* )[a-z2-7]{5} *$", r"\1iiiii", text)  # an incident's id holds the time
    return re.sub(r"(?m) +$", "", text)


class Cases:
    def __init__(self, binary, directory):
        self.binary, self.dir = binary, directory

    def path(self, name):
        return os.path.join(self.dir, name)

    def make(self, *args):
        p = subprocess.run([shipped(os.path.dirname(self.binary)), *args], cwd=self.dir, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)
        check(p.returncode == 0, "%s: exit %d: %s" % (" ".join(args), p.returncode, p.stderr))

    def record(self, scenario):
        self.make("lab", "record", "--begin", "1970-01-01T00:00:00Z", scenario, "--out", self.path("case-" + scenario))

    def moved(self, scenario, name, end_s):
        """The case again, its last sample at @end_s."""
        source, copy = self.path("case-" + scenario), self.path("case-" + name)
        shutil.copytree(source, copy)
        with open(os.path.join(source, "samples.tsv")) as f:
            rows = [line if line[0] == "#" else line.split("\t", 1) for line in f]
        last = max(float(row[0]) for row in rows if isinstance(row, list))
        with open(os.path.join(copy, "samples.tsv"), "w") as f:
            for row in rows:
                f.write(row if isinstance(row, str) else "%.3f\t%s" % (float(row[0]) + end_s - last, row[1]))
        return self.replayed(name)

    def replayed(self, name):
        self.make("replay", "--from", self.path("case-" + name), "--db", self.path(name + ".db"))
        return self.path(name + ".db")

    def by_agent(self, db):
        """As an agent leaves it: it wrote of itself and of its targets, and nothing says that it was recorded."""
        with contextlib.closing(sqlite3.connect(db)) as c, c:
            c.execute("DELETE FROM meta WHERE key = 'recorded'")
            (newest,) = c.execute("SELECT max(to_ns) FROM (SELECT to_ns FROM tail UNION ALL SELECT to_ns FROM block)").fetchone()
            c.execute("INSERT OR REPLACE INTO health(key, value, unit, t_ns) VALUES('process/up_s', 900, 's', ?)", (newest,))
            for device in DEVICES:
                c.execute("INSERT INTO target(device, protocol, address, state, up, since_ns, last_success_ns, updated_ns, polls, timeouts, errors)"
                          " VALUES(?, 'snmp', '127.0.0.1:1', 'up', 1, ?, ?, ?, 90, 0, 0)", (device, newest, newest, newest))
        return db

    def lasting(self, db):
        """The configuration in force has long intervals: its newest sample counts as news for as long as a busy machine needs."""
        with contextlib.closing(sqlite3.connect(db)) as c, c:
            changed = c.execute("UPDATE fabric_history SET yaml = replace(yaml, '  interval: 10007ms', '  interval: 5m') WHERE yaml LIKE '%  interval: 10007ms%'")
            check(changed.rowcount == 1, "the configuration in force has another interval: %d rows changed" % changed.rowcount)

    def configuration(self, scenario, db, broken=False, lasting=False):
        """The case's configuration with addresses where nobody answers; returns its name in the directory of the screens."""
        name = os.path.basename(db)[:-len(".db")] + ".yaml"
        with open(self.path("community"), "w") as f:
            f.write("none\n")
        with open(os.path.join(self.path("case-" + scenario), "fabric.yaml")) as f:
            text = f.read()
        text = re.sub(r"(role: \w+) }", r'\1, snmp: { address: "127.0.0.1:1", credentials: lab } }', text)
        if broken:
            text = text.replace("name: spine4, role:", "name: spine4, rolle:")
        if lasting:  # the newest sample counts as news while the screen is up
            text += "defaults: { interval: 5m }\n"
        text += "store: { path: %s }\ncredentials:\n  lab: { snmp: { version: 2c, community_file: community } }\n" % os.path.basename(db)
        with open(self.path("new"), "w") as f:
            f.write(text)
        os.replace(self.path("new"), self.path(name))
        return name


def compare(case, size, text, update):
    path = os.path.join(HERE, "%s-%dx%d.txt" % (case, *size))
    if update:
        with open(path, "w") as f:
            f.write(text)
        return None
    with open(path) as f:
        want = f.read()
    if text == want:
        return None
    return "%s differs\n--- expected\n%s--- got\n%s" % (os.path.basename(path), want, text)


def golden(cases, update):
    """One screen for each case and size; all at once."""
    db = {name: cases.path(name + ".db") for name in ("healthy", "pfc-storm", "ecn-late")}
    now = int(time.time())
    quarter = now - now % 900
    dead = cases.by_agent(cases.moved("pfc-storm", "dead", quarter - 900 + 0.079))
    old = cases.by_agent(cases.moved("pfc-storm", "old", quarter - 8 * 3600 + 0.079))
    shows = [
        ("healthy", ["--db", db["healthy"]], r"\bOK\b"),
        ("pfc_storm", ["--db", db["pfc-storm"]], "CRITICAL"),
        ("ecn_late", ["--db", db["ecn-late"]], "WARNING"),
        ("dead_agent", ["-c", cases.configuration("pfc-storm", dead)], "AGENT STOPPED"),
        ("old_database", ["-c", cases.configuration("pfc-storm", old)], "data .* old"),
    ]
    faults = []
    with contextlib.ExitStack() as stack:
        screens = [(case, size, pattern, stack.enter_context(Screen(cases.dir, [cases.binary, *args, "watch"], *size)))
                   for case, args, pattern in shows for size in SIZES]
        for case, size, pattern, screen in screens:
            screen.until(KEYS)
            screen.until(pattern, absent="reading")
            text = mask(screen.until(KEYS, absent="reading"))
            if case in ("dead_agent", "old_database"):
                check(not re.search(r"  (ok|idle)\b", text), "a signal is called ok on old data:\n%s" % text)
            faults.append(compare(case, size, text, update))
    return faults


def without_load(text):
    """Which of equal links is named, and how busy it is, depends on the second of the recording that is now. The busiest may be of a spine."""
    return "".join(line for line in text.splitlines(True) if not re.search(r"(leaf|spine)\d|ECMP|JOB ", line))


def broken_configuration(cases, update):
    """A typo is saved while the screen is up: it lives on with the configuration in force, and comes back when the file is mended."""
    faults = []
    for number, size in enumerate(SIZES):
        # Fresh for each size: on a slow machine the data would be stale by the second. All names are as long as "broken".
        moved = "broke%d" % number
        db = cases.by_agent(cases.moved("healthy", moved, int(time.time())))
        cases.lasting(db)
        name = cases.configuration("healthy", db, lasting=True)
        with open(db + ".lock", "a+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # plays the agent
            lock.truncate(0)
            lock.write("%d\n" % os.getpid())
            lock.flush()
            with Screen(cases.dir, [cases.binary, "-c", name, "watch", "--interval", "300ms"], *size) as screen:
                screen.until("agent running")
                cases.configuration("healthy", db, broken=True, lasting=True)
                screen.until("CONFIGURATION BROKEN")
                text = without_load(mask(screen.until(KEYS, absent="reading")))
                faults.append(compare("broken_configuration", size, text.replace(moved, "broken"), update))
                cases.configuration("healthy", db, lasting=True)
                screen.until("agent running", absent="CONFIGURATION BROKEN")
    return faults


def keys(cases, update):
    """From the wall to the card and the other pages, back, filter, a new size, the end."""
    with Screen(cases.dir, [cases.binary, "--db", cases.path("pfc-storm.db"), "watch", "--interval", "500ms"], 80, 24) as screen:
        screen.until(KEYS)
        screen.until("pfc_storm|node-010")
        screen.keys("i")
        screen.until("OPEN INCIDENTS   by money")
        screen.keys("Enter")
        card = screen.until(r"^ ?(INCIDENT|CRITICAL) .*pfc_storm", absent="OPEN INCIDENTS")
        check(card.startswith(" rocewatch   lab"), "the card has lost the headline:\n%s" % card)
        screen.keys("Escape")
        screen.until("OPEN INCIDENTS")
        screen.keys("t")
        screen.until("WAIT-FOR TREE")
        screen.keys("e")
        screen.until("MAX/MEAN")
        screen.keys("s")
        screen.until("JOB train")
        screen.keys("d")
        screen.until("TO DO")
        screen.keys("p")
        screen.until("PAUSED PORTS.*\n.*IT PAUSED US")
        screen.keys("i", "a")
        screen.until("acknowledge [a-z2-7]{8}, with a note or none")
        screen.keys("fans", "Enter")
        screen.until("not acknowledged: no agent writes this database")
        screen.keys("p")
        screen.until("PAUSED PORTS.*\n.*IT PAUSED US")
        screen.keys("/", "leaf1", "Enter")
        screen.until("filter: leaf1", absent="^ spine2")
        screen.keys("Escape", "Escape", "Space")
        screen.until("PAUSED")
        screen.keys("Space")
        screen.until("every", absent="PAUSED, frame")
        screen.resize(60, 20)
        screen.until("60x20 is too small\nneeds 80x24")
        screen.resize(132, 40)
        screen.until(r"\[space\]hold")
        screen.keys("q")
        check(screen.ended() == 0, "q: exit %d" % screen.ended())
        left = screen.text()
        check("GOLDEN SIGNAL" not in left, "the alternate screen was not left:\n%s" % left)
    return []


def unreadable(cases, update):
    """The database goes away under the screen and comes back."""
    db, away = cases.path("gone.db"), cases.path("gone.away")
    shutil.copy(cases.path("healthy.db"), db)
    with Screen(cases.dir, [cases.binary, "--db", db, "watch", "--interval", "300ms"], 80, 24) as screen:
        screen.until("GOLDEN SIGNAL")
        os.rename(db, away)
        screen.until(r"CANNOT READ.*gone\.db")
        screen.until("GOLDEN SIGNAL")  # the last frame stays
        with open(db, "w") as f:
            f.write("this is no database " * 500)
        screen.until("CANNOT READ.*not a")
        os.replace(away, db)
        screen.until("every", absent="CANNOT READ")
    return []


def hang_up(cases, update):
    """The terminal goes away: the program ends. Without the search for leaks: a terminal that goes away sends SIGHUP and then SIGCONT, and a
    SIGCONT takes back the SIGSTOP by which the search holds the threads, after which it waits for ever. Ends by `q` do look for leaks."""
    argv = ["ASAN_OPTIONS=detect_leaks=0", cases.binary, "--db", cases.path("healthy.db"), "watch"]
    with Screen(cases.dir, argv, 80, 24) as screen:
        screen.until(KEYS)
        pid = screen.pid()
        screen.close()
        wait_for("the end after a hang-up", lambda: not os.path.exists("/proc/%d" % pid))
    return []


def as_it_was(cases, update):
    """--around shows the screen as it was: before the fault nothing is wrong, and nothing is refreshed."""
    argv = [cases.binary, "--db", cases.path("pfc-storm.db"), "watch", "--around", "'1970-01-01 00:03:30'"]
    with Screen(cases.dir, argv, 80, 24) as screen:
        text = screen.until("AS IT WAS", absent="CRITICAL|UNKNOWN")
        check("1970-01-01 00:03:30Z" in text, "not the time asked for:\n%s" % text)
        screen.until("INCIDENTS  none open")
    return []


def ascii_only(cases, update):
    """LC_ALL=C and no colour: plain ASCII, states as words."""
    argv = ["LC_ALL=C", "NO_COLOR=1", cases.binary, "--db", cases.path("pfc-storm.db"), "watch"]
    with Screen(cases.dir, argv, 160, 50) as screen:
        screen.until(KEYS)
        text = screen.until("critical .*node-010")
        check(text.isascii(), "not ASCII:\n%s" % text)
        check(not re.search(r"\x1b\[[\d;]*(3[0-7]|4[0-7])[m;]", screen.text("-e")), "colours in spite of NO_COLOR")
    return []


def main():
    update = "--update" in sys.argv[2:]
    if not shutil.which("tmux"):
        print("tmux is not installed")
        return 77
    with tempfile.TemporaryDirectory(prefix="rw-watch-") as directory:
        cases = Cases(os.path.realpath(sys.argv[1]), directory)
        for scenario in ("healthy", "pfc-storm", "ecn-late"):
            cases.record(scenario)
            cases.replayed(scenario)
        tests = [golden, broken_configuration, keys, unreadable, hang_up, as_it_was, ascii_only]
        failed = 0
        for test in tests:
            begin = time.monotonic()
            try:
                faults = [f for f in test(cases, update) if f]
            except Failed as e:
                faults = [str(e)]
            for fault in faults:
                print("%s: %s" % (test.__name__, fault))
            failed += len(faults)
            print("%-24s %-6s %4.1f s" % (test.__name__, "failed" if faults else "ok", time.monotonic() - begin))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
