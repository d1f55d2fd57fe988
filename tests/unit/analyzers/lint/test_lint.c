/*
 * Which failures let buffers wait in a ring, held against an oracle that shares no code with the
 * engine: it walks each packet by itself, and looks for a ring by depth first search.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyzers/lint/lint_pairs.h"
#include "analyzers/lint/lint_settings.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "tests/packetsim/net.h"

/* ---- drawn fabrics: two tiers, three tiers, parallel links and missing ones -- */

struct drawn {
	struct arena *arena;
	struct fabric *fabric;
	uint32_t seed;
};

static uint32_t draw(struct drawn *d, uint32_t below)
{
	d->seed = d->seed * 1664525 + 1013904223; /* Numerical Recipes, 2nd ed., section 7.1 */
	return (uint32_t)(((uint64_t)(d->seed >> 8) * below) >> 24);
}

static struct fabric_device *drawn_switch(
	struct drawn *d, enum device_role role, const char *kind, unsigned number)
{
	struct fabric *f = d->fabric;
	struct fabric_device *device = arena_new_of(d->arena, struct fabric_device);
	device->name = arena_printf(d->arena, "%s%u", kind, number);
	device->role = role;
	device->index = (uint32_t)f->n_devices;
	arena_grow_pow2(d->arena, f->devices, f->n_devices);
	f->devices[f->n_devices++] = device;
	return device;
}

static struct fabric_port *drawn_port(struct drawn *d, struct fabric_device *device)
{
	struct fabric_port *port = fabric_port_add(
		device, d->arena, arena_printf(d->arena, "Ethernet%zu", 4 * device->n_ports));
	port->speed_bps = 400000000000;
	return port;
}

static void drawn_link(struct drawn *d, struct fabric_device *lower, struct fabric_device *upper)
{
	struct fabric_port *one = drawn_port(d, lower), *two = drawn_port(d, upper);
	one->peer = two;
	two->peer = one;
}

static void drawn_host(struct drawn *d, struct fabric_device *leaf)
{
	drawn_port(d, leaf)->host = arena_printf(d->arena, "node-%s", leaf->name);
}

static struct drawn drawn_begin(uint32_t seed)
{
	struct drawn d = {.arena = arena_new(), .seed = seed};
	d.fabric = arena_new_of(d.arena, struct fabric);
	d.fabric->name = "drawn";
	return d;
}

/* Each leaf to each spine by @parallel links; of @missing of them one end is nowhere. */
static void drawn_two_tiers(
	struct drawn *d, unsigned leaves, unsigned spines, unsigned parallel, unsigned missing)
{
	struct fabric_device *up[128], *down[1024];
	const unsigned all = leaves * spines * parallel;
	for (unsigned i = 0; i < leaves; i++)
		down[i] = drawn_switch(d, ROLE_LEAF, "leaf", i);
	for (unsigned i = 0; i < spines; i++)
		up[i] = drawn_switch(d, ROLE_SPINE, "spine", i);
	unsigned gone[8];
	for (unsigned m = 0; m < missing; m++)
		gone[m] = draw(d, all);
	for (unsigned n = 0; n < all; n++) {
		bool is_gone = false;
		for (unsigned m = 0; m < missing; m++)
			is_gone |= gone[m] == n;
		if (!is_gone)
			drawn_link(d, down[n / parallel / spines], up[n / parallel % spines]);
	}
	for (unsigned i = 0; i < leaves; i++)
		drawn_host(d, down[i]);
}

/* Pods of leaves and spines; spine s of each pod to the cores of plane s. */
static void drawn_three_tiers(
	struct drawn *d, unsigned pods, unsigned leaves, unsigned spines, unsigned cores)
{
	struct fabric_device *up[64], *down[64], *core[256];
	for (unsigned i = 0; i < spines * cores; i++)
		core[i] = drawn_switch(d, ROLE_SUPERSPINE, "core", i);
	for (unsigned p = 0; p < pods; p++) {
		for (unsigned i = 0; i < leaves; i++)
			down[i] = drawn_switch(d, ROLE_LEAF, "leaf", p * leaves + i);
		for (unsigned i = 0; i < spines; i++)
			up[i] = drawn_switch(d, ROLE_SPINE, "spine", p * spines + i);
		for (unsigned i = 0; i < leaves; i++)
			for (unsigned k = 0; k < spines; k++)
				drawn_link(d, down[i], up[k]);
		for (unsigned k = 0; k < spines; k++)
			for (unsigned c = 0; c < cores; c++)
				drawn_link(d, up[k], core[k * cores + c]);
		for (unsigned i = 0; i < leaves; i++)
			drawn_host(d, down[i]);
	}
}

/* ---- the oracle ---------------------------------------------------------- */

enum { SETS_OF_TABLES = 120 };
enum { MOST_SWITCHES = 64, MOST_LINKS = 256, MOST_BUFFERS = 4 * MOST_LINKS, NOWHERE = 1000000 };

struct oracle {
	const struct fabric *fabric;
	int n, n_links;
	int end[MOST_LINKS][2]; /* devices, the lower one first */
	bool dead_link[MOST_LINKS], dead[MOST_SWITCHES];
	int whole[MOST_SWITCHES][MOST_SWITCHES]; /* hops, nothing failed: [to][from] */
	int now[MOST_SWITCHES][MOST_SWITCHES];
	enum lint_reroute reroute;
	bool failed;
	bool routed; /* by .table, [to][at][link], and not by all shortest paths */
	bool table[MOST_SWITCHES][MOST_SWITCHES][MOST_LINKS];
	bool lossy[2 * MOST_LINKS]; /* by buffer: 2 x link + the end it is at */
	/* buffers: for each of two priorities 2 for each link, by the end they are at */
	bool waits[MOST_BUFFERS][MOST_BUFFERS];
	bool walked[MOST_BUFFERS];
	int colour[MOST_BUFFERS];
};

static void oracle_links(struct oracle *o, const struct lint_graph *graph)
{
	o->n = (int)graph->n_switches;
	o->n_links = (int)graph->n_links;
	assert_true(o->n <= MOST_SWITCHES && o->n_links <= MOST_LINKS);
	for (int i = 0; i < o->n_links; i++) {
		o->end[i][0] = (int)graph->links[i].lower;
		o->end[i][1] = (int)graph->links[i].upper;
	}
}

static bool oracle_lives(const struct oracle *o, int link)
{
	return !o->dead_link[link] && !o->dead[o->end[link][0]] && !o->dead[o->end[link][1]];
}

static void oracle_hops(const struct oracle *o, bool all, int ret[MOST_SWITCHES][MOST_SWITCHES])
{
	for (int to = 0; to < o->n; to++) {
		for (int i = 0; i < o->n; i++)
			ret[to][i] = i == to ? 0 : NOWHERE;
		for (int round = 0; round < o->n; round++)
			for (int k = 0; k < o->n_links; k++) {
				const int a = o->end[k][0], b = o->end[k][1];
				if (!all && !oracle_lives(o, k))
					continue;
				if (ret[to][a] + 1 < ret[to][b])
					ret[to][b] = ret[to][a] + 1;
				if (ret[to][b] + 1 < ret[to][a])
					ret[to][a] = ret[to][b] + 1;
			}
	}
}

static int oracle_other(const struct oracle *o, int link, int at)
{
	return o->end[link][0] == at ? o->end[link][1] : o->end[link][0];
}

static bool oracle_wanted(const struct oracle *o, int at, int to, int link)
{
	if (o->routed)
		return o->table[to][at][link];
	return o->whole[to][at] < NOWHERE &&
		o->whole[to][oracle_other(o, link, at)] + 1 == o->whole[to][at];
}

/* Next hops that are no longer all shortest paths, now and then a detour; priorities that are not
 * lossless everywhere. */
static void oracle_draw(struct oracle *o, struct drawn *d, bool routed, bool masked)
{
	o->routed = false;
	oracle_hops(o, true, o->whole);
	for (int k = 0; k < 2 * o->n_links; k++)
		o->lossy[k] = masked && draw(d, 5) == 0;
	for (int to = 0; to < o->n && routed; to++)
		for (int at = 0; at < o->n; at++) {
			bool *next = o->table[to][at];
			const unsigned detour = draw(d, 12);
			int last = -1;
			memset(next, 0, MOST_LINKS);
			for (int k = 0; k < o->n_links && at != to; k++) {
				if (o->end[k][0] != at && o->end[k][1] != at)
					continue;
				const bool wanted = oracle_wanted(o, at, to, k);
				next[k] = draw(d, 4) ? wanted : detour == 0;
				last = wanted ? k : last;
			}
			if (last >= 0)
				next[last] = true;
		}
	o->routed = routed;
}

/* The same for the engine. */
static void oracle_tell(const struct oracle *o, const struct lint_graph *graph,
	struct lint_engine *engine, struct arena *a)
{
	bool *lossless = arena_array(a, bool, graph->ports + 1);
	uint64_t *next = arena_array(a, uint64_t, graph->n_leaves * graph->words + 1);
	for (int k = 0; k < o->n_links; k++)
		for (int end = 0; end < 2; end++) {
			const struct lint_link *link = &graph->links[k];
			const struct lint_switch *s = &graph->switches[o->end[k][end]];
			const uint32_t port = end ? link->upper_port : link->lower_port;
			lossless[s->first_port + port] = !o->lossy[2 * k + end];
			for (size_t leaf = 0; leaf < graph->n_leaves && o->routed; leaf++)
				if (o->table[graph->leaves[leaf]][o->end[k][end]][k])
					lint_add(next + leaf * graph->words + s->first_word, port);
		}
	lint_engine_lossless(engine, lossless);
	if (o->routed)
		lint_engine_routes(engine, next);
}

/* May a packet for @to that is at @at leave by @link? */
static bool oracle_may(const struct oracle *o, int at, int to, int link)
{
	const int next = oracle_other(o, link, at);
	if (!oracle_lives(o, link))
		return false;
	if (o->reroute == LINT_CONVERGED && (o->failed || !o->routed))
		return o->now[to][at] < NOWHERE && o->now[to][next] + 1 == o->now[to][at];
	bool had = false, has = false;
	for (int k = 0; k < o->n_links; k++) {
		if (o->end[k][0] != at && o->end[k][1] != at)
			continue;
		const bool wanted = oracle_wanted(o, at, to, k);
		had |= wanted;
		has |= wanted && oracle_lives(o, k);
	}
	if (has)
		return oracle_wanted(o, at, to, link);
	return had && o->reroute != LINT_CONVERGED && o->end[link][1] == at; /* downwards */
}

/* @tag: how often the packet came down and went up again, where it is tagged for that. */
static void oracle_walk(struct oracle *o, int at, int to, int came, int tag)
{
	const int in = came < 0 ? -1 : 4 * came + 2 * tag + (o->end[came][1] == at);
	if (at == to || (in >= 0 && o->walked[in]))
		return;
	if (in >= 0)
		o->walked[in] = true;
	for (int k = 0; k < o->n_links; k++) {
		if ((o->end[k][0] != at && o->end[k][1] != at) || !oracle_may(o, at, to, k) ||
			(k == came && o->reroute != LINT_BACK))
			continue;
		const int next = oracle_other(o, k, at);
		const bool turns = came >= 0 && o->end[came][0] == at && o->end[k][0] == at;
		const int tagged = tag + (o->reroute == LINT_TAGGED && turns);
		if (tagged > 1)
			continue;
		if (in >= 0 && !o->lossy[2 * came + in % 2] &&
			!o->lossy[2 * k + (o->end[k][1] == next)])
			o->waits[in][4 * k + 2 * tagged + (o->end[k][1] == next)] = true;
		oracle_walk(o, next, to, k, tagged);
	}
}

static bool oracle_ring_from(struct oracle *o, int buffer)
{
	o->colour[buffer] = 1;
	for (int i = 0; i < 4 * o->n_links; i++)
		if (o->waits[buffer][i] &&
			(o->colour[i] == 1 || (o->colour[i] == 0 && oracle_ring_from(o, i))))
			return true;
	o->colour[buffer] = 2;
	return false;
}

static bool oracle_cyclic(struct oracle *o, const struct lint_graph *graph,
	enum lint_reroute reroute, const struct lint_failures *failures)
{
	memset(o->dead, 0, sizeof(o->dead));
	memset(o->dead_link, 0, sizeof(o->dead_link));
	memset(o->waits, 0, sizeof(o->waits));
	memset(o->colour, 0, sizeof(o->colour));
	o->reroute = reroute;
	o->failed = failures->n > 0;
	for (size_t i = 0; i < failures->n; i++) {
		if (failures->v[i] < graph->n_links)
			o->dead_link[failures->v[i]] = true;
		else
			o->dead[failures->v[i] - graph->n_links] = true;
	}
	oracle_hops(o, true, o->whole);
	oracle_hops(o, false, o->now);
	for (size_t t = 0; t < graph->n_leaves; t++) {
		const int to = (int)graph->leaves[t];
		memset(o->walked, 0, sizeof(o->walked));
		for (size_t s = 0; s < graph->n_leaves && !o->dead[to]; s++)
			if (!o->dead[graph->leaves[s]])
				oracle_walk(o, (int)graph->leaves[s], to, -1, 0);
	}
	for (int i = 0; i < 4 * o->n_links; i++)
		if (o->colour[i] == 0 && oracle_ring_from(o, i))
			return true;
	return false;
}

/* Numbers are drawn one a statement: compilers order arguments as they like. */
static void draw_fabric(struct drawn *d, unsigned number)
{
	const unsigned one = draw(d, 4), two = draw(d, 3), three = draw(d, 5);
	switch (number % 4) {
	case 0: drawn_two_tiers(d, 2 + one, 2 + two, 1, three); return;
	case 1: drawn_two_tiers(d, 2 + one % 3, 1 + two, 2, three); return;
	case 2: drawn_three_tiers(d, 2 + one % 2, 2, 2, 1 + two % 2); return;
	default: drawn_two_tiers(d, 3, 2, 1, 1 + three % 2); return;
	}
}

/* A ring is one: each buffer is behind the port that the one before sends to. */
static void check_ring(
	const struct lint_graph *graph, enum lint_reroute reroute, const struct lint_ring *ring)
{
	assert_true(ring->n >= 2);
	for (size_t i = 0; i < ring->n; i++) {
		const struct lint_hop *hop = &ring->hops[i], *next = &ring->hops[(i + 1) % ring->n];
		const struct lint_port *out = &graph->switches[hop->at].ports[hop->out];
		assert_int_equal(out->peer, next->at);
		assert_int_equal(out->peer_port, next->in);
		assert_int_not_equal(hop->leaf, UINT32_MAX);
		assert_true(reroute == LINT_BACK || hop->in != hop->out);
	}
}

struct tally {
	unsigned sets, cyclic[LINT_REROUTES];
};

static void compare_sets(struct oracle *o, struct lint_engine *engine,
	const struct lint_graph *graph, struct arena *a, struct tally *tally)
{
	const uint32_t n = (uint32_t)lint_elements(graph);
	for (int reroute = 0; reroute < LINT_REROUTES; reroute++)
		for (uint32_t one = 0; one <= n; one++)
			for (uint32_t two = one; two <= n; two++) {
				struct lint_failures f = {.n = 0};
				struct lint_ring ring = {0};
				if (one < n)
					f.v[f.n++] = one;
				if (two < n && two != one)
					f.v[f.n++] = two;
				const bool want = oracle_cyclic(o, graph, reroute, &f);
				const bool got = lint_cyclic(engine, reroute, &f, &ring, a);
				assert_int_equal(want, got);
				if (got)
					check_ring(graph, reroute, &ring);
				tally->sets++;
				tally->cyclic[reroute] += want;
			}
}

/* The engine agrees with the oracle on every set of up to two failures. */
static void test_exact(void **state)
{
	struct tally tally = {0};
	struct oracle *o = rw_calloc(1, sizeof(*o));
	for (unsigned i = 0; i < 60; i++) {
		struct drawn d = drawn_begin(i);
		draw_fabric(&d, i);
		fabric_sort(d.fabric);
		const struct lint_graph *graph = lint_graph_new(d.fabric, d.arena);
		struct lint_engine *engine = lint_engine_new(graph);
		oracle_links(o, graph);
		oracle_draw(o, &d, i >= 40, i >= 50);
		oracle_tell(o, graph, engine, d.arena);
		compare_sets(o, engine, graph, d.arena, &tally);
		lint_engine_free(engine);
		arena_free(d.arena);
	}
	free(o);
	/* both answers are common */
	const unsigned *cyclic = tally.cyclic, both = cyclic[LINT_CONVERGED] + cyclic[LINT_LOCAL];
	printf("%u sets, with a ring %u, %u, %u, %u\n", tally.sets, cyclic[LINT_CONVERGED],
		cyclic[LINT_LOCAL], cyclic[LINT_BACK], cyclic[LINT_TAGGED]);
	assert_true(tally.sets > 20000 && both > 300 && both < tally.sets / 2 - 1000);
	assert_true(cyclic[LINT_BACK] > cyclic[LINT_LOCAL]);
	assert_int_equal(cyclic[LINT_TAGGED], 0);
}

/* What walking finds, the sets find: @wide fabrics are those where they find no more. */
static void compare_ways(
	struct lint_engine *engine, const struct lint_graph *graph, bool wide, struct arena *a)
{
	/* of converged routing a table tells nothing after a failure */
	const int first = lint_engine_routed(engine) ? LINT_LOCAL : 0;
	for (int reroute = first; reroute < LINT_REROUTES; reroute++) {
		const struct lint_verdict walked =
			lint_judge(engine, graph, reroute, 2, LINT_WALK, a);
		const struct lint_verdict sets =
			lint_judge(engine, graph, reroute, 2, LINT_SETS, a);
		assert_int_equal(sets.whole_cyclic, walked.whole_cyclic);
		if (sets.unjudged)
			continue;
		assert_true(sets.cyclic_singles >= walked.cyclic_singles);
		if (reroute == LINT_BACK) {
			assert_int_equal(
				sets.unjudged_pairs, walked.whole_cyclic ? 0 : walked.pairs);
			continue;
		}
		const uint64_t n = lint_elements(graph);
		const uint64_t by_single =
			sets.cyclic_singles * (2 * n - sets.cyclic_singles - 1) / 2;
		const uint64_t walked_by_single =
			walked.cyclic_singles * (2 * n - walked.cyclic_singles - 1) / 2;
		assert_int_equal(sets.unjudged_pairs, 0);
		assert_true(
			sets.cyclic_pairs + by_single >= walked.cyclic_pairs + walked_by_single);
		if (!wide)
			continue;
		assert_int_equal(sets.cyclic_singles, walked.cyclic_singles);
		assert_int_equal(sets.cyclic_pairs, walked.cyclic_pairs);
	}
}

/* The sets foretell every ring that walking finds; on two tiers of three spines and four
 * leaves or more, no other.
 */
static void test_sets(void **state)
{
	for (unsigned i = 0; i < 24; i++) {
		struct drawn d = drawn_begin(1000 + i);
		const bool wide = i % 2;
		if (wide)
			drawn_two_tiers(&d, 4 + i % 3, 3 + i / 3 % 3, 1, 0);
		else
			draw_fabric(&d, i);
		fabric_sort(d.fabric);
		const struct lint_graph *graph = lint_graph_new(d.fabric, d.arena);
		struct lint_engine *engine = lint_engine_new(graph);
		compare_ways(engine, graph, wide, d.arena);
		lint_engine_free(engine);
		arena_free(d.arena);
	}
}

/* The same with tables of next hops that leave some out and make detours; one in which packets can
 * go in a circle is refused. */
static void test_sets_of_tables(void **state)
{
	struct oracle *o = rw_calloc(1, sizeof(*o));
	unsigned judged = 0, refused = 0, singles = 0, pairs = 0, over = 0, all = 0;
	for (unsigned i = 0; i < SETS_OF_TABLES; i++) {
		struct drawn d = drawn_begin(3000 + i);
		draw_fabric(&d, i);
		fabric_sort(d.fabric);
		const struct lint_graph *graph = lint_graph_new(d.fabric, d.arena);
		struct lint_engine *engine = lint_engine_new(graph);
		oracle_links(o, graph);
		oracle_draw(o, &d, true, i % 4 == 3);
		oracle_tell(o, graph, engine, d.arena);
		const struct lint_verdict walked =
			lint_judge(engine, graph, LINT_LOCAL, 2, LINT_WALK, d.arena);
		const struct lint_verdict sets =
			lint_judge(engine, graph, LINT_LOCAL, 2, LINT_SETS, d.arena);
		compare_ways(engine, graph, false, d.arena);
		judged += !sets.unjudged && !sets.whole_cyclic;
		refused += sets.unjudged;
		if (!sets.unjudged && !sets.whole_cyclic) {
			singles += (unsigned)walked.cyclic_singles;
			pairs += (unsigned)walked.cyclic_pairs;
			all += (unsigned)walked.pairs;
			over += sets.cyclic_singles + sets.cyclic_pairs >
				walked.cyclic_singles + walked.cyclic_pairs;
		}
		lint_engine_free(engine);
		arena_free(d.arena);
	}
	free(o);
	printf("tables: %u judged, %u refused; %u singles, %u pairs of %u; more foretold in %u\n",
		judged, refused, singles, pairs, all, over);
	assert_true(judged > SETS_OF_TABLES / 2 && singles > 20 && pairs > 200);
}

static struct lint_verdict judged(
	struct drawn *d, enum lint_reroute reroute, unsigned failures, enum lint_way way)
{
	fabric_sort(d->fabric);
	const struct lint_graph *graph = lint_graph_new(d->fabric, d->arena);
	struct lint_engine *engine = lint_engine_new(graph);
	const struct lint_verdict v = lint_judge(engine, graph, reroute, failures, way, d->arena);
	lint_engine_free(engine);
	return v;
}

/* What is known of fabrics that people build. */
static void test_known(void **state)
{
	struct drawn d = drawn_begin(1);
	drawn_two_tiers(&d, 6, 4, 1, 0);
	struct lint_verdict v = judged(&d, LINT_CONVERGED, 2, LINT_CHOOSE);
	assert_false(v.whole_cyclic);
	assert_int_equal(v.pairs, 561); /* of 24 links and 10 switches */
	assert_int_equal(v.cyclic_singles + v.cyclic_pairs, 0);
	/* any two dead links at different spines: 24 x 18 / 2 */
	v = judged(&d, LINT_LOCAL, 2, LINT_CHOOSE);
	assert_int_equal(v.cyclic_singles, 0);
	assert_int_equal(v.cyclic_pairs, 216);
	assert_int_equal(v.n_pair, LINT_EXAMPLES_MAX);
	arena_free(d.arena);

	/* three tiers: every dead spine lets its cores bounce */
	d = drawn_begin(2);
	drawn_three_tiers(&d, 3, 2, 3, 2);
	assert_int_equal(judged(&d, LINT_LOCAL, 1, LINT_CHOOSE).cyclic_singles, 9);
	assert_int_equal(judged(&d, LINT_LOCAL, 1, LINT_SETS).cyclic_singles, 9);
	v = judged(&d, LINT_CONVERGED, 2, LINT_CHOOSE);
	assert_int_equal(v.cyclic_singles + v.cyclic_pairs, 0);
	arena_free(d.arena);
}

/* A LAG is one link; a switch without a tier and a link within a tier are left out and counted. */
static void test_graph(void **state)
{
	struct drawn d = drawn_begin(3);
	drawn_two_tiers(&d, 2, 2, 2, 0);
	struct fabric_device *leaf = d.fabric->devices[0];
	for (size_t i = 0; i < leaf->n_ports; i++)
		if (leaf->ports[i]->peer && leaf->ports[i]->peer->device == d.fabric->devices[2])
			leaf->ports[i]->lag = leaf->ports[i]->peer->lag = "po1";
	drawn_link(&d, d.fabric->devices[0], d.fabric->devices[1]);
	struct fabric_device *other = drawn_switch(&d, ROLE_OTHER, "firewall", 1);
	drawn_link(&d, d.fabric->devices[2], other);
	drawn_switch(&d, ROLE_SPINE, "lonely", 1);
	fabric_sort(d.fabric);
	const struct lint_graph *graph = lint_graph_new(d.fabric, d.arena);
	assert_int_equal(graph->n_links, 7);
	assert_int_equal(graph->lateral_links, 1);
	assert_int_equal(graph->outside_links, 1);
	assert_int_equal(graph->n_left_out, 1);
	assert_string_equal(graph->left_out[0], "firewall1");
	assert_int_equal(graph->islands, 2);
	arena_free(d.arena);
}

/* ---- settings ------------------------------------------------------------ */

static size_t found(const struct lint_list *list, const char *check)
{
	size_t n = 0;
	for (size_t i = 0; i < list->n; i++)
		n += strcmp(list->findings[i].check, check) == 0;
	return n;
}

/* A leaf with a host, its headroom, its marks: a fabric of which only settings are judged. */
static struct drawn one_port(uint64_t speed_bps, unsigned cable_m, uint64_t mtu_bytes,
	struct fabric_threshold *threshold)
{
	struct drawn d = drawn_begin(1);
	drawn_host(&d, drawn_switch(&d, ROLE_LEAF, "leaf", 0));
	struct fabric_port *port = d.fabric->devices[0]->ports[0];
	port->alias = "";
	port->speed_bps = speed_bps;
	port->cable_mm = 1000 * cable_m;
	d.fabric->lossless_mask = 1 << 3;
	d.fabric->lossless_mtu_bytes = mtu_bytes;
	threshold->devices = threshold->ports = "*";
	threshold->priority = 3;
	d.fabric->thresholds = threshold;
	d.fabric->n_thresholds = 1;
	return d;
}

static struct lint_list settings_of(const struct drawn *d)
{
	struct lint_list list = {.arena = d->arena};
	lint_settings(
		&(struct lint_settings_in){.graph = lint_graph_new(d->fabric, d->arena)}, &list);
	return list;
}

/* Headroom of @xoff bytes is called too small, or not; a tenth of it is always. */
static void check_headroom_at(unsigned gbit, unsigned metres, uint64_t xoff, bool small)
{
	for (unsigned part = 1; part <= 10; part += 9) {
		struct fabric_threshold t = {.pmax = NAN, .alpha = NAN};
		/* 2021's tables are for lossless frames of 1 KB */
		struct drawn d = one_port(1000000000ull * gbit, metres, 1024, &t);
		t.headroom_bytes = xoff / part;
		const struct lint_list list = settings_of(&d);
		assert_int_equal(found(&list, "headroom"), part > 1 || small);
		arena_free(d.arena);
	}
}

/*
 * Headroom as makers publish it for their switches (sonic-buildimage, pg_profile_lookup.ini: "xoff"
 * in bytes at 5, 40 and 300 m) is not called too small for the frames that it was made for, but for
 * two values of 2021 at 400 Gbit/s, which leave no room for the pause response of IEEE 802.3, annex
 * 31B; those that the same maker publishes since do. A tenth of it always is.
 */
static void test_headroom_published(void **state)
{
	static const unsigned metres[] = {5, 40, 300};
	static const struct {
		unsigned gbit;
		uint64_t xoff[3];
		unsigned small; /* how many of them, from the first on, are called too small */
	} rows[] = {
		{10, {29696, 29696, 36864}}, /* ACS-MSN2700 */
		{25, {29696, 31744, 48128}},
		{40, {29696, 32768, 59392}},
		{50, {29696, 33792, 66560}},
		{100, {30720, 38912, 104448}},
		{200, {35840, 55296, 203776}}, /* ACS-MSN4700 */
		{400, {38912, 77824, 373760}, 2},
		{40, {66560, 71552, 108160}}, /* Arista 7060CX, Dell Z9100 */
		{50, {79872, 85696, 141856}},
		{100, {165568, 177632, 268736}},
		{100, {44032, 49152, 83968}}, /* SN5610N */
		{400, {86016, 104448, 243712}},
	};
	for (size_t i = 0; i < rw_countof(rows); i++)
		for (size_t k = 0; k < rw_countof(metres); k++)
			check_headroom_at(
				rows[i].gbit, metres[k], rows[i].xoff[k], k < rows[i].small);
	/* of other makers, one at a time */
	static const struct {
		unsigned gbit, metres;
		uint64_t xoff;
	} singles[] = {
		/* Linux, commit edf777f55aee (mlxsw): "necessary for 100Gbps port and 100m cable"
		 */
		{100, 100, 102528},
		/* Dell OS9 Users Guide, S6100-ON, table 20: "headroom space that is required per PG
		 * on a 40 Gigabit port in a worst case scenario to guarantee lossless behavior" */
		{40, 100, 76 * 1024},
		{40, 300, 76 * 1024},
		/* sonic-swss, cfgmgr/buffermgr.cpp, the profile that its comment shows */
		{100, 300, 165888},
	};
	for (size_t i = 0; i < rw_countof(singles); i++)
		check_headroom_at(singles[i].gbit, singles[i].metres, singles[i].xoff, false);
}

/*
 * Zhu et al., DCQCN (SIGCOMM 2015), section 4: on a Trident II of 12 MB with 32 ports, eight
 * lossless priorities and 22.4 kB in flight each, a PFC threshold is safe up to 24.47 kB. All 256
 * queues at once are marked first below it, and not above.
 */
static void test_marks_published(void **state)
{
	for (unsigned above = 0; above < 2; above++) {
		struct fabric_threshold t = {.kmin_bytes = above ? 24480 : 24470,
			.pool_bytes = 12000000 - 8 * 32 * 22400,
			.pmax = NAN,
			.alpha = 1024};
		struct drawn d = one_port(40000000000, 5, 1024, &t);
		for (unsigned i = 1; i < 32; i++)
			drawn_host(&d, d.fabric->devices[0]);
		d.fabric->lossless_mask = 0xff;
		const struct lint_list list = settings_of(&d);
		assert_int_equal(found(&list, "ecn_after_pfc"), above);
		assert_true(!above || strstr(list.findings[0].text, "up to 255 busy queues"));
		arena_free(d.arena);
	}
}

/* What was read back wins over the declaration, a sheet over both; worse is told from as bad. */
static void test_in_force(void **state)
{
	struct fabric_threshold t = {.kmin_bytes = 400000,
		.headroom_bytes = 200000,
		.pool_bytes = 32000000,
		.pmax = NAN,
		.alpha = 0.25};
	struct drawn d = one_port(400000000000, 30, 4200, &t);
	struct fabric_port *port = d.fabric->devices[0]->ports[0];
	struct device_seen device = {
		.device = d.fabric->devices[0], .pool_bytes = NAN, .headroom_pool_bytes = NAN};
	struct port_prio prio = {.kmin = NAN, .alpha = NAN, .headroom = 60000};
	struct port_seen seen = {
		.port = port, .device = &device, .cable_m = NAN, .prios = {[3] = &prio}};
	const struct observed observed = {.fabric = d.fabric, .ports = &seen, .n_fabric_ports = 1};
	const struct lint_change mend = {"leaf0", NULL, 0, 3, NAN, NAN, 120000};
	const struct lint_change worse = {"leaf0", NULL, 0, 3, 30e6, NAN, 50000};
	struct lint_settings_in in = {.graph = lint_graph_new(d.fabric, d.arena)};
	struct lint_list declared = {.arena = d.arena}, read = declared, mended = declared,
			 worsened = declared;
	lint_settings(&in, &declared);
	assert_int_equal(found(&declared, "headroom"), 0);
	in.observed = &observed;
	lint_settings(&in, &read);
	assert_int_equal(found(&read, "headroom"), 1);
	assert_non_null(strstr(read.findings[0].text, "headroom is 60 KB"));
	in.n_changes = 1;
	in.changes = &mend;
	lint_settings(&in, &mended);
	assert_int_equal(found(&mended, "headroom"), 0);
	assert_null(lint_worsened(&read, &mended));
	assert_null(lint_worsened(&read, &read));
	in.changes = &worse;
	lint_settings(&in, &worsened);
	assert_int_equal(found(&worsened, "headroom"), 1);
	assert_int_equal(found(&worsened, "ecn_after_pfc"), 1);
	assert_string_equal(lint_worsened(&read, &worsened)->check, "headroom");
	assert_string_equal(lint_worsened(&declared, &read)->check, "headroom");
	arena_free(d.arena);
}

/* Rails that no link joins are one island each, and meant so; two islands of one rail are not. */
static void test_planes(void **state)
{
	struct drawn d = drawn_begin(4);
	for (unsigned rail = 0; rail < 2; rail++) {
		struct fabric_device *spine = drawn_switch(&d, ROLE_SPINE, "spine", rail);
		spine->rail = rail ? "rail1" : "rail0";
		for (unsigned i = 0; i < 2; i++)
			drawn_link(&d, drawn_switch(&d, ROLE_LEAF, "leaf", 2 * rail + i), spine);
	}
	const struct lint_graph *graph = lint_graph_new(d.fabric, d.arena);
	assert_int_equal(graph->islands, 2);
	assert_true(graph->planes);
	d.fabric->devices[3]->rail = "rail0";
	assert_false(lint_graph_new(d.fabric, d.arena)->planes);
	d.fabric->devices[3]->rail = NULL;
	assert_false(lint_graph_new(d.fabric, d.arena)->planes);
	arena_free(d.arena);
}

/* ---- packets that really wait --------------------------------------------- */

/*
 * The packet simulator of tests/packetsim over the links of the fabric: hosts send at line rate,
 * some of them pause their leaf for a while (pause storms), nothing may be dropped for want of
 * room, a packet lives for 64 hops. Then nobody sends or pauses any more, and what is still in a
 * switch when all could have left is a deadlock. First all leaves send to all, each flow at one of
 * its next hops. Then only the traffic of the witness: for each step of the ring flows that make
 * it, on the shortest way to it, and from it along the ring as far as routing lets them. Which
 * packets meet is chance, so it is played up to PLAYS times.
 */
enum {
	PLAYS = 32,
	PLAY_HOSTS = 2, /* of a leaf */
	PLAY_FLOWS = 2, /* of each host to a leaf */
	PLAY_STORMS = 6,
	PLAY_ROOM = 8192, /* shared bytes for each port */
	PLAY_HEADROOM = 16384,
	FLOOD_FLOWS = 64,
	FLOOD_ARRIVED = -1,
	FLOOD_OFF = -2, /* not on the way of the flow */
};
#define PLAY_RATE UINT64_C(100000000000)
#define PLAY_WIRE (100 * PS_NS)
#define PLAY_STORM (8 * PS_US)
#define PLAY_REST (2 * PS_US)
#define PLAY_DRAIN (8 * PS_MS)

struct flood_flow { /* of a witness */
	int from, to, first; /* leaves, and the link by which it leaves the first */
	int next[2 * MOST_LINKS]; /* by buffer: the link by which it goes on */
};
struct flood {
	struct oracle *o;
	struct drawn *d; /* for its numbers */
	const struct lint_graph *graph;
	int node[MOST_SWITCHES],
		device[MOST_SWITCHES]; /* of a switch its node, of a node its switch */
	int tags; /* priorities: each has links of its own, which share the switch's buffer */
	int ends[2 * MOST_LINKS][2]; /* nodes */
	uint32_t salt; /* of the choice among next hops */
	struct flood_flow flows[FLOOD_FLOWS];
	int n_flows; /* 0: all send to all */
	const struct net *net;
};

static int flood_buffer(const struct flood *f, int link, int at)
{
	return 2 * link + (f->o->end[link][1] == at);
}

/* The links by which a packet for @to that is at @at and came by @came may go on. */
static int flood_choices(const struct flood *f, int at, int to, int came, int ret[MOST_LINKS])
{
	int n = 0;
	for (int k = 0; k < f->o->n_links; k++)
		if ((f->o->end[k][0] == at || f->o->end[k][1] == at) &&
			(k != came || f->o->reroute == LINT_BACK) && oracle_may(f->o, at, to, k))
			ret[n++] = k;
	return n;
}

/* The buffers that packets to @to come to from @at, where they came by @came (-1: from its hosts;
 * @at -1: from all other leaves): @before each the one before it, itself for the first. Returns the
 * number of buffers in @order, the nearest first. */
static int flood_spread(const struct flood *f, int at, int came, int to, int before[2 * MOST_LINKS],
	int order[2 * MOST_LINKS])
{
	int n = 0, may[MOST_LINKS];
	for (int i = 0; i < 2 * f->o->n_links; i++)
		before[i] = FLOOD_OFF;
	for (size_t s = 0; s < f->graph->n_leaves; s++) {
		const int leaf = at < 0 ? (int)f->graph->leaves[s] : at;
		const int choices = leaf == to || f->o->dead[leaf] || (at >= 0 && s > 0)
			? 0
			: flood_choices(f, leaf, to, came, may);
		for (int k = 0; k < choices; k++) {
			const int b = flood_buffer(f, may[k], oracle_other(f->o, may[k], leaf));
			if (before[b] != FLOOD_OFF)
				continue;
			before[b] = b;
			order[n++] = b;
		}
	}
	for (int done = 0; done < n; done++) {
		const int b = order[done], here = f->o->end[b / 2][b % 2];
		const int choices = here == to ? 0 : flood_choices(f, here, to, b / 2, may);
		for (int k = 0; k < choices; k++) {
			const int next = flood_buffer(f, may[k], oracle_other(f->o, may[k], here));
			if (before[next] != FLOOD_OFF)
				continue;
			before[next] = b;
			order[n++] = next;
		}
	}
	return n;
}

/* A flow of the witness: packets that make step @step of the ring. */
static void flood_flow_make(struct flood *f, const struct lint_ring *ring, size_t step)
{
	struct flood_flow *flow = &f->flows[f->n_flows++];
	int before[2 * MOST_LINKS], order[2 * MOST_LINKS];
	flow->to = (int)ring->hops[step].leaf;
	for (int i = 0; i < 2 * f->o->n_links; i++)
		flow->next[i] = FLOOD_OFF;
	const struct lint_hop *hop = &ring->hops[step];
	const struct lint_port *ports = f->graph->switches[hop->at].ports;
	int at = flood_buffer(f, (int)ports[hop->in].link, (int)hop->at);
	flood_spread(f, -1, -1, flow->to, before, order);
	assert_true(before[at] != FLOOD_OFF);
	for (int b = at; before[b] != b; b = before[b])
		flow->next[before[b]] = b / 2;
	int b = at;
	while (before[b] != b)
		b = before[b];
	flow->first = b / 2;
	flow->from = oracle_other(f->o, flow->first, f->o->end[b / 2][b % 2]);
	/* along the ring as long as it may, for ever where that is all of it */
	int here = (int)hop->at, came = (int)ports[hop->in].link;
	for (size_t i = step; here != flow->to; i++) {
		hop = &ring->hops[i % ring->n];
		const int out = (int)f->graph->switches[hop->at].ports[hop->out].link;
		b = flood_buffer(f, came, here);
		if (flow->next[b] != FLOOD_OFF)
			return;
		if (!oracle_may(f->o, here, flow->to, out))
			break;
		flow->next[b] = out;
		here = oracle_other(f->o, out, here);
		came = out;
	}
	/* and then the shortest way to its leaf */
	const int n = flood_spread(f, here, came, flow->to, before, order);
	for (int i = 0; i < n && here != flow->to; i++) {
		if (f->o->end[order[i] / 2][order[i] % 2] != flow->to)
			continue;
		for (b = order[i]; before[b] != b; b = before[b])
			flow->next[before[b]] = b / 2;
		flow->next[flood_buffer(f, came, here)] = b / 2;
		flow->next[order[i]] = FLOOD_ARRIVED;
		return;
	}
	flow->next[flood_buffer(f, came, here)] = FLOOD_ARRIVED;
}

static uint32_t play_route(void *arg, uint32_t flow, uint32_t node, uint32_t link)
{
	const struct flood *f = arg;
	const int at = f->device[node], came = link == UINT32_MAX ? -1 : (int)link / f->tags;
	int tag = link == UINT32_MAX ? 0 : (int)link % f->tags;
	const int to = f->device[f->net->flows[flow].dst / PLAY_HOSTS];
	int may[MOST_LINKS], out;
	if (f->n_flows > 0) {
		const struct flood_flow *of = &f->flows[flow % (uint32_t)f->n_flows];
		out = came < 0 ? of->first : of->next[flood_buffer(f, came, at)];
	} else {
		const int n = flood_choices(f, at, to, came, may);
		out = n ? may[mixed(f->salt ^ (uint64_t)flow << 32 ^ node) % (uint64_t)n] : -1;
	}
	tag += f->tags > 1 && came >= 0 && out >= 0 && f->o->end[came][0] == at &&
		f->o->end[out][0] == at;
	return out < 0 || tag == f->tags ? UINT32_MAX : (uint32_t)(out * f->tags + tag);
}

static void play_flows(struct flood *f, struct net *net)
{
	for (unsigned host = 0; host < PLAY_HOSTS * PLAY_FLOWS; host++)
		for (int i = 0; i < f->n_flows; i++)
			net_flow(net, (uint32_t)f->node[f->flows[i].from] * PLAY_HOSTS + host % 2,
				(uint32_t)f->node[f->flows[i].to] * PLAY_HOSTS, INT32_MAX, 0, 0, 0);
	for (uint32_t src = 0; f->n_flows == 0 && src < net->n_hosts; src++)
		for (uint32_t dst = 0; dst < net->n_hosts * PLAY_FLOWS / PLAY_HOSTS; dst++) {
			const uint32_t to = dst * PLAY_HOSTS / PLAY_FLOWS;
			if (to / PLAY_HOSTS != src / PLAY_HOSTS &&
				!f->o->dead[f->device[src / PLAY_HOSTS]] &&
				!f->o->dead[f->device[to / PLAY_HOSTS]])
				net_flow(net, src, to, INT32_MAX, 0, 0, 0);
		}
}

static void play_settings(const struct flood *f, struct net *net)
{
	for (size_t i = 0; i < net->n_nodes; i++)
		net->nodes[i].shared_size = (uint64_t)net->nodes[i].n_ports * PLAY_ROOM;
	for (size_t i = 0; i < net->n_ports; i++) {
		net->ports[i].marks = false;
		net->ports[i].alpha = 0.5;
		net->ports[i].headroom_size = PLAY_HEADROOM;
		net->ports[i].xon_offset = 2 * PAYLOAD;
	}
	for (int k = 0; k < 2 * f->o->n_links * f->tags; k++) {
		struct port *port = &net->ports[net->link_ports[k / 2][k % 2]];
		port->lossy = f->o->lossy[2 * (k / 2 / f->tags) + k % 2];
		port->headroom_size = port->lossy ? 0 : PLAY_HEADROOM;
	}
}

static bool flood_deadlocks(struct flood *f)
{
	const struct net_wiring wiring = {
		(unsigned)(f->o->n_links * f->tags), f->ends, play_route, f};
	const unsigned leaves = (unsigned)f->graph->n_leaves;
	struct net *net = net_new(&(struct net_shape){.leaves = leaves,
		.spines = (unsigned)f->o->n - leaves,
		.hosts_per_leaf = PLAY_HOSTS,
		.host_rate = PLAY_RATE,
		.second_rate = PLAY_RATE,
		.uplink_rate = PLAY_RATE,
		.host_propagation = PLAY_WIRE,
		.third_propagation = PLAY_WIRE,
		.uplink_propagation = PLAY_WIRE,
		.wiring = &wiring});
	int64_t until = 0;
	bool stuck = false;
	f->net = net;
	f->salt = draw(f->d, 1 << 20);
	play_settings(f, net);
	play_flows(f, net);
	for (unsigned storm = 0; storm < PLAY_STORMS; storm++) {
		for (uint32_t host = 0; host < net->n_hosts; host++)
			if (draw(f->d, 2))
				port_ask_pause(net, host, true);
		net_run(net, until += PLAY_STORM);
		for (uint32_t host = 0; host < net->n_hosts; host++)
			port_ask_pause(net, host, false);
		net_run(net, until += PLAY_REST);
	}
	for (size_t i = 0; i < net->n_flows; i++)
		net->flows[i].done = true;
	net_run(net, until + PLAY_DRAIN);
	for (size_t i = net->n_hosts; i < net->n_ports; i++)
		stuck |= net->ports[i].data.bytes > 0;
	assert_int_equal(net->drops, 0);
	net_free(net);
	return stuck;
}

/* Leaves first, as the simulator has them. */
static void flood_nodes(struct flood *f)
{
	int n = 0;
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < f->o->n; i++) {
			if (f->graph->switches[i].hosts != (pass == 0))
				continue;
			f->node[i] = n;
			f->device[n++] = i;
		}
	for (int k = 0; k < 2 * f->o->n_links * f->tags; k++)
		f->ends[k / 2][k % 2] = f->node[f->o->end[k / 2 / f->tags][k % 2]];
}

struct flood_tally { /* of one way to reroute */
	unsigned safe, safe_stuck, rings, all_stuck, witness_stuck;
};

static void flood_judge(struct flood *f, struct lint_engine *engine, enum lint_reroute reroute,
	const struct lint_failures *failures, struct flood_tally *tally)
{
	struct lint_ring ring = {0};
	const bool truth = oracle_cyclic(f->o, f->graph, reroute, failures); /* sets what is dead */
	const bool cyclic = lint_cyclic(engine, reroute, failures, &ring, f->d->arena);
	assert_int_equal(cyclic, truth);
	f->n_flows = 0;
	f->tags = reroute == LINT_TAGGED ? 2 : 1;
	flood_nodes(f);
	const bool stuck = flood_deadlocks(f);
	tally->safe += !cyclic;
	tally->safe_stuck += !cyclic && stuck;
	if (!cyclic)
		return;
	assert_true(ring.n <= FLOOD_FLOWS);
	for (size_t i = 0; i < ring.n; i++)
		flood_flow_make(f, &ring, i);
	bool plays_stuck = false;
	for (int play = 0; play < PLAYS && !plays_stuck; play++)
		plays_stuck = flood_deadlocks(f);
	tally->rings++;
	tally->all_stuck += stuck;
	tally->witness_stuck += plays_stuck;
}

static const struct flood_case {
	enum lint_reroute reroute;
	unsigned failures;
	bool device; /* a switch is among them */
	bool masked, routed;
	const char *name; /* of what is counted together */
} flood_cases[] = {
	{LINT_CONVERGED, 1, false, false, false, "converged"},
	{LINT_CONVERGED, 2, false, false, false, "converged"},
	{LINT_LOCAL, 1, false, false, false, "local"},
	{LINT_LOCAL, 2, false, false, false, "local"},
	{LINT_LOCAL, 1, true, false, false, "local"},
	{LINT_LOCAL, 2, true, false, false, "local"},
	{LINT_BACK, 1, true, false, false, "back"},
	{LINT_TAGGED, 2, false, false, false, "tagged"},
	{LINT_TAGGED, 2, true, false, false, "tagged"},
	{LINT_LOCAL, 2, false, true, false, "local, lossless in part"},
	{LINT_BACK, 2, false, true, false, "back, lossless in part"},
	{LINT_CONVERGED, 0, false, false, true, "a table"},
	{LINT_LOCAL, 2, false, false, true, "local from a table"},
	{LINT_LOCAL, 1, true, true, true, "local from a table, lossless in part"},
};

static void flood_fabric(
	struct flood *f, unsigned number, struct flood_tally tally[rw_countof(flood_cases)])
{
	struct drawn d = drawn_begin(5000 + number);
	if (number % 3 == 0)
		draw_fabric(&d, number);
	else if (number % 3 == 1)
		drawn_two_tiers(&d, 4 + number / 3 % 3, 2 + number / 9 % 3, 1, number / 27 % 2);
	else
		drawn_three_tiers(&d, 3, 2, 2, 2);
	fabric_sort(d.fabric);
	f->graph = lint_graph_new(d.fabric, d.arena);
	f->d = &d;
	oracle_links(f->o, f->graph);
	for (unsigned k = 0; k < rw_countof(flood_cases); k++) {
		const struct flood_case *c = &flood_cases[k];
		const uint32_t n = (uint32_t)lint_elements(f->graph);
		const uint32_t links = (uint32_t)f->graph->n_links;
		struct lint_failures failures = {.n = c->failures};
		failures.v[0] = draw(&d, links);
		failures.v[1] = draw(&d, links);
		if (c->device)
			failures.v[0] = links + draw(&d, n - links);
		struct lint_engine *engine = lint_engine_new(f->graph);
		oracle_draw(f->o, &d, c->routed, c->masked);
		oracle_tell(f->o, f->graph, engine, d.arena);
		flood_judge(f, engine, c->reroute, &failures, &tally[k]);
		lint_engine_free(engine);
	}
	arena_free(d.arena);
}

/*
 * Nothing is stuck that is called safe, so every deadlock that packets come to is foretold; and the
 * traffic of a witness is stuck. RW_LINT_FLOODS: how many fabrics (docs/lint.md: of many).
 */
static void test_flood(void **state)
{
	const char *word = getenv("RW_LINT_FLOODS");
	const unsigned fabrics = word ? (unsigned)atoi(word) : 24;
	struct flood_tally tally[rw_countof(flood_cases)] = {0};
	unsigned rings = 0, witness = 0, safe = 0;
	struct flood *f = rw_calloc(1, sizeof(*f));
	f->o = rw_calloc(1, sizeof(*f->o));
	for (unsigned i = 0; i < fabrics; i++)
		flood_fabric(f, i, tally);
	free(f->o);
	free(f);
	for (unsigned k = 0; k < rw_countof(flood_cases); k++) {
		const struct flood_tally *t = &tally[k];
		printf("%s: %u safe, %u stuck; %u with a ring, %u stuck, %u with its witness\n",
			flood_cases[k].name, t->safe, t->safe_stuck, t->rings, t->all_stuck,
			t->witness_stuck);
		assert_int_equal(t->safe_stuck, 0);
		assert_true(flood_cases[k].reroute != LINT_TAGGED || t->rings == 0);
		rings += t->rings;
		witness += t->witness_stuck;
		safe += t->safe;
	}
	assert_true(rings > fabrics && safe > 3 * fabrics);
	assert_true(witness * 100 >= rings * 95);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_sets_of_tables),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_graph),
		cmocka_unit_test(test_headroom_published),
		cmocka_unit_test(test_marks_published),
		cmocka_unit_test(test_in_force),
		cmocka_unit_test(test_planes),
		cmocka_unit_test(test_flood),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
