/* flow_evict - the least ones, and the estimates of what is distinct. */
#include "collectors/packet/flow_evict.h"

#include <math.h>

#include "agent/base/cleanup.h"

enum { VICTIM_SHARE = 16, EVICT_TRIES_MAX = 64 };

static uint64_t evict_weight(const struct flow_table *table, uint32_t id)
{
	uint64_t weight = flow_store_qp(table, id)->octets;
	if (table->error)
		weight += table->error[id];
	return weight;
}

/* ---- a heap with the heaviest on top --------------------------------------------- */

static bool evict_heavier(const struct flow_victim *left, const struct flow_victim *right)
{
	return left->weight > right->weight ||
		(left->weight == right->weight && left->id > right->id);
}

static void evict_sink(struct flow_victim *heap, uint32_t n, uint32_t at)
{
	const struct flow_victim sinking = heap[at];
	for (;;) {
		uint32_t child = at * 2 + 1;
		if (child >= n)
			break;
		if (child + 1 < n && evict_heavier(&heap[child + 1], &heap[child]))
			child++;
		if (!evict_heavier(&heap[child], &sinking))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = sinking;
}

static void evict_offer(struct flow_table *table, uint32_t id, uint32_t most)
{
	const struct flow_victim offered = {evict_weight(table, id), id};
	if (table->n_victims == most) {
		if (!evict_heavier(&table->victims[0], &offered))
			return;
		table->victims[0] = offered;
		evict_sink(table->victims, most, 0);
		return;
	}
	table->victims[table->n_victims++] = offered;
	if (table->n_victims == most)
		for (uint32_t at = most / 2; at-- > 0;)
			evict_sink(table->victims, most, at);
}

/* evict_choose - the least ones of the whole table into .victims. */
static void evict_choose(struct flow_table *table)
{
	uint32_t most = flow_pool_live(&table->qps) / VICTIM_SHARE;
	if (most == 0)
		most = 1;
	table->victims = rw_realloc(table->victims, most * sizeof(*table->victims));
	table->n_victims = 0;
	for (uint32_t i = 0; i < table->qps.end; i++)
		if (flow_qp_live(flow_store_qp(table, i)))
			evict_offer(table, i, most);
	table->victim_most = 0;
	for (uint32_t i = 0; i < table->n_victims; i++)
		if (table->victims[i].weight > table->victim_most)
			table->victim_most = table->victims[i].weight;
}

/* ---- distinct -------------------------------------------------------------------- */

static void evict_count(struct flow_table *table, const struct flow_qp *qp, uint16_t port)
{
	hyperloglog_add(table->distinct_flows,
		flow_store_distinct_hash(table, qp, port, 1u << 24 | qp->dst_qp));
	hyperloglog_add(table->distinct_tuples, flow_store_distinct_hash(table, qp, port, 0));
}

/* Everything that is in the table when the first one goes. */
static void evict_count_all(struct flow_table *table)
{
	table->distinct_flows = hyperloglog_new(FLOW_DISTINCT_PRECISION);
	table->distinct_tuples = hyperloglog_new(FLOW_DISTINCT_PRECISION);
	for (uint32_t i = 0; i < table->qps.end; i++) {
		const struct flow_qp *qp = flow_store_qp(table, i);
		if (!flow_qp_live(qp) || qp->packets == 0)
			continue;
		evict_count(table, qp, (uint16_t)qp->port);
		if (!qp->many_ports)
			continue;
		const struct flow_ports *ports = flow_store_rare(table, qp->rare)->ports;
		for (uint32_t k = 0; k < ports->n; k++)
			evict_count(table, qp, ports->key[k]);
	}
}

void flow_evict_distinct(struct flow_table *table, const struct flow_qp *qp, uint16_t port)
{
	if (table->distinct_flows)
		evict_count(table, qp, port);
}

/* ---- eviction -------------------------------------------------------------------- */

/* evict_one - the octets of what went, those that it had inherited included. */
static uint64_t evict_one(struct flow_table *table)
{
	for (;;) {
		if (table->n_victims == 0)
			evict_choose(table);
		if (table->n_victims == 0)
			return 0;
		const uint32_t id = table->victims[--table->n_victims].id;
		const struct flow_qp *qp = flow_store_qp(table, id);
		if (!flow_qp_live(qp))
			continue;
		const uint64_t weight = evict_weight(table, id);
		if (weight > table->victim_most)
			continue; /* it has grown since */
		flow_store_drop(table, id);
		table->sums.evicted++;
		return weight;
	}
}

bool flow_evict_make_room(struct flow_table *table, uint64_t *ret_inherited)
{
	*ret_inherited = 0;
	for (unsigned i = 0; !flow_store_room(table); i++) {
		if (i == EVICT_TRIES_MAX)
			return false;
		if (!table->distinct_flows)
			evict_count_all(table);
		if (!table->error)
			table->error = rw_calloc(table->limit, sizeof(*table->error));
		const uint64_t weight = evict_one(table);
		if (weight > *ret_inherited)
			*ret_inherited = weight;
	}
	return true;
}

void flow_evict_born(struct flow_table *table, uint32_t id, uint64_t inherited)
{
	if (table->error)
		table->error[id] = inherited;
}

void flow_evict_clear(struct flow_table *table)
{
	free(table->error);
	free(table->victims);
	free(table->distinct_flows);
	free(table->distinct_tuples);
	table->error = NULL;
	table->victims = NULL;
	table->distinct_flows = table->distinct_tuples = NULL;
	table->n_victims = 0;
}
