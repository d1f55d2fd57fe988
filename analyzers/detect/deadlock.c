/*
 * deadlock - switches that pause one another in a ring: each pauses the one before it because the
 * next one pauses it, and nothing moves until somebody breaks the ring. pause_cycle finds the
 * rings; this file decides which of them is a deadlock: a cycle in the pause graph whose ports move
 * no bytes.
 *
 * A ring that also waits for a host that pauses all the time may be only the consequence of that
 * storm: pause_storm reports it.
 */

#include "analyzers/analyzer.h"
#include "analyzers/detect/pause_finding.h"

#define WAITS 0.5 /* share of the window: a victim of a deadlock is paused nearly all the time */

struct deadlock_options {
	int64_t window_ns, hold;
};
static const struct option rows[] = {
	{"window", OPT_DURATION, offsetof(struct deadlock_options, window_ns), "0s", "0s", "1h",
		NULL, "evaluation window; 0 = three poll intervals, at least 5 s"},
	{"hold", OPT_INT, offsetof(struct deadlock_options, hold), "3", "1", "10000", NULL,
		"required windows, of the last hold + 2, before an incident opens"},
};

static bool in_ring(const struct pause_cycle *cycle, const struct pause_edge *edge)
{
	for (size_t i = 0; i < cycle->n; i++)
		if (cycle->edges[i] == edge)
			return true;
	return false;
}

/* [device]: is it part of the ring? */
static bool *ring_devices(
	const struct observed *observed, const struct pause_cycle *cycle, struct arena *a)
{
	bool *mine = arena_array(a, bool, observed->n_devices + 1);
	for (size_t i = 0; i < cycle->n; i++)
		mine[cycle->edges[i]->at->device->device->index] = true;
	return mine;
}

struct ring_victims {
	const struct pause_edge **direct, **indirect;
	size_t n_direct, n_indirect, n_hosts;
};

static struct ring_victims victims_of(const struct pause_graph *graph,
	const struct observed *observed, const struct pause_cycle *cycle, struct arena *a)
{
	struct ring_victims v = {
		.direct = arena_array(a, const struct pause_edge *, graph->n_edges + 1),
		.indirect = arena_array(a, const struct pause_edge *, graph->n_edges + 1)};
	const bool *mine = ring_devices(observed, cycle, a);
	for (size_t i = 0; i < graph->n_edges; i++) {
		const struct pause_edge *e = &graph->edges[i];
		if (e->priority != cycle->priority || e->tree != cycle->edges[0]->tree || !e->by ||
			edge_level(e) < WAITS || in_ring(cycle, e))
			continue;
		if (mine[e->by->device->device->index])
			v.direct[v.n_direct++] = e;
		else
			v.indirect[v.n_indirect++] = e;
		v.n_hosts += !e->at;
	}
	return v;
}

static const char *ring_text(const struct pause_cycle *cycle, struct arena *a)
{
	const char *text = "";
	for (size_t i = 0; i < cycle->n; i++)
		text = arena_printf(a, "%s%s > ", text, port_text(cycle->edges[i]->at, a));
	return arena_printf(a, "%s%s", text, cycle->edges[0]->at->port->device->name);
}

/* Switches of the ring that send up again what came down to them: a route that should not exist. ""
 * none. */
static const char *turns_text(const struct pause_cycle *cycle, struct arena *a)
{
	const char *text = "";
	for (size_t i = 0; i < cycle->n; i++) {
		const struct fabric_port *in = cycle->edges[i]->by->port,
					 *out = cycle->edges[(i + 1) % cycle->n]->at->port;
		const bool from_above = in->peer && in->device->role < in->peer->device->role &&
			in->peer->device->role != ROLE_OTHER;
		const bool to_above = out->peer && out->device->role < out->peer->device->role &&
			out->peer->device->role != ROLE_OTHER;
		if (from_above && to_above)
			text = arena_printf(
				a, "%s%s%s", text, str_if(text[0], ", "), in->device->name);
	}
	return text;
}

static double deadlock_confidence_of(const struct pause_cycle *cycle, struct draft *draft)
{
	double sure = 0.95;
	if (cycle->measured) {
		finding_rests_on(
			draft, "%zu queues in a ring are paused (measured) all the time", cycle->n);
	} else {
		finding_against(draft,
			"pause of the %zu queues in the ring is not measured: enough PFC frames "
			"were sent to stand still",
			cycle->n);
		sure -= 0.12;
	}
	if (cycle->still)
		finding_rests_on(draft, "none of them sent anything");
	else {
		finding_against(draft, "whether they send is not counted everywhere");
		sure -= 0.25;
	}
	if (cycle->n == 2) {
		finding_against(draft,
			"two switches only: a loop of routes between them, or two faults behind "
			"them");
		sure -= 0.2;
	}
	for (size_t i = 0; i < cycle->n; i++)
		if (!cycle->edges[i]->at->device->n_series) {
			finding_against(draft,
				"%s is not polled: its part comes from its neighbours",
				cycle->edges[i]->at->port->device->name);
			sure -= 0.1;
		}
	return fmax(0.3, sure);
}

static void deadlock_show_evidence(const struct pause_cycle *cycle, struct draft *draft)
{
	finding_evidence_device(draft, "pause.ring_ports", cycle->edges[0]->at->port->device->name,
		(double)cycle->n, "ports", QUALITY_EXACT);
	finding_evidence_device(draft, "pause.ring_queued_bytes",
		cycle->edges[0]->at->port->device->name, cycle->queued_bytes, "bytes",
		QUALITY_EXACT);
	for (size_t i = 0; i < cycle->n; i++) {
		const struct pause_edge *e = cycle->edges[i];
		const struct port_prio *l = observed_prio(e->at, cycle->priority);
		finding_evidence(draft,
			e->measured ? "pfc.rx_pause_ratio" : "pfc.rx_pause_ratio_hi", e->at,
			cycle->priority, edge_level(e), "ratio", e->quality);
		finding_evidence(draft, "queue.out_octets", e->at, cycle->priority,
			e->at->class_octets[cycle->priority], "bytes", QUALITY_EXACT);
		if (l)
			finding_evidence(draft, "queue.watermark_bytes", e->at, cycle->priority,
				l->queue_peak, "bytes", QUALITY_EXACT);
		if (l && l->storms.alive)
			finding_amount(draft, "pfcwd.storms", e->at, cycle->priority, &l->storms,
				"events");
	}
}

static void deadlock_report_ring(
	const struct analyzer_in *in, const struct pause_cycle *cycle, struct finding_list *out)
{
	const struct deadlock_options *o = in->options;
	struct draft t = finding_new(out, in, "deadlock", FINDING_OVER, o->hold);
	const struct pause_graph *g = pause_graph(in);
	const struct ring_victims v = victims_of(g, g->observed, cycle, t.a);
	const char *turns = turns_text(cycle, t.a);
	double least = 1;
	finding_subject(&t, cycle->edges[0]->at);
	t.f->priority = cycle->priority;
	t.f->cause = CAUSE_PFC_DEADLOCK;
	t.f->severity = SEV_CRITICAL;
	t.f->proven = cycle->still; /* a closed ring in which nothing moves */
	t.f->coverage_ratio = observed_coverage(cycle->edges[0]->at);
	t.f->loss_ratio = 1;
	const char *hosts = "";
	if (v.n_hosts)
		hosts = arena_printf(
			t.a, "; %zu host%s paused behind it", v.n_hosts, plural(v.n_hosts));
	t.f->summary = arena_printf(t.a,
		"PFC deadlock, priority %d: %s pause one another in a ring and move nothing%s",
		cycle->priority, ring_text(cycle, t.a), hosts);
	for (size_t i = 0; i < cycle->n; i++)
		least = fmin(least, edge_level(cycle->edges[i]));
	t.f->value = least;
	t.f->warn = 0.95;
	t.f->confidence_ratio = deadlock_confidence_of(cycle, &t);
	deadlock_show_evidence(cycle, &t);
	if (turns[0])
		finding_rests_on(
			&t, "down-up (valley) traffic at %s: a route that should not exist", turns);
	finding_ruled_out(
		&t, "PFC storm: no switch of the ring waits for a host that pauses all the time");
	pause_add_roles(&t, "culprit", cycle->edges, cycle->n);
	pause_add_roles(&t, "direct_victim", v.direct, v.n_direct);
	pause_add_roles(&t, "indirect_victim", v.indirect, v.n_indirect);
	finding_steps(&t, t.f->cause, 0);
	finding_step(&t,
		turns[0] ? arena_printf(t.a,
				   "find valley routes (down-up) at %s and the failed links they "
				   "avoid; withdraw them",
				   turns)
			 : "compare the routes along the ring: one of them leads back; withdraw it",
		"traffic of these routes moves or stops");
	finding_step(&t,
		arena_printf(t.a, "or shut one link of the ring, %s",
			port_text(cycle->edges[0]->at, t.a)),
		"queued packets are lost; jobs whose connections time out abort");
}

/* An incident may be open for any port between switches that was ever paused. Ports that stand
 * still are left alone: the ring may only look different in this window. */
static void deadlock_report_free(
	const struct analyzer_in *in, const struct pause_graph *graph, struct finding_list *out)
{
	const struct deadlock_options *opt = in->options;
	const struct observed *o = graph->observed;
	bool *stands = arena_array(in->arena, bool, o->n_ports *OBSERVED_PRIORITIES + 1);
	for (size_t i = 0; i < graph->n_edges; i++)
		if (graph->edges[i].at && edge_level(&graph->edges[i]) >= WAITS)
			stands[(size_t)(graph->edges[i].at - o->ports) * OBSERVED_PRIORITIES +
				(size_t)graph->edges[i].priority] = true;
	for (size_t i = 0; i < o->n_prios; i++) {
		const struct port_prio *l = o->prios[i];
		const struct port_seen *peer = observed_peer(o, l->port);
		const struct port_prio *far = NULL;
		if (peer)
			far = observed_prio(peer, l->priority);
		if (!peer ||
			stands[(size_t)(l->port - o->ports) * OBSERVED_PRIORITIES +
				(size_t)l->priority] ||
			!(l->rx_pause.alive || (far && far->tx_pause.alive)))
			continue;
		const bool known = !isnan(l->rx_pause.hi) || (far && !isnan(far->tx_pause.hi));
		if (known && finding_is_clear(out, in, "deadlock", l->port->port->device->name, 1))
			continue;
		struct draft t = finding_new(
			out, in, "deadlock", known ? FINDING_UNDER : FINDING_UNKNOWN, opt->hold);
		finding_subject(&t, l->port);
		t.f->priority = l->priority;
		t.f->cause = CAUSE_PFC_DEADLOCK;
		t.f->summary = "";
		t.f->coverage_ratio = observed_coverage(l->port);
	}
}

static int deadlock_run(const struct analyzer_in *in, struct finding_list *out)
{
	const struct pause_graph *g = pause_graph(in);
	deadlock_report_free(in, g, out);
	for (size_t i = 0; i < g->n_cycles; i++)
		if (!g->cycles[i].fed)
			deadlock_report_ring(in, &g->cycles[i], out);
	return 0;
}

const struct analyzer analyzer_deadlock = {
	.name = "deadlock",
	.phase = 50,
	.doc = "rings of switches that pause one another and move nothing",
	.options = {"analyzers", "deadlock", sizeof(struct deadlock_options), rows,
		rw_countof(rows), "PFC deadlocks"},
	.window_offset = offsetof(struct deadlock_options, window_ns),
	.observes = true,
	.run = deadlock_run,
};
