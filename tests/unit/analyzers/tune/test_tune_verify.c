/* tune_verify: known effects are found, none is found where there is none, and what cannot be
 * compared is said to be inconclusive. */
#include <errno.h>
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
#include "analyzers/tune/tune_verify.h"

#define N 400
#define PORTS 40

struct play { /* one side: means, and how much of the noise a window shares with the one before */
	double pause, rate, noise, kin, drops_per_window;
	unsigned senders;
	size_t n;
};

static double uniform(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (double)(*seed >> 8) / (1 << 24) - 0.5;
}

static double normal(uint32_t *seed) /* sum of twelve: near enough */
{
	double s = 0;
	for (int k = 0; k < 12; k++)
		s += uniform(seed);
	return s;
}

static void make(const struct play *p, uint32_t *seed, struct verify_window *v)
{
	double shared = 0;
	for (size_t k = 0; k < p->n; k++) {
		shared = p->kin * shared + sqrt(1 - p->kin * p->kin) * normal(seed);
		v[k] = (struct verify_window){.from_ns = (int64_t)k * NS_PER_S,
			.to_ns = (int64_t)(k + 1) * NS_PER_S,
			.busy = true,
			.senders = p->senders,
			.marks = 0.01,
			.frames = NAN};
		v[k].load = p->rate * (1 + p->noise * shared);
		v[k].pause = fmax(0, p->pause * (1 + 0.3 * normal(seed)));
		v[k].drops = p->drops_per_window;
	}
}

static enum verify_verdict compare(const struct play *b, const struct play *a,
	enum verify_match match, uint32_t seed, struct arena *arena, struct verify_result *r)
{
	struct verify_window *before = arena_array(arena, struct verify_window, N),
			     *after = arena_array(arena, struct verify_window, N);
	make(b, &seed, before);
	make(a, &seed, after);
	tune_verify(&(struct verify_in){.before = before,
			    .after = after,
			    .n_before = b->n,
			    .n_after = a->n,
			    .match = match,
			    .arena = arena},
		r);
	return r->verdict;
}

static const struct play usual = {
	.pause = 0.05, .rate = 1e9, .noise = 0.02, .kin = 0.5, .senders = 16, .n = 100};

static void test_known_effects(void **state)
{
	static const struct {
		const char *what;
		struct play after;
		enum verify_match match;
		enum verify_verdict verdict;
	} rows[] = {
		{"pause gone, speed kept", {0.001, 1e9, 0.02, 0.5, 0, 16, 100}, VERIFY_JOB,
			VERIFY_KEEP},
		{"pause gone, load matched", {0.001, 1e9, 0.02, 0.5, 0, 16, 100}, VERIFY_LOAD,
			VERIFY_KEEP},
		{"pause gone, all windows", {0.001, 1e9, 0.02, 0.5, 0, 16, 100}, VERIFY_NONE,
			VERIFY_KEEP},
		{"pause gone at the price of speed", {0.001, 0.93e9, 0.02, 0.5, 0, 16, 100},
			VERIFY_JOB, VERIFY_ROLL_BACK},
		{"load fell out of reach of what it was", {0.001, 0.93e9, 0.02, 0.5, 0, 16, 100},
			VERIFY_LOAD, VERIFY_INCONCLUSIVE},
		{"faster", {0.05, 1.06e9, 0.02, 0.5, 0, 16, 100}, VERIFY_JOB, VERIFY_KEEP},
		{"one lossless drop a window, none before", {0.001, 1e9, 0.02, 0.5, 1, 16, 100},
			VERIFY_JOB, VERIFY_ROLL_BACK},
		{"too few windows", {0.001, 1e9, 0.02, 0.5, 0, 16, 19}, VERIFY_JOB,
			VERIFY_INCONCLUSIVE},
		{"few windows, but drops", {0.001, 1e9, 0.02, 0.5, 1, 16, 5}, VERIFY_JOB,
			VERIFY_ROLL_BACK},
		{"another job: half of the hosts", {0.001, 0.5e9, 0.02, 0.5, 0, 8, 100}, VERIFY_JOB,
			VERIFY_INCONCLUSIVE},
		{"load changed beyond all bins", {0.001, 0.2e9, 0.02, 0.5, 0, 16, 100}, VERIFY_LOAD,
			VERIFY_INCONCLUSIVE},
		{"pause gone, speed unknown", {0.001, NAN, 0.02, 0.5, 0, 16, 100}, VERIFY_NONE,
			VERIFY_INCONCLUSIVE},
		{"nothing", {0.05, 1e9, 0.02, 0.5, 0, 16, 100}, VERIFY_JOB, VERIFY_INCONCLUSIVE},
	};
	for (size_t k = 0; k < rw_countof(rows); k++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		struct verify_result r;
		const enum verify_verdict got =
			compare(&usual, &rows[k].after, rows[k].match, 7, a, &r);
		if (got != rows[k].verdict)
			fail_msg("%s: %s (%s), expected %s", rows[k].what, verify_verdict_name(got),
				r.why, verify_verdict_name(rows[k].verdict));
		assert_non_null(r.why);
	}
}

/* The interval holds the true effect, and the numbers are those that were put in. */
static void test_numbers(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct verify_result r;
	struct play after = usual;
	after.pause = 0.01;
	after.rate = 1.25e9;
	compare(&usual, &after, VERIFY_NONE, 3, a, &r);
	assert_true(fabs(r.effects[VERIFY_PAUSE].delta + 0.04) < 0.004);
	assert_true(r.effects[VERIFY_PAUSE].low <= -0.04 && -0.04 <= r.effects[VERIFY_PAUSE].high);
	assert_true(fabs(r.effects[VERIFY_STEP].delta + 0.2) < 0.01);
	assert_true(r.effects[VERIFY_STEP].low <= -0.2 && -0.2 <= r.effects[VERIFY_STEP].high);
	assert_string_equal(r.effects[VERIFY_STEP].judgement, "better");
	assert_int_equal(r.n_before, 100);
}

/* Pause is gone, but how fast the job gets on is known to some 15 % only: mostly that is not
 * enough. */
static void test_noisy(void **state)
{
	struct play before = usual, after = usual;
	unsigned kept = 0;
	before.noise = after.noise = 0.15;
	before.n = after.n = 40;
	after.pause = 0.001;
	for (uint32_t seed = 1; seed <= 20; seed++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		struct verify_result r;
		kept += compare(&before, &after, VERIFY_NONE, seed * 7919, a, &r) == VERIFY_KEEP;
	}
	assert_in_range(kept, 0, 5);
	/* and longer steps are no harm as long as chance explains them */
	unsigned rolled_back = 0;
	for (uint32_t seed = 1; seed <= 20; seed++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		struct verify_result r;
		rolled_back += compare(&before, &before, VERIFY_NONE, seed * 7919, a, &r) ==
			VERIFY_ROLL_BACK;
	}
	assert_in_range(rolled_back, 0, 3);
}

/* Steps that are shorter by less than the noise of steps are no gain, surely or not; and where
 * they are shorter by more, pause that rose does not outweigh it. */
static void test_small_gain(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct verify_result r;
	struct play before = usual, after = usual;
	before.noise = after.noise = 0.002;
	after.rate = 1.025e9;
	assert_int_equal(compare(&before, &after, VERIFY_JOB, 5, a, &r), VERIFY_INCONCLUSIVE);
	after.rate = 1.2e9;
	after.pause = 0.08;
	assert_int_equal(compare(&before, &after, VERIFY_JOB, 5, a, &r), VERIFY_KEEP);
	assert_string_equal(r.effects[VERIFY_PAUSE].judgement, "worse");
}

/* A bound stands at 100 % on both sides: frames tell. */
static void test_bound(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct verify_window before[100], after[100];
	struct verify_result r;
	uint32_t seed = 3;
	make(&usual, &seed, before);
	make(&usual, &seed, after);
	for (size_t k = 0; k < 100; k++) {
		before[k].pause = after[k].pause = 1;
		before[k].pause_bound = after[k].pause_bound = true;
		before[k].frames = 50000 * (1 + 0.1 * normal(&seed));
		after[k].frames = 20000 * (1 + 0.1 * normal(&seed));
	}
	struct verify_in in = {.before = before,
		.after = after,
		.n_before = 100,
		.n_after = 100,
		.match = VERIFY_JOB,
		.arena = a};
	tune_verify(&in, &r);
	assert_int_equal(r.verdict, VERIFY_KEEP);
	assert_true(r.pause_bound);
	assert_string_equal(r.effects[VERIFY_PAUSE].judgement, "no change seen");
	assert_string_equal(r.effects[VERIFY_FRAMES].judgement, "better");
	for (size_t k = 0; k < 100; k++)
		after[k].frames = before[k].frames;
	tune_verify(&in, &r);
	assert_int_equal(r.verdict, VERIFY_INCONCLUSIVE);
}

/* Longer steps are harm by themselves, however much pause they saved. */
static void test_steps_before_pause(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct verify_result r;
	struct play before = usual, after = usual;
	before.pause = 0.6;
	after.pause = 0.001;
	after.rate = 0.94e9;
	assert_int_equal(compare(&before, &after, VERIFY_JOB, 5, a, &r), VERIFY_ROLL_BACK);
	assert_true(r.effects[VERIFY_J].delta < 0);
	assert_non_null(strstr(r.why, "longer"));
}

/* Drops there were before: gone is an effect when enough were to be expected; one or two are not.
 */
static void test_drops(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct verify_result r;
	struct play before = usual, after = usual;
	before.drops_per_window = 1;
	assert_int_equal(compare(&before, &after, VERIFY_JOB, 5, a, &r), VERIFY_KEEP);
	before.drops_per_window = 0.02;
	assert_int_equal(compare(&before, &after, VERIFY_JOB, 5, a, &r), VERIFY_INCONCLUSIVE);
	after.drops_per_window = 3;
	before.drops_per_window = 1;
	assert_int_equal(compare(&before, &after, VERIFY_JOB, 5, a, &r), VERIFY_ROLL_BACK);
	before.drops_per_window = after.drops_per_window = 3; /* as many as before */
	assert_int_equal(compare(&before, &after, VERIFY_JOB, 5, a, &r), VERIFY_INCONCLUSIVE);
}

/* Drops are packets, and packets a second: their end counts from the tenth on that was to be
 * expected. */
static void test_drops_are_packets(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct verify_result r;
	struct play before = usual, after = usual;
	before.drops_per_window = 3;
	after.drops_per_window = 2;
	compare(&before, &after, VERIFY_JOB, 5, a, &r);
	const struct verify_effect *effect = &r.effects[VERIFY_DROPS];
	assert_true(r.drops_before == 300 && r.drops_after == 200);
	assert_true(effect->before == 3 && effect->after == 2 && effect->delta == -1);
	assert_true(effect->low >= -1.001 && effect->high <= -0.999);
	assert_string_equal(effect->judgement, "better");
	after.drops_per_window = 0;
	before.drops_per_window = 9.0 / 100; /* a second; as long a time after */
	assert_int_equal(compare(&before, &after, VERIFY_JOB, 5, a, &r), VERIFY_INCONCLUSIVE);
	before.drops_per_window = 11.0 / 100;
	assert_int_equal(compare(&before, &after, VERIFY_JOB, 5, a, &r), VERIFY_KEEP);
}

/*
 * Where nothing changed, a verdict is wrong. Neighbouring windows are alike (0.5, 0.8): an interval
 * that takes them for independent would be wrong several times as often.
 */
static void test_null(void **state)
{
	static const struct {
		double kin;
		size_t n;
		unsigned wrong_max;
	} rows[] = {{0, 20, 10}, {0, 100, 10}, {0.5, 20, 12}, {0.5, 100, 12}, {0.8, 200, 15}};
	for (size_t k = 0; k < rw_countof(rows); k++) {
		unsigned wrong = 0, outside = 0;
		for (uint32_t seed = 1; seed <= 100; seed++) {
			rw_cleanup(arena_freep) struct arena *a = arena_new();
			struct verify_result r;
			struct play p = usual;
			p.kin = rows[k].kin;
			p.n = rows[k].n;
			wrong += compare(&p, &p, VERIFY_NONE, seed * 7919, a, &r) !=
				VERIFY_INCONCLUSIVE;
			outside +=
				r.effects[VERIFY_STEP].low > 0 || r.effects[VERIFY_STEP].high < 0;
		}
		print_message("kin %.1f, %3zu windows: %u of 100 verdicts, %u step intervals "
			      "without zero\n",
			rows[k].kin, rows[k].n, wrong, outside);
		assert_true(wrong <= rows[k].wrong_max);
		assert_true(outside <= rows[k].wrong_max);
	}
}

static void test_left_out(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct verify_window before[N], after[N];
	struct verify_result r;
	uint32_t seed = 1;
	make(&usual, &seed, before);
	make(&usual, &seed, after);
	for (size_t k = 0; k < 30; k++)
		before[k].spoiled = true;
	for (size_t k = 0; k < 20; k++)
		after[k].busy = false;
	after[50].load = 0.1e9; /* a checkpoint */
	tune_verify(&(struct verify_in){.before = before,
			    .after = after,
			    .n_before = 100,
			    .n_after = 100,
			    .match = VERIFY_JOB,
			    .arena = a},
		&r);
	assert_int_equal(r.n_spoiled, 30);
	assert_int_equal(r.n_idle, 20);
	assert_int_equal(r.n_unmatched, 1);
	assert_int_equal(r.n_before, 70);
	assert_int_equal(r.n_after, 79);
	tune_verify(&(struct verify_in){.match = VERIFY_LOAD, .arena = a}, &r);
	assert_int_equal(r.verdict, VERIFY_INCONCLUSIVE);
}

/* Of forty ports three fell and one rose; the others, looked at forty times, must not be named. */
static void test_ports(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct verify_window before[N], after[N];
	struct verify_result r;
	uint32_t seed = 11;
	struct play p = usual;
	p.n = 200;
	make(&p, &seed, before);
	make(&p, &seed, after);
	for (size_t k = 0; k < 200; k++) {
		float *b = arena_array(a, float, PORTS), *f = arena_array(a, float, PORTS);
		for (size_t i = 0; i < PORTS; i++) {
			b[i] = (float)(0.05 + 0.01 * normal(&seed));
			f[i] = (float)(0.05 + 0.01 * normal(&seed) +
				(i < 3                   ? -0.03
						: i == 7 ? 0.03
							 : 0));
		}
		before[k].ports = b;
		after[k].ports = f;
	}
	tune_verify(&(struct verify_in){.before = before,
			    .after = after,
			    .n_before = 200,
			    .n_after = 200,
			    .n_ports = PORTS,
			    .match = VERIFY_NONE,
			    .arena = a},
		&r);
	assert_int_equal(r.n_ports_tested, PORTS);
	assert_in_range(r.n_ports_better, 3, 4); /* a rate of false ones, not their absence */
	for (size_t k = 0; k < 3; k++)
		assert_int_equal(r.ports_better[k], k);
	assert_in_range(r.n_ports_worse, 1, 2);
	assert_int_equal(r.ports_worse[0], 7);
}

/* Against values worked out by hand, and what R's wilcox.test(exact = FALSE) says of the same. */
static void test_rank(void **state)
{
	const double a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, same[] = {1, 1, 1, 1};
	double scratch[8], p[] = {0.001, 0.2, 0.012, 0.04, 0.9};
	assert_true(fabs(verify_rank_test(a, 4, b, 4, scratch) - 0.03038) < 1e-4);
	assert_true(verify_rank_test(a, 4, a, 4, scratch) == 1);
	assert_true(verify_rank_test(same, 4, same, 4, scratch) == 1);
	assert_true(verify_rank_test(a, 0, b, 4, scratch) == 1);
	assert_true(verify_discoveries(p, 5, 0.05) == 0.012); /* 0.04 > 0.05 x 3/5 */
	assert_true(verify_discoveries(p, 0, 0.05) == -1);
}

static void test_words(void **state)
{
	enum verify_match m;
	assert_int_equal(verify_match_parse("load", &m), 0);
	assert_int_equal(m, VERIFY_LOAD);
	assert_int_equal(verify_match_parse("jobs", &m), -EINVAL);
	assert_string_equal(verify_verdict_name(VERIFY_ROLL_BACK), "roll_back");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_effects),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_steps_before_pause),
		cmocka_unit_test(test_noisy),
		cmocka_unit_test(test_small_gain),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_drops),
		cmocka_unit_test(test_drops_are_packets),
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_rank),
		cmocka_unit_test(test_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
