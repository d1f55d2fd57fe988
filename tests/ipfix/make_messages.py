#!/usr/bin/env python3
"""make_messages.py - writes messages.txt: IPFIX messages of another encoder, and what another decoder reads in them.

The encoder is python-ipfix 0.9.8 (pip install ipfix), the decoder tshark (Debian 12, its dissector cflow). Neither is needed to build
or test; the file is kept. Only the meaning of the enterprise number is worked out here, as SONiC's own reader does (sonic-swss
00586c68 crates/countersyncd/src/message/saistats.rs).

	python3 make_messages.py > messages.txt
"""
import datetime
import subprocess
import tempfile
import xml.etree.ElementTree

import ipfix.ie
import ipfix.message
import ipfix.template

ipfix.ie.use_iana_default()
T0 = 1790000000
NTP = ipfix.ie.for_spec("observationTimeNanoseconds(0/325)<dateTimeNanoseconds>[8]")


def raw_time():
    """element 325 without an enterprise number, its value a plain number as SONiC writes it"""
    element = ipfix.ie.InformationElement("timeNs", 0, 325, ipfix.types.for_name("unsigned64"), 8)
    return element


def sai(kind, stat, label, length=8):
    number = (kind & 0x7FFF) << 16 | (stat & 0x7FFF)
    if kind >= 0x20000000:
        number |= 0x80000000
    if stat >= 0x20000000:
        number |= 0x8000
    return ipfix.ie.for_spec("s%x_%x_%d(%d/%d)<unsigned64>[%d]" % (kind, stat, label, number, label, length))


def encode(domain, sequence, export_s, *parts):
    """parts: a template, (template, [records]) or an id to withdraw"""
    m = ipfix.message.MessageBuffer()
    m.sequences[(domain, m.streamid)] = sequence
    m.begin_export(domain)
    m.set_export_time(datetime.datetime.utcfromtimestamp(export_s))
    for part in parts:
        if isinstance(part, ipfix.template.Template):
            m.add_template(part)
        elif isinstance(part, int):
            m._export_template_withdrawal(2, part)
        else:
            template, records = part
            m.add_template(template, export=False)
            m.export_ensure_set(template.tid)
            for record in records:
                m.export_tuple(record)
    return bytes(m.to_bytes())


def template(tid, *elements, scope=0):
    t = ipfix.template.from_ielist(tid, ipfix.ie.InformationElementList(elements))
    t.scopecount = scope
    return t


def tshark_flows(messages):
    """the bytes of all fields of all records that tshark reads, in order of messages"""
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/t", "w") as f:
            for m in messages:
                for i in range(0, len(m), 16):
                    f.write("%06x %s\n" % (i, m[i:i + 16].hex(" ")))
        subprocess.run(["text2pcap", "-q", "-u", "4739,4739", d + "/t", d + "/p"], check=True, stderr=subprocess.DEVNULL)
        out = subprocess.run(["tshark", "-r", d + "/p", "-d", "udp.port==4739,cflow", "-T", "pdml"], check=True, capture_output=True,
                             text=True).stdout
    flows = []
    for packet in xml.etree.ElementTree.fromstring(out).iter("packet"):
        flows.append([[f.get("unmaskedvalue") or f.get("value") for f in flow] for flow in packet.iter("field")
                      if (flow.get("show") or "").startswith("Flow ")])
    return flows


def expected(template, record):
    """what the encoder was given, and its bytes, to be compared with tshark's"""
    lines, values, when = [], [], 0
    for e, value in zip(template.ies, record):
        if e.num == 325 and e.pen == 0:
            when = value
            if isinstance(value, datetime.datetime):
                when = round(value.replace(tzinfo=datetime.timezone.utc).timestamp() * 10) * 10**8
            values.append(None if when != value else "%016x" % value)
            continue
        values.append("%0*x" % (2 * e.length, value))
        if e.pen >> 16 == 0:
            lines.append("value plain %d 0 %d %d" % (e.pen, e.num, value))
            continue
        kind, stat = (e.pen & 0x7FFF0000) >> 16, e.pen & 0x7FFF
        if e.pen & 0x80000000:
            kind += 0x20000000
        if e.pen & 0x8000:
            stat += 0x20000000
        lines.append("value SAI %d %d %d %d" % (kind, stat, e.num, value))
    return when, lines, values


def show(what, message, parts, flows, export_s):
    print("# %s\nmessage %s" % (what, message.hex()))
    at = 0
    for part in parts:
        if not isinstance(part, tuple):
            continue
        for record in part[1]:
            when, lines, values = expected(part[0], record)
            if flows:
                assert all(v in (None, f) for v, f in zip(values, flows[at])), (values, flows[at])
                at += 1
            if not part[0].scopecount:
                print("record %d %d" % (part[0].tid, when or export_s * 10**9))
                print("\n".join(lines))


def main():
    time = raw_time()
    ports = template(256, time, sai(1, 0, 1), sai(1, 109, 1), sai(1, 141, 1), sai(1, 0, 2), sai(1, 109, 2), sai(1, 141, 2))
    queues = template(257, time, sai(21, 0x22, 1), sai(21, 0x19, 1, 4), sai(26, 7, 3), sai(1, 0x20000567, 5), sai(0x20000003, 2, 32767))
    other = template(256, sai(1, 9, 1), time)
    ntp = template(258, NTP, sai(1, 0, 1))
    plain = template(259, *ipfix.ie.spec_list(["octetDeltaCount", "packetDeltaCount", "ingressInterface"]))
    options = template(300, *ipfix.ie.spec_list(["observationDomainId", "exportedMessageTotalCount"]), scope=1)
    ns = T0 * 10**9
    cases = [
        ("templates and two records of ports", (0, 0, T0, ports, queues, (ports, [
            (ns + 1000000, 123456789, 7, 4100, 2**63 + 5, 0, 0),
            (ns + 2000000, 123556789, 8, 5200, 2**63 + 9, 0, 1)]))),
        ("queues, a group, extensions; a value of 4 bytes", (0, 2, T0, (queues, [
            (ns + 2500000, 17, 4000000000, 2**40, 99, 100)]))),
        ("the same template with other fields", (0, 3, T0 + 1, other, (other, [(1000, ns + 3000000)]))),
        ("time as NTP has it", (7, 0, T0 + 1, ntp, (ntp, [(datetime.datetime.utcfromtimestamp(T0 + 1.5), 5)]))),
        ("no time, no SAI; options", (7, 1, T0 + 2, plain, options, (options, [(7, 12)]), (plain, [(1500, 3, 42)]))),
        ("two records are missing before this one", (0, 6, T0 + 2, (other, [(1010, ns + 5000000)]))),
        ("withdrawn over UDP: it stays", (0, 7, T0 + 3, 256, )),
        ("so this is read", (0, 7, T0 + 3, (other, [(1020, ns + 6000000)]))),
        ("a template that was never sent", (9, 0, T0 + 3, (ports, [(ns, 1, 2, 3, 4, 5, 6)]))),
    ]
    messages = [encode(*call) for _, call in cases]
    flows = tshark_flows(messages)
    print("# Written by make_messages.py: encoded by python-ipfix 0.9.8. What it was given stands behind each message, compared with what")
    print("# tshark 4.0 reads; tshark keeps the first template of an id, and reads nothing by a later one.")
    print("# message HEX; record TEMPLATE TIME_NS; value SAI|plain TYPE STATISTIC OBJECT NUMBER")
    for (what, call), message, read in zip(cases, messages, flows):
        parts = call[3:] if call[0] != 9 else []
        show(what, message, parts, read, call[2])


main()
