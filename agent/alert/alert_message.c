/* alert_message - texts of an incident, copied for a sender. */
#include "agent/alert/alert_message.h"

#include <jansson.h>

#include "agent/document/json_value.h"
#include "agent/incident/incident_json.h"
#include "db/model/entity.h"

static const char *const event_names[ALERT_EVENTS] = {
	[ALERT_NONE] = "",
	[ALERT_OPENED] = "opened",
	[ALERT_ESCALATED] = "escalated",
	[ALERT_CHANGED] = "changed",
	[ALERT_REMINDER] = "reminder",
	[ALERT_ACKNOWLEDGED] = "acknowledged",
	[ALERT_RESOLVED] = "resolved",
	[ALERT_TEST] = "test",
};

const char *alert_event_name(enum alert_event event)
{
	return event_names[event];
}

enum alert_event alert_event_parse(const char *word)
{
	for (int k = ALERT_OPENED; k < ALERT_EVENTS; k++)
		if (str_eq(event_names[k], word))
			return (enum alert_event)k;
	return ALERT_NONE;
}

const char *alert_message_word(const struct alert_message *message)
{
	if (message->event == ALERT_TEST)
		return "test";
	if (message->resolved)
		return "resolved";
	return severity_name(message->severity);
}

/* "pfc_storm" as "PfcStorm", the usual form of alert names. */
static void alert_message_name(struct str *out, const char *cause)
{
	bool upper = true;
	for (const char *p = cause; *p; p++) {
		char letter = *p;
		if (letter == '_') {
			upper = true;
			continue;
		}
		if (upper)
			letter = (char)toupper((unsigned char)letter);
		upper = false;
		str_addn(out, &letter, 1);
	}
}

const char *alert_message_runbook_url(const struct alert_message *message)
{
	if (message->runbook && strncmp(message->runbook, "http", 4) == 0)
		return message->runbook;
	return NULL;
}

/* ---- parts --------------------------------------------------------------- */

static const char *message_jobs(struct alert_message *message, const struct incident *incident)
{
	rw_cleanup(str_done) struct str jobs = {0};
	for (size_t i = 0; i < incident->n_jobs; i++)
		str_addf(&jobs, "%s%s", str_if(i, ", "), str_or(incident->jobs[i], "?"));
	return arena_strdup(message->arena, jobs.s);
}

static const char *message_cost(struct alert_message *message, const struct incident *incident)
{
	rw_cleanup(str_done) struct str cost = {0};
	if (!isfinite(incident->usd_total))
		return NULL;
	if (isfinite(incident->usd_per_hour) && incident->state != INCIDENT_CLOSED)
		str_addf(&cost, "%.0f USD/h, ", incident->usd_per_hour);
	str_addf(&cost, "%.0f USD", incident->usd_total);
	if (incident->state != INCIDENT_CLOSED)
		str_add(&cost, " so far");
	return arena_strdup(message->arena, cost.s);
}

static void message_steps(struct alert_message *message, const struct incident *incident)
{
	struct alert_step *steps =
		arena_array(message->arena, struct alert_step, incident->n_next_steps);
	for (size_t i = 0; i < incident->n_next_steps; i++) {
		steps[i].text = arena_strdup(message->arena, incident->next_steps[i].text);
		steps[i].risk = arena_strdup(message->arena, incident->next_steps[i].risk);
	}
	message->steps = steps;
	message->n_steps = incident->n_next_steps;
}

static const char *message_dump(struct alert_message *message, json_t *document)
{
	rw_cleanup(freep) char *text = json_dumps(document, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(document);
	return arena_strdup(message->arena, str_or(text, "{}"));
}

/* As `incident show` has it. */
static const char *message_document(struct alert_message *message, const struct incident *incident)
{
	json_t *document = incident_json(incident);
	json_object_del(document, "progress");
	json_object_set_new(document, "runbook", json_string_or_null(message->runbook));
	return message_dump(message, document);
}

static const char *message_url(struct alert_message *message, const struct alert_context *context)
{
	if (!context->web_url)
		return NULL;
	size_t n = strlen(context->web_url);
	while (n > 0 && context->web_url[n - 1] == '/')
		n--;
	return arena_printf(
		message->arena, "%.*s/#/incident/%s", (int)n, context->web_url, message->id);
}

static const char *message_runbook(
	struct alert_message *message, const struct alert_context *context)
{
	rw_cleanup(str_done) struct str runbook = {0};
	runbook_link_add(&runbook, context->runbook_url, context->web_url, message->cause);
	return arena_strdup(message->arena, runbook.s);
}

/* One (incident, receiver, number) is one delivery, however often it is tried. */
static const char *message_delivery(
	struct alert_message *message, const struct alert_context *context)
{
	const uint64_t hash =
		hash_bytes(context->receiver, strlen(context->receiver), (uint64_t)context->sent);
	return arena_printf(message->arena, "%s-%d-%08x", message->id, context->sent + 1,
		(unsigned)(hash & 0xffffffff));
}

/* ---- labels -------------------------------------------------------------- */

void alert_put_text(json_t *labels, const char *key, const char *text)
{
	if (text && *text)
		json_object_set_new(labels, key, json_string_or_null(text));
}

/* @name NULL: that of the cause. */
static const char *message_labels(struct alert_message *message, const char *name)
{
	rw_cleanup(str_done) struct str of_cause = {0};
	json_t *labels = json_object();
	alert_message_name(&of_cause, message->cause);
	alert_put_text(labels, "alertname", str_or(name, of_cause.s));
	alert_put_text(labels, "fabric", message->fabric);
	alert_put_text(labels, "severity", severity_name(message->severity));
	alert_put_text(labels, "device", message->device);
	alert_put_text(labels, "port", message->port);
	alert_put_text(labels, "group", message->group);
	alert_put_text(labels, "host", message->host);
	alert_put_text(labels, "training_job", message->jobs);
	alert_put_text(labels, "incident", message->id);
	if (message->priority != PRIO_NONE) {
		char priority[16];
		snprintf(priority, sizeof(priority), "%d", message->priority);
		alert_put_text(labels, "priority", priority);
	}
	return message_dump(message, labels);
}

/* The name under which the incident was told first; NULL: it was not told yet. The caller frees. */
static char *message_first_name(const struct alert_context *context)
{
	if (!context->labels)
		return NULL;
	json_t *labels = json_loads(context->labels, 0, NULL);
	const char *name = NULL;
	char *copy = NULL;
	if (labels && json_unpack(labels, "{s:s}", "alertname", &name) == 0)
		copy = rw_strdup(name);
	json_decref(labels);
	return copy;
}

/* An alert keeps the labels with which it began: for an Alertmanager another set is another alert.
 * A rise of its severity and another cause are told inside it. */
static void message_set_labels(struct alert_message *message, const struct alert_context *context)
{
	if (context->labels && context->event != ALERT_OPENED) {
		message->labels = arena_strdup(message->arena, context->labels);
		return;
	}
	rw_cleanup(freep) char *name = message_first_name(context);
	message->labels = message_labels(message, name);
}

/* ---- a message ----------------------------------------------------------- */

static struct alert_message *message_blank(const struct alert_context *context)
{
	struct arena *arena = arena_new();
	struct alert_message *m = arena_new_of(arena, struct alert_message);
	m->arena = arena;
	m->event = context->event;
	m->fabric = arena_strdup(m->arena, context->fabric);
	m->why = arena_strdup(m->arena, context->why);
	m->time_ns = context->time_ns;
	m->resend_ns = context->resend_ns;
	m->priority = PRIO_NONE;
	return m;
}

struct alert_message *alert_message_new(
	const struct incident *incident, const struct alert_context *context)
{
	struct alert_message *m = message_blank(context);
	rw_cleanup(freep) char *headline = incident_headline(incident);
	m->severity = incident->severity;
	m->first = context->sent == 0;
	m->resolved = context->event == ALERT_RESOLVED;
	m->id = arena_strdup(m->arena, incident->id);
	m->cause = arena_strdup(m->arena, cause_name(incident->cause));
	m->device = arena_strdup(m->arena, incident->device);
	m->port = arena_strdup(m->arena, incident->port);
	m->host = arena_strdup(m->arena, incident->host);
	m->group = arena_strdup(m->arena, incident->group);
	m->jobs = message_jobs(m, incident);
	m->priority = incident->priority;
	m->headline = arena_strdup(m->arena, headline);
	m->summary = arena_strdup(m->arena, str_or(incident->summary, headline));
	m->cost = message_cost(m, incident);
	m->acked_by = arena_strdup(m->arena, incident->acked_by);
	m->opened_ns = incident->opened_ns;
	m->closed_ns = incident->closed_ns;
	m->url = message_url(m, context);
	m->runbook = message_runbook(m, context);
	m->delivery = message_delivery(m, context);
	message_steps(m, incident);
	message_set_labels(m, context);
	m->document = message_document(m, incident);
	return m;
}

struct alert_message *alert_message_test(const struct alert_context *context)
{
	struct alert_message *m = message_blank(context);
	m->event = ALERT_TEST;
	m->severity = SEV_WARNING;
	m->id = "testtest";
	m->cause = "test";
	m->headline = "test of the receiver: nothing is wrong";
	m->summary = arena_printf(m->arena,
		"This is a test of the receiver %s by 'rocewatch alert test'. Nothing is wrong.",
		context->receiver);
	m->opened_ns = context->time_ns;
	m->url = arena_strdup(m->arena, context->web_url);
	m->delivery = arena_printf(m->arena, "test-%lld", (long long)context->time_ns);
	message_set_labels(m, context);
	m->document = message_dump(m,
		json_pack("{s:s, s:s, s:s, s:s, s:s}", "id", m->id, "cause", m->cause, "severity",
			"warning", "state", "open", "summary", m->summary));
	return m;
}

void alert_message_free(struct alert_message *message)
{
	if (message)
		arena_free(message->arena); /* @message itself is in it */
}
