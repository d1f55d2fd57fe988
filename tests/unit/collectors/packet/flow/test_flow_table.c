/* flow_table and psn: sequences as rows, attribution, bounds, intervals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "collectors/packet/flow/flow_table.h"

/* ---- packets by hand ----------------------------------------------------- */

static struct roce_packet packet(
	unsigned src, unsigned dst, unsigned port, unsigned opcode, uint32_t qp, uint32_t psn)
{
	return (struct roce_packet){.kind = PACKET_ROCE,
		.family = 4,
		.src = {10, 0, 0, (uint8_t)src},
		.dst = {10, 0, 0, (uint8_t)dst},
		.src_port = (uint16_t)port,
		.opcode = (uint8_t)opcode,
		.dst_qp = qp,
		.psn = psn,
		.octets = 1000,
		.ecn = ECN_ECT0};
}

static void add(struct flow_table *t, struct roce_packet p, int64_t t_ns)
{
	flow_table_add(t, &p, t_ns, NULL);
}

static struct roce_packet back(
	unsigned src, unsigned dst, unsigned port, uint32_t qp, uint32_t psn, uint8_t syndrome)
{
	struct roce_packet p = packet(src, dst, port, 0x11, qp, psn);
	p.has_aeth = true;
	p.syndrome = syndrome;
	return p;
}

enum { ACK = 0x1f, NAK = 0x60, RNR = 0x2e, CNP = 0x81, SEND = 0x04 };

/* The row of the direction to @qp; the source port of its row when it has one only. */
static const struct flow *find(struct flow_table *t, unsigned port, uint32_t qp)
{
	static struct flow found;
	size_t n;
	uint32_t *ids;
	const struct flow_choice all = {0};
	flow_table_choose(t, &all, &ids, &n);
	for (size_t i = 0; i < n; i++) {
		flow_table_row(t, ids[i], &found);
		if (found.key.src_port == port && found.key.dst_qp == qp)
			break;
		found = (struct flow){0};
	}
	free(ids);
	return &found;
}

static void test_counts(void **state)
{
	struct flow_table *t = flow_table_new(100, 1, 42);
	for (uint32_t i = 0; i < 10; i++)
		add(t, packet(1, 2, 50000, SEND, 7, i), i * 300000);
	struct roce_packet ce = packet(1, 2, 50000, SEND, 7, 10);
	ce.ecn = ECN_CE;
	add(t, ce, 3000000);
	add(t, packet(1, 2, 50000, SEND, 8, 5), 3100000); /* the same five-tuple, another QP */
	struct roce_packet none = packet(1, 2, 50001, SEND, 9, 5);
	none.ecn = ECN_NOT_ECT;
	add(t, none, 3200000);
	struct flow_totals s;
	flow_table_totals(t, &s);
	assert_int_equal(s.packets, 13);
	assert_int_equal(s.flows, 3);
	assert_int_equal(s.five_tuples, 2);
	assert_int_equal(s.ce, 1);
	assert_int_equal(s.ect, 11);
	assert_int_equal(s.not_ect, 1);
	assert_true(s.sum_sq_octets == 12000.0 * 12000 + 1000.0 * 1000);
	const struct flow *f = find(t, 50000, 7);
	assert_int_equal(f->packets, 11);
	assert_int_equal(f->burst_octets, 4000); /* 0, 0.3, 0.6, 0.9 ms */
	assert_int_equal(f->psn.gaps, 0);

	struct flow_sample rows[1 + FLOW_TOP + FLOW_LOST];
	size_t n = flow_table_samples(t, 0, 10000000000, 3, FLOW_DIR_OUT, true, rows);
	assert_int_equal(n, 4);
	assert_true(rows[0].total && !rows[1].total);
	assert_int_equal(rows[0].flows, 3);
	assert_int_equal(rows[0].packets, 13);
	assert_int_equal(rows[1].key.dst_qp, 7); /* most octets first */
	assert_int_equal(rows[1].burst_bps, 32000000);
	assert_int_equal(rows[1].entity, 3);
	assert_int_equal(rows[1].dir, FLOW_DIR_OUT);
	flow_table_free(t);
}

static void test_source_port_spraying(void **state)
{
	struct flow_table *t = flow_table_new(100, 1, 42);
	for (uint32_t i = 0; i < 64; i++)
		add(t, packet(1, 2, 50000 + i % 4, SEND, 7, i), i);
	struct flow_totals s;
	flow_table_totals(t, &s);
	assert_int_equal(s.five_tuples, 4);
	assert_int_equal(s.psn.gaps, 0);
	size_t n;
	uint32_t *ids;
	const struct flow_choice all = {0};
	flow_table_choose(t, &all, &ids, &n);
	assert_int_equal(n, 1);
	struct flow q;
	flow_table_row(t, ids[0], &q);
	assert_int_equal(q.packets, 64);
	assert_int_equal(q.source_ports, 4);
	assert_int_equal(q.key.src_port, 0);
	assert_int_equal(q.psn_first, 0);
	assert_int_equal(q.psn_last, 63);
	free(ids);
	flow_table_free(t);
}

static void test_reads(void **state)
{
	struct flow_table *t = flow_table_new(100, 1, 42);
	/* A READ of 16 KiB uses the PSNs of its responses: 4 at MTU 4096. The next request follows
	 * behind them. */
	struct roce_packet read = packet(1, 2, 50000, 0x0c, 7, 100);
	read.has_reth = true;
	read.reth_bytes = 16384;
	add(t, read, 1);
	add(t, packet(1, 2, 50000, SEND, 7, 104), 2);
	add(t, packet(1, 2, 50000, SEND, 7, 106), 3); /* a gap */
	const uint8_t responses[] = {0x0d, 0x0e, 0x0f};
	for (uint32_t i = 0; i < 3; i++)
		/* 102 missing */
		add(t, packet(2, 1, 50000, responses[i], 8, i == 2 ? 103 : 100 + i), 4 + i);
	add(t, packet(2, 1, 50000, 0x0d, 8, 300), 9); /* the next message: no judgement */
	assert_int_equal(find(t, 50000, 7)->psn.gaps, 1);
	assert_int_equal(find(t, 50000, 8)->psn.gaps, 1);
	assert_int_equal(find(t, 50000, 8)->psn.missing, 1);
	flow_table_free(t);
}

static void test_attribution(void **state)
{
	struct flow_table *t = flow_table_new(100, 1, 42);
	/* Two queue pairs 1 -> 2; their answers come to QP 0x71 and 0x81 from unrelated source
	 * ports. */
	for (uint32_t i = 0; i < 20; i++) {
		add(t, packet(1, 2, 50000, SEND, 7, 1000 + i), i);
		add(t, packet(1, 2, 50001, SEND, 8, 900000 + i), i);
	}
	add(t, packet(2, 1, 0, CNP, 0x71, 0), 30); /* nothing tells yet of which */
	struct flow_totals s;
	flow_table_totals(t, &s);
	assert_int_equal(s.unattributed, 1);
	add(t, back(2, 1, 600, 0x71, 1010, ACK), 31); /* its PSN does */
	add(t, packet(2, 1, 0, CNP, 0x71, 0), 32);
	add(t, back(2, 1, 601, 0x81, 900015, NAK), 33);
	add(t, back(2, 1, 601, 0x81, 900015, RNR), 34);
	assert_int_equal(find(t, 50000, 7)->cnp_about, 1);
	assert_int_equal(find(t, 50000, 7)->nak_about, 0);
	assert_int_equal(find(t, 50001, 8)->nak_about, 1);
	assert_int_equal(find(t, 50001, 8)->rnr_nak_about, 1);
	assert_int_equal(find(t, 0, 0x71)->cnp_sent, 2);
	flow_table_totals(t, &s);
	assert_int_equal(s.cnp, 2);
	assert_int_equal(s.nak, 1);
	assert_int_equal(s.unattributed, 1);

	/* By source port. */
	add(t, packet(2, 1, 50001, CNP, 0x82, 0), 40);
	assert_int_equal(find(t, 50001, 8)->cnp_about, 1);
	/* The only one of its pair, for any number of CNPs; and other pairs do not take part. */
	add(t, packet(3, 2, 50007, SEND, 9, 5), 41);
	for (int i = 0; i < 1000; i++)
		add(t, packet(2, 3, 12, CNP, 0x91, 0), 42 + i);
	assert_int_equal(find(t, 50007, 9)->cnp_about, 1000);

	/* The rows of history carry what was attributed. */
	struct flow_sample rows[1 + FLOW_TOP + FLOW_LOST];
	size_t n = flow_table_samples(t, 0, 1, 3, FLOW_DIR_UNKNOWN, true, rows);
	uint64_t cnp = 0;
	for (size_t i = 1; i < n; i++)
		cnp += rows[i].cnp;
	assert_int_equal(cnp, 1002);
	assert_int_equal(rows[0].cnp, 1003);
	flow_table_free(t);
}

/* A full table lets the least go: sums stay exact, the heavy ones stay, and it says so. */
static void test_bound(void **state)
{
	struct flow_table *t = flow_table_new(10, 1, 42);
	for (uint32_t i = 0; i < 500; i++) {
		add(t, packet(1, 2, 50000 + i, SEND, 7 + i, 0), i);
		add(t, packet(1, 2, 60000, SEND, 5, i), i); /* half of all octets */
	}
	struct flow_totals s;
	flow_table_totals(t, &s);
	assert_int_equal(s.packets, 1000);
	assert_int_equal(s.octets, 1000000);
	assert_int_equal(s.refused, 0);
	assert_int_equal(s.evicted, 500 - 9);
	assert_int_equal(find(t, 60000, 5)->packets, 500);
	assert_int_equal(find(t, 60000, 5)->psn.gaps, 0);
	/* 501 distinct: within three standard errors of 0.8 % */
	assert_in_range(s.flows, 501 - 13, 501 + 13);
	assert_in_range(s.five_tuples, 501 - 13, 501 + 13);
	assert_true(s.sum_octets == 1000000);
	/* half of the load on one 5-tuple, the rest spread: n_eff is just below 4 */
	const double n_eff = flow_n_eff(s.sum_octets, s.sum_sq_octets);
	assert_true(n_eff > 3.8 && n_eff <= 4.0);
	flow_table_next(t);
	flow_table_totals(t, &s);
	assert_int_equal(s.evicted, 0);
	assert_int_equal(s.flows, 0);
	flow_table_free(t);
}

static void test_sampling(void **state)
{
	struct flow_table *t = flow_table_new(10, 4000, 42);
	for (uint32_t i = 0; i < 50; i++)
		add(t, packet(1, 2, 50000, SEND, 7, i * 4000), i);
	struct flow_sample rows[1 + FLOW_TOP + FLOW_LOST];
	assert_int_equal(flow_table_samples(t, 0, 1, 3, FLOW_DIR_IN, true, rows), 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rows[i].psn_gaps, 0);
		assert_int_equal(rows[i].retransmits, 0);
		assert_int_equal(rows[i].burst_bps, 0);
		assert_int_equal(rows[i].sampling, 4000);
		assert_int_equal(rows[i].packets, 50);
	}
	flow_table_free(t);
}

static void test_intervals(void **state)
{
	struct flow_table *t = flow_table_new(1000, 1, 42);
	struct flow_sample rows[1 + FLOW_TOP + FLOW_LOST];
	add(t, packet(1, 2, 50000, SEND, 7, 10), 0);
	add(t, packet(1, 2, 50001, SEND, 8, 10), 0);
	flow_table_next(t);
	/* Counts begin anew, sequences do not: a gap between intervals is a gap. */
	add(t, packet(1, 2, 50000, SEND, 7, 13), 5);
	assert_int_equal(flow_table_samples(t, 0, 1, 3, FLOW_DIR_IN, true, rows), 2);
	assert_int_equal(rows[0].packets, 1);
	assert_int_equal(rows[0].flows, 1);
	assert_int_equal(rows[1].psn_gaps, 1);
	/* An interval in which the capture itself lost packets cannot tell. */
	assert_int_equal(flow_table_samples(t, 0, 1, 3, FLOW_DIR_IN, false, rows), 2);
	assert_int_equal(rows[1].psn_gaps, 0);
	assert_int_equal(rows[0].psn_gaps, 0);
	/* An idle flow goes after FLOW_IDLE intervals: what comes then is new. */
	for (int i = 0; i < FLOW_IDLE; i++)
		flow_table_next(t);
	assert_int_equal(flow_table_samples(t, 0, 1, 3, FLOW_DIR_IN, true, rows), 1);
	assert_int_equal(rows[0].packets, 0);
	add(t, packet(1, 2, 50001, SEND, 8, 99), 6);
	assert_int_equal(find(t, 50001, 8)->psn.gaps, 0);
	flow_table_free(t);
}

/* Many flows through many intervals: indices stay consistent, rows are sorted, the sums hold. */
static void test_many(void **state)
{
	struct flow_table *t = flow_table_new(5000, 1, 42);
	uint32_t x = 1;
	for (int interval = 0; interval < 20; interval++) {
		uint64_t sent = 0;
		for (int i = 0; i < 20000; i++) {
			x = x * 1664525 + 1013904223;
			struct roce_packet p =
				packet(x >> 24 & 15, 16 + (x >> 28), 50000 + (x >> 12 & 63),
					x >> 9 & 1 ? SEND : CNP, x >> 18 & 7, (uint32_t)i);
			p.octets = 100 + (x >> 8 & 1023);
			sent += p.octets;
			add(t, p, (int64_t)interval * 1000000000 + i * 1000);
		}
		struct flow_totals s;
		flow_table_totals(t, &s);
		assert_int_equal(s.octets, sent);
		assert_true(s.sum_octets <= (double)sent);
		struct flow_sample rows[1 + FLOW_TOP + FLOW_LOST];
		/* PSNs at random: many flows seem to lose */
		assert_in_range(flow_table_samples(t, 0, 1, 3, FLOW_DIR_IN, true, rows),
			FLOW_TOP + 1, 1 + FLOW_TOP + FLOW_LOST);
		for (int i = 2; i <= FLOW_TOP; i++)
			assert_true(rows[i - 1].octets >= rows[i].octets);
		flow_table_next(t);
	}
	flow_table_free(t);
}

/* Frames of RoCE version 1 have a row of their own, even where all others are taken, and belong to
 * no flow and no total. */
static void test_version_1(void **state)
{
	struct flow_sample rows[1 + FLOW_TOP + FLOW_LOST];
	struct flow_table *t = flow_table_new(1000, 1, 7);
	const struct roce_packet v1 = {.kind = PACKET_ROCEV1, .octets = 1000};
	for (unsigned i = 0; i < 100; i++)
		add(t, packet(1, 2, (uint16_t)(50000 + i), SEND, 7 + i, 10), 1);
	for (unsigned i = 0; i < 3; i++)
		add(t, v1, 2);
	const size_t n = flow_table_samples(t, 0, 10, 5, FLOW_DIR_IN, true, rows);
	assert_int_equal(n, FLOW_TOP + 1);
	assert_true(rows[0].total && rows[0].packets == 100);
	for (size_t i = 0; i + 1 < n; i++)
		assert_false(flow_is_v1(&rows[i]));
	assert_true(flow_is_v1(&rows[n - 1]));
	assert_int_equal(rows[n - 1].packets, 3);
	assert_int_equal(rows[n - 1].octets, 3000);
	flow_table_next(t);
	assert_int_equal(flow_table_samples(t, 10, 20, 5, FLOW_DIR_IN, true, rows), 1);
	flow_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_version_1),
		cmocka_unit_test(test_counts), cmocka_unit_test(test_source_port_spraying),
		cmocka_unit_test(test_reads), cmocka_unit_test(test_attribution),
		cmocka_unit_test(test_bound), cmocka_unit_test(test_sampling),
		cmocka_unit_test(test_intervals), cmocka_unit_test(test_many)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
