/* pause_graph - see the header. Here: the edges, each from the better of the two ends that count
 * it. */
#include "analyzers/measure/pause_graph.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/str.h"
#include "analyzers/measure/input.h"
#include "analyzers/measure/pause_internal.h"

#define FRAMES_MIN                                                                                 \
	100 /* PFC frames with measured time, from which the time of a frame is taken              \
	     */

/* ---- what one end says --------------------------------------------------- */

struct fact {
	bool known, measured, alive;
	double lo, hi;
	/* share of the window at the longest time a frame can last, not capped; NAN unknown */
	double frames_time;
	enum quality quality;
};

static double port_speed(const struct port_seen *port)
{
	return (double)(port->out.read_bps       ? port->out.read_bps
			: port->out.declared_bps ? port->out.declared_bps
						 : port->port->speed_bps);
}

static struct fact fact_of(const struct port_seen *port, int priority, bool rx)
{
	const struct lane_seen *l = NULL;
	if (port)
		l = observed_lane(port, priority);
	if (!l)
		return (struct fact){.frames_time = NAN};
	const struct pause_share *s;
	if (rx)
		s = &l->rx_pause;
	else
		s = &l->tx_pause;
	const struct amount *frames;
	if (rx)
		frames = &l->rx_frames;
	else
		frames = &l->tx_frames;
	const struct amount *bound;
	if (rx)
		bound = &l->rx_pause_ns_hi;
	else
		bound = &l->tx_pause_ns_hi;
	const double rate =
		amount_rate(frames) * pause_frame_max_ns((uint64_t)port_speed(port)) / 1e9;
	return (struct fact){.known = !isnan(s->hi),
		.measured = s->measured,
		.alive = s->alive,
		.lo = s->lo,
		.hi = s->hi,
		.quality = s->quality,
		.frames_time = !isnan(rate) ? rate
			: bound->known      ? bound->value / (double)bound->covered_ns
					    : NAN};
}

/*
 * Of two accounts of one thing: measured time over a bound, as long as that counter is alive; of
 * two measured ones the larger, as one that stands still is more common than one that counts too
 * much; of two bounds the smaller, if both count.
 */
static const struct fact *pause_graph_better(const struct fact *left, const struct fact *right)
{
	if (!left->known || !right->known) {
		if (left->known)
			return left;
		return right;
	}
	if (left->measured && right->measured) {
		if (left->hi >= right->hi)
			return left;
		return right;
	}
	if (left->measured != right->measured) {
		const struct fact *m = right;
		const struct fact *f = left;
		if (left->measured) {
			m = left;
			f = right;
		}
		if (m->alive || !(f->hi > 0))
			return m;
		return f;
	}
	if (left->alive != right->alive) {
		if (left->alive)
			return left;
		return right;
	}
	if (left->hi <= right->hi)
		return left;
	return right;
}

/* ---- edges --------------------------------------------------------------- */

struct maker {
	const struct observed *o;
	struct arena *a;
	struct pause_edge *edges;
	size_t n, cap;
	size_t n_of[OBSERVED_PRIORITIES];
	struct {
		/* of lanes that tell both: time; the same by the longest time of their frames;
		 * frames */
		double measured, frames, n;
		bool any; /* some edge of it is measured */
	} scale[OBSERVED_PRIORITIES];
	bool observable;
};

static void pause_graph_calibrate(struct maker *maker, const struct port_seen *port, int priority,
	const struct lane_seen *lane)
{
	const struct {
		const struct amount *ns, *frames;
	} ways[] = {{&lane->rx_pause_ns, &lane->rx_frames}, {&lane->tx_pause_ns, &lane->tx_frames}};
	const double longest = pause_frame_max_ns((uint64_t)port_speed(port));
	for (int i = 0; i < 2; i++)
		if (ways[i].ns->known && ways[i].ns->value > 0 && ways[i].frames->known &&
			ways[i].frames->value > 0 && !isnan(longest)) {
			maker->scale[priority].measured += ways[i].ns->value;
			maker->scale[priority].frames += ways[i].frames->value * longest;
			maker->scale[priority].n += ways[i].frames->value;
		}
}

static void pause_graph_add_edge(
	struct maker *maker, const struct port_seen *at, const struct port_seen *by, int priority)
{
	const struct fact here = fact_of(at, priority, true), there = fact_of(by, priority, false);
	const struct fact *f = pause_graph_better(&here, &there);
	if (!f->known || !(f->hi > 0))
		return;
	arena_grow(maker->a, maker->edges, maker->n, maker->cap);
	const struct port_seen *side = NULL;
	if (at && at->port->host)
		side = at;
	else if (by && by->port->host)
		side = by;
	maker->edges[maker->n++] = (struct pause_edge){.at = at,
		.by = by,
		.host = side ? side->port->host : NULL,
		.priority = priority,
		.lo = f->lo,
		.hi = f->hi,
		.weight = f->measured        ? f->lo
			: f->frames_time > 0 ? f->frames_time
					     : f->hi,
		.measured = f->measured,
		.quality = f->quality,
		.one_end = at && by && !(here.known && there.known)};
	maker->n_of[priority]++;
	maker->scale[priority].any |= f->measured;
}

static void pause_graph_gather(struct maker *maker)
{
	for (size_t i = 0; i < maker->o->n_ports; i++) {
		const struct port_seen *p = &maker->o->ports[i], *peer = observed_peer(maker->o, p);
		for (int c = 0; c < OBSERVED_PRIORITIES; c++) {
			const struct lane_seen *l = p->lanes[c];
			const struct lane_seen *far = NULL;
			if (peer)
				far = peer->lanes[c];
			if (l) {
				maker->observable = maker->observable || l->rx_pause.alive ||
					l->tx_pause.alive || l->pfc_enabled > 0;
				if (l->rx_pause.hi > 0 || l->tx_pause.hi > 0)
					pause_graph_calibrate(maker, p, c, l);
			}
			if ((l && l->rx_pause.hi > 0) || (far && far->tx_pause.hi > 0))
				pause_graph_add_edge(maker, p, peer, c);
			if (!peer && l && l->tx_pause.hi > 0)
				pause_graph_add_edge(maker, NULL, p, c);
		}
	}
}

/* Bounds become comparable with measured edges: by what a frame lasts where both are counted.
 * Without that a bound weighs at most 1. */
static void pause_graph_weigh(struct maker *maker)
{
	for (size_t i = 0; i < maker->n; i++) {
		struct pause_edge *e = &maker->edges[i];
		if (e->measured || !maker->scale[e->priority].any)
			continue;
		if (maker->scale[e->priority].n >= FRAMES_MIN)
			e->weight *= maker->scale[e->priority].measured /
				maker->scale[e->priority].frames;
		e->weight = fmin(1, e->weight);
	}
}

/* ---- one priority -------------------------------------------------------- */

static struct pause_list list_by(const struct maker *maker, int priority, bool at)
{
	const size_t devices = maker->o->n_devices;
	struct pause_list l = {.ids = arena_array(maker->a, uint32_t, maker->n_of[priority]),
		.start = arena_array(maker->a, uint32_t, devices + 2)};
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < maker->n; i++) {
			int d = NO_DEVICE;
			if (maker->edges[i].priority == priority)
				d = pause_device_of(at ? maker->edges[i].at : maker->edges[i].by);
			if (d == NO_DEVICE)
				continue;
			if (pass)
				l.ids[l.start[d + 1]++] = (uint32_t)i;
			else
				l.start[d + 2]++;
		}
		for (size_t d = 0; !pass && d < devices; d++)
			l.start[d + 2] += l.start[d + 1];
	}
	return l;
}

static struct pause_net net_of(const struct maker *maker, int priority)
{
	struct pause_net net = {.o = maker->o,
		.a = maker->a,
		.priority = priority,
		.edges = maker->edges,
		.n_edges = maker->n,
		.from = list_by(maker, priority, true),
		.to = list_by(maker, priority, false),
		.edge_at = arena_array(maker->a, uint32_t, maker->o->n_ports + 1)};
	for (size_t i = 0; i < maker->n; i++)
		if (maker->edges[i].priority == priority && maker->edges[i].at)
			net.edge_at[port_index(maker->o, maker->edges[i].at)] = (uint32_t)i + 1;
	return net;
}

static int pause_graph_by_pressure(const void *left, const void *right)
{
	const struct pause_root *a = left, *b = right;
	if (a->pressure != b->pressure) {
		if (a->pressure > b->pressure)
			return -1;
		return 1;
	}
	if (a->port != b->port) {
		/* both in the observation's array: the fabric's order */
		if (a->port < b->port)
			return -1;
		return 1;
	}
	if (a->priority != b->priority)
		return a->priority - b->priority;
	return (int)a->origin - (int)b->origin;
}

static struct pause_graph *pause_graph_make(const struct analyzer_in *in, struct arena *a)
{
	struct maker m = {.o = observe(in), .a = a};
	struct pause_graph *g = arena_new_of(a, struct pause_graph);
	pause_graph_gather(&m);
	pause_graph_weigh(&m);
	struct pause_root *roots = NULL;
	struct pause_cycle *cycles = NULL;
	size_t cap_roots = 0, cap_cycles = 0;
	for (int c = 0; c < OBSERVED_PRIORITIES; c++) {
		if (!m.n_of[c])
			continue;
		const struct pause_net net = net_of(&m, c);
		pause_blame(
			&net, &roots, &g->n_roots, &cap_roots, &g->pressure[c], &g->unresolved[c]);
		pause_cycles(&net, &cycles, &g->n_cycles, &cap_cycles);
	}
	if (g->n_roots)
		qsort(roots, g->n_roots, sizeof(*roots), pause_graph_by_pressure);
	g->observed = m.o;
	g->edges = m.edges;
	g->n_edges = m.n;
	g->roots = roots;
	g->cycles = cycles;
	g->observable = m.observable;
	return g;
}

const struct pause_graph *pause_graph(const struct analyzer_in *in)
{
	if (!in->shared)
		return pause_graph_make(in, in->arena);
	if (!in->shared->pause)
		in->shared->pause = pause_graph_make(in, in->shared->arena);
	return in->shared->pause;
}
