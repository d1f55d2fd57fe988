/* sqlite - a store in one SQLite file: what db/open.c uses of it. */
#ifndef RW_DB_SQLITE_H
#define RW_DB_SQLITE_H

struct err;
struct history;

/* sqlite_history_open - the file at @path, read-only; see db/series/history.h. */
int sqlite_history_open(const char *path, struct history **ret, struct err *e);

#endif
