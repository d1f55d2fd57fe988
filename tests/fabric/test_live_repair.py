#!/usr/bin/env python3
"""test_live_repair.py BUILD - four faults that are repaired while an agent watches: a storm, a slow receiver, ECN late, an uneven group. The repair may not
rewrite the incident: its cause, its onset and its lines stay, what it was at its worst does not become less, and nothing else opens. Debian's Alertmanager
hears of each once: it begins, it ends, under one name and severity. The labs run side by side and share the Alertmanager."""
import http.server, json, os, shutil, subprocess, sys, threading, urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from live_lab import SKIP, Live, check, main, shipped, wait_for
from ports import free_port

CASES = [("pfc-storm", "nxos", 10), ("slow-receiver", "nxos", 9), ("ecn-late", "eos", 1), ("ecmp-stuck", "nxos", 4)]
BROKEN_S = 20  # of data, from the first notification to the repair


class Notified:
    """What the Alertmanager says to the people on duty: one group of alerts for each incident."""

    def __init__(self):
        said = self.said = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                said.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def of(self, incident):
        return [d for d in list(self.said) if d["groupLabels"]["incident"] == incident]

    def states(self, incident):
        """begin and end of the group, repetitions left out."""
        ret = []
        for d in self.of(incident):
            if not ret or ret[-1] != d["status"]:
                ret.append(d["status"])
        return ret

    def names(self, incident):
        return sorted({"%(alertname)s, %(severity)s" % a["labels"] for d in self.of(incident) for a in d["alerts"]})


def alertmanager(work, port, notified):
    config = os.path.join(work, "alertmanager.yaml")
    with open(config, "w") as f:
        f.write("""
route: { receiver: sink, group_by: [incident], group_wait: 1s, group_interval: 1s, repeat_interval: 1h }
receivers:
  - { name: sink, webhook_configs: [ { url: "http://127.0.0.1:%d/", send_resolved: true } ] }
""" % notified.port)
    with open(config + ".log", "w") as out:
        process = subprocess.Popen(["prometheus-alertmanager", "--config.file", config, "--storage.path", os.path.join(work, "am"), "--cluster.listen-address=",
                                    "--web.listen-address", "127.0.0.1:%d" % port], stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def serves():
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open("http://127.0.0.1:%d/api/v2/alerts" % port, timeout=10):
                return True
        except OSError:
            return False
    wait_for("Alertmanager serves", serves, 60)
    return process


def top(lab):
    """What people were told of: not for information, and no part of another."""
    return [i for i in lab.incidents() if i["severity"] != "info" and not i["parent"]]


def shown(lab, incident):
    return json.loads(lab.rocewatch("incident", "show", incident, "--format", "json"))


def named(lab):
    accept = lab.truth()["accept"]
    return next((i["id"] for i in top(lab) if i["cause"] in accept), None)


def lines(incident):
    return [(line["t"], line["text"]) for line in incident["timeline"]]


def judged(lab, before, notified):
    """Every difference that the repair made, as sentences."""
    after, wrong = shown(lab, before["id"]), []
    for key in ("cause", "first", "opened", "subject"):
        if after[key] != before[key]:
            wrong.append("%s was %s, is %s" % (key, before[key], after[key]))
    if after["value"] < before["value"] or after["severity"] != before["severity"]:
        wrong.append("its worst was %s %g, is %s %g" % (before["severity"], before["value"], after["severity"], after["value"]))
    if lines(after)[:len(lines(before))] != lines(before):
        wrong.append("its timeline was rewritten: %s, was %s" % (lines(after), lines(before)))
    # On a machine that has no time for the polls the switches are silent indeed: the log says so.
    with open(lab.dir + ".agent.log") as f:
        overloaded = "its deadline of" in f.read()
    # A poll that is late brings a window half of which lies before the repair: then the incident may come back once more while it clears.
    later = [text for _, text in lines(after)[len(lines(before)):] if text.startswith(("cause:", "severity:", "open"))
             and not (overloaded and text == "open: it is back")]
    if later:
        wrong.append("after the repair: %s" % later)
    others = [(i["id"], i["cause"], i["opened"]) for i in top(lab)
              if i["id"] != before["id"] and not (overloaded and i["cause"] == "telemetry_gap")]
    if others:
        wrong.append("other incidents: %s" % others)
    states, names = notified.states(before["id"]), notified.names(before["id"])
    if states != ["firing", "resolved"] or len(names) != 1:
        wrong.append("Alertmanager said %s of %s" % (states, names))
    print("%-14s %-14s %s, %d lines, as %s" % (lab.scenario, after["cause"], after["headline"], len(lines(after)), "".join(names)), flush=True)
    return ["%s: %s" % (lab.scenario, w) for w in wrong]


def run(labs, notified):
    ids = {lab: wait_for("%s is named" % lab.scenario, lambda lab=lab: named(lab), 120, 1) for lab in labs}
    for lab, incident in ids.items():
        wait_for("Alertmanager tells of %s" % lab.scenario, lambda: notified.of(incident), 60, 1)
    since = {lab: lab.newest() for lab in labs}
    for lab in labs:
        wait_for("%s goes on" % lab.scenario, lambda: lab.newest() - since[lab] >= BROKEN_S * 1e9, 120, 1)
    before = {lab: shown(lab, ids[lab]) for lab in labs}
    for lab in labs:
        lab.lab("set", "fault=off")
    for lab in labs:
        wait_for("%s ends" % lab.scenario, lambda: shown(lab, ids[lab])["state"] == "closed", 240, 2)
        wait_for("Alertmanager tells of the end of %s" % lab.scenario, lambda: "resolved" in notified.states(ids[lab]), 60, 1)
    return [wrong for lab in labs for wrong in judged(lab, before[lab], notified)]


def test(build, work):
    if not shutil.which("prometheus-alertmanager"):
        print("prometheus-alertmanager is not installed: not run")
        sys.exit(SKIP)
    notified, port = Notified(), free_port()
    # as they are shipped: it is about what is told, and two cores serve and watch four fabrics
    labs = [Live(os.path.dirname(shipped(build)), os.path.join(work, s), s, face=f, at="10s", seed=n) for s, f, n in CASES]
    process = alertmanager(work, port, notified)
    try:
        for lab in labs:
            lab.start()
        for lab in labs:
            lab.served()
            lab.unhurried()
            with open(lab.config, "a") as f:
                f.write("alerts: { alertmanager: { url: \"http://127.0.0.1:%d\", resend: 3s } }\n" % port)
            lab.agent()
        wrong = run(labs, notified)
    finally:
        Live.stop(labs)
        process.kill()
        process.wait()
    check(not wrong, "\n".join(wrong))
    return "%d faults, %d notifications" % (len(labs), len(notified.said))


main(test)
