/* metrics_agent - families about the agent itself, its data, its targets and its queues. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/reports/agent_state.h"
#include "agent/surface/metrics_page.h"
#include "config/config.h"

static double metrics_time_s(const json_t *object, const char *key)
{
	wall_t t;
	const char *text = doc_word(object, key);
	if (!*text || wall_parse(text, (wall_t){0}, &t) < 0)
		return NAN;
	return (double)t.ns / NS_PER_S;
}

static const json_t *metrics_agent(const struct metrics_page *page)
{
	return json_object_get(page->doc, "agent");
}

/* ---- the agent --------------------------------------------------------------- */

static void metrics_emit_agent_up(struct metrics_page *page)
{
	metrics_put(page, NULL, str_eq(doc_word(metrics_agent(page), "state"), "running"));
}

static void metrics_emit_agent_state(struct metrics_page *page)
{
	static const char *const names[] = {"running", "stopped", "cannot_tell", "replay"};
	metrics_put_states(page, NULL, "state", names, rw_countof(names),
		doc_word(metrics_agent(page), "state"));
}

static void metrics_emit_agent_start(struct metrics_page *page)
{
	metrics_put(page, NULL, metrics_health(page, "process/started_s"));
}

static void metrics_emit_agent_rss(struct metrics_page *page)
{
	metrics_put(page, NULL, metrics_health(page, "process/rss_bytes"));
}

static void metrics_emit_data_time(struct metrics_page *page)
{
	metrics_put(page, NULL, metrics_time_s(metrics_agent(page), "data_time"));
}

static void metrics_emit_data_age(struct metrics_page *page)
{
	metrics_put(page, NULL, doc_number(metrics_agent(page), "data_age_s"));
}

static void metrics_emit_data_stale(struct metrics_page *page)
{
	metrics_put(page, NULL, json_is_true(json_object_get(metrics_agent(page), "stale")));
}

static void metrics_emit_config_error(struct metrics_page *page)
{
	metrics_put(
		page, NULL, json_is_string(json_object_get(metrics_agent(page), "config_error")));
}

static void metrics_emit_config_refused(struct metrics_page *page)
{
	const bool told = json_is_object(json_object_get(metrics_agent(page), "reload_refused"));
	metrics_put(page, NULL, told || metrics_health(page, "process/config_refused") > 0);
}

static const json_t *metrics_store(const struct metrics_page *page)
{
	return json_object_get(metrics_agent(page), "store");
}

static void metrics_emit_store_waiting(struct metrics_page *page)
{
	if (json_is_object(metrics_store(page)))
		metrics_put(page, NULL, agent_is_stuck(metrics_agent(page)));
}

static void metrics_emit_store_waiting_for(struct metrics_page *page)
{
	if (json_is_object(metrics_store(page)))
		metrics_put(page, NULL, doc_number(metrics_store(page), "for_s"));
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

static void metrics_emit_samples(struct metrics_page *page)
{
	metrics_put(page, NULL, metrics_health(page, "pipeline/samples"));
}

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

static void metrics_emit_store_pending(struct metrics_page *page)
{
	metrics_put(page, NULL, metrics_health(page, "store/pending"));
}

static void metrics_emit_store_errors(struct metrics_page *page)
{
	metrics_put(page, NULL, metrics_health(page, "store/errors"));
}

static void metrics_emit_store_wal(struct metrics_page *page)
{
	metrics_put(page, NULL, metrics_health(page, "store/wal_bytes"));
}

/* ---- targets ----------------------------------------------------------------- */

/* A capture stands in the list of devices too; its protocol says so. */
typedef void metrics_target_fn(
	struct metrics_page *page, const struct metrics_label *labels, const json_t *row);

static void metrics_each_target(struct metrics_page *page, metrics_target_fn *fn)
{
	const json_t *row;
	size_t i;
	json_array_foreach (json_object_get(page->doc, "devices"), i, row) {
		const char *protocol = doc_word(row, "protocol");
		const struct metrics_label labels[] = {{"device", doc_word(row, "name")},
			{"protocol", *protocol ? protocol : "none"}, {NULL, NULL}};
		fn(page, labels, row);
	}
}

static void metrics_target_up(
	struct metrics_page *page, const struct metrics_label *labels, const json_t *row)
{
	metrics_put(page, labels, str_eq(doc_word(row, "status"), "up"));
}

static void metrics_target_state(
	struct metrics_page *page, const struct metrics_label *labels, const json_t *row)
{
	static const char *const names[] = {"up", "down", "unknown"};
	metrics_put_states(
		page, labels, "state", names, rw_countof(names), doc_word(row, "status"));
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

static void metrics_target_info(
	struct metrics_page *page, const struct metrics_label *labels, const json_t *row)
{
	const struct metrics_label all[] = {labels[0], labels[1],
		{"address", doc_word(row, "address")},
		{"reason", metrics_reason(page->arena, doc_word(row, "reason"))}, {NULL, NULL}};
	metrics_put(page, all, 1);
}

static void metrics_target_age(
	struct metrics_page *page, const struct metrics_label *labels, const json_t *row)
{
	metrics_put(page, labels, doc_number(row, "age_s"));
}

static void metrics_target_last(
	struct metrics_page *page, const struct metrics_label *labels, const json_t *row)
{
	const double now_s = metrics_time_s(page->doc, "time");
	metrics_put(page, labels, now_s - doc_number(row, "age_s"));
}

static void metrics_target_p50(
	struct metrics_page *page, const struct metrics_label *labels, const json_t *row)
{
	metrics_put(page, labels, doc_number(row, "poll_p50_s"));
}

static void metrics_target_p95(
	struct metrics_page *page, const struct metrics_label *labels, const json_t *row)
{
	metrics_put(page, labels, doc_number(row, "poll_p95_s"));
}

static void metrics_target_polls(
	struct metrics_page *page, const struct metrics_label *labels, const json_t *row)
{
	metrics_put(page, labels, doc_number(row, "polls"));
}

static void metrics_target_timeouts(
	struct metrics_page *page, const struct metrics_label *labels, const json_t *row)
{
	metrics_put(page, labels, doc_number(row, "timeouts"));
}

static void metrics_target_errors(
	struct metrics_page *page, const struct metrics_label *labels, const json_t *row)
{
	metrics_put(page, labels, doc_number(row, "errors"));
}

#define EACH_TARGET(name)                                                                          \
	static void metrics_emit_target_##name(struct metrics_page *page)                          \
	{                                                                                          \
		metrics_each_target(page, metrics_target_##name);                                  \
	}
EACH_TARGET(up)
EACH_TARGET(state)
EACH_TARGET(info)
EACH_TARGET(age)
EACH_TARGET(last)
EACH_TARGET(p50)
EACH_TARGET(p95)
EACH_TARGET(polls)
EACH_TARGET(timeouts)
EACH_TARGET(errors)

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
		"When the agent started, unix time", HEALTH, metrics_emit_agent_start},
	{"rocewatch_agent_resident_memory_bytes", METRICS_GAUGE, "bytes", "",
		"Resident memory of the agent", HEALTH, metrics_emit_agent_rss},
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
		HEALTH, metrics_emit_samples},
	{"rocewatch_samples_dropped", METRICS_COUNTER, "", "stage, reason",
		"Samples that were not used since the agent started, at each queue", HEALTH,
		metrics_emit_dropped},
	{"rocewatch_store_pending_samples", METRICS_GAUGE, "", "", "Samples that wait for the disk",
		HEALTH, metrics_emit_store_pending},
	{"rocewatch_store_waiting", METRICS_GAUGE, "", "",
		"1 when the agent polls and nothing reaches the database: disk full, locked or "
		"hung",
		STATE, metrics_emit_store_waiting},
	{"rocewatch_store_waiting_seconds", METRICS_GAUGE, "seconds", "",
		"For how long nothing has reached the database", STATE,
		metrics_emit_store_waiting_for},
	{"rocewatch_store_write_errors", METRICS_COUNTER, "", "", "Commits that the disk refused",
		HEALTH, metrics_emit_store_errors},
	{"rocewatch_store_wal_bytes", METRICS_GAUGE, "bytes", "",
		"Size of the database's write-ahead log", HEALTH, metrics_emit_store_wal},
	{"rocewatch_target_up", METRICS_GAUGE, "", TARGET,
		"1 when the target is asked and answers; 0 also when that is not known", TARGETS,
		metrics_emit_target_up},
	{"rocewatch_target_state", METRICS_GAUGE, "", TARGET ", state",
		"1 for the state that holds: up, down, unknown", TARGETS,
		metrics_emit_target_state},
	{"rocewatch_target", METRICS_INFO, "", TARGET ", address, reason",
		"Address of the target, and why it is not up", TARGETS, metrics_emit_target_info},
	{"rocewatch_target_age_seconds", METRICS_GAUGE, "seconds", TARGET,
		"Time since the target's last answer", TARGETS, metrics_emit_target_age},
	{"rocewatch_target_last_success_timestamp_seconds", METRICS_GAUGE, "seconds", TARGET,
		"When the target last answered, unix time", TARGETS, metrics_emit_target_last},
	{"rocewatch_target_poll_duration_seconds", METRICS_GAUGE, "seconds", TARGET,
		"Median time of a poll", TARGETS, metrics_emit_target_p50},
	{"rocewatch_target_poll_duration_p95_seconds", METRICS_GAUGE, "seconds", TARGET,
		"95th percentile of the time of a poll", TARGETS, metrics_emit_target_p95},
	{"rocewatch_target_polls", METRICS_COUNTER, "", TARGET, "Polls that were answered whole",
		TARGETS, metrics_emit_target_polls},
	{"rocewatch_target_timeouts", METRICS_COUNTER, "", TARGET,
		"Requests without an answer in time", TARGETS, metrics_emit_target_timeouts},
	{"rocewatch_target_errors", METRICS_COUNTER, "", TARGET, "Answers that could not be used",
		TARGETS, metrics_emit_target_errors},
};

const struct metrics_group metrics_agent_group = {rows, rw_countof(rows)};
