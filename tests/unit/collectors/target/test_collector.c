/* collector: the target's state machine and its poll statistics. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "collectors/target/collector.h"

static const mono_t later = {50};

/* What is written to stderr while @fn runs. */
static size_t log_lines(void (*fn)(struct target *t), struct target *t)
{
	char buf[65536];
	FILE *f = tmpfile();
	int saved = dup(STDERR_FILENO);
	size_t lines = 0;
	assert_non_null(f);
	dup2(fileno(f), STDERR_FILENO);
	fn(t);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(f);
	size_t n = fread(buf, 1, sizeof(buf) - 1, f);
	for (size_t i = 0; i < n; i++)
		lines += buf[i] == '\n';
	fclose(f);
	return lines;
}

static const struct reason silent = {REASON_UNKNOWN, "silent"}, gone = {REASON_UNKNOWN, "gone"};

static void outage(struct target *t)
{
	/* ten tries in ten seconds */
	for (int64_t s = 0; s < 10; s++) {
		target_change(
			t, TARGET_STARTING, (mono_t){s * NS_PER_S}, (wall_t){s * NS_PER_S}, NULL);
		target_change(
			t, TARGET_BACKOFF, (mono_t){s * NS_PER_S}, (wall_t){s * NS_PER_S}, &silent);
	}
}

static void recovery(struct target *t)
{
	target_change(t, TARGET_UP, (mono_t){20 * NS_PER_S}, (wall_t){20 * NS_PER_S}, NULL);
}

/* An outage is one story: told when it begins, with growing gaps, and once when it is over. */
static void test_outage(void **state)
{
	struct target t = {.device = "leaf1", .protocol = "snmp"};
	log_set_level(LOG_INFO_);
	assert_int_equal(log_lines(outage, &t), 1);
	assert_int_equal(t.state, TARGET_BACKOFF);
	assert_string_equal(t.reason, "silent");
	assert_int_equal(log_lines(recovery, &t), 1);
	assert_int_equal(t.state, TARGET_UP);
	assert_string_equal(t.reason, "");
	assert_int_equal(t.since.ns, 20 * NS_PER_S);
}

static void test_since_is_the_outage(void **state)
{
	struct target t = {.device = "leaf1", .protocol = "snmp"};
	log_set_level(LOG_ERROR_);
	target_change(&t, TARGET_UP, later, (wall_t){100}, NULL);
	target_change(&t, TARGET_BACKOFF, later, (wall_t){200}, &gone);
	target_change(&t, TARGET_STARTING, later, (wall_t){300}, NULL);
	assert_string_equal(t.reason, "gone"); /* still the reason while it is tried again */
	target_change(&t, TARGET_BACKOFF, later, (wall_t){400}, &gone);
	assert_int_equal(t.since.ns, 200);
}

static void test_quantiles(void **state)
{
	struct target t = {0};
	double p50, p95;
	target_poll_quantiles(&t, &p50, &p95);
	assert_true(isnan(p50) && isnan(p95));
	target_polled(&t, 4, (mono_t){9}, (wall_t){9});
	target_poll_quantiles(&t, &p50, &p95);
	assert_true(p50 == 4 && p95 == 4);
	for (int i = 1; i <= 100; i++) /* the ring keeps the last 64: 37..100 */
		target_polled(&t, i, (mono_t){i}, (wall_t){i});
	target_poll_quantiles(&t, &p50, &p95);
	assert_true(fabs(p50 - 68.5) < 1e-6);
	assert_true(fabs(p95 - (37 + 0.95 * 63)) < 1e-4);
	assert_int_equal(t.polls, 101);
	assert_int_equal(t.last_success.ns, 100);
}

/* Polls that should have been between two that were: jitter is none of them, an outage is all that
 * fit in. */
static void test_missed(void **state)
{
	static const struct {
		const char *what;
		double at_s, clock_s;
		uint64_t missed;
	} rows[] = {
		{"the first", 100, 100, 0},
		{"a little late", 112, 112, 0},
		{"a little early", 121, 121, 0},
		{"one lost", 141, 141, 1},
		{"an outage", 201, 201, 6},
		{"the clock was set back", 211, 150, 6},
		{"and goes on", 221, 160, 6},
		{"the clock was set forward by an hour", 231, 3770, 6},
		{"one lost while it is set back", 251, 190, 7},
	};
	struct target t = {.device = "leaf1", .protocol = "snmp", .interval_ns = 10 * NS_PER_S};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		target_polled(&t, 0.1, (mono_t){(int64_t)(rows[i].at_s * 1e9)},
			(wall_t){(int64_t)(rows[i].clock_s * 1e9)});
		if (t.missed != rows[i].missed)
			fail_msg("%s: %llu", rows[i].what, (unsigned long long)t.missed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outage),
		cmocka_unit_test(test_since_is_the_outage),
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_missed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
