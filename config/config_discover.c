/* config_discover - a configuration otherwise than the file has it: with links that LLDP reports
 * and jobs that the scheduler tells, and as one of the agents that share the fabric works by it. */

#include "config/address.h"
#include "config/config_build.h"
#include "config/schema.h"
#include "config/topology.h"

size_t config_discovered(const struct config *config, struct arena *a, struct config_link **ret)
{
	const struct config_tree *tree = config->tree;
	size_t n = 0;
	*ret = arena_array(a, struct config_link, tree->n_links + 1);
	for (size_t i = 0; i < tree->n_links; i++) {
		const struct config_cable *t = &tree->links[i];
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

/* Is @port of @device no part of the fabric? 'ports:' of the device decides; where it says
 * nothing, @management does: what the device's profile says of the port. */
static bool config_port_outside(
	const struct config_device *device, const char *port, bool management)
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
	tree.n_links = 0;
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
		(*ret)->store.path = arena_strdup((*ret)->arena, config->store.path);
		(*ret)->socket_path = arena_strdup((*ret)->arena, config->socket_path);
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
	const struct config_tree *was = config->tree;
	struct smap *used = smap_new();
	struct config_tree tree = *was;

	tree.links = arena_array(a, struct config_cable, was->n_links + n + 1);
	tree.n_links = 0;
	for (size_t i = 0; i < was->n_links; i++) {
		const struct config_cable *t = &was->links[i];
		if (t->source == LINK_DISCOVERED)
			continue;
		tree.links[tree.n_links++] = *t;
		config_discover_take(config, used, t->a);
		config_discover_take(config, used, t->b);
	}
	for (size_t i = 0; i < n; i++) {
		if (!config_discover_free(config, a, used, links[i].a) ||
			!config_discover_free(config, a, used, links[i].b))
			continue;
		tree.links[tree.n_links++] = (struct config_cable){
			.a = links[i].a, .b = links[i].b, .source = LINK_DISCOVERED};
		config_discover_take(config, used, links[i].a);
		config_discover_take(config, used, links[i].b);
	}
	smap_free(used);
	tree.discover = tree.n_links == 0;
	return config_again(config, &tree, ret, errors);
}

/* ---- jobs ---------------------------------------------------------------- */

size_t config_scheduled(const struct config *config, struct arena *a, struct config_job **ret)
{
	const struct config_tree *tree = config->tree;
	size_t n = 0;
	*ret = arena_array(a, struct config_job, tree->n_jobs + 1);
	for (size_t i = 0; i < tree->n_jobs; i++) {
		const struct fabric_job *job = &tree->jobs[i];
		if (job->source == JOB_SCHEDULER)
			(*ret)[n++] = (struct config_job){.name = arena_strdup(a, job->name),
				.user = arena_strdup(a, job->user),
				.hosts = arena_strdup(a, job->hosts),
				.gpus = job->gpus};
	}
	return n;
}

int config_with_jobs(const struct config *config, const struct config_job *jobs, size_t n,
	struct config **ret, struct err_list *errors)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct config_tree *was = config->tree;
	struct smap *used = smap_new();
	struct config_tree tree = *was;
	tree.jobs = arena_array(a, struct fabric_job, was->n_jobs + n + 1);
	tree.n_jobs = 0;
	for (size_t i = 0; i < was->n_jobs; i++) {
		const struct fabric_job *job = &was->jobs[i];
		if (job->source == JOB_SCHEDULER)
			continue;
		tree.jobs[tree.n_jobs++] = *job;
		smap_put(used, job->name, strlen(job->name), 1);
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t seen;
		if (smap_get(used, jobs[i].name, strlen(jobs[i].name), &seen))
			continue;
		smap_put(used, jobs[i].name, strlen(jobs[i].name), 1);
		tree.jobs[tree.n_jobs++] = (struct fabric_job){.name = jobs[i].name,
			.user = jobs[i].user,
			.hosts = jobs[i].hosts,
			.gpus = jobs[i].gpus,
			.source = JOB_SCHEDULER};
	}
	smap_free(used);
	return config_again(config, &tree, ret, errors);
}

/* ---- as one of the agents, or their judge ---------------------------------- */

static void agents_let_go(struct config_device *device)
{
	device->snmp = NULL;
	device->gnmi = NULL;
	device->sflow = NULL;
	device->push = NULL;
}

/* Windows are as long for all agents as for the fabric. */
static void agents_fix_interval(struct config *config)
{
	if (config->whole_interval_ns == 0)
		config->whole_interval_ns = config_interval(config);
}

static bool agents_has_device(const struct config *config, const char *agent, const char *name)
{
	const struct fabric_device *device = fabric_device(config->fabric, name);
	return device && str_eq(device->agent, agent);
}

int config_as_agent(struct config *config, const char *name, struct err *e)
{
	bool known = false;
	for (size_t i = 0; i < config->n_agents; i++)
		known |= str_eq(config->agents[i], name);
	if (!known && config->n_agents == 0)
		return err_at(e, -EINVAL, config->path, 0, 0,
			"has no 'agents:', so there is no agent '%.64s'; one agent asks all "
			"devices",
			name);
	if (!known) {
		const char *near = str_nearest(name, config->agents, config->n_agents);
		return err_at(e, -EINVAL, config->path, 0, 0,
			"has no agent '%.64s' under 'agents:'; expected one such as '%s'", name,
			str_or(near, config->agents[0]));
	}
	config->self = arena_strdup(config->arena, name);
	agents_fix_interval(config);
	for (size_t i = 0; i < config->fabric->n_devices; i++) {
		struct fabric_device *device = config->fabric->devices[i];
		device->foreign = !str_eq(device->agent, name);
	}
	for (size_t i = 0; i < config->n_devices; i++)
		if (!agents_has_device(config, name, config->devices[i].name))
			agents_let_go(&config->devices[i]);
	size_t kept = 0;
	for (size_t i = 0; i < config->n_captures; i++) {
		const struct config_capture capture = config->captures[i];
		if (!capture.device || agents_has_device(config, name, capture.device))
			config->captures[kept++] = capture;
	}
	config->n_captures = kept;
	config_scraped_keep(config, name);
	return 0;
}

int config_as_judge(struct config *config, struct err *e)
{
	if (!config->judge)
		return err_at(e, -EINVAL, config->path, 0, 0,
			"has no 'judge:'; add 'judge: { from: clickhouse://HOST:PORT/DATABASE }'");
	config->judging = true;
	agents_fix_interval(config);
	for (size_t i = 0; i < config->n_devices; i++)
		agents_let_go(&config->devices[i]);
	config->n_captures = 0;
	config->n_pushes = 0;
	config->n_scraped = 0;
	config->traps = NULL;
	return 0;
}

int config_as_before(struct config *config, const struct config *before, struct err *e)
{
	config->whole_interval_ns = before->whole_interval_ns;
	if (before->judging)
		return config_as_judge(config, e);
	if (before->self)
		return config_as_agent(config, before->self, e);
	return 0;
}
