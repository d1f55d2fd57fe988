/* stall: what a silence of a queue pair is put down to, and which ones are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "collectors/packet/loss/slowdown.h"

#define MS NS_PER_MS

static void test_causes(void **state)
{
	/* silences from 100 ms to 110 ms */
	static const struct {
		const char *what;
		struct silence silence;
		enum stall_cause cause;
	} rows[] = {
		{"sent again, nothing came", {.again = true}, STALL_TIMEOUT},
		{"receiver not ready", {.again = true, .rnr_ns = 105 * MS}, STALL_RNR},
		{"not ready a moment before", {.again = true, .rnr_ns = 99 * MS}, STALL_RNR},
		{"not ready long before", {.again = true, .rnr_ns = 98 * MS}, STALL_TIMEOUT},
		{"asked for by a NAK", {.again = true, .nak_ns = 105 * MS}, STALL_UNKNOWN},
		{"a NAK before it", {.again = true, .nak_ns = 99 * MS}, STALL_TIMEOUT},
		{"answers were not seen", {.again = true, .unread = true}, STALL_UNKNOWN},
		{"paused for half of it", {.open = true, .paused_ns = 5 * MS}, STALL_PAUSE},
		{"paused for less", {.open = true, .paused_ns = 5 * MS - 1}, STALL_UNKNOWN},
		{"sent again under a pause", {.again = true, .paused_ns = 10 * MS}, STALL_TIMEOUT},
		{"nothing to send", {.open = false}, STALL_IDLE},
		{"in a message", {.open = true}, STALL_UNKNOWN},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct silence silence = rows[i].silence;
		silence.from_ns = 100 * MS;
		silence.to_ns = 110 * MS;
		const enum stall_cause cause = silence_cause(&silence);
		if (cause != rows[i].cause)
			fail_msg("%s: %s", rows[i].what, stall_cause_name(cause));
	}
}

/* The longest are kept, stalls before times in which there was nothing to send; all are counted. */
static void test_longest(void **state)
{
	struct stalls stalls = {0};
	stalls_add(&stalls, &(struct stall){0, 1000 * MS, STALL_IDLE});
	for (int i = 1; i <= 10; i++)
		stalls_add(&stalls, &(struct stall){i, (i % 5 * 2 + i / 5) * MS, STALL_RNR});
	assert_int_equal(stalls.n, STALLS_MAX);
	assert_int_equal(stalls.total, 10);
	assert_true(stalls.total_ns == (2 + 4 + 6 + 8 + 1 + 3 + 5 + 7 + 9 + 2) * MS);
	for (size_t i = 0; i < STALLS_MAX; i++) {
		assert_int_equal(stalls.longest[i].cause, STALL_RNR);
		if (i > 0)
			assert_true(stalls.longest[i].lasts_ns <= stalls.longest[i - 1].lasts_ns);
	}
	assert_true(stalls.longest[0].lasts_ns == 9 * MS);
	assert_true(stalls.longest[STALLS_MAX - 1].lasts_ns == 2 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_longest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
