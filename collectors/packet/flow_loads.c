/*
 * flow_loads - sums by 5-tuple in a table of 4 MiB at most, in several walks when there are more
 * 5-tuples than it holds. 64 bits of the keyed hash stand for the 5-tuple: among a million of them
 * two are taken for one with a probability of 3e-8.
 */
#include "collectors/packet/flow_loads.h"

#include <string.h>

#include "agent/base/cleanup.h"

enum { LOADS_SLOTS_MIN = 1 << 10, LOADS_SLOTS_MAX = 1 << 18 };

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
	bool payload;
};

uint32_t flow_ports_used(const struct flow_table *table, const struct flow_qp *qp)
{
	if (!qp->many_ports)
		return 1;
	const struct flow_ports *ports = flow_store_rare(table, qp->rare)->ports;
	return ports->n + flow_ports_beyond(ports);
}

static void load_add(struct load_walk *walk, const struct flow_qp *qp, uint16_t port, uint64_t load)
{
	if (load == 0)
		return;
	const uint64_t hash = siphash13_two(&walk->table->key, (uint64_t)qp->src << 32 | qp->dst,
				      (uint64_t)port << 32) |
		1;
	if ((hash >> 40) % walk->parts != walk->part)
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
		load_add(walk, qp, (uint16_t)qp->port, load);
		return;
	}
	const struct flow_ports *ports = flow_store_rare(walk->table, qp->rare)->ports;
	for (uint32_t i = 0; i < ports->n; i++) {
		uint64_t load = ports->v[i].octets;
		if (walk->payload)
			load = ports->v[i].payload_bytes;
		load_add(walk, qp, ports->v[i].port, load);
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

static void load_walk_part(struct load_walk *walk, const struct flow_loads_of *of)
{
	for (uint32_t i = 0; i < walk->table->qps.end; i++) {
		const struct flow_qp *qp = flow_store_qp(walk->table, i);
		if (!load_counts(walk->table, of, qp))
			continue;
		load_qp(walk, qp);
		if (walk->part != 0 || qp->stream == FLOW_NONE)
			continue;
		const uint32_t packets = flow_store_stream(walk->table, qp->stream)->data_packets;
		walk->sums->packets += packets;
		walk->sums->qps += packets > 0;
	}
	for (uint32_t i = 0; i <= walk->mask; i++) {
		const uint64_t load = walk->slots[i].load;
		walk->sums->n += load > 0;
		walk->sum += load;
		walk->sum_sq += (unsigned __int128)load * load;
		walk->slots[i] = (struct load_slot){0};
	}
}

void flow_loads_sum(
	const struct flow_table *table, const struct flow_loads_of *of, struct flow_loads *ret)
{
	uint64_t n = 0;
	*ret = (struct flow_loads){0};
	for (uint32_t i = 0; i < table->qps.end; i++) {
		const struct flow_qp *qp = flow_store_qp(table, i);
		if (!load_counts(table, of, qp))
			continue;
		n++;
		if (qp->many_ports)
			n += flow_store_rare(table, qp->rare)->ports->n;
	}
	if (n == 0)
		return;
	uint32_t slots = LOADS_SLOTS_MIN;
	while (slots < n * 2 && slots < LOADS_SLOTS_MAX)
		slots *= 2;
	struct load_walk walk = {.table = table,
		.sums = ret,
		.mask = slots - 1,
		.parts = (uint32_t)(n * 2 / slots) + 1,
		.payload = of->payload};
	rw_cleanup(freep) struct load_slot *memory = rw_calloc(slots, sizeof(*memory));
	walk.slots = memory;
	for (; walk.part < walk.parts; walk.part++)
		load_walk_part(&walk, of);
	ret->sum += (double)walk.sum;
	ret->sum_sq += (double)walk.sum_sq;
}
