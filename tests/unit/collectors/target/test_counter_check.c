/* counter_check: what a counter can have done, reading by reading: '.' believed, 's' suspect, 'r'
 * restart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "collectors/target/counter_check.h"
#include "db/model/metric.h"

#define MAX 1000.0 /* of the counter, per second; readings are a second apart */
#define W32 SF_WRAP32

struct reading {
	double t_s;
	uint64_t value;
};

static const struct {
	const char *what;
	unsigned flags;
	struct reading v[14];
	const char *says;
} rows[] = {
	{"at line rate", 0, {{1, 0}, {2, 1000}, {3, 2000}, {4, 3000}, {5, 4000}, {6, 5000}},
		"......"},
	{"within the margin of two clocks", 0,
		{{1, 0}, {2, 1015}, {3, 2030}, {4, 3045}, {5, 4060}, {6, 5075}}, "......"},
	{"over the line for long, and the label stays", 0,
		{{1, 0}, {2, 900}, {3, 1800}, {4, 2700}, {5, 4900}, {6, 7100}}, "....ss"},
	{"an uneven refresh: little, then much, within the line over three", 0,
		{{1, 0}, {2, 900}, {3, 1800}, {4, 2700}, {5, 2800}, {6, 4600}}, "......"},
	{"a cache of three seconds, polled each second", 0,
		{{1, 0}, {2, 0}, {3, 0}, {4, 3000}, {5, 3000}, {6, 3000}, {7, 6000}, {8, 6000},
			{9, 6000}, {10, 9000}, {11, 9000}, {12, 9000}, {13, 12000}},
		"............."},
	{"the first answer was an old one", 0, {{1, 0}, {2, 5000}, {3, 6000}, {4, 7000}}, "...."},
	{"one reading that was bad", 0,
		{{1, 0}, {2, 100}, {3, 200}, {4, 300}, {5, 1ull << 50}, {6, 500}, {7, 600}},
		"....s.."},
	{"a jump that stays", 0,
		{{1, 0}, {2, 100}, {3, 200}, {4, 300}, {5, 1ull << 50}, {6, (1ull << 50) + 100},
			{7, (1ull << 50) + 200}},
		"....sr."},
	{"a jump before three refreshes are known", 0,
		{{1, 0}, {2, 100}, {3, 1ull << 50}, {4, (1ull << 50) + 100}}, "..sr"},
	{"a jump, and then it stands still", 0,
		{{1, 0}, {2, 100}, {3, 200}, {4, 300}, {5, 1ull << 50}, {6, 1ull << 50}}, "....sr"},
	{"cleared", 0, {{1, 5000}, {2, 5100}, {3, 5200}, {4, 5300}, {5, 40}, {6, 140}}, "....r."},
	{"32 bits: a wrap", W32, {{1, 4294967000u}, {2, 4294967200u}, {3, 104}, {4, 304}, {5, 504}},
		"....."},
	{"a sum of 32 bits: one part of it wraps", W32,
		{{1, 4294967296}, {2, 4294967396}, {3, 200}, {4, 300}}, "...."},
	{"32 bits: cleared, not wrapped", W32,
		{{1, 1000000}, {2, 1000200}, {3, 1000400}, {4, 1000600}, {5, 100}, {6, 300}},
		"....r."},
	{"64 bits do not wrap", 0, {{1, 4294967000u}, {2, 4294967200u}, {3, 104}, {4, 304}},
		"..r."},
	{"the clock was set back by an hour: it is looked at from there on", 0,
		{{3600, 1000}, {3601, 2000}, {1, 3000}, {2, 4000}, {3, 1ull << 50}}, "....s"},
	{"no time went by", 0, {{1, 0}, {1, 1u << 30}, {2, 100}, {2, 1u << 30}, {3, 200}}, "....."},
	{"time went back", 0, {{5, 0}, {3, 1u << 30}, {6, 100}}, "..."},
};

static void test_readings(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct counter_check g = {0};
		char says[16] = "";
		for (size_t k = 0; k < strlen(rows[i].says); k++) {
			unsigned f = counter_check_take(&g, (int64_t)(rows[i].v[k].t_s * 1e9),
				rows[i].v[k].value, rows[i].flags, MAX);
			assert_int_equal(f & rows[i].flags, rows[i].flags);
			says[k] = f & SF_SUSPECT ? 's' : f & SF_RESTART ? 'r' : '.';
		}
		if (strcmp(says, rows[i].says) != 0)
			fail_msg("%s: %s, expected %s", rows[i].what, says, rows[i].says);
	}
}

static void test_restart_known(void **state)
{
	struct counter_check g = {0};
	counter_check_take(&g, 1000000000, 1u << 30, 0, MAX);
	assert_int_equal(counter_check_take(&g, 2000000000, 5, SF_RESTART, MAX), SF_RESTART);
	assert_int_equal(counter_check_take(&g, 3000000000, 500, 0, MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readings),
		cmocka_unit_test(test_restart_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
