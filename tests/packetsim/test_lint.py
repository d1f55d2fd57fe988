#!/usr/bin/env python3
"""test_lint.py ROCEWATCH PACKETSIM - what `rocewatch lint` says of settings that were read back,
against the drops, pauses and marks that the same settings give in packetsim."""
import json
import pathlib
import subprocess
import sys
import tempfile

ROCEWATCH, PACKETSIM = sys.argv[1:]
LEVELS = {"critical": "error", "warning": "warning", "info": "note"}  # of SARIF


def played(settings, folder):
    """What lint finds, worst severity by check, and how far each counter went."""
    case, db = folder / "case", folder / "case.db"
    subprocess.run([PACKETSIM, "--length", "30", "--interval", "10", "--cause", "ecn_late", *settings,
                    "--out", case], check=True)
    subprocess.run([ROCEWATCH, "replay", "--from", case, "--db", db], check=True, stdout=subprocess.DEVNULL)
    doc, sarif = (json.loads(subprocess.run([ROCEWATCH, "lint", "--db", db, "--failures", "0", "--format", form],
                                            stdout=subprocess.PIPE, check=False).stdout) for form in ("json", "sarif"))
    run = sarif["runs"][0]
    assert sarif["version"] == "2.1.0" and len(run["results"]) == len(doc["findings"])
    for row, told in zip(doc["findings"], run["results"]):
        assert (told["ruleId"], told["level"]) == (row["check"], LEVELS[row["severity"]]) and row["text"] in told["message"]["text"]
        assert told["ruleId"] in [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    found = {}
    for row in doc["findings"]:
        found.setdefault(row["check"], row["severity"])  # the worst are first
    first, grown, peak = {}, {}, 0
    for line in (case / "samples.tsv").read_text().splitlines():
        words = line.split("\t")
        if len(words) > 5:
            key, value = tuple(words[1:5]), words[5]
            if key[3] in ("pg.drops", "pfc.tx_frames", "queue.ecn_marked"):
                grown[key] = float(value) - first.setdefault(key, float(value))
            elif key[3] == "pg.shared_watermark_bytes":
                peak = max(peak, float(value))
    return found, peak, [sum(v for k, v in grown.items() if k[3] == name)
                         for name in ("pg.drops", "pfc.tx_frames", "queue.ecn_marked")]


def main():
    rows = [["--headroom-factor", f] for f in ("0.02", "0.3", "0.5", "0.7", "1.0", "1.1", "1.5", "3")]
    rows += [["--headroom-factor", "2", "--alpha", a, "--kmin", k, "--kmax", "2097KB"] for a in ("1/16", "1/4", "1")
             for k in ("100KB", "400KB", "1048KB")]
    # half of the buffer is headroom: a pool is told without it
    rows += [["--headroom-factor", "6", "--alpha", "1/16", "--kmin", "100KB", "--kmax", "2097KB"]]
    silent, by_alpha = 0, {}
    for settings in rows:
        with tempfile.TemporaryDirectory() as folder:
            found, peak, (drops, pauses, marks) = played(settings, pathlib.Path(folder))
        print(*settings, found, f"drops {drops:.0f}, pauses {pauses:.0f}, marks {marks:.0f}")
        assert drops == 0 or "headroom" in found, "frames were lost, and headroom is called enough"
        assert drops < 1e5 or found["headroom"] == "critical", "many were, and it is called nearly enough"
        assert marks > 0 or pauses == 0 or found.get("ecn_after_pfc") == "critical", "no mark before pause"
        if "--kmin" in settings and peak >= 1000 * int(settings[5][:-2]):
            assert found.get("ecn_after_pfc") != "critical", "a group went beyond Kmin before it paused"
        silent += not found.keys() & {"headroom", "ecn_after_pfc"}
        if settings[1] == "2":
            by_alpha.setdefault(settings[3], {True: [], False: []})["ecn_after_pfc" in found].append(pauses)
    assert silent > 0, "lint finds fault with everything"
    for paused in by_alpha.values():
        assert max(paused[False]) < min(paused[True]), "what lint finds late marks in pauses less"


main()
