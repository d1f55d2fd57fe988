/* check_links - links that are down, slower than their class, damaged, or that flap. */
#include <math.h>

#include "base/err.h"
#include "agent/check/check_audit.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/answers/common/limits.h"

static const enum cause links_causes[] = {CAUSE_LINK_SLOW, CAUSE_LINK_ERRORS, CAUSE_LINK_FLAP,
	CAUSE_MISSING_RAIL, CAUSE_OPTIC_DEGRADING, CAUSE_NONE};
static const char *const links_kinds[] = {
	"link_down", "speed_declared", "speed_mismatch", "group_speed", NULL};

struct links_sum {
	size_t n, n_known;
	double rate; /* of the port with most errors per second */
	double flaps; /* of all; NAN unknown */
	const json_t *worst, *flapping;
};

static void links_take(const struct check_source *source, const json_t *doc, struct links_sum *sum)
{
	const double seconds = doc_number(doc, "seconds");
	const json_t *row;
	size_t i;
	sum->flaps = NAN;
	json_array_foreach (json_object_get(doc, "rows"), i, row) {
		double errors = doc_number(row, "errors"), flaps = doc_number(row, "flaps");
		if (json_is_integer(json_object_get(row, "priority")) ||
			!check_in_scope(source, row))
			continue;
		sum->n++;
		if (!isnan(flaps))
			sum->flaps = (isnan(sum->flaps) ? 0 : sum->flaps) + flaps;
		if (flaps > 0)
			sum->flapping = row;
		sum->n_known += !isnan(errors);
		if (errors > 0 && errors / seconds > sum->rate) {
			sum->rate = errors / seconds;
			sum->worst = row;
		}
	}
}

static int check_links_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const struct limit_pair limits = limits_errors(source->client->config);
	const struct check_ranges usual = check_ranges_below(limits.warn, limits.critical);
	const struct check_ranges ranges = check_ranges_of(source, &usual);
	const json_t *counters, *audit;
	const struct watch_answer *watch;
	struct links_sum sum = {0};
	int r = check_source_doc(source, "counters", &counters, e);
	if (r == 0)
		r = check_source_doc(source, "topology/check", &audit, e);
	if (r == 0)
		r = check_source_open(source, &watch, e);
	if (r < 0)
		return r;
	links_take(source, counters, &sum);
	const struct check_open open = {
		watch, links_causes, check_incidents(source, watch, links_causes, ret)};
	size_t below = check_audit(source, audit, links_kinds, CAUSE_NONE, open.n, ret);
	if (sum.worst)
		check_measured(source, ret, check_judge_value(&ranges, sum.rate), &open,
			"%s:%s %.3g errors/s", doc_word(sum.worst, "device"),
			doc_word(sum.worst, "port"), sum.rate);
	if (sum.flapping)
		check_measured(source, ret, CHECK_WARNING, &open,
			"%s:%s went down, %.0f flaps in all", doc_word(sum.flapping, "device"),
			doc_word(sum.flapping, "port"), sum.flaps);
	if (sum.n_known == 0)
		check_say(ret, CHECK_UNKNOWN, "errors are not counted by any of %zu ports", sum.n);
	else if (ret->text.n == 0)
		check_say(ret, CHECK_OK, "%zu ports up at their speed, no errors", sum.n_known);
	check_line_value(ret, "below", (double)below, 0, NULL, NAN);
	check_line_value(ret, "errors_per_s", sum.n_known > 0 ? sum.rate : NAN, 2, &ranges, NAN);
	check_line_value(ret, "flaps", sum.flaps, 0, NULL, NAN);
	return 0;
}

const struct check check_links = {
	.name = "links",
	.label = "LINKS",
	.summary = "links that are down, below their class, damaged or flapping",
	.run = check_links_run,
	.help = "RANGE is damaged frames per second at a port (default: analyzers.link_health).",
	.options = "warn crit device port job",
	.examples = {{"check links", "alerts for links that are down or damaged"},
		{"check links --device 'leaf*' --port 'Ethernet1*'", "judges some ports"}},
};
