#!/usr/bin/env python3
"""odd.py ROCEWATCH: what cannot be opened is named, what a mirror cut is read, other transports are counted, and what a capture file
says about direction, interfaces, loss and link types reaches the report. Labels are the generator's own. Exit 0, or 1 with a line.
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

import frames as f

P4, P6 = f.roce(4, 0x0a, 5, 6, payload=1024), f.roce(6, 0x0a, 5, 6, payload=1024)
FRAME = f.of_ip(P4)


class Bench:
    def __init__(self, program, folder):
        self.program, self.folder, self.wrong = program, folder, []

    def read(self, path, status=0, args=()):
        done = subprocess.run([self.program, "pcap", "--format", "json", *args, path], capture_output=True, text=True)
        assert done.returncode == status, (path, done.returncode, done.stderr)
        self.stderr = done.stderr
        return json.loads(done.stdout)

    def frames(self, frames, link=1, snap=0, status=0):
        path = os.path.join(self.folder, "odd.pcap")
        f.write_pcap(path, frames, link, snap)
        return self.read(path, status)

    def expect(self, what, got, want):
        if got != want:
            self.wrong.append(f"{what}: {got}, expected {want}")


def refused(b):
    """Recognised and not opened: a name and a sentence, and never "no RoCEv2"."""
    five = FRAME
    for _ in range(5):
        five = f.put(f.vxlan(five), 4)
    rows = [
        ("gre_routing", f.put(f.gre(0x0800, bytes(8) + P4, flags=0x4000), 4)),
        ("gre_version", f.put(f.gre(0x880b, bytes(40), flags=0x2001), 4)),
        ("gre_protocol", f.put(f.gre(0x7777, bytes(range(60))), 4)),
        ("erspan_version", f.put(f.gre(0x22eb, b"\x50" + bytes(range(1, 80))), 4)),
        ("erspan_frame", f.put(f.erspan3(bytes(60), 3, kind=5), 4)),
        ("mirror_header", f.put(f.gre(0x8949, bytes(80)), 4)),
        ("mpls_payload", f.put(("ether", 0x8847, f.labels(16) + b"\x9a\xbc" * 40), 4)),
        ("vxlan_header", f.put(f.vxlan(FRAME, flags=0), 4)),
        ("vxlan_header", f.put(f.vxlan_gpe(FRAME, 3, flags=0x1c), 6)),
        ("vxlan_gpe_protocol", f.put(f.vxlan_gpe(bytes(60), 4), 6)),
        ("geneve_version", f.put(f.geneve(FRAME, 0x6558, version=1), 4)),
        ("geneve_protocol", f.put(f.geneve(bytes(60), 0x4321), 6)),
        ("etherip_version", f.put(("ip", 97, b"\x20\x00" + FRAME), 4)),
        ("tzsp_frame", f.put(f.tzsp(bytes(60), 0x12), 4)),
        ("esp", f.put(("ip", 50, bytes(range(60))), 4)), ("esp", f.put(("ip", 50, bytes(range(60))), 6)),
        ("l2tp", f.put(("ip", 115, bytes(60)), 4)),
        ("macsec", f.ethernet(bytes(60), 0x88e5)), ("pbb", f.ethernet(bytes(60), 0x88e7)), ("nsh", f.ethernet(bytes(60), 0x894f)),
        ("etag", f.ethernet(bytes(60), 0x893f)), ("vntag", f.ethernet(bytes(60), 0x8926)), ("trill", f.ethernet(bytes(60), 0x22f3)),
        ("fabricpath", f.ethernet(bytes(60), 0x8903)), ("cisco_metadata", f.ethernet(bytes(60), 0x8909)),
        ("arista_time", f.ethernet(bytes(60), 0xd28b)), ("too_deep", five),
    ]
    for name, frame in rows:
        doc = b.frames([frame] * 3)
        b.expect(name, (doc["errors"], doc["roce_packets"]), ({"encapsulated": {name: 3}}, 0))
        said = [v for v in doc["verdicts"] if v["kind"] == "not_opened"]
        b.expect(name + ", sentence", [(v["encapsulation"], v["n"]) for v in said], [(name, 3)])
        b.expect(name + ", not told as no RoCE", [v["kind"] for v in doc["verdicts"]], ["not_opened"])
        # the same inside a mirror
        doc = b.frames([f.put(f.erspan2(frame, 5, 6), 4)])
        b.expect(name + " in a mirror", doc["errors"], {"encapsulated": {name: 1}})


def cut_mirrors(b):
    """A mirror that cuts: the headers are read as far as they are there, and it is no snap length."""
    for what, make in (("erspan2", lambda x: f.erspan2(x, 5, 6)), ("vxlan", f.vxlan), ("gre", lambda x: f.gre(0x6558, x)),
                       ("erspan3", lambda x: f.erspan3(x, 7, truncated=1))):
        for packet in (P4, P6):
            whole = f.of_ip(packet)
            doc = b.frames([f.put(make(whole[:110]), 4)])
            row = doc["qps"][0]
            b.expect(what + " cut", (doc["errors"], doc["roce_packets"], row["payload_bytes"], doc["icrc"]["unchecked"]), ({}, 1, 1024, 1))
            b.expect(what + " cut, octets", (row["octets"], doc["octets"]), (len(whole), len(f.put(make(whole[:110]), 4))))
            doc = b.frames([f.put(make(whole[:30]), 4)])
            b.expect(what + " cut within IP", doc["errors"], {"cut_by_mirror": 1})
            doc = b.frames([f.put(make(whole), 4)], snap=90)
            b.expect(what + " and a snap length", doc["errors"], {"cut_by_snaplen": 1})
    ack = f.of_ip(f.roce(4, 0x11, 9, 10))
    doc = b.frames([f.put(f.erspan2(ack[:14 + 20 + 8 + 12], 5, 6, truncated=1), 4)])
    b.expect("an ACK without its AETH", (doc["roce_packets"], doc["errors"], doc["nak"]), (1, {}, None))
    b.expect("cut frames of a mirror", doc["mirrors"][0]["cut"], 1)


def marks(b):
    """CE on a tunnel counts for the packet in it (RFC 6040), on a mirror it does not."""
    ect, plain = f.of_ip(f.roce(4, 0x0a, 5, 6, ecn=2)), f.of_ip(f.roce(4, 0x0a, 5, 7, ecn=0))
    for what, layer, ce in (("vxlan", f.vxlan(ect), 1), ("vxlan, not capable inside", f.vxlan(plain), 0), ("erspan2", f.erspan2(ect, 1, 2), 0),
                            ("vxlan in an unmarked erspan3", f.erspan3(f.of_ip(f.ip4("172.16.0.1", "172.16.0.2", 17, f.udp(1, 4789, f.vxlan(ect)[2]),
                                                                                     tos=3)), 3), 1)):
        kind, number, payload = layer
        inside = f.udp(9, number, payload) if kind == "udp" else payload
        frame = f.of_ip(f.ip4("172.16.0.3", "172.16.0.4", 17 if kind == "udp" else number, inside, tos=3 if "unmarked" not in what else 2))
        b.expect("CE on the tunnel, " + what, b.frames([frame])["ecn"]["ce"], ce)


def lengths(b):
    """Fragments and lengths that lie, inside a tunnel and outside."""
    later = f.ip4("10.0.0.1", "10.0.0.2", 17, bytes(600), flags=0x00b9)
    tunnel_later = f.of_ip(f.ip4("172.16.0.1", "172.16.0.2", 47, bytes(600), flags=0x00b9))
    for what, frame, error in (("later fragment inside", f.put(f.vxlan(f.of_ip(later)), 4), "ip_fragment"),
                               ("later fragment of a tunnel", tunnel_later, "ip_fragment"),
                               ("an inner header length below its own", f.put(f.vxlan(f.of_ip(b"\x41" + P4[1:])), 4), "bad_ip_header"),
                               ("a tunnel whose UDP length lies", f.of_ip(f.ip4("172.16.0.1", "172.16.0.2", 17,
                                                                                f.udp(1, 4789, bytes(60), longer=9))), "bad_udp_length"),
                               ("a GRE header that ends", f.put(("ip", 47, b"\xb0\x00"), 4), "short_packet")):
        b.expect(what, b.frames([frame])["errors"], {error: 1})
    first = f.ip4("172.16.0.1", "172.16.0.2", 47, f.gre(0x6558, FRAME)[2][:608], flags=0x2000)
    doc = b.frames([f.of_ip(first)])
    b.expect("first fragment of a tunnel", (doc["roce_packets"], doc["errors"]), (1, {}))


def other_transports(b):
    uet = {"request": [2, 3, 13, 14], "ack": [7, 8, 9], "nack": [10, 12], "control": [11], "rudi": [4, 5], "uud": [6],
           "encrypted": [1], "unknown": [0, 15, 31]}
    frames, want = [], {"packets": 0, "retransmitted": 0, "nack_trimmed": 0}
    for name, kinds in uet.items():
        want[name] = 2 * len(kinds)
        for kind in kinds:
            for family, flags in ((4, 0x10), (6, 0x04)):
                code = 1 if family == 4 else 0x0d
                frames.append(f.put(("udp", 4793, struct.pack(">HBB", kind << 11 | 3 << 7 | flags, code, 0) + bytes(60)), family))
                want["packets"] += 1
                want["retransmitted"] += flags == 0x10 and name in ("request", "ack", "nack", "control", "rudi")
                want["nack_trimmed"] += name == "nack" and code == 1
    doc = b.frames(frames)
    b.expect("Ultra Ethernet", doc["transports"], {"uet": want})
    doc = b.frames([f.put(f.vxlan(frame), 4) for frame in frames])
    b.expect("Ultra Ethernet in VXLAN", (doc["transports"], doc["by_encapsulation"]), ({"uet": want}, {"vxlan": len(frames)}))
    doc = b.frames([f.rocev1(0x0a, 5, n) for n in range(4)] + [f.ethernet(bytes(10), 0x8915)])
    b.expect("RoCEv1", (doc["transports"], doc["rocev1_packets"], doc["errors"]), ({"rocev1": 5}, 5, {}))
    # trimmed by a switch that writes the IP length and checksum only
    for family, packet in ((4, P4), (6, P6)):
        cut = []
        for psn in (7, 8):
            kept = f.roce(family, 0x0a, 5, psn, payload=1024)[20 if family == 4 else 40:][:200]
            cut.append(f.ip4("10.0.0.1", "10.0.0.2", 17, kept, 11 << 2, psn) if family == 4 else
                       f.ip6("fd00::1", "fd00::2", 17, kept, 11 << 2))
        doc = b.frames([f.of_ip(packet)] + [f.of_ip(one) for one in cut])
        b.expect(f"trimmed, IPv{family}", (doc["transports"], doc["roce_packets"], doc["errors"]), ({"trimmed": 2}, 3, {}))
    odd = f.of_ip(f.ip4("10.0.0.1", "10.0.0.2", 17, P4[20:24] + struct.pack(">H", 5000) + P4[26:]))
    b.expect("a UDP length that no opcode explains", b.frames([odd])["errors"], {"bad_udp_length": 1})


def capture_files(b):
    """pcapng: direction, interfaces over sections, loss; link types."""
    path = os.path.join(b.folder, "odd.pcapng")
    t = 1700000000000000000
    statistics = f.block(5, struct.pack("<III", 0, 1, 1) + f.option(4, struct.pack("<Q", 900)) + f.option(5, struct.pack("<Q", 40)) +
                         f.option(7, struct.pack("<Q", 2)) + bytes(4))
    with open(path, "wb") as out:
        out.write(f.section() + f.interface(1) + f.enhanced(0, t, FRAME, f.option(4, struct.pack("<Q", 7)) + bytes(4)) + statistics)
        out.write(f.section() + f.interface(1) + f.enhanced(0, t + 1, FRAME) + statistics)
    b.expect("loss of the capture", b.read(path)["loss"]["capture_drops"], 84)
    for number, header, hint in ((240, 4, "-C 4 -T ether"), (274, 8, "-C 8 -T ether"), (241, 12, "-C 12 -T ether"), (105, 0, "capture again"),
                                 (233, 0, "link type 233 (233)")):
        frames = [bytes(header) + f.of_ip(f.roce(4, 0x0a, 5, psn)) for psn in range(3)]
        doc = b.frames(frames, link=number, status=1)
        b.expect(f"link type {number}", (doc["errors"], hint in b.stderr, b.stderr.count("\n")), ({"unsupported_link_type": 3}, True, 1))
        b.expect(f"link type {number}, sentences", [v["kind"] for v in doc["verdicts"]], ["link_type"])
        if header and shutil.which("editcap"):
            out = os.path.join(b.folder, "converted.pcap")
            subprocess.run(["editcap", "-F", "pcap", *hint.split(), os.path.join(b.folder, "odd.pcap"), out], check=True, capture_output=True)
            b.expect(f"link type {number}, converted as told", b.read(out)["roce_packets"], 3)


def main():
    with tempfile.TemporaryDirectory() as folder:
        b = Bench(sys.argv[1], folder)
        for part in (refused, cut_mirrors, marks, lengths, other_transports, capture_files):
            part(b)
    print("\n".join(b.wrong[:40]) or "as made")
    return 1 if b.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
