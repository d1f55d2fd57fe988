/*
 * weight - how much the raised windows of one subject weigh together: what decides about opening.
 * It is a sequential test (Wald, Sequential Tests of Statistical Hypotheses, 1945) with a limited
 * memory: each OVER window adds its weight, and what is older than hold + 2 judged windows counts
 * no longer. The limit is what makes a restart find the same sum.
 *
 *      weight of an OVER window   (new / length) (1 + (k^2 - 1) (2 c - 1)), at most hold / 2
 *      new      how much of it no earlier window held: overlapping windows count once
 *      k        its value over its threshold, at least 1. The log likelihood ratio of a shift of k
 *               standard errors grows with k^2
 *      c        its confidence; at 0.5 and below only time counts
 *      proven   an exact sign, which noise cannot make: hold / 2
 *      hold 1   each weighs 1
 *
 * So a subject at its threshold opens after `hold` windows, one at twice the threshold after a
 * fourth of that, and with a hold above 1 none after a single window. Pure.
 */
#ifndef RW_INCIDENT_WEIGHT_H
#define RW_INCIDENT_WEIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/model/finding.h"

/* Shares of windows are added: three thirds are one. */
#define WEIGHT_SHARE_ERROR 1e-6

/* One OVER window. */
struct weight_window {
	double at; /* judged windows up to it, in whole windows */
	double weight;
};

struct weight {
	double judged; /* OVER and UNDER windows so far, in whole windows */
	struct weight_window *v; /* oldest first */
	size_t n, cap;
};

void weight_done(struct weight *weight);

/* weight_share - how much of the finding's window is new, in whole windows: 0 to 1. */
double weight_share(const struct finding *finding);

/* weight_judged - another window was judged. OVER windows add their weight; old ones are dropped.
 * @hold: of the finding, >= 1. */
void weight_judged(struct weight *weight, const struct finding *finding, uint32_t hold);

/* weight_sum - of the OVER windows that count; 0: none does. */
double weight_sum(const struct weight *weight);

#endif
