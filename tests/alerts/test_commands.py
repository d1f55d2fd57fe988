#!/usr/bin/env python3
"""test_commands.py ROCEWATCH CASE - 'silence', 'event' and 'alert' on a database that no agent writes: what they write is read back on every surface, and
wrong words are usage errors that write nothing."""
import json, os, subprocess, sys, tempfile

program, case = sys.argv[1:]


def run(*words, code=0, env=None):
    p = subprocess.run([program, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
    assert p.returncode == code, "%s: exit %d, expected %d: %s%s" % (" ".join(words), p.returncode, code, p.stdout, p.stderr)
    return p.stdout + p.stderr if code else p.stdout


def test(work):
    db = os.path.join(work, "x.db")
    run("replay", "--from", case, "--db", db, "--format", "json")

    def ask(*words, code=0):
        return run("--db", db, *words, code=code)

    def document(*words):
        return json.loads(ask(*words, "--format", "json"))

    incidents = document("incident", "list", "--all")["incidents"]
    assert incidents and all(i["silenced"] is None for i in incidents), incidents

    # wrong words: exit 2, a sentence that says what to do, and nothing is written
    for words, said in (((), "add --for"), (("--for", "2h", "--device", "a"), "--why"), (("--for", "2h", "--why", "x"), "give --device"), (("--device", "a", "--for", "2", "--why", "x"), "--for: "),
                        (("--device", "a", "--for", "2h", "--why", "x", "--from", "2001-01-01"), "ended already"), (("--device", "a\nb", "--for", "2h", "--why", "x"), "one line")):
        assert said in ask("silence", "add", *words, code=2), (words, said)
    assert document("silence", "list", "--all")["silences"] == []
    assert "add --text" in ask("event", "add", code=2)
    assert "needs its device" in ask("event", "add", "--text", "x", "--port", "e1", code=2)
    assert "future" in ask("event", "add", "--text", "x", "--at", "2190-01-01", code=2)

    # a silence now does not count for a recording of the past, which is judged as of its end; one of that time does
    ask("silence", "add", "--cause", "*", "--for", "2h", "--why", "now")
    open_ones = [i for i in document("incident", "list", "--all")["incidents"] if i["state"] != "closed"]
    assert all(i["silenced"] is None for i in open_ones)
    listed = document("silence", "list", "--all")["silences"]
    assert [s["why"] for s in listed] == ["now"] and listed[0]["by"] and listed[0]["cause"] == "*" and listed[0]["device"] is None, listed
    table = ask("silence", "list", "--all")
    assert listed[0]["id"] in table and "now" in table, table

    # ended early, by whom
    ask("silence", "expire", listed[0]["id"].upper())
    ended = document("silence", "list", "--all")["silences"][0]
    assert ended["ended_by"] and ended["until"] < listed[0]["until"], ended
    assert "has ended already" in ask("silence", "expire", ended["id"], code=1)
    assert "no silence" in ask("silence", "expire", "aaaaaaaa", code=1)

    # events: from the wall's time range, with who
    ask("event", "add", "--text", "new firmware 'x'", "--device", "leaf1", "--ticket", "NET-1", "--at", "1970-01-01T00:10:00Z")
    events = document("event", "list", "--kind", "change", "--since", "1970-01-01T00:00:00Z", "--until", "1970-01-01T01:00:00Z")["events"]
    assert len(events) == 1 and events[0]["text"] == "NET-1: new firmware 'x'" and events[0]["device"] == "leaf1" and events[0]["who"], events
    assert document("event", "list", "--kind", "it's", "--since", "1970-01-01T00:00:00Z")["events"] == []
    kinds = {e["kind"] for e in document("event", "list", "--since", "1d")["events"]} | {e["kind"] for e in json.loads(
        ask("event", "list", "--since", "1970-01-01T00:00:00Z", "--until", "2100-01-01", "--format", "json"))["events"]}
    assert {"silence_added", "silence_expired", "change"} <= kinds, kinds

    # receivers: none is configured here, and that is said
    assert "no receiver" in ask("alert", "list")
    assert "docs/alerts.md" in ask("alert", "test", code=1)
    assert document("alert", "list") == {"receivers": [], "alerts": []}


with tempfile.TemporaryDirectory() as work:
    test(work)
print("passed")
