"""tune_judge - what threshold advice was worth: pure functions over outcomes of the simulated fabric (truth.json) and sheets of `tune review`.

J = step/step0 + victim_p99/victim_p99_0; 2 is as before. The documented objective adds half the share of time in which hosts are paused. A setting that
loses lossless frames which were not lost before is worth nothing. NaN: not known.
"""
import math

J_LIMIT = 2.06      # 3 % on both: below that it is the noise of the fine grain
STOP = 0.001        # hosts paused for less are left alone: what is there to gain is noise
SIDES = {"hosts": "/hosts", "uplinks": "/uplinks", "all": ""}


def ratio(a, b):
    return math.inf if a is None else math.nan if not b else a / b


def j_of(after, before):
    """Unfinished steps or flows are worth nothing, whatever came before; so are frames lost that were not, or more of them. Frames that are still lost are counted apart."""
    return math.inf if after["lossless_drops"] > before["lossless_drops"] else j_parts(after, before)


def j_parts(after, before):
    if before["step_s"] is None or before["victim_p99_us"] is None:
        return 0.0 if after["step_s"] is not None and after["victim_p99_us"] is not None else math.nan
    return ratio(after["step_s"], before["step_s"]) + ratio(after["victim_p99_us"], before["victim_p99_us"])


def objective(after, before):
    """To compare settings by: one that loses frames is never the better one."""
    return math.inf if after["lossless_drops"] else j_of(after, before) + 0.5 * after["host_pause_ratio"]


def manifest(row):
    """Does what is wrong show? Hosts wait, frames are lost, or a static default is better by more than noise. Else there is nothing to gain."""
    b = row["base"]
    return bool(b["host_pause_ratio"] >= STOP or b["lossless_drops"] or any(j_of(o, b) < 2 / 1.03 for o in (row.get("statics") or {}).values()))


def beaten_by_static(row):
    """Is a static default of the whole fabric better in this run, by more than noise?"""
    ours = objective(row["final"], row["base"])
    return any(objective(o, row["base"]) < ours - 0.03 for o in (row.get("statics") or {}).values())


def pause_cut(after, before):
    """Share of host pause that is gone; None where there was none to speak of."""
    return None if before["host_pause_ratio"] < STOP else 1 - after["host_pause_ratio"] / before["host_pause_ratio"]


def new_drops(after, before):
    return bool(after["lossless_drops"] and not before["lossless_drops"])


def side_of(sheet, hosts_per_leaf=8, change=None):
    """Which ports of a switch the lab can set: all, those to hosts, the others. A sheet, or a change of it, for some ports is applied to their side."""
    scope = change if change and change.get("port_group") else sheet
    group = scope.get("port_group")
    if group in SIDES:
        return SIDES[group]
    leaf = sheet["device"].startswith("leaf")
    ports = [int(p.removeprefix("Ethernet")) for p in scope.get("ports") or [] if p.startswith("Ethernet")]
    host = {leaf and p <= hosts_per_leaf for p in ports}
    return "" if len(host) != 1 else "/hosts" if host.pop() else "/uplinks"


KNOBS = {"kmin": ("kmin", "B"), "kmax": ("kmax", "B"), "pmax": ("pmax", ""), "alpha": ("alpha", ""), "headroom": ("headroom", "B"), "xon_offset": ("xon_offset", "B")}


def ports_of(sheet, change, hosts_per_leaf):
    """Suffixes of the ports, where they are neither all nor one side of the switch; None: side_of() says it."""
    scope = change if change.get("port_group") else sheet
    if scope.get("port_group") in SIDES or not scope.get("ports"):
        return None
    return ["/" + p for p in scope["ports"]]


def settings_of(sheet, hosts_per_leaf=8, by_port=False):
    """{"leaf1/hosts:kmin": "800000B", ...}: the canary and the rest; and knobs that the lab does not have. @by_port: single ports can be set."""
    out, unknown = {}, []
    for c in sheet["changes"]:
        side = side_of(sheet, hosts_per_leaf, c)
        single = ports_of(sheet, c, hosts_per_leaf) if by_port else None
        if c["knob"] not in KNOBS or c["proposed"] is None:
            unknown.append(c["knob"])
            continue
        key, unit = KNOBS[c["knob"]]
        # What the ASIC makes of the value is what will be in force.
        value = c.get("programmed") if c.get("programmed") is not None else c["proposed"]
        text = f"{value:.0f}B" if unit == "B" else f"{value:.9g}"
        for device in [sheet["device"], *(sheet.get("rest") or [])]:
            if single and device[:4] == sheet["device"][:4]:  # switches of a tier are cabled alike here
                out.update({f"{device}{port}:{key}": text for port in single})
            elif device.startswith("leaf") or not sheet["device"].startswith("leaf") or side != "/hosts":  # a spine has no hosts
                out[f"{device}{side if device.startswith('leaf') else ''}:{key}"] = text
    return out, unknown


def covers(place, other):
    """Does a setting of @place replace one of @other? A side is set after single ports of it, and so on top of them in any case."""
    device, _, side = place.partition("/")
    there, _, part = other.partition("/")
    return device == there and not side and bool(part)


def fold(settings, new):
    """Settings in force after @new came on top: one for all ports of a switch replaces those for a side."""
    out = dict(settings)
    for key, value in new.items():
        place, knob = key.split(":")
        device, _, side = place.partition("/")
        for other in [k for k in out if k.endswith(":" + knob) and covers(place, k.split(":")[0])]:
            del out[other]
        out.pop(key, None)
        out[key] = value
    return out


def turned_back(rounds):
    """Does any knob of a sheet's device and side go up and then down, or the other way?"""
    went = {}
    for r in rounds:
        for sheet in r["sheets"]:
            for c in sheet["changes"]:
                if c["current"] is None or c["proposed"] is None or c["proposed"] == c["current"]:
                    continue
                up = c["proposed"] > c["current"]
                for place in places(sheet):
                    if went.setdefault((place, c["knob"]), up) != up:
                        return True
    return False


def places(sheet, hosts_per_leaf=8):
    """(device, side) that a sheet touches."""
    side = side_of(sheet, hosts_per_leaf)
    return {(d, s) for d in [sheet["device"], *(sheet.get("rest") or [])] for s in (("/hosts", "/uplinks") if side == "" else (side,))}


def round_of(sheets, hosts_per_leaf=8):
    """What is applied at once: the first sheet that says change, and what says the same of other places."""
    out, taken = [], set()
    for s in sheets:
        if s["advice"] != "change" or (out and s["diagnosis"] != out[0]["diagnosis"]) or taken & places(s, hosts_per_leaf):
            continue
        out.append(s)
        taken |= places(s, hosts_per_leaf)
    return out


def within(low, high, value, slack=0.0):
    return value is not None and low is not None and high is not None and low - slack <= value <= high + slack
