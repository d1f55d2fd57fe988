/*
 * tune_worth - what a change of thresholds would be worth, before it is proposed: the objective
 *
 *     J = step time + 99th percentile of what others take + half of the share of time hosts pause
 *
 * the first two relative to now, so that no change at all is 2 and what is paused now. It is what
 * `tune verify` measures afterwards.
 *
 * By the queue model (whatif.h), at the queue where the pressure is: what marks cost those who send
 * to it, and which part of the pause goes. What that pause costs *others* depends on how much of
 * the traffic goes elsewhere: pause stops a link for all that wait behind it. Where all traffic
 * leads to the congested queues (one exchange, or storage that is written to by all and nothing
 * else), pause delays nobody but those who cause it: nothing is won when it goes. Towards storage
 * nobody waits: marks there cost nothing.
 *
 * Pure; lives in the arena of tune_in. Ratios.
 */
#pragma once

#include "analyzers/tune/tune_plan.h"
#include "analyzers/tune/whatif.h"

struct tune_worth { /* a queue whose model is calibrated */
	const struct tune_plan *plan;
	struct whatif_fit fit;
	double others; /* share of what goes to hosts that leads to other queues */
	double duty; /* share of time in which the queue is busy */
	double pause; /* share of time the host paused most is paused, now */
	bool storage;
};

struct tune_forecast {
	double step, others_p99, pause; /* the first two of now: 1 = the same */
	double j; /* .step + .others_p99 + .pause / 2 */
	double cost; /* of .j: what marks add to it */
};

/* tune_worth_of - false: too little is known for a forecast. */
bool tune_worth_of(const struct tune_plan *plan, struct tune_worth *ret);
/* tune_worth_ask - J under @to (NAN: as it is). false: a value is out of range. */
bool tune_worth_ask(const struct tune_worth *worth, const struct whatif_settings *to,
	struct tune_forecast *ret);
/* More buffer: no worse than now; where the queue then marks, by more than the error of the model.
 * Never longer steps for less pause. */
bool tune_is_worth(const struct tune_worth *worth, const struct tune_forecast *forecast);
/* Earlier marks: somebody gets faster, by clearly more than the error of the model (towards
 * storage: by more than it). Less pause alone does not count: marks always slow somebody down. */
bool tune_marks_are_worth(const struct tune_worth *worth, const struct tune_forecast *forecast);
/* Puts J before and after among the checks of the plan. */
void tune_worth_check(struct tune_plan *plan, const struct tune_worth *worth,
	const struct tune_forecast *forecast);
