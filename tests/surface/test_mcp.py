#!/usr/bin/env python3
"""test_mcp - whole sessions with `rocewatch mcp` on a copied database, as a client has them: both kinds
of revisions, each tool against the command's own document, errors a model can mend, foreign bytes, and
that nothing is ever written.

usage: test_mcp.py BUILD
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from shipped import shipped  # noqa: E402

BUILD = os.path.abspath(sys.argv.pop(1))
ROCEWATCH = os.path.join(BUILD, "rocewatch")
DEADLINE_S = 60
EARLY = "1970-01-01T00:02:00Z"  # recorded cases begin with 1970; this one is well until 00:04
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def run(*words):
    return subprocess.run([ROCEWATCH, *words], capture_output=True, text=True, timeout=DEADLINE_S,
        check=False)


class Session:
    """`rocewatch mcp` as a child; call() waits for the reply with the same id."""

    def __init__(self, *words):
        self.child = subprocess.Popen([ROCEWATCH, "mcp", *words], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.id = 0

    def send(self, data):
        self.child.stdin.write(data)
        self.child.stdin.flush()

    def reply(self):
        line = self.child.stdout.readline()
        assert line.endswith(b"\n"), (line, self.child.poll(), self.child.stderr.read())
        return json.loads(line)

    def ask(self, method, params=None):
        self.id += 1
        message = {"jsonrpc": "2.0", "id": self.id, "method": method}
        if params is not None:
            message["params"] = params
        self.send(json.dumps(message).encode() + b"\n")
        reply = self.reply()
        assert reply["id"] == self.id and reply["jsonrpc"] == "2.0", reply
        return reply

    def tool(self, name, /, **arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments})["result"]

    def begin(self, version="2025-06-18"):
        result = self.ask("initialize", {"protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}})["result"]
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return result

    def end(self):
        out, err = self.child.communicate(timeout=DEADLINE_S)
        return self.child.returncode, out, err


class Mcp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="rw-mcp-")
        made = os.path.join(cls.dir, "made.db")
        case = os.path.join(cls.dir, "case")
        lab = subprocess.run([os.path.join(BUILD, "rocewatch-lab"), "record", "--begin", "1970-01-01T00:00:00Z", "pfc-storm", "--out",
            case, "--for", "8m"], capture_output=True, text=True, check=False)
        assert lab.returncode == 0, lab.stderr
        replay = subprocess.run([shipped(BUILD), "replay", "--from", case, "--db", made], capture_output=True, text=True, check=False)
        assert replay.returncode == 0, replay.stderr
        cls.db = os.path.join(cls.dir, "copy.db")
        shutil.copy(made, cls.db)
        os.chmod(cls.db, 0o444)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def session(self, *words):
        session = Session(*(words or ("--db", self.db)))
        self.addCleanup(session.child.stdin.close)
        self.addCleanup(session.child.stderr.close)
        self.addCleanup(session.child.stdout.close)
        self.addCleanup(session.child.wait)
        self.addCleanup(session.child.kill)
        return session

    def test_each_revision_of_initialize(self):
        for asked, agreed in (("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"),
                              ("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2099-01-01", "2025-11-25")):
            with self.subTest(asked=asked):
                session = self.session()
                result = session.begin(asked)
                self.assertEqual(result["protocolVersion"], agreed)
                self.assertEqual(result["serverInfo"]["name"], "rocewatch")
                self.assertIn("tools", result["capabilities"])
                self.assertEqual(session.ask("ping")["result"], {})
                answer = session.tool("status")
                self.assertEqual("structuredContent" in answer, agreed > "2025-06")
                self.assertEqual({"outputSchema" in t for t in session.ask("tools/list")["result"]["tools"]}, {agreed > "2025-06"})
                session.child.stdin.close()
                self.assertEqual(session.child.wait(DEADLINE_S), 0)

    def test_batches_of_the_revision_that_has_them(self):
        batch = (b'[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"notifications/cancelled"},7,'
                 b'{"jsonrpc":"2.0","id":"b","method":"tools/drop"}]\n')
        session = self.session()
        session.begin("2025-03-26")
        session.send(batch)
        ping, bad, drop = session.reply()
        self.assertEqual((ping["id"], ping["result"]), ("a", {}))
        self.assertEqual((bad["id"], bad["error"]["code"]), (None, -32600))
        self.assertEqual((drop["id"], drop["error"]["code"]), ("b", -32601))
        session.send(b'[{"jsonrpc":"2.0","method":"notifications/cancelled"}]\n')  # no reply is due
        self.assertEqual(session.ask("ping")["result"], {})
        session.send(b"[]\n")
        self.assertEqual(session.reply()["error"]["code"], -32600)
        other = self.session()
        other.begin("2025-06-18")
        other.send(batch)
        self.assertEqual(other.reply()["error"]["code"], -32600)

    def test_a_document_has_a_bound(self):
        """All samples of all ports are no context for a model: the advice is, and a longer one only where it is asked for."""
        session = self.session()
        session.begin()
        every = {"metric": "port.in_octets", "since": "1970-01-01T00:00:00Z", "until": "1970-01-01T00:08:00Z"}
        answer = session.tool("query", **every)
        self.assertTrue(answer["isError"])
        self.assertIn("more than 96; ask for a shorter time range", answer["content"][0]["text"])
        self.assertLess(len(json.dumps(answer)), 1000)
        longer = session.tool("query", max_kib=1024, **every)
        self.assertFalse(longer["isError"], longer["content"][0]["text"][:200])
        self.assertGreater(len(longer["content"][0]["text"]), 96 << 10)
        self.assertFalse(session.tool("query", step="4m", agg="mean", **every)["isError"])
        for wrong in (0, 1025, "x", True):
            self.assertIn("max_kib is a whole number", session.tool("status", max_kib=wrong)["content"][0]["text"])

    def test_a_request_that_names_its_revision(self):
        session = self.session()
        found = session.ask("server/discover", {"_meta": MODERN})["result"]
        self.assertEqual(found["resultType"], "complete")
        self.assertEqual(found["supportedVersions"][0], "2026-07-28")
        self.assertEqual(found["cacheScope"], "public")
        self.assertEqual(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "rocewatch")
        tools = session.ask("tools/list", {"_meta": MODERN})["result"]
        self.assertIn("ttlMs", tools)
        called = session.ask("tools/call", {"name": "status", "_meta": MODERN})["result"]
        self.assertEqual(called["resultType"], "complete")
        self.assertFalse(called["isError"])
        # what went away with that revision, another revision, half of the metadata, none of it
        self.assertEqual(session.ask("ping", {"_meta": MODERN})["error"]["code"], -32601)
        other = dict(MODERN, **{"io.modelcontextprotocol/protocolVersion": "1900-01-01"})
        error = session.ask("tools/list", {"_meta": other})["error"]
        self.assertEqual(error["code"], -32022)
        self.assertIn("2026-07-28", error["data"]["supported"])
        self.assertEqual(error["data"]["requested"], "1900-01-01")
        half = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        self.assertEqual(session.ask("tools/list", {"_meta": half})["error"]["code"], -32602)
        self.assertEqual(session.ask("tools/list")["error"]["code"], -32602)

    def test_tools_are_the_documents(self):
        """The same JSON as the command prints."""
        session = self.session()
        session.begin()
        tools = {t["name"]: t for t in session.ask("tools/list")["result"]["tools"]}
        for name in ("watch", "status", "doctor", "incidents", "incident_show", "pause_tree", "blame"):
            self.assertIn(name, tools)
        for tool in tools.values():
            self.assertTrue(tool["annotations"]["readOnlyHint"])
            self.assertTrue(tool["description"])
            schema = tool["inputSchema"]
            self.assertEqual(schema["type"], "object")
            self.assertFalse(schema["additionalProperties"])
            for argument in ("since", "until", "around"):
                self.assertIn(argument, schema["properties"])
        self.assertEqual(tools["incident_show"]["inputSchema"]["required"], ["id"])
        self.assertEqual(tools["incidents"]["inputSchema"]["properties"]["all"]["type"], "boolean")

        incidents = session.tool("incidents")["structuredContent"]["incidents"]
        self.assertTrue(incidents)
        rows = (("status", {}, ("status",)),
                ("incidents", {"all": True}, ("incident", "list", "--all")),
                ("incident_show", {"id": incidents[0]["id"]}, ("incident", "show", incidents[0]["id"])),
                ("pause_tree", {}, ("pause", "tree")))
        for name, arguments, words in rows:
            with self.subTest(tool=name):
                answer = session.tool(name, **arguments)
                self.assertFalse(answer["isError"], answer)
                printed = run(*words, "--db", self.db, "--format", "json")
                self.assertEqual(answer["structuredContent"], json.loads(printed.stdout))
                self.assertEqual(json.loads(answer["content"][0]["text"]), answer["structuredContent"])
        # as it was: before the storm nothing was open
        self.assertTrue(session.tool("status")["structuredContent"]["incidents"])
        early = session.tool("status", until=EARLY)["structuredContent"]
        self.assertEqual((early["incidents"], early["agent"]["past"]), ([], True))

    def test_each_answer_is_of_its_schema(self):
        """... by jsonschema, and by the official SDK where that is installed."""
        session = self.session()
        session.begin()
        one = {"id": session.tool("incidents")["structuredContent"]["incidents"][0]["id"]}
        given = {"incident_show": one, "incident_timeline": one, "blame": {"name": "leaf1:Ethernet1"}, "query": {"metric": "port.in_octets", "max_kib": 1024},
                 "tune_show": None, "xray_learn": None, "xray_predict": None, "xray_prescribe": None}  # no sheet, no flows are in this case
        tools = session.ask("tools/list")["result"]["tools"]
        for tool in tools:
            arguments = given.get(tool["name"], {})
            jsonschema.Draft202012Validator.check_schema(tool["outputSchema"])
            answer = session.tool(tool["name"], **(arguments or {}))
            self.assertEqual(answer["isError"], arguments is None, answer["content"][0]["text"][:300] if answer["isError"] else "")
            if arguments is not None:
                jsonschema.validate(answer["structuredContent"], tool["outputSchema"])
        python = os.environ.get("RW_MCP_PYTHON", sys.executable)
        if subprocess.run([python, "-c", "import mcp"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no official SDK: python3 -m venv DIR && DIR/bin/pip install mcp, then RW_MCP_PYTHON=DIR/bin/python")
        sdk = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mcp_sdk.py")
        called = subprocess.run([python, sdk, ROCEWATCH, self.db, json.dumps({name: one or {} for name, one in given.items()})], capture_output=True, text=True, check=False)
        self.assertEqual(called.returncode, 0, called.stderr)
        self.assertEqual(json.loads(called.stdout), [tool["name"] for tool in tools if given.get(tool["name"], {}) is not None])

    def test_what_a_model_can_mend_is_a_result(self):
        session = self.session()
        session.begin()
        for name, arguments, says in (
                ("incident_show", {}, "'id' is missing"),
                ("incident_show", {"id": "zzzzzzzz"}, "no incident"),
                ("incidents", {"sevrity": "critical"}, "did you mean 'severity'"),
                ("status", {"since": "yesterday"}, "is not a time"),
                ("status", {"since": {"a": 1}}, "expected a text, a number or true"),
                ("pause_tree", {"priority": 9}, "0 to 7")):
            with self.subTest(tool=name, arguments=arguments):
                answer = session.tool(name, **arguments)
                self.assertTrue(answer["isError"])
                self.assertIn(says, answer["content"][0]["text"])
        error = session.ask("tools/call", {"name": "rm", "arguments": {}})["error"]
        self.assertEqual(error["code"], -32602)
        self.assertEqual(session.ask("tools/drop")["error"]["code"], -32601)
        self.assertEqual(session.ask("resources/list")["result"], {"resources": []})

    def test_foreign_bytes(self):
        session = self.session()
        session.begin()
        for line, code in ((b"nonsense\n", -32700), (b"\xff\xfe\n", -32700),
                           (b'{"a":1,"a":2}\n', -32700), (b"[]\n", -32600), (b"1\n", -32700),
                           (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600),
                           (b'{"jsonrpc":"1.0","id":5,"method":"ping"}\n', -32600),
                           (b"[" * 100000 + b"\n", -32700),
                           (b"x" * (3 << 20) + b"\n", -32600)):
            session.send(line)
            self.assertEqual(session.reply()["error"]["code"], code, line[:60])
        # neither blank lines nor replies nor notifications are answered; a message may come in parts
        session.send(b'\n \r\n{"jsonrpc":"2.0","id":9,"result":{}}\n')
        session.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}\n')
        session.send(b'{"jsonrpc":"2.0","id":"ab","met')
        session.send(b'hod":"ping"}\n{"jsonrpc":"2.0","id":10,"method":"ping"}\n')
        self.assertEqual(session.reply()["id"], "ab")
        self.assertEqual(session.reply()["id"], 10)
        # the last message may lack its newline; then the end of the input ends the server
        session.send(b'{"jsonrpc":"2.0","id":11,"method":"ping"}')
        code, out, _ = session.end()
        self.assertEqual((code, json.loads(out)["id"]), (0, 11))

    def test_nothing_is_written(self):
        before = os.stat(self.db)
        with open(self.db, "rb") as file:
            content = file.read()
        session = self.session()
        session.begin()
        for tool in session.ask("tools/list")["result"]["tools"]:
            session.tool(tool["name"])
        session.child.stdin.close()
        self.assertEqual(session.child.wait(DEADLINE_S), 0)
        with open(self.db, "rb") as file:
            self.assertEqual(file.read(), content)
        self.assertEqual(os.stat(self.db).st_mtime_ns, before.st_mtime_ns)

    def test_a_wrong_start_is_told(self):
        refused = run("mcp", "-c", os.path.join(self.dir, "nothing.yaml"))
        self.assertEqual(refused.returncode, 2)
        self.assertIn("there is no such configuration file", refused.stderr)
        self.assertEqual(run("mcp", "extra", "--db", self.db).returncode, 2)
        # no database yet: the session goes on, and each call says so
        session = self.session("--db", os.path.join(self.dir, "later.db"))
        session.begin()
        answer = session.tool("status")
        self.assertTrue(answer["isError"])
        self.assertIn("later.db", answer["content"][0]["text"])
        shutil.copy(self.db, os.path.join(self.dir, "later.db"))
        self.assertFalse(session.tool("status")["isError"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
