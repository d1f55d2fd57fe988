"""sflow - encodes sFlow version 5 datagrams and RoCEv2 frames for tests. Written from the texts of sflow.org (sFlow Version 5;
Dropped Packet Notification, Egress Queue and Transit Delay structures) and from the InfiniBand specification, not from the decoder."""
import ipaddress
import struct

ETHERNET, IPV4, IPV6, PPP = 1, 11, 12, 7
UNKNOWN = 0xffffffff


def u32(*values):
    return struct.pack(">%dI" % len(values), *values)


def opaque(data):
    return u32(len(data)) + data + bytes(-len(data) % 4)


def structure(tag, data, enterprise=0):
    """A structure with its format and its length."""
    return u32(enterprise << 12 | tag) + opaque(data)


def address(text):
    if text is None:
        return u32(0)
    ip = ipaddress.ip_address(text)
    return u32(1 if ip.version == 4 else 2) + ip.packed


# ---- frames ------------------------------------------------------------------

def roce(src="10.0.0.1", dst="10.0.0.2", qp=0x45, psn=0, opcode=0x0a, sport=49152, payload=1024, ecn=2, vlan=None, dscp=26, ttl=64, ack=None):
    """An Ethernet frame without FCS. The ICRC is left zero: a sampled header is cut before it."""
    extension = b""
    if opcode in (0x06, 0x0a):
        extension = struct.pack(">QII", 0x1000, 7, payload)
    if opcode == 0x11 or ack is not None:
        extension = struct.pack(">I", (ack or 0) << 24 | 1)
    bth = struct.pack(">BBHII", opcode, 0x40, 0xffff, qp, psn) + extension + bytes(payload) + bytes(4)
    udp = struct.pack(">HHHH", sport, 4791, 8 + len(bth), 0) + bth
    a, b = ipaddress.ip_address(src), ipaddress.ip_address(dst)
    if a.version == 4:
        ip = struct.pack(">BBHHHBBH", 0x45, dscp << 2 | ecn, 20 + len(udp), psn & 0xffff, 0x4000, ttl, 17, 0) + a.packed + b.packed
    else:
        ip = struct.pack(">IHBB", 6 << 28 | (dscp << 2 | ecn) << 20, len(udp), 17, ttl) + a.packed + b.packed
    tag = b"" if vlan is None else struct.pack(">HH", 0x8100, vlan)
    return bytes.fromhex("020000000002020000000001") + tag + struct.pack(">H", 0x0800 if a.version == 4 else 0x86dd) + ip + udp


def udp_frame(src, dst, sport, dport, payload):
    """Ethernet, IP and UDP around @payload."""
    a, b = ipaddress.ip_address(src), ipaddress.ip_address(dst)
    udp = struct.pack(">HHHH", sport, dport, 8 + len(payload), 0) + payload
    if a.version == 4:
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0) + a.packed + b.packed
        total = sum(struct.unpack(">10H", head))
        while total >> 16:
            total = (total & 0xffff) + (total >> 16)
        ip = head[:10] + struct.pack(">H", ~total & 0xffff) + head[12:]
    else:
        ip = struct.pack(">IHBB", 6 << 28, len(udp), 17, 64) + a.packed + b.packed
    return bytes.fromhex("020000000009020000000008") + struct.pack(">H", 0x0800 if a.version == 4 else 0x86dd) + ip + udp


# ---- records -----------------------------------------------------------------

def raw_header(frame, cut=128, protocol=ETHERNET, fcs=True):
    """Raw packet header (0:1). An Ethernet frame's length counts its FCS, which is stripped."""
    if protocol == ETHERNET:
        return structure(1, u32(protocol, len(frame) + (4 if fcs else 0), 4 if fcs else 0) + opaque(frame[:cut]))
    packet = frame[14:]
    return structure(1, u32(protocol, len(packet), 0) + opaque(packet[:cut]))


def switch(in_vlan, in_priority, out_vlan, out_priority):
    return structure(1001, u32(in_vlan, in_priority, out_vlan, out_priority))


def egress_queue(queue):
    return structure(1036, u32(queue))


def transit_delay(ns):
    return structure(1039, u32(ns))


def queue_depth(count):
    return structure(1040, u32(count))


def router(next_hop="10.9.9.9"):
    """A record that rocewatch does not read (extended router, 0:1002)."""
    return structure(1002, address(next_hop) + u32(24, 24))


def interface_counters(ifindex, in_octets=0, out_octets=0, speed=100_000_000_000, unicast_in=0, unicast_out=0, discards=(0, 0), errors=(0, 0)):
    return structure(1, u32(ifindex, 6) + struct.pack(">Q", speed) + u32(1, 3) + struct.pack(">Q", in_octets) +
                     u32(unicast_in, 0, 0, discards[0], errors[0], UNKNOWN) + struct.pack(">Q", out_octets) +
                     u32(unicast_out, 0, 0, discards[1], errors[1], 0))


def ethernet_counters(fcs=0, symbol=0):
    return structure(2, u32(0, fcs, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, symbol))


# ---- samples -----------------------------------------------------------------

def records(items):
    return u32(len(items)) + b"".join(items)


def flow(sequence, source, sampling, pool, items, drops=0, inp=0, out=0):
    """Compact flow sample (0:1). @out above 2^30 as the specification writes it."""
    return structure(1, u32(sequence, source, sampling, pool, drops, inp, out) + records(items))


def flow_expanded(sequence, source, sampling, pool, items, drops=0, inp=(0, 0), out=(0, 0)):
    """Expanded flow sample (0:3): interfaces as (format, value)."""
    return structure(3, u32(sequence, 0, source, sampling, pool, drops, *inp, *out) + records(items))


def counters(sequence, source, items):
    return structure(2, u32(sequence, source) + records(items))


def counters_expanded(sequence, source, items):
    return structure(4, u32(sequence, 0, source) + records(items))


def discard(sequence, source, reason, items, drops=0, inp=0, out=0):
    """Drop notification (0:5)."""
    return structure(5, u32(sequence, 0, source, drops, inp, out, reason) + records(items))


def datagram(sequence, samples, agent="192.0.2.11", sub_agent=0, uptime_ms=1000, version=5):
    return u32(version) + address(agent) + u32(sub_agent, sequence, uptime_ms, len(samples)) + b"".join(samples)


# ---- capture files -----------------------------------------------------------

def pcap(frames, step_ns=1_000_000, start_ns=1_700_000_000_000_000_000):
    """A pcap file with nanoseconds, link type Ethernet."""
    out = [struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 262144, 1)]
    for i, frame in enumerate(frames):
        t = start_ns + i * step_ns
        out.append(struct.pack("<IIII", t // 10**9, t % 10**9, len(frame), len(frame)) + frame)
    return b"".join(out)
