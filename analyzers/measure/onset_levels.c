/* onset_levels - two sums of octets over time, and their common curve. */
#include "analyzers/measure/onset_levels.h"

#include <math.h>
#include <stddef.h>

#include "analyzers/measure/rhythm.h"
#include "base/clock.h"

#define BEFORE_MIN 6 /* blocks */
#define AFTER_MIN 3
#define SEEN_LEAST 0.75 /* share of a side's blocks that has to count by itself */
#define USUAL_LEAST 0.5 /* of the side's level, as in rhythm_level() */
#define USUAL_MOST 1.5

/* A job's level drifts by about 1 % within the hour: by so much of it a second, usually. */
#define DRIFT_USUAL 1e-5
#define FREE_SUMS 4.0 /* sums that are as good as independent: what one errs the next one keeps */

struct onset_side {
	double tt, tq, qq, ty, qy, yy; /* sums of products, each around its mean */
};

struct onset_moments {
	double n, t, q, y, tt, tq, qq, ty, qy, yy;
};

static void onset_add(struct onset_moments *sums, double t, double y)
{
	const double q = t * t / 2;
	sums->n++;
	sums->t += t;
	sums->q += q;
	sums->y += y;
	sums->tt += t * t;
	sums->tq += t * q;
	sums->qq += q * q;
	sums->ty += t * y;
	sums->qy += q * y;
	sums->yy += y * y;
}

/* The blocks that lie in (from, to]; false: too few. */
static bool onset_side_of(const struct job_rate *rate, int64_t from_ns, int64_t to_ns,
	int64_t onset_ns, size_t least, struct onset_side *ret)
{
	size_t first = 0, end = rate->n;
	while (first < end &&
		(isnan(rate->rate[first]) ||
			rate->from_ns + (int64_t)first * rate->block_ns < from_ns))
		first++;
	while (end > first &&
		(isnan(rate->rate[end - 1]) ||
			rate->from_ns + (int64_t)end * rate->block_ns > to_ns))
		end--;
	const struct level level = rhythm_level(rate->rate + first, end - first);
	if (level.n < least || (double)level.n < SEEN_LEAST * (double)(end - first))
		return false;
	struct onset_moments s = {0};
	double y = 0;
	for (size_t k = first; k <= end; k++) {
		const int64_t at_ns = rate->from_ns + (int64_t)k * rate->block_ns;
		onset_add(&s, (double)(at_ns - onset_ns) / (double)NS_PER_S, y);
		double more = level.mean;
		if (k < end && rate->rate[k] >= USUAL_LEAST * level.mean &&
			rate->rate[k] <= USUAL_MOST * level.mean)
			more = rate->rate[k];
		y += more * (double)rate->block_ns / (double)NS_PER_S;
	}
	*ret = (struct onset_side){.tt = s.tt - s.t * s.t / s.n,
		.tq = s.tq - s.t * s.q / s.n,
		.qq = s.qq - s.q * s.q / s.n,
		.ty = s.ty - s.t * s.y / s.n,
		.qy = s.qy - s.q * s.y / s.n,
		.yy = s.yy - s.y * s.y / s.n};
	return true;
}

bool onset_levels(const struct job_rate *rate, const struct onset_span *span, double *ret_before,
	double *ret_after)
{
	struct onset_side side[2];
	if (rate->block_ns <= 0 ||
		!onset_side_of(rate, span->from_ns, span->before_ns, span->onset_ns, BEFORE_MIN,
			&side[0]) ||
		!onset_side_of(
			rate, span->after_ns, span->to_ns, span->onset_ns, AFTER_MIN, &side[1]))
		return false;
	double curve = 0, weight = 0, rest = 0;
	for (size_t i = 0; i < 2; i++) {
		curve += side[i].qy - side[i].ty * side[i].tq / side[i].tt;
		weight += side[i].qq - side[i].tq * side[i].tq / side[i].tt;
		rest += side[i].yy - side[i].ty * side[i].ty / side[i].tt;
	}
	rest = fmax(0, rest - curve * curve / weight);
	const double usual = DRIFT_USUAL * side[0].ty / side[0].tt;
	const double drift = curve / (weight + rest / FREE_SUMS / (usual * usual));
	*ret_before = (side[0].ty - drift * side[0].tq) / side[0].tt;
	*ret_after = (side[1].ty - drift * side[1].tq) / side[1].tt;
	return isfinite(*ret_before) && isfinite(*ret_after);
}
