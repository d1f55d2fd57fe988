/*
 * links - the fabric's links in one window: their two ends, their kind, and what links alike
 * measure. Pure; lives in the arena of the window.
 *
 * A link is reported at one of its ends, always the same one, called "near": the switch port that
 * faces a host; else the end nearer to the hosts (leaf before spine); else the first in the
 * fabric's order.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/observe.h"
#include "db/series/series.h"

enum link_kind { LINK_HOST, LINK_SWITCH, LINK_LOOSE /* a port whose neighbour is not known */ };

struct link {
	const struct port_seen *near, *far; /* far: NULL for hosts and loose ports */
	enum link_kind kind;
	/* there is a sample of a device at one of its ends in this window */
	bool answered;
	uint16_t tiers; /* which tiers it joins: links alike have the same */
};

typedef double port_measure(const struct port_seen *port); /* NAN unknown */

struct links { /* in the order of their near ends: those of a device lie together */
	const struct observed *o;
	struct arena *a;
	struct link *v;
	size_t n;
	const struct link **by_host; /* the host links, by host, then in order */
	size_t n_by_host;
	struct link_values *values; /* what link_median() has sorted so far */
	struct link_speeds *speeds; /* what link_class() has counted so far */
};

void links_find(const struct observed *observed, struct arena *a, struct links *ret);
/* links_seen - those of the window; found once when the caller shares it (in->shared). Never NULL.
 */
struct links *links_seen(const struct analyzer_in *in);

/* Do they join the same tiers: host to leaf, or leaf to spine? Then their speeds, errors and optics
 * can be compared. */
static inline bool link_alike(const struct link *left, const struct link *right)
{
	return left->tiers == right->tiers;
}

/* The links whose near end is on the same switch; the links of the same host. A run within .v or
 * .by_host. */
size_t links_of_device(const struct links *links, const struct link *of, const struct link **ret);
size_t links_of_host(const struct links *links, const char *host, const struct link *const **ret);

/* End 0 is near, 1 far; NULL where there is no switch port. */
static inline const struct port_seen *link_end(const struct link *link, int end)
{
	if (end)
		return link->far;
	return link->near;
}

/* Is the port known to be down? Unknown is not down. */
static inline bool port_is_down(const struct port_seen *port)
{
	return port->oper_up == 0;
}

/* port_load - the busier direction of a port, as a share of its speed, 0..1. Where no speed is
 * known, of 1 Gbit/s: enough to tell idle from busy. NAN unknown. */
#define PORT_LOAD_FLOOR_BPS 1e9
double port_load(const struct port_seen *port);

/* link_median - the median of @measure over both ends of all links like @of, without @of itself;
 * NAN when there are fewer than @least values. */
double link_median(struct links *links, const struct link *of, port_measure *measure, size_t least);

/* ---- link_class ------------------------------------------------------------ */

/*
 * link_class - does a link run at the speed of its class? Pure.
 *
 * The declared speed wins: a port that runs at it is not compared with others. Siblings of
 * an uplink are the uplinks of the same switch to the same tier, then those of the tier; of a
 * host's link the other host links of the switch, then those of the fabric. More than half of them
 * must agree on a higher speed. One sibling alone only shows that the two differ, and counts for
 * uplinks only.
 *
 * Several links that are slower than most may be a class of their own, by design. Where fewer than
 * three times as many agree on the higher speed, the siblings of the switch do not decide, and then
 * those of the fabric. Where these do not either, there are two classes, whatever the switch's own
 * siblings say; so there are where most switches, and three at least, have links of the lower
 * speed, or all switches a pair, or where four links, or all of the far end, are of one switch.
 * Only a declaration tells a slow link from one of the slower class.
 */

enum link_reference { LINK_BY_DECLARED, LINK_BY_SIBLINGS, LINK_BY_PAIR, LINK_TWO_CLASSES };

struct link_class {
	uint64_t own_bps, should_bps; /* own: the smaller speed that its ends report */
	enum link_reference by; /* where .should_bps is taken from */
	size_t n_siblings; /* with a known speed */
	/* LINK_TWO_CLASSES only, of the whole fabric: links at .own_bps, this one included, and at
	 * .faster_bps; the first of those alike that is of neither class for sure */
	uint64_t faster_bps;
	size_t n_own, n_faster;
	const struct link *first;
};

/* link_is_down - one of its ends is known to be down. */
bool link_is_down(const struct link *link);

/* link_class - false when nothing can be said: no speed is reported, the link is down, or its
 * neighbour is not known. Else @ret is filled; the link is below its class where own < should. */
bool link_class(struct links *links, const struct link *link, struct link_class *ret);

/* ---- optic_trend ----------------------------------------------------------- */

/*
 * optic_trend - how a slow reading of a port (light, or the logarithm of a bit error ratio) has
 * moved against its own past. Pure.
 *
 * The past is cut into parts. Moved: the newest reading lies beyond every earlier part. How far is
 * that reading against the median of the earlier ones, or of the oldest third where the reading
 * has moved for most of the past. Noise is the robust deviation of second differences, so that a
 * steady trend, and where it begins, are not taken for noise. The slope is that of Theil and Sen
 * (Sen, 1968: the median of the slopes of all pairs), over the newest parts.
 */

struct optic_trend {
	bool known; /* there are enough parts */
	bool beyond; /* the newest reading lies beyond all earlier parts, in the direction asked for
		      */
	double before, now; /* of the reading; NAN unknown */
	double moved; /* in the direction asked for: > 0 is worse */
	double spread; /* one standard deviation of a reading */
	double slope_per_h; /* signed; NAN unknown */
};

/*
 * optic_trend_of - the reading @series in the time of @past. @worse: -1 where falling is bad (dBm),
 * +1 where rising is (bit errors, taken as log10). Readings at or below @least count as absent: a
 * dark fibre, a ratio too small to be measured.
 */
struct optic_trend optic_trend_of(const struct window *past, const struct series *series, int worse,
	bool decades, double least);

/* ---- link_limits ----------------------------------------------------------- */

/*
 * link_limits - from when on a link is bad: the options of the analyzer link_health. Screens and
 * metrics judge errors by the same ones.
 */

struct link_health_options {
	double busy, errors_per_s, errors_critical, ber, rx_power_drop_db, rx_power_min_dbm;
	double light_fall_db, ber_rise_decades; /* against the port's own past */
	int64_t window_ns, past_ns, hold;
};
