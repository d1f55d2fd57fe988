/* windows - closes the windows of every analyzer in order of their ends, runs the analyzer, and
 * hands its findings to the store and the ledger. */
#include "agent/judge/windows.h"

#include "agent/incident/ledger.h"
#include "agent/judge/intake.h"
#include "agent/judge/pipeline_state.h"
#include "analyzers/measure/ecmp_measure.h"
#include "analyzers/measure/golden_measure.h"
#include "analyzers/measure/observe.h"
#include "analyzers/measure/rhythm.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/process.h"
#include "db/series/window_columns.h"
#include "db/store/store.h"

/* golden_keep - measures and stores once a minute. */

#define EACH_NS (60 * NS_PER_S)
/* A step is looked for in this many slices, where one is short enough to show steps of seconds. */
enum { SLICES = 600, SEGMENTS_MAX = 16 };
#define SLICE_MOST_NS (5 * NS_PER_S)
/* Blocks of a level; smaller changes drown in steps that a block cuts (analyzers/detect/steps.c).
 */
#define LEVEL_LEAST 0.03

/* When a value up to @to_ns is dated: by the newest sample it can rest on, so that it never makes
 * the data look newer than they are. */
static int64_t golden_keep_date(const struct pipeline *pipeline, int64_t to_ns)
{
	return pipeline->newest_ns < to_ns ? pipeline->newest_ns : to_ns;
}

/* One value that was measured up to @to_ns. */
static void golden_keep_value(
	struct pipeline *pipeline, const char *port, int64_t to_ns, double value)
{
	if (isnan(value))
		return;
	const struct sample sample = {.t_ns = golden_keep_date(pipeline, to_ns),
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
	/* the block of a change may hold some of what was before */
	const struct segment *now = &segments[found - 1];
	size_t from = now->from;
	if (found > 1 && from + 1 < now->to)
		from++;
	return rhythm_level(busy + from, now->to - from).mean;
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

/* Seconds for which the job has moved next to nothing, by blocks: what is kept once a minute would
 * tell the begin of that up to two minutes late. 0: it moves; NAN: not known. */
static double golden_keep_idle(const struct pipeline *pipeline, const struct job_rate *rate,
	int64_t to_ns, struct arena *a)
{
	double *busy = arena_array(a, double, rate->n + 1);
	size_t *at = arena_array(a, size_t, rate->n + 1);
	const size_t n = rhythm_busy(rate->rate, rate->n, busy, at);
	const double idle = RHYTHM_IDLE * rhythm_best(busy, n, LEVEL_LEAST);
	const size_t first = rhythm_idle_from(rate->rate, rate->n, idle);
	if (isnan(idle))
		return NAN;
	if (first == rate->n)
		return 0;
	const int64_t from_ns = rate->from_ns + (int64_t)first * rate->block_ns;
	return (double)(golden_keep_date(pipeline, to_ns) - from_ns) / NS_PER_S;
}

static const struct fabric_job *golden_keep_find(const struct fabric *fabric, const char *name)
{
	for (size_t i = 0; name && i < fabric->n_jobs; i++)
		if (str_eq(fabric->jobs[i].name, name))
			return &fabric->jobs[i];
	return NULL;
}

/* What the steps of all jobs are read from. */
struct golden_steps {
	struct throughput_hosts *hosts;
	struct window window; /* .n_series 0: the step does not show */
};

/* The step itself shows only where a slice is much shorter. */
static void golden_steps_open(
	struct pipeline *pipeline, const struct analyzer_in *in, struct golden_steps *ret)
{
	const int64_t slice_ns = in->interval_ns, to_ns = in->window->to_ns;
	*ret = (struct golden_steps){.hosts = throughput_hosts_new(in->fabric)};
	if (slice_ns <= 0 || slice_ns > SLICE_MOST_NS)
		return;
	const struct window_spec spec = {
		.metrics = throughput_metrics, .n_metrics = throughput_n_metrics};
	/* a copy: what is kept of the jobs comes in meanwhile */
	if (window_from_memory(pipeline->memory, in->arena, &spec, to_ns - SLICES * slice_ns, to_ns,
		    &ret->window) < 0)
		ret->window.n_series = 0;
}

static void golden_keep_step(struct pipeline *pipeline, const struct analyzer_in *in,
	const struct golden_steps *steps, const char *job)
{
	const int64_t slice_ns = in->interval_ns, to_ns = in->window->to_ns;
	char port[GOLDEN_PORT_MAX];
	struct period period;
	if (steps->window.n_series == 0)
		return;
	double *slices = arena_array(in->arena, double, SLICES);
	throughput_slices(in->fabric, steps->hosts, golden_keep_find(in->fabric, job),
		&steps->window, slice_ns, slices, SLICES);
	if (!rhythm_period(slices, SLICES, slice_ns, &period))
		return;
	golden_keep_value(pipeline, golden_job_port(port, job, GOLDEN_JOB_STEP), to_ns,
		(double)period.period_ns / NS_PER_S);
	golden_keep_value(pipeline, golden_job_port(port, job, GOLDEN_JOB_EXCHANGE), to_ns,
		(double)period.exchange_ns / NS_PER_S);
}

static void golden_keep_job(struct pipeline *pipeline, const struct analyzer_in *in,
	const struct golden_steps *steps, const struct job_rate *rate)
{
	const int64_t to_ns = in->window->to_ns;
	char port[GOLDEN_PORT_MAX];
	golden_keep_value(pipeline, golden_job_port(port, rate->job, GOLDEN_JOB_RATE), to_ns,
		golden_keep_rate(rate));
	golden_keep_value(pipeline, golden_job_port(port, rate->job, GOLDEN_JOB_LEVEL), to_ns,
		golden_keep_level(rate, in->arena));
	golden_keep_value(pipeline, golden_job_port(port, rate->job, GOLDEN_JOB_IDLE), to_ns,
		golden_keep_idle(pipeline, rate, to_ns, in->arena));
	golden_keep_step(pipeline, in, steps, rate->job);
}

static void golden_keep_jobs(
	struct pipeline *pipeline, const struct analyzer_in *in, const struct finding_list *found)
{
	struct golden_steps steps;
	golden_steps_open(pipeline, in, &steps);
	for (size_t i = 0; i < found->n_jobs; i++)
		golden_keep_job(pipeline, in, &steps, &found->jobs[i]);
	throughput_hosts_free(steps.hosts);
}

/* Is it time again? Multiples of a minute, so that live and replay keep the same ones. */
static bool golden_keep_due(int64_t *next_ns, int64_t to_ns)
{
	if (to_ns < *next_ns)
		return false;
	*next_ns = (to_ns / EACH_NS + 1) * EACH_NS;
	return true;
}

/* golden_keep_window - @analyzer has judged the window of @in and found @found. */
static void golden_keep_window(struct pipeline *pipeline, const struct analyzer *analyzer,
	const struct analyzer_in *in, const struct finding_list *found)
{
	const int64_t to_ns = in->window->to_ns;
	if (!pipeline->store || pipeline->priming)
		return;
	if (analyzer->observes && golden_keep_due(&pipeline->golden.signals_ns, to_ns))
		golden_keep_signals(pipeline, in);
	if (found->n_jobs && golden_keep_due(&pipeline->golden.jobs_ns, to_ns))
		golden_keep_jobs(pipeline, in, found);
	intake_flush(pipeline);
}

/* ---- classes ------------------------------------------------------------- */

/* What was seen less than a minute ago was seen. */
static void class_keep_seen(int64_t to_ns, double before, double *now, int64_t *seen_ns)
{
	if (*now > 0)
		*seen_ns = to_ns;
	else if (before > 0 && to_ns - *seen_ns < EACH_NS)
		*now = before;
}

static void class_keep_one(
	struct class_keep *keep, const struct observed *observed, int priority, int64_t to_ns)
{
	struct world_facts now;
	const struct world_facts *before = &keep->facts[priority];
	class_world_facts(observed, priority, &now);
	class_keep_seen(to_ns, before->pause_frames, &now.pause_frames, &keep->paused_ns[priority]);
	class_keep_seen(to_ns, before->marked, &now.marked, &keep->marked_ns[priority]);
	class_keep_seen(to_ns, before->trimmed, &now.trimmed, &keep->trimmed_ns[priority]);
	keep->facts[priority] = now;
}

/* Once a window, by the first analyzer that has it observed. */
static void class_keep_window(
	struct pipeline *pipeline, const struct analyzer *analyzer, const struct analyzer_in *in)
{
	struct class_keep *keep = &pipeline->classes;
	const int64_t to_ns = in->window->to_ns;
	if (!pipeline->clock || pipeline->priming || !analyzer->observes || to_ns <= keep->to_ns)
		return;
	const struct observed *observed = observe(in);
	for (int priority = 0; priority < FABRIC_CLASSES; priority++) {
		keep->facts[priority].fabric = NULL;
		if (in->fabric->lossless_mask >> priority & 1)
			class_keep_one(keep, observed, priority, to_ns);
	}
	keep->to_ns = to_ns;
}

/* golden signals look a minute back */
#define KEEP_LEAST_NS (60 * NS_PER_S)
/* So many windows behind, it is worth to look how long nothing came: a clock was set far ahead, or
 * two samples lie far apart. */
#define FAR_BEHIND 64
#define HOLD_UNKNOWN 5 /* windows, for the horizon of an analyzer without a hold option */

static int64_t windows_ceil(int64_t t_ns, int64_t step)
{
	return (t_ns + step - 1) / step * step;
}

/* @slot gets its lengths. Windows of a new length begin where the last one ended, rounded up. */
static void windows_configure_slot(
	struct slot *slot, const struct config *config, int64_t interval_ns)
{
	const void *options = config_options(config, "analyzers", slot->analyzer->name);
	assert(options); /* module_tables() lists every analyzer */
	const int64_t window_ns = analyzer_window(slot->analyzer, options, interval_ns);
	const int64_t stride_ns = analyzer_stride(slot->analyzer, options, interval_ns);
	const int64_t closed_ns = slot->next_end_ns - slot->stride_ns;
	if (slot->begun && window_ns != slot->window_ns)
		slot->next_end_ns = windows_ceil(closed_ns, window_ns) + window_ns;
	else if (slot->begun && stride_ns != slot->stride_ns)
		slot->next_end_ns = closed_ns / stride_ns * stride_ns + stride_ns;
	slot->options = options;
	slot->window_ns = window_ns;
	slot->stride_ns = stride_ns;
	slot->past_ns = analyzer_past(slot->analyzer, options, interval_ns);
}

void windows_configure(struct pipeline *pipeline, const struct config *config)
{
	pipeline->config = config;
	pipeline->classes = (struct class_keep){0};
	pipeline->unjudged = config->self && config->judge;
	pipeline->interval_ns = config_interval(config);
	pipeline->longest_ns = KEEP_LEAST_NS;
	pipeline->past_ns = 0;
	for (size_t k = 0; k < pipeline->n_slots; k++) {
		struct slot *slot = &pipeline->slots[k];
		windows_configure_slot(slot, config, pipeline->interval_ns);
		if (slot->past_ns > pipeline->past_ns)
			pipeline->past_ns = slot->past_ns;
		if (slot->window_ns > pipeline->longest_ns)
			pipeline->longest_ns = slot->window_ns;
	}
}

/* The longest window, the interval it waits after its end, and two more in case the loop is late.
 */
int64_t windows_keep_ns(const struct pipeline *pipeline)
{
	return pipeline->longest_ns + 3 * pipeline->interval_ns;
}

/* The metrics of the analyzers' pasts stay in memory longer, no others. */
void windows_keep_past(struct pipeline *pipeline)
{
	int64_t keep[METRIC_COUNT] = {0};
	for (size_t k = 0; k < pipeline->n_slots; k++) {
		const struct window_spec *past = &pipeline->slots[k].analyzer->past;
		const int64_t wanted = pipeline->slots[k].past_ns + 3 * pipeline->interval_ns;
		for (size_t m = 0; m < past->n_metrics; m++) {
			if (wanted > keep[past->metrics[m]])
				keep[past->metrics[m]] = wanted;
		}
	}
	pipeline->n_past_metrics = 0;
	for (uint16_t m = 0; m < METRIC_COUNT; m++) {
		series_memory_keep_metric(pipeline->memory, m, keep[m]);
		if (keep[m])
			pipeline->past_metrics[pipeline->n_past_metrics++] = m;
	}
}

static void windows_want(struct pipeline *pipeline, const struct window_spec *spec)
{
	pipeline->want_flows = pipeline->want_flows || spec->flows;
	for (size_t k = 0; k < spec->n_metrics; k++) {
		uint16_t m = spec->metrics[k];
		assert(m < METRIC_COUNT);
		if (!pipeline->wanted[m])
			pipeline->metrics[pipeline->n_metrics++] = m;
		pipeline->wanted[m] = true;
	}
}

static int64_t windows_first_end(const struct pipeline *pipeline, const struct slot *slot)
{
	/* A first sample on a boundary begins the window after it: in the one before, it would be
	 * the only sample. */
	int64_t from = pipeline->first_ns / slot->window_ns * slot->window_ns;
	if (from < pipeline->prime_from_ns)
		from = windows_ceil(pipeline->prime_from_ns, slot->window_ns);
	return from + slot->window_ns;
}

/* The slot whose window ends first, of two that end together the one of the lower phase. NULL
 * before the first sample. */
static struct slot *windows_next_slot(struct pipeline *pipeline)
{
	struct slot *first = NULL;
	if (!pipeline->begun)
		return NULL;
	for (size_t k = 0; k < pipeline->n_slots; k++) {
		struct slot *slot = &pipeline->slots[k];
		/* until its first window closed, an older sample may still come in */
		if (!slot->begun)
			slot->next_end_ns = windows_first_end(pipeline, slot);
		if (!first || slot->next_end_ns < first->next_end_ns)
			first = slot;
	}
	return first;
}

static bool windows_has_data(const struct window *window)
{
	return window->n_flows > 0 || window_columns_heard(window->columns);
}

static void windows_finding_key(const struct finding_name *name, struct str *out)
{
	const char *const texts[] = {
		name->analyzer, name->cause, name->device, name->port, name->group, name->host};
	str_addf(out, "%lld %lld %d", (long long)name->from_ns, (long long)name->to_ns,
		name->priority);
	for (size_t k = 0; k < rw_countof(texts); k++)
		str_addf(out, "\n%s", str_or(texts[k], ""));
}

void pipeline_stored(struct pipeline *pipeline, const struct finding_name *name)
{
	rw_cleanup(str_done) struct str key = {0};
	windows_finding_key(name, &key);
	if (!pipeline->stored)
		pipeline->stored = smap_new();
	if (name->to_ns > pipeline->stored_until_ns)
		pipeline->stored_until_ns = name->to_ns;
	smap_put(pipeline->stored, key.s, key.n, 1);
}

static bool windows_is_stored(struct pipeline *pipeline, const struct finding *finding)
{
	rw_cleanup(str_done) struct str key = {0};
	uint64_t seen;
	if (!pipeline->stored)
		return false;
	/* windows are judged in the order of their ends */
	if (finding->to_ns > pipeline->stored_until_ns + windows_keep_ns(pipeline)) {
		smap_free(pipeline->stored);
		pipeline->stored = NULL;
		return false;
	}
	const struct finding_name name = {.from_ns = finding->from_ns,
		.to_ns = finding->to_ns,
		.analyzer = finding->analyzer,
		.cause = cause_name(finding->cause),
		.device = finding->device,
		.port = finding->port,
		.group = finding->group,
		.host = finding->host,
		.priority = finding->priority};
	windows_finding_key(&name, &key);
	return smap_get(pipeline->stored, key.s, key.n, &seen);
}

static void windows_store_finding(struct pipeline *pipeline, const struct finding *finding)
{
	if (!pipeline->store || (pipeline->priming && finding->to_ns <= pipeline->prime_known_ns))
		return;
	if (finding->verdict != FINDING_OVER && finding->verdict != FINDING_UNKNOWN)
		return;
	/* Windows overlap: store an unknown verdict only once per window length. */
	if (finding->verdict == FINDING_UNKNOWN && !finding_is_aligned(finding))
		return;
	if (windows_is_stored(pipeline, finding))
		return;
	store_finding(pipeline->store,
		&(struct store_finding){
			.from_ns = finding->from_ns,
			.to_ns = finding->to_ns,
			.analyzer = finding->analyzer,
			.cause = cause_name(finding->cause),
			.verdict = finding_verdict_name(finding->verdict),
			.severity = severity_name(finding->severity),
			.device = finding->device,
			.port = finding->port,
			.group = finding->group,
			.host = finding->host,
			.summary = finding->summary,
			.priority = finding->priority,
			.value = finding->value,
			.warn = finding->warn,
			.confidence = finding->confidence_ratio,
		});
	if (finding->event && finding->verdict == FINDING_OVER)
		store_device_event(pipeline->store, finding->event_ns, finding->event,
			finding->device, finding->port, finding->summary);
}

/* The window (from, to] with all that the analyzers of this length read: filled and measured once
 * for all of them. */
static int windows_fill(struct pipeline *pipeline, int64_t from_ns, int64_t to_ns)
{
	struct shared_window *shared = &pipeline->shared;
	if (shared->filled && shared->from_ns == from_ns && shared->to_ns == to_ns)
		return 0;
	uint16_t metrics[METRIC_COUNT];
	bool wanted[METRIC_COUNT] = {false}, flows = false;
	for (size_t i = 0; i < pipeline->n_slots; i++) {
		const struct slot *slot = &pipeline->slots[i];
		if (slot->window_ns != to_ns - from_ns || slot->next_end_ns != to_ns)
			continue;
		flows |= slot->analyzer->spec.flows;
		analyzer_wants(slot->analyzer, wanted);
	}
	struct window_spec spec = analyzer_spec(wanted, metrics);
	spec.flows = flows;
	arena_reset(shared->arena);
	shared->shared = (struct analyzer_shared){.arena = shared->arena};
	shared->past_ns = 0;
	shared->from_ns = from_ns;
	shared->to_ns = to_ns;
	const int rc = window_lent_from_memory(
		pipeline->memory, shared->arena, &spec, from_ns, to_ns, &shared->window);
	shared->filled = rc == 0;
	return rc;
}

/* The past of the analyzers that go back as far as this one; after windows_fill(), which empties
 * the arena. */
static int windows_fill_past(struct pipeline *pipeline, const struct slot *slot)
{
	struct shared_window *shared = &pipeline->shared;
	if (shared->past_ns == slot->past_ns)
		return 0;
	uint16_t metrics[METRIC_COUNT];
	bool wanted[METRIC_COUNT] = {false};
	for (size_t i = 0; i < pipeline->n_slots; i++) {
		const struct slot *other = &pipeline->slots[i];
		if (other->past_ns != slot->past_ns)
			continue;
		for (size_t m = 0; m < other->analyzer->past.n_metrics; m++)
			wanted[other->analyzer->past.metrics[m]] = true;
	}
	const struct window_spec spec = analyzer_spec(wanted, metrics);
	shared->past_ns = slot->past_ns;
	return window_lent_from_memory(pipeline->memory, shared->arena, &spec,
		shared->to_ns - slot->past_ns, shared->to_ns, &shared->past);
}

static bool windows_follows(const void *arg, const char *analyzer, const char *device)
{
	return ledger_follows(arg, analyzer, device);
}

/* windows_judge - fills and judges the window of pipeline->judging.slot: the long part. */
static void windows_judge(struct pipeline *pipeline)
{
	struct judging *j = &pipeline->judging;
	const struct slot *slot = j->slot;
	struct analyzer_in *in = &j->in;
	int64_t to = slot->next_end_ns, from = to - slot->window_ns;
	arena_reset(pipeline->turn);
	j->found = (struct finding_list){0};
	j->rc = windows_fill(pipeline, from, to);
	j->empty = j->rc == 0 && !windows_has_data(&pipeline->shared.window);
	if (j->empty)
		return;
	*in = (struct analyzer_in){.fabric = pipeline->config->fabric,
		.window = &pipeline->shared.window,
		.options = slot->options,
		.interval_ns = pipeline->interval_ns,
		.stride_ns = slot->stride_ns,
		.arena = pipeline->turn,
		.shared = &pipeline->shared.shared,
		.follows = windows_follows,
		.follows_arg = pipeline->ledger,
		.pause = in->pause,
		.pause_arg = in->pause_arg,
		.expected = pipeline->expected,
		.n_expected = pipeline->n_expected};
	if (j->rc == 0 && slot->past_ns > 0) {
		j->rc = windows_fill_past(pipeline, slot);
		in->past = &pipeline->shared.past;
	}
	if (j->rc == 0)
		j->rc = slot->analyzer->run(in, &j->found);
	if (j->rc == 0)
		golden_keep_window(pipeline, slot->analyzer, in, &j->found);
	class_keep_window(pipeline, slot->analyzer, in);
}

static void windows_failed(struct pipeline *pipeline)
{
	const struct judging *j = &pipeline->judging;
	pipeline->counters.failed++;
	log_error(j->slot->analyzer->name, "window that ended at %lld s could not be analysed: %s",
		(long long)(j->slot->next_end_ns / NS_PER_S), strerror(-j->rc));
}

/* A ledger_delivers_fn: is there a sample of what the analyzer reads there in the window? */
static bool windows_deliver_of(
	const void *arg, const char *analyzer, const char *device, const char *port)
{
	const struct pipeline *pipeline = arg;
	const struct window *window = &pipeline->shared.window;
	const struct window_spec *spec = &pipeline->judging.slot->analyzer->spec;
	for (size_t m = 0; m < spec->n_metrics; m++) {
		size_t n;
		const struct series *series = window_of_metric(window, spec->metrics[m], &n);
		for (size_t k = 0; k < n; k++) {
			const struct series *s = &series[k];
			const struct entity *at = entity_get(window->entities, s->entity);
			if (s->n > 0 && s->t_ns[s->n - 1] > window->from_ns &&
				str_eq(at->device, device) && (!port || str_eq(at->port, port)))
				return true;
		}
	}
	return false;
}

/* False when time is over before all findings are handed on. */
static bool windows_hand_on(struct pipeline *pipeline, int64_t until_ns)
{
	struct judging *j = &pipeline->judging;
	const struct slot *slot = j->slot;
	const struct finding_list *found = &j->found;
	if (j->handed == 0) {
		pipeline->counters.findings += found->n + found->n_clear;
		/* what a finding rests on is in the store before it */
		intake_flush(pipeline);
	}
	while (j->handed < found->n) {
		const struct finding *f = &found->v[j->handed++];
		windows_store_finding(pipeline, f);
		ledger_take(pipeline->ledger, f);
		if (until_ns != INT64_MAX && mono_now().ns >= until_ns && j->handed < found->n)
			return false;
	}
	ledger_judged(pipeline->ledger, slot->analyzer->name, slot->next_end_ns,
		(double)slot->stride_ns / (double)slot->window_ns, windows_deliver_of, pipeline);
	ledger_rates(pipeline->ledger, found->jobs, found->n_jobs);
	return true;
}

/* windows_deliver - what was found goes to the store and the ledger; the slot goes on. By the clock
 * mono_now() at most until @until_ns, INT64_MAX: to the end. False when something is left: again,
 * before anything else is judged. */
static bool windows_deliver(struct pipeline *pipeline, int64_t until_ns)
{
	struct judging *j = &pipeline->judging;
	struct slot *slot = j->slot;
	slot->begun = true;
	if (!j->empty && j->rc != 0)
		windows_failed(pipeline);
	else if (!j->empty && !windows_hand_on(pipeline, until_ns))
		return false;
	j->handed = 0;
	if (!j->empty)
		pipeline->counters.windows++;
	if (slot->next_end_ns > pipeline->closed_ns)
		pipeline->closed_ns = slot->next_end_ns;
	slot->next_end_ns += slot->stride_ns;
	return true;
}

/* This window and all that follow up to @limit_ns are empty. */
static void windows_skip(struct pipeline *pipeline, struct slot *slot, int64_t limit_ns)
{
	int64_t last = limit_ns / slot->stride_ns * slot->stride_ns;
	slot->begun = true;
	if (last > pipeline->closed_ns)
		pipeline->closed_ns = last;
	slot->next_end_ns = last + slot->stride_ns;
}

/* Up to when, at most @limit_ns, nothing is known from the beginning of @slot's window on. */
static int64_t windows_empty_until(
	const struct pipeline *pipeline, const struct slot *slot, int64_t limit_ns)
{
	const int64_t from_ns = slot->next_end_ns - slot->window_ns;
	if (pipeline->newest_ns <= from_ns)
		return limit_ns;
	if ((limit_ns - slot->next_end_ns) / slot->stride_ns < FAR_BEHIND)
		return from_ns;
	const int64_t next_ns = series_memory_next(pipeline->memory, from_ns);
	if (next_ns > limit_ns)
		return limit_ns;
	return next_ns - 1;
}

/* windows_due - the slot whose window ended first, by @limit_ns; time in which nothing came is
 * skipped. NULL: none is due.
 * Time in which nothing came is skipped in one step: how long it is does not matter. */
static struct slot *windows_due(struct pipeline *pipeline, int64_t limit_ns)
{
	while (!pipeline->unjudged) {
		struct slot *slot = windows_next_slot(pipeline);
		if (!slot || slot->next_end_ns > limit_ns)
			return NULL;
		const int64_t empty_ns = windows_empty_until(pipeline, slot, limit_ns);
		if (empty_ns < slot->next_end_ns)
			return slot;
		windows_skip(pipeline, slot, empty_ns);
	}
	return NULL;
}

void windows_rewind(struct pipeline *pipeline, int64_t t_ns)
{
	pipeline->classes = (struct class_keep){0};
	for (size_t k = 0; k < pipeline->n_slots; k++) {
		struct slot *slot = &pipeline->slots[k];
		/* the first whole window after it: it holds a pulse of the agent by the new clock
		 */
		const int64_t end_ns = (t_ns / slot->stride_ns + 2) * slot->stride_ns;
		if (slot->begun && slot->next_end_ns > end_ns)
			slot->next_end_ns = end_ns;
	}
	int64_t *const times[] = {&pipeline->first_ns, &pipeline->newest_ns, &pipeline->closed_ns,
		&pipeline->trimmed_ns, &pipeline->now_ns};
	for (size_t k = 0; k < rw_countof(times); k++)
		if (*times[k] > t_ns)
			*times[k] = t_ns;
	pipeline->shared.filled = false;
}

/* ---- what others ask ----------------------------------------------------  */

int64_t pipeline_horizon(const struct pipeline *pipeline)
{
	int64_t longest = 0;
	for (size_t k = 0; k < pipeline->n_slots; k++) {
		const struct slot *slot = &pipeline->slots[k];
		const struct option *o = option_find(&slot->analyzer->options, "hold");
		int64_t hold = HOLD_UNKNOWN;
		if (o && o->type == OPT_INT)
			memcpy(&hold, (const char *)slot->options + o->offset, sizeof(hold));
		/* the ledger looks at hold + 2 windows, and the first of them reaches back one
		 * more */
		int64_t wanted = (hold + 4) * slot->window_ns;
		if (wanted > longest)
			longest = wanted;
	}
	return longest;
}

int64_t pipeline_past(const struct pipeline *pipeline, const uint16_t **ret, size_t *ret_n)
{
	*ret = pipeline->past_metrics;
	*ret_n = pipeline->n_past_metrics;
	return pipeline->past_ns;
}

size_t pipeline_metrics(const struct pipeline *pipeline, const uint16_t **ret)
{
	*ret = pipeline->metrics;
	return pipeline->n_metrics;
}

static int windows_slot_order(const void *left, const void *right)
{
	const struct analyzer *one = ((const struct slot *)left)->analyzer;
	const struct analyzer *other = ((const struct slot *)right)->analyzer;
	return (one->phase > other->phase) - (one->phase < other->phase);
}

void windows_open(struct pipeline *pipeline)
{
	const struct window_spec observed = {
		.metrics = observe_metrics, .n_metrics = observe_n_metrics};
	while (analyzers[pipeline->n_slots])
		pipeline->n_slots++;
	pipeline->slots = rw_calloc(pipeline->n_slots + 1, sizeof(*pipeline->slots));
	for (size_t k = 0; k < pipeline->n_slots; k++) {
		const struct analyzer *analyzer = analyzers[k];
		pipeline->slots[k].analyzer = analyzer;
		windows_want(pipeline, &analyzer->spec);
		windows_want(pipeline, &analyzer->past);
		if (analyzer->observes)
			windows_want(pipeline, &observed);
	}
	qsort(pipeline->slots, pipeline->n_slots, sizeof(*pipeline->slots), windows_slot_order);
}

/* judging - the windows that are due, one after the other, and memory after them. */

#define SLICE_NS (8 * NS_PER_MS)
/* So much may wait; beyond, the windows are finished at once. */
#define WAITING_MOST 1000000
#define WAITING_KEPT 4096 /* room for so many stays */

/* Forgets what no window needs any more; not for every sample of a replay. */
static void judging_trim(struct pipeline *pipeline)
{
	const int64_t now_ns = pipeline->now_ns;
	series_memory_trim(pipeline->memory, now_ns);
	pipeline->trimmed_ns = now_ns;
}

static void judging_work(void *arg)
{
	struct pipeline *pipeline = arg;
	if (pipeline->judging.slot)
		windows_judge(pipeline);
	else
		judging_trim(pipeline);
}

/* The next piece of work: a window, or what memory forgets after the last one. */
static bool judging_next(struct pipeline *pipeline)
{
	struct judging *j = &pipeline->judging;
	j->slot = NULL;
	if (j->until_ns != 0 && mono_now().ns > j->until_ns)
		return false;
	j->slot = windows_due(pipeline, j->limit_ns);
	return j->slot || (pipeline->now_ns - pipeline->trimmed_ns >= pipeline->interval_ns);
}

/* False when what was found is not handed on yet. */
static bool judging_ended(struct pipeline *pipeline, int64_t until_ns)
{
	if (pipeline->judging.slot && !windows_deliver(pipeline, until_ns))
		return false;
	pipeline->judging.slot = NULL;
	return true;
}

static void judging_take_in(struct pipeline *pipeline)
{
	struct judging *j = &pipeline->judging;
	const struct judging held = *j;
	j->waits = false;
	j->samples = NULL;
	j->flows = NULL;
	j->n_samples = j->cap_samples = j->n_flows = j->cap_flows = 0;
	intake_take(pipeline, held.samples, held.n_samples);
	intake_take_flows(pipeline, held.flows, held.n_flows);
	if (held.cap_samples <= WAITING_KEPT && !j->samples) {
		j->samples = held.samples;
		j->cap_samples = held.cap_samples;
	} else {
		free(held.samples);
	}
	free(held.flows);
}

/* True when all is done; else it goes on later. */
static bool judging_slice(struct pipeline *pipeline, int64_t budget_ns)
{
	struct judging *j = &pipeline->judging;
	const int64_t began_ns = mono_now().ns;
	int64_t left_ns = budget_ns, until_ns = INT64_MAX;
	if (budget_ns != INT64_MAX)
		until_ns = began_ns + budget_ns;
	j->waits = true;
	while (left_ns > 0) {
		if (!j->runs && !j->delivers) {
			if (!judging_next(pipeline)) {
				judging_take_in(pipeline);
				return true;
			}
			slice_begin(j->slice, judging_work, pipeline);
			j->runs = true;
		}
		if (!j->delivers)
			j->runs = !slice_run(j->slice, left_ns);
		if (j->runs)
			return false;
		j->delivers = !judging_ended(pipeline, until_ns);
		if (j->delivers)
			return false;
		if (budget_ns != INT64_MAX)
			left_ns = budget_ns - (mono_now().ns - began_ns);
	}
	return false;
}

static void judging_on_timer(void *arg)
{
	struct pipeline *pipeline = arg;
	const struct judging *j = &pipeline->judging;
	int64_t budget_ns = j->slice_ns;
	if (j->n_samples + j->n_flows > WAITING_MOST)
		budget_ns = INT64_MAX;
	if (!judging_slice(pipeline, budget_ns))
		loop_timer_start(j->timer, 0, 0);
}

void judging_until(struct pipeline *pipeline, int64_t limit_ns)
{
	struct judging *j = &pipeline->judging;
	if (j->waits)
		return; /* of this tick's windows the next one takes care */
	j->limit_ns = limit_ns;
	if (j->slice && !pipeline->feeding) {
		judging_on_timer(pipeline);
		return;
	}
	while (judging_next(pipeline)) {
		judging_work(pipeline);
		judging_ended(pipeline, INT64_MAX);
	}
}

bool pipeline_judging(const struct pipeline *pipeline)
{
	return pipeline->judging.waits;
}

void judging_finish(struct pipeline *pipeline)
{
	struct judging *j = &pipeline->judging;
	if (!j->waits)
		return;
	loop_timer_stop(j->timer);
	judging_slice(pipeline, INT64_MAX);
}

static void judging_pause(void *arg)
{
	slice_pause(arg);
}

void judging_open(struct pipeline *pipeline, struct loop *loop)
{
	struct judging *j = &pipeline->judging;
	j->slice = slice_new();
	if (!j->slice)
		return;
	j->slice_ns = SLICE_NS;
	j->timer = loop_timer_new(loop, judging_on_timer, pipeline);
	series_memory_pausing(pipeline->memory, judging_pause, j->slice);
	j->in.pause = judging_pause;
	j->in.pause_arg = j->slice;
}

void judging_close(struct pipeline *pipeline)
{
	struct judging *j = &pipeline->judging;
	judging_finish(pipeline);
	loop_timer_free(j->timer);
	slice_free(j->slice);
	series_memory_pausing(pipeline->memory, NULL, NULL);
	free(j->samples);
	free(j->flows);
	*j = (struct judging){0};
}
