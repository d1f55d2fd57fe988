/*
 * rollup_codec - layout of a row: u8 version; u8 1 = rates; LEB128 step in seconds, series,
 * buckets, first entity; u8 bits of an entity, u8 bits of a place; arrays of that many bits, each
 * ended at a byte: entity
 * - first, then three places in the payload for each series; the payload; u32 sum of all bytes.
 *
 * The three parts of a series, each written once however many series have it: when (the columns of
 * table `rollup_when`), how much, and the values themselves.
 *
 * Version 4, hours: how much is `rollup_much` and bins, the values are the first ones. Version 5,
 * minutes: how much begins with a byte, 1 = as in version 4. Else a minute of up to
 * ROLLUP_SHORT_MAX numbers is cut short, since it would take as much as the values that it stands
 * for:
 *
 *   counter   increase, exact; sum, greatest and least rate as what their keys (rollup_key())
 * differ by from those of the mean that increase and time say, 0 = the mean itself. Values: last -
 * all increases of the row so far, which is one number where it never restarts gauge     greatest
 * and least, exact or to 8 bits of their fraction, whichever is shorter; where between them the
 * mean is, one byte. Values: the last ones, and the first one
 *
 * The first of several values of such a minute is the one at its border, the last before it.
 */
#include "db/block/rollup_codec.h"

#include "db/block/bits.h"
#include "db/block/number_codec.h"
#include "db/model/metric.h"

enum {
	ROLLUP_VERSION_FULL = 4,
	ROLLUP_VERSION_SHORT = 5,
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

/* ---- minutes cut short ------------------------------------------------------------- */

enum { PART_SHORT, PART_FULL };
/* What is left of a double in a key: its exponent and 7 bits of its fraction. Cut off, at most 0.8
 * %, not rounded: a rate is never above what its port can carry. */
#define KEY_SHIFT 45
#define ROUGH_SHIFT 44 /* 8 bits, rounded: within 0.2 % */
#define ROUGH_HALF (UINT64_C(1) << (ROUGH_SHIFT - 1))
#define SUM_TOLERANCE 0.005 /* the sum is that of the mean, by so much */
#define PLACE_MAX 255 /* of the mean between the least and the greatest */

/* The sum of the rates by what the counter grew by; 0 where that is not known. */
static double mean_sum(const struct rollup *rollup)
{
	if (rollup->covered_ns <= 0)
		return 0;
	return (double)rollup->increase / ((double)rollup->covered_ns / NS_PER_S) * rollup->numbers;
}

/* What @number, at least 0, differs by from @mean; 0: not at all. Never cut off. */
static uint64_t key_of(double number, double mean)
{
	if (number == mean)
		return 0;
	const uint64_t key =
		(sample_of_f64(number) >> KEY_SHIFT) - (sample_of_f64(mean) >> KEY_SHIFT);
	if (number == 0) /* far away from all others */
		return 1;
	return bits_zigzag(key) + 2;
}

static double number_of_key(uint64_t key, double mean)
{
	if (key == 0)
		return mean;
	if (key == 1)
		return 0;
	return sample_f64(
		(bits_unzigzag(key - 2) + (sample_of_f64(mean) >> KEY_SHIFT)) << KEY_SHIFT);
}

static uint64_t key_of_sum(const struct rollup *rollup)
{
	const double mean = mean_sum(rollup);

	if (rollup->numbers == 0 || fabs(rollup->sum - mean) <= SUM_TOLERANCE * mean)
		return 0;
	return key_of(rollup->sum, mean);
}

static void set_key_of_sum(struct rollup *rollup, uint64_t key)
{
	rollup->sum = NAN;
	if (rollup->numbers > 0)
		rollup->sum = number_of_key(key, mean_sum(rollup));
}

/* The mean as a reader of the row will know it. */
static double known_mean(const struct rollup *rollup)
{
	return number_of_key(key_of_sum(rollup), mean_sum(rollup)) / rollup->numbers;
}
#define ROLLUP_KEY(name)                                                                           \
	static uint64_t key_of_##name(const struct rollup *rollup)                                 \
	{                                                                                          \
		if (rollup->numbers < 2)                                                           \
			return 0;                                                                  \
		return key_of(rollup->name, known_mean(rollup));                                   \
	}                                                                                          \
	static void set_key_of_##name(struct rollup *rollup, uint64_t key)                         \
	{                                                                                          \
		rollup->name = NAN;                                                                \
		if (rollup->numbers > 0)                                                           \
			rollup->name = number_of_key(key, rollup->sum / rollup->numbers);          \
	}

ROLLUP_KEY(min)
ROLLUP_KEY(max)

/* What is cut off does not put the greatest below the mean. */
static void set_key_of_greatest(struct rollup *rollup, uint64_t key)
{
	set_key_of_max(rollup, key);
	if (rollup->numbers > 0)
		rollup->max = fmax(rollup->max, rollup->sum / rollup->numbers);
}

static uint64_t get_more_numbers(const struct rollup *rollup)
{
	return bits_zigzag((uint64_t)rollup->numbers - rollup->intervals);
}

static void set_more_numbers(struct rollup *rollup, uint64_t value)
{
	rollup->numbers = (uint32_t)(bits_unzigzag(value) + rollup->intervals);
}

/* Where between the least and the greatest number the mean is. */
static uint64_t get_place(const struct rollup *rollup)
{
	const double range = rollup->max - rollup->min;

	if (rollup->numbers == 0 || !(range > 0))
		return 0;
	const double at = (rollup->sum / rollup->numbers - rollup->min) / range;
	return (uint64_t)(fmin(fmax(at, 0), 1) * PLACE_MAX + 0.5);
}

static void set_place(struct rollup *rollup, uint64_t value)
{
	const double at = (double)value / PLACE_MAX;

	if (rollup->numbers == 0)
		rollup->min = rollup->max = NAN;
	rollup->sum = (rollup->min + at * (rollup->max - rollup->min)) * rollup->numbers;
}

/* In the order in which a reader needs them. */
static const struct rollup_column short_rates[] = {
	{get_more_numbers, set_more_numbers, false},
	{get_increase, set_increase, false},
	{key_of_sum, set_key_of_sum, false},
	{key_of_min, set_key_of_min, false},
	{key_of_max, set_key_of_greatest, false},
};
static const struct rollup_column short_numbers = {get_numbers, set_numbers, false};
static const struct rollup_column short_place = {get_place, set_place, false};

/* Can the buckets of a series be cut short? */
static bool rollup_is_short(const struct rollup_bucket *v, uint32_t n, bool rates)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct rollup *rollup = &v[i].rollup;
		if (rollup->numbers > ROLLUP_SHORT_MAX ||
			(rollup->numbers > 0 &&
				!(isfinite(rollup->min) && isfinite(rollup->max) &&
					isfinite(rollup->max - rollup->min) &&
					isfinite(rollup->sum))))
			return false;
		if (rates && rollup->numbers > 0 && !(rollup->min >= 0 && mean_sum(rollup) >= 0))
			return false;
	}
	return true;
}

/* ---- writing -------------------------------------------------------------------- */

struct rollup_pen {
	int64_t step_ns;
	bool rates, minutes; /* .minutes: version 5 */
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

static void rollup_put_full(struct rollup_pen *pen, struct rollup_bucket *v, uint32_t n)
{
	for (size_t i = 0; i < ROLLUP_MUCH; i++)
		rollup_put_column(pen, v, n, &rollup_much[pen->rates][i]);
	for (uint32_t i = 0; i < n; i++)
		rollup_put_bins(pen, &v[i]);
}

/* How an end of the range of a gauge is written. */
enum { ENDS_EXACT, ENDS_ROUGH, ENDS_LAST, ENDS_LAST_F64 };

/* Is each of the numbers the last value? */
static bool rollup_is_last(
	const struct rollup_pen *pen, const struct rollup_bucket *v, uint32_t n, bool real)
{
	for (uint32_t i = 0; i < n; i++) {
		double last = (double)v[i].rollup.last;
		if (real)
			last = sample_f64(v[i].rollup.last);
		if (v[i].rollup.numbers > 0 && sample_of_f64(last) != pen->numbers[i])
			return false;
	}
	return true;
}

/* The least or the greatest numbers, in the shorter way. */
static void rollup_put_ends(struct rollup_pen *pen, const struct rollup_bucket *v, uint32_t n,
	const struct rollup_column *column)
{
	struct str *part = &pen->part;
	const size_t begin = part->n;

	for (uint32_t i = 0; i < n; i++) {
		pen->numbers[i] = 0;
		if (v[i].rollup.numbers > 0)
			pen->numbers[i] = column->get(&v[i].rollup);
	}
	for (unsigned real = 0; real < 2; real++)
		if (rollup_is_last(pen, v, n, real)) {
			bits_add_u8(part, (uint8_t)(ENDS_LAST + real));
			return;
		}
	bits_add_u8(part, ENDS_EXACT);
	number_encode_f64(pen->numbers, n, pen->scratch, part);
	const size_t exact = part->n - begin;
	for (uint32_t i = 0; i < n; i++)
		pen->numbers[i] = (pen->numbers[i] + ROUGH_HALF) >> ROUGH_SHIFT;
	bits_add_u8(part, ENDS_ROUGH);
	number_encode(pen->numbers, n, part);
	if (2 * (part->n - begin - exact) < exact) { /* the second way takes less than half */
		memmove(part->s + begin, part->s + begin + exact, part->n - begin - exact);
		part->n -= exact;
	} else {
		part->n = begin + exact;
	}
}

static void rollup_put_short(struct rollup_pen *pen, const struct rollup_bucket *v, uint32_t n)
{
	static const struct rollup_column least = {get_min, set_min, true},
					  greatest = {get_max, set_max, true};

	if (pen->rates) {
		for (size_t i = 0; i < rw_countof(short_rates); i++)
			rollup_put_column(pen, v, n, &short_rates[i]);
		return;
	}
	rollup_put_column(pen, v, n, &short_numbers);
	rollup_put_ends(pen, v, n, &least);
	rollup_put_ends(pen, v, n, &greatest);
	rollup_put_column(pen, v, n, &short_place);
}

/* The values of minutes that are cut short. */
static void rollup_put_values(struct rollup_pen *pen, const struct rollup_bucket *v, uint32_t n)
{
	uint64_t increases = 0;
	bool real = true;

	for (uint32_t i = 0; i < n; i++) {
		if (pen->rates)
			increases += v[i].rollup.increase;
		pen->numbers[i] = v[i].rollup.last - increases;
		real = real &&
			v[i].rollup.last >> 52; /* the exponent of a double that is not tiny */
	}
	if (pen->rates) {
		number_encode(pen->numbers, n, &pen->part);
		return;
	}
	bits_add_u8(&pen->part, real);
	if (real)
		number_encode_f64(pen->numbers, n, pen->scratch, &pen->part);
	else
		number_encode(pen->numbers, n, &pen->part);
	bits_add_uvar(&pen->part, bits_zigzag(v[0].rollup.first - v[0].rollup.last));
}

/* @before: the series written before, which has as many buckets and is written as this one is;
 * NULL: there is none. Its places stand before @ret_places. */
static void rollup_put_series(struct rollup_pen *pen, struct rollup_bucket *v, uint32_t n,
	const struct rollup_bucket *before, bool cut_short, uint64_t *ret_places)
{
	static const struct rollup_column first = {get_first, set_first, false};

	const bool same_when = before && rollup_same_when(v, before, n);
	if (same_when) {
		ret_places[0] = ret_places[0 - ROLLUP_PARTS];
	} else {
		rollup_put_when(pen, v, n);
		ret_places[0] = rollup_place(pen);
	}
	/* what is cut short follows from times too */
	if (before && (same_when || !cut_short) && rollup_same_much(pen, v, before, n)) {
		ret_places[1] = ret_places[1 - ROLLUP_PARTS];
	} else {
		if (pen->minutes)
			bits_add_u8(&pen->part, cut_short ? PART_SHORT : PART_FULL);
		if (cut_short)
			rollup_put_short(pen, v, n);
		else
			rollup_put_full(pen, v, n);
		ret_places[1] = rollup_place(pen);
	}
	if (cut_short)
		rollup_put_values(pen, v, n);
	else
		rollup_put_column(pen, v, n, &first);
	ret_places[2] = rollup_place(pen);
}

static bool rollup_ordered(const struct rollup_bucket *buckets, const struct rollup_series *series,
	size_t n, int64_t step_ns)
{
	for (size_t i = 0; i < n; i++) {
		const struct rollup_bucket *v = buckets + series[i].first;
		if (series[i].entity < 0 || (i > 0 && series[i].entity <= series[i - 1].entity))
			return false;
		for (uint32_t k = 0; k < series[i].n; k++)
			if (v[k].rollup.from_ns % step_ns != 0 ||
				v[k].rollup.to_ns != v[k].rollup.from_ns + step_ns ||
				(k > 0 && v[k].rollup.from_ns <= v[k - 1].rollup.from_ns))
				return false;
	}
	return true;
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
	bits_add_u8(out, pen->minutes ? ROLLUP_VERSION_SHORT : ROLLUP_VERSION_FULL);
	bits_add_u8(out, pen->rates);
	bits_add_uvar(out, (uint64_t)(pen->step_ns / NS_PER_S));
	bits_add_uvar(out, series);
	bits_add_uvar(out, n);
	bits_add_uvar(out, base);
	bits_add_u8(out, entity_bits);
	bits_add_u8(out, place_bits);
	bits_add_array(rest, series, entity_bits, out);
	bits_add_array(places, (size_t)series * ROLLUP_PARTS, place_bits, out);
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

/* Series one after the other, and what the one before was like. */
struct rollup_walk {
	struct rollup_bucket *before; /* NULL: none yet */
	uint32_t n_before;
	bool short_before;
	const struct rollup_bucket *standing; /* of the last series that stood still */
	const uint64_t *standing_places;
	bool standing_short;
};

/* One more series with the buckets of another: only its value is written. */
static void rollup_put_standing(struct rollup_pen *pen, const struct rollup_walk *walk,
	uint64_t value, uint64_t *ret_places)
{
	ret_places[0] = walk->standing_places[0];
	ret_places[1] = walk->standing_places[1];
	number_encode(&value, 1, &pen->part); /* as many equal ones are */
	ret_places[2] = rollup_place(pen);
}

static void rollup_put_next(struct rollup_pen *pen, struct rollup_walk *walk,
	struct rollup_bucket *v, const struct rollup_series *series, uint64_t *ret_places)
{
	const struct rollup_bucket *before = NULL;

	if (series->stands && walk->standing == v) {
		rollup_put_standing(pen, walk, series->value, ret_places);
		walk->short_before = walk->standing_short;
	} else {
		if (pen->rates)
			rollup_round(v, series->n);
		for (uint32_t i = 0; i < series->n && series->stands; i++)
			v[i].rollup.first = v[i].rollup.last = series->value;
		const bool cut_short = pen->minutes && rollup_is_short(v, series->n, pen->rates);
		if (walk->before && series->n == walk->n_before && cut_short == walk->short_before)
			before = walk->before;
		rollup_put_series(pen, v, series->n, before, cut_short, ret_places);
		walk->short_before = cut_short;
	}
	if (series->stands) {
		walk->standing = v;
		walk->standing_places = ret_places;
		walk->standing_short = walk->short_before;
	}
	walk->before = v;
	walk->n_before = series->n;
}

int rollup_encode_series(struct rollup_bucket *buckets, const struct rollup_series *series,
	size_t n, int64_t step_ns, bool rates, struct str *out)
{
	struct rollup_pen pen = {
		.step_ns = step_ns, .rates = rates, .minutes = step_ns == ROLLUP_MINUTE_NS};
	struct rollup_walk walk = {0};
	size_t n_buckets = 0;
	uint32_t longest = 0;

	if (n > UINT32_MAX / 8 || step_ns <= 0 || step_ns % NS_PER_S != 0 ||
		!rollup_ordered(buckets, series, n, step_ns))
		return -EINVAL;
	rw_cleanup(freep) uint64_t *entities = rw_calloc(n + 1, sizeof(*entities));
	rw_cleanup(freep) uint64_t *places = rw_calloc(n + 1, ROLLUP_PARTS * sizeof(*places));
	for (size_t i = 0; i < n; i++) {
		entities[i] = (uint64_t)series[i].entity;
		n_buckets += series[i].n;
		if (series[i].n > longest)
			longest = series[i].n;
	}
	pen.numbers = rw_calloc(2 * (size_t)longest + 2, sizeof(*pen.numbers));
	pen.scratch = pen.numbers + longest + 1;
	pen.parts = smap_new();
	for (size_t i = 0; i < n; i++)
		rollup_put_next(&pen, &walk, buckets + series[i].first, &series[i],
			places + i * ROLLUP_PARTS);
	rollup_write(&pen, entities, places, (uint32_t)n, n_buckets, out);
	smap_free(pen.parts);
	free(pen.numbers);
	str_done(&pen.part);
	str_done(&pen.payload);
	return 0;
}

int rollup_encode(
	struct rollup_bucket *buckets, size_t n, int64_t step_ns, bool rates, struct str *out)
{
	rw_cleanup(freep) struct rollup_series *series = rw_calloc(n + 1, sizeof(*series));
	size_t n_series = 0;

	for (size_t i = 0; i < n; i++) {
		if (i == 0 || buckets[i].entity != buckets[i - 1].entity)
			series[n_series++] =
				(struct rollup_series){.entity = buckets[i].entity, .first = i};
		series[n_series - 1].n++;
	}
	return rollup_encode_series(buckets, series, n_series, step_ns, rates, out);
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
	ret->minutes = version == ROLLUP_VERSION_SHORT;
	if (!bytes_ok(&bytes) || (version != ROLLUP_VERSION_FULL && !ret->minutes) || rates > 1 ||
		step_s == 0 || step_s > 86400 * 366 || series > ROLLUP_SERIES_MAX ||
		buckets > UINT32_MAX || ret->entity_bits > 64 || ret->place_bits > 64)
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

static int rollup_get_ends(struct bytes *bytes, const struct rollup_column *column,
	struct rollup_bucket *v, uint32_t n, uint64_t *numbers)
{
	const unsigned how = bytes_u8(bytes);
	int r = 0;

	if (how == ENDS_EXACT)
		r = number_decode_f64(bytes, n, numbers, NULL);
	else if (how == ENDS_ROUGH)
		r = number_decode(bytes, n, numbers, NULL);
	else if (how > ENDS_LAST_F64)
		r = -EBADMSG;
	for (uint32_t i = 0; i < n && r == 0; i++) {
		if (how == ENDS_ROUGH)
			numbers[i] <<= ROUGH_SHIFT;
		if (how == ENDS_LAST)
			numbers[i] = sample_of_f64((double)v[i].rollup.last);
		if (how == ENDS_LAST_F64)
			numbers[i] = v[i].rollup.last;
		column->set(&v[i].rollup, numbers[i]);
	}
	return r;
}

/* Values of a gauge. */
static int rollup_get_lasts(
	struct bytes *values, struct rollup_bucket *v, uint32_t n, uint64_t *numbers)
{
	int r;

	if (bytes_u8(values))
		r = number_decode_f64(values, n, numbers, NULL);
	else
		r = number_decode(values, n, numbers, NULL);
	for (uint32_t i = 0; i < n && r == 0; i++) {
		v[i].rollup.last = v[i].rollup.first = numbers[i];
		if (i > 0 && v[i].rollup.count > 1)
			v[i].rollup.first = numbers[i - 1];
	}
	if (r == 0)
		v[0].rollup.first = v[0].rollup.last + bits_unzigzag(bits_uvar(values));
	if (!bytes_ok(values))
		return -EBADMSG;
	return r;
}

static int rollup_get_counts(
	struct bytes *values, struct rollup_bucket *v, uint32_t n, uint64_t *numbers)
{
	const int r = number_decode(values, n, numbers, NULL);
	uint64_t increases = 0;

	for (uint32_t i = 0; i < n && r == 0; i++) {
		increases += v[i].rollup.increase;
		v[i].rollup.last = numbers[i] + increases;
		v[i].rollup.first = v[i].rollup.last;
		if (v[i].rollup.count > 1)
			v[i].rollup.first -= v[i].rollup.increase;
	}
	return r;
}

/* The numbers of a minute that was cut short, as far as they are known: the least, the greatest,
 * and the mean of the others. */
static int rollup_likely_numbers(struct arena *a, struct rollup_bucket *bucket)
{
	const struct rollup *rollup = &bucket->rollup;
	struct rollup_sketch *sketch = &bucket->sketch;

	if (rollup->numbers > ROLLUP_SHORT_MAX)
		return -EBADMSG;
	if (rollup->numbers <= 2 || !(rollup->min < rollup->max)) {
		rollup_known_numbers(a, bucket);
		return 0;
	}
	const double mean =
		(rollup->sum - rollup->min - rollup->max) / (double)(rollup->numbers - 2);
	sketch->n = sketch->n_values = rollup->numbers;
	sketch->values = arena_array(a, double, rollup->numbers);
	for (uint32_t i = 0; i < rollup->numbers; i++)
		sketch->values[i] = fmin(fmax(mean, rollup->min), rollup->max);
	sketch->values[0] = rollup->min;
	sketch->values[1] = rollup->max;
	return 0;
}

static int rollup_read_short(const struct rollup_reader *reader, struct bytes *much,
	struct bytes *values, struct rollup_bucket *v, uint32_t n, uint64_t *numbers)
{
	static const struct rollup_column least = {get_min, set_min, true},
					  greatest = {get_max, set_max, true};
	int r = 0;

	if (reader->rates) {
		for (size_t i = 0; i < rw_countof(short_rates) && r == 0; i++)
			r = rollup_get_column(much, &short_rates[i], v, n, numbers);
		if (r == 0)
			r = rollup_get_counts(values, v, n, numbers);
		return r;
	}
	r = rollup_get_lasts(values, v, n, numbers);
	if (r == 0)
		r = rollup_get_column(much, &short_numbers, v, n, numbers);
	if (r == 0)
		r = rollup_get_ends(much, &least, v, n, numbers);
	if (r == 0)
		r = rollup_get_ends(much, &greatest, v, n, numbers);
	if (r == 0)
		r = rollup_get_column(much, &short_place, v, n, numbers);
	return r;
}

static int rollup_read_full(const struct rollup_reader *reader, struct bytes *much,
	struct bytes *firsts, struct rollup_bucket *v, uint32_t n, uint64_t *numbers)
{
	static const struct rollup_column first = {get_first, set_first, false};
	int r = rollup_get_column(firsts, &first, v, n, numbers);

	for (size_t j = 0; j < ROLLUP_MUCH && r == 0; j++)
		r = rollup_get_column(much, &rollup_much[reader->rates][j], v, n, numbers);
	return r;
}

int rollup_read(const struct rollup_reader *reader, uint32_t i, struct arena *a,
	struct rollup_bucket **ret, uint32_t *ret_n)
{
	struct bytes when = rollup_part(reader, i, 0), much = rollup_part(reader, i, 1);
	struct bytes values = rollup_part(reader, i, 2);
	const uint64_t n = bits_uvar(&when);
	unsigned how = PART_FULL;

	if (!bytes_ok(&when) || n == 0 || n > ROLLUP_STEPS_MAX)
		return -EBADMSG;
	const uint32_t count = (uint32_t)n;
	struct rollup_bucket *v = arena_array(a, struct rollup_bucket, count);
	uint64_t *numbers = arena_array(a, uint64_t, count);
	for (uint32_t j = 0; j < count; j++)
		v[j].entity = rollup_entity(reader, i);
	int r = rollup_get_when(reader, &when, v, count, numbers);
	if (reader->minutes)
		how = bytes_u8(&much);
	if (r == 0 && how == PART_SHORT)
		r = rollup_read_short(reader, &much, &values, v, count, numbers);
	else if (r == 0 && how == PART_FULL)
		r = rollup_read_full(reader, &much, &values, v, count, numbers);
	else
		r = -EBADMSG;
	for (uint32_t j = 0; j < count && r == 0 && !reader->no_quantiles; j++) {
		if (how == PART_SHORT)
			r = rollup_likely_numbers(a, &v[j]);
		else
			r = rollup_get_bins(&much, a, &v[j]);
	}
	if (r < 0)
		return -EBADMSG;
	*ret = v;
	*ret_n = count;
	return 0;
}
