/* check_fabric - is it well? The state and the sentence of every face; the other checks add. */
#include <math.h>

#include "base/err.h"
#include "agent/answers/watch/watch_frame.h"
#include "agent/check/check_source.h"

static const char *const fabric_parts[] = {
	"target", "freshness", "pfc", "ecn", "drops", "ecmp", "links", "mtu", "config", NULL};

static int check_fabric_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const struct watch_answer *watch;
	int r = check_source_open(source, &watch, e);
	if (r < 0)
		return r;
	struct verdict verdict;
	const size_t n = check_verdict(source, watch, &verdict, ret);
	check_line_value(ret, "incidents", (double)n, 0, NULL, NAN);
	check_line_value(ret, "usd_per_hour", verdict.money.usd_per_hour, 2, NULL, NAN);
	return 0;
}

const struct check check_fabric = {
	.name = "fabric",
	.label = "FABRIC",
	.summary = "is the fabric well? What `status` and the wall say, too",
	.parts = fabric_parts,
	.run = check_fabric_run,
	.help = "The state and the sentence of `status`, `watch` and `report handover`: that of "
		"the "
		"worst open incident, and never better than what is known. The other checks "
		"add a line each and do not change the state.",
	.options = "device port group priority job",
	.examples = {{"check fabric", "judges the whole fabric in one line", 2},
		{"check fabric --device 'leaf*' --format json", "judges the leaves, as a document",
			2}},
};
