/* What bounds a dose, asked of the functions that bound it: each case is one limit, with values on
 * both sides of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "analyzers/tune/tune_dose.h"
#include "analyzers/tune/tune_dose_alpha.h"
#include "analyzers/tune/tune_fault.h"
#include "analyzers/tune/tune_headroom_need.h"
#include "config/fabric.h"
#include "tests/unit/analyzers/tune/tune_world.h"

static int setup(void **state)
{
	static struct tune_world w;
	tune_world_init(&w);
	*state = &w;
	return 0;
}
static int teardown(void **state)
{
	tune_world_done(*state);
	return 0;
}

static void set_all(struct tune_world *w, double kmin, double kmax, double alpha)
{
	for (unsigned k = 0; k < LEAF_PORTS; k++) {
		w->prios[0][k].kmin = kmin;
		w->prios[0][k].kmax = kmax;
		w->prios[0][k].alpha = alpha;
	}
}

static struct tune_case tune_case;

/* The plan of one family for leaf1, whatever its signs are. */
static struct tune_plan plan_of(struct tune_world *w, enum tune_family family)
{
	struct tune_plan plan = {0};
	const struct tune_rule *rule = NULL;
	tune_diagnose(&w->in, &tune_case);
	for (size_t i = 0; i < tune_n_rules && !rule; i++)
		if (tune_rules[i].family == family)
			rule = &tune_rules[i];
	for (size_t i = 0; i < tune_case.n_sites; i++)
		if (tune_case.sites[i].device == &w->seen[0]) {
			tune_dose_as(&tune_case, &tune_case.sites[i], rule, &plan);
			return plan;
		}
	fail_msg("leaf1 has no site");
	return plan;
}

static const struct tune_change *plan_change_of(const struct tune_plan *plan, enum tune_knob knob)
{
	for (size_t i = 0; i < plan->n_changes; i++)
		if (plan->changes[i].knob == knob)
			return &plan->changes[i];
	return NULL;
}

static const struct tune_check *check_of(const struct tune_plan *plan, const char *text)
{
	for (size_t i = 0; i < plan->n_checks; i++)
		if (strstr(plan->checks[i].text, text))
			return &plan->checks[i];
	fail_msg("no check '%s'", text);
	return NULL;
}

static bool has_next(const struct tune_plan *plan, const char *text)
{
	for (size_t i = 0; i < plan->n_next; i++)
		if (strstr(plan->next[i], text))
			return true;
	return false;
}

/* ---- marks ----------------------------------------------------------------- */

/* leaf1 pauses, the pool is taken, and how much others send is not known: marks, without a
 * forecast. PFC fires at 3.1 MB, so Kmin may be 774 KB at most. */
static void make_marks(struct tune_world *w)
{
	tune_make_late(w, 0);
	tune_pause(&w->prios[0][0], 0.3);
	w->seen[0].pool = (struct tune_peak){.max = 13.5e6, .p99 = 13e6, .windows = 60};
	for (unsigned d = 0; d < DEVICES; d++)
		for (unsigned k = 0; k < w->devices[d].n_ports; k++)
			w->tports[d][k].out_octets = NAN;
}

static void a_low_kmin_stays_and_kmax_follows_it(void **state)
{
	struct tune_world *w = *state;
	make_marks(w);
	set_all(w, 600e3, 20e6, 1.0 / 8);
	const struct tune_plan plan = plan_of(w, FAMILY_ALPHA_THEN_ECN);
	assert_null(plan.refused);
	assert_null(plan_change_of(&plan, KNOB_KMIN));
	assert_true(fabs(plan_change_of(&plan, KNOB_KMAX)->proposed - 4 * 600e3) <= 256);
}

/* One bandwidth-delay product of the uplinks, in proportion, is more than what fits below PFC. */
static void the_fastest_port_of_a_profile_has_to_fit(void **state)
{
	struct tune_world *w = *state;
	make_marks(w);
	assert_non_null(plan_of(w, FAMILY_ALPHA_THEN_ECN).changes);
	assert_null(plan_of(w, FAMILY_ALPHA_THEN_ECN).refused);
	w->of[0][HOSTS]->speed_bps = 800000000000ull;
	w->tports[0][HOSTS].speed_bps = 8e11;
	w->prios[0][HOSTS].kmin *= 2;
	w->prios[0][HOSTS].kmax *= 2;
	const struct tune_plan plan = plan_of(w, FAMILY_ALPHA_THEN_ECN);
	assert_int_equal(plan.n_changes, 0);
	assert_non_null(plan.refused);
	assert_non_null(strstr(plan.refused, "cannot place ECN before PFC"));
}

/* ---- headroom: what a group needs ------------------------------------------- */

static double need_of(struct tune_world *w)
{
	struct headroom_need need;
	tune_headroom_need(&w->in, &w->seen[0], &w->prios[0][0], &need);
	return need.bytes;
}

/* 300 frames of 4,200 bytes are missing in 20 pauses: 63 KB each. */
static void lost_frames_count_only_where_pauses_were_counted(void **state)
{
	struct tune_world *w = *state;
	struct tune_prio *lossy = &w->prios[0][0];
	tune_pause(lossy, 0.05);
	lossy->pg_drops = 300;
	lossy->lost_windows = 6;
	lossy->episodes_per_s = 20.0 / 7200;
	lossy->pause_watched_ns = 2 * HOUR;
	for (unsigned k = 0; k < HOSTS; k++)
		w->of[0][k]->cable_mm = 0;
	assert_true(fabs(need_of(w) - 163000) < 1);
	lossy->pause_measured = false;
	assert_true(fabs(need_of(w) - 125000) < 1);
	lossy->pause_measured = true;
	lossy->episodes_per_s = 0.5 / 7200; /* less than one pause: no mean */
	assert_true(fabs(need_of(w) - 125000) < 1);
}

/* A peak at the size of the headroom is a lower bound: a quarter more than all of it. */
static void a_peak_that_was_cut_off_counts_as_all_of_it(void **state)
{
	struct tune_world *w = *state;
	struct tune_prio *full = &w->prios[0][0];
	tune_pause(full, 0.05);
	full->full_windows = 6;
	full->headroom = (struct tune_peak){.max = 92000, .windows = 60};
	for (unsigned k = 0; k < HOSTS; k++)
		w->of[0][k]->cable_mm = 0;
	assert_true(fabs(need_of(w) - 1.25 * 92000) < 1);
	full->headroom.censored = true;
	assert_true(fabs(need_of(w) - 125000) < 1);
}

/* ---- headroom: what the pool gives ------------------------------------------ */

static void lose(struct tune_world *w, unsigned k)
{
	struct tune_prio *lossy = &w->prios[0][k];
	tune_pause(lossy, 0.05);
	lossy->pg_drops = 300;
	lossy->lost_windows = lossy->full_windows = 6;
	lossy->headroom = (struct tune_peak){.max = 100000, .windows = 60, .censored = true};
}

static void two_slices_pay_half_each(void **state)
{
	struct tune_world *w = *state;
	lose(w, 0);
	const double all = plan_of(w, FAMILY_HEADROOM).cost_bytes;
	assert_true(all >= 25000.0 * HOSTS);
	w->seen[0].pool_slices = 2;
	assert_true(fabs(plan_of(w, FAMILY_HEADROOM).cost_bytes - all / 2) < 1);
}

/* Five lengths of cable are more kinds than a sheet has changes for: all get what the longest
 * needs. */
static void with_many_kinds_of_ports_all_get_the_largest_need(void **state)
{
	static const unsigned metres[LEAF_PORTS] = {50, 100, 150, 200, 250};
	struct tune_world *w = *state;
	w->asic = (struct tune_asic){
		.name = "Spectrum-4", .cell_bytes = 192, .headroom = TUNE_HEADROOM_SPECTRUM};
	w->platforms[0].asic = &w->asic;
	w->seen[0].pool_bytes = 64e6;
	double most = 0;
	for (unsigned k = 0; k < LEAF_PORTS; k++) {
		w->of[0][k]->cable_mm = 1000 * metres[k];
		lose(w, k);
		most = fmax(most, tune_headroom_calculated(&w->in, &w->seen[0], &w->prios[0][k]));
	}
	const struct tune_plan plan = plan_of(w, FAMILY_HEADROOM);
	assert_int_equal(plan.n_changes, 1);
	assert_int_equal(plan.n_prios, LEAF_PORTS);
	assert_true(plan.changes[0].proposed >= most && plan.changes[0].proposed < most + 256);
}

/* Less of the cable is offered only where that much of it is there. */
static void length_is_given_up_where_there_is_some(void **state)
{
	struct tune_world *w = *state;
	lose(w, 0);
	w->seen[0].pool = (struct tune_peak){.max = 15.97e6, .windows = 60};
	struct tune_plan plan = plan_of(w, FAMILY_HEADROOM);
	assert_non_null(plan.refused);
	assert_true(has_next(&plan, "give up length: shorter cables where they are long"));
	for (unsigned k = 0; k < HOSTS; k++)
		w->of[0][k]->cable_mm = 400000;
	plan = plan_of(w, FAMILY_HEADROOM);
	assert_non_null(plan.refused);
	assert_true(has_next(&plan, "m less of cable at each of the 4 ports"));
}

/* What is left of the pool puts Kmin above half of the depth at which PFC fires: the check says
 * it. */
static void a_check_that_does_not_hold_says_so(void **state)
{
	struct tune_world *w = *state;
	lose(w, 0);
	set_all(w, 0.8e6, 3e6, 1.0 / 8);
	struct tune_plan plan = plan_of(w, FAMILY_HEADROOM);
	assert_true(check_of(&plan, "Kmin at most half")->ok);
	set_all(w, 1.7e6, 3e6, 1.0 / 8); /* a single input fires at 1.76 MB in what is left */
	plan = plan_of(w, FAMILY_HEADROOM);
	assert_false(check_of(&plan, "Kmin at most half")->ok);
}

/* Headroom is as large as it has to be, and frames are lost all the same: alpha goes down by half,
 * where it is above four. */
static void alpha_is_halved_where_headroom_is_not_what_lacks(void **state)
{
	struct tune_world *w = *state;
	lose(w, 0);
	w->prios[0][0].tx_windows = 0; /* its need is what is in flight: less than 600 KB */
	w->prios[0][0].recent_tx = 0;
	w->prios[0][0].headroom = (struct tune_peak){.max = NAN, .p99 = NAN};
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].headroom_bytes = 600000;
	set_all(w, 1e6, 2e6, 64);
	const struct tune_plan plan = plan_of(w, FAMILY_HEADROOM);
	const struct tune_change *alpha = plan_change_of(&plan, KNOB_ALPHA);
	assert_non_null(alpha);
	assert_null(plan_change_of(&plan, KNOB_HEADROOM));
	assert_true(alpha->current == 64 && alpha->proposed == 32);
}

/* ---- gates ------------------------------------------------------------------ */

static enum tune_advice gated(struct tune_world *w, enum tune_family family)
{
	struct tune_verdict verdict;
	const struct tune_plan plan = plan_of(w, family);
	tune_gate(&plan, &verdict);
	return verdict.advice;
}

/* Where senders are slowed down by pause alone, marks are nobody's business. */
static void marks_are_advised_where_senders_obey_them(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	assert_int_equal(gated(w, FAMILY_ALPHA_THEN_ECN), ADVICE_CHANGE);
	w->fabric.congestion = CC_PFC_ONLY;
	assert_int_equal(gated(w, FAMILY_ALPHA_THEN_ECN), ADVICE_BLOCKED);
}

static void what_is_missing_of_a_ramp_is_asked_for(void **state)
{
	struct tune_world *w = *state;
	struct tune_verdict verdict;
	tune_make_late(w, 0);
	struct tune_plan plan = plan_of(w, FAMILY_ALPHA_THEN_ECN);
	struct tune_prio like = *plan.like;
	struct tune_rule rule = *plan.rule;
	const char *ask = tune_need_text(w->a, NEED_ECN, plan.platform);
	rule.certain = false;
	plan.rule = &rule;
	plan.like = &like;
	for (unsigned missing = 0; missing < 3; missing++) {
		bool asked = false;
		like.kmin = missing == 1 ? NAN : 8e6;
		like.kmax = missing == 2 ? NAN : 12e6;
		tune_gate(&plan, &verdict);
		for (size_t i = 0; i < verdict.n_collect; i++)
			asked = asked || str_eq(verdict.collect[i], ask);
		assert_int_equal(asked, missing > 0);
	}
}

/* A sender that does not slow down presses on every queue of its priority; one whose priority is
 * not known, on all of them. */
static void a_sender_touches_all_trees_of_its_priority(void **state)
{
	static const struct {
		int priority;
		bool touches;
	} rows[] = {{3, true}, {PRIO_NONE, true}, {4, false}};
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	w->fabric.lossless_mask |= 1 << 4;
	const struct tune_plan plan = plan_of(w, FAMILY_ALPHA_THEN_ECN);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct tune_fault fault = {
			.row = 7, .device = "leaf2", .priority = rows[i].priority};
		assert_int_equal(
			tune_fault_touches(&tune_case, &fault, plan.site), rows[i].touches);
	}
}

/* A link that is missing matters to the switches of its pod, not to one it has no way to. */
static void a_missing_link_touches_its_pod(void **state)
{
	struct tune_world *w = *state;
	const struct tune_fault fault = {
		.cause = CAUSE_PATH_ASYMMETRY, .device = "leaf2", .priority = PRIO_NONE};
	tune_make_late(w, 0);
	struct tune_plan plan = plan_of(w, FAMILY_ALPHA_THEN_ECN);
	assert_true(tune_fault_touches(&tune_case, &fault, plan.site));
	w->of[1][HOSTS]->peer = w->of[1][0]; /* leaf2 stands alone, with a cable to itself */
	w->of[2][1]->peer = NULL;
	plan = plan_of(w, FAMILY_ALPHA_THEN_ECN);
	assert_false(tune_fault_touches(&tune_case, &fault, plan.site));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(a_low_kmin_stays_and_kmax_follows_it),
		T(the_fastest_port_of_a_profile_has_to_fit),
		T(lost_frames_count_only_where_pauses_were_counted),
		T(a_peak_that_was_cut_off_counts_as_all_of_it),
		T(two_slices_pay_half_each),
		T(with_many_kinds_of_ports_all_get_the_largest_need),
		T(length_is_given_up_where_there_is_some),
		T(a_check_that_does_not_hold_says_so),
		T(alpha_is_halved_where_headroom_is_not_what_lacks),
		T(marks_are_advised_where_senders_obey_them),
		T(what_is_missing_of_a_ramp_is_asked_for),
		T(a_sender_touches_all_trees_of_its_priority),
		T(a_missing_link_touches_its_pod),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
