/*
 * store_rescue - a database file that was deleted under its writer, or whose connection no longer
 * works.
 *
 * A deleted file lives as long as somebody has it open. Its content, which is all that was ever
 * committed, is copied to a new file (VACUUM INTO), and that one takes the old name. The disk needs
 * room for both until the old one is closed.
 */
#include <errno.h>
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

static int rescue_copy(struct store_writer *writer, const char *copy, struct err *e)
{
	unlink(copy); /* of an attempt that did not end */
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite_prepare(writer->db, "VACUUM INTO ?1", &st);
	if (rc == SQLITE_OK) {
		sqlite3_bind_text(st, 1, copy, -1, SQLITE_STATIC);
		rc = sqlite_run(st);
	}
	if (rc == SQLITE_OK && chmod(copy, 0640) == 0)
		return 0;
	const int r = sqlite_fail(e, writer->db, rc, "write the deleted database anew as", copy);
	unlink(copy);
	return r;
}

static int rescue_file(struct store_writer *writer, struct err *e)
{
	const char *path = writer->o.path;
	rw_cleanup(str_done) struct str copy = {0};
	str_addf(&copy, "%s.rescue", path);
	int r = rescue_lock(writer, e);
	if (r == 0)
		r = rescue_copy(writer, copy.s, e);
	if (r < 0)
		return r;
	writer_close_file(writer);
	remove_log(path);
	if (link(copy.s, path) < 0) /* never over a file that came meanwhile */
		return err_set(e, -errno,
			"the deleted database is saved as %s, and cannot be put back: %s; stop the "
			"agent and rename it to %s",
			copy.s, strerror(errno), path);
	unlink(copy.s);
	r = writer_open_file(writer, path, e);
	if (r < 0)
		return r;
	return 1;
}

int writer_rescue(struct store_writer *writer, struct err *e)
{
	const char *path = writer->o.path;
	struct stat st;
	if (!writer->db)
		return 0;
	if (stat(path, &st) == 0) {
		if (is_same_file(&st, writer))
			return 0;
		return err_set(e, -EEXIST,
			"another file stands at %s: samples go on into the database that was "
			"there, "
			"which has no name any more; move the other file away to get it back",
			path);
	}
	if (errno != ENOENT)
		return 0;
	return rescue_file(writer, e);
}

void writer_suspect(struct store_writer *writer, int rc)
{
	const int kind = rc & 0xff;
	if (rc == SQLITE_OK) {
		writer->failed = 0;
		return;
	}
	if (kind == SQLITE_IOERR || kind == SQLITE_PROTOCOL)
		writer->failed++;
	if (writer->failed < REOPEN_AFTER)
		return;
	writer->failed = 0;
	writer_close_file(writer);
}

int writer_reopen(struct store_writer *writer, struct err *e)
{
	struct stat st;
	if (writer->db)
		return 0;
	if (stat(writer->o.path, &st) < 0)
		return err_set(e, -errno, "cannot open %s again: %s; restart the agent",
			writer->o.path, strerror(errno));
	const int r = writer_open_file(writer, writer->o.path, e);
	if (r < 0)
		writer_close_file(writer);
	return r;
}
