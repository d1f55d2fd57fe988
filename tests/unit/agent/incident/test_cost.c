/* cost: the price of an incident by what its job lost, against figures computed by hand;
 * sharing, idling, claims, restarts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/incident/cost.h"
#include "agent/incident/incident_record.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define BLOCK (10 * NS_PER_S)
#define N 60
#define ONSET 30

static struct fabric_job job = {.name = "train", .hosts = "*"};
static struct fabric fabric = {.jobs = &job, .n_jobs = 1, .usd_per_gpu_hour = 30};

static void near(const char *what, double got, double expected, double within)
{
	if (!(fabs(got - expected) <= within))
		fail_msg("%s: %.9g, expected %.9g +- %.3g", what, got, expected, within);
}

/* A look at the rates of blocks (to - N, to]: @before up to block ONSET, @after from there. */
static struct job_rate look(double *v, size_t to, double before, double after)
{
	for (size_t k = 0; k < N; k++) {
		const size_t block = to - N + k;
		v[k] = (block < ONSET + N ? before : after) * (1 + (block % 2 ? 0.001 : -0.001));
	}
	return (struct job_rate){.job = "train",
		.from_ns = (int64_t)(to - N) * BLOCK,
		.block_ns = BLOCK,
		.rate = v,
		.n = N};
}

static struct finding over(size_t to, double claim)
{
	return (struct finding){.from_ns = (int64_t)(to - 1) * BLOCK,
		.to_ns = (int64_t)to * BLOCK,
		.loss_ratio = claim};
}

/* @windows since the onset, each over; the whole loss is this incident's. */
static void run(struct cost *c, size_t windows, double before, double after, double claim)
{
	double v[N];
	for (size_t k = 1; k <= windows; k++) {
		const size_t to = ONSET + N + k;
		const struct finding f = over(to, claim);
		cost_over(c, &f);
		const struct job_rate r = look(v, to, before, after);
		struct cost_job *j = cost_measure(c, &r, (int64_t)(ONSET + N) * BLOCK);
		assert_non_null(j);
		cost_count(j, &r, 1, false);
		c->to_ns = (int64_t)to * BLOCK;
		/* the same window is not counted twice */
		assert_null(cost_measure(c, &r, (int64_t)(ONSET + N) * BLOCK));
	}
}

/* Computed by hand: 28 ms in a step of 422 at 512 GPUs; 2,100 to 1,650 tokens per
 * second at 256 GPUs. */
static void test_stories(void **state)
{
	static const struct {
		const char *what;
		double before, after;
		uint64_t gpus;
		int64_t step_ns;
		double usd_per_hour, step_s;
	} rows[] = {
		{"node-047", 1 / 0.422, 1 / 0.450, 512, 422 * NS_PER_MS, 955.73, 0.450},
		{"21.4 %", 2100, 1650, 256, 0, 1645.71, NAN},
	};
	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		struct cost c = cost_new();
		job.gpus = rows[row].gpus;
		job.step_ns = rows[row].step_ns;
		run(&c, 100, rows[row].before, rows[row].after, NAN);
		const struct cost_sum s = cost_sum(&c, &fabric, job.gpus, true);
		near(rows[row].what, s.usd_per_hour, rows[row].usd_per_hour,
			0.003 * rows[row].usd_per_hour);
		/* the newest window counts once the next one is over as well */
		near(rows[row].what, s.usd_total, rows[row].usd_per_hour * 990 / 3600,
			0.01 * rows[row].usd_per_hour * 990 / 3600);
		near(rows[row].what, s.explained_ratio, 1, 0);
		struct arena *a = arena_new();
		const struct cost_loss *loss;
		assert_int_equal(cost_losses(&c, &fabric, a, &loss), 1);
		if (isnan(rows[row].step_s))
			/* no step is configured: nothing is said in milliseconds */
			assert_true(isnan(loss[0].step_s));
		else
			near("step", loss[0].step_s, rows[row].step_s, 0.0005);
		arena_free(a);
		cost_done(&c);
	}
	job.step_ns = 0;
}

/* What a job moves in the block that ends at @block: a tenth of a per cent of noise, one per cent
 * of drift within the hour, and what it lost by the onset and later. */
static double drifting(size_t block, double lost, double lost_later, double drift)
{
	const double wave = 1 + drift * sin(2 * M_PI * (double)block * 10 / 3600);
	double left = 1;
	if (block >= ONSET + N)
		left = 1 - lost;
	if (block >= ONSET + 2 * N)
		left = 1 - lost_later;
	return 1e9 * left / wave * (1 + (block % 2 ? 0.001 : -0.001));
}

/* The job itself becomes slower and faster meanwhile: the incident costs what it took at its onset,
 * until more is lost than such a drift is. */
static void test_drift(void **state)
{
	static const struct {
		const char *what;
		double lost, lost_later, drift;
	} rows[] = {
		{"28 of 450 ms", 28 / 450.0, 28 / 450.0, 0.01},
		{"21.4 %", 0.214286, 0.214286, 0.01},
		{"no drift", 28 / 450.0, 28 / 450.0, 0},
		{"it becomes worse", 0.1, 0.3, 0},
	};
	job.gpus = 512;
	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		struct cost c = cost_new();
		for (size_t to = ONSET + N + 1; to <= ONSET + 4 * N; to++) {
			double v[N];
			for (size_t k = 0; k < N; k++)
				v[k] = drifting(to - N + k, rows[row].lost, rows[row].lost_later,
					rows[row].drift);
			const struct job_rate r = {.job = "train",
				.from_ns = (int64_t)(to - N) * BLOCK,
				.block_ns = BLOCK,
				.rate = v,
				.n = N};
			const struct finding f = over(to, NAN);
			cost_over(&c, &f);
			struct cost_job *j = cost_measure(&c, &r, (int64_t)(ONSET + N) * BLOCK);
			cost_count(j, &r, 1, false);
			c.to_ns = (int64_t)to * BLOCK;
		}
		const struct cost_sum s = cost_sum(&c, &fabric, job.gpus, true);
		const double want = 512 * 30 * rows[row].lost_later;
		near(rows[row].what, s.usd_per_hour, want, 0.01 * want);
		cost_done(&c);
	}
}

/* A symptom explains nothing, whatever it costs; nor does one that shares what is lost explain all
 * of it. */
static void test_explained(void **state)
{
	struct cost c = cost_new();
	run(&c, 40, 100, 80, 0.05);
	near("symptom", cost_sum(&c, &fabric, 8, false).explained_ratio, 0, 0);
	near("reason", cost_sum(&c, &fabric, 8, true).explained_ratio, 1, 0);
	c.v[0].share_ratio = 0.25;
	near("shared", cost_sum(&c, &fabric, 8, true).explained_ratio, 0.25, 0);
	c.v[0].at_onset = false; /* the fall was another time: what it claims of what was lost */
	near("claimed", cost_sum(&c, &fabric, 8, true).explained_ratio, 0.05 / 0.2, 0.01);
	cost_done(&c);
}

static void test_claims(void **state)
{
	job.gpus = 100;
	struct cost c = cost_new();
	struct finding f = over(1, 0.1);
	for (int k = 0; k < 6; k++)
		cost_over(&c, &f); /* no throughput is known at all */
	near("a claim per hour", cost_sum(&c, &fabric, 100, true).usd_per_hour, 300, 1e-9);
	near("a minute of it", cost_sum(&c, &fabric, 100, true).usd_total, 300.0 / 60, 1e-9);
	cost_done(&c);

	run(&c, 40, 100, 100, 0.1); /* throughput says that nothing is lost */
	assert_true(cost_sum(&c, &fabric, 100, true).usd_per_hour < 0.002 * 3000);
	c.v[0].by_uplinks = true; /* but uplinks that carry as much as before prove little */
	near("uplinks", cost_sum(&c, &fabric, 100, true).usd_per_hour, 300, 1e-9);
	cost_done(&c);

	f = over(1, NAN);
	cost_over(&c, &f);
	assert_true(isnan(cost_sum(&c, &fabric, 100, true).usd_per_hour)); /* unknown is not zero */
	cost_done(&c);
	assert_false(cause_has(CAUSE_TELEMETRY_GAP, CAUSE_MAY_COST));
	assert_true(cause_has(CAUSE_SLOW_RECEIVER, CAUSE_MAY_COST));
}

/* Half of a job's loss is half of its price, and windows after the newest one over do not count. */
static void test_share_and_late(void **state)
{
	double v[N];
	struct cost c = cost_new();
	job.gpus = 100;
	run(&c, 40, 100, 80, NAN);
	struct finding f = over(ONSET + N + 41, NAN);
	cost_over(&c, &f);
	const double all = cost_sum(&c, &fabric, 100, true).usd_total;
	for (size_t k = 41; k < 50; k++) {
		const struct job_rate r = look(v, ONSET + N + k, 100, 80);
		cost_count(cost_measure(&c, &r, (int64_t)(ONSET + N) * BLOCK), &r, 0.5, false);
		c.to_ns = (int64_t)(ONSET + N + k) * BLOCK;
	}
	near("late", cost_sum(&c, &fabric, 100, true).usd_total, all, 1e-9);
	f = over(ONSET + N + 50, NAN);
	cost_over(&c, &f);
	near("over again, and half of it", cost_sum(&c, &fabric, 100, true).usd_total,
		all * (1 + 0.5 * 9 / 40), 0.02 * all);
	near("half per hour", cost_sum(&c, &fabric, 100, true).usd_per_hour, 0.5 * 0.2 * 3000, 10);
	cost_done(&c);
}

/* A job that ended costs nothing more; one that is stopped by the incident costs all of it. */
static void test_idle(void **state)
{
	for (int stalled = 0; stalled < 2; stalled++) {
		struct cost c = cost_new();
		double v[N];
		job.gpus = 100;
		for (size_t k = 1; k <= 20; k++) {
			const size_t to = ONSET + N + k;
			const struct finding f = over(to, NAN);
			cost_over(&c, &f);
			struct job_rate r = look(v, to, 100, 0);
			cost_count(
				cost_measure(&c, &r, (int64_t)(ONSET + N) * BLOCK), &r, 1, stalled);
			c.to_ns = (int64_t)to * BLOCK;
		}
		near(stalled ? "stalled" : "ended", cost_sum(&c, &fabric, 100, true).usd_total,
			stalled ? 3000.0 * 190 / 3600 : 0, 0.01);
		cost_done(&c);
	}
}

/* Stopped after any window and started again from the stored text: the same numbers. */
static void test_restart(void **state)
{
	struct cost whole = cost_new();
	run(&whole, 50, 100, 80, 0.1);
	rw_cleanup(str_done) struct str expected = {0};
	cost_json_add(&expected, NULL, &whole);
	for (size_t cut = 1; cut < 50; cut += 7) {
		struct cost c = cost_new();
		double v[N];
		run(&c, cut, 100, 80, 0.1);
		rw_cleanup(str_done) struct str kept = {0}, got = {0};
		cost_json_add(&kept, NULL, &c);
		cost_done(&c);
		json_t *read = json_loads(kept.s, 0, NULL);
		c = cost_json_parse(read);
		for (size_t k = cut + 1; k <= 50; k++) {
			const size_t to = ONSET + N + k;
			const struct finding f = over(to, 0.1);
			cost_over(&c, &f);
			const struct job_rate r = look(v, to, 100, 80);
			cost_count(
				cost_measure(&c, &r, (int64_t)(ONSET + N) * BLOCK), &r, 1, false);
			c.to_ns = (int64_t)to * BLOCK;
		}
		cost_json_add(&got, NULL, &c);
		assert_string_equal(got.s, expected.s);
		json_decref(read);
		cost_done(&c);
	}
	cost_done(&whole);
	struct cost none = cost_json_parse(NULL);
	assert_int_equal(none.to_ns, INT64_MIN);
}

/* Is a fall told from noise, and how many blocks does it take? @noise: half of what blocks differ
 * by, as a share. */
static bool fell_from(double first, size_t before, double rate_after, double noise)
{
	double v[N];
	struct cost c = cost_new();
	for (size_t k = 0; k < N; k++)
		v[k] = (k < before ? 100 : rate_after) * (1 + (k % 2 ? noise : -noise));
	v[0] *= first;
	const struct job_rate r = {
		.job = "train", .from_ns = 0, .block_ns = BLOCK, .rate = v, .n = N};
	const struct finding f = over(before + 1, NAN);
	cost_over(&c, &f);
	const struct cost_job *j = cost_measure(&c, &r, (int64_t)before * BLOCK);
	assert_non_null(j);
	const bool ret = j->fell;
	cost_done(&c);
	return ret;
}

static bool fell(size_t before, double rate_after, double noise)
{
	return fell_from(1, before, rate_after, noise);
}

static void test_fell(void **state)
{
	assert_true(fell(30, 97, 0.001));
	assert_false(fell(30, 99.5, 0.001)); /* half a percent is nothing, however exact */
	assert_false(fell(30, 97, 0.15)); /* within the noise */
	assert_true(fell(30, 70, 0.15));
	assert_false(fell(2, 70, 0.001)); /* two blocks say not what was usual */
	assert_true(fell(5, 70, 0.001));
	/* of three blocks one is no level, so that two are left */
	assert_false(fell_from(2, 3, 70, 0.001));
	assert_true(fell_from(2, 6, 70, 0.001));
}

/* Several incidents slow one job: its loss is shared among them, by what each claims where all do,
 * and never counted twice; a symptom gets none of it beside a real cause. */
static void test_shared_claims(void **state)
{
	static const struct {
		const char *what;
		enum cause cause[2];
		double claim[2], share[2];
		bool pending; /* the second one */
		double late_s[2]; /* for so long its sign was not seen; windows last 10 s */
	} rows[] = {
		{"one that is not seen any more", {CAUSE_SLOW_RECEIVER, CAUSE_LINK_ERRORS},
			{NAN, NAN}, {1, 0}, .late_s = {20, 40}},
		{"two that are not", {CAUSE_SLOW_RECEIVER, CAUSE_LINK_ERRORS}, {NAN, NAN},
			{0.5, 0.5}, .late_s = {40, 40}},
		{"one that has not opened beside one that has",
			{CAUSE_SLOW_RECEIVER, CAUSE_LINK_ERRORS}, {NAN, 0.1}, {1, 0}, true},
		{"... beside a symptom", {CAUSE_STRAGGLER, CAUSE_LINK_ERRORS}, {NAN, 0.1}, {0, 1},
			true},
		{"two that claim nothing", {CAUSE_SLOW_RECEIVER, CAUSE_LINK_ERRORS}, {NAN, NAN},
			{0.5, 0.5}},
		{"one that claims", {CAUSE_SLOW_RECEIVER, CAUSE_LINK_ERRORS}, {0.1, NAN},
			{0.5, 0.5}},
		{"two that claim", {CAUSE_SLOW_RECEIVER, CAUSE_LINK_ERRORS}, {0.1, 0.3},
			{0.25, 0.75}},
		{"a symptom", {CAUSE_SLOW_RECEIVER, CAUSE_STRAGGLER}, {NAN, NAN}, {1, 0}},
		{"a symptom that claims", {CAUSE_STRAGGLER, CAUSE_LINK_ERRORS}, {0.2, 0.1}, {0, 1}},
		{"symptoms only", {CAUSE_STRAGGLER, CAUSE_STRAGGLER}, {NAN, NAN}, {0.5, 0.5}},
	};
	job.gpus = 100;
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct incident_record *records[2];
		double v[N];
		for (int k = 0; k < 2; k++) {
			records[k] = incident_record_blank();
			records[k]->i.cause = rows[i].cause[k];
			records[k]->i.severity = SEV_WARNING;
			records[k]->i.state = INCIDENT_OPEN;
			if (k && rows[i].pending)
				records[k]->i.state = INCIDENT_PENDING;
			records[k]->i.first_ns = (int64_t)(ONSET + N) * BLOCK;
			struct finding f = over(ONSET + N + 20, rows[i].claim[k]);
			f.verdict = FINDING_OVER;
			cost_over(&records[k]->cost, &f);
			weight_judged(&records[k]->weight, &f, 3);
		}
		const struct job_rate r = look(v, ONSET + N + 20, 100, 80);
		claims_count(records, 2, &fabric, &r);
		for (int k = 0; k < 2; k++)
			records[k]->cost.v[0].late_time_s = rows[i].late_s[k];
		claims_count(records, 2, &fabric, &r);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(records[k]->cost.n, 1);
			near(rows[i].what, records[k]->cost.v[0].share_ratio, rows[i].share[k],
				1e-9);
			records[k]->i = (struct incident){0};
			incident_record_free(records[k]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stories),
		cmocka_unit_test(test_drift),
		cmocka_unit_test(test_explained),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_share_and_late),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_fell),
		cmocka_unit_test(test_shared_claims),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
