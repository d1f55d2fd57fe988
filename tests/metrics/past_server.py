"""A server that answers as Prometheus (/api/v1/query with a range selector), as VictoriaMetrics (/api/v1/export) and as InfluxDB (/query), over the
samples of a recorded case: each metric under the name that an exporter gives it, written down here a second time. And one that answers wrongly."""
import http.server, json, re, threading, urllib.parse

# metric -> names whose sum it is, and what the exporter's unit is of ours; labels: device, port, priority
SNMP = {"port.in_octets": (["ifHCInOctets"], 1), "port.out_octets": (["ifHCOutOctets"], 1), "port.oper_up": (["ifOperStatus"], 1), "port.speed_bps": (["ifHighSpeed"], 10**6),
        "port.in_packets": (["ifHCInUcastPkts", "ifHCInMulticastPkts"], 1), "port.out_packets": (["ifHCOutUcastPkts", "ifHCOutBroadcastPkts"], 1), "port.mtu_bytes": (["ifMtu"], 1),
        "port.in_errors": (["ifInErrors"], 1), "port.out_errors": (["ifOutErrors"], 1), "port.in_discards": (["ifInDiscards"], 1), "port.out_discards": (["ifOutDiscards"], 1),
        "port.fcs_errors": (["dot3HCStatsFCSErrors"], 1), "port.symbol_errors": (["dot3HCStatsSymbolErrors"], 1), "port.in_pause_frames": (["dot3HCInPauseFrames"], 1),
        "port.out_pause_frames": (["dot3HCOutPauseFrames"], 1), "pfc.rx_frames": (["cpfcIfPriorityIndications"], 1), "pfc.tx_frames": (["cpfcIfPriorityRequests"], 1),
        "pfc.rx_pause_ns": (["cpfcIfPriorityWaitRx"], 1000), "pfc.tx_pause_ns": (["cpfcIfPriorityWaitTx"], 1000)}
TELEGRAF = {m: (["%s_%s" % ("pfc" if m[:3] == "pfc" else "interface", n) for n in names], unit) for m, (names, unit) in SNMP.items() if "dot3" not in names[0]}
# gnmic's exporter: OpenConfig interfaces and queues, PFC of SR Linux
PORT, QUEUE, PRIORITY = "interfaces_interface_state_", "qos_interfaces_interface_output_queues_queue_state_", "qos_interfaces_interface_pfc_statistics_pfc_priority_pfc_pause_frames_"
GNMIC = {"port.in_octets": PORT + "counters_in_octets", "port.out_octets": PORT + "counters_out_octets", "port.in_packets": PORT + "counters_in_pkts", "port.out_packets": PORT + "counters_out_pkts",
         "port.in_errors": PORT + "counters_in_errors", "port.out_errors": PORT + "counters_out_errors", "port.in_discards": PORT + "counters_in_discards", "port.out_discards": PORT + "counters_out_discards",
         "port.fcs_errors": PORT + "counters_in_fcs_errors", "port.flaps": PORT + "counters_carrier_transitions", "port.mtu_bytes": PORT + "mtu",
         "queue.out_octets": QUEUE + "transmit_octets", "queue.out_packets": QUEUE + "transmit_pkts", "queue.drops": QUEUE + "dropped_pkts", "queue.ecn_marked": QUEUE + "ecn_marked_pkts",
         "pfc.rx_frames": PRIORITY + "received", "pfc.tx_frames": PRIORITY + "generated"}
KNOWN = {"snmp_exporter": SNMP, "telegraf": TELEGRAF, "gnmic": {m: ([name], 1) for m, name in GNMIC.items()}, "rocewatch": {}}
LABELS = {"snmp_exporter": ("instance", "ifName", "cpfcIfPriorityValue"), "telegraf": ("agent_host", "ifName", "cpfcIfPriorityValue"), "rocewatch": ("device", "port", "priority")}


def labels_of(profile, metric):
    if profile != "gnmic":
        return LABELS[profile]
    return ("source", "interface_name", "-") if metric[:4] == "port" else ("source", "interface_interface_id", "queue_name" if metric[:5] == "queue" else "pfc_priority_index")


def series_of(case, profile):
    """{(name, labels): [(ms, value)]}, and the lines of the case that have such a series."""
    series, kept = {}, []
    for line in open(case + "/samples.tsv"):
        f = line.rstrip("\n").split("\t")
        if line.startswith("#") or len(f) < 6:
            continue
        own = profile == "rocewatch" and re.fullmatch(r"-?[\d.]+(e[-+]\d+)?", f[5])
        names, unit = (["rocewatch_" + f[4].replace(".", "_")], 1) if own else KNOWN[profile].get(f[4], ([], 1))
        if names and "#q" not in f[2]:
            kept.append("\t".join(f[:5] + [f[5] if unit == 1 else str(int(f[5]) // unit * unit)] + f[6:]) + "\n")
        for i, name in enumerate(names if "#q" not in f[2] else []):
            labels = {k: v for k, v in zip(labels_of(profile, f[4]), f[1:4]) if v != "-"} | {"__name__": name, "job": "lab"}
            value = float(f[5]) / unit if "." in f[5] else int(f[5]) // unit
            value = value if len(names) == 1 else (value - value // 3, value // 3)[i]
            value = 2 if name.endswith("ifOperStatus") and not value else value
            series.setdefault(tuple(sorted(labels.items())), []).append((round(float(f[0]) * 1000), value))
            if name.endswith("ifHCInOctets"):  # what an agent also tells, in 32 bits: not to be added
                series.setdefault(tuple(sorted((labels | {"__name__": name.replace("HC", "")}).items())), []).append((round(float(f[0]) * 1000), value % 2**32))
    return series, kept


class Server(http.server.ThreadingHTTPServer):
    def __init__(self, series, wrong=None):
        self.series, self.wrong, self.asked = series, wrong, []
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server_port
        threading.Thread(target=self.serve_forever, daemon=True).start()


def tables(series, fields, measurements, begin, end):
    """One table for each measurement and its tags; where a field has no value at the time of another, it is null."""
    found = {}
    for labels, points in series.items():
        tags = dict(labels)
        measurement, field = tags.pop("__name__").split("_", 1)
        if re.fullmatch(measurements, measurement) and re.fullmatch(fields, field):
            found.setdefault((measurement, tuple(tags.items())), {})[field] = {t: v for t, v in points if begin <= t < end}
    for (measurement, tags), columns in found.items():
        times = sorted(set().union(*columns.values()))
        if times:
            yield {"name": measurement, "tags": dict(tags, host="probe", site=""), "columns": ["time", *columns, "alias"], "values": [[t, *(c.get(t) for c in columns.values()), "x"] for t in times]}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        status, body = self.tables(form) if self.path == "/query" else self.series(form)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def answer(self, begin, body):
        self.server.asked.append((begin, self.headers.get("Authorization")))
        return self.server.wrong(len(self.server.asked), body) if self.server.wrong else (200, body)

    def tables(self, form):
        query = re.fullmatch(r"SELECT /\^(\(\?:.*\))\$/ FROM /\^(\(\?:.*\))\$/ WHERE (?:\(job = 'lab'\) AND )?time >= (\d+)ms AND time < (\d+)ms GROUP BY \*", form["q"])
        if form["db"] != "fabric" or form["epoch"] != "ms" or not query:
            return 400, json.dumps({"error": "error parsing query: " + form["q"]})
        begin, end = int(query[3]), int(query[4])
        return self.answer(begin - 1, json.dumps({"results": [{"statement_id": 0, "series": list(tables(self.server.series, query[1], query[2], begin, end))}]}))

    def series(self, form):
        query = re.fullmatch(r'\{__name__=~"([^"]*)"[^}]*\}(?:\[(\d+)ms\])?', form.get("query") or form["match[]"])
        end = round(float(form.get("time") or form["end"]) * 1000)
        begin = end - int(query[2]) if query[2] else round(float(form["start"]) * 1000) - 1
        found = [(dict(m), [p for p in points if begin < p[0] <= end]) for m, points in self.server.series.items() if re.fullmatch(query[1], dict(m)["__name__"])]
        if self.path.endswith("export"):
            body = "".join(json.dumps({"metric": m, "values": [v for _, v in p], "timestamps": [t for t, _ in p]}) + "\n" for m, p in found if p)
        else:
            body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [{"metric": m, "values": [[t / 1000, str(v)] for t, v in p]} for m, p in found if p]}})
        return self.answer(begin, body)

    log_message = lambda *args: None  # noqa: E731
