/*
 * job_run - jobs that run now, as a scheduler tells them: several entries of its file (pods, the
 * components of a heterogeneous job) may be one job. All memory is the arena's. Pure.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

struct job_runs;

struct job_run {
	const char *name; /* as it is shown: NAME/ID, or NAMESPACE/NAME */
	const char *user; /* NULL: not told */
	uint64_t gpus; /* 0: not told */
	const char **hosts; /* as the scheduler calls them, each once */
	size_t n_hosts, cap_hosts;
};

struct job_runs {
	struct arena *a;
	struct job_run **v;
	size_t n, cap;
	size_t waiting; /* entries that do not run */
	struct smap *by_name; /* position in .v; freed by job_runs_done() */
};

void job_runs_init(struct job_runs *runs, struct arena *a);
void job_runs_done(struct job_runs *runs); /* frees .by_name; the rest is the arena's */

/* job_runs_of - the job of that name, which is made when it is new. @name and @user are text from
 * outside: they are cleaned and cut. */
struct job_run *job_runs_of(struct job_runs *runs, const char *name, const char *user);

/* job_run_add_host - copied; a host that is there already is not added again. */
void job_run_add_host(struct job_runs *runs, struct job_run *run, const char *host);

/* job_formats - what job_file.c calls for each format. @root is lent. 0, or -EINVAL with @e. */

int job_slurm_read(struct job_runs *runs, const json_t *jobs, struct err *e);
int job_kubernetes_read(struct job_runs *runs, const json_t *items, struct err *e);
