/* congestion_measure - levels of hosts and switches, marks of queues, load of ECMP groups. */
#include "analyzers/measure/congestion_measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/stats.h"
#include "agent/base/str.h"
#include "analyzers/measure/mean.h"
#include "db/model/entity.h"

#define PACKETS_MIN 1000.0 /* with fewer packets a ratio of them says nothing */
#define OCTETS_MIN 1e7 /* a port that sent as much must have counted packets */
#define SINGLED_OUT 3 /* hosts within this factor of the strongest are one group */
#define MAD_SCALE 1.4826 /* MAD to standard deviation, of a normal distribution */
#define LOADED 0.3 /* utilisation from which a slow port is a bottleneck */
#define MARKED 0.01 /* share of packets, from which a member counts as marked */

/* ---- one priority of a port ------------------------------------------------------------ */

double pause_level(const struct pause_share *share, const struct amount *frames, double speed_bps)
{
	if (share->measured || isnan(share->hi))
		return share->lo;
	double hold_ns = NAN;
	if (speed_bps > 0)
		hold_ns = pause_frame_max_ns((uint64_t)speed_bps);
	if (frames->known && !isnan(hold_ns))
		return fmax(share->hi, frames->value * hold_ns / (double)frames->covered_ns);
	return share->hi;
}

static double congestion_measure_speed_of(const struct port_seen *port)
{
	return (double)port->out.capacity_bps;
}
double tx_level(const struct port_prio *prio)
{
	return pause_level(
		&prio->tx_pause, &prio->tx_frames, congestion_measure_speed_of(prio->port));
}
double rx_level(const struct port_prio *prio)
{
	return pause_level(
		&prio->rx_pause, &prio->rx_frames, congestion_measure_speed_of(prio->port));
}

bool level_counts(const struct congestion *congestion, double level, bool measured)
{
	if (measured)
		return level >= congestion->floor;
	return level >= congestion->floor * LEVEL_BOUND_FACTOR;
}

/* What a queue's marks are a share of: its own packets; else those of its port; else its bytes in
 * packets of the largest size. */
static double packets_of(const struct port_prio *prio, double lossless_mtu)
{
	if (prio->out_packets.known)
		return prio->out_packets.value;
	if (prio->port->out_packets.known)
		return prio->port->out_packets.value;
	double octets = NAN;
	if (prio->out_octets.known)
		octets = prio->out_octets.value;
	else if (prio->port->out_known)
		octets = (double)prio->port->out.octets;
	if (lossless_mtu > 0)
		return octets / lossless_mtu;
	return NAN;
}

struct marks prio_marks(const struct port_prio *prio, double lossless_mtu)
{
	struct marks m = {.alive = prio->marked.alive,
		.on = prio->ecn_enabled > 0,
		.off = prio->ecn_enabled == 0};
	const double packets = packets_of(prio, lossless_mtu);
	m.stale = prio->out_packets.known && prio->out_packets.value == 0 &&
		prio->marked.value == 0 && prio->port->out_known &&
		(double)prio->port->out.octets > OCTETS_MIN;
	if (prio->marked.known && packets >= PACKETS_MIN) {
		m.known = true;
		m.marked = fmin(prio->marked.value, packets);
		m.packets = packets;
	}
	return m;
}

void marks_add(struct marks *sum, const struct marks *marks)
{
	sum->alive |= marks->alive;
	sum->stale |= marks->stale;
	sum->on += marks->on;
	sum->off += marks->off;
	if (marks->known) {
		sum->known = true;
		sum->marked += marks->marked;
		sum->packets += marks->packets;
	}
}

bool port_slower(const struct congestion *congestion, const struct port_seen *port)
{
	const double speed = congestion_measure_speed_of(port);
	if (port->out.read_bps && port->out.declared_bps &&
		port->out.read_bps < port->out.declared_bps)
		return true;
	return port->port->host && speed > 0 && speed < congestion->host_capacity_bps;
}

/* ---- hosts --------------------------------------------------------------- */

struct rail { /* a host-facing port whose neighbour we pause */
	const struct port_prio *prio;
	double level;
};

static int congestion_measure_by_host(const void *left, const void *right)
{
	const struct rail *x = left, *y = right;
	const int c = strcmp(x->prio->port->port->host, y->prio->port->port->host);
	if (c)
		return c;
	if (x->prio->port->port->index < y->prio->port->port->index)
		return -1;
	return x->prio->port->port->index > y->prio->port->port->index;
}

static int by_level(const void *left, const void *right)
{
	const struct paused_host *x = left, *y = right;
	if (x->level != y->level) {
		if (x->level > y->level)
			return -1;
		return 1;
	}
	return strcmp(x->host, y->host);
}

static bool is_explained(const struct congestion *congestion, const char *host)
{
	for (size_t i = 0; i < congestion->graph->n_roots; i++) {
		const struct pause_root *r = &congestion->graph->roots[i];
		if (r->origin != ORIGIN_HOST || !r->clear || r->priority != congestion->priority)
			continue;
		if (str_eq(r->host, host))
			return true;
		for (size_t k = 0; k < r->n_direct + r->n_indirect; k++) {
			const struct pause_edge *e;
			if (k < r->n_direct)
				e = r->direct[k];
			else
				e = r->indirect[k - r->n_direct];
			if (!e->at && str_eq(e->host, host))
				return true;
		}
	}
	return false;
}

static bool is_singled(const struct congestion *congestion, const char *host)
{
	for (size_t i = 0; i < congestion->n_singled && congestion->n_singled <= HOSTS_NAMED; i++)
		if (str_eq(congestion->hosts[i].host, host))
			return true;
	return false;
}

static double strongest_other_input(
	const struct congestion *congestion, const struct port_prio *prio)
{
	const struct device_seen *d = prio->port->device;
	double best = 0;
	for (size_t i = 0; i < d->n_ports; i++) {
		const struct port_prio *x = observed_prio(&d->ports[i], congestion->priority);
		if (x && !str_eq(d->ports[i].port->host, prio->port->port->host) &&
			!is_singled(congestion, d->ports[i].port->host))
			best = fmax(best, tx_level(x)); /* fmax() ignores NAN */
	}
	return best;
}

static void count_rails(struct congestion *congestion)
{
	for (size_t i = 0; i < congestion->o->n_fabric_ports; i++) {
		const struct port_seen *p = &congestion->o->ports[i];
		const struct port_prio *l = NULL;
		if (p->port->host)
			l = observed_prio(p, congestion->priority);
		if (!l || isnan(tx_level(l)))
			continue;
		for (size_t k = 0; k < congestion->n_hosts && k < HOSTS_NAMED; k++)
			congestion->hosts[k].rails +=
				str_eq(congestion->hosts[k].host, p->port->host);
	}
}

/* Rails of one host lie side by side in @rails. */
static void gather_hosts(struct congestion *congestion, struct rail *rails, size_t n)
{
	qsort(rails, n, sizeof(*rails), congestion_measure_by_host);
	congestion->hosts = arena_array(congestion->in->arena, struct paused_host, n + 1);
	for (size_t i = 0, end; i < n; i = end) {
		struct paused_host *h = &congestion->hosts[congestion->n_hosts++];
		for (end = i; end < n &&
			str_eq(rails[end].prio->port->port->host, rails[i].prio->port->port->host);
			end++)
			h->level = fmax(h->level, rails[end].level);
		h->host = rails[i].prio->port->port->host;
		h->measured = true;
		for (size_t k = i; k < end; k++) {
			h->sum += rails[k].level;
			h->rails_paused += rails[k].level * SINGLED_OUT >= h->level;
			h->measured &= rails[k].prio->tx_pause.measured;
			if (!h->prio && rails[k].level * 2 >= h->level)
				h->prio = rails[k].prio;
		}
	}
	qsort(congestion->hosts, congestion->n_hosts, sizeof(*congestion->hosts), by_level);
	while (congestion->n_singled < congestion->n_hosts &&
		congestion->hosts[congestion->n_singled].level * SINGLED_OUT >=
			congestion->hosts[0].level)
		congestion->n_singled++;
	for (size_t i = 0; i < congestion->n_hosts && i < HOSTS_NAMED; i++) {
		congestion->hosts[i].at_leaf =
			strongest_other_input(congestion, congestion->hosts[i].prio);
		congestion->hosts[i].explained =
			is_explained(congestion, congestion->hosts[i].host);
	}
}

/* How calm the rest is: median and scaled median absolute deviation. */
static void congestion_measure_calm(struct congestion *congestion)
{
	double *away = arena_array(congestion->in->arena, double, congestion->n_known + 1);
	congestion->others = arena_array(congestion->in->arena, double, congestion->n_known + 1);
	for (size_t i = 0; i < congestion->o->n_fabric_ports; i++) {
		const struct port_seen *p = &congestion->o->ports[i];
		const struct port_prio *l = NULL;
		if (p->port->host)
			l = observed_prio(p, congestion->priority);
		double level = NAN;
		if (l)
			level = tx_level(l);
		if (isnan(level) || is_singled(congestion, p->port->host))
			continue;
		congestion->others[congestion->n_others++] = level;
		congestion->others_max = fmax(congestion->others_max, level);
	}
	if (!congestion->n_others || congestion->others_max <= 0)
		return;
	congestion->median = stats_median(congestion->others, congestion->n_others);
	for (size_t i = 0; i < congestion->n_others; i++)
		away[i] = fabs(congestion->others[i] - congestion->median);
	congestion->spread = MAD_SCALE * stats_median(away, congestion->n_others);
}

static void survey_hosts(struct congestion *congestion)
{
	struct rail *v =
		arena_array(congestion->in->arena, struct rail, congestion->o->n_fabric_ports + 1);
	size_t n = 0;
	congestion->measured = true;
	for (size_t i = 0; i < congestion->o->n_fabric_ports; i++) {
		const struct port_seen *p = &congestion->o->ports[i];
		const struct port_prio *l = NULL;
		if (p->port->host)
			l = observed_prio(p, congestion->priority);
		double level = NAN;
		if (l)
			level = tx_level(l);
		if (isnan(level))
			continue;
		congestion->n_known++;
		congestion->measured &= l->tx_pause.measured;
		if (level_counts(congestion, level, l->tx_pause.measured))
			v[n++] = (struct rail){l, level};
	}
	gather_hosts(congestion, v, n);
	count_rails(congestion);
	congestion_measure_calm(congestion);
}

/* Speed of the median host-facing port: single ports are compared with it. */
static void host_speed(struct congestion *congestion)
{
	double *v = arena_array(congestion->in->arena, double, congestion->o->n_fabric_ports + 1);
	size_t n = 0;
	for (size_t i = 0; i < congestion->o->n_fabric_ports; i++)
		if (congestion->o->ports[i].port->host &&
			congestion_measure_speed_of(&congestion->o->ports[i]) > 0)
			v[n++] = congestion_measure_speed_of(&congestion->o->ports[i]);
	if (!n)
		return;
	stats_sort(v, n);
	congestion->host_capacity_bps = v[n / 2];
	for (size_t i = 0; i < congestion->o->n_fabric_ports; i++) {
		const struct port_seen *p = &congestion->o->ports[i];
		congestion->slow_host |= p->port->host && port_slower(congestion, p) &&
			p->out_known && p->out.utilization_ratio > LOADED;
	}
}

/* ---- switches ------------------------------------------------------------ */

/*
 * Pauses are counted, or told by frames: one pause takes XOFF and XON. One that lasts takes more
 * frames, since XOFF is repeated before its 65,535 quanta end: of those the mean is too short, but
 * never shorter than that repetition, far above the microsecond of a threshold that flaps.
 */
static void survey_episodes(struct device_load *load)
{
	const struct port_prio *l = load->loudest;
	load->episode_ns = load->episodes_per_s = NAN;
	if (!l)
		return;
	const struct amount *counted = &l->tx_frames;
	double episodes = l->tx_frames.value / 2;
	if (l->tx_transitions.known && l->tx_transitions.value > 0) {
		counted = &l->tx_transitions;
		episodes = counted->value;
	}
	if (!counted->known || episodes <= 0)
		return;
	load->episodes_per_s = episodes * 1e9 / (double)counted->covered_ns;
	if (l->tx_pause.measured)
		load->episode_ns = l->tx_pause_ns.value / episodes;
}

static void survey_device(struct congestion *congestion, const struct device_seen *device)
{
	struct device_load *load = &congestion->devices[device->device->index];
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct port_prio *l = observed_prio(&device->ports[i], congestion->priority);
		if (!l)
			continue;
		const struct marks m =
			prio_marks(l, (double)congestion->o->fabric->lossless_mtu_bytes);
		marks_add(&load->marks, &m);
		const double level = tx_level(l);
		if (isnan(level) || !level_counts(congestion, level, l->tx_pause.measured))
			continue;
		load->inputs++;
		load->hosts += device->ports[i].port->host != NULL;
		load->pressure += fmin(1, level);
		if (level > load->level) {
			load->level = level;
			load->loudest = l;
		}
		if (device->ports[i].port->peer)
			congestion->switch_level = fmax(congestion->switch_level, level);
	}
	survey_episodes(load);
	marks_add(&congestion->all, &load->marks);
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

static double capacity_ratio(const struct congestion *congestion, const struct device_seen *device)
{
	double hosts = 0, up = 0;
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct port_seen *p = &device->ports[i];
		const double speed = congestion_measure_speed_of(p);
		if (p->oper_up == 0)
			continue;
		if (p->port->host) {
			if (speed > 0)
				hosts += speed;
			else
				hosts += congestion->host_capacity_bps;
		} else if (p->port->peer) {
			up += speed > 0 ? speed : NAN; /* one unknown: all unknown */
		}
	}
	if (hosts > 0 && up > 0)
		return hosts / up;
	return NAN;
}

/* The switch at its other end has samples, but none in this window. */
static bool is_silent(const struct congestion *congestion, const struct port_seen *port)
{
	const struct port_seen *peer = observed_peer(congestion->o, port);
	return peer && peer->entity != ENTITY_NONE && peer->device->n_series == 0;
}

static void group_sum(const struct congestion *congestion, const struct fabric_group *group,
	struct group_load *ret)
{
	double sum = 0, max = 0;
	unsigned n = 0;
	for (size_t i = 0; i < group->n_members; i++) {
		const struct port_seen *p = observed_port(congestion->o, group->members[i]);
		const struct port_prio *l = NULL;
		if (p)
			l = observed_prio(p, congestion->priority);
		ret->members++;
		if (!p || p->oper_up == 0 || is_silent(congestion, p))
			continue;
		ret->live++;
		ret->slower += p->out.read_bps && p->out.declared_bps &&
			p->out.read_bps < p->out.declared_bps;
		if (l) {
			const struct marks m =
				prio_marks(l, (double)congestion->o->fabric->lossless_mtu_bytes);
			ret->marked += marks_ratio(&m) >= MARKED;
		}
		if (!p->out_known)
			continue;
		double load;
		if (isnan(p->out.utilization_ratio))
			load = p->out.rate_bps;
		else
			load = p->out.utilization_ratio;
		sum += load;
		max = fmax(max, load);
		n++;
	}
	if (n && n == ret->live && sum > 0) {
		ret->mean = sum / n;
		ret->max = max;
		ret->imbalance = mean_imbalance(max, ret->mean);
	}
}

bool group_measure(
	const struct congestion *congestion, const struct port_seen *port, struct group_load *ret)
{
	*ret = (struct group_load){
		.mean = NAN, .max = NAN, .imbalance = NAN, .oversubscription = NAN};
	const struct fabric_device *d = port->port->device;
	for (size_t i = 0; i < d->n_groups; i++) {
		const struct fabric_group *g = &d->groups[i];
		if (strncmp(g->id, "lag:", 4) == 0 ||
			(ret->group && ret->group->n_members >= g->n_members))
			continue;
		for (size_t k = 0; k < g->n_members; k++)
			if (g->members[k] == port->port ||
				(port->port->lag && str_eq(g->members[k]->lag, port->port->lag)))
				ret->group = g;
	}
	if (!ret->group)
		return false;
	group_sum(congestion, ret->group, ret);
	if (d->role == ROLE_LEAF)
		ret->oversubscription = capacity_ratio(congestion, port->device);
	return true;
}
