/*
 * watch_frame - what is behind every live surface: terminal, web page, exported metrics. Only what
 * is measured is shown: a signal that is not collected says so, and one in which an open incident
 * shows is as bad as that.
 */
#include "agent/answers/watch/watch_frame.h"

#include "analyzers/measure/golden_measure.h"
#include "agent/client/client.h"
#include "agent/answers/status/unjudged.h"
#include "agent/answers/watch/watch_now.h"
#include "agent/answers/watch/watch_past.h"
#include "db/model/cause.h"
#include "db/series/history.h"

/*
 * watch_incidents - the open incidents of the watch frame, and how they change the golden signals:
 * one in which an open incident shows is as bad as that, any other one is in order.
 */

struct arena;

struct client;

struct err;

struct watch_answer;

enum { EVENTS_SHOWN = 8 };

/* ---- by money --------------------------------------------------------------- */

/* Zero where it has no price. */
static double watch_price(const struct open_incident *incident)
{
	if (isnan(incident->usd_per_hour))
		return 0;
	return incident->usd_per_hour;
}

struct watch_ranked {
	struct open_incident incident;
	size_t place; /* by severity */
};

static int watch_by_money(const void *left, const void *right)
{
	const struct watch_ranked *x = left, *y = right;
	const double u = watch_price(&x->incident), v = watch_price(&y->incident);
	if (u != v)
		return (v > u) - (v < u);
	return (x->place > y->place) - (x->place < y->place);
}

/* They are sorted by severity. */
static void watch_sort_by_money(struct open_incident *incidents, size_t n)
{
	struct watch_ranked *ranked = rw_calloc(n + 1, sizeof(*ranked));
	for (size_t i = 0; i < n; i++)
		ranked[i] = (struct watch_ranked){incidents[i], i};
	qsort(ranked, n, sizeof(*ranked), watch_by_money);
	for (size_t i = 0; i < n; i++)
		incidents[i] = ranked[i].incident;
	free(ranked);
}

/* watch_take_incidents - moves those of the status into the frame, by money, then severity. */
static void watch_take_incidents(struct watch_answer *frame)
{
	frame->open_incidents = frame->status.open_incidents;
	frame->incidents = frame->status.incidents;
	frame->n_incidents = frame->status.n_incidents;
	frame->status.n_incidents = 0;
	watch_sort_by_money(frame->incidents, frame->n_incidents);
}

/* ---- events ---------------------------------------------------------------- */

struct watch_events {
	struct arena *arena;
	struct watch_answer *frame;
};

static const char *watch_word(struct arena *a, const char *word)
{
	if (!word)
		return NULL;
	return arena_strdup(a, word);
}

static int watch_take_event(void *arg, int n, char *const *words, char *const *names)
{
	const struct watch_events *events = arg;
	struct arena *a = events->arena;
	struct watch_answer *frame = events->frame;
	frame->events[frame->n_events++] =
		(struct watch_event){watch_word(a, words[0]), watch_word(a, words[1]),
			watch_word(a, words[2]), watch_word(a, words[3]), watch_word(a, words[4])};
	return 0;
}

/* watch_events_read - the newest events up to the time of the frame, newest first; they lie in @a.
 * 0, or negative errno with @e. */
static int watch_events_read(
	struct client *client, struct arena *a, struct watch_answer *frame, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	struct watch_events events = {a, frame};
	frame->events = arena_array(a, struct watch_event, EVENTS_SHOWN);
	str_addf(&sql,
		"SELECT time AS t, kind, text, device, port FROM events WHERE t_ns<=%lld "
		"ORDER BY t_ns DESC LIMIT %d",
		(long long)client->at_ns, EVENTS_SHOWN);
	return history_sql(client->history, sql.s, watch_take_event, &events, e);
}

/* ---- what incidents say of signals ------------------------------------------ */

/* The worst open incident that shows in @signal, the first of those alike; NULL: none. */
static const struct open_incident *watch_incident_of(
	enum golden signal, const struct watch_answer *frame)
{
	const struct open_incident *worst = NULL;
	for (size_t i = 0; i < frame->n_incidents; i++) {
		const struct open_incident *incident = &frame->incidents[i];
		if (!golden_shows(signal, cause_by_name(incident->cause)))
			continue;
		if (!worst || verdict_incident_state(incident) > verdict_incident_state(worst))
			worst = incident;
	}
	return worst;
}

static bool watch_has(const char *text)
{
	return text && *text;
}

/* An incident about a whole switch says less of the place than a port of that switch does. */
static bool watch_names_less(
	const struct watch_signal *signal, const struct open_incident *incident)
{
	return !watch_has(incident->host) && !watch_has(incident->port) &&
		str_eq(str_or(incident->device, ""), str_or(signal->subject.device, ""));
}

/* Where the fault is: the incident's subject, not the port with the highest number. */
static void watch_take_subject(
	struct arena *a, struct watch_signal *signal, const struct open_incident *incident)
{
	const bool has_device = watch_has(incident->device);
	rw_cleanup(str_done) struct str where = {0};
	if (watch_has(incident->host))
		str_addf(&where, "%s%s", incident->host, str_if(has_device, " at "));
	if (has_device)
		str_addf(&where, "%s", incident->device);
	if (has_device && watch_has(incident->port))
		str_addf(&where, " %s", incident->port);
	if (!where.n || watch_names_less(signal, incident))
		return;
	signal->subject = (struct watch_subject){
		incident->device, incident->port, incident->priority, incident->host};
	signal->where = arena_strdup(a, where.s);
}

/* What was measured over its limit, and no incident is about it. */
static void watch_apply_none(
	struct client *client, struct arena *a, enum golden of, struct watch_answer *frame)
{
	struct watch_signal *signal = &frame->signals[of];
	const struct unjudged what = {.client = client,
		.incidents = frame->incidents,
		.n_incidents = frame->n_incidents,
		.causes = golden_info(of)->causes,
		.device = signal->subject.device,
		.port = signal->subject.port};
	rw_cleanup(str_done) struct str why = {0};
	if (!signal->over)
		return;
	signal->state = GOLDEN_OK;
	unjudged_over(&what, &why);
	if (watch_has(signal->why))
		str_addf(&why, "; %s", signal->why);
	signal->why = arena_strdup(a, why.s);
}

static void watch_apply_signal(
	struct client *client, struct arena *a, enum golden of, struct watch_answer *frame)
{
	struct watch_signal *signal = &frame->signals[of];
	const struct open_incident *incident = watch_incident_of(of, frame);
	signal->over = signal->state == GOLDEN_WARNING || signal->state == GOLDEN_CRITICAL;
	if (!incident) {
		if (!watch_has(signal->incident))
			watch_apply_none(client, a, of, frame);
		return;
	}
	const enum golden_state state = verdict_incident_state(incident);
	if (state != GOLDEN_OK || signal->over)
		signal->state = state;
	signal->incident = incident->id;
	signal->why = incident->headline;
	if (watch_has(incident->silenced))
		signal->why = arena_printf(a, "silenced: %s", str_or(incident->headline, ""));
	watch_take_subject(a, signal, incident);
}

/* An incident is about a paused port when it names the port, or the host behind it. */
static bool watch_is_about(const struct open_incident *incident, const struct watch_paused *paused)
{
	if (!golden_shows(GOLDEN_PAUSE_TIME, cause_by_name(incident->cause)))
		return false;
	if (watch_has(incident->host) && str_eq(incident->host, paused->host))
		return true;
	return watch_has(incident->port) && str_eq(incident->port, paused->port) &&
		str_eq(str_or(incident->device, ""), str_or(paused->device, ""));
}

static void watch_apply_paused(struct watch_paused *paused, const struct watch_answer *frame)
{
	for (size_t i = 0; i < frame->n_incidents; i++) {
		if (!watch_is_about(&frame->incidents[i], paused))
			continue;
		paused->incident = frame->incidents[i].id;
		paused->role = golden_role_name(GOLDEN_ROLE_ORIGIN);
		return;
	}
}

/* watch_apply_incidents - signals and paused ports take the state, the subject and the id of the
 * open incident that shows in them (golden.def). */
static void watch_apply_incidents(
	struct client *client, struct arena *a, struct watch_answer *frame)
{
	for (size_t i = 0; i < frame->n_signals; i++)
		watch_apply_signal(client, a, (enum golden)i, frame);
	for (size_t i = 0; i < frame->n_paused; i++)
		watch_apply_paused(&frame->paused[i], frame);
}

/* ---- watch_frame --------------------------------------------------------- */

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
	TEXT(role,
		"`origin`; `passes`: it waits and makes others wait; `victim`: it waits only; or "
		"`unknown`.",
		.known = true),
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
	FLAG(idle, "Is the load too small to judge it (`analyzers.ecmp_imbalance.load_floor`)?"),
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
	watch_apply_incidents(client, a, ret);
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
