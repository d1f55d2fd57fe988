/* tune_signs - inner header of tune_rules: the signs of every place of one priority. */
#pragma once

#include "analyzers/tune/tune_rules.h"

/* tune_signs_of - fills @sites, one per switch of the evidence (@n). */
void tune_signs_of(const struct tune_in *in, int priority, struct tune_site *sites, size_t n);

/* A host paused us: above 1 % of the time in 3 of the last 5 busy windows. */
bool tune_paused_by_host(const struct tune_prio *prio);
/* Bytes between XOFF and XON; NAN unknown. */
double tune_hysteresis(const struct tune_prio *prio);
