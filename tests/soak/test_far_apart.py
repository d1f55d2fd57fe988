#!/usr/bin/env python3
"""test_far_apart.py ROCEWATCH - two samples and two packets that lie 11.6 days, or thirty years, apart: every command that walks history takes
time in proportion to the data, not to the time between. Each has CPU_S seconds of CPU; one that looks at each window of the gap needs
minutes."""
import os, resource, shutil, struct, subprocess, sys, tempfile

CPU_S = 15  # also with sanitizers, on a slow machine; one second is usual
GAPS = {"11.6 days": 1_000_000, "thirty years": 946_000_000}
RANGE = ["--since", "1970-01-01", "--until", "2035-01-01"]

FABRIC = """fabric: far
devices:
  - { name: leaf1, role: leaf }
  - { name: spine1, role: spine }
  - { name: spine2, role: spine }
links:
  - { a: "leaf1:Ethernet49", b: "spine1:Ethernet1" }
  - { a: "leaf1:Ethernet50", b: "spine2:Ethernet1" }
jobs:
  - { name: train, gpus: 8, hosts: "*" }
lossless: { priorities: [3], mtu: 4200B }
"""
CAPTURE = """capture:
  - { name: up49, interface: mirror0, port: "leaf1:Ethernet49", direction: out }
"""
COMMANDS = [["status"], ["doctor"], ["incident", "list"], ["steps", *RANGE], ["ecmp", "groups", *RANGE], ["ecmp", "heatmap", *RANGE],
            ["ecmp", "collisions", *RANGE], ["pause", *RANGE], ["blame", "leaf1:Ethernet49", *RANGE], ["report", "spine-imbalance", *RANGE],
            ["query", "port.out_octets", *RANGE], ["query", "port.out_octets", "--rate", *RANGE], ["event", "list", *RANGE], ["topology", "show"],
            ["topology", "check"], ["tune", "review", *RANGE], ["watch", "--once"], ["metrics"], ["check", "fabric"], ["check", "ecmp", *RANGE],
            ["db", "stat"]]


def packet(number):
    """Ethernet, IPv4, UDP to port 4791, BTH (RDMA WRITE Only) and a payload; InfiniBand Architecture vol. 1, annex A17."""
    bth = struct.pack(">BBHII", 0x0a, 0x40, 0xffff, 0x12, number) + bytes(16 + 64 + 4)
    udp = struct.pack(">HHHH", 50000, 4791, 8 + len(bth), 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0x6a, 28 + len(bth), 1, 0x4000, 64, 17, 0, bytes([10, 0, 1, 1]), bytes([10, 0, 2, 1]))
    return bytes.fromhex("0200000000010200000000020800") + ip + udp + bth


def make_case(directory, gap_s):
    os.makedirs(directory)
    first_s = 1_000_000_000
    with open(os.path.join(directory, "fabric.yaml"), "w") as f:
        f.write(FABRIC)
    with open(os.path.join(directory, "capture.yaml"), "w") as f:
        f.write(CAPTURE)
    with open(os.path.join(directory, "capture-up49.pcap"), "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i, t in enumerate((first_s, first_s + gap_s)):
            p = packet(100 + i)
            f.write(struct.pack("<IIII", t, 0, len(p), len(p)) + p)
    with open(os.path.join(directory, "samples.tsv"), "w") as f:
        for begin_s in (first_s, first_s + gap_s):
            for k in range(0, 120, 10):
                for port, rate in (("Ethernet49", 20), ("Ethernet50", 1)):
                    f.write("%d\tleaf1\t%s\t-\tport.out_octets\t%d\n" % (begin_s + k, port, (begin_s - first_s + k) * rate * 10**8))
                    f.write("%d\tleaf1\t%s\t-\tport.speed_bps\t400000000000\n" % (begin_s + k, port))


def run(argv):
    """What it said, and its seconds of CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S)))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return p, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(binary):
    work, worst, bad = tempfile.mkdtemp(prefix="far-"), (0, ""), []
    try:
        for name, gap_s in GAPS.items():
            case = os.path.join(work, str(gap_s))
            make_case(case, gap_s)
            database = os.path.join(case, "out.db")
            for argv in [["replay", "--from", case, "--db", database]] + [["--db", database, *c] for c in COMMANDS]:
                p, cpu_s = run([binary, *argv])
                what = " ".join(argv[-6:]).replace(case, "CASE")
                if p.returncode < 0 or "Sanitizer" in p.stderr or "usage" in p.stderr.lower():
                    bad.append("%s apart: %s: exit %d after %.1f s of CPU: %s" % (name, what, p.returncode, cpu_s, p.stderr[:300]))
                worst = max(worst, (cpu_s, what))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for line in bad:
        print(line)
    print("%d commands, the slowest %.2f s of CPU: %s" % (2 * (len(COMMANDS) + 1), *worst))
    return 1 if bad else 0


sys.exit(main(sys.argv[1]))
