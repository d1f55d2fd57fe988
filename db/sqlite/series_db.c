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

static int load_new_entities(struct series_db *db)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db->db,
		"SELECT id, device, port, priority FROM entity WHERE id>?1 ORDER BY id", -1, &st,
		NULL);

	sqlite3_bind_int64(st, 1, entities_count(db->entities));
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		int r = entities_load(db->entities, (uint32_t)sqlite3_column_int64(st, 0),
			(const char *)sqlite3_column_text(st, 1),
			(const char *)sqlite3_column_text(st, 2), sqlite3_column_int(st, 3));
		if (r < 0 && r != -ERANGE) /* names beyond what we can hold are left out */
			rc = SQLITE_CORRUPT;
		else
			rc = SQLITE_OK;
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

static int load_new_texts(struct series_db *db)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(
		db->db, "SELECT id, text FROM text WHERE id>?1 ORDER BY id", -1, &st, NULL);

	sqlite3_bind_int64(st, 1, (sqlite3_int64)db->n_text);
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		uint64_t id = (uint64_t)sqlite3_column_int64(st, 0);
		if (entities_text_load(
			    db->entities, id, (const char *)sqlite3_column_text(st, 1)) == 0)
			rc = SQLITE_OK;
		else
			rc = SQLITE_CORRUPT;
		db->n_text = id;
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

/* Room for entities that came since. */
static void known_room(struct series_db *db)
{
	uint32_t n = entities_count(db->entities) + 1;

	if (n <= db->n_present)
		return;
	db->present = rw_realloc(db->present, n * sizeof(*db->present));
	memset(db->present + db->n_present, 0, (n - db->n_present) * sizeof(*db->present));
	db->rows = rw_realloc(db->rows, n * sizeof(*db->rows));
	for (uint32_t id = db->n_present; id < n; id++) {
		if (db->by_entity)
			db->rows[id] = schema_row_at(id, ENTITY_NONE, id, PRIO_NONE);
		else
			db->rows[id] = schema_row_of(db->entities, id);
	}
	db->n_present = n;
}

/* The metric of a row: rows are sorted by entity, and entities of a kind have the same metrics, so
 * the one that followed the last time is tried first. */
struct metric_row {
	int after[METRIC_COUNT + 1]; /* -1 not seen yet */
	int last; /* METRIC_COUNT: none */
};

static int metric_row_of(struct metric_row *row, const char *name)
{
	int metric = row->after[row->last];
	if (!name || metric < 0 || strcmp(metric_info((unsigned)metric)->name, name) != 0)
		metric = metric_by_name(name);
	if (metric < 0)
		return metric;
	row->after[row->last] = metric;
	row->last = metric;
	return metric;
}

static int read_present(struct series_db *db)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db->db, "SELECT entity, metric FROM series", -1, &st, NULL);
	struct metric_row row = {.last = METRIC_COUNT};
	memset(row.after, -1, sizeof(row.after));
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		uint32_t id = (uint32_t)sqlite3_column_int64(st, 0);
		int metric = metric_row_of(&row, (const char *)sqlite3_column_text(st, 1));
		if (metric >= 0 && id < db->n_present)
			db->present[id].bits[metric / 64] |= UINT64_C(1) << (metric % 64);
		rc = SQLITE_OK;
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

/* Which entity ever had which metric. Rows are only added, so their number says whether there is
 * anything new; counting reads each page once and no row. */
static int load_present(struct series_db *db)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db->db, "SELECT count(*) FROM series", -1, &st, NULL);
	known_room(db);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		return rc;
	const int64_t n = sqlite3_column_int64(st, 0);
	if (n == db->n_series)
		return SQLITE_OK;
	rc = read_present(db);
	if (rc == SQLITE_OK)
		db->n_series = n;
	return rc;
}

int series_begin(struct series_db *db)
{
	int rc = sqlite_exec(db->db, "BEGIN");

	if (rc == SQLITE_OK)
		rc = load_new_entities(db);
	if (rc == SQLITE_OK)
		rc = load_new_texts(db);
	if (rc == SQLITE_OK)
		rc = load_present(db);
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
	rc = sqlite_exec(
		db->db, "PRAGMA query_only=1; PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY");
	if (rc == SQLITE_OK)
		rc = load_columns(db);
	if (rc == SQLITE_OK) {
		rc = series_begin(db);
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
	free(db->present);
	free(db->rows);
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
	const struct row_at *at = &db->rows[entity];
	uint32_t row = entity;

	if (column_set_prio(set) != PRIO_NONE)
		row = at->row;
	sqlite3_bind_int64(st, 1, row);
	if (sqlite3_bind_parameter_count(st) >= 4)
		sqlite3_bind_int64(st, 4, at->device);
}

size_t series_row(sqlite3_stmt *st, unsigned set, uint32_t entity, const uint16_t *metrics,
	size_t n, struct sample *ret)
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
		bits[n_values++] = row_bits(st, column, metrics[i]);
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
