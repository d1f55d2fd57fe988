#!/usr/bin/env python3
"""filter.py SOURCE_FOLDER: the filters of live captures (collectors/packet/capture/pcap.h), compiled by libpcap for each link type, let every
encapsulation through and ordinary traffic not. Exit 0, 1 with a line, 77 without libpcap.
"""
import ctypes
import os
import re
import struct
import sys

import frames as f
from groups import GROUPS

TAGS = [(), ((0x8100, 0, 5),), ((0x8100, 0, 5), (0x8100, 0, 6))]


class Program(ctypes.Structure):
    _fields_ = [("n", ctypes.c_uint), ("code", ctypes.c_void_p)]


class Header(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("us", ctypes.c_long), ("caplen", ctypes.c_uint), ("len", ctypes.c_uint)]


def filters(source):
    """{name: text} of the macros PCAP_FILTER*."""
    text = open(os.path.join(source, "collectors/packet/capture/pcap.c")).read()
    macros = {m[1]: m[2].replace("\\\n", " ") for m in re.finditer(r"#define (PCAP_FILTER\w*)((?:[^\n]*\\\n)*[^\n]*)\n", text)}

    def value(name):
        return "".join(t[1:-1] if t[0] == '"' else value(t) for t in re.findall(r'"[^"]*"|PCAP_FILTER\w*', macros[name]))
    return {name: value(name) for name in macros}


def compiled(lib, link, text):
    handle, program = lib.pcap_open_dead(link, 262144), Program()
    if lib.pcap_compile(ctypes.c_void_p(handle), ctypes.byref(program), text.encode(), 1, ctypes.c_uint(0xffffffff)):
        lib.pcap_geterr.restype = ctypes.c_char_p
        raise SystemExit(f"link type {link}: {lib.pcap_geterr(ctypes.c_void_p(handle)).decode()}")

    def passes(frame):
        header = Header(0, 0, len(frame), len(frame))
        return bool(lib.pcap_offline_filter(ctypes.byref(program), ctypes.byref(header), frame))
    return passes


def cooked(frame, version):
    kind = frame[12:14]
    if version == 1:
        return struct.pack(">HHH8s", 0, 1, 6, frame[6:12] + b"\0\0") + frame[12:]
    return kind + struct.pack(">HIHBB8s", 0, 3, 1, 0, 6, frame[6:12] + b"\0\0") + frame[14:]


def wanted():
    out = [(name, wrap(f.roce(family, 0x0a, 5, 6), outer)) for name, _, outers, wrap in GROUPS for outer in outers for family in (4, 6)]
    for family in (4, 6):
        out.append(("sflow", f.put(("udp", 6343, bytes(80)), family)))
        out.append(("uet", f.put(("udp", 4793, bytes(80)), family)))
    return out + [("rocev1", f.rocev1(0x0a, 5, 6)), ("pfc", f.ethernet(b"\x01\x01" + bytes(44), 0x8808)), ("macsec", f.ethernet(bytes(60), 0x88e5))]


def unwanted():
    out = [("arp", f.ethernet(bytes(46), 0x0806)), ("lldp", f.ethernet(bytes(46), 0x88cc))]
    for family in (4, 6):
        out += [("tcp", f.put(("ip", 6, struct.pack(">HH", 4791, 4791) + bytes(40)), family)), ("dns", f.put(("udp", 53, bytes(40)), family)),
                ("a reply from 4789", f.of_ip(f.ip(family, 9, 17, f.udp(4789, 50000, bytes(40)))))]
    return out


def tagged(frame, tags):
    return frame[:12] + b"".join(struct.pack(">HH", kind, vlan) for kind, _, vlan in tags) + frame[12:]


def main():
    try:
        lib = ctypes.CDLL("libpcap.so.0.8")
    except OSError as why:
        print(f"no libpcap: {why}")
        return 77
    lib.pcap_open_dead.restype = ctypes.c_void_p
    texts, wrong, n = filters(sys.argv[1]), [], 0
    ethernet = compiled(lib, 1, texts["PCAP_FILTER"])
    cases = [(what, frame, True) for what, frame in wanted()] + [(what, frame, False) for what, frame in unwanted()]
    raw = compiled(lib, 12, texts["PCAP_FILTER_IP"])
    sll = {version: compiled(lib, link, texts["PCAP_FILTER_COOKED"]) for version, link in ((1, 113), (2, 276))}
    for what, frame, expected in cases:
        has_tag = frame[12:14] in (b"\x81\x00", b"\x88\xa8")
        checks = [(f"{len(tags)} tags more", ethernet(tagged(frame, tags))) for tags in TAGS if not (has_tag and tags)]
        if not has_tag:
            checks += [(f"cooked {version}", passes(cooked(frame, version))) for version, passes in sll.items()]
        if frame[12:14] in (b"\x08\x00", b"\x86\xdd"):
            checks.append(("raw IP", raw(frame[14:])))
        n += len(checks)
        wrong += [f"{what}, {how}: {'not let through' if expected else 'let through'}" for how, passed in checks if passed != expected]
    print("\n".join(wrong[:30] + [f"{n} frames asked: {len(wrong)} wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
