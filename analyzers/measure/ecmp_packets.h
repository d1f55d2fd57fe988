/*
 * ecmp_packets - what captured packets say of an ECMP group: effective flows, bursts, and the flows
 * of one member. Pure; results lie in the arena.
 */
#ifndef RW_MEASURE_ECMP_PACKETS_H
#define RW_MEASURE_ECMP_PACKETS_H

#include <stddef.h>

#include "config/fabric.h"
#include "db/model/ecmp.h"
#include "db/model/finding.h"
#include "db/series/series.h"

struct arena;

/* ecmp_packets - fills n_eff, tuples, flows, packets, sampling, flows_note and the members' burst,
 * CE and packet counts of @measure; its loads must be in place. */
void ecmp_packets(const struct fabric_group *group, const struct window *window, struct arena *a,
	struct ecmp_measure *measure);

/*
 * ecmp_flows - the flows seen leaving member @index of the group in the window, most octets first,
 * at most @max. Counts as seen (not scaled by the sampling). Returns how many.
 */
size_t ecmp_flows(const struct fabric_group *group, size_t index, const struct window *window,
	struct arena *a, size_t max, struct finding_flow **ret);

#endif
