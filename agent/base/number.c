/* number - separators, prefixes and digits. */
#include "agent/base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/cleanup.h"

struct number_text number_count(uint64_t n)
{
	struct number_text text;
	char digits[sizeof(text.s)];
	const int length = snprintf(digits, sizeof(digits), "%" PRIu64, n);
	size_t k = 0;
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			text.s[k++] = ',';
		text.s[k++] = digits[i];
	}
	text.s[k] = '\0';
	return text;
}

struct number_text number_count_of(double n)
{
	if (!(n > 0))
		return number_count(0);
	if (n >= 18e18)
		return number_count(UINT64_MAX);
	return number_count((uint64_t)rint(n));
}

struct number_text number_usd(double usd)
{
	struct number_text text;
	const double cents = rint(fabs(usd) * 100);
	if (!(cents < 9e17)) {
		snprintf(text.s, sizeof(text.s), "-");
		return text;
	}
	const uint64_t whole = (uint64_t)cents;
	const char *sign = usd < 0 && whole > 0 ? "-" : "";
	snprintf(text.s, sizeof(text.s), "%s$%.36s.%02u", sign, number_count(whole / 100).s,
		(unsigned)(whole % 100));
	return text;
}

/* Digits after the point, for three in all; a whole number is written as one. */
static int number_decimals(double value)
{
	if (value == rint(value))
		return 0;
	if (fabs(value) < 9.995)
		return 2;
	return fabs(value) < 99.95;
}

struct number_text number_three(double value)
{
	struct number_text text;
	snprintf(text.s, sizeof(text.s), "%.*f", number_decimals(value), value);
	return text;
}

struct number_text number_scaled(double value, const char *unit)
{
	static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
	struct number_text text;
	size_t i = 0;
	for (; fabs(value) >= 999.5 && i + 1 < rw_countof(prefixes); i++)
		value /= 1000;
	const char *prefix = prefixes[i];
	if (*prefix == 'k' && *unit == 'B')
		prefix = "K"; /* as vendors and options write it */
	snprintf(text.s, sizeof(text.s), "%.*f%s%s%s", number_decimals(value), value,
		*unit ? " " : "", prefix, unit);
	return text;
}

struct number_text number_size(double bytes)
{
	return number_scaled(bytes, "B");
}

struct number_text number_alpha(double alpha)
{
	struct number_text text;
	const double n = log2(alpha);
	if (alpha > 0 && alpha < 1 && fabs(n - rint(n)) < 1e-6)
		snprintf(text.s, sizeof(text.s), "1/%.0f", exp2(-n));
	else
		snprintf(text.s, sizeof(text.s), "%.4g", alpha);
	return text;
}
