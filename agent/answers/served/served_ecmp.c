/* served_ecmp - the documents about load over equal paths: groups, matrix, collisions, the matrix
 * over time, the report; and about pause: the wait-for tree, pause time per port and priority. */
#include "agent/answers/served/served_ecmp.h"

#include "agent/answers/ecmp/answer.h"
#include "agent/answers/ecmp/ecmp_history.h"
#include "agent/reports/report_compare.h"
#include "agent/answers/common/served.h"
#include "agent/answers/pause/pause_document.h"
#include "analyzers/measure/observe.h"
#include "db/model/metric.h"

#define ECMP_SPAN_NS (15 * 60 * NS_PER_S)
#define ECMP_HISTORY_SPAN_NS (3600 * NS_PER_S)
#define REPORT_SPAN_NS (24 * 3600 * NS_PER_S)

static struct report_ask served_ecmp_ask(const struct served_ask *ask)
{
	return (struct report_ask){
		.device = served_get(ask, "device"), .group = served_get(ask, "group")};
}

static int served_ecmp_form(struct client *client, const char *name, const struct served_ask *ask,
	json_t **ret, struct err *e)
{
	rw_cleanup(report_result_done) struct report_result result = {0};
	const struct report_ask asked = served_ecmp_ask(ask);
	const int rc = ecmp_answer(client, ecmp_form_by_name(name), &asked, &result, e);
	if (rc == 0)
		*ret = json_incref(result.doc);
	return rc;
}

static int served_ecmp_groups(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return served_ecmp_form(client, "groups", ask, ret, e);
}

static int served_ecmp_heatmap(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return served_ecmp_form(client, "heatmap", ask, ret, e);
}

static int served_ecmp_collisions(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return served_ecmp_form(client, "collisions", ask, ret, e);
}

static int served_ecmp_history(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return ecmp_history_document(
		client, served_get(ask, "device"), served_get(ask, "frames"), ret, e);
}

/* In one line: there may be 500,000 numbers. */
static int served_ecmp_history_print(
	struct client *client, const struct served_ask *ask, FILE *out, struct err *e)
{
	json_t *doc = NULL;
	const int rc = served_ecmp_history(client, ask, &doc, e);
	if (rc < 0)
		return rc;
	json_dumpf(doc, out, JSON_COMPACT | JSON_REAL_PRECISION(6));
	fputc('\n', out);
	json_decref(doc);
	return 0;
}

/* As the command prints it, compared with earlier ranges. */
static int served_report_spine(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	rw_cleanup(report_result_done) struct report_result result = {0};
	const struct report_ask asked = served_ecmp_ask(ask);
	int rc = report_spine_imbalance.collect(client, &asked, &result, e);
	if (rc == 0)
		rc = report_compare(&report_spine_imbalance, client, &asked, result.doc, e);
	if (rc == 0)
		*ret = json_incref(result.doc);
	return rc;
}

static const struct served_param ecmp_params[] = {
	{"device", "only groups of these devices, a glob", false},
	{"group", "only this group: uplinks, to:DEVICE, lag:NAME, a glob, or DEVICE/GROUP", false},
	{0},
};
static const struct served_param ecmp_history_params[] = {
	{"device", "only rows of these devices, a glob", false},
	{"frames", "how many points in time, 1 to 120; 60 when not given", false},
	{0},
};

static const struct served_document rows[] = {
	{.path = "ecmp/groups",
		.summary = "How even each ECMP group is, compared with what a hash does by chance.",
		.params = ecmp_params,
		.span_ns = ECMP_SPAN_NS,
		.make = served_ecmp_groups},
	{.path = "ecmp/heatmap",
		.summary = "Matrix of devices and neighbours with the load of the links between.",
		.params = ecmp_params,
		.span_ns = ECMP_SPAN_NS,
		.make = served_ecmp_heatmap},
	{.path = "ecmp/collisions",
		.summary = "Which flows share the hot member of a group.",
		.params = ecmp_params,
		.span_ns = ECMP_SPAN_NS,
		.make = served_ecmp_collisions},
	{.path = "ecmp/history",
		.summary = "The matrix at several points in time.",
		.params = ecmp_history_params,
		.span_ns = ECMP_HISTORY_SPAN_NS,
		.make = served_ecmp_history,
		.print = served_ecmp_history_print},
	{.path = "report/spine-imbalance",
		.summary = "How evenly each ECMP group was loaded over the time range.",
		.params = ecmp_params,
		.span_ns = REPORT_SPAN_NS,
		.make = served_report_spine},
};

const struct served_group served_ecmp = {.rows = rows, .n_rows = rw_countof(rows)};

/* ecmp_document - how even the ECMP groups are. */

static void ecmp_put(struct report_result *result, const struct shape *shape, const void *answer)
{
	json_decref(result->doc);
	result->doc = shape_json(shape, answer);
	result->answer = answer;
}

static void ecmp_make_heatmap(struct report_result *result)
{
	ecmp_put(result, &ecmp_heatmap_shape, ecmp_heatmap_make(result->answer, result->arena));
}

static void ecmp_make_collisions(struct report_result *result)
{
	ecmp_put(result, &ecmp_collisions_shape,
		ecmp_collisions_make(result->answer, result->arena));
}

const struct ecmp_form ecmp_forms[ECMP_FORMS] = {
	{"groups", &ecmp_groups_view, NULL},
	{"heatmap", &ecmp_heatmap_view, ecmp_make_heatmap},
	{"collisions", &ecmp_collisions_view, ecmp_make_collisions},
};

const struct ecmp_form *ecmp_form_by_name(const char *name)
{
	for (size_t i = 0; i < ECMP_FORMS; i++)
		if (str_eq(ecmp_forms[i].name, name))
			return &ecmp_forms[i];
	return NULL;
}

int ecmp_answer(struct client *client, const struct ecmp_form *form, const struct report_ask *ask,
	struct report_result *ret, struct err *e)
{
	const int rc = report_spine_imbalance.collect(client, ask, ret, e);
	if (rc == 0 && form->make)
		form->make(ret);
	return rc;
}

/* ---- pause ----------------------------------------------------------------- */

#define PAUSE_SPAN_NS (60 * NS_PER_S)

static int served_pause_ask(const struct served_ask *ask, struct pause_ask *ret, struct err *e)
{
	const char *priority = served_get(ask, "priority");
	int64_t number = 0;
	*ret = (struct pause_ask){.priority = PRIO_NONE,
		.incident = served_get(ask, "incident"),
		.device = served_get(ask, "device"),
		.port = served_get(ask, "port"),
		.all = served_flag(ask, "all")};
	const char *top = served_get(ask, "top");
	if (top && (unit_int(top, &number, e) < 0 || number < 1))
		return err_set(e, -EINVAL, "top '%.64s' is not a number from 1 on", top);
	if (top)
		ret->top = (size_t)number;
	if (!priority)
		return 0;
	return served_priority(priority, &ret->priority, e);
}

static int served_pause_tree(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	struct pause_ask asked;
	const int r = served_pause_ask(ask, &asked, e);
	if (r < 0)
		return r;
	return pause_tree_document(client, &asked, ret, e);
}

static int served_pause_ports(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	struct pause_ask asked;
	const int r = served_pause_ask(ask, &asked, e);
	if (r < 0)
		return r;
	return pause_ports_document(client, &asked, ret, e);
}

static const struct served_param tree_params[] = {
	{"priority", "only this priority, 0 to 7", false},
	{"incident", "an incident's id: the window in which it was found, and its priority", false},
	{0},
};
static const struct served_param ports_params[] = {
	{"priority", "only this priority, 0 to 7", false},
	{"incident", "an incident's id: the window in which it was found, and its priority", false},
	{"device", "only these devices, a glob", false},
	{"port", "only these ports, a glob", false},
	{"all", "flag: also ports without pause", false},
	{"top", "only so many: origins and those paused longest first", false},
	{0},
};

static const struct served_document pause_rows[] = {
	{.path = "pause/tree",
		.summary = "Where PFC pause begins, and which ports and hosts wait because of it.",
		.params = tree_params,
		.span_ns = PAUSE_SPAN_NS,
		.make = served_pause_tree},
	{.path = "pause/ports",
		.summary = "Pause time per port and priority, in both directions.",
		.params = ports_params,
		.span_ns = PAUSE_SPAN_NS,
		.make = served_pause_ports},
};

const struct served_group served_pause = {.rows = pause_rows, .n_rows = rw_countof(pause_rows)};
