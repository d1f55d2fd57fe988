/* golden_keep - measures and stores once a minute. */
#include "agent/daemon/golden_keep.h"

#include <math.h>
#include <stdlib.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/daemon/intake.h"
#include "agent/daemon/pipeline_state.h"
#include "analyzers/measure/ecmp_measure.h"
#include "analyzers/measure/golden_measure.h"
#include "analyzers/measure/rhythm.h"

#define EACH_NS (60 * NS_PER_S)
/* A step is looked for in this many slices, where one is short enough to show steps of seconds. */
enum { SLICES = 600, SEGMENTS_MAX = 16 };
#define SLICE_MOST_NS (5 * NS_PER_S)
/* Blocks of a level; smaller changes drown in steps that a block cuts (analyzers/detect/steps.c).
 */
#define LEVEL_LEAST 0.03

/* One value that was measured up to @to_ns. It is dated by the newest sample it can rest on, so
 * that it never makes the data look newer than they are. */
static void golden_keep_value(
	struct pipeline *pipeline, const char *port, int64_t to_ns, double value)
{
	if (isnan(value))
		return;
	const struct sample sample = {
		.t_ns = pipeline->newest_ns < to_ns ? pipeline->newest_ns : to_ns,
		.value = sample_of_f64(value),
		.entity = entities_intern(pipeline->entities, ENTITY_SIGNALS, port, PRIO_NONE),
		.metric = M_AGENT_SIGNAL,
		.source = SOURCE_AGENT};
	intake_keep(pipeline, &sample);
}

/* ---- signals ------------------------------------------------------------- */

static size_t golden_keep_groups(struct pipeline *pipeline, const struct analyzer_in *in,
	const struct ecmp_options *options, struct ecmp_measure **ret)
{
	const struct ecmp_params params = {.warn = options->warn,
		.spread = options->spread,
		.load_floor = options->load_floor,
		.min_coverage = options->min_coverage,
		.interval_ns = in->interval_ns};
	const struct window_spec spec = {
		.metrics = ecmp_metrics, .n_metrics = ecmp_n_metrics, .flows = true};
	struct window *window = arena_new_of(in->arena, struct window);
	const int64_t to_ns = in->window->to_ns;
	if (window_from_memory(pipeline->memory, in->arena, &spec, to_ns - options->window_ns,
		    to_ns, window) < 0)
		return 0;
	return ecmp_measure_all(in->fabric, window, &params, in->arena, ret);
}

/* Memory holds a minute at least where windows are short: those of ECMP are that long. */
static const struct window *golden_keep_back(
	struct pipeline *pipeline, const struct analyzer_in *in)
{
	const int64_t to_ns = in->window->to_ns;
	const struct window_spec spec = {.metrics = golden_metrics, .n_metrics = golden_n_metrics};
	struct window *window = arena_new_of(in->arena, struct window);
	if (!golden_wants_back(in->window) ||
		window_from_memory(pipeline->memory, in->arena, &spec, to_ns - GOLDEN_BACK_NS,
			to_ns, window) < 0)
		return NULL;
	return window;
}

static void golden_keep_signals(struct pipeline *pipeline, const struct analyzer_in *in)
{
	const struct config *config = pipeline->config;
	const struct ecmp_options *ecmp = config_options(config, "analyzers", "ecmp_imbalance");
	struct ecmp_measure *groups = NULL;
	const size_t n_groups = golden_keep_groups(pipeline, in, ecmp, &groups);
	const struct golden_in golden = {.in = in,
		.back = golden_keep_back(pipeline, in),
		.groups = groups,
		.n_groups = n_groups,
		.pause = config_options(config, "analyzers", "pause_storm"),
		.links = config_options(config, "analyzers", "link_health"),
		.ecmp = ecmp};
	struct golden_measured *measured = arena_new_of(in->arena, struct golden_measured);
	golden_measure(&golden, measured);
	for (unsigned i = 0; i < GOLDEN_COUNT; i++)
		golden_keep_value(
			pipeline, golden_info(i)->name, in->window->to_ns, measured->v[i].value);
}

/* ---- jobs ---------------------------------------------------------------- */

/* The level that the job runs at now: of its busy blocks since the last change. NAN: none. */
static double golden_keep_level(const struct job_rate *rate, struct arena *a)
{
	double *busy = arena_array(a, double, rate->n + 1);
	size_t *at = arena_array(a, size_t, rate->n + 1);
	struct segment segments[SEGMENTS_MAX];
	const size_t n = rhythm_busy(rate->rate, rate->n, busy, at);
	const size_t found = rhythm_segments(busy, n, LEVEL_LEAST, segments, SEGMENTS_MAX);
	if (!found)
		return NAN;
	return segments[found - 1].level.mean;
}

/* Of the blocks of the last minute, idle ones too. */
static double golden_keep_rate(const struct job_rate *rate)
{
	double sum = 0;
	size_t n = 0;
	for (size_t k = rate->n; k > 0 && (int64_t)(rate->n - k) * rate->block_ns < EACH_NS; k--) {
		if (isnan(rate->rate[k - 1]))
			continue;
		sum += rate->rate[k - 1];
		n++;
	}
	if (n)
		return sum / (double)n;
	return NAN;
}

static const struct fabric_job *golden_keep_find(const struct fabric *fabric, const char *name)
{
	for (size_t i = 0; name && i < fabric->n_jobs; i++)
		if (str_eq(fabric->jobs[i].name, name))
			return &fabric->jobs[i];
	return NULL;
}

/* The step itself shows only where a slice is much shorter. */
static void golden_keep_step(
	struct pipeline *pipeline, const struct analyzer_in *in, const char *job)
{
	const int64_t slice_ns = in->interval_ns, to_ns = in->window->to_ns;
	char port[GOLDEN_PORT_MAX];
	struct window window;
	struct period period;
	if (slice_ns <= 0 || slice_ns > SLICE_MOST_NS)
		return;
	const struct window_spec spec = {
		.metrics = throughput_metrics, .n_metrics = throughput_n_metrics};
	if (window_from_memory(pipeline->memory, in->arena, &spec, to_ns - SLICES * slice_ns, to_ns,
		    &window) < 0)
		return;
	double *slices = arena_array(in->arena, double, SLICES);
	throughput_slices(
		in->fabric, golden_keep_find(in->fabric, job), &window, slice_ns, slices, SLICES);
	if (!rhythm_period(slices, SLICES, slice_ns, &period))
		return;
	golden_keep_value(pipeline, golden_job_port(port, job, GOLDEN_JOB_STEP), to_ns,
		(double)period.period_ns / NS_PER_S);
	golden_keep_value(pipeline, golden_job_port(port, job, GOLDEN_JOB_EXCHANGE), to_ns,
		(double)period.exchange_ns / NS_PER_S);
}

static void golden_keep_job(
	struct pipeline *pipeline, const struct analyzer_in *in, const struct job_rate *rate)
{
	const int64_t to_ns = in->window->to_ns;
	char port[GOLDEN_PORT_MAX];
	golden_keep_value(pipeline, golden_job_port(port, rate->job, GOLDEN_JOB_RATE), to_ns,
		golden_keep_rate(rate));
	golden_keep_value(pipeline, golden_job_port(port, rate->job, GOLDEN_JOB_LEVEL), to_ns,
		golden_keep_level(rate, in->arena));
	golden_keep_step(pipeline, in, rate->job);
}

/* Is it time again? Multiples of a minute, so that live and replay keep the same ones. */
static bool golden_keep_due(int64_t *next_ns, int64_t to_ns)
{
	if (to_ns < *next_ns)
		return false;
	*next_ns = (to_ns / EACH_NS + 1) * EACH_NS;
	return true;
}

void golden_keep_window(struct pipeline *pipeline, const struct analyzer *analyzer,
	const struct analyzer_in *in, const struct finding_list *found)
{
	const int64_t to_ns = in->window->to_ns;
	if (!pipeline->store || pipeline->priming)
		return;
	if (analyzer->observes && golden_keep_due(&pipeline->golden.signals_ns, to_ns))
		golden_keep_signals(pipeline, in);
	if (found->n_jobs && golden_keep_due(&pipeline->golden.jobs_ns, to_ns))
		for (size_t i = 0; i < found->n_jobs; i++)
			golden_keep_job(pipeline, in, &found->jobs[i]);
	intake_flush(pipeline);
}
