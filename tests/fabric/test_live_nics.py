#!/usr/bin/env python3
"""NIC counters beside those of switches, live: a lab whose NICs push as NVIDIA's DTS does, over OTLP, or whose hosts show them as node_exporter
does. The host that ignores CNPs is named with a confidence of 0.95 at least, and its evidence is what its NIC and the receivers' NICs counted.

    test_live_nics.py BUILD push|scrape"""
import json, os, shutil, sys, tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from live_lab import Failed, Live, check, wait_for

SURE = 0.95


class Pushed(Live):
    def argv(self):
        return [*super().argv(), "--" + sys.argv[2]]


def nics(lab):
    return {(r["device"], r["port"]) for r in lab.sql("SELECT DISTINCT device, port FROM samples WHERE metric = 'nic.cnp_sent'")}


def found(lab, host):
    for incident in lab.incidents():
        whole = json.loads(lab.rocewatch("incident", "show", incident["id"], "--format", "json"))
        whole = whole.get("incident", whole)
        cause = whole.get("cause") or whole.get("root_cause")
        if isinstance(cause, dict):
            cause = cause.get("name") or cause.get("cause")
        if cause == "dcqcn_off" and host in json.dumps(whole.get("subject", whole)):
            return whole
    return None


def main():
    directory = tempfile.mkdtemp(prefix="rocewatch-nics-")
    lab = Pushed(sys.argv[1], os.path.join(directory, "lab"), "dcqcn-off", face="cumulus-gnmi", at="15s", checked=True)
    try:
        lab.start()
        lab.served()
        lab.agent()
        sources = {r["source"] for r in lab.sql("SELECT DISTINCT source FROM samples WHERE metric LIKE 'nic.%'")}
        check(sources <= {sys.argv[2]}, "values of NICs come from %s" % sources)
        told = wait_for("NICs of all hosts are stored", lambda: nics(lab), 60)
        wait_for("... of all", lambda: len(nics(lab)) >= 16, 60)
        host = lab.truth()["faults"][0]["host"]
        check(host, "truth.json names no host")
        whole = wait_for("dcqcn_off of %s" % host, lambda: found(lab, host), 120, 1)
        wait_for("its confidence", lambda: (found(lab, host) or {}).get("confidence_ratio", 0) >= SURE, 60, 1)
        whole = found(lab, host)
        metrics = {(e.get("metric"), e.get("device")) for e in whole.get("evidence", [])}
        for metric in ("nic.cnp_handled", "nic.cnp_ignored"):
            check((metric, host) in metrics, "%s of %s is no evidence: %s" % (metric, host, sorted(metrics, key=str)))
        check(any(m == "nic.cnp_sent" and d not in (None, host) for m, d in metrics), "no receiver's nic.cnp_sent among the evidence")
        print("%s: dcqcn_off, confidence %s, %d NICs" % (host, whole.get("confidence_ratio"), len(told)))
    except Failed as e:
        print("FAILED: %s" % e)
        for log in (lab.dir + ".lab.log", lab.dir + ".agent.log"):
            if os.path.exists(log):
                print("--- %s\n%s" % (log, "".join(open(log, errors="replace").readlines()[-15:])))
        return 1
    finally:
        Live.stop([lab])
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
