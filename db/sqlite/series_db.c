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
#include "db/sqlite/blocks.h"
#include "db/sqlite/samples_table.h"
#include "db/sqlite/sqlite_io.h"

#define BUSY_MS 5000

/* ---- opening ------------------------------------------------------------- */

int series_begin_bare(struct series_db *db)
{
	int rc = db->names_rc;

	/* Names that could not be read for history_entities(), which cannot say so, fail the
	 * question that follows: an answer without them would look whole. */
	db->names_rc = SQLITE_OK;
	if (rc == SQLITE_OK)
		rc = sqlite_exec(db->db, "BEGIN");
	series_snapshot_begin(db);
	db->text_rc = SQLITE_OK;
	if (rc != SQLITE_OK)
		series_end(db);
	return rc;
}

int series_begin(struct series_db *db, int64_t from_ns)
{
	int rc = series_begin_bare(db);

	if (rc == SQLITE_OK)
		rc = series_names_load(db, from_ns);
	if (rc != SQLITE_OK)
		series_end(db);
	return rc;
}

void series_end(struct series_db *db)
{
	series_snapshot_end(db);
	if (!sqlite3_get_autocommit(db->db))
		sqlite_exec(db->db, "COMMIT");
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
	return sqlite_open(
		uri.s, &db->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI);
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
	int rc = sqlite_open(db->path, &db->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX);

	if (rc == SQLITE_OK) {
		sqlite3_busy_timeout(db->db, BUSY_MS);
		/* opening reads nothing yet */
		sqlite_int(db->db, "SELECT count(*) FROM sqlite_master", 0, &rc);
	}
	if ((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY)
		rc = open_immutable(db);
	if (rc == SQLITE_OK)
		rc = samples_table_register(db->db);
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
	rc = sqlite_exec(
		db->db, "PRAGMA query_only=1; PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY");
	if (rc != SQLITE_OK)
		return sqlite_fail(e, db->db, rc, "read", db->path);
	db->blocks = blocks_new(db->db);
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

	blocks_free(db->blocks);
	sqlite3_finalize(db->having);
	sqlite3_close(db->db);
	entities_free(db->entities);
	map_free(db->ids);
	map_free(db->texts);
	smap_free(db->parts);
	free(db->names);
	free(db->present);
	free(db->path);
	free(db);
}

/* Names are read when somebody looks at them: most commands need few. A failure shows at the next
 * reading. */
const struct entities *series_db_entities(struct history *history)
{
	struct series_db *db = series_db_of(history);

	if (!db->names_loaded) {
		db->names_rc = SQLITE_OK;
		db->names_rc = series_begin(db, NAME_LIVE);
		series_end(db);
	}
	return db->entities;
}

const struct entities *series_db_names(struct history *history)
{
	return series_db_of(history)->entities;
}
