/*
 * rollup_sketch - quantiles of many numbers in little memory. Few numbers are kept as they are and
 * answered exactly; more go into bins, 64 to each power of two, so that every answer is within
 * 0.8 % of a number at that rank. Sketches merge without loss.
 *
 * Source: Masson, Rim, Lee, "DDSketch: A Fast and Fully-Mergeable Quantile Sketch with
 * Relative-Error Guarantees", PVLDB 12(12), 2019; the bins are its linearly interpolated mapping.
 */
#ifndef RW_DB_ROLLUP_SKETCH_H
#define RW_DB_ROLLUP_SKETCH_H

#include <stddef.h>
#include <stdint.h>

struct rollup_bin {
	int32_t key; /* ordered as the numbers are: negative ones below, 0 is zero */
	uint64_t n;
};
struct rollup_sketch {
	double *values; /* as long as they are few */
	size_t n_values, cap_values;
	struct rollup_bin *bins; /* sorted by key */
	size_t n_bins, cap_bins;
	uint64_t n;
};

/* NAN is left out. */
void rollup_sketch_add(struct rollup_sketch *sketch, double value);
/* rollup_sketch_key - the bin of a number. rollup_sketch_pack - from now on as bins.
 * rollup_sketch_add_bin - @n numbers of a bin that another sketch had. rollup_sketch_merge - adds
 * all of @from. */
int32_t rollup_sketch_key(double value);
void rollup_sketch_pack(struct rollup_sketch *sketch);
void rollup_sketch_add_bin(struct rollup_sketch *sketch, int32_t key, uint64_t n);
void rollup_sketch_merge(struct rollup_sketch *sketch, const struct rollup_sketch *from);
/* rollup_sketch_quantile - at 0..1; NAN when it is empty. Sorts what is kept. */
double rollup_sketch_quantile(struct rollup_sketch *sketch, double at);
/* rollup_sketch_clear - empty, the memory stays. rollup_sketch_done - the memory goes. */
void rollup_sketch_clear(struct rollup_sketch *sketch);
void rollup_sketch_done(struct rollup_sketch *sketch);

#endif
