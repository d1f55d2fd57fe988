/* windows - closes the windows of every analyzer in order of their ends, runs the analyzer, and
 * hands its findings to the store and the ledger. */
#include "agent/daemon/windows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/log.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "agent/daemon/intake.h"
#include "agent/daemon/pipeline_state.h"
#include "agent/incident/ledger.h"
#include "analyzers/measure/observe.h"
#include "db/store/store.h"

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
	for (size_t k = 0; k < window->n_series; k++) {
		if (window->series[k].n &&
			window->series[k].t_ns[window->series[k].n - 1] > window->from_ns)
			return true;
	}
	return window->n_flows > 0;
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
	smap_put(pipeline->stored, key.s, key.n, 1);
}

static bool windows_is_stored(const struct pipeline *pipeline, const struct finding *finding)
{
	rw_cleanup(str_done) struct str key = {0};
	uint64_t seen;
	if (!pipeline->stored)
		return false;
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

void windows_judge(struct pipeline *pipeline)
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
}

static void windows_failed(struct pipeline *pipeline)
{
	const struct judging *j = &pipeline->judging;
	pipeline->counters.failed++;
	log_error(j->slot->analyzer->name, "window that ended at %lld s could not be analysed: %s",
		(long long)(j->slot->next_end_ns / NS_PER_S), strerror(-j->rc));
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
		(double)slot->stride_ns / (double)slot->window_ns);
	ledger_rates(pipeline->ledger, found->jobs, found->n_jobs);
	return true;
}

bool windows_deliver(struct pipeline *pipeline, int64_t until_ns)
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

/* Time in which nothing came is skipped in one step: how long it is does not matter. */
struct slot *windows_due(struct pipeline *pipeline, int64_t limit_ns)
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
