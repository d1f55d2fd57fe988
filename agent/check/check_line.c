/*
 * check_line - the line of a check: its state, its sentence and its perfdata.
 * Source: Monitoring Plugins Development Guidelines, "Plugin Output for Nagios".
 */
#include <math.h>

#include "agent/base/cleanup.h"
#include "agent/check/check.h"

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
