/*
 * check - what all checks share: finding the check of a report, its default ranges, the line of the
 * monitoring-plugins form, and the question whether the data is too old to judge by.
 */
#include "agent/check/check.h"

#include <math.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/client/client.h"

#define STALE_WINDOWS 3
#define STALE_NS (5 * 60 * NS_PER_S)

const char *check_state_name(enum check_state state)
{
	static const char *const names[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
	if ((unsigned)state < rw_countof(names))
		return names[state];
	return "UNKNOWN";
}

bool check_state_worse(enum check_state state, enum check_state than)
{
	static const int ranks[] = {
		[CHECK_OK] = 0, [CHECK_UNKNOWN] = 1, [CHECK_WARNING] = 2, [CHECK_CRITICAL] = 3};
	return ranks[state] > ranks[than];
}

/* ---- the line ------------------------------------------------------------ */

void check_line_done(struct check_line *line)
{
	str_done(&line->text);
	str_done(&line->perfdata);
}

void check_line_value(struct check_line *line, const char *name, double value, int decimals,
	const struct check_ranges *ranges, double max)
{
	char warn[CHECK_RANGE_TEXT_MAX] = "", crit[CHECK_RANGE_TEXT_MAX] = "";
	if (ranges) {
		check_range_text(warn, &ranges->warn);
		check_range_text(crit, &ranges->crit);
	}
	str_addf(&line->perfdata, "%s'%s'=", str_if(line->perfdata.n > 0, " "), name);
	if (isnan(value))
		str_add(&line->perfdata, "U");
	else
		str_addf(&line->perfdata, "%.*f", decimals, value);
	str_addf(&line->perfdata, ";%s;%s;0;", warn, crit);
	if (!isnan(max))
		str_addf(&line->perfdata, "%.*f", decimals, max);
}

void check_print(FILE *out, const struct check *check, const struct check_line *line)
{
	fprintf(out, "%s %s - %s", check->label, check_state_name(line->state),
		str_or(line->text.s, ""));
	if (line->perfdata.n > 0)
		fprintf(out, " | %s", line->perfdata.s);
	fputc('\n', out);
}

void check_print_unknown(FILE *out, const struct check *check, const char *why)
{
	fprintf(out, "%s %s - %s\n", check->label, check_state_name(CHECK_UNKNOWN), why);
}

/* ---- judging ------------------------------------------------------------- */

const struct check *check_of_report(const char *report)
{
	for (size_t i = 0; checks[i]; i++)
		if (str_eq(checks[i]->report, report))
			return checks[i];
	return NULL;
}

void check_judge(const struct check *check, const struct report_result *result,
	const struct check_ranges *given, struct check_line *ret)
{
	struct check_ranges ranges = {0};
	if (check->defaults)
		check->defaults(result, &ranges);
	if (given->warn.set)
		ranges.warn = given->warn;
	if (given->crit.set)
		ranges.crit = given->crit;
	check->judge(result, &ranges, ret);
}

bool check_stale(const struct client *client, int64_t window_ns, char *why, size_t size)
{
	int64_t limit_ns = STALE_WINDOWS * window_ns;
	if (limit_ns < STALE_NS)
		limit_ns = STALE_NS;
	int64_t age_ns = wall_now().ns - client->now_ns;
	if (client->agent_alive || age_ns <= limit_ns)
		return false;
	char age[32];
	snprintf(why, size, "no agent writes %s and its newest sample is %s old", client->db_path,
		duration_format(age, sizeof(age), age_ns));
	return true;
}
