/* Minutes and hours: what goes into a row comes out; hours made of minutes are those made of the
 * samples; rows that are damaged are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <math.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stats.h"
#include "base/str.h"
#include "db/block/rollup_codec.h"
#include "db/model/metric.h"

static uint64_t rng_state = 7;

static uint64_t rng_below(uint64_t n)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return (rng_state >> 9) % n;
}

#define DAY_BEGIN (INT64_C(1700006400) * NS_PER_S)

/* A day of a series: quiet, busy, with resets, wraps, restarts, gaps, late and suspect samples. */
static size_t make_day(unsigned metric, unsigned kind, int64_t entity, struct block_sample *v)
{
	const bool counter = metric_info(metric)->kind == METRIC_COUNTER;
	uint64_t value = rng_below(1000000);
	int64_t t_ns = DAY_BEGIN - 40 * NS_PER_S;
	size_t n = 0;

	while (t_ns < DAY_BEGIN + ROLLUP_DAY_NS) {
		t_ns += 10 * NS_PER_S + (int64_t)rng_below(1000000);
		if (kind > 2 && rng_below(200) == 0)
			t_ns += (int64_t)rng_below(4000) * NS_PER_S;
		if (kind > 0 && counter)
			value += rng_below(100000);
		if (kind > 0 && !counter)
			value = rng_below(5000);
		v[n] = (struct block_sample){.entity = entity, .t_ns = t_ns, .value = value};
		if (kind > 1 && rng_below(100) == 0) {
			v[n].flags = (uint16_t)(1 << rng_below(6));
			if (counter)
				v[n].value = value = rng_below(1000);
		}
		if (metric_info(metric)->type == TYPE_F64)
			v[n].value = sample_of_f64((double)value / 100);
		n++;
	}
	return n;
}

static void assert_same_double(double left, double right)
{
	assert_int_equal(sample_of_f64(left), sample_of_f64(right));
}

static void assert_same_rollup(const struct rollup *left, const struct rollup *right, bool exactly)
{
	assert_int_equal(left->from_ns, right->from_ns);
	assert_int_equal(left->to_ns, right->to_ns);
	assert_int_equal(left->count, right->count);
	assert_int_equal(left->numbers, right->numbers);
	assert_int_equal(left->flags, right->flags);
	assert_same_double(left->min, right->min);
	assert_same_double(left->max, right->max);
	if (exactly)
		assert_same_double(left->sum, right->sum);
	else if (left->numbers > 0) /* added in another order */
		assert_true(fabs(left->sum - right->sum) <= 1e-9 * fabs(right->sum));
	assert_int_equal(left->first, right->first);
	assert_int_equal(left->last, right->last);
	if (left->count > 0) {
		assert_int_equal(left->first_ns, right->first_ns);
		assert_int_equal(left->last_ns, right->last_ns);
	}
	assert_int_equal(left->increase, right->increase);
	assert_int_equal(left->covered_ns, right->covered_ns);
	assert_int_equal(left->intervals, right->intervals);
	assert_int_equal(left->resets, right->resets);
	assert_int_equal(left->suspects, right->suspects);
	assert_int_equal(left->longest_ns, right->longest_ns);
	if (exactly)
		assert_int_equal(left->seen_ns, right->seen_ns);
}

static void assert_within(double got, double wanted, double by)
{
	if (isnan(wanted) ? !isnan(got) : !(fabs(got - wanted) <= by))
		fail_msg("%.17g is not within %g of %.17g", got, by, wanted);
}

/* What is kept of a minute that was cut short: all that is exact, and the rest within its bound. */
static void assert_cut_short(const struct rollup *got, const struct rollup *made, bool rates)
{
	const double bound = rates ? 0.008 : 0.002;
	struct rollup exact = *made;

	const double place = rates ? 0 : (made->max - made->min) / 510;

	assert_within(got->min, made->min, bound * fabs(made->min));
	assert_within(got->max, made->max, bound * fabs(made->max));
	assert_within(got->sum, made->sum, made->numbers * place + bound * fabs(made->sum));
	exact.min = got->min;
	exact.max = got->max;
	exact.sum = got->sum;
	exact.first = got->first;
	if (made->count == 1)
		assert_int_equal(got->first, made->first);
	else if (rates && made->resets == 0 && made->count > 0)
		assert_int_equal(got->first, made->last - made->increase);
	assert_same_rollup(got, &exact, true);
}

static void assert_near(double got, double wanted)
{
	assert_within(got, wanted, 0.0101 * fabs(wanted));
}

static const unsigned metrics[] = {M_PORT_IN_OCTETS, M_QUEUE_DEPTH, M_PORT_PRE_FEC_BER};

static void make_list(unsigned metric, struct rollup_list *minutes, struct rollup_list *hours)
{
	struct block_sample *v = rw_calloc(20000, sizeof(*v));

	for (unsigned kind = 0; kind < 12; kind++) {
		const size_t n = make_day(metric, kind % 4, 10 + kind, v);
		rollup_make(metric, v, n, DAY_BEGIN, ROLLUP_MINUTE_NS, minutes);
		rollup_make(metric, v, n, DAY_BEGIN, ROLLUP_HOUR_NS, hours);
	}
	for (size_t i = 0; i < minutes->n; i++)
		rollup_quantiles(&minutes->v[i].rollup, &minutes->v[i].sketch);
	for (size_t i = 0; i < hours->n; i++)
		rollup_quantiles(&hours->v[i].rollup, &hours->v[i].sketch);
	free(v);
}

static void check_row(const struct rollup_list *list, int64_t step_ns, bool rates)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(str_done) struct str row = {0};
	struct rollup_reader reader;
	size_t at = 0;

	assert_int_equal(rollup_encode(list->v, list->n, step_ns, rates, &row), 0);
	assert_int_equal(rollup_open(&reader, row.s, row.n), 0);
	assert_int_equal(reader.n_buckets, list->n);
	for (uint32_t i = 0; i < reader.n_series; i++) {
		struct rollup_bucket *v;
		uint32_t n;
		assert_int_equal(rollup_read(&reader, i, a, &v, &n), 0);
		for (uint32_t j = 0; j < n; j++, at++) {
			assert_int_equal(v[j].entity, list->v[at].entity);
			const struct rollup *made = &list->v[at].rollup;
			assert_int_equal(v[j].sketch.n, v[j].rollup.numbers);
			if (step_ns == ROLLUP_MINUTE_NS) {
				assert_cut_short(&v[j].rollup, made, rates);
				continue;
			}
			assert_same_rollup(&v[j].rollup, made, true);
			rollup_quantiles(&v[j].rollup, &v[j].sketch);
			assert_near(v[j].rollup.p99, made->p99);
		}
	}
	assert_int_equal(at, list->n);
	for (size_t i = 0; i < row.n; i += 1 + row.n / 500) {
		row.s[i] ^= (char)(1 << i % 8);
		assert_int_equal(rollup_open(&reader, row.s, row.n), -EBADMSG);
		row.s[i] ^= (char)(1 << i % 8);
	}
	for (size_t cut = 0; cut < row.n; cut += 1 + cut / 8)
		assert_int_equal(rollup_open(&reader, row.s, cut), -EBADMSG);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t k = 0; k < rw_countof(metrics); k++) {
		struct rollup_list minutes = {0}, hours = {0};
		const bool rates = metric_info(metrics[k])->kind == METRIC_COUNTER;
		make_list(metrics[k], &minutes, &hours);
		assert_true(minutes.n > 12 * 1000);
		check_row(&minutes, ROLLUP_MINUTE_NS, rates);
		check_row(&hours, ROLLUP_HOUR_NS, rates);
		rollup_list_done(&minutes);
		rollup_list_done(&hours);
	}
}

static void test_hours_of_minutes(void **state)
{
	(void)state;
	for (size_t k = 0; k < rw_countof(metrics); k++) {
		struct rollup_list minutes = {0}, hours = {0}, made = {0};
		make_list(metrics[k], &minutes, &hours);
		rollup_coarser(minutes.v, minutes.n, ROLLUP_HOUR_NS, &made);
		assert_int_equal(made.n, hours.n);
		for (size_t i = 0; i < made.n; i++) {
			assert_int_equal(made.v[i].entity, hours.v[i].entity);
			assert_same_rollup(&made.v[i].rollup, &hours.v[i].rollup, false);
			rollup_quantiles(&made.v[i].rollup, &made.v[i].sketch);
			assert_near(made.v[i].rollup.p99, hours.v[i].rollup.p99);
		}
		rollup_list_done(&minutes);
		rollup_list_done(&hours);
		rollup_list_done(&made);
	}
}

/* 64 ports that stand still: an hour of minutes costs next to nothing. */
static void test_idle_rows(void **state)
{
	struct rollup_list minutes = {0};
	rw_cleanup(str_done) struct str row = {0};
	struct block_sample v[361];

	(void)state;
	for (int64_t s = 0; s < 64; s++) {
		for (int64_t i = 0; i < 361; i++)
			v[i] = (struct block_sample){.entity = s,
				.t_ns = DAY_BEGIN + i * 10 * NS_PER_S + 123456 * (i % 7),
				.value = 1000};
		rollup_make(M_PORT_IN_OCTETS, v, 361, DAY_BEGIN, ROLLUP_MINUTE_NS, &minutes);
	}
	assert_int_equal(rollup_encode(minutes.v, minutes.n, ROLLUP_MINUTE_NS, true, &row), 0);
	print_message(
		"%.3f bytes per minute of an idle counter\n", (double)row.n / (double)minutes.n);
	assert_true((double)row.n < 0.5 * (double)minutes.n);
	rollup_list_done(&minutes);
}

enum { MATRIX_SERIES = 9, MATRIX_INSTANTS = 500 };

/* Series @s: it stands still, moves, moves now and then, restarts, or ends in what is no number. */
static void make_column(unsigned metric, unsigned s, uint64_t *value)
{
	uint64_t now = s * 1000;

	for (unsigned i = 0; i < MATRIX_INSTANTS; i++) {
		if (s % 3 == 1 || (s % 3 == 2 && rng_below(40) == 0))
			now += rng_below(s == 4 ? 1000 : UINT64_C(1) << 40);
		value[i] = now = s == 7 && i == 300 ? 5 : now;
		if (metric_info(metric)->type == TYPE_F64)
			value[i] = sample_of_f64(s == 8 && i > 300 ? NAN : (double)now / 100);
	}
}

/* All series of @matrix at once are what each of them is alone. */
static void check_matrix(unsigned metric, const struct block_matrix *matrix)
{
	const bool rates = metric_info(metric)->kind == METRIC_COUNTER;
	struct rollup_made all = {0}, each = {0};
	struct block_sample v[MATRIX_INSTANTS];
	rw_cleanup(str_done) struct str left = {0}, right = {0};

	rollup_make_matrix(metric, matrix, DAY_BEGIN, &all);
	for (uint32_t i = 0; i < matrix->n_series * matrix->n; i++) {
		const uint32_t s = i / matrix->n, k = i % matrix->n;
		v[k] = (struct block_sample){matrix->entity[s], matrix->t_ns[k],
			matrix->value[s * matrix->stride + k], .flags = matrix->flags};
		if (k + 1 == matrix->n)
			rollup_make(metric, v, k + 1, DAY_BEGIN, ROLLUP_MINUTE_NS, &each.minutes);
	}
	rollup_coarser(each.minutes.v, each.minutes.n, ROLLUP_HOUR_NS, &each.hours);
	rollup_encode_series(
		all.minutes.v, all.series, all.n_series, ROLLUP_MINUTE_NS, rates, &left);
	rollup_encode(each.minutes.v, each.minutes.n, ROLLUP_MINUTE_NS, rates, &right);
	rollup_encode(all.hours.v, all.hours.n, ROLLUP_HOUR_NS, rates, &left);
	rollup_encode(each.hours.v, each.hours.n, ROLLUP_HOUR_NS, rates, &right);
	assert_int_equal(left.n, right.n);
	assert_memory_equal(left.s, right.s, left.n);
	rollup_made_done(&all);
	rollup_made_done(&each);
}

/* Polled each 10 s and each 4, with and without a sample before the hour, with a gap, a flag. */
static void test_matrix(void **state)
{
	static uint64_t value[MATRIX_SERIES * MATRIX_INSTANTS];
	static const int64_t entity[MATRIX_SERIES] = {2, 3, 5, 7, 11, 13, 17, 19, 23};
	int64_t t_ns[MATRIX_INSTANTS];

	(void)state;
	for (unsigned k = 0; k < 16 * rw_countof(metrics); k++) {
		struct block_matrix matrix = {MATRIX_SERIES, 0, entity, t_ns, value,
			MATRIX_INSTANTS, .flags = k & 8 ? SF_LATE : 0};
		for (unsigned s = 0; s < MATRIX_SERIES; s++)
			make_column(metrics[k / 16], s, value + s * MATRIX_INSTANTS);
		for (unsigned i = 0; i < MATRIX_INSTANTS; i++) {
			t_ns[i] = DAY_BEGIN +
				((k & 1 ? 3 : -25) + (int64_t)i * (k & 2 ? 4 : 10)) * NS_PER_S +
				(k & 4 && i > 90 ? 400 * NS_PER_S : 0) +
				(int64_t)rng_below(1000000);
			matrix.n += t_ns[i] <= DAY_BEGIN + ROLLUP_HOUR_NS;
		}
		check_matrix(metrics[k / 16], &matrix);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_hours_of_minutes),
		cmocka_unit_test(test_idle_rows),
		cmocka_unit_test(test_matrix),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
