/* series: what a run of counter samples means. Rows; times in seconds, the window is (10, 60]
 * unless said otherwise. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "db/model/metric.h"
#include "db/series/series.h"

#define MAX 12
struct point {
	double t;
	uint64_t v;
	unsigned f;
};

struct built {
	struct series s;
	int64_t t[MAX];
	uint64_t v[MAX];
	uint16_t f[MAX];
	uint32_t w[MAX];
};

static const struct series *build(struct built *b, const struct point *p, size_t n)
{
	*b = (struct built){.s = {.entity = 1,
				    .metric = M_PORT_OUT_OCTETS,
				    .n = (uint32_t)n,
				    .t_ns = b->t,
				    .value = b->v,
				    .flags = b->f,
				    .window_ms = b->w}};
	for (size_t i = 0; i < n; i++) {
		b->t[i] = (int64_t)(p[i].t * NS_PER_S);
		b->v[i] = p[i].v;
		b->f[i] = (uint16_t)p[i].f;
	}
	return &b->s;
}

#define R SF_RESTART
#define W SF_WRAP32
#define BIG (UINT64_C(1) << 60)

static const struct increase_row {
	const char *what;
	size_t n;
	struct point p[MAX];
	double gate; /* per second */
	int ret;
	uint64_t value;
	double covered_s;
	uint32_t intervals, changes, wraps, resets, suspects;
	enum quality quality;
} increase_rows[] = {
	{"a steady counter", 4, {{10, 100}, {20, 200}, {30, 300}, {60, 600}}, 0, 0, 500, 50, 3, 3,
		0, 0, 0, QUALITY_EXACT},
	{"the anchor lies before the window", 3, {{4, 100}, {14, 200}, {24, 300}}, 0, 0, 200, 20, 2,
		2, 0, 0, 0, QUALITY_EXACT},
	{"only the newest sample before the window is the anchor", 4,
		{{1, 0}, {9, 100}, {20, 200}, {30, 300}}, 0, 0, 200, 21, 2, 2, 0, 0, 0,
		QUALITY_EXACT},
	{"no anchor: the first sample takes its place", 3, {{20, 100}, {30, 200}, {40, 300}}, 0, 0,
		200, 20, 2, 2, 0, 0, 0, QUALITY_EXACT},
	{"samples after the window are not looked at", 4,
		{{10, 100}, {30, 200}, {60, 300}, {61, 999}}, 0, 0, 200, 50, 2, 2, 0, 0, 0,
		QUALITY_EXACT},
	{"one sample is no interval", 1, {{20, 100}}, 0, -ENODATA, 0, 0, 0, 0, 0, 0, 0,
		QUALITY_UNKNOWN},
	{"only the anchor", 1, {{5, 100}}, 0, -ENODATA, 0, 0, 0, 0, 0, 0, 0, QUALITY_UNKNOWN},
	{"no samples", 0, {{0}}, 0, -ENODATA, 0, 0, 0, 0, 0, 0, 0, QUALITY_UNKNOWN},
	{"all later than the window", 2, {{70, 1}, {80, 2}}, 0, -ENODATA, 0, 0, 0, 0, 0, 0, 0,
		QUALITY_UNKNOWN},
	{"a counter that does not move is zero, exactly", 3, {{10, 7}, {20, 7}, {30, 7}}, 0, 0, 0,
		20, 2, 0, 0, 0, 0, QUALITY_EXACT},
	{"a cached value twice, then the jump", 5,
		{{10, 100}, {20, 100}, {30, 100}, {40, 400}, {50, 400}}, 0, 0, 300, 40, 4, 1, 0, 0,
		0, QUALITY_EXACT},
	{"a cached jump is measured against the time since the last move", 5,
		{{10, 0}, {11, 100}, {12, 100}, {13, 100}, {14, 400}}, 100, 0, 400, 4, 4, 2, 0, 0,
		0, QUALITY_EXACT},
	{"the first jump of a caching device, stale before the anchor", 5,
		{{10, 100}, {11, 400}, {12, 400}, {13, 400}, {14, 700}}, 100, 0, 600, 4, 4, 2, 0, 0,
		0, QUALITY_EXACT},
	{"a jump that no cache explains", 4, {{10, 100}, {11, 200}, {12, 90000}, {13, 90100}}, 100,
		0, 200, 2, 2, 2, 0, 0, 1, QUALITY_SUSPECT},
	{"a glitch up and back: two intervals lost, no spike", 5,
		{{10, 100}, {11, 200}, {12, BIG}, {13, 400}, {14, 500}}, 100, 0, 200, 2, 2, 2, 0, 1,
		1, QUALITY_SUSPECT},
	{"a dip to zero and back", 5,
		{{10, BIG}, {11, BIG + 100}, {12, 0}, {13, BIG + 300}, {14, BIG + 400}}, 100, 0,
		200, 2, 2, 2, 0, 1, 1, QUALITY_SUSPECT},
	{"exactly at the gate is plausible", 2, {{10, 0}, {20, 1000}}, 100, 0, 1000, 10, 1, 1, 0, 0,
		0, QUALITY_EXACT},
	{"a 64-bit decrease is a reset", 4, {{10, 1000}, {20, 1100}, {30, 50}, {40, 150}}, 0, 0,
		200, 20, 2, 2, 0, 1, 0, QUALITY_EXACT},
	{"a 64-bit decrease is a reset, even small", 3, {{10, 1000}, {20, 999}, {30, 1000}}, 0, 0,
		1, 10, 1, 1, 0, 1, 0, QUALITY_EXACT},
	{"one 32-bit wrap", 3, {{10, 4294967000, W}, {20, 4294967290, W}, {30, 104, W}}, 1000, 0,
		400, 20, 2, 2, 1, 0, 0, QUALITY_EXACT},
	{"one 32-bit wrap, no gate", 2, {{10, 4294967290, W}, {20, 104, W}}, 0, 0, 110, 10, 1, 1, 1,
		0, 0, QUALITY_EXACT},
	{"one part of a sum of 32-bit counters wraps", 2, {{10, 4294967296, W}, {20, 23, W}}, 0, 0,
		23, 10, 1, 1, 1, 0, 0, QUALITY_EXACT},
	{"two wraps in two intervals", 3, {{10, 4000000000, W}, {20, 1000, W}, {30, 500, W}}, 5e8,
		0, UINT64_C(294968296) + UINT64_C(4294966796), 20, 2, 2, 2, 0, 0,
		QUALITY_ESTIMATED},
	{"a 32-bit reset: the wrap would be implausible", 3,
		{{10, 1000, W}, {20, 5, W}, {30, 105, W}}, 1000, 0, 100, 10, 1, 1, 0, 1, 0,
		QUALITY_EXACT},
	{"a 32-bit reset without a gate: more than half the range", 3,
		{{10, 1000, W}, {20, 5, W}, {30, 105, W}}, 0, 0, 100, 10, 1, 1, 0, 1, 0,
		QUALITY_EXACT},
	{"a decrease without wrap32 never wraps", 2, {{10, 4294967290}, {20, 104}}, 0, -ENODATA, 0,
		0, 0, 0, 0, 1, 0, QUALITY_UNKNOWN},
	{"said to be 32 bits but the value is not", 2, {{10, 5000000000, W}, {20, 104, W}}, 0,
		-ENODATA, 0, 0, 0, 0, 0, 1, 0, QUALITY_UNKNOWN},
	{"32 bits that may have wrapped unseen is a lower bound", 2, {{10, 0, W}, {20, 1000, W}},
		1e9, 0, 1000, 10, 1, 1, 0, 0, 0, QUALITY_ESTIMATED},
	{"restart flag: that interval is a gap", 4,
		{{10, 1000}, {20, 1100}, {30, 1200, R}, {40, 1300}}, 0, 0, 200, 20, 2, 2, 0, 1, 0,
		QUALITY_EXACT},
	{"restart flag with a gate that allows the delta: a gap all the same", 4,
		{{10, 1000}, {20, 1100}, {30, 1150, R}, {40, 1250}}, 1000, 0, 200, 20, 2, 2, 0, 1,
		0, QUALITY_EXACT},
	{"restart with a decrease counts once", 3, {{10, 1000}, {20, 50, R}, {30, 150}}, 0, 0, 100,
		10, 1, 1, 0, 1, 0, QUALITY_EXACT},
	{"restart flag on a 32-bit wrap is no wrap", 2, {{10, 4294967290, W}, {20, 104, W | R}}, 0,
		-ENODATA, 0, 0, 0, 0, 0, 1, 0, QUALITY_UNKNOWN},
	{"restart on the anchor does not matter", 2, {{10, 1000, R}, {20, 1100}}, 0, 0, 100, 10, 1,
		1, 0, 0, 0, QUALITY_EXACT},
	{"restart on the first sample without anchor does not matter", 2,
		{{20, 1000, R}, {30, 1100}}, 0, 0, 100, 10, 1, 1, 0, 0, 0, QUALITY_EXACT},
	{"all restarts", 3, {{10, 1, R}, {20, 2, R}, {30, 3, R}}, 0, -ENODATA, 0, 0, 0, 0, 0, 2, 0,
		QUALITY_UNKNOWN},
	{"late samples do not exist", 4, {{10, 100}, {20, 5000, SF_LATE}, {30, 300}, {40, 400}}, 0,
		0, 300, 30, 2, 2, 0, 0, 0, QUALITY_EXACT},
	{"a late anchor is no anchor", 3, {{5, 100}, {9, 5, SF_LATE}, {25, 300}}, 0, 0, 200, 20, 1,
		1, 0, 0, 0, QUALITY_EXACT},
	{"a suspect sample is stepped over", 3, {{10, 100}, {20, 0, SF_SUSPECT}, {30, 300}}, 0, 0,
		200, 20, 1, 1, 0, 0, 1, QUALITY_SUSPECT},
	{"a restart on a suspect sample still breaks the run", 4,
		{{10, 100}, {20, 0, SF_SUSPECT | R}, {30, 300}, {40, 400}}, 0, 0, 100, 10, 1, 1, 0,
		1, 1, QUALITY_SUSPECT},
	{"a restart on a suspect sample before the window", 4,
		{{5, 100}, {9, 0, SF_SUSPECT | R}, {30, 300}, {40, 400}}, 0, 0, 100, 10, 1, 1, 0, 1,
		0, QUALITY_EXACT},
	{"estimated values give an estimate", 2, {{10, 100, SF_ESTIMATED}, {20, 200, SF_ESTIMATED}},
		0, 0, 100, 10, 1, 1, 0, 0, 0, QUALITY_ESTIMATED},
	{"a doubled time is looked at once", 3, {{10, 100}, {20, 200}, {20, 900}}, 0, 0, 100, 10, 1,
		1, 0, 0, 0, QUALITY_EXACT},
	{"near 2^64, exact", 2, {{10, UINT64_MAX - 10}, {20, UINT64_MAX}}, 0, 0, 10, 10, 1, 1, 0, 0,
		0, QUALITY_EXACT},
	{"beyond 2^53, exact", 2, {{10, (UINT64_C(1) << 53) + 1}, {20, (UINT64_C(1) << 54) + 2}}, 0,
		0, (UINT64_C(1) << 53) + 1, 10, 1, 1, 0, 0, 0, QUALITY_EXACT},
};

static void increase(void **state)
{
	for (size_t i = 0; i < rw_countof(increase_rows); i++) {
		const struct increase_row *row = &increase_rows[i];
		struct built b;
		struct increase got;
		int r = series_increase(
			build(&b, row->p, row->n), 10 * NS_PER_S, 60 * NS_PER_S, row->gate, &got);
		if (r != row->ret || got.value != row->value ||
			got.covered_ns != (int64_t)(row->covered_s * NS_PER_S) ||
			got.intervals != row->intervals || got.changes != row->changes ||
			got.wraps != row->wraps || got.resets != row->resets ||
			got.suspects != row->suspects || got.quality != row->quality)
			fail_msg("%s: got %d value %llu covered %.3f s intervals %u changes %u "
				 "wraps %u resets %u suspects %u quality %s",
				row->what, r, (unsigned long long)got.value,
				(double)got.covered_ns / NS_PER_S, got.intervals, got.changes,
				got.wraps, got.resets, got.suspects, quality_name(got.quality));
	}
}

static void rate(void **state)
{
	struct built b;
	struct increase inc;
	double per_s;
	const struct point p[] = {{10, 0}, {20, 1000}, {30, 500, R}, {40, 1500}};

	/* 2000 in the 20 s that count, not in the 30 s that went by */
	assert_int_equal(
		series_rate(build(&b, p, 4), 10 * NS_PER_S, 60 * NS_PER_S, 0, &per_s, &inc), 0);
	assert_true(per_s == 100.0);
	assert_int_equal(inc.span_ns, 30 * NS_PER_S);
	assert_int_equal(inc.first_ns, 10 * NS_PER_S);
	assert_int_equal(inc.last_ns, 40 * NS_PER_S);
	assert_int_equal(series_rate(NULL, 0, 1, 0, &per_s, NULL), -ENODATA);
}

/* Any cut of a run into windows adds up to the whole: nothing is counted twice or lost at an edge.
 */
static void windows_add_up(void **state)
{
	struct built b;
	const struct point p[] = {{0, 5}, {7, 10}, {13, 40}, {20, 45}, {31, 90}, {39, 90},
		{44, 120}, {58, 300}, {60, 301}};
	const struct series *s = build(&b, p, rw_countof(p));

	for (int step = 1; step <= 60; step++) {
		uint64_t sum = 0;
		for (int from = 0; from < 60; from += step) {
			struct increase inc;
			int to = from + step < 60 ? from + step : 60;
			if (series_increase(s, from * NS_PER_S, to * NS_PER_S, 0, &inc) == 0)
				sum += inc.value;
		}
		if (sum != 296)
			fail_msg("windows of %d s add up to %llu", step, (unsigned long long)sum);
	}
}

static void state_at(void **state)
{
	struct built b;
	uint64_t v;
	const struct point p[] = {{10, 1}, {20, 2}, {30, 3, SF_LATE}, {40, 4}};
	const struct series *s = build(&b, p, 4);
	static const struct {
		const char *what;
		double at, age;
		int ret;
		uint64_t v;
	} rows[] = {
		{"before the first", 9, 100, -ENODATA, 0},
		{"at the first", 10, 100, 0, 1},
		{"between", 19, 100, 0, 1},
		{"late ones are passed over", 35, 100, 0, 2},
		{"too old", 39, 5, -ENODATA, 0},
		{"just young enough", 45, 5, 0, 4},
	};

	for (size_t i = 0; i < rw_countof(rows); i++) {
		int r = series_state(
			s, (int64_t)(rows[i].at * NS_PER_S), (int64_t)(rows[i].age * NS_PER_S), &v);
		if (r != rows[i].ret || (r == 0 && v != rows[i].v))
			fail_msg("%s: got %d", rows[i].what, r);
	}
}

static void coverage(void **state)
{
	static const struct {
		const char *what;
		size_t n;
		struct point p[6];
		double expect;
	} rows[] = {
		{"all of it", 6, {{10, 0}, {20, 0}, {30, 0}, {40, 0}, {50, 0}, {60, 0}}, 1},
		{"a hole of thirty seconds", 4, {{10, 0}, {20, 0}, {50, 0}, {60, 0}}, 0.4},
		{"the anchor's interval counts from the start of the window", 3,
			{{5, 0}, {15, 0}, {25, 0}}, 0.3},
		{"no anchor", 3, {{20, 0}, {30, 0}, {40, 0}}, 0.4},
		{"nothing", 0, {{0}}, 0},
		{"a restart", 3, {{10, 0}, {20, 0, R}, {30, 0}}, 0.2},
	};

	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct built b;
		double got = series_coverage(build(&b, rows[i].p, rows[i].n), 10 * NS_PER_S,
			60 * NS_PER_S, 15 * NS_PER_S);
		if (fabs(got - rows[i].expect) > 1e-9)
			fail_msg("%s: got %f", rows[i].what, got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(increase),
		cmocka_unit_test(rate),
		cmocka_unit_test(windows_add_up),
		cmocka_unit_test(state_at),
		cmocka_unit_test(coverage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
