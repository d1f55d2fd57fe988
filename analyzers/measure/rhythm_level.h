/*
 * rhythm_level - levels of a job's throughput, block by block, where they change, and which blocks
 * are idle (analyzers/measure/rhythm.h). Pure.
 */
#pragma once

#include "base/base.h"

/* A block below this share of what the job usually does is idle: the job pauses, saves, starts or
 * ends. */
#define RHYTHM_IDLE 0.2

struct level {
	/* of the blocks within half and one and a half times their median; NAN, NAN when n is 0 */
	double mean, se;
	size_t n;
};
/* rhythm_level - the mean of @values[0..n), NAN left out. Not the median: blocks are whole numbers
 * of steps, and so would it be. */
struct level rhythm_level(const double *values, size_t n);

struct change {
	size_t at; /* first value of the new level */
	double before, after; /* means on both sides */
	double t; /* |difference| in standard errors (pooled) */
};
/*
 * rhythm_change - where @values[0..n) (no NAN) most probably changed its level, at a position in
 * [lo, hi]. False when there are less than three values on either side. It always finds something:
 * judge .t (RHYTHM_SURE) and the size.
 */
bool rhythm_change(const double *values, size_t n, size_t lo, size_t hi, struct change *ret);
/* Standard errors that count as change: looked at anew in every window, at every position, for
 * months. */
#define RHYTHM_SURE 6.0

struct segment {
	size_t from, to; /* values [from, to) of the blocks */
	struct level level;
};
/*
 * rhythm_segments - stretches of one level each, by splitting in two, or a stretch from what is
 * around it, as long as a split is sure and larger than @least (share of the larger).
 * @busy[k] says which block value k is; idle and unseen blocks are left out before. At most @max.
 */
size_t rhythm_segments(
	const double *values, size_t n, double least, struct segment *ret, size_t max);

/* rhythm_busy - blocks that are seen and neither idle nor, unless most are, next to an idle one:
 * values and their positions, into arrays of @n. Returns how many. */
size_t rhythm_busy(const double *values, size_t n, double *ret, size_t *ret_at);

/* rhythm_best - what the job moves at its best level, by @busy values as of rhythm_busy(), for
 * levels that differ by @least; NAN: none is seen. */
double rhythm_best(const double *busy, size_t n, double least);

/* rhythm_idle_from - the first of the blocks at the end of @values[0..n) in which less than @idle
 * moved, blocks that are not seen between them too; @n: the newest one that is seen is busy, or
 * none is. */
size_t rhythm_idle_from(const double *values, size_t n, double idle);
