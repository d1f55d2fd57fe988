/*
 * store_queue - a list of jobs in the order they came. A job is one call of the loop with its
 * arguments copied: samples, or one record. Not locked: store.c holds its mutex.
 *
 * While the disk refuses, jobs pile up. Each job belongs to a class, which says what may be
 * dropped; the jobs of a class are chained among themselves, so dropping the oldest takes constant
 * time however many others wait.
 */
#ifndef RW_DB_STORE_QUEUE_H
#define RW_DB_STORE_QUEUE_H

#include "db/store/store_records.h"

enum job_class {
	JOB_KEPT, /* names, incidents, decisions: never dropped */
	JOB_VALUES, /* samples and flows: the oldest go beyond a number of values */
	JOB_SPARE, /* states of targets, events, findings: the oldest go beyond a number of jobs */
	JOB_NEWEST, /* the agent's own health: only the newest counts */
	JOB_CLASSES
};

struct job {
	struct job *next, *before; /* in the order they came */
	struct job *class_next, *class_before;
	uint64_t number; /* 1, 2, ... in the order the store was given them */
	enum job_class class;
	size_t n_values; /* samples or flows in it: what the queue's bound counts, and may drop */
	const struct sample *samples; /* NULL: .record is the job */
	struct store_record record;
};

struct jobs { /* zeroed to start */
	struct job *first, *last;
	size_t n_values; /* of all its jobs */
	struct {
		struct job *first, *last;
		size_t n;
	} classes[JOB_CLASSES];
};

struct job *job_of_samples(const struct sample *samples, size_t n);
struct job *job_of_record(const struct store_record *record);
void job_free(struct job *job); /* NULL is fine */

void jobs_free(struct jobs *jobs); /* the jobs in it */
void jobs_push(struct jobs *jobs, struct job *job);
struct job *jobs_pop(struct jobs *jobs); /* NULL when it is empty */
/* jobs_prepend - all of @front before @jobs; @front is left empty. */
void jobs_prepend(struct jobs *jobs, struct jobs *front);
void jobs_remove(struct jobs *jobs, struct job *job); /* unlinks @job and frees it */

/* What was taken out of a queue. */
struct jobs_dropped {
	uint64_t jobs, values;
};
/* jobs_drop_values - the oldest jobs with values, until at most @max_values are left.
 * jobs_drop_class - the oldest jobs of @class, until at most @max of them are left. */
struct jobs_dropped jobs_drop_values(struct jobs *jobs, size_t max_values);
struct jobs_dropped jobs_drop_class(struct jobs *jobs, enum job_class class, size_t max);

#endif
