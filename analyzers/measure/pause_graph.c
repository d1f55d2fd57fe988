/* pause_graph - see the header. Here: the edges, each from the better of the two ends that count
 * it. */
#include "analyzers/measure/pause_graph.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/str.h"
#include "analyzers/analyzer.h"
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

static double port_speed(const struct port_seen *p)
{
	return (double)(p->out.read_bps       ? p->out.read_bps
			: p->out.declared_bps ? p->out.declared_bps
					      : p->port->speed_bps);
}

static struct fact fact_of(const struct port_seen *p, int priority, bool rx)
{
	const struct lane_seen *l = p ? observed_lane(p, priority) : NULL;
	if (!l)
		return (struct fact){.frames_time = NAN};
	const struct pause_share *s = rx ? &l->rx_pause : &l->tx_pause;
	const struct amount *frames = rx ? &l->rx_frames : &l->tx_frames,
			    *bound = rx ? &l->rx_pause_ns_hi : &l->tx_pause_ns_hi;
	const double rate = amount_rate(frames) * pause_frame_max_ns((uint64_t)port_speed(p)) / 1e9;
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
static const struct fact *better(const struct fact *a, const struct fact *b)
{
	if (!a->known || !b->known)
		return a->known ? a : b;
	if (a->measured && b->measured)
		return a->hi >= b->hi ? a : b;
	if (a->measured != b->measured) {
		const struct fact *m = a->measured ? a : b, *f = a->measured ? b : a;
		return m->alive || !(f->hi > 0) ? m : f;
	}
	if (a->alive != b->alive)
		return a->alive ? a : b;
	return a->hi <= b->hi ? a : b;
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

static void calibrate(
	struct maker *m, const struct port_seen *p, int priority, const struct lane_seen *l)
{
	const struct {
		const struct amount *ns, *frames;
	} ways[] = {{&l->rx_pause_ns, &l->rx_frames}, {&l->tx_pause_ns, &l->tx_frames}};
	const double longest = pause_frame_max_ns((uint64_t)port_speed(p));
	for (int i = 0; i < 2; i++)
		if (ways[i].ns->known && ways[i].ns->value > 0 && ways[i].frames->known &&
			ways[i].frames->value > 0 && !isnan(longest)) {
			m->scale[priority].measured += ways[i].ns->value;
			m->scale[priority].frames += ways[i].frames->value * longest;
			m->scale[priority].n += ways[i].frames->value;
		}
}

static void add_edge(
	struct maker *m, const struct port_seen *at, const struct port_seen *by, int priority)
{
	const struct fact here = fact_of(at, priority, true), there = fact_of(by, priority, false);
	const struct fact *f = better(&here, &there);
	if (!f->known || !(f->hi > 0))
		return;
	arena_grow(m->a, m->edges, m->n, m->cap);
	const struct port_seen *side = at && at->port->host ? at : by && by->port->host ? by : NULL;
	m->edges[m->n++] = (struct pause_edge){.at = at,
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
	m->n_of[priority]++;
	m->scale[priority].any |= f->measured;
}

static void gather(struct maker *m)
{
	for (size_t i = 0; i < m->o->n_ports; i++) {
		const struct port_seen *p = &m->o->ports[i], *peer = observed_peer(m->o, p);
		for (int c = 0; c < OBSERVED_PRIORITIES; c++) {
			const struct lane_seen *l = p->lanes[c],
					       *far = peer ? peer->lanes[c] : NULL;
			if (l) {
				m->observable = m->observable || l->rx_pause.alive ||
					l->tx_pause.alive || l->pfc_enabled > 0;
				if (l->rx_pause.hi > 0 || l->tx_pause.hi > 0)
					calibrate(m, p, c, l);
			}
			if ((l && l->rx_pause.hi > 0) || (far && far->tx_pause.hi > 0))
				add_edge(m, p, peer, c);
			if (!peer && l && l->tx_pause.hi > 0)
				add_edge(m, NULL, p, c);
		}
	}
}

/* Bounds become comparable with measured edges: by what a frame lasts where both are counted.
 * Without that a bound weighs at most 1. */
static void weigh(struct maker *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct pause_edge *e = &m->edges[i];
		if (e->measured || !m->scale[e->priority].any)
			continue;
		if (m->scale[e->priority].n >= FRAMES_MIN)
			e->weight *= m->scale[e->priority].measured / m->scale[e->priority].frames;
		e->weight = fmin(1, e->weight);
	}
}

/* ---- one priority -------------------------------------------------------- */

static struct pause_list list_by(const struct maker *m, int priority, bool at)
{
	const size_t devices = m->o->n_devices;
	struct pause_list l = {.ids = arena_array(m->a, uint32_t, m->n_of[priority]),
		.start = arena_array(m->a, uint32_t, devices + 2)};
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < m->n; i++) {
			const int d = m->edges[i].priority == priority
				? device_of(at ? m->edges[i].at : m->edges[i].by)
				: NO_DEVICE;
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

static struct pause_net net_of(const struct maker *m, int priority)
{
	struct pause_net net = {.o = m->o,
		.a = m->a,
		.priority = priority,
		.edges = m->edges,
		.n_edges = m->n,
		.from = list_by(m, priority, true),
		.to = list_by(m, priority, false),
		.edge_at = arena_array(m->a, uint32_t, m->o->n_ports + 1)};
	for (size_t i = 0; i < m->n; i++)
		if (m->edges[i].priority == priority && m->edges[i].at)
			net.edge_at[port_index(m->o, m->edges[i].at)] = (uint32_t)i + 1;
	return net;
}

static int by_pressure(const void *x, const void *y)
{
	const struct pause_root *a = x, *b = y;
	if (a->pressure != b->pressure)
		return a->pressure > b->pressure ? -1 : 1;
	if (a->port != b->port)
		/* both in the observation's array: the fabric's order */
		return a->port < b->port ? -1 : 1;
	return a->priority != b->priority ? a->priority - b->priority
					  : (int)a->origin - (int)b->origin;
}

static struct pause_graph *make(const struct analyzer_in *in, struct arena *a)
{
	struct maker m = {.o = observe(in), .a = a};
	struct pause_graph *g = arena_new_of(a, struct pause_graph);
	gather(&m);
	weigh(&m);
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
		qsort(roots, g->n_roots, sizeof(*roots), by_pressure);
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
		return make(in, in->arena);
	if (!in->shared->pause)
		in->shared->pause = make(in, in->shared->arena);
	return in->shared->pause;
}
