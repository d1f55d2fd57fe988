/*
 * store_import - the step of a migration that SQL cannot do: samples of versions 1 to 8, in wide
 * rows, become blocks. In pieces of bounded size, between commits of new samples, so that an agent
 * with a large old file stores from its first second on. The newest come first; readers see a piece
 * in the old tables' place from its commit on. After an interruption the next start goes on: a
 * piece and the rows it came from change places in one transaction.
 *
 * Versions 3 to 8 say in table instant when a device has rows: a piece is some 120 instants of one
 * device. What has no instant (kept configuration states), and all rows of versions 1 and 2, go
 * through the tail instead, a few thousand rows at a time.
 */
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

#define PIECE_INSTANTS 120
#define PIECE_ROWS 2000
#define PIECE_SLICE_NS (3600 * NS_PER_S)
#define MINUTE_NS (60 * NS_PER_S)

/* ---- opening ------------------------------------------------------------- */

static int work_prepare(struct store_writer *writer, struct import_work *work)
{
	sqlite3 *db = writer->db;
	bool instants;
	int rc = sqlite_has_column(db, "instant", "device", &instants);

	if (rc != SQLITE_OK || !instants)
		return rc;
	rc = sqlite_prepare(db, "SELECT max(t_ns) FROM instant WHERE device=?1", &work->newest);
	if (rc == SQLITE_OK)
		rc = sqlite_prepare(db,
			"SELECT t_ns FROM instant WHERE device=?1 ORDER BY t_ns DESC LIMIT 1 "
			"OFFSET ?2",
			&work->edge);
	if (rc == SQLITE_OK)
		rc = sqlite_prepare(db,
			"DELETE FROM instant WHERE device=?1 AND t_ns>?2 AND t_ns<=?3",
			&work->instants);
	return rc;
}

static int work_open(struct store_writer *writer)
{
	struct import_work *work = rw_calloc(1, sizeof(*work));
	bool any = false;
	int rc = SQLITE_OK;

	writer->import.work = work;
	for (unsigned t = 0; rc == SQLITE_OK && t < IMPORT_TABLES; t++) {
		rc = import_table_open(writer->db, t, &work->tables[t]);
		any |= work->tables[t].there;
	}
	work->piece.values.late_ns = sqlite_int(writer->db,
		"SELECT value FROM meta WHERE key='" SCHEMA_MOVED_LATE "'", INT64_MAX, NULL);
	if (rc == SQLITE_OK && any)
		rc = work_prepare(writer, work);
	if (rc == SQLITE_OK && any)
		rc = import_names_load(writer->db, &work->names);
	if (rc != SQLITE_OK || !any)
		writer_import_close(writer);
	writer->import.known = rc == SQLITE_OK;
	return rc;
}

static void piece_done(struct import_piece *piece)
{
	const int64_t late_ns = piece->values.late_ns;

	free(piece->values.v);
	free(piece->sorted);
	*piece = (struct import_piece){.values = {.late_ns = late_ns}};
}

void writer_import_close(struct store_writer *writer)
{
	struct import_work *work = writer->import.work;

	writer->import = (struct import){0};
	if (!work)
		return;
	for (unsigned t = 0; t < IMPORT_TABLES; t++)
		import_table_close(&work->tables[t]);
	sqlite_finalizep(&work->newest);
	sqlite_finalizep(&work->edge);
	sqlite_finalizep(&work->instants);
	import_names_done(&work->names);
	piece_done(&work->piece);
	free(work);
}

/* ---- a stretch of a device ----------------------------------------------- */

static int work_time(sqlite3_stmt *st, int64_t *ret, bool *ret_found)
{
	*ret_found = sqlite3_step(st) == SQLITE_ROW && sqlite3_column_type(st, 0) != SQLITE_NULL;
	if (*ret_found)
		*ret = sqlite3_column_int64(st, 0);
	return sqlite3_reset(st);
}

/* The newest instants of a device that are left. */
static int piece_begin(struct import_work *work, size_t at)
{
	struct import_piece *piece = &work->piece;
	struct import_device *device = &work->names.devices[at];
	bool found;
	int64_t edge_ns;

	sqlite3_bind_int64(work->newest, 1, device->device);
	int rc = work_time(work->newest, &piece->to_ns, &found);
	if (rc != SQLITE_OK)
		return rc;
	if (!found) {
		device->done = true;
		work->n_done++;
		return SQLITE_OK;
	}
	piece->running = true;
	piece->device = at;
	piece->row = 0;
	sqlite3_bind_int64(work->edge, 1, device->device);
	sqlite3_bind_int64(work->edge, 2, PIECE_INSTANTS);
	rc = work_time(work->edge, &edge_ns, &found);
	piece->from_ns = INT64_MIN;
	if (found) /* whole minutes */
		piece->from_ns = sample_slice(edge_ns, MINUTE_NS) * MINUTE_NS;
	return rc;
}

/* Binds entity, device, from, to. */
static void piece_bind(
	const struct import_piece *piece, const struct import_row *row, sqlite3_stmt *st)
{
	sqlite3_bind_int64(st, 1, row->entity);
	sqlite3_bind_int64(st, 2, row->device);
	sqlite3_bind_int64(st, 3, piece->from_ns);
	sqlite3_bind_int64(st, 4, piece->to_ns);
}

static int piece_read_table(struct import_work *work, unsigned table, const struct import_row *row)
{
	sqlite3_stmt *st = work->tables[table].read;
	int rc;

	piece_bind(&work->piece, row, st);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		import_table_row(&work->tables[table], st, row, &work->piece.values);
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_DONE)
		return reset;
	return rc;
}

static bool row_lies_in(const struct import_work *work, const struct import_row *row, unsigned t)
{
	return work->tables[t].there && (row->tables & 1u << t);
}

/* All rows of one entity. */
static int piece_read(struct import_work *work)
{
	struct import_piece *piece = &work->piece;
	const struct import_device *device = &work->names.devices[piece->device];
	const struct import_row *row = &work->names.rows[device->first + piece->row++];
	int rc = SQLITE_OK;

	for (unsigned t = 0; rc == SQLITE_OK && t < IMPORT_WIDE; t++)
		if (row_lies_in(work, row, t))
			rc = piece_read_table(work, t, row);
	return rc;
}

/* Values into the order of metrics. */
static void values_sort(const struct store_writer *writer, const struct import_values *values,
	uint32_t end[METRIC_COUNT], struct block_sample *to)
{
	const uint16_t *place = writer->tail.place;
	uint32_t sum = 0;

	memset(end, 0, METRIC_COUNT * sizeof(*end));
	for (size_t i = 0; i < values->n; i++)
		end[place[values->v[i].metric]]++;
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		const uint32_t count = end[m];
		end[m] = sum;
		sum += count;
	}
	for (size_t i = 0; i < values->n; i++)
		to[end[place[values->v[i].metric]]++] = values->v[i].sample;
}

/* Between reading and making. */
static int piece_turn(struct store_writer *writer, struct import_work *work)
{
	struct import_piece *piece = &work->piece;
	struct seal_job *job = &writer->seal.job;

	piece->sorted = rw_calloc(piece->values.n + 1, sizeof(*piece->sorted));
	values_sort(writer, &piece->values, piece->end, piece->sorted);
	seal_job_done(writer);
	job->device = work->names.devices[piece->device].device;
	job->slice_ns = PIECE_SLICE_NS;
	job->cut_ns = INT64_MAX;
	job->token = piece->token = ++writer->seal.n_jobs;
	return seal_job_known(writer);
}

static int piece_make(struct store_writer *writer, struct import_piece *piece)
{
	struct seal *seal = &writer->seal;
	const unsigned place = piece->metric++;
	uint32_t from = 0;

	if (place > 0)
		from = piece->end[place - 1];
	seal->n_fresh = 0;
	for (uint32_t i = from; i < piece->end[place]; i++) {
		rw_grow(seal->fresh, seal->n_fresh, seal->cap_fresh);
		seal->fresh[seal->n_fresh++] = piece->sorted[i];
	}
	return seal_make(writer, writer->tail.number[writer->tail.by_number[place]]);
}

static int piece_erase(struct import_work *work)
{
	const struct import_piece *piece = &work->piece;
	const struct import_device *device = &work->names.devices[piece->device];
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < device->n; i++) {
		const struct import_row *row = &work->names.rows[device->first + i];
		for (unsigned t = 0; rc == SQLITE_OK && t < IMPORT_WIDE; t++) {
			if (!row_lies_in(work, row, t))
				continue;
			piece_bind(piece, row, work->tables[t].erase);
			rc = sqlite_run(work->tables[t].erase);
		}
	}
	sqlite3_bind_int64(work->instants, 1, device->device);
	sqlite3_bind_int64(work->instants, 2, piece->from_ns);
	sqlite3_bind_int64(work->instants, 3, piece->to_ns);
	if (rc == SQLITE_OK)
		rc = sqlite_run(work->instants);
	return rc;
}

static int piece_finish(struct store_writer *writer, struct import_work *work)
{
	int rc = writer_begin(writer);

	if (rc == SQLITE_OK)
		rc = seal_put(writer);
	if (rc == SQLITE_OK)
		rc = piece_erase(work);
	if (rc == SQLITE_OK)
		rc = writer_commit(writer);
	if (rc != SQLITE_OK)
		writer_rollback(writer);
	else
		work->moved += work->piece.values.n;
	seal_job_done(writer);
	piece_done(&work->piece);
	if (rc == SEAL_STALE)
		return SQLITE_OK;
	return rc;
}

static int piece_step(struct store_writer *writer, struct import_work *work)
{
	struct import_piece *piece = &work->piece;

	if (piece->row < work->names.devices[piece->device].n)
		return piece_read(work);
	if (!piece->sorted)
		return piece_turn(writer, work);
	if (piece->token != writer->seal.job.token) { /* blocks were changed meanwhile: once more */
		piece_done(piece);
		return SQLITE_OK;
	}
	if (piece->metric < METRIC_COUNT)
		return piece_make(writer, piece);
	return piece_finish(writer, work);
}

/* ---- rows without an instant --------------------------------------------- */

static int value_order(const void *left, const void *right)
{
	const struct import_value *x = left, *y = right;

	return (x->device > y->device) - (x->device < y->device);
}

/* The values of one device as a tail row. */
static int rest_put(struct store_writer *writer, struct import_values *values)
{
	rw_cleanup(freep) struct block_sample *sorted = rw_calloc(values->n, sizeof(*sorted));
	rw_cleanup(freep) struct tail_segment *parts = rw_calloc(METRIC_COUNT, sizeof(*parts));
	struct tail_state *tail = &writer->tail;
	struct tail_put put = {.device = values->v[0].device,
		.from_ns = INT64_MAX,
		.to_ns = INT64_MIN,
		.parts = parts};
	uint32_t end[METRIC_COUNT], from = 0;

	for (size_t i = 0; i < values->n; i++) {
		const int64_t t_ns = values->v[i].sample.t_ns;
		if (t_ns < put.from_ns)
			put.from_ns = t_ns;
		if (t_ns > put.to_ns)
			put.to_ns = t_ns;
	}
	values_sort(writer, values, end, sorted);
	for (unsigned i = 0; i < METRIC_COUNT; from = end[i++]) {
		const unsigned metric = tail->by_number[i];
		if (end[i] == from)
			continue;
		parts[put.n_parts] = (struct tail_segment){.metric = tail->number[metric],
			.samples = sorted + from,
			.n = sample_sort(&tail->sorter, sorted + from, end[i] - from),
			.is_f64 = metric_info(metric)->type == TYPE_F64};
		put.n += parts[put.n_parts++].n;
	}
	return writer_tail_put(writer, &put);
}

static int rest_put_all(struct store_writer *writer, struct import_values *values)
{
	int rc = SQLITE_OK;

	if (values->n > 0)
		qsort(values->v, values->n, sizeof(*values->v), value_order);
	for (size_t from = 0; rc == SQLITE_OK && from < values->n;) {
		struct import_values one = {.v = values->v + from};
		while (from < values->n && values->v[from].device == one.v[0].device) {
			from++;
			one.n++;
		}
		rc = rest_put(writer, &one);
	}
	return rc;
}

struct rest { /* rows of a table, and where they end */
	struct import_values values;
	int64_t entity, t_ns;
	size_t rows;
};

static int rest_read(struct import_work *work, unsigned table, struct rest *rest)
{
	sqlite3_stmt *st = work->tables[table].rest;
	uint64_t at;
	int rc;

	sqlite3_bind_int(st, 1, PIECE_ROWS);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		rest->entity = sqlite3_column_int64(st, O_ENTITY);
		rest->t_ns = sqlite3_column_int64(st, O_T);
		rest->rows++;
		if (map_get(work->names.by_entity, (uint64_t)rest->entity, &at))
			import_table_row(
				&work->tables[table], st, &work->names.rows[at], &rest->values);
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_DONE)
		return reset;
	return rc;
}

static int rest_move(struct store_writer *writer, unsigned table, struct rest *rest)
{
	const char *name = import_table_name[table];
	int rc = writer_begin(writer);

	if (rc == SQLITE_OK)
		rc = rest_put_all(writer, &rest->values);
	if (rc == SQLITE_OK && rest->rows == 0)
		rc = sqlite_execf(writer->db, "DROP TABLE %s", name);
	else if (rc == SQLITE_OK && table < IMPORT_WIDE)
		rc = sqlite_execf(writer->db, "DELETE FROM %s WHERE (t_ns, entity)<=(%lld, %lld)",
			name, (long long)rest->t_ns, (long long)rest->entity);
	else if (rc == SQLITE_OK)
		rc = sqlite_execf(writer->db, "DELETE FROM %s WHERE (entity, t_ns)<=(%lld, %lld)",
			name, (long long)rest->entity, (long long)rest->t_ns);
	if (rc == SQLITE_OK)
		rc = writer_commit(writer);
	if (rc != SQLITE_OK)
		writer_rollback(writer);
	return rc;
}

/* The first rows of a table; an empty one is dropped. */
static int rest_step(struct store_writer *writer, struct import_work *work, unsigned table)
{
	struct rest rest = {.values = {.late_ns = work->piece.values.late_ns}};
	int rc = rest_read(work, table, &rest);

	if (rc == SQLITE_OK)
		rc = rest_move(writer, table, &rest);
	if (rc == SQLITE_OK && rest.rows == 0) {
		import_table_close(&work->tables[table]);
		work->tables[table].there = false;
	}
	work->moved += rest.values.n;
	free(rest.values.v);
	return rc;
}

/* ---- for the writer ------------------------------------------------------ */

/* The next device that has instants, or the rows that have none. */
static int work_next(struct store_writer *writer, struct import_work *work, bool *ret_more)
{
	while (work->newest && work->n_done < work->names.n_devices) {
		const size_t at = work->turn++ % work->names.n_devices;
		if (work->names.devices[at].done)
			continue;
		return piece_begin(work, at);
	}
	for (unsigned t = 0; t < IMPORT_TABLES; t++)
		if (work->tables[t].there)
			return rest_step(writer, work, t);
	*ret_more = false;
	if (work->moved > 0)
		log_info("store", "%llu samples of an older version are brought up to date",
			(unsigned long long)work->moved);
	writer_import_close(writer);
	writer->import.known = true;
	return sqlite_exec(writer->db,
		"DROP TABLE IF EXISTS instant; DELETE FROM meta WHERE key='" SCHEMA_MOVED_LATE "'");
}

int writer_import_step(struct store_writer *writer, bool *ret_more)
{
	int rc = SQLITE_OK;

	*ret_more = true;
	if (!writer->import.known)
		rc = work_open(writer);
	if (rc != SQLITE_OK)
		return rc;
	struct import_work *work = writer->import.work;
	if (!work) {
		*ret_more = false;
		return SQLITE_OK;
	}
	if (work->piece.running)
		rc = piece_step(writer, work);
	else
		rc = work_next(writer, work, ret_more);
	if (rc != SQLITE_OK && writer->import.work) {
		seal_job_done(writer);
		piece_done(&writer->import.work->piece);
	}
	return rc;
}

bool writer_import_busy(const struct store_writer *writer)
{
	return writer->import.work && writer->import.work->piece.sorted;
}

/* What is moved later than this must not lose the mark. */
int writer_import_late(struct store_writer *writer, int64_t t_ns)
{
	int rc = SQLITE_OK;

	if (!writer->import.known)
		rc = work_open(writer);
	struct import_work *work = writer->import.work;
	if (rc != SQLITE_OK || !work)
		return rc;
	piece_done(&work->piece);
	if (t_ns >= work->piece.values.late_ns)
		return SQLITE_OK;
	rc = sqlite_execf(writer->db,
		"INSERT OR REPLACE INTO meta VALUES('" SCHEMA_MOVED_LATE "', %lld)",
		(long long)t_ns);
	if (rc == SQLITE_OK)
		work->piece.values.late_ns = t_ns;
	return rc;
}

int writer_import(struct store_writer *writer, int64_t budget_ns)
{
	const int64_t began_ns = mono_now().ns;
	bool more = true;
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && more && mono_now().ns - began_ns < budget_ns)
		rc = writer_import_step(writer, &more);
	if (rc == SQLITE_OK)
		rc = writer_checkpoint(writer);
	return rc;
}
