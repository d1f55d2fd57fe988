/* tune_dose_headroom - how large a headroom has to be: the two rows of the decision table that
 * change it (docs/tuning.md). */
#ifndef RW_ANALYZERS_TUNE_DOSE_HEADROOM_H
#define RW_ANALYZERS_TUNE_DOSE_HEADROOM_H

#include "analyzers/tune/tune_plan.h"

void plan_more_headroom(struct tune_plan *plan); /* row 1 */
void plan_less_headroom(struct tune_plan *plan); /* row 2 */

#endif
