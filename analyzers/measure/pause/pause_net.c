/* pause_net - sorts the edges of one priority by the switches at their ends. */
#include "analyzers/measure/pause/pause_net.h"

/* ---- pause_edges ----------------------------------------------------------- */

/* pause_edges - edges from the pause counters of both ends of each link, the better one of two. */

/* PFC frames beside measured time, from which the time of one frame is known. */
#define FRAMES_MIN 100

/* ---- what one end says --------------------------------------------------- */

struct pause_fact {
	bool known, measured, alive;
	double lo, hi;
	/* share of the window at the longest time a frame can last, not capped; NAN unknown */
	double frames_time;
	enum quality quality;
};

static uint64_t port_speed_bps(const struct port_seen *port)
{
	if (port->out.read_bps)
		return port->out.read_bps;
	if (port->out.declared_bps)
		return port->out.declared_bps;
	return port->port->speed_bps;
}

/* Pause that @port received (@rx) or sent. */
static struct pause_fact fact_of(const struct port_seen *port, int priority, bool rx)
{
	const struct port_prio *prio = NULL;
	if (port)
		prio = observed_prio(port, priority);
	if (!prio)
		return (struct pause_fact){.frames_time = NAN};
	const struct pause_share *share = &prio->tx_pause;
	const struct amount *frames = &prio->tx_frames, *bound = &prio->tx_pause_ns_hi;
	if (rx) {
		share = &prio->rx_pause;
		frames = &prio->rx_frames;
		bound = &prio->rx_pause_ns_hi;
	}
	double frames_time = amount_rate(frames) * pause_frame_max_ns(port_speed_bps(port)) / 1e9;
	if (isnan(frames_time) && bound->known)
		frames_time = bound->value / (double)bound->covered_ns;
	return (struct pause_fact){
		.known = !isnan(share->hi),
		.measured = share->measured,
		.alive = share->alive,
		.lo = share->lo,
		.hi = share->hi,
		.quality = share->quality,
		.frames_time = frames_time,
	};
}

/* The better of two accounts of one pause. */
static const struct pause_fact *edges_better(
	const struct pause_fact *left, const struct pause_fact *right)
{
	/* 1. one of them is unknown */
	if (!left->known)
		return right;
	if (!right->known)
		return left;
	/* 2. both measured: the larger; a counter that stands still is more common than one that
	 * counts too much */
	if (left->measured && right->measured)
		return left->hi >= right->hi ? left : right;
	/* 3. measured time before a bound, unless its counter has never moved and the bound has */
	if (left->measured != right->measured) {
		const struct pause_fact *measured = left, *bound = right;
		if (right->measured) {
			measured = right;
			bound = left;
		}
		if (measured->alive || !(bound->hi > 0))
			return measured;
		return bound;
	}
	/* 4. two bounds: the one that counts, else the smaller */
	if (left->alive != right->alive)
		return left->alive ? left : right;
	return left->hi <= right->hi ? left : right;
}

/* ---- edges --------------------------------------------------------------- */

struct edge_maker {
	const struct observed *o;
	struct arena *a;
	struct pause_edges edges;
	struct {
		/* sums over directions that count both: pause time; the longest their frames can
		 * have lasted; frames */
		double measured, longest, n;
		bool any; /* some edge of it is measured */
	} scale[OBSERVED_PRIORITIES];
};

static void edges_calibrate(struct edge_maker *maker, const struct port_seen *port, int priority,
	const struct port_prio *prio)
{
	const struct {
		const struct amount *ns, *frames;
	} ways[] = {{&prio->rx_pause_ns, &prio->rx_frames}, {&prio->tx_pause_ns, &prio->tx_frames}};
	const double frame_ns = pause_frame_max_ns(port_speed_bps(port));
	if (isnan(frame_ns))
		return;
	for (int i = 0; i < 2; i++) {
		const bool timed = ways[i].ns->known && ways[i].ns->value > 0;
		const bool counted = ways[i].frames->known && ways[i].frames->value > 0;
		if (!timed || !counted)
			continue;
		maker->scale[priority].measured += ways[i].ns->value;
		maker->scale[priority].longest += ways[i].frames->value * frame_ns;
		maker->scale[priority].n += ways[i].frames->value;
	}
}

/* For comparing edges: measured time; else what frames can have lasted; else the upper bound. */
static double weight_of(const struct pause_fact *fact)
{
	if (fact->measured)
		return fact->lo;
	if (fact->frames_time > 0)
		return fact->frames_time;
	return fact->hi;
}

static const char *edge_host(const struct port_seen *at, const struct port_seen *by)
{
	if (at && at->port->host)
		return at->port->host;
	if (by && by->port->host)
		return by->port->host;
	return NULL;
}

const char *edge_outsider(const struct pause_edge *edge)
{
	if (edge->at || !edge->by || edge->by->port->outsider_kind != NEIGHBOR_SWITCH)
		return NULL;
	return edge->by->port->outsider;
}

static void edges_add(struct edge_maker *maker, const struct port_seen *at,
	const struct port_seen *by, int priority)
{
	const struct pause_fact here = fact_of(at, priority, true);
	const struct pause_fact there = fact_of(by, priority, false);
	const struct pause_fact *fact = edges_better(&here, &there);
	if (!fact->known || !(fact->hi > 0))
		return;
	arena_grow(maker->a, maker->edges.v, maker->edges.n, maker->edges.cap);
	maker->edges.v[maker->edges.n++] = (struct pause_edge){
		.at = at,
		.by = by,
		.host = edge_host(at, by),
		.priority = priority,
		.lo = fact->lo,
		.hi = fact->hi,
		.weight = weight_of(fact),
		.measured = fact->measured,
		.quality = fact->quality,
		.one_end = at && by && !(here.known && there.known),
	};
	maker->edges.n_of[priority]++;
	maker->scale[priority].any |= fact->measured;
}

static void edges_gather_port(struct edge_maker *maker, const struct port_seen *port, int priority)
{
	const struct port_seen *peer = observed_peer(maker->o, port);
	const struct port_prio *here = port->prios[priority], *there = NULL;
	if (peer)
		there = peer->prios[priority];
	if (here) {
		if (here->rx_pause.alive || here->tx_pause.alive || here->pfc_enabled > 0)
			maker->edges.observable = true;
		if (here->rx_pause.hi > 0 || here->tx_pause.hi > 0)
			edges_calibrate(maker, port, priority, here);
	}
	const bool paused_here = here && here->rx_pause.hi > 0;
	const bool paused_there = there && there->tx_pause.hi > 0;
	if (paused_here || paused_there)
		edges_add(maker, port, peer, priority);
	if (!peer && here && here->tx_pause.hi > 0)
		edges_add(maker, NULL, port, priority);
}

/* Mostly all queues that are observed are of one priority or two. */
static void edges_gather(struct edge_maker *maker)
{
	unsigned lanes = 0;
	for (size_t i = 0; i < maker->o->n_prios; i++)
		lanes |= 1u << maker->o->prios[i]->priority;
	for (size_t i = 0; i < maker->o->n_ports; i++)
		for (int priority = 0; lanes >> priority; priority++)
			if (lanes >> priority & 1)
				edges_gather_port(maker, &maker->o->ports[i], priority);
}

/* Make bounds comparable with measured edges: by what a frame lasts where both are counted. Without
 * that a bound weighs at most 1. */
static void edges_weigh(struct edge_maker *maker)
{
	for (size_t i = 0; i < maker->edges.n; i++) {
		struct pause_edge *e = &maker->edges.v[i];
		if (e->measured || !maker->scale[e->priority].any)
			continue;
		if (maker->scale[e->priority].n >= FRAMES_MIN)
			e->weight *= maker->scale[e->priority].measured /
				maker->scale[e->priority].longest;
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

/* Utilisation at which a port moves nothing but its own protocols; for ports whose priorities are
 * not counted one by one. */
#define STILL 0.0001

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
	if (isnan(load) || observed_queues_move(port->device, priority))
		return MOTION_NONE;
	return MOTION_UNKNOWN;
}

/* ---- pause_net ------------------------------------------------------------- */

/* The edges of @priority by the switch of their .at, or of their .by. */
static struct pause_list net_list_by(const struct observed *observed,
	const struct pause_edges *edges, int priority, bool at, struct arena *a)
{
	const size_t devices = observed->n_devices;
	struct pause_list l = {.ids = arena_array(a, uint32_t, edges->n_of[priority]),
		.start = arena_array(a, uint32_t, devices + 2)};
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < edges->n; i++) {
			int d = NO_DEVICE;
			if (edges->v[i].priority == priority)
				d = pause_device_of(at ? edges->v[i].at : edges->v[i].by);
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

struct pause_net pause_net_of(const struct observed *observed, const struct pause_edges *edges,
	int priority, struct arena *a)
{
	struct pause_net net = {.o = observed,
		.a = a,
		.priority = priority,
		.edges = edges->v,
		.n_edges = edges->n,
		.from = net_list_by(observed, edges, priority, true, a),
		.to = net_list_by(observed, edges, priority, false, a),
		.edge_at = arena_array(a, uint32_t, observed->n_ports + 1)};
	for (size_t i = 0; i < edges->n; i++)
		if (edges->v[i].priority == priority && edges->v[i].at)
			net.edge_at[port_index(observed, edges->v[i].at)] = (uint32_t)i + 1;
	return net;
}
