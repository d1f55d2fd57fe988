/* fuzz_job_file - a scheduler's file from anyone, and lists of hosts: refused with a reason, or the
 * jobs that are selected make a configuration. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/jobs/job_file.h"
#include "agent/jobs/slurm.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct config *fabric_of_hosts(void)
{
	static const char yaml[] = "fabric: f\ndevices: [ { name: leaf1, role: leaf } ]\nlinks:\n"
				   "  - { a: \"leaf1:E1\", b: \"host:node-001\" }\n"
				   "  - { a: \"leaf1:E2\", b: \"host:node-002\" }\n"
				   "job_files: [ { path: /x, min_hosts: 1, gpus_per_host: 8 } ]\n";
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct config *config = NULL;
	if (config_parse(yaml, strlen(yaml), "fuzz", CONFIG_CASE, NULL, 0, &config, &errors) < 0)
		abort();
	return config;
}

static void select_and_check(const struct config *config, struct job_runs *runs)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct config_job *jobs;
	struct job_left_out out;
	struct config *with = NULL;
	const size_t n =
		job_select(runs->a, runs, config->fabric, &config->job_files[0], &jobs, &out);
	if (config_with_jobs(config, jobs, n, &with, &errors) < 0) {
		for (size_t i = 0; i < errors.n; i++)
			err_print(stderr, &errors.v[i]);
		abort();
	}
	config_free(with);
}

/* What is written is read as the same names. */
static void list_again(struct arena *a, const char *text)
{
	rw_cleanup(str_done) struct str joined = {0}, again = {0};
	const char *const *names;
	size_t n;
	if (hostlist_expand(a, text, &names, &n, NULL) < 0 || n == 0 || n > 1000)
		return;
	hostlist_join(&joined, names, n);
	if (hostlist_expand(a, joined.s, &names, &n, NULL) < 0)
		abort();
	hostlist_join(&again, names, n);
	if (strcmp(joined.s, again.s) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config *config;
	if (!config)
		config = fabric_of_hosts();
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(freep) char *text = strndup((const char *)data, size);
	struct job_runs runs;
	struct err e = {0};
	job_runs_init(&runs, a);
	const int rc = job_file_parse(&runs, (const char *)data, size, JOB_AUTO, "fuzz", &e);
	if ((rc < 0) != (*e.text != '\0'))
		abort();
	if (rc == 0)
		select_and_check(config, &runs);
	job_runs_done(&runs);
	list_again(a, text);
	return 0;
}
