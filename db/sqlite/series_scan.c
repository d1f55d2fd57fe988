/*
 * series_scan - all samples in order of time, for replay and query. A slice of time is read entity
 * by entity (only what is asked for), sorted in memory, and handed out after its transaction has
 * ended. The length of the slices follows the density of the data.
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
	struct series_db *db;
	const struct history_filter *filter;
	uint16_t metrics[COLUMN_SETS][METRIC_COUNT];
	size_t n_metrics[COLUMN_SETS];
	/* "device\0port" -> does its newest alias match; NULL when no port pattern was given */
	struct smap *aliases;
	struct sample *samples; /* of one slice */
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

/* A port matches by its native name or by its alias. Aliases are few; they are read only when there
 * is a pattern. */
static int load_aliases(struct scan *scan)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	char key[512];
	int rc = sqlite3_prepare_v2(scan->db->db,
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

	series_bind(scan->db, st, set, entity);
	sqlite3_bind_int64(st, 2, from_ns);
	sqlite3_bind_int64(st, 3, to_ns);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		size_t n = series_row(
			scan->db, st, set, entity, scan->metrics[set], scan->n_metrics[set], row);
		for (size_t i = 0; i < n; i++) {
			rw_grow(scan->samples, scan->n, scan->cap);
			scan->samples[scan->n++] = row[i];
		}
	}
	sqlite3_reset(st);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

static bool has_any(const struct scan *scan, unsigned set, uint32_t entity)
{
	for (size_t i = 0; series_lies_in(scan->db, entity, set) && i < scan->n_metrics[set]; i++)
		if (series_present(scan->db, entity, scan->metrics[set][i]))
			return true;
	return false;
}

static int read_set(struct scan *scan, unsigned set, int64_t from_ns, int64_t to_ns)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	const uint32_t n = entities_count(scan->db->entities);
	int rc = series_select(
		scan->db, set, scan->metrics[set], scan->n_metrics[set], ROWS_SLICE, &st);

	for (uint32_t id = 1; rc == SQLITE_OK && id <= n; id++) {
		const struct entity *entity = entity_get(scan->db->entities, id);
		if (entity && series_known(scan->db, id, from_ns) && has_any(scan, set, id) &&
			entity_matches(scan, entity))
			rc = read_entity(scan, set, id, st, from_ns, to_ns);
	}
	return rc;
}

/* One slice [from, to] into scan->samples. */
static int read_slice(struct scan *scan, int64_t from_ns, int64_t to_ns)
{
	int rc = series_begin(scan->db, from_ns);

	scan->n = 0;
	for (unsigned set = 0; rc == SQLITE_OK && set < COLUMN_SETS; set++)
		if (scan->n_metrics[set] > 0)
			rc = read_set(scan, set, from_ns, to_ns);
	if (rc == SQLITE_OK)
		rc = scan->db->text_rc;
	series_end(scan->db);
	if (scan->n > 1)
		qsort(scan->samples, scan->n, sizeof(*scan->samples), sample_order);
	return rc;
}

static bool filter_wants(const struct history_filter *filter, uint16_t metric)
{
	if (!filter || filter->n_metrics == 0)
		return true;
	for (size_t i = 0; i < filter->n_metrics; i++)
		if (filter->metrics[i] == metric)
			return true;
	return false;
}

static void choose_metrics(struct scan *scan)
{
	for (unsigned set = 0; set < COLUMN_SETS; set++) {
		const struct reader_set *has = &scan->db->sets[set];
		for (size_t i = 0; i < has->n_metrics; i++)
			if (filter_wants(scan->filter, has->metrics[i]))
				scan->metrics[set][scan->n_metrics[set]++] = has->metrics[i];
	}
}

int series_db_match(struct history *history, const struct history_filter *filter, uint32_t **ret,
	size_t *ret_n, struct err *e)
{
	struct series_db *db = series_db_of(history);
	struct scan s = {.db = db, .filter = filter};
	uint32_t *v = NULL;
	size_t n = 0, cap = 0;
	const int64_t from_ns = filter->from_ns ? filter->from_ns : INT64_MIN;
	int rc = series_begin(db, from_ns);

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
		if (!entity || !any || !series_known(db, id, from_ns) ||
			!entity_matches(&s, entity))
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

/* The first or last row of @table that counts: not one whose time is wrong (late), nor what the
 * agent says of itself. Such rows are few at the ends: this is a seek. */
static void range_end_sql(
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
static void range_sql(bool by_entity, bool whole, int64_t not_after_ns, struct str *out)
{
	unsigned n = SCHEMA_TABLES;

	if (by_entity)
		n = TABLE_PRIOS; /* the last one is newer */
	str_add(out, "SELECT min(f), max(l) FROM (");
	for (unsigned t = 0; t < n; t++) {
		const char *table = schema_table[t];
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
		range_end_sql(table, "ASC", whole, not_after_ns, out);
		str_add(out, " AS f, ");
		range_end_sql(table, "DESC", whole, not_after_ns, out);
		str_add(out, " AS l");
	}
	str_add(out, ")");
}

/* @whole: of all rows, whatever they are. */
static int series_scan_range(struct series_db *db, bool whole, int64_t *ret_first_ns,
	int64_t *ret_last_ns, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;

	int64_t not_after_ns = INT64_MAX;
	if (db->history.not_after_ns != 0)
		not_after_ns = db->history.not_after_ns;
	range_sql(db->by_entity, whole, not_after_ns, &sql);
	int rc = sqlite3_prepare_v2(db->db, sql.s, (int)sql.n, &st, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		return sqlite_fail(e, db->db, rc, "read", db->path);
	if (sqlite3_column_type(st, 0) == SQLITE_NULL)
		return -ENODATA;
	*ret_first_ns = sqlite3_column_int64(st, 0);
	*ret_last_ns = sqlite3_column_int64(st, 1);
	return 0;
}

int series_db_range(
	struct history *history, int64_t *ret_first_ns, int64_t *ret_last_ns, struct err *e)
{
	return series_scan_range(series_db_of(history), false, ret_first_ns, ret_last_ns, e);
}

int series_db_next(struct history *history, int64_t t_ns, int64_t *ret_ns, struct err *e)
{
	struct series_db *db = series_db_of(history);
	rw_cleanup(str_done) struct str sql = {0};
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;

	*ret_ns = t_ns + 1;
	if (db->by_entity)
		return 0; /* no index by time */
	str_add(&sql, "SELECT min(t) FROM (SELECT min(to_ns) AS t FROM flow WHERE to_ns>?1");
	for (unsigned table = 0; table < SCHEMA_TABLES; table++)
		str_addf(&sql, " UNION ALL SELECT min(t_ns) FROM %s WHERE t_ns>?1",
			schema_table[table]);
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

/* The length of the next slice, by how many samples the last one had. */
static int64_t next_slice(int64_t slice_ns, size_t n)
{
	if (n < SLICE_FEW && slice_ns < SLICE_MAX_NS)
		return slice_ns * 2;
	if (n > SLICE_MANY && slice_ns > 1)
		return slice_ns / 2;
	return slice_ns;
}

/* Slice by slice over [@first_ns, @last_ns]; @ret_stop: what @fn returned. */
static int scan_slices(struct scan *scan, int64_t first_ns, int64_t last_ns, sample_fn *fn,
	void *arg, int *ret_stop)
{
	int64_t slice_ns = SLICE_FIRST_NS;

	*ret_stop = 0;
	while (first_ns <= last_ns) {
		int64_t end_ns = last_ns;
		if (last_ns - first_ns > slice_ns - 1)
			end_ns = first_ns + slice_ns - 1;
		int rc = read_slice(scan, first_ns, end_ns);
		if (rc != SQLITE_OK)
			return rc;
		for (size_t i = 0; i < scan->n; i++) {
			*ret_stop = fn(arg, &scan->samples[i]);
			if (*ret_stop != 0)
				return SQLITE_OK;
		}
		if (end_ns == last_ns)
			break;
		first_ns = end_ns + 1;
		slice_ns = next_slice(slice_ns, scan->n);
	}
	return SQLITE_OK;
}

int series_db_each_sample(struct history *history, const struct history_filter *filter,
	sample_fn *fn, void *arg, struct err *e)
{
	struct series_db *db = series_db_of(history);
	struct scan scan = {.db = db, .filter = filter};
	int64_t first_ns, last_ns;
	int rc = SQLITE_OK,
	    r = series_scan_range(series_db_of(history), true, &first_ns, &last_ns, e);

	if (r == -ENODATA)
		return 0;
	if (r < 0)
		return r;
	if (filter && filter->from_ns > first_ns)
		first_ns = filter->from_ns;
	if (filter && filter->to_ns != 0 && filter->to_ns < last_ns)
		last_ns = filter->to_ns;
	choose_metrics(&scan);
	if (filter && filter->port)
		rc = load_aliases(&scan);
	if (rc == SQLITE_OK)
		rc = scan_slices(&scan, first_ns, last_ns, fn, arg, &r);
	if (rc != SQLITE_OK)
		r = sqlite_fail(e, db->db, rc, "read", db->path);
	smap_free(scan.aliases);
	free(scan.samples);
	return r;
}

int series_db_each_flow(struct history *history, int64_t from_ns, int64_t to_ns, flow_fn *fn,
	void *arg, struct err *e)
{
	struct series_db *db = series_db_of(history);
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	rw_cleanup(str_done) struct str sql = {0};
	struct flow_sample flow;
	int r = 0, rc = series_begin(db, NAME_LIVE);

	series_end(db);
	if (to_ns == 0)
		to_ns = INT64_MAX;
	flow_row_select(&sql, db->old_flows);
	str_add(&sql,
		" WHERE to_ns>=?1 AND to_ns<=?2 ORDER BY to_ns, entity, from_ns, total DESC, "
		"octets DESC, id");
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db->db, sql.s, (int)sql.n, &st, NULL);
	sqlite3_bind_int64(st, 1, from_ns);
	sqlite3_bind_int64(st, 2, to_ns);
	while (rc == SQLITE_OK && r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		uint32_t entity;
		rc = series_name_of(db, sqlite3_column_int64(st, 0), &entity);
		if (rc != SQLITE_OK || entity == ENTITY_NONE)
			continue;
		flow_row_read(st, entity, &flow);
		r = fn(arg, &flow);
	}
	if (rc == SQLITE_OK || rc == SQLITE_DONE)
		return r;
	return sqlite_fail(e, db->db, rc, "read", db->path);
}
