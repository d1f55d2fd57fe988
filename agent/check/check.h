/*
 * check - reports judged for a monitoring system: an exit code and one line of the
 * monitoring-plugins form, "ECMP WARNING - text | perfdata". One file per check
 * (agent/check/check_<word>.c), its struct last, its word in RW_CHECKS in CMakeLists.txt.
 *
 * Source of the form: Monitoring Plugins Development Guidelines.
 */
#ifndef RW_CHECK_CHECK_H
#define RW_CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "agent/base/str.h"
#include "agent/check/check_range.h"

struct client;
struct report_result;

enum check_state { CHECK_OK, CHECK_WARNING, CHECK_CRITICAL, CHECK_UNKNOWN }; /* the exit codes */

/* check_state_name - "OK", "WARNING", "CRITICAL" or "UNKNOWN". */
const char *check_state_name(enum check_state state);

/* check_state_worse - OK < UNKNOWN < WARNING < CRITICAL: missing data never hides a known fault. */
bool check_state_worse(enum check_state state, enum check_state than);

struct check_ranges {
	struct check_range warn, crit;
};

struct check_line {
	enum check_state state;
	struct str text; /* the sentence between "STATE - " and "|" */
	struct str perfdata; /* by check_line_value() */
};
void check_line_done(struct check_line *line);

/*
 * check_line_value - adds one value of perfdata, 'NAME'=VALUE;WARN;CRIT;0;MAX.
 *
 * @value   NAN prints as "U": not known
 * @ranges  NULL: this value is not judged
 * @max     NAN: no upper end
 */
void check_line_value(struct check_line *line, const char *name, double value, int decimals,
	const struct check_ranges *ranges, double max);

struct check {
	const char *name; /* "ecmp" */
	const char *label; /* the first word of the line: "ECMP" */
	const char *summary; /* one line of help */
	const char *report; /* name of the report it judges */
	/* The ranges of the configuration, for those the user has not given. */
	void (*defaults)(const struct report_result *result, struct check_ranges *ret);
	/* Pure. @ret is zeroed before, and check_line_done() is its caller's. */
	void (*judge)(const struct report_result *result, const struct check_ranges *ranges,
		struct check_line *ret);
};

extern const struct check *const checks[]; /* NULL-terminated */

/* check_of_report - the check that judges the report of this name, or NULL. */
const struct check *check_of_report(const char *report);

/* check_judge - judges @result by @given, completed with the check's own defaults. */
void check_judge(const struct check *check, const struct report_result *result,
	const struct check_ranges *given, struct check_line *ret);

void check_print(FILE *out, const struct check *check, const struct check_line *line);
/* check_print_unknown - the line of a check that could not judge: "ECMP UNKNOWN - why". */
void check_print_unknown(FILE *out, const struct check *check, const char *why);

/*
 * check_unknown - true when nothing may be judged: the configuration file has mistakes, or no agent
 * writes the database and its newest sample is older than three windows and five minutes. A
 * database that a replay made is never stale: it holds the past. @why gets the reason.
 */
bool check_unknown(const struct client *client, int64_t window_ns, char *why, size_t size);

#endif
