/*
 * lint_cycle - can the buffers of lossless queues wait for each other in a ring? The exact engine:
 * every packet to every leaf is walked over every path that the routing gives it, each step from
 * the buffer behind one link into the buffer behind the next is a dependency, and a ring of
 * dependencies is what a deadlock needs (Dally and Seitz 1987; for PFC: Guo et al., RDMA over
 * Commodity Ethernet at Scale, SIGCOMM 2016; Hu et al., Tagger, CoNEXT 2017). A ring is necessary,
 * not sufficient: traffic has to fill it. So what is said of it is "can".
 *
 * Packets of one priority stay in it, so one answer holds for each lossless priority.
 */
#pragma once

#include "analyzers/lint/lint_graph.h"

/* What routing does about a failure. */
enum lint_reroute {
	/* shortest paths of the fabric that is left; no filter against paths that go down and up */
	LINT_CONVERGED,
	/* until it has converged: a switch without a next hop sends the packet to another switch
	 * below it, not back to where it came from */
	LINT_LOCAL,
	/* the same, and a switch may send a packet back where it came from */
	LINT_BACK,
	/* as LINT_LOCAL; a packet that came down and goes up again moves to the next lossless
	 * priority, and out of the last one is dropped (Tagger). Within a priority nothing turns,
	 * so there is no ring, whatever fails */
	LINT_TAGGED,
	LINT_REROUTES
};

enum { LINT_FAILURES_MAX = 2 };
struct lint_failures {
	uint32_t v[LINT_FAILURES_MAX]; /* elements */
	size_t n;
};

struct lint_hop { /* of a ring: the buffer of .at behind its port .in, whose packets leave by .out
		   */
	uint32_t at, in, out;
	uint32_t leaf; /* packets to it do */
};
struct lint_ring {
	struct lint_hop *hops; /* each leads to the next, the last to the first */
	size_t n;
};

struct lint_engine;
/* lint_engine_new - @graph is lent. lint_engine_free - NULL is fine. */
struct lint_engine *lint_engine_new(const struct lint_graph *graph);
void lint_engine_free(struct lint_engine *engine);
/* lint_engine_pause - @pause is called now and then by long work. */
void lint_engine_pause(struct lint_engine *engine, void (*pause)(void *arg), void *arg);

/* lint_engine_routes - the next hops of the whole fabric are @routes, as those of lint_routes, and
 * not all shortest paths; before anything is asked. After failures converged routing takes shortest
 * paths all the same, the others what is left of these. Lent until the engine goes. */
void lint_engine_routes(struct lint_engine *engine, const uint64_t *routes);
/* lint_engine_routed - are they? */
bool lint_engine_routed(const struct lint_engine *engine);
/* lint_engine_lossless - only the buffers behind these ports (.first_port + port) send pause: a
 * priority that is not lossless everywhere. NULL: all. Lent until another is given. */
void lint_engine_lossless(struct lint_engine *engine, const bool *lossless);

/* lint_cyclic - is there a ring with these failures? @ret (may be NULL) gets the shortest one found
 * around one place, in @a. */
bool lint_cyclic(struct lint_engine *engine, enum lint_reroute reroute,
	const struct lint_failures *failures, struct lint_ring *ret, struct arena *a);

/* lint_routes - the next hops of the whole fabric towards leaf number @leaf: for each switch its
 * set of ports, at .first_word. Lent until the engine goes. */
const uint64_t *lint_routes(struct lint_engine *engine, size_t leaf);
/* lint_distance - hops from @at to leaf number @leaf of the whole fabric; UINT32_MAX: none. */
uint32_t lint_distance(struct lint_engine *engine, size_t leaf, uint32_t at);
