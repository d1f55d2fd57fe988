/* job_select - matches the hosts of jobs with those of the links. */
#include "agent/jobs/job_select.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"

enum { HOST_BYTES = 256 };

/* "Node-01.cluster.local" -> "node-01"; the length. An address keeps its dots. */
static size_t job_host_key(const char *name, char key[HOST_BYTES])
{
	size_t n = 0;
	const bool address = name[strspn(name, "0123456789.")] == '\0';
	for (; name[n] && n < HOST_BYTES - 1 && (address || name[n] != '.'); n++)
		key[n] = (char)tolower((unsigned char)name[n]);
	key[n] = '\0';
	return n;
}

/* Hosts of the links: key -> position in @names. */
static struct smap *job_select_hosts(
	struct arena *a, const struct fabric *fabric, const char ***ret_names)
{
	struct smap *map = smap_new();
	const char **names = NULL;
	size_t n = 0, cap = 0;
	for (size_t d = 0; d < fabric->n_devices; d++) {
		for (size_t p = 0; p < fabric->devices[d]->n_ports; p++) {
			const char *host = fabric->devices[d]->ports[p]->host;
			char key[HOST_BYTES];
			uint64_t known;
			if (!host)
				continue;
			const size_t length = job_host_key(host, key);
			if (smap_get(map, key, length, &known))
				continue;
			smap_put(map, key, length, n);
			arena_grow(a, names, n, cap);
			names[n++] = host;
		}
	}
	*ret_names = names;
	return map;
}

/* The hosts of @run that the fabric knows, with commas between them; NULL when it knows none. */
static const char *job_select_known(struct arena *a, const struct job_run *run,
	const struct smap *map, const char *const *names)
{
	rw_cleanup(str_done) struct str text = {0};
	for (size_t i = 0; i < run->n_hosts; i++) {
		char key[HOST_BYTES];
		const size_t length = job_host_key(run->hosts[i], key);
		uint64_t at;
		if (!smap_get(map, key, length, &at))
			continue;
		str_addf(&text, "%s%s", str_if(text.n > 0, ","), names[at]);
	}
	if (text.n == 0)
		return NULL;
	return arena_strdup(a, text.s);
}

static int job_select_by_gpus(const void *left, const void *right)
{
	const struct config_job *one = left, *other = right;
	if (one->gpus != other->gpus)
		return (one->gpus < other->gpus) - (one->gpus > other->gpus);
	return strcmp(one->name, other->name);
}

size_t job_select(struct arena *a, const struct job_runs *runs, const struct fabric *fabric,
	const struct config_job_file *file, struct config_job **ret, struct job_left_out *left_out)
{
	const char **names;
	struct smap *map = job_select_hosts(a, fabric, &names);
	struct config_job *jobs = arena_array(a, struct config_job, runs->n + 1);
	size_t n = 0;
	*left_out = (struct job_left_out){0};
	for (size_t i = 0; i < runs->n; i++) {
		const struct job_run *run = runs->v[i];
		uint64_t gpus = run->gpus;
		if (gpus == 0)
			gpus = run->n_hosts * file->gpus_per_host;
		const char *hosts = job_select_known(a, run, map, names);
		left_out->few_hosts += run->n_hosts < file->min_hosts;
		if (run->n_hosts < file->min_hosts)
			continue;
		left_out->no_gpus += gpus == 0;
		left_out->strangers += gpus > 0 && !hosts;
		if (gpus > 0 && hosts)
			jobs[n++] = (struct config_job){
				.name = run->name, .user = run->user, .gpus = gpus, .hosts = hosts};
	}
	smap_free(map);
	qsort(jobs, n, sizeof(*jobs), job_select_by_gpus);
	if (n > JOB_SELECT_MAX) {
		left_out->too_many = n - JOB_SELECT_MAX;
		n = JOB_SELECT_MAX;
	}
	*ret = jobs;
	return n;
}
