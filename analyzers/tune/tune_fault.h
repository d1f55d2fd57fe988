/* tune_fault - what has to be mended before thresholds are touched, and how. */
#pragma once

#include "analyzers/tune/tune_rules.h"

/* tune_diagnose - sorts out all that is known: the signs and the row of every place, and every
 * fault. */
void tune_diagnose(const struct tune_in *in, struct tune_case *ret);
