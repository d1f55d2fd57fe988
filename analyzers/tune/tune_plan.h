/*
 * tune_plan - one proposed change of one switch while it is computed: the values, the inequalities
 * before and after, what is missing for a value, and why a value is refused. tune_dose.c and
 * tune_dose_alpha.c decide the values, this file rounds them and writes them down. Pure; memory
 * is the arena of tune_in.
 *
 * Units: bytes, ratios; NAN unknown.
 */
#pragma once

#include "analyzers/tune/tune_rules.h"

struct tune_worth;

enum { PLAN_CHANGES = 8, PLAN_CHECKS = 8, PLAN_WORDS = 8 };

struct tune_plan {
	const struct tune_case *c;
	const struct tune_site *site;
	const struct tune_rule *rule;
	const struct tune_platform *platform;
	const struct tune_prio **prios;
	size_t n_prios; /* the change is meant for these */
	/* the one whose settings are the current ones */
	const struct tune_prio *like;
	/* in the order in which they are safe to apply */
	struct tune_change changes[PLAN_CHANGES];
	size_t n_changes;
	/* headroom: one of the ports that the change is for; NULL */
	const struct tune_prio *changed_at[PLAN_CHANGES];
	struct tune_check checks[PLAN_CHECKS];
	size_t n_checks;
	/* what is missing for a value, and how to get it */
	const char *collect[PLAN_WORDS];
	size_t n_collect;
	const char *next[PLAN_WORDS];
	size_t n_next; /* what may follow, or help instead */
	const char *refused; /* why no value may be proposed although all is known; NULL */
	/* why the hardware ignores what would change here (relative ECN, credits); NULL */
	const char *ignored;
	bool pool_short; /* ... and that is because the pool cannot hold all its queues */
	bool own_order; /* .next says what comes first: the row's general "do not" would contradict
			   it */
	/* forecasts of J for what is proposed; NULL: too little is known, or of no matter */
	const struct tune_worth *worth;
	/* why nothing is proposed although the diagnosis stands; NULL */
	const char *left_alone;
	double cost_bytes; /* of the shared pool; NAN unknown */
	double q_pfc; /* after the change; NAN */
};

/* Are the settings of the plan's family the same at @prio, a port of @device, as at @like, a port
 * of
 * @like_device? A queue profile is what is set alike: in bytes, or Kmin in proportion to the
 * speed of the port, as profiles by speed have it. */
bool tune_same_profile(enum tune_family family, const struct tune_device *device,
	const struct tune_prio *prio, const struct tune_device *like_device,
	const struct tune_prio *like);

void plan_collect(struct tune_plan *plan, const char *what);
void plan_next(struct tune_plan *plan, const char *what);
/* plan_need - a value cannot be computed without it: how to get it goes into .collect. */
void plan_need(struct tune_plan *plan, enum tune_need need);
/* nothing known: no check */
void plan_check(struct tune_plan *plan, const char *text, double before, double after, double limit,
	const char *unit, bool ok);
void plan_prios(struct tune_plan *plan,
	bool (*wanted)(const struct tune_plan *plan, const struct tune_prio *prio));
/* plan_settable - false: the profile of this platform has no words for this knob. */
bool plan_settable(const struct tune_plan *plan, enum tune_knob knob);
/* plan_scope - @change is for these ports only, not for all of the plan. */
void plan_scope(struct tune_plan *plan, struct tune_change *change,
	const struct tune_prio *const *prios, size_t n);
/* plan_group_word - what people call these ports of the plan's switch: "all", "hosts", "uplinks",
 * the name of the only port, or how many. */
const char *plan_group_word(
	const struct tune_plan *plan, const struct tune_prio *const *prios, size_t n);
/* plan_scope_to - @change is for these ports; of all of the plan, where these are all of it. */
void plan_scope_to(struct tune_plan *plan, struct tune_change *change,
	const struct tune_prio *const *prios, size_t n);
/* plan_change - rounded as the platform rounds, not below @least. False: the platform cannot
 * (.refused), or rounding leaves nothing of it. */
bool plan_change(struct tune_plan *plan, enum tune_knob knob, double current, double proposed,
	double least, const char *why, const char *source);
