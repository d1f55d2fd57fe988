#!/usr/bin/env python3
"""test_documents.py ROCEWATCH LIST_COMMANDS CASES - every command that writes JSON, on recorded cases, on a database without samples and on one that an
agent writes: each document is what its schema says, and each line of `--format jsonl` stands in the document or is it.

The commands come from the program's own table. One without a schema or without a run here fails; so does a schema that describes nothing. A
key that was planted in a document, a wrong type and a missing key must fail as well."""
import copy, json, os, re, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(HERE))
from patience import HANG_S, Limit  # noqa: E402
import schemas as schema_files  # noqa: E402

GOLDEN = os.path.realpath(sys.argv[3])
PROFILES = os.path.join(HERE, "..", "..", "config", "profiles")
# Cases: `lab record` of a scenario, or a folder of CASES, the inputs of golden cases.
RECORDED = {
    "healthy": "healthy --for 4m",
    "storm": "pfc-storm --for 6m",
    "fields": "ecmp-fields --packets --for 270s",
    "link": "dead-spine-link --for 5m",
    "late": os.path.join(GOLDEN, "tune", "ecn-late"),
    "alpha": os.path.join(GOLDEN, "tune", "relative-alpha"),
}
ON_ALL = "healthy storm fields link late empty live"
HEADROOM = "--speed 400G --cable 40m --mtu 9216B --lossless-mtu 1024B --cell 192B --small-packets 100%"
# What a command is asked, as "cases: arguments"; without cases it reads no database. Not named here: on all cases, without arguments.
RUNS = {
    "alert test": ["live: page"],
    "blame": ["storm: host:node-001", "fields: spine1:Ethernet1", "link: node-002"],
    "calc allreduce": [": --gpus 256 --size 1GB --time 10ms", ": --gpus 256 --size 1GB --speed 400G"],
    "calc bottleneck": [": --compute 200ms --network 30ms", ": --compute 200ms --network 30ms --steps 1000"],
    "calc cost": [": --gpus 256 --price 2 --fraction 20% --time 24h"],
    "calc ecn": [": --pool 64MB --alpha 1/8 --speed 400G --ports 32", ": --pool 64MB --alpha 1/8 --speed 400G --ports 32 --kmin 400KB --kmax 1600KB"],
    "calc gradient": [": --parameters 7B", ": --parameters 7B --bytes 4 --gpus 64 --speed 400G"],
    "calc headroom": [": --model generic " + HEADROOM, ": --model spectrum --shp --lanes 8 --gearbox 400ns " + HEADROOM],
    "calc mfu": [": --parameters 70B --tokens 300K --gpus 256"],
    "calc placement": [": --gpus 64 --leaves 8 --size 14GB --speed 400G --compute 800ms"],
    "calc pause": [": --speed 400G", ": --speed 400G --quanta 65535 --frames 1000"],
    "calc sizing": [": --switches 20", ": --switches 20 --ports 32 --interval 30s"],
    "config check": [": {live}", ": {broken}", ": --case {fields}/fabric.yaml"],
    "config explain": [": ", ": devices"],
    "config show": [": {live}", ": --case {fields}/fabric.yaml", ": {golden}/config/alerts/input.yaml"],
    "db backup": ["late: {tmp}/copy.db"],
    "db vacuum": ["late:"],
    "event add": ["late: --text done --device leaf1", "live: --text done"],
    "event list": [ON_ALL + ": --since 1970-01-01"],
    "import collectives": [": {source}/tests/fuzz/corpus/collectives/inspector.jsonl"],
    "import ethtool": [": {golden}/hosts/ethtool_one/one.txt", ": {golden}/hosts/ethtool_mlx5/before.txt {golden}/hosts/ethtool_mlx5/after.txt",
                       ": {golden}/hosts/ethtool_module/m.txt", ": {golden}/hosts/hw_counters/hw.txt"],
    "import nccl-log": [": {golden}/hosts/nccl_log/job.log", ": {golden}/hosts/nccl_log_sockets/job.log"],
    "import nccl-tests": [": {golden}/hosts/nccl_one_run/run.txt"],
    "lab list": [":"],
    "xray learn": [": {golden}/xray/tiers/samples.csv --links {golden}/xray/tiers/links.csv"],
    "xray predict": [": {golden}/xray/tiers/samples.csv --links {golden}/xray/tiers/links.csv --flows {golden}/xray/tiers/job.csv"],
    "xray prescribe": [": {golden}/xray/tiers/samples.csv --flows {golden}/xray/tiers/job.csv"],
    "incident ack": ["fields: {incident} --note seen"],
    "incident assign": ["fields: {incident} noc"],
    "incident close": ["link: {incident} --note mended"],
    "incident export": ["storm: {incident}"],
    "incident list": [ON_ALL + ":", "storm fields: --all"],
    "incident merge": ["fields: {second} {incident}"],
    "incident note": ["fields: {incident} noted"],
    "incident show": ["storm link: {incident}", "fields: {incident} --full", "fields: {second}"],
    "incident timeline": ["storm fields: {incident}"],
    "pause ports": [ON_ALL + ": --all --since 6m"],
    "pause tree": [ON_ALL + ": --since 6m", "storm: --incident {incident}"],
    "pcap": [": {capture}"],
    "profile list": [":"],
    "profile show": [": eos", ": sonic", ": generic"],
    "query": ["healthy storm link: port.out_octets,pfc.* --step 60s --by device", "storm empty: port.out_octets --rate --top 3",
              "late: port.out_octets --device leaf1"],
    "query --list": ["healthy:"],
    "query sql": ["healthy:"],
    "replay": [": --from {late}", ": --from {storm}"],
    "silence add": ["late: --device leaf1 --for 2h --why test"],
    "silence expire": ["late: {silence}"],
    "status": [ON_ALL + ":", "storm: --until {newest}"],
    "support-bundle": ["storm: --out {tmp}/bundle.tar.gz"],
    "support-bundle --dry-run": ["storm:"],
    "tune accept": ["late: {sheet}"],
    "tune applied": ["late: {sheet} --at 1970-01-01T00:04:00Z"],
    "tune reject": ["alpha: {sheet} --why no"],
    "tune review": [ON_ALL + " alpha:"],
    "tune render": ["late: {sheet}", "late: {sheet} --undo --vendor sonic"],
    "tune show": ["late: {sheet}"],
    "tune verify": ["late: {sheet}"],
    "tune whatif": ["late: --device leaf1 --set kmin=400KB --set pmax=10%"],
    "watch": [ON_ALL + ": --once", "storm: --once --around {newest}"],
}
# What each run needs to have run before: decisions in their order, and what lists them last.
LAST = ["tune review", "tune reject", "tune accept", "tune render", "tune applied", "tune verify", "tune show", "tune list", "silence add", "silence list", "silence expire",
        "event add", "event list", "incident show", "incident timeline", "incident ack", "incident assign", "incident note", "incident merge", "incident close", "db vacuum"]
# Commands whose document needs what is not here; the tests named beside them look at it.
ELSEWHERE = {
    "import prometheus": "lab.past", "import victoria": "lab.past", "import influx": "lab.past", "incident burst": "ipfix.live", "profile test": "golden.profiles", "topology discover": "lab.discovery",
}
# Documents of the HTTP API only, and the frame of other documents: web.http looks at them.
NOT_COMMANDS = {"act", "common", "counters", "ecmp-history", "error", "healthz", "rocewatch.yaml"}


class Failed(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failed(message)


def wait_for(what, probe, deadline_s=90):
    limit = Limit(deadline_s)
    while not probe():
        check(not limit.over(), "%s: not after %s" % (what, limit))
        time.sleep(0.1)


class Site:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.agent = binary, folder, None
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("ROCEWATCH")}
        self.words = {"golden": GOLDEN, "tmp": folder, "source": os.path.realpath(__file__ + "/../../..")}
        self.global_options = {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words, codes=(0,)):
        p = subprocess.run([self.binary, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S, env=self.env)
        check(p.returncode in codes, "rocewatch %s: exit %d\n%s" % (" ".join(words), p.returncode, p.stderr))
        return p.stdout

    def record(self):
        for case, source in RECORDED.items():
            folder = source
            if not os.path.isdir(source):
                folder = self.path(case)
                self.run("lab", "record", *source.split(), "--out", folder)
            self.words[case] = folder
            self.run("replay", "--from", folder, "--db", self.path(case + ".db"), "--quiet")
            self.global_options[case] = ["--db", self.path(case + ".db")]
        captures = [f for f in os.listdir(self.path("fields")) if f.endswith(".pcap")]
        self.words["capture"] = os.path.join(self.path("fields"), sorted(captures)[0])

    def configuration(self, name, rest=""):
        with open(self.path(name + ".yaml"), "w") as f:
            f.write("fabric: nobody\nuser: %s\nstore: { path: %s, quota: 1GB }\n" % (os.environ.get("USER", "root"), self.path(name + ".db")) +
                    "credentials: { lab: { snmp: { version: 2c, community_env: COMMUNITY } } }\n" +
                    "defaults: { interval: 1s, slow_interval: 5s, timeout: 100ms }\n"
                    "devices:\n  - { name: leaf1, role: leaf, snmp: { address: '127.0.0.1:9', credentials: lab } }\n"
                    "links:\n  - { a: 'leaf1:Ethernet1', b: 'host:node-001:rail0', speed: 400G }\n"
                    "lossless: { priorities: [3] }\njobs:\n  - { name: train, hosts: 'node-*', gpus: 8 }\n" + rest)
        self.global_options[name] = ["-c", self.path(name + ".yaml")]
        self.words[name] = self.path(name + ".yaml")

    def start(self):
        """A database without samples, and an agent whose only device does not answer."""
        self.env["COMMUNITY"] = "public"
        self.configuration("empty")
        self.run("-c", self.path("empty.yaml"), "agent", "--for", "1s")
        self.configuration("broken", "rolle: leaf\n")
        self.configuration("live", "alerts: { command: { name: page, run: [/bin/true] } }\n")
        with open(self.path("agent.log"), "w") as log:
            self.agent = subprocess.Popen([self.binary, "-c", self.path("live.yaml"), "agent"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env)

        def down():
            p = subprocess.run([self.binary, "-c", self.path("live.yaml"), "status", "--format", "json"], capture_output=True, text=True, env=self.env)
            return p.returncode == 0 and json.loads(p.stdout)["data_quality"]["down"] == 1
        wait_for("a device that is down", down)

    def stop(self):
        if self.agent and self.agent.poll() is None:
            self.agent.terminate()
            self.agent.wait(HANG_S)


class Looked:
    """What was validated, and what was wrong."""

    def __init__(self):
        self.schemas, self.wrong, self.of, self.lines = schema_files.Schemas(os.path.dirname(sys.argv[1])), [], {}, set()

    def document(self, words, asked, document):
        name = schema_files.name_of(words)
        self.wrong += ["%s: %s" % (asked, mistake) for mistake in self.schemas.mistakes(name, document)]
        self.of.setdefault(name, document)

    def jsonl(self, words, asked, text, document):
        """Rows of an array of the document in their order, or the document itself."""
        rows = [json.loads(line) for line in text.splitlines()]
        arrays = [value for value in document.values() if isinstance(value, list)]
        if rows == [document] or rows in arrays or (words == "pcap" and rows and rows[0].get("type") == "capture"):
            self.lines.add(words)
            if words == "pcap":
                whole = dict(rows[0], qps=rows[1:])
                self.document(words, asked, whole)
            return
        self.wrong.append("%s: --format jsonl is not an array of the document" % asked)


def fill(site, case, text):
    """{incident} and others are what the case has."""
    words = dict(site.words)
    if "{newest}" in text:
        words["newest"] = json.loads(site.run(*site.global_options[case], "db", "stat", "--format", "json"))["to"]
    if "{incident}" in text or "{second}" in text:
        incidents = json.loads(site.run(*site.global_options[case], "incident", "list", "--all", "--format", "json"))["incidents"]
        check(incidents, "case %s has no incident" % case)
        words["incident"], words["second"] = incidents[0]["id"], incidents[-1]["id"]
    if "{sheet}" in text:
        sheets = json.loads(site.run(*site.global_options[case], "tune", "list", "--format", "json"))["sheets"]
        check(sheets, "case %s has no sheet" % case)
        words["sheet"] = sheets[0]["id"]
    if "{silence}" in text:
        words["silence"] = json.loads(site.run(*site.global_options[case], "silence", "list", "--format", "json"))["silences"][0]["id"]
    return re.sub(r"\{(\w+)\}", lambda m: words[m[1]], text)


def ask(site, looked, command, case, arguments, formats):
    words = [*site.global_options.get(case, []), *command.split(), *fill(site, case, arguments).split()]
    if command == "query sql":
        words.append("SELECT device, metric, time, value FROM samples LIMIT 20")
    text = site.run(*words, "--format", "json", codes=(0, 1, 2, 3))
    asked = "%s: %s %s" % (case, command, arguments)
    try:
        document = json.loads(text)
    except ValueError:
        looked.wrong.append("%s: no JSON: %r" % (asked, text[:200]))
        return
    looked.document(command, asked, document)
    if "jsonl" in formats and case != "live" and command not in looked.lines:
        looked.jsonl(command, asked, site.run(*words, "--format", "jsonl", codes=(0, 1, 2, 3)), document)


def ask_all(site, looked, rows):
    order = {command: n for n, command in enumerate(LAST)}
    for command, formats in sorted(rows.items(), key=lambda row: order.get(row[0], -1)):
        if command in ELSEWHERE:
            continue
        for run in RUNS.get(command, [ON_ALL + ":"]):
            cases, _, arguments = run.partition(":")
            for case in cases.split() or [""]:
                ask(site, looked, command, case, arguments.strip(), formats)


def planted(looked):
    """An unknown key at the top and inside, a number for a text and a missing key are refused, in every document."""
    def inner(value):
        if isinstance(value, dict):
            return value
        return next((v for v in value if isinstance(v, dict)), None) if isinstance(value, list) else None

    for name, document in looked.of.items():
        refused = looked.schemas.mistakes
        check(any("nobody_knows" in m for m in refused(name, dict(document, nobody_knows=1))), "%s: an unknown key passes" % name)
        schema = looked.schemas.by_id[name + schema_files.ENDING]
        first = next(iter(document))
        check(refused(name, dict(document, **{first: {"of": ["a", "wrong", "type"]}})), "%s: %s of a wrong type passes" % (name, first))
        if schema.get("required"):
            without = copy.copy(document)
            del without[schema["required"][0]]
            check(refused(name, without), "%s: passes without %s" % (name, schema["required"][0]))
    status = copy.deepcopy(looked.of["status"])
    status["devices"][0]["nobody_knows"] = 1
    check(any("nobody_knows" in m for m in looked.schemas.mistakes("status", status)), "status: an unknown key in devices[] passes")


UNITS = {"_s": "seconds", "_ns": "nanoseconds", "_bytes": "bytes", "_bps": "bits_per_second", "_ratio": "ratio"}


def rules(looked):
    """Each key has its sentence; a key that ends in a unit has the type of that unit."""
    def properties(node, path):
        if not isinstance(node, dict):
            return
        for key, value in node.get("properties", {}).items():
            where = "%s.%s" % (path, key)
            check(value.get("description", "").rstrip().endswith((".", "?", ")")), "%s has no sentence that describes it" % where)
            text = json.dumps(value)
            for ending, unit in UNITS.items():
                if key.endswith(ending) and not key.endswith(("_per_s", "_gb_s")) and '"type": "integer"' not in text and '"number"' not in text:
                    check("/" + unit in text or "object" in text or "array" in text or "#/$defs/" in text, "%s is no %s" % (where, unit))
        for key, value in node.get("$defs", {}).items():
            if "properties" in value:
                check(value.get("description"), "%s/%s has no description" % (path, key))
                check("additionalProperties" in value, "%s/%s allows any key" % (path, key))
            properties(value, "%s/%s" % (path, key))

    for name in looked.schemas.names():
        schema = looked.schemas.by_id[name + schema_files.ENDING]
        looked.schemas.validator(name).check_schema(schema)
        check(schema["$id"] == name + schema_files.ENDING, "%s: its $id is %s" % (name, schema["$id"]))
        if name != "rocewatch.yaml":
            properties(schema, name)


def main():
    listed = subprocess.run([sys.argv[2]], capture_output=True, text=True, check=True).stdout
    rows = dict(line.split("\t") for line in listed.splitlines())
    # Options that give another document.
    rows["query --list"], rows["support-bundle --dry-run"] = rows["query"], rows["support-bundle"]
    looked = Looked()
    with tempfile.TemporaryDirectory(prefix="rw-schema-") as folder:
        site = Site(os.path.realpath(sys.argv[1]), folder)
        try:
            rules(looked)
            site.record()
            site.start()
            ask_all(site, looked, rows)
            planted(looked)
            no_schema = [command for command in rows if schema_files.name_of(command) not in looked.schemas.names()]
            check(not no_schema, "commands without a schema: %s" % ", ".join(no_schema))
            named = {schema_files.name_of(command) for command in ELSEWHERE} | NOT_COMMANDS | set(looked.of)
            unused = [name for name in looked.schemas.names() if name not in named]
            check(not unused, "schemas of no command: %s" % ", ".join(unused))
        except Failed as e:
            looked.wrong.append(str(e))
        finally:
            site.stop()
    print("%d schemas, %d commands" % (len(looked.of), len(rows)))
    if looked.wrong:
        print("\n".join(dict.fromkeys(looked.wrong)))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
