/*
 * flow_store - the records of a flow table and how they are found and let go: directions of queue
 * pairs, their data streams, hosts, and what most directions have not. Used by the files flow_*.c
 * only; flow_table.h is the door for all others.
 */
#pragma once

#include "base/base.h"

#include "collectors/packet/flow/flow_table.h"
#include "collectors/packet/loss/loss.h"

/*
 * flow_pool - an array of records of one size that grows in blocks: a record never moves, the
 * blocks are aligned to cache lines, and memory that no record has used is not touched. Ids are
 * positions; those given back are used again, the last one first. Single-threaded.
 */

enum { FLOW_POOL_SHIFT = 10, FLOW_POOL_BLOCK = 1 << FLOW_POOL_SHIFT };

struct flow_pool {
	uint8_t *
		*blocks; /* the first ones one by one, then so many at once as a large page holds */
	size_t size; /* of a record */
	uint32_t *given_back;
	uint32_t n_blocks, cap_blocks, n_given_back, cap_given_back;
	uint32_t end; /* ids ever used are below */
};

static inline uint32_t flow_pool_live(const struct flow_pool *pool)
{
	return pool->end - pool->n_given_back;
}

/* flow_pool_at - @size: that of the pool, as a constant, so that no multiplication is left. */
static inline void *flow_pool_at(const struct flow_pool *pool, size_t size, uint32_t id)
{
	return pool->blocks[id >> FLOW_POOL_SHIFT] + (size_t)(id & (FLOW_POOL_BLOCK - 1)) * size;
}

/*
 * hyperloglog - counts distinct things in fixed memory: one byte for each of 2^precision registers.
 * Pure.
 *
 * P. Flajolet, E. Fusy, O. Gandouet, F. Meunier, "HyperLogLog: the analysis of a near-optimal
 * cardinality estimation algorithm", AofA 2007; small numbers by linear counting (K.-Y. Whang et
 * al., ACM TODS 15, 1990), as in that paper. The hash has 64 bits, so large numbers need no
 * correction (S. Heule, M. Nunkesser, A. Hall, EDBT 2013). Standard error 1.04 / sqrt(registers):
 * 0.8 % at precision 14, 3.3 % at precision 10.
 */

struct hyperloglog {
	uint8_t precision; /* 4 to 16 */
	uint8_t registers[];
};

struct hyperloglog *hyperloglog_new(unsigned precision); /* release with free() */

/* hyperloglog_add - @hash must be uniform in all of its 64 bits. */
void hyperloglog_add(struct hyperloglog *counter, uint64_t hash);

double hyperloglog_estimate(const struct hyperloglog *counter);

/* hyperloglog_error_ratio - one standard error, as a share of the estimate. */
double hyperloglog_error_ratio(unsigned precision);

/*
 * flow_ports - the UDP source ports of one direction of a queue pair that uses several: what each
 * carried. The first FLOW_PORTS_MAX are kept one by one; of the others the sums, and how many they
 * are (HyperLogLog, precision FLOW_PORTS_PRECISION). Pure.
 */

enum { FLOW_PORTS_MAX = 64, FLOW_PORTS_PRECISION = 10 };

struct flow_port {
	uint64_t octets, payload_bytes;
	uint32_t packets, ce, not_ect;
	uint16_t port;
};

struct flow_ports {
	struct flow_port *v;
	uint32_t n, cap;
	uint32_t changes; /* data packets on another port than the one before */
	struct flow_port beyond; /* the sums of all others */
	struct hyperloglog *others; /* which ones; NULL: none */
	uint16_t key[FLOW_PORTS_MAX];
};

/* flow_ports_new - @first: what the direction carried on its first port. */
struct flow_ports *flow_ports_new(const struct flow_port *first);

/* flow_ports_at - the record to which a packet on @port adds. *ret_new: the port is new here (of
 * those beyond FLOW_PORTS_MAX: may be new). */
struct flow_port *flow_ports_at(struct flow_ports *ports, uint16_t port, bool *ret_new);

/* flow_ports_beyond - how many ports are in .beyond; an estimate. */
uint32_t flow_ports_beyond(const struct flow_ports *ports);

/* flow_ports_data - how many ports carried payload. */
uint32_t flow_ports_data(const struct flow_ports *ports);

size_t flow_ports_bytes(const struct flow_ports *ports);

/*
 * keyed_index - finds the position of a record in an array by a keyed hash of the record's key:
 * open addressing, linear probing, eight bytes a slot. A slot holds 32 bits of the hash beside the
 * position, so a probe that does not fit is seen without a look at the record. The same 32 bits say
 * where the slot's home is: growing and removing need no key. Single-threaded.
 *
 * Removing moves the entries behind up (D. E. Knuth, TAOCP vol. 3, 6.4, algorithm R): no
 * tombstones, so a table that lives for months with coming and going flows stays fast.
 */

#define KEYED_NONE UINT32_MAX

struct keyed_slot {
	uint32_t tag; /* of the hash */
	uint32_t position; /* in the array + 1; 0: free */
};

struct keyed_index {
	struct keyed_slot *slot;
	uint32_t mask, n;
};

void keyed_index_init(struct keyed_index *index);
void keyed_index_free(struct keyed_index *index);

/* keyed_index_put - @position must not be in it under this hash. Grows at two fifths, when it is
 * large at four. */
void keyed_index_put(struct keyed_index *index, uint64_t hash, uint32_t position);

/* keyed_index_remove - the entry of @position under this hash, which must be there. */
void keyed_index_remove(struct keyed_index *index, uint64_t hash, uint32_t position);

/* keyed_index_move - the entry now means another record. */
void keyed_index_move(struct keyed_index *index, uint64_t hash, uint32_t from, uint32_t to);

static inline uint32_t keyed_tag(uint64_t hash)
{
	return (uint32_t)(hash >> 32);
}

static inline void keyed_index_prefetch(const struct keyed_index *index, uint64_t hash)
{
	__builtin_prefetch(&index->slot[keyed_tag(hash) & index->mask]);
}

/*
 * keyed_index_next - the next position whose tag is that of @hash; KEYED_NONE: there is no more.
 * @at: begin with keyed_tag(hash); it is moved behind what was found. The caller compares the keys.
 */
static inline uint32_t keyed_index_next(
	const struct keyed_index *index, uint64_t hash, uint32_t *at)
{
	const uint32_t tag = keyed_tag(hash);
	for (uint32_t i = *at & index->mask; index->slot[i].position; i = (i + 1) & index->mask) {
		if (index->slot[i].tag != tag)
			continue;
		*at = i + 1;
		return index->slot[i].position - 1;
	}
	return KEYED_NONE;
}
#define FLOW_PORTS_BYTES_MAX (16u << 20)

/* What most directions have not. */
struct flow_rare {
	struct flow_ports *ports; /* several source ports */
	struct hyperloglog *labels; /* several flow labels */
	uint32_t label_changes; /* packets with another one than the one before */
	uint64_t copies;
	uint32_t cnp_sent, nak_sent, rnr_nak_sent;
	uint32_t cnp_about, nak_about, rnr_nak_about;
	/* the counts of flow_qp, in units of 2^32: a capture of days */
	uint32_t packets_high, ce_high, not_ect_high;
};

/* Of what is estimated (below): the same for all, so that the same packets give the same
 * answer. Who knows it can only make his own flows look like more or fewer. */
static const struct siphash_key flow_tally_key = {0x243F6A8885A308D3ull, 0x13198A2E03707344ull};

struct flow_victim {
	uint64_t weight;
	uint32_t id;
};

struct flow_table {
	struct siphash_key key;
	uint32_t limit, sampling;
	uint32_t hosts_gone; /* so many numbers of hosts were given back */
	struct flow_pool qps, first_ns, streams, hosts, rares;
	struct loss *loss; /* NULL: sampled, nothing is judged */
	struct keyed_index by_qp, by_host, by_pair; /* a pair: its newest stream */
	/* owned; where a host probably is, by a plain hash of its address: .by_host is asked for
	 * others only */
	uint32_t *host_guess;
	struct flow_drops drops;
	/* packets, octets, marks, CNPs, NAKs of all; .unattributed of those that are gone */
	struct flow_totals sums;
	uint64_t bin, bin_octets;
	uint64_t v1_packets, v1_octets; /* RoCE version 1 */
	size_t ports_bytes;
	/* since the first eviction; NULL before */
	struct hyperloglog *distinct_flows, *distinct_tuples;
	/* Space-Saving (flow_table.c) */
	uint64_t *error; /* octets that the predecessors of a record had; NULL: none */
	struct flow_victim *victims;
	uint32_t n_victims;
	uint64_t victim_most;
};

static inline struct flow_qp *flow_store_qp(const struct flow_table *table, uint32_t id)
{
	return flow_pool_at(&table->qps, sizeof(struct flow_qp), id);
}
static inline struct flow_stream *flow_store_stream(const struct flow_table *table, uint32_t id)
{
	return flow_pool_at(&table->streams, sizeof(struct flow_stream), id);
}
static inline struct flow_host *flow_store_host(const struct flow_table *table, uint32_t id)
{
	return flow_pool_at(&table->hosts, sizeof(struct flow_host), id);
}
static inline struct flow_rare *flow_store_rare(const struct flow_table *table, uint32_t id)
{
	return flow_pool_at(&table->rares, sizeof(struct flow_rare), id);
}
static inline int64_t *flow_store_first_ns(const struct flow_table *table, uint32_t id)
{
	return flow_pool_at(&table->first_ns, sizeof(int64_t), id);
}
static inline bool flow_qp_live(const struct flow_qp *qp)
{
	return qp->src != FLOW_NONE;
}

static inline bool flow_store_is_host(
	const struct flow_host *host, unsigned family, const uint8_t *address)
{
	uint64_t left[2], right[2];
	memcpy(left, host->address, sizeof(left));
	memcpy(right, address, sizeof(right));
	return host->family == family && left[0] == right[0] && left[1] == right[1];
}

/* flow_store_is - does @packet, whose hosts are known, travel in the direction @id? A free record
 * is nobody's. */
static inline bool flow_store_is(const struct flow_table *table, uint32_t id,
	const struct roce_packet *packet, const struct flow_aim *aim)
{
	const struct flow_qp *qp = flow_store_qp(table, id);
	return qp->dst_qp == packet->dst_qp && qp->src == aim->src && qp->dst == aim->dst;
}

void flow_store_init(struct flow_table *table);
void flow_store_end(struct flow_table *table);

/* flow_store_find - FLOW_NONE: not there. @probably: where it is looked for first. */
uint32_t flow_store_find(const struct flow_table *table, const struct roce_packet *packet,
	const struct flow_aim *aim, uint32_t probably);
bool flow_store_room(const struct flow_table *table); /* for one more direction with new hosts */
uint32_t flow_store_add(struct flow_table *table, const struct roce_packet *packet);
void flow_store_drop(struct flow_table *table, uint32_t id);

/* flow_store_add_stream - @id has none yet. NULL: no room. */
struct flow_stream *flow_store_add_stream(struct flow_table *table, uint32_t id);
/* flow_store_pair - id of the newest stream between two hosts, in this direction. */
uint32_t flow_store_pair(const struct flow_table *table, uint32_t src, uint32_t dst);

/* flow_store_pair_hash - of .by_pair. */
uint64_t flow_store_pair_hash(const struct flow_table *table, uint32_t src, uint32_t dst);

/* flow_store_need_rare - the record of @qp, made when there is none. */
struct flow_rare *flow_store_need_rare(struct flow_table *table, struct flow_qp *qp);
/* flow_store_clear_rare - its counts go to 0, its ports are forgotten. */
void flow_store_clear_rare(struct flow_table *table, struct flow_qp *qp);

/* flow_store_distinct_hash - of (source, destination, @port, @dst_qp), for counting what is
 * distinct;
 * @dst_qp 0: of the 5-tuple. */
uint64_t flow_store_distinct_hash(
	const struct flow_table *table, const struct flow_qp *qp, uint16_t port, uint32_t dst_qp);
