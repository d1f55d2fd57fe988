/* plan - see plan.h. */
#include "tests/fabric/plan.h"

#include <math.h>

#include "base/cleanup.h"
#include "tests/fabric/faults.h"

struct planned {
	uint32_t src, dst;
	uint64_t bytes;
	double warm_bps; /* as in struct sim_flow */
	uint16_t sport;
	/* of a gather: a round of a group starts when its last one has ended */
	uint16_t group, round;
	uint8_t priority;
};
struct plan {
	struct planned *v;
	size_t n, cap;
	struct planned *thin; /* the same bytes in one flow per pair: low entropy */
	size_t n_thin, cap_thin;
	unsigned groups;
};

/* Even placement: source ports are chosen so that the members of each group take turns. */
struct placer {
	const struct scenario *s;
	struct sim *sim;
	unsigned *next_up, *used_down; /* used_down: [spine][leaf][link] */
	uint64_t random;
	double warm_bps; /* of all flows of a pair together, */
	uint16_t group, round; /* and where they belong: of what is added now */
	uint32_t *host; /* of this job, in order */
	unsigned n;
};

static unsigned stores_of(const struct scenario *s, const struct sim *m)
{
	return s->storage_hosts > 0        ? (unsigned)s->storage_hosts
		: m->t.hosts_per_leaf >= 4 ? m->t.hosts_per_leaf / 4
					   : 1;
}

static uint16_t drawn_sport(uint64_t *random)
{
	return (uint16_t)(49152 + (random_next(random) & 0x3fff));
}

/* Of the source ports that lead to the next uplink in turn, one that leads to the least used link
 * of its spine; a hash may not give every pair of members. */
static uint16_t pick_sport(struct placer *p, uint32_t src, uint32_t dst)
{
	struct sim *m = p->sim;
	const unsigned leaf = src / m->t.hosts_per_leaf, to = dst / m->t.hosts_per_leaf,
		       parallel = m->t.parallel, members = m->t.spines * parallel;
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
		if (sim_uplink_of(m, l, src, dst, one) != m->t.hosts_per_leaf + up)
			continue;
		const unsigned down =
			sim_member(&sp->hash, sim_hash(&sp->hash, src, dst, one), parallel);
		if (sport < 0 || used[down] < used[best]) {
			sport = one;
			best = down;
		}
	}
	if (sport < 0)
		/* a hash that never chooses this member: then luck decides */
		return (uint16_t)(49152 + first);
	used[best]++;
	return (uint16_t)sport;
}

/* One queue pair after the other; the last ones are of the second class as far as its share goes.
 */
static void plan_add(struct plan *p, struct placer *place, uint32_t src, uint32_t dst, double bytes,
	unsigned qps)
{
	const struct scenario *s = place->s;
	for (unsigned q = 0; q < qps; q++) {
		const bool second = (q + 0.5) / qps > 1 - s->second_share;
		rw_grow(p->v, p->n, p->cap);
		p->v[p->n++] = (struct planned){src, dst, (uint64_t)(bytes / qps),
			place->warm_bps / qps, pick_sport(place, src, dst), place->group,
			place->round, second ? (uint8_t)(int)s->second_priority : PRIORITY};
	}
	rw_grow(p->thin, p->n_thin, p->cap_thin);
	p->thin[p->n_thin++] = (struct planned){src, dst, (uint64_t)bytes, place->warm_bps,
		drawn_sport(&place->random), place->group, place->round, PRIORITY};
}

/*
 * Reduction to each host of a group in turn: all others send to it, and when it has everything the
 * next one is the root. Half of a group hangs on one leaf, half on the next.
 */
static void plan_gather(struct plan *p, struct placer *place)
{
	const struct topo_params *t = &place->sim->t;
	const unsigned size = (unsigned)(place->s->group + place->s->more_senders),
		       local = t->leaves > 1 && size > 1 ? size / 2 : size;
	rw_cleanup(freep) uint32_t *order = rw_calloc(place->n, sizeof(*order));
	unsigned n = 0;
	for (unsigned block = 0; block < t->hosts_per_leaf; block += local)
		for (unsigned i = 0; i < place->n; i++) {
			const unsigned slot = place->host[i] % t->hosts_per_leaf;
			if (slot >= block && slot < block + local)
				order[n++] = place->host[i];
		}
	for (unsigned first = 0; first < n; first += size, place->group++) {
		const unsigned members = first + size <= n ? size : n - first;
		place->warm_bps =
			members > 1 ? place->s->warm * place->s->host_bps / (members - 1) : 0;
		for (unsigned root = 0; root < members; root++)
			for (unsigned k = 1; k < members; k++) {
				place->round = (uint16_t)root;
				plan_add(p, place, order[first + (root + k) % members],
					order[first + root], place->s->slice_bytes / (members - 1),
					(unsigned)place->s->qps);
			}
	}
	p->groups = place->group;
}

/* Reduction to roots: four neighbours of a leaf send to one host of the next leaf. */
static void plan_incast(struct plan *p, struct placer *place)
{
	const unsigned per_leaf = (place->n + place->sim->t.leaves - 1) / place->sim->t.leaves;
	for (unsigned i = 0; i < place->n; i++) {
		const unsigned root =
			(i / per_leaf + 1) % place->sim->t.leaves * per_leaf + i % per_leaf / 4 * 4;
		plan_add(p, place, place->host[i], place->host[root % place->n],
			place->s->slice_bytes, (unsigned)place->s->qps);
		/* from the leaf after that */
		for (unsigned k = 1; k <= (unsigned)place->s->more_senders && i % 4 == 0; k++)
			plan_add(p, place, place->host[(i + 2 * per_leaf + k) % place->n],
				place->host[root % place->n], place->s->slice_bytes,
				(unsigned)place->s->qps);
	}
}

/* Ring over the leaves, and a shuffle that goes round the others one after the other, as libraries
 * do it, so that no receiver meets all at once. */
static void plan_ring_shuffle(struct plan *p, struct placer *place, double ring, double shuffle)
{
	const struct scenario *s = place->s;
	const unsigned n = place->n,
		       per_leaf = (n + place->sim->t.leaves - 1) / place->sim->t.leaves;
	for (unsigned i = 0; i < n; i++) {
		place->warm_bps = s->warm * s->host_bps * ring;
		if (ring > 0)
			plan_add(p, place, place->host[i], place->host[(i + per_leaf) % n],
				s->slice_bytes * ring, (unsigned)s->qps);
		place->warm_bps = s->warm * s->host_bps * shuffle / (n - 1);
		for (unsigned k = 1; shuffle > 0 && k < n; k++)
			plan_add(p, place, place->host[i], place->host[(i + k) % n],
				s->slice_bytes * shuffle / (n - 1), 1);
	}
}

/* Hosts of the job: neighbours belong to different jobs, and storage to none. */
static void job_hosts(struct placer *place)
{
	const unsigned jobs = place->s->jobs > 1 ? (unsigned)place->s->jobs : 1,
		       all = (unsigned)(place->sim->n_hosts - (size_t)place->s->storage_hosts);
	place->host = rw_calloc(all, sizeof(*place->host));
	for (uint32_t h = 0; h < all; h++)
		if (h % jobs == place->s->job)
			place->host[place->n++] = h;
}

struct plan *plan_new_for(const struct scenario *s, struct sim *m)
{
	struct plan *p = rw_calloc(1, sizeof(*p));
	struct placer place = {.s = s, .sim = m, .random = random_seeded(s->seed, 31 + s->job)};
	place.next_up = rw_calloc(m->t.leaves, sizeof(*place.next_up));
	place.used_down = rw_calloc(
		(size_t)m->t.leaves * m->t.spines * m->t.parallel + 1, sizeof(*place.used_down));
	p->groups = 1;
	job_hosts(&place);
	switch (s->pattern) {
	case PATTERN_GATHER: plan_gather(p, &place); break;
	case PATTERN_INCAST: plan_incast(p, &place); break;
	case PATTERN_RING: plan_ring_shuffle(p, &place, 1, 0); break;
	case PATTERN_RING_SHUFFLE: plan_ring_shuffle(p, &place, 0.7, 0.3); break;
	case PATTERN_ALL_TO_ALL: plan_ring_shuffle(p, &place, 0, 1); break;
	}
	free(place.host);
	free(place.next_up);
	free(place.used_down);
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

/* ---- flows --------------------------------------------------------------- */

struct rounds {
	const struct planned *v;
	size_t n;
	uint32_t left_out; /* host that neither sends nor gets anything */
	uint32_t wrong_class; /* host that sends in the second class */
	uint8_t second;
	bool cold; /* nobody is told to slow down: all queue pairs are at line rate */
	const bool *told; /* or those that are not, by tag */
	double *weight; /* of what is sent to a host */
	uint64_t random;
	struct {
		unsigned round, left; /* the one under way; flows it waits for */
	} * group;
};

static bool round_start(struct rounds *r, struct sim *m, unsigned group)
{
	bool last = true;
	for (size_t i = 0; i < r->n; i++) {
		const struct planned *p = &r->v[i];
		if (p->group != group || p->round < r->group[group].round ||
			p->src == r->left_out || p->dst == r->left_out)
			continue;
		last = false;
		if (p->round != r->group[group].round)
			continue;
		r->group[group].left++;
		const size_t flow = sim_flow_add(m, p->src, p->dst,
			(uint64_t)((double)p->bytes * r->weight[p->dst]),
			m->now_ps + random_next(&r->random) % (5 * PS_PER_US), p->sport,
			p->src == r->wrong_class ? r->second : p->priority, KIND_GROUP + group);
		m->flows[flow].warm_bps = (r->told ? !r->told[i] : r->cold) ? 0 : p->warm_bps;
		m->flows[flow].tag = (uint32_t)i;
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

static uint32_t host_with(
	const struct scenario *s, const struct sim *m, bool faulty, enum fault_kind kind)
{
	const struct fault *f = faulty ? fault_of(s, kind) : NULL;
	return f ? sim_host(m, (unsigned)f->leaf - 1, (unsigned)f->host - 1) : UINT32_MAX;
}

struct rounds *rounds_new(const struct scenario *s, const struct plan *p, struct sim *m,
	bool faulty, bool cold, const bool *told, unsigned variant)
{
	const bool thin = faulty && fault_of(s, FAULT_LOW_ENTROPY);
	struct rounds *r = rw_calloc(1, sizeof(*r));
	*r = (struct rounds){.v = thin ? p->thin : p->v,
		.n = thin ? p->n_thin : p->n,
		.random = random_seeded(s->seed, 200 + variant + 1000 * s->job),
		.left_out = host_with(s, m, faulty, FAULT_SILENT_HOST),
		.wrong_class = host_with(s, m, faulty, FAULT_WRONG_CLASS),
		.second = (uint8_t)(int)s->second_priority,
		.cold = cold,
		.told = told};
	if (r->left_out == UINT32_MAX)
		r->left_out = host_with(s, m, faulty, FAULT_DRAIN);
	uint64_t popularity = random_seeded(s->seed, 300 + variant);
	r->weight = rw_calloc(m->n_hosts, sizeof(*r->weight));
	for (size_t h = 0; h < m->n_hosts; h++)
		r->weight[h] = 1 + s->skew * (2 * random_unit(&popularity) - 1);
	r->group = rw_calloc(p->groups, sizeof(*r->group));
	m->done = flow_ended;
	m->done_data = r;
	for (unsigned g = 0; g < p->groups; g++)
		while (!round_start(r, m, g))
			r->group[g].round++;
	return r;
}

void rounds_free(struct rounds *r)
{
	if (!r)
		return;
	free(r->weight);
	free(r->group);
	free(r);
}

static void storage_flow(const struct scenario *s, struct sim *m, uint32_t src, uint32_t dst,
	double share, struct storage *how, uint64_t *random)
{
	const unsigned qps = (unsigned)s->qps;
	for (unsigned q = 0; share > 0 && q < qps; q++) {
		/* each drawn in a statement of its own: the same seed gives the same under every
		 * compiler */
		const uint16_t sport = drawn_sport(random);
		const uint64_t start_ps = random_next(random) % (5 * PS_PER_US);
		const size_t flow = sim_flow_add(m, src, dst,
			(uint64_t)(s->slice_bytes * share / qps), start_ps, sport,
			how->in_lossless ? PRIORITY : (uint8_t)(int)s->second_priority, KIND_OTHER);
		m->flows[flow].warm_bps =
			(how->told ? !how->told[how->tag] : how->cold) ? 0 : how->warm_bps / qps;
		m->flows[flow].tag = how->tag++;
		sim_flow_background(m, flow);
	}
}

size_t plan_size(const struct plan *p)
{
	return p->n > p->n_thin ? p->n : p->n_thin;
}
size_t plan_tags(const struct scenario *s, const struct plan *p)
{
	return plan_size(p) +
		2 * (size_t)(s->leaves * s->hosts_per_leaf) * (size_t)s->qps *
		(size_t)(1 + s->more_senders);
}

void storage_flows(const struct scenario *s, struct sim *m, struct storage how, uint64_t *random)
{
	const unsigned stores = stores_of(s, m);
	how.warm_bps = s->warm * s->host_bps / ceil((double)(m->n_hosts - stores) / stores);
	how.cold |= s->warm == 0;
	for (uint32_t h = 0; h + stores < m->n_hosts; h++) {
		const uint32_t store = (uint32_t)(m->n_hosts - 1 - h % stores);
		storage_flow(s, m, h, store, s->storage_share, &how, random);
		storage_flow(s, m, store, h, s->storage_reads, &how, random);
	}
	/* who writes to a second one as well */
	for (uint32_t h = 0; h < stores * (uint32_t)s->more_senders && h + stores < m->n_hosts; h++)
		storage_flow(s, m, h, (uint32_t)(m->n_hosts - 1 - (h + 1) % stores),
			s->storage_share, &how, random);
}

void checkpoint_flows(const struct scenario *s, struct sim *m, uint64_t *random)
{
	const unsigned stores = stores_of(s, m);
	const uint8_t priority = s->storage_hosts > 0 && !s->storage_lossless
		? (uint8_t)(int)s->second_priority
		: PRIORITY;
	for (uint32_t h = 0; h + stores < m->n_hosts; h++) {
		const uint16_t sport = drawn_sport(random);
		const uint64_t start_ps = random_next(random) % (20 * PS_PER_US);
		sim_flow_add(m, h, (uint32_t)(m->n_hosts - 1 - h % stores),
			(uint64_t)(s->slice_bytes * stores / 8), start_ps, sport, priority,
			KIND_OTHER);
	}
}
