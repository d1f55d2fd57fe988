/* lint_graph - the fabric as numbers. */
#include "analyzers/lint/lint_graph.h"

enum { NO_SWITCH = UINT32_MAX };

size_t lint_next(const uint64_t *set, size_t n, size_t i)
{
	while (i < n) {
		const uint64_t rest = set[i / 64] >> (i % 64);
		if (rest) {
			i += (size_t)__builtin_ctzll(rest);
			return i < n ? i : n;
		}
		i = (i / 64 + 1) * 64;
	}
	return n;
}

struct graph_build {
	struct lint_graph *graph;
	struct arena *arena;
	bool (*up)(const void *arg, const struct fabric_port *port); /* NULL: all are */
	const void *up_arg;
	uint32_t *number; /* of a device by its index; NO_SWITCH: left out */
	size_t cap_links;
	size_t *cap_ports;
};

static bool is_linked_up(const struct graph_build *build, const struct fabric_port *port)
{
	if (!port->peer)
		return false;
	return !build->up ||
		(build->up(build->up_arg, port) && build->up(build->up_arg, port->peer));
}

/* The end of a link that stands for it: of a LAG its first member that is up. */
static bool stands_for_link(const struct graph_build *build, const struct fabric_port *port)
{
	const struct fabric_port *peer = port->peer;
	if (!is_linked_up(build, port) || !port->lag)
		return is_linked_up(build, port);
	const struct fabric_device *device = port->device;
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct fabric_port *other = device->ports[i];
		if (other == port)
			return true;
		if (str_eq(other->lag, port->lag) && is_linked_up(build, other) &&
			other->peer->device == peer->device)
			return false;
	}
	return true;
}

static bool has_hosts(const struct fabric_device *device)
{
	for (size_t i = 0; i < device->n_ports; i++)
		if (device->ports[i]->host)
			return true;
	return false;
}

static void add_switches(struct graph_build *build)
{
	struct lint_graph *graph = build->graph;
	const struct fabric *fabric = graph->fabric;
	for (size_t i = 0; i < fabric->n_devices; i++) {
		const struct fabric_device *device = fabric->devices[i];
		build->number[device->index] = NO_SWITCH;
		if (device->role >= ROLE_OTHER) {
			graph->left_out[graph->n_left_out++] = device->name;
			continue;
		}
		build->number[device->index] = (uint32_t)graph->n_switches;
		graph->switches[graph->n_switches++] = (struct lint_switch){.device = device,
			.tier = (unsigned)device->role,
			.hosts = has_hosts(device)};
	}
}

static uint32_t add_port(
	struct graph_build *build, uint32_t at, uint32_t link, const struct fabric_port *port)
{
	struct lint_switch *s = &build->graph->switches[at];
	arena_grow(build->arena, s->ports, s->n_ports, build->cap_ports[at]);
	s->ports[s->n_ports] = (struct lint_port){.link = link, .at = port};
	return (uint32_t)s->n_ports++;
}

static void add_link(struct graph_build *build, const struct fabric_port *port)
{
	struct lint_graph *graph = build->graph;
	const struct fabric_port *peer = port->peer;
	uint32_t lower = build->number[port->device->index];
	uint32_t upper = build->number[peer->device->index];
	if (lower == NO_SWITCH || upper == NO_SWITCH) {
		graph->outside_links++;
		return;
	}
	if (graph->switches[lower].tier == graph->switches[upper].tier) {
		graph->lateral_links++;
		return;
	}
	arena_grow(build->arena, graph->links, graph->n_links, build->cap_links);
	const uint32_t number = (uint32_t)graph->n_links++;
	struct lint_link *link = &graph->links[number];
	*link = (struct lint_link){.lower = lower, .upper = upper};
	link->lower_port = add_port(build, lower, number, port);
	link->upper_port = add_port(build, upper, number, peer);
	struct lint_port *down = &graph->switches[lower].ports[link->lower_port];
	struct lint_port *up = &graph->switches[upper].ports[link->upper_port];
	*down = (struct lint_port){number, upper, link->upper_port, port};
	*up = (struct lint_port){number, lower, link->lower_port, peer};
}

/* Each link from its lower end; one within a tier from the end that is named first. */
static bool is_lower_end(const struct fabric_port *port)
{
	const struct fabric_device *here = port->device, *there = port->peer->device;
	if (here->role != there->role)
		return here->role < there->role;
	return here->index < there->index || (here == there && port->index < port->peer->index);
}

static void number_ports(struct lint_graph *graph)
{
	for (size_t i = 0; i < graph->n_switches; i++) {
		struct lint_switch *s = &graph->switches[i];
		s->words = (s->n_ports + 63) / 64;
		s->first_word = graph->words;
		s->first_port = graph->ports;
		graph->words += s->words;
		graph->ports += s->n_ports;
	}
}

/* Hosts of a leaf need not be declared: what is not known must not make the answer milder. */
static void find_leaves(struct lint_graph *graph)
{
	for (size_t i = 0; i < graph->n_switches; i++) {
		struct lint_switch *s = &graph->switches[i];
		graph->taken_leaves += s->tier == 0 && !s->hosts;
		s->hosts |= s->tier == 0;
		if (s->hosts)
			graph->leaves[graph->n_leaves++] = (uint32_t)i;
	}
}

/* A switch's own rail, else the NIC by which it reaches all its hosts; NULL: neither. */
static const char *switch_rail(const struct fabric_device *device)
{
	const char *rail = NULL;
	if (device->rail)
		return device->rail;
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct fabric_port *port = device->ports[i];
		if (!port->host)
			continue;
		if (!port->host_nic || !*port->host_nic || (rail && !str_eq(rail, port->host_nic)))
			return NULL;
		rail = port->host_nic;
	}
	return rail;
}

/* The rail of all switches of an island that say one; NULL: none does, or they differ. */
static const char *island_rail(const struct lint_graph *graph, const uint32_t *members, size_t n)
{
	const char *rail = NULL;
	for (size_t i = 0; i < n; i++) {
		const char *own = switch_rail(graph->switches[members[i]].device);
		if (own && rail && !str_eq(own, rail))
			return NULL;
		if (own)
			rail = own;
	}
	return rail;
}

static void find_islands(struct lint_graph *graph, struct arena *a)
{
	uint32_t *queue = arena_array(a, uint32_t, graph->n_switches + 1);
	bool *seen = arena_array(a, bool, graph->n_switches + 1);
	const char **rails = arena_array(a, const char *, graph->n_switches + 1);
	graph->planes = true;
	for (size_t i = 0; i < graph->n_switches; i++) {
		size_t n = 0, done = 0;
		if (seen[i])
			continue;
		seen[i] = true;
		queue[n++] = (uint32_t)i;
		while (done < n) {
			const struct lint_switch *s = &graph->switches[queue[done++]];
			for (size_t p = 0; p < s->n_ports; p++) {
				const uint32_t peer = s->ports[p].peer;
				if (!seen[peer])
					queue[n++] = peer;
				seen[peer] = true;
			}
		}
		const char *rail = island_rail(graph, queue, n);
		graph->planes = graph->planes && rail;
		for (size_t k = 0; k < graph->islands && graph->planes; k++)
			graph->planes = !str_eq(rails[k], rail);
		rails[graph->islands++] = rail;
	}
}

const struct lint_graph *lint_graph_new(const struct fabric *fabric, struct arena *a)
{
	return lint_graph_now(fabric, a, NULL, NULL);
}

const struct lint_graph *lint_graph_now(const struct fabric *fabric, struct arena *a,
	bool (*up)(const void *arg, const struct fabric_port *port), const void *arg)
{
	struct lint_graph *graph = arena_new_of(a, struct lint_graph);
	const size_t n = fabric->n_devices;
	struct graph_build build = {.graph = graph,
		.arena = a,
		.up = up,
		.up_arg = arg,
		.number = arena_array(a, uint32_t, n + 1),
		.cap_ports = arena_array(a, size_t, n + 1)};
	graph->fabric = fabric;
	graph->switches = arena_array(a, struct lint_switch, n + 1);
	graph->leaves = arena_array(a, uint32_t, n + 1);
	graph->left_out = arena_array(a, const char *, n + 1);
	add_switches(&build);
	for (size_t i = 0; i < n; i++) {
		const struct fabric_device *device = fabric->devices[i];
		for (size_t p = 0; p < device->n_ports; p++) {
			const struct fabric_port *port = device->ports[p];
			if (stands_for_link(&build, port) && is_lower_end(port))
				add_link(&build, port);
		}
	}
	number_ports(graph);
	find_leaves(graph);
	find_islands(graph, a);
	return graph;
}

const char *lint_element_text(const struct lint_graph *graph, uint32_t element, struct arena *a)
{
	if (element >= graph->n_links)
		return graph->switches[element - graph->n_links].device->name;
	const struct lint_link *link = &graph->links[element];
	const struct lint_switch *lower = &graph->switches[link->lower];
	const struct lint_switch *upper = &graph->switches[link->upper];
	return arena_printf(a, "%s:%s - %s:%s", lower->device->name,
		lower->ports[link->lower_port].at->name, upper->device->name,
		upper->ports[link->upper_port].at->name);
}
