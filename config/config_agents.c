/* config_agents - which agent asks which device. What one of them sees: config_discover.c. */
#include "config/config_build.h"

#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"

/* Names that mean something else in the data. */
static const char *const agent_names_taken[] = {"canary", "judge"};

static void agents_own(struct build *build, const struct config_agent *tree)
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
	const struct config_judge *judge = c->judge = c->tree->judge;
	if (!judge)
		return;
	if (c->fabric->discover && c->tree->discover)
		build_warn(build, judge->node,
			"judge: it sees no LLDP, and the links are to be discovered: declare them "
			"(rocewatch topology discover prints them), or no pause tree has an edge");
	if (c->tree->n_agents == 0)
		build_error(build, judge->node,
			"judge: expected 'agents:' too, so that it knows for whom to wait");
}

void build_agents(struct build *build)
{
	struct config *c = build->c;
	struct smap *seen = smap_new();
	c->agents = arena_array(c->arena, const char *, c->tree->n_agents + 1);
	for (size_t i = 0; i < c->tree->n_agents; i++) {
		const struct config_agent *tree = &c->tree->agents[i];
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
	if (c->n_agents > 0 && c->ship.agent)
		build_error(build, build_at(build->root, "store"),
			"store.ship.agent would give all agents of this file one name; leave it "
			"out: each ships under its own name of 'agents:'");
}
