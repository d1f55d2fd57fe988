/* served_pause - the documents about pause: the wait-for tree, pause time per port and priority. */

#include "agent/answers/common/served.h"
#include "agent/answers/pause/pause_document.h"
#include "analyzers/measure/observe.h"
#include "db/model/metric.h"

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

static const struct served_document rows[] = {
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

const struct served_group served_pause = {.rows = rows, .n_rows = rw_countof(rows)};
