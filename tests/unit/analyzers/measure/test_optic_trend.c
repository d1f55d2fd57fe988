/* optic_trend: light and bit errors against their own past. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "analyzers/measure/links.h"
#include "db/model/metric.h"
#include "tests/unit/window_world.h"

#define LENGTH_S 1800
#define DARK (-38)

struct optic_case {
	double falls_db, from_s; /* in ten minutes, from then on */
	double noise_db, wave_db; /* uniform, both ways; of a slow swing, as of temperature */
};

static double optic_noise(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return 2 * ((double)(*seed >> 8) / (1 << 24)) - 1;
}

static struct optic_trend optic_case_trend(
	const struct optic_case *made, int every_s, uint32_t seed)
{
	static const uint16_t metrics[] = {M_OPTIC_RX_POWER};
	const struct made_sample sample = {
		.device = "leaf1", .port = "e1", .priority = PRIO_NONE, .metric = M_OPTIC_RX_POWER};
	struct window_world world;
	window_world_init(&world, NULL);
	for (int t = 0; t <= LENGTH_S; t += every_s) {
		const double since_s = fmax(0, t - made->from_s);
		window_world_add(&world, t, sample,
			-2 - made->falls_db * since_s / 600 + made->noise_db * optic_noise(&seed) +
				made->wave_db * sin(t * 6.2831853 / 3600));
	}
	window_world_cut(&world, metrics, 1, 0, LENGTH_S, world.arena, &world.window);
	const uint32_t entity = entities_find(world.entities, "leaf1", "e1", PRIO_NONE);
	const struct series *series = window_series(&world.window, entity, M_OPTIC_RX_POWER);
	const struct optic_trend trend = optic_trend_of(&world.window, series, -1, false, DARK);
	window_world_done(&world);
	return trend;
}

/* 5 dB in ten minutes, seen after three of them at every cadence, however long the past was flat.
 */
static void test_fall(void **state)
{
	static const int cadences[] = {1, 10, 60};
	static const double noises[] = {0, 0.1};
	for (size_t c = 0; c < rw_countof(cadences); c++) {
		for (size_t n = 0; n < rw_countof(noises); n++) {
			const struct optic_case made = {5, LENGTH_S - 180, noises[n], 0};
			const struct optic_trend t = optic_case_trend(&made, cadences[c], 5);
			assert_true(t.known && t.beyond);
			assert_true(fabs(t.moved - 1.5) < 0.3);
			assert_true(6 * t.spread < 1.5);
			/* noise of 0.1 dB either way has a deviation of 0.058 */
			assert_true(noises[n] == 0 || (t.spread > 0.02 && t.spread < 0.11));
			assert_true(t.slope_per_h < -8);
		}
	}
}

/* Noise and the swing of a day's temperature are no fall of 1 dB, whichever the seed. */
static void test_noise(void **state)
{
	static const int cadences[] = {1, 10, 60};
	const struct optic_case made = {0, 0, 0.3, 0.3};
	for (size_t c = 0; c < rw_countof(cadences); c++) {
		for (uint32_t seed = 1; seed <= 50; seed++) {
			const struct optic_trend t = optic_case_trend(&made, cadences[c], seed);
			assert_true(t.known);
			assert_false(t.beyond && t.moved > fmax(1, 6 * t.spread));
		}
	}
}

/* One low reading in a past that was lower before is no trend: its part is as bright as the others.
 */
static void test_one_reading(void **state)
{
	static const uint16_t metrics[] = {M_OPTIC_RX_POWER};
	const struct made_sample sample = {
		.device = "leaf1", .port = "e1", .priority = PRIO_NONE, .metric = M_OPTIC_RX_POWER};
	struct window_world world;
	window_world_init(&world, NULL);
	for (int t = 0; t < LENGTH_S; t += 10)
		window_world_add(&world, t, sample, t < LENGTH_S / 2 ? -2.5 : -2);
	window_world_add(&world, LENGTH_S, sample, -3);
	window_world_cut(&world, metrics, 1, 0, LENGTH_S, world.arena, &world.window);
	const uint32_t entity = entities_find(world.entities, "leaf1", "e1", PRIO_NONE);
	const struct optic_trend trend = optic_trend_of(&world.window,
		window_series(&world.window, entity, M_OPTIC_RX_POWER), -1, false, DARK);
	assert_true(trend.known && trend.now == -3);
	assert_false(trend.beyond);
	window_world_done(&world);
}

static void test_too_little(void **state)
{
	const struct optic_case made = {5, 0, 0, 0};
	assert_false(optic_case_trend(&made, 360, 1).known); /* five parts, one short */
	const struct optic_trend all = optic_case_trend(&made, 300, 1);
	/* as long as the past: against its oldest third, not its middle */
	assert_true(all.known && fabs(all.before + 5.75) < 1);
	const struct window none = {0};
	assert_false(optic_trend_of(&none, NULL, -1, false, DARK).known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fall),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_one_reading),
		cmocka_unit_test(test_too_little),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
