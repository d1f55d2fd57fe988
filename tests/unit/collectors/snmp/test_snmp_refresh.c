/* snmp_refresh: caches are learned, traffic that pauses is not taken for one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "collectors/snmp/snmp_refresh.h"

#define S 1000000000LL

/* The table changes at poll k when change(k); polls are a second apart. */
static bool every_third(int k)
{
	return k % 3 == 0;
}
static bool always(int k)
{
	return true;
}
static bool bursts(int k)
{
	return k % 10 < 3;
}
static bool idle(int k)
{
	return false;
}
static bool rare(int k)
{
	return k % 40 == 0;
}
static bool third_or_fourth(int k)
{
	return k % 7 == 0 || k % 7 == 3;
} /* 3.5 s */

static const struct {
	const char *what;
	bool (*change)(int k);
	int64_t period_s; /* learned in the end */
	int used; /* of the last 42 readings */
} rows[] = {
	{"a cache of three seconds", every_third, 3, 14},
	{"a cache of three and a half", third_or_fourth, 4, 12},
	{"no cache", always, 0, 42},
	{"bursts of three seconds in ten", bursts, 0, 42},
	{"nothing moves", idle, 0, 42},
	{"something moves now and then", rare, 0, 42},
};

static void test_learning(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct snmp_refresh r = {0};
		uint64_t digest = 1;
		int used = 0;
		for (int k = 0; k < 210; k++) {
			digest += rows[i].change(k);
			used += snmp_refresh_take(&r, digest, (k + 1) * S, S) && k >= 210 - 42;
		}
		if (r.period_ns != rows[i].period_s * S || used != rows[i].used)
			fail_msg("%s: learned %lld ns, used %d", rows[i].what,
				(long long)r.period_ns, used);
	}
}

/* Once a cache is known, a table that stops moving is idle, and said to be so. */
static void test_idle_after_cache(void **state)
{
	struct snmp_refresh r = {0};
	uint64_t digest = 1;
	int k = 0, used = 0;
	for (; k < 60; k++)
		snmp_refresh_take(&r, digest += every_third(k), (k + 1) * S, S);
	assert_int_equal(r.period_ns, 3 * S);
	for (; k < 70; k++)
		used += snmp_refresh_take(&r, digest, (k + 1) * S, S);
	assert_true(used >= 5);
	/* the agent was set to answer fresh: seen within as many changes as were needed to learn
	 * the cache */
	for (; k < 70 + REFRESH_GAPS + 1; k++)
		assert_true(snmp_refresh_take(&r, ++digest, (k + 1) * S, S));
	assert_int_equal(r.period_ns, 0);
}

/* A slow poll never skips: each answer is a reading of its own. */
static void test_slow_poll(void **state)
{
	struct snmp_refresh r = {0};
	for (int k = 0; k < 50; k++)
		assert_true(snmp_refresh_take(&r, (uint64_t)(k / 2), (k + 1) * 10 * S, 10 * S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_learning),
		cmocka_unit_test(test_idle_after_cache),
		cmocka_unit_test(test_slow_poll),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
