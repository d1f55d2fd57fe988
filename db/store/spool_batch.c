/* spool_batch - rows of the spool, read into memory. */
#include "db/store/spool_batch.h"

#include "agent/base/arena.h"

struct batch_reading {
	struct arena *a;
	struct spool_chunk *chunks;
	size_t n, cap;
	uint64_t n_samples, n_rows;
};

static int batch_take_samples(void *arg, const struct spool_samples *samples)
{
	struct batch_reading *reading = arg;
	struct spool_samples *kept =
		arena_copy(reading->a, samples, sizeof(*samples), sizeof(*samples));
	arena_grow(reading->a, reading->chunks, reading->n, reading->cap);
	reading->chunks[reading->n++] = (struct spool_chunk){.samples = kept};
	reading->n_samples += samples->n;
	return 0;
}

static int batch_take_row(void *arg, const struct spool_row *row)
{
	struct batch_reading *reading = arg;
	struct spool_row *kept = arena_copy(reading->a, row, sizeof(*row), sizeof(*row));
	arena_grow(reading->a, reading->chunks, reading->n, reading->cap);
	reading->chunks[reading->n++] = (struct spool_chunk){.row = kept};
	reading->n_rows++;
	return 0;
}

int spool_batch_add(
	struct spool_batch *batch, struct arena *a, int64_t seq, const void *data, size_t n)
{
	struct batch_reading reading = {.a = a};
	const struct spool_reader reader = {
		.samples = batch_take_samples, .row = batch_take_row, .arg = &reading};
	const int r = spool_read(data, n, a, &reader);
	if (r < 0)
		return r;
	arena_grow(a, batch->parts, batch->n, batch->cap);
	batch->parts[batch->n++] =
		(struct spool_part){.seq = seq, .chunks = reading.chunks, .n = reading.n};
	batch->n_samples += reading.n_samples;
	batch->n_rows += reading.n_rows;
	return 0;
}
