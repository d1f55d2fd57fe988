/*
 * pause_cycle - rings of switches that wait for one another and move nothing: a PFC deadlock.
 *
 * An edge is stuck when it is paused for (nearly) the whole window and nothing left its queue; a
 * bound from frames needs to be told of the latter. The buffer behind a stuck edge does not drain
 * either, so some egress of that switch is stuck: followed on and on, a chain of stuck edges ends
 * at a host that pauses all the time (a storm), at a switch nobody asks, or in a ring. Rings are
 * the strongly connected components of the switches joined by stuck edges (Tarjan, 1972); of each
 * the shortest is told, one that does not turn straight back at a switch where there is one. Tiers
 * are not asked here: rings exist because a route went down and up again. Source: tuning facts,
 * c.1, c.2 and d row 10 (all edges paused > 99 % for at least two polls, nothing sent); a share
 * from counters that two polls cut is a little smaller, hence STUCK.
 */
#include <string.h>

#include "agent/base/arena.h"
#include "analyzers/measure/pause_internal.h"

#define STUCK 0.95
enum { TRIES = 64 }; /* edges a ring is looked for from */
#define STILL                                                                                      \
	0.0001 /* utilisation at which a port moves nothing but its own protocols; for ports whose \
		  classes are not told apart */

static double load_of(const struct observed *o, const struct port_seen *p)
{
	const struct port_seen *peer = observed_peer(o, p);
	if (p->out_known)
		return p->out.utilization_ratio;
	return peer && peer->in_known ? peer->in.utilization_ratio : NAN;
}

enum motion queue_motion(const struct observed *o, const struct port_seen *p, int priority)
{
	const double octets = p->class_octets[priority], load = load_of(o, p);
	if (octets > 0)
		return MOTION_SOME;
	if (load <= STILL)
		return MOTION_NONE;
	if (isnan(octets))
		return isnan(load) ? MOTION_UNKNOWN : MOTION_SOME;
	for (size_t i = 0; i < p->device->n_ports; i++)
		if (p->device->ports[i].class_octets[priority] > 0)
			return MOTION_NONE;
	return isnan(load) ? MOTION_NONE : MOTION_UNKNOWN;
}

static bool is_stuck(const struct pause_net *net, const struct pause_edge *e)
{
	if (!e->at || edge_level(e) < STUCK)
		return false;
	const enum motion m = queue_motion(net->o, e->at, net->priority);
	/* many short pauses have the same bound as one that never ends */
	return e->measured ? m != MOTION_SOME : m == MOTION_NONE;
}

struct rings {
	const struct pause_net *net;
	uint32_t *low, *order; /* [device]: Tarjan's */
	uint32_t *scc; /* [device]: its component + 1; 0 while open */
	/* devices seen and not yet in a component; the walk; where in .from each of it is */
	uint32_t *stack, *path, *at;
	size_t n_stack, n_path;
	uint32_t seen, n_scc;
	bool *fed; /* [component] */
	uint32_t *size; /* [component] */
};

static void close_component(struct rings *r, uint32_t device)
{
	const struct pause_net *net = r->net;
	const uint32_t id = ++r->n_scc;
	uint32_t d;
	const size_t top = r->n_stack;
	do {
		d = r->stack[--r->n_stack];
		r->scc[d] = id;
		r->size[id]++;
	} while (d != device);
	for (size_t i = r->n_stack; i < top; i++)
		for (uint32_t k = net->from.start[r->stack[i]];
			k < net->from.start[r->stack[i] + 1]; k++) {
			const struct pause_edge *e = &net->edges[net->from.ids[k]];
			if (is_stuck(net, e))
				r->fed[id] |= e->by ? r->fed[r->scc[device_of(e->by)]] : true;
		}
}

static void enter(struct rings *r, uint32_t d)
{
	r->order[d] = r->low[d] = ++r->seen;
	r->at[d] = r->net->from.start[d];
	r->stack[r->n_stack++] = d;
	r->path[r->n_path++] = d;
}

/* One step of the walk: on to a switch that is new, or back. */
static void step(struct rings *r)
{
	const struct pause_net *net = r->net;
	const uint32_t d = r->path[r->n_path - 1];
	while (r->at[d] < net->from.start[d + 1]) {
		const struct pause_edge *e = &net->edges[net->from.ids[r->at[d]++]];
		if (!e->by || !is_stuck(net, e))
			continue;
		const uint32_t to = (uint32_t)device_of(e->by);
		if (!r->order[to]) {
			enter(r, to);
			return;
		}
		if (!r->scc[to] && r->order[to] < r->low[d])
			r->low[d] = r->order[to];
	}
	if (r->low[d] == r->order[d])
		close_component(r, d);
	r->n_path--;
	if (r->n_path && r->low[d] < r->low[r->path[r->n_path - 1]])
		r->low[r->path[r->n_path - 1]] = r->low[d];
}

/* ---- one ring of a component --------------------------------------------- */

struct search {
	struct rings *r;
	uint32_t *via, *queue; /* [edge]: the edge before it + 1 */
	/* [device]: the switches its edges were looked through from, + 1; a third would find
	 * nothing new */
	uint32_t *first, *second;
	/* also straight back to where the pause comes from: a loop of two switches */
	bool may_turn;
};

static bool inside(const struct search *s, const struct pause_edge *e, uint32_t component)
{
	return e->by && is_stuck(s->r->net, e) && s->r->scc[device_of(e->by)] == component &&
		s->r->scc[device_of(e->at)] == component;
}

/* The shortest way from edge @start back to it: leaves .via behind. Length, 0 none. */
static size_t way_back(struct search *s, uint32_t start)
{
	const struct pause_net *net = s->r->net;
	const uint32_t component = s->r->scc[device_of(net->edges[start].at)];
	const size_t devices = net->o->n_devices;
	size_t head = 0, tail = 0;
	memset(s->via, 0, net->n_edges * sizeof(*s->via));
	memset(s->first, 0, devices * sizeof(*s->first));
	memset(s->second, 0, devices * sizeof(*s->second));
	s->queue[tail++] = start;
	while (head < tail) {
		const uint32_t id = s->queue[head++];
		const uint32_t d = (uint32_t)device_of(net->edges[id].by),
			       from = (uint32_t)device_of(net->edges[id].at) + 1;
		if (s->second[d] || s->first[d] == from)
			continue;
		*(s->first[d] ? &s->second[d] : &s->first[d]) = from;
		for (uint32_t k = net->from.start[d]; k < net->from.start[d + 1]; k++) {
			const uint32_t next = net->from.ids[k];
			const struct pause_edge *e = &net->edges[next];
			if (!inside(s, e, component) || s->via[next] ||
				(!s->may_turn && (uint32_t)device_of(e->by) + 1 == from))
				continue;
			s->via[next] = id + 1;
			if (next == start) {
				size_t n = 1;
				for (uint32_t at = s->via[start] - 1; at != start;
					at = s->via[at] - 1)
					n++;
				return n;
			}
			s->queue[tail++] = next;
		}
	}
	return 0;
}

/* The shortest ring of a component, looked for from its first edges; one that turns straight back
 * only if there is no other. */
static size_t ring_from(struct search *s, uint32_t component, uint32_t *ret_start)
{
	const struct pause_net *net = s->r->net;
	for (int turn = 0; turn < 2; turn++) {
		size_t best = 0, tried = 0;
		s->may_turn = turn;
		for (uint32_t i = 0; i < net->n_edges && tried < TRIES; i++) {
			const struct pause_edge *e = &net->edges[i];
			if (e->priority != net->priority || !e->at || !inside(s, e, component))
				continue;
			const size_t n = way_back(s, i);
			tried++;
			if (n && (!best || n < best)) {
				best = n;
				*ret_start = i;
			}
		}
		if (best)
			return way_back(s, *ret_start);
	}
	return 0;
}

static struct pause_cycle ring_of(const struct search *s, uint32_t start, size_t n)
{
	const struct pause_net *net = s->r->net;
	const struct pause_edge **edges = arena_array(net->a, const struct pause_edge *, n);
	struct pause_cycle c = {.edges = edges,
		.n = n,
		.priority = net->priority,
		.queued_bytes = NAN,
		.still = true,
		.measured = true,
		.fed = s->r->fed[s->r->scc[device_of(net->edges[start].at)]]};
	uint32_t at = start;
	for (size_t i = n; i-- > 0; at = s->via[at] - 1) {
		const struct pause_edge *e = edges[(i + 1) % n] = &net->edges[at];
		const struct lane_seen *l = observed_lane(e->at, net->priority);
		c.still &= queue_motion(net->o, e->at, net->priority) == MOTION_NONE;
		c.measured &= e->measured;
		if (l && !isnan(l->queue_peak))
			c.queued_bytes =
				(isnan(c.queued_bytes) ? 0 : c.queued_bytes) + l->queue_peak;
	}
	return c;
}

void pause_cycles(const struct pause_net *net, struct pause_cycle **v, size_t *n, size_t *cap)
{
	const size_t devices = net->o->n_devices;
	bool any = false;
	for (size_t i = 0; i < net->n_edges && !any; i++)
		any = net->edges[i].priority == net->priority && net->edges[i].by &&
			is_stuck(net, &net->edges[i]);
	if (!any)
		return;
	struct arena *a = net->a;
	struct rings r = {.net = net,
		.low = arena_array(a, uint32_t, devices),
		.order = arena_array(a, uint32_t, devices),
		.scc = arena_array(a, uint32_t, devices),
		.stack = arena_array(a, uint32_t, devices + 1),
		.path = arena_array(a, uint32_t, devices + 1),
		.at = arena_array(a, uint32_t, devices),
		.fed = arena_array(a, bool, devices + 1),
		.size = arena_array(a, uint32_t, devices + 1)};
	for (uint32_t d = 0; d < devices; d++) {
		if (!r.order[d])
			enter(&r, d);
		while (r.n_path)
			step(&r);
	}
	struct search s = {.r = &r,
		.via = arena_array(a, uint32_t, net->n_edges),
		.queue = arena_array(a, uint32_t, net->n_edges + 1),
		.first = arena_array(a, uint32_t, devices),
		.second = arena_array(a, uint32_t, devices)};
	for (uint32_t id = 1; id <= r.n_scc; id++) {
		uint32_t start;
		const size_t length = r.size[id] > 1 ? ring_from(&s, id, &start) : 0;
		if (!length)
			continue;
		arena_grow(a, *v, *n, *cap);
		(*v)[(*n)++] = ring_of(&s, start, length);
	}
}
