/* target: the pause between tries, the jitter, and the size of a buffer cell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "agent/base/locked.h"
#include "agent/base/cleanup.h"
#include "collectors/target/target.h"

static void test_backoff(void **state)
{
	static const struct target_hooks unbounded = {.protocol = "snmp"};
	static const struct target_hooks bounded = {.protocol = "gnmi",
		.backoff_min_ns = 200 * NS_PER_MS,
		.backoff_max_ns = 60 * NS_PER_S};
	static const struct {
		const char *what;
		const struct target_hooks *hooks;
		unsigned failures;
		int64_t interval_ns, expected_ns;
	} rows[] = {
		{"the first: one interval", &unbounded, 1, 10 * NS_PER_S, 10 * NS_PER_S},
		{"the second: two", &unbounded, 2, 10 * NS_PER_S, 20 * NS_PER_S},
		{"never more than three", &unbounded, 50, 10 * NS_PER_S, 30 * NS_PER_S},
		{"no bound", &unbounded, 3, 60 * NS_PER_S, 180 * NS_PER_S},
		{"the least", &bounded, 1, 10 * NS_PER_MS, 200 * NS_PER_MS},
		{"the most", &bounded, 3, 60 * NS_PER_S, 60 * NS_PER_S},
	};
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (target_backoff_ns(rows[i].hooks, rows[i].failures, rows[i].interval_ns) !=
			rows[i].expected_ns)
			fail_msg("%s", rows[i].what);
}

static void test_jitter(void **state)
{
	struct target_machine machine = {.random = 1};
	int64_t least = INT64_MAX, most = 0;
	for (int i = 0; i < 10000; i++) {
		int64_t ns = target_jittered(&machine, NS_PER_S);
		if (ns < least)
			least = ns;
		if (ns > most)
			most = ns;
	}
	assert_in_range(least, 900 * NS_PER_MS, 905 * NS_PER_MS);
	assert_in_range(most, 1095 * NS_PER_MS, 1100 * NS_PER_MS);
}

static void test_secrets(void **state)
{
	const struct config_secret file = {SECRET_FILE, "/etc/rw/a", 0, 0},
				   same = {SECRET_FILE, "/etc/rw/a", 7, 3},
				   other = {SECRET_FILE, "/etc/rw/b", 0, 0},
				   none = {SECRET_NONE, NULL, 0, 0};
	assert_true(target_secret_same(&file, &same));
	assert_false(target_secret_same(&file, &other));
	assert_false(target_secret_same(&file, &none));
	assert_true(target_secret_same(&none, &none));
	char *text = locked_dup("secret");
	target_secret_wipe(&text);
	assert_null(text);
	target_secret_wipe(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_backoff),
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_secrets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
