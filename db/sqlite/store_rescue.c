/*
 * store_rescue - a database file that was deleted under its writer, or whose connection no longer
 * works.
 *
 * A deleted file lives as long as somebody has it open. Its content, which is all that was ever
 * committed, is copied to a new file (VACUUM INTO), and that one takes the old name. The disk needs
 * room for both until the old one is closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

#define REOPEN_AFTER 3 /* failed transactions in a row: then the connection itself is suspected */

static bool is_same_file(const struct stat *st, const struct store_writer *writer)
{
	return st->st_dev == writer->file_device && st->st_ino == writer->file_inode;
}

/* The lock file may have gone with the database: another writer could then lock a new one. */
static int rescue_lock(struct store_writer *writer, struct err *e)
{
	struct stat held, there;
	rw_cleanup(str_done) struct str name = {0};
	str_addf(&name, "%s.lock", writer->o.path);
	const bool same = fstat(writer->lock_fd, &held) == 0 && stat(name.s, &there) == 0 &&
		held.st_dev == there.st_dev && held.st_ino == there.st_ino;
	if (same)
		return 0;
	int fd;
	const int r = writer_lock(writer->o.path, &fd, e);
	if (r < 0)
		return r;
	close(writer->lock_fd);
	writer->lock_fd = fd;
	return 0;
}

/* A log of the old file must not be read into the new one. */
static void remove_log(const char *path)
{
	static const char *const suffixes[] = {"-wal", "-shm"};
	for (size_t i = 0; i < rw_countof(suffixes); i++) {
		rw_cleanup(str_done) struct str name = {0};
		str_addf(&name, "%s%s", path, suffixes[i]);
		unlink(name.s);
	}
}

/* The file or directory @path, and what it is called, survive a power cut. */
static int rescue_sync(const char *path, int flags)
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

static int rescue_sync_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	rw_cleanup(str_done) struct str directory = {0};
	str_addn(&directory, path, slash ? (size_t)(slash - path) + 1 : 0);
	str_add(&directory, ".");
	return rescue_sync(directory.s, O_RDONLY | O_DIRECTORY);
}

static int rescue_vacuum(struct store_writer *writer, const char *part)
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
static int rescue_bytes(sqlite3_file *from, const char *to)
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
static int rescue_join(const char *part)
{
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(part, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
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
static int rescue_raw(struct store_writer *writer, const char *part)
{
	sqlite3_file *file = NULL, *log = NULL;
	rw_cleanup(str_done) struct str part_log = {0};
	str_addf(&part_log, "%s-wal", part);
	sqlite3_file_control(writer->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
	sqlite3_file_control(writer->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
	if (!file || !file->pMethods)
		return SQLITE_IOERR;
	int rc = rescue_bytes(log, part_log.s);
	if (rc == SQLITE_OK)
		rc = rescue_bytes(file, part);
	if (rc == SQLITE_OK)
		rc = rescue_join(part);
	if (rc != SQLITE_OK)
		unlink(part_log.s);
	return rc;
}

/* The whole content as @copy, which is not there before it is whole. */
static int rescue_copy(struct store_writer *writer, const char *copy, struct err *e)
{
	static const char doing[] = "write the deleted database anew as";
	rw_cleanup(str_done) struct str part = {0};
	str_addf(&part, "%s.part", copy);
	int rc = rescue_vacuum(writer, part.s);
	int r = 0;
	if (rc != SQLITE_OK)
		r = sqlite_fail(e, writer->db, rc, doing, copy);
	if (rc != SQLITE_OK && rescue_raw(writer, part.s) == SQLITE_OK)
		r = rc = SQLITE_OK;
	if (rc == SQLITE_OK && (chmod(part.s, 0640) < 0 || rename(part.s, copy) < 0))
		r = err_set(e, -errno, "cannot %s %s: %s", doing, copy, strerror(errno));
	if (r == 0)
		r = rescue_sync(copy, O_RDONLY);
	if (r == 0)
		r = rescue_sync_directory(copy);
	if (r < 0 && rc == SQLITE_OK)
		err_set(e, r, "cannot %s %s: %s", doing, copy, strerror(-r));
	if (r < 0)
		unlink(part.s);
	return r;
}

/*
 * The copy takes the name. The deleted file stays open until then; it is closed without touching
 * the log beside the new one, which has the same name as its own.
 */
static int rescue_put_back(struct store_writer *writer, const char *copy, struct err *e)
{
	const char *path = writer->o.path;
	struct stat st;
	remove_log(path);
	if (link(copy, path) < 0) /* never over a file that came meanwhile */
		return err_set(e, -errno,
			"the deleted database is saved as %s, and cannot be put back: %s", copy,
			strerror(errno));
	unlink(copy);
	rescue_sync_directory(path);
	sqlite3_db_config(writer->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	writer_close_file(writer);
	if (stat(path, &st) == 0) { /* the one to be opened again, should this fail */
		writer->file_device = st.st_dev;
		writer->file_inode = st.st_ino;
	}
	const int r = writer_open_file(writer, path, e);
	if (r < 0)
		writer_close_file(writer);
	return r;
}

static int rescue_file(struct store_writer *writer, struct err *e)
{
	rw_cleanup(str_done) struct str copy = {0};
	str_addf(&copy, "%s.rescue", writer->o.path);
	int r = rescue_lock(writer, e);
	if (r == 0)
		r = rescue_copy(writer, copy.s, e);
	if (r == 0)
		r = rescue_put_back(writer, copy.s, e);
	if (r < 0)
		return r;
	return 1;
}

int writer_find_rescued(const char *path, struct err *e)
{
	rw_cleanup(str_done) struct str copy = {0};
	str_addf(&copy, "%s.rescue", path);
	if (access(path, F_OK) == 0 || access(copy.s, F_OK) < 0)
		return 0;
	remove_log(path);
	if (link(copy.s, path) < 0)
		return err_set(
			e, -errno, "cannot put %s back as %s: %s", copy.s, path, strerror(errno));
	unlink(copy.s);
	log_warn("store", "%s was missing; the copy that was saved of it is in its place", path);
	return 0;
}

/* Says why when @path is not the file that is written: -ENOENT, -EEXIST. */
static int rescue_place(const struct store_writer *writer)
{
	struct stat st;
	if (stat(writer->o.path, &st) < 0)
		return -errno;
	if (is_same_file(&st, writer))
		return 0;
	return -EEXIST;
}

void writer_rescue_last(struct store_writer *writer)
{
	struct err e = {0};
	rw_cleanup(str_done) struct str copy = {0};
	if (!writer->db || !writer->file_inode || rescue_place(writer) != -ENOENT)
		return;
	str_addf(&copy, "%s.rescue", writer->o.path);
	if (rescue_copy(writer, copy.s, &e) < 0)
		log_error("store", "%s was deleted, and what it held is lost: %s", writer->o.path,
			e.text);
	else
		log_warn("store", "%s was deleted; the next start finds what it held in %s",
			writer->o.path, copy.s);
}

int writer_rescue(struct store_writer *writer, struct err *e)
{
	if (!writer->db)
		return 0;
	const int r = rescue_place(writer);
	if (r == -EEXIST)
		return err_set(e, -EEXIST,
			"another file stands at %s: samples go on into the database that was "
			"there, "
			"which has no name any more; move the other file away to get it back",
			writer->o.path);
	if (r != -ENOENT)
		return 0;
	return rescue_file(writer, e);
}

/* What another connection would not change. */
static const int blameless[] = {SQLITE_FULL, SQLITE_NOMEM, SQLITE_BUSY, SQLITE_LOCKED,
	SQLITE_INTERRUPT, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_TOOBIG, SQLITE_RANGE};

void writer_suspect(struct store_writer *writer, int rc)
{
	if (rc == SQLITE_OK) {
		writer->failed = 0;
		return;
	}
	for (size_t i = 0; i < rw_countof(blameless); i++)
		if ((rc & 0xff) == blameless[i])
			return;
	writer->failed++;
	if (writer->failed < REOPEN_AFTER || rescue_place(writer) < 0)
		return;
	writer_close_file(writer);
}

/* A deleted file whose connection fails again and again: no commit will come after which it could
 * be rescued. */
static int rescue_broken(struct store_writer *writer, struct err *e)
{
	const int r = rescue_file(writer, e);
	if (r < 0)
		return r;
	log_error("store", "%s was deleted and could not be written; what it held was written back",
		writer->o.path);
	writer->failed = 0;
	return 0;
}

int writer_reopen(struct store_writer *writer, struct err *e)
{
	const char *path = writer->o.path;
	if (writer->db && writer->failed >= REOPEN_AFTER && rescue_place(writer) == -ENOENT)
		return rescue_broken(writer, e);
	if (writer->db)
		return 0;
	int r = rescue_place(writer);
	if (r == -EEXIST)
		return err_set(e, r,
			"another file stands at %s, in the place of the database that was written; "
			"put that one back, or restart the agent to go on with the other",
			path);
	if (r < 0)
		return err_set(e, r,
			"cannot open %s again: %s; put it back, or restart the agent to begin a "
			"new one",
			path, strerror(-r));
	r = writer_open_file(writer, path, e);
	if (r < 0) {
		writer_close_file(writer);
		return r;
	}
	log_warn("store", "%s was closed and opened anew after %d failed transactions", path,
		writer->failed);
	writer->failed = 0;
	writer_names_unresolve(writer);
	return 0;
}
