/* tune_evidence and tune_peak: what many windows say of a queue, and what they do not. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyzers/analyzer.h"
#include "analyzers/tune/tune_evidence.h"
#include "tests/unit/window_world.h"

static const char yaml[] = "fabric: folded\n"
			   "devices:\n"
			   "  - { name: leaf1, role: leaf }\n"
			   "  - { name: spine1, role: spine }\n"
			   "links:\n"
			   "  - { a: \"leaf1:Ethernet1\", b: \"host:h1\", speed: 100G }\n"
			   "  - { a: \"leaf1:Ethernet2\", b: \"host:h2\", speed: 100G }\n"
			   "  - { a: \"leaf1:Ethernet9\", b: \"spine1:Ethernet1\", speed: 400G }\n"
			   "lossless: { priorities: [3] }\n"
			   "thresholds:\n"
			   "  - { devices: \"spine*\", ports: \"*\", priority: 3, kmin: 400KB, "
			   "kmax: 1600KB, alpha: 1/8, pool: 64MB }\n";

struct world {
	struct window_world made;
	struct tune_fold *fold;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	window_world_init(&w->made, yaml);
	w->fold =
		tune_fold_new(w->made.config->fabric, 10 * NS_PER_S, 10 * NS_PER_S, w->made.arena);
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

static void add(struct world *w, int t_s, struct made_sample sample, double value)
{
	window_world_add(&w->made, t_s, sample, value);
}
#define LANE(p, m)                                                                                 \
	(struct made_sample)                                                                       \
	{                                                                                          \
		.device = "leaf1", .port = "Ethernet" #p, .priority = 3, .metric = M_##m           \
	}
#define PORT(p, m)                                                                                 \
	(struct made_sample)                                                                       \
	{                                                                                          \
		.device = "leaf1", .port = "Ethernet" #p, .priority = PRIO_NONE, .metric = M_##m   \
	}

/* Windows (0, 10], (10, 20] ... of @n. */
static const struct tune_evidence *fold(struct world *w, int n)
{
	for (int i = 0; i < n; i++) {
		struct arena *turn = arena_new();
		struct window window;
		window_world_cut(&w->made, observe_metrics, observe_n_metrics, i * 10, (i + 1) * 10,
			turn, &window);
		const struct analyzer_in in = {.fabric = w->made.config->fabric,
			.window = &window,
			.interval_ns = 10 * NS_PER_S,
			.arena = turn};
		tune_fold_add(w->fold, observe(&in));
		arena_free(turn);
	}
	const struct tune_evidence *e = NULL;
	assert_int_equal(tune_fold_done(w->fold, &e), 0);
	return e;
}

static const struct tune_prio *prio(
	const struct world *w, const struct tune_evidence *e, const char *port)
{
	return tune_prio_at(
		e, fabric_port(fabric_device(w->made.config->fabric, "leaf1"), port), 3);
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b)) + 1e-9;
}

static void test_nothing(void **state)
{
	struct world *w = *state;
	const struct tune_evidence *e;
	assert_int_equal(tune_fold_done(w->fold, &e), -ENODATA);
}

/* Half of the windows idle: shares over all and over busy windows, marks as the ratio of sums. */
static void test_sums(void **state)
{
	struct world *w = *state;
	double octets = 0, pause = 0, marked = 0, packets = 0;
	for (int t = 0; t <= 80; t += 10) {
		const bool busy = t > 40;
		add(w, t, PORT(1, PORT_OUT_OCTETS), octets += busy ? 100e9 : 1e9);
		add(w, t, LANE(1, PFC_TX_PAUSE_NS), pause += busy ? 2e9 : 0);
		add(w, t, LANE(1, QUEUE_ECN_MARKED), marked += t == 80 ? 100 : 0);
		add(w, t, LANE(1, QUEUE_OUT_PACKETS), packets += busy ? 1000 : 10);
		add(w, t, LANE(1, QUEUE_DROPS), 7);
	}
	const struct tune_evidence *e = fold(w, 8);
	const struct tune_prio *l = prio(w, e, "Ethernet1");
	assert_non_null(l);
	assert_int_equal(l->windows, 8);
	assert_int_equal(l->busy, 4);
	assert_true(near(l->tx_pause_hi, 0.1) && near(l->tx_pause_lo, 0.1) &&
		near(l->tx_pause_busy, 0.2));
	assert_true(isnan(l->rx_pause_hi)); /* never told */
	assert_true(l->pause_measured && l->marks_alive);
	assert_int_equal(l->tx_windows, 4);
	assert_int_equal(l->tx_unmarked, 3);
	assert_true(near(tune_prio_marks(l), 100.0 / 4040));
	assert_true(l->drops == 0 && l->drops_alive && isnan(l->pg_drops));
	assert_true(near(l->utilization_busy, 0.8));
	assert_int_equal(l->recent, 8); /* idle ones looked busy until load came */
	assert_int_equal(l->recent_tx, 0x0f);
	assert_int_equal(l->recent_unmarked, 0x0e);
	assert_int_equal(l->recent_marks, 0x01);
	assert_int_equal(e->n_windows, 8);
	assert_true(!e->windows[0].busy && e->windows[7].busy && near(e->windows[7].load, 10e9f));
	assert_true(fabs(e->windows[7].host_pause - 0.2) < 1e-6 &&
		fabs(e->windows[7].marks - 0.1) < 1e-6);
	assert_true(near(e->devices[0].coverage_ratio, 1) && e->devices[1].coverage_ratio == 0);
	assert_true(near(e->coverage_ratio, 1)); /* of those heard at all */
}

/* Zeros that never moved are no evidence, until something says that they count. */
static void test_dead_counters(void **state)
{
	struct world *w = *state;
	for (int t = 0; t <= 40; t += 10) {
		add(w, t, LANE(1, PFC_TX_PAUSE_NS), 0);
		add(w, t, LANE(1, QUEUE_ECN_MARKED), 0);
		add(w, t, LANE(1, QUEUE_OUT_PACKETS), t * 1000);
		add(w, t, LANE(1, QUEUE_DROPS), 0);
		add(w, t, LANE(2, PFC_TX_PAUSE_NS), 0);
		add(w, t, LANE(2, QUEUE_ECN_MARKED), 0);
		add(w, t, LANE(2, QUEUE_OUT_PACKETS), t * 1000);
	}
	add(w, 0, LANE(2, CFG_PFC_ENABLED), 1);
	add(w, 0, LANE(2, CFG_ECN_ENABLED), 1);
	const struct tune_evidence *e = fold(w, 4);
	const struct tune_prio *dead = prio(w, e, "Ethernet1"), *on = prio(w, e, "Ethernet2");
	assert_true(isnan(dead->tx_pause_hi) && isnan(dead->tx_pause_busy) &&
		isnan(tune_prio_marks(dead)));
	assert_true(dead->drops == 0 && !dead->drops_alive);
	assert_true(on->tx_pause_hi == 0 && tune_prio_marks(on) == 0);
	assert_true(isnan(on->rx_pause_hi));
}

/* One lane of the switch that counted says that its neighbours' zeros count too. */
static void test_alive_by_neighbour(void **state)
{
	struct world *w = *state;
	for (int t = 0; t <= 40; t += 10) {
		add(w, t, LANE(1, PFC_TX_PAUSE_NS), 0);
		add(w, t, LANE(2, PFC_TX_PAUSE_NS), t * 1e6);
	}
	const struct tune_evidence *e = fold(w, 4);
	assert_true(prio(w, e, "Ethernet1")->tx_pause_hi == 0);
	assert_true(near(prio(w, e, "Ethernet2")->tx_pause_hi, 0.001));
}

/* Frames only: an upper bound, over the time that was watched. */
static void test_bound_and_gap(void **state)
{
	struct world *w = *state;
	for (int t = 0; t <= 60; t += 10)
		if (t <= 20 || t >= 50) /* silent in three windows */
			/* 10 frames a second, 335.5 us each at most */
			add(w, t, LANE(1, PFC_TX_FRAMES), t * 10);
	const struct tune_evidence *e = fold(w, 6);
	const struct tune_prio *l = prio(w, e, "Ethernet1");
	assert_false(l->pause_measured);
	assert_true(l->tx_pause_lo == 0 && fabs(l->tx_pause_hi - 10 * 335.5392e-6) < 1e-7);
	assert_int_equal(e->devices[0].gaps, 1);
	assert_true(near(e->devices[0].coverage_ratio, 4.0 / 6));
	assert_int_equal(e->devices[0].windows, 4);
}

/* Settings: read once and in force as long as the device is heard; the file's where nothing was
 * read; a change drops what was before it. */
static void test_settings(void **state)
{
	struct world *w = *state;
	for (int t = 0; t <= 60; t += 10) {
		add(w, t, LANE(1, PFC_TX_PAUSE_NS), t <= 30 ? t * 1e8 : 3e9);
		add(w, t,
			(struct made_sample){.device = "spine1",
				.port = "Ethernet1",
				.priority = 3,
				.metric = M_PFC_TX_PAUSE_NS},
			t * 1e6);
	}
	add(w, 0, LANE(1, CFG_ECN_KMIN), 1000000);
	add(w, 0, LANE(1, CFG_PG_ALPHA_EXP), -3);
	add(w, 0, LANE(2, CFG_ECN_KMIN), 1000000);
	add(w, 35, LANE(1, CFG_ECN_KMIN), 400000);
	add(w, 45, LANE(2, CFG_ECN_KMIN), 1000000); /* told again, the same: no change */
	const struct tune_evidence *e = fold(w, 6);
	const struct tune_prio *l = prio(w, e, "Ethernet1");
	assert_true(l->kmin == 400000 && near(l->alpha, 0.125) && !l->declared);
	assert_int_equal(l->setting_changes, 1);
	assert_int_equal(e->devices[0].since_ns, 40 * NS_PER_S);
	assert_int_equal(l->windows, 2);
	assert_true(l->tx_pause_hi == 0 || isnan(l->tx_pause_hi)); /* it has not paused since */
	assert_int_equal(l->read_ns, 60 * NS_PER_S);
	const struct tune_prio *s = tune_prio_at(
		e, fabric_port(fabric_device(w->made.config->fabric, "spine1"), "Ethernet1"), 3);
	assert_true(s->declared && s->kmin == 400000 && s->read_ns == 0);
	assert_true(e->devices[1].pool_bytes == 64e6);
	assert_int_equal(s->windows, 6);
	assert_true(isnan(l->xoff_level));
}

/* After a silence the device may have been given other settings: what was read before is as old as
 * it is, until it is read again. */
static void test_age_of_settings(void **state)
{
	struct world *w = *state;
	for (int t = 0; t <= 60; t += 10)
		if (t <= 20 || t >= 50)
			for (int p = 1; p <= 2; p++)
				add(w, t,
					p == 1 ? LANE(1, PFC_TX_PAUSE_NS)
					       : LANE(2, PFC_TX_PAUSE_NS),
					t * 1e6);
	add(w, 5, LANE(1, CFG_ECN_KMIN), 1000000);
	add(w, 5, LANE(2, CFG_ECN_KMIN), 1000000);
	add(w, 55, LANE(2, CFG_ECN_KMIN), 1000000);
	const struct tune_evidence *e = fold(w, 6);
	assert_int_equal(prio(w, e, "Ethernet1")->read_ns, 5 * NS_PER_S);
	assert_int_equal(prio(w, e, "Ethernet2")->read_ns, 60 * NS_PER_S);
}

static void test_ports(void **state)
{
	struct world *w = *state;
	for (int t = 0; t <= 40; t += 10) {
		add(w, t, PORT(1, PORT_FCS_ERRORS), t > 20 ? t : 0);
		add(w, t, PORT(1, PORT_OPER_UP), t != 30);
		add(w, t, PORT(1, PORT_FLAPS), t >= 30 ? 2 : 1);
		add(w, t, PORT(1, PORT_OUT_OCTETS), t * 1e9);
		add(w, t, LANE(1, PFCWD_STORMS), t / 20);
	}
	add(w, 0, PORT(1, CFG_CABLE), 30.5);
	const struct tune_evidence *e = fold(w, 4);
	const struct tune_port *p = &e->devices[0].ports[0], *quiet = &e->devices[0].ports[1];
	assert_int_equal(e->devices[0].n_ports, 3);
	assert_true(p->errors == 40 && p->flaps == 1 && p->storms == 2 && p->cable_m == 30.5 &&
		p->out_octets == 40e9 && isnan(p->in_octets));
	assert_int_equal(p->error_windows, 2);
	assert_int_equal(p->down_windows, 1);
	assert_true(near(p->utilization_busy, 0.08));
	assert_true(isnan(quiet->errors) && isnan(quiet->flaps) && isnan(quiet->storms) &&
		isnan(quiet->speed_bps));
}

static void test_peaks_of_lanes(void **state)
{
	struct world *w = *state;
	for (int t = 0; t <= 60; t += 10) {
		add(w, t,
			(struct made_sample){.device = "leaf1",
				.port = "Ethernet1",
				.priority = 3,
				.metric = M_QUEUE_WATERMARK,
				.window_ms = 10000},
			500000);
		add(w, t,
			(struct made_sample){.device = "leaf1",
				.port = "Ethernet2",
				.priority = 3,
				.metric = M_PG_SHARED_WATERMARK,
				.window_ms = 10000},
			t == 30 ? 260000 : 250000);
		add(w, t,
			(struct made_sample){.device = "leaf1",
				.port = "Ethernet9",
				.priority = 3,
				.metric = M_PG_SHARED_WATERMARK,
				.window_ms = 10000},
			240000);
		add(w, t,
			(struct made_sample){.device = "leaf1",
				.port = "Ethernet2",
				.priority = 3,
				.metric = M_PG_HEADROOM_WATERMARK,
				.window_ms = 10000},
			t == 30 ? 99000 : 10000);
	}
	add(w, 0, LANE(2, CFG_PG_HEADROOM), 100000);
	const struct tune_evidence *e = fold(w, 6);
	const struct tune_prio *l = prio(w, e, "Ethernet1"), *h2 = prio(w, e, "Ethernet2");
	assert_true(l->queue.max == 500000 && l->queue.windows == 6 && !l->queue.censored &&
		!l->queue.standing);
	assert_true(near(l->inputs, 500000.0 / 260000));
	assert_int_equal(e->devices[0].inputs_typical, 2);
	assert_true(h2->headroom.max == 99000 && h2->headroom.censored);
	assert_true(isnan(l->headroom.max));
}

/* ---- one buffer's peaks -------------------------------------------------- */

static void test_same_window_once(void **state)
{
	struct world *w = *state;
	struct peak_fold *p = peak_fold_new(w->made.arena);
	for (int t = 0; t < 120; t += 10) /* a device's minute, told every ten seconds */
		peak_fold_add(p, t * NS_PER_S, t < 60 ? 1000 : 2000, 60000, NAN);
	struct tune_peak r = peak_fold_done(p);
	assert_int_equal(r.windows, 2);
	assert_int_equal(r.window_ms, 60000);
	assert_true(r.max == 2000 && !r.standing && !r.censored);
	for (int t = 120; t < 180; t += 10) /* one that rises while its window runs is one window */
		peak_fold_add(p, t * NS_PER_S, 100 * t, 60000, NAN);
	r = peak_fold_done(p);
	assert_int_equal(r.windows, 3);
	assert_true(r.max == 17000);
}

static void test_quantile_of_equal_windows(void **state)
{
	struct world *w = *state;
	struct peak_fold *p = peak_fold_new(w->made.arena);
	for (int i = 0; i < 200; i++)
		peak_fold_add(p, i * 10 * NS_PER_S, i == 77 ? 9e6 : 100000 + i, 10000, NAN);
	/* of an hour: its height is not comparable */
	peak_fold_add(p, 2000 * NS_PER_S, 8e6, 3600000, NAN);
	const struct tune_peak r = peak_fold_done(p);
	assert_true(r.max == 9e6);
	assert_int_equal(r.windows, 200);
	assert_true(r.p99 >= 100198 && r.p99 < 100198 * 1.05);
	peak_fold_reset(p);
	assert_true(isnan(peak_fold_done(p).max) && peak_fold_done(p).windows == 0);
}

static void test_since_when_is_not_told(void **state)
{
	struct world *w = *state;
	struct peak_fold *p = peak_fold_new(w->made.arena);
	for (int i = 0; i < 50; i++)
		peak_fold_add(p, i * NS_PER_S, 5000, 0, 5000);
	struct tune_peak r = peak_fold_done(p);
	assert_true(r.standing && r.windows == 1 && r.censored);
	peak_fold_add(p, 60 * NS_PER_S, 6000, 0, 10000);
	r = peak_fold_done(p);
	assert_true(!r.standing && r.windows == 2 && r.max == 6000);
	assert_true(isnan(peak_fold_done(NULL).max));
}

static void test_peaks_that_are_no_numbers(void **state)
{
	struct world *w = *state;
	struct peak_fold *p = peak_fold_new(w->made.arena);
	peak_fold_add(p, 1, NAN, 0, NAN);
	peak_fold_add(p, 2, -1, 0, NAN);
	peak_fold_add(p, 3, INFINITY, 0, NAN);
	assert_true(isnan(peak_fold_done(p).max));
	peak_fold_add(p, 4, 0, 0, 0);
	peak_fold_add(p, 5, 1e18, 1000, NAN);
	const struct tune_peak r = peak_fold_done(p);
	assert_true(r.max == 1e18 && r.p99 <= r.max);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {T(test_nothing), T(test_sums), T(test_dead_counters),
		T(test_alive_by_neighbour), T(test_bound_and_gap), T(test_settings),
		T(test_age_of_settings), T(test_ports), T(test_peaks_of_lanes),
		T(test_same_window_once), T(test_quantile_of_equal_windows),
		T(test_since_when_is_not_told), T(test_peaks_that_are_no_numbers)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
