/* pcap_verdict, pcap_select, pcap_paths: what begins a report, which packets are in it, and which
 * files of a directory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "agent/capture/pcap_paths.h"
#include "agent/capture/pcap_select.h"
#include "agent/capture/pcap_verdict.h"
#include "agent/document/json_value.h"

/* ---- verdicts ------------------------------------------------------------- */

static void test_words(void **state)
{
	for (int i = 0; i < PCAP_VERDICT_COUNT; i++) {
		const struct pcap_verdict_info *info = pcap_verdict_info((enum pcap_verdict)i);
		assert_ptr_equal(pcap_verdict_named(info->word), info);
		assert_true(*info->says && *info->help);
		/* parts of sentences: they stand in tables and behind arrows */
		assert_true(info->help[strlen(info->help) - 1] != '.');
	}
	assert_null(pcap_verdict_named("nothing"));
}

static void test_order(void **state)
{
	static const char *const want[] = {
		"does_not_slow", "lost_beyond", "paused", "ce_marked", "ce_marked", "slows"};
	json_t *document = json_object();
	assert_int_equal(pcap_verdict_worst(document), PCAP_OK);
	pcap_verdict_add(document, PCAP_VERDICT_SLOWS, "s");
	pcap_verdict_add(document, PCAP_VERDICT_CE_MARKED, "first");
	pcap_verdict_add(document, PCAP_VERDICT_CE_MARKED, "second");
	assert_int_equal(pcap_verdict_worst(document), PCAP_INFO);
	pcap_verdict_add(document, PCAP_VERDICT_PAUSED, "p");
	pcap_verdict_add(document, PCAP_VERDICT_LOST_BEYOND, "%d lost", 3);
	pcap_verdict_add(document, PCAP_VERDICT_DOES_NOT_SLOW, "d");
	pcap_verdict_sort(document);
	const json_t *list = json_object_get(document, "verdicts");
	assert_int_equal(json_array_size(list), 6);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(doc_word(json_array_get(list, i), "kind"), want[i]);
	assert_string_equal(doc_word(json_array_get(list, 1), "text"), "3 lost");
	assert_string_equal(doc_word(json_array_get(list, 3), "text"), "first");
	assert_int_equal(pcap_verdict_worst(document), PCAP_CRITICAL);
	json_decref(document);
}

/* A thousand hosts with the same fault are eight sentences and a number. */
static void test_bounded(void **state)
{
	json_t *document = json_object();
	for (int i = 0; i < 1000; i++) {
		json_t *row =
			pcap_verdict_add_as(document, PCAP_VERDICT_PAUSED, PCAP_CRITICAL, "%d", i);
		json_object_set_new(row, "n", json_integer(i));
	}
	const json_t *list = json_object_get(document, "verdicts");
	const json_t *last = json_array_get(list, PCAP_VERDICTS_PER_KIND - 1);
	assert_int_equal(json_array_size(list), PCAP_VERDICTS_PER_KIND);
	assert_int_equal(
		json_integer_value(json_object_get(last, "more")), 1000 - PCAP_VERDICTS_PER_KIND);
	assert_string_equal(doc_word(last, "severity"), "critical");
	json_decref(document);
}

/* ---- selection -------------------------------------------------------------- */

static void test_hosts(void **state)
{
	static const struct {
		const char *host;
		uint8_t last; /* of 10.0.3.x, as the destination */
		bool want;
	} rows[] = {{"10.0.3.7", 7, true}, {"10.0.3.7", 8, false}, {"10.0.3.0/24", 9, true},
		{"10.0.2.0/24", 9, false}, {"10.0.3.8/29", 15, true}, {"10.0.3.8/29", 16, false},
		{"0.0.0.0/0", 1, true}, {"::/0", 1, false}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pcap_select select = {0};
		const struct roce_packet packet = {.kind = PACKET_ROCE,
			.family = 4,
			.src = {192, 0, 2, 1},
			.dst = {10, 0, 3, rows[i].last}};
		struct err e = {0};
		assert_int_equal(pcap_select_add_host(&select, rows[i].host, &e), 0);
		assert_int_equal(pcap_select_packet(&select, &packet), rows[i].want);
	}
}

static void test_refused(void **state)
{
	static const char *const hosts[] = {
		"", "leaf1", "10.0.0", "10.0.0.1/33", "fe80::1/129", "10.0.0.1/", "10.0.0.1/x"};
	static const char *const qps[] = {
		"", "x", "0x", "-1", "16777216", "0x1000000", "12 ", "1e3"};
	struct pcap_select select = {0};
	struct err e = {0};
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		assert_int_equal(pcap_select_add_host(&select, hosts[i], &e), -EINVAL);
	for (size_t i = 0; i < sizeof(qps) / sizeof(qps[0]); i++)
		assert_int_equal(pcap_select_add_qp(&select, qps[i], &e), -EINVAL);
	assert_int_equal(select.n_hosts + select.n_qps, 0);
	assert_int_equal(pcap_select_add_qp(&select, "0xffffff", &e), 0);
	assert_true(pcap_select_qp(&select, 0xffffff) && !pcap_select_qp(&select, 1));
}

static void test_priority(void **state)
{
	const struct pcap_select select = {.priority_given = true, .priority = 3};
	struct roce_packet packet = {.kind = PACKET_ROCE, .family = 4, .dscp = 26};
	assert_true(pcap_select_packet(&select, &packet));
	packet.dscp = 32;
	assert_false(pcap_select_packet(&select, &packet));
	packet.n_vlan = 1; /* the tag decides, where there is one */
	packet.pcp = 3;
	assert_true(pcap_select_packet(&select, &packet));
	packet.pcp = 6;
	assert_false(pcap_select_packet(&select, &packet));
	packet.opcode = ROCE_OPCODE_CNP;
	assert_true(pcap_select_packet(&select, &packet));
	const struct roce_packet pfc = {.kind = PACKET_PFC, .classes = 1 << 4};
	assert_false(pcap_select_packet(&select, &pfc));
}

/* ---- names ---------------------------------------------------------------------- */

static void test_names(void **state)
{
	static const char *const captures[] = {"a.pcap", "a.pcapng", "a.cap", "a.pcap0", "a.pcap12",
		"a.pcap.1", "a_00001_20261122150000.pcapng", "x.pcap.pcapng", "a.cap.003"};
	static const char *const others[] = {"a.pcap.gz", "a.txt", "pcap", "a.pcapx", "a.pcap.",
		"a.pcap1x", "a.capture", "a.pcap.idx", ""};
	for (size_t i = 0; i < sizeof(captures) / sizeof(captures[0]); i++)
		assert_true(pcap_paths_is_capture(captures[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(pcap_paths_is_capture(others[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_priority),
		cmocka_unit_test(test_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
