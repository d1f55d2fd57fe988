/* clock: RFC 3339 both ways, relative times, durations for people. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define NOW_S 1700000000LL /* 2023-11-14T22:13:20Z */

static void test_parse(void **state)
{
	static const struct {
		const char *what, *text;
		int64_t want_ns;
	} rows[] = {
		{"epoch", "1970-01-01T00:00:00Z", 0},
		{"zulu", "2023-11-14T22:13:20Z", NOW_S * NS_PER_S},
		{"no offset is UTC", "2023-11-14T22:13:20", NOW_S * NS_PER_S},
		{"space", "2023-11-14 22:13:20", NOW_S * NS_PER_S},
		{"no seconds", "2023-11-14 22:13", (NOW_S - 20) * NS_PER_S},
		{"date only", "2023-11-14", (NOW_S - 80000) * NS_PER_S},
		{"offset east", "2023-11-15T00:13:20+02:00", NOW_S * NS_PER_S},
		{"offset west, half hour", "2023-11-14 16:43:20-05:30", NOW_S * NS_PER_S},
		{"offset without colon", "2023-11-15T00:13:20+0200", NOW_S * NS_PER_S},
		{"offset after a space", "2023-11-15 00:13:20 +02:00", NOW_S * NS_PER_S},
		{"fraction", "2023-11-14T22:13:20.5Z", NOW_S * NS_PER_S + 500 * NS_PER_MS},
		{"nanoseconds", "2023-11-14T22:13:20.123456789Z", NOW_S * NS_PER_S + 123456789},
		{"more digits than ns", "2023-11-14T22:13:20.1234567891234",
			NOW_S * NS_PER_S + 123456789},
		{"lower case", "2023-11-14t22:13:20z", NOW_S * NS_PER_S},
		{"leap day", "2024-02-29T00:00:00Z", 1709164800LL * NS_PER_S},
		{"leap second", "2016-12-31T23:59:60Z", 1483228800LL * NS_PER_S},
		{"now", "now", NOW_S * NS_PER_S},
		{"15 minutes", "15m", (NOW_S - 900) * NS_PER_S},
		{"24 hours", "24h", (NOW_S - 86400) * NS_PER_S},
		{"7 days", "7d", (NOW_S - 7 * 86400) * NS_PER_S},
		{"half a second", "500ms", NOW_S * NS_PER_S - 500 * NS_PER_MS},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		wall_t t = {-1};
		int r = wall_parse(rows[i].text, (wall_t){NOW_S * NS_PER_S}, &t);
		if (r != 0 || t.ns != rows[i].want_ns)
			fail_msg("%s: '%s' gave %d, %lld", rows[i].what, rows[i].text, r,
				(long long)t.ns);
	}
}

static void test_parse_refuses(void **state)
{
	static const char *const rows[] = {
		"",
		"15",
		"m",
		"15 minutes",
		"-15m",
		"yesterday",
		"2023-13-01",
		"2023-02-29",
		"2100-02-29", /* a century is no leap year, unless 400 divides it */
		"2024-02-29T00:00:00+01:60",
		"2024-02-29T00:00:00+24:00",
		"2023-00-10",
		"2023-04-31",
		"2023-1-1",
		"2023-11-14T",
		"2023-11-14T22",
		"2023-11-14T24:00:00Z",
		"2023-11-14T22:60",
		"2023-11-14T22:13:61",
		"2023-11-14T22:13:20.",
		"2023-11-14T22:13:20.Z",
		"2023-11-14T22:13:20+2",
		"2023-11-14T22:13:20+25:00",
		"2023-11-14T22:13:20Zx",
		"2023-11-14x",
		"1677-12-31",
		"9999-01-01",
		"1700000000",
		"999999999999999999999d",
		"300y",
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		wall_t t = {-1};
		if (wall_parse(rows[i], (wall_t){NOW_S * NS_PER_S}, &t) != -EINVAL || t.ns != -1)
			fail_msg("'%s' was accepted", rows[i]);
	}
	wall_t t;
	assert_int_equal(wall_parse("1h", (wall_t){600 * NS_PER_S}, &t), 0);
	assert_true(t.ns == -3000 * NS_PER_S); /* a recorded case that began at 0 */
	assert_int_equal(wall_parse("1h", (wall_t){INT64_MIN}, &t), -EINVAL);
	assert_int_equal(wall_parse(NULL, (wall_t){0}, &t), -EINVAL);
}

static void test_format(void **state)
{
	char buf[WALL_TEXT_MAX];
	assert_string_equal(wall_format(buf, (wall_t){0}, 0), "1970-01-01T00:00:00Z");
	assert_string_equal(wall_format(buf, (wall_t){NOW_S * NS_PER_S + 1234567}, 3),
		"2023-11-14T22:13:20.001Z");
	assert_string_equal(wall_format(buf, (wall_t){NOW_S * NS_PER_S + 7}, 9),
		"2023-11-14T22:13:20.000000007Z");
	assert_string_equal(wall_format(buf, (wall_t){-1}, 9), "1969-12-31T23:59:59.999999999Z");
	assert_string_equal(
		wall_format(buf, (wall_t){INT64_MAX}, 9), "2262-04-11T23:47:16.854775807Z");
	assert_string_equal(wall_format(buf, (wall_t){INT64_MIN}, 0), "1677-09-21T00:12:43Z");
}

/* Windows of recorded cases begin before 1970: what is written is read again. */
static void test_before_1970(void **state)
{
	char buf[WALL_TEXT_MAX];
	wall_t back = {0};
	const int64_t times_ns[] = {-1, -NS_PER_S, -86400 * NS_PER_S, -9000LL * 86400 * NS_PER_S};
	for (size_t i = 0; i < rw_countof(times_ns); i++) {
		wall_format(buf, (wall_t){times_ns[i]}, 9);
		assert_int_equal(wall_parse(buf, (wall_t){0}, &back), 0);
		assert_true(back.ns == times_ns[i]);
	}
}

/* Every day of the range, against the C library. */
static void test_calendar_against_libc(void **state)
{
	for (int64_t day = 0; day < 292 * 365; day++) {
		time_t s = (time_t)(day * 86400 + day % 86400);
		struct tm tm;
		char want[WALL_TEXT_MAX], got[WALL_TEXT_MAX];
		gmtime_r(&s, &tm);
		strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%SZ", &tm);
		assert_string_equal(wall_format(got, (wall_t){s * NS_PER_S}, 0), want);
		wall_t back = {-1};
		if (tm.tm_year + 1900 < 2262) {
			assert_int_equal(wall_parse(got, (wall_t){0}, &back), 0);
			assert_true(back.ns == s * NS_PER_S);
		}
	}
}

static void test_duration(void **state)
{
	static const struct {
		int64_t ns;
		const char *want;
	} rows[] = {
		{0, "0s"},
		{999, "999ns"},
		{28 * NS_PER_US, "28us"},
		{28 * NS_PER_MS, "28ms"},
		{NS_PER_S, "1s"},
		{1500 * NS_PER_MS, "1.5s"},
		{1999 * NS_PER_MS, "1.9s"},
		{42 * NS_PER_S + 999, "42s"},
		{59999 * NS_PER_MS, "59s"},
		{60 * NS_PER_S, "1m00s"},
		{3720 * NS_PER_S, "1h02m"},
		{90000 * NS_PER_S, "1d01h"},
		{-1500 * NS_PER_MS, "-1.5s"},
		{INT64_MIN, "-106751d23h"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		char buf[32];
		assert_string_equal(duration_format(buf, sizeof(buf), rows[i].ns), rows[i].want);
	}
}

static void test_clocks_run(void **state)
{
	mono_t a = mono_now(), b = mono_now();
	assert_true(b.ns >= a.ns);
	assert_true(wall_now().ns > 1600000000LL * NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_parse_refuses),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_before_1970),
		cmocka_unit_test(test_calendar_against_libc),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_clocks_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
