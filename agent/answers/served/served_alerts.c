/* served_alerts - the documents about alerts: receivers, silences, events. */

#include "agent/answers/alerts/alert_views.h"
#include "agent/answers/common/served.h"

#define ALERT_SPAN_NS (24 * 3600 * NS_PER_S)

static int served_given_or(json_t *doc, json_t **ret, const struct err *e)
{
	*ret = doc;
	if (doc)
		return 0;
	if (e->code < 0)
		return e->code;
	return -EIO;
}

static int served_alert_list(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return served_given_or(alerts_document(client, e), ret, e);
}

static int served_silence_list(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return served_given_or(silences_document(client, served_flag(ask, "all"), e), ret, e);
}

static int served_event_list(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return served_given_or(
		events_document(client, served_get(ask, "kind"), served_get(ask, "device"), e), ret,
		e);
}

static const struct served_param silence_params[] = {
	{"all", "also those that have ended", false},
	{0},
};
static const struct served_param event_params[] = {
	{"kind", "only events of this kind, with * and ?: change, incident, alert_*, agent_*",
		false},
	{"device", "only events of this device, with * and ?", false},
	{0},
};

static const struct served_document rows[] = {
	{.path = "alerts",
		.schema = "alert-list",
		.summary = "Each receiver of alerts: whether it answers, what waits, and what it "
			   "got last.",
		.span_ns = ALERT_SPAN_NS,
		.make = served_alert_list},
	{.path = "silences",
		.schema = "silence-list",
		.summary = "What is silenced, by whom, until when and why.",
		.params = silence_params,
		.span_ns = ALERT_SPAN_NS,
		.make = served_silence_list},
	{.path = "event/list", /* /api/v1/events is the live stream */
		.summary = "What happened: incidents, changes that people noted, the agent's own "
			   "life, alerts.",
		.params = event_params,
		.span_ns = ALERT_SPAN_NS,
		.make = served_event_list},
};

const struct served_group served_alerts = {.rows = rows, .n_rows = rw_countof(rows)};
