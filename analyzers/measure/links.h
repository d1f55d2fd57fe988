/*
 * links - the fabric's links in one window: their two ends, their kind, and what links alike
 * measure. Pure; lives in the arena of the window.
 *
 * A link is reported at one of its ends, always the same one, called "near": the switch port that
 * faces a host; else the end nearer to the hosts (leaf before spine); else the first in the
 * fabric's order.
 */
#ifndef RW_MEASURE_LINKS_H
#define RW_MEASURE_LINKS_H

#include "analyzers/measure/observe.h"

struct arena;

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

#endif
