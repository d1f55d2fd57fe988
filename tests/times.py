#!/usr/bin/env python3
"""times.py FILE - what the tests cost: the lines that `timed` wrote (tests/timed.c), as two tables. CPU seconds are those of the test and of what it
waited for; seconds by the clock are larger where a test waits, and on a busy machine. Why the dearest cost that is in slow.tsv; one that is not
there is told: exit code 1."""
import collections
import os
import sys

DEAREST = 20


def reasons():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "slow.tsv"), encoding="utf-8") as f:
        return {row[0]: row[2] for row in (line.rstrip("\n").split("\t") for line in f if not line.startswith("#"))}


def main(path):
    rows = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            name, wall, user, system, _, _ = line.rstrip("\n").split("\t")
            rows.append((name, float(wall), float(user) + float(system)))
    if not rows:
        sys.exit("times: %s has no line: no test ran" % path)
    parts = collections.defaultdict(lambda: [0, 0.0, 0.0])
    for name, wall, cpu in rows:
        part = parts[name.split(".")[0]]
        part[0] += 1
        part[1] += cpu
        part[2] += wall
    total = sum(cpu for _, _, cpu in rows)
    print("%-16s %5s %9s %6s %9s" % ("part", "tests", "CPU s", "share", "clock s"))
    for name, (n, cpu, wall) in sorted(parts.items(), key=lambda item: -item[1][1]):
        print("%-16s %5d %9.1f %5.1f%% %9.1f" % (name, n, cpu, 100 * cpu / total, wall))
    print("%-16s %5d %9.1f" % ("all", len(rows), total))
    print()
    print("%-26s %9s %9s  %s" % ("the dearest", "CPU s", "clock s", "why"))
    why = reasons()
    dearest = sorted(rows, key=lambda row: -row[2])[:DEAREST]
    for name, wall, cpu in dearest:
        print("%-26s %9.1f %9.1f  %s" % (name, cpu, wall, why.get(name, "NO REASON")))
    unknown = [name for name, _, _ in dearest if name not in why]
    if unknown:
        print("times: make these cheaper, or say in tests/slow.tsv why not: %s" % " ".join(unknown), file=sys.stderr)
    return 1 if unknown else 0


sys.exit(main(sys.argv[1]))
