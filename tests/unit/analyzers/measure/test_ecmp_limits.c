/* ecmp_measure: what packets say of a group, the verdict over it and whether anyone waits, at each
 * limit. */
#include "analyzers/measure/ecmp_measure.h"

#include "base/cleanup.h"
#include "analyzers/measure/chance.h"
#include "tests/unit/analyzers/seen_world.h"

/* ---- the verdict ------------------------------------------------------------------ */

enum { MEMBERS = 8 };

static struct ecmp_measure a_measure(struct arena *a, double imbalance, double n_eff)
{
	struct ecmp_measure m = {.members = arena_array(a, struct ecmp_member, MEMBERS),
		.n_members = MEMBERS,
		.n_live = MEMBERS,
		.hashed = true,
		.imbalance_ratio = imbalance,
		.low_ratio = NAN,
		.n_eff = n_eff,
		.chance_limit_ratio = NAN,
		.verdict = ECMP_EVEN};
	return m;
}

static enum ecmp_verdict verdict_of(double imbalance, double n_eff, size_t judged, struct chance *c)
{
	struct arena *a = arena_new();
	struct ecmp_measure m = a_measure(a, imbalance, n_eff);
	ecmp_judge(&m, &(struct ecmp_params){.warn = 0.2}, judged);
	c->p95 = m.expected_p95_ratio;
	c->p999 = m.chance_limit_ratio;
	arena_free(a);
	return m.verdict;
}

/* Four flows a member are enough to fill them evenly; of many groups one is out of luck. */
static void verdicts_at_each_limit(void **state)
{
	struct chance c, at;
	assert_int_equal(verdict_of(0.2, NAN, 1, &c), ECMP_EVEN);
	assert_int_equal(verdict_of(0.2001, NAN, 1, &c), ECMP_SKEWED);
	assert_int_equal(verdict_of(0.5, 31.9, 1, &c), ECMP_LOW_ENTROPY);
	assert_int_equal(verdict_of(0.5, 32, 1, &at), ECMP_WITHIN_CHANCE);
	assert_int_equal(verdict_of(at.p95, 32, 1, &c), ECMP_WITHIN_CHANCE);
	assert_int_equal(verdict_of(at.p95 * 1.0001, 32, 1, &c), ECMP_UNLUCKY);
	assert_int_equal(verdict_of(at.p999 * 1.0001, 32, 1, &c), ECMP_SKEWED);
	assert_int_equal(verdict_of(at.p999 * 1.0001, 32, 100, &c), ECMP_UNLUCKY);
}

/* 700 packets on eight members differ by a tenth of a share, four times that by no luck. */
static void sprayed_members_differ_by_chance(void **state)
{
	static const struct {
		double spread, imbalance, low;
		enum ecmp_verdict verdict;
	} rows[] = {{0.1, 0.499, 0.1, ECMP_EVEN}, {0.1, 0.501, 0.1, ECMP_SKEWED},
		{0.1, 0.1, 0.499, ECMP_EVEN}, {0.1, 0.1, 0.501, ECMP_SKEWED},
		{0, 0.599, 0.1, ECMP_EVEN}, {0, 0.601, 0.1, ECMP_SKEWED}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct arena *a = arena_new();
		struct ecmp_measure m = a_measure(a, rows[i].imbalance, NAN);
		m.even = true;
		m.low_ratio = rows[i].low;
		m.members[0].octets = 700 * 4096;
		m.members[1] = (struct ecmp_member){.link = ECMP_LINK_DOWN, .octets = 1ull << 40};
		ecmp_judge(&m, &(struct ecmp_params){.warn = 0.2, .spread = rows[i].spread}, 1);
		assert_int_equal(m.verdict, rows[i].verdict);
		assert_int_equal(
			ecmp_odd_member(&m), rows[i].low >= rows[i].imbalance ? m.cold : m.hot);
		arena_free(a);
	}
}

/* ---- does anyone wait? -------------------------------------------------------------- */

static void harm_at_each_limit(void **state)
{
	static const struct {
		double hot, edge, marks, others, pause; /* marks of a million packets */
		enum ecmp_harm_level level;
		double loss;
	} rows[] = {
		/* 5 % busier than the edge is noise; more hurts where its queue waits */
		{0.1049, 0.1, 9e4, 0, 0.5, ECMP_HARM_NONE, 0},
		{0.106, 0.1, 5000, 0, 0.001, ECMP_HARM_UNKNOWN, 0},
		{0.106, 0.1, 0, 0, 0.0011, ECMP_HARM_SEEN, 0},
		{0.106, 0.1, 5001, 0, 0, ECMP_HARM_SEEN, 0},
		{0.106, 0.1, 6000, 3000, 0, ECMP_HARM_UNKNOWN, 0},
		{0.106, 0.1, 6001, 3000, 0, ECMP_HARM_SEEN, 0},
		/* without an edge marks and pause decide */
		{0.106, NAN, 0, 0, 0, ECMP_HARM_NONE, 0},
		{0.106, NAN, NAN, 0, 0, ECMP_HARM_UNKNOWN, 0},
		{0.106, NAN, 0, 0, 0.0011, ECMP_HARM_SEEN, 0},
		/* what is lost: beyond the mean of the group and the edge */
		{0.5, 0.1, 0, 0, 0, ECMP_HARM_UNKNOWN, 0.2},
		{0.5, 0.4, 0, 0, 0, ECMP_HARM_UNKNOWN, 0.1},
		{0.5, NAN, 0, 0, 0, ECMP_HARM_NONE, 0.2},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct seen_world w;
		seen_world_init(&w);
		struct ecmp_member members[SPINES] = {{.utilization_ratio = rows[i].hot}};
		const struct ecmp_measure m = {.members = members, .load_ratio = 0.3};
		w.prios[UP(0, 0)].marked.known = !isnan(rows[i].marks);
		w.prios[UP(0, 0)].marked.value = rows[i].marks;
		w.prios[UP(0, 1)].marked.value = rows[i].others;
		w.prios[UP(0, 0)].rx_pause.hi = rows[i].pause;
		const struct ecmp_harm harm = ecmp_harm(&w.o, &w.group[0], &m, rows[i].edge);
		if (harm.level != rows[i].level || fabs(harm.loss_ratio - rows[i].loss) > 1e-9)
			fail_msg("row %zu: %d, %g", i, (int)harm.level, harm.loss_ratio);
		seen_world_done(&w);
	}
}

/* The busiest port to a host, in either direction; a counter artefact is none. */
static void the_edge_of_the_fabric(void **state)
{
	struct seen_world w;
	seen_world_init(&w);
	assert_true(ecmp_edge(&w.o) == 0.1);
	w.ports[UP(0, 0)].out.utilization_ratio = 0.9;
	w.ports[0].out.utilization_ratio = 0.3;
	assert_true(ecmp_edge(&w.o) == 0.3);
	w.ports[1].in.utilization_ratio = 0.4;
	assert_true(ecmp_edge(&w.o) == 0.4);
	w.ports[0].out.quality = w.ports[1].in.quality = QUALITY_SUSPECT;
	assert_true(ecmp_edge(&w.o) == 0.1);
	seen_world_done(&w);
}

/* ---- packets ------------------------------------------------------------------------ */

/* Both uplinks of leaf1 send @flows flows of 1 MB in a window of a minute. */
struct captured_row {
	const char *what;
	double sent; /* octets by the counters, over those captured */
	double second; /* what the second uplink sends, of the first; 0: it was not captured */
	uint32_t sampling;
	uint64_t packets; /* of both */
	double sprayed; /* share */
	unsigned more; /* flows beside those with a name */
	double n_eff; /* NAN: not known */
	const char *note; /* part of it; NULL: none */
};

static const struct captured_row captured_rows[] = {
	{"six flows", 1, 1, 1, 6000, 0, 0, 6, NULL},
	{"few packets, all of them captured", 1, 1, 1, 98, 0, 0, 6, NULL},
	{"a hundred of a sample", 1, 1, 10, 100, 0, 0, 6.38, NULL},
	{"fewer", 1, 1, 10, 98, 0, 0, NAN, "only 98 packets were sampled"},
	{"half of the octets", 2, 1, 1, 6000, 0, 0, 6, NULL},
	{"a little less", 2.01, 1, 1, 6000, 0, 0, NAN, "account for 50 %"},
	{"half is sprayed", 1, 1, 1, 6000, 0.5, 0, 6, NULL},
	{"a little more", 1, 1, 1, 6000, 0.51, 0, NAN, "one by one"},
	{"more flows than names", 1, 1, 1, 6000, 0, 1, 6, NULL},
	{"the second is next to idle", 1, 0.05, 1, 6000, 0, 0, 3, NULL},
	{"it is loaded, and was not captured", 1, 0.06, 1, 6000, 0, 0, NAN,
		"1 of 2 loaded members"},
};

static void member_flows(struct seen_world *w, unsigned s, const struct captured_row *row,
	struct flow_sample *flows, size_t *n)
{
	struct flow_sample f = {.to_ns = 60 * NS_PER_S,
		.entity = entities_intern(w->entities, "leaf1", w->port[UP(0, s)].name, PRIO_NONE),
		.dir = FLOW_DIR_OUT,
		.sampling = row->sampling,
		.burst_bps = 200000000000};
	flows[*n] = f;
	flows[*n].total = true;
	flows[*n].octets = 3000000;
	flows[*n].packets = row->packets / SPINES;
	flows[*n].flows = 3 + row->more;
	flows[*n].sum_sq_octets = 3e12;
	flows[(*n)++].spray_octets = (uint64_t)(3e6 * row->sprayed);
	for (unsigned k = 0; k < 3; k++, (*n)++) {
		flows[*n] = f;
		flows[*n].octets = 1000000;
		flows[*n].key = (struct flow_key){
			.family = 4, .src = {10, 0, (uint8_t)s, (uint8_t)k}, .src_port = 49152};
	}
	/* what enters by the port is none of it */
	flows[*n] = f;
	flows[*n].dir = FLOW_DIR_IN;
	flows[*n].octets = 1u << 30;
	flows[(*n)++].key = (struct flow_key){.family = 4, .src_port = 1};
}

static void packets_at_each_limit(void **state)
{
	for (size_t i = 0; i < rw_countof(captured_rows); i++) {
		const struct captured_row *row = &captured_rows[i];
		struct seen_world w;
		struct flow_sample flows[16];
		seen_world_init(&w);
		const double bps = 3e6 * row->sampling * row->sent * 8 / 60;
		struct ecmp_member members[SPINES] = {
			{.rate_bps = bps, .speed_bps = 400000000000, .burst_ratio = NAN},
			{.rate_bps = bps * row->second, .burst_ratio = NAN}};
		struct ecmp_measure m = {
			.members = members, .n_members = SPINES, .n_live = SPINES, .n_eff = NAN};
		w.window.flows = flows;
		for (unsigned s = 0; s < (row->second < 1 ? 1 : SPINES); s++)
			member_flows(&w, s, row, flows, &w.window.n_flows);
		ecmp_packets(&w.group[0], &w.window, w.a, &m);
		if (isnan(m.n_eff) != isnan(row->n_eff) || fabs(m.n_eff - row->n_eff) > 0.01)
			fail_msg("%s: %g flows, %s", row->what, m.n_eff, m.flows_note);
		if (row->note && !strstr(m.flows_note, row->note))
			fail_msg("%s: %s", row->what, m.flows_note);
		assert_int_equal(m.tuples_more, row->more > 0);
		assert_int_equal(m.only_src_port, 49152);
		assert_int_equal(isnan(members[0].burst_ratio), row->sampling > 1);
		seen_world_done(&w);
	}
}

static void source_ports_that_differ(void **state)
{
	struct seen_world w;
	struct flow_sample flows[16];
	seen_world_init(&w);
	struct ecmp_member members[SPINES] = {{.rate_bps = 1}, {.rate_bps = 1}};
	struct ecmp_measure m = {.members = members, .n_members = SPINES, .n_live = SPINES};
	w.window.flows = flows;
	member_flows(&w, 0, &captured_rows[0], flows, &w.window.n_flows);
	flows[3].key.src_port++;
	ecmp_packets(&w.group[0], &w.window, w.a, &m);
	assert_int_equal(m.only_src_port, 0);
	struct finding_flow *named;
	flows[2].octets = 3000000;
	assert_int_equal(ecmp_flows(&w.group[0], 0, &w.window, w.a, 2, &named), 2);
	assert_true(named[0].octets == 3000000 && named[1].octets == 1000000);
	seen_world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts_at_each_limit),
		cmocka_unit_test(sprayed_members_differ_by_chance),
		cmocka_unit_test(harm_at_each_limit),
		cmocka_unit_test(the_edge_of_the_fabric),
		cmocka_unit_test(packets_at_each_limit),
		cmocka_unit_test(source_ports_that_differ),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
