/* store_write - the writer's own state, shared by store_write.c (samples) and store_jobs.c (all else, retention). */
#ifndef RW_DB_STORE_WRITE_H
#define RW_DB_STORE_WRITE_H

#include "agent/base/str.h"
#include "db/schema.h"
#include "db/store_internal.h"

#define WRITER_SEEN_WORDS ((METRIC_COUNT + 63) / 64)
#define WRITER_SMALL 32

struct writer_table {
	const char *name;
	sqlite3_stmt *insert, *select, *replace;
	uint16_t metrics[METRIC_COUNT];
	size_t n_metrics;
};
struct writer_row {
	uint32_t entity;
	int64_t t_ns;
	size_t n;
	uint64_t have[WRITER_SEEN_WORDS];
	struct row_value v[METRIC_COUNT];
	uint64_t bits[METRIC_COUNT];
};
struct run { /* samples [start, end) of one row */
	int64_t t_ns;
	uint32_t entity, table;
	size_t start, end;
};
struct seen { uint64_t bits[WRITER_SEEN_WORDS]; };
struct newly { uint32_t entity; uint16_t metric; };

struct store_writer {
	struct store_options o;
	sqlite3 *db;
	struct writer_table tables[SCHEMA_TABLES];
	int position[METRIC_COUNT]; /* of a metric among its table's columns */
	bool is_cfg[METRIC_COUNT];
	sqlite3_stmt *series;
	sqlite3_stmt *small[WRITER_SMALL]; /* prepared when first needed, by position in store_jobs.c's table */
	struct seen *seen; /* by entity: which metrics table series has */
	size_t n_seen;
	uint32_t last_entity; /* highest id noted */
	struct newly *newly; /* of the open transaction */
	size_t n_newly, cap_newly;
	struct run *runs;
	size_t cap_runs;
	struct str x;
	int wal_pages;
	/* retention: where the pass under way stands */
	uint32_t retain_entity;
	unsigned retain_table;
	int64_t retain_cutoff_ns;
};

void writer_seen_room(struct store_writer *w, uint32_t entity); /* ids up to and including @entity can be noted */

#endif
