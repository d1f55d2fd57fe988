/*
 * ch_schema - the tables of a ClickHouse database that agents write, and the statements that make
 * them. docs/clickhouse.md describes them for people.
 *
 * Every row says who sent it (agent), in which row of that agent's spool (seq), and as which row of
 * it (part). Sent twice, a row is the same row: ReplacingMergeTree drops the second one when it
 * merges, and readers that order by (agent, seq, part) take it once before.
 */
#ifndef RW_DB_CH_SCHEMA_H
#define RW_DB_CH_SCHEMA_H

#include <stdbool.h>

#include "base/str.h"
#include "db/model/metric.h"
#include "db/store/spool.h"

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
void ch_create_distributed(
	struct str *out, const char *database, unsigned table, const char *cluster);
/* ch_schema - all of it, each statement ended by a semicolon and a newline. */
void ch_schema(struct str *out, const char *database, const char *cluster);

#endif
