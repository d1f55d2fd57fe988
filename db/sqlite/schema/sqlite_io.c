/* sqlite_io - runs statements, and says what a failure of SQLite means and what to do about it. */
#include "db/sqlite/schema/sqlite_io.h"

#include <sys/stat.h>

#include "db/sqlite/schema/store_lock.h"

static const struct {
	int rc, error;
	const char *remedy;
} causes[] = {
	{SQLITE_FULL, -ENOSPC,
		"the disk is full; free some space or set a smaller store.quota or retention"},
	{SQLITE_BUSY, -EBUSY, "another process keeps it locked; wait, or end that process"},
	{SQLITE_LOCKED, -EBUSY, "another process keeps it locked; wait, or end that process"},
	{SQLITE_NOTADB, -EINVAL,
		"this is not a SQLite database; name another file with --db or store.path"},
	{SQLITE_CORRUPT, -EBADMSG,
		"the file is damaged; move it away (with its -wal and -shm files) and start "
		"afresh, or put a copy made by 'rocewatch db backup' in its place"},
	{SQLITE_NOMEM, -ENOMEM, "out of memory"},
	{SQLITE_READONLY, -EACCES,
		"no right to write; check the owner and the mode of the file and of its directory"},
	{SQLITE_PERM, -EACCES, "check the owner and the mode of the file and of its directory"},
	{SQLITE_CANTOPEN, -ENOENT,
		"check that the file exists and that its directory can be read and entered"},
	{SQLITE_IOERR, -EIO, "the disk refused; see the kernel's log"},
};

/* A pipe without a writer would be waited for, and a device may never end. */
static bool is_no_file(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* https://www.sqlite.org/security.html */
int sqlite_open(const char *path, sqlite3 **ret, int flags)
{
	*ret = NULL;
	if (is_no_file(path))
		return SQLITE_NOTADB;
	int rc = sqlite3_open_v2(path, ret, flags, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(*ret, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(*ret, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	if (rc == SQLITE_OK)
		sqlite3_limit(*ret, SQLITE_LIMIT_LENGTH, SQLITE_VALUE_MAX);
	return rc;
}

int sqlite_errno(int rc)
{
	rc &= 0xff;
	for (size_t i = 0; i < rw_countof(causes); i++)
		if (causes[i].rc == rc)
			return causes[i].error;
	if (rc == SQLITE_OK)
		return 0;
	return -EIO;
}

int sqlite_fail(struct err *e, sqlite3 *db, int rc, const char *doing, const char *path)
{
	const char *what = sqlite3_errstr(rc);

	if (db && sqlite3_errcode(db) != SQLITE_OK)
		what = sqlite3_errmsg(db);

	rw_cleanup(str_done) struct str who = {0};
	if ((rc & 0xff) == SQLITE_BUSY) {
		store_holders_text(path, "-shm", &who);
		if (who.n == 0)
			store_holders_text(path, "", &who);
	}
	for (size_t i = 0; i < rw_countof(causes); i++)
		if (causes[i].rc == (rc & 0xff))
			return err_set(e, causes[i].error, "cannot %s %s: %s: %s%s%s", doing, path,
				what, causes[i].remedy, str_if(who.n > 0, ": "), str_or(who.s, ""));
	return err_set(e, -EIO, "cannot %s %s: %s", doing, path, what);
}

int sqlite_exec(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

int sqlite_execf(sqlite3 *db, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *sql = sqlite3_vmprintf(fmt, ap);
	va_end(ap);
	if (!sql)
		return SQLITE_NOMEM;
	int rc = sqlite_exec(db, sql);
	sqlite3_free(sql);
	return rc;
}

sqlite3_int64 sqlite_int(sqlite3 *db, const char *sql, sqlite3_int64 fallback, int *ret_rc)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	sqlite3_int64 v = fallback;
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK) {
		rc = sqlite3_step(st);
		if (rc == SQLITE_ROW && sqlite3_column_type(st, 0) != SQLITE_NULL)
			v = sqlite3_column_int64(st, 0);
		if (rc == SQLITE_ROW || rc == SQLITE_DONE)
			rc = SQLITE_OK;
	}
	if (ret_rc)
		*ret_rc = rc;
	return v;
}
