#!/usr/bin/env python3
"""check_advice - no text of the product tells anybody to run a command that does not exist.

usage: check_advice.py SOURCES BUILD

Every "rocewatch WORD [WORD]" inside a string of the sources is held against the commands that
`rocewatch --help` lists, and, where the help of a command lists subcommands, its second word against
those.
"""
import glob
import os
import re
import subprocess
import sys

FOLDERS = ("agent", "analyzers", "base", "collectors", "config", "db", "proto")
# "rocewatch reads it back": the program as the subject of a sentence.
PROSE = {"or", "reads", "monitors", "changes", "names", "stores", "for", "and"}
# A user of the machine: usermod -aG rocewatch nagios.
PROSE |= {"nagios"}
# A command, and the word behind it goes on with the sentence.
SENTENCE = {("steps", "shows")}
# Names of documents, such as the title of a page.
TITLES = {("tuning", "review"), ("tuning", "verification"), ("what-if", None)}

STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
COMMENT = re.compile(r"/\*.*?\*/", re.S)
ADVICE = re.compile(r"\brocewatch (?:--?[a-z]+ \S+ )*([a-z][a-z-]*)(?: ([a-z][a-z-]+))?")


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout


def commands(program):
    """{command: set of its subcommands, empty when it has none}"""
    text = run(program, "--help").split("Commands:\n", 1)[1].split("\n\n", 1)[0]
    table = {}
    text, others = text.split("\nOthers: ")
    for name in re.findall(r"^  ([a-z][a-z-]*)(?:\s|$)", text, re.M) + re.findall(r"[a-z-]+", others):
        listed = re.search(r"^(?:Usage: rocewatch \S+ \[?[A-Z]+\]? \[ARGUMENTS\].*\n|Subcommands:)\n((?:  .*\n)*)", run(program, name, "--help"), re.M)
        table[name] = set(re.findall(r"^  ([a-z][a-z-]*)", listed.group(1), re.M)) if listed else set()
    return table


def advice(sources):
    """(file, word, second word or None) of each piece of advice"""
    for folder in FOLDERS:
        for path in sorted(glob.glob(f"{sources}/{folder}/**/*", recursive=True)):
            if not path.endswith((".c", ".h", ".def")):
                continue
            with open(path, encoding="utf-8") as file:
                text = COMMENT.sub("", file.read())
            text = re.sub(r'"\s*"', "", text)  # one string over several lines
            for string in STRING.findall(text):
                for found in ADVICE.finditer(string):
                    yield os.path.relpath(path, sources), found.group(1), found.group(2)


def wrong(table, word, second):
    if word in PROSE or (word, second) in TITLES or (word, second) in SENTENCE:
        return None
    if word not in table:
        return f"there is no command '{word}'"
    subcommands = {s for s in table[word] if s.islower()}
    if second and subcommands and second not in subcommands:
        return f"'{word}' has no subcommand '{second}', only {', '.join(sorted(subcommands))}"
    return None


def main():
    sources, build = sys.argv[1:3]
    table = commands(os.path.join(build, "rocewatch"))
    assert "status" in table and "list" in table["incident"], table
    # the check itself: what was once advised, and did not exist
    assert wrong(table, "frobnicate", None) and wrong(table, "incident", "frobnicate")
    n, bad = 0, 0
    for path, word, second in advice(sources):
        n += 1
        why = wrong(table, word, second)
        if why:
            bad += 1
            print(f"{path}: 'rocewatch {word} {second or ''}': {why}")
    assert n > 40, f"only {n} pieces of advice found: the search is broken"
    return bad != 0


sys.exit(main())
