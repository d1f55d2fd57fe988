#!/usr/bin/env python3
"""Points per second and core of CPU: rocewatch (OTLP/gRPC to committed samples, windows judged) and the OpenTelemetry Collector on the
same stream in the same run. The stream is encoded before it is sent. CPU is user and system time of the process and its children, from
before the first message until it stays idle.

usage: bench_otlp.py ROCEWATCH OTELCOL SEND SINK [ROUNDS [RUNS]]

OTELCOL is built by go.opentelemetry.io/collector/cmd/builder v0.120.0 with otlpreceiver, batchprocessor, debugexporter, otlpexporter,
fileexporter and prometheusremotewriteexporter. SEND and SINK: go build of the folders beside this file, with pdata v1.26.0 and grpc v1.70.0."""
import os
import subprocess
import sys
import tempfile
import time

ROCEWATCH, OTELCOL, SEND, SINK = [os.path.abspath(path) for path in sys.argv[1:5]]
ROUNDS = sys.argv[5] if len(sys.argv) > 5 else "50"
RUNS = int(sys.argv[6]) if len(sys.argv) > 6 else 1
TICKS = os.sysconf("SC_CLK_TCK")
EXPORTERS = {"otlp": '{endpoint: "127.0.0.1:44317", tls: {insecure: true}}',
             "prometheusremotewrite": '{endpoint: "http://127.0.0.1:44318/write"}', "debug": "{verbosity: basic}"}


def family(pid):
    yield pid
    for child in subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split():
        yield from family(int(child))


def cpu(pid):
    total = 0
    for one in family(pid):
        fields = open("/proc/%d/stat" % one).read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def measure(name, command, port, idle, warm):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(warm)
    before = cpu(process.pid)
    out = subprocess.run([SEND, "-to", "127.0.0.1:%d" % port, "-rounds", ROUNDS], capture_output=True, text=True, check=True).stdout
    points, last = int(out.split("sent ")[1].split()[0]), None
    for _ in range(120):
        time.sleep(1)
        now = cpu(process.pid)
        if last is not None and now - last <= idle:
            break
        last = now
    used = cpu(process.pid) - before
    process.terminate()
    process.wait()
    print("%-22s %9d points  %6.2f CPU s  %9.0f points/s and core" % (name, points, used, points / used), flush=True)
    return points / used


def ours(folder):
    config = os.path.join(folder, "rocewatch.yaml")
    with open(config, "w") as out:
        out.write("fabric: bench\nstore: { path: %s/rocewatch.db }\ndevices:\n" % folder)
        for i in range(4):
            out.write("  - { name: leaf%d, push: { interval: 1s } }\n" % (i + 1))
        out.write("push:\n  - { name: otlp, grpc: 127.0.0.1:24317, max_points_s: 10000000 }\n")
    return measure("rocewatch", [ROCEWATCH, "-c", config, "agent"], 24317, 0.06, 3)


def theirs(folder, name):
    config = os.path.join(folder, "collector.yaml")
    with open(config, "w") as out:
        out.write("receivers: {otlp: {protocols: {grpc: {endpoint: 127.0.0.1:34317, max_recv_msg_size_mib: 64}}}}\nprocessors: {batch: {}}\n"
                  "exporters: {%s: %s}\nservice:\n  telemetry: {metrics: {level: none}, logs: {level: error}}\n"
                  "  pipelines: {metrics: {receivers: [otlp], processors: [batch], exporters: [%s]}}\n" % (name, EXPORTERS[name], name))
    return measure("collector, " + name, [OTELCOL, "--config", config], 34317, 0.02, 4)


def main():
    sink = subprocess.Popen([SINK])
    try:
        for _ in range(RUNS):
            with tempfile.TemporaryDirectory() as folder:
                mine = ours(folder)
                print("ratio: " + ", ".join("%s %.1f" % (name, mine / theirs(folder, name)) for name in EXPORTERS))
    finally:
        sink.kill()


main()
