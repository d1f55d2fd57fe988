/*
 * limits_range - how near ports and buffer pools came to their limits over a time range: the
 * highest fill of headroom against its size, and of a pool against its size. For the review of
 * thresholds.
 */
#ifndef RW_REPORTS_LIMITS_RANGE_H
#define RW_REPORTS_LIMITS_RANGE_H

#include <jansson.h>

#include "agent/answers/tuning/answer.h"

struct arena;
struct client;
struct err;

struct limits_range {
	struct limits_row *rows; /* used by 80 % or more, fullest first; the first 30 */
	size_t n_rows;
	struct limits_known known;
};

/* limits_range_read - in @a. To @doc, a report: missing data, a problem where something was full,
 * and how many were near. 0 or a negative errno with @e. */
int limits_range_read(struct client *client, json_t *doc, struct arena *a, struct limits_range *ret,
	struct err *e);

#endif
