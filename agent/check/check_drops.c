/* check_drops - frames dropped in lossless priorities: there must be none. */
#include <math.h>

#include "base/err.h"
#include "agent/check/check_source.h"
#include "agent/document/json_value.h"

static const enum cause drops_causes[] = {CAUSE_LOSSLESS_LOSS, CAUSE_PACKET_LOSS,
	CAUSE_HEADROOM_SMALL, CAUSE_POOL_EXHAUSTED, CAUSE_CLASS_LEAK, CAUSE_PFC_WATCHDOG,
	CAUSE_PFC_MISMATCH, CAUSE_DSCP_MISMATCH, CAUSE_NONE};

struct drops_sum {
	size_t n, n_known;
	double drops, most;
	const json_t *worst;
};

static void drops_take(const struct check_source *source, const json_t *doc, struct drops_sum *sum)
{
	const json_t *row;
	size_t i;
	json_array_foreach (json_object_get(doc, "rows"), i, row) {
		double drops = doc_number(row, "drops");
		if (!json_is_true(json_object_get(row, "lossless")) || !check_in_scope(source, row))
			continue;
		sum->n++;
		if (isnan(drops))
			continue;
		sum->n_known++;
		sum->drops += drops;
		if (drops > sum->most) {
			sum->most = drops;
			sum->worst = row;
		}
	}
}

static int check_drops_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const struct check_ranges usual = check_ranges_below(NAN, 0);
	const struct check_ranges ranges = check_ranges_of(source, &usual);
	const json_t *doc;
	const struct watch_answer *watch;
	struct drops_sum sum = {0};
	int r = check_source_doc(source, "counters", &doc, e);
	if (r == 0)
		r = check_source_open(source, &watch, e);
	if (r < 0)
		return r;
	drops_take(source, doc, &sum);
	const struct check_open open = {
		watch, drops_causes, check_incidents(source, watch, drops_causes, ret)};
	ret->absent = sum.n > 0 && sum.n_known == 0;
	if (sum.n_known == 0)
		check_say(ret, CHECK_UNKNOWN, "drops are not counted by any of %zu lossless queues",
			sum.n);
	else if (sum.worst)
		check_measured(source, ret, check_judge_value(&ranges, sum.drops), &open,
			"%.0f frames dropped in %.0f s, most at %s:%s p%lld: %.0f", sum.drops,
			doc_number(doc, "seconds"), doc_word(sum.worst, "device"),
			doc_word(sum.worst, "port"),
			(long long)json_integer_value(json_object_get(sum.worst, "priority")),
			sum.most);
	else
		check_say(ret, CHECK_OK, "no drops at %zu lossless queues in %.0f s", sum.n_known,
			doc_number(doc, "seconds"));
	check_line_value(ret, "drops", sum.n_known > 0 ? sum.drops : NAN, 0, &ranges, NAN);
	return 0;
}

const struct check check_drops = {
	.name = "drops",
	.label = "DROPS",
	.summary = "frames dropped in lossless priorities",
	.run = check_drops_run,
	.help = "RANGE is the number of frames dropped in the time range, 5 minutes if none is "
		"given (default: --crit 0).",
	.options = "warn crit device port priority job",
	.examples = {{"check drops", "alerts at the first dropped frame"},
		{"check drops --priority 3 --warn 0 --crit 100",
			"warns at one frame, critical above 100"}},
};
