/* store_queue - jobs that wait to be written, oldest first, and what is dropped when too many
 * wait. */
#include "db/store/store_queue.h"

#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"

/* ---- jobs ---------------------------------------------------------------- */

static const enum job_class class_of_kind[RECORD_KINDS] = {
	[RECORD_FLOWS] = JOB_VALUES,
	[RECORD_TARGET] = JOB_SPARE,
	[RECORD_EVENT] = JOB_SPARE,
	[RECORD_BURST] = JOB_SPARE,
	[RECORD_FINDING] = JOB_SPARE,
	[RECORD_HEALTH] = JOB_NEWEST,
};

/* What a job points to lies behind it, in the same block. */
static struct job *job_new(size_t room)
{
	struct job *job = rw_realloc(NULL, sizeof(*job) + room);

	memset(job, 0, sizeof(*job));
	return job;
}

struct job *job_of_samples(const struct sample *samples, size_t n)
{
	struct job *job = job_new(n * sizeof(*samples));

	job->samples = memcpy(job + 1, samples, n * sizeof(*samples));
	job->n_values = n;
	job->class = JOB_VALUES;
	return job;
}

struct job *job_of_record(const struct store_record *record)
{
	struct job *job = job_new(record_size(record));

	record_copy(&job->record, record, job + 1);
	job->class = class_of_kind[record->kind];
	if (record->kind == RECORD_FLOWS)
		job->n_values = record->flows.n;
	return job;
}

void job_free(struct job *job)
{
	free(job);
}

/* ---- lists --------------------------------------------------------------- */

void jobs_push(struct jobs *jobs, struct job *job)
{
	job->next = job->class_next = NULL;
	job->before = jobs->last;
	if (jobs->last)
		jobs->last->next = job;
	else
		jobs->first = job;
	jobs->last = job;
	jobs->n_values += job->n_values;

	job->class_before = jobs->classes[job->class].last;
	if (job->class_before)
		job->class_before->class_next = job;
	else
		jobs->classes[job->class].first = job;
	jobs->classes[job->class].last = job;
	jobs->classes[job->class].n++;
}

static void class_unlink(struct jobs *jobs, struct job *job)
{
	if (job->class_before)
		job->class_before->class_next = job->class_next;
	else
		jobs->classes[job->class].first = job->class_next;
	if (job->class_next)
		job->class_next->class_before = job->class_before;
	else
		jobs->classes[job->class].last = job->class_before;
	jobs->classes[job->class].n--;
}

static void jobs_unlink(struct jobs *jobs, struct job *job)
{
	if (job->before)
		job->before->next = job->next;
	else
		jobs->first = job->next;
	if (job->next)
		job->next->before = job->before;
	else
		jobs->last = job->before;
	jobs->n_values -= job->n_values;
	class_unlink(jobs, job);
}

struct job *jobs_pop(struct jobs *jobs)
{
	struct job *job = jobs->first;

	if (job)
		jobs_unlink(jobs, job);
	return job;
}

/* Links the end of one chain to the beginning of the other. */
static void class_prepend(struct jobs *jobs, const struct jobs *front, enum job_class class)
{
	struct job *last = front->classes[class].last, *first = jobs->classes[class].first;

	if (!last)
		return;
	last->class_next = first;
	if (first)
		first->class_before = last;
	else
		jobs->classes[class].last = last;
	jobs->classes[class].first = front->classes[class].first;
	jobs->classes[class].n += front->classes[class].n;
}

void jobs_prepend(struct jobs *jobs, struct jobs *front)
{
	if (!front->first)
		return;
	for (int class = 0; class < JOB_CLASSES; class ++)
		class_prepend(jobs, front, (enum job_class) class);
	front->last->next = jobs->first;
	if (jobs->first)
		jobs->first->before = front->last;
	else
		jobs->last = front->last;
	jobs->first = front->first;
	jobs->n_values += front->n_values;
	*front = (struct jobs){0};
}

void jobs_remove(struct jobs *jobs, struct job *job)
{
	jobs_unlink(jobs, job);
	job_free(job);
}

void jobs_free(struct jobs *jobs)
{
	while (jobs->first)
		job_free(jobs_pop(jobs));
}

/* ---- dropping ------------------------------------------------------------ */

static void jobs_drop(struct jobs *jobs, struct job *job, struct jobs_dropped *dropped)
{
	dropped->jobs++;
	dropped->values += job->n_values;
	jobs_remove(jobs, job);
}

struct jobs_dropped jobs_drop_values(struct jobs *jobs, size_t max_values)
{
	struct jobs_dropped dropped = {0};

	while (jobs->n_values > max_values && jobs->classes[JOB_VALUES].first)
		jobs_drop(jobs, jobs->classes[JOB_VALUES].first, &dropped);
	return dropped;
}

struct jobs_dropped jobs_drop_class(struct jobs *jobs, enum job_class class, size_t max)
{
	struct jobs_dropped dropped = {0};

	while (jobs->classes[class].n > max)
		jobs_drop(jobs, jobs->classes[class].first, &dropped);
	return dropped;
}
