/* retain_carry - see retain_carry.h. */
#include "db/sqlite/retain_carry.h"

#include <stdlib.h>

#include "agent/base/cleanup.h"
#include "agent/base/log.h"
#include "db/block/block_codec.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

/* What is made one at a time. */
#define CARRY_BLOCKS 64
#define CARRY_SAMPLES 200000

struct carried {
	struct block_sample *v;
	size_t n, cap;
	size_t n_read; /* samples of the blocks, before they were sorted out */
	unsigned blocks;
	int64_t last_from_ns; /* of the last of them */
	bool is_f64;
	bool damaged;
};

void retain_carry_close(struct retain *retain)
{
	sqlite3_finalize(retain->carry);
	sqlite3_finalize(retain->named);
	retain->carry = retain->named = NULL;
}

static int carry_prepare(struct store_writer *writer)
{
	struct retain *retain = &writer->retain;
	int rc = SQLITE_OK;

	if (retain->named)
		return SQLITE_OK;
	if (!retain->carry)
		rc = sqlite_prepare(writer->db,
			"SELECT from_ns, to_ns, data FROM block WHERE device=?1 AND metric=?2 AND "
			"from_ns>=?3 ORDER BY from_ns",
			&retain->carry);
	if (rc == SQLITE_OK)
		rc = sqlite_prepare(writer->db, "SELECT 1 FROM entity WHERE id=?1", &retain->named);
	return rc;
}

/* ---- reading ------------------------------------------------------------- */

/* A block that cannot be read holds nothing that could be kept; it is too old to be kept as it is.
 */
static void carry_decode(const struct store_writer *writer, const struct retain_block *block,
	sqlite3_stmt *st, struct carried *carried)
{
	struct block_reader reader;
	const void *data = sqlite3_column_blob(st, 2);
	int r = block_open(&reader, data, (size_t)sqlite3_column_bytes(st, 2));

	if (r == 0)
		r = block_decode(&reader, &carried->v, &carried->n, &carried->cap);
	if (r == 0) {
		carried->is_f64 = block_is_f64(&reader);
		return;
	}
	carried->damaged = true;
	log_warn("store",
		"%s: a block of configuration states (device %lld, metric %lld) is damaged; it is "
		"older than retention keeps, and is deleted",
		writer->o.path, (long long)block->device, (long long)block->metric);
}

static int carry_read(struct store_writer *writer, const struct retain_block *first,
	int64_t cutoff_ns, struct carried *carried)
{
	const struct retain *retain = &writer->retain;
	sqlite3_stmt *st = retain->carry;

	sqlite3_bind_int64(st, 1, first->device);
	sqlite3_bind_int64(st, 2, first->metric);
	sqlite3_bind_int64(st, 3, first->from_ns);
	while (sqlite3_step(st) == SQLITE_ROW) {
		const int64_t from_ns = sqlite3_column_int64(st, 0);
		const int64_t to_ns = sqlite3_column_int64(st, 1);
		const bool full = carried->blocks >= CARRY_BLOCKS || carried->n >= CARRY_SAMPLES;
		if (to_ns >= cutoff_ns || full || retain_pinned(retain, from_ns, to_ns))
			break;
		carry_decode(writer, first, st, carried);
		carried->blocks++;
		carried->last_from_ns = from_ns;
	}
	carried->n_read = carried->n;
	return sqlite3_reset(st);
}

/* ---- sorting out --------------------------------------------------------- */

static int carry_order(const void *left, const void *right)
{
	const struct block_sample *x = left, *y = right;

	if (x->entity != y->entity)
		return x->entity < y->entity ? -1 : 1;
	return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}

static int carry_named(struct store_writer *writer, int64_t entity, bool *ret)
{
	sqlite3_stmt *st = writer->retain.named;

	sqlite3_bind_int64(st, 1, entity);
	*ret = sqlite3_step(st) == SQLITE_ROW;
	return sqlite3_reset(st);
}

/* The newest of each entity that has a name remains. */
static int carry_sort_out(struct store_writer *writer, struct carried *carried)
{
	size_t n = 0;
	int rc = SQLITE_OK;

	if (carried->n > 0)
		qsort(carried->v, carried->n, sizeof(*carried->v), carry_order);
	for (size_t i = 0; rc == SQLITE_OK && i < carried->n; i++) {
		bool named;
		if (i + 1 < carried->n && carried->v[i + 1].entity == carried->v[i].entity)
			continue;
		rc = carry_named(writer, carried->v[i].entity, &named);
		if (rc == SQLITE_OK && named)
			carried->v[n++] = carried->v[i];
	}
	carried->n = n;
	return rc;
}

/* ---- writing ------------------------------------------------------------- */

static int carry_delete(struct store_writer *writer, const struct retain_block *first,
	const struct carried *carried)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	const int rc = sqlite_prepare(writer->db,
		"DELETE FROM block WHERE device=?1 AND metric=?2 AND from_ns BETWEEN ?3 AND ?4",
		&st);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, first->device);
	sqlite3_bind_int64(st, 2, first->metric);
	sqlite3_bind_int64(st, 3, first->from_ns);
	sqlite3_bind_int64(st, 4, carried->last_from_ns);
	return sqlite_run(st);
}

static int carry_insert(struct store_writer *writer, const struct retain_block *first,
	const struct carried *carried)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	rw_cleanup(str_done) struct str data = {0};
	int64_t from_ns = INT64_MAX, to_ns = INT64_MIN;

	for (size_t i = 0; i < carried->n; i++) {
		if (carried->v[i].t_ns < from_ns)
			from_ns = carried->v[i].t_ns;
		if (carried->v[i].t_ns > to_ns)
			to_ns = carried->v[i].t_ns;
	}
	if (block_encode(carried->v, carried->n, BLOCK_SMALL, carried->is_f64, &data) < 0)
		return SQLITE_TOOBIG;
	const int rc = sqlite_prepare(writer->db,
		"INSERT INTO block(device, metric, from_ns, to_ns, n, data) "
		"VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
		&st);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, first->device);
	sqlite3_bind_int64(st, 2, first->metric);
	sqlite3_bind_int64(st, 3, from_ns);
	sqlite3_bind_int64(st, 4, to_ns);
	sqlite3_bind_int64(st, 5, (int64_t)carried->n);
	sqlite3_bind_blob(st, 6, data.s, (int)data.n, SQLITE_STATIC);
	return sqlite_run(st);
}

int retain_carry(struct store_writer *writer, const struct retain_block *first, int64_t cutoff_ns,
	int64_t *ret_next_ns)
{
	struct carried carried = {.last_from_ns = first->from_ns};
	int rc = carry_prepare(writer);

	if (rc == SQLITE_OK)
		rc = carry_read(writer, first, cutoff_ns, &carried);
	if (rc == SQLITE_OK)
		rc = carry_sort_out(writer, &carried);
	const bool same = carried.blocks == 1 && carried.n == carried.n_read && !carried.damaged;
	if (rc == SQLITE_OK && !same)
		rc = carry_delete(writer, first, &carried);
	if (rc == SQLITE_OK && !same && carried.n > 0)
		rc = carry_insert(writer, first, &carried);
	*ret_next_ns = carried.last_from_ns + 1;
	free(carried.v);
	return rc;
}
