/* threshold - see the header. Source: monitoring-plugins development guidelines, "Threshold and
 * Ranges" and "Performance data". */
#include "agent/command/check_range.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/str.h"

static int check_range_number(const char *text, size_t n, double *ret)
{
	char buf[48];
	if (n == 0 || n >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, text, n);
	buf[n] = '\0';
	if (buf[n - 1] == '%')
		return unit_ratio(buf, ret, NULL);
	return unit_double(buf, ret, NULL);
}

int threshold_parse(const char *text, struct threshold *ret, struct err *e)
{
	struct threshold t = {.low = 0, .high = INFINITY, .set = true};
	const char *s = text;
	if (*s == '@') {
		t.inside = true;
		s++;
	}
	const char *colon = strchr(s, ':');
	int r = 0;
	if (!colon) {
		r = check_range_number(s, strlen(s), &t.high);
	} else {
		if (colon == s + 1 && *s == '~')
			t.low = -INFINITY;
		else if (colon != s)
			r = check_range_number(s, (size_t)(colon - s), &t.low);
		if (colon == s && !colon[1])
			r = -EINVAL;
		if (r == 0 && colon[1])
			r = check_range_number(colon + 1, strlen(colon + 1), &t.high);
	}
	if (r < 0 || t.low > t.high)
		return err_set(e, -EINVAL,
			"read '%.64s', expected a range such as 0.2 (up to), 0.2: (at least), "
			"0.1:0.2 or @0:5 (alert inside), low end first",
			text);
	*ret = t;
	return 0;
}

bool threshold_alerts(const struct threshold *threshold, double value)
{
	if (!threshold->set || isnan(value))
		return false;
	bool within = value >= threshold->low && value <= threshold->high;
	if (threshold->inside)
		return within;
	return !within;
}

char *threshold_text(char buf[THRESHOLD_TEXT_MAX], const struct threshold *threshold)
{
	char low[24] = "", high[24] = "";
	buf[0] = '\0';
	if (!threshold->set)
		return buf;
	if (isinf(threshold->low))
		snprintf(low, sizeof(low), "~:");
	else if (threshold->low != 0 || isinf(threshold->high))
		snprintf(low, sizeof(low), "%.10g:", threshold->low);
	if (!isinf(threshold->high))
		snprintf(high, sizeof(high), "%.10g", threshold->high);
	snprintf(buf, THRESHOLD_TEXT_MAX, "%s%s%s", str_if(threshold->inside, "@"), low, high);
	return buf;
}

const char *check_state_name(enum check_state state)
{
	static const char *const names[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
	if ((unsigned)state < rw_countof(names))
		return names[state];
	return "UNKNOWN";
}
