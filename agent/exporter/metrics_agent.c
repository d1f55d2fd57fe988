/* metrics_agent - families about the agent itself, its data, its targets and its queues, the
 * receivers of its alerts, and where the store's content goes as well. */

#include "agent/client/client.h"
#include "agent/exporter/metrics_page.h"
#include "config/config.h"

static double metrics_time_s(wall_t time)
{
	if (time.ns == TIME_UNKNOWN.ns)
		return NAN;
	return (double)time.ns / NS_PER_S;
}

static const struct agent_state *metrics_agent(const struct metrics_page *page)
{
	return &page->frame->status.agent;
}

/* ---- the agent --------------------------------------------------------------- */

static void metrics_emit_agent_up(struct metrics_page *page)
{
	metrics_put(page, NULL, metrics_agent(page)->state == AGENT_RUNNING);
}

static void metrics_emit_agent_state(struct metrics_page *page)
{
	static const char *const names[] = {"running", "stopped", "cannot_tell", "replay"};
	metrics_put_states(page, NULL, "state", names, rw_countof(names),
		agent_state_word(metrics_agent(page)->state));
}

static void metrics_emit_data_time(struct metrics_page *page)
{
	metrics_put(page, NULL, metrics_time_s(metrics_agent(page)->data_time));
}

static void metrics_emit_data_age(struct metrics_page *page)
{
	metrics_put(page, NULL, metrics_agent(page)->data_age_s);
}

static void metrics_emit_data_stale(struct metrics_page *page)
{
	metrics_put(page, NULL, metrics_agent(page)->stale);
}

static void metrics_emit_config_error(struct metrics_page *page)
{
	metrics_put(page, NULL, metrics_agent(page)->config_error != NULL);
}

static void metrics_emit_config_refused(struct metrics_page *page)
{
	const bool told = metrics_agent(page)->reload_refused != NULL;
	metrics_put(page, NULL, told || metrics_health(page, "process/config_refused") > 0);
}

static const struct agent_store *metrics_store(const struct metrics_page *page)
{
	return metrics_agent(page)->store;
}

static void metrics_emit_store_waiting(struct metrics_page *page)
{
	if (metrics_store(page))
		metrics_put(page, NULL, agent_is_stuck(metrics_agent(page)));
}

static void metrics_emit_store_waiting_for(struct metrics_page *page)
{
	if (metrics_store(page))
		metrics_put(page, NULL, metrics_store(page)->for_s);
}

static void metrics_emit_interval(struct metrics_page *page)
{
	metrics_put(page, NULL, (double)config_interval(page->client->config) / NS_PER_S);
}

static void metrics_emit_canary_age(struct metrics_page *page)
{
	metrics_put(page, NULL, page->canary.age_s);
}

static void metrics_emit_canary_limit(struct metrics_page *page)
{
	metrics_put(page, NULL, page->canary.limit_s);
}

/* ---- queues ------------------------------------------------------------------ */

static void metrics_emit_dropped(struct metrics_page *page)
{
	static const struct {
		const char *stage, *reason, *key;
	} rows[] = {
		{"intake", "late", "pipeline/late"},
		{"intake", "duplicate", "pipeline/duplicates"},
		{"intake", "refused", "pipeline/refused"},
		{"intake", "suspect", "pipeline/suspects"},
		{"intake", "late_flow", "pipeline/late_flows"},
		{"store", "disk", "store/dropped"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct metrics_label labels[] = {
			{"stage", rows[i].stage}, {"reason", rows[i].reason}, {NULL, NULL}};
		metrics_put(page, labels, metrics_health(page, rows[i].key));
	}
}

static void metrics_emit_refused(struct metrics_page *page)
{
	size_t n;
	const struct refused_fact *rows = refused_facts_read(page->health, page->arena, &n);
	for (size_t i = 0; i < n; i++) {
		const struct metrics_label labels[] = {{"receiver", rows[i].receiver},
			{"reason", rows[i].reason}, {"sender", rows[i].sender}, {NULL, NULL}};
		metrics_put(page, labels, (double)rows[i].times);
	}
}

/* ---- targets ----------------------------------------------------------------- */

/* A capture stands in the list of devices too; its protocol says so. */
typedef void metrics_target_fn(struct metrics_page *page, const struct metrics_label *labels,
	const struct status_device *row);

static void metrics_each_target(struct metrics_page *page, metrics_target_fn *fn)
{
	const struct status_answer *status = &page->frame->status;
	for (size_t i = 0; i < status->n_devices; i++) {
		const struct status_device *row = &status->devices[i];
		const struct metrics_label labels[] = {{"device", row->name},
			{"protocol", str_or(row->protocol, "none")}, {NULL, NULL}};
		fn(page, labels, row);
	}
}

static void metrics_target_up(struct metrics_page *page, const struct metrics_label *labels,
	const struct status_device *row)
{
	metrics_put(page, labels, row->up == MAYBE_YES);
}

static void metrics_target_state(struct metrics_page *page, const struct metrics_label *labels,
	const struct status_device *row)
{
	static const char *const names[] = {"up", "down", "unknown"};
	metrics_put_states(page, labels, "state", names, rw_countof(names), row->status);
}

/* The part of a reason that does not change with every scrape: ages and times would make a new
 * series each time. */
static const char *metrics_reason(struct arena *a, const char *reason)
{
	static const char silent[] = "silent";
	if (strncmp(reason, silent, strlen(silent)) == 0)
		return silent;
	return arena_strndup(a, reason, strcspn(reason, ";"));
}

static void metrics_target_info(struct metrics_page *page, const struct metrics_label *labels,
	const struct status_device *row)
{
	const struct metrics_label all[] = {labels[0], labels[1],
		{"address", str_or(row->address, "")},
		{"reason", metrics_reason(page->arena, str_or(row->reason, ""))}, {NULL, NULL}};
	metrics_put(page, all, 1);
}

static void metrics_target_number(struct metrics_page *page, const struct metrics_label *labels,
	const struct status_device *row)
{
	metrics_put(page, labels, metrics_member(row, page->family->at));
}

static void metrics_target_count(struct metrics_page *page, const struct metrics_label *labels,
	const struct status_device *row)
{
	const uint64_t *count = (const void *)((const char *)row + page->family->at);
	metrics_put(page, labels, count_number(*count));
}

static void metrics_target_last(struct metrics_page *page, const struct metrics_label *labels,
	const struct status_device *row)
{
	const double now_s = metrics_time_s(page->frame->status.time);
	metrics_put(page, labels, now_s - row->age_s);
}

#define EACH_TARGET(name)                                                                          \
	static void metrics_emit_target_##name(struct metrics_page *page)                          \
	{                                                                                          \
		metrics_each_target(page, metrics_target_##name);                                  \
	}
EACH_TARGET(up)
EACH_TARGET(state)
EACH_TARGET(info)
EACH_TARGET(number)
EACH_TARGET(count)
EACH_TARGET(last)

#define TARGET "device, protocol"
#define TARGETS "table of targets (`rocewatch status`)"
#define HEALTH "the agent's report about itself (`rocewatch doctor`)"
#define CANARY "the series `agent.canary`"
#define STATE "the agent's word beside the database (`FILE.state`)"
#define AGENT "lock of the database, and its newest sample"

static const struct metrics_family rows[] = {
	{"rocewatch_agent_up", METRICS_GAUGE, "", "", "1 when an agent writes the database", AGENT,
		metrics_emit_agent_up},
	{"rocewatch_agent_state", METRICS_GAUGE, "", "state",
		"1 for the state that holds: running, stopped, cannot_tell (the lock may not be "
		"read), replay (no agent ever wrote it)",
		AGENT, metrics_emit_agent_state},
	{"rocewatch_agent_start_time_seconds", METRICS_GAUGE, "seconds", "",
		"When the agent started, unix time", HEALTH, metrics_put_health,
		"process/started_s"},
	{"rocewatch_agent_resident_memory_bytes", METRICS_GAUGE, "bytes", "",
		"Resident memory of the agent", HEALTH, metrics_put_health, "process/rss_bytes"},
	{"rocewatch_data_timestamp_seconds", METRICS_GAUGE, "seconds", "",
		"Time of the newest sample of any device, unix time", AGENT,
		metrics_emit_data_time},
	{"rocewatch_data_age_seconds", METRICS_GAUGE, "seconds", "",
		"Age of the newest sample of any device", AGENT, metrics_emit_data_age},
	{"rocewatch_data_stale", METRICS_GAUGE, "", "",
		"1 when the newest sample is too old to say anything about now", AGENT,
		metrics_emit_data_stale},
	{"rocewatch_sampling_interval_seconds", METRICS_GAUGE, "seconds", "",
		"How often the slowest device is sampled", "the configuration",
		metrics_emit_interval},
	{"rocewatch_canary_age_seconds", METRICS_GAUGE, "seconds", "",
		"Time since the agent's own pulse arrived in the database", CANARY,
		metrics_emit_canary_age},
	{"rocewatch_canary_limit_seconds", METRICS_GAUGE, "seconds", "",
		"Age from which the pulse is late: two of its intervals", CANARY,
		metrics_emit_canary_limit},
	{"rocewatch_config_error", METRICS_GAUGE, "", "",
		"1 when the configuration file has mistakes, so that the one in force is used",
		"the configuration file", metrics_emit_config_error},
	{"rocewatch_config_refused", METRICS_GAUGE, "", "",
		"1 when the agent refused the newest reload and goes on with the old configuration",
		HEALTH, metrics_emit_config_refused},
	{"rocewatch_samples", METRICS_COUNTER, "", "", "Samples taken in since the agent started",
		HEALTH, metrics_put_health, "pipeline/samples"},
	{"rocewatch_samples_dropped", METRICS_COUNTER, "", "stage, reason",
		"Samples that were not used since the agent started, at each queue", HEALTH,
		metrics_emit_dropped},
	{"rocewatch_refused", METRICS_COUNTER, "", "receiver, reason, sender",
		"What a receiver (sFlow, IPFIX, OpenTelemetry, traps) refused since the agent "
		"started: datagrams, connections, messages or points, at least; the senders that "
		"are refused most",
		HEALTH, metrics_emit_refused},
	{"rocewatch_store_pending_samples", METRICS_GAUGE, "", "", "Samples that wait for the disk",
		HEALTH, metrics_put_health, "store/pending"},
	{"rocewatch_store_waiting", METRICS_GAUGE, "", "",
		"1 when the agent polls and nothing reaches the database: disk full, locked or "
		"hung",
		STATE, metrics_emit_store_waiting},
	{"rocewatch_store_waiting_seconds", METRICS_GAUGE, "seconds", "",
		"For how long nothing has reached the database", STATE,
		metrics_emit_store_waiting_for},
	{"rocewatch_store_write_errors", METRICS_COUNTER, "", "", "Commits that the disk refused",
		HEALTH, metrics_put_health, "store/errors"},
	{"rocewatch_store_wal_bytes", METRICS_GAUGE, "bytes", "",
		"Size of the database's write-ahead log", HEALTH, metrics_put_health,
		"store/wal_bytes"},
	{"rocewatch_target_up", METRICS_GAUGE, "", TARGET,
		"1 when the target is asked and answers; 0 also when that is not known", TARGETS,
		metrics_emit_target_up},
	{"rocewatch_target_state", METRICS_GAUGE, "", TARGET ", state",
		"1 for the state that holds: up, down, unknown", TARGETS,
		metrics_emit_target_state},
	{"rocewatch_target", METRICS_INFO, "", TARGET ", address, reason",
		"Address of the target, and why it is not up", TARGETS, metrics_emit_target_info},
	{"rocewatch_target_age_seconds", METRICS_GAUGE, "seconds", TARGET,
		"Time since the target's last answer", TARGETS, metrics_emit_target_number,
		.at = offsetof(struct status_device, age_s)},
	{"rocewatch_target_last_success_timestamp_seconds", METRICS_GAUGE, "seconds", TARGET,
		"When the target last answered, unix time", TARGETS, metrics_emit_target_last},
	{"rocewatch_target_poll_duration_seconds", METRICS_GAUGE, "seconds", TARGET,
		"Median time of a poll", TARGETS, metrics_emit_target_number,
		.at = offsetof(struct status_device, poll_p50_s)},
	{"rocewatch_target_poll_duration_p95_seconds", METRICS_GAUGE, "seconds", TARGET,
		"95th percentile of the time of a poll", TARGETS, metrics_emit_target_number,
		.at = offsetof(struct status_device, poll_p95_s)},
	{"rocewatch_target_polls", METRICS_COUNTER, "", TARGET, "Polls that were answered whole",
		TARGETS, metrics_emit_target_count, .at = offsetof(struct status_device, polls)},
	{"rocewatch_target_timeouts", METRICS_COUNTER, "", TARGET,
		"Requests without an answer in time", TARGETS, metrics_emit_target_count,
		.at = offsetof(struct status_device, timeouts)},
	{"rocewatch_target_errors", METRICS_COUNTER, "", TARGET, "Answers that could not be used",
		TARGETS, metrics_emit_target_count, .at = offsetof(struct status_device, errors)},
};

const struct metrics_group metrics_agent_group = {rows, rw_countof(rows)};

#define RECEIVER "receiver"
#define ALERTS "the agent's report about itself (`rocewatch alert list`)"

static const struct metrics_family alert_rows[] = {
	{"rocewatch_alert_receiver_up", METRICS_GAUGE, "", RECEIVER,
		"0 when the newest message to the receiver failed", ALERTS, metrics_put_named_well,
		"alert/?/failing"},
	{"rocewatch_alerts_sent", METRICS_COUNTER, "", RECEIVER,
		"Messages that the receiver took since the agent started, repetitions included",
		ALERTS, metrics_put_named, "alert/?/sent"},
	{"rocewatch_alerts_failed", METRICS_COUNTER, "", RECEIVER,
		"Attempts that failed; they are repeated", ALERTS, metrics_put_named,
		"alert/?/failed"},
	{"rocewatch_alerts_dropped", METRICS_COUNTER, "", RECEIVER,
		"Alerts that were given up: too many waited, or the receiver refused them", ALERTS,
		metrics_put_named, "alert/?/dropped"},
	{"rocewatch_alerts_pending", METRICS_GAUGE, "", RECEIVER,
		"Alerts that wait for the receiver", ALERTS, metrics_put_named, "alert/?/queued"},
	{"rocewatch_alert_last_success_timestamp_seconds", METRICS_GAUGE, "seconds", RECEIVER,
		"When the receiver last took a message, unix time", ALERTS, metrics_put_named,
		"alert/?/last_success_s"},
};

const struct metrics_group metrics_alert_group = {alert_rows, rw_countof(alert_rows)};

#define SINK "sink"
#define SHIP "the agent's report about itself (`store.ship`)"

static const struct metrics_family ship_rows[] = {
	{"rocewatch_ship_up", METRICS_GAUGE, "", SINK,
		"0 when the newest request to the server failed", SHIP, metrics_put_named_well,
		"ship/?/failing_s"},
	{"rocewatch_ship_samples", METRICS_COUNTER, "", SINK,
		"Samples that the server took since the agent started", SHIP, metrics_put_named,
		"ship/?/samples"},
	{"rocewatch_ship_failures", METRICS_COUNTER, "", SINK,
		"Requests that failed; they are repeated", SHIP, metrics_put_named,
		"ship/?/failures"},
	{"rocewatch_ship_lost_samples", METRICS_COUNTER, "", SINK,
		"Samples that were never sent, because too much waited", SHIP, metrics_put_named,
		"ship/?/lost"},
	{"rocewatch_ship_waiting_samples", METRICS_GAUGE, "", SINK,
		"Samples that wait for the server", SHIP, metrics_put_named,
		"ship/?/waiting_samples"},
	{"rocewatch_ship_behind_seconds", METRICS_GAUGE, "seconds", SINK,
		"Age of the oldest data that wait for the server", SHIP, metrics_put_named,
		"ship/?/behind_s"},
};

const struct metrics_group metrics_ship_group = {ship_rows, rw_countof(ship_rows)};
