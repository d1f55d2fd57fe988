/* number - separators, prefixes and digits. */
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"

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

/* unit - numbers with a unit (see str.h). Values are exact: the digits are read as an integer and a
 * power of ten, never as a double, so that "0.1s" is 100000000 ns and "1.0000001ms" is refused
 * rather than rounded. */

struct unit {
	const char *name;
	uint64_t factor; /* in the family's base unit */
};

struct family {
	const char *expected; /* "a size such as 88064B or 400KB" */
	const struct unit *units; /* smallest first, ends with a NULL name */
	bool sign;
};

static const struct unit duration_units[] = {
	{"ns", 1},
	{"us", 1000},
	{"ms", 1000000},
	{"s", 1000000000},
	{"m", 60000000000},
	{"h", 3600000000000},
	{"d", 86400000000000},
	{"w", 604800000000000},
	{"y", 31536000000000000},
	{NULL, 0},
};
static const struct unit size_units[] = {
	{"B", 1},
	{"KB", 1000},
	{"KiB", 1024},
	{"MB", 1000000},
	{"MiB", 1048576},
	{"GB", 1000000000},
	{"GiB", 1073741824},
	{"TB", 1000000000000},
	{"TiB", 1099511627776},
	{NULL, 0},
};
static const struct unit bitrate_units[] = {
	{"bps", 1},
	{"kbps", 1000},
	{"Mbps", 1000000},
	{"M", 1000000},
	{"Gbps", 1000000000},
	{"G", 1000000000},
	{"Tbps", 1000000000000},
	{"T", 1000000000000},
	{NULL, 0},
};
static const struct unit length_units[] = {
	{"mm", 1}, {"cm", 10}, {"m", 1000}, {"km", 1000000}, {NULL, 0}};

static const struct family duration_family = {
	"a duration such as 10s or 200us", duration_units, true};
static const struct family size_family = {"a size such as 88064B or 400KB", size_units, false};
static const struct family bitrate_family = {
	"a bit rate such as 400G or 100Mbps", bitrate_units, false};
static const struct family length_family = {"a length such as 40m", length_units, false};

static int unit_refuse(struct err *e, int code, const char *text, const char *expected)
{
	return err_set(e, code, "'%.64s'; expected %s", text, expected);
}

/*
 * A plain decimal: digits with at most one point and a digit on each side of it, no leading zero
 * ("010" is octal to some), no exponent. *ret_digits * 10^-*ret_scale. Returns the rest, or NULL.
 * *ret_overflow when it does not fit.
 */
static const char *take_decimal(
	const char *text, uint64_t *ret_digits, unsigned *ret_scale, bool *ret_overflow)
{
	uint64_t v = 0;
	unsigned scale = 0;
	bool overflow = false, point = false;

	if (!isdigit((unsigned char)text[0]) || (text[0] == '0' && isdigit((unsigned char)text[1])))
		return NULL;
	for (;; text++) {
		if (*text == '.' && !point && isdigit((unsigned char)text[1])) {
			point = true;
			continue;
		}
		if (!isdigit((unsigned char)*text))
			break;
		overflow |= __builtin_mul_overflow(v, (uint64_t)10, &v) ||
			__builtin_add_overflow(v, (uint64_t)(*text - '0'), &v);
		scale += point;
	}
	while (scale > 0 && !overflow && v % 10 == 0) {
		v /= 10;
		scale--;
	}
	*ret_digits = v;
	*ret_scale = scale;
	*ret_overflow = overflow;
	if (*text == '.')
		return NULL;
	return text;
}

/* Magnitude and sign of @text in the base unit of @family. */
static int unit_parse(const char *text, const struct family *family, bool *ret_negative,
	uint64_t *ret, struct err *e)
{
	uint64_t digits;
	unsigned scale;
	bool overflow;
	const char *p = text;

	if (!text)
		return unit_refuse(e, -EINVAL, "", family->expected);
	*ret_negative = family->sign && *p == '-';
	p += *ret_negative;
	const char *name = take_decimal(p, &digits, &scale, &overflow);
	if (!name)
		return unit_refuse(e, -EINVAL, text, family->expected);
	if (*name == ' ')
		name++;
	const struct unit *u = family->units;
	while (u->name && strcmp(u->name, name) != 0)
		u++;
	/* Also for a bare "0", which would teach people to leave the unit out. */
	if (!u->name)
		return unit_refuse(e, -EINVAL, text, family->expected);
	if (overflow)
		return err_set(e, -ERANGE, "'%.64s', which is too large or too precise", text);

	unsigned __int128 v = (unsigned __int128)digits * u->factor;
	for (; scale > 0; scale--) {
		if (v % 10 != 0)
			return err_set(e, -EINVAL, "'%.64s', which is not a whole number of %s",
				text, family->units[0].name);
		v /= 10;
	}
	if (v > UINT64_MAX)
		return err_set(e, -ERANGE, "'%.64s', which is too large", text);
	*ret = (uint64_t)v;
	return 0;
}

static int parse_unsigned(
	const char *text, const struct family *family, uint64_t *ret, struct err *e)
{
	bool negative;
	return unit_parse(text, family, &negative, ret, e);
}

int unit_duration(const char *text, int64_t *ret_ns, struct err *e)
{
	bool negative;
	uint64_t v;
	int r = unit_parse(text, &duration_family, &negative, &v, e);
	if (r < 0)
		return r;
	if (v > INT64_MAX)
		return err_set(e, -ERANGE, "'%.64s', which is too large", text);
	if (negative)
		*ret_ns = -(int64_t)v;
	else
		*ret_ns = (int64_t)v;
	return 0;
}

int unit_size(const char *text, uint64_t *ret_bytes, struct err *e)
{
	return parse_unsigned(text, &size_family, ret_bytes, e);
}

int unit_bitrate(const char *text, uint64_t *ret_bps, struct err *e)
{
	return parse_unsigned(text, &bitrate_family, ret_bps, e);
}

int unit_length(const char *text, uint64_t *ret_mm, struct err *e)
{
	return parse_unsigned(text, &length_family, ret_mm, e);
}

/* A plain decimal as a double; *ret_rest is what follows it. strtod rounds correctly where digits /
 * 10^n would not. */
static bool take_double(const char *number, double *ret, const char **ret_rest)
{
	uint64_t digits;
	unsigned scale;
	bool overflow;
	const char *rest = take_decimal(number, &digits, &scale, &overflow);

	if (!rest || (size_t)(rest - number) >= 64)
		return false;
	char text[64];
	memcpy(text, number, (size_t)(rest - number));
	text[rest - number] = '\0';
	*ret = strtod(text, NULL);
	*ret_rest = rest;
	return true;
}

int unit_ratio(const char *text, double *ret, struct err *e)
{
	static const char expected[] = "a ratio such as 20%, 0.2 or 1/8";
	double v, by;
	const char *rest;

	if (!text || !take_double(text, &v, &rest))
		return unit_refuse(e, -EINVAL, str_or(text, ""), expected);
	if (*rest == '/') {
		if (!take_double(rest + 1, &by, &rest))
			return unit_refuse(e, -EINVAL, text, expected);
		if (by == 0)
			return err_set(e, -ERANGE, "'%.64s', which divides by zero", text);
		v /= by;
	} else if (*rest == '%') {
		rest++;
		v /= 100;
	}
	if (*rest)
		return unit_refuse(e, -EINVAL, text, expected);
	*ret = v;
	return 0;
}

int unit_int(const char *text, int64_t *ret, struct err *e)
{
	static const char expected[] = "a whole decimal number such as 10";
	uint64_t v;
	unsigned scale;
	bool overflow, negative = text && *text == '-';

	if (!text || strchr(text, '.'))
		return unit_refuse(e, -EINVAL, str_or(text, ""), expected);
	const char *rest = take_decimal(text + negative, &v, &scale, &overflow);
	if (!rest || *rest)
		return unit_refuse(e, -EINVAL, text, expected);
	if (overflow || v > (uint64_t)INT64_MAX + negative)
		return err_set(e, -ERANGE, "'%.64s', which is too large", text);
	if (negative)
		*ret = (int64_t)(0 - v);
	else
		*ret = (int64_t)v;
	return 0;
}

int unit_double(const char *text, double *ret, struct err *e)
{
	static const char expected[] = "a decimal number such as 2.5";
	bool negative = text && *text == '-';
	const char *rest;
	double v;

	if (!text || !take_double(text + negative, &v, &rest) || *rest)
		return unit_refuse(e, -EINVAL, str_or(text, ""), expected);
	if (negative)
		*ret = -v;
	else
		*ret = v;
	return 0;
}

/* The largest unit of @names (largest first) that divides @value exactly. */
static char *unit_format(
	char *buf, size_t size, const char *sign, uint64_t value, const struct unit *largest_first)
{
	const struct unit *u = largest_first;
	while (u[1].name && (value == 0 || value % u->factor != 0))
		u++;
	snprintf(buf, size, "%s%" PRIu64 "%s", sign, value / u->factor, u->name);
	return buf;
}

char *unit_duration_text(char *buf, size_t size, int64_t ns)
{
	/* Years are not printed: "1y" would hide that it means 365 days. */
	static const struct unit u[] = {{"w", 604800000000000}, {"d", 86400000000000},
		{"h", 3600000000000}, {"m", 60000000000}, {"s", 1000000000}, {"ms", 1000000},
		{"us", 1000}, {"ns", 1}, {NULL, 0}};
	if (ns == 0) {
		snprintf(buf, size, "0s");
		return buf;
	}
	uint64_t magnitude = (uint64_t)ns;
	if (ns < 0)
		magnitude = 0 - magnitude;
	return unit_format(buf, size, str_if(ns < 0, "-"), magnitude, u);
}

char *unit_size_text(char *buf, size_t size, uint64_t bytes)
{
	/* Thresholds are compared with what a switch prints, in bytes: only round powers are
	 * shortened. */
	static const struct unit u[] = {{"TB", 1000000000000}, {"GB", 1000000000}, {"MB", 1000000},
		{"TiB", 1099511627776}, {"GiB", 1073741824}, {"MiB", 1048576}, {"KB", 1000},
		{"B", 1}, {NULL, 0}};
	return unit_format(buf, size, "", bytes, u);
}

char *unit_bitrate_text(char *buf, size_t size, uint64_t bps)
{
	static const struct unit u[] = {{"T", 1000000000000}, {"G", 1000000000}, {"M", 1000000},
		{"kbps", 1000}, {"bps", 1}, {NULL, 0}};
	return unit_format(buf, size, "", bps, u);
}

char *unit_length_text(char *buf, size_t size, uint64_t mm)
{
	static const struct unit u[] = {
		{"km", 1000000}, {"m", 1000}, {"cm", 10}, {"mm", 1}, {NULL, 0}};
	return unit_format(buf, size, "", mm, u);
}
