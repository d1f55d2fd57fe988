/*
 * pause_graph - who waits for whom, and where the pressure begins: PFC pause over the topology.
 *
 * A root is where pressure begins. A HOST pauses its switch port although nothing else makes it. A
 * QUEUE is an egress port that is not paused itself (or less than it makes others wait) and whose
 * switch pauses its inputs. Roots are found by structure and magnitude, never by the order of
 * polls: pause spreads within a round trip per hop, and polls are a thousand times slower.
 *
 * How it works. Every edge (pause_net.h) brings its pause time as a load. At a switch the load of
 * an input goes to the egress ports that can have filled its buffer: not back to the neighbour it
 * came from, and from an upper tier only downwards. It is shared out by what shows their queues:
 * watermarks; else their own pause, marks, load. An egress that is as paused as the input passes
 * the load on to whoever pauses it; the rest stays, and makes a QUEUE. What cannot be shared out
 * for lack of data stays unresolved, and is part of the sum that shares are computed from.
 *
 * Pure; lives in the arena of the window, made at most once per window (in->shared). Time is linear
 * in ports and edges, but for the trees: these are drawn for the PAUSE_TREES strongest roots of a
 * priority.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/pause/pause_blame.h"
#include "analyzers/measure/pause/pause_cycle.h"
#include "analyzers/measure/pause/pause_net.h"

/* ---- pause_tree ------------------------------------------------------------ */

/*
 * pause_tree - who waits because of a root: its direct and indirect victims.
 */

enum { PAUSE_TREES = 8 };

/* pause_trees - draw the trees of the PAUSE_TREES strongest of @n roots, all of the net's priority.
 */
void pause_trees(const struct pause_net *net, struct pause_root *roots, size_t n);

/* How far a tree has come: L1 the port alone, L2 its switch makes others wait, L3 at least three
 * switches wait. */
int pause_ladder(const struct pause_root *root);

/* ---- pause_graph ----------------------------------------------------------- */

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
	/* pressure without a known origin, for lack of data, port-windows */
	double unresolved[OBSERVED_PRIORITIES];
	double pressure[OBSERVED_PRIORITIES]; /* all of it */
	/* some pause counter is alive or PFC is read back as enabled */
	bool observable;
};

/* pause_graph - of the window of @in. Never NULL. */
const struct pause_graph *pause_graph(const struct analyzer_in *in);
/* pause_graph_rings - its edges and rings alone, in in->arena. */
const struct pause_graph *pause_graph_rings(const struct analyzer_in *in);
