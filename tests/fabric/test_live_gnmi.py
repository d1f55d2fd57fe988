#!/usr/bin/env python3
"""test_live_gnmi.py BUILD - switches that answer gNMI, through the front door: an agent that subscribes to them, SONiC's over TLS, names what is wrong; what it
stored is, second by second, what `lab record` writes for that face; the metrics are the same list; thresholds set in the lab are read back from the
switches' configuration, of all or of one; neighbours are found; nothing is left behind."""
import concurrent.futures, math, os, re, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from live_lab import Live, check, late_s, main, parse_time, wait_for

ONSET = 10
MICROSECONDS = {"pfc.rx_pause_ns", "pfc.tx_pause_ns"}  # what SONiC counts in them
MUST = {"sonic-gnmi": {"queue.ecn_marked", "pfc.rx_pause_ns", "pfc.tx_frames", "cfg.ecn_kmin_bytes", "cfg.pg_headroom_bytes", "cfg.pg_alpha_exp", "cfg.cable_m", "cfg.buffer_pool_bytes",
                       "port.pre_fec_ber", "optic.rx_power_dbm"},
        "openconfig-gnmi": {"queue.ecn_marked", "queue.watermark_bytes", "cfg.ecn_kmin_bytes"}, "cumulus-gnmi": {"queue.ecn_marked", "pfc.tx_frames", "queue.depth_bytes", "pg.shared_watermark_bytes", "pfc.rx_pause_ns",
        "pfc.tx_pause_ns", "pg.drops"}}
STATES = ("cfg.", "port.oper_up", "port.speed_bps", "port.mtu_bytes", "optic.", "port.pre_fec_ber")
LIVE_ONLY = {"cfg.pg_pool"}  # read from SONiC's buffer profiles; a recording has no names of pools
ONCE_A_MINUTE = {"pg.shared_watermark_bytes", "pg.headroom_watermark_bytes", "queue.watermark_bytes"}


class GnmiLive(Live):
    tls = False

    def argv(self):
        return [*super().argv(), *(["--tls"] if self.tls else [])]


def scenario_with_onset(here, work, name):
    """As it is, but the fault begins when the live lab's does."""
    with open(os.path.join(here, "scenarios", name + ".yaml")) as f:
        text = f.read()
    path = os.path.join(work, name + ".yaml")
    with open(path, "w") as f:
        f.write(re.sub(r"(?m)^at: .*\n", "", text) + "at: %ds\n" % ONSET)
    return path


SECONDS = 30


def record(lab, scenario, out):
    lab.run([lab.shipped, "lab", "record", "--begin", "1970-01-01T00:00:00Z", scenario, "--out", out, "--seed", str(lab.seed), "--interval", "1s", "--for", "%ds" % (SECONDS + 5), "--face", lab.face], 0)
    return out


def recorded(out):
    """{second: {(device, port, priority, metric): value}}"""
    ret = {}
    with open(os.path.join(out, "samples.tsv")) as f:
        for line in f:
            if not line.startswith("#"):
                t, device, port, priority, metric, value = line.rstrip("\n").split("\t")[:6]
                if re.fullmatch(r"\d+", value):
                    ret.setdefault(int(float(t)), {})[device, port, priority.replace("-", ""), metric] = int(value)
    return ret


def same_seconds(lab, case):
    """Every counter an agent has stored is that of its second: SONiC's are counted once a second, the others' lie between two of the recording. A value
    may be stamped in the second after it was read: some are, not many. Where many processes want the processor it may wait for as many seconds."""
    began = parse_time(lab.truth()["started"])
    compared, after, before, late = 0, 0, 0, math.ceil(late_s())
    for row in lab.sql("SELECT time, device, port, priority, metric, value FROM samples WHERE metric LIKE 'port.%' OR metric LIKE 'pfc.%'"):
        if row["metric"].startswith(STATES) or row["value"] == "":
            continue
        t = (parse_time(row["time"]) - began) / 1e9
        key = row["device"], row["port"], row["priority"], row["metric"]
        second = int(t)
        if second < 1 or t > SECONDS or key not in case.get(second, {}):
            continue
        value = int(float(row["value"])) if "." in row["value"] or "e" in row["value"] else int(row["value"])
        def fits(k):
            least, most = case[k][key], case[k + (lab.face != "sonic-gnmi")][key]
            return least - least % (1000 if row["metric"] in MICROSECONDS else 1) <= value <= most
        check(any(fits(k) for k in range(second, second - late - 1, -1) if key in case.get(k, {})), "%s at %.3f s: stored %d, recorded %d, a second before %d" % (key, t, value, case[second][key], case[second - 1][key]))
        compared += 1
        after += t > ONSET + 1
        before += not fits(second)
    check(compared > 2000 and after > 500, "only %d values compared, %d of them after the onset" % (compared, after))
    check(before < 0.25 * compared or late > 1, "%s: %d of %d values are of the second before" % (lab.face, before, compared))
    return compared


def same_metrics(lab, case):
    # What the agent keeps of itself is no part of a recorded fabric.
    stored = {row["metric"] for row in lab.sql("SELECT DISTINCT metric FROM samples WHERE metric NOT LIKE 'agent.%'")}
    missing = MUST[lab.face] - stored
    check(not missing, "%s: not stored: %s" % (lab.face, missing))
    with open(os.path.join(case, "samples.tsv")) as f:
        said = {line.split("\t")[4] for line in f if not line.startswith("#")}
    late = ONCE_A_MINUTE if lab.face == "sonic-gnmi" else set()  # the first comes after a minute
    check(said - late == stored - late - LIVE_ONLY, "%s: recorded only: %s; live only: %s" % (lab.face, said - late - stored, stored - said))


def thresholds(lab, setting, metric, before, after):
    """Set of one switch, read back there and nowhere else."""
    def read():
        return {k[0]: v for k, v in lab.latest(metric).items() if k[1] == "Ethernet1" and k[2] == "3"}
    wait_for("%s is read" % metric, lambda: set(read().values()) == {before}, 30)
    lab.lab("set", setting, "--device", "leaf2")
    wait_for("%s: %s is read back" % (lab.face, setting), lambda: read().get("leaf2") == after, 30)
    check({v for k, v in read().items() if k != "leaf2"} == {before}, "%s: %s of one switch is read on another" % (lab.face, setting))


def neighbours(lab):
    """What LLDP tells by gNMI is what the configuration declares."""
    def links(text):
        return {frozenset(m) for m in re.findall(r'a: "([\w:-]+)", b: "([\w:-]+)"', text)}
    with open(lab.config) as f:
        declared = links(f.read())
    said = lab.discover()
    switches = {x for x in links(said) if not any("host:" in e for e in x)}
    check("8 of 8 devices answered" in said and switches == {x for x in declared if not any("host:" in e for e in x)} and len(links(said)) == len(declared),
          "%s: LLDP: %d of %d links, not found: %s" % (lab.face, len(links(said)), len(declared), sorted(map(sorted, declared - links(said)))[:3]))


def named(lab):
    truth = lab.truth()
    return [i for i in lab.incidents() if i["cause"] in truth["accept"] and i["opened"] and parse_time(i["opened"]) >= parse_time(truth["onset"])]


def repaired(lab):
    """What the fault had set is set right: read back everywhere, and told."""
    lab.lab("set", "kmin=400KB")
    lab.lab("set", "kmax=1600KB")
    wait_for("Kmin is read back as set", lambda: {v for k, v in lab.latest("cfg.ecn_kmin_bytes").items() if k[2] == "3"} == {400000}, 30)
    wait_for("the incident is over", lambda: not any(i["cause"] == "ecn_late" and i["state"] == "open" for i in lab.incidents()), 90, every_s=1)


def test(build, work):
    here = os.path.dirname(os.path.abspath(__file__))
    late, off = scenario_with_onset(here, work, "ecn-late"), scenario_with_onset(here, work, "dcqcn-off")
    labs = [GnmiLive(build, os.path.join(work, f), s, face=f, at="%ds" % ONSET, seed=n)
            for f, s, n in (("sonic-gnmi", late, 1), ("openconfig-gnmi", late, 2), ("cumulus-gnmi", off, 7))]
    labs[0].tls = True
    for lab in labs[1:]:  # as it is shipped: agents that subscribe to these faces run sanitized in unit.gnmi_profiles and lab.live_nics_push
        lab.binary = lab.shipped
    cases = concurrent.futures.ThreadPoolExecutor(1)
    try:
        for lab in labs:
            lab.start()
        for lab in labs:
            lab.served()
            lab.agent()
        records = [cases.submit(record, lab, s, os.path.join(work, lab.face + ".case")) for lab, s in zip(labs, (late, late, off))]
        # The setting that changed (config_drift) may be seen first when the machine is busy; the fault itself must be named too.
        for lab, cause in ((labs[0], "ecn_late"), (labs[2], "dcqcn_off")):
            wait_for("%s: %s is named" % (lab.face, cause), lambda: cause in [i["cause"] for i in named(lab)], 90, every_s=1)
        compared = 0
        for lab, case in zip(labs, records):
            compared += same_seconds(lab, recorded(case.result()))
            same_metrics(lab, case.result())
        for lab in labs:
            neighbours(lab)
        Live.stop(labs[2:])
        for lab in labs[1::-1]:
            thresholds(lab, "pmax=0.5", "cfg.ecn_pmax_ratio", 0.2, 0.5)
        Live.stop(labs[1:])
        repaired(labs[0])
    finally:
        cases.shutdown(cancel_futures=True)
        Live.stop(labs)
    return "%d values compared" % compared


main(test, snmpd=False)
