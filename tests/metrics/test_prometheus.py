#!/usr/bin/env python3
"""test_prometheus.py BUILDDIR SOURCEDIR - Debian's prometheus scrapes the web server over recorded cases and evaluates the shipped rules: the
alerts of a PFC storm fire with the incident's headline, the others do not; of two jobs the one that is slow is named. Every panel of the shipped
dashboard is queried as Grafana would. 77: prometheus is not installed here."""
import json, os, re, shutil, subprocess, sys, tempfile, time, urllib.parse, urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from patience import HANG_S, Limit  # noqa: E402
from ports import free_port  # noqa: E402

BUILD, SOURCE = map(os.path.realpath, sys.argv[1:3])
ROCEWATCH = os.path.join(BUILD, "rocewatch")
DEADLINE_S = 90


def check(condition, message, *values):
    if not condition:
        raise SystemExit("FAILED: " + message % values)


def wait_for(what, condition):
    limit = Limit(DEADLINE_S)
    while not limit.over():
        try:
            value = condition()
        except OSError:
            value = None
        if value:
            return value
        time.sleep(0.2)
    raise SystemExit("FAILED: %s: not after %s" % (what, limit))


def get(url):
    with urllib.request.urlopen(url, timeout=HANG_S) as answer:
        return json.load(answer)


def started(argv, log):
    with open(log, "w") as out:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out)


def stop(processes):
    for p in processes:
        p.terminate()
    for p in processes:
        try:
            p.wait(15)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()


CONFIG = """
global: {{ scrape_interval: 5s, scrape_timeout: 5s, evaluation_interval: 1s }}
rule_files: [{rules}]
scrape_configs:
  - job_name: rocewatch
    static_configs: [{{ targets: ["127.0.0.1:{port}"] }}]
"""


def written(directory, port):
    """The shipped rules with short waiting times: the test has no minute for each."""
    rules, config = os.path.join(directory, "rules.yml"), os.path.join(directory, "prometheus.yml")
    with open(os.path.join(SOURCE, "config/prometheus/rocewatch.rules.yml")) as f, open(rules, "w") as out:
        out.writelines("        for: 1s\n" if line.startswith("        for: ") else line for line in f)
    with open(config, "w") as out:
        out.write(CONFIG.format(rules=rules, port=port))
    return config


def scrape(directory, db, processes):
    port_file = os.path.join(directory, "port")
    processes.append(started([ROCEWATCH, "--db", db, "web", "--listen", "127.0.0.1:0", "--port-file", port_file], os.path.join(directory, "web.log")))
    port = wait_for("the web server", lambda: os.path.exists(port_file) and open(port_file).read().strip())
    base = "http://127.0.0.1:%d" % free_port()
    processes.append(started(["prometheus", "--config.file", written(directory, port), "--storage.tsdb.path", os.path.join(directory, "tsdb"),
                              "--web.listen-address", base[7:], "--log.level", "warn"], os.path.join(directory, "prometheus.log")))
    return base


def run(*argv):
    return subprocess.run([ROCEWATCH, *argv], check=True, capture_output=True, text=True, timeout=HANG_S).stdout


class Prometheus:
    """Prometheus beside a web server over @db, after its first scrape."""
    def __init__(self, directory, db, processes):
        self.base = scrape(directory, db, processes)
        wait_for("a scrape", lambda: self.query('up{job="rocewatch"} == 1'))

    def query(self, expression):
        answer = get(self.base + "/api/v1/query?query=" + urllib.parse.quote(expression))
        check(answer["status"] == "success", "%s: %s", expression, answer)
        return answer["data"]["result"]

    def firing(self):
        return {alert["labels"]["alertname"]: alert for alert in get(self.base + "/api/v1/alerts")["data"]["alerts"] if alert["state"] == "firing"}


def names_kept(prometheus):
    """Prometheus renames a label of ours that is one of its own to exported_..., and whoever asks for it gets the scrape's."""
    renamed = {(s["metric"]["__name__"], label) for s in prometheus.query('{__name__=~"rocewatch.*"}') for label in s["metric"] if label.startswith("exported_")}
    check(not renamed, "labels that collide with those of Prometheus: %s", sorted(renamed)[:5])


def dashboard(prometheus, instance=".*", device=".*"):
    """Asks what each panel asks, with the variables as Grafana puts them in (".*" is All), and names each series as its legend does. Two
    series with one name are one line to a reader. Returns {title of the panel: {name: value}}."""
    with open(os.path.join(SOURCE, "config/grafana/rocewatch.json")) as f:
        panels = [p for p in json.load(f)["panels"] if p.get("targets")]
    check(len(panels) > 25, "panels: %d", len(panels))
    shown = {}
    for panel in panels:
        names = shown.setdefault(panel["title"], {})
        for target in panel["targets"]:
            expression = target["expr"].replace("$instance", instance).replace("$device", device)
            check("$" not in expression, "panel '%s' asks with a variable that is not there: %s", panel["title"], expression)
            for series in prometheus.query(expression):
                labels = series["metric"]
                check(re.fullmatch(device, labels.get("device", "")) or not labels.get("device"), "panel '%s', switch %s: %s", panel["title"], device, labels)
                # A label without a value is no label: {{port}} of a switch's own counter is empty.
                name = re.sub(r"\{\{(\w+)\}\}", lambda m: labels.get(m.group(1), ""), target["legendFormat"]) or json.dumps(labels, sort_keys=True)
                check(name not in names, "panel '%s' has two series called '%s': %s", panel["title"], name, labels)
                names[name] = float(series["value"][1])
    return shown


# Two jobs on the same switches, and a host of one of them that reads slowly; steps long enough to be seen once a second.
TWO_JOBS = """title: The NIC of a host of one of two jobs pauses its switch
cause: slow_receiver
subject: host
load: { pattern: ring, placement: even, qps: 16, jobs: 2, compute: 7s, exchange: 3s, other_compute: 9s, other_exchange: 4s }
faults:
  - { kind: nic_stall, share: 40%..85% }
"""
JOBS = """jobs:
  - { name: llama, gpus: 16, hosts: "node-*[13579]" }
  - { name: vision, gpus: 16, hosts: "node-*[02468]" }
"""


def test_two_jobs(directory, processes):
    case, db = os.path.join(directory, "case"), os.path.join(directory, "jobs.db")
    with open(os.path.join(directory, "two.yaml"), "w") as f:
        f.write(TWO_JOBS)
    run("lab", "record", "two", "--scenarios", directory, "--out", case, "--interval", "1s")
    with open(os.path.join(case, "fabric.yaml")) as f:
        fabric, changed = re.subn(r"(?m)^jobs:\n(  - .*\n)+", lambda m: JOBS, f.read())
    check(changed == 1, "the case declares its jobs %d times", changed)
    with open(os.path.join(case, "fabric.yaml"), "w") as f:
        f.write(fabric)
    run("replay", "--from", case, "--db", db)
    prometheus = Prometheus(directory, db, processes)
    names_kept(prometheus)
    panels = dashboard(prometheus)
    frame = {j["job"]: j for j in json.loads(run("--db", db, "watch", "--once", "--format", "json"))["jobs"]}
    check(sorted(frame) == ["llama", "vision"], "jobs: %s", frame)
    check(panels["Job state"] == {"llama": 1, "vision": 1}, "both jobs run: %s", panels["Job state"])
    for title, key, name in (("Step time", "step_s", "%s"), ("Step time", "step_base_s", "%s usual"), ("Step time, change against usual", "change_ratio", "%s"), ("Exchange time", "exchange_s", "%s")):
        for job, row in frame.items():
            got = panels[title].get(name % job)
            check(got is not None and abs(got - row[key]) <= 1e-9 * abs(row[key]), "panel '%s', %s: %s, and the frame says %s", title, name % job, got, row[key])
    slow = wait_for("RocewatchStepPeriodShift", lambda: prometheus.firing().get("RocewatchStepPeriodShift"))
    check(slow["annotations"]["summary"].startswith("Steps of job vision take ") and "--job vision" in slow["annotations"]["description"], "the slow job is not named: %s", slow)
    shifted = [a for a in get(prometheus.base + "/api/v1/alerts")["data"]["alerts"] if a["labels"]["alertname"] == "RocewatchStepPeriodShift"]
    check(len(shifted) == 1, "jobs that are called slow: %s", shifted)
    # A scrape for which the machine had no time makes what it would have brought unknown, until the next.
    incident = wait_for("the incident in a scrape", lambda: prometheus.query("rocewatch_incident_info"))
    check([s["metric"].get("training_job") for s in incident] == ["vision"], "the incident's job: %s", incident)


def test_storm(directory, processes):
    case, db = os.path.join(directory, "case"), os.path.join(directory, "storm.db")
    run("lab", "record", "pfc-storm", "--out", case)
    run("replay", "--from", case, "--db", db)
    prometheus = Prometheus(directory, db, processes)
    base, firing = prometheus.base, prometheus.firing
    names_kept(prometheus)
    panels = dashboard(prometheus)
    for title in ("Job state", "Fabric", "Golden signals", "Open incidents", "Pause time, share of a second, by origin"):
        check(panels[title], "panel '%s' is empty", title)
    # One switch chosen: its series and no other's. Another fabric chosen: nothing.
    paused = {name.split()[0] for name in panels["Pause time, share of a second, by origin"]}
    check("leaf2" in paused and len(paused) > 1, "switches that are paused: %s", paused)
    one = dashboard(prometheus, device="leaf2")["Pause time, share of a second, by origin"]
    check({name.split()[0] for name in one} == {"leaf2"}, "leaf2 alone: %s", one)
    other = dashboard(prometheus, instance="192.0.2.1:9421")
    check(not any(other.values()), "another fabric: %s", {title: names for title, names in other.items() if names})
    target = get(base + "/api/v1/targets")["data"]["activeTargets"][0]
    check(target["health"] == "up" and not target["lastError"], "the scrape: %s", target["lastError"])
    rules = [rule for group in get(base + "/api/v1/rules")["data"]["groups"] for rule in group["rules"]]
    check(len(rules) > 20 and all(rule["health"] in ("ok", "unknown") for rule in rules), "rules: %s", [r for r in rules if r["health"] == "err"])
    wanted = {"RocewatchIncidentCritical", "RocewatchPauseTimeCritical"}
    alerts = wait_for("alerts %s" % wanted, lambda: wanted <= set(firing()) and firing())
    check("node-010" in alerts["RocewatchIncidentCritical"]["annotations"]["summary"], "the alert names the culprit: %s", alerts["RocewatchIncidentCritical"])
    # A NIC that hangs says nothing of the thresholds of ECN.
    for quiet in ("RocewatchEcnSilent", "RocewatchScrapeDown", "RocewatchAgentDown", "RocewatchTargetStale", "RocewatchLosslessDrop", "RocewatchDeadlock"):
        check(quiet not in alerts, "%s fires", quiet)
    processes[0].terminate()  # no web server, no metrics: said too
    wait_for("RocewatchScrapeDown", lambda: "RocewatchScrapeDown" in firing())


def main():
    if not shutil.which("prometheus"):
        sys.exit(77)
    for test in (test_storm, test_two_jobs):
        processes = []
        with tempfile.TemporaryDirectory(prefix="rw-prometheus-") as directory:
            try:
                test(directory, processes)
            except BaseException:
                for name in ("web.log", "prometheus.log"):
                    path = os.path.join(directory, name)
                    if os.path.exists(path):
                        sys.stderr.write(open(path).read()[-2000:])
                raise
            finally:
                stop(processes)
    print("ok")


main()
