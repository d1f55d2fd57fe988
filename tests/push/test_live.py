#!/usr/bin/env python3
"""An agent that receives OpenTelemetry metrics on the loopback interface, by HTTP and gRPC, in the clear and by TLS. What is sent is in
history under the right port and priority; what is not taken is answered as the specification of OTLP says, and the doctor names it:
unknown names, senders that are no device, histograms; a device that sends no more is down with its reason; a flood is told to wait.

usage: test_live.py ROCEWATCH OTLP_EXPORT"""
import csv
import gzip
import http.client
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from patience import HANG_S, Limit  # noqa: E402
from ports import free_port  # noqa: E402

import otlp as O

ROCEWATCH, EXPORT = sys.argv[1:3]
DEADLINE = 60
CONFIG = """fabric: pod
user: %(user)s
store: { path: %(dir)s/rocewatch.db }
defaults: { interval: 1s }
devices:
  - { name: leaf1, push: { interval: 1s, names: [switch-one] } }
  - { name: leaf2, push: { interval: 1s } }
links:
  - { a: "leaf1:swp1", b: "host:host7:mlx5_0" }
push:
  - { name: telemetry, grpc: "127.0.0.1:%(grpc)d", http: "127.0.0.1:%(http)d", allow: [127.0.0.1/32], max_message: 256KiB }
  - { name: few, http: "127.0.0.1:%(few)d", allow: [127.0.0.1/32], max_points_s: 100 }
  - name: secret
    grpc: "127.0.0.1:%(tls)d"
    allow: [127.0.0.1/32]
    tls: { cert: "%(dir)s/server.crt", key: "%(dir)s/server.key", client_ca: "%(dir)s/ca.crt" }
"""


def fail(text):
    raise SystemExit("FAILED: " + text)


def certificates(directory, *addresses):
    """An authority, a server and a client, by openssl."""
    def run(*args):
        subprocess.run(["openssl", *args], cwd=directory, check=True, capture_output=True)
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    run("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=test", "-days", "2")
    pathlib.Path(directory, "san").write_text("subjectAltName=IP:127.0.0.1%s\n" % "".join(",IP:" + a for a in addresses))
    for name in ("server", "client"):
        run("req", *new, "-keyout", name + ".key", "-out", name + ".csr", "-subj", "/CN=" + name)
        run("x509", "-req", "-in", name + ".csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "san",
            "-out", name + ".crt")


class Agent:
    def __init__(self, directory, config=CONFIG, **more):
        self.dir = pathlib.Path(directory)
        self.ports = {name: free_port() for name in ("grpc", "http", "few", "tls")}
        user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
        self.config = self.dir / "rocewatch.yaml"
        self.config.write_text(config % dict(self.ports, dir=directory, user=user, **more))
        self.log = open(self.dir / "agent.log", "wb")
        self.process = subprocess.Popen([ROCEWATCH, "-c", self.config, "agent"], stdout=self.log, stderr=self.log,
                                        env=dict(os.environ, XDG_RUNTIME_DIR=directory))

    def run(self, *args):
        return subprocess.run([ROCEWATCH, "-c", self.config, *args], capture_output=True, text=True, timeout=HANG_S).stdout

    def sql(self, statement):
        return list(csv.DictReader(io.StringIO(self.run("query", "sql", statement, "--format", "csv"))))

    def wait(self, what, condition):
        limit = Limit(DEADLINE)
        while not limit.over():
            if self.process.poll() is not None:
                fail("the agent ended:\n" + (self.dir / "agent.log").read_text())
            found = condition()
            if found:
                return found
            time.sleep(0.3)
        fail("no %s in %s; the doctor says\n%s\nlog:\n%s" % (what, limit, self.run("doctor"), (self.dir / "agent.log").read_text()))

    def post(self, body, path="/v1/metrics", port="http", source="127.0.0.1", method="POST", **headers):
        to = http.client.HTTPConnection("127.0.0.1", self.ports[port], timeout=HANG_S, source_address=(source, 0))
        told = {"Content-Type": "application/x-protobuf"}
        told.update({key.replace("_", "-"): value for key, value in headers.items()})
        to.request(method, path, body, told)
        reply = to.getresponse()
        return reply.status, reply.read(), reply.headers

    def export(self, body, *args, port="grpc", packed=False):
        file = self.dir / "message"
        file.write_bytes(body)
        env = dict(os.environ, OTLP_GZIP="1") if packed else dict(os.environ)
        out = subprocess.run([EXPORT, "127.0.0.1:%d" % self.ports[port], file, *args], capture_output=True, text=True, timeout=HANG_S, env=env)
        return out.stdout.strip()


BEGAN = time.time_ns() - 12 * 10**9


def leaf(name, value, late=False):
    """Values of second @value: they come faster here than the receiver's interval, of which one value is kept."""
    now = BEGAN + value * 10**9
    return O.request(O.resource({"host.name": name}, [
        O.gauge("nvswitch_interface_sp_rx_pause", [O.point(float(value), now, {"interface": "swp1", "sp": "3"})]),
        O.gauge("nvswitch_interface_sp_rx_pause_duration", [O.point(float(2 * value), now, {"interface": "swp1", "sp": "3"})]),
        O.total("nvswitch_interface_if_in_octets", [O.point(1000 * value, now, {"interface": "swp1"}, start_ns=1)]),
        O.gauge("nvswitch_env_fan_cur_speed", [O.point(7000.0, now, {"fan": "1"})]),
        O.histogram("nvswitch_histogram_interface_latency", 2)], late))


def values(agent, device, metric):
    return [int(float(r["value"])) for r in agent.sql("SELECT value FROM samples WHERE device='%s' AND metric='%s' ORDER BY t_ns" % (device, metric))]


def expect(what, is_, expected):
    if is_ != expected:
        fail("%s: %r, expected %r" % (what, is_, expected))


def answers(agent):
    """What the specification asks for."""
    good = leaf("leaf1", 1)
    expect("no path", agent.post(good, path="/v1/traces")[0], 404)
    expect("no method", agent.post(None, method="GET")[0], 405)
    expect("JSON", agent.post(b"{}", Content_Type="application/json")[0], 415)
    expect("no protobuf", agent.post(b"\x0a\xff")[0], 400)
    expect("not packed", agent.post(good, Content_Encoding="gzip")[0], 400)
    expect("too large", agent.post(bytes(300000))[0], 413)
    expect("a bomb", agent.post(gzip.compress(bytes(300000)), Content_Encoding="gzip")[0], 413)
    status, answer, _ = agent.post(O.request(O.resource({"host.name": "leaf9"}, [O.gauge("nvswitch_interface_if_in_octets", [
        O.point(1.0, time.time_ns(), {"interface": "swp1"})])])))
    expect("a stranger's points", (status, O.refused(answer)[0]), (200, 1))
    if "leaf9" not in O.refused(answer)[1]:
        fail("the answer does not name the stranger: %r" % answer)
    delta = O.total("nvswitch_interface_if_in_octets", [O.point(1, time.time_ns(), {"interface": "swp2"})], O.DELTA)
    status, answer, _ = agent.post(O.request(O.resource({"host.name": "leaf1"}, [delta])))
    expect("a delta sum", (status, O.refused(answer)[0]), (200, 1))
    expect("traces by gRPC", agent.export(b"", "/opentelemetry.proto.collector.trace.v1.TraceService/Export").split()[0], "12")
    expect("no protobuf by gRPC", agent.export(b"\x0a\xff").split()[0], "3")
    for _ in range(8):
        status, _, headers = agent.post(leaf("leaf1", 1) + leaf("leaf2", 1) * 100, port="few")
        if status == 429:
            break
    expect("a flood", (status, headers.get("Retry-After")), (429, "1"))
    try:
        agent.post(good, source="127.0.0.2")
        fail("a stranger's connection was taken")
    except (ConnectionError, http.client.HTTPException):
        pass


def main():
    with tempfile.TemporaryDirectory() as directory:
        certificates(directory)
        agent = Agent(directory)
        try:
            log = agent.dir / "agent.log"
            agent.wait("receivers", lambda: all(name + ": otlp: starting -> up" in log.read_text() or "where=%s msg=\"otlp: starting -> up" % name
                                                in log.read_text() for name in ("telemetry", "few", "secret")))
            expect("gRPC", agent.export(leaf("leaf1", 1)), "0 OK")
            expect("gRPC, packed", agent.export(leaf("leaf1", 2), packed=True), "0 OK")
            expect("HTTP", agent.post(leaf("switch-one.example.com", 3))[:2], (200, b""))
            expect("HTTP, packed", agent.post(gzip.compress(leaf("LEAF1", 4)), Content_Encoding="gzip")[:2], (200, b""))
            expect("resource behind its metrics", agent.post(leaf("leaf1", 5, late=True))[:2], (200, b""))
            tls = [str(agent.dir / name) for name in ("ca.crt", "client.crt", "client.key")]
            expect("TLS", agent.export(leaf("leaf2", 9), "-", *tls, port="tls"), "0 OK")
            if agent.export(leaf("leaf2", 10), "-", tls[0], port="tls").startswith("0"):
                fail("a client without a certificate was served")
            nic = O.gauge("nvswitch_interface_mtu_bytes", [O.point(9216, time.time_ns(), {"interface": "mlx5_0"})])
            expect("a host of links", agent.post(O.request(O.resource({"host.name": "host7"}, [nic])))[:2], (200, b""))

            agent.wait("values", lambda: values(agent, "leaf1", "pfc.rx_frames") == [1, 2, 3, 4, 5])
            expect("us became ns", values(agent, "leaf1", "pfc.rx_pause_ns"), [2000, 4000, 6000, 8000, 10000])
            expect("octets", values(agent, "leaf1", "port.in_octets"), [1000, 2000, 3000, 4000, 5000])
            expect("by TLS", values(agent, "leaf2", "pfc.rx_frames"), [9])
            agent.wait("the host's value", lambda: values(agent, "host7", "port.mtu_bytes") == [9216])
            expect("priority", {r["priority"] for r in agent.sql("SELECT priority FROM samples WHERE metric='pfc.rx_frames'")}, {"3"})
            expect("source", {r["source"] for r in agent.sql("SELECT source FROM samples WHERE device='leaf1'")}, {"push"})

            answers(agent)
            agent.wait("silence", lambda: "pushes no more" in agent.run("status"))
            said = agent.wait("what the doctor says", lambda: (lambda text: text if all(word in text for word in (
                "nvswitch_env_fan_cur_speed", "nvswitch_histogram_interface_latency", "leaf9", "delta", "127.0.0.2"))
                else None)(agent.run("doctor")))
            agent.export(leaf("leaf1", 6))
            agent.wait("leaf1 again", lambda: values(agent, "leaf1", "pfc.rx_frames")[-1:] == [6])
            if "sandbox refuses" in log.read_text() or "parser_down" in said:
                fail("a receiver ended:\n" + log.read_text())
        finally:
            agent.process.terminate()
            try:
                agent.process.wait(HANG_S)
            except subprocess.TimeoutExpired:
                agent.process.kill()


if __name__ == "__main__":
    main()
