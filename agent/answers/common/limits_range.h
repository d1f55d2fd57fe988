/*
 * limits_range - how near ports and buffer pools came to their limits over a time range: the
 * highest fill of headroom against its size, and of a pool against its size. For the review of
 * thresholds.
 */
#ifndef RW_REPORTS_LIMITS_RANGE_H
#define RW_REPORTS_LIMITS_RANGE_H

#include <jansson.h>

struct client;
struct err;

/*
 * limits_range_put - "near_limit": [{device, port, priority, what: "headroom|pool", peak_bytes,
 * limit_bytes, used_ratio}] of those used by 80 % or more, fullest first; "near_known":
 * {headroom, pools}: of how many both numbers are known; missing data; and a problem where a
 * headroom was full. 0 or a negative errno with @e.
 */
int limits_range_put(struct client *client, json_t *doc, struct err *e);

#endif
