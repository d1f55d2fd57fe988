/* reaction: who is said to slow down, who is said not to, and when nothing is said. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "db/model/flow.h"

#define G 1e9

/* @n reactions from @before to @after bit/s, all of them to CNPs that came alone. */
static struct reaction_sum reactions(unsigned n, double before, double after)
{
	struct reaction_sum sum = {.cnp = n, .peak_bps = before};
	for (unsigned i = 0; i < n; i++) {
		/* no two are quite alike */
		const double by = 1 + 0.001 * (i % 3);
		reaction_pair_add(&sum.all, by * before, by * after);
		reaction_pair_add(&sum.alone, by * before, by * after);
	}
	return sum;
}

static enum reaction_verdict verdict(
	const struct reaction_sum *sum, uint32_t sampling, double line_bps, double peak_bps)
{
	struct reaction_judged judged;
	reaction_judge(sum, sampling, line_bps, peak_bps, &judged);
	assert_true((judged.verdict == REACTION_TOO_FEW) == (judged.needs != NULL));
	return judged.verdict;
}

static void test_slows(void **state)
{
	struct reaction_sum sum = reactions(8, 300 * G, 200 * G);
	assert_int_equal(verdict(&sum, 1, 400 * G, 300 * G), REACTION_SLOWS_DOWN);
	sum = reactions(7, 300 * G, 200 * G); /* one less says nothing */
	assert_int_equal(verdict(&sum, 1, 400 * G, 300 * G), REACTION_TOO_FEW);
	sum = reactions(7, 300 * G, 100 * G);
	sum.clear = 6; /* unless nearly all of them were clear */
	assert_int_equal(verdict(&sum, 1, 400 * G, 300 * G), REACTION_SLOWS_DOWN);
	sum.clear = 5;
	assert_int_equal(verdict(&sum, 1, 400 * G, 300 * G), REACTION_TOO_FEW);
	sum = reactions(20, 300 * G, 280 * G); /* of many, less will do */
	assert_int_equal(verdict(&sum, 1, 400 * G, 300 * G), REACTION_SLOWS_DOWN);
	sum = reactions(19, 300 * G, 280 * G);
	assert_int_equal(verdict(&sum, 1, 400 * G, 300 * G), REACTION_TOO_FEW);
}

/* A rate that stays is a proof only where the link is full: an application that sends less is not
 * held back by a cut. */
static void test_holds_at_line_rate(void **state)
{
	const struct reaction_sum full = reactions(20, 380 * G, 380 * G),
				  part = reactions(20, 300 * G, 300 * G);
	assert_int_equal(verdict(&full, 1, 400 * G, 380 * G), REACTION_DOES_NOT_SLOW);
	assert_int_equal(verdict(&full, 1, 0, 380 * G), REACTION_DOES_NOT_SLOW); /* a usual speed */
	assert_int_equal(verdict(&part, 1, 400 * G, 380 * G), REACTION_TOO_FEW);
	assert_int_equal(verdict(&full, 1, 800 * G, 380 * G), REACTION_TOO_FEW);
	/* far below the fastest queue pair of the capture */
	const struct reaction_sum slow = reactions(20, 100 * G, 100 * G);
	assert_int_equal(verdict(&slow, 1, 0, 390 * G), REACTION_TOO_FEW);
	assert_int_equal(verdict(&slow, 1, 0, 100 * G), REACTION_DOES_NOT_SLOW);
	struct reaction_sum few = reactions(19, 380 * G, 380 * G);
	assert_int_equal(verdict(&few, 1, 400 * G, 380 * G), REACTION_TOO_FEW);
}

/* Under pressure: it sends several times what the mildest sender would. */
static void test_defies(void **state)
{
	struct reaction_sum sum = reactions(8, 390 * G, 390 * G);
	sum.alone = (struct reaction_pairs){0};
	sum.pressed = 20;
	sum.held = 20 * 0.9;
	sum.held_sq = 20 * 0.81;
	sum.allowed = 20 * 0.2;
	assert_int_equal(verdict(&sum, 1, 400 * G, 390 * G), REACTION_DOES_NOT_SLOW);
	assert_int_equal(verdict(&sum, 1, 0, 390 * G), REACTION_DOES_NOT_SLOW);
	sum.allowed = 20 * 0.3; /* three times as much: not enough where the speed is a guess */
	assert_int_equal(verdict(&sum, 1, 400 * G, 390 * G), REACTION_DOES_NOT_SLOW);
	assert_int_equal(verdict(&sum, 1, 0, 390 * G), REACTION_TOO_FEW);
	sum.pressed = 19;
	assert_int_equal(verdict(&sum, 1, 400 * G, 390 * G), REACTION_TOO_FEW);
	sum.pressed = 20;
	sum.allowed = 0; /* not known */
	assert_int_equal(verdict(&sum, 1, 400 * G, 390 * G), REACTION_TOO_FEW);
	sum.allowed = 20 * 0.2;
	struct reaction_sum fewer = sum;
	fewer.all = reactions(7, 390 * G, 390 * G).all; /* fewer than eight say nothing at all */
	assert_int_equal(verdict(&fewer, 1, 400 * G, 390 * G), REACTION_TOO_FEW);
}

/* One packet in a hundred: the rate is a hundred times that of the samples. */
static void test_sampled(void **state)
{
	struct reaction_sum sum = reactions(30, 3.8 * G, 3.8 * G);
	sum.spacings = 30;
	sum.spacing_s = 30 * 0.01; /* a hundred times less between two CNPs */
	struct reaction_judged judged;
	reaction_judge(&sum, 100, 400 * G, 3.8 * G, &judged);
	assert_int_equal(judged.verdict, REACTION_DOES_NOT_SLOW);
	assert_true(fabs(judged.before_bps / (380 * G) - 1) < 0.01);
	sum.spacing_s = 30 * 0.02; /* a published sender may hold its rate under that many */
	assert_int_equal(verdict(&sum, 100, 400 * G, 3.8 * G), REACTION_TOO_FEW);
	sum = reactions(29, 3.8 * G, 2 * G);
	assert_int_equal(verdict(&sum, 100, 400 * G, 3.8 * G), REACTION_TOO_FEW);
}

static void test_line_of(void **state)
{
	assert_true(reaction_line_bps(390 * G) == 400 * G);
	assert_true(reaction_line_bps(405 * G) == 400 * G); /* within two percent */
	assert_true(reaction_line_bps(410 * G) == 800 * G);
	assert_true(reaction_line_bps(9 * G) == 10 * G);
	assert_true(reaction_line_bps(2e12) == 0);
}

static void test_sums_add_up(void **state)
{
	struct reaction_sum one = reactions(5, 300 * G, 200 * G),
			    other = reactions(3, 390 * G, 260 * G);
	one.clear = other.clear = 2;
	reaction_sum_add(&one, &other);
	assert_int_equal(one.all.n, 8);
	assert_int_equal(one.alone.n, 8);
	assert_int_equal(one.cnp, 8);
	assert_int_equal(one.clear, 4);
	assert_true(one.peak_bps == 390 * G); /* the largest, not the sum */
	assert_int_equal(verdict(&one, 1, 400 * G, 390 * G), REACTION_SLOWS_DOWN);
}

static void test_answers(void **state)
{
	static const struct {
		struct answer_sum sum;
		uint32_t sampling;
		enum answer_verdict verdict;
	} rows[] = {
		{{.slots = 40, .cnp = 3, .directions = 10, .answered = 0}, 1, ANSWER_YES},
		{{.slots = 40, .cnp = 2, .directions = 10, .answered = 10}, 1, ANSWER_TOO_FEW},
		{{.slots = 20, .cnp = 0, .directions = 10, .answered = 9}, 1, ANSWER_NO},
		{{.slots = 19, .cnp = 0, .directions = 10, .answered = 9}, 1, ANSWER_TOO_FEW},
		{{.slots = 20, .cnp = 0, .directions = 10, .answered = 8}, 1, ANSWER_TOO_FEW},
		{{.slots = 20, .cnp = 0, .directions = 10, .answered = 9}, 2, ANSWER_TOO_FEW},
		{{.slots = 40, .cnp = 0, .directions = 10, .answered = 9}, 2, ANSWER_NO},
		{{.slots = 4000, .cnp = 3, .directions = 10, .answered = 9}, 1, ANSWER_TOO_FEW},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const enum answer_verdict got = answer_judge(&rows[i].sum, rows[i].sampling);
		if (got != rows[i].verdict)
			fail_msg("row %zu: %s", i, answer_verdict_name(got));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slows),
		cmocka_unit_test(test_holds_at_line_rate),
		cmocka_unit_test(test_defies),
		cmocka_unit_test(test_sampled),
		cmocka_unit_test(test_line_of),
		cmocka_unit_test(test_sums_add_up),
		cmocka_unit_test(test_answers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
