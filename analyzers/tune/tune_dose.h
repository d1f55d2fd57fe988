/*
 * tune_dose - values: what a row of the decision table comes to at one switch, within bounds,
 * rounded as the platform rounds, with the inequalities before and after. One knob family at a time
 * (Kmin, Kmax and Pmax are one). Pure; lives in the arena of tune_in.
 *
 * Units: bytes, ratios; NAN unknown. Sources: tuning facts a.5, a.6, b.3, b.4, d (rows and bounds),
 * d.2 rules 1 to 3 and 6.
 */
#ifndef RW_ANALYZERS_TUNE_DOSE_H
#define RW_ANALYZERS_TUNE_DOSE_H

#include "analyzers/tune/tune_rules.h"

enum { PLAN_CHANGES = 4, PLAN_CHECKS = 8, PLAN_WORDS = 8 };

struct tune_plan {
	const struct tune_case *c;
	const struct tune_place *place;
	const struct tune_rule *rule;
	const struct tune_platform *platform;
	const struct tune_lane **lanes;
	size_t n_lanes; /* the change is meant for these */
	/* the one whose settings are the current ones */
	const struct tune_lane *like;
	/* in the order in which they are safe to apply */
	struct tune_change changes[PLAN_CHANGES];
	size_t n_changes;
	struct tune_check checks[PLAN_CHECKS];
	size_t n_checks;
	/* what is missing for a value, and how to get it */
	const char *collect[PLAN_WORDS];
	size_t n_collect;
	const char *next[PLAN_WORDS];
	size_t n_next; /* what may follow, or help instead */
	const char *refused; /* why no value may be proposed although all is known; NULL */
	double cost_bytes; /* of the shared pool; NAN unknown */
	double q_pfc; /* after the change; NAN */
};

/* tune_dose - the plan for @place, which has a rule with a family. No changes: see .refused, then
 * .collect. */
void tune_dose(
	const struct tune_case *tune_case, const struct tune_place *place, struct tune_plan *ret);

/* Are the settings of the plan's family the same at @lane as at @like? A queue profile is what is
 * set alike. */
bool tune_same_profile(
	enum tune_family family, const struct tune_lane *lane, const struct tune_lane *like);

/* Largest incast (senders at line rate into one queue) whose overshoot until DCQCN reacts still
 * fits between Kmin and PFC; 1 = none. */
unsigned tune_incast_absorbed(double pool_bytes, double alpha, double kmin_bytes, double speed_bps,
	double rtt_ns, unsigned most);

#endif
