/*
 * rollup_codec - layout of a row: u8 version; u8 1 = rates; LEB128 step in seconds, series,
 * buckets, first entity; u8 bits of an entity, u8 bits of a place; arrays of that many bits, each
 * ended at a byte: entity
 * - first, then three places in the payload for each series; the payload; u32 sum of all bytes.
 *
 * The three parts of a series, each written once however many series have it: when (the columns of
 * table `rollup_when`), how much (`rollup_much`, bins), and the first values.
 */
#include "db/block/rollup_codec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "db/block/bits.h"
#include "db/block/number_codec.h"
#include "db/model/metric.h"

enum {
	ROLLUP_VERSION = 4,
	ROLLUP_PARTS = 3,
	ROLLUP_SERIES_MAX = 1 << 20,
	ROLLUP_STEPS_MAX = 1 << 12
};

/* ---- columns ------------------------------------------------------------------- */

typedef uint64_t get_fn(const struct rollup *rollup);
typedef void set_fn(struct rollup *rollup, uint64_t value);

#define ROLLUP_FIELD(name, type)                                                                   \
	static uint64_t get_##name(const struct rollup *rollup)                                    \
	{                                                                                          \
		return (uint64_t)rollup->name;                                                     \
	}                                                                                          \
	static void set_##name(struct rollup *rollup, uint64_t value)                              \
	{                                                                                          \
		rollup->name = (type)value;                                                        \
	}
#define ROLLUP_F64(name)                                                                           \
	static uint64_t get_##name(const struct rollup *rollup)                                    \
	{                                                                                          \
		return sample_of_f64(rollup->name);                                                \
	}                                                                                          \
	static void set_##name(struct rollup *rollup, uint64_t value)                              \
	{                                                                                          \
		rollup->name = sample_f64(value);                                                  \
	}

ROLLUP_FIELD(count, uint32_t)
ROLLUP_FIELD(numbers, uint32_t)
ROLLUP_FIELD(flags, uint16_t)
ROLLUP_FIELD(covered_ns, int64_t)
ROLLUP_FIELD(intervals, uint32_t)
ROLLUP_FIELD(resets, uint32_t)
ROLLUP_FIELD(suspects, uint32_t)
ROLLUP_FIELD(seen_ns, int64_t)
ROLLUP_FIELD(longest_ns, int64_t)
ROLLUP_FIELD(increase, uint64_t)
ROLLUP_FIELD(first, uint64_t)
ROLLUP_F64(min)
ROLLUP_F64(max)
ROLLUP_F64(sum)

/* Instants within the step, and the last value as what it differs from first + increase: small. */
static uint64_t get_first_ns(const struct rollup *rollup)
{
	return (uint64_t)rollup->first_ns - (uint64_t)rollup->from_ns;
}

static void set_first_ns(struct rollup *rollup, uint64_t value)
{
	rollup->first_ns = (int64_t)(value + (uint64_t)rollup->from_ns);
}

static uint64_t get_last_ns(const struct rollup *rollup)
{
	return (uint64_t)rollup->last_ns - (uint64_t)rollup->from_ns;
}

static void set_last_ns(struct rollup *rollup, uint64_t value)
{
	rollup->last_ns = (int64_t)(value + (uint64_t)rollup->from_ns);
}

static uint64_t get_last(const struct rollup *rollup)
{
	return bits_zigzag(rollup->last - rollup->first - rollup->increase);
}

static void set_last(struct rollup *rollup, uint64_t value)
{
	rollup->last = bits_unzigzag(value) + rollup->first + rollup->increase;
}

/* Rates as floats of 32 bits: they were rounded before. */
static uint64_t rollup_float_bits(double number)
{
	const float rounded = (float)number;
	uint32_t bits;

	memcpy(&bits, &rounded, sizeof(bits));
	return bits;
}

static double rollup_float(uint64_t value)
{
	const uint32_t bits = (uint32_t)value;
	float rounded;

	memcpy(&rounded, &bits, sizeof(rounded));
	return (double)rounded;
}
#define ROLLUP_RATE(name)                                                                          \
	static uint64_t get_rate_##name(const struct rollup *rollup)                               \
	{                                                                                          \
		return rollup_float_bits(rollup->name);                                            \
	}                                                                                          \
	static void set_rate_##name(struct rollup *rollup, uint64_t value)                         \
	{                                                                                          \
		rollup->name = rollup_float(value);                                                \
	}

ROLLUP_RATE(min)
ROLLUP_RATE(max)
ROLLUP_RATE(sum)

struct rollup_column {
	get_fn *get;
	set_fn *set;
	bool is_f64;
};
static const struct rollup_column rollup_when[] = {
	{get_count, set_count, false},
	{get_first_ns, set_first_ns, false},
	{get_last_ns, set_last_ns, false},
	{get_covered_ns, set_covered_ns, false},
	{get_intervals, set_intervals, false},
	{get_seen_ns, set_seen_ns, false},
	{get_longest_ns, set_longest_ns, false},
	{get_flags, set_flags, false},
	{get_resets, set_resets, false},
	{get_suspects, set_suspects, false},
};
enum { ROLLUP_MUCH = 6 };
static const struct rollup_column rollup_much[2][ROLLUP_MUCH] = {
	{
		{get_numbers, set_numbers, false}, {get_min, set_min, true},
		{get_max, set_max, true}, {get_sum, set_sum, true},
		{get_increase, set_increase, false},
		{get_last, set_last, false}, /* after .increase and .first */
	},
	{
		/* of rates */
		{get_numbers, set_numbers, false},
		{get_rate_min, set_rate_min, false},
		{get_rate_max, set_rate_max, false},
		{get_rate_sum, set_rate_sum, false},
		{get_increase, set_increase, false},
		{get_last, set_last, false},
	},
};

/* ---- writing -------------------------------------------------------------------- */

struct rollup_pen {
	int64_t step_ns;
	bool rates;
	uint64_t *numbers, *scratch;
	struct smap *parts; /* bytes -> place */
	struct str part, payload;
};

static void rollup_put_column(struct rollup_pen *pen, const struct rollup_bucket *v, uint32_t n,
	const struct rollup_column *column)
{
	for (uint32_t i = 0; i < n; i++)
		pen->numbers[i] = column->get(&v[i].rollup);
	if (column->is_f64)
		number_encode_f64(pen->numbers, n, pen->scratch, &pen->part);
	else
		number_encode(pen->numbers, n, &pen->part);
}

/* Two numbers are the least and the greatest, and equal ones are one: no bins needed. */
static bool rollup_has_bins(const struct rollup *rollup)
{
	return rollup->numbers > 2 && rollup->min < rollup->max;
}

/* The bins of most minutes begin at the least number, and hold one number each. */
static uint64_t rollup_least_key(const struct rollup *rollup)
{
	return (uint64_t)(int64_t)rollup_sketch_key(rollup->min);
}

static void rollup_put_bins(struct rollup_pen *pen, struct rollup_bucket *bucket)
{
	if (!rollup_has_bins(&bucket->rollup))
		return;
	rollup_sketch_pack(&bucket->sketch);
	const struct rollup_sketch *sketch = &bucket->sketch;
	const bool single = sketch->n_bins == bucket->rollup.numbers;
	uint64_t before = rollup_least_key(&bucket->rollup);
	bits_add_uvar(&pen->part, sketch->n_bins << 1 | single);
	for (size_t i = 0; i < sketch->n_bins; i++) {
		const uint64_t key = (uint64_t)(int64_t)sketch->bins[i].key;
		bits_add_uvar(&pen->part, bits_zigzag(key - before));
		if (!single)
			bits_add_uvar(&pen->part, sketch->bins[i].n);
		before = key;
	}
}

/* Ends a part: it gets a place, that of an equal one if there is one. */
static uint64_t rollup_place(struct rollup_pen *pen)
{
	uint64_t place = pen->payload.n;

	if (smap_get(pen->parts, pen->part.s, pen->part.n, &place)) {
		pen->part.n = 0;
		return place;
	}
	smap_put(pen->parts, pen->part.s, pen->part.n, place);
	str_addn(&pen->payload, pen->part.s, pen->part.n);
	pen->part.n = 0;
	return place;
}

/* Is a part of the buckets @v what it is of @before, so that nothing has to be written? */
static bool rollup_same_columns(const struct rollup_bucket *v, const struct rollup_bucket *before,
	uint32_t n, const struct rollup_column *columns, size_t n_columns)
{
	for (uint32_t i = 0; i < n; i++)
		for (size_t k = 0; k < n_columns; k++)
			if (columns[k].get(&v[i].rollup) != columns[k].get(&before[i].rollup))
				return false;
	return true;
}

static bool rollup_same_when(
	const struct rollup_bucket *v, const struct rollup_bucket *before, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct rollup *a = &v[i].rollup, *b = &before[i].rollup;
		if (a->from_ns != b->from_ns || a->first_ns != b->first_ns ||
			a->last_ns != b->last_ns)
			return false;
	}
	return rollup_same_columns(v, before, n, rollup_when, rw_countof(rollup_when));
}

static bool rollup_same_much(const struct rollup_pen *pen, const struct rollup_bucket *v,
	const struct rollup_bucket *before, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (rollup_has_bins(&v[i].rollup) || rollup_has_bins(&before[i].rollup))
			return false;
	return rollup_same_columns(v, before, n, rollup_much[pen->rates], ROLLUP_MUCH);
}

static void rollup_put_when(struct rollup_pen *pen, const struct rollup_bucket *v, uint32_t n)
{
	bits_add_uvar(&pen->part, n);
	for (uint32_t i = 0; i < n; i++)
		pen->numbers[i] = (uint64_t)(v[i].rollup.from_ns / pen->step_ns);
	number_encode(pen->numbers, n, &pen->part);
	for (size_t i = 0; i < rw_countof(rollup_when); i++)
		rollup_put_column(pen, v, n, &rollup_when[i]);
}

/* @before: the series written before, which has as many buckets; NULL: there is none. Its places
 * stand before @ret_places. */
static void rollup_put_series(struct rollup_pen *pen, struct rollup_bucket *v, uint32_t n,
	const struct rollup_bucket *before, uint64_t *ret_places)
{
	static const struct rollup_column first = {get_first, set_first, false};

	if (before && rollup_same_when(v, before, n)) {
		ret_places[0] = ret_places[0 - ROLLUP_PARTS];
	} else {
		rollup_put_when(pen, v, n);
		ret_places[0] = rollup_place(pen);
	}
	if (before && rollup_same_much(pen, v, before, n)) {
		ret_places[1] = ret_places[1 - ROLLUP_PARTS];
	} else {
		for (size_t i = 0; i < ROLLUP_MUCH; i++)
			rollup_put_column(pen, v, n, &rollup_much[pen->rates][i]);
		for (uint32_t i = 0; i < n; i++)
			rollup_put_bins(pen, &v[i]);
		ret_places[1] = rollup_place(pen);
	}
	rollup_put_column(pen, v, n, &first);
	ret_places[2] = rollup_place(pen);
}

static void rollup_array(const uint64_t *numbers, size_t n, unsigned width, struct str *out)
{
	const size_t size = bits_bytes(n, width);
	uint8_t *at = bits_room(out, size + BITS_PAD);

	memset(at, 0, size + BITS_PAD);
	for (size_t i = 0; i < n && width; i++)
		bits_set(at, i, width, numbers[i]);
	out->n += size;
}

static bool rollup_ordered(const struct rollup_bucket *v, size_t n, int64_t step_ns)
{
	for (size_t i = 0; i < n; i++) {
		const struct rollup *rollup = &v[i].rollup;
		if (v[i].entity < 0 || rollup->from_ns % step_ns != 0 ||
			rollup->to_ns != rollup->from_ns + step_ns)
			return false;
		if (i == 0 || v[i].entity > v[i - 1].entity)
			continue;
		if (v[i].entity < v[i - 1].entity || rollup->from_ns <= v[i - 1].rollup.from_ns)
			return false;
	}
	return true;
}

static size_t rollup_same_series(const struct rollup_bucket *v, size_t n, size_t begin)
{
	size_t end = begin;

	while (end < n && v[end].entity == v[begin].entity)
		end++;
	return end;
}

static void rollup_write(struct rollup_pen *pen, const uint64_t *entities, const uint64_t *places,
	uint32_t series, size_t n, struct str *out)
{
	const size_t begin = out->n;
	uint64_t base = 0;
	unsigned entity_bits = 0;
	rw_cleanup(freep) uint64_t *rest = rw_calloc(series + 1, sizeof(*rest));

	if (series > 0) {
		base = entities[0];
		entity_bits = bits_width(entities[series - 1] - base);
	}
	for (uint32_t i = 0; i < series; i++)
		rest[i] = entities[i] - base;
	const unsigned place_bits = bits_width(pen->payload.n);
	bits_add_u8(out, ROLLUP_VERSION);
	bits_add_u8(out, pen->rates);
	bits_add_uvar(out, (uint64_t)(pen->step_ns / NS_PER_S));
	bits_add_uvar(out, series);
	bits_add_uvar(out, n);
	bits_add_uvar(out, base);
	bits_add_u8(out, entity_bits);
	bits_add_u8(out, place_bits);
	rollup_array(rest, series, entity_bits, out);
	rollup_array(places, (size_t)series * ROLLUP_PARTS, place_bits, out);
	str_addn(out, pen->payload.s, pen->payload.n);
	bits_add_sum(out, begin);
}

/* What is written is what the row says later, whether it is read back or was just made. */
static void rollup_round(struct rollup_bucket *buckets, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct rollup *rollup = &buckets[i].rollup;
		rollup->min = (double)(float)rollup->min;
		rollup->max = (double)(float)rollup->max;
		rollup->sum = (double)(float)rollup->sum;
	}
}

int rollup_encode(
	struct rollup_bucket *buckets, size_t n, int64_t step_ns, bool rates, struct str *out)
{
	struct rollup_pen pen = {.step_ns = step_ns, .rates = rates};
	size_t n_before = 0;
	uint32_t series = 0;

	if (n > UINT32_MAX / 8 || step_ns <= 0 || step_ns % NS_PER_S != 0 ||
		!rollup_ordered(buckets, n, step_ns))
		return -EINVAL;
	if (rates)
		rollup_round(buckets, n);
	rw_cleanup(freep) uint64_t *entities = rw_calloc(n + 1, sizeof(*entities));
	rw_cleanup(freep) uint64_t *places = rw_calloc(n + 1, ROLLUP_PARTS * sizeof(*places));
	pen.numbers = rw_calloc(2 * n + 2, sizeof(*pen.numbers));
	pen.scratch = pen.numbers + n + 1;
	pen.parts = smap_new();
	for (size_t begin = 0, end; begin < n; begin = end) {
		end = rollup_same_series(buckets, n, begin);
		const struct rollup_bucket *before = NULL;
		if (series > 0 && end - begin == n_before)
			before = buckets + begin - n_before;
		entities[series] = (uint64_t)buckets[begin].entity;
		rollup_put_series(&pen, buckets + begin, (uint32_t)(end - begin), before,
			places + (size_t)series * ROLLUP_PARTS);
		n_before = end - begin;
		series++;
	}
	rollup_write(&pen, entities, places, series, n, out);
	smap_free(pen.parts);
	free(pen.numbers);
	str_done(&pen.part);
	str_done(&pen.payload);
	return 0;
}

/* ---- reading --------------------------------------------------------------------- */

int rollup_open(struct rollup_reader *ret, const void *data, size_t size)
{
	struct bytes bytes = bits_without_sum(data, size);
	const unsigned version = bytes_u8(&bytes), rates = bytes_u8(&bytes);
	const uint64_t step_s = bits_uvar(&bytes), series = bits_uvar(&bytes);
	const uint64_t buckets = bits_uvar(&bytes);

	*ret = (struct rollup_reader){.entity_base = bits_uvar(&bytes), .rates = rates != 0};
	ret->entity_bits = bytes_u8(&bytes);
	ret->place_bits = bytes_u8(&bytes);
	if (!bytes_ok(&bytes) || version != ROLLUP_VERSION || rates > 1 || step_s == 0 ||
		step_s > 86400 * 366 || series > ROLLUP_SERIES_MAX || buckets > UINT32_MAX ||
		ret->entity_bits > 64 || ret->place_bits > 64)
		return -EBADMSG;
	ret->step_ns = (int64_t)step_s * NS_PER_S;
	ret->entities_size = bits_bytes(series, ret->entity_bits);
	ret->places_size = bits_bytes(series * ROLLUP_PARTS, ret->place_bits);
	ret->entities = bytes_take(&bytes, ret->entities_size);
	ret->places = bytes_take(&bytes, ret->places_size);
	ret->payload_size = bytes_left(&bytes);
	ret->payload = bytes_take(&bytes, ret->payload_size);
	if (!bytes_ok(&bytes))
		return -EBADMSG;
	ret->n_series = (uint32_t)series;
	ret->n_buckets = (uint32_t)buckets;
	for (uint32_t i = 0; i < ret->n_series; i++)
		if (rollup_entity(ret, i) < 0 ||
			(i > 0 && rollup_entity(ret, i) <= rollup_entity(ret, i - 1)))
			return -EBADMSG;
	return 0;
}

int64_t rollup_entity(const struct rollup_reader *reader, uint32_t i)
{
	return (int64_t)(reader->entity_base +
		bits_at(reader->entities, reader->entities_size, i, reader->entity_bits));
}

static struct bytes rollup_part(const struct rollup_reader *reader, uint32_t i, unsigned part)
{
	const uint64_t place = bits_at(reader->places, reader->places_size,
		(size_t)i * ROLLUP_PARTS + part, reader->place_bits);
	struct bytes bytes = bytes_of(reader->payload, reader->payload_size);

	if (place > reader->payload_size)
		bytes.bad = true;
	else
		bytes_skip(&bytes, (size_t)place);
	return bytes;
}

static int rollup_get_column(struct bytes *bytes, const struct rollup_column *column,
	struct rollup_bucket *v, uint32_t n, uint64_t *numbers)
{
	int r;

	if (column->is_f64)
		r = number_decode_f64(bytes, n, numbers, NULL);
	else
		r = number_decode(bytes, n, numbers, NULL);
	for (uint32_t i = 0; i < n && r == 0; i++)
		column->set(&v[i].rollup, numbers[i]);
	return r;
}

/* What follows from the least and the greatest number alone. */
static void rollup_known_numbers(struct arena *a, struct rollup_bucket *bucket)
{
	struct rollup_sketch *sketch = &bucket->sketch;
	const struct rollup *rollup = &bucket->rollup;

	sketch->n = rollup->numbers;
	if (rollup->numbers > 2) {
		sketch->bins = arena_array(a, struct rollup_bin, 1);
		sketch->bins[sketch->n_bins++] = (struct rollup_bin){
			.key = rollup_sketch_key(rollup->min), .n = rollup->numbers};
		return;
	}
	sketch->values = arena_array(a, double, 2);
	sketch->n_values = rollup->numbers;
	sketch->values[0] = rollup->min;
	sketch->values[1] = rollup->max;
}

static int rollup_get_bins(struct bytes *bytes, struct arena *a, struct rollup_bucket *bucket)
{
	struct rollup_sketch *sketch = &bucket->sketch;

	if (!rollup_has_bins(&bucket->rollup)) {
		rollup_known_numbers(a, bucket);
		return 0;
	}
	const uint64_t head = bits_uvar(bytes), n = head >> 1;
	uint64_t key = rollup_least_key(&bucket->rollup);
	if (n > bytes_left(bytes))
		return -EBADMSG;
	sketch->bins = arena_array(a, struct rollup_bin, n);
	sketch->n_bins = (size_t)n;
	for (size_t i = 0; i < n; i++) {
		key += bits_unzigzag(bits_uvar(bytes));
		sketch->bins[i] = (struct rollup_bin){.key = (int32_t)(int64_t)key, .n = 1};
		if ((head & 1) == 0)
			sketch->bins[i].n = bits_uvar(bytes);
		sketch->n += sketch->bins[i].n;
		if (i > 0 && sketch->bins[i].key <= sketch->bins[i - 1].key)
			return -EBADMSG;
	}
	if (!bytes_ok(bytes))
		return -EBADMSG;
	return 0;
}

static int rollup_get_when(const struct rollup_reader *reader, struct bytes *when,
	struct rollup_bucket *v, uint32_t n, uint64_t *numbers)
{
	int r = number_decode(when, n, numbers, NULL);

	for (uint32_t i = 0; i < n && r == 0; i++) {
		const int64_t step = (int64_t)numbers[i];
		if (step > INT64_MAX / reader->step_ns - 1 || step < INT64_MIN / reader->step_ns ||
			(i > 0 && step <= (int64_t)numbers[i - 1]))
			return -EBADMSG;
		v[i].rollup.from_ns = step * reader->step_ns;
		v[i].rollup.to_ns = v[i].rollup.from_ns + reader->step_ns;
	}
	for (size_t i = 0; i < rw_countof(rollup_when) && r == 0; i++)
		r = rollup_get_column(when, &rollup_when[i], v, n, numbers);
	return r;
}

int rollup_read(const struct rollup_reader *reader, uint32_t i, struct arena *a,
	struct rollup_bucket **ret, uint32_t *ret_n)
{
	static const struct rollup_column first = {get_first, set_first, false};
	struct bytes when = rollup_part(reader, i, 0), much = rollup_part(reader, i, 1);
	struct bytes firsts = rollup_part(reader, i, 2);
	const uint64_t n = bits_uvar(&when);

	if (!bytes_ok(&when) || n == 0 || n > ROLLUP_STEPS_MAX)
		return -EBADMSG;
	const uint32_t count = (uint32_t)n;
	struct rollup_bucket *v = arena_array(a, struct rollup_bucket, count);
	uint64_t *numbers = arena_array(a, uint64_t, count);
	for (uint32_t j = 0; j < count; j++)
		v[j].entity = rollup_entity(reader, i);
	int r = rollup_get_when(reader, &when, v, count, numbers);
	if (r == 0)
		r = rollup_get_column(&firsts, &first, v, count, numbers);
	for (size_t j = 0; j < ROLLUP_MUCH && r == 0; j++)
		r = rollup_get_column(&much, &rollup_much[reader->rates][j], v, count, numbers);
	for (uint32_t j = 0; j < count && r == 0; j++)
		r = rollup_get_bins(&much, a, &v[j]);
	if (r < 0)
		return -EBADMSG;
	*ret = v;
	*ret_n = count;
	return 0;
}

/* rollup_make - see the header. A series that stands still, as most do, is gone through without
 * arithmetic on rates. */

void rollup_list_clear(struct rollup_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		rollup_sketch_done(&list->v[i].sketch);
	list->n = 0;
}

void rollup_list_done(struct rollup_list *list)
{
	rollup_list_clear(list);
	free(list->v);
	*list = (struct rollup_list){0};
}

static struct rollup_bucket *rollup_list_next(struct rollup_list *list, int64_t entity)
{
	rw_grow(list->v, list->n, list->cap);
	list->v[list->n] = (struct rollup_bucket){.entity = entity};
	return &list->v[list->n++];
}

static struct sample rollup_sample(unsigned metric, const struct block_sample *sample)
{
	return (struct sample){.t_ns = sample->t_ns,
		.value = sample->value,
		.window_ms = sample->window_ms,
		.metric = (uint16_t)metric,
		.flags = sample->flags,
		.source = sample->source};
}

static void rollup_close(struct rollup_track *track, int64_t entity, int64_t step, int64_t step_ns,
	struct rollup_list *ret)
{
	struct rollup_bucket *bucket = rollup_list_next(ret, entity);
	const int64_t from_ns = step * step_ns;

	if (!rollup_track_close_sketch(
		    track, from_ns, from_ns + step_ns, &bucket->rollup, &bucket->sketch))
		ret->n--;
}

/* ---- the ordinary case ----------------------------------------------------------- */

/* A series without flags, and without a step back where it counts: nearly all of them. What the
 * rules of rollup_track_add() come to then, without their bookkeeping. */
struct rollup_plain {
	const struct metric_info *info;
	unsigned metric;
	int64_t step_ns;
	const struct block_sample *before; /* NULL: none yet */
	int64_t spacing_ns;
	struct rollup_bucket *now; /* NULL: none yet */
};

static bool rollup_is_plain(unsigned metric, const struct block_sample *v, size_t n)
{
	const struct metric_info *info = metric_info(metric);
	unsigned flags = 0;
	bool back = false;

	for (size_t i = 0; i < n; i++) {
		flags |= v[i].flags;
		if (i > 0 && v[i].value < v[i - 1].value)
			back = true;
	}
	if (flags || info->type == TYPE_TEXT)
		return false;
	return info->kind != METRIC_COUNTER || (!back && info->type == TYPE_U64);
}

/* As long as all numbers are equal there is no sketch. */
static void rollup_plain_number(struct rollup *now, struct rollup_sketch *sketch, double number)
{
	if (isnan(number))
		return;
	if (now->numbers == 0) {
		now->min = now->max = number;
		now->sum = 0;
	}
	if (now->min == now->max && number != now->min)
		for (uint32_t i = 0; i < now->numbers; i++)
			rollup_sketch_add(sketch, now->min);
	now->min = fmin(now->min, number);
	now->max = fmax(now->max, number);
	now->sum += number;
	now->numbers++;
	if (now->min < now->max)
		rollup_sketch_add(sketch, number);
}

static void rollup_plain_time(struct rollup_plain *plain, int64_t ns)
{
	struct rollup *now = &plain->now->rollup;

	if (ns > now->longest_ns)
		now->longest_ns = ns;
	if (rollup_spacing(&plain->spacing_ns, ns))
		now->seen_ns += ns;
	if (now->seen_ns > plain->step_ns)
		now->seen_ns = plain->step_ns;
}

static void rollup_plain_interval(struct rollup_plain *plain, const struct block_sample *sample)
{
	struct rollup *now = &plain->now->rollup;
	const uint64_t delta = sample->value - plain->before->value;
	const int64_t ns = sample->t_ns - plain->before->t_ns;

	now->increase += delta;
	now->covered_ns += ns;
	now->intervals++;
	rollup_plain_number(now, &plain->now->sketch, (double)delta / ((double)ns / NS_PER_S));
}

static void rollup_plain_add(
	struct rollup_plain *plain, const struct block_sample *sample, struct rollup_list *ret)
{
	const int64_t from_ns = rollup_step_of(sample->t_ns, plain->step_ns) * plain->step_ns;

	if (!plain->now || plain->now->rollup.from_ns != from_ns) {
		plain->now = rollup_list_next(ret, sample->entity);
		plain->now->rollup = (struct rollup){.from_ns = from_ns,
			.to_ns = from_ns + plain->step_ns,
			.metric = (uint16_t)plain->metric,
			.first = sample->value,
			.first_ns = sample->t_ns,
			.min = NAN,
			.max = NAN,
			.sum = NAN};
	}
	struct rollup *now = &plain->now->rollup;
	now->count++;
	now->last = sample->value;
	now->last_ns = sample->t_ns;
	if (plain->before)
		rollup_plain_time(plain, sample->t_ns - plain->before->t_ns);
	if (plain->info->kind != METRIC_COUNTER)
		rollup_plain_number(
			now, &plain->now->sketch, sample_number(plain->metric, sample->value));
	else if (plain->before)
		rollup_plain_interval(plain, sample);
	plain->before = sample;
}

/* ---- any case -------------------------------------------------------------------- */

static void rollup_make_track(unsigned metric, const struct block_sample *v, size_t n,
	int64_t from_ns, int64_t step_ns, struct rollup_list *ret)
{
	struct rollup_track *track = rollup_track_new(0, (uint16_t)metric);
	int64_t step = INT64_MIN;

	for (size_t i = 0; i < n; i++) {
		const struct sample sample = rollup_sample(metric, &v[i]);
		if (sample.t_ns <= from_ns) {
			rollup_track_anchor(track, &sample);
			continue;
		}
		const int64_t at = rollup_step_of(sample.t_ns, step_ns);
		if (at != step && step != INT64_MIN)
			rollup_close(track, v[i].entity, step, step_ns, ret);
		step = at;
		rollup_track_add(track, &sample);
	}
	if (step != INT64_MIN)
		rollup_close(track, v[0].entity, step, step_ns, ret);
	rollup_track_free(track);
}

/* The last usable sample up to @from_ns; 0 when there is none. */
static size_t rollup_anchor(const struct block_sample *v, size_t n, int64_t from_ns)
{
	size_t at = 0;

	for (size_t i = 0; i < n && v[i].t_ns <= from_ns; i++)
		if (!(v[i].flags & (SF_LATE | SF_SUSPECT)))
			at = i;
	return at;
}

void rollup_make(unsigned metric, const struct block_sample *v, size_t n, int64_t from_ns,
	int64_t step_ns, struct rollup_list *ret)
{
	struct rollup_plain plain = {
		.info = metric_info(metric), .metric = metric, .step_ns = step_ns};
	const size_t begin = rollup_anchor(v, n, from_ns);

	if (n == 0 || v[n - 1].t_ns <= from_ns)
		return;
	if (!rollup_is_plain(metric, v + begin, n - begin)) {
		rollup_make_track(metric, v + begin, n - begin, from_ns, step_ns, ret);
		return;
	}
	for (size_t i = begin; i < n; i++) {
		if (v[i].t_ns <= from_ns)
			plain.before = &v[i];
		else
			rollup_plain_add(&plain, &v[i], ret);
	}
}

void rollup_coarser(
	const struct rollup_bucket *v, size_t n, int64_t step_ns, struct rollup_list *ret)
{
	struct rollup_bucket *now = NULL;

	for (size_t i = 0; i < n; i++) {
		const int64_t step = rollup_step_of(v[i].rollup.to_ns, step_ns);
		const bool same =
			now && now->entity == v[i].entity && now->rollup.from_ns == step * step_ns;
		if (!same) {
			now = rollup_list_next(ret, v[i].entity);
			now->rollup = v[i].rollup;
		} else {
			rollup_merge(&now->rollup, &v[i].rollup);
		}
		now->rollup.from_ns = step * step_ns;
		now->rollup.to_ns = now->rollup.from_ns + step_ns;
		if (v[i].sketch.n > 0)
			rollup_sketch_merge(&now->sketch, &v[i].sketch);
		else if (v[i].rollup.numbers > 0) /* equal numbers */
			rollup_sketch_add_bin(&now->sketch, rollup_sketch_key(v[i].rollup.min),
				v[i].rollup.numbers);
	}
}
