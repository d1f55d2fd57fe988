/* flow_store - life of the records of a flow table. */
#include "collectors/packet/flow_store.h"

#include <string.h>

#include "agent/base/cleanup.h"

void flow_store_init(struct flow_table *table)
{
	_Static_assert(sizeof(struct flow_qp) == 64, "one cache line");
	flow_pool_init(&table->qps, sizeof(struct flow_qp));
	flow_pool_init(&table->first_ns, sizeof(int64_t));
	flow_pool_init(&table->streams, sizeof(struct flow_stream));
	flow_pool_init(&table->hosts, sizeof(struct flow_host));
	flow_pool_init(&table->rares, sizeof(struct flow_rare));
	keyed_index_init(&table->by_qp);
	keyed_index_init(&table->by_host);
	keyed_index_init(&table->by_pair);
	*(struct flow_rare *)flow_pool_at(&table->rares, sizeof(struct flow_rare),
		flow_pool_take(&table->rares)) = (struct flow_rare){0}; /* id 0 means none */
}

static void flow_store_end_rare(struct flow_rare *rare)
{
	flow_ports_free(rare->ports);
	free(rare->labels);
}

void flow_store_end(struct flow_table *table)
{
	/* records that were given back hold nothing: they are zero */
	for (uint32_t i = 1; i < table->rares.end; i++)
		flow_store_end_rare(flow_store_rare(table, i));
	flow_pool_free(&table->qps);
	flow_pool_free(&table->first_ns);
	flow_pool_free(&table->streams);
	flow_pool_free(&table->hosts);
	flow_pool_free(&table->rares);
	keyed_index_free(&table->by_qp);
	keyed_index_free(&table->by_host);
	keyed_index_free(&table->by_pair);
}

/* ---- keys ---------------------------------------------------------------- */

static uint64_t flow_store_word(const uint8_t *bytes)
{
	uint64_t word;
	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* One message per key: both addresses, 4 or 16 bytes each, then @more, the QP and the family. No
 * two keys give the same message. */
static inline uint64_t flow_store_key_hash(const struct siphash_key *key, unsigned family,
	const uint8_t *src, const uint8_t *dst, uint64_t more_and_qp)
{
	const uint64_t rest = more_and_qp << 8 | family;
	if (family == 4)
		return siphash13_two(
			key, flow_store_word(src) << 32 | (uint32_t)flow_store_word(dst), rest);
	struct siphash_state state = siphash_begin(key);
	siphash13_word(&state, flow_store_word(src));
	siphash13_word(&state, flow_store_word(src + 8));
	siphash13_word(&state, flow_store_word(dst));
	siphash13_word(&state, flow_store_word(dst + 8));
	siphash13_word(&state, rest);
	return siphash13_end(&state, 40ull << 56);
}

uint64_t flow_table_hash(const struct flow_table *table, const struct roce_packet *packet)
{
	return flow_store_key_hash(
		&table->key, packet->family, packet->src, packet->dst, packet->dst_qp);
}

static uint64_t flow_store_qp_hash(const struct flow_table *table, const struct flow_qp *qp)
{
	const struct flow_host *src = flow_store_host(table, qp->src);
	const struct flow_host *dst = flow_store_host(table, qp->dst);
	return flow_store_key_hash(
		&table->key, src->family, src->address, dst->address, qp->dst_qp);
}

static uint64_t flow_store_host_hash(
	const struct flow_table *table, unsigned family, const uint8_t *address)
{
	struct siphash_state state = siphash_begin(&table->key);
	siphash13_word(&state, flow_store_word(address));
	siphash13_word(&state, flow_store_word(address + 8));
	return siphash13_end(&state, 17ull << 56 | family);
}

static uint64_t flow_store_pair_hash(const struct flow_table *table, uint32_t src, uint32_t dst)
{
	struct siphash_state state = siphash_begin(&table->key);
	siphash13_word(&state, (uint64_t)src << 32 | dst);
	return siphash13_end(&state, 8ull << 56);
}

/* By address, not by id: who comes back after its record was let go is not counted again. */
uint64_t flow_store_distinct_hash(
	const struct flow_table *table, const struct flow_qp *qp, uint16_t port, uint32_t dst_qp)
{
	const struct flow_host *src = flow_store_host(table, qp->src);
	const struct flow_host *dst = flow_store_host(table, qp->dst);
	return flow_store_key_hash(&flow_tally_key, src->family, src->address, dst->address,
		1ull << 48 | (uint64_t)port << 24 | dst_qp);
}

/* ---- hosts --------------------------------------------------------------- */

static uint32_t flow_store_need_host(
	struct flow_table *table, unsigned family, const uint8_t *address)
{
	const uint64_t hash = flow_store_host_hash(table, family, address);
	uint32_t at = keyed_tag(hash);
	for (;;) {
		const uint32_t id = keyed_index_next(&table->by_host, hash, &at);
		if (id == KEYED_NONE)
			break;
		struct flow_host *host = flow_store_host(table, id);
		if (!flow_store_is_host(host, family, address))
			continue;
		host->used++;
		return id;
	}
	const uint32_t id = flow_pool_take(&table->hosts);
	struct flow_host *host = flow_store_host(table, id);
	*host = (struct flow_host){.family = family & 15, .used = 1};
	memcpy(host->address, address, sizeof(host->address));
	keyed_index_put(&table->by_host, hash, id);
	return id;
}

static void flow_store_leave_host(struct flow_table *table, uint32_t id)
{
	struct flow_host *host = flow_store_host(table, id);
	host->used--;
	if (host->used)
		return;
	if (table->drops.host)
		table->drops.host(table->drops.arg, id);
	keyed_index_remove(
		&table->by_host, flow_store_host_hash(table, host->family, host->address), id);
	host->family = 0;
	flow_pool_give_back(&table->hosts, id);
}

/* ---- streams ------------------------------------------------------------- */

uint32_t flow_store_pair(const struct flow_table *table, uint32_t src, uint32_t dst)
{
	const uint64_t hash = flow_store_pair_hash(table, src, dst);
	uint32_t at = keyed_tag(hash);
	for (;;) {
		const uint32_t id = keyed_index_next(&table->by_pair, hash, &at);
		if (id == KEYED_NONE)
			return FLOW_NONE;
		const struct flow_qp *qp = flow_store_qp(table, flow_store_stream(table, id)->qp);
		if (qp->src == src && qp->dst == dst)
			return id;
	}
}

static uint16_t flow_store_generation(struct flow_table *table, uint32_t id, bool used_before)
{
	if (!used_before)
		return 0;
	return (flow_store_stream(table, id)->generation + 1) & 0x7fff;
}

struct flow_stream *flow_store_add_stream(struct flow_table *table, uint32_t id)
{
	if (flow_pool_live(&table->streams) >= FLOW_STREAMS_MAX)
		return NULL;
	struct flow_qp *qp = flow_store_qp(table, id);
	const uint64_t hash = flow_store_pair_hash(table, qp->src, qp->dst);
	const uint32_t end = table->streams.end;
	const uint32_t first = flow_store_pair(table, qp->src, qp->dst);
	const uint32_t at = flow_pool_take(&table->streams);
	const uint16_t generation = flow_store_generation(table, at, at < end);
	struct flow_stream *stream = flow_store_stream(table, at);
	*stream = (struct flow_stream){.qp = id,
		.pair_before = FLOW_NONE,
		.pair_after = first,
		.sole = first == FLOW_NONE,
		.generation = generation,
		.request_port = (uint16_t)qp->port};
	qp->stream = at;
	if (first == FLOW_NONE) {
		keyed_index_put(&table->by_pair, hash, at);
		return stream;
	}
	keyed_index_move(&table->by_pair, hash, first, at);
	struct flow_stream *after = flow_store_stream(table, first);
	after->pair_before = at;
	after->sole = 0;
	return stream;
}

static void flow_store_drop_stream(struct flow_table *table, struct flow_qp *qp)
{
	const uint32_t at = qp->stream;
	struct flow_stream *stream = flow_store_stream(table, at);
	if (table->loss)
		loss_drop(table->loss, &stream->psn);
	if (table->drops.stream)
		table->drops.stream(table->drops.arg, stream);
	const uint32_t before = stream->pair_before, after = stream->pair_after;
	if (after != FLOW_NONE)
		flow_store_stream(table, after)->pair_before = before;
	if (before != FLOW_NONE) {
		flow_store_stream(table, before)->pair_after = after;
	} else {
		const uint64_t hash = flow_store_pair_hash(table, qp->src, qp->dst);
		if (after != FLOW_NONE)
			keyed_index_move(&table->by_pair, hash, at, after);
		else
			keyed_index_remove(&table->by_pair, hash, at);
	}
	stream->qp = FLOW_NONE;
	flow_pool_give_back(&table->streams, at);
	qp->stream = FLOW_NONE;
}

/* ---- what most have not ----------------------------------------------------- */

struct flow_rare *flow_store_need_rare(struct flow_table *table, struct flow_qp *qp)
{
	if (qp->rare)
		return flow_store_rare(table, qp->rare);
	qp->rare = flow_pool_take(&table->rares);
	struct flow_rare *rare = flow_store_rare(table, qp->rare);
	*rare = (struct flow_rare){0};
	return rare;
}

void flow_store_clear_rare(struct flow_table *table, struct flow_qp *qp)
{
	struct flow_rare *rare = flow_store_rare(table, qp->rare);
	if (rare->ports)
		table->ports_bytes -= flow_ports_bytes(rare->ports);
	flow_ports_free(rare->ports);
	free(rare->labels);
	qp->many_ports = 0;
	*rare = (struct flow_rare){0};
}

/* ---- directions of queue pairs ------------------------------------------------ */

uint32_t flow_store_find(
	const struct flow_table *table, const struct roce_packet *packet, uint64_t hash)
{
	uint32_t at = keyed_tag(hash);
	for (;;) {
		const uint32_t id = keyed_index_next(&table->by_qp, hash, &at);
		if (id == KEYED_NONE || flow_store_is(table, id, packet))
			return id;
	}
}

bool flow_store_room(const struct flow_table *table)
{
	return flow_pool_live(&table->qps) < table->limit &&
		flow_pool_live(&table->hosts) + 2 <= FLOW_HOSTS_MAX;
}

uint32_t flow_store_add(struct flow_table *table, const struct roce_packet *packet, uint64_t hash)
{
	const uint32_t id = flow_pool_take(&table->qps);
	if (id == table->first_ns.end)
		flow_pool_take(&table->first_ns);
	struct flow_qp *qp = flow_store_qp(table, id);
	*qp = (struct flow_qp){
		.dst_qp = packet->dst_qp & 0xffffff,
		.port = packet->src_port,
		.peer = FLOW_NONE,
		.stream = FLOW_NONE,
	};
	qp->src = flow_store_need_host(table, packet->family, packet->src);
	qp->dst = flow_store_need_host(table, packet->family, packet->dst);
	keyed_index_put(&table->by_qp, hash, id);
	return id;
}

void flow_store_drop(struct flow_table *table, uint32_t id)
{
	struct flow_qp *qp = flow_store_qp(table, id);
	if (qp->stream != FLOW_NONE)
		flow_store_drop_stream(table, qp);
	if (qp->rare) {
		flow_store_clear_rare(table, qp);
		flow_pool_give_back(&table->rares, qp->rare);
	}
	keyed_index_remove(&table->by_qp, flow_store_qp_hash(table, qp), id);
	flow_store_leave_host(table, qp->src);
	flow_store_leave_host(table, qp->dst);
	*qp = (struct flow_qp){.src = FLOW_NONE, .stream = FLOW_NONE};
	flow_pool_give_back(&table->qps, id);
}
