/* flow_store - life of the records of a flow table. */
#include "collectors/packet/flow/flow_store.h"

#include <sys/mman.h>

/* Bounds beside the limit of directions; each index is full at 4/5 of a power of two. */
#define FLOW_STREAMS_MAX 419430u
#define FLOW_HOSTS_MAX 838860u

/* flow_pool - blocks and the ids that were given back. */

enum { CACHE_LINE = 64, FLOW_POOL_SINGLE = 128, LARGE_PAGE = 2 << 20 };

/* Memory in pages of 2 MiB where the system has some: records are met at random, and each would
 * take a walk through the tables of small pages. @bytes: a multiple of that. All zero; munmap(). */
static void *large_map(size_t bytes)
{
	uint8_t *all = mmap(NULL, bytes + LARGE_PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		abort(); /* as rw_malloc does */
	const size_t before = -(uintptr_t)all % LARGE_PAGE;
	if (before)
		munmap(all, before);
	munmap(all + before + bytes, LARGE_PAGE - before);
	madvise(all + before, bytes, MADV_HUGEPAGE); /* refused: small pages do as well */
	return all + before;
}

/* How many blocks are one piece of memory, from the one at @at on. */
static uint32_t flow_pool_piece(const struct flow_pool *pool, uint32_t at)
{
	if (at < FLOW_POOL_SINGLE)
		return 1;
	return (uint32_t)(LARGE_PAGE / (pool->size << FLOW_POOL_SHIFT));
}

static void flow_pool_grow(struct flow_pool *pool)
{
	const size_t bytes = pool->size << FLOW_POOL_SHIFT;
	const uint32_t n = flow_pool_piece(pool, pool->n_blocks);
	uint8_t *memory;
	if (n == 1)
		memory = aligned_alloc(CACHE_LINE, bytes);
	else
		memory = large_map(LARGE_PAGE);
	if (!memory)
		abort(); /* as rw_malloc does */
	for (uint32_t i = 0; i < n; i++) {
		rw_grow(pool->blocks, pool->n_blocks, pool->cap_blocks);
		pool->blocks[pool->n_blocks++] = memory + i * bytes;
	}
}

static void flow_pool_init(struct flow_pool *pool, size_t size)
{
	*pool = (struct flow_pool){.size = size};
}

static void flow_pool_free(struct flow_pool *pool)
{
	for (uint32_t i = 0; i < pool->n_blocks; i += flow_pool_piece(pool, i))
		if (i < FLOW_POOL_SINGLE)
			free(pool->blocks[i]);
		else
			munmap(pool->blocks[i], LARGE_PAGE);
	free(pool->blocks);
	free(pool->given_back);
	*pool = (struct flow_pool){0};
}

/* flow_pool_take - the id of a record that nobody uses; its bytes are not cleared. */
static uint32_t flow_pool_take(struct flow_pool *pool)
{
	if (pool->n_given_back)
		return pool->given_back[--pool->n_given_back];
	if (pool->end >> FLOW_POOL_SHIFT == pool->n_blocks)
		flow_pool_grow(pool);
	return pool->end++;
}

static void flow_pool_give_back(struct flow_pool *pool, uint32_t id)
{
	rw_grow(pool->given_back, pool->n_given_back, pool->cap_given_back);
	pool->given_back[pool->n_given_back++] = id;
}

/* hyperloglog - registers and the estimate. */

struct hyperloglog *hyperloglog_new(unsigned precision)
{
	struct hyperloglog *counter = rw_calloc(1, sizeof(*counter) + ((size_t)1 << precision));
	counter->precision = (uint8_t)precision;
	return counter;
}

void hyperloglog_add(struct hyperloglog *counter, uint64_t hash)
{
	const unsigned precision = counter->precision;
	const uint64_t rest = hash << precision | 1ull << (precision - 1);
	const uint8_t rank = (uint8_t)(__builtin_clzll(rest) + 1);
	uint8_t *reg = &counter->registers[hash >> (64 - precision)];
	if (rank > *reg)
		*reg = rank;
}

/* The constant of the paper, figure 3. */
static double hyperloglog_alpha(double registers)
{
	if (registers <= 16)
		return 0.673;
	if (registers <= 32)
		return 0.697;
	if (registers <= 64)
		return 0.709;
	return 0.7213 / (1 + 1.079 / registers);
}

double hyperloglog_estimate(const struct hyperloglog *counter)
{
	const size_t n = (size_t)1 << counter->precision;
	const double registers = (double)n;
	double sum = 0;
	size_t empty = 0;
	for (size_t i = 0; i < n; i++) {
		sum += ldexp(1, -counter->registers[i]);
		empty += counter->registers[i] == 0;
	}
	const double estimate = hyperloglog_alpha(registers) * registers * registers / sum;
	if (estimate <= 2.5 * registers && empty)
		return registers * log(registers / (double)empty);
	return estimate;
}

double hyperloglog_error_ratio(unsigned precision)
{
	return 1.04 / sqrt((double)(1u << precision));
}

/* flow_ports - a small table, searched by walking: 64 ports are two cache lines of keys. */

struct flow_ports *flow_ports_new(const struct flow_port *first)
{
	struct flow_ports *ports = rw_calloc(1, sizeof(*ports));
	ports->cap = 4;
	ports->v = rw_calloc(ports->cap, sizeof(*ports->v));
	ports->v[0] = *first;
	ports->key[0] = first->port;
	ports->n = 1;
	return ports;
}

static void flow_ports_free(struct flow_ports *ports)
{
	if (!ports)
		return;
	free(ports->v);
	free(ports->others);
	free(ports);
}

struct flow_port *flow_ports_at(struct flow_ports *ports, uint16_t port, bool *ret_new)
{
	*ret_new = false;
	for (uint32_t i = 0; i < ports->n; i++)
		if (ports->key[i] == port)
			return &ports->v[i];
	*ret_new = true;
	if (ports->n < FLOW_PORTS_MAX) {
		rw_grow(ports->v, ports->n, ports->cap);
		ports->key[ports->n] = port;
		ports->v[ports->n] = (struct flow_port){.port = port};
		return &ports->v[ports->n++];
	}
	if (!ports->others)
		ports->others = hyperloglog_new(FLOW_PORTS_PRECISION);
	/* 16 bits: nothing that a keyed hash would protect */
	hyperloglog_add(ports->others, hash_u64(port));
	return &ports->beyond;
}

uint32_t flow_ports_beyond(const struct flow_ports *ports)
{
	if (!ports->others)
		return 0;
	return (uint32_t)lround(hyperloglog_estimate(ports->others));
}

uint32_t flow_ports_data(const struct flow_ports *ports)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < ports->n; i++)
		n += ports->v[i].payload_bytes > 0;
	if (ports->beyond.payload_bytes)
		n += flow_ports_beyond(ports);
	return n;
}

size_t flow_ports_bytes(const struct flow_ports *ports)
{
	size_t bytes = sizeof(*ports) + ports->cap * sizeof(*ports->v);
	if (ports->others)
		bytes += sizeof(*ports->others) + ((size_t)1 << FLOW_PORTS_PRECISION);
	return bytes;
}

/* keyed_index - putting, growing and removing. */

enum {
	KEYED_SLOTS_MIN = 64,
	KEYED_SPARSE_MAX = 1 << 17, /* slots, 1 MiB: up to there most keys are in their first one */
};

void keyed_index_init(struct keyed_index *index)
{
	index->slot = rw_calloc(KEYED_SLOTS_MIN, sizeof(*index->slot));
	index->mask = KEYED_SLOTS_MIN - 1;
	index->n = 0;
}

static void keyed_index_place(struct keyed_index *index, uint32_t tag, uint32_t position)
{
	uint32_t i = tag & index->mask;
	while (index->slot[i].position)
		i = (i + 1) & index->mask;
	index->slot[i] = (struct keyed_slot){.tag = tag, .position = position};
}

static struct keyed_slot *keyed_slots(size_t n)
{
	const size_t bytes = n * sizeof(struct keyed_slot);
	if (bytes < LARGE_PAGE)
		return rw_calloc(n, sizeof(struct keyed_slot));
	return large_map(bytes);
}

static void keyed_slots_free(struct keyed_slot *slots, size_t n)
{
	const size_t bytes = n * sizeof(*slots);
	if (bytes < LARGE_PAGE)
		free(slots);
	else
		munmap(slots, bytes);
}

static void keyed_index_grow(struct keyed_index *index)
{
	struct keyed_slot *old = index->slot;
	const uint32_t n = index->mask + 1;
	index->slot = keyed_slots((size_t)n * 2);
	index->mask = n * 2 - 1;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].position)
			keyed_index_place(index, old[i].tag, old[i].position);
	keyed_slots_free(old, n);
}

void keyed_index_free(struct keyed_index *index)
{
	if (index->slot)
		keyed_slots_free(index->slot, (size_t)index->mask + 1);
	*index = (struct keyed_index){0};
}

void keyed_index_put(struct keyed_index *index, uint64_t hash, uint32_t position)
{
	uint64_t fifths = 4;
	if (index->mask < KEYED_SPARSE_MAX)
		fifths = 2;
	if ((uint64_t)(index->n + 1) * 5 > (index->mask + 1) * fifths)
		keyed_index_grow(index);
	keyed_index_place(index, keyed_tag(hash), position + 1);
	index->n++;
}

static uint32_t keyed_index_slot(const struct keyed_index *index, uint64_t hash, uint32_t position)
{
	uint32_t i = keyed_tag(hash) & index->mask;
	while (index->slot[i].position != position + 1)
		i = (i + 1) & index->mask;
	return i;
}

void keyed_index_remove(struct keyed_index *index, uint64_t hash, uint32_t position)
{
	uint32_t hole = keyed_index_slot(index, hash, position);
	for (uint32_t i = (hole + 1) & index->mask; index->slot[i].position;
		i = (i + 1) & index->mask) {
		const uint32_t home = index->slot[i].tag & index->mask;
		/* An entry may move to the hole only if its home is not between the hole and it. */
		if (((i - home) & index->mask) < ((i - hole) & index->mask))
			continue;
		index->slot[hole] = index->slot[i];
		hole = i;
	}
	index->slot[hole] = (struct keyed_slot){0};
	index->n--;
}

void keyed_index_move(struct keyed_index *index, uint64_t hash, uint32_t from, uint32_t to)
{
	index->slot[keyed_index_slot(index, hash, from)].position = to + 1;
}

enum { HOST_GUESS_BITS = 12 };

void flow_store_init(struct flow_table *table)
{
	_Static_assert(sizeof(struct flow_qp) == 64, "one cache line");
	_Static_assert(sizeof(struct flow_stream) == 128, "two cache lines");
	flow_pool_init(&table->qps, sizeof(struct flow_qp));
	flow_pool_init(&table->first_ns, sizeof(int64_t));
	flow_pool_init(&table->streams, sizeof(struct flow_stream));
	flow_pool_init(&table->hosts, sizeof(struct flow_host));
	flow_pool_init(&table->rares, sizeof(struct flow_rare));
	keyed_index_init(&table->by_qp);
	keyed_index_init(&table->by_host);
	keyed_index_init(&table->by_pair);
	table->host_guess = rw_calloc(1u << HOST_GUESS_BITS, sizeof(*table->host_guess));
	*(struct flow_rare *)flow_pool_at(&table->rares, sizeof(struct flow_rare),
		flow_pool_take(&table->rares)) = (struct flow_rare){0}; /* id 0 means none */
}

void flow_store_end(struct flow_table *table)
{
	/* records that were given back hold nothing: they are zero */
	for (uint32_t i = 1; i < table->rares.end; i++) {
		flow_ports_free(flow_store_rare(table, i)->ports);
		free(flow_store_rare(table, i)->labels);
	}
	flow_pool_free(&table->qps);
	flow_pool_free(&table->first_ns);
	flow_pool_free(&table->streams);
	flow_pool_free(&table->hosts);
	flow_pool_free(&table->rares);
	keyed_index_free(&table->by_qp);
	keyed_index_free(&table->by_host);
	keyed_index_free(&table->by_pair);
	free(table->host_guess);
}

/* ---- keys ---------------------------------------------------------------- */

static uint64_t flow_store_word(const uint8_t *bytes)
{
	uint64_t word;
	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* A product of two secrets with what is looked for, folded (as in wyhash of Wang Yi, 2019), once
 * more multiplied so that the upper half depends on all of it. */
static inline uint64_t flow_store_direction_hash(
	const struct flow_table *table, uint32_t src, uint32_t dst, uint32_t dst_qp)
{
	const uint64_t hosts = (uint64_t)src << 32 | dst;
	const unsigned __int128 product =
		(unsigned __int128)(hosts ^ table->key.low) * (dst_qp ^ table->key.high);
	return ((uint64_t)product ^ (uint64_t)(product >> 64)) * 0x9FB21C651E98DF25ull;
}

static uint64_t flow_store_qp_hash(const struct flow_table *table, const struct flow_qp *qp)
{
	return flow_store_direction_hash(table, qp->src, qp->dst, qp->dst_qp);
}

static uint64_t flow_store_host_hash(
	const struct flow_table *table, unsigned family, const uint8_t *address)
{
	struct siphash_state state = siphash_begin(&table->key);
	siphash13_word(&state, flow_store_word(address));
	siphash13_word(&state, flow_store_word(address + 8));
	return siphash13_end(&state, 17ull << 56 | family);
}

uint64_t flow_store_pair_hash(const struct flow_table *table, uint32_t src, uint32_t dst)
{
	struct siphash_state state = siphash_begin(&table->key);
	siphash13_word(&state, (uint64_t)src << 32 | dst);
	return siphash13_end(&state, 8ull << 56);
}

/* By address, not by id: who comes back after its record was let go is not counted again. One
 * message per key: both addresses, 4 or 16 bytes each, port and QP, the family. No two keys give
 * the same. */
uint64_t flow_store_distinct_hash(
	const struct flow_table *table, const struct flow_qp *qp, uint16_t port, uint32_t dst_qp)
{
	const struct flow_host *host = flow_store_host(table, qp->src);
	const uint8_t *src = host->address, *dst = flow_store_host(table, qp->dst)->address;
	const uint64_t rest =
		1ull << 56 | (uint64_t)port << 32 | (uint64_t)dst_qp << 8 | host->family;
	if (host->family == 4)
		return siphash13_two(&flow_tally_key,
			flow_store_word(src) << 32 | (uint32_t)flow_store_word(dst), rest);
	struct siphash_state state = siphash_begin(&flow_tally_key);
	siphash13_word(&state, flow_store_word(src));
	siphash13_word(&state, flow_store_word(src + 8));
	siphash13_word(&state, flow_store_word(dst));
	siphash13_word(&state, flow_store_word(dst + 8));
	siphash13_word(&state, rest);
	return siphash13_end(&state, 40ull << 56);
}

/* ---- hosts --------------------------------------------------------------- */

/* Addresses in a row stand in places apart (D. E. Knuth, TAOCP vol. 3, 6.4, multiplicative
 * hashing). Who aims at one place makes guesses wrong, and that is all. */
static uint32_t *flow_store_guess(const struct flow_table *table, const uint8_t *address)
{
	const uint64_t low = __builtin_bswap64(flow_store_word(address));
	const uint64_t high = __builtin_bswap64(flow_store_word(address + 8));
	const uint64_t mixed = ((low >> 32 | low << 32) + high) * 0x9E3779B97F4A7C15ull;
	return &table->host_guess[mixed >> (64 - HOST_GUESS_BITS)];
}

static uint32_t flow_store_find_host(
	const struct flow_table *table, unsigned family, const uint8_t *address)
{
	uint32_t *guess = flow_store_guess(table, address);
	if (*guess < table->hosts.end &&
		flow_store_is_host(flow_store_host(table, *guess), family, address))
		return *guess;
	const uint64_t hash = flow_store_host_hash(table, family, address);
	uint32_t at = keyed_tag(hash);
	for (;;) {
		const uint32_t id = keyed_index_next(&table->by_host, hash, &at);
		if (id == KEYED_NONE)
			return id;
		if (!flow_store_is_host(flow_store_host(table, id), family, address))
			continue;
		*guess = id;
		return id;
	}
}

static uint32_t flow_store_need_host(
	struct flow_table *table, unsigned family, const uint8_t *address)
{
	const uint32_t known = flow_store_find_host(table, family, address);
	if (known != KEYED_NONE) {
		flow_store_host(table, known)->used++;
		return known;
	}
	const uint32_t id = flow_pool_take(&table->hosts);
	struct flow_host *host = flow_store_host(table, id);
	*host = (struct flow_host){.family = family & 15, .used = 1};
	memcpy(host->address, address, sizeof(host->address));
	keyed_index_put(&table->by_host, flow_store_host_hash(table, family, address), id);
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
	table->hosts_gone++;
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
		const struct flow_stream *stream = flow_store_stream(table, id);
		if (stream->src == src && stream->dst == dst)
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
		.src = qp->src,
		.dst = qp->dst,
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

void flow_table_aim(
	const struct flow_table *table, const struct roce_packet *packet, struct flow_aim *ret)
{
	ret->src = flow_store_find_host(table, packet->family, packet->src);
	ret->dst = flow_store_find_host(table, packet->family, packet->dst);
	ret->hosts_gone = table->hosts_gone;
	ret->hash = flow_store_direction_hash(table, ret->src, ret->dst, packet->dst_qp);
	keyed_index_prefetch(&table->by_qp, ret->hash);
}

uint32_t flow_store_find(const struct flow_table *table, const struct roce_packet *packet,
	const struct flow_aim *aim, uint32_t probably)
{
	struct flow_aim now = *aim;
	if (now.src == FLOW_NONE || now.dst == FLOW_NONE || now.hosts_gone != table->hosts_gone)
		flow_table_aim(table, packet, &now);
	if (now.src == FLOW_NONE || now.dst == FLOW_NONE)
		return FLOW_NONE;
	if (probably != FLOW_NONE && flow_store_is(table, probably, packet, &now))
		return probably;
	uint32_t at = keyed_tag(now.hash);
	for (;;) {
		const uint32_t id = keyed_index_next(&table->by_qp, now.hash, &at);
		if (id == KEYED_NONE || flow_store_is(table, id, packet, &now))
			return id;
	}
}

bool flow_store_room(const struct flow_table *table)
{
	return flow_pool_live(&table->qps) < table->limit &&
		flow_pool_live(&table->hosts) + 2 <= FLOW_HOSTS_MAX;
}

uint32_t flow_store_add(struct flow_table *table, const struct roce_packet *packet)
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
	keyed_index_put(&table->by_qp, flow_store_qp_hash(table, qp), id);
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
	*qp = (struct flow_qp){.src = FLOW_NONE, .stream = FLOW_NONE, .peer = FLOW_NONE};
	flow_pool_give_back(&table->qps, id);
}
