/* unit: every family, and what must be refused rather than guessed. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"

enum family { DURATION, SIZE, BITRATE, LENGTH, INT };

static int parse(enum family f, const char *s, int64_t *ret, struct err *e)
{
	uint64_t u = 0;
	int r;
	switch (f) {
	case DURATION: return unit_duration(s, ret, e);
	case INT: return unit_int(s, ret, e);
	case SIZE: r = unit_size(s, &u, e); break;
	case BITRATE: r = unit_bitrate(s, &u, e); break;
	default: r = unit_length(s, &u, e); break;
	}
	if (r == 0)
		*ret = (int64_t)u;
	return r;
}

static void test_accepts(void **state)
{
	static const struct {
		enum family f;
		const char *s;
		int64_t want;
	} rows[] = {
		{DURATION, "1ns", 1},
		{DURATION, "200us", 200000},
		{DURATION, "100ms", 100000000},
		{DURATION, "10s", 10000000000},
		{DURATION, "5m", 300000000000},
		{DURATION, "1.5h", 5400000000000},
		{DURATION, "7d", 604800000000000},
		{DURATION, "2w", 1209600000000000},
		{DURATION, "2y", 63072000000000000},
		{DURATION, "0.1s", 100000000},
		{DURATION, "0s", 0},
		{DURATION, "-5m", -300000000000},
		{DURATION, "1.10s", 1100000000},
		{DURATION, "10 s", 10000000000},
		{DURATION, "9223372036854775807ns", INT64_MAX},
		{SIZE, "88064B", 88064},
		{SIZE, "400KB", 400000},
		{SIZE, "64MB", 64000000},
		{SIZE, "40GB", 40000000000},
		{SIZE, "1TB", 1000000000000},
		{SIZE, "1KiB", 1024},
		{SIZE, "1.5MiB", 1572864},
		{SIZE, "2GiB", 2147483648},
		{SIZE, "1TiB", 1099511627776},
		{SIZE, "0B", 0},
		{BITRATE, "400G", 400000000000},
		{BITRATE, "100M", 100000000},
		{BITRATE, "1.6T", 1600000000000},
		{BITRATE, "25Gbps", 25000000000},
		{BITRATE, "100Mbps", 100000000},
		{BITRATE, "64kbps", 64000},
		{BITRATE, "9600bps", 9600},
		{BITRATE, "2.5G", 2500000000},
		{BITRATE, "1Tbps", 1000000000000},
		{LENGTH, "30m", 30000},
		{LENGTH, "2km", 2000000},
		{LENGTH, "50cm", 500},
		{LENGTH, "0.5m", 500},
		{LENGTH, "3mm", 3},
		{INT, "0", 0},
		{INT, "10", 10},
		{INT, "-3", -3},
		{INT, "9223372036854775807", INT64_MAX},
		{INT, "-9223372036854775808", INT64_MIN},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		int64_t got = -77;
		struct err e = {0};
		int r = parse(rows[i].f, rows[i].s, &got, &e);
		if (r != 0 || got != rows[i].want)
			fail_msg("'%s' gave %d, %" PRId64 " (%s)", rows[i].s, r, got, e.text);
	}
}

static void test_refuses(void **state)
{
	static const struct {
		enum family f;
		const char *what, *s;
		int want;
	} rows[] = {
		{DURATION, "no unit", "10", -EINVAL},
		{DURATION, "zero without unit", "0", -EINVAL},
		{DURATION, "empty", "", -EINVAL},
		{DURATION, "unit only", "s", -EINVAL},
		{DURATION, "unknown unit", "10sec", -EINVAL},
		{DURATION, "a length", "10km", -EINVAL},
		{DURATION, "exponent", "1e6s", -EINVAL},
		{DURATION, "octal", "010s", -EINVAL},
		{DURATION, "plus", "+1s", -EINVAL},
		{DURATION, "hex", "0x10s", -EINVAL},
		{DURATION, "two points", "1.2.3s", -EINVAL},
		{DURATION, "bare point", ".5s", -EINVAL},
		{DURATION, "point at the end", "5.s", -EINVAL},
		{DURATION, "leading space", " 5s", -EINVAL},
		{DURATION, "trailing space", "5s ", -EINVAL},
		{DURATION, "below a nanosecond", "1.5ns", -EINVAL},
		{DURATION, "too precise", "1.0000001us", -EINVAL},
		{DURATION, "too large", "300y", -ERANGE},
		{DURATION, "far too large", "99999999999999999999999s", -ERANGE},
		{DURATION, "two units", "1h30m", -EINVAL},
		{DURATION, "not a number", "nans", -EINVAL},
		{DURATION, "infinite", "infs", -EINVAL},
		{SIZE, "k is not a size", "10k", -EINVAL},
		{SIZE, "no unit", "88064", -EINVAL},
		{SIZE, "exponent", "1e6", -EINVAL},
		{SIZE, "bits", "10Kb", -EINVAL},
		{SIZE, "lower case", "10kb", -EINVAL},
		{SIZE, "negative", "-1B", -EINVAL},
		{SIZE, "part of a byte", "1.5B", -EINVAL},
		{SIZE, "too large", "99999999TiB", -ERANGE},
		{BITRATE, "no unit", "400", -EINVAL},
		{BITRATE, "bytes", "400GB", -EINVAL},
		{BITRATE, "lower case", "400g", -EINVAL},
		{LENGTH, "no unit", "30", -EINVAL},
		{LENGTH, "feet", "30ft", -EINVAL},
		{LENGTH, "part of a mm", "0.0001m", -EINVAL},
		{INT, "suffix", "10k", -EINVAL},
		{INT, "exponent", "1e6", -EINVAL},
		{INT, "octal", "010", -EINVAL},
		{INT, "hex", "0x10", -EINVAL},
		{INT, "fraction", "1.0", -EINVAL},
		{INT, "empty", "", -EINVAL},
		{INT, "sign only", "-", -EINVAL},
		{INT, "plus", "+1", -EINVAL},
		{INT, "underscore", "1_000", -EINVAL},
		{INT, "space", "1 ", -EINVAL},
		{INT, "too large", "9223372036854775808", -ERANGE},
		{INT, "too small", "-9223372036854775809", -ERANGE},
		{INT, "far too large", "99999999999999999999999", -ERANGE},
		{INT, "minus zero octal", "-010", -EINVAL},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		int64_t got = -77;
		struct err e = {0};
		int r = parse(rows[i].f, rows[i].s, &got, &e);
		if (r != rows[i].want || got != -77 || !e.text[0])
			fail_msg("%s: '%s' gave %d, %" PRId64, rows[i].what, rows[i].s, r, got);
	}
	struct err e = {0};
	uint64_t v;
	assert_int_equal(unit_size("10k", &v, &e), -EINVAL);
	assert_string_equal(e.text, "'10k'; expected a size such as 88064B or 400KB");
	assert_int_equal(unit_size(NULL, &v, &e), -EINVAL);
	assert_int_equal(unit_size("10k", &v, NULL), -EINVAL);
}

static void test_ratio_and_double(void **state)
{
	static const struct {
		const char *s;
		double want;
	} rows[] = {
		{"20%", 0.2},
		{"0.2", 0.2},
		{"1/8", 0.125},
		{"100%", 1},
		{"0%", 0},
		{"0.5%", 0.005},
		{"1", 1},
		{"2.5/10", 0.25},
		{"150%", 1.5},
	};
	static const char *const bad[] = {"", "%", "20 %", "1/0", "1/", "/8", "20%%", "-5%", "1e-3",
		"020%", "nan", "1/8/2", "0.2x", ".2"};
	double v;
	for (size_t i = 0; i < rw_countof(rows); i++) {
		if (unit_ratio(rows[i].s, &v, NULL) != 0 || v != rows[i].want)
			fail_msg("'%s' gave %.17g", rows[i].s, v);
	}
	for (size_t i = 0; i < rw_countof(bad); i++)
		if (unit_ratio(bad[i], &v, NULL) >= 0)
			fail_msg("'%s' was accepted", bad[i]);
	assert_int_equal(unit_double("-2.5", &v, NULL), 0);
	assert_true(v == -2.5);
	assert_int_equal(unit_double("30", &v, NULL), 0);
	assert_true(v == 30);
	static const char *const bad_double[] = {
		"", "1e3", "inf", "nan", "0x1p3", "1,5", "1.", "--1", "007"};
	for (size_t i = 0; i < rw_countof(bad_double); i++)
		if (unit_double(bad_double[i], &v, NULL) != -EINVAL)
			fail_msg("'%s' was accepted", bad_double[i]);
	char longer[300];
	memset(longer, '1', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(unit_double(longer, &v, NULL), -EINVAL);
}

static void test_text(void **state)
{
	char buf[64];
	assert_string_equal(unit_duration_text(buf, sizeof(buf), 10000000000), "10s");
	assert_string_equal(unit_duration_text(buf, sizeof(buf), 1800000000000), "30m");
	assert_string_equal(unit_duration_text(buf, sizeof(buf), 0), "0s");
	assert_string_equal(unit_duration_text(buf, sizeof(buf), -1500000), "-1500us");
	assert_string_equal(unit_size_text(buf, sizeof(buf), 88064), "88064B");
	assert_string_equal(unit_size_text(buf, sizeof(buf), 400000), "400KB");
	assert_string_equal(unit_size_text(buf, sizeof(buf), 40000000000), "40GB");
	assert_string_equal(unit_size_text(buf, sizeof(buf), 0), "0B");
	assert_string_equal(unit_bitrate_text(buf, sizeof(buf), 400000000000), "400G");
	assert_string_equal(unit_bitrate_text(buf, sizeof(buf), 1600000000000), "1600G");
	assert_string_equal(unit_bitrate_text(buf, sizeof(buf), 12345), "12345bps");
	assert_string_equal(unit_length_text(buf, sizeof(buf), 30000), "30m");
	assert_string_equal(unit_length_text(buf, sizeof(buf), 500), "50cm");
}

/* What is printed is read back as the same number, for round and for odd values. */
static void test_text_round_trip(void **state)
{
	uint64_t x = 7;
	for (int i = 0; i < 20000; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		uint64_t v = x >> (1 + i % 63), back = 0;
		static const uint64_t scale[] = {1, 1000, 1024, 60000000000, 1000000000, 1048576};
		v /= scale[i % 6];
		v *= scale[i % 6];
		int64_t back_ns = 0;
		char buf[64];
		if (unit_duration(unit_duration_text(buf, sizeof(buf), (int64_t)v), &back_ns,
			    NULL) != 0 ||
			back_ns != (int64_t)v)
			fail_msg("duration %s", buf);
		if (unit_size(unit_size_text(buf, sizeof(buf), v), &back, NULL) != 0 || back != v)
			fail_msg("size %s", buf);
		if (unit_bitrate(unit_bitrate_text(buf, sizeof(buf), v), &back, NULL) != 0 ||
			back != v)
			fail_msg("bit rate %s", buf);
		if (unit_length(unit_length_text(buf, sizeof(buf), v), &back, NULL) != 0 ||
			back != v)
			fail_msg("length %s", buf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepts),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_ratio_and_double),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_text_round_trip),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
