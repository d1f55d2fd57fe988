/*
 * tune_world - the world of the class that a sheet is about, asked before any threshold is: do the
 * thresholds of DCQCN and PFC act there at all? Pure; texts live in the arena of tune_in.
 */
#pragma once

#include "analyzers/measure/class_world.h"
#include "analyzers/tune/tune_plan.h"

/* tune_world_of - by settings in force at all switches, counters, packets and what is declared. */
void tune_world_of(const struct tune_in *in, int priority, struct class_world *ret);

/* ECN thresholds are shares of a quota at one or more ports of the place: Kmin and Kmax in bytes
 * are ignored there. tune_relative_prio - one of these ports, NULL. */
bool tune_is_relative(const struct tune_site *site);
/* Credits keep the class lossless at one or more ports of the place: no threshold of PFC acts. */
bool tune_by_credits(const struct tune_in *in, const struct tune_site *site);

/* tune_relative_now - "ECN is in relative mode at leaf1: marking begins at 90 % of the queue's
 * quota and is full at 100 %". */
const char *tune_relative_now(struct arena *a, const struct tune_site *site);
/* tune_relative_less, tune_relative_more - what to change instead of bytes: marks earlier, later.
 */
const char *tune_relative_less(const struct tune_plan *plan);
const char *tune_relative_more(const struct tune_plan *plan);

/* tune_relative_offer - where the platform can take thresholds as shares, how, and what it costs:
 * the lasting cure of PFC before ECN. NULL: it cannot, or nothing says so. */
const char *tune_relative_offer(const struct tune_plan *plan);
