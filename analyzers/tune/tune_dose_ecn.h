/* tune_dose_ecn - where marking begins and how steeply it rises: Kmin, Kmax and Pmax (rows 3, 4 and
 * 5 of docs/tuning.md). */
#ifndef RW_ANALYZERS_TUNE_DOSE_ECN_H
#define RW_ANALYZERS_TUNE_DOSE_ECN_H

#include "analyzers/tune/tune_plan.h"

/*
 * plan_ecn_ramp - marking early enough that senders slow down before PFC fires, and on a ramp wide
 * enough that they do not all slow down at once: Kmax at least four times Kmin and below q_PFC.
 * Nothing is planned where the settings are such already; .refused where the buffer has no place.
 */
void plan_ecn_ramp(struct tune_plan *plan);

/* Kmax of a wide enough ramp (at most @pool_bytes, which no queue exceeds), where marking would act
 * below @q_pfc and its ramp is steep; NAN: the ramp is in order, out of reach or not known. */
double tune_ramp_kmax(const struct tune_prio *prio, double q_pfc, double pool_bytes);

void plan_ecn_up(struct tune_plan *plan); /* row 5 */

/* Largest incast (senders at line rate into one queue) whose overshoot until DCQCN reacts still
 * fits between Kmin and PFC; 1 = none. */
unsigned tune_incast_absorbed(double pool_bytes, double alpha, double kmin_bytes, double speed_bps,
	double rtt_ns, unsigned most);

#endif
