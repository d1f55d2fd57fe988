/*
 * Which failures let buffers wait in a ring, held against an oracle that shares no code with the
 * engine: it walks each packet by itself, and looks for a ring by depth first search.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyzers/lint/lint_pairs.h"
#include "base/cleanup.h"

#include "lint_fabrics.h"

/* ---- the oracle ---------------------------------------------------------- */

enum { MOST_SWITCHES = 64, MOST_LINKS = 256, NOWHERE = 1000000 };

struct oracle {
	const struct fabric *fabric;
	int n, n_links;
	int end[MOST_LINKS][2]; /* devices, the lower one first */
	bool dead_link[MOST_LINKS], dead[MOST_SWITCHES];
	int whole[MOST_SWITCHES][MOST_SWITCHES]; /* hops, nothing failed: [to][from] */
	int now[MOST_SWITCHES][MOST_SWITCHES];
	bool local;
	/* buffers: 2 for each link, by the end they are at */
	bool waits[2 * MOST_LINKS][2 * MOST_LINKS];
	bool walked[2 * MOST_LINKS];
	int colour[2 * MOST_LINKS];
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

/* May a packet for @to that is at @at leave by @link? */
static bool oracle_may(const struct oracle *o, int at, int to, int link)
{
	const int next = oracle_other(o, link, at);
	if (!oracle_lives(o, link))
		return false;
	if (!o->local)
		return o->now[to][at] < NOWHERE && o->now[to][next] + 1 == o->now[to][at];
	bool had = false, has = false;
	for (int k = 0; k < o->n_links; k++) {
		if (o->end[k][0] != at && o->end[k][1] != at)
			continue;
		const bool wanted = o->whole[to][at] < NOWHERE &&
			o->whole[to][oracle_other(o, k, at)] + 1 == o->whole[to][at];
		had |= wanted;
		has |= wanted && oracle_lives(o, k);
	}
	if (has)
		return o->whole[to][next] + 1 == o->whole[to][at];
	return had && o->end[link][1] == at; /* downwards */
}

static void oracle_walk(struct oracle *o, int at, int to, int came)
{
	const int in = came < 0 ? -1 : 2 * came + (o->end[came][1] == at);
	if (at == to || (in >= 0 && o->walked[in]))
		return;
	if (in >= 0)
		o->walked[in] = true;
	for (int k = 0; k < o->n_links; k++) {
		if ((o->end[k][0] != at && o->end[k][1] != at) || k == came ||
			!oracle_may(o, at, to, k))
			continue;
		const int next = oracle_other(o, k, at);
		if (in >= 0)
			o->waits[in][2 * k + (o->end[k][1] == next)] = true;
		oracle_walk(o, next, to, k);
	}
}

static bool oracle_ring_from(struct oracle *o, int buffer)
{
	o->colour[buffer] = 1;
	for (int i = 0; i < 2 * o->n_links; i++)
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
	o->local = reroute == LINT_LOCAL;
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
				oracle_walk(o, (int)graph->leaves[s], to, -1);
	}
	for (int i = 0; i < 2 * o->n_links; i++)
		if (o->colour[i] == 0 && oracle_ring_from(o, i))
			return true;
	return false;
}

/* ---- drawn fabrics ------------------------------------------------------- */

static void draw_fabric(struct drawn *d, unsigned number)
{
	switch (number % 4) {
	case 0: drawn_two_tiers(d, 2 + draw(d, 4), 1 + draw(d, 4), 1, draw(d, 4)); return;
	case 1: drawn_two_tiers(d, 2 + draw(d, 3), 1 + draw(d, 3), 2, draw(d, 5)); return;
	case 2: drawn_three_tiers(d, 2 + draw(d, 2), 2, 2, 1 + draw(d, 2)); return;
	default: drawn_two_tiers(d, 3, 2, 1, 1 + draw(d, 2)); return;
	}
}

/* A ring is one: each buffer is behind the port that the one before sends to. */
static void check_ring(const struct lint_graph *graph, const struct lint_ring *ring)
{
	assert_true(ring->n >= 2);
	for (size_t i = 0; i < ring->n; i++) {
		const struct lint_hop *hop = &ring->hops[i], *next = &ring->hops[(i + 1) % ring->n];
		const struct lint_port *out = &graph->switches[hop->at].ports[hop->out];
		assert_int_equal(out->peer, next->at);
		assert_int_equal(out->peer_port, next->in);
		assert_int_not_equal(hop->leaf, UINT32_MAX);
		assert_int_not_equal(hop->in, hop->out);
	}
}

struct tally {
	unsigned sets, cyclic;
};

static void compare_sets(struct oracle *o, struct lint_engine *engine,
	const struct lint_graph *graph, struct arena *a, struct tally *tally)
{
	const uint32_t n = (uint32_t)lint_elements(graph);
	for (int reroute = LINT_CONVERGED; reroute <= LINT_LOCAL; reroute++)
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
				if (want != got)
					fail_msg("%s: oracle %d, engine %d with %u and %u failed",
						reroute ? "local" : "converged", want, got, one,
						two);
				if (got)
					check_ring(graph, &ring);
				tally->sets++;
				tally->cyclic += want;
			}
}

/* The engine agrees with the oracle on every set of up to two failures. */
static void test_exact(void **state)
{
	struct tally tally = {0};
	struct oracle *o = rw_calloc(1, sizeof(*o));
	for (unsigned i = 0; i < 40; i++) {
		struct drawn d = drawn_begin(i);
		draw_fabric(&d, i);
		fabric_sort(d.fabric);
		const struct lint_graph *graph = lint_graph_new(d.fabric, d.arena);
		struct lint_engine *engine = lint_engine_new(graph);
		oracle_links(o, graph);
		compare_sets(o, engine, graph, d.arena, &tally);
		lint_engine_free(engine);
		arena_free(d.arena);
	}
	free(o);
	/* both answers are common */
	assert_true(tally.sets > 10000 && tally.cyclic > 1000 && tally.cyclic < tally.sets - 1000);
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
			drawn_two_tiers(&d, 4 + draw(&d, 3), 3 + draw(&d, 3), 1, 0);
		else
			draw_fabric(&d, i);
		fabric_sort(d.fabric);
		const struct lint_graph *graph = lint_graph_new(d.fabric, d.arena);
		struct lint_engine *engine = lint_engine_new(graph);
		for (int reroute = LINT_CONVERGED; reroute <= LINT_LOCAL; reroute++) {
			const struct lint_verdict walked =
				lint_judge(engine, graph, reroute, 2, LINT_WALK, d.arena);
			const struct lint_verdict sets =
				lint_judge(engine, graph, reroute, 2, LINT_SETS, d.arena);
			assert_int_equal(sets.whole_cyclic, walked.whole_cyclic);
			assert_true(sets.cyclic_singles >= walked.cyclic_singles);
			const uint64_t n = lint_elements(graph);
			const uint64_t by_single =
				sets.cyclic_singles * (2 * n - sets.cyclic_singles - 1) / 2;
			const uint64_t walked_by_single =
				walked.cyclic_singles * (2 * n - walked.cyclic_singles - 1) / 2;
			assert_int_equal(sets.unjudged_pairs, 0);
			if (sets.cyclic_pairs + by_single < walked.cyclic_pairs + walked_by_single)
				fail_msg("fabric %u, reroute %d: sets %llu + %llu, walked %llu + "
					 "%llu",
					i, reroute, (unsigned long long)sets.cyclic_pairs,
					(unsigned long long)by_single,
					(unsigned long long)walked.cyclic_pairs,
					(unsigned long long)walked_by_single);
			if (!wide)
				continue;
			assert_int_equal(sets.cyclic_singles, walked.cyclic_singles);
			assert_int_equal(sets.cyclic_pairs, walked.cyclic_pairs);
		}
		lint_engine_free(engine);
		arena_free(d.arena);
	}
}

/* What is known of fabrics that people build. */
static void test_known(void **state)
{
	struct drawn d = drawn_begin(1);
	drawn_two_tiers(&d, 6, 4, 1, 0);
	fabric_sort(d.fabric);
	const struct lint_graph *graph = lint_graph_new(d.fabric, d.arena);
	assert_int_equal(graph->n_links, 24);
	assert_int_equal(graph->n_leaves, 6);
	assert_int_equal(graph->islands, 1);
	struct lint_engine *engine = lint_engine_new(graph);
	struct lint_verdict v = lint_judge(engine, graph, LINT_CONVERGED, 2, LINT_CHOOSE, d.arena);
	assert_false(v.whole_cyclic);
	assert_int_equal(v.pairs, 561);
	assert_int_equal(v.cyclic_singles + v.cyclic_pairs, 0);
	/* any two dead links at different spines: 24 x 18 / 2 */
	v = lint_judge(engine, graph, LINT_LOCAL, 2, LINT_CHOOSE, d.arena);
	assert_int_equal(v.cyclic_singles, 0);
	assert_int_equal(v.cyclic_pairs, 216);
	assert_int_equal(v.n_pair, LINT_EXAMPLES_MAX);
	lint_engine_free(engine);
	arena_free(d.arena);

	/* three tiers: every dead spine lets its cores bounce */
	d = drawn_begin(2);
	drawn_three_tiers(&d, 3, 2, 3, 2);
	fabric_sort(d.fabric);
	graph = lint_graph_new(d.fabric, d.arena);
	engine = lint_engine_new(graph);
	v = lint_judge(engine, graph, LINT_LOCAL, 1, LINT_CHOOSE, d.arena);
	assert_int_equal(v.cyclic_singles, 9);
	v = lint_judge(engine, graph, LINT_LOCAL, 1, LINT_SETS, d.arena);
	assert_int_equal(v.cyclic_singles, 9);
	v = lint_judge(engine, graph, LINT_CONVERGED, 2, LINT_CHOOSE, d.arena);
	assert_int_equal(v.cyclic_singles + v.cyclic_pairs, 0);
	lint_engine_free(engine);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_graph),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
