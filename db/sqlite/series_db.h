/* series_db - a reader of a SQLite file: what series_db.c (opening, rows), series_fill.c (windows),
 * series_scan.c (in order of time) and series_sql.c share. */
#ifndef RW_DB_SERIES_DB_H
#define RW_DB_SERIES_DB_H

#include <sqlite3.h>
#include "agent/base/map.h"
#include "db/series/history.h"
#include "db/sqlite/schema.h"

#define SERIES_WORDS ((METRIC_COUNT + 63) / 64)

struct reader_set { /* the metrics of a column set that the file has */
	uint16_t metrics[METRIC_COUNT];
	size_t n_metrics;
};
struct present {
	uint64_t bits[SERIES_WORDS];
};

struct series_db {
	struct history history; /* first */
	sqlite3 *db;
	char *path;
	struct entities *entities;
	uint64_t n_text; /* texts loaded */
	struct present *present; /* by entity: which metrics it ever had */
	uint32_t n_present; /* entities in .present and .rows */
	int64_t n_series; /* rows of table series that .present holds */
	struct row_at *rows; /* by entity */
	/* an older version's file that no writer has opened since: rows keyed (entity, t_ns), no
	 * rows shared by priorities, no instants */
	bool by_entity;
	bool old_flows; /* such a file: flows have no rows of hosts */
	struct reader_set sets[COLUMN_SETS];
	bool immutable; /* opened without a shared-memory file: nobody writes */
};

static inline struct series_db *series_db_of(struct history *history)
{
	return (struct series_db *)history;
}

/* series_db_open - .history.ops is the caller's to set. */
int series_db_open(const char *path, struct series_db **ret, struct err *e);

/* The operations of struct history_ops. */
void series_db_close(struct history *history);
const struct entities *series_db_entities(struct history *history);
int series_db_window(struct history *history, struct arena *a, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, struct window *ret, struct err *e);
int series_db_range(
	struct history *history, int64_t *ret_first_ns, int64_t *ret_last_ns, struct err *e);
int series_db_next(struct history *history, int64_t t_ns, int64_t *ret_ns, struct err *e);
int series_db_match(struct history *history, const struct history_filter *filter, uint32_t **ret,
	size_t *ret_n, struct err *e);
int series_db_each_sample(struct history *history, const struct history_filter *filter,
	sample_fn *fn, void *arg, struct err *e);
int series_db_each_flow(struct history *history, int64_t from_ns, int64_t to_ns, flow_fn *fn,
	void *arg, struct err *e);
int series_db_fabric_at(struct history *history, int64_t at_ns, char **ret_yaml, struct err *e);
int series_db_sql(struct history *history, const char *sql, row_fn *head, row_fn *fn, void *arg,
	struct err *e);

static inline bool series_present(const struct series_db *db, uint32_t entity, unsigned metric)
{
	return entity < db->n_present &&
		(db->present[entity].bits[metric / 64] >> (metric % 64) & 1);
}

/* A read transaction. It begins with new names, so that every id met in it is known. Returns a
 * SQLite result code. */
int series_begin(struct series_db *db);
void series_end(struct series_db *db);

/*
 * series_select - prepares "SELECT t_ns,source,flags,x,<columns of @metrics>" for the rows of one
 * entity in one column set. series_bind() binds ?1 and ?4; ?2 and ?3 are the times of @which.
 */
enum { C_T, C_SOURCE, C_FLAGS, C_X, C_FIRST };
enum series_rows {
	ROWS_WINDOW, /* ?2 < t <= ?3, ascending */
	ROWS_SLICE, /* ?2 <= t <= ?3, ascending */
	ROWS_BEFORE, /* t <= ?2, descending */
	ROWS_HAVING, /* the same, only those that have the (one) metric */
};
int series_select(struct series_db *db, unsigned set, const uint16_t *metrics, size_t n,
	enum series_rows which, sqlite3_stmt **ret);
void series_bind(const struct series_db *db, sqlite3_stmt *st, unsigned set, uint32_t entity);

/* Do values of @entity lie in @source? Only then is it worth looking. */
static inline bool series_lies_in(const struct series_db *db, uint32_t entity, unsigned set)
{
	int prio = column_set_prio(set);

	if (entity >= db->n_present)
		return false;
	if (prio != PRIO_NONE)
		return db->rows[entity].prio == prio;
	return set != SCOPE_PRIO || db->rows[entity].prio == PRIO_NONE;
}

/* series_row - the row at hand as samples, one for each value that is there: at most @n. */
size_t series_row(sqlite3_stmt *st, unsigned set, uint32_t entity, const uint16_t *metrics,
	size_t n, struct sample *ret);

#endif
