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
#ifndef RW_MEASURE_PAUSE_GRAPH_H
#define RW_MEASURE_PAUSE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzers/measure/pause_blame.h"
#include "analyzers/measure/pause_cycle.h"
#include "analyzers/measure/pause_edges.h"

struct analyzer_in;

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

#endif
