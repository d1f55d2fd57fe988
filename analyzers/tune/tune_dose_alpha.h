/* tune_dose_alpha - how much more of the shared pool one port may take: alpha of the dynamic
 * threshold (rows 3 and 4 of docs/tuning.md). */
#pragma once

#include "analyzers/tune/tune_plan.h"

/* ---- tune_dose_ecn --------------------------------------------------------- */

/* tune_dose_ecn - where marking begins and how steeply it rises: Kmin, Kmax and Pmax (rows 3, 4 and
 * 5 of docs/tuning.md). */

/*
 * plan_ecn_ramp - marking early enough that senders slow down before PFC fires, and on a ramp wide
 * enough that they do not all slow down at once: Kmax at least four times Kmin and below q_PFC.
 * Nothing is planned where the settings are such already; .refused where the buffer has no place.
 */
void plan_ecn_ramp(struct tune_plan *plan);

void plan_ecn_up(struct tune_plan *plan); /* row 5 */

/* Largest incast (senders at line rate into one queue) whose overshoot until DCQCN reacts still
 * fits between Kmin and PFC; 1 = none. */
unsigned tune_incast_absorbed(double pool_bytes, double alpha, double kmin_bytes, double speed_bps,
	double rtt_ns, unsigned most);

/* ---- tune_dose_alpha ------------------------------------------------------- */

#define TUNE_POOL_SHARE 0.8 /* what congested inputs may take of the pool together */

/*
 * plan_alpha - alpha up, as far as the pool has room: doubled, or by up to four exponents of two
 * where the model of the pool is sure (tune_alpha_is_sure()). False, and nothing planned: alpha or
 * the pool is not known, the pool is not free, or
 * the pause tree is held up by writes to storage (tune_storage_of()): a deeper queue lets no byte
 * in sooner there, and what its marks and its depth cost those beside it the model does not know.
 */
bool plan_alpha(struct tune_plan *plan, const char *why);

/* plan_alpha_to - @now becomes @to at all ports that have it, which all belong to the sheet then.
 * False: it cannot be set, or nothing changes. */
bool plan_alpha_to(struct tune_plan *plan, double now, double to, const char *why);
