/* rollup_sketch - see rollup_sketch.h. */
#include "db/series/rollup_sketch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/stats.h"
#include "db/model/sample.h"

#define EXACT_MAX 256 /* numbers that are kept as they are */
#define SKETCH_SHIFT 46 /* what is left of a double: its exponent and 6 bits of its fraction */
#define SKETCH_INFINITE (0x7ff << 6)

int32_t rollup_sketch_key(double value)
{
	const int32_t key = (int32_t)(sample_of_f64(fabs(value)) >> SKETCH_SHIFT);
	if (value < 0)
		return -key;
	return key;
}

/* The number in the middle of a bin. */
static double sketch_number(int32_t key)
{
	const uint64_t size = (uint64_t)abs(key);
	double number = INFINITY;
	if (key == 0)
		return 0;
	if (size < SKETCH_INFINITE)
		number = sample_f64(size << SKETCH_SHIFT | UINT64_C(1) << (SKETCH_SHIFT - 1));
	if (key < 0)
		return -number;
	return number;
}

static void sketch_count(struct rollup_sketch *sketch, int32_t key, uint64_t n)
{
	size_t lo = 0, hi = sketch->n_bins;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (sketch->bins[mid].key < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < sketch->n_bins && sketch->bins[lo].key == key) {
		sketch->bins[lo].n += n;
		return;
	}
	rw_grow(sketch->bins, sketch->n_bins, sketch->cap_bins);
	memmove(&sketch->bins[lo + 1], &sketch->bins[lo],
		(sketch->n_bins - lo) * sizeof(*sketch->bins));
	sketch->bins[lo] = (struct rollup_bin){.key = key, .n = n};
	sketch->n_bins++;
}

void rollup_sketch_add(struct rollup_sketch *sketch, double value)
{
	if (isnan(value))
		return;
	sketch->n++;
	if (sketch->n_bins == 0 && sketch->n_values < EXACT_MAX) {
		rw_grow(sketch->values, sketch->n_values, sketch->cap_values);
		sketch->values[sketch->n_values++] = value;
		return;
	}
	rollup_sketch_pack(sketch);
	sketch_count(sketch, rollup_sketch_key(value), 1);
}

void rollup_sketch_pack(struct rollup_sketch *sketch)
{
	for (size_t i = 0; i < sketch->n_values; i++)
		sketch_count(sketch, rollup_sketch_key(sketch->values[i]), 1);
	sketch->n_values = 0;
}

void rollup_sketch_add_bin(struct rollup_sketch *sketch, int32_t key, uint64_t n)
{
	rollup_sketch_pack(sketch);
	sketch_count(sketch, key, n);
	sketch->n += n;
}

void rollup_sketch_merge(struct rollup_sketch *sketch, const struct rollup_sketch *from)
{
	for (size_t i = 0; i < from->n_values; i++)
		rollup_sketch_add(sketch, from->values[i]);
	for (size_t i = 0; i < from->n_bins; i++)
		rollup_sketch_add_bin(sketch, from->bins[i].key, from->bins[i].n);
}

/* The number at @rank, of bins. */
static double sketch_at(const struct rollup_sketch *sketch, uint64_t rank)
{
	uint64_t below = 0;
	for (size_t i = 0; i < sketch->n_bins; i++) {
		below += sketch->bins[i].n;
		if (below > rank)
			return sketch_number(sketch->bins[i].key);
	}
	return sketch_number(sketch->bins[sketch->n_bins - 1].key);
}

double rollup_sketch_quantile(struct rollup_sketch *sketch, double at)
{
	if (sketch->n_bins == 0)
		return stats_quantile(sketch->values, sketch->n_values, at);
	/* between two order statistics, as stats_quantile() does */
	const double rank = at * (double)(sketch->n - 1);
	const uint64_t low = (uint64_t)rank;
	const double left = sketch_at(sketch, low), right = sketch_at(sketch, low + 1);
	if (left == right)
		return left;
	return left + (right - left) * (rank - (double)low);
}

void rollup_sketch_clear(struct rollup_sketch *sketch)
{
	sketch->n = 0;
	sketch->n_values = 0;
	sketch->n_bins = 0;
}

void rollup_sketch_done(struct rollup_sketch *sketch)
{
	free(sketch->values);
	free(sketch->bins);
	*sketch = (struct rollup_sketch){0};
}
