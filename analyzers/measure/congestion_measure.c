/* congestion_measure - levels of hosts and switches, marks of queues, load of ECMP groups. */
#include "analyzers/measure/congestion_measure.h"

#include "analyzers/measure/mean.h"
#include "base/stats.h"
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
		(double)prio->port->out.octets > OCTETS_MIN &&
		!observed_queues_move(prio->port->device, prio->priority);
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

static bool group_holds(const struct fabric_group *group, const struct fabric_port *port)
{
	for (size_t k = 0; k < group->n_members; k++)
		if (group->members[k] == port ||
			(port->lag && str_eq(group->members[k]->lag, port->lag)))
			return true;
	return false;
}

bool group_measure(
	const struct congestion *congestion, const struct port_seen *port, struct group_load *ret)
{
	*ret = (struct group_load){
		.mean = NAN, .max = NAN, .imbalance = NAN, .oversubscription = NAN};
	struct group_load bundle = *ret;
	const struct fabric_device *d = port->port->device;
	for (size_t i = 0; i < d->n_groups; i++) {
		const struct fabric_group *g = &d->groups[i];
		if (!group_holds(g, port->port))
			continue;
		if (strncmp(g->id, "lag:", 4) == 0)
			group_sum(congestion, g, &bundle);
		else if (!ret->group || ret->group->n_members < g->n_members)
			ret->group = g;
	}
	if (!ret->group)
		return false;
	group_sum(congestion, ret->group, ret);
	/* a bundle that is uneven crowds one of its links, however even the bundles are */
	ret->imbalance = fmax(ret->imbalance, bundle.imbalance);
	if (d->role == ROLE_LEAF)
		ret->oversubscription = capacity_ratio(congestion, port->device);
	return true;
}

/* ---- congestion_lead ------------------------------------------------------- */

/* congestion_lead - compares hosts: who is paused most, and whose queues are marked most. */

#define PEERS_MIN 6 /* receivers with counted marks; a median of fewer says nothing */
#define TIMES_PEERS 3.0 /* marks, against the median receiver, from which a queue stands out */
#define SAME_LOAD 1.5 /* times the median load, up or down, that is still the same load */
#define CROWD_SHARE 8 /* of all hosts: from an eighth on they are a crowd, and nobody leads */
#define CROWD_MIN 2
/* Times the next host, from which one leads. Frames tell time badly, since a frame may stop a port
 * for any part of its 65,535 quanta; but the order of two hosts on each of four rails is not luck.
 */
#define LEAD_TIME 1.5
#define LEAD_FRAMES 1.3
#define LEAD_RAILS 1.1
#define LEAD_PAIR 3.0 /* two hosts that lead together */
enum { RAILS_AGREE = 4 };

/* ---- receivers ------------------------------------------------------------ */

static const struct port_prio *receiver_prio(
	const struct congestion *congestion, const struct port_seen *port)
{
	if (!port->port->host || !port->out_known || port_slower(congestion, port))
		return NULL;
	return observed_prio(port, congestion->priority);
}

static bool receiver_is_squeezed(const struct congestion *congestion, const struct port_prio *prio,
	double ratio, double load, double many)
{
	const struct lead *lead = &congestion->lead;
	const double rx = rx_level(prio);
	const bool pauses_us = rx >= congestion->floor;
	const bool marks = ratio >= many && ratio >= TIMES_PEERS * lead->marks_median;
	const bool same_load =
		load <= SAME_LOAD * lead->load_median && load * SAME_LOAD >= lead->load_median;
	return marks && same_load && !pauses_us;
}

static void lead_survey_receivers(struct congestion *congestion, double many)
{
	struct lead *lead = &congestion->lead;
	const size_t n = congestion->o->n_fabric_ports;
	struct arena *a = congestion->in->arena;
	const double mtu = (double)congestion->o->fabric->lossless_mtu_bytes;
	const struct port_prio **prios = arena_array(a, const struct port_prio *, n + 1);
	double *ratios = arena_array(a, double, n + 1), *loads = arena_array(a, double, n + 1),
	       *sorted = arena_array(a, double, n + 1);
	size_t known = 0;
	for (size_t i = 0; i < n; i++) {
		const struct port_prio *prio = receiver_prio(congestion, &congestion->o->ports[i]);
		if (!prio)
			continue;
		const struct marks marks = prio_marks(prio, mtu);
		if (!marks.known || marks.stale)
			continue;
		prios[known] = prio;
		ratios[known] = marks_ratio(&marks);
		loads[known] = prio->port->out.rate_bps;
		lead->marks_most = fmax(lead->marks_most, ratios[known]);
		known++;
	}
	lead->receivers = known;
	if (known < PEERS_MIN)
		return;
	memcpy(sorted, ratios, known * sizeof(*sorted));
	lead->marks_median = stats_median(sorted, known);
	memcpy(sorted, loads, known * sizeof(*sorted));
	lead->load_median = stats_median(sorted, known);
	lead->squeezed = arena_array(a, const struct port_prio *, known);
	for (size_t i = 0; i < known; i++)
		if (receiver_is_squeezed(congestion, prios[i], ratios[i], loads[i], many))
			lead->squeezed[lead->n_squeezed++] = prios[i];
	if (3 * lead->n_squeezed > known)
		lead->n_squeezed = 0; /* most of them: that is how the job exchanges */
}

bool lead_squeezes(const struct congestion *congestion, const char *host)
{
	const struct lead *lead = &congestion->lead;
	for (size_t i = 0; i < lead->n_squeezed; i++)
		if (!str_eq(lead->squeezed[i]->port->port->host, host))
			return true;
	return false;
}

double lead_load(const struct congestion *congestion, const struct paused_host *host)
{
	const struct observed *o = congestion->o;
	double *v = arena_array(congestion->in->arena, double, o->n_fabric_ports + 1);
	size_t n = 0;
	for (size_t i = 0; i < o->n_fabric_ports; i++)
		if (o->ports[i].port->host && o->ports[i].in_known)
			v[n++] = o->ports[i].in.rate_bps;
	if (!n || !host->prio->port->in_known)
		return NAN;
	return host->prio->port->in.rate_bps / stats_median(v, n);
}

/* ---- senders --------------------------------------------------------------- */

/* The strongest host behind the first @n. */
static double lead_behind(const struct congestion *congestion, size_t n)
{
	double most = 0;
	for (size_t i = n; i < congestion->n_hosts; i++)
		most = fmax(most, congestion->hosts[i].sum);
	return most;
}

static double lead_needed(const struct congestion *congestion, size_t n)
{
	const struct paused_host *first = &congestion->hosts[0];
	if (n > 1)
		return LEAD_PAIR;
	if (first->measured)
		return LEAD_TIME;
	const bool on_all_rails =
		first->rails >= RAILS_AGREE && first->rails_paused == first->rails;
	if (on_all_rails || lead_squeezes(congestion, first->host))
		return LEAD_RAILS;
	return LEAD_FRAMES;
}

static size_t lead_count_hosts(const struct congestion *congestion)
{
	size_t n = 0;
	for (size_t i = 0; i < congestion->o->n_fabric_ports; i++)
		n += congestion->o->ports[i].port->host != NULL;
	if (congestion->n_hosts && congestion->hosts[0].rails)
		n /= congestion->hosts[0].rails;
	return n;
}

void congestion_lead(struct congestion *congestion, double many)
{
	struct lead *lead = &congestion->lead;
	lead_survey_receivers(congestion, many);
	const size_t crowd = lead_count_hosts(congestion) / CROWD_SHARE;
	const size_t most = crowd > CROWD_MIN ? crowd : CROWD_MIN;
	if (congestion->n_singled > most)
		return;
	for (size_t n = 1; n <= 2 && n <= congestion->n_hosts; n++) {
		const double behind = lead_behind(congestion, n);
		const double own = congestion->hosts[n - 1].sum;
		if (own < lead_needed(congestion, n) * behind)
			continue;
		lead->n = n;
		lead->times = own / behind; /* INFINITY: nobody else is paused */
		return;
	}
}

/* ---- packets_host ---------------------------------------------------------- */

/* packets_host - finds the host of a port in its flow rows, and adds up its rows. */

#define TAKES_PART 0.95 /* of the octets at a host's port: the rest is broken or not RoCE */

static size_t first_row_of(const struct flow_sample *rows, size_t n, uint32_t entity)
{
	size_t lo = 0, hi = n;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (rows[mid].entity < entity)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

size_t packets_first_row(const struct window *window, uint32_t entity)
{
	return first_row_of(window->flows, window->n_flows, entity);
}

/* ---- the address ------------------------------------------------------------ */

static bool is_named_flow(const struct flow_sample *flow)
{
	return !flow->total && flow->key.family;
}

static bool same_address(const uint8_t *left, const uint8_t *right)
{
	return memcmp(left, right, sizeof(((struct flow_key *)0)->src)) == 0;
}

/* The largest row of that direction, NULL. */
static const struct flow_sample *largest_row(
	const struct window *window, uint32_t entity, enum flow_dir dir)
{
	const struct flow_sample *largest = NULL;
	for (size_t i = packets_first_row(window, entity);
		i < window->n_flows && window->flows[i].entity == entity; i++) {
		const struct flow_sample *flow = &window->flows[i];
		if (!is_named_flow(flow) || flow->dir != dir)
			continue;
		if (!largest || flow->octets > largest->octets)
			largest = flow;
	}
	return largest;
}

/* Share of the octets at the port that come from @address or go to it. */
static double address_share(const struct window *window, uint32_t entity, const uint8_t *address)
{
	double all = 0, part = 0;
	for (size_t i = packets_first_row(window, entity);
		i < window->n_flows && window->flows[i].entity == entity; i++) {
		const struct flow_sample *flow = &window->flows[i];
		if (!is_named_flow(flow))
			continue;
		all += (double)flow->octets;
		if (same_address(flow->key.src, address) || same_address(flow->key.dst, address))
			part += (double)flow->octets;
	}
	return part / fmax(all, 1);
}

static const uint8_t *common_address(const struct window *window, uint32_t entity)
{
	const struct flow_sample *largest = largest_row(window, entity, FLOW_DIR_UNKNOWN);
	if (!largest)
		return NULL;
	const double src = address_share(window, entity, largest->key.src);
	const double dst = address_share(window, entity, largest->key.dst);
	if (src >= TAKES_PART && dst < TAKES_PART)
		return largest->key.src;
	if (dst >= TAKES_PART && src < TAKES_PART)
		return largest->key.dst;
	return NULL;
}

const uint8_t *packets_host_address(const struct window *window, uint32_t entity)
{
	const struct flow_sample *in = largest_row(window, entity, FLOW_DIR_IN);
	if (in)
		return in->key.src;
	const struct flow_sample *out = largest_row(window, entity, FLOW_DIR_OUT);
	if (out)
		return out->key.dst;
	return common_address(window, entity);
}

/* ---- its part ----------------------------------------------------------------- */

static void host_part_add(struct host_part *part, const struct flow_sample *row)
{
	part->known = true;
	part->ce_sent += (double)row->ce;
	reaction_sum_add(&part->reaction, &row->reaction);
	part->answer.ce += row->answer.ce;
	part->answer.slots += row->answer.slots;
	part->answer.cnp += row->answer.cnp;
	part->answer.directions += row->answer.directions;
	part->answer.answered += row->answer.answered;
	if (row->sampling > part->sampling)
		part->sampling = row->sampling;
}

void host_part(
	const struct window *window, uint32_t entity, const uint8_t *address, struct host_part *ret)
{
	*ret = (struct host_part){.sampling = 1};
	for (size_t i = first_row_of(window->flow_hosts, window->n_flow_hosts, entity);
		i < window->n_flow_hosts && window->flow_hosts[i].entity == entity; i++) {
		const struct flow_sample *row = &window->flow_hosts[i];
		ret->peak_bps = fmax(ret->peak_bps, row->reaction.peak_bps);
		if (same_address(row->key.src, address))
			host_part_add(ret, row);
	}
}

/* ---- congestion_packets ---------------------------------------------------- */

/* congestion_packets - sums the totals of a host's port and draws conclusions from enough of them.
 */

#define DATA_MIN 1000.0 /* with fewer packets a share of them says nothing */
#define DATA_OCTETS 500.0 /* mean size from which a host sends data, not only acknowledgements */
#define ECT_FEW 0.1
#define CE_MIN 100.0
#define CE_PER_CNP 600.0 /* 4,096-byte packets of one flow at 400 Gbit/s in 50 us */
#define CNP_EXPECTED 10.0
#define CNP_MIN 10.0 /* a stray one or two prove no stream */

static void host_packets_add_v1(struct host_packets *packets, const struct flow_sample *flow)
{
	if (flow->dir == FLOW_DIR_IN)
		packets->from_v1 += (double)flow->packets;
	else if (flow->dir == FLOW_DIR_OUT)
		packets->to_v1 += (double)flow->packets;
	else
		packets->other_v1 += (double)flow->packets;
}

/* A flow of a capture that cannot tell directions apart: the addresses do. */
static bool is_undirected(const struct host_packets *packets, const struct flow_sample *flow)
{
	return packets->address && !flow->total && flow->dir == FLOW_DIR_UNKNOWN &&
		flow->key.family;
}

static bool is_host(const struct host_packets *packets, const uint8_t *address)
{
	return memcmp(address, packets->address, sizeof(((struct flow_key *)0)->src)) == 0;
}

static void host_packets_add_data(struct host_packets *packets, const struct flow_sample *flow)
{
	packets->data += (double)flow->data_packets;
	packets->data_ect += (double)flow->data_ect;
}

bool host_packets(
	const struct window *window, const struct port_seen *port, struct host_packets *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!window->n_flows || port->entity == ENTITY_NONE)
		return false;
	ret->address = packets_host_address(window, port->entity);
	if (ret->address)
		host_part(window, port->entity, ret->address, &ret->part);
	for (size_t i = packets_first_row(window, port->entity);
		i < window->n_flows && window->flows[i].entity == port->entity; i++) {
		const struct flow_sample *f = &window->flows[i];
		if (flow_is_v1(f))
			host_packets_add_v1(ret, f);
		if (is_undirected(ret, f) && is_host(ret, f->key.src))
			host_packets_add_data(ret, f);
		else if (is_undirected(ret, f) && is_host(ret, f->key.dst))
			ret->to_host += (double)f->packets;
		if (!f->total)
			continue;
		if (f->dir == FLOW_DIR_IN)
			host_packets_add_data(ret, f);
		if (f->dir == FLOW_DIR_IN) {
			ret->from_known = true;
			ret->from_packets += (double)f->packets;
			ret->from_octets += (double)f->octets;
			ret->from_ect += (double)(f->ect + f->ce);
			ret->from_cnp += (double)f->cnp;
		} else if (f->dir == FLOW_DIR_OUT) {
			ret->to_known = true;
			ret->to_packets += (double)f->packets;
			ret->to_ce += (double)f->ce;
			ret->to_cnp += (double)f->cnp;
		} else {
			ret->other_packets += (double)f->packets;
		}
		ret->sampled |= f->sampling > 1;
	}
	return ret->from_known || ret->to_known || ret->other_packets + ret->other_v1 > 0;
}

int packets_lack_ect(const struct host_packets *packets)
{
	if (packets->data >= DATA_MIN)
		return packets->data_ect < ECT_FEW * packets->data;
	if (packets->data > 0)
		return -1;
	/* captures that do not tell data from answers: CNPs need not be ECT */
	const double data = packets->from_packets - packets->from_cnp;
	if (!packets->from_known || data < DATA_MIN ||
		packets->from_octets < DATA_OCTETS * packets->from_packets)
		return -1;
	return packets->from_ect < ECT_FEW * data;
}

int packets_lack_cnp(const struct host_packets *packets)
{
	double enough = CE_MIN;
	if (packets->part.known) {
		const enum answer_verdict verdict =
			answer_judge(&packets->part.answer, packets->part.sampling);
		if (verdict != ANSWER_TOO_FEW)
			return verdict == ANSWER_NO;
	}
	if (packets->sampled)
		enough = CE_PER_CNP * CNP_EXPECTED;
	if (!packets->from_known || !packets->to_known)
		return -1;
	if (packets->to_ce < enough || packets->from_packets < CE_MIN)
		return -1;
	return packets->from_cnp == 0;
}

int packets_cnp_reaches(const struct host_packets *packets)
{
	if (packets->part.known && (double)packets->part.reaction.cnp >= CNP_MIN)
		return 1;
	if (packets->to_known && packets->to_cnp >= CNP_MIN)
		return 1;
	if (packets->to_known && packets->to_packets >= DATA_MIN && packets->to_cnp == 0)
		return 0;
	return -1;
}

int packets_slow_down(
	const struct host_packets *packets, double line_bps, struct reaction_judged *judged)
{
	struct reaction_judged own;
	if (!packets->part.known)
		return -1;
	reaction_judge(&packets->part.reaction, packets->part.sampling, line_bps,
		packets->part.peak_bps, &own);
	if (judged)
		*judged = own;
	if (own.verdict == REACTION_TOO_FEW)
		return -1;
	return own.verdict == REACTION_SLOWS_DOWN;
}
