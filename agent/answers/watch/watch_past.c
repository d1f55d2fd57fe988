/* watch_past - series of agent.signal, read once per frame. */
#include "agent/answers/watch/watch_past.h"

#include "base/stats.h"
#include "agent/answers/watch/watch_frame.h"
#include "agent/client/client.h"
#include "analyzers/measure/job_limits.h"
#include "analyzers/measure/rhythm.h"
#include "config/config.h"
#include "db/model/cause.h"
#include "db/model/golden.h"
#include "db/model/metric.h"
#include "db/series/history.h"

#define DAY_NS (24 * 3600 * NS_PER_S)
#define WHOLE_NS (2 * 3600 * NS_PER_S)
#define SLICE_EACH_NS (3 * 3600 * NS_PER_S)
#define SLICE_NS (15 * 60 * NS_PER_S)
/* A value of a job is of now when it is no older: it is kept once a minute. */
#define FRESH_NS (3 * 60 * NS_PER_S)
enum { BASELINE_LEAST = 2 }; /* values */
/* After an incident is closed: what it left drains, and one that a person closed while the fault
 * lasts opens again. */
#define AFTER_NS (5 * 60 * NS_PER_S)

struct past_value {
	int64_t t_ns;
	double value;
};

struct past_series {
	char *port;
	struct past_value *v; /* by time */
	size_t n, cap;
};

/* The time of an incident, in which nothing that it touches is usual. */
struct past_fault {
	int64_t from_ns, to_ns;
	enum cause cause;
	bool is_info;
};

struct watch_past {
	int64_t at_ns;
	struct past_fault *faults; /* open in the last day, if only for a part of it */
	size_t n_faults, cap_faults;
	struct smap *index; /* port -> index into .v */
	struct past_series *v;
	size_t n, cap;
};

/* ---- reading --------------------------------------------------------------- */

static struct past_series *past_series_of(struct watch_past *past, const char *port)
{
	uint64_t at;
	if (smap_get(past->index, port, strlen(port), &at))
		return &past->v[at];
	smap_put(past->index, port, strlen(port), past->n);
	rw_grow(past->v, past->n, past->cap);
	past->v[past->n++] = (struct past_series){.port = rw_strdup(port)};
	return &past->v[past->n - 1];
}

static void past_take(struct watch_past *past, const struct entity *entity,
	const struct series *from, int64_t from_ns)
{
	const uint32_t first = series_after(from, from_ns);
	if (first == from->n)
		return; /* only its last value before that time: a series here is never empty */
	struct past_series *series = past_series_of(past, entity->port);
	for (uint32_t i = first; i < from->n; i++) {
		rw_grow(series->v, series->n, series->cap);
		series->v[series->n++] = (struct past_value){
			.t_ns = from->t_ns[i], .value = sample_f64(from->value[i])};
	}
}

/* The few series of that device, sorted by id: the window of what is now has brought the names. */
static uint32_t *past_ids(const struct entities *entities, struct arena *a, size_t *ret_n)
{
	uint32_t *ids = NULL;
	size_t n = 0, cap = 0;
	for (uint32_t id = 1; id <= entities_count(entities); id++) {
		const struct entity *entity = entity_get(entities, id);
		if (!entity || !str_eq(entity->device, ENTITY_SIGNALS))
			continue;
		arena_grow(a, ids, n, cap);
		ids[n++] = id;
	}
	*ret_n = n;
	return ids;
}

/* (@from_ns, @to_ns]. As a window: walking samples in order of time would look at each entity of
 * the fabric. */
static int past_read(struct watch_past *past, struct client *client, int64_t from_ns, int64_t to_ns,
	struct err *e)
{
	static const uint16_t metrics[] = {M_AGENT_SIGNAL};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct entities *entities = history_names(client->history);
	struct window_spec spec = {.metrics = metrics, .n_metrics = rw_countof(metrics)};
	struct window window;
	spec.entities = past_ids(entities, a, &spec.n_entities);
	if (!spec.n_entities)
		return 0;
	const int rc = history_window(client->history, a, &spec, from_ns, to_ns, &window, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < window.n_series; i++)
		past_take(past, entity_get(entities, window.series[i].entity), &window.series[i],
			from_ns);
	return 0;
}

/* The last two hours whole, and a quarter of an hour every three hours before: a seek per value is
 * what a frame has time for, and a median needs no more. */
static int past_read_day(struct watch_past *past, struct client *client, struct err *e)
{
	int rc = 0;
	for (int64_t back_ns = DAY_NS; rc == 0 && back_ns > WHOLE_NS; back_ns -= SLICE_EACH_NS)
		rc = past_read(
			past, client, past->at_ns - back_ns, past->at_ns - back_ns + SLICE_NS, e);
	if (rc == 0)
		rc = past_read(past, client, past->at_ns - WHOLE_NS, past->at_ns, e);
	return rc;
}

static int past_take_fault(void *arg, int n, char *const *values, char *const *names)
{
	struct watch_past *past = arg;
	if (n != 5 || !values[0] || !values[1] || !values[2])
		return 0;
	struct past_fault fault = {.from_ns = strtoll(values[2], NULL, 10),
		.to_ns = INT64_MAX,
		.cause = cause_by_name(values[0]),
		.is_info = str_eq(values[1], "info")};
	if (values[3])
		fault.to_ns = strtoll(values[3], NULL, 10) + AFTER_NS;
	wall_t onset;
	if (wall_parse(str_or(values[4], ""), (wall_t){0}, &onset) == 0 && onset.ns < fault.from_ns)
		fault.from_ns = onset.ns;
	rw_grow(past->faults, past->n_faults, past->cap_faults);
	past->faults[past->n_faults++] = fault;
	return 0;
}

/* The incidents of the day, open ones and closed ones. */
static int past_read_faults(struct watch_past *past, struct client *client, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	str_addf(&sql,
		"SELECT cause, severity, opened_ns, closed_ns, CASE WHEN "
		"json_valid(json) THEN json_extract(json, '$.first') END FROM "
		"incidents WHERE opened_ns <= %lld AND (closed_ns IS NULL OR closed_ns >= %lld)",
		(long long)past->at_ns, (long long)(past->at_ns - DAY_NS - AFTER_NS));
	return history_sql(client->history, sql.s, past_take_fault, past, e);
}

struct watch_past *watch_past_read(struct client *client, struct err *e)
{
	struct watch_past *past = rw_calloc(1, sizeof(*past));
	past->index = smap_new();
	past->at_ns = client_data_end(client);
	if (past_read_day(past, client, e) == 0 && past_read_faults(past, client, e) == 0)
		return past;
	watch_past_free(past);
	return NULL;
}

void watch_past_free(struct watch_past *past)
{
	if (!past)
		return;
	for (size_t i = 0; i < past->n; i++) {
		free(past->v[i].port);
		free(past->v[i].v);
	}
	free(past->v);
	free(past->faults);
	smap_free(past->index);
	free(past);
}

static const struct past_series *past_find(const struct watch_past *past, const char *port)
{
	uint64_t at;
	if (smap_get(past->index, port, strlen(port), &at))
		return &past->v[at];
	return NULL;
}

/* ---- what is usual ------------------------------------------------------------ */

struct past_usual {
	double median; /* NAN: too few values */
	int64_t from_ns, to_ns; /* of the values that count; 0: none */
};

/* Whose usual is asked for: a signal's, or GOLDEN_COUNT for the throughput of a job. */
static bool past_touches(const struct past_fault *fault, enum golden signal)
{
	const bool may_cost = cause_has(fault->cause, CAUSE_MAY_COST);
	if (signal == GOLDEN_COUNT)
		return may_cost;
	/* a job that stands still, or a host that does not slow down, changes what all ports send
	 * and queues mark; an information changes only the signal it shows in */
	return golden_shows(signal, fault->cause) || (may_cost && !fault->is_info);
}

static bool past_is_usual(const struct watch_past *past, enum golden signal, int64_t t_ns)
{
	for (size_t i = 0; i < past->n_faults; i++) {
		const struct past_fault *fault = &past->faults[i];
		if (t_ns >= fault->from_ns && t_ns < fault->to_ns && past_touches(fault, signal))
			return false;
	}
	return true;
}

/* Of the values outside the incidents that touch @signal: neither a fault that lasts nor one that
 * ended is usual. */
static struct past_usual past_usual_of(
	const struct watch_past *past, enum golden signal, const struct past_series *series)
{
	struct past_usual usual = {.median = NAN};
	if (!series)
		return usual;
	double *values = rw_calloc(series->n + 1, sizeof(*values));
	size_t n = 0;
	for (size_t i = 0; i < series->n; i++) {
		const struct past_value *value = &series->v[i];
		if (!past_is_usual(past, signal, value->t_ns))
			continue;
		if (n == 0)
			usual.from_ns = value->t_ns;
		usual.to_ns = value->t_ns;
		values[n++] = value->value;
	}
	if (n >= BASELINE_LEAST)
		usual.median = stats_median(values, n);
	else
		usual.from_ns = usual.to_ns = 0;
	free(values);
	return usual;
}

static void past_apply_usual(struct watch_signal *signal, const struct past_usual *usual)
{
	signal->baseline = usual->median;
	signal->baseline_from = signal->baseline_to = TIME_UNKNOWN;
	signal->baseline_span_s = NAN;
	if (isnan(usual->median))
		return;
	signal->baseline_from.ns = usual->from_ns;
	signal->baseline_to.ns = usual->to_ns;
	signal->baseline_span_s = (double)(usual->to_ns - usual->from_ns) / NS_PER_S;
}

void watch_past_apply(const struct watch_past *past, struct watch_answer *frame)
{
	for (size_t i = 0; i < frame->n_signals; i++) {
		const struct past_series *series = past_find(past, frame->signals[i].name);
		const struct past_usual usual = past_usual_of(past, (enum golden)i, series);
		past_apply_usual(&frame->signals[i], &usual);
	}
}

/* ---- jobs ----------------------------------------------------------------------- */

struct past_job {
	const struct fabric_job *job; /* NULL: none is configured, all hosts */
	double rate, level, step, exchange; /* of now; NAN unknown */
	double last_rate; /* the newest one, however old; NAN: none, or no agent kept anything since
			   */
	double level_base, step_base; /* usual */
	int64_t since_ns; /* of the current level, or since when it has stood still; 0 unknown */
};

static const struct past_series *past_of_job(
	const struct watch_past *past, const struct fabric_job *job, enum golden_job what)
{
	char port[GOLDEN_PORT_MAX];
	return past_find(past, golden_job_port(port, job ? job->name : NULL, what));
}

static double past_newest(const struct watch_past *past, const struct past_series *series)
{
	if (!series || past->at_ns - series->v[series->n - 1].t_ns > FRESH_NS)
		return NAN;
	return series->v[series->n - 1].value;
}

/* Since when its values have been as they are, within what counts as a change. */
static int64_t past_level_since(const struct past_series *series, double least)
{
	if (!series)
		return 0;
	const double now = series->v[series->n - 1].value;
	size_t at = series->n - 1;
	while (at > 0 && fabs(series->v[at - 1].value - now) <= least * now)
		at--;
	return series->v[at].t_ns;
}

/* Did the agent keep anything lately? Then a job without a value was measured, too. */
static bool past_is_kept(const struct watch_past *past)
{
	for (size_t i = 0; i < past->n; i++)
		if (!isnan(past_newest(past, &past->v[i])))
			return true;
	return false;
}

static double past_last(const struct watch_past *past, const struct past_series *series)
{
	if (series && past_is_kept(past))
		return series->v[series->n - 1].value;
	return NAN;
}

/* Below this throughput the job stands still; NAN: not known. What it moved before the fault counts
 * as well as its level of now: after minutes in a storm the few packets that still pass are its
 * level, and against that it would run. */
static double past_job_idle(const struct past_job *job)
{
	return RHYTHM_IDLE * fmax(job->level, job->level_base);
}

/* By the newest throughput, however old: once a job has stood for minutes no value is kept. */
static enum watch_job_state past_job_state(const struct past_job *job)
{
	const double idle = past_job_idle(job);
	if (isnan(job->last_rate) || isnan(idle))
		return JOB_UNKNOWN;
	if (job->last_rate < idle)
		return JOB_STOPPED;
	if (isnan(job->rate))
		return JOB_UNKNOWN;
	return JOB_RUNNING;
}

static double past_value_at(const struct past_series *series, int64_t t_ns)
{
	for (size_t i = 0; series && i < series->n; i++)
		if (series->v[i].t_ns == t_ns)
			return series->v[i].value;
	return NAN;
}

/* Since when its throughput has been below @idle; 0: it is not. A minute that is kept says in
 * @before how long the job had stood still by then. */
static int64_t past_idle_since(
	const struct past_series *rate, const struct past_series *before, double idle)
{
	size_t at = rate->n;
	while (at > 0 && rate->v[at - 1].value < idle)
		at--;
	if (at == rate->n)
		return 0;
	const int64_t t_ns = rate->v[at].t_ns;
	const double before_s = past_value_at(before, t_ns);
	if (before_s > 0)
		return t_ns - (int64_t)llround(before_s * NS_PER_S);
	return t_ns;
}

static struct past_job past_job_of(
	const struct watch_past *past, const struct fabric_job *job, double least)
{
	const struct past_series *rate = past_of_job(past, job, GOLDEN_JOB_RATE);
	const struct past_series *level = past_of_job(past, job, GOLDEN_JOB_LEVEL);
	const struct past_series *step = past_of_job(past, job, GOLDEN_JOB_STEP);
	struct past_job ret = {.job = job,
		.rate = past_newest(past, rate),
		.last_rate = past_last(past, rate),
		.level = past_newest(past, level),
		.step = past_newest(past, step),
		.exchange = past_newest(past, past_of_job(past, job, GOLDEN_JOB_EXCHANGE)),
		.level_base = past_usual_of(past, GOLDEN_COUNT, level).median,
		.step_base = past_usual_of(past, GOLDEN_COUNT, step).median,
		.since_ns = past_level_since(level, least)};
	if (past_job_state(&ret) == JOB_STOPPED)
		ret.since_ns = past_idle_since(
			rate, past_of_job(past, job, GOLDEN_JOB_IDLE), past_job_idle(&ret));
	return ret;
}

/* A job without a rhythm that shows: what its steps last follows from its throughput. */
static void past_job_declared(struct past_job *job)
{
	if (!isnan(job->step) && !isnan(job->step_base))
		return;
	job->step = job->step_base = NAN;
	if (job->job && job->job->step_ns > 0)
		job->step_base = (double)job->job->step_ns / NS_PER_S;
	job->step = job->step_base * job->level_base / job->level;
}

static struct watch_job past_job_told(struct past_job *job, struct arena *a)
{
	const enum watch_job_state state = past_job_state(job);
	double change = job->level_base / job->level - 1;
	if (!isnan(job->step) && !isnan(job->step_base))
		change = job->step / job->step_base - 1;
	past_job_declared(job);
	if (state != JOB_RUNNING)
		job->step = job->exchange = change = NAN;
	struct watch_job told = {.job = "all hosts",
		.state = state,
		.step_s = job->step,
		.step_base_s = job->step_base,
		.change_ratio = change,
		.exchange_s = job->exchange,
		.since = TIME_UNKNOWN};
	if (job->job)
		told.job = arena_strdup(a, job->job->name);
	if (job->since_ns)
		told.since.ns = job->since_ns;
	return told;
}

static double past_job_limit(const struct client *client)
{
	const struct steps_options *options = config_options(client->config, "analyzers", "steps");
	return options->warn;
}

void watch_jobs(const struct watch_past *past, const struct client *client, struct arena *a,
	struct watch_answer *frame)
{
	const struct fabric *fabric = client->config->fabric;
	const double least = past_job_limit(client);
	frame->jobs = arena_array(a, struct watch_job, fabric->n_jobs + 1);
	for (size_t i = 0; i < fabric->n_jobs; i++) {
		struct past_job job = past_job_of(past, &fabric->jobs[i], least);
		frame->jobs[frame->n_jobs++] = past_job_told(&job, a);
	}
	if (fabric->n_jobs == 0 && past_of_job(past, NULL, GOLDEN_JOB_RATE)) {
		struct past_job job = past_job_of(past, NULL, least);
		frame->jobs[frame->n_jobs++] = past_job_told(&job, a);
	}
}

/* ---- the two signals of jobs ------------------------------------------------------- */

/* Which number of a job a signal shows. */
typedef double past_number(const struct watch_job *job);

static double past_step(const struct watch_job *job)
{
	return job->step_s;
}

static double past_exchange(const struct watch_job *job)
{
	return job->exchange_s;
}

/* The running job with a value that changed most for the worse; NULL: none. */
static const struct watch_job *past_worst_job(const struct watch_answer *frame, past_number *number)
{
	const struct watch_job *worst = NULL;
	for (size_t i = 0; i < frame->n_jobs; i++) {
		const struct watch_job *job = &frame->jobs[i];
		if (!isfinite(number(job)))
			continue;
		if (!worst || job->change_ratio > worst->change_ratio)
			worst = job;
	}
	return worst;
}

static void past_take_job(struct watch_signal *signal, const struct watch_job *job, double value)
{
	signal->value = value;
	signal->value_low = value;
	signal->quality = "estimated";
	signal->where = job->job;
}

/* The first job in this state; NULL: none. */
static const struct watch_job *past_job_in(
	const struct watch_answer *frame, enum watch_job_state state)
{
	for (size_t i = 0; i < frame->n_jobs; i++)
		if (frame->jobs[i].state == state)
			return &frame->jobs[i];
	return NULL;
}

/* The worst open incident that may cost the job time; NULL: none. */
static const struct open_incident *past_incident_of(
	const char *job, const struct watch_answer *frame)
{
	const struct open_incident *worst = NULL;
	for (size_t i = 0; i < frame->n_incidents; i++) {
		const struct open_incident *row = &frame->incidents[i];
		const char *named = str_or(row->job, "");
		if (!cause_has(cause_by_name(row->cause), CAUSE_MAY_COST) ||
			(*named && !str_eq(named, job)))
			continue;
		if (!worst || (incident_is_critical(row) && !incident_is_critical(worst)))
			worst = row;
	}
	return worst;
}

/* A job that stands still is as bad as the incident that may have stopped it. Without one, a
 * declared job has ended or hangs, which counters cannot tell apart; where no job is declared the
 * fabric is idle. */
static void past_take_stopped(struct arena *a, struct watch_signal *signal,
	const struct watch_job *job, const struct watch_answer *frame, bool declared)
{
	const struct open_incident *incident = past_incident_of(job->job, frame);
	rw_cleanup(str_done) struct str why = {0};
	char since[WALL_TEXT_MAX];
	signal->state = declared ? GOLDEN_UNKNOWN : GOLDEN_IDLE;
	str_addf(&why, "%s%s stopped", str_if(declared, "job "), job->job);
	if (job->since.ns != TIME_UNKNOWN.ns)
		str_addf(&why, " since %.8sZ", wall_format(since, job->since, 0) + 11);
	if (incident) {
		signal->state = verdict_incident_state(incident);
		signal->incident = incident->id;
	} else if (declared) {
		str_add(&why, "; no fault is found: it ended, or it hangs");
	}
	signal->why = arena_strdup(a, why.s);
}

/* No job has a value for @signal. */
static void past_take_none(const struct client *client, struct arena *a,
	struct watch_signal *signal, const struct watch_answer *frame, const char *why)
{
	const struct watch_job *stopped = past_job_in(frame, JOB_STOPPED);
	const bool any_running = past_job_in(frame, JOB_RUNNING) != NULL;
	if (stopped && !any_running) {
		past_take_stopped(a, signal, stopped, frame, client->config->fabric->n_jobs > 0);
		return;
	}
	if (frame->n_jobs && !any_running)
		why = "no job is known to run";
	signal->why = why;
}

void watch_apply_jobs(const struct client *client, struct arena *a, struct watch_answer *frame)
{
	struct watch_signal *step = &frame->signals[GOLDEN_STEP_TIME];
	struct watch_signal *exchange = &frame->signals[GOLDEN_EXCHANGE_TIME];
	const struct watch_job *worst = past_worst_job(frame, past_step);
	if (worst) {
		const bool slow = worst->change_ratio > past_job_limit(client);
		past_take_job(step, worst, worst->step_s);
		step->baseline = worst->step_base_s;
		step->limit = worst->step_base_s * (1 + past_job_limit(client));
		step->state = slow ? GOLDEN_WARNING : GOLDEN_OK;
	} else {
		past_take_none(client, a, step, frame,
			"a step is not visible at this sampling interval; declare jobs[].step");
	}
	worst = past_worst_job(frame, past_exchange);
	if (worst) {
		past_take_job(exchange, worst, worst->exchange_s);
		exchange->state = GOLDEN_OK;
	} else {
		past_take_none(client, a, exchange, frame,
			"an exchange is not visible at this sampling interval");
	}
}
