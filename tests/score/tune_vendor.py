"""tune_vendor - a vendor's own tuner, as a baseline: one rule for the whole fabric, window by window. Pure: the fabric is asked through a function.

Any PFC or tail drop in the window: move Kmin and Kmax left by one quantum. None, but ECN marks: move right. Neither: stay. Quanta are coarse until the
direction turns, then fine; when it turns again, the tuner has arrived. A window has PFC when more than @anomaly of the time is paused: 0 for any frame at
all, 1 % for the threshold below which an operator is not called.
"""

COARSE, FINE = 0.05, 0.01  # of the switch's shared buffer
LEAST = 4200               # bytes: one packet of the largest RoCE MTU
WINDOWS = 16
ANOMALIES = {"any PFC": 0.0, "PFC above 1 %": 0.01}


def direction(outcome, anomaly):
    """-1 left (mark earlier), +1 right, 0 stay."""
    paused = max(outcome["host_pause_ratio"], outcome["link_pause_ratio"])
    if paused > anomaly or outcome["lossless_drops"]:
        return -1
    return 1 if (outcome["marks_ratio"] or 0) > anomaly else 0


def moved(kmin, kmax, step, pool):
    width = kmax - kmin
    kmin = min(max(kmin + step, LEAST), pool)
    return kmin, kmin + width


def tune(measure, kmin, kmax, pool, anomaly, windows=WINDOWS):
    """measure(kmin, kmax) -> outcome. The settings and outcomes of all windows, the first of them as it was found."""
    seen, quantum, went, fine = [], COARSE, 0, False
    for _ in range(windows + 1):
        outcome = measure(kmin, kmax)
        seen.append({"kmin": kmin, "kmax": kmax, "outcome": outcome})
        to = direction(outcome, anomaly)
        if to == 0 or (fine and went and to != went):
            break
        if went and to != went:
            fine, quantum = True, FINE
        went = to
        new = moved(kmin, kmax, to * quantum * pool, pool)
        if new == (kmin, kmax):
            break
        kmin, kmax = new
    return seen
