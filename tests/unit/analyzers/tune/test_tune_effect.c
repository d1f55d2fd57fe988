/* tune_effect: which queue is asked, what the model is told of it, and how its answer becomes what
 * a sheet tells. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "analyzers/tune/tune_effect.h"
#include "config/config.h"

static const char yaml[] =
	"fabric: asked\n"
	"devices:\n"
	"  - { name: leaf1, role: leaf }\n"
	"  - { name: spine1, role: spine }\n"
	"links:\n"
	"  - { a: \"leaf1:Ethernet1\", b: \"host:h1\", speed: 400G, cable: 5m }\n"
	"  - { a: \"leaf1:Ethernet2\", b: \"host:h2\", speed: 400G, cable: 5m }\n"
	"  - { a: \"leaf1:Ethernet3\", b: \"host:h3\", speed: 400G, cable: 5m }\n"
	"  - { a: \"leaf1:Ethernet9\", b: \"spine1:Ethernet1\", speed: 400G, cable: 40m }\n"
	"  - { a: \"leaf1:Ethernet10\", b: \"spine1:Ethernet2\", speed: 400G, cable: 40m }\n"
	"lossless: { priorities: [3] }\n";

static const struct whatif_settings same = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};
static const struct tune_options options = {.rtt_ns = 8000};

struct world {
	struct config *config;
	struct arena *arena;
	struct tune_device devices[2];
	struct tune_prio prios[2][5];
	struct tune_port ports[2][5];
	struct tune_evidence e;
};

static struct tune_peak peak(double max)
{
	return (struct tune_peak){
		.max = max, .p99 = max, .windows = isnan(max) ? 0 : 10, .window_ms = 10000};
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	rw_cleanup(err_list_done) struct err_list errors = {0};
	assert_int_equal(
		config_parse(yaml, strlen(yaml), "test", CONFIG_CASE, NULL, 0, &w->config, &errors),
		0);
	w->arena = arena_new();
	const struct fabric *f = w->config->fabric;
	w->e = (struct tune_evidence){.fabric = f, .devices = w->devices, .n_devices = 2};
	for (size_t d = 0; d < 2; d++) {
		w->devices[d] = (struct tune_device){.device = f->devices[d],
			.prios = w->prios[d],
			.n_prios = f->devices[d]->n_ports,
			.ports = w->ports[d],
			.n_ports = f->devices[d]->n_ports,
			.pool_bytes = 16e6,
			.pool_slices = NAN,
			.shp_ratio = NAN,
			.cell_bytes = NAN};
		for (size_t i = 0; i < f->devices[d]->n_ports; i++) {
			const struct fabric_port *p = f->devices[d]->ports[i];
			w->ports[d][i] = (struct tune_port){
				.port = p, .speed_bps = NAN, .mtu_bytes = NAN, .cable_m = NAN};
			w->prios[d][i] = (struct tune_prio){.port = p,
				.priority = 3,
				.windows = 10,
				.busy = 10,
				.tx_pause_lo = 0.01,
				.tx_pause_hi = 0.01,
				.rx_pause_hi = 0,
				.pause_measured = true,
				.marked = 0,
				.out_packets = 1e6,
				.pg_drops = 0,
				.drops = 0,
				.drops_watched_ns = 100000000000,
				.utilization = 0.3,
				.utilization_busy = 0.3,
				.queue = peak(100e3),
				.pg = peak(50e3),
				.headroom = peak(20e3),
				.inputs = 2,
				.pfc_enabled = 1,
				.alpha = 1.0 / 8,
				.headroom_bytes = 100e3,
				.xoff_level = NAN,
				.xon_level = NAN,
				.xon_offset = 8400,
				.ecn_enabled = 1,
				.kmin = 5e6,
				.kmax = 20e6,
				.pmax = 0.2,
				.episode_ns = NAN,
				.episodes_per_s = 500};
		}
	}
	/* h3 is what h1 and an uplink send to */
	struct tune_prio *leaf = w->prios[0];
	leaf[0].tx_pause_lo = leaf[0].tx_pause_hi = 0.12;
	leaf[3].tx_pause_lo = leaf[3].tx_pause_hi = 0.08;
	leaf[2].queue = peak(3.2e6);
	leaf[2].tx_pause_lo = leaf[2].tx_pause_hi = 0;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	arena_free(w->arena);
	config_free(w->config);
	free(w);
	return 0;
}

static const struct tune_expect *expected(const struct tune_effect *r, const char *metric)
{
	for (size_t i = 0; i < r->n_expected; i++)
		if (str_eq(r->expected[i].metric, metric))
			return &r->expected[i];
	return NULL;
}

static bool noted(const struct tune_effect *r, const char *what)
{
	for (size_t i = 0; i < r->n_notes; i++)
		if (strstr(r->notes[i], what))
			return true;
	return false;
}

static void test_fullest_queue(void **state)
{
	struct world *w = *state;
	struct tune_effect r;
	struct whatif_settings to = same;
	to.alpha = 1.0 / 4;
	assert_int_equal(
		tune_whatif(&w->e, "leaf1", NULL, 3, &to, &options, w->arena, &r, NULL), 0);
	assert_string_equal(r.prio->port->name, "Ethernet3");
	/* of the two that it paused most */
	assert_true(fabs(r.queue.pause_ratio - 0.1) < 1e-9);
	assert_true(fabs(r.queue.cable_ns - (5 + 40) / 2.0 / 1.98e8 * 1e9) < 0.1);
	assert_true(
		r.queue.queue_peak_bytes == 3.2e6 && r.queue.speed_bps == 400e9 && r.queue.dcqcn);
	const struct tune_expect *pause = expected(&r, "pfc.tx_pause_ratio"),
				 *marks = expected(&r, "queue.marked_ratio"),
				 *step = expected(&r, "step_time"),
				 *depth = expected(&r, "queue.watermark_bytes"),
				 *drops = expected(&r, "pg.drops");
	assert_true(pause && marks && step && depth && drops);
	assert_true(fabs(pause->now - 0.13 / 3) < 1e-9); /* ports to hosts */
	assert_true(pause->low <= pause->likely && pause->likely <= pause->high &&
		pause->likely < pause->now);
	assert_true(marks->now == 0 && step->now == 1 && depth->now == 3.2e6 && drops->now == 0 &&
		drops->high == 0);
	/* what the host paused most may win */
	assert_true(step->low < 1 && step->low >= 1 - 0.12 - 0.1);
	assert_true(noted(&r, "leaf1:Ethernet3") && !noted(&r, "upper bound"));
}

static void test_named_queue_and_no_hosts(void **state)
{
	struct world *w = *state;
	struct tune_effect r;
	assert_int_equal(
		tune_whatif(&w->e, "leaf1", "Ethernet10", 3, &same, &options, w->arena, &r, NULL),
		0);
	assert_string_equal(r.prio->port->name, "Ethernet10");
	assert_int_equal(
		tune_whatif(&w->e, "spine1", NULL, 3, &same, &options, w->arena, &r, NULL), 0);
	/* all of its ports: without those of hosts the model is far from what is measured */
	assert_true(noted(&r, "nothing is predicted") && r.n_expected == 0);
}

static void test_errors(void **state)
{
	struct world *w = *state;
	struct tune_effect r;
	struct err e = {0};
	struct whatif_settings to = same;
	assert_int_equal(
		tune_whatif(&w->e, "leaf7", NULL, 3, &same, &options, w->arena, &r, &e), -ENOENT);
	assert_int_equal(
		tune_whatif(&w->e, "leaf1", "Ethernet77", 3, &same, &options, w->arena, &r, &e),
		-ENOENT);
	assert_int_equal(
		tune_whatif(&w->e, "leaf1", NULL, 5, &same, &options, w->arena, &r, &e), -ENOENT);
	assert_non_null(strstr(e.text, "priority 5"));
	to.kmin_bytes = 30e6; /* above Kmax in force */
	assert_int_equal(
		tune_whatif(&w->e, "leaf1", NULL, 3, &to, &options, w->arena, &r, &e), -EDOM);
	assert_non_null(strstr(e.text, "20000000"));
	for (size_t i = 0; i < 5; i++)
		w->prios[0][i].tx_pause_lo = w->prios[0][i].tx_pause_hi = NAN;
	assert_int_equal(
		tune_whatif(&w->e, "leaf1", NULL, 3, &same, &options, w->arena, &r, &e), -ENODATA);
	assert_non_null(strstr(e.text, "pfc.tx_"));
}

/* Octets and PFC frames only: an answer, wide, that says what it rests on. */
static void test_little_is_known(void **state)
{
	struct world *w = *state;
	struct tune_effect r;
	struct whatif_settings to = same;
	for (size_t i = 0; i < 5; i++) {
		struct tune_prio *l = &w->prios[0][i];
		l->queue = l->pg = l->headroom = peak(NAN);
		l->marked = l->out_packets = l->pg_drops = l->inputs = l->episodes_per_s = NAN;
		l->drops_watched_ns = 0;
		l->pause_measured = false;
		l->tx_pause_lo = 0;
	}
	to.kmin_bytes = 400e3;
	to.kmax_bytes = 1600e3;
	assert_int_equal(
		tune_whatif(&w->e, "leaf1", NULL, 3, &to, &options, w->arena, &r, NULL), 0);
	assert_true(noted(&r, "upper bound") && noted(&r, "marks unknown") &&
		noted(&r, "number of inputs") && noted(&r, "depth"));
	assert_null(expected(&r, "queue.marked_ratio"));
	assert_null(expected(&r, "pg.drops")); /* no counter of them: nothing is said */
	assert_non_null(expected(&r, "pfc.tx_pause_ratio"));
	for (size_t i = 0; i < r.n_expected; i++)
		assert_true(isfinite(r.expected[i].low) && isfinite(r.expected[i].high) &&
			r.expected[i].low <= r.expected[i].high);
}

static void test_losses(void **state)
{
	struct world *w = *state;
	struct tune_effect r;
	struct whatif_settings to = same;
	for (size_t i = 0; i < 5; i++) {
		w->prios[0][i].pg_drops = i == 0 || i == 3 ? 1000 : 0; /* in 100 s */
		w->prios[0][i].headroom = peak(100e3);
		w->prios[0][i].headroom.censored = true;
	}
	to.headroom_bytes = 150e3;
	assert_int_equal(
		tune_whatif(&w->e, "leaf1", NULL, 3, &to, &options, w->arena, &r, NULL), 0);
	const struct tune_expect *drops = expected(&r, "pg.drops");
	assert_true(fabs(drops->now - 20) < 1e-9 && drops->low == 0 && drops->high < drops->now &&
		drops->high > 0);
	/* what is sent again hides the rest */
	assert_true(noted(&r, "lost") && r.n_expected == 1);
}

static void test_later_marking(void **state)
{
	struct world *w = *state;
	struct tune_effect r;
	struct whatif_settings to = same;
	to.kmin_bytes = 2 * w->prios[0][0].kmin;
	to.kmax_bytes = 2 * w->prios[0][0].kmax;
	assert_int_equal(
		tune_whatif(&w->e, "leaf1", NULL, 3, &to, &options, w->arena, &r, NULL), 0);
	assert_non_null(expected(&r, "queue.marked_ratio"));
	assert_null(expected(&r, "pfc.tx_pause_ratio"));
	assert_null(expected(&r, "step_time"));
	assert_true(noted(&r, "begins later"));
}

static void test_sheet(void **state)
{
	struct world *w = *state;
	const char *ports[] = {"Ethernet9", "Ethernet10"};
	struct tune_change change = {.knob = KNOB_ALPHA, .current = 1.0 / 8, .proposed = 1.0 / 4};
	struct tune_sheet s = {.device = "leaf1",
		.priority = 3,
		.changes = &change,
		.n_changes = 1,
		.ports = ports,
		.n_ports = 2};
	const struct tune_in in = {.fabric = w->config->fabric,
		.evidence = &w->e,
		.options = options,
		.arena = w->arena};
	tune_expected(&in, &s);
	assert_true(s.n_expected >= 4);
	assert_true(s.expected[0].now > 0 && s.expected[0].likely < s.expected[0].now);
	/* what a board decides by: of the job, with the chance that it gets worse */
	for (size_t i = s.n_expected - 2; i < s.n_expected; i++) {
		const struct tune_expect *e = &s.expected[i];
		assert_string_equal(e->metric, i + 2 == s.n_expected ? "step_time" : "j");
		assert_true(e->low <= e->likely && e->likely <= e->high && e->now == 1);
		assert_true(e->worse_ratio >= 0 && e->worse_ratio < 0.5);
	}
	change = (struct tune_change){.knob = KNOB_KMIN, .current = 5e6, .proposed = 1e6};
	tune_expected(
		&in, &s); /* marking of the uplinks alone: their queues, which the model misses */
	assert_int_equal(s.n_expected, 0);
	assert_non_null(strstr(s.not_expected, "the model misses"));
	change = (struct tune_change){.knob = KNOB_WEIGHT, .proposed = 0};
	tune_expected(&in, &s); /* not in the model */
	assert_int_equal(s.n_expected, 0);
	assert_non_null(strstr(s.not_expected, "does not know"));
	change = (struct tune_change){.knob = KNOB_ALPHA, .proposed = 1.0 / 4};
	for (size_t i = 0; i < 5; i++)
		w->prios[0][i].tx_pause_hi = NAN;
	tune_expected(&in, &s);
	assert_true(s.n_expected == 2 && strstr(s.not_expected, "pfc.tx_")); /* of the job */
	s.n_changes = 0;
	tune_expected(&in, &s);
	assert_int_equal(s.n_expected, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {T(test_fullest_queue), T(test_named_queue_and_no_hosts),
		T(test_errors), T(test_little_is_known), T(test_losses), T(test_later_marking),
		T(test_sheet)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
