/* alert_views - alerts, silences and events of the database, as documents and as tables. */
#include "agent/answers/alerts/alert_views.h"

#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/incident/silence.h"
#include "config/config.h"
#include "db/model/finding.h"
#include "db/series/history.h"

#define ALERTS_SHOWN 200
#define EVENTS_SHOWN 1000

/* ---- rows to documents --------------------------------------------------- */

static bool number_is_whole(const char *text)
{
	return text[strspn(text, "-0123456789")] == '\0' && *text;
}

/* One row as an object. A column whose name ends in "_ns" becomes a time without that end, one that
 * ends in "_n" a whole number. */
static int alert_take_object(void *arg, int n, char *const *values, char *const *names)
{
	json_t *o = json_object();
	for (int i = 0; i < n; i++) {
		rw_cleanup(str_done) struct str key = {0};
		json_t *value = json_null();
		const size_t length = strlen(names[i]);
		const bool time = length > 3 && str_eq(names[i] + length - 3, "_ns");
		const bool count = length > 2 && str_eq(names[i] + length - 2, "_n");
		str_addn(&key, names[i], length - 3 * time - 2 * count);
		if (values[i] && time && number_is_whole(values[i]))
			value = json_time(strtoll(values[i], NULL, 10));
		else if (values[i] && count && number_is_whole(values[i]))
			value = json_integer(strtoll(values[i], NULL, 10));
		else if (values[i] && !time && !count)
			value = json_string_or_null(values[i]);
		json_object_set_new(o, key.s, value);
	}
	json_array_append_new(arg, o);
	return 0;
}

/* ---- alerts -------------------------------------------------------------- */

static int alert_take_figure(void *arg, int n, char *const *values, char *const *names)
{
	if (values[0] && values[1])
		json_object_set_new(arg, values[0], json_real(strtod(values[1], NULL)));
	return 0;
}

static double alert_figure(const json_t *health, const char *receiver, const char *key)
{
	rw_cleanup(str_done) struct str path = {0};
	str_addf(&path, "alert/%s/%s", receiver, key);
	const json_t *value = json_object_get(health, path.s);
	if (value)
		return json_number_value(value);
	return NAN;
}

static json_t *alert_count_json(double value)
{
	if (isfinite(value))
		return json_integer((json_int_t)value);
	return json_null();
}

/* The newest error among the alerts of a receiver. */
static const char *alert_error(const json_t *alerts, const char *receiver)
{
	const json_t *one;
	size_t k;
	json_array_foreach (alerts, k, one)
		if (str_eq(doc_word(one, "receiver"), receiver) && *doc_word(one, "error"))
			return doc_word(one, "error");
	return NULL;
}

static const char *alert_state(const struct client *client, double failing, double last_success_s)
{
	if (!client->agent_alive || isnan(failing))
		return "unknown";
	if (failing > 0)
		return "failing";
	if (isnan(last_success_s))
		return "idle";
	return "ok";
}

static json_t *alert_receiver_json(const struct client *client,
	const struct config_receiver *receiver, const json_t *health, const json_t *alerts)
{
	const double last_s = alert_figure(health, receiver->name, "last_success_s");
	const double failing = alert_figure(health, receiver->name, "failing");
	static const char *const counts[] = {"queued", "sent", "failed", "dropped"};
	json_t *o = json_object(), *last = json_null();
	json_object_set_new(o, "receiver", json_string_or_null(receiver->name));
	json_object_set_new(o, "kind", json_string(receiver->kind->name));
	json_object_set_new(o, "min_severity",
		json_string(severity_name((enum severity)receiver->min_severity)));
	json_object_set_new(o, "state", json_string(alert_state(client, failing, last_s)));
	for (size_t i = 0; i < rw_countof(counts); i++)
		json_object_set_new(o, counts[i],
			alert_count_json(alert_figure(health, receiver->name, counts[i])));
	if (isfinite(last_s))
		last = json_time((int64_t)(last_s * 1e9));
	json_object_set_new(o, "last_success", last);
	json_object_set_new(o, "error", json_string_or_null(alert_error(alerts, receiver->name)));
	return o;
}

json_t *alerts_document(struct client *client, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	json_t *alerts = json_array(), *receivers = json_array(), *health = json_object();
	str_addf(&sql,
		"SELECT receiver, incident_id AS incident, NULLIF(state,'') AS state, severity, "
		"NULLIF(pending,'') AS pending, CASE WHEN pending<>'' THEN pending_ns END AS "
		"pending_since_ns, NULLIF(sent_ns,0) AS sent_at_ns, sent AS sent_n, attempts AS "
		"attempts_n, error FROM alert ORDER BY updated_ns DESC, receiver, incident_id "
		"LIMIT %d",
		ALERTS_SHOWN);
	int rc = history_sql(client->history, sql.s, alert_take_object, alerts, e);
	if (rc == 0)
		rc = history_sql(client->history,
			"SELECT key, value FROM health WHERE key LIKE 'alert/%'", alert_take_figure,
			health, e);
	for (size_t i = 0; rc == 0 && client->config && i < client->config->alerts.n_receivers; i++)
		json_array_append_new(receivers,
			alert_receiver_json(
				client, &client->config->alerts.receivers[i], health, alerts));
	json_decref(health);
	if (rc == 0)
		return json_pack("{s:o, s:o}", "receivers", receivers, "alerts", alerts);
	json_decref(receivers);
	json_decref(alerts);
	return NULL;
}

static const struct column alerts_columns[] = {
	{"receiver", "receiver", COL_TEXT, false},
	{"kind", "kind", COL_TEXT, false},
	{"state", "state", COL_TEXT, false},
	{"queued", "queued", COL_INT, true},
	{"sent", "sent", COL_INT, true},
	{"failed", "failed", COL_INT, true},
	{"dropped", "dropped", COL_INT, true},
	{"last_success", "last success", COL_TIME, false},
	{"error", "error", COL_TEXT, false},
};
const struct view alerts_view = {
	.title = "receivers of alerts",
	.rows = "receivers",
	.columns = alerts_columns,
	.n_columns = rw_countof(alerts_columns),
	.empty = "no receiver of alerts is configured; see 'alerts:' (docs/alerts.md)",
};

/* ---- silences ------------------------------------------------------------ */

json_t *silences_document(struct client *client, bool all, struct err *e)
{
	rw_cleanup(silences_done) struct silences silences = {0};
	json_t *list = json_array();
	if (silences_load(client->history, &silences, e) != 0) {
		json_decref(list);
		return NULL;
	}
	for (size_t i = 0; i < silences.n; i++)
		if (all || silences.v[i].until_ns > client->now_ns)
			json_array_append_new(list, silence_json(&silences.v[i], client->now_ns));
	return json_pack("{s:o}", "silences", list);
}

static const struct column silences_columns[] = {
	{"id", "id", COL_TEXT, false},
	{"state", "state", COL_TEXT, false},
	{"device", "device", COL_TEXT, false},
	{"port", "port", COL_TEXT, false},
	{"host", "host", COL_TEXT, false},
	{"job", "job", COL_TEXT, false},
	{"cause", "cause", COL_TEXT, false},
	{"from", "from", COL_TIME, false},
	{"until", "until", COL_TIME, false},
	{"by", "by", COL_TEXT, false},
	{"why", "why", COL_TEXT, false},
};
const struct view silences_view = {
	.title = "silences",
	.rows = "silences",
	.columns = silences_columns,
	.n_columns = rw_countof(silences_columns),
	.empty = "nothing is silenced",
};

/* ---- events -------------------------------------------------------------- */

static void sql_condition(struct str *out, const char *column, const char *glob)
{
	if (!glob)
		return;
	str_addf(out, " AND %s GLOB ", column);
	/* A value for SQL, with its quotes doubled. */
	str_add(out, "'");
	for (const char *p = glob; *p; p++)
		str_addn(out, *p == '\'' ? "''" : p, *p == '\'' ? 2 : 1);
	str_add(out, "'");
}

json_t *events_document(struct client *client, const char *kind, const char *device, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	json_t *events = json_array();
	str_addf(&sql,
		"SELECT t_ns, kind, who, text, device, port, job, NULLIF(incident_id,'') AS "
		"incident FROM (SELECT * FROM event WHERE t_ns BETWEEN %lld AND %lld",
		(long long)client->from_ns, (long long)client->to_ns);
	sql_condition(&sql, "kind", kind);
	sql_condition(&sql, "device", device);
	str_addf(&sql, " ORDER BY t_ns DESC, id DESC LIMIT %d) ORDER BY t_ns, id", EVENTS_SHOWN);
	if (history_sql(client->history, sql.s, alert_take_object, events, e) == 0)
		return json_pack("{s:o}", "events", events);
	json_decref(events);
	return NULL;
}

static const struct column events_columns[] = {
	{"t", "time", COL_TIME, false},
	{"kind", "kind", COL_TEXT, false},
	{"device", "device", COL_TEXT, false},
	{"port", "port", COL_TEXT, false},
	{"job", "job", COL_TEXT, false},
	{"who", "by", COL_TEXT, false},
	{"text", "text", COL_TEXT, false},
};
const struct view events_view = {
	.title = "events",
	.rows = "events",
	.columns = events_columns,
	.n_columns = rw_countof(events_columns),
	.empty = "no event in this time",
};
