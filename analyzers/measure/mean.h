/* mean - a running mean that leaves out unknown values (NAN), and the imbalance around a mean. */
#pragma once

#include "base/base.h"

struct mean {
	double sum;
	unsigned n;
};
static inline void mean_add(struct mean *mean, double value)
{
	if (isnan(value))
		return;
	mean->sum += value;
	mean->n++;
}
static inline double mean_of(const struct mean *mean)
{
	if (mean->n)
		return mean->sum / mean->n;
	return NAN;
}

/* mean_imbalance - max/mean-1: 0 is even. The sum of equal loads may be rounded up, so that their
 * mean lies an ulp above each of them: that is even, not less than even. NAN where either is. */
static inline double mean_imbalance(double max, double mean)
{
	const double imbalance = max / mean - 1;
	if (imbalance < 0)
		return 0;
	return imbalance;
}
