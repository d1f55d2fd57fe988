/*
 * store_tail - samples to rows of table tail: one for each device of a transaction. The samples are
 * brought into the order of a row (device, metric, entity, time) by counting, since collectors walk
 * their columns in any order, and coded for speed: they become blocks later (store_seal.c).
 *
 * Of two values of one entity, metric and instant the first one stays, as it does in memory: here
 * within a transaction, and when rows are read or sealed, the row that was written first.
 */

#include "db/sqlite/schema/sqlite_io.h"
#include "db/sqlite/write/store_write.h"

#define NO_DEVICE UINT32_MAX

/* ---- samples by device --------------------------------------------------- */

/* Table series gets a line the first time an entity has a metric. */
static int tail_note_series(struct store_writer *writer, const struct sample *sample)
{
	struct writer_entity *entity = &writer->entities[sample->entity];
	uint64_t bit = UINT64_C(1) << (sample->metric % 64);
	uint64_t *word = &entity->bits[sample->metric / 64];

	if (*word & bit)
		return SQLITE_OK;
	sqlite3_bind_int64(writer->series, 1, entity->file_id);
	sqlite3_bind_text(writer->series, 2, metric_info(sample->metric)->name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(writer->series, 3, sample->t_ns);
	int rc = sqlite_run(writer->series);
	if (rc != SQLITE_OK)
		return rc;
	*word |= bit;
	writer->entities[entity->device_id].n_series++;
	writer->names_changed = true;
	rw_grow(writer->new_series, writer->n_new_series, writer->cap_new_series);
	writer->new_series[writer->n_new_series++] =
		(struct new_series){.entity = sample->entity, .metric = sample->metric};
	return SQLITE_OK;
}

/* Table series_count follows what this call added to table series from .new_series[@first] on. They
 * mostly come device by device: one line for each metric of a device then. */
static int tail_count_series(struct store_writer *writer, size_t first)
{
	uint32_t n[METRIC_COUNT] = {0};
	int rc = SQLITE_OK;

	for (size_t i = first; rc == SQLITE_OK && i < writer->n_new_series; i++) {
		const struct new_series *series = &writer->new_series[i];
		const uint32_t device = writer->entities[series->entity].device_id;
		n[series->metric]++;
		if (i + 1 < writer->n_new_series &&
			writer->entities[series[1].entity].device_id == device)
			continue;
		for (unsigned m = 0; rc == SQLITE_OK && m < METRIC_COUNT; m++) {
			if (n[m] == 0)
				continue;
			sqlite3_bind_int64(
				writer->series_count, 1, writer->entities[device].file_id);
			sqlite3_bind_int64(writer->series_count, 2, writer->tail.number[m]);
			sqlite3_bind_int64(writer->series_count, 3, n[m]);
			rc = sqlite_run(writer->series_count);
		}
		memset(n, 0, sizeof(n));
	}
	return rc;
}

/* The place of @entity, a device, among the devices of this call. */
static uint32_t tail_device_at(struct store_writer *writer, uint32_t entity)
{
	struct tail_state *tail = &writer->tail;
	struct writer_entity *device = &writer->entities[entity];

	if (device->tail_turn == tail->turn)
		return device->tail_at;
	rw_grow(tail->devices, tail->n_devices, tail->cap_devices);
	tail->devices[tail->n_devices] = (struct tail_device){.entity = entity};
	device->tail_turn = tail->turn;
	device->tail_at = (uint32_t)tail->n_devices++;
	return device->tail_at;
}

/* NO_DEVICE: its metric or entity is not known, or it is NAN: it is not stored. */
static int tail_find_device(struct store_writer *writer, const struct sample *sample, uint32_t *ret)
{
	const struct metric_info *info = metric_info(sample->metric);

	*ret = NO_DEVICE;
	if (!info || (info->type == TYPE_F64 && isnan(sample_f64(sample->value))))
		return SQLITE_OK;
	int rc = writer_name(writer, sample->entity, sample->t_ns);
	if (rc == SQLITE_OK) /* a port is known by its priorities, too */
		rc = writer_name(writer, writer->entities[sample->entity].port_id, sample->t_ns);
	if (rc == SQLITE_OK)
		rc = writer_name(writer, writer->entities[sample->entity].device_id, sample->t_ns);
	if (rc == SQLITE_NOTFOUND)
		return SQLITE_OK;
	if (rc == SQLITE_OK)
		rc = tail_note_series(writer, sample);
	if (rc == SQLITE_OK)
		*ret = tail_device_at(writer, writer->entities[sample->entity].device_id);
	return rc;
}

static void tail_room(struct tail_state *tail, size_t n)
{
	tail->turn++;
	tail->n_devices = 0;
	if (n <= tail->cap_samples)
		return;
	tail->cap_samples = n;
	tail->slots = rw_realloc(tail->slots, n * sizeof(*tail->slots));
	tail->order = rw_realloc(tail->order, n * sizeof(*tail->order));
}

/* .order lists the samples device by device, in the order in which they came. */
static int tail_group(struct store_writer *writer, const struct sample *samples, size_t n)
{
	struct tail_state *tail = &writer->tail;
	uint32_t first = 0;
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < n; i++) {
		rc = tail_find_device(writer, &samples[i], &tail->slots[i]);
		if (tail->slots[i] != NO_DEVICE)
			tail->devices[tail->slots[i]].n++;
	}
	if (rc != SQLITE_OK)
		return rc;
	for (size_t i = 0; i < tail->n_devices; i++) {
		tail->devices[i].first = first;
		first += tail->devices[i].n;
		tail->devices[i].n = 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (tail->slots[i] == NO_DEVICE)
			continue;
		struct tail_device *device = &tail->devices[tail->slots[i]];
		tail->order[device->first + device->n++] = i;
	}
	return SQLITE_OK;
}

/* ---- one device ---------------------------------------------------------- */

/* How a device's samples lie in .sorted: those of the metric at place i of .by_number end at
 * end[i]. */
struct tail_layout {
	uint32_t end[METRIC_COUNT];
	int64_t from_ns, to_ns;
};

/* The samples of a device, by metric; of each metric in the order in which they came. */
static int tail_fill(struct store_writer *writer, const struct sample *samples,
	const struct tail_device *device, struct tail_layout *layout)
{
	struct tail_state *tail = &writer->tail;
	const uint32_t *order = &tail->order[device->first];
	uint32_t *at = layout->end, sum = 0;
	int rc = SQLITE_OK;

	*layout = (struct tail_layout){.from_ns = INT64_MAX, .to_ns = INT64_MIN};
	for (uint32_t i = 0; i < device->n; i++)
		at[tail->place[samples[order[i]].metric]]++;
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		const uint32_t count = at[m];
		at[m] = sum;
		sum += count;
	}
	for (uint32_t i = 0; rc == SQLITE_OK && i < device->n; i++) {
		const struct sample *sample = &samples[order[i]];
		int64_t text = (int64_t)sample->value;
		if (metric_info(sample->metric)->type == TYPE_TEXT)
			rc = writer_text(writer, sample->value, &text);
		if (sample->t_ns < layout->from_ns)
			layout->from_ns = sample->t_ns;
		if (sample->t_ns > layout->to_ns)
			layout->to_ns = sample->t_ns;
		tail->sorted[at[tail->place[sample->metric]]++] =
			(struct block_sample){.entity = writer->entities[sample->entity].file_id,
				.t_ns = sample->t_ns,
				.value = (uint64_t)text,
				.window_ms = sample->window_ms,
				.flags = sample->flags,
				.source = sample->source};
	}
	return rc;
}

/* The parts of a row; returns how many. @ret_n: samples in them. */
static size_t tail_parts(struct tail_state *tail, const struct tail_layout *layout,
	struct tail_segment ret[METRIC_COUNT], uint64_t *ret_n)
{
	uint32_t from = 0;
	size_t n = 0;

	*ret_n = 0;
	for (unsigned i = 0; i < METRIC_COUNT; from = layout->end[i++]) {
		const unsigned metric = tail->by_number[i];
		if (layout->end[i] == from)
			continue;
		ret[n] = (struct tail_segment){.metric = tail->number[metric],
			.samples = tail->sorted + from,
			.n = sample_sort(&tail->sorter, tail->sorted + from, layout->end[i] - from),
			.is_f64 = metric_info(metric)->type == TYPE_F64};
		*ret_n += ret[n++].n;
	}
	return n;
}

static int writer_tail_put(struct store_writer *writer, const struct tail_put *put)
{
	struct tail_state *tail = &writer->tail;
	sqlite3_stmt *st = tail->insert;

	tail->data.n = 0;
	if (tail_encode(put->parts, put->n_parts, &tail->data) < 0)
		return SQLITE_TOOBIG;
	writer_tail_bits(put->parts, put->n_parts, &tail->bits);
	sqlite3_bind_int64(st, 1, put->device);
	sqlite3_bind_int64(st, 2, put->from_ns);
	sqlite3_bind_int64(st, 3, put->to_ns);
	sqlite3_bind_int64(st, 4, (sqlite3_int64)put->n);
	sqlite3_bind_blob64(st, 5, tail->bits.s, tail->bits.n, SQLITE_STATIC);
	int rc = sqlite3_bind_blob64(st, 6, tail->data.s, tail->data.n, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite_run(st);
	sqlite3_bind_null(st, 5); /* the room is used again */
	sqlite3_bind_null(st, 6);
	if (rc == SQLITE_OK)
		seal_note(writer, put);
	return rc;
}

static int tail_write_device(
	struct store_writer *writer, const struct sample *samples, const struct tail_device *device)
{
	struct tail_state *tail = &writer->tail;
	struct tail_segment parts[METRIC_COUNT];
	struct tail_layout layout;

	if (device->n > tail->cap_sorted) {
		tail->cap_sorted = device->n;
		free(tail->sorted);
		tail->sorted = rw_calloc(device->n, sizeof(*tail->sorted));
	}
	const int rc = tail_fill(writer, samples, device, &layout);
	if (rc != SQLITE_OK)
		return rc;
	struct tail_put put = {.device = writer->entities[device->entity].file_id,
		.series = writer->entities[device->entity].n_series,
		.from_ns = layout.from_ns,
		.to_ns = layout.to_ns,
		.parts = parts};
	put.n_parts = tail_parts(tail, &layout, parts, &put.n);
	return writer_tail_put(writer, &put);
}

int writer_samples(struct store_writer *writer, const struct sample *samples, size_t n)
{
	struct tail_state *tail = &writer->tail;

	const size_t first = writer->n_new_series;

	tail_room(tail, n);
	int rc = tail_group(writer, samples, n);
	if (rc == SQLITE_OK)
		rc = tail_count_series(writer, first);
	for (size_t i = 0; rc == SQLITE_OK && i < tail->n_devices; i++)
		rc = tail_write_device(writer, samples, &tail->devices[i]);
	return rc;
}

void writer_tail_done(struct store_writer *writer)
{
	struct tail_state *tail = &writer->tail;

	free(tail->devices);
	free(tail->slots);
	free(tail->order);
	free(tail->sorted);
	str_done(&tail->data);
	str_done(&tail->bits);
	sample_sorter_done(&tail->sorter);
}

/* store_late - after a clock that was set back: what was stored with times that are still to come
 * gets SF_LATE, in the tail and in blocks. Rare, and in one transaction: a reader sees all of it or
 * nothing. One row or block is in memory at a time. */

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
		if (tail_metric(row, i, NULL, &block) < 0 ||
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
