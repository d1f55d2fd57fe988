#!/usr/bin/env python3
"""make_nic_cases FOLDER - cases of congestion with counters of NICs beside those of switches. Sums that findings quote are rates times the 15 s of a window:
they can be checked by hand. After a change: golden_analyzers_update and golden_inputs_update, and read the diff."""
import os

from make_cases import Case, G, LOSSLESS, inputs, load, two_leaves

CNP = 200      # CNPs a second that a receiver sends


def nic(c, n, sent=0, handled=0, ignored=None, ce=None, name="mlx5_0", rx_ms=None, start=5000, host=None):
    """Counters of one NIC, a second; None: it does not tell that one."""
    where = f"{host or f'node-{n:03}'}:{name}"
    for metric, per_s in (("cnp_sent", sent), ("cnp_handled", handled), ("cnp_ignored", ignored), ("ce_received", ce)):
        if per_s is not None:
            c.rate(where, "-", f"nic.{metric}", per_s, start=start if per_s or metric != "cnp_handled" else 4100)
    if rx_ms is not None:
        c.rate(where, 3, "nic.rx_pause_ns", rx_ms * 1e6)


def hosts(name, title, hosts=4, marks=0.009, bad=3, tx_ms=30, share=0.4, speed=400 * G):
    """Two leaves; every host sends and receives; the host `bad` is paused."""
    c = Case("congestion", name, title)
    two_leaves(c, hosts)
    c.say(LOSSLESS)
    for n in range(1, 2 * hosts + 1):
        port = f"leaf{1 + (n > hosts)}:Ethernet{n - hosts * (n > hosts)}"
        load(c, port, share, marks=marks, tx_ms=tx_ms if n == bad else 0)
        c.rate(port, "-", "port.in_octets", share * speed / 8)
    return c


def nic_dcqcn_off():
    c = hosts("nic_dcqcn_off", "node-003 is paused 3 % of the time; its NIC handles no CNP while each receiver sends 200/s and the other seven handle 150/s")
    for n in range(1, 9):
        nic(c, n, sent=CNP, handled=0 if n == 3 else 150, ignored=0, ce=9000, rx_ms=30 if n == 3 else 0)
    return c


def nic_ignored():
    c = hosts("nic_ignored", "nobody is paused; the NIC of node-003 counts 180 CNPs a second that it ignored", tx_ms=0)
    for n in range(1, 9):
        nic(c, n, sent=CNP, handled=0 if n == 3 else 203, ignored=180 if n == 3 else 0, ce=9000)
    return c


def nic_balance():
    c = hosts("nic_balance", "switches count no pause and no marks; of 1600 CNPs a second 1225 are handled, and only node-003 handles none", tx_ms=None, marks=None)
    for n in range(1, 9):
        nic(c, n, sent=CNP, handled=0 if n == 3 else 175, ce=9000)
    return c


def nic_received():
    c = hosts("nic_received", "NICs tell CNPs received and handled: 200 a second reach node-003, which handles none; nobody is paused", tx_ms=0)
    for n in range(1, 9):
        nic(c, n, sent=CNP, handled=0 if n == 3 else 200, ce=9000)
        c.rate(f"node-{n:03}:mlx5_0", "-", "nic.cnp_received", 200)
    return c


def nic_received_only():
    c = hosts("nic_received_only", "quiet: NICs that count CNPs received, not handled (bnxt_re): all arrive, and whether node-003 obeys them is not told", tx_ms=0)
    for n in range(1, 9):
        nic(c, n, sent=CNP, handled=None, ce=9000, name="bnxt_re0")
        c.rate(f"node-{n:03}:bnxt_re0", "-", "nic.cnp_received", 200)
    return c


def nic_no_ce():
    c = hosts("nic_no_ce", "quiet: node-003 handles no CNP because no packet is marked and nobody sends one", marks=0, tx_ms=0)
    for n in range(1, 9):
        nic(c, n, ignored=0, ce=0)
    return c


def nic_elsewhere():
    c = hosts("nic_elsewhere", "quiet: an incast at node-008; node-003 sends as much as the others to a queue that is not full, so no CNP is for it", tx_ms=0)
    for n in range(1, 9):
        nic(c, n, sent=600 if n == 8 else 0, handled=0 if n in (3, 8) else 100, ignored=0, ce=30000 if n == 8 else 0)
    return c


def nic_np_off():
    c = hosts("nic_np_off", "9000 packets a second reach node-005 with CE, and its NIC sends no CNP", tx_ms=0)
    for n in range(1, 9):
        nic(c, n, sent=0 if n == 5 else CNP, handled=175, ignored=0, ce=9000)
    return c


def nic_cnp_lost():
    c = hosts("nic_cnp_lost", "all receivers send CNPs, no NIC handles or ignores one: they do not arrive", tx_ms=0)
    for n in range(1, 9):
        nic(c, n, sent=CNP, handled=0, ignored=0, ce=9000)
    return c


def nic_restart():
    c = hosts("nic_restart", "quiet: the NIC of node-003 restarts at 20 s, its counters begin at 0 and grow from there", tx_ms=30)
    for n in (1, 2, 4, 5, 6, 7, 8):
        nic(c, n, sent=CNP, handled=200, ignored=0, ce=9000)
    c.raw = [(t, "node-003:mlx5_0", f"nic.{m}", 100000 + 200 * t if t < 20 else 200 * (t - 20))
             for t in range(0, 41, 5) for m in ("cnp_sent", "cnp_handled", "ce_received")]
    return c


def nic_one_host():
    c = hosts("nic_one_host", "only node-003 tells its NIC's counters: that none is handled proves nothing without receivers and other senders")
    nic(c, 3, sent=0, handled=0, ignored=0, ce=0)
    return c


def nic_reacts():
    c = hosts("nic_reacts", "node-003 is paused far more than all others, but its NIC handles 300 CNPs a second: it does slow down", hosts=8)
    for n in range(1, 17):
        nic(c, n, sent=CNP, handled=300 if n == 3 else 190, ignored=0, ce=9000, rx_ms=30 if n == 3 else 0)
    return c


def nic_pause_apart():
    c = hosts("nic_pause_apart", "the switch says that it paused node-003 for 3 % of the time, its NIC says 0.2 %; no NIC tells of CNPs")
    for n in range(1, 9):
        c.rate(f"node-{n:03}:mlx5_0", 3, "nic.rx_pause_ns", (2 if n == 3 else 0) * 1e6)
    return c


def nic_names():
    """The join: by network interface, by MAC, by short name of the host, two sources of one NIC."""
    c = Case("congestion", "nic_names", "links name a network interface, a MAC, a fully qualified host; each NIC goes by its RDMA device")
    c.leaf("leaf1", "leaf2")
    far = ["host:node-001:ens1f0np0", "host:b8ce.f6aa.0002:b8:ce:f6:aa:00:02", "host:node-003.lab.example.com:rail0", "host:NODE-004"]
    for n, b in enumerate(far, 1):
        c.link(f"leaf1:Ethernet{n}", b)
        load(c, f"leaf1:Ethernet{n}", 0.4, marks=0.009, tx_ms=0)
        c.rate(f"leaf1:Ethernet{n}", "-", "port.in_octets", 20 * G)
    c.say(LOSSLESS)
    nic(c, 1, sent=CNP, handled=0, ignored=180, ce=9000)
    c.value("node-001:mlx5_0", "-", "nic.netdev", "ens1f0np0")
    nic(c, 1, sent=CNP, handled=0, name="ens1f0np0")                    # the same NIC told twice counts once
    nic(c, 2, sent=0, handled=203, ce=9000, host="node-002.lab.example.com")
    c.value("node-002.lab.example.com:mlx5_0", "-", "nic.mac", "B8-CE-F6-AA-00-02")
    nic(c, 3, sent=CNP, handled=0, ignored=190, ce=9000)
    nic(c, 4, sent=CNP, handled=0, ignored=150, ce=9000, host="node-004.lab.example.com")
    nic(c, 9, sent=CNP, handled=0, ignored=150, ce=9000)                # a host that the fabric does not name
    return c


def nic_stranger_rail():
    c = Case("congestion", "nic_rails", "two rails and two NICs, and nobody says which is on which: the host is named, and no port is guessed for its NICs")
    c.leaf("leaf1", "leaf2")
    for n in range(1, 5):
        for r in (1, 2):
            c.link(f"leaf{r}:Ethernet{n}", f"host:node-{n:03}:rail{r - 1}")
            load(c, f"leaf{r}:Ethernet{n}", 0.4, marks=0.009, tx_ms=25 if n == 2 else 0)
            c.rate(f"leaf{r}:Ethernet{n}", "-", "port.in_octets", 20 * G)
            nic(c, n, sent=CNP, handled=0 if n == 2 else 260, ce=9000, name=f"mlx5_{r - 1}")
    c.say(LOSSLESS)
    return c


def beside(of, name, title, rows):
    """The case @of with counters of NICs beside it; rows: function of the time, a row is (where, priority, metric, value)."""
    for file in ("fabric.yaml", "samples.tsv"):
        lines = open(inputs.path(of, file)).read().splitlines()
        if lines[0].startswith("# time_s"):
            lines.insert(0, "")
        lines[0] = f"# as {os.path.basename(of)}: {title}"
        times = sorted({line.split("\t")[0] for line in lines if line[0].isdigit()}, key=float)
        for t in times if file == "samples.tsv" else ():
            for where, priority, metric, value in rows(float(t)):
                device, _, port = where.partition(":")
                lines.append(f"{t}\t{device}\t{port}\t{priority}\t{metric}\t{value}")
        with inputs.create(f"{os.path.dirname(of)}/{name}", file) as f:
            f.write("\n".join(lines) + "\n")


def pcie():
    beside("straggler/slow_host", "pcie_stall", "its NIC waits for PCIe 70 % of the time, that of node-03 1 %",
           lambda t: [("node-04:mlx5_0", "-", "nic.pci_stall_rd_ratio", 0.7), ("node-03:mlx5_0", "-", "nic.pci_stall_rd_ratio", 0.01)])
    beside("pause_storm/slow_receiver", "pcie_stall", "the NIC counts the same pause, and its writes were stalled in 9 of 10 seconds",
           lambda t: [("node-002:mlx5_0", "3", "nic.tx_pause_ns", int(5000 + 0.664e9 * t)), ("node-002:mlx5_0", "-", "nic.pci_stall_wr_s", int(70 + 0.9 * t))])
    beside("pause_storm/slow_receiver", "nic_denies", "the NIC says that it paused its switch 5 % of the time, and that PCIe does not hold it back",
           lambda t: [("node-002:mlx5_0", "3", "nic.tx_pause_ns", int(5000 + 0.05e9 * t)), ("node-002:mlx5_0", "-", "nic.pci_stall_wr_ratio", 0.02)])


if __name__ == "__main__":
    pcie()
    for make in (nic_dcqcn_off, nic_ignored, nic_balance, nic_received, nic_received_only, nic_no_ce, nic_elsewhere, nic_np_off, nic_cnp_lost, nic_restart, nic_one_host, nic_reacts,
                 nic_pause_apart, nic_names, nic_stranger_rail):
        case = make()
        case.write()
        if hasattr(case, "raw"):
            with open(inputs.path(case.case, "samples.tsv"), "a") as f:
                for t, where, metric, value in sorted(case.raw):
                    device, _, port = where.partition(":")
                    f.write(f"{t}\t{device}\t{port}\t-\t{metric}\t{value}\n")
