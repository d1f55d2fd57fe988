/* whatif: what the queue model must keep to, whatever it was calibrated with. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "analyzers/measure/formulas.h"
#include "analyzers/tune/whatif.h"

static const struct whatif_settings same = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};

/* 400G, a pool of 16 MB, k hosts into one. */
static struct whatif_queue queue(
	double alpha, double kmin, double k, double pause, double marks, double peak)
{
	return (struct whatif_queue){.pool_bytes = 16e6,
		.speed_bps = 400e9,
		.input_bps = 400e9,
		.rtt_ns = 8000,
		.mtu_bytes = 4200,
		.cable_ns = 200,
		.inputs = k,
		.now = {.alpha = alpha,
			.headroom_bytes = 100e3,
			.xoff_level_bytes = NAN,
			.xon_offset_bytes = 8400,
			.kmin_bytes = kmin,
			.kmax_bytes = 4 * kmin,
			.pmax = 0.2},
		.pause_ratio = pause,
		.marks_ratio = marks,
		.queue_peak_bytes = peak,
		.pg_peak_bytes = NAN,
		.headroom_peak_bytes = NAN,
		.drops_per_s = NAN,
		.utilization = 0.4,
		.episodes_per_s = NAN,
		.dcqcn = true};
}

static const double alphas[] = {1.0 / 16, 1.0 / 4}, kmins[] = {200e3, 4e6}, pauses[] = {0, 0.08},
		    marked[] = {0, 0.05}, peaks[] = {1e6, 4e6}, ks[] = {2, 6};

/* Every combination of the above. */
static void each(void (*check)(const struct whatif_fit *f))
{
	for (size_t a = 0; a < rw_countof(alphas); a++)
		for (size_t b = 0; b < rw_countof(kmins); b++)
			for (size_t c = 0; c < rw_countof(pauses); c++)
				for (size_t d = 0; d < rw_countof(marked); d++)
					for (size_t e = 0; e < rw_countof(peaks); e++) {
						const struct whatif_queue q = queue(alphas[a],
							kmins[b], ks[(a + b + c + d + e) % 2],
							pauses[c], marked[d], peaks[e]);
						struct whatif_fit f;
						assert_int_equal(whatif_calibrate(&q, &f), 0);
						check(&f);
					}
}

static void in_order(struct whatif_range r, double least, double most)
{
	assert_true(r.low <= r.mid && r.mid <= r.high);
	assert_true(r.low >= least && r.high <= most);
}

static void bounds(const struct whatif_fit *f)
{
	const struct whatif_settings to[] = {same,
		{.alpha = 1,
			.headroom_bytes = 0,
			.xoff_level_bytes = NAN,
			.xon_offset_bytes = 0,
			.kmin_bytes = 1,
			.kmax_bytes = 2,
			.pmax = 1},
		{.alpha = 1.0 / 64,
			.headroom_bytes = NAN,
			.xoff_level_bytes = NAN,
			.xon_offset_bytes = NAN,
			.kmin_bytes = 15e6,
			.kmax_bytes = 60e6,
			.pmax = 0}};
	for (size_t i = 0; i < rw_countof(to); i++) {
		struct whatif_result r;
		assert_int_equal(whatif_predict(f, &to[i], &r), 0);
		in_order(r.pause_ratio, 0, 1);
		in_order(r.marks_ratio, 0, 1);
		in_order(r.drops_per_s, 0, 1e12);
		in_order(r.queue_peak_bytes, 0, 64e6);
		in_order(r.headroom_peak_bytes, 0, 64e6);
		in_order(r.throughput_ratio, 0, 1e3);
		in_order(r.step_ratio, 0, 1e3);
		assert_true(r.q_pfc_bytes > 0);
	}
}
static void test_bounds(void **state)
{
	(void)state;
	each(bounds);
}

/* The thresholds in force predict what was measured, as far as the model can tell it at all. */
static void nothing_changes(const struct whatif_fit *f)
{
	struct whatif_result r;
	assert_int_equal(whatif_predict(f, &same, &r), 0);
	assert_true(fabs(r.step_ratio.mid - 1) < 1e-9 && fabs(r.throughput_ratio.mid - 1) < 1e-9);
	if (f->residual < 0.05)
		assert_true(fabs(r.pause_ratio.mid - f->q.pause_ratio) <=
			0.1 * f->q.pause_ratio + 0.002);
}
static void test_nothing_changes(void **state)
{
	(void)state;
	each(nothing_changes);
}

static void higher_kmin(const struct whatif_fit *f)
{
	double last = 0;
	for (double by = 0.125; by <= 8; by *= 2) {
		struct whatif_settings to = same;
		struct whatif_result r;
		to.kmin_bytes = f->q.now.kmin_bytes * by;
		to.kmax_bytes = f->q.now.kmax_bytes * by;
		assert_int_equal(whatif_predict(f, &to, &r), 0);
		assert_true(r.pause_ratio.mid >= last - 0.002 - 0.02 * last);
		last = r.pause_ratio.mid;
	}
}
static void test_higher_kmin_never_pauses_less(void **state)
{
	(void)state;
	each(higher_kmin);
}

static void higher_alpha(const struct whatif_fit *f)
{
	double last = 1, depth = 0;
	for (double alpha = 1.0 / 32; alpha <= 1; alpha *= 2) {
		struct whatif_settings to = same;
		struct whatif_result r;
		to.alpha = alpha;
		assert_int_equal(whatif_predict(f, &to, &r), 0);
		assert_true(r.q_pfc_bytes > depth);
		assert_true(r.pause_ratio.mid <= last + 0.001);
		depth = r.q_pfc_bytes;
		last = r.pause_ratio.mid;
	}
}
static void test_higher_alpha_pauses_later_and_less(void **state)
{
	(void)state;
	each(higher_alpha);
}

/* What an input may send after XOFF: twice the cable and two packets, 28.4 KB here. */
static void more_headroom(const struct whatif_fit *f)
{
	double last = INFINITY;
	for (double bytes = 5e3; bytes <= 160e3; bytes *= 2) {
		struct whatif_settings to = same;
		struct whatif_result r;
		to.headroom_bytes = bytes;
		assert_int_equal(whatif_predict(f, &to, &r), 0);
		assert_true(r.drops_per_s.mid <= last);
		assert_true(r.headroom_peak_bytes.mid <= bytes);
		last = r.drops_per_s.mid;
	}
	assert_true(last == 0);
}
static void test_more_headroom_never_drops_more(void **state)
{
	(void)state;
	each(more_headroom);
}

static void test_drops_measured(void **state)
{
	struct whatif_queue q = queue(1.0 / 8, 800e3, 2, 0.05, 0.01, 3e6);
	struct whatif_fit f;
	struct whatif_result r;
	(void)state;
	q.now.headroom_bytes = 20e3;
	q.headroom_peak_bytes = 20e3;
	q.drops_per_s = 500;
	q.episodes_per_s = 1000; /* half a packet each: 2100 bytes are missing */
	assert_int_equal(whatif_calibrate(&q, &f), 0);
	assert_int_equal(whatif_predict(&f, &same, &r), 0);
	assert_true(fabs(r.drops_per_s.mid - 500) < 1);
	struct whatif_settings to = same;
	to.headroom_bytes = 22000;
	assert_int_equal(whatif_predict(&f, &to, &r), 0);
	assert_true(r.drops_per_s.mid > 0 && r.drops_per_s.mid < 50);
	to.headroom_bytes = 22200;
	assert_int_equal(whatif_predict(&f, &to, &r), 0);
	assert_true(r.drops_per_s.mid == 0);
}

/* Rows 3 and 4 of docs/tuning.md: alpha alone helps and costs no time; Kmin far below one
 * bandwidth-delay product ends pause and costs time. */
static void test_known_directions(void **state)
{
	/* ECN above where PFC fires (B 3.931 MB, alpha 1/16, two inputs: 437 KB), a busy incast at
	 * 100G */
	struct whatif_queue q = {.pool_bytes = 3.931e6,
		.speed_bps = 100e9,
		.input_bps = 200e9,
		.rtt_ns = 8000,
		.mtu_bytes = 1100,
		.cable_ns = 1000,
		.inputs = 2,
		.now = {.alpha = 1.0 / 16,
			.headroom_bytes = 60e3,
			.xoff_level_bytes = NAN,
			.xon_offset_bytes = NAN,
			.kmin_bytes = 1048e3,
			.kmax_bytes = 2097e3,
			.pmax = 0.2},
		.pause_ratio = 0.35,
		.marks_ratio = 0,
		.queue_peak_bytes = 523e3,
		.pg_peak_bytes = 288e3,
		.headroom_peak_bytes = NAN,
		.drops_per_s = NAN,
		.utilization = 0.6,
		.episodes_per_s = NAN,
		.dcqcn = true};
	struct whatif_fit f;
	struct whatif_result alpha, lower, both, lowest;
	struct whatif_settings to = same;
	(void)state;
	assert_int_equal(whatif_calibrate(&q, &f), 0);
	to.alpha = 1.0 / 4;
	assert_int_equal(whatif_predict(&f, &to, &alpha), 0);
	/* 1310 KB by formula, 1299 measured */
	assert_true(alpha.q_pfc_bytes > 1.15e6 && alpha.q_pfc_bytes < 1.45e6);
	to = same;
	to.kmin_bytes = 400e3;
	to.kmax_bytes = 1600e3;
	assert_int_equal(whatif_predict(&f, &to, &lower), 0);
	to.alpha = 1.0 / 4;
	assert_int_equal(whatif_predict(&f, &to, &both), 0);
	to.kmin_bytes = 5e3;
	to.kmax_bytes = 20e3;
	assert_int_equal(whatif_predict(&f, &to, &lowest), 0);
	assert_true(alpha.pause_ratio.mid < q.pause_ratio && fabs(alpha.step_ratio.mid - 1) < 0.02);
	assert_true(lower.pause_ratio.mid < q.pause_ratio);
	assert_true(both.pause_ratio.mid < lower.pause_ratio.mid &&
		both.pause_ratio.mid <= alpha.pause_ratio.mid);
	assert_true(
		lowest.pause_ratio.mid < 0.001 && lowest.step_ratio.high > both.step_ratio.high);
	assert_true(lowest.step_ratio.mid > 1.1);
}

static bool within(struct whatif_range r, double v, double slack)
{
	return v >= r.low - slack && v <= r.high + slack;
}

/*
 * Fitted to one recording of a simulated fabric, asked for the settings of others:
 *   rocewatch-lab record tune-alpha-small --seed 1 --interval 10s --for 3m [--set alpha=1/32 |
 *       --set kmin=177009B --set kmax=901595B]
 * leaf4:Ethernet7 as tune_effect sees it. Pause: mean of the inputs paused most, 9.37 %; then 0.68
 * %; 0 %.
 */
static void test_recorded(void **state)
{
	const struct whatif_queue q = {.pool_bytes = 12883114,
		.speed_bps = 400e9,
		.input_bps = 400e9,
		.rtt_ns = 8000,
		.mtu_bytes = 4200,
		.cable_ns = 25.25,
		.inputs = 3.75,
		.now = {.alpha = 1.0 / 64,
			.headroom_bytes = 53093,
			.xoff_level_bytes = NAN,
			.xon_offset_bytes = 8316,
			.kmin_bytes = 708037,
			.kmax_bytes = 3606380,
			.pmax = 0.2},
		.pause_ratio = 0.09375,
		.marks_ratio = 0,
		.queue_peak_bytes = 704446,
		.pg_peak_bytes = 186000,
		.headroom_peak_bytes = 40586,
		.drops_per_s = 0,
		.utilization = 0.06114,
		.episodes_per_s = 32161,
		.dcqcn = true};
	struct whatif_settings to = same;
	struct whatif_fit f;
	struct whatif_result r;
	(void)state;
	assert_int_equal(whatif_calibrate(&q, &f), 0);
	to.alpha = 1.0 / 32;
	assert_int_equal(whatif_predict(&f, &to, &r), 0);
	assert_true(within(r.pause_ratio, 0.00678, 0.002) && r.pause_ratio.mid < 0.02);
	assert_true(within(r.marks_ratio, 0.00952, 0.005));
	assert_true(within(r.queue_peak_bytes, 1745279, 20e3));
	/* truth.json: step_s 0.4113 after, 0.4 before */
	assert_true(within(r.step_ratio, 1.028, 0.01));
	assert_true(r.drops_per_s.high == 0);
	to = same;
	to.kmin_bytes = 177009;
	to.kmax_bytes = 901595;
	assert_int_equal(whatif_predict(&f, &to, &r), 0);
	assert_true(within(r.pause_ratio, 0, 0) && r.pause_ratio.mid < 0.02);
	assert_true(within(r.marks_ratio, 0.02895, 0.005));
	assert_true(within(r.queue_peak_bytes, 438247, 20e3));
	assert_true(within(r.step_ratio, 1.011, 0.01));
}

/* Where PFC fires comes from the watermark while there is pause: uneven inputs and other queues are
 * in it. */
static void test_depth_by_watermark(void **state)
{
	struct whatif_queue q = queue(1.0 / 8, 8e6, 3, 0.1, 0, 3.2e6);
	struct whatif_fit f;
	struct whatif_result r;
	(void)state;
	assert_int_equal(whatif_calibrate(&q, &f), 0);
	assert_int_equal(whatif_predict(&f, &same, &r), 0);
	assert_true(fabs(r.q_pfc_bytes - (3.2e6 - 3 * (2 * 50 * 200 + 2 * 4200))) < 0.05e6);
	q.pause_ratio = 0; /* it has not fired: by formula */
	assert_int_equal(whatif_calibrate(&q, &f), 0);
	assert_int_equal(whatif_predict(&f, &same, &r), 0);
	assert_true(fabs(r.q_pfc_bytes - dt_pfc_queue_bytes(16e6, 0, 1.0 / 8, 3)) < 1);
	/* a static level stands for alpha */
	q.now.alpha = NAN;
	q.now.xoff_level_bytes = 500e3;
	assert_int_equal(whatif_calibrate(&q, &f), 0);
	assert_int_equal(whatif_predict(&f, &same, &r), 0);
	assert_true(fabs(r.q_pfc_bytes - 1.5e6) < 1);
}

static void test_what_is_not_known(void **state)
{
	struct whatif_fit f;
	struct whatif_result r;
	(void)state;
	struct whatif_queue q = queue(1.0 / 8, 800e3, 2, NAN, 0.1, 1e6);
	assert_int_equal(whatif_calibrate(&q, &f), -ENODATA);
	q = queue(NAN, 800e3, 2, 0, 0.1, 1e6); /* nothing tells where PFC fires, and it does not */
	assert_int_equal(whatif_calibrate(&q, &f), -ENODATA);
	q = queue(1.0 / 8, 800e3, 2, 0.1, 0.1, 1e6);
	q.rtt_ns = NAN;
	assert_int_equal(whatif_calibrate(&q, &f), -ENODATA);
	q = queue(1.0 / 8, 800e3, 2, 1.5, 0.1, 1e6);
	assert_int_equal(whatif_calibrate(&q, &f), -EDOM);
	q = queue(-1, 800e3, 2, 0.1, 0.1, 1e6);
	assert_int_equal(whatif_calibrate(&q, &f), -EDOM);
	/* pause alone, nothing else measured, nothing else known */
	q = (struct whatif_queue){NAN, 100e9, NAN, 8000, NAN, NAN, NAN,
		{0.125, NAN, NAN, NAN, NAN, NAN, NAN}, 0.05, false, NAN, NAN, NAN, NAN, NAN, NAN,
		NAN, true};
	q.pool_bytes = 32e6;
	assert_int_equal(whatif_calibrate(&q, &f), 0);
	assert_int_equal(whatif_predict(&f, &same, &r), 0);
	in_order(r.pause_ratio, 0, 1);
	assert_true(isnan(r.drops_per_s.mid)); /* its headroom is not known */
	struct whatif_settings to = same;
	to.pmax = 1.1;
	assert_int_equal(whatif_predict(&f, &to, &r), -EDOM);
	to = same;
	to.kmin_bytes = 2000;
	to.kmax_bytes = 1000;
	assert_int_equal(whatif_predict(&f, &to, &r), -EDOM);
}

/* Frames only: half of the time at most. The truth may be a hundredth of it, and what comes of a
 * change is told in the same measure. */
static void test_pause_is_a_bound(void **state)
{
	struct whatif_queue q = queue(1.0 / 8, 4e6, 3, 0.5, 0, 3.2e6);
	struct whatif_settings to = same;
	struct whatif_fit f;
	struct whatif_result r;
	(void)state;
	q.utilization = 0.05; /* nobody is paused half of the time for that */
	assert_int_equal(whatif_calibrate(&q, &f), 0);
	const double taken_as_measured = f.residual;
	q.pause_bound = true;
	assert_int_equal(whatif_calibrate(&q, &f), 0);
	assert_true(f.residual < taken_as_measured / 2 && f.residual < 0.2);
	assert_int_equal(whatif_predict(&f, &same, &r), 0);
	assert_true(fabs(r.pause_ratio.mid - 0.5) < 1e-9);
	to.alpha = 1;
	assert_int_equal(whatif_predict(&f, &to, &r), 0);
	in_order(r.pause_ratio, 0, 0.55);
	assert_true(r.pause_ratio.mid < 0.5);
}

/* Nothing is drawn: the same bytes. */
static void test_same_bytes(void **state)
{
	struct whatif_fit a, b;
	struct whatif_result x, y;
	const struct whatif_queue q = queue(1.0 / 8, 800e3, 4, 0.1, 0.05, 5e6);
	(void)state;
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	assert_int_equal(whatif_calibrate(&q, &a), 0);
	assert_int_equal(whatif_calibrate(&q, &b), 0);
	assert_int_equal(whatif_predict(&a, &same, &x), 0);
	assert_int_equal(whatif_predict(&b, &same, &y), 0);
	/* there may be padding behind it */
	assert_memory_equal(&x, &y, offsetof(struct whatif_result, known));
	assert_true(x.known == y.known && x.residual == y.residual);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_nothing_changes),
		cmocka_unit_test(test_higher_kmin_never_pauses_less),
		cmocka_unit_test(test_higher_alpha_pauses_later_and_less),
		cmocka_unit_test(test_more_headroom_never_drops_more),
		cmocka_unit_test(test_drops_measured), cmocka_unit_test(test_known_directions),
		cmocka_unit_test(test_recorded), cmocka_unit_test(test_depth_by_watermark),
		cmocka_unit_test(test_what_is_not_known), cmocka_unit_test(test_pause_is_a_bound),
		cmocka_unit_test(test_same_bytes)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
