#!/usr/bin/env python3
"""make_cases FOLDER - writes the recorded cases of tune: one leaf, four hosts, two uplinks, as an engineer would record them over 25 minutes, one poll
in 20 s. After a change here: the targets golden_tune_update and golden_inputs_update, and review the diff."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import inputs

STEP, LENGTH = 20, 1500
HOSTS = ["Ethernet1", "Ethernet2", "Ethernet3", "Ethernet4"]
UPLINKS = ["Ethernet5", "Ethernet6"]
PORTS = HOSTS + UPLINKS
FABRIC = """# {about}
fabric: golden
devices:
  - {{ name: leaf1, role: leaf }}
  - {{ name: spine1, role: spine }}
links:
  - {{ a: "leaf1:Ethernet1", b: "host:node-001", cable: 5m, speed: 400G }}
  - {{ a: "leaf1:Ethernet2", b: "host:node-002", cable: 5m, speed: 400G }}
  - {{ a: "leaf1:Ethernet3", b: "host:node-003", cable: 5m, speed: 400G }}
  - {{ a: "leaf1:Ethernet4", b: "host:node-004", cable: 5m, speed: 400G }}
  - {{ a: "leaf1:Ethernet5", b: "spine1:Ethernet1", cable: {cable}, speed: 400G }}
  - {{ a: "leaf1:Ethernet6", b: "spine1:Ethernet2", cable: {cable}, speed: 400G }}
lossless: {{ priorities: [3], mtu: 4200B }}
policy: {{ congestion: {policy} }}
jobs:
  - {{ name: train, gpus: 4, hosts: "node-*" }}
tuning: {{ min_evidence: 20m }}
{more}"""


class Case:
    def __init__(self, name, about, cable="30m", policy="dcqcn", more=""):
        self.name, self.rows, self.command = name, [], "tune review"
        self.fabric = FABRIC.format(about=about, cable=cable, policy=policy, more=more)

    def state(self, metric, value, ports=PORTS, priority="3"):
        for port in ports:
            self.rows.append((0, port, priority, metric, value, ""))

    def counter(self, metric, per_s, ports=PORTS, priority="3"):
        for n in range(LENGTH // STEP + 1):
            for port in ports:
                self.rows.append((n * STEP, port, priority, metric, round(1000 + per_s * n * STEP), ""))

    def watermark(self, metric, value, ports=PORTS):
        for n in range(0, LENGTH // STEP + 1, 3):  # the switch clears it once a minute
            for k, port in enumerate(ports):
                self.rows.append((n * STEP, port, "3", metric, round(value * (1 - 0.01 * ((n + k) % 4))), "60"))

    def settings(self, kmin=1000000, kmax=2000000, headroom=100000):
        self.rows.append((0, "pool:ingress_lossless", "-", "cfg.buffer_pool_bytes", 16000000, ""))
        self.rows.append((0, "pool:ingress_lossless", "-", "cfg.pool_slices", 1, ""))
        self.rows.append((0, "-", "-", "cfg.cell_bytes", 256, ""))
        for metric, value in (("cfg.pfc_enabled", 1), ("cfg.pg_alpha_exp", -3), ("cfg.pg_headroom_bytes", headroom), ("cfg.pg_xon_offset_bytes", 8400),
                              ("cfg.ecn_enabled", 1), ("cfg.ecn_kmin_bytes", kmin), ("cfg.ecn_kmax_bytes", kmax), ("cfg.ecn_pmax_ratio", 0.1)):
            self.state(metric, value)

    def traffic(self):
        self.state("port.speed_bps", 400000000000, priority="-")
        self.state("port.oper_up", 1, priority="-")
        self.counter("port.out_octets", 2e10, priority="-")
        self.counter("port.in_octets", 2e10, priority="-")

    def queues(self, marks=0.0):
        self.counter("queue.out_packets", 5e6)
        self.counter("queue.ecn_marked", 5e6 * marks)
        self.counter("pg.drops", 0)

    def pause(self, share, ports=PORTS, direction="tx"):
        self.counter(f"pfc.{direction}_pause_ns", share * 1e9, ports)

    def write(self):
        case = "tune/" + self.name
        with inputs.create(case, "fabric.yaml") as f:
            f.write(self.fabric)
        with inputs.create(case, "samples.tsv") as f:
            f.write("# time_s device port priority metric value flags window_s; written by make_cases.py\n")
            for t, port, priority, metric, value, window in sorted(self.rows, key=lambda r: (r[0], r[1], r[3])):
                f.write("\t".join([str(t), "leaf1", port, priority, metric, str(value)] + (["", window] if window else [])) + "\n")
        with inputs.create(case, "case.txt") as f:
            f.write(".\n")
        with inputs.create(case, "commands.txt") as f:
            f.write(self.command + "\n")


TABLE = "tune review --format csv"  # what the sheet says in full is for those who render it


def late(case):
    case.traffic()
    case.queues()
    case.pause(0.05, HOSTS[:3])
    case.pause(0, HOSTS[3:] + UPLINKS)
    case.pause(0, direction="rx")


c = Case("ecn-late", "Kmin was made for a larger buffer: three hosts are paused and nothing is marked. Everything is read back.")
late(c)
c.settings(kmin=8000000, kmax=12000000)
c.watermark("queue.watermark_bytes", 3000000, UPLINKS)
c.watermark("pg.shared_watermark_bytes", 1500000, HOSTS[:3])
c.command = TABLE
c.write()

def relative(case, kmin=0.9, kmax=1.0):
    case.settings(kmin=150000, kmax=1500000)  # what bytes stand there is of no matter
    case.state("cfg.ecn_relative", 1)
    case.state("cfg.ecn_kmin_ratio", kmin)
    case.state("cfg.ecn_kmax_ratio", kmax)


c = Case("relative", "ECN in relative mode that begins to mark at 90 % of the quota; the pool is all but full, so alpha cannot go up: no advice in bytes.")
late(c)
relative(c)
c.watermark("queue.watermark_bytes", 3000000, UPLINKS)
for n in range(0, LENGTH // STEP + 1, 3):
    c.rows.append((n * STEP, "pool:ingress_lossless", "-", "pool.watermark_bytes", 15500000, "60"))
c.write()

c = Case("relative-alpha", "The same with room in the pool: alpha goes up, and Kmin and Kmax in bytes stay out of it.")
late(c)
relative(c)
c.watermark("queue.watermark_bytes", 3000000, UPLINKS)
c.watermark("pg.shared_watermark_bytes", 1500000, HOSTS[:3])
c.write()

c = Case("relative-declared", "No protocol reads the mode back: policy.classes says it, and the bytes that are told are ignored.",
         policy="dcqcn, classes: [ { priority: 3, ecn: relative } ]")
late(c)
c.settings(kmin=8000000, kmax=12000000)
c.watermark("queue.watermark_bytes", 3000000, UPLINKS)
c.watermark("pg.shared_watermark_bytes", 1500000, HOSTS[:3])
c.write()

c = Case("uet", "Ultra Ethernet transport: hosts are paused and nothing is marked, and no threshold of DCQCN is advised.", policy="uet")
late(c)
c.settings(kmin=8000000, kmax=12000000)
c.write()

c = Case("mrc", "Multipath reliable connections, source routed, and pause frames all the same.", policy="mrc, load_balancing: source_routed")
late(c)
c.write()

c = Case("credits", "Credits keep the class lossless, frames are lost all the same: no headroom and no xoff is advised.", cable="300m", policy="credit")
c.traffic()
c.state("cfg.cbfc_enabled", 1)
c.settings()
c.counter("queue.out_packets", 5e6)
c.counter("pg.drops", 3, UPLINKS)
c.counter("pg.drops", 0, HOSTS)
c.pause(0, PORTS)
c.pause(0, direction="rx")
c.write()

def pool_taken(case):
    late(case)
    case.settings(kmin=8000000, kmax=12000000)
    case.watermark("queue.watermark_bytes", 3000000, UPLINKS)
    case.watermark("pg.shared_watermark_bytes", 1500000, HOSTS[:3])
    for n in range(0, LENGTH // STEP + 1, 3):
        case.rows.append((n * STEP, "pool:ingress_lossless", "-", "pool.watermark_bytes", 13500000, "60"))
    case.command = TABLE


c = Case("pool-taken", "The same, and the shared pool is all but full: alpha cannot go up, so marks come earlier, on a wide ramp.")
pool_taken(c)
c.write()

c = Case("sixth-vendor", "The fabric of ecn-late, with a folder of profiles: a vendor that only this folder knows is rendered.", more="profile_dir: profiles\n")
pool_taken(c)
c.command += """
tune render y2nnaoke --vendor foonos
tune render y2nnaoke --vendor foonos --undo
tune render y2nnaoke --vendor barnos"""
c.write()

DECLARED = """thresholds:
  - { devices: "*", ports: "*", priority: 3, kmin: 8MB, kmax: 12MB, pmax: 10%, alpha: 1/8, headroom: 100000B, pool: 16MB }
"""
c = Case("declared", "The same, but the switch tells none of its settings: they stand in the configuration, and how the buffer is sliced is not known.", more=DECLARED)
late(c)
c.command = TABLE
c.write()

c = Case("unknown-settings", "The same, and nobody told the thresholds.")
late(c)
c.write()

c = Case("slow-receiver", "node-002 pauses the leaf a third of the time; what waits for it pauses the others. Kmin is too high as well.")
c.traffic()
c.queues()
c.settings(kmin=8000000, kmax=12000000)
c.pause(0.05, ["Ethernet1", "Ethernet3", "Ethernet4"])
c.pause(0, ["Ethernet2"] + UPLINKS)
c.pause(0.33, ["Ethernet2"], "rx")
c.pause(0, ["Ethernet1", "Ethernet3", "Ethernet4"] + UPLINKS, "rx")
c.write()

c = Case("headroom", "The uplinks are 300 m long and have the headroom of short cables; frames are lost after XOFF.", cable="300m")
c.traffic()
c.settings()
c.counter("queue.out_packets", 5e6)
c.counter("queue.ecn_marked", 5e4)
c.counter("pg.drops", 3, UPLINKS)
c.counter("pg.drops", 0, HOSTS)
c.pause(0.02, UPLINKS)
c.pause(0, HOSTS)
c.pause(0, direction="rx")
for port in UPLINKS:
    for n in range(0, LENGTH // STEP + 1, 3):
        c.rows.append((n * STEP, port, "3", "pg.headroom_watermark_bytes", 100000 if n % 2 else 99000, "60"))
c.command = TABLE
c.write()

c = Case("healthy", "Queues mark a little, nobody is paused: nothing to do.")
c.traffic()
c.queues(0.002)
c.settings()
c.pause(0)
c.pause(0, direction="rx")
c.state("pfc.tx_frames", 12)
c.write()

c = Case("octets-only", "An agent that serves nothing but interface counters.")
c.traffic()
c.write()

c = Case("pfc-only", "The loss of the headroom case at a site that uses no congestion control by policy.", cable="300m", policy="pfc_only")
c.traffic()
c.settings()
c.counter("pg.drops", 3, UPLINKS)
c.counter("pg.drops", 0, HOSTS)
c.pause(0.02, UPLINKS)
c.pause(0.05, HOSTS)
c.pause(0, direction="rx")
c.write()

c = Case("pool", "Frames are lost at the uplinks of a switch whose shared pool is full: it cannot give the headroom that 300 m take, and says what to give up.", cable="300m")
c.traffic()
c.settings()
c.counter("queue.out_packets", 5e6)
c.counter("queue.ecn_marked", 5e4)
c.counter("pg.drops", 3, UPLINKS)
c.counter("pg.drops", 0, HOSTS)
c.pause(0.02, UPLINKS)
c.pause(0, HOSTS)
c.pause(0, direction="rx")
for n in range(0, LENGTH // STEP + 1, 3):
    for port in UPLINKS:
        c.rows.append((n * STEP, port, "3", "pg.headroom_watermark_bytes", 100000 if n % 2 else 99000, "60"))
    c.rows.append((n * STEP, "pool:ingress_lossless", "-", "pool.watermark_bytes", 15900000, "60"))
c.write()

c = Case("regression", "Kmin was lowered after 12 minutes, steps have taken a sixth longer since: that is taken back before anything else.")
c.state("port.speed_bps", 400000000000, priority="-")
c.state("port.oper_up", 1, priority="-")
c.settings()
CHANGED = 740
for port in PORTS:
    for metric, value in (("cfg.ecn_kmin_bytes", 100000), ("cfg.ecn_kmax_bytes", 200000)):
        c.rows.append((CHANGED, port, "3", metric, value, ""))
octets = 0
for n in range(LENGTH // STEP + 1):
    rate = (2e10 if n * STEP <= CHANGED else 1.7e10) * (1 + 0.004 * (n * 7 % 5 - 2))
    for port in PORTS:
        for metric in ("port.out_octets", "port.in_octets"):
            c.rows.append((n * STEP, port, "-", metric, round(1000 + octets), ""))
    octets += rate * STEP
c.queues(0.02)
c.pause(0)
c.pause(0, direction="rx")
c.state("pfc.tx_frames", 12)
c.write()
