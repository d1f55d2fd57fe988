"""forms.py - what people and programs see of a capture: every form, several files, cuts, filters, progress. Called by check.py."""
import difflib, html.parser, json, os, pty, signal, struct, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
T0 = 1700000000


class Forms:
    def __init__(self, program, folder, update):
        self.program, self.folder, self.update, self.failed = program, folder, update, False

    def run(self, *args, code=0, **how):
        done = subprocess.run([self.program, "pcap", *args], cwd=self.folder, capture_output=True, text=True, **how)
        assert done.returncode == code, (args, done.returncode, done.stderr)
        return done

    def json(self, *args, **how):
        return json.loads(self.run("--format", "json", *args, **how).stdout)

    def golden(self, name, text):
        path = os.path.join(HERE, "forms", name)
        if self.update:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            open(path, "w").write(text)
        want = open(path).read() if os.path.exists(path) else ""
        if text != want:
            self.failed = True
            sys.stdout.writelines(difflib.unified_diff(want.splitlines(True), text.splitlines(True), name + " expected", name + " got"))


# ---- captures made of others: plain pcap with microseconds, Ethernet


def frames_of(path):
    """(seconds, microseconds, bytes) of each record of a little-endian pcap."""
    data, at, out = open(path, "rb").read(), 24, []
    nano = data[:4] == b"\x4d\x3c\xb2\xa1"
    while at < len(data):
        s, f, n, _ = struct.unpack_from("<IIII", data, at)
        out.append((s, f if nano else f * 1000, data[at + 16:at + 16 + n]))
        at += 16 + n
    return out


def write(path, frames, link=1):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHIIII", 0xa1b23c4d, 2, 4, 0, 0, 262144, link))
        for s, ns, b in frames:
            f.write(struct.pack("<IIII", s, ns, len(b), len(b)) + b)


def ethernet(ethertype, payload):
    return bytes.fromhex("020000000002020000000001") + struct.pack(">H", ethertype) + payload.ljust(46, b"\0")


def ip(protocol, port):
    head = struct.pack(">BBHHHBBH", 0x45, 0, 40, 0, 0, 64, protocol, 0) + bytes([10, 0, 0, 1, 10, 0, 0, 2])
    return ethernet(0x0800, head + struct.pack(">HHHH", 40000, port, 20, 0) + bytes(12))


def same(left, right, but=("file", "files", "selected")):
    a, b = ({k: v for k, v in d.items() if k not in but} for d in (left, right))
    for k in sorted(set(a) | set(b)):
        assert a.get(k) == b.get(k), (k, a.get(k), b.get(k))


# ---- the tests


def texts(t):
    """Reports as a person sees them; no line is wider than a terminal."""
    other = [ip(17, 53)] * 5 + [ip(6, 443)] * 3 + [ethernet(0x0806, b"")] * 2 + [ethernet(0x88cc, b"")]
    write(os.path.join(t.folder, "other.pcap"), [(T0, i * 1000, b) for i, b in enumerate(other)])
    for name in ("loss.pcapng", "congestion.pcapng", "odd.pcap", "other.pcap"):
        text = t.run(name).stdout
        assert max(len(line) for line in text.splitlines()) <= 100, name
        t.golden(name + ".txt", text)
    doc = t.json("other.pcap")
    assert doc["other"]["udp_ports"] == {"53 (dns)": 5} and doc["other"]["ethertypes"] == {"0x0806 (ARP)": 2, "0x88cc (LLDP)": 1}, doc["other"]
    assert doc["verdicts"][0]["kind"] == "no_roce"


class Page(html.parser.HTMLParser):
    """Every element that is opened is closed, and nothing is fetched from elsewhere."""
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        assert tag != "script" and not any(k in ("src", "href") for k, _ in attrs), (tag, attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


def forms(t):
    for form in ("csv", "jsonl", "md"):
        t.golden("loss." + form, t.run("--format", form, "loss.pcapng").stdout)
    lines = [json.loads(line) for line in t.run("--format", "jsonl", "loss.pcapng").stdout.splitlines()]
    assert [x["type"] for x in lines] == ["capture"] + ["qp"] * 4 and all(x["file"] == "loss.pcapng" for x in lines)
    assert "qps" not in lines[0]
    text = t.run("--format", "html", "--bin", "100us", "loss.pcapng", "congestion.pcapng").stdout
    page = Page()
    page.feed(text)
    assert page.open == [] and {"h2", "table", "svg", "rect"} <= page.seen, page.seen
    assert t.run("--format", "csv", "--no-header", "loss.pcapng").stdout.count("\n") == 4
    # what stands in no row of one format stands in none of the others
    doc = t.json("loss.pcapng")
    assert [q["dst_qp"] for q in doc["qps"]] == [x["dst_qp"] for x in lines[1:]] and doc["qps_total"] == 4


def several(t):
    """A capture cut into files in any way is told like the whole one."""
    frames, whole = frames_of(os.path.join(t.folder, "healthy.pcap")), t.json("healthy.pcap")
    rotated, dealt = os.path.join(t.folder, "rotated"), os.path.join(t.folder, "dealt")
    os.mkdir(rotated)
    os.mkdir(dealt)
    for i in range(0, len(frames), 5):
        write(os.path.join(rotated, "leaf1.pcap" + (str(i // 5) if i else "")), frames[i:i + 5])
    open(os.path.join(rotated, "notes.txt"), "w").write("left out")
    for i in range(3):
        write(os.path.join(dealt, f"x_{9 - i:05}_20261122.pcap"), frames[i::3])
    done = t.run("--format", "json", "rotated")
    parts = json.loads(done.stdout)
    assert done.stderr.count("\n") == 1 and "rotated/notes.txt" in done.stderr, done.stderr
    assert t.run("-q", "rotated").stderr == ""
    same(parts, whole)
    assert parts["file"] == "rotated" and parts["files"][:2] == ["rotated/leaf1.pcap", "rotated/leaf1.pcap1"] and len(parts["files"]) == 9
    same(t.json("dealt"), whole)
    # few descriptors for many files that follow each other
    many = os.path.join(t.folder, "many")
    os.mkdir(many)
    for i, frame in enumerate(frames * 6):
        s, ns, b = frame
        write(os.path.join(many, f"{i}.pcap"), [(s + i, ns, b)])
    done = subprocess.run(f"ulimit -n 16; exec {t.program} pcap --format json many", shell=True, cwd=t.folder, capture_output=True, text=True)
    assert done.returncode == 0 and json.loads(done.stdout)["packets"] == 6 * len(frames), done.stderr
    each = t.json("--per-file", "dealt")["captures"]
    assert [c["packets"] for c in each] == [13, 14, 14] and each[0]["file"].startswith("dealt/x_00007"), [c["packets"] for c in each]


def damaged(t):
    """One file that ends too early and one that is no capture: the rest is told, both are named, exit 1."""
    mixed = os.path.join(t.folder, "mixed")
    os.mkdir(mixed)
    good = open(os.path.join(t.folder, "healthy.pcap"), "rb").read()
    open(os.path.join(mixed, "a.pcap"), "wb").write(good[:len(good) // 2])
    open(os.path.join(mixed, "b.pcap"), "w").write("this is no capture")
    open(os.path.join(mixed, "c.pcap"), "wb").write(good)
    open(os.path.join(mixed, "d.pcap"), "wb").write(good[:10])
    done = t.run("--format", "json", "mixed", code=1)
    doc = json.loads(done.stdout)
    assert done.stderr.count("\n") == 3 and all("mixed/%s.pcap" % x in done.stderr for x in "abd"), done.stderr
    assert doc["files"] == ["mixed/a.pcap", "mixed/c.pcap", "mixed/d.pcap"] and doc["errors"]["truncated_file"] == 2, doc["files"]
    assert [v["n"] for v in doc["verdicts"] if v["kind"] == "damaged_file"] == [2]


def cuts(t):
    """A cut by time, host or priority is the report of a capture that holds only those packets."""
    frames = frames_of(os.path.join(t.folder, "healthy.pcap"))
    first = frames[0][0] * 10**9 + frames[0][1]
    inside = [f for f in frames if 100_000 <= f[0] * 10**9 + f[1] - first <= 400_000]
    write(os.path.join(t.folder, "inside.pcap"), inside)
    want = t.json("inside.pcap")
    assert 0 < want["packets"] < len(frames)
    at = lambda us: "2023-11-14T22:13:20.%06dZ" % (frames[0][1] // 1000 + us)
    last = (frames[-1][0] * 10**9 + frames[-1][1] - first) // 1000
    same(t.json("healthy.pcap", "--since", "+100us", "--until", "+400us"), want)
    same(t.json("healthy.pcap", "--since", at(100), "--until", at(400)), want)
    same(t.json("healthy.pcap", "--around", "+250us", "--span", "150us"), want)
    same(t.json("healthy.pcap", "--since", f"{last - 100}us", "--until", f"{last - 400}us"), want)
    done = subprocess.run([t.program, "pcap", "-", "--since", "5m"], stdin=open(os.path.join(t.folder, "healthy.pcap")), capture_output=True, text=True)
    assert done.returncode == 2 and "pipe" in done.stderr, done
    # hosts and priorities, with tags and both IP versions
    doc, six, four = t.json("congestion.pcapng"), t.json("congestion.pcapng", "--host", "fd00::/16"), t.json("congestion.pcapng", "--host", "10.0.0.1")
    assert six["roce_packets"] + four["roce_packets"] == doc["roce_packets"] and six["packets"] == six["roce_packets"] > 0
    assert all(":" in q["src"] for q in six["qps"]) and all("." in q["src"] for q in four["qps"])
    assert t.json("congestion.pcapng", "--host", "10.9.9.9")["packets"] == 0
    # all data is of priority 3; one PFC frame names priority 4, too; CNPs and 802.3x pauses belong to every priority
    same(t.json("congestion.pcapng", "--priority", "3"), doc)
    four = t.json("congestion.pcapng", "--priority", "4")
    assert (four["roce_packets"], four["cnp"], four["pfc_frames"], four["pause_frames"]) == (doc["cnp"], doc["cnp"], 1, 1), four


def rows(t):
    doc, one = t.json("loss.pcapng"), t.json("loss.pcapng", "--qp", "0x12")
    assert [q["dst_qp"] for q in one["qps"]] == [18] and one["packets"] == doc["packets"] and one["selected"] == {"dst_qps": [18]}
    assert all(v.get("dst_qp", 18) == 18 for v in one["verdicts"])
    top = t.json("loss.pcapng", "--top", "1", "--sort", "retransmits")
    assert len(top["qps"]) == 1 and top["qps_total"] == 4 and top["qps"][0]["dst_qp"] == 17
    nak = t.json("loss.pcapng", "--sort", "nak")["qps"]
    values = [(q["nak_returned"] or 0) + (q["rnr_nak_returned"] or 0) for q in nak]
    assert values == sorted(values, reverse=True) and values[0] > 0
    assert "2 more: --top 0" in t.run("loss.pcapng", "--top", "2").stdout
    known = t.json("loss.pcapng", "--sampling", "100")
    assert known["gaps"] in (None, 0)


def progress(t):
    """A long file on a terminal shows how far it is; Ctrl-C prints what was read."""
    master, slave = pty.openpty()
    frames = [(T0, i, ip(17, 53)) for i in range(1000)]
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([t.program, "pcap", "--format", "json", "-"], stdin=subprocess.PIPE, stdout=out, stderr=slave)
        os.close(slave)
        child.stdin.write(struct.pack("<IHHIIII", 0xa1b23c4d, 2, 4, 0, 0, 262144, 1))
        said, sent = b"", 0
        os.set_blocking(master, False)
        chunk = b"".join(struct.pack("<IIII", s, ns, len(b), len(b)) + b for s, ns, b in frames)
        while b"Ctrl-C" not in said:  # ctest ends a test that never sees it
            child.stdin.write(chunk)
            sent += len(frames)
            try:
                said += os.read(master, 65536)
            except BlockingIOError:
                pass
        child.send_signal(signal.SIGINT)
        try:
            while child.poll() is None:
                child.stdin.write(chunk)
                sent += len(frames)
            child.stdin.close()
        except BrokenPipeError:
            pass
        out.seek(0)
        doc = json.load(out)
    said += os.read(master, 65536)
    os.close(master)
    assert child.wait() == 1 and b"packets; Ctrl-C" in said and said.endswith(b"\r\x1b[K"), said
    assert 0 < doc["packets"] <= sent + len(frames) and doc["errors"]["interrupted"] == 1 and "interrupted" in [v["kind"] for v in doc["verdicts"]], (doc["packets"], sent, doc["errors"], doc["verdicts"])


def check(program, folder, update):
    t = Forms(program, folder, update)
    for test in (texts, forms, several, damaged, cuts, rows, progress):
        test(t)
    return t.failed
