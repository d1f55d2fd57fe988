/*
 * tune_evidence_fold - what tune_evidence.c keeps while windows come in, and tune_evidence_sum.c
 * makes the evidence of. For these two. Units as in tune_evidence.h; lives in the arena of the
 * fold.
 */
#ifndef RW_ANALYZERS_TUNE_EVIDENCE_FOLD_H
#define RW_ANALYZERS_TUNE_EVIDENCE_FOLD_H

#include <math.h>

#include "analyzers/measure/class_world.h"
#include "analyzers/tune/tune_evidence.h"

struct arena;

enum {
	LOAD_BINS = 100, /* half octaves of bytes per second; bin 0: not known, bin 1: nothing */
	K_BINS = 257,
	SETTINGS = 15,
};

#define USUAL_QUANTILE 0.9
#define SEEN_RATIO 0.05 /* of the highest load: windows below are not asked what is usual */

/* Where a setting is in the observed window, and where in the evidence. */
struct tune_setting {
	uint16_t metric, seen, prio;
};
extern const struct tune_setting tune_settings[SETTINGS];

struct read_back {
	double value; /* as read; NAN not read */
	int64_t t_ns; /* newest sample */
	bool carried; /* its device has been heard ever since */
};

struct load_sum { /* of the windows with one load */
	unsigned windows, n_utilization;
	double tx_ns, tx_watched_ns, rx_ns, rx_watched_ns, utilization;
};

struct pause_sum {
	double lo_ns, hi_ns, watched_ns;
	bool alive, measured;
};

struct prio_sums { /* dropped when a setting moves */
	unsigned windows, tx_windows, rx_windows, tx_unmarked, lost_windows, full_windows;
	unsigned recent;
	uint8_t recent_tx, recent_rx, recent_unmarked, recent_marks, recent_lost, recent_full;
	struct pause_sum tx, rx;
	double transitions, transition_pause_ns, transition_watched_ns;
	double marked, marked_packets, drops, pg_drops, wred_drops;
	bool marks_known, marks_alive, drops_known, pg_drops_known, wred_known, drops_alive;
	int64_t drops_watched_ns;
	struct load_sum loads[LOAD_BINS];
};

struct prio_fold {
	const struct fabric_port *port;
	int priority;
	struct prio_sums sums;
	struct peak_fold *queue, *pg, *headroom;
	struct read_back read[SETTINGS];
	double in_force[SETTINGS];
	bool declared, relative_declared;
	unsigned setting_changes;
};

struct total {
	double sum;
	bool known;
};
static inline double total_of(const struct total *total)
{
	if (total->known)
		return total->sum;
	return NAN;
}
struct port_fold {
	struct total damaged, in_errors, flaps, storms, in_octets, out_octets;
	unsigned error_windows, down_windows;
	bool down_now;
	double speed_bps, mtu_bytes, cable_m;
	struct load_sum loads[LOAD_BINS];
};

struct device_fold {
	const struct fabric_device *device;
	struct port_fold *ports;
	struct prio_fold **prios; /* [port of the device x OBSERVED_PRIORITIES + priority] */
	struct peak_fold *pool;
	double pool_bytes, pool_slices, shp_ratio, cell_bytes;
	int64_t since_ns, newest_ns;
	unsigned heard, windows, restarts, gaps;
	bool silent;
	unsigned loads[LOAD_BINS];
	unsigned k[K_BINS];
};

struct tune_fold {
	const struct fabric *fabric;
	int64_t window_ns, interval_ns;
	struct arena *arena;
	struct device_fold *devices;
	struct tune_window *windows;
	size_t n_windows, cap_windows;
	struct world_facts told[OBSERVED_PRIORITIES];
};

/* The first load bin that counts as busy. */
unsigned tune_busy_from(const unsigned *loads);

#endif
