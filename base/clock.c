/* clock - reads the clocks, prints and parses times. The calendar arithmetic is our own: timegm()
 * and strptime() depend on the locale and the C library. */
#include "base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/str.h"

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

int64_t clock_boot_ns(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

wall_t wall_now(void)
{
	return (wall_t){read_clock(CLOCK_REALTIME)};
}

static int64_t floor_div(int64_t left, int64_t right)
{
	return left / right - (left % right < 0);
}

/*
 * Days since 1970-01-01 of a date of the proleptic Gregorian calendar, and back. Years begin in
 * March, so that the leap day is the last one; an era is 400 years. Source: Howard Hinnant,
 * "chrono-Compatible Low-Level Date Algorithms".
 */
static int64_t days_from_civil(int64_t year, int month, int day)
{
	int months_since_march = month - 3;
	if (month <= 2) {
		months_since_march = month + 9;
		year--;
	}
	const int64_t era = floor_div(year, 400);
	const int64_t year_of_era = year - era * 400;
	const int64_t day_of_year = (153 * months_since_march + 2) / 5 + day - 1;
	const int64_t day_of_era =
		year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
	return era * 146097 + day_of_era - 719468;
}

static void civil_from_days(int64_t days, int64_t *year, int *month, int *day)
{
	days += 719468;
	const int64_t era = floor_div(days, 146097);
	const int64_t day_of_era = days - era * 146097;
	const int64_t year_of_era =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	const int64_t day_of_year =
		day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	const int64_t months_since_march = (5 * day_of_year + 2) / 153;
	*day = (int)(day_of_year - (153 * months_since_march + 2) / 5 + 1);
	*year = year_of_era + era * 400;
	*month = (int)months_since_march + 3;
	if (*month > 12) {
		*month -= 12;
		++*year;
	}
}

/* @n digits of @value, and @end behind them; returns what is behind that. */
static char *clock_digits(char *at, int64_t value, int n, char end)
{
	for (int i = n - 1; i >= 0; i--) {
		at[i] = (char)('0' + value % 10);
		value /= 10;
	}
	at[n] = end;
	return at + n + 1;
}

/* Its own digits: a report of a capture prints a million of them. */
char *wall_format(char buf[WALL_TEXT_MAX], wall_t wall, int frac)
{
	int64_t s = floor_div(wall.ns, NS_PER_S), ns = (wall.ns % NS_PER_S + NS_PER_S) % NS_PER_S;
	int64_t days = floor_div(s, 86400), year;
	int sod = (int)(s - days * 86400), month, day;

	civil_from_days(days, &year, &month, &day);
	char *at = clock_digits(buf, year, 4, '-'); /* 1677 to 2262: int64_t holds no others */
	at = clock_digits(at, month, 2, '-');
	at = clock_digits(at, day, 2, 'T');
	at = clock_digits(at, sod / 3600, 2, ':');
	at = clock_digits(at, sod / 60 % 60, 2, ':');
	at = clock_digits(at, sod % 60, 2, '.');
	if (frac <= 0)
		at--;
	if (frac > 9)
		frac = 9;
	for (int i = frac; i > 0 && i < 9; i++)
		ns /= 10;
	if (frac > 0)
		at = clock_digits(at, ns, frac, '.') - 1;
	memcpy(at, "Z", 2);
	return buf;
}

char *wall_text(char buf[WALL_TEXT_MAX], wall_t wall, int frac)
{
	wall_format(buf, wall, frac);
	*strchr(buf, 'T') = ' ';
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

/* The fraction after the second: up to nine digits count, further ones are read and dropped. */
static bool take_fraction(const char **cursor, int64_t *ret_ns)
{
	int64_t unit = NS_PER_S / 10;
	if (!isdigit((unsigned char)**cursor))
		return false;
	for (*ret_ns = 0; isdigit((unsigned char)**cursor); (*cursor)++, unit /= 10)
		*ret_ns += unit * (**cursor - '0');
	return true;
}

/* "Z", "+hh:mm", "+hhmm", or nothing for UTC. */
static bool take_offset(const char **cursor, int *ret_s)
{
	int hours, minutes, sign = 1;
	*ret_s = 0;
	if (!**cursor || take_char(cursor, "Zz"))
		return true;
	if (**cursor == '-')
		sign = -1;
	if (!take_char(cursor, "+-") || !clock_take_number(cursor, 2, &hours))
		return false;
	take_char(cursor, ":");
	if (!clock_take_number(cursor, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*ret_s = sign * (hours * 3600 + minutes * 60);
	return true;
}

struct date_time {
	int year, month, day, hour, minute, second, offset_s;
	int64_t fraction_ns;
};

/* "YYYY-MM-DD" */
static bool take_date(const char **cursor, struct date_time *ret)
{
	return clock_take_number(cursor, 4, &ret->year) && take_char(cursor, "-") &&
		clock_take_number(cursor, 2, &ret->month) && take_char(cursor, "-") &&
		clock_take_number(cursor, 2, &ret->day);
}

/* "HH:MM[:SS[.fraction]]" and the offset, which may stand behind a blank. */
static bool take_time(const char **cursor, struct date_time *ret)
{
	if (!clock_take_number(cursor, 2, &ret->hour) || !take_char(cursor, ":") ||
		!clock_take_number(cursor, 2, &ret->minute))
		return false;
	if (take_char(cursor, ":")) {
		if (!clock_take_number(cursor, 2, &ret->second))
			return false;
		if (take_char(cursor, ".") && !take_fraction(cursor, &ret->fraction_ns))
			return false;
	}
	take_char(cursor, " ");
	return take_offset(cursor, &ret->offset_s);
}

static bool is_date_time(const struct date_time *t)
{
	/* Nanoseconds since 1970 in 64 bits reach from September 1677 to April 2262. */
	if (t->year < 1678 || t->year > 2261 || t->month < 1 || t->month > 12)
		return false;
	if (t->day < 1 || t->day > days_in_month(t->year, t->month))
		return false;
	/* A leap second (60) is the first of the next minute: POSIX time has no room for it. */
	return t->hour <= 23 && t->minute <= 59 && t->second <= 60;
}

static int parse_absolute(const char *text, wall_t *ret)
{
	struct date_time t = {0};
	const char *cursor = text;
	if (!take_date(&cursor, &t))
		return -EINVAL;
	if (*cursor && (!take_char(&cursor, "Tt ") || !take_time(&cursor, &t)))
		return -EINVAL;
	if (*cursor || !is_date_time(&t))
		return -EINVAL;
	const int64_t days = days_from_civil(t.year, t.month, t.day);
	const int64_t second_of_day = t.hour * 3600 + t.minute * 60 + t.second;
	ret->ns = (days * 86400 + second_of_day - t.offset_s) * NS_PER_S + t.fraction_ns;
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
	/* A duration has a unit, a date has a dash after four digits: one is never read as the
	 * other. */
	if (unit_duration(text, &before, NULL) == 0) {
		/* Recorded cases begin at 1970: "1h" before their end may lie before it. That is
		 * an empty time range, not a mistake. */
		int64_t t;
		if (before < 0 || __builtin_sub_overflow(now.ns, before, &t))
			return -EINVAL;
		ret->ns = t;
		return 0;
	}
	return parse_absolute(text, ret);
}

/* One unit and, where it says something, its fraction: "12s", "1.5s", "28ms". */
static void duration_format_short(char *buf, size_t size, const char *sign, uint64_t ns)
{
	const uint64_t s = NS_PER_S, ms = NS_PER_MS, us = NS_PER_US;
	const unsigned long long tenths = ns % s / (s / 10);
	/* Below ten seconds a tenth says something. It is never rounded up: "59s" is not yet a
	 * minute. */
	if (ns >= s && ns < 10 * s && tenths > 0)
		snprintf(buf, size, "%s%llu.%llus", sign, (unsigned long long)(ns / s), tenths);
	else if (ns >= s || ns == 0)
		snprintf(buf, size, "%s%llus", sign, (unsigned long long)(ns / s));
	else if (ns >= ms)
		snprintf(buf, size, "%s%llums", sign, (unsigned long long)(ns / ms));
	else if (ns >= us)
		snprintf(buf, size, "%s%lluus", sign, (unsigned long long)(ns / us));
	else
		snprintf(buf, size, "%s%lluns", sign, (unsigned long long)ns);
}

char *duration_format(char *buf, size_t size, int64_t ns)
{
	static const struct {
		const char *name, *minor;
		uint64_t ns, minor_ns;
	} units[] = {
		{"d", "h", 86400 * NS_PER_S, 3600 * NS_PER_S},
		{"h", "m", 3600 * NS_PER_S, 60 * NS_PER_S},
		{"m", "s", 60 * NS_PER_S, NS_PER_S},
	};
	const char *sign = "";
	uint64_t value = (uint64_t)ns;
	if (ns < 0) {
		sign = "-";
		value = 0 - value;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (value < units[i].ns)
			continue;
		const unsigned long long major = value / units[i].ns;
		const unsigned long long minor = value % units[i].ns / units[i].minor_ns;
		snprintf(buf, size, "%s%llu%s%02llu%s", sign, major, units[i].name, minor,
			units[i].minor);
		return buf;
	}
	duration_format_short(buf, size, sign, value);
	return buf;
}
