/*
 * series_fill - windows from SQLite.
 *
 * A window reads, per entity, the rows of its time range at its device's instants, and for each
 * metric the newest row at or before its start. A priority is read from its columns of the port's
 * rows. Table series says which metrics an entity ever had: others are not looked for.
 * Configuration states are found by their partial index.
 */
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "db/series/series_window.h"
#include "db/sqlite/flow_row.h"
#include "db/sqlite/series_db.h"
#include "db/sqlite/sqlite_io.h"

struct filling { /* one series under construction */
	int64_t *t_ns;
	uint64_t *value;
	uint16_t *flags;
	uint32_t *window_ms;
	uint32_t n, cap;
	struct sample anchor; /* the newest one at or before the start */
	bool has_anchor;
};

struct filler {
	struct series_db *db;
	struct arena *arena;
	unsigned set;
	int64_t from_ns, to_ns;
	uint16_t metrics[METRIC_COUNT]; /* wanted, of this set */
	size_t n_metrics;
	sqlite3_stmt *range, *before;
	/* by position in .metrics, prepared when first needed */
	sqlite3_stmt *anchor[METRIC_COUNT];
	struct filling columns[METRIC_COUNT]; /* by metric */
	struct series *series;
	size_t n_series, cap_series;
};

static void filling_add(struct filling *column, const struct sample *sample)
{
	if (column->n >= column->cap) {
		column->cap *= 2;
		if (column->cap == 0)
			column->cap = 64;
		column->t_ns = rw_realloc(column->t_ns, column->cap * sizeof(*column->t_ns));
		column->value = rw_realloc(column->value, column->cap * sizeof(*column->value));
		column->flags = rw_realloc(column->flags, column->cap * sizeof(*column->flags));
		column->window_ms =
			rw_realloc(column->window_ms, column->cap * sizeof(*column->window_ms));
	}
	column->t_ns[column->n] = sample->t_ns;
	column->value[column->n] = sample->value;
	column->flags[column->n] = sample->flags;
	column->window_ms[column->n++] = sample->window_ms;
}

/* Rows to go back, before each metric that is still missing is searched alone: most anchors are in
 * the row just before. */
#define WALK_BACK 4

/* The values of one row before the start, newest rows first. */
static void take_anchors(struct filler *filler, const struct sample *row, size_t n, size_t *missing)
{
	for (size_t i = 0; i < n; i++) {
		struct filling *to = &filler->columns[row[i].metric];
		if (to->has_anchor || (row[i].flags & SF_LATE))
			continue;
		to->anchor = row[i];
		to->has_anchor = true;
		*missing -= 1;
	}
}

static int walk_back(struct filler *filler, uint32_t entity, size_t *missing)
{
	struct sample row[METRIC_COUNT];
	int rc = SQLITE_OK;

	series_bind(filler->db, filler->before, filler->set, entity);
	sqlite3_bind_int64(filler->before, 2, filler->from_ns);
	for (int step = 0; step < WALK_BACK; step++) {
		if (*missing == 0)
			break;
		rc = sqlite3_step(filler->before);
		if (rc != SQLITE_ROW)
			break;
		size_t n = series_row(filler->db, filler->before, filler->set, entity,
			filler->metrics, filler->n_metrics, row);
		take_anchors(filler, row, n, missing);
	}
	const int reset =
		sqlite3_reset(filler->before); /* tells of a text that could not be read */
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return reset;
	return rc;
}

/* The newest value of one metric at or before the start, however far back. */
static int series_fill_find_anchor(struct filler *filler, uint32_t entity, size_t at)
{
	uint16_t metric = filler->metrics[at];
	struct filling *c = &filler->columns[metric];
	struct sample s;
	int rc;

	if (!filler->anchor[at]) {
		rc = series_select(
			filler->db, filler->set, &metric, 1, ROWS_HAVING, &filler->anchor[at]);
		if (rc != SQLITE_OK)
			return rc;
	}
	series_bind(filler->db, filler->anchor[at], filler->set, entity);
	sqlite3_bind_int64(filler->anchor[at], 2, filler->from_ns);
	while ((rc = sqlite3_step(filler->anchor[at])) == SQLITE_ROW) {
		if (series_row(filler->db, filler->anchor[at], filler->set, entity, &metric, 1,
			    &s) == 0 ||
			(s.flags & SF_LATE))
			continue;
		c->anchor = s;
		c->has_anchor = true;
		break;
	}
	const int reset = sqlite3_reset(filler->anchor[at]);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return reset;
	return rc;
}

static int find_anchors(struct filler *filler, uint32_t entity, size_t wanted)
{
	int rc = walk_back(filler, entity, &wanted);

	for (size_t i = 0; rc == SQLITE_OK && wanted > 0 && i < filler->n_metrics; i++)
		if (series_present(filler->db, entity, filler->metrics[i]) &&
			!filler->columns[filler->metrics[i]].has_anchor)
			rc = series_fill_find_anchor(filler, entity, i);
	return rc;
}

/* A finished series, in the window's arena. */
static void emit_series(
	struct filler *filler, uint32_t entity, uint16_t metric, const struct filling *from)
{
	const uint32_t first = from->has_anchor, n = first + from->n;
	int64_t *t_ns = arena_array(filler->arena, int64_t, n);
	uint64_t *value = arena_array(filler->arena, uint64_t, n);
	uint16_t *flags = arena_array(filler->arena, uint16_t, n);
	uint32_t *window_ms = arena_array(filler->arena, uint32_t, n);

	if (from->has_anchor) {
		t_ns[0] = from->anchor.t_ns;
		value[0] = from->anchor.value;
		flags[0] = from->anchor.flags;
		window_ms[0] = from->anchor.window_ms;
	}
	if (from->n > 0) {
		memcpy(t_ns + first, from->t_ns, from->n * sizeof(*t_ns));
		memcpy(value + first, from->value, from->n * sizeof(*value));
		memcpy(flags + first, from->flags, from->n * sizeof(*flags));
		memcpy(window_ms + first, from->window_ms, from->n * sizeof(*window_ms));
	}
	rw_grow(filler->series, filler->n_series, filler->cap_series);
	filler->series[filler->n_series++] = (struct series){.entity = entity,
		.metric = metric,
		.n = n,
		.t_ns = t_ns,
		.value = value,
		.flags = flags,
		.window_ms = window_ms};
}

/* The samples of the window itself. */
static int series_fill_read_range(struct filler *filler, uint32_t entity)
{
	struct sample row[METRIC_COUNT];
	int rc;

	series_bind(filler->db, filler->range, filler->set, entity);
	sqlite3_bind_int64(filler->range, 2, filler->from_ns);
	sqlite3_bind_int64(filler->range, 3, filler->to_ns);
	while ((rc = sqlite3_step(filler->range)) == SQLITE_ROW) {
		size_t n = series_row(filler->db, filler->range, filler->set, entity,
			filler->metrics, filler->n_metrics, row);
		for (size_t i = 0; i < n; i++)
			if (!(row[i].flags & SF_LATE))
				filling_add(&filler->columns[row[i].metric], &row[i]);
	}
	sqlite3_reset(filler->range);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

static int fill_entity(struct filler *filler, uint32_t entity)
{
	size_t wanted = 0;

	for (size_t i = 0; i < filler->n_metrics; i++) {
		struct filling *column = &filler->columns[filler->metrics[i]];
		column->n = 0;
		column->has_anchor = false;
		wanted += series_present(filler->db, entity, filler->metrics[i]);
	}
	if (wanted == 0)
		return SQLITE_OK;
	int rc = find_anchors(filler, entity, wanted);
	if (rc == SQLITE_OK)
		rc = series_fill_read_range(filler, entity);
	if (rc != SQLITE_OK)
		return rc;
	for (size_t i = 0; i < filler->n_metrics; i++) {
		const struct filling *column = &filler->columns[filler->metrics[i]];
		if (column->n > 0 || column->has_anchor)
			emit_series(filler, entity, filler->metrics[i], column);
	}
	return SQLITE_OK;
}

static int fill_set(struct filler *filler, const struct window_spec *spec)
{
	const struct reader_set *t = &filler->db->sets[filler->set];
	int rc;

	filler->n_metrics = 0;
	for (size_t i = 0; i < t->n_metrics; i++)
		if (window_wants(spec, t->metrics[i]))
			filler->metrics[filler->n_metrics++] = t->metrics[i];
	if (filler->n_metrics == 0)
		return SQLITE_OK;
	rc = series_select(filler->db, filler->set, filler->metrics, filler->n_metrics, ROWS_WINDOW,
		&filler->range);
	if (rc == SQLITE_OK)
		rc = series_select(filler->db, filler->set, filler->metrics, filler->n_metrics,
			ROWS_BEFORE, &filler->before);
	for (uint32_t id = 1; rc == SQLITE_OK && id <= entities_count(filler->db->entities); id++)
		if (window_wants_entity(spec, id) &&
			series_known(filler->db, id, filler->from_ns) &&
			series_lies_in(filler->db, id, filler->set))
			rc = fill_entity(filler, id);
	sqlite_finalizep(&filler->range);
	sqlite_finalizep(&filler->before);
	for (size_t i = 0; i < filler->n_metrics; i++)
		sqlite_finalizep(&filler->anchor[i]);
	return rc;
}

static int fill_flows(struct filler *filler, struct window *window)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	rw_cleanup(str_done) struct str sql = {0};
	struct flow_sample *v = NULL;
	size_t n = 0, cap = 0;

	flow_row_select(&sql, filler->db->old_flows);
	str_add(&sql, " WHERE to_ns>?1 AND to_ns<=?2");
	int rc = sqlite3_prepare_v2(filler->db->db, sql.s, (int)sql.n, &st, NULL);
	sqlite3_bind_int64(st, 1, filler->from_ns);
	sqlite3_bind_int64(st, 2, filler->to_ns);
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		uint32_t entity;
		rc = series_name_of(filler->db, sqlite3_column_int64(st, 0), &entity);
		if (rc != SQLITE_OK || entity == ENTITY_NONE)
			continue;
		rw_grow(v, n, cap);
		flow_row_read(st, entity, &v[n++]);
	}
	if (rc == SQLITE_DONE && n > 0) {
		struct flow_sample *kept = arena_array(filler->arena, struct flow_sample, n);
		memcpy(kept, v, n * sizeof(*v));
		window_give_flows(window, kept, n);
	}
	free(v);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

static void filler_done(struct filler *filler)
{
	for (size_t i = 0; i < METRIC_COUNT; i++) {
		free(filler->columns[i].t_ns);
		free(filler->columns[i].value);
		free(filler->columns[i].flags);
		free(filler->columns[i].window_ms);
	}
	free(filler->series);
}

int series_db_window(struct history *history, struct arena *a, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, struct window *ret, struct err *e)
{
	struct series_db *db = series_db_of(history);
	struct window window = {.from_ns = from_ns, .to_ns = to_ns, .entities = db->entities};
	rw_cleanup(freep) struct filler *f = rw_calloc(1, sizeof(*f));
	int r = 0;

	f->db = db;
	f->arena = a;
	f->from_ns = from_ns;
	f->to_ns = to_ns;
	int rc = series_begin(db, from_ns);
	for (f->set = 0; rc == SQLITE_OK && f->set < COLUMN_SETS; f->set++)
		rc = fill_set(f, spec);
	if (rc == SQLITE_OK && spec->flows)
		rc = fill_flows(f, &window);
	if (rc == SQLITE_OK)
		rc = db->text_rc;
	if (rc != SQLITE_OK)
		r = sqlite_fail(e, db->db, rc, "read", db->path);
	series_end(db);
	if (r == 0) {
		struct series *kept = arena_array(a, struct series, f->n_series);
		if (f->n_series > 0) {
			memcpy(kept, f->series, f->n_series * sizeof(*kept));
			qsort(kept, f->n_series, sizeof(*kept), series_order);
		}
		window.series = kept;
		window.n_series = f->n_series;
		*ret = window;
	}
	filler_done(f);
	return r;
}
