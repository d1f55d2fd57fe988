/*
 * ch_rows - a batch of the spool as rows of ClickHouse's tables, and those rows read back. Both
 * directions follow the columns of ch_schema. Pure; the same batch gives the same bytes.
 */
#pragma once

#include "db/store/spool.h"
#include "base/base.h"
#include "db/model/metric.h"

struct bytes;

/* ch_schema - the tables of a ClickHouse database that agents write, and the statements that make
 * them. docs/clickhouse.md describes them for people.
 *
 * Every row says who sent it (agent), in which row of that agent's spool (seq), and as which row
 * of it (part). Sent twice, a row is the same row: ReplacingMergeTree drops the second one when it
 * merges, and readers that order by (agent, seq, part) take it once before. */

/* Tables of samples: one for each scope of metrics, in wide rows with a column for each metric. */
enum { CH_SAMPLE_TABLES = 3 };

/* Then the tables of records (enum spool_table), and one that says which series there are. */
enum { CH_TABLE_SERIES = CH_SAMPLE_TABLES + SPOOL_TABLES, CH_TABLES };

/* ch_table - the name of a table: 0 .. CH_SAMPLE_TABLES - 1 by scope, and so on. */
const char *ch_table(unsigned table);

static inline unsigned ch_table_of_rows(enum spool_table table)
{
	return CH_SAMPLE_TABLES + (unsigned)table;
}

/* Columns of a table, in the order in which they are declared. */
#define CH_COLUMN_MAX 96

struct ch_column {
	char name[CH_COLUMN_MAX];
	const char *type; /* of ClickHouse */
};

/* ch_columns - *@ret has room for CH_COLUMNS_MAX; returns how many. */
#define CH_COLUMNS_MAX (METRIC_COUNT + SPOOL_COLUMNS)

unsigned ch_columns(unsigned table, struct ch_column *ret);

/* ch_metric_column - the column of a metric: its name with _ for the dot. Names of columns are
 * quoted by ch_add_name(). */
void ch_metric_column(char ret[CH_COLUMN_MAX], unsigned metric);

void ch_add_name(struct str *out, const char *name); /* `name` */

void ch_add_text(struct str *out, const char *text); /* 'text', escaped */

/* ch_create - the statement that makes @table in @database. @cluster NULL: for one server. Else the
 * table is replicated by ZooKeeper under the macros {shard} and {replica}, is called NAME_local,
 * and ch_create_distributed() makes the one that agents and readers use. */
void ch_create(struct str *out, const char *database, unsigned table, const char *cluster);

/* ch_schema - all of it, each statement ended by a semicolon and a newline. */
void ch_schema(struct str *out, const char *database, const char *cluster);

/* The rows of one table, and the statement that inserts them: it names the columns that occur. */
struct ch_insertion {
	unsigned table;
	struct str sql, rows;
	uint64_t n;
};
struct ch_insertions {
	struct ch_insertion v[CH_TABLES];
	unsigned n;
};
/* ch_insertions_of - what @agent has to tell; *@ret zeroed, and freed by ch_insertions_done(). The
 * table of series is not among them: see ch_series_row(). */
void ch_insertions_of(
	const struct spool_batch *batch, const char *agent, struct ch_insertions *ret);
void ch_insertions_done(struct ch_insertions *insertions);

/* ch_series_row - appends a row of the table of series. ch_series_sql - the statement. */
void ch_series_row(struct str *out, const char *agent, int64_t seq, const struct spool_name *name,
	unsigned metric, int64_t first_ns);
void ch_series_sql(struct str *out);

/* Reading: what a SELECT of ch_select_rows() or ch_select_samples() gives, one row after the other.
 * Texts are in @a. */
struct ch_row_head {
	const char *agent;
	uint64_t seq;
	uint32_t part;
};
/* "SELECT agent, seq, part, <columns of the table>" */
void ch_select_rows(struct str *out, enum spool_table table);
void ch_read_row(struct bytes *in, struct arena *a, enum spool_table table,
	struct ch_row_head *ret_head, struct spool_row *ret);

/* "SELECT agent, seq, part, t_ns, device, port, priority, flags, source, window_ms, <metrics>" */
void ch_select_samples(struct str *out, unsigned scope, const uint16_t *metrics, size_t n);
struct ch_sample_row {
	struct ch_row_head head;
	struct spool_name name;
	struct sample shared; /* time, flags, source, window */
	/* by position in the list of metrics */
	bool have[METRIC_COUNT];
	uint64_t values[METRIC_COUNT];
	const char *texts[METRIC_COUNT];
};
void ch_read_sample_row(struct bytes *in, struct arena *a, const uint16_t *metrics, size_t n,
	struct ch_sample_row *ret);
