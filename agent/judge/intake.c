/* intake - decides about every sample and flow that a collector delivers: into memory for the
 * analyzers, into the store, or refused and counted. */
#include "agent/judge/intake.h"

#include "agent/judge/pipeline_state.h"
#include "collectors/recorded/replay.h"
#include "db/store/store.h"

/* waiting - two lists that windows.c empties. */

bool waiting_samples(struct pipeline *pipeline, const struct sample *samples, size_t n)
{
	struct judging *j = &pipeline->judging;
	if (!j->waits)
		return false;
	for (size_t i = 0; i < n; i++) {
		rw_grow(j->samples, j->n_samples, j->cap_samples);
		j->samples[j->n_samples++] = samples[i];
	}
	return true;
}

static bool waiting_flows(struct pipeline *pipeline, const struct flow_sample *flows, size_t n)
{
	struct judging *j = &pipeline->judging;
	if (!j->waits)
		return false;
	for (size_t i = 0; i < n; i++) {
		rw_grow(j->flows, j->n_flows, j->cap_flows);
		j->flows[j->n_flows++] = flows[i];
	}
	return true;
}

/* Windows wait for what arrives late: twice the latest of the last span or two, and a margin; an
 * interval until some intervals were seen. */
#define LAG_SPAN_NS (600 * NS_PER_S)
#define LAG_MARGIN_NS NS_PER_S
#define LAG_LEARN 3
#define AHEAD_NS (2 * NS_PER_S) /* a time further ahead of the clock is wrong */

static void intake_saw(struct pipeline *pipeline, int64_t first_ns, int64_t newest_ns)
{
	if (!pipeline->begun || first_ns < pipeline->first_ns)
		pipeline->first_ns = first_ns;
	if (!pipeline->begun || newest_ns > pipeline->newest_ns)
		pipeline->newest_ns = newest_ns;
	pipeline->begun = true;
}

/* Does the metric belong to such a subject (a queue's to a priority, a port's to none)? */
static bool intake_scope_fits(struct pipeline *pipeline, const struct sample *sample)
{
	static const struct entity unknown = {
		.device = "pipeline", .port = "?", .priority = PRIO_NONE};
	const struct entity *entity = entity_get(pipeline->entities, sample->entity);
	const char *expected = "a known subject";
	if (entity)
		expected = sample_scope_error(sample->metric, entity);
	else
		entity = &unknown;
	if (!expected)
		return true;
	pipeline->counters.refused++;
	const struct metric_info *metric = metric_info(sample->metric);
	const char *name = "a metric";
	if (metric)
		name = metric->name;
	complain(&pipeline->refusal, mono_now(), LOG_WARN_, entity->device,
		"%s of port '%s' priority %d refused, expected %s", name, entity->port,
		entity->priority, expected);
	return false;
}

static bool intake_is_octets(uint16_t metric)
{
	return metric == M_PORT_IN_OCTETS || metric == M_PORT_OUT_OCTETS;
}

bool intake_accept(struct pipeline *pipeline, struct sample *sample)
{
	if (!intake_scope_fits(pipeline, sample))
		return false;
	entities_seen(pipeline->entities, sample->entity);
	const struct series_place place =
		series_memory_place(pipeline->memory, sample->entity, sample->metric);
	struct series_said said = series_memory_said(pipeline->memory, place);
	/* The poll was under way when the clock was set back: its middle lies before that. */
	const bool under_way = said.torn && said.t_ns == pipeline->rewound_ns - 1;
	if (sample->t_ns <= said.t_ns && under_way)
		sample->t_ns = pipeline->rewound_ns;
	if (sample->t_ns <= said.t_ns) {
		pipeline->counters.duplicates++;
		return false;
	}
	said.t_ns = sample->t_ns;
	if (intake_is_octets(sample->metric) &&
		sample->value != series_memory_value(pipeline->memory, place))
		pipeline->counters.moved++;
	pipeline->counters.samples++;
	pipeline->counters.restarts += (sample->flags & SF_RESTART) != 0;
	pipeline->counters.suspects += (sample->flags & SF_SUSPECT) != 0;
	if (sample->t_ns <= pipeline->closed_ns)
		sample->flags |= SF_LATE;
	if (sample->flags & SF_LATE) {
		series_memory_say(pipeline->memory, place, &said, false);
		pipeline->counters.late++;
		return true;
	}
	/* Never a difference across protocols: they read at other instants, some other counters. */
	if (said.source != SOURCE_UNKNOWN && said.source != sample->source)
		sample->flags |= SF_RESTART;
	if (said.torn)
		sample->flags |= SF_RESTART;
	said.torn = false;
	said.source = sample->source;
	/* What the agent says of itself is no data that could be judged. */
	if (sample->source != SOURCE_AGENT)
		intake_saw(pipeline, sample->t_ns, sample->t_ns);
	pipeline->shared.filled = false; /* its pointers are into memory as it was */
	bool kept = false;
	if (pipeline->wanted[sample->metric])
		kept = series_memory_add_at(pipeline->memory, place, sample) == 0;
	series_memory_say(pipeline->memory, place, &said, kept);
	return true;
}

void intake_flush(struct pipeline *pipeline)
{
	if (pipeline->n_batch && pipeline->store)
		store_samples(pipeline->store, pipeline->batch, pipeline->n_batch);
	pipeline->n_batch = 0;
}

void intake_keep(struct pipeline *pipeline, const struct sample *sample)
{
	if (pipeline->priming || !pipeline->store)
		return;
	rw_grow(pipeline->batch, pipeline->n_batch, pipeline->cap_batch);
	pipeline->batch[pipeline->n_batch++] = *sample;
}

/* The latest time that is believed; see pipeline_watch_clock(). */
static int64_t intake_latest(struct pipeline *pipeline, int64_t *ret_now_ns)
{
	*ret_now_ns = INT64_MAX;
	if (!pipeline->clock || pipeline->priming)
		return INT64_MAX;
	*ret_now_ns = pipeline->clock(pipeline->clock_arg);
	return *ret_now_ns + AHEAD_NS;
}

/* Samples or flows of @t_ns came in at @now_ns. */
static void intake_lag(struct pipeline *pipeline, int64_t now_ns, int64_t t_ns)
{
	struct arrival_lag *lag = &pipeline->lag;
	if (!pipeline->clock || pipeline->priming)
		return;
	if (lag->begun_ns == 0)
		lag->begun_ns = lag->since_ns = now_ns;
	if (now_ns - lag->since_ns > LAG_SPAN_NS || now_ns < lag->since_ns) {
		lag->before_ns = lag->now_ns;
		lag->now_ns = 0;
		lag->since_ns = now_ns;
	}
	if (now_ns - t_ns > lag->now_ns)
		lag->now_ns = now_ns - t_ns;
}

int64_t intake_wait_ns(const struct pipeline *pipeline)
{
	const struct arrival_lag *lag = &pipeline->lag;
	if (pipeline->fed) /* it comes in order of time: when the next instant begins, all is there
			    */
		return 1;
	const int64_t learnt_ns = lag->begun_ns + LAG_LEARN * pipeline->interval_ns;
	int64_t latest_ns = lag->before_ns;
	if (lag->now_ns > latest_ns)
		latest_ns = lag->now_ns;
	const int64_t wait_ns = 2 * latest_ns + LAG_MARGIN_NS;
	if (lag->begun_ns == 0 || pipeline->now_ns < learnt_ns || wait_ns > pipeline->interval_ns)
		return pipeline->interval_ns;
	return wait_ns;
}

void intake_take(struct pipeline *pipeline, const struct sample *samples, size_t n)
{
	if (waiting_samples(pipeline, samples, n))
		return;
	for (size_t k = 0; k < n; k++) {
		struct sample s = samples[k];
		if (intake_accept(pipeline, &s))
			intake_keep(pipeline, &s);
	}
	intake_flush(pipeline);
}

void intake_samples(void *arg, const struct sample *samples, size_t n)
{
	struct pipeline *p = arg;
	int64_t now_ns;
	const int64_t latest_ns = intake_latest(p, &now_ns);
	if (n > 0)
		intake_lag(p, now_ns, samples[0].t_ns);
	size_t future = 0;
	while (future < n && samples[future].t_ns <= latest_ns)
		future++;
	if (future == n) {
		intake_take(p, samples, n);
		return;
	}
	struct sample *timed = rw_calloc(n, sizeof(*timed));
	for (size_t k = 0; k < n; k++) {
		timed[k] = samples[k];
		if (timed[k].t_ns > latest_ns)
			timed[k].t_ns = now_ns;
	}
	intake_take(p, timed, n);
	free(timed);
}

static bool intake_accept_flow(struct pipeline *pipeline, const struct flow_sample *flow)
{
	pipeline->counters.flows++;
	entities_seen(pipeline->entities, flow->entity);
	if (flow->to_ns <= pipeline->closed_ns) {
		pipeline->counters.late_flows++;
		return false;
	}
	intake_saw(pipeline, flow->from_ns, flow->to_ns);
	if (pipeline->want_flows)
		series_memory_add_flow(pipeline->memory, flow);
	return true;
}

/* Flows whose interval ends in the future were timed before the clock was set back: a copy that
 * ends now. NULL when there are none; else the caller frees it. */
static struct flow_sample *intake_flows_timed(
	struct pipeline *pipeline, const struct flow_sample *flows, size_t n)
{
	int64_t now_ns;
	const int64_t latest_ns = intake_latest(pipeline, &now_ns);
	struct flow_sample *copy = NULL;
	for (size_t k = 0; k < n; k++) {
		if (flows[k].to_ns <= latest_ns)
			continue;
		if (!copy) {
			copy = rw_calloc(n, sizeof(*copy));
			memcpy(copy, flows, n * sizeof(*copy));
		}
		copy[k].from_ns -= flows[k].to_ns - now_ns;
		copy[k].to_ns = now_ns;
	}
	return copy;
}

void intake_take_flows(struct pipeline *pipeline, const struct flow_sample *flows, size_t n)
{
	struct store *store = pipeline->store;
	size_t from = 0;
	if (waiting_flows(pipeline, flows, n))
		return;
	if (pipeline->priming || pipeline->fed)
		store = NULL;
	for (size_t k = 0; k < n; k++) { /* runs of accepted rows go to the store in one piece */
		if (intake_accept_flow(pipeline, &flows[k]))
			continue;
		if (store && k > from)
			store_flows(store, flows + from, k - from);
		from = k + 1;
	}
	if (store && n > from)
		store_flows(store, flows + from, n - from);
}

void intake_flows(void *arg, const struct flow_sample *flows, size_t n)
{
	struct pipeline *p = arg;
	rw_cleanup(freep) struct flow_sample *timed = intake_flows_timed(p, flows, n);
	if (timed)
		flows = timed;
	int64_t now_ns;
	intake_latest(p, &now_ns);
	if (n > 0)
		intake_lag(p, now_ns, flows[0].to_ns);
	intake_take_flows(p, flows, n);
}
