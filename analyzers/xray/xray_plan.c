/* xray_plan - see xray_plan.h. */
#include "analyzers/xray/xray_plan.h"

enum { TRIES = 1024, TRIES_AGAIN = 256, ROUNDS = 6 };

struct xray_path xray_follow(
	const struct xray_node *nodes, uint32_t first, const struct xray_flow *flow)
{
	struct xray_path path = {.end = XRAY_SAYS, .stopped_at = XRAY_NOWHERE};
	for (uint32_t node = first; node != XRAY_NOWHERE && path.n < XRAY_HOPS_MAX;) {
		size_t member = 0;
		path.end = XRAY_UNSURE;
		if (nodes[node].learned->model)
			path.end = xray_foretell(nodes[node].learned->model, flow, &member);
		if (path.end != XRAY_SAYS) {
			path.stopped_at = node;
			break;
		}
		path.hop[path.n++] = (struct xray_hop){node, (uint32_t)member};
		node = nodes[node].next ? nodes[node].next[member] : XRAY_NOWHERE;
	}
	return path;
}

double xray_imbalance(const struct xray_load *load, size_t members)
{
	double sum = 0, most = 0;
	for (size_t i = 0; i < members; i++) {
		sum += load->weight[i];
		most = fmax(most, load->weight[i]);
	}
	if (sum <= 0)
		return NAN;
	return most * (double)members / sum - 1;
}

static void plan_add(struct xray_load *loads, const struct xray_path *path, double weight)
{
	for (size_t i = 0; i < path->n; i++)
		loads[path->hop[i].node].weight[path->hop[i].member] += weight;
}

struct xray_load *xray_loads(const struct xray_node *nodes, size_t n_nodes,
	const struct xray_planned *flows, size_t n, struct arena *a)
{
	struct xray_load *loads = arena_array(a, struct xray_load, n_nodes + 1);
	for (size_t i = 0; i < n_nodes; i++)
		loads[i].weight = arena_array(a, double, nodes[i].learned->members + 1);
	for (size_t i = 0; i < n; i++) {
		if (!flows[i].given)
			continue;
		const struct xray_path path = xray_follow(nodes, flows[i].first, &flows[i].flow);
		plan_add(loads, &path, flows[i].weight);
		for (size_t k = 0; k < path.n; k++)
			loads[path.hop[k].node].flows++;
	}
	return loads;
}

struct plan {
	const struct xray_node *nodes;
	struct xray_load *loads;
	struct xray_dice dice;
	uint16_t low;
	size_t ports;
};

/* How much more than the least loaded members those of the path carry, with the flow on them. */
static double plan_excess(const struct plan *plan, const struct xray_path *path)
{
	double excess = 0;
	for (size_t i = 0; i < path->n; i++) {
		const struct xray_hop *hop = &path->hop[i];
		const struct xray_load *load = &plan->loads[hop->node];
		double least = load->weight[0];
		for (size_t k = 1; k < plan->nodes[hop->node].learned->members; k++)
			least = fmin(least, load->weight[k]);
		excess += load->weight[hop->member] - least;
	}
	return excess;
}

/* The best of some ports for a flow that is on no member. False: none leads anywhere known. */
static bool plan_choose(struct plan *plan, struct xray_planned *flow, size_t tries)
{
	struct xray_flow tried = flow->flow;
	struct xray_path best = {.n = 0};
	double least = INFINITY;
	const size_t begin = xray_dice_below(&plan->dice, plan->ports);
	if (flow->given) { /* where it was is as good as any */
		best = xray_follow(plan->nodes, flow->first, &tried);
		least = plan_excess(plan, &best);
	}
	for (size_t i = 0; i < tries && i < plan->ports && least > 0; i++) {
		tried.src_port = (uint16_t)(plan->low + (begin + i) % plan->ports);
		const struct xray_path path = xray_follow(plan->nodes, flow->first, &tried);
		if (path.end != XRAY_SAYS)
			continue;
		const double excess = plan_excess(plan, &path);
		if (excess < least) {
			least = excess;
			best = path;
			flow->flow.src_port = tried.src_port;
			flow->given = true;
		}
	}
	plan_add(plan->loads, &best, flow->weight);
	return least > 0;
}

static int plan_by_weight(const void *left, const void *right)
{
	const struct xray_planned *const *a = left, *const *b = right;
	if ((*a)->weight != (*b)->weight)
		return (*a)->weight < (*b)->weight ? 1 : -1;
	return (*a > *b) - (*a < *b);
}

void xray_prescribe(const struct xray_node *nodes, size_t n_nodes, struct xray_planned *flows,
	size_t n, uint16_t low, uint16_t high)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct xray_planned **order = arena_array(a, struct xray_planned *, n + 1);
	struct plan plan = {.nodes = nodes,
		.dice = {0xA0761D6478BD642Full},
		.low = low,
		.ports = (size_t)high - low + 1};
	for (size_t i = 0; i < n; i++) {
		flows[i].given = false;
		order[i] = &flows[i];
	}
	plan.loads = xray_loads(nodes, n_nodes, flows, n, a);
	qsort(order, n, sizeof(*order), plan_by_weight);
	for (size_t i = 0; i < n; i++)
		plan_choose(&plan, order[i], TRIES);
	for (size_t round = 0; round < ROUNDS; round++) {
		bool uneven = false;
		for (size_t i = 0; i < n; i++) {
			if (!order[i]->given)
				continue;
			const struct xray_path path =
				xray_follow(nodes, order[i]->first, &order[i]->flow);
			plan_add(plan.loads, &path, -order[i]->weight);
			uneven |= plan_choose(&plan, order[i], TRIES_AGAIN);
		}
		if (!uneven)
			return;
	}
}
