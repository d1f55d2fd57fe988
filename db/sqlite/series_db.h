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
struct series_name { /* of one of our ids */
	int64_t file_id; /* 0 = not in the file, or not read yet */
	int64_t gone_ns; /* NAME_LIVE: the agent knows it */
	uint64_t bits[SERIES_WORDS]; /* which metrics it ever had */
	struct row_at at; /* by our ids */
};

struct series_db {
	struct history history; /* first */
	sqlite3 *db;
	char *path;
	struct entities *entities;
	struct series_name *names; /* by entity */
	uint32_t n_names;
	struct map *ids, *texts; /* number in the file -> our id */
	int text_rc; /* a text could not be read since series_begin() */
	/* names that were known at .names_from_ns or later are loaded, as of .names_version */
	bool names_loaded;
	int64_t names_from_ns, names_version;
	bool names_stay; /* an older version's file, which does not say which are gone */
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
	return entity < db->n_names && (db->names[entity].bits[metric / 64] >> (metric % 64) & 1);
}
/* Was the name known at @from_ns or later? One that was gone by then has no part in what is read.
 */
static inline bool series_known(const struct series_db *db, uint32_t entity, int64_t from_ns)
{
	return entity < db->n_names && db->names[entity].file_id &&
		db->names[entity].gone_ns >= from_ns;
}

/* A read transaction. It begins with the names that a range from @from_ns on needs. Returns a
 * SQLite result code. */
int series_begin(struct series_db *db, int64_t from_ns);
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

	if (entity >= db->n_names)
		return false;
	if (prio != PRIO_NONE)
		return db->names[entity].at.prio == prio;
	return set != SCOPE_PRIO || db->names[entity].at.prio == PRIO_NONE;
}

/* series_row - the row at hand as samples, one for each value that is there: at most @n. */
size_t series_row(struct series_db *db, sqlite3_stmt *st, unsigned set, uint32_t entity,
	const uint16_t *metrics, size_t n, struct sample *ret);

/* series_names.c: series_names_load - in a transaction: names that were known at @from_ns or later.
 * series_name_of - our id of a number in the file; ENTITY_NONE when there is none. Both return a
 * SQLite result code. series_text_of - our id of a text; 0 when there is none, or, with .text_rc
 * set, when it could not be read. */
int series_names_load(struct series_db *db, int64_t from_ns);
int series_name_of(struct series_db *db, int64_t file_id, uint32_t *ret);
uint64_t series_text_of(struct series_db *db, int64_t file_id);

#endif
