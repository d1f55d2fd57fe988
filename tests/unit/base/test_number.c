/* number: what people read for a number, at the limits where its form changes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/number.h"

static void expect(const char *got, const char *expected)
{
	if (strcmp(got, expected) != 0)
		fail_msg("read '%s', expected '%s'", got, expected);
}

/* Three digits in all, and a whole number as one. */
static void test_three(void **state)
{
	static const struct {
		double value;
		const char *text;
	} rows[] = {
		{0, "0"},
		{3, "3"},
		{3.14159, "3.14"},
		{9.994, "9.99"},
		{9.996, "10.0"},
		{12.34, "12.3"},
		{99.94, "99.9"},
		{99.96, "100"},
		{123.4, "123"},
		{-9.994, "-9.99"},
		{-12.34, "-12.3"},
		{-123.4, "-123"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++)
		expect(number_three(rows[i].value).s, rows[i].text);
}

static void test_scaled(void **state)
{
	expect(number_scaled(400e9, "bit/s").s, "400 Gbit/s");
	expect(number_scaled(999.4, "bit/s").s, "999 bit/s");
	expect(number_scaled(999.6, "bit/s").s, "1.00 kbit/s");
	expect(number_scaled(-2500, "W").s, "-2.50 kW");
	expect(number_scaled(1500, "").s, "1.50k");
	expect(number_scaled(5e21, "B").s, "5000 EB");
	expect(number_size(33500).s, "33.5 KB");
	expect(number_size(16e6).s, "16 MB");
}

static void test_count(void **state)
{
	expect(number_count(0).s, "0");
	expect(number_count(999).s, "999");
	expect(number_count(1000).s, "1,000");
	expect(number_count(1234567).s, "1,234,567");
	expect(number_count(UINT64_MAX).s, "18,446,744,073,709,551,615");
	expect(number_count_of(1499.6).s, "1,500");
	expect(number_count_of(0.4).s, "0");
}

static void test_usd(void **state)
{
	expect(number_usd(0).s, "$0.00");
	expect(number_usd(1234.567).s, "$1,234.57");
	expect(number_usd(-0.05).s, "-$0.05");
	expect(number_usd(-0.001).s, "$0.00"); /* no minus before nothing */
}

/* As switches are configured with it: an exponent, else a factor. */
static void test_alpha(void **state)
{
	expect(number_alpha(0.125).s, "1/8");
	expect(number_alpha(1).s, "1");
	expect(number_alpha(4).s, "4");
	expect(number_alpha(0.3).s, "0.3");
	expect(number_alpha(0).s, "0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three),
		cmocka_unit_test(test_scaled),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_usd),
		cmocka_unit_test(test_alpha),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
