/* config_role - a configuration as one of the agents that share the fabric works by it, or as their
 * judge does. */
#include <errno.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "config/config.h"

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
