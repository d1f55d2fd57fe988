/*
 * store_late - after a clock that was set back: what was stored with times that are still to come
 * gets SF_LATE, in the tail and in blocks. Rare, and in one transaction: a reader sees all of it or
 * nothing. One row or block is in memory at a time.
 */
#include <errno.h>
#include <stdlib.h>
#include "agent/base/cleanup.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

struct late { /* what is being changed, and room for it */
	struct store_writer *writer;
	int64_t t_ns;
	struct block_sample *v;
	size_t n, cap;
	struct str data;
	sqlite3_stmt *put;
};

static int late_code(int error)
{
	if (error == 0)
		return SQLITE_OK;
	if (error == -E2BIG)
		return SQLITE_TOOBIG;
	return SQLITE_CORRUPT;
}

static void late_mark(struct late *late, size_t first)
{
	for (size_t i = first; i < late->n; i++)
		if (late->v[i].t_ns > late->t_ns)
			late->v[i].flags |= SF_LATE;
}

/* ---- the tail ------------------------------------------------------------ */

/* The row anew in .data. */
static int late_row_encode(struct late *late, const struct tail_reader *row)
{
	const uint32_t n_parts = tail_metrics(row);
	rw_cleanup(freep) struct tail_segment *parts = rw_calloc(n_parts + 1, sizeof(*parts));
	struct block_reader block;
	size_t from = 0;

	late->n = late->data.n = 0;
	for (uint32_t i = 0; i < n_parts; i++) {
		const size_t first = late->n;
		if (tail_metric(row, i, &block) < 0 ||
			block_decode(&block, &late->v, &late->n, &late->cap) < 0)
			return SQLITE_CORRUPT;
		late_mark(late, first);
		parts[i] = (struct tail_segment){.metric = tail_metric_number(row, i),
			.is_f64 = block_is_f64(&block),
			.n = late->n - first};
	}
	for (uint32_t i = 0; i < n_parts; from += parts[i++].n)
		parts[i].samples = late->v + from;
	return late_code(tail_encode(parts, n_parts, &late->data));
}

static int late_row(struct late *late, sqlite3_stmt *get, int64_t id)
{
	struct tail_reader row;

	sqlite3_bind_int64(get, 1, id);
	int rc = sqlite3_step(get);
	if (rc == SQLITE_ROW) {
		rc = late_code(tail_open(
			&row, sqlite3_column_blob(get, 0), (size_t)sqlite3_column_bytes(get, 0)));
		if (rc == SQLITE_OK)
			rc = late_row_encode(late, &row);
	}
	const int reset = sqlite3_reset(get);
	if (rc == SQLITE_DONE)
		return reset;
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(late->put, 1, id);
	rc = sqlite3_bind_blob64(late->put, 2, late->data.s, late->data.n, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite_run(late->put);
	sqlite3_bind_null(late->put, 2);
	return rc;
}

static int late_list_rows(struct late *late, int64_t **ret, size_t *ret_n)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	size_t cap = 0;
	int rc = sqlite_prepare(
		late->writer->db, "SELECT id FROM tail INDEXED BY tail_device WHERE to_ns>?1", &st);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, late->t_ns);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		rw_grow(*ret, *ret_n, cap);
		(*ret)[(*ret_n)++] = sqlite3_column_int64(st, 0);
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

static int late_tail(struct late *late)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *get = NULL;
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *put = NULL;
	rw_cleanup(freep) int64_t *ids = NULL;
	size_t n = 0;
	int rc = late_list_rows(late, &ids, &n);

	if (rc == SQLITE_OK)
		rc = sqlite_prepare(late->writer->db, "SELECT data FROM tail WHERE id=?1", &get);
	if (rc == SQLITE_OK)
		rc = sqlite_prepare(late->writer->db, "UPDATE tail SET data=?2 WHERE id=?1", &put);
	late->put = put;
	for (size_t i = 0; rc == SQLITE_OK && i < n; i++)
		rc = late_row(late, get, ids[i]);
	return rc;
}

/* ---- blocks -------------------------------------------------------------- */

struct late_series { /* the blocks of a metric of a device */
	int64_t device, metric;
};

static int late_block(
	struct late *late, const struct late_series *of, sqlite3_stmt *get, int64_t *from_ns)
{
	struct block_reader block;

	*from_ns = sqlite3_column_int64(get, 0);
	late->n = late->data.n = 0;
	if (block_open(&block, sqlite3_column_blob(get, 1), (size_t)sqlite3_column_bytes(get, 1)) <
			0 ||
		block_decode(&block, &late->v, &late->n, &late->cap) < 0)
		return SQLITE_CORRUPT;
	late_mark(late, 0);
	const bool is_f64 = block_is_f64(&block);
	int rc = late_code(block_encode(late->v, late->n, BLOCK_SMALL, is_f64, &late->data));
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(late->put, 1, of->device);
	sqlite3_bind_int64(late->put, 2, of->metric);
	sqlite3_bind_int64(late->put, 3, *from_ns);
	return sqlite3_bind_blob64(late->put, 4, late->data.s, late->data.n, SQLITE_STATIC);
}

/* From the newest block back, as long as they end after the time. */
static int late_series(struct late *late, const struct late_series *of, sqlite3_stmt *get)
{
	int64_t from_ns = INT64_MAX;
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK) {
		sqlite3_bind_int64(get, 1, of->device);
		sqlite3_bind_int64(get, 2, of->metric);
		sqlite3_bind_int64(get, 3, from_ns);
		rc = sqlite3_step(get);
		const bool found = rc == SQLITE_ROW && sqlite3_column_int64(get, 2) > late->t_ns;
		if (found)
			rc = late_block(late, of, get, &from_ns);
		const int reset = sqlite3_reset(get);
		if (!found)
			return reset;
		if (rc == SQLITE_OK)
			rc = sqlite_run(late->put);
		sqlite3_bind_null(late->put, 4);
	}
	return rc;
}

static int late_blocks(struct late *late)
{
	sqlite3 *db = late->writer->db;
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *each = NULL;
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *get = NULL;
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *put = NULL;
	int rc = sqlite_prepare(db,
		"SELECT e.id, m.id FROM entity e CROSS JOIN metric_name m "
		"WHERE e.port='' AND e.priority=-1",
		&each);

	if (rc == SQLITE_OK)
		rc = sqlite_prepare(db,
			"SELECT from_ns, data, to_ns FROM block WHERE device=?1 AND metric=?2 AND "
			"from_ns<?3 ORDER BY from_ns DESC LIMIT 1",
			&get);
	if (rc == SQLITE_OK)
		rc = sqlite_prepare(db,
			"UPDATE block SET data=?4 WHERE device=?1 AND metric=?2 AND from_ns=?3",
			&put);
	late->put = put;
	while (rc == SQLITE_OK && (rc = sqlite3_step(each)) == SQLITE_ROW) {
		const struct late_series of = {
			sqlite3_column_int64(each, 0), sqlite3_column_int64(each, 1)};
		rc = late_series(late, &of, get);
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

int writer_late(struct store_writer *writer, int64_t t_ns)
{
	struct late late = {.writer = writer, .t_ns = t_ns};

	writer_seal_reset(writer);
	int rc = late_tail(&late);
	if (rc == SQLITE_OK)
		rc = late_blocks(&late);
	if (rc == SQLITE_OK)
		rc = writer_rollup_late(writer, t_ns);
	free(late.v);
	str_done(&late.data);
	return rc;
}
