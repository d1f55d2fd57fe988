/*
 * send_alertmanager - Prometheus Alertmanager, API v2: POST /api/v2/alerts takes a list, and knows
 * an alert by its labels, so sending one twice changes nothing. An open alert carries an end three
 * repetitions ahead: when this program is gone, its alerts end by themselves.
 *
 * An alert keeps the labels with which it began, as one with other labels would be another alert:
 * one begins, one ends. Its annotations say when its severity rose or its cause changed.
 *
 * An Alertmanager knows no acknowledgement. It is given a silence for this incident instead, so
 * that it stops to repeat its notification; the label "incident" never comes again.
 */
#include <jansson.h>

#include "agent/alert/sender.h"
#include "config/receiver_rows.h"
#include "agent/document/json_value.h"

#define BATCH 64
#define RESEND_NS (60 * NS_PER_S)
#define REPETITIONS 3 /* an alert ends when so many were missed */
#define ACK_SILENCE_NS (7 * 24 * 3600 * NS_PER_S)

static json_t *am_annotations(const struct alert_message *message)
{
	json_t *o = json_object();
	alert_put_text(o, "cause", message->cause);
	alert_put_text(o, "severity", severity_name(message->severity));
	alert_put_text(o, "headline", message->headline);
	alert_put_text(o, "summary", message->summary);
	alert_put_text(o, "runbook", message->runbook);
	alert_put_text(o, "runbook_url", alert_message_runbook_url(message));
	alert_put_text(o, "cost", message->cost);
	alert_put_text(o, "acknowledged_by", message->acked_by);
	alert_put_text(o, "note", message->why);
	if (message->n_steps)
		alert_put_text(o, "next_step", message->steps[0].text);
	return o;
}

/* @ends_ns: wall. */
static json_t *am_alert(const struct alert_message *message, int64_t ends_ns)
{
	json_t *o = json_object();
	int64_t starts_ns = message->opened_ns;
	if (starts_ns > ends_ns)
		starts_ns = ends_ns;
	json_object_set_new(o, "labels", json_loads(message->labels, 0, NULL));
	json_object_set_new(o, "annotations", am_annotations(message));
	json_object_set_new(o, "startsAt", json_time(starts_ns));
	json_object_set_new(o, "endsAt", json_time(ends_ns));
	alert_put_text(o, "generatorURL", message->url);
	return o;
}

static void am_add(json_t *alerts, const struct alert_message *message, int64_t now_ns)
{
	int64_t ends_ns = now_ns + REPETITIONS * message->resend_ns;
	if (message->resolved)
		ends_ns = now_ns;
	if (message->resolved && message->closed_ns && message->closed_ns < now_ns)
		ends_ns = message->closed_ns;
	json_array_append_new(alerts, am_alert(message, ends_ns));
}

static int am_post(const struct sender_ask *ask, const struct sender_login *login, const char *path,
	json_t *body, struct err *e)
{
	static const char *const headers[] = {"Content-Type: application/json"};
	rw_cleanup(str_done) struct str url = {0};
	rw_cleanup(freep) char *text = json_dumps(body, JSON_COMPACT);
	json_decref(body);
	size_t n = strlen(ask->to->url);
	while (n > 0 && ask->to->url[n - 1] == '/')
		n--;
	str_addf(&url, "%.*s%s", (int)n, ask->to->url, path);
	return sender_post(ask, login, url.s, text, headers, rw_countof(headers), e);
}

/* See above: the silence that stands for an acknowledgement. */
static int am_silence(const struct sender_ask *ask, const struct sender_login *login,
	const struct alert_message *message, struct err *e)
{
	json_t *matcher = json_pack("{s:s, s:s, s:b, s:b}", "name", "incident", "value",
		message->id, "isRegex", 0, "isEqual", 1);
	json_t *body = json_pack("{s:[o], s:o, s:o, s:s, s:s}", "matchers", matcher, "startsAt",
		json_time(message->time_ns), "endsAt", json_time(message->time_ns + ACK_SILENCE_NS),
		"createdBy", str_or(message->acked_by, "rocewatch"), "comment",
		"acknowledged in rocewatch");
	if (!body)
		return err_set(e, -EBADMSG, "the name of who acknowledged it is not UTF-8");
	return am_post(ask, login, "/api/v2/silences", body, e);
}

static int alertmanager_send(const struct sender_ask *ask, struct err *e)
{
	rw_cleanup(sender_login_done) struct sender_login login = {0};
	const int64_t now_ns = wall_now().ns;
	json_t *alerts = json_array();
	int rc = sender_login_read(ask->to, &login, e);
	for (size_t i = 0; i < ask->n; i++)
		am_add(alerts, ask->messages[i], now_ns);
	if (rc == 0)
		rc = am_post(ask, &login, "/api/v2/alerts", json_incref(alerts), e);
	for (size_t i = 0; rc == 0 && i < ask->n; i++)
		if (ask->messages[i]->event == ALERT_ACKNOWLEDGED)
			rc = am_silence(ask, &login, ask->messages[i], e);
	json_decref(alerts);
	return rc;
}

/* ---- its section of the configuration ---- */

static const struct field alertmanager_rows[] = {
	TEXT(config_receiver, url, "url", "Where alerts are sent (/api/v2/alerts is added).",
		.flags = FIELD_REQUIRED, .check = schema_check_url),
	LOGIN_ROWS,
	RECEIVER_ROWS,
};
TABLE(alertmanager_section, config_receiver, alertmanager_rows,
	"A Prometheus Alertmanager, or several that do not know each other. Of a cluster name one "
	"receiver per member.");

static void alertmanager_complete(struct build *build, struct config_receiver *receiver)
{
	if (!receiver->resend_ns)
		receiver->resend_ns = RESEND_NS;
}

const struct sender sender_alertmanager = {
	.options = {.section = "alerts",
		.name = "alertmanager",
		.receiver = &alertmanager_section,
		.complete = alertmanager_complete},
	.batch = BATCH,
	.heartbeat = true,
	.send = alertmanager_send,
};
