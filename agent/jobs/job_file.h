/*
 * job_file - reads a file in which a scheduler says what runs where.
 *
 * Slurm: what `squeue --json` prints (data_parser v0.0.39 to v0.0.42; the state is a text up to
 * Slurm 23.02 and a list from 23.11 on, numbers are plain or {set, infinite, number}).
 * Kubernetes: what `kubectl get pods -A -o json` prints (core/v1 PodList); pods of one job are
 * found by the labels that job controllers set, else by their owner.
 *
 * Only what runs is taken. Text from the file is cleaned; nothing of it is taken for a command.
 * Pure but for job_file_load(), which reads a file and may run on any thread.
 */
#pragma once

#include "base/base.h"

#include "agent/jobs/job_run.h"
#include "config/config.h"
#include "config/fabric.h"

enum job_format { JOB_AUTO, JOB_SLURM, JOB_KUBERNETES }; /* as the option "format" has them */

/* job_file_parse - @n bytes at @text; @name stands for the file in messages. 0, or -EINVAL with @e:
 * place, what was read, what is expected. Then @runs holds nothing that may be used. */
int job_file_parse(struct job_runs *runs, const char *text, size_t n, enum job_format format,
	const char *name, struct err *e);

/* job_file_load - the same of the file @path, at most JOB_FILE_MAX bytes. */
int job_file_load(struct job_runs *runs, const char *path, enum job_format format, struct err *e);

/*
 * job_select - which of the jobs that a scheduler tells concern a fabric, in the fabric's words. A
 * host is the fabric's where their names are the same, domain and case aside. Pure.
 */

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
