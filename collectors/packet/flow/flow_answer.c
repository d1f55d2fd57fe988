/* flow_answer - what a flow table says: totals, rows, and the samples of history. */

#include "collectors/packet/flow/flow_store.h"
#include "collectors/packet/flow/flow_table.h"

struct flow_loads {
	uint64_t n; /* 5-tuples with load */
	double sum, sum_sq;
	uint32_t qps; /* with data */
	uint64_t packets; /* with payload, of the directions that count */
};

/* Which directions count, and what of them. */
struct flow_loads_of {
	bool payload; /* payload bytes; false: octets of all packets */
	bool any_dir;
	enum flow_dir dir;
	enum flow_side side;
};

/*
 * flow_loads - how the octets of a flow table spread over 5-tuples: (source, destination, UDP
 * source port), all queue pairs together, which is what a switch hashes. Derived when it is asked
 * for, from the directions and their source ports; nothing is kept per packet.
 *
 * flow_loads - sums by 5-tuple in a table that fits into the cache, part by part when there are
 * more 5-tuples than it holds. 64 bits of the keyed hash stand for the 5-tuple: among a million of
 * them two are taken for one with a probability of 3e-8. Directions with several ports are looked
 * at for each part: with some of them the table is larger (4 MiB) and the parts are few.
 */

enum { LOADS_SLOTS_MIN = 1 << 10, LOADS_SLOTS_MAX = 1 << 14, LOADS_SLOTS_PORTS = 1 << 18 };

enum {
	LOAD_PORTS = 254, /* several ports, of different parts */
	LOAD_NONE = 255, /* does not count */
	LOAD_FETCH = 24, /* so many directions ahead memory is asked for, */
	LOAD_FETCH_STREAM = 12, /* and that of their streams */
};

struct load_slot {
	uint64_t hash; /* 0: free */
	uint64_t load;
};

struct load_walk {
	const struct flow_table *table;
	struct flow_loads *sums;
	/* exact: where a slot stands depends on the key, and the sum must not */
	uint64_t sum;
	unsigned __int128 sum_sq;
	struct load_slot *slots;
	uint32_t mask;
	uint32_t part, parts; /* this walk takes the hashes of one part */
	uint8_t *part_of; /* by direction: its part, or LOAD_PORTS, LOAD_NONE */
	uint32_t *ids; /* those that count, part by part: up to .end[part] */
	uint32_t end[LOAD_NONE];
	bool payload;
};

/* flow_ports_used - the distinct source ports of @qp. */
static uint32_t flow_ports_used(const struct flow_table *table, const struct flow_qp *qp)
{
	if (!qp->many_ports)
		return 1;
	const struct flow_ports *ports = flow_store_rare(table, qp->rare)->ports;
	return ports->n + flow_ports_beyond(ports);
}

static uint64_t load_hash(const struct load_walk *walk, const struct flow_qp *qp, uint16_t port)
{
	return siphash13_two(
		       &walk->table->key, (uint64_t)qp->src << 32 | qp->dst, (uint64_t)port << 32) |
		1;
}

static uint32_t load_part(const struct load_walk *walk, uint64_t hash)
{
	return (uint32_t)((hash >> 40) % walk->parts);
}

static void load_add(struct load_walk *walk, uint64_t hash, uint64_t load)
{
	if (load == 0 || load_part(walk, hash) != walk->part)
		return;
	uint32_t i = (uint32_t)(hash >> 1) & walk->mask;
	while (walk->slots[i].hash && walk->slots[i].hash != hash)
		i = (i + 1) & walk->mask;
	walk->slots[i].hash = hash;
	walk->slots[i].load += load;
}

/* Ports that were not kept one by one: taken for equal. */
static void load_beyond(struct load_walk *walk, const struct flow_ports *ports)
{
	const uint32_t n = flow_ports_beyond(ports);
	double load = (double)ports->beyond.octets;
	if (walk->payload)
		load = (double)ports->beyond.payload_bytes;
	if (n == 0 || load <= 0 || walk->part != 0)
		return;
	walk->sums->n += n;
	walk->sums->sum += load;
	walk->sums->sum_sq += load * load / n;
}

static void load_qp(struct load_walk *walk, const struct flow_qp *qp)
{
	if (!qp->many_ports) {
		uint64_t load = qp->octets;
		if (walk->payload)
			load = flow_store_stream(walk->table, qp->stream)->payload_bytes;
		load_add(walk, load_hash(walk, qp, (uint16_t)qp->port), load);
		return;
	}
	const struct flow_ports *ports = flow_store_rare(walk->table, qp->rare)->ports;
	for (uint32_t i = 0; i < ports->n; i++) {
		uint64_t load = ports->v[i].octets;
		if (walk->payload)
			load = ports->v[i].payload_bytes;
		load_add(walk, load_hash(walk, qp, ports->v[i].port), load);
	}
	load_beyond(walk, ports);
}

static bool load_counts(
	const struct flow_table *table, const struct flow_loads_of *of, const struct flow_qp *qp)
{
	if (!flow_qp_live(qp) || qp->packets == 0)
		return false;
	if (of->payload && qp->stream == FLOW_NONE)
		return false;
	if (!of->any_dir && qp->dir != of->dir)
		return false;
	if (of->side == FLOW_SIDE_ANY)
		return true;
	const int order = memcmp(flow_store_host(table, qp->src)->address,
		flow_store_host(table, qp->dst)->address, 16);
	return (order < 0) == (of->side == FLOW_SIDE_LOW);
}

/* load_parts - which direction is of which part. */
static void load_parts(struct load_walk *walk, const struct flow_loads_of *of)
{
	for (uint32_t i = 0; i < walk->table->qps.end; i++) {
		const struct flow_qp *qp = flow_store_qp(walk->table, i);
		walk->part_of[i] = LOAD_NONE;
		if (!load_counts(walk->table, of, qp))
			continue;
		walk->part_of[i] = LOAD_PORTS;
		if (!qp->many_ports)
			walk->part_of[i] =
				(uint8_t)load_part(walk, load_hash(walk, qp, (uint16_t)qp->port));
		if (qp->stream == FLOW_NONE)
			continue;
		const uint32_t packets = flow_store_stream(walk->table, qp->stream)->data_packets;
		walk->sums->packets += packets;
		walk->sums->qps += packets > 0;
	}
}

/* load_order - .ids, part by part. */
static void load_order(struct load_walk *walk)
{
	uint32_t at[LOAD_NONE + 1] = {0}, sum = 0;
	for (uint32_t i = 0; i < walk->table->qps.end; i++)
		at[walk->part_of[i]]++;
	for (uint32_t part = 0; part < LOAD_NONE; part++) {
		const uint32_t n = at[part];
		at[part] = sum;
		sum += n;
		walk->end[part] = sum;
	}
	for (uint32_t i = 0; i < walk->table->qps.end; i++)
		if (walk->part_of[i] != LOAD_NONE)
			walk->ids[at[walk->part_of[i]]++] = i;
}

static void load_fetch_stream(const struct load_walk *walk, uint32_t id)
{
	const struct flow_qp *qp = flow_store_qp(walk->table, id);
	if (walk->payload && qp->stream != FLOW_NONE)
		__builtin_prefetch(flow_store_stream(walk->table, qp->stream));
}

static void load_walk_ids(struct load_walk *walk, uint32_t part)
{
	const uint32_t end = walk->end[part];
	uint32_t i = 0;
	if (part)
		i = walk->end[part - 1];
	for (; i < end; i++) {
		if (i + LOAD_FETCH < end)
			__builtin_prefetch(flow_store_qp(walk->table, walk->ids[i + LOAD_FETCH]));
		if (i + LOAD_FETCH_STREAM < end)
			load_fetch_stream(walk, walk->ids[i + LOAD_FETCH_STREAM]);
		load_qp(walk, flow_store_qp(walk->table, walk->ids[i]));
	}
}

static void load_walk_part(struct load_walk *walk)
{
	load_walk_ids(walk, walk->part);
	load_walk_ids(walk, LOAD_PORTS);
	for (uint32_t i = 0; i <= walk->mask; i++) {
		const uint64_t load = walk->slots[i].load;
		walk->sums->n += load > 0;
		walk->sum += load;
		walk->sum_sq += (unsigned __int128)load * load;
		walk->slots[i] = (struct load_slot){0};
	}
}

static void flow_loads_sum(
	const struct flow_table *table, const struct flow_loads_of *of, struct flow_loads *ret)
{
	uint64_t n = 0, ports = 0;
	*ret = (struct flow_loads){0};
	for (uint32_t i = 0; i < table->qps.end; i++) {
		const struct flow_qp *qp = flow_store_qp(table, i);
		if (!load_counts(table, of, qp))
			continue;
		n++;
		if (qp->many_ports)
			ports += flow_store_rare(table, qp->rare)->ports->n;
	}
	if (n == 0)
		return;
	const uint32_t most = ports ? LOADS_SLOTS_PORTS : LOADS_SLOTS_MAX;
	uint32_t slots = LOADS_SLOTS_MIN;
	while (slots < (n + ports) * 2 && slots < most)
		slots *= 2;
	struct load_walk walk = {.table = table,
		.sums = ret,
		.mask = slots - 1,
		.parts = (uint32_t)((n + ports) * 2 / slots) + 1,
		.payload = of->payload};
	rw_cleanup(freep) struct load_slot *memory = rw_calloc(slots, sizeof(*memory));
	rw_cleanup(freep) uint8_t *part_of = rw_calloc(table->qps.end, 1);
	assert(walk.parts < LOAD_PORTS); /* ports beside the directions: FLOW_PORTS_BYTES_MAX */
	walk.slots = memory;
	walk.part_of = part_of;
	rw_cleanup(freep) uint32_t *ids = rw_calloc(n, sizeof(*ids));
	walk.ids = ids;
	load_parts(&walk, of);
	load_order(&walk);
	for (; walk.part < walk.parts; walk.part++)
		load_walk_part(&walk);
	ret->sum += (double)walk.sum;
	ret->sum_sq += (double)walk.sum_sq;
}

/* ---- totals ---------------------------------------------------------------------- */

/* What was let go had the rest of the octets; taken for spread evenly over its 5-tuples. */
static void totals_estimate(const struct flow_table *table, struct flow_totals *totals)
{
	const double kept = totals->five_tuples;
	totals->flows =
		(uint32_t)fmax(totals->flows, round(hyperloglog_estimate(table->distinct_flows)));
	totals->five_tuples = (uint32_t)fmax(
		totals->five_tuples, round(hyperloglog_estimate(table->distinct_tuples)));
	const double rest = (double)totals->octets - totals->sum_octets;
	const double gone = fmax(1, totals->five_tuples - kept);
	if (rest <= 0)
		return;
	totals->sum_octets += rest;
	totals->sum_sq_octets += rest * rest / gone;
}

static uint32_t rare_labels(const struct flow_rare *rare)
{
	return (uint32_t)lround(hyperloglog_estimate(rare->labels));
}

/* Ports or labels of data in turn: more changes than one connection after the other would bring.
 * Acknowledgements and CNPs of the direction may have ports of their own. */
static bool rare_sprays(const struct flow_table *table, const struct flow_qp *qp)
{
	const struct flow_rare *rare = flow_store_rare(table, qp->rare);
	if (rare->ports) {
		const uint32_t ports = flow_ports_data(rare->ports);
		if (ports > 1 && rare->ports->changes >= ports)
			return true;
	}
	if (!rare->labels)
		return false;
	const uint32_t labels = rare_labels(rare);
	return labels > 1 && rare->label_changes >= labels;
}

void flow_table_totals(struct flow_table *table, struct flow_totals *ret)
{
	struct flow_totals totals = table->sums;
	struct flow_loads loads;
	totals.ect = totals.packets - totals.ce - totals.not_ect;
	for (uint32_t i = 0; i < table->qps.end; i++) {
		const struct flow_qp *qp = flow_store_qp(table, i);
		if (!flow_qp_live(qp) || qp->packets == 0)
			continue;
		totals.flows += flow_ports_used(table, qp);
		if (qp->rare)
			totals.sprayed += rare_sprays(table, qp);
	}
	if (table->loss)
		totals.psn = loss_totals(table->loss)->psn;
	const struct flow_loads_of all = {.any_dir = true};
	flow_loads_sum(table, &all, &loads);
	totals.five_tuples = (uint32_t)loads.n;
	totals.sum_octets = loads.sum;
	totals.sum_sq_octets = loads.sum_sq;
	if (table->distinct_flows)
		totals_estimate(table, &totals);
	*ret = totals;
}

void flow_table_entropy(
	struct flow_table *table, enum flow_dir dir, enum flow_side side, struct flow_entropy *ret)
{
	struct flow_loads loads;
	const struct flow_loads_of of = {.payload = true, .dir = dir, .side = side};
	flow_loads_sum(table, &of, &loads);
	*ret = (struct flow_entropy){.data_packets = loads.packets,
		.payload_bytes = (uint64_t)loads.sum,
		.five_tuples = (uint32_t)loads.n,
		.queue_pairs = loads.qps,
		.n_eff = flow_n_eff(loads.sum, loads.sum_sq)};
}

/* ---- rows ------------------------------------------------------------------------ */

static void row_rare(const struct flow_table *table, const struct flow_qp *qp, struct flow *ret)
{
	const struct flow_rare *rare = flow_store_rare(table, qp->rare);
	ret->packets += (uint64_t)rare->packets_high << 31;
	ret->ce += (uint64_t)rare->ce_high << 31;
	ret->not_ect += (uint64_t)rare->not_ect_high << 31;
	ret->copies = rare->copies;
	ret->cnp_sent = rare->cnp_sent;
	ret->nak_sent = rare->nak_sent;
	ret->rnr_nak_sent = rare->rnr_nak_sent;
	ret->cnp_about = rare->cnp_about;
	ret->nak_about = rare->nak_about;
	ret->rnr_nak_about = rare->rnr_nak_about;
	ret->sprays = rare_sprays(table, qp);
	if (rare->labels)
		ret->flow_labels = rare_labels(rare);
}

static void row_key(const struct flow_table *table, const struct flow_qp *qp, struct flow_key *ret)
{
	const struct flow_host *src = flow_store_host(table, qp->src);
	*ret = (struct flow_key){
		.family = src->family, .src_port = (uint16_t)qp->port, .dst_qp = qp->dst_qp};
	memcpy(ret->src, src->address, sizeof(ret->src));
	memcpy(ret->dst, flow_store_host(table, qp->dst)->address, sizeof(ret->dst));
}

void flow_table_row(const struct flow_table *table, uint32_t id, struct flow *ret)
{
	const struct flow_qp *qp = flow_store_qp(table, id);
	*ret = (struct flow){.id = id,
		.qp = qp,
		.packets = qp->packets,
		.octets = qp->octets,
		.ce = qp->ce,
		.not_ect = qp->not_ect,
		.first_ns = *flow_store_first_ns(table, id),
		.last_ns = qp->last_ns,
		.psn_first = qp->psn_first,
		.psn_last = qp->psn_last,
		.source_ports = flow_ports_used(table, qp)};
	row_key(table, qp, &ret->key);
	if (ret->source_ports > 1)
		ret->key.src_port = 0;
	if (qp->stream != FLOW_NONE) {
		ret->stream = flow_store_stream(table, qp->stream);
		ret->payload_bytes = ret->stream->payload_bytes;
		ret->burst_octets = ret->stream->burst_octets;
		ret->flow_labels = ret->stream->flow_label != 0;
	}
	if (qp->rare)
		row_rare(table, qp, ret);
	ret->ect = ret->packets - ret->ce - ret->not_ect;
	if (ret->stream && table->loss)
		ret->psn = *loss_counts(table->loss, &ret->stream->psn);
}

/* ---- choosing -------------------------------------------------------------------- */

struct chosen {
	double weight;
	uint64_t octets;
	uint32_t id, port; /* port: position among those of the direction */
};

struct chooser {
	const struct flow_table *table;
	struct chosen *v;
	size_t n, cap, most;
};

static int chosen_by_key(
	const struct flow_table *table, const struct chosen *left, const struct chosen *right)
{
	const struct flow_qp *a = flow_store_qp(table, left->id);
	const struct flow_qp *b = flow_store_qp(table, right->id);
	const struct flow_host *src = flow_store_host(table, a->src);
	const struct flow_host *other_src = flow_store_host(table, b->src);
	int order = (int)src->family - (int)other_src->family;
	if (order == 0)
		order = memcmp(src->address, other_src->address, 16);
	if (order == 0)
		order = memcmp(flow_store_host(table, a->dst)->address,
			flow_store_host(table, b->dst)->address, 16);
	if (order == 0)
		order = (int)a->dst_qp - (int)b->dst_qp;
	if (order == 0)
		order = (int)left->port - (int)right->port;
	return order;
}

/* Negative: @left comes first. */
static int chosen_order(const void *left, const void *right, void *arg)
{
	const struct chosen *a = left, *b = right;
	const struct flow_table *table = arg;
	if (a->weight != b->weight) {
		if (a->weight > b->weight)
			return -1;
		return 1;
	}
	if (a->octets != b->octets) {
		if (a->octets > b->octets)
			return -1;
		return 1;
	}
	return chosen_by_key(table, a, b);
}

/* The last of those that are kept is on top of the heap. */
static void chooser_sink(struct chooser *chooser, size_t at)
{
	void *table = (void *)(uintptr_t)chooser->table;
	for (;;) {
		size_t child = at * 2 + 1;
		if (child >= chooser->n)
			return;
		if (child + 1 < chooser->n &&
			chosen_order(&chooser->v[child + 1], &chooser->v[child], table) > 0)
			child++;
		if (chosen_order(&chooser->v[child], &chooser->v[at], table) < 0)
			return;
		const struct chosen above = chooser->v[at];
		chooser->v[at] = chooser->v[child];
		chooser->v[child] = above;
		at = child;
	}
}

static void chooser_take(struct chooser *chooser, const struct chosen *candidate)
{
	if (chooser->n < chooser->most) {
		rw_grow(chooser->v, chooser->n, chooser->cap);
		chooser->v[chooser->n++] = *candidate;
		if (chooser->n == chooser->most)
			for (size_t at = chooser->n / 2; at-- > 0;)
				chooser_sink(chooser, at);
		return;
	}
	if (chosen_order(candidate, &chooser->v[0], (void *)(uintptr_t)chooser->table) > 0)
		return;
	chooser->v[0] = *candidate;
	chooser_sink(chooser, 0);
}

static void chooser_sort(struct chooser *chooser)
{
	if (chooser->n)
		qsort_r(chooser->v, chooser->n, sizeof(*chooser->v), chosen_order,
			(void *)(uintptr_t)chooser->table);
}

/*
 * Where all rows are wanted, they are sorted by numbers, the least important one first: each sort
 * keeps the order of the one before among equals. To compare rows means to wait for the memory of
 * both directions and of their hosts, at every step.
 */

struct __attribute__((packed)) ordered { /* 12 bytes: there are two for each row */
	uint64_t key;
	uint32_t id;
};

struct ordering {
	const struct flow_table *table;
	struct ordered *v, *spare; /* owned */
	size_t n;
};

enum { HOST_RANK_BITS = 20, QP_BITS = 24 };

static void ordering_sort(struct ordering *all)
{
	uint64_t any = 0, each = UINT64_MAX;
	for (size_t i = 0; i < all->n; i++) {
		any |= all->v[i].key;
		each &= all->v[i].key;
	}
	for (unsigned shift = 0; shift < 64; shift += 8) {
		size_t at[256] = {0}, sum = 0;
		if (((any & ~each) >> shift & 255) == 0)
			continue; /* equal in all of them */
		for (size_t i = 0; i < all->n; i++)
			at[all->v[i].key >> shift & 255]++;
		for (size_t digit = 0; digit < 256; digit++) {
			const size_t n = at[digit];
			at[digit] = sum;
			sum += n;
		}
		for (size_t i = 0; i < all->n; i++)
			all->spare[at[all->v[i].key >> shift & 255]++] = all->v[i];
		struct ordered *sorted = all->spare;
		all->spare = all->v;
		all->v = sorted;
	}
}

static int host_by_address(const void *left, const void *right, void *arg)
{
	const struct flow_table *table = arg;
	const struct flow_host *a = flow_store_host(table, *(const uint32_t *)left);
	const struct flow_host *b = flow_store_host(table, *(const uint32_t *)right);
	if (a->family != b->family)
		return (int)a->family - (int)b->family;
	return memcmp(a->address, b->address, sizeof(a->address));
}

/* host_ranks - by id, the place of each host in the order of addresses. The caller frees it. */
static uint32_t *host_ranks(const struct flow_table *table)
{
	const uint32_t n = table->hosts.end;
	uint32_t *ranks = rw_calloc(n + 1, sizeof(*ranks));
	rw_cleanup(freep) uint32_t *ids = rw_calloc(n + 1, sizeof(*ids));
	for (uint32_t i = 0; i < n; i++)
		ids[i] = i;
	qsort_r(ids, n, sizeof(*ids), host_by_address, (void *)(uintptr_t)table);
	for (uint32_t i = 0; i < n; i++)
		ranks[ids[i]] = i;
	return ranks;
}

static void order_by_key(struct ordering *all)
{
	assert(all->table->hosts.end <= 1u << HOST_RANK_BITS);
	rw_cleanup(freep) uint32_t *ranks = host_ranks(all->table);
	for (size_t i = 0; i < all->n; i++) {
		const struct flow_qp *qp = flow_store_qp(all->table, all->v[i].id);
		all->v[i].key = (uint64_t)ranks[qp->src] << (HOST_RANK_BITS + QP_BITS) |
			(uint64_t)ranks[qp->dst] << QP_BITS | qp->dst_qp;
	}
	ordering_sort(all);
}

static void order_by_octets(struct ordering *all)
{
	for (size_t i = 0; i < all->n; i++)
		all->v[i].key = ~flow_store_qp(all->table, all->v[i].id)->octets;
	ordering_sort(all);
}

/* The bits of a double, none of them negative, are in the order of the numbers. */
static void order_by_weight(struct ordering *all, const struct flow_choice *choice)
{
	struct flow row;
	for (size_t i = 0; i < all->n; i++) {
		flow_table_row(all->table, all->v[i].id, &row);
		const double weight = choice->weight(choice->arg, &row);
		uint64_t bits;
		memcpy(&bits, &weight, sizeof(bits));
		all->v[i].key = ~bits;
	}
	ordering_sort(all);
}

static bool choice_has(
	const struct flow_table *table, const struct flow_choice *choice, uint32_t id)
{
	const struct flow_qp *qp = flow_store_qp(table, id);
	struct flow row;
	if (!flow_qp_live(qp) || qp->packets == 0)
		return false;
	if (!choice->wanted)
		return true;
	flow_table_row(table, id, &row);
	return choice->wanted(choice->arg, &row);
}

static size_t choose_all(const struct flow_table *table, const struct flow_choice *choice,
	uint32_t **ret, size_t *ret_n)
{
	struct ordering all = {.table = table};
	const size_t room = (size_t)flow_pool_live(&table->qps) + 1;
	all.v = rw_calloc(room, sizeof(*all.v));
	for (uint32_t i = 0; i < table->qps.end; i++)
		if (choice_has(table, choice, i))
			all.v[all.n++].id = i;
	all.spare = rw_calloc(all.n + 1, sizeof(*all.spare));
	order_by_key(&all);
	order_by_octets(&all);
	if (choice->weight)
		order_by_weight(&all, choice);
	free(all.spare);
	*ret = rw_calloc(all.n + 1, sizeof(**ret));
	for (size_t i = 0; i < all.n; i++)
		(*ret)[i] = all.v[i].id;
	*ret_n = all.n;
	free(all.v);
	return all.n;
}

void flow_table_fetch_row(const struct flow_table *table, uint32_t id)
{
	__builtin_prefetch(flow_store_qp(table, id));
	__builtin_prefetch(flow_store_first_ns(table, id));
}

void flow_table_fetch_row_more(const struct flow_table *table, uint32_t id)
{
	const struct flow_qp *qp = flow_store_qp(table, id);
	if (qp->rare)
		__builtin_prefetch(flow_store_rare(table, qp->rare));
	if (qp->stream == FLOW_NONE)
		return;
	const uint8_t *line = (const uint8_t *)flow_store_stream(table, qp->stream);
	__builtin_prefetch(line);
	__builtin_prefetch(line + sizeof(struct flow_stream) - 1);
}

size_t flow_table_choose(const struct flow_table *table, const struct flow_choice *choice,
	uint32_t **ret, size_t *ret_n)
{
	struct chooser chooser = {.table = table, .most = choice->most};
	size_t wanted = 0;
	if (choice->most == 0)
		return choose_all(table, choice, ret, ret_n);
	for (uint32_t i = 0; i < table->qps.end; i++) {
		if (!choice_has(table, choice, i))
			continue;
		const struct flow_qp *qp = flow_store_qp(table, i);
		struct chosen candidate = {(double)qp->octets, qp->octets, i, 0};
		struct flow row;
		if (choice->weight) {
			flow_table_row(table, i, &row);
			candidate.weight = choice->weight(choice->arg, &row);
		}
		wanted++;
		chooser_take(&chooser, &candidate);
	}
	chooser_sort(&chooser);
	*ret = rw_calloc(chooser.n, sizeof(**ret));
	for (size_t i = 0; i < chooser.n; i++)
		(*ret)[i] = chooser.v[i].id;
	*ret_n = chooser.n;
	free(chooser.v);
	return wanted;
}

/* ---- history --------------------------------------------------------------------- */

/* The heaviest FLOW_TOP source ports of directions. */
static void samples_choose(const struct flow_table *table, struct chooser *chooser)
{
	for (uint32_t i = 0; i < table->qps.end; i++) {
		const struct flow_qp *qp = flow_store_qp(table, i);
		if (!flow_qp_live(qp) || qp->packets == 0)
			continue;
		if (!qp->many_ports) {
			const struct chosen candidate = {(double)qp->octets, qp->octets, i, 0};
			chooser_take(chooser, &candidate);
			continue;
		}
		const struct flow_ports *ports = flow_store_rare(table, qp->rare)->ports;
		for (uint32_t k = 0; k < ports->n; k++) {
			const struct chosen candidate = {
				(double)ports->v[k].octets, ports->v[k].octets, i, k};
			chooser_take(chooser, &candidate);
		}
	}
	chooser_sort(chooser);
}

/* What the causes of captures are in history; a selective repeat fills what was missing here. */
static const struct {
	enum loss_cause cause;
	enum flow_loss kind;
} samples_losses[] = {
	{LOSS_BEFORE, FLOW_LOST_BEFORE},
	{LOSS_SELECTIVE, FLOW_LOST_BEFORE},
	{LOSS_BEYOND, FLOW_LOST_BEYOND},
	{LOSS_READ, FLOW_LOST_READ},
	{LOSS_TIMEOUT, FLOW_LOST_TIMER},
	{LOSS_ACK, FLOW_LOST_ACK},
	{LOSS_RNR, FLOW_LOST_RNR},
};

/* Much comes late: the packets of this queue pair take many paths, and what seems to be missing is
 * on another one. */
static bool samples_late(const struct flow_table *table, const struct flow_qp *qp)
{
	enum { LATE_SHARE = 20, PACKETS_LEAST = 200 };
	const struct stream_psn *psn = &flow_store_stream(table, qp->stream)->psn;
	return qp->packets >= PACKETS_LEAST &&
		loss_counts(table->loss, psn)->reordered * LATE_SHARE >= qp->packets;
}

/* NULL: nothing was ever odd there, or its order says nothing. */
static const struct loss_causes *samples_causes(
	const struct flow_table *table, const struct flow_qp *qp)
{
	if (!table->loss || qp->stream == FLOW_NONE)
		return NULL;
	if (samples_late(table, qp) || (qp->rare && rare_sprays(table, qp)))
		return NULL;
	return loss_causes(table->loss, &flow_store_stream(table, qp->stream)->psn);
}

static void samples_lost(const struct loss_causes *causes, struct flow_sample *ret)
{
	for (size_t i = 0; i < rw_countof(samples_losses); i++) {
		ret->lost[samples_losses[i].kind] += causes->n[samples_losses[i].cause];
		if (samples_losses[i].kind == FLOW_LOST_BEFORE)
			ret->missing += causes->missing[samples_losses[i].cause];
	}
}

/* What makes a row worth keeping although others carry more: losses, and what came again. */
static double samples_weight(const struct flow_table *table, const struct flow_qp *qp)
{
	struct flow_sample lost = {0};
	const struct loss_causes *causes = samples_causes(table, qp);
	double weight = 0;
	if (causes) {
		const struct stream_psn *psn = &flow_store_stream(table, qp->stream)->psn;
		samples_lost(causes, &lost);
		weight = (double)loss_counts(table->loss, psn)->retransmits / 1e6;
	}
	for (int kind = 0; kind < FLOW_LOSS_KINDS; kind++)
		weight += (double)lost.lost[kind];
	return weight;
}

/* The port of a direction at which its losses stand. */
static uint32_t samples_main_port(const struct flow_table *table, const struct flow_qp *qp)
{
	if (!qp->many_ports)
		return 0;
	const struct flow_ports *ports = flow_store_rare(table, qp->rare)->ports;
	uint32_t k = 0;
	while (k < ports->n && ports->key[k] != flow_store_stream(table, qp->stream)->request_port)
		k++;
	return k;
}

/* Of the flows that @top does not hold, those that lost most. */
static void samples_choose_lost(
	const struct flow_table *table, const struct chooser *top, struct chooser *chooser)
{
	for (uint32_t i = 0; i < table->qps.end; i++) {
		const struct flow_qp *qp = flow_store_qp(table, i);
		if (!flow_qp_live(qp) || qp->packets == 0)
			continue;
		struct chosen candidate = {samples_weight(table, qp), qp->octets, i, 0};
		if (candidate.weight <= 0)
			continue;
		candidate.port = samples_main_port(table, qp);
		bool held = qp->many_ports &&
			candidate.port >= flow_store_rare(table, qp->rare)->ports->n;
		for (size_t k = 0; k < top->n && !held; k++)
			held = top->v[k].id == i && top->v[k].port == candidate.port;
		if (!held)
			chooser_take(chooser, &candidate);
	}
	chooser_sort(chooser);
}

/* Does this source port carry what the direction has no count by port for? */
static bool samples_is_main(const struct flow *row, const struct flow_ports *ports, uint32_t port)
{
	if (!row->stream)
		return ports->key[port] == row->qp->port;
	return ports->key[port] == row->stream->request_port;
}

/* Answers that travel in the same direction may be ECT while the data is not: .data_ect is what it
 * is at most. */
static void samples_data(const struct flow *row, struct flow_sample *ret)
{
	if (!row->stream)
		return;
	ret->data_packets = row->stream->data_packets;
	ret->data_ect = row->ect + row->ce;
	if (ret->data_ect > ret->data_packets)
		ret->data_ect = ret->data_packets;
}

/* Octets of directions whose packets choose their path one by one. */
static uint64_t samples_spray(const struct flow_table *table)
{
	uint64_t octets = 0;
	for (uint32_t i = 0; i < table->qps.end; i++) {
		const struct flow_qp *qp = flow_store_qp(table, i);
		struct flow row;
		if (!flow_qp_live(qp) || qp->packets == 0 || !qp->rare)
			continue;
		flow_table_row(table, i, &row);
		if (row.source_ports >= FLOW_SPRAYS || row.flow_labels >= FLOW_SPRAYS)
			octets += row.octets;
	}
	return octets;
}

static void samples_row(const struct flow_table *table, const struct chosen *chosen, bool psn,
	struct flow_sample *ret)
{
	struct flow row;
	flow_table_row(table, chosen->id, &row);
	ret->key = row.key;
	ret->packets = row.packets;
	ret->octets = row.octets;
	ret->ce = row.ce;
	ret->ect = row.ect;
	ret->flows = 1;
	samples_data(&row, ret);
	if (table->sampling == 1) /* octets in a millisecond -> bit/s */
		ret->burst_bps = row.burst_octets * 8000;
	if (row.qp->many_ports) {
		ret->data_packets = ret->data_ect = 0; /* not known by port */
		const struct flow_ports *ports = flow_store_rare(table, row.qp->rare)->ports;
		const struct flow_port *port = &ports->v[chosen->port];
		ret->key.src_port = port->port;
		ret->packets = port->packets;
		ret->octets = port->octets;
		ret->ce = port->ce;
		ret->ect = port->packets - port->ce - port->not_ect;
		ret->burst_bps = 0; /* not known by port */
		if (!samples_is_main(&row, ports, chosen->port))
			return;
	}
	ret->cnp = row.cnp_about;
	ret->nak = row.nak_about;
	if (!psn)
		return;
	ret->retransmits = row.psn.retransmits;
	ret->psn_gaps = row.psn.gaps;
	const struct loss_causes *causes = samples_causes(table, row.qp);
	if (causes)
		samples_lost(causes, ret);
}

static void samples_total_lost(const struct flow_table *table, struct flow_sample *ret)
{
	for (uint32_t i = 0; i < table->qps.end; i++) {
		const struct flow_qp *qp = flow_store_qp(table, i);
		const struct loss_causes *causes = NULL;
		if (flow_qp_live(qp))
			causes = samples_causes(table, qp);
		if (causes)
			samples_lost(causes, ret);
	}
}

static void samples_total(struct flow_table *table, bool psn, struct flow_sample *ret)
{
	struct flow_totals totals;
	flow_table_totals(table, &totals);
	ret->total = true;
	ret->packets = totals.packets;
	ret->octets = totals.octets;
	ret->ce = totals.ce;
	ret->ect = totals.ect;
	ret->cnp = totals.cnp;
	ret->nak = totals.nak;
	if (psn) { /* else unknown, and 0 */
		ret->retransmits = totals.psn.retransmits;
		ret->psn_gaps = totals.psn.gaps;
		samples_total_lost(table, ret);
	}
	if (table->sampling == 1)
		ret->burst_bps = totals.burst_octets * 8000;
	ret->flows = totals.flows;
	ret->sum_sq_octets = totals.sum_sq_octets;
	ret->spray_octets = samples_spray(table);
}

size_t flow_table_samples(struct flow_table *table, int64_t from_ns, int64_t to_ns, uint32_t entity,
	enum flow_dir dir, bool psn_known, struct flow_sample ret[1 + FLOW_TOP + FLOW_LOST])
{
	const struct flow_sample common = {.from_ns = from_ns,
		.to_ns = to_ns,
		.entity = entity,
		.sampling = table->sampling,
		.dir = (uint8_t)dir};
	struct loss_sampling sampling = {.sampled = true};
	if (table->loss)
		loss_sampling(table->loss, &sampling);
	const bool psn = psn_known && !sampling.sampled;
	const bool v1 = table->v1_packets > 0;
	ret[0] = common;
	samples_total(table, psn, &ret[0]);
	struct chooser chooser = {.table = table, .most = FLOW_TOP - v1};
	samples_choose(table, &chooser);
	struct chooser lost = {.table = table, .most = FLOW_LOST};
	if (psn)
		samples_choose_lost(table, &chooser, &lost);
	size_t n = 1;
	for (size_t i = 0; i < chooser.n; i++) {
		ret[n] = common;
		samples_row(table, &chooser.v[i], psn, &ret[n++]);
	}
	for (size_t i = 0; i < lost.n; i++) {
		ret[n] = common;
		samples_row(table, &lost.v[i], psn, &ret[n++]);
	}
	free(chooser.v);
	free(lost.v);
	if (v1) {
		ret[n] = common;
		ret[n].packets = table->v1_packets;
		ret[n++].octets = table->v1_octets;
	}
	return n;
}

double flow_n_eff(double sum, double sum_sq)
{
	if (sum_sq > 0)
		return sum * sum / sum_sq;
	return 0;
}
