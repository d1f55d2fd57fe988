/* pause_net - sorts the edges of one priority by the switches at their ends. */
#include "analyzers/measure/pause/pause_net.h"

#include "agent/base/arena.h"

/* The edges of @priority by the switch of their .at, or of their .by. */
static struct pause_list net_list_by(const struct observed *observed,
	const struct pause_edges *edges, int priority, bool at, struct arena *a)
{
	const size_t devices = observed->n_devices;
	struct pause_list l = {.ids = arena_array(a, uint32_t, edges->n_of[priority]),
		.start = arena_array(a, uint32_t, devices + 2)};
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < edges->n; i++) {
			int d = NO_DEVICE;
			if (edges->v[i].priority == priority)
				d = pause_device_of(at ? edges->v[i].at : edges->v[i].by);
			if (d == NO_DEVICE)
				continue;
			if (pass)
				l.ids[l.start[d + 1]++] = (uint32_t)i;
			else
				l.start[d + 2]++;
		}
		for (size_t d = 0; !pass && d < devices; d++)
			l.start[d + 2] += l.start[d + 1];
	}
	return l;
}

struct pause_net pause_net_of(const struct observed *observed, const struct pause_edges *edges,
	int priority, struct arena *a)
{
	struct pause_net net = {.o = observed,
		.a = a,
		.priority = priority,
		.edges = edges->v,
		.n_edges = edges->n,
		.from = net_list_by(observed, edges, priority, true, a),
		.to = net_list_by(observed, edges, priority, false, a),
		.edge_at = arena_array(a, uint32_t, observed->n_ports + 1)};
	for (size_t i = 0; i < edges->n; i++)
		if (edges->v[i].priority == priority && edges->v[i].at)
			net.edge_at[port_index(observed, edges->v[i].at)] = (uint32_t)i + 1;
	return net;
}
