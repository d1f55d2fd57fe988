/* The growth of a store: its rate over a day, the day on which it reaches its quota, and when
 * nothing can be said. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/clock.h"
#include "db/store/retain_watch.h"

#define T0 INT64_C(1700000000000000000)
#define HOUR_NS (3600 * NS_PER_S)
#define DAY_NS (24 * HOUR_NS)
#define MB UINT64_C(1000000)

/* @hours of minutes, @bytes_hour each hour, on top of @used. */
static uint64_t grow(
	struct store_growth *g, int64_t *now_ns, int hours, uint64_t used, uint64_t bytes_hour)
{
	for (int minute = 0; minute < hours * 60; minute++) {
		store_growth_note(g, *now_ns, used);
		*now_ns += 60 * NS_PER_S;
		used += bytes_hour / 60;
	}
	return used;
}

static void rate_of_a_day(void **state)
{
	struct store_growth g = {0};
	int64_t now_ns = T0;
	uint64_t used = grow(&g, &now_ns, 2, 100 * MB, 60 * MB);

	assert_true(isnan(store_growth_rate(&g, now_ns, used)));
	used = grow(&g, &now_ns, 40, used, 60 * MB);
	assert_true(fabs(store_growth_rate(&g, now_ns, used) / 1440e6 - 1) < 0.01);
	/* an old burst is forgotten after a day */
	used = grow(&g, &now_ns, 30, used, 6 * MB);
	assert_true(fabs(store_growth_rate(&g, now_ns, used) / 144e6 - 1) < 0.02);
	used = grow(&g, &now_ns, 30, used, 0);
	assert_true(fabs(store_growth_rate(&g, now_ns, used)) < 1);
	assert_true(store_growth_rate(&g, now_ns, used - 50 * MB) < 0);
}

static void day_of_the_quota(void **state)
{
	/* 10 MB a day, 100 MB left */
	assert_int_equal(store_growth_full(T0, 900 * MB, 1000 * MB, 10e6, 0), T0 + 10 * DAY_NS);
	/* the raw week is full before, or after */
	assert_int_equal(store_growth_full(T0, 900 * MB, 1000 * MB, 10e6, T0 + 5 * DAY_NS), 0);
	assert_int_equal(store_growth_full(T0, 900 * MB, 1000 * MB, 10e6, T0 + 12 * DAY_NS),
		T0 + 10 * DAY_NS);
	assert_int_equal(
		store_growth_full(T0, 900 * MB, 1000 * MB, 10e6, T0 - DAY_NS), T0 + 10 * DAY_NS);
	/* no quota, no growth, growth not known, centuries */
	assert_int_equal(store_growth_full(T0, 900 * MB, 0, 10e6, 0), 0);
	assert_int_equal(store_growth_full(T0, 900 * MB, 1000 * MB, 0, 0), 0);
	assert_int_equal(store_growth_full(T0, 900 * MB, 1000 * MB, -10e6, 0), 0);
	assert_int_equal(store_growth_full(T0, 900 * MB, 1000 * MB, (double)NAN, 0), 0);
	assert_int_equal(store_growth_full(T0, 900 * MB, 1000 * MB, 1, 0), 0);
	assert_int_equal(store_growth_full(T0, 1001 * MB, 1000 * MB, 1, 0), T0);
}

/* A clock that was set, and an agent that was away, are no growth. */
static void begins_anew(void **state)
{
	struct store_growth g = {0};
	int64_t now_ns = T0;
	uint64_t used = grow(&g, &now_ns, 24, 100 * MB, 60 * MB);

	assert_false(isnan(store_growth_rate(&g, now_ns, used)));
	now_ns -= 30 * DAY_NS;
	assert_true(store_growth_note(&g, now_ns, used));
	assert_true(isnan(store_growth_rate(&g, now_ns, used)));
	used = grow(&g, &now_ns, 24, used, 60 * MB);
	assert_false(isnan(store_growth_rate(&g, now_ns, used)));
	now_ns += 10 * DAY_NS;
	assert_true(store_growth_note(&g, now_ns, used));
	assert_true(isnan(store_growth_rate(&g, now_ns, used)));
}

static void is_kept_as_text(void **state)
{
	static const char *const none[] = {
		"", "2 1:2", "1 x", "1 5:1 4:1", "1 5", "1 5:1 6:1 x", "15:1 6"};
	struct store_growth g = {0}, read = {0};
	char text[GROWTH_TEXT_MAX];
	int64_t now_ns = T0;

	store_growth_print(&g, text, sizeof(text));
	assert_true(store_growth_parse(&read, text));
	assert_int_equal(read.n, 0);
	grow(&g, &now_ns, 60, UINT64_MAX / 2, 60 * MB);
	store_growth_print(&g, text, sizeof(text));
	assert_true(store_growth_parse(&read, text));
	assert_int_equal(read.n, GROWTH_POINTS);
	for (size_t i = 0; i < g.n; i++) {
		assert_int_equal(read.points[i].t_ns, g.points[i].t_ns);
		assert_int_equal(read.points[i].used_bytes, g.points[i].used_bytes);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(store_growth_parse(&read, none[i]));
	assert_int_equal(read.n, GROWTH_POINTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate_of_a_day),
		cmocka_unit_test(day_of_the_quota),
		cmocka_unit_test(begins_anew),
		cmocka_unit_test(is_kept_as_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
