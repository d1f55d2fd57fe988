#!/usr/bin/env python3
"""check_view.py BUILD ROOT FACE - is what the agent really asks for over SNMP in the list of docs/switches/FACE.md? An agent polls a switch of the
simulated fabric through a relay that reads the object identifiers of each request. Everything asked must stand below a row of the page's table, and
every row must have been asked for something. 77 where no SNMP agent can be started."""
import os, re, shutil, signal, socket, subprocess, sys, tempfile, threading, time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from patience import HANG_S, Limit  # noqa: E402

build, root, face = sys.argv[1:]
PATIENCE_S = 60


def identifiers(data):
    """The object identifiers in a BER message, at any depth."""
    at = 0
    while at + 2 <= len(data):
        tag, n, at = data[at], data[at + 1], at + 2
        if n & 0x80:
            more = n & 0x7F
            n, at = int.from_bytes(data[at : at + more], "big"), at + more
        part, at = data[at : at + n], at + n
        if tag == 6:
            arcs, value = [part[0] // 40, part[0] % 40], 0
            for byte in part[1:]:
                value = value << 7 | byte & 0x7F
                if not byte & 0x80:
                    arcs.append(value)
                    value = 0
            yield tuple(arcs)
        elif tag & 0x20:
            yield from identifiers(part)


class Relay(threading.Thread):
    def __init__(self, switch):
        super().__init__(daemon=True)
        self.asked, self.switch = set(), switch
        self.here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.here.bind(("127.0.0.1", 0))
        self.there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.peer = None
        threading.Thread(target=self.back, daemon=True).start()

    def run(self):
        while True:
            data, self.peer = self.here.recvfrom(65536)
            self.asked.update(identifiers(data))
            self.there.sendto(data, self.switch)

    def back(self):
        self.there.bind(("127.0.0.1", 0))
        while True:
            self.here.sendto(self.there.recv(65536), self.peer)


def listed():
    with open(os.path.join(root, "docs/switches/%s.md" % face)) as f:
        table = f.read().split("### Polled over SNMP")[1].split("###")[0]
    return [tuple(map(int, oid.split("."))) for oid in re.findall(r"^\| ([\d.]+) \|", table, re.M)]


def main(folder):
    lab = subprocess.Popen([build + "/rocewatch", "lab", "run", "healthy", "--face", face, "--dir", folder + "/lab"],
                           stdout=open(folder + "/lab.log", "w"), stderr=subprocess.STDOUT)
    agent = None
    try:
        limit = Limit(PATIENCE_S)
        while "serving" not in open(folder + "/lab.log").read():
            if lab.poll() is not None or limit.over():
                print("the lab serves nothing: " + open(folder + "/lab.log").read())
                return 77
            time.sleep(0.1)
        with open(folder + "/lab/rocewatch.yaml") as f:
            host, port = re.search(r'name: leaf1,.*?address: "([\d.]+):(\d+)"', f.read()).groups()
        relay = Relay((host, int(port)))
        relay.start()
        config = folder + "/rocewatch.yaml"
        with open(config, "w") as f:
            f.write("user: root\nfabric: view\nstore: { path: %s/rocewatch.db }\ncredentials:\n  lab: { snmp: { version: 2c, community_file: %s/lab/community } }\n"
                    "defaults: { interval: 1s, slow_interval: 2s }\nlinks: discover\ndevices:\n"
                    "  - { name: leaf1, role: leaf, snmp: { address: \"127.0.0.1:%d\", credentials: lab } }\n" % (folder, folder, relay.here.getsockname()[1]))
        agent = subprocess.Popen([build + "/rocewatch", "-c", config, "agent"], stdout=open(folder + "/agent.log", "w"), stderr=subprocess.STDOUT)
        roots = listed()

        def covers(oid):
            return [r for r in roots if oid[: len(r)] == r]

        while True:
            asked = set(relay.asked)
            outside = [oid for oid in asked if not covers(oid)]
            unasked = set(roots) - {r for oid in asked for r in covers(oid)}
            # rows that are asked only where another table has nothing, and slow ones, come later
            if outside or not unasked or limit.over():
                break
            time.sleep(0.1)
        for oid in sorted(outside):
            print("docs/switches/%s.md does not list %s, which is asked" % (face, ".".join(map(str, oid))))
        for oid in sorted(unasked):
            print("docs/switches/%s.md lists %s, which was not asked in %s" % (face, ".".join(map(str, oid)), limit))
        print("%d rows, %d objects asked" % (len(roots), len(asked)))
        return int(bool(outside or unasked))
    finally:
        for child in (agent, lab):
            if child and child.poll() is None:
                child.send_signal(signal.SIGTERM)
                child.wait(HANG_S)


work = tempfile.mkdtemp()
try:
    code = main(work)
finally:
    shutil.rmtree(work, ignore_errors=True)
sys.exit(code)
