/*
 * conservation_routes - missing_route: a link of a group that is up and carries nothing while its
 * siblings are busy, and that luck does not explain. Where neither direction carries anything and
 * nobody reads whether it is up, it may as well be down: path_asymmetry.
 *
 * A hash leaves links empty as well: with n flows over m links, a given one stays empty with a
 * probability of (1 - 1/m)^n. Counters do not show n, and a hash that ignores ports knows only as
 * many flows as there are pairs of addresses. So an idle link alone is no missing route. It takes a
 * sign of its own:
 *
 *     both ways   both directions are empty; the two ends hash independently. Where both ended at
 *                 the same time, and flows elsewhere went on, CHANCE_ENDED is enough
 *     packets     one direction is empty under more flows, as counted in packets, than luck needs;
 *                 of flows between two addresses one counts, unless the switch says that its hash
 *                 reads ports
 *     before      it carried its share, then nothing, while the group went on with as much and as
 *                 evenly as before, and no other link of the group went down
 *
 * Where flows were not counted, their number is the one that makes luck most probable, given how
 * even the siblings are (chance_left_out). Luck must stay below CHANCE over all links of the
 * fabric. A link whose neighbour has lost a link to another switch is not judged: routing takes
 * such a neighbour out on purpose.
 */
#include "analyzers/detect/conservation_routes.h"

#include "analyzers/measure/chance.h"
#include "analyzers/measure/ecmp_measure.h"
#include "analyzers/measure/class_world.h"
#include "base/stats.h"

/* ---- conservation_finding -------------------------------------------------- */

/* conservation_finding - bytes by class, and the start of every finding of the analyzer
 * conservation. */

struct draft conservation_finding(const struct conservation_in *in, enum cause cause,
	enum finding_verdict verdict, struct finding_list *out)
{
	struct draft t = finding_new(out, in->in, "conservation", verdict, in->options->hold);
	t.f->cause = cause;
	t.f->summary = "";
	t.f->severity = SEV_WARNING;
	return t;
}

#define POLLS_ALIKE 3

enum pace counter_pace(const struct conservation_in *in, uint32_t entity, unsigned metric)
{
	const struct series *s = NULL;
	if (in->newest && entity != ENTITY_NONE)
		s = window_series(in->in->window, entity, metric);
	if (!s)
		return PACE_IDLE;
	const uint32_t end = series_after(s, in->newest->to_ns);
	uint32_t begin = series_after(s, in->newest->from_ns);
	begin -= begin > 0;
	if (!series_moved(s->value + begin, end - begin))
		return PACE_IDLE;
	for (uint32_t i = 1; i <= POLLS_ALIKE; i++)
		if (end < i + 1 || s->value[end - i] == s->value[end - i - 1])
			return PACE_SLOW;
	return PACE_EACH_POLL;
}

void paces_add(struct paces *paces, enum pace pace)
{
	paces->each_poll += pace == PACE_EACH_POLL;
	paces->slow += pace == PACE_SLOW;
}

struct conservation_in conservation_newest(
	const struct conservation_in *in, const struct paces *paces)
{
	struct conservation_in newest = *in;
	if (in->newest && paces->each_poll && !paces->slow)
		newest.o = in->newest;
	return newest;
}

double classes_rate(const struct conservation_in *in, double octets)
{
	return octets * 1e9 / (double)(in->o->to_ns - in->o->from_ns);
}

void classes_add_port(
	const struct conservation_in *in, const struct port_seen *port, struct classes *classes)
{
	double lossless = NAN, other = NAN;
	for (int prio = 0; prio < OBSERVED_PRIORITIES; prio++) {
		const bool is = in->o->fabric->lossless_mask >> prio & 1;
		const double octets = port->class_octets[prio];
		if (isnan(octets))
			continue;
		if (is)
			lossless = (isnan(lossless) ? 0 : lossless) + octets;
		else
			other = (isnan(other) ? 0 : other) + octets;
	}
	classes->ports++;
	if (isnan(lossless) || isnan(other))
		return;
	classes->known++;
	classes->lossless += classes_rate(in, lossless);
	classes->other += classes_rate(in, other);
}

bool classes_whole(const struct classes *classes)
{
	return classes->ports && classes->known == classes->ports;
}
double classes_total(const struct classes *classes)
{
	return classes->lossless + classes->other;
}
double classes_other_share(const struct classes *classes)
{
	if (classes_total(classes) > 0)
		return classes->other / classes_total(classes);
	return NAN;
}

bool classes_busy(const struct classes *classes, double capacity, const struct conservation_in *in)
{
	return classes_whole(classes) &&
		classes_total(classes) >
		in->options->load_floor * (capacity > 0 ? capacity : 1e9 / 8);
}

/* ---- conservation_paths ---------------------------------------------------- */

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

/* ---- conservation_routes --------------------------------------------------- */

#define CHANCE 1e-3 /* over all links of the fabric */
#define CHANCE_ENDED 5e-2
/* share of what the siblings carry; routing protocols and LLDP stay below */
#define EMPTY_SHARE 0.01
#define USED_SHARE 0.05 /* share of the siblings' rate from which it counts as in use */
#define FAIR_SHARE 0.5 /* of the mean: it carried its part */
#define LIKE_TOTAL 0.3 /* relative difference of totals that counts as unchanged */
/* The spread of the siblings may grow by this factor, and this much, while flows are the same. */
#define SAME_SPREAD 1.25
#define SAME_SPREAD_MORE 0.05
#define SPREAD_MAX 0.2
#define GROUPS_ASKED 16 /* of other switches, whether their flows are the same */
#define BEFORE_WINDOWS 4
#define CHANCE_LEAST 1e-12 /* limit of what a spread can prove */

enum route_sign { ROUTE_NO_SIGN, ROUTE_BOTH_WAYS, ROUTE_PACKETS, ROUTE_BEFORE };

static double sent_load(const struct port_seen *port, bool out)
{
	const struct port_rate *r = &port->in;
	bool known = port->in_known;
	if (out) {
		r = &port->out;
		known = port->out_known;
	}
	if (!known || port_is_down(port) || r->oper == PORT_OPER_DOWN)
		return NAN;
	return r->rate_bps / (r->capacity_bps ? (double)r->capacity_bps : 1e9);
}

/* Bytes per second of a load of the port's line. */
static double bytes_of_load(const struct port_seen *port, double load)
{
	const double line = port->out.capacity_bps ? (double)port->out.capacity_bps : 1e9;
	return load * line / 8;
}

struct siblings { /* of one member of a group, in one direction */
	double mean, cov; /* load of the others; how uneven they are */
	size_t n, used; /* .used: carry something, so at least one flow each */
};

static struct siblings siblings_of(
	const struct conservation_in *in, const struct fabric_group *group, size_t self, bool out)
{
	struct siblings s = {.mean = NAN, .cov = NAN};
	double sum = 0, square = 0;
	for (size_t i = 0; i < group->n_members; i++) {
		const struct port_seen *p = observed_port(in->o, group->members[i]);
		double load = NAN;
		if (i != self && p)
			load = sent_load(p, out);
		if (isnan(load))
			continue;
		s.n++;
		s.used += load > 0;
		sum += load;
		square += load * load;
	}
	if (s.n) {
		s.mean = sum / (double)s.n;
		if (s.mean > 0)
			s.cov = sqrt(fmax(0, square / (double)s.n - s.mean * s.mean)) / s.mean;
	}
	return s;
}

/* ---- one direction of one link -------------------------------------------- */

struct empty_link { /* one direction */
	bool empty;
	double chance; /* of one link by luck, at most */
	double like; /* mean load of the siblings */
	struct siblings siblings;
};

static struct empty_link empty_link_of(
	const struct conservation_in *in, const struct fabric_group *group, size_t self, bool out)
{
	const struct port_seen *p = observed_port(in->o, group->members[self]);
	const double load = sent_load(p, out);
	const struct siblings s = siblings_of(in, group, self, out);
	struct empty_link r = {.chance = 1, .like = s.mean, .siblings = s};
	if (!s.n || s.mean < in->options->load_floor || !(load < EMPTY_SHARE * s.mean) ||
		p->out.coverage_ratio < 0.5)
		return r;
	r.empty = true;
	r.chance = chance_left_out(s.n + 1, s.cov, (double)s.used, NAN);
	return r;
}

static int pair_compare(const void *left, const void *right)
{
	const struct flow_key *const *a = left, *const *b = right;
	const int order = memcmp((*a)->src, (*b)->src, sizeof((*a)->src));
	if (order != 0)
		return order;
	return memcmp((*a)->dst, (*b)->dst, sizeof((*a)->dst));
}

static bool is_member(
	const struct conservation_in *in, const struct fabric_group *group, uint32_t entity)
{
	for (size_t k = 0; k < group->n_members; k++) {
		const struct port_seen *port = observed_port(in->o, group->members[k]);
		if (port && port->entity == entity)
			return true;
	}
	return false;
}

/* Distinct pairs of addresses in the packets captured at the members of @group. */
static size_t address_pairs(const struct conservation_in *in, const struct fabric_group *group)
{
	const struct window *window = in->in->window;
	const struct flow_key **keys =
		arena_array(in->in->arena, const struct flow_key *, window->n_flows + 1);
	size_t n = 0, pairs = 0;
	for (size_t i = 0; i < window->n_flows; i++) {
		const struct flow_sample *flow = &window->flows[i];
		if (!flow->total && !flow_is_v1(flow) && is_member(in, group, flow->entity))
			keys[n++] = &flow->key;
	}
	if (n)
		qsort(keys, n, sizeof(const struct flow_key *), pair_compare);
	for (size_t k = 0; k < n; k++)
		pairs += k == 0 || pair_compare(&keys[k - 1], &keys[k]) != 0;
	return pairs;
}

/* How many flows the hash of the group's switch can tell apart, as far as packets show. */
static double flows_told_apart(const struct conservation_in *in, const struct fabric_group *group,
	const struct ecmp_measure *measure)
{
	const char *fields = hash_fields(in->in->window, group->device->name);
	if (fields && !hash_fields_blind(fields))
		return measure->n_eff;
	return fmin(measure->n_eff, (double)address_pairs(in, group));
}

/* Luck, where packets say how many flows the group carries; NAN without them. Only what leaves a
 * group is captured at its members. */
static double chance_by_packets(const struct conservation_in *in, const struct fabric_group *group)
{
	const struct ecmp_params params = {
		.warn = 1, .min_coverage = 0.5, .interval_ns = in->in->interval_ns};
	struct ecmp_measure measure;
	if (!in->in->window->n_flows)
		return NAN;
	ecmp_measure(group, in->in->window, &params, in->in->arena, &measure);
	if (isnan(measure.n_eff) || measure.n_live < 2)
		return NAN;
	return pow(1 - 1 / (double)measure.n_live, flows_told_apart(in, group, &measure));
}

/* ---- what it carried before ------------------------------------------------ */

static const struct series *past_series(
	const struct conservation_in *in, const struct fabric_port *port, bool out)
{
	const struct port_seen *p = observed_port(in->o, port);
	if (!in->in->past || !p || p->entity == ENTITY_NONE)
		return NULL;
	return window_series(in->in->past, p->entity, out ? M_PORT_OUT_OCTETS : M_PORT_IN_OCTETS);
}

/* Time of the last sample before @series stood still; INT64_MIN: it never carried @least bytes per
 * second. */
static int64_t last_in_use(const struct series *series, double least)
{
	for (uint32_t i = series ? series->n : 0; i > 1; i--) {
		const double seconds = (double)(series->t_ns[i - 1] - series->t_ns[i - 2]) / 1e9;
		const uint64_t now = series->value[i - 1], then = series->value[i - 2];
		if (now >= then && (double)(now - then) >= least * seconds)
			return series->t_ns[i - 2];
	}
	return INT64_MIN;
}

struct group_before {
	double cov, total; /* bytes per second */
	double own_share; /* of the member that is empty now, over the mean */
	bool known;
};

static struct group_before group_before(const struct conservation_in *in,
	const struct fabric_group *group, size_t self, bool out, int64_t until_ns)
{
	const int64_t length_ns = BEFORE_WINDOWS * (in->whole->to_ns - in->whole->from_ns);
	struct group_before r = {.known = false};
	double square = 0, own = NAN;
	size_t n = 0;
	for (size_t i = 0; i < group->n_members; i++) {
		const struct series *s = past_series(in, group->members[i], out);
		struct increase inc;
		double rate;
		if (!s || series_rate(s, until_ns - length_ns, until_ns, 0, &rate, &inc) < 0 ||
			inc.intervals < 2)
			return r;
		if (i == self)
			own = rate;
		r.total += rate;
		square += rate * rate;
		n++;
	}
	const double mean = r.total / (double)n;
	if (!(mean > 0))
		return r;
	r.cov = sqrt(fmax(0, square / (double)n - mean * mean)) / mean;
	r.own_share = own / mean;
	r.known = true;
	return r;
}

static bool member_went_down(const struct conservation_in *in, const struct fabric_group *group)
{
	for (size_t i = 0; i < group->n_members; i++) {
		const struct port_seen *p = observed_port(in->whole, group->members[i]);
		const struct port_seen *far = p ? observed_peer(in->whole, p) : NULL;
		if ((p && (port_is_down(p) || p->flaps.value > 0)) || (far && port_is_down(far)))
			return true;
	}
	return false;
}

/* Luck, when it carried its share before and the flows stayed; 1 where that is not known. */
static double chance_since_before(const struct conservation_in *in,
	const struct fabric_group *group, size_t self, bool out, const struct siblings *siblings)
{
	const struct port_seen *port = observed_port(in->o, group->members[self]);
	const double mean = bytes_of_load(port, siblings->mean);
	const int64_t until_ns =
		last_in_use(past_series(in, group->members[self], out), USED_SHARE * mean);
	if (until_ns == INT64_MIN || siblings->n < 2 || member_went_down(in, group))
		return 1;
	const struct group_before before = group_before(in, group, self, out, until_ns);
	const double total = mean * (double)siblings->n;
	if (!before.known || before.own_share < FAIR_SHARE ||
		!(fabs(before.total - total) < LIKE_TOTAL * before.total))
		return 1;
	if (siblings->cov > SPREAD_MAX ||
		siblings->cov > SAME_SPREAD * before.cov + SAME_SPREAD_MORE)
		return 1;
	return chance_left_out(siblings->n + 1, siblings->cov, (double)siblings->used, before.cov);
}

/* ---- the sign ---------------------------------------------------------------- */

struct route {
	const struct port_seen *port;
	struct empty_link way[2]; /* 0 inbound, 1 outbound */
	enum route_sign sign;
	double chance; /* over all links of the fabric */
};

/* Has the neighbour lost a link to another switch? */
static bool neighbour_is_cut(const struct conservation_in *in, const struct port_seen *port)
{
	const struct device_seen *spine = &in->o->devices[port->port->peer->device->index];
	for (size_t i = 0; i < spine->n_ports; i++) {
		const struct port_seen *p = &spine->ports[i];
		const struct port_seen *far = observed_peer(in->o, p);
		if (p->port->peer && (port_is_down(p) || (far && port_is_down(far))))
			return true;
	}
	return false;
}

/* A route that is missing leaves other switches' groups as even as they were. Where most of these
 * became uneven since @until_ns, other flows began, and what they leave empty is luck. */
static bool flows_changed(
	const struct conservation_in *in, const struct fabric_device *self, int64_t until_ns)
{
	size_t known = 0, uneven = 0;
	for (size_t d = 0; d < in->o->n_devices && known < GROUPS_ASKED; d++) {
		const struct fabric_device *device = in->o->devices[d].device;
		for (size_t k = 0; k < device->n_groups; k++) {
			const struct fabric_group *g = &device->groups[k];
			if (device == self || device->role != self->role ||
				strncmp(g->id, "lag:", 4) == 0)
				continue;
			const struct group_before before =
				group_before(in, g, g->n_members, true, until_ns);
			const struct siblings now = siblings_of(in, g, g->n_members, true);
			if (!before.known || isnan(now.cov))
				continue;
			known++;
			uneven += now.cov > SAME_SPREAD * before.cov + SAME_SPREAD_MORE;
		}
	}
	return 2 * uneven > known;
}

/* Did both directions carry traffic until the same poll, or the one after, while flows elsewhere
 * went on? */
static bool ended_together(const struct conservation_in *in, const struct route *route)
{
	int64_t until_ns[2];
	for (int k = 0; k < 2; k++)
		until_ns[k] = last_in_use(past_series(in, route->port->port, k == 1),
			USED_SHARE * bytes_of_load(route->port, route->way[k].like));
	if (until_ns[0] == INT64_MIN || until_ns[1] == INT64_MIN)
		return false;
	return llabs(until_ns[0] - until_ns[1]) <= 2 * in->in->interval_ns &&
		!flows_changed(in, route->port->port->device, until_ns[1]);
}

static void route_try(struct route *route, enum route_sign sign, double chance, double limit)
{
	if (!(chance < limit) || chance >= route->chance)
		return;
	route->sign = sign;
	route->chance = fmax(chance, CHANCE_LEAST);
}

static void route_find_sign(const struct conservation_in *in, const struct fabric_group *group,
	size_t self, double links, struct route *route)
{
	const struct empty_link *way = route->way;
	if ((!way[0].empty && !way[1].empty) || neighbour_is_cut(in, route->port))
		return;
	if (way[0].empty && way[1].empty)
		route_try(route, ROUTE_BOTH_WAYS, links * way[0].chance * way[1].chance,
			ended_together(in, route) ? CHANCE_ENDED : CHANCE);
	if (way[1].empty)
		route_try(route, ROUTE_PACKETS, links * chance_by_packets(in, group), CHANCE);
	for (int k = 0; k < 2; k++) {
		const bool blind = k == 1 &&
			hash_fields_blind(
				hash_fields(in->in->window, route->port->port->device->name));
		if (way[k].empty && !blind)
			route_try(route, ROUTE_BEFORE,
				links *
					chance_since_before(
						in, group, self, k == 1, &way[k].siblings),
				CHANCE);
	}
}

/* ---- findings ---------------------------------------------------------------- */

static void conservation_route_reasons(struct draft *draft, const struct route *route)
{
	static const char *const signs[] = {[ROUTE_NO_SIGN] = "",
		[ROUTE_BOTH_WAYS] =
			"both directions are empty, and the two ends choose links independently",
		[ROUTE_PACKETS] = "packets show how many flows the group carries",
		[ROUTE_BEFORE] =
			"it carried its share before; the group goes on with as much, as evenly"};
	finding_rests_on(draft, "octets of all links of the group");
	finding_rests_on(draft, "%s", signs[route->sign]);
	finding_ruled_out(draft,
		"too few flows: chance leaves such a link empty with a probability of %.1g over "
		"all links",
		route->chance);
	if (route->port->oper_up == 1)
		finding_ruled_out(draft, "link down: it is up");
	if (draft->f->cause == CAUSE_PATH_ASYMMETRY)
		finding_unproved(draft,
			"whether it is down, or up and without a next hop: no state of it is read");
}

/* May this end be down, for all that is told of it? Whoever receives LLDP is not. */
static bool route_end_may_be_down(const struct port_seen *end)
{
	return !end || (isnan(end->oper_up) && !(end->in_known && end->in.rate_bps > 0));
}

static bool route_may_be_down(const struct conservation_in *in, const struct route *route)
{
	return route->way[0].empty && route->way[1].empty && route_end_may_be_down(route->port) &&
		route_end_may_be_down(observed_peer(in->o, route->port));
}

/* A link that is still empty keeps its incident open, although what it carried before is no longer
 * remembered. */
static enum finding_verdict route_verdict(const struct route *route)
{
	if (route->sign)
		return FINDING_OVER;
	if (route->way[0].empty || route->way[1].empty)
		return FINDING_IDLE;
	return FINDING_UNDER;
}

static void conservation_report_route(
	const struct conservation_in *in, const struct route *route, struct finding_list *out)
{
	const struct port_seen *port = route->port;
	const struct empty_link *empty = route->way;
	const bool may_be_down = route_may_be_down(in, route);
	struct draft t =
		conservation_finding(in, may_be_down ? CAUSE_PATH_ASYMMETRY : CAUSE_MISSING_ROUTE,
			route_verdict(route), out);
	finding_subject(&t, port);
	if (!route->sign)
		return;
	const struct empty_link *worst = &empty[0];
	const char *way = "inbound";
	if (empty[1].empty) {
		worst = &empty[1];
		way = empty[0].empty ? "in both directions" : "outbound";
	}
	const char *far = far_end_text(port, t.a), *here = port_text(port, t.a);
	t.f->value = worst->like;
	t.f->warn = in->options->load_floor;
	t.f->severity = worst->like > 0.8 ? SEV_CRITICAL : SEV_WARNING;
	t.f->confidence_ratio = route->sign == ROUTE_BOTH_WAYS ? 0.9 : 0.85;
	t.f->coverage_ratio = port->out.coverage_ratio;
	const char *is = "is up but unused", *why = "missing next hop";
	if (may_be_down) {
		is = "carries nothing";
		why = "down, or no next hop";
	}
	t.f->summary = arena_printf(t.a,
		"%s to %s %s %s, while the other links of its group are at %.0f %%: %s?", here, far,
		is, way, 100 * worst->like, why);
	finding_evidence(&t, "port.utilization_ratio", port, PRIO_NONE, sent_load(port, true),
		"ratio", port->out.quality);
	finding_evidence(&t, "port.in_utilization_ratio", port, PRIO_NONE, sent_load(port, false),
		"ratio", port->in.quality);
	finding_evidence(&t, "port.group_utilization_ratio", port, PRIO_NONE, worst->like, "ratio",
		QUALITY_EXACT);
	finding_evidence(&t, "port.empty_by_chance_ratio", port, PRIO_NONE, route->chance, "ratio",
		QUALITY_ESTIMATED);
	conservation_route_reasons(&t, route);
	finding_add_role(&t, "culprit", "%s",
		empty[1].empty ? port->port->device->name : port->port->peer->device->name);
	if (may_be_down)
		finding_step(&t,
			arena_printf(t.a,
				"read the state of both ends of %s: is it down (optic, cable, "
				"admin "
				"state, FEC mode), or up and without a next hop?",
				here),
			"none: read only");
	finding_steps(&t, t.f->cause, empty[1].empty ? FACT_NEAR_END : FACT_FAR_END);
}

/* The largest group that the port is a member of: there it has most siblings. */
static const struct fabric_group *conservation_routes_group_of(
	const struct fabric_port *port, size_t *ret_self)
{
	const struct fabric_group *best = NULL;
	for (size_t i = 0; i < port->device->n_groups; i++) {
		const struct fabric_group *g = &port->device->groups[i];
		for (size_t k = 0; k < g->n_members; k++)
			if (g->members[k] == port && (!best || g->n_members > best->n_members) &&
				strncmp(g->id, "lag:", 4) != 0) {
				best = g;
				*ret_self = k;
			}
	}
	return best;
}

/* Reported at the end nearer to the hosts: there both directions have siblings to compare with.
 * One port of a LAG may be empty while the LAG is not. NULL: not to be judged. */
static const struct fabric_group *route_group_of(
	const struct conservation_in *in, const struct port_seen *port, size_t *ret_self)
{
	const struct fabric_port *near = port->port;
	if (!near->peer || near->peer->device->role <= near->device->role || near->lag ||
		isnan(sent_load(port, true)))
		return NULL;
	const struct fabric_group *group = conservation_routes_group_of(near, ret_self);
	/* senders choose the path: a link that none of them chooses misses no next hop */
	if (group && lb_of_group(in->in->window, group) == LB_SOURCE_ROUTED)
		return NULL;
	return group;
}

/* The senders of a link's place are its siblings: the link itself may have become empty. */
static struct paces siblings_paces(
	const struct conservation_in *in, const struct fabric_group *group, size_t self)
{
	struct paces paces = {0};
	for (size_t i = 0; i < group->n_members && !paces.slow; i++) {
		const struct port_seen *p = observed_port(in->whole, group->members[i]);
		if (i == self || !p)
			continue;
		paces_add(&paces, counter_pace(in, p->entity, M_PORT_OUT_OCTETS));
		paces_add(&paces, counter_pace(in, p->entity, M_PORT_IN_OCTETS));
	}
	return paces;
}

void conservation_routes(const struct conservation_in *whole, struct finding_list *out)
{
	double links = 0;
	size_t self = 0;
	for (size_t i = 0; i < whole->o->n_fabric_ports; i++)
		if (route_group_of(whole, &whole->o->ports[i], &self))
			links++;
	for (size_t i = 0; i < whole->o->n_fabric_ports; i++) {
		const struct fabric_group *g = route_group_of(whole, &whole->o->ports[i], &self);
		if (!g)
			continue;
		const struct paces paces = siblings_paces(whole, g, self);
		const struct conservation_in in = conservation_newest(whole, &paces);
		struct route route = {.port = &in.o->ports[i], .chance = INFINITY};
		for (int way = 0; way < 2; way++)
			route.way[way] = empty_link_of(&in, g, self, way == 1);
		route_find_sign(&in, g, self, links, &route);
		conservation_report_route(&in, &route, out);
	}
}
