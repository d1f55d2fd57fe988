#!/usr/bin/env python3
"""Messages that another implementation made, and what the receiver makes of them. messages/NAME.hex and NAME.json are one message, written by
make_messages.go with go.opentelemetry.io/collector/pdata v1.26.0 (go run, 2026-11-22). What is expected is worked out here from the JSON,
with a table of its own: names and units by NVIDIA's pages and by the SAI headers, as the profiles cumulus and sonic name them.

usage: test_golden.py OTLP_DUMP"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent / "messages"
NOW_NS = 1732312801 * 10**9
DEVICES = {"leaf1": "d0", "leaf1.example.com": "d0", "host7": "d1"}
# name: metric, label of the number, factor
NAMES = {
    "nvswitch_interface_sp_rx_pause": ("pfc.rx_frames", "sp", 1), "nvswitch_interface_sp_tx_pause": ("pfc.tx_frames", "sp", 1),
    "nvswitch_interface_sp_rx_pause_duration": ("pfc.rx_pause_ns", "sp", 1000),
    "nvswitch_interface_sp_tx_pause_duration": ("pfc.tx_pause_ns", "sp", 1000), "nvswitch_interface_sp_rx_discard": ("pg.drops", "sp", 1),
    "nvswitch_interface_tc_tx_octet": ("queue.out_octets", "tc", 1), "nvswitch_interface_tc_tx_frames": ("queue.out_packets", "tc", 1),
    "nvswitch_interface_tc_tx_ecn_marked_tc": ("queue.ecn_marked", "tc", 1),
    "nvswitch_interface_tc_tx_no_buffer_discard_uc": ("queue.drops", "tc", 1),
    "nvswitch_interface_tc_tx_wred_discard": ("queue.wred_drops", "tc", 1), "nvswitch_interface_oper_state": ("port.oper_up", None, 1),
    "nvswitch_interface_if_in_octets": ("port.in_octets", None, 1), "nvswitch_interface_mtu_bytes": ("port.mtu_bytes", None, 1),
    "nvswitch_interface_if_out_octets": ("port.out_octets", None, 1),
    # SAI: saiport.h 0, 109, 110, 141; saiqueue.h 0x1b, 0x22; saibuffer.h 0x08
    "sai_counter_type_1_stat_0": ("port.in_octets", None, 1), "sai_counter_type_1_stat_109": ("pfc.rx_frames", 3, 1),
    "sai_counter_type_1_stat_110": ("pfc.tx_frames", 3, 1), "sai_counter_type_1_stat_141": ("pfc.rx_pause_ns", 3, 1000),
    "sai_counter_type_21_stat_27": ("queue.watermark_bytes", "|", 1), "sai_counter_type_21_stat_34": ("queue.ecn_marked", "|", 1),
    "sai_counter_type_26_stat_8": ("pg.drops", "|", 1)}


def text(value):
    return str(next(iter(value.values())))


def sample(device, metric, point):
    """(line, refused, unknown) of one point."""
    labels = {a["key"]: text(a["value"]) for a in point["attributes"]}
    name, kind, factor = NAMES[metric]
    port = labels.get("interface", labels.get("object_name"))
    priority = -1
    if kind == "|":
        port, priority = port.split("|")
    elif isinstance(kind, int):
        priority = kind
    elif kind:
        priority = labels[kind]
    if int(priority) > 7:
        port, priority = "%s#q%s" % (port, priority), -1
    value = int(point["asInt"]) if "asInt" in point else int(point["asDouble"])
    if name == "port.oper_up":
        value = int(value == 1)
    return "\t".join([device, port, str(priority), name, point["timeUnixNano"], str(value * factor), ""])


def expected(document):
    lines, count = [], dict(points=0, refused=0, unknown=0, unsupported=0, delta=0, no_device=0)
    for resource in document["resourceMetrics"]:
        host = {a["key"]: text(a["value"]) for a in resource["resource"]["attributes"]}["host.name"].lower()
        for metric in (m for s in resource["scopeMetrics"] for m in s["metrics"]):
            kind = next(k for k in ("gauge", "sum", "histogram", "summary") if k in metric)
            points = metric[kind]["dataPoints"]
            count["points"] += len(points)
            if kind in ("histogram", "summary"):
                count["unsupported"] += len(points)
            elif metric["name"] not in NAMES:
                count["unknown"] += len(points)
            elif kind == "sum" and metric[kind]["aggregationTemporality"] != 2:
                count["delta"] += len(points)
                count["refused"] += len(points)
            elif host not in DEVICES:
                count["no_device"] += len(points)
                count["refused"] += len(points)
            else:
                lines += [sample(DEVICES[host], metric["name"], p) for p in points if not p.get("flags")]
    return lines, count


def main():
    for path in sorted(HERE.glob("*.hex")):
        lines, count = expected(json.loads(path.with_suffix(".json").read_text()))
        with tempfile.NamedTemporaryFile() as message:
            message.write(bytes.fromhex(path.read_text()))
            message.flush()
            out = subprocess.run([sys.argv[1], message.name, str(NOW_NS)], capture_output=True, text=True, check=True).stdout.split("\n")
        said = dict(word.split("=") for word in out[len(lines)].split()[:7])
        if out[:len(lines)] != lines or said != {"rc": "0", **{k: str(v) for k, v in count.items()}}:
            sys.exit("%s:\n%s\nexpected\n%s\n%s" % (path.name, "\n".join(out), "\n".join(lines), count))
        print("%s: %d samples of %d points" % (path.name, len(lines), count["points"]))


main()
