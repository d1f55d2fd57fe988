#!/usr/bin/python3
"""A switch that changes under the poller: its agent restarts, its counters start over, a port comes and goes. No spike is drawn, no
device is lost, and what a delta must not span is flagged."""
import csv
import io
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lab import check, largest_gap_s, main, wait_for  # noqa: E402
from patience import HANG_S  # noqa: E402

SWITCHES = ["leaf1", "leaf2", "spine1"]
LINE_BYTES_S = 100e6 / 8 * 1.05


def ended(pid):
    """Gone, or a zombie: its sockets are closed."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def rates(lab, config, metric, device):
    out = lab.run(config, "query", metric, "--device", device, "--rate", "--since", "10m", "--format", "csv")
    return [(r["time"], r["port"], r["priority"], float(r["value"])) for r in csv.DictReader(io.StringIO(out)) if r["value"] != ""]


def flagged(lab, config, metric, device, flag):
    return [s for s in lab.samples(config, metric) if s[1] == device and flag in s[4]]


def test(lab):
    lab.sinks()
    for host in ("host1", "host2", "host3", "host4"):
        lab.send_healthy(host)

    def tables():
        p = lab.popen("leaf1", [lab.build / "tests/fake/switch_tables", "-x", lab.dir / "leaf1" / "agentx.sock", "-f", "cisco", "-i", "swp51"],
                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        check(p.stdout.readline().startswith("serving"), "switch_tables did not start")
        return p
    pfc = tables()
    config = lab.config(switches=SWITCHES, capture=False, profiles={"leaf1": "nxos"})
    agent = lab.agent(config)
    wait_for("all up", lambda: (lab.dir / "rocewatch.db").exists() and lab.all_up(config, SWITCHES), 30, 0.3, agent)

    def polls(d):
        return lab.polls(config).get(d, [])

    def more(d, n=3):
        have = len(polls(d))
        wait_for("%d more polls of %s" % (n, d), lambda: len(polls(d)) >= have + n, 30, 0.3, agent)
    more("leaf1")

    # A port appears and goes again; it must be seen, and must not take the device with it.
    ns = lab.prefix + "-leaf2"
    subprocess.run(["ip", "-n", ns, "link", "add", "swp9", "type", "veth", "peer", "name", "swp10"], check=True)
    subprocess.run(["ip", "-n", ns, "link", "set", "swp9", "up"], check=True)
    wait_for("samples of the new port", lambda: any(s[1] == "leaf2" and s[2] == "swp9" for s in lab.samples(config, "port.out_octets")), 60, 0.5, agent)
    subprocess.run(["ip", "-n", ns, "link", "del", "swp9"], check=True)
    more("leaf2", 5)
    check(lab.status(config)["leaf2"]["up"], "leaf2 was lost with its port")

    # The PFC counters start over: the tables' program restarts.
    generator = lab.popen("spine1", [lab.build / "tests/lab/pfc_gen", "swp1", 3, 500])
    check(generator.wait(HANG_S) == 0, "pfc_gen")
    wait_for("500 frames counted", lambda: max((s[3] for s in lab.samples(config, "pfc.rx_frames") if s[1] == "leaf1"), default=0) == 500, 30, 0.5, agent)
    lab.end(pfc)
    pfc = tables()
    generator = lab.popen("spine1", [lab.build / "tests/lab/pfc_gen", "swp1", 3, 40])
    check(generator.wait(HANG_S) == 0, "pfc_gen")
    wait_for("counters that start over", lambda: [s[3] for s in lab.samples(config, "pfc.rx_frames") if s[1] == "leaf1"][-1] in (0, 40), 30, 0.5, agent)
    more("leaf1", 4)
    worst = max((r[3] for r in rates(lab, config, "pfc.rx_frames", "leaf1")), default=0)
    at = polls("leaf1")
    closest_s = min((b - a) / 1e9 for a, b in zip(at, at[1:]))  # all 500 frames may lie between the two closest polls
    check(worst <= 600 / min(1, closest_s), "a reset drew a rate of %g frames/s" % worst)

    # The agent restarts: sysUpTime goes back.
    before = len(flagged(lab, config, "port.out_octets", "leaf2", "restart"))
    os.kill(lab.pid["leaf2"], signal.SIGKILL)
    wait_for("the end of the first one, which holds the port", lambda: ended(lab.pid["leaf2"]), 30, 0.05, agent)
    d = lab.dir / "leaf2"
    subprocess.Popen(["ip", "netns", "exec", ns, "snmpd", "-f", "-C", "-c", str(d / "snmpd.conf"), "-p", str(d / "snmpd2.pid"), "-Lf", str(d / "snmpd2.log"),
                      "-r", "udp:%s:161" % lab.address("leaf2")], env={**os.environ, "MIBS": "", "SNMP_PERSISTENT_DIR": str(d / "persist2"), "SNMPCONFPATH": str(d)},
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lab.children.append(_Pid(d / "snmpd2.pid"))
    wait_for("a restart flag", lambda: len(flagged(lab, config, "port.out_octets", "leaf2", "restart")) > before, 40, 0.5, agent)
    more("leaf2", 3)
    check(lab.status(config)["leaf2"]["up"], "leaf2 did not come back")

    for device in SWITCHES:
        worst = max(rates(lab, config, "port.out_octets", device), key=lambda r: r[3])
        check(worst[3] <= LINE_BYTES_S, "%s %s at %s: %g bytes/s is above the line" % (device, worst[1], worst[0], worst[3]))
    for device in ("leaf1", "spine1"):
        check(largest_gap_s(polls(device)) < 2 + lab.late_s(), "%s was delayed by its neighbour's restart" % device)
    check(lab.end(agent) == 0, "the agent did not end well")
    print("polls: %s" % {d: len(p) for d, p in lab.polls(config).items()})


class _Pid:
    """What Lab.down() needs of a child that a pid file names."""

    def __init__(self, path):
        self.path = path

    def poll(self):
        return None

    def kill(self):
        try:
            os.kill(int(self.path.read_text()), signal.SIGKILL)
        except (OSError, ValueError):
            pass

    def wait(self):
        pass


main(test, "change")
