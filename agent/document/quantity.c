/* quantity - a number with as many digits as people can use, and its unit. */
#include "agent/document/quantity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"

void str_add_exact(struct str *out, double value)
{
	char text[40];
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	str_add(out, text);
}

/* Digits after the point, for three in all; a whole number is written as one. */
static int quantity_decimals(double value)
{
	if (value == rint(value))
		return 0;
	if (fabs(value) < 9.995)
		return 2;
	return fabs(value) < 99.95;
}

void str_add_scaled(struct str *out, double value, const char *suffix)
{
	static const char prefixes[] = {'\0', 'k', 'M', 'G', 'T', 'P', 'E'};
	size_t i = 0;
	for (; fabs(value) >= 999.5 && i + 1 < sizeof(prefixes); i++)
		value /= 1000;
	str_addf(out, "%.*f", quantity_decimals(value), value);
	if (prefixes[i])
		str_addn(out, &prefixes[i], 1);
	str_add(out, suffix);
}

/* Only below one does time have prefixes that people use. */
static void quantity_add_time(struct str *out, double seconds)
{
	static const char *const words[] = {" s", " ms", " us", " ns"};
	size_t i = 0;
	for (; seconds != 0 && fabs(seconds) < 1 && i + 1 < rw_countof(words); i++)
		seconds *= 1000;
	str_addf(out, "%.*f%s", quantity_decimals(seconds), seconds, words[i]);
}

void str_add_quantity(struct str *out, double value, const char *unit)
{
	static const struct {
		const char *unit, *shown;
	} scaled[] = {{"bytes", "B"}, {"bytes/s", "B/s"}, {"bit/s", "bit/s"}};
	unit = str_or(unit, "");
	const size_t n = strlen(unit);
	if (str_eq(unit, "ratio")) {
		str_addf(out, "%.3g %%", value * 100);
		return;
	}
	if (str_eq(unit, "ns")) {
		quantity_add_time(out, value / 1e9);
		return;
	}
	if (str_eq(unit, "s")) {
		quantity_add_time(out, value);
		return;
	}
	for (size_t i = 0; i < rw_countof(scaled); i++)
		if (str_eq(scaled[i].unit, unit)) {
			str_add_scaled(out, value, scaled[i].shown);
			return;
		}
	const bool is_rate = n > 2 && str_eq(unit + n - 2, "/s");
	if (is_rate && fabs(value) >= 999.5)
		str_add_scaled(out, value, " ");
	else if (value == rint(value) && fabs(value) < 1e15)
		str_addf(out, "%.0f ", value);
	else
		str_addf(out, "%.4g ", value);
	if (*unit && !str_eq(unit, "-"))
		str_add(out, unit);
	else
		out->s[--out->n] = '\0';
}
