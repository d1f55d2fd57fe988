/* tail_codec - layout of a row: u8 version, LEB128 count of metrics, u8 bits of a metric, u8 bits
 * of an end; arrays of that many bits, each ended at a byte: metrics, ends of their blocks; the
 * blocks; u32 sum of all these bytes. */

#include "db/block/bits.h"
#include "db/block/block_codec.h"
#include "db/block/number_codec.h"

enum { TAIL_VERSION = 1, TAIL_METRICS_MAX = 1 << 20 };

int tail_encode(const struct tail_segment *segments, size_t n, struct str *out)
{
	rw_cleanup(str_done) struct str blocks = {0};
	rw_cleanup(freep) uint64_t *numbers = rw_calloc(2 * n + 1, sizeof(*numbers));
	uint64_t *ends = numbers + n;

	for (size_t i = 0; i < n; i++) {
		const struct tail_segment *segment = &segments[i];
		if (segment->metric < 0 || (i > 0 && segment->metric <= segments[i - 1].metric))
			return -EINVAL;
		const int r = block_encode(
			segment->samples, segment->n, BLOCK_FAST, segment->is_f64, &blocks);
		if (r < 0)
			return r;
		numbers[i] = segment->metric;
		ends[i] = blocks.n;
	}
	if (n > TAIL_METRICS_MAX)
		return -E2BIG;
	unsigned metric_bits = 0;
	if (n > 0)
		metric_bits = bits_width(numbers[n - 1]); /* the highest */
	const unsigned end_bits = bits_width(blocks.n);
	const size_t begin = out->n;
	bits_add_u8(out, TAIL_VERSION);
	bits_add_uvar(out, n);
	bits_add_u8(out, metric_bits);
	bits_add_u8(out, end_bits);
	bits_add_array(numbers, n, metric_bits, out);
	bits_add_array(ends, n, end_bits, out);
	str_addn(out, blocks.s, blocks.n);
	bits_add_sum(out, begin);
	return 0;
}

int64_t tail_metric_number(const struct tail_reader *tail, uint32_t i)
{
	return (int64_t)bits_at(tail->metrics, tail->metrics_size, i, tail->metric_bits);
}

static uint64_t tail_end(const struct tail_reader *tail, uint32_t i)
{
	return bits_at(tail->ends, tail->ends_size, i, tail->end_bits);
}

static bool tail_ascends(const struct tail_reader *tail)
{
	for (uint32_t i = 0; i < tail->n_metrics; i++) {
		if (tail_end(tail, i) > tail->segments_size)
			return false;
		if (i == 0)
			continue;
		if (tail_metric_number(tail, i) <= tail_metric_number(tail, i - 1))
			return false;
		if (tail_end(tail, i) < tail_end(tail, i - 1))
			return false;
	}
	return true;
}

int tail_open(struct tail_reader *ret, const void *data, size_t size)
{
	struct bytes bytes = bits_without_sum(data, size);
	const unsigned version = bytes_u8(&bytes);
	const uint64_t n = bits_uvar(&bytes);

	*ret = (struct tail_reader){0};
	ret->metric_bits = bytes_u8(&bytes);
	ret->end_bits = bytes_u8(&bytes);
	if (!bytes_ok(&bytes) || version != TAIL_VERSION || n > TAIL_METRICS_MAX ||
		ret->metric_bits > 63 || ret->end_bits > 64)
		return -EBADMSG;
	ret->metrics_size = bits_bytes(n, ret->metric_bits);
	ret->ends_size = bits_bytes(n, ret->end_bits);
	ret->metrics = bytes_take(&bytes, ret->metrics_size);
	ret->ends = bytes_take(&bytes, ret->ends_size);
	ret->segments_size = bytes_left(&bytes);
	ret->segments = bytes_take(&bytes, ret->segments_size);
	if (!bytes_ok(&bytes))
		return -EBADMSG;
	ret->n_metrics = (uint32_t)n;
	if (tail_ascends(ret))
		return 0;
	ret->n_metrics = 0;
	return -EBADMSG;
}

int64_t tail_find(const struct tail_reader *tail, int64_t metric)
{
	uint32_t lo = 0, hi = tail->n_metrics;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;
		if (tail_metric_number(tail, mid) < metric)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < tail->n_metrics && tail_metric_number(tail, lo) == metric)
		return lo;
	return -1;
}

int tail_metric(const struct tail_reader *tail, uint32_t i, const struct block_reader *like,
	struct block_reader *ret)
{
	uint64_t begin = 0;

	if (i > 0)
		begin = tail_end(tail, i - 1);
	return block_open_like(
		ret, tail->segments + begin, (size_t)(tail_end(tail, i) - begin), like);
}

/* ---- rows side by side --------------------------------------------------------------- */

enum { GRID_ROWS = 8 }; /* that are read at once: the values of a series lie beside each other */

void tail_grid_clear(struct tail_grid *grid)
{
	grid->n = 0;
}

void tail_grid_done(struct tail_grid *grid)
{
	free(grid->rows);
	free(grid->t_ns);
	free(grid->entity);
	free(grid->value);
	*grid = (struct tail_grid){0};
}

/* One sample of each series, of one instant and without an exception. */
static bool grid_takes(const struct block_reader *row)
{
	return row->fast && row->n_lists == 1 && row->n_samples == row->n_series &&
		row->runs_size == 0 &&
		row->lists_size + row->time_places_size + row->places_size == 0;
}

bool tail_grid_take(struct tail_grid *grid, const struct block_reader *reader)
{
	const struct block_reader *first = &grid->first;
	struct bytes times = bytes_of(reader->times, reader->times_size);
	uint64_t t_ns;

	if (!grid_takes(reader) || bits_uvar(&times) != 1 ||
		number_decode(&times, 1, &t_ns, NULL) < 0)
		return false;
	if (grid->n == 0)
		grid->first = *reader;
	else if (first->is_f64 != reader->is_f64 || first->flags != reader->flags ||
		first->source != reader->source || first->window_ms != reader->window_ms ||
		!block_same_series(first, reader))
		return false;
	if (grid->n > 0 && (int64_t)t_ns <= grid->t_ns[grid->n - 1])
		return false;
	rw_grow(grid->rows, grid->n, grid->cap_rows);
	rw_grow(grid->t_ns, grid->n, grid->cap_t_ns);
	grid->rows[grid->n] =
		(struct tail_grid_row){reader->sizes, reader->payload, reader->payload_size};
	grid->t_ns[grid->n++] = (int64_t)t_ns;
	return true;
}

bool tail_grid_add(struct tail_grid *grid, const struct tail_reader *tail, uint32_t i)
{
	const struct block_reader *like = NULL;
	struct block_reader reader;

	if (grid->n > 0)
		like = &grid->first;
	return tail_metric(tail, i, like, &reader) == 0 && tail_grid_take(grid, &reader);
}

bool tail_grid_stands(const struct tail_grid *grid)
{
	const size_t n_sizes = ((size_t)grid->first.n_samples + 1) / 2;

	for (size_t k = 1; k < grid->n; k++) {
		const struct tail_grid_row *row = &grid->rows[k], *before = row - 1;
		if (row->values_size != before->values_size ||
			memcmp(row->sizes, before->sizes, n_sizes) != 0 ||
			memcmp(row->values, before->values, row->values_size) != 0)
			return false;
	}
	return true;
}

/* Values of up to GRID_ROWS rows from row @at on. */
static bool grid_read(const struct tail_grid *grid, size_t at, uint32_t n, uint64_t *ret)
{
	const struct tail_grid_row *rows = grid->rows + at;
	size_t place[GRID_ROWS] = {0};

	for (uint32_t s = 0; s < grid->first.n_series; s++, ret += grid->n)
		for (uint32_t k = 0; k < n; k++) {
			const unsigned size = rows[k].sizes[s / 2] >> (s % 2 * 4) & 0xf;
			const size_t left = rows[k].values_size - place[k];
			if (size > 8 || size > left)
				return false;
			ret[k] = bits_load_part(rows[k].values + place[k], left, size);
			if (grid->first.is_f64)
				ret[k] = __builtin_bswap64(ret[k]);
			place[k] += size;
		}
	return true;
}

bool tail_grid_matrix(struct tail_grid *grid, struct block_matrix *ret)
{
	const uint32_t n_series = grid->first.n_series;
	const size_t n = grid->n * n_series;

	if (n_series > grid->cap_entity) {
		grid->cap_entity = n_series;
		grid->entity = rw_realloc(grid->entity, n_series * sizeof(*grid->entity));
	}
	if (n > grid->cap_value) {
		grid->cap_value = n;
		free(grid->value);
		grid->value = rw_realloc(NULL, n * sizeof(*grid->value));
	}
	for (uint32_t i = 0; i < n_series; i++)
		grid->entity[i] = block_entity(&grid->first, i);
	for (size_t at = 0; at < grid->n; at += GRID_ROWS) {
		uint32_t rows = GRID_ROWS;
		if (grid->n - at < rows)
			rows = (uint32_t)(grid->n - at);
		if (!grid_read(grid, at, rows, grid->value + at))
			return false;
	}
	*ret = (struct block_matrix){.n_series = n_series,
		.n = (uint32_t)grid->n,
		.entity = grid->entity,
		.t_ns = grid->t_ns,
		.value = grid->value,
		.stride = grid->n,
		.flags = grid->first.flags,
		.source = grid->first.source,
		.window_ms = grid->first.window_ms};
	return true;
}
