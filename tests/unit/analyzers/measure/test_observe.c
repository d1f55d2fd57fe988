/* observe: one window as it is seen by all analyzers: what is counted, what is missing, what is
 * declared. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyzers/analyzer.h"
#include "analyzers/measure/observe.h"
#include "tests/unit/window_world.h"

static const char yaml[] = "fabric: seen\n"
			   "devices:\n"
			   "  - { name: leaf1, role: leaf }\n"
			   "  - { name: spine1, role: spine }\n"
			   "links:\n"
			   "  - { a: \"leaf1:Ethernet1\", b: \"host:h1:rail0\", speed: 100G }\n"
			   "  - { a: \"leaf1:Ethernet9\", b: \"spine1:Ethernet1\", speed: 400G }\n"
			   "lossless: { priorities: [3] }\n"
			   "thresholds:\n"
			   "  - { devices: \"leaf*\", ports: \"Ethernet9\", priority: 3, kmin: "
			   "400KB, kmax: 1600KB, alpha: 1/8, pool: 64MB }\n"
			   "  - { devices: \"leaf*\", ports: \"Ethernet1\", priority: 3, kmin: "
			   "400KB, kmin_share: 20%, kmax_share: 80% }\n";

struct world {
	struct window_world made;
	struct analyzer_in in;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	window_world_init(&w->made, yaml);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	window_world_done(&w->made);
	free(w);
	return 0;
}

static void add(struct world *w, int t_s, const char *device, const char *port, int priority,
	unsigned metric, uint64_t value, unsigned flags)
{
	const struct made_sample sample = {device, port, priority, metric, flags, 0};
	window_world_add_raw(&w->made, t_s, sample, value);
}

/* The window (10, 30]. */
static const struct observed *look(struct world *w)
{
	struct window_world *made = &w->made;
	window_world_cut(
		made, observe_metrics, observe_n_metrics, 10, 30, made->arena, &made->window);
	w->in = (struct analyzer_in){.fabric = made->config->fabric,
		.window = &made->window,
		.interval_ns = 10 * NS_PER_S,
		.arena = made->arena};
	return observe(&w->in);
}

static const struct port_seen *port_of(
	const struct observed *o, const char *device, const char *port)
{
	for (size_t i = 0; i < o->n_ports; i++)
		if (strcmp(o->ports[i].port->device->name, device) == 0 &&
			strcmp(o->ports[i].port->name, port) == 0)
			return &o->ports[i];
	return NULL;
}

static void test_amounts(void **state)
{
	struct world *w = *state;
	for (int t = 10; t <= 30; t += 10) {
		add(w, t, "leaf1", "Ethernet9", PRIO_NONE, M_PORT_OUT_OCTETS,
			(uint64_t)t * 1000000000, 0);
		add(w, t, "leaf1", "Ethernet9", PRIO_NONE, M_PORT_IN_ERRORS, t == 30 ? 47 : 7, 0);
		add(w, t, "leaf1", "Ethernet9", PRIO_NONE, M_PORT_OUT_DISCARDS, 0, 0);
		add(w, t, "leaf1", "Ethernet9", PRIO_NONE, M_PORT_IN_DISCARDS, t == 20 ? 3 : 5,
			t == 20 ? SF_RESTART : 0);
	}
	const struct observed *o = look(w);
	const struct port_seen *p = port_of(o, "leaf1", "Ethernet9");
	assert_non_null(p);
	assert_true(p->out_known && !p->in_known);
	assert_true(fabs(p->out.rate_bps - 8e9) < 1);
	assert_true(fabs(p->out.utilization_ratio - 0.02) < 1e-9);
	assert_true(p->in_errors.known && p->in_errors.value == 40 && p->in_errors.alive);
	assert_true(amount_rate(&p->in_errors) == 2);
	/* stands at 0: it may not be implemented */
	assert_true(p->out_discards.known && p->out_discards.value == 0 && !p->out_discards.alive);
	assert_true(p->in_discards.restarted && p->in_discards.value == 2);
	assert_false(p->fcs_errors.known);
	assert_true(isnan(amount_rate(&p->fcs_errors)));
	assert_true(isnan(p->mtu_bytes));
	assert_true(observed_peer(o, p) == port_of(o, "spine1", "Ethernet1"));
	assert_int_equal(o->devices[0].n_series, 4);
	assert_int_equal(o->devices[1].n_series, 0); /* silent */
	assert_true(o->devices[0].newest_ns == 30 * NS_PER_S);
}

static void test_pause(void **state)
{
	struct world *w = *state;
	for (int t = 10; t <= 30; t += 10) {
		const uint64_t n = (uint64_t)(t - 10) / 10;
		/* 40 % of the time, measured */
		add(w, t, "leaf1", "Ethernet1", 3, M_PFC_RX_PAUSE_NS, 5 + n * 4 * NS_PER_S, 0);
		add(w, t, "leaf1", "Ethernet1", 3, M_PFC_RX_FRAMES, n * 100000, 0);
		/* 100 a second, 335.5 us each at most */
		add(w, t, "leaf1", "Ethernet1", 3, M_PFC_TX_FRAMES, n * 1000, 0);
		/* outside the lossless class, and it moves */
		add(w, t, "leaf1", "Ethernet1", 5, M_PFC_RX_FRAMES, n, 0);
		/* stands still: nothing to see */
		add(w, t, "leaf1", "Ethernet1", 6, M_PFC_RX_FRAMES, 9, 0);
		/* more than time itself: cannot be true */
		add(w, t, "leaf1", "Ethernet9", 3, M_PFC_RX_PAUSE_NS, n * 11 * NS_PER_S, 0);
		add(w, t, "spine1", "Ethernet1", 3, M_PFC_TX_PAUSE_NS, 0, 0);
		/* frames count, the duration does not: not measured */
		add(w, t, "spine1", "Ethernet1", 3, M_PFC_TX_FRAMES, n * 1000, 0);
	}
	const struct observed *o = look(w);
	const struct port_prio *l = observed_prio(port_of(o, "leaf1", "Ethernet1"), 3);
	assert_true(l->lossless && l->rx_pause.measured && fabs(l->rx_pause.lo - 0.4) < 1e-9 &&
		l->rx_pause.hi == l->rx_pause.lo);
	assert_true(!l->tx_pause.measured && l->tx_pause.lo == 0);
	assert_true(fabs(l->tx_pause.hi - 100 * 335.5392e-6) < 1e-6);
	assert_int_equal(l->tx_pause.quality, QUALITY_ESTIMATED);
	assert_non_null(observed_prio(port_of(o, "leaf1", "Ethernet1"), 5));
	assert_null(observed_prio(port_of(o, "leaf1", "Ethernet1"), 6));
	assert_null(observed_prio(port_of(o, "leaf1", "Ethernet1"), 9));
	l = observed_prio(port_of(o, "leaf1", "Ethernet9"), 3);
	assert_true(l->rx_pause.hi <= 1 && l->rx_pause.quality != QUALITY_EXACT);
	l = observed_prio(port_of(o, "spine1", "Ethernet1"), 3);
	assert_true(!l->tx_pause.measured && l->tx_pause.hi > 0);
	assert_true(isnan(l->rx_pause.hi) && !l->rx_pause.alive);
}

static void test_settings(void **state)
{
	struct world *w = *state;
	add(w, 1, "leaf1", "Ethernet9", 3, M_CFG_ECN_KMIN, 500000, 0);
	add(w, 1, "leaf1", "Ethernet1", 3, M_CFG_PG_ALPHA_EXP, sample_of_f64(-4), 0);
	add(w, 1, "leaf1", "pool:lossless", PRIO_NONE, M_CFG_POOL, 32000000, 0);
	add(w, 1, "leaf1", "pool:lossy", PRIO_NONE, M_CFG_POOL, 8000000, 0);
	add(w, 20, "leaf1", "Ethernet9", 3, M_QUEUE_WATERMARK, 1234, 0);
	/* read before the window: counted there */
	add(w, 5, "leaf1", "Ethernet1", 3, M_QUEUE_WATERMARK, 999999, 0);
	const struct observed *o = look(w);
	const struct port_prio *l = observed_prio(port_of(o, "leaf1", "Ethernet9"), 3);
	assert_true(l->kmin == 500000); /* read back wins over declared */
	assert_true(l->kmax == 1600000 && l->alpha == 0.125 && l->declared);
	assert_true(l->queue_peak == 1234);
	l = observed_prio(port_of(o, "leaf1", "Ethernet1"), 3);
	assert_true(l->alpha == 1 / 16.0 && isnan(l->queue_peak));
	assert_true(l->relative_declared && l->kmin_ratio == 0.2 && isnan(l->kmin));
	assert_true(o->devices[0].pool_bytes == 32000000);
}

static void test_strangers(void **state)
{
	struct world *w = *state;
	for (int t = 10; t <= 30; t += 10) {
		add(w, t, "leaf1", "Ethernet77", PRIO_NONE, M_PORT_OUT_OCTETS, (uint64_t)t, 0);
		add(w, t, "leaf1", "Ethernet77", 3, M_QUEUE_DROPS, (uint64_t)t, 0);
		add(w, t, "leaf1", "Ethernet77#q9", PRIO_NONE, M_PORT_OUT_OCTETS, (uint64_t)t, 0);
		add(w, t, "elsewhere", "Ethernet1", PRIO_NONE, M_PORT_OUT_OCTETS, (uint64_t)t, 0);
	}
	const struct observed *o = look(w);
	assert_int_equal(o->n_fabric_ports, 3);
	assert_int_equal(o->n_ports, 4); /* a device the fabric does not have is nobody's */
	const struct port_seen *p = port_of(o, "leaf1", "Ethernet77");
	assert_true(!p->in_fabric && p->out_known && observed_prio(p, 3)->drops.value == 20);
	assert_null(observed_port(o, p->port));
}

/* Each metric once, and none that no table places. */
static void test_metrics(void **state)
{
	for (size_t i = 0; i < observe_n_metrics; i++)
		for (size_t k = i + 1; k < observe_n_metrics; k++)
			assert_int_not_equal(observe_metrics[i], observe_metrics[k]);
	struct world *w = *state;
	for (size_t i = 0; i < observe_n_metrics; i++) {
		const struct metric_info *m = metric_info(observe_metrics[i]);
		const int priority = m->scope == SCOPE_PRIO ? 3 : PRIO_NONE;
		for (int t = 10; t <= 30; t += 10)
			add(w, t, "leaf1", m->scope == SCOPE_DEVICE ? NULL : "Ethernet1", priority,
				observe_metrics[i],
				m->type == TYPE_F64 ? sample_of_f64(t) : (uint64_t)t, 0);
	}
	const struct observed *o = look(w);
	const struct port_seen *p = port_of(o, "leaf1", "Ethernet1");
	const struct port_prio *l = observed_prio(p, 3);
	/* one of the last rows of each table: all rows before it were placed too, or the offsets
	 * would not add up */
	assert_true(l->pmax == 30 && l->storm_drops.value == 20 && p->temperature_c == 30 &&
		p->flaps.value == 20 && o->devices[0].cell_bytes == 30);
	assert_true(p->class_octets[3] == 20 && isnan(p->class_octets[4]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_amounts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pause, setup, teardown),
		cmocka_unit_test_setup_teardown(test_settings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_strangers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_metrics, setup, teardown),
	};
	return cmocka_run_group_tests_name("observe", tests, NULL, NULL);
}
