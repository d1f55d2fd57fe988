/* check_target - devices: does each one answer? */
#include <math.h>

#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/check/check_source.h"
#include "agent/document/json_value.h"

struct target_counts {
	size_t up, down, unknown;
};

static void target_count(const struct check_source *source, const json_t *doc,
	struct target_counts *counts, struct check_line *line, const struct check_ranges *ranges)
{
	const json_t *row, *first_down = NULL, *first_unknown = NULL;
	size_t i;
	json_array_foreach (json_object_get(doc, "devices"), i, row) {
		const char *status = doc_word(row, "status");
		if (!check_device_in_scope(source, doc_word(row, "name")))
			continue;
		counts->up += str_eq(status, "up");
		counts->down += str_eq(status, "down");
		counts->unknown += str_eq(status, "unknown");
		if (!first_down && str_eq(status, "down"))
			first_down = row;
		if (!first_unknown && str_eq(status, "unknown"))
			first_unknown = row;
	}
	size_t all = counts->up + counts->down + counts->unknown;
	check_say(line, CHECK_OK, "%zu of %zu devices up", counts->up, all);
	if (first_down)
		check_say(line, check_judge_value(ranges, (double)counts->down), "%zu down, %s: %s",
			counts->down, doc_word(first_down, "name"), doc_word(first_down, "reason"));
	if (first_unknown)
		check_say(line, CHECK_UNKNOWN, "%zu unknown, %s: %s", counts->unknown,
			doc_word(first_unknown, "name"), doc_word(first_unknown, "reason"));
	if (all == 0)
		check_say(line, CHECK_UNKNOWN, "no device matches");
}

static int check_target_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const struct check_ranges usual = check_ranges_below(NAN, 0);
	const struct check_ranges ranges = check_ranges_of(source, &usual);
	const json_t *doc;
	struct target_counts counts = {0};
	int r = check_source_doc(source, "status", &doc, e);
	if (r < 0)
		return r;
	target_count(source, doc, &counts, ret, &ranges);
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
	.help = "RANGE is the number of devices that are down (default: --crit 0).",
	.options = "warn crit device job",
	.state = true,
	.examples = {{"check target", "alerts when a device does not answer"},
		{"check target --warn 0 --crit 2",
			"warns at one device that is down, is CRITICAL above two"}},
};
