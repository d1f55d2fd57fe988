#!/usr/bin/env python3
"""run.py ROCEWATCH GNMI_SERVER - a fabric of three vendors with LLDP on its ports of management, and links by discovery: no false
incident, the links that are there and no others, one name for each port, and each odd habit of a target told as it is.

    eos1 (leaf, EOS)    Ethernet1 -- fortyGigE 1/50 of os9-1    Ethernet2 -- ethernet1/1/1 of os10-1    Ethernet9 -- border1, an EOS that
                        is not configured                        Management1 -- office switch
    edge1 (leaf, SONiC) Ethernet0 -- fortyGigE 1/51 of os9-1    Ethernet4 -- ethernet1/1/2 of os10-1    Ethernet8 -- a server with docker
                        eth0 -- office switch                    PortChannel1
    os9-1 (spine, OS9)  answers its interface tables ordered as text; os10-1 (spine, OS10) has a sysUpTime that stands still
    qmon1, refused1     gNMI targets: one delivers paths that no profile knows, one refuses its counters

agents.py has the facts; the expected names and links stand here, worked out from these lines by hand.
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agents import Agent  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from patience import HANG_S, Limit  # noqa: E402

EOS, SONIC = "Arista Networks EOS version 4.28.3M running on an Arista DCS-7060CX-32S", "SONiC Software Version: SONiC.202111 - HwSku: Accton-AS7326-56X - Distribution: Debian 11"
OS9 = "Dell Real Time Operating System Software. Dell Operating System Version: 2.0. Dell Application Software Version: 9.14(2.16)"
OS10 = "Dell EMC Networking OS10 Enterprise. Copyright (c) 1999-2022 by Dell Inc. System Description: OS10 Enterprise. OS Version: 10.5.4"
UBUNTU = "Ubuntu 22.04.4 LTS Linux 5.15.0-105-generic x86_64"
MACS = {n: bytes([2, 0x10, 0, 0, i, 0xff]) for i, n in enumerate(("eos1", "edge1", "os9-1", "os10-1", "office", "border1", "node1"))}
ROUTES = b"\x28\x00"  # bridge and router
FABRIC, MGMT = (40000, 9216), (1000, 1500)

LINKS = {("eos1", "Ethernet1", "os9-1", "fortyGigE 1/50"), ("eos1", "Ethernet2", "os10-1", "ethernet1/1/1"),
         ("edge1", "Ethernet0", "os9-1", "fortyGigE 1/51"), ("edge1", "Ethernet4", "os10-1", "ethernet1/1/2"),
         ("eos1", "Ethernet9", "switch:border1", "Ethernet7/1"), ("edge1", "Ethernet8", "host:node1", None)}
PORTS = {"eos1": {"Ethernet1", "Ethernet2", "Ethernet9", "Management1"}, "edge1": {"Ethernet0", "Ethernet4", "Ethernet8", "PortChannel1", "eth0"},
         "os9-1": {"fortyGigE 1/50", "fortyGigE 1/51", "ManagementEthernet 1/1"}, "os10-1": {"ethernet1/1/1", "ethernet1/1/2", "mgmt1/1/1"}}


def eos():
    a = Agent("c")
    a.system(EOS, "1.3.6.1.4.1.30065.1.3011.7060", "eos1", 4)
    for i, name, (mbps, mtu) in ((1, "Ethernet1", FABRIC), (2, "Ethernet2", FABRIC), (9, "Ethernet9", FABRIC), (999001, "Management1", MGMT)):
        a.interface(i, name, name, mbps, mtu, alias=f"to {name}", bytes_per_s=mbps * 125000 // 4 if mtu > 2000 else 1000)
    a.lldp(MACS["eos1"], "eos1")
    for n, name in ((1, "Ethernet1"), (2, "Ethernet2"), (9, "Ethernet9"), (41, "Management1")):  # numbers that are no ifIndex, no subtype
        a.local(n, name, "")
    a.heard(1, MACS["os9-1"], "fortyGigE 1/50", name="os9-1", system=OS9, capabilities=ROUTES)
    a.heard(2, MACS["os10-1"], "ethernet1/1/1", name="os10-1", system=OS10, capabilities=ROUTES)
    a.heard(9, MACS["border1"], "Ethernet7/1", name="border1", system=EOS, capabilities=ROUTES)
    a.heard(41, MACS["office"], "41", 7, name="office", system="Acme", capabilities=b"\x20\x00")
    return a


def edgecore():
    a = Agent("c")
    a.system(SONIC, "1.3.6.1.4.1.8072.3.2.10", "edge1", 5)
    for i, name, descr, (mbps, mtu) in ((1, "Eth1(Port1)", "Ethernet0", FABRIC), (5, "Eth2(Port2)", "Ethernet4", FABRIC), (9, "Eth3(Port3)", "Ethernet8", FABRIC),
                                        (1000, "eth0", "eth0", MGMT), (10001, "PortChannel1", "PortChannel1", FABRIC)):
        a.interface(i, name, descr, mbps, mtu, alias="", bytes_per_s=mbps * 125000 // 4 if mtu > 2000 else 1000, kind=161 if i > 10000 else 6)
    a.lldp(MACS["edge1"], "edge1")
    for n, name in ((1, "Eth1(Port1)"), (5, "Eth2(Port2)"), (9, "Eth3(Port3)"), (1000, "eth0")):
        a.local(n, name, "", 7)
    a.heard(1, MACS["os9-1"], "fortyGigE 1/51", name="os9-1", system=OS9, capabilities=ROUTES)
    a.heard(5, MACS["os10-1"], "ethernet1/1/2", name="os10-1", system=OS10, capabilities=ROUTES)
    a.heard(9, MACS["node1"], MACS["node1"], 3, descr="ens1f0np0", name="node1", system=UBUNTU, capabilities=ROUTES)
    a.heard(1000, MACS["office"], "42", 7, name="office", system="Acme", capabilities=b"\x20\x00")
    return a


def dell(version):
    nine = version == 9
    me = "os9-1" if nine else "os10-1"
    a = Agent("c", text_order=nine, frozen=not nine)
    names = ("fortyGigE 1/50", "fortyGigE 1/51", "ManagementEthernet 1/1") if nine else ("ethernet1/1/1", "ethernet1/1/2", "mgmt1/1/1")
    index = (2097540, 20971669, 9) if nine else (17305562, 17305563, 35454736)  # as text: 20971669 < 2097540 < 9
    a.system(OS9 if nine else OS10, "1.3.6.1.4.1.6027.1.3.22" if nine else "1.3.6.1.4.1.674.11000.5000.100.2.1.13", me, 3)
    for i, name, (mbps, mtu) in zip(index, names, (FABRIC, FABRIC, MGMT)):
        a.interface(i, name, name, mbps, mtu, bytes_per_s=mbps * 125000 // 4 if mtu > 2000 else 1000)
    a.lldp(MACS[me], me)
    for n, name in enumerate(names, 1):
        a.local(index[n - 1] if nine else n, name, name, 5 if nine else None)
    numbers = index if nine else (1, 2, 3)
    a.heard(numbers[0], MACS["eos1"], "Ethernet1" if nine else "Ethernet2", name="eos1", system=EOS, capabilities=ROUTES)
    a.heard(numbers[1], MACS["edge1"], "Eth1(Port1)" if nine else "Eth2(Port2)", 7, name="edge1", system=SONIC, capabilities=ROUTES)
    a.heard(numbers[2], MACS["office"], "43", 7, name="office", system="Acme", capabilities=b"\x20\x00")
    return a


def gnmi_server(program, work, name, table, *options):
    path = os.path.join(work, name + ".tsv")
    with open(path, "w") as f:
        f.write(table)
    p = subprocess.Popen([program, path, "listen=127.0.0.1:0", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return p, int(re.search(r"(\d+)\s*$", p.stdout.readline()).group(1))


def until(seconds, probe):
    """@probe's answer; None when the time of an idle machine, stretched (patience.py), is up."""
    limit = Limit(seconds)
    while not limit.over():
        found = probe()
        if found:
            return found
        time.sleep(0.5)
    return None


def main():
    rocewatch, gnmi = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    work = tempfile.mkdtemp(prefix="rw-vendors-")
    config, wrong, servers = os.path.join(work, "rocewatch.yaml"), [], []
    agents = {"eos1": ("leaf", eos()), "edge1": ("leaf", edgecore()), "os9-1": ("spine", dell(9)), "os10-1": ("spine", dell(10))}
    for _, a in agents.values():
        a.begin()

    def rw(*args, ok=(0, 1), path=config):
        r = subprocess.run([rocewatch, "-c", path, *args], capture_output=True, text=True, timeout=HANG_S)
        if r.returncode not in ok:
            sys.exit(f"rocewatch {args}: exit {r.returncode}\n{r.stderr}")
        return r.stdout

    def doc(*args):
        return json.loads(rw(*args, "--format", "json"))

    def expect(what, is_so, got=""):
        print(("ok    " if is_so else "WRONG ") + what)
        if not is_so:
            wrong.append(f"{what}: {got}")

    try:
        qmon, qmon_port = gnmi_server(gnmi, work, "qmon", "-\t/interfaces/interface[name=et-0/0/0]/state/counters/qmon-peak\tuint\t$(1000,10)\n")
        servers.append(qmon)
        refused, refused_port = gnmi_server(gnmi, work, "refused", "-\t/qos/interfaces/interface[interface-id=*]/output/queues/queue[name=*]/state/unheard\tuint\t1\n")
        servers.append(refused)
        with open(os.path.join(work, "community"), "w") as f:
            f.write("c\n")
        text = (f"fabric: vendors\nstore: {{ path: {work}/v.db }}\nsocket: {work}/v.sock\ndefaults: {{ interval: 1s, slow_interval: 5s, timeout: 2s }}\n"
                f"lossless: {{ priorities: [3], mtu: 4200B }}\ncredentials:\n  c: {{ snmp: {{ version: 2c, community_file: {work}/community }}, "
                "gnmi: { tls: { off: true } } }\ndevices:\n")
        for name, (role, a) in agents.items():
            text += f"  - {{ name: {name}, role: {role}, EXTRA{name}snmp: {{ address: \"127.0.0.1:{a.port}\", credentials: c }} }}\n"
        snmp_only = text + "links: discover\n"
        for name, port in (("qmon1", qmon_port), ("refused1", refused_port)):
            text += f"  - {{ name: {name}, role: other, profile: openconfig, gnmi: {{ address: \"127.0.0.1:{port}\", credentials: c }} }}\n"
        text += "links: discover\n"
        plain = re.sub(r"EXTRA[a-z0-9-]+snmp:", "snmp:", text)
        with open(config, "w") as f:
            f.write(plain)
        included = os.path.join(work, "included.yaml")
        with open(included, "w") as f:  # the same, with one port of management taken in: the test would see it
            f.write(re.sub(r"EXTRA[a-z0-9-]+snmp:", "snmp:", snmp_only.replace("EXTRAeos1snmp:", 'ports: { include: ["Management1"] }, snmp:')))
        with open(os.path.join(work, "agent.log"), "w") as log:
            agent = subprocess.Popen([rocewatch, "-c", config, "agent"], stdout=log, stderr=log)
        try:
            def links():
                shown = {(x["device"], x["port"], x["peer"], x["peer_port"]) for x in doc("topology", "show")["links"]}
                return shown if len(shown) >= len(LINKS) else None
            found = until(90, lambda: os.path.exists(f"{work}/v.db") and links())
            shown = {(d, p, q, r if not q.startswith("host:") else None) for d, p, q, r in found or set()}
            expect("the links that are there, and no others", shown == LINKS, f"missing {LINKS - shown}, too many {shown - LINKS}")
            show = doc("topology", "show")
            expect("border1 is a switch outside", [(o["name"], o["kind"], o["links"]) for o in show["outside"]] == [("border1", "switch", 1)], show["outside"])
            discovered = rw("topology", "discover", path=included)
            live = re.sub(r"(?m)^#.*$", "", discovered)
            expect("with Management1 taken in, its link is one", "eos1:Management1" in live and "edge1:eth0" not in live, discovered[-900:])

            def judged():
                windows = [int(float(v)) for v, in rows("SELECT value FROM health WHERE key='pipeline/windows'")]
                return windows and windows[0] >= 120

            def rows(sql):
                out = rw("query", "sql", sql, "--format", "json")
                got = json.loads(out)
                return [tuple(r.values()) for r in (got["rows"] if isinstance(got, dict) else got)]
            until(60, judged)

            def told():
                """Why the two gNMI targets have no values, and that sysUpTime stands: said from 60 s on."""
                t = {x["name"]: x for x in doc("doctor")["targets"]}
                known = t["qmon1"]["reason"] and t["refused1"]["reason"] and "sysUpTime" in (t["os10-1"]["notes"] or "")
                return list(t.values()) if known else None
            status = until(90, told)
            incidents = [(i["cause"], i.get("device"), i.get("port")) for i in doc("incident", "list")["incidents"]]
            expect("no false incident", not [i for i in incidents if i[0] != "telemetry_gap" or i[1] not in ("qmon1", "refused1")], incidents)
            for name, want in PORTS.items():
                got = {p for p, in rows(f"SELECT DISTINCT port FROM samples WHERE device='{name}' AND port IS NOT NULL")}
                expect(f"{name}: one name for each port", got == want, f"missing {want - got}, too many {got - want}")
            aliases = dict(rows("SELECT port, alias FROM ports WHERE device='eos1'"))
            expect("aliases survive the links", aliases.get("Ethernet1") == "to Ethernet1", aliases)
            notes = {t["name"]: t["notes"] or "" for t in status or doc("doctor")["targets"]}
            expect("tables out of order are told", "not in the order of their OIDs" in notes["os9-1"], notes["os9-1"])
            expect("a sysUpTime that stands still is told", "sysUpTime stands still" in notes["os10-1"], notes["os10-1"])
            restarts = rows("SELECT count(*) FROM events WHERE kind='device_restart'")[0][0]
            expect("and is no restart", int(restarts) == 0, restarts)
            expect("unknown paths are told", "does not know, e.g. /interfaces/interface[name=et-0/0/0]/state/counters/qmon-peak" in notes["qmon1"], notes["qmon1"])
            expect("refused counters are told", "interfaces" in notes["refused1"] and "silent" not in notes["refused1"], notes["refused1"])
            shown = rw("doctor").splitlines()
            at = [i for i, line in enumerate(shown) if "not in the order of their OIDs" in line]
            expect("a note stands once, above the names of its targets", len(at) == 1 and "os9-1" in shown[at[0] + 1].split(", ")[0].split(), "\n".join(shown))
            expect("rows of targets have no notes", max(len(line) for line in shown if re.match(r"\S+ +(snmp|gnmi) ", line)) <= 120, "\n".join(shown))
            checks = [f["kind"] for f in doc("topology", "check")["findings"] if f["severity"] == "critical"]
            expect("no critical finding of topology check", not checks, checks)
            tested = doc("profile", "test", "os9-1", "--for", "1s")
            octets = [c["rows"] for c in tested["columns"] if c["value"] == "port.in_octets"]
            expect("profile test reads all rows of a table out of order", octets and octets[0] == 3, octets)
            tested = doc("profile", "test", "qmon1", "--for", "2s")
            expect("profile test counts unknown paths", tested["unknown_paths"] >= 1 and "qmon-peak" in tested["unknown_path"], tested.get("unknown_path"))
        finally:
            agent.terminate()
            agent.wait(HANG_S)
        with open(os.path.join(work, "agent.log")) as log:
            said = log.read()
        anew = len(re.findall("subscribes anew|falls back", said))
        expect("no stream is subscribed anew again and again", anew <= 2, said[-2000:])
    finally:
        for s in servers:
            s.send_signal(signal.SIGKILL)
            s.wait()
        if not os.environ.get("KEEP"):
            shutil.rmtree(work, ignore_errors=True)
    for w in wrong:
        print("WRONG", w)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
