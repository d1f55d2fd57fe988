/* config_links - links, LAGs and given ECMP groups into the fabric; every reference must name
 * something that is there. */
#include <errno.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "config/schema.h"

bool endpoint_split(
	struct arena *a, const char *text, const char **ret_device, const char **ret_port)
{
	/* At the first ':': device names have none, but ports do ("et-0/0/0:1"). */
	const char *colon = strchr(text, ':');
	if (!colon || colon == text || !colon[1])
		return false;
	if (strncmp(text, "host:", 5) == 0 && colon[1] == ':')
		return false;
	if (a) {
		*ret_device = arena_strndup(a, text, (size_t)(colon - text));
		*ret_port = arena_strdup(a, colon + 1);
	}
	return true;
}

/* An unknown device, with the nearest one there is. */
static struct fabric_device *find_device(
	struct build *build, const struct yaml_node *at, const char *key, const char *name)
{
	struct fabric *f = build->c->fabric;
	struct fabric_device *d = (struct fabric_device *)fabric_device(f, name);
	if (d)
		return d;
	const char **names = arena_array(build->c->arena, const char *, f->n_devices + 1);
	for (size_t i = 0; i < f->n_devices; i++)
		names[i] = f->devices[i]->name;
	const char *near = str_nearest(name, names, f->n_devices);
	if (near)
		build_error(build, at, "%s: unknown device '%.64s'; did you mean '%s'?", key, name,
			near);
	else
		build_error(build, at, "%s: unknown device '%.64s', expected one from 'devices:'",
			key, name);
	return NULL;
}

/* More ports than any chassis has: a slip of a generator, and lists of ports are searched one by
 * one. */
enum { MAX_PORTS = 4096 };

static struct fabric_port *config_links_add_port(struct build *build, const struct yaml_node *at,
	struct fabric_device *device, const char *name)
{
	if (device->n_ports == MAX_PORTS && !fabric_port(device, name)) {
		build_error(build, at,
			"port '%.64s' is one more than the %d ports a device may have", name,
			MAX_PORTS);
		return NULL;
	}
	return fabric_port_add(device, build->c->arena, name);
}

struct end { /* of a link: a port, made when it is new, or a host */
	struct fabric_port *port;
	const char *host, *nic;
	bool bad;
};

static struct end find_end(
	struct build *build, const struct yaml_node *at, const char *key, const char *text)
{
	struct end e = {0};
	const char *name = NULL, *port = NULL;
	if (!text || !endpoint_split(build->c->arena, text, &name, &port)) {
		e.bad = true; /* told by the reader */
		return e;
	}
	if (strcmp(name, "host") == 0) {
		const char *colon = strchr(port, ':');
		if (colon)
			e.host = arena_strndup(build->c->arena, port, (size_t)(colon - port));
		else
			e.host = port;
		if (colon)
			e.nic = colon + 1;
		else
			e.nic = "";
		return e;
	}
	struct fabric_device *d = find_device(build, at, key, name);
	if (d)
		e.port = config_links_add_port(build, at, d, port);
	e.bad = !e.port;
	return e;
}

/* A port has one cable. Remembers which link used it, by address of the port. */
static bool config_links_taken(struct build *build, struct map *used,
	const struct fabric_port *port, const struct yaml_node *at, const char *key)
{
	uint64_t line;
	if (!port)
		return false;
	if (map_get(used, (uint64_t)(uintptr_t)port, &line)) {
		build_error(build, at,
			"%s: port '%.64s' of %s is already used by the link in line %d; a port has "
			"one cable",
			key, port->name, port->device->name, (int)line);
		return true;
	}
	map_put(used, (uint64_t)(uintptr_t)port, at ? (uint64_t)at->line : 0);
	return false;
}

static void set_end(struct fabric_port *port, const struct end *other, const struct tree_link *link,
	const char *rail)
{
	port->peer = other->port;
	port->host = other->host;
	if (other->host)
		port->host_nic = other->nic;
	else
		port->host_nic = "";
	port->cable_mm = link->cable_mm;
	port->speed_bps = link->speed_bps;
	port->rail = rail;
	port->discovered = link->source == LINK_DISCOVERED;
}

static const char *config_links_rail_of(
	const struct tree_link *link, const struct fabric_port *port)
{
	if (link->rail)
		return link->rail;
	if (port && port->device->rail)
		return port->device->rail;
	return NULL;
}

static void build_link(struct build *build, const struct tree_link *link, struct map *used)
{
	const struct yaml_node *at_a = build_at(link->node, "a"), *at_b = build_at(link->node, "b");
	struct end a = find_end(build, at_a, "a", link->a), z = find_end(build, at_b, "b", link->b);
	if (a.bad || z.bad)
		return;
	if (!a.port && !z.port) {
		build_error(build, link->node,
			"a link between two hosts, expected a switch port (\"DEVICE:PORT\") at one "
			"end at least");
		return;
	}
	if (a.port == z.port) {
		build_error(build, at_b,
			"b: '%.64s' is the same port as a, expected the other end of the cable",
			link->b);
		return;
	}
	/* both are told */
	bool taken_a = config_links_taken(build, used, a.port, at_a, "a"),
	     taken_b = config_links_taken(build, used, z.port, at_b, "b");
	if (taken_a || taken_b)
		return;
	const char *rail = config_links_rail_of(link, a.port);
	if (!rail)
		rail = config_links_rail_of(link, z.port);
	if (a.port)
		set_end(a.port, &z, link, rail);
	if (z.port)
		set_end(z.port, &a, link, rail);
}

static void build_lag(struct build *build, const struct tree_lag *lag)
{
	struct fabric_device *d = NULL;
	if (lag->device)
		d = find_device(build, build_at(lag->node, "device"), "device", lag->device);
	if (!d || !lag->name)
		return;
	for (size_t i = 0; i < d->n_ports; i++)
		if (str_eq(d->ports[i]->lag, lag->name)) {
			build_error(build, build_at(lag->node, "name"),
				"name: LAG '%.64s' of %s is given twice; put all its ports into "
				"one list",
				lag->name, d->name);
			return;
		}
	for (size_t i = 0; i < lag->ports.n; i++) {
		if (strcmp(lag->ports.v[i], lag->name) == 0) {
			build_error(build, lag->ports.at[i],
				"ports: '%.64s' is the LAG itself, expected its member ports",
				lag->name);
			continue;
		}
		struct fabric_port *p =
			config_links_add_port(build, lag->ports.at[i], d, lag->ports.v[i]);
		if (!p)
			continue;
		if (p->lag)
			build_error(build, lag->ports.at[i],
				"ports: port '%.64s' of %s is already a member of LAG '%s'; a port "
				"is in one LAG",
				p->name, d->name, p->lag);
		else
			p->lag = lag->name;
	}
}

/* A link given between the aggregates holds for members that have no link of their own: their peer
 * is the other aggregate. */
static void spread_lag_link(struct fabric_device *device)
{
	for (size_t i = 0; i < device->n_ports; i++) {
		struct fabric_port *p = device->ports[i];
		const struct fabric_port *lag = NULL;
		if (p->lag && !p->peer && !p->host)
			lag = fabric_port(device, p->lag);
		if (!lag)
			continue;
		p->peer = lag->peer;
		p->host = lag->host;
		p->host_nic = lag->host_nic;
		p->cable_mm = lag->cable_mm;
		p->rail = lag->rail;
	}
}

/*
 * The port of a group member. Where the cables are listed, a port of a group is one of them:
 * another name is a slip of the pen that would make the group blind. Without a list (links:
 * discover) the group is what makes the port known.
 */
static struct fabric_port *find_member(struct build *build, struct fabric_device *device,
	const struct yaml_node *at, const char *name, bool linked)
{
	struct fabric_port *p = (struct fabric_port *)fabric_port(device, name);
	if (p)
		return p;
	/* a LAG by its name: its first port stands for it */
	for (size_t i = 0; i < device->n_ports; i++)
		if (str_eq(device->ports[i]->lag, name))
			return device->ports[i];
	if (!linked)
		return config_links_add_port(build, at, device, name);
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
static struct fabric_port *config_links_representative(struct fabric_port *port)
{
	struct fabric_port *first = NULL;
	const struct fabric_device *d = port->device;
	const char *lag = port->lag;
	if (!lag)
		lag = port->name;
	for (size_t i = 0; i < d->n_ports; i++)
		if (str_eq(d->ports[i]->lag, lag) &&
			(!first || name_compare(d->ports[i]->name, first->name) < 0))
			first = d->ports[i];
	if (first)
		return first;
	return port;
}

static void build_group(struct build *build, const struct tree_group *group)
{
	struct fabric_device *d = NULL;
	if (group->device)
		d = find_device(build, build_at(group->node, "device"), "device", group->device);
	if (!d || !group->group)
		return;
	const struct yaml_node *at = build_at(group->node, "group");
	if (fabric_group(d, group->group)) {
		build_error(build, at,
			"group: '%.64s' of %s is given twice; put all its ports into one list",
			group->group, d->name);
		return;
	}
	/* What was heard is no list to hold names against: a port that was silent so far is not a
	 * slip. */
	bool linked = build->c->tree->links.n > 0 && !build->c->fabric->discover,
	     is_lag = strncmp(group->group, "lag:", 4) == 0;
	struct fabric_group g = {.id = group->group,
		.device = d,
		.given = true,
		.lb = group->lb >= 0 ? (enum lb_policy)group->lb : d->lb};
	g.members = arena_array(build->c->arena, struct fabric_port *, group->ports.n + 1);
	for (size_t i = 0; i < group->ports.n; i++) {
		struct fabric_port *p =
			find_member(build, d, group->ports.at[i], group->ports.v[i], linked);
		if (!p)
			continue;
		if (!is_lag)
			p = config_links_representative(p);
		for (size_t k = 0; k < g.n_members; k++)
			if (g.members[k] == p) {
				build_error(build, group->ports.at[i],
					"ports: '%.64s' is in a LAG that is already a member; name "
					"the LAG once",
					group->ports.v[i]);
				p = NULL;
				break;
			}
		if (!p)
			continue;
		size_t k = g.n_members++; /* natural order */
		for (; k > 0 && name_compare(g.members[k - 1]->name, p->name) > 0; k--)
			g.members[k] = g.members[k - 1];
		g.members[k] = p;
	}
	if (group->ports.n == 1)
		build_warn(build, build_at(group->node, "ports"),
			"ports: a group of one port has nothing to balance");
	fabric_group_add(d, build->c->arena, &g);
}

void build_links(struct build *build)
{
	const struct config_tree *t = build->c->tree;
	struct map *used = map_new();
	for (size_t i = 0; i < t->links.n; i++) {
		const struct tree_link *l = t->links.v[i];
		build->c->fabric->discover =
			build->c->fabric->discover || l->source == LINK_DISCOVERED;
		build_link(build, l, used);
	}
	map_free(used);
	for (size_t i = 0; i < t->captures.n; i++) {
		const struct tree_capture *c = t->captures.v[i];
		if (!c->port)
			continue;
		const struct yaml_node *at = build_at(c->node, "port");
		struct end e = find_end(build, at, "port", c->port);
		if (e.host)
			build_error(build, at,
				"port: read '%.64s', expected a switch port (\"DEVICE:PORT\")",
				c->port);
	}
	for (size_t i = 0; i < t->lags.n; i++)
		build_lag(build, t->lags.v[i]);
	for (size_t i = 0; i < build->c->fabric->n_devices; i++)
		spread_lag_link(build->c->fabric->devices[i]);
	for (size_t i = 0; i < t->groups.n; i++)
		build_group(build, t->groups.v[i]);
}
