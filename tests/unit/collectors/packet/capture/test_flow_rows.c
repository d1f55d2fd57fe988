/* flow_rows: what one interval of a capture leaves in history. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "collectors/packet/capture/capture_analysis.h"
#include "tests/unit/collectors/packet/packets.h"

static const struct flow_rows_of interval = {
	.from_ns = 0, .to_ns = NS_PER_S, .entity = 3, .dir = FLOW_DIR_OUT};

static void rows_add(struct capture_analysis *analysis, const struct frame_spec *spec, int64_t t_ns)
{
	struct built built;
	struct roce_packet packet;
	frame_build(spec, &built);
	roce_parse(LINK_ETHERNET, built.b, built.n, built.n, 0, &packet);
	assert_int_equal(packet.kind, PACKET_ROCE);
	capture_analysis_packet(analysis, &packet, NULL, t_ns);
}

static void rows_begin(struct capture_analysis *analysis)
{
	const struct analysis_options options = {.flow_limit = 1000, .sampling = 1, .seed = 7};
	capture_analysis_init(analysis, &options);
}

/* Data is counted apart from answers, and by interval. */
static void data_is_told_from_answers(void **state)
{
	struct capture_analysis analysis;
	struct flow_sample rows[FLOW_ROWS_MAX];
	rows_begin(&analysis);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 20; i++) {
			struct frame_spec data = spec_write_only(7, i + (uint32_t)round * 20, 1000);
			data.tos = i < 5 ? 0 : 2; /* 15 of 20 are ECT */
			rows_add(&analysis, &data, round * NS_PER_S + i * 1000);
			struct frame_spec ack = {.opcode = 0x11, .qp = 9, .psn = i};
			ack.src_port = 50001;
			rows_add(&analysis, &ack, round * NS_PER_S + i * 1000 + 300);
		}
		const size_t n = flow_rows(&analysis, &interval, rows);
		assert_int_equal(n, 3);
		assert_true(rows[0].total);
		assert_int_equal(rows[0].packets, 40);
		assert_int_equal(rows[0].data_packets, 20);
		assert_int_equal(rows[0].data_ect, 15);
		assert_int_equal(rows[0].spray_octets, 0);
		assert_int_equal(rows[1].data_packets, 20); /* the larger one */
		assert_int_equal(rows[2].data_packets, 0);
		capture_analysis_next(&analysis);
	}
	capture_analysis_end(&analysis);
}

/* One queue pair over sixteen source ports, packet by packet, beside one that keeps its own. */
static void spraying_is_counted(void **state)
{
	struct capture_analysis analysis;
	struct flow_sample rows[FLOW_ROWS_MAX];
	uint64_t sprayed = 0;
	rows_begin(&analysis);
	for (uint32_t i = 0; i < 160; i++) {
		struct frame_spec spec = spec_write_only(i % 2 ? 7 : 8, i / 2, 1000);
		struct built built;
		spec.src_port = (uint16_t)(i % 2 ? 50000 + i / 2 % 16 : 40000);
		frame_build(&spec, &built);
		if (i % 2)
			sprayed += built.n;
		rows_add(&analysis, &spec, i * 1000);
	}
	flow_rows(&analysis, &interval, rows);
	assert_int_equal(rows[0].spray_octets, sprayed);
	capture_analysis_next(&analysis);
	flow_rows(&analysis, &interval, rows);
	assert_int_equal(rows[0].spray_octets, 0);
	capture_analysis_end(&analysis);
}

static void what_the_capture_lost_stands_in_the_totals(void **state)
{
	struct capture_analysis analysis;
	struct flow_sample rows[FLOW_ROWS_MAX];
	struct flow_rows_of of = interval;
	rows_begin(&analysis);
	of.capture_lost = 12;
	assert_int_equal(flow_rows(&analysis, &of, rows), 1);
	assert_int_equal(rows[0].capture_lost, 12);
	assert_int_equal(rows[0].packets, 0);
	capture_analysis_end(&analysis);
}

/* @qp sends PSNs [from, to) of one packet each, without those in [hole, hole_to). */
static void rows_run(struct capture_analysis *analysis, uint32_t qp, uint32_t from, uint32_t to,
	uint32_t hole, uint32_t hole_to, int64_t *t_ns)
{
	for (uint32_t psn = from; psn < to; psn++) {
		const struct frame_spec data = spec_write_only(qp, psn, 200);
		if (psn < hole || psn >= hole_to)
			rows_add(analysis, &data, *t_ns += 1000);
	}
}

static void rows_nak(struct capture_analysis *analysis, uint32_t psn, int64_t *t_ns)
{
	struct frame_spec nak = {.opcode = 0x11,
		.src = 0x0a000002,
		.dst = 0x0a000001,
		.qp = 9,
		.psn = psn,
		.ext = {0x60, 0, 0, 1},
		.ext_bytes = 4};
	rows_add(analysis, &nak, *t_ns += 5000);
}

/* A hundred queue pairs that carry more are no reason to forget the one that lost: its row stands
 * behind the largest ones, with the side and the count. */
static void losses_have_their_row(void **state)
{
	struct capture_analysis analysis;
	struct flow_sample rows[FLOW_ROWS_MAX];
	for (int beyond = 0; beyond < 2; beyond++) {
		int64_t t_ns = 0;
		const uint32_t hole = beyond ? 0 : 12;
		rows_begin(&analysis);
		rows_run(&analysis, 7, 0, 20, hole, hole ? 15 : 0, &t_ns);
		rows_nak(&analysis, 12, &t_ns);
		rows_run(&analysis, 7, 12, 30, 0, 0, &t_ns);
		for (uint32_t qp = 100; qp < 200; qp++) {
			struct frame_spec other = spec_write_only(qp, 0, 4000);
			other.src = 0x0a000003;
			for (; other.psn < 20; other.psn++)
				rows_add(&analysis, &other, t_ns += 1000);
		}
		const size_t n = flow_rows(&analysis, &interval, rows);
		assert_int_equal(n, 1 + FLOW_TOP + 1);
		const struct flow_sample *lost = &rows[FLOW_TOP + 1];
		assert_int_equal(lost->key.dst_qp, 7);
		const enum flow_loss kind = beyond ? FLOW_LOST_BEYOND : FLOW_LOST_BEFORE;
		for (int i = 0; i < FLOW_LOSS_KINDS; i++) {
			assert_int_equal(lost->lost[i], i == (int)kind);
			assert_int_equal(rows[0].lost[i], i == (int)kind);
		}
		assert_int_equal(lost->missing, beyond ? 0 : 3);
		assert_int_equal(rows[0].missing, beyond ? 0 : 3);
		capture_analysis_next(&analysis);
		assert_int_equal(flow_rows(&analysis, &interval, rows), 1);
		assert_int_equal(rows[0].lost[kind], 0);
		capture_analysis_end(&analysis);
	}
}

/* One queue pair of a host whose queue pairs get a CNP each 300 us: it sends a packet each @gap_ns,
 * and slows down to half for 200 us unless it is deaf. */
struct reacting {
	int64_t next_ns, cnp_ns;
	uint32_t psn;
	bool deaf, slow_sender;
};

/* @n queue pairs, of which the last one is deaf, or sends little. */
static size_t rows_react(unsigned n, bool deaf, bool slow_sender, struct flow_sample *rows)
{
	struct capture_analysis analysis;
	struct reacting *qps = test_calloc(n, sizeof(*qps));
	rows_begin(&analysis);
	for (unsigned i = 0; i < n; i++)
		qps[i] = (struct reacting){
			.next_ns = 1000000 + i * 137, .cnp_ns = 3000000 + i * 7919};
	qps[n - 1].deaf = deaf;
	qps[n - 1].slow_sender = slow_sender;
	for (int64_t t_ns = 1000000; t_ns < 30000000; t_ns += 100) {
		for (unsigned i = 0; i < n; i++) {
			struct reacting *qp = &qps[i];
			if (t_ns >= qp->cnp_ns) {
				struct frame_spec cnp = {.opcode = 0x81,
					.src = 0x0a000002,
					.dst = 0x0a000001,
					.qp = 5000 + i,
					.src_port = (uint16_t)(50000 + i)};
				rows_add(&analysis, &cnp, t_ns);
				qp->cnp_ns += 300000;
			}
			if (t_ns < qp->next_ns)
				continue;
			struct frame_spec data = {.opcode = qp->psn ? 7 : 6,
				.qp = 100 + i,
				.psn = qp->psn,
				.src_port = (uint16_t)(50000 + i),
				.payload = 1024,
				.ext_bytes = qp->psn ? 0 : 16};
			rows_add(&analysis, &data, t_ns);
			qp->psn++;
			const bool cut = !qp->deaf && qp->psn && t_ns < qp->cnp_ns - 100000;
			int64_t gap_ns = 2500;
			if (qp->slow_sender)
				gap_ns = 12000; /* its limit lies far above that */
			else if (cut && t_ns > 3000000)
				gap_ns = 5000;
			qp->next_ns += gap_ns;
		}
	}
	const size_t got = flow_rows(&analysis, &interval, rows);
	capture_analysis_end(&analysis);
	test_free(qps);
	return got;
}

/* The one of many that goes on at its rate is told apart; one that sends little is not taken for
 * it. */
static void a_deaf_queue_pair_is_told(void **state)
{
	static const struct {
		unsigned n;
		bool deaf, slow_sender;
	} cases[] = {{8, true, false}, {32, true, false}, {8, false, false}, {8, true, true}};
	for (size_t i = 0; i < rw_countof(cases); i++) {
		struct flow_sample rows[FLOW_ROWS_MAX];
		const size_t n = rows_react(cases[i].n, cases[i].deaf, cases[i].slow_sender, rows);
		size_t deaf = 0;
		for (size_t k = 1; k < n; k++) {
			if (rows[k].reacts != REACTION_DOES_NOT_SLOW)
				continue;
			assert_int_equal(rows[k].key.dst_qp, 100 + cases[i].n - 1);
			deaf++;
		}
		print_message("%zu: %zu of %u\n", i, deaf, cases[i].n);
		assert_int_equal(deaf, cases[i].deaf && !cases[i].slow_sender);
	}
}

static const struct flow_sample *host_row(const struct flow_sample *rows, size_t n, uint8_t last)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].host && rows[i].key.src[3] == last)
			return &rows[i];
	return NULL;
}

/* 10.0.0.1 sends, its data is marked, and 10.0.0.2 answers with CNPs: in each interval anew. */
static void hosts_have_their_part(void **state)
{
	struct capture_analysis analysis;
	struct flow_sample rows[FLOW_ROWS_MAX];
	struct flow_rows_of of = interval;
	rows_begin(&analysis);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 100; i++) {
			struct frame_spec data =
				spec_write_only(7, i + (uint32_t)round * 100, 1000);
			data.tos = i % 10 ? 2 : 3;
			rows_add(&analysis, &data, round * NS_PER_S + i * 1000000);
			struct frame_spec cnp = {
				.opcode = 0x81, .src = 0x0a000002, .dst = 0x0a000001, .qp = 9};
			if (i % 20 == 0)
				rows_add(&analysis, &cnp, round * NS_PER_S + i * 1000000 + 20000);
		}
		of.capture_lost = (uint64_t)round;
		const size_t n = flow_rows(&analysis, &of, rows);
		const struct flow_sample *sender = host_row(rows, n, 1),
					 *receiver = host_row(rows, n, 2);
		assert_non_null(sender);
		assert_non_null(receiver);
		assert_int_equal(sender->ce, 10);
		assert_int_equal(sender->reaction.cnp, 5);
		assert_int_equal(receiver->answer.ce, 10);
		assert_int_equal(receiver->answer.cnp, 5);
		if (round) /* the capture itself lost packets: rates are not kept */
			assert_int_equal(sender->reaction.all.n + sender->reaction.left_out, 0);
		capture_analysis_next(&analysis);
	}
	capture_analysis_end(&analysis);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(data_is_told_from_answers),
		cmocka_unit_test(spraying_is_counted), cmocka_unit_test(losses_have_their_row),
		cmocka_unit_test(a_deaf_queue_pair_is_told),
		cmocka_unit_test(hosts_have_their_part),
		cmocka_unit_test(what_the_capture_lost_stands_in_the_totals)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
