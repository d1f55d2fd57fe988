/*
 * wide_read - windows and slices from the wide rows of an older version's file (wide_read.h). A
 * window reads, per entity, the rows of its time range at its device's instants, and for each
 * metric the newest row at or before its start. Configuration states are found by their partial
 * index.
 */
#include "db/sqlite/wide_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "db/series/series_window.h"
#include "db/sqlite/sqlite_io.h"

/* ---- windows ------------------------------------------------------------- */

struct wide_filling { /* one series under construction */
	int64_t *t_ns;
	uint64_t *value;
	uint16_t *flags;
	uint32_t *window_ms;
	uint32_t n, cap;
	struct sample anchor; /* the newest one at or before the start */
	bool has_anchor;
};

struct wide_filler {
	struct series_db *db;
	struct series_list *to;
	unsigned set;
	int64_t from_ns, to_ns;
	uint16_t metrics[METRIC_COUNT]; /* wanted, of this set */
	size_t n_metrics;
	sqlite3_stmt *range, *before;
	/* by position in .metrics, prepared when first needed */
	sqlite3_stmt *anchor[METRIC_COUNT];
	struct wide_filling columns[METRIC_COUNT]; /* by metric */
};

static void wide_filling_add(struct wide_filling *column, const struct sample *sample)
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
static void wide_take_anchors(
	struct wide_filler *filler, const struct sample *row, size_t n, size_t *missing)
{
	for (size_t i = 0; i < n; i++) {
		struct wide_filling *to = &filler->columns[row[i].metric];
		if (to->has_anchor || (row[i].flags & SF_LATE))
			continue;
		to->anchor = row[i];
		to->has_anchor = true;
		*missing -= 1;
	}
}

static int wide_walk_back(struct wide_filler *filler, uint32_t entity, size_t *missing)
{
	struct sample row[METRIC_COUNT];
	int rc = SQLITE_OK;

	wide_bind(filler->db, filler->before, filler->set, entity);
	sqlite3_bind_int64(filler->before, 2, filler->from_ns);
	for (int step = 0; step < WALK_BACK; step++) {
		if (*missing == 0)
			break;
		rc = sqlite3_step(filler->before);
		if (rc != SQLITE_ROW)
			break;
		size_t n = wide_row(filler->db, filler->before, filler->set, entity,
			filler->metrics, filler->n_metrics, row);
		wide_take_anchors(filler, row, n, missing);
	}
	const int reset =
		sqlite3_reset(filler->before); /* tells of a text that could not be read */
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return reset;
	return rc;
}

/* The newest value of one metric at or before the start, however far back. */
static int wide_find_anchor(struct wide_filler *filler, uint32_t entity, size_t at)
{
	uint16_t metric = filler->metrics[at];
	struct wide_filling *c = &filler->columns[metric];
	struct sample s;
	int rc;

	if (!filler->anchor[at]) {
		rc = wide_select(
			filler->db, filler->set, &metric, 1, ROWS_HAVING, &filler->anchor[at]);
		if (rc != SQLITE_OK)
			return rc;
	}
	wide_bind(filler->db, filler->anchor[at], filler->set, entity);
	sqlite3_bind_int64(filler->anchor[at], 2, filler->from_ns);
	while ((rc = sqlite3_step(filler->anchor[at])) == SQLITE_ROW) {
		if (wide_row(filler->db, filler->anchor[at], filler->set, entity, &metric, 1, &s) ==
				0 ||
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

static int wide_find_anchors(struct wide_filler *filler, uint32_t entity, size_t wanted)
{
	int rc = wide_walk_back(filler, entity, &wanted);

	for (size_t i = 0; rc == SQLITE_OK && wanted > 0 && i < filler->n_metrics; i++)
		if (series_present(filler->db, entity, filler->metrics[i]) &&
			!filler->columns[filler->metrics[i]].has_anchor)
			rc = wide_find_anchor(filler, entity, i);
	return rc;
}

/* A finished series, in the window's arena. */
static void wide_emit(struct wide_filler *filler, uint32_t entity, uint16_t metric,
	const struct wide_filling *from)
{
	const uint32_t first = from->has_anchor, n = first + from->n;
	int64_t *t_ns = arena_array(filler->to->arena, int64_t, n);
	uint64_t *value = arena_array(filler->to->arena, uint64_t, n);
	uint16_t *flags = arena_array(filler->to->arena, uint16_t, n);
	uint32_t *window_ms = arena_array(filler->to->arena, uint32_t, n);

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
	rw_grow(filler->to->v, filler->to->n, filler->to->cap);
	filler->to->v[filler->to->n++] = (struct series){.entity = entity,
		.metric = metric,
		.n = n,
		.t_ns = t_ns,
		.value = value,
		.flags = flags,
		.window_ms = window_ms};
}

/* The samples of the window itself. */
static int wide_read_range(struct wide_filler *filler, uint32_t entity)
{
	struct sample row[METRIC_COUNT];
	int rc;

	wide_bind(filler->db, filler->range, filler->set, entity);
	sqlite3_bind_int64(filler->range, 2, filler->from_ns);
	sqlite3_bind_int64(filler->range, 3, filler->to_ns);
	while ((rc = sqlite3_step(filler->range)) == SQLITE_ROW) {
		size_t n = wide_row(filler->db, filler->range, filler->set, entity, filler->metrics,
			filler->n_metrics, row);
		for (size_t i = 0; i < n; i++)
			if (!(row[i].flags & SF_LATE))
				wide_filling_add(&filler->columns[row[i].metric], &row[i]);
	}
	sqlite3_reset(filler->range);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

static int wide_fill_entity(struct wide_filler *filler, uint32_t entity)
{
	size_t wanted = 0;

	for (size_t i = 0; i < filler->n_metrics; i++) {
		struct wide_filling *column = &filler->columns[filler->metrics[i]];
		column->n = 0;
		column->has_anchor = false;
		wanted += series_present(filler->db, entity, filler->metrics[i]);
	}
	if (wanted == 0)
		return SQLITE_OK;
	int rc = wide_find_anchors(filler, entity, wanted);
	if (rc == SQLITE_OK)
		rc = wide_read_range(filler, entity);
	if (rc != SQLITE_OK)
		return rc;
	for (size_t i = 0; i < filler->n_metrics; i++) {
		const struct wide_filling *column = &filler->columns[filler->metrics[i]];
		if (column->n > 0 || column->has_anchor)
			wide_emit(filler, entity, filler->metrics[i], column);
	}
	return SQLITE_OK;
}

static int wide_fill_set(struct wide_filler *filler, const struct window_spec *spec)
{
	const struct wide_set *t = &filler->db->wide->sets[filler->set];
	int rc;

	filler->n_metrics = 0;
	for (size_t i = 0; i < t->n_metrics; i++)
		if (window_wants(spec, t->metrics[i]))
			filler->metrics[filler->n_metrics++] = t->metrics[i];
	if (filler->n_metrics == 0)
		return SQLITE_OK;
	rc = wide_select(filler->db, filler->set, filler->metrics, filler->n_metrics, ROWS_WINDOW,
		&filler->range);
	if (rc == SQLITE_OK)
		rc = wide_select(filler->db, filler->set, filler->metrics, filler->n_metrics,
			ROWS_BEFORE, &filler->before);
	for (uint32_t id = 1; rc == SQLITE_OK && id <= entities_count(filler->db->entities); id++)
		if (window_wants_entity(spec, id) &&
			series_known(filler->db, id, filler->from_ns) &&
			wide_lies_in(filler->db, id, filler->set))
			rc = wide_fill_entity(filler, id);
	sqlite_finalizep(&filler->range);
	sqlite_finalizep(&filler->before);
	for (size_t i = 0; i < filler->n_metrics; i++)
		sqlite_finalizep(&filler->anchor[i]);
	return rc;
}

static void wide_filler_done(struct wide_filler *filler)
{
	for (size_t i = 0; i < METRIC_COUNT; i++) {
		free(filler->columns[i].t_ns);
		free(filler->columns[i].value);
		free(filler->columns[i].flags);
		free(filler->columns[i].window_ms);
	}
}

int wide_window(struct series_db *db, const struct window_spec *spec, int64_t from_ns,
	int64_t to_ns, struct series_list *ret)
{
	rw_cleanup(freep) struct wide_filler *filler = rw_calloc(1, sizeof(*filler));
	int rc = series_present_load(db, from_ns);

	filler->db = db;
	filler->to = ret;
	filler->from_ns = from_ns;
	filler->to_ns = to_ns;
	for (filler->set = 0; rc == SQLITE_OK && filler->set < COLUMN_SETS; filler->set++)
		rc = wide_fill_set(filler, spec);
	wide_filler_done(filler);
	return rc;
}

/* ---- slices --------------------------------------------------------------- */

struct wide_slicer {
	struct series_db *db;
	struct series_slice *slice;
	uint16_t metrics[COLUMN_SETS][METRIC_COUNT];
	size_t n_metrics[COLUMN_SETS];
};

static int wide_slice_entity(
	struct wide_slicer *scan, unsigned set, uint32_t entity, sqlite3_stmt *st)
{
	struct sample row[METRIC_COUNT];
	int rc;

	wide_bind(scan->db, st, set, entity);
	sqlite3_bind_int64(st, 2, scan->slice->from_ns);
	sqlite3_bind_int64(st, 3, scan->slice->to_ns);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		size_t n = wide_row(
			scan->db, st, set, entity, scan->metrics[set], scan->n_metrics[set], row);
		for (size_t i = 0; i < n; i++) {
			rw_grow(scan->slice->v, scan->slice->n, scan->slice->cap);
			scan->slice->v[scan->slice->n++] = row[i];
		}
	}
	sqlite3_reset(st);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

static bool wide_has_any(const struct wide_slicer *scan, unsigned set, uint32_t entity)
{
	for (size_t i = 0; wide_lies_in(scan->db, entity, set) && i < scan->n_metrics[set]; i++)
		if (series_present(scan->db, entity, scan->metrics[set][i]))
			return true;
	return false;
}

static int wide_slice_set(struct wide_slicer *scan, unsigned set)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	const uint32_t n = entities_count(scan->db->entities);
	int rc = wide_select(
		scan->db, set, scan->metrics[set], scan->n_metrics[set], ROWS_SLICE, &st);

	for (uint32_t id = 1; rc == SQLITE_OK && id <= n; id++) {
		if (series_known(scan->db, id, scan->slice->from_ns) &&
			wide_has_any(scan, set, id) && scan->slice->takes(scan->slice->arg, id))
			rc = wide_slice_entity(scan, set, id, st);
	}
	return rc;
}

int wide_slice(struct series_db *db, struct series_slice *slice)
{
	rw_cleanup(freep) struct wide_slicer *scan = rw_calloc(1, sizeof(*scan));
	int rc = series_present_load(db, slice->from_ns);

	scan->db = db;
	scan->slice = slice;
	for (unsigned set = 0; rc == SQLITE_OK && set < COLUMN_SETS; set++) {
		const struct wide_set *has = &db->wide->sets[set];
		for (size_t i = 0; i < has->n_metrics; i++)
			if (slice->metrics[has->metrics[i]])
				scan->metrics[set][scan->n_metrics[set]++] = has->metrics[i];
		if (scan->n_metrics[set] > 0)
			rc = wide_slice_set(scan, set);
	}
	return rc;
}

/* ---- ends ------------------------------------------------------------------ */

int wide_open(struct series_db *db, int version)
{
	db->wide = rw_calloc(1, sizeof(*db->wide));
	db->wide->by_entity = version <= SCHEMA_BY_ENTITY;
	return wide_columns(db);
}

/* The first or last row of @table that counts: not one whose time is wrong (late), nor what the
 * agent says of itself. Such rows are few at the ends: this is a seek. */
static void wide_range_end_sql(
	const char *table, const char *order, bool whole, int64_t not_after_ns, struct str *out)
{
	if (whole) {
		str_addf(out, "(SELECT t_ns FROM %s ORDER BY t_ns %s LIMIT 1)", table, order);
		return;
	}
	str_addf(out,
		"(SELECT t_ns FROM %s WHERE t_ns<=%lld AND (flags & %d)=0 AND entity IS NOT "
		"(SELECT id FROM entity WHERE device='" ENTITY_AGENT
		"' AND port='" ENTITY_AGENT_PORT "' AND priority=-1) ORDER BY t_ns %s LIMIT 1)",
		table, (long long)not_after_ns, SF_LATE, order);
}

/* The ends of each table, one seek each; in an older version's file, one per entity too. */
static void wide_range_sql(bool by_entity, bool whole, int64_t not_after_ns, struct str *out)
{
	unsigned n = SCHEMA_TABLES;

	if (by_entity)
		n = TABLE_PRIOS; /* the last one is newer */
	str_add(out, "SELECT min(f), max(l) FROM (");
	for (unsigned t = 0; t < n; t++) {
		const char *table = wide_table[t];
		str_add(out, str_if(t > 0, " UNION ALL "));
		if (by_entity) {
			str_addf(out,
				"SELECT min((SELECT min(t_ns) FROM %s WHERE entity=e.id)) AS f, "
				"max((SELECT max(t_ns) FROM %s WHERE entity=e.id)) AS l "
				"FROM entity e",
				table, table);
			continue;
		}
		str_add(out, "SELECT ");
		wide_range_end_sql(table, "ASC", whole, not_after_ns, out);
		str_add(out, " AS f, ");
		wide_range_end_sql(table, "DESC", whole, not_after_ns, out);
		str_add(out, " AS l");
	}
	str_add(out, ")");
}

/* @whole: of all rows, whatever they are. */
int wide_range(struct series_db *db, bool whole, int64_t *ret_first_ns, int64_t *ret_last_ns,
	struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;

	int64_t not_after_ns = INT64_MAX;
	if (db->history.not_after_ns != 0)
		not_after_ns = db->history.not_after_ns;
	wide_range_sql(db->wide->by_entity, whole, not_after_ns, &sql);
	int rc = sqlite3_prepare_v2(db->db, sql.s, (int)sql.n, &st, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		return sqlite_fail(e, db->db, rc, "read", db->path);
	if (sqlite3_column_type(st, 0) == SQLITE_NULL)
		return -ENODATA;
	if (ret_first_ns)
		*ret_first_ns = sqlite3_column_int64(st, 0);
	*ret_last_ns = sqlite3_column_int64(st, 1);
	return 0;
}

int wide_next(struct series_db *db, int64_t t_ns, int64_t *ret_ns, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;

	*ret_ns = t_ns + 1;
	if (db->wide->by_entity)
		return 0; /* no index by time */
	str_add(&sql, "SELECT min(t) FROM (SELECT min(to_ns) AS t FROM flow WHERE to_ns>?1");
	for (unsigned table = 0; table < SCHEMA_TABLES; table++)
		str_addf(&sql, " UNION ALL SELECT min(t_ns) FROM %s WHERE t_ns>?1",
			wide_table[table]);
	str_add(&sql, ")");
	int rc = sqlite3_prepare_v2(db->db, sql.s, (int)sql.n, &st, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, t_ns);
		rc = sqlite3_step(st);
	}
	if (rc != SQLITE_ROW)
		return sqlite_fail(e, db->db, rc, "read", db->path);
	if (sqlite3_column_type(st, 0) == SQLITE_NULL)
		return -ENODATA;
	*ret_ns = sqlite3_column_int64(st, 0);
	return 0;
}

int wide_newest(struct series_db *db, int64_t device, int64_t at_ns, int64_t ret[2])
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	size_t n = 0;

	ret[0] = ret[1] = INT64_MIN;
	if (db->wide->by_entity)
		return SQLITE_OK; /* no index by time */
	int rc = sqlite3_prepare_v2(db->db,
		"SELECT t_ns FROM instant WHERE device=?1 AND t_ns<=?2 ORDER BY t_ns DESC LIMIT 2",
		-1, &st, NULL);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, device);
	sqlite3_bind_int64(st, 2, at_ns);
	while (n < 2 && (rc = sqlite3_step(st)) == SQLITE_ROW)
		ret[n++] = sqlite3_column_int64(st, 0);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}
