/*
 * query - history of one metric as rows. Without a step one row per stored sample, read in slices
 * and written as it comes. With a step or as rates through windows and the functions of series.h,
 * so that a restart or a gap never makes a spike.
 */
#ifndef RW_REPORTS_QUERY_H
#define RW_REPORTS_QUERY_H

#include <jansson.h>
#include <stdbool.h>

#include "agent/reports/query_out.h"

struct client;
struct err;

/* As given; NULL is "not given". */
struct query_ask {
	const char *metric;
	const char *device, *port; /* globs */
	const char *priority, *step, *agg;
	bool rate;
};

/* query_check - 0, or -EINVAL with @e: a name or value is wrong, or they do not go together. */
int query_check(const struct query_ask *ask, struct err *e);

/*
 * query_run - the rows of the client's time range into @out, whole. 0; -EINVAL for what
 * query_check() refuses, a step too short, or more rows than @out takes; -EIO (no text in @e) when
 * the output failed; or another negative errno.
 */
int query_run(
	struct client *client, const struct query_ask *ask, struct query_out *out, struct err *e);

/* query_list_json - {metrics: [{metric, unit, kind, scope, description}]}. The caller owns it. */
json_t *query_list_json(void);

#endif
