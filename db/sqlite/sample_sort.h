/*
 * sample_sort - samples of one metric into the order of a block: by entity, then time, each pair
 * once. Of equal pairs the one that came first stays. Pure.
 */
#ifndef RW_DB_SAMPLE_SORT_H
#define RW_DB_SAMPLE_SORT_H

#include "db/block/block_codec.h"

struct sample_sorter { /* room that is used again; all zero before the first call */
	struct block_sample *room;
	uint32_t *counts;
	size_t cap;
};
void sample_sorter_done(struct sample_sorter *sorter);

/* sample_sort - sorts @v and returns how many are left. Linear where the input is sorted or where
 * entity numbers lie within 2^22 of each other, as those of one device do. */
size_t sample_sort(struct sample_sorter *sorter, struct block_sample *v, size_t n);

/* sample_sort_slices - the same, but by slice of @slice_ns first: slice k is (k * slice_ns,
 * (k + 1) * slice_ns]. */
size_t sample_sort_slices(
	struct sample_sorter *sorter, struct block_sample *v, size_t n, int64_t slice_ns);

/* sample_slice - the number of the slice that @t_ns lies in. */
static inline int64_t sample_slice(int64_t t_ns, int64_t slice_ns)
{
	int64_t k = t_ns / slice_ns;

	if (t_ns % slice_ns <= 0)
		k--;
	return k;
}

#endif
