/*
 * pause_graph - who waits for whom: PFC pause of one priority over the topology, and where it
 * begins.
 *
 * An edge says "@at is paused by @by": egress port @at of a switch (or a host's NIC, at == NULL)
 * may not send because the neighbour's ingress buffer is full (or its NIC says so). The same fact
 * is counted at both ends of a link (rx at one, tx at the other); the better one is taken. A root
 * is where pressure begins: a HOST that pauses its switch port although nothing else makes it, or a
 * QUEUE, an egress port that is not paused itself (or less than it makes others wait) and whose
 * switch pauses its inputs. Roots are found by structure and magnitude, never by poll order: onset
 * spreads within a round trip a hop, polls are a thousand times slower (tuning facts, c.2).
 *
 * How: every edge brings its pause time as a load. At a switch the load of an input goes on to the
 * egress ports that can have filled it (not back to the neighbour it came from; what came from an
 * upper tier goes down only), shared out by what tells of their queues: watermarks, else pause of
 * their own, marks, load. What is as paused as the input passes the load on to whoever pauses it,
 * the rest stays: QUEUE. What cannot be shared out for lack of data stays unresolved, and takes
 * part in the sum that shares are shares of.
 *
 * Pure; lives in the arena of the window, made at most once per window (in->shared). Linear in
 * ports and edges but for the trees, which are drawn for the strongest PAUSE_TREES roots of a
 * priority.
 */
#ifndef RW_ANALYZERS_PAUSE_GRAPH_H
#define RW_ANALYZERS_PAUSE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzers/measure/observe.h"

enum { PAUSE_TREES = 8 };

struct pause_edge {
	const struct port_seen *at; /* the switch port that may not send; NULL: a host's NIC */
	/* the switch port whose side pauses; NULL: a host, or a neighbour that is not known */
	const struct port_seen *by;
	const char *host; /* the host at the one end that is not a switch, else NULL */
	int priority;
	double lo, hi; /* share of the window, 0..1 */
	double weight; /* measured: lo; else a guess for comparing edges only: frames at the time a
			  frame lasts where it is measured, else at its longest (may exceed 1) */
	bool measured;
	/* counted at one end of the link only, though both are switches */
	bool one_end;
	uint32_t tree; /* edges of one priority that hang together have the same */
	enum quality quality;
};

enum pause_origin { ORIGIN_HOST, ORIGIN_QUEUE };
struct pause_root {
	enum pause_origin origin;
	/* HOST: the switch port that faces the host; QUEUE: the egress port where bytes pile up */
	const struct port_seen *port;
	/* HOST: its name, NULL when nothing is declared there; QUEUE: the host at that port, NULL
	 * towards a switch */
	const char *host;
	int priority;
	uint32_t tree; /* as in its edges */
	/* pause-time below it in the tree, in port-windows (1 = one port paused all the time) */
	double pressure;
	/* of all pressure of its tree (ports that hang together by pause), 0..1 */
	double share;
	/* of it together with those that are one cause with it: a host's rails, the uplinks of a
	 * switch, all links down to one */
	double joint_share;
	/* joint share of the strongest other cause of that tree; 0: none */
	double next_share;
	/* accepted: joint share at least 40 %, three times the next; or a HOST that is seen to
	 * pause its port for long */
	bool clear;
	double level_hi; /* HOST: share of the window it pauses its port, upper end */
	double level_lo;
	bool measured;
	/* what waits because of it: its tree, nearest first (in the arena); beyond the PAUSE_TREES
	 * strongest: none drawn */
	const struct pause_edge **direct, **indirect;
	size_t n_direct, n_indirect;
	size_t n_switches, n_hosts; /* that wait */
};

struct pause_cycle { /* ports that wait for one another in a ring and move nothing */
	const struct pause_edge **edges; /* each by the device of the next one's at */
	size_t n;
	int priority;
	double queued_bytes; /* watermarks of the ring's queues; NAN unknown */
	/* no octets left any of its ports in the window (of that priority where it is known) */
	bool still;
	bool measured; /* every edge of it is */
	/* a host that pauses all the time is waited for by this ring: that is a storm, and may be
	 * all of it */
	bool fed;
};

struct pause_graph {
	/* the ports below are those of this observation */
	const struct observed *observed;
	/* with hi > 0, by device, port, priority */
	const struct pause_edge *edges;
	size_t n_edges;
	const struct pause_root *roots;
	size_t n_roots; /* strongest first */
	const struct pause_cycle *cycles;
	size_t n_cycles;
	/* pressure whose origin cannot be told for lack of data, port-windows */
	double unresolved[OBSERVED_PRIORITIES];
	double pressure[OBSERVED_PRIORITIES]; /* all of it */
	/* some pause counter is alive or PFC is read back as enabled */
	bool observable;
};

/* pause_graph - of the window of @in. Never NULL. */
const struct pause_graph *pause_graph(const struct analyzer_in *in);

/*
 * Does anything leave the queue of @priority? An agent may refresh queue counters more slowly than
 * those of ports: a queue that seems to stand while its port moves is believed only if the same
 * counters move elsewhere on that switch. Where the port is not counted, what the other end
 * received is.
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
