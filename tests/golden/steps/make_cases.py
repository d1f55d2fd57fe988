#!/usr/bin/env python3
"""make_cases FOLDER - writes the cases of steps and straggler: one leaf, polled every 10 s, rates that repeat the same five steps of jitter, so that
they can be checked by hand."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import inputs

JITTER = (0.99, 1.0, 1.01, 0.995, 1.005)
UPLINKS = (("Ethernet49", "spine1"), ("Ethernet50", "spine2"))
HEAD = "# time_s\tdevice\tport\tpriority\tmetric\tvalue\n"


def fabric(case, about, hosts, uplinks=True, name="node-{:02}"):
    spines = [spine for _, spine in UPLINKS] if uplinks else []
    with inputs.create(case, "fabric.yaml") as f:
        f.write("".join(f"# {line}\n" for line in about) + "fabric: pod-a\ndevices:\n  - { name: leaf1, role: leaf }\n")
        f.writelines(f"  - {{ name: {spine}, role: spine }}\n" for spine in spines)
        f.write("links:\n")
        f.writelines(f'  - {{ a: "leaf1:Ethernet{n}", b: "host:{name.format(n)}", speed: 400G }}\n' for n in range(1, hosts + 1))
        f.writelines(f'  - {{ a: "leaf1:{port}", b: "{spine}:Ethernet1", speed: 400G }}\n' for port, spine in UPLINKS[:len(spines)])
        f.write('lossless: { priorities: [3] }\njobs:\n  - { name: train, gpus: 48, hosts: "node-*" }\n')


def trained(case, about, hosts, end, share, rx=lambda t, port: 0, tx=lambda t, port: 0, queues=False):
    """Octets in and out: 10 GB/s at a host, 30 GB/s at an uplink, times share(t, port); rx, tx: nanoseconds of pause in the 10 s up to t; queues:
    packets of 4,000 octets as well, of which none is marked or dropped, and what the far end of an uplink tells."""
    fabric(case, [about], hosts)
    ports = [(f"Ethernet{n}", None) for n in range(1, hosts + 1)] + list(UPLINKS)
    octets = {port: (k + 1) * 10**9 for k, (port, _) in enumerate(ports)}
    paused = {port: [5000000, 5000000] for port, _ in ports}
    with inputs.create(case, "samples.tsv") as f:
        f.write(HEAD)
        for n, t in enumerate(range(0, end + 1, 10)):
            for k, (port, spine) in enumerate(ports):
                octets[port] += int((3e10 if spine else 1e10) * 10 * share(t, port) * JITTER[(n - k - 1) % 5])
                paused[port][0] += rx(t, port)
                paused[port][1] += tx(t, port)
                rows = [("-", "port.in_octets", octets[port]), ("-", "port.out_octets", octets[port]),
                        ("3", "pfc.rx_pause_ns", paused[port][0]), ("3", "pfc.tx_pause_ns", paused[port][1])]
                if queues:
                    rows += [("3", "queue.ecn_marked", 7), ("3", "queue.out_packets", octets[port] // 4000), ("3", "queue.drops", 0)]
                for priority, metric, value in rows:
                    f.write(f"{t}\tleaf1\t{port}\t{priority}\t{metric}\t{value}\n")
                    if spine and queues:
                        f.write(f"{t}\t{spine}\tEthernet1\t{priority}\t{metric}\t{value}\n")


def slower(t, port):
    """A checkpoint of 40 s in minute 5, 15 % less from minute 10 on."""
    if 300 < t <= 340:
        return 0
    return 0.85 if t > 600 else 1


def steps():
    trained("steps/slower_unseen", "a checkpoint of 40 s in minute 5; from minute 10 on 15 % fewer bytes; the switch tells pause, no CE marks and no drops",
            4, 1200, slower)
    trained("steps/slower_not_silent", "the steps of slower_unseen, with an uplink that spine1 pauses for a fifth of the time from minute 10 on: "
            "part of it is seen, what it explains is not known", 4, 1200, slower, rx=lambda t, port: 2 * 10**9 if port == "Ethernet49" and t > 600 else 0)
    trained("steps/exonerated", "as slower_unseen, but pause, CE marks, drops and both uplinks are there and silent", 4, 1200, slower, queues=True)


def straggler():
    def share(t, port):
        return 0.6 if port == "Ethernet4" and t > 300 else 1
    trained("straggler/slow_host", "node-04 moves 60 % of the others from minute 5 on; nobody is paused", 6, 600, share)
    trained("straggler/paused_host", "as slow_host, but we pause node-04 for a tenth of the time: that is for others to tell", 6, 600, share,
            tx=lambda t, port: 10**9 if port == "Ethernet4" and t > 300 else 0)


def checkpoints(case, change, length_s, rate):
    """Checkpoints begin at 200 s and every 300 s: 30 s at 10 GB/s into Ethernet6, from 1,300 s on length_s at `rate`. In between 4 GB/s and jitter."""
    fabric(case, ["One leaf, six hosts: five train and write checkpoints to the sixth every five minutes, polled each 10 s.",
                  f"From 1,300 s on a checkpoint takes 60 s instead of 30 s: {change}."], 6, uplinks=False, name="node-{}")
    octets = [k * 10**12 for k in range(6)]
    with inputs.create(case, "samples.tsv") as f:
        f.write(HEAD)
        for t in range(0, 2700, 10):
            for k in range(6):
                f.write(f"{t}\tleaf1\tEthernet{k + 1}\t-\tport.out_octets\t{octets[k]}\n")
                for second in range(t, t + 10):
                    late = second >= 1300
                    if 200 <= second % 300 < 200 + (length_s if late else 30):
                        octets[k] += (rate if late else 10**10) if k == 5 else 10**6
                    else:
                        octets[k] += 4 * 10**9 + (7919 * second + 729 * k) % 8000 * 1000


steps()
straggler()
checkpoints("steps/checkpoint_larger", "it has become twice as large", 60, 10**10)
checkpoints("steps/storage_slower", "the same bytes, at half the rate", 60, 5 * 10**9)
