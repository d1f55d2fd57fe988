/* packets_host: the address of the host behind a port, and the sums of its rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "analyzers/measure/congestion_measure.h"

/* From host @src to host @dst, 10.0.0.N. */
static struct flow_sample flow_of(
	uint32_t entity, enum flow_dir dir, uint8_t src, uint8_t dst, uint64_t octets)
{
	return (struct flow_sample){.entity = entity,
		.dir = (uint8_t)dir,
		.sampling = 1,
		.key = {.family = 4, .src = {10, 0, 0, src}, .dst = {10, 0, 0, dst}},
		.octets = octets,
		.packets = octets / 1000,
		.data_packets = octets / 1000,
		.to_ns = 1};
}

static void the_host_of_a_port_is_found(void **state)
{
	static const struct {
		const char *what;
		enum flow_dir dir;
		uint8_t pairs[3][2]; /* source, destination; the first is the largest */
		uint8_t host; /* 0 = not known */
	} cases[] = {
		{"what enters comes from the host", FLOW_DIR_IN, {{1, 2}, {1, 3}, {9, 2}}, 1},
		{"what leaves goes to the host", FLOW_DIR_OUT, {{2, 1}, {3, 1}, {4, 1}}, 1},
		{"both ways: who takes part in all", FLOW_DIR_UNKNOWN, {{1, 2}, {3, 1}, {1, 4}}, 1},
		{"a single peer", FLOW_DIR_UNKNOWN, {{1, 2}, {2, 1}, {1, 2}}, 0},
		{"who takes part in most", FLOW_DIR_UNKNOWN, {{1, 2}, {1, 3}, {4, 5}}, 0},
		{"an uplink", FLOW_DIR_UNKNOWN, {{1, 2}, {3, 4}, {5, 6}}, 0},
	};
	for (size_t i = 0; i < rw_countof(cases); i++) {
		struct flow_sample rows[3];
		for (size_t k = 0; k < 3; k++)
			rows[k] = flow_of(7, cases[i].dir, cases[i].pairs[k][0],
				cases[i].pairs[k][1], 1000000 - 1000 * k);
		struct window window = {0};
		window_give_flows(&window, rows, 3);
		const uint8_t *address = packets_host_address(&window, 7);
		if ((address ? address[3] : 0) != cases[i].host)
			fail_msg("%s: %d", cases[i].what, address ? address[3] : 0);
		assert_null(packets_host_address(&window, 8));
	}
}

static void rows_of_a_host_add_up(void **state)
{
	struct flow_sample rows[4];
	for (size_t i = 0; i < 4; i++) {
		rows[i] = (struct flow_sample){.entity = i == 3 ? 8 : 7,
			.host = true,
			.sampling = (uint32_t)i + 1,
			.key = {.family = 4, .src = {10, 0, 0, i == 2 ? 2 : 1}},
			.ce = 5,
			.reaction = {.cnp = 10, .peak_bps = 1e9 * (double)(i + 1)},
			.answer = {.ce = 3, .slots = 2, .cnp = 1, .directions = 4, .answered = 4}};
		rows[i].to_ns = (int64_t)i;
	}
	struct window window = {0};
	struct host_part part;
	const uint8_t address[16] = {10, 0, 0, 1};
	window_give_flows(&window, rows, 4);
	assert_int_equal(window.n_flows, 0);
	host_part(&window, 7, address, &part);
	assert_true(part.known);
	assert_int_equal(part.reaction.cnp, 20);
	assert_int_equal(part.answer.ce, 6);
	assert_int_equal(part.answer.answered, 8);
	assert_true(part.ce_sent == 10);
	assert_true(part.peak_bps == 3e9); /* also of another host of that capture */
	assert_int_equal(part.sampling, 2);
	host_part(&window, 9, address, &part);
	assert_false(part.known);
}

/* Without directions the addresses tell what the host sent; ACKs are no data. */
static void data_without_ect_is_seen_in_a_plain_mirror(void **state)
{
	struct flow_sample rows[3] = {flow_of(7, FLOW_DIR_UNKNOWN, 1, 2, 9000000),
		flow_of(7, FLOW_DIR_UNKNOWN, 1, 3, 8000000),
		flow_of(7, FLOW_DIR_UNKNOWN, 4, 1, 5000000)};
	const struct port_seen port = {.entity = 7};
	struct window window = {0};
	struct host_packets packets;
	rows[2].data_ect = rows[2].data_packets;
	window_give_flows(&window, rows, 3);
	assert_true(host_packets(&window, &port, &packets) || packets.address);
	assert_true(packets.data == 17000 && packets.data_ect == 0 && packets.to_host == 5000);
	assert_int_equal(packets_lack_ect(&packets), 1);
	packets.data_ect = 16000;
	assert_int_equal(packets_lack_ect(&packets), 0);
	packets.data = packets.data_ect = 10;
	assert_int_equal(packets_lack_ect(&packets), -1);
}

static void verdicts_of_hosts_decide(void **state)
{
	struct host_packets packets = {.part = {.known = true, .sampling = 1}};
	packets.part.answer = (struct answer_sum){
		.ce = 5000, .slots = 800, .cnp = 0, .directions = 4, .answered = 4};
	assert_int_equal(packets_lack_cnp(&packets), 1);
	packets.part.answer.cnp = 200;
	assert_int_equal(packets_lack_cnp(&packets), 0);
	packets.part.answer = (struct answer_sum){.ce = 5000, .slots = 800, .directions = 4};
	assert_int_equal(packets_lack_cnp(&packets), -1); /* its own packets are not seen */
	assert_int_equal(packets_cnp_reaches(&packets), -1);
	packets.part.reaction.cnp = 50;
	assert_int_equal(packets_cnp_reaches(&packets), 1);
	assert_int_equal(packets_slow_down(&packets, 1e11, NULL), -1);
	for (int i = 0; i < 40; i++)
		reaction_pair_add(&packets.part.reaction.all, 5e10 + i, 2.5e10 - i);
	assert_int_equal(packets_slow_down(&packets, 1e11, NULL), 1);
	memset(&packets.part.reaction.all, 0, sizeof(packets.part.reaction.all));
	for (int i = 0; i < 40; i++) {
		reaction_pair_add(&packets.part.reaction.all, 9.7e10 + i, 9.7e10 - i);
		reaction_pair_add(&packets.part.reaction.alone, 9.7e10 + i, 9.7e10 - i);
	}
	packets.part.reaction.peak_bps = packets.part.peak_bps = 9.8e10;
	assert_int_equal(packets_slow_down(&packets, 1e11, NULL), 0); /* at line rate */
	packets.part.sampling = 100;
	assert_int_equal(packets_slow_down(&packets, 1e11, NULL), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_host_of_a_port_is_found),
		cmocka_unit_test(rows_of_a_host_add_up),
		cmocka_unit_test(data_without_ect_is_seen_in_a_plain_mirror),
		cmocka_unit_test(verdicts_of_hosts_decide)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
