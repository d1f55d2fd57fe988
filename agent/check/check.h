/*
 * check - documents judged for a monitoring system: an exit code and one line of the
 * monitoring-plugins form, "ECMP WARNING - text | perfdata". One file per check
 * (agent/check/check_<word>.c), its struct last, its word in RW_CHECKS in CMakeLists.txt.
 *
 * A check measures nothing: it judges the documents that other surfaces show, or the sums of a
 * report. Missing or stale data is UNKNOWN, never OK.
 *
 * Source of the form: Monitoring Plugins Development Guidelines.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/check/check_line.h"
#include "db/model/golden.h"
#include "agent/document/example.h"

struct check_source;
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
	const char *device, *port; /* of its worst value, borrowed; NULL: not known */
	struct str perfdata; /* by check_line_value() */
	json_t *values; /* the same as objects; NULL none */
	json_t *incidents; /* those that count: [{id, cause, runbook}]; NULL none */
	/* UNKNOWN, because no device delivers what it needs: not a fault that comes and goes */
	bool absent;
};
void check_line_done(struct check_line *line);

/* check_say - adds a part to the sentence and raises the state to at least @state. What is worse
 * than all before comes first. */
void check_say(struct check_line *line, enum check_state state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* check_judge_value - OK, WARNING or CRITICAL of a value; UNKNOWN for NAN. */
enum check_state check_judge_value(const struct check_ranges *ranges, double value);
/* check_ranges_below - ranges that alert above @warn and @critical; NAN: none. */
struct check_ranges check_ranges_below(double warn, double critical);

/*
 * check_line_value - adds one value of perfdata, 'NAME'=VALUE;WARN;CRIT;0;MAX.
 *
 * @value   NAN prints as "U": not known
 * @ranges  NULL: this value is not judged
 * @max     NAN: no upper end
 */
void check_line_value(struct check_line *line, const char *name, double value, int decimals,
	const struct check_ranges *ranges, double max);
/* check_line_unit - the same with a unit of measure behind the value: "s", "B", "c". */
void check_line_unit(struct check_line *line, const char *name, double value, const char *unit,
	int decimals, const struct check_ranges *ranges, double max);

struct check {
	const char *name; /* "ecmp" */
	const char *label; /* the first word of the line: "ECMP" */
	const char *summary; /* one line of help */
	const char *help; /* a paragraph: what it compares and when it alerts */
	/* Which options of `rocewatch check` it takes, with blanks: "warn crit device". */
	const char *options;
	bool state; /* it judges a state: --until and --around, but no --since */
	struct example examples[2]; /* "check pfc --device 'leaf*'" */

	/* One of three forms. First: it judges documents. 0, or negative errno with @e when they
	 * cannot be made. @ret is zeroed before, check_line_done() is its caller's. */
	int (*run)(struct check_source *source, struct check_line *ret, struct err *e);

	/* Second: it judges the sums of a report. */
	const char *report; /* its name */
	/* The ranges of the configuration, for those the user has not given. */
	void (*defaults)(const struct report_result *result, struct check_ranges *ret);
	/* Pure. */
	void (*judge)(const struct report_result *result, const struct check_ranges *ranges,
		struct check_line *ret);

	/* Open incidents that show in it raise the line; the sums do by a user's ranges alone. */
	enum golden signal;

	/* Third: its own run(), and a line for each of its parts. */
	const char *const *parts; /* their names, ended by NULL */
	bool strict; /* the worst of the parts, and what no device delivers makes it UNKNOWN */
};

extern const struct check *const checks[]; /* NULL-terminated */

/* check_of_report - the check that judges the report of this name, or NULL. */
const struct check *check_of_report(const char *report);

/* check_judge - judges @result by @given, completed with the check's own defaults. */
void check_judge(const struct check *check, const struct report_result *result,
	const struct check_ranges *given, struct check_line *ret);

struct check_result {
	const struct check *check;
	struct check_line line;
	struct check_result *parts;
	size_t n_parts;
};
/* check_run - judges; what goes wrong is an UNKNOWN line with place and reason.
 * check_result_done() it. */
void check_run(const struct check *check, struct check_source *source, struct check_result *ret);
void check_result_done(struct check_result *result);
/* check_result_json - {check, state, exit_code, text, values: [{name, value, unit, warn, crit, min,
 * max}], incidents: [{id, cause, runbook}], checks: [the same of each part]}; the caller owns it.
 */
json_t *check_result_json(const struct check_result *result);

/* check_by_name - the row, or NULL. */
const struct check *check_by_name(const char *name);

void check_print(FILE *out, const struct check *check, const struct check_line *line);
/* check_print_plain - the same without perfdata: monitoring systems read those of the first line.
 */
void check_print_plain(FILE *out, const struct check *check, const struct check_line *line);
/* check_fail - makes @line UNKNOWN with place and reason of @e; @r is printed where @e has no text.
 */
void check_fail(struct check_line *line, int r, const struct err *e);
/* check_print_unknown - the line of a check that could not judge: "ECMP UNKNOWN - why". */
void check_print_unknown(FILE *out, const struct check *check, const char *why);

/*
 * check_unknown - true when nothing may be judged: the configuration file has mistakes, or no agent
 * writes the database and its newest sample is older than three windows and five minutes. A
 * database that a replay made is never stale: it holds the past. @why gets the reason.
 */
bool check_unknown(const struct client *client, int64_t window_ns, char *why, size_t size);
