/* check_config - settings of switches that differ or changed, and whether the agent could take its
 * own configuration. A configuration file with a mistake is UNKNOWN for every check. */
#include <math.h>

#include "base/err.h"
#include "agent/answers/watch/watch_frame.h"
#include "agent/check/check_audit.h"

static const enum cause config_causes[] = {CAUSE_CONFIG_DRIFT, CAUSE_CONFIG_MIXED,
	CAUSE_PFC_MISMATCH, CAUSE_PFC_WRONG_PRIORITY, CAUSE_DSCP_MISMATCH, CAUSE_MTU_MISMATCH,
	CAUSE_HEADROOM_SMALL, CAUSE_XON_CLOSE, CAUSE_NONE};
static const char *const config_kinds[] = {"pfc_off", NULL};

static int check_config_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const json_t *audit;
	const struct watch_answer *watch;
	int r = check_source_doc(source, "topology/check", &audit, e);
	if (r == 0)
		r = check_source_open(source, &watch, e);
	if (r < 0)
		return r;
	const struct agent_refused *refused = watch->status.agent.reload_refused;
	size_t open = check_incidents(source, watch, config_causes, ret);
	size_t n = check_audit(source, audit, config_kinds, CAUSE_PFC_MISMATCH, open, ret);
	size_t known = check_audit_known(audit, "pfc");
	if (open > 0)
		check_say(ret, CHECK_OK, "%zu open incident%s of settings", open, plural(open));
	if (refused)
		check_say(ret, CHECK_WARNING,
			"the agent runs with an older configuration, which is no incident: %s",
			refused->text);
	ret->absent = known == 0 && n == 0 && open == 0;
	if (ret->absent)
		check_say(ret, CHECK_UNKNOWN, "settings are known at both ends of no link");
	else if (ret->text.n == 0)
		check_say(ret, CHECK_OK, "PFC agrees at both ends of %zu links, no open change",
			known);
	check_line_value(ret, "mismatches", (double)n, 0, NULL, NAN);
	check_line_value(ret, "incidents", (double)open, 0, NULL, NAN);
	return 0;
}

const struct check check_config = {
	.name = "config",
	.label = "CONFIG",
	.summary = "settings that differ between switches or changed unasked, and refused reloads",
	.run = check_config_run,
	.options = "device port priority job",
	.state = true,
	.examples = {{"check config", "alerts when settings differ or changed unasked", 3},
		{"check config --device leaf1", "judges one switch", 3}},
};
