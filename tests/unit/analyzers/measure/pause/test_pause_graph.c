/* pause_graph: leaves and spines observed by hand, one pause picture a test. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/str.h"
#include "analyzers/analyzer.h"
#include "analyzers/measure/pause/pause_graph.h"
#include "analyzers/detect/pause_finding.h"

#define G 1000000000ull

/* Ports of a leaf: hosts first, then one to each spine; of a spine: one to each leaf. */
struct world {
	struct arena *a;
	unsigned leaves, spines, hosts;
	struct fabric fabric;
	struct observed o;
	struct analyzer_shared shared;
	const struct pause_graph *g;
};

static struct device_seen *leaf(struct world *w, unsigned i)
{
	return &w->o.devices[i - 1];
}
static struct device_seen *spine(struct world *w, unsigned i)
{
	return &w->o.devices[w->leaves + i - 1];
}
static struct port_seen *host_port(struct world *w, unsigned l, unsigned h)
{
	return &leaf(w, l)->ports[h - 1];
}
static struct port_seen *up(struct world *w, unsigned l, unsigned s)
{
	return &leaf(w, l)->ports[w->hosts + s - 1];
}
static struct port_seen *down(struct world *w, unsigned s, unsigned l)
{
	return &spine(w, s)->ports[l - 1];
}

static void add_device(
	struct world *w, size_t i, const char *name, enum device_role role, unsigned ports)
{
	struct fabric_device *d = arena_new_of(w->a, struct fabric_device);
	*d = (struct fabric_device){.name = name,
		.role = role,
		.n_ports = ports,
		.index = (uint32_t)i,
		.ports = arena_array(w->a, struct fabric_port *, ports)};
	w->fabric.devices[i] = d;
	w->o.devices[i] = (struct device_seen){
		.device = d, .ports = &w->o.ports[w->o.n_ports], .n_ports = ports, .n_series = 1};
	for (unsigned k = 0; k < ports; k++) {
		struct port_seen *p = &w->o.ports[w->o.n_ports];
		struct fabric_port *f = d->ports[k] = arena_new_of(w->a, struct fabric_port);
		*f = (struct fabric_port){.name = arena_printf(w->a, "Eth%u", k + 1),
			.device = d,
			.alias = "",
			.host_nic = "",
			.speed_bps = 400 * G,
			.index = (uint32_t)w->o.n_ports++};
		*p = (struct port_seen){
			.port = f, .device = &w->o.devices[i], .in_fabric = true, .oper_up = 1};
		p->out.declared_bps = p->out.capacity_bps = f->speed_bps;
		for (int c = 0; c < OBSERVED_PRIORITIES; c++)
			p->class_octets[c] = NAN;
	}
}

static void init(struct world *w, unsigned leaves, unsigned spines, unsigned hosts)
{
	*w = (struct world){.a = arena_new(), .leaves = leaves, .spines = spines, .hosts = hosts};
	const size_t devices = leaves + spines,
		     ports = (size_t)leaves * (hosts + spines) + (size_t)spines * leaves;
	w->fabric = (struct fabric){.name = "test",
		.devices = arena_array(w->a, struct fabric_device *, devices),
		.n_devices = devices,
		.lossless_mask = 1 << 3};
	w->o = (struct observed){.fabric = &w->fabric,
		.devices = arena_array(w->a, struct device_seen, devices),
		.n_devices = devices,
		.ports = arena_array(w->a, struct port_seen, ports),
		.n_fabric_ports = ports};
	for (unsigned i = 0; i < leaves; i++)
		add_device(w, i, arena_printf(w->a, "leaf%u", i + 1), ROLE_LEAF, hosts + spines);
	for (unsigned i = 0; i < spines; i++)
		add_device(w, leaves + i, arena_printf(w->a, "spine%u", i + 1), ROLE_SPINE, leaves);
	for (unsigned l = 1; l <= leaves; l++) {
		for (unsigned h = 1; h <= hosts; h++)
			((struct fabric_port *)host_port(w, l, h)->port)->host =
				arena_printf(w->a, "node-%u-%u", l, h);
		for (unsigned s = 1; s <= spines; s++) {
			((struct fabric_port *)up(w, l, s)->port)->peer =
				(struct fabric_port *)down(w, s, l)->port;
			((struct fabric_port *)down(w, s, l)->port)->peer =
				(struct fabric_port *)up(w, l, s)->port;
		}
	}
	w->shared = (struct analyzer_shared){.arena = w->a, .observed = &w->o};
}

static struct port_prio *lane(struct world *w, struct port_seen *p, int priority)
{
	if (!p->prios[priority]) {
		const struct pause_share none = {.lo = NAN, .hi = NAN};
		p->prios[priority] = arena_new_of(w->a, struct port_prio);
		*p->prios[priority] = (struct port_prio){.port = p,
			.priority = priority,
			.lossless = true,
			.rx_pause = none,
			.tx_pause = none,
			.queue_peak = NAN,
			.pfc_enabled = NAN};
		arena_grow_pow2(w->a, w->o.prios, w->o.n_prios);
		w->o.prios[w->o.n_prios++] = p->prios[priority];
	}
	return p->prios[priority];
}

static struct pause_share measured(double share)
{
	return (struct pause_share){.lo = share,
		.hi = share,
		.measured = true,
		.alive = share > 0,
		.quality = QUALITY_EXACT};
}
static struct pause_share bound(double share)
{
	return (struct pause_share){
		.lo = 0, .hi = share, .alive = share > 0, .quality = QUALITY_ESTIMATED};
}
static void rx(struct world *w, struct port_seen *p, double share)
{
	lane(w, p, 3)->rx_pause = measured(share);
}
static void tx(struct world *w, struct port_seen *p, double share)
{
	lane(w, p, 3)->tx_pause = measured(share);
}
static void still(struct port_seen *p)
{
	p->class_octets[3] = 0;
}

static void graph(struct world *w)
{
	const struct analyzer_in in = {.fabric = &w->fabric, .arena = w->a, .shared = &w->shared};
	w->shared.pause = NULL;
	w->g = pause_graph(&in);
	assert_ptr_equal(w->g, pause_graph(&in)); /* made once */
}

static size_t clear_roots(const struct world *w)
{
	size_t n = 0;
	for (size_t i = 0; i < w->g->n_roots; i++)
		n += w->g->roots[i].clear;
	return n;
}

/* ---- edges --------------------------------------------------------------- */

static void test_two_ends_of_one_fact(void **state)
{
	const struct {
		struct pause_share rx, tx;
		double lo, hi;
		bool measured, none;
	} rows[] = {
		{measured(0.2), bound(0.9), 0.2, 0.2, true, false},
		{bound(0.9), measured(0.2), 0.2, 0.2, true, false},
		/* a counter that never moved is not believed against one that counts */
		{measured(0), bound(0.9), 0, 0.9, false, false},
		{measured(0.2), measured(0), 0.2, 0.2, true, false},
		{bound(0.4), bound(0.3), 0, 0.3, false, false},
		{bound(0.4), bound(0), 0, 0.4, false, false},
		{measured(0), measured(0), 0, 0, true, true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world w;
		init(&w, 2, 1, 1);
		lane(&w, down(&w, 1, 1), 3)->rx_pause = rows[i].rx;
		lane(&w, up(&w, 1, 1), 3)->tx_pause = rows[i].tx;
		graph(&w);
		assert_int_equal(w.g->n_edges, rows[i].none ? 0 : 1);
		if (!rows[i].none) {
			assert_ptr_equal(w.g->edges[0].at, down(&w, 1, 1));
			assert_ptr_equal(w.g->edges[0].by, up(&w, 1, 1));
			assert_float_equal(w.g->edges[0].lo, rows[i].lo, 1e-9);
			assert_float_equal(w.g->edges[0].hi, rows[i].hi, 1e-9);
			assert_int_equal(w.g->edges[0].measured, rows[i].measured);
		}
		arena_free(w.a);
	}
}

/* Frames weigh what a frame lasts where both are counted: here a tenth of the longest. */
static void test_bounds_are_calibrated(void **state)
{
	struct world w;
	init(&w, 1, 1, 3);
	const double longest_ns = pause_frame_max_ns(400 * G);
	struct port_prio *known = lane(&w, host_port(&w, 1, 1), 3),
			 *frames = lane(&w, host_port(&w, 1, 2), 3);
	known->rx_pause = measured(0.1);
	known->rx_pause_ns = (struct amount){
		.value = 1e9, .covered_ns = 10 * (int64_t)G, .known = true, .alive = true};
	known->rx_frames = (struct amount){.value = 1e10 / longest_ns,
		.covered_ns = 10 * (int64_t)G,
		.known = true,
		.alive = true};
	frames->rx_frames = (struct amount){.value = 5e9 / longest_ns,
		.covered_ns = 10 * (int64_t)G,
		.known = true,
		.alive = true};
	frames->rx_pause = bound(0.5);
	graph(&w);
	assert_int_equal(w.g->n_edges, 2);
	assert_float_equal(w.g->edges[0].weight, 0.1, 1e-6);
	assert_float_equal(w.g->edges[1].weight, 0.05, 1e-6);
	arena_free(w.a);
}

/* ---- roots --------------------------------------------------------------- */

static void test_slow_host_is_the_root_of_its_tree(void **state)
{
	struct world w;
	init(&w, 3, 2, 3);
	rx(&w, host_port(&w, 2, 1), 0.64);
	for (unsigned s = 1; s <= 2; s++) {
		rx(&w, down(&w, s, 2), 0.2);
		rx(&w, up(&w, 1, s), 0.08);
	}
	for (unsigned h = 1; h <= 3; h++)
		tx(&w, host_port(&w, 1, h), 0.01 * h);
	graph(&w);
	const struct pause_root *r = &w.g->roots[0];
	assert_int_equal(r->origin, ORIGIN_HOST);
	assert_string_equal(r->host, "node-2-1");
	assert_true(r->clear && r->share > 0.95);
	assert_int_equal(r->n_direct, 3); /* the leaf itself and two spines */
	assert_int_equal(r->n_indirect, 5); /* two uplinks and three hosts of leaf1 */
	assert_int_equal(r->n_switches, 4);
	assert_int_equal(r->n_hosts, 3);
	assert_int_equal(pause_ladder(r), 3);
	assert_int_equal(clear_roots(&w), 1);
	assert_ptr_equal(r->port, host_port(&w, 2, 1));
	arena_free(w.a);
}

static void test_full_queue_is_a_root(void **state)
{
	struct world w;
	init(&w, 2, 2, 4);
	for (unsigned h = 1; h <= 4; h++)
		lane(&w, host_port(&w, 1, h), 3)->queue_peak = h == 3 ? 2e6 : 1e5;
	for (unsigned s = 1; s <= 2; s++) {
		rx(&w, down(&w, s, 1), 0.05);
		lane(&w, up(&w, 1, s), 3)->queue_peak = 1e5;
	}
	graph(&w);
	assert_int_equal(w.g->roots[0].origin, ORIGIN_QUEUE);
	assert_ptr_equal(w.g->roots[0].port, host_port(&w, 1, 3));
	assert_true(w.g->roots[0].clear && w.g->roots[0].share > 0.95);
	arena_free(w.a);
}

/* Where nothing tells depths, the queue that marks is blamed: not one whose share is of a few
 * packets, nor one whose port is down. */
static void test_marks_tell_the_queue(void **state)
{
	for (int without = 0; without < 2; without++) {
		struct world w;
		init(&w, 2, 1, 4);
		rx(&w, down(&w, 1, 1), 0.05);
		for (unsigned h = 1; h <= 4; h++) {
			struct port_prio *l = lane(&w, host_port(&w, 1, h), 3);
			l->out_packets =
				(struct amount){.known = true, .alive = true, .value = 1e6};
			l->marked = (struct amount){
				.known = true, .alive = true, .value = h == 3 ? 1e5 : 0};
		}
		struct port_prio *other = lane(&w, host_port(&w, 1, 2), 3);
		other->marked.value = 9e5;
		if (without)
			host_port(&w, 1, 2)->oper_up = 0;
		else
			other->out_packets.value = 900; /* all of them marked, and then some */
		graph(&w);
		assert_true(w.g->n_roots >= 1);
		assert_ptr_equal(w.g->roots[0].port, host_port(&w, 1, 3));
		assert_true(w.g->roots[0].clear);
		arena_free(w.a);
	}
}

/* What came down from a spine did not go up again: a full uplink of that leaf is not blamed for it.
 */
static void test_no_valley(void **state)
{
	struct world w;
	init(&w, 2, 2, 2);
	rx(&w, down(&w, 1, 1), 0.1);
	lane(&w, up(&w, 1, 2), 3)->queue_peak = 9e6;
	lane(&w, host_port(&w, 1, 1), 3)->queue_peak = 1e6;
	lane(&w, host_port(&w, 1, 2), 3)->queue_peak = 1e4;
	graph(&w);
	for (size_t i = 0; i < w.g->n_roots; i++)
		assert_ptr_not_equal(w.g->roots[i].port, up(&w, 1, 2));
	assert_ptr_equal(w.g->roots[0].port, host_port(&w, 1, 1));
	arena_free(w.a);
}

static void test_two_hosts_are_two_roots(void **state)
{
	struct world w;
	init(&w, 2, 1, 2);
	rx(&w, host_port(&w, 1, 1), 0.3);
	rx(&w, host_port(&w, 2, 2), 0.28);
	rx(&w, down(&w, 1, 1), 0.05);
	rx(&w, down(&w, 1, 2), 0.05);
	graph(&w);
	assert_int_equal(clear_roots(&w), 2);
	assert_float_equal(w.g->pressure[3], 0.68, 1e-9);
	arena_free(w.a);
}

/* Members of one bundle are one cause: none of them alone holds 40 %, together they do. */
static void test_uplinks_of_a_leaf_are_one_cause(void **state)
{
	struct world w;
	init(&w, 2, 4, 2);
	for (unsigned s = 1; s <= 4; s++)
		lane(&w, up(&w, 1, s), 3)->queue_peak = 1e6;
	for (unsigned h = 1; h <= 2; h++)
		tx(&w, host_port(&w, 1, h), 0.1);
	graph(&w);
	assert_int_equal(w.g->n_roots, 4);
	assert_int_equal(clear_roots(&w), 4);
	assert_true(w.g->roots[0].share < 0.3 && w.g->roots[0].joint_share > 0.95);
	arena_free(w.a);
}

static void test_nothing_to_go_by_is_no_root(void **state)
{
	struct world w;
	init(&w, 2, 2, 2);
	rx(&w, down(&w, 1, 1), 0.1);
	rx(&w, down(&w, 2, 2), 0.1);
	graph(&w);
	assert_int_equal(w.g->n_roots, 0);
	assert_float_equal(w.g->unresolved[3], 0.2, 1e-9);
	arena_free(w.a);
}

/* ---- rings --------------------------------------------------------------- */

static void stuck(struct world *w, struct port_seen *p)
{
	rx(w, p, 1);
	still(p);
}

static void ring(struct world *w)
{
	stuck(w, up(w, 1, 1));
	stuck(w, down(w, 1, 2));
	stuck(w, up(w, 2, 2));
	stuck(w, down(w, 2, 1));
}

static void test_ring(void **state)
{
	struct world w;
	init(&w, 2, 2, 1);
	ring(&w);
	graph(&w);
	assert_int_equal(w.g->n_cycles, 1);
	const struct pause_cycle *c = &w.g->cycles[0];
	assert_int_equal(c->n, 4);
	assert_true(c->still && c->measured && !c->fed);
	for (size_t i = 0; i < c->n; i++)
		assert_ptr_equal(c->edges[i]->by->device, c->edges[(i + 1) % c->n]->at->device);

	up(&w, 2, 2)->class_octets[3] = 4096; /* one of them moves */
	graph(&w);
	assert_int_equal(w.g->n_cycles, 0);

	still(up(&w, 2, 2));
	rx(&w, up(&w, 2, 2), 0.8); /* one of them is free now and then */
	graph(&w);
	assert_int_equal(w.g->n_cycles, 0);
	arena_free(w.a);
}

/* Two hung hosts freeze a link both ways: that waits for the hosts. */
static void test_two_storms_are_no_deadlock(void **state)
{
	struct world w;
	init(&w, 2, 1, 1);
	for (unsigned l = 1; l <= 2; l++) {
		stuck(&w, host_port(&w, l, 1));
		stuck(&w, up(&w, l, 1));
		stuck(&w, down(&w, 1, l));
	}
	graph(&w);
	for (size_t i = 0; i < w.g->n_cycles; i++)
		assert_true(w.g->cycles[i].fed);
	arena_free(w.a);
}

/* A ring of eight with chains that lead into it, and a link that is stuck both ways beside it: the
 * ring is told, without turning back. */
static void test_long_ring_among_others(void **state)
{
	struct world w;
	init(&w, 6, 6, 1);
	for (unsigned i = 1; i <= 4; i++) {
		stuck(&w, up(&w, i, i));
		stuck(&w, down(&w, i, i % 4 + 1));
	}
	stuck(&w, up(&w, 5, 1));
	stuck(&w, up(&w, 6, 2));
	stuck(&w, down(&w, 2, 2)); /* the way back of up(2, 2) */
	graph(&w);
	assert_int_equal(w.g->n_cycles, 1);
	assert_int_equal(w.g->cycles[0].n, 8);
	arena_free(w.a);
}

/* A stale queue counter does not make a ring or a storm: its port moves. */
static void test_motion(void **state)
{
	struct world w;
	init(&w, 1, 1, 2);
	struct port_seen *p = host_port(&w, 1, 1);
	assert_int_equal(queue_motion(&w.o, p, 3), MOTION_UNKNOWN);
	p->out_known = true;
	p->out.utilization_ratio = 0.2;
	assert_int_equal(queue_motion(&w.o, p, 3), MOTION_SOME);
	still(p);
	assert_int_equal(queue_motion(&w.o, p, 3), MOTION_UNKNOWN);
	host_port(&w, 1, 2)->class_octets[3] = 1e6; /* the agent has refreshed its queues */
	assert_int_equal(queue_motion(&w.o, p, 3), MOTION_NONE);
	p->class_octets[3] = 100;
	assert_int_equal(queue_motion(&w.o, p, 3), MOTION_SOME);
	struct port_seen *u = up(&w, 1, 1);
	down(&w, 1, 1)->in_known = true; /* not counted here, but at the other end */
	assert_int_equal(queue_motion(&w.o, u, 3), MOTION_NONE);
	arena_free(w.a);
}

/* Everything pauses everything, in two classes. Returns the pressure of one that came to rest
 * somewhere, as a share of all. */
static double everything_waits(unsigned leaves, unsigned spines, unsigned hosts)
{
	struct world w;
	init(&w, leaves, spines, hosts);
	for (size_t i = 0; i < w.o.n_ports; i++)
		for (int c = 3; c <= 4; c++) {
			struct port_prio *l = lane(&w, &w.o.ports[i], c);
			l->rx_pause = measured(0.001 * (double)(i % 97));
			l->tx_pause = measured(0.001 * (double)(i % 89));
		}
	graph(&w);
	assert_int_equal(w.g->n_cycles, 0);
	double sum = w.g->unresolved[3];
	for (size_t i = 0; i < w.g->n_roots; i++)
		sum += w.g->roots[i].priority == 3 ? w.g->roots[i].pressure : 0;
	const double share = sum / w.g->pressure[3];
	arena_free(w.a);
	return share;
}

static void test_load_is_neither_made_nor_lost(void **state)
{
	const double share = everything_waits(4, 2, 3);
	/* queues below half a percent of a tree are left out */
	assert_true(share < 1.000001 && share > 0.95);
}

static void test_large(void **state)
{
	assert_true(everything_waits(256, 16, 48) < 1.000001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_ends_of_one_fact),
		cmocka_unit_test(test_bounds_are_calibrated),
		cmocka_unit_test(test_slow_host_is_the_root_of_its_tree),
		cmocka_unit_test(test_full_queue_is_a_root),
		cmocka_unit_test(test_marks_tell_the_queue),
		cmocka_unit_test(test_no_valley),
		cmocka_unit_test(test_two_hosts_are_two_roots),
		cmocka_unit_test(test_uplinks_of_a_leaf_are_one_cause),
		cmocka_unit_test(test_nothing_to_go_by_is_no_root),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_two_storms_are_no_deadlock),
		cmocka_unit_test(test_long_ring_among_others),
		cmocka_unit_test(test_motion),
		cmocka_unit_test(test_load_is_neither_made_nor_lost),
		cmocka_unit_test(test_large),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
