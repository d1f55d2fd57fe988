/*
 * query_rows - the two ways in which a query reads: samples as they are, and steps. For the files
 * query*.c. Both write rows as they come.
 */
#pragma once

#include "agent/answers/query/query_plan.h"

#define QUERY_STEPS_MAX 1000000

struct query_run {
	struct client *client;
	const struct query_plan *plan;
	struct query_out *out;
	struct query_lines *lines;
	int64_t from_ns, to_ns;
	struct query_foot *foot; /* .tier and .coarse_to_ns are filled */
};

/* Between query_out_begin() and query_out_end(). 0, -EIO, -E2BIG, -EINVAL or another negative
 * errno.
 */
int query_rows_samples(struct query_run *run, struct err *e);
int query_rows_steps(struct query_run *run, struct err *e);
