/*
 * record_views - the documented views (docs/database.md) over records that come from elsewhere: a
 * SQLite database in memory, filled row by row with what a writer of a file would be given. One
 * thread.
 */
#pragma once

#include "db/series/history.h"
#include "db/store/spool.h"

struct record_views;
/* record_views_open - @name stands for the database in messages. 0 or negative errno. */
int record_views_open(const char *name, struct record_views **ret, struct err *e);
void record_views_close(struct record_views *views); /* NULL is fine */

/* A row of any table but flows and health is stored as a file's writer stores it. */
int record_views_begin(struct record_views *views, struct err *e);
int record_views_row(struct record_views *views, const struct spool_row *row, struct err *e);
int record_views_commit(struct record_views *views, struct err *e);

/* history_sql() of the views. Samples are not there. */
int record_views_sql(struct record_views *views, const char *sql, row_fn *head, row_fn *fn,
	void *arg, struct err *e);
