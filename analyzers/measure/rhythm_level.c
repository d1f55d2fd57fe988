/* rhythm_level - robust levels, change points by t-test, stretches of one level. */
#include "analyzers/measure/rhythm_level.h"

#include "base/stats.h"

#define SIDE_MIN 3 /* values on either side of a change */
#define SPREAD_MIN 0.003 /* of the level: less scatter than this is chance, not precision */
#define LEVELS_MAX 32
#define STRETCH_MIN 4 /* values of a level that was left again; a checkpoint touches fewer */
#define RETURN_MIN 2 /* values since: the first may hold both levels */
#define STRETCH_STEPS 64 /* positions looked at first, then those around the best */

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

/*
 * A level that was left and is come back to. One cut through it leaves both levels on a side, whose
 * scatter then hides the change; so the stretch between is held against all the rest: circular
 * binary segmentation (Olshen, Venkatraman, Lucito and Wigler, Biostatistics 2004).
 */
struct stretch {
	size_t from, to;
	double t;
};

/* Sums of all values before each. */
struct running {
	double *s, *q;
	size_t n;
};

static struct sums running_between(const struct running *running, size_t from, size_t to)
{
	return (struct sums){.s = running->s[to] - running->s[from],
		.q = running->q[to] - running->q[from],
		.n = to - from};
}

static double rhythm_mean(const struct sums *sums)
{
	return sums->s / (double)sums->n;
}

/* |difference| of two levels in standard errors, by the @scatter of @n values that are at a level
 * of @levels. */
static double rhythm_errors(
	const struct sums *left, const struct sums *right, double scatter, size_t n, size_t levels)
{
	const double a = rhythm_mean(left), b = rhythm_mean(right);
	const double sd =
		fmax(sqrt(fmax(0, scatter) / (double)(n - levels)), SPREAD_MIN * fmax(a, b));
	if (!(sd > 0))
		return 0;
	return fabs(a - b) / (sd * sqrt(1.0 / (double)left->n + 1.0 / (double)right->n));
}

static double stretch_errors(const struct running *running, size_t from, size_t to)
{
	const struct sums all = running_between(running, 0, running->n),
			  in = running_between(running, from, to);
	const struct sums out = {.s = all.s - in.s, .q = all.q - in.q, .n = all.n - in.n};
	return rhythm_errors(&in, &out, rhythm_scatter(&in) + rhythm_scatter(&out), running->n, 2);
}

static size_t stretch_first(size_t near, size_t reach, size_t least)
{
	return near > reach + least ? near - reach : least;
}

/* The best with both ends among every @step-th position within @reach of those of @ret. */
static void stretch_look(
	const struct running *running, size_t step, size_t reach, struct stretch *ret)
{
	const struct stretch near = *ret;
	const size_t n = running->n;
	for (size_t i = stretch_first(near.from, reach, SIDE_MIN);
		i + STRETCH_MIN + RETURN_MIN <= n && i <= near.from + reach; i += step)
		for (size_t j = stretch_first(near.to, reach, i + STRETCH_MIN);
			j + RETURN_MIN <= n && j <= near.to + reach; j += step) {
			const double t = stretch_errors(running, i, j);
			if (t > ret->t)
				*ret = (struct stretch){i, j, t};
		}
}

/* Sums stay near their line where no level was left: what one block misses of a step the next one
 * has. Then no stretch can be sure. */
static bool stretch_is_possible(const struct running *running)
{
	const struct sums all = running_between(running, 0, running->n);
	const double n = (double)running->n, mean = rhythm_mean(&all);
	double low = 0, high = 0;
	for (size_t k = 1; k <= running->n; k++) {
		const double off = running->s[k] - mean * (double)k;
		low = fmin(low, off);
		high = fmax(high, off);
	}
	const double most = (high - low) * (high - low) * n / (STRETCH_MIN * (n - STRETCH_MIN));
	return most * (n - 2) >= RHYTHM_SURE * RHYTHM_SURE * (rhythm_scatter(&all) - most);
}

/* Is each of its ends a sure change that counts, and is it one level, not a few values? */
static bool stretch_is_sure(
	const struct running *running, const struct stretch *stretch, double least)
{
	const struct sums part[] = {running_between(running, 0, stretch->from),
		running_between(running, stretch->from, stretch->to),
		running_between(running, stretch->to, running->n)};
	double scatter = 0;
	for (size_t k = 0; k < rw_countof(part); k++)
		scatter += rhythm_scatter(&part[k]);
	const double n_in = (double)part[1].n;
	const double own = sqrt(rhythm_scatter(&part[1]) / (n_in - 1) / n_in);
	for (size_t k = 0; k < 2; k++) {
		const double before = rhythm_mean(&part[k]), after = rhythm_mean(&part[k + 1]);
		if (rhythm_errors(&part[k], &part[k + 1], scatter, running->n, 3) < RHYTHM_SURE ||
			fabs(after - before) < RHYTHM_SURE * own ||
			fabs(after - before) <= least * fmax(before, after))
			return false;
	}
	return true;
}

static bool rhythm_stretch(const double *values, size_t n, double least, struct stretch *ret)
{
	if (n < SIDE_MIN + STRETCH_MIN + RETURN_MIN)
		return false;
	struct running running = {.n = n,
		.s = rw_calloc(n + 1, sizeof(double)),
		.q = rw_calloc(n + 1, sizeof(double))};
	for (size_t k = 0; k < n; k++) {
		running.s[k + 1] = running.s[k] + values[k];
		running.q[k + 1] = running.q[k] + values[k] * values[k];
	}
	*ret = (struct stretch){0};
	const size_t step = 1 + n / STRETCH_STEPS;
	if (stretch_is_possible(&running))
		stretch_look(&running, step, n, ret);
	if (step > 1 && ret->to > 0)
		stretch_look(&running, 1, step, ret);
	const bool sure = ret->to > 0 && stretch_is_sure(&running, ret, least);
	free(running.s);
	free(running.q);
	return sure;
}

static size_t rhythm_split(
	const double *values, size_t from, size_t to, double least, struct segment *ret, size_t max)
{
	struct change c;
	struct stretch s;
	const bool cut = max > 1 && rhythm_change(values + from, to - from, 0, to - from, &c) &&
		c.t >= RHYTHM_SURE && fabs(c.after - c.before) > least * fmax(c.before, c.after);
	if (max > 2 && rhythm_stretch(values + from, to - from, least, &s) && (!cut || s.t > c.t)) {
		size_t n = rhythm_split(values, from, from + s.from, least, ret, max - 2);
		n += rhythm_split(values, from + s.from, from + s.to, least, ret + n, max - n - 1);
		return n + rhythm_split(values, from + s.to, to, least, ret + n, max - n);
	}
	if (cut) {
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
