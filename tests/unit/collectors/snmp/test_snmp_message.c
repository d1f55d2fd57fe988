/* test_snmp_message - our reader of answers against the library's: what ours takes, the library
 * takes, and both say the same. Answers are made by the library, and then damaged. Requests that we
 * write are read by the library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <net-snmp/net-snmp-config.h>
#include <net-snmp/net-snmp-includes.h>
#include <net-snmp/library/snmp_impl.h>

#include "base/cleanup.h"
#include "collectors/snmp/snmp_io.h"
#include "collectors/snmp/snmp_library.h"
#include "collectors/snmp/snmp_message.h"

static uint64_t seed = 1;

static unsigned draw(unsigned below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % below;
}

static uint64_t number(void)
{
	const uint64_t wide = (uint64_t)draw(UINT32_MAX) << 32 | draw(UINT32_MAX);
	return wide >> draw(64);
}

/* A PDU as agents answer, of up to 20 values of all types. */
static netsnmp_pdu *any_answer(void)
{
	netsnmp_pdu *pdu = snmp_pdu_create(SNMP_MSG_RESPONSE);
	const unsigned n = draw(20);
	pdu->version = SNMP_VERSION_2c;
	pdu->reqid = (long)(number() & INT32_MAX);
	pdu->errstat = draw(3) ? 0 : draw(6);
	pdu->errindex = draw(3) ? 0 : draw(30);
	for (unsigned i = 0; i < n; i++) {
		static const u_char kinds[] = {ASN_INTEGER, ASN_COUNTER, ASN_GAUGE, ASN_TIMETICKS,
			ASN_COUNTER64, ASN_OCTET_STR, ASN_IPADDRESS, ASN_OBJECT_ID, ASN_NULL,
			SNMP_NOSUCHOBJECT, SNMP_NOSUCHINSTANCE, SNMP_ENDOFMIBVIEW};
		const u_char kind = kinds[draw(rw_countof(kinds))];
		oid name[20] = {1, 3}, value[12] = {draw(3), draw(40)};
		const size_t n_name = 2 + draw(18), n_value = 2 + draw(10);
		u_char text[300];
		long small = (int32_t)number();
		struct counter64 wide = {.high = (u_long)draw(UINT32_MAX) >> draw(32),
			.low = (u_long)draw(UINT32_MAX)};
		for (size_t k = 2; k < n_name; k++)
			name[k] = number() & UINT32_MAX;
		for (size_t k = 2; k < n_value; k++)
			value[k] = number() & UINT32_MAX;
		memset(text, (int)draw(256), sizeof(text));
		if (kind == ASN_COUNTER || kind == ASN_GAUGE || kind == ASN_TIMETICKS)
			small = (long)(number() & UINT32_MAX);
		if (kind == ASN_COUNTER64)
			snmp_pdu_add_variable(pdu, name, n_name, kind, &wide, sizeof(wide));
		else if (kind == ASN_OCTET_STR)
			snmp_pdu_add_variable(pdu, name, n_name, kind, text, draw(sizeof(text)));
		else if (kind == ASN_IPADDRESS)
			snmp_pdu_add_variable(pdu, name, n_name, kind, text, 4);
		else if (kind == ASN_OBJECT_ID)
			snmp_pdu_add_variable(
				pdu, name, n_name, kind, value, n_value * sizeof(oid));
		else if (kind <= ASN_TIMETICKS && kind != ASN_NULL)
			snmp_pdu_add_variable(pdu, name, n_name, kind, &small, sizeof(small));
		else
			snmp_pdu_add_variable(pdu, name, n_name, kind, NULL, 0);
	}
	return pdu;
}

static size_t bytes_of_pdu(netsnmp_pdu *pdu, uint8_t *ret, size_t size)
{
	static u_char community[] = "public";
	u_char body[16000], *end;
	size_t left = sizeof(body);
	long version = SNMP_VERSION_2c;
	end = snmp_pdu_build(pdu, body, &left);
	assert_non_null(end);
	const size_t n_body = (size_t)(end - body);
	size_t n_community = strlen((char *)community), room = size;
	end = snmp_comstr_build(ret, &room, community, &n_community, &version, n_body);
	assert_non_null(end);
	memcpy(end, body, n_body);
	return (size_t)(end - ret) + n_body;
}

static void oids_equal(struct snmp_oid left, struct snmp_oid right)
{
	assert_int_equal(left.n, right.n);
	assert_int_equal(snmp_oid_order(left, right), 0);
}

/* True when our reader took it. */
static bool compare(const uint8_t *data, size_t n)
{
	static struct snmp_scratch ours, theirs;
	struct snmp_message a, b;
	struct snmp_pdu *pdu = NULL;
	uint8_t *exact = rw_calloc(n + 1, 1); /* so that a sanitizer sees a byte too many */
	memcpy(exact, data, n);
	const bool took = snmp_message_read(exact, n, "public", &ours, &a) == 0;
	if (took && snmp_library_read(data, n, &theirs, &b, &pdu) != 0)
		fail_msg("the library refuses what we take");
	if (took) {
		assert_int_equal(a.id, b.id);
		assert_int_equal(a.error_status, b.error_status);
		assert_int_equal(a.error_index, b.error_index);
		assert_int_equal(a.n, b.n);
	}
	for (size_t i = 0; took && i < a.n; i++) {
		const struct snmp_varbind *x = &a.v[i], *y = &b.v[i];
		oids_equal(x->oid, y->oid);
		oids_equal(x->object, y->object);
		assert_int_equal(x->type, y->type);
		assert_int_equal(x->number, y->number);
		assert_int_equal(x->n_bytes, y->n_bytes);
		if (x->n_bytes)
			assert_memory_equal(x->bytes, y->bytes, x->n_bytes);
	}
	if (pdu)
		snmp_library_free(pdu);
	free(exact);
	return took;
}

static void test_answers(void **state)
{
	uint8_t data[20000];
	unsigned whole = 0, damaged = 0;
	for (unsigned round = 0; round < 3000; round++) {
		netsnmp_pdu *pdu = any_answer();
		const size_t n = bytes_of_pdu(pdu, data, sizeof(data));
		snmp_free_pdu(pdu);
		whole += compare(data, n);
		for (unsigned k = 0; k < 20; k++) {
			const size_t at = draw((unsigned)n);
			const uint8_t before = data[at];
			data[at] = (uint8_t)draw(256);
			damaged += compare(data, n);
			data[at] = before;
		}
		compare(data, draw((unsigned)n));
	}
	/* nearly all plain answers are ours to read: the library is the exception */
	assert_true(whole > 2900);
	assert_true(damaged > 1000);
}

static void test_requests(void **state)
{
	uint8_t data[SNMP_MESSAGE_MAX];
	uint32_t arcs[4][20];
	for (unsigned round = 0; round < 3000; round++) {
		struct snmp_oid oids[4];
		const size_t n = 1 + draw(4);
		for (size_t i = 0; i < n; i++) {
			oids[i] = (struct snmp_oid){arcs[i], 2 + draw(18)};
			for (size_t k = 0; k < oids[i].n; k++)
				arcs[i][k] = (uint32_t)number();
			arcs[i][0] = draw(3);
			arcs[i][1] %= 40;
		}
		const struct snmp_request_head head = {.command = 0xa5,
			.id = (uint32_t)number() & INT32_MAX,
			.non_repeaters = draw(3),
			.max_repetitions = draw(300)};
		size_t at, left;
		left = snmp_message_write(data, &at, "public", &head, oids, n);
		assert_true(left > 0);
		u_char community[32];
		size_t n_community = sizeof(community);
		long version = -1;
		u_char *body =
			snmp_comstr_parse(data + at, &left, community, &n_community, &version);
		assert_non_null(body);
		assert_int_equal(version, SNMP_VERSION_2c);
		assert_memory_equal(community, "public", 6);
		netsnmp_pdu *pdu = snmp_pdu_create(0);
		assert_int_equal(snmp_pdu_parse(pdu, body, &left), 0);
		assert_int_equal(pdu->command, SNMP_MSG_GETBULK);
		assert_int_equal(pdu->reqid, head.id);
		assert_int_equal(pdu->non_repeaters, head.non_repeaters);
		assert_int_equal(pdu->max_repetitions, head.max_repetitions);
		const netsnmp_variable_list *v = pdu->variables;
		for (size_t i = 0; i < n; i++, v = v->next_variable) {
			assert_non_null(v);
			assert_int_equal(v->type, ASN_NULL);
			assert_int_equal(v->name_length, oids[i].n);
			for (size_t k = 0; k < oids[i].n; k++)
				assert_int_equal(v->name[k], oids[i].v[k]);
		}
		assert_null(v);
		snmp_free_pdu(pdu);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_requests),
	};
	snmp_io_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
