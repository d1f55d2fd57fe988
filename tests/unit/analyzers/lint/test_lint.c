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
#include "base/cleanup.h"
#include "tests/packetsim/net.h"

#include "lint_fabrics.h"

/* ---- the oracle ---------------------------------------------------------- */

enum { MOST_SWITCHES = 64, MOST_LINKS = 256, MOST_BUFFERS = 4 * MOST_LINKS, NOWHERE = 1000000 };

struct oracle {
	const struct fabric *fabric;
	int n, n_links;
	int end[MOST_LINKS][2]; /* devices, the lower one first */
	bool dead_link[MOST_LINKS], dead[MOST_SWITCHES];
	int whole[MOST_SWITCHES][MOST_SWITCHES]; /* hops, nothing failed: [to][from] */
	int now[MOST_SWITCHES][MOST_SWITCHES];
	enum lint_reroute reroute;
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

/* May a packet for @to that is at @at leave by @link? */
static bool oracle_may(const struct oracle *o, int at, int to, int link)
{
	const int next = oracle_other(o, link, at);
	if (!oracle_lives(o, link))
		return false;
	if (o->reroute == LINT_CONVERGED)
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
		if (in >= 0)
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

/* ---- drawn fabrics ------------------------------------------------------- */

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
				if (want != got)
					fail_msg("reroute %d: oracle %d, engine %d with %u and %u "
						 "failed",
						reroute, want, got, one, two);
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
	const unsigned *cyclic = tally.cyclic, both = cyclic[LINT_CONVERGED] + cyclic[LINT_LOCAL];
	printf("%u sets, with a ring %u, %u, %u, %u\n", tally.sets, cyclic[LINT_CONVERGED],
		cyclic[LINT_LOCAL], cyclic[LINT_BACK], cyclic[LINT_TAGGED]);
	assert_true(tally.sets > 20000 && both > 300 && both < tally.sets / 2 - 1000);
	assert_true(cyclic[LINT_BACK] > cyclic[LINT_LOCAL]);
	assert_int_equal(cyclic[LINT_TAGGED], 0);
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
		for (int reroute = 0; reroute < LINT_REROUTES; reroute++) {
			const struct lint_verdict walked =
				lint_judge(engine, graph, reroute, 2, LINT_WALK, d.arena);
			const struct lint_verdict sets =
				lint_judge(engine, graph, reroute, 2, LINT_SETS, d.arena);
			assert_int_equal(sets.whole_cyclic, walked.whole_cyclic);
			assert_true(sets.cyclic_singles >= walked.cyclic_singles);
			if (reroute == LINT_BACK) {
				assert_int_equal(sets.unjudged_pairs, walked.pairs);
				continue;
			}
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
			for (unsigned part = 1; part <= 10; part += 9) {
				struct fabric_threshold t = {.pmax = NAN, .alpha = NAN};
				/* 2021's tables are for lossless frames of 1 KB */
				struct drawn d =
					one_port(1000000000ull * rows[i].gbit, metres[k], 1024, &t);
				struct lint_list list = {.arena = d.arena};
				t.headroom_bytes = rows[i].xoff[k] / part;
				lint_settings(
					&(struct lint_settings_in){
						.graph = lint_graph_new(d.fabric, d.arena)},
					&list);
				if (found(&list, "headroom") != (part > 1 || k < rows[i].small))
					fail_msg("%u G, %u m, %llu bytes: %s", rows[i].gbit,
						metres[k], (unsigned long long)t.headroom_bytes,
						list.n ? list.findings[0].text : "enough");
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
	struct device_seen device = {.device = d.fabric->devices[0], .pool_bytes = NAN};
	struct port_prio prio = {.kmin = NAN, .alpha = NAN, .headroom = 60000};
	struct port_seen seen = {
		.port = port, .device = &device, .cable_m = NAN, .prios = {[3] = &prio}};
	const struct observed observed = {.fabric = d.fabric, .ports = &seen, .n_fabric_ports = 1};
	const struct lint_change mend = {.device = "leaf0",
					 .priority = 3,
					 .kmin_bytes = NAN,
					 .alpha = NAN,
					 .headroom_bytes = 120000},
				 worse = {.device = "leaf0",
					 .priority = 3,
					 .kmin_bytes = 30e6,
					 .alpha = NAN,
					 .headroom_bytes = 50000};
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
	int ends[MOST_LINKS][2]; /* nodes */
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
	const int at = f->device[node], came = link == UINT32_MAX ? -1 : (int)link;
	const int to = f->device[f->net->flows[flow].dst / PLAY_HOSTS];
	int may[MOST_LINKS], out;
	if (f->n_flows > 0) {
		const struct flood_flow *of = &f->flows[flow % (uint32_t)f->n_flows];
		out = came < 0 ? of->first : of->next[flood_buffer(f, came, at)];
	} else {
		const int n = flood_choices(f, at, to, came, may);
		out = n ? may[mixed(f->salt ^ (uint64_t)flow << 32 ^ node) % (uint64_t)n] : -1;
	}
	return out < 0 ? UINT32_MAX : (uint32_t)out;
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

static void play_settings(struct net *net)
{
	for (size_t i = 0; i < net->n_nodes; i++)
		net->nodes[i].shared_size = (uint64_t)net->nodes[i].n_ports * PLAY_ROOM;
	for (size_t i = 0; i < net->n_ports; i++) {
		net->ports[i].marks = false;
		net->ports[i].alpha = 0.5;
		net->ports[i].headroom_size = PLAY_HEADROOM;
		net->ports[i].xon_offset = 2 * PAYLOAD;
	}
}

static bool flood_deadlocks(struct flood *f)
{
	const struct net_wiring wiring = {(unsigned)f->o->n_links, f->ends, play_route, f};
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
	play_settings(net);
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
	for (int k = 0; k < 2 * f->o->n_links; k++)
		f->ends[k / 2][k % 2] = f->node[f->o->end[k / 2][k % 2]];
}

struct flood_tally { /* of one way to reroute */
	unsigned safe, safe_stuck, rings, all_stuck, witness_stuck, either_stuck;
};

static void flood_judge(struct flood *f, struct lint_engine *engine, enum lint_reroute reroute,
	const struct lint_failures *failures, struct flood_tally *tally)
{
	struct lint_ring ring = {0};
	const bool truth = oracle_cyclic(f->o, f->graph, reroute, failures); /* sets what is dead */
	const bool cyclic = lint_cyclic(engine, reroute, failures, &ring, f->d->arena);
	assert_int_equal(cyclic, truth);
	f->n_flows = 0;
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
	tally->either_stuck += stuck || plays_stuck;
}

/*
 * Nothing is stuck that is called safe, so every deadlock that packets come to is foretold; and the
 * traffic of a witness is stuck. RW_LINT_FLOODS: how many fabrics, RW_LINT_FLOOD_FIRST: from which
 * on (docs/lint.md has the figures of many).
 */
static void test_flood(void **state)
{
	static const enum lint_reroute ways[] = {LINT_CONVERGED, LINT_CONVERGED, LINT_LOCAL,
		LINT_LOCAL, LINT_LOCAL, LINT_LOCAL, LINT_BACK};
	const char *word = getenv("RW_LINT_FLOODS"), *from = getenv("RW_LINT_FLOOD_FIRST");
	const unsigned fabrics = word ? (unsigned)atoi(word) : 24,
		       first = from ? (unsigned)atoi(from) : 0;
	struct flood_tally tally[LINT_REROUTES] = {0};
	unsigned rings = 0, witness = 0, without = 0;
	struct oracle *o = rw_calloc(1, sizeof(*o));
	struct flood *f = rw_calloc(1, sizeof(*f));
	for (unsigned i = first; i < first + fabrics; i++) {
		struct drawn d = drawn_begin(5000 + i);
		if (i % 3 == 0)
			draw_fabric(&d, i);
		else if (i % 3 == 1)
			drawn_two_tiers(&d, 4 + i / 3 % 3, 2 + i / 9 % 3, 1, i / 27 % 2);
		else
			drawn_three_tiers(&d, 3, 2, 2, 2);
		fabric_sort(d.fabric);
		f->graph = lint_graph_new(d.fabric, d.arena);
		f->o = o;
		f->d = &d;
		struct lint_engine *engine = lint_engine_new(f->graph);
		oracle_links(o, f->graph);
		flood_nodes(f);
		const unsigned before = tally[LINT_CONVERGED].rings + tally[LINT_LOCAL].rings;
		for (unsigned k = 0; k < rw_countof(ways); k++) {
			const uint32_t n = (uint32_t)lint_elements(f->graph);
			const uint32_t links = (uint32_t)f->graph->n_links;
			struct lint_failures failures = {.n = 1 + k % 2};
			failures.v[0] = draw(&d, links);
			failures.v[1] = draw(&d, links);
			if (k > 3) /* a switch in place of a link */
				failures.v[0] = links + draw(&d, n - links);
			flood_judge(f, engine, ways[k], &failures, &tally[ways[k]]);
		}
		without += tally[LINT_CONVERGED].rings + tally[LINT_LOCAL].rings == before;
		lint_engine_free(engine);
		arena_free(d.arena);
	}
	free(o);
	free(f);
	printf("%u fabrics, %u without a ring but for sending back\n", fabrics, without);
	for (int way = 0; way < LINT_TAGGED; way++) {
		const struct flood_tally *t = &tally[way];
		printf("way %d: %u safe, %u of them stuck; %u with a ring, %u stuck with all "
		       "traffic, %u with that of the witness, %u with either\n",
			way, t->safe, t->safe_stuck, t->rings, t->all_stuck, t->witness_stuck,
			t->either_stuck);
		assert_int_equal(t->safe_stuck, 0);
		rings += t->rings;
		witness += t->witness_stuck;
	}
	assert_true(rings > fabrics / 6 && tally[LINT_LOCAL].safe > fabrics);
	assert_true(witness * 100 >= rings * 95);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_graph),
		cmocka_unit_test(test_headroom_published),
		cmocka_unit_test(test_in_force),
		cmocka_unit_test(test_planes),
		cmocka_unit_test(test_flood),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
