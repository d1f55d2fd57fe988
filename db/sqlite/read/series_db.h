/* series_db - a reader of a SQLite file: what series_db.c (opening), series_db.c, series_scan.c
 * (windows), series_scan.c (in order of time), series_ends.c and series_sql.c share. */
#pragma once

#include <sqlite3.h>

#include "base/base.h"
#include "db/series/history.h"
#include "db/sqlite/schema/schema.h"

struct blocks;

#define SERIES_WORDS ((METRIC_COUNT + 63) / 64)

struct series_name { /* of one of our ids */
	int64_t file_id; /* 0 = not in the file, or not read yet */
	int64_t gone_ns; /* NAME_LIVE: the agent knows it */
	int64_t version; /* of the file's names when it was read */
};

struct series_db {
	struct history history; /* first */
	sqlite3 *db;
	char *path;
	struct entities *entities;
	struct series_name *names; /* by entity */
	uint32_t n_names;
	/* number in the file -> our id, ENTITY_NONE; in .far numbers that others' files have */
	uint32_t *near;
	size_t n_near;
	struct map *far, *texts;
	int text_rc; /* a text could not be read since series_begin() */
	int names_rc; /* names could not be read; the next transaction says so */
	/* names that were known at .names_from_ns or later are loaded, as of .names_version */
	bool names_loaded;
	int64_t names_from_ns, names_version, taking_version;
	unsigned names_lanes; /* .lanes of struct window_spec: of these only; 0 = all */
	/* before that: devices whose names were read, as of .parts_version */
	struct smap *parts;
	int64_t parts_from_ns, parts_version;
	sqlite3_stmt *having; /* the metrics of an entity */
	sqlite3_stmt *naming; /* a name by its number in the file */
	/* which metrics a name ever had, SERIES_WORDS each; read when it is asked for
	 * (series_present_load()) */
	uint64_t *present;
	uint32_t n_present;
	int64_t present_from_ns, present_version;
	struct blocks *blocks;
	/* [whole][newest]: an end of the file as it was at .version of it; 0 = not known */
	struct series_end {
		int64_t version, at_ns, t_ns;
	} ends[2][2];
	int64_t snapshot_until_ns; /* monotonic: a read under way ends then; 0 = none is */
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
const struct entities *series_db_names(struct history *history);
int series_db_window(struct history *history, struct arena *a, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, struct window *ret, struct err *e);
int series_db_range(
	struct history *history, int64_t *ret_first_ns, int64_t *ret_last_ns, struct err *e);
int series_db_next(struct history *history, int64_t t_ns, int64_t *ret_ns, struct err *e);
int series_db_match(struct history *history, const struct history_filter *filter, uint32_t **ret,
	size_t *ret_n, struct err *e);
int series_db_each_sample(struct history *history, const struct history_filter *filter,
	sample_fn *fn, void *arg, struct err *e);
int series_db_each_rollup(struct history *history, const struct history_filter *filter,
	int64_t step_ns, rollup_fn *fn, void *arg, struct err *e);
int series_db_each_flow(struct history *history, int64_t from_ns, int64_t to_ns, flow_fn *fn,
	void *arg, struct err *e);
int series_db_newest(
	struct history *history, int64_t at_ns, newest_fn *fn, void *arg, struct err *e);
int series_db_moved(struct history *history, const struct window_spec *spec, int64_t from_ns,
	int64_t to_ns, unsigned *ret, struct err *e);
int series_db_delivered(struct history *history, const struct window_spec *spec, int64_t from_ns,
	int64_t to_ns, delivered_fn *fn, void *arg, struct err *e);
int series_db_fabric_at(struct history *history, int64_t at_ns, char **ret_yaml, struct err *e);
int series_db_sql(struct history *history, const char *sql, row_fn *head, row_fn *fn, void *arg,
	struct err *e);

/* series_usage - what each series was in (from, to], or in each step of it, from its single values:
 * device by device and metric by metric (tally.h), one series after the other in each. @fn must
 * not read; what it returns is not looked at. Errors as struct history. series_scan.c */
int series_usage(struct series_db *db, const struct history_filter *filter, int64_t step_ns,
	rollup_sketch_fn *fn, void *arg, struct err *e);

/* While a read lasts, the write-ahead log cannot be shortened behind it: after SERIES_SNAPSHOT_S it
 * ends with SQLITE_INTERRUPT. series_begin() and series_end() call these. series_db.c */
#define SERIES_SNAPSHOT_S 300
void series_snapshot_begin(struct series_db *db);
void series_snapshot_end(struct series_db *db);

/* series_present - did the entity ever have the metric? After series_present_load(). */
static inline bool series_present(const struct series_db *db, uint32_t entity, unsigned metric)
{
	if (entity >= db->n_present)
		return false;
	return db->present[(size_t)entity * SERIES_WORDS + metric / 64] >> (metric % 64) & 1;
}
/* series_numbered - our id of a name by its number in the file, as far as names were read; else
 * ENTITY_NONE. */
static inline uint32_t series_numbered(const struct series_db *db, int64_t file_id)
{
	uint64_t id = ENTITY_NONE;
	if (file_id >= 0 && (size_t)file_id < db->n_near)
		return db->near[file_id];
	map_get(db->far, (uint64_t)file_id, &id);
	return (uint32_t)id;
}
/* Was the name known at @from_ns or later? One that was gone by then has no part in what is read.
 */
static inline bool series_known(const struct series_db *db, uint32_t entity, int64_t from_ns)
{
	return entity < db->n_names && db->names[entity].file_id &&
		db->names[entity].gone_ns >= from_ns;
}

/* A read transaction. series_begin - it begins with the names that a range from @from_ns on needs;
 * series_begin_bare - the caller reads those that it needs. Return a SQLite result code. */
int series_begin_bare(struct series_db *db);
void series_end(struct series_db *db);

/* ---- what windows and slices are made of ------------------------------------- */

/* A slice of time of each_sample(): which samples, and those that were read. */
struct series_slice {
	const bool *metrics; /* by metric: is it wanted? */
	bool (*takes)(void *arg, uint32_t entity);
	void *arg;
	int64_t from_ns, to_ns; /* both belong to it */
	struct sample *v;
	size_t n, cap;
};

/* series_db.c: series_names_load - in a transaction: names that were known at @from_ns or later.
 * series_present_load - the same of what series_present() says; expensive where names are many.
 * series_name_of - our id of a number in the file; ENTITY_NONE when there is none. series_name_now
 * - the same as of the names' version now, whenever it was read before. All return a SQLite result
 * code. series_text_of - our id of a text; 0 when there is none, or, with .text_rc
 * set, when it could not be read. */
int series_names_load(struct series_db *db, int64_t from_ns);
/* series_names_lanes - the same, of priorities only those of .lanes of struct window_spec. */
int series_names_lanes(struct series_db *db, int64_t from_ns, unsigned lanes);

/* Names of a part, while not all are loaded; in a transaction, SQLite result codes.
 * series_names_filter - those of devices that match @device (a glob; NULL: all); *@ret_part (may be
 * NULL): only they were read. series_names_some - those that the names @ids (ours) need.
 * series_entity_has - did the entity, whose name is loaded, ever have one of @metrics? */
int series_names_filter(struct series_db *db, int64_t from_ns, const char *device, bool *ret_part);
int series_names_some(struct series_db *db, int64_t from_ns, const uint32_t *ids, size_t n);
int series_entity_has(
	struct series_db *db, uint32_t id, const bool metrics[METRIC_COUNT], bool *ret);
int series_present_load(struct series_db *db, int64_t from_ns);
int series_name_of(struct series_db *db, int64_t file_id, uint32_t *ret);
int series_name_now(struct series_db *db, int64_t file_id, uint32_t *ret);
uint64_t series_text_of(struct series_db *db, int64_t file_id);
