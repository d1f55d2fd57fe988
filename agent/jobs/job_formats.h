/* job_formats - what job_file.c calls for each format. @root is lent. 0, or -EINVAL with @e. */
#ifndef RW_AGENT_JOB_FORMATS_H
#define RW_AGENT_JOB_FORMATS_H

#include <jansson.h>

struct err;
struct job_runs;

int job_slurm_read(struct job_runs *runs, const json_t *jobs, struct err *e);
int job_kubernetes_read(struct job_runs *runs, const json_t *items, struct err *e);

#endif
