#!/usr/bin/env python3
"""expect.py VENDOR < walk - canonical samples from a vendor's walk, by a second path.

Reads `snmpbulkwalk -On -m ''` output and prints "port priority metric value", sorted. Written from the MIBs' texts; it shares
nothing with rocewatch, so that a wrong column, scale, direction or index rule in a profile shows as a difference.
"""
import math
import re
import sys
from collections import defaultdict

DELL_CELL = 208  # no object tells it: what run.py's configuration declares
IF, IFX = "1.3.6.1.2.1.2.2.1", "1.3.6.1.2.1.31.1.1.1"


def read(f):
    walk = {}
    for line in f:
        if "No more variables left" in line:  # the end of the view, told with the name of the last variable
            continue
        m = re.match(r"\.([0-9.]+) = (?:([A-Za-z0-9 ]+): )?(.*)$", line.rstrip("\n"))
        if not m:
            continue
        oid, kind, text = m.groups()
        if kind in ("Counter32", "Counter64", "Gauge32", "INTEGER", "Unsigned32", "Integer32"):
            walk[oid] = int(re.search(r"-?\d+", text).group())
        elif kind == "Timeticks":
            walk[oid] = int(re.search(r"\((\d+)\)", text).group(1))
        else:
            walk[oid] = text.strip('"')
    return walk


walk, out = {}, defaultdict(int)


def column(prefix):
    """(index parts, value) of one column."""
    dot = prefix + "."
    return [([int(x) for x in oid[len(dot):].split(".")], v) for oid, v in walk.items() if oid.startswith(dot)]


def sonic_name(i):
    for base, prefix in ((12000, "Ethernet-Rec"), (11000, "Ethernet-IB"), (10000, "eth"), (9000, "Ethernet-BP"), (2000, "Vlan"), (1000, "PortChannel")):
        if i >= base:
            return f"{prefix}{i - base}"
    return f"Ethernet{i - 1}"


def port_name(vendor, i):
    return sonic_name(i) if vendor == "sonic" else walk[f"{IFX}.1.{i}"]


def per_port(vendor, metric, prefix, scale=1, add=False):
    for (i,), v in column(prefix):
        key = (port_name(vendor, i), "-", metric)
        out[key] = out[key] + v * scale if add else v * scale


def per_prio(vendor, metric, prefix, scale=1, shift=0, add=False, keep=lambda rest: True):
    for (i, *rest), v in column(prefix):
        if not keep(rest):
            continue
        key = (port_name(vendor, i), rest[0] + shift, metric)
        out[key] = out[key] + v * scale if add else v * scale


def common(vendor, ether=True, hc=False):
    for col, metric in ((6, "port.in_octets"), (10, "port.out_octets")):
        per_port(vendor, metric, f"{IFX}.{col}")
    for cols, metric in (((7, 8, 9), "port.in_packets"), ((11, 12, 13), "port.out_packets")):
        for col in cols:
            per_port(vendor, metric, f"{IFX}.{col}", add=True)
    for col, metric in ((13, "port.in_discards"), (14, "port.in_errors"), (19, "port.out_discards"), (20, "port.out_errors"), (4, "port.mtu_bytes")):
        per_port(vendor, metric, f"{IF}.{col}")
    per_port(vendor, "port.speed_bps", f"{IFX}.15", scale=1000000)
    for (i,), v in column(f"{IF}.8"):
        out[(port_name(vendor, i), "-", "port.oper_up")] = 1 if v == 1 else 0
    if hc:
        per_port(vendor, "port.fcs_errors", "1.3.6.1.2.1.10.7.11.1.2")
        per_port(vendor, "port.symbol_errors", "1.3.6.1.2.1.10.7.11.1.6")
    elif ether:
        per_port(vendor, "port.fcs_errors", "1.3.6.1.2.1.10.7.2.1.3")
        per_port(vendor, "port.symbol_errors", "1.3.6.1.2.1.10.7.2.1.18")


def cisco_queues(vendor, shift):
    Q = "1.3.6.1.4.1.9.9.580.1.5.5.1.4"
    for (i, direction, group, kind), v in column(Q):
        if direction != 2:
            continue
        metric = {1: "queue.out_packets", 3: "queue.out_packets", 2: "queue.out_octets", 4: "queue.out_octets", 5: "queue.drops", 7: "queue.drops"}.get(kind)
        if metric:
            out[(port_name(vendor, i), group + shift, metric)] += v


def sonic(v):
    common(v, ether=False)
    per_prio(v, "pfc.tx_frames", "1.3.6.1.4.1.9.9.813.1.2.1.2")  # Requests = sent
    per_prio(v, "pfc.rx_frames", "1.3.6.1.4.1.9.9.813.1.2.1.3")
    cisco_queues(v, -1)
    # ENTITY-SENSOR-MIB (RFC 3433): milliwatts with four digits behind the point; dBm = 10 log10(mW). The weakest lane is the port's.
    E = "1.3.6.1.2.1.99.1.1.1"
    status, precision = dict((tuple(k), x) for k, x in column(f"{E}.5")), dict((tuple(k), x) for k, x in column(f"{E}.3"))
    for (index,), value in column(f"{E}.4"):
        if not 1000000000 <= index < 2000000000 or status[(index,)] != 1:
            continue
        port, kind = port_name(v, (index - 1000000000) // 100), index // 10 % 10
        number = value / 10 ** precision[(index,)]
        if kind == 1:
            out[(port, "-", "optic.temperature_c")] = number
        elif kind in (2, 3):
            key = (port, "-", "optic.tx_power_dbm" if kind == 2 else "optic.rx_power_dbm")
            dbm = 10 * math.log10(number or 0.5 / 10 ** precision[(index,)])  # 0 is less than half of the last digit
            out[key] = min(out.get(key, dbm), dbm)


def optics(vendor, table, texts, parse):
    """Sensors by the text of their entity; the weakest lane and the warmest sensor are the port's. An unknown port's are nobody's."""
    known = {port_name(vendor, i) for (i,), _ in column(f"{IFX}.1")}
    cells = {col: {k[0]: x for k, x in column(f"{table}.{col}")} for col in (1, 2, 3, 4, 5)}
    for (index,), text in column(texts):
        said = parse(text)
        if not said or said[1] is None or said[0] not in known or index not in cells[4]:
            continue
        port, metric = said
        kind, scale, precision, value, status = (cells[col][index] for col in (1, 2, 3, 4, 5))
        if status != 1 or abs(value) >= 1000000000 or (kind == 14 and value == 0) or (table.startswith("1.3.6.1.4.1.9.") and value == 0):
            continue
        number = value * 10.0 ** (3 * (scale - 9)) / 10.0 ** precision
        if kind == 6:
            number = 10 * math.log10(number * 1000)
        key = (port, "-", metric)
        out[key] = (max if metric == "optic.temperature_c" else min)(out.get(key, number), number)


def eos(v):
    common(v, hc=True)
    A = "1.3.6.1.4.1.30065.3"
    per_prio(v, "pfc.tx_frames", f"{A}.11.1.1.1.3")
    per_prio(v, "pfc.rx_frames", f"{A}.11.1.1.1.4")
    per_prio(v, "queue.ecn_marked", f"{A}.13.1.9.1.4", keep=lambda r: True)
    for (i, q), enabled in column(f"{A}.13.1.9.1.3"):
        if enabled != 1:  # not counted there: absent is unknown, not zero
            out.pop((port_name(v, i), q, "queue.ecn_marked"))
    for col, metric in ((4, "queue.out_packets"), (5, "queue.out_octets"), (6, "queue.drops")):
        per_prio(v, metric, f"{A}.6.1.2.1.{col}", add=True)
    per_prio(v, "pfcwd.storms", f"{A}.11.1.2.1.4", keep=lambda r: False)
    for (i, _kind, q), val in column(f"{A}.11.1.2.1.4"):
        out[(port_name(v, i), q, "pfcwd.storms")] += val
    for (i, _kind, q), val in column(f"{A}.11.1.2.1.5"):
        out[(port_name(v, i), q, "pfcwd.restores")] += val
    per_port(v, "port.flaps", f"{A}.15.1.1.1.8")
    words = {"Temperature": "optic.temperature_c", "TX Power": "optic.tx_power_dbm", "RX Power": "optic.rx_power_dbm"}
    optics(v, "1.3.6.1.2.1.99.1.1.1", "1.3.6.1.2.1.47.1.1.1.1.2",
           lambda text: (m.group(2), words.get(m.group(1))) if (m := re.match(r"DOM (.*) Sensor for (.*)$", text)) else None)


def nxos(v):
    common(v)
    P, S = "1.3.6.1.4.1.9.9.813.1", "1.3.6.1.4.1.9.9.580.1"
    cell = walk[f"{S}.1.6.0"]
    per_prio(v, "pfc.tx_frames", f"{P}.2.1.2")
    per_prio(v, "pfc.rx_frames", f"{P}.2.1.3")
    per_prio(v, "pfcwd.storms", f"{P}.3.1.3")
    per_prio(v, "pfcwd.restores", f"{P}.3.1.4")
    per_prio(v, "pfcwd.drops", f"{P}.3.1.5")
    per_prio(v, "pfc.rx_pause_ns", f"{P}.4.1.2", scale=1000)
    per_prio(v, "pfc.tx_pause_ns", f"{P}.4.1.3", scale=1000)
    per_prio(v, "pg.shared_watermark_bytes", f"{S}.5.6.1.6", scale=cell)
    per_prio(v, "pg.headroom_watermark_bytes", f"{S}.5.6.1.7", scale=cell)
    cisco_queues(v, 0)
    size = {tuple(k): x for k, x in column(f"{S}.4.8.1.3")}
    for (i, direction, group), pause in column(f"{S}.4.8.1.8"):
        if direction == 1 and pause:
            out[(port_name(v, i), group, "cfg.pg_xoff_level_bytes")] = pause
            out[(port_name(v, i), group, "cfg.pg_headroom_bytes")] = size[(i, direction, group)] - pause
    for (i, direction, group), resume in column(f"{S}.4.8.1.7"):
        if direction == 1 and resume:
            out[(port_name(v, i), group, "cfg.pg_xon_level_bytes")] = resume
    out[("-", "-", "cfg.cell_bytes")] = cell
    words = {"Temperature": "optic.temperature_c", "Transmit Power": "optic.tx_power_dbm", "Receive Power": "optic.rx_power_dbm"}
    optics(v, "1.3.6.1.4.1.9.9.91.1.1.1.1", "1.3.6.1.2.1.47.1.1.1.1.7",
           lambda text: (m.group(1), words.get(m.group(2))) if (m := re.match(r"(\S+) Lane \d+ Transceiver (.*) Sensor$", text)) else None)


def cumulus(v):
    common(v, ether=False)
    C, R = "1.3.6.1.4.1.40310.2", "1.3.6.1.4.1.40310.1.3"
    cell = walk.get(f"{R}.8.0", walk.get(f"{R}.8"))
    if cell:
        out[("-", "-", "cfg.cell_bytes")] = cell
    per_port(v, "port.fcs_errors", "1.3.6.1.2.1.10.7.2.1.3")
    per_port(v, "port.flaps", f"{C}.2.5.1.4")
    for (pool,), cells in column(f"{R}.4.1.3") if cell else ():
        out[(f"pool:{pool}", "-", "pool.watermark_bytes")] = cells * cell
    known = {port_name(v, i) for (i,), _ in column(f"{IFX}.1")}
    for n in range(8):
        for table, at, metric in ((5, 3, "pg.shared_watermark_bytes"), (7, 2, "queue.depth_bytes"), (7, 3, "queue.watermark_bytes")):
            for (row,), cells in column(f"{R}.{table}.1.{at + 2 * n}") if cell else ():
                name = walk[f"{R}.{table}.1.1.{row}"]
                if name in known:
                    out[(name, n, metric)] = cells * cell
        if not column(f"{C}.2.6.1.3"):
            for at, metric in enumerate(("queue.out_packets", "queue.drops", "queue.wred_drops")):
                for (i,), val in column(f"{C}.2.4.1.{2 + 3 * n + at}"):
                    out[(port_name(v, i), n, metric)] = val
    per_port(v, "port.in_pause_frames", f"{C}.2.3.1.2")
    per_port(v, "port.out_pause_frames", f"{C}.2.3.1.3")
    for p in range(8):
        for (i,), val in column(f"{C}.2.3.1.{4 + 2 * p}"):
            out[(port_name(v, i), p, "pfc.rx_frames")] = val
        for (i,), val in column(f"{C}.2.3.1.{5 + 2 * p}"):
            out[(port_name(v, i), p, "pfc.tx_frames")] = val
    for col, metric in ((3, "queue.out_packets"), (4, "queue.out_octets"), (5, "queue.drops"), (6, "queue.wred_drops"), (7, "queue.ecn_marked")):
        per_prio(v, metric, f"{C}.2.6.1.{col}")


def onyx(v):
    common(v)
    M = "1.3.6.1.4.1.33049.15.1"
    per_prio(v, "pfc.rx_frames", f"{M}.2.1.3")
    per_prio(v, "pfc.rx_pause_ns", f"{M}.2.1.4", scale=1000000)
    per_prio(v, "pfc.tx_frames", f"{M}.2.1.5")
    per_prio(v, "pfc.tx_pause_ns", f"{M}.2.1.6", scale=1000000)
    per_prio(v, "pg.drops", f"{M}.3.1.6")
    for col, metric in ((3, "queue.out_packets"), (4, "queue.out_octets"), (8, "queue.drops"), (9, "queue.wred_drops")):
        per_prio(v, metric, f"{M}.4.1.{col}")


def junos(v):
    common(v)
    J = "1.3.6.1.4.1.2636.3.15"
    per_prio(v, "pfc.tx_frames", f"{J}.11.1.3")
    per_prio(v, "pfc.rx_frames", f"{J}.11.1.4")
    per_prio(v, "pfcwd.storms", f"{J}.12.1.3")
    per_prio(v, "pfcwd.restores", f"{J}.12.1.4")
    per_prio(v, "pfcwd.drops", f"{J}.12.1.5")
    for col, metric in ((7, "queue.out_packets"), (9, "queue.out_octets"), (53, "queue.drops"), (13, "queue.wred_drops")):
        per_prio(v, metric, f"{J}.4.1.{col}")
    for col, metric in ((58, "queue.depth_bytes"), (59, "queue.watermark_bytes")):
        for (i, q), val in column(f"{J}.4.1.{col}"):
            if val:
                out[(port_name(v, i), q, metric)] = val
    per_port(v, "port.flaps", "1.3.6.1.4.1.2636.3.3.1.1.26")
    M, L = "1.3.6.1.4.1.2636.3.60.1.1.1.1", "1.3.6.1.4.1.2636.3.60.1.2.1.1"
    per_port(v, "optic.temperature_c", f"{M}.8")
    for lane_col, module_col, metric in ((6, 5, "optic.rx_power_dbm"), (8, 7, "optic.tx_power_dbm")):
        for (i, _lane), val in column(f"{L}.{lane_col}"):
            key = (port_name(v, i), "-", metric)
            if val:
                out[key] = min(out.get(key, val / 100), val / 100)
        for (i,), val in column(f"{M}.{module_col}"):
            if val:
                out.setdefault((port_name(v, i), "-", metric), val / 100)


def dell_os9(v):
    common(v)
    D = "1.3.6.1.4.1.6027.3.27.1"
    per_prio(v, "pfc.tx_frames", f"{D}.11.1.2")
    per_prio(v, "pfc.rx_frames", f"{D}.11.1.3")
    per_prio(v, "cfg.pg_headroom_bytes", f"{D}.10.1.4", scale=DELL_CELL)
    for cols, metric in ((range(8, 12), "optic.tx_power_dbm"), (range(12, 16), "optic.rx_power_dbm"), ((16,), "optic.temperature_c")):
        for col in cols:
            for (i,), text in column(f"1.3.6.1.4.1.6027.3.11.1.3.1.1.{col}"):
                if re.fullmatch(r"-?\d+(\.\d+)?", text):
                    key = (port_name(v, i), "-", metric)
                    out[key] = min(out.get(key, float(text)), float(text))


def dell_os10(v):
    common(v)


def comware(v):
    common(v)
    H = "1.3.6.1.4.1.25506.2.70.1.1.1"
    lanes = {i for (i, _lane), _ in column("1.3.6.1.4.1.25506.2.70.1.2.1.2")}
    for col, metric, divisor in ((9, "optic.tx_power_dbm", 100), (12, "optic.rx_power_dbm", 100), (15, "optic.temperature_c", 1)):
        for (i,), val in column(f"{H}.{col}"):
            if val != 2147483647 and (col == 15 or i not in lanes):
                out[(port_name(v, i), "-", metric)] = val / divisor
    for col, metric in ((2, "optic.tx_power_dbm"), (3, "optic.rx_power_dbm")):
        for (i, _lane), val in column(f"1.3.6.1.4.1.25506.2.70.1.2.1.{col}"):
            if val != 2147483647:
                key = (port_name(v, i), "-", metric)
                out[key] = min(out.get(key, val / 100), val / 100)


def generic(v):
    common(v, hc=True)
    per_port(v, "port.in_pause_frames", "1.3.6.1.2.1.10.7.10.1.5")
    per_port(v, "port.out_pause_frames", "1.3.6.1.2.1.10.7.10.1.6")
    N = "1.3.6.1.2.1.47.1.1.1.1"
    names, inside = {k[0]: x for k, x in column(f"{N}.7")}, {k[0]: x for k, x in column(f"{N}.4")}
    ports = {port_name(v, i) for (i,), _ in column(f"{IFX}.1")}

    def climb(text):
        index = next(k for k, x in names.items() if x == text)
        metric = "optic.rx_power_dbm" if re.search(r"(Rx|Receive) Power", text) else "optic.tx_power_dbm" if "Tx Power" in text else "optic.temperature_c" if "Temperature" in text else None
        while index:
            said = [word for word in names[index].split() if word in ports]
            if said:
                return said[0], metric
            index = inside[index]
        return None
    optics(v, "1.3.6.1.2.1.99.1.1.1", f"{N}.7", climb)


VENDORS = {"sonic": sonic, "eos": eos, "nxos": nxos, "cumulus": cumulus, "onyx": onyx, "junos": junos, "dell-os9": dell_os9, "dell-os10": dell_os10,
           "comware": comware, "generic": generic}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in VENDORS:
        sys.exit(f"usage: expect.py {'|'.join(VENDORS)} < walk")
    walk = read(sys.stdin)
    VENDORS[sys.argv[1]](sys.argv[1])
    for (port, prio, metric), value in sorted(out.items(), key=lambda kv: (kv[0][0], str(kv[0][1]), kv[0][2])):
        print(port, prio, metric, value, sep="\t")
