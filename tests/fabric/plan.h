/*
 * plan - who sends what to whom in one exchange of a job, by which source port and in which class.
 * It does not change between two looks at the same job; what changes (jitter of starts, how popular
 * an expert is) is drawn when the flows are started.
 */
#ifndef FABRIC_PLAN_H
#define FABRIC_PLAN_H

#include "tests/fabric/scenario.h"
#include "tests/fabric/sim.h"

#define PRIORITY 3 /* of the lossless class */

enum { KIND_OTHER, KIND_GROUP }; /* of a flow: KIND_GROUP + the group that waits for it */

struct plan;

/* plan_new - for @m, a fabric without fault, which is borrowed for the call; plan_free(). */
struct plan *plan_new_for(const struct scenario *s, struct sim *m);
void plan_free(struct plan *p);
size_t plan_size(const struct plan *p); /* flows at most; the first tag of storage */
size_t plan_tags(const struct scenario *s, const struct plan *p);

struct rounds;

/*
 * rounds_new - starts the flows of the plan in @m: at once, or what a group sends next when it has
 * sent the last. @faulty: with what the scenario's faults do to flows; @cold: nobody has been told
 * to slow down so far, or, where @told is given, who has not by his tag. Keep it until the run has
 * ended, rounds_free(). A flow's tag is its place in the plan; those of storage follow, plan_tags()
 * in all.
 */
struct rounds *rounds_new(const struct scenario *s, const struct plan *p, struct sim *m,
	bool faulty, bool cold, const bool *told, unsigned variant);
void rounds_free(struct rounds *r);

/* storage_flows - what hosts write to storage and read from it; the exchange does not wait for it.
 */
struct storage {
	bool in_lossless; /* in the class of the job */
	bool cold;
	const bool *told; /* as in rounds_new() */
	uint32_t tag; /* of the first one */
	double warm_bps; /* of a host's flows together; set by storage_flows() */
};
void storage_flows(const struct scenario *s, struct sim *m, struct storage how, uint64_t *random);

/* checkpoint_flows - every host writes to the storage hosts; where there are none, to the last ones
 * of the last leaf. */
void checkpoint_flows(const struct scenario *s, struct sim *m, uint64_t *random);

#endif
