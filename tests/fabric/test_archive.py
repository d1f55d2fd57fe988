#!/usr/bin/env python3
"""test_archive.py BUILD - `rocewatch try` on what `show techsupport` left: the cause and its origin, the names and links that the switches tell each
other, when the readings were taken; a fabric without a fault has none. What cannot be judged is refused with the file and what was expected."""
import json, os, re, shutil, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from live_lab import check, main
from shipped import shipped
from support_archive import archives

BEGAN = 1767571200  # of every recorded case
ONSET_S, GAP_S = 240, 40


class Archives:
    def __init__(self, build, folder):
        self.binary, self.lab, self.folder = os.path.join(build, "rocewatch"), shipped(build), folder

    def of(self, scenario, name, times):
        case = os.path.join(self.folder, scenario)
        if not os.path.isdir(case):
            subprocess.run([self.lab, "lab", "record", scenario, "--face", "sonic-gnmi", "--interval", "5s", "--for", "8m", "--out", case],
                           check=True, stdout=subprocess.DEVNULL)
        return archives(case, os.path.join(self.folder, name), [BEGAN + t for t in times])

    def tries(self, *words, code=0):
        done = subprocess.run([self.binary, "try", *words], capture_output=True, text=True, cwd=self.folder)
        check(done.returncode == code, "try %s: exit %d, expected %d: %s" % (" ".join(words)[:200], done.returncode, code, done.stdout[-600:] + done.stderr))
        return done.stdout if code == 0 else done.stderr


def says(text, *words):
    for word in words:
        check(re.search(word, text), "no '%s' in:\n%s" % (word, text))


def storm(world):
    folders = world.of("pfc-storm", "storm", (ONSET_S + 60, ONSET_S + 60 + GAP_S))
    text = world.tries(*folders, "--keep", "kept")
    says(text, r"answered 8 of 8; links 64, of them between these switches 32", r"2 of each switch, over 40s;", r"critical pfc_storm: ",
         r"node-010 pauses leaf2:Ethernet2 100 % of the time")
    check("taken up to" not in text, "the readings were taken at one time:\n" + text)
    with open(os.path.join(world.folder, "kept", "fabric.yaml")) as f:
        says(f.read(), r"name: leaf2, role: leaf", r"name: spine1, role: spine", r"priorities: \[3\]")
    again = json.loads(subprocess.run([world.binary, "replay", "--from", "kept", "--format", "json"], capture_output=True, text=True, cwd=world.folder).stdout)
    check([i["cause"] for i in again["incidents"]] == ["pfc_storm"], "the kept case: %s" % again["incidents"])
    # one switch wrote its archive four minutes later: judged as if at one time, and said so
    late = folders[1] + "/dump/"
    for name in os.listdir(late):
        t = os.stat(late + name).st_mtime + 240
        os.utime(late + name, (t, t))
    says(world.tries(*folders), r"taken up to 4m00s apart", r"node-010 pauses leaf2:Ethernet2 100 % of the time")
    # the time was noted and the files are copies
    for i, t in ((1, "05/01/2026 00:05:00:000000"), (2, "05/01/2026 00:05:45:000000")):
        with open(late + "date.counter_%d" % i, "w") as f:
            f.write(t + "\n")
    for name in os.listdir(late):
        os.utime(late + name)
    says(world.tries(*folders), r"over 40s to 45s")
    return folders


def healthy(world):
    folders = world.of("healthy", "well", (100, 130, 160))
    text = world.tries(*folders)
    says(text, r"3 of each switch, over 1m00s;", r"VERDICT +OK")
    check("OPEN " not in text, "nothing is wrong:\n" + text)


def refused(world, folders):
    def broken(what, *words):
        shutil.rmtree("%s/broken" % world.folder, ignore_errors=True)
        shutil.copytree(folders[0], "%s/broken" % world.folder)
        what("%s/broken/dump/" % world.folder)
        says(world.tries(folders[1], "broken", code=1), *words)

    def write(name, text):
        def at(dump):
            with open(dump + name, "w") as f:
                f.write(text)
        return at

    broken(lambda dump: os.remove(dump + "COUNTERS_DB_2.json"), r"broken/dump: holds 1 of the two readings")
    broken(lambda dump: os.remove(dump + "CONFIG_DB.json"), r"broken/dump: holds no CONFIG_DB\.json")
    broken(write("APPL_DB.json", "Error: no such database\n"), r"APPL_DB\.json:1.*is no JSON.*sonic-db-dump")
    broken(write("COUNTERS_DB_1.json", "[]"), r"COUNTERS_DB_1\.json:1: holds no object of rows")
    broken(lambda dump: os.utime(dump + "COUNTERS_DB_2.json", (BEGAN, BEGAN)), r"COUNTERS_DB_2\.json is not younger")
    broken(lambda dump: (os.remove(dump + "STATE_DB.json"), os.mkfifo(dump + "STATE_DB.json")), r"STATE_DB\.json")
    broken(lambda dump: write("CONFIG_DB.json", open(folders[1] + "/dump/CONFIG_DB.json").read())(dump), r"are both of the switch leaf2")
    says(world.tries(folders[0], "192.0.2.1", code=2), r"cannot be mixed: 1 of 2 are folders")
    says(world.tries(*folders, "--keep", "kept", code=1), r"kept: File exists; name a new folder")
    says(world.tries("192.0.2.1", "--keep", "other", code=2), r"--keep is of folders")


def run(build, folder):
    world = Archives(os.path.realpath(build), folder)
    folders = storm(world)
    healthy(world)
    refused(world, folders)
    return "a storm, a healthy fabric, and what is refused"


if __name__ == "__main__":
    main(run, snmpd=False)
