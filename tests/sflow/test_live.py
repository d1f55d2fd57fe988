#!/usr/bin/env python3
"""An agent that receives sFlow on the loopback interface. A leaf that nothing but sFlow watches sends samples and counters: its uplinks
carry uneven load because flows collide on one of them. The incident names these flows, the rows are in history, a sender that is not
allowed is counted and not read, and a flood neither stops the agent nor goes uncounted.

usage: test_live.py ROCEWATCH"""
import csv
import io
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from patience import HANG_S, Limit  # noqa: E402
from ports import free_port  # noqa: E402

import sflow as S

ROCEWATCH = sys.argv[1]
CAUSES = {"ecmp_low_entropy", "unlucky_placement", "ecmp_imbalance"}
SPEED = 1_000_000_000
SAMPLING = 64
PACKET = S.roce(payload=1024)
UPLINKS = {49: "Ethernet49", 50: "Ethernet50"}
DEADLINE = 60

CONFIG = """fabric: pod
user: %(user)s
store: { path: %(dir)s/rocewatch.db }
defaults: { interval: 1s }
devices:
  - name: leaf1
    role: leaf
    sflow: { agent: 192.0.2.11, counters: true, ports: ["1=Ethernet1", "49=Ethernet49", "50=Ethernet50"] }
  - { name: spine1, role: spine, sflow: { agent: 192.0.2.21 } }
  - { name: spine2, role: spine, sflow: { agent: 192.0.2.22 } }
links:
  - { a: "leaf1:Ethernet49", b: "spine1:Ethernet1", speed: 1G }
  - { a: "leaf1:Ethernet50", b: "spine2:Ethernet1", speed: 1G }
capture:
  - { name: samples, listen: "127.0.0.1:%(port)d", allow: [127.0.0.1/32], interval: 1s }
analyzers:
  ecmp_imbalance: { window: 5s, hold: 2 }
"""


def fail(text):
    raise SystemExit("test_live: " + text)


class Leaf(threading.Thread):
    """The switch: eight flows, of which seven collide on Ethernet49."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.to = ("127.0.0.1", port)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.stop = threading.Event()
        self.flows = [(50000 + i, 0x100 + i, 49 if i < 7 else 50) for i in range(8)]
        self.colliding = {sport for sport, _, uplink in self.flows if uplink == 49}
        self.began = time.monotonic()
        self.sequence = self.samples = self.counters = 0

    def datagram(self, samples):
        self.sequence += 1
        data = S.datagram(self.sequence, samples, agent="192.0.2.11", uptime_ms=int(1000 * (time.monotonic() - self.began)))
        self.socket.sendto(data, self.to)

    def counter_samples(self, octets):
        items = []
        for ifindex in UPLINKS:
            self.counters += 1
            items.append(S.counters(self.counters, ifindex, [S.interface_counters(ifindex, out_octets=octets[ifindex], speed=SPEED)]))
        return items

    def run(self):
        rng = random.Random(7)
        octets, pool, drops, last, step = {49: 0, 50: 0}, 0, 0, 0, 0
        while not self.stop.is_set():
            now = time.monotonic() - self.began
            # 70 Mbyte/s on the one, 10 on the other, in packets of the flows
            packets = int(80e6 * (now - last) / len(PACKET))
            last = now
            for ifindex in octets:
                octets[ifindex] += packets * len(PACKET) * (7 if ifindex == 49 else 1) // 8
            samples = []
            for _ in range(packets // SAMPLING):
                sport, qp, uplink = rng.choice(self.flows)
                self.samples += 1
                pool += SAMPLING
                frame = S.roce("10.0.0.1", "10.0.1.%d" % (qp & 15), qp=qp, sport=sport, psn=rng.randrange(1 << 24))
                samples.append(S.flow(self.samples, 1, SAMPLING, pool, [S.raw_header(frame)], inp=1, out=uplink))
            for i in range(0, len(samples), 7):
                self.datagram(samples[i:i + 7])
            if step % 5 == 0:
                self.datagram(self.counter_samples(octets))
            if step % 10 == 0:
                drops += 1
                frame = S.roce("10.0.0.1", "10.0.1.3", qp=0x103, sport=50003)
                self.datagram([S.discard(drops, 49, 259, [S.raw_header(frame)], inp=1, out=49)])
            step += 1
            self.stop.wait(0.2)


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

    def json(self, *args):
        out = self.run(*args, "--format", "json")
        return json.loads(out) if out.strip() else {}

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


def incident(agent):
    for i in agent.json("incident", "list", "--since", "1h").get("incidents", []):
        if i["cause"] not in CAUSES:
            continue
        full = agent.json("incident", "show", str(i["id"]))
        subject = full.get("subject", {})
        if subject.get("flows"):
            return subject
    return None


def main():
    with tempfile.TemporaryDirectory() as directory:
        agent = Agent(directory)
        leaf = None
        try:
            agent.wait("listener", lambda: "sflow: starting -> up" in (agent.dir / "agent.log").read_text())
            leaf = Leaf(agent.port)
            leaf.start()
            stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            stranger.bind(("127.0.0.2", 0))
            for i in range(5):
                frame = S.roce("10.66.6.6", "10.0.1.1", qp=0x666)
                stranger.sendto(S.datagram(i, [S.flow(i, 1, 1, i, [S.raw_header(frame)], inp=1, out=49)], agent="192.0.2.11"),
                                ("127.0.0.1", agent.port))

            subject = agent.wait("incident with its flows", lambda: incident(agent))
            named = {f["src_port"] for f in subject["flows"] if f["port"] == "Ethernet49"}
            if len(named & leaf.colliding) < 2 or named - leaf.colliding:
                fail("of the colliding flows %s these are named: %s" % (sorted(leaf.colliding), sorted(named)))
            rows = agent.sql("SELECT port, direction, sampling, src_port, sum(packets) AS n FROM flows WHERE device='leaf1' AND total=0 "
                             "GROUP BY port, direction, sampling, src_port")
            kept = {(r["port"], int(r["src_port"])) for r in rows if r["port"] in UPLINKS.values()}
            want = {(UPLINKS[u], s) for s, _, u in leaf.flows}
            if kept != want:
                fail("flows in history: %s, expected %s" % (sorted(kept), sorted(want)))
            if {r["sampling"] for r in rows} != {str(SAMPLING)}:
                fail("sampling in history: %s" % rows)
            if not any(r["port"] == "Ethernet1" for r in rows):
                fail("no flows came in at Ethernet1: %s" % rows)
            if agent.sql("SELECT 1 FROM flows WHERE src='10.66.6.6'"):
                fail("flows of a sender that is not allowed were stored")
            agent.wait("event of dropped packets", lambda: agent.sql("SELECT 1 FROM events WHERE text LIKE '%no_buffer_space%'"))
            agent.wait("word about the stranger", lambda: "(127.0.0.2 5)" in agent.run("doctor"))

            # A flood: far more than the socket holds at once; then the agent goes on.
            before = len(agent.sql("SELECT DISTINCT to_ns FROM flows"))
            data = S.datagram(1, [], agent="192.0.2.21") + bytes(1300)
            for _ in range(60_000):
                try:
                    leaf.socket.sendto(data, ("127.0.0.1", agent.port))
                except OSError:
                    pass
            agent.wait("intervals after the flood", lambda: len(agent.sql("SELECT DISTINCT to_ns FROM flows")) > before + 3)
            lines = (agent.dir / "agent.log").read_text().splitlines()
            if len([x for x in lines if "kernel dropped" in x or "not allowed" in x]) > 8:
                fail("the log is flooded:\n" + "\n".join(lines[-30:]))
            print("%d colliding flows named, %d in history" % (len(named), len(kept)))
        finally:
            if leaf:
                leaf.stop.set()
            agent.process.terminate()
            try:
                agent.process.wait(HANG_S)
            except subprocess.TimeoutExpired:
                agent.process.kill()


main()
