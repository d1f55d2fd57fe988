/* mirrors: a fabric that loses nothing, of which everything is captured twice. No packet may be
 * told as sent again, at any rate, after any time up to 1 ms, and with any seed of the hashes
 * (test_mirror_seeds asks copies.c alone, with more of them). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "collectors/packet/capture/capture_analysis.h"
#include "tests/unit/collectors/packet/capture/mirrored.h"

/* What an analysis says of the fabric. */
struct said {
	struct flow_totals totals;
	uint64_t copies, events[LOSS_CAUSE_COUNT];
};

static struct said mirrored_said(
	const struct mirrored *wire, const struct setting *setting, uint64_t seed)
{
	struct capture_analysis analysis;
	struct said said = {0};
	capture_analysis_init(&analysis,
		&(struct analysis_options){.flow_limit = 4096, .sampling = 1, .seed = seed});
	for (size_t i = 0; i < wire->n; i++) {
		const struct roce_packet packet = seen_packet(&wire->seen[i], setting);
		capture_analysis_packet(&analysis, &packet, NULL, wire->seen[i].t_ns);
	}
	capture_analysis_flush(&analysis);
	struct loss *loss = flow_table_loss(analysis.flows);
	loss_end(loss, 0);
	flow_table_totals(analysis.flows, &said.totals);
	memcpy(said.events, loss_totals(loss)->events, sizeof(said.events));
	said.copies = copies_count(analysis.copies)->packets;
	capture_analysis_end(&analysis);
	return said;
}

static bool said_wrong(const struct said *said, const struct mirrored *wire)
{
	const struct psn_counts *psn = &said->totals.psn;
	uint64_t events = 0;
	for (int i = 0; i < LOSS_CAUSE_COUNT; i++)
		if (i != LOSS_COPY)
			events += said->events[i];
	return said->copies != wire->n / 2 || said->totals.packets != wire->n / 2 || psn->gaps ||
		psn->retransmits || psn->duplicates || psn->reordered || psn->restarts || events;
}

static bool setting_check(const struct setting *setting, uint64_t wire_seed, uint64_t hash_seed)
{
	struct mirrored wire;
	mirrored_fill(&wire, setting, wire_seed);
	const struct said said = mirrored_said(&wire, setting, hash_seed);
	const bool wrong = said_wrong(&said, &wire);
	if (wrong)
		print_message(
			"%u queue pairs, a packet each %ld ns, %s, %ld ns later, seeds %lu and "
			"%lu: %lu of %zu copies, %lu gaps, %lu sent again, %lu late, %lu "
			"twice, %lu ACKs lost\n",
			setting->qps, (long)setting->step_ns,
			setting->sessions ? "two sessions" : "one mirror", (long)setting->lag_ns,
			(unsigned long)wire_seed, (unsigned long)hash_seed,
			(unsigned long)said.copies, wire.n / 2, (unsigned long)said.totals.psn.gaps,
			(unsigned long)said.totals.psn.retransmits,
			(unsigned long)said.totals.psn.reordered,
			(unsigned long)said.totals.psn.duplicates,
			(unsigned long)said.events[LOSS_ACK]);
	free(wire.seen);
	return wrong;
}

static const int64_t lags_ns[] = {0, 100, 700, 2500, 5000, 10000, 20000, 40000, 200000, 1000000};

/* Rates of 1, 5 and 12 million packets a second. */
static void test_mirrors_lags(void **state)
{
	static const int64_t steps_ns[] = {1000, 200, 83};
	int wrong = 0;
	for (size_t i = 0; i < rw_countof(steps_ns); i++)
		for (size_t k = 0; k < rw_countof(lags_ns); k++)
			for (int sessions = 0; sessions <= 2; sessions++) {
				const struct setting setting = {.qps = 4,
					.messages = 300,
					.step_ns = steps_ns[i],
					.lag_ns = lags_ns[k],
					.sessions = sessions > 0,
					.leads = sessions == 2};
				wrong += setting_check(&setting, 11 + i, 5 + k);
			}
	assert_int_equal(wrong, 0);
}

/* More queue pairs, a mirror whose delay varies, hosts of their own. */
static void test_mirrors_many(void **state)
{
	static const struct setting settings[] = {
		{.qps = 1, .messages = 1200, .step_ns = 83, .lag_ns = 40000},
		{.qps = 32, .messages = 40, .step_ns = 83, .lag_ns = 40000, .jitter_ns = 3000},
		{.qps = 200, .messages = 8, .step_ns = 83, .lag_ns = 40000, .any_port = true},
		{.qps = 200, .messages = 8, .step_ns = 83, .lag_ns = 10000, .any_port = true},
		{.qps = 200,
			.messages = 8,
			.step_ns = 100,
			.lag_ns = 40000,
			.any_port = true,
			.sessions = true},
	};
	int wrong = 0;
	for (size_t i = 0; i < rw_countof(settings); i++)
		wrong += setting_check(&settings[i], 3, 4);
	assert_int_equal(wrong, 0);
}

/* Another seed of the hashes, the same answer. */
static void test_mirrors_seeds(void **state)
{
	const struct setting setting = {
		.qps = 4, .messages = 40, .step_ns = 200, .lag_ns = 20000, .jitter_ns = 900};
	struct mirrored wire;
	mirrored_fill(&wire, &setting, 1);
	const struct said first = mirrored_said(&wire, &setting, 0);
	int differ = 0;
	for (uint64_t seed = 1; seed < 200; seed++) {
		const struct said said =
			mirrored_said(&wire, &setting, seed * 0x9E3779B97F4A7C15ull);
		differ += memcmp(&said, &first, sizeof(said)) != 0;
	}
	free(wire.seen);
	assert_int_equal(differ, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mirrors_lags),
		cmocka_unit_test(test_mirrors_many),
		cmocka_unit_test(test_mirrors_seeds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
