/*
 * stats - order statistics of plain numbers: sorting, quantile, median, median absolute deviation.
 * Pure and without allocation. The functions that take an array without const sort it in place; NAN
 * has no place in an order, so the caller leaves it out.
 */
#pragma once

#include <stddef.h>

/* The median absolute deviation of normally distributed values, times this, is their standard
 * deviation: 1 / Phi^-1(3/4). */
#define STATS_MAD_TO_SIGMA 1.4826

/* stats_order - ascending order of two doubles, for qsort() and bsearch(). */
int stats_order(const void *left, const void *right);

void stats_sort(double *values, size_t n);

/*
 * stats_quantile - quantile @at (0..1) of @n values, linear between neighbours; sorts @values.
 *
 * A real quantile: below 0 it is the least value, above 1 the greatest. NAN when n is 0 or @at is
 * NAN. Source: Hyndman and Fan, "Sample Quantiles in Statistical Packages" (1996), definition 7.
 */
double stats_quantile(double *values, size_t n, double at);

/* stats_median - the mean of the two middle values where @n is even; NAN when n is 0. Sorts. */
double stats_median(double *values, size_t n);

/* stats_mad - median distance from @centre, usually the median. The distances replace the values:
 * @values is scratch afterwards. NAN when n is 0. */
double stats_mad(double *values, size_t n, double centre);
