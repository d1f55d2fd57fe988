/* Which time retention counts from: a clock that leaps ahead deletes nothing, a machine that was
 * off for long deletes a day later, and an ordinary day is an ordinary day. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "db/store/retain_clock.h"

#define HOUR (3600 * NS_PER_S)
#define DAY (24 * HOUR)
#define BEGIN (1000 * DAY)

static int64_t at(struct retain_clock *clock, int64_t newest_ns, int64_t wall_ns, int64_t mono_ns)
{
	return retain_clock_now(clock, newest_ns, (wall_t){wall_ns}, (mono_t){mono_ns});
}

static void ordinary_days(void **state)
{
	struct retain_clock clock = {0};
	for (int64_t t = 0; t < 10 * DAY; t += HOUR)
		assert_int_equal(at(&clock, BEGIN - HOUR, BEGIN + t, HOUR + t), BEGIN + t);
	assert_false(clock.ahead);
}

static void empty_store(void **state)
{
	struct retain_clock clock = {0};
	assert_int_equal(at(&clock, 0, BEGIN, HOUR), BEGIN);
}

/* Started 30 days ahead; the clock is set right after some hours. */
static void ahead_at_start(void **state)
{
	struct retain_clock clock = {0};
	for (int64_t t = 0; t < 5 * HOUR; t += HOUR) {
		assert_int_equal(at(&clock, BEGIN, BEGIN + 30 * DAY + t, HOUR + t), BEGIN);
		assert_true(clock.ahead);
	}
	assert_int_equal(at(&clock, BEGIN, BEGIN + 5 * HOUR, 6 * HOUR), BEGIN + 5 * HOUR);
	assert_false(clock.ahead);
}

/* A leap while running, back and ahead again: the second leap waits a whole day of its own. */
static void ahead_twice(void **state)
{
	struct retain_clock clock = {0};
	at(&clock, BEGIN, BEGIN, 0);
	at(&clock, BEGIN, BEGIN + 40 * DAY, 1 * HOUR);
	at(&clock, BEGIN, BEGIN + 2 * HOUR, 2 * HOUR);
	assert_int_equal(at(&clock, BEGIN, BEGIN + 40 * DAY, 3 * HOUR), BEGIN + 2 * HOUR);
	assert_int_equal(at(&clock, BEGIN, BEGIN + 41 * DAY, 26 * HOUR), BEGIN + 2 * HOUR);
	assert_int_equal(at(&clock, BEGIN, BEGIN + 41 * DAY, 28 * HOUR), BEGIN + 41 * DAY);
}

/* Off for 30 days: after a day of running the clock is believed. */
static void off_for_long(void **state)
{
	struct retain_clock clock = {0};
	const int64_t now = BEGIN + 30 * DAY;
	assert_int_equal(at(&clock, BEGIN, now, 0), BEGIN);
	assert_int_equal(at(&clock, BEGIN, now + DAY - HOUR, DAY - HOUR), BEGIN);
	assert_int_equal(at(&clock, BEGIN, now + DAY, DAY), now + DAY);
	assert_int_equal(at(&clock, BEGIN, now + DAY + HOUR, DAY + HOUR), now + DAY + HOUR);
}

/* Set back: what is younger by the old clock only stays. */
static void set_back(void **state)
{
	struct retain_clock clock = {0};
	at(&clock, BEGIN, BEGIN, 0);
	assert_int_equal(at(&clock, BEGIN, BEGIN - 5 * DAY, HOUR), BEGIN - 5 * DAY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_days),
		cmocka_unit_test(empty_store),
		cmocka_unit_test(ahead_at_start),
		cmocka_unit_test(ahead_twice),
		cmocka_unit_test(off_for_long),
		cmocka_unit_test(set_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
