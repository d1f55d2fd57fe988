/* pause_edges - edges from the pause counters of both ends of each link, the better one of two. */
#include "analyzers/measure/pause_edges.h"

#include <math.h>

#include "agent/base/arena.h"

#define FRAMES_MIN                                                                                 \
	100 /* PFC frames with measured time, from which the time of a frame is taken              \
	     */

/* ---- what one end says --------------------------------------------------- */

struct pause_fact {
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

static struct pause_fact fact_of(const struct port_seen *port, int priority, bool rx)
{
	const struct port_prio *l = NULL;
	if (port)
		l = observed_prio(port, priority);
	if (!l)
		return (struct pause_fact){.frames_time = NAN};
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
	return (struct pause_fact){.known = !isnan(s->hi),
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
static const struct pause_fact *edges_better(
	const struct pause_fact *left, const struct pause_fact *right)
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
		const struct pause_fact *m = right;
		const struct pause_fact *f = left;
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

struct edge_maker {
	const struct observed *o;
	struct arena *a;
	struct pause_edges edges;
	struct {
		/* of lanes that tell both: time; the same by the longest time of their frames;
		 * frames */
		double measured, frames, n;
		bool any; /* some edge of it is measured */
	} scale[OBSERVED_PRIORITIES];
};

static void edges_calibrate(struct edge_maker *maker, const struct port_seen *port, int priority,
	const struct port_prio *lane)
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

static void edges_add_edge(struct edge_maker *maker, const struct port_seen *at,
	const struct port_seen *by, int priority)
{
	const struct pause_fact here = fact_of(at, priority, true),
				there = fact_of(by, priority, false);
	const struct pause_fact *f = edges_better(&here, &there);
	if (!f->known || !(f->hi > 0))
		return;
	arena_grow(maker->a, maker->edges.v, maker->edges.n, maker->edges.cap);
	const struct port_seen *side = NULL;
	if (at && at->port->host)
		side = at;
	else if (by && by->port->host)
		side = by;
	maker->edges.v[maker->edges.n++] = (struct pause_edge){.at = at,
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
	maker->edges.n_of[priority]++;
	maker->scale[priority].any |= f->measured;
}

static void edges_gather(struct edge_maker *maker)
{
	for (size_t i = 0; i < maker->o->n_ports; i++) {
		const struct port_seen *p = &maker->o->ports[i], *peer = observed_peer(maker->o, p);
		for (int c = 0; c < OBSERVED_PRIORITIES; c++) {
			const struct port_prio *l = p->prios[c];
			const struct port_prio *far = NULL;
			if (peer)
				far = peer->prios[c];
			if (l) {
				maker->edges.observable = maker->edges.observable ||
					l->rx_pause.alive || l->tx_pause.alive ||
					l->pfc_enabled > 0;
				if (l->rx_pause.hi > 0 || l->tx_pause.hi > 0)
					edges_calibrate(maker, p, c, l);
			}
			if ((l && l->rx_pause.hi > 0) || (far && far->tx_pause.hi > 0))
				edges_add_edge(maker, p, peer, c);
			if (!peer && l && l->tx_pause.hi > 0)
				edges_add_edge(maker, NULL, p, c);
		}
	}
}

/* Bounds become comparable with measured edges: by what a frame lasts where both are counted.
 * Without that a bound weighs at most 1. */
static void edges_weigh(struct edge_maker *maker)
{
	for (size_t i = 0; i < maker->edges.n; i++) {
		struct pause_edge *e = &maker->edges.v[i];
		if (e->measured || !maker->scale[e->priority].any)
			continue;
		if (maker->scale[e->priority].n >= FRAMES_MIN)
			e->weight *= maker->scale[e->priority].measured /
				maker->scale[e->priority].frames;
		e->weight = fmin(1, e->weight);
	}
}

struct pause_edges pause_edges(const struct observed *observed, struct arena *a)
{
	struct edge_maker maker = {.o = observed, .a = a};
	edges_gather(&maker);
	edges_weigh(&maker);
	return maker.edges;
}

/* ---- does a queue move? --------------------------------------------------- */

#define STILL                                                                                      \
	0.0001 /* utilisation at which a port moves nothing but its own protocols; for ports whose \
		  classes are not told apart */

static double edge_port_load(const struct observed *observed, const struct port_seen *port)
{
	const struct port_seen *peer = observed_peer(observed, port);
	if (port->out_known)
		return port->out.utilization_ratio;
	if (peer && peer->in_known)
		return peer->in.utilization_ratio;
	return NAN;
}

enum motion queue_motion(
	const struct observed *observed, const struct port_seen *port, int priority)
{
	const double octets = port->class_octets[priority], load = edge_port_load(observed, port);
	if (octets > 0)
		return MOTION_SOME;
	if (load <= STILL)
		return MOTION_NONE;
	if (isnan(octets)) {
		if (isnan(load))
			return MOTION_UNKNOWN;
		return MOTION_SOME;
	}
	for (size_t i = 0; i < port->device->n_ports; i++)
		if (port->device->ports[i].class_octets[priority] > 0)
			return MOTION_NONE;
	if (isnan(load))
		return MOTION_NONE;
	return MOTION_UNKNOWN;
}
