/* query_out - writes the rows of "rocewatch query" as they come: table, csv, JSON, or one JSON
 * object per line. A table has rounded numbers with their unit in the header; the others are exact.
 */
#pragma once

#include "base/base.h"

#include "agent/document/writer.h"
#include "db/series/rollup.h"

struct query_value {
	enum { VALUE_NONE, VALUE_U64, VALUE_F64, VALUE_TEXT } kind;
	uint64_t u64;
	double f64;
	const char *text; /* borrowed */
};

/* How wide the columns of a table are, and which ones it has. */
struct query_columns {
	size_t device, port, metric, group; /* 0 = no such column */
	bool priority, join;
	bool fraction; /* times have a fraction of a second */
	const char *group_name; /* "role" */
	const char *unit; /* of all values; NULL = each row has its own */
	const char *title; /* the line above the header; NULL = none */
};

struct query_out {
	enum report_format format;
	FILE *file;
	bool header;
	uint64_t rows_max; /* then -E2BIG; 0 = no limit */
	uint64_t rows; /* written */
	struct query_columns columns; /* set by query_run() */
	char note[320]; /* what query_run() has to say of the answer; "" = nothing */
};

/* What a row says beside the flags of its samples. */
enum query_mark {
	MARK_GAP = 1, /* no sample in this step */
	MARK_AFTER_GAP = 2, /* samples were missing before it: a rate is the mean since then */
	MARK_PARTIAL = 4, /* some of the joined series have no value */
	MARK_OPEN = 8, /* the step ends after the range: it is not over */
};

struct query_row {
	int64_t t_ns;
	const char *device, *port, *group; /* "" = does not apply */
	int priority; /* PRIO_NONE = does not apply */
	unsigned metric;
	const char *unit;
	struct query_value value;
	unsigned flags; /* of the samples behind it */
	unsigned marks;
	size_t n_series, n_of; /* joined series that have a value, of how many */
};

/* What is said of all rows, where there is JSON: in front of "rows" would be nicer for people,
 * behind them it is known. */
struct query_foot {
	int64_t from_ns, to_ns, step_ns; /* step 0: the whole range */
	bool steps;
	const char *agg, *by, *join; /* "" = none */
	bool tier[3]; /* which of enum rollup_tier answered */
	int64_t coarse_to_ns; /* up to here single values are gone; when a coarser tier answered */
	const char *note; /* a sentence for people; NULL = none */
};

/* begin, then rows, then end. 0, or -EIO: nobody reads any more, or the disk is full; or -E2BIG. */
void query_out_begin(struct query_out *out);
int query_out_row(struct query_out *out, const struct query_row *row);
int query_out_end(struct query_out *out, const struct query_foot *foot);

/* query_out_unit - what stands in the header of a table for values of @unit: a ratio is shown in
 * percent, ns/s as the percentage of time that it is. */
const char *query_out_unit(const char *unit);
