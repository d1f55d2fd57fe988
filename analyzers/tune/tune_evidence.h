/*
 * tune_evidence - what a stretch of history says of every lossless queue, folded window by window
 * out of observe(): the same measurement the detectors see. An accumulator, so that a week need not
 * be in memory; the same windows in the same order give the same bytes.
 *
 * Watermarks are maxima over the device's own windows (tune_peak.h). Counters that never moved
 * prove nothing: pause and marks are NAN unless a counter of that kind has moved somewhere on the
 * switch, or settings say that PFC (or marking) is on there.
 *
 * Evidence is of the thresholds in force: when a setting of a switch moves, what was summed of that
 * switch before is dropped, and .since_ns says from when it counts. The windows of the whole fabric
 * (.windows) stay: they are what a before/after comparison is made of.
 *
 * Age of settings: a state is valid until its next value or a gap of its device.
 * Collectors tell a state at each slow poll, or on change only; both are stored as told. So
 * .read_ns is the newest sample, carried on to the newest sample of its device as long as that was
 * neither silent for a window nor restarted since the setting was read.
 *
 * Busy: windows in which the switch carried at least a fifth of what it usually carries (p90 of
 * windows; rhythm.h); jobs pause, save and end.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/observe.h"
#include "analyzers/tune/tune_peak.h"

struct world_facts;

struct tune_prio { /* one (port, priority): ingress priority group and egress queue of a port */
	const struct fabric_port *port;
	int priority;
	unsigned windows, busy; /* judged; in which the switch carried load */
	/* pause, share of watched time over all windows and over busy ones; lo = hi where measured.
	 * windows in which it (its upper bound) stood above 0.1 % */
	double tx_pause_lo, tx_pause_hi, rx_pause_lo, rx_pause_hi;
	double tx_pause_busy, rx_pause_busy; /* by the upper bound */
	bool pause_measured; /* the whole time, both ways as far as told */
	/* tx_unmarked: windows in which we paused and no queue of the switch marked, as far as
	 * marks are known */
	unsigned tx_windows, rx_windows, tx_unmarked;
	double episode_ns, episodes_per_s; /* mean pause episode sent; NAN */
	/* sums over the union of windows that told both; the ratio is theirs, not a mean of ratios;
	 * NAN */
	double marked, out_packets;
	bool marks_alive; /* this queue has marked */
	double drops, pg_drops, wred_drops; /* sums; NAN: never told */
	/* one of them moved in the range or before: they count. false: 0 proves nothing */
	bool drops_alive;
	/* divisors for rates; the sums of covered time */
	int64_t pause_watched_ns, drops_watched_ns;
	double utilization, utilization_busy; /* out of its port, in all and in busy windows; NAN */
	struct tune_peak queue, pg, headroom;
	double inputs; /* k of this egress queue, 1 or more: its peak over the fullest priority
			  group of the other ports; without peaks, the priority groups that were
			  paused in the same windows; NAN unknown */
	/* settings in force at the end; NAN unknown. read_ns: known to be in force until then (see
	 * above); 0 never read. Those from the configuration file: .declared */
	double pfc_enabled, alpha, headroom_bytes, xoff_level, xon_level, xon_offset, ecn_enabled,
		kmin, kmax, pmax;
	/* as in struct port_prio: 1 relative, and then .kmin and .kmax are NAN; shares; credits;
	 * trimming */
	double ecn_relative, kmin_ratio, kmax_ratio, cbfc_enabled, trim_enabled;
	bool relative_declared;
	bool declared;
	int64_t read_ns; /* of the oldest of the settings that were read */
	unsigned setting_changes; /* times a setting of it moved within the range */
	/*
	 * The newest busy windows, at most RECENT_WINDOWS of them, bit 0 = the newest: a signature
	 * has to hold in 3 of the last 5. tx: we paused by more than 0.1 %; rx: the neighbour
	 * paused us by more than 1 %; unmarked: we paused and no queue of the switch marked; marks:
	 * more than 5 % of what it sent; lost: frames of the priority group; full: headroom peak at
	 * 90 % of its size or above.
	 */
	unsigned recent;
	uint8_t recent_tx, recent_rx, recent_unmarked, recent_marks, recent_lost, recent_full;
	/* the same over the whole range: loss is rare, and does not wait for the last five */
	unsigned lost_windows, full_windows;
};
enum { RECENT_WINDOWS = 8 };

/* what may explain pressure at a port before thresholds do; over the whole range */
struct tune_port {
	const struct fabric_port *port;
	/* damaged frames and codewords: FCS, symbol, uncorrectable FEC, or all input errors where
	 * these are more; NAN: no such counter */
	double errors;
	unsigned error_windows, down_windows;
	bool down_now; /* in the newest window that tells */
	double flaps, storms; /* NAN: not told; storms: of the PFC watchdog, all priorities */
	/* read back, newest; NAN. Declared ones are the fabric's */
	double speed_bps, mtu_bytes, cable_m;
	double in_octets, out_octets; /* NAN */
	double utilization_busy; /* out, in busy windows; NAN */
};

struct tune_device {
	const struct fabric_device *device;
	/* lossless ones of ports the fabric names, by port, then priority */
	struct tune_prio *prios;
	size_t n_prios;
	struct tune_port *ports;
	size_t n_ports; /* those of the fabric, in its order */
	double pool_bytes, pool_slices, shp_ratio, cell_bytes; /* NAN unknown */
	struct tune_peak pool;
	/* from when its lanes' evidence is: the range's begin, or when a setting of it moved last
	 */
	int64_t since_ns;
	double coverage_ratio; /* windows with samples over all */
	unsigned windows; /* with samples, since then */
	/* windows with a restart; runs of silent windows: over the whole range */
	unsigned restarts, gaps;
	/* priority groups that were filled (or paused) at once: k; 0 unknown */
	unsigned inputs_typical, inputs_max;
};

struct tune_window { /* one window, for matched comparison (tune_verify) */
	int64_t from_ns, to_ns;
	/* mean tx pause share over host-facing lanes, upper bound where not measured; NAN */
	float host_pause;
	float marks; /* marked over sent, all lossless queues; NAN */
	float drops; /* lossless drops; NAN */
	/* octets per second towards hosts (where none is known: out of all ports), all jobs; NAN */
	float load;
	bool busy;
};

struct tune_evidence {
	const struct fabric *fabric;
	int64_t from_ns, to_ns, window_ns, interval_ns;
	struct tune_device *devices;
	size_t n_devices; /* in the fabric's order */
	struct tune_window *windows;
	size_t n_windows;
	double coverage_ratio; /* of the devices that were heard at all */
	/* by priority: what else was told of the world of each class (balancing, trimmed packets,
	 * captured packets); NULL: nothing */
	const struct world_facts *told;
};

/* tune_fold_new - for windows of @window_ns. Everything lives in @a. */
struct tune_fold;
struct tune_fold *tune_fold_new(
	const struct fabric *fabric, int64_t window_ns, int64_t interval_ns, struct arena *a);
/* tune_fold_add - windows in order of time; @observed lives in an arena of its own and is not kept.
 */
void tune_fold_add(struct tune_fold *fold, const struct observed *observed);
/* tune_fold_done - once; lent, valid as long as the arena. -ENODATA: no window had a sample. */
int tune_fold_done(struct tune_fold *fold, const struct tune_evidence **ret);

/* Share of sent packets that were marked, 0..1; NAN unknown or nothing was sent. */
static inline double tune_prio_marks(const struct tune_prio *prio)
{
	if (prio->out_packets > 0)
		return prio->marked / prio->out_packets;
	return NAN;
}
/* The lane of @device (its index in the fabric) at @port, NULL. */
const struct tune_prio *tune_prio_at(
	const struct tune_evidence *evidence, const struct fabric_port *port, int priority);
