/* rollup_sketch - see rollup_sketch.h. */
#include "db/series/rollup_sketch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/stats.h"

#define EXACT_MAX 256 /* numbers that are kept as they are */
#define SKETCH_ERROR 0.01
#define SKETCH_GAMMA ((1 + SKETCH_ERROR) / (1 - SKETCH_ERROR))
#define SKETCH_SMALLEST 1e-15 /* below it a number is zero */
#define SKETCH_LARGEST 1e300
/* Bins of the smallest number have key 1: ceil(log(1e-15) / log(gamma)) is -1726. */
#define SKETCH_OFFSET 1728

static int32_t sketch_key(double value)
{
	const double size = fmin(fabs(value), SKETCH_LARGEST);
	if (size < SKETCH_SMALLEST)
		return 0;
	const int32_t key = (int32_t)ceil(log(size) / log(SKETCH_GAMMA)) + SKETCH_OFFSET;
	if (value < 0)
		return -key;
	return key;
}

/* The number in the middle of a bin, in the sense of the relative error. */
static double sketch_number(int32_t key)
{
	if (key == 0)
		return 0;
	const int32_t size = abs(key) - SKETCH_OFFSET;
	const double number = 2 * pow(SKETCH_GAMMA, size) / (SKETCH_GAMMA + 1);
	if (key < 0)
		return -number;
	return number;
}

static void sketch_count(struct rollup_sketch *sketch, int32_t key)
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
		sketch->bins[lo].n++;
		return;
	}
	rw_grow(sketch->bins, sketch->n_bins, sketch->cap_bins);
	memmove(&sketch->bins[lo + 1], &sketch->bins[lo],
		(sketch->n_bins - lo) * sizeof(*sketch->bins));
	sketch->bins[lo] = (struct rollup_bin){.key = key, .n = 1};
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
	for (size_t i = 0; i < sketch->n_values; i++)
		sketch_count(sketch, sketch_key(sketch->values[i]));
	sketch->n_values = 0;
	sketch_count(sketch, sketch_key(value));
}

double rollup_sketch_quantile(struct rollup_sketch *sketch, double at)
{
	if (sketch->n_bins == 0)
		return stats_quantile(sketch->values, sketch->n_values, at);
	const double rank = at * (double)(sketch->n - 1);
	double below = 0;
	for (size_t i = 0; i < sketch->n_bins; i++) {
		below += (double)sketch->bins[i].n;
		if (below > rank)
			return sketch_number(sketch->bins[i].key);
	}
	return sketch_number(sketch->bins[sketch->n_bins - 1].key);
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
