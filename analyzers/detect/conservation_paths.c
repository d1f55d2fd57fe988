/*
 * conservation_paths - what is sent against the paths there are: remote_capacity, cross_rail.
 *
 * remote_capacity. A spine with less live capacity to a leaf than the other spines have, which is
 * still sent its full share: its links to that leaf are fuller than those of the other spines. (A
 * link down in the leaf's own group is path_asymmetry.)
 *
 * cross_rail. Where each leaf serves one rail, bytes that a spine takes from the leaves of a rail
 * and does not give back to them went to another rail. What rails exchange evenly cancels out, so
 * this is a lower bound; with one leaf per rail, all bytes of its uplinks cross.
 */
#include "analyzers/detect/conservation_paths.h"

#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/stats.h"
#include "agent/base/str.h"

#define FULLER 1.15 /* remote_capacity: load against that of the other spines */
#define LESS 0.9 /* ... with less than this of their capacity */

/* ---- remote_capacity ----------------------------------------------------- */

struct spine_links { /* the links of one spine to one leaf */
	const struct device_seen *spine;
	double capacity_bps, rate_bps;
	size_t links, live;
	const struct port_seen *first;
	bool known;
};

static struct spine_links spine_links_to(const struct conservation_in *in,
	const struct device_seen *spine, const struct fabric_device *leaf)
{
	struct spine_links k = {.spine = spine, .known = true};
	for (size_t i = 0; i < spine->n_ports; i++) {
		const struct port_seen *p = &spine->ports[i];
		if (!p->port->peer || p->port->peer->device != leaf)
			continue;
		const struct port_seen *far = observed_peer(in->o, p);
		k.links++;
		if (!k.first)
			k.first = p;
		if (port_is_down(p) || (far && port_is_down(far)))
			continue;
		k.live++;
		k.known = k.known && p->out_known && p->out.capacity_bps;
		k.capacity_bps += (double)p->out.capacity_bps;
		if (p->out_known)
			k.rate_bps += p->out.rate_bps;
	}
	return k;
}

static bool queue_congested(const struct port_prio *queue)
{
	return queue &&
		(queue->marked.value > 0 || queue->rx_pause.lo > 0 || queue->drops.value > 0);
}

static bool conservation_paths_congested(const struct conservation_in *in,
	const struct device_seen *spine, const struct fabric_device *leaf)
{
	for (size_t i = 0; i < spine->n_ports; i++) {
		const struct port_seen *p = &spine->ports[i];
		if (!p->port->peer || p->port->peer->device != leaf)
			continue;
		for (int prio = 0; prio < OBSERVED_PRIORITIES; prio++)
			if (queue_congested(p->prios[prio]))
				return true;
	}
	return false;
}

/* "to:<leaf>"; NULL. */
static const struct fabric_group *group_towards(
	const struct fabric_device *spine, const struct fabric_device *leaf)
{
	for (size_t i = 0; i < spine->n_groups; i++)
		if (strncmp(spine->groups[i].id, "to:", 3) == 0 &&
			strcmp(spine->groups[i].id + 3, leaf->name) == 0)
			return &spine->groups[i];
	return NULL;
}

static void conservation_report_capacity(const struct conservation_in *in,
	const struct device_seen *spine, const struct fabric_device *leaf,
	const struct spine_links *own, double capacity_bps, double load, struct finding_list *out)
{
	const double own_load = own->rate_bps / own->capacity_bps;
	const bool over = own->capacity_bps < LESS * capacity_bps &&
		own_load >= in->options->load_floor && own_load > FULLER * load;
	struct draft t = conservation_finding(
		in, CAUSE_REMOTE_CAPACITY, over ? FINDING_OVER : FINDING_UNDER, out);
	const struct fabric_group *group = group_towards(spine->device, leaf);
	t.f->device = spine->device->name;
	if (group)
		t.f->group = group->id;
	else
		t.f->port = own->first->port->name;
	if (!over)
		return;
	t.f->value = own_load / load - 1;
	t.f->warn = FULLER - 1;
	const bool hurts = conservation_paths_congested(in, spine, leaf);
	t.f->severity = hurts ? SEV_WARNING : SEV_INFO;
	t.f->confidence_ratio = 0.8;
	t.f->summary = arena_printf(t.a,
		"%s has %s to %s (%zu of %zu links), other spines have %s; it still gets its full "
		"share for that leaf: its links run at %.0f %%, those of the others at %.0f %%",
		spine->device->name, bitrate_text(own->capacity_bps, t.a), leaf->name, own->live,
		own->links, bitrate_text(capacity_bps, t.a), 100 * own_load, 100 * load);
	finding_evidence_device(&t, "path.capacity_bps", spine->device->name, own->capacity_bps,
		"bit/s", QUALITY_EXACT);
	finding_evidence_device(&t, "path.capacity_of_others_bps", spine->device->name,
		capacity_bps, "bit/s", QUALITY_EXACT);
	finding_evidence_device(&t, "path.utilization_ratio", spine->device->name, own_load,
		"ratio", QUALITY_EXACT);
	finding_evidence_device(&t, "path.utilization_of_others_ratio", spine->device->name, load,
		"ratio", QUALITY_EXACT);
	finding_rests_on(&t, "octets and state of the links of every spine to %s", leaf->name);
	finding_add_role(&t, "culprit", "%s", spine->device->name);
	finding_add_role(&t, "direct_victim", "%s", leaf->name);
	finding_steps(&t, t.f->cause, 0);
}

/* The spines a leaf has links to, in the order of the fabric, that have some capacity to it. */
static size_t spine_links_of(const struct conservation_in *in, const struct fabric_device *leaf,
	struct spine_links *cells)
{
	size_t n = 0;
	for (size_t i = 0; i < leaf->n_ports; i++) {
		const struct fabric_device *peer = NULL;
		if (leaf->ports[i]->peer)
			peer = leaf->ports[i]->peer->device;
		size_t at = n;
		if (!peer || peer->role != ROLE_SPINE)
			continue;
		while (at > 0 && cells[at - 1].spine->device->index > peer->index)
			at--;
		if (at > 0 && cells[at - 1].spine->device == peer)
			continue;
		const struct spine_links k = spine_links_to(in, &in->o->devices[peer->index], leaf);
		if (!k.live || !k.known || k.capacity_bps <= 0)
			continue;
		memmove(&cells[at + 1], &cells[at], (n++ - at) * sizeof(*cells));
		cells[at] = k;
	}
	return n;
}

void conservation_capacity(const struct conservation_in *in, struct finding_list *out)
{
	const size_t n_devices = in->o->n_devices;
	double *capacity = arena_array(in->in->arena, double, n_devices + 1),
	       *load = arena_array(in->in->arena, double, n_devices + 1);
	struct spine_links *cells = arena_array(in->in->arena, struct spine_links, n_devices + 1);
	for (size_t l = 0; l < n_devices; l++) {
		const struct fabric_device *leaf = in->o->devices[l].device;
		size_t n = 0;
		if (leaf->role == ROLE_LEAF)
			n = spine_links_of(in, leaf, cells);
		double most = 0;
		for (size_t s = 0; s < n; s++)
			most = fmax(most, cells[s].capacity_bps);
		for (size_t s = 0; s < n && n > 1; s++) {
			size_t others = 0;
			/* else it cannot have less than the median of the others */
			for (size_t k = 0; k < n && cells[s].capacity_bps < LESS * most; k++)
				if (k != s) {
					capacity[others] = cells[k].capacity_bps;
					load[others++] = cells[k].rate_bps / cells[k].capacity_bps;
				}
			conservation_report_capacity(in, cells[s].spine, leaf, &cells[s],
				stats_median(capacity, others), stats_median(load, others), out);
		}
	}
}

/* ---- cross_rail ---------------------------------------------------------- */

/* The rail a leaf serves: the one NIC name all its hosts are linked by. NULL: none, or several. */
static const char *conservation_paths_rail_of(const struct fabric_device *leaf)
{
	const char *rail = NULL;
	for (size_t i = 0; leaf->role == ROLE_LEAF && i < leaf->n_ports; i++) {
		const struct fabric_port *p = leaf->ports[i];
		if (!p->host)
			continue;
		if (!p->host_nic[0] || (rail && !str_eq(rail, p->host_nic)))
			return NULL;
		rail = p->host_nic;
	}
	return rail;
}

struct rails {
	const char **name;
	double *in, *out; /* bytes a second into and out of a spine */
	size_t n;
	size_t *leaves;
};

static size_t rail_index(struct rails *rails, const char *name)
{
	size_t i = 0;
	while (i < rails->n && !str_eq(rails->name[i], name))
		i++;
	if (i == rails->n)
		rails->name[rails->n++] = name;
	return i;
}

/* Lower bound of bytes per second that change rails in one spine; NAN where a port to a leaf is
 * unknown.
 */
static double conservation_paths_crossing(const struct conservation_in *in, struct rails *rails,
	const char *const *leaf_rail, const struct device_seen *spine)
{
	memset(rails->in, 0, sizeof(double) * rails->n);
	memset(rails->out, 0, sizeof(double) * rails->n);
	for (size_t i = 0; i < spine->n_ports; i++) {
		const struct port_seen *p = &spine->ports[i];
		if (!p->port->peer || p->port->peer->device->role != ROLE_LEAF || port_is_down(p))
			continue;
		const char *rail = leaf_rail[p->port->peer->device->index];
		if (!rail || !p->in_known || !p->out_known)
			return NAN;
		const size_t at = rail_index(rails, rail);
		rails->in[at] += p->in.rate_bps / 8;
		rails->out[at] += p->out.rate_bps / 8;
	}
	double net = 0, alone = 0;
	for (size_t i = 0; i < rails->n; i++) {
		net += fmax(0, rails->in[i] - rails->out[i]);
		if (rails->leaves[i] == 1)
			alone += rails->in[i];
	}
	return fmax(net, alone);
}

void conservation_cross_rail(const struct conservation_in *in, struct finding_list *out)
{
	const size_t n = in->o->n_devices;
	const char **leaf_rail = arena_array(in->in->arena, const char *, n + 1);
	struct rails r = {.name = arena_array(in->in->arena, const char *, n + 1),
		.in = arena_array(in->in->arena, double, n + 1),
		.out = arena_array(in->in->arena, double, n + 1),
		.leaves = arena_array(in->in->arena, size_t, n + 1)};
	double hosts = 0, capacity = 0, crossed = 0;
	memset(r.leaves, 0, sizeof(size_t) * (n + 1));
	for (size_t d = 0; d < n; d++) {
		leaf_rail[d] = conservation_paths_rail_of(in->o->devices[d].device);
		if (leaf_rail[d])
			r.leaves[rail_index(&r, leaf_rail[d])]++;
	}
	if (r.n < 2)
		return; /* one rail, or none */
	for (size_t i = 0; i < in->links->n; i++) {
		const struct link *l = &in->links->v[i];
		if (l->kind == LINK_HOST && l->near->in_known) {
			hosts += l->near->in.rate_bps / 8;
			capacity += (double)l->near->in.capacity_bps / 8;
		}
	}
	for (size_t d = 0; d < n; d++)
		if (in->o->devices[d].device->role == ROLE_SPINE)
			crossed +=
				conservation_paths_crossing(in, &r, leaf_rail, &in->o->devices[d]);
	if (isnan(crossed) || hosts <= 0 || hosts < in->options->load_floor * capacity)
		return;
	const double share = crossed / hosts;
	const bool over = share > in->options->cross_rail;
	struct draft t = conservation_finding(
		in, CAUSE_CROSS_RAIL, over ? FINDING_OVER : FINDING_UNDER, out);
	if (!over)
		return;
	t.f->severity = SEV_INFO;
	t.f->value = share;
	t.f->warn = in->options->cross_rail;
	t.f->confidence_ratio = 0.7;
	t.f->summary = arena_printf(t.a,
		"at least %.0f %% of what the hosts send changes rails in the spines; on %zu "
		"rails, traffic should stay on its own rail",
		100 * share, r.n);
	finding_evidence_device(
		&t, "rail.crossing_bps", NULL, crossed * 8, "bit/s", QUALITY_ESTIMATED);
	finding_evidence_device(&t, "rail.hosts_bps", NULL, hosts * 8, "bit/s", QUALITY_EXACT);
	finding_rests_on(&t,
		"bytes that spines receive from the leaves of a rail and do not send back to them: "
		"a lower bound");
	finding_steps(&t, t.f->cause, 0);
}
