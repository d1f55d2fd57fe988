/* snmp_engine: the discovery message, and answers true, late, cut and hostile. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "collectors/snmp/snmp_message.h"

/* Answer of Debian's snmpd 5.9.3: a report with usmStatsUnknownEngineIDs.0, msgID 0x01020304, 17
 * octets of engine id, boots 1, time 1. */
static const uint8_t real[] = {
	0x30,
	0x71,
	0x02,
	0x01,
	0x03,
	0x30,
	0x11,
	0x02,
	0x04,
	0x01,
	0x02,
	0x03,
	0x04,
	0x02,
	0x03,
	0x00,
	0xff,
	0xe3,
	0x04,
	0x01,
	0x00,
	0x02,
	0x01,
	0x03,
	0x04,
	0x21,
	0x30,
	0x1f,
	0x04,
	0x11,
	0x80,
	0x00,
	0x1f,
	0x88,
	0x80,
	0x73,
	0x8b,
	0x68,
	0x23,
	0xce,
	0x49,
	0x01,
	0x6b,
	0x00,
	0x00,
	0x00,
	0x00,
	0x02,
	0x01,
	0x01,
	0x02,
	0x01,
	0x01,
	0x04,
	0x00,
	0x04,
	0x00,
	0x04,
	0x00,
	0x30,
	0x36,
	0x04,
	0x11,
	0x80,
	0x00,
	0x1f,
	0x88,
	0x80,
	0x73,
	0x8b,
	0x68,
	0x23,
	0xce,
	0x49,
	0x01,
	0x6b,
	0x00,
	0x00,
	0x00,
	0x00,
	0x04,
	0x00,
	0xa8,
	0x1f,
	0x02,
	0x04,
	0x01,
	0x02,
	0x03,
	0x04,
	0x02,
	0x01,
	0x00,
	0x02,
	0x01,
	0x00,
	0x30,
	0x11,
	0x30,
	0x0f,
	0x06,
	0x0a,
	0x2b,
	0x06,
	0x01,
	0x06,
	0x03,
	0x0f,
	0x01,
	0x01,
	0x04,
	0x00,
	0x41,
	0x01,
	0x01,
};
enum { AT_VERSION = 4, AT_ID = 9, AT_ENGINE_LENGTH = 29, AT_BOOTS = 48 };

static void test_probe(void **state)
{
	uint8_t m[SNMP_PROBE_MAX];
	size_t n = snmp_engine_probe(m, 0x01020304);
	assert_int_equal(n, 64);
	assert_int_equal(m[1], n - 2);
	assert_memory_equal(m + 9, ((uint8_t[]){1, 2, 3, 4}), 4);
	assert_memory_equal(m + 50, ((uint8_t[]){0x02, 4, 1, 2, 3, 4}), 6);
	/* our own message is one, and has no engine id in it */
	struct snmp_engine e;
	assert_int_equal(snmp_engine_answer(m, n, 0x01020304, &e), -EPROTO);
}

static void test_answer(void **state)
{
	struct snmp_engine e;
	assert_int_equal(snmp_engine_answer(real, sizeof(real), 0x01020304, &e), 0);
	assert_int_equal(e.n_id, 17);
	assert_memory_equal(e.id, real + 30, 17);
	assert_int_equal(e.boots, 1);
	assert_int_equal(e.time, 1);
	assert_int_equal(snmp_engine_answer(real, sizeof(real), 0x01020305, &e), -ESTALE);
}

static void test_hostile(void **state)
{
	static const struct {
		const char *what;
		size_t at;
		uint8_t to;
		int rc;
	} rows[] = {
		{"version 2", AT_VERSION, 1, -EBADMSG},
		{"not a sequence", 0, 0x31, -EBADMSG},
		{"indefinite length", 1, 0x80, -EBADMSG},
		{"length of four octets", 1, 0x84, -EBADMSG},
		{"longer than it is", 1, 0x7f, -EBADMSG},
		{"engine id longer than its sequence", AT_ENGINE_LENGTH, 0x7f, -EBADMSG},
		{"negative boots", AT_BOOTS + 1, 0x81, -EBADMSG},
		{"another id", AT_ID, 0x7f, -ESTALE},
	};
	struct snmp_engine e;
	for (size_t i = 0; i < rw_countof(rows); i++) {
		uint8_t m[sizeof(real)];
		memcpy(m, real, sizeof(real));
		m[rows[i].at] = rows[i].to;
		int rc = snmp_engine_answer(m, sizeof(m), 0x01020304, &e);
		if (rc != rows[i].rc)
			fail_msg("%s: %d, expected %d", rows[i].what, rc, rows[i].rc);
	}
	for (size_t n = 0; n < 59; n++) /* cut before the end of the security parameters */
		assert_int_equal(snmp_engine_answer(real, n, 0x01020304, &e), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_hostile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
