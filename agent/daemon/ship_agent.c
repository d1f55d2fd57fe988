/* ship_agent - sinks by configuration. */
#include "agent/daemon/ship_agent.h"

#include <unistd.h>

#include "agent/daemon/agent_state.h"
#include "agent/judge/health.h"
#include "config/config.h"
#include "db/ship/ship.h"
#include "db/store/store.h"

struct ship_sink_run {
	struct arena *arena; /* texts */
	struct config_secret password;
	char *print; /* of its configuration: another one begins anew */
	struct ship *ship;
	bool failing; /* as told by the newest event */
};
struct ship_agent {
	struct ship_sink_run *v;
	size_t n;
};

static const enum ship_kind ship_kinds_of[SINK_KINDS] = {
	[SINK_CLICKHOUSE] = SHIP_CLICKHOUSE,
	[SINK_REMOTE_WRITE] = SHIP_REMOTE_WRITE,
};

static int ship_password(void *arg, char **ret, struct err *e)
{
	return secret_read(arg, ret, e);
}

static const char *ship_own_name(const struct config *config, char *buf, size_t size)
{
	if (config->ship.agent)
		return config->ship.agent;
	if (config->self)
		return config->self;
	if (config->judging) /* no agent is called so */
		return "judge";
	if (gethostname(buf, size) != 0 || !*buf)
		snprintf(buf, size, "localhost");
	buf[size - 1] = '\0';
	return buf;
}

/* All that makes a sink what it is. */
static char *sink_print(const struct config_sink *sink, const char *agent)
{
	struct str out = {0};
	str_addf(&out, "%d %s %s %s %s %s %d %s %s %s %s %d %lld %lld %lld %llu", sink->kind,
		sink->name, agent, sink->url, str_or(sink->database, "-"),
		str_or(sink->username, "-"), sink->password.from, str_or(sink->password.name, "-"),
		str_or(sink->tls_ca, "-"), str_or(sink->tls_cert, "-"), str_or(sink->tls_key, "-"),
		sink->tls_skip_verify, (long long)sink->interval_ns, (long long)sink->retry_ns,
		(long long)sink->timeout_ns, (unsigned long long)sink->batch);
	return out.s;
}

static void sink_start(struct ship_sink_run *run, const struct config *config,
	const struct config_sink *sink, const char *agent)
{
	*run = (struct ship_sink_run){.arena = arena_new(), .password = sink->password};
	run->print = sink_print(sink, agent);
	if (sink->password.name)
		run->password.name = arena_strdup(run->arena, sink->password.name);
	struct ship_options options = {.kind = ship_kinds_of[sink->kind],
		.name = sink->name,
		.store_path = config->store.path,
		.url = sink->url,
		.agent = agent,
		.database = sink->database,
		.username = sink->username,
		.tls_ca = sink->tls_ca,
		.tls_cert = sink->tls_cert,
		.tls_key = sink->tls_key,
		.tls_skip_verify = sink->tls_skip_verify,
		.timeout_ns = sink->timeout_ns,
		.batch_samples = sink->batch,
		.interval_ns = sink->interval_ns,
		.retry_ns = sink->retry_ns};
	if (sink->password.from != SECRET_NONE) {
		options.password = ship_password;
		/* a copy at a place that does not move */
		struct config_secret *own = arena_new_of(run->arena, struct config_secret);
		*own = run->password;
		options.password_arg = own;
	}
	run->ship = ship_start(&options);
}

static void sink_stop(struct ship_sink_run *run)
{
	ship_stop(run->ship);
	free(run->print);
	arena_free(run->arena);
	*run = (struct ship_sink_run){0};
}

void ship_agent_start(struct agent *agent)
{
	agent->shipping = rw_calloc(1, sizeof(*agent->shipping));
	ship_agent_reload(agent);
}

/* Takes the sink with the same settings out of the list before the reload. */
static bool sink_keep(struct ship_agent *before, const char *print, struct ship_sink_run *ret)
{
	for (size_t i = 0; i < before->n; i++) {
		if (!before->v[i].ship || strcmp(before->v[i].print, print) != 0)
			continue;
		*ret = before->v[i];
		before->v[i] = (struct ship_sink_run){0};
		return true;
	}
	return false;
}

void ship_agent_reload(struct agent *agent)
{
	const struct config *config = agent->config;
	struct ship_agent before = *agent->shipping;
	char host[256];
	const char *own = ship_own_name(config, host, sizeof(host));
	const size_t n = config->ship.n_sinks;
	struct ship_agent now = {.v = rw_calloc(n + 1, sizeof(*now.v)), .n = n};
	for (size_t i = 0; i < n; i++) {
		rw_cleanup(freep) char *print = sink_print(&config->ship.sinks[i], own);
		(void)sink_keep(&before, print, &now.v[i]);
	}
	for (size_t i = 0; i < before.n; i++) /* first: a cursor has one sink */
		if (before.v[i].ship)
			sink_stop(&before.v[i]);
	for (size_t i = 0; i < n; i++)
		if (!now.v[i].ship)
			sink_start(&now.v[i], config, &config->ship.sinks[i], own);
	free(before.v);
	*agent->shipping = now;
}

void ship_agent_stop(struct agent *agent)
{
	if (!agent->shipping)
		return;
	for (size_t i = 0; i < agent->shipping->n; i++)
		sink_stop(&agent->shipping->v[i]);
	free(agent->shipping->v);
	free(agent->shipping);
	agent->shipping = NULL;
}

/* ---- what the agent says ------------------------------------------------------------ */

static void sink_event(struct agent *agent, struct ship_sink_run *run)
{
	struct ship_status status;
	rw_cleanup(str_done) struct str text = {0};
	ship_status(run->ship, &status);
	const bool failing = status.failing_since_ns != 0;
	if (failing == run->failing)
		return;
	run->failing = failing;
	const char *kind = "ship_recovered";
	str_addf(&text, "%s takes data again", status.name);
	if (failing) {
		kind = "ship_failed";
		text.n = 0;
		str_addf(&text, "%s does not take data, which waits in the database: %s",
			status.name, status.error);
	}
	store_event(agent->store, wall_now().ns, kind, NULL, NULL, text.s);
}

void ship_agent_tick(struct agent *agent)
{
	int64_t done = INT64_MAX;
	if (!agent->shipping || agent->shipping->n == 0)
		return;
	for (size_t i = 0; i < agent->shipping->n; i++) {
		const int64_t one = ship_done(agent->shipping->v[i].ship);
		if (one < done)
			done = one;
		sink_event(agent, &agent->shipping->v[i]);
	}
	if (done > 0)
		store_spool_done(agent->store, done);
}

static double ship_seconds(int64_t ns)
{
	return (double)ns / NS_PER_S;
}

void ship_agent_health(const struct agent *agent, struct health *health)
{
	for (size_t i = 0; agent->shipping && i < agent->shipping->n; i++) {
		struct ship_status status;
		double success_s = NAN;
		ship_status(agent->shipping->v[i].ship, &status);
		if (status.last_success_ns)
			success_s = ship_seconds(status.last_success_ns);
		const struct {
			const char *key, *unit;
			double value;
		} figures[] = {
			{"samples", "", (double)status.samples},
			{"batches", "", (double)status.batches},
			{"failures", "", (double)status.failures},
			{"refused", "", (double)status.refused},
			{"waiting_samples", "", (double)status.waiting_samples},
			{"waiting_bytes", "B", (double)status.waiting_bytes},
			{"behind_s", "s", ship_seconds(status.behind_ns)},
			{"lost", "", (double)status.lost},
			{"failing_s", "s", ship_seconds(status.failing_since_ns)},
			{"last_success_s", "s", success_s},
		};
		for (size_t k = 0; k < rw_countof(figures); k++)
			health_figure(health, "ship", status.name, figures[k].key, figures[k].unit,
				figures[k].value);
	}
}
