/* packets: RoCE version 1, and CNPs that leave the receivers and do not arrive. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "analyzers/analyzer.h"
#include "config/option.h"
#include "db/model/flow.h"
#include "tests/unit/window_world.h"

static const char yaml[] = "fabric: test\n"
			   "devices:\n"
			   "  - { name: leaf1, role: leaf }\n"
			   "links:\n"
			   "  - { a: \"leaf1:e1\", b: \"host:a:nic\", speed: 100G }\n"
			   "  - { a: \"leaf1:e2\", b: \"host:b:nic\", speed: 100G }\n"
			   "  - { a: \"leaf1:e3\", b: \"host:c:nic\", speed: 100G }\n"
			   "lossless: { priorities: [3], mtu: 4200B }\n";

struct packets_world {
	struct window_world made;
	struct flow_sample flows[32];
	struct finding_list found;
};

static uint32_t packets_entity(struct packets_world *world, const char *port)
{
	return entities_intern(world->made.entities, "leaf1", port, PRIO_NONE);
}

/* A host is 10.0.0.N; N = 0 makes a row of totals. */
static void packets_add(struct packets_world *world, const char *port, enum flow_dir dir,
	uint8_t from_host, struct flow_sample counts)
{
	struct flow_sample *flow = &world->flows[world->made.window.n_flows++];
	*flow = counts;
	flow->entity = packets_entity(world, port);
	flow->dir = (uint8_t)dir;
	flow->sampling = counts.sampling ? counts.sampling : 1;
	flow->to_ns = 10 * NS_PER_S;
	flow->total = from_host == 0 && counts.key.dst_qp == 0;
	if (from_host) {
		flow->key.family = 4;
		memcpy(flow->key.src, (const uint8_t[]){10, 0, 0, from_host}, 4);
	}
}

static void packets_judge(struct packets_world *world)
{
	const struct analyzer *analyzer = analyzer_by_name("packets");
	void *options = arena_alloc(world->made.arena, analyzer->options.size);
	options_defaults(&analyzer->options, world->made.arena, options);
	world->made.window.from_ns = 0;
	world->made.window.to_ns = 30 * NS_PER_S;
	world->made.window.entities = world->made.entities;
	world->made.window.flows = world->flows;
	qsort(world->flows, world->made.window.n_flows, sizeof(*world->flows), flow_order);
	const struct analyzer_in in = {.fabric = world->made.config->fabric,
		.window = &world->made.window,
		.options = options,
		.interval_ns = 10 * NS_PER_S,
		.arena = world->made.arena};
	assert_int_equal(analyzer->run(&in, &world->found), 0);
}

static const struct finding *packets_over(const struct packets_world *world, enum cause cause)
{
	for (size_t i = 0; i < world->found.n; i++)
		if (world->found.v[i].cause == cause && world->found.v[i].verdict == FINDING_OVER)
			return &world->found.v[i];
	return NULL;
}

static void packets_world_init(struct packets_world *world)
{
	memset(world, 0, sizeof(*world));
	window_world_init(&world->made, yaml);
}

static void packets_world_done(struct packets_world *world)
{
	window_world_done(&world->made);
}

/* Host b sends version 1, one stray frame comes from c. */
static void test_rocev1(void **state)
{
	struct packets_world w;
	packets_world_init(&w);
	packets_add(&w, "e2", FLOW_DIR_IN, 0, (struct flow_sample){.packets = 900});
	packets_add(&w, "e2", FLOW_DIR_IN, 0,
		(struct flow_sample){.packets = 400, .octets = 400000, .key.dst_qp = 1});
	packets_add(&w, "e3", FLOW_DIR_IN, 0, (struct flow_sample){.packets = 900});
	packets_add(&w, "e3", FLOW_DIR_IN, 0,
		(struct flow_sample){.packets = 1, .octets = 1000, .key.dst_qp = 1});
	packets_judge(&w);
	const struct finding *f = packets_over(&w, CAUSE_ROCEV1);
	assert_non_null(f);
	assert_string_equal(f->host, "b");
	assert_null(packets_over(&w, CAUSE_CNP_LOST));
	packets_world_done(&w);
}

/* Host a sends to b and c and is marked at both; they answer with CNPs. @arrive of them reach a,
 * whose capture takes one packet in @sampling. */
static const struct finding *packets_cnp_case(
	struct packets_world *w, uint64_t arrive, uint32_t sampling)
{
	packets_world_init(w);
	packets_add(w, "e1", FLOW_DIR_IN, 0,
		(struct flow_sample){.packets = 5000 / sampling, .sampling = sampling});
	packets_add(w, "e1", FLOW_DIR_IN, 1,
		(struct flow_sample){
			.packets = 5000 / sampling, .octets = 20000000, .sampling = sampling});
	packets_add(w, "e1", FLOW_DIR_OUT, 0,
		(struct flow_sample){.packets = 2000, .cnp = arrive, .sampling = sampling});
	for (int i = 0; i < 2; i++) {
		const char *port = i ? "e3" : "e2";
		packets_add(
			w, port, FLOW_DIR_IN, 0, (struct flow_sample){.packets = 3000, .cnp = 200});
		packets_add(
			w, port, FLOW_DIR_OUT, 0, (struct flow_sample){.packets = 5000, .ce = 400});
		packets_add(w, port, FLOW_DIR_OUT, 1,
			(struct flow_sample){.packets = 2500, .ce = 300, .octets = 10000000});
		packets_add(w, port, FLOW_DIR_OUT, 9,
			(struct flow_sample){.packets = 2500, .ce = 100, .octets = 10000000});
	}
	packets_judge(w);
	return packets_over(w, CAUSE_CNP_LOST);
}

/* @qps queue pairs of host a at its port, in three intervals; of the last one @reacts says what it
 * does after CNPs, and the others slow down; @ect of 1,000 data packets each. */
static void packets_qps_case(
	struct packets_world *w, uint32_t qps, enum reaction_verdict reacts, uint64_t ect)
{
	packets_world_init(w);
	for (int interval = 0; interval < 3; interval++) {
		packets_add(w, "e1", FLOW_DIR_IN, 0,
			(struct flow_sample){.packets = 1000 * qps,
				.data_packets = 1000 * qps,
				.data_ect = ect * qps});
		for (uint32_t qp = 1; qp <= qps; qp++)
			packets_add(w, "e1", FLOW_DIR_IN, 1,
				(struct flow_sample){.packets = 1000,
					.data_packets = 1000,
					.data_ect = ect,
					.reacts = qp == qps ? reacts : REACTION_SLOWS_DOWN,
					.key = {.dst = {10, 0, 0, 2}, .dst_qp = 0x100 + qp}});
	}
	packets_judge(w);
}

static void test_one_deaf(void **state)
{
	struct packets_world w;
	packets_qps_case(&w, 8, REACTION_DOES_NOT_SLOW, 1000);
	const struct finding *f = packets_over(&w, CAUSE_DCQCN_OFF);
	assert_non_null(f);
	print_message("%s\n", f->summary);
	assert_string_equal(f->host, "a");
	assert_int_equal(f->n_flows, 1);
	assert_int_equal(f->flows[0].dst_qp, 0x108);
	assert_string_equal(f->flows[0].src, "10.0.0.1");
	packets_world_done(&w);
	packets_qps_case(&w, 8, REACTION_SLOWS_DOWN, 1000);
	assert_null(packets_over(&w, CAUSE_DCQCN_OFF));
	assert_null(packets_over(&w, CAUSE_ECT_MISSING));
	assert_int_equal(w.found.n, 1); /* one word for a port that is well */
	packets_world_done(&w);
}

/* No counter of the port comes: congestion says nothing. */
static void test_no_ect(void **state)
{
	struct packets_world w;
	packets_qps_case(&w, 8, REACTION_TOO_FEW, 24);
	const struct finding *f = packets_over(&w, CAUSE_ECT_MISSING);
	assert_non_null(f);
	print_message("%s\n", f->summary);
	assert_string_equal(f->host, "a");
	assert_int_equal(f->n_flows, 8);
	assert_non_null(strstr(f->summary, "97.6 %"));
	packets_world_done(&w);
	packets_qps_case(&w, 8, REACTION_TOO_FEW, 500);
	assert_null(packets_over(&w, CAUSE_ECT_MISSING));
	packets_world_done(&w);
}

static void test_cnp_lost(void **state)
{
	static const struct {
		uint64_t arrive;
		uint32_t sampling;
		bool lost;
	} cases[] = {
		{0, 1, true}, /* 300 of 400 are expected */
		{290, 1, false}, {100, 1, false}, /* an uneven share */
		{12, 1, true}, {0, 10, true}, /* 30 in the sample */
		{0, 100, false}, /* 3 in the sample: chance */
	};
	for (size_t i = 0; i < rw_countof(cases); i++) {
		struct packets_world w;
		const struct finding *f = packets_cnp_case(&w, cases[i].arrive, cases[i].sampling);
		assert_int_equal(f != NULL, cases[i].lost);
		if (f)
			assert_string_equal(f->host, "a");
		packets_world_done(&w);
	}
}

/* The capture at receiver b says how many of its CNPs went to a: that many should arrive. */
static void test_cnp_lost_by_hosts(void **state)
{
	static const struct {
		uint64_t sent, arrive;
		bool lost;
	} cases[] = {{300, 0, true}, {300, 20, true}, {300, 290, false}, {10, 0, false}};
	for (size_t i = 0; i < rw_countof(cases); i++) {
		struct packets_world w;
		packets_world_init(&w);
		packets_add(&w, "e1", FLOW_DIR_IN, 1,
			(struct flow_sample){.packets = 5000, .octets = 20000000});
		packets_add(&w, "e1", FLOW_DIR_OUT, 0, (struct flow_sample){.packets = 2000});
		packets_add(&w, "e2", FLOW_DIR_OUT, 0, (struct flow_sample){.packets = 5000});
		struct flow_sample hosts[2] = {
			{.entity = packets_entity(&w, "e1"), .reaction = {.cnp = cases[i].arrive}},
			{.entity = packets_entity(&w, "e2"), .reaction = {.cnp = cases[i].sent}}};
		for (size_t k = 0; k < 2; k++) {
			hosts[k].host = true;
			hosts[k].sampling = 1;
			hosts[k].to_ns = 10 * NS_PER_S;
			hosts[k].key.family = 4;
			memcpy(hosts[k].key.src, (const uint8_t[]){10, 0, 0, 1}, 4);
		}
		w.made.window.flow_hosts = hosts;
		w.made.window.n_flow_hosts = 2;
		packets_judge(&w);
		const struct finding *f = packets_over(&w, CAUSE_CNP_LOST);
		assert_int_equal(f != NULL, cases[i].lost);
		packets_world_done(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rocev1),
		cmocka_unit_test(test_one_deaf),
		cmocka_unit_test(test_no_ect),
		cmocka_unit_test(test_cnp_lost),
		cmocka_unit_test(test_cnp_lost_by_hosts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
