/*
 * lint_pairs - which failures of one element, and of every two, let buffers wait in a ring.
 *
 * Small fabrics: every set of failures is walked (lint_cycle.h). Larger ones, for local reroute: a
 * packet turns down-up only at switches that one of the failures leaves without a next hop. For
 * each element, B is the set of these switches, and R the set that their turned packets can reach
 * over the routes of the whole fabric. One element can close a ring when its R meets its B; two
 * when the R of each meets the B of the other. R is a superset, so a ring may be foretold that is
 * none; what is shown as an example was walked. Two failures that only together empty a next hop
 * are walked one by one. A given table may turn packets with nothing failed: what reaches such a
 * switch reaches all that it turns them to. For converged routing: where every two leaves have
 * three disjoint paths, no two failures leave only a path with a valley; the others are walked.
 */
#pragma once

#include "analyzers/lint/lint_cycle.h"

struct lint_example {
	struct lint_failures failures;
	struct lint_ring ring;
};
enum { LINT_EXAMPLES_MAX = 5 };

struct lint_verdict { /* of one way to reroute */
	enum lint_reroute reroute;
	bool walked; /* every set of failures was walked; else by the sets above */
	bool whole_cyclic; /* with nothing failed */
	uint64_t singles, cyclic_singles;
	uint64_t pairs, cyclic_pairs; /* of two elements neither of which does it alone */
	bool unjudged; /* no failure was judged: a given table sends packets in a circle */
	uint64_t unjudged_pairs; /* that would have to be walked, and are too many */
	struct lint_example whole, single[LINT_EXAMPLES_MAX], pair[LINT_EXAMPLES_MAX];
	size_t n_single, n_pair;
};

enum lint_way { LINT_CHOOSE, LINT_WALK, LINT_SETS };
/* lint_judge - with at most @failures elements failed at once, 0 to 2. Rings are in @a. @way: as
 * the size of the fabric has it; tests ask for one of the two. */
struct lint_verdict lint_judge(struct lint_engine *engine, const struct lint_graph *graph,
	enum lint_reroute reroute, unsigned failures, enum lint_way way, struct arena *a);
