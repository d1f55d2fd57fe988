/* links: which end tells of a link, which links are alike, and medians that leave the link itself
 * out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "analyzers/measure/links.h"
#include "db/model/entity.h"

/* leaf1 and leaf2 with two hosts each, spine1 with a link to each leaf. The spine comes first in
 * the fabric's order. */
enum { SPINE_TO_1, SPINE_TO_2, L1_HOST_A, L1_HOST_B, L1_UP, L2_HOST_A, L2_HOST_C, L2_UP, PORTS };
enum { SPINE1, LEAF1, LEAF2, DEVICES };

struct world {
	struct arena *arena;
	struct fabric_device dev[DEVICES];
	struct fabric_port port[PORTS];
	struct device_seen devices[DEVICES];
	struct port_seen ports[PORTS];
	struct observed o;
	struct links links;
};

static void join(struct world *w, int a, int b)
{
	w->port[a].peer = &w->port[b];
	w->port[b].peer = &w->port[a];
}

static struct world *world_new(void)
{
	static struct world w;
	static const int owner[PORTS] = {SPINE1, SPINE1, LEAF1, LEAF1, LEAF1, LEAF2, LEAF2, LEAF2};
	static const char *const hosts[PORTS] = {
		[L1_HOST_A] = "a", [L1_HOST_B] = "b", [L2_HOST_A] = "a", [L2_HOST_C] = "c"};
	w = (struct world){.arena = arena_new()};
	w.dev[SPINE1] = (struct fabric_device){.name = "spine1", .role = ROLE_SPINE};
	w.dev[LEAF1] = (struct fabric_device){.name = "leaf1", .role = ROLE_LEAF};
	w.dev[LEAF2] = (struct fabric_device){.name = "leaf2", .role = ROLE_LEAF};
	for (int i = 0; i < DEVICES; i++)
		w.devices[i] = (struct device_seen){.device = &w.dev[i], .n_series = 1};
	for (int i = 0; i < PORTS; i++) {
		w.port[i] = (struct fabric_port){.name = "p",
			.device = &w.dev[owner[i]],
			.alias = "",
			.host = hosts[i],
			.host_nic = "",
			.index = (uint32_t)i};
		w.ports[i] = (struct port_seen){.port = &w.port[i],
			.device = &w.devices[owner[i]],
			.entity = 1,
			.oper_up = NAN,
			.rx_power_dbm = NAN};
	}
	join(&w, SPINE_TO_1, L1_UP);
	join(&w, SPINE_TO_2, L2_UP);
	w.o = (struct observed){.devices = w.devices,
		.n_devices = DEVICES,
		.ports = w.ports,
		.n_ports = PORTS,
		.n_fabric_ports = PORTS};
	return &w;
}

static double light(const struct port_seen *p)
{
	return p->rx_power_dbm;
}

static const struct link *link_at(const struct world *w, int port)
{
	for (size_t i = 0; i < w->links.n; i++)
		if (w->links.v[i].near == &w->ports[port])
			return &w->links.v[i];
	return NULL;
}

static void a_link_is_told_once_at_the_end_nearer_to_the_hosts(void **state)
{
	struct world *w = world_new();
	links_find(&w->o, w->arena, &w->links);
	assert_int_equal(w->links.n, 6);
	assert_null(link_at(w, SPINE_TO_1));
	assert_ptr_equal(link_at(w, L1_UP)->far, &w->ports[SPINE_TO_1]);
	assert_int_equal(link_at(w, L1_UP)->kind, LINK_SWITCH);
	assert_int_equal(link_at(w, L1_HOST_A)->kind, LINK_HOST);
	assert_null(link_at(w, L1_HOST_A)->far);
	assert_true(link_alike(link_at(w, L1_UP), link_at(w, L2_UP)));
	assert_false(link_alike(link_at(w, L1_UP), link_at(w, L1_HOST_A)));
	arena_free(w->arena);
}

static void links_of_a_switch_and_of_a_host(void **state)
{
	struct world *w = world_new();
	links_find(&w->o, w->arena, &w->links);
	const struct link *v;
	assert_int_equal(links_of_device(&w->links, link_at(w, L1_HOST_B), &v), 3);
	assert_ptr_equal(v, link_at(w, L1_HOST_A));
	const struct link *const *h;
	assert_int_equal(links_of_host(&w->links, "a", &h), 2);
	assert_ptr_equal(h[0], link_at(w, L1_HOST_A));
	assert_ptr_equal(h[1], link_at(w, L2_HOST_A));
	assert_int_equal(links_of_host(&w->links, "b", &h), 1);
	assert_int_equal(links_of_host(&w->links, "nobody", &h), 0);
	arena_free(w->arena);
}

static void medians_leave_the_link_itself_out(void **state)
{
	static const struct {
		const char *what;
		double a, b, c, d; /* of four host ports; the first one asks */
		size_t least;
		double want;
	} rows[] = {
		{"three others", -9, -2, -1, -3, 2, -2},
		{"the asking one does not pull", 100, 1, 2, 3, 2, 2},
		{"equal to another one", 2, 2, 1, 5, 2, 2},
		{"an unknown one is not counted", 7, NAN, 4, 6, 2, 5},
		{"too few", 7, NAN, NAN, 6, 2, NAN},
		{"it is unknown itself", NAN, 1, 3, 8, 2, 3},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = world_new();
		w->ports[L1_HOST_A].rx_power_dbm = rows[i].a;
		w->ports[L1_HOST_B].rx_power_dbm = rows[i].b;
		w->ports[L2_HOST_A].rx_power_dbm = rows[i].c;
		w->ports[L2_HOST_C].rx_power_dbm = rows[i].d;
		links_find(&w->o, w->arena, &w->links);
		const double got =
			link_median(&w->links, link_at(w, L1_HOST_A), light, rows[i].least);
		if (!(got == rows[i].want) && !(isnan(got) && isnan(rows[i].want)))
			fail_msg("%s: %g, expected %g", rows[i].what, got, rows[i].want);
		arena_free(w->arena);
	}
}

static void both_ends_of_a_link_are_left_out(void **state)
{
	struct world *w = world_new();
	/* alike: each must be taken away once */
	w->ports[L1_UP].rx_power_dbm = w->ports[SPINE_TO_1].rx_power_dbm = -2;
	w->ports[L2_UP].rx_power_dbm = -2;
	w->ports[SPINE_TO_2].rx_power_dbm = -6;
	links_find(&w->o, w->arena, &w->links);
	assert_true(link_median(&w->links, link_at(w, L1_UP), light, 2) == -4);
	assert_true(isnan(link_median(&w->links, link_at(w, L1_UP), light, 3)));
	assert_true(link_median(&w->links, link_at(w, L2_UP), light, 2) == -2);
	arena_free(w->arena);
}

/* ---- the speed a link should have ------------------------------------------------ */

enum { CLASS_LEAVES = 6, CLASS_PORTS = 8 };
#define SPINE CLASS_LEAVES

/* Leaves with links to hosts, and a spine. Speeds in 100 Gbit/s: 0 none, negative: it is down. */
struct class_world {
	struct fabric_device dev[CLASS_LEAVES + 1];
	struct fabric_port port[2 * CLASS_LEAVES * CLASS_PORTS];
	struct device_seen devices[CLASS_LEAVES + 1];
	struct port_seen ports[2 * CLASS_LEAVES * CLASS_PORTS];
	struct observed o;
	struct links links;
};

static struct port_seen *class_port(struct class_world *w, unsigned device, int speed)
{
	const size_t at = w->o.n_ports++;
	w->port[at] = (struct fabric_port){.name = "p",
		.device = &w->dev[device],
		.alias = "",
		.host_nic = "",
		.index = (uint32_t)at};
	w->ports[at] = (struct port_seen){.port = &w->port[at],
		.device = &w->devices[device],
		.entity = 1,
		.oper_up = speed > 0,
		.out.read_bps = 100000000000ull * (unsigned)abs(speed)};
	w->o.n_fabric_ports = w->o.n_ports;
	return &w->ports[at];
}

static const struct class_row {
	int hosts[CLASS_LEAVES][CLASS_PORTS + 1]; /* 0: the end. The first link of leaf1 asks */
	enum link_reference by;
	int should; /* in 100 Gbit/s */
	size_t own, faster; /* of two classes */
} class_rows[] = {
	/* two others; one alone; two that are down */
	{{{1, 4, 4}}, LINK_BY_SIBLINGS, 4, 0, 0},
	{{{4, 1, 1}}, LINK_BY_SIBLINGS, 4, 0, 0},
	{{{1, 4}}, LINK_BY_PAIR, 1, 0, 0},
	{{{1, -4, -4}}, LINK_BY_PAIR, 1, 0, 0},
	/* more than half of the others, or three times as many as are slow */
	{{{1, 4, 2}}, LINK_TWO_CLASSES, 1, 1, 1},
	{{{1, 1, 4, 4}}, LINK_TWO_CLASSES, 1, 2, 2},
	{{{1, 1, 4, 4, 4, 4, 4, 4}}, LINK_BY_SIBLINGS, 4, 0, 0},
	{{{1, 1, 4, 4, 4, 4, 4}}, LINK_TWO_CLASSES, 1, 2, 5},
	{{{1, 1, 4, 4, 4, 4, 4}, {4}}, LINK_BY_SIBLINGS, 4, 0, 0},
	{{{1, 1, 1, 4}}, LINK_BY_SIBLINGS, 1, 0, 0},
	/* slow ones on two of three switches, on three of five, on three of six */
	{{{1, 4, 4, 4, 4}, {1, 4, 4, 4, 4}, {4}}, LINK_BY_SIBLINGS, 4, 0, 0},
	{{{1, 4, 4, 4, 4}, {1, 4, 4, 4, 4}, {1, 4, 4, 4, 4}, {4}, {4}}, LINK_TWO_CLASSES, 1, 3, 14},
	{{{1, 4, 4, 4, 4}, {1, 4, 4, 4, 4}, {1, 4, 4, 4, 4}, {4}, {4}, {4}}, LINK_BY_SIBLINGS, 4, 0,
		0},
	/* four of one switch, three; a pair at each of two, at one of two */
	{{{1, 1, 1, 1, 4, 4, 4, 4}, {4, 4, 4, 4, 4, 4, 4, 4}}, LINK_TWO_CLASSES, 1, 4, 12},
	{{{1, 1, 1, 4, 4, 4, 4, 4}, {4, 4, 4, 4, 4, 4, 4, 4}}, LINK_BY_SIBLINGS, 4, 0, 0},
	{{{1, 1, 4, 4, 4, 4, 4, 4}, {1, 1, 4, 4, 4, 4, 4, 4}}, LINK_TWO_CLASSES, 1, 4, 12},
	{{{1, 1, 4, 4, 4, 4, 4, 4}, {4, 4, 4, 4, 4, 4, 4, 4}}, LINK_BY_SIBLINGS, 4, 0, 0},
	/* one below the slower class of its switch */
	{{{1, 2, 2, 2, 2, 4, 4, 4}, {4, 4, 4, 4, 4, 4, 4, 4}}, LINK_BY_SIBLINGS, 2, 0, 0},
};

static struct class_world *class_world_new(struct arena *a)
{
	struct class_world *w = arena_new_of(a, struct class_world);
	*w = (struct class_world){.o = {.ports = w->ports, .devices = w->devices}};
	for (unsigned d = 0; d <= SPINE; d++) {
		w->dev[d] = (struct fabric_device){.name = d == SPINE ? "spine" : "leaf",
			.role = d == SPINE ? ROLE_SPINE : ROLE_LEAF};
		w->devices[d] = (struct device_seen){.device = &w->dev[d], .n_series = 1};
	}
	return w;
}

static void what_siblings_say_of_a_speed(void **state)
{
	for (size_t i = 0; i < rw_countof(class_rows); i++) {
		const struct class_row *row = &class_rows[i];
		struct arena *a = arena_new();
		struct class_world *w = class_world_new(a);
		for (unsigned d = 0; d < CLASS_LEAVES; d++)
			for (unsigned k = 0; row->hosts[d][k]; k++) {
				class_port(w, d, row->hosts[d][k]);
				w->port[w->o.n_ports - 1].host = "h";
			}
		links_find(&w->o, a, &w->links);
		struct link_class class;
		assert_true(link_class(&w->links, &w->links.v[0], &class));
		if (class.by != row->by ||
			class.should_bps != (uint64_t)row->should * 100000000000ull ||
			class.n_own != row->own || class.n_faster != row->faster)
			fail_msg("row %zu: by %d, %g, %zu and %zu", i, (int)class.by,
				(double)class.should_bps, class.n_own, class.n_faster);
		arena_free(a);
	}
}

/* Of two links between switches the slower one is wrong; a declared speed comes before all; the
 * slower end is the speed of a link, and either end takes it down. */
static void links_between_switches(void **state)
{
	static const struct {
		int near, far, other, declared, own, should; /* own 0: not judged */
	} rows[] = {{1, 1, 4, 0, 1, 4}, {4, 1, 4, 0, 1, 4}, {1, 4, 4, 0, 1, 4}, {4, 4, 1, 0, 4, 1},
		{1, 1, 1, 4, 1, 4}, {4, -4, 4, 0, 0, 0}, {-4, 4, 4, 0, 0, 0}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct arena *a = arena_new();
		struct class_world *w = class_world_new(a);
		const int ends[] = {rows[i].near, rows[i].other, rows[i].far, rows[i].other};
		for (unsigned k = 0; k < 4; k++)
			class_port(w, k < 2 ? k : SPINE, ends[k]);
		for (unsigned k = 0; k < 2; k++) {
			w->port[k].peer = &w->port[k + 2];
			w->port[k + 2].peer = &w->port[k];
		}
		w->port[0].speed_bps = 100000000000ull * (unsigned)rows[i].declared;
		links_find(&w->o, a, &w->links);
		struct link_class class = {0};
		link_class(&w->links, &w->links.v[0], &class);
		assert_int_equal(class.own_bps / 100000000000ull, rows[i].own);
		assert_int_equal(class.should_bps / 100000000000ull, rows[i].should);
		arena_free(a);
	}
}

/* All links of a spine, two at least, are a class of their own; some of them are faults. */
static void a_slower_spine(void **state)
{
	static const struct {
		unsigned leaves,
			links; /* links of each leaf to the spine; thrice as many elsewhere */
		unsigned slow[2];
		size_t faults, classes;
	} rows[] = {{2, 1, {1, 1}, 0, 2}, {2, 1, {1, 0}, 1, 0}, {1, 1, {1}, 1, 0},
		{2, 2, {1, 2}, 3, 0}, {2, 2, {0, 0}, 0, 0}};
	enum { FAST_SPINE = SPINE - 1 };
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct arena *a = arena_new();
		struct class_world *w = class_world_new(a);
		w->dev[FAST_SPINE].role = ROLE_SPINE;
		struct fabric_port *to_spine[4];
		size_t n = 0, faults = 0, classes = 0;
		for (unsigned d = 0; d < rows[i].leaves; d++)
			for (unsigned k = 0; k < 4 * rows[i].links; k++) {
				class_port(w, d, k < rows[i].slow[d] ? 1 : 4);
				if (k < rows[i].links)
					to_spine[n++] = &w->port[w->o.n_ports - 1];
			}
		const size_t near = w->o.n_ports;
		w->devices[SPINE].ports = &w->ports[near];
		w->devices[SPINE].n_ports = n;
		for (size_t k = 0; k < n; k++) {
			class_port(w, SPINE, 4);
			to_spine[k]->peer = &w->port[near + k];
			w->port[near + k].peer = to_spine[k];
		}
		for (size_t k = 0; k < near; k++)
			if (!w->port[k].peer) {
				class_port(w, FAST_SPINE, 4);
				w->port[k].peer = &w->port[w->o.n_ports - 1];
				w->port[w->o.n_ports - 1].peer = &w->port[k];
			}
		links_find(&w->o, a, &w->links);
		for (size_t k = 0; k < w->links.n; k++) {
			struct link_class class;
			assert_true(link_class(&w->links, &w->links.v[k], &class));
			faults += class.own_bps < class.should_bps;
			classes += class.by == LINK_TWO_CLASSES;
		}
		if (faults != rows[i].faults || classes != rows[i].classes)
			fail_msg("row %zu: %zu faults, %zu in classes", i, faults, classes);
		arena_free(a);
	}
}

static void the_load_of_a_port(void **state)
{
	struct port_seen p = {
		.out = {.rate_bps = 1e9, .capacity_bps = 4000000000}, .in.rate_bps = 2e9};
	assert_true(isnan(port_load(&p)));
	p.out_known = true;
	assert_true(port_load(&p) == 0.25);
	p.in_known = true;
	assert_true(port_load(&p) == 0.5);
	p.out.capacity_bps = 0;
	assert_true(port_load(&p) == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_is_told_once_at_the_end_nearer_to_the_hosts),
		cmocka_unit_test(links_of_a_switch_and_of_a_host),
		cmocka_unit_test(medians_leave_the_link_itself_out),
		cmocka_unit_test(both_ends_of_a_link_are_left_out),
		cmocka_unit_test(what_siblings_say_of_a_speed),
		cmocka_unit_test(links_between_switches),
		cmocka_unit_test(a_slower_spine),
		cmocka_unit_test(the_load_of_a_port),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
