/*
 * pause_net - the edges of one priority as a graph of switches, and which way load may take through
 * a switch. Shared by pause_blame, pause_tree and pause_cycle.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/observe.h"

/* ---- pause_edges ----------------------------------------------------------- */

/*
 * pause_edges - who may not send because of whom: PFC pause of one window, link by link.
 *
 * An edge says "@at is paused by @by": egress port @at of a switch (or a host's NIC, at == NULL)
 * may not send because the ingress buffer of its neighbour is full (or a NIC says so). The same
 * fact is counted at both ends of a link, as received pause at one and sent pause at the other; the
 * better account is taken. Pure; lives in the arena.
 */

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

/* ---- pause_net ------------------------------------------------------------- */

enum { NO_DEVICE = -1 };

/* The edges of one priority, and which of them leave from and lead to each switch: ids[start[d]] ..
 * ids[start[d + 1] - 1]. */
struct pause_list {
	uint32_t *ids, *start;
};
struct pause_net {
	const struct observed *o;
	struct arena *a;
	int priority;
	struct pause_edge *edges;
	struct pause_list from, to; /* by the switch of .at, of .by */
	uint32_t *edge_at; /* [port]: edge whose .at it is, + 1 */
	/* all of .edges; those of other priorities are in no list */
	size_t n_edges;
};

static inline int pause_device_of(const struct port_seen *port)
{
	if (port)
		return (int)port->device->device->index;
	return NO_DEVICE;
}
static inline size_t port_index(const struct observed *observed, const struct port_seen *port)
{
	return (size_t)(port - observed->ports);
}

/* The switch at the other end of @port. */
static inline int pause_peer_device_of(const struct port_seen *port)
{
	if (port->port->peer)
		return (int)port->port->peer->device->index;
	return NO_DEVICE;
}

/* Which tier a switch stands in; -1 is not known. */
static inline int pause_tier_of(const struct fabric_device *device)
{
	switch (device->role) {
	case ROLE_LEAF: return 0;
	case ROLE_SPINE: return 1;
	case ROLE_SUPERSPINE: return 2;
	case ROLE_OTHER: break;
	}
	return -1;
}

/* Does the port lead to a higher tier? Hosts and neighbours whose tier is not known do not. */
static inline bool leads_up(const struct port_seen *port)
{
	const struct fabric_port *peer = port->port->peer;
	return peer && pause_tier_of(port->port->device) >= 0 &&
		pause_tier_of(peer->device) > pause_tier_of(port->port->device);
}

/*
 * May what came in at @in have gone out at @out, a port of the same switch? Not back to where it
 * came from; and what came from an upper tier goes down: routes in a tree of tiers have no valley
 * (a ring of waiting ports is what happens where they do; pause_cycle does not ask this).
 */
static inline bool can_pass(const struct port_seen *in, const struct port_seen *out)
{
	if (in == out ||
		(in->port->peer && out->port->peer &&
			in->port->peer->device == out->port->peer->device))
		return false;
	return !(leads_up(in) && leads_up(out));
}

/* pause_net_of - the net of @priority, in @a; @edges and @observed are borrowed. */
struct pause_net pause_net_of(const struct observed *observed, const struct pause_edges *edges,
	int priority, struct arena *a);

/* edge_outsider - the switch that waits at @edge and is not configured; NULL: another waits. */
const char *edge_outsider(const struct pause_edge *edge);
