/*
 * job_select - which of the jobs that a scheduler tells concern a fabric, in the fabric's words. A
 * host is the fabric's where their names are the same, domain and case aside. Pure.
 */
#ifndef RW_AGENT_JOB_SELECT_H
#define RW_AGENT_JOB_SELECT_H

#include <stddef.h>
#include <stdint.h>
#include "config/config.h"
#include "config/fabric.h"
#include "agent/jobs/job_run.h"

enum { JOB_SELECT_MAX = 1000 }; /* jobs of one file */

struct job_left_out { /* running jobs that are not named, by reason */
	uint64_t few_hosts; /* fewer than min_hosts */
	uint64_t no_gpus; /* the scheduler does not say how many, nor does gpus_per_host */
	uint64_t strangers; /* none of its hosts is among the links */
	uint64_t too_many; /* beyond JOB_SELECT_MAX: those with the fewest GPUs */
};

/* job_select - rows for config_with_jobs(), by GPUs, most first; in @a, as the texts of @runs.
 * Returns how many. */
size_t job_select(struct arena *a, const struct job_runs *runs, const struct fabric *fabric,
	const struct config_job_file *file, struct config_job **ret, struct job_left_out *left_out);

#endif
