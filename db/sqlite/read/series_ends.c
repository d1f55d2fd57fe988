/* series_ends - the oldest and the newest sample of a file, of each device, and the next one after
 * an instant. */
#include "db/sqlite/read/series_ends.h"

#include "db/model/metric.h"
#include "db/sqlite/read/blocks.h"
#include "db/sqlite/schema/sqlite_io.h"

#define ENDS_NONE INT64_MIN

/*
 * blocks_ends - the oldest and the newest instants of a file of blocks. As blocks.h: in a
 * transaction, SQLite result codes.
 *
 * blocks_ends - the oldest and the newest instants. A row says between which instants its samples
 * lie, so few rows are decoded: only those that may move the answer.
 */

struct ends {
	struct blocks *blocks;
	struct arena *scratch;
	int64_t at_ns;
	bool late, newest;
	size_t wanted; /* 1 or 2 */
	int64_t bound_ns; /* the best that the row at hand can have */
	int64_t best[2]; /* the best one first; ENDS_NONE */
};

/* ---- instants of a row -------------------------------------------------------- */

/* Is @t_ns better than the worst of those that are kept? */
static bool ends_better(const struct ends *ends, int64_t t_ns)
{
	const int64_t worst = ends->best[ends->wanted - 1];

	if (t_ns > ends->at_ns)
		return false;
	if (worst == ENDS_NONE)
		return true;
	if (ends->newest)
		return t_ns > worst;
	return t_ns < worst;
}

static void ends_take(struct ends *ends, int64_t t_ns)
{
	if (!ends_better(ends, t_ns) || t_ns == ends->best[0])
		return;
	const bool first = ends->best[0] == ENDS_NONE || (t_ns > ends->best[0]) == ends->newest;
	if (ends->wanted == 1 || !first) {
		ends->best[ends->wanted - 1] = t_ns;
		return;
	}
	ends->best[1] = ends->best[0];
	ends->best[0] = t_ns;
}

static int ends_read_marked(struct ends *ends, struct block_reader *reader, uint32_t i)
{
	struct block_columns columns;

	if (block_read(reader, i, INT64_MIN, ends->at_ns, ends->scratch, &columns) < 0)
		return SQLITE_CORRUPT;
	for (uint32_t k = 0; k < columns.n; k++)
		if (!columns.flags || !(columns.flags[k] & SF_LATE))
			ends_take(ends, columns.t_ns[k]);
	return SQLITE_OK;
}

/* Series of a block mostly have the same instants, which are looked at once, without the values. */
static int ends_read_block(struct ends *ends, struct block_reader *reader)
{
	const int64_t *seen = NULL;
	int rc = SQLITE_OK;

	arena_reset(ends->scratch);
	block_share(reader, ends->scratch);
	for (uint32_t i = 0; rc == SQLITE_OK && i < block_series(reader); i++) {
		struct block_columns columns;
		bool marked;
		if (!ends_better(ends, ends->bound_ns))
			break;
		if (block_instants(reader, i, ends->scratch, &columns, &marked) < 0)
			return SQLITE_CORRUPT;
		if (!ends->late && (marked || (reader->flags & SF_LATE)))
			rc = ends_read_marked(ends, reader, i);
		else if (columns.t_ns != seen)
			for (uint32_t k = 0; k < columns.n; k++)
				ends_take(ends, columns.t_ns[k]);
		if (ends->late || !(marked || (reader->flags & SF_LATE)))
			seen = columns.t_ns;
	}
	block_share(reader, NULL);
	return rc;
}

static int ends_read_tail(struct ends *ends, int64_t id)
{
	struct tail_row row = {.id = id};
	int rc = SQLITE_OK;

	for (unsigned m = 0; rc == SQLITE_OK && m < METRIC_COUNT; m++) {
		struct block_reader reader;
		bool has = false;
		if (!ends_better(ends, ends->bound_ns))
			break;
		if (ends->blocks->number[m] != 0)
			rc = blocks_tail_segment(
				ends->blocks, &row, ends->blocks->number[m], NULL, &reader, &has);
		if (rc == SQLITE_OK && has)
			rc = ends_read_block(ends, &reader);
	}
	return rc;
}

/* ---- rows ------------------------------------------------------------------------ */

/* The best that a row from @from_ns to @to_ns can have. */
static int64_t ends_of_row(const struct ends *ends, int64_t from_ns, int64_t to_ns)
{
	if (!ends->newest)
		return from_ns;
	if (to_ns > ends->at_ns)
		return ends->at_ns;
	return to_ns;
}

static int ends_tail(struct ends *ends, int64_t device)
{
	sqlite3_stmt *st;
	const enum blocks_statement which = ends->newest ? BLOCKS_TAIL_DOWN : BLOCKS_TAIL_UP;
	int rc = blocks_prepared(ends->blocks, which, &st);

	if (rc != SQLITE_OK)
		return rc;
	arena_reset(ends->blocks->tail_arena);
	ends->blocks->has_device = false;
	sqlite3_bind_int64(st, 1, device);
	sqlite3_bind_int64(st, 2, ends->at_ns);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const int64_t from_ns = sqlite3_column_int64(st, 1),
			      to_ns = sqlite3_column_int64(st, 2);
		ends->bound_ns = ends_of_row(ends, from_ns, to_ns);
		if (!ends_better(ends, ends->bound_ns)) {
			if (ends->newest && to_ns <= ends->at_ns)
				break; /* and so it is with those that end before */
			continue;
		}
		rc = SQLITE_OK;
		if (ends->late && from_ns == to_ns)
			ends_take(ends, to_ns); /* there is no other instant in it */
		else
			rc = ends_read_tail(ends, sqlite3_column_int64(st, 0));
		if (rc != SQLITE_OK)
			break;
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return reset;
	return rc;
}

/* Blocks of one metric, from the end that is asked for. */
static int ends_metric(struct ends *ends, int64_t device, int64_t number)
{
	sqlite3_stmt *st, *data;
	const enum blocks_statement which = ends->newest ? BLOCKS_DOWN : BLOCKS_UP;
	int rc = blocks_prepared(ends->blocks, which, &st);

	if (rc == SQLITE_OK)
		rc = blocks_prepared(ends->blocks, BLOCKS_DATA, &data);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, device);
	sqlite3_bind_int64(st, 2, number);
	sqlite3_bind_int64(st, 3, ends->at_ns);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const int64_t from_ns = sqlite3_column_int64(st, 0);
		struct block_reader reader;
		ends->bound_ns = ends_of_row(ends, from_ns, sqlite3_column_int64(st, 1));
		if (!ends_better(ends, ends->bound_ns))
			break;
		sqlite3_bind_int64(data, 1, device);
		sqlite3_bind_int64(data, 2, number);
		sqlite3_bind_int64(data, 3, from_ns);
		rc = sqlite3_step(data);
		if (rc == SQLITE_ROW)
			rc = block_open(&reader, sqlite3_column_blob(data, 0),
				     (size_t)sqlite3_column_bytes(data, 0)) < 0
				? SQLITE_CORRUPT
				: ends_read_block(ends, &reader);
		sqlite3_reset(data);
		if (rc != SQLITE_OK)
			break;
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return reset;
	return rc;
}

/* ---- where to look first ---------------------------------------------------------- */

/* The tail of a device or its blocks of one metric, by the best instant they can have: the most
 * promising are read first, and then most need not be read at all. */
struct ends_place {
	int64_t device, number; /* of a metric; 0 = the tail */
	int64_t bound_ns;
};
struct ends_places {
	struct ends_place *v;
	size_t n, cap;
};

static void places_add(struct ends_places *places, int64_t device, int64_t number, int64_t bound_ns)
{
	rw_grow(places->v, places->n, places->cap);
	places->v[places->n++] = (struct ends_place){device, number, bound_ns};
}

static int place_later_first(const void *left, const void *right)
{
	const int64_t x = ((const struct ends_place *)left)->bound_ns,
		      y = ((const struct ends_place *)right)->bound_ns;

	return (x < y) - (x > y);
}

static int place_earlier_first(const void *left, const void *right)
{
	return place_later_first(right, left);
}

static int places_add_tail(struct ends_places *places, const struct ends *ends, int64_t device)
{
	sqlite3_stmt *st;
	const enum blocks_statement which = ends->newest ? BLOCKS_TAIL_DOWN : BLOCKS_TAIL_UP;
	int64_t bound_ns = ENDS_NONE;
	int rc = blocks_prepared(ends->blocks, which, &st);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, device);
	sqlite3_bind_int64(st, 2, ends->at_ns);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const int64_t row_ns =
			ends_of_row(ends, sqlite3_column_int64(st, 1), sqlite3_column_int64(st, 2));
		if (bound_ns == ENDS_NONE || row_ns < bound_ns)
			bound_ns = row_ns;
		if (ends->newest)
			break; /* the first is the latest */
	}
	const int reset = sqlite3_reset(st);
	if (bound_ns != ENDS_NONE)
		places_add(places, device, 0, bound_ns);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return reset;
	return rc;
}

/* The latest that a block from @from_ns can have, without a look at it: blocks cover slices that
 * are parts of an hour, (begin, end] (store_seal.c). */
static int64_t ends_of_slice(int64_t from_ns)
{
	const int64_t hour_ns = 3600 * NS_PER_S;
	int64_t into_ns = from_ns % hour_ns;

	if (into_ns <= 0)
		into_ns += hour_ns;
	if (from_ns > INT64_MAX - hour_ns)
		return INT64_MAX;
	return from_ns - into_ns + hour_ns;
}

static int places_add_blocks(struct ends_places *places, const struct ends *ends, int64_t device)
{
	const enum blocks_statement which = ends->newest ? BLOCKS_LAST_OF : BLOCKS_FIRST_OF;
	int64_t number = ends->newest ? INT64_MAX : INT64_MIN;
	sqlite3_stmt *st;
	int rc = blocks_prepared(ends->blocks, which, &st);

	while (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, device);
		sqlite3_bind_int64(st, 2, number);
		rc = sqlite3_step(st);
		if (rc == SQLITE_ROW) {
			number = sqlite3_column_int64(st, 0);
			const int64_t from_ns = sqlite3_column_int64(st, 1);
			places_add(places, device, number,
				ends_of_row(ends, from_ns, ends_of_slice(from_ns)));
		}
		const int reset = sqlite3_reset(st);
		if (rc == SQLITE_DONE)
			return SQLITE_OK;
		if (rc != SQLITE_ROW)
			return reset;
		rc = SQLITE_OK;
	}
	return rc;
}

/* Does this program know the metric with this number? */
static bool ends_knows(const struct blocks *blocks, int64_t number)
{
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		if (blocks->number[m] == number)
			return true;
	return false;
}

static int ends_search(struct ends *ends, const int64_t *devices, size_t n)
{
	struct ends_places places = {0};
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < n; i++) {
		rc = places_add_tail(&places, ends, devices[i]);
		if (rc == SQLITE_OK)
			rc = places_add_blocks(&places, ends, devices[i]);
	}
	if (places.n > 1)
		qsort(places.v, places.n, sizeof(*places.v),
			ends->newest ? place_later_first : place_earlier_first);
	for (size_t i = 0; rc == SQLITE_OK && i < places.n; i++) {
		const struct ends_place *place = &places.v[i];
		if (!ends_better(ends, place->bound_ns))
			break;
		if (place->number == 0)
			rc = ends_tail(ends, place->device);
		else if (ends_knows(ends->blocks, place->number))
			rc = ends_metric(ends, place->device, place->number);
	}
	free(places.v);
	return rc;
}

static void ends_init(
	struct ends *ends, struct blocks *blocks, bool newest, bool late, int64_t at_ns)
{
	*ends = (struct ends){.blocks = blocks,
		.scratch = arena_new(),
		.at_ns = at_ns,
		.late = late,
		.newest = newest,
		.wanted = 1,
		.best = {ENDS_NONE, ENDS_NONE}};
}

/* blocks_newest - the two newest instants of @device (its number) that are not after @at_ns;
 * ENDS_NONE where there is none. @late: those that came too late count as well. */
static int blocks_newest(
	struct blocks *blocks, int64_t device, int64_t at_ns, bool late, int64_t ret[2])
{
	struct ends ends;

	ends_init(&ends, blocks, true, late, at_ns);
	ends.wanted = 2;
	const int rc = ends_search(&ends, &device, 1);
	arena_free(ends.scratch);
	memcpy(ret, ends.best, sizeof(ends.best));
	return rc;
}

/* ---- the next one ------------------------------------------------------------------ */

/* The smallest number of a statement's first row that is after @t_ns, or @t_ns + 1 where the row
 * reaches over it. Parameters are bound; columns: from_ns, to_ns. */
static int ends_next_row(sqlite3_stmt *st, int64_t t_ns, int64_t *best)
{
	int rc = sqlite3_step(st);

	if (rc == SQLITE_ROW) {
		int64_t from_ns = sqlite3_column_int64(st, 0);
		if (from_ns <= t_ns)
			from_ns = t_ns + 1;
		if (sqlite3_column_int64(st, 1) > t_ns && (*best == ENDS_NONE || from_ns < *best))
			*best = from_ns;
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return reset;
	return rc;
}

static int ends_next_metric(
	struct blocks *blocks, int64_t device, int64_t number, int64_t t_ns, int64_t *best)
{
	const enum blocks_statement both[] = {BLOCKS_DOWN, BLOCKS_AFTER};
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < rw_countof(both); i++) {
		sqlite3_stmt *st;
		rc = blocks_prepared(blocks, both[i], &st);
		if (rc != SQLITE_OK)
			break;
		sqlite3_bind_int64(st, 1, device);
		sqlite3_bind_int64(st, 2, number);
		sqlite3_bind_int64(st, 3, t_ns);
		rc = ends_next_row(st, t_ns, best);
	}
	return rc;
}

/* blocks_file_next - the beginning of the first row after @t_ns; @t_ns + 1 where a row reaches over
 * it. */
static int blocks_file_next(
	struct blocks *blocks, const int64_t *devices, size_t n, int64_t t_ns, int64_t *ret)
{
	int rc = SQLITE_OK;

	*ret = ENDS_NONE;
	for (size_t i = 0; rc == SQLITE_OK && i < n && *ret != t_ns + 1; i++) {
		sqlite3_stmt *st;
		bool has[METRIC_COUNT];
		rc = blocks_metrics(blocks, devices[i], has);
		for (unsigned m = 0; rc == SQLITE_OK && m < METRIC_COUNT && *ret != t_ns + 1; m++)
			if (has[m])
				rc = ends_next_metric(
					blocks, devices[i], blocks->number[m], t_ns, ret);
		if (rc == SQLITE_OK)
			rc = blocks_prepared(blocks, BLOCKS_TAIL_AFTER, &st);
		if (rc != SQLITE_OK)
			break;
		sqlite3_bind_int64(st, 1, devices[i]);
		sqlite3_bind_int64(st, 2, t_ns);
		rc = ends_next_row(st, t_ns, ret);
	}
	return rc;
}

struct ends_devices { /* their numbers in the file */
	int64_t *ids;
	size_t n, cap;
};

/* @all: also what the agent says of itself. Names are not loaded for that. */
static int ends_load_devices(struct series_db *db, bool all, struct ends_devices *ret)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db->db,
		"SELECT id FROM entity INDEXED BY entity_device WHERE port='' AND priority=-1 AND "
		"(?1 OR device<>'" ENTITY_AGENT "')",
		-1, &st, NULL);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int(st, 1, all);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		rw_grow(ret->ids, ret->n, ret->cap);
		ret->ids[ret->n++] = sqlite3_column_int64(st, 0);
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

/* The newest or oldest instant of the file that is not after @at_ns; ENDS_NONE: there is none. A
 * command asks for it several times: it is kept until somebody writes. */
static int ends_of_file(struct series_db *db, bool newest, bool whole, int64_t at_ns, int64_t *ret)
{
	struct series_end *known = &db->ends[whole][newest];
	struct ends_devices devices = {0};
	struct ends ends;
	int rc;

	const int64_t version = sqlite_int(db->db, "PRAGMA data_version", 0, &rc);
	if (rc == SQLITE_OK && known->version == version && known->at_ns == at_ns) {
		*ret = known->t_ns;
		return SQLITE_OK;
	}
	if (rc == SQLITE_OK)
		rc = ends_load_devices(db, whole, &devices);
	ends_init(&ends, db->blocks, newest, whole, at_ns);
	if (rc == SQLITE_OK)
		rc = ends_search(&ends, devices.ids, devices.n);
	arena_free(ends.scratch);
	free(devices.ids);
	*ret = ends.best[0];
	if (rc == SQLITE_OK)
		*known = (struct series_end){version, at_ns, *ret};
	return rc;
}

/* @ret_first_ns NULL: only the newest. */
static int ends_range(struct series_db *db, bool whole, int64_t at_ns, int64_t *ret_first_ns,
	int64_t *ret_last_ns)
{
	int rc = sqlite_exec(db->db, "BEGIN");

	*ret_last_ns = ENDS_NONE;
	if (rc == SQLITE_OK)
		rc = blocks_begin(db->blocks);
	if (rc == SQLITE_OK)
		rc = ends_of_file(db, true, whole, at_ns, ret_last_ns);
	if (rc == SQLITE_OK && ret_first_ns)
		rc = ends_of_file(db, false, whole, at_ns, ret_first_ns);
	series_end(db);
	return rc;
}

static int ends_range_of(struct series_db *db, bool whole, int64_t *ret_first_ns,
	int64_t *ret_last_ns, struct err *e)
{
	int64_t at_ns = INT64_MAX;

	if (!whole && db->history.not_after_ns != 0)
		at_ns = db->history.not_after_ns;
	const int rc = ends_range(db, whole, at_ns, ret_first_ns, ret_last_ns);
	if (rc != SQLITE_OK)
		return sqlite_fail(e, db->db, rc, "read", db->path);
	if (*ret_last_ns == ENDS_NONE)
		return -ENODATA;
	return 0;
}

int series_whole_range(
	struct series_db *db, int64_t *ret_first_ns, int64_t *ret_last_ns, struct err *e)
{
	return ends_range_of(db, true, ret_first_ns, ret_last_ns, e);
}

int series_db_range(
	struct history *history, int64_t *ret_first_ns, int64_t *ret_last_ns, struct err *e)
{
	int64_t first_ns, last_ns;
	const int r = ends_range_of(
		series_db_of(history), false, ret_first_ns ? &first_ns : NULL, &last_ns, e);

	if (r < 0)
		return r;
	if (ret_first_ns)
		*ret_first_ns = first_ns;
	*ret_last_ns = last_ns;
	return 0;
}

static int ends_next_flow(struct series_db *db, int64_t t_ns, int64_t *ret)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(
		db->db, "SELECT min(to_ns) FROM flow WHERE to_ns>?1", -1, &st, NULL);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, t_ns);
	rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		return rc;
	if (sqlite3_column_type(st, 0) != SQLITE_NULL)
		*ret = sqlite3_column_int64(st, 0);
	return SQLITE_OK;
}

static int ends_next(struct series_db *db, int64_t t_ns, int64_t *ret)
{
	struct ends_devices devices = {0};
	int64_t flow_ns = ENDS_NONE;
	int rc = sqlite_exec(db->db, "BEGIN");

	if (rc == SQLITE_OK)
		rc = blocks_begin(db->blocks);
	if (rc == SQLITE_OK)
		rc = ends_load_devices(db, true, &devices);
	if (rc == SQLITE_OK)
		rc = blocks_file_next(db->blocks, devices.ids, devices.n, t_ns, ret);
	if (rc == SQLITE_OK)
		rc = ends_next_flow(db, t_ns, &flow_ns);
	if (flow_ns != ENDS_NONE && (*ret == ENDS_NONE || flow_ns < *ret))
		*ret = flow_ns;
	series_end(db);
	free(devices.ids);
	return rc;
}

int series_db_next(struct history *history, int64_t t_ns, int64_t *ret_ns, struct err *e)
{
	struct series_db *db = series_db_of(history);
	int64_t next_ns = ENDS_NONE;

	const int rc = ends_next(db, t_ns, &next_ns);
	if (rc != SQLITE_OK)
		return sqlite_fail(e, db->db, rc, "read", db->path);
	if (next_ns == ENDS_NONE)
		return -ENODATA;
	*ret_ns = next_ns;
	return 0;
}

/* ---- of each device ---------------------------------------------------------- */

struct ends_names { /* devices, their names and what was found */
	struct {
		int64_t id, newest_ns[2];
		char *name;
	} * v;
	size_t n, cap;
};

static int ends_load_names(struct series_db *db, struct ends_names *ret)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db->db,
		"SELECT id, device FROM entity WHERE port='' AND priority=-1 ORDER BY id", -1, &st,
		NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 1);
		rc = SQLITE_OK;
		if (!name)
			continue;
		rw_grow(ret->v, ret->n, ret->cap);
		ret->v[ret->n].id = sqlite3_column_int64(st, 0);
		ret->v[ret->n++].name = rw_strdup(name);
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

static void ends_names_free(struct ends_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i].name);
	free(names->v);
}

static int ends_read_names(struct series_db *db, int64_t at_ns, struct ends_names *names)
{
	int rc = sqlite_exec(db->db, "BEGIN");

	if (rc == SQLITE_OK)
		rc = ends_load_names(db, names);
	if (rc == SQLITE_OK)
		rc = blocks_begin(db->blocks);
	for (size_t i = 0; rc == SQLITE_OK && i < names->n; i++)
		rc = blocks_newest(db->blocks, names->v[i].id, at_ns, true, names->v[i].newest_ns);
	series_end(db);
	return rc;
}

int series_db_newest(
	struct history *history, int64_t at_ns, newest_fn *fn, void *arg, struct err *e)
{
	struct series_db *db = series_db_of(history);
	struct ends_names names = {0};
	int r = 0;
	const int rc = ends_read_names(db, at_ns, &names);

	if (rc != SQLITE_OK)
		r = sqlite_fail(e, db->db, rc, "read", db->path);
	for (size_t i = 0; r == 0 && i < names.n; i++)
		if (names.v[i].newest_ns[0] != ENDS_NONE)
			r = fn(arg, names.v[i].name, names.v[i].newest_ns[0],
				names.v[i].newest_ns[1]);
	ends_names_free(&names);
	return r;
}

/* ---- of each metric of each device ---------------------------------------------- */

/* The newest instant of a metric of the device of blocks_device(), better than the one @ends has.
 */
static int ends_of_metric(struct ends *ends, int64_t number)
{
	struct tail_rows *rows = &ends->blocks->inside;
	int rc = SQLITE_OK;

	for (size_t i = rows->n; rc == SQLITE_OK && i-- > 0;) {
		struct block_reader reader;
		bool has = false;
		ends->bound_ns = ends_of_row(ends, rows->v[i].from_ns, rows->v[i].to_ns);
		if (ends_better(ends, ends->bound_ns))
			rc = blocks_tail_segment(
				ends->blocks, &rows->v[i], number, NULL, &reader, &has);
		if (rc == SQLITE_OK && has)
			rc = ends_read_block(ends, &reader);
	}
	if (rc == SQLITE_OK)
		rc = ends_metric(ends, ends->blocks->device, number);
	return rc;
}

int series_db_delivered(struct history *history, const struct window_spec *spec, int64_t from_ns,
	int64_t to_ns, delivered_fn *fn, void *arg, struct err *e)
{
	struct series_db *db = series_db_of(history);
	struct ends_names names = {0};
	struct ends ends;
	int rc = sqlite_exec(db->db, "BEGIN");

	ends_init(&ends, db->blocks, true, false, to_ns);
	if (rc == SQLITE_OK)
		rc = ends_load_names(db, &names);
	if (rc == SQLITE_OK)
		rc = blocks_begin(db->blocks);
	for (size_t i = 0; rc == SQLITE_OK && i < names.n; i++) {
		rc = blocks_device(db->blocks, names.v[i].id, from_ns + 1, to_ns);
		for (size_t k = 0; rc == SQLITE_OK && k < spec->n_metrics; k++) {
			const int64_t number = db->blocks->number[spec->metrics[k]];
			ends.best[0] = from_ns;
			if (number != 0)
				rc = ends_of_metric(&ends, number);
			if (rc == SQLITE_OK && ends.best[0] > from_ns)
				fn(arg, names.v[i].name, spec->metrics[k], ends.best[0]);
		}
	}
	arena_free(ends.scratch);
	const int r = rc == SQLITE_OK ? 0 : sqlite_fail(e, db->db, rc, "read", db->path);
	series_end(db);
	ends_names_free(&names);
	return r;
}
