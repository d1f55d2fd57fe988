/* tune_gate: the rules that make advice safe (docs/tuning.md). Each test begins with a case that
 * is advised, and breaks one rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "analyzers/measure/class_world.h"
#include "analyzers/tune/tune_sheet.h"
#include "analyzers/tune/tune_dose.h"
#include "analyzers/tune/tune_fault.h"
#include "tests/unit/analyzers/tune/tune_world.h"

static int setup(void **state)
{
	static struct tune_world w;
	tune_world_init(&w);
	tune_make_late(&w, 0);
	*state = &w;
	return 0;
}
static int teardown(void **state)
{
	tune_world_done(*state);
	return 0;
}

/* The sheet about leaf1's late marking, whatever it advises. */
static const struct tune_sheet *sheet(struct tune_world *w, const char *cause)
{
	static struct tune_list l;
	assert_int_equal(tune_review(&w->in, &l), 0);
	for (size_t i = 0; i < l.n; i++)
		if (str_eq(l.v[i].diagnosis, cause) && str_eq(l.v[i].device, "leaf1") &&
			l.v[i].advice != ADVICE_FIX_FIRST)
			return &l.v[i];
	fail_msg("no sheet about %s", cause);
	return NULL;
}
static enum tune_advice advice(struct tune_world *w)
{
	return sheet(w, "ecn_late")->advice;
}

static struct tune_incident incident(const char *cause, const char *device, const char *port)
{
	return (struct tune_incident){.id = "aaaabbbb",
		.cause = cause_by_name(cause),
		.device = device,
		.port = port,
		.priority = 3,
		.severity = SEV_WARNING,
		.opened_ns = NOW - HOUR,
		.confidence_ratio = 0.8};
}

static void nothing_forbids_it(void **state)
{
	assert_int_equal(advice(*state), ADVICE_CHANGE);
}

/* ---- 13: the world of the class ------------------------------------------- */

static void make_relative(struct tune_world *w, double kmin, double kmax)
{
	for (unsigned k = 0; k < w->devices[0].n_ports; k++) {
		struct tune_prio *l = &w->prios[0][k];
		l->kmin = l->kmax = NAN;
		l->ecn_relative = 1;
		l->kmin_ratio = kmin;
		l->kmax_ratio = kmax;
	}
}

static bool says_next(const struct tune_sheet *s, const char *part)
{
	for (size_t i = 0; i < s->n_next_steps; i++)
		if (strstr(s->next_steps[i], part))
			return true;
	return false;
}

static bool in_bytes(const struct tune_sheet *s)
{
	return tune_change_of(s, KNOB_KMIN) || tune_change_of(s, KNOB_KMAX);
}

static void relative_ecn_gets_no_bytes(void **state)
{
	struct tune_world *w = *state;
	make_relative(w, 0.9, 1);
	const struct tune_sheet *s = sheet(w, "ecn_late");
	assert_false(in_bytes(s)); /* alpha may go up, which moves PFC away in either mode */
	assert_true(says_next(s, "begin at 45 % of the quota"));
	assert_non_null(strstr(s->world, "ECN mixed")); /* leaf2 has bytes */
	w->seen[0].pool = (struct tune_peak){.max = 15.5e6, .p99 = 15.5e6, .windows = 60};
	s = sheet(w, "ecn_late"); /* no room for alpha */
	assert_int_equal(s->advice, ADVICE_BLOCKED);
	assert_int_equal(s->n_changes, 0);
	assert_non_null(strstr(s->blocked_by, "relative mode"));
}

static void credits_have_no_thresholds(void **state)
{
	struct tune_world *w = *state;
	for (unsigned k = 0; k < w->devices[0].n_ports; k++) {
		w->prios[0][k].cbfc_enabled = 1;
		w->prios[0][k].pfc_enabled = 0;
	}
	const struct tune_sheet *s = sheet(w, "ecn_late");
	assert_int_equal(s->advice, ADVICE_BLOCKED);
	assert_non_null(strstr(s->blocked_by, "credits"));
}

static void a_class_has_its_own_policy(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	w->fabric.classes[3] = (struct fabric_class){
		.given = true, .congestion_given = true, .congestion = CC_UET};
	assert_int_equal(tune_review(&w->in, &l), 0);
	for (size_t i = 0; i < l.n; i++)
		assert_int_equal(l.v[i].n_changes, 0);
	w->fabric.classes[3].congestion = CC_DCQCN;
	assert_int_equal(advice(w), ADVICE_CHANGE);
}

/* Packets that show another transport, where nobody said which there is. */
static void packets_ask_for_a_policy(void **state)
{
	struct tune_world *w = *state;
	struct world_facts told[OBSERVED_PRIORITIES];
	memset(told, 0, sizeof(told));
	for (size_t i = 0; i < OBSERVED_PRIORITIES; i++)
		told[i].pause_frames = told[i].marked = told[i].trimmed = told[i].cnp =
			told[i].srv6 = told[i].spray_ratio = told[i].uet = NAN;
	told[3].uet = 1000;
	w->evidence.told = told;
	assert_int_equal(advice(w), ADVICE_BLOCKED);
	w->fabric.congestion_declared = true; /* somebody said DCQCN: what differs is told */
	const struct tune_sheet *s = sheet(w, "ecn_late");
	assert_int_equal(s->advice, ADVICE_CHANGE);
	assert_int_equal(s->n_differences, 1);
	w->fabric.congestion_declared = false;
	told[3].uet = NAN; /* nothing says what there is: DCQCN is assumed, and the sheet says so */
	s = sheet(w, "ecn_late");
	assert_int_equal(s->advice, ADVICE_CHANGE);
	assert_non_null(strstr(s->world, "congestion control: unknown (DCQCN assumed)"));
}

static void relative_ecn_is_offered_where_it_is(void **state)
{
	static const struct {
		const char *version, *asic, *says;
	} rows[] = {
		{"5.17.0", "Spectrum-4", "traffic-class 3 mode relative"},
		{"Cumulus Linux 6.0", "Spectrum-5", "traffic-class 3 mode relative"},
		{"5.16.1", "Spectrum-4", "from version 5.17 on; this switch runs 5.16.1"},
		{NULL, "Spectrum-4/5", "(from version 5.17 on)"},
		{"5.17.0", NULL, "on Spectrum-4 and later"},
		{"5.17.0", "Spectrum-2/3", NULL},
	};
	const char *globs[] = {"Spectrum-4*", "Spectrum-5*"};
	struct profile_tune profile = {.relative_ecn = {.since = "5.17",
					       .asics = globs,
					       .n_asics = 2,
					       .where = "on Spectrum-4 and later",
					       .text = "set traffic-class {priority} mode relative",
					       .caveat = "Beta"}};
	struct tune_world *w = *state;
	for (int k = 0; k < TUNE_KNOBS; k++)
		profile.knobs[k] = (struct tune_knob_rule){
			.settable = true, .step = 1, .min = -INFINITY, .max = INFINITY};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct tune_asic asic = {.name = rows[i].asic, .cell_bytes = 192};
		w->platforms[0] = (struct tune_platform){
			.profile = &profile, .name = "test", .version = rows[i].version};
		if (rows[i].asic)
			w->platforms[0].asic = &asic;
		const struct tune_sheet *s = sheet(w, "ecn_late");
		const bool offered = says_next(s, "relative ECN");
		if (rows[i].says ? !says_next(s, rows[i].says) : offered)
			fail_msg("%s on %s: %s", rows[i].version, rows[i].asic,
				s->n_next_steps ? s->next_steps[0] : "-");
	}
}

/* The hardware counts whole percents: half of one is none. */
static void a_probability_may_do_nothing(void **state)
{
	struct tune_world *w = *state;
	struct profile_tune profile = {.knobs[KNOB_PMAX] = {.settable = true, .least = 1}};
	struct tune_list l;
	bool told = false;
	w->platforms[0] = (struct tune_platform){.profile = &profile, .name = "test"};
	for (unsigned k = 0; k < w->devices[0].n_ports; k++)
		w->prios[0][k].pmax = 0.005;
	assert_int_equal(tune_review(&w->in, &l), 0);
	for (size_t i = 0; i < l.n; i++)
		told = told ||
			(str_eq(l.v[i].diagnosis, "ecn_off") &&
				strstr(l.v[i].summary, "marks nothing"));
	assert_true(told);
}

/* ---- 1: headroom is given back by a person's word only ------------------- */

static void make_idle_room(struct tune_world *w)
{
	for (unsigned d = 0; d < DEVICES; d++)
		for (unsigned k = 0; k < w->devices[d].n_ports; k++) {
			struct tune_prio *l = &w->prios[d][k];
			l->kmin = 1e6;
			l->kmax = 2e6;
			l->inputs = 4;
			l->tx_unmarked = 0;
			l->marked = 0.02 * l->out_packets;
			l->headroom_bytes = 1000000;
			l->headroom = (struct tune_peak){.max = 100000, .windows = 9000};
			l->queue.max = NAN;
		}
	w->evidence.from_ns = NOW - 8 * 24 * HOUR;
	w->asic = (struct tune_asic){
		.name = "Spectrum-4", .cell_bytes = 192, .headroom = TUNE_HEADROOM_SPECTRUM};
	for (unsigned d = 0; d < DEVICES; d++)
		w->platforms[d].asic = &w->asic;
}

static void less_headroom_needs_a_word_a_cable_and_no_shared_pool(void **state)
{
	struct tune_world *w = *state;
	make_idle_room(w);
	assert_int_equal(sheet(w, "headroom_large")->advice, ADVICE_WATCH);
	w->in.options.allow_reduce = true;
	const struct tune_sheet *s = sheet(w, "headroom_large");
	assert_int_equal(s->advice, ADVICE_CHANGE);
	/* SN5600's 40 m: its longest cable */
	assert_true(s->changes[0].proposed < 1000000 && s->changes[0].proposed >= 283648);
	w->seen[0].shp_ratio = 2;
	assert_int_equal(sheet(w, "headroom_large")->advice, ADVICE_WATCH);
	w->seen[0].shp_ratio = 0;
	w->of[0][1]->cable_mm = 0;
	assert_int_equal(sheet(w, "headroom_large")->advice, ADVICE_WATCH);
	w->of[0][1]->cable_mm = 5000;
	w->prios[0][1].headroom.censored = true;
	w->prios[0][1].headroom.max = 240000;
	struct tune_list l;
	tune_review(&w->in, &l);
	for (size_t i = 0; i < l.n; i++)
		assert_false(
			str_eq(l.v[i].device, "leaf1") && tune_change_of(&l.v[i], KNOB_HEADROOM));
	w->prios[0][1].headroom.censored = false;
	/* the formula does not reproduce its tables: the device's own value is the floor */
	w->platforms[0].asic = NULL;
	assert_int_equal(sheet(w, "headroom_large")->advice, ADVICE_WATCH);
}

static void a_cable_heard_by_lldp_has_no_length(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	w->prios[0][0].pg_drops = 10;
	w->prios[0][0].lost_windows = w->prios[0][0].full_windows = 5;
	w->asic = (struct tune_asic){
		.name = "Spectrum-4", .cell_bytes = 192, .headroom = TUNE_HEADROOM_SPECTRUM};
	w->platforms[0].asic = &w->asic;
	for (unsigned k = 0; k < HOSTS; k++)
		w->of[0][k]->cable_mm = 0;
	w->tports[0][0].cable_m = 300; /* what the switch is configured for is no measure either */
	assert_int_equal(tune_review(&w->in, &l), 0);
	assert_string_equal(l.v[0].diagnosis, "headroom_small");
	assert_true(l.v[0].changes[0].proposed < 126000); /* a quarter more, not 658 KB */
}

/* ---- 2: read-back, programmed state, VOQ --------------------------------- */

static void old_read_back_changes_nothing(void **state)
{
	struct tune_world *w = *state;
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].read_ns = NOW - 25 * HOUR;
	assert_int_equal(advice(w), ADVICE_WATCH);
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].declared = true; /* what was read is still old */
	assert_int_equal(advice(w), ADVICE_WATCH);
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].read_ns = NOW - 23 * HOUR;
	assert_int_equal(advice(w), ADVICE_CHANGE);
}

static void never_read_back_changes_nothing(void **state)
{
	struct tune_world *w = *state;
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].read_ns = 0;
	assert_int_equal(advice(w), ADVICE_WATCH);
}

static void declared_values_lower_the_confidence(void **state)
{
	struct tune_world *w = *state;
	const double sure = sheet(w, "ecn_late")->confidence_ratio;
	for (unsigned k = 0; k < LEAF_PORTS; k++) {
		w->prios[0][k].read_ns = 0;
		w->prios[0][k].declared = true;
	}
	assert_int_equal(advice(w), ADVICE_CHANGE);
	assert_true(sheet(w, "ecn_late")->confidence_ratio < 0.9 * sure);
}

static void voq_chips_get_no_advice(void **state)
{
	struct tune_world *w = *state;
	w->profile.voq = true;
	w->platforms[0].profile = &w->profile;
	assert_int_equal(advice(w), ADVICE_BLOCKED);
	w->profile.voq = false;
	w->platforms[0].profile = NULL;
	w->asic.voq = true;
	w->platforms[0].asic = &w->asic;
	assert_int_equal(advice(w), ADVICE_BLOCKED);
}

/* ---- 7: expiry, incidents, storms, coverage ------------------------------ */

static void an_open_incident_blocks(void **state)
{
	struct tune_world *w = *state;
	struct tune_incident v = incident("slow_receiver", "leaf1", "Ethernet3");
	w->in.incidents = &v;
	w->in.n_incidents = 1;
	assert_int_equal(advice(w), ADVICE_BLOCKED);
	assert_string_equal(sheet(w, "ecn_late")->blocked_by, "aaaabbbb");
	assert_int_equal(sheet(w, "ecn_late")->n_changes, 0);
	v.closed_ns = NOW - 1;
	assert_int_equal(advice(w), ADVICE_CHANGE);
	v.closed_ns = 0;
	v.severity = SEV_INFO; /* it harms nobody */
	assert_int_equal(advice(w), ADVICE_CHANGE);
	v.severity = SEV_WARNING;
	v.cause = CAUSE_ECN_LATE; /* the diagnosis itself */
	assert_int_equal(advice(w), ADVICE_CHANGE);
}

static void an_incident_elsewhere_blocks_only_in_the_same_pause_tree(void **state)
{
	struct tune_world *w = *state;
	struct tune_incident v = incident("link_errors", "spine1", "Ethernet1");
	w->in.incidents = &v;
	w->in.n_incidents = 1;
	v.port = NULL;
	assert_int_equal(advice(w), ADVICE_CHANGE); /* no pause between leaf1 and the spine */
	w->prios[0][HOSTS].rx_pause_hi = 0.01;
	assert_int_equal(advice(w), ADVICE_BLOCKED);
	v.device = v.port = NULL; /* where it is is not told */
	w->prios[0][HOSTS].rx_pause_hi = 0;
	assert_int_equal(advice(w), ADVICE_BLOCKED);
	v.device = "leaf2";
	v.priority = 3;
	assert_int_equal(advice(w), ADVICE_CHANGE);
	v.cause = CAUSE_DCQCN_OFF; /* presses on its receivers' queues wherever they are */
	assert_int_equal(advice(w), ADVICE_BLOCKED);
}

static void a_link_that_is_down_is_repaired_before_its_pod_is_judged(void **state)
{
	struct tune_world *w = *state;
	struct tune_incident v = incident("path_asymmetry", "leaf2", NULL);
	w->in.incidents = &v;
	w->in.n_incidents = 1;
	v.severity = SEV_INFO; /* it is a fact, however little it costs */
	assert_int_equal(advice(w), ADVICE_BLOCKED);
	w->in.n_incidents = 0;
	w->tports[1][HOSTS].down_now = true; /* no incident yet */
	assert_int_equal(advice(w), ADVICE_BLOCKED);
	w->tports[1][HOSTS].down_now = false;
	assert_int_equal(advice(w), ADVICE_CHANGE);
	w->tports[1][0].down_now = true; /* a host's own link carries nobody else's share */
	assert_int_equal(advice(w), ADVICE_CHANGE);
}

static void loss_does_not_wait_for_a_host(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	struct tune_incident v = incident("dcqcn_off", "leaf2", "Ethernet1");
	w->prios[0][0].pg_drops = 10;
	w->prios[0][0].lost_windows = w->prios[0][0].full_windows = 5;
	w->in.incidents = &v;
	w->in.n_incidents = 1;
	assert_int_equal(tune_review(&w->in, &l), 0);
	assert_string_equal(l.v[0].diagnosis, "headroom_small");
	assert_int_equal(l.v[0].advice, ADVICE_CHANGE);
}

static void lose_frames(struct tune_world *w)
{
	w->prios[0][0].pg_drops = 10;
	w->prios[0][0].lost_windows = w->prios[0][0].full_windows = 5;
}

static void loss_does_not_wait_for_luck_of_the_hash(void **state)
{
	struct tune_world *w = *state;
	struct tune_incident v = incident("ecmp_imbalance", "leaf1", NULL);
	v.group = "uplinks";
	lose_frames(w);
	w->in.incidents = &v;
	w->in.n_incidents = 1;
	assert_int_equal(sheet(w, "headroom_small")->advice, ADVICE_CHANGE);
	v.cause = cause_by_name("ecmp_low_entropy");
	assert_int_equal(sheet(w, "headroom_small")->advice, ADVICE_CHANGE);
	v.cause = cause_by_name("path_asymmetry");
	assert_int_equal(sheet(w, "headroom_small")->advice, ADVICE_CHANGE);
	/* what makes its size or its diagnosis wrong */
	v.cause = cause_by_name("link_errors");
	assert_int_equal(sheet(w, "headroom_small")->advice, ADVICE_BLOCKED);
	v.cause = cause_by_name("mtu_mismatch");
	assert_int_equal(sheet(w, "headroom_small")->advice, ADVICE_BLOCKED);
	w->in.n_incidents = 0;
	/* another alpha than the others have is no reason; PFC that is off is */
	w->prios[0][1].alpha = 1.0 / 4;
	assert_int_equal(sheet(w, "headroom_small")->advice, ADVICE_CHANGE);
	w->prios[0][1].alpha = w->prios[0][0].alpha;
	w->prios[0][1].pfc_enabled = 0;
	assert_int_equal(sheet(w, "headroom_small")->advice, ADVICE_BLOCKED);
}

/* Kmin above the depth at which PFC fires is late on every path; with Kmin just too high an even
 * hash could be all that lacks. A missing path is no luck. */
static void marks_that_are_late_on_every_path_do_not_wait_for_it(void **state)
{
	struct tune_world *w = *state;
	struct tune_incident v = incident("ecmp_imbalance", "leaf1", NULL);
	w->in.incidents = &v;
	w->in.n_incidents = 1;
	assert_int_equal(advice(w), ADVICE_CHANGE);
	v.cause = cause_by_name("ecmp_low_entropy");
	assert_int_equal(advice(w), ADVICE_CHANGE);
	v.cause = cause_by_name("path_asymmetry");
	assert_int_equal(advice(w), ADVICE_BLOCKED);
	v.cause = cause_by_name("ecmp_imbalance");
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].kmin = 2.5e6;
	assert_int_equal(advice(w), ADVICE_BLOCKED);
}

/* A tier stays of one kind: what waits for a repair is in the sheet, last, with the reason. */
static void a_blocked_switch_follows_last(void **state)
{
	struct tune_world *w = *state;
	bool named = false;
	tune_make_late(w, 1);
	w->seen[1].restarts = 1;
	w->seen[1].pool_bytes *= 0.95; /* longer cables, more headroom: the same tier */
	const struct tune_sheet *s = sheet(w, "ecn_late");
	assert_int_equal(s->advice, ADVICE_CHANGE);
	assert_int_equal(s->n_rest, 1);
	assert_string_equal(s->rest[0], "leaf2");
	for (size_t i = 0; i < s->n_next_steps; i++)
		named = named || strstr(s->next_steps[i], "leaf2 comes last");
	assert_true(named);
	w->seen[1].pool_bytes /= 4; /* another chip */
	s = sheet(w, "ecn_late");
	assert_int_equal(s->n_rest, 0);
}

static void profiles_wait_for_loss_that_cannot_be_treated_yet(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	struct tune_incident v = incident("link_errors", "leaf2", NULL);
	for (unsigned k = 0; k < LEAF_PORTS; k++) {
		w->prios[0][k].pg_drops = 0;
		w->prios[1][k].alpha = 1.0 / 8;
	}
	w->prios[1][0].pg_drops = 10;
	w->prios[1][0].lost_windows = w->prios[1][0].full_windows = 5;
	tune_pause(&w->prios[1][0], 0.05);
	w->in.incidents = &v;
	w->in.n_incidents = 1;
	assert_int_equal(tune_review(&w->in, &l), 0);
	for (size_t i = 0; i < l.n; i++)
		assert_int_not_equal(l.v[i].advice, ADVICE_CHANGE);
	assert_non_null(strstr(sheet(w, "ecn_late")->blocked_by, "leaf2, which comes first"));
}

static void two_sheets_of_headroom_that_ended_nothing_are_enough(void **state)
{
	struct tune_world *w = *state;
	static const char *rest[] = {"leaf1"};
	struct tune_past v[2] = {{.id = "ccccdddd",
					 .device = "leaf1",
					 .priority = 3,
					 .knobs = 1u << KNOB_HEADROOM,
					 .applied_ns = NOW - 30 * HOUR,
					 .verified = true},
		{.id = "eeeeffff",
			.device = "leaf2",
			.rest = rest,
			.n_rest = 1,
			.priority = 3,
			.knobs = 1u << KNOB_HEADROOM | 1u << KNOB_ALPHA,
			.applied_ns = NOW - 26 * HOUR,
			.verified = true}};
	lose_frames(w);
	w->in.past = v;
	w->in.n_past = 1;
	assert_int_equal(sheet(w, "headroom_small")->advice, ADVICE_CHANGE);
	w->in.n_past = 2;
	const struct tune_sheet *s = sheet(w, "headroom_small");
	assert_int_equal(s->advice, ADVICE_BLOCKED);
	assert_non_null(strstr(s->blocked_by, "ccccdddd, eeeeffff"));
	assert_non_null(strstr(s->blocked_by, "not what is missing"));
	v[1].undone = true; /* it is not in force */
	assert_int_equal(sheet(w, "headroom_small")->advice, ADVICE_CHANGE);
	v[1].undone = false;
	v[1].knobs = 1u << KNOB_ALPHA;
	assert_int_equal(sheet(w, "headroom_small")->advice, ADVICE_CHANGE);
	v[1].knobs = 1u << KNOB_HEADROOM;
	v[1].priority = 4; /* for frames of another class */
	assert_int_equal(sheet(w, "headroom_small")->advice, ADVICE_CHANGE);
	v[1].priority = 3;
	assert_int_equal(sheet(w, "headroom_small")->advice, ADVICE_BLOCKED);
	v[0].applied_ns = NOW - 15 * 24 * HOUR; /* another story */
	assert_int_equal(sheet(w, "headroom_small")->advice, ADVICE_CHANGE);
}

static void a_host_is_found_by_its_port(void **state)
{
	struct tune_world *w = *state;
	struct tune_incident v = incident("slow_receiver", NULL, NULL);
	v.host = "node-002";
	w->in.incidents = &v;
	w->in.n_incidents = 1;
	assert_int_equal(advice(w), ADVICE_BLOCKED);
	v.host = "node-005"; /* at leaf2 */
	assert_int_equal(advice(w), ADVICE_CHANGE);
}

static void late_marking_explains_a_host_that_seems_not_to_slow_down(void **state)
{
	struct tune_world *w = *state;
	struct tune_incident v = incident("dcqcn_off", "leaf1", "Ethernet1");
	w->in.incidents = &v;
	w->in.n_incidents = 1;
	/* leaf1 marks nothing: it cannot be known whether the host would slow down */
	assert_int_equal(advice(w), ADVICE_CHANGE);
	/* leaf2's settings are in order: there it is known */
	v.device = "leaf2";
	assert_int_equal(advice(w), ADVICE_BLOCKED);
}

static void unrest_blocks(void **state)
{
	struct tune_world *w = *state;
	w->tports[0][2].flaps = 1;
	assert_int_equal(advice(w), ADVICE_BLOCKED);
	w->tports[0][2].flaps = 0;
	w->tports[0][2].storms = 1; /* one is enough */
	assert_int_equal(advice(w), ADVICE_BLOCKED);
	w->tports[0][2].storms = 0;
	w->seen[0].restarts = 1; /* an upgrade looks like this */
	assert_int_equal(advice(w), ADVICE_BLOCKED);
}

static void coverage_of_94_percent_is_watched(void **state)
{
	struct tune_world *w = *state;
	w->seen[0].coverage_ratio = 0.94;
	assert_int_equal(advice(w), ADVICE_WATCH);
	assert_true(sheet(w, "ecn_late")->n_collect > 0);
	w->seen[0].coverage_ratio = 1;
	w->evidence.coverage_ratio = 0.94;
	assert_int_equal(advice(w), ADVICE_WATCH);
}

static void sheets_live_three_days_on_one_basis(void **state)
{
	struct tune_world *w = *state;
	const struct tune_sheet *s = sheet(w, "ecn_late");
	const uint64_t basis = s->basis;
	assert_int_equal(s->expires_ns - s->made_ns, 72 * HOUR);
	assert_int_equal(sheet(w, "ecn_late")->basis, basis);
	w->prios[1][2].kmax += 1; /* another read-back anywhere */
	assert_int_not_equal(tune_basis(&w->in), basis);
	w->prios[1][2].kmax -= 1;
	assert_int_equal(tune_basis(&w->in), basis);
	w->platforms[0].version = "202511"; /* another OS */
	assert_int_not_equal(tune_basis(&w->in), basis);
	w->platforms[0].version = NULL;
	w->of[0][0]->cable_mm = 7000; /* another topology */
	assert_int_not_equal(tune_basis(&w->in), basis);
}

/* ---- 8: never ------------------------------------------------------------ */

static void other_policies_get_no_thresholds(void **state)
{
	static const enum congestion_policy others[] = {
		CC_ECN_ONLY, CC_RTT, CC_RECEIVER_DRIVEN, CC_PFC_ONLY};
	struct tune_world *w = *state;
	struct tune_list l;
	w->prios[0][0].pg_drops = 10;
	w->prios[0][0].lost_windows = w->prios[0][0].full_windows = 5;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		w->fabric.congestion = others[i];
		assert_int_equal(tune_review(&w->in, &l), 0);
		assert_true(l.n > 0);
		/* where pause is the brake its room is advised, and nothing of marks */
		const bool pauses = others[i] == CC_PFC_ONLY;
		for (size_t k = 0; k < l.n; k++)
			for (size_t m = 0; m < l.v[k].n_changes; m++)
				assert_true(pauses && l.v[k].changes[m].knob == KNOB_HEADROOM);
		assert_int_equal(l.v[0].advice, pauses ? ADVICE_CHANGE : ADVICE_BLOCKED);
	}
}

static void kmin_is_never_zero(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	for (double pool = 1e3; pool < 1e9; pool *= 3)
		for (double kmin = 1; kmin < 1e9; kmin *= 7) {
			w->seen[0].pool_bytes = pool;
			for (unsigned k = 0; k < LEAF_PORTS; k++) {
				w->prios[0][k].kmin = kmin;
				w->prios[0][k].kmax = 2 * kmin;
			}
			assert_int_equal(tune_review(&w->in, &l), 0);
			for (size_t i = 0; i < l.n; i++) {
				const struct tune_change *lo = tune_change_of(&l.v[i], KNOB_KMIN),
							 *hi = tune_change_of(&l.v[i], KNOB_KMAX);
				assert_true(!lo || lo->proposed >= 500000);
				assert_true(!hi || hi->proposed > (lo ? lo->proposed : kmin));
			}
		}
}

/* Whatever a dose came to: the last gate sees the values themselves. */
static void no_value_of_zero_passes(void **state)
{
	static const double never[] = {0, -1, NAN, INFINITY};
	struct tune_world *w = *state;
	struct tune_case c;
	struct tune_plan plan;
	struct tune_verdict verdict;
	tune_diagnose(&w->in, &c);
	tune_dose(&c, &c.sites[0], &plan);
	assert_true(c.sites[0].device == &w->seen[0] && plan.n_changes > 0);
	tune_gate(&plan, &verdict);
	assert_int_equal(verdict.advice, ADVICE_CHANGE);
	for (size_t i = 0; i < rw_countof(never); i++) {
		plan.changes[0].proposed = never[i];
		tune_gate(&plan, &verdict);
		assert_int_equal(verdict.advice, ADVICE_BLOCKED);
		assert_int_equal(verdict.rule, 8);
	}
	plan.n_changes = 0; /* nothing to change is no change */
	tune_gate(&plan, &verdict);
	assert_int_equal(verdict.advice, ADVICE_NONE);
}

/* ---- 0: bounds of the decision table ------------------------------------- */

static void one_change_at_a_time(void **state)
{
	struct tune_world *w = *state;
	struct tune_past v = {.id = "ccccdddd",
		.device = "leaf1",
		.priority = 3,
		.knobs = 1 << KNOB_ALPHA,
		.applied_ns = NOW - 2 * HOUR};
	w->in.past = &v;
	w->in.n_past = 1;
	assert_int_equal(advice(w), ADVICE_BLOCKED);
	assert_string_equal(sheet(w, "ecn_late")->blocked_by, "ccccdddd");
	v.verified = true;
	assert_int_equal(advice(w), ADVICE_CHANGE);
	v.verified = false;
	v.applied_ns = NOW - 25 * HOUR;
	assert_int_equal(advice(w), ADVICE_CHANGE);
	v.applied_ns = NOW - HOUR;
	assert_int_equal(advice(w), ADVICE_BLOCKED);
	v.priority = 4; /* another class of the same switch */
	assert_int_equal(advice(w), ADVICE_CHANGE);
	v.priority = PRIO_NONE; /* of all of them */
	assert_int_equal(advice(w), ADVICE_BLOCKED);
	v.priority = 3;
	v.device = "leaf2";
	assert_int_equal(advice(w), ADVICE_CHANGE);
}

static void little_history_is_watched(void **state)
{
	struct tune_world *w = *state;
	w->evidence.from_ns = NOW - HOUR / 2;
	assert_int_equal(advice(w), ADVICE_WATCH);
	w->evidence.from_ns = NOW - 24 * HOUR;
	/* a threshold was changed half an hour ago: nothing from before counts */
	w->seen[0].since_ns = NOW - HOUR / 2;
	assert_int_equal(advice(w), ADVICE_WATCH);
}

static void two_windows_of_five_are_not_enough(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	w->prios[0][0].pg_drops = 10;
	w->prios[0][0].lost_windows = w->prios[0][0].full_windows = 2;
	w->prios[0][0].recent_tx = w->prios[0][1].recent_tx = 0x03;
	assert_int_equal(tune_review(&w->in, &l), 0);
	assert_string_equal(l.v[0].diagnosis, "headroom_small");
	assert_int_equal(l.v[0].advice, ADVICE_WATCH);
	w->in.incidents = &(struct tune_incident){.id = "aaaabbbb",
		.cause = CAUSE_HEADROOM_SMALL,
		.device = "leaf1",
		.priority = 3,
		.severity = SEV_CRITICAL,
		.opened_ns = NOW - HOUR};
	w->in.n_incidents = 1; /* an incident has held long enough to be opened */
	assert_int_equal(tune_review(&w->in, &l), 0);
	assert_int_equal(l.v[0].advice, ADVICE_CHANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(relative_ecn_gets_no_bytes),
		T(credits_have_no_thresholds),
		T(a_class_has_its_own_policy),
		T(packets_ask_for_a_policy),
		T(relative_ecn_is_offered_where_it_is),
		T(a_probability_may_do_nothing),
		T(nothing_forbids_it),
		T(less_headroom_needs_a_word_a_cable_and_no_shared_pool),
		T(a_cable_heard_by_lldp_has_no_length),
		T(old_read_back_changes_nothing),
		T(never_read_back_changes_nothing),
		T(declared_values_lower_the_confidence),
		T(voq_chips_get_no_advice),
		T(an_open_incident_blocks),
		T(an_incident_elsewhere_blocks_only_in_the_same_pause_tree),
		T(a_link_that_is_down_is_repaired_before_its_pod_is_judged),
		T(loss_does_not_wait_for_a_host),
		T(loss_does_not_wait_for_luck_of_the_hash),
		T(marks_that_are_late_on_every_path_do_not_wait_for_it),
		T(a_blocked_switch_follows_last),
		T(profiles_wait_for_loss_that_cannot_be_treated_yet),
		T(two_sheets_of_headroom_that_ended_nothing_are_enough),
		T(a_host_is_found_by_its_port),
		T(late_marking_explains_a_host_that_seems_not_to_slow_down),
		T(unrest_blocks),
		T(coverage_of_94_percent_is_watched),
		T(sheets_live_three_days_on_one_basis),
		T(other_policies_get_no_thresholds),
		T(kmin_is_never_zero),
		T(no_value_of_zero_passes),
		T(one_change_at_a_time),
		T(little_history_is_watched),
		T(two_windows_of_five_are_not_enough),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
