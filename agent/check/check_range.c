/*
 * check_range - reads, applies and prints the alert ranges of checks.
 * Source: Monitoring Plugins Development Guidelines, "Threshold and Ranges" and "Performance data".
 */
#include "agent/check/check_range.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

#define CHECK_RANGE_MAX 1e15 /* beyond, a double is no exact number any more */
enum { CHECK_RANGE_DIGITS = 18 }; /* behind the point */

static int check_range_number(const char *text, size_t n, double *ret)
{
	char buf[48];
	if (n == 0 || n >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, text, n);
	buf[n] = '\0';
	int r;
	if (buf[n - 1] == '%')
		r = unit_ratio(buf, ret, NULL);
	else
		r = unit_double(buf, ret, NULL);
	if (r == 0 && fabs(*ret) > CHECK_RANGE_MAX)
		return -ERANGE;
	return r;
}

/* The part before the colon: empty (0), '~' (no lower end) or a number. */
static int check_range_low(const char *text, size_t n, double *ret)
{
	*ret = 0;
	if (n == 0)
		return 0;
	if (n == 1 && *text == '~') {
		*ret = -INFINITY;
		return 0;
	}
	return check_range_number(text, n, ret);
}

/* "HIGH", "LOW:" or "LOW:HIGH", without the '@'. */
static int check_range_ends(const char *text, struct check_range *range)
{
	const char *colon = strchr(text, ':');
	if (!colon)
		return check_range_number(text, strlen(text), &range->high);
	const char *high = colon + 1;
	if (colon == text && !*high)
		return -EINVAL;
	int r = check_range_low(text, (size_t)(colon - text), &range->low);
	if (r < 0 || !*high)
		return r;
	return check_range_number(high, strlen(high), &range->high);
}

int check_range_parse(const char *text, struct check_range *ret, struct err *e)
{
	struct check_range range = {.low = 0, .high = INFINITY, .set = true};
	const char *ends = text;
	if (*ends == '@') {
		range.inside = true;
		ends++;
	}
	int r = check_range_ends(ends, &range);
	if (r < 0 || range.low > range.high)
		return err_set(e, -EINVAL,
			"'%.64s' is not a range; write 0.2 (up to), 0.2: (at least), 0.1:0.2 "
			"(between) or @0:5 (alert inside), the lower end first",
			text);
	*ret = range;
	return 0;
}

bool check_range_alerts(const struct check_range *range, double value)
{
	if (!range->set || isnan(value))
		return false;
	bool within = value >= range->low && value <= range->high;
	if (range->inside)
		return within;
	return !within;
}

/* Fifteen digits at most, without an exponent: the guidelines, and we, read plain decimals only. */
static void check_range_end_text(char *buf, size_t size, double value)
{
	int digits = 14;
	if (value != 0)
		digits -= (int)floor(log10(fabs(value)));
	if (digits < 0)
		digits = 0;
	if (digits > CHECK_RANGE_DIGITS)
		digits = CHECK_RANGE_DIGITS;
	const int n = snprintf(buf, size, "%.*f", digits, value);
	if (digits == 0 || n < 0 || (size_t)n >= size)
		return;
	char *end = buf + n;
	while (end[-1] == '0')
		*--end = '\0';
	if (end[-1] == '.')
		end[-1] = '\0';
}

char *check_range_text(char buf[CHECK_RANGE_TEXT_MAX], const struct check_range *range)
{
	char low[30] = "", high[30] = "";
	buf[0] = '\0';
	if (!range->set)
		return buf;
	if (isinf(range->low))
		snprintf(low, sizeof(low), "~");
	else if (range->low != 0 || isinf(range->high))
		check_range_end_text(low, sizeof(low), range->low);
	if (!isinf(range->high))
		check_range_end_text(high, sizeof(high), range->high);
	snprintf(buf, CHECK_RANGE_TEXT_MAX, "%s%s%s%s", str_if(range->inside, "@"), low,
		str_if(*low, ":"), high);
	return buf;
}
