/*
 * job_slurm - the list "jobs" of `squeue --json`. Names of members: Slurm's data_parser plugins
 * (v0.0.39 to v0.0.42, "JOB_INFO"). GPUs are counted from tres_alloc_str, which says what was
 * given: "gres/gpu=16"; a site that tracks only types has "gres/gpu:h100=16" alone.
 */
#include "agent/jobs/job_run.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/jobs/slurm.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

static const char *job_slurm_text(const json_t *job, const char *member)
{
	return json_string_value(json_object_get(job, member));
}

/* 7, or {"set": true, "infinite": false, "number": 7}; 0 when it is not given. */
static uint64_t job_slurm_number(const json_t *job, const char *member)
{
	const json_t *value = json_object_get(job, member);
	if (json_is_object(value)) {
		if (!json_is_true(json_object_get(value, "set")))
			return 0;
		value = json_object_get(value, "number");
	}
	const json_int_t number = json_integer_value(value);
	if (number < 0)
		return 0;
	return (uint64_t)number;
}

static bool job_slurm_runs(const json_t *job)
{
	const json_t *state = json_object_get(job, "job_state");
	if (json_is_string(state))
		return strcmp(json_string_value(state), "RUNNING") == 0;
	for (size_t i = 0; i < json_array_size(state); i++) {
		const char *word = json_string_value(json_array_get(state, i));
		if (word && strcmp(word, "RUNNING") == 0)
			return true;
	}
	return false;
}

/* The count behind "gres/gpu=", else the sum of all "gres/gpu:TYPE=". */
static uint64_t job_slurm_gpus(const char *tres)
{
	static const char word[] = "gres/gpu";
	uint64_t typed = 0;
	for (const char *at = strstr(tres, word); at; at = strstr(at + 1, word)) {
		const char *end = at + strlen(word);
		const bool begins = at == tres || at[-1] == ',';
		if (begins && *end == '=')
			return strtoull(end + 1, NULL, 10);
		const char *equals = end + strcspn(end, "=,");
		if (begins && *end == ':' && *equals == '=')
			typed += strtoull(equals + 1, NULL, 10);
	}
	return typed;
}

static int job_slurm_take(struct job_runs *runs, const json_t *job, struct err *e)
{
	uint64_t id = job_slurm_number(job, "het_job_id"); /* its components are one job */
	if (id == 0)
		id = job_slurm_number(job, "job_id");
	const char *name = arena_printf(runs->a, "%.180s/%llu",
		str_or(job_slurm_text(job, "name"), "job"), (unsigned long long)id);
	struct job_run *run = job_runs_of(runs, name, job_slurm_text(job, "user_name"));
	const char *const *hosts;
	size_t n;
	const int rc =
		hostlist_expand(runs->a, str_or(job_slurm_text(job, "nodes"), ""), &hosts, &n, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++)
		job_run_add_host(runs, run, hosts[i]);
	run->gpus += job_slurm_gpus(str_or(job_slurm_text(job, "tres_alloc_str"), ""));
	return 0;
}

int job_slurm_read(struct job_runs *runs, const json_t *jobs, struct err *e)
{
	for (size_t i = 0; i < json_array_size(jobs); i++) {
		const json_t *job = json_array_get(jobs, i);
		if (!json_is_object(job))
			return err_set(e, -EINVAL, "jobs[%zu] is no object", i);
		if (!job_slurm_runs(job)) {
			runs->waiting++;
			continue;
		}
		struct err why = {0};
		if (job_slurm_take(runs, job, &why) < 0)
			return err_set(e, -EINVAL, "jobs[%zu].nodes: %s", i, why.text);
	}
	return 0;
}
