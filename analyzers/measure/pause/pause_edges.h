/*
 * pause_edges - who may not send because of whom: PFC pause of one window, link by link.
 *
 * An edge says "@at is paused by @by": egress port @at of a switch (or a host's NIC, at == NULL)
 * may not send because the ingress buffer of its neighbour is full (or a NIC says so). The same
 * fact is counted at both ends of a link, as received pause at one and sent pause at the other; the
 * better account is taken. Pure; lives in the arena.
 */
#ifndef RW_MEASURE_PAUSE_EDGES_H
#define RW_MEASURE_PAUSE_EDGES_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzers/measure/observe.h"

struct arena;

struct pause_edge {
	const struct port_seen *at; /* the switch port that may not send; NULL: a host's NIC */
	/* the switch port whose side pauses; NULL: a host, or a neighbour that is not known */
	const struct port_seen *by;
	const char *host; /* the host at the one end that is not a switch, else NULL */
	int priority;
	double lo, hi; /* share of the window, 0..1 */
	/* for comparing edges: lo when measured; else an estimate from frames: each as long as
	 * frames last where time is measured too, else as long as one can last (may exceed 1) */
	double weight;
	bool measured;
	/* counted at one end of the link only, though both are switches */
	bool one_end;
	uint32_t tree; /* edges of one priority that hang together have the same */
	enum quality quality;
};

struct pause_edges {
	struct pause_edge *v; /* with hi > 0, by device, port, priority */
	size_t n, cap;
	size_t n_of[OBSERVED_PRIORITIES]; /* of each priority */
	/* some pause counter is alive, or PFC is read back as enabled */
	bool observable;
};

/* pause_edges - of an observation, in @a. */
struct pause_edges pause_edges(const struct observed *observed, struct arena *a);

/*
 * queue_motion - does anything leave the queue of @priority at @port?
 *
 * An agent may refresh queue counters more slowly than those of ports. A queue that seems to stand
 * while its port moves is therefore believed only if the same counters move elsewhere on that
 * switch. Where the port itself is not counted, what the other end received is taken.
 */
enum motion { MOTION_UNKNOWN, MOTION_NONE, MOTION_SOME };
enum motion queue_motion(
	const struct observed *observed, const struct port_seen *port, int priority);

/* How long an edge lasts, for thresholds: the measured share of the window, else its upper bound.
 */
static inline double edge_level(const struct pause_edge *edge)
{
	if (edge->measured)
		return edge->lo;
	return edge->hi;
}

#endif
