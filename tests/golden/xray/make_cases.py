#!/usr/bin/env python3
"""make_cases FOLDER - samples of three switches with CRC16 hashes computed bit by bit, 5 % of them wrong: leaf1 and spine2 have the same polynomial and
other seeds, spine1 has another polynomial. After a change: golden_xray_update and golden_inputs_update."""
import os, random, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import inputs

draw = random.Random(36)
SWITCHES = {"leaf1": (0x1021, 0x1234, 48), "spine1": (0x8005, 0x77, 0), "spine2": (0x1021, 0x77, 0)}  # polynomial, seed, first port


def member(switch, flow):
    polynomial, value, first = SWITCHES[switch]
    source, destination, port = flow
    packed = bytes(int(x) for x in (source + "." + destination).split(".")) + port.to_bytes(2, "big") + (4791).to_bytes(2, "big") + b"\x11"
    for byte in packed:
        value ^= byte << 8
        for _ in range(8):
            value = (value << 1 ^ (polynomial if value & 0x8000 else 0)) & 0xFFFF
    return "Ethernet%d" % (first + value % 8)


def flow():
    return "10.0.0.%d" % draw.randrange(16), "10.0.%d.%d" % (1 + draw.randrange(3), draw.randrange(16)), 0xC000 + draw.randrange(0x4000)


def write(name, lines):
    for case in ("tiers", "ports"):
        with inputs.create("xray/" + case, name) as out:
            out.write("\n".join(lines) + "\n")


rows = ["time,device,src,dst,src_port,member"]
for at in range(1200):
    switch, seen = list(SWITCHES)[at % 3], flow()
    rows.append("%d,%s,%s,%s,%d,%s" % (1795860000 + at, switch, *seen, member(switch, seen if draw.random() > 0.05 else flow())))
write("samples.csv", rows)
write("links.csv", ["device,member,next"] + ["leaf1,Ethernet%d,spine%d" % (48 + m, 1 + m // 4) for m in range(8)])
write("job.csv", ["device,src,dst,src_port,dst_qp"] + ["leaf1,%s,%s,%d,%d" % (*flow(), qp) for qp in range(1, 9)])
