/* tune_rules: signs out of hand-made evidence, rows of the decision table, what is mended first,
 * and the review's sheets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

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

/* ---- the table ----------------------------------------------------------- */

static void table_is_sound(void **state)
{
	for (size_t i = 0; i < tune_n_rules; i++) {
		const struct tune_rule *r = &tune_rules[i];
		assert_false(r->yes & r->no);
		assert_false(r->yes & r->not_yes);
		assert_non_null(r->rests_on);
		assert_true(!r->cause || (r->confidence > 0 && r->confidence < 1 && r->do_not));
		assert_true(r->family == FAMILY_NONE || (r->certain && r->risk));
		/* every row can be reached: its own signs, and nothing more, lead to it or to one
		 * of the same cause */
		struct tune_signs s = {
			.known = r->yes | r->no, .yes = r->yes & ~(uint32_t)T_INCIDENT};
		if (r->yes & T_INCIDENT)
			s.named[s.n_named++] = r->cause;
		const struct tune_rule *m = tune_rule_match(&s);
		assert_true(r->cause ? m && m->cause == r->cause : !m);
	}
}

static const struct {
	const char *what;
	uint32_t known, yes;
	const char *cause;
	int row;
} matches[] = {
	{"nothing", 0, 0, NULL, 0},
	{"loss with headroom used up", T_LOST | T_FULL, T_LOST | T_FULL, "headroom_small", 1},
	{"loss while headroom was not full", T_LOST | T_FULL, T_LOST, "lossless_loss", 8},
	{"loss with the pool full", T_LOST | T_FULL | T_POOL_FULL, T_LOST | T_POOL_FULL,
		"pool_exhausted", 1},
	{"late", T_HOSTS_PAUSED | T_PAUSES | T_NO_MARKS | T_LATE,
		T_HOSTS_PAUSED | T_PAUSES | T_NO_MARKS | T_LATE, "ecn_late", 3},
	{"late, but a host pauses us",
		T_HOSTS_PAUSED | T_PAUSES | T_NO_MARKS | T_LATE | T_FROM_HOST,
		T_HOSTS_PAUSED | T_PAUSES | T_NO_MARKS | T_LATE | T_FROM_HOST, NULL, 0},
	{"late, but it is passed on from further", T_HOSTS_PAUSED | T_PAUSES | T_LATE | T_PASSED_ON,
		T_HOSTS_PAUSED | T_PAUSES | T_LATE | T_PASSED_ON, NULL, 0},
	{"pause without marks, settings in order", T_HOSTS_PAUSED | T_PAUSES | T_NO_MARKS | T_LATE,
		T_HOSTS_PAUSED | T_PAUSES | T_NO_MARKS, "unknown", 3},
	{"incast", T_HOSTS_PAUSED | T_PAUSES | T_MANY_MARKS | T_TO_HOST,
		T_HOSTS_PAUSED | T_PAUSES | T_MANY_MARKS | T_TO_HOST, "incast", 4},
	{"the same towards a spine", T_HOSTS_PAUSED | T_PAUSES | T_MANY_MARKS | T_TO_HOST,
		T_HOSTS_PAUSED | T_PAUSES | T_MANY_MARKS, "uplink_overload", 9},
	{"early", T_HOSTS_PAUSED | T_MANY_MARKS | T_WIDESPREAD | T_EARLY,
		T_MANY_MARKS | T_WIDESPREAD | T_EARLY, "ecn_early", 5},
	{"early, while hosts are paused", T_HOSTS_PAUSED | T_MANY_MARKS | T_WIDESPREAD | T_EARLY,
		T_HOSTS_PAUSED | T_MANY_MARKS | T_WIDESPREAD | T_EARLY, NULL, 0},
	{"early, pause not known", T_MANY_MARKS | T_WIDESPREAD | T_EARLY,
		T_MANY_MARKS | T_WIDESPREAD | T_EARLY, NULL, 0},
	{"marks with Kmin in order", T_HOSTS_PAUSED | T_MANY_MARKS | T_WIDESPREAD | T_EARLY,
		T_MANY_MARKS | T_WIDESPREAD, NULL, 0},
	{"xon close", T_PAUSES | T_SHORT | T_CLOSE, T_PAUSES | T_SHORT | T_CLOSE, "xon_close", 11},
};

static void rows(void **state)
{
	for (size_t i = 0; i < sizeof(matches) / sizeof(*matches); i++) {
		const struct tune_signs s = {.known = matches[i].known, .yes = matches[i].yes};
		const struct tune_rule *r = tune_rule_match(&s);
		if (!str_eq(r ? cause_name(r->cause) : NULL, matches[i].cause) ||
			(r && r->row != matches[i].row))
			fail_msg("%s: row %d %s", matches[i].what, r ? r->row : 0,
				r ? cause_name(r->cause) : "-");
	}
}

/* ---- evidence ------------------------------------------------------------ */

static void good_is_left_alone(void **state)
{
	struct tune_list l;
	const struct tune_sheet *s = tune_first(*state, &l);
	assert_int_equal(l.n, 1);
	assert_int_equal(s->advice, ADVICE_NONE);
	assert_int_equal(s->n_changes, 0);
	assert_int_equal(s->priority, 3);
}

static void little_pause_is_left_alone(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	tune_make_late(w, 0);
	/* one window of five above 0.1 % */
	w->prios[0][0].recent_tx = w->prios[0][1].recent_tx = 0x02;
	assert_int_equal(tune_first(w, &l)->advice, ADVICE_NONE);
}

/* Bursts now and then, as checkpoints are: above 0.1 % in some windows, below it over the range.
 * What has only begun fills all of the newest. */
static void bursts_now_and_then_are_left_alone(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	tune_make_late(w, 0);
	for (unsigned k = 0; k < 2; k++) {
		tune_pause(&w->prios[0][k], 0.0007);
		w->prios[0][k].recent_tx = 0x0d; /* three of five */
	}
	assert_int_equal(tune_first(w, &l)->advice, ADVICE_NONE);
	w->prios[0][0].recent_tx = w->prios[0][1].recent_tx = 0x1f;
	assert_int_equal(tune_first(w, &l)->advice, ADVICE_CHANGE);
}

static void late_is_told_at_its_root(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	tune_make_late(w, 0);
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_CHANGE);
	assert_string_equal(s->diagnosis, "ecn_late");
	assert_string_equal(s->device, "leaf1");
	assert_non_null(strstr(s->summary, "paused node-001"));
	assert_non_null(s->rollback_if);
	assert_int_equal(s->expires_ns, NOW + 72 * HOUR);
	assert_true(s->n_confidence_inputs > 2 && s->confidence_ratio > 0.5);
	assert_true(s->n_evidence > 3);
}

static void followers_have_the_same_profile(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	tune_make_late(w, 0);
	/* leaf2 is set alike and shows nothing; the spine is another tier */
	for (unsigned k = 0; k < LEAF_PORTS; k++) {
		w->prios[1][k].kmin = 8e6;
		w->prios[1][k].kmax = 12e6;
	}
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->n_rest, 1);
	assert_string_equal(s->rest[0], "leaf2");
	assert_int_equal(s->n_affected, LEAF_PORTS + 1); /* all queues of the canary, and leaf2 */
	assert_string_equal(s->port_group, "all");
}

static void a_host_that_pauses_us_comes_first(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	tune_make_late(w, 0);
	w->prios[0][2].rx_pause_lo = w->prios[0][2].rx_pause_hi = w->prios[0][2].rx_pause_busy =
		0.3;
	w->prios[0][2].recent_rx = 0xff;
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_FIX_FIRST);
	assert_string_equal(s->diagnosis, "slow_receiver");
	assert_string_equal(s->ports[0], "Ethernet3");
	for (size_t i = 0; i < l.n; i++)
		assert_int_not_equal(l.v[i].advice, ADVICE_CHANGE);
}

static void a_frame_bound_is_not_pause(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	tune_make_late(w, 0);
	/* 0.5 % at most, from frames: ten times the limit is asked for */
	for (unsigned k = 0; k < 2; k++) {
		tune_pause(&w->prios[0][k], 0.005);
		w->prios[0][k].tx_pause_lo = 0;
		w->prios[0][k].pause_measured = false;
	}
	assert_int_equal(tune_first(w, &l)->advice, ADVICE_NONE);
	tune_pause(&w->prios[0][0], 0.05);
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_CHANGE);
	assert_non_null(strstr(s->summary, "at most"));
}

static void bounds_tell_no_direction_but_depths_do(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	tune_make_late(w, 0);
	tune_make_late(w, 1);
	/* leaf2's own queues are shallow: it passes on what leaf1 presses */
	w->prios[1][3].queue.max = NAN;
	w->prios[1][HOSTS].queue = (struct tune_peak){.max = 5e6, .windows = 60};
	for (unsigned d = 0; d < DEVICES; d++)
		for (unsigned k = 0; k < w->devices[d].n_ports; k++) {
			tune_pause(&w->prios[d][k], 1);
			w->prios[d][k].tx_pause_lo = 0;
			w->prios[d][k].pause_measured = false;
			if (w->of[d][k]->peer) {
				w->prios[d][k].rx_pause_hi = w->prios[d][k].rx_pause_busy = 1;
				w->prios[d][k].recent_rx = 0xff;
			}
		}
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_CHANGE);
	assert_string_equal(s->device, "leaf1");
	assert_string_equal(s->rest[0], "leaf2");
	assert_int_equal(l.n, 1);
}

static void nothing_known_is_watched(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	for (unsigned d = 0; d < DEVICES; d++)
		for (unsigned k = 0; k < w->devices[d].n_ports; k++)
			w->prios[d][k].tx_pause_hi = w->prios[d][k].tx_pause_busy = NAN;
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_WATCH);
	assert_true(s->n_collect > 0);
}

static void unknown_settings_are_watched(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	tune_make_late(w, 0);
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].kmin = w->prios[0][k].kmax = w->prios[0][k].alpha = NAN;
	w->seen[0].pool_bytes = NAN;
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_WATCH);
	assert_string_equal(s->diagnosis, "ecn_late");
	assert_true(s->n_collect >= 2);
	assert_int_equal(s->n_changes, 0);
}

static void marks_off_is_mended_not_tuned(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	tune_make_late(w, 0);
	for (unsigned d = 0; d < DEVICES; d++)
		for (unsigned k = 0; k < w->devices[d].n_ports; k++)
			w->prios[d][k].ecn_enabled = 0;
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_FIX_FIRST);
	assert_string_equal(s->diagnosis, "ecn_off");
}

static void mixed_settings_are_aligned_first(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	w->prios[0][1].kmin = 2000000;
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_FIX_FIRST);
	assert_string_equal(s->diagnosis, "config_mixed");
	assert_string_equal(s->ports[0], "Ethernet2");
	/* unless the canary of a change of ours is what differs */
	w->in.past = &(struct tune_past){
		.id = "abcdefgh", .device = "leaf1", .priority = 3, .applied_ns = NOW - HOUR};
	w->in.n_past = 1;
	assert_int_equal(tune_first(w, &l)->advice, ADVICE_NONE);
	/* nor those of its tier that a sheet of ours left out, in what it changed */
	struct tune_past other = {
		.id = "abcdefgh", .device = "leaf2", .priority = 3, .applied_ns = NOW - HOUR};
	w->in.past = &other;
	other.knobs = 1u << KNOB_ALPHA;
	assert_string_equal(tune_first(w, &l)->diagnosis, "config_mixed");
	other.knobs = 1u << KNOB_KMIN;
	assert_int_equal(tune_first(w, &l)->advice, ADVICE_NONE);
	other.device = "spine1"; /* another tier */
	assert_string_equal(tune_first(w, &l)->diagnosis, "config_mixed");
}

static void damaged_frames_are_no_matter_of_buffers(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	w->tports[0][2].errors = 4000;
	w->tports[0][2].error_windows = 30;
	assert_string_equal(tune_first(w, &l)->diagnosis, "link_errors");
	/* what all ports count alike is how the platform counts */
	for (unsigned k = 0; k < LEAF_PORTS; k++) {
		w->tports[0][k].errors = 4000;
		w->tports[0][k].error_windows = 30;
	}
	assert_int_equal(tune_first(w, &l)->advice, ADVICE_NONE);
}

static void a_wrong_cable_in_the_profile_is_mended(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	struct tune_prio *up = &w->prios[0][HOSTS];
	tune_pause(up, 0.05);
	up->pg_drops = 400;
	up->lost_windows = 5;
	w->tports[0][HOSTS].cable_m = 5; /* the inventory has 40 m */
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_FIX_FIRST);
	assert_string_equal(s->diagnosis, "headroom_small");
	for (size_t i = 0; i < l.n; i++)
		assert_int_not_equal(l.v[i].advice, ADVICE_CHANGE);
	w->tports[0][HOSTS].cable_m = 40;
	assert_int_equal(tune_first(w, &l)->advice, ADVICE_CHANGE);
}

static void the_same_evidence_gives_the_same_ids(void **state)
{
	struct tune_world *w = *state;
	struct tune_list a, b;
	tune_make_late(w, 0);
	tune_make_late(w, 1);
	tune_first(w, &a);
	tune_first(w, &b);
	assert_int_equal(a.n, b.n);
	for (size_t i = 0; i < a.n; i++) {
		assert_string_equal(a.v[i].id, b.v[i].id);
		assert_int_equal(strspn(a.v[i].id, "abcdefghijklmnopqrstuvwxyz234567"), 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_is_sound),
		cmocka_unit_test(rows),
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(good_is_left_alone),
		T(little_pause_is_left_alone),
		T(bursts_now_and_then_are_left_alone),
		T(late_is_told_at_its_root),
		T(followers_have_the_same_profile),
		T(a_host_that_pauses_us_comes_first),
		T(a_frame_bound_is_not_pause),
		T(bounds_tell_no_direction_but_depths_do),
		T(nothing_known_is_watched),
		T(unknown_settings_are_watched),
		T(marks_off_is_mended_not_tuned),
		T(mixed_settings_are_aligned_first),
		T(damaged_frames_are_no_matter_of_buffers),
		T(a_wrong_cable_in_the_profile_is_mended),
		T(the_same_evidence_gives_the_same_ids),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
