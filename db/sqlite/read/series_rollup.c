/*
 * series_rollup - steps of series, made of the hours and minutes that the writer keeps, and of
 * single values where it has not made them yet.
 *
 * The coarsest tier whose bucket divides the step serves it. Its rows are read in order of time, a
 * row's length (a chunk) after the other, and added up; an hour that is still to be made (table
 * rollup_due, or rows of the tail) is made here, from its single values.
 */
#include "db/block/rollup_codec.h"
#include "db/model/metric.h"
#include "db/sqlite/read/blocks.h"
#include "db/sqlite/read/series_db.h"
#include "db/sqlite/schema/sqlite_io.h"

struct rolled_tier {
	const char *rows_sql, *first_sql;
	enum rollup_tier tier;
	int64_t bucket_ns, chunk_ns;
};
static const struct rolled_tier rolled_tiers[] = {
	{"SELECT data FROM block_hour WHERE device=?1 AND metric=?2 AND from_ns=?3",
		"SELECT min(from_ns) FROM block_hour WHERE device=?1 AND metric=?2", ROLLUP_HOUR,
		ROLLUP_HOUR_NS, ROLLUP_DAY_NS},
	{"SELECT data FROM block_minute WHERE device=?1 AND metric=?2 AND from_ns=?3",
		"SELECT min(from_ns) FROM block_minute WHERE device=?1 AND metric=?2",
		ROLLUP_MINUTE, ROLLUP_MINUTE_NS, ROLLUP_HOUR_NS},
};

struct rolled { /* a step of a series, growing */
	struct rollup rollup;
	struct rollup_sketch sketch;
};

struct rolled_walk {
	struct series_db *db;
	const struct history_filter *filter;
	const struct rolled_tier *tier;
	int64_t step_ns, from_ns, to_ns; /* .step_ns 0: one step, the range */
	struct history_filter wanted; /* .ids: all that @filter lets through */
	int64_t *devices; /* their devices' numbers in the file */
	size_t n_devices;
	bool metrics[METRIC_COUNT];
	bool *raw; /* hours from .hour on that are made of single values */
	int64_t hour, n_hours;
	sqlite3_stmt *rows;
	struct arena *arena;
	/* An hour has whole steps, and is made of rows or of single values: what belongs to a step
	 * of a series comes in one piece. Else .index finds what came before. */
	bool apart;
	/* With .apart, and in any order: .v has one step, which is told when the next one begins.
	 */
	rollup_fn *stream;
	void *stream_arg;
	int stopped; /* what .stream returned */
	uint64_t last_key; /* of the last one in .v */
	struct map *index; /* series and step -> position in .v */
	struct rolled *v;
	size_t n, cap;
};
#define NO_KEY UINT64_MAX

/* ---- adding up ------------------------------------------------------------------ */

static uint64_t rolled_key(const struct rolled_walk *walk, const struct rollup *rollup)
{
	uint64_t step = 0;

	if (walk->step_ns)
		step = (uint64_t)rollup_step_of(rollup->to_ns, walk->step_ns);
	return (uint64_t)rollup->entity << 32 | (uint64_t)rollup->metric << 16 | (step & 0xffff);
}

/* The bounds of the step that the bucket belongs to. */
static void rolled_bounds(const struct rolled_walk *walk, struct rollup *rollup)
{
	if (walk->step_ns == 0) {
		rollup->from_ns = walk->from_ns;
		rollup->to_ns = walk->to_ns;
		return;
	}
	rollup->from_ns = rollup_step_of(rollup->to_ns, walk->step_ns) * walk->step_ns;
	rollup->to_ns = rollup->from_ns + walk->step_ns;
}

static int rolled_tell(struct rolled_walk *walk, struct rolled *one, rollup_fn *fn, void *arg)
{
	const int64_t length_ns = one->rollup.to_ns - one->rollup.from_ns;

	if (one->rollup.seen_ns > length_ns)
		one->rollup.seen_ns = length_ns;
	one->rollup.p50 = one->rollup.p95 = one->rollup.p99 = NAN;
	if (!walk->filter->no_quantiles)
		rollup_quantiles(&one->rollup, &one->sketch);
	return fn(arg, &one->rollup);
}

static void rolled_add(
	struct rolled_walk *walk, const struct rollup *rollup, const struct rollup_sketch *sketch)
{
	const uint64_t key = rolled_key(walk, rollup);
	uint64_t at = walk->n - 1;
	bool found = key == walk->last_key;

	if (!found && !walk->apart)
		found = map_get(walk->index, key, &at);
	if (!found && walk->stream && walk->n > 0) {
		if (walk->stopped == 0)
			walk->stopped =
				rolled_tell(walk, &walk->v[0], walk->stream, walk->stream_arg);
		rollup_sketch_done(&walk->v[0].sketch);
		walk->n = 0;
	}
	if (!found) {
		at = walk->n;
		rw_grow(walk->v, walk->n, walk->cap);
		walk->v[walk->n++] = (struct rolled){.rollup = *rollup};
		walk->last_key = key;
		if (!walk->apart)
			map_put(walk->index, key, at);
	} else {
		const enum rollup_tier tier = walk->v[at].rollup.tier;
		rollup_merge(&walk->v[at].rollup, rollup);
		if (rollup->tier > tier)
			walk->v[at].rollup.tier = rollup->tier;
	}
	rolled_bounds(walk, &walk->v[at].rollup);
	if (!walk->filter->no_quantiles)
		rollup_sketch_merge(&walk->v[at].sketch, sketch);
}

struct rolled_place { /* what is sorted, a tenth of the bytes */
	int64_t to_ns;
	uint64_t series;
	size_t at; /* in .v */
};

static int rolled_order(const void *left, const void *right)
{
	const struct rolled_place *a = left, *b = right;

	if (a->to_ns != b->to_ns)
		return a->to_ns < b->to_ns ? -1 : 1;
	return (a->series > b->series) - (a->series < b->series);
}

/* Hands out what ends at or before @until_ns. */
static int rolled_flush(struct rolled_walk *walk, int64_t until_ns, rollup_fn *fn, void *arg)
{
	rw_cleanup(freep) struct rolled_place *order = rw_calloc(walk->n + 1, sizeof(*order));
	size_t done = 0, kept = 0;
	int r = 0;

	for (size_t i = 0; i < walk->n; i++) {
		const struct rollup *rollup = &walk->v[i].rollup;
		if (rollup->to_ns <= until_ns)
			order[done++] = (struct rolled_place){
				rollup->to_ns, (uint64_t)rollup->entity << 16 | rollup->metric, i};
	}
	if (done > 1)
		qsort(order, done, sizeof(*order), rolled_order);
	for (size_t i = 0; i < done && r == 0; i++)
		r = rolled_tell(walk, &walk->v[order[i].at], fn, arg);
	for (size_t i = 0; i < walk->n; i++) {
		if (walk->v[i].rollup.to_ns <= until_ns)
			rollup_sketch_done(&walk->v[i].sketch);
		else
			walk->v[kept++] = walk->v[i];
	}
	walk->n = kept;
	walk->last_key = NO_KEY;
	map_clear(walk->index);
	for (size_t i = 0; i < walk->n; i++)
		map_put(walk->index, rolled_key(walk, &walk->v[i].rollup), i);
	return r;
}

/* ---- hours and minutes ------------------------------------------------------------ */

/* Is the hour that begins at @from_ns made of single values? */
static bool rolled_is_raw(const struct rolled_walk *walk, int64_t from_ns)
{
	const int64_t hour = rollup_step_of(from_ns + 1, ROLLUP_HOUR_NS) - walk->hour;

	return hour < 0 || hour >= walk->n_hours || walk->raw[hour];
}

static int rolled_series(
	struct rolled_walk *walk, unsigned metric, const struct rollup_reader *reader, uint32_t i)
{
	struct rollup_bucket *v;
	uint32_t id, n;
	const int rc = series_name_of(walk->db, rollup_entity(reader, i), &id);

	if (rc != SQLITE_OK || !series_known(walk->db, id, walk->from_ns) ||
		!history_wants(&walk->wanted, id))
		return rc;
	if (rollup_read(reader, i, walk->arena, &v, &n) < 0)
		return SQLITE_CORRUPT;
	for (uint32_t j = 0; j < n; j++) {
		struct rollup *rollup = &v[j].rollup;
		if (rollup->from_ns < walk->from_ns || rollup->to_ns > walk->to_ns ||
			rolled_is_raw(walk, rollup->from_ns))
			continue;
		rollup->entity = id;
		rollup->metric = (uint16_t)metric;
		rollup->tier = walk->tier->tier;
		rolled_add(walk, rollup, &v[j].sketch);
	}
	return SQLITE_OK;
}

/* The row of a device and metric that begins at @chunk_ns, if there is one. */
static int rolled_row(struct rolled_walk *walk, int64_t device, unsigned metric, int64_t chunk_ns)
{
	struct rollup_reader reader;

	sqlite3_bind_int64(walk->rows, 1, device);
	sqlite3_bind_int64(walk->rows, 2, walk->db->blocks->number[metric]);
	sqlite3_bind_int64(walk->rows, 3, chunk_ns);
	int rc = sqlite3_step(walk->rows);
	if (rc == SQLITE_ROW) {
		rc = SQLITE_OK;
		arena_reset(walk->arena);
		if (rollup_open(&reader, sqlite3_column_blob(walk->rows, 0),
			    (size_t)sqlite3_column_bytes(walk->rows, 0)) < 0)
			rc = SQLITE_CORRUPT;
		reader.no_quantiles = walk->filter->no_quantiles;
		for (uint32_t i = 0; rc == SQLITE_OK && i < reader.n_series; i++)
			rc = rolled_series(walk, metric, &reader, i);
	}
	const int reset = sqlite3_reset(walk->rows);
	if (rc == SQLITE_DONE || rc == SQLITE_OK)
		return reset;
	return rc;
}

static int rolled_chunk(struct rolled_walk *walk, int64_t chunk_ns)
{
	int rc = series_begin_bare(walk->db);

	if (rc == SQLITE_OK)
		rc = series_names_filter(walk->db, walk->from_ns, walk->filter->device, NULL);
	if (rc == SQLITE_OK)
		rc = blocks_begin(walk->db->blocks);
	for (size_t d = 0; d < walk->n_devices; d++)
		for (unsigned m = 0; rc == SQLITE_OK && m < METRIC_COUNT; m++)
			if (walk->metrics[m] && walk->db->blocks->number[m])
				rc = rolled_row(walk, walk->devices[d], m, chunk_ns);
	series_end(walk->db);
	return rc;
}

/* ---- single values ------------------------------------------------------------------ */

static int rolled_raw_step(
	void *arg, const struct rollup *rollup, const struct rollup_sketch *sketch)
{
	rolled_add(arg, rollup, sketch);
	return 0;
}

/* The hours of the chunk that are still to be made. */
static int rolled_raw(struct rolled_walk *walk, int64_t chunk_ns, struct err *e)
{
	const int64_t end_ns = chunk_ns + walk->tier->chunk_ns;
	const int64_t bucket_ns = walk->apart ? walk->step_ns : walk->tier->bucket_ns;
	int r = 0;

	for (int64_t at = chunk_ns, to; r == 0 && at < end_ns; at = to + ROLLUP_HOUR_NS) {
		struct history_filter part = *walk->filter;
		for (to = at; to < end_ns && rolled_is_raw(walk, to); to += ROLLUP_HOUR_NS)
			;
		part.from_ns = at > walk->from_ns ? at : walk->from_ns;
		part.to_ns = to < walk->to_ns ? to : walk->to_ns;
		if (part.to_ns <= part.from_ns)
			continue;
		r = series_usage(walk->db, &part, bucket_ns, rolled_raw_step, walk, e);
	}
	return r;
}

/* ---- what there is -------------------------------------------------------------------- */

static void rolled_mark(struct rolled_walk *walk, int64_t from_ns, int64_t to_ns)
{
	int64_t hour = rollup_step_of(from_ns, ROLLUP_HOUR_NS) - walk->hour;
	int64_t last = rollup_step_of(to_ns, ROLLUP_HOUR_NS) - walk->hour;

	if (hour < 0)
		hour = 0;
	if (last >= walk->n_hours)
		last = walk->n_hours - 1;
	for (; hour <= last; hour++)
		walk->raw[hour] = true;
}

/* Marks the spans that @sql lists. */
static int rolled_mark_all(struct rolled_walk *walk, const char *sql)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(walk->db->db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(st, 1, walk->from_ns);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(st, 2, walk->to_ns);
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		rolled_mark(walk, sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1));
		rc = SQLITE_OK;
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

/* When the oldest bucket of the tier begins; @ret stays where there is none. */
static int rolled_first(struct rolled_walk *walk, int64_t *ret)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(walk->db->db, walk->tier->first_sql, -1, &st, NULL);

	for (size_t d = 0; d < walk->n_devices; d++) {
		for (unsigned m = 0; rc == SQLITE_OK && m < METRIC_COUNT; m++) {
			if (!walk->metrics[m] || !walk->db->blocks->number[m])
				continue;
			sqlite3_bind_int64(st, 1, walk->devices[d]);
			sqlite3_bind_int64(st, 2, walk->db->blocks->number[m]);
			if (sqlite3_step(st) == SQLITE_ROW &&
				sqlite3_column_type(st, 0) != SQLITE_NULL &&
				sqlite3_column_int64(st, 0) < *ret)
				*ret = sqlite3_column_int64(st, 0);
			rc = sqlite3_reset(st);
		}
	}
	return rc;
}

/* Narrows the range to what there is, and marks the hours that are still to be made. */
static int rolled_survey(struct rolled_walk *walk, int64_t raw_first_ns)
{
	const int64_t unit_ns = walk->step_ns ? walk->step_ns : walk->tier->bucket_ns;
	int64_t first_ns = raw_first_ns;
	int rc = series_begin_bare(walk->db);

	if (rc == SQLITE_OK)
		rc = series_names_filter(walk->db, walk->from_ns, walk->filter->device, NULL);
	if (rc == SQLITE_OK)
		rc = blocks_begin(walk->db->blocks);
	if (rc == SQLITE_OK)
		rc = rolled_first(walk, &first_ns);
	if (walk->step_ns && first_ns > walk->from_ns)
		walk->from_ns = rollup_step_of(first_ns, unit_ns) * unit_ns;
	walk->hour = rollup_step_of(walk->from_ns + 1, ROLLUP_HOUR_NS);
	walk->n_hours = rollup_step_of(walk->to_ns, ROLLUP_HOUR_NS) + 1 - walk->hour;
	if (walk->n_hours < 0)
		walk->n_hours = 0;
	walk->raw = rw_calloc((size_t)walk->n_hours + 1, sizeof(*walk->raw));
	if (rc == SQLITE_OK)
		rc = rolled_mark_all(walk,
			"SELECT DISTINCT hour_ns+1, hour_ns+1 FROM rollup_due "
			"WHERE hour_ns>?1-3600000000000 AND hour_ns<?2");
	if (rc == SQLITE_OK)
		/* and the hour after: its first step may begin in them */
		rc = rolled_mark_all(walk,
			"SELECT from_ns, to_ns+3600000000000 FROM tail "
			"WHERE to_ns>?1-3600000000000 AND from_ns<=?2");
	series_end(walk->db);
	return rc;
}

static void rolled_choose(struct rolled_walk *walk)
{
	const struct series_db *db = walk->db;
	int64_t last = 0;

	for (unsigned m = 0; m < METRIC_COUNT; m++)
		walk->metrics[m] = walk->filter->n_metrics == 0;
	for (size_t i = 0; i < walk->filter->n_metrics; i++)
		walk->metrics[walk->filter->metrics[i]] = true;
	walk->devices = rw_calloc(walk->wanted.n_ids + 1, sizeof(*walk->devices));
	rw_cleanup(freep) bool *seen = rw_calloc(entities_count(db->entities) + 1, sizeof(*seen));
	for (size_t i = 0; i < walk->wanted.n_ids; i++) {
		const uint32_t device = entity_device(db->entities, walk->wanted.ids[i]);
		if (device >= db->n_names || seen[device])
			continue;
		seen[device] = true;
		last = db->names[device].file_id;
		if (last)
			walk->devices[walk->n_devices++] = last;
	}
}

/* ---- single values alone --------------------------------------------------------------- */

struct alone { /* steps of a few series, or of many one step each */
	struct rollup *v;
	size_t n, cap;
	rollup_fn *fn; /* in any order */
	void *arg;
	int stopped; /* what .fn returned */
};

static int alone_take(void *arg, const struct rollup *rollup, const struct rollup_sketch *sketch)
{
	struct alone *alone = arg;

	if (alone->fn && alone->stopped == 0)
		alone->stopped = alone->fn(alone->arg, rollup);
	if (alone->fn)
		return 0;
	rw_grow(alone->v, alone->n, alone->cap);
	alone->v[alone->n++] = *rollup;
	return 0;
}

static int alone_order(const void *left, const void *right)
{
	const struct rollup *a = left, *b = right;

	if (a->to_ns != b->to_ns)
		return a->to_ns < b->to_ns ? -1 : 1;
	if (a->entity != b->entity)
		return a->entity < b->entity ? -1 : 1;
	return (a->metric > b->metric) - (a->metric < b->metric);
}

/* @filter has both ends. */
static int alone_walk(struct series_db *db, const struct history_filter *filter, int64_t step_ns,
	rollup_fn *fn, void *arg, struct err *e)
{
	struct alone alone = {.arg = arg};

	if (filter->any_order)
		alone.fn = fn;
	int r = series_usage(db, filter, step_ns, alone_take, &alone, e);
	if (r == 0)
		r = alone.stopped;
	if (alone.n > 1)
		qsort(alone.v, alone.n, sizeof(*alone.v), alone_order);
	for (size_t i = 0; r == 0 && i < alone.n; i++)
		r = fn(arg, &alone.v[i]);
	free(alone.v);
	return r;
}

/* The coarsest tier that serves the step; NULL: single values, which are read faster than minutes
 * of the same time as long as they are there. */
static const struct rolled_tier *rolled_tier_of(
	const struct history_filter *filter, int64_t step_ns, bool raw_gone)
{
	for (size_t i = 0; i < rw_countof(rolled_tiers); i++) {
		const struct rolled_tier *tier = &rolled_tiers[i];
		if (step_ns > 0 && step_ns % tier->bucket_ns == 0)
			return tier;
		if (step_ns == 0 && (raw_gone || tier->tier == ROLLUP_HOUR) &&
			filter->from_ns % tier->bucket_ns == 0 &&
			filter->to_ns % tier->bucket_ns == 0)
			return tier;
	}
	if (step_ns == 0 && raw_gone) /* its single values are gone: to the minute then */
		return &rolled_tiers[rw_countof(rolled_tiers) - 1];
	return NULL;
}

static void rolled_range(struct rolled_walk *walk, int64_t last_ns)
{
	const struct history_filter *filter = walk->filter;
	const int64_t unit_ns = walk->step_ns ? walk->step_ns : walk->tier->bucket_ns;

	walk->from_ns = rollup_step_of(filter->from_ns + 1, unit_ns) * unit_ns;
	walk->to_ns = filter->to_ns;
	if (walk->to_ns == 0 || (walk->step_ns && walk->to_ns > last_ns))
		walk->to_ns = last_ns;
	walk->to_ns = (rollup_step_of(walk->to_ns, unit_ns) + 1) * unit_ns;
}

static int rolled_walk_all(struct rolled_walk *walk, rollup_fn *fn, void *arg, struct err *e)
{
	const int64_t chunk_ns = walk->tier->chunk_ns;
	int64_t at = rollup_step_of(walk->from_ns + 1, chunk_ns) * chunk_ns;
	int r = 0;

	for (; r == 0 && at < walk->to_ns; at += chunk_ns) {
		const int rc = rolled_chunk(walk, at);
		if (rc != SQLITE_OK)
			return sqlite_fail(e, walk->db->db, rc, "read", walk->db->path);
		r = rolled_raw(walk, at, e);
		if (r == 0)
			r = walk->stopped;
		if (r == 0)
			r = rolled_flush(walk, at + chunk_ns, fn, arg);
	}
	if (r == 0)
		r = rolled_flush(walk, INT64_MAX, fn, arg);
	return r;
}

static void rolled_done(struct rolled_walk *walk)
{
	for (size_t i = 0; i < walk->n; i++)
		rollup_sketch_done(&walk->v[i].sketch);
	sqlite3_finalize(walk->rows);
	map_free(walk->index);
	arena_free(walk->arena);
	free(walk->devices);
	free(walk->raw);
	free(walk->v);
}

int series_db_each_rollup(struct history *history, const struct history_filter *filter,
	int64_t step_ns, rollup_fn *fn, void *arg, struct err *e)
{
	struct series_db *db = series_db_of(history);
	rw_cleanup(rolled_done) struct rolled_walk walk = {
		.db = db, .filter = filter, .step_ns = step_ns};
	rw_cleanup(freep) uint32_t *ids = NULL;
	int64_t first_ns = INT64_MAX, last_ns = 0;

	if (step_ns < 0 || (step_ns == 0 && filter->to_ns == 0))
		return -EINVAL;
	int r = history_range(history, &first_ns, &last_ns, e);
	if (r == -ENODATA)
		return 0;
	if (r < 0)
		return r;
	walk.tier = rolled_tier_of(filter, step_ns, filter->from_ns < first_ns);
	if (!walk.tier && step_ns == 0)
		return alone_walk(db, filter, 0, fn, arg, e);
	if (!walk.tier)
		return history_rollup_samples(history, filter, step_ns, fn, arg, e);
	r = history_match(history, filter, &ids, &walk.wanted.n_ids, e);
	if (r < 0 || walk.wanted.n_ids == 0)
		return r;
	walk.wanted.ids = ids;
	walk.apart = step_ns > 0 && ROLLUP_HOUR_NS % step_ns == 0;
	if (walk.apart && filter->any_order)
		walk.stream = fn;
	walk.stream_arg = arg;
	walk.last_key = NO_KEY;
	walk.index = map_new();
	walk.arena = arena_new();
	rolled_choose(&walk);
	rolled_range(&walk, last_ns);
	int rc = rolled_survey(&walk, first_ns);
	if (rc == SQLITE_OK)
		rc = sqlite_prepare(db->db, walk.tier->rows_sql, &walk.rows);
	if (rc != SQLITE_OK)
		return sqlite_fail(e, db->db, rc, "read", db->path);
	return rolled_walk_all(&walk, fn, arg, e);
}
