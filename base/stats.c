/* stats - sorts numbers and reads quantiles from the order. */
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

int stats_order(const void *left, const void *right)
{
	const double x = *(const double *)left, y = *(const double *)right;
	return (x > y) - (x < y);
}

void stats_sort(double *values, size_t n)
{
	if (n > 1)
		qsort(values, n, sizeof(*values), stats_order);
}

double stats_quantile(double *values, size_t n, double at)
{
	if (n == 0 || isnan(at))
		return NAN;
	stats_sort(values, n);
	if (at <= 0)
		return values[0];
	if (at >= 1)
		return values[n - 1];
	const double rank = (double)(n - 1) * at;
	const size_t below = (size_t)rank;
	if (below + 1 >= n)
		return values[n - 1];
	const double part = rank - (double)below;
	return values[below] + part * (values[below + 1] - values[below]);
}

double stats_median(double *values, size_t n)
{
	return stats_quantile(values, n, 0.5);
}

double stats_mad(double *values, size_t n, double centre)
{
	for (size_t i = 0; i < n; i++)
		values[i] = fabs(values[i] - centre);
	return stats_median(values, n);
}
