#!/usr/bin/env python3
"""test_xray.py ROCEWATCH PACKETSIM - hashes of leaves learned from flows, as csv and from a database; prescribed ports make uplinks even."""
import csv
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "sflow"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "web"))
import sflow as S  # noqa: E402
from web_server import Web  # noqa: E402

ROCEWATCH, PACKETSIM = sys.argv[1:]
UPLINKS = ["Ethernet%d" % n for n in range(9, 17)]
RING = ["--workload", "ring", "--leaves", "4", "--spines", "8", "--hosts", "8", "--qps", "12", "--flow-kb", "10", "--length", "60"]


def played(folder, *options):
    """Its flows, and max/mean-1 of the data octets over the uplinks of each leaf."""
    subprocess.run([PACKETSIM, *RING, *options, "--out", folder], check=True)
    first, last = {}, {}
    for line in (folder / "samples.tsv").read_text().splitlines():
        _, device, port, priority, metric, value = (line.split("\t") + 6 * [""])[:6]
        if metric == "queue.out_octets" and priority == "3" and device.startswith("leaf") and port in UPLINKS:
            first.setdefault((device, port), int(value))
            last[device, port] = int(value)
    sent = [[last[leaf, port] - first[leaf, port] for port in UPLINKS] for leaf in ("leaf1", "leaf2", "leaf3", "leaf4")]
    return list(csv.DictReader((folder / "flows.csv").open())), [8 * max(leaf) / sum(leaf) - 1 for leaf in sent]


def xray(code, *words):
    done = subprocess.run([ROCEWATCH, "xray", *words], stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == code, (words, done)
    return done.stdout


def table(path, rows, names):
    with path.open("w") as out:
        writer = csv.DictWriter(out, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


def recorded(folder, flows):
    """A database of an agent whose mirrors of leaf1's uplinks saw the flows, 20 of each a second."""
    for port in UPLINKS:
        frames = [S.roce(f["src"], f["dst"], qp=int(f["dst_qp"]), sport=int(f["src_port"]), payload=64)
                  for f in flows if (f["device"], f["member"]) == ("leaf1", port)]
        (folder / ("capture-%s.pcap" % port)).write_bytes(S.pcap(frames, 50_000_000, 0))
    (folder / "capture.yaml").write_text("capture:\n" + "".join(
        '  - { name: %s, interface: m%s, port: "leaf1:%s", direction: out, interval: 1s }\n' % (p, p, p) for p in UPLINKS))
    subprocess.run([ROCEWATCH, "replay", "--from", folder, "--db", folder / "db"], check=True, stdout=subprocess.DEVNULL)
    return folder / "db"


def served(db, since, flows):
    """What HTTP and MCP answer of the same database."""
    text = flows.read_text().replace("\r", "").strip().replace("\n", ";")
    with Web(pathlib.Path(ROCEWATCH).parent, ["--db", db]) as web:
        learned, told, even = (web.json("/api/v1/xray/%s?%s" % (what, urllib.parse.urlencode({"since": since, **given}))) for what, given in (
            ("learn", {}), ("predict", {"flows": text}), ("prescribe", {"flows": text, "ports": "49152-65535"})))
        wrong = web.get("/api/v1/xray/prescribe?" + urllib.parse.urlencode({"since": since, "flows": text, "ports": "9-1"}))
    assert wrong[0] == 400 and b"is not a range" in wrong[2], wrong
    calls = [{"name": "xray_" + what, "arguments": {"since": since, **given}} for what, given in (
        ("learn", {}), ("predict", {"flows": text}), ("prescribe", {"flows": text, "ports": "49152-65535"}), ("predict", {"flows": "src;10.0.0.1"}))]
    lines = [{"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}]
    lines += [{"id": i + 1, "method": "tools/call", "params": call} for i, call in enumerate(calls)]
    done = subprocess.run([ROCEWATCH, "mcp", "--db", db], input="".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines),
                          stdout=subprocess.PIPE, text=True, check=True)
    answers = [json.loads(line)["result"] for line in done.stdout.splitlines()][1:]
    assert answers[3]["isError"] and "dst" in answers[3]["content"][0]["text"], answers[3]
    assert [a["structuredContent"] for a in answers[:3]] == [learned, told, even]
    return learned, told, even


def main(tmp):
    seen, _ = played(tmp / "seen", "--crc", "1", "--fresh", "1", "--steps", "30")
    job, before = played(tmp / "job", "--crc", "1", "--steps", "2")
    job = job[:len(job) // 2]
    wanted = table(tmp / "wanted.csv", job, ["device", "src", "dst", "src_port", "dst_qp"])
    ports = {(r["src"], r["dst"], r["dst_qp"]): r["src_port"]
             for r in csv.DictReader(io.StringIO(xray(0, "prescribe", table(tmp / "samples.csv", seen, seen[0]), "--flows", wanted, "--format", "csv")))}
    (tmp / "ports").write_text("\n".join(ports[f["src"], f["dst"], f["dst_qp"]] for f in job))
    _, after = played(tmp / "even", "--crc", "1", "--steps", "2", "--ports", tmp / "ports")
    print("max/mean-1 of the leaves' uplinks", [round(b, 3) for b in before], "with prescribed ports", after)
    assert min(before) > 0.2 and max(after) == 0
    own = table(tmp / "own.csv", [f for f in job if f["device"] == "leaf1"], ["device", "src", "dst", "src_port", "dst_qp"])
    db, since = recorded(tmp / "seen", seen), "1970-01-01T00:00:00Z"
    told = json.loads(xray(0, "predict", "--db", db, "--since", since, "--flows", own, "--format", "json"))
    assert [r["path"] for r in told["flows"]] == [["leaf1:" + f["member"]] for f in job if f["device"] == "leaf1"]
    few = table(tmp / "few.csv", [f for f in job if f["device"] == "leaf1"][:24], ["device", "src", "dst", "src_port", "dst_qp"])
    asked = served(db, since, few)
    assert [g["verdict"] for g in asked[0]["groups"]] == ["learned"] and asked[1]["flows"] == told["flows"][:24], asked
    assert asked[2] == json.loads(xray(0, "prescribe", "--db", db, "--since", since, "--flows", few, "--format", "json"))
    keyed, _ = played(tmp / "keyed", "--fresh", "1", "--steps", "30")
    groups = json.loads(xray(1, "learn", table(tmp / "keyed.csv", keyed, keyed[0]), "--device", "leaf1", "--format", "json"))["groups"]
    assert [g["verdict"] for g in groups] == ["unlearnable"], groups


with tempfile.TemporaryDirectory() as top:
    main(pathlib.Path(top))
