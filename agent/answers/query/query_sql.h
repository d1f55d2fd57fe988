/*
 * query_sql - the rows of one read-only SQL statement, of whatever shape: csv, JSON and JSON lines
 * as they come. A table is aligned: the widths come from the first rows, which wait until there are
 * enough of them.
 */
#ifndef RW_REPORTS_QUERY_SQL_H
#define RW_REPORTS_QUERY_SQL_H

#include <stdbool.h>
#include <stdio.h>

#include "agent/document/format.h"

struct client;
struct err;

struct query_sql {
	enum report_format format;
	FILE *file;
	bool header;
};

/* query_sql_run - 0; -EIO (no text in @e) when the output failed; or another negative errno with
 * @e.
 */
int query_sql_run(
	struct client *client, const struct query_sql *how, const char *statement, struct err *e);

#endif
