/* agent - starts everything in order, ticks once a second, and stops in the order of agent.h. Owns
 * the loop and all that runs on it; every function runs on the loop thread. */
#include "agent/daemon/agent.h"

#include <signal.h>
#include <unistd.h>

#include "agent/alert/alert.h"
#include "agent/client/control.h"
#include "agent/client/peek.h"
#include "agent/daemon/agent_state.h"
#include "agent/daemon/job_watch.h"
#include "agent/daemon/judge.h"
#include "agent/daemon/life.h"
#include "agent/daemon/links.h"
#include "agent/daemon/reload.h"
#include "agent/daemon/requests.h"
#include "agent/daemon/ship_agent.h"
#include "agent/daemon/traps.h"
#include "agent/daemon/tune_agent.h"
#include "agent/daemon/web.h"
#include "agent/document/json_value.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/ledger.h"
#include "agent/jail/parser_monitor.h"
#include "agent/jail/privilege.h"
#include "agent/jail/sandbox.h"
#include "agent/jail/stop_guard.h"
#include "agent/judge/health.h"
#include "agent/judge/pipeline.h"
#include "agent/judge/resume.h"
#include "agent/sources/discovery.h"
#include "agent/sources/sources.h"
#include "base/curl_io.h"
#include "base/log.h"
#include "base/loop.h"
#include "collectors/gnmi/grpc_io.h"
#include "collectors/snmp/snmp.h"
#include "collectors/snmp/trap_receiver.h"
#include "collectors/target/collector.h"
#include "config/config.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"
#include "db/store/store_state.h"

/*
 * alert_agent - the alerts of the running agent: their start from the database, and their figures.
 * Loop thread.
 *
 * alert_agent - gives agent/alert what it needs of the agent.
 */

/* alert_agent_start - before the past is analysed. What cannot be read is logged; then receivers
 * get everything that is open. */
static void alert_agent_start(struct agent *agent)
{
	struct err e = {0};
	struct history *history = NULL;
	agent->alert = alert_new(agent->loop, agent->store, agent->config);
	int rc = db_history_open(agent->config->store.path, &history, &e);
	if (rc == 0)
		rc = alert_load(agent->alert, history, wall_now(), mono_now(), &e);
	if (rc != 0)
		log_warn("alert",
			"what receivers got before cannot be read; they get again "
			"what is open: %s",
			e.text);
	history_close(history);
}

/* alert_agent_health - alert/NAME/{sent,failed,dropped,queued,failing,last_success_s}. */
static void alert_agent_health(const struct agent *agent, struct health *health)
{
	for (size_t i = 0; i < alert_count(agent->alert); i++) {
		const struct alert_view view = alert_at(agent->alert, i);
		double last_success_s = NAN;
		if (view.last_success_ns)
			last_success_s = (double)view.last_success_ns / 1e9;
		const struct {
			const char *key, *unit;
			double value;
		} figures[] = {
			{"sent", "", (double)view.sent},
			{"failed", "", (double)view.failed},
			{"dropped", "", (double)view.dropped},
			{"queued", "", (double)view.queued},
			{"failing", "", view.failing},
			{"last_success_s", "s", last_success_s},
		};
		for (size_t k = 0; k < rw_countof(figures); k++)
			health_figure(health, "alert", view.name, figures[k].key, figures[k].unit,
				figures[k].value);
	}
}

/*
 * late_store - an agent whose database could not be opened when it started (a full or broken disk,
 * a mount that is missing or read-only), and one that cannot write for a while. It watches from
 * memory; here is what it says of that, and what it makes up for once the file is there. Loop
 * thread.
 *
 * late_store - what happens when the database can be opened at last.
 */

static void late_notify(struct agent *agent, const struct store_state *state)
{
	char text[sizeof(state->reason) + 64];
	if (agent->store_stage == (int)state->stage)
		return;
	agent->store_stage = (int)state->stage;
	if (state->stage == STAGE_WAITING)
		snprintf(text, sizeof(text), "STATUS=watching from memory: %s", state->reason);
	else
		snprintf(text, sizeof(text), "STATUS=collecting");
	notify_send(&agent->notify, text);
}

/* What a start reads, without samples: memory has had its own since. What is known already stays.
 */
static int late_read(struct agent *agent, struct err *e)
{
	const char *path = agent->config->store.path;
	struct history *history = NULL;
	int rc = tune_agent_resume(agent->tuning, path, e);
	if (rc == 0)
		rc = db_history_open(path, &history, e);
	if (rc == 0)
		rc = resume_incidents(history, agent->ledger, agent->store, wall_now().ns, e);
	if (rc == 0)
		rc = alert_load_silences(agent->alert, history, e);
	history_close(history);
	return rc;
}

static void late_opened(struct agent *agent)
{
	char lasted[32], text[256];
	struct err e = {0};
	const int64_t now_ns = wall_now().ns;
	duration_format(lasted, sizeof(lasted), mono_now().ns - agent->late_since.ns);
	snprintf(text, sizeof(text),
		"the database could be opened %s after the start; until then the agent watched "
		"from memory",
		lasted);
	log_info("store", "%s", text);
	store_event(agent->store, now_ns, "store_late", NULL, NULL, text);
	if (agent->past_unread && late_read(agent, &e) != 0)
		log_warn("agent", "the earlier state cannot be read from the database: %s", e.text);
	agent->past_unread = false;
}

/* late_store_begin - at the end of the start. @past_unread: what the database says of open
 * incidents, recommendations and silences could not be read. */
static void late_store_begin(struct agent *agent, bool past_unread)
{
	struct store_state state;
	store_state_now(agent->store, &state);
	agent->store_stage = STAGE_WRITING; /* what READY says */
	agent->late = store_is_waiting(agent->store);
	agent->late_since = mono_now();
	agent->past_unread = agent->late && past_unread;
	late_notify(agent, &state);
}

/* late_store_tick - about once a second: the service manager hears whether the store writes; when
 * the file could be opened at last, the earlier state is read. */
static void late_store_tick(struct agent *agent)
{
	struct store_state state;
	store_state_now(agent->store, &state);
	late_notify(agent, &state);
	if (!agent->late || store_is_waiting(agent->store))
		return;
	agent->late = false;
	late_opened(agent);
}

/* requests - a table of the socket's commands, and the function that answers each. */

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

/* requests_hold, requests_ready - for control_hold(): the reply to a request that wrote something
 * waits until the store has committed it. */
static uint64_t requests_hold(void *arg)
{
	const struct agent *agent = arg;
	return agent->reply_waits;
}

static bool requests_ready(void *arg, uint64_t ticket)
{
	const struct agent *agent = arg;
	return store_committed(agent->store, ticket);
}

#define TICK_NS NS_PER_S
/* Of what a stop may take (stop_guard.h): the rest is for the store and for those who wait. */
#define STOP_JUDGE_NS (8 * NS_PER_S)
#define DOUBT_NS (180 * NS_PER_S) /* until retention has looked at the clock that was set */
#define AWAY_NS (10 * NS_PER_S) /* a shorter silence of our own is no event */
#define AWAY_TOLD_NS NS_PER_S /* of our own work between two ticks: worth a line in the log */
/* Closed incidents stay in memory that long; the database keeps them. */
#define FORGET_NS (24 * 3600 * NS_PER_S)

#define SOCKET_RETRY_NS (5 * NS_PER_S)

/* ---- what happens on the loop -------------------------------------------- */

static void on_incident(void *arg, const struct incident *incident, enum incident_state from)
{
	struct agent *a = arg;
	enum log_level level = LOG_INFO_;
	if (incident->state == INCIDENT_OPEN)
		level = LOG_WARN_;
	if (incident->note)
		log_event(level, "incident", "%s %s (%s -> %s): %s", incident->id,
			cause_name(incident->cause), incident_state_name(from),
			incident_state_name(incident->state), incident->note);
	incident_store(a->store, incident, from);
	alert_take(a->alert, incident, from);
	if (from == INCIDENT_PENDING && incident->state == INCIDENT_OPEN && a->sources)
		pins_opened(&a->pins, incident, a->config, a->sources, a->store);
}

static void watch_names(struct agent *agent)
{
	const char *device;
	const uint64_t refused = entities_refused(agent->entities, &device);
	if (refused > agent->names_refused)
		complain(&agent->names_complaint, mono_now(), LOG_ERROR_, str_or(device, "agent"),
			"the switch has more names than it may have: new ones are refused "
			"(limits: names_per_device, ports_per_device, names); %llu refusals so "
			"far",
			(unsigned long long)refused);
	agent->names_refused = refused;
}

/* A machine that is short of memory makes the agent slow, and then ends it: history should say it.
 */
static void watch_memory(struct agent *agent, int64_t now_ns)
{
	char what[MEMORY_TEXT_MAX];
	if (!memory_watch_look(agent->memory, mono_now(), what, sizeof(what)))
		return;
	life_memory(agent->store, now_ns, what);
}

static void watch_store(struct agent *agent)
{
	struct store_stats s;
	store_watch(agent->store, mono_now());
	store_stats(agent->store, &s);
	if (s.dropped > agent->dropped_before)
		complain(&agent->dropped, mono_now(), LOG_ERROR_, "store",
			"%llu samples were dropped because they could not be written",
			(unsigned long long)s.dropped);
	agent->dropped_before = s.dropped;
	/* the store's thread looks at the clock once a minute */
	tune_agent_doubt(agent->tuning, s.retention_held || mono_now().ns < agent->doubt_until.ns);
}

/* How long a silence of our own is worth an event. */
static int64_t agent_gap_ns(const struct agent *agent)
{
	const int64_t gap_ns = 3 * config_interval(agent->config);
	if (gap_ns > AWAY_NS)
		return gap_ns;
	return AWAY_NS;
}

/* Was the clock set, or did we sleep? Before anything looks at the time; returns it. */
static int64_t agent_watch_clock(void *arg)
{
	struct agent *agent = arg;
	int64_t now, boot_ns;
	clock_read(&now, &boot_ns);
	const struct clock_change change =
		clock_look(&agent->clock, now, boot_ns, agent_gap_ns(agent));
	if (change.step_ns != 0) {
		life_clock_step(agent->store, now, change.step_ns);
		agent->doubt_until.ns = mono_now().ns + DOUBT_NS;
		if (change.step_ns < 0)
			alert_clock_set_back(agent->alert, now, change.step_ns);
	}
	/* what a judge judges was timed by others */
	if (change.step_ns != 0 && !agent->judge) {
		pipeline_clock_set(agent->pipeline, change.since_ns, change.step_ns);
		/* at once, so that the time which the step left out is known for nobody's silence
		 */
		agent->pulse.next_ns = 0;
	}
	if (change.away_ns > 0)
		life_away(agent->store, now, change.away_ns);
	return now;
}

/* 0: it was started without; 1: only system calls are limited; 2: files too. */
static int agent_walls(const struct agent *agent)
{
	if (!agent->options->sandbox)
		return 0;
	return 1 + outside_stands();
}

static void agent_record_health(struct agent *agent)
{
	health_begin(agent->health, mono_now());
	health_boot(agent->health, agent->boot.id, wall_now().ns - clock_boot_ns());
	health_memory(agent->health, memory_watch_counts(agent->memory));
	health_config(agent->health, agent->config_refused);
	health_pipeline(agent->health, pipeline_counters(agent->pipeline));
	for (int priority = 0; priority < FABRIC_CLASSES; priority++)
		health_class(agent->health, pipeline_class(agent->pipeline, priority));
	health_names(agent->health, agent->entities, pipeline_names_released(agent->pipeline));
	web_figures(agent, agent->health);
	health_figure(agent->health, "process", "sandbox", "walls", "", agent_walls(agent));
	sources_health(agent->sources, agent->health);
	job_watch_health(agent, agent->health);
	if (agent->config->traps) {
		const struct trap_counters *counters = NULL;
		if (agent->traps)
			counters = trap_receiver_counters(agent->traps);
		health_traps(agent->health, counters);
	}
	alert_agent_health(agent, agent->health);
	ship_agent_health(agent, agent->health);
	/* Who this is, for readers of the database. */
	if (agent->judge)
		judge_health(agent->judge, agent->health);
	else if (agent->config->self)
		health_figure(agent->health, "self", agent->config->self, "agent", "", 1);
	health_commit(agent->health, agent->store, wall_now().ns);
}

static void agent_store_own(void *arg, const struct sample *samples, size_t n)
{
	struct agent *agent = arg;
	store_samples(agent->store, samples, n);
}

static void agent_pulse(struct agent *agent, int64_t now_ns)
{
	const char *name = str_or(agent->config->self, ENTITY_AGENT_PORT);
	const struct sink *sink = pipeline_sink(agent->pipeline);
	/* A judge's pulse shows that it runs. It is no data: what it judges is of another time. */
	const struct sink own = {.arg = agent, .samples = agent_store_own};
	if (agent->judge) {
		name = "judge";
		sink = &own;
	}
	pulse_beat(&agent->pulse, agent->entities, sink, name, now_ns, clock_boot_ns(),
		canary_interval_ns(agent->config), pipeline_counters(agent->pipeline)->moved);
}

/* It lies beside the database, usually: where that cannot be made, the socket cannot either. */
static void start_socket(struct agent *agent)
{
	struct err e = {0};
	if (!agent->config->socket_path)
		return;
	if (control_new(agent->loop, agent->config->socket_path, requests_answer, agent,
		    &agent->control, &e) != 0) {
		complain(&agent->socket_complaint, mono_now(), LOG_WARN_, "agent",
			"no socket, so 'incident ack' cannot reach us: %s: %s", e.file, e.text);
		return;
	}
	complaint_over(&agent->socket_complaint, mono_now(), "agent", "the socket is there");
	control_hold(agent->control, requests_hold, requests_ready);
}

static void retry_socket(struct agent *agent, mono_t now)
{
	if (agent->control || now.ns < agent->socket_retry.ns)
		return;
	agent->socket_retry.ns = now.ns + SOCKET_RETRY_NS;
	start_socket(agent);
}

/* The agent's own work kept everything waiting: that is told as such, and of no switch. */
static void watch_loop(struct agent *agent, mono_t now)
{
	const int64_t away_ns = loop_away_ns(agent->loop);
	if (away_ns - agent->away_ns >= AWAY_TOLD_NS)
		complain(&agent->busy_complaint, now, LOG_WARN_, "agent",
			"the agent was busy with its own work for %.1f s: polls of that time are "
			"late because of it, not because of the switches",
			(double)(away_ns - agent->away_ns) / (double)NS_PER_S);
	agent->away_ns = away_ns;
}

static void agent_on_tick(void *arg)
{
	struct agent *a = arg;
	const int64_t now = agent_watch_clock(a);
	mono_t mono = mono_now();
	agent_pulse(a, now);
	ship_agent_tick(a);
	if (a->judge)
		judge_tick(a->judge, a->loop, mono_now());
	else
		pipeline_advance(a->pipeline, now);
	agent_discover(a);
	sources_retry(a->sources, mono);
	if (a->control)
		control_tick(a->control);
	tune_agent_tick(a->tuning, now);
	alert_tick(a->alert, a->ledger, (wall_t){now}, mono);
	ledger_forget(a->ledger, now - FORGET_NS);
	watch_store(a);
	watch_memory(a, now);
	watch_loop(a, mono);
	late_store_tick(a);
	retry_socket(a, mono);
	watch_names(a);
	pipeline_tend_names(a->pipeline, mono_now().ns);
	traps_retry(a, mono);
	if (a->web)
		web_child_tick(a->web, mono);
	if (mono.ns >= a->health_next.ns) {
		agent_record_health(a);
		a->health_next.ns = mono.ns + HEALTH_EVERY_NS;
	}
}

static void on_watchdog(void *arg)
{
	notify_send(&((struct agent *)arg)->notify, "WATCHDOG=1");
}

static void on_hup(void *arg, int signum)
{
	agent_reload(arg);
}

static void on_stop(void *arg, int signum)
{
	struct agent *a = arg;
	log_info("agent", "%s: stopping", strsignal(signum));
	snprintf(a->stopping, sizeof(a->stopping), "SIG%s", str_or(sigabbrev_np(signum), "?"));
	loop_stop(a->loop);
}

static void agent_on_end(void *arg)
{
	struct agent *a = arg;
	log_info("agent", "time is over: stopping");
	snprintf(a->stopping, sizeof(a->stopping), "it was asked to run for a limited time");
	loop_stop(a->loop);
}

/* ---- start and stop ------------------------------------------------------ */

/* Samples ahead of the clock, left from before it was set back, must not be taken for news. */
static void agent_rewind_store(struct agent *agent)
{
	struct err e = {0};
	if (agent->past.ahead_ns == 0)
		return;
	store_rewind(agent->store, wall_now().ns);
	if (store_flush(agent->store, &e) != 0)
		log_warn("store", "samples ahead of the clock could not be flagged: %s", e.text);
}

static int start_judge(struct agent *agent)
{
	const struct judge_world world = {.config = agent->config,
		.entities = agent->entities,
		.pipeline = agent->pipeline,
		.ledger = agent->ledger,
		.store = agent->store};
	struct err why = {0};
	pipeline_fed(agent->pipeline);
	if (judge_new(&world, agent->config->store.path, &agent->judge, &why) != 0)
		log_warn("judge", "its own past could not be read, it begins anew: %s", why.text);
	alert_sync(agent->alert, agent->ledger, wall_now());
	agent_record_config(agent);
	return 0;
}

static int start_store(struct agent *agent, struct err *e)
{
	const struct store_options o = agent_store_options(agent->config);
	agent->entities = entities_new();
	int rc = db_store_open(&o, agent->entities, &agent->store, e);
	if (rc != 0)
		return rc;
	agent_rewind_store(agent);
	links_open(agent);
	job_watch_open(agent);
	agent->ledger = ledger_new(agent->config->fabric, on_incident, agent);
	agent->pipeline = pipeline_new(agent->config, agent->entities, agent->store, agent->ledger);
	links_listen(agent);
	agent->sources = sources_new(
		agent->loop, agent->entities, agent->store, pipeline_sink(agent->pipeline));

	struct err why = {0};
	agent->tuning = tune_agent_new(agent->store, agent->pipeline, agent->ledger, agent->config);
	agent->past_unread = tune_agent_resume(agent->tuning, agent->config->store.path, &why) != 0;
	if (agent->past_unread)
		log_warn("agent",
			"recommendations could not be read; they stay in the database as they are: "
			"%s",
			why.text);
	alert_agent_start(agent);
	ship_agent_start(agent);
	if (agent->options->judge)
		return start_judge(agent);
	if (resume_agent(agent->config->store.path, agent->entities, agent->config, agent->pipeline,
		    agent->ledger, wall_now().ns, &why) != 0)
		log_warn("agent", "history could not be read, starting afresh: %s", why.text);
	if (agent->past.ahead_ns > 0)
		ledger_rewind(agent->ledger, wall_now().ns);
	if (agent->past.step_ns != 0 || agent->past.ahead_ns > 0)
		pipeline_clock_torn(agent->pipeline);
	if (agent->past.step_ns < 0)
		alert_clock_set_back(agent->alert, wall_now().ns, agent->past.step_ns);
	agent->doubt_until.ns = mono_now().ns + DOUBT_NS;
	alert_sync(agent->alert, agent->ledger, wall_now());
	pipeline_advance(agent->pipeline, wall_now().ns);
	pipeline_watch_clock(agent->pipeline, agent_watch_clock, agent);
	/* a judge says how far it came: that is judged to its end */
	if (!agent->options->judge)
		pipeline_in_slices(agent->pipeline, agent->loop);
	agent_record_config(agent);
	return 0;
}

static void start_timers(struct agent *agent)
{
	agent->tick = loop_timer_new(agent->loop, agent_on_tick, agent);
	loop_timer_start(agent->tick, TICK_NS, TICK_NS);
	if (agent->options->for_ns > 0) {
		agent->end = loop_timer_new(agent->loop, agent_on_end, agent);
		loop_timer_start(agent->end, agent->options->for_ns, 0);
	}
	if (agent->notify.watchdog_ns > 0) {
		agent->watchdog = loop_timer_new(agent->loop, on_watchdog, agent);
		loop_timer_start(
			agent->watchdog, agent->notify.watchdog_ns, agent->notify.watchdog_ns);
	}
}

/* A new database has no past, and one that cannot be read is start_store()'s matter. */
static void agent_read_past(struct agent *agent)
{
	struct err ignored = {0};
	const int64_t now_ns = wall_now().ns;
	agent->boot = life_boot_now(now_ns);
	if (life_read(agent->config->store.path, now_ns, &agent->boot, &agent->past, &ignored) != 0)
		log_debug("agent", "no past: %s", ignored.text);
}

/* What a reload may ask for cannot be opened later: the wall around files stands then. */
static int agent_load_libraries(struct err *e)
{
	curl_io_begin();
	return grpc_io_prepare(e);
}

/* Before the first thread, whose wall around files it would not be, and before the loop. */
static int agent_close_files(const struct agent *agent, struct err *e)
{
	rw_cleanup(sandbox_paths_done) struct sandbox_paths paths = {0};
	/* libuv from 1.45 on: the kernel's thread of a ring has the rights of the moment it was
	 * made, root's, and no change of user takes them */
	setenv("UV_USE_IO_URING", "0", 1);
	if (!agent->options->sandbox)
		return 0;
	int rc = sandbox_self(e);
	if (rc < 0)
		return rc;
	sandbox_of_agent(agent->config, agent->options->config_path, &paths);
	rc = sandbox_files(SANDBOX_AGENT, &paths, e);
	if (rc < 0)
		return rc;
	return sandbox_no_rings(e);
}

/* After the last step that needs rights. */
static int agent_close_calls(const struct agent *agent, struct err *e)
{
	const struct sandbox_paths paths = {.netns = privilege_wants_netns(agent->config)};
	if (!agent->options->sandbox) {
		log_warn("sandbox",
			"left open: who takes this process over can do all that its user can");
		return 0;
	}
	/* a change of user made the memory readable for others again */
	const int rc = sandbox_self(e);
	if (rc < 0)
		return rc;
	return sandbox_calls(SANDBOX_AGENT, &paths, e);
}

static int agent_start(struct agent *agent, struct err *e)
{
	struct source_changes changes = {0};
	log_set_nonblocking();
	notify_take(&agent->notify);
	agent->health = health_new(wall_now());
	log_errors(LOG_WARN_, "config", &agent->config->warnings);
	signal(SIGPIPE, SIG_IGN);
	privilege_files(agent->config);
	secrets_leave_environment(agent->config);
	parser_process_prepare();
	int rc = privilege_begin(agent->config, e);
	if (rc == 0)
		rc = agent_load_libraries(e);
	if (rc == 0)
		rc = agent_close_files(agent, e);
	if (rc == 0)
		rc = loop_new(&agent->loop);
	if (rc != 0)
		return rc;
	/* before anything slow: a SIGTERM during the start is obeyed when the loop runs */
	agent->term = loop_signal_new(agent->loop, SIGTERM, on_stop, agent);
	agent->interrupt = loop_signal_new(agent->loop, SIGINT, on_stop, agent);
	agent->hup = loop_signal_new(agent->loop, SIGHUP, on_hup, agent);
	agent->memory = memory_watch_new("/sys/fs/cgroup", "/proc");
	if (stop_guard_start() != 0)
		log_warn("agent", "no thread can watch over the stop");
	agent_read_past(agent);
	rc = start_store(agent, e);
	if (rc != 0)
		return rc;
	snmp_init();
	sources_apply(agent->sources, agent->config, &changes);
	traps_apply(agent, NULL);
	start_socket(agent);
	rc = privilege_drop(agent->config, e);
	if (rc == 0)
		rc = agent_close_calls(agent, e);
	if (rc != 0)
		return rc;
	start_timers(agent);
	web_apply(agent, NULL);
	/* Watch the clock from here on, so that a step before the first tick is logged. */
	const int64_t now_ns = agent_watch_clock(agent);
	life_started(agent->store, &agent->past, now_ns, agent_gap_ns(agent));
	agent->started = true;
	log_info(
		"agent", "started: %u sources, store %s", changes.added, agent->config->store.path);
	notify_send(&agent->notify, "READY=1\nSTATUS=collecting");
	late_store_begin(agent, agent->past_unread);
	return 0;
}

/* In the order of agent.h; also after a start that failed half-way. */
static void agent_stop(struct agent *agent)
{
	bool store_ended = true;
	stop_guard_stopping();
	notify_send(&agent->notify, "STOPPING=1");
	loop_timer_free(agent->tick);
	loop_timer_free(agent->end);
	loop_timer_free(agent->watchdog);
	web_child_free(agent->web);
	agent->web = NULL;
	trap_receiver_free(agent->traps);
	sources_free(agent->sources);
	if (agent->pipeline && !agent->judge)
		pipeline_finish_by(agent->pipeline, (mono_t){mono_now().ns + STOP_JUDGE_NS});
	if (agent->judge && agent->started) /* where the next one goes on */
		agent_record_health(agent);
	judge_free(agent->judge);
	control_free(agent->control);
	alert_free(agent->alert);
	agent->alert = NULL;
	if (agent->store) {
		if (agent->started)
			life_stopped(agent->store, wall_now().ns, agent->stopping);
		ship_agent_stop(agent);
		/* writes what waits; a disk that does not answer holds it for seconds only */
		store_ended = store_close(agent->store);
	}
	tune_agent_free(agent->tuning);
	pipeline_free(agent->pipeline);
	discovery_free(agent->discovery);
	job_watch_free(agent->jobs);
	ledger_free(agent->ledger);
	health_free(agent->health);
	memory_watch_free(agent->memory);
	if (store_ended)
		entities_free(agent->entities);
	stop_guard_pool();
	if (agent->loop) {
		loop_signal_free(agent->hup);
		loop_signal_free(agent->interrupt);
		loop_signal_free(agent->term);
		loop_free(agent->loop);
	}
	stop_guard_done();
	config_free(agent->config);
}

int agent_run(const struct agent_options *options, struct config *config, struct err *e)
{
	struct agent a = {.options = options, .config = config};
	int rc = agent_start(&a, e);
	if (rc == 0)
		rc = loop_run(a.loop);
	agent_stop(&a);
	if (rc == 0)
		log_info("agent", "stopped");
	return rc;
}
