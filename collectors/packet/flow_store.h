/*
 * flow_store - the records of a flow table and how they are found and let go: directions of queue
 * pairs, their data streams, hosts, and what most directions have not. Used by the files flow_*.c
 * only; flow_table.h is the door for all others.
 */
#ifndef RW_COLLECTORS_FLOW_STORE_H
#define RW_COLLECTORS_FLOW_STORE_H

#include <string.h>

#include "collectors/packet/flow_pool.h"
#include "collectors/packet/flow_ports.h"
#include "collectors/packet/flow_table.h"
#include "collectors/packet/keyed_index.h"
#include "collectors/packet/loss.h"

/* Bounds beside the limit of directions; each index is full at 4/5 of a power of two. */
#define FLOW_STREAMS_MAX 419430u
#define FLOW_HOSTS_MAX 838860u
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

/* Of what is estimated (hyperloglog.h): the same for all, so that the same packets give the same
 * answer. Who knows it can only make his own flows look like more or fewer. */
static const struct siphash_key flow_tally_key = {0x243F6A8885A308D3ull, 0x13198A2E03707344ull};

struct flow_victim {
	uint64_t weight;
	uint32_t id;
};

struct flow_table {
	struct siphash_key key;
	uint32_t limit, sampling;
	struct flow_pool qps, first_ns, streams, hosts, rares;
	struct loss *loss; /* NULL: sampled, nothing is judged */
	struct keyed_index by_qp, by_host, by_pair; /* a pair: its newest stream */
	struct flow_drops drops;
	/* packets, octets, marks, CNPs, NAKs of all; .unattributed of those that are gone */
	struct flow_totals sums;
	uint64_t bin, bin_octets;
	uint64_t v1_packets, v1_octets; /* RoCE version 1 */
	size_t ports_bytes;
	/* since the first eviction; NULL before */
	struct hyperloglog *distinct_flows, *distinct_tuples;
	/* Space-Saving (flow_evict.c) */
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

/* flow_store_is - does @packet travel in the direction @id? A free record is nobody's. */
static inline bool flow_store_is(
	const struct flow_table *table, uint32_t id, const struct roce_packet *packet)
{
	const struct flow_qp *qp = flow_store_qp(table, id);
	if (qp->dst_qp != packet->dst_qp || !flow_qp_live(qp))
		return false;
	return flow_store_is_host(flow_store_host(table, qp->src), packet->family, packet->src) &&
		flow_store_is_host(flow_store_host(table, qp->dst), packet->family, packet->dst);
}

void flow_store_init(struct flow_table *table);
void flow_store_end(struct flow_table *table);

/* flow_store_find - FLOW_NONE: not there. */
uint32_t flow_store_find(
	const struct flow_table *table, const struct roce_packet *packet, uint64_t hash);
bool flow_store_room(const struct flow_table *table); /* for one more direction with new hosts */
uint32_t flow_store_add(struct flow_table *table, const struct roce_packet *packet, uint64_t hash);
void flow_store_drop(struct flow_table *table, uint32_t id);

/* flow_store_add_stream - @id has none yet. NULL: no room. */
struct flow_stream *flow_store_add_stream(struct flow_table *table, uint32_t id);
/* flow_store_pair - id of the newest stream between two hosts, in this direction. */
uint32_t flow_store_pair(const struct flow_table *table, uint32_t src, uint32_t dst);

/* flow_store_need_rare - the record of @qp, made when there is none. */
struct flow_rare *flow_store_need_rare(struct flow_table *table, struct flow_qp *qp);
/* flow_store_clear_rare - its counts go to 0, its ports are forgotten. */
void flow_store_clear_rare(struct flow_table *table, struct flow_qp *qp);

/* flow_store_distinct_hash - of (source, destination, @port, @dst_qp), for counting what is
 * distinct;
 * @dst_qp 0: of the 5-tuple. */
uint64_t flow_store_distinct_hash(
	const struct flow_table *table, const struct flow_qp *qp, uint16_t port, uint32_t dst_qp);

#endif
