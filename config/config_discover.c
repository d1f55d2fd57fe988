/* config_discover - a configuration with what was found out beside the file: links that LLDP
 * reports, and jobs that the scheduler tells. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "config/address.h"
#include "config/schema.h"
#include "config/topology.h"

size_t config_discovered(const struct config *config, struct arena *a, struct config_link **ret)
{
	const struct tree_list *l = &config->tree->links;
	size_t n = 0;
	*ret = arena_array(a, struct config_link, l->n + 1);
	for (size_t i = 0; i < l->n; i++) {
		const struct tree_link *t = l->v[i];
		if (t->source == LINK_DISCOVERED)
			(*ret)[n++] =
				(struct config_link){arena_strdup(a, t->a), arena_strdup(a, t->b)};
	}
	return n;
}

static bool globs_match(const char *const *globs, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (str_glob(globs[i], text))
			return true;
	return false;
}

bool config_port_outside(const struct config_device *device, const char *port, bool management)
{
	if (globs_match(device->include.v, device->include.n, port))
		return false;
	return management || globs_match(device->exclude.v, device->exclude.n, port);
}

struct topology_device config_fabric_ports(
	struct arena *a, const struct config_device *device, const struct topology_device *self)
{
	struct topology_device ret = *self;
	ret.ports = arena_array(a, struct topology_port, self->n_ports + 1);
	for (size_t i = 0; i < self->n_ports; i++) {
		struct topology_port *port = &ret.ports[i];
		*port = self->ports[i];
		port->outside = config_port_outside(device, port->name, port->outside);
	}
	return ret;
}

char *config_text_unlinked(const struct config *config)
{
	struct config_tree tree = *config->tree;
	struct config copy = *config;
	tree.links.n = 0;
	tree.discover = false;
	copy.tree = &tree;
	return config_text(&copy);
}

static bool config_discover_left_out(
	const struct config *config, const char *name, const char *port)
{
	for (size_t i = 0; i < config->n_devices; i++)
		if (str_eq(config->devices[i].name, name))
			return config_port_outside(&config->devices[i], port, false);
	return false;
}

/* Can this end be used? A host, or a port of a configured device that no link before it uses. */
static bool config_discover_free(
	const struct config *config, struct arena *a, struct smap *used, const char *end)
{
	const char *device, *port;
	uint64_t line;
	if (!endpoint_split(a, end, &device, &port))
		return false;
	if (endpoint_kind(end, NULL) && !fabric_device(config->fabric, device))
		return true;
	if (config_discover_left_out(config, device, port))
		return false;
	return fabric_device(config->fabric, device) && !smap_get(used, end, strlen(end), &line);
}

static void config_discover_take(const struct config *config, struct smap *used, const char *end)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const char *device, *port;
	const bool outside = endpoint_kind(end, NULL) && endpoint_split(a, end, &device, &port) &&
		!fabric_device(config->fabric, device);
	if (!outside)
		smap_put(used, end, strlen(end), 1);
}

static const char *copy_text(struct arena *a, const char *text) /* NULL stays NULL */
{
	if (!text)
		return NULL;
	return arena_strdup(a, text);
}

/* @config with @tree for its own: written as text and read again, which checks all of it. */
static int config_again(const struct config *config, struct config_tree *tree, struct config **ret,
	struct err_list *errors)
{
	struct config copy = *config;
	copy.tree = tree;
	rw_cleanup(freep) char *text = config_text(&copy);
	/* Not CONFIG_FULL: what a whole configuration needs was checked when @config was read. */
	int rc = config_parse(text, strlen(text), config->path, CONFIG_CASE, config->tables,
		config->n_tables, ret, errors);
	if (rc == 0) { /* what may have been changed since @config was read */
		(*ret)->store.path = copy_text((*ret)->arena, config->store.path);
		(*ret)->socket_path = copy_text((*ret)->arena, config->socket_path);
		(*ret)->defaults.interval_ns = config->defaults.interval_ns;
		struct err e = {0};
		rc = config_as_before(*ret, config, &e);
		if (rc != 0)
			err_list_add(errors, &e);
	}
	return rc;
}

int config_with_links(const struct config *config, const struct config_link *links, size_t n,
	struct config **ret, struct err_list *errors)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct tree_list *was = &config->tree->links;
	struct smap *used = smap_new();
	struct config_tree tree = *config->tree;

	tree.links = (struct tree_list){.v = arena_array(a, void *, was->n + n + 1)};
	for (size_t i = 0; i < was->n; i++) {
		struct tree_link *t = was->v[i];
		if (t->source == LINK_DISCOVERED)
			continue;
		tree.links.v[tree.links.n++] = t;
		config_discover_take(config, used, t->a);
		config_discover_take(config, used, t->b);
	}
	for (size_t i = 0; i < n; i++) {
		if (!config_discover_free(config, a, used, links[i].a) ||
			!config_discover_free(config, a, used, links[i].b))
			continue;
		struct tree_link *t = arena_new_of(a, struct tree_link);
		*t = (struct tree_link){
			.a = links[i].a, .b = links[i].b, .source = LINK_DISCOVERED};
		tree.links.v[tree.links.n++] = t;
		config_discover_take(config, used, t->a);
		config_discover_take(config, used, t->b);
	}
	smap_free(used);
	tree.discover = tree.links.n == 0;
	return config_again(config, &tree, ret, errors);
}

/* ---- jobs ---------------------------------------------------------------- */

size_t config_scheduled(const struct config *config, struct arena *a, struct config_job **ret)
{
	const struct tree_list *trees = &config->tree->jobs;
	size_t n = 0;
	*ret = arena_array(a, struct config_job, trees->n + 1);
	for (size_t i = 0; i < trees->n; i++) {
		const struct tree_job *tree = trees->v[i];
		if (tree->source == JOB_SCHEDULER)
			(*ret)[n++] = (struct config_job){.name = arena_strdup(a, tree->name),
				.user = copy_text(a, tree->user),
				.hosts = arena_strdup(a, tree->hosts),
				.gpus = (uint64_t)tree->gpus};
	}
	return n;
}

int config_with_jobs(const struct config *config, const struct config_job *jobs, size_t n,
	struct config **ret, struct err_list *errors)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct tree_list *was = &config->tree->jobs;
	struct smap *used = smap_new();
	struct config_tree tree = *config->tree;
	tree.jobs = (struct tree_list){.v = arena_array(a, void *, was->n + n + 1)};
	for (size_t i = 0; i < was->n; i++) {
		struct tree_job *job = was->v[i];
		if (job->source == JOB_SCHEDULER)
			continue;
		tree.jobs.v[tree.jobs.n++] = job;
		smap_put(used, job->name, strlen(job->name), 1);
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t seen;
		if (smap_get(used, jobs[i].name, strlen(jobs[i].name), &seen))
			continue;
		smap_put(used, jobs[i].name, strlen(jobs[i].name), 1);
		struct tree_job *job = arena_new_of(a, struct tree_job);
		*job = (struct tree_job){.name = jobs[i].name,
			.user = jobs[i].user,
			.hosts = jobs[i].hosts,
			.gpus = (int64_t)jobs[i].gpus,
			.source = JOB_SCHEDULER};
		tree.jobs.v[tree.jobs.n++] = job;
	}
	smap_free(used);
	return config_again(config, &tree, ret, errors);
}
