#!/usr/bin/env python3
"""make_cases FOLDER - writes fabric.yaml and samples.tsv of the cases of congestion and lossless_loss, as an engineer would record them: few metrics, rates held
for as long as the case lasts, counters that start anywhere. A case is a function; build golden_analyzers_update and golden_inputs_update, and read the
diff."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import inputs

G = 1_000_000_000


class Case:
    def __init__(self, analyzer, name, title, step=5, length=40):
        self.case = f"{analyzer}/{name}"
        self.title, self.step, self.length = title, step, length
        self.devices, self.links, self.more, self.series = [], [], [], []

    def leaf(self, *names):
        self.devices += [f"  - {{ name: {n}, role: leaf }}" for n in names]

    def spine(self, *names):
        self.devices += [f"  - {{ name: {n}, role: spine }}" for n in names]

    def link(self, a, b, speed="400G", cable="5m"):
        self.links.append(f'  - {{ a: "{a}", b: "{b}", speed: {speed}, cable: {cable} }}')

    def say(self, *lines):
        self.more += lines

    def rate(self, where, priority, metric, per_s, start=None, until=None, turn=None):
        """A counter that grows by per_s; where: "device:port"; turn: (period, from, to), it grows only then."""
        self.series.append((where, priority, metric, start if start is not None else 7_000_000 + 1013 * len(self.series), per_s, turn or until))

    def value(self, where, priority, metric, value, window=None):
        """A setting, told once; with a window a watermark, told each time."""
        self.series.append((where, priority, metric, value, None, window))

    def write(self):
        with inputs.create(self.case, "fabric.yaml") as f:
            f.write("\n".join([f"# {self.title}", "fabric: golden", "devices:", *self.devices, "links:", *self.links, *self.more]) + "\n")
        with inputs.create(self.case, "samples.tsv") as f:
            f.write(f"# {self.title}\n# time_s\tdevice\tport\tpriority\tmetric\tvalue\n")
            for t in range(0, self.length + 1, self.step):
                for where, priority, metric, start, per_s, last in self.series:
                    device, _, port = where.partition(":")
                    head = f"{t}\t{device}\t{port or '-'}\t{priority}\t{metric}"
                    if per_s is None and last:
                        if t:
                            f.write(f"{head}\t{start}\t-\t{last}\n")
                    elif per_s is None:
                        if t == 0:
                            f.write(f"{head}\t{start}\n")
                    else:
                        f.write(f"{head}\t{int(start + per_s * grown_s(t, last))}\n")


def grown_s(t, limit):
    """For how many of the first t seconds a counter grew."""
    if limit is None:
        return t
    if not isinstance(limit, tuple):
        return min(t, limit)
    period, begin, end = limit
    return t // period * (end - begin) + min(max(t % period - begin, 0), end - begin)


LOSSLESS = "lossless: { priorities: [3], mtu: 4200B }"


def load(c, port, share, speed=400 * G, marks=None, tx_ms=0.0, rx_ms=None):
    """Traffic of a port out of its queue, marks as a share of packets, pause in ms a second."""
    packets = share * speed / 8 / 4200
    c.rate(port, "-", "port.out_octets", share * speed / 8)
    c.rate(port, 3, "queue.out_packets", packets)
    if marks is not None:
        c.rate(port, 3, "queue.ecn_marked", packets * marks)
    if tx_ms is not None:
        c.rate(port, 3, "pfc.tx_pause_ns", tx_ms * 1e6)
    if rx_ms is not None:
        c.rate(port, 3, "pfc.rx_pause_ns", rx_ms * 1e6)


def two_leaves(c, hosts=4):
    """leaf1 and leaf2 with hosts at Ethernet1..n, two uplinks each at Ethernet49 and 50."""
    c.leaf("leaf1", "leaf2")
    c.spine("spine1", "spine2")
    for leaf in (1, 2):
        for n in range(1, hosts + 1):
            c.link(f"leaf{leaf}:Ethernet{n}", f"host:node-{(leaf - 1) * hosts + n:03}")
        for s in (1, 2):
            c.link(f"leaf{leaf}:Ethernet{48 + s}", f"spine{s}:Ethernet{leaf}", cable="30m")


# --- hosts that do not slow down ---


def node_047():
    c = Case("congestion", "node_047", "node-047 after a re-image: paused 71 ms/s on all eight rails, the others not at all; 0.9 % of packets marked")
    c.leaf(*[f"leaf-{r:02}" for r in range(1, 9)])
    for r in range(1, 9):
        for n in range(45, 49):
            c.link(f"leaf-{r:02}:Eth{n}", f"host:node-{n:03}:rail{r - 1}")
            load(c, f"leaf-{r:02}:Eth{n}", 0.25, marks=0.009, tx_ms=(71 - (r % 3 == 0)) if n == 47 else 0)
    c.say(LOSSLESS, 'jobs: [{ name: llama70b-512, gpus: 512, hosts: "node-*" }]', "cost: { usd_per_gpu_hour: 30 }")
    return c


def frames_only():
    c = Case("congestion", "frames_only", "the same told by SNMP every 30 s: frames, no pause time and no marks", step=30, length=240)
    two_leaves(c)
    c.say(LOSSLESS)
    for leaf in (1, 2):
        for n in range(1, 5):
            c.rate(f"leaf{leaf}:Ethernet{n}", "-", "port.out_octets", 12 * G)
            c.rate(f"leaf{leaf}:Ethernet{n}", 3, "pfc.tx_frames", 847 if (leaf, n) == (1, 3) else 0)
    return c


def groups(name, title, marks, frames, times=1.0, tx_ms=None):
    """Two leaves of eight hosts in groups of four; node-010 shares its group with 001, 002 and 009. marks: of the queues to 001 and 002, the others 1.7 %;
    frames: PFC frames a second sent to 010, 002 and 001."""
    c = Case("congestion", name, title, step=10, length=90)
    two_leaves(c, hosts=8)
    c.say(LOSSLESS)
    paused = dict(zip((10, 2, 1), frames))
    for n in range(1, 17):
        port = f"leaf{1 + (n > 8)}:Ethernet{n - 8 * (n > 8)}"
        load(c, port, 0.3 * (times if n < 3 else 1), marks=marks if n < 3 else 0.017, tx_ms=tx_ms * paused.get(n, 0) / paused[10] if tx_ms else None)
        c.rate(port, 3, "pfc.tx_frames", paused.get(n, 0))
    return c


def squeezed():
    return groups("squeezed", "only frames and marks: the queues to two receivers mark 34 % at the load of all others, and node-010 leads in frames",
                  marks=0.34, frames=(14900, 6700, 3300))


def reacts_small():
    return groups("reacts_small", "node-010 is paused most, for 0.3 % of the time, and no receiver marks more than others: luck, nothing proves that it ignores ECN",
                  marks=0.03, frames=(1500, 200, 100), tx_ms=3)


def reacts_incast():
    return groups("reacts_incast", "node-010 is paused most, but the receivers that mark take three times the load of others: more senders to both, not a host at fault",
                  marks=0.34, frames=(1500, 700, 300), times=3.0, tx_ms=6)


def reacts_pair():
    """As the second packet simulator showed it: all react; two of one leaf share a hot path."""
    c = Case("congestion", "reacts_pair", "an incast: two hosts of leaf2 are paused seven times as long as the next, since they share a path; nobody is accused")
    two_leaves(c, hosts=8)
    c.say(LOSSLESS)
    for n in range(1, 17):
        port = f"leaf{1 + (n > 8)}:Ethernet{n - 8 * (n > 8)}"
        load(c, port, 0.4 if n == 1 else 0.05, marks=0.025 if n == 1 else 0.0, tx_ms={10: 15, 11: 11, 12: 1.6}.get(n, 0))
    return c


def long_steps():
    """Rows that come slowly against the steps of the job: a window holds a part of a step, in which one host is paused and the others are not."""
    c = Case("congestion", "long_steps", "steps of 20 s: each of four hosts of leaf2 is paused for 5 s of each step, one after the other; nobody is accused", step=1, length=80)
    two_leaves(c)
    c.say(LOSSLESS)
    for n in range(1, 9):
        port = f"leaf{1 + (n > 4)}:Ethernet{n - 4 * (n > 4)}"
        load(c, port, 0.3, marks=0.03 if n == 1 else 0.0, tx_ms=None)
        c.rate(port, "-", "port.in_octets", 15 * G, turn=(20, 0, 15))
        c.rate(port, 3, "pfc.tx_pause_ns", 60e6 if n > 4 else 0, turn=(20, 5 * (n - 5), 5 * (n - 4)) if n > 4 else None)
    return c


def pair_off():
    """As two packet simulators showed it: two of one leaf do not slow down."""
    c = Case("congestion", "pair_off", "two hosts of leaf2 do not slow down: paused 5.0 and 4.5 % of the time, the next one 0.3 %; sharing a path does not explain so much")
    two_leaves(c, hosts=8)
    c.say(LOSSLESS)
    for n in range(1, 17):
        port = f"leaf{1 + (n > 8)}:Ethernet{n - 8 * (n > 8)}"
        load(c, port, 0.4 if n == 1 else 0.05, marks=0.03 if n == 1 else 0.0, tx_ms={10: 50, 11: 45, 12: 3}.get(n, 0))
    return c


def rails_frames():
    c = Case("congestion", "rails_frames", "eight rails, frames alone: node-047 leads by a half on each; it is named, and what to collect, and not accused", step=10, length=30)
    c.leaf(*[f"leaf-{r}" for r in range(1, 9)])
    for r in range(1, 9):
        for n in range(45, 49):
            c.link(f"leaf-{r}:Eth{n}", f"host:node-{n:03}:rail{r - 1}")
            c.rate(f"leaf-{r}:Eth{n}", "-", "port.out_octets", 12 * G)
            c.rate(f"leaf-{r}:Eth{n}", 3, "pfc.tx_frames", {47: 7800 - r, 48: 5200}.get(n, 0))
    c.say(LOSSLESS)
    return c


def collision():
    c = Case("congestion", "collision", "one host is paused because its flows share a hot uplink: not the host's fault, nothing is said of it")
    two_leaves(c)
    c.say(LOSSLESS)
    for n in range(1, 5):
        load(c, f"leaf1:Ethernet{n}", 0.3, marks=0.0, tx_ms=20 if n == 2 else 0)
        load(c, f"leaf2:Ethernet{n}", 0.3, marks=0.0)
    load(c, "leaf1:Ethernet49", 0.9, marks=0.2)
    load(c, "leaf1:Ethernet50", 0.3, marks=0.0)
    return c


def lag_uneven():
    c = Case("congestion", "lag_uneven", "two bundles of two links carry the same, one link of each much of it: inputs wait for that link, and it is no overload of an even group")
    two_leaves(c)
    for s in (1, 2):
        c.link(f"leaf1:Ethernet{50 + s}", f"spine{s}:Ethernet3", cable="30m")
    c.say(LOSSLESS, "lags:", *[f"  - {{ device: leaf1, name: po{s}, ports: [Ethernet{48 + s}, Ethernet{50 + s}] }}" for s in (1, 2)])
    for n in range(1, 5):
        load(c, f"leaf1:Ethernet{n}", 0.25, marks=0.0, tx_ms=30 + n)
        load(c, f"leaf2:Ethernet{n}", 0.25, marks=0.0, tx_ms=0)
    for s in (1, 2):
        load(c, f"leaf1:Ethernet{48 + s}", 0.4, marks=0.75, tx_ms=0)
        load(c, f"leaf1:Ethernet{50 + s}", 0.1, marks=0.0, tx_ms=0)
    return c


def crowded():
    """As simulated with a damaged hash: among the senders behind a crowded uplink one fills its buffer past XOFF, and the others do not."""
    c = Case("congestion", "crowded", "one uplink carries 2.5 times its fair share and marks half of it; one host behind it is paused for 1.5 %: the path explains it")
    two_leaves(c, hosts=8)
    for n in (3, 4):
        c.spine(f"spine{n}")
        for leaf in (1, 2):
            c.link(f"leaf{leaf}:Ethernet{48 + n}", f"spine{n}:Ethernet{leaf}", cable="30m")
    c.say(LOSSLESS)
    for n in range(1, 17):
        port = f"leaf{1 + (n > 8)}:Ethernet{n - 8 * (n > 8)}"
        load(c, port, 0.3, marks=0.02 if n == 1 else 0.0, tx_ms=15 if n == 10 else 0)
    for n in (1, 2, 3, 4):
        load(c, f"leaf1:Ethernet{48 + n}", 0.2, marks=0.0, tx_ms=0)
        load(c, f"leaf2:Ethernet{48 + n}", 0.5 if n == 3 else 0.1, marks=0.5 if n == 3 else 0.0, tx_ms=0)
    return c


def slow_link():
    c = Case("congestion", "slow_link", "whoever sends to a host at 100G is paused: the link is slow, the sender is not to blame")
    two_leaves(c)
    c.say(LOSSLESS)
    for n in range(1, 5):
        slow = n == 4
        c.value(f"leaf1:Ethernet{n}", "-", "port.speed_bps", 100 * G if slow else 400 * G)
        load(c, f"leaf1:Ethernet{n}", 0.9 if slow else 0.3, speed=(100 if slow else 400) * G, marks=0.3 if slow else 0.0, tx_ms=15 if n == 2 else 0)
        load(c, f"leaf2:Ethernet{n}", 0.3, marks=0.0)
    return c


# --- queues ---


def incast():
    c = Case("congestion", "incast", "twelve to one: node-001's queue marks, everybody who feeds it is paused a little")
    two_leaves(c)
    c.say(LOSSLESS)
    for n in range(1, 5):
        load(c, f"leaf1:Ethernet{n}", 0.8 if n == 1 else 0.1, marks=0.45 if n == 1 else 0.0, tx_ms=0 if n == 1 else 6 + n, rx_ms=0)
        load(c, f"leaf2:Ethernet{n}", 0.1, marks=0.0, tx_ms=3, rx_ms=0)
    for n in (49, 50):
        load(c, f"leaf1:Ethernet{n}", 0.1, marks=0.0, tx_ms=25, rx_ms=0)
        load(c, f"leaf2:Ethernet{n}", 0.4, marks=0.02, tx_ms=0, rx_ms=20)
    c.value("leaf1:Ethernet1", 3, "queue.watermark_bytes", 9_400_000, window=5)
    c.value("leaf1:Ethernet2", 3, "queue.watermark_bytes", 30_000, window=5)
    return c


def slow_receiver():
    c = Case("congestion", "slow_receiver", "node-004 pauses its port three quarters of the time: marks and pause below it are not an incast")
    two_leaves(c)
    c.say(LOSSLESS)
    for n in range(1, 5):
        load(c, f"leaf1:Ethernet{n}", 0.15, marks=0.61 if n == 4 else 0.0, tx_ms=15 if n < 4 else 0, rx_ms=750 if n == 4 else 0)
        load(c, f"leaf2:Ethernet{n}", 0.15, marks=0.0, tx_ms=0, rx_ms=0)
    for n in (49, 50):
        load(c, f"leaf1:Ethernet{n}", 0.15, marks=0.0, tx_ms=30, rx_ms=0)
    return c


def healthy():
    c = Case("congestion", "healthy", "bursts of training: a few marks, no pause since a moment long ago")
    two_leaves(c)
    c.say(LOSSLESS)
    for leaf in (1, 2):
        for n in (1, 2, 3, 4, 49, 50):
            load(c, f"leaf{leaf}:Ethernet{n}", 0.22, marks=0.003, tx_ms=0, rx_ms=0)
    return c


def oversubscription():
    c = Case("congestion", "oversubscription", "four hosts of 400G behind two uplinks: both mark, all hosts are paused alike")
    two_leaves(c)
    c.say(LOSSLESS)
    for leaf in (1, 2):
        for n in range(1, 5):
            load(c, f"leaf{leaf}:Ethernet{n}", 0.45, marks=0.0, tx_ms=4 + n / 10)
        for n in (49, 50):
            load(c, f"leaf{leaf}:Ethernet{n}", 0.92, marks=0.2)
    return c


# --- settings ---


def settings(c, leaf, enabled=1, kmin=400_000, kmax=1_600_000, alpha=-4, pool=16_000_000, ports=(1, 2, 3, 4, 49, 50)):
    c.value(f"{leaf}:pool:ingress_lossless", "-", "cfg.buffer_pool_bytes", pool)
    for n in ports:
        for metric, v in (("cfg.ecn_enabled", enabled), ("cfg.ecn_kmin_bytes", kmin), ("cfg.ecn_kmax_bytes", kmax), ("cfg.pg_alpha_exp", alpha)):
            c.value(f"{leaf}:Ethernet{n}", 3, metric, v)


def paused_fabric(c, marks1, marks2, tx1=30, tx2=30):
    for n in range(1, 5):
        load(c, f"leaf1:Ethernet{n}", 0.35, marks=marks1, tx_ms=tx1 + n)
        load(c, f"leaf2:Ethernet{n}", 0.35, marks=marks2, tx_ms=tx2 + n)
    for n in (49, 50):
        load(c, f"leaf1:Ethernet{n}", 0.35, marks=marks1, tx_ms=tx1)
        load(c, f"leaf2:Ethernet{n}", 0.35, marks=marks2, tx_ms=tx2)


def ecn_off():
    c = Case("congestion", "ecn_off", "leaf2 lost its ECN profile: marks stand still there, and PFC works")
    two_leaves(c)
    c.say(LOSSLESS)
    settings(c, "leaf1")
    settings(c, "leaf2", enabled=0)
    paused_fabric(c, 0.02, 0, tx1=0, tx2=30)
    return c


def ecn_off_counters():
    c = Case("congestion", "ecn_off_counters", "the same seen by counters alone: leaf2 has never marked anything, leaf1 does")
    two_leaves(c)
    c.say(LOSSLESS)
    for n in (1, 2, 3, 4, 49, 50):
        for leaf, marks in (("leaf1", 0.02), ("leaf2", 0)):
            c.rate(f"{leaf}:Ethernet{n}", "-", "port.out_octets", 17 * G)
            c.rate(f"{leaf}:Ethernet{n}", 3, "queue.out_packets", 4_000_000)
            c.rate(f"{leaf}:Ethernet{n}", 3, "queue.ecn_marked", 4_000_000 * marks, start=None if marks else 0)
            c.rate(f"{leaf}:Ethernet{n}", 3, "pfc.tx_pause_ns", 2e7 + n * 1e5 if leaf == "leaf2" else 0)
    return c


def ecn_late():
    c = Case("congestion", "ecn_late", "Kmin of 10 MB in a pool of 16 MB: PFC pauses long before anything is marked")
    two_leaves(c)
    c.say(LOSSLESS)
    settings(c, "leaf1", kmin=10_000_000, kmax=12_000_000)
    settings(c, "leaf2", kmin=10_000_000, kmax=12_000_000)
    paused_fabric(c, 0, 0)
    return c


def ecn_late_declared():
    c = Case("congestion", "ecn_late_declared", "thresholds only declared, pause only bounded from frames, 10 s", step=10, length=100)
    two_leaves(c)
    c.say(LOSSLESS, 'thresholds: [{ devices: "*", ports: "*", priority: 3, kmin: 10MB, kmax: 12MB, pmax: 20%, alpha: 1/16, pool: 16MB }]')
    for leaf in (1, 2):
        for n in (1, 2, 3, 4, 49, 50):
            c.rate(f"leaf{leaf}:Ethernet{n}", "-", "port.out_octets", 17 * G)
            c.rate(f"leaf{leaf}:Ethernet{n}", 3, "pfc.tx_frames", 4000 + n)
    return c


def ecn_early():
    c = Case("congestion", "ecn_early", "Kmin of 5 KB at 400G: a fifth of all packets is marked, nobody is paused, ports stay at 55 %")
    two_leaves(c)
    c.say(LOSSLESS)
    for leaf in (1, 2):
        settings(c, f"leaf{leaf}", kmin=5_000, kmax=200_000)
        for n in (1, 2, 3, 4, 49, 50):
            load(c, f"leaf{leaf}:Ethernet{n}", 0.55, marks=0.2)
            c.value(f"leaf{leaf}:Ethernet{n}", 3, "queue.watermark_bytes", 90_000, window=5)
    return c


def pfc_only():
    c = Case("congestion", "pfc_only", "the site does without ECN by policy: pause at all hosts is how it works, nothing is said")
    two_leaves(c)
    c.say(LOSSLESS, "policy: { congestion: pfc_only }")
    for leaf in (1, 2):
        settings(c, f"leaf{leaf}", enabled=0)
    paused_fabric(c, 0, 0)
    return c


def xon_close(name="xon_close", about="", lossless=LOSSLESS):
    c = Case("congestion", name, "leaf1 resumes where it pauses: pauses of 2 us, ten thousand a second" + about)
    two_leaves(c)
    c.say(lossless, "policy: { congestion: pfc_only }")
    for n in range(1, 5):
        load(c, f"leaf1:Ethernet{n}", 0.35, tx_ms=20)
        c.rate(f"leaf1:Ethernet{n}", 3, "pfc.tx_transitions", 10_000)
        c.value(f"leaf1:Ethernet{n}", 3, "cfg.pg_xon_offset_bytes", 0)
        load(c, f"leaf2:Ethernet{n}", 0.35, tx_ms=20)
        c.rate(f"leaf2:Ethernet{n}", 3, "pfc.tx_transitions", 800)
        c.value(f"leaf2:Ethernet{n}", 3, "cfg.pg_xon_offset_bytes", 12_000)
    return c


def xon_undeclared():
    return xon_close("xon_undeclared", "; nobody declares the MTU of the class", "lossless: { priorities: [3] }")


def flaps(name, title, settings=None, tx_ms=None):
    """Three leaves under pressure; leaf1 sends 20,000 PFC frames a second, the others 2,000."""
    c = Case("congestion", name, title, length=20)
    c.leaf("leaf1", "leaf2", "leaf3")
    c.say(LOSSLESS, "policy: { congestion: pfc_only }")
    for leaf in (1, 2, 3):
        for n in (1, 2):
            port = f"leaf{leaf}:Ethernet{n}"
            c.link(port, f"host:node-{2 * leaf - 2 + n:03}", cable="30m")
            load(c, port, 0.35, tx_ms=tx_ms)
            c.rate(port, 3, "pfc.tx_frames", 20_000 if leaf == 1 else 2_000)
            if settings:
                c.value(port, 3, "cfg.pg_xon_offset_bytes", settings[leaf > 1])
    return c


def xon_pieces():
    return flaps("xon_pieces", "pause time and frames, no settings: leaf1 pauses as long as its peers, in ten times as many pieces", tx_ms=18)


def xon_frames():
    return flaps("xon_frames", "frames and settings, no pause time: XON of leaf1 is XOFF, and it sends 20,000 frames a second", settings=(0, 12_000))


def cnp_starved():
    c = Case("congestion", "cnp_starved", "the queue of CNPs, told to be 5, drops some; queue 6 drops too and is nobody's business")
    two_leaves(c)
    c.say(LOSSLESS)
    load(c, "leaf1:Ethernet1", 0.3, marks=0.02)
    c.value("leaf1:Ethernet1", "-", "cfg.cnp_queue", 5)
    for queue, drops in ((5, 3), (6, 40)):
        c.rate("leaf1:Ethernet1", queue, "queue.out_packets", 2900)
        c.rate("leaf1:Ethernet1", queue, "queue.drops", drops)
    return c


# --- loss ---


def loss(name, title, drops=None, discards=None, errors=0, peak=None, headroom=76_000, tx_ms=20, pool_peak=None, egress=None, calm_after=None, sender=None):
    c = Case("lossless_loss", name, title, length=60 if sender else 40)
    two_leaves(c)
    c.say(LOSSLESS)
    for n in (1, 2, 49):
        port, hit = f"leaf1:Ethernet{n}", n == 49
        load(c, port, 0.3, marks=0.01, tx_ms=tx_ms if hit else 0)
        c.rate(port, "-", "port.in_octets", 12 * G)
        c.rate(port, "-", "port.fcs_errors", errors if hit else 0, start=0)
        if drops is not None:
            c.rate(port, 3, "pg.drops", drops if hit else 0, start=0, until=calm_after)
        if egress is not None:
            c.rate(port, 3, "queue.drops", egress if hit else 0, start=0)
        if discards is not None:
            c.rate(port, "-", "port.in_discards", discards if hit else 0, start=0)
            c.rate(port, 3, "pfc.tx_frames", 4000 if hit else 0)
        if headroom:
            c.value(port, 3, "cfg.pg_headroom_bytes", headroom)
        if peak is not None:
            c.value(port, 3, "pg.headroom_watermark_bytes", peak if hit else 0, window=5)
    if sender:
        load(c, sender, 0.02, marks=0, tx_ms=0)
        c.rate(sender, 3, "queue.out_packets", 0)
    if pool_peak:
        c.value("leaf1:pool:ingress_lossless", "-", "cfg.buffer_pool_bytes", 16_000_000)
        c.value("leaf1:pool:ingress_lossless", "-", "pool.watermark_bytes", pool_peak, window=5)
    return c


CASES = [node_047, frames_only, squeezed, reacts_small, reacts_incast, reacts_pair, pair_off, long_steps, rails_frames, collision, crowded, lag_uneven, slow_link, incast, slow_receiver, healthy, oversubscription, ecn_off, ecn_off_counters, ecn_late, ecn_late_declared,
         ecn_early, pfc_only, xon_close, xon_undeclared, xon_pieces, xon_frames,
         cnp_starved]
LOSSES = [
    loss("headroom", "ingress drops with the headroom used up; after 20 s somebody has mended it", drops=12, peak=76_000, calm_after=20),
    loss("mended_beside_sender", "as headroom, beside a host that only sends: its queue stands still while other classes pass its port", drops=12, peak=76_000, calm_after=20,
         sender="leaf1:Ethernet3"),
    loss("nearly", "headroom filled to 94 % while we paused the spine: nothing lost yet", drops=0, peak=71_500),
    loss("pool", "drops while the pool was full and headroom was not", drops=12, peak=20_000, pool_peak=15_900_000),
    loss("discards", "an agent that counts no class: frames discarded on a port that was sending pause", discards=300, headroom=None),
    loss("damaged", "drops beside as many damaged frames: a cable, told elsewhere", drops=12, errors=40, peak=76_000),
    loss("no_pause", "egress drops of the class, no pause sent", egress=7, tx_ms=0, headroom=None),
    loss("clean", "pause, and nothing is lost", drops=0, peak=10_000),
]

if __name__ == "__main__":
    for case in [make() for make in CASES] + LOSSES:
        case.write()
