#!/usr/bin/env python3
"""check_circles.py BUILD - no circle of object files.

Reads the symbols of the product's libraries (librw_*.a under BUILD) with nm: an object file needs another one when it uses a
symbol that the other one defines. Two or more files that need each other in a circle cannot be understood, tested or replaced one
at a time. Prints each circle with the symbols that tie it, and fails when there is one.
"""
import os
import pathlib
import subprocess
import sys


def read_symbols(archive):
    """(object, kind, symbol) of each global symbol of an archive."""
    listing = subprocess.run(["nm", "-A", "-g", archive], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        head, _, rest = line.partition(".o:")
        words = rest.split()
        if len(words) < 2:
            continue
        name = head.split(":", 1)[1] + ".o"
        yield archive.stem.removeprefix("lib") + "/" + name, words[-2], words[-1]


def read_needs(build):
    """{object: {needed object: symbol}} of all archives of the product."""
    # os.walk, not rglob: other tests make and delete folders below the build meanwhile
    names = (pathlib.Path(folder, name) for folder, _, names in os.walk(build) for name in names)
    archives = sorted(path for path in names if path.match("librw_*.a"))
    if not archives:
        sys.exit(f"check_circles: no librw_*.a under {build}: build first")
    definer = {}
    uses = {}
    for archive in archives:
        for name, kind, symbol in read_symbols(archive):
            uses.setdefault(name, set())
            if kind == "U":
                uses[name].add(symbol)
            else:
                definer.setdefault(symbol, name)
    needs = {}
    for name, symbols in uses.items():
        needs[name] = {definer[s]: s for s in sorted(symbols) if s in definer and definer[s] != name}
    return needs


def find_circles(needs):
    """Tarjan's strongly connected components of two or more objects (SIAM J. Comput. 1(2), 1972), without recursion."""
    index, low, stack, circles = {}, {}, [], []
    for root in sorted(needs):
        if root in index:
            continue
        work = [(root, iter(sorted(needs[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            name, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(sorted(needs[other]))))
                    break
                if other in stack:
                    low[name] = min(low[name], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    circle = []
                    while not circle or circle[-1] != name:
                        circle.append(stack.pop())
                    if len(circle) > 1:
                        circles.append(sorted(circle))
    return circles


def main():
    needs = read_needs(sys.argv[1])
    circles = find_circles(needs)
    for circle in circles:
        print("circle of object files: " + " ".join(circle))
        for name in circle:
            for other, symbol in needs[name].items():
                if other in circle:
                    print(f"  {name} needs {symbol} of {other}")
    if circles:
        print("Move what both need into a file of its own, or hand it over as an argument.")
    sys.exit(1 if circles else 0)


if __name__ == "__main__":
    main()
