#!/usr/bin/env python3
"""gnmi_expect.py - samples.txt of the cases below (in ../gnmi) by a second path: each line of answers.tsv is read by a table that was written from
the vendors' documents (NVUE's list of metrics, the YANG models of OpenConfig and Nokia, the names in the recordings of
Junos) and shares nothing with the profiles. A wrong leaf, unit, direction or key shows as a difference."""
import json
import os
import re
import sys
from collections import defaultdict

from run import recorded_cells

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gnmi")
P, Q, N = r"\[(?:interface-id|name)=(?P<port>[^\]]+)\]", r"\[(?:name|queue-name|queue-number|queue)=(?:unicast-|UC)?(?P<prio>\d+)\]", r"\[(?:priority|pg-id|index)=(?P<prio>\d+)\]"
OC_Q, NVUE_SP = r"/qos/interfaces/interface%s/output/queues/queue%s/state/" % (P, Q), r"/qos/interfaces/interface%s/(?:switch-priority%s/state|state/switch-priority%s)/" % (P, N, N.replace("<prio>", "<prio2>"))
SRL_Q, SRL_PFC, QMON = r"/qos/interfaces/interface%s/output/queues/queue%s/" % (P, Q), r"/qos/interfaces/interface%s/pfc/" % P, r"/junos/system/linecard/qmon-sw%s/egress%s/" % (P, Q)
PFCQ = SRL_PFC + r"pfc-queue\[pfc-queue-name=(?:pfc-?)?(?P<prio>\d)\]/"
EOS_PFC, EOS_FEC = r"/interfaces/interface%s/ethernet/pfc/" % P, r"/interfaces/interface%s/ethernet/phys/phy\[index=\d+\]/ingress/fec/state/" % P
EOS_PRIO, EOS_WD = EOS_PFC + r"priorities/priority%s/state/" % N, EOS_PFC + r"watchdog/tx-queues/tx-queue%s\[queue-type=\w+\]/state/" % N
EVO = r"/cos/interfaces/interface%s/queues/queue%s/" % (P, Q)
# path, metric, factor; how several lines of one thing become one: add, min, max, or "else" (only where nothing better came)
TABLE = [
    (r"/interfaces/interface%s/state/counters/in-octets" % P, "port.in_octets", 1, "add"), (r"/interfaces/interface%s/state/counters/out-octets" % P, "port.out_octets", 1, "add"),
    (r"/interfaces/interface%s/state/oper-status" % P, "port.oper_up", {'"UP"': 1, "UP": 1}, "add"),
    (r"/interfaces/interface%s/state/counters/in-fcs-errors" % P, "port.fcs_errors", 1, "add"), (r"/interfaces/interface%s/ethernet/state/port-speed" % P, "port.speed_bps", {'"openconfig-if-ethernet:SPEED_400GB"': 400 * 10**9}, "add"),
    (r"/interfaces/interface%s/phy/channels/channel\[id=\d+\]/ber/state/raw-ber" % P, "port.pre_fec_ber", 1.0, "max"), (r"/interfaces/interface%s/phy/fec/state/rs-fec-uncorrectable-blocks" % P, "port.fec_uncorrectable", 1, "add"),
    (OC_Q + "transmit-octets", "queue.out_octets", 1, "add"), (OC_Q + "ecn-marked-pkts", "queue.ecn_marked", 1, "add"), (OC_Q + "transmit-pkts", "queue.out_packets", 1, "add"), (OC_Q + "wred-dropped-pkts", "queue.wred_drops", 1, "add"), (OC_Q + "dropped-pkts", "queue.drops", 1, "add"), (OC_Q + "no-buffer-uc-dropped-pkts", "queue.drops", 1, "add"),
    (OC_Q + "shared-buffer/data/max-occupancy", "queue.watermark_bytes", 1, "add"), (OC_Q + "max-queue-len", "queue.watermark_bytes", 1, "else"),
    (OC_Q + "shared-buffer/data/instant-occupancy", "queue.depth_bytes", 1, "add"), (OC_Q + "instant-queue-len", "queue.depth_bytes", 1, "else"),
    (OC_Q + "trim-pkts", "queue.trimmed_packets", 1, "add"), (OC_Q + "out-trim-pkts", "queue.trim_sent_packets", 1, "add"), (OC_Q + "dropped-trim-pkts", "queue.trim_dropped_packets", 1, "add"),
    (NVUE_SP + "counters/in-pause-pkts", "pfc.rx_frames", 1, "add"), (NVUE_SP + "counters/out-pause-pkts", "pfc.tx_frames", 1, "add"), (NVUE_SP + "counters/in-discards", "pg.drops", 1, "add"),
    (NVUE_SP + "in-pause-duration", "pfc.rx_pause_ns", 1000, "add"), (NVUE_SP + "out-pause-duration", "pfc.tx_pause_ns", 1000, "add"),
    (r"/qos/interfaces/interface%s/input/priority-group%s/state/shared-buffer/data/max-occupancy" % (P, N), "pg.shared_watermark_bytes", 1, "add"),
    (r"/qos/interfaces/interface%s/input/headroom-buffer\[buffer-type=primary\]/priority-group%s/state/max-occupancy" % (P, N), "pg.headroom_watermark_bytes", 1, "add"),
    (r"/qos/shared-buffer/pools/pool\[id=(?P<pool>[^\]]+)\]/state/data/max-occupancy", "pool.watermark_bytes", 1, "add"), (r"/qos/shared-buffer/pools/pool\[id=(?P<pool>[^\]]+)\]/state/max-occupancy", "pool.watermark_bytes", 1, "else"),
    (r"/qos/shared-buffer/state/cell-size", "cfg.cell_bytes", 1, "add"),
    (EOS_PRIO + "in-frames", "pfc.rx_frames", 1, "add"), (EOS_PRIO + "out-frames", "pfc.tx_frames", 1, "add"), (EOS_PRIO + "pfc-on-total-rx-time", "pfc.rx_pause_ns", 1, "add"),
    (EOS_PRIO + "rx-transitions", "pfc.rx_transitions", 1, "add"), (EOS_PRIO + "dropped-pkts", "pg.drops", 1, "add"), (EOS_PRIO + "all-buffers-octets-max-last-poll", "pg.shared_watermark_bytes", 1, "add"),
    (EOS_WD + "stuck-count", "pfcwd.storms", 1, "add"), (EOS_WD + "recovery-count", "pfcwd.restores", 1, "add"),
    (EOS_FEC + "corrected-codewords", "port.fec_corrected", 1, "add"), (EOS_FEC + "uncorrected-codewords", "port.fec_uncorrectable", 1, "add"),
    (QMON + "bytes", "queue.out_octets", 1, "add"), (QMON + "packets", "queue.out_packets", 1, "add"), (QMON + "peak-buffer-occupancy-bytes", "queue.watermark_bytes", 1, "add"),
    (QMON + "(?:tail-drop-packets|red-drop-packets-color-[0-3])", "queue.drops", 1, "add"), (QMON + "red-drop-packets-color-[0-3]", "queue.wred_drops", 1, "add"),
    (EVO + "txBytes", "queue.out_octets", 1, "add"), (EVO + "txPkts", "queue.out_packets", 1, "add"), (EVO + "(?:tail|red)DropPkts", "queue.drops", 1, "add"),
    (r"/state/interfaces/interface%s/counters/pfc\[priority=(?P<prio>\d)\]/in-pkts" % P, "pfc.rx_frames", 1, "add"), (r"/state/interfaces/interface%s/counters/pfc\[priority=(?P<prio>\d)\]/out-pkts" % P, "pfc.tx_frames", 1, "add"),
    (r"/state/interfaces/interface%s/counters/errors/out-ecn-ce-marked-pkts" % P, "port.ecn_marked", 1, "add"),
    (r"/state/interfaces/interface%s/ethernet/counters/fec-corrected-words" % P, "port.fec_corrected", 1, "add"), (r"/state/interfaces/interface%s/ethernet/counters/fec-uncorrectable-words" % P, "port.fec_uncorrectable", 1, "add"),
    (EVO + "redDropPkts", "queue.wred_drops", 1, "add"), (EVO + "ecnMarkedPkts", "queue.ecn_marked", 1, "add"),
    (r"/interfaces/interface%s/optics/module_temp" % P, "optic.temperature_c", 1.0, "add"),
    (r"/interfaces/interface%s/optics/lanediags/lane\[lane_number=\d\]/lane_laser_receiver_power_dbm" % P, "optic.rx_power_dbm", 1.0, "min"),
    (r"/interfaces/interface%s/optics/lanediags/lane\[lane_number=\d\]/lane_laser_output_power_dbm" % P, "optic.tx_power_dbm", 1.0, "min"),
    (r"/interface%s/statistics/in-octets" % P, "port.in_octets", 1, "add"), (r"/interface%s/statistics/out-octets" % P, "port.out_octets", 1, "add"),
    (r"/interface%s/oper-state" % P, "port.oper_up", {"up": 1}, "add"), (r"/interface%s/mtu" % P, "port.mtu_bytes", 1, "add"), (r"/interface%s/ethernet/port-speed" % P, "port.speed_bps", {"400G": 400 * 10**9}, "add"),
    (r"/interface%s/ethernet/forward-error-correction/statistics/host-if-fec-router/pre-fec-ber/instant" % P, "port.pre_fec_ber", 1.0, "add"),
    (r"/interface%s/ethernet/forward-error-correction/statistics/host-if-fec-router/corrected-frame-error-count" % P, "port.fec_corrected", 1, "add"),
    (r"/interface%s/ethernet/forward-error-correction/statistics/host-if-fec-router/frame-error-count" % P, "port.fec_uncorrectable", 1, "add"),
    (r"/interface%s/transceiver/temperature/latest-value" % P, "optic.temperature_c", 1.0, "add"),
    (r"/interface%s/transceiver/channel\[index=\d\]/input-power/latest-value" % P, "optic.rx_power_dbm", 1.0, "min"), (r"/interface%s/transceiver/channel\[index=\d\]/output-power/latest-value" % P, "optic.tx_power_dbm", 1.0, "min"),
    (SRL_PFC + "statistics/pfc-priority%s/pfc-pause-frames-received" % N, "pfc.rx_frames", 1, "add"), (SRL_PFC + "statistics/pfc-priority%s/pfc-pause-frames-generated" % N, "pfc.tx_frames", 1, "add"),
    (SRL_PFC + "statistics/pfc-priority%s/deadlock-recovery-occurrences" % N, "pfcwd.storms", 1, "add"), (SRL_PFC + "statistics/total-packet-pfc-discards", "port.pfc_drops", 1, "add"), (SRL_PFC + "deadlock-detection-timer", "cfg.pfcwd_detect_ms", 1, "add"),
    (PFCQ + "pfc-enable", "cfg.pfc_enabled", {"true": 1}, "add"), (PFCQ + "pfc-on-threshold-bytes", "cfg.pg_xoff_level_bytes", 1, "add"), (PFCQ + "pfc-off-threshold-bytes", "cfg.pg_xon_level_bytes", 1, "add"),
    (PFCQ + "pfc-maximum-pfc-reserved-share", "cfg.pg_headroom_bytes", 1, "add"), (PFCQ + "peak-pfc-buffer-used", "pg.shared_watermark_bytes", 1, "add"),
    (SRL_Q + "queue-statistics/aggregate-statistics/transmitted-octets", "queue.out_octets", 1, "add"), (SRL_Q + "queue-statistics/aggregate-statistics/transmitted-packets", "queue.out_packets", 1, "add"),
    (SRL_Q + "queue-statistics/aggregate-statistics/dropped-packets", "queue.drops", 1, "add"), (SRL_Q + "queue-statistics/aggregate-statistics/ecn-marked-packets", "queue.ecn_marked", 1, "add"),
    (SRL_Q + "queue-statistics/aggregate-statistics/trimmed-packets", "queue.trimmed_packets", 1, "add"), (SRL_Q + "queue-depth/high-watermark-1", "queue.watermark_bytes", 1, "add"),
] + [(SRL_Q + r"active-queue-management/wred-slope\[drop-probability=low\]\[enable-ecn=true\]\[traffic-type=non-tcp\]/" + leaf, metric, factor, "add") for leaf, metric, factor in (
    ("enable-ecn", "cfg.ecn_enabled", {"true": 1}), ("min-threshold-bytes", "cfg.ecn_kmin_bytes", 1), ("max-threshold-bytes", "cfg.ecn_kmax_bytes", 1), ("max-probability", "cfg.ecn_pmax_ratio", 0.01))]


def put(have, key, value, how):
    old = have.get(key)
    if old is None or (old[1] == "else" and how != "else"):
        have[key] = (value, how)
    elif how != "else":
        have[key] = ({"add": lambda a, b: a + b, "min": min, "max": max}[how](old[0], value), how)


def optics(rows, have):
    """OpenConfig's transceivers, from the text of the model: by port, by lane where a module is shared."""
    module, lanes, power, others = {}, defaultdict(set), defaultdict(dict), defaultdict(dict)
    for path, value in rows:
        if m := re.fullmatch(r"/interfaces/interface%s/state/transceiver" % P, path):
            module[m["port"]] = value
        elif m := re.fullmatch(r"/interfaces/interface%s/state/physical-channel" % P, path):
            lanes[m["port"]] |= set(json.loads(value))
        elif m := re.fullmatch(r"/components/component\[name=([^\]]+)\]/transceiver/physical-channels/channel\[index=(\d+)\]/state/(input|output)-power/instant", path):
            power[m[1], m[3]][int(m[2])] = float(value.strip('"'))
        elif m := re.fullmatch(r"/components/component\[name=([^\]]+)\]/(.*)", path):
            others[m[1]][m[2]] = value.strip('"')
    for port, name in module.items():
        alone = list(module.values()).count(name) == 1
        for way, metric in (("input", "optic.rx_power_dbm"), ("output", "optic.tx_power_dbm")):
            mine = [v for lane, v in power[name, way].items() if (lane in lanes[port] if lanes[port] else alone)]
            if mine:
                have[metric, port, "-"] = (min(mine), "min")
        for leaf, metric, kind, single in (("state/temperature/instant", "optic.temperature_c", float, False), ("transceiver/state/pre-fec-ber/instant", "port.pre_fec_ber", float, True),
                                           ("transceiver/state/fec-corrected-blocks", "port.fec_corrected", int, True), ("transceiver/state/fec-uncorrectable-blocks", "port.fec_uncorrectable", int, True)):
            if leaf in others[name] and (alone or not single):
                have[metric, port, "-"] = (kind(others[name][leaf]), "add")


def eos_settings(rows, have):
    """Lossless priorities as hexadecimal digits of a bitmap; thresholds of a profile, for each queue that names it."""
    for path, value in rows:
        if m := re.fullmatch(r"/qos/interfaces/interface%s/output/pfc/config/priorities-no-drop" % P, path):
            for prio in range(8):
                have["cfg.pfc_enabled", m["port"], str(prio)] = (int(value.strip('"'), 16) >> prio & 1, "add")
        elif m := re.fullmatch(r"/qos/interfaces/interface%s/output/queues/queue%s/config/queue-management-profile" % (P, Q), path):
            of = r"/qos/queue-management-profiles/queue-management-profile\[name=%s\]/wred/uniform/state/(.*)" % re.escape(value.strip('"'))
            leaves = {f[1]: told for other, told in rows if (f := re.fullmatch(of, other))}
            for leaf, metric, kind in (("enable-ecn", "cfg.ecn_enabled", {"true": 1, "false": 0}.get), ("min-threshold", "cfg.ecn_kmin_bytes", int), ("max-threshold", "cfg.ecn_kmax_bytes", int),
                                       ("max-drop-probability-percent", "cfg.ecn_pmax_ratio", lambda text: int(text) / 100), ("weight", "cfg.ecn_weight", int)):
                if leaf in leaves:
                    have[metric, m["port"], m["prio"]] = (kind(leaves[leaf]), "add")


def expected(case):
    rows, have = [], {}
    with open(os.path.join(HERE, case, "answers.tsv")) as f:
        for line in f:
            if not line.startswith("#"):
                _, path, _, value = line.rstrip("\n").split("\t")
                path = re.sub(r"/\+\[", "[", path.split(">")[-1].replace("\\/", "/"))
                whole = json.loads(value) if value.startswith("{") else {"": value}
                rows += [(path + ("/" + k.split(":")[-1] if k else ""), v) for k, v in whole.items()]
    numbers = {("pfc-queue" in p, m[1]): v for p, v in rows if (m := re.fullmatch(r"/qos/queues/(?:pfc-)?queue\[(?:name|pfc-queue-name)=([^\]]+)\](?:/state)?/queue-i(?:d|ndex)", p))}
    numbers |= {(False, m[1]): v for p, v in rows if (m := re.fullmatch(r"/qos/interfaces/interface\[[^\]]+\]/output/queues/queue\[name=([^\]]+)\]/state/id", p))}
    for path, value in rows:
        named = re.search(r"/(pfc-)?queue\[(name|queue-name|pfc-queue-name)=([A-Za-z][^\]]*)\]", path)
        if named and (bool(named[1]), named[3]) in numbers:
            path = path.replace(named[0], "/%squeue[%s=%s]" % (named[1] or "", named[2], numbers[bool(named[1]), named[3]]))
        for pattern, metric, factor, how in TABLE:
            if m := re.fullmatch(pattern, path):
                place = m.groupdict()
                prio = place.get("prio") or place.get("prio2") or "-"
                port = "pool:" + place["pool"] if "pool" in place else place.get("port", "-")
                if prio.isdigit() and int(prio) > 7:
                    port, prio = port + "#q" + prio, "-"
                number = factor.get(value, 0) if isinstance(factor, dict) else float(value) * factor if isinstance(factor, float) else int(value) * factor
                put(have, (metric, port, prio), number, how)
    optics(rows, have)
    eos_settings(rows, have)
    return {(*k, "%g" % v[0] if isinstance(v[0], float) else str(v[0])) for k, v in have.items()}


def told(case):
    ret = set()
    with open(os.path.join(HERE, case, "samples.txt")) as f:
        for line in f:
            metric, port, *rest = line.split()
            if metric not in ("self", "neighbor") and not re.search("#q[a-zA-Z]", port):  # no number: kept by its name
                ret.add((metric, port, rest[0], rest[1]))
    return ret


def main():
    bad = 0
    for case in ("cumulus-5.14", "cumulus-5.16", "eos", "junos", "junos-evo", "openconfig", "srlinux-proto"):
        want, have = expected(case), told(case)
        assert len(want) > 5, case
        for title, rows in (("only here", want - have), ("only in samples.txt", have - want)):
            for row in sorted(rows):
                print("%s: %s: %s" % (case, title, " ".join(row)))
                bad += 1
    # what docs/coverage.md calls recorded is a sample of a case of that kind of switch
    recorded = recorded_cells("gnmi")
    assert recorded
    for profile, metric in sorted(recorded):
        cases = [c for c in os.listdir(HERE) if c == profile or c.startswith(profile + "-")]
        if not any(metric == row[0] for c in cases for row in told(c)):
            print("%s: docs/coverage.md says 'gnmi R' of %s, which no case brings" % (profile, metric))
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
