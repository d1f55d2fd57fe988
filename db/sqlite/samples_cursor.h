/* samples_cursor - the cursor of rocewatch_samples: what samples_table.c (which rows) and
 * samples_column.c (their columns) share. */
#ifndef RW_DB_SAMPLES_CURSOR_H
#define RW_DB_SAMPLES_CURSOR_H

#include "db/sqlite/blocks.h"

struct arena;

struct samples_table {
	sqlite3_vtab base; /* first */
	sqlite3 *db;
};

enum samples_statement { ST_HOLD, ST_DEVICES, ST_OWNER, ST_PORT, ST_NAME, ST_TEXT, ST_COUNT };
/* The sample before the next stretch of time, of one series. */
struct carry {
	int64_t entity, t_ns;
	uint64_t value;
};

struct samples_cursor {
	sqlite3_vtab_cursor base; /* first */
	sqlite3 *db;
	struct blocks *blocks;
	sqlite3_stmt *statements[ST_COUNT];
	struct arena *query, *stretch; /* what lives as long as one of these */
	/* what is asked for */
	bool metrics[METRIC_COUNT], has[METRIC_COUNT], rates, nothing, has_priority;
	const char *port, *port_like, *port_glob;
	int64_t priority, from_ns, to_ns, entity;
	struct {
		int64_t id;
		const char *name;
	} * devices;
	size_t n_devices, cap_devices;
	/* where it is */
	size_t device; /* of the next stretch */
	unsigned metric, row_metric;
	int64_t next_ns;
	bool begun; /* the device's tail is listed */
	int64_t *only; /* entities of the device, where only some are wanted */
	size_t n_only, cap_only;
	struct carry *carries, *old_carries;
	size_t n_carries, cap_carries, n_old, cap_old, at_old;
	struct gathered *series;
	size_t n_series, at_series;
	uint32_t at;
	/* the series at hand */
	const char *device_name, *row_port;
	int row_priority;
	bool has_before;
	int64_t before_ns;
	uint64_t before;
	bool eof;
};

static inline struct samples_cursor *samples_cursor_of(sqlite3_vtab_cursor *base)
{
	return (struct samples_cursor *)base;
}

/* samples_statement - a statement that the cursor keeps. Reset by its user. SQLite's code. */
int samples_statement(
	struct samples_cursor *cursor, enum samples_statement which, sqlite3_stmt **ret);

/* samples_column - xColumn: a column of the row at hand. */
int samples_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column);

#endif
