/* block_codec - the reading side of block_codec.h; the layout is described in block_encode.c. What
 * is read is foreign: a place or a count is checked where it is used. */
#include "db/block/block_codec.h"

#include <errno.h>
#include <limits.h>
#include "agent/base/arena.h"
#include "db/block/bits.h"
#include "db/block/block_layout.h"
#include "db/block/number_codec.h"

/* ---- opening ------------------------------------------------------------------ */

static const uint8_t *open_array(struct bytes *bytes, uint32_t n, unsigned width, size_t *ret_size)
{
	*ret_size = bits_bytes(n, width);
	if (width > 64)
		bytes->bad = true;
	return bytes_take(bytes, *ret_size);
}

static uint32_t open_u32(struct bytes *bytes, uint32_t max)
{
	const uint64_t value = bits_uvar(bytes);

	if (value <= max)
		return (uint32_t)value;
	bytes->bad = true;
	return 0;
}

static void open_head(struct block_reader *ret, struct bytes *bytes)
{
	const unsigned version = bytes_u8(bytes), kind = bytes_u8(bytes);

	ret->fast = version == BLOCK_VERSION_FAST;
	if ((version != BLOCK_VERSION_SMALL && !ret->fast) || kind > 1)
		bytes->bad = true;
	ret->is_f64 = kind & 1;
	ret->n_series = open_u32(bytes, BLOCK_SAMPLES_MAX);
	ret->n_samples = open_u32(bytes, BLOCK_SAMPLES_MAX);
	ret->n_lists = open_u32(bytes, ret->n_series);
	if (ret->n_samples < ret->n_series || (ret->n_series == 0) != (ret->n_samples == 0) ||
		(ret->n_series == 0) != (ret->n_lists == 0))
		bytes->bad = true;
}

static void open_directory(struct block_reader *ret, struct bytes *bytes)
{
	ret->flags = (uint16_t)open_u32(bytes, UINT16_MAX);
	ret->source = (uint16_t)open_u32(bytes, UINT16_MAX);
	ret->window_ms = open_u32(bytes, UINT32_MAX);
	ret->entity_base = bits_uvar(bytes);
	ret->entity_step = bits_uvar(bytes);
	ret->entity_bits = bytes_u8(bytes);
	ret->list_bits = bytes_u8(bytes);
	ret->time_place_bits = bytes_u8(bytes);
	ret->place_bits = bytes_u8(bytes);
	ret->entities = open_array(bytes, ret->n_series, ret->entity_bits, &ret->entities_size);
	ret->lists = open_array(bytes, ret->n_series, ret->list_bits, &ret->lists_size);
	ret->time_places =
		open_array(bytes, ret->n_lists, ret->time_place_bits, &ret->time_places_size);
	ret->places = open_array(bytes, ret->n_series, ret->place_bits, &ret->places_size);
	ret->times_size = bits_uvar(bytes);
	ret->times = bytes_take(bytes, ret->times_size);
}

/* The fast form: exceptions and sizes stand before the values. */
static void open_fast(struct block_reader *ret, struct bytes *bytes)
{
	ret->runs_size = bits_uvar(bytes);
	ret->runs = bytes_take(bytes, ret->runs_size);
	ret->sizes = bytes_take(bytes, ((size_t)ret->n_samples + 1) / 2);
}

int64_t block_entity(const struct block_reader *reader, uint32_t i)
{
	const uint64_t rest =
		bits_at(reader->entities, reader->entities_size, i, reader->entity_bits);

	return (int64_t)(reader->entity_base + i * reader->entity_step + rest);
}

static bool entities_ascend(const struct block_reader *reader)
{
	int64_t before = -1;

	for (uint32_t i = 0; i < reader->n_series; i++) {
		const int64_t entity = block_entity(reader, i);
		if (entity <= before)
			return false;
		before = entity;
	}
	return true;
}

/* Opens the instants of series @i: how many there are, and in @ret the column of numbers. */
static uint32_t open_instants(const struct block_reader *reader, uint32_t i, struct bytes *ret)
{
	const uint64_t list = bits_at(reader->lists, reader->lists_size, i, reader->list_bits);
	uint64_t place = UINT64_MAX;

	if (list < reader->n_lists)
		place = bits_at(reader->time_places, reader->time_places_size, (size_t)list,
			reader->time_place_bits);
	*ret = bytes_of(reader->times, reader->times_size);
	if (place > reader->times_size)
		ret->bad = true;
	else
		bytes_skip(ret, (size_t)place);
	const uint32_t n = open_u32(ret, BLOCK_SERIES_MAX);
	if (n == 0)
		ret->bad = true;
	if (bytes_ok(ret))
		return n;
	return 0;
}

/* All series together have as many samples as the head says. */
static bool samples_agree(const struct block_reader *reader)
{
	struct bytes bytes;
	uint64_t n = 0;

	for (uint32_t i = 0; i < reader->n_series; i++) {
		const uint32_t more = open_instants(reader, i, &bytes);
		if (more == 0)
			return false;
		n += more;
		if (reader->list_bits == 0) {
			n *= reader->n_series;
			break;
		}
	}
	return n == reader->n_samples;
}

int block_open(struct block_reader *ret, const void *data, size_t size)
{
	struct bytes bytes = bytes_of(data, size);

	*ret = (struct block_reader){0};
	if (size > 0 && bytes.p[0] == BLOCK_VERSION_SMALL)
		bytes = bits_without_sum(data, size);
	open_head(ret, &bytes);
	if (!bytes_ok(&bytes))
		return -EBADMSG;
	if (ret->n_series == 0)
		return 0;
	open_directory(ret, &bytes);
	if (ret->fast)
		open_fast(ret, &bytes);
	ret->payload_size = bytes_left(&bytes);
	ret->payload = bytes_take(&bytes, ret->payload_size);
	if (!bytes_ok(&bytes) || !entities_ascend(ret) || !samples_agree(ret))
		return -EBADMSG;
	return 0;
}

uint32_t block_from(const struct block_reader *reader, int64_t entity)
{
	uint32_t lo = 0, hi = reader->n_series;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;
		if (block_entity(reader, mid) < entity)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* ---- flags, source, window ------------------------------------------------------ */

/* Goes through the runs of exceptions. */
struct block_marks {
	struct bytes bytes;
	uint64_t runs; /* that are left */
	uint64_t next; /* sample at which the next one begins */
	uint16_t flags, source;
	uint32_t window_ms;
};

static void marks_look_ahead(struct block_marks *marks)
{
	if (marks->runs == 0)
		marks->next = UINT64_MAX;
	else
		marks->next += open_u32(&marks->bytes, BLOCK_SAMPLES_MAX);
}

static void marks_begin(
	struct block_marks *marks, const struct block_reader *reader, struct bytes bytes)
{
	*marks = (struct block_marks){.bytes = bytes,
		.flags = reader->flags,
		.source = reader->source,
		.window_ms = reader->window_ms};
	if (bytes_left(&bytes) > 0)
		marks->runs = bits_uvar(&marks->bytes);
	marks_look_ahead(marks);
}

/* Steps to the run that holds at sample @i. */
static inline void marks_at(struct block_marks *marks, uint64_t i)
{
	while (marks->next <= i && bytes_ok(&marks->bytes)) {
		marks->flags = (uint16_t)open_u32(&marks->bytes, UINT16_MAX);
		marks->source = (uint16_t)open_u32(&marks->bytes, UINT16_MAX);
		marks->window_ms = open_u32(&marks->bytes, UINT32_MAX);
		marks->runs--;
		marks_look_ahead(marks);
	}
}

/* The marks of samples @begin .. @begin + ret->n of a run list, in columns of their own. */
static int marks_read(
	struct block_marks *marks, uint32_t begin, struct arena *a, struct block_columns *ret)
{
	ret->flags = arena_array(a, uint16_t, ret->n);
	ret->source = arena_array(a, uint16_t, ret->n);
	ret->window_ms = arena_array(a, uint32_t, ret->n);
	for (uint32_t i = 0; i < ret->n;) {
		uint32_t end = ret->n;
		marks_at(marks, begin + i);
		if (marks->next < (uint64_t)begin + end)
			end = (uint32_t)(marks->next - begin);
		if (!bytes_ok(&marks->bytes) || end <= i)
			return -EBADMSG;
		for (; i < end; i++) {
			ret->flags[i] = marks->flags;
			ret->source[i] = marks->source;
			ret->window_ms[i] = marks->window_ms;
		}
	}
	return 0;
}

/* ---- one series ------------------------------------------------------------------ */

/* A column of @n numbers of one value. */
static uint16_t *column_of_u16(struct arena *a, uint32_t n, uint16_t value)
{
	uint16_t *ret = arena_array(a, uint16_t, n);

	for (uint32_t i = 0; i < n && value; i++)
		ret[i] = value;
	return ret;
}
static uint32_t *column_of_u32(struct arena *a, uint32_t n, uint32_t value)
{
	uint32_t *ret = arena_array(a, uint32_t, n);

	for (uint32_t i = 0; i < n && value; i++)
		ret[i] = value;
	return ret;
}

/* The marks of a series without an exception: shared by all of the same length. */
static void usual_marks(struct block_reader *reader, struct arena *a, struct block_columns *ret)
{
	if (!reader->last_valid || !reader->last_flags) {
		reader->last_flags = column_of_u16(a, ret->n, reader->flags);
		reader->last_source = column_of_u16(a, ret->n, reader->source);
		reader->last_window_ms = column_of_u32(a, ret->n, reader->window_ms);
	}
	ret->flags = reader->last_flags;
	ret->source = reader->last_source;
	ret->window_ms = reader->last_window_ms;
}

/* The instants of series @i, taken from the series before where they are the same list. */
static int read_instants(
	struct block_reader *reader, uint32_t i, struct arena *a, struct block_columns *ret)
{
	const uint32_t list =
		(uint32_t)bits_at(reader->lists, reader->lists_size, i, reader->list_bits);
	struct bytes bytes;

	if (reader->last_valid && reader->shared == a && reader->last_list == list) {
		ret->n = reader->last_n;
		ret->t_ns = reader->last_t_ns;
		return 0;
	}
	reader->last_valid = false;
	ret->n = open_instants(reader, i, &bytes);
	if (ret->n == 0)
		return -EBADMSG;
	ret->t_ns = arena_array(a, int64_t, ret->n);
	if (number_decode(&bytes, ret->n, (uint64_t *)(void *)ret->t_ns, NULL) < 0)
		return -EBADMSG;
	for (uint32_t j = 1; j < ret->n; j++)
		if (ret->t_ns[j] <= ret->t_ns[j - 1])
			return -EBADMSG;
	reader->last_valid = reader->shared == a;
	reader->last_list = list;
	reader->last_n = ret->n;
	reader->last_t_ns = ret->t_ns;
	reader->last_flags = reader->last_source = NULL;
	return 0;
}

static int read_small(
	struct block_reader *reader, uint32_t i, struct arena *a, struct block_columns *ret)
{
	const uint64_t place = bits_at(reader->places, reader->places_size, i, reader->place_bits);
	struct bytes bytes = bytes_of(reader->payload, reader->payload_size);
	struct block_marks marks;

	if (place >= reader->payload_size)
		return -EBADMSG;
	bytes_skip(&bytes, (size_t)place);
	if (reader->payload[place] == BLOCK_MARKED) {
		bytes_skip(&bytes, 1);
		marks_begin(&marks, reader, bytes);
		if (marks_read(&marks, 0, a, ret) < 0)
			return -EBADMSG;
		bytes = marks.bytes;
	} else {
		usual_marks(reader, a, ret);
	}
	if (reader->is_f64)
		return number_decode_f64(&bytes, ret->n, ret->value, &ret->constant);
	return number_decode(&bytes, ret->n, ret->value, &ret->constant);
}

static inline unsigned fast_size(const struct block_reader *reader, uint32_t sample)
{
	return reader->sizes[sample / 2] >> (sample % 2 * 4) & 0xf;
}

/* The number of @size bytes at @at, of which @left are there. */
static inline uint64_t fast_load(const uint8_t *at, size_t left, unsigned size)
{
	uint8_t copy[8] = {0};

	if (left >= sizeof(copy))
		return bits_load(at) & bits_mask(8 * size);
	memcpy(copy, at, size);
	return bits_load(copy);
}

/* Reads @n values from sample @reader->at_sample on, and moves the place behind them. */
static int fast_values(struct block_reader *reader, uint32_t n, uint64_t *ret)
{
	uint64_t before = 0;

	for (uint32_t i = 0; i < n; i++) {
		const unsigned size = fast_size(reader, reader->at_sample);
		const size_t left = reader->payload_size - reader->at_byte;
		if (size > 8 || size > left)
			return -EBADMSG;
		uint64_t value = fast_load(reader->payload + reader->at_byte, left, size);
		if (reader->is_f64)
			value = __builtin_bswap64(value) ^ before;
		else if (i > 0)
			value = bits_unzigzag(value) + before;
		ret[i] = before = value;
		reader->at_byte += size;
		reader->at_sample++;
	}
	reader->at_series++;
	return 0;
}

/* Moves to series @i. */
static int fast_seek(struct block_reader *reader, uint32_t i)
{
	struct bytes bytes;

	if (i < reader->at_series) {
		reader->at_series = reader->at_sample = 0;
		reader->at_byte = 0;
	}
	for (; reader->at_series < i; reader->at_series++) {
		const uint32_t n = open_instants(reader, reader->at_series, &bytes);
		for (uint32_t j = 0; j < n; j++)
			reader->at_byte += fast_size(reader, reader->at_sample++);
		if (reader->at_byte > reader->payload_size)
			break;
	}
	if (reader->at_series == i)
		return 0;
	reader->at_series = UINT32_MAX; /* from the start the next time */
	return -EBADMSG;
}

static int read_fast(
	struct block_reader *reader, uint32_t i, struct arena *a, struct block_columns *ret)
{
	struct block_marks marks;

	if (fast_seek(reader, i) < 0)
		return -EBADMSG;
	int r = 0;
	if (reader->runs_size > 0) {
		marks_begin(&marks, reader, bytes_of(reader->runs, reader->runs_size));
		r = marks_read(&marks, reader->at_sample, a, ret);
	} else {
		usual_marks(reader, a, ret);
	}
	if (r == 0)
		r = fast_values(reader, ret->n, ret->value);
	if (r < 0)
		reader->at_series = UINT32_MAX;
	return r;
}

static int read_series(
	struct block_reader *reader, uint32_t i, struct arena *a, struct block_columns *ret)
{
	*ret = (struct block_columns){0};
	if (read_instants(reader, i, a, ret) < 0)
		return -EBADMSG;
	ret->value = arena_array(a, uint64_t, ret->n);
	if (reader->fast)
		return read_fast(reader, i, a, ret);
	return read_small(reader, i, a, ret);
}

int block_instants(struct block_reader *reader, uint32_t i, struct arena *a,
	struct block_columns *ret, bool *ret_marked)
{
	*ret = (struct block_columns){0};
	*ret_marked = reader->runs_size > 0;
	if (!reader->fast) {
		const uint64_t place =
			bits_at(reader->places, reader->places_size, i, reader->place_bits);
		if (place >= reader->payload_size)
			return -EBADMSG;
		*ret_marked = reader->payload[place] == BLOCK_MARKED;
	}
	return read_instants(reader, i, a, ret);
}

static uint32_t columns_after(const struct block_columns *columns, int64_t t_ns)
{
	uint32_t lo = 0, hi = columns->n;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;
		if (columns->t_ns[mid] > t_ns)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

int block_read(struct block_reader *reader, uint32_t i, int64_t from_ns, int64_t to_ns,
	struct arena *a, struct block_columns *ret)
{
	uint32_t begin = 0;
	const int r = read_series(reader, i, a, ret);

	if (r < 0) {
		ret->n = 0;
		return r;
	}
	if (from_ns > INT64_MIN)
		begin = columns_after(ret, from_ns - 1);
	const uint32_t end = columns_after(ret, to_ns);
	ret->n = 0;
	if (end <= begin)
		return 0;
	ret->n = end - begin;
	ret->t_ns += begin;
	ret->value += begin;
	ret->flags += begin;
	ret->source += begin;
	ret->window_ms += begin;
	return 0;
}

/* ---- all of them ------------------------------------------------------------------- */

static void decode_room(struct block_sample **v, size_t *cap, size_t need)
{
	size_t more = *cap;

	if (need <= *cap)
		return;
	if (more < 64)
		more = 64;
	while (more < need)
		more *= 2;
	*v = rw_realloc(*v, more * sizeof(**v));
	*cap = more;
}

enum { DECODE_RESET = 64 }; /* series read between two resets of memory */

int block_decode(struct block_reader *reader, struct block_sample **v, size_t *n, size_t *cap)
{
	struct arena *a = arena_new();
	struct block_columns columns;
	size_t at = *n;
	int r = 0;

	decode_room(v, cap, *n + reader->n_samples);
	for (uint32_t i = 0; i < reader->n_series && r == 0; i++) {
		const int64_t entity = block_entity(reader, i);
		if (i % DECODE_RESET == 0) {
			arena_reset(a);
			block_share(reader, a);
		}
		r = read_series(reader, i, a, &columns);
		for (uint32_t j = 0; j < columns.n && r == 0; j++)
			(*v)[at++] = (struct block_sample){.entity = entity,
				.t_ns = columns.t_ns[j],
				.value = columns.value[j],
				.window_ms = columns.window_ms[j],
				.flags = columns.flags[j],
				.source = columns.source[j]};
	}
	arena_free(a);
	block_share(reader, NULL);
	if (r < 0)
		return r;
	*n = at;
	return 0;
}
