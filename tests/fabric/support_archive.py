"""support_archive.py CASE OUT SECOND GAP - what `show techsupport` of each switch of a recorded case would hold: its databases, and its counters
at two times, SECOND after the case began and GAP seconds later. Names of tables and fields are SONiC's (sonic-swss, sonic-utilities
tests/mock_tables); written apart from the profile, which says the same the other way round."""
import json, os, re, sys

PORT = {
    "port.in_octets": "IF_IN_OCTETS", "port.out_octets": "IF_OUT_OCTETS", "port.in_packets": "IF_IN_UCAST_PKTS", "port.out_packets": "IF_OUT_UCAST_PKTS",
    "port.in_errors": "IF_IN_ERRORS", "port.out_errors": "IF_OUT_ERRORS", "port.in_discards": "IF_IN_DISCARDS", "port.out_discards": "IF_OUT_DISCARDS",
    "port.fcs_errors": "DOT3_STATS_FCS_ERRORS", "port.symbol_errors": "DOT3_STATS_SYMBOL_ERRORS", "port.fec_corrected": "IF_IN_FEC_CORRECTABLE_FRAMES",
    "port.fec_uncorrectable": "IF_IN_FEC_NOT_CORRECTABLE_FRAMES", "port.in_pause_frames": "PAUSE_RX_PKTS", "port.out_pause_frames": "PAUSE_TX_PKTS",
}
PFC = {"pfc.rx_frames": "PFC_%d_RX_PKTS", "pfc.tx_frames": "PFC_%d_TX_PKTS", "pfc.rx_pause_ns": "PFC_%d_RX_PAUSE_DURATION_US"}
QUEUE = {
    "queue.out_octets": "SAI_QUEUE_STAT_BYTES", "queue.out_packets": "SAI_QUEUE_STAT_PACKETS", "queue.drops": "SAI_QUEUE_STAT_DROPPED_PACKETS",
    "queue.wred_drops": "SAI_QUEUE_STAT_WRED_DROPPED_PACKETS", "queue.ecn_marked": "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS",
    "queue.depth_bytes": "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES", "pfcwd.storms": "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED",
    "pfcwd.restores": "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED", "pfcwd.drops": "PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS",
}
GROUP = {"pg.shared_watermark_bytes": "SHARED_WATERMARK_BYTES", "pg.headroom_watermark_bytes": "XOFF_ROOM_WATERMARK_BYTES"}
WRED = {"cfg.ecn_kmin_bytes": "green_min_threshold", "cfg.ecn_kmax_bytes": "green_max_threshold"}
BUFFER = {"cfg.pg_headroom_bytes": "xoff", "cfg.pg_xon_offset_bytes": "xon_offset", "cfg.pg_xon_level_bytes": "xon", "cfg.pg_alpha_exp": "dynamic_th"}
OPTIC = {"optic.rx_power_dbm": "rx1power", "optic.tx_power_dbm": "tx1power", "optic.temperature_c": "temperature"}
SILENT_S = 30


class Database(dict):
    """As sonic-db-dump -y writes it."""

    def __init__(self, bar):
        super().__init__()
        self.bar = bar

    def put(self, table, row, field, value):
        key = table + self.bar + row if row else table
        self.setdefault(key, {"expireat": 1796000000.0, "ttl": -0.001, "type": "hash", "value": {}})["value"][field] = str(value)


def values_at(rows, t):
    """The newest value of each series by then: rows are in the order of time."""
    found = {}
    for row in rows:
        if float(row[0]) > t:
            break
        found[tuple(row[1:5])] = row[5]
    return found


def links_of(case):
    """Port -> (peer, its port), of both ends."""
    peers = {}
    with open(os.path.join(case, "fabric.yaml")) as f:
        for a, b in re.findall(r'a: "([^"]+)", b: "([^"]+)"', f.read()):
            far = b.split(":")
            peers[a] = (far[1], far[2] if len(far) > 2 else "eth0") if far[0] == "host" else tuple(far)
            if far[0] != "host":
                peers[b] = tuple(a.split(":"))
    return peers


def alias(port):
    return port.replace("Ethernet", "etp")


def counters_of(values):
    db, ids = Database(":"), {}

    def oid(kind, name):
        if (kind, name) not in ids:
            ids[kind, name] = "oid:0x%x" % (0x1000000000000 + len(ids))
            db.put("COUNTERS_%s_NAME_MAP" % kind, "", name, ids[kind, name])
        return ids[kind, name]

    for (port, priority, metric), value in values.items():
        if not port.startswith("Ethernet"):
            continue
        place = "%s:%s" % (port, priority)
        if metric in PORT:
            db.put("COUNTERS", oid("PORT", port), "SAI_PORT_STAT_" + PORT[metric], value)
        elif metric in PFC:
            db.put("COUNTERS", oid("PORT", port), "SAI_PORT_STAT_" + PFC[metric] % int(priority), int(value) // (1000 if metric.endswith("_ns") else 1))
        elif metric in QUEUE:
            db.put("COUNTERS", oid("QUEUE", place), QUEUE[metric], value)
        elif metric == "queue.watermark_bytes":
            db.put("PERIODIC_WATERMARKS", oid("QUEUE", place), "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", value)
        elif metric in GROUP:
            db.put("PERIODIC_WATERMARKS", oid("PG", place), "SAI_INGRESS_PRIORITY_GROUP_STAT_" + GROUP[metric], value)
        elif metric == "port.pre_fec_ber":
            db.put("RATES", oid("PORT", port), "FEC_PRE_BER", value)
    return db


def settings_of(device, values, peers):
    config, appl, state = Database("|"), Database(":"), Database("|")
    config.put("DEVICE_METADATA", "localhost", "hostname", device + ".example.net")
    lossless = {}
    for (port, priority, metric), value in values.items():
        if metric == "cfg.buffer_pool_bytes":
            config.put("BUFFER_POOL", port.split(":")[1], "size", value)
        if not port.startswith("Ethernet"):
            continue
        config.put("PORT", port, "alias", alias(port))
        if metric == "port.speed_bps":
            config.put("PORT", port, "speed", int(value) // 1000000)
        elif metric == "port.mtu_bytes":
            config.put("PORT", port, "mtu", value)
        elif metric == "port.oper_up":
            appl.put("PORT_TABLE", port, "oper_status", "up" if value == "1" else "down")
        elif metric == "cfg.pfc_enabled":
            lossless.setdefault(port, []).extend([priority] if value == "1" else [])
        elif metric == "cfg.cable_m":
            config.put("CABLE_LENGTH", "AZURE", port, value + "m")
        elif metric in OPTIC:
            state.put("TRANSCEIVER_DOM_SENSOR", port, OPTIC[metric], value)
        elif metric in BUFFER:
            profile = "pg_lossless_%s_%s" % (port, priority)
            config.put("BUFFER_PG", "%s|%s" % (port, priority), "profile", profile)
            config.put("BUFFER_PROFILE", profile, BUFFER[metric], value)
        elif metric in WRED or metric in ("cfg.ecn_pmax_ratio", "cfg.ecn_enabled"):
            profile = "WRED_%s_%s" % (port, priority)
            config.put("QUEUE", "%s|%s" % (port, priority), "wred_profile", profile)
            if metric == "cfg.ecn_pmax_ratio":
                config.put("WRED_PROFILE", profile, "green_drop_probability", round(100 * float(value)))
            elif metric == "cfg.ecn_enabled":
                config.put("WRED_PROFILE", profile, "ecn", "ecn_green" if value == "1" else "ecn_none")
            else:
                config.put("WRED_PROFILE", profile, WRED[metric], value)
    for port, priorities in lossless.items():
        config.put("PORT_QOS_MAP", port, "pfc_enable", ",".join(priorities))
    for place, (peer, peer_port) in peers.items():
        if place.split(":")[0] == device:
            port = place.split(":")[1]
            for field, value in (("lldp_rem_sys_name", peer), ("lldp_rem_port_id", peer_port), ("lldp_rem_port_id_subtype", "5"),
                                 ("lldp_rem_port_desc", peer_port)):
                appl.put("LLDP_ENTRY_TABLE", port, field, value)
    return {"CONFIG_DB": config, "APPL_DB": appl, "STATE_DB": state}


def write(path, text, t):
    with open(path, "w") as f:
        f.write(text)
    os.utime(path, (t, t))


def archives(case, out, times):
    """One folder for each switch below @out; returns them."""
    with open(os.path.join(case, "samples.tsv")) as f:
        rows = [line.rstrip("\n").split("\t") for line in f if line[0].isdigit()]
    peers = links_of(case)
    readings = [values_at(rows, t) for t in times]
    folders = []
    newest = {row[1]: float(row[0]) for row in rows if float(row[0]) <= times[-1]}
    for device in sorted(name for name, t in newest.items() if t > times[-1] - SILENT_S):  # who is dead writes none
        folder = os.path.join(out, "sonic_dump_" + device)
        os.makedirs(os.path.join(folder, "dump"))
        folders.append(folder)

        def of(reading):
            return {key[1:]: value for key, value in reading.items() if key[0] == device}

        for name, db in settings_of(device, of(readings[-1]), peers).items():
            write("%s/dump/%s.json" % (folder, name), json.dumps(db, indent=2), times[-1])
        for i, (reading, t) in enumerate(zip(readings, times), 1):
            write("%s/dump/COUNTERS_DB_%d.json" % (folder, i), json.dumps(counters_of(of(reading)), indent=2), t)
    return folders


if __name__ == "__main__":
    case, out, second, gap = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
    with open(os.path.join(case, "truth.json")) as f:
        at = json.load(f)
    import calendar, time
    began = calendar.timegm(time.strptime(at["started"][:19], "%Y-%m-%dT%H:%M:%S"))
    print("\n".join(archives(case, out, (began + second, began + second + gap))))
