/* chance: against published figures, against counting, and against a simulation with its own
 * generator. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "analyzers/measure/chance.h"

static void near(const char *what, double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%s: got %.6f, expected %.6f +- %g", what, got, want, tolerance);
}

static void eight_members(void **state)
{
	static const struct {
		const char *what;
		double flows, mean, p95;
	} rows[] = {
		{"8 flows", 8, 1.61, 3.00},
		{"32 flows", 32, 0.75, 1.25},
		{"128 flows", 128, 0.37, 0.62},
		{"512 flows", 512, 0.18, 0.30},
		{"2048 flows", 2048, 0.09, 0.15},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct chance c;
		assert_int_equal(chance_baseline(8, rows[i].flows, &c), 0);
		near(rows[i].what, c.mean, rows[i].mean, 0.02);
		near(rows[i].what, c.p95, rows[i].p95, 0.02);
		assert_true(c.mean < c.p95 && c.p95 < c.p999);
	}
}

/* Every placement of n flows on m members, counted. */
static void counted(
	size_t m, unsigned n, double q, double *mean, double *quantile, double *tail_at_quantile)
{
	size_t all = 1;
	for (unsigned i = 0; i < n; i++)
		all *= m;
	unsigned long hist[16] = {0};
	for (size_t p = 0; p < all; p++) {
		unsigned count[8] = {0}, max = 0;
		size_t rest = p;
		for (unsigned i = 0; i < n; i++, rest /= m)
			if (++count[rest % m] > max)
				max = count[rest % m];
		hist[max]++;
	}
	double below = 0;
	*mean = 0;
	*quantile = NAN;
	for (unsigned k = 0; k <= n; k++) {
		double share = (double)hist[k] / (double)all;
		*mean += share * k;
		if (isnan(*quantile) && below + share >= q) {
			*quantile = k * (double)m / n - 1;
			*tail_at_quantile = 1 - below;
		}
		below += share;
	}
	*mean = *mean * (double)m / n - 1;
}

static void against_counting(void **state)
{
	static const struct {
		size_t m;
		unsigned n;
	} rows[] = {{2, 1}, {2, 2}, {2, 5}, {2, 11}, {3, 4}, {3, 9}, {4, 8}, {5, 7}, {8, 6}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		double mean, quantile, tail;
		struct chance c;
		counted(rows[i].m, rows[i].n, 0.95, &mean, &quantile, &tail);
		char what[64];
		snprintf(what, sizeof(what), "%u flows in %zu members", rows[i].n, rows[i].m);
		assert_int_equal(chance_baseline(rows[i].m, rows[i].n, &c), 0);
		near(what, c.mean, mean, 1e-9);
		near(what, c.p95, quantile, 1e-9);
		near(what, chance_tail(rows[i].m, rows[i].n, quantile), tail, 1e-9);
	}
}

static uint64_t random_next(uint64_t *s)
{
	uint64_t z = *s += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static int by_value(const void *a, const void *b)
{
	return *(const unsigned *)a < *(const unsigned *)b
		? -1
		: *(const unsigned *)a > *(const unsigned *)b;
}

static void against_simulation(void **state)
{
	static const struct {
		size_t m;
		unsigned n;
	} rows[] = {{2, 64}, {4, 100}, {16, 64}, {64, 256}, {4, 4000}};
	enum { DRAWS = 4000 };
	rw_cleanup(freep) unsigned *max = rw_calloc(DRAWS, sizeof(*max));
	uint64_t seed = 7;
	for (size_t i = 0; i < rw_countof(rows); i++) {
		double sum = 0;
		for (unsigned d = 0; d < DRAWS; d++) {
			unsigned count[64] = {0};
			max[d] = 0;
			for (unsigned f = 0; f < rows[i].n; f++) {
				unsigned c = ++count[random_next(&seed) % rows[i].m];
				if (c > max[d])
					max[d] = c;
			}
			sum += max[d];
		}
		qsort(max, DRAWS, sizeof(*max), by_value);
		double per = (double)rows[i].m / rows[i].n;
		struct chance c;
		char what[64];
		snprintf(what, sizeof(what), "%u flows in %zu members", rows[i].n, rows[i].m);
		assert_int_equal(chance_baseline(rows[i].m, rows[i].n, &c), 0);
		near(what, c.mean, sum / DRAWS * per - 1, 0.02);
		/* one flow of grain */
		near(what, c.p95, max[DRAWS * 95 / 100] * per - 1, 1.01 * per + 0.01);
	}
}

static void all_on_one_of_two(void **state)
{
	/* 2^(1-n): few flows on one member are luck, many are not */
	near("4 flows", chance_tail(2, 4, 1.0), 0.125, 1e-9);
	near("10 flows", chance_tail(2, 10, 1.0), pow(2, -9), 1e-9);
	near("16 flows", chance_tail(2, 16, 1.0), pow(2, -15), 1e-9);
	near("10 flows may all sit on one, once in 500", chance_quantile(2, 10, 0.999), 1.0, 1e-9);
	assert_true(chance_quantile(2, 16, 0.999) < 1.0);
}

static void shape(void **state)
{
	near("one member is never uneven", chance_quantile(1, 100, 0.999), 0, 1e-12);
	near("one flow sits somewhere", chance_quantile(8, 1, 0.5), 7, 1e-9);
	near("a half flow lies between", chance_quantile(8, 32.5, 0.95),
		(chance_quantile(8, 32, 0.95) + chance_quantile(8, 33, 0.95)) / 2, 1e-12);
	near("no imbalance is certain", chance_tail(8, 64, 0), 1, 0);
	near("continuous where the shortcut begins", chance_quantile(8, 8 * 256, 0.95),
		chance_quantile(8, 8 * 257, 0.95), 0.005);
	struct chance few, many;
	assert_int_equal(chance_baseline(64, 1e4, &few), 0);
	assert_int_equal(chance_baseline(64, 1e6, &many), 0);
	near("falls with the root of the flows", many.mean, few.mean / 10, 0.01);
	near("CoV of 16 flows in 2", chance_cov(2, 16), 0.25, 1e-12);
}

/* Is luck never thought rarer than it is? Eight members, one left out, the others this even or
 * better: counted over random placements. */
static void left_out_is_a_bound(void **state)
{
	static const double even[] = {0.2, 0.35, 0.5};
	enum { RUNS = 200000 };
	for (double flows = 8; flows <= 32; flows *= 2) {
		unsigned hits[3] = {0};
		uint64_t random = 88172645463325252ULL;
		for (int run = 0; run < RUNS; run++) {
			double count[8] = {0}, square = 0;
			for (int i = 0; i < (int)flows; i++) {
				random ^= random << 13;
				random ^= random >> 7;
				random ^= random << 17;
				count[random % 8]++;
			}
			for (int i = 1; i < 8; i++)
				square += count[i] * count[i];
			const double mean = flows / 7;
			const double cov = sqrt(fmax(0, square / 7 - mean * mean)) / mean;
			for (int k = 0; k < 3; k++)
				hits[k] += count[0] == 0 && cov <= even[k];
		}
		for (int k = 0; k < 3; k++)
			assert_true(hits[k] <= RUNS * chance_left_out(8, even[k], flows, NAN) + 20);
	}
	assert_true(chance_left_out(8, 0.1, 1, NAN) < 0.02);
	assert_true(chance_left_out(8, 0.1, 1, 0.1) < 1e-4);
	assert_true(chance_left_out(8, 0.7, 1, NAN) > 0.1);
	near("one sibling tells nothing", chance_left_out(2, 0, 1, NAN), 0.5, 1e-9);
	near("whole counts: 8 flows are never even over 3", chance_even(3, 8, 0), 0, 0);
}

static void out_of_domain(void **state)
{
	struct chance c;
	assert_int_equal(chance_baseline(0, 10, &c), -EDOM);
	assert_int_equal(chance_baseline(8, 0.5, &c), -EDOM);
	assert_int_equal(chance_baseline(8, NAN, &c), -EDOM);
	assert_int_equal(chance_baseline(8, INFINITY, &c), -EDOM);
	assert_int_equal(chance_baseline(CHANCE_MEMBERS_MAX + 1, 8, &c), -EDOM);
	assert_true(isnan(chance_tail(8, NAN, 0.2)));
	assert_true(isnan(chance_quantile(8, 8, 1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eight_members),
		cmocka_unit_test(against_counting),
		cmocka_unit_test(against_simulation),
		cmocka_unit_test(all_on_one_of_two),
		cmocka_unit_test(shape),
		cmocka_unit_test(left_out_is_a_bound),
		cmocka_unit_test(out_of_domain),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
