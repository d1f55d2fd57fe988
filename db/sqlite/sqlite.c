/* sqlite - a SQLite file as a place to store things: the operations of store_backend.h, with
 * SQLite's result codes as errno; and the past as it holds it: those of history.h. */
#include "db/sqlite/sqlite.h"

#include "db/sqlite/read/series_db.h"
#include "db/sqlite/schema/sqlite_io.h"
#include "db/sqlite/write/store_write.h"
#include "db/store/store_backend.h"

/* sqlite_store - a SQLite file as a place to store things: the operations of store_backend.h, with
 * SQLite's result codes turned into errno and words. */

#define WAL_PAGE_BYTES 8192

static int sqlite_store_result(struct store_writer *writer, int rc, struct err *e)
{
	if (rc == SQLITE_OK)
		return 0;
	writer->last_rc = rc;
	return sqlite_fail(e, writer->db, rc, "write", writer->o.path);
}

static int sqlite_store_open(const struct store_options *options, void **ret, struct err *e)
{
	struct store_writer *writer;
	int r = writer_open(options, &writer, e);

	if (r == 0)
		*ret = writer;
	return r;
}

static int sqlite_store_begin(void *state, struct err *e)
{
	const int r = writer_reopen(state, e);

	if (r < 0)
		return r;
	int rc = writer_begin(state);
	if (rc == SQLITE_OK)
		rc = writer_spool_begin(state);
	return sqlite_store_result(state, rc, e);
}

static int sqlite_store_samples(void *state, const struct sample *samples, size_t n, struct err *e)
{
	int rc = writer_samples(state, samples, n);

	if (rc == SQLITE_OK)
		rc = writer_spool_samples(state, samples, n);
	return sqlite_store_result(state, rc, e);
}

/* Is the row at fault, rather than the file or the disk? */
static bool bad_row(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
	case SQLITE_TOOBIG:
	case SQLITE_RANGE:
	case SQLITE_MISUSE: return true;
	default: return false;
	}
}

static int sqlite_store_record(void *state, const struct store_record *record, struct err *e)
{
	int rc = writer_record(state, record);
	if (rc == SQLITE_OK)
		rc = writer_spool_record(state, record);
	int r = sqlite_store_result(state, rc, e);

	if (bad_row(rc))
		return STORE_BAD_RECORD;
	return r;
}

static int sqlite_store_commit(void *state, struct err *e)
{
	int rc = writer_spool_commit(state);
	if (rc == SQLITE_OK)
		rc = writer_commit(state);
	const int r = sqlite_store_result(state, rc, e);

	if (rc == SQLITE_OK) {
		writer_spool_committed(state);
		writer_suspect(state, rc);
	}
	return r;
}

static void sqlite_store_rollback(void *state)
{
	struct store_writer *writer = state;

	if (!writer->db)
		return;
	writer_rollback(writer);
	writer_spool_rollback(writer);
	writer_suspect(writer, writer->last_rc);
}

static int sqlite_store_rescue(void *state, struct err *e)
{
	return writer_rescue(state, e);
}

static int sqlite_store_settle(void *state, struct err *e)
{
	struct store_writer *writer = state;

	if (!writer->db)
		return 0;
	const int rc = writer_checkpoint(writer);
	if (rc != SQLITE_OK)
		return sqlite_fail(e, writer->db, rc, "checkpoint", writer->o.path);
	writer_suspect_lock(writer, &writer->copy_locked);
	return 0;
}

static int sqlite_store_newest(void *state, int64_t *ret)
{
	struct store_writer *writer = state;
	int rc = SQLITE_IOERR;

	if (writer->db)
		rc = writer_newest(writer, ret);
	return sqlite_errno(rc);
}

static uint64_t sqlite_store_log_bytes(const void *state)
{
	const struct store_writer *writer = state;

	return (uint64_t)writer->wal_pages * WAL_PAGE_BYTES;
}

static void sqlite_store_keep(void *state, const struct store_options *options)
{
	struct store_writer *writer = state;

	writer->o.quota_bytes = options->quota_bytes;
	writer->o.raw_ns = options->raw_ns;
	writer->o.minute_ns = options->minute_ns;
	writer->o.hour_ns = options->hour_ns;
	writer->o.events_ns = options->events_ns;
	writer->o.incidents_ns = options->incidents_ns;
	writer->o.spool = options->spool;
	writer->o.spool_bytes = options->spool_bytes;
	writer->o.spool_done = options->spool_done;
}

static int sqlite_store_maintain(void *state, int64_t now_ns, bool *ret_more, struct err *e)
{
	struct store_writer *writer = state;

	*ret_more = false;
	if (!writer->db)
		return 0;
	bool spooled = false;
	int rc = writer_retain(writer, now_ns, ret_more);
	if (rc == SQLITE_OK)
		rc = writer_spool_trim(writer, &spooled);
	*ret_more |= spooled;
	if (rc == SQLITE_OK)
		return 0;
	const int r = sqlite_fail(e, writer->db, rc, "delete old rows of", writer->o.path);
	writer_rollback(writer);
	return r;
}

static int sqlite_store_compact(
	void *state, int64_t now_ns, int64_t budget_ns, bool *ret_more, struct err *e)
{
	struct store_writer *writer = state;

	*ret_more = false;
	if (!writer->db)
		return 0;
	const int rc = writer_compact(writer, now_ns, budget_ns, ret_more);
	if (rc == SQLITE_OK)
		return 0;
	const int r = sqlite_fail(e, writer->db, rc, "seal samples of", writer->o.path);
	writer_rollback(writer);
	return r;
}

static int sqlite_store_usage(void *state, struct store_usage *ret, struct err *e)
{
	struct store_writer *writer = state;

	*ret = writer->retain.usage;
	if (!writer->db)
		return 0;
	const int rc = writer_usage(writer, ret);
	if (rc == SQLITE_OK)
		return 0;
	return sqlite_fail(e, writer->db, rc, "read", writer->o.path);
}

static int sqlite_store_recall(void *state, const char *key, char *buf, size_t size)
{
	const struct store_writer *writer = state;
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = SQLITE_IOERR;

	if (writer->db)
		rc = sqlite3_prepare_v2(
			writer->db, "SELECT value FROM meta WHERE key=?1", -1, &st, NULL);

	if (rc != SQLITE_OK)
		return sqlite_errno(rc);
	sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
	rc = sqlite3_step(st);
	if (rc == SQLITE_DONE)
		return -ENOENT;
	if (rc != SQLITE_ROW)
		return sqlite_errno(rc);
	const char *text = (const char *)sqlite3_column_text(st, 0);
	if (!text)
		return -ENOMEM;
	snprintf(buf, size, "%s", text);
	return 0;
}

static int sqlite_store_remember(void *state, const char *key, const char *text)
{
	const struct store_writer *writer = state;
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;

	if (!writer->db)
		return -EIO;
	int rc = sqlite3_prepare_v2(
		writer->db, "INSERT OR REPLACE INTO meta VALUES(?1, ?2)", -1, &st, NULL);
	if (rc != SQLITE_OK)
		return sqlite_errno(rc);
	sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, text, -1, SQLITE_STATIC);
	rc = sqlite3_step(st);
	if (rc == SQLITE_DONE)
		return 0;
	return sqlite_errno(rc);
}

static void sqlite_store_interrupt(void *state)
{
	const struct store_writer *writer = state;

	if (writer->db)
		sqlite3_interrupt(writer->db);
}

static void sqlite_store_close(void *state)
{
	writer_close(state);
}

const struct store_backend sqlite_backend = {
	.open = sqlite_store_open,
	.begin = sqlite_store_begin,
	.samples = sqlite_store_samples,
	.record = sqlite_store_record,
	.commit = sqlite_store_commit,
	.rollback = sqlite_store_rollback,
	.settle = sqlite_store_settle,
	.rescue = sqlite_store_rescue,
	.log_bytes = sqlite_store_log_bytes,
	.newest = sqlite_store_newest,
	.keep = sqlite_store_keep,
	.maintain = sqlite_store_maintain,
	.compact = sqlite_store_compact,
	.usage = sqlite_store_usage,
	.recall = sqlite_store_recall,
	.remember = sqlite_store_remember,
	.interrupt = sqlite_store_interrupt,
	.close = sqlite_store_close,
	.writer_pid = writer_pid,
};

/* sqlite_history - the past as a SQLite file holds it: the operations of history.h, which stand in
 * series_scan.c (windows), series_scan.c (in order of time) and series_sql.c (records). */

static const struct history_ops sqlite_history_ops = {
	.close = series_db_close,
	.entities = series_db_entities,
	.names = series_db_names,
	.window = series_db_window,
	.range = series_db_range,
	.next = series_db_next,
	.match = series_db_match,
	.each_sample = series_db_each_sample,
	.each_rollup = series_db_each_rollup,
	.each_flow = series_db_each_flow,
	.newest = series_db_newest,
	.moved = series_db_moved,
	.delivered = series_db_delivered,
	.fabric_at = series_db_fabric_at,
	.sql = series_db_sql,
};

int sqlite_history_open(const char *path, struct history **ret, struct err *e)
{
	struct series_db *db;
	int r = series_db_open(path, &db, e);

	if (r < 0)
		return r;
	db->history.ops = &sqlite_history_ops;
	*ret = &db->history;
	return 0;
}
