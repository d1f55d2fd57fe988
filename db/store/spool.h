/*
 * spool - what another system is to get of a store, in the order of commits: the samples and the
 * records of a transaction as a few bytes. The backend keeps them beside the data until every sink
 * has them (db/ship). Pure.
 *
 * The bytes name everything: devices, metrics, tables, columns. A newer program reads what an older
 * one left, and skips what it does not know.
 */
#pragma once

#include "base/base.h"
#include "db/store/store_records.h"

/* ---- tables of records ------------------------------------------------------ */

/* Each is a table of the receiving system. Samples are apart: see spool_samples. */
enum spool_table {
	SPOOL_CONFIGURATIONS,
	SPOOL_TARGETS,
	SPOOL_DEVICES,
	SPOOL_PORTS,
	SPOOL_INCIDENTS,
	SPOOL_RECOMMENDATIONS,
	SPOOL_SILENCES,
	SPOOL_ALERTS,
	SPOOL_EVENTS,
	SPOOL_BURSTS,
	SPOOL_FINDINGS,
	SPOOL_FLOWS,
	SPOOL_HEALTH,
	SPOOL_REWINDS,
	SPOOL_TABLES
};

/* One value. A text is lent; .null: not known. */
struct spool_cell {
	enum column_type type;
	bool null;
	union {
		const char *text;
		int64_t number; /* COLUMN_BOOL, COLUMN_INT, COLUMN_I64; COLUMN_U64 as its bits */
		double real;
	};
};

#define SPOOL_COLUMNS 80 /* more than any table has */
struct spool_row {
	enum spool_table table;
	bool gone; /* what the row names is no more; only its key columns count */
	struct spool_cell cells[SPOOL_COLUMNS]; /* by the table's columns */
};

const char *spool_table_name(enum spool_table table);
/* spool_columns - of a table: names and types. The offsets are this room's own. */
const struct record_column *spool_columns(enum spool_table table, size_t *ret_n);

/* spool_row_of_record - *@ret lends the record's texts. False for a record that is no row: a list,
 * or one that no table takes. */
bool spool_row_of_record(const struct store_record *record, struct spool_row *ret);
/* spool_record_of_row - the record that @row was made of; it lends the row's texts. False for a row
 * of flows or health, which are not one record. */
bool spool_record_of_row(const struct spool_row *row, struct store_record *ret);

/* A flow: of a device and a port. The texts of the row are in @a. */
void spool_row_of_flow(const struct flow_sample *flow, const char *device, const char *port,
	struct arena *a, struct spool_row *ret);
/* The sample's .entity is left 0. */
void spool_flow_of_row(const struct spool_row *row, struct flow_sample *ret,
	const char **ret_device, const char **ret_port);
/* One measure of the agent's health. */
void spool_row_of_health(const struct store_health *health, int64_t t_ns, struct spool_row *ret);
void spool_health_of_row(const struct spool_row *row, struct store_health *ret, int64_t *ret_t_ns);

/* ---- bytes ------------------------------------------------------------------- */

struct spool_name {
	const char *device, *port;
	int priority;
};
/* The samples of one transaction, or a part of them. .entity of a sample is a position in .names,
 * the value of a text a position in .texts; .metric is this program's. */
struct spool_samples {
	const struct spool_name *names;
	size_t n_names;
	const char *const *texts;
	size_t n_texts;
	const struct sample *v;
	size_t n;
};

/* spool_add_samples, spool_add_row - append to the bytes of a transaction.
 * spool_pack - the bytes as they are kept. */
void spool_add_samples(struct str *out, const struct spool_samples *samples);
void spool_add_row(struct str *out, const struct spool_row *row);
void spool_pack(const struct str *bytes, struct str *out);

/* What was packed, in its order. Callbacks return 0, or another number that ends the reading and is
 * returned. What they get is in @a. -EBADMSG: the bytes are damaged. */
struct spool_reader {
	int (*samples)(void *arg, const struct spool_samples *samples);
	int (*row)(void *arg, const struct spool_row *row);
	void *arg;
};

/*
 * spool_batch - rows of the spool as a sink sends them: read, in their order. Pure.
 */

struct spool_chunk { /* one of the two */
	const struct spool_samples *samples;
	const struct spool_row *row;
};
struct spool_part {
	int64_t seq; /* number of the spool's row */
	const struct spool_chunk *chunks;
	size_t n;
};
struct spool_batch {
	struct spool_part *parts;
	size_t n, cap;
	uint64_t n_samples, n_rows;
};

/* spool_batch_add - one row of the spool, at @data. All is in @a. 0 or -EBADMSG: damaged; nothing
 * of it was added. */
int spool_batch_add(
	struct spool_batch *batch, struct arena *a, int64_t seq, const void *data, size_t n);
