/*
 * store_open - a database file opened for writing: lock, migration and statements.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "db/sqlite/schema/sqlite_io.h"
#include "db/sqlite/write/store_write.h"

/* A lock that another tool holds passes; that of another writer of ours does not. */
static int open_busy(int r)
{
	if (r == -EBUSY)
		return -EAGAIN;
	return r;
}

/* SQLite would make the file with the umask's mode; its -wal and -shm take the mode of the file. */
static int make_file(const char *path, struct err *e)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);

	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0) {
		int error = -errno;
		return err_set(e, error,
			"cannot create %s: %s; check that its directory exists and may be written",
			path, strerror(-error));
	}
	if (fchmod(fd, 0640) < 0) {
		/* a file system without modes: nothing to protect there */
	}
	close(fd);
	return 0;
}

/* ---- statements ---------------------------------------------------------- */

static int prepare_all(struct store_writer *writer)
{
	int rc = sqlite_prepare(writer->db,
		"INSERT OR IGNORE INTO series(entity, metric, first_ns) VALUES(?1, ?2, ?3)",
		&writer->series);

	if (rc == SQLITE_OK)
		rc = sqlite_prepare(writer->db,
			"INSERT INTO series_count(device, metric, n) VALUES(?1, ?2, ?3) "
			"ON CONFLICT(device, metric) DO UPDATE SET n=n+excluded.n",
			&writer->series_count);
	if (rc == SQLITE_OK)
		rc = sqlite_prepare(writer->db,
			"INSERT INTO tail(device, from_ns, to_ns, n, metrics, data) "
			"VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
			&writer->tail.insert);
	if (rc == SQLITE_OK)
		rc = writer_metric_numbers(writer);
	return rc;
}

/* ---- the file ------------------------------------------------------------ */

static int wal_grew(void *arg, sqlite3 *db, const char *name, int pages)
{
	struct store_writer *writer = arg;

	writer->wal_pages = pages;
	return SQLITE_OK;
}

static const char pragmas[] =
	"PRAGMA page_size=8192; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; PRAGMA "
	"synchronous=NORMAL; "
	"PRAGMA journal_size_limit=67108864; PRAGMA wal_autocheckpoint=0; "
	"PRAGMA cache_size=-32768; PRAGMA temp_store=MEMORY; PRAGMA foreign_keys=OFF";

/* The row in table meta by which a replayed database is known. An agent that goes on with such a
 * file makes it a live one; a command that writes once leaves the row as it is. */
static int mark_recorded(struct store_writer *writer)
{
	if (writer->o.recorded)
		return sqlite_exec(
			writer->db, "INSERT OR REPLACE INTO meta VALUES('" SCHEMA_RECORDED "', 1)");
	if (writer->o.replay)
		return SQLITE_OK;
	return sqlite_exec(writer->db, "DELETE FROM meta WHERE key='" SCHEMA_RECORDED "'");
}

/* Asked for, write-ahead logging may silently not come about: without it readers and writer block
 * each other, and a failed write may leave the file damaged. */
static int check_mode(struct store_writer *writer, const char *path, struct err *e)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	const char *mode = NULL;
	int rc = sqlite_prepare(writer->db, "PRAGMA journal_mode", &st);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		return sqlite_fail(e, writer->db, rc, "prepare", path);
	mode = (const char *)sqlite3_column_text(st, 0);
	if (str_eq(mode, "wal"))
		return 0;
	return err_set(e, -ENOTSUP,
		"%s cannot have a write-ahead log on this file system (shared memory is missing); "
		"put it on a local disk",
		path);
}

int writer_open_file(struct store_writer *writer, const char *path, struct err *e)
{
	int version, r = writer_find_rescued(path, e);

	if (r == 0)
		r = make_file(path, e);
	if (r == 0 && writer->inode_fd < 0)
		r = writer_lock_inode(path, &writer->inode_fd, e);
	if (r < 0)
		return r;
	int rc = sqlite_open(path, &writer->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX);
	if (rc != SQLITE_OK)
		return open_busy(sqlite_fail(e, writer->db, rc, "open", path));
	struct stat st;
	if (stat(path, &st) == 0) {
		writer->file_device = st.st_dev;
		writer->file_inode = st.st_ino;
	}
	sqlite3_busy_timeout(writer->db, WRITER_BUSY_MS);
	/* before anything is changed: another program's file must stay as it is */
	r = schema_check(writer->db, path, &version, e);
	if (r < 0)
		return open_busy(r);
	rc = sqlite_exec(writer->db, pragmas);
	if (rc != SQLITE_OK)
		return open_busy(sqlite_fail(e, writer->db, rc, "prepare", path));
	r = check_mode(writer, path, e);
	if (r == 0)
		r = schema_migrate(writer->db, path, e);
	if (r < 0)
		return open_busy(r);
	sqlite3_wal_hook(writer->db, wal_grew, writer);
	rc = prepare_all(writer);
	if (rc == SQLITE_OK)
		rc = mark_recorded(writer);
	/* when it is not known what a failed commit left behind, the old numbers count */
	if (rc == SQLITE_OK && !writer->unsure)
		rc = writer_counts(writer);
	if (rc != SQLITE_OK)
		return open_busy(sqlite_fail(e, writer->db, rc, "prepare", path));
	return 0;
}

/* ---- opening and closing ------------------------------------------------- */

static int open_all(struct store_writer *writer, struct err *e)
{
	const char *path = writer->o.path;
	int r = 0;

	if (writer->lock_fd < 0)
		r = writer_lock(path, &writer->lock_fd, e);
	if (r == 0)
		r = writer_open_file(writer, path, e);
	return r;
}

int writer_open(const struct store_options *options, struct store_writer **ret, struct err *e)
{
	struct store_writer *writer = rw_calloc(1, sizeof(*writer));

	/* SQLite counts its own allocations under a mutex, which costs time and is never read here.
	 * Refused once SQLite is in use: no harm then. */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	writer->o = *options;
	writer->lock_fd = writer->inode_fd = -1;
	int r = open_all(writer, e);
	if (r == -EBADMSG) {
		writer_close_file(writer);
		r = writer_set_aside(writer, e);
	}
	if (r < 0) {
		writer_close(writer);
		return r;
	}

	*ret = writer;
	return 0;
}

static void finalize_retain(struct retain *retain)
{
	for (size_t i = 0; i < RETAIN_LISTS; i++) {
		sqlite3_finalize(retain->edge[i]);
		sqlite3_finalize(retain->rows[i]);
		retain->edge[i] = retain->rows[i] = NULL;
	}
	retain_blocks_close(retain);
	retain->running = false;
}

void writer_close_file(struct store_writer *writer)
{
	writer_seal_close(writer);
	writer_rollup_close(writer);
	finalize_retain(&writer->retain);
	for (size_t i = 0; i < NAME_STATEMENTS; i++) {
		sqlite3_finalize(writer->names[i]);
		writer->names[i] = NULL;
	}
	for (size_t i = 0; i < RECORD_KINDS; i++) {
		sqlite3_finalize(writer->records[i].st);
		writer->records[i] = (struct writer_record){0};
	}
	for (size_t i = 0; i < WRITER_COUNTED; i++) {
		sqlite3_finalize(writer->count[i]);
		writer->count[i] = NULL;
	}
	writer_spool_close(writer);
	sqlite3_finalize(writer->old_health);
	sqlite3_finalize(writer->series);
	sqlite3_finalize(writer->series_count);
	sqlite3_finalize(writer->tail.insert);
	writer->old_health = writer->series = writer->series_count = writer->tail.insert = NULL;
	/* the last connection to close copies the write-ahead log into the file and removes it */
	sqlite3_close(writer->db);
	writer->db = NULL;
	if (writer->inode_fd >= 0)
		close(writer->inode_fd);
	writer->inode_fd = -1;
}

void writer_close(struct store_writer *writer)
{
	if (!writer)
		return;
	writer_rescue_last(writer);
	writer_close_file(writer);
	writer_unlock(writer->lock_fd);
	free(writer->retain.pins);
	retain_blocks_free(&writer->retain);
	free(writer->entities);
	free(writer->texts);
	free(writer->new_ids);
	free(writer->new_texts);
	free(writer->new_series);
	writer_tail_done(writer);
	writer_seal_done(writer);
	writer_rollup_done(writer);
	free(writer);
}
