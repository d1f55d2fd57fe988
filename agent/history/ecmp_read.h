/*
 * ecmp_history - the ECMP groups of the fabric, measured over the windows of a stretch of history,
 * with the analyzer's own measuring and options: what a report says is what the analyzer saw.
 */
#ifndef RW_AGENT_ECMP_HISTORY_H
#define RW_AGENT_ECMP_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "analyzers/detect/ecmp_imbalance.h"
#include "db/model/ecmp.h"
#include "db/series/series.h"

struct arena;
struct client;
struct err;

struct ecmp_history {
	const struct ecmp_options *options;
	int64_t from_ns, to_ns; /* the whole windows looked at; equal when there is none */
	size_t windows;
};

/* Called once per window, in order; everything is lent until it returns. Non-zero stops and is
 * returned. */
typedef int ecmp_history_fn(void *arg, const struct window *window,
	const struct ecmp_measure *measure, size_t n, struct arena *turn);

/*
 * The windows lie at multiples of the analyzer's window inside the context's stretch, from the
 * first that is whole in the database to the last that is over (one interval before now while an
 * agent writes, so that its last samples are in).
 */
int ecmp_history_each(struct client *client, ecmp_history_fn *fn, void *arg,
	struct ecmp_history *ret, struct err *e);

#endif
