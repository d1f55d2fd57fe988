/*
 * doctor - how the collection itself is doing, as one document: every target, data quality,
 * captures, store and process, and what is to be done. From the database, what the agent says of
 * itself (agent/judge/health.h), the configuration and the file system.
 */
#pragma once

#include <jansson.h>

#include "agent/answers/common/agent_state.h"
#include "agent/answers/common/class_worlds.h"
#include "agent/answers/common/store_facts.h"
#include "agent/answers/status/verdict.h"
#include "agent/client/client.h"

struct doctor_target {
	const char *name, *protocol, *address, *status, *state, *reason;
	double age_s, poll_p50_s, poll_p95_s;
	uint64_t polls, timeouts, errors;
	double interval_s, values_per_s, varbinds_per_s;
	uint64_t missed_polls, suspect_readings, max_repetitions;
	const char *notes, *remedy;
};
extern const struct shape doctor_target_shape;

/* A counter that a device does not deliver. */
struct coverage_missing {
	const char *what;
	const char **metrics;
	size_t n_metrics;
	enum maybe asked; /* by its profile */
};

struct coverage_cause {
	const char *cause, *reported_by;
	struct coverage_missing *missing;
	size_t n_missing;
};

/* By which absent counters devices are blind for a cause, or show it less surely; those of which
 * all of it is the same are one row. Of devices that delivered nothing lately it says nothing. */
struct coverage_row {
	const char **devices;
	size_t n_devices;
	bool delivers;
	const char **sees; /* causes */
	size_t n_sees;
	struct coverage_cause *weak, *blind;
	size_t n_weak, n_blind;
};

struct doctor_quality {
	uint64_t samples, suspect_samples, late_samples, duplicate_samples, restart_samples,
		refused_samples, late_flows, failed_windows;
};

struct doctor_traps {
	bool open;
	uint64_t received, events, informs, repeated, unknown_trap, unknown_sender,
		wrong_credential, malformed, limited;
};

struct doctor_store {
	const char *path;
	uint64_t writer_pid;
	wall_t from, to;
	double span_s;
	uint64_t size_bytes, wal_bytes;
	double last_commit_age_s, canary_age_s;
	uint64_t pending_samples, dropped_samples, failed_commits;
	double disk_free_ratio;
	uint64_t disk_free_bytes;
};

struct doctor_dropped {
	uint64_t pipeline_refused, pipeline_duplicates, pipeline_late_flows, store_queue;
};

struct doctor_process {
	uint64_t rss_bytes;
	double up_s;
	struct doctor_dropped dropped;
	const char *sandbox; /* what it closes; NULL: not known */
};

/* How far behind the present the fabric is judged. */
struct doctor_judge {
	wall_t until;
	double behind_s;
	bool reads; /* what the agents collect */
};

struct doctor_capture {
	const char *name, *interface;
	uint64_t sampling; /* one frame of so many */
	CAPTURE_FACTS(CAPTURE_FACT_MEMBER)
	uint64_t captured_bytes, expected_bytes;
	const char *notes;
};
extern const struct shape doctor_capture_shape;

/* What has a struct; doc has all of it. */
struct doctor_answer {
	json_t *doc;
	struct verdict verdict; /* of the fabric, as every face tells it */
	struct agent_state agent;
	struct class_told *classes;
	size_t n_classes;
	struct doctor_process process;
	struct doctor_target *targets;
	size_t n_targets;
	struct coverage_row *coverage;
	size_t n_coverage;
	struct doctor_quality data_quality;
	struct doctor_capture *captures;
	size_t n_captures;
	struct doctor_traps *traps; /* NULL: not known */
	struct doctor_judge *judge; /* NULL: this is not its database */
	struct doctor_store store;
	struct store_alarm *todo; /* the worst first */
	size_t n_todo;
};

/* doctor_read - structs and texts lie in @a; doctor_done() it. 0, or negative errno with @e. */
int doctor_read(struct client *client, struct arena *a, struct doctor_answer *ret, struct err *e);
void doctor_done(struct doctor_answer *answer);

/*
 * doctor_document - {fabric, time, state, state_why, agent_running, targets: [...], coverage:
 * [{devices, delivers, sees: [causes], weak, blind: [{cause, reported_by, missing: [{what, metrics,
 * asked}]}]}], data_quality, captures: [...], store, process, traps, agent, todo: [{severity,
 * subject, what, do}]}; todo is empty when nothing is wrong, worst first else. coverage says by
 * which absent counters devices are blind for a cause, or show it less surely; asked: do their
 * profiles ask for it, null: not known; of devices that delivered nothing lately (delivers: false)
 * it says nothing. As of client->at_ns: for a past time only the devices are
 * known, and todo is empty. Unknown is null, never 0. NULL on failure with @e filled; the caller
 * owns the result.
 */
json_t *doctor_document(struct client *client, struct err *e);
