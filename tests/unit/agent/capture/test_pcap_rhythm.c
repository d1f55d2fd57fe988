/* pcap_rhythm: the step in the times of sampled packets, and who finishes it last. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "agent/capture/pcap_rhythm.h"

struct rhythm_case {
	double step_s, exchange_s, jitter; /* of a step, as a share */
	unsigned per_burst; /* packets of each source that the sampling lets through */
	unsigned late; /* source that ends later, 0 none */
	double late_s;
};

static double rhythm_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (double)(*seed >> 8) / (1 << 24);
}

/* Four hosts send in each of 400 steps; returns the mean step. */
static double rhythm_play(struct pcap_rhythm *rhythm, const struct rhythm_case *made, uint32_t seed)
{
	double start_s = 1000;
	for (int step = 0; step < 400; step++) {
		for (uint8_t host = 1; host <= 4; host++) {
			const uint8_t src[16] = {10, 0, 0, host};
			const double lasts_s =
				made->exchange_s + (host == made->late ? made->late_s : 0);
			for (unsigned k = 0; k < made->per_burst; k++)
				pcap_rhythm_add(rhythm,
					(int64_t)((start_s + lasts_s * rhythm_random(&seed)) *
						(double)NS_PER_S),
					4, src, 4000);
		}
		start_s += made->step_s * (1 + made->jitter * (rhythm_random(&seed) - 0.5));
	}
	return (start_s - 1000) / 400;
}

/* Within 0.3 % of the true mean, from 3 packets of a source and step on. */
static void test_step(void **state)
{
	static const struct rhythm_case cases[] = {
		{0.4, 0.1, 0.02, 10, 0, 0},
		{0.4, 0.1, 0.02, 3, 0, 0},
		{0.16, 0.06, 0.05, 10, 0, 0},
		{3.7, 0.9, 0.05, 20, 0, 0},
	};
	for (size_t i = 0; i < rw_countof(cases); i++) {
		struct pcap_rhythm *rhythm = pcap_rhythm_new();
		struct pcap_rhythm_found found;
		const double step_s = rhythm_play(rhythm, &cases[i], 7 + (uint32_t)i);
		pcap_rhythm_find(rhythm, &found);
		if (!found.found || fabs(found.step_s / step_s - 1) > 0.003)
			fail_msg("case %zu: %.5f s, true %.5f s", i, found.step_s, step_s);
		assert_false(found.last_known);
		assert_int_equal(found.sources, 4);
		pcap_rhythm_free(rhythm);
	}
}

static void test_last_finisher(void **state)
{
	const struct rhythm_case made = {0.4, 0.1, 0.02, 6, 3, 0.04};
	struct pcap_rhythm *rhythm = pcap_rhythm_new();
	struct pcap_rhythm_found found;
	rhythm_play(rhythm, &made, 3);
	pcap_rhythm_find(rhythm, &found);
	assert_true(found.found && found.last_known);
	assert_int_equal(found.last_src[3], 3);
	assert_true(found.last_by_s > 0.02 && found.last_by_s < 0.05);
	assert_true(found.last_share > 0.7);
	pcap_rhythm_free(rhythm);
}

/* Packets all the time, and none at all. */
static void test_none(void **state)
{
	const struct rhythm_case busy = {0.1, 0.1, 0, 20, 0, 0};
	struct pcap_rhythm *rhythm = pcap_rhythm_new();
	struct pcap_rhythm_found found;
	pcap_rhythm_find(rhythm, &found);
	assert_false(found.found);
	rhythm_play(rhythm, &busy, 5);
	pcap_rhythm_find(rhythm, &found);
	assert_false(found.found);
	pcap_rhythm_free(rhythm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_step),
		cmocka_unit_test(test_last_finisher),
		cmocka_unit_test(test_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
