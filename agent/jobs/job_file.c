/* job_file - finds out whose file it is, and hands it to the reader of that format. */
#include "agent/jobs/job_file.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"

enum { JOB_FILE_MAX = 256 << 20 }; /* bytes */

enum { JOB_SELECT_MAX = 1000 }; /* jobs of one file */

static const struct job_reader {
	enum job_format format;
	const char *member; /* of the document: the list of entries */
	const char *wrote; /* what prints such a document */
	int (*read)(struct job_runs *runs, const json_t *entries, struct err *e);
} readers[] = {
	{JOB_SLURM, "jobs", "squeue --json", job_slurm_read},
	{JOB_KUBERNETES, "items", "kubectl get pods -A -o json", job_kubernetes_read},
};

static const struct job_reader *job_file_reader(const json_t *root, enum job_format format)
{
	for (size_t k = 0; k < rw_countof(readers); k++) {
		if (format != JOB_AUTO && format != readers[k].format)
			continue;
		if (json_is_array(json_object_get(root, readers[k].member)))
			return &readers[k];
	}
	return NULL;
}

static int job_file_unknown(enum job_format format, const char *name, struct err *e)
{
	rw_cleanup(str_done) struct str expected = {0};
	for (size_t k = 0; k < rw_countof(readers); k++) {
		if (format != JOB_AUTO && format != readers[k].format)
			continue;
		str_addf(&expected, "%s what '%s' prints (a list \"%s\")",
			str_if(expected.n > 0, " or"), readers[k].wrote, readers[k].member);
	}
	return err_at(
		e, -EINVAL, name, 1, 0, "this is another kind of JSON; expected%s", expected.s);
}

int job_file_parse(struct job_runs *runs, const char *text, size_t n, enum job_format format,
	const char *name, struct err *e)
{
	json_error_t at;
	json_t *root = json_loadb(text, n, 0, &at);
	if (!root)
		return err_at(e, -EINVAL, name, at.line, at.column,
			"%s; expected one JSON document: is the file still being written?",
			at.text);
	const struct job_reader *reader = job_file_reader(root, format);
	int rc;
	if (!reader) {
		rc = job_file_unknown(format, name, e);
	} else {
		struct err why = {0};
		rc = reader->read(runs, json_object_get(root, reader->member), &why);
		if (rc < 0)
			err_at(e, rc, name, 0, 0, "%s", why.text);
	}
	json_decref(root);
	return rc;
}

int job_file_load(struct job_runs *runs, const char *path, enum job_format format, struct err *e)
{
	rw_cleanup(freep) char *text = NULL;
	size_t n = 0;
	const int rc = str_read_file(path, JOB_FILE_MAX, &text, &n, e);
	if (rc < 0)
		return rc;
	return job_file_parse(runs, text, n, format, path, e);
}

/* job_select - matches the hosts of jobs with those of the links. */

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
