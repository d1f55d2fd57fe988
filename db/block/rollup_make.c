/* rollup_make - see rollup_codec.h. A series that stands still, as most do, is gone through without
 * arithmetic on rates. */
#include "db/block/rollup_codec.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "db/model/metric.h"

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

/* ---- the ordinary case ----------------------------------------------------------- */

/* A series without flags, and without a step back where it counts: nearly all of them. What the
 * rules of rollup_track_add() come to then, without their bookkeeping. */
struct rollup_plain {
	const struct metric_info *info;
	unsigned metric;
	int64_t step_ns;
	const struct block_sample *before; /* NULL: none yet */
	int64_t spacing_ns;
	struct rollup_bucket *now; /* NULL: none yet */
};

static bool rollup_is_plain(unsigned metric, const struct block_sample *v, size_t n)
{
	const struct metric_info *info = metric_info(metric);
	unsigned flags = 0;
	bool back = false;

	for (size_t i = 0; i < n; i++) {
		flags |= v[i].flags;
		if (i > 0 && v[i].value < v[i - 1].value)
			back = true;
	}
	if (flags || info->type == TYPE_TEXT)
		return false;
	return info->kind != METRIC_COUNTER || (!back && info->type == TYPE_U64);
}

/* As long as all numbers are equal there is no sketch. */
static void rollup_plain_number(struct rollup *now, struct rollup_sketch *sketch, double number)
{
	if (isnan(number))
		return;
	if (now->numbers == 0) {
		now->min = now->max = number;
		now->sum = 0;
	}
	if (now->min == now->max && number != now->min)
		for (uint32_t i = 0; i < now->numbers; i++)
			rollup_sketch_add(sketch, now->min);
	now->min = fmin(now->min, number);
	now->max = fmax(now->max, number);
	now->sum += number;
	now->numbers++;
	if (now->min < now->max)
		rollup_sketch_add(sketch, number);
}

static void rollup_plain_time(struct rollup_plain *plain, int64_t ns)
{
	struct rollup *now = &plain->now->rollup;

	if (ns > now->longest_ns)
		now->longest_ns = ns;
	if (rollup_spacing(&plain->spacing_ns, ns))
		now->seen_ns += ns;
	if (now->seen_ns > plain->step_ns)
		now->seen_ns = plain->step_ns;
}

static void rollup_plain_interval(struct rollup_plain *plain, const struct block_sample *sample)
{
	struct rollup *now = &plain->now->rollup;
	const uint64_t delta = sample->value - plain->before->value;
	const int64_t ns = sample->t_ns - plain->before->t_ns;

	now->increase += delta;
	now->covered_ns += ns;
	now->intervals++;
	rollup_plain_number(now, &plain->now->sketch, (double)delta / ((double)ns / NS_PER_S));
}

static void rollup_plain_add(
	struct rollup_plain *plain, const struct block_sample *sample, struct rollup_list *ret)
{
	const int64_t from_ns = rollup_step_of(sample->t_ns, plain->step_ns) * plain->step_ns;

	if (!plain->now || plain->now->rollup.from_ns != from_ns) {
		plain->now = rollup_list_next(ret, sample->entity);
		plain->now->rollup = (struct rollup){.from_ns = from_ns,
			.to_ns = from_ns + plain->step_ns,
			.metric = (uint16_t)plain->metric,
			.first = sample->value,
			.first_ns = sample->t_ns,
			.min = NAN,
			.max = NAN,
			.sum = NAN};
	}
	struct rollup *now = &plain->now->rollup;
	now->count++;
	now->last = sample->value;
	now->last_ns = sample->t_ns;
	if (plain->before)
		rollup_plain_time(plain, sample->t_ns - plain->before->t_ns);
	if (plain->info->kind != METRIC_COUNTER)
		rollup_plain_number(
			now, &plain->now->sketch, sample_number(plain->metric, sample->value));
	else if (plain->before)
		rollup_plain_interval(plain, sample);
	plain->before = sample;
}

/* ---- any case -------------------------------------------------------------------- */

static void rollup_make_track(unsigned metric, const struct block_sample *v, size_t n,
	int64_t from_ns, int64_t step_ns, struct rollup_list *ret)
{
	struct rollup_track *track = rollup_track_new(0, (uint16_t)metric);
	int64_t step = INT64_MIN;

	for (size_t i = 0; i < n; i++) {
		const struct sample sample = rollup_sample(metric, &v[i]);
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

/* The last usable sample up to @from_ns; 0 when there is none. */
static size_t rollup_anchor(const struct block_sample *v, size_t n, int64_t from_ns)
{
	size_t at = 0;

	for (size_t i = 0; i < n && v[i].t_ns <= from_ns; i++)
		if (!(v[i].flags & (SF_LATE | SF_SUSPECT)))
			at = i;
	return at;
}

void rollup_make(unsigned metric, const struct block_sample *v, size_t n, int64_t from_ns,
	int64_t step_ns, struct rollup_list *ret)
{
	struct rollup_plain plain = {
		.info = metric_info(metric), .metric = metric, .step_ns = step_ns};
	const size_t begin = rollup_anchor(v, n, from_ns);

	if (n == 0 || v[n - 1].t_ns <= from_ns)
		return;
	if (!rollup_is_plain(metric, v + begin, n - begin)) {
		rollup_make_track(metric, v + begin, n - begin, from_ns, step_ns, ret);
		return;
	}
	for (size_t i = begin; i < n; i++) {
		if (v[i].t_ns <= from_ns)
			plain.before = &v[i];
		else
			rollup_plain_add(&plain, &v[i], ret);
	}
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
		if (v[i].sketch.n > 0)
			rollup_sketch_merge(&now->sketch, &v[i].sketch);
		else if (v[i].rollup.numbers > 0) /* equal numbers */
			rollup_sketch_add_bin(&now->sketch, rollup_sketch_key(v[i].rollup.min),
				v[i].rollup.numbers);
	}
}
