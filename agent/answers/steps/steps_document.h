/*
 * steps_document - the training rhythm of each job: what it moved, from one change of level to the
 * next.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"
#include "agent/document/shape.h"
#include "agent/document/writer.h"

struct client;

/* What the job usually moves at this time of the week. */
struct steps_usual {
	const char *slot;
	uint64_t slots;
	double octets_per_s, spread_octets_per_s;
};

struct steps_told {
	const char *job; /* NULL: none is configured, all hosts */
	uint64_t gpus, ports, ports_seen;
	const char *measured_at;
	double block_s, coverage_ratio, octets_per_s, step_declared_s, step_s, exchange_s;
	/* as its ranks told last (agent/ranks), NAN: they did not */
	double ranks_step_s, ranks_exchange_s, ranks_waiting_s, mfu_ratio;
	wall_t stopped_since;
	double duty_ratio, rhythm_confidence_ratio, sample_s, idle_s;
	struct steps_usual *usual; /* NULL: too little of it is kept */
};

/* change_ratio is against the level before, loss_ratio and stretch_ratio (how many times as long a
 * step takes) against the best one; step_s only where the step is declared. */
struct steps_level {
	const char *job;
	wall_t from, to;
	double octets_per_s, error_ratio, change_ratio, loss_ratio, stretch_ratio, step_s;
};

struct steps_answer {
	wall_t from, to;
	struct steps_told *jobs;
	size_t n_jobs;
	struct steps_level *levels;
	size_t n_levels;
};
extern const struct shape steps_answer_shape, steps_level_shape;

/* steps_read - over the client's time range; @job is a glob of jobs, NULL for all. All of it lies
 * in
 * @a. 0, or negative errno with @e. */
int steps_read(struct client *client, const char *job, struct arena *a, struct steps_answer *ret,
	struct err *e);
/* steps_document - the same as JSON, a new reference. */
int steps_document(struct client *client, const char *job, json_t **ret, struct err *e);

/* steps_views - `steps` as text, csv and pages: struct steps_answer. */

extern const struct view steps_view;

/*
 * usual_slot - what is usual at this time of the week: the value that the agent kept of a signal or
 * a job (agent.signal, once a minute) in the same hour of earlier weeks, or of earlier days where
 * fewer weeks are kept.
 *
 * Training has no hours of its own, but what shares the fabric with it has: backups, storage,
 * users. Detectors compare with the last minutes instead, which differ less from now than last
 * Tuesday does. So this is for people.
 *
 * One slot is the hour around the same time. Its value is the median of its minutes, and what is
 * usual is the median of the slots: one bad day does not move it. It takes USUAL_SLOTS_MIN slots.
 * Read when asked, from what the retention keeps (retention.raw): at most 14 short reads.
 */

enum { USUAL_SLOTS_MIN = 3, USUAL_WEEKS = 8, USUAL_DAYS = 6, USUAL_NAME_MAX = 32 };

struct usual_slot {
	double usual; /* NAN: too few slots */
	double spread; /* one standard deviation of a slot, by the median absolute deviation */
	size_t slots;
	char name[USUAL_NAME_MAX]; /* "Tuesday 14:00", "14:00"; UTC; "" without a value */
};

/* usual_slot_read - of agent.signal of the port @port, at @at_ns. 0, also without a value, or a
 * negative errno with @e. */
int usual_slot_read(struct client *client, const char *port, int64_t at_ns, struct usual_slot *ret,
	struct err *e);
