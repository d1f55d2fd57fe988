/*
 * tune_dose - values: what a row of the decision table comes to at one switch, within bounds,
 * rounded as the platform rounds, with the inequalities before and after. One knob family at a time
 * (Kmin, Kmax and Pmax are one). Pure; lives in the arena of tune_in.
 *
 * Units: bytes, ratios; NAN unknown. Sources: docs/tuning.md, decision table and safety rules 1 to
 * 3 and 6; DCQCN (Zhu et al., SIGCOMM 2015), section 4; Choudhury and Hahne, Dynamic queue length
 * thresholds, 1998.
 */
#pragma once

#include "analyzers/tune/tune_plan.h"

/* tune_dose - the plan for @site, which has a rule with a family. No changes: see .refused, then
 * .collect. */
void tune_dose(
	const struct tune_case *tune_case, const struct tune_site *site, struct tune_plan *ret);
/* tune_dose_as - what @rule comes to at @site, although @site does not show its signs: for switches
 * that follow a canary. */
void tune_dose_as(const struct tune_case *tune_case, const struct tune_site *site,
	const struct tune_rule *rule, struct tune_plan *ret);
