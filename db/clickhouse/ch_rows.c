/*
 * ch_rows - samples become wide rows: one for each entity, instant, and set of flags, source and
 * watermark window. So a row's flags hold for all of its values.
 */
#include "db/clickhouse/ch_rows.h"

#include "base/bytes.h"
#include "db/clickhouse/ch_client.h"

/* ---- ch_schema - tables and their keys.
 *
 * Samples are ordered by the hour, then by series: a window of minutes over all ports reads one
 * hour, a day of one port 24 short ranges. Each day is a partition of its own: dropping one is how
 * old samples go. (18.16 has no TTL and no CODEC.) */

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
static void ch_create_distributed(
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

/* ---- samples -------------------------------------------------------------------- */

struct row_value { /* a sample on its way into a row */
	const struct sample *sample;
	uint32_t number; /* in the order they came */
};

static int compare_u64(uint64_t left, uint64_t right)
{
	return (left > right) - (left < right);
}

static int compare_instant(const struct sample *left, const struct sample *right)
{
	if (left->entity != right->entity)
		return compare_u64(left->entity, right->entity);
	return (left->t_ns > right->t_ns) - (left->t_ns < right->t_ns);
}

/* By entity, time, metric, and who came first. */
static int value_order(const void *left, const void *right)
{
	const struct row_value *x = left, *y = right;
	int r = compare_instant(x->sample, y->sample);
	if (r == 0)
		r = compare_u64(x->sample->metric, y->sample->metric);
	if (r == 0)
		r = compare_u64(x->number, y->number);
	return r;
}

static uint64_t row_kind(const struct sample *sample)
{
	return (uint64_t)sample->window_ms << 32 | (uint64_t)sample->source << 16 | sample->flags;
}

/* By entity, time, kind of row, metric. */
static int row_order(const void *left, const void *right)
{
	const struct row_value *x = left, *y = right;
	int r = compare_instant(x->sample, y->sample);
	if (r == 0)
		r = compare_u64(row_kind(x->sample), row_kind(y->sample));
	if (r == 0)
		r = compare_u64(x->sample->metric, y->sample->metric);
	return r;
}

/* Devices that are asked entity by entity come sorted. */
static void values_sort(
	struct row_value *v, size_t n, int (*order)(const void *left, const void *right))
{
	size_t i = 1;
	while (i < n && order(&v[i - 1], &v[i]) <= 0)
		i++;
	if (i < n)
		qsort(v, n, sizeof(*v), order);
}

/* As the store does: of two values of one instant the first one stays; NAN is no value. */
static size_t values_gather(
	const struct spool_samples *samples, unsigned scope, struct row_value *v)
{
	size_t n = 0, kept = 0;
	for (size_t i = 0; i < samples->n; i++) {
		const struct sample *sample = &samples->v[i];
		const struct metric_info *info = metric_info(sample->metric);
		if ((unsigned)info->scope != scope)
			continue;
		if (info->type == TYPE_F64 && isnan(sample_f64(sample->value)))
			continue;
		v[n++] = (struct row_value){sample, (uint32_t)i};
	}
	values_sort(v, n, value_order);
	for (size_t i = 0; i < n; i++) {
		const bool again = kept > 0 &&
			compare_instant(v[kept - 1].sample, v[i].sample) == 0 &&
			v[kept - 1].sample->metric == v[i].sample->metric;
		if (!again)
			v[kept++] = v[i];
	}
	values_sort(v, kept, row_order);
	return kept;
}

static void put_head(struct str *out, const char *agent, int64_t seq, uint32_t part)
{
	rowbinary_put_text(out, agent);
	rowbinary_put_fixed(out, (uint64_t)seq, 8);
	rowbinary_put_fixed(out, part, 4);
}

static void put_value(
	struct str *out, const struct spool_samples *samples, const struct sample *sample)
{
	rowbinary_put_null(out, false);
	if (metric_info(sample->metric)->type == TYPE_TEXT)
		rowbinary_put_text(out, samples->texts[sample->value]);
	else
		rowbinary_put_fixed(out, sample->value, 8);
}

/* The metrics of a scope that occur in a batch. */
struct row_metrics {
	uint16_t v[METRIC_COUNT];
	size_t n;
	bool have[METRIC_COUNT];
};

static void put_sample_row(struct str *out, const struct spool_samples *samples,
	const struct row_value *v, size_t n, const struct row_metrics *metrics)
{
	const struct sample *first = v[0].sample;
	const struct spool_name *name = &samples->names[first->entity];
	size_t at = 0;
	rowbinary_put_fixed(out, (uint64_t)first->t_ns, 8);
	rowbinary_put_text(out, name->device);
	rowbinary_put_text(out, name->port);
	rowbinary_put_fixed(out, (uint64_t)(int64_t)name->priority, 1);
	rowbinary_put_fixed(out, first->flags, 2);
	rowbinary_put_fixed(out, first->source, 1);
	rowbinary_put_fixed(out, first->window_ms, 4);
	for (size_t i = 0; i < metrics->n; i++) {
		if (at < n && v[at].sample->metric == metrics->v[i])
			put_value(out, samples, v[at++].sample);
		else
			rowbinary_put_null(out, true);
	}
}

static bool same_sample_row(const struct sample *left, const struct sample *right)
{
	return compare_instant(left, right) == 0 && row_kind(left) == row_kind(right);
}

struct ch_writing {
	const char *agent;
	struct row_metrics metrics[CH_SAMPLE_TABLES];
	struct ch_insertion tables[CH_TABLES];
	struct row_value *values; /* room for the samples of one chunk */
	size_t cap_values;
};

static void write_samples(struct ch_writing *writing, int64_t seq,
	const struct spool_samples *samples, uint32_t *part)
{
	if (samples->n > writing->cap_values) {
		writing->cap_values = samples->n;
		writing->values =
			rw_realloc(writing->values, samples->n * sizeof(*writing->values));
	}
	for (unsigned scope = 0; scope < CH_SAMPLE_TABLES; scope++) {
		const struct row_value *v = writing->values;
		const size_t n = values_gather(samples, scope, writing->values);
		struct ch_insertion *to = &writing->tables[scope];
		for (size_t i = 0, next; i < n; i = next) {
			next = i + 1;
			while (next < n && same_sample_row(v[i].sample, v[next].sample))
				next++;
			put_head(&to->rows, writing->agent, seq, (*part)++);
			put_sample_row(
				&to->rows, samples, v + i, next - i, &writing->metrics[scope]);
			to->n++;
		}
	}
}

static void metrics_find(const struct spool_batch *batch, struct row_metrics *ret)
{
	bool have[METRIC_COUNT] = {0};
	for (size_t p = 0; p < batch->n; p++)
		for (size_t c = 0; c < batch->parts[p].n; c++) {
			const struct spool_samples *samples = batch->parts[p].chunks[c].samples;
			for (size_t i = 0; samples && i < samples->n; i++)
				have[samples->v[i].metric] = true;
		}
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		struct row_metrics *to = &ret[metric_info(m)->scope];
		if (have[m])
			to->v[to->n++] = (uint16_t)m;
	}
}

/* ---- records -------------------------------------------------------------------- */

/* A table's columns are few, and asked for with each row: their types once. */
static bool column_nullable(enum spool_table table, size_t i)
{
	static struct ch_column columns[SPOOL_TABLES][CH_COLUMNS_MAX];
	static bool known[SPOOL_TABLES];
	enum { HEAD = 4 }; /* agent, seq, row, gone */
	if (!__atomic_load_n(&known[table], __ATOMIC_ACQUIRE)) {
		struct ch_column fresh[CH_COLUMNS_MAX];
		const unsigned n = ch_columns(ch_table_of_rows(table), fresh);
		memcpy(columns[table], fresh, n * sizeof(*fresh));
		__atomic_store_n(&known[table], true, __ATOMIC_RELEASE);
	}
	return strncmp(columns[table][HEAD + i].type, "Nullable", 8) == 0;
}

static void put_cell(struct str *out, const struct spool_cell *cell, bool nullable)
{
	if (nullable)
		rowbinary_put_null(out, cell->null);
	if (nullable && cell->null)
		return;
	switch (cell->type) {
	case COLUMN_TEXT: rowbinary_put_text(out, str_if(!cell->null, cell->text)); break;
	case COLUMN_REAL: rowbinary_put_f64(out, cell->real); break;
	case COLUMN_BOOL: rowbinary_put_fixed(out, cell->number != 0, 1); break;
	default: rowbinary_put_fixed(out, (uint64_t)cell->number, 8);
	}
}

static void write_row(
	struct ch_writing *writing, int64_t seq, const struct spool_row *row, uint32_t part)
{
	struct ch_insertion *to = &writing->tables[ch_table_of_rows(row->table)];
	size_t n;
	spool_columns(row->table, &n);
	put_head(&to->rows, writing->agent, seq, part);
	rowbinary_put_fixed(&to->rows, row->gone, 1);
	for (size_t i = 0; i < n; i++)
		put_cell(&to->rows, &row->cells[i], column_nullable(row->table, i));
	to->n++;
}

/* ---- statements ----------------------------------------------------------------- */

static void add_columns_of_rows(struct str *out, enum spool_table table)
{
	size_t n;
	const struct record_column *columns = spool_columns(table, &n);
	str_add(out, "agent,seq,row,gone");
	for (size_t i = 0; i < n; i++) {
		str_add(out, ",");
		ch_add_name(out, columns[i].name);
	}
}

static void add_columns_of_samples(struct str *out, const uint16_t *metrics, size_t n)
{
	char name[CH_COLUMN_MAX];
	str_add(out, "agent,seq,row,t_ns,device,port,priority,flags,source,window_ms");
	for (size_t i = 0; i < n; i++) {
		ch_metric_column(name, metrics[i]);
		str_add(out, ",");
		ch_add_name(out, name);
	}
}

static void insertion_sql(struct ch_writing *writing, unsigned table, struct str *out)
{
	str_addf(out, "INSERT INTO %s (", ch_table(table));
	if (table < CH_SAMPLE_TABLES)
		add_columns_of_samples(out, writing->metrics[table].v, writing->metrics[table].n);
	else
		add_columns_of_rows(out, (enum spool_table)(table - CH_SAMPLE_TABLES));
	str_add(out, ") FORMAT RowBinary");
}

void ch_insertions_of(const struct spool_batch *batch, const char *agent, struct ch_insertions *ret)
{
	rw_cleanup(freep) struct ch_writing *writing = rw_calloc(1, sizeof(*writing));
	writing->agent = agent;
	metrics_find(batch, writing->metrics);
	for (size_t p = 0; p < batch->n; p++) {
		const struct spool_part *from = &batch->parts[p];
		uint32_t part = 0;
		for (size_t c = 0; c < from->n; c++) {
			if (from->chunks[c].samples)
				write_samples(writing, from->seq, from->chunks[c].samples, &part);
			else
				write_row(writing, from->seq, from->chunks[c].row, part++);
		}
	}
	free(writing->values);
	/* records first: whoever sees samples sees the configuration they came under */
	for (unsigned i = 0; i < CH_TABLES; i++) {
		const unsigned table = (i + CH_SAMPLE_TABLES) % CH_TABLES;
		struct ch_insertion *from = &writing->tables[table];
		if (from->n == 0)
			continue;
		from->table = table;
		insertion_sql(writing, table, &from->sql);
		ret->v[ret->n++] = *from;
	}
}

void ch_insertions_done(struct ch_insertions *insertions)
{
	for (unsigned i = 0; i < insertions->n; i++) {
		str_done(&insertions->v[i].sql);
		str_done(&insertions->v[i].rows);
	}
	insertions->n = 0;
}

/* ---- series --------------------------------------------------------------------- */

void ch_series_row(struct str *out, const char *agent, int64_t seq, const struct spool_name *name,
	unsigned metric, int64_t first_ns)
{
	put_head(out, agent, seq, 0);
	rowbinary_put_text(out, name->device);
	rowbinary_put_text(out, name->port);
	rowbinary_put_fixed(out, (uint64_t)(int64_t)name->priority, 1);
	rowbinary_put_text(out, metric_info(metric)->name);
	rowbinary_put_fixed(out, (uint64_t)first_ns, 8);
}

void ch_series_sql(struct str *out)
{
	str_add(out,
		"INSERT INTO series (agent,seq,row,device,port,priority,metric,first_ns) FORMAT "
		"RowBinary");
}

/* ---- reading -------------------------------------------------------------------- */

static void read_head(struct bytes *in, struct arena *a, struct ch_row_head *ret)
{
	ret->agent = rowbinary_get_text(in, a);
	ret->seq = rowbinary_get_fixed(in, 8);
	ret->part = (uint32_t)rowbinary_get_fixed(in, 4);
}

static void read_cell(struct bytes *in, struct arena *a, enum column_type type, bool nullable,
	struct spool_cell *ret)
{
	*ret = (struct spool_cell){.type = type};
	if (nullable && rowbinary_get_null(in)) {
		ret->null = true;
		return;
	}
	switch (type) {
	case COLUMN_TEXT: ret->text = rowbinary_get_text(in, a); break;
	case COLUMN_REAL: ret->real = rowbinary_get_f64(in); break;
	case COLUMN_BOOL: ret->number = (int64_t)rowbinary_get_fixed(in, 1); break;
	default: ret->number = (int64_t)rowbinary_get_fixed(in, 8);
	}
}

void ch_select_rows(struct str *out, enum spool_table table)
{
	str_add(out, "SELECT ");
	add_columns_of_rows(out, table);
	str_addf(out, " FROM %s", ch_table(ch_table_of_rows(table)));
}

void ch_read_row(struct bytes *in, struct arena *a, enum spool_table table,
	struct ch_row_head *ret_head, struct spool_row *ret)
{
	size_t n;
	const struct record_column *columns = spool_columns(table, &n);
	read_head(in, a, ret_head);
	ret->table = table;
	ret->gone = rowbinary_get_fixed(in, 1) != 0;
	for (size_t i = 0; i < n; i++)
		read_cell(in, a, columns[i].type, column_nullable(table, i), &ret->cells[i]);
}

void ch_select_samples(struct str *out, unsigned scope, const uint16_t *metrics, size_t n)
{
	str_add(out, "SELECT ");
	add_columns_of_samples(out, metrics, n);
	str_addf(out, " FROM %s", ch_table(scope));
}

void ch_read_sample_row(struct bytes *in, struct arena *a, const uint16_t *metrics, size_t n,
	struct ch_sample_row *ret)
{
	read_head(in, a, &ret->head);
	ret->shared = (struct sample){.t_ns = (int64_t)rowbinary_get_fixed(in, 8)};
	ret->name.device = rowbinary_get_text(in, a);
	ret->name.port = rowbinary_get_text(in, a);
	ret->name.priority = (int8_t)rowbinary_get_fixed(in, 1);
	ret->shared.flags = (uint16_t)rowbinary_get_fixed(in, 2);
	ret->shared.source = (uint16_t)rowbinary_get_fixed(in, 1);
	ret->shared.window_ms = (uint32_t)rowbinary_get_fixed(in, 4);
	for (size_t i = 0; i < n; i++) {
		ret->have[i] = !rowbinary_get_null(in);
		if (!ret->have[i])
			continue;
		if (metric_info(metrics[i])->type == TYPE_TEXT)
			ret->texts[i] = rowbinary_get_text(in, a);
		else
			ret->values[i] = rowbinary_get_fixed(in, 8);
	}
}
