/*
 * wide_read - samples of a file that an older version wrote (up to SCHEMA_WIDE) and no writer has
 * opened since: wide rows with one column per metric. Read as they lie there. wide_rows.c has the
 * rows.
 */
#ifndef RW_DB_WIDE_READ_H
#define RW_DB_WIDE_READ_H

#include "db/sqlite/series_db.h"

struct wide_set { /* the metrics of a column set that the file has */
	uint16_t metrics[METRIC_COUNT];
	size_t n_metrics;
};
struct wide {
	/* versions 1 and 2: rows keyed (entity, t_ns), no rows shared by priorities, no instants */
	bool by_entity;
	struct wide_set sets[COLUMN_SETS];
};

/* wide_open - prepares db->wide for a file of @version. wide_window - the series of (@from_ns,
 * @to_ns] with their anchors. wide_slice - samples of a slice, in any order. wide_range, wide_next:
 * series_db_range() and series_db_next(); @whole: of all rows, whatever they are. All but the last
 * two return a SQLite result code. */
int wide_open(struct series_db *db, int version);
int wide_window(struct series_db *db, const struct window_spec *spec, int64_t from_ns,
	int64_t to_ns, struct series_list *ret);
int wide_slice(struct series_db *db, struct series_slice *slice);
int wide_range(struct series_db *db, bool whole, int64_t *ret_first_ns, int64_t *ret_last_ns,
	struct err *e);
int wide_next(struct series_db *db, int64_t t_ns, int64_t *ret_ns, struct err *e);

/* wide_newest - the two newest instants of a device (its number) up to @at_ns; INT64_MIN where
 * there is none. */
int wide_newest(struct series_db *db, int64_t device, int64_t at_ns, int64_t ret[2]);

/* wide_rows.c: wide_select - prepares "SELECT t_ns,source,flags,x,<columns of @metrics>" for the
 * rows of one entity in one column set. wide_bind() binds ?1 and ?4; ?2 and ?3 are the times of
 * @which. */
enum { C_T, C_SOURCE, C_FLAGS, C_X, C_FIRST };
enum wide_rows {
	ROWS_WINDOW, /* ?2 < t <= ?3, ascending */
	ROWS_SLICE, /* ?2 <= t <= ?3, ascending */
	ROWS_BEFORE, /* t <= ?2, descending */
	ROWS_HAVING, /* the same, only those that have the (one) metric */
};
int wide_select(struct series_db *db, unsigned set, const uint16_t *metrics, size_t n,
	enum wide_rows which, sqlite3_stmt **ret);
void wide_bind(const struct series_db *db, sqlite3_stmt *st, unsigned set, uint32_t entity);
/* wide_row - the row at hand as samples, one for each value that is there: at most @n. */
size_t wide_row(struct series_db *db, sqlite3_stmt *st, unsigned set, uint32_t entity,
	const uint16_t *metrics, size_t n, struct sample *ret);
int wide_columns(struct series_db *db);

/* The tables by scope; those of the priorities of a port last. */
extern const char *const wide_table[SCHEMA_TABLES];

/* Do values of @entity lie in @set? Only then is it worth looking. */
static inline bool wide_lies_in(const struct series_db *db, uint32_t entity, unsigned set)
{
	int prio = column_set_prio(set);

	if (entity >= db->n_names)
		return false;
	if (prio != PRIO_NONE)
		return db->names[entity].at.prio == prio;
	return set != SCOPE_PRIO || db->names[entity].at.prio == PRIO_NONE;
}

#endif
