/*
 * optic_trend - how a slow reading of a port (light, or the logarithm of a bit error ratio) has
 * moved against its own past. Pure.
 *
 * The past is cut into parts. Moved: the newest reading lies beyond every earlier part. How far is
 * that reading against the median of the earlier ones, or of the oldest third where the reading
 * has moved for most of the past. Noise is the robust deviation of second differences, so that a
 * steady trend, and where it begins, are not taken for noise. The slope is that of Theil and Sen
 * (Sen, 1968: the median of the slopes of all pairs), over the newest parts.
 */
#ifndef RW_MEASURE_OPTIC_TREND_H
#define RW_MEASURE_OPTIC_TREND_H

#include <stdbool.h>
#include <stdint.h>

#include "db/series/series.h"

struct optic_trend {
	bool known; /* there are enough parts */
	bool beyond; /* the newest reading lies beyond all earlier parts, in the direction asked for
		      */
	double before, now; /* of the reading; NAN unknown */
	double moved; /* in the direction asked for: > 0 is worse */
	double spread; /* one standard deviation of a reading */
	double slope_per_h; /* signed; NAN unknown */
};

/*
 * optic_trend_of - the reading @series in the time of @past. @worse: -1 where falling is bad (dBm),
 * +1 where rising is (bit errors, taken as log10). Readings at or below @least count as absent: a
 * dark fibre, a ratio too small to be measured.
 */
struct optic_trend optic_trend_of(const struct window *past, const struct series *series, int worse,
	bool decades, double least);

#endif
