/* check_target - devices: does each one answer? */
#include <math.h>

#include "base/err.h"
#include "agent/answers/watch/watch_frame.h"
#include "agent/check/check_source.h"

struct target_counts {
	size_t up, down, unknown;
};

static const enum cause target_causes[] = {CAUSE_DEVICE_DOWN, CAUSE_TELEMETRY_GAP, CAUSE_NONE};

/* As the fabric is judged: a warning, until an incident says more. */
static enum check_state target_judge(
	const struct check_source *source, const struct check_ranges *ranges, size_t down)
{
	const enum check_state state = check_judge_value(ranges, (double)down);
	const bool own = source->given.warn.set || source->given.crit.set;
	if (!own && state == CHECK_CRITICAL)
		return CHECK_WARNING;
	return state;
}

static void target_count(const struct check_source *source, const struct status_answer *status,
	struct target_counts *counts, size_t n_incidents, struct check_line *line,
	const struct check_ranges *ranges)
{
	const struct status_device *first_down = NULL, *first_unknown = NULL;
	for (size_t i = 0; i < status->n_devices; i++) {
		const struct status_device *row = &status->devices[i];
		if (!check_device_in_scope(source, row->name))
			continue;
		counts->up += row->up == MAYBE_YES;
		counts->down += row->up == MAYBE_NO;
		counts->unknown += row->up == MAYBE_UNKNOWN;
		if (!first_down && row->up == MAYBE_NO)
			first_down = row;
		if (!first_unknown && row->up == MAYBE_UNKNOWN)
			first_unknown = row;
	}
	size_t all = counts->up + counts->down + counts->unknown;
	check_say(line, CHECK_OK, "%zu of %zu devices up", counts->up, all);
	if (first_down)
		check_say(line, target_judge(source, ranges, counts->down), "%zu down, %s: %s%s",
			counts->down, first_down->name, str_or(first_down->reason, ""),
			str_if(n_incidents == 0, ", and no incident is about it"));
	if (first_unknown)
		check_say(line, CHECK_UNKNOWN, "%zu unknown, %s: %s", counts->unknown,
			first_unknown->name, str_or(first_unknown->reason, ""));
	if (all == 0)
		check_say(line, CHECK_UNKNOWN, "no device matches");
}

static int check_target_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const struct check_ranges usual = check_ranges_below(NAN, 0);
	const struct check_ranges ranges = check_ranges_of(source, &usual);
	const struct watch_answer *watch;
	struct target_counts counts = {0};
	int r = check_source_open(source, &watch, e);
	if (r < 0)
		return r;
	const size_t n = check_incidents(source, watch, target_causes, ret);
	target_count(source, &watch->status, &counts, n, ret, &ranges);
	double all = (double)(counts.up + counts.down + counts.unknown);
	check_line_value(ret, "up", (double)counts.up, 0, NULL, all);
	check_line_value(ret, "down", (double)counts.down, 0, &ranges, all);
	check_line_value(ret, "unknown", (double)counts.unknown, 0, NULL, all);
	return 0;
}

const struct check check_target = {
	.name = "target",
	.label = "TARGET",
	.summary = "devices that do not answer",
	.run = check_target_run,
	.help = "RANGE is the number of devices that are down. Without a RANGE any is a "
		"warning, and an open incident about it decides.",
	.options = "warn crit device job",
	.state = true,
	.examples = {{"check target", "alerts when a device does not answer"},
		{"check target --warn 0 --crit 2",
			"warns at one device that is down, is CRITICAL above two"}},
};
