/* snmp_sensor: rows of entPhySensorTable as numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <math.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "collectors/snmp/snmp_decode.h"

#define NONE INT64_MIN /* column absent */

static const struct {
	const char *what;
	int64_t type, scale, precision, status, value;
	bool power;
	int rc;
	double is;
	bool bound;
} rows[] = {
	{"one milliwatt is 0 dBm", 6, 8, 4, 1, 10000, true, 0, 0, false},
	{"half of it", 6, 8, 4, 1, 5000, true, 0, -3.010299957, false},
	{"in microwatts", 6, 7, 1, 1, 5000, true, 0, -3.010299957, false},
	{"in watts, six digits", 6, 9, 6, 1, 2000, true, 0, 3.010299957, false},
	{"precision below 0: hundreds", 6, 7, -2, 1, 10, true, 0, 0, false},
	{"dark: at most half of the last digit", 6, 8, 4, 1, 0, true, 0, -43.010299957, true},
	{"less than nothing", 6, 8, 4, 1, -1, true, -ENODATA, 0, false},
	{"unavailable", 6, 8, 4, 2, 10000, true, -ENODATA, 0, false},
	{"not operational", 6, 8, 4, 3, 10000, true, -ENODATA, 0, false},
	{"no status", 6, 8, 4, NONE, 10000, true, -ENODATA, 0, false},
	{"no value", 6, 8, 4, 1, NONE, true, -ENODATA, 0, false},
	{"no scale", 6, NONE, 4, 1, 10000, true, -ENODATA, 0, false},
	{"overflow", 6, 8, 4, 1, 1000000000, true, -ENODATA, 0, false},
	{"scale beyond the list", 6, 18, 4, 1, 10000, true, -ENODATA, 0, false},
	{"volts are no power", 4, 9, 4, 1, 33000, true, -EPROTOTYPE, 0, false},
	{"temperature", 8, 9, 6, 1, 42500000, false, 0, 42.5, false},
	{"below zero", 8, 9, 1, 1, -55, false, 0, -5.5, false},
	{"a power is no temperature", 6, 8, 4, 1, 10000, false, -EPROTOTYPE, 0, false},
};

static void test_rows(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const int64_t v[] = {rows[i].type, rows[i].scale, rows[i].precision, rows[i].status,
			rows[i].value};
		struct snmp_value cells[5];
		const struct snmp_value *at[5];
		for (size_t k = 0; k < 5; k++) {
			cells[k] = (struct snmp_value){.type = SNMP_INTEGER, .u = (uint64_t)v[k]};
			at[k] = v[k] == NONE ? NULL : &cells[k];
		}
		struct snmp_sensor s = {at[0], at[1], at[2], at[3], at[4]};
		double is = NAN;
		bool bound = false;
		int rc = rows[i].power ? snmp_sensor_dbm(&s, &is, &bound)
				       : snmp_sensor_celsius(&s, &is);
		if (rc != rows[i].rc ||
			(rc == 0 && (fabs(is - rows[i].is) > 1e-6 || bound != rows[i].bound)))
			fail_msg("%s: %d, %g%s", rows[i].what, rc, is, bound ? " at most" : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
