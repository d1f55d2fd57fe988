#!/usr/bin/env python3
"""check_links.py ROOT - every link of README, docs and the other pages leads to a file that exists, and its #anchor to a heading of that page; each
page in docs is reached from README.md and listed in docs/README.md. Addresses on the internet are not called, only read. A file or folder of the
tree that the map of the tree names (docs/architecture.md) is there."""
import glob, os, re, sys, urllib.parse

from pages import pages

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")


def targets(page):
    for number, line in page.prose:
        plain = re.sub(r"(`+)(.*?)\1", lambda m: " " * len(m[0]) if "](" in m[2] else m[0], line)
        for found in LINK.finditer(plain):
            yield number, found[1]


MAP = "docs/architecture.md"
TREE = r"(agent|analyzers|base|collectors|config|db|proto|scripts|tests|web)/"


def missing_files(root, page):
    """What the map names and is not in the tree. <name> and * stand for any word; an example that says 'Put down' tells of a file to be made."""
    for number, line in page.prose:
        for name in re.findall(r"`(%s[^\s`]*)`" % TREE, line):
            path = os.path.join(root, re.sub(r"<\w+>", "*", name[0]))
            if not glob.glob(path) and not glob.glob(path + ".*") and "Put down" not in line: # a/b means a/b.c and a/b.h
                yield "%s:%d: there is no '%s' in the tree" % (page.name, number, name[0])


def faults(root, all_pages):
    """Sentences, one for each link that leads nowhere and each page that no link leads to."""
    by_name = {p.name: p for p in all_pages}
    leads = {p.name: set() for p in all_pages}
    for page in all_pages:
        if page.name == MAP:
            yield from missing_files(root, page)
        for number, target in targets(page):
            if re.match(r"[a-z][a-z+.-]*:", target):
                if not re.match(r"(https?://[\w.-]+(:\d+)?(/\S*)?|mailto:\S+@\S+)$", target):
                    yield "%s:%d: '%s' is not a web address" % (page.name, number, target)
                continue
            path, _, anchor = urllib.parse.unquote(target).partition("#")
            name = os.path.normpath(os.path.join(os.path.dirname(page.name), path)) if path else page.name
            if name.startswith("..") or not os.path.exists(os.path.join(root, name)):
                yield "%s:%d: '%s' does not exist" % (page.name, number, target)
                continue
            if name in by_name:
                leads[page.name].add(name)
                if anchor and anchor not in by_name[name].anchors():
                    yield "%s:%d: %s has no heading '#%s'" % (page.name, number, name, anchor)
    index = "docs/README.md"
    for page in all_pages if index in by_name else []:
        if os.path.dirname(page.name) == "docs" and page.name != index and page.name not in leads[index]:
            yield "%s: %s does not list it" % (page.name, index)
    reached, todo = set(), ["README.md"]
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo += leads[name]
    for page in all_pages:
        if page.name.startswith("docs/") and page.name not in reached:
            yield "%s: no link leads to it from README.md" % page.name


def prove_it_can_fail(root):
    page = pages(root)[0]
    for wrong in ("[x](docs/absent.md)", "[x](#no-such-heading-here)", "[x](http:/one-slash)"):
        page.prose = [(1, wrong)]
        if not any(wrong[4:-1].lstrip("#") in fault for fault in faults(root, [page])):
            sys.exit("a planted mistake was not found: " + wrong)


    page.name, page.prose = MAP, [(1, "`base/no_such_file.c`")]
    if not any("no_such_file" in fault for fault in faults(root, [page])):
        sys.exit("a file that is not in the tree was not found")


root = sys.argv[1]
prove_it_can_fail(root)
found = list(faults(root, pages(root)))
print("\n".join(found))
sys.exit(bool(found))
