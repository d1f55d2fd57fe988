/* config_agents - which agent asks which device, and the configuration as one of them sees it. */
#include "config/config_build.h"

#include <errno.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"

/* Names that mean something else in the data. */
static const char *const agent_names_taken[] = {"canary", "judge"};

static void agents_own(struct build *build, const struct tree_agent *tree)
{
	struct fabric *fabric = build->c->fabric;
	for (size_t k = 0; k < tree->devices.n; k++) {
		size_t fits = 0;
		for (size_t i = 0; i < fabric->n_devices; i++) {
			struct fabric_device *device = fabric->devices[i];
			if (!str_glob(tree->devices.v[k], device->name))
				continue;
			fits++;
			if (device->agent && strcmp(device->agent, tree->name) != 0)
				build_error(build, build_at(tree->node, "devices"),
					"device '%s' belongs to agent '%s' already; a device that "
					"two agents ask is polled and stored twice",
					device->name, device->agent);
			device->agent = tree->name;
		}
		if (fits == 0)
			build_warn(build, build_at(tree->node, "devices"),
				"agent '%s': no device has a name like '%s'", tree->name,
				tree->devices.v[k]);
	}
}

/* Devices that nobody asks are found here and not by their silence. */
static void agents_find_orphans(struct build *build)
{
	const struct fabric *fabric = build->c->fabric;
	rw_cleanup(str_done) struct str names = {0};
	size_t n = 0;
	for (size_t i = 0; i < fabric->n_devices; i++) {
		if (fabric->devices[i]->agent)
			continue;
		if (n++ < 8)
			str_addf(&names, "%s%s", str_if(names.n, ", "), fabric->devices[i]->name);
	}
	if (n > 0)
		build_warn(build, build_at(build->root, "agents"),
			"no agent asks %zu of %zu devices: %s%s; they stay unknown", n,
			fabric->n_devices, names.s, str_if(n > 8, ", ..."));
}

static void build_judge(struct build *build)
{
	struct config *c = build->c;
	const struct tree_judge *tree = c->tree->judge;
	if (!tree)
		return;
	c->judge = arena_new_of(c->arena, struct config_judge);
	c->judge->from = tree->from;
	c->judge->wait_ns = tree->wait_ns;
	c->judge->begin_ns = tree->begin_ns;
	if (c->tree->agents.n == 0)
		build_error(build, tree->node,
			"judge: expected 'agents:' too, so that it knows for whom to wait");
}

void build_agents(struct build *build)
{
	struct config *c = build->c;
	const struct tree_list *trees = &c->tree->agents;
	struct smap *seen = smap_new();
	c->agents = arena_array(c->arena, const char *, trees->n + 1);
	for (size_t i = 0; i < trees->n; i++) {
		const struct tree_agent *tree = trees->v[i];
		if (!tree->name ||
			build_already_given(build, seen, tree->node, "agent", tree->name))
			continue;
		for (size_t k = 0; k < rw_countof(agent_names_taken); k++)
			if (str_eq(tree->name, agent_names_taken[k]))
				build_error(build, build_at(tree->node, "name"),
					"'%s' is no name for an agent; expected another one, such "
					"as pod1",
					tree->name);
		c->agents[c->n_agents++] = tree->name;
		agents_own(build, tree);
	}
	smap_free(seen);
	if (c->n_agents > 0)
		agents_find_orphans(build);
	build_judge(build);
}

/* ---- as one of them sees it ---------------------------------------------- */

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
