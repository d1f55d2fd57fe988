/* clock - see clock.h. Calendar arithmetic is our own: timegm() and strptime() depend on the locale
 * and the C library. */
#include "agent/base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/base/str.h"

static int64_t read_clock(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

mono_t mono_now(void)
{
	return (mono_t){read_clock(CLOCK_MONOTONIC)};
}

wall_t wall_now(void)
{
	return (wall_t){read_clock(CLOCK_REALTIME)};
}

static int64_t floor_div(int64_t left, int64_t right)
{
	return left / right - (left % right < 0);
}

/* Days since 1970-01-01 of a date of the proleptic Gregorian calendar. Source: Howard Hinnant,
 * chrono-compatible date algorithms. */
static int64_t days_from_civil(int64_t year, int month, int day)
{
	year -= month <= 2;
	int64_t era = floor_div(year, 400);
	int64_t yoe = year - era * 400;
	int64_t doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static void civil_from_days(int64_t days, int64_t *year, int *month, int *day)
{
	days += 719468;
	int64_t era = floor_div(days, 146097);
	int64_t doe = days - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t mp = (5 * doy + 2) / 153;
	*day = (int)(doy - (153 * mp + 2) / 5 + 1);
	*month = (int)(mp < 10 ? mp + 3 : mp - 9);
	*year = yoe + era * 400 + (*month <= 2);
}

char *wall_format(char buf[WALL_TEXT_MAX], wall_t wall, int frac)
{
	int64_t s = floor_div(wall.ns, NS_PER_S), ns = (wall.ns % NS_PER_S + NS_PER_S) % NS_PER_S;
	int64_t days = floor_div(s, 86400), year;
	int sod = (int)(s - days * 86400), month, day;

	civil_from_days(days, &year, &month, &day);
	int n = snprintf(buf, WALL_TEXT_MAX, "%04lld-%02d-%02dT%02d:%02d:%02d", (long long)year,
		month, day, sod / 3600, sod / 60 % 60, sod % 60);
	if (frac > 0) {
		char digits[16];
		snprintf(digits, sizeof(digits), "%09lld", (long long)ns);
		n += snprintf(
			buf + n, WALL_TEXT_MAX - (size_t)n, ".%.*s", frac > 9 ? 9 : frac, digits);
	}
	snprintf(buf + n, WALL_TEXT_MAX - (size_t)n, "Z");
	return buf;
}

/* Exactly @digits decimal digits. */
static bool clock_take_number(const char **cursor, int digits, int *ret)
{
	int v = 0;
	for (int i = 0; i < digits; i++) {
		if (!isdigit((unsigned char)(*cursor)[i]))
			return false;
		v = v * 10 + ((*cursor)[i] - '0');
	}
	*cursor += digits;
	*ret = v;
	return true;
}

static bool take_char(const char **cursor, const char *any_of)
{
	if (!**cursor || !strchr(any_of, **cursor))
		return false;
	(*cursor)++;
	return true;
}

static int days_in_month(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return days[month - 1] + (month == 2 && leap);
}

/* The fraction after the second: 1 to 9 digits count, further ones are read and dropped. */
static bool take_fraction(const char **cursor, int64_t *ret_ns)
{
	int64_t unit = NS_PER_S / 10;
	if (!isdigit((unsigned char)**cursor))
		return false;
	for (*ret_ns = 0; isdigit((unsigned char)**cursor); (*cursor)++, unit /= 10)
		*ret_ns += unit * (**cursor - '0');
	return true;
}

static bool take_offset(const char **cursor, int *ret_s)
{
	int h, m;
	int sign = 1;
	if (**cursor == '-')
		sign = -1;

	*ret_s = 0;
	if (!**cursor || take_char(cursor, "Zz"))
		return true;
	if (!take_char(cursor, "+-") || !clock_take_number(cursor, 2, &h))
		return false;
	take_char(cursor, ":");
	if (!clock_take_number(cursor, 2, &m) || h > 23 || m > 59)
		return false;
	*ret_s = sign * (h * 3600 + m * 60);
	return true;
}

static int parse_absolute(const char *cursor, wall_t *ret)
{
	int y, mo, d, h = 0, mi = 0, s = 0, offset = 0;
	int64_t frac = 0;

	if (!clock_take_number(&cursor, 4, &y) || !take_char(&cursor, "-") ||
		!clock_take_number(&cursor, 2, &mo) || !take_char(&cursor, "-") ||
		!clock_take_number(&cursor, 2, &d))
		return -EINVAL;
	/* ns since 1970 in 64 bits ends in April 2262. */
	if (y < 1970 || y > 2261 || mo < 1 || mo > 12 || d < 1 || d > days_in_month(y, mo))
		return -EINVAL;
	if (*cursor) {
		if (!take_char(&cursor, "Tt ") || !clock_take_number(&cursor, 2, &h) ||
			!take_char(&cursor, ":") || !clock_take_number(&cursor, 2, &mi))
			return -EINVAL;
		if (take_char(&cursor, ":")) {
			if (!clock_take_number(&cursor, 2, &s))
				return -EINVAL;
			if (take_char(&cursor, ".") && !take_fraction(&cursor, &frac))
				return -EINVAL;
		}
		if (*cursor == ' ')
			cursor++;
		if (!take_offset(&cursor, &offset) || *cursor)
			return -EINVAL;
	}
	/* A leap second (60) is the first of the next minute: POSIX time has no room for it. */
	if (h > 23 || mi > 59 || s > 60)
		return -EINVAL;
	ret->ns = (days_from_civil(y, mo, d) * 86400 + h * 3600 + mi * 60 + s - offset) * NS_PER_S +
		frac;
	return 0;
}

int wall_parse(const char *text, wall_t now, wall_t *ret)
{
	int64_t before;

	if (!text)
		return -EINVAL;
	if (str_eq(text, "now")) {
		*ret = now;
		return 0;
	}
	/* A duration has a unit, a date has a dash after four digits: neither can be read as the
	 * other. */
	if (unit_duration(text, &before, NULL) == 0) {
		/* Recorded cases begin at 1970: "1h" before their end may lie before it, which is
		 * just an empty stretch. */
		int64_t t;
		if (before < 0 || __builtin_sub_overflow(now.ns, before, &t))
			return -EINVAL;
		ret->ns = t;
		return 0;
	}
	return parse_absolute(text, ret);
}

char *duration_format(char *buf, size_t size, int64_t ns)
{
	static const struct {
		const char *name, *minor;
		int64_t ns, minor_ns;
	} units[] = {
		{"d", "h", 86400 * NS_PER_S, 3600 * NS_PER_S},
		{"h", "m", 3600 * NS_PER_S, 60 * NS_PER_S},
		{"m", "s", 60 * NS_PER_S, NS_PER_S},
	};
	const char *sign = "";
	if (ns < 0)
		sign = "-";
	uint64_t v;
	if (ns < 0)
		v = 0 - (uint64_t)ns;
	else
		v = (uint64_t)ns;

	if (ns == 0) {
		snprintf(buf, size, "0s");
		return buf;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (v < (uint64_t)units[i].ns)
			continue;
		uint64_t major = v / (uint64_t)units[i].ns,
			 minor = v % (uint64_t)units[i].ns / (uint64_t)units[i].minor_ns;
		snprintf(buf, size, "%s%llu%s%02llu%s", sign, (unsigned long long)major,
			units[i].name, (unsigned long long)minor, units[i].minor);
		return buf;
	}
	/* Below ten seconds a tenth says something; rounding never goes up: "59s" is not yet a
	 * minute. */
	if (v >= 10 * (uint64_t)NS_PER_S ||
		(v >= (uint64_t)NS_PER_S && v % (uint64_t)NS_PER_S < 100 * (uint64_t)NS_PER_MS))
		snprintf(buf, size, "%s%llus", sign, (unsigned long long)(v / (uint64_t)NS_PER_S));
	else if (v >= (uint64_t)NS_PER_S)
		snprintf(buf, size, "%s%llu.%llus", sign,
			(unsigned long long)(v / (uint64_t)NS_PER_S),
			(unsigned long long)(v % (uint64_t)NS_PER_S / (uint64_t)(100 * NS_PER_MS)));
	else if (v >= (uint64_t)NS_PER_MS)
		snprintf(
			buf, size, "%s%llums", sign, (unsigned long long)(v / (uint64_t)NS_PER_MS));
	else if (v >= (uint64_t)NS_PER_US)
		snprintf(
			buf, size, "%s%lluus", sign, (unsigned long long)(v / (uint64_t)NS_PER_US));
	else
		snprintf(buf, size, "%s%lluns", sign, (unsigned long long)v);
	return buf;
}
