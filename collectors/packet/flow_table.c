/*
 * flow_table - counts packets by flow and by queue pair.
 *
 * Four open-addressing indices (flows, queue pairs, 5-tuples, address pairs) over arrays, keys
 * compared in the arrays. Flow records are allocated in one growing array; indices hold position
 * + 1. Linear probing at half load: one miss is one cache line or two.
 */
#include "collectors/packet/flow_table.h"

#include <string.h>

#include "agent/base/cleanup.h"

#define PSN_WINDOW 65536 /* how far behind a flow's newest PSN an acknowledgement may point */
#define READ_MTU_MIN 256
#define PAIR_WALK_MAX 4096 /* queue pairs of an address pair that are compared for one packet */
#define PEER_TRIES_MAX 64
#define NONE UINT32_MAX

struct flow_index {
	uint32_t *slot; /* position + 1; 0 = free */
	uint32_t mask;
};

struct flow_qp { /* one direction */
	struct psn_track request, response;
	uint32_t pair, dst_qp;
	uint32_t pair_next; /* next of the same pair */
	uint32_t flow; /* of the newest request, else of the newest packet */
	/* the queue pair of the other direction, which ACKs and CNPs of this one are about; NONE =
	 * not known yet */
	uint32_t peer;
	uint32_t psn_first, psn_last;
	uint16_t peer_tries;
	/* what psn_first and _last are of: 3 requests, 2 responses, 1 other, 0 nothing yet */
	uint8_t psn_rank;
};

struct flow_tuple {
	struct flow_key key;
	uint64_t octets;
};
struct flow_pair {
	uint8_t family, src[16], dst[16];
	uint32_t first; /* queue pair, NONE */
	uint32_t reverse; /* pair, NONE */
};

struct flow_table {
	struct flow *flows;
	struct flow_qp *qps;
	struct flow_tuple *tuples;
	struct flow_pair *pairs;
	uint32_t n_flows, cap_flows, n_qps, cap_qps, n_tuples, cap_tuples, n_pairs, cap_pairs;
	struct flow_index by_flow, by_qp, by_tuple, by_pair;
	uint32_t limit, sampling;
	uint64_t seed;
	/* counts of packets that have no flow; and .unattributed, which no flow can hold */
	struct flow_totals refused;
	uint64_t bin, bin_octets, burst_octets;
	uint64_t v1_packets, v1_octets; /* RoCE version 1 */
};

/* ---- index --------------------------------------------------------------- */

static void index_clear(struct flow_index *index, uint32_t slots)
{
	if (!index->slot || index->mask + 1 != slots) {
		free(index->slot);
		index->slot = rw_calloc(slots, sizeof(*index->slot));
		index->mask = slots - 1;
	} else {
		memset(index->slot, 0, (size_t)slots * sizeof(*index->slot));
	}
}

static void index_put(struct flow_index *index, uint64_t hash, uint32_t position)
{
	uint32_t i = (uint32_t)hash & index->mask;
	while (index->slot[i])
		i = (i + 1) & index->mask;
	index->slot[i] = position + 1;
}

static uint64_t flow_table_mix(uint64_t left, uint64_t right) /* folded 64x64 multiplication */
{
	unsigned __int128 m =
		(unsigned __int128)(left ^ 0x9E3779B97F4A7C15ull) * (right ^ 0xD1B54A32D192ED03ull);
	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t hash_pair(
	const struct flow_table *table, unsigned family, const uint8_t *src, const uint8_t *dst)
{
	uint64_t w[4];
	memcpy(w, src, 16);
	memcpy(w + 2, dst, 16);
	uint64_t h = flow_table_mix(w[0] ^ table->seed, w[2] ^ family);
	if (family == 4)
		return h;
	return flow_table_mix(h ^ w[1], w[3] ^ table->seed);
}

static uint64_t hash_tuple(uint64_t pair_hash, unsigned src_port)
{
	return flow_table_mix(pair_hash, src_port + 1);
}
static uint64_t hash_flow(uint64_t pair_hash, unsigned src_port, uint32_t dst_qp)
{
	return flow_table_mix(pair_hash, (uint64_t)dst_qp << 16 | src_port);
}
static uint64_t hash_qp(uint64_t pair_hash, uint32_t dst_qp)
{
	return flow_table_mix(pair_hash, (uint64_t)dst_qp << 16 | 1ull << 40);
}

static bool same_pair(unsigned family, const uint8_t *src, const uint8_t *dst,
	unsigned other_family, const uint8_t *other_src, const uint8_t *other_dst)
{
	return family == other_family && memcmp(src, other_src, 16) == 0 &&
		memcmp(dst, other_dst, 16) == 0;
}

static bool same_tuple(const struct flow_key *left, const struct flow_key *right)
{
	return left->src_port == right->src_port &&
		same_pair(
			left->family, left->src, left->dst, right->family, right->src, right->dst);
}

/* ---- life ---------------------------------------------------------------- */

struct flow_table *flow_table_new(uint32_t limit, uint32_t sampling, uint64_t seed)
{
	struct flow_table *t = rw_calloc(1, sizeof(*t));
	if (limit)
		t->limit = limit;
	else
		t->limit = 1;
	if (sampling)
		t->sampling = sampling;
	else
		t->sampling = 1;
	t->seed = seed;
	index_clear(&t->by_flow, 64);
	index_clear(&t->by_qp, 64);
	index_clear(&t->by_tuple, 64);
	index_clear(&t->by_pair, 64);
	return t;
}

void flow_table_free(struct flow_table *table)
{
	if (!table)
		return;
	free(table->flows);
	free(table->qps);
	free(table->tuples);
	free(table->pairs);
	free(table->by_flow.slot);
	free(table->by_qp.slot);
	free(table->by_tuple.slot);
	free(table->by_pair.slot);
	free(table);
}

static uint64_t key_hash(const struct flow_table *table, const struct flow_key *key)
{
	return hash_pair(table, key->family, key->src, key->dst);
}

static uint32_t slots_for(uint32_t n)
{
	uint32_t slots = 64;
	while (slots < n * 2)
		slots *= 2;
	return slots;
}

static void reindex_flows(struct flow_table *table)
{
	index_clear(&table->by_flow, slots_for(table->n_flows + table->n_flows / 2 + 1));
	for (uint32_t i = 0; i < table->n_flows; i++) {
		const struct flow_key *k = &table->flows[i].key;
		index_put(
			&table->by_flow, hash_flow(key_hash(table, k), k->src_port, k->dst_qp), i);
	}
}

static uint64_t qp_pair_hash(const struct flow_table *table, const struct flow_qp *qp)
{
	const struct flow_pair *p = &table->pairs[qp->pair];
	return hash_pair(table, p->family, p->src, p->dst);
}

static void reindex_qps(struct flow_table *table)
{
	index_clear(&table->by_qp, slots_for(table->n_qps + table->n_qps / 2 + 1));
	for (uint32_t i = 0; i < table->n_qps; i++)
		index_put(&table->by_qp,
			hash_qp(qp_pair_hash(table, &table->qps[i]), table->qps[i].dst_qp), i);
}

static void reindex_tuples(struct flow_table *table)
{
	index_clear(&table->by_tuple, slots_for(table->n_tuples + table->n_tuples / 2 + 1));
	for (uint32_t i = 0; i < table->n_tuples; i++)
		index_put(&table->by_tuple,
			hash_tuple(key_hash(table, &table->tuples[i].key),
				table->tuples[i].key.src_port),
			i);
}

static void reindex_pairs(struct flow_table *table)
{
	index_clear(&table->by_pair, slots_for(table->n_pairs + table->n_pairs / 2 + 1));
	for (uint32_t i = 0; i < table->n_pairs; i++)
		index_put(&table->by_pair,
			hash_pair(table, table->pairs[i].family, table->pairs[i].src,
				table->pairs[i].dst),
			i);
}

static uint32_t pair_find(const struct flow_table *table, unsigned family, const uint8_t *src,
	const uint8_t *dst, uint64_t hash)
{
	for (uint32_t i = (uint32_t)hash & table->by_pair.mask; table->by_pair.slot[i];
		i = (i + 1) & table->by_pair.mask) {
		const struct flow_pair *p = &table->pairs[table->by_pair.slot[i] - 1];
		if (same_pair(family, src, dst, p->family, p->src, p->dst))
			return table->by_pair.slot[i] - 1;
	}
	return NONE;
}

static uint32_t pair_get(struct flow_table *table, const struct flow_key *key, uint64_t hash)
{
	uint32_t at = pair_find(table, key->family, key->src, key->dst, hash);
	if (at != NONE)
		return at;
	rw_grow(table->pairs, table->n_pairs, table->cap_pairs);
	at = table->n_pairs++;
	struct flow_pair *p = &table->pairs[at];
	*p = (struct flow_pair){.family = key->family, .first = NONE};
	memcpy(p->src, key->src, 16);
	memcpy(p->dst, key->dst, 16);
	p->reverse = pair_find(table, key->family, key->dst, key->src,
		hash_pair(table, key->family, key->dst, key->src));
	if (p->reverse != NONE)
		table->pairs[p->reverse].reverse = at;
	if (table->n_pairs * 2 > table->by_pair.mask)
		reindex_pairs(table);
	else
		index_put(&table->by_pair, hash, at);
	return at;
}

static uint32_t tuple_get(struct flow_table *table, const struct flow_key *key, uint64_t pair_hash)
{
	uint64_t hash = hash_tuple(pair_hash, key->src_port);
	for (uint32_t i = (uint32_t)hash & table->by_tuple.mask; table->by_tuple.slot[i];
		i = (i + 1) & table->by_tuple.mask)
		if (same_tuple(&table->tuples[table->by_tuple.slot[i] - 1].key, key))
			return table->by_tuple.slot[i] - 1;
	rw_grow(table->tuples, table->n_tuples, table->cap_tuples);
	uint32_t at = table->n_tuples++;
	table->tuples[at] = (struct flow_tuple){.key = *key};
	table->tuples[at].key.dst_qp = 0;
	if (table->n_tuples * 2 > table->by_tuple.mask)
		reindex_tuples(table);
	else
		index_put(&table->by_tuple, hash, at);
	return at;
}

static uint32_t qp_get(struct flow_table *table, const struct flow_key *key, uint64_t pair_hash)
{
	uint64_t hash = hash_qp(pair_hash, key->dst_qp);
	uint32_t pair = pair_get(table, key, pair_hash);
	for (uint32_t i = (uint32_t)hash & table->by_qp.mask; table->by_qp.slot[i];
		i = (i + 1) & table->by_qp.mask) {
		const struct flow_qp *q = &table->qps[table->by_qp.slot[i] - 1];
		if (q->pair == pair && q->dst_qp == key->dst_qp)
			return table->by_qp.slot[i] - 1;
	}
	rw_grow(table->qps, table->n_qps, table->cap_qps);
	uint32_t at = table->n_qps++;
	table->qps[at] = (struct flow_qp){.pair = pair,
		.dst_qp = key->dst_qp,
		.pair_next = table->pairs[pair].first,
		.flow = NONE,
		.peer = NONE};
	table->pairs[pair].first = at;
	if (table->n_qps * 2 > table->by_qp.mask)
		reindex_qps(table);
	else
		index_put(&table->by_qp, hash, at);
	return at;
}

/* Find or add; NONE when the table is full. */
static uint32_t flow_get(struct flow_table *table, const struct roce_packet *packet)
{
	uint64_t pair_hash = hash_pair(table, packet->family, packet->src, packet->dst),
		 hash = hash_flow(pair_hash, packet->src_port, packet->dst_qp);
	for (uint32_t i = (uint32_t)hash & table->by_flow.mask; table->by_flow.slot[i];
		i = (i + 1) & table->by_flow.mask) {
		const struct flow_key *k = &table->flows[table->by_flow.slot[i] - 1].key;
		if (k->dst_qp == packet->dst_qp && k->src_port == packet->src_port &&
			same_pair(packet->family, packet->src, packet->dst, k->family, k->src,
				k->dst))
			return table->by_flow.slot[i] - 1;
	}
	if (table->n_flows >= table->limit)
		return NONE;
	rw_grow(table->flows, table->n_flows, table->cap_flows);
	uint32_t at = table->n_flows++;
	struct flow *f = &table->flows[at];
	*f = (struct flow){.key = {.family = packet->family,
				   .src_port = packet->src_port,
				   .dst_qp = packet->dst_qp}};
	memcpy(f->key.src, packet->src, 16);
	memcpy(f->key.dst, packet->dst, 16);
	f->tuple = tuple_get(table, &f->key, pair_hash);
	f->qp = qp_get(table, &f->key, pair_hash);
	if (table->n_flows * 2 > table->by_flow.mask)
		reindex_flows(table);
	else
		index_put(&table->by_flow, hash, at);
	return at;
}

/* ---- PSN ----------------------------------------------------------------- */

static void psn_range(struct flow_qp *qp, uint32_t psn, uint8_t rank)
{
	if (rank > qp->psn_rank) {
		qp->psn_rank = rank;
		qp->psn_first = qp->psn_last = psn;
	} else if (rank == qp->psn_rank && psn_distance(psn, qp->psn_last) > 0) {
		qp->psn_last = psn;
	}
}

static void psn_packet(struct flow_table *table, uint32_t at, const struct roce_packet *packet)
{
	struct flow *f = &table->flows[at];
	struct flow_qp *q = &table->qps[f->qp];
	enum roce_role role = roce_opcode_role(packet->opcode);
	uint8_t rank = 1;
	if (role == ROLE_REQUEST)
		rank = 3;
	else if (role == ROLE_RESPONSE || role == ROLE_RESPONSE_FIRST)
		rank = 2;
	if (rank == 3 || q->psn_rank < 3)
		q->flow = at;
	psn_range(q, packet->psn, rank);
	if (table->sampling > 1)
		return;
	if (role == ROLE_REQUEST) {
		const bool read = (packet->opcode & 31) == 0x0c && packet->has_reth;
		uint32_t allow = 0;
		if (read)
			allow = packet->reth_bytes / READ_MTU_MIN + 1;
		psn_add(&q->request, &f->psn, packet->psn, allow);
	} else if (role == ROLE_RESPONSE_FIRST) {
		psn_anchor(&q->response, packet->psn);
	} else if (role == ROLE_RESPONSE && q->response.valid) {
		psn_add(&q->response, &f->psn, packet->psn, 0);
	}
}

/* ---- attribution --------------------------------------------------------- */

/* psn_held - do the requests of @peer so far, at most the last PSN_WINDOW, hold the PSN of this
 * acknowledgement? */
static bool psn_held(const struct flow_qp *peer, const struct roce_packet *packet)
{
	if (!packet->has_aeth)
		return false;
	int32_t back = psn_distance(peer->psn_last, packet->psn);
	int32_t known = psn_distance(peer->psn_last, peer->psn_first);
	if (back < -1 || back >= PSN_WINDOW)
		return false;
	return known < 0 || back <= known; /* known < 0: the PSNs wrapped */
}

/* The queue pair that @packet, an ACK or CNP of flow @flow, is about; NONE when not clear. The rule
 * stands in flow_table.h. */
static uint32_t flow_table_peer_of(
	struct flow_table *table, const struct flow *flow, const struct roce_packet *packet)
{
	struct flow_qp *q = &table->qps[flow->qp];
	/* 1. known from an earlier packet */
	if (q->peer != NONE)
		return q->peer;
	uint32_t reverse = table->pairs[q->pair].reverse;
	if (reverse == NONE || q->peer_tries >= PEER_TRIES_MAX)
		return NONE;
	/* 2. count the candidates: queue pairs of the reversed addresses that sent requests */
	uint32_t only = NONE, same_port = NONE, holds = NONE;
	unsigned n = 0, n_port = 0, n_holds = 0, walked = 0;
	for (uint32_t i = table->pairs[reverse].first; i != NONE && walked <= PAIR_WALK_MAX;
		i = table->qps[i].pair_next, walked++) {
		const struct flow_qp *peer = &table->qps[i];
		if (peer->psn_rank < 3)
			continue;
		n++;
		only = i;
		if (table->flows[peer->flow].key.src_port == flow->key.src_port) {
			n_port++;
			same_port = i;
		}
		if (psn_held(peer, packet)) {
			n_holds++;
			holds = i;
		}
	}
	if (n != 1 || walked > PEER_TRIES_MAX)
		q->peer_tries++;
	if (walked > PAIR_WALK_MAX)
		return NONE;
	/* 3. The only one so far is not remembered: another one of the pair may send its first
	 * request later. */
	if (n == 1)
		return only;
	/* 4. the only one with this source port, else the only one that holds the PSN */
	if (n_port == 1)
		q->peer = same_port;
	else if (n_holds == 1)
		q->peer = holds;
	return q->peer;
}

static void flow_table_attribute(
	struct flow_table *table, uint32_t at, const struct roce_packet *packet)
{
	bool cnp = roce_is_cnp(packet), nak = roce_is_nak(packet), rnr = roce_is_rnr_nak(packet);
	struct flow *f = &table->flows[at];
	f->cnp_sent += cnp;
	f->nak_sent += nak;
	f->rnr_nak_sent += rnr;
	if (!cnp && !packet->has_aeth)
		return;
	/* for ordinary ACKs too: they show which QPs belong together */
	uint32_t peer = flow_table_peer_of(table, f, packet);
	if (!cnp && !nak && !rnr)
		return;
	if (peer == NONE) {
		table->refused.unattributed++;
		return;
	}
	f = &table->flows[table->qps[peer].flow];
	f->cnp_about += cnp;
	f->nak_about += nak;
	f->rnr_nak_about += rnr;
}

/* ---- packets ------------------------------------------------------------- */

/* Aligned bins: a burst that straddles two is seen as its larger part, at worst half. */
static void burst_add(
	uint64_t *bin, uint64_t *bin_octets, uint64_t *most, int64_t t_ns, uint32_t octets)
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

void flow_table_add(struct flow_table *table, const struct roce_packet *packet, int64_t t_ns)
{
	if (packet->kind == PACKET_ROCEV1) {
		table->v1_packets++;
		table->v1_octets += packet->octets;
		return;
	}
	burst_add(&table->bin, &table->bin_octets, &table->burst_octets, t_ns, packet->octets);
	uint32_t at = flow_get(table, packet);
	if (at == NONE) {
		struct flow_totals *r = &table->refused;
		r->refused++;
		r->packets++;
		r->octets += packet->octets;
		r->ce += packet->ecn == ECN_CE;
		r->ect += packet->ecn == ECN_ECT0 || packet->ecn == ECN_ECT1;
		r->not_ect += packet->ecn == ECN_NOT_ECT;
		r->cnp += roce_is_cnp(packet);
		r->nak += roce_is_nak(packet);
		r->rnr_nak += roce_is_rnr_nak(packet);
		return;
	}
	struct flow *f = &table->flows[at];
	if (f->packets++ == 0)
		f->first_ns = t_ns;
	f->last_ns = t_ns;
	f->octets += packet->octets;
	f->payload_bytes += packet->payload_bytes;
	f->ce += packet->ecn == ECN_CE;
	f->ect += packet->ecn == ECN_ECT0 || packet->ecn == ECN_ECT1;
	f->not_ect += packet->ecn == ECN_NOT_ECT;
	burst_add(&f->bin, &f->bin_octets, &f->burst_octets, t_ns, packet->octets);
	psn_packet(table, at, packet);
	if (packet->has_aeth || packet->opcode == ROCE_OPCODE_CNP)
		flow_table_attribute(table, at, packet);
}

/* ---- answers ------------------------------------------------------------- */

void flow_table_totals(struct flow_table *table, struct flow_totals *ret)
{
	struct flow_totals s = table->refused;
	for (uint32_t i = 0; i < table->n_tuples; i++)
		table->tuples[i].octets = 0;
	for (uint32_t i = 0; i < table->n_flows; i++) {
		const struct flow *f = &table->flows[i];
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
		s.psn.gaps += f->psn.gaps;
		s.psn.missing += f->psn.missing;
		s.psn.duplicates += f->psn.duplicates;
		s.psn.retransmits += f->psn.retransmits;
		s.psn.reordered += f->psn.reordered;
		s.psn.restarts += f->psn.restarts;
		table->tuples[f->tuple].octets += f->octets;
	}
	for (uint32_t i = 0; i < table->n_tuples; i++) {
		double w = (double)table->tuples[i].octets;
		s.five_tuples += w > 0;
		s.sum_octets += w;
		s.sum_sq_octets += w * w;
	}
	s.burst_octets = table->burst_octets;
	*ret = s;
}

static int compare_key(const struct flow_key *left, const struct flow_key *right)
{
	int c = left->family - right->family;
	if (c == 0)
		c = memcmp(left->src, right->src, 16);
	if (c == 0)
		c = memcmp(left->dst, right->dst, 16);
	if (c == 0)
		c = (int)left->src_port - (int)right->src_port;
	if (c == 0)
		c = (int)left->dst_qp - (int)right->dst_qp;
	return c;
}

static int compare_flows(const void *pa, const void *pb)
{
	const struct flow *a = *(const struct flow *const *)pa,
			  *b = *(const struct flow *const *)pb;
	if (a->octets != b->octets) {
		if (a->octets < b->octets)
			return 1;
		return -1;
	}
	return compare_key(&a->key, &b->key);
}

const struct flow **flow_table_top(const struct flow_table *table, size_t max, size_t *ret_n)
{
	const struct flow **v = rw_calloc((size_t)table->n_flows + 1, sizeof(*v));
	size_t n = 0;
	for (uint32_t i = 0; i < table->n_flows; i++)
		if (table->flows[i].packets)
			v[n++] = &table->flows[i];
	qsort(v, n, sizeof(*v), compare_flows);
	if (n < max)
		*ret_n = n;
	else
		*ret_n = max;
	return v;
}

static void qp_sum(struct flow *sum, const struct flow *flow)
{
	if (sum->packets == 0) {
		*sum = *flow;
		sum->source_ports = 1;
		return;
	}
	sum->key.src_port = 0;
	sum->source_ports++;
	if (flow->first_ns < sum->first_ns)
		sum->first_ns = flow->first_ns;
	if (flow->last_ns > sum->last_ns)
		sum->last_ns = flow->last_ns;
	if (flow->burst_octets > sum->burst_octets)
		sum->burst_octets = flow->burst_octets;
	static const size_t sums[] = {
		offsetof(struct flow, packets),
		offsetof(struct flow, octets),
		offsetof(struct flow, payload_bytes),
		offsetof(struct flow, ce),
		offsetof(struct flow, ect),
		offsetof(struct flow, not_ect),
		offsetof(struct flow, cnp_sent),
		offsetof(struct flow, nak_sent),
		offsetof(struct flow, rnr_nak_sent),
		offsetof(struct flow, cnp_about),
		offsetof(struct flow, nak_about),
		offsetof(struct flow, rnr_nak_about),
		offsetof(struct flow, psn.gaps),
		offsetof(struct flow, psn.missing),
		offsetof(struct flow, psn.duplicates),
		offsetof(struct flow, psn.retransmits),
		offsetof(struct flow, psn.reordered),
		offsetof(struct flow, psn.restarts),
	};
	for (size_t i = 0; i < rw_countof(sums); i++)
		*(uint64_t *)(void *)((char *)sum + sums[i]) +=
			*(const uint64_t *)(const void *)((const char *)flow + sums[i]);
}

static int compare_qps(const void *pa, const void *pb)
{
	const struct flow *a = pa, *b = pb;
	return compare_flows(&a, &b);
}

struct flow *flow_table_qps(const struct flow_table *table, size_t *ret_n)
{
	struct flow *v = rw_calloc((size_t)table->n_qps + 1, sizeof(*v));
	for (uint32_t i = 0; i < table->n_flows; i++)
		if (table->flows[i].packets)
			qp_sum(&v[table->flows[i].qp], &table->flows[i]);
	size_t n = 0;
	for (uint32_t i = 0; i < table->n_qps; i++) {
		if (v[i].packets == 0)
			continue;
		v[i].psn_first = table->qps[i].psn_first;
		v[i].psn_last = table->qps[i].psn_last;
		/* late ones that were not judged before the end of the interval */
		v[i].psn.reordered += table->qps[i].request.late + table->qps[i].response.late;
		v[n++] = v[i];
	}
	qsort(v, n, sizeof(*v), compare_qps);
	*ret_n = n;
	return v;
}

size_t flow_table_samples(struct flow_table *table, int64_t from_ns, int64_t to_ns, uint32_t entity,
	enum flow_dir dir, bool psn_known, struct flow_sample ret[FLOW_TOP + 1])
{
	struct flow_totals s;
	flow_table_totals(table, &s);
	struct flow_sample common = {.from_ns = from_ns,
		.to_ns = to_ns,
		.entity = entity,
		.sampling = table->sampling,
		.dir = (uint8_t)dir};
	bool every = table->sampling == 1, psn = every && psn_known;
	/* octets in a millisecond -> bit/s */
	uint64_t per_s = 0;
	if (every)
		per_s = 8000;
	ret[0] = common;
	ret[0].total = true;
	ret[0].packets = s.packets;
	ret[0].octets = s.octets;
	ret[0].ce = s.ce;
	ret[0].ect = s.ect;
	ret[0].cnp = s.cnp;
	ret[0].nak = s.nak;
	if (psn) { /* else unknown, and 0 */
		ret[0].retransmits = s.psn.retransmits;
		ret[0].psn_gaps = s.psn.gaps;
	}
	ret[0].burst_bps = s.burst_octets * per_s;
	ret[0].flows = s.flows;
	ret[0].sum_sq_octets = s.sum_sq_octets;

	size_t n;
	const bool v1 = table->v1_packets > 0;
	rw_cleanup(freep) const struct flow **top = flow_table_top(table, FLOW_TOP - v1, &n);
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
		if (psn) {
			r->retransmits = f->psn.retransmits;
			r->psn_gaps = f->psn.gaps;
		}
		r->burst_bps = f->burst_octets * per_s;
		r->flows = 1;
	}
	if (v1) {
		ret[++n] = common;
		ret[n].packets = table->v1_packets;
		ret[n].octets = table->v1_octets;
	}
	return n + 1;
}

/* What stays of a queue pair: the state of its sequences. The peer is learned again, because
 * positions in the table change. */
static void qp_carry(struct flow_qp *to, const struct flow_qp *from, uint32_t flow)
{
	to->request = from->request;
	to->response = from->response;
	to->psn_first = from->psn_first;
	to->psn_last = from->psn_last;
	to->psn_rank = from->psn_rank;
	to->flow = flow;
}

void flow_table_next(struct flow_table *table)
{
	/* A table half full of idle flows would soon refuse busy ones. */
	int keep = FLOW_IDLE;
	if (table->n_flows > table->limit / 2)
		keep = 1;
	rw_cleanup(freep) struct flow_qp *old = table->qps;
	table->qps = NULL;
	table->n_qps = table->cap_qps = table->n_tuples = table->n_pairs = 0;
	index_clear(&table->by_qp, 64);
	index_clear(&table->by_tuple, 64);
	index_clear(&table->by_pair, 64);
	uint32_t n = 0;
	for (uint32_t i = 0; i < table->n_flows; i++) {
		const struct flow *f = &table->flows[i];
		const struct flow_qp *q = &old[f->qp];
		uint8_t idle = 0;
		if (!f->packets)
			idle = (uint8_t)(f->idle + 1);
		if (idle >= keep)
			continue;
		struct flow kept = {.key = f->key, .idle = idle};
		uint64_t hash = key_hash(table, &kept.key);
		kept.tuple = tuple_get(table, &kept.key, hash);
		kept.qp = qp_get(table, &kept.key, hash);
		/* Of a queue pair with several flows the one of the newest request stays its flow,
		 * if it stays. */
		if (table->qps[kept.qp].flow == NONE || q->flow == i)
			qp_carry(&table->qps[kept.qp], q, n);
		table->flows[n++] = kept;
	}
	table->n_flows = n;
	table->refused = (struct flow_totals){0};
	table->burst_octets = 0;
	table->v1_packets = table->v1_octets = 0;
	reindex_flows(table);
}

double flow_n_eff(double sum, double sum_sq)
{
	if (sum_sq > 0)
		return sum * sum / sum_sq;
	return 0;
}
