/* agent_state - who writes the database and how old its data is. */
#include "agent/answers/common/agent_state.h"

#include "config/config.h"
#include "db/series/history.h"

/* As in status: what missed three intervals is no longer known. */
enum { AGENT_STALE_INTERVALS = 3 };
#define STALE_LEAST_NS (15 * NS_PER_S) /* commits and clocks of two hosts */

static const char *const agent_state_words[] = {
	[AGENT_RUNNING] = "running",
	[AGENT_STOPPED] = "stopped",
	[AGENT_CANNOT_TELL] = "cannot_tell",
	[STORE_REPLAY] = "replay",
};

const char *agent_state_word(enum client_agent state)
{
	return agent_state_words[state];
}

/* ---- rows ------------------------------------------------------------------- */

#define SHAPE struct agent_store
static const struct field agent_store_fields[] = {
	TEXT(state, "`writing`, or `waiting`: nothing has reached the database lately.",
		.known = true),
	TIME(since, "Since when it waits."),
	NUMBER(for_s, UNIT_SECONDS, "How long it has waited."),
	TEXT(reason, "Why it waits."),
	COUNT(pending_samples, "Samples that wait to be written."),
	COUNT(dropped_samples, "Samples that were dropped."),
};
static SHAPE_OF(agent_store, "StoreState", "The store of a running agent.", .common = true);
#undef SHAPE

#define SHAPE struct agent_refused
static const struct field agent_refused_fields[] = {
	TIME(t, "When.", .known = true),
	TEXT(text, "Why.", .known = true),
};
static SHAPE_OF(agent_refused, "ReloadRefused", "A reload that the agent refused.", .common = true);
#undef SHAPE

#define SHAPE struct agent_state
static const struct field agent_state_fields[] = {
	WORD(state, client_agent, agent_state_words, STORE_REPLAY + 1,
		"`running`, `stopped`, `replay` (a recorded database) or `cannot_tell`."),
	COUNT(pid, "Process id of the agent.", .unknown = true),
	FLAG(inferred, "Was the state concluded from the data, not read from the lock?"),
	FLAG(past, "Is this the state at a past time (`--until`, `--around`)?"),
	TIME(data_time, "Time of the newest sample."),
	NUMBER(data_age_s, UNIT_SECONDS, "Age of the newest sample."),
	FLAG(stale, "Is the data too old to say anything of now?"),
	PART_AT(store, agent_store, "The store of a running agent."),
	TEXT(config_error, "First mistake of the configuration file, where it was not read."),
	PART_AT(reload_refused, agent_refused, "The last reload, where it was refused."),
	HIDDEN(has_data),
	HIDDEN(age_ns),
};
SHAPE_OF(agent_state, "Agent", "Who collects, and how old the data is.", .common = true);
#undef SHAPE

/* ---- the newest sample --------------------------------------------------- */

static int agent_take_time(void *arg, const char *device, int64_t newest_ns, int64_t before_ns)
{
	struct agent_state *state = arg;
	if (!state->has_data || newest_ns > state->data_time.ns)
		state->data_time.ns = newest_ns;
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
	state->state = AGENT_CANNOT_TELL;
	if (stopped)
		state->state = AGENT_STOPPED;
	else if (!state->stale)
		state->state = AGENT_RUNNING;
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

/* Milliseconds are as fine as an age is known. */
static double agent_seconds(int64_t ns)
{
	return (double)(ns / NS_PER_MS) / 1e3;
}

static void agent_judge_age(const struct client *client, struct agent_state *state)
{
	if (state->has_data)
		state->age_ns = client->at_ns - state->data_time.ns;
	if (state->age_ns < 0)
		state->age_ns = 0; /* the clocks of two hosts differ */
	if (state->has_data)
		state->data_age_s = agent_seconds(state->age_ns);
	const bool judged = client->past || client->agent != STORE_REPLAY;
	state->stale = judged && (!state->has_data || state->age_ns > agent_stale_limit_ns(client));
}

int agent_state_read(struct client *client, struct agent_state *ret, struct err *e)
{
	int r = 0;
	*ret = (struct agent_state){.state = client->agent,
		.pid = COUNT_UNKNOWN,
		.inferred = client->agent == AGENT_CANNOT_TELL && client->agent_alive,
		.past = client->past,
		.has_data = client->has_data && !client->past,
		.data_time = TIME_UNKNOWN,
		.data_age_s = NAN};
	if (client->agent == AGENT_RUNNING && !client->past)
		ret->pid = (uint64_t)client->writer_pid;
	if (ret->has_data)
		ret->data_time.ns = client->data_ns;
	if (client->past)
		r = history_newest(client->history, client->at_ns, agent_take_time, ret, e);
	agent_judge_age(client, ret);
	if (r < 0 || !client->past || client->agent == STORE_REPLAY)
		return r;
	ret->inferred = true;
	return agent_past_state(client, ret, e);
}

/* ---- a refused reload ---------------------------------------------------- */

struct agent_refusal {
	struct arena *arena;
	struct agent_refused *newest; /* NULL: none */
};

static int agent_take_refused(void *arg, int n, char *const *words, char *const *names)
{
	struct agent_refusal *refusal = arg;
	if (!words[0] || !words[1])
		return 0;
	refusal->newest = arena_new_of(refusal->arena, struct agent_refused);
	refusal->newest->t.ns = strtoll(words[0], NULL, 10);
	refusal->newest->text = arena_strdup(refusal->arena, words[1]);
	return 0;
}

/* The newest event about a configuration up to then is a refusal. */
static int agent_read_refused(
	struct client *client, struct arena *a, struct agent_state *ret, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	struct agent_refusal refusal = {.arena = a};
	str_addf(&sql,
		"SELECT t_ns, text FROM (SELECT t_ns, kind, text FROM events WHERE t_ns<=%lld AND "
		"kind IN ('config_refused','config_reloaded','agent_start') ORDER BY t_ns DESC "
		"LIMIT 1) WHERE kind='config_refused'",
		(long long)client->at_ns);
	const int r = history_sql(client->history, sql.s, agent_take_refused, &refusal, e);
	ret->reload_refused = refusal.newest;
	return r;
}

/* ---- the rest ------------------------------------------------------------ */

static struct agent_store *agent_store_of(const struct client *client, struct arena *a)
{
	const struct store_state *state = &client->store;
	if (client->past || !state->running)
		return NULL;
	struct agent_store *store = arena_new_of(a, struct agent_store);
	*store = (struct agent_store){.state = "writing",
		.since = TIME_UNKNOWN,
		.for_s = NAN,
		.pending_samples = (uint64_t)state->pending,
		.dropped_samples = (uint64_t)state->dropped};
	if (!client->stuck_ns)
		return store;
	int64_t stuck_ns = client->now_ns - client->stuck_ns;
	if (stuck_ns < 0)
		stuck_ns = 0;
	store->state = "waiting";
	store->since.ns = client->stuck_ns;
	store->for_s = agent_seconds(stuck_ns);
	store->reason = arena_strdup(a, client->stuck_why);
	return store;
}

int agent_state_whole(
	struct client *client, struct arena *a, struct agent_state *ret, struct err *e)
{
	const int r = agent_state_read(client, ret, e);
	if (r < 0)
		return r;
	ret->store = agent_store_of(client, a);
	ret->config_error = arena_strdup(a, client->config_error);
	return agent_read_refused(client, a, ret, e);
}

enum maybe agent_running(const struct client *client)
{
	if (client->agent == AGENT_CANNOT_TELL || client->past)
		return MAYBE_UNKNOWN;
	return maybe_of(client->agent == AGENT_RUNNING);
}

/* ---- in words ------------------------------------------------------------ */

static void agent_add_age(const struct agent_state *agent, const char *before, struct str *out)
{
	char age[32];
	if (isnan(agent->data_age_s)) {
		str_addf(out, "%sno data", before);
		return;
	}
	str_addf(out, "%sdata %s old", before,
		duration_format(age, sizeof(age), (int64_t)(agent->data_age_s * 1e9)));
}

bool agent_is_stuck(const struct agent_state *agent)
{
	return agent->store && str_eq(agent->store->state, "waiting");
}

static void agent_add_stuck(const struct agent_state *agent, struct str *out)
{
	const struct agent_store *store = agent->store;
	char stuck[32], time[WALL_TEXT_MAX];
	str_addf(out, "agent polls, but CANNOT WRITE for %s (%s)",
		duration_format(stuck, sizeof(stuck), (int64_t)(store->for_s * 1e9)),
		str_or(store->reason, ""));
	if (agent->has_data)
		str_addf(out, "; what follows is as of %s", wall_text(time, agent->data_time, 0));
	else
		str_add(out, "; there is no data yet");
}

void agent_state_text(const struct agent_state *agent, struct str *out)
{
	if (agent->past) {
		str_add(out, "the past");
		if (agent->state == AGENT_STOPPED)
			str_add(out, ", no agent was running");
		agent_add_age(agent, ": ", out);
		return;
	}
	if (agent->state == STORE_REPLAY) {
		str_add(out, "replay: as of its newest sample");
		return;
	}
	if (agent->state == AGENT_RUNNING && agent_is_stuck(agent)) {
		agent_add_stuck(agent, out);
		return;
	}
	if (agent->state == AGENT_RUNNING) {
		str_add(out, "agent running");
		if (agent->stale)
			agent_add_age(agent, ": ", out);
		return;
	}
	if (agent->state == AGENT_STOPPED)
		str_add(out, "NO AGENT RUNNING");
	else if (agent->inferred)
		str_add(out, "agent seems to run");
	else
		str_add(out, "cannot tell whether an agent runs");
	agent_add_age(agent, ": ", out);
}

/* capture_facts - numbers of the agent's health. */

double capture_fact(const json_t *health, const char *capture, const char *key)
{
	rw_cleanup(str_done) struct str name = {0};
	str_addf(&name, "capture/%s/%s", capture, key);
	const json_t *value = json_object_get(health, name.s);
	if (!json_is_number(value))
		return NAN;
	return json_number_value(value);
}

uint64_t capture_count(const json_t *health, const char *capture, const char *key)
{
	const double value = capture_fact(health, capture, key);
	if (isfinite(value))
		return (uint64_t)(int64_t)value;
	return COUNT_UNKNOWN;
}
