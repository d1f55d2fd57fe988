"""A server that answers as Prometheus (/api/v1/query with a range selector) and as VictoriaMetrics (/api/v1/export), over the samples of a
recorded case: each metric under the name that an exporter gives it, written down here a second time. And one that answers wrongly."""
import http.server, json, re, threading, urllib.parse

# metric -> names whose sum it is, and what the exporter's unit is of ours; labels: device, port, priority
SNMP = {"port.in_octets": (["ifHCInOctets"], 1), "port.out_octets": (["ifHCOutOctets"], 1), "port.oper_up": (["ifOperStatus"], 1), "port.speed_bps": (["ifHighSpeed"], 10**6),
        "port.in_packets": (["ifHCInUcastPkts", "ifHCInMulticastPkts"], 1), "port.out_packets": (["ifHCOutUcastPkts", "ifHCOutBroadcastPkts"], 1), "port.mtu_bytes": (["ifMtu"], 1),
        "port.in_errors": (["ifInErrors"], 1), "port.out_errors": (["ifOutErrors"], 1), "port.in_discards": (["ifInDiscards"], 1), "port.out_discards": (["ifOutDiscards"], 1),
        "port.fcs_errors": (["dot3HCStatsFCSErrors"], 1), "port.symbol_errors": (["dot3HCStatsSymbolErrors"], 1), "port.in_pause_frames": (["dot3HCInPauseFrames"], 1),
        "port.out_pause_frames": (["dot3HCOutPauseFrames"], 1), "pfc.rx_frames": (["cpfcIfPriorityIndications"], 1), "pfc.tx_frames": (["cpfcIfPriorityRequests"], 1),
        "pfc.rx_pause_ns": (["cpfcIfPriorityWaitRx"], 1000), "pfc.tx_pause_ns": (["cpfcIfPriorityWaitTx"], 1000)}
LABELS = {"snmp_exporter": ("instance", "ifName", "cpfcIfPriorityValue"), "rocewatch": ("device", "port", "priority")}


def series_of(case, profile):
    """{(name, labels): [(ms, value)]}, and the lines of the case that have such a series."""
    series, kept = {}, []
    for line in open(case + "/samples.tsv"):
        f = line.rstrip("\n").split("\t")
        if line.startswith("#") or len(f) < 6:
            continue
        own = profile == "rocewatch" and re.fullmatch(r"-?[\d.]+(e[-+]\d+)?", f[5])
        names, unit = (["rocewatch_" + f[4].replace(".", "_")], 1) if own else SNMP.get(f[4], ([], 1)) if profile != "rocewatch" else ([], 1)
        if names and "#q" not in f[2]:
            kept.append("\t".join(f[:5] + [f[5] if unit == 1 else str(int(f[5]) // unit * unit)] + f[6:]) + "\n")
        for i, name in enumerate(names if "#q" not in f[2] else []):
            labels = {k: v for k, v in zip(LABELS[profile], f[1:4]) if v != "-"} | {"__name__": name, "job": "lab"}
            value = float(f[5]) / unit if "." in f[5] else int(f[5]) // unit
            value = value if len(names) == 1 else (value - value // 3, value // 3)[i]
            value = 2 if name == "ifOperStatus" and not value else value
            series.setdefault(tuple(sorted(labels.items())), []).append((round(float(f[0]) * 1000), value))
            if name == "ifHCInOctets":  # what an agent also tells, in 32 bits: not to be added
                series.setdefault(tuple(sorted((labels | {"__name__": "ifInOctets"}).items())), []).append((round(float(f[0]) * 1000), value % 2**32))
    return series, kept


class Server(http.server.ThreadingHTTPServer):
    def __init__(self, series, wrong=None):
        self.series, self.wrong, self.asked = series, wrong, []
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server_port
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        query = re.fullmatch(r'\{__name__=~"([^"]*)"[^}]*\}(?:\[(\d+)ms\])?', form.get("query") or form["match[]"])
        end = round(float(form.get("time") or form["end"]) * 1000)
        begin = end - int(query[2]) if query[2] else round(float(form["start"]) * 1000) - 1
        self.server.asked.append((begin, self.headers.get("Authorization")))
        found = [(dict(m), [p for p in points if begin < p[0] <= end]) for m, points in self.server.series.items() if re.fullmatch(query[1], dict(m)["__name__"])]
        if self.path.endswith("export"):
            body = "".join(json.dumps({"metric": m, "values": [v for _, v in p], "timestamps": [t for t, _ in p]}) + "\n" for m, p in found if p)
        else:
            body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [{"metric": m, "values": [[t / 1000, str(v)] for t, v in p]} for m, p in found if p]}})
        status, body = self.server.wrong(len(self.server.asked), body) if self.server.wrong else (200, body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    log_message = lambda *args: None  # noqa: E731
