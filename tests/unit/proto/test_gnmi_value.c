/* gnmi_value: numbers out of every kind of value, exactly or not at all; timestamps in every unit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "proto/gnmi.h"

#define TEXT(t)                                                                                    \
	{                                                                                          \
		.kind = GNMI_STRING, .p = (t), .n = sizeof(t) - 1                                  \
	}

static const struct {
	const char *what;
	struct gnmi_value v;
	int r;
	uint64_t u;
	int r_double; /* 0 unless said */
	double d;
} rows[] = {
	{"uint", {.kind = GNMI_UINT, .u = UINT64_MAX}, 0, UINT64_MAX, 0, 0x1p64},
	{"int", {.kind = GNMI_INT, .i = 7}, 0, 7, 0, 7},
	{"negative int", {.kind = GNMI_INT, .i = -7}, -ERANGE, 0, 0, -7},
	{"true", {.kind = GNMI_BOOL, .b = true}, 0, 1, 0, 1},
	{"double", {.kind = GNMI_DOUBLE, .d = 4096}, 0, 4096, 0, 4096},
	{"double with a fraction", {.kind = GNMI_DOUBLE, .d = 1.5}, -ERANGE, 0, 0, 1.5},
	{"double too large", {.kind = GNMI_DOUBLE, .d = 0x1p64}, -ERANGE, 0, 0, 0x1p64},
	{"not a number", {.kind = GNMI_DOUBLE, .d = NAN}, -ERANGE, 0, -ERANGE, 0},
	{"infinite", {.kind = GNMI_DOUBLE, .d = INFINITY}, -ERANGE, 0, -ERANGE, 0},
	{"decimal", {.kind = GNMI_DECIMAL, .i = 12300, .scale = 2}, 0, 123, 0, 123},
	{"decimal with a fraction", {.kind = GNMI_DECIMAL, .i = -1234, .scale = 2}, -ERANGE, 0, 0,
		-12.34},
	{"decimal of a hostile scale", {.kind = GNMI_DECIMAL, .i = 0, .scale = UINT32_MAX}, 0, 0, 0,
		0},
	{"the largest counter as text", TEXT("18446744073709551615"), 0, UINT64_MAX, 0, 0x1p64},
	{"2^53 + 1 as text", TEXT("9007199254740993"), 0, 9007199254740993, 0, 9007199254740992},
	{"one too large as text", TEXT("18446744073709551616"), -ERANGE, 0, 0, 0x1p64},
	{"negative text", TEXT("-1"), -ERANGE, 0, 0, -1},
	{"minus zero", TEXT("-0"), 0, 0, 0, 0},
	{"whole decimal text", TEXT("12.000"), 0, 12, 0, 12},
	{"fraction text", TEXT("12.5"), -ERANGE, 0, 0, 12.5},
	{"exponent text", TEXT("1e3"), -EINVAL, 0, 0, 1000},
	{"no digits after the point", TEXT("12."), -EINVAL, 0, 0, 12},
	{"nothing", TEXT(""), -EINVAL, 0, -EINVAL, 0},
	{"only a sign", TEXT("-"), -EINVAL, 0, -EINVAL, 0},
	{"words", TEXT("N/A"), -EINVAL, 0, -EINVAL, 0},
	{"hexadecimal", TEXT("0x10"), -EINVAL, 0, -EINVAL, 0},
	{"blank in front", TEXT(" 1"), -EINVAL, 0, -EINVAL, 0},
	{"unit behind", TEXT("40m"), -EINVAL, 0, -EINVAL, 0},
	{"NUL inside",
		TEXT("12\0"
		     "3"),
		-EINVAL, 0, -EINVAL, 0},
	{"infinity in words", TEXT("inf"), -EINVAL, 0, -EINVAL, 0},
	{"beyond a double", TEXT("1e999"), -EINVAL, 0, -ERANGE, 0},
	{"bytes", {.kind = GNMI_BYTES, .p = "12", .n = 2}, -EINVAL, 0, -EINVAL, 0},
	{"a float of 32 bits", {.kind = GNMI_BYTES, .p = "\x33\x80\0\0", .n = 4}, -EINVAL, 0, 0,
		0x1p-24},
	{"a float that is no number", {.kind = GNMI_BYTES, .p = "\x7f\xc0\0\0", .n = 4}, -EINVAL, 0,
		-ERANGE, 0},
	{"null", {.kind = GNMI_NULL}, -EINVAL, 0, -EINVAL, 0},
};

static void test_numbers(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		uint64_t u = 42;
		double d = 42;
		int r = gnmi_value_u64(&rows[i].v, &u),
		    r_double = gnmi_value_double(&rows[i].v, &d);
		if (r != rows[i].r || u != (r ? 42 : rows[i].u))
			fail_msg("%s: %d, %llu", rows[i].what, r, (unsigned long long)u);
		if (r_double != rows[i].r_double || (r_double == 0 && d != rows[i].d) ||
			(r_double && d != 42))
			fail_msg("%s as a double: %d, %.17g", rows[i].what, r_double, d);
	}
}

static const struct {
	const char *what;
	int64_t raw, ns;
	enum gnmi_clock clock;
} clocks[] = {
	{"nanoseconds", 1763700000123456789, 1763700000123456789, GNMI_CLOCK_OK},
	{"microseconds", 1763700000123456, 1763700000123456000, GNMI_CLOCK_SCALED},
	{"milliseconds", 1763700000123, 1763700000123000000, GNMI_CLOCK_SCALED},
	{"seconds", 1763700000, 1763700000000000000, GNMI_CLOCK_SCALED},
	{"zero", 0, 0, GNMI_CLOCK_MISSING},
	{"negative", -1763700000123456789, 0, GNMI_CLOCK_MISSING},
	{"the least", INT64_MIN, 0, GNMI_CLOCK_MISSING},
	{"five minutes after 1970, in ns", 300000000000, 300000000000, GNMI_CLOCK_EARLY},
	{"the year 2262", INT64_MAX, INT64_MAX, GNMI_CLOCK_OK},
};

static void test_clocks(void **state)
{
	for (size_t i = 0; i < rw_countof(clocks); i++) {
		int64_t ns;
		enum gnmi_clock clock = gnmi_clock(clocks[i].raw, &ns);
		if (clock != clocks[i].clock || ns != clocks[i].ns)
			fail_msg("%s: %d, %lld", clocks[i].what, (int)clock, (long long)ns);
	}
}

static void test_text(void **state)
{
	char small[4], buf[64];
	assert_string_equal(
		gnmi_value_text(&(struct gnmi_value){.kind = GNMI_BYTES, .p = "\xff\x00", .n = 2},
			buf, sizeof(buf)),
		"ff00");
	assert_string_equal(
		gnmi_value_text(&(struct gnmi_value){.kind = GNMI_BYTES, .p = "\xff\x01", .n = 2},
			small, sizeof(small)),
		"ff");
	assert_string_equal(
		gnmi_value_text(&(struct gnmi_value)TEXT("a\033[31mb"), buf, sizeof(buf)),
		"a?[31mb");
	assert_string_equal(
		gnmi_value_text(&(struct gnmi_value)TEXT("long"), small, sizeof(small)), "lon");
	assert_string_equal(
		gnmi_value_text(&(struct gnmi_value){.kind = GNMI_DECIMAL, .i = -1234, .scale = 2},
			buf, sizeof(buf)),
		"-1234/10^2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
