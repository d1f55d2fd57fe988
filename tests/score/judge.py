"""judge - is what rocewatch says of a recorded case right? Reads truth.json, fabric.yaml's links and the incidents of a replay; knows no detector."""
import datetime
import math
import re

RANK = {"info": 0, "warning": 1, "critical": 2}


def links(fabric_text):
    """{"dev:port": "dev:port" or "host:NAME[:NIC]"} in both directions, from the flow-style link lines that rocewatch-lab writes."""
    peers = {}
    for a, b in re.findall(r'\{ a: "([^"]+)", b: "([^"]+)"', fabric_text):
        peers[a] = b
        peers[b] = a
    return peers


def port_of(subject):
    return f'{subject["device"]}:{subject["port"]}' if subject.get("device") and subject.get("port") else None


def matches_subject(fault, subject, peers):
    """Does the incident's subject name what is really at fault? Where the truth names a host, its port on the leaf is as good, and a link has two ends."""
    kind = fault["subject"]
    devices = set(fault.get("devices") or []) | ({fault["device"]} if fault.get("device") else set())
    mine = port_of(subject)
    here = {mine, peers.get(mine)} - {None}
    if kind in (None, "none", "fabric"):
        return True
    if fault.get("host"):
        hosts = {subject.get("host")} | set(subject.get("hosts") or [])
        if fault["host"] in hosts or any(p.split(":")[1] == fault["host"] for p in here if p.startswith("host:")):
            return True
        if kind == "host":
            return False
    if kind in ("uplink", "link", "port") and fault.get("port"):
        theirs = {f"{d}:{fault['port']}" for d in devices}
        theirs |= {peers[p] for p in theirs if p in peers}
        return bool(theirs & here) or (subject.get("member") and f'{subject["device"]}:{subject["member"]}' in theirs)
    ends = {subject.get("device")} | {p.split(":")[0] for p in here if not p.startswith("host:")}
    if subject.get("group", None) and str(subject["group"]).startswith("to:"):
        ends.add(subject["group"][3:].split("@")[0])
    return not devices or bool(devices & ends)


def wall(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def named_since(incident, accept):
    """When the cause was first one of @accept, s; None: it is not one in the end. The timeline has a line "cause: NEW, was OLD" for each change."""
    if incident["cause"] not in accept:
        return None
    at, said = wall(incident["opened"]), []
    for line in incident.get("timeline") or []:
        m = re.fullmatch(r"cause: (\w+), was (\w+)", line["text"])
        if m:
            said.append((wall(line["t"]), m[1], m[2]))
    if not said or said[0][2] in accept:
        return at
    return max(at, min((t for t, new, _ in said if new in accept), default=at))


def hit_times(fault, incidents, peers):
    """Seconds from the onset to the first incident at the right place, and to the first that says the right cause there. What opened before the onset
    is no detection."""
    seen, root = [], []
    for i in incidents:
        if not i.get("opened") or not matches_subject(fault, i["subject"], peers):
            continue
        opened = wall(i["opened"])
        since = named_since(i, fault["accept"])
        if opened >= fault["onset_s"]:
            seen.append(opened - fault["onset_s"])
        if since is not None and since >= fault["onset_s"] and not i.get("parent"):
            root.append(since - fault["onset_s"])
    return min(seen, default=None), min(root, default=None)


def judge(truth, incidents, peers):
    """One run: verdict right | half | wrong | unknown | silent (for a fault), quiet | alarm (for none), and what the tables need. "abstained": nothing
    wrong was named, and an unknown stands at the right place with steps that say what to collect."""
    faults = [f for f in truth.get("faults", []) if f["cause"] != "none"]
    top = [i for i in incidents if not i.get("parent")]
    loud = [i for i in top if RANK[i["severity"]] >= 1]
    named = []
    for i in top:
        right = [k for k, f in enumerate(faults) if i["cause"] in f["accept"] and matches_subject(f, i["subject"], peers)]
        named.append({"cause": i["cause"], "severity": i["severity"], "confidence": i["confidence_ratio"], "right": right, "opened": i["opened"],
                      "subject": {k: v for k, v in i["subject"].items() if k in ("device", "port", "host", "group") and v}})
    by_fault = []
    for k, f in enumerate(faults):
        hits = [n for n in named if k in n["right"]]
        detect, root = hit_times(f, incidents, peers)
        by_fault.append({"cause": f["cause"], "found": bool(hits), "onset_s": f["onset_s"], "opened": min((n["opened"] for n in hits), default=None),
                         "detect_s": detect, "root_s": root})
    out = {"cause": truth["cause"], "named": named, "faults": by_fault, "top": len(top), "loud": len(loud)}
    loud_named = [n for n in named if RANK[n["severity"]] >= 1]
    wrong = [n for n in loud_named if not n["right"] and n["cause"] != "unknown"]
    out["false"] = len(wrong)
    if not faults:
        out["verdict"] = "alarm" if loud else "quiet"
        out["infos"] = len(top) - len(loud)
        return out
    out["abstained"] = not wrong and any(i["cause"] == "unknown" and i.get("next_steps") and any(matches_subject(f, i["subject"], peers) for f in faults)
                                         for i in top)
    if all(f["found"] for f in by_fault) and (not wrong or named[0]["right"] or loud_named and loud_named[0]["right"]):
        out["verdict"] = "right"
    elif wrong and not any(n["right"] for n in loud_named[:1]):
        out["verdict"] = "wrong"
    elif len(by_fault) > 1 and any(f["found"] for f in by_fault):
        out["verdict"] = "half"
    elif any(f["found"] for f in by_fault):
        out["verdict"] = "right"
    else:
        out["verdict"] = "unknown" if any(n["cause"] == "unknown" for n in named) else "silent"
    return out


def told_per_hour(incidents):
    """The price an hour that stands together at the worst moment: an incident that was closed and the one that came in its place never do."""
    top = [i for i in incidents if not i.get("parent") and i.get("opened")]
    return max((sum(i["usd_per_hour"] or 0 for i in top if i["opened"] <= by["opened"] and not (i.get("closed") and i["closed"] <= by["opened"]))
                for by in top), default=0)


def wilson(k, n, z=1.96):
    """95 % interval of a share (Wilson 1927)."""
    if n == 0:
        return (math.nan, math.nan)
    p = k / n
    d = 1 + z * z / n
    c = p + z * z / (2 * n)
    h = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (max(0.0, (c - h) / d), min(1.0, (c + h) / d))


def gap(k1, n1, k2, n2):
    """95 % interval of the difference of two shares, k1/n1 - k2/n2 (Newcombe 1998, method 10)."""
    if not n1 or not n2:
        return (math.nan, math.nan)
    p1, p2 = k1 / n1, k2 / n2
    lo1, hi1 = wilson(k1, n1)
    lo2, hi2 = wilson(k2, n2)
    d = p1 - p2
    return (d - math.hypot(p1 - lo1, hi2 - p2), d + math.hypot(hi1 - p1, p2 - lo2))
