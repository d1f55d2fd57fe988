/*
 * range_read - counters, gauges and states over a whole time range, and over steps of it, from
 * whatever the store keeps of it: single values, minutes or hours. For reports, whose range may
 * be older and longer than single values are kept. One thread.
 *
 * The range is cut to what the database holds, and its ends to whole steps: a step belongs to the
 * range in which it ends, so that a range and the one before it share none. The last step may still
 * be under way.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "analyzers/measure/amount.h"
#include "db/model/entity.h"
#include "db/series/rollup.h"

struct client;

struct range_plan {
	int64_t from_ns, to_ns; /* (from, to], multiples of .step_ns */
	int64_t first_ns, last_ns; /* the part of the range between oldest and newest sample */
	int64_t step_ns;
	size_t n_steps; /* 0: the database holds nothing of the range */
};

/* range_plan_make - of the client's time range. 0, also where there is no data, or a negative errno
 * with @e. */
int range_plan_make(struct client *client, struct range_plan *ret, struct err *e);

/* range_step_word - "minute", "10 minutes", "hour": the length of a step. Static. */
const char *range_step_word(const struct range_plan *plan);

struct range_series {
	uint32_t entity;
	uint16_t metric;
	struct rollup whole; /* all steps together; its quantiles are not set */
};

struct range_read {
	struct range_series *v; /* in order of first appearance */
	size_t n, cap;
	struct map *index;
	bool tiers[3]; /* enum rollup_tier: which were read */
	bool *answered; /* [step]: did anything answer in it? */
	int64_t *seen_ns; /* [step]: the most that any series was seen of it */
};

/* Each step of each series, in order of time; @step is below plan->n_steps. */
typedef void range_fn(void *arg, size_t step, const struct rollup *rollup);

/* range_read - reads @metrics; @fn may be NULL. 0, or a negative errno with @e; range_read_done()
 * @ret in either case. */
int range_read(struct client *client, const struct range_plan *plan, const uint16_t *metrics,
	size_t n_metrics, struct range_read *ret, range_fn *fn, void *arg, struct err *e);
void range_read_done(struct range_read *read); /* also for rw_cleanup() */

/* range_find - the series of @entity and @metric, or NULL. */
const struct rollup *range_find(const struct range_read *read, uint32_t entity, uint16_t metric);

/* range_amount - the growth of a counter; unknown for NULL. */
struct amount range_amount(const struct rollup *rollup);
/* range_number - a stored value of the series as a number: @value is .first or .last. */
double range_number(const struct rollup *rollup, uint64_t value);
/* range_add - @sum and one more, where NAN is "not known yet". */
double range_add(double sum, double value);

/* range_missing - adds to @doc what is absent: the part of the range before the oldest or after the
 * newest sample, and steps in which nothing at all was read. */
void range_missing(const struct client *client, const struct range_plan *plan,
	const struct range_read *read, json_t *doc);
/* range_coverage - the part of the time between oldest and newest sample in which samples followed
 * each other; NAN without data. */
double range_coverage(const struct range_plan *plan, const struct range_read *read);
/* range_source - "single values", "minutes", "hours", and what they are together. Static. */
const char *range_source(const struct range_read *read);
