#!/usr/bin/env python3
"""walks.py VENDOR - print what that vendor's SNMP agent answers, as a .snmprec file for snmpsim.

The tables, columns, index rules and oddities are those that were verified in the vendors' MIBs and agents' sources; the
values are made so that no two columns, ports or priorities share one: a swapped column cannot go unseen. This script knows
nothing of rocewatch, and neither does expect.py, which reads the walk back through snmpbulkwalk.
"""
import sys

INT, STR, OID, C32, G32, TT, C64 = "2", "4", "6", "65", "66", "67", "70"
IF, IFX, ETH, ETHHC = "1.3.6.1.2.1.2.2.1", "1.3.6.1.2.1.31.1.1.1", "1.3.6.1.2.1.10.7.2.1", "1.3.6.1.2.1.10.7.11.1"
rows = {}


def put(oid, tag, value):
    key = tuple(int(p) for p in oid.split("."))
    assert key not in rows, oid
    rows[key] = (tag, str(value))


def number(port, prio, column, big=True):
    """Different for each (port, priority, column); above 2^32 where the counter has 64 bits."""
    v = (port % 1009 * 1000 + prio) * 1000 + column
    return v + (1 << 40) if big else v


def sensor(index, *columns, table="1.3.6.1.2.1.99.1.1.1"):
    """ENTITY-SENSOR-MIB: type (6 watts, 8 celsius, 4 volts DC), scale (8 milli, 9 units), precision, value, status (1 ok, 2 unavailable).
    CISCO-ENTITY-SENSOR-MIB has the same columns, and 14 = dBm as a type."""
    for col, v in enumerate(columns, 1):
        put(f"{table}.{col}.{index}", INT, v)


def system(descr, objid, name, n_if):
    put("1.3.6.1.2.1.1.1.0", STR, descr)
    put("1.3.6.1.2.1.1.2.0", OID, objid)
    put("1.3.6.1.2.1.1.3.0", TT, 360000)
    put("1.3.6.1.2.1.1.5.0", STR, name)
    put("1.3.6.1.2.1.2.1.0", INT, n_if)
    put("1.3.6.1.2.1.31.1.5.0", TT, 0)


def interfaces(ports, index_value=lambda i: i, ether=False, hc_errors=False, discontinuity=0):
    """ports: (suffix, ifDescr, ifName, ifAlias, Mb/s, ifType)"""
    for i, descr, name, alias, mbps, iftype in ports:
        bps = min(mbps * 1000000, 4294967295)
        for col, tag, v in ((1, INT, index_value(i)), (2, STR, descr), (3, INT, iftype), (4, INT, 9216), (5, G32, bps), (6, STR, ""),
                            (7, INT, 1), (8, INT, 2 if "down" in alias else 1), (9, TT, discontinuity),
                            (13, C32, number(i, 0, 13, False)), (14, C32, number(i, 0, 14, False)),
                            (19, C32, number(i, 0, 19, False)), (20, C32, number(i, 0, 20, False))):
            put(f"{IF}.{col}.{i}", tag, v)
        put(f"{IFX}.1.{i}", STR, name)
        for col in range(6, 14):
            put(f"{IFX}.{col}.{i}", C64, number(i, 1, col))
        put(f"{IFX}.15.{i}", G32, mbps)
        put(f"{IFX}.18.{i}", STR, alias)
        put(f"{IFX}.19.{i}", TT, discontinuity)
        if ether and iftype == 6:
            put(f"{ETH}.3.{i}", C32, number(i, 2, 3, False))
            put(f"{ETH}.18.{i}", C32, number(i, 2, 18, False))
            if hc_errors:
                put(f"{ETHHC}.2.{i}", C64, number(i, 2, 102))
                put(f"{ETHHC}.6.{i}", C64, number(i, 2, 106))


def sonic():
    ports = [(1, "etp1", "etp1", "spine1", 400000, 6), (5, "etp2", "etp2", "host down", 400000, 6), (9, "etp3", "etp3", "host2", 100000, 6),
             (1001, "PortChannel1", "PortChannel1", "", 800000, 161), (10000, "eth0", "eth0", "mgmt", 1000, 6)]
    system("SONiC Software Version: SONiC.202511.1 - HwSku: Mellanox-SN5600-C256S1 - Distribution: Debian 12.9 - Kernel: 6.1.0-22-2-amd64",
           "1.3.6.1.4.1.8072.3.2.10", "leaf1", len(ports))
    interfaces(ports, index_value=lambda i: i - 1)
    P, Q = "1.3.6.1.4.1.9.9.813.1", "1.3.6.1.4.1.9.9.580.1.5.5.1.4"
    for i in (1, 5, 9):
        put(f"{P}.1.1.1.{i}", C64, number(i, 3, 2))  # the per-port table answers from priority 3 alone
        put(f"{P}.1.1.2.{i}", C64, number(i, 3, 3))
        for p in range(8):
            put(f"{P}.2.1.2.{i}.{p}", C64, number(i, p, 2))
            put(f"{P}.2.1.3.{i}.{p}", C64, number(i, p, 3))
        for q in range(1, 9):  # 1-based
            for t in range(1, 9):
                put(f"{Q}.{i}.2.{q}.{t}", C64, number(i, q - 1, 100 + t))


    for i in (1, 5, 9):
        base = 1000000000 + i * 100
        sensor(base + 10, 8, 9, 6, 40000000 + i * 1000000 + 250000, 1)
        sensor(base + 50, 4, 9, 4, 33000 + i, 1)
        for lane in range(1, 5):
            sensor(base + 20 + lane, 6, 8, 4, 12000 + 100 * i - lane, 1)
            sensor(base + 30 + lane, 6, 8, 4, 8000 + 100 * i + 10 * lane, 1)
            sensor(base + 40 + lane, 5, 8, 3, 70000 + lane, 1)
    for key, v in (("1.3.6.1.2.1.99.1.1.1.4.1000000532", 0), ("1.3.6.1.2.1.99.1.1.1.5.1000000532", 2), ("1.3.6.1.2.1.99.1.1.1.4.1000000933", 0)):  # not available; dark
        rows[tuple(int(p) for p in key.split("."))] = (INT, str(v))
    sensor(200990110, 8, 9, 3, 55000, 1)  # the chassis: below the transceivers
    sensor(601240030, 6, 9, 3, 300000, 1)  # a power supply


def eos():
    ports = [(1, "Ethernet1/1", "Ethernet1/1", "spine1", 400000, 6), (2, "Ethernet2/1", "Ethernet2/1", "host down", 400000, 6),
             (1000001, "Port-Channel1", "Port-Channel1", "", 800000, 161)]
    system("Arista Networks EOS version 4.32.2F running on an Arista Networks DCS-7060X6-64PE", "1.3.6.1.4.1.30065.1.3011.7060", "leaf1", len(ports))
    interfaces(ports, ether=True, hc_errors=True, discontinuity=100)
    A = "1.3.6.1.4.1.30065.3"
    for i in (1, 2):
        for p in range(8):
            put(f"{A}.11.1.1.1.3.{i}.{p}", C64, number(i, p, 2))
            put(f"{A}.11.1.1.1.4.{i}.{p}", C64, number(i, p, 3))
            put(f"{A}.13.1.9.1.3.{i}.{p}", INT, 1 if p == 3 else 2)
            put(f"{A}.13.1.9.1.4.{i}.{p}", C64, number(i, p, 40) if p == 3 else 0)
            put(f"{A}.6.1.1.1.3.{i}.{p + 1}", C64, number(i, p, 30))
            put(f"{A}.6.1.1.1.4.{i}.{p + 1}", C64, number(i, p, 31))
            for kind in (0, 1):
                for col in range(4, 10):
                    put(f"{A}.6.1.2.1.{col}.{i}.{p}.{kind}", C64, number(i, p, 200 + kind * 20 + col))
            put(f"{A}.11.1.2.1.4.{i}.0.{p}", INT, 10 + p)
            put(f"{A}.11.1.2.1.5.{i}.0.{p}", INT, 9 + p)
        put(f"{A}.15.1.1.1.8.{i}", C32, number(i, 0, 8, False))
    # Descriptions, scales, precisions and readings of a DCS-7280SR with EOS 4.15.3F (LibreNMS tests/snmpsim/arista_eos.snmprec: 100301201,
    # 100301212, 100301213; 100302213 is dark and answers -1000000000).
    D = "1.3.6.1.2.1.47.1.1.1.1.2"
    put(f"{D}.1", STR, "48x25GbE (SFP) & 6x100GbE (QSFP) Ethernet Switch")
    put(f"{D}.100006001", STR, "Cpu temp sensor")
    sensor(100006001, 8, 9, 1, 532, 1)
    for n, name, celsius, tx, rx in ((1, "Ethernet1/1", 258, 6318, 1), (2, "Ethernet2/1", 337, 2492, -1000000000), (3, "Ethernet3/1", 355, 2479, 5000)):
        base = 100300000 + n * 1000
        for at, text in ((0, f"Xcvr Slot {n}"), (100, f"Xcvr for {name}"), (201, f"DOM Temperature Sensor for {name}"), (202, f"DOM Voltage Sensor for {name}"),
                         (210, f"Lane 0 for Xcvr for {name}"), (211, f"DOM TX Bias Sensor for {name}"), (212, f"DOM TX Power Sensor for {name}"),
                         (213, f"DOM RX Power Sensor for {name}")):
            put(f"{D}.{base + at}", STR, text)
        sensor(base + 201, 8, 9, 1, celsius, 1)
        sensor(base + 202, 4, 9, 2, 331, 1)
        sensor(base + 211, 5, 8, 3, 3345, 1)
        sensor(base + 212, 6, 8, 4, tx, 1)
        sensor(base + 213, 6, 8, 4, rx, 1)


def nxos(more_size=0, more_pause=0):
    ports = [(436207616, "Ethernet1/1", "Ethernet1/1", "spine1", 400000, 6), (436208128, "Ethernet1/2", "Ethernet1/2", "host down", 400000, 6),
             (369098752, "port-channel1", "port-channel1", "", 800000, 161)]
    system("Cisco NX-OS(tm) Nexus9000 C9364D-GX2A, Software (NXOS 64-bit), Version 10.4(3)", "1.3.6.1.4.1.9.12.3.1.3.2468", "leaf1", len(ports))
    interfaces(ports, ether=True, discontinuity=100)
    P, S = "1.3.6.1.4.1.9.9.813.1", "1.3.6.1.4.1.9.9.580.1"
    put(f"{S}.1.6.0", G32, 208)
    for n, i in enumerate((436207616, 436208128), 1):
        put(f"{P}.1.1.1.{i}", C64, number(n, 90, 2))
        put(f"{P}.1.1.2.{i}", C64, number(n, 90, 3))
        for p in range(8):
            put(f"{P}.2.1.2.{i}.{p}", C64, number(n, p, 2))
            put(f"{P}.2.1.3.{i}.{p}", C64, number(n, p, 3))
            put(f"{P}.3.1.3.{i}.{p}", C64, number(n, p, 53))
            put(f"{P}.3.1.4.{i}.{p}", C64, number(n, p, 54))
            put(f"{P}.3.1.5.{i}.{p}", C64, number(n, p, 55))
            put(f"{P}.4.1.2.{i}.{p}", C64, number(n, p, 62))  # microseconds
            put(f"{P}.4.1.3.{i}.{p}", C64, number(n, p, 63))
            for col in range(2, 8):
                put(f"{S}.5.6.1.{col}.{i}.{p}", G32, number(n, p, 300 + col, False))  # cells
            for t in range(1, 9):
                put(f"{S}.5.5.1.4.{i}.2.{p}.{t}", C64, number(n, p, 100 + t))
            # buffer size, resume and pause thresholds of the ingress direction, bytes; 0 = not applicable on egress
            lossless = p == 3
            for direction, size, resume, pause in ((1, 101920 + n + more_size, 34320 + n, 46800 + n + more_pause), (2, 0, 0, 0)):
                put(f"{S}.4.8.1.3.{i}.{direction}.{p}", G32, size if lossless else 0)
                put(f"{S}.4.8.1.7.{i}.{direction}.{p}", G32, resume if lossless else 0)
                put(f"{S}.4.8.1.8.{i}.{direction}.{p}", G32, pause if lossless else 0)


    # Names, types, scales and readings of Nexus switches (Checkmk, tests of cisco_temperature: 300000007, 300000013, 300000014, 3000035xx);
    # an empty cage of a Nexus 9000 answers 0 with the status ok.
    N, X = "1.3.6.1.2.1.47.1.1.1.1.7", "1.3.6.1.4.1.9.9.91.1.1.1.1"
    put(f"{N}.21590", STR, "module-1 FRONT")
    sensor(21590, 8, 9, 0, 31, 1, table=X)
    for base, name, lanes in ((300000000, "Ethernet1/1", ((26757, -33010, -10788), (26949, -2862, -2369))), (300003520, "Ethernet1/2", ((0, 0, 0),))):
        for lane, (celsius, rx, tx) in enumerate(lanes, 1):
            for at, what, kind, value in ((3, "Voltage", 4, 3354), (4, "Bias Current", 5, 314), (7, "Temperature", 8, celsius), (13, "Receive Power", 14, rx),
                                          (14, "Transmit Power", 14, tx)):
                index = base + 100 * (lane - 1) + at
                put(f"{N}.{index}", STR, f"{name} Lane {lane} Transceiver {what} Sensor")
                sensor(index, kind, 8, 0, value, 1, table=X)


def cumulus(descr="Cumulus-Linux 5.14.0 (Linux Kernel 6.1.123)", objid="1.3.6.1.4.1.40310", new_queues=True, cell="8.0", more_ports=0):
    ports = [(3, "swp1", "swp1", "spine1", 400000, 6), (4, "swp2", "swp2", "host down", 100000, 6), (200, "bond1", "bond1", "", 800000, 161)]
    ports += [(5 + n, f"swp{3 + n}", f"swp{3 + n}", "", 100000, 6) for n in range(more_ports)]
    system(descr, objid, "leaf1", len(ports))
    interfaces(ports)
    C, R = "1.3.6.1.4.1.40310.2", "1.3.6.1.4.1.40310.1.3"
    if cell:  # bufUtiliznCellSize
        put(f"{R}.{cell}", INT, 144)
    for pool in (0, 1):
        for col in (2, 3, 7):
            put(f"{R}.4.1.{col}.{pool}", INT, 500 + 10 * pool + col)
    # the buffer tables have rows of their own: row 1 is the first port, whatever its ifIndex (LibreNMS tests/snmpsim/cumulus_bgp.snmprec)
    buffers = [(1 + n, f"swp{1 + n}") for n in range(3 + more_ports)]  # the last: a port that IF-MIB does not show
    for row, name in buffers:
        put(f"{R}.5.1.1.{row}", STR, name)
        put(f"{R}.7.1.1.{row}", STR, name)
        for n in range(8):
            for at in (2, 3):
                put(f"{R}.5.1.{at + 2 * n}.{row}", C64, 1000 * row + 10 * n + at)
                put(f"{R}.7.1.{at + 2 * n}.{row}", C64, 7000 + 1000 * row + 10 * n + at)
    for i, name in ((3, "swp1"), (4, "swp2")):
        put(f"1.3.6.1.2.1.10.7.2.1.3.{i}", C32, number(i, 0, 703, False))
        put(f"{C}.2.5.1.4.{i}", C64, number(i, 0, 54, False))
        put(f"{C}.2.3.1.1.{i}", STR, name)
        put(f"{C}.2.3.1.2.{i}", C64, number(i, 0, 2))
        put(f"{C}.2.3.1.3.{i}", C64, number(i, 0, 3))
        for p in range(8):
            put(f"{C}.2.3.1.{4 + 2 * p}.{i}", C64, number(i, p, 40))
            put(f"{C}.2.3.1.{5 + 2 * p}.{i}", C64, number(i, p, 50))
            for col in range(3, 8) if new_queues else ():
                put(f"{C}.2.6.1.{col}.{i}.{p}", C64, number(i, p, 60 + col))
            for col in range(3) if not new_queues else ():  # packets, drops, WRED drops
                put(f"{C}.2.4.1.{2 + 3 * p + col}.{i}", C64, number(i, p, 80 + col))


def onyx():
    ports = [(1, "Eth1/1", "Eth1/1", "spine1", 400000, 6), (2, "Eth1/2", "Eth1/2", "host down", 200000, 6)]
    system("Mellanox MSN4700,MLNX-OS,SWv3.10.4100", "1.3.6.1.4.1.33049.1.1.1.4700", "leaf1", len(ports))
    interfaces(ports, ether=True)
    M = "1.3.6.1.4.1.33049.15.1"
    for i in (1, 2):
        for p in range(8):
            for col in (3, 4, 5, 6):  # rx frames, rx pause ms, tx frames, tx pause ms
                put(f"{M}.2.1.{col}.{i}.{p}", C64, number(i, p, col, big=col in (3, 5)))
            for col in (3, 4, 5, 6, 7):
                put(f"{M}.3.1.{col}.{i}.{p}", C64, number(i, p, 300 + col, big=col != 5))
            for col in (3, 4, 6, 7, 8, 9):
                put(f"{M}.4.1.{col}.{i}.{p}", C64, number(i, p, 400 + col, big=col not in (6, 7)))


def junos(with_lanes=True):
    ports = [(512, "et-0/0/0", "et-0/0/0", "spine1", 400000, 6), (513, "et-0/0/1", "et-0/0/1", "host down", 400000, 6), (514, "xe-0/0/2:0", "xe-0/0/2:0", "", 10000, 6), (600, "ae0", "ae0", "", 800000, 161)]
    system("Juniper Networks, Inc. qfx5240-64od internet router, kernel JUNOS 23.4X100", "1.3.6.1.4.1.2636.1.1.1.4.593", "leaf1", len(ports))
    interfaces(ports, ether=True, discontinuity=100)
    J = "1.3.6.1.4.1.2636.3.15"
    for i in (512, 513):
        for p in range(8):
            put(f"{J}.11.1.3.{i}.{p}", C64, number(i, p, 3))
            put(f"{J}.11.1.4.{i}.{p}", C64, number(i, p, 4))
            for col in (3, 4, 5, 6):
                put(f"{J}.12.1.{col}.{i}.{p}", C64, number(i, p, 20 + col))
            for col in (3, 5, 7, 9, 11, 13, 23, 53, 55):
                put(f"{J}.4.1.{col}.{i}.{p}", C64, number(i, p, 100 + col))
            for col in (57, 58, 59, 60):  # 0: the platform does not measure it, which cannot be told from an empty queue
                put(f"{J}.4.1.{col}.{i}.{p}", C64, number(i, p, 100 + col, False) if p < 4 else 0)
        put(f"1.3.6.1.4.1.2636.3.3.1.1.26.{i}", C32, number(i, 0, 26, False))
    # the readings of module 593 in a published "show snmp mib walk" (one lane), and four lanes, of which one is dark
    M, L = "1.3.6.1.4.1.2636.3.60.1.1.1.1", "1.3.6.1.4.1.2636.3.60.1.2.1.1"
    modules = ((512, 38, ((-1974, -1031),)), (513, 51, ((-250, -110), (-312, -90), (-4000, -105), (0, 0))))
    for i, celsius, lanes in modules:
        put(f"{M}.5.{i}", INT, 0 if len(lanes) > 1 else lanes[0][0])
        put(f"{M}.7.{i}", INT, 0 if len(lanes) > 1 else lanes[0][1])
        put(f"{M}.8.{i}", INT, celsius)
    put(f"{M}.5.514", INT, -312)  # a module that has no row in the table of lanes
    put(f"{M}.7.514", INT, -245)
    put(f"{M}.8.514", INT, 33)
    for i, _celsius, lanes in modules:
        for lane, (rx, tx) in enumerate(lanes if with_lanes else ()):
            put(f"{L}.6.{i}.{lane}", INT, rx)
            put(f"{L}.8.{i}.{lane}", INT, tx)


def dell_os9(more_cells=0):
    ports = [(2097156, "fortyGigE 0/0", "fortyGigE 0/0", "spine1", 40000, 6), (2097284, "fortyGigE 0/4", "fortyGigE 0/4", "host down", 40000, 6)]
    system("Dell EMC Networking OS Operating System Version: 2.0 Application Software Version: 9.14(2.9)", "1.3.6.1.4.1.6027.1.3.25", "leaf1", len(ports))
    interfaces(ports, ether=True)
    D = "1.3.6.1.4.1.6027.3.27.1"
    for n, i in enumerate((2097156, 2097284), 1):
        for p in range(8):
            put(f"{D}.11.1.2.{i}.{p}", C64, number(n, p, 2))
            put(f"{D}.11.1.3.{i}.{p}", C64, number(n, p, 3))
            put(f"{D}.9.1.2.{i}.{p}", C32, number(n, p, 92, False))
            put(f"{D}.9.1.3.{i}.{p}", C32, number(n, p, 93, False))
            for col in (1, 2, 3, 4, 5, 6, 7):
                cells = number(n, p, 100 + col, False) + (more_cells if col == 4 else 0)
                put(f"{D}.10.1.{col}.{i}.{p}", INT if col == 3 else G32, 1 if col == 3 else cells)
        for lane in range(4):  # text, as the MIB has it; the second port has a cable of copper
            put(f"1.3.6.1.4.1.6027.3.11.1.3.1.1.{8 + lane}.{i}", STR, f"-{n}.{20 + lane}" if n == 1 else "N/A")
            put(f"1.3.6.1.4.1.6027.3.11.1.3.1.1.{12 + lane}.{i}", STR, f"-{n + 1}.{70 - lane}" if n == 1 else "N/A")
        put(f"1.3.6.1.4.1.6027.3.11.1.3.1.1.16.{i}", STR, "31.5" if n == 1 else "")
        put(f"{D}.24.1.1.{i}", C32, number(n, 0, 241, False))
        put(f"{D}.24.1.2.{i}", C64, number(n, 0, 242))


def dell_os10():
    """LibreNMS tests/snmpsim/dell-os10.snmprec: ifIndex 10, 13, 14, 43, 47; the description and its quote of dell-os10_s4128ton-psu.snmprec."""
    ports = [(10, "mgmt1/1/1", "mgmt1/1/1", "", 1000, 6), (13, "ethernet1/1/1", "ethernet1/1/1", "spine1", 25000, 6),
             (14, "ethernet1/1/2", "ethernet1/1/2", "host down", 25000, 6), (43, "port-channel1", "port-channel1", "", 50000, 161), (47, "vlan1", "vlan1", "", 10000, 135)]
    system('"Dell SmartFabric OS10 Enterprise. Copyright (c) 1999-2025 by Dell Inc. All Rights Reserved. OS Version: 10.6.1.0."',
           "1.3.6.1.4.1.674.11000.5000.100.2.1.9", "leaf1", len(ports))
    interfaces(ports, ether=True)


def comware():
    ports = [(1, "FortyGigE1/0/1", "FGE1/0/1", "spine1", 40000, 6), (2, "FortyGigE1/0/2", "FGE1/0/2", "host down", 40000, 6), (3, "FortyGigE1/0/3", "FGE1/0/3", "", 40000, 6)]
    system("HPE Comware Platform Software, Software Version 7.1.070", "1.3.6.1.4.1.25506.11.1.186", "leaf1", len(ports))
    interfaces(ports, ether=True)
    H = "1.3.6.1.4.1.25506.2.70.1.1.1"
    put(f"{H}.9.3", INT, 777)  # of a module with lanes, whatever it says for the whole of it
    for i, tx, rx, celsius in ((1, -251, -834, 39), (2, 2147483647, 2147483647, 2147483647)):  # of the first a published reading; no diagnosis
        put(f"{H}.9.{i}", INT, tx)
        put(f"{H}.12.{i}", INT, rx)
        put(f"{H}.15.{i}", INT, celsius)
    put(f"{H}.15.3", INT, 41)  # four lanes: the module itself has no powers
    for lane, (tx, rx) in enumerate(((-120, -300), (-130, -510), (-90, -280), (-140, 2147483647)), 1):
        put(f"1.3.6.1.4.1.25506.2.70.1.2.1.2.3.{lane}", INT, tx)
        put(f"1.3.6.1.4.1.25506.2.70.1.2.1.3.3.{lane}", INT, rx)


def generic():
    ports = [(1, "lo", "lo", "", 10, 24), (2, "eth1", "eth1", "spine1", 100000, 6), (3, "eth2", "eth2", "host down", 25000, 6)]
    system("Some switch", "1.3.6.1.4.1.99999.1", "leaf1", len(ports))
    interfaces(ports, ether=True, hc_errors=True, discontinuity=100)
    for i in (2, 3):
        for col in (5, 6):
            put(f"1.3.6.1.2.1.10.7.10.1.{col}.{i}", C64, number(i, 3, col))
    # ENTITY-MIB (RFC 6933): a chassis holds ports, a port a transceiver, a transceiver its sensors; one more names its port itself
    for index, inside, text in ((1, 0, "chassis"), (2, 1, "eth1"), (3, 2, "Transceiver module"), (4, 3, "Rx Power lane 1"), (5, 3, "Rx Power lane 2"),
                                (6, 3, "Tx Power lane 1"), (7, 3, "Transceiver Temperature"), (8, 1, "Xcvr eth2 Receive Power"), (9, 1, "Supply 1 Rx Power")):
        put(f"1.3.6.1.2.1.47.1.1.1.1.4.{index}", INT, inside)
        put(f"1.3.6.1.2.1.47.1.1.1.1.7.{index}", STR, text)
    for index, columns in ((4, (6, 8, 3, 512, 1)), (5, (6, 8, 3, 398, 1)), (6, (6, 7, 1, 9120, 1)), (7, (8, 9, 0, 44, 1)), (8, (6, 8, 3, 250, 1)), (9, (6, 9, 0, 650, 1))):
        sensor(index, *columns)


VENDORS = {"sonic": sonic, "eos": eos, "nxos": nxos, "cumulus": cumulus, "onyx": onyx, "junos": junos, "dell-os9": dell_os9, "dell-os10": dell_os10,
           "comware": comware, "generic": generic}

# The same switch after one change of its configuration: which way each reads back is what must never be mixed up. And older releases.
VARIANTS = {"nxos-headroom": lambda: nxos(more_size=208),   # one cell more of buffer behind the same pause threshold
            "nxos-xoff": lambda: nxos(more_pause=416),      # pause sent later, in the same buffer
            "cumulus-old": lambda: cumulus("Linux mlnx-sw-1 4.19.0-cl-1-amd64 #1 SMP Cumulus 4.19.94-1+cl4.2.1u1", "1.3.6.1.4.1.8072.3.2.10", new_queues=False),
            # a recorded 5.9.2: 64 ports, and the cell is served without the instance .0 (LibreNMS tests/snmpsim/cumulus_bgp.snmprec: 40310.1.3.8|2|144)
            "cumulus-5.9": lambda: cumulus("Cumulus-Linux 5.9.2 (Linux Kernel 6.1.90-1+cl5.9.2u1)", new_queues=False, cell="8", more_ports=62),
            "cumulus-no-cell": lambda: cumulus(cell=None),  # nobody tells the size of a cell
            "junos-old": lambda: junos(with_lanes=False),
            "dell-os9-headroom": lambda: dell_os9(more_cells=1)}

if __name__ == "__main__":
    make = {**VENDORS, **VARIANTS}.get(sys.argv[1] if len(sys.argv) == 2 else "")
    if not make:
        sys.exit(f"usage: walks.py {'|'.join([*VENDORS, *VARIANTS])}")
    make()
    for key in sorted(rows):
        print(".".join(map(str, key)) + "|" + "|".join(rows[key]))
