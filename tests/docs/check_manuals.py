#!/usr/bin/env python3
"""Manual pages: groff and man read them without a warning, each has its sections, and every page that one refers to is there. Completion:
bash without a terminal and without bash-completion, and zsh where it is installed."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
SHARE = BUILD + "/share"
wrong = []


def say(text):
    wrong.append(text)
    print(text, flush=True)


def run(words, **more):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S, **more)


# ---- pages ------------------------------------------------------------------------------------------------------------------------------

def check_pages():
    pages = sorted(os.path.join(d, f) for d, _, files in os.walk(SHARE + "/man") for f in files)
    there = {os.path.basename(p) for p in pages}
    for page in pages:
        text = open(page).read()
        name = os.path.basename(page)
        for words in (["groff", "-man", "-ww", "-z", "-Tutf8", page], ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page]):
            if not shutil.which(words[0]):
                continue
            done = run(words, env=dict(os.environ, LC_ALL="C.UTF-8", MANROFFSEQ="", MANWIDTH="80"))
            if done.returncode != 0 or done.stderr:
                say("%s: %s: %s" % (name, words[0], done.stderr[:300]))
        if not text.isascii():
            say("%s: has characters that are not ASCII" % name)
        for other, section in re.findall(r"^\.BR (rocewatch[\\a-z.-]*) \((\d)\)", text, re.M):
            if other.replace("\\-", "-") + "." + section not in there:
                say("%s: refers to %s(%s), which is not there" % (name, other, section))
        sections = re.findall(r'^\.SH "?([A-Z ]+)', text, re.M)
        for section in ("NAME", "DESCRIPTION", "SEE ALSO"):
            if section not in sections:
                say("%s: has no section %s" % (name, section))
    listed, others = run([BUILD + "/rocewatch", "--help"]).stdout.split("Commands:")[1].split("Global options")[0].split("\nOthers: ")
    commands = re.findall(r"^  ([a-z-]+) ", listed, re.M) + re.findall(r"[a-z-]+", others)
    for command in commands:
        if not {"rocewatch-%s.1" % command, "rocewatch-%s.8" % command} & there:
            say("rocewatch %s: has no page" % command)
    print("%d pages" % len(pages))


# ---- completion -------------------------------------------------------------------------------------------------------------------------

LINES = [  # the words, the last one begun; what must be among the answers; what must not
    (["inc"], ["incident"], ["import"]),
    (["incident", "s"], ["show"], ["list"]),
    (["incident", "show", "--fu"], ["--full"], ["--force"]),
    (["incident", "show", "--"], ["--db", "--format"], ["--since"]),
    (["--db", "x.db", "status", "--"], ["--until"], ["--since"]),
    (["status", "--format", ""], ["table", "md"], ["slurm"]),
    (["topology", "export", "--format", ""], ["slurm"], ["json"]),
    (["tune", "verify", "x", "--match", ""], ["job", "load", "none"], []),
    (["report", "sp"], ["spine-imbalance"], []),
    (["check", "--warn", "1", "p"], ["pfc"], []),
    (["help", "inc"], ["incident"], []),
    (["query", "port.out_oc"], ["port.out_octets"], ["port.in_octets"]),
    (["query", "s"], ["sql"], []),
    (["profile", "show", "so"], ["sonic"], ["nxos"]),
    (["lab", "run", "pfc-s"], ["pfc-storm"], ["healthy"]),
    (["config", "check", "here"], ["here.yaml"], []),
    (["--co"], ["--config", "--color"], ["--db"]),
    (["incident", "list", "--severity", "=", "w"], ["warning"], ["info"]),
]
BASH = """source %s
COMP_WORDS=(%s "$@"); COMP_CWORD=$#
_rocewatch
printf '%%s\\n' "${COMPREPLY[@]}"
"""
# compadd and its kin work only inside the line editor: they are replaced by ones that print.
ZSH = """source =(sed '$d' %s)
compadd() { shift; print -l -- ${(P)1} }
_describe() { print -l -- ${(P)2%%%%:*} }
_files() { print -l -- *(N) }
compset() { current=${current#*=} }
words=(%s "$@"); CURRENT=$#words
_rocewatch
"""


def check_shell(shell, script, file, lines):
    program = BUILD + "/rocewatch"
    for words, there, absent in lines:
        done = run([shell, "-c", script % (file, program), shell] + words)
        found = [w for w in done.stdout.split("\n") if w.startswith(words[-1])]
        if done.stderr or [w for w in there if w not in found] or [w for w in absent if w in found]:
            say("%s: rocewatch %s -> %s %s" % (shell, " ".join(words), found, done.stderr))
    print("%s: %d lines" % (shell, len(lines)))


def main():
    check_pages()
    with tempfile.TemporaryDirectory(prefix="rw-complete-") as place:
        os.chdir(place)
        open("here.yaml", "w").close()
        check_shell("bash", BASH, SHARE + "/bash-completion/completions/rocewatch", LINES)
        if shutil.which("zsh"):
            check_shell("zsh", ZSH, SHARE + "/zsh/vendor-completions/_rocewatch", [row for row in LINES if "=" not in row[0]])
        os.chdir("/")
    sys.exit(1 if wrong else 0)


main()
