/* flow_same - are two rows of flows the same, field by field? The bytes between fields are
 * nobody's: compilers copy them or not. */
#ifndef RW_TESTS_FLOW_SAME_H
#define RW_TESTS_FLOW_SAME_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "db/model/flow.h"

static inline bool flow_same(const struct flow_sample *left, const struct flow_sample *right)
{
	const size_t counts =
		offsetof(struct flow_sample, flows) - offsetof(struct flow_sample, packets);
	const size_t rest = sizeof(*left) - offsetof(struct flow_sample, sum_sq_octets);
	return flow_order(left, right) == 0 && left->sampling == right->sampling &&
		memcmp(&left->packets, &right->packets, counts) == 0 &&
		left->flows == right->flows &&
		memcmp(&left->sum_sq_octets, &right->sum_sq_octets, rest) == 0;
}

#endif
