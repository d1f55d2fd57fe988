/*
 * tune_evidence - what a stretch of history says of every lossless queue, folded window by window out of observe(): the same measurement the
 * detectors see. An accumulator, so that a week need not be in memory; the same windows in the same order give the same bytes.
 *
 * Watermarks are maxima over the device's own windows (metrics.md): peaks are compared only at equal window lengths, and one that reached the size of
 * what it measures is censored: the true need is unknown, not equal to it. Counters that never moved prove nothing.
 */
#ifndef RW_ANALYZERS_TUNE_EVIDENCE_H
#define RW_ANALYZERS_TUNE_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzers/observe.h"

struct tune_peak {              /* bytes; NAN: never told */
	double max, p99;            /* over windows */
	unsigned windows;           /* that told one */
	bool censored;              /* reached the size of what it measures (by 98 %) */
};

struct tune_lane { /* one (port, priority): ingress priority group and egress queue of a port */
	const struct fabric_port *port;
	int priority;
	unsigned windows, busy;     /* judged; in which it carried load */
	/* pause, share of time over all windows and over busy ones; lo = hi where measured. windows in which it stood above 0.1 % */
	double tx_pause_lo, tx_pause_hi, rx_pause_lo, rx_pause_hi;
	double tx_pause_busy, rx_pause_busy; /* by the upper bound */
	bool pause_measured;
	unsigned tx_windows, rx_windows, tx_unmarked; /* tx_unmarked: windows in which we paused and no queue of the switch marked */
	double episode_ns, episodes_per_s; /* mean pause episode sent; NAN */
	double marked, out_packets; /* sums over the union of windows; the ratio is theirs, not a mean of ratios */
	bool marks_alive;
	double drops, pg_drops, wred_drops; /* sums; NAN: no counter that ever moved or was told */
	bool drops_alive;
	double utilization_busy;    /* of its port, in busy windows */
	struct tune_peak queue, pg, headroom;
	/* settings in force at the end; NAN unknown. read_ns: when they were last read; 0 never. Those from the configuration file: .declared */
	double pfc_enabled, alpha, headroom_bytes, xoff_level, xon_level, xon_offset, ecn_enabled, kmin, kmax, pmax;
	bool declared;
	int64_t read_ns;
	unsigned setting_changes;   /* times a setting moved within the range */
	/*
	 * The newest busy windows, at most RECENT_WINDOWS of them, bit 0 = the newest: a signature has to hold in 3 of the last 5. tx: we paused by more
	 * than 0.1 %; rx: the neighbour paused us by more than 1 %; unmarked: we paused and no queue of the switch marked; marks: more than 5 % of what
	 * it sent; lost: frames of the priority group; full: headroom peak at 90 % of its size or above.
	 */
	unsigned recent;
	uint8_t recent_tx, recent_rx, recent_unmarked, recent_marks, recent_lost, recent_full;
	unsigned lost_windows, full_windows; /* the same over the whole range: loss is rare, and does not wait for the last five */
};
enum { RECENT_WINDOWS = 8 };

struct tune_port { /* what may explain pressure at a port before thresholds do */
	const struct fabric_port *port;
	double errors;              /* damaged frames and codewords: FCS, symbol, uncorrectable FEC; NAN: no such counter */
	unsigned error_windows, down_windows;
	double flaps, storms;       /* NAN: not told; storms: of the PFC watchdog, all priorities */
	double speed_bps, mtu_bytes, cable_m; /* read back, newest; NAN. Declared ones are the fabric's */
	double in_octets, out_octets; /* over the range; NAN */
	double utilization_busy;    /* out, in busy windows; NAN */
};

struct tune_device {
	const struct fabric_device *device;
	struct tune_lane *lanes; size_t n_lanes;  /* lossless ones, by port, then priority */
	struct tune_port *ports; size_t n_ports;  /* those of the fabric, in its order */
	double pool_bytes, pool_slices, shp_ratio, cell_bytes; /* NAN unknown */
	struct tune_peak pool;
	double coverage_ratio;      /* windows with samples over all */
	unsigned restarts, gaps;    /* windows with a restart; runs of silent windows */
	unsigned inputs_typical, inputs_max; /* priority groups that were filled (or paused) at once: k */
};

struct tune_window { /* one window, for matched comparison (tune_verify) and the what-if model */
	int64_t from_ns, to_ns;
	float host_pause;           /* mean tx pause share over host-facing lanes, upper bound where not measured */
	float marks;                /* marked over sent, all lossless queues; NAN */
	float drops;                /* lossless drops */
	float load;                 /* octets per second out of host ports (or uplinks), all jobs; NAN */
	bool busy;
};

struct tune_evidence {
	const struct fabric *fabric;
	int64_t from_ns, to_ns, window_ns, interval_ns;
	struct tune_device *devices; size_t n_devices; /* in the fabric's order */
	struct tune_window *windows; size_t n_windows;
	double coverage_ratio;
};

/* tune_evidence_new - for windows of @window_ns. Everything lives in @a. */
struct tune_fold;
struct tune_fold *tune_fold_new(const struct fabric *f, int64_t window_ns, int64_t interval_ns, struct arena *a);
/* tune_fold_add - windows in order of time; @o lives in an arena of its own and is not kept. */
void tune_fold_add(struct tune_fold *f, const struct observed *o);
/* tune_fold_done - lent; valid as long as the arena. -ENODATA: no window had a sample. */
int tune_fold_done(struct tune_fold *f, const struct tune_evidence **ret);

#endif
