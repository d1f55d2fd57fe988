/*
 * ch_rows - a batch of the spool as rows of ClickHouse's tables, and those rows read back. Both
 * directions follow the columns of ch_schema. Pure; the same batch gives the same bytes.
 */
#ifndef RW_DB_CH_ROWS_H
#define RW_DB_CH_ROWS_H

#include "db/clickhouse/ch_schema.h"
#include "db/store/spool.h"

struct bytes;

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

#endif
