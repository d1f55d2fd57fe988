/* ecmp_harm - does anyone wait because a member of an ECMP group carries more than the others?
 * Pure. */
#ifndef RW_MEASURE_ECMP_HARM_H
#define RW_MEASURE_ECMP_HARM_H

#include "analyzers/measure/observe.h"
#include "db/model/ecmp.h"

/*
 * A synchronous exchange ends when its slowest path ends, so the busiest link for its capacity
 * decides, wherever it is. The hot member lengthens the exchange only when it is busier, over whole
 * windows, than the busiest port to a host. Derived from: step time = compute + max(exchange over
 * all paths). Where no port to a host is polled, the marks of the member's queue and the pause by
 * the next switch decide instead.
 */
enum ecmp_harm_level { ECMP_HARM_UNKNOWN, ECMP_HARM_NONE, ECMP_HARM_SEEN };
struct ecmp_harm {
	enum ecmp_harm_level level;
	double edge_ratio; /* utilisation of the busiest host-facing port; NAN unknown */
	double marks_ratio; /* of the hot member's lossless packets; NAN unknown */
	/* share of the window the next switch paused it, upper end; NAN unknown */
	double pause_ratio;
	/* share of wall time that waits for the hot member beyond everything else; NAN unknown */
	double loss_ratio;
};

/* ecmp_edge - utilisation of the busiest host-facing port, the same for all groups of a window; NAN
 * when none is known. */
double ecmp_edge(const struct observed *observed);
struct ecmp_harm ecmp_harm(const struct observed *observed, const struct fabric_group *group,
	const struct ecmp_measure *measure, double edge_ratio);

#endif
