/* congestion_measure - see the header. */
#include "analyzers/measure/congestion_measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/str.h"
#include "db/model/entity.h"

#define PACKETS_MIN 1000.0 /* fewer prove nothing of a ratio: tuning facts, section e */
#define OCTETS_MIN 1e7 /* a port that sent as much must have counted packets */
#define BOUND_FACTOR                                                                               \
	10 /* a bound from frames is some ten times what was paused at least (measured in          \
	      simulation: 10 to 50) */
#define SINGLED_OUT 3 /* hosts within this factor of the strongest are one group */
#define MAD_SCALE 1.4826 /* of a normal distribution */
#define LOADED 0.3 /* utilisation from which a slow port is a bottleneck */

/* ---- one lane ------------------------------------------------------------ */

double pause_level(const struct pause_share *p, const struct amount *frames, double speed_bps)
{
	if (p->measured || isnan(p->hi))
		return p->lo;
	const double hold_ns = speed_bps > 0 ? pause_frame_max_ns((uint64_t)speed_bps) : NAN;
	return frames->known && !isnan(hold_ns)
		? fmax(p->hi, frames->value * hold_ns / (double)frames->covered_ns)
		: p->hi;
}

static double speed_of(const struct port_seen *p)
{
	return (double)p->out.capacity_bps;
}
double tx_level(const struct lane_seen *l)
{
	return pause_level(&l->tx_pause, &l->tx_frames, speed_of(l->port));
}
double rx_level(const struct lane_seen *l)
{
	return pause_level(&l->rx_pause, &l->rx_frames, speed_of(l->port));
}

bool level_counts(const struct congestion *c, double level, bool measured)
{
	return level >= (measured ? c->floor : c->floor * BOUND_FACTOR);
}

/* What a queue's marks are a share of: its own packets; else those of its port; else its bytes in
 * packets of the largest size. */
static double packets_of(const struct lane_seen *l, double lossless_mtu)
{
	if (l->out_packets.known)
		return l->out_packets.value;
	if (l->port->out_packets.known)
		return l->port->out_packets.value;
	const double octets = l->out_octets.known ? l->out_octets.value
		: l->port->out_known              ? (double)l->port->out.octets
						  : NAN;
	return lossless_mtu > 0 ? octets / lossless_mtu : NAN;
}

struct marks lane_marks(const struct lane_seen *l, double lossless_mtu)
{
	struct marks m = {
		.alive = l->marked.alive, .on = l->ecn_enabled > 0, .off = l->ecn_enabled == 0};
	const double packets = packets_of(l, lossless_mtu);
	m.stale = l->out_packets.known && l->out_packets.value == 0 && l->marked.value == 0 &&
		l->port->out_known && (double)l->port->out.octets > OCTETS_MIN;
	if (l->marked.known && packets >= PACKETS_MIN) {
		m.known = true;
		m.marked = fmin(l->marked.value, packets);
		m.packets = packets;
	}
	return m;
}

void marks_add(struct marks *sum, const struct marks *m)
{
	sum->alive |= m->alive;
	sum->stale |= m->stale;
	sum->on += m->on;
	sum->off += m->off;
	if (m->known) {
		sum->known = true;
		sum->marked += m->marked;
		sum->packets += m->packets;
	}
}

bool port_slower(const struct congestion *c, const struct port_seen *p)
{
	const double speed = speed_of(p);
	if (p->out.read_bps && p->out.declared_bps && p->out.read_bps < p->out.declared_bps)
		return true;
	return p->port->host && speed > 0 && speed < c->host_capacity_bps;
}

/* ---- hosts --------------------------------------------------------------- */

struct rail { /* a host-facing port whose neighbour we pause */
	const struct lane_seen *lane;
	double level;
};

static int by_host(const void *a, const void *b)
{
	const struct rail *x = a, *y = b;
	const int c = strcmp(x->lane->port->port->host, y->lane->port->port->host);
	if (c)
		return c;
	return x->lane->port->port->index < y->lane->port->port->index
		? -1
		: x->lane->port->port->index > y->lane->port->port->index;
}

static int by_level(const void *a, const void *b)
{
	const struct paused_host *x = a, *y = b;
	if (x->level != y->level)
		return x->level > y->level ? -1 : 1;
	return strcmp(x->host, y->host);
}

static bool is_explained(const struct congestion *c, const char *host)
{
	for (size_t i = 0; i < c->graph->n_roots; i++) {
		const struct pause_root *r = &c->graph->roots[i];
		if (r->origin != ORIGIN_HOST || !r->clear || r->priority != c->priority)
			continue;
		if (str_eq(r->host, host))
			return true;
		for (size_t k = 0; k < r->n_direct + r->n_indirect; k++) {
			const struct pause_edge *e =
				k < r->n_direct ? r->direct[k] : r->indirect[k - r->n_direct];
			if (!e->at && str_eq(e->host, host))
				return true;
		}
	}
	return false;
}

static bool is_singled(const struct congestion *c, const char *host)
{
	for (size_t i = 0; i < c->n_singled && c->n_singled <= HOSTS_NAMED; i++)
		if (str_eq(c->hosts[i].host, host))
			return true;
	return false;
}

static double strongest_other_input(const struct congestion *c, const struct lane_seen *l)
{
	const struct device_seen *d = l->port->device;
	double best = 0;
	for (size_t i = 0; i < d->n_ports; i++) {
		const struct lane_seen *x = observed_lane(&d->ports[i], c->priority);
		if (x && !str_eq(d->ports[i].port->host, l->port->port->host) &&
			!is_singled(c, d->ports[i].port->host))
			best = fmax(best, tx_level(x)); /* fmax() passes NAN over */
	}
	return best;
}

static void count_rails(struct congestion *c)
{
	for (size_t i = 0; i < c->o->n_fabric_ports; i++) {
		const struct port_seen *p = &c->o->ports[i];
		const struct lane_seen *l = p->port->host ? observed_lane(p, c->priority) : NULL;
		if (!l || isnan(tx_level(l)))
			continue;
		for (size_t k = 0; k < c->n_hosts && k < HOSTS_NAMED; k++)
			c->hosts[k].rails += str_eq(c->hosts[k].host, p->port->host);
	}
}

/* Rails of one host lie side by side in @v. */
static void gather_hosts(struct congestion *c, struct rail *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_host);
	c->hosts = arena_array(c->in->arena, struct paused_host, n + 1);
	for (size_t i = 0, end; i < n; i = end) {
		struct paused_host *h = &c->hosts[c->n_hosts++];
		for (end = i; end < n &&
			str_eq(v[end].lane->port->port->host, v[i].lane->port->port->host);
			end++)
			h->level = fmax(h->level, v[end].level);
		h->host = v[i].lane->port->port->host;
		h->measured = true;
		for (size_t k = i; k < end; k++) {
			h->rails_paused += v[k].level * SINGLED_OUT >= h->level;
			h->measured &= v[k].lane->tx_pause.measured;
			if (!h->lane && v[k].level * 2 >= h->level)
				h->lane = v[k].lane;
		}
	}
	qsort(c->hosts, c->n_hosts, sizeof(*c->hosts), by_level);
	while (c->n_singled < c->n_hosts &&
		c->hosts[c->n_singled].level * SINGLED_OUT >= c->hosts[0].level)
		c->n_singled++;
	for (size_t i = 0; i < c->n_hosts && i < HOSTS_NAMED; i++) {
		c->hosts[i].at_leaf = strongest_other_input(c, c->hosts[i].lane);
		c->hosts[i].explained = is_explained(c, c->hosts[i].host);
	}
}

/* How calm the rest is: median and scaled median absolute deviation. */
static void calm(struct congestion *c)
{
	double *away = arena_array(c->in->arena, double, c->n_known + 1);
	c->others = arena_array(c->in->arena, double, c->n_known + 1);
	for (size_t i = 0; i < c->o->n_fabric_ports; i++) {
		const struct port_seen *p = &c->o->ports[i];
		const struct lane_seen *l = p->port->host ? observed_lane(p, c->priority) : NULL;
		const double level = l ? tx_level(l) : NAN;
		if (isnan(level) || is_singled(c, p->port->host))
			continue;
		c->others[c->n_others++] = level;
		c->others_max = fmax(c->others_max, level);
	}
	if (!c->n_others || c->others_max <= 0)
		return;
	c->median = quantile_of(c->others, c->n_others, 0.5);
	for (size_t i = 0; i < c->n_others; i++)
		away[i] = fabs(c->others[i] - c->median);
	c->spread = MAD_SCALE * quantile_of(away, c->n_others, 0.5);
}

static void survey_hosts(struct congestion *c)
{
	struct rail *v = arena_array(c->in->arena, struct rail, c->o->n_fabric_ports + 1);
	size_t n = 0;
	c->measured = true;
	for (size_t i = 0; i < c->o->n_fabric_ports; i++) {
		const struct port_seen *p = &c->o->ports[i];
		const struct lane_seen *l = p->port->host ? observed_lane(p, c->priority) : NULL;
		const double level = l ? tx_level(l) : NAN;
		if (isnan(level))
			continue;
		c->n_known++;
		c->measured &= l->tx_pause.measured;
		if (level_counts(c, level, l->tx_pause.measured))
			v[n++] = (struct rail){l, level};
	}
	gather_hosts(c, v, n);
	count_rails(c);
	calm(c);
}

static int by_number(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Speed of the median host-facing port: what one port has to be compared with. */
static void host_speed(struct congestion *c)
{
	double *v = arena_array(c->in->arena, double, c->o->n_fabric_ports + 1);
	size_t n = 0;
	for (size_t i = 0; i < c->o->n_fabric_ports; i++)
		if (c->o->ports[i].port->host && speed_of(&c->o->ports[i]) > 0)
			v[n++] = speed_of(&c->o->ports[i]);
	if (!n)
		return;
	qsort(v, n, sizeof(*v), by_number);
	c->host_capacity_bps = v[n / 2];
	for (size_t i = 0; i < c->o->n_fabric_ports; i++) {
		const struct port_seen *p = &c->o->ports[i];
		c->slow_host |= p->port->host && port_slower(c, p) && p->out_known &&
			p->out.utilization_ratio > LOADED;
	}
}

/* ---- switches ------------------------------------------------------------ */

static void survey_device(struct congestion *c, const struct device_seen *d)
{
	struct device_load *load = &c->devices[d->device->index];
	for (size_t i = 0; i < d->n_ports; i++) {
		const struct lane_seen *l = observed_lane(&d->ports[i], c->priority);
		if (!l)
			continue;
		const struct marks m = lane_marks(l, (double)c->o->fabric->lossless_mtu_bytes);
		marks_add(&load->marks, &m);
		const double level = tx_level(l);
		if (isnan(level) || !level_counts(c, level, l->tx_pause.measured))
			continue;
		load->inputs++;
		load->hosts += d->ports[i].port->host != NULL;
		load->pressure += fmin(1, level);
		if (level > load->level) {
			load->level = level;
			load->loudest = l;
		}
		if (d->ports[i].port->peer)
			c->switch_level = fmax(c->switch_level, level);
	}
	marks_add(&c->all, &load->marks);
}

void congestion_measure(
	const struct analyzer_in *in, int priority, double floor, struct congestion *ret)
{
	*ret = (struct congestion){.in = in,
		.o = observe(in),
		.graph = pause_graph(in),
		.priority = priority,
		.floor = floor};
	ret->devices = arena_array(in->arena, struct device_load, ret->o->n_devices + 1);
	for (size_t i = 0; i < ret->o->n_devices; i++)
		survey_device(ret, &ret->o->devices[i]);
	for (size_t i = 0; i < ret->graph->n_roots; i++) {
		const struct pause_root *r = &ret->graph->roots[i];
		if (r->origin == ORIGIN_HOST && r->clear && r->priority == priority &&
			ret->graph->pressure[priority] > 0)
			ret->host_root_share += r->pressure / ret->graph->pressure[priority];
	}
	host_speed(ret);
	survey_hosts(ret);
}

/* ---- groups -------------------------------------------------------------- */

static double capacity_ratio(const struct congestion *c, const struct device_seen *d)
{
	double hosts = 0, up = 0;
	for (size_t i = 0; i < d->n_ports; i++) {
		const struct port_seen *p = &d->ports[i];
		const double speed = speed_of(p);
		if (p->oper_up == 0)
			continue;
		if (p->port->host)
			hosts += speed > 0 ? speed : c->host_capacity_bps;
		else if (p->port->peer)
			up += speed > 0 ? speed : NAN;
	}
	return hosts > 0 && up > 0 ? hosts / up : NAN;
}

/* Nothing was heard of the switch at its other end, although it has been before. */
static bool is_silent(const struct congestion *c, const struct port_seen *p)
{
	const struct port_seen *peer = observed_peer(c->o, p);
	return peer && peer->entity != ENTITY_NONE && peer->device->n_series == 0;
}

static void group_sum(
	const struct congestion *c, const struct fabric_group *g, struct group_load *ret)
{
	double sum = 0, max = 0;
	unsigned n = 0;
	for (size_t i = 0; i < g->n_members; i++) {
		const struct port_seen *p = observed_port(c->o, g->members[i]);
		const struct lane_seen *l = p ? observed_lane(p, c->priority) : NULL;
		ret->members++;
		if (!p || p->oper_up == 0 || is_silent(c, p))
			continue;
		ret->live++;
		ret->slower += p->out.read_bps && p->out.declared_bps &&
			p->out.read_bps < p->out.declared_bps;
		if (l) {
			const struct marks m =
				lane_marks(l, (double)c->o->fabric->lossless_mtu_bytes);
			ret->marked += marks_ratio(&m) >= 0.01;
		}
		if (!p->out_known)
			continue;
		const double load = isnan(p->out.utilization_ratio) ? p->out.rate_bps
								    : p->out.utilization_ratio;
		sum += load;
		max = fmax(max, load);
		n++;
	}
	if (n && n == ret->live && sum > 0) {
		ret->mean = sum / n;
		ret->max = max;
		ret->imbalance = max / ret->mean - 1;
	}
}

bool group_measure(const struct congestion *c, const struct port_seen *p, struct group_load *ret)
{
	*ret = (struct group_load){
		.mean = NAN, .max = NAN, .imbalance = NAN, .oversubscription = NAN};
	const struct fabric_device *d = p->port->device;
	for (size_t i = 0; i < d->n_groups; i++) {
		const struct fabric_group *g = &d->groups[i];
		if (strncmp(g->id, "lag:", 4) == 0 ||
			(ret->group && ret->group->n_members >= g->n_members))
			continue;
		for (size_t k = 0; k < g->n_members; k++)
			if (g->members[k] == p->port ||
				(p->port->lag && str_eq(g->members[k]->lag, p->port->lag)))
				ret->group = g;
	}
	if (!ret->group)
		return false;
	group_sum(c, ret->group, ret);
	if (d->role == ROLE_LEAF)
		ret->oversubscription = capacity_ratio(c, p->device);
	return true;
}
