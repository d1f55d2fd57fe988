#!/usr/bin/env python3
"""files.py ROCEWATCH DOCS [--all | WORD...] - a strange file in the place of every path that the configuration or a command takes: an error within 5 s, in 64 MB.

The paths are those of the printed pages: keys of agent/schema/rocewatch.yaml.schema.json that speak of a file; words and options of commands.md that are one. A new key or
option is judged here without a line. So are the files of a recorded case. Each with one kind of file, with --all or the places that hold a WORD with all. What
'config check' leaves to the agent, an agent is started with: it ends by itself or by SIGTERM."""
import json, os, re, signal, socket, subprocess, sys, tempfile, time, zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import Limit  # noqa: E402
from shipped import shipped  # noqa: E402
import hung  # noqa: E402

LIMIT_S, LIMIT_MB = 5, 64
IS_FILE, IS_SLOT = re.compile(r"\b(files?|directory|socket|program)\b", re.I), re.compile(r"[^=]*\b(FILE|DIR)\b")
# what a key needs beside it, and what words are where the schema cannot say so
V3 = {"version": "3", "user": "u", "auth": "sha256", "auth_file": "{good}"}
BESIDE = {"community_file": {"version": "2c"}, "auth_file": V3, "priv_file": {**V3, "priv": "aes128"}, "client_ca": {"cert": "{good}", "key": "{good}"},
          "password_file": {"user": "u", "username": "u"}, "cert": {"key": "{good}"}, "key": {"cert": "{good}"}, "secret_file": {"url": "http://127.0.0.1:9/"}}
WORDS = {"address": "127.0.0.1:9", "listen": "127.0.0.1:9", "server": "127.0.0.1:9", "grpc": "127.0.0.1:9", "url": "http://127.0.0.1:9/", "from": "x@y", "to": ["x@y"],
         "run": ["/bin/true"], "role": "leaf", "credentials": "lab", "device": "leaf1", "interface": "lo"}
BASE = {"store": {"path": "db"}, "credentials": {"lab": {"snmp": {"version": "2c", "community_file": "{good}"}}},
        "devices": [{"name": "leaf1", "role": "leaf", "snmp": {"address": "127.0.0.1:9", "credentials": "lab"}}]}
CASE = "fabric: f\ndevices:\n  - { name: leaf1, role: leaf }\n"
# by hung.Mount
HUNG = {"hung": "lost", "hung-read": "stuck"}
STRANGE = {"fifo": os.mkfifo, "socket": lambda path: socket.socket(socket.AF_UNIX).bind(path), "directory": os.mkdir,
           "huge": lambda path: (Path(path).touch(), os.truncate(path, 1 << 40)),
           "symlink": lambda path: (os.mkfifo(path + "-to"), os.symlink(path + "-to", path)), "endless": lambda path: os.symlink("/dev/zero", path),
           "loop": lambda path: os.symlink(path, path),
           **{kind: lambda path, word=word: os.symlink(hung.Mount.new(word), path) for kind, word in HUNG.items()}}


def required(schema):
    return {key: good_value(key, schema["properties"][key]) for key in schema.get("required", [])}


def good_value(name, schema):
    schema = schema.get("anyOf", [schema])[0]
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") in ("object", "array"):
        return required(schema) if schema["type"] == "object" else WORDS.get(name, [good_value("", schema["items"])])
    return "{good}" if IS_FILE.search(schema.get("description", "")) else WORDS.get(name, "x")


def keys(schema, wrap, place=""):
    """Of each key that speaks of a file: its place, and what makes a configuration of its value."""
    for choice in schema.get("anyOf", []):
        yield from keys(choice, wrap, place)
    if "string" in schema.get("type", []) and "pattern" not in schema and IS_FILE.search(schema.get("description", "").split("(")[0]):
        yield place, wrap("{bad}")
    if "items" in schema:
        yield from keys(schema["items"], lambda v: wrap([v]), place + "[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from keys(schema["additionalProperties"], lambda v: wrap({"lab": v}), place + ".*")
    for key, inner in schema.get("properties", {}).items():
        beside = {**required(schema), **{k: v for k, v in BESIDE.get(key, {}).items() if k in schema["properties"]}}
        yield from keys(inner, lambda v, key=key, beside=beside: wrap({**beside, key: v}), place + "." + key)


def commands(text):
    """Of each path of a command: its place and its words, "{bad}" among them."""
    fixed, slots = [], []
    for line in text.replace("\\", "").splitlines():
        title, option = re.match(r"##+ `rocewatch (.*)`", line), re.match(r"- `(?:-., )?(--[a-z-]+) ([^`]*)`", line)
        good = ["{good}" for slot in slots if not slot.startswith("[")]
        if title:
            words = title[1].split()
            fixed, slots = [w for w in words if not re.match(r"[\[A-Z]", w)], [w for w in words if re.match(r"[\[A-Z]", w)]
            for i, slot in enumerate(slots):
                if IS_SLOT.match(slot):
                    yield " ".join(words), fixed + ["{bad}" if k == i else "{good}" for k in range(len(slots))]
        elif fixed and option and IS_SLOT.match(option[2]):
            yield " ".join([*fixed, option[1]]), fixed + good + [option[1], "{bad}"]
        elif fixed and line.startswith("Global options: `--db FILE`"):
            for word in ("--db", "-c"):
                yield " ".join([*fixed, word]), [word, "{bad}"] + fixed + good


def run(program, words, folder, stop_s=None):
    """Exit code (None: it did not end), text, MB. After @stop_s it gets SIGTERM."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("ROCEWATCH")}
    with tempfile.TemporaryFile(dir=folder) as out:
        p = subprocess.Popen([program, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env, start_new_session=True)
        limit, told = Limit(LIMIT_S), stop_s is None
        while not (ended := os.wait4(p.pid, os.WNOHANG))[0] and not (told and limit.over()):
            if not told and time.monotonic() > limit.begin + stop_s:
                limit, told = Limit(LIMIT_S), True
                p.terminate()
            time.sleep(0.005)
        code = os.waitstatus_to_exitcode(ended[1]) if ended[0] else None
        if code is None:
            os.killpg(p.pid, signal.SIGKILL)
            ended = os.wait4(p.pid, os.WNOHANG if hung.Mount.folder else 0)  # what a mount holds cannot be killed
        p.returncode = 0
        out.seek(0)
        return code, out.read(1 << 20).decode(errors="replace"), ended[2].ru_maxrss >> 10


def judge(program, folder, place, words, config, kind):
    with tempfile.TemporaryDirectory(dir=folder) as own:
        path = os.path.join(own, kind)  # of its own: some commands write there
        if place.startswith("case/"):
            path = os.path.join(own, place)
            os.mkdir(os.path.join(own, "case"))
            Path(own, "case/fabric.yaml").write_text(CASE, encoding="utf-8")
            Path(path).unlink(missing_ok=True)
        STRANGE[kind](path)
        def fill(text):
            return text.replace("{good}", os.path.join(folder, "good")).replace("{bad}", path)
        if config:
            config = {**BASE, **config, "store": {**BASE["store"], **config.get("store", {})}}
            Path(own, "c.yaml").write_text(fill(json.dumps(config)), encoding="utf-8")
        code, text, mb = run(program, [fill(w) for w in words or ["config", "check", "c.yaml"]], own)
        if config and code == 0:
            code, text, mb = run(program, ["agent", "-c", "c.yaml"], own, stop_s=0.5)
        if kind in HUNG:
            hung.Mount.let_go(os.readlink(path) if os.path.islink(path) else path)
        fault = "did not end" if code is None else "signal %d" % -code if code < 0 and code != -signal.SIGTERM else "%d MB" % mb if mb > LIMIT_MB else ""
        told = not place.startswith("case/") or code != 0 and place in text
        return place, kind, fault or ("" if told else "not told"), code, text.strip()


def main():
    # of the shipped program: the sanitizers take more memory than the limit
    program, docs, picked = shipped(os.path.dirname(os.path.abspath(sys.argv[1]))), Path(sys.argv[2]), sys.argv[3:]
    schema = json.loads((docs.parent / "agent/schema/rocewatch.yaml.schema.json").read_text(encoding="utf-8"))
    places = [(place, None, config) for place, config in keys(schema, lambda v: v)]
    places += [(place, words, None) for place, words in commands((docs / "commands.md").read_text(encoding="utf-8"))]
    places += [("case/" + name, ["replay", "--from", "case"], None) for name in ("fabric.yaml", "samples.tsv")]
    with tempfile.TemporaryDirectory(prefix="rw-files-") as folder, ThreadPoolExecutor(2) as pool, ThreadPoolExecutor(16) as waiting:
        Path(folder, "good").write_text("a good secret of one line\n", encoding="utf-8")
        Path(folder, "good").chmod(0o600)
        whole = [p for p in picked if p != "--all"]
        why_not = hung.Mount.begin(os.path.join(folder, "mount"))
        kinds = [kind for kind in STRANGE if kind not in HUNG or not why_not]
        todo = [(program, folder, *row, kind) for row in places for i, kind in enumerate(kinds)
                if any(w in row[0] for w in whole) or picked == ["--all"] or not picked and zlib.crc32(row[0].encode()) % len(kinds) == i]
        done = [(waiting if row[-1] in HUNG else pool).submit(judge, *row) for row in todo]
        done = [job.result() for job in done]
        hung.Mount.end()
    if why_not:
        print("no hung mount here:", why_not)
    faults = [row for row in done if row[2]]
    print("%d paths, %d runs, %d faults" % (len(places), len(done), len(faults)))
    for row in done if os.environ.get("VERBOSE") else faults:
        print("  %s: %s: %s: exit %s: %s" % (*row[:4], row[4][-300:].replace("\n", " / ")))
    return 1 if faults or len(places) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
