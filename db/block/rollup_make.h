/*
 * rollup_make - from the samples of a series to its minutes, and from minutes to an hour; pure. The
 * rules are those of db/series/rollup.h.
 */
#ifndef RW_DB_ROLLUP_MAKE_H
#define RW_DB_ROLLUP_MAKE_H

#include "db/block/block_codec.h"
#include "db/block/rollup_codec.h"

#define ROLLUP_MINUTE_NS (INT64_C(60) * 1000000000)
#define ROLLUP_HOUR_NS (60 * ROLLUP_MINUTE_NS)
#define ROLLUP_DAY_NS (24 * ROLLUP_HOUR_NS)

struct rollup_list { /* of buckets; they own their sketches */
	struct rollup_bucket *v;
	size_t n, cap;
};
void rollup_list_done(struct rollup_list *list);
void rollup_list_clear(struct rollup_list *list); /* keeps its memory */

/*
 * rollup_make - appends the steps of one series. @v holds @n samples of one entity in order of
 * time; those up to @from_ns are older than the first step: the last usable one is what the first
 * increase counts from. @from_ns is a multiple of @step_ns. Entity, tier and quantiles of .rollup
 * are not set.
 */
void rollup_make(unsigned metric, const struct block_sample *v, size_t n, int64_t from_ns,
	int64_t step_ns, struct rollup_list *ret);

/* rollup_coarser - appends to @ret the steps of @step_ns (a multiple of the finer one) that the @n
 * buckets @v make, sorted by (entity, time); each keeps its sketch, @ret has copies. */
void rollup_coarser(
	const struct rollup_bucket *v, size_t n, int64_t step_ns, struct rollup_list *ret);

#endif
