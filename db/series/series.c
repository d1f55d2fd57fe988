/*
 * series - what runs of samples mean; pure. The only place that knows wraps, resets and gaps.
 *
 * Rules of an interval between two samples a -> b of a counter (series_increase):
 *   1. Late samples do not exist. Suspect ones are stepped over and counted; a restart flag on
 *       one still breaks the run.
 *   2. A restart flag on b: no delta. (The flag says what lies between it and the sample before.)
 *   3. b < a: one 32-bit wrap when both samples carry wrap32, both values fit 32 bits, and the
 *       delta is believable: within the gate, or
 *      without a gate less than half of the range (a reset to near zero from a low value would
 *          need more than half). Else a reset.
 *   4. A delta above the gate: no delta; the time the gate looks at is the time since the
 *       counter last moved (see gate_time()).
 * What has no delta is not covered. Nothing is interpolated to the window's edges.
 */
#include "db/series/series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/clock.h"
#include "agent/base/stats.h"
#include "db/series/series_window.h"

uint32_t series_after(const struct series *series, int64_t time_ns)
{
	uint32_t lo = 0, hi = series->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (series->t_ns[mid] > time_ns)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static bool series_usable(const struct series *series, uint32_t i)
{
	return !(series->flags[i] & (SF_LATE | SF_SUSPECT));
}

size_t window_metric(const struct window *window, unsigned metric)
{
	size_t lo = 0, hi = window->n_series;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (window->series[mid].metric < metric)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct series *window_series(const struct window *window, uint32_t entity, unsigned metric)
{
	size_t lo = 0, hi = window->n_series;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct series *s = &window->series[mid];
		if (s->metric == metric && s->entity == entity)
			return s;
		if (s->metric < metric || (s->metric == metric && s->entity < entity))
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/*
 * A switch that refreshes its counters every few seconds answers the same value several times and
 * then jumps by all of it at once: the jump's rate is over the time since the last move, not since
 * the last answer. For the first move of a run that time is not known (the anchor may itself have
 * been old), so the time until the next move stands for it.
 */
static int64_t gate_time(
	const struct series *series, uint32_t i, uint32_t end, int64_t moved_ns, bool first_move)
{
	int64_t back = series->t_ns[i] - moved_ns, ahead = 0;

	if (!first_move)
		return back;
	for (uint32_t j = i + 1; j < end; j++) {
		if (!series_usable(series, j))
			continue;
		if (series->flags[j] & SF_RESTART)
			break;
		ahead = series->t_ns[j] - series->t_ns[i];
		if (series->value[j] != series->value[i])
			break;
	}
	if (ahead > back)
		return ahead;
	return back;
}

static bool series_believable(uint64_t delta, int64_t ns, double max_rate_per_s)
{
	return (double)delta <= max_rate_per_s * ((double)ns / NS_PER_S);
}

/*
 * Nearly every run of a healthy fabric: no flag, never backwards, no interval above the gate even
 * over its own time. The rules below then come to last minus anchor; anything else is for them.
 * @begin is the first sample after the start.
 */
static bool plain_increase(const struct series *series, uint32_t begin, uint32_t end,
	double max_rate_per_s, struct increase *ret)
{
	if (begin == end || series->flags[begin - (begin > 0)])
		return false;
	uint32_t prev = begin;
	if (begin > 0)
		prev = begin - 1;
	const uint32_t first = prev;
	struct increase r = {.quality = QUALITY_EXACT};
	for (uint32_t i = prev + 1; i < end; i++) {
		if (series->flags[i] || series->value[i] < series->value[prev] ||
			series->t_ns[i] <= series->t_ns[prev])
			return false;
		const uint64_t delta = series->value[i] - series->value[prev];
		if (delta && max_rate_per_s > 0 &&
			!series_believable(
				delta, series->t_ns[i] - series->t_ns[prev], max_rate_per_s))
			return false;
		r.changes += delta != 0;
		prev = i;
	}
	if (prev == first)
		return false;
	r.intervals = prev - first;
	r.value = series->value[prev] - series->value[first];
	r.first_ns = series->t_ns[first];
	r.last_ns = series->t_ns[prev];
	r.covered_ns = r.span_ns = r.last_ns - r.first_ns;
	*ret = r;
	return true;
}

int series_increase(const struct series *series, int64_t from_ns, int64_t to_ns,
	double max_rate_per_s, struct increase *ret)
{
	struct increase r = {.quality = QUALITY_UNKNOWN};
	bool have = false, broken = false, first_move = true, estimated = false;
	uint32_t prev = 0, begin, end;
	int64_t moved_ns = 0;

	*ret = r;
	if (!series || series->n == 0)
		return -ENODATA;
	begin = series_after(series, from_ns);
	end = series_after(series, to_ns);
	if (plain_increase(series, begin, end, max_rate_per_s, ret))
		return 0;
	/* the anchor: the last usable sample at or before the start; without one, the first in the
	 * window takes its place */
	for (uint32_t i = begin; i > 0 && !have; i--) {
		if (series_usable(series, i - 1)) {
			prev = i - 1;
			have = true;
		} else if (!(series->flags[i - 1] & SF_LATE)) {
			broken |= (series->flags[i - 1] & SF_RESTART) != 0;
		}
	}
	if (have) {
		r.first_ns = r.last_ns = moved_ns = series->t_ns[prev];
		/* samples before the anchor may tell how old its value already was */
		for (uint32_t i = prev; i > 0 && series_usable(series, i - 1) &&
			series->value[i - 1] == series->value[prev];
			i--)
			moved_ns = series->t_ns[i - 1];
	}
	for (uint32_t i = begin; i < end; i++) {
		unsigned f = series->flags[i];
		if (f & SF_LATE)
			continue;
		broken |= (f & SF_RESTART) != 0;
		if (f & SF_SUSPECT) {
			r.suspects++;
			continue;
		}
		if (!have) {
			have = true;
			broken = false;
			prev = i;
			r.first_ns = r.last_ns = moved_ns = series->t_ns[i];
			continue;
		}
		int64_t dt = series->t_ns[i] - series->t_ns[prev];
		if (dt <= 0)
			continue;
		uint64_t a = series->value[prev], b = series->value[i], delta = b - a;
		bool narrow = (f & SF_WRAP32) && (series->flags[prev] & SF_WRAP32) &&
			a <= UINT32_MAX && b <= UINT32_MAX;
		bool valid = !broken, wrapped = false;
		int64_t gate_ns = dt;
		if (valid && b != a && max_rate_per_s > 0)
			gate_ns = gate_time(series, i, end, moved_ns, first_move);

		if (broken) {
			r.resets++;
		} else if (b < a) {
			delta = (uint32_t)delta;
			wrapped = narrow &&
				(max_rate_per_s > 0
						? series_believable(delta, gate_ns, max_rate_per_s)
						: delta < UINT64_C(1) << 31);
			valid = wrapped;
			r.wraps += wrapped;
			r.resets += !wrapped;
		} else if (max_rate_per_s > 0 &&
			!series_believable(delta, gate_ns, max_rate_per_s)) {
			valid = false;
			r.suspects++;
		}
		if (valid) {
			r.value += delta;
			r.covered_ns += dt;
			r.intervals++;
			r.changes += delta != 0;
			estimated |= ((f | series->flags[prev]) & SF_ESTIMATED) != 0;
			/* 32 bits that can wrap more than once between two samples: what we have is
			 * a lower bound */
			estimated |= narrow && max_rate_per_s > 0 &&
				series_believable(UINT64_C(1) << 32, dt, max_rate_per_s);
		}
		if (b != a || broken) {
			moved_ns = series->t_ns[i];
			first_move = broken;
		}
		broken = false;
		prev = i;
		r.last_ns = series->t_ns[i];
	}
	r.span_ns = r.last_ns - r.first_ns;
	if (r.intervals > 0) {
		if (r.suspects)
			r.quality = QUALITY_SUSPECT;
		else if (estimated)
			r.quality = QUALITY_ESTIMATED;
		else
			r.quality = QUALITY_EXACT;
	}
	*ret = r;
	if (r.intervals > 0)
		return 0;
	return -ENODATA;
}

int series_rate(const struct series *series, int64_t from_ns, int64_t to_ns, double max_rate_per_s,
	double *ret_per_s, struct increase *ret_inc)
{
	struct increase inc;
	int r = series_increase(series, from_ns, to_ns, max_rate_per_s, &inc);

	if (ret_inc)
		*ret_inc = inc;
	if (r < 0)
		return r;
	*ret_per_s = (double)inc.value / ((double)inc.covered_ns / NS_PER_S);
	return 0;
}

int series_state(const struct series *series, int64_t at_ns, int64_t max_age_ns, uint64_t *ret)
{
	if (!series)
		return -ENODATA;
	for (uint32_t i = series_after(series, at_ns); i > 0; i--) {
		if (at_ns - series->t_ns[i - 1] > max_age_ns)
			break;
		if (!series_usable(series, i - 1))
			continue;
		*ret = series->value[i - 1];
		return 0;
	}
	return -ENODATA;
}

int series_quantile(
	const struct series *series, int64_t from_ns, int64_t to_ns, double at, double *ret)
{
	if (!series || series->n == 0)
		return -ENODATA;
	uint32_t begin = series_after(series, from_ns), end = series_after(series, to_ns);
	size_t n = 0;
	double *v = malloc((size_t)(end - begin) * sizeof(*v) + 1);

	if (!v)
		return -ENOMEM;
	for (uint32_t i = begin; i < end; i++) {
		double d = sample_number(series->metric, series->value[i]);
		if (series_usable(series, i) && !isnan(d))
			v[n++] = d;
	}
	if (n > 0)
		*ret = stats_quantile(v, n, at);
	free(v);
	if (n > 0)
		return 0;
	return -ENODATA;
}

double series_coverage(
	const struct series *series, int64_t from_ns, int64_t to_ns, int64_t max_gap_ns)
{
	if (!series || series->n == 0 || to_ns <= from_ns)
		return 0;
	uint32_t begin = series_after(series, from_ns), end = series_after(series, to_ns);
	int64_t covered = 0, prev = 0;
	bool have = false;

	for (uint32_t i = begin; i > 0 && !have; i--) {
		have = series_usable(series, i - 1);
		prev = series->t_ns[i - 1];
	}
	for (uint32_t i = begin; i < end; i++) {
		if (!series_usable(series, i))
			continue;
		/* Counters' deltas do not exist over a restart, whatever the gap. */
		if (have && series->t_ns[i] - prev <= max_gap_ns &&
			!(series->flags[i] & SF_RESTART))
			covered += series->t_ns[i] - (prev > from_ns ? prev : from_ns);
		prev = series->t_ns[i];
		have = true;
	}
	double ratio = (double)covered / (double)(to_ns - from_ns);
	if (ratio > 1)
		return 1;
	return ratio;
}

int series_order(const void *left, const void *right)
{
	const struct series *x = left, *y = right;

	if (x->metric != y->metric) {
		if (x->metric < y->metric)
			return -1;
		return 1;
	}
	return (x->entity > y->entity) - (x->entity < y->entity);
}
