#!/usr/bin/env python3
"""check.py MAKE_CAPTURES ROCEWATCH [--update]: golden reports of captures, each also held against tshark where it is installed.

The expected documents stand beside this file; fields that name paths are left out. Exit 0, or 1 with the differences.
"""
import collections, difflib, json, os, shutil, subprocess, sys, tempfile

sys.dont_write_bytecode = True

import forms

HERE = os.path.dirname(os.path.abspath(__file__))
FAILS = {"truncated.pcap", "truncated.pcapng"}  # exit 1, and still a report


def report(program, path):
    done = subprocess.run([program, "pcap", "--format", "json", path], capture_output=True, text=True)
    want = 1 if os.path.basename(path) in FAILS else 0
    if done.returncode != want or bool(done.stderr) != bool(want):
        raise SystemExit(f"{path}: exit {done.returncode}, stderr {done.stderr!r}")
    doc = json.loads(done.stdout)
    assert doc["file"] == path and doc["files"] == [path]
    doc["file"] = os.path.basename(path)
    doc["files"] = [doc["file"]]
    return doc


def short(doc):
    """A document with a line for each member, and for each row of a list."""
    lines = []
    for key, value in sorted(doc.items()):
        text = json.dumps(value, sort_keys=True)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            text = "[\n  " + ",\n  ".join(json.dumps(row, sort_keys=True) for row in value) + "]"
        lines.append(" " + json.dumps(key) + ": " + text)
    return "{\n" + ",\n".join(lines) + "\n}\n"


def tshark(path):
    """What tshark makes of the same file, in our words. Frames without a whole BTH do not count."""
    fields = ["ip.src", "ipv6.src", "ip.dst", "ipv6.dst", "udp.srcport", "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn",
              "ip.dsfield.ecn", "ipv6.tclass.ecn", "infiniband.aeth.syndrome", "infiniband.bth.tver"]
    command = ["tshark", "-r", path, "-Y", "infiniband.bth.opcode && udp.dstport == 4791", "-T", "fields", "-E", "occurrence=f"]
    for f in fields:
        command += ["-e", f]
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    rows = [dict(zip(fields, line.split("\t"))) for line in lines]
    out = collections.Counter()
    qps = collections.Counter()
    for r in rows:
        if int(r["infiniband.bth.tver"] or "0", 0) != 0:
            continue
        out["roce_packets"] += 1
        ecn = int(r["ip.dsfield.ecn"] or r["ipv6.tclass.ecn"], 0)
        out["ecn." + ["not_ect", "ect1", "ect0", "ce"][ecn]] += 1
        out["opcode.%d" % int(r["infiniband.bth.opcode"], 0)] += 1
        if r["infiniband.aeth.syndrome"] and int(r["infiniband.aeth.syndrome"], 0) >> 5 & 3 == 3:
            out["nak"] += 1
        qps[(r["ip.src"] or r["ipv6.src"], r["ip.dst"] or r["ipv6.dst"], int(r["infiniband.bth.destqp"], 16))] += 1
    return out, qps


def against_tshark(doc, path):
    out, qps = tshark(path)
    for key in ("roce_packets", "nak"):
        assert doc[key] == out[key], (path, key, doc[key], out[key])
    for k, v in doc["ecn"].items():
        assert v == out["ecn." + k], (path, k, v, out)
    assert sorted(doc["by_opcode"].values()) == sorted(v for k, v in out.items() if k.startswith("opcode.")), (path, doc["by_opcode"], out)
    ours = {(q["src"], q["dst"], q["dst_qp"]): q["packets"] for q in doc["qps"]}
    assert ours == dict(qps), (path, ours, qps)


def refusals(program, folder):
    """What is no capture: exit 1, one clear line on stderr, nothing on stdout. Bad usage: exit 2. Several files: what can be read is reported."""
    note = os.path.join(folder, "note.txt")
    open(note, "w").write("no capture")
    empty = os.path.join(folder, "empty.pcap")
    open(empty, "w").close()
    bare = os.path.join(folder, "bare")
    os.mkdir(bare)
    good = os.path.join(folder, "healthy.pcap")
    for args, code, says in [
        ([os.path.join(folder, "missing.pcap")], 1, "no such file"), ([bare], 1, "directory without capture files"), ([empty], 1, "empty"), ([note], 1, "not a capture"),
        (["-i", "no-such-if0"], 1, "no-such-if0"), ([], 2, "missing FILE"), (["-i", "lo", good], 2, "do not go together"),
        (["--for", "5s", good], 2, "--for"), (["-i", "lo", "--per-file"], 2, "--per-file"), (["-i", "lo", "--since", "5m"], 2, "--since"),
        ([good, "--host", "leaf1"], 2, "not an address"), ([good, "--host", "10.0.0.0/33"], 2, "prefix length"), ([good, "--qp", "0x1000000"], 2, "queue pair"),
        ([good, "--priority", "8"], 2, "0 to 7"), ([good, "--sort", "size"], 2, "retransmits"), ([good, "--top", "-1"], 2, "--top"),
        ([good, "--sampling", "0"], 2, "--sampling"), ([good, "--bin", "1us"], 2, "--bin"), ([good, "--speed", "400"], 2, "--speed"),
        ([good, "--since", "soon"], 2, "not a time"), ([good, "--span", "5s"], 2, "--around"), ([good, "--since", "+5s", "--until", "+1s"], 2, "later"),
        ([good, "--around", "+1s", "--since", "+1s"], 2, "--around"), (["-i", "lo", "--for", "5"], 2, "a duration"),
    ]:
        done = subprocess.run([program, "pcap", "--format", "json"] + args, capture_output=True, text=True)
        assert done.returncode == code and says in done.stderr and not done.stdout, (args, done)
        assert code == 2 or done.stderr.count("\n") == 1, (args, done.stderr)
    head = os.path.join(folder, "head.pcap")
    open(head, "wb").write(open(good, "rb").read(20))
    done = subprocess.run([program, "pcap", "--format", "json", head], capture_output=True, text=True)
    assert done.returncode == 1 and json.loads(done.stdout)["errors"] == {"truncated_file": 1} and "within its header" in done.stderr, done
    done = subprocess.run([program, "pcap", "--format", "json", "--per-file", good, note, good], capture_output=True, text=True)
    assert done.returncode == 1 and len(json.loads(done.stdout)["captures"]) == 2, done
    done = subprocess.run([program, "pcap", "--format", "json", good, note, os.path.join(folder, "loss.pcapng")], capture_output=True, text=True)
    both = json.loads(done.stdout)
    assert done.returncode == 1 and both["packets"] == 63 and both["file"] is None and len(both["files"]) == 2 and "note.txt" in done.stderr, done
    done = subprocess.run([program, "pcap", "--format", "csv", good], capture_output=True, text=True)
    assert done.stdout.startswith("file,src,dst,dst_qp,packets,octets,") and done.stdout.count("\n") == 3, done
    with open(good) as f:
        done = subprocess.run([program, "pcap", "-"], stdin=f, capture_output=True, text=True)
    assert done.returncode == 0 and "RC_RDMA_WRITE_MIDDLE 38" in done.stdout, done


def main():
    make, program, update = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), "--update" in sys.argv
    failed = False
    have_tshark = shutil.which("tshark") is not None
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([make, folder], check=True)
        for name in sorted(os.listdir(folder)):
            doc = report(program, os.path.join(folder, name))
            text = short(doc)
            golden = os.path.join(HERE, name + ".json")
            if update:
                open(golden, "w").write(text)
            want = open(golden).read() if os.path.exists(golden) else ""
            if text != want:
                failed = True
                sys.stdout.writelines(difflib.unified_diff(want.splitlines(True), text.splitlines(True), name + " expected", name + " got"))
            if have_tshark:
                against_tshark(doc, os.path.join(folder, name))
        failed |= forms.check(program, folder, update)
        refusals(program, folder)
    print("captures:", "differ" if failed else "as expected", "and as tshark reads them" if have_tshark else "(no tshark to compare with)")
    return failed


if __name__ == "__main__":
    sys.exit(main())
