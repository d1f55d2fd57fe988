/*
 * job_kubernetes - the pods of `kubectl get pods -A -o json` (core/v1 PodList). Which pods are one
 * job: the labels that job controllers give them, the widest first; else their controlling owner;
 * else a pod is a job of its own.
 */
#include "agent/jobs/job_run.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"

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
