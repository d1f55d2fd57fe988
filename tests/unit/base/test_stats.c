/* stats: quantiles, the median and the median absolute deviation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/stats.h"

static void test_quantile(void **state)
{
	static const struct {
		const char *what;
		size_t n;
		double v[6], q, expect;
	} rows[] = {
		{"median of three", 3, {3, 1, 2}, 0.5, 2},
		{"median of four", 4, {4, 1, 3, 2}, 0.5, 2.5},
		{"p99 is not the maximum", 5, {1, 2, 3, 4, 100}, 0.99, 96.16},
		{"lowest", 3, {3, 1, 2}, 0, 1},
		{"highest", 3, {3, 1, 2}, 1, 3},
		{"one value", 1, {7}, 0.95, 7},
	};

	for (size_t i = 0; i < rw_countof(rows); i++) {
		double v[6];
		memcpy(v, rows[i].v, sizeof(v));
		double got = stats_quantile(v, rows[i].n, rows[i].q);
		if (fabs(got - rows[i].expect) > 1e-9)
			fail_msg("%s: got %f", rows[i].what, got);
	}
	assert_true(isnan(stats_quantile(NULL, 0, 0.5)));
	double v[] = {2, 1};
	assert_true(isnan(stats_quantile(v, 2, NAN)));
	double one[] = {5, NAN}; /* what follows the values is not one of them */
	assert_true(stats_quantile(one, 1, 0.5) == 5);
}

static void test_median(void **state)
{
	double odd[] = {9, 1, 5}, even[] = {4, 1, 3, 2};
	assert_true(stats_median(odd, 3) == 5);
	assert_true(stats_median(even, 4) == 2.5);
	assert_true(isnan(stats_median(NULL, 0)));
}

static void test_mad(void **state)
{
	/* distances from 3: 2 1 0 1 97 */
	double v[] = {1, 2, 3, 4, 100};
	assert_true(stats_mad(v, 5, 3) == 1);
	assert_true(isnan(stats_mad(NULL, 0, 0)));
}

static void test_sort(void **state)
{
	double v[] = {3, -1, 2};
	stats_sort(v, 3);
	assert_true(v[0] == -1 && v[1] == 2 && v[2] == 3);
	stats_sort(NULL, 0);
}

#define T(name) cmocka_unit_test(name)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_quantile),
		T(test_median),
		T(test_mad),
		T(test_sort),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
