/* store_write - the writer's own state, shared by store_write.c (samples) and store_jobs.c (all
 * else, retention). */
#ifndef RW_DB_STORE_WRITE_H
#define RW_DB_STORE_WRITE_H

#include "agent/base/str.h"
#include "db/sqlite/schema.h"
#include "db/store/store_internal.h"

#define WRITER_SEEN_WORDS ((METRIC_COUNT + 63) / 64)
#define WRITER_SMALL 40
#define WRITER_PINS 256
#define WRITER_INSERTS 16
#define ROW_COLUMNS (METRIC_COUNT * SCHEMA_LANES) /* more than any table has */
#define ROW_WORDS ((ROW_COLUMNS + 63) / 64)

/* An insert for one set of columns: polls give the same few sets again and again, and what is
 * absent then costs nothing. */
struct writer_insert {
	sqlite3_stmt *st;
	uint64_t have[ROW_WORDS];
	uint64_t used; /* when last */
};
struct writer_table {
	const char *name;
	unsigned lanes; /* 1 or SCHEMA_LANES */
	sqlite3_stmt *select, *erase;
	struct writer_insert inserts[WRITER_INSERTS];
	unsigned last; /* insert used last */
	/* of each lane: column = (lane - 1) x n_metrics + position */
	uint16_t metrics[METRIC_COUNT];
	size_t n_metrics;
};
struct writer_row { /* .v and .bits are by column, those of .have are set */
	uint32_t entity;
	int64_t t_ns;
	uint64_t have[ROW_WORDS];
	struct row_value v[ROW_COLUMNS];
	uint64_t bits[ROW_COLUMNS];
};
struct run { /* the samples of one row: a chain through .next of the writer */
	int64_t t_ns;
	uint32_t entity, table, first, last;
};
struct known { /* what the writer knows of an entity */
	uint64_t bits[WRITER_SEEN_WORDS]; /* which metrics table series has */
	struct place place;
	int64_t instant_ns; /* of a device: the instant noted last, in transaction .instant_txn */
	uint64_t instant_txn;
};
struct newly {
	uint32_t entity;
	uint16_t metric;
};

struct store_writer {
	struct store_options o;
	sqlite3 *db;
	struct writer_table tables[SCHEMA_TABLES];
	uint16_t position[METRIC_COUNT]; /* of a metric among its table's metrics */
	bool is_cfg[METRIC_COUNT];
	sqlite3_stmt *series, *instant;
	/* prepared when first needed, by position in store_jobs.c's table */
	sqlite3_stmt *small[WRITER_SMALL];
	struct known *seen; /* by entity */
	size_t n_seen;
	uint32_t last_entity; /* highest id noted */
	struct newly *newly; /* of the open transaction */
	size_t n_newly, cap_newly;
	uint64_t txn; /* transactions begun */
	uint64_t n_inserts; /* a clock for writer_insert.used */
	struct run *runs;
	uint32_t *next, *slots; /* by sample; hash of runs: position + 1 */
	size_t cap_runs, cap_next, cap_slots;
	struct writer_row row, merged;
	struct row_value odd[ROW_COLUMNS]; /* a row's values that x must name */
	struct str x;
	int wal_pages;
	/* retention: where the pass under way stands */
	int64_t retain_from_ns;
	unsigned retain_table;
	int64_t retain_cutoff_ns;
	bool retaining;
	/* stretches retention leaves alone, in order, apart from each other */
	struct pin {
		int64_t from_ns, to_ns;
	} pins[WRITER_PINS];
	size_t n_pins;
};

/* ids up to and including @entity can be noted */
void writer_seen_room(struct store_writer *writer, uint32_t entity);
void writer_place(struct store_writer *writer, uint32_t entity, struct place place);

/* writer_import - move what an older version's tables (old_*) hold into the present ones; nothing
 * to do: SQLITE_OK. store_import.c */
int writer_import(struct store_writer *writer);

#endif
