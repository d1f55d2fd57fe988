/* spool_read - each reading has a connection and a transaction of its own: a file that was replaced
 * meanwhile is noticed, and the write-ahead log is never held for longer than a reading. */
#include "db/sqlite/spool_read.h"

#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "db/sqlite/sqlite_io.h"

#define SPOOL_BUSY_MS 5000

static void spool_closep(sqlite3 **db)
{
	sqlite3_close(*db);
}

/* *@ret_there: the file has a spool. */
static int spool_open(const char *path, sqlite3 **ret, bool *ret_there, struct err *e)
{
	int rc = sqlite_open(path, ret, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX);
	*ret_there = false;
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(*ret, SPOOL_BUSY_MS);
	if (rc == SQLITE_OK)
		*ret_there = sqlite_int(*ret,
				     "SELECT count(*) FROM sqlite_master WHERE type='table' AND "
				     "name='spool'",
				     0, &rc) > 0;
	if (rc == SQLITE_OK)
		return 0;
	return sqlite_fail(e, *ret, rc, "read", path);
}

int spool_read_rows(const struct spool_ask *ask, struct arena *a, struct spool_part_row **ret,
	size_t *ret_n, struct err *e)
{
	rw_cleanup(spool_closep) sqlite3 *db = NULL;
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	bool there;
	size_t n = 0, cap = 0, bytes = 0;
	uint64_t samples = 0;
	struct spool_part_row *rows = NULL;
	*ret_n = 0;
	const int r = spool_open(ask->path, &db, &there, e);
	if (r < 0 || !there)
		return r;
	int64_t until = INT64_MAX;
	if (ask->until)
		until = ask->until;
	int rc = sqlite3_prepare_v2(db,
		"SELECT id, t_ns, samples, data FROM spool WHERE id>?1 AND id<=?2 ORDER BY id", -1,
		&st, NULL);
	sqlite3_bind_int64(st, 1, ask->after);
	sqlite3_bind_int64(st, 2, until);
	while (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
		const size_t size = (size_t)sqlite3_column_bytes(st, 3);
		const void *data = sqlite3_column_blob(st, 3);
		const uint64_t more = (uint64_t)sqlite3_column_int64(st, 2);
		/* a range that was begun before is read whole */
		if (n > 0 && !ask->until &&
			(samples + more > ask->samples || bytes + size > ask->bytes))
			break;
		arena_grow(a, rows, n, cap);
		rows[n++] = (struct spool_part_row){.id = sqlite3_column_int64(st, 0),
			.t_ns = sqlite3_column_int64(st, 1),
			.samples = more,
			.data = arena_copy(a, data, size, size + 1),
			.n = size};
		samples += more;
		bytes += size;
	}
	if (rc == SQLITE_OK)
		rc = sqlite3_reset(st);
	if (rc != SQLITE_OK)
		return sqlite_fail(e, db, rc, "read", ask->path);
	*ret = rows;
	*ret_n = n;
	return 0;
}

int spool_read_waiting(const char *path, int64_t after, struct spool_waiting *ret, struct err *e)
{
	rw_cleanup(spool_closep) sqlite3 *db = NULL;
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	bool there;
	*ret = (struct spool_waiting){0};
	const int r = spool_open(path, &db, &there, e);
	if (r < 0 || !there)
		return r;
	int rc = sqlite3_prepare_v2(db,
		"SELECT count(*), total(samples), total(length(data)), (SELECT t_ns FROM spool "
		"WHERE "
		"id>?1 ORDER BY id LIMIT 1), (SELECT max(id) FROM spool), (SELECT value FROM meta "
		"WHERE key='spool_lost') FROM spool WHERE id>?1",
		-1, &st, NULL);
	sqlite3_bind_int64(st, 1, after);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		return sqlite_fail(e, db, rc, "read", path);
	ret->rows = (uint64_t)sqlite3_column_int64(st, 0);
	ret->samples = (uint64_t)sqlite3_column_int64(st, 1);
	ret->bytes = (uint64_t)sqlite3_column_int64(st, 2);
	ret->oldest_ns = sqlite3_column_int64(st, 3);
	ret->newest = sqlite3_column_int64(st, 4);
	ret->lost = (uint64_t)sqlite3_column_int64(st, 5);
	return 0;
}
