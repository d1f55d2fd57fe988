#!/usr/bin/env python3
"""check.py ROCEWATCH: RoCEv2 inside every encapsulation, all opcodes, both IP versions, read by rocewatch and by tshark.

Each packet has a destination QP of its own, so a row of the report is one packet. Exit 0, 1 with the differences, 77 without tshark.
"""
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

import frames as f
from groups import GROUPS, NOT_IN_TSHARK


def cases():
    """(group name, keys, inner family, opcode, qp, psn, frame)"""
    number = 0
    for name, keys, outers, wrap in GROUPS:
        for outer in outers:
            for family in (4, 6):
                number += 1
                for opcode in f.OPCODES:
                    qp, psn = number << 8 | opcode, (number * 7919 + opcode * 31) & 0xffffff
                    packet = f.roce(family, opcode, qp, psn, ecn=number % 4)
                    yield name, keys, family, opcode, qp, psn, wrap(packet, outer)


def report(program, path, status=0):
    done = subprocess.run([program, "pcap", "--format", "json", path], capture_output=True, text=True)
    assert done.returncode == status, (path, done.returncode, done.stderr[-400:])
    return json.loads(done.stdout)


def tshark(path):
    """[(opcode, qp, psn)] of each frame's innermost transport header; None where it sees none."""
    fields = ["infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn"]
    # label 500 of the generator is a pseudowire with, 501 one without control word: in MPLS only the configuration knows
    command = ["tshark", "-r", path, "-d", "mpls.label==500,pwethcw", "-d", "mpls.label==501,pwethnocw", "-d", "udp.port==8472,vxlan", "-T", "fields", "-E",
               "occurrence=l"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = []
    for line in done.stdout.splitlines():
        values = line.split("\t")
        rows.append(tuple(int(v, 0) for v in values) if all(values) else None)
    return rows


def compare(program, path, want):
    doc = report(program, path)
    wrong = []
    oracle = tshark(path)
    assert len(oracle) == len(want), (path, len(oracle), len(want))
    for case, seen in zip(want, oracle):
        name, _, _, opcode, qp, psn, _ = case
        if name not in NOT_IN_TSHARK and seen != (opcode, qp, psn):
            wrong.append(f"tshark reads {name} otherwise: {seen}, made {(opcode, qp, psn)}")
    rows = {(q["src"], q["dst"], q["dst_qp"]): q for q in doc["qps"]}
    ends = {4: ("10.0.0.1", "10.0.0.2"), 6: ("fd00::1", "fd00::2")}
    by_opcode, layers, ecn = collections.Counter(), collections.Counter(), collections.Counter()
    for name, keys, family, opcode, qp, psn, _ in want:
        by_opcode[f.OPCODES[opcode][0]] += 1
        layers.update(keys)
        ecn[["not_ect", "ect1", "ect0", "ce"][(qp >> 8) % 4]] += 1
        row = rows.pop(ends[family] + (qp,), None)
        if row is None:
            wrong.append(f"no row for {name}, IPv{family} inside, {f.OPCODES[opcode][0]}, qp {qp}")
        elif row["packets"] != 1 or (opcode != f.CNP and row["psn_first"] != psn):
            wrong.append(f"{name}: {row['packets']} packets, psn {row['psn_first']}, expected {psn}")
    wrong += [f"a row that nobody sent: {key}" for key in rows]
    for key, got, expected in (("by_opcode", doc["by_opcode"], by_opcode), ("ecn", doc["ecn"], ecn),
                               ("by_encapsulation", doc["by_encapsulation"], layers)):
        if got != dict(expected):
            wrong.append(f"{key}: {got}, expected {dict(expected)}")
    if doc["icrc"] != {"ok": len(want), "bad": 0, "unchecked": 0}:
        wrong.append(f"icrc: {doc['icrc']} of {len(want)}")
    if doc["errors"]:
        wrong.append(f"errors: {doc['errors']}")
    return wrong


def mirrors(program, folder):
    """What ERSPAN headers say: against tshark's fields, and each session its own row."""
    path = os.path.join(folder, "mirrors.pcap")
    packet = f.of_ip(f.roce(4, 0x0a, 5, 6))
    made = [f.erspan2(packet, 17, 0x1234), f.erspan3(packet, 31), f.erspan3(packet, 31, direction=1),
            f.erspan3(packet, 33, platform=3, port=77), f.erspan3(packet, 34, platform=1, port=78, direction=1),
            f.erspan3(packet, 35, platform=5, port=79), f.erspan3(packet, 36, platform=7, port=80)]
    f.write_pcap(path, [f.put(layer, 4) for layer in made])
    got = [(m["kind"], m["session"], m["direction"], m["port"], m["src"], m["packets"]) for m in report(program, path)["mirrors"]]
    fields = ["erspan.version", "erspan.spanid", "erspan.direction", "erspan.index", "erspan.pid1.port_index", "erspan.pid3.port_index",
              "erspan.pid5.port_index", "erspan.pid7.source_index"]
    command = ["tshark", "-r", path, "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    want = []
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        version, session, direction, *ports = (line + "\t" * len(fields)).split("\t")[:len(fields)]
        port = next((int(p, 0) for p in ports if p), None)
        side = None if version == "1" else ("out" if direction in ("1", "True") else "in")
        want.append((f"erspan{int(version) + 1}", int(session), side, port, "172.16.0.9", 1))
    return [] if got == want else [f"mirrors: {got}, tshark says {want}"]


def main():
    program = sys.argv[1]
    if not shutil.which("tshark"):
        print("tshark is not installed: nothing to compare with")
        return 77
    want = list(cases())
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for name, write in (("all.pcap", f.write_pcap), ("all.pcapng", f.write_pcapng)):
            path = os.path.join(folder, name)
            write(path, [case[-1] for case in want])
            wrong += [f"{name}: {line}" for line in compare(program, path, want)]
        wrong += mirrors(program, folder)
    for line in wrong[:40]:
        print(line)
    print(f"{len(want)} packets in {len(GROUPS)} encapsulations: {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
