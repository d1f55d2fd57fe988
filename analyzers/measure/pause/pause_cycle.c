/*
 * pause_cycle - finds rings of stuck edges.
 *
 * An edge is stuck when it is paused for (nearly) the whole window and nothing left its queue; a
 * bound from frames counts only when the queue is known to stand. The buffer behind a stuck edge
 * does not drain either, so some egress of that switch is stuck too. Followed on and on, a chain of
 * stuck edges ends at a host that pauses all the time (a storm), at a switch that is not polled, or
 * in a ring. Rings are the strongly connected components of the switches joined by stuck edges (R.
 * Tarjan, Depth-first search and linear graph algorithms, 1972). Of each component the shortest
 * ring is reported, if possible one that does not turn straight back at a switch. Tiers do not
 * matter here: a ring exists because a route went down and up again.
 *
 * A deadlock is 100 % pause. A share from counters that are cut by two polls is a little smaller,
 * hence STUCK.
 */
#include "analyzers/measure/pause/pause_cycle.h"

#define STUCK 0.95
enum { TRIES = 64 }; /* edges from which a ring is searched */
static bool is_stuck(const struct pause_net *net, const struct pause_edge *edge)
{
	if (!edge->at || edge_level(edge) < STUCK)
		return false;
	const enum motion m = queue_motion(net->o, edge->at, net->priority);
	/* many short pauses have the same bound as one that never ends */
	if (edge->measured)
		return m != MOTION_SOME;
	return m == MOTION_NONE;
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

static void close_component(struct rings *rings, uint32_t device)
{
	const struct pause_net *net = rings->net;
	const uint32_t id = ++rings->n_scc;
	uint32_t d;
	const size_t top = rings->n_stack;
	do {
		d = rings->stack[--rings->n_stack];
		rings->scc[d] = id;
		rings->size[id]++;
	} while (d != device);
	for (size_t i = rings->n_stack; i < top; i++)
		for (uint32_t k = net->from.start[rings->stack[i]];
			k < net->from.start[rings->stack[i] + 1]; k++) {
			const struct pause_edge *e = &net->edges[net->from.ids[k]];
			if (is_stuck(net, e)) {
				if (e->by)
					rings->fed[id] |=
						rings->fed[rings->scc[pause_device_of(e->by)]];
				else
					rings->fed[id] |= true;
			}
		}
}

static void pause_cycle_enter(struct rings *rings, uint32_t node)
{
	rings->order[node] = rings->low[node] = ++rings->seen;
	rings->at[node] = rings->net->from.start[node];
	rings->stack[rings->n_stack++] = node;
	rings->path[rings->n_path++] = node;
}

/* One step of the walk: on to a switch that is new, or back. */
static void pause_cycle_step(struct rings *rings)
{
	const struct pause_net *net = rings->net;
	const uint32_t d = rings->path[rings->n_path - 1];
	while (rings->at[d] < net->from.start[d + 1]) {
		const struct pause_edge *e = &net->edges[net->from.ids[rings->at[d]++]];
		if (!e->by || !is_stuck(net, e))
			continue;
		const uint32_t to = (uint32_t)pause_device_of(e->by);
		if (!rings->order[to]) {
			pause_cycle_enter(rings, to);
			return;
		}
		if (!rings->scc[to] && rings->order[to] < rings->low[d])
			rings->low[d] = rings->order[to];
	}
	if (rings->low[d] == rings->order[d])
		close_component(rings, d);
	rings->n_path--;
	if (rings->n_path && rings->low[d] < rings->low[rings->path[rings->n_path - 1]])
		rings->low[rings->path[rings->n_path - 1]] = rings->low[d];
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

static bool pause_cycle_inside(
	const struct search *search, const struct pause_edge *edge, uint32_t component)
{
	return edge->by && is_stuck(search->r->net, edge) &&
		search->r->scc[pause_device_of(edge->by)] == component &&
		search->r->scc[pause_device_of(edge->at)] == component;
}

/* The shortest way from edge @start back to it: leaves .via behind. Length, 0 none. */
static size_t way_back(struct search *search, uint32_t start)
{
	const struct pause_net *net = search->r->net;
	const uint32_t component = search->r->scc[pause_device_of(net->edges[start].at)];
	const size_t devices = net->o->n_devices;
	size_t head = 0, tail = 0;
	memset(search->via, 0, net->n_edges * sizeof(*search->via));
	memset(search->first, 0, devices * sizeof(*search->first));
	memset(search->second, 0, devices * sizeof(*search->second));
	search->queue[tail++] = start;
	while (head < tail) {
		const uint32_t id = search->queue[head++];
		const uint32_t d = (uint32_t)pause_device_of(net->edges[id].by),
			       from = (uint32_t)pause_device_of(net->edges[id].at) + 1;
		if (search->second[d] || search->first[d] == from)
			continue;
		*(search->first[d] ? &search->second[d] : &search->first[d]) = from;
		for (uint32_t k = net->from.start[d]; k < net->from.start[d + 1]; k++) {
			const uint32_t next = net->from.ids[k];
			const struct pause_edge *e = &net->edges[next];
			if (!pause_cycle_inside(search, e, component) || search->via[next] ||
				(!search->may_turn && (uint32_t)pause_device_of(e->by) + 1 == from))
				continue;
			search->via[next] = id + 1;
			if (next == start) {
				size_t n = 1;
				for (uint32_t at = search->via[start] - 1; at != start;
					at = search->via[at] - 1)
					n++;
				return n;
			}
			search->queue[tail++] = next;
		}
	}
	return 0;
}

/* The shortest ring of a component, looked for from its first edges; one that turns straight back
 * only if there is no other. */
static size_t ring_from(struct search *search, uint32_t component, uint32_t *ret_start)
{
	const struct pause_net *net = search->r->net;
	for (int turn = 0; turn < 2; turn++) {
		size_t best = 0, tried = 0;
		search->may_turn = turn;
		for (uint32_t i = 0; i < net->n_edges && tried < TRIES; i++) {
			const struct pause_edge *e = &net->edges[i];
			if (e->priority != net->priority || !e->at ||
				!pause_cycle_inside(search, e, component))
				continue;
			const size_t n = way_back(search, i);
			tried++;
			if (n && (!best || n < best)) {
				best = n;
				*ret_start = i;
			}
		}
		if (best)
			return way_back(search, *ret_start);
	}
	return 0;
}

static struct pause_cycle ring_of(const struct search *search, uint32_t start, size_t n)
{
	const struct pause_net *net = search->r->net;
	const struct pause_edge **edges = arena_array(net->a, const struct pause_edge *, n);
	struct pause_cycle c = {.edges = edges,
		.n = n,
		.priority = net->priority,
		.queued_bytes = NAN,
		.still = true,
		.measured = true,
		.fed = search->r->fed[search->r->scc[pause_device_of(net->edges[start].at)]]};
	uint32_t at = start;
	for (size_t i = n; i-- > 0; at = search->via[at] - 1) {
		const struct pause_edge *e = edges[(i + 1) % n] = &net->edges[at];
		const struct port_prio *l = observed_prio(e->at, net->priority);
		c.still &= queue_motion(net->o, e->at, net->priority) == MOTION_NONE;
		c.measured &= e->measured;
		if (l && !isnan(l->queue_peak))
			c.queued_bytes =
				(isnan(c.queued_bytes) ? 0 : c.queued_bytes) + l->queue_peak;
	}
	return c;
}

void pause_cycles(const struct pause_net *net, struct pause_cycles *cycles)
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
			pause_cycle_enter(&r, d);
		while (r.n_path)
			pause_cycle_step(&r);
	}
	struct search s = {.r = &r,
		.via = arena_array(a, uint32_t, net->n_edges),
		.queue = arena_array(a, uint32_t, net->n_edges + 1),
		.first = arena_array(a, uint32_t, devices),
		.second = arena_array(a, uint32_t, devices)};
	for (uint32_t id = 1; id <= r.n_scc; id++) {
		uint32_t start;
		size_t length = 0;
		if (r.size[id] > 1)
			length = ring_from(&s, id, &start);
		if (!length)
			continue;
		arena_grow(a, cycles->v, cycles->n, cycles->cap);
		cycles->v[cycles->n++] = ring_of(&s, start, length);
	}
}
