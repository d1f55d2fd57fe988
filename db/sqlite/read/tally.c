/* tally - see the header. A series has a track while its metric is read. */
#include "db/sqlite/read/tally.h"

#include "db/model/entity.h"
#include "db/model/metric.h"

/* So much of a long range is in memory at once, of one metric of one device. With short steps less,
 * but not less than a block has. */
#define TALLY_STRETCH_NS (6 * 3600 * NS_PER_S)
#define TALLY_STRETCH_LEAST_NS (1200 * NS_PER_S)
#define TALLY_STEPS 256

struct tally_series {
	struct rollup_track *track; /* NULL: it is not wanted */
	int64_t step; /* its number; with .any */
	bool any; /* the step has samples */
};

struct tally {
	struct blocks *blocks;
	struct tally_ask ask;
	int64_t at_ns; /* read up to here */
	struct arena *scratch;
	struct rollup_clock clock; /* of instants in .scratch */
	struct map *index; /* entity -> position in .v */
	struct tally_series *v;
	size_t n, cap;
};

struct tally *tally_new(struct blocks *blocks)
{
	struct tally *tally = rw_calloc(1, sizeof(*tally));

	tally->blocks = blocks;
	tally->scratch = arena_new();
	tally->index = map_new();
	return tally;
}

static void tally_clear(struct tally *tally)
{
	for (size_t i = 0; i < tally->n; i++)
		rollup_track_free(tally->v[i].track);
	tally->n = 0;
	map_clear(tally->index);
}

void tally_free(struct tally *tally)
{
	if (!tally)
		return;
	tally_clear(tally);
	arena_free(tally->scratch);
	map_free(tally->index);
	rollup_clock_done(&tally->clock);
	free(tally->v);
	free(tally);
}

void tally_begin(struct tally *tally, const struct tally_ask *ask)
{
	tally_clear(tally);
	tally->ask = *ask;
	tally->at_ns = ask->from_ns;
}

static int tally_series_of(struct tally *tally, int64_t entity, struct tally_series **ret)
{
	const struct tally_ask *ask = &tally->ask;
	uint32_t id = ENTITY_NONE;
	uint64_t at;

	if (map_get(tally->index, (uint64_t)entity, &at)) {
		*ret = &tally->v[at];
		return SQLITE_OK;
	}
	const int rc = ask->name(ask->arg, entity, &id);
	if (rc != SQLITE_OK)
		return rc;
	map_put(tally->index, (uint64_t)entity, tally->n);
	rw_grow(tally->v, tally->n, tally->cap);
	*ret = &tally->v[tally->n++];
	**ret = (struct tally_series){0};
	if (id == ENTITY_NONE)
		return SQLITE_OK;
	(*ret)->track = rollup_track_new(id, (uint16_t)ask->metric);
	if (ask->no_quantiles)
		rollup_track_no_quantiles((*ret)->track);
	return SQLITE_OK;
}

/* The step of the series is over. */
static int tally_close(struct tally *tally, struct tally_series *series)
{
	const struct tally_ask *ask = &tally->ask;
	int64_t from_ns = ask->from_ns, to_ns = ask->to_ns;
	struct rollup_sketch sketch = {0};
	struct rollup rollup;
	int rc = SQLITE_OK;

	if (ask->step_ns) {
		from_ns = series->step * ask->step_ns;
		to_ns = from_ns + ask->step_ns;
	}
	if (rollup_track_close_sketch(series->track, from_ns, to_ns, &rollup, &sketch))
		rc = ask->take(ask->arg, &rollup, &sketch);
	rollup_sketch_done(&sketch);
	series->any = false;
	return rc;
}

static int tally_add(
	struct tally *tally, struct tally_series *series, const struct rollup_columns *columns)
{
	const int64_t step_ns = tally->ask.step_ns;
	struct rollup_columns part = *columns;
	int rc = SQLITE_OK;

	for (uint32_t left = columns->n; rc == SQLITE_OK && left > 0; left -= part.n) {
		part.n = left;
		if (step_ns) {
			const int64_t step = rollup_step_of(part.t_ns[0], step_ns);
			for (part.n = 1; part.n < left; part.n++)
				if (part.t_ns[part.n] > (step + 1) * step_ns)
					break;
			if (series->any && step != series->step)
				rc = tally_close(tally, series);
			series->step = step;
		}
		series->any = true;
		rollup_track_add_columns(series->track, &part);
		part.t_ns += part.n;
		part.value += part.n;
		part.flags += part.n;
	}
	return rc;
}

/* @anchors, @samples: which of them are taken. */
static int tally_take(
	struct tally *tally, const struct gathered *gathered, bool anchors, bool samples)
{
	const struct tally_ask *ask = &tally->ask;
	struct rollup_columns columns = {.n = gathered->n,
		.t_ns = gathered->t_ns,
		.value = gathered->value,
		.flags = gathered->flags};
	struct tally_series *series;
	const int rc = tally_series_of(tally, gathered->entity, &series);

	if (ask->step_ns == 0)
		columns.clock = &tally->clock;
	if (rc != SQLITE_OK || !series->track)
		return rc;
	if (gathered->has_anchor) { /* it stands before the samples */
		columns.n--;
		columns.t_ns++;
		columns.value++;
		columns.flags++;
	}
	if (gathered->has_anchor && anchors)
		rollup_track_anchor(series->track,
			&(struct sample){.t_ns = gathered->anchor.t_ns,
				.value = gathered->anchor.value,
				.flags = gathered->anchor.flags});
	if (!samples)
		return SQLITE_OK;
	uint64_t *texts = NULL;
	if (ask->text && metric_info(ask->metric)->type == TYPE_TEXT)
		texts = arena_array(tally->scratch, uint64_t, columns.n);
	for (uint32_t i = 0; texts && i < columns.n; i++)
		texts[i] = ask->text(ask->arg, columns.value[i]);
	if (texts)
		columns.value = texts;
	return tally_add(tally, series, &columns);
}

/* Late values show in the flags of the range, but none is an anchor: where one would be, the
 * anchors are read by themselves. *@ret_n: series with samples. */
static int tally_stretch(struct tally *tally, struct gather_want *want, size_t *ret_n)
{
	struct gathered *series;
	size_t n = 0;
	bool late_anchor = false;

	arena_reset(tally->scratch);
	rollup_clock_forget(&tally->clock);
	int rc = blocks_gather(tally->blocks, want, tally->scratch, &series, &n);
	for (size_t i = 0; rc == SQLITE_OK && i < n; i++)
		late_anchor |= series[i].has_anchor && (series[i].anchor.flags & SF_LATE);
	if (late_anchor) {
		want->late = false;
		rc = blocks_gather(tally->blocks, want, tally->scratch, &series, &n);
		for (size_t i = 0; rc == SQLITE_OK && i < n; i++)
			rc = tally_take(tally, &series[i], true, false);
		want->late = true;
		if (rc == SQLITE_OK)
			rc = blocks_gather(tally->blocks, want, tally->scratch, &series, &n);
	}
	for (size_t i = 0; rc == SQLITE_OK && i < n; i++)
		rc = tally_take(tally, &series[i], !late_anchor, true);
	*ret_n = n;
	return rc;
}

/* The bounds of the block that @which finds from .at_ns on; *@ret_from_ns INT64_MAX: none. */
static int tally_block(
	struct tally *tally, enum blocks_statement which, int64_t *ret_from_ns, int64_t *ret_to_ns)
{
	sqlite3_stmt *st;
	int rc = blocks_prepared(tally->blocks, which, &st);

	*ret_from_ns = *ret_to_ns = INT64_MAX;
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, tally->blocks->device);
	sqlite3_bind_int64(st, 2, tally->blocks->number[tally->ask.metric]);
	sqlite3_bind_int64(st, 3, tally->at_ns);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		*ret_from_ns = sqlite3_column_int64(st, 0);
		*ret_to_ns = sqlite3_column_int64(st, 1);
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return SQLITE_OK;
	return reset;
}

/* Goes on to where there is something after .at_ns. */
static int tally_skip(struct tally *tally)
{
	const struct tail_rows *tail = &tally->blocks->inside;
	int64_t from_ns, to_ns, next_ns = tally->ask.to_ns;
	int rc = tally_block(tally, BLOCKS_DOWN, &from_ns, &to_ns);

	if (rc != SQLITE_OK || (from_ns != INT64_MAX && to_ns > tally->at_ns))
		return rc; /* it reaches over .at_ns */
	rc = tally_block(tally, BLOCKS_AFTER, &from_ns, &to_ns);
	if (from_ns - 1 < next_ns)
		next_ns = from_ns - 1;
	for (size_t i = 0; i < tail->n; i++)
		if (tail->v[i].to_ns > tally->at_ns && tail->v[i].from_ns - 1 < next_ns)
			next_ns = tail->v[i].from_ns - 1;
	if (next_ns > tally->at_ns)
		tally->at_ns = next_ns;
	return rc;
}

/* Where the stretch that begins at .at_ns ends. */
static int64_t tally_stretch_end(const struct tally *tally)
{
	const struct tally_ask *ask = &tally->ask;
	int64_t ns = TALLY_STRETCH_NS;

	if (ask->step_ns && ask->step_ns < ns / TALLY_STEPS)
		ns = ask->step_ns * TALLY_STEPS;
	if (ns < TALLY_STRETCH_LEAST_NS)
		ns = TALLY_STRETCH_LEAST_NS;
	if (ask->to_ns - tally->at_ns > ns)
		return tally->at_ns + ns;
	return ask->to_ns;
}

int tally_more(struct tally *tally, bool *ret_more)
{
	const struct tally_ask *ask = &tally->ask;
	struct gather_want want = {.metric = ask->metric,
		.late = true,
		.anchors = tally->at_ns == ask->from_ns &&
			metric_info(ask->metric)->kind == METRIC_COUNTER,
		.entities = ask->entities,
		.n_entities = ask->n_entities,
		.known = ask->known,
		.arg = ask->arg};
	int rc = SQLITE_OK;
	size_t n;

	*ret_more = false;
	if (tally->at_ns < ask->to_ns) {
		const int64_t end_ns = tally_stretch_end(tally);
		blocks_range(tally->blocks, tally->at_ns + 1, end_ns);
		rc = tally_stretch(tally, &want, &n);
		tally->at_ns = end_ns;
		if (rc == SQLITE_OK && n == 0 && end_ns < ask->to_ns)
			rc = tally_skip(tally);
		*ret_more = tally->at_ns < ask->to_ns;
	}
	for (size_t i = 0; rc == SQLITE_OK && !*ret_more && i < tally->n; i++)
		if (tally->v[i].any)
			rc = tally_close(tally, &tally->v[i]);
	return rc;
}
