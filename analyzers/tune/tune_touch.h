/* tune_touch - does a fault explain the pause at a place? Then thresholds wait until it is mended.
 */
#ifndef RW_ANALYZERS_TUNE_TOUCH_H
#define RW_ANALYZERS_TUNE_TOUCH_H

#include "analyzers/tune/tune_rules.h"

/*
 * tune_fault_touches - true when @fault is on a switch of the pause tree of @site, on the other
 * end of a link into it, or at no known place. A sender that does not slow down (row 7) touches
 * every tree of its priority. Pure.
 */
bool tune_fault_touches(const struct tune_case *tune_case, const struct tune_fault *fault,
	const struct tune_site *site);

#endif
