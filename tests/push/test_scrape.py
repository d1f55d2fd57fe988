#!/usr/bin/env python3
"""An agent that reads exporters on the loopback interface: good ones in the clear, packed, and by TLS with a token; one that cannot be used
for each reason there is. What a good one shows is in history under its host and NIC; each bad host says why it is down.

usage: test_scrape.py ROCEWATCH OTLP_EXPORT"""
import gzip
import http.server
import json
import ssl
import tempfile
import threading

from test_live import Agent, certificates, expect, fail, values
from ports import free_port

CONFIG = """fabric: pod
user: %(user)s
store: { path: %(dir)s/rocewatch.db }
defaults: { interval: 1s }
credentials:
  ours: { scrape: { token_file: "%(dir)s/token", tls: { ca: "%(dir)s/ca.crt" } } }
  nobody: { scrape: { tls: { ca: "%(dir)s/ca.crt" } } }
devices:
  - { name: leaf1, push: {} }
links:
  - { a: "leaf1:swp1", b: "host:127.0.0.1:mlx5_0" }
push: [{ name: p, http: "127.0.0.1:%(http)d" }]
scrape:
  - { name: plain, urls: ["http://{host}:%(plain)d/metrics"], max_answer: 64KiB, hosts: [127.0.0.%(bad)s, "127.0.0.1*"], ports: [ens1np0=mlx5_0] }
  - { name: tls, urls: ["https://{host}:%(secure)d/metrics"], hosts: [127.0.1.1], credentials: ours }
  - { name: no-token, urls: ["https://{host}:%(secure)d/metrics"], hosts: [127.0.1.2], credentials: nobody }
  - { name: no-ca, urls: ["https://{host}:%(secure)d/metrics"], hosts: [127.0.1.3] }
  - { name: two, urls: ["http://{host}:%(plain)d/metrics", "http://{host}:%(closed)d/"], hosts: [127.0.0.20] }
  - { name: closed, urls: ["http://{host}:%(closed)d/"], hosts: [127.0.0.21] }
"""
PAGE = """# TYPE node_infiniband_np_cnp_packets_sent_total counter
node_infiniband_np_cnp_packets_sent_total{device="mlx5_0",port="1"} %d
node_ethtool_received_prio3_pause_duration{device="ens1np0"} %d
node_load1 0.5
"""
# last byte of the address: status, body, why it is down
BAD = {
    2: (404, b"", "no such page"),
    3: (200, b"<html>\n<p>hello\n", "is no Prometheus text"),
    4: (200, b"# " + bytes(100000), "longer than scrape.max_answer"),
    5: (None, b"", "no answer in time"),
    6: (401, b"", "the log-in is missing or wrong (HTTP status 401)"),
    7: (500, b"", "HTTP status 500"),
    8: (302, b"", "HTTP status 302"),
    9: (200, gzip.compress(bytes(10**7)), "longer than scrape.max_answer"),
}
asked, over = {}, threading.Event()


class Exporter(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        host = self.connection.getsockname()[0]
        asked[host] = asked.get(host, 0) + 1
        status, body, _ = BAD.get(int(host.split(".")[3]) if host.startswith("127.0.0.") else 0, (200, None, ""))
        if host.startswith("127.0.1.") and self.headers.get("Authorization") != "Bearer tell":
            status, body = 401, b""
        if status is None:
            over.wait()
            return
        packed = body is None and host == "127.0.0.20" or body is not None and body[:2] == b"\x1f\x8b"
        if body is None:
            body = (PAGE % (7 * asked[host], 5 * asked[host])).encode()
            body = gzip.compress(body) if packed else body
        self.send_response(status)
        for name, value in (("Content-Length", len(body)), ("Location", "http://127.0.0.1/"), *((("Content-Encoding", "gzip"),) if packed else ())):
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def serve(context=None):
    server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), Exporter)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def rising(agent, host, metric, step):
    found = values(agent, host, metric)
    return len(found) > 2 and found == [step * (1 + i) for i in range(found[0] // step - 1, found[0] // step - 1 + len(found))]


def main():
    with tempfile.TemporaryDirectory() as directory:
        certificates(directory, "127.0.1.1", "127.0.1.2", "127.0.1.3")
        with open(directory + "/token", "w") as f:
            f.write("tell\n")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(directory + "/server.crt", directory + "/server.key")
        bad = ", ".join(["2", *("127.0.0.%d" % n for n in BAD if n != 2)])
        agent = Agent(directory, CONFIG, plain=serve(), secure=serve(context), closed=free_port(), bad=bad)
        try:
            for host in ("127.0.0.1", "127.0.1.1", "127.0.0.20"):
                agent.wait("values of " + host, lambda: rising(agent, host, "nic.cnp_sent", 7))
            agent.wait("another name of the NIC", lambda: rising(agent, "127.0.0.1", "nic.rx_pause_ns", 5000))
            expect("source", {r["source"] for r in agent.sql("SELECT source FROM samples WHERE device LIKE '127.%'")}, {"scrape"})
            why = {"127.0.0.%d" % n: row[2] for n, row in BAD.items()}
            why |= {"127.0.1.2": "HTTP status 401", "127.0.1.3": "TLS: ", "127.0.0.21": "connection refused"}
            told = agent.wait("all reasons", lambda: (lambda rows: rows if all(
                w in (rows.get(h, {}).get("reason") or "") and rows[h]["status"] == "down" for h, w in why.items()) else None)(
                    {r["name"]: r for r in json.loads(agent.run("doctor", "--format", "json"))["targets"]}))
            if not all(told[host]["do"] for host in why):
                fail("a remedy is missing: %r" % told)
            agent.wait("the exporter that is missing of two", lambda: "scrape: http://127.0.0.20" in agent.run("doctor"))
            # `profile test`: each name of the exporters that told something, and what no profile knows
            tested = json.loads(agent.run("profile", "test", "127.0.0.1", "--for", "1s", "--format", "json"))
            rows = {c["path"]: (c["value"], c["verdict"], c["rows"]) for c in tested["columns"]}
            expect("profile test", [rows[n] for n in ("node_infiniband_np_cnp_packets_sent_total", "node_infiniband_out_of_sequence_packets_received_total")],
                   [("nic.cnp_sent", "answers", 1), ("nic.out_of_sequence", "empty", 0)])
            expect("profile test", (tested["protocol"], tested["series"], tested["moved"], tested["unknown_paths"]), ("scrape", 2, 2, 1))
            expect("where it was sent to", asked.get("127.0.0.8", 0) > 0 and "tell" not in (agent.dir / "agent.log").read_text(), True)
        finally:
            over.set()
            agent.process.terminate()
            agent.process.wait()


main()
