/* reason: the table itself (every row has a sentence, a next step and a known protocol, and its
 * sentence leads back to it), and the sentences that are easily taken for another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "base/str.h"
#include "collectors/target/reason.h"
#include "collectors/target/refused.h"

static const char *const protocols[] = {
	"", "snmp", "gnmi", "scrape", "push", "otlp", "ipfix", "pcap", "sflow"};

static bool protocol_known(const char *protocol)
{
	for (size_t i = 0; i < rw_countof(protocols); i++)
		if (str_eq(protocols[i], protocol))
			return true;
	return false;
}

/* A sentence with its arguments, as a collector would fill it: all numbers are 7, all words
 * "10.0.0.1:161". False for a conversion that no row may use. */
static bool sentence_filled(const char *sentence, char *ret, size_t size)
{
	size_t n = 0;
	while (*sentence && n + 32 < size) {
		if (*sentence != '%') {
			ret[n++] = *sentence++;
			continue;
		}
		sentence += 1 + strspn(sentence + 1, ".0123456789z");
		switch (*sentence++) {
		case 's': n += (size_t)snprintf(ret + n, size - n, "10.0.0.1:161"); break;
		case 'd':
		case 'g':
		case 'u': n += (size_t)snprintf(ret + n, size - n, "7"); break;
		case 'f': n += (size_t)snprintf(ret + n, size - n, "7.0"); break;
		default: return false;
		}
	}
	ret[n] = '\0';
	return true;
}

static void test_rows(void **state)
{
	size_t n = 0;
	for (int code = 0; code < REASON_COUNT; code++) {
		const struct reason_row *row = reason_row((enum reason_code)code);
		char text[512];
		if (code == REASON_NONE || code == REASON_UNKNOWN) {
			assert_null(row);
			continue;
		}
		assert_non_null(row);
		n++;
		if (!*row->sentence || !*row->next || !protocol_known(row->protocol))
			fail_msg("'%s': sentence, next step or protocol is missing", row->sentence);
		if (!sentence_filled(row->sentence, text, sizeof(text)))
			fail_msg("'%s': a conversion that reason_from() does not read",
				row->sentence);
		/* an address, a user and a table name beside it */
		if (strlen(row->sentence) + 24 > REASON_TEXT_MAX)
			fail_msg("'%s': its end would be cut", row->sentence);
		const char *protocol = *row->protocol ? row->protocol : "gnmi";
		struct reason back;
		reason_from(&back, protocol, text);
		if ((int)back.code != code)
			fail_msg("'%s' is taken for '%s'", text,
				reason_row(back.code) ? reason_row(back.code)->sentence : "none");
		assert_string_equal(reason_next_step(protocol, text), row->next);
	}
	assert_true(n > 90);
}

/* The sentence is cut at REASON_TEXT_MAX: what is left of it still finds its row. */
static void test_cut(void **state)
{
	struct reason reason, back;
	reason_set(&reason, SNMP_V3_CONTEXT, "[2001:db8:1234:5678:9abc:def0:1234:5678]:161",
		"a-user-with-a-long-name", "a-context-with-a-long-name",
		", and a wrong priv password or priv protocol,");
	assert_int_equal(strlen(reason.text), REASON_TEXT_MAX - 1);
	reason_from(&back, "snmp", reason.text);
	assert_int_equal(back.code, REASON_SNMP_V3_CONTEXT);
}

static void test_next_steps(void **state)
{
	static const struct {
		const char *what, *protocol, *text, *says;
	} rows[] = {
		{"a community that may not read: no auth or priv", "snmp",
			"10.0.0.1:161: the agent does not allow this community to read sysUpTime: "
			"its view or its access list excludes it",
			"widen the view of this community"},
		{"a secret's file", "snmp",
			"cannot read the credentials: file '/etc/rw/comm' may not be read by this "
			"user; give it to the user the agent runs as",
			"readable for the agent's user"},
		{"a wrong priv password", "snmp",
			"10.0.0.1:161: the engine was found, but requests of user noc stay "
			"unanswered: agents drop a wrong priv password or priv protocol without a "
			"word",
			"compare priv and priv_file"},
		{"a capture with what opened it before", "pcap",
			"capture mirror: eth0: not permitted (needs CAP_NET_RAW)", "CAP_NET_RAW"},
		{"the same words of another protocol", "gnmi",
			"10.0.0.1:9339: connection refused: the host is there, but no gNMI server "
			"listens on this port. Start it, or correct gnmi.address",
			"start the gNMI server"},
		{"unknown", "gnmi", "something new", "agent's log"},
		{"unknown capture", "pcap", "something new", "agent's log"},
		{"nothing", "snmp", NULL, "agent's log"},
		{"nothing at all", NULL, NULL, "agent's log"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const char *next = reason_next_step(rows[i].protocol, rows[i].text);
		if (!strstr(next, rows[i].says))
			fail_msg("%s: %s", rows[i].what, next);
	}
	const char *refused = reason_next_step("snmp", rows[0].text);
	assert_null(strstr(refused, "auth"));
	assert_non_null(strstr(refused, "access list"));
}

/* Among a thousand addresses that come once is the one that comes often. */
static void test_refused(void **state)
{
	struct refused refused = {0};
	char once[16];
	bool named = false;
	for (int i = 0; i < 1000; i++) {
		snprintf(once, sizeof(once), "192.0.%d.%d", i / 250, i % 250);
		refused_add(&refused, once);
		if (i >= 100 && i % 3 == 0)
			refused_add(&refused, "10.0.0.1");
	}
	for (size_t i = 0; i < refused.n; i++)
		named |= str_eq(refused.v[i].sender, "10.0.0.1");
	assert_true(named);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_next_steps),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
