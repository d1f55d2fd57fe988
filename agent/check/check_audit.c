/* check_audit - findings of the topology audit. */

#include "agent/answers/common/limits.h"
#include "agent/answers/counters/counters_document.h"
#include "agent/answers/topology/topology_views.h"
#include "agent/answers/watch/watch_frame.h"
#include "agent/client/client.h"
#include "agent/check/check_source.h"
#include "base/number.h"
#include "db/model/entity.h"

static bool audit_is_kind(const char *const *kinds, enum cause cause, const char *kind)
{
	if (str_eq(cause_name(cause), kind))
		return true;
	for (size_t i = 0; kinds[i]; i++)
		if (str_eq(kinds[i], kind))
			return true;
	return false;
}

/* What an incident is about is as bad as that. */
static void audit_say(struct check_line *line, enum check_state state, size_t n_incidents,
	const struct topology_finding *row)
{
	const bool alone = state != CHECK_OK && n_incidents == 0;
	if (!alone)
		state = CHECK_OK;
	check_say(line, state, "%s:%s %s%s", row->device, str_or(row->port, ""), row->text,
		str_if(alone, " (no incident: settings are compared, no harm is measured)"));
}

/*
 * check_audit - raises @line by the findings of these kinds that are in scope, as severe as the
 * audit says, where no incident is about them. Returns how many are at least a warning.
 *
 * @kinds  ended by NULL
 * @cause  a finding that has the word of this cause for its kind counts, too; CAUSE_NONE: none does
 * @n_incidents  what check_incidents() returned
 */
static size_t check_audit(const struct check_source *source, const struct topology_audit *audit,
	const char *const *kinds, enum cause cause, size_t n_incidents, struct check_line *line)
{
	size_t n = 0;
	for (size_t i = 0; i < audit->n_findings; i++) {
		const struct topology_finding *row = &audit->findings[i];
		const struct check_subject of = {
			.device = row->device, .port = row->port, .priority = COUNT_UNKNOWN};
		enum check_state state = CHECK_OK;
		if (!audit_is_kind(kinds, cause, row->kind) || !check_subject_in_scope(source, &of))
			continue;
		if (str_eq(row->severity, "critical"))
			state = CHECK_CRITICAL;
		if (str_eq(row->severity, "warning"))
			state = CHECK_WARNING;
		n += state != CHECK_OK;
		if (n <= 3 || state == CHECK_CRITICAL)
			audit_say(line, state, n_incidents, row);
	}
	return n;
}

/* check_audit_read - what both ends of the links say, and what is open: @source has them. */
static int check_audit_read(struct check_source *source, struct topology_audit *ret_audit,
	const struct watch_answer **ret_watch, struct err *e)
{
	const json_t *doc;
	const int r = check_source_doc(source, "topology/check", &doc, e);
	if (r < 0)
		return r;
	shape_read(&topology_audit_shape, doc, source->arena, ret_audit);
	return check_source_open(source, ret_watch, e);
}

/* check_config - settings of switches that differ or changed, and whether the agent could take its
 * own configuration. A configuration file with a mistake is UNKNOWN for every check. */

static const enum cause config_causes[] = {CAUSE_CONFIG_DRIFT, CAUSE_CONFIG_MIXED,
	CAUSE_PFC_MISMATCH, CAUSE_PFC_WRONG_PRIORITY, CAUSE_DSCP_MISMATCH, CAUSE_MTU_MISMATCH,
	CAUSE_HEADROOM_SMALL, CAUSE_XON_CLOSE, CAUSE_NONE};
static const char *const config_kinds[] = {"pfc_off", NULL};

static int check_config_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	struct topology_audit audit;
	const struct watch_answer *watch;
	const int r = check_audit_read(source, &audit, &watch, e);
	if (r < 0)
		return r;
	const struct agent_refused *refused = watch->status.agent.reload_refused;
	size_t open = check_incidents(source, watch, config_causes, ret);
	size_t n = check_audit(source, &audit, config_kinds, CAUSE_PFC_MISMATCH, open, ret);
	size_t known = audit.checked.pfc;
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
		check_say(ret, CHECK_OK, "PFC agrees at both ends of %zu link%s, no open change",
			known, plural(known));
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

/* check_mtu - MTU at both ends of each link, and against the MTU of RoCE. */

static const enum cause mtu_causes[] = {CAUSE_MTU_MISMATCH, CAUSE_NONE};
static const char *const mtu_kinds[] = {"mtu_small", NULL};

static int check_mtu_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	struct topology_audit audit;
	const struct watch_answer *watch;
	const int r = check_audit_read(source, &audit, &watch, e);
	if (r < 0)
		return r;
	size_t known = audit.checked.mtu;
	const size_t open = check_incidents(source, watch, mtu_causes, ret);
	size_t n = check_audit(source, &audit, mtu_kinds, CAUSE_MTU_MISMATCH, open, ret);
	ret->absent = known == 0 && n == 0;
	if (ret->absent)
		check_say(ret, CHECK_UNKNOWN, "the MTU is known at both ends of no link");
	else if (ret->text.n == 0)
		check_say(ret, CHECK_OK, "%zu links have one MTU at both ends", known);
	check_line_value(ret, "mismatches", (double)n, 0, NULL, NAN);
	check_line_value(ret, "links_known", (double)known, 0, NULL, (double)audit.checked.links);
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

/* check_links - links that are down, slower than their class, damaged, or that flap. */

static const enum cause links_causes[] = {CAUSE_LINK_SLOW, CAUSE_LINK_ERRORS, CAUSE_LINK_FLAP,
	CAUSE_MISSING_RAIL, CAUSE_OPTIC_DEGRADING, CAUSE_NONE};
static const char *const links_kinds[] = {
	"link_down", "speed_declared", "speed_mismatch", "group_speed", NULL};

struct links_sum {
	size_t n, n_known;
	double rate; /* of the port with most errors per second */
	double flaps; /* of all; NAN unknown */
	const struct counters_row *worst, *flapping;
};

static void links_take(const struct check_source *source, const struct counters_answer *counters,
	struct links_sum *sum)
{
	sum->flaps = NAN;
	for (size_t i = 0; i < counters->n_rows; i++) {
		const struct counters_row *row = &counters->rows[i];
		const double errors = row->grew[COUNTERS_ERRORS], flaps = row->grew[COUNTERS_FLAPS];
		if (row->priority != PRIO_NONE || !check_counters_in_scope(source, row))
			continue;
		sum->n++;
		if (!isnan(flaps))
			sum->flaps = (isnan(sum->flaps) ? 0 : sum->flaps) + flaps;
		if (flaps > 0)
			sum->flapping = row;
		sum->n_known += !isnan(errors);
		if (errors > 0 && errors / counters->seconds > sum->rate) {
			sum->rate = errors / counters->seconds;
			sum->worst = row;
		}
	}
}

/* One in an hour is seen as such, thousands as thousands. */
static struct number_text audit_rate(double per_s)
{
	struct number_text text = number_scaled(per_s, "");
	if (per_s < 1)
		snprintf(text.s, sizeof(text.s), "%.3g", per_s);
	return text;
}

static int check_links_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const struct limit_pair limits = limits_errors(source->client->config);
	const struct check_ranges usual = check_ranges_below(limits.warn, limits.critical);
	const struct check_ranges ranges = check_ranges_of(source, &usual);
	const struct counters_answer *counters;
	struct topology_audit audit;
	const struct watch_answer *watch;
	struct links_sum sum = {0};
	int r = check_source_counters(source, &counters, e);
	if (r == 0)
		r = check_audit_read(source, &audit, &watch, e);
	if (r < 0)
		return r;
	links_take(source, counters, &sum);
	const struct check_open open = {
		watch, links_causes, check_incidents(source, watch, links_causes, ret)};
	size_t below = check_audit(source, &audit, links_kinds, CAUSE_NONE, open.n, ret);
	if (sum.worst)
		check_measured(source, ret, check_judge_value(&ranges, sum.rate), &open,
			(struct check_place){sum.worst->device, sum.worst->port},
			"%s:%s %s errors/s", sum.worst->device, sum.worst->port,
			audit_rate(sum.rate).s);
	if (sum.flapping)
		check_measured(source, ret, CHECK_WARNING, &open,
			(struct check_place){sum.flapping->device, sum.flapping->port},
			"%s:%s went down, %.0f flaps in all", sum.flapping->device,
			sum.flapping->port, sum.flaps);
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
