/* store_queue - jobs that wait to be written, oldest first, and what is dropped when too many
 * wait. */
#include "db/store/store_queue.h"

#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"

/* ---- jobs ---------------------------------------------------------------- */

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
	return job;
}

struct job *job_of_record(const struct store_record *record)
{
	struct job *job = job_new(record_size(record));

	record_copy(&job->record, record, job + 1);
	if (record->kind == RECORD_FLOWS)
		job->n_values = record->flows.n;
	return job;
}

void job_free(struct job *job)
{
	free(job);
}

/* ---- lists --------------------------------------------------------------- */

void jobs_init(struct jobs *jobs)
{
	*jobs = (struct jobs){.first = NULL};
	jobs->end = &jobs->first;
}

void jobs_push(struct jobs *jobs, struct job *job)
{
	job->next = NULL;
	*jobs->end = job;
	jobs->end = &job->next;
	jobs->n_values += job->n_values;
}

/* The job at *@at, a link of @jobs. */
static struct job *jobs_unlink(struct jobs *jobs, struct job **at)
{
	struct job *job = *at;

	*at = job->next;
	if (!*at)
		jobs->end = at;
	jobs->n_values -= job->n_values;
	return job;
}

struct job *jobs_pop(struct jobs *jobs)
{
	if (!jobs->first)
		return NULL;
	return jobs_unlink(jobs, &jobs->first);
}

void jobs_prepend(struct jobs *jobs, struct jobs *front)
{
	if (!front->first)
		return;
	*front->end = jobs->first;
	if (!jobs->first)
		jobs->end = front->end;
	jobs->first = front->first;
	jobs->n_values += front->n_values;
	jobs_init(front);
}

void jobs_remove(struct jobs *jobs, struct job *job)
{
	for (struct job **at = &jobs->first; *at; at = &(*at)->next)
		if (*at == job) {
			job_free(jobs_unlink(jobs, at));
			return;
		}
}

void jobs_free(struct jobs *jobs)
{
	while (jobs->first)
		job_free(jobs_pop(jobs));
}

/* ---- dropping ------------------------------------------------------------ */

static void jobs_drop(struct jobs *jobs, struct job **at, struct jobs_dropped *dropped)
{
	struct job *job = jobs_unlink(jobs, at);

	dropped->jobs++;
	dropped->values += job->n_values;
	job_free(job);
}

struct jobs_dropped jobs_drop_oldest(struct jobs *jobs, size_t max_values)
{
	struct jobs_dropped dropped = {0};
	struct job **at = &jobs->first;

	while (jobs->n_values > max_values && *at) {
		if ((*at)->n_values > 0)
			jobs_drop(jobs, at, &dropped);
		else
			at = &(*at)->next;
	}
	return dropped;
}

struct jobs_dropped jobs_drop_kind(struct jobs *jobs, enum record_kind kind)
{
	struct jobs_dropped dropped = {0};
	struct job **at = &jobs->first;

	while (*at) {
		if (!(*at)->samples && (*at)->record.kind == kind)
			jobs_drop(jobs, at, &dropped);
		else
			at = &(*at)->next;
	}
	return dropped;
}
