/* ecmp_packets - the packets' half of ecmp_measure: effective flows and bursts. For
 * analyzers/ecmp_*.c only. */
#ifndef RW_ANALYZERS_ECMP_PACKETS_H
#define RW_ANALYZERS_ECMP_PACKETS_H

#include "analyzers/measure/ecmp_measure.h"

/* The ports member @index stands for: itself, or all ports of its LAG. In the arena. */
size_t ecmp_member_ports(const struct fabric_group *group, size_t index, struct arena *a,
	const struct fabric_port ***ret);

/* Fills n_eff, tuples, flows, packets, sampling, flows_note and the members' burst, CE and packet
 * counts; loads must be in place. */
void ecmp_packets(const struct fabric_group *group, const struct window *window, struct arena *a,
	struct ecmp_measure *measure);

#endif
