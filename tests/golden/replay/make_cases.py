#!/usr/bin/env python3
"""make_cases FOLDER - writes the inputs of the replay cases: fabric.yaml and samples.tsv of each. The answers (expected.txt) are rocewatch's own and
are reviewed in the diff: cmake --build BUILD --target golden_replay_update."""
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import inputs

RATE = 400e9 / 8
FABRIC = """fabric: pod-a
devices:
  - { name: leaf1, role: leaf }
  - { name: leaf2, role: leaf }
  - { name: spine1, role: spine }
  - { name: spine2, role: spine }
links:
  - { a: "leaf1:Ethernet49", b: "spine1:Ethernet1" }
  - { a: "leaf1:Ethernet50", b: "spine2:Ethernet1" }
  - { a: "leaf2:Ethernet49", b: "spine1:Ethernet2" }
  - { a: "leaf2:Ethernet50", b: "spine2:Ethernet2" }
  - { a: "leaf1:Ethernet1", b: "host:node-001:rail0" }
  - { a: "leaf2:Ethernet1", b: "host:node-002:rail0" }
jobs:
  - { name: train, gpus: 512, hosts: "node-*" }
cost: { usd_per_gpu_hour: 30 }
"""


def write(case, name, text):
    with inputs.create("replay/" + case, name) as f:
        f.write(text)


def lines(share, end=1800, step=30, lost=lambda t, leaf: False, reset=lambda t, leaf: False, base=1000):
    """share(t, leaf, member) of line rate up to the instant t."""
    total, out = {}, []
    for t in range(0, end + 1, step):
        for leaf in ("leaf1", "leaf2"):
            for member, port in enumerate(("Ethernet49", "Ethernet50")):
                key = (leaf, port)
                flags = ""
                if reset(t, leaf):
                    total[key] = 0
                    flags = "\trestart"
                total[key] = total.get(key, base) + (int(RATE * share(t, leaf, member) * step) if t else 0)
                if lost(t, leaf):
                    continue
                out.append(f"{t}\t{leaf}\t{port}\t-\tport.out_octets\t{total[key]}{flags}")
                if t % 300 == 0:
                    out.append(f"{t}\t{leaf}\t{port}\t-\tport.speed_bps\t400000000000")
    return out


def skewed(begin, end, shares=(0.75, 0.05)):
    def share(t, leaf, member):
        if leaf == "leaf1" and begin < t <= end:
            return shares[member]
        return 0.4
    return share


def case(name, what, rows, extra=""):
    write(name, "fabric.yaml", f"# {what}\n" + FABRIC + extra)
    write(name, "samples.tsv", f"# {what}\n" + "\n".join(rows) + "\n")


def packets(name, flows, begin, end):
    """RoCEv2 RDMA WRITE ONLY packets, three per flow and second; enough of the headers to be read, ICRC left zero."""
    with inputs.create("replay/captured", name, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 1))
        for t in range(begin, end):
            for part in range(3):
                for n, (src, dst, sport, qp) in enumerate(flows):
                    psn = ((t - begin) * 3 + part) & 0xFFFFFF
                    bth = struct.pack(">BBHII", 0x0A, 0x40, 0xFFFF, qp, psn)
                    reth = struct.pack(">QII", 0x1000, 0x1234, 1024)
                    size = 8 + len(bth) + len(reth) + 1024 + 4
                    udp = struct.pack(">HHHH", sport, 4791, size, 0)
                    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0x02, 20 + size, 0, 0x4000, 64, 17, 0, bytes(src), bytes(dst))
                    frame = b"\x02\0\0\0\0\1\x02\0\0\0\0\2\x08\0" + ip + udp + bth + reth
                    f.write(struct.pack("<IIII", t, part * 300000000 + n * 1000, len(frame), 14 + 20 + size))
                    f.write(frame)


def main():
    case("skew", "leaf1 sends 75 % and 5 % over its uplinks from minute 5 to 20, then even again: one incident, closed",
         lines(skewed(300, 1200)))
    case("still_open", "as skew, but the recording ends while it lasts: one incident, open", lines(skewed(300, 1800), end=1200))
    case("too_short", "skewed for one poll, shorter than the hold: no incident", lines(skewed(300, 330)))
    case("idle", "1 % of line rate, all of it on one uplink: below the load floor, no incident",
         lines(lambda t, leaf, member: (0.01, 0.0)[member]))
    case("silence", "as skew, but leaf1 is silent from minute 12 to 16: unknown neither closes nor counts",
         lines(skewed(300, 1200), lost=lambda t, leaf: leaf == "leaf1" and 720 < t <= 960))
    case("reset", "leaf1 restarts at minute 10 and counts from 0: no spike, no incident",
         lines(lambda t, leaf, member: 0.4, reset=lambda t, leaf: leaf == "leaf1" and t == 600, base=10**15))
    rows = lines(skewed(300, 1200))
    shuffled = rows + rows[100:140]
    random.Random(1).shuffle(shuffled)
    case("unordered", "the lines of skew shuffled, 40 of them twice: the same incident", shuffled)
    case("misspelt", "half of the samples belong to a device that the fabric does not have: said, and the rest is judged",
         [r.replace("\tleaf2\t", "\tlaef2\t") for r in lines(skewed(300, 330), end=600)])
    broken = lines(skewed(300, 1200), end=120)
    broken[9] = broken[9].replace("port.out_octets", "port.out_octet")
    case("bad_metric", "a metric that does not exist: refused whole, with its place", broken)
    broken = lines(skewed(300, 1200), end=120)
    broken[4] = broken[4].replace("\t-\t", " - ")
    case("bad_columns", "blanks instead of tabs: refused whole, with its place", broken)
    case("captured", "79 % and 1 % with sampled packets of both uplinks until minute 7: two flows make all the load, both on one uplink",
         lines(skewed(0, 900, (0.79, 0.01)), end=900))
    write("captured", "capture.yaml", "capture:\n"
          "  - { name: up49, interface: mirror0, port: \"leaf1:Ethernet49\", direction: out, sampling: 6000000 }\n"
          "  - { name: up50, interface: mirror1, port: \"leaf1:Ethernet50\", direction: out, sampling: 6000000 }\n")
    packets("capture-up49.pcap", [((10, 1, 0, 1), (10, 2, 0, 1), 49152, 0x1A2F),
                                  ((10, 1, 0, 1), (10, 2, 0, 1), 49153, 0x1A31)], 1, 420)
    packets("capture-up50.pcap", [], 1, 1)


main()
