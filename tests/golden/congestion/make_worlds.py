#!/usr/bin/env python3
"""make_worlds FOLDER - writes the cases in which a class is not plain DCQCN over PFC behind a static hash: the same traffic, another world. The title says what
must come out and how that was worked out. After a change: golden_analyzers_update and golden_inputs_update, and read
the diff."""
from make_cases import G, LOSSLESS, Case, inputs, load, paused_fabric, settings, two_leaves

UPLINKS = [f"leaf1:Ethernet{n}" for n in (49, 50, 51, 52)]
LINE = 400 * G / 8  # bytes per second


def four_uplinks(analyzer, name, title, shares, policy, lb_told=None):
    c = Case(analyzer, name, title, step=10, length=120)
    c.leaf("leaf1")
    c.spine("spine1", "spine2", "spine3", "spine4")
    for n in range(1, 5):
        c.link(f"leaf1:Ethernet{n}", f"host:node-{n:03}")
    for n, port in enumerate(UPLINKS, 1):
        c.link(port, f"spine{n}:Ethernet1", cable="30m")
    c.say(LOSSLESS, f"policy: {policy}", *(["analyzers: { ecmp_imbalance: { detect_window: 60s, hold: 2 } }"] if analyzer == "ecmp_imbalance" else []))
    for n in range(1, 5):
        c.rate(f"leaf1:Ethernet{n}", "-", "port.in_octets", sum(shares) / 4 * LINE)
        c.rate(f"leaf1:Ethernet{n}", "-", "port.out_octets", sum(shares) / 4 * LINE)
    for port, share in zip(UPLINKS, shares):
        c.rate(port, "-", "port.out_octets", share * LINE)
        c.rate(port, "-", "port.in_octets", share * LINE)
        c.value(port, "-", "port.oper_up", 1)
        c.value(port, "-", "port.speed_bps", 400 * G)
    if lb_told:
        c.value("leaf1:", "-", "cfg.lb_mode", lb_told)
    return c


def spreading():
    """Shares by hand: load over the mean of the four."""
    spray = "{ congestion: dcqcn, load_balancing: packet }"
    yield four_uplinks("ecmp_imbalance", "spray_even", "sprayed, 1 % apart: even", (0.6, 0.604, 0.6, 0.596), spray)
    yield four_uplinks("ecmp_imbalance", "spray_dead", "sprayed, one of four is up and gets nothing: share 0, the others 1.33", (0.6, 0.6, 0.0, 0.6), spray)
    yield four_uplinks("ecmp_imbalance", "spray_weak", "sprayed, one of four has half: shares 8/7 and 4/7, so it is 43 % below its fair share",
                       (0.6, 0.6, 0.3, 0.6), spray)
    yield four_uplinks("ecmp_imbalance", "spray_read_back", "a static hash is assumed, per-packet balancing is read back: one has a sixth less, shares 0.870",
                       (0.6, 0.6, 0.5, 0.6), "{ congestion: dcqcn }", "SAI_ARS_MODE_PER_PACKET_QUALITY")
    yield four_uplinks("ecmp_imbalance", "spray_declared_hash_read", "spraying is declared and a hash is read back: 6 % apart is what a hash may do",
                       (0.6, 0.64, 0.58, 0.6), spray, "static")
    yield four_uplinks("ecmp_imbalance", "source_routed", "senders choose the path: 2.2 times the fair share at one member is nobody's fault here",
                       (0.9, 0.3, 0.2, 0.2), "{ congestion: mrc, load_balancing: source_routed }", "static")
    yield four_uplinks("settings_drift", "spray_declared_hash_read", "spraying is declared and a hash is read back", (0.6, 0.6, 0.6, 0.6), spray, "static")
    yield four_uplinks("settings_drift", "source_routed_hash_read", "source routed: what the switch would do with a hash is of no matter", (0.6, 0.6, 0.6, 0.6),
                       "{ congestion: mrc, load_balancing: source_routed }", "static")
    yield four_uplinks("conservation", "source_routed", "a link that no sender chooses misses no next hop", (0.8, 0.8, 0.0, 0.8),
                       "{ congestion: mrc, load_balancing: source_routed }")


def one_port():
    """48 queue pairs of six hosts, all from UDP source port 49152 to one destination each: six 5-tuples, two of them on each of three uplinks."""
    c = four_uplinks("ecmp_imbalance", "one_source_port", "48 queue pairs on one source port: six 5-tuples on four uplinks, 3:1:1:1", (0.9, 0.3, 0.3, 0.3),
                     "{ congestion: dcqcn, load_balancing: static }")
    c.write()
    flows = []
    for t in range(0, 120, 60):
        for host, port in enumerate((49, 49, 49, 50, 51, 52)):
            for qp in range(8):
                octets = int(0.3 * LINE * 60 / 8)
                flows.append(f"{t}\t{t + 60}\tleaf1\tEthernet{port}\t1\t10.3.0.{host + 1}\t10.7.0.{host + 1}\t49152\t0x{0x100 * host + qp:x}\t{octets // 4200}\t{octets}\t0")
    with inputs.create(c.case, "flows.tsv") as f:
        f.write("# 48 queue pairs, one source port\n" + "\n".join(flows) + "\n")


def pauses(name, title, policy, more=()):
    c = Case("config_mismatch", name, title, step=10, length=100)
    two_leaves(c, 2)
    c.say(LOSSLESS, f"policy: {policy}")
    for port in ("leaf1:Ethernet1", "leaf1:Ethernet2", "leaf2:Ethernet1", "leaf2:Ethernet2"):
        c.rate(port, 3, "pfc.rx_frames", 300 if port == "leaf1:Ethernet2" else 0)
        c.rate(port, 3, "pfc.tx_frames", 0)
        for metric, value in more:
            c.value(port, 3, metric, value)
    return c


def unwanted():
    yield pauses("mrc_paused", "MRC works without PFC: node-002 sends 3000 pause frames in 10 s all the same",
                 "{ congestion: mrc, load_balancing: source_routed }")
    yield pauses("uet_paused", "Ultra Ethernet may run over PFC: nothing is wrong", "{ congestion: uet }")
    yield pauses("uet_lossy_paused", "a class of Ultra Ethernet that is declared to lose: pause frames are none of its business",
                 "{ congestion: dcqcn, classes: [ { priority: 3, congestion: uet, lossless: none } ] }")
    yield pauses("credits_paused", "credits are read back, and node-002 sends pause frames", "{ congestion: dcqcn }", [("cfg.cbfc_enabled", 1)])
    yield pauses("credits_pfc_on", "credits are declared, and PFC is on at all ports", "{ congestion: credit }", [("cfg.pfc_enabled", 1)])


def relative(analyzer, name, title, policy="", told=True):
    """ecn_late's traffic; bytes that would be far too late by themselves."""
    c = Case(analyzer, name, title)
    two_leaves(c)
    c.say(LOSSLESS, *([f"policy: {policy}"] if policy else []))
    for leaf in (1, 2):
        settings(c, f"leaf{leaf}", kmin=10_000_000, kmax=12_000_000)
        for n in (1, 2, 3, 4, 49, 50):
            if told:
                c.value(f"leaf{leaf}:Ethernet{n}", 3, "cfg.ecn_relative", 1)
                c.value(f"leaf{leaf}:Ethernet{n}", 3, "cfg.ecn_kmin_ratio", 0.9)
                c.value(f"leaf{leaf}:Ethernet{n}", 3, "cfg.ecn_kmax_ratio", 1)
    paused_fabric(c, 0, 0)
    return c


def worlds_of_congestion():
    yield relative("congestion", "relative_ecn", "relative ECN: bytes that are told are ignored, and no Kmin is advised")
    yield relative("congestion", "relative_declared", "the same, where only policy.classes says it",
                   "{ congestion: dcqcn, classes: [ { priority: 3, ecn: relative } ] }", told=False)
    yield relative("congestion", "uet", "Ultra Ethernet: pause without marks is not late ECN", "{ congestion: uet }", told=False)
    yield relative("settings_drift", "ecn_mode_differs", "bytes are declared, shares are read back",
                   "{ congestion: dcqcn, classes: [ { priority: 3, ecn: absolute } ] }")


def losing(name, title, policy, more=()):
    c = Case("lossless_loss", name, title)
    two_leaves(c)
    c.say(LOSSLESS, f"policy: {policy}")
    for n in (1, 2, 3, 4, 49, 50):
        port = f"leaf1:Ethernet{n}"
        load(c, port, 0.6, tx_ms=None)
        c.rate(port, "-", "port.in_octets", 0.6 * LINE)
        c.rate(port, 3, "queue.drops", 20 if n == 1 else 0)
        for metric, value in more:
            c.value(port, 3, metric, value)
    return c


def losses():
    yield losing("mrc", "MRC sends again what is lost: drops are congestion", "{ congestion: mrc, load_balancing: source_routed }")
    yield losing("credits", "credits should have kept these frames: no word of PFC in what to do", "{ congestion: credit }", [("cfg.cbfc_enabled", 1)])


if __name__ == "__main__":
    for cases in (spreading(), unwanted(), worlds_of_congestion(), losses()):
        for case in cases:
            case.write()
    one_port()
