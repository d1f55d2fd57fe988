/* need: every cause says what it needs, and devices are judged by what they deliver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "db/model/cause.h"
#include "db/model/metric.h"

/* Each cause has what must be there, or says that no counter shows it; not both. */
static void test_complete(void **state)
{
	(void)state;
	const struct need *rows;
	const size_t n = needs_all(&rows);
	for (int c = CAUSE_NONE + 1; c < CAUSE_COUNT; c++) {
		size_t must = 0, none = 0, all = 0;
		for (size_t i = 0; i < n; i++) {
			if (rows[i].cause != (enum cause)c)
				continue;
			all++;
			must += rows[i].kind == NEED_MUST;
			none += rows[i].kind == NEED_NO_COUNTER;
			assert_true(*rows[i].words);
			assert_int_equal(rows[i].n_metrics == 0, rows[i].kind == NEED_NO_COUNTER);
		}
		if (all >= NEED_MISSING_MAX || (must > 0) == (none > 0))
			fail_msg("%s: %zu rows must be met, %zu say that no counter shows it",
				cause_name((enum cause)c), must, none);
	}
}

static void test_judge(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		enum cause cause;
		uint16_t delivered[6];
		size_t n;
		enum need_sight sight;
		const char *missing; /* words of the first */
	} cases[] = {
		{"nothing", CAUSE_ECN_LATE, {0}, 0, NEED_BLIND, "pause time or PFC frames"},
		{"one of two", CAUSE_ECN_LATE, {M_PFC_TX_FRAMES}, 1, NEED_BLIND, "ECN marks"},
		{"all that must be", CAUSE_ECN_LATE, {M_PFC_TX_FRAMES, M_QUEUE_ECN_MARKED}, 2,
			NEED_WEAK, "ECN thresholds"},
		{"all", CAUSE_ECN_LATE, {M_PFC_TX_FRAMES, M_QUEUE_ECN_MARKED, M_CFG_ECN_KMIN}, 3,
			NEED_SEES, NULL},
		{"any of a list", CAUSE_LINK_FLAP, {M_PORT_FLAPS}, 1, NEED_SEES, NULL},
		{"no counter shows it", CAUSE_ROCEV1, {0}, 0, NEED_OTHER, NULL},
		{"a cause from another version", CAUSE_COUNT, {0}, 0, NEED_OTHER, NULL},
	};
	for (size_t i = 0; i < rw_countof(cases); i++) {
		bool delivered[METRIC_COUNT] = {0};
		const struct need *missing[NEED_MISSING_MAX];
		size_t n;
		for (size_t k = 0; k < cases[i].n; k++)
			delivered[cases[i].delivered[k]] = true;
		const enum need_sight sight = need_judge(cases[i].cause, delivered, missing, &n);
		if (sight != cases[i].sight || (n > 0) != (cases[i].missing != NULL))
			fail_msg("%s: sight %d, %zu missing", cases[i].what, (int)sight, n);
		if (n > 0)
			assert_string_equal(missing[0]->words, cases[i].missing);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_complete), cmocka_unit_test(test_judge)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
