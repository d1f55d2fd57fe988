/* served_counters - the document about what the counters of ports grew by. */

#include "agent/answers/counters/counters_document.h"
#include "agent/answers/common/served.h"
#include "db/model/entity.h"

#define COUNTERS_SPAN_NS (5 * 60 * NS_PER_S)

static int served_counters_make(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	const char *priority = served_get(ask, "priority");
	struct counters_ask asked = {.device = served_get(ask, "device"),
		.port = served_get(ask, "port"),
		.job = served_get(ask, "job"),
		.priority = PRIO_NONE};
	if (priority && served_priority(priority, &asked.priority, e) < 0)
		return -EINVAL;
	return counters_document(client, &asked, ret, e);
}

static const struct served_param params[] = {
	{"device", "only these devices, a glob", false},
	{"port", "only these ports, a glob of their name or alias", false},
	{"priority", "only this priority, 0 to 7", false},
	{"job", "only ports of hosts of these jobs, a glob", false},
	{0},
};

static const struct served_document rows[] = {
	{.path = "counters",
		.summary = "Drops, errors, flaps, ECN marks per port and priority in the range.",
		.params = params,
		.span_ns = COUNTERS_SPAN_NS,
		.make = served_counters_make},
};

const struct served_group served_counters = {.rows = rows, .n_rows = rw_countof(rows)};
