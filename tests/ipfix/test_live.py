#!/usr/bin/env python3
"""An agent that receives IPFIX on the loopback interface. A switch sends counters of two ports and three queues each 10 ms, as SONiC's
high-frequency telemetry has them on the wire. History has at most one value of each series an interval: the last of a counter, the
greatest of a watermark. What has no meaning, no name or no right to send is counted and told.

usage: test_live.py ROCEWATCH"""
import csv
import io
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from patience import HANG_S, Limit  # noqa: E402
from ports import free_port  # noqa: E402

ROCEWATCH = sys.argv[1]
DEADLINE = 60

CONFIG = """fabric: pod
user: %(user)s
store: { path: %(dir)s/rocewatch.db }
defaults: { interval: 1s }
devices:
  - name: leaf1
    role: leaf
    push:
      address: 127.0.0.1
      objects: ["PORT 1,2=Ethernet0,Ethernet4", "QUEUE 1-2=Ethernet0|3,Ethernet4|3"]
push:
  - { name: hft, ipfix: "127.0.0.1:%(port)d", allow: [127.0.0.1/32], interval: 1s, ring: 2MiB }
"""

# (SAI type, statistic, object), by the numbers of saiport.h and saiqueue.h
# octets, PFC 3 received, its pause in us; packets
PORTS = [(1, 0, 1), (1, 109, 1), (1, 141, 1), (1, 0, 2), (1, 109, 2), (1, 141, 2), (1, 1, 1)]
STORM = 300  # tick: Ethernet4 is paused from here on, Ethernet0 three ticks later
QUEUES = [(21, 0x1B, 1), (21, 0x22, 1), (21, 0x22, 9)]  # watermark, ECN marks; a queue that nobody named


def fail(text):
    raise SystemExit("test_live: " + text)


def ipfix(sequence, sets, domain=0):
    body = b"".join(struct.pack(">HH", i, 4 + len(data)) + data for i, data in sets)
    return struct.pack(">HHIII", 10, 16 + len(body), int(time.time()), sequence, domain) + body


def template(tid, fields):
    data = struct.pack(">HHHH", tid, len(fields) + 1, 325, 8)
    return 2, data + b"".join(struct.pack(">HHI", 0x8000 | o, 8, t << 16 | s) for t, s, o in fields)


class Switch(threading.Thread):
    def __init__(self, port):
        super().__init__(daemon=True)
        self.to = ("127.0.0.1", port)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.stop = threading.Event()
        self.sequence = self.ticks = 0

    def send(self, sets, records):
        self.socket.sendto(ipfix(self.sequence, sets), self.to)
        self.sequence += records

    def run(self):
        self.send([(257, struct.pack(">Q", time.time_ns()) + struct.pack(">3Q", 1, 2, 3))], 1)  # before its template
        while not self.stop.is_set():
            t = self.ticks
            if t % 100 == 0:
                self.send([template(256, PORTS), template(257, QUEUES)], 0)
            now = time.time_ns()
            peak = 900000 if t % 100 == 50 else 1000
            first, second = max(0, t - STORM), max(0, t - STORM - 3)
            self.send([(256, struct.pack(">8Q", now, 1000000 + 50000 * t, 40 * second, 9000 * second, 500 * t, 40 * first, 9000 * first, t)),
                       (257, struct.pack(">4Q", now, peak, t, t))], 2)
            self.ticks += 1
            # a switch that is busy says nothing for a while just after the onset: that is no end of the pause
            self.stop.wait(0.1 if t == STORM + 8 else 0.01)


class Agent:
    def __init__(self, directory):
        self.dir = pathlib.Path(directory)
        self.port = free_port()
        self.config = self.dir / "rocewatch.yaml"
        user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
        self.config.write_text(CONFIG % {"dir": directory, "port": self.port, "user": user})
        self.log = open(self.dir / "agent.log", "wb")
        environment = dict(os.environ, XDG_RUNTIME_DIR=directory)
        self.process = subprocess.Popen([ROCEWATCH, "-c", self.config, "agent"], stdout=self.log, stderr=self.log, env=environment)

    def run(self, *args):
        r = subprocess.run([ROCEWATCH, "-c", self.config, *args], capture_output=True, text=True, timeout=HANG_S)
        return r.stdout

    def sql(self, statement):
        return list(csv.DictReader(io.StringIO(self.run("query", "sql", statement, "--format", "csv"))))

    def wait(self, what, condition):
        limit = Limit(DEADLINE)
        while not limit.over():
            if self.process.poll() is not None:
                fail("the agent ended:\n" + (self.dir / "agent.log").read_text())
            found = condition()
            if found:
                return found
            time.sleep(0.5)
        fail("no %s in %s; the doctor says\n%s\nlog:\n%s" % (what, limit, self.run("doctor"), (self.dir / "agent.log").read_text()))


def series(agent, metric, port, priority):
    where = "device='leaf1' AND port='%s' AND metric='%s'" % (port, metric)
    if priority is not None:
        where += " AND priority=%d" % priority
    return agent.sql("SELECT t_ns, value FROM samples WHERE %s ORDER BY t_ns" % where)


def figures(agent):
    return {r["key"]: float(r["value"]) for r in agent.sql("SELECT key, value FROM health WHERE key LIKE 'push/%'")}


def check(agent, switch):
    octets = agent.wait("octets of 5 intervals", lambda: [r for r in [series(agent, "port.in_octets", "Ethernet0", None)] if len(r) >= 5])[0]
    times = [int(r["t_ns"]) for r in octets]
    if min(b - a for a, b in zip(times, times[1:])) < 500_000_000:
        fail("more than one sample an interval: %s" % times)
    for row in octets:
        if (float(row["value"]) - 1000000) % 50000:
            fail("octets that were not sent: %s" % row)
    pause = series(agent, "pfc.rx_pause_ns", "Ethernet0", 3)
    if not pause or float(pause[-1]["value"]) % 9000000:
        fail("pause time: %s" % pause[-3:])
    peaks = {float(r["value"]) for r in series(agent, "queue.watermark_bytes", "Ethernet0", 3)}
    if 900000 not in peaks or peaks - {900000, 1000}:
        fail("watermarks: %s" % peaks)
    if not series(agent, "queue.ecn_marked", "Ethernet0", 3) or not series(agent, "pfc.rx_frames", "Ethernet4", 3):
        fail("a series is missing")
    agent.wait("figures", lambda: figures(agent).get("push/hft/records", 0) > 100)
    f = figures(agent)
    for key in ("early_sets", "unknown_objects", "unknown:port_if_in_ucast_pkts", "ring_values"):
        if not f.get("push/hft/" + key):
            fail("%s is not told: %s" % (key, f))
    for key in ("lost_records", "bad_datagrams", "clock_off", "kernel_drops", "impossible_values"):
        if f.get("push/hft/" + key):
            fail("%s of what was sent whole: %s" % (key, f))


def burst(agent):
    """the incident about the pause, with what was kept of it"""
    for row in agent.sql("SELECT DISTINCT incident_id FROM bursts"):
        document = json.loads(agent.run("incident", "burst", row["incident_id"], "--format", "json") or "{}")
        if document.get("bursts") and all(b["whole"] for b in document["bursts"]):
            return document
    return None


def check_burst(agent):
    document = agent.wait("burst of an incident", lambda: burst(agent))
    began = [r for r in document["onset"] if r["statistic"] == "SAI_PORT_STAT_PFC_3_RX_PKTS"]
    if [r["object"] for r in began] != ["Ethernet4", "Ethernet0"]:
        fail("who began: %s" % document)
    seconds = [float(r["t"][17:].rstrip("Z")) for r in began]
    if not 0.02 < (seconds[1] - seconds[0]) % 60 < 0.5:  # three ticks of 10 ms
        fail("how much later: %s" % began)
    incident = document["incident"]
    values = list(csv.DictReader(io.StringIO(agent.run("incident", "burst", incident, "--values"))))
    octets = [r for r in values if r["object"] == "Ethernet0" and r["statistic"] == "SAI_PORT_STAT_IF_IN_OCTETS"]
    steps = {int(b["value"]) - int(a["value"]) for a, b in zip(octets, octets[1:])}
    if len(octets) < 100 or steps != {50000}:
        fail("single values: %d, steps %s" % (len(octets), sorted(steps)[:10]))
    if "burst " + incident not in agent.run("incident", "timeline", incident):
        fail("the timeline does not say it: %s" % agent.run("incident", "timeline", incident))
    return len(values)


def main():
    with tempfile.TemporaryDirectory() as directory:
        agent = Agent(directory)
        switch = None
        try:
            agent.wait("listener", lambda: "ipfix: starting -> up" in (agent.dir / "agent.log").read_text())
            switch = Switch(agent.port)
            switch.start()
            stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            stranger.bind(("127.0.0.2", 0))
            for i in range(5):
                stranger.sendto(ipfix(i, [template(256, PORTS)]), ("127.0.0.1", agent.port))
            check(agent, switch)
            refused = 'rocewatch_refused_total{receiver="hft",reason="not_allowed",sender="127.0.0.2"} 5'
            agent.wait("word about the stranger", lambda: figures(agent).get("push/hft/refused:not_allowed:127.0.0.2") == 5)
            agent.wait("the same in metrics", lambda: refused in agent.run("metrics"))
            kept = check_burst(agent)
            print("%d ticks, %d values kept" % (switch.ticks, kept))
        finally:
            if switch:
                switch.stop.set()
            agent.process.terminate()
            try:
                agent.process.wait(HANG_S)
            except subprocess.TimeoutExpired:
                agent.process.kill()


main()
