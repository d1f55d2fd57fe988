/* check_mtu - MTU at both ends of each link, and against the MTU of RoCE. */
#include <math.h>

#include "base/err.h"
#include "agent/check/check_audit.h"

static const enum cause mtu_causes[] = {CAUSE_MTU_MISMATCH, CAUSE_NONE};
static const char *const mtu_kinds[] = {"mtu_small", NULL};

static int check_mtu_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const json_t *audit;
	const struct watch_answer *watch;
	int r = check_source_doc(source, "topology/check", &audit, e);
	if (r == 0)
		r = check_source_open(source, &watch, e);
	if (r < 0)
		return r;
	size_t known = check_audit_known(audit, "mtu");
	const size_t open = check_incidents(source, watch, mtu_causes, ret);
	size_t n = check_audit(source, audit, mtu_kinds, CAUSE_MTU_MISMATCH, open, ret);
	ret->absent = known == 0 && n == 0;
	if (ret->absent)
		check_say(ret, CHECK_UNKNOWN, "the MTU is known at both ends of no link");
	else if (ret->text.n == 0)
		check_say(ret, CHECK_OK, "%zu links have one MTU at both ends", known);
	check_line_value(ret, "mismatches", (double)n, 0, NULL, NAN);
	check_line_value(ret, "links_known", (double)known, 0, NULL,
		(double)check_audit_known(audit, "links"));
	return 0;
}

const struct check check_mtu = {
	.name = "mtu",
	.label = "MTU",
	.summary = "MTU that differs between the ends of a link, or is too small for RoCE",
	.run = check_mtu_run,
	.options = "device port job",
	.state = true,
	.examples = {{"check mtu", "alerts when the ends of a link differ", 3},
		{"check mtu --device leaf1", "judges the links of one switch", 3}},
};
