/*
 * sqlite_io - what the write and the read side share: running statements, and turning a result code
 * into a negative errno and a sentence with a remedy. For files of db/sqlite only.
 */
#pragma once

#include <sqlite3.h>
#include "base/base.h"

/*
 * sqlite_errno - negative errno of a result code: -ENOSPC full, -EBUSY locked, -EINVAL not a
 * database, -EBADMSG damaged, -ENOMEM, -EACCES, else -EIO. sqlite_fail also says what was being
 * done (@doing: "read", "write", ...) to which file, and what to do about it.
 */
int sqlite_errno(int rc);
int sqlite_fail(struct err *e, sqlite3 *db, int rc, const char *doing, const char *path);

/* sqlite_open - sqlite3_open_v2() of a file that anybody may have made: its schema is not trusted,
 * and no value is longer than SQLITE_VALUE_MAX. */
#define SQLITE_VALUE_MAX (64 << 20)
int sqlite_open(const char *path, sqlite3 **ret, int flags);

/* sqlite_exec - one or more statements without result; the SQLite result code. */
int sqlite_exec(sqlite3 *db, const char *sql);
int sqlite_execf(sqlite3 *db, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* sqlite_int - first column of the first row; @fallback when there is no row, or NULL in it. Result
 * code by @ret_rc (may be NULL). */
sqlite3_int64 sqlite_int(sqlite3 *db, const char *sql, sqlite3_int64 fallback, int *ret_rc);

/* sqlite_prepare - a statement that is kept and run many times. */
int sqlite_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret);
/* sqlite_run - a statement without result rows, with its parameters bound; ready to be run again.
 */
int sqlite_run(sqlite3_stmt *statement);

void sqlite_finalizep(sqlite3_stmt **statement); /* for rw_cleanup() */
