/* block_codec - the reading side of block_codec.h; the layout is described in block_codec.c. What
 * is read is foreign: a place or a count is checked where it is used. */
#include "db/block/block_codec.h"

#include <limits.h>

#include "db/block/bits.h"
#include "db/block/number_codec.h"

enum {
	BLOCK_SERIES_MAX = 1 << 20, /* samples of one series */
	BLOCK_SAMPLES_MAX = 1 << 22, /* samples of one block */
};

enum { BLOCK_VERSION_FAST = 1, BLOCK_VERSION_SMALL = 2 };

/* First byte of a series with exceptions; no column of numbers begins with it. */
enum { BLOCK_MARKED = 0xfe };

/* ---- opening ------------------------------------------------------------------ */

static const uint8_t *obits_add_array(
	struct bytes *bytes, uint32_t n, unsigned width, size_t *ret_size)
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
	ret->entities =
		obits_add_array(bytes, ret->n_series, ret->entity_bits, &ret->entities_size);
	ret->lists = obits_add_array(bytes, ret->n_series, ret->list_bits, &ret->lists_size);
	ret->time_places =
		obits_add_array(bytes, ret->n_lists, ret->time_place_bits, &ret->time_places_size);
	ret->places = obits_add_array(bytes, ret->n_series, ret->place_bits, &ret->places_size);
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
	return block_open_like(ret, data, size, NULL);
}

int block_open_like(
	struct block_reader *ret, const void *data, size_t size, const struct block_reader *like)
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
	if (!bytes_ok(&bytes))
		return -EBADMSG;
	const bool known = like && block_same_series(like, ret);
	if ((!known && !entities_ascend(ret)) || !samples_agree(ret))
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

static uint64_t small_place(const struct block_reader *reader, uint32_t i)
{
	return bits_at(reader->places, reader->places_size, i, reader->place_bits);
}

static int read_small(
	struct block_reader *reader, uint32_t i, struct arena *a, struct block_columns *ret)
{
	const uint64_t place = small_place(reader, i);
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

/* Reads @n values from sample @reader->at_sample on, and moves the place behind them. */
static int fast_values(struct block_reader *reader, uint32_t n, uint64_t *ret)
{
	uint64_t before = 0;

	for (uint32_t i = 0; i < n; i++) {
		const unsigned size = fast_size(reader, reader->at_sample);
		const size_t left = reader->payload_size - reader->at_byte;
		if (size > 8 || size > left)
			return -EBADMSG;
		uint64_t value = bits_load_part(reader->payload + reader->at_byte, left, size);
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

/* Arrays of bytes, of which one that is absent is empty. */
static bool same_bytes(const uint8_t *left, size_t n_left, const uint8_t *right, size_t n_right)
{
	return n_left == n_right && (n_left == 0 || memcmp(left, right, n_left) == 0);
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
		const uint64_t place = small_place(reader, i);
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

/* ---- columns ----------------------------------------------------------------------- */

uint32_t block_instants_max(const struct block_reader *reader)
{
	if (reader->fast || reader->n_lists != 1 || reader->list_bits != 0)
		return 0;
	for (uint32_t i = 0; i < reader->n_series; i++) {
		const uint64_t place = small_place(reader, i);
		if (place >= reader->payload_size || reader->payload[place] == BLOCK_MARKED)
			return 0;
	}
	return reader->n_samples / reader->n_series;
}

int block_read_instants(const struct block_reader *reader, int64_t *t_ns)
{
	const uint32_t n = reader->n_samples / reader->n_series;
	struct bytes bytes;

	if (open_instants(reader, 0, &bytes) != n)
		return -EBADMSG;
	return number_decode(&bytes, n, (uint64_t *)(void *)t_ns, NULL);
}

int block_read_values(const struct block_reader *reader, uint32_t i, uint64_t *value)
{
	const uint32_t n = reader->n_samples / reader->n_series;
	struct bytes bytes = bytes_of(reader->payload, reader->payload_size);

	bytes_skip(&bytes, (size_t)small_place(reader, i));
	if (reader->is_f64)
		return number_decode_f64(&bytes, n, value, NULL);
	return number_decode(&bytes, n, value, NULL);
}

int block_read_matrix(struct block_reader *reader, uint64_t *value, size_t stride, int64_t *t_ns)
{
	int r = block_read_instants(reader, t_ns);

	for (uint32_t i = 0; i < reader->n_series && r == 0; i++, value += stride)
		r = block_read_values(reader, i, value);
	return r;
}

bool block_same_series(const struct block_reader *left, const struct block_reader *right)
{
	return left->n_series == right->n_series && left->entity_base == right->entity_base &&
		left->entity_step == right->entity_step &&
		left->entity_bits == right->entity_bits &&
		same_bytes(
			left->entities, left->entities_size, right->entities, right->entities_size);
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

/*
 * block_encode - the writing side of block_codec.h. Layout of a block, numbers in LEB128 unless a
 * width is given:
 *
 *   u8 version  1 = fast, 2 = small
 *   u8 kind     bit 0: doubles
 *   series, samples, lists of instants; if there is no series, the block ends here
 *   flags, source, window_ms of samples without an exception
 *   entity of the first series, smallest difference of entities
 *   u8 bits of an entity, of a list's number, of a place of a list, of a place of a series
 *   arrays, each ended at a byte: entity - first - i * smallest difference; number of the list;
 *   place of each list in the instants; place of each series in the values (small only)
 *   bytes of the instants; per list: n, column of numbers
 *   the values; small: per series u8 0xfe and exceptions where there are any, column of numbers;
 *     fast: bytes of the exceptions, exceptions, per sample 4 bits for the count of its bytes, the
 *     bytes (differences to the sample before in the series)
 *   u32 sum of all these bytes, little-endian (small only)
 *
 * Exceptions: count, then runs of (samples until it begins, flags, source, window_ms); a run holds
 * until the next one.
 */

struct block_list { /* distinct instants */
	uint64_t hash;
	const struct block_sample *samples; /* of the first series that has them */
	uint32_t n;
};

/* A block on its way to bytes. */
struct block_pen {
	const struct block_sample *samples; /* or .matrix */
	const struct block_matrix *matrix;
	bool is_f64;
	uint32_t n, n_series, n_lists;
	uint64_t *entity; /* of each series */
	uint32_t *begin; /* of each series, and the end; NULL: each has one sample */
	uint32_t *list; /* of each series; NULL: there is one */
	uint64_t *place; /* of each series in the values, then of each list in the instants */
	struct block_list *lists;
	uint32_t *slots; /* hash of instants to list + 1 */
	uint32_t slot_mask;
	uint64_t *numbers, *scratch; /* room for the longest series, twice */
	struct str times, values;
	struct block_sample usual; /* flags, source and window without an exception */
};

static void pen_done(struct block_pen *pen)
{
	free(pen->entity);
	free(pen->begin);
	free(pen->list);
	free(pen->place);
	free(pen->lists);
	free(pen->slots);
	free(pen->numbers);
	str_done(&pen->times);
	str_done(&pen->values);
}

static int pen_cut(struct block_pen *pen)
{
	const struct block_sample *v = pen->samples;
	uint32_t cap = 64, longest = 0, n = 0;

	pen->begin = rw_calloc(cap + 1, sizeof(*pen->begin));
	for (uint32_t i = 0; i < pen->n; i++) {
		if (i > 0 && v[i].entity == v[i - 1].entity) {
			if (v[i].t_ns <= v[i - 1].t_ns)
				return -EINVAL;
			continue;
		}
		if (v[i].entity < 0 || (i > 0 && v[i].entity < v[i - 1].entity))
			return -EINVAL;
		if (n == cap) {
			cap *= 2;
			pen->begin = rw_realloc(pen->begin, (cap + 1) * sizeof(*pen->begin));
		}
		pen->begin[n++] = i;
	}
	pen->begin[n] = pen->n;
	pen->n_series = n;
	for (uint32_t i = 0; i < n; i++)
		if (pen->begin[i + 1] - pen->begin[i] > longest)
			longest = pen->begin[i + 1] - pen->begin[i];
	if (longest > BLOCK_SERIES_MAX)
		return -E2BIG;
	pen->numbers = rw_calloc(2 * (size_t)longest + 1, sizeof(*pen->numbers));
	pen->scratch = pen->numbers + longest;
	pen->entity = rw_calloc(n + 1, sizeof(*pen->entity));
	for (uint32_t i = 0; i < n; i++)
		pen->entity[i] = (uint64_t)v[pen->begin[i]].entity;
	return 0;
}

/* ---- instants --------------------------------------------------------------- */

static uint64_t block_hash(const struct block_sample *samples, uint32_t n)
{
	uint64_t hash = n;

	for (uint32_t i = 0; i < n; i++)
		hash = (hash ^ (uint64_t)samples[i].t_ns) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static bool same_instants(const struct block_list *list, const struct block_sample *samples)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (list->samples[i].t_ns != samples[i].t_ns)
			return false;
	return true;
}

/* The number of the list of these instants; a new one is written. */
static uint32_t pen_list(struct block_pen *pen, const struct block_sample *samples, uint32_t n)
{
	const uint64_t hash = block_hash(samples, n);
	uint32_t slot = (uint32_t)hash & pen->slot_mask;

	for (; pen->slots[slot]; slot = (slot + 1) & pen->slot_mask) {
		const struct block_list *list = &pen->lists[pen->slots[slot] - 1];
		if (list->hash == hash && list->n == n && same_instants(list, samples))
			return pen->slots[slot] - 1;
	}
	const uint32_t number = pen->n_lists++;
	pen->lists[number] = (struct block_list){.hash = hash, .samples = samples, .n = n};
	pen->slots[slot] = pen->n_lists;
	pen->place[pen->n_series + number] = pen->times.n;
	for (uint32_t i = 0; i < n; i++)
		pen->numbers[i] = (uint64_t)samples[i].t_ns;
	bits_add_uvar(&pen->times, n);
	number_encode(pen->numbers, n, &pen->times);
	return number;
}

static void pen_instants(struct block_pen *pen)
{
	uint32_t slots = 4;

	while (slots < 2 * pen->n_series)
		slots *= 2;
	pen->slot_mask = slots - 1;
	pen->slots = rw_calloc(slots, sizeof(*pen->slots));
	pen->lists = rw_calloc(pen->n_series, sizeof(*pen->lists));
	pen->list = rw_calloc(pen->n_series, sizeof(*pen->list));
	pen->place = rw_calloc(2 * (size_t)pen->n_series, sizeof(*pen->place));
	for (uint32_t i = 0; i < pen->n_series; i++)
		pen->list[i] = pen_list(
			pen, pen->samples + pen->begin[i], pen->begin[i + 1] - pen->begin[i]);
}

/* ---- flags, source, window ---------------------------------------------------- */

static bool same_marks(const struct block_sample *left, const struct block_sample *right)
{
	return left->flags == right->flags && left->source == right->source &&
		left->window_ms == right->window_ms;
}

/* The marks that most series begin with, by majority vote. */
static void pen_usual(struct block_pen *pen)
{
	uint32_t votes = 0;

	for (uint32_t i = 0; i < pen->n_series; i++) {
		const uint32_t last = pen->begin[i + 1] - 1;
		if (votes == 0)
			pen->usual = pen->samples[last];
		if (same_marks(&pen->usual, &pen->samples[last]))
			votes++;
		else
			votes--;
	}
}

/* Writes the runs of other marks; false and nothing where all are usual. */
static bool pen_marks(
	const struct block_pen *pen, const struct block_sample *v, uint32_t n, struct str *out)
{
	const struct block_sample *now = &pen->usual;
	uint32_t runs = 0, since = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (same_marks(&v[i], now))
			continue;
		now = &v[i];
		runs++;
	}
	if (runs == 0)
		return false;
	bits_add_uvar(out, runs);
	now = &pen->usual;
	for (uint32_t i = 0; i < n; i++) {
		if (same_marks(&v[i], now))
			continue;
		now = &v[i];
		bits_add_uvar(out, i - since);
		bits_add_uvar(out, now->flags);
		bits_add_uvar(out, now->source);
		bits_add_uvar(out, now->window_ms);
		since = i;
	}
	return true;
}

/* ---- values ------------------------------------------------------------------ */

enum { SHARED_MAX = 24, SHARED_SLOTS = 256 }; /* values that several series may share */

/* A series without its own bytes when another one wrote the same short ones. */
static uint64_t pen_share(struct block_pen *pen, uint64_t begin, uint64_t *slots)
{
	const size_t size = pen->values.n - begin;
	const char *bytes = pen->values.s + begin;
	uint32_t hash = 2166136261U;

	if (size > SHARED_MAX)
		return begin;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (uint8_t)bytes[i]) * 16777619U;
	uint64_t *slot = &slots[(hash ^ hash >> 16) % SHARED_SLOTS];
	if (*slot && *slot - 1 + size <= begin &&
		memcmp(pen->values.s + *slot - 1, bytes, size) == 0) {
		pen->values.n = begin;
		return *slot - 1;
	}
	*slot = begin + 1;
	return begin;
}

/* The values of series @i; its exceptions are written. */
static const uint64_t *pen_column(struct block_pen *pen, uint32_t i, uint32_t *ret_n)
{
	if (pen->matrix) {
		*ret_n = pen->matrix->n;
		return pen->matrix->value + i * pen->matrix->stride;
	}
	const struct block_sample *v = pen->samples + pen->begin[i];
	const size_t begin = pen->values.n;
	*ret_n = pen->begin[i + 1] - pen->begin[i];
	bits_add_u8(&pen->values, BLOCK_MARKED);
	if (!pen_marks(pen, v, *ret_n, &pen->values))
		pen->values.n = begin;
	for (uint32_t j = 0; j < *ret_n; j++)
		pen->numbers[j] = v[j].value;
	return pen->numbers;
}

static void pen_small_values(struct block_pen *pen)
{
	uint64_t slots[SHARED_SLOTS] = {0};
	uint32_t n;

	for (uint32_t i = 0; i < pen->n_series; i++) {
		const size_t begin = pen->values.n;
		const uint64_t *column = pen_column(pen, i, &n);
		if (pen->is_f64)
			number_encode_f64(column, n, pen->scratch, &pen->values);
		else
			number_encode(column, n, &pen->values);
		pen->place[i] = pen_share(pen, begin, slots);
	}
}

/* Doubles end in zero bytes, differences of counters begin with them: the former are turned. */
static inline uint64_t fast_number(bool is_f64, const struct block_sample *v, bool first)
{
	if (is_f64 && first)
		return __builtin_bswap64(v->value);
	if (is_f64)
		return __builtin_bswap64(v->value ^ v[-1].value);
	if (first)
		return v->value;
	return bits_zigzag(v->value - v[-1].value);
}

static void pen_fast_values(const struct block_pen *pen, struct str *out)
{
	const size_t sizes = ((size_t)pen->n + 1) / 2;
	uint8_t *size = bits_room(out, sizes + 8 * (size_t)pen->n + 8);
	uint8_t *at = size + sizes;

	memset(size, 0, sizes);
	for (uint32_t s = 0; s < pen->n_series; s++) {
		uint32_t i = s, end = s + 1;
		if (pen->begin) {
			i = pen->begin[s];
			end = pen->begin[s + 1];
		}
		for (bool first = true; i < end; i++, first = false) {
			const uint64_t number = fast_number(pen->is_f64, &pen->samples[i], first);
			const unsigned bytes = (bits_width(number) + 7) / 8;
			size[i / 2] |= (uint8_t)(bytes << (i % 2 * 4));
			bits_store(at, number);
			at += bytes;
		}
	}
	out->n = (size_t)(at - (uint8_t *)out->s);
}

/* ---- the whole ---------------------------------------------------------------- */

static unsigned block_bits(const uint64_t *numbers, uint32_t n)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < n; i++)
		any |= numbers[i];
	return bits_width(any);
}

/* Entities become what an even row of them leaves; returns the row's step. */
static uint64_t pen_entities(struct block_pen *pen)
{
	const uint64_t base = pen->entity[0];
	uint64_t step = UINT64_MAX;

	for (uint32_t i = 1; i < pen->n_series; i++)
		if (pen->entity[i] - pen->entity[i - 1] < step)
			step = pen->entity[i] - pen->entity[i - 1];
	if (pen->n_series == 1)
		step = 0;
	for (uint32_t i = 0; i < pen->n_series; i++)
		pen->entity[i] -= base + i * step;
	return step;
}

static void pen_lists(const struct block_pen *pen, unsigned list_bits, struct str *out)
{
	if (list_bits == 0)
		return;
	rw_cleanup(freep) uint64_t *lists = rw_calloc(pen->n_series, sizeof(*lists));
	for (uint32_t i = 0; i < pen->n_series; i++)
		lists[i] = pen->list[i];
	bits_add_array(lists, pen->n_series, list_bits, out);
}

/* All but the values. */
static void pen_write(struct block_pen *pen, bool fast, struct str *out)
{
	const uint64_t base = pen->entity[0], step = pen_entities(pen);
	const unsigned entity_bits = block_bits(pen->entity, pen->n_series);
	const unsigned list_bits = bits_width(pen->n_lists - 1);
	unsigned time_bits = 0, place_bits = 0;

	if (pen->n_lists > 1) /* the last place is the highest */
		time_bits = bits_width(pen->place[pen->n_series + pen->n_lists - 1]);
	if (!fast)
		place_bits = block_bits(pen->place, pen->n_series);
	bits_add_uvar(out, pen->usual.flags);
	bits_add_uvar(out, pen->usual.source);
	bits_add_uvar(out, pen->usual.window_ms);
	bits_add_uvar(out, base);
	bits_add_uvar(out, step);
	bits_add_u8(out, entity_bits);
	bits_add_u8(out, list_bits);
	bits_add_u8(out, time_bits);
	bits_add_u8(out, place_bits);
	bits_add_array(pen->entity, pen->n_series, entity_bits, out);
	pen_lists(pen, list_bits, out);
	if (time_bits > 0)
		bits_add_array(pen->place + pen->n_series, pen->n_lists, time_bits, out);
	if (place_bits > 0)
		bits_add_array(pen->place, pen->n_series, place_bits, out);
	bits_add_uvar(out, pen->times.n);
	str_addn(out, pen->times.s, pen->times.n);
}

static void pen_head(const struct block_pen *pen, bool fast, struct str *out)
{
	bits_add_u8(out, fast ? BLOCK_VERSION_FAST : BLOCK_VERSION_SMALL);
	bits_add_u8(out, pen->is_f64);
	bits_add_uvar(out, pen->n_series);
	bits_add_uvar(out, pen->n);
	bits_add_uvar(out, pen->n_lists);
}

static void pen_one_list(struct block_pen *pen, const uint64_t *t_ns, uint32_t n)
{
	pen->n_lists = 1;
	bits_add_uvar(&pen->times, n);
	number_encode(t_ns, n, &pen->times);
}

/* One sample a series, of one instant and with the same marks: what a poll brings. */
static bool is_row(const struct block_sample *v, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (v[i].entity <= v[i - 1].entity || v[i].t_ns != v[0].t_ns ||
			!same_marks(&v[i], &v[0]))
			return false;
	return n > 0 && v[0].entity >= 0;
}

static void encode_row(struct block_pen *pen, struct str *out)
{
	const uint64_t t_ns = (uint64_t)pen->samples[0].t_ns;

	pen->n_series = pen->n;
	pen->usual = pen->samples[0];
	pen->entity = rw_realloc(NULL, pen->n * sizeof(*pen->entity));
	for (uint32_t i = 0; i < pen->n; i++)
		pen->entity[i] = (uint64_t)pen->samples[i].entity;
	pen_one_list(pen, &t_ns, 1);
	pen_head(pen, true, out);
	pen_write(pen, true, out);
	bits_add_uvar(out, 0); /* exceptions */
	pen_fast_values(pen, out);
}

static void encode_fast(struct block_pen *pen, struct str *out)
{
	rw_cleanup(str_done) struct str marks = {0};

	pen_write(pen, true, out);
	pen_marks(pen, pen->samples, pen->n, &marks);
	bits_add_uvar(out, marks.n);
	str_addn(out, marks.s, marks.n);
	pen_fast_values(pen, out);
}

static void encode_small(struct block_pen *pen, struct str *out)
{
	pen_small_values(pen);
	pen_write(pen, false, out);
	str_addn(out, pen->values.s, pen->values.n);
}

int block_encode(const struct block_sample *samples, size_t n, enum block_form form, bool is_f64,
	struct str *out)
{
	const bool fast = form == BLOCK_FAST;
	rw_cleanup(pen_done) struct block_pen pen = {.samples = samples, .is_f64 = is_f64};

	if (n > BLOCK_SAMPLES_MAX)
		return -E2BIG;
	pen.n = (uint32_t)n;
	if (fast && is_row(samples, pen.n)) {
		encode_row(&pen, out);
		return 0;
	}
	const int r = pen_cut(&pen);
	if (r < 0)
		return r;
	const size_t begin = out->n;
	if (n > 0) {
		pen_instants(&pen);
		pen_usual(&pen);
	}
	pen_head(&pen, fast, out);
	if (n > 0 && fast)
		encode_fast(&pen, out);
	if (n > 0 && !fast)
		encode_small(&pen, out);
	if (!fast) /* a row of the tail has a sum of its own */
		bits_add_sum(out, begin);
	return 0;
}

int block_encode_matrix(const struct block_matrix *matrix, bool is_f64, struct str *out)
{
	const size_t begin = out->n, n = (size_t)matrix->n_series * matrix->n;
	rw_cleanup(pen_done) struct block_pen pen = {.matrix = matrix,
		.is_f64 = is_f64,
		.n_series = matrix->n_series,
		.usual = {.flags = matrix->flags,
			.source = matrix->source,
			.window_ms = matrix->window_ms}};

	if (n > BLOCK_SAMPLES_MAX || matrix->n > BLOCK_SERIES_MAX)
		return -E2BIG;
	pen.n = (uint32_t)n;
	pen.entity = rw_calloc(pen.n_series, sizeof(*pen.entity));
	memcpy(pen.entity, matrix->entity, pen.n_series * sizeof(*pen.entity));
	pen.place = rw_calloc(pen.n_series, sizeof(*pen.place));
	pen.numbers = rw_calloc(matrix->n, sizeof(*pen.numbers));
	pen.scratch = pen.numbers;
	pen_one_list(&pen, (const uint64_t *)(const void *)matrix->t_ns, matrix->n);
	pen_head(&pen, false, out);
	encode_small(&pen, out);
	bits_add_sum(out, begin);
	return 0;
}
