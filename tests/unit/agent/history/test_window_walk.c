/* window_walk: which windows there are, that each comes once and in order whatever is read at once,
 * and what a window holds. */
#include "agent/client/client.h"
#include "agent/history/window_walk.h"
#include "tests/unit/window_world.h"

#include <errno.h>

static const uint16_t metrics[] = {M_PORT_OUT_OCTETS};

static void test_align(void **state)
{
	static const struct {
		const char *what;
		int64_t from, to;
		bool any;
		int64_t want_from, want_to;
	} rows[] = {
		{"fits", 60, 120, true, 60, 120},
		{"inwards on both sides", 61, 199, true, 90, 180},
		{"less than one", 61, 89, false, 61, 89},
		{"none", 90, 90, false, 90, 90},
		{"before 1970", -61, 1, true, -60, 0},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		int64_t from = rows[i].from, to = rows[i].to;
		const bool any = window_align(30, &from, &to);
		if (any != rows[i].any || from != rows[i].want_from || to != rows[i].want_to)
			fail_msg("%s: %d (%lld, %lld]", rows[i].what, any, (long long)from,
				(long long)to);
	}
}

/* One counter each second from 7 s to 94 s, and a flow interval in each 10 s. */
static void make_past(struct window_world *world)
{
	window_world_init(world, NULL);
	const struct made_sample made = {.device = "leaf1",
		.port = "swp1",
		.priority = PRIO_NONE,
		.metric = M_PORT_OUT_OCTETS};
	for (int t_s = 7; t_s <= 94; t_s++)
		window_world_add(world, t_s, made, 1000.0 * t_s);
	for (int t_s = 10; t_s < 90; t_s += 10)
		series_memory_add_flow(world->memory,
			&(struct flow_sample){.from_ns = t_s * NS_PER_S,
				.to_ns = (t_s + 10) * NS_PER_S,
				.entity = 1});
}

static void test_bounds(void **state)
{
	struct window_world world;
	make_past(&world);
	struct client client = {.history = series_memory_history(world.memory)};
	struct err e = {0};
	int64_t from = 0, to = INT64_MAX / 4;
	assert_int_equal(window_bounds(&client, 30 * NS_PER_S, &from, &to, &e), 0);
	assert_int_equal(from, 30 * NS_PER_S);
	assert_int_equal(to, 90 * NS_PER_S);
	from = 40 * NS_PER_S;
	to = 60 * NS_PER_S;
	assert_int_equal(window_bounds(&client, 30 * NS_PER_S, &from, &to, &e), -ENODATA);
	assert_int_equal(from, 40 * NS_PER_S);
	window_world_done(&world);
}

struct seen {
	int64_t next_ns;
	size_t windows, flows, stop_after;
};

static int see(void *arg, const struct window *window, struct arena *turn)
{
	struct seen *seen = arg;
	assert_int_equal(window->from_ns, seen->next_ns);
	assert_true(window->to_ns > window->from_ns);
	assert_int_equal(window->n_series, 1);
	for (size_t i = 0; i < window->n_flows; i++) {
		assert_true(window->flows[i].from_ns >= window->from_ns);
		assert_true(window->flows[i].to_ns <= window->to_ns);
	}
	seen->flows += window->n_flows;
	seen->next_ns = window->to_ns;
	arena_strdup(turn, "scratch");
	if (++seen->windows == seen->stop_after)
		return 7;
	return 0;
}

static void test_walk(void **state)
{
	struct window_world world;
	make_past(&world);
	struct client client = {.history = series_memory_history(world.memory)};
	const struct window_spec spec = {.metrics = metrics, .n_metrics = 1, .flows = true};
	for (size_t at_once = 0; at_once < 6; at_once++) {
		const struct window_plan plan = {.spec = &spec,
			.from_ns = 10 * NS_PER_S,
			.to_ns = 85 * NS_PER_S,
			.window_ns = 20 * NS_PER_S,
			.at_once = at_once};
		struct seen seen = {.next_ns = plan.from_ns};
		struct err e = {0};
		assert_int_equal(window_walk(&client, &plan, see, &seen, &e), 0);
		assert_int_equal(seen.windows, 4); /* the last one is 15 s long */
		assert_int_equal(seen.next_ns, plan.to_ns);
		assert_int_equal(seen.flows, 7);
		seen = (struct seen){.next_ns = plan.from_ns, .stop_after = 2};
		assert_int_equal(window_walk(&client, &plan, see, &seen, &e), 7);
		assert_int_equal(seen.windows, 2);
	}
	window_world_done(&world);
}

struct counted {
	size_t windows, samples;
};

static int count(void *arg, const struct window *window, struct arena *turn)
{
	struct counted *counted = arg;
	counted->windows++;
	for (size_t i = 0; i < window->n_series; i++)
		for (uint32_t k = 0; k < window->series[i].n; k++)
			counted->samples += window->series[i].t_ns[k] > window->from_ns &&
				window->series[i].t_ns[k] <= window->to_ns;
	return 0;
}

/* Thirty years between two samples are not a window each. */
static void test_far_apart(void **state)
{
	struct window_world world;
	make_past(&world);
	const int years_s = 946000000;
	const struct made_sample made = {.device = "leaf1",
		.port = "swp1",
		.priority = PRIO_NONE,
		.metric = M_PORT_OUT_OCTETS};
	window_world_add(&world, years_s, made, 1e9);
	struct client client = {.history = series_memory_history(world.memory)};
	const struct window_spec spec = {.metrics = metrics, .n_metrics = 1};
	const struct window_plan plan = {.spec = &spec,
		.from_ns = 0,
		.to_ns = (years_s + 20) * NS_PER_S,
		.window_ns = NS_PER_S};
	struct counted counted = {0};
	struct err e = {0};
	assert_int_equal(window_walk(&client, &plan, count, &counted, &e), 0);
	assert_int_equal(counted.samples, 88 + 1); /* each lies in a window */
	assert_true(counted.windows >= 88 + 1);
	assert_true(counted.windows < 1000);
	window_world_done(&world);
}

static void test_spacing(void **state)
{
	struct window_world world;
	struct window window;
	make_past(&world);
	window_world_cut(&world, metrics, 1, 10, 60, world.arena, &window);
	assert_true(window_spacing(&window.series[0], world.arena) == 1e9);
	window_world_cut(&world, metrics, 1, 92, 94, world.arena, &window);
	assert_true(isnan(window_spacing(&window.series[0], world.arena)));
	window_world_done(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_align),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_far_apart),
		cmocka_unit_test(test_spacing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
