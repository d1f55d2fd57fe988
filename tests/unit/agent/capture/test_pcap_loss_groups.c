/* pcap_put_loss_groups: many losses in few sentences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "agent/capture/pcap_parts.h"
#include "agent/document/json_value.h"
#include "collectors/packet/capture/capture_analysis.h"
#include "tests/unit/collectors/packet/packets.h"

struct losing {
	unsigned sources, destinations, qps; /* queue pairs of each pair of hosts */
	const char *kinds; /* of the sentences, one letter each: total, shared, pair */
	const char *total, *shared;
};

static void losing_add(
	struct capture_analysis *analysis, const struct frame_spec *spec, int64_t *t_ns)
{
	struct built built;
	struct roce_packet packet;
	frame_build(spec, &built);
	roce_parse(LINK_ETHERNET, built.b, built.n, built.n, 0, &packet);
	assert_int_equal(packet.kind, PACKET_ROCE);
	capture_analysis_packet(analysis, &packet, NULL, *t_ns += 1000);
}

/* A packet of @qp is missing; the receiver asks for it, and the sender goes back. */
static void losing_qp(
	struct capture_analysis *analysis, uint32_t src, uint32_t dst, uint32_t qp, int64_t *t_ns)
{
	static const uint32_t psns[] = {1, 2, 3, 5, 4, 5, 6};
	for (size_t i = 0; i < rw_countof(psns); i++) {
		struct frame_spec data = spec_write_only(qp, psns[i], 300);
		data.src = src;
		data.dst = dst;
		data.src_port = (uint16_t)(50000 + qp);
		losing_add(analysis, &data, t_ns);
		struct frame_spec nak = {.opcode = 0x11,
			.src = dst,
			.dst = src,
			.qp = qp + 5000,
			.psn = 4,
			.ext = {0x60, 0, 0, 1},
			.ext_bytes = 4};
		nak.src_port = data.src_port;
		if (i == 3)
			losing_add(analysis, &nak, t_ns);
	}
}

static void test_groups(void **state)
{
	static const struct losing cases[] = {
		{1, 1, 3, "", NULL, NULL}, /* few: one by one */
		{1, 1, 4, "tp",
			"4 losses in 4 queue pairs of 1 pair of hosts: 4 lost before this point",
			NULL},
		{16, 1, 30, "tspppp",
			"480 losses in 480 queue pairs of 16 pairs of hosts: 480 lost before",
			"480 of the 480 losses are on the way to 10.0.1.0, from 16 hosts"},
		{1, 5, 2, "tspppp", "10 losses in 10 queue pairs of 5 pairs",
			"on the way from 10.0.0.16, to 5 hosts"},
		{3, 3, 1, "tpppp", "9 losses in 9 queue pairs of 9 pairs", NULL},
	};
	for (size_t i = 0; i < rw_countof(cases); i++) {
		const struct losing *c = &cases[i];
		struct capture_analysis analysis;
		const struct analysis_options options = {
			.flow_limit = 10000, .sampling = 1, .seed = 7};
		int64_t t_ns = 0;
		capture_analysis_init(&analysis, &options);
		for (unsigned src = 0; src < c->sources; src++)
			for (unsigned dst = 0; dst < c->destinations; dst++)
				for (unsigned qp = 0; qp < c->qps; qp++)
					losing_qp(&analysis, 0x0a000010 + src, 0x0a000100 + dst,
						100 + qp, &t_ns);
		capture_analysis_flush(&analysis);
		json_t *document = json_object();
		assert_int_equal(pcap_put_loss_groups(document, analysis.flows), *c->kinds != 0);
		const json_t *list = json_object_get(document, "verdicts");
		assert_int_equal(json_array_size(list), strlen(c->kinds));
		for (size_t k = 0; k < json_array_size(list); k++) {
			const json_t *row = json_array_get(list, k);
			const char *text = doc_word(row, "text"), *kind = doc_word(row, "kind");
			print_message("%s: %s\n", kind, text);
			if (c->kinds[k] == 't') {
				assert_string_equal(kind, "losses");
				assert_non_null(strstr(text, c->total));
			} else if (c->kinds[k] == 's') {
				assert_string_equal(kind, "loss_shared");
				assert_non_null(strstr(text, c->shared));
			} else {
				assert_string_equal(kind, "loss_pair");
			}
		}
		json_decref(document);
		capture_analysis_end(&analysis);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
