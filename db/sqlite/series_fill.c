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

struct column { /* one series under construction */
	int64_t *t_ns;
	uint64_t *value;
	uint16_t *flags;
	uint32_t *window_ms;
	uint32_t n, cap;
	struct sample anchor;
	bool has_anchor;
};

struct filler {
	struct series_db *d;
	struct arena *arena;
	unsigned set;
	int64_t from_ns, to_ns;
	uint16_t metrics[METRIC_COUNT]; /* wanted, of this set */
	size_t n_metrics;
	sqlite3_stmt *range, *before;
	/* by position in .metrics, prepared when first needed */
	sqlite3_stmt *anchor[METRIC_COUNT];
	struct column columns[METRIC_COUNT]; /* by metric */
	struct series *series;
	size_t n_series, cap_series;
};

static void series_db_column_add(struct column *column, const struct sample *sample)
{
	if (column->n >= column->cap) {
		if (column->cap)
			column->cap = column->cap * 2;
		else
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

/* How far to walk back row by row before asking for each missing metric alone: most anchors are in
 * the row just before. */
#define WALK_BACK 4

static int walk_back(struct filler *filler, uint32_t entity, size_t *missing)
{
	struct sample row[METRIC_COUNT];
	int rc = SQLITE_OK;

	series_bind(filler->d, filler->before, filler->set, entity);
	sqlite3_bind_int64(filler->before, 2, filler->from_ns);
	for (int step = 0;
		step<WALK_BACK && * missing> 0 && (rc = sqlite3_step(filler->before)) == SQLITE_ROW;
		step++) {
		size_t n = series_row(filler->before, filler->set, entity, filler->metrics,
			filler->n_metrics, row);
		for (size_t i = 0; i < n; i++) {
			struct column *c = &filler->columns[row[i].metric];
			if (c->has_anchor || (row[i].flags & SF_LATE))
				continue;
			c->anchor = row[i];
			c->has_anchor = true;
			*missing -= 1;
		}
	}
	sqlite3_reset(filler->before);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

/* The newest value of one metric at or before the start, however far back. */
static int find_anchor(struct filler *filler, uint32_t entity, size_t at)
{
	uint16_t metric = filler->metrics[at];
	struct column *c = &filler->columns[metric];
	struct sample s;
	int rc;

	if (!filler->anchor[at]) {
		rc = series_select(
			filler->d, filler->set, &metric, 1, ROWS_HAVING, &filler->anchor[at]);
		if (rc != SQLITE_OK)
			return rc;
	}
	series_bind(filler->d, filler->anchor[at], filler->set, entity);
	sqlite3_bind_int64(filler->anchor[at], 2, filler->from_ns);
	while ((rc = sqlite3_step(filler->anchor[at])) == SQLITE_ROW) {
		if (series_row(filler->anchor[at], filler->set, entity, &metric, 1, &s) == 0 ||
			(s.flags & SF_LATE))
			continue;
		c->anchor = s;
		c->has_anchor = true;
		break;
	}
	sqlite3_reset(filler->anchor[at]);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

static int find_anchors(struct filler *filler, uint32_t entity, size_t wanted)
{
	int rc = walk_back(filler, entity, &wanted);

	for (size_t i = 0; rc == SQLITE_OK && wanted > 0 && i < filler->n_metrics; i++)
		if (series_present(filler->d, entity, filler->metrics[i]) &&
			!filler->columns[filler->metrics[i]].has_anchor)
			rc = find_anchor(filler, entity, i);
	return rc;
}

static void series_db_emit(struct filler *filler, uint32_t entity)
{
	for (size_t i = 0; i < filler->n_metrics; i++) {
		struct column *c = &filler->columns[filler->metrics[i]];
		uint32_t n = c->n + c->has_anchor, at = c->has_anchor;
		if (n == 0)
			continue;
		int64_t *t_ns = arena_array(filler->arena, int64_t, n);
		uint64_t *value = arena_array(filler->arena, uint64_t, n);
		uint16_t *flags = arena_array(filler->arena, uint16_t, n);
		uint32_t *window_ms = arena_array(filler->arena, uint32_t, n);
		if (at) {
			t_ns[0] = c->anchor.t_ns;
			value[0] = c->anchor.value;
			flags[0] = c->anchor.flags;
			window_ms[0] = c->anchor.window_ms;
		}
		if (c->n > 0) {
			memcpy(t_ns + at, c->t_ns, c->n * sizeof(*t_ns));
			memcpy(value + at, c->value, c->n * sizeof(*value));
			memcpy(flags + at, c->flags, c->n * sizeof(*flags));
			memcpy(window_ms + at, c->window_ms, c->n * sizeof(*window_ms));
		}
		rw_grow(filler->series, filler->n_series, filler->cap_series);
		filler->series[filler->n_series++] = (struct series){.entity = entity,
			.metric = filler->metrics[i],
			.n = n,
			.t_ns = t_ns,
			.value = value,
			.flags = flags,
			.window_ms = window_ms};
	}
}

static int fill_entity(struct filler *filler, uint32_t entity)
{
	struct sample row[METRIC_COUNT];
	size_t wanted = 0;
	int rc;

	for (size_t i = 0; i < filler->n_metrics; i++) {
		struct column *c = &filler->columns[filler->metrics[i]];
		c->n = 0;
		c->has_anchor = false;
		wanted += series_present(filler->d, entity, filler->metrics[i]);
	}
	if (wanted == 0)
		return SQLITE_OK;
	rc = find_anchors(filler, entity, wanted);
	if (rc != SQLITE_OK)
		return rc;
	series_bind(filler->d, filler->range, filler->set, entity);
	sqlite3_bind_int64(filler->range, 2, filler->from_ns);
	sqlite3_bind_int64(filler->range, 3, filler->to_ns);
	while ((rc = sqlite3_step(filler->range)) == SQLITE_ROW) {
		size_t n = series_row(filler->range, filler->set, entity, filler->metrics,
			filler->n_metrics, row);
		for (size_t i = 0; i < n; i++)
			if (!(row[i].flags & SF_LATE))
				series_db_column_add(&filler->columns[row[i].metric], &row[i]);
	}
	sqlite3_reset(filler->range);
	if (rc != SQLITE_DONE)
		return rc;
	series_db_emit(filler, entity);
	return SQLITE_OK;
}

static int fill_source(struct filler *filler, const struct window_spec *spec)
{
	const struct reader_table *t = &filler->d->tables[filler->set];
	int rc;

	filler->n_metrics = 0;
	for (size_t i = 0; i < t->n_metrics; i++)
		if (window_wants(spec, t->metrics[i]))
			filler->metrics[filler->n_metrics++] = t->metrics[i];
	if (filler->n_metrics == 0)
		return SQLITE_OK;
	rc = series_select(filler->d, filler->set, filler->metrics, filler->n_metrics, ROWS_WINDOW,
		&filler->range);
	if (rc == SQLITE_OK)
		rc = series_select(filler->d, filler->set, filler->metrics, filler->n_metrics,
			ROWS_BEFORE, &filler->before);
	for (uint32_t id = 1; rc == SQLITE_OK && id <= entities_count(filler->d->entities); id++)
		if (window_wants_entity(spec, id) && series_lies_in(filler->d, id, filler->set))
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

	str_addf(&sql, "SELECT %s FROM flow WHERE to_ns>=?1 AND to_ns<=?2 AND from_ns>=?1",
		flow_columns);
	int rc = sqlite3_prepare_v2(filler->d->db, sql.s, (int)sql.n, &st, NULL);
	sqlite3_bind_int64(st, 1, filler->from_ns);
	sqlite3_bind_int64(st, 2, filler->to_ns);
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		rw_grow(v, n, cap);
		flow_row_read(st, &v[n++]);
		rc = SQLITE_OK;
	}
	if (rc == SQLITE_DONE && n > 0) {
		struct flow_sample *kept = arena_array(filler->arena, struct flow_sample, n);
		memcpy(kept, v, n * sizeof(*v));
		qsort(kept, n, sizeof(*kept), flow_order);
		window->flows = kept;
		window->n_flows = n;
	}
	free(v);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

int series_db_window(struct history *history, struct arena *a, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, struct window *ret, struct err *e)
{
	struct series_db *db = series_db_of(history);
	rw_cleanup(freep) struct filler *f = rw_calloc(1, sizeof(*f));
	struct window w = {.from_ns = from_ns, .to_ns = to_ns, .entities = db->entities};

	f->d = db;
	f->arena = a;
	f->from_ns = from_ns;
	f->to_ns = to_ns;
	int rc = series_begin(db);
	for (f->set = 0; rc == SQLITE_OK && f->set < COLUMN_SETS; f->set++)
		rc = fill_source(f, spec);
	if (rc == SQLITE_OK && spec->flows)
		rc = fill_flows(f, &w);
	int r = 0;
	if (rc != SQLITE_OK)
		r = sqlite_fail(e, db->db, rc, "read", db->path);
	series_end(db);
	for (size_t i = 0; i < METRIC_COUNT; i++) {
		free(f->columns[i].t_ns);
		free(f->columns[i].value);
		free(f->columns[i].flags);
		free(f->columns[i].window_ms);
	}
	struct series *kept = arena_array(a, struct series, f->n_series);
	if (f->n_series > 0) {
		memcpy(kept, f->series, f->n_series * sizeof(*kept));
		qsort(kept, f->n_series, sizeof(*kept), series_order);
	}
	free(f->series);
	if (r < 0)
		return r;
	w.series = kept;
	w.n_series = f->n_series;
	*ret = w;
	return 0;
}
