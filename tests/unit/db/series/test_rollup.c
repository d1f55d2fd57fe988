/* Rollups: what they say of a series is what series.h says of the same samples, however the range
 * is cut into steps. */
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
#include "base/clock.h"
#include "base/stats.h"
#include "db/model/metric.h"
#include "db/series/history.h"
#include "db/series/rollup.h"
#include "db/series/series_memory.h"

#define SAMPLES 700
#define SERIES 3
#define STEP_NS (60 * NS_PER_S)
#define T0_NS (1700000000LL * NS_PER_S)

static uint64_t seed = 7;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

struct past {
	struct entities *entities;
	struct series_memory *memory;
	struct history *history;
	uint32_t ports[SERIES];
};

/* Counters of 32 and 64 bits that wrap, restart, stand still, are suspect, with holes. */
static void past_make(struct past *past, bool plain)
{
	uint64_t value[SERIES] = {UINT32_MAX - 5000, 1000, UINT64_C(1) << 60};
	past->entities = entities_new();
	past->memory = series_memory_new(past->entities, INT64_MAX / 2);
	past->history = series_memory_history(past->memory);
	for (size_t i = 0; i < SERIES; i++) {
		const char name[] = {'s', 'w', 'p', (char)('1' + i), '\0'};
		past->ports[i] = entities_intern(past->entities, "leaf1", name, PRIO_NONE);
	}
	for (int64_t k = 0; k < SAMPLES; k++)
		for (size_t i = 0; i < SERIES; i++) {
			struct sample sample = {.t_ns = T0_NS + k * 7 * NS_PER_S + (int64_t)i,
				.entity = past->ports[i],
				.metric = M_PORT_OUT_OCTETS};
			value[i] += rnd() % 1000;
			if (i == 0)
				value[i] = (uint32_t)value[i];
			if (i == 0)
				sample.flags |= SF_WRAP32;
			if (!plain && k % 50 > 40)
				continue;
			if (!plain && rnd() % 20 == 0)
				value[i] = 0;
			if (!plain && rnd() % 20 == 0)
				sample.flags |= SF_RESTART;
			if (!plain && rnd() % 20 == 0)
				sample.flags |= SF_SUSPECT;
			sample.value = value[i];
			assert_int_equal(series_memory_add(past->memory, &sample), 0);
		}
}

static void past_free(struct past *past)
{
	series_memory_free(past->memory);
	entities_free(past->entities);
}

struct seen {
	struct past *past;
	size_t rows;
	int64_t step_ns;
	uint64_t increase[SERIES];
	int64_t covered_ns[SERIES], seen_ns[SERIES], last_to_ns;
	uint32_t last_entity;
};

static struct window past_window(struct past *past, struct arena *a, int64_t from_ns, int64_t to_ns)
{
	static const uint16_t metric = M_PORT_OUT_OCTETS;
	const struct window_spec spec = {.metrics = &metric, .n_metrics = 1};
	struct window window;
	assert_int_equal(history_window(past->history, a, &spec, from_ns, to_ns, &window, NULL), 0);
	return window;
}

/* A step is what series_increase() says of a window that is as long. */
static int check_step(void *arg, const struct rollup *rollup)
{
	struct seen *seen = arg;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct window window = past_window(seen->past, a, T0_NS - NS_PER_S, rollup->to_ns);
	const struct series *series = window_series(&window, rollup->entity, M_PORT_OUT_OCTETS);
	struct increase wanted;
	series_increase(series, rollup->from_ns, rollup->to_ns, 0, &wanted);
	assert_true(rollup->increase == wanted.value);
	assert_int_equal(rollup->intervals, wanted.intervals);
	assert_int_equal(rollup->covered_ns, wanted.covered_ns);
	assert_int_equal(rollup->resets, wanted.resets);
	assert_true(rollup->to_ns > seen->last_to_ns ||
		(rollup->to_ns == seen->last_to_ns && rollup->entity > seen->last_entity));
	if (seen->step_ns) {
		assert_int_equal(rollup->to_ns % seen->step_ns, 0);
		assert_int_equal(rollup->to_ns - rollup->from_ns, seen->step_ns);
	}
	assert_true(rollup->seen_ns <= rollup->to_ns - rollup->from_ns);
	seen->last_to_ns = rollup->to_ns;
	seen->last_entity = rollup->entity;
	for (size_t i = 0; i < SERIES; i++)
		if (seen->past->ports[i] == rollup->entity) {
			seen->increase[i] += rollup->increase;
			seen->covered_ns[i] += rollup->covered_ns;
			seen->seen_ns[i] += rollup->seen_ns;
		}
	seen->rows++;
	return 0;
}

static void check_steps(struct past *past, int64_t step_ns, int64_t from_ns, int64_t to_ns)
{
	static const uint16_t metric = M_PORT_OUT_OCTETS;
	const struct history_filter filter = {.priority = HISTORY_ANY_PRIORITY,
		.metrics = &metric,
		.n_metrics = 1,
		.from_ns = from_ns,
		.to_ns = to_ns};
	struct seen seen = {.past = past, .step_ns = step_ns};
	assert_int_equal(
		history_each_rollup(past->history, &filter, step_ns, check_step, &seen, NULL), 0);
	assert_true(seen.rows >= SERIES);
	/* The steps together are the whole: nothing is lost or doubled between them. */
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	if (step_ns) {
		from_ns = rollup_step_of(from_ns + 1, step_ns) * step_ns;
		to_ns = (rollup_step_of(to_ns, step_ns) + 1) * step_ns;
	}
	const struct window window = past_window(past, a, T0_NS - NS_PER_S, to_ns);
	for (size_t i = 0; i < SERIES; i++) {
		struct increase wanted;
		series_increase(
			window_series(&window, past->ports[i], metric), from_ns, to_ns, 0, &wanted);
		assert_true(seen.increase[i] == wanted.value);
		assert_int_equal(seen.covered_ns[i], wanted.covered_ns);
	}
}

static void test_steps(void **state)
{
	for (int plain = 0; plain < 2; plain++) {
		struct past past;
		past_make(&past, plain);
		const int64_t end_ns = T0_NS + SAMPLES * 7 * NS_PER_S;
		check_steps(&past, STEP_NS, T0_NS - NS_PER_S, end_ns);
		check_steps(&past, 10 * NS_PER_S, T0_NS - NS_PER_S, end_ns);
		check_steps(&past, 0, T0_NS - NS_PER_S, end_ns);
		past_free(&past);
	}
	{
		struct past past;
		past_make(&past, true);
		const int64_t end_ns = T0_NS + SAMPLES * 7 * NS_PER_S;
		check_steps(&past, 3600 * NS_PER_S, T0_NS + 1003 * NS_PER_S, end_ns);
		check_steps(&past, 0, T0_NS + 1003 * NS_PER_S, T0_NS + 4000 * NS_PER_S);
		past_free(&past);
	}
}

/* A range that begins and ends in the data has no false edges, and a hole is not seen time. */
static int take_seen(void *arg, const struct rollup *rollup)
{
	double *ratio = arg;
	*ratio = (double)rollup->seen_ns / (double)(rollup->to_ns - rollup->from_ns);
	return 0;
}

static void test_seen(void **state)
{
	static const uint16_t metric = M_PORT_OUT_OCTETS;
	struct past past;
	double ratio = 0;
	struct history_filter filter = {.priority = HISTORY_ANY_PRIORITY,
		.port = "swp1",
		.metrics = &metric,
		.n_metrics = 1,
		.from_ns = T0_NS + 700 * NS_PER_S,
		.to_ns = T0_NS + 4200 * NS_PER_S};
	past_make(&past, true);
	assert_int_equal(history_each_rollup(past.history, &filter, 0, take_seen, &ratio, NULL), 0);
	assert_true(ratio > 0.99);
	past_free(&past);
	/* 41 of 50 samples come: nine and the one beside them are missing. Suspect ones
	 * show nothing either. */
	past_make(&past, false);
	assert_int_equal(history_each_rollup(past.history, &filter, 0, take_seen, &ratio, NULL), 0);
	assert_true(ratio > 0.6 && ratio < 0.85);
	past_free(&past);
}

/* Gauges: late and suspect values do not count; the rest is counted once. */
static void test_gauge(void **state)
{
	static const double values[] = {-3.5, 8, 2, 1e9, 4};
	struct rollup_track *track = rollup_track_new(1, M_PORT_PRE_FEC_BER);
	struct rollup rollup;
	assert_false(rollup_track_close(track, 0, 10, &rollup));
	for (size_t i = 0; i < rw_countof(values); i++) {
		const struct sample sample = {.t_ns = (int64_t)i + 1,
			.value = sample_of_f64(values[i]),
			.entity = 1,
			.metric = M_PORT_PRE_FEC_BER,
			.flags = i == 3 ? SF_SUSPECT : 0};
		rollup_track_add(track, &sample);
	}
	assert_true(rollup_track_close(track, 0, 10, &rollup));
	assert_int_equal(rollup.count, 4);
	assert_int_equal(rollup.numbers, 4);
	assert_true(rollup.min == -3.5 && rollup.max == 8 && rollup.sum == 10.5);
	assert_true(rollup.p50 == 3);
	assert_true(sample_f64(rollup.first) == -3.5 && sample_f64(rollup.last) == 4);
	assert_int_equal(rollup.flags, SF_SUSPECT);
	assert_false(rollup_track_close(track, 10, 20, &rollup));
	/* the next bucket begins with what it holds, not with 0 */
	for (int64_t t_ns = 11; t_ns < 14; t_ns++)
		rollup_track_add(track,
			&(struct sample){.t_ns = t_ns,
				.value = sample_of_f64((double)t_ns),
				.entity = 1,
				.metric = M_PORT_PRE_FEC_BER});
	assert_true(rollup_track_close(track, 10, 20, &rollup));
	assert_true(rollup.min == 11 && rollup.max == 13 && rollup.sum == 36);
	rollup_track_free(track);
}

static void test_sketch(void **state)
{
	static const double at[] = {0, 0.01, 0.5, 0.95, 0.99, 1};
	for (size_t n = 1; n < 200000; n = n * 5 + 3) {
		struct rollup_sketch sketch = {0};
		rw_cleanup(freep) double *numbers = rw_calloc(n, sizeof(*numbers));
		for (size_t i = 0; i < n; i++) {
			numbers[i] = exp((double)(rnd() % 60000) / 1000);
			if (rnd() % 4 == 0)
				numbers[i] = -numbers[i];
			if (rnd() % 8 == 0)
				numbers[i] = 0;
			rollup_sketch_add(&sketch, numbers[i]);
		}
		stats_sort(numbers, n);
		for (size_t k = 0; k < rw_countof(at); k++) {
			/* the number at the rank or a neighbour of it, within the error */
			const double got = rollup_sketch_quantile(&sketch, at[k]);
			const size_t rank = (size_t)(at[k] * (double)(n - 1));
			const size_t up = rank + 1 < n ? rank + 1 : rank;
			const double low = numbers[rank] - 0.0101 * fabs(numbers[rank]);
			const double high = numbers[up] + 0.0101 * fabs(numbers[up]);
			if (got < low || got > high)
				fail_msg("n %zu, at %g: %g, not in %g..%g", n, at[k], got, low,
					high);
		}
		rollup_sketch_done(&sketch);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_seen),
		cmocka_unit_test(test_gauge),
		cmocka_unit_test(test_sketch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
