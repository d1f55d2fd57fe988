/*
 * watch_frame - the document behind every live surface: terminal, web page, exported metrics. Only
 * what is measured is shown: a signal that is not collected says so, and one with an open incident
 * is never good.
 */
#include "agent/reports/watch_frame.h"

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/reports/agent_state.h"
#include "agent/reports/status.h"
#include "agent/reports/text.h"
#include "agent/reports/watch_incidents.h"
#include "agent/reports/watch_now.h"
#include "agent/reports/watch_past.h"
#include "config/config.h"

/* ---- the one word at the top ------------------------------------------------ */

struct watch_verdict {
	const char *state;
	struct str why;
};

static size_t watch_rank(const char *state)
{
	static const char *const order[] = {"ok", "unknown", "warning", "critical"};
	for (size_t i = 0; i < rw_countof(order); i++)
		if (str_eq(order[i], state))
			return i;
	return 0;
}

static bool watch_worse(const struct watch_verdict *verdict, const char *state)
{
	return watch_rank(state) > watch_rank(verdict->state);
}

static void watch_judge_incidents(struct watch_verdict *verdict, const json_t *incidents)
{
	const json_t *row, *worst = NULL;
	const size_t n = json_array_size(incidents);
	size_t i;
	json_array_foreach (incidents, i, row)
		if (!worst ||
			(str_eq(doc_word(row, "severity"), "critical") &&
				!str_eq(doc_word(worst, "severity"), "critical")))
			worst = row;
	if (!worst)
		return;
	verdict->state = "warning";
	if (str_eq(doc_word(worst, "severity"), "critical"))
		verdict->state = "critical";
	str_addf(&verdict->why, "%zu open incident%s: %s", n, plural(n),
		doc_word(worst, "headline"));
}

static void watch_judge_signals(struct watch_verdict *verdict, const json_t *signals)
{
	const json_t *row;
	size_t i;
	json_array_foreach (signals, i, row) {
		const char *state = doc_word(row, "state");
		if (str_eq(state, "unknown") || !watch_worse(verdict, state))
			continue;
		verdict->state = golden_state_name(GOLDEN_WARNING);
		if (str_eq(state, golden_state_name(GOLDEN_CRITICAL)))
			verdict->state = golden_state_name(GOLDEN_CRITICAL);
		const char *place = doc_word(row, "where");
		if (!*place)
			place = text_of(row, "why");
		str_done(&verdict->why);
		str_addf(&verdict->why, "%s: %s", doc_word(row, "signal"), place);
	}
}

/* Signals without which a fabric is not known to be well. */
static void watch_judge_blindness(struct watch_verdict *verdict, const json_t *signals)
{
	size_t known = 0, i;
	const json_t *row;
	json_array_foreach (signals, i, row)
		known += !str_eq(doc_word(row, "state"), "unknown");
	if (known || !watch_worse(verdict, "unknown"))
		return;
	verdict->state = "unknown";
	str_add(&verdict->why, "no counter had a value in this window");
}

static void watch_judge_devices(struct watch_verdict *verdict, const json_t *quality)
{
	const long long down = text_count(quality, "down") + text_count(quality, "captures_down");
	const long long unknown =
		text_count(quality, "unknown") + text_count(quality, "captures_unknown");
	if (down && watch_worse(verdict, "warning")) {
		verdict->state = "warning";
		str_done(&verdict->why);
		str_addf(&verdict->why, "%lld device%s or capture%s down", down,
			plural((uint64_t)down), plural((uint64_t)down));
	}
	if (unknown && watch_worse(verdict, "unknown")) {
		verdict->state = "unknown";
		str_done(&verdict->why);
		str_addf(&verdict->why, "%lld device%s or capture%s not known to be up", unknown,
			plural((uint64_t)unknown), plural((uint64_t)unknown));
	}
}

/* What is open and measured was so when the data ended; nobody knows whether it still is. */
static void watch_judge_agent(struct watch_verdict *verdict, const json_t *agent, bool past)
{
	const bool stopped = str_eq(doc_word(agent, "state"), "stopped") && !past;
	if (agent_is_stuck(agent) && watch_worse(verdict, "warning")) {
		verdict->state = "warning"; /* unknown, once what was read is too old */
		str_done(&verdict->why);
		agent_state_text(agent, &verdict->why);
	}
	if (!stopped && !json_is_true(json_object_get(agent, "stale")))
		return;
	verdict->state = "unknown";
	str_done(&verdict->why);
	agent_state_text(agent, &verdict->why);
}

/* The worst of what is open and measured, and never better than what is known. */
static void watch_judge(json_t *doc, bool past)
{
	struct watch_verdict verdict = {.state = "ok"};
	watch_judge_incidents(&verdict, json_object_get(doc, "incidents"));
	watch_judge_signals(&verdict, json_object_get(doc, "signals"));
	watch_judge_devices(&verdict, json_object_get(doc, "data_quality"));
	watch_judge_blindness(&verdict, json_object_get(doc, "signals"));
	watch_judge_agent(&verdict, json_object_get(doc, "agent"), past);
	json_object_set_new(doc, "state", json_string(verdict.state));
	json_object_set_new(doc, "state_why", json_string_or_null(verdict.why.s));
	str_done(&verdict.why);
}

/* Since when nothing is known: "the agent stopped", at once, or "the data ended", once they are
 * stale; NULL: the data are of now, or of the past that was asked for. */
static const char *watch_ended(const json_t *doc, bool past)
{
	const json_t *agent = json_object_get(doc, "agent");
	if (str_eq(doc_word(agent, "state"), "stopped") && !past)
		return "the agent stopped";
	if (agent_is_stuck(agent) && json_is_true(json_object_get(agent, "stale")))
		return "the agent could no longer write";
	if (json_is_true(json_object_get(agent, "stale")))
		return "the data ended";
	return NULL;
}

/* A signal that was quiet when @ended may be anything now. */
static void watch_age_signals(json_t *doc, const char *ended)
{
	json_t *signal;
	size_t i;
	json_array_foreach (json_object_get(doc, "signals"), i, signal) {
		const char *state = doc_word(signal, "state");
		if (!str_eq(state, "ok") && !str_eq(state, "idle"))
			continue;
		rw_cleanup(str_done) struct str why = {0};
		str_addf(&why, "was %s when %s", state, ended);
		json_object_set_new(signal, "why", json_string(why.s));
		json_object_set_new(signal, "state", json_string("unknown"));
	}
}

static void watch_age_jobs(json_t *doc)
{
	static const char *const numbers[] = {"step_s", "change_ratio", "exchange_s"};
	json_t *job;
	size_t i;
	json_array_foreach (json_object_get(doc, "jobs"), i, job) {
		json_object_set_new(job, "state", json_string("unknown"));
		for (size_t k = 0; k < rw_countof(numbers); k++)
			json_object_set_new(job, numbers[k], json_null());
	}
}

/* ---- the frame ---------------------------------------------------------------- */

static void watch_put_now(json_t *doc, const struct watch_now *now, struct arena *a)
{
	json_t *window = json_object();
	json_object_set_new(window, "from", json_time(now->window.from_ns));
	json_object_set_new(window, "to", json_time(now->window.to_ns));
	json_object_set_new(doc, "window", window);
	json_object_set_new(doc, "signals", watch_signals_json(&now->measured));
	json_object_set_new(doc, "paused", watch_paused_json(&now->measured));
	json_object_set_new(doc, "uplinks", watch_uplinks_json(now, a));
}

static int watch_put_incidents(json_t *doc, struct client *client, struct err *e)
{
	json_t *incidents = watch_incidents_read(client, e);
	if (!incidents)
		return -1;
	json_t *events = watch_events_read(client, e);
	if (!events) {
		json_decref(incidents);
		return -1;
	}
	json_object_set_new(doc, "incidents", incidents);
	json_t *open = json_null();
	if (!config_judged_elsewhere(client->config))
		open = json_integer((json_int_t)json_array_size(incidents));
	json_object_set_new(doc, "open_incidents", open);
	json_object_set_new(doc, "money", watch_money(incidents));
	json_object_set_new(doc, "events", events);
	return 0;
}

/* What is usual, and the jobs; then what incidents say of all of them. */
static int watch_put_past(json_t *doc, struct client *client, struct err *e)
{
	struct watch_past *past = watch_past_read(client, e);
	if (!past)
		return -1;
	json_t *signals = json_object_get(doc, "signals");
	const json_t *incidents = json_object_get(doc, "incidents");
	watch_past_apply(past, signals, incidents);
	json_t *jobs = watch_jobs(past, client, incidents);
	watch_apply_jobs(signals, jobs, incidents, client);
	json_object_set_new(doc, "jobs", jobs);
	watch_apply_incidents(signals, json_object_get(doc, "paused"), incidents);
	watch_past_free(past);
	return 0;
}

json_t *watch_frame_of(struct client *client, struct watch_now *now, struct arena *a, struct err *e)
{
	json_t *doc = status_document(client, e);
	if (!doc)
		return NULL;
	int rc = watch_now_read(client, a, now, e);
	if (rc == 0) {
		watch_put_now(doc, now, a);
		rc = watch_put_incidents(doc, client, e);
	}
	if (rc == 0)
		rc = watch_put_past(doc, client, e);
	if (rc < 0) {
		json_decref(doc);
		return NULL;
	}
	watch_judge(doc, client->past);
	const char *ended = watch_ended(doc, client->past);
	if (ended) {
		watch_age_signals(doc, ended);
		watch_age_jobs(doc);
	}
	return doc;
}

json_t *watch_frame(struct client *client, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct watch_now now;
	return watch_frame_of(client, &now, a, e);
}
