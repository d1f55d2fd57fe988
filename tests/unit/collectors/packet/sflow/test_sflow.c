/* sflow: datagrams made word by word, cut at every byte, with false lengths; lost and late
 * datagrams; estimates; who stood in a queue. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "collectors/packet/frame/decap.h"
#include "collectors/packet/sflow/sflow_decode.h"
#include "collectors/packet/sflow/sflow_sequence.h"
#include "collectors/packet/sflow/sflow_summary.h"
#include "tests/unit/collectors/packet/packets.h"

/* ---- writing ---------------------------------------------------------------- */

struct words {
	uint8_t b[8192];
	size_t n;
};

static void put(struct words *w, uint32_t word)
{
	put_be32(w->b + w->n, word);
	w->n += 4;
}

static void put_all(struct words *w, const uint32_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put(w, words[i]);
}
#define PUT(w, ...)                                                                                \
	put_all(w, (const uint32_t[]){__VA_ARGS__},                                                \
		sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* The length word of a structure whose format was just put; put_end() fills it in. */
static size_t put_begin(struct words *w, uint32_t format)
{
	PUT(w, format, 0);
	return w->n;
}

static void put_end(struct words *w, size_t body)
{
	put_be32(w->b + body - 4, (uint32_t)(w->n - body));
}

static void put_datagram(struct words *w, uint32_t sequence, uint32_t samples)
{
	w->n = 0;
	PUT(w, 5, 1, 0xc000020b, 3, sequence, 1000, samples); /* 192.0.2.11, sub-agent 3 */
}

static void put_header(struct words *w, const struct built *frame, uint32_t cut)
{
	const uint32_t n = frame->n < cut ? (uint32_t)frame->n : cut;
	const size_t body = put_begin(w, 1);
	PUT(w, 1, (uint32_t)frame->n + 4, 4, n);
	memcpy(w->b + w->n, frame->b, n);
	w->n += (n + 3) / 4 * 4;
	put_end(w, body);
}

/* A compact flow sample with everything that is read. */
static void put_flow(struct words *w, uint32_t sequence, uint32_t sampling, uint32_t qp,
	uint32_t delay_ns, uint32_t depth)
{
	struct built frame;
	struct frame_spec spec = spec_write_only(qp, sequence, 1000);
	frame_build(&spec, &frame);
	const size_t body = put_begin(w, 1);
	PUT(w, sequence, 7, sampling, sequence * sampling, 0, 7, 9, 5);
	put_header(w, &frame, 128);
	size_t record = put_begin(w, 1001);
	PUT(w, 100, 3, 200, 4);
	put_end(w, record);
	record = put_begin(w, 1036);
	PUT(w, 3);
	put_end(w, record);
	record = put_begin(w, 1039);
	PUT(w, delay_ns);
	put_end(w, record);
	record = put_begin(w, 1040);
	PUT(w, depth);
	put_end(w, record);
	put_end(w, body);
}

/* ---- the decoder -------------------------------------------------------------- */

static void test_flow(void **state)
{
	struct words w;
	struct sflow_reader reader;
	struct sflow_datagram d;
	struct sflow_sample s;
	struct roce_packet p;
	put_datagram(&w, 77, 1);
	put_flow(&w, 5, 4000, 0x45, 12345, 88000);
	assert_int_equal(sflow_open(&reader, w.b, w.n, &d), 0);
	assert_int_equal(d.agent.family, 4);
	assert_int_equal(d.agent.bytes[3], 11);
	assert_int_equal(d.sub_agent, 3);
	assert_int_equal(d.sequence, 77);
	assert_int_equal(sflow_next(&reader, &s), 1);
	assert_int_equal(s.kind, SFLOW_FLOW);
	assert_int_equal(s.sampling, 4000);
	assert_int_equal(s.source_index, 7);
	assert_int_equal(s.input.kind, SFLOW_PORT_INDEX);
	assert_int_equal(s.output.index, 9);
	assert_true(s.has_switch && s.has_queue && s.has_delay && s.has_depth);
	assert_int_equal(s.queue, 3);
	assert_int_equal(s.delay_ns, 12345);
	assert_int_equal(s.depth_bytes, 88000);
	assert_int_equal(s.out_priority, 4);
	assert_true(sflow_packet(&s, &p));
	assert_int_equal(p.kind, PACKET_ROCE);
	assert_int_equal(p.dst_qp, 0x45);
	assert_int_equal(p.octets, s.frame_bytes - 4);
	assert_true(p.sampled);
	assert_true(p.layers & 1u << LAYER_SFLOW);
	assert_int_equal(p.vlan, 100); /* the switch took the tag away */
	assert_int_equal(p.pcp, 3);
	assert_int_equal(sflow_next(&reader, &s), 0);
}

static void test_expanded_and_others(void **state)
{
	struct words w;
	struct sflow_reader reader;
	struct sflow_datagram d;
	struct sflow_sample s;
	put_datagram(&w, 1, 6);
	size_t body = put_begin(&w, 3); /* expanded; discarded on output; no records */
	PUT(&w, 9, 0, 0x01000001, 100, 1, 2, 0, 0x01000001, 1, 258, 0);
	put_end(&w, body);
	body = put_begin(&w, 1); /* compact; to 3 ports */
	PUT(&w, 9, 0x02000007, 100, 1, 2, 0x3fffffff, 0x80000003, 0);
	put_end(&w, body);
	body = put_begin(&w, 4413 << 12 | 1); /* a vendor's */
	PUT(&w, 1, 2, 3);
	put_end(&w, body);
	body = put_begin(&w, 4); /* counters */
	PUT(&w, 3, 0, 8, 3);
	size_t record = put_begin(&w, 1);
	PUT(&w, 8, 6, 23, 0x4876e800, 1, 3, 1, 2, 11, 12, 13, 14, 15, UINT32_MAX, 3, 4, 21, 22, 23,
		24, 25, 0);
	put_end(&w, record);
	record = put_begin(&w, 2);
	PUT(&w, 0, 71, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 72);
	put_end(&w, record);
	record = put_begin(&w, 1005); /* not read */
	PUT(&w, 1);
	put_end(&w, record);
	put_end(&w, body);
	body = put_begin(&w, 5);
	PUT(&w, 4, 0, 8, 6, 8, 9, 259, 0);
	put_end(&w, body);
	body = put_begin(&w, 999);
	put_end(&w, body);

	assert_int_equal(sflow_open(&reader, w.b, w.n, &d), 0);
	assert_int_equal(sflow_next(&reader, &s), 1);
	assert_int_equal(s.source_index, 0x01000001); /* more than 24 bits */
	assert_int_equal(s.input.index, 0x01000001);
	assert_int_equal(s.output.kind, SFLOW_PORT_DISCARDED);
	assert_int_equal(s.output.index, 258);
	assert_int_equal(sflow_next(&reader, &s), 1);
	assert_int_equal(s.source_class, 2);
	assert_int_equal(s.input.kind, SFLOW_PORT_INTERNAL);
	assert_int_equal(s.output.kind, SFLOW_PORT_MANY);
	assert_int_equal(s.output.index, 3);
	assert_int_equal(sflow_next(&reader, &s), 1);
	assert_int_equal(s.kind, SFLOW_COUNTERS);
	assert_true(s.has_if && s.has_ethernet);
	assert_true(s.interface.speed_bps == 100000000000ull);
	assert_true(s.interface.in_octets == (1ull << 32 | 2));
	assert_int_equal(s.interface.in_errors, 15);
	assert_true(s.interface.out_octets == (3ull << 32 | 4));
	assert_int_equal(s.interface.out_errors, 25);
	assert_int_equal(s.fcs_errors, 71);
	assert_int_equal(s.symbol_errors, 72);
	assert_int_equal(s.skipped, 1);
	assert_int_equal(sflow_next(&reader, &s), 1);
	assert_int_equal(s.kind, SFLOW_DROP);
	assert_int_equal(s.reason, 259);
	assert_int_equal(s.drops, 6);
	assert_int_equal(s.output.index, 9);
	assert_int_equal(sflow_next(&reader, &s), 0);
	assert_int_equal(reader.skipped, 2);
}

/* At every length: no read beyond it (the sanitizer looks), and no sample that is not whole. */
static void test_cut(void **state)
{
	struct words w;
	put_datagram(&w, 1, 2);
	put_flow(&w, 1, 100, 5, 1, 2);
	const size_t first = w.n;
	put_flow(&w, 2, 100, 6, 1, 2);
	for (size_t n = 0; n <= w.n; n++) {
		struct sflow_reader reader;
		struct sflow_datagram d;
		struct sflow_sample s;
		rw_cleanup(freep) uint8_t *exact = malloc(n ? n : 1);
		memcpy(exact, w.b, n);
		int samples = 0, rc = sflow_open(&reader, exact, n, &d);
		while (rc == 0 && (rc = sflow_next(&reader, &s)) > 0) {
			samples++;
			rc = 0;
		}
		assert_int_equal(samples, (n >= first) + (n >= w.n));
		assert_int_equal(rc, n < w.n ? -EBADMSG : 0);
	}
}

static void test_false_lengths(void **state)
{
	struct words w;
	put_datagram(&w, 1, 1);
	put_flow(&w, 1, 100, 5, 1, 2);
	for (size_t at = 28; at < w.n; at += 4) {
		static const uint32_t values[] = {0, 1, 3, 0x7fffffff, 0xfffffffc, UINT32_MAX};
		for (size_t i = 0; i < rw_countof(values); i++) {
			struct words x = w;
			struct sflow_reader reader;
			struct sflow_datagram d;
			struct sflow_sample s;
			put_be32(x.b + at, values[i]);
			if (sflow_open(&reader, x.b, x.n, &d) == 0)
				while (sflow_next(&reader, &s) > 0)
					assert_true(!s.header ||
						(s.header >= x.b &&
							s.header + s.header_bytes <= x.b + x.n));
		}
	}
}

static void test_versions(void **state)
{
	struct words w = {.n = 0};
	struct sflow_reader reader;
	struct sflow_datagram d;
	PUT(&w, 4, 1, 2, 3, 4, 5, 0);
	assert_int_equal(sflow_open(&reader, w.b, w.n, &d), -ENOTSUP);
	put_be32(w.b, 0x16030100);
	assert_int_equal(sflow_open(&reader, w.b, w.n, &d), -EBADMSG);
	w.n = 0;
	PUT(&w, 5, 2, 0x20010db8, 0, 0, 1, 0, 1, 1, 0);
	assert_int_equal(sflow_open(&reader, w.b, w.n, &d), 0);
	assert_int_equal(d.agent.family, 6);
	assert_int_equal(d.agent.bytes[15], 1);
	w.n = 0;
	PUT(&w, 5, 0, 0, 1, 1, 0); /* the agent does not say its address */
	assert_int_equal(sflow_open(&reader, w.b, w.n, &d), 0);
	assert_int_equal(d.agent.family, 0);
}

static void test_reasons(void **state)
{
	char text[SFLOW_REASON_MAX];
	assert_string_equal(sflow_reason_text(text, 3), "port_unreachable");
	assert_string_equal(sflow_reason_text(text, 256), "unknown");
	assert_string_equal(sflow_reason_text(text, 259), "no_buffer_space");
	assert_string_equal(sflow_reason_text(text, 282), "decap_error");
	assert_string_equal(sflow_reason_text(text, 304), "locked_port");
	assert_string_equal(sflow_reason_text(text, 16), "reason_16");
	assert_string_equal(sflow_reason_text(text, UINT32_MAX), "reason_4294967295");
}

/* ---- sequences ------------------------------------------------------------------ */

static void test_sequence(void **state)
{
	struct sflow_sequence *sequence = sflow_sequence_new();
	const struct sflow_sequence_counts *c = sflow_sequence_counts(sequence);
	struct sflow_datagram d = {.agent = {.family = 4}, .uptime_ms = 500000};
	static const uint32_t numbers[] = {0xfffffffe, 0xffffffff, 0, 1, 4, 3, 3, 5};
	for (size_t i = 0; i < rw_countof(numbers); i++) {
		d.sequence = numbers[i];
		d.uptime_ms += 100;
		assert_int_equal(sflow_sequence_add(sequence, &d), 0);
	}
	assert_int_equal(c->lost, 1); /* 2; 3 came late */
	assert_int_equal(c->duplicates, 1);
	assert_int_equal(c->restarts, 0);
	d.uptime_ms = 20; /* it began anew, with a number that is only a little ahead */
	d.sequence = 8;
	sflow_sequence_add(sequence, &d);
	assert_int_equal(c->restarts, 1);
	assert_int_equal(c->lost, 1);
	d.sub_agent = 1; /* counts for itself */
	d.sequence = 1000;
	assert_int_equal(sflow_sequence_add(sequence, &d), 1);
	assert_int_equal(c->lost, 1);
	assert_int_equal(c->agents, 2);
	for (uint32_t i = 2; i < SFLOW_AGENTS_MAX + 10; i++) {
		d.sub_agent = i;
		sflow_sequence_add(sequence, &d);
	}
	assert_int_equal(c->agents, SFLOW_AGENTS_MAX);
	assert_int_equal(c->unfollowed, 10);
	sflow_sequence_free(sequence);
}

/* ---- the summary ------------------------------------------------------------------ */

static void count_packet(
	void *arg, const struct sflow_sample *sample, const struct roce_packet *packet)
{
	*(int *)arg += packet->kind == PACKET_ROCE;
}

static void test_estimates(void **state)
{
	struct words w;
	int packets = 0;
	size_t n;
	struct sflow_summary *summary = sflow_summary_new(1);
	for (uint32_t i = 0; i < 100; i++) {
		put_datagram(&w, i, 1);
		put_flow(&w, i, 1000, 0x45, 1000, 2000);
		sflow_summary_datagram(summary, w.b, w.n, false, count_packet, &packets);
	}
	assert_int_equal(packets, 100);
	const struct sflow_source *source = sflow_summary_sources(summary, &n);
	assert_int_equal(n, 1);
	struct sflow_estimate e = sflow_estimate_packets(&source->roce, source);
	assert_true(e.value == 100000);
	/* 196 sqrt(1/c) percent, for one in many */
	assert_true(fabs((e.high - e.value) / e.value - 1.96 * sqrt(1.0 / 100)) < 1e-3);
	assert_true(fabs((e.value - e.low) / e.value - 1.96 * sqrt(1.0 / 100)) < 1e-3);
	/* every second sample is lost from here on: the others stand for them */
	for (uint32_t i = 100; i < 300; i += 2) {
		put_datagram(&w, i, 1);
		put_flow(&w, i + 1, 1000, 0x45, 1000, 2000);
		sflow_summary_datagram(summary, w.b, w.n, false, count_packet, &packets);
	}
	source = sflow_summary_sources(summary, &n);
	assert_int_equal(source->generated, 300);
	assert_true(fabs(sflow_estimate_packets(&source->roce, source).value - 300000) < 1);
	assert_int_equal(sflow_summary_sequence(summary)->lost, 99);
	sflow_summary_free(summary);
}

/* One in one is no estimate. */
static void test_every_packet(void **state)
{
	struct words w;
	int packets = 0;
	size_t n;
	struct sflow_summary *summary = sflow_summary_new(1);
	put_datagram(&w, 1, 1);
	put_flow(&w, 1, 1, 0x45, 1, 1);
	sflow_summary_datagram(summary, w.b, w.n, false, count_packet, &packets);
	const struct sflow_source *source = sflow_summary_sources(summary, &n);
	struct sflow_estimate e = sflow_estimate_packets(&source->roce, source);
	assert_true(e.value == 1 && e.low == 1 && e.high == 1);
	sflow_summary_free(summary);
}

static void test_queue_blame(void **state)
{
	struct words w;
	const char *by;
	int packets = 0;
	size_t n;
	struct sflow_summary *summary = sflow_summary_new(1);
	put_datagram(&w, 1, 3);
	put_flow(&w, 1, 1000, 0x45, 9000, 10);
	put_flow(&w, 2, 1000, 0x46, 500, 70);
	put_flow(&w, 3, 1000, 0x46, 500, 70);
	sflow_summary_datagram(summary, w.b, w.n, false, count_packet, &packets);
	const struct sflow_queue *queue = sflow_summary_queues(summary, &n);
	assert_int_equal(n, 1);
	assert_int_equal(queue->queue, 3);
	assert_int_equal(queue->output, 9);
	assert_int_equal(queue->delay_max_ns, 9000);
	assert_int_equal(queue->depth_max_bytes, 70);
	const struct sflow_standing *standing = sflow_summary_standings(summary, &n);
	assert_int_equal(n, 2);
	const double all = sflow_blame_of(&queue->blame, queue, &by);
	assert_string_equal(by, "octets*delay");
	assert_true(fabs(sflow_blame_of(&standing[0].blame, queue, &by) / all - 0.9) < 0.001);
	sflow_summary_free(summary);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flow),
		cmocka_unit_test(test_expanded_and_others),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_false_lengths),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_sequence),
		cmocka_unit_test(test_estimates),
		cmocka_unit_test(test_every_packet),
		cmocka_unit_test(test_queue_blame),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
