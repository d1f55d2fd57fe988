#!/usr/bin/env python3
"""bench_pcap.py BUILDDIR [PACKETS FLOWS]... - see bench_pcap.sh.

Each program reads the file from the page cache; what counts is its CPU time, user and system, all threads and children. The programs take
turns, and each round begins with another one; the figure is the median of the rounds. Each program's own count of packets is checked. A
program that is not installed is said and left out.
"""
import collections, json, os, re, shutil, statistics, subprocess, sys, tempfile

FILTER = "udp port 4791 or (vlan and udp port 4791)"
FIELDS = ["ip.src", "ip.dst", "udp.srcport", "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn", "ip.dsfield.ecn"]
TSHARK_PACKETS = 50000  # it needs a hundred times as long as the others
LIMIT_S = int(os.environ.get("LIMIT", "60"))  # of one run; a program that needs longer is said and left out
SLOW_RUNS = 1  # of programs that take more than ten times as long as the loop

Run = collections.namedtuple("Run", "cpu_s rss_mib out err")


class TooLong(Exception):
    pass


def run(command, **more):
    """CPU of the program and its children, and the memory it had at most: GNU time says that, since Linux counts the memory of whoever
    starts a program as the program's own."""
    memory = None
    command = ["timeout", str(LIMIT_S)] + command
    if shutil.which("time"):
        memory = tempfile.NamedTemporaryFile(mode="r")
        command = [shutil.which("time"), "-f", "%M", "-o", memory.name] + command
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, **more)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        texts = [f.read().decode(errors="replace") for f in (out, err)]
    rss_mib = int(memory.read().split()[-1]) / 1024 if memory else float("nan")
    if child.returncode == 124:
        raise TooLong
    if child.returncode:
        sys.exit(f"{' '.join(command)}: exit {child.returncode}: {texts[1][-300:]}")
    return Run(usage.ru_utime + usage.ru_stime, rss_mib, *texts)


class Peer:
    """A program: .run(file) -> Run, .count(Run) -> packets or None, .needs a program of the system."""

    needs = None
    slow = False
    part = None  # packets it reads; None: all

    def __init__(self, build, scratch):
        self.build, self.scratch = build, scratch


class Loop(Peer):
    name = "pcap_next_ex and nothing else"

    def run(self, file):
        return run([f"{self.build}/tests/bench/pcap_loop", file])

    def count(self, done):
        return int(done.out.split()[0])


class Table(Peer):
    name = "rocewatch pcap"

    def run(self, file):
        return run([f"{self.build}/rocewatch", "pcap", file])

    def count(self, done):
        return int(re.search(r"^captured +([\d,]+) packets", done.out, re.M).group(1).replace(",", ""))


class Json(Peer):
    name = "rocewatch pcap --format json"

    def run(self, file):
        return run([f"{self.build}/rocewatch", "pcap", "--format", "json", file])

    def count(self, done):
        return json.loads(done.out)["packets"]


class Tcpdump(Peer):
    name = "tcpdump -w /dev/null, RoCE filter"
    needs = "tcpdump"

    def run(self, file):
        return run(["tcpdump", "-r", file, "-w", "/dev/null", FILTER])

    def count(self, done):
        return None  # says nothing; it decodes nothing


class Nfpcapd(Peer):
    name = "nfpcapd"
    needs = "nfpcapd"

    def run(self, file):
        folder = os.path.join(self.scratch, "nf")
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        return run(["nfpcapd", "-r", file, "-w", folder])

    def count(self, done):
        return int(re.search(r"Processed: (\d+)", done.out + done.err).group(1))


class Softflowd(Peer):
    name = "softflowd"
    needs = "softflowd"

    def run(self, file):
        here = self.scratch
        return run(["softflowd", "-d", "-r", file, "-m", "4000000", "-p", f"{here}/sf.pid", "-c", f"{here}/sf.ctl"])

    def count(self, done):
        return int(re.search(r"Packets processed: (\d+)", done.out + done.err).group(1))


class Pmacctd(Peer):
    name = "pmacctd, print plugin"
    needs = "pmacctd"
    slow = True

    def run(self, file):
        config = os.path.join(self.scratch, "pmacctd.conf")
        with open(config, "w") as f:
            f.write(f"daemonize: false\npcap_savefile: {file}\naggregate: src_host,dst_host,src_port,dst_port,proto\nplugins: print\n"
                    "print_output: csv\nprint_refresh_time: 3600\nprint_cache_entries: 200003\n")
        return run(["pmacctd", "-f", config])

    def count(self, done):
        rows = [line.split(",") for line in done.out.splitlines() if line.count(",") > 5]
        at = rows[0].index("PACKETS")
        return sum(int(row[at]) for row in rows[1:])


class Tshark(Peer):
    name = f"tshark -T fields, {len(FIELDS)} fields"
    needs = "tshark"
    slow = True
    part = TSHARK_PACKETS

    def run(self, file):
        command = ["tshark", "-c", str(TSHARK_PACKETS), "-r", file, "-T", "fields"]
        for field in FIELDS:
            command += ["-e", field]
        return run(command)

    def count(self, done):
        return len(done.out.splitlines())


def measure(peers, file, packets, runs):
    done = {peer: [] for peer in peers}
    for i in range(runs):
        for peer in peers[i % len(peers):] + peers[:i % len(peers)]:
            if peer not in done or (peer.slow and len(done[peer]) >= SLOW_RUNS):
                continue
            try:
                result = peer.run(file)
            except TooLong:
                print(f"{peer.name}: not done after {LIMIT_S} s, left out", flush=True)
                del done[peer]
                continue
            counted = peer.count(result)
            if counted not in (None, peer.part or packets):
                sys.exit(f"{peer.name}: counted {counted} packets of {peer.part or packets}")
            done[peer].append(result)
    return done


def table(done, packets):
    def ns(peer):
        return statistics.median(r.cpu_s for r in done[peer]) * 1e9 / (peer.part or packets)

    unit = ns(next(peer for peer in done if isinstance(peer, Loop)))
    print("| program | CPU ns per packet | in loops | memory MiB | runs |\n|---|---|---|---|---|")
    for peer in sorted(done, key=ns):
        rss = max(r.rss_mib for r in done[peer])
        print(f"| {peer.name} | {ns(peer):.0f} | {ns(peer) / unit:.2f} | {rss:.0f} | {len(done[peer])} |")


def main():
    build, sizes = sys.argv[1], [int(a) for a in sys.argv[2:]]
    sizes = list(zip(sizes[::2], sizes[1::2])) or [(2000000, 100), (2000000, 20000), (2000000, 400000), (10000000, 20000)]
    runs = int(os.environ.get("RUNS", "5"))
    with tempfile.TemporaryDirectory(prefix="rw-bench-pcap-") as scratch:
        classes = [Loop, Table, Json]
        if os.environ.get("PEERS", "1") != "0":
            classes += [Tcpdump, Nfpcapd, Softflowd, Pmacctd, Tshark]
        peers = [c(build, scratch) for c in classes]
        for peer in [p for p in peers if p.needs and not shutil.which(p.needs)]:
            print(f"{peer.needs} is not installed: left out (scripts/packages-bench.txt)")
            peers.remove(peer)
        for packets, flows in sizes:
            file = os.path.join(scratch, "bench.pcap")
            subprocess.run([f"{build}/tests/bench/make_capture", str(packets), str(flows), file], check=True)
            peers[0].run(file)  # into the page cache
            print(f"\n{packets:,} packets, {flows:,} flows ({2 * flows:,} directions of queue pairs), cut to 128 bytes:\n", flush=True)
            table(measure(peers, file, packets, runs), packets)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
