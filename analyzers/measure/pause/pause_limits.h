/*
 * pause_limits - from which share of time pause is reported: the options of the analyzer
 * pause_storm. Screens and metrics judge pause by the same ones.
 */
#pragma once

#include "base/base.h"

#include "config/fabric.h"

/* Without congestion control, pause is normal: factor of the limits then. */
#define PAUSE_PFC_ONLY_TIMES 10

struct pause_storm_options {
	double warn, critical, storm; /* share of time, 0..1 */
	int64_t window_ns, hold;
};

/* pause_limit - the share of time from which pause is reported: `warn` where it is measured. An
 * upper bound from frames may be many times the real pause, so it counts from `critical` on. */
static inline double pause_limit(const struct pause_storm_options *options, bool measured)
{
	if (measured)
		return options->warn;
	return options->critical;
}

/* pause_times - factor of the limits for pause between and by switches under a fabric's policy. */
static inline double pause_times(enum congestion_policy policy)
{
	if (policy == CC_PFC_ONLY)
		return PAUSE_PFC_ONLY_TIMES;
	return 1;
}
