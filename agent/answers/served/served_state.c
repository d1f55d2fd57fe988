/* served_state - the documents about the present and what happened: the frame of the screen, the
 * devices, the health of the agent; counters; alerts, silences, events; the past of metrics. */
#include "agent/answers/doctor/doctor.h"

#include "agent/answers/common/served.h"
#include "agent/answers/status/status.h"
#include "agent/answers/watch/watch_frame.h"
#include "agent/answers/counters/counters_document.h"
#include "db/model/entity.h"
#include "agent/answers/alerts/alert_views.h"
#include "agent/answers/query/query.h"

#define STATE_SPAN_NS (15 * 60 * NS_PER_S)

/* The makers of these documents return NULL with @e filled. */
static int served_made(json_t *doc, json_t **ret, const struct err *e)
{
	*ret = doc;
	if (doc)
		return 0;
	if (e->code < 0)
		return e->code;
	return -EIO;
}

static int served_watch(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return served_made(watch_frame(client, e), ret, e);
}

static int served_status(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return served_made(status_document(client, e), ret, e);
}

static int served_doctor(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return served_made(doctor_document(client, e), ret, e);
}

static const struct served_document rows[] = {
	{.path = "watch",
		.quick = true,
		.summary = "The frame of the live screen: state, golden signals, top paused ports, "
			   "busiest uplinks, jobs and open incidents.",
		.span_ns = STATE_SPAN_NS,
		.make = served_watch},
	{.path = "status",
		.quick = true,
		.summary =
			"Each device and capture with its age and the reason why it is down, and "
			"the open incidents.",
		.span_ns = STATE_SPAN_NS,
		.make = served_status},
	{.path = "doctor",
		.summary = "Health of the agent, its targets, captures and store, and what to do.",
		.span_ns = STATE_SPAN_NS,
		.make = served_doctor},
};

const struct served_group served_state = {.rows = rows, .n_rows = rw_countof(rows)};

/* ---- counters -------------------------------------------------------------- */

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

static const struct served_param counter_params[] = {
	{"device", "only these devices, a glob", false},
	{"port", "only these ports, a glob of their name or alias", false},
	{"priority", "only this priority, 0 to 7", false},
	{"job", "only ports of hosts of these jobs, a glob", false},
	{0},
};

static const struct served_document counter_rows[] = {
	{.path = "counters",
		.summary = "Drops, errors, flaps, ECN marks per port and priority in the range.",
		.params = counter_params,
		.span_ns = COUNTERS_SPAN_NS,
		.make = served_counters_make},
};

const struct served_group served_counters = {
	.rows = counter_rows, .n_rows = rw_countof(counter_rows)};

/* ---- alerts, silences, events ---------------------------------------------- */

#define ALERT_SPAN_NS (24 * 3600 * NS_PER_S)

static int served_alert_list(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return served_made(alerts_document(client, e), ret, e);
}

static int served_silence_list(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return served_made(silences_document(client, served_flag(ask, "all"), e), ret, e);
}

static int served_event_list(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return served_made(
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

static const struct served_document alert_rows[] = {
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

const struct served_group served_alerts = {.rows = alert_rows, .n_rows = rw_countof(alert_rows)};

/* ---- the past of metrics --------------------------------------------------- */

#define QUERY_SPAN_NS (3600 * NS_PER_S)
#define QUERY_ROWS_MAX 100000 /* about 15 MB of JSON */

static int served_query_print(
	struct client *client, const struct served_ask *ask, FILE *file, struct err *e)
{
	const struct query_ask asked = {.metric = served_get(ask, "metric"),
		.device = served_get(ask, "device"),
		.port = served_get(ask, "port"),
		.priority = served_get(ask, "priority"),
		.step = served_get(ask, "step"),
		.agg = served_get(ask, "agg"),
		.by = served_get(ask, "by"),
		.join = served_get(ask, "join"),
		.top = served_get(ask, "top"),
		.rate = served_flag(ask, "rate")};
	struct query_out out = {.format = FORMAT_JSON, .file = file, .rows_max = QUERY_ROWS_MAX};
	return query_run(client, &asked, &out, e);
}

static int served_query_make(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	rw_cleanup(freep) char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	if (!out)
		return -ENOMEM;
	const int rc = served_query_print(client, ask, out, e);
	fclose(out);
	if (rc < 0)
		return rc;
	/* Counters above 2^63 fit no JSON integer here. */
	*ret = json_loadb(text, n, 0, NULL);
	if (!*ret)
		*ret = json_loadb(text, n, JSON_DECODE_INT_AS_REAL, NULL);
	if (*ret)
		return 0;
	return err_set(e, -EIO, "the rows cannot be read as JSON");
}

static int served_query_list(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	*ret = query_list_json();
	return 0;
}

static const struct served_param query_params[] = {
	{"metric", "names or globs of metrics, with commas; query/list names them", true},
	{"device", "only devices whose name matches, a glob", false},
	{"port", "only ports whose name or alias matches, a glob", false},
	{"priority", "only this priority, 0 to 7", false},
	{"rate", "flag: counters as rate per second; an interval with a restart is a gap", false},
	{"step", "one row per step, such as 1m, aligned to multiples of it", false},
	{"agg",
		"what a step (without one: the whole range) becomes: mean, min, max, p50, p95, "
		"p99, increase, first, last, count or coverage",
		false},
	{"by", "lines: port, device, priority, host, job, role, rail or fabric", false},
	{"join", "with by: how several become one: sum, mean, min, max or count", false},
	{"top", "only so many lines, those with the greatest values", false},
	{0},
};

static const struct served_document query_rows[] = {
	{.path = "query",
		.summary = "History of one metric as rows: samples, rates or steps; at most "
			   "100,000.",
		.params = query_params,
		.span_ns = QUERY_SPAN_NS,
		.make = served_query_make,
		.print = served_query_print},
	{.path = "query/list",
		.summary = "All metrics with their unit and meaning.",
		.span_ns = QUERY_SPAN_NS,
		.make = served_query_list},
};

const struct served_group served_query = {.rows = query_rows, .n_rows = rw_countof(query_rows)};
