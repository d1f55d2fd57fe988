#!/usr/bin/env python3
"""test_past.py BUILD SHIPPED [live | table PART/PARTS] - history of another database becomes a case that is judged as the samples themselves are.

Without a word: a server of the test's own (past_server.py) has a recorded case, and answers rightly, wrongly, or not to the end. live: Debian's
snmp_exporter and prometheus watch a live lab beside an agent of ours; what is imported tells the cause and the place that the agent told. 77: they
are not installed here. table: every scenario of the lab, each PARTS-th from PART on; prints the rows of the table in docs/past.md."""
import json, os, re, shutil, socket, subprocess, sys, threading, time, urllib.request

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
    "long": (lambda n, body: (200, " " * (9 << 20)), ["longer than what is read of it", "even of one name for a minute", "--match"]), "log-in": (lambda n, body: (401, "who?"), ["wants a log-in", "--token-file"]),
    "busy": (lambda n, body: (422, '{"status": "error", "error": "too many samples"}'), ["it says: too many samples", "--match"]),
    "nothing": (lambda n, body: (200, '{"status": "success", "data": {"resultType": "matrix", "result": []}}'), ["has no series of profile snmp_exporter"]),
    "secret": (lambda n, body: (400, '{"status": "error", "error": "token hunter2-hunter2 is bad"}'), ["token *"])}

INFLUX = {
    "influx cut": (lambda n, body: (200, body[:-9]), ["was cut"]), "influx rows": (lambda n, body: (200, body.replace('"columns": ["time"', '"columns": ["time", "a", "b"')), ["not as many values"]),
    "influx part": (lambda n, body: (200, body.replace('"tags"', '"partial": true, "tags"')), ["more rows than the server gives", "--match"]), "influx log-in": (lambda n, body: (401, '{"error": "who?"}'), ["wants a log-in"]),
    "influx error": (lambda n, body: (200, '{"results": [{"statement_id": 0, "error": "database not found: x\\u001b"}]}'), ["database not found: x"]), "influx two": (lambda n, body: (200, '{"results": []}'), ["not one result"]),
    "influx nothing": (lambda n, body: (200, '{"results": [{"statement_id": 0}]}'), ["has no series of profile telegraf"])}


class Import:
    def __init__(self, build, work, fabric):
        self.build, self.work, self.fabric, self.n = build, work, fabric, 0

    def run(self, *words, code=0):
        build = self.build if words[0] == "import" else sys.argv[2]  # what records and judges is tried elsewhere
        p = subprocess.run([os.path.join(os.path.realpath(build), "rocewatch"), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)
        check(p.returncode == code and "hunter2" not in p.stdout + p.stderr, "%s: exit %d, expected %d: %s" % (" ".join(words), p.returncode, code, p.stderr))
        return p.stdout if code == 0 else p.stderr

    def past(self, api, url, profile, *words, out=None, code=0):
        self.n += 1
        out = out or os.path.join(self.work, "out%d" % self.n)
        said = self.run("import", api, url, "--profile", profile, "--fabric", self.fabric, "--out", out, "--rate", "1000", "--format", "json", *words, code=code)
        return (json.loads(said), out) if code == 0 else said

    def told(self, case, whole=True):
        incidents = json.loads(self.run("replay", "--from", case, "--format", "json"))["incidents"]
        return sorted({(i["cause"], *(i["subject"][k] or "" for k in ("device", "port", "host")), *((i["severity"], i["opened"]) if whole else ())) for i in incidents if whole or not i["parent"]})


def numbers(case):
    with open(os.path.join(case, "samples.tsv")) as f:
        return {(float(time), *rest[:4], float(rest[4])) for time, *rest in (line.split("\t") for line in f if not line.startswith("#"))}


def test(build, work):
    from schemas import Schemas
    (case, token, again), schemas, compared, answers = (os.path.join(work, name) for name in ("case", "token", "again")), Schemas(build), 0, {}
    imports = Import(build, work, os.path.join(case, "fabric.yaml"))
    imports.run("lab", "record", "pfc-storm", "--face", "nxos", "--interval", "10s", "--out", case)
    with open(token, "w") as f:
        f.write("hunter2-hunter2\n")
    asked = ("--since", "2026-01-05T00:00:00Z", "--until", "2026-01-05T02:00:00Z", "--token-file", token)
    for api, profile in (("prometheus", "snmp_exporter"), ("victoria", "rocewatch"), ("influx", "telegraf"), ("victoria", "snmp_exporter")):
        series, kept = series_of(case, profile)
        server, part = Server(series), os.path.join(work, "%s-%s" % (api, profile))
        doc, out = imports.past(api, server.url + "/fabric" * (api == "influx"), profile, *asked, *(["--match", "job = 'lab'"] * (api == "influx")))
        check(not schemas.mistakes("import-" + api, doc), "schema: %s" % schemas.mistakes("import-" + api, doc))
        shutil.copytree(case, part)
        with open(os.path.join(part, "samples.tsv"), "w") as f:
            f.writelines(kept)
        check(numbers(out) == numbers(part), "%s of %s: %d samples differ" % (profile, api, len(numbers(out) ^ numbers(part))))
        check(imports.told(out) == imports.told(part) and imports.told(out)[0][0] == "pfc_storm", "told %s, expected %s" % (imports.told(out), imports.told(part)))
        check(all(login == "Bearer hunter2-hunter2" for _, login in server.asked), "the token was not sent")
        compared += doc["samples"]
        answers[api] = series
    with open(os.path.join(out, "samples.tsv")) as f:
        check({line.split("\t")[4] for line in f if "wrap32" in line} == {"port.in_errors", "port.out_errors", "port.in_discards", "port.out_discards"}, "counters of 32 bits")
    check("queue.out_octets" not in {row["metric"] for row in doc["rows"]} and any("ECN marks" in note and "ecn_late" in note for note in doc["notes"]), "absent counters: %s" % doc["notes"])
    imports.run("replay", "--from", out, "--db", case + ".db")
    sheets = json.loads(imports.run("--db", case + ".db", "tune", "review", "--format", "json"))
    check(sheets["sheets"] or sheets["reason"], "neither a tuning sheet nor a word why: %s" % sheets)
    # one that ends in between goes on, asks for nothing twice, and has the same samples
    server = Server(series, lambda n, body: (500, "") if n == 2 else (200, body))
    check("goes on there" in imports.past("prometheus", server.url, "snmp_exporter", *asked, out=again, code=1), "nothing is said of going on")
    with open(os.path.join(again, "samples.tsv"), "a") as f:
        f.write("half a li")
    imports.past("prometheus", server.url, "snmp_exporter", *asked, out=again)
    begins = [begin for begin, _ in server.asked]
    check(begins[1] == begins[2] and sorted(set(begins)) == begins[:1] + begins[2:] and numbers(again) == numbers(out), "asked %s" % server.asked)
    check("another question" in imports.past("prometheus", server.url, "gnmic", *asked, out=again, code=1), "another profile into the same directory")
    for name, (wrong, words) in (WRONG | INFLUX).items():
        server = Server(answers["influx" if name in INFLUX else "victoria"], wrong)
        said = imports.past(*(("influx", server.url + "/fabric", "telegraf") if name in INFLUX else ("prometheus", server.url, "snmp_exporter")), *asked, code=1)
        check(server.url in said and all(word in said for word in words) and "\x1b" not in said, "%s: %s" % (name, said))
    for words in (["http://u:hunter2@127.0.0.1:9", "snmp_exporter"], ["127.0.0.1:9", "snmp_exporter"], ["http://127.0.0.1:9", "no-such"], ["http://127.0.0.1:9", "snmp_exporter", "--rate", "0"]):
        imports.past("prometheus", *words, code=2)
    imports.past("influx", "http://127.0.0.1:9", "telegraf", code=2)
    check("error parsing query" in imports.past("influx", server.url + "/other", "telegraf", code=1), "another database")
    check("127.0.0.1:9" in imports.past("prometheus", "http://127.0.0.1:9", "snmp_exporter", code=1), "a server that is not there")
    return "%d samples compared, %d wrong answers refused" % (compared, len(WRONG | INFLUX))


# --- table: every scenario ---

class Victoria:
    """Debian's victoria-metrics with these series."""

    def __init__(self, work, series):
        port, self.dir = free_port(), os.path.join(work, "victoria")
        self.url = "http://127.0.0.1:%d" % port
        with open(self.dir + ".log", "w") as out:
            self.process = subprocess.Popen(["victoria-metrics", "-storageDataPath=" + self.dir, "-httpListenAddr=127.0.0.1:%d" % port, "-retentionPeriod=10y"], stdout=out, stderr=out)
        wait_for("victoria-metrics", lambda: self.ask("/health"), HANG_S)
        for labels, points in series.items():
            self.ask("/api/v1/import", json.dumps({"metric": dict(labels), "values": [v for _, v in points], "timestamps": [t for t, _ in points]}).encode())
        self.ask("/internal/force_flush")
        wait_for("its samples", lambda: self.ask("/api/v1/export?match[]={__name__!=''}&start=0&max_rows_per_line=1"), HANG_S)

    def ask(self, path, body=None):
        try:
            with urllib.request.urlopen(self.url + path, body) as answer:
                return answer.read() or b"ok"
        except OSError:
            return None

    def close(self):
        self.process.terminate()
        self.process.wait(HANG_S)
        shutil.rmtree(self.dir)


def places(told):
    return "; ".join(" ".join(x for x in (t[0], t[3] or ":".join(x for x in t[1:3] if x)) if x) for t in told) or "nothing"


# what is said in place of a cause whose counter or setting is no series: it holds, and says less
WIDER = {"pfc_watchdog": "pfc_storm", "headroom_small": "lossless_loss", "pfc_mismatch": "lossless_loss", "dscp_mismatch": "class_leak", "ecn_off": "ecn_late", "missing_route": "path_asymmetry"}


def kind_of(native, told):
    """Causes and switches of incidents that are no part of another one: the same, less (or unknown), a wider cause, another cause."""
    lost, more = ({t[:2] for t in here} - {t[:2] for t in there} for here, there in ((native, told), (told, native)))
    stands = {"unknown"} | {word for cause, _ in lost for word in (cause, WIDER.get(cause))}
    causes = {cause for cause, _ in more}
    return "same" if not lost and not more else "less" if causes <= {"unknown"} else "wider" if causes <= stands else "other"


def table(build, work):
    """Of each scenario: what the recording itself tells with all its counters, and what its series tell after an import."""
    part, parts = map(int, sys.argv[4].split("/"))
    imports = Import(build, work, None)
    counts = {}
    for scenario in json.loads(imports.run("lab", "list", "--format", "json"))["scenarios"][part::parts]:
        for face, profile, api in (("nxos", "snmp_exporter", "prometheus"), ("full", "gnmic", "victoria")):
            case, kept, out = (os.path.join(work, name) for name in ("case", "kept", "out"))
            imports.run("lab", "record", scenario["name"], "--face", face, "--interval", "10s", "--out", case)
            series, lines = series_of(case, profile)
            shutil.copytree(case, kept)
            with open(os.path.join(kept, "samples.tsv"), "w") as f:
                f.writelines(lines)
            server = Victoria(work, series) if api == "victoria" else Server(series)
            imports.fabric = os.path.join(case, "fabric.yaml")
            imports.past(api, server.url, profile, "--since", "2026-01-05T00:00:00Z", "--until", "2026-01-05T05:00:00Z", out=out)
            server.close() if api == "victoria" else server.shutdown()
            native, same, told = (imports.told(x, whole=False) for x in (case, kept, out))
            check(imports.told(kept) == imports.told(out), "%s of %s: %s, expected %s" % (scenario["name"], profile, told, same))
            lost, more, kind = [t for t in native if t not in told], [t for t in told if t not in native], kind_of(native, told)
            counts[profile, kind] = counts.get((profile, kind), 0) + 1
            print("| %s | %s | %s | %s | %s |" % (scenario["name"], profile, kind, places(lost), places(more)), flush=True)
            for x in (case, kept, out):
                shutil.rmtree(x)
    return " ".join("%s %s: %d" % (*k, n) for k, n in sorted(counts.items()))


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


def ras_of(hosts):
    """The RAS service of a job of one rank on each host, for one question. Returns its address."""
    server = socket.create_server(("127.0.0.1", 0))
    ranks = [{"rank": i, "host": host, "pid": 7, "cuda_dev": 0, "collective_counts": {"AllReduce": 6}} for i, host in enumerate(hosts)]

    def speak():
        with server, server.accept()[0] as c, c.makefile("rwb", buffering=0) as f:
            for reply in ("SERVER PROTOCOL 2\n", "OK\n", json.dumps({"communicators": [{"hash": "0xbeef", "size": len(ranks), "missing_ranks": [], "ranks": ranks}]})):
                f.readline()
                f.write(reply.encode())

    threading.Thread(target=speak).start()
    return "ras:127.0.0.1:%d" % server.getsockname()[1]


def waited(lab, native):
    """A job of four ranks of which the one on the incident's host comes 30 ms late, each host's clock 40 ms off: by a flight recorder that knows no host,
    and by RAS, beside the running agent, which keeps it. The incident, the host and the steps have it then."""
    host, began = native["subject"]["host"], int(time.time() * 1e9) - 5 * 10**9
    hosts = [h for h in ("node-001", "node-002", "node-003", "node-004") if h != host][:3] + [host]
    for rank in range(4):
        late, off = 30 * 10**6 * (rank == 3), (-1) ** rank * 20 * 10**6
        entries = [{"process_group": ["0", "default_pg"], "collective_seq_id": k, "profiling_name": "nccl:all_reduce", "state": "completed", "is_p2p": False, "input_sizes": [[1 << 20]],
                    "input_dtypes": ["Float"], "time_created_ns": began + off + k * 5 * 10**8 + late, "time_discovered_completed_ns": began + off + k * 5 * 10**8 + 5 * 10**7,
                    "duration_ms": (4 * 10**7 - late) / 1e6} for k in range(1, 7)]
        with open(os.path.join(lab.dir, "trace_rank_%d.json" % rank), "w") as f:
            json.dump({"version": "2.7", "pg_config": {"0": {"ranks": "[0, 1, 2, 3]"}}, "entries": entries}, f)
    files = [os.path.join(lab.dir, "trace_rank_%d.json" % rank) for rank in range(4)]
    row, = json.loads(lab.rocewatch("import", "collectives", *files, ras_of(hosts), "--note", "--format", "json"))["rows"]
    check((row["host"], row["ranks"], row["network"]) == (host, "3", "named") and native["id"] in row["incidents"], "ranks: %s" % row)
    said = "rank 3 on %s, AllReduce" % host
    has = lambda words, key: any(said in text for text in json.loads(lab.rocewatch(*words, "--format", "json"))[key])  # noqa: E731
    wait_for("its ranks in the incident", lambda: has(("incident", "show", native["id"]), "ranks"), 60)
    check(has(("blame", host), "collectives"), "blame has no collective")
    steps = json.loads(lab.rocewatch("steps", "--format", "json"))["jobs"]
    check(any(abs((job["ranks_step_s"] or 0) - 0.5) < 1e-3 and abs(job["ranks_exchange_s"] - 0.01) < 1e-3 for job in steps), "steps: %s" % steps)


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
            found, place = [i for i in imports.told(out) if i[0] == cause], tuple(native["subject"][k] or "" for k in ("device", "port", "host"))
            check(found and found[0][1:4] == place, "imported: %s, the agent told %s; notes: %s" % (imports.told(out), native["subject"], doc["notes"]))
            if cause == "pfc_storm":
                waited(lab, native)
            check({i[0] for i in imports.told(out)} <= {i["cause"] for i in lab.incidents()}, "told what the agent does not: %s" % imports.told(out))
            print("%s: %d samples, %s at %s" % (lab.scenario, doc["samples"], cause, place), flush=True)
        return "%d labs" % len(labs)
    finally:
        for process in started:
            process.terminate()
            process.wait(HANG_S)
        Live.stop(labs)


MODES = {"live": live, "table": table}
if sys.argv[3:] == ["live"] and not (shutil.which("prometheus") and shutil.which("prometheus-snmp-exporter")):
    print("prometheus and prometheus-snmp-exporter are not installed: not run")
    sys.exit(77)
main(MODES.get("".join(sys.argv[3:4]), test), snmpd=sys.argv[3:] == ["live"])
