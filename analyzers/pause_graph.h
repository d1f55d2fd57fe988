/*
 * pause_graph - who waits for whom: PFC pause of one priority over the topology, and where it begins.
 *
 * An edge says "@at is paused by @by": egress port @at of a switch (or a host's NIC, at == NULL) may not send because the neighbour's ingress
 * buffer is full (or its NIC says so). The same fact is counted at both ends of a link (rx at one, tx at the other); the better one is taken.
 * A root is where pressure begins: a HOST that pauses its switch port although nothing else makes it, or a QUEUE, an egress port that is not
 * paused itself (or less than it makes others wait) and whose switch pauses its inputs. Roots are found by structure and magnitude, never by
 * poll order; see pause_graph.c for the rule and its source (tuning facts, c.2).
 *
 * Pure; lives in the arena of the window, made at most once per window (in->shared).
 */
#ifndef RW_ANALYZERS_PAUSE_GRAPH_H
#define RW_ANALYZERS_PAUSE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzers/observe.h"

struct pause_edge {
	const struct port_seen *at; /* the switch port that may not send; NULL: a host's NIC */
	const struct port_seen *by; /* the switch port whose side pauses; NULL: a host */
	const char *host;           /* the host at the one end that is not a switch, else NULL */
	int priority;
	double lo, hi;              /* share of the window, 0..1 */
	bool measured;
	enum quality quality;
};

enum pause_origin { ORIGIN_HOST, ORIGIN_QUEUE };
struct pause_root {
	enum pause_origin origin;
	const struct port_seen *port; /* HOST: the switch port that faces the host; QUEUE: the egress port where bytes pile up */
	const char *host;             /* HOST: its name; QUEUE: the host at that port, NULL towards a switch */
	int priority;
	double pressure;              /* pause-time below it in the tree, in port-windows (1 = one port paused all the time) */
	double share;                 /* of all pressure of the priority, 0..1 */
	bool clear;                   /* its share is clearly ahead: accepted as a root; false: the picture is diffuse */
	double level_hi;              /* HOST: share of the window it pauses its port, upper end */
	double level_lo;
	bool measured;
	/* what waits because of it: ports (NULL-terminated lists in the arena) */
	const struct pause_edge **direct, **indirect;
	size_t n_direct, n_indirect;
	size_t n_switches, n_hosts;   /* that wait */
};

struct pause_cycle { /* ports that wait for one another in a ring and move nothing */
	const struct pause_edge **edges;
	size_t n;
	int priority;
	double queued_bytes;          /* watermarks of the ring's queues; NAN unknown */
	bool still;                   /* no octets left any of its ports in the window (of that priority where it is known) */
};

struct pause_graph {
	const struct pause_edge *edges; size_t n_edges;  /* with hi > 0, by device, port, priority */
	const struct pause_root *roots; size_t n_roots;  /* strongest first */
	const struct pause_cycle *cycles; size_t n_cycles;
	bool observable;                                 /* some pause counter is alive or PFC is read back as enabled */
};

/* pause_graph - of the window of @in. Never NULL. */
const struct pause_graph *pause_graph(const struct analyzer_in *in);

#endif
