/* congestion: the order of ECN and PFC by settings, and the table of signatures. What the signs are
 * read from is held by the golden cases. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "analyzers/detect/congestion_signs.h"
#include "analyzers/measure/ecn_order.h"
#include "db/model/entity.h"
#include "db/model/flow.h"

/* B = 3.931 MB, two inputs: docs/formulas.md gives depths of 437 and 1310 KB. */
static void test_order(void **state)
{
	static const struct {
		const char *what;
		struct ecn_order_in in;
		enum ecn_order want;
		double q_pfc;
	} rows[] = {
		{"alpha 1/16 pauses at 437 KB, Kmin 1048 KB never marks",
			{3.931e6, 0, 1 / 16.0, NAN, 1048e3, 2}, PFC_FIRST, 436.8e3},
		{"Kmin 400 KB is just under", {3.931e6, 0, 1 / 16.0, NAN, 400e3, 2}, ECN_TIGHT,
			436.8e3},
		{"half of it is early enough", {3.931e6, 0, 1 / 16.0, NAN, 218e3, 2}, ECN_FIRST,
			436.8e3},
		{"alpha 1/4 makes room", {3.931e6, 0, 0.25, NAN, 400e3, 2}, ECN_FIRST, 1310.3e3},
		{"what others use is missing", {3.931e6, 1.931e6, 1 / 16.0, NAN, 150e3, 2},
			ECN_TIGHT, 222.2e3},
		{"a static level, three inputs", {NAN, 0, NAN, 100e3, 200e3, 3}, ECN_TIGHT, 300e3},
		{"no inputs told: one", {3.931e6, 0, 1 / 16.0, NAN, 100e3, 0}, ECN_FIRST, 231.2e3},
		{"no pool", {NAN, 0, 1 / 16.0, NAN, 400e3, 2}, ECN_ORDER_UNKNOWN, NAN},
		{"no Kmin", {3.931e6, 0, 1 / 16.0, NAN, NAN, 2}, ECN_ORDER_UNKNOWN, NAN},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		double q = NAN;
		const enum ecn_order got = ecn_order(&rows[i].in, &q);
		if (got != rows[i].want || !isnan(q) != !isnan(rows[i].q_pfc) ||
			fabs(q - rows[i].q_pfc) > 200)
			fail_msg("%s: order %d, PFC at %.0f", rows[i].what, got, q);
		assert_int_equal(ecn_order(&rows[i].in, NULL), rows[i].want);
	}
}

static struct signs signs_of(uint32_t yes, uint32_t no)
{
	return (struct signs){.known = yes | no, .yes = yes};
}

static void test_signatures(void **state)
{
	static const struct {
		const char *what;
		enum suspect_kind kind;
		uint32_t yes, no;
		const char *want;
	} rows[] = {
		{"one host on all rails, receivers are squeezed", SUSPECT_HOST,
			POLICY | LEADS | AHEAD | ALL_RAILS | MARKING | SQUEEZES, FROM_HOST,
			"dcqcn_off"},
		{"... where the site does not use ECN", SUSPECT_HOST,
			LEADS | AHEAD | ALL_RAILS | MARKING | SQUEEZES, POLICY, NULL},
		{"... below a host that pauses the fabric", SUSPECT_HOST,
			POLICY | LEADS | AHEAD | ALL_RAILS | MARKING | SQUEEZES | FROM_HOST, 0,
			NULL},
		{"... on one rail", SUSPECT_HOST, POLICY | LEADS | AHEAD | MARKING | SQUEEZES, 0,
			"dcqcn_off"},
		{"... its uplinks are crowded: one rail proves nothing", SUSPECT_HOST,
			POLICY | LEADS | AHEAD | MARKING | SQUEEZES | SKEWED, 0, NULL},
		{"... a receiver is slow", SUSPECT_HOST,
			POLICY | LEADS | AHEAD | MARKING | SQUEEZES | SLOWER, 0, NULL},
		{"... other inputs of its leaf are paused as much: an incast", SUSPECT_HOST,
			POLICY | LEADS | MARKING | SQUEEZES, AHEAD, NULL},
		{"one host leads, marks flow: a host that reacts may be unlucky", SUSPECT_HOST,
			POLICY | LEADS | AHEAD | MARKING, SQUEEZES | STRONG, NULL},
		{"... and CNPs reach it, as they reach one that reacts", SUSPECT_HOST,
			POLICY | LEADS | AHEAD | MARKING | CNP_REACHES, SQUEEZES | STRONG, NULL},
		{"... it is paused many times as long as any other", SUSPECT_HOST,
			POLICY | LEADS | AHEAD | MARKING | STRONG | RECEIVER_MARKS, SQUEEZES,
			"dcqcn_off"},
		{"... and sends twice as much as its peers", SUSPECT_HOST,
			POLICY | LEADS | AHEAD | MARKING | STRONG | RECEIVER_MARKS | HEAVY,
			SQUEEZES, NULL},
		{"... behind a crowded uplink", SUSPECT_HOST,
			POLICY | LEADS | AHEAD | MARKING | STRONG | RECEIVER_MARKS | SKEWED,
			SQUEEZES | FAR, NULL},
		{"... which others share that are hardly paused", SUSPECT_HOST,
			POLICY | LEADS | AHEAD | MARKING | STRONG | FAR | RECEIVER_MARKS | SKEWED,
			SQUEEZES, "dcqcn_off"},
		{"... and CNPs reach it", SUSPECT_HOST,
			POLICY | LEADS | AHEAD | MARKING | STRONG | CNP_REACHES | SKEWED, FROM_HOST,
			"dcqcn_off"},
		{"marks are not observable: no proof", SUSPECT_HOST,
			POLICY | LEADS | AHEAD | ALL_RAILS | STRONG, 0, NULL},
		{"... but it has a name", SUSPECT_LEADER, POLICY | LEADS | AHEAD | ALL_RAILS, 0,
			"unknown"},
		{"... on one rail", SUSPECT_LEADER, POLICY | LEADS | AHEAD, 0, "unknown"},
		{"... for a moment, and no receiver is squeezed: it reacts", SUSPECT_LEADER,
			POLICY | LEADS | AHEAD | BRIEF, SQUEEZES, NULL},
		{"... marks are observable and absent: that is a setting", SUSPECT_LEADER,
			POLICY | LEADS | AHEAD | FEW_MARKS, MARKING, NULL},
		{"a switch without marks, while a host is proven to ignore them", SUSPECT_SWITCH,
			POLICY | PAUSES | HOSTS_PAUSED | FEW_MARKS | OTHERS_MARK | HOST_PROVEN,
			MARKS_ALIVE, NULL},
		{"data that is not ECT", SUSPECT_NIC, POLICY | NO_ECT, 0, "ect_missing"},
		{"CE that is not answered", SUSPECT_NIC, POLICY | NO_CNP, NO_ECT, "np_off"},
		{"packets in order", SUSPECT_NIC, POLICY | CNP_REACHES, NO_ECT | NO_CNP, NULL},
		{"settings say off", SUSPECT_SWITCH, POLICY | PAUSES | SET_OFF | FEW_MARKS, MARKING,
			"ecn_off"},
		{"off comes before late", SUSPECT_SWITCH,
			POLICY | PAUSES | SET_OFF | LATE | FEW_MARKS, MARKING, "ecn_off"},
		{"settings say late, marks are few", SUSPECT_SWITCH,
			POLICY | PAUSES | LATE | FEW_MARKS, 0, "ecn_late"},
		{"settings say late, marks are many: they come from somewhere", SUSPECT_SWITCH,
			POLICY | PAUSES | LATE | MARKING | MANY_MARKS, FEW_MARKS, NULL},
		{"a counter that never moved, while others do: off, or too late", SUSPECT_SWITCH,
			POLICY | PAUSES | HOSTS_PAUSED | FEW_MARKS | OTHERS_MARK, MARKS_ALIVE,
			"ecn_late"},
		{"... now, and those of others do", SUSPECT_SWITCH,
			POLICY | PAUSES | HOSTS_PAUSED | FEW_MARKS | OTHERS_MARK | MARKS_ALIVE, 0,
			"ecn_late"},
		{"no counter of marks ever moved, and no setting is read", SUSPECT_SWITCH,
			POLICY | PAUSES | HOSTS_PAUSED | FEW_MARKS, MARKS_ALIVE | OTHERS_MARK,
			"ecn_late"},
		{"pause of one host without marks is no setting of the switch", SUSPECT_SWITCH,
			POLICY | PAUSES | HOSTS_PAUSED | FEW_MARKS | MARKS_ALIVE | SINGLED, 0,
			NULL},
		{"early by settings", SUSPECT_SWITCH, POLICY | MANY_MARKS | WIDESPREAD | EARLY,
			PAUSES, "ecn_early"},
		{"early, but it pauses", SUSPECT_SWITCH,
			POLICY | MANY_MARKS | WIDESPREAD | EARLY | PAUSES, 0, NULL},
		{"short pauses need no ECN policy", SUSPECT_SWITCH, PAUSES | SHORT_PAUSES, POLICY,
			"xon_close"},
		{"narrow, hot, even", SUSPECT_GROUP, NARROW | HOT | GROUP_MARKED | HOSTS_PAUSED,
			SKEWED | SLOWER | HELD, "oversubscription"},
		{"narrow, hot, uneven", SUSPECT_GROUP,
			NARROW | HOT | GROUP_MARKED | HOSTS_PAUSED | SKEWED, 0, NULL},
		{"narrow, made to wait by the spines", SUSPECT_GROUP,
			NARROW | HOT | GROUP_MARKED | HOSTS_PAUSED | HELD, 0, NULL},
		{"wide enough", SUSPECT_GROUP, HOT | GROUP_MARKED | HOSTS_PAUSED, NARROW, NULL},
		{"incast", SUSPECT_QUEUE, TO_HOST | SEVERAL_INPUTS | MARKING | MANY_MARKS,
			FROM_HOST, "incast"},
		{"... with a few marks: bursts", SUSPECT_QUEUE, TO_HOST | SEVERAL_INPUTS | MARKING,
			FROM_HOST | MANY_MARKS, NULL},
		{"incast without marks to see", SUSPECT_QUEUE, TO_HOST | SEVERAL_INPUTS | BUSY,
			FROM_HOST, "incast"},
		{"incast of which one input alone is paused", SUSPECT_QUEUE,
			TO_HOST | MANY_MARKS | BUSY | PAUSES, SEVERAL_INPUTS, "incast"},
		{"incast at a slow link is the link's", SUSPECT_QUEUE,
			TO_HOST | SEVERAL_INPUTS | MARKING | SLOWER, 0, NULL},
		{"an uplink in an even group", SUSPECT_QUEUE, SEVERAL_INPUTS | MANY_MARKS,
			TO_HOST | SKEWED, "uplink_overload"},
		{"an uplink in a group of which nothing is known", SUSPECT_QUEUE,
			SEVERAL_INPUTS | MANY_MARKS, TO_HOST, NULL},
		{"narrow and full, nothing else told", SUSPECT_GROUP, NARROW | HOT | FULL, SKEWED,
			"oversubscription"},
		{"... but ECN is silent: well used", SUSPECT_GROUP, NARROW | HOT | FULL | FEW_MARKS,
			SKEWED, NULL},
		{"nothing known", SUSPECT_SWITCH, 0, 0, NULL},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct signs s = signs_of(rows[i].yes, rows[i].no);
		const struct signature *r = signature_match(rows[i].kind, &s);
		if ((r != NULL) != (rows[i].want != NULL) ||
			(r && strcmp(cause_name(r->cause), rows[i].want) != 0))
			fail_msg("%s: %s instead of %s", rows[i].what,
				r ? cause_name(r->cause) : "nothing",
				rows[i].want ? rows[i].want : "nothing");
		if (r)
			assert_true(r->confidence > 0 && r->confidence < 1);
	}
}

/* ---- packets ------------------------------------------------------------- */

static struct flow_sample total(uint32_t entity, enum flow_dir dir, uint32_t sampling,
	uint64_t packets, uint64_t ect, uint64_t ce, uint64_t cnp)
{
	return (struct flow_sample){.entity = entity,
		.dir = dir,
		.sampling = sampling,
		.total = true,
		.packets = packets,
		.octets = packets * 4158,
		.ect = ect,
		.ce = ce,
		.cnp = cnp,
		.to_ns = 1};
}

static void test_packets_of_port(void **state)
{
	struct flow_sample v[] = {total(2, FLOW_DIR_IN, 1, 1, 1, 0, 0),
		total(3, FLOW_DIR_IN, 1, 1000, 900, 50, 10),
		total(3, FLOW_DIR_IN, 1, 1000, 950, 50, 0),
		total(3, FLOW_DIR_OUT, 4000, 500, 400, 100, 7),
		total(3, FLOW_DIR_UNKNOWN, 1, 9, 9, 9, 9), total(4, FLOW_DIR_OUT, 1, 1, 1, 0, 0)};
	const struct window w = {.flows = v, .n_flows = rw_countof(v)};
	const struct port_seen here = {.entity = 3}, nowhere = {.entity = 9},
			       never = {.entity = ENTITY_NONE};
	struct host_packets h;
	assert_false(host_packets(&w, &nowhere, &h));
	assert_false(host_packets(&w, &never, &h));
	assert_true(host_packets(&w, &here, &h));
	assert_true(h.from_known && h.to_known && h.sampled);
	/* CE was ECT once */
	assert_true(h.from_packets == 2000 && h.from_ect == 1950 && h.from_cnp == 10);
	assert_true(h.to_packets == 500 && h.to_ce == 100 && h.to_cnp == 7);
}

static void test_packets(void **state)
{
	static const struct {
		const char *what;
		struct host_packets h;
		int no_ect, no_cnp, reaches;
	} rows[] = {
		{"nothing captured", {0}, -1, -1, -1},
		{"data is ECT",
			{.from_known = true,
				.from_packets = 5000,
				.from_octets = 2e7,
				.from_ect = 4900},
			0, -1, -1},
		{"data is not",
			{.from_known = true,
				.from_packets = 5000,
				.from_octets = 2e7,
				.from_ect = 12},
			1, -1, -1},
		{"too few packets", {.from_known = true, .from_packets = 900, .from_octets = 3.6e6},
			-1, -1, -1},
		{"acknowledgements only",
			{.from_known = true, .from_packets = 5000, .from_octets = 4e5}, -1, -1, -1},
		{"CE without CNP, every packet seen",
			{.from_known = true,
				.to_known = true,
				.from_packets = 500,
				.from_octets = 4e4,
				.to_packets = 9000,
				.to_ce = 150},
			-1, 1, 0},
		{"... sampled: proves nothing",
			{.from_known = true,
				.to_known = true,
				.from_packets = 500,
				.from_octets = 4e4,
				.to_packets = 9000,
				.to_ce = 150,
				.sampled = true},
			-1, -1, 0},
		{"... sampled, and many",
			{.from_known = true,
				.to_known = true,
				.from_packets = 500,
				.from_octets = 4e4,
				.to_packets = 90000,
				.to_ce = 7000,
				.sampled = true},
			-1, 1, 0},
		{"CE is answered",
			{.from_known = true,
				.to_known = true,
				.from_packets = 500,
				.from_octets = 4e4,
				.from_cnp = 3,
				.to_packets = 900,
				.to_ce = 150,
				.to_cnp = 40},
			-1, 0, 1},
		{"one direction only",
			{.to_known = true, .to_packets = 900, .to_ce = 150, .to_cnp = 5}, -1, -1,
			-1},
		{"a stray CNP is not none", {.to_known = true, .to_packets = 9000, .to_cnp = 9}, -1,
			-1, -1},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const int ect = packets_lack_ect(&rows[i].h), cnp = packets_lack_cnp(&rows[i].h),
			  reaches = packets_cnp_reaches(&rows[i].h);
		if (ect != rows[i].no_ect || cnp != rows[i].no_cnp || reaches != rows[i].reaches)
			fail_msg("%s: %d %d %d", rows[i].what, ect, cnp, reaches);
	}
}

/* Packets prove that a host keeps its rate; and that it slows down, whatever its pause looks like.
 */
static void test_reaction_signs(void **state)
{
	struct signs s = {0};
	sign_set(&s, POLICY, true);
	sign_set(&s, KEEPS_RATE, true);
	const struct signature *is = signature_match(SUSPECT_NIC, &s);
	assert_non_null(is);
	assert_int_equal(is->cause, CAUSE_DCQCN_OFF);
	sign_set(&s, KEEPS_RATE, false);
	assert_null(signature_match(SUSPECT_NIC, &s));
	s = (struct signs){0};
	const uint32_t leads = POLICY | LEADS | AHEAD | MARKING | SQUEEZES | ALL_RAILS;
	s.known = s.yes = leads;
	assert_int_equal(signature_match(SUSPECT_HOST, &s)->cause, CAUSE_DCQCN_OFF);
	sign_set(&s, SLOWS_DOWN, true);
	assert_null(signature_match(SUSPECT_HOST, &s));
	assert_null(signature_match(SUSPECT_LEADER, &s));
}

static void test_signs(void **state)
{
	struct signs s = {0};
	sign_set(&s, SLOWER, true);
	assert_true(s.known & s.yes & SLOWER);
	sign_set(&s, SLOWER, false); /* the last word counts */
	assert_true(s.known & SLOWER);
	assert_false(s.yes & SLOWER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_order),
		cmocka_unit_test(test_signatures), cmocka_unit_test(test_signs),
		cmocka_unit_test(test_reaction_signs), cmocka_unit_test(test_packets_of_port),
		cmocka_unit_test(test_packets)};
	return cmocka_run_group_tests_name("congestion", tests, NULL, NULL);
}
