"""agents.py - SNMP agents of made-up switches, for the test beside it: one UDP socket each, SNMPv2c Get, GetNext and GetBulk,
nothing of rocewatch's own. What a switch answers is a table of objects; counters grow with time.

Facts about names, indexes and LLDP rows are those of public walks: EOS 4.2x (Management1, no lldpLocPortIdSubtype), Edgecore SONiC
202111 (ifName "Eth1(Port1)", ifDescr "Ethernet0", eth0 = ifIndex 1000, PortChannelN = 10000 + N), Dell OS9 (ManagementEthernet 1/1,
"fortyGigE 1/50"), Dell OS10 (mgmt1/1/1, "ethernet1/1/49", local port numbers that are no ifIndex).
"""
import bisect
import socket
import threading
import time

INT, STR, OID, C32, G32, TT, C64 = 0x02, 0x04, 0x06, 0x41, 0x42, 0x43, 0x46
NO_OBJECT, END = 0x80, 0x82
SYS, IF, IFX = "1.3.6.1.2.1.1", "1.3.6.1.2.1.2.2.1", "1.3.6.1.2.1.31.1.1.1"
LLDP = "1.0.8802.1.1.2.1"


def arcs(text):
    return tuple(int(p) for p in text.split("."))


# ---- BER (ITU-T X.690), as much as SNMPv2c needs ----

def length(n):
    if n < 128:
        return bytes([n])
    body = n.to_bytes((n.bit_length() + 7) // 8, "big")
    return bytes([128 | len(body)]) + body


def tlv(tag, body):
    return bytes([tag]) + length(len(body)) + body


def integer(tag, value):
    size = max(1, (value.bit_length() + 8) // 8)
    return tlv(tag, value.to_bytes(size, "big", signed=True))


def oid(parts):
    out = bytearray([parts[0] * 40 + parts[1]])
    for p in parts[2:]:
        piece = [p & 127]
        while p > 127:
            p >>= 7
            piece.append(128 | p & 127)
        out += bytes(reversed(piece))
    return tlv(OID, bytes(out))


def value(tag, v):
    if tag == STR:
        return tlv(STR, v if isinstance(v, bytes) else v.encode())
    if tag == OID:
        return oid(arcs(v))
    if tag in (NO_OBJECT, END):
        return tlv(tag, b"")
    return integer(tag, v)


def parse(data, at=0):
    """(tag, body, end)"""
    tag, n, at = data[at], data[at + 1], at + 2
    if n & 128:
        k = n & 127
        n, at = int.from_bytes(data[at:at + k], "big"), at + k
    return tag, data[at:at + n], at + n


def pieces(body):
    at, out = 0, []
    while at < len(body):
        tag, piece, at = parse(body, at)
        out.append((tag, piece))
    return out


def oid_parts(body):
    parts, n = [body[0] // 40, body[0] % 40], 0
    for b in body[1:]:
        n = n << 7 | b & 127
        if not b & 128:
            parts.append(n)
            n = 0
    return tuple(parts)


class Agent(threading.Thread):
    """One switch. @text_order: rows of its interface tables come in the order of their numbers as text. @frozen: sysUpTime stands."""

    def __init__(self, community, text_order=False, frozen=False):
        super().__init__(daemon=True)
        self.community, self.text_order, self.frozen = community.encode(), text_order, frozen
        self.objects, self.order, self.began = {}, [], time.monotonic()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]

    def put(self, text, tag, v):
        self.objects[arcs(text)] = (tag, v)

    def system(self, descr, object_id, name, n):
        self.put(SYS + ".1.0", STR, descr)
        self.put(SYS + ".2.0", OID, object_id)
        self.put(SYS + ".3.0", TT, 5000000 if self.frozen else lambda s: 5000000 + int(100 * s))
        self.put(SYS + ".5.0", STR, name)
        self.put("1.3.6.1.2.1.2.1.0", INT, n)

    def interface(self, i, name, descr, mbps, mtu, alias="", bytes_per_s=0, kind=6):
        for col, tag, v in ((1, INT, i), (2, STR, descr), (3, INT, kind), (4, INT, mtu), (5, G32, min(mbps * 10**6, 2**32 - 1)),
                            (6, STR, bytes([2, 0, 0, 0, i >> 8 & 255, i & 255])), (7, INT, 1), (8, INT, 1), (9, TT, 0), (13, C32, 0),
                            (14, C32, 0), (19, C32, 0), (20, C32, 0)):
            self.put(f"{IF}.{col}.{i}", tag, v)
        self.put(f"{IFX}.1.{i}", STR, name)
        for col, share in ((6, 1), (7, 1 / 1000), (8, 0), (9, 0), (10, 1), (11, 1 / 1000), (12, 0), (13, 0)):
            self.put(f"{IFX}.{col}.{i}", C64, lambda s, share=share: 10**9 + int(share * bytes_per_s * s))
        self.put(f"{IFX}.15.{i}", G32, mbps)
        self.put(f"{IFX}.18.{i}", STR, alias)
        self.put(f"{IFX}.19.{i}", TT, 0)

    def lldp(self, chassis, name):
        self.put(f"{LLDP}.3.1.0", INT, 4)
        self.put(f"{LLDP}.3.2.0", STR, chassis)
        self.put(f"{LLDP}.3.3.0", STR, name)

    def local(self, number, port_id, descr, subtype=None):
        if subtype:
            self.put(f"{LLDP}.3.7.1.2.{number}", INT, subtype)
        self.put(f"{LLDP}.3.7.1.3.{number}", STR, port_id)
        self.put(f"{LLDP}.3.7.1.4.{number}", STR, descr)

    def heard(self, number, chassis, port_id, port_subtype=5, descr="", name="", system="", capabilities=b""):
        at = f"{number}.1"
        for col, tag, v in ((4, INT, 4), (5, STR, chassis), (6, INT, port_subtype), (7, STR, port_id), (8, STR, descr), (9, STR, name),
                            (10, STR, system), (12, STR, capabilities)):
            self.put(f"{LLDP}.4.1.1.{col}.0.{at}", tag, v)

    def begin(self):
        def by_text(o):
            table = any(o[:len(arcs(t))] == arcs(t) for t in (IF, IFX))
            return o[:-1], str(o[-1]) if table else f"{o[-1]:010d}"
        self.order = sorted(self.objects, key=by_text if self.text_order else None)
        self.sorted = sorted(self.objects)
        self.place = {o: i for i, o in enumerate(self.order)}
        self.start()

    def next(self, o):
        """The object behind @o as this agent walks: in its own order where it knows @o."""
        if o in self.place:
            i = self.place[o] + 1
            return self.order[i] if i < len(self.order) else None
        if self.text_order:
            for n in self.order:
                if n[:len(o)] == o:
                    return n
        i = bisect.bisect_right(self.sorted, o)
        return self.sorted[i] if i < len(self.sorted) else None

    def varbind(self, o):
        tag, v = self.objects[o]
        if callable(v):
            v = v(time.monotonic() - self.began)
        return tlv(0x30, oid(o) + value(tag, v))

    def answer(self, request):
        _, message, _ = parse(request)
        (_, version), (_, community), (kind, pdu) = pieces(message)
        if community != self.community or version != b"\1":
            return None
        (_, request_id), (_, a), (_, b), (_, binds) = pieces(pdu)
        asked = [oid_parts(pieces(bind)[0][1]) for _, bind in pieces(binds)]
        out = []
        if kind == 0xA0:
            for o in asked:
                out.append(self.varbind(o) if o in self.objects else tlv(0x30, oid(o) + value(NO_OBJECT, None)))
        else:
            repeat, skip = 1, len(asked)
            if kind == 0xA5:
                skip, repeat = int.from_bytes(a, "big"), int.from_bytes(b, "big")

            def step(o):
                n = self.next(o)
                out.append(self.varbind(n) if n else tlv(0x30, oid(o) + value(END, None)))
                return n or o
            for o in asked[:skip]:
                step(o)
            row = asked[skip:]
            for _ in range(repeat if row else 0):
                row = [step(o) for o in row]
                if sum(map(len, out)) > 1200:
                    break
        body = tlv(0x02, request_id) + integer(INT, 0) + integer(INT, 0) + tlv(0x30, b"".join(out))
        return tlv(0x30, integer(INT, 1) + tlv(STR, community) + tlv(0xA2, body))

    def run(self):
        while True:
            data, peer = self.socket.recvfrom(65536)
            try:
                reply = self.answer(data)
            except (IndexError, ValueError):
                reply = None
            if reply:
                self.socket.sendto(reply, peer)
