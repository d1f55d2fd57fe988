#!/usr/bin/env python3
"""test_prometheus.py BUILDDIR SOURCEDIR - Debian's prometheus scrapes the web server over a recorded PFC storm and evaluates the shipped rules:
the alerts of the storm fire with the incident's headline, the others do not. 77: prometheus is not installed here."""
import json, os, shutil, socket, subprocess, sys, tempfile, time, urllib.parse, urllib.request

BUILD, SOURCE = map(os.path.realpath, sys.argv[1:3])
ROCEWATCH = os.path.join(BUILD, "rocewatch")
DEADLINE_S = 90


def check(condition, message, *values):
    if not condition:
        raise SystemExit("FAILED: " + message % values)


def wait_for(what, condition):
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        try:
            value = condition()
        except OSError:
            value = None
        if value:
            return value
        time.sleep(0.2)
    raise SystemExit("FAILED: %s: not after %d s" % (what, DEADLINE_S))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
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
global: {{ scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }}
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


def test(directory, processes):
    case, db = os.path.join(directory, "case"), os.path.join(directory, "storm.db")
    subprocess.run([ROCEWATCH, "lab", "record", "pfc-storm", "--out", case], check=True, capture_output=True, timeout=120)
    subprocess.run([ROCEWATCH, "replay", "--from", case, "--db", db], check=True, capture_output=True, timeout=120)
    base = scrape(directory, db, processes)
    query = lambda q: get(base + "/api/v1/query?query=" + urllib.parse.quote(q))["data"]["result"]
    wait_for("a scrape", lambda: query('up{job="rocewatch"} == 1'))
    target = get(base + "/api/v1/targets")["data"]["activeTargets"][0]
    check(target["health"] == "up" and not target["lastError"], "the scrape: %s", target["lastError"])
    rules = [rule for group in get(base + "/api/v1/rules")["data"]["groups"] for rule in group["rules"]]
    check(len(rules) > 20 and all(rule["health"] in ("ok", "unknown") for rule in rules), "rules: %s", [r for r in rules if r["health"] == "err"])
    firing = lambda: {alert["labels"]["alertname"]: alert for alert in get(base + "/api/v1/alerts")["data"]["alerts"] if alert["state"] == "firing"}
    wanted = {"RocewatchIncidentCritical", "RocewatchPauseTimeCritical", "RocewatchEcnSilent"}
    alerts = wait_for("alerts %s" % wanted, lambda: wanted <= set(firing()) and firing())
    check("node-010" in alerts["RocewatchIncidentCritical"]["annotations"]["summary"], "the alert names the culprit: %s", alerts["RocewatchIncidentCritical"])
    for quiet in ("RocewatchScrapeDown", "RocewatchAgentDown", "RocewatchTargetStale", "RocewatchLosslessDrop", "RocewatchDeadlock"):
        check(quiet not in alerts, "%s fires", quiet)
    processes[0].terminate()  # no web server, no metrics: said too
    wait_for("RocewatchScrapeDown", lambda: "RocewatchScrapeDown" in firing())


def main():
    if not shutil.which("prometheus"):
        sys.exit(77)
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
