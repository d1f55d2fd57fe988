#!/usr/bin/env python3
"""Rows of SONiC's databases, what its telemetry server makes of them (answers.tsv), and what they mean (samples.txt).

Also the files of golden.import.{dynamic,dynamic_in_force,dump,appl_alone,other_database}, and the thresholds in their answers.
The meaning is worked out here from the rows, by SONiC's rules and without any of our code:
test_gnmi_profiles compares what the program reads with samples.txt; this file compares samples.txt
with the rows. Shapes of rows: sonic-swss tests/test_buffer_dynamic.py 03f28600 (APPL_DB keys and fields),
sonic-utilities tests (config_db.json with profile NULL, TABLE|key), sonic-net/SONiC HLDs of packet trimming
(rev 0.3), PFC history (1af964a5) and LLR, SAI doc/Packet-Trimming, sonic-buildimage sonic-ars.yang 53f72b03.
Numbers are made up, except that each profile keeps size = xon + xoff.

  sonic_tables.py            compares; exit 1 and a diff when a file is not what the rows say
  sonic_tables.py --update   writes the files
"""
import difflib
import json
import os
import sys

GNMI = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gnmi")

PORTS = {
    "Ethernet0": {"alias": "etp1", "speed": "400000", "mtu": "9100"},
    "Ethernet8": {"alias": "etp2", "speed": "100000", "mtu": "9100"},
}

# A switch with the dynamic buffer model: no PORT_QOS_MAP, no WRED. Ethernet8's configuration names a profile that is not yet in force.
DYNAMIC = {
    "CONFIG_DB": {
        "PORT": PORTS,
        "DEVICE_METADATA": {"localhost": {"hostname": "msn4700-1", "buffer_model": "dynamic"}},
        "BUFFER_PG": {
            "Ethernet0|3-4": {"profile": "NULL"},
            "Ethernet0|0": {"profile": "ingress_lossy_profile"},
            "Ethernet8|3": {"profile": "pg_mine"},
        },
        "BUFFER_PROFILE": {
            "ingress_lossy_profile": {"dynamic_th": "3", "pool": "ingress_lossy_pool", "size": "0"},
            "pg_mine": {"dynamic_th": "1", "pool": "ingress_lossless_pool", "xon": "1024", "xoff": "2048", "size": "3072"},
        },
        "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic"}},
        "CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m", "Ethernet8": "300m"}},
        "DEFAULT_LOSSLESS_BUFFER_PARAMETER": {"AZURE": {"default_dynamic_th": "0", "over_subscribe_ratio": "2"}},
        "SWITCH_TRIMMING": {"GLOBAL": {"size": "128", "dscp_value": "from-tc", "tc_value": "5", "queue_index": "6"}},
        "ARS_PROFILE": {"p": {"algorithm": "ewma", "default_ars_object": "spray"}},
        "ARS_OBJECT": {"spray": {"assign_mode": "per_packet_quality"}, "flowlets": {"assign_mode": "per_flowlet_quality"}},
        "ARS_INTERFACE": {"Ethernet0": {"scaling_factor": "1"}, "Ethernet8": {"ars_obj_name": "flowlets"}},
    },
    "APPL_DB": {
        "BUFFER_PG_TABLE": {
            "Ethernet0:3-4": {"profile": "pg_lossless_400000_40m_profile"},
            "Ethernet0:0": {"profile": "ingress_lossy_profile"},
            # as releases before 202106 write it
            "Ethernet8:3": {"profile": "[BUFFER_PROFILE_TABLE:pg_lossless_100000_300m_profile]"},
        },
        "BUFFER_QUEUE_TABLE": {
            "Ethernet0:2": {"profile": "q_lossy_trim_profile"},
            "Ethernet0:5": {"profile": "egress_lossy_profile"},
        },
        "BUFFER_PROFILE_TABLE": {
            "ingress_lossy_profile": {"dynamic_th": "3", "pool": "ingress_lossy_pool", "size": "0"},
            "pg_lossless_400000_40m_profile": {
                "dynamic_th": "0", "pool": "ingress_lossless_pool", "xon": "37888", "xoff": "373760", "size": "411648"},
            "pg_lossless_100000_300m_profile": {
                "dynamic_th": "-1", "pool": "[BUFFER_POOL_TABLE:ingress_lossless_pool]", "xon": "18432", "xoff": "165888", "size": "184320"},
            "q_lossy_trim_profile": {"dynamic_th": "3", "pool": "egress_lossy_pool", "size": "0", "packet_discard_action": "trim"},
            "egress_lossy_profile": {"dynamic_th": "3", "pool": "egress_lossy_pool", "size": "0", "packet_discard_action": "drop"},
        },
        "BUFFER_POOL_TABLE": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "52502528", "xoff": "4063232"}},
        "LLR_PORT_TABLE": {
            "Ethernet0": {"llr_local": "enabled", "llr_remote": "enabled", "profile": "llr_400000_40m_profile"},
            "Ethernet8": {"llr_local": "enabled", "llr_remote": "disabled"},
        },
    },
    "STATE_DB": {"ASIC_TABLE": {"MELLANOX-SPECTRUM-3": {"cell_size": "144", "pipeline_latency": "19"}}},
    "COUNTERS": {},
    "QUEUES": {},
    "RATES": {},
}

# A switch that estimates its pause time on port etp1 (pfc_stat_history) and measures it on etp2, trims, and has link layer retry.
HISTORY = {
    "CONFIG_DB": {"PORT": PORTS, "DEVICE_METADATA": {"localhost": {"hostname": "th5-1"}}},
    "APPL_DB": {},
    "STATE_DB": {},
    "COUNTERS": {
        "etp1": {
            "SAI_PORT_STAT_PFC_3_RX_PKTS": "6",
            "SAI_PORT_STAT_PFC_3_ON2OFF_RX_PKTS": "6",
            "EST_PORT_STAT_PFC_3_ON2OFF_RX_PKTS": "5",
            "EST_PORT_STAT_PFC_4_ON2OFF_RX_PKTS": "4",
            "EST_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US": "1430570",
            "EST_PORT_STAT_PFC_3_RECENT_PAUSE_TIME_US": "527739",
            "EST_PORT_STAT_PFC_3_RECENT_PAUSE_TIMESTAMP": "1742923357.9828",
            "SAI_PORT_STAT_IF_OUT_DISCARDS": "1000",
            "SAI_PORT_STAT_TRIM_PACKETS": "900",
            "SAI_PORT_STAT_TX_TRIM_PACKETS": "870",
            "SAI_PORT_STAT_DROPPED_TRIM_PACKETS": "30",
            "SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES": "77",
            "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES": "1",
            "SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS": "99",
            "SAI_PORT_STAT_LLR_TX_REPLAY": "11",
            "SAI_PORT_STAT_LLR_RX_REPLAY": "12",
            "SAI_PORT_STAT_LLR_RX_MISSING_SEQ": "13",
            "SAI_PORT_STAT_LLR_TX_DISCARD": "14",
        },
        "etp2": {
            "SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US": "250",
            "EST_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US": "400000",
            "SAI_PORT_STAT_IF_OUT_DISCARDS": "5",
        },
    },
    "QUEUES": {
        # what was trimmed is among the dropped; 30 of the cut copies were lost as well
        "etp1:2": {
            "SAI_QUEUE_STAT_DROPPED_PACKETS": "950",
            "SAI_QUEUE_STAT_TRIM_PACKETS": "900",
            "SAI_QUEUE_STAT_TX_TRIM_PACKETS": "870",
            "SAI_QUEUE_STAT_DROPPED_TRIM_PACKETS": "30",
        },
        # no count of lost copies
        "etp1:3": {"SAI_QUEUE_STAT_DROPPED_PACKETS": "8", "SAI_QUEUE_STAT_TRIM_PACKETS": "8"},
        # an ASIC that does not count the originals as dropped
        "etp1:4": {"SAI_QUEUE_STAT_DROPPED_PACKETS": "0", "SAI_QUEUE_STAT_TRIM_PACKETS": "9"},
        # trimming is not supported
        "etp2:3": {"SAI_QUEUE_STAT_DROPPED_PACKETS": "17", "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS": "7"},
    },
    "RATES": {
        "etp1": {"FEC_PRE_BER": "1.25e-08", "FEC_POST_BER": "0", "FEC_FLR": "2.5e-10", "FEC_FLR_PREDICTED": "1e-14"},
        "etp2": {"FEC_PRE_BER": "N/A", "FEC_POST_BER": "N/A"},
    },
}

# Ethernet0 has the map of the whole switch, Ethernet8 one of its own and maps PCP besides; NOBODY is of no port.
CLASSES = {
    "CONFIG_DB": {
        "PORT": PORTS,
        "DEVICE_METADATA": {"localhost": {"hostname": "leaf-02"}},
        "PORT_QOS_MAP": {
            "global": {"dscp_to_tc_map": "AZURE"},
            "Ethernet0": {"pfc_enable": "3,4", "tc_to_pg_map": "AZURE"},
            "Ethernet8": {"pfc_enable": "3", "tc_to_pg_map": "[TC_TO_PRIORITY_GROUP_MAP|AZURE]",
                          "dscp_to_tc_map": "[DSCP_TO_TC_MAP|OTHER]", "dot1p_to_tc_map": "PCP"},
        },
        "DSCP_TO_TC_MAP": {
            "AZURE": {str(dscp): {24: "3", 26: "3", 48: "6"}.get(dscp, "0") for dscp in range(64)},
            "OTHER": {"0": "0", "26": "4", "27": "4", "63": "7"},
            "NOBODY": {"26": "5"},
        },
        "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {"0": "0", "3": "3", "4": "4", "6": "7"}},
    },
    "APPL_DB": {},
    "STATE_DB": {},
    "COUNTERS": {},
    "QUEUES": {},
    "RATES": {},
}

CASES = {"sonic-classes": CLASSES, "sonic-dynamic": DYNAMIC, "sonic-history": HISTORY}


# ---- what the telemetry server answers ----------------------------------------------------------


def answers(db):
    lines = ["#profile: sonic", "#sonic", "# rows and meaning: tests/golden/profiles/sonic_tables.py"]
    for target in ("CONFIG_DB", "APPL_DB", "STATE_DB"):
        for table, rows in db[target].items():
            lines.append("\t".join((target, "/" + table, "json_ietf", json.dumps(rows, separators=(",", ":")))))
    for path, rows in (("/COUNTERS/Ethernet*", db["COUNTERS"]), ("/COUNTERS/Ethernet*/Queues", db["QUEUES"]), ("/RATES/Ethernet*", db["RATES"])):
        shown = rows or {"etp1": {"SAI_PORT_STAT_ETHER_STATS_OCTETS": "1"}}
        lines.append("\t".join(("COUNTERS_DB", path, "json_ietf", json.dumps(shown, separators=(",", ":")))))
    return "\n".join(lines) + "\n"


# ---- what the rows mean --------------------------------------------------------------------------


def numbers(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def bare(name):
    return name.strip("[]").replace("|", ":").split(":")[-1]


class Expected:
    def __init__(self):
        self.values = {}

    def put(self, metric, place, priority, value, flags=""):
        self.values.setdefault((metric, place, str(priority)), (value, flags))

    def text(self):
        lines = []
        for (metric, place, priority), (value, flags) in self.values.items():
            lines.append(f"{metric:<28} {place:<14} {priority}  {value}" + (f"  {flags}" if flags else ""))
        return "".join(line + "\n" for line in sorted(lines))


PROFILE_FIELDS = (
    ("xoff", "cfg.pg_headroom_bytes"), ("xon", "cfg.pg_xon_level_bytes"), ("xon_offset", "cfg.pg_xon_offset_bytes"),
    ("dynamic_th", "cfg.pg_alpha_exp"), ("size", "cfg.pg_size_bytes"), ("pool", "cfg.pg_pool"))


def groups(out, pgs, profiles, separator):
    for key, row in pgs.items():
        port, numbered = key.split(separator)
        profile = profiles.get(bare(row["profile"]), {})
        for number in numbers(numbered):
            for field, metric in PROFILE_FIELDS:
                if field in profile:
                    out.put(metric, port, number, bare(profile[field]))


def settings(out, config, appl, state):
    # what is in force comes first: put() keeps the first value
    groups(out, appl.get("BUFFER_PG_TABLE", {}), appl.get("BUFFER_PROFILE_TABLE", {}), ":")
    groups(out, config.get("BUFFER_PG", {}), config.get("BUFFER_PROFILE", {}), "|")
    for key, row in appl.get("BUFFER_QUEUE_TABLE", {}).items():
        port, numbered = key.split(":")
        action = appl["BUFFER_PROFILE_TABLE"][bare(row["profile"])]["packet_discard_action"]
        for number in numbers(numbered):
            out.put("cfg.trim_enabled", port, number, int(action == "trim"))
    for pools in (appl.get("BUFFER_POOL_TABLE", {}), config.get("BUFFER_POOL", {})):
        for pool, row in pools.items():
            for field, metric in (("size", "cfg.buffer_pool_bytes"), ("xoff", "cfg.pool_headroom_bytes")):
                if field in row:
                    out.put(metric, "pool:" + pool, "-", row[field])
    for port, row in appl.get("LLR_PORT_TABLE", {}).items():
        out.put("cfg.llr_enabled", port, "-", int(row["llr_remote"] == "enabled"))
    for lengths in config.get("CABLE_LENGTH", {}).values():
        for port, length in lengths.items():
            out.put("cfg.cable_m", port, "-", length.rstrip("m"))
    for row in config.get("DEFAULT_LOSSLESS_BUFFER_PARAMETER", {}).values():
        out.put("cfg.shp_ratio", "-", "-", row["over_subscribe_ratio"])
    for row in config.get("SWITCH_TRIMMING", {}).values():
        out.put("cfg.trim_size_bytes", "-", "-", row["size"])
        out.put("cfg.trim_dscp", "-", "-", row["dscp_value"])
        out.put("cfg.trim_queue", "-", "-", row["queue_index"])
    named = [row["default_ars_object"] for row in config.get("ARS_PROFILE", {}).values()]
    named += [row["ars_obj_name"] for row in config.get("ARS_INTERFACE", {}).values() if "ars_obj_name" in row]
    modes = {config["ARS_OBJECT"][name]["assign_mode"] for name in named}
    if modes:
        words = {"per_packet_quality": "packet", "per_flowlet_quality": "flowlet"}
        out.put("cfg.lb_mode", "-", "-", words[modes.pop()] if len(modes) == 1 else "mixed")
    for row in state.get("ASIC_TABLE", {}).values():
        out.put("cfg.cell_bytes", "-", "-", row["cell_size"])


def ranges(rows):
    """{0: 0, 1: 0, 26: 3} as "0-1:0,26:3"."""
    told = []
    for key in sorted(int(key) for key in rows):
        value = rows[str(key)]
        if told and told[-1][1] == key - 1 and told[-1][2] == value:
            told[-1][1] = key
        else:
            told.append([key, key, value])
    return ",".join((f"{first}-{last}" if last > first else f"{first}") + f":{value}" for first, last, value in told)


def classes(out, config):
    rows = config.get("PORT_QOS_MAP", {})
    for port in PORTS if rows else ():
        row = rows[port]
        for priority in range(8):
            out.put("cfg.pfc_enabled", port, priority, int(str(priority) in row["pfc_enable"].split(",")))
        out.put("cfg.dscp_to_prio", port, "-",
                ranges(config["DSCP_TO_TC_MAP"][bare(row.get("dscp_to_tc_map", rows["global"]["dscp_to_tc_map"]))]))
        if "dscp_to_tc_map" in row:
            out.put("cfg.trust", port, "-", "dscp")
        for priority, group in config["TC_TO_PRIORITY_GROUP_MAP"][bare(row["tc_to_pg_map"])].items():
            out.put("cfg.prio_to_pg", port, priority, group)


def left(row, dropped, trimmed, lost):
    """Packets that were lost whole: those cut and sent on are not."""
    away = max(0, int(row.get(trimmed, 0)) - int(row.get(lost, 0)))
    return max(0, int(row[dropped]) - away)


PORT_FIELDS = (
    ("SAI_PORT_STAT_PFC_3_RX_PKTS", "pfc.rx_frames", 3),
    ("SAI_PORT_STAT_TRIM_PACKETS", "port.trimmed_packets", "-"),
    ("SAI_PORT_STAT_TX_TRIM_PACKETS", "port.trim_sent_packets", "-"),
    ("SAI_PORT_STAT_DROPPED_TRIM_PACKETS", "port.trim_dropped_packets", "-"),
    ("SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES", "port.fec_corrected", "-"),
    ("SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES", "port.fec_uncorrectable", "-"),
    ("SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS", "port.fec_symbol_errors", "-"),
    ("SAI_PORT_STAT_LLR_TX_REPLAY", "port.llr_tx_replays", "-"),
    ("SAI_PORT_STAT_LLR_RX_REPLAY", "port.llr_rx_replays", "-"),
    ("SAI_PORT_STAT_LLR_RX_MISSING_SEQ", "port.llr_rx_missing", "-"),
    ("SAI_PORT_STAT_LLR_TX_DISCARD", "port.llr_tx_discards", "-"))
QUEUE_FIELDS = (
    ("SAI_QUEUE_STAT_TRIM_PACKETS", "queue.trimmed_packets"), ("SAI_QUEUE_STAT_TX_TRIM_PACKETS", "queue.trim_sent_packets"),
    ("SAI_QUEUE_STAT_DROPPED_TRIM_PACKETS", "queue.trim_dropped_packets"), ("SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", "queue.ecn_marked"))
RATE_FIELDS = (
    ("FEC_PRE_BER", "port.pre_fec_ber"), ("FEC_POST_BER", "port.post_fec_ber"), ("FEC_FLR", "port.fec_flr"),
    ("FEC_FLR_PREDICTED", "port.fec_flr_predicted"))


def measured(row, priority, stat):
    """A value and how it is known: what the ASIC measures goes before what SONiC estimates."""
    for prefix, flags in (("SAI", ""), ("EST", "estimated")):
        name = f"{prefix}_PORT_STAT_PFC_{priority}_{stat}"
        if name in row:
            return int(row[name]), flags
    return None, ""


def counters(out, db):
    port_of = {row["alias"]: port for port, row in PORTS.items()}
    for alias, row in db["COUNTERS"].items():
        port = port_of[alias]
        for field, metric, priority in PORT_FIELDS:
            if field in row:
                out.put(metric, port, priority, row[field])
        for priority in (3, 4):
            for stat, metric, factor in (("RX_PAUSE_DURATION_US", "pfc.rx_pause_ns", 1000), ("ON2OFF_RX_PKTS", "pfc.rx_transitions", 1)):
                value, flags = measured(row, priority, stat)
                if value is not None:
                    out.put(metric, port, priority, value * factor, flags)
        out.put("port.out_discards", port, "-", left(
            row, "SAI_PORT_STAT_IF_OUT_DISCARDS", "SAI_PORT_STAT_TRIM_PACKETS", "SAI_PORT_STAT_DROPPED_TRIM_PACKETS"))
    for key, row in db["QUEUES"].items():
        alias, queue = key.split(":")
        out.put("queue.drops", port_of[alias], queue, left(
            row, "SAI_QUEUE_STAT_DROPPED_PACKETS", "SAI_QUEUE_STAT_TRIM_PACKETS", "SAI_QUEUE_STAT_DROPPED_TRIM_PACKETS"))
        for field, metric in QUEUE_FIELDS:
            if field in row:
                out.put(metric, port_of[alias], queue, row[field])
    for alias, row in db["RATES"].items():
        for field, metric in RATE_FIELDS:
            if row.get(field, "N/A") != "N/A":
                out.put(metric, port_of[alias], "-", f"{float(row[field]):g}")


def samples(db):
    out = Expected()
    for port, row in PORTS.items():
        out.put("port.speed_bps", port, "-", int(row["speed"]) * 1000000)
        out.put("port.mtu_bytes", port, "-", row["mtu"])
    settings(out, db["CONFIG_DB"], db["APPL_DB"], db["STATE_DB"])
    classes(out, db["CONFIG_DB"])
    counters(out, db)
    return out.text()


# ---- `config import sonic` -----------------------------------------------------------------------

# Ethernet8 is shut down: its priority group is not in APPL_DB.
IMPORT_CONFIG = {
    "DEVICE_METADATA": {"localhost": {"hostname": "leaf-01", "hwsku": "ACS-MSN4700", "type": "ToRRouter", "buffer_model": "dynamic"}},
    "PORT": dict(PORTS, Ethernet16={"alias": "etp3", "speed": "400000", "mtu": "9100"}),
    "PORT_QOS_MAP": {port: {"pfc_enable": "3,4"} for port in ("Ethernet0", "Ethernet8", "Ethernet16")},
    "BUFFER_PG": {
        "Ethernet0|3-4": {"profile": "NULL"}, "Ethernet8|3-4": {"profile": "NULL"}, "Ethernet16|3-4": {"profile": "pg_lossless_mine"}},
    "BUFFER_PROFILE": {"ingress_lossy_profile": {"dynamic_th": "3", "pool": "ingress_lossy_pool", "size": "0"}},
    "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic"}},
    "CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m", "Ethernet8": "5m", "Ethernet16": "300m"}},
    "DEVICE_NEIGHBOR": {"Ethernet0": {"name": "spine-01", "port": "Ethernet4"}, "Ethernet16": {"name": "node-7", "port": "eth0"}},
}
IMPORT_APPL = {
    "BUFFER_PG_TABLE": {
        "Ethernet0:3-4": {"profile": "pg_lossless_400000_40m_profile"},
        "Ethernet16:3-4": {"profile": "[BUFFER_PROFILE_TABLE:pg_lossless_mine]"},
    },
    "BUFFER_PROFILE_TABLE": {
        "pg_lossless_400000_40m_profile": DYNAMIC["APPL_DB"]["BUFFER_PROFILE_TABLE"]["pg_lossless_400000_40m_profile"],
        "pg_lossless_mine": {"static_th": "9216", "pool": "ingress_lossless_pool", "xon": "37888", "xoff": "677888", "size": "715776"},
    },
    "BUFFER_POOL_TABLE": DYNAMIC["APPL_DB"]["BUFFER_POOL_TABLE"],
}


def flat(tables, separator, dumped):
    """As sonic-db-dump -y writes rows, or as the mock tables of sonic-utilities have them."""
    rows = {table + separator + key: row for table, keys in tables.items() for key, row in keys.items()}
    if dumped:
        rows = {key: {"expireat": 0.0, "ttl": -0.001, "type": "hash", "value": row} for key, row in rows.items()}
    return json.dumps(rows, indent=1) + "\n"


IMPORTS = {
    "dynamic": {"config_db.json": json.dumps(IMPORT_CONFIG, indent=1) + "\n"},
    "dynamic_in_force": {
        "config_db.json": json.dumps(IMPORT_CONFIG, indent=1) + "\n", "appl_db.json": flat(IMPORT_APPL, ":", False)},
    "dump": {"CONFIG_DB.json": flat(IMPORT_CONFIG, "|", True), "APPL_DB.json": flat(IMPORT_APPL, ":", True)},
    "appl_alone": {"appl_db.json": flat(IMPORT_APPL, ":", True)},
    "other_database": {"counters_db.json": flat({"COUNTERS": {"oid:0x1": {"SAI_PORT_STAT_IF_IN_OCTETS": "1"}}}, ":", False)},
}


def import_wrong(name, files, answer):
    """What an answer lacks of the thresholds that the rows give."""
    if "appl_db.json" not in files and "APPL_DB.json" not in files or "config_db.json" not in files and "CONFIG_DB.json" not in files:
        return []
    wanted = []
    for key, row in IMPORT_APPL["BUFFER_PG_TABLE"].items():
        port, numbered = key.split(":")
        profile = IMPORT_APPL["BUFFER_PROFILE_TABLE"][bare(row["profile"])]
        for priority in numbers(numbered):
            line = f'devices: "leaf-01", ports: "{port}", priority: {priority}'
            if "dynamic_th" in profile:
                line += f', alpha: {2 ** int(profile["dynamic_th"])}'
            wanted.append(line + f', headroom: {profile["xoff"]}B, xon_level: {profile["xon"]}B')
    pool = IMPORT_APPL["BUFFER_POOL_TABLE"]["ingress_lossless_pool"]
    wanted.append(f", pool: {pool['size']}B, headroom_pool: {pool['xoff']}B }}")
    return [f"{name}: lacks {line}\n" for line in wanted if line not in answer]


def imports(update):
    wrong = False
    folder = os.path.join(GNMI, "..", "import")
    for name, files in IMPORTS.items():
        path = os.path.join(folder, name)
        for file, text in dict(files, **{"files.txt": " ".join(files) + "\n"}).items():
            if update:
                os.makedirs(path, exist_ok=True)
                with open(os.path.join(path, file), "w") as to:
                    to.write(text)
                continue
            with open(os.path.join(path, file)) as have:
                if have.read() != text:
                    wrong = True
                    print(f"{path}/{file} is not what the rows say")
        if not update:
            with open(os.path.join(path, "expected.txt")) as have:
                lacks = import_wrong(name, files, have.read())
            wrong |= bool(lacks)
            sys.stdout.writelines(lacks)
    return wrong


def main():
    wrong = imports("--update" in sys.argv)
    for name, db in CASES.items():
        for file, text in (("answers.tsv", answers(db)), ("samples.txt", samples(db))):
            path = os.path.join(GNMI, name, file)
            if "--update" in sys.argv:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w") as to:
                    to.write(text)
                continue
            with open(path) as have:
                kept = have.read()
            if kept != text:
                wrong = True
                sys.stdout.writelines(difflib.unified_diff(
                    kept.splitlines(True), text.splitlines(True), path, "what the rows say"))
    return 1 if wrong else 0


sys.exit(main())
