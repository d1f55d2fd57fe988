/*
 * watch_frame - what is behind every live surface: terminal, web page, exported metrics. Only what
 * is measured is shown: a signal that is not collected says so, and one in which an open incident
 * shows is as bad as that.
 */
#include "agent/answers/watch/watch_frame.h"

#include <math.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/answers/watch/watch_incidents.h"
#include "agent/answers/watch/watch_now.h"
#include "agent/answers/watch/watch_past.h"

/* ---- rows ------------------------------------------------------------------- */

static const char *const watch_job_words[JOB_STATES] = {
	[JOB_UNKNOWN] = "unknown", [JOB_STOPPED] = "stopped", [JOB_RUNNING] = "running"};

const char *watch_job_word(enum watch_job_state state)
{
	return watch_job_words[state];
}

#define SHAPE struct watch_window
static const struct field watch_window_fields[] = {
	TIME(from, "Begin."),
	TIME(to, "End."),
};
static SHAPE_OF(watch_window, "Window", "A time range.");
#undef SHAPE

#define SHAPE struct watch_subject
static const struct field watch_subject_fields[] = {
	TEXT(device, "Switch."),
	TEXT(port, "Port of the switch."),
	COUNT(priority, "Priority, 0 to 7.", .unknown = true, .type = "priority"),
	TEXT(host, "Host that is accused."),
};
static SHAPE_OF(watch_subject, "Subject",
	"What an incident or a signal is about; null where a part does not apply.", .common = true);
#undef SHAPE

#define SHAPE struct watch_signal
static const struct field watch_signal_fields[] = {
	TEXT(name, "Name, which never changes.", .known = true),
	TEXT(signal, "The same for people.", .known = true),
	NUMBER(value, UNIT_NONE,
		"Value, in `unit`; null: no device delivers it, which is not zero."),
	NUMBER(value_low, UNIT_NONE, "Lower end where the value is a bound, in `unit`."),
	TEXT(unit, "Unit.", .known = true),
	TEXT(quality, "`exact`, `estimated`, `bound` or `unknown`.", .known = true),
	NUMBER(baseline, UNIT_NONE, "What is usual, in `unit`."),
	NUMBER(baseline_span_s, UNIT_SECONDS, "Time from which the baseline comes."),
	TIME(baseline_from, "Its oldest value. Times of incidents are left out."),
	TIME(baseline_to, "Its newest value."),
	WORD(state, golden_state, golden_state_names, GOLDEN_STATES,
		"`ok`, `warning`, `critical` or `unknown`."),
	TEXT(where, "Place with the worst value."),
	TEXT(why, "Why it is judged so."),
	PART(subject, watch_subject, "The place as parts."),
	TEXT(incident, "Open incident about it.", .type = "id"),
	NUMBER(limit, UNIT_NONE,
		"From where on its detector reports it, in `unit`; null: no number is bad by "
		"itself."),
	FLAG(over, "Was it measured over the limit of its detector in this window?"),
};
SHAPE_OF(watch_signal, "Signal", "One golden signal.");
#undef SHAPE

#define SHAPE struct watch_paused
static const struct field watch_paused_fields[] = {
	TEXT(device, "Switch.", .known = true),
	TEXT(port, "Port.", .known = true),
	COUNT(priority, "Priority, 0 to 7.", .type = "priority"),
	TEXT(peer, "Device or host behind the port."),
	TEXT(host, "Host behind the port."),
	TEXT(direction, "`tx`: we paused the neighbor; `rx`: the neighbor paused us.",
		.known = true),
	NUMBER(pause_ratio, UNIT_RATIO,
		"Share of the time, 0 to 1; the upper bound where only frames are counted.",
		.known = true),
	NUMBER(pause_ratio_low, UNIT_RATIO, "Lower bound of the same.", .known = true),
	TEXT(quality, "`exact` or `bound`.", .known = true),
	TEXT(sentence, "The same in words.", .known = true),
	TEXT(role, "`origin`, `victim` or `unknown`.", .known = true),
	TEXT(incident, "Open incident about it.", .type = "id"),
};
static SHAPE_OF(watch_paused, "Paused", "A port with pause.");
#undef SHAPE

#define SHAPE struct watch_uplink
static const struct field watch_uplink_fields[] = {
	TEXT(device, "Switch.", .known = true),
	TEXT(port, "Port.", .known = true),
	TEXT(peer, "Device behind it.", .known = true),
	NUMBER(utilization_ratio, UNIT_RATIO, "Load as a share of the speed.", .known = true),
	COUNT(speed_bps, "Speed.", .unknown = true, .unit = UNIT_BITS_PER_S),
};
static SHAPE_OF(watch_uplink, "Uplink", "An uplink.");
#undef SHAPE

#define SHAPE struct watch_event
static const struct field watch_event_fields[] = {
	TEXT(t, "When.", .known = true, .type = "time"),
	TEXT(kind, "`change`, `incident`, `agent_start`, `alert_sent`, `config_drift` and others.",
		.known = true),
	TEXT(text, "What happened.", .known = true),
	TEXT(device, "Device it concerns."),
	TEXT(port, "Port."),
};
static SHAPE_OF(watch_event, "Event", "Something that happened.", .common = true);
#undef SHAPE

#define SHAPE struct watch_job
static const struct field watch_job_fields[] = {
	TEXT(job, "Job.", .known = true),
	WORD(state, watch_job_state, watch_job_words, JOB_STATES,
		"`running`, `stopped`, `idle` or `unknown`."),
	NUMBER(step_s, UNIT_SECONDS, "Step time."),
	NUMBER(step_base_s, UNIT_SECONDS, "Usual step time."),
	NUMBER(change_ratio, UNIT_RATIO,
		"Change of the throughput against what is usual; -0.2: 20 % less."),
	NUMBER(exchange_s, UNIT_SECONDS, "Exchange time in a step."),
	TIME(since, "Since when it is so."),
};
static SHAPE_OF(watch_job, "WatchJob", "A job and its step time.");
#undef SHAPE

#define SHAPE struct watch_answer
static const struct field watch_answer_fields[] = {
	HIDDEN(status), /* its keys stand before these */
	COUNT(open_incidents, "Incidents that are open.", .unknown = true),
	SHAPE_LIST(incidents, struct open_incident **, FIELD_ROWS,
		"These incidents, the worst first.", .shape = &open_incident_wall_shape),
	PART(window, watch_window, "The time that rates are about."),
	ROWS(signals, watch_signal, "The golden signals."),
	ROWS(paused, watch_paused, "The ports with the most pause time."),
	ROWS(uplinks, watch_uplink, "The busiest uplinks."),
	ROWS(events, watch_event, "The latest events."),
	ROWS(jobs, watch_job, "The jobs."),
};
SHAPE_OF(watch_answer, "watch",
	"One frame of the live screen: the state, golden signals, paused ports, uplinks, jobs and "
	"incidents.");
#undef SHAPE

/* ---- when the data ended ------------------------------------------------------ */

/* Since when nothing is known: "the agent stopped", at once, or "the data ended", once they are
 * stale; NULL: the data are of now, or of the past that was asked for. */
static const char *watch_ended(const struct agent_state *agent)
{
	if (agent->state == AGENT_STOPPED && !agent->past)
		return "the agent stopped";
	if (agent_is_stuck(agent) && agent->stale)
		return "the agent could no longer write";
	if (agent->stale)
		return "the data ended";
	return NULL;
}

/* A signal that was quiet when @ended may be anything now. */
static void watch_age_signals(struct watch_answer *frame, struct arena *a, const char *ended)
{
	for (size_t i = 0; i < frame->n_signals; i++) {
		struct watch_signal *signal = &frame->signals[i];
		if (signal->state != GOLDEN_OK && signal->state != GOLDEN_IDLE)
			continue;
		signal->why =
			arena_printf(a, "was %s when %s", golden_state_name(signal->state), ended);
		signal->state = GOLDEN_UNKNOWN;
	}
}

static void watch_age_jobs(struct watch_answer *frame)
{
	for (size_t i = 0; i < frame->n_jobs; i++) {
		struct watch_job *job = &frame->jobs[i];
		job->state = JOB_UNKNOWN;
		job->step_s = job->change_ratio = job->exchange_s = NAN;
	}
}

/* ---- the frame ---------------------------------------------------------------- */

/* What is usual, and the jobs; then what incidents say of all of them. */
static int watch_take_past(
	struct client *client, struct arena *a, struct watch_answer *ret, struct err *e)
{
	struct watch_past *past = watch_past_read(client, e);
	if (!past)
		return -1;
	watch_past_apply(past, ret);
	watch_jobs(past, client, a, ret);
	watch_apply_jobs(client, a, ret);
	watch_apply_incidents(a, ret);
	watch_past_free(past);
	return 0;
}

int watch_read_open(struct client *client, struct arena *a, struct watch_answer *ret, struct err *e)
{
	*ret = (struct watch_answer){0};
	const int rc = status_read(client, a, &ret->status, e);
	if (rc == 0)
		watch_take_incidents(ret);
	return rc;
}

int watch_read_rest(struct client *client, struct watch_now *now, struct arena *a,
	struct watch_answer *ret, struct err *e)
{
	int rc = watch_now_read(client, a, now, e);
	if (rc < 0)
		return rc;
	watch_take_now(now, a, ret);
	rc = watch_events_read(client, a, ret, e);
	if (rc == 0)
		rc = watch_take_past(client, a, ret, e);
	if (rc < 0)
		return rc;
	const char *ended = watch_ended(&ret->status.agent);
	if (ended) {
		watch_age_signals(ret, a, ended);
		watch_age_jobs(ret);
	}
	return 0;
}

int watch_read(struct client *client, struct watch_now *now, struct arena *a,
	struct watch_answer *ret, struct err *e)
{
	const int rc = watch_read_open(client, a, ret, e);
	if (rc < 0)
		return rc;
	return watch_read_rest(client, now, a, ret, e);
}

json_t *watch_json(const struct watch_answer *frame)
{
	json_t *doc = shape_json(&status_answer_shape, &frame->status);
	shape_put(doc, &watch_answer_shape, frame);
	return doc;
}

json_t *watch_frame(struct client *client, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct watch_now now;
	struct watch_answer frame;
	if (watch_read(client, &now, a, &frame, e) < 0)
		return NULL;
	return watch_json(&frame);
}
