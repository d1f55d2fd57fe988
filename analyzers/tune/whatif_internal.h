/* whatif_internal - the queue under one burst: whatif_burst.c runs it, whatif.c calibrates it. */
#ifndef RW_TUNE_WHATIF_INTERNAL_H
#define RW_TUNE_WHATIF_INTERNAL_H

#include <stdbool.h>

#include "analyzers/tune/whatif.h"

/* What counters do not tell. */
enum whatif_param {
	BURST_NS, /* a burst's volume, as the time it takes at line rate of the queue */
	/* 0..1: how far the inputs together exceed the queue, from hardly to all of their line
	   rate */
	DEMAND,
	/* packets that a flow sends in one CNP interval at its fair share; many when there are few
	   flows */
	CNP_PACKETS,
	CNP_NS, /* least time between two cuts */
	TIMER_NS, /* after which an unmarked sender goes half of the way back */
	STEP, /* additive increase per timer, share of line rate */
	KEEP, /* 0..1: how much of its rates a burst takes over from the one before */
	AVERAGE_NS, /* time in which the average of marking follows */
};
_Static_assert(AVERAGE_NS + 1 == WHATIF_PARAMS, "a name for every parameter");

struct burst_in {
	double speed, overload; /* bytes/ns of the queue; inputs' line rate together over it */
	double inputs, rtt_ns;
	double q_pfc; /* INFINITY: PFC never fires */
	double kmin, kmax, pmax; /* kmin INFINITY: never marks */
	/* bytes of the queue between resume and pause: offset of all inputs and what is under way
	 */
	double xon_gap;
	bool dcqcn;
};
struct whatif_burst whatif_run(const struct burst_in *in, const double params[WHATIF_PARAMS]);

#endif
