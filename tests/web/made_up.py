"""Documents of a fabric that does not exist: 64 switches with 64 ports each, as the served documents look. Pure."""
import datetime, functools

LEAVES, SPINES = 32, 32
CELLS = 64  # the heat map is drawn larger than any 64 switches need: 64 x 64


def moment(t_s):
    return datetime.datetime.fromtimestamp(t_s, datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def noise(*key):
    """0..1, the same for the same key."""
    x = 2166136261
    for part in key:
        for byte in str(part).encode():
            x = (x ^ byte) * 16777619 % 2**32
    return (x >> 7) % 10007 / 10007


class Fabric:
    """@name: of a switch by its number, so that a test can give hostile names. .turn counts frames; values change with it."""
    def __init__(self, name=None, now_s=1763700000):
        self.turn, self.now_s = 0, now_s
        self.name = name or (lambda i: "leaf%02d" % (i + 1) if i < LEAVES else "spine%02d" % (i - LEAVES + 1))

    def document(self, path, query):
        method = getattr(self, path.replace("/", "_"), None)
        return method(query) if method else 404

    def port(self, i):
        return "Ethernet%d" % (i + 1)

    def time(self, ago_s=0):
        return moment(self.now_s + self.turn - ago_s)

    def watch(self, query):
        self.turn += 1
        t = self.turn
        names = [self.name(i) for i in range(LEAVES + SPINES)]
        signals = [{"name": n, "signal": n.replace("_", " "), "value": noise(n, t), "value_low": 0.0, "unit": "ratio", "quality": "exact", "baseline": 0.2, "baseline_span_s": 86400, "baseline_from": None, "baseline_to": None,
                    "state": ("ok", "warning", "critical", "unknown", "idle")[int(noise(n, t // 3) * 5)], "where": names[k], "why": "because of " + names[k],
                    "subject": {"device": names[k], "port": self.port(k), "priority": 3, "host": None}, "incident": None}
                   for k, n in enumerate("exchange_time step_time pause_time pause_frames ecn_marks lossless_drops nak discards errors ecmp_imbalance links_below_class".split())]
        return {
            "fabric": "made-up", "time": self.time(), "state": "warning", "state_why": "frame %d" % t, "open_incidents": 20,
            "agent": {"state": "running", "pid": 1, "data_time": self.time(), "data_age_s": 1.0, "stale": False, "config_error": None, "reload_refused": None},
            "devices": [{"name": n, "up": True, "status": "up" if noise(n) > 0.05 else "down", "reason": None, "age_s": 1.0, "protocol": "gnmi", "interval_s": 1.0, "timeouts": 0, "errors": 0} for n in names],
            "data_quality": {"up": len(names), "down": 0, "unknown": 0, "newest_sample_age_s": 1.0},
            "window": {"from": self.time(60), "to": self.time()}, "signals": signals,
            "paused": [{"device": names[k], "port": self.port(k), "priority": 3, "peer": "host", "host": "node-%03d" % k, "direction": "rx", "pause_ratio": noise("p", k, t), "pause_ratio_low": 0.0,
                        "quality": "bound", "sentence": "node-%03d paused us" % k, "role": "origin", "incident": None} for k in range(20)],
            "uplinks": [{"device": names[k], "port": self.port(32 + k), "peer": names[LEAVES + k], "utilization_ratio": noise("u", k, t)} for k in range(20)],
            "jobs": [{"job": "job%d" % k, "state": "running", "step_s": 0.4 + noise("j", k, t) / 10, "step_base_s": 0.42, "change_ratio": noise("c", k, t) / 10, "exchange_s": 0.1, "since": self.time(500)} for k in range(4)],
            "incidents": [self.incident(k) for k in range(20)], "money": {"usd_per_hour": 1234.0 + t, "usd_total": 5678.0},
            "events": [{"t": self.time(k), "kind": "incident", "text": "event %d" % k, "device": names[k], "port": None} for k in range(8)],
        }

    def incident(self, k):
        device = self.name(k)
        return {"id": "made%04d" % k, "cause": "pfc_storm", "severity": ("critical", "warning")[k % 2], "state": "open", "opened": self.time(500), "first": self.time(560), "closed": None, "age_s": 500.0,
                "headline": "node-%03d pauses %s" % (k, device), "summary": "node-%03d pauses %s all the time" % (k, device), "device": device, "port": self.port(k), "host": "node-%03d" % k, "job": "job1",
                "subject": {"device": device, "port": self.port(k), "priority": 3, "host": "node-%03d" % k}, "usd_per_hour": 20.0 - k, "usd_total": 5.0, "confidence_ratio": 0.9, "acked_by": device,
                "assigned_to": None, "silenced": None, "parent": None, "roles": [{"entity": device + ":" + self.port(k), "role": "culprit"}], "jobs": ["job1"], "loss": [],
                "confidence_inputs": [device], "ruled_out": [device], "next_steps": [{"text": device, "risk": device}], "commands": [{"where": device, "command": "ethtool " + device, "effect": device, "risk": "read only"}],
                "reasons_for": [device], "reasons_against": [device], "not_proved": [device], "coverage_ratio": 1.0, "windows": 3, "gpus_affected": 32, "changed_before": [device],
                "evidence": [{"metric": "pfc.rx_pause_ratio", "device": device, "port": self.port(k), "priority": 3, "from": self.time(60), "to": self.time(), "value": 1.0, "unit": "ratio", "quality": "exact"}]}

    def incidents(self, query):
        return {"incidents": [self.incident(k) for k in range(20)]}

    def incident_show(self, query):
        return self.incident(int(query["id"][4:]))

    def incident_timeline(self, query):
        return {"id": query["id"], "timeline": [{"t": self.time(500), "text": "opened at " + self.name(0)}]}

    @functools.lru_cache(maxsize=None)
    def matrix(self):
        """Peers and rows of the heat map; made once, for it takes this Python longer than the browser takes to draw it."""
        peers = [self.name(LEAVES + i % SPINES) + ("" if i < SPINES else "-b") for i in range(CELLS)]
        rows = []
        for i in range(CELLS):
            cells = [{"peer": p, "rate_bps": 4e11 * noise(i, k), "speed_bps": 400000000000, "links": 1, "utilization_ratio": noise(i, k), "hot": noise(i, k) > 0.98} for k, p in enumerate(peers)]
            rows.append({"device": self.name(i % LEAVES) + ("" if i < LEAVES else "-b"), "group": "uplinks", "verdict": "skewed" if i % 9 == 0 else "even", "flows_estimate": 31.0, "expected_by_chance_ratio": 0.13,
                         "expected_p95_ratio": 0.25, "windows": 3, "windows_over": 0, "windows_idle": 1, "windows_unknown": 0, "persistent_member": None, "over_since": None, "utilization_ratio": 0.5,
                         "imbalance_ratio": noise("imb", i), "cells": cells})
        frames = [{"time": self.time((60 - f) * 60), "cells": [[round(noise(i, k, f), 4) for k in range(CELLS)] for i in range(CELLS)], "imbalance_ratio": [noise("i", i, f) for i in range(CELLS)],
                   "verdict": ["even"] * CELLS} for f in range(24)]
        return peers, rows, frames

    def ecmp_heatmap(self, query):
        peers, rows, _ = self.matrix()
        return {"from": self.time(900), "to": self.time(), "fabric": "made-up", "warn_ratio": 0.2, "busy_ratio": 0.3, "coverage_ratio": 1.0, "window_s": 60.0,
                "verdict": "7 of 64 groups out of limits", "peers": peers, "rows": rows}

    def ecmp_history(self, query):
        peers, rows, frames = self.matrix()
        return {"from": self.time(900), "to": self.time(), "window_s": 60.0, "warn_ratio": 0.2, "peers": peers, "rows": [{"device": r["device"], "group": r["group"]} for r in rows], "frames": frames}

    def ecmp_groups(self, query):
        members = [{"port": self.port(32 + k), "peer": self.name(LEAVES + k), "utilization_ratio": noise(k), "rate_bps": 1e11, "speed_bps": 400000000000, "windows_hot": k, "link": "up"} for k in range(SPINES)]
        return {"groups": [{"device": query.get("device"), "group": "uplinks", "verdict": "skewed", "members": members, "worst_ratio": 1.05, "worst_at": self.time(60), "windows": 15, "windows_over": 11, "windows_idle": 0,
                            "persistent_member": self.port(32), "persistent_ratio": 0.99, "flows_note": None}]}

    def pause_ports(self, query):
        rows = [{"device": self.name(i), "port": self.port(k), "peer": "node", "priority": 3, "rx_lo_ratio": 0.0, "rx_hi_ratio": noise(i, k), "rx_measured": False, "tx_lo_ratio": 0.0, "tx_hi_ratio": 0.0, "tx_measured": True,
                 "rx_frames": 12345, "tx_frames": 0} for i in range(LEAVES + SPINES) for k in range(64)]
        if query.get("device"):
            rows = [r for r in rows if r["device"] == query["device"]]
        return {"observable": True, "ports": rows, "from": self.time(60), "to": self.time()}

    def pause_tree(self, query):
        edge = lambda depth, waits, by: {"root": "node-001", "depth": depth, "priority": 3, "waits": waits, "ports": [self.port(1)], "paused_by": by, "lo_ratio": 0.1, "hi_ratio": 0.5, "measured": False, "confidence": "low", "victims": None}
        edges = [edge(1, self.name(0), "node-001")]
        for i in range(SPINES):
            edges.append(edge(2, self.name(LEAVES + i), self.name(0)))
            edges += [edge(3, self.name(1 + k), self.name(LEAVES + i)) for k in range(LEAVES - 1) if i == 0]
        tree = {"priority": 3, "origin": "host", "device": self.name(0), "port": self.port(1), "host": "node-001", "measured": False, "share_ratio": 0.9, "clear": True, "confidence": "low", "level": "L3", "switches": 64, "hosts": 9, "edges": edges}
        return {"incident": query.get("incident"), "observable": True, "trees": [tree], "cycles": [], "waiting": 64, "lossless_drops": None, "from": self.time(60), "to": self.time()}

    def topology_show(self, query):
        links = [{"device": self.name(i), "port": self.port(32 + k), "peer": self.name(LEAVES + k), "peer_port": self.port(i), "speed_bps": 400000000000, "state": "up", "source": "lldp"} for i in range(LEAVES) for k in range(SPINES)]
        links += [{"device": self.name(i), "port": self.port(k), "peer": "host:node-%03d" % (i * 32 + k), "peer_port": "rail0", "speed_bps": 400000000000, "state": "up", "source": "declared"} for i in range(LEAVES) for k in range(32)]
        return {"fabric": "made-up", "links": links, "devices": []}

    def query(self, query):
        step = 10
        if query["metric"] == "agent.signal":
            names = ["pause_time", "step_time"] + ["job:job%d %s" % (k, what) for k in range(4) for what in ("rate", "level")]
            rows = [{"time": self.time((60 - k) * 60), "device": "(fabric)", "port": n, "priority": None, "metric": "agent.signal", "value": noise(n, k) * 1e9, "flags": []} for k in range(60) if not 20 < k < 30 for n in names]
            return {"rows": rows, "from": self.time(3600), "to": self.time(), "step_s": None}
        rows = [{"time": self.time((90 - k) * step), "device": query["device"], "port": query["port"], "priority": None, "metric": query["metric"], "value": None if 40 < k < 50 else noise(query["metric"], k) * 1e9, "flags": []} for k in range(90)]
        return {"rows": rows, "from": self.time(900), "to": self.time()}

    def alerts(self, query):
        return {"receivers": [], "alerts": []}

    def silences(self, query):
        return {"silences": []}

    def act(self, query):
        return {"who": None, "pass": None}

    def event_list(self, query):
        return {"events": [{"t": self.time(600), "kind": "change", "who": "al", "text": "optic of " + self.name(1), "device": self.name(1), "port": None, "job": None, "incident": None}]}

    def steps(self, query):
        return {"from": self.time(900), "to": self.time(), "jobs": [{"job": "job1", "gpus": 512, "ports": 32, "ports_seen": 32, "measured_at": "host ports", "octets_per_s": 1e9, "step_s": None, "exchange_s": None, "duty_ratio": None}],
                "levels": [{"job": "job1", "from": self.time(900), "to": self.time(), "octets_per_s": 1e9, "change_ratio": None, "stretch_ratio": 1.0, "step_s": None}]}

    def tune_list(self, query):
        return {"sheets": [self.sheet()]}

    tune_review = tune_list

    def tune_show(self, query):
        return {"sheets": [self.sheet()]}

    def sheet(self):
        d = self.name(0)
        return {"id": "sheet001", "state": "proposed", "device": d, "ports": [self.port(1)], "priority": 3, "diagnosis": "ecn_late", "advice": "change", "summary": d + ": Kmin too high", "platform": {"syntax": "sonic"},
                "changes": [{"knob": "kmin", "current": 5e6, "proposed": 7e5, "unit": "bytes", "why": d, "source": d}], "disruption": d, "made": self.time(), "expires": self.time(-9999), "from": self.time(900), "to": self.time(),
                "evidence": [], "expected": [{"metric": "pfc.tx_pause_ratio", "low": 0.0, "high": 0.02, "likely": 0.001, "now": 0.04, "unit": "ratio"}],
                "checks": [{"text": d, "before": 1.0, "after": None, "limit": None, "unit": "bytes", "ok": None}], "collect": [d], "next_steps": [d], "risk": d, "rollback_if": d, "render": {"nvue": "nv set " + d, "eos": None, "junos": None, "nxos": None, "sonic": {"cli": "config " + d, "config_db": {d: {}}}},
                "undo": {"nvue": "nv unset " + d, "eos": None, "junos": None, "nxos": None, "sonic": {"cli": "undo " + d, "config_db": None}},
                "render_notes": {"nvue": [], "eos": [d], "junos": None, "nxos": [], "sonic": [d], "native": "sonic", "shown": "sonic"}, "confidence_ratio": 0.7, "confidence_inputs": [d], "buffer_cost_bytes": None}

    def doctor(self, query):
        return {"fabric": "made-up", "todo": [{"severity": "warning", "subject": self.name(0), "what": "slow", "do": "look"}], "captures": [], "process": {}, "data_quality": {}, "store": {"path": self.name(0), "pending_samples": 0},
                "targets": [{"name": self.name(i), "protocol": "gnmi", "status": "up", "reason": None, "age_s": 1.0, "values_per_s": 142.0, "missed_polls": 0, "timeouts": 0, "notes": self.name(i), "do": None} for i in range(LEAVES + SPINES)]}

    def lint(self, query):
        d = self.name(0)
        return {"fabric": "made-up", "source": d, "verdict": d, "switches": 128, "links": 4096, "leaves": 64, "failures": 2,
                "findings": [{"severity": "critical", "check": "ring", "device": d, "port": self.port(1), "priority": 3, "text": d, "remedy": d}],
                "rings": [{"reroute": "local", "priority": None, "whole": True, "singles": 0, "cyclic_singles": 0, "pairs": 9, "cyclic_pairs": 1, "unjudged_pairs": 0, "walked": False}],
                "witnesses": [{"reroute": "local", "failed": [d], "ring": [d, d], "flows": [d, d]}], "assumptions": [d], "unjudged": [d]}

    def status(self, query):
        return self.watch(query)
