/* rhythm_level - robust levels, change points by t-test, stretches of one level. */
#include "analyzers/measure/rhythm_level.h"

#include "base/stats.h"

#define SIDE_MIN 3 /* values on either side of a change */
#define SPREAD_MIN 0.003 /* of the level: less scatter than this is chance, not precision */
#define LEVELS_MAX 32

static double rhythm_median_of(const double *values, size_t n)
{
	double *sorted = rw_calloc(n + 1, sizeof(*sorted));
	size_t seen = 0;
	for (size_t k = 0; k < n; k++)
		if (!isnan(values[k]))
			sorted[seen++] = values[k];
	const double m = stats_median(sorted, seen);
	free(sorted);
	return m;
}

struct level rhythm_level(const double *values, size_t n)
{
	const double m = rhythm_median_of(values, n);
	double sum = 0, squares = 0;
	struct level l = {.mean = NAN, .se = NAN};
	for (size_t k = 0; k < n; k++) {
		if (isnan(values[k]) || values[k] < 0.5 * m || values[k] > 1.5 * m)
			continue;
		sum += values[k];
		l.n++;
	}
	if (!l.n)
		return l;
	l.mean = sum / (double)l.n;
	for (size_t k = 0; k < n; k++)
		if (!isnan(values[k]) && values[k] >= 0.5 * m && values[k] <= 1.5 * m)
			squares += (values[k] - l.mean) * (values[k] - l.mean);
	if (l.n > 1)
		l.se = sqrt(squares / (double)(l.n - 1) / (double)l.n);
	return l;
}

static bool is_idle(double value, double high)
{
	return !isnan(value) && !(value > RHYTHM_IDLE * high);
}

/* Busy blocks; with @apart not those next to idle ones, which may be idle for a part of their time.
 */
static size_t pick_busy(
	const double *values, size_t n, double high, bool apart, double *ret, size_t *ret_at)
{
	size_t busy = 0;
	for (size_t k = 0; k < n; k++) {
		if (isnan(values[k]) || is_idle(values[k], high))
			continue;
		if (apart &&
			((k > 0 && is_idle(values[k - 1], high)) ||
				(k + 1 < n && is_idle(values[k + 1], high))))
			continue;
		ret[busy] = values[k];
		ret_at[busy++] = k;
	}
	return busy;
}

size_t rhythm_busy(const double *values, size_t n, double *ret, size_t *ret_at)
{
	double *sorted = rw_calloc(n + 1, sizeof(*sorted));
	size_t seen = 0;
	for (size_t k = 0; k < n; k++)
		if (!isnan(values[k]) && values[k] > 0)
			sorted[seen++] = values[k];
	const double high = stats_quantile(sorted, seen, 0.75);
	free(sorted);
	const size_t all = pick_busy(values, n, high, false, ret, ret_at),
		     apart = pick_busy(values, n, high, true, ret, ret_at);
	if (2 * apart >= all)
		return apart; /* else a job that idles all the time */
	return pick_busy(values, n, high, false, ret, ret_at);
}

/* ---- change points ------------------------------------------------------- */

struct sums {
	double s, q;
	size_t n;
};

static struct sums rhythm_sums_of(const double *values, size_t n)
{
	struct sums r = {.n = n};
	for (size_t k = 0; k < n; k++) {
		r.s += values[k];
		r.q += values[k] * values[k];
	}
	return r;
}

static double rhythm_scatter(const struct sums *sums)
{
	return fmax(0, sums->q - sums->s * sums->s / (double)sums->n);
}

bool rhythm_change(const double *values, size_t n, size_t lo, size_t hi, struct change *ret)
{
	size_t first = SIDE_MIN;
	if (lo > SIDE_MIN)
		first = lo;
	size_t last = hi;
	if (n >= SIDE_MIN && hi > n - SIDE_MIN)
		last = n - SIDE_MIN;
	if (n < 2 * SIDE_MIN || first > last)
		return false;
	*ret = (struct change){.t = -1};
	const struct sums all = rhythm_sums_of(values, n);
	struct sums left = rhythm_sums_of(values, first - 1);
	for (size_t k = first; k <= last; k++) {
		left.s += values[k - 1];
		left.q += values[k - 1] * values[k - 1];
		left.n = k;
		const struct sums right = {.s = all.s - left.s, .q = all.q - left.q, .n = n - k};
		const double before = left.s / (double)k, after = right.s / (double)right.n;
		const double sd = fmax(
			sqrt((rhythm_scatter(&left) + rhythm_scatter(&right)) / (double)(n - 2)),
			SPREAD_MIN * fmax(before, after));
		double t = 0;
		if (sd > 0)
			t = fabs(after - before) /
				(sd * sqrt(1.0 / (double)k + 1.0 / (double)right.n));
		if (t > ret->t)
			*ret = (struct change){.at = k, .before = before, .after = after, .t = t};
	}
	return true;
}

static size_t rhythm_split(
	const double *values, size_t from, size_t to, double least, struct segment *ret, size_t max)
{
	struct change c;
	if (max > 1 && rhythm_change(values + from, to - from, 0, to - from, &c) &&
		c.t >= RHYTHM_SURE && fabs(c.after - c.before) > least * fmax(c.before, c.after)) {
		const size_t n = rhythm_split(values, from, from + c.at, least, ret, max - 1);
		return n + rhythm_split(values, from + c.at, to, least, ret + n, max - n);
	}
	ret[0] = (struct segment){
		.from = from, .to = to, .level = rhythm_level(values + from, to - from)};
	return 1;
}

size_t rhythm_segments(
	const double *values, size_t n, double least, struct segment *ret, size_t max)
{
	if (n && max)
		return rhythm_split(values, 0, n, least, ret, max);
	return 0;
}

double rhythm_best(const double *busy, size_t n, double least)
{
	struct segment segments[LEVELS_MAX];
	const size_t found = rhythm_segments(busy, n, least, segments, LEVELS_MAX);
	double best = NAN;
	for (size_t k = 0; k < found; k++)
		best = fmax(best, segments[k].level.mean);
	return best;
}

size_t rhythm_idle_from(const double *values, size_t n, double idle)
{
	size_t first = n;
	for (size_t k = n; k > 0; k--) {
		if (isnan(values[k - 1]))
			continue;
		if (!(values[k - 1] < idle))
			break;
		first = k - 1;
	}
	return first;
}
