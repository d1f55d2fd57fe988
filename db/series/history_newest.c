/* history_newest - when each device was last heard of, for stores that cannot tell without reading
 * windows. */
#include <stdint.h>
#include <stdlib.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "db/model/metric.h"
#include "db/series/history.h"

#define NEWEST_SPAN_NS (10 * 60 * NS_PER_S) /* two samples of one device lie in it, as a rule */

struct newest { /* of one device */
	int64_t t_ns[2];
};

static void newest_take(struct newest *newest, int64_t t_ns)
{
	if (t_ns > newest->t_ns[0]) {
		newest->t_ns[1] = newest->t_ns[0];
		newest->t_ns[0] = t_ns;
	} else if (t_ns < newest->t_ns[0] && t_ns > newest->t_ns[1]) {
		newest->t_ns[1] = t_ns;
	}
}

int history_newest_windows(
	struct history *history, int64_t at_ns, newest_fn *fn, void *arg, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	uint16_t metrics[METRIC_COUNT];
	const struct window_spec spec = {.metrics = metrics, .n_metrics = METRIC_COUNT};
	struct window window;

	for (unsigned m = 0; m < METRIC_COUNT; m++)
		metrics[m] = (uint16_t)m;
	int r = history_window(history, a, &spec, at_ns - NEWEST_SPAN_NS, at_ns, &window, e);
	if (r < 0)
		return r;
	const uint32_t n = entities_count(window.entities) + 1;
	struct newest *newest = arena_array(a, struct newest, n);
	for (uint32_t id = 0; id < n; id++)
		newest[id] = (struct newest){{INT64_MIN, INT64_MIN}};
	for (size_t i = 0; i < window.n_series; i++) {
		const struct series *series = &window.series[i];
		const uint32_t device = entity_device(window.entities, series->entity);
		for (uint32_t k = 0; k < series->n; k++)
			newest_take(&newest[device], series->t_ns[k]);
	}
	for (uint32_t id = 1; r == 0 && id < n; id++)
		if (newest[id].t_ns[0] != INT64_MIN)
			r = fn(arg, entity_get(window.entities, id)->device, newest[id].t_ns[0],
				newest[id].t_ns[1]);
	return r;
}
