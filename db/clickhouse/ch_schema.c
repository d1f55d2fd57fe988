/*
 * ch_schema - tables and their keys.
 *
 * Samples are ordered by the hour, then by series: a window of minutes over all ports reads one
 * hour, a day of one port 24 short ranges. Each day is a partition of its own: dropping one is how
 * old samples go. (18.16 has no TTL and no CODEC.)
 */
#include "db/clickhouse/ch_schema.h"

#include <string.h>

#include "base/cleanup.h"

static const char *const sample_tables[CH_SAMPLE_TABLES] = {
	[SCOPE_PORT] = "samples_port",
	[SCOPE_PRIO] = "samples_priority",
	[SCOPE_DEVICE] = "samples_device",
};

/* What each table of records is ordered by, and what it is cut into partitions by. The order makes
 * two rows the same: a newer state of an incident replaces the older one. */
#define CH_MONTH(column) "toYYYYMM(toDateTime(intDiv(" column ", 1000000000)))"
static const struct {
	const char *order, *partition;
} row_tables[SPOOL_TABLES] = {
	[SPOOL_CONFIGURATIONS] = {"agent, t_ns", NULL},
	[SPOOL_TARGETS] = {"agent, device, protocol", NULL},
	[SPOOL_DEVICES] = {"agent, device, t_ns, seq, row", NULL},
	[SPOOL_PORTS] = {"agent, device, port, t_ns, seq, row", NULL},
	[SPOOL_INCIDENTS] = {"agent, id", NULL},
	[SPOOL_RECOMMENDATIONS] = {"agent, id", NULL},
	[SPOOL_SILENCES] = {"agent, id", NULL},
	[SPOOL_ALERTS] = {"agent, receiver, incident_id", NULL},
	[SPOOL_EVENTS] = {"t_ns, agent, seq, row", CH_MONTH("t_ns")},
	[SPOOL_BURSTS] = {"t_ns, agent, seq, row", CH_MONTH("t_ns")},
	[SPOOL_FINDINGS] = {"to_ns, agent, seq, row", CH_MONTH("to_ns")},
	[SPOOL_FLOWS] = {"to_ns, device, port, agent, seq, row",
		"toDate(toDateTime(intDiv(to_ns, 1000000000)))"},
	[SPOOL_HEALTH] = {"agent, key", NULL},
	[SPOOL_REWINDS] = {"agent, seq, row", NULL},
};

const char *ch_table(unsigned table)
{
	if (table < CH_SAMPLE_TABLES)
		return sample_tables[table];
	if (table == CH_TABLE_SERIES)
		return "series";
	return spool_table_name((enum spool_table)(table - CH_SAMPLE_TABLES));
}

/* ---- columns -------------------------------------------------------------------- */

void ch_metric_column(char ret[CH_COLUMN_MAX], unsigned metric)
{
	snprintf(ret, CH_COLUMN_MAX, "%s", metric_info(metric)->name);
	for (char *p = ret; *p; p++)
		if (*p == '.' || *p == '-')
			*p = '_';
}

static void column_add(struct ch_column *columns, unsigned *n, const char *name, const char *type)
{
	snprintf(columns[*n].name, CH_COLUMN_MAX, "%s", name);
	columns[(*n)++].type = type;
}

static const char *const metric_types[] = {
	[TYPE_U64] = "Nullable(UInt64)",
	[TYPE_F64] = "Nullable(Float64)",
	[TYPE_TEXT] = "Nullable(String)",
};

static void columns_of_samples(unsigned scope, struct ch_column *ret, unsigned *n)
{
	column_add(ret, n, "t_ns", "Int64");
	column_add(ret, n, "device", "String");
	column_add(ret, n, "port", "String");
	column_add(ret, n, "priority", "Int8");
	column_add(ret, n, "flags", "UInt16");
	column_add(ret, n, "source", "UInt8");
	column_add(ret, n, "window_ms", "UInt32");
	column_add(ret, n, "hour", "UInt32 DEFAULT toUInt32(intDiv(t_ns, 3600000000000))");
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		char name[CH_COLUMN_MAX];
		if ((unsigned)metric_info(m)->scope != scope)
			continue;
		ch_metric_column(name, m);
		column_add(ret, n, name, metric_types[metric_info(m)->type]);
	}
}

/* Columns of a key cannot be Nullable: an unknown value is empty there. */
static bool column_is_key(enum spool_table table, const char *name)
{
	const size_t n = strlen(name);
	for (const char *at = row_tables[table].order; *at; at += strcspn(at, ",")) {
		at += strspn(at, ", ");
		if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == '\0'))
			return true;
	}
	return false;
}

static const char *cell_type(const struct record_column *column, bool key)
{
	switch (column->type) {
	case COLUMN_TEXT:
		if (key)
			return "String";
		return "Nullable(String)";
	case COLUMN_REAL: return "Nullable(Float64)";
	case COLUMN_U64: return "UInt64";
	case COLUMN_BOOL: return "UInt8";
	default: return "Int64";
	}
}

unsigned ch_columns(unsigned table, struct ch_column *ret)
{
	unsigned n = 0;
	size_t n_cells;
	column_add(ret, &n, "agent", "String");
	column_add(ret, &n, "seq", "UInt64");
	column_add(ret, &n, "row", "UInt32");
	if (table < CH_SAMPLE_TABLES) {
		columns_of_samples(table, ret, &n);
		return n;
	}
	if (table == CH_TABLE_SERIES) {
		column_add(ret, &n, "device", "String");
		column_add(ret, &n, "port", "String");
		column_add(ret, &n, "priority", "Int8");
		column_add(ret, &n, "metric", "String");
		column_add(ret, &n, "first_ns", "Int64");
		return n;
	}
	const enum spool_table rows = (enum spool_table)(table - CH_SAMPLE_TABLES);
	const struct record_column *cells = spool_columns(rows, &n_cells);
	column_add(ret, &n, "gone", "UInt8");
	for (size_t i = 0; i < n_cells; i++)
		column_add(ret, &n, cells[i].name,
			cell_type(&cells[i], column_is_key(rows, cells[i].name)));
	return n;
}

/* ---- statements ----------------------------------------------------------------- */

void ch_add_name(struct str *out, const char *name)
{
	str_add(out, "`");
	str_add(out, name);
	str_add(out, "`");
}

void ch_add_text(struct str *out, const char *text)
{
	str_add(out, "'");
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			str_add(out, "\\");
		str_addn(out, text, 1);
	}
	str_add(out, "'");
}

static const char *table_order(unsigned table)
{
	if (table < CH_SAMPLE_TABLES)
		return "hour, device, port, priority, t_ns, agent, seq, row";
	if (table == CH_TABLE_SERIES)
		return "device, port, priority, metric, agent";
	return row_tables[table - CH_SAMPLE_TABLES].order;
}

static const char *table_partition(unsigned table)
{
	if (table < CH_SAMPLE_TABLES)
		return "toDate(toDateTime(hour * 3600))";
	if (table == CH_TABLE_SERIES)
		return NULL;
	return row_tables[table - CH_SAMPLE_TABLES].partition;
}

static void create_columns(struct str *out, unsigned table)
{
	struct ch_column columns[CH_COLUMNS_MAX];
	const unsigned n = ch_columns(table, columns);
	str_add(out, " (");
	for (unsigned i = 0; i < n; i++) {
		str_add(out, str_if(i > 0, ", "));
		ch_add_name(out, columns[i].name);
		str_addf(out, " %s", columns[i].type);
	}
	str_add(out, ")");
}

static void create_table(struct str *out, const char *database, unsigned table, const char *suffix,
	const char *cluster)
{
	str_add(out, "CREATE TABLE IF NOT EXISTS ");
	ch_add_name(out, database);
	str_addf(out, ".%s%s", ch_table(table), suffix);
	if (cluster) {
		str_add(out, " ON CLUSTER ");
		ch_add_name(out, cluster);
	}
	create_columns(out, table);
}

void ch_create(struct str *out, const char *database, unsigned table, const char *cluster)
{
	create_table(out, database, table, str_if(cluster != NULL, "_local"), cluster);
	if (cluster)
		str_addf(out,
			" ENGINE = ReplicatedReplacingMergeTree("
			"'/clickhouse/tables/{shard}/%s/%s', '{replica}', seq)",
			database, ch_table(table));
	else
		str_add(out, " ENGINE = ReplacingMergeTree(seq)");
	const char *partition = table_partition(table);
	if (partition)
		str_addf(out, " PARTITION BY %s", partition);
	str_addf(out, " ORDER BY (%s)", table_order(table));
}

/* Rows that replace one another, or are the same row sent twice, lie on the same shard: samples by
 * device, records by agent. */
void ch_create_distributed(
	struct str *out, const char *database, unsigned table, const char *cluster)
{
	const char *by = "agent";
	if (table < CH_SAMPLE_TABLES || table == CH_TABLE_SERIES ||
		table == ch_table_of_rows(SPOOL_FLOWS))
		by = "device";
	create_table(out, database, table, "", cluster);
	str_addf(out, " ENGINE = Distributed(");
	ch_add_name(out, cluster);
	str_add(out, ", ");
	ch_add_name(out, database);
	str_addf(out, ", %s_local, cityHash64(%s))", ch_table(table), by);
}

void ch_schema(struct str *out, const char *database, const char *cluster)
{
	str_add(out, "CREATE DATABASE IF NOT EXISTS ");
	ch_add_name(out, database);
	if (cluster) {
		str_add(out, " ON CLUSTER ");
		ch_add_name(out, cluster);
	}
	str_add(out, ";\n");
	for (unsigned table = 0; table < CH_TABLES; table++) {
		ch_create(out, database, table, cluster);
		str_add(out, ";\n");
		if (!cluster)
			continue;
		ch_create_distributed(out, database, table, cluster);
		str_add(out, ";\n");
	}
}
