/*
 * pause_blame - load goes from each edge towards whoever fills the buffer behind it, and comes to
 * rest at roots.
 *
 * The load of an input is shared out over the egress queues of its switch. An egress that is paused
 * itself passes on min(1, its pause / the pause it causes); the rest is its own. Load moves one
 * switch a pass, PASSES times: a path through a fabric of three tiers takes six. What still moves
 * then goes round in a ring, and stays unresolved. (The idea is that of wait-for graphs weighted by
 * traffic: Hawkeye, SIGCOMM 2025; here from counters alone.)
 */
#include "analyzers/measure/pause/pause_blame.h"

#include "base/stats.h"

/* A root is accepted with this share of the pressure of its tree, and this many times the next. */
#define ACCEPT_SHARE 0.4
#define ACCEPT_TIMES 3.0
/* Of the window: a host that pauses its port for longer is believed whatever its share is. */
#define SEEN_MEASURED 0.01
#define SEEN_BOUND 0.1
#define SMALLEST_SHARE 0.005 /* a queue with less pressure is not worth a root */
#define MARKS_MIN 0.01 /* share of packets marked, from which marks tell queues apart */
#define PACKETS_MIN 1000 /* with fewer packets a share of them says nothing */
#define FULL 0.9 /* utilisation over a window at which bytes must wait */
/* Times the median watermark or load of a switch's ports, from which one stands out. */
#define ABOVE_USUAL 1.2
enum { PASSES = 8, USUAL_MIN = 4 /* ports; a median of fewer says nothing */ };

struct blame {
	const struct pause_net *net;
	double *weight; /* [port]: what its queue is worth as an explanation */
	double *load, *next; /* [edge] */
	double *host, *queue; /* [port]: load that came to rest */
	/* [port]: load that came in there, per unit of weight: it must not go out there again
	 * (scratch) */
	double *own;
	/* [device]: the same of all ports to a neighbour, from below and from above; weight of the
	 * ports towards it (scratch) */
	double *sent[2], *peer;
	int *comp; /* [device]: union-find */
	double *comp_sum; /* [device]: pressure of the tree */
	double unresolved;
	double *sort; /* scratch for medians */
};

/* ---- what the egress queues of a switch show ----------------------------- */

static double prio_marks_ratio(const struct port_prio *prio)
{
	if (prio && prio->marked.known && prio->marked.alive && prio->out_packets.known &&
		prio->out_packets.value >= PACKETS_MIN)
		return prio->marked.value / prio->out_packets.value;
	return NAN;
}

static double edge_at_weight(const struct pause_net *net, const struct port_seen *port)
{
	const uint32_t e = net->edge_at[port_index(net->o, port)];
	if (e)
		return net->edges[e - 1].weight;
	return 0;
}

enum blame_sign { SIGN_PEAK, SIGN_MARKS, SIGN_LOAD };

static double blame_sign_of(
	const struct pause_net *net, const struct port_seen *port, enum blame_sign what)
{
	const struct port_prio *l = observed_prio(port, net->priority);
	switch (what) {
	case SIGN_PEAK:
		if (l)
			return l->queue_peak;
		return NAN;
	case SIGN_MARKS: return prio_marks_ratio(l);
	case SIGN_LOAD:
		if (port->out_known)
			return port->out.utilization_ratio;
		return NAN;
	}
	return NAN;
}

struct blame_spread { /* of one measure over the ports of a switch */
	size_t n;
	double max, median;
};
static struct blame_spread pause_blame_spread_of(
	struct blame *blame, const struct device_seen *device, enum blame_sign what)
{
	struct blame_spread s = {.max = 0, .median = 0};
	for (size_t i = 0; i < device->n_ports; i++) {
		const double v = blame_sign_of(blame->net, &device->ports[i], what);
		if (isnan(v))
			continue;
		blame->sort[s.n++] = v;
		s.max = fmax(s.max, v);
	}
	if (s.n >= USUAL_MIN)
		s.median = stats_median(blame->sort, s.n);
	return s;
}

/* What stands out of the usual, as a share of what stands out most. */
static double pause_blame_outstanding(const struct blame_spread *spread, double excess)
{
	const double usual = ABOVE_USUAL * spread->median;
	if (isnan(excess) || spread->max <= 0)
		return 0;
	if (spread->max > usual)
		return fmax(0, (excess - usual) / (spread->max - usual));
	return excess / spread->max;
}

/* Does a port that is not paused hold bytes? By its marks where the switch marks at all, else by a
 * full link. */
static double weight_unpaused(
	const struct blame *blame, const struct port_seen *port, const struct blame_spread *marks)
{
	if (marks->max >= MARKS_MIN)
		return pause_blame_outstanding(marks, blame_sign_of(blame->net, port, SIGN_MARKS));
	return blame_sign_of(blame->net, port, SIGN_LOAD) >= FULL;
}

/*
 * Watermarks say where bytes were. Without them a paused port holds what it may not send, and
 * another one holds bytes where it marks or is full. @most: the strongest pause among the inputs,
 * the yardstick for both.
 */
static void weigh_ports(struct blame *blame, const struct device_seen *device, double most)
{
	const struct blame_spread peaks = pause_blame_spread_of(blame, device, SIGN_PEAK),
				  marks = pause_blame_spread_of(blame, device, SIGN_MARKS),
				  load = pause_blame_spread_of(blame, device, SIGN_LOAD);
	double sum = 0;
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct port_seen *p = &device->ports[i];
		double *w = &blame->weight[port_index(blame->net->o, p)];
		const double paused = edge_at_weight(blame->net, p);
		const double peak = blame_sign_of(blame->net, p, SIGN_PEAK);
		*w = 0;
		if (p->oper_up == 0)
			continue;
		if (peaks.n && !isnan(peak))
			*w = pause_blame_outstanding(&peaks, peak);
		else if (peaks.n)
			*w = fmin(1, paused / most);
		else
			*w = fmax(paused / most, weight_unpaused(blame, p, &marks));
		sum += *w;
	}
	/* nothing waits, marks or is full: a load far above that of the others must do */
	for (size_t i = 0; sum <= 0 && i < device->n_ports; i++)
		if (load.n >= USUAL_MIN && load.max > ABOVE_USUAL * load.median &&
			device->ports[i].oper_up != 0)
			blame->weight[port_index(blame->net->o, &device->ports[i])] =
				pause_blame_outstanding(&load,
					blame_sign_of(blame->net, &device->ports[i], SIGN_LOAD));
}

/* ---- load moves ---------------------------------------------------------- */

/* Ports of a switch that may carry load away: those of the fabric, and any other that is paused.
 * Strangers are few. */
struct outs {
	const struct blame *b;
	const struct device_seen *d;
	size_t i;
};
static const struct port_seen *next_out(struct outs *outs)
{
	if (outs->i < outs->d->n_ports)
		return &outs->d->ports[outs->i++];
	const struct pause_net *net = outs->b->net;
	const size_t device = outs->d->device->index;
	for (size_t k = net->from.start[device] + (outs->i - outs->d->n_ports);
		k < net->from.start[device + 1]; k++) {
		outs->i++;
		const struct port_seen *at = net->edges[net->from.ids[k]].at;
		if (!at->in_fabric)
			return at;
	}
	return NULL;
}

struct turn { /* of one switch: load that came in, per unit of weight it can go to */
	double coef[2]; /* from below and from above */
	double load, paused; /* sum, and sum of load x pause: for the mean pause of what came in */
};

static struct turn take_in(struct blame *blame, size_t device, double all, double down)
{
	const struct pause_net *net = blame->net;
	struct turn t = {.load = 0};
	for (uint32_t k = net->to.start[device]; k < net->to.start[device + 1]; k++) {
		const uint32_t id = net->to.ids[k];
		const struct port_seen *by = net->edges[id].by;
		const double load = blame->load[id];
		if (load <= 0)
			continue;
		const int peer = pause_peer_device_of(by), above = leads_up(by);
		double back;
		if (peer == NO_DEVICE)
			back = blame->weight[port_index(net->o, by)];
		else if (above)
			back = 0;
		else
			back = blame->peer[peer];
		double room = all - back;
		if (above)
			room = down - back;
		if (room <= 1e-9) {
			blame->unresolved += load;
			continue;
		}
		t.coef[above] += load / room;
		if (peer == NO_DEVICE)
			blame->own[port_index(net->o, by)] += load / room;
		else
			blame->sent[above][peer] += load / room;
		t.load += load;
		t.paused += load * net->edges[id].weight;
	}
	return t;
}

static void give_out(struct blame *blame, const struct port_seen *port, const struct turn *turn)
{
	const struct pause_net *net = blame->net;
	const size_t i = port_index(net->o, port);
	const int peer = pause_peer_device_of(port), up = leads_up(port);
	/* what came from this neighbour does not go back to it */
	double back[2] = {blame->own[i], 0};
	if (peer != NO_DEVICE) {
		back[0] = blame->sent[0][peer];
		back[1] = blame->sent[1][peer];
	}
	double coef = turn->coef[0] - back[0];
	if (!up)
		coef += turn->coef[1] - back[1];
	const double moved = fmax(0, blame->weight[i] * coef);
	if (moved <= 0)
		return;
	const uint32_t e = net->edge_at[i];
	double on = 0;
	if (e)
		on = moved * fmin(1, net->edges[e - 1].weight * turn->load / turn->paused);
	blame->queue[i] += moved - on;
	if (e && net->edges[e - 1].by)
		blame->next[e - 1] += on;
	else
		blame->host[i] += on;
}

static void pass_device(struct blame *blame, const struct device_seen *device)
{
	double all = 0, down = 0;
	const struct port_seen *p;
	for (struct outs o = {blame, device, 0}; (p = next_out(&o));) {
		const double w = blame->weight[port_index(blame->net->o, p)];
		all += w;
		if (!leads_up(p))
			down += w;
		if (pause_peer_device_of(p) != NO_DEVICE)
			blame->peer[pause_peer_device_of(p)] += w;
	}
	const struct turn t = take_in(blame, device->device->index, all, down);
	for (struct outs o = {blame, device, 0}; t.load > 0 && (p = next_out(&o));)
		give_out(blame, p, &t);
	for (struct outs o = {blame, device, 0}; (p = next_out(&o));) {
		blame->own[port_index(blame->net->o, p)] = 0;
		if (pause_peer_device_of(p) != NO_DEVICE)
			blame->peer[pause_peer_device_of(p)] =
				blame->sent[0][pause_peer_device_of(p)] =
					blame->sent[1][pause_peer_device_of(p)] = 0;
	}
	for (uint32_t k = blame->net->to.start[device->device->index];
		k < blame->net->to.start[device->device->index + 1]; k++)
		/* a stranger's */
		blame->own[port_index(blame->net->o, blame->net->edges[blame->net->to.ids[k]].by)] =
			0;
}

static bool has_load(const struct blame *blame, size_t device)
{
	for (uint32_t k = blame->net->to.start[device]; k < blame->net->to.start[device + 1]; k++)
		if (blame->load[blame->net->to.ids[k]] > 0)
			return true;
	return false;
}

static void pause_blame_move(struct blame *blame)
{
	const size_t n_edges = blame->net->n_edges;
	const struct observed *o = blame->net->o;
	for (int pass = 0; pass < PASSES; pass++) {
		bool moved = false;
		for (size_t d = 0; d < o->n_devices; d++)
			if (has_load(blame, d)) {
				pass_device(blame, &o->devices[d]);
				moved = true;
			}
		double *done = blame->load;
		blame->load = blame->next;
		blame->next = done;
		memset(done, 0, n_edges * sizeof(*done));
		if (!moved)
			return;
	}
	for (size_t i = 0; i < n_edges; i++)
		blame->unresolved += blame->load[i];
}

/* ---- trees that hang together -------------------------------------------- */

static int pause_blame_find(int *comp, int at)
{
	while (comp[at] != at)
		at = comp[at] = comp[comp[at]];
	return at;
}

static double pause_blame_start(struct blame *blame)
{
	const struct pause_net *net = blame->net;
	const size_t n_edges = net->n_edges;
	double sum = 0;
	for (size_t d = 0; d < net->o->n_devices; d++)
		blame->comp[d] = (int)d;
	for (size_t i = 0; i < n_edges; i++) {
		const struct pause_edge *e = &net->edges[i];
		if (e->priority != net->priority)
			continue;
		sum += e->weight;
		if (e->by)
			blame->load[i] = e->weight;
		else
			blame->host[port_index(net->o, e->at)] += e->weight;
		if (e->at && e->by)
			blame->comp[pause_blame_find(blame->comp, pause_device_of(e->at))] =
				pause_blame_find(blame->comp, pause_device_of(e->by));
	}
	for (size_t i = 0; i < n_edges; i++) {
		struct pause_edge *e = &net->edges[i];
		if (e->priority != net->priority)
			continue;
		e->tree = (uint32_t)pause_blame_find(
			blame->comp, pause_device_of(e->at ? e->at : e->by));
		blame->comp_sum[e->tree] += e->weight;
	}
	for (size_t d = 0; d < net->o->n_devices; d++) {
		double most = 0;
		for (uint32_t k = net->to.start[d]; k < net->to.start[d + 1]; k++)
			most = fmax(most, net->edges[net->to.ids[k]].weight);
		if (most > 0)
			weigh_ports(blame, &net->o->devices[d], most);
		for (uint32_t k = net->from.start[d]; most > 0 && k < net->from.start[d + 1]; k++) {
			const struct pause_edge *e = &net->edges[net->from.ids[k]];
			if (!e->at->in_fabric)
				blame->weight[port_index(net->o, e->at)] =
					fmin(1, e->weight / most);
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

static struct joint joint_of(struct blame *blame, struct pause_root *root)
{
	struct joint j = {.comp = pause_blame_find(blame->comp, pause_device_of(root->port)),
		.host = root->host,
		.root = root};
	const struct fabric_port *peer = root->port->port->peer;
	if (!root->host) {
		if (!peer)
			j.what = blame->net->o->n_devices + port_index(blame->net->o, root->port);
		else if (leads_up(root->port))
			j.what = root->port->port->device->index;
		else
			j.what = peer->device->index;
	}
	return j;
}

static int joint_compare(const void *left, const void *right)
{
	const struct joint *a = left, *b = right;
	if (a->comp != b->comp)
		return a->comp - b->comp;
	if (a->host && b->host)
		return strcmp(a->host, b->host);
	if (a->host || b->host) {
		if (a->host)
			return -1;
		return 1;
	}
	if (a->what < b->what)
		return -1;
	return a->what > b->what;
}

static bool seen_directly(const struct pause_root *root)
{
	if (root->origin != ORIGIN_HOST)
		return false;
	if (root->measured)
		return root->level_lo >= SEEN_MEASURED;
	return root->level_hi >= SEEN_BOUND;
}

/* Shares of one tree's causes against one another: @joints[0..n) is a tree, sorted by cause. */
static void pause_blame_accept(const struct joint *joints, size_t n)
{
	double best = 0, second = 0;
	size_t lead = 0, lead_end = 0;
	for (size_t i = 0, k; i < n; i = k) {
		double sum = 0;
		for (k = i; k < n && joint_compare(&joints[i], &joints[k]) == 0; k++)
			sum += joints[k].root->share;
		for (size_t x = i; x < k; x++)
			joints[x].root->joint_share = sum;
		second = fmax(second, fmin(best, sum));
		if (sum > best) {
			best = sum;
			lead = i;
			lead_end = k;
		}
	}
	double most = 0; /* of the roots that lead together, the strongest */
	for (size_t i = lead; i < lead_end; i++)
		most = fmax(most, joints[i].root->share);
	for (size_t i = 0; i < n; i++) {
		struct pause_root *r = joints[i].root;
		const bool leads = i >= lead && i < lead_end;
		if (leads)
			r->next_share = second;
		else
			r->next_share = best;
		r->clear = seen_directly(r) ||
			(leads && r->joint_share >= ACCEPT_SHARE &&
				r->joint_share >= ACCEPT_TIMES * second &&
				r->share * ACCEPT_TIMES >= most);
	}
}

static void add_root(struct blame *blame, const struct port_seen *port, enum pause_origin origin,
	double pressure, struct pause_roots *roots)
{
	const struct pause_net *net = blame->net;
	const double tree = blame->comp_sum[pause_blame_find(blame->comp, pause_device_of(port))];
	const uint32_t e = net->edge_at[port_index(net->o, port)];
	struct pause_root r = {.origin = origin,
		.port = port,
		.host = port->port->host,
		.priority = net->priority,
		.pressure = pressure,
		.tree = (uint32_t)pause_blame_find(blame->comp, pause_device_of(port)),
		.share = tree > 0 ? fmin(1, pressure / tree) : 0,
		.level_lo = NAN,
		.level_hi = NAN};
	if (e) {
		r.level_lo = net->edges[e - 1].lo;
		r.level_hi = net->edges[e - 1].hi;
		r.measured = net->edges[e - 1].measured;
	}
	arena_grow(net->a, roots->v, roots->n, roots->cap);
	roots->v[roots->n++] = r;
}

static void roots_of(struct blame *blame, struct pause_roots *roots)
{
	const struct observed *o = blame->net->o;
	const size_t first = roots->n;
	for (size_t i = 0; i < o->n_ports; i++) {
		const double tree = blame->comp_sum[pause_blame_find(
			blame->comp, pause_device_of(&o->ports[i]))];
		if (blame->host[i] > 0)
			add_root(blame, &o->ports[i], ORIGIN_HOST, blame->host[i], roots);
		if (blame->queue[i] > SMALLEST_SHARE * tree)
			add_root(blame, &o->ports[i], ORIGIN_QUEUE, blame->queue[i], roots);
	}
	const size_t found = roots->n - first;
	if (!found)
		return;
	struct joint *j = arena_array(blame->net->a, struct joint, found);
	for (size_t i = 0; i < found; i++)
		j[i] = joint_of(blame, &roots->v[first + i]);
	qsort(j, found, sizeof(*j), joint_compare);
	for (size_t i = 0, k; i < found; i = k) {
		for (k = i; k < found && j[k].comp == j[i].comp; k++)
			;
		pause_blame_accept(&j[i], k - i);
	}
}

void pause_blame(const struct pause_net *net, struct pause_roots *roots, double *ret_pressure,
	double *ret_unresolved)
{
	const size_t ports = net->o->n_ports + 1, devices = net->o->n_devices + 1;
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
	*ret_pressure = pause_blame_start(&b);
	pause_blame_move(&b);
	roots_of(&b, roots);
	*ret_unresolved = b.unresolved;
}
