/*
 * pipeline - the arrows. Owns the memory of recent samples, the windows under way and what each
 * series was last seen with. Loop thread only; time comes from the loop's tick or from the samples
 * (the monotonic clock only paces a complaint).
 */
#include "agent/daemon/pipeline.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/log.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "agent/daemon/target_status.h"
#include "analyzers/analyzer.h"
#include "analyzers/measure/observe.h"
#include "collectors/recorded/replay.h"
#include "db/series/series_index.h"
#include "db/series/series_memory.h"
#include "db/store/store.h"

#define BATCH_MAX 4096 /* samples handed to the store at once in replay */
#define HOLD_UNKNOWN 5 /* for the horizon, of an analyzer without a hold option */

struct lane { /* one analyzer and its windows */
	const struct analyzer *analyzer;
	const void *options;
	int64_t window_ns, past_ns;
	int64_t next_end_ns; /* end of the window under way */
	bool begun; /* its first window was closed: .next_end_ns is fixed */
};

struct run { /* what a series was last seen with */
	int64_t newest_ns;
	uint16_t source;
};

struct peer { /* what a port hears */
	char *device, *port;
};

struct pipeline {
	const struct config *config;
	struct entities *entities;
	struct store *store;
	struct ledger *ledger;
	struct sink sink;
	struct series_memory *memory;
	struct arena *turn; /* one analyzer's findings */
	/* the window analyzers of one length share; made anew for each end */
	struct look {
		struct arena *arena;
		int64_t from_ns, to_ns;
		bool made;
		struct window window;
		/* the newest longer look; .past_ns says how long, 0 = none made */
		struct window past;
		int64_t past_ns;
		struct analyzer_shared shared;
	} look;
	struct lane *lanes;
	size_t n_lanes;
	uint16_t metrics[METRIC_COUNT]; /* what the analyzers read */
	size_t n_metrics;
	uint16_t past_metrics[METRIC_COUNT]; /* those some analyzer looks back at */
	size_t n_past_metrics;
	bool wanted[METRIC_COUNT], want_flows;
	int64_t interval_ns, longest_ns, past_ns; /* past: the longest */

	struct series_index *run_index; /* position in runs */
	struct run *runs;
	size_t n_runs, cap_runs;

	bool begun;
	int64_t first_ns, newest_ns; /* of what may be analysed */
	int64_t closed_ns; /* latest end of a closed window */
	int64_t now_ns; /* of the last advance */
	int64_t trimmed_ns;

	bool priming;
	int64_t prime_from_ns, prime_known_ns;
	struct sample *batch;
	size_t n_batch, cap_batch;
	struct target_table *targets;
	struct arena *expected_arena; /* .expected and its names */
	struct expected_change *expected;
	size_t n_expected;
	struct smap *peer_index; /* "device\0port" -> index into peers */
	struct peer *peers;
	size_t n_peers, cap_peers;
	void (*neighbors)(void *arg, const struct topology_device *self,
		const struct topology_neighbor *heard, size_t n);
	void *neighbors_arg;
	struct complaint refusal;
	struct pipeline_counters counters;
};

/* ---- configuration ------------------------------------------------------- */

static int64_t config_interval(const struct config *config)
{
	int64_t longest = 0;
	for (size_t k = 0; k < config->n_devices; k++) {
		const struct config_device *d = &config->devices[k];
		if (d->snmp && d->snmp->interval_ns > longest)
			longest = d->snmp->interval_ns;
		if (d->gnmi && d->gnmi->interval_ns > longest)
			longest = d->gnmi->interval_ns;
	}
	if (longest == 0)
		longest = config->defaults.interval_ns;
	if (longest > 0)
		return longest;
	return 10 * NS_PER_S;
}

static int64_t ceil_to(int64_t t_ns, int64_t step)
{
	return (t_ns + step - 1) / step * step;
}

static void pipeline_configure(struct pipeline *pipeline, const struct config *config)
{
	pipeline->config = config;
	pipeline->interval_ns = config_interval(config);
	pipeline->longest_ns = pipeline->past_ns = 0;
	for (size_t k = 0; k < pipeline->n_lanes; k++) {
		struct lane *lane = &pipeline->lanes[k];
		const void *options = config_options(config, "analyzers", lane->analyzer->name);
		assert(options); /* module_tables() lists every analyzer */
		const int64_t window_ns =
			analyzer_window(lane->analyzer, options, pipeline->interval_ns);
		if (lane->begun && window_ns != lane->window_ns)
			lane->next_end_ns =
				ceil_to(lane->next_end_ns - lane->window_ns, window_ns) + window_ns;
		lane->options = options;
		lane->window_ns = window_ns;
		lane->past_ns = analyzer_past(lane->analyzer, options, pipeline->interval_ns);
		if (lane->past_ns > pipeline->past_ns)
			pipeline->past_ns = lane->past_ns;
		if (window_ns > pipeline->longest_ns)
			pipeline->longest_ns = window_ns;
	}
}

/* The longest window, the interval it waits after its end, and two more for a loop that was held
 * up. */
static int64_t keep_ns(const struct pipeline *pipeline)
{
	return pipeline->longest_ns + 3 * pipeline->interval_ns;
}

/* What analyzers look back at stays longer: the metrics of their past, no others. */
static void keep_past(struct pipeline *pipeline)
{
	int64_t keep[METRIC_COUNT] = {0};
	for (size_t k = 0; k < pipeline->n_lanes; k++) {
		const struct window_spec *past = &pipeline->lanes[k].analyzer->past;
		const int64_t wanted = pipeline->lanes[k].past_ns + 3 * pipeline->interval_ns;
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

static void pipeline_want(struct pipeline *pipeline, const struct window_spec *spec)
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

/* ---- intake -------------------------------------------------------------- */

static struct run *pipeline_run_of(struct pipeline *pipeline, const struct sample *sample)
{
	bool fresh;
	uint32_t at = series_index_at(pipeline->run_index, sample->entity, sample->metric, &fresh);
	if (fresh) {
		rw_grow(pipeline->runs, pipeline->n_runs, pipeline->cap_runs);
		pipeline->runs[pipeline->n_runs++] =
			(struct run){.newest_ns = INT64_MIN, .source = SOURCE_UNKNOWN};
	}
	return &pipeline->runs[at];
}

static void pipeline_saw(struct pipeline *pipeline, int64_t first_ns, int64_t newest_ns)
{
	if (!pipeline->begun || first_ns < pipeline->first_ns)
		pipeline->first_ns = first_ns;
	if (!pipeline->begun || newest_ns > pipeline->newest_ns)
		pipeline->newest_ns = newest_ns;
	pipeline->begun = true;
}

static bool scope_fits(struct pipeline *pipeline, const struct sample *sample)
{
	const struct entity *e = entity_get(pipeline->entities, sample->entity);
	const char *expected = "a known subject";
	if (e)
		expected = sample_scope_error(sample->metric, e);
	if (!expected)
		return true;
	pipeline->counters.refused++;
	const struct metric_info *m = metric_info(sample->metric);
	complain(&pipeline->refusal, mono_now(), LOG_WARN_, e ? e->device : "pipeline",
		"%s of port '%s' priority %d refused, expected %s", m ? m->name : "a metric",
		e ? e->port : "?", e ? e->priority : PRIO_NONE, expected);
	return false;
}

/* Decide about one sample; true when it is to be stored (as @sample then stands). What may be
 * analysed is in memory then. */
static bool pipeline_accept(struct pipeline *pipeline, struct sample *sample)
{
	if (!scope_fits(pipeline, sample))
		return false;
	struct run *run = pipeline_run_of(pipeline, sample);
	if (sample->t_ns <= run->newest_ns) {
		pipeline->counters.duplicates++;
		return false;
	}
	run->newest_ns = sample->t_ns;
	pipeline->counters.samples++;
	pipeline->counters.restarts += (sample->flags & SF_RESTART) != 0;
	pipeline->counters.suspects += (sample->flags & SF_SUSPECT) != 0;
	if (sample->t_ns <= pipeline->closed_ns)
		sample->flags |= SF_LATE;
	if (sample->flags & SF_LATE) {
		pipeline->counters.late++;
		return true;
	}
	/* never a delta across sources: they read at other instants, some other counters */
	if (run->source != SOURCE_UNKNOWN && run->source != sample->source)
		sample->flags |= SF_RESTART;
	run->source = sample->source;
	pipeline_saw(pipeline, sample->t_ns, sample->t_ns);
	pipeline->look.made = false; /* it holds pointers into memory of then */
	if (pipeline->wanted[sample->metric])
		series_memory_add(pipeline->memory, sample);
	return true;
}

static void batch_flush(struct pipeline *pipeline)
{
	if (pipeline->n_batch && pipeline->store)
		store_samples(pipeline->store, pipeline->batch, pipeline->n_batch);
	pipeline->n_batch = 0;
}

static void batch_add(struct pipeline *pipeline, const struct sample *sample)
{
	if (pipeline->priming || !pipeline->store)
		return;
	rw_grow(pipeline->batch, pipeline->n_batch, pipeline->cap_batch);
	pipeline->batch[pipeline->n_batch++] = *sample;
}

static void pipeline_on_samples(void *arg, const struct sample *samples, size_t n)
{
	struct pipeline *p = arg;
	for (size_t k = 0; k < n; k++) {
		struct sample s = samples[k];
		if (pipeline_accept(p, &s))
			batch_add(p, &s);
	}
	batch_flush(p);
}

static bool accept_flow(struct pipeline *pipeline, const struct flow_sample *flow)
{
	pipeline->counters.flows++;
	if (flow->to_ns <= pipeline->closed_ns) {
		pipeline->counters.late_flows++;
		return false;
	}
	pipeline_saw(pipeline, flow->from_ns, flow->to_ns);
	if (pipeline->want_flows)
		series_memory_add_flow(pipeline->memory, flow);
	return true;
}

static void pipeline_on_flows(void *arg, const struct flow_sample *flows, size_t n)
{
	struct pipeline *p = arg;
	size_t from = 0;
	for (size_t k = 0; k < n; k++) { /* runs of accepted rows go to the store in one piece */
		if (accept_flow(p, &flows[k]))
			continue;
		if (p->store && !p->priming && k > from)
			store_flows(p->store, flows + from, k - from);
		from = k + 1;
	}
	if (p->store && !p->priming && n > from)
		store_flows(p->store, flows + from, n - from);
}

/* ---- windows ------------------------------------------------------------- */

static int64_t first_end(const struct pipeline *pipeline, const struct lane *lane)
{
	/* a first sample on a boundary begins the window after it: for the one before it would be
	 * the only sample */
	int64_t from = pipeline->first_ns / lane->window_ns * lane->window_ns;
	if (from < pipeline->prime_from_ns)
		from = ceil_to(pipeline->prime_from_ns, lane->window_ns);
	return from + lane->window_ns;
}

/* The lane whose window ends first; lanes are sorted by name, which decides when two end together.
 * NULL before the first sample. */
static struct lane *next_lane(struct pipeline *pipeline)
{
	struct lane *best = NULL;
	if (!pipeline->begun)
		return NULL;
	for (size_t k = 0; k < pipeline->n_lanes; k++) {
		struct lane *lane = &pipeline->lanes[k];
		/* until its first window closed, an older sample may still come in */
		if (!lane->begun)
			lane->next_end_ns = first_end(pipeline, lane);
		if (!best || lane->next_end_ns < best->next_end_ns)
			best = lane;
	}
	return best;
}

static bool window_has_data(const struct window *window)
{
	for (size_t k = 0; k < window->n_series; k++) {
		if (window->series[k].n &&
			window->series[k].t_ns[window->series[k].n - 1] > window->from_ns)
			return true;
	}
	return window->n_flows > 0;
}

static void keep_finding(struct pipeline *pipeline, const struct finding *finding)
{
	if (!pipeline->store || (pipeline->priming && finding->to_ns <= pipeline->prime_known_ns))
		return;
	if (finding->verdict != FINDING_OVER && finding->verdict != FINDING_UNKNOWN)
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

/* The window (from, to] with all that the analyzers of this length read: filled once, and observed
 * once, for all of them. */
static int pipeline_look_at(struct pipeline *pipeline, int64_t from_ns, int64_t to_ns)
{
	struct look *k = &pipeline->look;
	if (k->made && k->from_ns == from_ns && k->to_ns == to_ns)
		return 0;
	uint16_t metrics[METRIC_COUNT];
	bool wanted[METRIC_COUNT] = {false}, flows = false;
	for (size_t i = 0; i < pipeline->n_lanes; i++) {
		if (pipeline->lanes[i].window_ns != to_ns - from_ns)
			continue;
		flows |= pipeline->lanes[i].analyzer->spec.flows;
		analyzer_wants(pipeline->lanes[i].analyzer, wanted);
	}
	struct window_spec spec = analyzer_spec(wanted, metrics);
	spec.flows = flows;
	arena_reset(k->arena);
	k->shared = (struct analyzer_shared){.arena = k->arena};
	k->past_ns = 0;
	k->from_ns = from_ns;
	k->to_ns = to_ns;
	const int rc =
		window_from_memory(pipeline->memory, k->arena, &spec, from_ns, to_ns, &k->window);
	k->made = rc == 0;
	return rc;
}

/* The longer look of analyzers that go back as far as this one; after pipeline_look_at(), which
 * makes room for it. */
static int look_back(struct pipeline *pipeline, const struct lane *lane)
{
	struct look *k = &pipeline->look;
	if (k->past_ns == lane->past_ns)
		return 0;
	uint16_t metrics[METRIC_COUNT];
	bool wanted[METRIC_COUNT] = {false};
	for (size_t i = 0; i < pipeline->n_lanes; i++)
		for (size_t m = 0; pipeline->lanes[i].past_ns == lane->past_ns &&
			m < pipeline->lanes[i].analyzer->past.n_metrics;
			m++)
			wanted[pipeline->lanes[i].analyzer->past.metrics[m]] = true;
	const struct window_spec spec = analyzer_spec(wanted, metrics);
	k->past_ns = lane->past_ns;
	return window_from_memory(
		pipeline->memory, k->arena, &spec, k->to_ns - lane->past_ns, k->to_ns, &k->past);
}

static void run_window(struct pipeline *pipeline, const struct lane *lane)
{
	struct finding_list found = {0};
	int64_t to = lane->next_end_ns, from = to - lane->window_ns;
	arena_reset(pipeline->turn);
	int rc = pipeline_look_at(pipeline, from, to);
	if (rc == 0 && !window_has_data(&pipeline->look.window))
		return;
	struct analyzer_in in = {.fabric = pipeline->config->fabric,
		.window = &pipeline->look.window,
		.options = lane->options,
		.interval_ns = pipeline->interval_ns,
		.arena = pipeline->turn,
		.shared = &pipeline->look.shared,
		.expected = pipeline->expected,
		.n_expected = pipeline->n_expected};
	if (rc == 0 && lane->past_ns > 0) {
		rc = look_back(pipeline, lane);
		in.past = &pipeline->look.past;
	}
	if (rc == 0)
		rc = lane->analyzer->run(&in, &found);
	pipeline->counters.windows++;
	if (rc != 0) {
		pipeline->counters.failed++;
		log_error(lane->analyzer->name,
			"window that ended at %lld s could not be analysed: %s",
			(long long)(to / NS_PER_S), strerror(-rc));
		return;
	}
	pipeline->counters.findings += found.n;
	batch_flush(pipeline); /* what a finding rests on is in the store before it */
	for (size_t k = 0; k < found.n; k++) {
		keep_finding(pipeline, &found.v[k]);
		ledger_take(pipeline->ledger, &found.v[k]);
	}
	ledger_rates(pipeline->ledger, found.jobs, found.n_jobs);
}

static void close_window(struct pipeline *pipeline, struct lane *lane)
{
	lane->begun = true;
	run_window(pipeline, lane);
	if (lane->next_end_ns > pipeline->closed_ns)
		pipeline->closed_ns = lane->next_end_ns;
	lane->next_end_ns += lane->window_ns;
}

/* Nothing newer than the window's beginning is known: this window and all that follow up to
 * @limit_ns are empty. */
static void skip_windows(struct pipeline *pipeline, struct lane *lane, int64_t limit_ns)
{
	int64_t last = limit_ns / lane->window_ns * lane->window_ns;
	lane->begun = true;
	if (last > pipeline->closed_ns)
		pipeline->closed_ns = last;
	lane->next_end_ns = last + lane->window_ns;
}

/* Close the windows that end by @limit_ns, oldest first. */
static void close_until(struct pipeline *pipeline, int64_t limit_ns)
{
	for (;;) {
		struct lane *lane = next_lane(pipeline);
		if (!lane || lane->next_end_ns > limit_ns)
			return;
		if (pipeline->newest_ns <= lane->next_end_ns - lane->window_ns)
			skip_windows(pipeline, lane, limit_ns);
		else
			close_window(pipeline, lane);
	}
}

void pipeline_advance(struct pipeline *pipeline, int64_t now_ns)
{
	pipeline->now_ns = now_ns;
	close_until(pipeline, now_ns - pipeline->interval_ns);
	if (now_ns - pipeline->trimmed_ns >=
		pipeline->interval_ns) { /* not for every sample of a replay */
		series_memory_trim(pipeline->memory, now_ns);
		pipeline->trimmed_ns = now_ns;
	}
	if (pipeline->store)
		target_table_flush(pipeline->targets, pipeline->store, now_ns);
}

void pipeline_finish(struct pipeline *pipeline)
{
	batch_flush(pipeline);
	if (pipeline->begun)
		close_until(pipeline, pipeline->newest_ns);
	if (pipeline->store)
		target_table_flush(pipeline->targets, pipeline->store, pipeline->now_ns);
}

void pipeline_expect(struct pipeline *pipeline, const struct expected_change *changes, size_t n)
{
	arena_reset(pipeline->expected_arena);
	pipeline->expected = arena_array(pipeline->expected_arena, struct expected_change, n + 1);
	pipeline->n_expected = n;
	for (size_t k = 0; k < n; k++) {
		pipeline->expected[k] = changes[k];
		pipeline->expected[k].device =
			arena_strdup(pipeline->expected_arena, changes[k].device);
	}
}

int pipeline_window(struct pipeline *pipeline, struct arena *a, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, struct window *ret)
{
	return window_from_memory(pipeline->memory, a, spec, from_ns, to_ns, ret);
}

/* ---- replay and priming -------------------------------------------------- */

void pipeline_feed(struct pipeline *pipeline, const struct sample *samples, size_t n,
	const struct flow_sample *flows, size_t n_flows)
{
	size_t k = 0, f = 0;
	while (k < n || f < n_flows) {
		bool flow_first = f < n_flows && (k == n || flows[f].to_ns <= samples[k].t_ns);
		if (flow_first) {
			pipeline_advance(pipeline, flows[f].to_ns);
			pipeline_on_flows(pipeline, &flows[f], 1);
			f++;
			continue;
		}
		pipeline_advance(pipeline, samples[k].t_ns);
		struct sample s = samples[k++];
		if (pipeline_accept(pipeline, &s))
			batch_add(pipeline, &s);
		if (pipeline->n_batch >= BATCH_MAX)
			batch_flush(pipeline);
	}
	batch_flush(pipeline);
}

void pipeline_prime_begin(struct pipeline *pipeline, int64_t from_ns, int64_t known_ns)
{
	pipeline->priming = true;
	pipeline->prime_from_ns = from_ns;
	pipeline->prime_known_ns = known_ns;
}

void pipeline_prime_end(struct pipeline *pipeline)
{
	pipeline->priming = false;
	memset(&pipeline->counters, 0,
		sizeof(pipeline->counters)); /* they count what this process did */
}

int64_t pipeline_horizon(const struct pipeline *pipeline)
{
	int64_t longest = 0;
	for (size_t k = 0; k < pipeline->n_lanes; k++) {
		const struct lane *lane = &pipeline->lanes[k];
		const struct option *o = option_find(&lane->analyzer->options, "hold");
		int64_t hold = HOLD_UNKNOWN;
		if (o && o->type == OPT_INT)
			memcpy(&hold, (const char *)lane->options + o->offset, sizeof(hold));
		/* the ledger looks at hold + 2 windows */
		int64_t wanted = (hold + 3) * lane->window_ns;
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

/* ---- what else collectors tell ------------------------------------------- */

static void pipeline_on_target(void *arg, const struct target *target)
{
	struct pipeline *p = arg;
	if (p->store)
		target_table_take(p->targets, p->store, target, p->now_ns);
}

static void pipeline_on_device(
	void *arg, const char *device, const char *profile, const char *sysname, const char *descr)
{
	struct pipeline *p = arg;
	const struct fabric_device *d = fabric_device(p->config->fabric, device);
	if (p->store)
		store_device(p->store,
			&(struct store_device){.name = device,
				.role = d ? device_role_name(d->role) : NULL,
				.profile = profile,
				.sysname = sysname,
				.descr = descr,
				.t_ns = p->now_ns});
}

static struct peer *pipeline_peer_of(
	struct pipeline *pipeline, const char *device, const char *port, bool make)
{
	rw_cleanup(str_done) struct str key = {0};
	uint64_t at;
	str_addn(&key, device, strlen(device) + 1);
	str_add(&key, port);
	if (smap_get(pipeline->peer_index, key.s, key.n, &at))
		return &pipeline->peers[at];
	if (!make)
		return NULL;
	smap_put(pipeline->peer_index, key.s, key.n, pipeline->n_peers);
	rw_grow(pipeline->peers, pipeline->n_peers, pipeline->cap_peers);
	pipeline->peers[pipeline->n_peers] = (struct peer){0};
	return &pipeline->peers[pipeline->n_peers++];
}

static void keep_port(struct pipeline *pipeline, const char *device, const char *port,
	const char *alias, uint64_t speed_bps, int64_t t_ns)
{
	const struct fabric_device *d = fabric_device(pipeline->config->fabric, device);
	const struct fabric_port *known = NULL;
	if (d)
		known = fabric_port(d, port);
	struct store_port row = {.device = device,
		.port = port,
		.alias = alias,
		.speed_bps = speed_bps,
		.t_ns = t_ns};
	char host[256];
	const struct peer *heard = pipeline_peer_of(pipeline, device, port, false);
	if (heard) {
		row.peer_device = heard->device;
		row.peer_port = heard->port;
	} else if (known && known->peer) {
		row.peer_device = known->peer->device->name;
		row.peer_port = known->peer->name;
	} else if (known && known->host) {
		snprintf(host, sizeof(host), "host:%s", known->host);
		row.peer_device = host;
		row.peer_port = known->host_nic;
	}
	store_port(pipeline->store, &row);
}

static void pipeline_on_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps)
{
	struct pipeline *p = arg;
	if (p->store)
		keep_port(p, device, port, alias, speed_bps, p->now_ns);
}

void pipeline_peer(struct pipeline *pipeline, const char *device, const char *port,
	const char *peer_device, const char *peer_port, int64_t t_ns)
{
	struct peer *heard = pipeline_peer_of(pipeline, device, port, true);
	free(heard->device);
	free(heard->port);
	heard->device = rw_strdup(peer_device);
	heard->port = rw_strdup(peer_port);
	if (pipeline->store)
		keep_port(pipeline, device, port, NULL, 0, t_ns);
}

static void pipeline_on_neighbors(void *arg, const struct topology_device *self,
	const struct topology_neighbor *heard, size_t n)
{
	struct pipeline *p = arg;
	p->neighbors(p->neighbors_arg, self, heard, n);
}

void pipeline_listen(struct pipeline *pipeline,
	void (*neighbors)(void *arg, const struct topology_device *self,
		const struct topology_neighbor *heard, size_t n),
	void *arg)
{
	pipeline->neighbors = neighbors;
	pipeline->neighbors_arg = arg;
	if (neighbors)
		pipeline->sink.neighbors = pipeline_on_neighbors;
	else
		pipeline->sink.neighbors = NULL;
}

static void pipeline_on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
	struct pipeline *p = arg;
	if (p->store)
		store_device_event(p->store, t_ns, kind, device, port && *port ? port : NULL,
			str_or(text, ""));
}

void pipeline_announce(struct pipeline *pipeline, int64_t t_ns)
{
	const struct fabric *f = pipeline->config->fabric;
	if (t_ns > pipeline->now_ns)
		/* what is heard before the first advance is not older than this */
		pipeline->now_ns = t_ns;
	if (!pipeline->store)
		return;
	for (size_t k = 0; k < f->n_devices; k++) {
		const struct fabric_device *d = f->devices[k];
		store_device(pipeline->store,
			&(struct store_device){
				.name = d->name, .role = device_role_name(d->role), .t_ns = t_ns});
		for (size_t n = 0; n < d->n_ports; n++)
			keep_port(pipeline, d->name, d->ports[n]->name, d->ports[n]->alias,
				d->ports[n]->speed_bps, t_ns);
	}
}

void incident_store(void *store, const struct incident *incident, enum incident_state from)
{
	if (!store)
		return;
	rw_cleanup(freep) char *json = json_dumps(incident->json, JSON_COMPACT);
	store_incident(store,
		&(struct store_incident){
			.id = incident->id,
			.cause = cause_name(incident->cause),
			.severity = severity_name(incident->severity),
			.state = incident_state_name(incident->state),
			.device = incident->device,
			.port = incident->port,
			.group = incident->group,
			.host = incident->host,
			.summary = incident->summary,
			.json = json,
			.priority = incident->priority,
			.opened_ns = incident->opened_ns,
			.closed_ns = incident->closed_ns,
			.updated_ns = incident->updated_ns,
			.usd_per_hour = incident->usd_per_hour,
			.usd_total = incident->usd_total,
			.confidence = incident->confidence_ratio,
			.acked_by = incident->acked_by,
		});
	if (incident->note)
		store_event(store, incident->note_ns, "incident", incident->id, "", incident->note);
}

/* ---- life ---------------------------------------------------------------- */

static int lane_compare(const void *left, const void *right)
{
	return strcmp(((const struct lane *)left)->analyzer->name,
		((const struct lane *)right)->analyzer->name);
}

struct pipeline *pipeline_new(const struct config *config, struct entities *entities,
	struct store *store, struct ledger *ledger)
{
	struct pipeline *p = rw_calloc(1, sizeof(*p));
	p->entities = entities;
	p->store = store;
	p->ledger = ledger;
	p->closed_ns = p->trimmed_ns = INT64_MIN / 2;
	p->turn = arena_new();
	p->expected_arena = arena_new();
	p->look.arena = arena_new();
	p->run_index = series_index_new();
	p->peer_index = smap_new();
	p->targets = target_table_new();
	p->sink = (struct sink){.arg = p,
		.samples = pipeline_on_samples,
		.flows = pipeline_on_flows,
		.target = pipeline_on_target,
		.device = pipeline_on_device,
		.port = pipeline_on_port,
		.event = pipeline_on_event};
	while (analyzers[p->n_lanes])
		p->n_lanes++;
	p->lanes = rw_calloc(p->n_lanes + 1, sizeof(*p->lanes));
	for (size_t k = 0; k < p->n_lanes; k++) {
		p->lanes[k].analyzer = analyzers[k];
		pipeline_want(p, &analyzers[k]->spec);
		pipeline_want(p, &analyzers[k]->past);
		if (analyzers[k]->observes)
			pipeline_want(p,
				&(struct window_spec){.metrics = observe_metrics,
					.n_metrics = observe_n_metrics});
	}
	qsort(p->lanes, p->n_lanes, sizeof(*p->lanes), lane_compare);
	pipeline_configure(p, config);
	p->memory = series_memory_new(entities, keep_ns(p));
	keep_past(p);
	return p;
}

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	series_memory_free(pipeline->memory);
	target_table_free(pipeline->targets);
	arena_free(pipeline->turn);
	arena_free(pipeline->expected_arena);
	arena_free(pipeline->look.arena);
	series_index_free(pipeline->run_index);
	smap_free(pipeline->peer_index);
	for (size_t k = 0; k < pipeline->n_peers; k++) {
		free(pipeline->peers[k].device);
		free(pipeline->peers[k].port);
	}
	free(pipeline->peers);
	free(pipeline->runs);
	free(pipeline->lanes);
	free(pipeline->batch);
	free(pipeline);
}

void pipeline_reload(struct pipeline *pipeline, const struct config *config)
{
	pipeline_configure(pipeline, config);
	series_memory_keep(pipeline->memory, keep_ns(pipeline));
	keep_past(pipeline);
}

const struct sink *pipeline_sink(struct pipeline *pipeline)
{
	return &pipeline->sink;
}
const struct pipeline_counters *pipeline_counters(const struct pipeline *pipeline)
{
	return &pipeline->counters;
}
