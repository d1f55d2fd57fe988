/* config_fabric - the fabric graph of a configuration: devices, what the site means to do, links,
 * LAGs and given ECMP groups; every reference must name something that is there. */

#include "config/address.h"
#include "config/class_policy.h"
#include "config/config_build.h"

static struct fabric_device *links_device(
	struct build *build, const struct yaml_node *at, const char *key, const char *name)
{
	struct fabric *fabric = build->c->fabric;
	struct fabric_device *device = (struct fabric_device *)fabric_device(fabric, name);
	if (device)
		return device;
	const char **names = arena_array(build->c->arena, const char *, fabric->n_devices + 1);
	for (size_t i = 0; i < fabric->n_devices; i++)
		names[i] = fabric->devices[i]->name;
	build_unknown_name(build, at, key, "device", name, names, fabric->n_devices,
		"expected one from 'devices:'");
	return NULL;
}

/* More ports than any chassis has: a mistake of a generator, and lists of ports are searched one by
 * one. */
enum { MAX_PORTS = 4096 };

static bool links_full(const struct fabric_device *device, const char *name)
{
	return device->n_ports == MAX_PORTS && !fabric_port(device, name);
}

static struct fabric_port *links_add_port(struct build *build, const struct yaml_node *at,
	struct fabric_device *device, const char *name)
{
	if (links_full(device, name)) {
		build_error(build, at,
			"port '%.64s' is one more than the %d ports a device may have", name,
			MAX_PORTS);
		return NULL;
	}
	return fabric_port_add(device, build->c->arena, name);
}

/* The same of an entry of the list "ports" of @section. */
static struct fabric_port *links_add_listed_port(struct build *build,
	const struct yaml_node *section, struct fabric_device *device, const char *name)
{
	const struct yaml_node *at = section;
	if (links_full(device, name))
		at = build_entry_at(section, "ports", name);
	return links_add_port(build, at, device, name);
}

/* ---- links --------------------------------------------------------------- */

struct link_end { /* a port, made when it is new, or what is no device */
	struct fabric_port *port;
	const char *name, *nic; /* of a host, or of a switch or something else */
	enum neighbor_kind kind;
	bool bad;
};

static struct link_end links_end(
	struct build *build, const struct yaml_node *at, const char *key, const char *text)
{
	struct arena *a = build->c->arena;
	const char *name = NULL, *port = NULL;
	if (!text || !endpoint_split(a, text, &name, &port))
		return (struct link_end){.bad = true}; /* reported by the schema */
	struct link_end end = {.nic = ""};
	if (endpoint_kind(text, &end.kind) && !fabric_device(build->c->fabric, name)) {
		const char *colon = strchr(port, ':'); /* host:NAME or host:NAME:NIC */
		end.name = port;
		if (colon) {
			end.name = arena_strndup(a, port, (size_t)(colon - port));
			end.nic = colon + 1;
		}
		return end;
	}
	struct fabric_device *device = links_device(build, at, key, name);
	if (device)
		end.port = links_add_port(build, at, device, port);
	end.bad = !end.port;
	return end;
}

/* A port has one cable. @used: address of the port -> line of its link. */
static bool links_taken(struct build *build, struct map *used, const struct fabric_port *port,
	const struct yaml_node *at, const char *key)
{
	const uint64_t id = (uint64_t)(uintptr_t)port;
	uint64_t line;
	if (!port)
		return false;
	if (map_get(used, id, &line)) {
		build_error(build, at,
			"%s: port '%.64s' of %s is already used by the link in line %d; a port has "
			"one cable",
			key, port->name, port->device->name, (int)line);
		return true;
	}
	line = 0;
	if (at)
		line = (uint64_t)at->line;
	map_put(used, id, line);
	return false;
}

static void links_set_end(struct fabric_port *port, const struct link_end *other,
	const struct config_cable *link, const char *rail)
{
	port->peer = other->port;
	if (other->name && other->kind == NEIGHBOR_HOST) {
		port->host = other->name;
		port->host_nic = other->nic;
	} else if (other->name) {
		port->outsider = other->name;
		port->outsider_port = other->nic;
		port->outsider_kind = other->kind;
	}
	port->cable_mm = link->cable_mm;
	port->speed_bps = link->speed_bps;
	port->rail = rail;
	port->discovered = link->source == LINK_DISCOVERED;
}

/* The link's own rail, else that of the device at one of its ends. */
static const char *links_rail(const struct config_cable *link, const struct fabric_port *one,
	const struct fabric_port *other)
{
	if (link->rail)
		return link->rail;
	if (one && one->device->rail)
		return one->device->rail;
	if (other)
		return other->device->rail;
	return NULL;
}

static void links_add(struct build *build, const struct config_cable *link, struct map *used)
{
	const struct yaml_node *at_a = build_at(link->node, "a");
	const struct yaml_node *at_b = build_at(link->node, "b");
	const struct link_end a = links_end(build, at_a, "a", link->a);
	const struct link_end b = links_end(build, at_b, "b", link->b);
	if (a.bad || b.bad)
		return;
	if (!a.port && !b.port) {
		build_error(build, link->node,
			"a link without a device; expected a switch port (\"DEVICE:PORT\") at one "
			"end at least");
		return;
	}
	if (a.port == b.port) {
		build_error(build, at_b,
			"b: '%.64s' is the same port as a; expected the other end of the cable",
			link->b);
		return;
	}
	/* ask for both: both are reported */
	const bool taken_a = links_taken(build, used, a.port, at_a, "a");
	const bool taken_b = links_taken(build, used, b.port, at_b, "b");
	if (taken_a || taken_b)
		return;
	const char *rail = links_rail(link, a.port, b.port);
	if (a.port)
		links_set_end(a.port, &b, link, rail);
	if (b.port)
		links_set_end(b.port, &a, link, rail);
}

/* ---- LAGs ---------------------------------------------------------------- */

static bool links_has_lag(const struct fabric_device *device, const char *lag)
{
	for (size_t i = 0; i < device->n_ports; i++)
		if (str_eq(device->ports[i]->lag, lag))
			return true;
	return false;
}

static void links_add_member(struct build *build, struct fabric_device *device, const char *lag,
	const struct yaml_node *section, const char *name)
{
	if (strcmp(name, lag) == 0) {
		build_error(build, build_entry_at(section, "ports", name),
			"ports: '%.64s' is the LAG itself; expected its member ports", name);
		return;
	}
	struct fabric_port *port = links_add_listed_port(build, section, device, name);
	if (!port)
		return;
	if (port->lag)
		build_error(build, build_entry_at(section, "ports", name),
			"ports: port '%.64s' of %s is already a member of LAG '%s'; a port is in "
			"one LAG",
			port->name, device->name, port->lag);
	else
		port->lag = lag;
}

static void links_add_lag(struct build *build, const struct config_lag *lag)
{
	if (!lag->device)
		return;
	struct fabric_device *device =
		links_device(build, build_at(lag->node, "device"), "device", lag->device);
	if (!device || !lag->name)
		return;
	if (links_has_lag(device, lag->name)) {
		build_error(build, build_at(lag->node, "name"),
			"name: LAG '%.64s' of %s is given twice; put all its ports into one list",
			lag->name, device->name);
		return;
	}
	for (size_t i = 0; i < lag->ports.n; i++)
		links_add_member(build, device, lag->name, lag->node, lag->ports.v[i]);
}

/* A link given between two aggregates holds for the members that have no link of their own: their
 * peer is the other aggregate. */
static void links_spread_lag(struct fabric_device *device)
{
	for (size_t i = 0; i < device->n_ports; i++) {
		struct fabric_port *port = device->ports[i];
		if (!port->lag || port->peer || port->host || port->outsider)
			continue;
		const struct fabric_port *lag = fabric_port(device, port->lag);
		if (!lag)
			continue;
		port->peer = lag->peer;
		port->host = lag->host;
		port->host_nic = lag->host_nic;
		port->outsider = lag->outsider;
		port->outsider_port = lag->outsider_port;
		port->outsider_kind = lag->outsider_kind;
		port->cable_mm = lag->cable_mm;
		port->rail = lag->rail;
	}
}

/* ---- groups -------------------------------------------------------------- */

/*
 * The port of a group member. Where the cables are listed, a port of a group is one of them:
 * another name is a typing error that would make the group blind. Without a list (links: discover)
 * the group is what makes the port known.
 */
static struct fabric_port *links_member(struct build *build, struct fabric_device *device,
	const struct yaml_node *section, const char *name, bool linked)
{
	struct fabric_port *port = (struct fabric_port *)fabric_port(device, name);
	if (port)
		return port;
	/* a LAG by its name: its first port stands for it */
	for (size_t i = 0; i < device->n_ports; i++)
		if (str_eq(device->ports[i]->lag, name))
			return device->ports[i];
	if (!linked)
		return links_add_listed_port(build, section, device, name);
	const struct yaml_node *at = build_entry_at(section, "ports", name);
	const char **names = arena_array(build->c->arena, const char *, device->n_ports + 1);
	for (size_t i = 0; i < device->n_ports; i++)
		names[i] = device->ports[i]->name;
	const char *near = str_nearest(name, names, device->n_ports);
	if (near)
		build_error(build, at,
			"ports: '%.64s' is not a port of %s in 'links:'; did you mean '%s'?", name,
			device->name, near);
	else
		build_error(build, at,
			"ports: '%.64s' is not a port of %s in 'links:'; add its link or correct "
			"the name",
			name, device->name);
	return NULL;
}

/* A LAG by name becomes its first port, in natural order; so does any of its ports. */
static struct fabric_port *links_representative(struct fabric_port *port)
{
	const struct fabric_device *device = port->device;
	const char *lag = str_or(port->lag, port->name);
	struct fabric_port *first = NULL;
	for (size_t i = 0; i < device->n_ports; i++) {
		struct fabric_port *other = device->ports[i];
		if (!str_eq(other->lag, lag))
			continue;
		if (!first || name_compare(other->name, first->name) < 0)
			first = other;
	}
	if (first)
		return first;
	return port;
}

static bool links_in_group(const struct fabric_group *group, const struct fabric_port *port)
{
	for (size_t i = 0; i < group->n_members; i++)
		if (group->members[i] == port)
			return true;
	return false;
}

/* Members are in natural order. There is room. */
static void links_insert(struct fabric_group *group, struct fabric_port *port)
{
	size_t at = group->n_members++;
	for (; at > 0 && name_compare(group->members[at - 1]->name, port->name) > 0; at--)
		group->members[at] = group->members[at - 1];
	group->members[at] = port;
}

static void links_add_group(struct build *build, const struct config_group *given)
{
	struct config *c = build->c;
	if (!given->device)
		return;
	struct fabric_device *device =
		links_device(build, build_at(given->node, "device"), "device", given->device);
	if (!device || !given->group)
		return;
	if (fabric_group(device, given->group)) {
		build_error(build, build_at(given->node, "group"),
			"group: '%.64s' of %s is given twice; put all its ports into one list",
			given->group, device->name);
		return;
	}
	/* A list of discovered links is never complete: a port that has been silent so far is not
	 * a mistake. */
	const bool linked = c->tree->n_links > 0 && !c->fabric->discover;
	const bool is_lag = strncmp(given->group, "lag:", 4) == 0;
	struct fabric_group group = {
		.id = given->group, .device = device, .given = true, .lb = device->lb};
	group.lb_own = given->lb >= 0;
	if (group.lb_own)
		group.lb = (enum lb_policy)given->lb;
	group.members = arena_array(c->arena, struct fabric_port *, given->ports.n + 1);
	for (size_t i = 0; i < given->ports.n; i++) {
		struct fabric_port *port =
			links_member(build, device, given->node, given->ports.v[i], linked);
		if (port && !is_lag)
			port = links_representative(port);
		if (!port)
			continue;
		if (links_in_group(&group, port))
			build_error(build, build_entry_at(given->node, "ports", given->ports.v[i]),
				"ports: '%.64s' is in a LAG that is already a member; name the LAG "
				"once",
				given->ports.v[i]);
		else
			links_insert(&group, port);
	}
	if (given->ports.n == 1)
		build_warn(build, build_at(given->node, "ports"),
			"ports: a group of one port has nothing to balance");
	fabric_group_add(device, c->arena, &group);
}

/* The port that a capture mirrors becomes known by it. */
static void links_add_captured(struct build *build, const struct config_capture *capture)
{
	if (!capture->port_read)
		return;
	const struct yaml_node *at = build_at(capture->node, "port");
	const struct link_end end = links_end(build, at, "port", capture->port_read);
	if (end.name)
		build_error(build, at, "port is '%.64s'; expected a switch port (\"DEVICE:PORT\")",
			capture->port_read);
}

static void links_build(struct build *build)
{
	const struct config_tree *tree = build->c->tree;
	struct fabric *fabric = build->c->fabric;
	struct map *used = map_new();
	for (size_t i = 0; i < tree->n_links; i++) {
		const struct config_cable *link = &tree->links[i];
		if (link->source == LINK_DISCOVERED)
			fabric->discover = true;
		links_add(build, link, used);
	}
	map_free(used);
	for (size_t i = 0; i < tree->n_captures; i++)
		links_add_captured(build, &tree->captures[i]);
	for (size_t i = 0; i < tree->n_lags; i++)
		links_add_lag(build, &tree->lags[i]);
	for (size_t i = 0; i < fabric->n_devices; i++)
		links_spread_lag(fabric->devices[i]);
	for (size_t i = 0; i < tree->n_groups; i++)
		links_add_group(build, &tree->groups[i]);
}

/* ---- what the site means to do --------------------------------------------- */

/* Devices and groups that have no load_balancing of their own follow the policy. */
static void fabric_apply_policy(const struct config_tree *tree, struct fabric *fabric)
{
	for (size_t i = 0; i < tree->n_devices; i++) {
		const struct config_device *given = &tree->devices[i];
		if (!given->name || given->lb >= 0)
			continue;
		struct fabric_device *device =
			(struct fabric_device *)fabric_device(fabric, given->name);
		if (!device)
			continue;
		device->lb = fabric->lb;
		device->lb_declared = fabric->lb_declared;
		for (size_t k = 0; k < device->n_groups; k++)
			if (!device->groups[k].given)
				device->groups[k].lb = fabric->lb;
	}
	for (size_t i = 0; i < tree->n_groups; i++) {
		const struct config_group *given = &tree->groups[i];
		if (!given->device || !given->group || given->lb >= 0)
			continue;
		const struct fabric_device *device = fabric_device(fabric, given->device);
		if (!device)
			continue;
		struct fabric_group *group =
			(struct fabric_group *)fabric_group(device, given->group);
		if (group && group->given)
			group->lb = device->lb;
	}
}

static bool policy_is_assumed(const struct config_policy *policy, const char *key)
{
	for (size_t i = 0; i < policy->assumed.n; i++)
		if (strcmp(policy->assumed.v[i], key) == 0)
			return true;
	return false;
}

/* A key of `policy:` that the file does not have is no statement of anybody: it is noted as
 * assumed. */
static void policy_assume(struct config_policy *policy, struct arena *a, const char *key)
{
	const struct config_texts was = policy->assumed;
	const bool declared = policy->node && yaml_get(policy->node, key);
	if (declared || policy_is_assumed(policy, key))
		return;
	const char **v = arena_array(a, const char *, was.n + 1);
	for (size_t i = 0; i < was.n; i++)
		v[i] = was.v[i];
	v[was.n] = key;
	policy->assumed = (struct config_texts){v, was.n + 1};
}

/* Somebody who sets another value than the default has said so. */
static void policy_withdraw(struct config_policy *policy, struct arena *a, const char *key)
{
	const struct config_texts was = policy->assumed;
	const char **v = arena_array(a, const char *, was.n + 1);
	size_t n = 0;
	for (size_t i = 0; i < was.n; i++)
		if (strcmp(was.v[i], key) != 0)
			v[n++] = was.v[i];
	policy->assumed = (struct config_texts){v, n};
}

static void build_policy_words(struct fabric *fabric, struct arena *a, struct config_policy *policy)
{
	fabric->congestion = (enum congestion_policy)policy->congestion;
	fabric->lb = (enum lb_policy)policy->lb;
	if (fabric->congestion != CC_DCQCN)
		policy_withdraw(policy, a, "congestion");
	if (fabric->lb != LB_STATIC)
		policy_withdraw(policy, a, "load_balancing");
	fabric->congestion_declared = !policy_is_assumed(policy, "congestion");
	fabric->lb_declared = !policy_is_assumed(policy, "load_balancing");
}

static void build_classes(struct build *build, const struct config_policy *policy)
{
	struct fabric *fabric = build->c->fabric;
	for (size_t i = 0; i < policy->n_classes; i++) {
		const struct config_class *tree = &policy->classes[i];
		if (!yaml_get(tree->node, "priority") || tree->priority < 0 ||
			tree->priority >= FABRIC_CLASSES)
			continue;
		struct fabric_class *class = &fabric->classes[tree->priority];
		if (class->given)
			build_error(build, build_at(tree->node, "priority"),
				"priority %d is already in this list; remove one of them",
				tree->priority);
		*class = (struct fabric_class){.given = true};
		class->congestion_given = tree->congestion >= 0;
		if (class->congestion_given)
			class->congestion = (enum congestion_policy)tree->congestion;
		class->lossless = (enum class_lossless)(tree->lossless + 1);
		class->ecn = (enum class_ecn)(tree->ecn + 1);
		if (!(fabric->lossless_mask >> tree->priority & 1))
			build_warn(build, build_at(tree->node, "priority"),
				"priority %d is not in lossless.priorities, which names the "
				"classes that are watched as RoCE's own",
				tree->priority);
	}
}

static uint8_t lossless_mask_of(const struct config_lossless *lossless)
{
	uint8_t mask = 0;
	for (size_t i = 0; i < lossless->priorities.n; i++)
		mask |= (uint8_t)(1u << (lossless->priorities.v[i][0] - '0'));
	return mask;
}

void build_scalars(struct config *config)
{
	const struct config_tree *tree = config->tree;
	struct fabric *fabric = config->fabric;
	const bool priced = tree->cost && !isnan(tree->cost->usd_per_gpu_hour);
	fabric->lossless_mask = lossless_mask_of(tree->lossless);
	build_policy_words(fabric, config->arena, tree->policy);
	fabric->lossless_mtu_bytes = tree->lossless->mtu_bytes;
	fabric->has_cost = tree->n_jobs > 0 || priced;
	fabric->usd_per_gpu_hour = 0;
	if (priced)
		fabric->usd_per_gpu_hour = tree->cost->usd_per_gpu_hour;
	if (tree->defaults)
		config->defaults.interval_ns = tree->defaults->interval_ns;
	if (tree->tuning)
		config->tuning = *tree->tuning;
	fabric_apply_policy(tree, fabric);
}

/* ---- the whole graph ------------------------------------------------------- */

static void fabric_build_devices(struct build *build)
{
	struct config *c = build->c;
	struct fabric *fabric = c->fabric;
	const struct config_tree *all = c->tree;
	struct smap *seen = smap_new();
	fabric->devices = arena_array(c->arena, struct fabric_device *, all->n_devices);
	for (size_t i = 0; i < all->n_devices; i++) {
		const struct config_device *tree = &all->devices[i];
		if (!tree->name ||
			build_already_given(build, seen, tree->node, "device", tree->name))
			continue;
		struct fabric_device *device = arena_new_of(c->arena, struct fabric_device);
		device->name = tree->name;
		device->role = (enum device_role)tree->role;
		device->rail = tree->rail;
		device->lb = fabric->lb;
		device->lb_declared = fabric->lb_declared;
		if (tree->lb >= 0) {
			device->lb = (enum lb_policy)tree->lb;
			device->lb_declared = true;
		}
		fabric->devices[fabric->n_devices++] = device;
	}
	smap_free(seen);
}

static void fabric_build_jobs(struct build *build)
{
	struct fabric *fabric = build->c->fabric;
	struct smap *seen = smap_new();
	fabric->jobs = build->c->tree->jobs;
	fabric->n_jobs = build->c->tree->n_jobs;
	for (size_t i = 0; i < fabric->n_jobs; i++) {
		struct fabric_job *job = &fabric->jobs[i];
		build_already_given(build, seen, job->node, "job", job->name);
		job->scheduled = job->source == JOB_SCHEDULER;
		fabric_job_split(job, build->c->arena);
	}
	smap_free(seen);
}

static void fabric_build_thresholds(struct build *build)
{
	struct fabric *fabric = build->c->fabric;
	fabric->thresholds = build->c->tree->thresholds;
	fabric->n_thresholds = build->c->tree->n_thresholds;
	fabric->port_settings = build->c->tree->port_settings;
	fabric->n_port_settings = build->c->tree->n_port_settings;
	for (size_t i = 0; i < fabric->n_thresholds; i++) {
		const struct fabric_threshold *t = &fabric->thresholds[i];
		if (t->kmin_bytes && t->kmax_bytes && t->kmin_bytes > t->kmax_bytes)
			build_error(build, build_at(t->node, "kmin"),
				"kmin is larger than kmax; marking starts at kmin and every packet "
				"is marked from kmax");
		if (t->xon_level_bytes && t->xoff_level_bytes &&
			t->xon_level_bytes > t->xoff_level_bytes)
			build_error(build, build_at(t->node, "xon_level"),
				"xon_level is higher than xoff_level; sending resumes below the "
				"level that stopped it");
	}
}

void build_fabric(struct build *build)
{
	struct config *c = build->c;
	const struct config_tree *tree = c->tree;
	struct fabric *fabric = c->fabric = arena_new_of(c->arena, struct fabric);
	schema_read_or_defaults(build, "policy");
	schema_read_or_defaults(build, "lossless");
	fabric->name = tree->fabric;
	fabric->id = hash_bytes(fabric->name, strlen(fabric->name), 0);
	fabric->discover = tree->discover;
	fabric->lossless_mask = lossless_mask_of(tree->lossless);
	policy_assume(tree->policy, c->arena, "congestion");
	policy_assume(tree->policy, c->arena, "load_balancing");
	build_policy_words(fabric, c->arena, tree->policy);
	build_classes(build, tree->policy);
	fabric_build_devices(build);
	fabric_sort(fabric); /* links are looked up by device name */
	fabric_build_jobs(build);
	fabric_build_thresholds(build);
	links_build(build);
	fabric_sort(fabric);
	fabric_derive_groups(fabric, c->arena);
	build_scalars(c);
}
