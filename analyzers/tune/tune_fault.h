/* tune_fault - what has to be mended before thresholds are touched, and how. */
#ifndef RW_ANALYZERS_TUNE_FAULT_H
#define RW_ANALYZERS_TUNE_FAULT_H

#include "analyzers/tune/tune_rules.h"

/* tune_diagnose - sorts out all that is known: the signs and the row of every place, and every
 * fault. */
void tune_diagnose(const struct tune_in *in, struct tune_case *ret);

#endif
