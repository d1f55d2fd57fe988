#!/usr/bin/env python3
"""times.py FILE - what the tests cost: the lines that `timed` wrote (tests/timed.c), as two tables. CPU seconds are those of the test and of what it
waited for; seconds by the clock are larger where a test waits, and on a busy machine."""
import collections
import sys

DEAREST = 20


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
    print("%-36s %9s %9s" % ("the dearest", "CPU s", "clock s"))
    for name, wall, cpu in sorted(rows, key=lambda row: -row[2])[:DEAREST]:
        print("%-36s %9.1f %9.1f" % (name, cpu, wall))


main(sys.argv[1])
