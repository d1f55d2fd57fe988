/*
 * chance - how uneven a uniform hash is by luck alone: n equal flows thrown into m members of equal
 * capacity.
 *
 * The measure is that of ecmp_imbalance: max/mean - 1. Everything is exact for whole n (see
 * chance.c), deterministic, and pure. A fractional n (an effective number of flows) is interpolated
 * between its neighbours.
 */
#pragma once

#include "base/base.h"

struct chance {
	double mean; /* expected max/mean - 1 */
	double p95, p999; /* exceeded in 5 % and in 0.1 % of placements */
};

/* chance_baseline - 0, or -EDOM when @members is 0 or above CHANCE_MEMBERS_MAX or @flows is not a
 * number >= 1. */
#define CHANCE_MEMBERS_MAX 1024
int chance_baseline(size_t members, double flows, struct chance *ret);

/* chance_quantile - the imbalance that chance stays at or below with probability @quantile (0 < q <
 * 1). NAN out of domain. */
double chance_quantile(size_t members, double flows, double quantile);

/* chance_tail - probability of an imbalance of @imbalance or more. 0..1; NAN out of domain. */
double chance_tail(size_t members, double flows, double imbalance);

/* chance_cov - coefficient of variation of the members' loads: sqrt((m-1)/n). Source: variance of a
 * multinomial count. */
double chance_cov(size_t members, double flows);

/*
 * chance_even - probability that @flows equal flows spread over @members as evenly as @cov or
 * better. Source: sum (count - mean)^2 / mean = n CoV^2 is chi-square with m - 1 degrees of freedom
 * (Pearson 1900). Counts are whole, so that sum moves in steps of 2 m / n: half a step is added.
 */
double chance_even(size_t members, double flows, double cov);

/*
 * chance_left_out - how probable it is, at most, that a uniform hash leaves one given member of
 * @members empty while the others are as even as @cov. The number of flows is not known: it is the
 * one that makes luck most probable, and no less than @least. With few flows an empty member is
 * common but even others are rare; with many flows it is the other way round.
 * @cov_before, when not NAN: all members were this even with the same flows before.
 */
double chance_left_out(size_t members, double cov, double least, double cov_before);
