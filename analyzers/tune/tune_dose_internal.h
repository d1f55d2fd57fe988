/* tune_dose_internal - how a plan is put together; between the files of tune_dose. */
#ifndef RW_ANALYZERS_TUNE_DOSE_INTERNAL_H
#define RW_ANALYZERS_TUNE_DOSE_INTERNAL_H

#include "analyzers/tune/tune_dose.h"

void plan_collect(struct tune_plan *plan, const char *what);
void plan_next(struct tune_plan *plan, const char *what);
/* its value in force is not known: how to get it */
void plan_missing(struct tune_plan *plan, enum tune_knob knob);
/* nothing known: no check */
void plan_check(struct tune_plan *plan, const char *text, double before, double after, double limit,
	const char *unit, bool ok);
void plan_lanes(struct tune_plan *plan,
	bool (*wanted)(const struct tune_plan *plan, const struct tune_lane *lane));
double plan_cell(const struct tune_plan *plan); /* NAN unknown */
/* plan_change - rounded as the platform rounds, not below @least. False: the platform cannot
 * (.refused), or rounding leaves nothing of it. */
bool plan_change(struct tune_plan *plan, enum tune_knob knob, double current, double proposed,
	double least, const char *why, const char *source);

void plan_more_headroom(struct tune_plan *plan); /* row 1 */
void plan_less_headroom(struct tune_plan *plan); /* row 2 */

#endif
