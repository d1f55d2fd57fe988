/* store_write - the transactions of the writer, and its write-ahead log. */
#include "db/sqlite/write/store_write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/sqlite/schema/sqlite_io.h"

/* ---- store_file - the files of a database under its writer: the write-ahead log is kept short,
 * and what a deleted file held is saved. */

/*
 * store_checkpoint - keeps the write-ahead log short: copies it into the file, and begins it anew.
 *
 * The usual copy is passive and waits for nobody. The log begins anew once all of it is copied and
 * nobody reads in it. Many short readers, one always before the other has ended, would keep that
 * from happening for ever although each is short: when the log has grown, the copy waits for those
 * that are there, while nothing is written, so that each later one reads the newest state. One that
 * stays (a foreign snapshot) cannot be ended: people are told.
 */

#define CHECKPOINT_PAGES 1000 /* 8 MB */
#define HELD_PAGES 16384 /* 128 MB that cannot be copied back: someone reads an old snapshot */
#define PAGES_PER_MB 128

#define RESTART_SHARE 4 /* times the usual length: then the copy waits for readers */
#define RESTART_WAIT_MS 250
/* After one that was in vain, twice as long each time. */
#define RESTART_REST_NS NS_PER_S
#define RESTART_REST_MAX_NS (60 * NS_PER_S)

static void checkpoint_say(struct store_writer *writer, bool held, int pages)
{
	rw_cleanup(str_done) struct str who = {0};

	if (!held) {
		complaint_over(&writer->wal_held, mono_now(), "store",
			"the write-ahead log can be shortened again");
		return;
	}
	store_holders_text(writer->o.path, "-shm", &who);
	complain(&writer->wal_held, mono_now(), LOG_WARN_, "store",
		"%s-wal has grown to %d MB because a reader keeps an old snapshot; end "
		"long-running queries%s%s",
		writer->o.path, pages / PAGES_PER_MB, str_if(who.n > 0, ": "), str_or(who.s, ""));
}

/* Waits a moment for the readers that are there. */
static int checkpoint_restart(struct store_writer *writer, int *ret_in_log, int *ret_copied)
{
	sqlite3_busy_timeout(writer->db, RESTART_WAIT_MS);
	const int rc = sqlite3_wal_checkpoint_v2(
		writer->db, NULL, SQLITE_CHECKPOINT_RESTART, ret_in_log, ret_copied);
	sqlite3_busy_timeout(writer->db, WRITER_BUSY_MS);
	if (rc == SQLITE_OK) {
		writer->restart_rest_ns = RESTART_REST_NS;
		return rc;
	}
	if (writer->restart_rest_ns < RESTART_REST_NS)
		writer->restart_rest_ns = RESTART_REST_NS;
	writer->restart_after_ns = mono_now().ns + writer->restart_rest_ns;
	if (writer->restart_rest_ns < RESTART_REST_MAX_NS)
		writer->restart_rest_ns *= 2;
	return rc;
}

int writer_checkpoint(struct store_writer *writer)
{
	int in_log = 0, copied = 0, rc = SQLITE_OK, enough = CHECKPOINT_PAGES;

	if (writer->o.log_pages > 0)
		enough = writer->o.log_pages;
	if (writer->wal_pages >= enough)
		rc = sqlite3_wal_checkpoint_v2(
			writer->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &copied);
	if (rc == SQLITE_BUSY) { /* another connection copies; the next commit tries again */
		writer->copy_locked++;
		return SQLITE_OK;
	}
	writer->copy_locked = 0;
	const bool long_log = in_log >= RESTART_SHARE * enough;
	if (rc == SQLITE_OK && long_log && mono_now().ns >= writer->restart_after_ns)
		rc = checkpoint_restart(writer, &in_log, &copied);
	checkpoint_say(writer, in_log > HELD_PAGES && copied < in_log, in_log);
	if (rc == SQLITE_BUSY) /* readers are there */
		return SQLITE_OK;
	return rc;
}

/* store_save - saves what a deleted database file held, as long as somebody has it open: as
 * PATH.rescue, which is there when it is whole, and takes the old name when that is possible. */

void writer_remove_log(const char *path)
{
	static const char *const suffixes[] = {"-wal", "-shm"};
	for (size_t i = 0; i < rw_countof(suffixes); i++) {
		rw_cleanup(str_done) struct str name = {0};
		str_addf(&name, "%s%s", path, suffixes[i]);
		unlink(name.s);
	}
}

/* The file or directory @path, and what it is called, survive a power cut. */
static int save_sync(const char *path, int flags)
{
	const int fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = 0;
	if (fsync(fd) < 0)
		r = -errno;
	close(fd);
	return r;
}

int writer_sync_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	rw_cleanup(str_done) struct str directory = {0};
	str_addn(&directory, path, slash ? (size_t)(slash - path) + 1 : 0);
	str_add(&directory, ".");
	return save_sync(directory.s, O_RDONLY | O_DIRECTORY);
}

static int save_vacuum(struct store_writer *writer, const char *part)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	unlink(part); /* of an attempt that did not end */
	int rc = sqlite_prepare(writer->db, "VACUUM INTO ?1", &st);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(st, 1, part, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite_run(st);
	return rc;
}

/* The bytes of an open file of SQLite's, without its locks: this thread is the only writer. */
static int save_bytes(sqlite3_file *from, const char *to)
{
	static char page[65536];
	sqlite3_int64 size = 0;
	int rc = SQLITE_OK;
	if (from && from->pMethods)
		rc = from->pMethods->xFileSize(from, &size);
	const int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return SQLITE_CANTOPEN;
	for (sqlite3_int64 at = 0; rc == SQLITE_OK && at < size;) {
		int n = (int)sizeof(page);
		if (size - at < n)
			n = (int)(size - at);
		rc = from->pMethods->xRead(from, page, n, at);
		if (rc == SQLITE_OK && pwrite(fd, page, (size_t)n, at) != n)
			rc = SQLITE_IOERR_WRITE;
		at += n;
	}
	close(fd);
	return rc;
}

/* The copied log into the copied file. */
static int save_join(const char *part)
{
	sqlite3 *db = NULL;
	int rc = sqlite_open(part, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX);
	if (rc == SQLITE_OK)
		rc = sqlite_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)");
	if (rc == SQLITE_OK)
		rc = sqlite_exec(db, "SELECT count(*) FROM entity");
	const int end = sqlite3_close(db);
	if (rc == SQLITE_OK)
		return end;
	return rc;
}

/* For a connection that does not work any more, because its locks do not: as after a power cut, the
 * file and its log are all that is needed. */
static int save_raw(struct store_writer *writer, const char *part)
{
	sqlite3_file *file = NULL, *log = NULL;
	rw_cleanup(str_done) struct str part_log = {0};
	str_addf(&part_log, "%s-wal", part);
	sqlite3_file_control(writer->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
	sqlite3_file_control(writer->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
	if (!file || !file->pMethods)
		return SQLITE_IOERR;
	int rc = save_bytes(log, part_log.s);
	if (rc == SQLITE_OK)
		rc = save_bytes(file, part);
	if (rc == SQLITE_OK)
		rc = save_join(part);
	if (rc != SQLITE_OK)
		unlink(part_log.s);
	return rc;
}

int writer_save(struct store_writer *writer, const char *copy, struct err *e)
{
	static const char doing[] = "write the deleted database anew as";
	rw_cleanup(str_done) struct str part = {0};
	str_addf(&part, "%s.part", copy);
	int rc = save_vacuum(writer, part.s);
	int r = 0;
	if (rc != SQLITE_OK)
		r = sqlite_fail(e, writer->db, rc, doing, copy);
	if (rc != SQLITE_OK && save_raw(writer, part.s) == SQLITE_OK)
		r = rc = SQLITE_OK;
	if (rc == SQLITE_OK && (chmod(part.s, 0640) < 0 || rename(part.s, copy) < 0))
		r = err_set(e, -errno, "cannot %s %s: %s", doing, copy, strerror(errno));
	if (r == 0)
		r = save_sync(copy, O_RDONLY);
	if (r == 0)
		r = writer_sync_directory(copy);
	if (r < 0 && rc == SQLITE_OK)
		err_set(e, r, "cannot %s %s: %s", doing, copy, strerror(-r));
	if (r < 0)
		unlink(part.s);
	return r;
}

int writer_find_rescued(const char *path, struct err *e)
{
	rw_cleanup(str_done) struct str copy = {0};
	str_addf(&copy, "%s.rescue", path);
	if (access(path, F_OK) == 0 || access(copy.s, F_OK) < 0)
		return 0;
	writer_remove_log(path);
	if (link(copy.s, path) < 0)
		return err_set(
			e, -errno, "cannot put %s back as %s: %s", copy.s, path, strerror(errno));
	unlink(copy.s);
	log_warn("store", "%s was missing; the copy that was saved of it is in its place", path);
	return 0;
}

int writer_place(const struct store_writer *writer)
{
	struct stat st;
	if (stat(writer->o.path, &st) < 0)
		return -errno;
	if (st.st_dev == writer->file_device && st.st_ino == writer->file_inode)
		return 0;
	return -EEXIST;
}

void writer_rescue_last(struct store_writer *writer)
{
	struct err e = {0};
	rw_cleanup(str_done) struct str copy = {0};
	if (!writer->db || !writer->file_inode)
		return;
	const int place = writer_place(writer);
	if (place != -ENOENT && place != -EEXIST)
		return;
	str_addf(&copy, "%s.rescue", writer->o.path);
	if (writer_save(writer, copy.s, &e) < 0)
		log_error("store", "%s was deleted or replaced, and what it held is lost: %s",
			writer->o.path, e.text);
	else if (place == -EEXIST)
		log_warn("store", "another file stands at %s; what was written is saved as %s",
			writer->o.path, copy.s);
	else
		log_warn("store", "%s was deleted; the next start finds what it held in %s",
			writer->o.path, copy.s);
}

/* ---- transactions -------------------------------------------------------- */

static const char *const counted_tables[WRITER_COUNTED] = {[COUNTED_EVENT] = "event",
	[COUNTED_FINDING] = "finding",
	[COUNTED_FLOW] = "flow",
	[COUNTED_TAIL] = "tail"};

static int counts_read(struct store_writer *writer, int64_t ret[WRITER_COUNTED])
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < WRITER_COUNTED; i++) {
		if (!writer->count[i]) {
			rw_cleanup(str_done) struct str sql = {0};
			str_addf(&sql, "SELECT max(id) FROM %s", counted_tables[i]);
			rc = sqlite_prepare(writer->db, sql.s, &writer->count[i]);
		}
		if (rc == SQLITE_OK && sqlite3_step(writer->count[i]) == SQLITE_ROW)
			ret[i] = sqlite3_column_int64(writer->count[i], 0);
		if (rc == SQLITE_OK)
			rc = sqlite3_reset(writer->count[i]);
	}
	return rc;
}

int writer_counts(struct store_writer *writer)
{
	return counts_read(writer, writer->newest_id);
}

static int counts_delete_newer(struct store_writer *writer)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < WRITER_COUNTED; i++)
		rc = sqlite_execf(writer->db, "DELETE FROM %s WHERE id>%lld", counted_tables[i],
			(long long)writer->newest_id[i]);
	return rc;
}

int writer_begin(struct store_writer *writer)
{
	writer->n_new_series = 0;
	writer->n_new_ids = writer->n_new_texts = 0;
	writer->names_changed = false;
	const int rc = sqlite_exec(writer->db, "BEGIN IMMEDIATE");
	if (rc != SQLITE_OK || !writer->unsure)
		return rc;
	return counts_delete_newer(writer);
}

/*
 * SQLite may report a failure although the log has the whole transaction (the memory of the log's
 * index could not be mapped, say). This connection does not see it then. Whoever opens the file
 * next does.
 */
int writer_commit(struct store_writer *writer)
{
	int64_t newest[WRITER_COUNTED];
	int rc = writer_names_commit(writer);

	if (rc == SQLITE_OK)
		rc = counts_read(writer, newest);
	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite_exec(writer->db, "COMMIT");
	writer->unsure = rc != SQLITE_OK;
	if (rc != SQLITE_OK)
		return rc;
	memcpy(writer->newest_id, newest, sizeof(newest));
	seal_commit(writer);
	return SQLITE_OK;
}

void writer_rollback(struct store_writer *writer)
{
	if (!sqlite3_get_autocommit(writer->db))
		sqlite_exec(writer->db, "ROLLBACK");
	/* the lines that were added to table series are gone again */
	for (size_t i = 0; i < writer->n_new_series; i++) {
		const struct new_series *series = &writer->new_series[i];
		struct writer_entity *entity = &writer->entities[series->entity];
		entity->bits[series->metric / 64] &= ~(UINT64_C(1) << (series->metric % 64));
		writer->entities[entity->device_id].n_series--;
	}
	writer->n_new_series = 0;
	seal_rollback(writer);
	writer_names_rollback(writer);
}
