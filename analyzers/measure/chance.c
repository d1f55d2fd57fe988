/*
 * chance - the exact distribution of the fullest of m members under a uniform hash of n equal
 * flows.
 *
 * The counts of a multinomial are independent Poisson counts, given their sum. So with X_1..X_m
 * Poisson(n/m), each cut at k:
 *
 *     P(max <= k) = P(all X_i <= k, sum X_i = n) / P(Poisson(n) = n)
 *
 * (Levin, "A representation for multinomial cumulative distribution functions", Annals of
 * Statistics 9, 1981.) Where the paper approximates the sum's density, we invert its characteristic
 * function with a discrete Fourier sum: a sum over integers is recovered exactly from N equidistant
 * points when N exceeds its range, and up to the Poisson tail beyond n + N otherwise.
 *
 * Above LAMBDA_MAX flows per member the distribution of (max - n/m) / sqrt(n/m) has all but
 * settled; it is taken from there. What that leaves out is the skewness that is still shrinking:
 * under 0.6 percentage points of imbalance, on the high side.
 */
#include "analyzers/measure/chance.h"

#include <complex.h>

#define LAMBDA_MAX 256.0
#define TAIL_END 1e-12 /* the list of k ends where no more than this is left above */

struct chance_spread { /* of the fullest member's count, for whole n */
	size_t m;
	double n; /* as asked */
	double used_n; /* as computed: n, or LAMBDA_MAX * m */
	uint64_t k0; /* below it the probability is 0: ceil(n/m) */
	double *cdf; /* cdf[i] = P(max <= k0 + i) */
	size_t n_cdf;
};

static void spread_done(struct chance_spread *spread)
{
	free(spread->cdf);
}

static double complex chance_power(double complex base, size_t exponent)
{
	double complex r = 1;
	for (; exponent; exponent >>= 1, base *= base)
		if (exponent & 1)
			r *= base;
	return r;
}

/*
 * spread_make - fill @spread for a whole @flows >= 1. One pass over j builds the cut Poisson's
 * characteristic function at every Fourier point; from k0 on, each step yields one value of the
 * distribution.
 */
static void spread_make(struct chance_spread *spread, size_t members, double flows)
{
	*spread = (struct chance_spread){.m = members, .n = flows, .used_n = flows};
	if (flows / (double)members > LAMBDA_MAX)
		spread->used_n = LAMBDA_MAX * (double)members;
	double lambda = spread->used_n / (double)members;
	spread->k0 = (uint64_t)ceil(lambda - 1e-9);
	uint64_t k_max = (uint64_t)fmin(spread->used_n, ceil(lambda + 14 * sqrt(lambda) + 40));
	if (members == 1)
		k_max = spread->k0 = (uint64_t)spread->used_n;
	spread->cdf = rw_calloc(k_max - spread->k0 + 1, sizeof(*spread->cdf));

	double reach = fmin(
		(double)members * (double)k_max, spread->used_n + 22 * sqrt(spread->used_n) + 100);
	size_t points = (size_t)reach + 2;
	size_t half = points / 2 + 1; /* the other half is the conjugate */
	rw_cleanup(freep) double complex *phi = rw_calloc(half, sizeof(*phi));
	rw_cleanup(freep) double complex *step = rw_calloc(half, sizeof(*step));
	rw_cleanup(freep) double complex *turn = rw_calloc(half, sizeof(*turn));
	rw_cleanup(freep) double complex *back = rw_calloc(half, sizeof(*back));
	for (size_t l = 0; l < half; l++) {
		double t = 2 * M_PI * (double)l / (double)points;
		step[l] = cexp(I * t);
		turn[l] = 1;
		back[l] = cexp(-I * t * fmod(spread->used_n, (double)points));
	}
	/* |phi|^m below this adds nothing to a double */
	double negligible = pow(1e-20, 2.0 / (double)members);
	double whole = exp(-spread->used_n + spread->used_n * log(spread->used_n) -
		lgamma(spread->used_n + 1));
	for (uint64_t k = 0; k <= k_max; k++) {
		double p = exp(-lambda + (double)k * log(lambda) - lgamma((double)k + 1));
		for (size_t l = 0; l < half; l++) {
			phi[l] += p * turn[l];
			turn[l] *= step[l];
		}
		if (k < spread->k0)
			continue;
		double sum = 0;
		for (size_t l = 0; l < half; l++) {
			double size = creal(phi[l]) * creal(phi[l]) + cimag(phi[l]) * cimag(phi[l]);
			if (size < negligible)
				continue;
			double both = 2;
			if (l == 0 || 2 * l == points)
				both = 1;
			sum += both * creal(chance_power(phi[l], members) * back[l]);
		}
		double cdf = sum / (double)points / whole;
		double before = 0;
		if (spread->n_cdf)
			before = spread->cdf[spread->n_cdf - 1];
		if (k == k_max && (double)k >= spread->used_n)
			cdf = 1;
		else
			cdf = fmin(fmax(cdf, before), 1);
		spread->cdf[spread->n_cdf++] = cdf;
		if (cdf > 1 - TAIL_END)
			break;
	}
}

/* Imbalance that a fullest count of @most stands for; scaled when the spread was computed for fewer
 * flows. */
static double spread_imbalance(const struct chance_spread *spread, double most)
{
	double lambda = spread->used_n / (double)spread->m;
	double ratio = most / lambda - 1;
	if (spread->used_n < spread->n)
		return ratio * sqrt(spread->used_n / spread->n);
	return ratio;
}

static double spread_mean(const struct chance_spread *spread)
{
	double mean = (double)spread->k0; /* E[max] = sum over k of P(max > k) */
	for (size_t i = 0; i < spread->n_cdf; i++)
		mean += 1 - spread->cdf[i];
	return spread_imbalance(spread, mean);
}

static double spread_quantile(const struct chance_spread *spread, double quantile)
{
	size_t i = 0;
	while (i + 1 < spread->n_cdf && spread->cdf[i] < quantile)
		i++;
	return spread_imbalance(spread, (double)(spread->k0 + i));
}

static double spread_tail(const struct chance_spread *spread, double imbalance)
{
	double lambda = spread->used_n / (double)spread->m;
	double scale = 1;
	if (spread->used_n < spread->n)
		scale = sqrt(spread->n / spread->used_n);
	double k = ceil((1 + imbalance * scale) * lambda - 1e-6);
	if (k <= (double)spread->k0)
		return 1;
	size_t below = (size_t)(k - 1 - (double)spread->k0);
	if (below < spread->n_cdf)
		return 1 - spread->cdf[below];
	return 0;
}

static bool in_domain(size_t members, double flows)
{
	return members >= 1 && members <= CHANCE_MEMBERS_MAX && flows >= 1 && flows < 1e15;
}

enum ask { ASK_MEAN, ASK_QUANTILE, ASK_TAIL };

static double spread_ask(const struct chance_spread *spread, enum ask ask, double arg)
{
	switch (ask) {
	case ASK_MEAN: return spread_mean(spread);
	case ASK_QUANTILE: return spread_quantile(spread, arg);
	case ASK_TAIL: return spread_tail(spread, arg);
	}
	return NAN;
}

/* Answer every question about (members, flows) from one or two spreads; @n questions. */
static int chance_ask(
	size_t members, double flows, size_t n, const enum ask *ask, const double *arg, double *ret)
{
	if (!in_domain(members, flows))
		return -EDOM;
	double low = floor(flows + 1e-9), part = fmax(0, flows - low);
	rw_cleanup(spread_done) struct chance_spread a = {0}, b = {0};
	spread_make(&a, members, low);
	if (part > 1e-9)
		spread_make(&b, members, low + 1);
	for (size_t i = 0; i < n; i++) {
		ret[i] = spread_ask(&a, ask[i], arg[i]);
		if (part > 1e-9)
			ret[i] += part * (spread_ask(&b, ask[i], arg[i]) - ret[i]);
	}
	return 0;
}

int chance_baseline(size_t members, double flows, struct chance *ret)
{
	static const enum ask ask[] = {ASK_MEAN, ASK_QUANTILE, ASK_QUANTILE};
	static const double arg[] = {0, 0.95, 0.999};
	double v[3];
	int r = chance_ask(members, flows, 3, ask, arg, v);
	if (r < 0)
		return r;
	*ret = (struct chance){.mean = v[0], .p95 = v[1], .p999 = v[2]};
	return 0;
}

double chance_quantile(size_t members, double flows, double quantile)
{
	enum ask ask = ASK_QUANTILE;
	double v;
	if (!(quantile > 0 && quantile < 1) ||
		chance_ask(members, flows, 1, &ask, &quantile, &v) < 0)
		return NAN;
	return v;
}

double chance_tail(size_t members, double flows, double imbalance)
{
	enum ask ask = ASK_TAIL;
	double v;
	if (isnan(imbalance) || chance_ask(members, flows, 1, &ask, &imbalance, &v) < 0)
		return NAN;
	return fmin(fmax(v, 0), 1);
}

double chance_cov(size_t members, double flows)
{
	if (in_domain(members, flows))
		return sqrt((double)(members - 1) / flows);
	return NAN;
}

/* Lower tail of the regularised gamma function P(a, x), by its series (Abramowitz and Stegun
 * 6.5.29). */
static double gamma_lower(double shape, double x)
{
	if (!(x > 0))
		return 0;
	double term = 1 / shape, sum = term;
	for (int n = 1; n < 1000 && term > 1e-12 * sum; n++) {
		term *= x / (shape + n);
		sum += term;
	}
	return fmin(1, sum * exp(-x + shape * log(x) - lgamma(shape)));
}

/* The least CoV that @flows equal flows can have over @members: counts are whole. */
static double least_cov(double members, double flows)
{
	const double over = fmod(flows, members) / members;
	return sqrt(over * (1 - over)) * members / flows;
}

double chance_even(size_t members, double flows, double cov)
{
	if (!in_domain(members, flows) || isnan(cov))
		return NAN;
	if (members < 2)
		return 1;
	const double m = (double)members;
	/* flows are not quite alike: half of the least is allowed */
	if (cov < least_cov(m, flows) / 2)
		return 0;
	return gamma_lower((m - 1) / 2, (flows * cov * cov + m / flows) / 2);
}

double chance_left_out(size_t members, double cov, double least, double cov_before)
{
	const double m = (double)members;
	double worst = 0;
	if (members < 2 || isnan(cov))
		return 1;
	for (double flows = fmax(1, least);; flows = fmax(flows + 1, floor(flows * 1.1))) {
		const double empty = pow(1 - 1 / m, flows);
		double p = empty * chance_even(members - 1, flows, cov);
		if (!isnan(cov_before))
			p *= chance_even(members, flows, cov_before);
		worst = fmax(worst, p);
		/* from here on an empty member alone is less probable than the worst so far */
		if (empty < worst || empty < 1e-15)
			return worst;
	}
}
