/* packets: RoCE version 1, CNPs that leave the receivers and do not arrive, queue pairs that do not
 * slow down, and data without ECT, at each limit. */
#include "base/cleanup.h"
#include "db/model/flow.h"
#include "tests/unit/analyzers/seen_world.h"

struct captured {
	struct seen_world w;
	struct flow_sample flows[96], hosts[2];
	struct {
		int64_t frames, window_ns, hold;
	} options;
	struct finding_list found;
};

static void captured_init(struct captured *c)
{
	memset(c, 0, sizeof(*c));
	seen_world_init(&c->w);
	c->options.frames = 10;
	c->w.window.flows = c->flows;
	c->w.window.flow_hosts = c->hosts;
	c->w.in.options = &c->options;
}

/* A row of the capture at the port of node-@port; of all of it, or of one queue pair from host
 * 10.0.0.@from to QP 0x100 + @to of 10.0.0.@to. */
static struct flow_sample *captured_add(
	struct captured *c, unsigned port, enum flow_dir dir, uint8_t from, uint8_t to)
{
	struct flow_sample *flow = &c->flows[c->w.window.n_flows++];
	*flow = (struct flow_sample){.entity = HOST(port - 1) + 1,
		.dir = (uint8_t)dir,
		.sampling = 1,
		.total = !from,
		.to_ns = 10 * NS_PER_S};
	if (from)
		flow->key = (struct flow_key){.family = 4,
			.src = {10, 0, 0, from},
			.dst = {10, 0, 0, to},
			.dst_qp = 0x100u + to};
	return flow;
}

/* One word for each port that was captured. */
static const struct finding *captured_judge(struct captured *c, size_t ports, enum cause cause)
{
	const struct finding *over = NULL;
	qsort(c->flows, c->w.window.n_flows, sizeof(*c->flows), flow_order);
	assert_int_equal(analyzer_by_name("packets")->run(&c->w.in, &c->found), 0);
	assert_int_equal(c->found.n, ports);
	for (size_t i = 0; i < c->found.n; i++)
		if (c->found.v[i].verdict == FINDING_OVER) {
			assert_int_equal(c->found.v[i].cause, cause);
			assert_string_equal(c->found.v[i].host, "node-1");
			over = &c->found.v[i];
		}
	return over;
}

static void version_1_from_the_limit_on(void **state)
{
	static const struct {
		uint64_t from, to;
		const char *says; /* NULL: nothing */
	} rows[] = {
		{9, 0, NULL}, {10, 0, "gets from its host"}, {0, 10, "carries"}, {5, 5, "carries"}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct captured c;
		captured_init(&c);
		captured_add(&c, 1, FLOW_DIR_IN, 0, 0)->packets = 900;
		for (int out = 0; out < 2; out++) {
			struct flow_sample *v1 =
				captured_add(&c, 1, out ? FLOW_DIR_OUT : FLOW_DIR_IN, 0, 0);
			v1->total = false;
			v1->packets = out ? rows[i].to : rows[i].from;
		}
		const struct finding *f = captured_judge(&c, 1, CAUSE_ROCEV1);
		assert_int_equal(f != NULL, rows[i].says != NULL);
		if (f)
			assert_non_null(strstr(f->summary, rows[i].says));
		seen_world_done(&c.w);
	}
}

/* node-1 sends to node-2, which is marked by @marked packets of it and 400 in all, and answers by
 * @cnp CNPs; @arrive come to node-1, whose capture heard @heard packets. */
static void cnps_that_are_expected(void **state)
{
	static const struct {
		uint64_t cnp, marked, arrive, heard;
		/* one packet in so many; of a second capture at the sender */
		uint32_t receiver, sender, sender_too;
		enum flow_dir dir; /* of the capture at the sender */
		bool lost;
	} rows[] = {
		/* from twenty on, and as many as it marked */
		{20, 400, 0, 100, 1, 1, 1, FLOW_DIR_OUT, true},
		{19, 400, 0, 100, 1, 1, 1, FLOW_DIR_OUT, false},
		{80, 100, 0, 100, 1, 1, 1, FLOW_DIR_OUT, true},
		{79, 100, 0, 100, 1, 1, 1, FLOW_DIR_OUT, false},
		/* a fifth arrives */
		{100, 400, 19, 100, 1, 1, 1, FLOW_DIR_OUT, true},
		{100, 400, 20, 100, 1, 1, 1, FLOW_DIR_OUT, false},
		/* the sender's capture hears what comes to it */
		{20, 400, 0, 99, 1, 1, 1, FLOW_DIR_OUT, false},
		{20, 400, 0, 100, 1, 1, 1, FLOW_DIR_UNKNOWN, true},
		{20, 400, 0, 99, 1, 1, 1, FLOW_DIR_UNKNOWN, false},
		/* samples; of two captures the coarser one */
		{2, 400, 0, 100, 10, 1, 1, FLOW_DIR_OUT, true},
		{200, 400, 0, 100, 1, 10, 10, FLOW_DIR_OUT, true},
		{199, 400, 0, 100, 1, 10, 1, FLOW_DIR_OUT, false},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct captured c;
		captured_init(&c);
		const bool out = rows[i].dir == FLOW_DIR_OUT;
		captured_add(&c, 1, FLOW_DIR_IN, 0, 0)->packets = 1000;
		captured_add(&c, 1, FLOW_DIR_IN, 1, 2)->octets = 1000000;
		struct flow_sample *heard;
		if (out)
			heard = captured_add(&c, 1, rows[i].dir, 0, 0);
		else
			heard = captured_add(&c, 1, rows[i].dir, 2, 1);
		heard->packets = rows[i].heard;
		heard->cnp = rows[i].arrive;
		heard->sampling = rows[i].sender;
		captured_add(&c, 1, FLOW_DIR_IN, 1, 3)->sampling = rows[i].sender_too;
		captured_add(&c, 2, FLOW_DIR_IN, 0, 0)->cnp = rows[i].cnp;
		captured_add(&c, 2, FLOW_DIR_OUT, 0, 0)->ce = 400;
		captured_add(&c, 2, FLOW_DIR_OUT, 1, 2)->ce = rows[i].marked;
		for (size_t k = 0; k < c.w.window.n_flows; k++)
			if (c.flows[k].entity == HOST(1) + 1)
				c.flows[k].sampling = rows[i].receiver;
		if ((captured_judge(&c, 2, CAUSE_CNP_LOST) != NULL) != rows[i].lost)
			fail_msg("row %zu", i);
		seen_world_done(&c.w);
	}
}

/* The capture at the receiver says how many of its CNPs went to node-1: that many should arrive. */
static void cnps_by_the_rows_of_hosts(void **state)
{
	static const struct {
		uint64_t sent, arrive;
		uint32_t sender; /* one packet in so many */
		bool lost;
	} rows[] = {{20, 0, 1, true}, {19, 0, 1, false}, {300, 59, 1, true}, {300, 60, 1, false},
		{200, 0, 10, true}, {199, 0, 10, false}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct captured c;
		captured_init(&c);
		captured_add(&c, 1, FLOW_DIR_IN, 1, 2)->octets = 1000000;
		struct flow_sample *heard = captured_add(&c, 1, FLOW_DIR_OUT, 0, 0);
		heard->packets = 2000;
		heard->sampling = rows[i].sender;
		captured_add(&c, 2, FLOW_DIR_OUT, 0, 0)->packets = 5000;
		for (unsigned k = 0; k < 2; k++)
			c.hosts[k] = (struct flow_sample){.entity = HOST(k) + 1,
				.host = true,
				.sampling = 1,
				.to_ns = 10 * NS_PER_S,
				.key = {.family = 4, .src = {10, 0, 0, 1}},
				.reaction = {.cnp = k ? rows[i].sent : rows[i].arrive}};
		c.w.window.n_flow_hosts = 2;
		if ((captured_judge(&c, 2, CAUSE_CNP_LOST) != NULL) != rows[i].lost)
			fail_msg("row %zu", i);
		seen_world_done(&c.w);
	}
}

/* @n queue pairs did not slow down in @deaf intervals, and once did where @slowed; another one
 * always slows down. */
static void queue_pairs_that_are_deaf(void **state)
{
	static const struct {
		unsigned n, deaf;
		bool slowed;
		size_t named; /* 0: nothing */
	} rows[] = {{1, 1, false, 0}, {1, 2, false, 1}, {1, 2, true, 0}, {2, 1, false, 0},
		{16, 2, false, 16}, {17, 2, false, 16}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct captured c;
		captured_init(&c);
		captured_add(&c, 1, FLOW_DIR_IN, 0, 0)->packets = 1000;
		struct flow_sample *fine = captured_add(&c, 1, FLOW_DIR_IN, 1, 99);
		fine->reacts = REACTION_SLOWS_DOWN;
		fine->key.dst[3] = 2; /* one host is sent to by all of them */
		for (unsigned k = 0; k < rows[i].n * rows[i].deaf; k++) {
			struct flow_sample *qp =
				captured_add(&c, 1, FLOW_DIR_IN, 1, (uint8_t)(2 + k % rows[i].n));
			qp->reacts = REACTION_DOES_NOT_SLOW;
			qp->octets = 100;
			qp->key.dst[3] = 2;
		}
		if (rows[i].slowed)
			captured_add(&c, 1, FLOW_DIR_IN, 1, 2)->reacts = REACTION_SLOWS_DOWN;
		const struct finding *f = captured_judge(&c, 1, CAUSE_DCQCN_OFF);
		assert_int_equal(f ? f->n_flows : 0, rows[i].named);
		if (f) {
			assert_true(f->value == rows[i].n && f->flows[0].octets == 200);
			assert_string_equal(f->flows[0].src, "10.0.0.1");
			assert_int_equal(f->flows[0].dst_qp, 0x102);
		}
		seen_world_done(&c.w);
	}
}

/* Congestion says so where counters of the port come. */
static void data_without_ect(void **state)
{
	static const struct {
		uint64_t data, ect;
		bool counted, over;
	} rows[] = {{1000, 99, false, true}, {1000, 100, false, false}, {999, 0, false, false},
		{1000, 99, true, false}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct captured c;
		captured_init(&c);
		c.w.ports[0].in_known = c.w.ports[0].out_known = rows[i].counted;
		struct flow_sample *all = captured_add(&c, 1, FLOW_DIR_IN, 0, 0);
		all->data_packets = rows[i].data;
		all->data_ect = rows[i].ect;
		for (uint8_t to = 2; to < 4; to++)
			captured_add(&c, 1, FLOW_DIR_IN, 1, to)->data_packets = 100;
		c.flows[2].data_ect = 10; /* 10.0.0.3 is sent a tenth with ECT */
		const struct finding *f = captured_judge(&c, 1, CAUSE_ECT_MISSING);
		assert_int_equal(f != NULL, rows[i].over);
		if (f) {
			assert_int_equal(f->n_flows, 1);
			assert_non_null(strstr(f->summary, "90.1 %"));
		}
		seen_world_done(&c.w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_1_from_the_limit_on),
		cmocka_unit_test(cnps_that_are_expected),
		cmocka_unit_test(cnps_by_the_rows_of_hosts),
		cmocka_unit_test(queue_pairs_that_are_deaf),
		cmocka_unit_test(data_without_ect),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
