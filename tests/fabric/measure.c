/* measure - see measure.h. */
#include "tests/fabric/measure.h"

#include <math.h>
#include <string.h>

#include "agent/base/cleanup.h"

#define NS_PER_METRE 5.05 /* SONiC's constant, 1.98e8 m/s */
#define ENDLESS_FACTOR 30 /* an exchange that takes this many times the ideal is not waited for */

enum { KIND_OTHER, KIND_GROUP }; /* of a flow: KIND_GROUP + the group that waits for it */

struct planned {
	uint32_t src, dst;
	uint64_t bytes;
	uint16_t sport;
	double warm_bps;       /* as in struct sim_flow */
	uint16_t group, round; /* of a gather: a round of a group starts when its last one has ended */
};
struct plan {
	struct planned *v;
	size_t n, cap;
	struct planned *thin; /* the same bytes in one flow per pair: low entropy */
	size_t n_thin, cap_thin;
	unsigned groups;
};

static bool has(const struct scenario *s, enum fault_kind kind)
{
	for (size_t i = 0; i < s->n_faults; i++)
		if (s->faults[i].kind == kind)
			return true;
	return false;
}

static struct sim_params job_params(const struct scenario *s, unsigned variant)
{
	struct sim_params p = sim_defaults();
	p.payload_bytes = 4096;
	p.header_bytes = 62; /* Ethernet 18, IPv4 20, UDP 8, BTH 12, ICRC 4 */
	p.control_bytes = 66;
	p.cc.ai_bps = 400e6; /* 40 Mb/s at 40G, by speed; the other periods as validated in the fine grain */
	p.cc.hai_bps = 2e9;
	p.cc.min_bps = 1e9;
	p.cc.on = !s->pfc_only;
	p.spray = s->spray;
	p.seed = random_seeded(s->seed, 100 + variant);
	return p;
}

struct topo_params scenario_topology(const struct scenario *s, bool faulty)
{
	struct switch_params sw = switch_defaults();
	sw.buffer_bytes = (uint64_t)s->pool_bytes;
	sw.alpha = s->alpha;
	sw.kmin_bytes = (uint64_t)s->kmin_bytes;
	sw.kmax_bytes = (uint64_t)s->kmax_bytes;
	sw.pmax = s->pmax;
	sw.ecn = !s->pfc_only;
	sw.headroom_factor = s->headroom_factor;
	sw.xon_offset_bytes = 2 * 4158;
	for (size_t i = 0; faulty && i < s->n_faults; i++)
		if (s->faults[i].kind == FAULT_ECN_LATE) {
			sw.kmin_bytes = (uint64_t)(s->kmin_bytes * s->faults[i].factor);
			sw.kmax_bytes = (uint64_t)(s->kmax_bytes * s->faults[i].factor);
		}
	return (struct topo_params){.leaves = (unsigned)s->leaves, .spines = (unsigned)s->spines, .hosts_per_leaf = (unsigned)s->hosts_per_leaf,
		.parallel = (unsigned)s->parallel, .host_bps = (uint64_t)s->host_bps, .uplink_bps = (uint64_t)s->uplink_bps,
		.host_prop_ps = (uint64_t)(s->host_cable_mm / 1e3 * NS_PER_METRE * 1e3) + 300 * PS_PER_NS, /* 300 ns: PHY and pipeline */
		.uplink_prop_ps = (uint64_t)(s->uplink_cable_mm / 1e3 * NS_PER_METRE * 1e3) + 300 * PS_PER_NS, .leaf = sw, .spine = sw,
		.leaf_hash = {HASH_CRC32, (uint32_t)random_seeded(s->seed, 21), FIELD_ALL, 0, 0, 0},
		.spine_hash = {HASH_CRC32, (uint32_t)random_seeded(s->seed, 22), FIELD_ALL, 0, 0, 0}};
}

/* --- who sends what --- */

struct placer { /* even placement: source ports are chosen so that the members of each group take turns */
	const struct scenario *s;
	struct sim *sim;
	unsigned *next_up, *used_down; /* used_down: [spine][leaf][link] */
	uint64_t random;
	double warm_bps;       /* of all flows of a pair together, */
	uint16_t group, round; /* and where they belong: of what is added now */
};

/*
 * Of the source ports that lead to the next uplink in turn, one that leads to the least used link of its spine. Not every pair of members
 * can be had: CRCs of the same key differ by a constant of their seeds alone, so that one may decide the other.
 */
static uint16_t pick_sport(struct placer *p, uint32_t src, uint32_t dst)
{
	struct sim *m = p->sim;
	const unsigned leaf = src / m->t.hosts_per_leaf, to = dst / m->t.hosts_per_leaf, parallel = m->t.parallel, members = m->t.spines * parallel;
	const uint16_t first = (uint16_t)(random_next(&p->random) & 0x3fff);
	if (!p->s->even || leaf == to)
		return (uint16_t)(49152 + first);
	const struct sim_node *l = sim_leaf(m, leaf);
	const unsigned up = p->next_up[leaf]++ % members, spine = up / parallel;
	unsigned *used = &p->used_down[(spine * m->t.leaves + to) * parallel], best = 0;
	const struct sim_node *sp = sim_spine(m, spine);
	int sport = -1;
	for (unsigned k = 0; k < 0x4000 && k < 16 * members * parallel; k++) {
		const uint16_t one = (uint16_t)(49152 + ((first + k) & 0x3fff));
		if (sim_member(&l->hash, sim_hash(&l->hash, src, dst, one), members) != up)
			continue;
		const unsigned down = sim_member(&sp->hash, sim_hash(&sp->hash, src, dst, one), parallel);
		if (sport < 0 || used[down] < used[best]) {
			sport = one;
			best = down;
		}
	}
	if (sport < 0)
		return (uint16_t)(49152 + first); /* a hash that never chooses this member: then luck decides */
	used[best]++;
	return (uint16_t)sport;
}

static void plan_add(struct plan *p, struct placer *place, uint32_t src, uint32_t dst, double bytes, unsigned qps)
{
	for (unsigned q = 0; q < qps; q++) {
		rw_grow(p->v, p->n, p->cap);
		p->v[p->n++] = (struct planned){src, dst, (uint64_t)(bytes / qps), pick_sport(place, src, dst), place->warm_bps / qps, place->group, place->round};
	}
	rw_grow(p->thin, p->n_thin, p->cap_thin);
	p->thin[p->n_thin++] = (struct planned){src, dst, (uint64_t)bytes, (uint16_t)(49152 + (random_next(&place->random) & 0x3fff)), place->warm_bps, place->group, place->round};
}

/*
 * Reduction to each host of a group in turn: all others send to it, and when it has everything the next one is the root. Half of a
 * group hangs on one leaf, half on the next.
 */
static void plan_gather(struct plan *p, struct placer *place, const struct topo_params *t)
{
	const unsigned hosts = t->leaves * t->hosts_per_leaf, size = (unsigned)place->s->group, local = t->leaves > 1 ? size / 2 : size;
	rw_cleanup(freep) uint32_t *order = rw_calloc(hosts, sizeof(*order));
	unsigned n = 0;
	for (unsigned block = 0; block < t->hosts_per_leaf; block += local)
		for (unsigned leaf = 0; leaf < t->leaves; leaf++)
			for (unsigned slot = block; slot < block + local && slot < t->hosts_per_leaf; slot++)
				order[n++] = leaf * t->hosts_per_leaf + slot;
	for (unsigned first = 0; first < hosts; first += size, place->group++) {
		const unsigned members = first + size <= hosts ? size : hosts - first;
		place->warm_bps = place->s->warm * place->s->host_bps / (members - 1);
		for (unsigned root = 0; root < members; root++)
			for (unsigned k = 1; k < members; k++) {
				place->round = (uint16_t)root;
				plan_add(p, place, order[first + (root + k) % members], order[first + root], place->s->slice_bytes / (members - 1), (unsigned)place->s->qps);
			}
	}
	p->groups = place->group;
}

struct plan *plan_new(const struct scenario *s)
{
	struct plan *p = rw_calloc(1, sizeof(*p));
	p->groups = 1;
	const struct topo_params t = scenario_topology(s, false);
	const struct sim_params sp = job_params(s, 0);
	struct placer place = {s, sim_new(&sp, &t), NULL, NULL, random_seeded(s->seed, 31), 0, 0, 0};
	const unsigned hosts = t.leaves * t.hosts_per_leaf, qps = (unsigned)s->qps;
	place.next_up = rw_calloc(t.leaves, sizeof(*place.next_up));
	place.used_down = rw_calloc((size_t)t.leaves * t.spines * t.parallel + 1, sizeof(*place.used_down));
	const double ring = s->pattern == PATTERN_RING ? 1 : s->pattern == PATTERN_RING_SHUFFLE ? 0.7 : 0;
	const double shuffle = s->pattern == PATTERN_INCAST || s->pattern == PATTERN_GATHER ? 0 : 1 - ring;
	if (s->pattern == PATTERN_GATHER)
		plan_gather(p, &place, &t);
	for (unsigned h = 0; h < hosts; h++) {
		/* Reduction to roots: four neighbours of a leaf send to one host of the next leaf. */
		if (s->pattern == PATTERN_INCAST)
			plan_add(p, &place, h, (h / t.hosts_per_leaf + 1) % t.leaves * t.hosts_per_leaf + h % t.hosts_per_leaf / 4 * 4, s->slice_bytes, qps);
		if (ring > 0)
			plan_add(p, &place, h, (h + t.hosts_per_leaf) % hosts, s->slice_bytes * ring, qps);
		/* A shuffle goes round the others one after the other, as libraries do it, so that no receiver meets all at once. */
		for (unsigned k = 1; shuffle > 0 && k < hosts; k++)
			plan_add(p, &place, h, (h + k) % hosts, s->slice_bytes * shuffle / (hosts - 1), 1);
	}
	free(place.next_up);
	free(place.used_down);
	sim_free(place.sim);
	return p;
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	free(p->v);
	free(p->thin);
	free(p);
}

/* --- faults --- */

static struct sim_port *fault_link(struct sim *m, const struct fault *f) { return sim_uplink(m, (unsigned)f->leaf - 1, (unsigned)f->spine - 1, (unsigned)f->link - 1); }
static struct sim_node *fault_host(struct sim *m, const struct fault *f) { return &m->nodes[sim_host(m, (unsigned)f->leaf - 1, (unsigned)f->host - 1)]; }
static void both_ends(struct sim *m, struct sim_port *p, struct sim_port *ret[2])
{
	ret[0] = p;
	ret[1] = &m->ports[p->peer];
}

/* Before flows are added: what the hash and the routes see. */
static void break_paths(struct sim *m, const struct fault *f)
{
	struct sim_port *ends[2];
	switch (f->kind) {
	case FAULT_HASH_STUCK: {
		struct sim_node *n = sim_leaf(m, (unsigned)f->leaf - 1);
		n->hash.stuck = f->share;
		n->hash.stuck_member = ((unsigned)f->spine - 1) * m->t.parallel + (unsigned)f->link - 1;
		break;
	}
	case FAULT_HASH_FIELDS:
		sim_leaf(m, (unsigned)f->leaf - 1)->hash.fields = FIELD_DST;
		break;
	case FAULT_LINK_DOWN:
	case FAULT_LINK_FLAP:
		sim_link_down(m, fault_link(m, f));
		break;
	case FAULT_LINK_SPEED:
		both_ends(m, fault_link(m, f), ends);
		ends[0]->bps = ends[1]->bps = (uint64_t)f->speed_bps;
		break;
	case FAULT_LINK_LOSS: /* dirty where the leaf receives: one-sided, as optics are */
		fault_link(m, f)->loss = f->loss_ratio;
		break;
	case FAULT_HOST_SPEED:
		both_ends(m, &m->ports[fault_host(m, f)->port0], ends);
		ends[0]->bps = ends[1]->bps = (uint64_t)f->speed_bps;
		break;
	case FAULT_ECN_OFF:
		for (unsigned k = 0; k < sim_leaf(m, (unsigned)f->leaf - 1)->ports; k++)
			sim_port_of(m, sim_leaf(m, (unsigned)f->leaf - 1), k)->ecn = false;
		break;
	case FAULT_HEADROOM:
		for (unsigned k = 0; k < sim_leaf(m, (unsigned)f->leaf - 1)->ports; k++) {
			struct sim_port *p = sim_port_of(m, sim_leaf(m, (unsigned)f->leaf - 1), k);
			p->headroom_bytes = (uint64_t)((double)p->headroom_bytes * f->factor);
		}
		break;
	case FAULT_DSCP_MAP: { /* the lossless class is not recognised: best effort, without PFC and marks */
		struct sim_node *n = sim_leaf(m, (unsigned)f->leaf - 1);
		n->sw.pfc_mask &= ~(1u << PRIORITY);
		for (unsigned k = 0; k < n->ports; k++)
			sim_port_of(m, n, k)->ecn = false;
		break;
	}
	case FAULT_CONFIG_CHANGE:
		for (unsigned k = 0; k < sim_leaf(m, (unsigned)f->leaf - 1)->ports; k++) {
			struct sim_port *p = sim_port_of(m, sim_leaf(m, (unsigned)f->leaf - 1), k);
			p->kmin_bytes = (uint64_t)((double)p->kmin_bytes * f->factor);
			p->kmax_bytes = (uint64_t)((double)p->kmax_bytes * f->factor);
		}
		break;
	case FAULT_REBOOT: /* routing has gone round it */
		for (unsigned k = 0; k < sim_spine(m, (unsigned)f->spine - 1)->ports; k++)
			sim_link_down(m, sim_port_of(m, sim_spine(m, (unsigned)f->spine - 1), k));
		break;
	case FAULT_DRAIN:
		sim_link_down(m, &m->ports[fault_host(m, f)->port0]);
		break;
	case FAULT_PFC_DEAF: /* the spine does not obey the leaf */
		m->ports[fault_link(m, f)->peer].deaf[PRIORITY] = true;
		break;
	case FAULT_CC_OFF:
		fault_host(m, f)->cc_off = true;
		break;
	case FAULT_NIC_HUNG:
		fault_host(m, f)->drain_bps = -1;
		break;
	case FAULT_NIC_STALL:
		sim_stall(m, fault_host(m, f), f->share, 20 * PS_PER_US, PRIORITY);
		break;
	default:
		break;
	}
}

/* Flows that the fault brings with it. */
static void extra_flows(struct sim *m, const struct scenario *s, const struct fault *f, uint64_t *random)
{
	if (f->kind != FAULT_INCAST)
		return;
	const uint32_t to = sim_host(m, (unsigned)f->leaf - 1, (unsigned)f->host - 1);
	unsigned senders = (unsigned)f->factor;
	for (uint32_t h = 0; h < m->n_hosts && senders > 0; h++) {
		const uint32_t from = (uint32_t)((to + m->t.hosts_per_leaf + h) % m->n_hosts);
		if (from / m->t.hosts_per_leaf == to / m->t.hosts_per_leaf)
			continue;
		sim_flow_add(m, from, to, (uint64_t)(s->slice_bytes * f->share), random_next(random) % PS_PER_US, (uint16_t)(49152 + random_next(random) % 16384), PRIORITY, KIND_OTHER);
		senders--;
	}
}

static void collect(const struct sim *m, struct measured *r, const struct measured *before)
{
	const size_t first = m->nodes[m->n_hosts].port0;
	for (size_t i = 0; i < r->n_ports; i++) {
		const struct port_counters *c = &m->ports[first + i].c;
		const struct prio_counters *q = &c->prio[PRIORITY], *k = &c->prio[SIM_CONTROL_PRIORITY];
		const double sums[SUM_COUNT] = {[SUM_IN_OCTETS] = (double)c->in_bytes, [SUM_OUT_OCTETS] = (double)c->out_bytes, [SUM_IN_PACKETS] = (double)c->in_packets,
			[SUM_OUT_PACKETS] = (double)c->out_packets, [SUM_IN_ERRORS] = (double)c->in_errors, [SUM_IN_DISCARDS] = (double)c->in_drops,
			[SUM_OUT_DISCARDS] = (double)c->out_drops, [SUM_PFC_RX] = (double)q->pfc_rx, [SUM_PFC_TX] = (double)q->pfc_tx,
			[SUM_RX_PAUSE_NS] = (double)q->rx_pause_ps / 1e3, [SUM_TX_PAUSE_NS] = (double)q->tx_pause_ps / 1e3, [SUM_RX_EPISODES] = (double)q->rx_episodes,
			[SUM_TX_EPISODES] = (double)q->tx_episodes, [SUM_PG_DROPS] = (double)q->pg_drops, [SUM_QUEUE_OCTETS] = (double)q->out_bytes,
			[SUM_QUEUE_PACKETS] = (double)q->out_packets, [SUM_MARKED] = (double)q->marked, [SUM_CONTROL_OCTETS] = (double)k->out_bytes,
			[SUM_CONTROL_PACKETS] = (double)k->out_packets};
		for (unsigned x = 0; x < SUM_COUNT; x++)
			r->ports[i].sum[x] = sums[x] - (before ? before->ports[i].sum[x] : 0);
		r->ports[i].peak[PEAK_PG] = (double)q->pg_watermark;
		r->ports[i].peak[PEAK_HEADROOM] = (double)q->headroom_watermark;
		r->ports[i].peak[PEAK_QUEUE] = (double)q->queue_watermark;
	}
	for (size_t i = 0; i < r->n_switches; i++)
		r->pool_peak[i] = (double)m->nodes[m->n_hosts + i].pool_watermark;
}

static void measured_init(const struct sim *m, struct measured *r)
{
	*r = (struct measured){.n_ports = m->n_ports - m->nodes[m->n_hosts].port0, .n_switches = m->n_nodes - m->n_hosts};
	r->ports = rw_calloc(r->n_ports, sizeof(*r->ports));
	r->pool_peak = rw_calloc(r->n_switches, sizeof(*r->pool_peak));
}
void measured_done(struct measured *m)
{
	free(m->ports);
	free(m->pool_peak);
	*m = (struct measured){0};
}

/* A checkpoint: every host writes to the storage hosts, which are the last ones of the last leaf. */
static void checkpoint_flows(struct sim *m, const struct scenario *s, uint64_t *random)
{
	const unsigned stores = m->t.hosts_per_leaf >= 4 ? m->t.hosts_per_leaf / 4 : 1;
	for (uint32_t h = 0; h + stores < m->n_hosts; h++)
		sim_flow_add(m, h, (uint32_t)(m->n_hosts - 1 - h % stores), (uint64_t)(s->slice_bytes * stores / 8), random_next(random) % (20 * PS_PER_US),
			(uint16_t)(49152 + random_next(random) % 16384), PRIORITY, KIND_OTHER);
}

/* --- rounds: what a group sends next waits for what it sent last --- */

struct rounds {
	const struct planned *v;
	size_t n;
	uint32_t silent;  /* host that neither sends nor gets anything */
	uint64_t random;
	struct {
		unsigned round, left; /* the one under way; flows it waits for */
	} *group;
};

static bool round_start(struct rounds *r, struct sim *m, unsigned group)
{
	bool last = true;
	for (size_t i = 0; i < r->n; i++) {
		const struct planned *p = &r->v[i];
		if (p->group != group || p->round < r->group[group].round || p->src == r->silent || p->dst == r->silent)
			continue;
		last = false;
		if (p->round != r->group[group].round)
			continue;
		r->group[group].left++;
		const size_t flow = sim_flow_add(m, p->src, p->dst, p->bytes, m->now_ps + random_next(&r->random) % (5 * PS_PER_US), p->sport, PRIORITY, KIND_GROUP + group);
		m->flows[flow].warm_bps = p->warm_bps;
	}
	return last || r->group[group].left > 0;
}

static void flow_ended(void *data, struct sim *m, size_t flow)
{
	struct rounds *r = data;
	const unsigned group = m->flows[flow].kind - KIND_GROUP;
	if (m->flows[flow].kind < KIND_GROUP || --r->group[group].left > 0)
		return;
	do
		r->group[group].round++;
	while (!round_start(r, m, group));
}

void measure_run(const struct scenario *s, const struct plan *plan, enum state state, unsigned variant, struct measured *ret)
{
	measure_watched(s, plan, state, variant, NULL, NULL, ret);
}

void measure_watched(const struct scenario *s, const struct plan *plan, enum state state, unsigned variant,
	void (*see)(void *data, const struct sim *m, const struct sim_port *p, const struct packet *pkt, bool out), void *data, struct measured *ret)
{
	const bool faulty = state == STATE_FAULT, thin = faulty && has(s, FAULT_LOW_ENTROPY);
	const struct sim_params p = job_params(s, variant);
	const struct topo_params t = scenario_topology(s, faulty);
	struct sim *m = sim_new(&p, &t);
	m->trace = see;
	m->trace_data = data;
	uint64_t random = random_seeded(s->seed, 200 + variant);
	uint32_t silent = UINT32_MAX, watched = UINT32_MAX;
	struct rounds r = {0};
	for (size_t i = 0; faulty && i < s->n_faults; i++) {
		const struct fault *f = &s->faults[i];
		break_paths(m, f);
		if (f->host > 0 && watched == UINT32_MAX)
			watched = sim_host(m, (unsigned)f->leaf - 1, (unsigned)f->host - 1);
		if (f->kind == FAULT_SILENT_HOST || f->kind == FAULT_DRAIN)
			silent = sim_host(m, (unsigned)f->leaf - 1, (unsigned)f->host - 1);
	}
	if (state == STATE_CHECKPOINT)
		checkpoint_flows(m, s, &random);
	else {
		r = (struct rounds){.v = thin ? plan->thin : plan->v, .n = thin ? plan->n_thin : plan->n, .silent = silent, .random = random};
		r.group = rw_calloc(plan->groups, sizeof(*r.group));
		m->done = flow_ended;
		m->done_data = &r;
		for (unsigned g = 0; g < plan->groups; g++)
			while (!round_start(&r, m, g))
				r.group[g].round++;
	}
	for (size_t i = 0; faulty && i < s->n_faults; i++)
		extra_flows(m, s, &s->faults[i], &random);
	measured_init(m, ret);
	const uint64_t ideal = (uint64_t)(s->slice_bytes * 8e12 / s->host_bps), until = ideal * ENDLESS_FACTOR;
	struct measured half;
	measured_init(m, &half);
	sim_run(m, until / 2);
	collect(m, &half, NULL);
	sim_run(m, until);
	ret->endless = m->n_done < m->n_flows;
	ret->duration_ns = (double)(ret->endless ? until - until / 2 : m->now_ps) / 1e3;
	collect(m, ret, ret->endless ? &half : NULL);
	for (size_t i = 0; i < m->n_flows; i++)
		if (m->flows[i].src == watched)
			ret->host_end_ns = fmax(ret->host_end_ns, (double)m->flows[i].end_ps / 1e3);
	measured_done(&half);
	free(r.group);
	sim_free(m);
}

struct sim *scenario_shape(const struct scenario *s, bool faulty)
{
	const struct sim_params p = job_params(s, 0);
	const struct topo_params t = scenario_topology(s, faulty);
	struct sim *m = sim_new(&p, &t);
	for (size_t i = 0; faulty && i < s->n_faults; i++)
		break_paths(m, &s->faults[i]);
	return m;
}
