#!/usr/bin/env python3
"""test_kinds - files of a strange kind in every place where a command takes a file, or the configuration names one: each ends soon, in little
memory, with an error that names the file.

usage: test_kinds.py BUILD
"""
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402
from shipped import shipped  # noqa: E402

BUILD = os.path.abspath(sys.argv.pop(1))
ROCEWATCH = shipped(BUILD)
KINDS = {"pipe": "is a pipe", "socket": "is a socket", "loop": "Too many levels of symbolic links", "endless": "is a device", "folder": "is a directory"}
MEMORY = 64 << 20
# what each key of the configuration names; {} is the file. The name of a file of a secret is not repeated, its kind is.
CONFIGURED = (
    ("credentials: { c: { snmp: { version: 2c, community_file: {} } } }", ("profile", "test", "leaf1")),
    ("credentials: { c: { gnmi: { username: u, password_file: {} } } }", ("profile", "test", "leaf1", "--protocol", "gnmi")),
    ("credentials: { c: { gnmi: { username: u, password_file: ./word, tls: { ca: {} } } } }", ("profile", "test", "leaf1", "--protocol", "gnmi")),
)
TAKEN = (
    ("-c", "{}", "config", "check"), ("config", "check", "{}"), ("config", "import", "sonic", "{}"),
    ("--db", "{}", "status"), ("--db", "{}", "watch", "--once"), ("--db", "{}", "incident", "list"), ("--db", "{}", "db", "stat"),
    ("--db", "{}", "check", "fabric"), ("--db", "{}", "query", "sql", "SELECT 1"), ("--db", "{}", "report", "links"),
    ("pcap", "{}"), ("replay", "--from", "{}", "--fabric", "case/fabric.yaml"), ("import", "nccl-tests", "{}"), ("import", "nccl-log", "{}"), ("import", "ethtool", "{}"), ("xray", "learn", "{}"),
    ("profile", "test", "192.0.2.7", "--community-file", "{}"),
)
IN_CASE = ("samples.tsv", "fabric.yaml")


def little_memory():
    """Address space: what is read into memory counts, libraries and stacks of threads do, too."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


class Kinds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="rw-kinds-")
        cls.place = {kind: os.path.join(cls.dir, "strange-" + kind) for kind in KINDS}
        os.mkfifo(cls.place["pipe"])
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(cls.place["socket"])
        os.symlink(cls.place["loop"], cls.place["loop"])
        os.symlink("/dev/zero", cls.place["endless"])
        os.mkdir(cls.place["folder"])
        with open(os.path.join(cls.dir, "word"), "w", encoding="utf-8") as out:
            out.write("word\n")
        done = subprocess.run([ROCEWATCH, "lab", "record", "healthy", "--out", os.path.join(cls.dir, "case")], capture_output=True, text=True,
            timeout=HANG_S, check=False)
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def refused(self, words, *expected):
        environment = {key: value for key, value in os.environ.items() if key != "ROCEWATCH_CONFIG"}
        done = subprocess.run([ROCEWATCH, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S, env=environment,
            preexec_fn=little_memory, cwd=self.dir, check=False)
        self.assertIn(done.returncode, (1, 2, 3), "%s: exit %d: %s" % (" ".join(words), done.returncode, done.stderr))
        said = done.stderr + done.stdout
        self.assertTrue(any(text in said for text in expected), "%s: %s" % (" ".join(words), said))

    def test_taken(self):
        for kind, told in KINDS.items():
            for words in TAKEN:
                with self.subTest(kind=kind, words=words):
                    self.refused([word.format(self.place[kind]) for word in words], told if "--community-file" in words else "strange-" + kind)

    def test_configured(self):
        for kind, told in KINDS.items():
            for number, (keys, words) in enumerate(CONFIGURED):
                with self.subTest(kind=kind, keys=keys):
                    path = os.path.join(self.dir, "%s%d.yaml" % (kind, number))
                    with open(path, "w", encoding="utf-8") as out:
                        protocol = "gnmi" if "gnmi" in keys else "snmp"
                        out.write("fabric: f\ndevices:\n  - { name: leaf1, role: leaf, %s: { address: '127.0.0.1:9', credentials: c } }\n%s\n"
                            % (protocol, keys.replace("{}", self.place[kind])))
                    self.refused(["-c", path, *words], "strange-" + kind, told)

    def test_in_a_case(self):
        for kind in KINDS:
            for name in IN_CASE:
                with self.subTest(kind=kind, name=name):
                    case = os.path.join(self.dir, "case-of-" + kind)
                    shutil.copytree(os.path.join(self.dir, "case"), case)
                    os.unlink(os.path.join(case, name))
                    os.symlink(self.place[kind], os.path.join(case, name))
                    self.refused(["replay", "--from", case], name)
                    shutil.rmtree(case)


if __name__ == "__main__":
    unittest.main()
