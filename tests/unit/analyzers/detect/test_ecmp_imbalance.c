/* ecmp_imbalance: one leaf, windows made by hand, one row a story. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "analyzers/analyzer.h"
#include "analyzers/measure/ecmp_measure.h"

#define G 1000000000ull
#define MEMBERS 8
#define POLLS 7 /* 0, 10 .. 60 s */

/* ---- a leaf and its window ----------------------------------------------- */

struct world {
	struct arena *arena;
	struct entities *entities;
	struct fabric fabric;
	struct fabric_device leaf, spine[MEMBERS], *devices[1];
	struct fabric_port port[MEMBERS], peer[MEMBERS], *members[MEMBERS], *ports[MEMBERS];
	struct fabric_group group;
	struct series series[MEMBERS * 4];
	struct flow_sample flows[4096];
	struct window window;
	struct ecmp_options options;
	struct finding_list findings;
};

static void world_init(struct world *w, size_t n, uint64_t declared_bps)
{
	memset(w, 0, sizeof(*w));
	w->arena = arena_new();
	w->entities = entities_new();
	w->leaf = (struct fabric_device){.name = "leaf1",
		.role = ROLE_LEAF,
		.ports = w->ports,
		.n_ports = n,
		.groups = &w->group,
		.n_groups = 1};
	w->devices[0] = &w->leaf;
	w->fabric = (struct fabric){.name = "test", .devices = w->devices, .n_devices = 1};
	for (size_t i = 0; i < n; i++) {
		w->spine[i] =
			(struct fabric_device){.name = arena_printf(w->arena, "spine%zu", i + 1)};
		w->peer[i] = (struct fabric_port){.name = "Ethernet1", .device = &w->spine[i]};
		w->port[i] =
			(struct fabric_port){.name = arena_printf(w->arena, "Ethernet%zu", 49 + i),
				.device = &w->leaf,
				.alias = "",
				.peer = &w->peer[i],
				.speed_bps = declared_bps};
		w->members[i] = w->ports[i] = &w->port[i];
		entities_intern(w->entities, "leaf1", w->port[i].name, PRIO_NONE);
	}
	w->group = (struct fabric_group){.id = "uplinks",
		.device = &w->leaf,
		.members = w->members,
		.n_members = n,
		.lb = LB_STATIC};
	w->window = (struct window){.from_ns = 0,
		.to_ns = 60 * NS_PER_S,
		.entities = w->entities,
		.series = w->series,
		.flows = w->flows};
	options_defaults(&analyzer_by_name("ecmp_imbalance")->options, w->arena, &w->options);
}

static void world_done(struct world *w)
{
	entities_free(w->entities);
	arena_free(w->arena);
}

static uint32_t port_entity(const struct world *w, size_t i)
{
	return entities_find(w->entities, "leaf1", w->port[i].name, PRIO_NONE);
}

static void add_series(struct world *w, size_t i, unsigned metric, size_t n, const uint64_t *v)
{
	int64_t *t = arena_array(w->arena, int64_t, n);
	uint64_t *value = arena_array(w->arena, uint64_t, n);
	uint16_t *flags = arena_array(w->arena, uint16_t, n);
	uint32_t *window_ms = arena_array(w->arena, uint32_t, n);
	for (size_t k = 0; k < n; k++) {
		t[k] = (int64_t)k * 10 * NS_PER_S;
		value[k] = v[k];
	}
	struct series s = {.entity = port_entity(w, i),
		.metric = (uint16_t)metric,
		.n = (uint32_t)n,
		.t_ns = t,
		.value = value,
		.flags = flags,
		.window_ms = window_ms};
	size_t at = w->window.n_series++;
	while (at > 0 &&
		(w->series[at - 1].metric > s.metric ||
			(w->series[at - 1].metric == s.metric &&
				w->series[at - 1].entity > s.entity))) {
		w->series[at] = w->series[at - 1];
		at--;
	}
	w->series[at] = s;
}

/* Member @i sends at @utilization of @line_bps all along. */
static void send_at(struct world *w, size_t i, double utilization, uint64_t line_bps)
{
	uint64_t v[POLLS];
	for (size_t k = 0; k < POLLS; k++)
		v[k] = 1000 + (uint64_t)(utilization * (double)line_bps / 8 * 10 * (double)k);
	add_series(w, i, M_PORT_OUT_OCTETS, POLLS, v);
}

static void read_state(struct world *w, size_t i, unsigned metric, uint64_t v)
{
	add_series(w, i, metric, 1, &v);
}

/* @n equal flows leave member @i, all along, @octets each; one total row and the top rows per 10 s.
 */
static void capture(
	struct world *w, size_t i, unsigned n, double octets, uint32_t sampling, uint64_t burst_bps)
{
	for (int k = 0; k < 6; k++) {
		struct flow_sample base = {.from_ns = k * 10 * NS_PER_S,
			.to_ns = (k + 1) * 10 * NS_PER_S,
			.entity = port_entity(w, i),
			.sampling = sampling,
			.dir = FLOW_DIR_OUT,
			.burst_bps = sampling > 1 ? 0 : burst_bps};
		double each = octets / 6 / sampling;
		struct flow_sample t = base;
		t.total = true;
		t.flows = n;
		t.octets = (uint64_t)(each * n);
		t.packets = t.octets / 1000;
		t.sum_sq_octets = each * each * n;
		w->flows[w->window.n_flows++] = t;
		for (unsigned f = 0; f < n && f < FLOW_TOP; f++) {
			struct flow_sample s = base;
			s.key = (struct flow_key){.family = 4,
				.src = {10, 0, 0, 1},
				.dst = {10, 0, 1, 1},
				.src_port = (uint16_t)(49152 + i * 1000 + f),
				.dst_qp = 0x100 + f};
			s.octets = (uint64_t)each;
			s.packets = s.octets / 1000;
			w->flows[w->window.n_flows++] = s;
		}
	}
}

static const struct finding *judge(struct world *w)
{
	struct analyzer_in in = {.fabric = &w->fabric,
		.window = &w->window,
		.options = &w->options,
		.interval_ns = 10 * NS_PER_S,
		.arena = w->arena};
	w->findings = (struct finding_list){0};
	assert_int_equal(analyzer_by_name("ecmp_imbalance")->run(&in, &w->findings), 0);
	assert_int_equal(w->findings.n, 1);
	return &w->findings.v[0];
}

static double evidence_of(const struct finding *f, const char *metric)
{
	for (size_t i = 0; i < f->n_evidence; i++)
		if (str_eq(f->evidence[i].metric, metric))
			return f->evidence[i].value;
	return NAN;
}

static bool says(const char *const *v, size_t n, const char *what)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(v[i], what))
			return true;
	return false;
}

static bool reasons_say(const struct finding *f, const char *what)
{
	for (size_t k = 0; k < f->n_reasons; k++)
		if (says(&f->reasons[k].text, 1, what))
			return true;
	return false;
}

static void near(const char *what, double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%s: got %.6f, expected %.6f +- %g", what, got, want, tolerance);
}

/* ---- stories ------------------------------------------------------------- */

struct story {
	const char *what;
	size_t n;
	double load[MEMBERS];
	unsigned flows[MEMBERS]; /* captured, per member; all 0 = no capture */
	double burst; /* share of line of the hot member's highest 1 ms */
	enum finding_verdict verdict;
	const char *cause;
	enum severity severity;
	const char *member;
};

static const struct story stories[] = {
	{"even", 4, {.50, .51, .49, .50}, {0}, 0, FINDING_UNDER, "ecmp_imbalance", SEV_INFO, NULL},
	{"19.8 % is below 20 %", 4, {.71, .55, .57, .54}, {0}, 0, FINDING_UNDER, "ecmp_imbalance",
		SEV_INFO, NULL},
	{"idle", 4, {.04, .01, .01, .01}, {0}, 0, FINDING_IDLE, "ecmp_imbalance", SEV_INFO, NULL},
	{"uneven, no packets", 4, {.20, .80, .20, .20}, {0}, 0, FINDING_OVER, "ecmp_imbalance",
		SEV_WARNING, "Ethernet50"},
	{"uneven, no packets, full on the mean", 4, {.20, .95, .20, .20}, {0}, 0, FINDING_OVER,
		"ecmp_imbalance", SEV_CRITICAL, "Ethernet50"},
	{"nearly half above the mean, full: not critical yet", 4, {.5335, .95, .5335, .5335}, {0},
		0, FINDING_OVER, "ecmp_imbalance", SEV_WARNING, "Ethernet50"},
	{"more than half above it", 4, {.52, .95, .52, .52}, {0}, 0, FINDING_OVER, "ecmp_imbalance",
		SEV_CRITICAL, "Ethernet50"},
	{"16 flows on one of two", 2, {.60, .001}, {16, 0}, 0.95, FINDING_OVER, "ecmp_imbalance",
		SEV_CRITICAL, "Ethernet49"},
	{"4 flows on one of two is luck", 2, {.60, .001}, {4, 0}, 0.95, FINDING_OVER,
		"ecmp_low_entropy", SEV_CRITICAL, "Ethernet49"},
	{"32 flows, 4:12:8:8", 4, {.12, .36, .24, .24}, {4, 12, 8, 8}, 0.7, FINDING_OVER,
		"unlucky_placement", SEV_WARNING, "Ethernet50"},
	{"the same, never half full", 4, {.12, .36, .24, .24}, {4, 12, 8, 8}, 0.4, FINDING_OVER,
		"unlucky_placement", SEV_INFO, "Ethernet50"},
	{"192 flows, 24:96:36:36", 4, {.12, .48, .18, .18}, {24, 96, 36, 36}, 0.7, FINDING_OVER,
		"ecmp_imbalance", SEV_WARNING, "Ethernet50"},
};

/* Queue pairs that vary their source port by packet: chance of a hash has no say, and the group
 * must be even. */
static void sprayed_packets_have_no_chance(void **state)
{
	struct world w;
	world_init(&w, 2, 400 * G);
	for (size_t i = 0; i < 2; i++) {
		send_at(&w, i, i ? 0.15 : 0.45, 400 * G);
		capture(&w, i, 2, (i ? 0.15 : 0.45) * 400e9 / 8 * 60 / 2, 1,
			(uint64_t)(0.7 * 400e9));
	}
	const struct finding *f = judge(&w);
	assert_int_equal(f->cause, CAUSE_ECMP_LOW_ENTROPY);
	for (size_t i = 0; i < w.window.n_flows; i++)
		if (w.flows[i].total)
			w.flows[i].spray_octets = w.flows[i].octets * 9 / 10;
	f = judge(&w);
	assert_int_equal(f->cause, CAUSE_ECMP_IMBALANCE);
	assert_true(reasons_say(f, "spraying"));
	assert_false(says(f->ruled_out, f->n_ruled_out, "faulty hash"));
	world_done(&w);
}

static void all_stories(void **state)
{
	for (size_t s = 0; s < rw_countof(stories); s++) {
		const struct story *t = &stories[s];
		struct world w;
		world_init(&w, t->n, 400 * G);
		for (size_t i = 0; i < t->n; i++) {
			send_at(&w, i, t->load[i], 400 * G);
			if (t->flows[i])
				capture(&w, i, t->flows[i],
					t->load[i] * 400e9 / 8 * 60 / t->flows[i], 1,
					(uint64_t)(t->burst * 400e9));
		}
		const struct finding *f = judge(&w);
		if (f->verdict != t->verdict)
			fail_msg("%s: verdict %s: %s", t->what, finding_verdict_name(f->verdict),
				f->summary);
		if (!str_eq(cause_name(f->cause), t->cause))
			fail_msg("%s: cause %s: %s", t->what, cause_name(f->cause), f->summary);
		if (f->severity != t->severity)
			fail_msg("%s: severity %s: %s", t->what, severity_name(f->severity),
				f->summary);
		if (!str_eq(f->member, t->member))
			fail_msg("%s: member %s", t->what, f->member ? f->member : "(none)");
		if (f->verdict == FINDING_OVER) {
			assert_true(f->n_evidence > 0 && f->n_next_steps > 0 && f->n_reasons > 0);
			assert_true(f->confidence_ratio > 0 && f->confidence_ratio <= 1);
			assert_int_equal(f->hold, 3);
		}
		world_done(&w);
	}
}

static void the_measures(void **state)
{
	struct world w;
	world_init(&w, 4, 400 * G);
	static const double load[] = {.71, .55, .57, .54};
	for (size_t i = 0; i < 4; i++)
		send_at(&w, i, load[i], 400 * G);
	struct ecmp_params p = {
		.warn = .2, .load_floor = .05, .min_coverage = .75, .interval_ns = 10 * NS_PER_S};
	struct ecmp_measure *m;
	assert_int_equal(ecmp_measure_all(&w.fabric, &w.window, &p, w.arena, &m), 1);
	near("max/mean-1", m->imbalance_ratio, 0.198, 0.001);
	near("(max-min)/mean", m->max_minus_min_ratio, 0.287, 0.001);
	near("CoV", m->cov_ratio, 0.116, 0.001);
	near("Jain", m->jain_ratio,
		(2.37 * 2.37) / (4 * (.71 * .71 + .55 * .55 + .57 * .57 + .54 * .54)), 1e-6);
	near("load", m->load_ratio, 0.5925, 1e-6);
	assert_true(isnan(m->n_eff) && isnan(m->expected_ratio) && m->flows == 0);
	world_done(&w);
}

/* Rounding must not make the greatest of equal loads less than their mean. */
static void equal_loads_are_never_below_the_mean(void **state)
{
	const struct ecmp_params p = {
		.warn = .2, .load_floor = .05, .min_coverage = .75, .interval_ns = 10 * NS_PER_S};
	for (int k = 10; k < 74; k++) {
		struct world w;
		struct ecmp_measure *m;
		world_init(&w, MEMBERS, 400 * G);
		for (size_t i = 0; i < MEMBERS; i++)
			send_at(&w, i, k / 77.0, 400 * G);
		assert_int_equal(ecmp_measure_all(&w.fabric, &w.window, &p, w.arena, &m), 1);
		assert_int_equal(m->verdict, ECMP_EVEN);
		if (!(m->imbalance_ratio >= 0) || m->imbalance_ratio > 1e-12)
			fail_msg("load %d/77: max/mean-1 is %g", k, m->imbalance_ratio);
		world_done(&w);
	}
}

static void weighed_by_capacity(void **state)
{
	struct world w;
	world_init(&w, 2, 400 * G);
	read_state(&w, 1, M_PORT_SPEED_BPS, 100 * G); /* came up slow */
	send_at(&w, 0, .60, 400 * G);
	send_at(&w, 1, .60, 100 * G);
	const struct finding *f = judge(&w);
	assert_int_equal(f->verdict, FINDING_UNDER);
	near("even for what they can carry", f->value, 0, 1e-6);
	world_done(&w);

	world_init(&w, 2, 0); /* no speed at all */
	send_at(&w, 0, .60, 400 * G);
	send_at(&w, 1, .20, 400 * G);
	f = judge(&w);
	assert_int_equal(f->verdict, FINDING_OVER);
	near("alike", f->value, 0.5, 1e-6);
	assert_true(isnan(f->loss_ratio));
	assert_true(reasons_say(f, "weigh the same"));
	world_done(&w);
}

static void missing_is_unknown(void **state)
{
	struct world w;
	world_init(&w, 3, 400 * G);
	send_at(&w, 0, .60, 400 * G);
	send_at(&w, 1, .10, 400 * G);
	const struct finding *f = judge(&w); /* Ethernet51 never answered */
	assert_int_equal(f->verdict, FINDING_UNKNOWN);
	assert_non_null(strstr(f->summary, "Ethernet51"));
	assert_true(isnan(f->value));
	world_done(&w);
}

/* 5 % of 400G, or of 1G where no speed is known: idle; a little more is not. */
static void idle_at_the_floor(void **state)
{
	for (int row = 0; row < 4; row++) {
		struct world w;
		const uint64_t line_bps = row < 2 ? 400 * G : G;
		world_init(&w, 2, row < 2 ? line_bps : 0);
		for (size_t i = 0; i < 2; i++)
			send_at(&w, i, row % 2 ? 0.0501 : 0.05, line_bps);
		assert_int_equal(judge(&w)->verdict, row % 2 ? FINDING_UNDER : FINDING_IDLE);
		world_done(&w);
	}
}

static void down_is_a_missing_path(void **state)
{
	struct world w;
	world_init(&w, 3, 400 * G);
	send_at(&w, 0, .60, 400 * G);
	send_at(&w, 1, .20, 400 * G);
	send_at(&w, 2, 0, 400 * G);
	read_state(&w, 2, M_PORT_OPER_UP, 0);
	const struct finding *f = judge(&w);
	assert_int_equal(f->verdict, FINDING_OVER);
	near("over the two that are up", f->value, 0.5, 1e-6);
	near("evidence", evidence_of(f, "port.oper_up"), 0, 0);
	assert_non_null(strstr(f->summary, "missing path: Ethernet51"));
	assert_false(says(f->ruled_out, f->n_ruled_out, "missing path"));
	world_done(&w);
}

static void cached_counters_are_widened(void **state)
{
	/* The agent refreshes each 30 s and is polled each 10 s: the jump looks like 1.8 x line
	 * rate. */
	struct world w;
	world_init(&w, 2, 400 * G);
	uint64_t step = (uint64_t)(.60 * 400e9 / 8 * 30);
	add_series(
		&w, 0, M_PORT_OUT_OCTETS, POLLS, (uint64_t[]){0, 0, 0, step, step, step, 2 * step});
	send_at(&w, 1, .20, 400 * G);
	const struct finding *f = judge(&w);
	assert_int_equal(f->verdict, FINDING_OVER);
	assert_string_equal(f->member, "Ethernet49");
	near("the mean over the run", f->value, 0.5, 1e-6);
	world_done(&w);

	/* Faster than its line all along: suspect, and still the hot one. */
	world_init(&w, 2, 400 * G);
	send_at(&w, 0, 1.5, 400 * G);
	send_at(&w, 1, .20, 400 * G);
	f = judge(&w);
	assert_int_equal(f->verdict, FINDING_OVER);
	assert_string_equal(f->member, "Ethernet49");
	assert_true(reasons_say(f, "suspect"));
	assert_true(f->confidence_ratio < 0.3);
	world_done(&w);
}

static void flows_are_named(void **state)
{
	struct world w;
	world_init(&w, 2, 400 * G);
	send_at(&w, 0, .60, 400 * G);
	send_at(&w, 1, .001, 400 * G);
	capture(&w, 0, 16, .60 * 400e9 / 8 * 60 / 16, 1, 380 * G);
	const struct finding *f = judge(&w);
	assert_int_equal(f->n_flows, 16);
	assert_string_equal(f->flows[0].src, "10.0.0.1");
	assert_string_equal(f->flows[0].dst, "10.0.1.1");
	assert_string_equal(f->flows[0].port, "Ethernet49");
	assert_int_equal(f->flows[0].src_port, 49152);
	assert_int_equal(f->flows[0].dst_qp, 0x100);
	near("the six intervals add up", (double)f->flows[0].octets, .60 * 400e9 / 8 * 60 / 16, 10);
	near("effective flows", evidence_of(f, "ecmp.flows_effective"), 16, 1e-3);
	near("chance", evidence_of(f, "ecmp.chance_probability"), pow(2, -15), 1e-9);
	near("waiting", f->loss_ratio, .60 - .3005, 1e-6);
	world_done(&w);
}

/* Four queue pairs share each source port: the hash cannot tell them apart, so there are 4 things
 * to place and not 16. */
static void tuples_are_not_flows(void **state)
{
	struct world w;
	world_init(&w, 2, 400 * G);
	send_at(&w, 0, .60, 400 * G);
	send_at(&w, 1, .001, 400 * G);
	double each = .60 * 400e9 / 8 * 60 / 16;
	capture(&w, 0, 16, each, 1, 380 * G);
	for (size_t i = 0; i < w.window.n_flows; i++) {
		struct flow_sample *f = &w.flows[i];
		if (f->total)
			f->sum_sq_octets = 4 * pow(4 * each / 6, 2);
		else
			f->key.src_port = (uint16_t)(49152 + f->key.dst_qp % 4);
	}
	const struct finding *f = judge(&w);
	near("effective flows", evidence_of(f, "ecmp.flows_effective"), 4, 1e-3);
	assert_int_equal(f->cause, CAUSE_ECMP_LOW_ENTROPY);
	assert_true(reasons_say(f, "16 flows (5-tuple and QP) on 4 5-tuples, 4 effective flows"));
	world_done(&w);

	/* more flows than rows: what is not named is not counted as something else */
	world_init(&w, 2, 400 * G);
	send_at(&w, 0, .60, 400 * G);
	send_at(&w, 1, .001, 400 * G);
	capture(&w, 0, 100, .60 * 400e9 / 8 * 60 / 100, 1, 0);
	f = judge(&w);
	assert_true(reasons_say(f, "100 flows (5-tuple and QP) on 64 or more 5-tuples"));
	world_done(&w);
}

static void many_flows_beyond_the_top(void **state)
{
	struct world w;
	world_init(&w, 2, 400 * G);
	send_at(&w, 0, .40, 400 * G);
	send_at(&w, 1, .40, 400 * G);
	capture(&w, 0, 500, .40 * 400e9 / 8 * 60 / 500, 1, 0);
	capture(&w, 1, 500, .40 * 400e9 / 8 * 60 / 500, 1, 0);
	near("64 listed, 1000 there", evidence_of(judge(&w), "ecmp.flows_effective"), 1000, 5);
	world_done(&w);
}

static void sampled_captures(void **state)
{
	struct world w;
	world_init(&w, 2, 400 * G);
	send_at(&w, 0, .60, 400 * G);
	send_at(&w, 1, .30, 400 * G);
	capture(&w, 0, 20, .60 * 400e9 / 8 * 60 / 20, 4000, 0);
	capture(&w, 1, 10, .30 * 400e9 / 8 * 60 / 10, 4000, 0);
	const struct finding *f = judge(&w);
	near("scaled", evidence_of(f, "ecmp.flows_effective"), 30, 0.5);
	assert_true(isnan(evidence_of(f, "port.burst_utilization_ratio")));
	assert_true(reasons_say(f, "sampled 1 in 4000"));
	world_done(&w);
}

static void no_default_for_flows(void **state)
{
	static const struct {
		const char *what, *note;
		unsigned flows[2];
		double share;
		uint32_t sampling;
	} notes[] = {
		{"no capture", "no packets", {0, 0}, 1, 1},
		{"only the hot member captured", "1 of 2 loaded members", {8, 0}, 1, 1},
		{"mostly other traffic", "account for 10 %", {8, 4}, .1, 1},
		{"too few samples", "packets were sampled", {8, 4}, 1, 100000},
	};
	for (size_t i = 0; i < rw_countof(notes); i++) {
		struct world w;
		world_init(&w, 2, 1 * G);
		static const double load[] = {.60, .30};
		for (size_t k = 0; k < 2; k++) {
			send_at(&w, k, load[k], 1 * G);
			if (notes[i].flows[k])
				capture(&w, k, notes[i].flows[k],
					notes[i].share * load[k] * 1e9 / 8 * 60 / notes[i].flows[k],
					notes[i].sampling, 0);
		}
		const struct finding *f = judge(&w);
		if (f->verdict != FINDING_OVER || !isnan(evidence_of(f, "ecmp.flows_effective")) ||
			!reasons_say(f, notes[i].note))
			fail_msg("%s: %s / %s", notes[i].what, f->summary,
				f->n_reasons > 1 ? f->reasons[1].text : "");
		near(notes[i].what, f->confidence_ratio, 0.5, 0.001);
		world_done(&w);
	}
}

static void other_balancing_has_no_chance(void **state)
{
	struct world w;
	world_init(&w, 2, 400 * G);
	w.group.lb = LB_FLOWLET;
	send_at(&w, 0, .60, 400 * G);
	send_at(&w, 1, .001, 400 * G);
	capture(&w, 0, 4, .60 * 400e9 / 8 * 60 / 4, 1, 380 * G);
	const struct finding *f = judge(&w);
	assert_int_equal(f->cause, CAUSE_ECMP_IMBALANCE);
	assert_true(isnan(evidence_of(f, "ecmp.expected_ratio")));
	assert_true(reasons_say(f, "no chance baseline"));
	world_done(&w);
}

/* Where packets are spread one by one, a member that carries less is a fault, however even a hash
 * would be allowed to be; a member that is dead is told although no other carries much more. */
static void spraying_must_be_even(void **state)
{
	static const struct {
		const char *name;
		double load[8];
		enum finding_verdict verdict;
		enum severity severity;
		const char *member;
	} rows[] = {
		{"even", {.40, .40, .40, .40, .40, .40, .40, .40}, FINDING_UNDER, SEV_INFO, NULL},
		{"1 % is chance of counters", {.40, .404, .40, .396, .40, .40, .40, .40},
			FINDING_UNDER, SEV_INFO, NULL},
		{"one carries half", {.40, .40, .40, .20, .40, .40, .40, .40}, FINDING_OVER,
			SEV_WARNING, "Ethernet52"},
		{"one carries 5 % less: few flows may do that",
			{.40, .40, .40, .38, .40, .40, .40, .40}, FINDING_UNDER, SEV_INFO, NULL},
		{"one carries 15 % less", {.40, .40, .40, .34, .40, .40, .40, .40}, FINDING_OVER,
			SEV_INFO, "Ethernet52"},
		{"one is dead", {.40, .40, .40, .0001, .40, .40, .40, .40}, FINDING_OVER,
			SEV_WARNING, "Ethernet52"},
	};
	for (size_t k = 0; k < rw_countof(rows); k++) {
		struct world w;
		world_init(&w, 8, 400 * G);
		w.group.lb = LB_PACKET;
		for (size_t i = 0; i < 8; i++)
			send_at(&w, i, rows[k].load[i], 400 * G);
		const struct finding *f = judge(&w);
		if (f->verdict != rows[k].verdict ||
			(rows[k].member &&
				(strcmp(f->member, rows[k].member) != 0 ||
					f->severity != rows[k].severity)))
			fail_msg("%s: %d %s %s", rows[k].name, (int)f->verdict,
				f->member ? f->member : "-", f->summary);
		world_done(&w);
	}
}

static void source_routed_is_not_judged(void **state)
{
	struct world w;
	world_init(&w, 2, 400 * G);
	w.group.lb = LB_SOURCE_ROUTED;
	send_at(&w, 0, .60, 400 * G);
	send_at(&w, 1, .001, 400 * G);
	const struct finding *f = judge(&w);
	assert_int_equal(f->verdict, FINDING_UNDER);
	assert_non_null(strstr(f->summary, "source routed"));
	world_done(&w);
}

static void many_groups_are_corrected(void **state)
{
	struct world w;
	world_init(&w, 2, 400 * G);
	send_at(&w, 0, .60, 400 * G);
	send_at(&w, 1, .001, 400 * G);
	capture(&w, 0, 12, .60 * 400e9 / 8 * 60 / 12, 1, 380 * G);
	struct ecmp_params p = {
		.warn = .2, .load_floor = .05, .min_coverage = .75, .interval_ns = 10 * NS_PER_S};
	struct ecmp_measure one, many;
	ecmp_measure(&w.group, &w.window, &p, w.arena, &one);
	many = one;
	ecmp_judge(&one, &p, 1);
	ecmp_judge(&many, &p, 1000);
	assert_int_equal(one.verdict, ECMP_SKEWED); /* 2^-11 < 1/1000 */
	assert_int_equal(many.verdict, ECMP_UNLUCKY); /* but not among a thousand groups */
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_stories),
		cmocka_unit_test(sprayed_packets_have_no_chance),
		cmocka_unit_test(spraying_must_be_even),
		cmocka_unit_test(source_routed_is_not_judged),
		cmocka_unit_test(the_measures),
		cmocka_unit_test(equal_loads_are_never_below_the_mean),
		cmocka_unit_test(weighed_by_capacity),
		cmocka_unit_test(missing_is_unknown),
		cmocka_unit_test(idle_at_the_floor),
		cmocka_unit_test(down_is_a_missing_path),
		cmocka_unit_test(cached_counters_are_widened),
		cmocka_unit_test(flows_are_named),
		cmocka_unit_test(tuples_are_not_flows),
		cmocka_unit_test(many_flows_beyond_the_top),
		cmocka_unit_test(sampled_captures),
		cmocka_unit_test(no_default_for_flows),
		cmocka_unit_test(other_balancing_has_no_chance),
		cmocka_unit_test(many_groups_are_corrected),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
