/* pause_graph - edges of a window, then per priority its roots, trees and rings. */
#include "analyzers/measure/pause/pause_graph.h"

#include <stdlib.h>

#include "agent/base/arena.h"
#include "analyzers/measure/input.h"
#include "analyzers/measure/pause/pause_tree.h"

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

static struct pause_graph *pause_graph_make(const struct analyzer_in *in, struct arena *a)
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
		pause_blame(&net, &roots, &graph->pressure[priority], &graph->unresolved[priority]);
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
		return pause_graph_make(in, in->arena);
	if (!in->shared->pause)
		in->shared->pause = pause_graph_make(in, in->shared->arena);
	return in->shared->pause;
}
