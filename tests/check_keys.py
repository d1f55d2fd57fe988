#!/usr/bin/env python3
"""check_keys.py SOURCE - how often the product reads a value of a JSON object by the text of its key. What an answer holds is a member of a
struct (agent/document/shape.h), which the compiler knows; a key in quotes is found by nobody when it is misspelt. The number may fall and not
rise: whoever lowers it writes the new one in MOST. --list prints it for each file.

Counted in the .c files of the product: calls of json_object_get, the keys of json_unpack, and calls of each function of the product that takes
an object and a key (its definition names a `const json_t *` and a `const char *key`, one behind the other)."""
import os, re, sys

MOST = 583
ROOMS = ["agent", "analyzers", "base", "collectors", "config", "db", "proto"]
UNPACK = re.compile(r"\bjson_unpack\w*\([^;]*;")
SIGNATURE = re.compile(r"\b(\w+)\(\s*const json_t \*\w+,\s*const char \*\w*key\b")


def sources(root):
    for room in ROOMS:
        for folder, _, files in os.walk(os.path.join(root, room)):
            for name in sorted(files):
                if name.endswith((".c", ".h")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as f:
                        yield os.path.relpath(path, root), f.read()


def main():
    root = os.path.abspath(sys.argv[1])
    texts = dict(sources(root))
    readers = {"json_object_get"}
    for text in texts.values():
        readers.update(SIGNATURE.findall(text))
    call = re.compile(r"\b(%s)\(" % "|".join(sorted(readers)))
    found = {}
    for path, text in texts.items():
        if path.endswith(".c"):
            n = len(call.findall(text)) - len(SIGNATURE.findall(text))
            n += sum(len(re.findall(r"\bs[?*]?:", one)) for one in UNPACK.findall(text))
            if n:
                found[path] = n
    total = sum(found.values())
    if "--list" in sys.argv:
        print("readers: " + " ".join(sorted(readers)))
        for path, n in sorted(found.items(), key=lambda row: (-row[1], row[0])):
            print("%5d %s" % (n, path))
    print("%d values are read by key in %d files" % (total, len(found)))
    if total > MOST:
        print("check_keys: at most %d were: give the answer a member, or keep what is read in a struct" % MOST, file=sys.stderr)
        return 1
    if total < MOST:
        print("check_keys: only %d are left: write that number in MOST" % total)
    return 0


if __name__ == "__main__":
    sys.exit(main())
