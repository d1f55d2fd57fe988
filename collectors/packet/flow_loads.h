/*
 * flow_loads - how the octets of a flow table spread over 5-tuples: (source, destination, UDP
 * source port), all queue pairs together, which is what a switch hashes. Derived when it is asked
 * for, from the directions and their source ports; nothing is kept per packet.
 */
#ifndef RW_COLLECTORS_FLOW_LOADS_H
#define RW_COLLECTORS_FLOW_LOADS_H

#include "collectors/packet/flow_store.h"

struct flow_loads {
	uint64_t n; /* 5-tuples with load */
	double sum, sum_sq;
	uint32_t qps; /* with data */
	uint64_t packets; /* with payload, of the directions that count */
};

/* Which directions count, and what of them. */
struct flow_loads_of {
	bool payload; /* payload bytes; false: octets of all packets */
	bool any_dir;
	enum flow_dir dir;
	enum flow_side side;
};

void flow_loads_sum(
	const struct flow_table *table, const struct flow_loads_of *of, struct flow_loads *ret);

/* flow_ports_used - the distinct source ports of @qp. */
uint32_t flow_ports_used(const struct flow_table *table, const struct flow_qp *qp);

#endif
