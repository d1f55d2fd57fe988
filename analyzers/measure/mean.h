/* mean - a running mean that leaves out what is not known. */
#ifndef RW_ANALYZERS_MEAN_H
#define RW_ANALYZERS_MEAN_H

#include <math.h>

struct mean {
	double sum;
	unsigned n;
};
static inline void mean_add(struct mean *m, double v)
{
	if (isnan(v))
		return;
	m->sum += v;
	m->n++;
}
static inline double mean_of(const struct mean *m)
{
	return m->n ? m->sum / m->n : NAN;
}

#endif
