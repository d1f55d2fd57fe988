#!/usr/bin/env python3
"""test_truth - what the commands say when the configuration file is broken, and of data whose agent has
stopped, from outside.

usage: test_truth.py BUILD
"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG_S  # noqa: E402
from shipped import shipped  # noqa: E402

BUILD = os.path.abspath(sys.argv.pop(1))
ROCEWATCH = os.path.join(BUILD, "rocewatch")
# each reading command, and the exit codes it may have (doctor: 1 when something is to be done)
READING = (
    (("status",), (0,)), (("doctor",), (0, 1)), (("watch", "--once"), (0,)),
    (("incident", "list"), (0,)), (("blame", "node-010"), (0,)), (("pause", "tree"), (0,)),
    (("pause", "ports"), (0,)), (("ecmp",), (0,)), (("steps",), (0,)),
    (("query", "port.out_octets", "--device", "leaf1"), (0,)),
    (("query", "sql", "SELECT count(*) FROM events"), (0,)),
    (("report", "spine-imbalance"), (0,)), (("tune", "list"), (0,)), (("metrics",), (0,)),
    (("db", "stat"), (0,)),
)


def run(*words, env=None):
    return subprocess.run([ROCEWATCH, *words], capture_output=True, text=True, timeout=HANG_S, env=env,
        check=False)


class Truth(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="rw-truth-")
        case = os.path.join(cls.dir, "case")
        lab = subprocess.run([os.path.join(BUILD, "rocewatch-lab"), "record", "--begin", "1970-01-01T00:00:00Z", "pfc-storm", "--out",
            case, "--for", "7m"], capture_output=True, text=True, check=False)
        assert lab.returncode == 0, lab.stderr
        cls.db = os.path.join(cls.dir, "replay.db")
        replay = subprocess.run([shipped(BUILD), "replay", "--from", case, "--db", cls.db], capture_output=True, text=True, check=False)
        assert replay.returncode == 0, replay.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def config(self, text):
        path = os.path.join(self.dir, "rocewatch.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_every_reading_command_lives_on(self):
        path = self.config(f"fabric: x\nstore: {{ path: {self.db} }}\n"
                           "capture: [ { name: m, interface: lo } ]\n"
                           "defaults: { intervall: 10s }\n")
        for words, codes in READING:
            with self.subTest(command=words):
                got = run(*words, "-c", path)
                self.assertIn(got.returncode, codes, got.stderr)
                self.assertTrue(got.stdout)
                lines = got.stderr.splitlines()
                self.assertEqual(len(lines), 1, got.stderr)
                self.assertTrue(lines[0].startswith(f"{path}:4:13: unknown key 'intervall'"), lines)
                if words[0] != "db":
                    self.assertIn("; using the configuration in force", lines[0])
                quiet = run(*words, "-c", path, "-q")
                self.assertEqual(quiet.stderr, "")
        # the environment names it as well as -c
        named = run("status", env=dict(os.environ, ROCEWATCH_CONFIG=path))
        self.assertEqual((named.returncode, len(named.stderr.splitlines())), (0, 1))

    def test_a_file_that_is_no_yaml_says_where_the_store_is(self):
        path = self.config(f"fabric: x\ndevices: [\nstore:\n  path: {self.db}\n")
        got = run("status", "-c", path)
        self.assertEqual(got.returncode, 0, got.stderr)
        self.assertIn("up 8", got.stdout)

    def test_what_judges_or_changes_a_file_stays_strict(self):
        path = self.config(f"fabrik: x\nstore: {{ path: {self.db} }}\n")
        self.assertEqual(run("config", "check", "-c", path).returncode, 2)
        self.assertEqual(run("agent", "-c", path).returncode, 2)
        check = run("report", "spine-imbalance", "--check", "-c", path)
        self.assertEqual(check.returncode, 3)
        self.assertIn("ECMP UNKNOWN", check.stdout)
        self.assertIn("unknown key 'fabrik'", check.stdout)

    def test_without_a_database_the_mistake_is_the_error(self):
        path = self.config("fabrik: x\nstore: { path: /nonexistent/rw.db }\n")
        got = run("status", "-c", path)
        self.assertEqual(got.returncode, 2)
        self.assertIn(f"{path}:1:1: unknown key 'fabrik'", got.stderr)

    def as_left_by_an_agent(self):
        """The same data in a file that an agent wrote, which is long gone."""
        path = os.path.join(self.dir, "left.db")
        shutil.copy(self.db, path)
        with sqlite3.connect(path) as db:
            db.execute("DELETE FROM meta WHERE key = 'recorded'")
            db.execute("INSERT INTO health VALUES('process/rss_bytes', 1e7, 'bytes', 900000000000)")
        db.close()
        return path

    def test_a_check_of_old_data_is_never_ok(self):
        fresh = run("report", "spine-imbalance", "--check", "--db", self.db)
        self.assertEqual(fresh.returncode, 0, fresh.stdout)  # a replay is the past by design
        left = self.as_left_by_an_agent()
        stale = run("report", "spine-imbalance", "--check", "--db", left)
        self.assertEqual(stale.returncode, 3, stale.stdout)
        self.assertIn("ECMP UNKNOWN - no agent writes", stale.stdout.splitlines()[0])
        document = json.loads(run("report", "spine-imbalance", "--check", "--db", left, "--format",
            "json").stdout)
        self.assertEqual((document["check"]["state"], document["check"]["exit_code"]),
            ("UNKNOWN", 3))

    def test_a_dead_agent_is_not_healthy(self):
        left = self.as_left_by_an_agent()
        for document in ("status", "watch"):
            words = (document, "--once") if document == "watch" else (document,)
            got = json.loads(run(*words, "--db", left, "--format", "json").stdout)
            self.assertEqual(got["agent"]["state"], "stopped")
            self.assertTrue(got["agent"]["stale"])
            self.assertGreater(got["agent"]["data_age_s"], 1e9)
            self.assertFalse(got["time"].startswith("1970"))
            self.assertEqual(got["data_quality"]["up"], 0)
        self.assertEqual(got["state"], "unknown")
        self.assertIn("NO AGENT RUNNING", run("status", "--db", left).stdout)
        # what is recorded is found all the same
        self.assertIn("1970-01-01 00:0", run("query", "port.out_octets", "--device", "leaf1", "--db",
            left).stdout)
        self.assertTrue(json.loads(run("ecmp", "--db", left, "--format", "json").stdout)["groups"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
