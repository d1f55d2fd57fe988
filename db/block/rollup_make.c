/* rollup_make - see the header. A series that stands still, as most do, is gone through without
 * arithmetic on rates. */
#include "db/block/rollup_make.h"

#include <math.h>
#include <stdlib.h>
#include "agent/base/cleanup.h"
#include "db/model/metric.h"
#include "db/model/sample.h"

void rollup_list_clear(struct rollup_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		rollup_sketch_done(&list->v[i].sketch);
	list->n = 0;
}

void rollup_list_done(struct rollup_list *list)
{
	rollup_list_clear(list);
	free(list->v);
	*list = (struct rollup_list){0};
}

static struct rollup_bucket *rollup_list_next(struct rollup_list *list, int64_t entity)
{
	rw_grow(list->v, list->n, list->cap);
	list->v[list->n] = (struct rollup_bucket){.entity = entity};
	return &list->v[list->n++];
}

static struct sample rollup_sample(unsigned metric, const struct block_sample *sample)
{
	return (struct sample){.t_ns = sample->t_ns,
		.value = sample->value,
		.window_ms = sample->window_ms,
		.metric = (uint16_t)metric,
		.flags = sample->flags,
		.source = sample->source};
}

static void rollup_close(struct rollup_track *track, int64_t entity, int64_t step, int64_t step_ns,
	struct rollup_list *ret)
{
	struct rollup_bucket *bucket = rollup_list_next(ret, entity);
	const int64_t from_ns = step * step_ns;

	if (!rollup_track_close_sketch(
		    track, from_ns, from_ns + step_ns, &bucket->rollup, &bucket->sketch))
		ret->n--;
}

void rollup_make(unsigned metric, const struct block_sample *v, size_t n, int64_t from_ns,
	int64_t step_ns, struct rollup_list *ret)
{
	struct rollup_track *track = NULL;
	int64_t step = INT64_MIN;

	for (size_t i = 0; i < n; i++) {
		const struct sample sample = rollup_sample(metric, &v[i]);
		if (!track)
			track = rollup_track_new(0, (uint16_t)metric);
		if (sample.t_ns <= from_ns) {
			rollup_track_anchor(track, &sample);
			continue;
		}
		const int64_t at = rollup_step_of(sample.t_ns, step_ns);
		if (at != step && step != INT64_MIN)
			rollup_close(track, v[i].entity, step, step_ns, ret);
		step = at;
		rollup_track_add(track, &sample);
	}
	if (step != INT64_MIN)
		rollup_close(track, v[0].entity, step, step_ns, ret);
	rollup_track_free(track);
}

void rollup_coarser(
	const struct rollup_bucket *v, size_t n, int64_t step_ns, struct rollup_list *ret)
{
	struct rollup_bucket *now = NULL;

	for (size_t i = 0; i < n; i++) {
		const int64_t step = rollup_step_of(v[i].rollup.to_ns, step_ns);
		const bool same =
			now && now->entity == v[i].entity && now->rollup.from_ns == step * step_ns;
		if (!same) {
			now = rollup_list_next(ret, v[i].entity);
			now->rollup = v[i].rollup;
		} else {
			rollup_merge(&now->rollup, &v[i].rollup);
		}
		now->rollup.from_ns = step * step_ns;
		now->rollup.to_ns = now->rollup.from_ns + step_ns;
		rollup_sketch_merge(&now->sketch, &v[i].sketch);
	}
}
