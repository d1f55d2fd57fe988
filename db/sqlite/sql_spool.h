/*
 * sql_spool - the rows of a statement, kept until its snapshot has ended: whoever takes them may be
 * slow for hours (a pager), and a snapshot that is held keeps the write-ahead log from being
 * shortened. A few megabytes stay in memory, more go to a temporary file without a name.
 */
#ifndef RW_DB_SQL_SPOOL_H
#define RW_DB_SQL_SPOOL_H

#include <stdio.h>

#include "agent/base/str.h"
#include "db/series/history.h"

struct sql_spool {
	int n_columns; /* of each row; the caller's */
	struct str memory;
	FILE *file; /* NULL: all is in .memory */
	uint64_t rows;
};

/* sql_spool_put - keeps a row; NULL values stay NULL. 0, or negative errno when there is no room.
 */
int sql_spool_put(struct sql_spool *spool, char *const *values);

/* sql_spool_each - hands over all rows in their order. What @fn returned when it was not 0, or
 * negative errno. The spool is empty afterwards. */
int sql_spool_each(struct sql_spool *spool, char *const *names, row_fn *fn, void *arg);

void sql_spool_done(struct sql_spool *spool);

#endif
