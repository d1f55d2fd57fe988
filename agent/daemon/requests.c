/* requests - a table of the socket's commands, and the function that answers each. */
#include "agent/daemon/requests.h"

#include <unistd.h>

#include "agent/alert/alert.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/client/control.h"
#include "agent/document/json_value.h"
#include "agent/daemon/agent_state.h"
#include "agent/daemon/pipeline.h"
#include "agent/daemon/sources.h"
#include "agent/daemon/tune_agent.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/ledger.h"
#include "collectors/target/collector.h"
#include "config/config.h"
#include "db/store/store.h"
#include "db/store/store_state.h"

static json_t *request_act(struct agent *agent, const char *who, const json_t *request)
{
	const char *cmd = json_string_value(json_object_get(request, "cmd"));
	const char *id = json_string_value(json_object_get(request, "id"));
	const char *text = json_string_value(json_object_get(request, "note"));
	enum incident_action action;
	if (!id || incident_action_parse(cmd, &action) != 0)
		return control_error("expected an incident's id");
	const int rc = ledger_action(agent->ledger, id, action, who, text, wall_now().ns);
	if (rc != 0)
		return control_error("%s %.20s: %s", cmd, id, incident_action_error(rc));
	return json_pack(
		"{s:b, s:o}", "ok", 1, "incident", incident_json(ledger_find(agent->ledger, id)));
}

static json_t *request_targets(const struct sources *sources)
{
	json_t *targets = json_array();
	for (size_t k = 0; k < sources_count(sources); k++) {
		const struct source_view source = sources_at(sources, k);
		const struct target *target = source.target;
		json_array_append_new(targets,
			json_pack("{s:s, s:s, s:s, s:s, s:I}", "name", source.name, "protocol",
				source.collector->name, "state", target_state_name(target->state),
				"reason", target->reason, "polls", (json_int_t)target->polls));
	}
	return targets;
}

static json_t *request_quality(const struct pipeline_counters *counters)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "samples",
		(json_int_t)counters->samples, "late", (json_int_t)counters->late, "duplicates",
		(json_int_t)counters->duplicates, "refused", (json_int_t)counters->refused,
		"windows", (json_int_t)counters->windows, "findings",
		(json_int_t)counters->findings, "late_flows", (json_int_t)counters->late_flows);
}

static json_t *request_writer(struct store *store)
{
	struct store_stats stats;
	store_stats(store, &stats);
	struct store_state state;
	store_state_now(store, &state);
	json_t *waits = json_null();
	if (state.stage == STAGE_WAITING)
		waits = json_pack(
			"{s:o, s:s}", "since", json_time(state.since_ns), "reason", state.reason);
	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I}", "waits", waits, "commits",
		(json_int_t)stats.commits, "samples", (json_int_t)stats.samples, "dropped",
		(json_int_t)stats.dropped, "errors", (json_int_t)stats.errors, "pending",
		(json_int_t)stats.pending);
}

static json_t *request_status(struct agent *agent, const char *who, const json_t *request)
{
	const struct incident **incidents;
	const size_t n_incidents = ledger_incidents(agent->ledger, &incidents);
	int open = 0;
	for (size_t k = 0; k < n_incidents; k++)
		open += incidents[k]->state != INCIDENT_CLOSED;
	return json_pack("{s:b, s:s, s:i, s:s, s:s, s:i, s:i, s:o, s:o, s:o}", "ok", 1, "version",
		RW_VERSION, "pid", (int)getpid(), "fabric", agent->config->fabric->name, "store",
		agent->config->store.path, "open_incidents", open, "reloads", (int)agent->reloads,
		"targets", request_targets(agent->sources), "data_quality",
		request_quality(pipeline_counters(agent->pipeline)), "writer",
		request_writer(agent->store));
}

static const struct {
	const char *cmd;
	json_t *(*fn)(struct agent *agent, const char *who, const json_t *request);
} requests[] = {
	{"ack", request_act},
	{"assign", request_act},
	{"note", request_act},
	{"close", request_act},
	{"merge", request_act},
	{"status", request_status},
};

static json_t *request_answer(struct agent *agent, const char *who, const json_t *request)
{
	const char *cmd = json_string_value(json_object_get(request, "cmd"));
	for (size_t k = 0; cmd && k < rw_countof(requests); k++) {
		if (str_eq(requests[k].cmd, cmd))
			return requests[k].fn(agent, who, request);
	}
	json_t *reply = NULL;
	if (cmd)
		reply = tune_agent_request(agent->tuning, who, request, wall_now().ns);
	if (!reply && cmd)
		reply = alert_request(agent->alert, cmd, who, request, wall_now());
	if (reply)
		return reply;
	return control_error("expected \"cmd\": \"ack\", \"assign\", \"note\", \"close\", "
			     "\"merge\", \"status\", \"event_add\" or one of "
			     "\"silence_...\", \"alert_...\", \"tune_...\"");
}

json_t *requests_answer(void *arg, const char *who, const json_t *request)
{
	struct agent *agent = arg;
	const uint64_t before = store_handed(agent->store);
	json_t *reply = request_answer(agent, who, request);
	agent->reply_waits = 0;
	if (store_handed(agent->store) != before) {
		agent->reply_waits = store_handed(agent->store);
		store_hurry(agent->store);
	}
	return reply;
}

uint64_t requests_hold(void *arg)
{
	const struct agent *agent = arg;
	return agent->reply_waits;
}

bool requests_ready(void *arg, uint64_t ticket)
{
	const struct agent *agent = arg;
	return store_committed(agent->store, ticket);
}
