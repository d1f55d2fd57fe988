/* lint_pairs - every failure and every two, without walking each. */
#include "analyzers/lint/lint_pairs.h"

#define WALK_WORK_MOST 400000000.0 /* of all sets: some seconds */
enum { TRIES_MOST = 20 };
#define WALKS_MOST 2000 /* of single sets, in a large fabric */

struct judge {
	struct lint_engine *engine;
	const struct lint_graph *graph;
	struct arena *arena;
	struct lint_verdict verdict;
	bool *cyclic; /* elements that do it alone */
	size_t walks, tries; /* left: of sets to be judged, of examples to be shown */
};

/* ---- walking ------------------------------------------------------------- */

static bool judge_walk(
	struct judge *judge, const struct lint_failures *failures, struct lint_ring *ret)
{
	return lint_cyclic(judge->engine, judge->verdict.reroute, failures, ret, judge->arena);
}

static void judge_keep_single(struct judge *judge, uint32_t element)
{
	struct lint_verdict *v = &judge->verdict;
	judge->cyclic[element] = true;
	v->cyclic_singles++;
	if (v->n_single == LINT_EXAMPLES_MAX)
		return;
	struct lint_example *example = &v->single[v->n_single];
	example->failures = (struct lint_failures){{element}, 1};
	v->n_single += judge_walk(judge, &example->failures, &example->ring);
}

static void judge_show_pair(struct judge *judge, uint32_t one, uint32_t two)
{
	struct lint_verdict *v = &judge->verdict;
	if (v->n_pair == LINT_EXAMPLES_MAX || judge->tries == 0)
		return;
	judge->tries--;
	struct lint_example *example = &v->pair[v->n_pair];
	example->failures = (struct lint_failures){{one, two}, 2};
	v->n_pair += judge_walk(judge, &example->failures, &example->ring);
}

static void walk_singles(struct judge *judge)
{
	for (uint32_t e = 0; e < lint_elements(judge->graph); e++)
		if (judge_walk(judge, &(struct lint_failures){{e}, 1}, NULL))
			judge_keep_single(judge, e);
}

static void walk_pairs(struct judge *judge)
{
	const uint32_t n = (uint32_t)lint_elements(judge->graph);
	for (uint32_t one = 0; one < n; one++)
		for (uint32_t two = one + 1; two < n; two++) {
			if (judge->cyclic[one] || judge->cyclic[two] ||
				!judge_walk(judge, &(struct lint_failures){{one, two}, 2}, NULL))
				continue;
			judge->verdict.cyclic_pairs++;
			judge_show_pair(judge, one, two);
		}
}

static double work_of(const struct lint_graph *graph, unsigned failures)
{
	const double n = (double)lint_elements(graph);
	double sets = 1;
	if (failures > 0)
		sets += n;
	if (failures > 1)
		sets += n * (n - 1) / 2;
	return sets * (double)graph->n_leaves * (double)(graph->ports + graph->words);
}

static void judge_all_walked(struct judge *judge, unsigned failures)
{
	if (failures > 0)
		walk_singles(judge);
	if (failures > 1)
		walk_pairs(judge);
}

/* Two that are walked because no shortcut speaks of them; each once. */
static void judge_suspect(struct judge *judge, struct map *seen, uint32_t one, uint32_t two)
{
	uint64_t known;
	if (one > two) {
		const uint32_t keep = one;
		one = two;
		two = keep;
	}
	const uint64_t key = (uint64_t)one << 32 | two;
	if (one == two || judge->cyclic[one] || judge->cyclic[two] || map_get(seen, key, &known))
		return;
	map_put(seen, key, 1);
	if (judge->walks == 0) {
		judge->verdict.unjudged_pairs++;
		return;
	}
	judge->walks--;
	if (!judge_walk(judge, &(struct lint_failures){{one, two}, 2}, NULL))
		return;
	judge->verdict.cyclic_pairs++;
	judge_show_pair(judge, one, two);
}

/* ---- local reroute ------------------------------------------------------- */

/* Elements that bounce at the same switches and reach the same ones. */
struct bounce_class {
	uint64_t *bounces, *reaches; /* sets of switches */
	uint32_t *elements;
	size_t n, cap;
};
struct bounces {
	struct judge *judge;
	size_t words; /* of a set of switches */
	uint64_t *bounces, *reaches; /* by element */
	bool *touched;
	uint64_t *next, *reach; /* of the leaf at hand, by switch: next hops, and all behind them */
	uint32_t *order; /* switches, each behind all that it sends to */
	size_t placed; /* in the order */
	uint8_t *state; /* of the search for it */
	/* of a given table: as .bounces and .reaches, with nothing failed */
	uint64_t *detours, *detoured;
	struct bounce_class *classes;
	size_t n_classes, cap_classes;
	struct map *together; /* pairs that only together empty a next hop */
};

static uint64_t *set_of(const struct bounces *b, uint64_t *sets, size_t i)
{
	return sets + i * b->words;
}

static bool sets_meet(const uint64_t *left, const uint64_t *right, size_t words)
{
	for (size_t w = 0; w < words; w++)
		if (left[w] & right[w])
			return true;
	return false;
}

static void set_join(uint64_t *to, const uint64_t *from, size_t words)
{
	for (size_t w = 0; w < words; w++)
		to[w] |= from[w];
}

/* Puts @at into the order behind all that it sends to; false: packets can come back to it. */
static bool bounces_order(struct bounces *b, const uint64_t *routes, uint32_t at)
{
	enum { NEW, OPEN, DONE };
	const struct lint_switch *s = &b->judge->graph->switches[at];
	if (b->state[at] != NEW)
		return b->state[at] == DONE;
	b->state[at] = OPEN;
	LINT_EACH(p, routes + s->first_word, s->n_ports)
	{
		if (!bounces_order(b, routes, s->ports[p].peer))
			return false;
	}
	b->state[at] = DONE;
	b->order[b->placed++] = at;
	return true;
}

/* Adds what @at sends to in its own direction, for any leaf: upwards or downwards. */
static void bounces_onward(
	struct bounces *b, uint64_t *closure, const uint64_t *used, uint32_t at, bool up)
{
	const struct lint_graph *graph = b->judge->graph;
	const unsigned tier = graph->switches[at].tier;
	lint_add(set_of(b, closure, at), at);
	LINT_EACH(peer, used + at * b->words, graph->n_switches)
	{
		if (up ? graph->switches[peer].tier > tier : graph->switches[peer].tier < tier)
			set_join(set_of(b, closure, at), set_of(b, closure, peer), b->words);
	}
}

/*
 * Of a given table: what lies behind each switch over the next hops to any leaf, first up and then
 * down. A buffer that turned packets fill holds those of other leaves as well, and these may go
 * where the turned ones do not: shortest paths to all leaves share theirs.
 */
static void bounces_reach_any(struct bounces *b)
{
	const struct lint_graph *graph = b->judge->graph;
	const size_t n = graph->n_switches, size = n * b->words + 1;
	rw_cleanup(freep) uint64_t *used = rw_calloc(size, sizeof(*used));
	rw_cleanup(freep) uint64_t *up = rw_calloc(size, sizeof(*up));
	rw_cleanup(freep) uint64_t *down = rw_calloc(size, sizeof(*down));
	for (size_t leaf = 0; leaf < graph->n_leaves; leaf++)
		for (uint32_t at = 0; at < n; at++) {
			const struct lint_switch *s = &graph->switches[at];
			const uint64_t *routes = lint_routes(b->judge->engine, leaf);
			LINT_EACH(p, routes + s->first_word, s->n_ports)
			lint_add(set_of(b, used, at), s->ports[p].peer);
		}
	for (unsigned tier = 0; tier < ROLE_OTHER; tier++)
		for (uint32_t at = 0; at < n; at++) {
			if (graph->switches[at].tier == tier)
				bounces_onward(b, down, used, at, false);
			if (graph->switches[at].tier == ROLE_OTHER - 1 - tier)
				bounces_onward(b, up, used, at, true);
		}
	for (uint32_t at = 0; at < n; at++)
		LINT_EACH(above, set_of(b, up, at), n)
	set_join(set_of(b, b->reach, at), set_of(b, down, above), b->words);
}

/* Where a given table itself turns packets that came down, with nothing failed. */
static void bounces_detours(struct bounces *b)
{
	const struct lint_graph *graph = b->judge->graph;
	for (uint32_t at = 0; at < graph->n_switches; at++)
		LINT_EACH(below, set_of(b, b->next, at), graph->n_switches)
		{
			if (graph->switches[below].tier >= graph->switches[at].tier)
				continue;
			LINT_EACH(next, set_of(b, b->next, below), graph->n_switches)
			{
				if (graph->switches[next].tier <= graph->switches[below].tier)
					continue;
				lint_add(b->detours, at);
				lint_add(b->detoured, below);
				set_join(b->detoured, set_of(b, b->reach, next), b->words);
			}
		}
}

/* Next hops as switches, and what lies behind them, for leaf number @leaf. False: a given table
 * sends packets in a circle. */
static bool bounces_prepare(struct bounces *b, size_t leaf)
{
	const struct lint_graph *graph = b->judge->graph;
	const uint64_t *routes = lint_routes(b->judge->engine, leaf);
	const size_t n = graph->n_switches;
	const bool routed = lint_engine_routed(b->judge->engine);
	memset(b->next, 0, n * b->words * sizeof(*b->next));
	memset(b->state, 0, n * sizeof(*b->state));
	if (!routed)
		memset(b->reach, 0, n * b->words * sizeof(*b->reach));
	b->placed = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!bounces_order(b, routes, i))
			return false;
	for (size_t k = 0; k < b->placed; k++) {
		const uint32_t at = b->order[k];
		const struct lint_switch *s = &graph->switches[at];
		if (!routed)
			lint_add(set_of(b, b->reach, at), at);
		LINT_EACH(p, routes + s->first_word, s->n_ports)
		{
			const uint32_t peer = s->ports[p].peer;
			lint_add(set_of(b, b->next, at), peer);
			if (!routed)
				set_join(set_of(b, b->reach, at), set_of(b, b->reach, peer),
					b->words);
		}
	}
	if (routed)
		bounces_detours(b);
	return true;
}

/* @at has lost its way to the leaf when @element fails: where its packets turn, and what they
 * reach. */
static void bounces_turn(struct bounces *b, uint32_t element, uint32_t at, uint32_t leaf)
{
	const struct lint_graph *graph = b->judge->graph;
	const struct lint_switch *s = &graph->switches[at];
	uint64_t *reaches = set_of(b, b->reaches, element);
	rw_cleanup(freep) uint64_t *behind = rw_calloc(b->words + 1, sizeof(*behind));
	rw_cleanup(freep) uint64_t *seen = rw_calloc(b->words + 1, sizeof(*seen));
	bool turns = false, back = b->judge->verdict.reroute == LINT_BACK;
	for (size_t p = 0; p < s->n_ports; p++) {
		const uint32_t peer = s->ports[p].peer;
		const bool dead = element == s->ports[p].link || element == graph->n_links + peer;
		if (dead || peer == leaf || graph->switches[peer].tier >= s->tier)
			continue;
		/* over a second link the packet may come back */
		back |= lint_has(seen, peer) && lint_has(set_of(b, b->next, peer), at);
		turns = true;
		if (lint_has(seen, peer))
			continue;
		lint_add(seen, peer);
		set_join(behind, set_of(b, b->next, peer), b->words);
	}
	if (!turns)
		return;
	if (!back)
		lint_remove(behind, at);
	set_join(reaches, seen, b->words);
	lint_add(set_of(b, b->bounces, element), at);
	b->touched[element] = true;
	LINT_EACH(next, behind, graph->n_switches)
	set_join(reaches, set_of(b, b->reach, next), b->words);
}

static bool has_switch_below(const struct lint_graph *graph, const struct lint_switch *s)
{
	for (size_t p = 0; p < s->n_ports; p++)
		if (graph->switches[s->ports[p].peer].tier < s->tier)
			return true;
	return false;
}

/* @at has two next hops, or two elements before all of them: only both together empty it. */
static void bounces_together(struct bounces *b, uint32_t at, const uint64_t *routes, size_t leaf)
{
	const struct lint_graph *graph = b->judge->graph;
	const struct lint_switch *s = &graph->switches[at];
	uint32_t links[2], peers[2];
	size_t n = 0;
	LINT_EACH(p, routes, s->n_ports)
	{
		if (n == 2)
			return;
		links[n] = s->ports[p].link;
		peers[n++] = (uint32_t)graph->n_links + s->ports[p].peer;
	}
	if (n != 2 || !has_switch_below(graph, s))
		return;
	const uint32_t target = (uint32_t)graph->n_links + graph->leaves[leaf];
	judge_suspect(b->judge, b->together, links[0], links[1]);
	if (peers[0] == target || peers[1] == target || peers[0] == peers[1])
		return;
	judge_suspect(b->judge, b->together, peers[0], peers[1]);
	judge_suspect(b->judge, b->together, peers[0], links[1]);
	judge_suspect(b->judge, b->together, peers[1], links[0]);
}

enum bounce_pass { PASS_ALONE, PASS_TOGETHER };

static void bounces_switch(struct bounces *b, size_t leaf, uint32_t at, enum bounce_pass pass)
{
	const struct lint_graph *graph = b->judge->graph;
	const struct lint_switch *s = &graph->switches[at];
	const uint64_t *routes = lint_routes(b->judge->engine, leaf) + s->first_word;
	const size_t first = lint_next(routes, s->n_ports, 0);
	if (first == s->n_ports)
		return;
	if (pass == PASS_TOGETHER) {
		bounces_together(b, at, routes, leaf);
		return;
	}
	const uint32_t peer = s->ports[first].peer, target = graph->leaves[leaf];
	bool one_peer = true, one_port = true;
	for (size_t p = lint_next(routes, s->n_ports, first + 1); p < s->n_ports && one_peer;
		p = lint_next(routes, s->n_ports, p + 1)) {
		one_port = false;
		one_peer = s->ports[p].peer == peer;
	}
	if (one_port)
		bounces_turn(b, s->ports[first].link, at, target);
	if (one_peer && peer != target)
		bounces_turn(b, (uint32_t)graph->n_links + peer, at, target);
}

static struct bounce_class *bounces_class(struct bounces *b, uint32_t element)
{
	const size_t size = b->words * sizeof(uint64_t);
	uint64_t *bounces = set_of(b, b->bounces, element);
	uint64_t *reaches = set_of(b, b->reaches, element);
	for (size_t i = b->n_classes; i-- > 0;)
		if (memcmp(b->classes[i].bounces, bounces, size) == 0 &&
			memcmp(b->classes[i].reaches, reaches, size) == 0)
			return &b->classes[i];
	arena_grow(b->judge->arena, b->classes, b->n_classes, b->cap_classes);
	b->classes[b->n_classes] = (struct bounce_class){.bounces = bounces, .reaches = reaches};
	return &b->classes[b->n_classes++];
}

static void bounces_classify(struct bounces *b)
{
	for (uint32_t e = 0; e < lint_elements(b->judge->graph); e++) {
		if (!b->touched[e] || b->judge->cyclic[e])
			continue;
		struct bounce_class *class = bounces_class(b, e);
		arena_grow(b->judge->arena, class->elements, class->n, class->cap);
		class->elements[class->n++] = e;
	}
}

static bool classes_meet(
	const struct bounces *b, const struct bounce_class *one, const struct bounce_class *two)
{
	return sets_meet(one->reaches, two->bounces, b->words) &&
		sets_meet(two->reaches, one->bounces, b->words);
}

static void bounces_count(struct bounces *b)
{
	struct lint_verdict *v = &b->judge->verdict;
	for (size_t i = 0; i < b->n_classes; i++) {
		const struct bounce_class *one = &b->classes[i];
		if (one->n > 1 && classes_meet(b, one, one)) {
			v->cyclic_pairs += (uint64_t)one->n * (one->n - 1) / 2;
			judge_show_pair(b->judge, one->elements[0], one->elements[1]);
		}
		for (size_t k = i + 1; k < b->n_classes; k++) {
			const struct bounce_class *two = &b->classes[k];
			if (!classes_meet(b, one, two))
				continue;
			v->cyclic_pairs += (uint64_t)one->n * two->n;
			judge_show_pair(b->judge, one->elements[0], two->elements[0]);
		}
	}
}

/* False: no set speaks of a table that sends packets in a circle. */
static bool bounces_pass(struct bounces *b, enum bounce_pass pass)
{
	const struct lint_graph *graph = b->judge->graph;
	for (size_t leaf = 0; leaf < graph->n_leaves; leaf++) {
		if (pass == PASS_ALONE && !bounces_prepare(b, leaf))
			return false;
		for (uint32_t i = 0; i < graph->n_switches; i++)
			bounces_switch(b, leaf, i, pass);
	}
	return true;
}

static void judge_local(struct judge *judge, unsigned failures)
{
	const struct lint_graph *graph = judge->graph;
	const size_t elements = lint_elements(graph), words = (graph->n_switches + 63) / 64;
	struct bounces b = {.judge = judge, .words = words};
	b.bounces = arena_array(judge->arena, uint64_t, elements * words + 1);
	b.reaches = arena_array(judge->arena, uint64_t, elements * words + 1);
	b.touched = arena_array(judge->arena, bool, elements + 1);
	b.next = arena_array(judge->arena, uint64_t, graph->n_switches * words + 1);
	b.reach = arena_array(judge->arena, uint64_t, graph->n_switches * words + 1);
	b.order = arena_array(judge->arena, uint32_t, graph->n_switches + 1);
	b.state = arena_array(judge->arena, uint8_t, graph->n_switches + 1);
	b.detours = arena_array(judge->arena, uint64_t, words + 1);
	b.detoured = arena_array(judge->arena, uint64_t, words + 1);
	if (lint_engine_routed(judge->engine))
		bounces_reach_any(&b);
	if (!bounces_pass(&b, PASS_ALONE)) {
		judge->verdict.singles = judge->verdict.pairs = 0;
		judge->verdict.unjudged = failures > 0;
		return;
	}
	for (uint32_t e = 0; e < elements; e++) {
		uint64_t *reaches = set_of(&b, b.reaches, e);
		bool cyclic = false;
		if (b.touched[e] && sets_meet(reaches, b.detours, words)) {
			/* packets that nobody sent that way before may close a ring there */
			cyclic = sets_meet(b.detoured, b.detours, words);
			set_join(reaches, b.detoured, words);
		}
		if (b.touched[e] && (cyclic || sets_meet(set_of(&b, b.bounces, e), reaches, words)))
			judge_keep_single(judge, e);
	}
	if (failures < 2)
		return;
	/* who sends back may turn packets at a switch that is in no set: those are walked, or not
	 * judged */
	if (judge->verdict.reroute == LINT_BACK) {
		judge->verdict.unjudged_pairs = judge->verdict.pairs;
		return;
	}
	bounces_classify(&b);
	bounces_count(&b);
	b.together = map_new();
	bounces_pass(&b, PASS_TOGETHER);
	map_free(b.together);
}

/* ---- converged routing --------------------------------------------------- */

enum { PATHS_ENOUGH = 3 };

/* Disjoint paths up and down between two leaves, at least: each by another switch above each leaf,
 * and another one above those. Stops at PATHS_ENOUGH. */
static size_t disjoint_paths(
	const struct lint_graph *graph, uint32_t left, uint32_t right, uint64_t *used, size_t words)
{
	const struct lint_switch *l = &graph->switches[left], *r = &graph->switches[right];
	size_t n = 0;
	memset(used, 0, words * sizeof(*used));
	for (size_t p = 0; p < l->n_ports && n < PATHS_ENOUGH; p++) {
		const uint32_t up = l->ports[p].peer;
		bool straight = false;
		for (size_t q = 0; q < r->n_ports && !straight; q++)
			straight = r->ports[q].peer == up;
		if (!straight || lint_has(used, up))
			continue;
		lint_add(used, up);
		n++;
	}
	for (size_t p = 0; p < l->n_ports && n < PATHS_ENOUGH; p++) {
		const struct lint_switch *up = &graph->switches[l->ports[p].peer];
		if (lint_has(used, l->ports[p].peer))
			continue;
		bool found = false;
		for (size_t c = 0; c < up->n_ports && !found; c++) {
			const uint32_t top = up->ports[c].peer;
			if (graph->switches[top].tier <= up->tier || lint_has(used, top))
				continue;
			for (size_t q = 0; q < r->n_ports && !found; q++) {
				const uint32_t down = r->ports[q].peer;
				const struct lint_switch *d = &graph->switches[down];
				for (size_t k = 0; k < d->n_ports && !found; k++)
					found = d->ports[k].peer == top && !lint_has(used, down);
				if (found)
					lint_add(used, down);
			}
			if (found)
				lint_add(used, top);
		}
		if (found)
			lint_add(used, l->ports[p].peer);
		n += found;
	}
	return n;
}

/* Adds links and switches of the shortest paths from @left to leaf number @leaf. */
static void add_path_elements(struct judge *judge, uint32_t left, size_t leaf, uint64_t *ret)
{
	const struct lint_graph *graph = judge->graph;
	const uint64_t *routes = lint_routes(judge->engine, leaf);
	rw_cleanup(freep) uint32_t *queue = rw_calloc(graph->n_switches + 1, sizeof(*queue));
	rw_cleanup(freep) bool *seen = rw_calloc(graph->n_switches + 1, sizeof(*seen));
	size_t n = 0, done = 0;
	queue[n++] = left;
	while (done < n) {
		const struct lint_switch *s = &graph->switches[queue[done++]];
		LINT_EACH(p, routes + s->first_word, s->n_ports)
		{
			const uint32_t peer = s->ports[p].peer;
			lint_add(ret, s->ports[p].link);
			if (seen[peer] || peer == graph->leaves[leaf])
				continue;
			seen[peer] = true;
			lint_add(ret, graph->n_links + peer);
			queue[n++] = peer;
		}
	}
}

/* Two leaves with few paths: every one and two of the elements of these paths are walked. */
static void walk_between(
	struct judge *judge, uint32_t left, size_t leaf, unsigned failures, struct map *seen)
{
	const size_t n = lint_elements(judge->graph);
	rw_cleanup(freep) uint64_t *set = rw_calloc(n / 64 + 1, sizeof(*set));
	uint64_t known;
	add_path_elements(judge, left, leaf, set);
	LINT_EACH(e, set, n)
	{
		const uint64_t alone = (uint64_t)e << 32 | UINT32_MAX;
		if (map_get(seen, alone, &known) || judge->walks == 0)
			continue;
		map_put(seen, alone, 1);
		judge->walks--;
		if (judge_walk(judge, &(struct lint_failures){{(uint32_t)e}, 1}, NULL))
			judge_keep_single(judge, (uint32_t)e);
	}
	if (failures < 2)
		return;
	LINT_EACH(one, set, n)
	for (size_t two = lint_next(set, n, one + 1); two < n; two = lint_next(set, n, two + 1))
		judge_suspect(judge, seen, (uint32_t)one, (uint32_t)two);
}

static void judge_converged(struct judge *judge, unsigned failures)
{
	const struct lint_graph *graph = judge->graph;
	const size_t words = (graph->n_switches + 63) / 64;
	rw_cleanup(freep) uint64_t *used = rw_calloc(words + 1, sizeof(*used));
	struct map *seen = map_new();
	for (size_t leaf = 0; leaf < graph->n_leaves; leaf++)
		for (size_t k = 0; k < leaf; k++) {
			const uint32_t left = graph->leaves[k], right = graph->leaves[leaf];
			if (lint_distance(judge->engine, leaf, left) == UINT32_MAX ||
				disjoint_paths(graph, left, right, used, words) >= PATHS_ENOUGH)
				continue;
			walk_between(judge, left, leaf, failures, seen);
		}
	map_free(seen);
}

/* ---- both ---------------------------------------------------------------- */

static bool walks_all(const struct lint_graph *graph, unsigned failures, enum lint_way way)
{
	if (way == LINT_CHOOSE)
		return work_of(graph, failures) <= WALK_WORK_MOST;
	return way == LINT_WALK;
}

struct lint_verdict lint_judge(struct lint_engine *engine, const struct lint_graph *graph,
	enum lint_reroute reroute, unsigned failures, enum lint_way way, struct arena *a)
{
	const uint64_t n = lint_elements(graph);
	struct judge judge = {.engine = engine,
		.graph = graph,
		.arena = a,
		.verdict = {.reroute = reroute},
		.cyclic = arena_array(a, bool, n + 1),
		.walks = WALKS_MOST,
		.tries = TRIES_MOST};
	if (failures > 0)
		judge.verdict.singles = n;
	if (failures > 1)
		judge.verdict.pairs = n * (n - 1) / 2;
	judge.verdict.whole_cyclic = judge_walk(
		&judge, &(const struct lint_failures){.n = 0}, &judge.verdict.whole.ring);
	judge.verdict.walked = walks_all(graph, failures, way);
	if (judge.verdict.whole_cyclic)
		return judge.verdict;
	if (judge.verdict.walked)
		judge_all_walked(&judge, failures);
	else if (reroute == LINT_CONVERGED)
		judge_converged(&judge, failures);
	else if (reroute != LINT_TAGGED)
		judge_local(&judge, failures);
	return judge.verdict;
}
