#!/usr/bin/env python3
"""test_kinds - files of a strange kind inside a recorded case: each ends soon, in little memory, with an error that names the file. Paths that a command or the
configuration takes: tests/hostile/files.py.

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
KINDS = ("pipe", "socket", "loop", "endless", "folder")
MEMORY = 64 << 20
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
        done = subprocess.run([ROCEWATCH, "lab", "record", "healthy", "--out", os.path.join(cls.dir, "case")], capture_output=True, text=True,
            timeout=HANG_S, check=False)
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def refused(self, words, named):
        environment = {key: value for key, value in os.environ.items() if key != "ROCEWATCH_CONFIG"}
        done = subprocess.run([ROCEWATCH, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S, env=environment,
            preexec_fn=little_memory, cwd=self.dir, check=False)
        self.assertIn(done.returncode, (1, 2, 3), "%s: exit %d: %s" % (" ".join(words), done.returncode, done.stderr))
        self.assertIn(named, done.stderr + done.stdout, " ".join(words))

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
