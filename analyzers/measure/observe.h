/*
 * observe - what one window says of every port, priority and switch: counters as amounts, pause as
 * shares of time, watermarks, states. It is measured once per window and read by all analyzers, so
 * each counter is judged (wraps, resets, plausibility) in one place. Pure; lives in the arena it
 * was made in; names are borrowed from the fabric and the entities.
 *
 * Missing is not zero: an amount says whether there were samples (.known) and whether the counter
 * has ever moved (.alive). observe.def lists the metrics and the fields they fill.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/amount.h"
#include "analyzers/measure/pause/pause_share.h"
#include "config/fabric.h"
#include "db/model/finding.h"
#include "db/model/metric.h"
#include "db/series/series.h"

struct analyzer_in;

/* ---- port_rate ------------------------------------------------------------- */

/*
 * port_rate - how fast one port sent or received in a window, compared with its capacity. Every
 * detector of load starts from it. Pure. Counter arithmetic (wraps, resets, restarts) is in
 * db/series; here is how far a rate can be trusted, and the capacity.
 */

/* A rate above this multiple of the line rate is a counter artefact (agents cache), not traffic. */
#define PORT_RATE_PLAUSIBLE 1.02

struct port_rate {
	uint64_t octets; /* in the intervals that count */
	int64_t covered_ns; /* the time those intervals span: the divisor */
	double rate_bps;
	uint64_t declared_bps; /* from the configuration, 0 = not given */
	uint64_t read_bps; /* from the device, 0 = not known */
	uint64_t capacity_bps; /* the smaller of the two where both are known; 0 = neither */
	double utilization_ratio; /* NAN when the capacity is unknown */
	/* share of the window with samples no further apart than they should be */
	double coverage_ratio;
	enum quality quality;
	enum { PORT_OPER_UNKNOWN, PORT_OPER_UP, PORT_OPER_DOWN } oper;
};

/*
 * port_rate - rate of an octet counter of @port over the window.
 *
 * @entity       of @port; ENTITY_NONE: it has no samples
 * @metric       M_PORT_OUT_OCTETS or M_PORT_IN_OCTETS
 * @interval_ns  usual time between samples, 0 = unknown; where the series itself shows another
 * spacing, that counts
 *
 * Intervals above PORT_RATE_PLAUSIBLE x line rate usually come from an agent that refreshes its
 * counters more slowly than it is asked: then the average over the whole run is plausible, and is
 * taken, marked estimated. Where even that is not, the plausible intervals are taken (all, if none
 * is) and marked suspect: a hot link is never thrown away.
 *
 * 0, or -ENODATA (speeds, coverage and .oper are filled all the same, as far as known).
 */
int port_rate(const struct window *window, const struct fabric_port *port, uint32_t entity,
	unsigned metric, int64_t interval_ns, struct port_rate *ret);

/*
 * octet_rate_between - octets a second in exactly (@from_ns, @to_ns], for spans of a few samples.
 *
 * Polls are late by a little, so one span gets none of them and the next one two. What lies between
 * two samples is taken as even, and the span gets its part of it. An interval longer than two spans
 * says too little of either. @gate: octets a second that are plausible, 0 = unknown. NAN when less
 * than OCTETS_SEEN of the span is known.
 */
double octet_rate_between(const struct series *series, int64_t from_ns, int64_t to_ns, double gate);
#define OCTETS_SEEN 0.5

/* ---- observe --------------------------------------------------------------- */

enum { OBSERVED_PRIORITIES = 8 };

struct port_prio { /* one priority of a port: ingress priority group and egress queue */
	const struct port_seen *port;
	int priority;
	bool lossless; /* by the fabric's intent */
	struct pause_share rx_pause, tx_pause;
	/* what the shares are made of */
	struct amount rx_pause_ns, tx_pause_ns, rx_pause_ns_hi, tx_pause_ns_hi;
	struct amount rx_frames, tx_frames, rx_transitions, tx_transitions;
	struct amount pg_drops, out_octets, out_packets, drops, wred_drops, trimmed, marked;
	struct amount storms, restores, storm_drops;
	/* peaks in the window, bytes; NAN unknown */
	double pg_peak, headroom_peak, queue_peak, depth_mean;
	/* configuration: read back, else declared (then .declared); NAN unknown */
	double pfc_enabled, alpha, headroom, xoff_level, xon_level, xon_offset, ecn_enabled, kmin,
		kmax, pmax;
	/* 1 relative: kmin_ratio and kmax_ratio count, and .kmin and .kmax are NAN, whatever bytes
	 * are told or declared: the hardware ignores them */
	double ecn_relative, kmin_ratio, kmax_ratio;
	bool relative_declared; /* .ecn_relative is what policy.classes says, not read back */
	/* 1: credits instead of pause; .alpha, .headroom, .xoff_level, .xon_level and .xon_offset
	 * are NAN then, since they are thresholds of PFC */
	double cbfc_enabled;
	double trim_enabled; /* 1: the queue trims instead of dropping */
	bool declared; /* at least one of them comes from the configuration file */
	bool headroom_declared; /* .headroom does */
};

struct port_seen {
	/* of the fabric, or one made for a port the fabric does not name (no peer, no host) */
	const struct fabric_port *port;
	const struct device_seen *device;
	uint32_t entity; /* ENTITY_NONE: no sample of it ever */
	bool in_fabric;
	struct port_rate in, out;
	bool out_known, in_known;
	struct amount in_packets, out_packets, in_errors, out_errors, in_discards, out_discards,
		fcs_errors, symbol_errors, fec_corrected, fec_uncorrectable, in_pause, out_pause,
		flaps;
	/* newest; NAN unknown */
	double oper_up, mtu_bytes, pre_fec_ber, rx_power_dbm, tx_power_dbm, temperature_c, cable_m,
		watchdog_ms; /* of PFC: detects a storm after */
	uint32_t prio_entity[OBSERVED_PRIORITIES]; /* ENTITY_NONE: no sample of it ever */
	/* NULL: nothing of interest is known of that priority */
	struct port_prio *prios[OBSERVED_PRIORITIES];
	/* sent by each priority's queue in the window; NAN unknown */
	double class_octets[OBSERVED_PRIORITIES];
};

struct device_seen {
	const struct fabric_device *device;
	struct port_seen *ports; /* those of the fabric, in its order */
	size_t n_ports;
	size_t n_series; /* with a sample inside the window; 0 = silent */
	int64_t newest_ns; /* newest sample, INT64_MIN none */
	bool restarted; /* restart flags in the window */
	double pool_bytes, pool_peak; /* the largest pool; NAN unknown */
	double headroom_pool_bytes; /* apart from the pool, for all ports */
	double cell_bytes;
	double pool_slices, shp_ratio; /* NAN unknown */
};

struct observed {
	int64_t from_ns, to_ns, interval_ns;
	const struct fabric *fabric;
	const struct window *window;
	struct device_seen *devices; /* in the fabric's order: [fabric_device.index] */
	size_t n_devices;
	/* fabric ports first: [fabric_port.index]; then ports the fabric does not name */
	struct port_seen *ports;
	size_t n_ports, n_fabric_ports;
	struct port_prio **prios; /* all of them, by port, then priority */
	size_t n_prios;
	/* [entity id <= n_entities]: index + 1 of its device and of its port (for priorities too);
	 * 0 = none */
	const uint32_t *device_of, *port_of;
	uint32_t n_entities;
};

/* observe - the observation of in->window; made at most once per window when the caller shares it
 * (in->shared). Never NULL. */
const struct observed *observe(const struct analyzer_in *in);

/* The metrics of observe.def. An analyzer that observes says so in its struct (.observes), and its
 * spec names only what it reads beside. */
extern const uint16_t observe_metrics[];
extern const size_t observe_n_metrics;

/* observe_prio_metrics - those of priorities into @ret; @opens: only those that make a priority
 * outside the lossless class worth observing. Returns how many. */
size_t observe_prio_metrics(bool opens, uint16_t ret[METRIC_COUNT]);

/* The observation of a port of the fabric; NULL when @port is NULL. */
const struct port_seen *observed_port(
	const struct observed *observed, const struct fabric_port *port);
/* The switch port at the other end of @port, NULL when there is none. */
const struct port_seen *observed_peer(
	const struct observed *observed, const struct port_seen *port);
/* What is known of @priority at @port, or NULL. */
const struct port_prio *observed_prio(const struct port_seen *port, int priority);

/* Did any queue of @priority at @device send in the window? Then its agent has refreshed these
 * counters, and a queue that stands while its port moves is one that sent nothing. */
bool observed_queues_move(const struct device_seen *device, int priority);

/* Share of the window with samples of the port's octets, 0..1; NAN unknown. */
static inline double observed_coverage(const struct port_seen *port)
{
	if (port->out_known)
		return port->out.coverage_ratio;
	if (port->in_known)
		return port->in.coverage_ratio;
	return NAN;
}

/* port_text - "leaf1:Ethernet49", in @a. */
const char *port_text(const struct port_seen *port, struct arena *a);
