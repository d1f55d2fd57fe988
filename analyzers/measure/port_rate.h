/*
 * port_rate - how fast one port sent or received in a window, compared with its capacity. Every
 * detector of load starts from it. Pure. Counter arithmetic (wraps, resets, restarts) is in
 * db/series; here is how far a rate can be trusted, and the capacity.
 */
#ifndef RW_MEASURE_PORT_RATE_H
#define RW_MEASURE_PORT_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "config/fabric.h"
#include "db/model/finding.h"
#include "db/series/series.h"

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
int port_rate(const struct window *window, const struct fabric_port *port, unsigned metric,
	int64_t interval_ns, struct port_rate *ret);

/* port_rate_of - the same for whoever has the series at hand: octets, speed, link state; each may
 * be NULL. */
int port_rate_of(const struct window *window, const struct fabric_port *port,
	const struct series *octets, const struct series *speed, const struct series *up,
	int64_t interval_ns, struct port_rate *ret);

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

#endif
