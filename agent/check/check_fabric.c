/* check_fabric - the worst of all checks and of the open incidents. */
#include <math.h>

#include "base/err.h"
#include "agent/answers/watch/watch_frame.h"
#include "agent/check/check_source.h"

static const char *const fabric_parts[] = {
	"target", "freshness", "pfc", "ecn", "drops", "ecmp", "links", "mtu", "config", NULL};

static int check_fabric_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const struct watch_answer *watch;
	int r = check_source_watch(source, &watch, e);
	if (r < 0)
		return r;
	size_t n = check_incidents(source, watch, NULL, ret);
	double usd = watch->money.usd_per_hour;
	check_line_value(ret, "incidents", (double)n, 0, NULL, NAN);
	check_line_value(ret, "usd_per_hour", usd, 2, NULL, NAN);
	return 0;
}

const struct check check_fabric = {
	.name = "fabric",
	.label = "FABRIC",
	.summary = "the worst of all checks and of the open incidents",
	.parts = fabric_parts,
	.run = check_fabric_run,
	.help = "The worst of all checks and of the open incidents. What no device delivers is "
		"named and does not count.",
	.options = "device port group priority job",
	.examples = {{"check fabric", "judges the whole fabric in one line", 2},
		{"check fabric --device 'leaf*' --format json", "judges the leaves, as a document",
			2}},
};
