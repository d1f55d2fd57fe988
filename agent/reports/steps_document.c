/* steps_document - throughput of each job in levels with change points, and the step time where
 * samples are frequent enough. */
#include "agent/reports/steps_document.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/client/known_names.h"
#include "agent/document/json_value.h"
#include "agent/history/window_walk.h"
#include "agent/reports/usual_slot.h"
#include "analyzers/measure/rhythm.h"
#include "config/config.h"
#include "db/model/golden.h"
#include "db/model/metric.h"
#include "db/series/history.h"

#define BLOCKS_MAX 2048 /* of the whole time range */
#define BLOCKS_AT_ONCE 64 /* read from the database and measured in one piece */
#define SLICES 600 /* the newest ones, for the step */
#define LEVELS_MAX 32
#define SPACING_SPAN_NS (300 * NS_PER_S) /* that shows the time between samples */
#define STOPPED_NS (60 * NS_PER_S) /* shorter than that it pauses, as for a checkpoint */
#define LEAST 0.03 /* change of throughput, as the default of analyzers.steps.warn */

struct steps_job {
	const struct fabric_job *job;
	bool by_uplinks;
	size_t n_ports, n_seen;
	double *rate; /* of all blocks; NAN not seen */
};

struct steps_history {
	int64_t from_ns, block_ns;
	size_t n_blocks;
	struct steps_job *v;
	size_t n, cap;
};

static void steps_history_done(struct steps_history *jobs)
{
	for (size_t k = 0; k < jobs->n; k++)
		free(jobs->v[k].rate);
	free(jobs->v);
}

static struct steps_job *steps_job_of(
	struct steps_history *jobs, const struct throughput *throughput)
{
	for (size_t k = 0; k < jobs->n; k++)
		if (jobs->v[k].job == throughput->job)
			return &jobs->v[k];
	rw_grow(jobs->v, jobs->n, jobs->cap);
	struct steps_job *j = &jobs->v[jobs->n++];
	*j = (struct steps_job){
		.job = throughput->job, .rate = rw_calloc(jobs->n_blocks, sizeof(double))};
	for (size_t k = 0; k < jobs->n_blocks; k++)
		j->rate[k] = NAN;
	return j;
}

/* Blocks as long as the detector's windows, longer where the time range would have too many. */
static int steps_bounds(
	struct client *client, struct steps_history *jobs, int64_t *ret_to, struct err *e)
{
	const int64_t window_ns = config_window(client->config, "steps");
	int64_t from_ns, to_ns;
	int rc = history_range(client->history, &from_ns, &to_ns, e);
	if (rc < 0)
		return rc;
	if (client->from_ns > from_ns)
		from_ns = client->from_ns;
	if (client->to_ns < to_ns)
		to_ns = client->to_ns;
	int64_t span_ns = 0;
	if (to_ns > from_ns)
		span_ns = to_ns - from_ns;
	jobs->block_ns = window_ns * (1 + span_ns / window_ns / BLOCKS_MAX);
	if (!window_align(jobs->block_ns, &from_ns, &to_ns))
		return 0;
	jobs->from_ns = from_ns;
	jobs->n_blocks = (size_t)((to_ns - from_ns) / jobs->block_ns);
	*ret_to = to_ns;
	return 0;
}

struct steps_collect {
	const struct fabric *fabric;
	struct steps_history *jobs;
};

/* The throughput of each job in the blocks of @window. */
static int steps_take(void *arg, const struct window *window, struct arena *turn)
{
	const struct steps_collect *collect = arg;
	struct steps_history *jobs = collect->jobs;
	const size_t first = (size_t)((window->from_ns - jobs->from_ns) / jobs->block_ns);
	const size_t n = (size_t)((window->to_ns - window->from_ns) / jobs->block_ns);
	struct throughput *throughput;
	const size_t n_jobs =
		throughput_of(collect->fabric, window, jobs->block_ns, turn, &throughput);
	for (size_t k = 0; k < n_jobs; k++) {
		struct steps_job *job = steps_job_of(jobs, &throughput[k]);
		memcpy(job->rate + first, throughput[k].rate.rate, n * sizeof(double));
		job->by_uplinks = throughput[k].rate.by_uplinks;
		job->n_ports = throughput[k].n_ports;
		if (throughput[k].n_seen > job->n_seen)
			job->n_seen = throughput[k].n_seen;
	}
	return 0;
}

static int steps_collect(
	struct client *client, struct steps_history *jobs, int64_t *ret_to, struct err *e)
{
	const int rc = steps_bounds(client, jobs, ret_to, e);
	if (rc == -ENODATA || (rc == 0 && jobs->n_blocks == 0))
		return 0;
	if (rc < 0)
		return rc;
	const struct window_spec spec = {
		.metrics = throughput_metrics, .n_metrics = throughput_n_metrics};
	const struct window_plan plan = {.spec = &spec,
		.from_ns = jobs->from_ns,
		.to_ns = *ret_to,
		.window_ns = BLOCKS_AT_ONCE * jobs->block_ns,
		.at_once = 1};
	struct steps_collect collect = {.fabric = client->config->fabric, .jobs = jobs};
	return window_walk(client, &plan, steps_take, &collect, e);
}

/* The usual time between samples of the first series that shows it, ns; 0 = none does. */
static int64_t steps_spacing(const struct window *window, struct arena *a)
{
	for (size_t k = 0; k < window->n_series; k++) {
		const double spacing_ns = window_spacing(&window->series[k], a);
		if (!isnan(spacing_ns))
			return (int64_t)spacing_ns;
	}
	return 0;
}

/* The step time, from the newest samples at their own spacing. */
static int steps_find_step(struct client *client, const struct fabric_job *job, int64_t to_ns,
	struct period *period, int64_t *ret_sample, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct window_spec spec = {
		.metrics = throughput_metrics, .n_metrics = throughput_n_metrics};
	struct window w;
	*period = (struct period){.duty_ratio = NAN, .confidence_ratio = NAN};
	int r = history_window(client->history, a, &spec, to_ns - SPACING_SPAN_NS, to_ns, &w, e);
	*ret_sample = 0;
	if (r == 0)
		*ret_sample = steps_spacing(&w, a);
	if (*ret_sample <= 0)
		return r;
	r = history_window(client->history, a, &spec, to_ns - SLICES * *ret_sample, to_ns, &w, e);
	if (r < 0)
		return r;
	double *v = rw_calloc(SLICES, sizeof(*v));
	throughput_slices(client->config->fabric, job, &w, *ret_sample, v, SLICES);
	rhythm_period(v, SLICES, *ret_sample, period);
	free(v);
	return 0;
}

static json_t *steps_seconds(int64_t ns)
{
	if (ns > 0)
		return json_real((double)ns / (double)NS_PER_S);
	return json_null();
}

static const char *steps_name(const struct steps_job *history)
{
	if (history->job)
		return history->job->name;
	return NULL;
}

static int64_t steps_declared_step_ns(const struct steps_job *history)
{
	if (history->job)
		return history->job->step_ns;
	return 0;
}

/* Throughput of one job in the blocks it was busy in. */
struct busy_blocks {
	double *rate;
	size_t *at; /* position of each among all blocks */
	size_t n;
};

static void steps_put_number(json_t *object, const char *key, double value)
{
	json_object_set_new(object, key, json_number_or_null(value));
}

static json_t *steps_level_json(const struct steps_history *jobs, const struct steps_job *history,
	const struct busy_blocks *busy, const struct segment *segment, double before, double best)
{
	const double mean = segment->level.mean;
	const int64_t step_ns = steps_declared_step_ns(history);
	const size_t first = busy->at[segment->from], last = busy->at[segment->to - 1];
	double step_s = NAN;
	if (step_ns > 0)
		step_s = (double)step_ns / (double)NS_PER_S * best / mean;
	json_t *o = json_object();
	json_object_set_new(o, "job", json_string_or_null(steps_name(history)));
	json_object_set_new(o, "from", json_time(jobs->from_ns + (int64_t)first * jobs->block_ns));
	json_object_set_new(
		o, "to", json_time(jobs->from_ns + (int64_t)(last + 1) * jobs->block_ns));
	steps_put_number(o, "octets_per_s", mean);
	steps_put_number(o, "error_ratio", 2 * segment->level.se / mean);
	steps_put_number(o, "change_ratio", mean / before - 1);
	steps_put_number(o, "loss_ratio", 1 - mean / best);
	steps_put_number(o, "stretch_ratio", best / mean);
	steps_put_number(o, "step_s", step_s);
	return o;
}

static void steps_add_levels(json_t *levels, const struct steps_history *jobs,
	const struct steps_job *history, const struct busy_blocks *busy)
{
	struct segment s[LEVELS_MAX];
	const size_t n = rhythm_segments(busy->rate, busy->n, LEAST, s, LEVELS_MAX);
	double best = NAN, before = NAN;
	for (size_t k = 0; k < n; k++)
		best = fmax(best, s[k].level.mean);
	for (size_t k = 0; k < n; k++) {
		json_array_append_new(
			levels, steps_level_json(jobs, history, busy, &s[k], before, best));
		before = s[k].level.mean;
	}
}

/* What the job moves at its best level; NAN: none is seen. */
static double steps_best(const struct busy_blocks *busy)
{
	struct segment s[LEVELS_MAX];
	const size_t n = rhythm_segments(busy->rate, busy->n, LEAST, s, LEVELS_MAX);
	double best = NAN;
	for (size_t k = 0; k < n; k++)
		best = fmax(best, s[k].level.mean);
	return best;
}

/* Since when the job has moved next to nothing, up to the newest block that is seen; 0: it moves,
 * or it is not known. */
static int64_t steps_stopped_since(const struct steps_history *jobs,
	const struct steps_job *history, const struct busy_blocks *busy)
{
	const double idle = RHYTHM_IDLE * steps_best(busy);
	size_t first = jobs->n_blocks, n = 0;
	for (size_t k = jobs->n_blocks; k > 0; k--) {
		if (isnan(history->rate[k - 1]))
			continue;
		if (!(history->rate[k - 1] < idle))
			break;
		first = k - 1;
		n++;
	}
	if (n == 0 || (int64_t)n * jobs->block_ns < STOPPED_NS)
		return 0;
	return jobs->from_ns + (int64_t)first * jobs->block_ns;
}

static json_t *steps_job_json(const struct steps_history *jobs, const struct steps_job *history,
	const struct busy_blocks *busy, const struct period *period, int64_t sample_ns)
{
	size_t seen = 0;
	for (size_t k = 0; k < jobs->n_blocks; k++)
		seen += !isnan(history->rate[k]);
	double coverage = NAN;
	if (jobs->n_blocks)
		coverage = (double)seen / (double)jobs->n_blocks;
	json_t *gpus = json_null();
	if (history->job)
		gpus = json_integer((json_int_t)history->job->gpus);
	const double idle_ns = (double)(seen - busy->n) * (double)jobs->block_ns;
	json_t *o = json_object();
	json_object_set_new(o, "job", json_string_or_null(steps_name(history)));
	json_object_set_new(o, "gpus", gpus);
	json_object_set_new(o, "ports", json_integer((json_int_t)history->n_ports));
	json_object_set_new(o, "ports_seen", json_integer((json_int_t)history->n_seen));
	json_object_set_new(
		o, "measured_at", json_string(history->by_uplinks ? "leaf uplinks" : "host ports"));
	json_object_set_new(o, "block_s", steps_seconds(jobs->block_ns));
	steps_put_number(o, "coverage_ratio", coverage);
	steps_put_number(o, "octets_per_s", rhythm_level(busy->rate, busy->n).mean);
	json_object_set_new(o, "step_declared_s", steps_seconds(steps_declared_step_ns(history)));
	json_object_set_new(o, "step_s", steps_seconds(period->period_ns));
	json_object_set_new(o, "exchange_s", steps_seconds(period->exchange_ns));
	const int64_t stopped_ns = steps_stopped_since(jobs, history, busy);
	json_object_set_new(o, "stopped_since", stopped_ns ? json_time(stopped_ns) : json_null());
	steps_put_number(o, "duty_ratio", period->duty_ratio);
	steps_put_number(o, "rhythm_confidence_ratio", period->confidence_ratio);
	json_object_set_new(o, "sample_s", steps_seconds(sample_ns));
	json_object_set_new(o, "idle_s", json_real(idle_ns / (double)NS_PER_S));
	return o;
}

/* What the job usually moves at this time of the week; null where too little of it is kept. */
static int steps_add_usual(
	struct client *client, const char *job, int64_t at_ns, json_t *object, struct err *e)
{
	char port[GOLDEN_PORT_MAX];
	struct usual_slot slot;
	const int rc = usual_slot_read(
		client, golden_job_port(port, job, GOLDEN_JOB_LEVEL), at_ns, &slot, e);
	if (rc < 0)
		return rc;
	if (isnan(slot.usual)) {
		json_object_set_new(object, "usual", json_null());
		return 0;
	}
	json_t *usual = json_object();
	json_object_set_new(usual, "slot", json_string(slot.name));
	json_object_set_new(usual, "slots", json_integer((json_int_t)slot.slots));
	steps_put_number(usual, "octets_per_s", slot.usual);
	steps_put_number(usual, "spread_octets_per_s", slot.spread);
	json_object_set_new(object, "usual", usual);
	return 0;
}

static int steps_add_job(struct client *client, const struct steps_history *jobs,
	const struct steps_job *history, int64_t to_ns, json_t *list, json_t *levels, struct err *e)
{
	struct busy_blocks busy = {.rate = rw_calloc(jobs->n_blocks + 1, sizeof(*busy.rate)),
		.at = rw_calloc(jobs->n_blocks + 1, sizeof(*busy.at))};
	busy.n = rhythm_busy(history->rate, jobs->n_blocks, busy.rate, busy.at);
	struct period period;
	int64_t sample_ns;
	int rc = steps_find_step(client, history->job, to_ns, &period, &sample_ns, e);
	json_t *job = steps_job_json(jobs, history, &busy, &period, sample_ns);
	if (rc == 0)
		rc = steps_add_usual(client, steps_name(history), to_ns, job, e);
	json_array_append_new(list, job);
	steps_add_levels(levels, jobs, history, &busy);
	free(busy.rate);
	free(busy.at);
	return rc;
}

int steps_document(struct client *client, const char *job, json_t **ret, struct err *e)
{
	struct steps_history h = {0};
	int64_t to_ns = 0;
	int rc = known_job(client, job, e);
	if (rc < 0)
		return rc;
	json_t *jobs = json_array(), *levels = json_array();
	rc = steps_collect(client, &h, &to_ns, e);
	for (size_t k = 0; rc == 0 && k < h.n; k++)
		if (str_glob(job, str_or(steps_name(&h.v[k]), "")))
			rc = steps_add_job(client, &h, &h.v[k], to_ns, jobs, levels, e);
	if (h.n_blocks == 0) {
		h.from_ns = client->from_ns;
		to_ns = client->to_ns;
	}
	json_t *doc = json_object();
	json_object_set_new(doc, "from", json_time(h.from_ns));
	json_object_set_new(doc, "to", json_time(to_ns));
	json_object_set_new(doc, "jobs", jobs);
	json_object_set_new(doc, "levels", levels);
	steps_history_done(&h);
	if (rc < 0)
		json_decref(doc);
	else
		*ret = doc;
	return rc;
}
