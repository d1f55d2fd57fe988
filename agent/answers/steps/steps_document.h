/*
 * steps_document - the training rhythm of each job: what it moved, from one change of level to the
 * next.
 */
#ifndef RW_REPORTS_STEPS_DOCUMENT_H
#define RW_REPORTS_STEPS_DOCUMENT_H

#include <jansson.h>
#include "agent/document/shape.h"
#include "agent/document/writer.h"

struct arena;
struct client;
struct err;

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

#endif
