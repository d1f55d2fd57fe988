/* job_file - finds out whose file it is, and hands it to the reader of that format. */
#include "agent/jobs/job_file.h"

#include <jansson.h>

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

/*
 * job_kubernetes - the pods of `kubectl get pods -A -o json` (core/v1 PodList). Which pods are one
 * job: the labels that job controllers give them, the widest first; else their controlling owner;
 * else a pod is a job of its own.
 */

static const char *const job_labels[] = {
	"jobset.sigs.k8s.io/jobset-name", /* JobSet: several Jobs */
	"training.kubeflow.org/job-name", /* PyTorchJob, MPIJob */
	"volcano.sh/job-name", /* Volcano */
	"ray.io/cluster", /* KubeRay */
	"leaderworkerset.sigs.k8s.io/name", /* LeaderWorkerSet */
	"batch.kubernetes.io/job-name", /* Job, from Kubernetes 1.27 on */
	"job-name", /* Job, before */
};

/* Extended resources of device plugins that stand for one GPU or accelerator each. */
static const char *const gpu_resources[] = {
	"nvidia.com/gpu",
	"amd.com/gpu",
	"habana.ai/gaudi",
	"gpu.intel.com/i915",
	"gpu.intel.com/xe",
};

static const char *job_pod_text(const json_t *object, const char *member)
{
	return json_string_value(json_object_get(object, member));
}

static const char *job_pod_owner(const json_t *metadata)
{
	const json_t *owners = json_object_get(metadata, "ownerReferences");
	for (size_t i = 0; i < json_array_size(owners); i++) {
		const json_t *owner = json_array_get(owners, i);
		if (json_is_true(json_object_get(owner, "controller")))
			return job_pod_text(owner, "name");
	}
	return NULL;
}

static const char *job_pod_job(const json_t *metadata)
{
	const json_t *labels = json_object_get(metadata, "labels");
	for (size_t k = 0; k < rw_countof(job_labels); k++) {
		const char *name = job_pod_text(labels, job_labels[k]);
		if (name && *name)
			return name;
	}
	const char *owner = job_pod_owner(metadata);
	if (owner)
		return owner;
	return job_pod_text(metadata, "name");
}

/* Extended resources are whole numbers, and a request equals its limit: either may be written. */
static uint64_t job_pod_count(const json_t *container, const char *what)
{
	const json_t *resources = json_object_get(container, "resources");
	uint64_t n = 0;
	for (size_t k = 0; k < rw_countof(gpu_resources); k++) {
		const json_t *value =
			json_object_get(json_object_get(resources, what), gpu_resources[k]);
		if (json_is_string(value))
			n += strtoull(json_string_value(value), NULL, 10);
		else if (json_integer_value(value) > 0)
			n += (uint64_t)json_integer_value(value);
	}
	return n;
}

static uint64_t job_pod_gpus(const json_t *spec)
{
	const json_t *containers = json_object_get(spec, "containers");
	uint64_t n = 0;
	for (size_t i = 0; i < json_array_size(containers); i++) {
		const json_t *container = json_array_get(containers, i);
		const uint64_t limit = job_pod_count(container, "limits");
		n += limit;
		if (limit == 0)
			n += job_pod_count(container, "requests");
	}
	return n;
}

static void job_pod_take(struct job_runs *runs, const json_t *pod)
{
	const json_t *metadata = json_object_get(pod, "metadata");
	const json_t *spec = json_object_get(pod, "spec");
	const uint64_t gpus = job_pod_gpus(spec);
	if (gpus == 0) /* services, system pods: not what a step waits for */
		return;
	const char *name = arena_printf(runs->a, "%.90s/%.90s",
		str_or(job_pod_text(metadata, "namespace"), "default"),
		str_or(job_pod_job(metadata), "pod"));
	struct job_run *run = job_runs_of(runs, name, NULL);
	job_run_add_host(runs, run, str_or(job_pod_text(spec, "nodeName"), ""));
	run->gpus += gpus;
}

int job_kubernetes_read(struct job_runs *runs, const json_t *items, struct err *e)
{
	for (size_t i = 0; i < json_array_size(items); i++) {
		const json_t *pod = json_array_get(items, i);
		const char *kind = job_pod_text(pod, "kind");
		if (!json_is_object(json_object_get(pod, "metadata")) ||
			(kind && strcmp(kind, "Pod") != 0))
			return err_set(e, -EINVAL,
				"items[%zu] is '%.32s'; expected pods: kubectl get pods -A -o json",
				i, str_or(kind, "no object of Kubernetes"));
		const char *phase = job_pod_text(json_object_get(pod, "status"), "phase");
		if (phase && strcmp(phase, "Running") == 0)
			job_pod_take(runs, pod);
		else
			runs->waiting++;
	}
	return 0;
}
