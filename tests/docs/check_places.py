#!/usr/bin/env python3
"""check_places.py ROOT - scripts/places.cmake says where the project lives; README and docs/security.md repeat it, and no other such name stands
in the pages. README is short, and a newcomer understands its beginning. Each rule is tried on a page that breaks it."""
import os, re, sys

README_LINES, BEGINNING = 100, 40
# Words that docs/concepts.md explains: none before line BEGINNING of README, outside of links and commands.
GLOSSARY = re.compile(r"\b(?:PFC|ECN|ECMP|DCQCN|DSCP|CNP|XOFF|xoff|Kmin|max/mean|incast|headroom|quanta|LLDP)\b")
REPEATS = {"README.md": ("RW_HOME_URL", "RW_SOURCE_URL", "RW_SECURITY_CONTACT"), "docs/security.md": ("RW_SECURITY_CONTACT",)}
INVALID = re.compile(r"<((?:https?://|[\w.+-]+@)[\w.-]+\.invalid[\w/.-]*)>")


def places_of(text):
    return dict(re.findall(r'^set\((RW_\w+) "([^"]+)"\)', text, re.M))


def faults(name, text, places):
    for key in REPEATS[name]:
        if key not in places:
            yield "scripts/places.cmake does not set %s" % key
        elif "<%s>" % places[key] not in text:
            yield "%s does not say <%s> (%s)" % (name, places[key], key)
    for found in INVALID.findall(text):
        if found not in places.values():
            yield "%s: <%s> is not in scripts/places.cmake" % (name, found)
    if name == "README.md":
        lines = text.splitlines()
        if len(lines) > README_LINES:
            yield "README.md has %d lines, at most %d" % (len(lines), README_LINES)
        for n, line in enumerate(lines[:BEGINNING - 1], 1):
            word = GLOSSARY.search(re.sub(r"`[^`]*`|\]\([^)]*\)", "", line))
            if word:
                yield "README.md:%d: '%s' needs a glossary" % (n, word[0])


def main():
    root = sys.argv[1]

    def text(name):
        with open(os.path.join(root, name)) as f:
            return f.read()
    places = places_of(text("scripts/places.cmake"))
    readme = text("README.md")
    for broken in (readme.replace(places["RW_HOME_URL"], "https://elsewhere.invalid"), "\n" * README_LINES + readme, "The PFC storm\n" + readme):
        if not list(faults("README.md", broken, places)):
            sys.exit("no rule notices a page that breaks it")
    wrong = [fault for name in REPEATS for fault in faults(name, text(name), places)]
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
