/* import_state - where the moving of an older version's samples stands. For store_import.c,
 * import_names.c and import_table.c. */
#ifndef RW_DB_IMPORT_STATE_H
#define RW_DB_IMPORT_STATE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/map.h"
#include "db/block/block_codec.h"
#include "db/sqlite/schema.h"

struct store_writer;

/* ---- names (import_names.c) ---------------------------------------------- */

/* An entity whose number stands in rows. */
struct import_row {
	int64_t entity, device; /* numbers in the file */
	int64_t lanes[SCHEMA_PRIOS]; /* of a port's priorities; 0 = there is no such entity */
	uint8_t tables; /* bit by wide table: it may have rows there, as table series says */
};
struct import_device {
	int64_t device;
	size_t first, n; /* in .rows */
	bool done; /* no instants are left */
};
struct import_names {
	struct import_row *rows; /* by device */
	size_t n_rows, cap_rows;
	struct import_device *devices;
	size_t n_devices, cap_devices;
	struct map *by_entity; /* position in .rows */
};
int import_names_load(sqlite3 *db, struct import_names *ret);
void import_names_done(struct import_names *names);

/* ---- tables (import_table.c) --------------------------------------------- */

enum { IMPORT_WIDE = SCHEMA_TABLES, IMPORT_TABLES = SCHEMA_TABLES + TABLE_PRIOS };
/* The first are those of versions 3 to 8, by enum metric_scope and TABLE_PRIOS; then come those of
 * versions 1 and 2. */
extern const char *const import_table_name[IMPORT_TABLES];

/* A value and whose it is. */
struct import_value {
	struct block_sample sample;
	int64_t device;
	uint16_t metric;
};
struct import_values {
	struct import_value *v;
	size_t n, cap;
	int64_t late_ns; /* what is later gets SF_LATE: the clock was set back meanwhile */
};

struct import_table {
	bool there;
	uint16_t metrics[METRIC_COUNT * SCHEMA_PRIOS]; /* of each column that is read */
	int8_t prios[METRIC_COUNT * SCHEMA_PRIOS];
	size_t n_columns;
	/* rows of one entity at its device's instants; their deletion; any first rows */
	sqlite3_stmt *read, *erase, *rest;
};
int import_table_open(sqlite3 *db, unsigned table, struct import_table *ret);
void import_table_close(struct import_table *table);
/* import_table_row - the values of the row at hand in @st, whose entity is @row. */
void import_table_row(const struct import_table *table, sqlite3_stmt *st,
	const struct import_row *row, struct import_values *ret);
/* The columns of a row. */
enum { O_ENTITY, O_T, O_SOURCE, O_FLAGS, O_X, O_FIRST };

/* ---- the work (store_import.c) ------------------------------------------- */

/* A stretch of time of one device: read row by row, made into blocks metric by metric, and put into
 * the file at once. */
struct import_piece {
	bool running;
	size_t device; /* in .devices of the names */
	int64_t from_ns, to_ns; /* (from, to] */
	uint64_t token; /* of the job that makes its blocks */
	size_t row; /* read next */
	uint16_t metric; /* its place in the writer's order: made next */
	struct import_values values;
	uint32_t end[METRIC_COUNT]; /* of each metric in .sorted, by its place */
	struct block_sample *sorted;
};

struct import_work {
	struct import_names names;
	struct import_table tables[IMPORT_TABLES];
	struct import_piece piece;
	size_t turn; /* of the devices */
	size_t n_done; /* devices without instants */
	sqlite3_stmt *newest, *edge, *instants;
	uint64_t moved;
};

struct import {
	bool known; /* .work says whether there is anything to move */
	struct import_work *work; /* NULL: nothing */
};

#endif
