/*
 * check_range - alert ranges of a check (--warn, --crit), in the syntax of the monitoring-plugins
 * guidelines. Pure; any thread.
 */
#pragma once

#include "base/base.h"

/*
 * A range names the values that are in order; a value outside alerts. The ends belong to the range.
 *
 *   "0.2"       0 to 0.2
 *   "0.2:"      0.2 and above
 *   "~:0.2"     up to 0.2, negative values too
 *   "0.1:0.2"   0.1 to 0.2
 *   "@0.1:0.2"  the other way round: a value inside alerts
 *
 * Numbers may be written as a percentage: "20%" is 0.2.
 */
struct check_range {
	double low, high; /* -INFINITY / INFINITY where open */
	bool inside; /* '@' */
	bool set;
};

/* check_range_parse - 0, or -EINVAL with @e: what is wrong with @text and how a range looks. */
int check_range_parse(const char *text, struct check_range *ret, struct err *e);

/* check_range_alerts - false also when the range is not set or @value is NAN. */
bool check_range_alerts(const struct check_range *range, double value);

/* check_range_text - the range as perfdata wants it: "0.2", "0.1:0.2", "@5"; "" when not set. */
#define CHECK_RANGE_TEXT_MAX 64
char *check_range_text(char buf[CHECK_RANGE_TEXT_MAX], const struct check_range *range);
