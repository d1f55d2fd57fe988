/*
 * tune_peak - the watermarks of one buffer over many windows, folded one sample at a time into a
 * maximum and a high quantile of bounded memory.
 *
 * A watermark is the maximum over the device's own window (window_ms of the sample), and counts
 * once per window: the same window read in several polls is one peak. Maxima grow with the length
 * of the window, so quantiles are of one length only: the one read most often. window_ms 0: the
 * device does not say since when. Such a value counts when it differs from the one before. If it
 * never moves, it may be older than what is looked at: then it is no more than an upper bound
 * (.standing). If it falls, somebody clears it, and the values are of windows of unknown length.
 *
 * Bytes; pure; memory is the arena's, and taken when the first sample comes.
 */
#pragma once

#include "base/base.h"

struct tune_peak { /* bytes; NAN: never told */
	double max, p99; /* over windows; p99 within 4.5 %, and never above .max */
	unsigned windows; /* of the device's, that told one */
	uint32_t window_ms; /* their length; 0 not told */
	/* reached the size of what it measures (by 98 %): the true need is unknown */
	bool censored;
	/* never moved, and since when it stands is not told: an upper bound for the range */
	bool standing;
};

struct peak_fold;
struct peak_fold *peak_fold_new(struct arena *a);
/* peak_fold_add - in order of time. @size of what it measures at that time, NAN unknown. Values
 * that are no number or below 0 are not looked at. */
void peak_fold_add(
	struct peak_fold *fold, int64_t t_ns, double bytes, uint32_t window_ms, double size);
void peak_fold_reset(struct peak_fold *fold); /* as new, keeping its memory */
struct tune_peak peak_fold_done(const struct peak_fold *fold); /* @fold may be NULL: never told */
