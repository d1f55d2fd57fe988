/* tune_dose: values of the rows, their bounds, rounding, and the order of ECN and PFC that must
 * hold after every change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "analyzers/measure/formulas.h"
#include "analyzers/tune/tune_dose.h"
#include "analyzers/tune/tune_dose_alpha.h"
#include "analyzers/tune/tune_fault.h"
#include "analyzers/tune/tune_worth.h"
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

static const struct tune_sheet *change(struct tune_world *w, const char *cause)
{
	static struct tune_list l;
	const struct tune_sheet *s = tune_first(w, &l);
	assert_non_null(s);
	assert_int_equal(s->advice, ADVICE_CHANGE);
	assert_string_equal(s->diagnosis, cause);
	return s;
}

static void set_all(struct tune_world *w, unsigned d, double kmin, double kmax, double alpha)
{
	for (unsigned k = 0; k < w->devices[d].n_ports; k++) {
		w->prios[d][k].kmin = kmin;
		w->prios[d][k].kmax = kmax;
		w->prios[d][k].alpha = alpha;
	}
}

/* The plan of one family for leaf1, whatever its signs are. */
static struct tune_plan plan_of(struct tune_world *w, enum tune_family family)
{
	static struct tune_case c;
	struct tune_plan plan = {0};
	const struct tune_rule *rule = NULL;
	tune_diagnose(&w->in, &c);
	for (size_t i = 0; i < tune_n_rules && !rule; i++)
		if (tune_rules[i].family == family)
			rule = &tune_rules[i];
	assert_non_null(rule);
	for (size_t i = 0; i < c.n_sites; i++)
		if (c.sites[i].device == &w->seen[0]) {
			tune_dose_as(&c, &c.sites[i], rule, &plan);
			return plan;
		}
	fail_msg("leaf1 has no site");
	return plan;
}

static bool has_step(const struct tune_sheet *s, const char *text)
{
	for (size_t i = 0; i < s->n_next_steps; i++)
		if (strstr(s->next_steps[i], text))
			return true;
	return false;
}

static void all_settable(struct tune_world *w, double step)
{
	for (size_t k = 0; k < TUNE_KNOBS; k++)
		w->profile.knobs[k] = (struct tune_knob_rule){.settable = true,
			.object = "P",
			.unit = TUNE_BYTES,
			.step = step,
			.min = -INFINITY,
			.max = INFINITY};
	w->platforms[0].profile = &w->profile;
}

/* ---- row 3 --------------------------------------------------------------- */

/* The pool of leaf1 is taken: alpha cannot go up, and it pauses enough for marks to be worth it. */
static void fill_pool(struct tune_world *w)
{
	tune_pause(&w->prios[0][0], 0.3);
	w->prios[0][0].tx_unmarked = w->prios[0][0].tx_windows;
	w->seen[0].pool = (struct tune_peak){.max = 13.5e6, .p99 = 13e6, .windows = 60};
}

static void alpha_comes_before_marks(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	const struct tune_sheet *s = change(w, "ecn_late");
	assert_int_equal(s->changes[0].knob, KNOB_ALPHA);
	assert_null(tune_change_of(s, KNOB_KMIN));
	assert_true(has_step(s, "then, when this is verified: Kmin, Kmax and Pmax"));
	/* PFC fired where the model says: as far as 80 % of the pool and alpha 1 allow, at once */
	assert_true(s->changes[0].proposed == 1);
	w->seen[0].inputs_max = 8; /* 8/2 / (1 + 8/2) = 80 % */
	assert_true(change(w, "ecn_late")->changes[0].proposed == 0.5);
}

static void alpha_is_doubled_where_the_model_is_in_doubt(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	w->prios[0][3].queue.max = 1.5e6; /* 3.2 MB by the model */
	assert_true(change(w, "ecn_late")->changes[0].proposed == 0.25);
	/* the pool was measured: what it may take is known without the model */
	w->seen[0].pool = (struct tune_peak){.max = 4e6, .p99 = 4e6, .windows = 60};
	assert_true(change(w, "ecn_late")->changes[0].proposed == 1);
	w->seen[0].pool_slices = NAN;
	assert_true(change(w, "ecn_late")->changes[0].proposed == 0.25);
	w->seen[0].pool_slices = 1;
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].inputs = NAN; /* how many inputs met is not known */
	assert_true(change(w, "ecn_late")->changes[0].proposed == 0.25);
}

static void four_exponents_at_most(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	set_all(w, 0, 8e6, 12e6, 1.0 / 128);
	w->prios[0][3].queue.max = 0.25e6; /* q_PFC(2) = 246 KB */
	assert_true(change(w, "ecn_late")->changes[0].proposed == 1.0 / 8);
}

static void alpha_stays_within_its_share_of_the_pool(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	tune_pause(&w->prios[0][0], 0.3);
	w->seen[0].inputs_max = 20; /* 20/4 / (1 + 20/4) = 83 % of the pool after the step */
	assert_null(tune_change_of(change(w, "ecn_late"), KNOB_ALPHA));
	w->seen[0].inputs_max = 8;
	fill_pool(w);
	assert_null(tune_change_of(change(w, "ecn_late"), KNOB_ALPHA));
	w->seen[0].pool.max = 4e6; /* 1/3 of what is free: four times that is 57 % */
	assert_true(tune_change_of(change(w, "ecn_late"), KNOB_ALPHA)->proposed >= 0.5);
}

static void marks_come_on_a_wide_ramp(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	fill_pool(w);
	const struct tune_sheet *s = change(w, "ecn_late");
	/* q_PFC(2) = 2/8 * 16 MB / (1 + 2/8) = 3.2 MB by the settings; a queue was 3.1 MB deep when
	 * PFC fired: that counts */
	const struct tune_change *kmin = tune_change_of(s, KNOB_KMIN),
				 *kmax = tune_change_of(s, KNOB_KMAX);
	assert_non_null(kmin);
	assert_non_null(kmax);
	assert_true(kmin->proposed <= 3.1e6 / 4 && kmin->proposed >= 500000);
	assert_true(kmax->proposed <= 3.1e6 && kmax->proposed >= 4 * kmin->proposed - 256);
	assert_int_equal((int64_t)kmin->proposed % 256, 0); /* whole cells */
	assert_true(&s->changes[0] == kmin); /* lowering: Kmin first */
	assert_null(tune_change_of(s, KNOB_ALPHA)); /* one family */
	assert_null(tune_change_of(s, KNOB_PMAX)); /* 10 % is in order */
	for (size_t i = 0; i < s->n_checks; i++)
		assert_true(s->checks[i].ok);
	assert_true(s->n_checks >= 5);
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].pmax = 1;
	assert_true(tune_change_of(change(w, "ecn_late"), KNOB_PMAX)->proposed == 0.2);
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].pmax = 0.01;
	assert_true(tune_change_of(change(w, "ecn_late"), KNOB_PMAX)->proposed == 0.05);
	w->in.options.max_pmax = 0.02; /* what the operator allows at most */
	assert_true(tune_change_of(change(w, "ecn_late"), KNOB_PMAX)->proposed == 0.02);
}

/* A queue grows by what comes in until the CNP acts: 60 us at 400 Gbit/s are 3 MB a sender. */
static void incast_is_absorbed_as_far_as_the_pool_goes(void **state)
{
	(void)state;
	/* four: 0.5 + 9 of 12.8 MB, five: 0.5 + 12 of 13.3 MB, six: 0.5 + 15 of 13.7 MB */
	assert_int_equal(tune_incast_absorbed(16e6, 1, 0.5e6, 400e9, 10000, 16), 5);
	assert_int_equal(tune_incast_absorbed(16e6, 1, 0.5e6, 400e9, 10000, 3), 3);
	assert_int_equal(tune_incast_absorbed(16e6, 1, 11e6, 400e9, 10000, 16), 1);
}

/* Pause delays only those who wait behind it for another queue. Where all traffic leads to the
 * congested one nobody is faster without it, and everybody slower who is marked. */
static void marks_need_somebody_who_gains(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	tune_make_late(w, 0);
	fill_pool(w);
	assert_non_null(tune_change_of(change(w, "ecn_late"), KNOB_KMIN));
	for (unsigned d = 0; d < 2; d++)
		for (unsigned k = 0; k < HOSTS; k++)
			w->tports[d][k].out_octets = d == 0 && k == 3 ? 1e9 : 1e6;
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_NONE);
	assert_non_null(strstr(s->summary, "nobody would be faster"));
	/* a little of it is within the error of the model */
	w->tports[0][0].out_octets = 5e7;
	assert_int_equal(tune_first(w, &l)->advice, ADVICE_NONE);
	/* more buffer costs nobody anything */
	w->seen[0].pool.max = 4e6;
	assert_non_null(tune_change_of(change(w, "ecn_late"), KNOB_ALPHA));
}

/* Uplinks of twice the speed, with twice the Kmin and Kmax: what one profile is by speed. */
static void make_by_speed(struct tune_world *w)
{
	for (unsigned d = 0; d < 2; d++) {
		struct tune_prio *up = &w->prios[d][HOSTS];
		w->of[d][HOSTS]->speed_bps = 800000000000ull;
		w->tports[d][HOSTS].speed_bps = 8e11;
		up->kmin = 2 * w->prios[d][0].kmin;
		up->kmax = 2 * w->prios[d][0].kmax;
	}
}

static bool has_port(const char *const *ports, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(ports[i], name) == 0)
			return true;
	return false;
}

static void a_profile_in_proportion_to_speed_is_one(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	tune_make_late(w, 1);
	make_by_speed(w);
	tune_pause(&w->prios[0][HOSTS], 0.2); /* the uplink pauses its spine */
	const struct tune_sheet *s = change(w, "ecn_late");
	const struct tune_change *alpha = tune_change_of(s, KNOB_ALPHA);
	assert_string_equal(s->port_group, "all");
	assert_true(has_port(s->ports, s->n_ports, "Ethernet5"));
	assert_int_equal(alpha->n_ports, 0); /* of all ports of the sheet */
	assert_int_equal(s->n_rest, 1);
	/* Kmin down at both speeds, each from what it has, none above a quarter of 3.1 MB */
	fill_pool(w);
	w->in.options.rtt_ns = 5000;
	s = change(w, "ecn_late");
	double proposed[2] = {0};
	for (size_t i = 0; i < s->n_changes; i++) {
		const struct tune_change *c = &s->changes[i];
		if (c->knob == KNOB_KMIN)
			proposed[c->current == 16e6] = c->proposed;
	}
	assert_true(proposed[0] > 0 && proposed[1] >= proposed[0]);
	assert_true(proposed[1] <= 3.1e6 / 4);
	assert_string_equal(s->changes[0].port_group, "hosts");
	/* Kmax of the faster port may be bounded by the pool, and changes with its Kmin */
	w->prios[0][HOSTS].kmax = 17e6;
	s = change(w, "ecn_late");
	for (size_t i = 0; i < s->n_changes; i++)
		if (s->changes[i].current == 17e6)
			proposed[0] = s->changes[i].proposed;
	assert_true(proposed[0] >= 4 * proposed[1] - 256 && proposed[0] <= 3.1e6);
	/* out of proportion it is another profile */
	w->prios[0][HOSTS].kmin = 14e6;
	assert_string_equal(change(w, "ecn_late")->port_group, "hosts");
}

static void alpha_changes_where_packets_come_in(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	struct tune_prio *up = &w->prios[0][HOSTS];
	up->kmin = 1e6; /* a queue profile of its own, the same buffer profile */
	up->kmax = 2e6;
	tune_pause(up, 0.2);
	const struct tune_sheet *s = change(w, "ecn_late");
	assert_true(has_port(s->ports, s->n_ports, "Ethernet5"));
	assert_int_equal(tune_change_of(s, KNOB_ALPHA)->n_ports, 0);
	/* its queue may grow deeper as well, and is not marked for it (packetsim: J 2.64) */
	assert_true(tune_change_of(s, KNOB_KMIN)->current == 1e6);
	assert_string_equal(tune_change_of(s, KNOB_KMIN)->port_group, "Ethernet5");
	/* another buffer profile that pauses goes up by the same factor, in a change of its own */
	up->alpha = 1.0 / 16;
	s = change(w, "ecn_late");
	size_t n = 0;
	for (size_t i = 0; i < s->n_changes; i++)
		if (s->changes[i].knob == KNOB_ALPHA && s->changes[i].current == 1.0 / 16) {
			assert_string_equal(s->changes[i].port_group, "Ethernet5");
			assert_true(s->changes[i].proposed / s->changes[i].current ==
				s->changes[0].proposed / s->changes[0].current);
			n++;
		}
	assert_int_equal(n, 1);
	/* and the first change is for those that have its value now, not for that port */
	assert_false(has_port(s->changes[0].ports, s->changes[0].n_ports, "Ethernet5"));
	assert_true(has_port(s->changes[0].ports, s->changes[0].n_ports, "Ethernet1"));
	/* one that does not pause stays as it is */
	up->tx_windows = 0;
	up->tx_pause_busy = up->tx_pause_lo = up->tx_pause_hi = 0;
	up->recent_tx = 0;
	s = change(w, "ecn_late");
	assert_false(has_port(s->ports, s->n_ports, "Ethernet5"));
}

/* Hosts of two speeds: those that only pass pause on would hold back in their uplinks' queues what
 * hosts hold now, and all that cross them would wait (packetsim: J 3.14, and 1.97 without them). */
static void with_two_speeds_only_those_get_more_where_it_begins(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	assert_int_equal(change(w, "ecn_late")->n_rest, 0); /* leaf2 has another profile */
	set_all(w, 1, 8e6, 12e6, 1.0 / 8);
	const struct tune_sheet *s = change(w, "ecn_late");
	assert_int_equal(s->n_rest, 1);
	assert_false(has_step(s, "stay as they are"));
	w->of[0][2]->speed_bps = 100000000000ull;
	s = change(w, "ecn_late");
	assert_int_equal(s->n_rest, 0);
	assert_true(has_step(s, "the other switches of the tier stay as they are"));
	/* marks that come earlier are for all of them */
	fill_pool(w);
	s = change(w, "ecn_late");
	assert_null(tune_change_of(s, KNOB_ALPHA));
	assert_int_equal(s->n_rest, 1);
	/* where it begins at both, both get more */
	tune_make_late(w, 1);
	w->seen[0].pool = (struct tune_peak){.max = NAN, .p99 = NAN};
	s = change(w, "ecn_late");
	assert_non_null(tune_change_of(s, KNOB_ALPHA));
	assert_int_equal(s->n_rest, 1);
}

/* A sheet for other ports of a switch does not keep it out of this one. */
static void a_switch_follows_with_ports_that_have_no_sheet_of_their_own(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	for (unsigned d = 0; d < 2; d++) {
		tune_make_late(w, d);
		tune_pause(&w->prios[d][0], 0.3);
		w->seen[d].pool = (struct tune_peak){.max = 13.5e6, .p99 = 13e6, .windows = 60};
	}
	struct tune_prio *up = &w->prios[1][HOSTS];
	up->kmin = 7e6;
	up->kmax = 9e6;
	up->queue = w->prios[1][3].queue;
	w->prios[1][3].queue = (struct tune_peak){.max = NAN, .p99 = NAN};
	assert_int_equal(tune_review(&w->in, &l), 0);
	size_t sheets = 0;
	for (size_t i = 0; i < l.n; i++) {
		const struct tune_sheet *s = &l.v[i];
		if (s->advice != ADVICE_CHANGE)
			continue;
		sheets++;
		if (str_eq(s->device, "leaf2")) {
			assert_string_equal(s->port_group, "Ethernet5");
			continue;
		}
		assert_int_equal(s->n_rest, 1);
		assert_string_equal(s->rest[0], "leaf2");
	}
	assert_int_equal(sheets, 2);
}

static bool tells_j(const struct tune_sheet *s)
{
	for (size_t i = 0; i < s->n_checks; i++)
		if (strstr(s->checks[i].text, "J by the model"))
			return s->checks[i].after < s->checks[i].before && s->checks[i].before > 2;
	return false;
}

/* Marks slow somebody down: for less than 0.15 of J, towards storage 0.02, nothing is changed. */
static void marks_have_to_be_worth_it(void **state)
{
	const struct {
		double step, others_p99;
		bool storage, worth;
	} rows[] = {{1, 0.84, false, true}, {1, 0.86, false, false}, {0.9, 1, false, false},
		{1, 0.97, true, true}, {1, 0.99, true, false}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct tune_worth worth = {.storage = rows[i].storage};
		const struct tune_forecast forecast = {
			.step = rows[i].step, .others_p99 = rows[i].others_p99};
		assert_int_equal(tune_marks_are_worth(&worth, &forecast), rows[i].worth);
	}
}

static void a_sheet_says_what_it_is_worth(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	assert_true(tells_j(change(w, "ecn_late")));
	fill_pool(w);
	assert_true(tells_j(change(w, "ecn_late")));
}

static void writers_to_storage_are_told_first(void **state)
{
	struct tune_world *w = *state;
	struct fabric_job job = {.name = "train", .hosts = "node-*", .gpus = 8};
	tune_make_late(w, 0);
	w->of[0][3]->host = "stor-001"; /* the deepest queue leads there */
	set_all(w, 0, 8e6, 12e6, 1.0 / 2);
	w->prios[0][3].queue.max = 7.9e6; /* q_PFC(2) = 8 MB */
	assert_non_null(tune_change_of(change(w, "ecn_late"), KNOB_ALPHA));
	fabric_job_split(&job, w->a);
	w->fabric.jobs = &job;
	w->fabric.n_jobs = 1;
	/* nobody waits for storage: marks cost the job nothing; 2 x 500 KB */
	const struct tune_change *kmin = tune_change_of(change(w, "ecn_late"), KNOB_KMIN);
	assert_true(kmin->proposed > 999000 && kmin->proposed <= 1000000);
}

static void alpha_stays_for_writes_to_storage(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	struct fabric_job job = {.name = "train", .hosts = "node-*", .gpus = 8};
	tune_make_late(w, 0);
	w->in.options.rtt_ns = 20000; /* no room for marks before PFC */
	assert_non_null(tune_change_of(change(w, "ecn_late"), KNOB_ALPHA));
	w->of[0][3]->host = "stor-001";
	fabric_job_split(&job, w->a);
	w->fabric.jobs = &job;
	w->fabric.n_jobs = 1;
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_NONE);
	assert_non_null(strstr(s->summary, "writes to storage (stor-001 at leaf1:Ethernet4)"));
	/* nor where marks go by shares */
	for (unsigned k = 0; k < LEAF_PORTS; k++) {
		w->prios[0][k].ecn_relative = 1;
		w->prios[0][k].kmin_ratio = 0.9;
		w->prios[0][k].kmax_ratio = 1;
		w->prios[0][k].kmin = w->prios[0][k].kmax = NAN;
	}
	assert_null(tune_change_of(tune_first(w, &l), KNOB_ALPHA));
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].ecn_relative = 0;
	tune_make_late(w, 0);
	/* nor at a switch that pauses with it, for a queue of its own */
	tune_make_late(w, 1);
	tune_pause(&w->prios[0][HOSTS], 0.05);
	tune_pause(&w->prios[1][HOSTS], 0.05);
	w->prios[2][0].rx_pause_lo = w->prios[2][0].rx_pause_hi = 0.05;
	w->prios[2][1].rx_pause_lo = w->prios[2][1].rx_pause_hi = 0.05;
	assert_int_equal(tune_review(&w->in, &l), 0);
	for (size_t i = 0; i < l.n; i++)
		assert_int_not_equal(l.v[i].advice, ADVICE_CHANGE);
}

static void one_host_hardly_paused_is_left_alone(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	tune_make_late(w, 0);
	tune_pause(&w->prios[0][0], 0.005);
	tune_pause(&w->prios[0][1], 0.0005);
	w->prios[0][1].recent_tx = 0; /* 0.1 % in none of the newest windows */
	assert_int_equal(tune_first(w, &l)->advice, ADVICE_NONE);
	tune_pause(&w->prios[0][1], 0.002); /* several */
	assert_int_equal(tune_first(w, &l)->advice, ADVICE_CHANGE);
	tune_pause(&w->prios[0][1], 0);
	w->prios[0][1].recent_tx = 0;
	tune_pause(&w->prios[0][0], 0.02); /* or plainly */
	assert_int_equal(tune_first(w, &l)->advice, ADVICE_CHANGE);
}

static void a_small_buffer_has_no_place_for_ecn(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	tune_make_late(w, 0);
	w->prios[0][3].queue.windows = 0;
	w->prios[0][3].queue.max = NAN;
	/* q_PFC(2) = 1.6 MB; a quarter of it is less than the 0.5 MB of one bandwidth-delay product
	 */
	w->seen[0].pool_bytes = 8e6;
	w->seen[0].inputs_max = 60; /* and alpha may not be raised */
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_WATCH);
	assert_int_equal(s->n_changes, 0);
	assert_non_null(strstr(s->summary, "cannot place ECN before PFC"));
}

static void unknown_slices_halve_the_pool_and_the_confidence(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	w->prios[0][3].queue.max = NAN;
	const double sure = change(w, "ecn_late")->confidence_ratio;
	w->seen[0].pool_slices = NAN;
	assert_true(change(w, "ecn_late")->confidence_ratio < 0.6 * sure);
}

static void a_queue_as_deep_as_the_whole_pool_allows_settles_the_slices(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0); /* 3.1 MB deep; 3.2 MB with one slice, 1.6 MB with two */
	const double sure = change(w, "ecn_late")->confidence_ratio;
	w->seen[0].pool_slices = NAN;
	assert_true(change(w, "ecn_late")->confidence_ratio == sure);
}

/* Who was never marked is not marked for a larger share of the pool either: on packetsim a NIC with
 * a timer of 300 us made steps up to 54 % longer. */
static void marks_move_away_with_pfc(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	set_all(w, 0, 1.7e6, 3.4e6, 1.0 / 8); /* q_PFC(2) = 3.2 MB */
	const struct tune_sheet *s = change(w, "ecn_late");
	const double alpha = tune_change_of(s, KNOB_ALPHA)->proposed,
		     fires = 2 * alpha * 16e6 / (1 + 2 * alpha);
	const struct tune_change *kmin = tune_change_of(s, KNOB_KMIN),
				 *kmax = tune_change_of(s, KNOB_KMAX);
	const double begin = kmin->proposed;
	assert_true(s->changes[0].knob == KNOB_ALPHA && kmax < kmin); /* Kmax before Kmin */
	/* the queue was seen to stop at 3.1 MB, a little below the formula */
	assert_true(kmin->proposed <= 0.75 * fires && kmin->proposed > 0.7 * fires);
	assert_true(kmax->proposed >= 4 * kmin->proposed);
	assert_true(s->buffer_cost_bytes > 0); /* what queues may take is no cost of nothing */
	/* with the whole pool shared, PFC fires at 1.78 MB. Marks from 1.77 MB come before it, and
	 * have to when headroom is taken out of that pool; those from 1.79 MB never did */
	w->seen[0].inputs_max = 8; /* alpha 1/2 */
	set_all(w, 0, 1.77e6, 3.4e6, 1.0 / 8);
	assert_true(tune_change_of(change(w, "ecn_late"), KNOB_KMIN)->proposed < 15.5e6 / 3);
	set_all(w, 0, 1.79e6, 3.4e6, 1.0 / 8);
	assert_true(tune_change_of(change(w, "ecn_late"), KNOB_KMIN)->proposed > 5.5e6);
	w->seen[0].inputs_max = 0;
	set_all(w, 0, 1.7e6, 3.4e6, 1.0 / 8);
	/* where it marks already, the senders have paid for it: only the ramp gets wider */
	for (unsigned k = 0; k < LEAF_PORTS; k++) {
		w->prios[0][k].marked = 2e5;
		w->prios[0][k].recent_marks = 0xff;
		w->prios[0][k].tx_unmarked = 0;
	}
	struct tune_list l;
	s = tune_first(w, &l);
	assert_null(tune_change_of(s, KNOB_KMIN));
	/* a tenth is not worth a change */
	tune_make_late(w, 0);
	set_all(w, 0, 0.95 * begin, 40e6, 1.0 / 8);
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].marked = w->prios[0][k].recent_marks = 0;
	s = change(w, "ecn_late");
	assert_int_equal(s->n_changes, 1);
}

/* One of the two is not what the switch goes by. */
static void a_headroom_peak_above_its_size_is_said(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	const double sure = change(w, "ecn_late")->confidence_ratio;
	w->prios[0][1].headroom = (struct tune_peak){.max = 118000, .windows = 60};
	const struct tune_sheet *s = change(w, "ecn_late");
	bool said = false;
	for (size_t i = 0; i < s->n_confidence_inputs; i++)
		said = said ||
			strstr(s->confidence_inputs[i],
				"headroom of Ethernet2 peaks at 118 KB, above the 100 KB");
	assert_true(said && s->confidence_ratio < sure);
}

/* ---- row 4 --------------------------------------------------------------- */

static void make_incast(struct tune_world *w)
{
	/* several: one alone would be a host that does not slow down */
	for (unsigned k = 0; k < HOSTS; k++)
		if (k != 2)
			tune_pause(&w->prios[0][k], 0.05);
	w->prios[0][2].marked = 2e5;
	w->prios[0][2].recent_marks = 0xff;
	w->prios[0][2].inputs = 3;
}

static void incast_gets_buffer_where_there_is_some(void **state)
{
	struct tune_world *w = *state;
	make_incast(w);
	const struct tune_sheet *s = change(w, "incast");
	assert_int_equal(s->changes[0].knob, KNOB_ALPHA);
	/* q_PFC(3) = 4.4 MB */
	assert_true(s->changes[0].proposed == 0.25);
	assert_true(s->n_changes == 2 && tune_change_of(s, KNOB_KMAX)->proposed >= 4e6 - 256);
}

static void a_wide_ramp_and_one_out_of_reach_stay(void **state)
{
	struct tune_world *w = *state;
	make_incast(w);
	set_all(w, 0, 1e6, 4e6, 1.0 / 8);
	assert_int_equal(change(w, "incast")->n_changes, 1);
	set_all(w, 0, 7e6, 8e6, 1.0 / 8); /* q_PFC(3) with alpha 1/4 = 6.9 MB */
	assert_int_equal(change(w, "incast")->n_changes, 1);
}

static void incast_that_marks_in_time_is_left_alone_where_there_is_none(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	make_incast(w); /* q_PFC(3) = 4.4 MB; Kmin 1 MB, Kmax 2 MB */
	fill_pool(w);
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_NONE);
	assert_string_equal(s->diagnosis, "incast");
}

/* ---- row 5 --------------------------------------------------------------- */

static void make_early(struct tune_world *w, double kmin)
{
	set_all(w, 0, kmin, 4 * kmin, 1.0 / 8);
	for (unsigned k = 0; k < LEAF_PORTS; k++) {
		w->prios[0][k].marked = 2e5;
		w->prios[0][k].recent_marks = 0xff;
	}
}

/* The spine pauses leaf2: hosts are not, yet the pool is at its end somewhere. */
static void pause_a_link(struct tune_world *w)
{
	tune_pause(&w->prios[2][1], 0.04);
}

/* Nobody pauses anybody: Kmin goes to where senders do not pay for it, at once. */
static void early_goes_to_six_where_nobody_pauses(void **state)
{
	struct tune_world *w = *state;
	make_early(w, 10000);
	set_all(w, 0, 10000, 20000, 1); /* q_PFC 8 MB */
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].pmax = 1;
	const struct tune_sheet *s = change(w, "ecn_early");
	const double kmin = tune_change_of(s, KNOB_KMIN)->proposed,
		     kmax = tune_change_of(s, KNOB_KMAX)->proposed;
	assert_true(fabs(kmin - 3e6) <= 256);
	assert_true(fabs(kmax - 8e6) < 2 * 4200); /* a wide ramp that ends before PFC fires */
	assert_true(tune_change_of(s, KNOB_PMAX)->proposed == 0.05);
	for (size_t i = 0; i < s->n_checks; i++)
		assert_true(s->checks[i].ok);
	/* a spine that pauses a leaf: step by step */
	pause_a_link(w);
	s = change(w, "ecn_early");
	assert_true(fabs(tune_change_of(s, KNOB_KMIN)->proposed - 5e5) <= 256);
	assert_null(tune_change_of(s, KNOB_PMAX));
}

/* Half of q_PFC is less than a bandwidth-delay product: as much as that, and not a cell more. */
static void early_goes_as_far_as_there_is_room(void **state)
{
	struct tune_world *w = *state;
	make_early(w, 10000);
	w->seen[0].pool_bytes = 8.0001e6; /* q_PFC 889 KB */
	const double kmin = tune_change_of(change(w, "ecn_early"), KNOB_KMIN)->proposed;
	assert_true(kmin <= 0.5 * 8.0001e6 / 9 && kmin > 0.5 * 8.0001e6 / 9 - 512);
}

/* Links that are paused for long have queues that PFC bounds: later marks let more of them. */
static void early_waits_where_links_are_paused(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	make_early(w, 10000);
	tune_pause(&w->prios[2][1], 0.051);
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_WATCH);
	assert_string_equal(s->diagnosis, "ecn_early");
	tune_pause(&w->prios[2][1], 0.049);
	assert_int_equal(tune_first(w, &l)->advice, ADVICE_CHANGE);
}

/* One queue of many that mark, and Kmin not far below: only where no switch pauses. */
static void one_early_queue_is_enough_where_nobody_pauses(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	set_all(w, 0, 200000, 400000, 1); /* 0.4 bandwidth-delay products */
	w->prios[0][0].marked = 2e5;
	w->prios[0][0].recent_marks = 0xff;
	assert_true(change(w, "ecn_early")->confidence_ratio <= 0.5);
	tune_pause(&w->prios[0][HOSTS], 0.02);
	assert_int_not_equal(tune_first(w, &l)->advice, ADVICE_CHANGE);
}

/* No host is at a spine, and none is paused where the spine pauses nobody. */
static void early_at_a_spine_is_raised_as_well(void **state)
{
	struct tune_world *w = *state;
	for (unsigned k = 0; k < 2; k++) {
		w->prios[2][k].kmin = 10000;
		w->prios[2][k].kmax = 40000;
		w->prios[2][k].marked = 2e5;
		w->prios[2][k].recent_marks = 0xff;
	}
	assert_string_equal(change(w, "ecn_early")->device, "spine1");
}

static void early_goes_to_one_bandwidth_delay_product(void **state)
{
	struct tune_world *w = *state;
	make_early(w, 10000);
	pause_a_link(w);
	const struct tune_sheet *s = change(w, "ecn_early");
	const struct tune_change *kmin = tune_change_of(s, KNOB_KMIN),
				 *kmax = tune_change_of(s, KNOB_KMAX);
	assert_true(kmin->proposed >= 500000 && kmin->proposed < 501000);
	assert_true(kmax->proposed > kmin->proposed);
	assert_true(&s->changes[0] == kmax); /* raising: Kmax first */
	for (size_t i = 0; i < s->n_checks; i++)
		assert_true(s->checks[i].ok);
}

static void early_at_most_doubles_from_there(void **state)
{
	struct tune_world *w = *state;
	make_early(w, 400000);
	pause_a_link(w);
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].kmax = 800000;
	const struct tune_sheet *s = change(w, "ecn_early");
	const double kmin = tune_change_of(s, KNOB_KMIN)->proposed,
		     kmax = tune_change_of(s, KNOB_KMAX)->proposed;
	assert_true(kmin <= 800000 && kmin > 800000 - 256);
	assert_true(fabs(kmax - 1.6e6) <= 256); /* by the same factor */
	/* a ramp that was hardly one is four packets wide at least */
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].kmax = 400100;
	assert_true(tune_change_of(change(w, "ecn_early"), KNOB_KMAX)->proposed >=
		800000 + 4 * 4200 - 256);
}

/* Uplinks of twice the speed have twice of everything, and get twice of everything; more than there
 * is room for nobody gets. */
static void early_is_raised_in_proportion(void **state)
{
	static const struct {
		double host, up; /* Kmin */
		double host_after, up_after, up_kmax_after;
	} rows[] = {
		{400000, 800000, 800000, 1600000, 3200000},
		/* a single input reaches 1.72 MB beside the headroom of all ports */
		{600000, 1200000, 1200000, 1705000, 4800000},
	};
	struct tune_world *w = *state;
	pause_a_link(w);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		set_all(w, 0, rows[i].host, 2 * rows[i].host, 1.0 / 8);
		make_by_speed(w);
		for (unsigned k = 0; k < LEAF_PORTS; k++)
			w->prios[0][k].inputs = 4;
		const struct tune_plan plan = plan_of(w, FAMILY_ECN_UP);
		assert_int_equal(plan.n_changes, 4);
		const double expected[] = {2 * rows[i].host_after, rows[i].up_kmax_after,
			rows[i].host_after, rows[i].up_after};
		for (size_t k = 0; k < 4; k++)
			if (fabs(plan.changes[k].proposed - expected[k]) > 256)
				fail_msg("%zu, %zu: %.0f", i, k, plan.changes[k].proposed);
	}
}

/* Kmin is as high as PFC allows: the ramp gets flatter instead, down to one percent. */
static void early_halves_pmax_where_kmin_has_no_room(void **state)
{
	struct tune_world *w = *state;
	set_all(w, 0, 1.8e6, 3e6, 1.0 / 8); /* a single input reaches 1.78 MB, q_PFC(4) = 5.3 MB */
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].inputs = 4;
	struct tune_plan plan = plan_of(w, FAMILY_ECN_UP);
	assert_int_equal(plan.n_changes, 1);
	assert_int_equal(plan.changes[0].knob, KNOB_PMAX);
	assert_true(plan.changes[0].proposed == 0.05);
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].pmax = 0.01;
	assert_int_equal(plan_of(w, FAMILY_ECN_UP).n_changes, 0);
}

/* ---- row 11 -------------------------------------------------------------- */

static void xon_moves_by_one_packet(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	tune_pause(&w->prios[0][0], 0.05);
	w->prios[0][0].episodes_per_s = 40000;
	w->prios[0][0].episode_ns = 1100;
	for (unsigned k = 0; k < LEAF_PORTS; k++) {
		w->prios[0][k].xon_offset = 0;
		w->prios[0][k].inputs = 3;
	}
	const struct tune_sheet *s = change(w, "xon_close");
	assert_int_equal(s->changes[0].knob, KNOB_XON_OFFSET);
	assert_true(s->changes[0].proposed >= 4200 && s->changes[0].proposed < 4200 + 256);
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].xon_offset = 17000; /* four packets apart: no matter of XON */
	assert_string_not_equal(tune_first(w, &l)->diagnosis, "xon_close");
	for (unsigned k = 0; k < LEAF_PORTS; k++) { /* as a level it goes down */
		w->prios[0][k].xon_offset = NAN;
		w->prios[0][k].xoff_level = w->prios[0][k].xon_level = 512000;
	}
	s = change(w, "xon_close");
	assert_int_equal(s->changes[0].knob, KNOB_XON_LEVEL);
	assert_true(s->changes[0].proposed <= 512000 - 4200);
	assert_true(s->changes[0].proposed > 512000 - 4200 - 256);
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].xoff_level = w->prios[0][k].xon_level = 4000;
	assert_int_equal(tune_first(w, &l)->n_changes, 0); /* nothing lies below an empty queue */
}

/* The check tells whether two packets lie between XOFF and XON afterwards; four are the most. */
/* Pause is the brake there: late marks are no matter, and XON is. */
static void xon_moves_where_pause_is_the_brake(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	w->fabric.congestion = CC_PFC_ONLY;
	w->prios[0][0].episodes_per_s = 40000;
	w->prios[0][0].episode_ns = 1100;
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].xon_offset = 0;
	const struct tune_sheet *s = change(w, "xon_close");
	assert_int_equal(s->n_changes, 1);
	assert_int_equal(s->changes[0].knob, KNOB_XON_OFFSET);
}

static void xon_is_checked_for_two_packets(void **state)
{
	static const struct {
		double offset, after;
		bool ok;
	} rows[] = {{0, 4200, false}, {4200, 8400, true}, {14000, 16800, true}};
	struct tune_world *w = *state;
	for (size_t i = 0; i < rw_countof(rows); i++) {
		for (unsigned k = 0; k < LEAF_PORTS; k++)
			w->prios[0][k].xon_offset = rows[i].offset;
		const struct tune_plan plan = plan_of(w, FAMILY_XON);
		assert_int_equal(plan.n_checks, 1);
		assert_true(plan.checks[0].before == rows[i].offset);
		assert_true(plan.checks[0].after == rows[i].after);
		assert_true(plan.checks[0].ok == rows[i].ok);
		assert_true(plan.cost_bytes == 0);
	}
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].xon_offset = NAN; /* not known: it is asked for */
	const struct tune_plan plan = plan_of(w, FAMILY_XON);
	assert_true(plan.n_changes == 0 && plan.n_collect == 1);
}

/* ---- rows 1 and 2 -------------------------------------------------------- */

static void make_loss(struct tune_world *w, unsigned d, unsigned k)
{
	struct tune_prio *l = &w->prios[d][k];
	tune_pause(l, 0.05);
	l->pg_drops = 300;
	l->lost_windows = 6;
	l->full_windows = 6;
	l->headroom = (struct tune_peak){.max = 100000, .windows = 60, .censored = true};
}

static void headroom_without_a_cable_is_a_quarter_more(void **state)
{
	struct tune_world *w = *state;
	make_loss(w, 0, 0);
	for (unsigned k = 0; k < HOSTS; k++)
		w->of[0][k]->cable_mm = 0;
	const struct tune_sheet *s = change(w, "headroom_small");
	assert_int_equal(s->n_changes, 1);
	assert_true(s->changes[0].proposed >= 125000 && s->changes[0].proposed < 125000 + 256);
	assert_string_equal(s->port_group, "hosts");
	assert_non_null(strstr(s->changes[0].why, "all of it: the true need is unknown"));
	/* the uplinks' cables are known, and 100 KB is enough for them */
	assert_true(s->buffer_cost_bytes >= 25000.0 * HOSTS);
}

static void headroom_covers_what_is_in_flight(void **state)
{
	struct tune_world *w = *state;
	make_loss(w, 0, HOSTS);
	w->of[0][HOSTS]->cable_mm = 300000;
	/* 300 m at 400 Gbit/s: 151.5 KB on the wire alone */
	const struct tune_sheet *s = change(w, "headroom_small");
	assert_true(s->changes[0].proposed > 151500 && s->changes[0].proposed < 300000);
	assert_string_equal(s->port_group, "Ethernet5");
}

static void the_formula_counts_where_it_reproduces_the_tables(void **state)
{
	struct tune_world *w = *state;
	make_loss(w, 0, 0);
	w->asic = (struct tune_asic){
		.name = "Spectrum-4", .cell_bytes = 192, .headroom = TUNE_HEADROOM_SPECTRUM};
	w->platforms[0].asic = &w->asic;
	w->fabric.lossless_mtu_bytes = 1024;
	/* SN5600, 400G, 5 m: 231424 (pg_profile_lookup.ini) */
	const double v = change(w, "headroom_small")->changes[0].proposed;
	assert_true(v >= 231424 && v < 231424 + 256);
	/* SN5600, 800G (eight lanes), 5 m: 257024 */
	for (unsigned k = 0; k < HOSTS; k++) {
		w->of[0][k]->speed_bps = 800000000000ull;
		w->tports[0][k].speed_bps = 8e11;
	}
	const double eight = change(w, "headroom_small")->changes[0].proposed;
	if (!(eight >= 257024 && eight < 257024 + 256))
		fail_msg("%.0f", eight);
}

static void peers_show_what_is_enough(void **state)
{
	struct tune_world *w = *state;
	make_loss(w, 0, 0);
	w->in.platforms = NULL;
	for (unsigned k = 0; k < HOSTS; k++) {
		w->prios[1][k].headroom_bytes = 400000;
		w->prios[1][k].tx_windows = 60;
	}
	assert_true(change(w, "headroom_small")->changes[0].proposed >= 400000);
}

static void all_queues_of_the_pool_get_theirs_in_one_sheet(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	make_loss(w, 0, HOSTS);
	w->of[0][HOSTS]->cable_mm = w->of[1][HOSTS]->cable_mm = 300000;
	w->of[2][0]->cable_mm = w->of[2][1]->cable_mm = 300000;
	for (unsigned k = 0; k < HOSTS; k++) {
		w->of[0][k]->cable_mm = w->of[1][k]->cable_mm = 0;
		w->prios[0][k].headroom_bytes = w->prios[1][k].headroom_bytes = 50000;
	}
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_CHANGE);
	/* the uplinks by their cable, the hosts one step: nothing shows that theirs is enough */
	assert_int_equal(s->n_changes, 2);
	assert_int_equal(s->n_ports, LEAF_PORTS);
	assert_string_equal(s->changes[0].port_group, "hosts");
	assert_true(s->changes[0].proposed >= 62500 && s->changes[0].proposed < 63000);
	assert_string_equal(s->changes[1].ports[0], "Ethernet5");
	assert_true(s->changes[1].proposed > 151500);
	/* leaf2 and the spine have the same links, and follow */
	assert_int_equal(s->n_rest, 2);
	for (size_t i = 1; i < l.n; i++)
		assert_int_not_equal(l.v[i].advice, ADVICE_CHANGE);
	/* a host that was paused and did not use all of its headroom has enough */
	for (unsigned k = 0; k < HOSTS; k++) {
		tune_pause(&w->prios[0][k], 0.02);
		w->prios[0][k].headroom = (struct tune_peak){.max = 30000, .windows = 60};
	}
	s = tune_first(w, &l);
	assert_int_equal(s->n_changes, 1);
	assert_string_equal(s->port_group, "Ethernet5");
}

static void a_headroom_of_the_right_size_is_used_by_nearly_all_of_it(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	struct tune_prio *up = &w->prios[0][HOSTS];
	tune_pause(up, 0.05);
	w->of[0][HOSTS]->cable_mm = 300000; /* 151.5 KB on the wire, some 230 KB in all */
	up->headroom_bytes = 300000;
	up->headroom = (struct tune_peak){.max = 280000, .windows = 60};
	up->full_windows = 6;
	assert_string_not_equal(tune_first(w, &l)->diagnosis, "headroom_small");
	up->headroom_bytes = 150000;
	up->headroom.max = 140000;
	assert_string_equal(tune_first(w, &l)->diagnosis, "headroom_small");
}

static void losses_tell_how_large_the_step_is(void **state)
{
	struct tune_world *w = *state;
	make_loss(w, 0, 0);
	for (unsigned k = 0; k < HOSTS; k++)
		w->of[0][k]->cable_mm = 0;
	/* 300 frames of 4,200 bytes in 20 pauses: 63 KB are missing on the average */
	w->prios[0][0].episodes_per_s = 20.0 / 7200;
	w->prios[0][0].pause_watched_ns = 2 * HOUR;
	const double v = change(w, "headroom_small")->changes[0].proposed;
	assert_true(v >= 163000 && v < 163000 + 256);
	/* all of them in one pause: 1.3 MB, and a step is at most the double */
	w->prios[0][0].episodes_per_s = 1.0 / 7200;
	const double most = change(w, "headroom_small")->changes[0].proposed;
	assert_true(most >= 200000 && most < 200000 + 256);
}

/* ---- row 2: less headroom --------------------------------------------------- */

/* A chip whose table gives 231,424 bytes for 400G and 5 m; half a megabyte is set. */
static void make_idle_room(struct tune_world *w)
{
	w->asic = (struct tune_asic){
		.name = "Spectrum-4", .cell_bytes = 192, .headroom = TUNE_HEADROOM_SPECTRUM};
	w->platforms[0].asic = &w->asic;
	w->fabric.lossless_mtu_bytes = 1024;
	w->in.options.allow_reduce = true;
	for (unsigned k = 0; k < LEAF_PORTS; k++) {
		w->of[0][k]->cable_mm = 5000;
		w->prios[0][k].headroom_bytes = 512000;
		w->prios[0][k].headroom = (struct tune_peak){.max = 10000, .windows = 60};
	}
}

static void headroom_goes_down_to_the_calculated_value(void **state)
{
	struct tune_world *w = *state;
	make_idle_room(w);
	struct tune_plan plan = plan_of(w, FAMILY_LESS_HEADROOM);
	assert_int_equal(plan.n_changes, 1);
	assert_int_equal(plan.changes[0].knob, KNOB_HEADROOM);
	const double calculated = plan.changes[0].proposed;
	assert_true(calculated >= 231424 && calculated < 231424 + 256);
	assert_true(fabs(plan.cost_bytes - LEAF_PORTS * (calculated - 512000)) < 1);
	/* one and a half times what was used, where that is more */
	w->prios[0][1].headroom.max = 200000;
	plan = plan_of(w, FAMILY_LESS_HEADROOM);
	assert_true(plan.changes[0].proposed >= 300000 && plan.changes[0].proposed < 300256);
}

static void headroom_goes_down_only_by_permission(void **state)
{
	struct tune_world *w = *state;
	make_idle_room(w);
	w->in.options.allow_reduce = false;
	const struct tune_plan plan = plan_of(w, FAMILY_LESS_HEADROOM);
	assert_int_equal(plan.n_changes, 0);
	assert_true(plan.n_collect > 0);
}

static void headroom_that_was_full_stays(void **state)
{
	struct tune_world *w = *state;
	make_idle_room(w);
	w->prios[0][2].headroom.censored = true;
	const struct tune_plan plan = plan_of(w, FAMILY_LESS_HEADROOM);
	assert_non_null(plan.refused);
	assert_int_equal(plan.n_changes, 0);
}

static void headroom_fits_the_longest_cable_of_the_profile(void **state)
{
	struct tune_world *w = *state;
	make_idle_room(w);
	const double near = plan_of(w, FAMILY_LESS_HEADROOM).changes[0].proposed;
	w->of[0][3]->cable_mm = 100000; /* 95 m more, both ways: 50 KB on the wire */
	const struct tune_plan plan = plan_of(w, FAMILY_LESS_HEADROOM);
	assert_int_equal(plan.n_changes, 1);
	assert_true(plan.changes[0].proposed > near + 45000);
	w->of[0][3]->cable_mm = 0;
	assert_int_equal(plan_of(w, FAMILY_LESS_HEADROOM).n_changes, 0);
}

static void alpha_gives_back_what_the_smaller_pool_takes(void **state)
{
	struct tune_world *w = *state;
	make_loss(w, 0, 0);
	set_all(w, 0, 1.75e6, 3e6, 1.0 / 8);
	w->seen[0].pool_bytes = 18e6;
	for (unsigned k = 0; k < LEAF_PORTS; k++) {
		w->prios[0][k].inputs = 2; /* q_PFC(2) = 3.6 MB: Kmin is just below half */
		w->prios[0][k].headroom_bytes = 800000;
	}
	/* a quarter more, four times: 0.8 MB, and q_PFC is 3.4 MB */
	w->prios[0][0].headroom.max = 800000;
	const struct tune_change *alpha = tune_change_of(change(w, "headroom_small"), KNOB_ALPHA);
	assert_non_null(alpha);
	assert_true(alpha->proposed == 0.25);
	/* where alpha cannot be set the order gets tighter: that is no reason to keep it too small
	 */
	w->prios[0][0].lost_windows = 0;
	w->prios[0][0].pg_drops = 0;
	all_settable(w, 256);
	w->profile.knobs[KNOB_ALPHA].settable = false;
	const struct tune_sheet *s = change(w, "headroom_small");
	assert_null(tune_change_of(s, KNOB_ALPHA));
	assert_non_null(tune_change_of(s, KNOB_HEADROOM));
	w->platforms[0].profile = NULL;
	set_all(w, 0, 1e6, 3e6, 1.0 / 8);
	assert_null(tune_change_of(change(w, "headroom_small"), KNOB_ALPHA));
}

/* q_PFC(3) = 3.75 MB, alpha cannot be doubled; what 0.8 MB of headroom leave gives 3.15 MB. */
static void make_turning(struct tune_world *w)
{
	make_loss(w, 0, 0);
	set_all(w, 0, 3.6e6, 5e6, 1);
	w->seen[0].pool_bytes = 5e6;
	for (unsigned k = 0; k < LEAF_PORTS; k++) {
		w->prios[0][k].inputs = 3;
		w->prios[0][k].headroom_bytes = 800000;
	}
	w->prios[0][0].headroom.max = 800000;
}

static void loss_goes_before_the_order_of_ecn_and_pfc(void **state)
{
	struct tune_world *w = *state;
	make_turning(w);
	const struct tune_sheet *s = change(w, "headroom_small");
	assert_true(tune_change_of(s, KNOB_HEADROOM)->proposed >= 1e6);
	assert_null(tune_change_of(s, KNOB_ALPHA));
	assert_true(has_step(s, "then, when this is verified: Kmin and Kmax down"));
	assert_false(has_step(s, "lower Kmin first"));
}

static void without_loss_headroom_must_not_put_pfc_before_ecn(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	make_turning(w);
	w->prios[0][0].lost_windows = 0;
	w->prios[0][0].pg_drops = 0;
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_BLOCKED);
	assert_non_null(strstr(s->summary, "PFC would fire before ECN"));
	assert_int_equal(s->n_changes, 0);
	/* one order, not two */
	assert_true(has_step(s, "lower Kmin first"));
	assert_false(has_step(s, "do not lower alpha or Kmin first"));
}

/* One port may take all of the pool, and did: headroom alone comes from what is not there. */
static void alpha_above_one_goes_down_with_the_headroom(void **state)
{
	struct tune_world *w = *state;
	make_loss(w, 0, 0);
	set_all(w, 0, 1e6, 2e6, 64);
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].inputs = 2;
	w->seen[0].pool = (struct tune_peak){.max = 15.97e6, .windows = 60};
	const struct tune_sheet *s = change(w, "headroom_small");
	assert_int_equal(s->changes[0].knob, KNOB_ALPHA); /* before the headroom goes up */
	assert_true(s->changes[0].current == 64 && s->changes[0].proposed == 4);
	assert_int_equal(s->changes[0].n_ports, 0); /* of all ports */
	assert_true(tune_change_of(s, KNOB_HEADROOM)->proposed >= 125000);
	assert_false(has_step(s, "do not lower alpha"));
	assert_null(strstr(s->risk, "PFC fires later"));
	/* the headroom was not full: the pool was */
	w->prios[0][0].full_windows = 0;
	w->prios[0][0].headroom = (struct tune_peak){.max = 50000, .windows = 60};
	assert_true(tune_change_of(change(w, "pool_exhausted"), KNOB_ALPHA)->proposed == 4);
	/* no further than that, as long as headroom is what lacks */
	set_all(w, 0, 1e6, 2e6, 4);
	assert_null(tune_change_of(change(w, "pool_exhausted"), KNOB_ALPHA));
	/* with 1 already, it is said what to give up */
	struct tune_list l;
	make_loss(w, 0, 0);
	set_all(w, 0, 1e6, 2e6, 1);
	assert_int_equal(tune_first(w, &l)->advice, ADVICE_BLOCKED);
}

/* Ports are spread over the slices of a buffer, and each pays from its own. */
static void each_slice_pays_for_its_ports(void **state)
{
	struct tune_world *w = *state;
	make_loss(w, 0, 0);
	const double all = change(w, "headroom_small")->buffer_cost_bytes;
	assert_true(all >= 25000.0 * HOSTS);
	w->seen[0].pool_slices = 4;
	assert_true(fabs(change(w, "headroom_small")->buffer_cost_bytes - all / 4) < 1);
	/* 4 MB a slice, 26 KB of them free: what 100 KB in all need of it */
	w->seen[0].pool = (struct tune_peak){.max = 16e6 - 4 * 26e3, .windows = 60};
	assert_true(change(w, "headroom_small")->changes[0].proposed >= 125000);
}

/* What nobody misses yet waits where the pool cannot hold both. */
static void ports_that_lose_nothing_can_wait(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	struct tune_prio *up = &w->prios[0][HOSTS];
	make_loss(w, 0, 0);
	w->of[0][HOSTS]->cable_mm = 300000; /* 230 KB in flight, by the cable */
	for (unsigned k = 1; k <= HOSTS;
		k += HOSTS - 1) { /* a host as well: its kind loses all the same */
		tune_pause(&w->prios[0][k], 0.02);
		w->prios[0][k].headroom = (struct tune_peak){.max = 60000, .windows = 60};
	}
	const struct tune_sheet *s = change(w, "headroom_small");
	const double both = s->buffer_cost_bytes;
	assert_string_equal(s->port_group, "all");
	w->seen[0].pool = (struct tune_peak){.max = 16e6 - both + 50000, .windows = 60};
	s = change(w, "headroom_small");
	assert_string_equal(s->port_group, "hosts");
	assert_true(s->changes[0].proposed >= 125000);
	up->tx_windows = 0; /* nothing shows that what it has is enough */
	assert_int_equal(tune_first(w, &l)->advice, ADVICE_BLOCKED);
	/* where it loses frames itself it cannot */
	up->tx_windows = 60;
	up->pg_drops = 300;
	up->lost_windows = up->full_windows = 6;
	s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_BLOCKED);
	assert_non_null(strstr(s->summary, "cannot hold 5 lossless queues"));
}

static void a_pool_that_cannot_hold_them_says_what_to_give_up(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	make_loss(w, 0, 0);
	w->seen[0].pool = (struct tune_peak){.max = 15.97e6, .windows = 60};
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_BLOCKED);
	assert_non_null(strstr(s->summary, "cannot hold 5 lossless queues"));
	assert_true(s->n_next_steps >= 3);
	/* room for a smaller step of all of them */
	w->seen[0].pool.max = 15.94e6;
	s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_CHANGE);
	assert_true(s->changes[0].proposed > 110000 && s->changes[0].proposed < 125000);
	/* and that is what it costs, not the whole step */
	assert_true(fabs(s->buffer_cost_bytes - HOSTS * (s->changes[0].proposed - 100000)) < 1100);
}

static void a_shared_headroom_pool_is_raised_itself(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	make_loss(w, 0, 0);
	w->seen[0].shp_ratio = 2;
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_WATCH);
	assert_int_equal(s->n_changes, 0);
	assert_true(s->n_next_steps > 0);
}

static void the_platform_bounds_and_rounds(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	make_loss(w, 0, 0);
	all_settable(w, 4096);
	const struct tune_sheet *s = change(w, "headroom_small");
	assert_int_equal((int64_t)s->changes[0].proposed % 4096, 0);
	assert_true(s->changes[0].proposed >= 125000);
	/* nobody else is bound to it; leaf2 has the same on the same cables, and follows */
	assert_int_equal(s->n_affected, HOSTS + 1);
	assert_string_equal(s->rest[0], "leaf2");
	assert_false(s->job_boundary);
	w->profile.knobs[KNOB_HEADROOM].disruption = DISRUPTION_QUEUE_FLUSH;
	assert_true(change(w, "headroom_small")->job_boundary);
	w->profile.knobs[KNOB_HEADROOM].max = 110000;
	assert_int_not_equal(tune_first(w, &l)->advice, ADVICE_CHANGE);
	w->profile.knobs[KNOB_HEADROOM].settable = false;
	assert_int_not_equal(tune_first(w, &l)->advice, ADVICE_CHANGE);
}

/* Kmax in steps of 4 MB: none lies between Kmin and the 3.1 MB at which PFC fires. */
static void rounding_must_not_put_kmax_behind_pfc(void **state)
{
	struct tune_world *w = *state;
	struct tune_list l;
	tune_make_late(w, 0);
	fill_pool(w);
	all_settable(w, 256);
	assert_non_null(tune_change_of(change(w, "ecn_late"), KNOB_KMAX));
	w->profile.knobs[KNOB_KMAX].step = 4e6;
	const struct tune_sheet *s = tune_first(w, &l);
	assert_int_equal(s->advice, ADVICE_WATCH);
	assert_int_equal(s->n_changes, 0);
	assert_non_null(strstr(s->summary, "would not be in order below"));
}

/* Kmin in steps of 2 MB: the least that can be written is more than half of 3.1 MB. */
static void rounding_must_not_put_kmin_above_half_of_pfc(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	fill_pool(w);
	all_settable(w, 256);
	w->profile.knobs[KNOB_KMIN].step = 2e6;
	const struct tune_plan plan = plan_of(w, FAMILY_ALPHA_THEN_ECN);
	assert_int_equal(plan.n_changes, 0);
	assert_non_null(plan.refused);
	assert_non_null(strstr(plan.refused, "would not be in order below"));
}

/* In steps of 2 MB both end at the same value: no ramp is left. */
static void rounding_must_not_make_kmin_and_kmax_one(void **state)
{
	struct tune_world *w = *state;
	make_early(w, 10000);
	pause_a_link(w);
	set_all(w, 0, 10000, 40000, 1); /* half of q_PFC is 4 MB: that is not what refuses it */
	all_settable(w, 2e6);
	const struct tune_plan plan = plan_of(w, FAMILY_ECN_UP);
	assert_int_equal(plan.n_changes, 0);
	assert_non_null(plan.refused);
}

/* Kmin and Kmax could be set, Pmax cannot: a part of a ramp is none. */
static void what_is_refused_changes_nothing(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	fill_pool(w);
	all_settable(w, 256);
	for (unsigned k = 0; k < LEAF_PORTS; k++)
		w->prios[0][k].pmax = 1;
	w->profile.knobs[KNOB_PMAX].settable = false;
	const struct tune_plan plan = plan_of(w, FAMILY_ALPHA_THEN_ECN);
	assert_non_null(plan.refused);
	assert_int_equal(plan.n_changes, 0);
}

static void shares_of_a_queue_end_at_all_of_it(void **state)
{
	struct tune_world *w = *state;
	tune_make_late(w, 0);
	fill_pool(w);
	for (size_t k = 0; k < TUNE_KNOBS; k++)
		w->profile.knobs[k] = (struct tune_knob_rule){.settable = true,
			.object = "P",
			.unit = TUNE_PERCENT,
			.step = 1,
			.min = 0,
			.max = 100};
	w->platforms[0].profile = &w->profile;
	const struct tune_change *kmax = tune_change_of(change(w, "ecn_late"), KNOB_KMAX);
	const double limit = dt_limit_bytes(16e6, 1.0 / 8, 1); /* 1.78 MB; 3.1 MB were wanted */
	assert_true(fabs(kmax->proposed - limit) < 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(alpha_comes_before_marks),
		T(alpha_is_doubled_where_the_model_is_in_doubt),
		T(four_exponents_at_most),
		T(alpha_stays_within_its_share_of_the_pool),
		T(marks_come_on_a_wide_ramp),
		T(incast_is_absorbed_as_far_as_the_pool_goes),
		T(marks_need_somebody_who_gains),
		T(marks_have_to_be_worth_it),
		T(a_sheet_says_what_it_is_worth),
		T(a_profile_in_proportion_to_speed_is_one),
		T(alpha_changes_where_packets_come_in),
		T(with_two_speeds_only_those_get_more_where_it_begins),
		T(a_switch_follows_with_ports_that_have_no_sheet_of_their_own),
		T(writers_to_storage_are_told_first),
		T(alpha_stays_for_writes_to_storage),
		T(one_host_hardly_paused_is_left_alone),
		T(a_small_buffer_has_no_place_for_ecn),
		T(unknown_slices_halve_the_pool_and_the_confidence),
		T(a_queue_as_deep_as_the_whole_pool_allows_settles_the_slices),
		T(incast_gets_buffer_where_there_is_some),
		T(marks_move_away_with_pfc),
		T(a_headroom_peak_above_its_size_is_said),
		T(a_wide_ramp_and_one_out_of_reach_stay),
		T(incast_that_marks_in_time_is_left_alone_where_there_is_none),
		T(early_goes_to_six_where_nobody_pauses),
		T(early_at_a_spine_is_raised_as_well),
		T(early_goes_as_far_as_there_is_room),
		T(early_waits_where_links_are_paused),
		T(one_early_queue_is_enough_where_nobody_pauses),
		T(early_goes_to_one_bandwidth_delay_product),
		T(early_at_most_doubles_from_there),
		T(early_is_raised_in_proportion),
		T(early_halves_pmax_where_kmin_has_no_room),
		T(xon_is_checked_for_two_packets),
		T(xon_moves_by_one_packet),
		T(xon_moves_where_pause_is_the_brake),
		T(headroom_without_a_cable_is_a_quarter_more),
		T(headroom_covers_what_is_in_flight),
		T(the_formula_counts_where_it_reproduces_the_tables),
		T(peers_show_what_is_enough),
		T(all_queues_of_the_pool_get_theirs_in_one_sheet),
		T(a_headroom_of_the_right_size_is_used_by_nearly_all_of_it),
		T(losses_tell_how_large_the_step_is),
		T(headroom_goes_down_to_the_calculated_value),
		T(headroom_goes_down_only_by_permission),
		T(headroom_that_was_full_stays),
		T(headroom_fits_the_longest_cable_of_the_profile),
		T(alpha_gives_back_what_the_smaller_pool_takes),
		T(loss_goes_before_the_order_of_ecn_and_pfc),
		T(without_loss_headroom_must_not_put_pfc_before_ecn),
		T(alpha_above_one_goes_down_with_the_headroom),
		T(each_slice_pays_for_its_ports),
		T(ports_that_lose_nothing_can_wait),
		T(a_pool_that_cannot_hold_them_says_what_to_give_up),
		T(a_shared_headroom_pool_is_raised_itself),
		T(the_platform_bounds_and_rounds),
		T(rounding_must_not_put_kmax_behind_pfc),
		T(rounding_must_not_put_kmin_above_half_of_pfc),
		T(rounding_must_not_make_kmin_and_kmax_one),
		T(what_is_refused_changes_nothing),
		T(shares_of_a_queue_end_at_all_of_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
