/* pause_graph - edges of a window, then per priority its roots, trees and rings. */
#include "analyzers/measure/pause/pause_graph.h"

#include "analyzers/measure/input.h"

/* ---- pause_tree ------------------------------------------------------------ */

/* pause_tree - the edges that wait for a root, nearest first, by a search from the root outwards.
 */

/* Of the window: a port that is paused for less does not wait. */
#define WAITS 0.001

/* The inputs of a switch are scanned once for the outputs to one neighbour, and once more for
 * another one: then none is left out. */
struct scanned {
	int32_t neighbour[2]; /* [leads up]: + 1 */
	bool all[2], counted;
};

struct tree {
	const struct pause_net *net;
	bool *edge_seen;
	struct scanned *scanned; /* [device] */
	uint32_t *queue;
	size_t head, tail;
};

/* The edges that wait for @out, an egress port: inputs of its switch that may have filled it. */
static void waiting_for(struct tree *tree, const struct port_seen *out)
{
	const int d = pause_device_of(out), up = leads_up(out);
	struct scanned *s = &tree->scanned[d];
	int32_t neighbour = 1 + pause_peer_device_of(out);
	if (pause_peer_device_of(out) == NO_DEVICE)
		neighbour = (int32_t)(1 + tree->net->o->n_devices + port_index(tree->net->o, out));
	if (s->all[up] || s->neighbour[up] == neighbour)
		return;
	s->all[up] = s->neighbour[up] != 0;
	s->neighbour[up] = neighbour;
	for (uint32_t k = tree->net->to.start[d]; k < tree->net->to.start[d + 1]; k++) {
		const uint32_t id = tree->net->to.ids[k];
		if (tree->edge_seen[id] || edge_level(&tree->net->edges[id]) < WAITS ||
			!can_pass(tree->net->edges[id].by, out))
			continue;
		tree->edge_seen[id] = true;
		tree->queue[tree->tail++] = id;
	}
}

/* What is left of a tree that was drawn: the marks, and how many switches wait in it. */
static size_t tree_wipe(struct tree *tree, int root_device)
{
	size_t switches = 0;
	for (size_t i = 0; i < tree->tail; i++) {
		const struct pause_edge *e = &tree->net->edges[tree->queue[i]];
		tree->edge_seen[tree->queue[i]] = false;
		if (e->at) {
			switches += !tree->scanned[pause_device_of(e->at)].counted;
			tree->scanned[pause_device_of(e->at)].counted = true;
		}
	}
	for (size_t i = 0; i < tree->tail; i++)
		if (tree->net->edges[tree->queue[i]].at)
			tree->scanned[pause_device_of(tree->net->edges[tree->queue[i]].at)] =
				(struct scanned){0};
	tree->scanned[root_device] = (struct scanned){0};
	return switches;
}

/* Who waits outside the configured switches: hosts, and outsiders, each counted once. */
static void tree_count_outside(const struct tree *tree, struct pause_root *root)
{
	const char **names = NULL;
	size_t cap = 0;
	for (size_t i = 0; i < tree->tail; i++) {
		const struct pause_edge *edge = &tree->net->edges[tree->queue[i]];
		const char *outsider = edge_outsider(edge);
		size_t at = 0;
		root->n_hosts += !edge->at && !outsider;
		while (outsider && at < root->n_outsiders && !str_eq(names[at], outsider))
			at++;
		if (!outsider || at < root->n_outsiders)
			continue;
		arena_grow(tree->net->a, names, root->n_outsiders, cap);
		names[root->n_outsiders++] = outsider;
	}
}

static void tree_draw(struct tree *tree, struct pause_root *root)
{
	const struct pause_net *net = tree->net;
	const uint32_t own = net->edge_at[port_index(net->o, root->port)];
	tree->head = tree->tail = 0;
	if (own && root->origin == ORIGIN_HOST) {
		tree->edge_seen[own - 1] = true;
		/* the switch itself waits for the host: it comes first */
		tree->queue[tree->tail++] = own - 1;
		tree->head = 1;
	}
	waiting_for(tree, root->port);
	root->n_direct = tree->tail;
	for (; tree->head < tree->tail; tree->head++)
		if (net->edges[tree->queue[tree->head]].at)
			waiting_for(tree, net->edges[tree->queue[tree->head]].at);
	const struct pause_edge **all =
		arena_array(net->a, const struct pause_edge *, tree->tail + 1);
	for (size_t i = 0; i < tree->tail; i++)
		all[i] = &net->edges[tree->queue[i]];
	tree_count_outside(tree, root);
	root->direct = all;
	root->indirect = all + root->n_direct;
	root->n_indirect = tree->tail - root->n_direct;
	root->n_switches = tree_wipe(tree, pause_device_of(root->port));
}

static int tree_by_pressure(const void *left, const void *right)
{
	const struct pause_root *a = *(struct pause_root *const *)left,
				*b = *(struct pause_root *const *)right;
	if (a->pressure != b->pressure) {
		if (a->pressure > b->pressure)
			return -1;
		return 1;
	}
	/* one array, in the order of ports */
	if (a < b)
		return -1;
	return a > b;
}

void pause_trees(const struct pause_net *net, struct pause_root *roots, size_t n)
{
	struct pause_root **order = arena_array(net->a, struct pause_root *, n + 1);
	struct tree t = {.net = net,
		.edge_seen = arena_array(net->a, bool, net->n_edges),
		.scanned = arena_array(net->a, struct scanned, net->o->n_devices),
		.queue = arena_array(net->a, uint32_t, net->n_edges)};
	for (size_t i = 0; i < n; i++)
		order[i] = &roots[i];
	qsort(order, n, sizeof(*order), tree_by_pressure);
	for (size_t i = 0; i < n && i < PAUSE_TREES; i++)
		tree_draw(&t, order[i]);
}

int pause_ladder(const struct pause_root *root)
{
	if (!root || root->n_direct + root->n_indirect <= 1)
		return 1;
	if (root->n_switches + root->n_outsiders >= 3)
		return 3;
	return 2;
}

/* ---- pause_graph ----------------------------------------------------------- */

static int pause_graph_by_pressure(const void *left, const void *right)
{
	const struct pause_root *a = left, *b = right;
	if (a->pressure != b->pressure) {
		if (a->pressure > b->pressure)
			return -1;
		return 1;
	}
	if (a->port != b->port) {
		/* both in the observation's array: the fabric's order */
		if (a->port < b->port)
			return -1;
		return 1;
	}
	if (a->priority != b->priority)
		return a->priority - b->priority;
	return (int)a->origin - (int)b->origin;
}

/* @rings: those alone. */
static struct pause_graph *pause_graph_make(
	const struct analyzer_in *in, struct arena *a, bool rings)
{
	const struct observed *observed = observe(in);
	const struct pause_edges edges = pause_edges(observed, a);
	struct pause_graph *graph = arena_new_of(a, struct pause_graph);
	struct pause_roots roots = {0};
	struct pause_cycles cycles = {0};
	for (int priority = 0; priority < OBSERVED_PRIORITIES; priority++) {
		if (!edges.n_of[priority])
			continue;
		const struct pause_net net = pause_net_of(observed, &edges, priority, a);
		const size_t first = roots.n;
		if (!rings)
			pause_blame(&net, &roots, &graph->pressure[priority],
				&graph->unresolved[priority]);
		if (roots.n > first)
			pause_trees(&net, roots.v + first, roots.n - first);
		pause_cycles(&net, &cycles);
	}
	if (roots.n)
		qsort(roots.v, roots.n, sizeof(*roots.v), pause_graph_by_pressure);
	graph->observed = observed;
	graph->edges = edges.v;
	graph->n_edges = edges.n;
	graph->roots = roots.v;
	graph->n_roots = roots.n;
	graph->cycles = cycles.v;
	graph->n_cycles = cycles.n;
	graph->observable = edges.observable;
	return graph;
}

const struct pause_graph *pause_graph(const struct analyzer_in *in)
{
	if (!in->shared)
		return pause_graph_make(in, in->arena, false);
	if (!in->shared->pause)
		in->shared->pause = pause_graph_make(in, in->shared->arena, false);
	return in->shared->pause;
}

const struct pause_graph *pause_graph_rings(const struct analyzer_in *in)
{
	return pause_graph_make(in, in->arena, true);
}
