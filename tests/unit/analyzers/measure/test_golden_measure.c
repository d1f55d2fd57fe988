/* golden_measure - what the screen says of pause, marks and drops, from made samples: one leaf with
 * two hosts below a spine. */
#include "tests/unit/window_world.h"

#include "base/str.h"
#include "analyzers/measure/golden_measure.h"

static const char yaml[] =
	"fabric: pod\n"
	"devices:\n  - { name: leaf1, role: leaf }\n  - { name: spine1, role: spine }\n"
	"links:\n  - { a: \"leaf1:p1\", b: \"host:n1\", speed: 100G }\n"
	"  - { a: \"leaf1:p2\", b: \"host:n2\", speed: 100G }\n"
	"  - { a: \"leaf1:p9\", b: \"spine1:p1\", speed: 400G }\n"
	"lossless: { priorities: [3] }\n"
	"policy: { congestion: dcqcn }\n";

static const struct pause_storm_options pause_limits = {
	.warn = 0.01, .critical = 0.05, .storm = 0.9};
static const struct link_health_options link_limits = {.errors_per_s = 0.05};
static const struct ecmp_options ecmp = {.warn = 0.2, .load_floor = 0.05, .min_coverage = 0.75};

static struct golden_measured measured;

/* (@from_s, @to_s], with a minute before it. */
static void measure(struct window_world *world, int from_s, int to_s, int interval_s)
{
	struct window now, back;
	window_world_cut(world, golden_window_metrics, golden_n_window_metrics, from_s, to_s,
		world->arena, &now);
	window_world_cut(
		world, golden_metrics, golden_n_metrics, to_s - 60, to_s, world->arena, &back);
	now.entities = back.entities = world->entities;
	struct analyzer_shared shared = {.arena = world->arena};
	const struct analyzer_in in = {.fabric = world->config->fabric,
		.window = &now,
		.interval_ns = interval_s * NS_PER_S,
		.arena = world->arena,
		.shared = &shared};
	const struct golden_in golden = {.in = &in,
		.back = golden_wants_back(&now) ? &back : NULL,
		.pause = &pause_limits,
		.links = &link_limits,
		.ecmp = &ecmp};
	golden_measure(&golden, &measured);
}

#define AT(device, port, priority, metric)                                                         \
	(struct made_sample)                                                                       \
	{                                                                                          \
		device, port, priority, M_##metric, 0, 0                                           \
	}

/* Load on every port; marks are counted and stay at 0. */
static void add_calm(struct window_world *world, int t_s)
{
	static const char *const ports[][2] = {
		{"leaf1", "p1"}, {"leaf1", "p2"}, {"leaf1", "p9"}, {"spine1", "p1"}};
	for (size_t i = 0; i < rw_countof(ports); i++) {
		const char *device = ports[i][0], *port = ports[i][1];
		window_world_add(
			world, t_s, AT(device, port, PRIO_NONE, PORT_OUT_OCTETS), t_s * 5e9);
		window_world_add(
			world, t_s, AT(device, port, PRIO_NONE, PORT_IN_OCTETS), t_s * 5e9);
		window_world_add(world, t_s, AT(device, port, PRIO_NONE, PORT_SPEED_BPS),
			str_eq(port, "p9") || str_eq(device, "spine1") ? 400e9 : 100e9);
		window_world_add(world, t_s, AT(device, port, 3, QUEUE_ECN_MARKED), 0);
		window_world_add(world, t_s, AT(device, port, 3, QUEUE_DROPS), 0);
	}
}

static void add_pause(struct window_world *world, int t_s, const char *device, const char *port,
	double rx_share, double tx_share)
{
	window_world_add(world, t_s, AT(device, port, 3, PFC_RX_PAUSE_NS), t_s * rx_share * 1e9);
	window_world_add(world, t_s, AT(device, port, 3, PFC_TX_PAUSE_NS), t_s * tx_share * 1e9);
	window_world_add(world, t_s, AT(device, port, 3, PFC_RX_FRAMES), t_s * rx_share * 1e5);
	window_world_add(world, t_s, AT(device, port, 3, PFC_TX_FRAMES), t_s * tx_share * 1e5);
}

/* n1 pauses its port for 80 % of the time; the leaf pauses the spine for 30 %, whose port counts
 * more frames than any other; and it pauses n2. */
static void test_pause_is_time_with_its_origin(void **state)
{
	struct window_world world;
	window_world_init(&world, yaml);
	for (int t = 0; t <= 90; t += 10) {
		add_calm(&world, t);
		add_pause(&world, t, "leaf1", "p1", 0.8, 0);
		add_pause(&world, t, "leaf1", "p2", 0, 0.2);
		add_pause(&world, t, "leaf1", "p9", 0, 0.3);
		add_pause(&world, t, "spine1", "p1", 0.3, 0);
	}
	measure(&world, 60, 90, 10);
	const struct golden_value *value = &measured.v[GOLDEN_PAUSE_TIME];
	assert_true(fabs(value->value - 0.8) < 1e-6 && fabs(value->value_low - 0.8) < 1e-6);
	assert_false(value->bound);
	assert_int_equal(value->state, GOLDEN_CRITICAL);
	assert_true(value->limit == pause_limits.warn);
	assert_string_equal(value->host, "n1");
	assert_string_equal(value->device, "leaf1");
	assert_string_equal(value->port, "p1");
	assert_int_equal(value->priority, 3);
	/* and in the list: the origin first, though the spine is paused too */
	assert_int_equal(measured.n_paused, 3);
	assert_string_equal(measured.paused[0].sentence, "n1 paused us");
	assert_int_equal(measured.paused[0].role, GOLDEN_ROLE_ORIGIN);
	assert_string_equal(measured.paused[1].sentence, "leaf1 paused us");
	assert_int_equal(measured.paused[1].role, GOLDEN_ROLE_VICTIM);
	/* a host waits for the leaf, which waits for n1 */
	assert_string_equal(measured.paused[2].sentence, "we paused n2");
	assert_int_equal(measured.paused[2].role, GOLDEN_ROLE_PASSES);
	/* no mark: a host that pauses lets nothing out of its queue, which says nothing of ECN */
	assert_true(measured.v[GOLDEN_ECN_MARKS].value == 0);
	assert_int_equal(measured.v[GOLDEN_ECN_MARKS].state, GOLDEN_OK);
	assert_null(measured.v[GOLDEN_ECN_MARKS].why);
	window_world_done(&world);
}

/* The leaf pauses the spine because a queue of its own is full: that queue should have marked. */
static void test_full_queue_marks_first(void **state)
{
	struct window_world world;
	window_world_init(&world, yaml);
	for (int t = 0; t <= 90; t += 10) {
		add_calm(&world, t);
		add_pause(&world, t, "leaf1", "p1", 0, 0);
		add_pause(&world, t, "leaf1", "p2", 0, 0);
		add_pause(&world, t, "leaf1", "p9", 0, 0.3);
		add_pause(&world, t, "spine1", "p1", 0.3, 0);
	}
	measure(&world, 60, 90, 10);
	assert_true(measured.v[GOLDEN_ECN_MARKS].value == 0);
	assert_int_equal(measured.v[GOLDEN_ECN_MARKS].state, GOLDEN_WARNING);
	assert_string_equal(measured.v[GOLDEN_ECN_MARKS].why, ECN_ORDER_WRONG);
	window_world_done(&world);
}

/* Frames without durations: a bound, which warns and is never critical. */
static void test_frames_are_a_bound(void **state)
{
	struct window_world world;
	window_world_init(&world, yaml);
	for (int t = 0; t <= 90; t += 10) {
		add_calm(&world, t);
		window_world_add(&world, t, AT("leaf1", "p1", 3, PFC_RX_FRAMES), t * 2000.0);
	}
	measure(&world, 60, 90, 10);
	const struct golden_value *value = &measured.v[GOLDEN_PAUSE_TIME];
	assert_true(value->bound && value->value_low == 0);
	/* 2000 x 65,535 x 512 bit times at 100 Gbit/s */
	assert_true(fabs(value->value - 0.671) < 0.001);
	assert_int_equal(value->state, GOLDEN_WARNING);
	assert_non_null(strstr(value->why, "duration unknown"));
	window_world_done(&world);
}

static void test_calm_is_ok_and_missing_is_unknown(void **state)
{
	struct window_world world;
	window_world_init(&world, yaml);
	for (int t = 0; t <= 90; t += 10) {
		add_calm(&world, t);
		add_pause(&world, t, "leaf1", "p1", 0, 0);
	}
	measure(&world, 60, 90, 10);
	assert_true(measured.v[GOLDEN_PAUSE_TIME].value == 0);
	assert_int_equal(measured.v[GOLDEN_PAUSE_TIME].state, GOLDEN_OK);
	assert_int_equal(measured.v[GOLDEN_ECN_MARKS].state, GOLDEN_OK);
	assert_int_equal(measured.v[GOLDEN_LOSSLESS_DROPS].state, GOLDEN_OK);
	assert_int_equal(measured.v[GOLDEN_LINKS_BELOW_CLASS].state, GOLDEN_OK);
	assert_true(isnan(measured.v[GOLDEN_DISCARDS].value));
	assert_int_equal(measured.v[GOLDEN_DISCARDS].state, GOLDEN_UNKNOWN);
	assert_int_equal(measured.v[GOLDEN_NAK].state, GOLDEN_UNKNOWN);
	window_world_done(&world);
}

static void test_a_slow_link_and_a_drop(void **state)
{
	struct window_world world;
	window_world_init(&world, yaml);
	for (int t = 0; t <= 90; t += 10) {
		window_world_add(&world, t, AT("leaf1", "p1", PRIO_NONE, PORT_OUT_OCTETS), t * 5e9);
		window_world_add(&world, t, AT("leaf1", "p1", PRIO_NONE, PORT_SPEED_BPS), 25e9);
		window_world_add(&world, t, AT("leaf1", "p1", 3, PG_DROPS), t);
		window_world_add(&world, t, AT("leaf1", "p1", 0, QUEUE_DROPS), t * 1000);
	}
	measure(&world, 60, 90, 10);
	assert_true(measured.v[GOLDEN_LINKS_BELOW_CLASS].value == 1);
	assert_string_equal(measured.v[GOLDEN_LINKS_BELOW_CLASS].where, "leaf1 p1");
	assert_true(measured.v[GOLDEN_LOSSLESS_DROPS].value == 1); /* not those of priority 0 */
	assert_int_equal(measured.v[GOLDEN_LOSSLESS_DROPS].state, GOLDEN_CRITICAL);
	window_world_done(&world);
}

/* A switch that is asked every second and counts marks every ten: the same number in every window,
 * whether its samples come every second or every ten. */
static void test_slow_counters_do_not_flicker(void **state)
{
	for (int sampled_s = 1; sampled_s <= 10; sampled_s += 9) {
		struct window_world world;
		window_world_init(&world, yaml);
		for (int t = 0; t <= 100; t++) {
			window_world_add(
				&world, t, AT("leaf1", "p1", PRIO_NONE, PORT_OUT_OCTETS), t * 5e9);
			if (t % sampled_s == 0)
				window_world_add(&world, t, AT("leaf1", "p1", 3, QUEUE_ECN_MARKED),
					t / 10 * 1000);
		}
		for (int to = 70; to < 95; to++) {
			measure(&world, to - 5, to, 1);
			const struct golden_value *value = &measured.v[GOLDEN_ECN_MARKS];
			if (!(fabs(value->value - 100) < 1e-6))
				fail_msg("samples every %d s, window to %d s: %g", sampled_s, to,
					value->value);
			assert_string_equal(value->why, "counted every 10 s");
		}
		window_world_done(&world);
	}
}

/* A counter that is really gone is not shown for ever. */
static void test_a_lost_counter_is_unknown(void **state)
{
	struct window_world world;
	window_world_init(&world, yaml);
	for (int t = 0; t <= 120; t++) {
		window_world_add(&world, t, AT("leaf1", "p1", PRIO_NONE, PORT_OUT_OCTETS), t * 5e9);
		if (t <= 60 && t % 10 == 0)
			window_world_add(
				&world, t, AT("leaf1", "p1", 3, QUEUE_ECN_MARKED), t * 100);
	}
	measure(&world, 80, 85, 1);
	assert_true(fabs(measured.v[GOLDEN_ECN_MARKS].value - 100) < 1e-6);
	measure(&world, 90, 95, 1);
	assert_true(isnan(measured.v[GOLDEN_ECN_MARKS].value));
	assert_int_equal(measured.v[GOLDEN_ECN_MARKS].state, GOLDEN_UNKNOWN);
	window_world_done(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pause_is_time_with_its_origin),
		cmocka_unit_test(test_full_queue_marks_first),
		cmocka_unit_test(test_frames_are_a_bound),
		cmocka_unit_test(test_calm_is_ok_and_missing_is_unknown),
		cmocka_unit_test(test_a_slow_link_and_a_drop),
		cmocka_unit_test(test_slow_counters_do_not_flicker),
		cmocka_unit_test(test_a_lost_counter_is_unknown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
