/*
 * history_rollup - steps of any store, made from its samples in order of time. What is kept is one
 * track per series, however long the range is.
 */
#include <errno.h>
#include <stdlib.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/map.h"
#include "db/model/metric.h"
#include "db/series/history.h"
#include "db/series/rollup_sketch.h"

struct rolling {
	rollup_sketch_fn *fn;
	void *arg;
	int64_t step_ns, from_ns, to_ns; /* .step_ns 0: one step, (from, to] */
	struct map *index; /* entity and metric -> position in .tracks, which grow */
	struct rollup_track **tracks;
	uint64_t *keys;
	size_t n, cap, cap_keys;
	uint64_t *touched; /* keys of the tracks with samples in this step */
	size_t n_touched, cap_touched;
	bool *is_touched;
	size_t cap_is;
	int64_t step; /* its number; when .n_touched > 0 */
};

static uint64_t rolling_key(uint32_t entity, uint16_t metric)
{
	return (uint64_t)entity << 16 | metric;
}

static size_t rolling_track(struct rolling *rolling, uint32_t entity, uint16_t metric)
{
	const uint64_t key = rolling_key(entity, metric);
	uint64_t at;
	if (map_get(rolling->index, key, &at))
		return (size_t)at;
	rw_grow(rolling->keys, rolling->n, rolling->cap_keys);
	rw_grow(rolling->is_touched, rolling->n, rolling->cap_is);
	rw_grow(rolling->tracks, rolling->n, rolling->cap);
	rolling->keys[rolling->n] = key;
	rolling->is_touched[rolling->n] = false;
	rolling->tracks[rolling->n] = rollup_track_new(entity, metric);
	map_put(rolling->index, key, rolling->n);
	return rolling->n++;
}

static void rolling_done(struct rolling *rolling)
{
	for (size_t i = 0; i < rolling->n; i++)
		rollup_track_free(rolling->tracks[i]);
	free(rolling->tracks);
	free(rolling->keys);
	free(rolling->is_touched);
	free(rolling->touched);
	map_free(rolling->index);
}

static int rolling_order(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

static int rolling_close(struct rolling *rolling)
{
	int64_t from_ns = rolling->from_ns, to_ns = rolling->to_ns;
	int rc = 0;
	if (rolling->step_ns) {
		from_ns = rolling->step * rolling->step_ns;
		to_ns = from_ns + rolling->step_ns;
	}
	if (rolling->n_touched > 1)
		qsort(rolling->touched, rolling->n_touched, sizeof(*rolling->touched),
			rolling_order);
	for (size_t i = 0; i < rolling->n_touched; i++) {
		uint64_t at = 0;
		struct rollup rollup;
		struct rollup_sketch sketch = {0};
		map_get(rolling->index, rolling->touched[i], &at);
		rolling->is_touched[at] = false;
		if (rollup_track_close_sketch(
			    rolling->tracks[at], from_ns, to_ns, &rollup, &sketch) &&
			rc == 0)
			rc = rolling->fn(rolling->arg, &rollup, &sketch);
		rollup_sketch_done(&sketch);
	}
	rolling->n_touched = 0;
	return rc;
}

static int rolling_sample(void *arg, const struct sample *sample)
{
	struct rolling *rolling = arg;
	int rc = 0;
	int64_t step = 0;
	if (rolling->step_ns)
		step = rollup_step_of(sample->t_ns, rolling->step_ns);
	if (rolling->n_touched > 0 && step != rolling->step)
		rc = rolling_close(rolling);
	rolling->step = step;
	const size_t at = rolling_track(rolling, sample->entity, sample->metric);
	rollup_track_add(rolling->tracks[at], sample);
	if (rolling->is_touched[at])
		return rc;
	rolling->is_touched[at] = true;
	rw_grow(rolling->touched, rolling->n_touched, rolling->cap_touched);
	rolling->touched[rolling->n_touched++] = rolling->keys[at];
	return rc;
}

int history_each_before(struct history *history, const struct history_filter *filter, int64_t at_ns,
	sample_fn *fn, void *arg, struct err *e)
{
	rw_cleanup(freep) uint32_t *ids = NULL;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct history_filter known = *filter;
	struct window window;
	size_t n = 0;
	known.from_ns = at_ns;
	int rc = history_match(history, &known, &ids, &n, e);
	if (rc < 0 || n == 0)
		return rc;
	const struct window_spec spec = {.metrics = filter->metrics,
		.n_metrics = filter->n_metrics,
		.entities = ids,
		.n_entities = n};
	rc = history_window(history, a, &spec, at_ns - 1, at_ns, &window, e);
	for (size_t i = 0; rc == 0 && i < window.n_series; i++) {
		const struct series *series = &window.series[i];
		const uint32_t k = series->n - 1;
		const struct sample sample = {.t_ns = series->t_ns[k],
			.value = series->value[k],
			.flags = series->flags[k],
			.entity = series->entity,
			.metric = series->metric};
		if (series->n > 0)
			rc = fn(arg, &sample);
	}
	return rc;
}

static int rolling_anchor(void *arg, const struct sample *sample)
{
	struct rolling *rolling = arg;
	const size_t at = rolling_track(rolling, sample->entity, sample->metric);
	rollup_track_anchor(rolling->tracks[at], sample);
	return 0;
}

/* Increases begin at the last sample before the range. Only counters need it. */
static int rolling_anchors(struct history *history, const struct history_filter *filter,
	struct rolling *rolling, struct err *e)
{
	uint16_t metrics[METRIC_COUNT];
	struct history_filter counters = *filter;
	counters.metrics = metrics;
	counters.n_metrics = 0;
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		bool wanted = filter->n_metrics == 0;
		for (size_t i = 0; i < filter->n_metrics && !wanted; i++)
			wanted = filter->metrics[i] == m;
		if (wanted && metric_info(m)->kind == METRIC_COUNTER)
			metrics[counters.n_metrics++] = (uint16_t)m;
	}
	if (counters.n_metrics == 0)
		return 0;
	return history_each_before(
		history, &counters, rolling->from_ns, rolling_anchor, rolling, e);
}

int history_rollup_sketches(struct history *history, const struct history_filter *filter,
	int64_t step_ns, rollup_sketch_fn *fn, void *arg, struct err *e)
{
	struct rolling rolling = {.fn = fn,
		.arg = arg,
		.step_ns = step_ns,
		.from_ns = filter->from_ns,
		.to_ns = filter->to_ns};
	struct history_filter wide = *filter;
	if (step_ns == 0 && filter->to_ns == 0)
		return -EINVAL;
	if (step_ns) {
		rolling.from_ns = rollup_step_of(filter->from_ns + 1, step_ns) * step_ns;
		if (filter->to_ns)
			rolling.to_ns = (rollup_step_of(filter->to_ns, step_ns) + 1) * step_ns;
	}
	wide.from_ns = rolling.from_ns + 1;
	wide.to_ns = rolling.to_ns;
	rolling.index = map_new();
	int rc = rolling_anchors(history, &wide, &rolling, e);
	if (rc == 0)
		rc = history_each_sample(history, &wide, rolling_sample, &rolling, e);
	if (rc == 0)
		rc = rolling_close(&rolling);
	rolling_done(&rolling);
	return rc;
}

struct rolling_plain {
	rollup_fn *fn;
	void *arg;
};

static int rolling_plain_step(
	void *arg, const struct rollup *rollup, const struct rollup_sketch *sketch)
{
	const struct rolling_plain *plain = arg;

	(void)sketch;
	return plain->fn(plain->arg, rollup);
}

int history_rollup_samples(struct history *history, const struct history_filter *filter,
	int64_t step_ns, rollup_fn *fn, void *arg, struct err *e)
{
	struct rolling_plain plain = {.fn = fn, .arg = arg};

	return history_rollup_sketches(history, filter, step_ns, rolling_plain_step, &plain, e);
}
