/* optic_trend - means of parts, and what they say. */
#include "analyzers/measure/optic_trend.h"

#include <math.h>

#include "agent/base/clock.h"
#include "agent/base/stats.h"

#define PARTS 30
#define EARLIER_MIN 5 /* known parts before the newest */
#define SLOPE_PARTS 6 /* the newest ones: what goes on now */

struct optic_parts { /* known parts only, oldest first */
	double mean[PARTS];
	double at_h[PARTS]; /* middle of its readings, hours since the past began */
	unsigned n;
	double newest; /* reading */
	double readings; /* per known part, on average */
};

static struct optic_parts optic_parts_of(
	const struct window *past, const struct series *series, bool decades, double least)
{
	struct optic_parts parts = {.n = 0};
	double sum[PARTS] = {0}, time[PARTS] = {0};
	unsigned count[PARTS] = {0};
	const uint32_t first = series_after(series, past->from_ns);
	if (first >= series->n)
		return parts;
	/* a past that is not full yet has shorter parts */
	const int64_t from_ns = series->t_ns[first] - 1, span_ns = past->to_ns - from_ns;
	for (uint32_t i = first; i < series->n && series->t_ns[i] <= past->to_ns; i++) {
		const double value = sample_number(series->metric, series->value[i]);
		if (isnan(value) || value <= least || series->flags[i] & (SF_LATE | SF_SUSPECT))
			continue;
		const int64_t since_ns = series->t_ns[i] - from_ns;
		const unsigned part = (unsigned)((since_ns - 1) * PARTS / span_ns);
		sum[part] += decades ? log10(value) : value;
		time[part] += (double)since_ns / (3600.0 * (double)NS_PER_S);
		count[part]++;
		parts.newest = decades ? log10(value) : value;
		parts.readings += 1;
	}
	for (unsigned k = 0; k < PARTS; k++) {
		if (!count[k])
			continue;
		parts.mean[parts.n] = sum[k] / count[k];
		parts.at_h[parts.n++] = time[k] / count[k];
	}
	if (parts.n)
		parts.readings /= parts.n;
	return parts;
}

/*
 * One standard deviation of a part. Second differences of a line are 0, also before and after a
 * bend, so only noise is left of them in the median: six times the variance of a part.
 */
static double optic_parts_spread(const struct optic_parts *parts)
{
	double bends[PARTS];
	for (unsigned k = 2; k < parts->n; k++)
		bends[k - 2] = parts->mean[k] - 2 * parts->mean[k - 1] + parts->mean[k - 2];
	return STATS_MAD_TO_SIGMA * stats_mad(bends, parts->n - 2, 0) / sqrt(6);
}

/* Theil and Sen: the median slope of all pairs of the newest parts. */
static double optic_parts_slope(const struct optic_parts *parts)
{
	double slopes[SLOPE_PARTS * (SLOPE_PARTS - 1) / 2];
	size_t n = 0;
	unsigned first = 0;
	if (parts->n > SLOPE_PARTS)
		first = parts->n - SLOPE_PARTS;
	for (unsigned i = first; i < parts->n; i++)
		for (unsigned k = i + 1; k < parts->n; k++)
			if (parts->at_h[k] > parts->at_h[i])
				slopes[n++] = (parts->mean[k] - parts->mean[i]) /
					(parts->at_h[k] - parts->at_h[i]);
	return stats_median(slopes, n);
}

struct optic_trend optic_trend_of(const struct window *past, const struct series *series, int worse,
	bool decades, double least)
{
	struct optic_trend trend = {
		.before = NAN, .now = NAN, .moved = NAN, .spread = NAN, .slope_per_h = NAN};
	if (!past || !series || past->to_ns <= past->from_ns)
		return trend;
	const struct optic_parts parts = optic_parts_of(past, series, decades, least);
	if (parts.n < EARLIER_MIN + 1)
		return trend;
	const unsigned earlier = parts.n - 1;
	double worst = -INFINITY, oldest[PARTS], all[PARTS];
	for (unsigned k = 0; k < earlier; k++) {
		worst = fmax(worst, worse * parts.mean[k]);
		oldest[k] = all[k] = parts.mean[k];
	}
	trend.known = true;
	trend.now = parts.newest;
	trend.beyond = worse * trend.now > worst && worse * parts.mean[earlier] >= worst;
	/* of the two the better one: a trend as long as the past drags its own median along */
	const double middle = stats_median(all, earlier),
		     first = stats_median(oldest, (earlier + 2) / 3);
	trend.before = worse * fmin(worse * first, worse * middle);
	trend.moved = worse * (trend.now - trend.before);
	/* of one reading, as the newest is: the mean of a part scatters less */
	trend.spread = optic_parts_spread(&parts) * sqrt(parts.readings);
	trend.slope_per_h = optic_parts_slope(&parts);
	return trend;
}
