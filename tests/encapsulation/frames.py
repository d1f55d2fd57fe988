"""Frames of RoCEv2, of every opcode, and the headers of tunnels and mirrors around them.

Written from the specifications: InfiniBand Architecture Specification vol. 1, chapter 9 and annex A17; RFC 791, 8200, 768, 2784,
2890, 3032, 4385, 4448, 4023, 7510, 7348, 8926, 2003, 4213, 2473, 8754, 8986, 3378, 8086; draft-foschiano-erspan-03;
draft-ietf-nvo3-vxlan-gpe; draft-ietf-opsawg-pcap and -pcapng; Ultra Ethernet Specification 1.0.1. Nothing is shared with the
decoder under test.
"""
import ipaddress
import struct
import zlib

RETH, ATOMIC, AETH, ATOMIC_ACK, IMMEDIATE = "reth", "atomic", "aeth", "atomic_ack", "immediate"

# operation: name, extension headers behind those of the transport, request?, carries payload?
OPERATIONS = {
    0x00: ("SEND_FIRST", [], True, True), 0x01: ("SEND_MIDDLE", [], True, True), 0x02: ("SEND_LAST", [], True, True),
    0x03: ("SEND_LAST_WITH_IMMEDIATE", [IMMEDIATE], True, True), 0x04: ("SEND_ONLY", [], True, True),
    0x05: ("SEND_ONLY_WITH_IMMEDIATE", [IMMEDIATE], True, True), 0x06: ("RDMA_WRITE_FIRST", [RETH], True, True),
    0x07: ("RDMA_WRITE_MIDDLE", [], True, True), 0x08: ("RDMA_WRITE_LAST", [], True, True),
    0x09: ("RDMA_WRITE_LAST_WITH_IMMEDIATE", [IMMEDIATE], True, True), 0x0a: ("RDMA_WRITE_ONLY", [RETH], True, True),
    0x0b: ("RDMA_WRITE_ONLY_WITH_IMMEDIATE", [RETH, IMMEDIATE], True, True), 0x0c: ("RDMA_READ_REQUEST", [RETH], True, False),
    0x0d: ("RDMA_READ_RESPONSE_FIRST", [AETH], False, True), 0x0e: ("RDMA_READ_RESPONSE_MIDDLE", [], False, True),
    0x0f: ("RDMA_READ_RESPONSE_LAST", [AETH], False, True), 0x10: ("RDMA_READ_RESPONSE_ONLY", [AETH], False, True),
    0x11: ("ACKNOWLEDGE", [AETH], False, False), 0x12: ("ATOMIC_ACKNOWLEDGE", [AETH, ATOMIC_ACK], False, False),
    0x13: ("COMPARE_SWAP", [ATOMIC], True, False), 0x14: ("FETCH_ADD", [ATOMIC], True, False), 0x15: ("RESYNC", [], True, False),
    0x16: ("SEND_LAST_WITH_INVALIDATE", [IMMEDIATE], True, True), 0x17: ("SEND_ONLY_WITH_INVALIDATE", [IMMEDIATE], True, True),
}
# transport: name, code, operations, header on every packet, header on requests
TRANSPORTS = [
    ("RC", 0x00, [o for o in OPERATIONS if o != 0x15], 0, 0), ("UC", 0x20, range(0x0c), 0, 0), ("RD", 0x40, range(0x16), 4, 8),
    ("UD", 0x60, [0x04, 0x05], 0, 8), ("XRC", 0xa0, [o for o in OPERATIONS if o != 0x15], 0, 4),
]
CNP = 0x81
SIZES = {RETH: 16, ATOMIC: 28, AETH: 4, ATOMIC_ACK: 8, IMMEDIATE: 4}


def opcodes():
    """{opcode: (name, bytes of extension headers, has payload)}: all that are defined."""
    out = {CNP: ("CNP", 16, False)}
    for name, code, operations, always, on_request in TRANSPORTS:
        for o in operations:
            text, extensions, request, payload = OPERATIONS[o]
            out[code | o] = (f"{name}_{text}", always + (on_request if request else 0) + sum(SIZES[e] for e in extensions), payload)
    return out


OPCODES = opcodes()


# ---- IP and UDP ----------------------------------------------------------

def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xffff:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ip4(src, dst, protocol, payload, tos=0, identification=0, flags=0x4000, ttl=64, longer=0):
    head = struct.pack(">BBHHHBBH4s4s", 0x45, tos, 20 + len(payload) + longer, identification & 0xffff, flags, ttl, protocol, 0,
                       ipaddress.IPv4Address(src).packed, ipaddress.IPv4Address(dst).packed)
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def ip6(src, dst, following, payload, traffic=0, label=0, hops=64, longer=0):
    return struct.pack(">IHBB16s16s", 6 << 28 | traffic << 20 | label, len(payload) + longer, following, hops,
                       ipaddress.IPv6Address(src).packed, ipaddress.IPv6Address(dst).packed) + payload


def ip(family, host, protocol, payload, **more):
    """A packet between two switches: outer headers of tunnels."""
    if family == 4:
        return ip4(f"172.16.0.{host}", f"172.16.1.{host}", protocol, payload, **more)
    return ip6(f"fd16::{host:x}", f"fd16:1::{host:x}", protocol, payload, **more)


def udp(sport, dport, payload, longer=0):
    return struct.pack(">HHHH", sport, dport, 8 + len(payload) + longer, 0) + payload


# ---- RoCEv2 --------------------------------------------------------------

def roce(family, opcode, qp, psn, ecn=2, payload=64, dma=None):
    """An IP packet with a right ICRC."""
    name, extension, has_payload = OPCODES[opcode]
    body = bytes((psn * 5 + i) & 0xff for i in range(payload if has_payload else 0))
    headers = bytearray(extension)
    if "WRITE" in name and extension >= 16 and ("FIRST" in name or "ONLY" in name):
        at = extension - (20 if "IMMEDIATE" in name else 16)
        struct.pack_into(">QII", headers, at, 0x7f0000000000, 0x1234, dma if dma is not None else payload)
    bth = struct.pack(">BBHII", opcode, 0x40, 0xffff, (0x40 << 24 if opcode == CNP else 0) | qp, psn)
    inside = bth + bytes(headers) + body
    sport = 49152 + (qp & 0x3fff)
    head = udp(sport, 4791, inside + b"\0\0\0\0")[:8]
    tos = 26 << 2 | ecn
    if family == 4:
        whole = ip4("10.0.0.1", "10.0.0.2", 17, head + inside + b"\0\0\0\0", tos, psn)
        masked = bytearray(whole[:-4])
        masked[1] = masked[8] = masked[10] = masked[11] = 0xff
        at = 20
    else:
        whole = ip6("fd00::1", "fd00::2", 17, head + inside + b"\0\0\0\0", tos, 0xabcde)
        masked = bytearray(whole[:-4])
        masked[0] |= 0x0f
        masked[1:4] = b"\xff\xff\xff"
        masked[7] = 0xff
        at = 40
    masked[at + 6] = masked[at + 7] = 0xff
    masked[at + 8 + 4] = 0xff
    icrc = struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(masked)))
    return whole[:-4] + icrc


def ethernet(payload, ethertype, tags=(), host=1):
    """@tags: (ethertype of the tag, priority, id), the outermost first."""
    out = bytes([2, 0, 0, 0, 1, host, 2, 0, 0, 0, 0, host])
    for kind, priority, vlan in tags:
        out += struct.pack(">HH", kind, priority << 13 | vlan)
    return out + struct.pack(">H", ethertype) + payload


def of_ip(packet, tags=(), host=1):
    return ethernet(packet, 0x0800 if packet[0] >> 4 == 4 else 0x86dd, tags, host)


def rocev1(opcode, qp, psn):
    inside = struct.pack(">BBHII", opcode, 0x40, 0xffff, qp, psn) + bytes(16) + bytes(36)
    return ethernet(ip6("fe80::1", "fe80::2", 0x1b, inside), 0x8915)


# ---- tunnels: each returns ("ether", type, bytes), ("ip", protocol, bytes) or ("udp", port, bytes) ---------------

def gre(kind, payload, key=None, sequence=None, check=False, flags=0):
    options = b""
    if check:
        flags |= 0x8000
        options += bytes(4)
    if key is not None:
        flags |= 0x2000
        options += struct.pack(">I", key)
    if sequence is not None:
        flags |= 0x1000
        options += struct.pack(">I", sequence)
    return "ip", 47, struct.pack(">HH", flags, kind) + options + payload


def labels(*values):
    out = b""
    for i, value in enumerate(values):
        out += struct.pack(">I", value << 12 | (i == len(values) - 1) << 8 | 64)
    return out


def ip_type(packet):
    return 0x0800 if packet[0] >> 4 == 4 else 0x86dd


def erspan2(frame, session, port, vlan=100, cos=3, encapsulation=0, truncated=0, sequence=7):
    head = struct.pack(">HHI", 1 << 12 | vlan, cos << 13 | encapsulation << 11 | truncated << 10 | session, port)
    return gre(0x88be, head + frame, sequence=sequence)


def erspan3(frame, session, direction=0, platform=None, port=0, vlan=100, cos=3, truncated=0, kind=0, granularity=2):
    head = struct.pack(">HHIHH", 2 << 12 | vlan, cos << 13 | truncated << 10 | session, 0x12345678, 0,
                       0x8000 | kind << 10 | direction << 3 | granularity << 1 | (platform is not None))
    if platform is not None:
        head += struct.pack(">II", platform << 26 | (0 if platform == 1 else port), port if platform == 1 else 0x55)
    return gre(0x22eb, head + frame, sequence=9)


def vxlan(frame, port=4789, flags=8):
    return "udp", port, struct.pack(">BBHI", flags, 0, 0, 5000 << 8) + frame


def vxlan_gpe(payload, following, flags=0x0c):
    return "udp", 4790, struct.pack(">BBBBI", flags, 0, 0, following, 5000 << 8) + payload


def geneve(payload, kind, options=b"", version=0):
    return "udp", 6081, struct.pack(">BBHI", version << 6 | len(options) // 4, 0, kind, 5000 << 8) + options + payload


def segments(packet, protocol):
    """A segment routing header with two segments, then @packet."""
    a, b = ipaddress.IPv6Address("fd16:2::1").packed, ipaddress.IPv6Address("fd16:2::2").packed
    return "ip6", 43, struct.pack(">BBBBBBH", protocol, 4, 4, 1, 1, 0, 0) + a + b + packet


def tzsp(frame, encapsulation=1):
    return "udp", 37008, struct.pack(">BBH", 1, 0, encapsulation) + b"\x29\x02\x05\xdc" + b"\x00" + b"\x01" + frame


def put(layer, family, host=9, tags=()):
    """The tunnel on the wire: an Ethernet frame."""
    if layer[0] == "ether":
        return ethernet(layer[2], layer[1], tags, host)
    return of_ip(packet_of(layer, family, host), tags, host)


def packet_of(layer, family, host=9):
    """The tunnel's IP packet."""
    kind, number, payload = layer
    if kind == "udp":
        return ip(family, host, 17, udp(50000 + host, number, payload))
    return ip(6 if kind == "ip6" else family, host, number, payload)


# ---- capture files -------------------------------------------------------

def write_pcap(path, frames, link=1, snap=0):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 262144, link))
        for i, frame in enumerate(frames):
            kept = frame[:snap] if snap else frame
            out.write(struct.pack("<IIII", 1700000000, i * 20000, len(kept), len(frame)) + kept)


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def option(code, value):
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def section():
    return block(0x0a0d0d0a, struct.pack("<IHHq", 0x1a2b3c4d, 1, 0, -1))


def interface(link, name=b"eth0"):
    return block(1, struct.pack("<HHI", link, 0, 0) + option(2, name) + option(9, b"\x09") + bytes(4))


def enhanced(number, t_ns, frame, options=b"", wire=None):
    return block(6, struct.pack("<IIIII", number, t_ns >> 32, t_ns & 0xffffffff, len(frame), wire or len(frame)) + frame +
                 bytes(-len(frame) % 4) + options)


def write_pcapng(path, frames):
    """Frames in turn on two interfaces, and the sections' numbers begin anew in the middle."""
    with open(path, "wb") as out:
        for i, frame in enumerate(frames):
            if i in (0, len(frames) // 2):
                out.write(section() + interface(1, b"eth0") + interface(1, b"eth1"))
            out.write(enhanced(i % 2, 1700000000000000000 + i * 20000, frame))
