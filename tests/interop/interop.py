#!/usr/bin/python3
"""interop.py BUILD servers|gnmic - the gNMI collector against servers that others wrote, and gnmic against the C server of the tests.

  servers  gnmi_target of google/gnxi, and the fake and the cache server of openconfig/gnmi (all grpc-go): every way of asking that the
           server has, plain, TLS and mTLS; what it refuses is told in its words; a counter arrives in the database as it was served
  gnmic    gnmic as client of tests/fake/gnmi_server (Capabilities, Get, Subscribe once, poll and stream), and gnmic's own gNMI server,
           fed by gnmic from the C server, as a target of rocewatch

Runs when it is asked for: ctest -L interop (or -R with its name), or RW_INTEROP=1. 77 otherwise, and without Go or its modules."""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from peers import Unavailable, build, go, go_run, version  # noqa: E402
from patience import HANG_S  # noqa: E402
from ports import free_port  # noqa: E402

BASE = 1234567890123
TABLE = "".join("%s\t/interfaces/interface[name=Ethernet1]/state/counters/%s\tuint\t%s\n" % (target, leaf, value)
                for target in ("-", "leaf1") for leaf, value in (("in-octets", "$(%d,10)" % BASE), ("out-octets", "42")))
# What gnmi_target serves is its configuration, in OpenConfig's JSON.
TARGET_JSON = {"openconfig-interfaces:interfaces": {"interface": [{"name": "Ethernet1", "config": {"name": "Ethernet1"}, "state": {
    "name": "Ethernet1", "counters": {"in-octets": str(BASE), "out-octets": "42"}}}]}}
FAKE_TEXT = """\
target: "leaf1"
client_type: GRPC_GNMI
enable_delay: true
values: { path: "interfaces" path: "interface[name=Ethernet1]" path: "state" path: "counters" path: "in-octets"
  timestamp: { timestamp: 0 delta_min: 100000000 delta_max: 100000000 } repeat: 0 seed: 1
  uint_value: { value: 1234567890123 range: { minimum: 0 maximum: 9000000000000 delta_min: 10 delta_max: 10 } } }
"""
PROFILE = """\
name: interop
doc: one counter, asked for in one way
gnmi:
  streams:
    - name: interfaces
      how: %(how)s
%(target)s      subscribe:
        - { path: "/interfaces/interface[name=%(name)s]/state/counters", mode: sample }
      values:
        - at: "/interfaces/interface[name={port}]/state/counters"
          leaves:
            - { path: in-octets, metric: port.in_octets }
            - { path: out-octets, metric: port.out_octets }
"""


class Failed(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failed(message)


def command_of(pid):
    return pathlib.Path("/proc/%d/cmdline" % pid).read_bytes().split(b"\0")


def asked_for():
    """ctest has no tests that only run when named; so the one that started us is looked at."""
    if os.environ.get("RW_INTEROP") == "1":
        return True
    try:
        words = command_of(os.getppid())
        if os.path.basename(words[0]) == b"timed":  # it notes what a test costs, and names each
            words = command_of(int(re.search(r"PPid:\s*(\d+)", pathlib.Path("/proc/%d/status" % os.getppid()).read_text())[1]))
    except OSError:
        return False
    return any(b"interop" in w for w in words[1:])


class World:
    def __init__(self, build_dir):
        self.build = pathlib.Path(build_dir).resolve()
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="interop"))
        self.children = []
        self.rows = []
        (self.dir / "profiles").mkdir()
        self.certificates()

    def close(self):
        for p in self.children:
            if p.poll() is None:
                p.kill()
            p.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def certificates(self):
        def openssl(*args):
            subprocess.run(["openssl", *args], cwd=self.dir, check=True, capture_output=True)
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        for ca in ("ca", "other"):
            openssl("req", "-x509", *curve, "-keyout", ca + ".key", "-out", ca + ".pem", "-days", "2", "-subj", "/CN=" + ca)
        (self.dir / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        for name in ("server", "client"):
            openssl("req", *curve, "-keyout", name + ".key", "-out", name + ".csr", "-subj", "/CN=" + name)
            openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                    "-extfile", "names", "-out", name + ".pem")

    def file(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return str(path)

    def at(self, name):
        return str(self.dir / name)

    def start(self, argv, port):
        """A server that is ready when its port takes connections."""
        log = open(self.dir / "server.log", "w")
        p = subprocess.Popen([str(a) for a in argv], stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=self.dir)
        self.children.append(p)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            check(p.poll() is None, "%s ended: %s" % (argv[0], (self.dir / "server.log").read_text()[-600:]))
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    return p
            time.sleep(0.05)
        raise Failed("%s does not listen on %d" % (argv[0], port))

    def stop(self, p):
        p.kill()
        p.wait()
        self.children.remove(p)

    # --- the C server and rocewatch

    def c_server(self, transport, *options):
        port = free_port()
        tls = {"plain": [], "TLS": ["cert=server.pem", "key=server.key"], "mTLS": ["cert=server.pem", "key=server.key", "ca=ca.pem"]}[transport]
        self.file("table.tsv", TABLE)
        return self.start([self.build / "tests/fake/gnmi_server", "table.tsv", "listen=127.0.0.1:%d" % port, *tls, *options], port), port

    def config(self, port, transport, how, name="*", target=None, ca="ca.pem", certificate=True):
        tls = {"plain": "off: true", "TLS": "ca: %s" % self.at(ca), "mTLS": "ca: %s" % self.at(ca)}[transport]
        if transport == "mTLS" and certificate:
            tls += ", cert: %s, key: %s" % (self.at("client.pem"), self.at("client.key"))
        self.file("profiles/interop.yaml", PROFILE % {"how": how, "name": name, "target": "      target: %s\n" % target if target else ""})
        return self.file("rocewatch.yaml", """\
fabric: interop
store: { path: %s }
credentials: { c: { gnmi: { tls: { %s } } } }
profile_dir: %s
defaults: { interval: 1s }
devices:
  - { name: leaf1, role: leaf, profile: interop, gnmi: { address: "127.0.0.1:%d", credentials: c, timeout: 3s } }
""" % (self.at("rw.db"), tls, self.at("profiles"), port))

    def rocewatch(self, config, *args):
        p = subprocess.run([self.build / "rocewatch", "-c", config, *args], capture_output=True, text=True, timeout=HANG_S)
        return p.returncode, p.stdout, p.stderr

    def ask(self, *where, **how):
        """rocewatch profile test: the value's line and all of it, or what it says when it fails."""
        code, out, words = self.rocewatch(self.config(*where, **how), "profile", "test", "leaf1", "--for", "2500ms", "--format", "json")
        if code:
            return None, words.strip()
        doc = json.loads(out)
        return {c["value"]: c for c in doc["columns"]}["port.in_octets"], doc

    def works(self, server, transport, how, *where, **options):
        column, doc = self.ask(*where, **options)
        check(column, "%s, %s, %s: %s" % (server, transport, how, doc))
        check(column["verdict"] == "answers" and column["how"] == how and not column["trouble"], "%s, %s, %s: %s" % (server, transport, how, column))
        check(doc["values"] >= 2 and doc["refused"] == 0 and not doc["implausible"], "%s, %s, %s: %s" % (server, transport, how, doc))
        self.row(server, transport, how, "%d values of type %s" % (doc["values"], column["type"]), doc["device"]["descr"])

    def refuses(self, server, transport, how, pattern, *where, **options):
        column, words = self.ask(*where, **options)
        check(column is None and re.search(pattern, words), "%s, %s, %s: expected words like /%s/, got %s" % (server, transport, how, pattern, words))
        self.row(server, transport, how, "refused", words.split("leaf1: ")[-1])

    def committed(self, server, config, at_least):
        """The agent's way: what the database holds after some seconds."""
        code, _, words = self.rocewatch(config, "agent", "--for", "4s")
        check(code == 0, "%s: the agent: %s" % (server, words))
        code, out, words = self.rocewatch(config, "query", "port.in_octets", "--format", "json")
        check(code == 0, words)
        values = [int(v) for v in re.findall(r"\b(\d{13})\b", out)]
        check(values and min(values) >= at_least and max(values) < at_least + 10**6, "%s: committed: %s" % (server, out[:400]))
        self.row(server, "", "agent", "%d rows committed, %d to %d" % (len(values), min(values), max(values)), "")

    def row(self, *cells):
        self.rows.append(cells)
        print("  " + " | ".join(c for c in cells if c), flush=True)


# --- servers of others ------------------------------------------------------------------------------------------------------------

def argv_gnmi_target(w, program, port, transport):
    w.file("oc.json", json.dumps(TARGET_JSON))
    tls = {"plain": ["-notls"], "TLS": ["-insecure"], "mTLS": []}[transport]
    if transport != "plain":
        tls += ["-ca", "ca.pem", "-cert", "server.pem", "-key", "server.key"]
    return [program, "-bind_address", "127.0.0.1:%d" % port, "-config", "oc.json", *tls]


def argv_fake_server(w, program, port, transport):
    w.file("fake.txt", FAKE_TEXT)
    return [program, "-logtostderr", "-text", "-config", "fake.txt", "-port", port, "-server_crt", "server.pem", "-server_key", "server.key",
            *(["-ca_crt", "ca.pem"] if transport == "mTLS" else ["-allow_no_client_auth"])]


def argv_cache_server(w, program, port, transport):
    tls = [] if transport == "plain" else ["-cert", "server.pem", "-key", "server.key"] + (["-ca", "ca.pem"] if transport == "mTLS" else [])
    return [program, "-listen", "127.0.0.1:%d" % port, *tls]


# name, how it is started, transports, what it serves, what it refuses and in which words, how it is asked, least value
SERVERS = (
    ("gnmi_target", argv_gnmi_target, ("plain", "TLS", "mTLS"), ("stream", "once", "get"), {"poll": "mode POLL is not implemented"},
     {"name": "Ethernet1"}, BASE),
    ("fake_server", argv_fake_server, ("TLS", "mTLS"), ("stream", "once", "poll"), {"get": "Get not implemented"}, {}, BASE),
    ("cache_server", argv_cache_server, ("plain", "TLS", "mTLS"), ("stream", "once", "poll"), {"get": "Get not implemented"},
     {"target": "leaf1"}, BASE),
)


def test_servers(w):
    programs = {s[0]: build(w.build, s[0]) for s in SERVERS}
    for name, argv, transports, ways, refused, asked, least in SERVERS:
        print("%s (%s)" % (name, version(name)))
        for transport in transports:
            port = free_port()
            p = w.start(argv(w, programs[name], port, transport), port)
            for how in ways:
                w.works(name, transport, how, port, transport, how, **asked)
            for how, pattern in refused.items():
                w.refuses(name, transport, how, pattern, port, transport, how, **asked)
            if transport != "plain":
                w.refuses(name, transport, "wrong CA", "not signed by|unknown|self.signed|issuer|CA", port, transport, ways[0], ca="other.pem", **asked)
            if transport == "mTLS":
                w.refuses(name, transport, "no certificate", "asks for a client certificate", port, transport, ways[0], certificate=False, **asked)
                w.committed(name, w.config(port, transport, "stream", **asked), least)
                os.remove(w.at("rw.db"))
            w.stop(p)


# --- gnmic --------------------------------------------------------------------------------------------------------------------------

PATH = "/interfaces/interface[name=Ethernet1]/state/counters/in-octets"


def gnmic_flags(w, transport):
    if transport == "plain":
        return ["--insecure"]
    return ["--tls-ca", w.at("ca.pem")] + (["--tls-cert", w.at("client.pem"), "--tls-key", w.at("client.key")] if transport == "mTLS" else [])


def numbers(text):
    return [int(v) for v in re.findall(r"\b(12345678\d{5})\b", text)]


def gnmic_reads(w, gnmic, argv, least, ask=None):
    """Its output, from a terminal (in poll it asks who is to be polled), until @least values were shown or it ends."""
    master, slave = pty.openpty()
    p = subprocess.Popen([gnmic, *argv], stdin=slave, stdout=slave, stderr=slave, cwd=w.dir, env=dict(os.environ, HOME=str(w.dir), TERM="dumb"))
    w.children.append(p)
    os.close(slave)
    text, until, keys = "", time.monotonic() + 20, 0
    while time.monotonic() < until and len(numbers(text)) < least:
        ready, _, _ = select.select([master], [], [], 0.5)
        try:
            text += os.read(master, 65536).decode(errors="replace") if ready else ""
        except OSError:
            break
        if ask and not ready and keys < 8:
            os.write(master, b"\r")
            keys += 1
    if p.poll() is None:
        p.terminate()
    p.wait()
    w.children.remove(p)
    os.close(master)
    return text


def gnmic_client(w, gnmic):
    for transport in ("plain", "TLS", "mTLS"):
        p, port = w.c_server(transport, "models=openconfig-interfaces", "period_ms=200")
        base = ["-a", "127.0.0.1:%d" % port, *gnmic_flags(w, transport), "--timeout", "5s"]
        calls = (
            ("capabilities", ["capabilities"], 0, "openconfig-interfaces"),
            ("get", ["get", "--path", PATH, "-e", "proto"], 1, None),
            ("subscribe once", ["subscribe", "--mode", "once", "--path", PATH, "-e", "proto"], 1, None),
            ("subscribe stream", ["subscribe", "--mode", "stream", "--stream-mode", "sample", "--sample-interval", "200ms", "--path", PATH, "-e", "proto"], 3, None),
            ("subscribe poll", ["subscribe", "--mode", "poll", "--path", PATH, "-e", "proto"], 2, None),
        )
        for what, argv, least, word in calls:
            text = gnmic_reads(w, gnmic, base + argv, least or 10**6, ask=what.endswith("poll"))
            found = numbers(text)
            check(not word or word in text, "gnmic %s, %s: %s" % (what, transport, text[-800:]))
            check(len(found) >= least and all(v >= BASE and (v - BASE) % 10 == 0 for v in found), "gnmic %s, %s: %s" % (what, transport, text[-800:]))
            w.row("gnmic", transport, what, "%d values" % len(found) if least else "models and encodings", "")
        w.stop(p)


def gnmic_server(w, gnmic):
    for transport in ("plain", "TLS", "mTLS"):
        source, source_port = w.c_server("plain", "period_ms=200")
        port = free_port()
        tls = "" if transport == "plain" else "  tls:\n    cert-file: server.pem\n    key-file: server.key\n" + (
            "    ca-file: ca.pem\n    client-auth: require-verify\n" if transport == "mTLS" else "")
        w.file("gnmic.yaml", """\
insecure: true
encoding: proto
targets:
  127.0.0.1:%d:
    name: leaf1
subscriptions:
  counters:
    paths: [/interfaces/interface/state/counters]
    stream-mode: sample
    sample-interval: 200ms
gnmi-server:
  address: 127.0.0.1:%d
%s""" % (source_port, port, tls))
        for how in ("stream", "once", "get", "poll"):
            p = w.start([gnmic, "--config", "gnmic.yaml", "subscribe"], port)
            time.sleep(1)  # until its cache has a value: nothing says when
            w.works("gnmic", transport, how, port, transport, how, name="Ethernet1", target="leaf1")
            if how == "get" and transport == "mTLS":
                w.committed("gnmic", w.config(port, transport, "stream", target="leaf1"), BASE)
            if how == "poll" and p.poll() is not None:
                w.row("gnmic", transport, how, "then it crashed", ([x for x in (w.dir / "server.log").read_text().splitlines() if "panic" in x] or ["?"])[0])
            w.stop(p)
        w.stop(source)


def test_gnmic(w):
    gnmic = str(build(w.build, "gnmic"))
    print("%s as client of tests/fake/gnmi_server" % version("gnmic"))
    gnmic_client(w, gnmic)
    print("rocewatch against the gNMI server of %s" % version("gnmic"))
    gnmic_server(w, gnmic)


def main():
    build_dir, what = sys.argv[1:3]
    if not asked_for():
        print("interop: runs when asked for: ctest -L interop")
        return 77
    w = None
    try:
        print("%s; %s" % (go_run("/", "version"), go()))
        w = World(build_dir)
        {"servers": test_servers, "gnmic": test_gnmic}[what](w)
        print("%d combinations as expected" % len(w.rows))
        return 0
    except Unavailable as e:
        print("interop: skipped: %s" % e)
        return 77
    except Failed as e:
        print("FAILED: %s" % e)
        return 1
    finally:
        if w:
            w.close()


sys.exit(main())
