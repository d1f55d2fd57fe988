/*
 * pause_spread - pause between switches without a single origin: the cause is unknown, and the
 * finding lists the counters that are missing to know it.
 *
 * Where pause_graph accepts a root (at least 40 % of the pressure and three times the next one),
 * another detector reports it: a host pause_storm, a queue congestion, a ring deadlock. The rest is
 * diffuse: one finding per priority, for all such trees together.
 */

#include "analyzers/analyzer.h"
#include "analyzers/detect/pause_finding.h"
#include "analyzers/measure/congestion_measure.h"
#include "analyzers/measure/pause/pause_limits.h"
#include "config/class_policy.h"

/* factor of the warning for an upper bound: most pauses are lifted long before their frame expires
 */
#define BOUND_TIMES 5
#define MUCH 5 /* times the warning from which it is more than information */
/* Times the pause that the next switch causes, from which one switch is named. */
#define PAUSES_MOST 2.0
#define WIDE 3 /* paused switches from which it is more than information (L3) */
enum { ROOTS_SHOWN = 3 };

struct pause_spread_options {
	double warn;
	int64_t window_ns, hold;
};
static const struct option rows[] = {
	{"warn", OPT_RATIO, offsetof(struct pause_spread_options, warn), "1%", "0%", "100%", NULL,
		"share of time that a switch pauses another, from which pressure without a clear "
		"origin is reported"},
	{"window", OPT_DURATION, offsetof(struct pause_spread_options, window_ns), "0s", "0s", "1h",
		NULL, "evaluation window; 0 = three poll intervals, at least 5 s"},
	{"hold", OPT_INT, offsetof(struct pause_spread_options, hold), "3", "1", "10000", NULL,
		"required windows, of the last hold + 2, before an incident opens"},
};

struct diffuse { /* of one priority */
	const struct analyzer_in *in;
	const struct observed *o;
	const struct pause_graph *g;
	int priority;
	double warn;
	bool *origin_known; /* [tree] */
	const struct pause_edge *worst; /* NULL: nothing above the warning */
	/* between switches, above the warning, in trees of unknown origin */
	const struct pause_edge **edges;
	size_t n;
	size_t n_switches, n_hosts;
	double pressure;
	/* the switch that pauses most, when it pauses twice as much as the next; NULL */
	const struct device_seen *loudest;
	double loudest_share; /* of all pause of the priority between switches and of hosts */
	bool measured, judged; /* judged: some pause counter of the priority is known */
};

static double warn_for(const struct diffuse *diffuse, bool measured)
{
	return fmin(0.95, diffuse->warn * (measured ? 1 : BOUND_TIMES));
}

static void known_origins(struct diffuse *diffuse)
{
	for (size_t i = 0; i < diffuse->g->n_roots; i++)
		if (diffuse->g->roots[i].priority == diffuse->priority &&
			diffuse->g->roots[i].clear)
			diffuse->origin_known[diffuse->g->roots[i].tree] = true;
	for (size_t i = 0; i < diffuse->g->n_cycles; i++)
		if (diffuse->g->cycles[i].priority == diffuse->priority)
			diffuse->origin_known[diffuse->g->cycles[i].edges[0]->tree] = true;
}

/* Measured pause comes before upper bounds. */
static double edge_rank(const struct pause_edge *edge)
{
	if (edge->measured)
		return 2 + edge_level(edge);
	return edge_level(edge);
}

static void pause_spread_gather(struct diffuse *diffuse)
{
	bool *seen = arena_array(diffuse->in->arena, bool, diffuse->o->n_devices + 1);
	diffuse->edges =
		arena_array(diffuse->in->arena, const struct pause_edge *, diffuse->g->n_edges + 1);
	for (size_t i = 0; i < diffuse->g->n_edges; i++) {
		const struct pause_edge *e = &diffuse->g->edges[i];
		if (e->priority != diffuse->priority || !e->by || diffuse->origin_known[e->tree] ||
			edge_level(e) < warn_for(diffuse, e->measured))
			continue;
		if (!e->at) {
			diffuse->n_hosts += !edge_outsider(e);
			continue;
		}
		diffuse->edges[diffuse->n++] = e;
		diffuse->pressure += edge_level(e);
		if (!diffuse->worst || edge_rank(e) > edge_rank(diffuse->worst))
			diffuse->worst = e;
		diffuse->n_switches += !seen[e->at->device->device->index];
		seen[e->at->device->device->index] = true;
	}
	diffuse->measured = diffuse->worst && diffuse->worst->measured;
	for (size_t i = 0; i < diffuse->o->n_prios && !diffuse->judged; i++)
		diffuse->judged = diffuse->o->prios[i]->priority == diffuse->priority &&
			diffuse->o->prios[i]->rx_pause.alive &&
			!isnan(diffuse->o->prios[i]->rx_pause.hi);
	for (size_t i = 0; i < diffuse->o->n_prios && !diffuse->judged; i++)
		diffuse->judged = diffuse->o->prios[i]->priority == diffuse->priority &&
			diffuse->o->prios[i]->tx_pause.alive &&
			!isnan(diffuse->o->prios[i]->tx_pause.hi);
}

/* Pause that an edge stands for. Frames have no ceiling here, so that two switches that both pause
 * all the time by their upper bounds can still be compared. */
static double spread_strength(const struct diffuse *diffuse, const struct pause_edge *edge)
{
	const struct port_prio *by = observed_prio(edge->by, diffuse->priority);
	double level = NAN;
	if (by)
		level = tx_level(by);
	if (isnan(level) && edge->at) {
		const struct port_prio *at = observed_prio(edge->at, diffuse->priority);
		if (at)
			level = rx_level(at);
	}
	if (isnan(level))
		return edge_level(edge);
	return level;
}

/* Is there one switch that causes most of it? By what it makes its neighbours wait. */
static void pause_spread_find_loudest(struct diffuse *diffuse)
{
	double *sum = arena_array(diffuse->in->arena, double, diffuse->o->n_devices + 1);
	double all = 0, most = 0, second = 0;
	for (size_t i = 0; i < diffuse->g->n_edges; i++) {
		const struct pause_edge *e = &diffuse->g->edges[i];
		if (e->priority != diffuse->priority || !e->by || diffuse->origin_known[e->tree])
			continue;
		const double level = spread_strength(diffuse, e);
		sum[e->by->device->device->index] += level;
		all += level;
	}
	for (size_t i = 0; i < diffuse->o->n_devices; i++) {
		if (sum[i] <= most) {
			second = fmax(second, sum[i]);
			continue;
		}
		second = most;
		most = sum[i];
		diffuse->loudest = &diffuse->o->devices[i];
	}
	diffuse->loudest_share = all > 0 ? most / all : 0;
	if (most < PAUSES_MOST * second)
		diffuse->loudest = NULL;
}

/* Names the counters that are missing to find the origin. */
static void pause_spread_name_missing(const struct diffuse *diffuse, struct draft *draft)
{
	size_t peaks = 0, marks = 0, n_queues = 0, silent = 0;
	for (size_t i = 0; i < diffuse->n; i++) {
		const struct port_prio *l = NULL;
		if (diffuse->edges[i]->by)
			l = observed_prio(diffuse->edges[i]->by, diffuse->priority);
		n_queues += l != NULL;
		peaks += l && !isnan(l->queue_peak);
		marks += l && l->marked.known && l->marked.alive;
		silent += !diffuse->edges[i]->by->device->n_series;
	}
	if (silent)
		finding_unproved(draft,
			"missing: %zu of the pausing ports are on switches that do not answer",
			silent);
	if (!diffuse->measured)
		finding_unproved(
			draft, "missing: pause time; PFC frame counts cannot rank pause duration");
	if (peaks < n_queues)
		finding_unproved(draft,
			"missing: watermarks of egress queues, which show where the bytes are "
			"queued");
	if (marks < n_queues)
		finding_unproved(draft, "missing: ECN marks per queue");
	if (peaks == n_queues && marks == n_queues && !silent)
		finding_rests_on(draft,
			"nothing is missing: several queues share the pressure, and none holds 40 "
			"%% of it and three times the next one");
}

/* What one switch that pauses most can mean, and what would tell. */
static void pause_spread_name_loudest(const struct diffuse *diffuse, struct draft *draft)
{
	const char *name = diffuse->loudest->device->name;
	draft->f->device = name;
	finding_add_role(draft, "suspect", "%s", name);
	finding_rests_on(draft,
		"%s causes %.0f %% of the pause, at least twice as much as any other switch", name,
		100 * diffuse->loudest_share);
	finding_unproved(draft,
		"which of these: ECN off or too late on %s, XON too close to XOFF there, or "
		"receivers "
		"behind it that take less than they are sent",
		name);
	finding_step(draft,
		arena_printf(draft->a,
			"read ECN (WRED), buffer and XON settings of %s and of one peer; collect "
			"ECN "
			"marks and watermarks of its queues, by gNMI where SNMP has none",
			name),
		"none: read only");
}

static void pause_spread_list_candidates(const struct diffuse *diffuse, struct draft *draft)
{
	size_t shown = 0;
	for (size_t i = 0; i < diffuse->g->n_roots && shown < ROOTS_SHOWN; i++) {
		const struct pause_root *r = &diffuse->g->roots[i];
		if (r->priority != diffuse->priority || diffuse->origin_known[r->tree])
			continue;
		finding_evidence(draft,
			r->origin == ORIGIN_HOST ? "pause.host_share_ratio"
						 : "pause.queue_share_ratio",
			r->port, diffuse->priority, r->share, "ratio", QUALITY_ESTIMATED);
		shown++;
	}
}

static bool hosts_are_seen(const struct diffuse *diffuse)
{
	for (size_t i = 0; i < diffuse->o->n_prios; i++) {
		const struct port_prio *l = diffuse->o->prios[i];
		if (l->priority == diffuse->priority && l->port->port->host &&
			!isnan(l->rx_pause.hi))
			return true;
	}
	return false;
}

static const char *pause_spread_summary(const struct diffuse *diffuse, struct arena *a)
{
	const struct pause_edge *e = diffuse->worst;
	const char *origin = "no single origin found";
	if (diffuse->loudest)
		origin = arena_printf(a, "%s causes %.0f %% of it", diffuse->loudest->device->name,
			100 * diffuse->loudest_share);
	return arena_printf(a,
		"pause between switches on priority %d, %s: worst port %s, paused by %s %s; %zu "
		"switch%s and %zu host%s wait",
		diffuse->priority, origin, port_text(e->at, a), port_text(e->by, a),
		pause_share_text(e->lo, e->hi, e->measured, a), diffuse->n_switches,
		str_if(diffuse->n_switches != 1, "es"), diffuse->n_hosts, plural(diffuse->n_hosts));
}

static void pause_spread_report_diffuse(const struct diffuse *diffuse, struct finding_list *out)
{
	const struct pause_spread_options *o = diffuse->in->options;
	struct draft t = finding_new(out, diffuse->in, "pause_spread",
		finding_verdict(diffuse->worst, diffuse->judged), o->hold);
	t.f->priority = diffuse->priority;
	t.f->cause = CAUSE_UNKNOWN;
	t.f->summary = "";
	if (!diffuse->worst)
		return;
	const struct pause_edge *e = diffuse->worst;
	t.f->value = edge_level(e);
	t.f->warn = warn_for(diffuse, e->measured);
	/* pause between switches alone weighs less than pause of hosts: bursts to storage cause it
	 * for a while without a fault. An upper bound from frames may be hundreds of times the real
	 * pause. */
	if (diffuse->n_switches >= WIDE && e->measured && t.f->value >= MUCH * t.f->warn &&
		class_congestion(diffuse->in->fabric, diffuse->priority) != CC_PFC_ONLY)
		t.f->severity = SEV_WARNING;
	else
		t.f->severity = SEV_INFO;
	/* pressure is certain; that it has no single origin is not */
	if (diffuse->measured)
		t.f->confidence_ratio = 0.5;
	else
		t.f->confidence_ratio = 0.3;
	t.f->coverage_ratio = observed_coverage(e->at);
	t.f->summary = pause_spread_summary(diffuse, t.a);
	finding_evidence(&t, e->measured ? "pfc.rx_pause_ratio" : "pfc.rx_pause_ratio_hi", e->at,
		diffuse->priority, edge_level(e), "ratio", e->quality);
	finding_evidence_device(&t, "pause.unresolved_port_windows", e->by->port->device->name,
		diffuse->g->unresolved[diffuse->priority], "ports", QUALITY_ESTIMATED);
	pause_spread_list_candidates(diffuse, &t);
	pause_spread_name_missing(diffuse, &t);
	if (diffuse->loudest)
		pause_spread_name_loudest(diffuse, &t);
	if (hosts_are_seen(diffuse))
		finding_ruled_out(&t, "slow receiver: no host pauses its port for long");
	if (!diffuse->g->n_cycles)
		finding_ruled_out(
			&t, "deadlock: no ring among %zu paused ports", diffuse->g->n_edges);
	pause_add_roles(&t, "indirect_victim", diffuse->edges, diffuse->n);
	finding_step(&t,
		"run rocewatch pause tree to see who pauses whom; collect watermarks and ECN marks "
		"per queue of the switches that pause",
		"none: read only");
}

/* The other subjects of a priority, so that an incident about one of them can clear: the fabric,
 * when a switch is named, and every switch that is not. */
static void pause_spread_report_absent(const struct diffuse *diffuse, struct finding_list *out)
{
	const struct pause_spread_options *o = diffuse->in->options;
	for (size_t i = 0; i <= diffuse->o->n_devices; i++) {
		const struct device_seen *device = NULL;
		if (i < diffuse->o->n_devices)
			device = &diffuse->o->devices[i];
		if (device == diffuse->loudest)
			continue;
		struct draft t =
			finding_new(out, diffuse->in, "pause_spread", FINDING_UNDER, o->hold);
		t.f->priority = diffuse->priority;
		t.f->cause = CAUSE_UNKNOWN;
		t.f->summary = "";
		if (device)
			t.f->device = device->device->name;
	}
}

static int pause_spread_run(const struct analyzer_in *in, struct finding_list *out)
{
	const struct pause_spread_options *o = in->options;
	const struct pause_graph *g = pause_graph(in);
	for (int c = 0; c < OBSERVED_PRIORITIES; c++) {
		if (!(in->fabric->lossless_mask >> c & 1))
			continue;
		struct diffuse d = {
			.in = in, .o = g->observed, .g = g, .priority = c, .warn = o->warn};
		d.warn *= pause_times(class_congestion(in->fabric, d.priority));
		d.origin_known = arena_array(in->arena, bool, d.o->n_devices + 1);
		known_origins(&d);
		pause_spread_gather(&d);
		if (d.worst)
			pause_spread_find_loudest(&d);
		if (!d.worst && !d.judged && !d.g->observable)
			continue;
		pause_spread_report_diffuse(&d, out);
		if (d.worst || d.judged)
			pause_spread_report_absent(&d, out);
	}
	return 0;
}

const struct analyzer analyzer_pause_spread = {
	.name = "pause_spread",
	.phase = 110,
	.doc = "pause between switches without a single origin",
	.options = {"analyzers", "pause_spread", sizeof(struct pause_spread_options), rows,
		rw_countof(rows), "pause between switches"},
	.window_offset = offsetof(struct pause_spread_options, window_ns),
	.observes = true,
	.run = pause_spread_run,
};
