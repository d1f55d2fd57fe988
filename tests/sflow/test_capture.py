#!/usr/bin/env python3
"""sFlow inside captures: what the encoder wrote is what "rocewatch pcap" says; tshark is asked for what it reads, too.

usage: test_capture.py ROCEWATCH"""
import collections
import json
import random
import subprocess
import sys
import tempfile

import sflow as S

ROCEWATCH = sys.argv[1]
FAILED = []


def check(what, got, want):
    if got != want:
        FAILED.append(what)
        print("%s: got %r, expected %r" % (what, got, want))


def between(what, low, value, high):
    if not (low is not None and high is not None and low <= value <= high):
        FAILED.append(what)
        print("%s: %r is not between %r and %r" % (what, value, low, high))


def report(frames):
    with tempfile.NamedTemporaryFile(suffix=".pcap") as f:
        f.write(S.pcap(frames))
        f.flush()
        run = subprocess.run([ROCEWATCH, "--format", "json", "pcap", f.name], capture_output=True, text=True)
        if run.returncode not in (0, 1) or not run.stdout:
            raise SystemExit("rocewatch pcap failed: %s" % run.stderr)
        return json.loads(run.stdout)


def udp(payload, src="192.0.2.11"):
    return S.udp_frame(src, "192.0.2.1", 50000, 6343, payload)


def all_kinds():
    """Every kind of sample, both encodings, both IP versions, headers of each protocol."""
    a = S.roce("10.0.0.1", "10.0.0.2", qp=0x45, psn=1000, sport=50001, ecn=3)
    b = S.roce("fd00::1", "fd00::2", qp=0x46, psn=7, sport=50002, opcode=0x04)
    c = S.roce("10.0.0.3", "10.0.0.2", qp=0x47, psn=9, vlan=101)
    cnp = S.roce("10.0.0.2", "10.0.0.1", qp=0x99, opcode=0x81, payload=12)
    extended = [S.switch(100, 3, 200, 3), S.egress_queue(3), S.transit_delay(90_000), S.queue_depth(250_000), S.router()]
    first = S.datagram(10, [
        S.flow(1, 7, 1000, 1000, [S.raw_header(a)] + extended, inp=7, out=9),
        S.flow_expanded(1, 0x01000008, 1000, 1000, [S.raw_header(b)], inp=(0, 0x01000008), out=(0, 9)),
        S.counters(1, 7, [S.interface_counters(7, in_octets=1 << 40, out_octets=5, unicast_in=77), S.ethernet_counters(fcs=3)]),
        S.structure(4413, b"vendor's own", enterprise=4413),
    ])
    second = S.datagram(11, [
        S.flow(2, 7, 1000, 2000, [S.raw_header(c), S.egress_queue(3), S.transit_delay(10_000)], inp=7, out=9),
        S.flow(3, 7, 1000, 3000, [S.raw_header(cnp, protocol=S.IPV4)], inp=7, out=0),
        S.flow(4, 7, 1000, 4000, [S.raw_header(b, protocol=S.IPV6)], inp=7, out=1 << 31 | 2),
        S.flow(5, 7, 1000, 5000, [S.raw_header(a, protocol=S.PPP)], inp=7, out=9),
        S.counters_expanded(2, 7, [S.interface_counters(7)]),
        S.discard(1, 7, 259, [S.raw_header(a)], inp=7, out=9),
        S.discard(2, 7, 259, [S.raw_header(a)], inp=7, out=9, drops=4),
        S.discard(3, 7, 257, [], inp=7),
    ], agent="2001:db8::11", sub_agent=2)
    return [udp(first), udp(second)]


def test_kinds():
    frames = all_kinds()
    doc = report(frames)
    s = doc["sflow"]
    check("datagrams", s["datagrams"], 2)
    check("agents", s["agents"], 2)
    check("flow samples", s["flow_samples"], 6)
    check("counter samples", s["counter_samples"], 2)
    check("notifications", s["drop_notifications"], 3)
    check("discards", s["discards"], {"no_buffer_space": 2, "ttl_exceeded": 1})
    check("left out", s["discards_left_out"], 4)
    check("skipped", {k: s["errors"][k] for k in ("skipped_samples", "skipped_records")}, {"skipped_samples": 1, "skipped_records": 2})
    check("discarded flow", [(d["src"], d["dst_qp"], d["reason"], d["notifications"]) for d in s["discard_flows"]],
          [("10.0.0.1", 0x45, "no_buffer_space", 2), (None, None, "ttl_exceeded", 1)])
    check("frames", doc["packets"], 2)
    check("roce", doc["roce_packets"], 5)
    check("queue pairs", sorted((q["src"], q["dst"], q["dst_qp"], q["packets"]) for q in doc["qps"]),
          sorted([("10.0.0.1", "10.0.0.2", 0x45, 1), ("fd00::1", "fd00::2", 0x46, 2), ("10.0.0.3", "10.0.0.2", 0x47, 1),
                  ("10.0.0.2", "10.0.0.1", 0x99, 1)]))
    check("verdict", [v["n"] for v in doc["verdicts"] if v["kind"] == "sflow_discards"], [2])
    queue = {q["agent"]: q for q in s["queues"]}
    check("queue", [(q["ifindex"], q["queue"], q["delay_max_ns"], q["depth_max_bytes"]) for q in (queue["192.0.2.11"], queue["2001:db8::11"])],
          [(9, 3, 90_000, 250_000), (9, 3, 10_000, None)])
    check("worst queue first", s["queues"][0]["agent"], "192.0.2.11")
    check("no order is judged", (doc.get("gaps") or 0, doc.get("retransmits") or 0, doc.get("duplicates") or 0), (0, 0, 0))


def tshark(frames, *fields):
    with tempfile.NamedTemporaryFile(suffix=".pcap") as f:
        f.write(S.pcap(frames))
        f.flush()
        args = ["tshark", "-r", f.name, "-T", "fields", "-E", "occurrence=a", "-E", "aggregator=,"]
        for field in fields:
            args += ["-e", field]
        run = subprocess.run(args, capture_output=True, text=True)
        rows = [line.split("\t") for line in run.stdout.split("\n") if line]
        return [[[v for v in column.split(",") if v] for column in row] for row in rows]


def test_tshark():
    try:
        subprocess.run(["tshark", "--version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        print("tshark is not installed: its half is skipped")
        return
    frames = all_kinds() + traffic(seed=3, datagrams=40)[0]
    doc = report(frames)
    rows = tshark(frames, "sflow_245.sampletype", "sflow_245.numsamples", "infiniband.bth.destqp", "sflow_245.sequence_number", "infiniband.bth.opcode")
    kinds = collections.Counter(int(k) for row in rows for k in row[0])
    check("tshark: flow samples", doc["sflow"]["flow_samples"], kinds[1] + kinds[3])
    check("tshark: counter samples", doc["sflow"]["counter_samples"], kinds[2] + kinds[4])
    check("tshark: samples in all", sum(int(n) for row in rows for n in row[1]),
          doc["sflow"]["flow_samples"] + doc["sflow"]["counter_samples"] + doc["sflow"]["drop_notifications"] + doc["sflow"]["errors"]["skipped_samples"])
    qps = collections.Counter(int(q, 0) for row in rows for q in row[2])
    ours = collections.Counter()
    for q in doc["qps"]:
        ours[q["dst_qp"]] += q["packets"]
    # of drop notifications tshark reads nothing, and we count their packets apart
    check("tshark: queue pairs", dict(ours), dict(qps))


def traffic(seed, datagrams, sampling=512, lose=0):
    """Sampled traffic of known truth: (frames, packets by queue pair, octets, datagrams left out)."""
    rng = random.Random(seed)
    flows = [(0x100 + i, 2 ** (i % 4), 200 + 900 * (i % 2)) for i in range(8)]
    total = sum(w for _, w, _ in flows)
    pool, sequence, frames, truth, octets, lost = 0, 0, [], collections.Counter(), 0, 0
    next_sample = rng.randrange(1, 2 * sampling)
    for d in range(datagrams):
        samples = []
        while len(samples) < 6:
            # the packets that are not taken
            for qp, weight, size in flows:
                n = next_sample * weight // total
                truth[qp] += n
                octets += n * (size + 14 + 20 + 8 + 12 + 16 + 4)
            pool += next_sample
            qp, _, size = rng.choices(flows, [w for _, w, _ in flows])[0]
            sequence += 1
            frame = S.roce("10.1.0.1", "10.2.0.%d" % (qp & 15), qp=qp, psn=rng.randrange(1 << 24), sport=49152 + qp, payload=size)
            samples.append(S.flow(sequence, 3, sampling, pool, [S.raw_header(frame)], inp=3, out=4))
            next_sample = rng.randrange(1, 2 * sampling)
        if lose and 0 < d < datagrams - 1 and rng.random() < lose:  # one lost at an end leaves no gap
            lost += 1
            continue
        frames.append(udp(S.datagram(1000 + d, samples, uptime_ms=10_000 + d * 100, agent="192.0.2.33")))
    return frames, truth, octets, lost


def test_estimates():
    """19 of 20 intervals hold the truth; over 60 of them less than 85 % would be no accident."""
    held = held_octets = n = 0
    for seed in range(12):
        frames, truth, octets, lost = traffic(seed, 60, lose=0.3 if seed % 2 else 0)
        s = report(frames)["sflow"]
        check("lost datagrams", s["lost_datagrams"], lost)
        e = s["estimated_packets"]
        n += 1
        held += e["low"] <= sum(truth.values()) <= e["high"]
        held_octets += s["estimated_octets"]["low"] <= octets <= s["estimated_octets"]["high"]
        # flows, each with its own
        by_qp = {f["dst_qp"]: f["estimated_packets"] for f in s["flows"]}
        for qp, packets in truth.items():
            n += 1
            f = by_qp.get(qp)
            ok = f is not None and f["low"] <= packets <= f["high"]
            held += ok
    if held < 0.85 * n or held_octets < 9:
        FAILED.append("estimates")
        print("only %d of %d intervals hold the truth, %d of 12 for octets" % (held, n, held_octets))
    frames, *_ = traffic(1, 30)
    s = report(frames)["sflow"]
    c, e = s["roce_samples"], s["estimated_packets"]
    between("relative error", 0.95 * 196 * (1 / c) ** 0.5, 100 * (e["high"] - e["value"]) / e["value"], 196 * (1 / c) ** 0.5)


def test_loss_and_damage():
    frame = S.roce(psn=5)
    one = [S.flow(1, 7, 100, 100, [S.raw_header(frame)], inp=7, out=9)]
    good = S.datagram(1, one)
    doc = report([udp(good), udp(good[:60]), udp(S.datagram(9, one)), udp(S.datagram(3, one)), udp(S.datagram(1, one, version=4)),
                  udp(b"not sflow at all"), udp(S.datagram(10, [S.structure(1, S.u32(1, 7, 100))]))])
    s = doc["sflow"]
    check("lost", s["lost_datagrams"], 6)  # 2 to 8 without 3
    check("other versions", s["errors"].get("other_versions"), 1)
    check("bad datagrams", s["errors"].get("bad_datagrams"), 3)
    check("verdict of loss", len([v for v in doc["verdicts"] if v["kind"] == "sflow_lost"]), 1)


def test_blame():
    """Two queue pairs in one queue: the small one waited, the large one passed; the one that waited filled the queue."""
    elephant = S.roce("10.0.0.1", "10.0.0.9", qp=0x11, payload=4096)
    victim = S.roce("10.0.0.2", "10.0.0.9", qp=0x22, payload=1024)
    samples = []
    for i in range(20):
        frame, delay = (elephant, 800_000) if i % 2 else (victim, 800_000)
        samples.append(S.flow(i + 1, 7, 2000, 2000 * i, [S.raw_header(frame), S.egress_queue(3), S.transit_delay(delay)], inp=7, out=9))
    s = report([udp(S.datagram(1, samples))])["sflow"]
    top = s["queues"][0]["top"]
    check("most of the queue", top[0]["dst_qp"], 0x11)
    between("its share", 0.75, top[0]["share"], 0.82)
    check("measure", s["queues"][0]["ranked_by"], "octets*delay")


def test_xray():
    """The sampled output ports of 300 flows follow the lower bits of an XOR."""
    flows = [(i % 5, i // 5 % 7, 49152 + i * 40503 % 16384) for i in range(300)]
    samples = [S.flow(i + 1, 3, 1000, 1000 * i, [S.raw_header(S.roce("10.0.0.%d" % a, "10.0.1.%d" % b, sport=p))], inp=3, out=10 + ((a ^ b ^ p) & 3))
               for i, (a, b, p) in enumerate(flows)]
    with tempfile.NamedTemporaryFile(suffix=".pcap") as f:
        f.write(S.pcap([udp(S.datagram(i + 1, [sample])) for i, sample in enumerate(samples)]))
        f.flush()
        run = subprocess.run([ROCEWATCH, "xray", "learn", f.name, "--format", "json"], capture_output=True, text=True)
    group = json.loads(run.stdout)["groups"][0]
    check("learned", (run.returncode, group["device"], group["members"], group["right_ratio"]), (0, "192.0.2.11", 4, 1))


test_kinds()
test_xray()
test_tshark()
test_estimates()
test_loss_and_damage()
test_blame()
if FAILED:
    raise SystemExit("failed: %s" % ", ".join(FAILED))
print("ok")
