/*
 * store_tail - samples to rows of table tail: one for each device of a transaction. The samples are
 * brought into the order of a row (device, metric, entity, time) by counting, since collectors walk
 * their columns in any order, and coded for speed: they become blocks later (store_seal.c).
 *
 * Of two values of one entity, metric and instant the first one stays, as it does in memory: here
 * within a transaction, and when rows are read or sealed, the row that was written first.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

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

int writer_tail_put(struct store_writer *writer, const struct tail_put *put)
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

	tail_room(tail, n);
	int rc = tail_group(writer, samples, n);
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
