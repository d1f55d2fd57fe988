/* mean - a running mean that leaves out unknown values (NAN). */
#ifndef RW_MEASURE_MEAN_H
#define RW_MEASURE_MEAN_H

#include <math.h>

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

#endif
