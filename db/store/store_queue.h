/*
 * store_queue - a list of jobs in the order they came. A job is one call of the loop with its
 * arguments copied: samples, or one record. Not locked: store.c holds its mutex.
 */
#ifndef RW_DB_STORE_QUEUE_H
#define RW_DB_STORE_QUEUE_H

#include "db/store/store_records.h"

struct job {
	struct job *next;
	uint64_t number; /* 1, 2, ... in the order the store was given them */
	size_t n_values; /* samples or flows in it: what the queue's bound counts, and may drop */
	const struct sample *samples; /* NULL: .record is the job */
	struct store_record record;
};

struct jobs {
	struct job *first, **end;
	size_t n_values; /* of all its jobs */
};

struct job *job_of_samples(const struct sample *samples, size_t n);
struct job *job_of_record(const struct store_record *record);
void job_free(struct job *job); /* NULL is fine */

void jobs_init(struct jobs *jobs);
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
/* jobs_drop_oldest - the oldest jobs with values, until at most @max_values are left.
 * jobs_drop_kind - all jobs with a record of @kind. */
struct jobs_dropped jobs_drop_oldest(struct jobs *jobs, size_t max_values);
struct jobs_dropped jobs_drop_kind(struct jobs *jobs, enum record_kind kind);

#endif
