/*
 * check - what is asked of any check: the check of a report, its judgement by the ranges of the
 * user and of the configuration, and whether the data is too old to judge by.
 */
#include "agent/check/check.h"

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/client/client.h"

#define STALE_WINDOWS 3
#define STALE_NS (5 * 60 * NS_PER_S)

const struct check *check_of_report(const char *report)
{
	for (size_t i = 0; checks[i]; i++)
		if (str_eq(checks[i]->report, report))
			return checks[i];
	return NULL;
}

void check_judge(const struct check *check, const struct report_result *result,
	const struct check_ranges *given, struct check_line *ret)
{
	struct check_ranges ranges = {0};
	if (check->defaults)
		check->defaults(result, &ranges);
	if (given->warn.set)
		ranges.warn = given->warn;
	if (given->crit.set)
		ranges.crit = given->crit;
	check->judge(result, &ranges, ret);
}

/* The newest sample is too old, and no agent writes newer ones. */
static bool check_stale(const struct client *client, int64_t window_ns, char *why, size_t size)
{
	char age[32];
	const char *writer = "no agent writes";
	int64_t limit_ns = STALE_WINDOWS * window_ns;
	if (limit_ns < STALE_NS)
		limit_ns = STALE_NS;
	const int64_t age_ns = client->now_ns - client->data_ns;
	if (client->agent == STORE_REPLAY || client->agent_alive)
		return false;
	if (client->has_data && age_ns <= limit_ns)
		return false;
	if (client->agent == AGENT_CANNOT_TELL)
		writer = "cannot tell whether an agent writes";
	if (client->has_data)
		snprintf(why, size, "%s %s; its newest sample is %s old", writer, client->db_path,
			duration_format(age, sizeof(age), age_ns));
	else
		snprintf(why, size, "%s %s; it holds no samples", writer, client->db_path);
	return true;
}

bool check_unknown(const struct client *client, int64_t window_ns, char *why, size_t size)
{
	if (client->config_error) {
		snprintf(why, size, "%s", client->config_error);
		return true;
	}
	return check_stale(client, window_ns, why, size);
}
