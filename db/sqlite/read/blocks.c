#include "db/sqlite/read/blocks.h"

#include "db/sqlite/schema/sqlite_io.h"

/* blocks_read - statements on blocks and the tail, and the tail's rows of one device. */

/* ---- statements ------------------------------------------------------------ */

static const char *const blocks_sql[BLOCKS_STATEMENTS] = {
	[BLOCKS_METRICS] = "SELECT id, name FROM metric_name",
	[BLOCKS_NEXT_METRIC] =
		"SELECT metric FROM block WHERE device=?1 AND metric>?2 ORDER BY metric LIMIT 1",
	/* newest first: the blocks of a range, and then those before it */
	[BLOCKS_BEFORE] =
		"SELECT from_ns, to_ns, known, data FROM block WHERE device=?1 AND metric=?2 AND "
		"from_ns<=?3 ORDER BY from_ns DESC",
	[BLOCKS_AFTER] =
		"SELECT from_ns, to_ns FROM block WHERE device=?1 AND metric=?2 AND from_ns>?3 "
		"ORDER BY from_ns LIMIT 1",
	[BLOCKS_TAIL_IN] =
		"SELECT id, from_ns, to_ns FROM tail INDEXED BY tail_device WHERE device=?1 "
		"AND to_ns>=?2 AND from_ns<=?3",
	[BLOCKS_TAIL_BEFORE] = "SELECT id, from_ns, to_ns FROM tail INDEXED BY tail_device WHERE "
			       "device=?1 AND to_ns<?2 ORDER BY to_ns DESC",
	/* the ends of the tail: rows that begin at or before an instant */
	[BLOCKS_TAIL_UP] =
		"SELECT id, from_ns, to_ns FROM tail INDEXED BY tail_device WHERE device=?1 AND "
		"from_ns<=?2",
	[BLOCKS_TAIL_DOWN] =
		"SELECT id, from_ns, to_ns FROM tail INDEXED BY tail_device WHERE device=?1 "
		"AND from_ns<=?2 ORDER BY to_ns DESC",
	[BLOCKS_TAIL_AFTER] =
		"SELECT min(from_ns), max(to_ns) FROM tail INDEXED BY tail_device WHERE "
		"device=?1 AND to_ns>?2",
	[BLOCKS_UP] =
		"SELECT from_ns, to_ns FROM block WHERE device=?1 AND metric=?2 AND from_ns<=?3 "
		"ORDER BY from_ns",
	[BLOCKS_DOWN] =
		"SELECT from_ns, to_ns FROM block WHERE device=?1 AND metric=?2 AND from_ns<=?3 "
		"ORDER BY from_ns DESC",
	[BLOCKS_ANY] = "SELECT 1 FROM block WHERE device=?1 LIMIT 1",
	[BLOCKS_DATA] = "SELECT data FROM block WHERE device=?1 AND metric=?2 AND from_ns=?3",
	/* metric after metric, the last and the first block of each: one seek in the index */
	[BLOCKS_LAST_OF] = "SELECT metric, from_ns FROM block WHERE device=?1 AND "
			   "metric<?2 ORDER BY metric DESC, from_ns DESC LIMIT 1",
	[BLOCKS_FIRST_OF] = "SELECT metric, from_ns FROM block WHERE device=?1 AND "
			    "metric>?2 ORDER BY metric, from_ns LIMIT 1",
	[BLOCKS_TAIL_DATA] = "SELECT metrics, data FROM tail WHERE id=?1",
	[BLOCKS_COUNTS] = "SELECT metric, n FROM series_count WHERE device=?1",
	/* how many names of a device ever had a metric and were known at a time */
	[BLOCKS_HAVING] =
		"SELECT count(*) FROM entity d CROSS JOIN entity e ON e.device=d.device CROSS JOIN "
		"series s ON s.entity=e.id AND s.metric=?2 WHERE d.id=?1 AND e.gone_ns>=?3",
};

int blocks_prepared(struct blocks *blocks, enum blocks_statement which, sqlite3_stmt **ret)
{
	int rc = SQLITE_OK;

	if (!blocks->statements[which])
		rc = sqlite_prepare(blocks->db, blocks_sql[which], &blocks->statements[which]);
	*ret = blocks->statements[which];
	return rc;
}

struct blocks *blocks_new(sqlite3 *db)
{
	struct blocks *blocks = rw_calloc(1, sizeof(*blocks));

	blocks->db = db;
	blocks->tail_arena = arena_new();
	return blocks;
}

void blocks_free(struct blocks *blocks)
{
	if (!blocks)
		return;
	for (size_t i = 0; i < BLOCKS_STATEMENTS; i++)
		sqlite3_finalize(blocks->statements[i]);
	arena_free(blocks->tail_arena);
	if (blocks->gathering)
		blocks->gathering_free(blocks->gathering);
	free(blocks->inside.v);
	free(blocks->older.v);
	free(blocks);
}

int blocks_begin(struct blocks *blocks)
{
	sqlite3_stmt *st;
	int rc = blocks_prepared(blocks, BLOCKS_METRICS, &st);

	blocks->has_device = false;
	if (rc != SQLITE_OK)
		return rc;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 1);
		const int metric = name ? metric_by_name(name) : -1;
		if (metric >= 0) /* else of a newer program */
			blocks->number[metric] = sqlite3_column_int64(st, 0);
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return reset;
}

static void mark_metric(const struct blocks *blocks, int64_t number, bool has[METRIC_COUNT])
{
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		has[m] |= blocks->number[m] == number;
}

int blocks_metrics(struct blocks *blocks, int64_t device, bool has[METRIC_COUNT])
{
	sqlite3_stmt *st;
	int64_t number = INT64_MIN;
	int rc = blocks_prepared(blocks, BLOCKS_NEXT_METRIC, &st);

	memset(has, 0, METRIC_COUNT * sizeof(*has));
	while (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, device);
		sqlite3_bind_int64(st, 2, number);
		rc = sqlite3_step(st);
		if (rc == SQLITE_ROW)
			number = sqlite3_column_int64(st, 0);
		const int reset = sqlite3_reset(st);
		if (rc == SQLITE_DONE)
			return SQLITE_OK;
		if (rc != SQLITE_ROW)
			return reset;
		mark_metric(blocks, number, has);
		rc = SQLITE_OK;
	}
	return rc;
}

bool blocks_may_have(const struct blocks *blocks, const bool has[METRIC_COUNT], unsigned metric)
{
	return blocks->number[metric] != 0 && (has[metric] || blocks->inside.n > 0);
}

/* ---- the tail --------------------------------------------------------------- */

static int tail_order(const void *left, const void *right)
{
	const struct tail_row *x = left, *y = right;

	return (x->id > y->id) - (x->id < y->id);
}

static int blocks_list(sqlite3_stmt *st, struct tail_rows *rows)
{
	int rc;

	rows->n = 0;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		rw_grow(rows->v, rows->n, rows->cap);
		rows->v[rows->n++] = (struct tail_row){.id = sqlite3_column_int64(st, 0),
			.from_ns = sqlite3_column_int64(st, 1),
			.to_ns = sqlite3_column_int64(st, 2)};
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return reset;
}

int blocks_device(struct blocks *blocks, int64_t device, int64_t from_ns, int64_t to_ns)
{
	sqlite3_stmt *st;
	int rc = blocks_prepared(blocks, BLOCKS_TAIL_IN, &st);

	if (rc != SQLITE_OK)
		return rc;
	arena_reset(blocks->tail_arena);
	blocks->device = device;
	blocks->from_ns = from_ns;
	blocks->to_ns = to_ns;
	blocks->has_device = true;
	blocks->older_listed = false;
	blocks->counts_read = false;
	blocks->older.n = 0;
	sqlite3_bind_int64(st, 1, device);
	sqlite3_bind_int64(st, 2, from_ns);
	sqlite3_bind_int64(st, 3, to_ns);
	rc = blocks_list(st, &blocks->inside);
	if (blocks->inside.n > 1)
		qsort(blocks->inside.v, blocks->inside.n, sizeof(*blocks->inside.v), tail_order);
	if (rc == SQLITE_OK)
		rc = blocks_prepared(blocks, BLOCKS_ANY, &st);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, device);
	blocks->has_blocks = sqlite3_step(st) == SQLITE_ROW;
	return sqlite3_reset(st);
}

void blocks_range(struct blocks *blocks, int64_t from_ns, int64_t to_ns)
{
	blocks->from_ns = from_ns;
	blocks->to_ns = to_ns;
	blocks->older_listed = false;
	blocks->older.n = 0;
}

int blocks_older(struct blocks *blocks)
{
	sqlite3_stmt *st;

	if (blocks->older_listed)
		return SQLITE_OK;
	int rc = blocks_prepared(blocks, BLOCKS_TAIL_BEFORE, &st);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, blocks->device);
	sqlite3_bind_int64(st, 2, blocks->from_ns);
	rc = blocks_list(st, &blocks->older);
	blocks->older_listed = rc == SQLITE_OK;
	return rc;
}

/* A column of the row of the tail at hand, kept until the next device. */
static const uint8_t *tail_column(
	struct blocks *blocks, sqlite3_stmt *st, int column, size_t *ret_size)
{
	const void *data = sqlite3_column_blob(st, column);

	*ret_size = (size_t)sqlite3_column_bytes(st, column);
	return arena_copy(blocks->tail_arena, data ? data : "", *ret_size, *ret_size + 1);
}

/* May the row have the metric? An empty set of bits says nothing. */
static bool tail_may_have(const struct tail_row *row, int64_t number)
{
	const uint64_t byte = (uint64_t)number / 8;

	if (!row->metrics || row->metrics_size == 0)
		return true;
	return byte < row->metrics_size && (row->metrics[byte] >> ((uint64_t)number % 8) & 1);
}

/* Reads the row, unless it is seen then not to have the metric. */
static int tail_load(struct blocks *blocks, struct tail_row *row, int64_t number)
{
	sqlite3_stmt *st;
	size_t size;
	int rc = blocks_prepared(blocks, BLOCKS_TAIL_DATA, &st);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, row->id);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW && !row->metrics)
		row->metrics = tail_column(blocks, st, 0, &row->metrics_size);
	if (rc == SQLITE_ROW && tail_may_have(row, number)) {
		const uint8_t *data = tail_column(blocks, st, 1, &size);
		row->loaded = tail_open(&row->reader, data, size) == 0;
		if (!row->loaded)
			rc = SQLITE_CORRUPT;
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_ROW)
		return SQLITE_OK;
	if (reset != SQLITE_OK)
		return reset;
	return SQLITE_CORRUPT; /* it was listed */
}

int blocks_tail_segment(struct blocks *blocks, struct tail_row *row, int64_t number,
	const struct block_reader *like, struct block_reader *ret, bool *ret_has)
{
	int rc = SQLITE_OK;

	*ret_has = false;
	if (!row->loaded && tail_may_have(row, number))
		rc = tail_load(blocks, row, number);
	if (rc != SQLITE_OK || !row->loaded)
		return rc;
	const int64_t at = tail_find(&row->reader, number);
	if (at < 0)
		return SQLITE_OK;
	if (tail_metric(&row->reader, (uint32_t)at, like, ret) < 0)
		return SQLITE_CORRUPT;
	*ret_has = true;
	return SQLITE_OK;
}
