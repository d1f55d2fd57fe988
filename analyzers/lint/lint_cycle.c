/* lint_cycle - walks packets, and looks for a ring in what they depend on. */
#include "analyzers/lint/lint_cycle.h"

#define FAR UINT32_MAX

struct lint_engine {
	struct arena *arena; /* of it and all below */
	const struct lint_graph *graph;
	/* of the whole fabric; NULL until they are asked for */
	const uint64_t *routes; /* n_leaves x words */
	bool routes_given;
	const bool *lossless; /* by node; NULL: all are */
	uint32_t *distances; /* n_leaves x n_switches */
	void (*pause)(void *arg);
	void *pause_arg;
	/* of one question */
	bool *dead_link, *dead_switch;
	uint64_t *live; /* ports that lead somewhere: words */
	uint64_t *below; /* ports that lead to a live switch of a lower tier: words */
	uint64_t *next; /* next hops to the leaf at hand: words */
	uint64_t *came, *done; /* ports by which packets come in, and those that were walked */
	uint32_t *distance, *queue;
	uint32_t *waiting; /* switches to be walked: a circle, each at most once */
	size_t first_waiting, n_waiting;
	bool *queued;
	enum lint_reroute reroute;
	bool failed; /* something has */
	uint64_t **depends; /* by switch: for each port in, its set of ports out */
	uint64_t *depend_words;
	size_t n_depend_words;
	/* nodes are ports in: number .first_port + port */
	uint32_t *node_switch;
	uint32_t *waits; /* how many buffers wait for a node */
	uint32_t *stack;
	uint64_t *out; /* ports by which what was walked goes on: words */
	/* of a ring: nodes that were seen, where each was reached from, and those to be tried */
	bool *seen;
	uint32_t *from, *tried;
};

/* ---- routes -------------------------------------------------------------- */

/* Hops to @leaf over what is alive. */
static void measure_distances(
	const struct lint_engine *engine, uint32_t leaf, uint32_t *ret, uint32_t *queue)
{
	const struct lint_graph *graph = engine->graph;
	size_t n = 0, done = 0;
	for (size_t i = 0; i < graph->n_switches; i++)
		ret[i] = FAR;
	ret[leaf] = 0;
	queue[n++] = leaf;
	while (done < n) {
		const uint32_t at = queue[done++];
		const struct lint_switch *s = &graph->switches[at];
		const uint64_t *live = engine->live + s->first_word;
		LINT_EACH(p, live, s->n_ports)
		{
			const uint32_t peer = s->ports[p].peer;
			if (ret[peer] != FAR)
				continue;
			ret[peer] = ret[at] + 1;
			queue[n++] = peer;
		}
	}
}

static void choose_next_hops(
	const struct lint_engine *engine, const uint32_t *distance, uint64_t *ret)
{
	const struct lint_graph *graph = engine->graph;
	memset(ret, 0, graph->words * sizeof(*ret));
	for (size_t i = 0; i < graph->n_switches; i++) {
		const struct lint_switch *s = &graph->switches[i];
		if (distance[i] == FAR || distance[i] == 0)
			continue;
		LINT_EACH(p, engine->live + s->first_word, s->n_ports)
		{
			if (distance[s->ports[p].peer] + 1 == distance[i])
				lint_add(ret + s->first_word, p);
		}
	}
}

static void set_failures(struct lint_engine *engine, const struct lint_failures *failures)
{
	const struct lint_graph *graph = engine->graph;
	memset(engine->dead_link, 0, graph->n_links);
	memset(engine->dead_switch, 0, graph->n_switches);
	for (size_t i = 0; i < failures->n; i++) {
		if (failures->v[i] < graph->n_links)
			engine->dead_link[failures->v[i]] = true;
		else
			engine->dead_switch[failures->v[i] - graph->n_links] = true;
	}
	memset(engine->live, 0, graph->words * sizeof(*engine->live));
	memset(engine->below, 0, graph->words * sizeof(*engine->below));
	for (size_t i = 0; i < graph->n_switches; i++) {
		const struct lint_switch *s = &graph->switches[i];
		for (size_t p = 0; p < s->n_ports && !engine->dead_switch[i]; p++) {
			const struct lint_port *port = &s->ports[p];
			if (engine->dead_link[port->link] || engine->dead_switch[port->peer])
				continue;
			lint_add(engine->live + s->first_word, p);
			if (graph->switches[port->peer].tier < s->tier)
				lint_add(engine->below + s->first_word, p);
		}
	}
}

/* Hops and next hops with nothing failed: once. */
static void measure_whole(struct lint_engine *engine)
{
	const struct lint_graph *graph = engine->graph;
	if (engine->distances)
		return;
	uint64_t *routes = arena_array(engine->arena, uint64_t, graph->n_leaves * graph->words + 1);
	engine->distances =
		arena_array(engine->arena, uint32_t, graph->n_leaves * graph->n_switches + 1);
	set_failures(engine, &(struct lint_failures){.n = 0});
	for (size_t leaf = 0; leaf < graph->n_leaves; leaf++) {
		uint32_t *distance = engine->distances + leaf * graph->n_switches;
		measure_distances(engine, graph->leaves[leaf], distance, engine->queue);
		choose_next_hops(engine, distance, routes + leaf * graph->words);
	}
	if (!engine->routes_given)
		engine->routes = routes;
}

/* The routes of the whole fabric without what is dead; who has none left sends downwards. */
static void reroute_locally(struct lint_engine *engine, size_t leaf)
{
	const struct lint_graph *graph = engine->graph;
	const uint64_t *routes = lint_routes(engine, leaf);
	for (size_t i = 0; i < graph->n_switches; i++) {
		const struct lint_switch *s = &graph->switches[i];
		uint64_t *next = engine->next + s->first_word;
		uint64_t had = 0, left = 0;
		for (size_t w = 0; w < s->words; w++) {
			had |= routes[s->first_word + w];
			next[w] = routes[s->first_word + w] & engine->live[s->first_word + w];
			left |= next[w];
		}
		if (had && !left)
			memcpy(next, engine->below + s->first_word, s->words * sizeof(*next));
	}
}

/* Converged routing is as it was given as long as nothing has failed. */
static bool keeps_routes(const struct lint_engine *engine)
{
	return engine->reroute != LINT_CONVERGED || (engine->routes_given && !engine->failed);
}

static void find_next_hops(struct lint_engine *engine, size_t leaf)
{
	if (engine->pause)
		engine->pause(engine->pause_arg);
	if (keeps_routes(engine)) {
		reroute_locally(engine, leaf);
		return;
	}
	measure_distances(engine, engine->graph->leaves[leaf], engine->distance, engine->queue);
	choose_next_hops(engine, engine->distance, engine->next);
}

/* ---- walking ------------------------------------------------------------- */

static void send_to(struct lint_engine *engine, const struct lint_port *port)
{
	const struct lint_switch *peer = &engine->graph->switches[port->peer];
	lint_add(engine->came + peer->first_word, port->peer_port);
	if (engine->queued[port->peer])
		return;
	engine->queued[port->peer] = true;
	const size_t end = engine->first_waiting + engine->n_waiting++;
	engine->waiting[end % engine->graph->n_switches] = port->peer;
}

/* What came in by @in goes out by every next hop but the way back. What turns up again, and is
 * tagged, waits for a buffer of another priority, which waits for none of this one. */
static void walk_port(struct lint_engine *engine, uint32_t at, size_t in, uint64_t *leaves)
{
	const struct lint_switch *s = &engine->graph->switches[at];
	uint64_t *depends = engine->depends[at] + in * s->words;
	const uint64_t *next = engine->next + s->first_word, *below = engine->below + s->first_word;
	const bool retagged = engine->reroute == LINT_TAGGED && !lint_has(below, in);
	for (size_t w = 0; w < s->words; w++) {
		uint64_t out = next[w];
		if (in / 64 == w && engine->reroute != LINT_BACK)
			out &= ~((uint64_t)1 << (in % 64));
		depends[w] |= retagged ? out & below[w] : out;
		leaves[w] |= out;
	}
}

static void walk_switch(struct lint_engine *engine, uint32_t at)
{
	const struct lint_switch *s = &engine->graph->switches[at];
	uint64_t *came = engine->came + s->first_word, *done = engine->done + s->first_word;
	uint64_t *out = engine->out;
	memset(out, 0, s->words * sizeof(*out));
	for (size_t w = 0; w < s->words; w++) {
		uint64_t fresh = came[w] & ~done[w];
		done[w] |= fresh;
		for (; fresh; fresh &= fresh - 1)
			walk_port(engine, at, w * 64 + (size_t)__builtin_ctzll(fresh), out);
	}
	LINT_EACH(p, out, s->n_ports)
	send_to(engine, &s->ports[p]);
}

/* All packets to leaf number @leaf, from all others. */
static void walk_leaf(struct lint_engine *engine, size_t leaf)
{
	const struct lint_graph *graph = engine->graph;
	const uint32_t target = graph->leaves[leaf];
	memset(engine->came, 0, graph->words * sizeof(*engine->came));
	memset(engine->done, 0, graph->words * sizeof(*engine->done));
	for (size_t i = 0; i < graph->n_leaves; i++) {
		const struct lint_switch *s = &graph->switches[graph->leaves[i]];
		if (graph->leaves[i] == target || engine->dead_switch[graph->leaves[i]])
			continue;
		LINT_EACH(p, engine->next + s->first_word, s->n_ports)
		send_to(engine, &s->ports[p]);
	}
	while (engine->n_waiting > 0) {
		const uint32_t at = engine->waiting[engine->first_waiting];
		engine->first_waiting = (engine->first_waiting + 1) % graph->n_switches;
		engine->n_waiting--;
		engine->queued[at] = false;
		if (at != target)
			walk_switch(engine, at);
	}
}

/* ---- rings --------------------------------------------------------------- */

static size_t node_of(const struct lint_graph *graph, uint32_t at, size_t in)
{
	return graph->switches[at].first_port + in;
}

/* Who drops what finds no room makes nobody wait. */
static void forget_lossy(struct lint_engine *engine)
{
	const struct lint_graph *graph = engine->graph;
	for (size_t i = 0; i < graph->n_switches; i++) {
		const struct lint_switch *s = &graph->switches[i];
		for (size_t in = 0; in < s->n_ports; in++) {
			uint64_t *depends = engine->depends[i] + in * s->words;
			if (!engine->lossless[s->first_port + in])
				memset(depends, 0, s->words * sizeof(*depends));
			for (size_t p = 0; p < s->n_ports; p++)
				if (!engine->lossless[node_of(
					    graph, s->ports[p].peer, s->ports[p].peer_port)])
					lint_remove(depends, p);
		}
	}
}

/* Takes away, again and again, what nobody waits for. True when something is left: a ring. */
static bool trim(struct lint_engine *engine)
{
	const struct lint_graph *graph = engine->graph;
	size_t n = 0, left = graph->ports;
	memset(engine->waits, 0, graph->ports * sizeof(*engine->waits));
	for (size_t i = 0; i < graph->n_switches; i++) {
		const struct lint_switch *s = &graph->switches[i];
		for (size_t in = 0; in < s->n_ports; in++)
			LINT_EACH(p, engine->depends[i] + in * s->words, s->n_ports)
		engine->waits[node_of(graph, s->ports[p].peer, s->ports[p].peer_port)]++;
	}
	for (size_t i = 0; i < graph->ports; i++)
		if (engine->waits[i] == 0)
			engine->stack[n++] = (uint32_t)i;
	while (n > 0) {
		const uint32_t node = engine->stack[--n];
		const uint32_t at = engine->node_switch[node];
		const struct lint_switch *s = &graph->switches[at];
		const size_t in = node - s->first_port;
		left--;
		LINT_EACH(p, engine->depends[at] + in * s->words, s->n_ports)
		{
			const size_t to = node_of(graph, s->ports[p].peer, s->ports[p].peer_port);
			if (--engine->waits[to] == 0)
				engine->stack[n++] = (uint32_t)to;
		}
	}
	return left > 0;
}

/* Some buffer that waits for @node, and is left. */
static uint32_t waiting_for(const struct lint_engine *engine, uint32_t node)
{
	const struct lint_graph *graph = engine->graph;
	const struct lint_switch *s = &graph->switches[engine->node_switch[node]];
	const struct lint_port *port = &s->ports[node - s->first_port];
	const struct lint_switch *from = &graph->switches[port->peer];
	for (size_t in = 0; in < from->n_ports; in++)
		if (lint_has(engine->depends[port->peer] + in * from->words, port->peer_port) &&
			engine->waits[from->first_port + in] > 0)
			return (uint32_t)(from->first_port + in);
	return FAR;
}

/* A node of a ring: backwards from any that is left, until one comes again. */
static uint32_t ring_node(struct lint_engine *engine)
{
	const struct lint_graph *graph = engine->graph;
	bool *seen = engine->seen;
	uint32_t node = 0;
	memset(seen, 0, graph->ports * sizeof(*seen));
	while (engine->waits[node] == 0)
		node++;
	while (!seen[node]) {
		seen[node] = true;
		node = waiting_for(engine, node);
	}
	return node;
}

/* The shortest way from @node back to itself; ret[0] is @node. Returns how many nodes. */
static size_t ring_shortest(struct lint_engine *engine, uint32_t node, uint32_t *ret)
{
	const struct lint_graph *graph = engine->graph;
	uint32_t *from = engine->from, *queue = engine->tried;
	size_t n = 0, done = 0, length = 0;
	for (size_t i = 0; i < graph->ports; i++)
		from[i] = FAR;
	queue[n++] = node;
	while (done < n && from[node] == FAR) {
		const uint32_t at = queue[done++], number = engine->node_switch[at];
		const struct lint_switch *s = &graph->switches[number];
		const size_t in = at - s->first_port;
		LINT_EACH(p, engine->depends[number] + in * s->words, s->n_ports)
		{
			const size_t to = node_of(graph, s->ports[p].peer, s->ports[p].peer_port);
			if (from[to] != FAR)
				continue;
			from[to] = at;
			if (to != node)
				queue[n++] = (uint32_t)to;
		}
	}
	for (uint32_t at = from[node]; at != node; at = from[at])
		ret[++length] = at;
	ret[0] = node;
	/* they were found backwards */
	for (size_t i = 1, k = length; i < k; i++, k--) {
		const uint32_t keep = ret[i];
		ret[i] = ret[k];
		ret[k] = keep;
	}
	return length + 1;
}

/* Whose packets make each step of the ring. Best are those that go on from the next buffer: what
 * ends there makes room by itself. */
static void name_leaves(struct lint_engine *engine, struct lint_ring *ring)
{
	const struct lint_graph *graph = engine->graph;
	size_t missing = ring->n;
	for (size_t leaf = 0; leaf < graph->n_leaves && missing > 0; leaf++) {
		if (engine->dead_switch[graph->leaves[leaf]])
			continue;
		find_next_hops(engine, leaf);
		walk_leaf(engine, leaf);
		for (size_t i = 0; i < ring->n; i++) {
			struct lint_hop *hop = &ring->hops[i];
			const struct lint_switch *s = &graph->switches[hop->at];
			const uint32_t next = s->ports[hop->out].peer;
			const bool named = hop->leaf != FAR && hop->leaf != next;
			if (named || hop->at == graph->leaves[leaf] ||
				!lint_has(engine->came + s->first_word, hop->in) ||
				!lint_has(engine->next + s->first_word, hop->out))
				continue;
			hop->leaf = graph->leaves[leaf];
			missing -= hop->leaf != next;
		}
	}
}

static void make_ring(struct lint_engine *engine, struct lint_ring *ret, struct arena *a)
{
	const struct lint_graph *graph = engine->graph;
	uint32_t *nodes = engine->stack;
	ret->n = ring_shortest(engine, ring_node(engine), nodes);
	ret->hops = arena_array(a, struct lint_hop, ret->n);
	for (size_t i = 0; i < ret->n; i++) {
		const uint32_t to = nodes[(i + 1) % ret->n];
		const uint32_t at = engine->node_switch[nodes[i]];
		const struct lint_switch *s = &graph->switches[at];
		const struct lint_switch *peer = &graph->switches[engine->node_switch[to]];
		const struct lint_port *in_of_next = &peer->ports[to - peer->first_port];
		ret->hops[i] = (struct lint_hop){.at = at,
			.in = (uint32_t)(nodes[i] - s->first_port),
			.out = in_of_next->peer_port,
			.leaf = FAR};
	}
	name_leaves(engine, ret);
}

bool lint_cyclic(struct lint_engine *engine, enum lint_reroute reroute,
	const struct lint_failures *failures, struct lint_ring *ret, struct arena *a)
{
	const struct lint_graph *graph = engine->graph;
	engine->reroute = reroute;
	engine->failed = failures->n > 0;
	if (keeps_routes(engine))
		measure_whole(engine);
	set_failures(engine, failures);
	memset(engine->depend_words, 0, engine->n_depend_words * sizeof(*engine->depend_words));
	for (size_t leaf = 0; leaf < graph->n_leaves; leaf++) {
		if (engine->dead_switch[graph->leaves[leaf]])
			continue;
		find_next_hops(engine, leaf);
		walk_leaf(engine, leaf);
	}
	if (engine->lossless)
		forget_lossy(engine);
	if (!trim(engine))
		return false;
	if (ret)
		make_ring(engine, ret, a);
	return true;
}

/* ---- life ---------------------------------------------------------------- */

const uint64_t *lint_routes(struct lint_engine *engine, size_t leaf)
{
	measure_whole(engine);
	return engine->routes + leaf * engine->graph->words;
}

uint32_t lint_distance(struct lint_engine *engine, size_t leaf, uint32_t at)
{
	measure_whole(engine);
	return engine->distances[leaf * engine->graph->n_switches + at];
}

struct lint_engine *lint_engine_new(const struct lint_graph *graph)
{
	struct arena *a = arena_new();
	struct lint_engine *engine = arena_new_of(a, struct lint_engine);
	engine->arena = a;
	const size_t switches = graph->n_switches + 1, words = graph->words + 1;
	engine->graph = graph;
	engine->dead_link = arena_array(a, bool, graph->n_links + 1);
	engine->dead_switch = arena_array(a, bool, switches);
	engine->live = arena_array(a, uint64_t, words);
	engine->below = arena_array(a, uint64_t, words);
	engine->next = arena_array(a, uint64_t, words);
	engine->came = arena_array(a, uint64_t, words);
	engine->done = arena_array(a, uint64_t, words);
	engine->distance = arena_array(a, uint32_t, switches);
	engine->queue = arena_array(a, uint32_t, switches);
	engine->waiting = arena_array(a, uint32_t, switches);
	engine->queued = arena_array(a, bool, switches);
	engine->depends = arena_array(a, uint64_t *, switches);
	engine->node_switch = arena_array(a, uint32_t, graph->ports + 1);
	engine->waits = arena_array(a, uint32_t, graph->ports + 1);
	engine->stack = arena_array(a, uint32_t, graph->ports + switches);
	engine->out = arena_array(a, uint64_t, words);
	engine->seen = arena_array(a, bool, graph->ports + 1);
	engine->from = arena_array(a, uint32_t, graph->ports + 1);
	engine->tried = arena_array(a, uint32_t, graph->ports + 1);
	for (size_t i = 0; i < graph->n_switches; i++)
		engine->n_depend_words += graph->switches[i].n_ports * graph->switches[i].words;
	engine->depend_words = arena_array(a, uint64_t, engine->n_depend_words + 1);
	size_t at = 0;
	for (size_t i = 0; i < graph->n_switches; i++) {
		const struct lint_switch *s = &graph->switches[i];
		engine->depends[i] = engine->depend_words + at;
		at += s->n_ports * s->words;
		for (size_t p = 0; p < s->n_ports; p++)
			engine->node_switch[s->first_port + p] = (uint32_t)i;
	}
	return engine;
}

void lint_engine_routes(struct lint_engine *engine, const uint64_t *routes)
{
	engine->routes = routes;
	engine->routes_given = true;
}

bool lint_engine_routed(const struct lint_engine *engine)
{
	return engine->routes_given;
}

void lint_engine_lossless(struct lint_engine *engine, const bool *lossless)
{
	engine->lossless = lossless;
}

void lint_engine_pause(struct lint_engine *engine, void (*pause)(void *arg), void *arg)
{
	engine->pause = pause;
	engine->pause_arg = arg;
}

void lint_engine_free(struct lint_engine *engine)
{
	if (engine)
		arena_free(engine->arena);
}
