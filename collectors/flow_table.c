/*
 * flow_table - see flow_table.h.
 *
 * Three open-addressing indices (flows, 5-tuples, address pairs) over arrays, keys compared in the arrays. Flow records are
 * allocated in one growing array; indices hold position + 1. Linear probing at half load: one miss is one cache line or two.
 */
#include "collectors/flow_table.h"

#include <string.h>

#include "agent/base/cleanup.h"

#define PSN_MASK 0xffffffu
#define PSN_RESTART 65536     /* back by more than this: not a retransmission */
#define PSN_WINDOW 65536      /* how far behind a flow's newest PSN an acknowledgement may point */
#define READ_MTU_MIN 256
#define PAIR_WALK_MAX 4096    /* flows of a pair looked at to attribute one packet */
#define PEER_TRIES_MAX 64
#define NONE UINT32_MAX

struct index {
	uint32_t *slot; /* position + 1; 0 = free */
	uint32_t mask;
};

struct tuple { struct flow_key key; uint64_t octets; uint32_t pair; };
struct pair { uint8_t family, src[16], dst[16]; uint32_t first, reverse; };

struct flow_table {
	struct flow *flows;
	struct tuple *tuples;
	struct pair *pairs;
	uint32_t n_flows, cap_flows, n_tuples, cap_tuples, n_pairs, cap_pairs;
	struct index by_flow, by_tuple, by_pair;
	uint32_t limit, sampling;
	uint64_t seed;
	struct flow_totals refused; /* counts of packets that have no flow; and .unattributed, which no flow can hold */
	uint64_t bin, bin_octets, burst_octets;
};

/* --- index --------------------------------------------------------------------------------------------------------- */

static void index_clear(struct index *x, uint32_t slots)
{
	if (!x->slot || x->mask + 1 != slots) {
		free(x->slot);
		x->slot = rw_calloc(slots, sizeof(*x->slot));
		x->mask = slots - 1;
	} else {
		memset(x->slot, 0, (size_t)slots * sizeof(*x->slot));
	}
}

static void index_put(struct index *x, uint64_t hash, uint32_t position)
{
	uint32_t i = (uint32_t)hash & x->mask;
	while (x->slot[i])
		i = (i + 1) & x->mask;
	x->slot[i] = position + 1;
}

static uint64_t mix(uint64_t a, uint64_t b) /* folded 64x64 multiplication */
{
	unsigned __int128 m = (unsigned __int128)(a ^ 0x9E3779B97F4A7C15ull) * (b ^ 0xD1B54A32D192ED03ull);
	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t hash_pair(const struct flow_table *t, unsigned family, const uint8_t *src, const uint8_t *dst)
{
	uint64_t w[4];
	memcpy(w, src, 16);
	memcpy(w + 2, dst, 16);
	uint64_t h = mix(w[0] ^ t->seed, w[2] ^ family);
	return family == 4 ? h : mix(h ^ w[1], w[3] ^ t->seed);
}

static uint64_t hash_tuple(uint64_t pair_hash, unsigned src_port) { return mix(pair_hash, src_port + 1); }
static uint64_t hash_flow(uint64_t pair_hash, unsigned src_port, uint32_t dst_qp)
{
	return mix(pair_hash, (uint64_t)dst_qp << 16 | src_port);
}

static bool same_pair(unsigned family, const uint8_t *src, const uint8_t *dst, unsigned f, const uint8_t *s, const uint8_t *d)
{
	return family == f && memcmp(src, s, 16) == 0 && memcmp(dst, d, 16) == 0;
}

static bool same_tuple(const struct flow_key *a, const struct flow_key *b)
{
	return a->src_port == b->src_port && same_pair(a->family, a->src, a->dst, b->family, b->src, b->dst);
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

struct flow_table *flow_table_new(uint32_t limit, uint32_t sampling, uint64_t seed)
{
	struct flow_table *t = rw_calloc(1, sizeof(*t));
	t->limit = limit ? limit : 1;
	t->sampling = sampling ? sampling : 1;
	t->seed = seed;
	index_clear(&t->by_flow, 64);
	index_clear(&t->by_tuple, 64);
	index_clear(&t->by_pair, 64);
	return t;
}

void flow_table_free(struct flow_table *t)
{
	if (!t)
		return;
	free(t->flows);
	free(t->tuples);
	free(t->pairs);
	free(t->by_flow.slot);
	free(t->by_tuple.slot);
	free(t->by_pair.slot);
	free(t);
}

static uint64_t key_hash(const struct flow_table *t, const struct flow_key *k) { return hash_pair(t, k->family, k->src, k->dst); }

static uint32_t slots_for(uint32_t n)
{
	uint32_t slots = 64;
	while (slots < n * 2)
		slots *= 2;
	return slots;
}

static void reindex_flows(struct flow_table *t)
{
	index_clear(&t->by_flow, slots_for(t->n_flows + t->n_flows / 2 + 1));
	for (uint32_t i = 0; i < t->n_flows; i++) {
		const struct flow_key *k = &t->flows[i].key;
		index_put(&t->by_flow, hash_flow(key_hash(t, k), k->src_port, k->dst_qp), i);
	}
}

static void reindex_tuples(struct flow_table *t)
{
	index_clear(&t->by_tuple, slots_for(t->n_tuples + t->n_tuples / 2 + 1));
	for (uint32_t i = 0; i < t->n_tuples; i++)
		index_put(&t->by_tuple, hash_tuple(key_hash(t, &t->tuples[i].key), t->tuples[i].key.src_port), i);
}

static void reindex_pairs(struct flow_table *t)
{
	index_clear(&t->by_pair, slots_for(t->n_pairs + t->n_pairs / 2 + 1));
	for (uint32_t i = 0; i < t->n_pairs; i++)
		index_put(&t->by_pair, hash_pair(t, t->pairs[i].family, t->pairs[i].src, t->pairs[i].dst), i);
}

static uint32_t pair_find(const struct flow_table *t, unsigned family, const uint8_t *src, const uint8_t *dst, uint64_t hash)
{
	for (uint32_t i = (uint32_t)hash & t->by_pair.mask; t->by_pair.slot[i]; i = (i + 1) & t->by_pair.mask) {
		const struct pair *p = &t->pairs[t->by_pair.slot[i] - 1];
		if (same_pair(family, src, dst, p->family, p->src, p->dst))
			return t->by_pair.slot[i] - 1;
	}
	return NONE;
}

static uint32_t pair_get(struct flow_table *t, const struct flow_key *k, uint64_t hash)
{
	uint32_t at = pair_find(t, k->family, k->src, k->dst, hash);
	if (at != NONE)
		return at;
	rw_grow(t->pairs, t->n_pairs, t->cap_pairs);
	at = t->n_pairs++;
	struct pair *p = &t->pairs[at];
	*p = (struct pair){.family = k->family, .first = NONE};
	memcpy(p->src, k->src, 16);
	memcpy(p->dst, k->dst, 16);
	p->reverse = pair_find(t, k->family, k->dst, k->src, hash_pair(t, k->family, k->dst, k->src));
	if (p->reverse != NONE)
		t->pairs[p->reverse].reverse = at;
	if (t->n_pairs * 2 > t->by_pair.mask)
		reindex_pairs(t);
	else
		index_put(&t->by_pair, hash, at);
	return at;
}

static uint32_t tuple_get(struct flow_table *t, const struct flow_key *k, uint64_t pair_hash)
{
	uint64_t hash = hash_tuple(pair_hash, k->src_port);
	for (uint32_t i = (uint32_t)hash & t->by_tuple.mask; t->by_tuple.slot[i]; i = (i + 1) & t->by_tuple.mask)
		if (same_tuple(&t->tuples[t->by_tuple.slot[i] - 1].key, k))
			return t->by_tuple.slot[i] - 1;
	rw_grow(t->tuples, t->n_tuples, t->cap_tuples);
	uint32_t at = t->n_tuples++;
	t->tuples[at] = (struct tuple){.key = *k, .pair = pair_get(t, k, pair_hash)};
	t->tuples[at].key.dst_qp = 0;
	if (t->n_tuples * 2 > t->by_tuple.mask)
		reindex_tuples(t);
	else
		index_put(&t->by_tuple, hash, at);
	return at;
}

/* Find or add; NONE when the table is full. */
static uint32_t flow_get(struct flow_table *t, const struct roce_packet *p)
{
	uint64_t pair_hash = hash_pair(t, p->family, p->src, p->dst), hash = hash_flow(pair_hash, p->src_port, p->dst_qp);
	for (uint32_t i = (uint32_t)hash & t->by_flow.mask; t->by_flow.slot[i]; i = (i + 1) & t->by_flow.mask) {
		const struct flow_key *k = &t->flows[t->by_flow.slot[i] - 1].key;
		if (k->dst_qp == p->dst_qp && k->src_port == p->src_port && same_pair(p->family, p->src, p->dst, k->family, k->src, k->dst))
			return t->by_flow.slot[i] - 1;
	}
	if (t->n_flows >= t->limit)
		return NONE;
	rw_grow(t->flows, t->n_flows, t->cap_flows);
	uint32_t at = t->n_flows++;
	struct flow *f = &t->flows[at];
	*f = (struct flow){.key = {.family = p->family, .src_port = p->src_port, .dst_qp = p->dst_qp}, .peer = NONE};
	memcpy(f->key.src, p->src, 16);
	memcpy(f->key.dst, p->dst, 16);
	f->tuple = tuple_get(t, &f->key, pair_hash);
	f->pair = t->tuples[f->tuple].pair;
	f->pair_next = t->pairs[f->pair].first;
	t->pairs[f->pair].first = at;
	if (t->n_flows * 2 > t->by_flow.mask)
		reindex_flows(t);
	else
		index_put(&t->by_flow, hash, at);
	return at;
}

/* --- PSN ----------------------------------------------------------------------------------------------------------- */

static int32_t psn_distance(uint32_t a, uint32_t b) /* a - b in -2^23 .. 2^23-1 */
{
	return (int32_t)((a - b) << 8) >> 8;
}

static void psn_anchor(struct psn_track *s, uint32_t psn)
{
	*s = (struct psn_track){.seen = 1, .next = (psn + 1) & PSN_MASK, .last = psn, .valid = true};
}

static void psn_behind(struct flow *f, struct psn_track *s, uint32_t psn, int32_t back)
{
	if (back > PSN_RESTART) {
		f->restarts++;
		psn_anchor(s, psn);
		return;
	}
	uint64_t bit = back <= 64 ? 1ull << (back - 1) : 0; /* back >= 1 */
	bool seen = !bit || (s->seen & bit);
	if (psn == s->last && seen) {
		f->duplicates++;
	} else if (seen) {
		f->retransmits += 1 + s->late; /* missing ones before it in this run were sent again, too */
		s->late = 0;
	} else {
		s->late++;
	}
	s->seen |= bit;
	s->last = psn;
}

static void psn_add(struct flow *f, struct psn_track *s, uint32_t psn, uint32_t allow)
{
	if (!s->valid) {
		psn_anchor(s, psn);
		s->allow = allow;
		return;
	}
	int32_t d = psn_distance(psn, s->next);
	if (d < 0) {
		psn_behind(f, s, psn, -d);
		return;
	}
	f->reordered += s->late; /* the sequence goes on: what came late was only late */
	s->late = 0;
	if (d > 0 && (uint32_t)d > s->allow) {
		f->gaps++;
		f->missing += (uint32_t)d;
	}
	s->seen = d >= 63 ? 1 : s->seen << (d + 1) | 1;
	if (d > 0 && (uint32_t)d <= s->allow) /* used by the responses of a READ, not missing */
		s->seen |= d >= 63 ? UINT64_MAX : ((1ull << d) - 1) << 1;
	s->next = (psn + 1) & PSN_MASK;
	s->last = psn;
	s->allow = allow;
}

static void psn_range(struct flow *f, uint32_t psn, uint8_t rank)
{
	if (rank > f->psn_rank) {
		f->psn_rank = rank;
		f->psn_first = f->psn_last = psn;
	} else if (rank == f->psn_rank && psn_distance(psn, f->psn_last) > 0) {
		f->psn_last = psn;
	}
}

static void psn_packet(struct flow_table *t, struct flow *f, const struct roce_packet *p)
{
	enum roce_role role = roce_opcode_role(p->opcode);
	psn_range(f, p->psn, role == ROLE_REQUEST ? 3 : role == ROLE_RESPONSE || role == ROLE_RESPONSE_FIRST ? 2 : 1);
	if (role == ROLE_REQUEST)
		f->requests++;
	if (t->sampling > 1)
		return;
	if (role == ROLE_REQUEST) {
		bool read = (p->opcode & 31) == 0x0c && p->has_reth;
		psn_add(f, &f->request, p->psn, read ? p->reth_bytes / READ_MTU_MIN + 1 : 0);
	} else if (role == ROLE_RESPONSE_FIRST) {
		psn_anchor(&f->response, p->psn);
	} else if (role == ROLE_RESPONSE && f->response.valid) {
		psn_add(f, &f->response, p->psn, 0);
	}
}

/* --- attribution --------------------------------------------------------------------------------------------------- */

/* The flow that @p, a packet of flow @at, speaks of; NONE when not clear. See flow_table.h for the rule. */
static uint32_t peer_of(struct flow_table *t, uint32_t at, const struct roce_packet *p)
{
	struct flow *f = &t->flows[at];
	if (f->peer != NONE)
		return f->peer;
	uint32_t reverse = t->pairs[f->pair].reverse;
	if (reverse == NONE || f->peer_tries >= PEER_TRIES_MAX)
		return NONE;
	uint32_t only = NONE, same_port = NONE, holds = NONE;
	unsigned n = 0, n_port = 0, n_holds = 0, walked = 0;
	for (uint32_t i = t->pairs[reverse].first; i != NONE; i = t->flows[i].pair_next) {
		const struct flow *g = &t->flows[i];
		if (++walked > PAIR_WALK_MAX)
			break;
		if (g->psn_rank < 3)
			continue;
		n++;
		only = i;
		if (g->key.src_port == f->key.src_port) {
			n_port++;
			same_port = i;
		}
		int32_t back = psn_distance(g->psn_last, p->psn);
		if (p->has_aeth && back >= -1 && back < PSN_WINDOW) {
			n_holds++;
			holds = i;
		}
	}
	if (n != 1 || walked > PEER_TRIES_MAX)
		f->peer_tries++;
	if (walked > PAIR_WALK_MAX)
		return NONE;
	/* Being the only one so far settles nothing for later: another flow of the pair may be about to show itself. */
	if (n == 1)
		return only;
	f->peer = n_port == 1 ? same_port : n_holds == 1 ? holds : NONE;
	return f->peer;
}

static void attribute(struct flow_table *t, uint32_t at, const struct roce_packet *p)
{
	bool cnp = roce_is_cnp(p), nak = roce_is_nak(p), rnr = roce_is_rnr_nak(p);
	struct flow *f = &t->flows[at];
	f->cnp_sent += cnp;
	f->nak_sent += nak;
	f->rnr_nak_sent += rnr;
	if (!cnp && !p->has_aeth)
		return;
	uint32_t peer = peer_of(t, at, p); /* for ordinary ACKs too: they teach which QPs belong together */
	if (!cnp && !nak && !rnr)
		return;
	if (peer == NONE) {
		t->refused.unattributed++;
		return;
	}
	t->flows[peer].cnp_about += cnp;
	t->flows[peer].nak_about += nak;
	t->flows[peer].rnr_nak_about += rnr;
}

/* --- packets ------------------------------------------------------------------------------------------------------- */

/* Aligned bins: a burst that straddles two is seen as its larger part, at worst half. */
static void burst_add(uint64_t *bin, uint64_t *bin_octets, uint64_t *most, int64_t t_ns, uint32_t octets)
{
	uint64_t now = (uint64_t)t_ns / 1000000;
	if (now != *bin) {
		*bin = now;
		*bin_octets = 0;
	}
	*bin_octets += octets;
	if (*bin_octets > *most)
		*most = *bin_octets;
}

void flow_table_add(struct flow_table *t, const struct roce_packet *p, int64_t t_ns)
{
	burst_add(&t->bin, &t->bin_octets, &t->burst_octets, t_ns, p->octets);
	uint32_t at = flow_get(t, p);
	if (at == NONE) {
		struct flow_totals *r = &t->refused;
		r->refused++;
		r->packets++;
		r->octets += p->octets;
		r->ce += p->ecn == ECN_CE;
		r->ect += p->ecn == ECN_ECT0 || p->ecn == ECN_ECT1;
		r->not_ect += p->ecn == ECN_NOT_ECT;
		r->cnp += roce_is_cnp(p);
		r->nak += roce_is_nak(p);
		r->rnr_nak += roce_is_rnr_nak(p);
		return;
	}
	struct flow *f = &t->flows[at];
	if (f->packets++ == 0)
		f->first_ns = t_ns;
	f->last_ns = t_ns;
	f->octets += p->octets;
	f->payload_bytes += p->payload_bytes;
	f->ce += p->ecn == ECN_CE;
	f->ect += p->ecn == ECN_ECT0 || p->ecn == ECN_ECT1;
	f->not_ect += p->ecn == ECN_NOT_ECT;
	burst_add(&f->bin, &f->bin_octets, &f->burst_octets, t_ns, p->octets);
	psn_packet(t, f, p);
	if (p->has_aeth || p->opcode == ROCE_OPCODE_CNP)
		attribute(t, at, p);
}

/* --- answers ------------------------------------------------------------------------------------------------------- */

void flow_table_totals(struct flow_table *t, struct flow_totals *ret)
{
	struct flow_totals s = t->refused;
	for (uint32_t i = 0; i < t->n_tuples; i++)
		t->tuples[i].octets = 0;
	for (uint32_t i = 0; i < t->n_flows; i++) {
		const struct flow *f = &t->flows[i];
		if (f->packets == 0)
			continue;
		s.flows++;
		s.packets += f->packets;
		s.octets += f->octets;
		s.ce += f->ce;
		s.ect += f->ect;
		s.not_ect += f->not_ect;
		s.cnp += f->cnp_sent;
		s.nak += f->nak_sent;
		s.rnr_nak += f->rnr_nak_sent;
		s.gaps += f->gaps;
		s.missing += f->missing;
		s.duplicates += f->duplicates;
		s.retransmits += f->retransmits;
		s.reordered += f->reordered;
		t->tuples[f->tuple].octets += f->octets;
	}
	for (uint32_t i = 0; i < t->n_tuples; i++) {
		double w = (double)t->tuples[i].octets;
		s.five_tuples += w > 0;
		s.sum_octets += w;
		s.sum_sq_octets += w * w;
	}
	s.burst_octets = t->burst_octets;
	*ret = s;
}

static int compare_key(const struct flow_key *a, const struct flow_key *b)
{
	int c = a->family - b->family;
	if (c == 0)
		c = memcmp(a->src, b->src, 16);
	if (c == 0)
		c = memcmp(a->dst, b->dst, 16);
	if (c == 0)
		c = (int)a->src_port - (int)b->src_port;
	if (c == 0)
		c = (int)a->dst_qp - (int)b->dst_qp;
	return c;
}

static int compare_flows(const void *pa, const void *pb)
{
	const struct flow *a = *(const struct flow *const *)pa, *b = *(const struct flow *const *)pb;
	return a->octets != b->octets ? (a->octets < b->octets ? 1 : -1) : compare_key(&a->key, &b->key);
}

const struct flow **flow_table_top(const struct flow_table *t, size_t max, size_t *ret_n)
{
	const struct flow **v = rw_calloc((size_t)t->n_flows + 1, sizeof(*v));
	size_t n = 0;
	for (uint32_t i = 0; i < t->n_flows; i++)
		if (t->flows[i].packets)
			v[n++] = &t->flows[i];
	qsort(v, n, sizeof(*v), compare_flows);
	*ret_n = n < max ? n : max;
	return v;
}

size_t flow_table_samples(struct flow_table *t, int64_t from_ns, int64_t to_ns, uint32_t entity, enum flow_dir dir, bool psn_known,
	struct flow_sample ret[FLOW_TOP + 1])
{
	struct flow_totals s;
	flow_table_totals(t, &s);
	struct flow_sample common = {.from_ns = from_ns, .to_ns = to_ns, .entity = entity, .sampling = t->sampling, .dir = (uint8_t)dir};
	bool every = t->sampling == 1, psn = every && psn_known;
	uint64_t per_s = every ? 8000 : 0; /* octets in a millisecond -> bit/s */
	ret[0] = common;
	ret[0].total = true;
	ret[0].packets = s.packets;
	ret[0].octets = s.octets;
	ret[0].ce = s.ce;
	ret[0].ect = s.ect;
	ret[0].cnp = s.cnp;
	ret[0].nak = s.nak;
	ret[0].retransmits = psn ? s.retransmits : 0;
	ret[0].psn_gaps = psn ? s.gaps : 0;
	ret[0].burst_bps = s.burst_octets * per_s;
	ret[0].flows = s.flows;
	ret[0].sum_sq_octets = s.sum_sq_octets;

	size_t n;
	rw_cleanup(freep) const struct flow **top = flow_table_top(t, FLOW_TOP, &n);
	for (size_t i = 0; i < n; i++) {
		const struct flow *f = top[i];
		struct flow_sample *r = &ret[i + 1];
		*r = common;
		r->key = f->key;
		r->packets = f->packets;
		r->octets = f->octets;
		r->ce = f->ce;
		r->ect = f->ect;
		r->cnp = f->cnp_about;
		r->nak = f->nak_about;
		r->retransmits = psn ? f->retransmits : 0;
		r->psn_gaps = psn ? f->gaps : 0;
		r->burst_bps = f->burst_octets * per_s;
		r->flows = 1;
	}
	return n + 1;
}

/* What stays of a flow from one interval to the next: who it is and where its sequences stand. */
static struct flow flow_carry(const struct flow *f)
{
	return (struct flow){.key = f->key, .request = f->request, .response = f->response, .peer = NONE,
		.psn_first = f->psn_last, .psn_last = f->psn_last, .psn_rank = f->psn_rank, .idle = f->packets ? 0 : (uint8_t)(f->idle + 1)};
}

void flow_table_next(struct flow_table *t)
{
	/* A table half full of the idle would soon refuse the busy. */
	int keep = t->n_flows > t->limit / 2 ? 1 : FLOW_IDLE;
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->n_flows; i++) {
		struct flow carried = flow_carry(&t->flows[i]);
		if (carried.idle < keep)
			t->flows[n++] = carried;
	}
	t->n_flows = n;
	t->n_tuples = t->n_pairs = 0;
	t->refused = (struct flow_totals){0};
	t->burst_octets = 0;
	index_clear(&t->by_tuple, slots_for(n));
	index_clear(&t->by_pair, slots_for(n));
	for (uint32_t i = 0; i < n; i++) {
		struct flow *f = &t->flows[i];
		f->tuple = tuple_get(t, &f->key, key_hash(t, &f->key));
		f->pair = t->tuples[f->tuple].pair;
		f->pair_next = t->pairs[f->pair].first;
		t->pairs[f->pair].first = i;
	}
	reindex_flows(t);
}

double flow_n_eff(double sum, double sum_sq)
{
	return sum_sq > 0 ? sum * sum / sum_sq : 0;
}
