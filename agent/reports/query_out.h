/* query_out - writes the rows of "rocewatch query" as they come: table, csv, JSON, or one
 * JSON object per line. */
#ifndef RW_REPORTS_QUERY_OUT_H
#define RW_REPORTS_QUERY_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "agent/document/writer.h"
#include "db/model/entity.h"
#include "db/series/history.h"

struct query_out {
	enum report_format format;
	FILE *file;
	bool header;
	uint64_t rows_max; /* then -E2BIG; 0 = no limit */
	uint64_t rows; /* written */
};

struct query_row {
	int64_t t_ns;
	const struct entity *entity;
	unsigned metric;
	enum { VALUE_NONE, VALUE_U64, VALUE_F64, VALUE_TEXT } kind;
	uint64_t u64;
	double f64;
	const char *text;
	unsigned flags; /* of the samples behind it */
};

/* begin, then rows, then end. 0, or -EIO: nobody reads any more, or the disk is full; or -E2BIG. */
void query_out_begin(struct query_out *out);
int query_out_row(struct query_out *out, const struct query_row *row);
int query_out_end(struct query_out *out);

/* The same for rows of any shape: callbacks of history_sql_named(). @arg is a struct query_out; the
 * names come instead of begin. */
int query_out_sql_names(void *arg, int n, char *const *values, char *const *names);
int query_out_sql_row(void *arg, int n, char *const *values, char *const *names);

#endif
