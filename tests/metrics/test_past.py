#!/usr/bin/env python3
"""test_past.py BUILD [live] - history of another database becomes a case that is judged as the samples themselves are.

Without a word: a server of the test's own (past_server.py) has a recorded case, and answers rightly, wrongly, or not to the end. live: Debian's
snmp_exporter and prometheus watch a live lab beside an agent of ours; what is imported tells the cause and the place that the agent told. 77: they
are not installed here."""
import json, os, re, shutil, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "schema"), os.path.join(os.path.dirname(HERE), "fabric")]
from live_lab import Live, check, main, parse_time, wait_for  # noqa: E402
from past_server import Server, series_of  # noqa: E402
from patience import HANG_S  # noqa: E402
from ports import free_port  # noqa: E402

WRONG = {  # what the server answers to its nth question, and what is said of it
    "cut": (lambda n, body: (200, body[:len(body) // 2]), ["was cut", "goes on there"]), "page": (lambda n, body: (200, "<html>log in</html>"), ["is no JSON"]),
    "part": (lambda n, body: (200, body[:-1] + ', "warnings": ["a store\\u001b[31m is away"]}'), ["is not whole: a store [31m is away"]),
    "other": (lambda n, body: (200, '{"status": "success", "data": {"resultType": "vector", "result": []}}'), ["no matrix of raw samples"]),
    "back": (lambda n, body: (200, body.replace("]]", '], [1, "2"]]')), ["times of a series go back"]), "word": (lambda n, body: (200, body.replace('"0"', '"0x10"')), ["a value is no number"]),
    "long": (lambda n, body: (200, " " * (9 << 20)), ["longer than what is read of it", "even for a minute", "--match"]), "log-in": (lambda n, body: (401, "who?"), ["wants a log-in", "--token-file"]),
    "busy": (lambda n, body: (422, '{"status": "error", "error": "too many samples"}'), ["it says: too many samples", "--match"]),
    "nothing": (lambda n, body: (200, '{"status": "success", "data": {"resultType": "matrix", "result": []}}'), ["has no series of profile snmp_exporter"]),
    "secret": (lambda n, body: (400, '{"status": "error", "error": "token hunter2-hunter2 is bad"}'), ["token *"])}


class Import:
    def __init__(self, build, work, fabric):
        self.binary, self.work, self.fabric, self.n = os.path.join(os.path.realpath(build), "rocewatch"), work, fabric, 0

    def run(self, *words, code=0):
        p = subprocess.run([self.binary, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)
        check(p.returncode == code and "hunter2" not in p.stdout + p.stderr, "%s: exit %d, expected %d: %s" % (" ".join(words), p.returncode, code, p.stderr))
        return p.stdout if code == 0 else p.stderr

    def past(self, api, url, profile, *words, out=None, code=0):
        self.n += 1
        out = out or os.path.join(self.work, "out%d" % self.n)
        said = self.run("import", api, url, "--profile", profile, "--fabric", self.fabric, "--out", out, "--rate", "1000", "--format", "json", *words, code=code)
        return (json.loads(said), out) if code == 0 else said

    def told(self, case):
        incidents = json.loads(self.run("replay", "--from", case, "--format", "json"))["incidents"]
        return sorted((i["cause"], i["subject"]["device"], i["subject"]["port"], i["subject"]["host"], i["severity"], i["opened"]) for i in incidents)


def numbers(case):
    with open(os.path.join(case, "samples.tsv")) as f:
        return {(float(time), *rest[:4], float(rest[4])) for time, *rest in (line.split("\t") for line in f if not line.startswith("#"))}


def test(build, work):
    from schemas import Schemas
    (case, token, again), schemas, compared = (os.path.join(work, name) for name in ("case", "token", "again")), Schemas(build), 0
    imports = Import(build, work, os.path.join(case, "fabric.yaml"))
    imports.run("lab", "record", "pfc-storm", "--face", "nxos", "--interval", "10s", "--out", case)
    with open(token, "w") as f:
        f.write("hunter2-hunter2\n")
    asked = ("--since", "2026-01-05T00:00:00Z", "--until", "2026-01-05T02:00:00Z", "--token-file", token)
    for api, profile in (("prometheus", "snmp_exporter"), ("victoria", "rocewatch"), ("victoria", "snmp_exporter")):
        series, kept = series_of(case, profile)
        server, part = Server(series), os.path.join(work, "%s-%s" % (api, profile))
        doc, out = imports.past(api, server.url, profile, *asked)
        check(not schemas.mistakes("import-" + api, doc), "schema: %s" % schemas.mistakes("import-" + api, doc))
        shutil.copytree(case, part)
        with open(os.path.join(part, "samples.tsv"), "w") as f:
            f.writelines(kept)
        check(numbers(out) == numbers(part), "%s of %s: %d samples differ" % (profile, api, len(numbers(out) ^ numbers(part))))
        check(imports.told(out) == imports.told(part) and imports.told(out)[0][0] == "pfc_storm", "told %s, expected %s" % (imports.told(out), imports.told(part)))
        check(all(login == "Bearer hunter2-hunter2" for _, login in server.asked), "the token was not sent")
        compared += doc["samples"]
    with open(os.path.join(out, "samples.tsv")) as f:
        check({line.split("\t")[4] for line in f if "wrap32" in line} == {"port.in_errors", "port.out_errors", "port.in_discards", "port.out_discards"}, "counters of 32 bits")
    check("queue.out_octets" not in {row["metric"] for row in doc["rows"]} and any("ECN marks" in note and "ecn_late" in note for note in doc["notes"]), "absent counters: %s" % doc["notes"])
    # one that ends in between goes on, asks for nothing twice, and has the same samples
    server = Server(series, lambda n, body: (500, "") if n == 2 else (200, body))
    check("goes on there" in imports.past("prometheus", server.url, "snmp_exporter", *asked, out=again, code=1), "nothing is said of going on")
    with open(os.path.join(again, "samples.tsv"), "a") as f:
        f.write("half a li")
    imports.past("prometheus", server.url, "snmp_exporter", *asked, out=again)
    begins = [begin for begin, _ in server.asked]
    check(begins[1] == begins[2] and sorted(set(begins)) == begins[:1] + begins[2:] and numbers(again) == numbers(out), "asked %s" % server.asked)
    check("another question" in imports.past("prometheus", server.url, "gnmic", *asked, out=again, code=1), "another profile into the same directory")
    for name, (wrong, words) in WRONG.items():
        server = Server(series, wrong)
        said = imports.past("prometheus", server.url, "snmp_exporter", *asked, code=1)
        check(server.url in said and all(word in said for word in words) and "\x1b" not in said, "%s: %s" % (name, said))
    for words in (["http://u:hunter2@127.0.0.1:9", "snmp_exporter"], ["127.0.0.1:9", "snmp_exporter"], ["http://127.0.0.1:9", "no-such"], ["http://127.0.0.1:9", "snmp_exporter", "--rate", "0"]):
        imports.past("prometheus", *words, code=2)
    check("127.0.0.1:9" in imports.past("prometheus", "http://127.0.0.1:9", "snmp_exporter", code=1), "a server that is not there")
    return "%d samples compared, %d wrong answers refused" % (compared, len(WRONG))


# --- live: snmp_exporter and prometheus on a lab ---

COLUMNS = {"ifOperStatus": "1.3.6.1.2.1.2.2.1.8", "ifInErrors": "1.3.6.1.2.1.2.2.1.14", "ifOutDiscards": "1.3.6.1.2.1.2.2.1.19", "ifHCInOctets": "1.3.6.1.2.1.31.1.1.1.6",
           "ifHCInUcastPkts": "1.3.6.1.2.1.31.1.1.1.7", "ifHCOutOctets": "1.3.6.1.2.1.31.1.1.1.10", "ifHCOutUcastPkts": "1.3.6.1.2.1.31.1.1.1.11", "ifHighSpeed": "1.3.6.1.2.1.31.1.1.1.15",
           "cpfcIfPriorityRequests": "1.3.6.1.4.1.9.9.813.1.2.1.2", "cpfcIfPriorityIndications": "1.3.6.1.4.1.9.9.813.1.2.1.3",
           "cpfcIfPriorityWaitRx": "1.3.6.1.4.1.9.9.813.1.4.1.2", "cpfcIfPriorityWaitTx": "1.3.6.1.4.1.9.9.813.1.4.1.3"}


def module(name, community):
    """snmp.yml of snmp_exporter 0.21, as its generator writes it."""
    port = "{ labels: [ifIndex], labelname: ifName, oid: 1.3.6.1.2.1.31.1.1.1.1, type: DisplayString }"
    index = ("{ labelname: ifIndex, type: gauge }", ", { labelname: cpfcIfPriorityValue, type: gauge }")
    metrics = ["  - { name: %s, oid: %s, type: %s, indexes: [%s], lookups: [%s] }" % (m, oid, "gauge" if m in ("ifOperStatus", "ifHighSpeed") else "counter",
               index[0] + (index[1] if m.startswith("cpfc") else ""), port) for m, oid in COLUMNS.items()]
    return "%s:\n  walk: [%s, 1.3.6.1.2.1.31.1.1.1.1]\n  version: 2\n  auth: { community: %s }\n  metrics:\n%s\n" % (name, ", ".join(COLUMNS.values()), community, "\n".join(metrics))


def watched(work, labs, started):
    """Starts both on the switches of all @labs. Returns the address of prometheus."""
    exporter, prometheus = "127.0.0.1:%d" % free_port(), "127.0.0.1:%d" % free_port()
    with open(os.path.join(work, "snmp.yml"), "w") as f:
        f.writelines(module(lab.scenario, open(os.path.join(lab.dir, "community")).read().strip()) for lab in labs)
    with open(os.path.join(work, "prometheus.yml"), "w") as f:
        json.dump({"scrape_configs": [{"job_name": lab.scenario, "metrics_path": "/snmp", "params": {"module": [lab.scenario]}, "scrape_interval": "3s", "scrape_timeout": "3s",
                   "static_configs": [{"targets": re.findall(r'"(127[.0-9]+:1161)"', open(lab.config).read())}], "relabel_configs": [
                   {"source_labels": ["__address__"], "target_label": "__param_target"}, {"source_labels": ["__param_target"], "target_label": "instance"},
                   {"target_label": "__address__", "replacement": exporter}]} for lab in labs]}, f)
    for argv in (["prometheus-snmp-exporter", "--config.file=snmp.yml", "--web.listen-address=" + exporter],
                 ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=tsdb", "--web.listen-address=" + prometheus, "--log.level=warn"]):
        with open(os.path.join(work, argv[0] + ".log"), "w") as out:
            started.append(subprocess.Popen(argv, cwd=work, stdin=subprocess.DEVNULL, stdout=out, stderr=out))
    return "http://" + prometheus


def live(build, work):
    causes = {"pfc-storm": "pfc_storm", "link-100g": "link_slow"}
    labs, started = [Live(build, os.path.join(work, name), name, face="nxos", at="20s", seed=2 + i) for i, name in enumerate(causes)], []
    try:
        for lab in labs:
            lab.start()
        for lab in labs:
            lab.served()
            lab.unhurried()
            lab.agent()
        url = watched(work, labs, started)
        for lab in labs:
            cause = causes[lab.scenario]
            native = wait_for("the agent's incident", lambda: [i for i in lab.incidents() if i["cause"] == cause and i["opened"]], 120, every_s=2)[0]
            until = parse_time(native["opened"]) + 30 * 10**9
            wait_for("half a minute more", lambda: lab.newest() > until, 90, every_s=2)
            imports = Import(build, lab.dir, lab.config)
            doc, out = imports.past("prometheus", url, "snmp_exporter", "--since", "1h")
            found, place = [i for i in imports.told(out) if i[0] == cause], tuple(native["subject"][k] for k in ("device", "port", "host"))
            check(found and found[0][1:4] == place, "imported: %s, the agent told %s; notes: %s" % (imports.told(out), native["subject"], doc["notes"]))
            check({i[0] for i in imports.told(out)} <= {i["cause"] for i in lab.incidents()}, "told what the agent does not: %s" % imports.told(out))
            print("%s: %d samples, %s at %s" % (lab.scenario, doc["samples"], cause, place), flush=True)
        return "%d labs" % len(labs)
    finally:
        for process in started:
            process.terminate()
            process.wait(HANG_S)
        Live.stop(labs)


if sys.argv[2:] == ["live"] and not (shutil.which("prometheus") and shutil.which("prometheus-snmp-exporter")):
    print("prometheus and prometheus-snmp-exporter are not installed: not run")
    sys.exit(77)
main(live if sys.argv[2:] == ["live"] else test, snmpd=sys.argv[2:] == ["live"])
