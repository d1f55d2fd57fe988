/* agent_state - who writes the database and how old its data is. */
#include "agent/reports/agent_state.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"
#include "config/config.h"
#include "db/series/history.h"

/* As in status: what missed three intervals is no longer known. */
enum { AGENT_STALE_INTERVALS = 3 };
#define STALE_LEAST_NS (15 * NS_PER_S) /* commits and clocks of two hosts */

static const char *const agent_state_names[] = {
	[AGENT_RUNNING] = "running",
	[AGENT_STOPPED] = "stopped",
	[AGENT_CANNOT_TELL] = "cannot_tell",
	[STORE_REPLAY] = "replay",
};

/* ---- the newest sample --------------------------------------------------- */

static int agent_take_time(void *arg, const char *device, int64_t newest_ns, int64_t before_ns)
{
	struct agent_state *state = arg;
	if (!state->has_data || newest_ns > state->data_ns)
		state->data_ns = newest_ns;
	state->has_data = true;
	return 0;
}

static int agent_take_kind(void *arg, int n, char *const *words, char *const *names)
{
	*(bool *)arg = str_eq(words[0], "agent_stop");
	return 0;
}

/* Whether an agent ran at a past time: the newest of its starts and stops says so, and data of that
 * time that it did not just die. */
static int agent_past_state(struct client *client, struct agent_state *state, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	bool stopped = false;
	str_addf(&sql,
		"SELECT kind FROM events WHERE t_ns<=%lld AND kind IN ('agent_start','agent_stop') "
		"ORDER BY t_ns DESC LIMIT 1",
		(long long)client->at_ns);
	int r = history_sql(client->history, sql.s, agent_take_kind, &stopped, e);
	state->state = agent_state_names[AGENT_CANNOT_TELL];
	if (stopped)
		state->state = agent_state_names[AGENT_STOPPED];
	else if (!state->stale)
		state->state = agent_state_names[AGENT_RUNNING];
	return r;
}

static int64_t agent_stale_limit_ns(const struct client *client)
{
	int64_t limit_ns = 0;
	if (client->config)
		limit_ns = AGENT_STALE_INTERVALS * config_interval(client->config);
	if (limit_ns < STALE_LEAST_NS)
		return STALE_LEAST_NS;
	return limit_ns;
}

static void agent_judge_age(const struct client *client, struct agent_state *state)
{
	if (state->has_data)
		state->age_ns = client->at_ns - state->data_ns;
	if (state->age_ns < 0)
		state->age_ns = 0; /* the clocks of two hosts differ */
	const bool judged = client->past || client->agent != STORE_REPLAY;
	state->stale = judged && (!state->has_data || state->age_ns > agent_stale_limit_ns(client));
}

int agent_state_read(struct client *client, struct agent_state *ret, struct err *e)
{
	int r = 0;
	*ret = (struct agent_state){.state = agent_state_names[client->agent],
		.inferred = client->agent == AGENT_CANNOT_TELL && client->agent_alive,
		.has_data = client->has_data,
		.data_ns = client->data_ns};
	if (client->past) {
		ret->has_data = false;
		r = history_newest(client->history, client->at_ns, agent_take_time, ret, e);
	}
	agent_judge_age(client, ret);
	if (r < 0 || !client->past || client->agent == STORE_REPLAY)
		return r;
	ret->inferred = true;
	return agent_past_state(client, ret, e);
}

/* ---- a refused reload ---------------------------------------------------- */

static int agent_take_refused(void *arg, int n, char *const *words, char *const *names)
{
	json_t **refused = arg;
	if (!words[0] || !words[1])
		return 0;
	json_decref(*refused);
	*refused = json_object();
	json_object_set_new(*refused, "t", json_time(strtoll(words[0], NULL, 10)));
	json_object_set_new(*refused, "text", json_string_or_null(words[1]));
	return 0;
}

/* The newest event about a configuration up to then is a refusal. */
static int agent_refused(struct client *client, json_t **ret, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	*ret = json_null();
	str_addf(&sql,
		"SELECT t_ns, text FROM (SELECT t_ns, kind, text FROM events WHERE t_ns<=%lld AND "
		"kind IN ('config_refused','config_reloaded','agent_start') ORDER BY t_ns DESC "
		"LIMIT 1) WHERE kind='config_refused'",
		(long long)client->at_ns);
	return history_sql(client->history, sql.s, agent_take_refused, ret, e);
}

/* ---- the object ---------------------------------------------------------- */

/* null where it is not known: the past, or no agent. */
static json_t *agent_store_json(const struct client *client)
{
	const struct store_state *state = &client->store;
	if (client->past || !state->running)
		return json_null();
	json_t *store = json_object();
	json_t *since = json_null(), *for_s = json_null(), *why = json_null();
	if (client->stuck_ns) {
		int64_t stuck_ns = client->now_ns - client->stuck_ns;
		if (stuck_ns < 0)
			stuck_ns = 0;
		since = json_time(client->stuck_ns);
		for_s = json_number_or_null((double)(stuck_ns / NS_PER_MS) / 1e3);
		why = json_string_or_null(client->stuck_why);
	}
	json_object_set_new(store, "state", json_string(client->stuck_ns ? "waiting" : "writing"));
	json_object_set_new(store, "since", since);
	json_object_set_new(store, "for_s", for_s);
	json_object_set_new(store, "reason", why);
	json_object_set_new(store, "pending_samples", json_integer((json_int_t)state->pending));
	json_object_set_new(store, "dropped_samples", json_integer((json_int_t)state->dropped));
	return store;
}

json_t *agent_state_json(struct client *client, struct err *e)
{
	struct agent_state state;
	json_t *refused = NULL;
	int r = agent_state_read(client, &state, e);
	if (r == 0)
		r = agent_refused(client, &refused, e);
	if (r < 0) {
		json_decref(refused);
		return NULL;
	}
	json_t *agent = json_object();
	json_t *pid = json_null(), *data_time = json_null(), *age_s = json_null();
	if (client->agent == AGENT_RUNNING && !client->past)
		pid = json_integer(client->writer_pid);
	if (state.has_data) {
		data_time = json_time(state.data_ns);
		age_s = json_number_or_null((double)(state.age_ns / NS_PER_MS) / 1e3);
	}
	json_object_set_new(agent, "state", json_string(state.state));
	json_object_set_new(agent, "pid", pid);
	json_object_set_new(agent, "inferred", json_boolean(state.inferred));
	json_object_set_new(agent, "past", json_boolean(client->past));
	json_object_set_new(agent, "data_time", data_time);
	json_object_set_new(agent, "data_age_s", age_s);
	json_object_set_new(agent, "stale", json_boolean(state.stale));
	json_object_set_new(agent, "store", agent_store_json(client));
	json_object_set_new(agent, "config_error", json_string_or_null(client->config_error));
	json_object_set_new(agent, "reload_refused", refused);
	return agent;
}

json_t *agent_running_json(const struct client *client)
{
	if (client->agent == AGENT_CANNOT_TELL || client->past)
		return json_null();
	return json_boolean(client->agent == AGENT_RUNNING);
}

/* ---- in words ------------------------------------------------------------ */

static void agent_add_age(const json_t *agent, const char *before, struct str *out)
{
	char age[32];
	const double age_s = doc_number(agent, "data_age_s");
	if (!json_is_number(json_object_get(agent, "data_age_s"))) {
		str_addf(out, "%sno data", before);
		return;
	}
	str_addf(out, "%sdata %s old", before,
		duration_format(age, sizeof(age), (int64_t)(age_s * 1e9)));
}

bool agent_is_stuck(const json_t *agent)
{
	return str_eq(doc_word(json_object_get(agent, "store"), "state"), "waiting");
}

static void agent_add_stuck(const json_t *agent, struct str *out)
{
	const json_t *store = json_object_get(agent, "store");
	char stuck[32];
	str_addf(out, "agent polls, but CANNOT WRITE for %s (%s)",
		duration_format(stuck, sizeof(stuck), (int64_t)(doc_number(store, "for_s") * 1e9)),
		doc_word(store, "reason"));
	if (json_is_string(json_object_get(agent, "data_time")))
		str_addf(out, "; what follows is as of %s",
			when_text(doc_word(agent, "data_time")).s);
	else
		str_add(out, "; there is no data yet");
}

void agent_state_text(const json_t *agent, struct str *out)
{
	const char *state = doc_word(agent, "state");
	const bool inferred = json_is_true(json_object_get(agent, "inferred"));
	if (json_is_true(json_object_get(agent, "past"))) {
		str_add(out, "the past");
		if (str_eq(state, "stopped"))
			str_add(out, ", no agent was running");
		agent_add_age(agent, ": ", out);
		return;
	}
	if (str_eq(state, "replay")) {
		str_add(out, "replay: as of its newest sample");
		return;
	}
	if (str_eq(state, "running") && agent_is_stuck(agent)) {
		agent_add_stuck(agent, out);
		return;
	}
	if (str_eq(state, "running")) {
		str_add(out, "agent running");
		if (json_is_true(json_object_get(agent, "stale")))
			agent_add_age(agent, ": ", out);
		return;
	}
	if (str_eq(state, "stopped"))
		str_add(out, "NO AGENT RUNNING");
	else if (inferred)
		str_add(out, "agent seems to run");
	else
		str_add(out, "cannot tell whether an agent runs");
	agent_add_age(agent, ": ", out);
}
