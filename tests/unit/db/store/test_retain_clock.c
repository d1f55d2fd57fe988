/* Which time retention counts from: a clock that leaps ahead deletes nothing, a machine that was
 * off for long deletes a day later, and an ordinary day is an ordinary day. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "db/store/retain_watch.h"

#define HOUR (3600 * NS_PER_S)
#define DAY (24 * HOUR)
#define BEGIN (1000 * DAY)

static int64_t at(struct retain_clock *clock, int64_t newest_ns, int64_t wall_ns, int64_t mono_ns)
{
	return retain_clock_now(clock, newest_ns, (wall_t){wall_ns}, mono_ns);
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
		assert_int_equal(at(&clock, BEGIN, BEGIN + 30 * DAY + t, HOUR + t), BEGIN + t);
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
	assert_int_equal(at(&clock, BEGIN, BEGIN + 40 * DAY, 3 * HOUR), BEGIN + 3 * HOUR);
	assert_int_equal(at(&clock, BEGIN, BEGIN + 41 * DAY - HOUR, 26 * HOUR), BEGIN + 26 * HOUR);
	assert_int_equal(at(&clock, BEGIN, BEGIN + 41 * DAY, 27 * HOUR), BEGIN + 41 * DAY);
}

/* A day under one wrong clock does not vouch for another one that is further ahead. */
static void ahead_otherwise(void **state)
{
	struct retain_clock clock = {0};
	at(&clock, BEGIN, BEGIN, 0);
	at(&clock, BEGIN, BEGIN + 40 * DAY, 1 * HOUR);
	assert_int_equal(
		at(&clock, BEGIN, BEGIN + 40 * DAY + 20 * HOUR, 21 * HOUR), BEGIN + 21 * HOUR);
	assert_int_equal(at(&clock, BEGIN, BEGIN + 400 * DAY, 26 * HOUR), BEGIN + 26 * HOUR);
	assert_true(clock.ahead);
	assert_int_equal(at(&clock, BEGIN, BEGIN + 401 * DAY, 50 * HOUR), BEGIN + 401 * DAY);
}

/* Off for 30 days: after a day of running the clock is believed. */
static void off_for_long(void **state)
{
	struct retain_clock clock = {0};
	const int64_t now = BEGIN + 30 * DAY;
	assert_int_equal(at(&clock, BEGIN, now, 0), BEGIN);
	assert_int_equal(at(&clock, BEGIN, now + DAY - HOUR, DAY - HOUR), BEGIN + DAY - HOUR);
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

/* A new process begins with what the one before left in the store. */
static void restart(struct retain_clock *clock)
{
	char text[RETAIN_TEXT_MAX];
	retain_clock_print(clock, text, sizeof(text));
	*clock = (struct retain_clock){0};
	retain_clock_limit(clock, 7 * DAY);
	assert_true(retain_clock_parse(clock, text));
}

/* 30 days ahead for 25 s, and restarted there again and again: the samples that were stored under
 * the wrong clock are the newest ones now, and prove nothing. */
static void ahead_and_restarted(void **state)
{
	struct retain_clock clock = {0};
	const int64_t ahead = BEGIN + 30 * DAY;
	at(&clock, BEGIN, BEGIN, HOUR);
	for (int run = 1; run <= 20; run++) {
		const int64_t boot = HOUR + run * 60 * NS_PER_S;
		restart(&clock);
		for (int64_t t = 0; t < 25 * NS_PER_S; t += 5 * NS_PER_S) {
			const int64_t now = at(&clock, ahead, ahead + boot + t, boot + t);
			assert_true(now <= BEGIN + run * 25 * NS_PER_S);
			assert_true(clock.ahead);
		}
	}
	restart(&clock);
	assert_int_equal(at(&clock, ahead, BEGIN + 2 * HOUR, 3 * HOUR), BEGIN + 2 * HOUR);
	assert_false(clock.ahead);
}

/* Off for 30 days, then restarted every hour: the day of running adds up. */
static void off_and_restarted(void **state)
{
	struct retain_clock clock = {0};
	const int64_t now = BEGIN + 30 * DAY;
	at(&clock, BEGIN, BEGIN, 0);
	for (int64_t t = 0; t < DAY; t += HOUR) {
		restart(&clock);
		at(&clock, 0, now + t, DAY + t);
		assert_true(clock.ahead);
		at(&clock, 0, now + t + HOUR, DAY + t + HOUR);
	}
	assert_false(clock.ahead);
}

/* The clock shows 1970 when the machine starts, and the right time a minute later. */
static void begins_in_1970(void **state)
{
	struct retain_clock clock = {0};
	at(&clock, BEGIN, BEGIN, 0);
	restart(&clock);
	assert_int_equal(at(&clock, BEGIN, 10 * NS_PER_S, 10 * NS_PER_S), 10 * NS_PER_S);
	const int64_t now = BEGIN + HOUR;
	assert_int_equal(at(&clock, BEGIN, now, 60 * NS_PER_S), now);
	assert_false(clock.ahead);
}

/* A database that was begun in 2099: the next visit there, some hours later, is not believed. */
static void begun_in_2099(void **state)
{
	struct retain_clock clock = {0};
	const int64_t wrong = 47000 * DAY;
	at(&clock, 0, wrong, 0);
	assert_int_equal(at(&clock, 0, BEGIN, NS_PER_S), BEGIN);
	assert_int_equal(at(&clock, 0, BEGIN + 2 * HOUR, 2 * HOUR), BEGIN + 2 * HOUR);
	assert_int_equal(at(&clock, 0, wrong + 3 * HOUR, 3 * HOUR), BEGIN + 3 * HOUR);
	assert_true(clock.ahead);
}

/* Where samples are kept for an hour, two hours ahead are a leap. */
static void short_history(void **state)
{
	struct retain_clock clock = {0};
	retain_clock_limit(&clock, HOUR);
	at(&clock, BEGIN, BEGIN, 0);
	assert_int_equal(at(&clock, BEGIN, BEGIN + 2 * HOUR, NS_PER_S), BEGIN + NS_PER_S);
	assert_true(clock.ahead);
}

static void no_state(void **state)
{
	static const char *const texts[] = {"", "1", "2 1 0 0 0 0 0", "1 -5 0 0 0 0 0", "x y z"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct retain_clock clock = {0};
		assert_false(retain_clock_parse(&clock, texts[i]));
		assert_int_equal(clock.trusted_ns, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_days),
		cmocka_unit_test(empty_store),
		cmocka_unit_test(ahead_at_start),
		cmocka_unit_test(ahead_twice),
		cmocka_unit_test(ahead_otherwise),
		cmocka_unit_test(off_for_long),
		cmocka_unit_test(set_back),
		cmocka_unit_test(ahead_and_restarted),
		cmocka_unit_test(off_and_restarted),
		cmocka_unit_test(begins_in_1970),
		cmocka_unit_test(begun_in_2099),
		cmocka_unit_test(short_history),
		cmocka_unit_test(no_state),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
