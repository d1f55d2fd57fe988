/*
 * ecmp_read - the ECMP groups of the fabric, measured over the windows of a time range of the past
 * with the detector's own measuring and options: what a report says is what the detector saw.
 */
#ifndef RW_AGENT_ECMP_HISTORY_H
#define RW_AGENT_ECMP_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "analyzers/measure/ecmp_group.h"
#include "db/model/ecmp.h"
#include "db/series/series.h"

struct arena;
struct client;
struct err;

struct ecmp_history {
	const struct ecmp_options *options;
	int64_t from_ns, to_ns; /* the windows that were measured; equal when there is none */
	size_t windows;
};

/* Called once per window, in order; everything is lent until it returns. Non-zero stops and is
 * returned. */
typedef int ecmp_history_fn(void *arg, const struct window *window,
	const struct ecmp_measure *measure, size_t n, struct arena *turn);

/*
 * ecmp_history_each - measure every window of the client's time range: at multiples of the
 * detector's window, from the first whole one of the database to the last that has ended (one
 * interval before now while an agent writes, so that its samples are in).
 *
 * 0 with *@ret filled, what @fn returned, or a negative errno with @e filled.
 */
int ecmp_history_each(struct client *client, ecmp_history_fn *fn, void *arg,
	struct ecmp_history *ret, struct err *e);

#endif
