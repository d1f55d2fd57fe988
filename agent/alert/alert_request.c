/* alert_request - what commands ask of the agent about silences, events and tests of receivers. */
#include <errno.h>
#include <string.h>

#include "agent/alert/alert.h"
#include "agent/alert/alert_internal.h"
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "agent/incident/change.h"
#include "db/store/store.h"

struct request {
	struct alert *alert;
	const char *who;
	const json_t *json;
	wall_t now;
};

static json_t *request_refuse(const char *text)
{
	return json_pack("{s:b, s:s}", "ok", 0, "error", text);
}

static json_t *request_silence_add(const struct request *r)
{
	struct silence silence;
	struct err e = {0};
	if (silence_read(r->json, r->who, r->now.ns, &silence, &e) != 0)
		return request_refuse(e.text);
	silences_put(&r->alert->silences, &silence);
	silence_store(r->alert->store, &silence, "silence_added", r->now.ns);
	return json_pack("{s:b, s:o}", "ok", 1, "silence", silence_json(&silence, r->now.ns));
}

static json_t *request_silence_expire(const struct request *r)
{
	const char *id = json_string_value(json_object_get(r->json, "id"));
	struct silence ended;
	struct err e = {0};
	if (silence_end(&r->alert->silences, str_or(id, ""), r->who, r->now.ns, &ended, &e) != 0)
		return request_refuse(e.text);
	silence_store(r->alert->store, &ended, "silence_expired", r->now.ns);
	return json_pack("{s:b, s:o}", "ok", 1, "silence", silence_json(&ended, r->now.ns));
}

static json_t *request_event_add(const struct request *r)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct store_change change;
	struct err e = {0};
	if (change_read(r->json, r->who, r->now.ns, a, &change, &e) != 0)
		return request_refuse(e.text);
	store_change_event(r->alert->store, &change);
	return json_pack("{s:b}", "ok", 1);
}

/* The receiver that is meant; NULL with a reply. */
static struct alert_receiver *request_receiver(const struct request *r, json_t **ret_refused)
{
	const struct alert *alert = r->alert;
	const char *name = json_string_value(json_object_get(r->json, "receiver"));
	rw_cleanup(str_done) struct str text = {0};
	if (!name && alert->n_receivers == 1)
		return &alert->receivers[0];
	struct alert_receiver *found = NULL;
	if (name)
		found = alert_receiver_find(alert, name);
	if (found)
		return found;
	if (alert->n_receivers == 0)
		str_add(&text, "no receiver is configured; see 'alerts:' (docs/alerts.md)");
	else
		str_addf(&text, "%s%.64s%s expected one of", str_if(name, "unknown receiver '"),
			str_or(name, "several receivers are configured;"), str_if(name, "';"));
	for (size_t i = 0; i < alert->n_receivers; i++)
		str_addf(&text, "%s %s", str_if(i, ","), alert->receivers[i].name);
	*ret_refused = request_refuse(text.s);
	return NULL;
}

static json_t *request_test(const struct request *r)
{
	struct alert *alert = r->alert;
	json_t *refused = NULL;
	struct alert_receiver *receiver = request_receiver(r, &refused);
	if (!receiver)
		return refused;
	const struct alert_context context = {.event = ALERT_TEST,
		.fabric = alert->fabric,
		.receiver = receiver->name,
		.web_url = alert->web_url,
		.time_ns = r->now.ns,
		.resend_ns = receiver->config->resend_ns};
	struct receiver_job *job = receiver_job_new(alert_message_test(&context), receiver->name);
	job->ticket = alert->test.ticket + 1;
	if (!receiver_give(receiver->thread, job)) {
		receiver_job_free(job);
		return request_refuse("no thread can be made for it");
	}
	alert->test = (struct alert_test_run){.ticket = alert->test.ticket + 1};
	return json_pack("{s:b, s:I, s:s, s:f}", "ok", 1, "ticket", (json_int_t)alert->test.ticket,
		"receiver", receiver->name, "timeout_s",
		(double)receiver->config->timeout_ns / 1e9);
}

static json_t *request_result(const struct request *r)
{
	const struct alert_test_run *test = &r->alert->test;
	const json_int_t ticket = json_integer_value(json_object_get(r->json, "ticket"));
	if (ticket <= 0 || (uint64_t)ticket != test->ticket)
		return request_refuse("another test was asked for meanwhile; try again");
	return json_pack("{s:b, s:b, s:b, s:s, s:f}", "ok", 1, "done", test->done, "delivered",
		test->done && test->rc == 0, "text", test->text, "took_s",
		(double)test->took_ns / 1e9);
}

static const struct {
	const char *cmd;
	json_t *(*fn)(const struct request *request);
} alert_requests[] = {
	{"silence_add", request_silence_add},
	{"silence_expire", request_silence_expire},
	{"event_add", request_event_add},
	{"alert_test", request_test},
	{"alert_result", request_result},
};

json_t *alert_request(
	struct alert *alert, const char *cmd, const char *who, const json_t *request, wall_t now)
{
	const struct request r = {alert, who, request, now};
	for (size_t i = 0; alert && i < rw_countof(alert_requests); i++)
		if (str_eq(alert_requests[i].cmd, cmd))
			return alert_requests[i].fn(&r);
	return NULL;
}
