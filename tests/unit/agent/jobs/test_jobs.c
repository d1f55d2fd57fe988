/* Lists of hosts, files of schedulers, which jobs concern a fabric, and the tree for Slurm. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/jobs/job_file.h"
#include "agent/jobs/slurm.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "config/config.h"

/* ---- lists of hosts ------------------------------------------------------- */

static void expands(const char *text, const char *expected)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(str_done) struct str got = {0};
	const char *const *names;
	size_t n;
	struct err e = {0};
	assert_int_equal(0, hostlist_expand(a, text, &names, &n, &e));
	for (size_t i = 0; i < n; i++)
		str_addf(&got, "%s%s", str_if(i > 0, " "), names[i]);
	assert_string_equal(expected, str_or(got.s, ""));
}

/* The right-hand sides are those of `scontrol show hostnames` as slurm.conf(5) describes it. */
static void test_expand(void **state)
{
	expands("", "");
	expands("gpu7", "gpu7");
	expands("node-[1-3]", "node-1 node-2 node-3");
	expands("node-[008-011,20],x", "node-008 node-009 node-010 node-011 node-20 x");
	expands("r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02");
	expands("a[1-2]-ib,b", "a1-ib a2-ib b");
}

static void refuses(const char *text, const char *why)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const char *const *names;
	size_t n;
	struct err e = {0};
	assert_int_equal(-EINVAL, hostlist_expand(a, text, &names, &n, &e));
	if (!strstr(e.text, why))
		fail_msg("'%s': told '%s', expected '%s'", text, e.text, why);
}

static void test_refuse(void **state)
{
	refuses("node[1-3", "expected a ']'");
	refuses("node1-3]", "expected a '['");
	refuses("node[3-1]", "not below the first");
	refuses("node[a]", "expected a number");
	refuses("node[1-99999999]", "at most 65,536");
	refuses("a[0-9999]b[0-9999]", "more than 65536 hosts");
	refuses(",", "expected a name");
	rw_cleanup(str_done) struct str deep = {0};
	for (int i = 0; i < 100000; i++)
		str_add(&deep, "[1]");
	refuses(deep.s, "at most 255 characters");
}

static void joins(const char *text, const char *expected)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(str_done) struct str got = {0};
	const char *const *names;
	size_t n;
	assert_int_equal(0, hostlist_expand(a, text, &names, &n, NULL));
	hostlist_join(&got, names, n);
	assert_string_equal(expected, got.s);
}

static void test_join(void **state)
{
	joins("b,a", "a,b");
	joins("n3,n1,n2,n7,n2", "n[1-3,7]");
	joins("n01,n1,n02,n2", "n01,n1,n02,n2"); /* width tells hosts apart */
	joins("node-[001-128,130]", "node-[001-128,130]");
	joins("r1n1-ib,r1n2-ib,r2n1-ib", "r1n[1-2]-ib,r2n1-ib");
	joins("lonely", "lonely");
}

/* ---- files ---------------------------------------------------------------- */

static const char slurm_old[] =
	"{\"jobs\": ["
	"{\"job_id\": 7, \"name\": \"llama\", \"user_name\": \"ada\", \"job_state\": \"RUNNING\","
	" \"nodes\": \"node-[001-002]\", \"tres_alloc_str\": \"cpu=8,gres/gpu=16\"},"
	"{\"job_id\": 8, \"name\": \"wait\", \"job_state\": \"PENDING\", \"nodes\": \"\"}]}";

static const char slurm_new[] =
	"{\"jobs\": ["
	"{\"job_id\": 9, \"name\": \"moe\\u001b[31m\", \"job_state\": [\"RUNNING\"],"
	" \"het_job_id\": {\"set\": true, \"infinite\": false, \"number\": 9}, \"nodes\": "
	"\"node-003\","
	" \"tres_alloc_str\": \"gres/gpu:h100=8,gres/gpu:a100=2\"},"
	"{\"job_id\": 10, \"name\": \"moe\\u001b[31m\", \"job_state\": [\"RUNNING\", "
	"\"COMPLETING\"],"
	" \"het_job_id\": {\"set\": true, \"infinite\": false, \"number\": 9}, \"nodes\": "
	"\"Node-004.hpc\","
	" \"tres_alloc_str\": \"cpu=1,gres/gpumem=80G,gres/gpu=8\"},"
	"{\"job_id\": 11, \"name\": \"cpu\", \"job_state\": [\"RUNNING\"],"
	" \"het_job_id\": {\"set\": false, \"infinite\": false, \"number\": 0},"
	" \"nodes\": \"node-[001-004]\", \"tres_alloc_str\": \"cpu=64\"},"
	"{\"job_id\": 12, \"name\": \"one\", \"job_state\": [\"RUNNING\"], \"nodes\": \"node-001\","
	" \"tres_alloc_str\": \"gres/gpu=8\"},"
	"{\"job_id\": 14, \"name\": \"over\", \"job_state\": [\"COMPLETED\"], \"nodes\": "
	"\"node-002\","
	" \"tres_alloc_str\": \"gres/gpu=8\"},"
	"{\"job_id\": 13, \"name\": \"far\", \"job_state\": [\"RUNNING\"], \"nodes\": "
	"\"other-[1-2]\","
	" \"tres_alloc_str\": \"gres/gpu=16\"}]}";

#define POD(name, labels, node, gpus, phase)                                                       \
	"{\"kind\": \"Pod\", \"metadata\": {\"name\": \"" name "\", \"namespace\": \"ml\", "       \
	"\"labels\": {" labels "}}, \"spec\": {\"nodeName\": \"" node "\", \"containers\": [{}, "  \
	"{\"resources\": {\"limits\": {\"nvidia.com/gpu\": \"" gpus "\"}}}]}, \"status\": "        \
	"{\"phase\": \"" phase "\"}}"
#define KUBEFLOW "\"training.kubeflow.org/job-name\": \"gpt\", \"job-name\": \"gpt-worker\""

static const char pods[] = "{\"kind\": \"List\", \"items\": [" POD("gpt-0", KUBEFLOW, "node-001",
	"8", "Running") "," POD("gpt-1", KUBEFLOW, "node-002", "8", "Running") "," POD("gpt-2",
	KUBEFLOW, "node-003", "8",
	"Pending") "," POD("coredns", "", "node-001", "0", "Running") "]}";

struct read { /* one file, read */
	struct arena *a;
	struct job_runs runs;
	struct err e;
	int rc;
};

static struct read file_of(const char *text, enum job_format format)
{
	struct read ret = {.a = arena_new()};
	job_runs_init(&ret.runs, ret.a);
	ret.rc = job_file_parse(&ret.runs, text, strlen(text), format, "jobs.json", &ret.e);
	return ret;
}

static void read_free(struct read *read)
{
	job_runs_done(&read->runs);
	arena_free(read->a);
}

static void test_slurm(void **state)
{
	struct read read = file_of(slurm_old, JOB_AUTO);
	assert_int_equal(0, read.rc);
	assert_int_equal(1, read.runs.n);
	assert_int_equal(1, read.runs.waiting);
	assert_string_equal("llama/7", read.runs.v[0]->name);
	assert_string_equal("ada", read.runs.v[0]->user);
	assert_int_equal(16, read.runs.v[0]->gpus);
	assert_int_equal(2, read.runs.v[0]->n_hosts);
	assert_string_equal("node-002", read.runs.v[0]->hosts[1]);
	read_free(&read);

	read = file_of(slurm_new, JOB_SLURM);
	assert_int_equal(0, read.rc);
	assert_int_equal(4, read.runs.n); /* the two components are one job; one is over */
	assert_int_equal(1, read.runs.waiting);
	assert_string_equal("moe [31m/9", read.runs.v[0]->name);
	assert_int_equal(18, read.runs.v[0]->gpus);
	assert_int_equal(2, read.runs.v[0]->n_hosts);
	read_free(&read);
}

static void test_kubernetes(void **state)
{
	struct read read = file_of(pods, JOB_AUTO);
	assert_int_equal(0, read.rc);
	assert_int_equal(1, read.runs.n);
	assert_string_equal("ml/gpt", read.runs.v[0]->name);
	assert_int_equal(16, read.runs.v[0]->gpus);
	assert_int_equal(2, read.runs.v[0]->n_hosts);
	read_free(&read);
}

static void wrong(const char *text, enum job_format format, const char *why)
{
	struct read read = file_of(text, format);
	assert_int_equal(-EINVAL, read.rc);
	if (!strstr(read.e.text, why))
		fail_msg("told '%s', expected '%s'", read.e.text, why);
	assert_string_equal("jobs.json", read.e.file);
	read_free(&read);
}

static void test_wrong(void **state)
{
	wrong("", JOB_AUTO, "still being written");
	wrong("{\"jobs\": [", JOB_AUTO, "still being written");
	wrong("[]", JOB_AUTO, "expected what 'squeue --json' prints");
	wrong(pods, JOB_SLURM, "expected what 'squeue --json' prints");
	wrong(slurm_old, JOB_KUBERNETES, "kubectl get pods");
	wrong("{\"jobs\": [7]}", JOB_AUTO, "jobs[0] is no object");
	wrong("{\"jobs\": [{\"job_state\": \"RUNNING\", \"nodes\": \"n[\"}]}", JOB_AUTO,
		"jobs[0].nodes: 'n['");
	wrong("{\"items\": [{\"kind\": \"Node\", \"metadata\": {}}]}", JOB_AUTO, "is 'Node'");
}

/* ---- the fabric's jobs ---------------------------------------------------- */

static const char fabric_yaml[] =
	"fabric: pod\n"
	"devices: [ { name: leaf1, role: leaf }, { name: leaf2, role: leaf },"
	" { name: spine1, role: spine }, { name: spine2, role: spine } ]\n"
	"links:\n"
	"  - { a: \"leaf1:Ethernet1\", b: \"host:node-001:r0\" }\n"
	"  - { a: \"leaf1:Ethernet2\", b: \"host:node-002:r0\" }\n"
	"  - { a: \"leaf2:Ethernet1\", b: \"host:node-003:r0\" }\n"
	"  - { a: \"leaf2:Ethernet2\", b: \"host:node-004:r0\" }\n"
	"  - { a: \"leaf1:Ethernet9\", b: \"spine1:Ethernet1\" }\n"
	"  - { a: \"leaf2:Ethernet9\", b: \"spine1:Ethernet2\" }\n"
	"  - { a: \"leaf1:Ethernet10\", b: \"spine2:Ethernet1\" }\n"
	"  - { a: \"leaf2:Ethernet10\", b: \"spine2:Ethernet2\" }\n";

static struct config *config_of(const char *more)
{
	rw_cleanup(str_done) struct str text = {0};
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct config *config = NULL;
	str_addf(&text, "%s%s", fabric_yaml, more);
	if (config_parse(text.s, text.n, "test", CONFIG_CASE, NULL, 0, &config, &errors) < 0)
		fail_msg("%s", errors.v[0].text);
	return config;
}

static void test_select(void **state)
{
	struct config *config = config_of("job_files: [ { path: /x, min_hosts: 2 } ]\n");
	struct read read = file_of(slurm_new, JOB_AUTO);
	struct config_job *jobs;
	struct job_left_out out;
	const size_t n =
		job_select(read.a, &read.runs, config->fabric, &config->job_files[0], &jobs, &out);
	assert_int_equal(1, n);
	assert_string_equal("node-003,node-004", jobs[0].hosts);
	assert_int_equal(1, out.few_hosts);
	assert_int_equal(1, out.no_gpus);
	assert_int_equal(1, out.strangers);
	struct config_job_file told = config->job_files[0];
	told.gpus_per_host = 8;
	assert_int_equal(2, job_select(read.a, &read.runs, config->fabric, &told, &jobs, &out));
	assert_int_equal(32, jobs[0].gpus); /* the largest first */
	read_free(&read);
	config_free(config);
}

/* What the scheduler tells is put beside what people declared, replaced by the next telling, and in
 * the text that the history keeps. */
static void test_config(void **state)
{
	struct config *config = config_of("jobs: [ { name: own, gpus: 8, hosts: node-004 } ]\n"
					  "job_files: [ { path: /x } ]\n");
	const struct config_job told[] = {
		{.name = "a/1", .user = "ada", .hosts = "node-001,node-002", .gpus = 16},
		{.name = "own", .hosts = "node-001", .gpus = 1}};
	const struct config_job later[] = {{.name = "b/2", .hosts = "node-003", .gpus = 4}};
	rw_cleanup(err_list_done) struct err_list errors = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct config *with = NULL, *then = NULL;
	struct config_job *got;
	assert_int_equal(0, config_with_jobs(config, told, 2, &with, &errors));
	assert_int_equal(2, with->fabric->n_jobs);
	assert_int_equal(24, fabric_gpus(with->fabric));
	assert_string_equal("a/1", fabric_job_of(with->fabric, "node-002")->name);
	assert_null(fabric_job_of(with->fabric, "node-003"));
	assert_int_equal(1, config_scheduled(with, a, &got));
	assert_string_equal("ada", got[0].user);
	rw_cleanup(freep) char *text = config_text(with);
	assert_non_null(strstr(text, "source: scheduler"));
	assert_int_equal(0, config_with_jobs(with, later, 1, &then, &errors));
	assert_int_equal(2, then->fabric->n_jobs);
	assert_int_equal(12, fabric_gpus(then->fabric));
	config_free(config);
	config_free(with);
	config_free(then);
}

/* A host outside the jobs that people declare is storage; one without a job of the scheduler is
 * idle. */
static void test_outside(void **state)
{
	struct config *config =
		config_of("jobs: [ { name: own, gpus: 8, hosts: \"node-001,x-*\" } ]\n");
	assert_false(fabric_outside_jobs(config->fabric, "node-001"));
	assert_false(fabric_outside_jobs(config->fabric, "x-9"));
	assert_true(fabric_outside_jobs(config->fabric, "node-002"));
	config_free(config);
	config = config_of("jobs: [ { name: a, gpus: 8, hosts: node-001, source: scheduler } ]\n");
	assert_false(fabric_outside_jobs(config->fabric, "node-002"));
	config_free(config);
}

/* ---- the tree ------------------------------------------------------------- */

static void tree_is(const struct fabric *fabric, enum slurm_file file, const char *expected)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	assert_int_equal(0, slurm_topology_print(out, fabric, file));
	fclose(out);
	assert_string_equal(expected, text);
	free(text);
}

static void test_tree(void **state)
{
	struct config *config = config_of("");
	tree_is(config->fabric, SLURM_CONF,
		"# The fabric pod, written by: rocewatch topology export\n"
		"# with-spine1: spine[1-2]\n"
		"SwitchName=with-spine1 Switches=leaf[1-2]\n"
		"SwitchName=leaf1 Nodes=node-[001-002]\n"
		"SwitchName=leaf2 Nodes=node-[003-004]\n");
	tree_is(config->fabric, SLURM_YAML,
		"# The fabric pod, written by: rocewatch topology export\n"
		"---\n- topology: pod\n  cluster_default: true\n  tree:\n    switches:\n"
		"      # with-spine1: spine[1-2]\n"
		"      - switch: with-spine1\n        children: leaf[1-2]\n"
		"      - switch: leaf1\n        nodes: node-[001-002]\n"
		"      - switch: leaf2\n        nodes: node-[003-004]\n");
	config_free(config);
}

/* Both rails of a pod serve the same hosts: one switch to Slurm. */
static void test_rails(void **state)
{
	static const char more[] = "  - { a: \"leaf2:Ethernet3\", b: \"host:node-001:r1\" }\n"
				   "  - { a: \"leaf2:Ethernet4\", b: \"host:node-002:r1\" }\n";
	struct config *config = config_of(more);
	tree_is(config->fabric, SLURM_CONF,
		"# The fabric pod, written by: rocewatch topology export\n"
		"# with-leaf1: leaf[1-2]\n"
		"SwitchName=with-leaf1 Nodes=node-[001-004]\n");
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expand),
		cmocka_unit_test(test_refuse),
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_slurm),
		cmocka_unit_test(test_kubernetes),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_select),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_rails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
