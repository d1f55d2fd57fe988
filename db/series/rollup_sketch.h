/*
 * rollup_sketch - quantiles of many numbers in little memory. Few numbers are kept as they are and
 * answered exactly; more go into bins that grow by a constant factor, so that every answer is
 * within 1 % of a number at that rank.
 *
 * Source: Masson, Rim, Lee, "DDSketch: A Fast and Fully-Mergeable Quantile Sketch with
 * Relative-Error Guarantees", PVLDB 12(12), 2019.
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
/* rollup_sketch_quantile - at 0..1; NAN when it is empty. Sorts what is kept. */
double rollup_sketch_quantile(struct rollup_sketch *sketch, double at);
/* rollup_sketch_clear - empty, the memory stays. rollup_sketch_done - the memory goes. */
void rollup_sketch_clear(struct rollup_sketch *sketch);
void rollup_sketch_done(struct rollup_sketch *sketch);

#endif
