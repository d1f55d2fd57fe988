/*
 * amount - what one series says of one window: the growth of a counter, a peak, a mean, a state.
 * Pure. Missing is not zero: what is not known is NAN, or .known is false.
 */
#pragma once

#include "base/base.h"

#include "db/model/finding.h"
#include "db/series/series.h"

struct amount { /* growth of a counter in the window */
	double value; /* 0 when unknown */
	int64_t covered_ns; /* time it was watched; the divisor for a rate */
	bool known; /* there is at least one valid interval */
	/* the raw counter was above 0 at some sample; a counter that is always 0 may not be
	 * implemented, and proves nothing */
	bool alive;
	bool restarted; /* a restart, reset or discontinuity lies in the window */
	enum quality quality;
};

/* Per second of watched time; NAN when unknown. */
static inline double amount_rate(const struct amount *amount)
{
	if (amount->known)
		return amount->value * 1e9 / (double)amount->covered_ns;
	return NAN;
}

/* amount_of - @max_rate: more per second is not plausible for this counter; 0: no limit. */
struct amount amount_of(const struct series *series, const struct window *window, double max_rate);

/* The largest sample of the window. A watermark that the device kept over its own time counts once,
 * in the window it was read in. */
double amount_peak(const struct series *series, const struct window *window);
double amount_mean(const struct series *series, const struct window *window); /* of the samples */
/* The newest value at the end of the window. A state is valid until its next value, however long
 * ago it was reported. */
double amount_state(const struct series *series, const struct window *window);
