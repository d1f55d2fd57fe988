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
#include "db/block/block_codec.h"

#include <errno.h>
#include "db/block/bits.h"
#include "db/block/block_layout.h"
#include "db/block/number_codec.h"

struct block_list { /* distinct instants */
	uint64_t hash;
	const struct block_sample *samples; /* of the first series that has them */
	uint32_t n;
};

/* A block on its way to bytes. */
struct block_pen {
	const struct block_sample *samples;
	bool is_f64;
	uint32_t n, n_series, n_lists;
	uint32_t *begin; /* of each series, and the end */
	uint32_t *list; /* of each series */
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

static void pen_small_values(struct block_pen *pen)
{
	uint64_t slots[SHARED_SLOTS] = {0};

	for (uint32_t i = 0; i < pen->n_series; i++) {
		const struct block_sample *v = pen->samples + pen->begin[i];
		const uint32_t n = pen->begin[i + 1] - pen->begin[i];
		const size_t begin = pen->values.n;
		bits_add_u8(&pen->values, BLOCK_MARKED);
		if (!pen_marks(pen, v, n, &pen->values))
			pen->values.n = begin;
		for (uint32_t j = 0; j < n; j++)
			pen->numbers[j] = v[j].value;
		if (pen->is_f64)
			number_encode_f64(pen->numbers, n, pen->scratch, &pen->values);
		else
			number_encode(pen->numbers, n, &pen->values);
		pen->place[i] = pen_share(pen, begin, slots);
	}
}

/* Doubles end in zero bytes, differences of counters begin with them: the former are turned. */
static uint64_t fast_number(const struct block_pen *pen, uint32_t i, bool first)
{
	const struct block_sample *v = &pen->samples[i];

	if (pen->is_f64) {
		if (first)
			return __builtin_bswap64(v->value);
		return __builtin_bswap64(v->value ^ v[-1].value);
	}
	if (first)
		return v->value;
	return bits_zigzag(v->value - v[-1].value);
}

static void pen_fast_values(struct block_pen *pen)
{
	struct str marks = {0};

	pen_marks(pen, pen->samples, pen->n, &marks);
	bits_add_uvar(&pen->values, marks.n);
	str_addn(&pen->values, marks.s, marks.n);
	str_done(&marks);
	const size_t sizes = ((size_t)pen->n + 1) / 2;
	uint8_t *size = bits_room(&pen->values, sizes + 8 * (size_t)pen->n + 8);
	uint8_t *at = size + sizes;
	memset(size, 0, sizes);
	for (uint32_t s = 0; s < pen->n_series; s++) {
		for (uint32_t i = pen->begin[s]; i < pen->begin[s + 1]; i++) {
			const uint64_t number = fast_number(pen, i, i == pen->begin[s]);
			const unsigned bytes = (bits_width(number) + 7) / 8;
			size[i / 2] |= (uint8_t)(bytes << (i % 2 * 4));
			bits_store(at, number);
			at += bytes;
		}
	}
	pen->values.n = (size_t)(at - (uint8_t *)pen->values.s);
}

/* ---- the whole ---------------------------------------------------------------- */

static unsigned block_bits(const uint64_t *numbers, uint32_t n)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < n; i++)
		any |= numbers[i];
	return bits_width(any);
}

static void pen_array(const uint64_t *numbers, uint32_t n, unsigned width, struct str *out)
{
	const size_t size = bits_bytes(n, width);
	uint8_t *at = bits_room(out, size + BITS_PAD);

	memset(at, 0, size + BITS_PAD);
	for (uint32_t i = 0; i < n && width; i++)
		bits_set(at, i, width, numbers[i]);
	out->n += size;
}

static uint64_t pen_entity(const struct block_pen *pen, uint32_t i)
{
	return (uint64_t)pen->samples[pen->begin[i]].entity;
}

/* Entities less an even row of them; returns the row's step. */
static uint64_t pen_entities(const struct block_pen *pen, uint64_t *ret)
{
	uint64_t step = UINT64_MAX;

	for (uint32_t i = 1; i < pen->n_series; i++)
		if (pen_entity(pen, i) - pen_entity(pen, i - 1) < step)
			step = pen_entity(pen, i) - pen_entity(pen, i - 1);
	if (pen->n_series == 1)
		step = 0;
	for (uint32_t i = 0; i < pen->n_series; i++)
		ret[i] = pen_entity(pen, i) - pen_entity(pen, 0) - i * step;
	return step;
}

static void pen_write(struct block_pen *pen, bool fast, struct str *out)
{
	uint64_t *numbers = rw_calloc(2 * (size_t)pen->n_series, sizeof(*numbers));
	uint64_t *lists = numbers + pen->n_series;
	const uint64_t *time_places = pen->place + pen->n_series;
	const uint64_t step = pen_entities(pen, numbers);
	unsigned place_bits = 0;

	for (uint32_t i = 0; i < pen->n_series; i++)
		lists[i] = pen->list[i];
	const unsigned entity_bits = block_bits(numbers, pen->n_series);
	const unsigned list_bits = block_bits(lists, pen->n_series);
	const unsigned time_bits = block_bits(time_places, pen->n_lists);
	if (!fast)
		place_bits = block_bits(pen->place, pen->n_series);
	bits_add_uvar(out, pen->usual.flags);
	bits_add_uvar(out, pen->usual.source);
	bits_add_uvar(out, pen->usual.window_ms);
	bits_add_uvar(out, pen_entity(pen, 0));
	bits_add_uvar(out, step);
	bits_add_u8(out, entity_bits);
	bits_add_u8(out, list_bits);
	bits_add_u8(out, time_bits);
	bits_add_u8(out, place_bits);
	pen_array(numbers, pen->n_series, entity_bits, out);
	pen_array(lists, pen->n_series, list_bits, out);
	pen_array(time_places, pen->n_lists, time_bits, out);
	pen_array(pen->place, pen->n_series, place_bits, out);
	bits_add_uvar(out, pen->times.n);
	str_addn(out, pen->times.s, pen->times.n);
	str_addn(out, pen->values.s, pen->values.n);
	free(numbers);
}

int block_encode(const struct block_sample *samples, size_t n, enum block_form form, bool is_f64,
	struct str *out)
{
	const bool fast = form == BLOCK_FAST;
	rw_cleanup(pen_done) struct block_pen pen = {.samples = samples, .is_f64 = is_f64};

	if (n > BLOCK_SAMPLES_MAX)
		return -E2BIG;
	pen.n = (uint32_t)n;
	const int r = pen_cut(&pen);
	if (r < 0)
		return r;
	if (n > 0) {
		pen_instants(&pen);
		pen_usual(&pen);
	}
	const size_t begin = out->n;
	bits_add_u8(out, fast ? BLOCK_VERSION_FAST : BLOCK_VERSION_SMALL);
	bits_add_u8(out, is_f64);
	bits_add_uvar(out, pen.n_series);
	bits_add_uvar(out, n);
	bits_add_uvar(out, pen.n_lists);
	if (n > 0 && fast)
		pen_fast_values(&pen);
	if (n > 0 && !fast)
		pen_small_values(&pen);
	if (n > 0)
		pen_write(&pen, fast, out);
	if (!fast) /* a row of the tail has a sum of its own */
		bits_add_sum(out, begin);
	return 0;
}
