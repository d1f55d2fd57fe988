/*
 * pause_blame - see pause_graph.h: load goes from each edge towards whoever fills the buffer behind
 * it, and comes to rest at roots.
 *
 * The rule is that of the tuning facts (c.2): the load of an input is shared out over the egress
 * queues of that switch; an egress that is paused itself passes on min(1, its pause / the pause it
 * causes), the rest is its own. Load moves one switch a pass, PASSES times: a path through a fabric
 * of three tiers takes six. What still moves then goes round in a ring, and stays unresolved.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/str.h"
#include "analyzers/measure/pause_internal.h"

#define ACCEPT_SHARE 0.4 /* tuning facts, c.2 */
#define ACCEPT_TIMES 3.0
#define SEEN_MEASURED                                                                              \
	0.01 /* of the window a host pauses its port, from which that is believed without a share; \
		c.2: eps 1 % */
#define SEEN_BOUND 0.1
#define SMALLEST_SHARE 0.005 /* queues below it are not worth a root */
#define WAITS                                                                                      \
	0.001 /* of the window, from which somebody is said to wait: tuning facts, d (hosts' pause \
		 below 0.1 % is not chased) */
#define MARKS_MIN 0.01 /* share of packets marked, from which marks tell queues apart */
#define PACKETS_MIN 1000 /* tuning facts, e: ratios of fewer packets say nothing */
#define FULL 0.9 /* utilisation of a window that leaves no doubt that bytes wait */
#define ABOVE_USUAL                                                                                \
	1.2 /* times the median watermark or load of a switch's ports, from which one stands out   \
	     */
enum { PASSES = 8, USUAL_MIN = 4 /* ports, for a median to mean anything */ };

struct blame {
	const struct pause_net *net;
	double *weight; /* [port]: what its queue is worth as an explanation */
	double *load, *next; /* [edge] */
	double *host, *queue; /* [port]: load that came to rest */
	/* [port]: per unit of weight, what must not go out there: what came in there (scratch) */
	double *own;
	/* [device]: the same of all ports to a neighbour, by from below or above; weight towards it
	 * (scratch) */
	double *sent[2], *peer;
	int *comp; /* [device]: union-find */
	double *comp_sum; /* [device]: pressure of the tree */
	double unresolved;
	double *sort; /* scratch for medians */
};

/* ---- what the egress queues of a switch tell ----------------------------- */

static double lane_marks_ratio(const struct lane_seen *l)
{
	return l && l->marked.known && l->marked.alive && l->out_packets.known &&
			l->out_packets.value >= PACKETS_MIN
		? l->marked.value / l->out_packets.value
		: NAN;
}

static double edge_at_weight(const struct pause_net *net, const struct port_seen *p)
{
	const uint32_t e = net->edge_at[port_index(net->o, p)];
	return e ? net->edges[e - 1].weight : 0;
}

enum tells { TELLS_PEAK, TELLS_MARKS, TELLS_LOAD };

static double told(const struct pause_net *net, const struct port_seen *p, enum tells what)
{
	const struct lane_seen *l = observed_lane(p, net->priority);
	switch (what) {
	case TELLS_PEAK: return l ? l->queue_peak : NAN;
	case TELLS_MARKS: return lane_marks_ratio(l);
	case TELLS_LOAD: return p->out_known ? p->out.utilization_ratio : NAN;
	}
	return NAN;
}

struct spread { /* of one measure over the ports of a switch */
	size_t n;
	double max, median;
};
static struct spread spread_of(struct blame *b, const struct device_seen *d, enum tells what)
{
	struct spread s = {.max = 0, .median = 0};
	for (size_t i = 0; i < d->n_ports; i++) {
		const double v = told(b->net, &d->ports[i], what);
		if (isnan(v))
			continue;
		b->sort[s.n++] = v;
		s.max = fmax(s.max, v);
	}
	if (s.n >= USUAL_MIN)
		s.median = quantile_of(b->sort, s.n, 0.5);
	return s;
}

/* What stands out of the usual, as a share of what stands out most. */
static double outstanding(const struct spread *s, double v)
{
	const double usual = ABOVE_USUAL * s->median;
	if (isnan(v) || s->max <= 0)
		return 0;
	return s->max > usual ? fmax(0, (v - usual) / (s->max - usual)) : v / s->max;
}

/*
 * Watermarks say where bytes were. Without them: a port that is paused holds what it may not send;
 * one that is not holds bytes where it marks, or is full. @most: the strongest pause among the
 * inputs, the yardstick for both.
 */
static void weigh_ports(struct blame *b, const struct device_seen *d, double most)
{
	const struct spread peaks = spread_of(b, d, TELLS_PEAK),
			    marks = spread_of(b, d, TELLS_MARKS),
			    load = spread_of(b, d, TELLS_LOAD);
	double sum = 0;
	for (size_t i = 0; i < d->n_ports; i++) {
		const struct port_seen *p = &d->ports[i];
		double *w = &b->weight[port_index(b->net->o, p)];
		const double paused = edge_at_weight(b->net, p), full = told(b->net, p, TELLS_LOAD);
		*w = 0;
		if (p->oper_up == 0)
			continue;
		if (peaks.n && !isnan(told(b->net, p, TELLS_PEAK)))
			*w = outstanding(&peaks, told(b->net, p, TELLS_PEAK));
		else if (peaks.n)
			*w = fmin(1, paused / most);
		else
			*w = fmax(paused / most,
				marks.max >= MARKS_MIN
					? outstanding(&marks, told(b->net, p, TELLS_MARKS))
					: full >= FULL ? 1
						       : 0);
		sum += *w;
	}
	/* nothing waits, marks or is full: at least a load far above the others' */
	for (size_t i = 0; sum <= 0 && i < d->n_ports; i++)
		if (load.n >= USUAL_MIN && load.max > ABOVE_USUAL * load.median &&
			d->ports[i].oper_up != 0)
			b->weight[port_index(b->net->o, &d->ports[i])] =
				outstanding(&load, told(b->net, &d->ports[i], TELLS_LOAD));
}

/* ---- load moves ---------------------------------------------------------- */

/* Ports of a switch that may carry load away: those of the fabric, and any other that is paused.
 * Strangers are few. */
struct outs {
	const struct blame *b;
	const struct device_seen *d;
	size_t i;
};
static const struct port_seen *next_out(struct outs *o)
{
	if (o->i < o->d->n_ports)
		return &o->d->ports[o->i++];
	const struct pause_net *net = o->b->net;
	const size_t device = o->d->device->index;
	for (size_t k = net->from.start[device] + (o->i - o->d->n_ports);
		k < net->from.start[device + 1]; k++) {
		o->i++;
		const struct port_seen *at = net->edges[net->from.ids[k]].at;
		if (!at->in_fabric)
			return at;
	}
	return NULL;
}

static int peer_device(const struct port_seen *p)
{
	return p->port->peer ? (int)p->port->peer->device->index : NO_DEVICE;
}

struct turn { /* of one switch: load that came in, per unit of weight it can go to */
	double coef[2]; /* from below and from above */
	double load, paused; /* sum, and sum of load x pause: for the mean pause of what came in */
};

static struct turn take_in(struct blame *b, size_t device, double all, double down)
{
	const struct pause_net *net = b->net;
	struct turn t = {.load = 0};
	for (uint32_t k = net->to.start[device]; k < net->to.start[device + 1]; k++) {
		const uint32_t id = net->to.ids[k];
		const struct port_seen *by = net->edges[id].by;
		const double load = b->load[id];
		if (load <= 0)
			continue;
		const int peer = peer_device(by), above = leads_up(by);
		const double back = peer == NO_DEVICE ? b->weight[port_index(net->o, by)]
			: above                       ? 0
						      : b->peer[peer];
		const double room = (above ? down : all) - back;
		if (room <= 1e-9) {
			b->unresolved += load;
			continue;
		}
		t.coef[above] += load / room;
		if (peer == NO_DEVICE)
			b->own[port_index(net->o, by)] += load / room;
		else
			b->sent[above][peer] += load / room;
		t.load += load;
		t.paused += load * net->edges[id].weight;
	}
	return t;
}

static void give_out(struct blame *b, const struct port_seen *p, const struct turn *t)
{
	const struct pause_net *net = b->net;
	const size_t i = port_index(net->o, p);
	const int peer = peer_device(p), up = leads_up(p);
	double coef = t->coef[0] - (peer == NO_DEVICE ? b->own[i] : b->sent[0][peer]);
	if (!up)
		coef += t->coef[1] - (peer == NO_DEVICE ? 0 : b->sent[1][peer]);
	const double moved = fmax(0, b->weight[i] * coef);
	if (moved <= 0)
		return;
	const uint32_t e = net->edge_at[i];
	const double on = e ? moved * fmin(1, net->edges[e - 1].weight * t->load / t->paused) : 0;
	b->queue[i] += moved - on;
	if (e && net->edges[e - 1].by)
		b->next[e - 1] += on;
	else
		b->host[i] += on;
}

static void pass_device(struct blame *b, const struct device_seen *d)
{
	double all = 0, down = 0;
	const struct port_seen *p;
	for (struct outs o = {b, d, 0}; (p = next_out(&o));) {
		const double w = b->weight[port_index(b->net->o, p)];
		all += w;
		down += leads_up(p) ? 0 : w;
		if (peer_device(p) != NO_DEVICE)
			b->peer[peer_device(p)] += w;
	}
	const struct turn t = take_in(b, d->device->index, all, down);
	for (struct outs o = {b, d, 0}; t.load > 0 && (p = next_out(&o));)
		give_out(b, p, &t);
	for (struct outs o = {b, d, 0}; (p = next_out(&o));) {
		b->own[port_index(b->net->o, p)] = 0;
		if (peer_device(p) != NO_DEVICE)
			b->peer[peer_device(p)] = b->sent[0][peer_device(p)] =
				b->sent[1][peer_device(p)] = 0;
	}
	for (uint32_t k = b->net->to.start[d->device->index];
		k < b->net->to.start[d->device->index + 1]; k++)
		/* a stranger's */
		b->own[port_index(b->net->o, b->net->edges[b->net->to.ids[k]].by)] = 0;
}

static bool has_load(const struct blame *b, size_t device)
{
	for (uint32_t k = b->net->to.start[device]; k < b->net->to.start[device + 1]; k++)
		if (b->load[b->net->to.ids[k]] > 0)
			return true;
	return false;
}

static void move(struct blame *b)
{
	const size_t n_edges = b->net->n_edges;
	const struct observed *o = b->net->o;
	for (int pass = 0; pass < PASSES; pass++) {
		bool moved = false;
		for (size_t d = 0; d < o->n_devices; d++)
			if (has_load(b, d)) {
				pass_device(b, &o->devices[d]);
				moved = true;
			}
		double *done = b->load;
		b->load = b->next;
		b->next = done;
		memset(done, 0, n_edges * sizeof(*done));
		if (!moved)
			return;
	}
	for (size_t i = 0; i < n_edges; i++)
		b->unresolved += b->load[i];
}

/* ---- trees that hang together -------------------------------------------- */

static int find(int *comp, int d)
{
	while (comp[d] != d)
		d = comp[d] = comp[comp[d]];
	return d;
}

static double start(struct blame *b)
{
	const struct pause_net *net = b->net;
	const size_t n_edges = net->n_edges;
	double sum = 0;
	for (size_t d = 0; d < net->o->n_devices; d++)
		b->comp[d] = (int)d;
	for (size_t i = 0; i < n_edges; i++) {
		const struct pause_edge *e = &net->edges[i];
		if (e->priority != net->priority)
			continue;
		sum += e->weight;
		if (e->by)
			b->load[i] = e->weight;
		else
			b->host[port_index(net->o, e->at)] += e->weight;
		if (e->at && e->by)
			b->comp[find(b->comp, device_of(e->at))] = find(b->comp, device_of(e->by));
	}
	for (size_t i = 0; i < n_edges; i++) {
		struct pause_edge *e = &net->edges[i];
		if (e->priority != net->priority)
			continue;
		e->tree = (uint32_t)find(b->comp, device_of(e->at ? e->at : e->by));
		b->comp_sum[e->tree] += e->weight;
	}
	for (size_t d = 0; d < net->o->n_devices; d++) {
		double most = 0;
		for (uint32_t k = net->to.start[d]; k < net->to.start[d + 1]; k++)
			most = fmax(most, net->edges[net->to.ids[k]].weight);
		if (most > 0)
			weigh_ports(b, &net->o->devices[d], most);
		for (uint32_t k = net->from.start[d]; most > 0 && k < net->from.start[d + 1]; k++) {
			const struct pause_edge *e = &net->edges[net->from.ids[k]];
			if (!e->at->in_fabric)
				b->weight[port_index(net->o, e->at)] = fmin(1, e->weight / most);
		}
	}
	return sum;
}

/* ---- roots --------------------------------------------------------------- */

/* Roots that are one cause: by tree and by what they have in common. */
struct joint {
	int comp;
	const char *host; /* NULL: */
	/* switch the ports are on (up) or lead to (down); behind the switches: ports */
	size_t what;
	struct pause_root *root;
};

static struct joint joint_of(struct blame *b, struct pause_root *r)
{
	struct joint j = {.comp = find(b->comp, device_of(r->port)), .host = r->host, .root = r};
	const struct fabric_port *peer = r->port->port->peer;
	if (!r->host)
		j.what = !peer              ? b->net->o->n_devices + port_index(b->net->o, r->port)
			: leads_up(r->port) ? r->port->port->device->index
					    : peer->device->index;
	return j;
}

static int joint_compare(const void *x, const void *y)
{
	const struct joint *a = x, *b = y;
	if (a->comp != b->comp)
		return a->comp - b->comp;
	if (a->host && b->host)
		return strcmp(a->host, b->host);
	if (a->host || b->host)
		return a->host ? -1 : 1;
	return a->what < b->what ? -1 : a->what > b->what;
}

static bool seen_directly(const struct pause_root *r)
{
	return r->origin == ORIGIN_HOST &&
		(r->measured ? r->level_lo >= SEEN_MEASURED : r->level_hi >= SEEN_BOUND);
}

/* Shares of one tree's causes against one another: @v[0..n) is a tree, sorted by cause. */
static void accept(const struct joint *v, size_t n)
{
	double best = 0, second = 0;
	size_t lead = 0, lead_end = 0;
	for (size_t i = 0, k; i < n; i = k) {
		double sum = 0;
		for (k = i; k < n && joint_compare(&v[i], &v[k]) == 0; k++)
			sum += v[k].root->share;
		for (size_t x = i; x < k; x++)
			v[x].root->joint_share = sum;
		second = fmax(second, fmin(best, sum));
		if (sum > best) {
			best = sum;
			lead = i;
			lead_end = k;
		}
	}
	double most = 0; /* of the roots that lead together, those that matter */
	for (size_t i = lead; i < lead_end; i++)
		most = fmax(most, v[i].root->share);
	for (size_t i = 0; i < n; i++) {
		struct pause_root *r = v[i].root;
		const bool leads = i >= lead && i < lead_end;
		r->next_share = leads ? second : best;
		r->clear = seen_directly(r) ||
			(leads && r->joint_share >= ACCEPT_SHARE &&
				r->joint_share >= ACCEPT_TIMES * second &&
				r->share * ACCEPT_TIMES >= most);
	}
}

static void add_root(struct blame *b, const struct port_seen *p, enum pause_origin origin,
	double pressure, struct pause_root **v, size_t *n, size_t *cap)
{
	const struct pause_net *net = b->net;
	const double tree = b->comp_sum[find(b->comp, device_of(p))];
	const uint32_t e = net->edge_at[port_index(net->o, p)];
	struct pause_root r = {.origin = origin,
		.port = p,
		.host = p->port->host,
		.priority = net->priority,
		.pressure = pressure,
		.tree = (uint32_t)find(b->comp, device_of(p)),
		.share = tree > 0 ? fmin(1, pressure / tree) : 0,
		.level_lo = NAN,
		.level_hi = NAN};
	if (e) {
		r.level_lo = net->edges[e - 1].lo;
		r.level_hi = net->edges[e - 1].hi;
		r.measured = net->edges[e - 1].measured;
	}
	arena_grow(net->a, *v, *n, *cap);
	(*v)[(*n)++] = r;
}

static void roots_of(struct blame *b, struct pause_root **v, size_t *n, size_t *cap)
{
	const struct observed *o = b->net->o;
	const size_t first = *n;
	for (size_t i = 0; i < o->n_ports; i++) {
		const double tree = b->comp_sum[find(b->comp, device_of(&o->ports[i]))];
		if (b->host[i] > 0)
			add_root(b, &o->ports[i], ORIGIN_HOST, b->host[i], v, n, cap);
		if (b->queue[i] > SMALLEST_SHARE * tree)
			add_root(b, &o->ports[i], ORIGIN_QUEUE, b->queue[i], v, n, cap);
	}
	const size_t found = *n - first;
	if (!found)
		return;
	struct joint *j = arena_array(b->net->a, struct joint, found);
	for (size_t i = 0; i < found; i++)
		j[i] = joint_of(b, &(*v)[first + i]);
	qsort(j, found, sizeof(*j), joint_compare);
	for (size_t i = 0, k; i < found; i = k) {
		for (k = i; k < found && j[k].comp == j[i].comp; k++)
			;
		accept(&j[i], k - i);
	}
}

/* ---- who waits ----------------------------------------------------------- */

/* a switch is looked through once for outputs to one neighbour, once more for another: then nothing
 * is left out */
struct scanned {
	int32_t neighbour[2]; /* [leads up]: + 1 */
	bool all[2], counted;
};

struct tree {
	const struct pause_net *net;
	bool *edge_seen;
	struct scanned *scanned; /* [device] */
	uint32_t *queue;
	size_t head, tail;
};

/* The edges that wait for @out, an egress port: inputs of its switch that may have filled it. */
static void waiting_for(struct tree *t, const struct port_seen *out)
{
	const int d = device_of(out), up = leads_up(out);
	struct scanned *s = &t->scanned[d];
	const int32_t neighbour = 1 +
		(peer_device(out) != NO_DEVICE
				? peer_device(out)
				: (int32_t)(t->net->o->n_devices + port_index(t->net->o, out)));
	if (s->all[up] || s->neighbour[up] == neighbour)
		return;
	s->all[up] = s->neighbour[up] != 0;
	s->neighbour[up] = neighbour;
	for (uint32_t k = t->net->to.start[d]; k < t->net->to.start[d + 1]; k++) {
		const uint32_t id = t->net->to.ids[k];
		if (t->edge_seen[id] || edge_level(&t->net->edges[id]) < WAITS ||
			!can_pass(t->net->edges[id].by, out))
			continue;
		t->edge_seen[id] = true;
		t->queue[t->tail++] = id;
	}
}

/* What is left of a tree that was drawn: the marks, and how many switches wait in it. */
static size_t wipe(struct tree *t, int root_device)
{
	size_t switches = 0;
	for (size_t i = 0; i < t->tail; i++) {
		const struct pause_edge *e = &t->net->edges[t->queue[i]];
		t->edge_seen[t->queue[i]] = false;
		if (e->at) {
			switches += !t->scanned[device_of(e->at)].counted;
			t->scanned[device_of(e->at)].counted = true;
		}
	}
	for (size_t i = 0; i < t->tail; i++)
		if (t->net->edges[t->queue[i]].at)
			t->scanned[device_of(t->net->edges[t->queue[i]].at)] = (struct scanned){0};
	t->scanned[root_device] = (struct scanned){0};
	return switches;
}

static void draw(struct tree *t, struct pause_root *r)
{
	const struct pause_net *net = t->net;
	const uint32_t own = net->edge_at[port_index(net->o, r->port)];
	t->head = t->tail = 0;
	if (own && r->origin == ORIGIN_HOST) {
		t->edge_seen[own - 1] = true;
		/* the switch itself waits for the host: the first to be told */
		t->queue[t->tail++] = own - 1;
		t->head = 1;
	}
	waiting_for(t, r->port);
	r->n_direct = t->tail;
	for (; t->head < t->tail; t->head++)
		if (net->edges[t->queue[t->head]].at)
			waiting_for(t, net->edges[t->queue[t->head]].at);
	const struct pause_edge **all = arena_array(net->a, const struct pause_edge *, t->tail + 1);
	for (size_t i = 0; i < t->tail; i++) {
		all[i] = &net->edges[t->queue[i]];
		r->n_hosts += !all[i]->at;
	}
	r->direct = all;
	r->indirect = all + r->n_direct;
	r->n_indirect = t->tail - r->n_direct;
	r->n_switches = wipe(t, device_of(r->port));
}

static int by_pressure(const void *x, const void *y)
{
	const struct pause_root *a = *(struct pause_root *const *)x,
				*b = *(struct pause_root *const *)y;
	if (a->pressure != b->pressure)
		return a->pressure > b->pressure ? -1 : 1;
	return a < b ? -1 : a > b; /* one array, in the order of ports */
}

static void draw_trees(const struct pause_net *net, struct pause_root *v, size_t n)
{
	struct pause_root **order = arena_array(net->a, struct pause_root *, n + 1);
	struct tree t = {.net = net,
		.edge_seen = arena_array(net->a, bool, net->n_edges),
		.scanned = arena_array(net->a, struct scanned, net->o->n_devices),
		.queue = arena_array(net->a, uint32_t, net->n_edges)};
	for (size_t i = 0; i < n; i++)
		order[i] = &v[i];
	qsort(order, n, sizeof(*order), by_pressure);
	for (size_t i = 0; i < n && i < PAUSE_TREES; i++)
		draw(&t, order[i]);
}

void pause_blame(const struct pause_net *net, struct pause_root **v, size_t *n, size_t *cap,
	double *ret_pressure, double *ret_unresolved)
{
	const size_t ports = net->o->n_ports + 1, devices = net->o->n_devices + 1, first = *n;
	struct arena *a = net->a;
	struct blame b = {.net = net,
		.weight = arena_array(a, double, ports),
		.load = arena_array(a, double, net->n_edges),
		.next = arena_array(a, double, net->n_edges),
		.host = arena_array(a, double, ports),
		.queue = arena_array(a, double, ports),
		.own = arena_array(a, double, ports),
		.sent = {arena_array(a, double, devices), arena_array(a, double, devices)},
		.peer = arena_array(a, double, devices),
		.comp = arena_array(a, int, devices),
		.comp_sum = arena_array(a, double, devices),
		.sort = arena_array(a, double, ports)};
	*ret_pressure = start(&b);
	move(&b);
	roots_of(&b, v, n, cap);
	*ret_unresolved = b.unresolved;
	draw_trees(net, *v + first, *n - first);
}
