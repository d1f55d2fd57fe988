#!/usr/bin/python3
"""loss_gen.py NEAR FAR TRUTH - RoCEv2 streams over a link that drops packets, as two ERSPAN mirrors see them: one at the port that sends into the
link (frames into interface NEAR), one at the port at its far end (FAR). It shares no code with what it tests.

A line "drop RATIO" on standard input sets how many of the data packets the link loses; each receiver answers what is ahead of its sequence with one
NAK, and its sender goes back to it (go-back-N). Streams of the second pair of hosts pass the near mirror only, and nothing of them is lost. TRUTH is
written anew with each change and at the end: {"sent", "dropped"} by queue pair. Ends at the end of standard input."""
import json, os, random, select, socket, struct, sys, time, zlib

PAYLOAD = bytes(1024)
EVERY_S, BATCH = 0.002, 6  # 3,000 data packets a second: what one core sends beside an agent
ACK_EVERY = 4
LOST, SAFE = ("10.1.1.2", "10.1.5.2", 0x100), ("10.1.2.2", "10.1.7.2", 0x200)  # from, to, the first QP
QPS, SAFE_QPS = 8, 4
SEND_ONLY, ACK = 0x04, 0x11


def ip_sum(header):
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def ipv4(src, dst, protocol, n, tos=2):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, tos, 20 + n, 0, 0x4000, 64, protocol, 0, socket.inet_aton(src), socket.inet_aton(dst))
    return head[:10] + struct.pack("!H", ip_sum(head)) + head[12:]


def roce(src, dst, port, opcode, qp, psn, rest):
    """InfiniBand Architecture Specification, annex A17: the ICRC leaves out what routers change."""
    bth = struct.pack("!BBHII", opcode, 0x40, 0xffff, qp, 1 << 31 | psn)
    n = 8 + len(bth) + len(rest) + 4
    ip, udp = ipv4(src, dst, 17, n), struct.pack("!HHHH", port, 4791, n, 0)
    masked = b"\xff" * 8 + ip[:1] + b"\xff" + ip[2:8] + b"\xff" + ip[9:10] + b"\xff\xff" + ip[12:] + udp[:6] + b"\xff\xff" + bth[:4] + b"\xff" + bth[5:] + rest
    return b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + ip + udp + bth + rest + struct.pack("<I", zlib.crc32(masked))


class Mirror:
    """draft-foschiano-erspan-03, type II."""

    def __init__(self, interface, session, source):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.socket.bind((interface, 0))
        self.session, self.source, self.sequence = session, source, 0

    def see(self, frame):
        inner = struct.pack("!HHIHHI", 0x1000, 0x88be, self.sequence, 1 << 12, 3 << 11 | self.session, 7) + frame
        self.sequence = self.sequence + 1 & 0xffffffff
        self.socket.send(b"\2\0\0\0\0\x21\2\0\0\0\0\x22\x08\0" + ipv4(self.source, "10.255.0.1", 47, len(inner), 0) + inner)


class Stream:
    def __init__(self, pair, number, mirrors):
        self.src, self.dst, first = pair
        self.qp, self.answer_qp, self.port = first + number, 0x10000 + first + number, 50000 + number
        self.psn = self.expected = 4096 * number
        self.asked, self.mirrors = False, mirrors
        self.sent = self.dropped = 0

    def answer(self, psn, syndrome):
        frame = roce(self.dst, self.src, self.port, ACK, self.answer_qp, psn, struct.pack("!I", syndrome << 24 | self.expected & 0xffffff))
        for mirror in reversed(self.mirrors):
            mirror.see(frame)

    def arrives(self, psn):
        if psn == self.expected:
            self.expected, self.asked = psn + 1, False
            if psn % ACK_EVERY == 0:
                self.answer(psn, 0)
        elif not self.asked:  # ahead of it: one NAK, until the sequence goes on
            self.asked = True
            self.answer(self.expected, 0x60)
            self.psn, self.asked = self.expected, False  # the sender goes back; what it sends again may be lost, too

    def step(self, random_, ratio):
        psn, frame = self.psn, roce(self.src, self.dst, self.port, SEND_ONLY, self.qp, self.psn & 0xffffff, PAYLOAD)
        self.psn += 1
        self.sent += 1
        self.mirrors[0].see(frame)
        if len(self.mirrors) == 1:
            return self.arrives(psn)
        if random_.random() < ratio:
            self.dropped += 1
            return None
        self.mirrors[1].see(frame)
        return self.arrives(psn)


def main(near, far, truth):
    mirrors = [Mirror(near, 1, "10.255.0.12"), Mirror(far, 2, "10.255.0.23")]
    streams = [Stream(LOST, k, mirrors) for k in range(QPS)] + [Stream(SAFE, k, mirrors[:1]) for k in range(SAFE_QPS)]
    random_, ratio, at, line = random.Random(7), 0.0, 0, b""

    def tell():
        with open(truth + ".new", "w") as f:
            json.dump({"sent": {s.qp: s.sent for s in streams}, "dropped": {s.qp: s.dropped for s in streams}}, f)
        os.replace(truth + ".new", truth)
    while True:
        for _ in range(BATCH):
            streams[at % len(streams)].step(random_, ratio)
            at += 1
        if not select.select([0], [], [], EVERY_S)[0]:
            continue
        read = sys.stdin.buffer.raw.read(4096)
        if not read:
            return tell()
        line += read
        while b"\n" in line:
            word, line = line.split(b"\n", 1)
            ratio = float(word.split()[1])
            tell()


if __name__ == "__main__":
    main(*sys.argv[1:])
