/* sizing: the sums for a fabric whose figures were measured, and what is not said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <math.h>

#include <cmocka.h>

#include "analyzers/measure/sizing.h"

static void assert_near(double got, double wanted, double ratio)
{
	assert_true(fabs(got - wanted) <= wanted * ratio);
}

/* 512 switches of 64 ports every 10 s: docs/performance.md has the runs. */
static void test_measured_size(void **state)
{
	(void)state;
	struct sizing s;
	assert_int_equal(sizing_of(512, 64, 10, &s), 0);
	assert_near(s.samples_per_s, 173670, 0.001);
	assert_near(s.values_per_s, 304742, 0.001); /* 3.05 M varbinds a round */
	assert_near(s.polling_cores + s.judging_cores, 0.20, 0.1); /* 18.6 and 20 % of a core */
	assert_near(
		s.memory_bytes, 1514.56e6, 0.001); /* 40 MB and 45 KB for each of 32,768 ports */
	assert_near(s.disk_values_bytes_per_day, 13.5e9, 0.01);
	assert_near(s.disk_rollups_bytes_per_day, 18e9, 0.01);
	assert_near(s.traffic_per_switch_bps, 252365, 0.001);
}

/* Ten times the samples, the same minutes; memory and judging were not measured there. */
static void test_shorter_interval(void **state)
{
	(void)state;
	struct sizing slow, fast;
	assert_int_equal(sizing_of(64, 64, 10, &slow), 0);
	assert_int_equal(sizing_of(64, 64, 1, &fast), 0);
	assert_near(fast.samples_per_s, 10 * slow.samples_per_s, 1e-9);
	assert_near(fast.polling_cores, 10 * slow.polling_cores, 1e-9);
	assert_near(fast.disk_values_bytes_per_day, 10 * slow.disk_values_bytes_per_day, 1e-9);
	assert_near(fast.disk_rollups_bytes_per_day, slow.disk_rollups_bytes_per_day, 1e-9);
	assert_true(isnan(fast.judging_cores));
	assert_true(isnan(fast.memory_bytes));
}

/* A poll every two minutes fills every other minute. */
static void test_longer_than_a_minute(void **state)
{
	(void)state;
	struct sizing minute, two;
	assert_int_equal(sizing_of(1, 64, 60, &minute), 0);
	assert_int_equal(sizing_of(1, 64, 120, &two), 0);
	assert_near(two.disk_rollups_bytes_per_day, minute.disk_rollups_bytes_per_day / 2, 1e-9);
}

static void test_refused(void **state)
{
	(void)state;
	struct sizing s;
	assert_int_equal(sizing_of(0, 64, 10, &s), -EINVAL);
	assert_int_equal(sizing_of(1, -1, 10, &s), -EINVAL);
	assert_int_equal(sizing_of(1, 64, NAN, &s), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_measured_size),
		cmocka_unit_test(test_shorter_interval),
		cmocka_unit_test(test_longer_than_a_minute),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
