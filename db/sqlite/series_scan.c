/*
 * series_scan - all samples in order of time, for replay and query. A slice of time
 * is read entity by entity (what is not asked for is not read), sorted in memory, and handed out
 * after its transaction has ended; the slice's length follows the density of the data.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "db/sqlite/flow_row.h"
#include "db/sqlite/series_db.h"
#include "db/sqlite/sqlite_io.h"

#define SLICE_FIRST_NS (60 * NS_PER_S)
#define SLICE_FEW 50000 /* fewer samples than this: the next slice is twice as long */
#define SLICE_MANY 400000 /* more: half as long */
#define SLICE_MAX_NS (INT64_MAX / 4)

struct scan {
	struct series_db *d;
	const struct history_filter *filter;
	uint16_t metrics[COLUMN_SETS][METRIC_COUNT];
	size_t n_metrics[COLUMN_SETS];
	/* "device\0port" -> does its newest alias match; NULL when no port pattern was given */
	struct smap *aliases;
	struct sample *v;
	size_t n, cap;
};

static size_t alias_key(char *buf, size_t size, const char *device, const char *port)
{
	int n = snprintf(buf, size, "%s%c%s", device, '\0', port);

	if (n < 0)
		return 0;
	if ((size_t)n < size)
		return (size_t)n;
	return size - 1;
}

/* --port takes the native name or the alias. Aliases are few; they are read when there is a pattern
 * to match. */
static int load_aliases(struct scan *scan)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	char key[512];
	int rc = sqlite3_prepare_v2(scan->d->db,
		"SELECT device, port, alias FROM port_attr WHERE alias<>'' ORDER BY t_ns", -1, &st,
		NULL);

	scan->aliases = smap_new();
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		size_t n = alias_key(key, sizeof(key), (const char *)sqlite3_column_text(st, 0),
			(const char *)sqlite3_column_text(st, 1));
		uint64_t matches =
			str_glob(scan->filter->port, (const char *)sqlite3_column_text(st, 2));
		smap_put(scan->aliases, key, n, matches);
		rc = SQLITE_OK;
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

static bool entity_matches(const struct scan *scan, const struct entity *entity)
{
	const struct history_filter *f = scan->filter;
	char key[512];
	uint64_t alias = 0;

	if (!f)
		return true;
	if (f->priority != HISTORY_ANY_PRIORITY && entity->priority != f->priority)
		return false;
	if (!str_glob(f->device, entity->device))
		return false;
	if (!f->port || str_glob(f->port, entity->port))
		return true;
	smap_get(scan->aliases, key, alias_key(key, sizeof(key), entity->device, entity->port),
		&alias);
	return alias != 0;
}

static int read_entity(struct scan *scan, unsigned set, uint32_t entity, sqlite3_stmt *st,
	int64_t from_ns, int64_t to_ns)
{
	struct sample row[METRIC_COUNT];
	int rc;

	series_bind(scan->d, st, set, entity);
	sqlite3_bind_int64(st, 2, from_ns);
	sqlite3_bind_int64(st, 3, to_ns);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		size_t n =
			series_row(st, set, entity, scan->metrics[set], scan->n_metrics[set], row);
		for (size_t i = 0; i < n; i++) {
			rw_grow(scan->v, scan->n, scan->cap);
			scan->v[scan->n++] = row[i];
		}
	}
	sqlite3_reset(st);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

static bool has_any(const struct scan *scan, unsigned set, uint32_t entity)
{
	for (size_t i = 0; series_lies_in(scan->d, entity, set) && i < scan->n_metrics[set]; i++)
		if (series_present(scan->d, entity, scan->metrics[set][i]))
			return true;
	return false;
}

/* One slice [from, to] into scan->v. */
static int read_slice(struct scan *scan, int64_t from_ns, int64_t to_ns)
{
	int rc = series_begin(scan->d);

	scan->n = 0;
	for (unsigned t = 0; rc == SQLITE_OK && t < COLUMN_SETS; t++) {
		rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
		if (scan->n_metrics[t] == 0)
			continue;
		rc = series_select(
			scan->d, t, scan->metrics[t], scan->n_metrics[t], ROWS_SLICE, &st);
		for (uint32_t id = 1; rc == SQLITE_OK && id <= entities_count(scan->d->entities);
			id++) {
			const struct entity *e = entity_get(scan->d->entities, id);
			if (e && has_any(scan, t, id) && entity_matches(scan, e))
				rc = read_entity(scan, t, id, st, from_ns, to_ns);
		}
	}
	series_end(scan->d);
	if (scan->n > 1)
		qsort(scan->v, scan->n, sizeof(*scan->v), sample_order);
	return rc;
}

static void choose_metrics(struct scan *scan)
{
	for (unsigned t = 0; t < COLUMN_SETS; t++) {
		const struct reader_table *table = &scan->d->tables[t];
		for (size_t i = 0; i < table->n_metrics; i++) {
			bool wanted = !scan->filter || scan->filter->n_metrics == 0;
			for (size_t k = 0; !wanted && k < scan->filter->n_metrics; k++)
				wanted = scan->filter->metrics[k] == table->metrics[i];
			if (wanted)
				scan->metrics[t][scan->n_metrics[t]++] = table->metrics[i];
		}
	}
}

int series_db_match(struct history *history, const struct history_filter *filter, uint32_t **ret,
	size_t *ret_n, struct err *e)
{
	struct series_db *db = series_db_of(history);
	struct scan s = {.d = db, .filter = filter};
	uint32_t *v = NULL;
	size_t n = 0, cap = 0;
	int rc = series_begin(db);

	if (rc == SQLITE_OK && filter->port)
		rc = load_aliases(&s);
	int r = 0;
	if (rc != SQLITE_OK)
		r = sqlite_fail(e, db->db, rc, "read", db->path);
	series_end(db);
	choose_metrics(&s);
	for (uint32_t id = 1; r == 0 && id <= entities_count(db->entities); id++) {
		const struct entity *entity = entity_get(db->entities, id);
		bool any = false;
		for (unsigned t = 0; t < COLUMN_SETS; t++)
			any |= has_any(&s, t, id);
		if (!entity || !any || !entity_matches(&s, entity))
			continue;
		rw_grow(v, n, cap);
		v[n++] = id;
	}
	smap_free(s.aliases);
	if (r < 0)
		return r;
	*ret = v;
	*ret_n = n;
	return 0;
}

int series_db_range(
	struct history *history, int64_t *ret_first_ns, int64_t *ret_last_ns, struct err *e)
{
	struct series_db *db = series_db_of(history);
	rw_cleanup(str_done) struct str sql = {0};
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int r = -ENODATA;

	/* one seek per table and end; in a file of an older version, per entity too */
	str_add(&sql, "SELECT min(f), max(l) FROM (");
	for (unsigned t = 0; t < (db->by_entity ? (unsigned)TABLE_PRIOS : (unsigned)SCHEMA_TABLES);
		t++) {
		const char *table = schema_table[t];
		const char *sep = "";
		if (t)
			sep = " UNION ALL ";
		if (db->by_entity)
			str_addf(&sql,
				"%sSELECT min((SELECT min(t_ns) FROM %s WHERE entity=e.id)) AS f, "
				"max((SELECT max(t_ns) FROM %s WHERE entity=e.id)) AS l"
				" FROM entity e",
				sep, table, table);
		else
			str_addf(&sql,
				"%sSELECT (SELECT min(t_ns) FROM %s) AS f, (SELECT max(t_ns) FROM "
				"%s) AS l",
				sep, table, table);
	}
	str_add(&sql, ")");
	int rc = sqlite3_prepare_v2(db->db, sql.s, (int)sql.n, &st, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		return sqlite_fail(e, db->db, rc, "read", db->path);
	if (sqlite3_column_type(st, 0) != SQLITE_NULL) {
		*ret_first_ns = sqlite3_column_int64(st, 0);
		*ret_last_ns = sqlite3_column_int64(st, 1);
		r = 0;
	}
	return r;
}

int series_db_each_sample(struct history *history, const struct history_filter *filter,
	sample_fn *fn, void *arg, struct err *e)
{
	struct series_db *db = series_db_of(history);
	struct scan s = {.d = db, .filter = filter};
	int64_t first, last, slice = SLICE_FIRST_NS;
	int r = series_db_range(history, &first, &last, e), rc = SQLITE_OK;

	if (r < 0) {
		if (r == -ENODATA)
			return 0;
		return r;
	}
	if (filter && filter->from_ns > first)
		first = filter->from_ns;
	if (filter && filter->to_ns != 0 && filter->to_ns < last)
		last = filter->to_ns;
	choose_metrics(&s);
	if (filter && filter->port)
		rc = load_aliases(&s);
	while (rc == SQLITE_OK && r == 0 && first <= last) {
		int64_t end;
		if (last - first > slice - 1)
			end = first + slice - 1;
		else
			end = last;
		rc = read_slice(&s, first, end);
		for (size_t i = 0; rc == SQLITE_OK && r == 0 && i < s.n; i++)
			r = fn(arg, &s.v[i]);
		if (end == last)
			break;
		first = end + 1;
		if (s.n < SLICE_FEW && slice < SLICE_MAX_NS)
			slice *= 2;
		else if (s.n > SLICE_MANY && slice > 1)
			slice /= 2;
	}
	if (rc != SQLITE_OK)
		r = sqlite_fail(e, db->db, rc, "read", db->path);
	smap_free(s.aliases);
	free(s.v);
	return r;
}

int series_db_each_flow(struct history *history, int64_t from_ns, int64_t to_ns, flow_fn *fn,
	void *arg, struct err *e)
{
	struct series_db *db = series_db_of(history);
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	rw_cleanup(str_done) struct str sql = {0};
	struct flow_sample f;
	int r = 0, rc = series_begin(db);

	series_end(db);
	str_addf(&sql,
		"SELECT %s FROM flow WHERE to_ns>=?1 AND to_ns<=?2 ORDER BY to_ns, entity, "
		"from_ns, total DESC, octets DESC, id",
		flow_columns);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db->db, sql.s, (int)sql.n, &st, NULL);
	sqlite3_bind_int64(st, 1, from_ns);
	sqlite3_bind_int64(st, 2, to_ns != 0 ? to_ns : INT64_MAX);
	while (rc == SQLITE_OK && r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		flow_row_read(st, &f);
		r = fn(arg, &f);
		rc = SQLITE_OK;
	}
	if (rc == SQLITE_OK || rc == SQLITE_DONE)
		return r;
	return sqlite_fail(e, db->db, rc, "read", db->path);
}
