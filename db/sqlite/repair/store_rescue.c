/*
 * store_rescue - a database file that was deleted under its writer, or whose connection no longer
 * works.
 *
 * A deleted file lives as long as somebody has it open. Its content, which is all that was ever
 * committed, is copied to a new file (VACUUM INTO), and that one takes the old name. The disk needs
 * room for both until the old one is closed.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/sqlite/write/store_write.h"

#define REOPEN_AFTER 3 /* failed transactions in a row: then the connection itself is suspected */
#define REOPEN_AFTER_LOCKED 5 /* the same where a lock was in the way each time */

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

/*
 * The copy takes the name. The deleted file stays open until then; it is closed without touching
 * the log beside the new one, which has the same name as its own.
 */
static int rescue_put_back(struct store_writer *writer, const char *copy, struct err *e)
{
	const char *path = writer->o.path;
	struct stat st;
	writer_remove_log(path);
	if (link(copy, path) < 0) /* never over a file that came meanwhile */
		return err_set(e, -errno,
			"the deleted database is saved as %s, and cannot be put back: %s", copy,
			strerror(errno));
	unlink(copy);
	writer_sync_directory(path);
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
		r = writer_save(writer, copy.s, e);
	if (r == 0)
		r = rescue_put_back(writer, copy.s, e);
	if (r < 0)
		return r;
	return 1;
}

int writer_rescue(struct store_writer *writer, struct err *e)
{
	if (!writer->db)
		return 0;
	const int r = writer_place(writer);
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
static const int blameless[] = {SQLITE_FULL, SQLITE_NOMEM, SQLITE_INTERRUPT, SQLITE_CONSTRAINT,
	SQLITE_MISMATCH, SQLITE_TOOBIG, SQLITE_RANGE};

/* Does another process hold a lock on the file or on its log? */
static bool locked_by_another(const struct store_writer *writer)
{
	rw_cleanup(str_done) struct str who = {0};
	store_holders_text(writer->o.path, "-shm", &who);
	store_holders_text(writer->o.path, "", &who);
	return who.n > 0;
}

void writer_suspect_lock(struct store_writer *writer, int *times)
{
	if (*times < REOPEN_AFTER_LOCKED || locked_by_another(writer) || writer_place(writer) < 0)
		return;
	writer->failed = *times;
	*times = 0;
	writer_close_file(writer);
}

void writer_suspect(struct store_writer *writer, int rc)
{
	if (rc == SQLITE_OK) {
		writer->failed = writer->locked = 0;
		return;
	}
	if ((rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED) {
		writer->locked++;
		writer_suspect_lock(writer, &writer->locked);
		return;
	}
	for (size_t i = 0; i < rw_countof(blameless); i++)
		if ((rc & 0xff) == blameless[i])
			return;
	writer->failed++;
	if (writer->failed < REOPEN_AFTER || writer_place(writer) < 0)
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
	if (writer->db && writer->failed >= REOPEN_AFTER && writer_place(writer) == -ENOENT)
		return rescue_broken(writer, e);
	if (writer->db)
		return 0;
	int r = writer_place(writer);
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
	log_warn("store", "%s was closed and opened anew after %d failed attempts to write", path,
		writer->failed);
	writer->failed = 0;
	writer_names_unresolve(writer);
	return 0;
}
