/*
 * series_db - a SQLite file opened for reading, and its rows as samples. A read transaction lasts
 * as long as one window, or one slice of a scan, takes to read.
 */
#include "db/sqlite/series_db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "db/sqlite/sqlite_io.h"

#define BUSY_MS 5000

/* ---- opening ------------------------------------------------------------- */

int series_begin(struct series_db *db, int64_t from_ns)
{
	int rc = sqlite_exec(db->db, "BEGIN");

	db->text_rc = SQLITE_OK;
	if (rc == SQLITE_OK)
		rc = series_names_load(db, from_ns);
	if (rc != SQLITE_OK)
		series_end(db);
	return rc;
}

void series_end(struct series_db *db)
{
	if (!sqlite3_get_autocommit(db->db))
		sqlite_exec(db->db, "COMMIT");
}

/* An older version's file may lack columns. */
static int load_columns(struct series_db *db)
{
	char column[SCHEMA_COLUMN_MAX];
	int rc = SQLITE_OK;

	for (unsigned set = 0; set < COLUMN_SETS; set++) {
		const char *table = schema_table[column_set_table(set)];
		struct reader_set *to = &db->sets[set];
		for (unsigned m = 0; rc == SQLITE_OK && m < METRIC_COUNT; m++) {
			bool has = false;
			schema_prio_column(column, m, column_set_prio(set));
			if (column_set_has(set, m))
				rc = sqlite_has_column(db->db, table, column, &has);
			if (has)
				to->metrics[to->n_metrics++] = (uint16_t)m;
		}
	}
	return rc;
}

/* The main file has everything: there is no write-ahead log, or an empty one that nobody has open
 * (then there would be a -shm file). */
static bool is_whole(const char *path)
{
	rw_cleanup(str_done) struct str wal = {0}, shm = {0};
	struct stat st;

	str_addf(&wal, "%s-wal", path);
	str_addf(&shm, "%s-shm", path);
	if (stat(wal.s, &st) < 0)
		return errno == ENOENT;
	return st.st_size == 0 && access(shm.s, F_OK) < 0 && errno == ENOENT;
}

/*
 * Who may not write the directory cannot make the -shm file of a database that nobody writes at the
 * moment. Where the main file has everything it may be read as it is.
 */
static int open_immutable(struct series_db *db)
{
	rw_cleanup(str_done) struct str uri = {0};

	if (!is_whole(db->path))
		return SQLITE_CANTOPEN;
	str_add(&uri, "file:");
	for (const char *p = db->path; *p; p++) {
		if (strchr("?#%", *p))
			str_addf(&uri, "%%%02x", (unsigned char)*p);
		else
			str_addn(&uri, p, 1);
	}
	str_add(&uri, "?immutable=1");
	sqlite3_close(db->db);
	db->db = NULL;
	db->immutable = true;
	return sqlite3_open_v2(
		uri.s, &db->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
}

/* Mistakes that SQLite would describe less well. */
static int check_path(const char *path, struct err *e)
{
	struct stat st;

	if (access(path, R_OK) < 0) {
		int error = -errno;
		return err_set(e, error, "cannot open the database %s: %s%s", path,
			strerror(-error),
			str_if(error == -ENOENT,
				"; 'rocewatch agent' or 'rocewatch replay --db' makes one"));
	}
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(e, -EISDIR,
			"cannot open the database %s: it is a directory, expected a file", path);
	return 0;
}

static int open_connection(struct series_db *db)
{
	int rc = sqlite3_open_v2(
		db->path, &db->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_busy_timeout(db->db, BUSY_MS);
		/* opening reads nothing yet */
		sqlite_int(db->db, "SELECT count(*) FROM sqlite_master", 0, &rc);
	}
	if ((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY)
		return open_immutable(db);
	return rc;
}

static int open_reader_file(struct series_db *db, struct err *e)
{
	int version, r = check_path(db->path, e);

	if (r < 0)
		return r;
	int rc = open_connection(db);
	if (rc != SQLITE_OK)
		return sqlite_fail(e, db->db, rc, "open", db->path);
	r = schema_check(db->db, db->path, &version, e);
	if (r < 0)
		return r;
	if (version == 0)
		return err_set(e, -EINVAL,
			"%s is empty; 'rocewatch agent' or 'rocewatch replay --db' fills it",
			db->path);
	db->by_entity = version <= SCHEMA_BY_ENTITY;
	db->old_flows = version <= SCHEMA_PLAIN_FLOWS;
	db->names_stay = version <= SCHEMA_NAMES_STAY;
	rc = sqlite_exec(
		db->db, "PRAGMA query_only=1; PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY");
	if (rc == SQLITE_OK)
		rc = load_columns(db);
	if (rc == SQLITE_OK) {
		rc = series_begin(db, NAME_LIVE);
		series_end(db);
	}
	if (rc != SQLITE_OK)
		return sqlite_fail(e, db->db, rc, "read", db->path);
	return 0;
}

int series_db_open(const char *path, struct series_db **ret, struct err *e)
{
	struct series_db *db = rw_calloc(1, sizeof(*db));

	db->path = rw_strdup(path);
	db->entities = entities_new();
	db->ids = map_new();
	db->texts = map_new();
	int r = open_reader_file(db, e);
	if (r < 0) {
		series_db_close(&db->history);
		return r;
	}
	*ret = db;
	return 0;
}

void series_db_close(struct history *history)
{
	struct series_db *db = series_db_of(history);

	sqlite3_close(db->db);
	entities_free(db->entities);
	map_free(db->ids);
	map_free(db->texts);
	free(db->names);
	free(db->path);
	free(db);
}

const struct entities *series_db_entities(struct history *history)
{
	return series_db_of(history)->entities;
}

/* ---- rows ---------------------------------------------------------------- */

/* Which rows: conditions on the time, and the order. */
static const struct {
	const char *begin, *end, *order;
} series_range[] = {
	[ROWS_WINDOW] = {">?2", "<=?3", ""},
	[ROWS_SLICE] = {">=?2", "<=?3", ""},
	[ROWS_BEFORE] = {"<=?2", NULL, " DESC"},
	[ROWS_HAVING] = {"<=?2", NULL, " DESC"},
};

/*
 * Where the rows come from. Instants lead and a row is sought at each; the text leaves the planner,
 * which has no statistics, no choice. Configuration states, which are rare, are found by their
 * partial index. An older version's file has rows by entity. Returns the table whose t_ns leads.
 */
static const char *add_rows_from(
	const struct series_db *db, const char *table, bool cfg, struct str *sql)
{
	if (cfg) {
		str_addf(sql,
			" FROM %s r INDEXED BY %s_cfg WHERE r.entity=?1 AND r.cfg IS NOT NULL AND ",
			table, table);
		return "r";
	}
	if (db->by_entity) {
		str_addf(sql, " FROM %s r WHERE r.entity=?1 AND ", table);
		return "r";
	}
	str_addf(sql,
		" FROM instant i CROSS JOIN %s r ON r.t_ns=i.t_ns AND r.entity=?1 "
		"WHERE i.device=?4 AND ",
		table);
	return "i";
}

int series_select(struct series_db *db, unsigned set, const uint16_t *metrics, size_t n,
	enum series_rows which, sqlite3_stmt **ret)
{
	rw_cleanup(str_done) struct str sql = {0};
	char column[SCHEMA_COLUMN_MAX];
	const char *table = schema_table[column_set_table(set)];
	int prio = column_set_prio(set);
	bool cfg = which == ROWS_HAVING && schema_is_cfg(metrics[0]);

	str_add(&sql, "SELECT r.t_ns,r.source,r.flags,r.x");
	for (size_t i = 0; i < n; i++)
		str_addf(&sql, ",r.%s", schema_prio_column(column, metrics[i], prio));
	const char *from = add_rows_from(db, table, cfg, &sql);
	str_addf(&sql, "%s.t_ns%s", from, series_range[which].begin);
	if (series_range[which].end)
		str_addf(&sql, " AND %s.t_ns%s", from, series_range[which].end);
	if (which == ROWS_HAVING)
		str_addf(&sql, " AND r.%s IS NOT NULL",
			schema_prio_column(column, metrics[0], prio));
	str_addf(&sql, " ORDER BY %s.t_ns%s", from, series_range[which].order);
	return sqlite3_prepare_v2(db->db, sql.s, (int)sql.n, ret, NULL);
}

void series_bind(const struct series_db *db, sqlite3_stmt *st, unsigned set, uint32_t entity)
{
	const struct row_at *at = &db->names[entity].at;
	uint32_t row = entity;

	if (column_set_prio(set) != PRIO_NONE)
		row = at->row;
	sqlite3_bind_int64(st, 1, db->names[row].file_id);
	if (sqlite3_bind_parameter_count(st) >= 4)
		sqlite3_bind_int64(st, 4, db->names[at->device].file_id);
}

size_t series_row(struct series_db *db, sqlite3_stmt *st, unsigned set, uint32_t entity,
	const uint16_t *metrics, size_t n, struct sample *ret)
{
	struct row_value values[METRIC_COUNT];
	uint64_t bits[METRIC_COUNT];
	size_t n_values = 0;
	const int64_t t_ns = sqlite3_column_int64(st, C_T);
	const struct row_value shared = {.flags = (uint16_t)sqlite3_column_int(st, C_FLAGS),
		.source = (uint16_t)sqlite3_column_int(st, C_SOURCE),
		.prio = (int8_t)column_set_prio(set)};

	for (size_t i = 0; i < n; i++) {
		int column = C_FIRST + (int)i;
		if (sqlite3_column_type(st, column) == SQLITE_NULL)
			continue;
		values[n_values] = shared;
		values[n_values].metric = metrics[i];
		bits[n_values] = row_bits(st, column, metrics[i]);
		if (metric_info(metrics[i])->type == TYPE_TEXT)
			bits[n_values] = series_text_of(db, (int64_t)bits[n_values]);
		n_values++;
	}
	row_x_apply((const char *)sqlite3_column_text(st, C_X), values, n_values);
	for (size_t i = 0; i < n_values; i++)
		ret[i] = (struct sample){.t_ns = t_ns,
			.entity = entity,
			.metric = values[i].metric,
			.value = bits[i],
			.flags = values[i].flags,
			.source = values[i].source,
			.window_ms = values[i].window_ms};
	return n_values;
}
