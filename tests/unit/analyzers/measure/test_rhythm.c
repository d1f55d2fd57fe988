/* rhythm: levels and change points of a job's throughput, and the step where the samples are fine
 * enough. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "analyzers/measure/rhythm.h"
#include "config/fabric.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "tests/unit/window_world.h"

#define N 200

/* Blocks of @block_s seconds of a job whose step takes @step_s: whole exchanges, at the end of each
 * step. Returns the time it is in. */
static double play(double *v, size_t n, double block_s, double step_s, double *phase)
{
	for (size_t k = 0; k < n; k++) {
		const double end = *phase + block_s;
		v[k] = floor(end / step_s) * 1000 / block_s;
		*phase = fmod(end, step_s);
	}
	return *phase;
}

static void near(double got, double expected, double within)
{
	if (!(fabs(got - expected) <= within))
		fail_msg("%.9g, expected %.9g +- %.3g", got, expected, within);
}

/* 422 ms became 450 ms: 5 s hold eleven or twelve steps, yet the loss comes out, and where it
 * began. */
static void test_story(void **state)
{
	double v[N], phase = 0;
	struct segment s[8];
	play(v, 60, 5, 0.422, &phase);
	phase = 0;
	play(v + 60, 60, 5, 0.450, &phase);
	assert_int_equal(rhythm_segments(v, 120, 0.03, s, 8), 2);
	assert_in_range(s[1].from, 58, 62);
	near(1 - s[1].level.mean / s[0].level.mean, 28.0 / 450, 0.004);
}

static void test_segments(void **state)
{
	static const struct {
		const char *what;
		double level[3];
		size_t n[3], segments;
	} rows[] = {
		{"steady", {100, 100, 100}, {40, 40, 40}, 1},
		{"down", {100, 80, 80}, {40, 40, 0}, 2},
		{"down and up again", {100, 80, 100}, {40, 40, 40}, 3},
		{"two falls", {100, 80, 60}, {40, 40, 40}, 3},
		{"left and come back to, just now", {100, 80, 100}, {8, 12, 2}, 3},
		{"... a while ago", {100, 80, 100}, {8, 12, 8}, 3},
		{"... one block may hold both", {100, 80, 100}, {8, 12, 1}, 2},
		{"left for long, back for a while", {100, 80, 100}, {20, 70, 14}, 3},
		{"two blocks of a checkpoint", {100, 60, 100}, {40, 2, 40}, 1},
		{"smaller than what counts", {100, 98, 98}, {40, 40, 0}, 1},
	};
	for (size_t row = 0; row < rw_countof(rows); row++) {
		double v[N];
		struct segment s[8];
		size_t n = 0;
		uint32_t seed = 5;
		for (size_t part = 0; part < 3; part++)
			for (size_t k = 0; k < rows[row].n[part]; k++) {
				seed = seed * 1664525u + 1013904223u;
				v[n++] = rows[row].level[part] *
					(1 + 0.02 * ((double)(seed >> 8) / (1 << 24) - 0.5));
			}
		const size_t got = rhythm_segments(v, n, 0.03, s, 8);
		if (got != rows[row].segments)
			fail_msg("%s: %zu segments, expected %zu", rows[row].what, got,
				rows[row].segments);
	}
}

/* Blocks of eleven or twelve steps: two of twelve in a row are no return to the level before. */
static void test_no_return_by_chance(void **state)
{
	double v[N], phase = 0;
	struct segment s[8];
	play(v, 60, 5, 0.422, &phase);
	play(v + 60, 100, 5, 0.450, &phase);
	for (size_t n = 100; n <= 160; n++)
		assert_int_equal(rhythm_segments(v, n, 0.03, s, 8), 2);
}

/* Noise alone, in many looks, must not change level; the more so as levels jump by whole steps. */
static void test_noise(void **state)
{
	uint32_t seed = 1;
	for (unsigned look = 0; look < 2000; look++) {
		double v[120];
		struct segment s[4];
		for (size_t k = 0; k < 120; k++) {
			seed = seed * 1664525u + 1013904223u;
			v[k] = 5 + (seed >> 30); /* 5 to 8 steps */
		}
		assert_int_equal(rhythm_segments(v, 120, 0.03, s, 4), 1);
	}
}

static void test_level_and_busy(void **state)
{
	const double v[] = {10, 11, NAN, 0, 10, 11, 0, 12, 9, 40};
	double busy[10];
	size_t at[10];
	const struct level l = rhythm_level(v, 10);
	assert_int_equal(l.n, 6); /* not the idle ones, not the one of 40 */
	near(l.mean, 10.5, 1e-9);
	/* those next to idle ones may be idle for a part */
	assert_int_equal(rhythm_busy(v, 10, busy, at), 4);
	assert_int_equal(at[2], 8);
	assert_int_equal(rhythm_level(v, 0).n, 0);
	assert_true(isnan(rhythm_level(v, 0).mean));
	struct change c;
	assert_false(rhythm_change(v, 5, 0, 5, &c));
}

static void test_period(void **state)
{
	static const struct {
		const char *what;
		double step_s, duty, jitter, slice_s, expected_s;
	} rows[] = {
		{"422 ms in slices of 20 ms", 0.422, 0.28, 0, 0.02, 0.422},
		{"the same with jitter", 0.422, 0.28, 0.05, 0.02, 0.422},
		{"450 ms in slices of 100 ms", 0.450, 0.3, 0, 0.1, 0.450},
		{"12 s polled each second", 12, 0.3, 0.02, 1, 12},
		{"422 ms polled each second", 0.422, 0.28, 0.02, 1, 0},
		{"no rhythm: always busy", 1, 1, 0, 0.05, 0},
	};
	for (size_t row = 0; row < rw_countof(rows); row++) {
		const double slice = rows[row].slice_s, step = rows[row].step_s;
		double v[600] = {0}, start = 0;
		uint32_t seed = 9;
		/* one exchange after the other, spread over the slices it touches */
		while (start < 600 * slice) {
			seed = seed * 1664525u + 1013904223u;
			const double length = step *
				(1 + rows[row].jitter * ((double)(seed >> 8) / (1 << 24) - 0.5)),
				     from = start + length * (1 - rows[row].duty);
			for (size_t k = (size_t)(from / slice);
				k < 600 && (double)k * slice < start + length; k++)
				v[k] += fmax(0,
						fmin(start + length, (double)(k + 1) * slice) -
							fmax(from, (double)k * slice)) /
					(length * rows[row].duty);
			start += length;
		}
		struct period p;
		const bool found = rhythm_period(v, 600, (int64_t)(slice * 1e9), &p);
		const double got = (double)p.period_ns / 1e9;
		if (found != (rows[row].expected_s > 0) ||
			fabs(got - rows[row].expected_s) > 0.01 * rows[row].expected_s)
			fail_msg("%s: %s %.4f s, expected %.4f", rows[row].what,
				found ? "found" : "none", got, rows[row].expected_s);
		if (found && rows[row].slice_s * 10 < rows[row].step_s)
			near(p.duty_ratio, rows[row].duty, 0.06);
	}
}

static double storm_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (double)(*seed >> 11) / 9007199254740992.0;
}

/* A job that a storm stopped a while ago, polled each second: noise of some seconds, then next to
 * nothing. Its correlations fall all the way, and their little peaks led nowhere for ever. */
static void storm_series(uint64_t number, double *v, size_t n)
{
	uint64_t seed = UINT64_C(0x9E3779B97F4A7C15) * number;
	const size_t stop = 480 + (size_t)(storm_random(&seed) * 110);
	const size_t first = (size_t)(storm_random(&seed) * 460);
	const double noise = 0.2 * storm_random(&seed), swing = 0.3 * storm_random(&seed);
	const double period = 3 + 5 * storm_random(&seed), jitter = 0.3 * storm_random(&seed);
	double holes = 0;
	if (number % 3)
		holes = 0.5 + 0.1 * storm_random(&seed);
	for (size_t k = 0; k < n; k++) {
		v[k] = NAN;
		if (k >= stop) {
			v[k] = 1e3 * storm_random(&seed);
			continue;
		}
		if (k < first || holes * storm_random(&seed) > 0.5)
			continue;
		const double wobble = noise * storm_random(&seed);
		const double phase = (double)k / period + jitter * storm_random(&seed);
		v[k] = 1e9 * (1 + wobble + swing * sin(6.2831853 * phase));
	}
}

static void test_period_of_a_stopped_job(void **state)
{
	static const uint64_t numbers[] = {1459, 2225, 2252, 2378, 2776, 3989};
	alarm(60); /* a period that is never found ends the test, not the run */
	for (size_t i = 0; i < rw_countof(numbers); i++) {
		double v[600];
		struct period p;
		storm_series(numbers[i], v, rw_countof(v));
		const bool found = rhythm_period(v, rw_countof(v), 1000000000, &p);
		if (found != (p.period_ns >= 1000000000) || p.period_ns > 300000000000)
			fail_msg("series %d: found %d, a step of %lld ns", (int)numbers[i], found,
				(long long)p.period_ns);
	}
	alarm(0);
}

/*
 * A job of steps of 0.4 s, polled each second: its slices never idle. Then a fault stops it, it is
 * repaired, and the data has a gap or the job stands still once more: two pauses are no step,
 * however far apart they lie.
 */
static void test_fault_and_gap_are_no_step(void **state)
{
	uint64_t seed = 7;
	double longest_s = 0;
	for (size_t apart = 90; apart <= 280; apart += 1) {
		for (int what = 0; what < 6; what++) {
			const size_t fault = 150, length = 20 + apart / 4;
			double v[600];
			struct period p;
			for (size_t k = 0; k < rw_countof(v); k++) {
				const size_t begun = (size_t)((double)k / 0.4),
					     ended = (size_t)((double)(k + 1) / 0.4);
				v[k] = 4e8 * (double)(ended - begun);
				if (what >= 3) /* steps that vary beat with no poll */
					v[k] = 1e9 * (0.9 + 0.2 * storm_random(&seed));
				const bool again = k >= fault + apart && k < fault + apart + length;
				if (k >= fault && k < fault + length)
					v[k] *= 0.03;
				if (again && what % 3 == 0)
					v[k] *= 0.03;
				if (again && what % 3 == 1)
					v[k] = NAN;
			}
			if (rhythm_period(v, rw_countof(v), NS_PER_S, &p))
				longest_s = fmax(longest_s, (double)p.period_ns / NS_PER_S);
		}
	}
	if (longest_s > 0)
		fail_msg("a step of %.0f s", longest_s);
}

/* Two hosts; the counter of one is silent for a while, one wraps around 64 bits never: its share
 * stands in. */
static void test_throughput(void **state)
{
	struct fabric_device leaf = {.name = "leaf1", .role = ROLE_LEAF};
	struct fabric_port ports[3] = {{.name = "e1", .device = &leaf, .host = "a-1"},
		{.name = "e2", .device = &leaf, .host = "a-2"},
		{.name = "e3", .device = &leaf, .host = "b-1"}};
	struct fabric_port *list[] = {&ports[0], &ports[1], &ports[2]};
	leaf.ports = list;
	leaf.n_ports = 3;
	struct fabric_device *devices[] = {&leaf};
	struct fabric_job jobs[] = {
		{.name = "a", .hosts = "a-*", .gpus = 8}, {.name = "c", .hosts = "c-*", .gpus = 8}};
	struct fabric f = {.devices = devices, .n_devices = 1, .jobs = jobs, .n_jobs = 2};
	struct window_world made;
	window_world_init(&made, NULL);
	fabric_job_split(&jobs[0], made.arena);
	fabric_job_split(&jobs[1], made.arena);
	static const int octets_per_s[] = {300, 100, 7000};
	for (int t = 0; t <= 100; t += 5) {
		for (int p = 0; p < 3; p++) {
			const bool silent = p == 1 && t > 40 && t < 70;
			const struct made_sample sample = {.device = "leaf1",
				.port = ports[p].name,
				.priority = PRIO_NONE,
				.metric = M_PORT_OUT_OCTETS};
			if (!silent)
				window_world_add(&made, t, sample, 1000 + t * octets_per_s[p]);
		}
	}
	struct window *w = &made.window;
	window_world_cut(&made, throughput_metrics, throughput_n_metrics, 0, 100, made.arena, w);
	struct throughput *t;
	/* nobody has a host of c */
	assert_int_equal(throughput_of(&f, w, 10 * NS_PER_S, made.arena, &t), 1);
	assert_string_equal(t[0].rate.job, "a");
	assert_int_equal(t[0].rate.n, 10);
	assert_int_equal(t[0].n_seen, 2);
	assert_false(t[0].rate.by_uplinks);
	for (size_t k = 0; k < 10; k++)
		near(t[0].rate.rate[k], 400, 1e-6);
	window_world_done(&made);
}

static const char *const port_names[] = {"e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8"};

struct rhythm_fabric { /* one leaf with hosts */
	struct fabric fabric;
	struct fabric_device leaf, *devices[1];
	struct fabric_port ports[8], *list[8];
};

static void rhythm_fabric_init(struct rhythm_fabric *made, size_t n)
{
	static const char *const hosts[] = {"a-1", "a-2", "a-3", "a-4", "a-5", "a-6", "a-7", "a-8"};
	*made = (struct rhythm_fabric){.leaf = {.name = "leaf1", .role = ROLE_LEAF}};
	for (size_t i = 0; i < n; i++) {
		made->ports[i] = (struct fabric_port){
			.name = port_names[i], .device = &made->leaf, .host = hosts[i]};
		made->list[i] = &made->ports[i];
	}
	made->leaf.ports = made->list;
	made->leaf.n_ports = n;
	made->devices[0] = &made->leaf;
	made->fabric = (struct fabric){.devices = made->devices, .n_devices = 1};
}

static void rhythm_add(struct window_world *world, double t_s, const char *port, double octets)
{
	const struct sample sample = {.t_ns = (int64_t)(t_s * NS_PER_S),
		.entity = entities_intern(world->entities, "leaf1", port, PRIO_NONE),
		.metric = M_PORT_OUT_OCTETS,
		.value = (uint64_t)octets,
		.source = SOURCE_REPLAY};
	series_memory_add(world->memory, &sample);
}

/* A port that had changed its part of the whole falls silent: the level of the job stays. Its part
 * over the whole time would have made it 9 % slower. */
static void test_silent_port_keeps_the_level(void **state)
{
	struct rhythm_fabric made;
	struct window_world world;
	struct throughput *t;
	rhythm_fabric_init(&made, 2);
	window_world_init(&world, NULL);
	double octets[2] = {1000, 1000};
	for (int at = 0; at <= 900; at += 10) {
		const bool shifted = at > 300, silent = at > 700;
		octets[0] += (shifted ? 750 : 400) * 10;
		octets[1] += (shifted ? 250 : 600) * 10;
		rhythm_add(&world, at, "e1", octets[0]);
		if (!silent)
			rhythm_add(&world, at, "e2", octets[1]);
	}
	window_world_cut(&world, throughput_metrics, throughput_n_metrics, 0, 900, world.arena,
		&world.window);
	assert_int_equal(
		throughput_of(&made.fabric, &world.window, 30 * NS_PER_S, world.arena, &t), 1);
	for (size_t k = 1; k < t[0].rate.n; k++)
		near(t[0].rate.rate[k], 1000, 1);
	window_world_done(&world);
}

/* Polls come up to 0.3 s late, and blocks are as long as the time between them: each block has its
 * part of what lies between two polls. */
static void test_blocks_of_one_poll(void **state)
{
	struct rhythm_fabric made;
	struct window_world world;
	struct throughput *t;
	uint32_t seed = 3;
	rhythm_fabric_init(&made, 1);
	window_world_init(&world, NULL);
	for (int at = 0; at <= 600; at += 10) {
		seed = seed * 1664525u + 1013904223u;
		const double late = 0.3 * ((double)(seed >> 8) / (1 << 24));
		rhythm_add(&world, at + late, "e1", 1e6 + 1e5 * (at + late));
	}
	window_world_cut(&world, throughput_metrics, throughput_n_metrics, 0, 600, world.arena,
		&world.window);
	throughput_of(&made.fabric, &world.window, 10 * NS_PER_S, world.arena, &t);
	for (size_t k = 1; k + 1 < t[0].rate.n; k++)
		near(t[0].rate.rate[k], 1e5, 1);
	window_world_done(&world);
}

/* An agent that refreshes its counters every 5 s, polled each second: that is no step of 5 s, and
 * the job never idles. */
static void test_cached_counters_are_no_step(void **state)
{
	struct rhythm_fabric made;
	struct window_world world;
	struct throughput *t;
	struct period p;
	double slices[600];
	rhythm_fabric_init(&made, 1);
	window_world_init(&world, NULL);
	for (int at = 0; at <= 600; at++)
		rhythm_add(&world, at + 0.01 * (at % 3), "e1", 1e6 + 1e5 * (at - at % 5));
	window_world_cut(&world, throughput_metrics, throughput_n_metrics, 0, 600, world.arena,
		&world.window);
	struct throughput_hosts *hosts = throughput_hosts_new(&made.fabric);
	throughput_slices(
		&made.fabric, hosts, NULL, &world.window, NS_PER_S, slices, rw_countof(slices));
	throughput_hosts_free(hosts);
	assert_false(rhythm_period(slices, rw_countof(slices), NS_PER_S, &p));
	throughput_of(&made.fabric, &world.window, 5 * NS_PER_S, world.arena, &t);
	for (size_t k = 1; k + 1 < t[0].rate.n; k++)
		near(t[0].rate.rate[k], 1e5, 2e3);
	window_world_done(&world);
}

/* A job keeps 60 % of its steps. Ports that move more than the steps since then (what is sent
 * again, many that send to one) do not make that more, whichever share of the ports they are; nor
 * does one that left the job make it less. Where no ports agree all count. */
static void test_only_steps_count(void **state)
{
	static const struct {
		double kept[8], job, surplus;
	} cases[] = {
		{{.6, .6, .6, .6, .6, .6, .6, .6}, .6, 0},
		{{.6, 1.2, .6, 1.3, .6, 1.25, 1.1, .9}, .6, 1.573},
		{{.6, .6, .6, .6, .6, .6, .6, 0}, .6, .875},
		{{.3, .6, .6, .9, .6, .6, .6, .6}, .6, 1},
		{{.5, .54, .58, .62, .66, .7, .74, .78}, .64, 0},
	};
	for (size_t c = 0; c < rw_countof(cases); c++) {
		struct rhythm_fabric made;
		struct window_world world;
		struct throughput *t;
		double octets[8] = {1000};
		rhythm_fabric_init(&made, 8);
		window_world_init(&world, NULL);
		for (int at = 0; at <= 900; at += 10)
			for (size_t i = 0; i < 8; i++) {
				rhythm_add(&world, at, port_names[i], octets[i]);
				octets[i] += 1e6 * (at >= 600 ? cases[c].kept[i] : 1);
			}
		window_world_cut(&world, throughput_metrics, throughput_n_metrics, 0, 900,
			world.arena, &world.window);
		throughput_of(&made.fabric, &world.window, 30 * NS_PER_S, world.arena, &t);
		const double *rate = t[0].rate.rate;
		near(rate[25] / rate[10], cases[c].job, 0.006);
		near(rate[10], 8e5, 1e4); /* whatever most of the blocks show */
		near(t[0].rate.surplus_ratio, cases[c].surplus, 0.006);
		window_world_done(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_steps_count),
		cmocka_unit_test(test_silent_port_keeps_the_level),
		cmocka_unit_test(test_blocks_of_one_poll),
		cmocka_unit_test(test_cached_counters_are_no_step),
		cmocka_unit_test(test_story),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_no_return_by_chance),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_level_and_busy),
		cmocka_unit_test(test_period),
		cmocka_unit_test(test_period_of_a_stopped_job),
		cmocka_unit_test(test_fault_and_gap_are_no_step),
		cmocka_unit_test(test_throughput),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
