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

static int64_t config_interval(const struct config *c)
{
	int64_t longest = 0;
	for (size_t k = 0; k < c->n_devices; k++) {
		const struct config_device *d = &c->devices[k];
		if (d->snmp && d->snmp->interval_ns > longest)
			longest = d->snmp->interval_ns;
		if (d->gnmi && d->gnmi->interval_ns > longest)
			longest = d->gnmi->interval_ns;
	}
	if (longest == 0)
		longest = c->defaults.interval_ns;
	return longest > 0 ? longest : 10 * NS_PER_S;
}

static int64_t ceil_to(int64_t t, int64_t step)
{
	return (t + step - 1) / step * step;
}

static void configure(struct pipeline *p, const struct config *c)
{
	p->config = c;
	p->interval_ns = config_interval(c);
	p->longest_ns = p->past_ns = 0;
	for (size_t k = 0; k < p->n_lanes; k++) {
		struct lane *lane = &p->lanes[k];
		const void *options = config_options(c, "analyzers", lane->analyzer->name);
		assert(options); /* module_tables() lists every analyzer */
		const int64_t window_ns = analyzer_window(lane->analyzer, options, p->interval_ns);
		if (lane->begun && window_ns != lane->window_ns)
			lane->next_end_ns =
				ceil_to(lane->next_end_ns - lane->window_ns, window_ns) + window_ns;
		lane->options = options;
		lane->window_ns = window_ns;
		lane->past_ns = analyzer_past(lane->analyzer, options, p->interval_ns);
		if (lane->past_ns > p->past_ns)
			p->past_ns = lane->past_ns;
		if (window_ns > p->longest_ns)
			p->longest_ns = window_ns;
	}
}

/* The longest window, the interval it waits after its end, and two more for a loop that was held
 * up. */
static int64_t keep_ns(const struct pipeline *p)
{
	return p->longest_ns + 3 * p->interval_ns;
}

/* What analyzers look back at stays longer: the metrics of their past, no others. */
static void keep_past(struct pipeline *p)
{
	int64_t keep[METRIC_COUNT] = {0};
	for (size_t k = 0; k < p->n_lanes; k++) {
		const struct window_spec *past = &p->lanes[k].analyzer->past;
		const int64_t wanted = p->lanes[k].past_ns + 3 * p->interval_ns;
		for (size_t m = 0; m < past->n_metrics; m++)
			keep[past->metrics[m]] =
				wanted > keep[past->metrics[m]] ? wanted : keep[past->metrics[m]];
	}
	p->n_past_metrics = 0;
	for (uint16_t m = 0; m < METRIC_COUNT; m++) {
		series_memory_keep_metric(p->memory, m, keep[m]);
		if (keep[m])
			p->past_metrics[p->n_past_metrics++] = m;
	}
}

static void want(struct pipeline *p, const struct window_spec *spec)
{
	p->want_flows = p->want_flows || spec->flows;
	for (size_t k = 0; k < spec->n_metrics; k++) {
		uint16_t m = spec->metrics[k];
		assert(m < METRIC_COUNT);
		if (!p->wanted[m])
			p->metrics[p->n_metrics++] = m;
		p->wanted[m] = true;
	}
}

/* ---- intake -------------------------------------------------------------- */

static struct run *run_of(struct pipeline *p, const struct sample *s)
{
	bool fresh;
	uint32_t at = series_index_at(p->run_index, s->entity, s->metric, &fresh);
	if (fresh) {
		rw_grow(p->runs, p->n_runs, p->cap_runs);
		p->runs[p->n_runs++] =
			(struct run){.newest_ns = INT64_MIN, .source = SOURCE_UNKNOWN};
	}
	return &p->runs[at];
}

static void saw(struct pipeline *p, int64_t first_ns, int64_t newest_ns)
{
	if (!p->begun || first_ns < p->first_ns)
		p->first_ns = first_ns;
	if (!p->begun || newest_ns > p->newest_ns)
		p->newest_ns = newest_ns;
	p->begun = true;
}

static bool scope_fits(struct pipeline *p, const struct sample *s)
{
	const struct entity *e = entity_get(p->entities, s->entity);
	const char *expected = e ? sample_scope_error(s->metric, e) : "a known subject";
	if (!expected)
		return true;
	p->counters.refused++;
	const struct metric_info *m = metric_info(s->metric);
	complain(&p->refusal, mono_now(), LOG_WARN_, e ? e->device : "pipeline",
		"%s of port '%s' priority %d refused, expected %s", m ? m->name : "a metric",
		e ? e->port : "?", e ? e->priority : PRIO_NONE, expected);
	return false;
}

/* Decide about one sample; true when it is to be stored (as @s then stands). What may be analysed
 * is in memory then. */
static bool accept(struct pipeline *p, struct sample *s)
{
	if (!scope_fits(p, s))
		return false;
	struct run *run = run_of(p, s);
	if (s->t_ns <= run->newest_ns) {
		p->counters.duplicates++;
		return false;
	}
	run->newest_ns = s->t_ns;
	p->counters.samples++;
	p->counters.restarts += (s->flags & SF_RESTART) != 0;
	p->counters.suspects += (s->flags & SF_SUSPECT) != 0;
	if (s->t_ns <= p->closed_ns)
		s->flags |= SF_LATE;
	if (s->flags & SF_LATE) {
		p->counters.late++;
		return true;
	}
	/* never a delta across sources: they read at other instants, some other counters */
	if (run->source != SOURCE_UNKNOWN && run->source != s->source)
		s->flags |= SF_RESTART;
	run->source = s->source;
	saw(p, s->t_ns, s->t_ns);
	p->look.made = false; /* it holds pointers into memory of then */
	if (p->wanted[s->metric])
		series_memory_add(p->memory, s);
	return true;
}

static void batch_flush(struct pipeline *p)
{
	if (p->n_batch && p->store)
		store_samples(p->store, p->batch, p->n_batch);
	p->n_batch = 0;
}

static void batch_add(struct pipeline *p, const struct sample *s)
{
	if (p->priming || !p->store)
		return;
	rw_grow(p->batch, p->n_batch, p->cap_batch);
	p->batch[p->n_batch++] = *s;
}

static void on_samples(void *arg, const struct sample *v, size_t n)
{
	struct pipeline *p = arg;
	for (size_t k = 0; k < n; k++) {
		struct sample s = v[k];
		if (accept(p, &s))
			batch_add(p, &s);
	}
	batch_flush(p);
}

static bool accept_flow(struct pipeline *p, const struct flow_sample *f)
{
	p->counters.flows++;
	if (f->to_ns <= p->closed_ns) {
		p->counters.late_flows++;
		return false;
	}
	saw(p, f->from_ns, f->to_ns);
	if (p->want_flows)
		series_memory_add_flow(p->memory, f);
	return true;
}

static void on_flows(void *arg, const struct flow_sample *v, size_t n)
{
	struct pipeline *p = arg;
	size_t from = 0;
	for (size_t k = 0; k < n; k++) { /* runs of accepted rows go to the store in one piece */
		if (accept_flow(p, &v[k]))
			continue;
		if (p->store && !p->priming && k > from)
			store_flows(p->store, v + from, k - from);
		from = k + 1;
	}
	if (p->store && !p->priming && n > from)
		store_flows(p->store, v + from, n - from);
}

/* ---- windows ------------------------------------------------------------- */

static int64_t first_end(const struct pipeline *p, const struct lane *lane)
{
	/* a first sample on a boundary begins the window after it: for the one before it would be
	 * the only sample */
	int64_t from = p->first_ns / lane->window_ns * lane->window_ns;
	if (from < p->prime_from_ns)
		from = ceil_to(p->prime_from_ns, lane->window_ns);
	return from + lane->window_ns;
}

/* The lane whose window ends first; lanes are sorted by name, which decides when two end together.
 * NULL before the first sample. */
static struct lane *next_lane(struct pipeline *p)
{
	struct lane *best = NULL;
	if (!p->begun)
		return NULL;
	for (size_t k = 0; k < p->n_lanes; k++) {
		struct lane *lane = &p->lanes[k];
		/* until its first window closed, an older sample may still come in */
		if (!lane->begun)
			lane->next_end_ns = first_end(p, lane);
		if (!best || lane->next_end_ns < best->next_end_ns)
			best = lane;
	}
	return best;
}

static bool window_has_data(const struct window *w)
{
	for (size_t k = 0; k < w->n_series; k++) {
		if (w->series[k].n && w->series[k].t_ns[w->series[k].n - 1] > w->from_ns)
			return true;
	}
	return w->n_flows > 0;
}

static void keep_finding(struct pipeline *p, const struct finding *f)
{
	if (!p->store || (p->priming && f->to_ns <= p->prime_known_ns))
		return;
	if (f->verdict != FINDING_OVER && f->verdict != FINDING_UNKNOWN)
		return;
	store_finding(p->store,
		&(struct store_finding){
			.from_ns = f->from_ns,
			.to_ns = f->to_ns,
			.analyzer = f->analyzer,
			.cause = f->cause,
			.verdict = finding_verdict_name(f->verdict),
			.severity = severity_name(f->severity),
			.device = f->device,
			.port = f->port,
			.group = f->group,
			.host = f->host,
			.summary = f->summary,
			.priority = f->priority,
			.value = f->value,
			.warn = f->warn,
			.confidence = f->confidence_ratio,
		});
	if (f->event && f->verdict == FINDING_OVER)
		store_device_event(p->store, f->event_ns, f->event, f->device, f->port, f->summary);
}

/* The window (from, to] with all that the analyzers of this length read: filled once, and observed
 * once, for all of them. */
static int look_at(struct pipeline *p, int64_t from_ns, int64_t to_ns)
{
	struct look *k = &p->look;
	if (k->made && k->from_ns == from_ns && k->to_ns == to_ns)
		return 0;
	uint16_t metrics[METRIC_COUNT];
	bool wanted[METRIC_COUNT] = {false}, flows = false;
	for (size_t i = 0; i < p->n_lanes; i++) {
		if (p->lanes[i].window_ns != to_ns - from_ns)
			continue;
		flows |= p->lanes[i].analyzer->spec.flows;
		analyzer_wants(p->lanes[i].analyzer, wanted);
	}
	struct window_spec spec = analyzer_spec(wanted, metrics);
	spec.flows = flows;
	arena_reset(k->arena);
	k->shared = (struct analyzer_shared){.arena = k->arena};
	k->past_ns = 0;
	k->from_ns = from_ns;
	k->to_ns = to_ns;
	const int rc = window_from_memory(p->memory, k->arena, &spec, from_ns, to_ns, &k->window);
	k->made = rc == 0;
	return rc;
}

/* The longer look of analyzers that go back as far as this one; after look_at(), which makes room
 * for it. */
static int look_back(struct pipeline *p, const struct lane *lane)
{
	struct look *k = &p->look;
	if (k->past_ns == lane->past_ns)
		return 0;
	uint16_t metrics[METRIC_COUNT];
	bool wanted[METRIC_COUNT] = {false};
	for (size_t i = 0; i < p->n_lanes; i++)
		for (size_t m = 0; p->lanes[i].past_ns == lane->past_ns &&
			m < p->lanes[i].analyzer->past.n_metrics;
			m++)
			wanted[p->lanes[i].analyzer->past.metrics[m]] = true;
	const struct window_spec spec = analyzer_spec(wanted, metrics);
	k->past_ns = lane->past_ns;
	return window_from_memory(
		p->memory, k->arena, &spec, k->to_ns - lane->past_ns, k->to_ns, &k->past);
}

static void run_window(struct pipeline *p, const struct lane *lane)
{
	struct finding_list found = {0};
	int64_t to = lane->next_end_ns, from = to - lane->window_ns;
	arena_reset(p->turn);
	int rc = look_at(p, from, to);
	if (rc == 0 && !window_has_data(&p->look.window))
		return;
	struct analyzer_in in = {.fabric = p->config->fabric,
		.window = &p->look.window,
		.options = lane->options,
		.interval_ns = p->interval_ns,
		.arena = p->turn,
		.shared = &p->look.shared,
		.expected = p->expected,
		.n_expected = p->n_expected};
	if (rc == 0 && lane->past_ns > 0) {
		rc = look_back(p, lane);
		in.past = &p->look.past;
	}
	if (rc == 0)
		rc = lane->analyzer->run(&in, &found);
	p->counters.windows++;
	if (rc != 0) {
		p->counters.failed++;
		log_error(lane->analyzer->name,
			"window that ended at %lld s could not be analysed: %s",
			(long long)(to / NS_PER_S), strerror(-rc));
		return;
	}
	p->counters.findings += found.n;
	batch_flush(p); /* what a finding rests on is in the store before it */
	for (size_t k = 0; k < found.n; k++) {
		keep_finding(p, &found.v[k]);
		ledger_take(p->ledger, &found.v[k]);
	}
	ledger_rates(p->ledger, found.jobs, found.n_jobs);
}

static void close_window(struct pipeline *p, struct lane *lane)
{
	lane->begun = true;
	run_window(p, lane);
	if (lane->next_end_ns > p->closed_ns)
		p->closed_ns = lane->next_end_ns;
	lane->next_end_ns += lane->window_ns;
}

/* Nothing newer than the window's beginning is known: this window and all that follow up to
 * @limit_ns are empty. */
static void skip_windows(struct pipeline *p, struct lane *lane, int64_t limit_ns)
{
	int64_t last = limit_ns / lane->window_ns * lane->window_ns;
	lane->begun = true;
	if (last > p->closed_ns)
		p->closed_ns = last;
	lane->next_end_ns = last + lane->window_ns;
}

/* Close the windows that end by @limit_ns, oldest first. */
static void close_until(struct pipeline *p, int64_t limit_ns)
{
	for (;;) {
		struct lane *lane = next_lane(p);
		if (!lane || lane->next_end_ns > limit_ns)
			return;
		if (p->newest_ns <= lane->next_end_ns - lane->window_ns)
			skip_windows(p, lane, limit_ns);
		else
			close_window(p, lane);
	}
}

void pipeline_advance(struct pipeline *p, int64_t now_ns)
{
	p->now_ns = now_ns;
	close_until(p, now_ns - p->interval_ns);
	if (now_ns - p->trimmed_ns >= p->interval_ns) { /* not for every sample of a replay */
		series_memory_trim(p->memory, now_ns);
		p->trimmed_ns = now_ns;
	}
	if (p->store)
		target_table_flush(p->targets, p->store, now_ns);
}

void pipeline_finish(struct pipeline *p)
{
	batch_flush(p);
	if (p->begun)
		close_until(p, p->newest_ns);
	if (p->store)
		target_table_flush(p->targets, p->store, p->now_ns);
}

void pipeline_expect(struct pipeline *p, const struct expected_change *v, size_t n)
{
	arena_reset(p->expected_arena);
	p->expected = arena_array(p->expected_arena, struct expected_change, n + 1);
	p->n_expected = n;
	for (size_t k = 0; k < n; k++) {
		p->expected[k] = v[k];
		p->expected[k].device = arena_strdup(p->expected_arena, v[k].device);
	}
}

int pipeline_window(struct pipeline *p, struct arena *a, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, struct window *ret)
{
	return window_from_memory(p->memory, a, spec, from_ns, to_ns, ret);
}

/* ---- replay and priming -------------------------------------------------- */

void pipeline_feed(struct pipeline *p, const struct sample *v, size_t n,
	const struct flow_sample *flows, size_t n_flows)
{
	size_t k = 0, f = 0;
	while (k < n || f < n_flows) {
		bool flow_first = f < n_flows && (k == n || flows[f].to_ns <= v[k].t_ns);
		if (flow_first) {
			pipeline_advance(p, flows[f].to_ns);
			on_flows(p, &flows[f], 1);
			f++;
			continue;
		}
		pipeline_advance(p, v[k].t_ns);
		struct sample s = v[k++];
		if (accept(p, &s))
			batch_add(p, &s);
		if (p->n_batch >= BATCH_MAX)
			batch_flush(p);
	}
	batch_flush(p);
}

void pipeline_prime_begin(struct pipeline *p, int64_t from_ns, int64_t known_ns)
{
	p->priming = true;
	p->prime_from_ns = from_ns;
	p->prime_known_ns = known_ns;
}

void pipeline_prime_end(struct pipeline *p)
{
	p->priming = false;
	memset(&p->counters, 0, sizeof(p->counters)); /* they count what this process did */
}

int64_t pipeline_horizon(const struct pipeline *p)
{
	int64_t longest = 0;
	for (size_t k = 0; k < p->n_lanes; k++) {
		const struct lane *lane = &p->lanes[k];
		const struct option *o = option_find(&lane->analyzer->options, "hold");
		int64_t hold = HOLD_UNKNOWN;
		if (o && o->type == OPT_INT)
			memcpy(&hold, (const char *)lane->options + o->offset, sizeof(hold));
		/* the ledger looks at hold + 2 windows */
		int64_t wanted = (hold + 3) * lane->window_ns;
		longest = wanted > longest ? wanted : longest;
	}
	return longest;
}

int64_t pipeline_past(const struct pipeline *p, const uint16_t **ret, size_t *ret_n)
{
	*ret = p->past_metrics;
	*ret_n = p->n_past_metrics;
	return p->past_ns;
}

size_t pipeline_metrics(const struct pipeline *p, const uint16_t **ret)
{
	*ret = p->metrics;
	return p->n_metrics;
}

/* ---- what else collectors tell ------------------------------------------- */

static void on_target(void *arg, const struct target *t)
{
	struct pipeline *p = arg;
	if (p->store)
		target_table_take(p->targets, p->store, t, p->now_ns);
}

static void on_device(
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

static struct peer *peer_of(struct pipeline *p, const char *device, const char *port, bool make)
{
	rw_cleanup(str_done) struct str key = {0};
	uint64_t at;
	str_addn(&key, device, strlen(device) + 1);
	str_add(&key, port);
	if (smap_get(p->peer_index, key.s, key.n, &at))
		return &p->peers[at];
	if (!make)
		return NULL;
	smap_put(p->peer_index, key.s, key.n, p->n_peers);
	rw_grow(p->peers, p->n_peers, p->cap_peers);
	p->peers[p->n_peers] = (struct peer){0};
	return &p->peers[p->n_peers++];
}

static void keep_port(struct pipeline *p, const char *device, const char *port, const char *alias,
	uint64_t speed_bps, int64_t t_ns)
{
	const struct fabric_device *d = fabric_device(p->config->fabric, device);
	const struct fabric_port *known = d ? fabric_port(d, port) : NULL;
	struct store_port row = {.device = device,
		.port = port,
		.alias = alias,
		.speed_bps = speed_bps,
		.t_ns = t_ns};
	char host[256];
	const struct peer *heard = peer_of(p, device, port, false);
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
	store_port(p->store, &row);
}

static void on_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps)
{
	struct pipeline *p = arg;
	if (p->store)
		keep_port(p, device, port, alias, speed_bps, p->now_ns);
}

void pipeline_peer(struct pipeline *p, const char *device, const char *port,
	const char *peer_device, const char *peer_port, int64_t t_ns)
{
	struct peer *heard = peer_of(p, device, port, true);
	free(heard->device);
	free(heard->port);
	heard->device = rw_strdup(peer_device);
	heard->port = rw_strdup(peer_port);
	if (p->store)
		keep_port(p, device, port, NULL, 0, t_ns);
}

static void on_neighbors(void *arg, const struct topology_device *self,
	const struct topology_neighbor *heard, size_t n)
{
	struct pipeline *p = arg;
	p->neighbors(p->neighbors_arg, self, heard, n);
}

void pipeline_listen(struct pipeline *p,
	void (*neighbors)(void *arg, const struct topology_device *self,
		const struct topology_neighbor *heard, size_t n),
	void *arg)
{
	p->neighbors = neighbors;
	p->neighbors_arg = arg;
	p->sink.neighbors = neighbors ? on_neighbors : NULL;
}

static void on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
	struct pipeline *p = arg;
	if (p->store)
		store_device_event(p->store, t_ns, kind, device, port && *port ? port : NULL,
			text ? text : "");
}

void pipeline_announce(struct pipeline *p, int64_t t_ns)
{
	const struct fabric *f = p->config->fabric;
	if (t_ns > p->now_ns)
		/* what is heard before the first advance is not older than this */
		p->now_ns = t_ns;
	if (!p->store)
		return;
	for (size_t k = 0; k < f->n_devices; k++) {
		const struct fabric_device *d = f->devices[k];
		store_device(p->store,
			&(struct store_device){
				.name = d->name, .role = device_role_name(d->role), .t_ns = t_ns});
		for (size_t n = 0; n < d->n_ports; n++)
			keep_port(p, d->name, d->ports[n]->name, d->ports[n]->alias,
				d->ports[n]->speed_bps, t_ns);
	}
}

void incident_store(void *store, const struct incident *i, enum incident_state from)
{
	if (!store)
		return;
	rw_cleanup(freep) char *json = json_dumps(i->json, JSON_COMPACT);
	store_incident(store,
		&(struct store_incident){
			.id = i->id,
			.cause = i->cause,
			.severity = severity_name(i->severity),
			.state = incident_state_name(i->state),
			.device = i->device,
			.port = i->port,
			.group = i->group,
			.host = i->host,
			.summary = i->summary,
			.json = json,
			.priority = i->priority,
			.opened_ns = i->opened_ns,
			.closed_ns = i->closed_ns,
			.updated_ns = i->updated_ns,
			.usd_per_hour = i->usd_per_hour,
			.usd_total = i->usd_total,
			.confidence = i->confidence_ratio,
			.acked_by = i->acked_by,
		});
	if (i->note)
		store_event(store, i->note_ns, "incident", i->id, "", i->note);
}

/* ---- life ---------------------------------------------------------------- */

static int lane_compare(const void *a, const void *b)
{
	return strcmp(
		((const struct lane *)a)->analyzer->name, ((const struct lane *)b)->analyzer->name);
}

struct pipeline *pipeline_new(const struct config *c, struct entities *entities,
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
		.samples = on_samples,
		.flows = on_flows,
		.target = on_target,
		.device = on_device,
		.port = on_port,
		.event = on_event};
	while (analyzers[p->n_lanes])
		p->n_lanes++;
	p->lanes = rw_calloc(p->n_lanes + 1, sizeof(*p->lanes));
	for (size_t k = 0; k < p->n_lanes; k++) {
		p->lanes[k].analyzer = analyzers[k];
		want(p, &analyzers[k]->spec);
		want(p, &analyzers[k]->past);
		if (analyzers[k]->observes)
			want(p,
				&(struct window_spec){.metrics = observe_metrics,
					.n_metrics = observe_n_metrics});
	}
	qsort(p->lanes, p->n_lanes, sizeof(*p->lanes), lane_compare);
	configure(p, c);
	p->memory = series_memory_new(entities, keep_ns(p));
	keep_past(p);
	return p;
}

void pipeline_free(struct pipeline *p)
{
	if (!p)
		return;
	series_memory_free(p->memory);
	target_table_free(p->targets);
	arena_free(p->turn);
	arena_free(p->expected_arena);
	arena_free(p->look.arena);
	series_index_free(p->run_index);
	smap_free(p->peer_index);
	for (size_t k = 0; k < p->n_peers; k++) {
		free(p->peers[k].device);
		free(p->peers[k].port);
	}
	free(p->peers);
	free(p->runs);
	free(p->lanes);
	free(p->batch);
	free(p);
}

void pipeline_reload(struct pipeline *p, const struct config *c)
{
	configure(p, c);
	series_memory_keep(p->memory, keep_ns(p));
	keep_past(p);
}

const struct sink *pipeline_sink(struct pipeline *p)
{
	return &p->sink;
}
const struct pipeline_counters *pipeline_counters(const struct pipeline *p)
{
	return &p->counters;
}
