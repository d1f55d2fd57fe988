#!/usr/bin/env python3
"""test_lab.py ROCEWATCH [--all] - the lab through the front door: scenarios can be recorded and replayed, labels are complete, the
same seed gives the same bytes, faces hold back what such a switch does not answer, faults of telemetry and settings are in the files
when they should be, and captures tell hash luck from a faulty hash. --all: every scenario with two seeds, on every face."""
import concurrent.futures, glob, json, os, re, subprocess, sys, tempfile, time

rocewatch, everything = sys.argv[1], "--all" in sys.argv
here = os.path.dirname(os.path.abspath(__file__))
work = tempfile.mkdtemp(prefix="lab-")
faces = ("full", "sonic-snmp", "nxos-snmp", "cumulus-snmp", "sonic-gnmi", "cumulus-gnmi", "openconfig-gnmi")
causes = set("""none ecmp_imbalance ecmp_polarization ecmp_low_entropy path_asymmetry uplink_overload oversubscription link_slow link_errors
link_flap missing_rail slow_receiver pfc_storm pfc_deadlock pfc_watchdog pfc_wrong_priority pfc_mismatch mtu_mismatch dscp_mismatch rocev1
cnp_starved dcqcn_off incast ecn_off ecn_late ecn_early headroom_small xon_close lossless_loss host_slow straggler slow_storage
unlucky_placement remote_capacity missing_route class_leak optic_degrading pool_exhausted ect_missing np_off cnp_lost storage_receiver
cross_rail config_drift baseline_drift device_down telemetry_gap""".split())


class Wrong(Exception):
    pass


def expect(ok, what):
    if not ok:
        raise Wrong(what)


def run(*args, code=0):
    p = subprocess.run([rocewatch, *args], capture_output=True, text=True)
    expect(p.returncode == code, f"{' '.join(args)}: exit code {p.returncode}, expected {code}\n{p.stderr[:2000]}")
    return p


def record(name, seed=1, face="full", length="10m", interval="10s", tag="", more=("--cache", os.path.join(work, "cache"))):
    """What is simulated packet by packet is the same on every face: it is kept, unless @more says what is recorded."""
    out = os.path.join(work, f"{name}-{seed}-{face}{tag}")
    run("lab", "record", "--begin", "1970-01-01T00:00:00Z", name, "--out", out, "--seed", str(seed), "--face", face, "--for", length, "--interval", interval, *more)
    return out


def incidents(case):
    return json.loads(run("replay", "--from", case, "--format", "json").stdout)["incidents"]


def truth(case):
    with open(os.path.join(case, "truth.json")) as f:
        return json.load(f)


def samples(case):
    with open(os.path.join(case, "samples.tsv")) as f:
        return [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]


def metrics(case):
    return {row[4] for row in samples(case)}


def series(case, metric, device, port=None, priority="-"):
    return [(float(r[0]), r[5]) for r in samples(case) if r[4] == metric and r[1] == device and r[3] == priority and port in (None, r[2])]


def forget(case):
    subprocess.run(["rm", "-rf", case], check=True)


def check_label(name, t):
    where = f"{name}: truth.json: "
    for key in ("scenario", "title", "seed", "face", "cause", "accept", "severity", "onset_s", "end_s", "faults", "subject", "policy", "step_s", "lost_ratio", "usd_per_hour"):
        expect(key in t, where + f"no {key}")
    expect(t["cause"] in causes and set(t["accept"]) <= causes and t["cause"] in t["accept"], where + f"cause {t['cause']}, accept {t['accept']}")
    expect(set(t["policy"]) == {"congestion", "load_balancing"}, where + "policy")
    expect((t["cause"] == "none") == (t["severity"] is None), where + f"severity {t['severity']} of cause {t['cause']}")
    expect(t["cause"] == "none" or (t["faults"] and 0 <= t["onset_s"] <= t["end_s"] <= max(t["length_s"], t["onset_s"])), where + "no fault, or one that ends before it begins")
    for f in t["faults"]:
        for key in ("kind", "cause", "accept", "severity", "subject", "device", "port", "host", "group", "priority", "onset_s", "end_s"):
            expect(key in f, where + f"fault without {key}")
        expect(f["cause"] in causes and f["cause"] in f["accept"] and set(f["accept"]) <= causes, where + f"fault of cause {f['cause']}, accept {f['accept']}")
        expect(f["severity"] in ((None,) if f["cause"] == "none" else ("info", "warning", "critical")), where + f"severity {f['severity']}")
        needs = {"host": "host", "uplink": "port", "uplinks": "group", "device": "device"}.get(f["subject"])
        expect(needs is None or f[needs] or (f["kind"] == "low_entropy" and needs == "group"), where + f"{f['kind']} at a {f['subject']}, but no {needs}")


def one_scenario(job):
    name, seed, face, length, interval = job
    case = record(name, seed, face, length, interval, tag="s")
    check_label(name, truth(case))
    incidents(case)
    forget(case)


def in_parallel(function, jobs):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(function, jobs))


def test_all_scenarios():
    expect(len(names) > 45, f"only {len(names)} scenarios")
    if everything:
        in_parallel(one_scenario, [(n, seed, face, "5m", "10s") for n in names for seed in (1, 2) for face in faces])
    else: # every fourth one; all were parsed for the list. Seeds and faces take turns
        in_parallel(one_scenario, [(n, 1 + i % 2, faces[i % 5], "5m", "1m") for i, n in enumerate(names[::4])])


def test_ecmp_is_found():
    for seed in (1, 2, 3):
        case = record("ecmp-stuck", seed, face=faces[seed])
        where = truth(case)["faults"][0]["device"]
        found = [i for i in incidents(case) if i["cause"] == "ecmp_imbalance"]
        expect(any(i["subject"]["device"] == where and i["subject"]["group"] == "uplinks" for i in found), f"ecmp-stuck, seed {seed}: not found at {where}")


def test_healthy_is_quiet():
    for name in ("healthy", "healthy-shuffle", "checkpoint", "counter-reset"):
        for face in ("full", "sonic-snmp"):
            got = [i["cause"] for i in incidents(record(name, face=face, interval="20s")) if i["severity"] != "info" and i["cause"] != "unknown"]
            expect(not got, f"{name}, face {face}: {got}")


def test_same_seed_same_bytes():
    a, b = (record("incast", 7, length="5m", interval="20s", tag=tag, more=("--packets",)) for tag in "ab")
    files = sorted(os.listdir(a))
    expect(files == sorted(os.listdir(b)) and "capture.yaml" in files and any(f.startswith("burst-") for f in files), f"files {files}")
    for name in files:
        with open(os.path.join(a, name), "rb") as x, open(os.path.join(b, name), "rb") as y:
            expect(x.read() == y.read(), f"{name} differs between two recordings of one seed")


def test_faces():
    """full answers every metric of the table but those that this model has not; the others what their agents have."""
    with open(os.path.join(here, "../../db/model/metric.def")) as f:
        known = set(re.findall(r'^METRIC\(\w+, "([^"]+)"', f.read(), re.M))
    known = {m for m in known if not m.startswith("agent.")} # the agent's own, of no switch
    not_modelled = {"pfc.rx_pause_ns_hi", "pfc.tx_pause_ns_hi",            # full has the measured time
                    "cfg.pg_xoff_level_bytes", "cfg.pg_xon_level_bytes",   # static thresholds; the model's are dynamic
                    "cfg.cell_bytes", "pool.headroom_watermark_bytes",     # the model counts bytes, and each port has its own headroom
                    "pfcwd.storms", "pfcwd.restores", "pfcwd.drops", "cfg.pfcwd_detect_ms", "cfg.pfcwd_restore_ms", "cfg.pfcwd_action"} # only where there is a watchdog
    not_modelled |= {m for m in known if m.startswith("nic.") or "trim" in m or ".llr_" in m} # NICs, trimming and link layer retry
    not_modelled |= {"port.ecn_marked",                            # this model's are of each queue
                     "port.pfc_drops", "port.fec_flr", "port.fec_flr_predicted", "port.fec_symbol_errors", "port.post_fec_ber", "cfg.pg_size_bytes", "cfg.pg_pool",
                     "cfg.pool_headroom_bytes", "cfg.ecn_relative", "cfg.ecn_kmin_ratio", "cfg.ecn_kmax_ratio", "cfg.cbfc_enabled"}
    got = metrics(record("incast", length="1m"))
    expect(got <= known and known - got <= not_modelled, f"full: unknown {got - known}, absent {known - got - not_modelled}")
    snmp_never = {m for m in known if m.startswith("cfg.")} | {"port.fec_corrected", "port.pre_fec_ber", "port.flaps", "pfc.rx_transitions", "queue.depth_bytes"}
    absent = {"sonic-snmp": snmp_never | {"queue.ecn_marked", "queue.wred_drops", "queue.watermark_bytes", "pg.shared_watermark_bytes", "pool.watermark_bytes", "pfc.rx_pause_ns",
                                          "pfc.tx_pause_ns", "pg.drops", "port.fcs_errors", "port.in_pause_frames", "pfcwd.storms"},
              "nxos-snmp": (snmp_never - {"cfg.pg_headroom_bytes"}) | {"queue.ecn_marked", "pg.drops", "queue.watermark_bytes", "pool.watermark_bytes", "optic.rx_power_dbm"},
              "cumulus-snmp": snmp_never | {"pfc.rx_pause_ns", "pfc.tx_pause_ns", "queue.watermark_bytes", "pg.shared_watermark_bytes", "port.fcs_errors", "optic.rx_power_dbm"},
              "sonic-gnmi": {"pfc.tx_pause_ns", "port.flaps", "cfg.hash_fields", "cfg.hash_seed", "cfg.lb_mode", "pfc.rx_transitions", "pg.drops", "pool.watermark_bytes", "cfg.trust",
                             "cfg.dscp_to_prio", "cfg.prio_to_pg"},
              "cumulus-gnmi": {m for m in known if m.startswith(("cfg.", "optic."))} | {"port.pre_fec_ber"},
              "openconfig-gnmi": {m for m in known if m.startswith(("pfc.", "pg.", "pfcwd.", "optic.", "cfg.pg_"))} | {"queue.wred_drops", "queue.depth_bytes"}}
    for face, never in absent.items():
        got = metrics(record("incast", face=face, length="1m"))
        expect(not got & never, f"{face} answers {got & never}")
        expect("pfc.tx_frames" in got or face == "openconfig-gnmi", f"{face}: PFC frames are missing")
        expect(("pfc.tx_pause_ns" in got or "pfc.tx_pause_ns_hi" in got) == (face.endswith("snmp") or face == "cumulus-gnmi"), f"{face}: pause time that it has not, or none")
        expect("queue.ecn_marked" in got if "gnmi" in face else True, f"{face}: no ECN marks")
    watched = metrics(record("pfc-watchdog", length="1m", interval="30s"))
    expect({m for m in not_modelled if "pfcwd" in m} <= watched, "a watchdog that says nothing")
    gnmi = record("incast", face="sonic-gnmi", length="4m")
    peaks = series(gnmi, "queue.watermark_bytes", "leaf1", "Ethernet1", "3")
    expect(len(peaks) == 4 and all(r[7] == "120.000" for r in samples(gnmi) if r[4] == "queue.watermark_bytes"), f"sonic-gnmi: {len(peaks)} peaks of a minute in four minutes")


def test_settings_change_in_time():
    case = record("config-drift", length="5m")
    f = truth(case)["faults"][0]
    kmin = series(case, "cfg.ecn_kmin_bytes", f["device"], "Ethernet1", "3")
    expect(len(kmin) == 2 and kmin[0][0] < 1 and f["onset_s"] <= kmin[1][0] < f["onset_s"] + 11 and float(kmin[1][1]) < float(kmin[0][1]), f"config-drift: {kmin}")
    case = record("mtu-mismatch", length="5m", interval="30s")
    f = truth(case)["faults"][0]
    expect([v for _, v in series(case, "port.mtu_bytes", f["device"], f["port"])][1:] != [] and
           [v for _, v in series(case, "port.mtu_bytes", f["peer_device"], f["peer_port"])] == ["9216"], "mtu-mismatch: not at one end")
    case = record("dscp-mismatch", length="6m", interval="20s")
    f = truth(case)["faults"][0]
    maps = [v for _, v in series(case, "cfg.dscp_to_prio", f["device"], "Ethernet1")]
    moved = [sum(float(r[5]) for r in samples(case) if r[1] == f["device"] and r[3] == "0" and r[4] == "queue.out_octets" and a <= float(r[0]) < a + 20) for a in (200, 340)]
    expect(maps == ["26:3,48:6", "48:6"] and moved[0] == 0 and moved[1] > 1e9, f"dscp-mismatch: {maps}, best effort {moved}")
    case = record("pfc-only", length="1m")
    expect({r[5] for r in samples(case) if r[4] == "cfg.ecn_enabled"} == {"0"} and truth(case)["policy"]["congestion"] == "pfc_only", "pfc-only marks")
    with open(os.path.join(case, "fabric.yaml")) as f:
        expect("congestion: pfc_only" in f.read(), "pfc-only: fabric.yaml does not say so")


def test_links_and_devices():
    case = record("optic-degrading", length="25m", interval="30s")
    f = truth(case)["faults"][0]
    power = [float(v) for _, v in series(case, "optic.rx_power_dbm", f["device"], f["port"])]
    errors = [float(v) for _, v in series(case, "port.in_errors", f["device"], f["port"])]
    corrected = [float(v) for _, v in series(case, "port.fec_corrected", f["device"], f["port"])]
    expect(power[0] - power[-1] > 5 and errors[0] == errors[-1] and corrected[-1] - corrected[-2] > 10 * (corrected[1] - corrected[0]), "optic-degrading: no trend, or frames lost")
    case = record("link-flap", length="7m", interval="5s")
    f = truth(case)["faults"][0]
    flaps = [int(v) for _, v in series(case, "port.flaps", f["device"], f["port"])]
    states = [v for _, v in series(case, "port.oper_up", f["device"], f["port"])]
    expect(flaps[0] == 0 and flaps[-1] >= 4 and states[:3] == ["1", "0", "1"], f"link-flap: {flaps[-1]} transitions, states {states[:6]}")
    expect(series(case, "port.flaps", f["peer_device"], f["peer_port"])[-1][1] == str(flaps[-1]), "link-flap: the other end saw something else")
    case = record("device-down", length="6m", interval="20s")
    f = truth(case)["faults"][0]
    expect(max(float(r[0]) for r in samples(case) if r[1] == f["device"]) < f["onset_s"] and
           any(v == "0" for _, v in series(case, "port.oper_up", "leaf1")), "device-down: it answers, or its neighbours see nothing")
    case = record("switch-reboot", interval="20s")
    f = truth(case)["faults"][0]
    back = [r for r in samples(case) if r[1] == f["device"] and float(r[0]) >= f["end_s"] and r[4] == "port.out_octets"]
    expect(back[0][6] == "restart" and int(back[0][5]) == 0 and all(len(r) < 7 for r in back[40:]), "switch-reboot: counters do not begin again")


def test_jobs():
    case = record("job-end", length="12m", interval="20s", face="cumulus-snmp")
    t = truth(case)
    octets = series(case, "port.out_octets", "leaf1", "Ethernet1")
    late, early = [int(v) for at, v in octets if at > t["onset_s"] + 30], [int(v) for at, v in octets if at < t["onset_s"] - 30]
    expect(t["cause"] == "none" and late[0] == late[-1] and early[-1] > early[0] + 1e9, "job-end: the fabric does not fall idle")
    case = record("missing-rail", length="8m", interval="20s", face="cumulus-snmp")
    f = truth(case)["faults"][0]
    silent = [[int(v) for at, v in series(case, "port.in_octets", d, f["port"]) if at > f["onset_s"] + 30] for d in ("su%s-rail0" % f["device"][2], "su%s-rail1" % f["device"][2])]
    expect(f["devices"] == [f["device"]] and silent[0][-1] - silent[0][0] < 1e6 < silent[1][-1] - silent[1][0], "missing-rail: not one rail of several")


def test_two_faults():
    for name in [n for n in names if n.startswith("two-") and n not in ("two-jobs", "two-classes")]:
        t = truth(record(name, length="5m", interval="30s"))
        expect(len(t["faults"]) == 2 and len({f["cause"] for f in t["faults"]}) == 2, f"{name}: {[f['cause'] for f in t['faults']]}")
        expect(t["cause"] in {f["cause"] for f in t["faults"]}, f"{name}: {t['cause']} is none of its faults")


def test_captures():
    """At the leaf whose uplinks are mirrored the number of effective flows is known, and with it luck and fault are told apart."""
    for name, seed, flows, right in (("ecmp-stuck", 1, 128, {"ecmp_imbalance"}), ("ecmp-fields", 2, 128, {"ecmp_imbalance"}), ("low-entropy", 1, 8, {"ecmp_low_entropy"}),
                                     ("unlucky-placement", 2, None, {"unlucky_placement", "ecmp_low_entropy"})):
        case = record(name, seed, "nxos-snmp", interval="20s", more=("--packets",), tag="p")
        with open(os.path.join(case, "capture.yaml")) as f:
            leaf = re.search(r'port: "([^:"]+):', f.read()).group(1)
        found = [i for i in incidents(case) if i["subject"]["device"] == leaf and i["subject"]["group"] == "uplinks"]
        expect(found and {i["cause"] for i in found} <= right, f"{name}, seed {seed}: {[i['cause'] for i in found]} at {leaf}, expected {right}")
        n_eff = [e["value"] for i in found for e in i["evidence"] if e["metric"] == "ecmp.flows_effective"]
        expect(n_eff and (flows is None or abs(n_eff[0] / flows - 1) < 0.1), f"{name}, seed {seed}: {n_eff} effective flows, expected {flows}")
        size = sum(os.path.getsize(p) for p in glob.glob(case + "/capture-*.pcap"))
        expect(1e5 < size < 20e6, f"{name}: {size} bytes of captures")
        for path in sorted(glob.glob(case + "/*.pcap"))[7:9]: # the last burst, the first sampled one
            p = json.loads(run("pcap", path, "--format", "json").stdout)
            expect(p["packets"] == p["roce_packets"] > 0 and p["icrc"]["bad"] == 0 and not p["errors"], f"{path}: {p['packets']} packets, {p['icrc']}, {p['errors']}")
    seen = dict.fromkeys(("gaps", "nak", "retransmits", "cnp", "ce"), 0)
    for name in ("dirty-optic", "incast"):
        case = record(name, 1, length="5m", interval="30s", more=("--packets",), tag="p")
        for path in sorted(glob.glob(case + "/burst-*.pcap"), key=lambda p: (not p.endswith("-in.pcap"), p)):
            p = json.loads(run("pcap", path, "--format", "json").stdout)
            for key in seen:
                seen[key] += p["ecn"]["ce"] if key == "ce" else p[key]
            if all(seen.values()):
                return
    expect(False, f"bursts of a dirty optic and an incast: {seen}")


def test_stories():
    half = truth(record("ecmp-half", length="20m", interval="60s"))
    expect(abs(half["lost_ratio"] - 450 / 2100) < 1e-4 and abs(half["usd_per_hour"] * 96 - 157988.57) < 10, f"the 21.4 % story: {half}")
    node = truth(record("node-047", length="20s"))
    expect(abs(node["step_in_fault_s"] - node["step_s"] - 0.028) < 1e-6 and abs(node["usd_per_hour"] - 955.73) < 0.01 and
           node["faults"][0]["host"] == "node-047" and len(node["faults"][0]["devices"]) == 8, f"the story of node-047: {node}")


# What the families of wrong thresholds promise: what is seen with them, and that other thresholds cure it without a longer step.
FAMILIES = [("tune-late-gather", ("alpha=1/4", "kmin=800KB", "kmax=3200KB"), "host_pause_ratio", 0.03), ("tune-late-storage", ("kmin=800KB", "kmax=3200KB"), "host_pause_ratio", 0.03),
            ("tune-late-shuffle", ("alpha=1/8",), "host_pause_ratio", 0.03), ("tune-alpha-small", ("alpha=1/8",), "host_pause_ratio", 0.003),
            ("tune-alpha-storage", ("alpha=1/4",), "host_pause_ratio", 0.03), ("tune-early", ("kmin=800KB", "kmax=3200KB"), "marks_ratio", 0.05),
            ("tune-early-gather", ("kmin=800KB", "kmax=3200KB"), "marks_ratio", 0.02), ("tune-headroom-small", ("headroom=300KB",), "lossless_drops", 10),
            ("tune-one-leaf", ("leaf4:kmin=800KB", "leaf4:kmax=3200KB"), "host_pause_ratio", 0.003)]


def seen(t, key="outcome"):
    return t[key]["fault"] or t[key]["ok"]


def test_thresholds():
    def one(family):
        name, sets, metric, least = family
        wrong, cured = (seen(truth(record(name, 2, length="20s", tag=tag, more=more))) for tag, more in (("w", ()), ("c", ("--set", ",".join(sets)))))
        expect(wrong[metric] > least and cured[metric] < 0.2 * wrong[metric] and cured["lossless_drops"] == 0, f"{name}: {metric} {wrong[metric]}, cured {cured[metric]}")
        expect(cured["step_s"] < 1.03 * wrong["step_s"] and cured["victim_p99_us"] < 1.05 * wrong["victim_p99_us"], f"{name}: cured is worse: {wrong}, {cured}")
    in_parallel(one, FAMILIES)
    for name in ("tune-good", "tune-good-storage"):
        o = seen(truth(record(name, 2, length="20s")))
        expect(o["host_pause_ratio"] < 0.001 and o["marks_ratio"] < 0.02, f"{name}: {o}")
    case = record("tune-late-storage", 2, length="10m", more=("--set-at", "5m", "--set", "kmin=800KB,kmax=3200KB,leaf2/hosts:alpha=1/4"))
    t = truth(case)
    kmin = [(at, v) for at, v in series(case, "cfg.ecn_kmin_bytes", "leaf1", "Ethernet1", "3")]
    alpha = {(p, v) for p in ("Ethernet1", "Ethernet9") for at, v in series(case, "cfg.pg_alpha_exp", "leaf2", p, "3") if at > 300}
    expect(len(kmin) == 2 and 300 <= kmin[1][0] < 301 and kmin[1][1] == "800000" and ("Ethernet1", "-2") in alpha and ("Ethernet9", "-2") not in alpha, f"--set-at: {kmin}, {alpha}")
    before, after = seen(t), seen(t, "outcome_after")
    expect(t["changed_s"] == 300 and after["step_recorded_mean_s"] < 0.95 * before["step_recorded_mean_s"] and before["steps_recorded"] > 600 < after["steps_recorded"],
           f"--set-at: {before}, {after}")
    more = seen(truth(record("tune-late-storage", 2, length="20s", tag="m", more=("--senders", "+1", "--load", "1.2"))))
    expect(more["slice_us"] > 1.15 * before["slice_us"], f"a fifth more to send: {more['slice_us']} us after {before['slice_us']}")
    for bad in ("kmin=5", "kmin=9GB", "colour=red", "leaf9:kmin=1MB", "kmin", "kmin=20MB"):
        run("lab", "record", "--begin", "1970-01-01T00:00:00Z", "tune-good", "--out", work + "/x", "--for", "20s", "--set", bad, code=2)
    run("lab", "record", "--begin", "1970-01-01T00:00:00Z", "tune-good", "--out", work + "/x", "--for", "20s", "--set-at", "10s", code=2)


def test_mistakes():
    expect("did you mean 'incast'" in run("lab", "record", "incats", "--out", work + "/x", code=2).stderr, "no hint for a misspelt scenario")
    run("lab", "record", "healthy", code=2)
    dated = work + "/dated"
    run("lab", "record", "healthy", "--out", dated, "--for", "20s")
    with open(dated + "/samples.tsv") as f:
        first = next(float(line.split("\t")[0]) for line in f if line[0].isdigit())
    expect(1767571200 <= first < 1767571201, "a recording begins at %s, not on 2026-01-05" % first)
    expect(json.load(open(dated + "/truth.json"))["started"] == "2026-01-05T00:00:00.000Z", "truth.json does not say when the recording began")
    run("lab", "record", "healthy", "--out", dated, "--begin", "soon", code=2)
    run("lab", "record", "healthy", "--out", work + "/x", "--face", "ios", code=2)
    run("lab", "nonsense", code=2)


names = [line.split()[0] for line in run("lab", "list").stdout.splitlines()]
wrong = []
for test in [v for k, v in list(globals().items()) if k.startswith("test_")]:
    began = time.monotonic()
    try:
        test()
        if everything:
            print(f"{test.__name__}: {time.monotonic() - began:.1f} s")
    except Wrong as e:
        wrong.append(f"{test.__name__}: {e}")
        print(wrong[-1], file=sys.stderr)
forget(work)
print(f"{len(names)} scenarios, {len(wrong)} tests failed")
sys.exit(1 if wrong else 0)
