/*
 * query - history of metrics as rows. One row per stored sample, or per rate between two of them;
 * or one row per step, a step being a piece of time or the whole range; steps of several series may
 * be joined into one line (by device, role, job ...). Rows are written as they come: what is kept
 * in memory is one state per series, however long the range is.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"
#include "agent/answers/query/query_out.h"
#include "agent/document/writer.h"

struct client;

/* As given; NULL is "not given". */
struct query_ask {
	const char *metric; /* names and globs, with commas between them */
	const char *device, *port; /* globs */
	const char *priority, *step, *agg, *by, *join, *top;
	bool rate;
};

/* The words of --agg, --by and --join, for help: "mean|min|max". */
const char *query_agg_words(void);
const char *query_by_words(void);
const char *query_join_words(void);

/* query_check - 0, or -EINVAL with @e: a name or value is wrong, or they do not go together. */
int query_check(const struct query_ask *ask, struct err *e);

/*
 * query_run - the rows of the client's time range into @out, whole. 0; -EINVAL for what
 * query_check() refuses, a device or port that nobody knows, a step too short, or more rows than
 * @out takes; -EIO (no text in @e) when the output failed; or another negative errno.
 */
int query_run(
	struct client *client, const struct query_ask *ask, struct query_out *out, struct err *e);

/* query_list_json - {metrics: [{metric, unit, kind, scope, description}]}. The caller owns it. */
json_t *query_list_json(void);

/*
 * query_sql - the rows of one read-only SQL statement, of whatever shape: csv, JSON and JSON lines
 * as they come. A table is aligned: the widths come from the first rows, which wait until there are
 * enough of them.
 */

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
