/* snmp_uptime: which clocks of a device mean that it restarted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "collectors/snmp/snmp_refresh.h"

#define TICKS_PER_S 100u

struct answer {
	int64_t at_s;
	uint32_t ticks;
	bool restart;
};

static void test_answers(void **state)
{
	static const struct {
		const char *what;
		struct answer answers[6];
		size_t n;
	} rows[] = {
		{"runs", {{0, 500, false}, {30, 3500, false}, {60, 6500, false}}, 3},
		{"went back", {{0, 900000, false}, {30, 1200, true}, {60, 4200, false}}, 3},
		{"behind where it should be", {{0, 1000, false}, {600, 30000, true}}, 2},
		{"wrapped after 497 days", {{0, UINT32_MAX - 500, false}, {10, 500, false}}, 2},
		{"an answer that is kept for some seconds",
			{{0, 1000, false}, {4, 1000, false}, {8, 1000, false}, {12, 2100, false},
				{16, 2100, false}},
			5},
		{"stands still at an interval of 30 s",
			{{0, 777, false}, {30, 777, false}, {60, 777, false}, {90, 777, false}}, 4},
		{"goes on from where it stood",
			{{0, 777, false}, {300, 777, false}, {330, 3777, false}}, 3},
		{"stood, and then went back",
			{{0, 90000, false}, {300, 90000, false}, {330, 50, true}}, 3},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct snmp_uptime uptime = {0};
		for (size_t k = 0; k < rows[i].n; k++) {
			const struct answer *a = &rows[i].answers[k];
			const mono_t now = {(1000 + a->at_s) * NS_PER_S};
			if (snmp_uptime_take(&uptime, a->ticks, now) != a->restart)
				fail_msg("%s: answer %zu", rows[i].what, k);
		}
	}
}

static void test_stands(void **state)
{
	struct snmp_uptime uptime = {0};
	assert_int_equal(snmp_uptime_stands(&uptime), 0);
	snmp_uptime_take(&uptime, 5, (mono_t){NS_PER_S});
	snmp_uptime_take(&uptime, 5, (mono_t){31 * NS_PER_S});
	assert_int_equal(snmp_uptime_stands(&uptime), 0); /* an agent's cache */
	snmp_uptime_take(&uptime, 5, (mono_t){91 * NS_PER_S});
	assert_int_equal(snmp_uptime_stands(&uptime), 90 * NS_PER_S);
	snmp_uptime_take(&uptime, 6, (mono_t){121 * NS_PER_S});
	assert_int_equal(snmp_uptime_stands(&uptime), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers), cmocka_unit_test(test_stands)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
