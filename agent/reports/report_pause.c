/* report_pause - PFC pause of a time range: who paused whom and for how long, where it began, what
 * the watchdog did, and whether ECN marked before. */

#include "agent/answers/common/report_frame.h"
#include "agent/answers/incident/incident_list.h"
#include "agent/answers/pause/answer.h"
#include "agent/answers/pause/pause_document.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/reports/report.h"
#include "agent/reports/report_shift.h"

#include "config/config.h"
#include "db/model/metric.h"

enum { TREES_WANTED = 3 };
/* Of a long step only its end is looked at: a tree is of one moment. */
#define TREE_SPAN_NS (10 * 60 * NS_PER_S)

static const enum cause pause_causes[] = {CAUSE_SLOW_RECEIVER, CAUSE_PFC_STORM, CAUSE_PFC_DEADLOCK,
	CAUSE_PFC_WATCHDOG, CAUSE_PFC_WRONG_PRIORITY, CAUSE_PFC_MISMATCH, CAUSE_XON_CLOSE,
	CAUSE_STORAGE_RECEIVER, CAUSE_DCQCN_OFF, CAUSE_ECN_OFF, CAUSE_ECN_LATE, CAUSE_INCAST,
	CAUSE_NONE};

/* ---- where it began ---------------------------------------------------------------------- */

/* Trees of one window, with the time of that window. */
static int pause_add_trees(struct client *client, const char *incident, struct pause_answer *answer,
	struct arena *a, struct err *e)
{
	const struct pause_ask ask = {.priority = PRIO_NONE, .incident = incident};
	struct pause_tree_answer one;
	const int rc = pause_tree_make(client, &ask, a, &one, e);
	if (rc < 0)
		return rc;
	struct pause_tree *trees =
		arena_array(a, struct pause_tree, answer->n_trees + one.n_trees + 1);
	if (answer->n_trees)
		memcpy(trees, answer->trees, answer->n_trees * sizeof(*trees));
	answer->trees = trees;
	for (size_t i = 0; i < one.n_trees; i++) {
		trees[answer->n_trees] = one.trees[i];
		trees[answer->n_trees].from = one.from;
		trees[answer->n_trees++].to = one.to;
	}
	return 0;
}

/* Of the incidents, worst first, each in the window in which it was found; without one, of the step
 * with most pause. Single values may be gone: then there is no tree, and the report says so. */
static int pause_trees(struct client *client, const struct pause_range *range,
	struct pause_answer *answer, struct arena *a, json_t *doc, struct err *e)
{
	const json_t *row;
	const json_t *incidents = answer->incidents;
	const size_t step = answer->worst_step;
	size_t i;
	int rc = 0;
	json_array_foreach (incidents, i, row) {
		if (i >= TREES_WANTED)
			break;
		rc = pause_add_trees(client, doc_word(row, "id"), answer, a, e);
		if (rc < 0 && rc != -ENODATA)
			break;
		rc = 0;
	}
	if (rc == 0 && json_array_size(incidents) == 0 && step != SIZE_MAX) {
		const struct range_plan *plan = &range->plan;
		struct client at = *client;
		at.to_ns = plan->from_ns + (int64_t)(step + 1) * plan->step_ns;
		at.from_ns = at.to_ns - plan->step_ns;
		if (plan->step_ns > TREE_SPAN_NS)
			at.from_ns = at.to_ns - TREE_SPAN_NS;
		rc = pause_add_trees(&at, NULL, answer, a, e);
	}
	if (step != SIZE_MAX && answer->n_trees == 0)
		report_missing(doc,
			"where pause began is not known: the single values of that "
			"time say nothing, or are no longer stored");
	return rc;
}

static bool pause_began_at(const struct pause_answer *answer, const struct pause_port *port)
{
	for (size_t i = 0; i < answer->n_trees; i++) {
		const struct pause_tree *tree = &answer->trees[i];
		if (tree->clear && str_eq(tree->device, port->device) &&
			str_eq(tree->port, port->port) && tree->priority == (int)port->priority)
			return true;
	}
	return false;
}

/* Where it began stands above what waited; both as they were, most paused first. */
static void pause_origins_first(struct pause_answer *answer, struct arena *a)
{
	struct pause_port *ports = arena_array(a, struct pause_port, answer->n_ports + 1);
	size_t n = 0;
	for (int origin = 1; origin >= 0; origin--)
		for (size_t i = 0; i < answer->n_ports; i++)
			if (pause_began_at(answer, &answer->ports[i]) == (origin == 1))
				ports[n++] = answer->ports[i];
	answer->ports = ports;
}

/* ---- the report ---------------------------------------------------------------------------- */

static int pause_fill(struct client *client, const struct report_ask *ask,
	const struct pause_range *range, struct pause_answer *answer, struct arena *a, json_t *doc,
	struct err *e)
{
	struct limit_pair limits = limits_pause(client->config);
	json_t *incidents = report_incidents(client, pause_causes, e);
	if (!incidents)
		return e->code ? e->code : -EIO;
	limits.own = ask->warn > 0 || ask->critical > 0;
	if (ask->warn > 0)
		limits.warn = ask->warn;
	if (ask->critical > 0)
		limits.critical = ask->critical;
	report_incidents_about(incidents, ask->device);
	report_incidents_problems(doc, incidents);
	answer->incidents = incidents;
	pause_answer_make(answer, doc, range, &limits, a);
	report_figure(
		doc, "incidents", "incidents about pause", (double)json_array_size(incidents), "-");
	const bool known = answer->ports_known > 0;
	range_missing(client, &range->plan, known ? &range->read : NULL, doc);
	const int rc = pause_trees(client, range, answer, a, doc, e);
	if (rc < 0)
		return rc;
	pause_origins_first(answer, a);
	return report_put_stale(client, doc, e);
}

static int pause_collect(struct client *client, const struct report_ask *ask,
	struct report_result *ret, struct err *e)
{
	rw_cleanup(pause_range_done) struct pause_range range = {0};
	int rc = known_device(client, ask->device, e);
	if (rc == 0 && ask->group)
		rc = err_set(e, -EINVAL, "report pause knows no groups; use --device");
	if (rc == 0)
		rc = pause_range_read(client, ask->device, &range, e);
	if (rc < 0)
		return rc;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct pause_answer *answer = arena_new_of(a, struct pause_answer);
	json_t *doc = report_frame("pause", client);
	rc = pause_fill(client, ask, &range, answer, a, doc, e);
	/* The document takes its share of the trees. */
	shape_put(doc, &pause_answer_shape, answer);
	json_decref(answer->incidents);
	if (rc < 0) {
		json_decref(doc);
		return rc;
	}
	const bool known = answer->ports_known > 0;
	report_verdict(client->config, doc, known ? REPORT_OK : REPORT_UNKNOWN,
		known ? "no port was paused for longer than its limit"
		      : "pause is not known: no switch delivered it in this time");
	*ret = (struct report_result){
		.doc = doc, .answer = answer, .arena = rw_take(a), .window_ns = range.plan.step_ns};
	return 0;
}

static const void *pause_rows(const void *answer, size_t *ret_n)
{
	const struct pause_answer *pause = answer;
	*ret_n = pause->n_ports;
	return pause->ports;
}

static const struct view pause_view = {
	.title = "PFC pause",
	.table = &pause_ports_table,
	.table_rows = pause_rows,
	.empty = "no port was paused in this time",
	.answer_page = pause_page,
};

const struct report report_pause = {
	.name = "pause",
	.summary = "who paused whom, for how long, and where it began",
	.help = "Shows the share of time that each port and priority was paused, in both "
		"directions: \"node-012 paused us\" is pause received, \"we paused node-012\" is "
		"pause sent. The time is measured where the switch counts it, and an upper bound "
		"where it counts frames; the report says which. Then the incidents about pause, "
		"the "
		"trees of who waited for whom, events of the PFC watchdog, and whether ECN marked "
		"before PFC paused.\n"
		"With --check the worst step of each port is judged by the limits of "
		"analyzers.pause_storm, or by --warn and --crit as shares of time; a bound warns "
		"and is never critical. Incidents count by their severity.",
	.options = "device",
	.examples = {{"report pause --since 24h", "shows who paused whom in the last day"},
		{"report pause --check --device 'leaf*' --out pause.txt",
			"prints a line for monitoring and writes the report to a file", 2}},
	.span_ns = 24 * 3600 * NS_PER_S,
	.collect = pause_collect,
	.view = &pause_view,
};
