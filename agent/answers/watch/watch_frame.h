/*
 * watch_frame - one frame of `rocewatch watch`, of every live surface: what is wrong, where and
 * since when.
 */
#pragma once

#include <jansson.h>

#include "base/base.h"
#include "agent/answers/status/status.h"
#include "db/model/golden.h"

struct watch_now;

struct watch_window {
	wall_t from, to;
};

struct watch_subject {
	const char *device, *port;
	uint64_t priority;
	const char *host;
};

/* A signal that no device delivers has the state GOLDEN_UNKNOWN and no value; one in which an open
 * incident shows is as bad as that, and any other one is in order: its limit decides nothing here,
 * see agent/answers/status/verdict.h. */
struct watch_signal {
	const char *name, *signal; /* for programs and for people */
	double value, value_low;
	double limit; /* from where on its detector reports */
	const char *unit, *quality;
	double baseline, baseline_span_s;
	wall_t baseline_from, baseline_to; /* times of incidents between them are left out */
	enum golden_state state;
	const char *where, *why;
	struct watch_subject subject;
	const char *incident; /* id */
	bool over; /* measured over its limit in this window */
};

struct watch_paused {
	const char *device, *port;
	uint64_t priority;
	const char *peer, *host, *direction;
	double pause_ratio, pause_ratio_low;
	const char *quality, *sentence, *role, *incident;
};

struct watch_uplink {
	const char *device, *port, *peer;
	double utilization_ratio;
	bool idle;
	uint64_t speed_bps;
};

struct watch_event {
	const char *t, *kind, *text, *device, *port; /* t: RFC 3339 */
};

enum watch_job_state { JOB_UNKNOWN, JOB_STOPPED, JOB_RUNNING, JOB_STATES };

struct watch_job {
	const char *job;
	enum watch_job_state state;
	double step_s, step_base_s, change_ratio, exchange_s;
	wall_t since; /* of its level; of a stopped job, when it stopped */
};

struct watch_answer {
	struct status_answer status; /* without its incidents; state, sentence and money are its */
	uint64_t open_incidents;
	struct open_incident *incidents; /* by money, then severity */
	size_t n_incidents;
	struct watch_window window;
	struct watch_signal *signals; /* by enum golden */
	size_t n_signals;
	struct watch_paused *paused;
	size_t n_paused;
	struct watch_uplink *uplinks;
	size_t n_uplinks;
	struct watch_event *events; /* the newest first */
	size_t n_events;
	struct watch_job *jobs;
	size_t n_jobs;
};
extern const struct shape watch_answer_shape, watch_signal_shape;

/* watch_job_word - "unknown", "stopped" or "running". */
const char *watch_job_word(enum watch_job_state state);

/* watch_read_open - the status and what is open, without signals and jobs: nothing is measured. All
 * of it lies in @a. watch_read_rest - the rest of it, as watch_read(). */
int watch_read_open(
	struct client *client, struct arena *a, struct watch_answer *ret, struct err *e);
int watch_read_rest(struct client *client, struct watch_now *now, struct arena *a,
	struct watch_answer *ret, struct err *e);
/* watch_read - all of it lies in @a; @now is what was measured, in @a and in the client's
 * configuration. 0, or negative errno with @e. */
int watch_read(struct client *client, struct watch_now *now, struct arena *a,
	struct watch_answer *ret, struct err *e);
/* watch_json - the frame as JSON; the caller owns it. */
json_t *watch_json(const struct watch_answer *frame);
/* watch_frame - both. NULL with @e. */
json_t *watch_frame(struct client *client, struct err *e);
