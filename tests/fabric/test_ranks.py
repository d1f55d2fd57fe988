#!/usr/bin/env python3
"""test_ranks.py ROCEWATCH - drawn jobs beside recorded fabrics: what a flight recorder, an inspector and RAS would have written of ranks whose clocks are up to
50 ms apart, and what `import collectives` makes of it. Who was late is drawn here and known here alone; the formats are those of PyTorch and NCCL."""
import json, random, re, shutil, socket, statistics, subprocess, sys, tempfile, threading

rocewatch, work = sys.argv[1], tempfile.mkdtemp(prefix="ranks-")


def run(*args, code=0):
    p = subprocess.run([rocewatch, *args], capture_output=True, text=True, cwd=work)
    if p.returncode != code:
        sys.exit(f"{' '.join(args)}: exit code {p.returncode}\n{p.stdout[-500:]}{p.stderr[:2000]}")
    return p.stderr if code else p.stdout


def fabric_of(name):
    run("lab", "record", name, "--out", name, "--interval", "1s", "--for", "8m")
    run("replay", "--from", name, "--db", f"{name}.db")
    ports = {}
    for switch, host, nic in re.findall(r'a: "([^"]+)", b: "host:([^:"]+):?([^"]*)"', open(f"{work}/{name}/fabric.yaml").read()):
        ports.setdefault(host, []).append((nic, switch))
    return {h: [s for _, s in sorted(v)] for h, v in ports.items()}, json.load(open(f"{work}/{name}/truth.json"))


def timeline(r, hosts, gpus, late, how, begin_s, steps):
    """[(number, octets, {rank: (begin, end)})] in true time; ranks of @late begin (how "begin") or end that much later."""
    t, told = begin_s, []
    for k in range(steps):
        by = r.uniform(0.005, 0.12)
        begin = {i: t + r.uniform(0, 4e-4) + (by if i in late and how == "begin" else 0) for i in range(len(hosts) * gpus)}
        last = max(begin.values()) + r.uniform(0.015, 0.04)
        end = {i: last + r.uniform(0, 2e-4) + (by if i in late and how == "end" else 0) for i in begin}
        told.append((2 * k + 1, 1 << 28, {i: (begin[i], end[i]) for i in begin}))
        small = {i: end[i] + r.uniform(0, 1e-4) for i in begin}  # the norm of the gradients: a few bytes, right behind
        told.append((2 * k + 2, 4, {i: (small[i], max(small.values()) + r.uniform(5e-5, 1e-4)) for i in begin}))
        t = max(end.values()) + r.uniform(0.2, 0.4)
    return told


def recorder(r, told, rank, off):
    grid = lambda t: int((int(t * 10) + 1) * 1e8)  # the watchdog looks ten times a second
    return {"version": "2.7", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str(sorted(told[0][2]))}}, "entries": [{
        "process_group": ["0", "default_pg"], "collective_seq_id": n, "profiling_name": "nccl:all_reduce", "state": "completed", "is_p2p": False,
        "time_created_ns": int((at[rank][0] + off - r.uniform(0, 0.03)) * 1e9), "time_discovered_started_ns": grid(at[rank][0] + off),
        "time_discovered_completed_ns": grid(at[rank][1] + off), "duration_ms": (at[rank][1] - at[rank][0]) * 1e3,
        "input_sizes": [[octets // 4]], "input_dtypes": ["Float"]} for n, octets, at in told]}


def inspector(told, rank, off, host, trace):
    for n, octets, at in told:
        b, e = (int((t + off) * 1e6) for t in at[rank])
        perf = {"coll": "AllReduce", "coll_sn": n, "coll_msg_size_bytes": octets, "coll_exec_time_us": e - b}
        if trace:
            perf["event_trace_ts"] = {"coll_start_ts": b - 9, "kernel_events": [{"channel_id": 0, "kernel_start_ts": b, "kernel_stop_ts": e}]}
        yield json.dumps({"header": {"id": "0x7f8c", "rank": rank, "n_ranks": len(at), "nnodes": 1}, "coll_perf": perf, "metadata": {
            "inspector_output_format_version": "v4.0", "dump_timestamp_us": e + 400, "hostname": host + ".cluster.local", "pid": 7}})


def ras(hosts, gpus, count=9, behind=-1):
    rank = lambda i: {"rank": i, "host": hosts[i // gpus], "pid": 7, "cuda_dev": i % gpus, "nvml_dev": i % gpus,
                      "collective_counts": {"Broadcast": 1, "AllReduce": count - (i == behind)}}
    return {"nccl_version": "2.29.2", "communicators_count": 1, "communicators": [{"hash": "0xbeef", "size": len(hosts) * gpus, "missing_ranks": [],
                                                                                  "ranks": [rank(i) for i in range(len(hosts) * gpus)]}]}


def judge(seed, name, ports, truth, net):
    r = random.Random(seed)
    hosts = r.sample(sorted(ports), r.randint(4, min(12, len(ports))))
    if net and truth["faults"][0]["host"] not in hosts:
        hosts[r.randrange(len(hosts))] = truth["faults"][0]["host"]
    gpus = len(ports[hosts[0]])
    at = hosts.index(truth["faults"][0]["host"]) if net else r.randrange(len(hosts))
    late = [at * gpus + r.randrange(gpus)] if r.random() < 0.6 or gpus == 1 else range(at * gpus, at * gpus + gpus)
    how, kind = r.choice(["begin", "end"]) if net else "begin", r.choice(["recorder", "traced", "plain"])
    told = timeline(r, hosts, gpus, late, how, truth["end_s"] - 60, 12)
    off = [r.uniform(-0.05, 0.05) for _ in hosts]
    files = []
    for i in range(len(hosts) * gpus):
        files.append(f"trace_{i}.json")
        with open(f"{work}/{files[-1]}", "w") as f:
            if kind == "recorder":
                json.dump(recorder(r, told, i, off[i // gpus]), f)
            else:
                f.write("\n".join(inspector(told, i, off[i // gpus], hosts[i // gpus], kind == "traced")))
    if kind == "recorder":
        files.append("ras.json")
        with open(f"{work}/ras.json", "w") as f:
            json.dump(ras(hosts, gpus), f)
    a = json.loads(run("import", "collectives", *files, "--db", f"{name}.db", "--format", "json"))
    rows, wanted, what = a["rows"], ports[hosts[at]][late[0] % gpus] if len(late) == 1 else None, f"{name} seed {seed} {kind} {how} {hosts[at]} {list(late)}"
    if not rows or any(x["host"] != hosts[at] or x["kind"] not in ("began_late", "ended_late", "longest") for x in rows):
        sys.exit(f"{what}: another one is accused, or nobody: {a['verdict']} {[x['text'] for x in rows]}")
    if net is not None and any(x["network"] != ("named" if net else "innocent") for x in rows):
        sys.exit(f"{what}: {[(x['network'], x['text'], x['looked']) for x in rows]}")
    if how == "begin" and not (rows[0]["times"] == 12 and a["undecided"] == 0):
        sys.exit(f"{what}: of 12 late ones {rows[0]['times']} are told, {a['undecided']} undecided")
    # the step and its collectives, each rank by its own clock; a recorder notes the time of enqueueing
    begins = [[at[i][0] for _, _, at in told] for i in told[0][2]]
    step, busy = statistics.median(statistics.median(b - a for a, b in zip(x, x[2:])) for x in begins), min(sum(at[i][1] - at[i][0] for _, _, at in told) / 12 for i in told[0][2])
    if abs(a["step_s"] / step - 1) > 0.12 or abs(a["exchange_s"] / busy - 1) > 0.02 or a["waiting_s"] < 0:
        sys.exit(f"{what}: a step of {a['step_s']} s with {a['exchange_s']} s, expected {step} and {busy}")
    return all(x["port"] == wanted for x in rows)


def served(answer, code, *args, hold=False):
    """What the command says of a RAS service that answers with these parts and then, with @hold, waits until it is left alone."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        def speak():
            c, _ = s.accept()
            with c, c.makefile("rwb", buffering=0) as f:
                try:
                    for reply in (b"SERVER PROTOCOL 2\n", b"OK\n", None):
                        f.readline()
                        for part in [reply] if reply else answer:
                            f.write(part)
                    hold and f.read()
                except OSError:
                    pass  # it hung up on what it must not read to the end
        thread = threading.Thread(target=speak)
        thread.start()
        try:
            return run("import", "collectives", f"ras:127.0.0.1:{s.getsockname()[1]}", *args, code=code)
        finally:
            thread.join()


try:
    right, drawn, truths = 0, 0, {}
    for name, seeds in (("slow-compute", 40), ("slow-receiver", 12), ("dcqcn-off", 12), ("missing-rail", 40)):
        fabric, truths[name] = fabric_of(name)
        for seed in range(seeds):
            right += judge(seed, name, fabric, truths[name], None if name == "missing-rail" else name != "slow-compute")
            drawn += 1
    if right < 0.99 * drawn:
        sys.exit(f"rank to port: {right} of {drawn} right")
    hosts = [f"node-{i:03}" for i in range(1, 5)]
    told = timeline(random.Random(1), hosts, 2, [5], "begin", 1767571500, 3)
    dumps = [recorder(random.Random(i), told, i, 0) for i in range(8)]
    for i in range(8):  # all but rank 5 wait in an AllReduce that it has not begun
        dumps[i]["entries"] += [] if i == 5 else [{**dumps[i]["entries"][-1], "collective_seq_id": 7, "state": "scheduled", "duration_ms": None, "time_discovered_completed_ns": None}]
        with open(f"{work}/hung_{i}.json", "w") as f:
            json.dump(dumps[i], f)
    calm = timeline(random.Random(2), hosts, 2, [], "begin", 1767571500, 3)
    files = {"calm.log": "\n".join(line for i in range(8) for line in inspector(calm, i, i / 99 - 0.04, hosts[i // 2], False)), "cut_1.json": json.dumps(dumps[0])[:300], "new_1.json": '{"version": "3.0", "entries": []}', "other.json": "{}", "nobody.json": json.dumps(dumps[0]),
             "log": "\n".join(inspector(told, 1, 0, "a", True))[:-9], "old": '\n' + next(inspector(told, 1, 0, "a", True)).replace("v4.0", "v5.1"),
             "jobs": json.dumps({"jobs": [{"job_id": 1, "name": "j", "job_state": ["RUNNING"], "nodes": "node-[001-004]", "tres_alloc_str": "gres/gpu=8"}]})}
    for name in files:
        with open(f"{work}/{name}", "w") as f:
            f.write(files[name])
    with open(f"{work}/pickled_1", "wb") as f:
        f.write(b"\x80\x04}.")
    names, note, whole = [f"hung_{i}.json" for i in range(8)], ("--db", "slow-receiver.db"), [json.dumps(ras(hosts, 2, behind=5)).encode()]
    for what, got, words in (
            ("hang", run("import", "collectives", *names, "--job-file", "jobs"), "rank 5 on node-003, AllReduce 7, not begun"),
            ("nobody", run("import", "collectives", "calm.log"), "nobody was waited for"),
            ("RAS", served(whole, 0), "rank 5 on node-003, AllReduce 9, behind"),
            ("endless RAS", served((b" " * (1 << 20) for _ in range(99)), 1), "more than 67108864 bytes"),
            ("slow RAS", served([b"{"], 1, "--timeout", "1s", hold=True), "did not answer in full in time (1 bytes came)"),
            ("wrong RAS", served([b"{\n]"], 1), ":2:1: "), ("half of RAS", served([whole[0][:99]], 1), "was the file cut"),
            ("cut", run("import", "collectives", "cut_1.json", code=1), "cut_1.json:1:"), ("pickle", run("import", "collectives", "pickled_1", code=1), "json.dump(pickle.load"),
            ("version", run("import", "collectives", "new_1.json", code=1), "2.x is read"), ("log's version", run("import", "collectives", "old", code=1), "old:2: "),
            ("other", run("import", "collectives", "other.json", code=1), "another kind of JSON"), ("rank", run("import", "collectives", "nobody.json", code=1), "which rank"),
            ("cut log", run("import", "collectives", "log"), "the last line is cut"), ("dead", run("import", "collectives", "ras:127.0.0.1:1", code=1), "refused")):
        if words not in got:
            sys.exit(f"{what}: expected '{words}': {got}")
    hosts[2] = fault = truths["slow-receiver"]["faults"][0]["host"]
    with open(f"{work}/note.log", "w") as f:
        f.write("\n".join(line for i in range(8) for line in inspector(told, i, 0, hosts[i // 2], True)))
    run("import", "collectives", "note.log", *note, "--note")
    said = re.compile(rf"rank 5 on {fault}, AllReduce \d+, [\d.]+ ms late")
    for asked in (["incident", "show", json.loads(run("incident", "list", "--all", *note, "--format", "json"))["incidents"][0]["id"]], ["blame", fault]):
        told = json.loads(run(*asked, *note, "--format", "json"))["ranks" if asked[0] == "incident" else "collectives"]
        if not told or not said.search(told[0]) or not said.search(run(*asked, *note).replace("\n", " ").replace("  ", " ")):
            sys.exit(f"--note: {asked}: {told}")
    if json.loads(run("blame", hosts[0], *note, "--format", "json"))["collectives"]:
        sys.exit("--note: another host was waited for")
    steps = json.loads(run("steps", *note, "--since", "1h", "--format", "json"))["jobs"]
    if not any(j["ranks_step_s"] and 0.2 < j["ranks_step_s"] < 0.7 for j in steps):
        sys.exit(f"--note: steps: {steps}")
    print(f"rank to port: {right} of {drawn}")
finally:
    shutil.rmtree(work, ignore_errors=True)
