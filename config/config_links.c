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
	struct build *b, const struct yaml_node *at, const char *key, const char *name)
{
	struct fabric *f = b->c->fabric;
	struct fabric_device *d = (struct fabric_device *)fabric_device(f, name);
	if (d)
		return d;
	const char **names = arena_array(b->c->arena, const char *, f->n_devices + 1);
	for (size_t i = 0; i < f->n_devices; i++)
		names[i] = f->devices[i]->name;
	const char *near = str_nearest(name, names, f->n_devices);
	if (near)
		build_error(
			b, at, "%s: unknown device '%.64s'; did you mean '%s'?", key, name, near);
	else
		build_error(b, at, "%s: unknown device '%.64s', expected one from 'devices:'", key,
			name);
	return NULL;
}

/* More ports than any chassis has: a slip of a generator, and lists of ports are searched one by
 * one. */
enum { MAX_PORTS = 4096 };

static struct fabric_port *add_port(
	struct build *b, const struct yaml_node *at, struct fabric_device *d, const char *name)
{
	if (d->n_ports == MAX_PORTS && !fabric_port(d, name)) {
		build_error(b, at, "port '%.64s' is one more than the %d ports a device may have",
			name, MAX_PORTS);
		return NULL;
	}
	return fabric_port_add(d, b->c->arena, name);
}

struct end { /* of a link: a port, made when it is new, or a host */
	struct fabric_port *port;
	const char *host, *nic;
	bool bad;
};

static struct end find_end(
	struct build *b, const struct yaml_node *at, const char *key, const char *text)
{
	struct end e = {0};
	const char *name = NULL, *port = NULL;
	if (!text || !endpoint_split(b->c->arena, text, &name, &port)) {
		e.bad = true; /* told by the reader */
		return e;
	}
	if (strcmp(name, "host") == 0) {
		const char *colon = strchr(port, ':');
		e.host = colon ? arena_strndup(b->c->arena, port, (size_t)(colon - port)) : port;
		e.nic = colon ? colon + 1 : "";
		return e;
	}
	struct fabric_device *d = find_device(b, at, key, name);
	if (d)
		e.port = add_port(b, at, d, port);
	e.bad = !e.port;
	return e;
}

/* A port has one cable. Remembers which link used it, by address of the port. */
static bool taken(struct build *b, struct map *used, const struct fabric_port *p,
	const struct yaml_node *at, const char *key)
{
	uint64_t line;
	if (!p)
		return false;
	if (map_get(used, (uint64_t)(uintptr_t)p, &line)) {
		build_error(b, at,
			"%s: port '%.64s' of %s is already used by the link in line %d; a port has "
			"one cable",
			key, p->name, p->device->name, (int)line);
		return true;
	}
	map_put(used, (uint64_t)(uintptr_t)p, at ? (uint64_t)at->line : 0);
	return false;
}

static void set_end(
	struct fabric_port *p, const struct end *other, const struct tree_link *l, const char *rail)
{
	p->peer = other->port;
	p->host = other->host;
	p->host_nic = other->host ? other->nic : "";
	p->cable_mm = l->cable_mm;
	p->speed_bps = l->speed_bps;
	p->rail = rail;
	p->discovered = l->source == LINK_DISCOVERED;
}

static const char *rail_of(const struct tree_link *l, const struct fabric_port *p)
{
	return l->rail ? l->rail : p && p->device->rail ? p->device->rail : NULL;
}

static void build_link(struct build *b, const struct tree_link *l, struct map *used)
{
	const struct yaml_node *at_a = build_at(l->node, "a"), *at_b = build_at(l->node, "b");
	struct end a = find_end(b, at_a, "a", l->a), z = find_end(b, at_b, "b", l->b);
	if (a.bad || z.bad)
		return;
	if (!a.port && !z.port) {
		build_error(b, l->node,
			"a link between two hosts, expected a switch port (\"DEVICE:PORT\") at one "
			"end at least");
		return;
	}
	if (a.port == z.port) {
		build_error(b, at_b,
			"b: '%.64s' is the same port as a, expected the other end of the cable",
			l->b);
		return;
	}
	/* both are told */
	bool taken_a = taken(b, used, a.port, at_a, "a"),
	     taken_b = taken(b, used, z.port, at_b, "b");
	if (taken_a || taken_b)
		return;
	const char *rail = rail_of(l, a.port);
	if (!rail)
		rail = rail_of(l, z.port);
	if (a.port)
		set_end(a.port, &z, l, rail);
	if (z.port)
		set_end(z.port, &a, l, rail);
}

static void build_lag(struct build *b, const struct tree_lag *t)
{
	struct fabric_device *d =
		t->device ? find_device(b, build_at(t->node, "device"), "device", t->device) : NULL;
	if (!d || !t->name)
		return;
	for (size_t i = 0; i < d->n_ports; i++)
		if (str_eq(d->ports[i]->lag, t->name)) {
			build_error(b, build_at(t->node, "name"),
				"name: LAG '%.64s' of %s is given twice; put all its ports into "
				"one list",
				t->name, d->name);
			return;
		}
	for (size_t i = 0; i < t->ports.n; i++) {
		if (strcmp(t->ports.v[i], t->name) == 0) {
			build_error(b, t->ports.at[i],
				"ports: '%.64s' is the LAG itself, expected its member ports",
				t->name);
			continue;
		}
		struct fabric_port *p = add_port(b, t->ports.at[i], d, t->ports.v[i]);
		if (!p)
			continue;
		if (p->lag)
			build_error(b, t->ports.at[i],
				"ports: port '%.64s' of %s is already a member of LAG '%s'; a port "
				"is in one LAG",
				p->name, d->name, p->lag);
		else
			p->lag = t->name;
	}
}

/* A link given between the aggregates holds for members that have no link of their own: their peer
 * is the other aggregate. */
static void spread_lag_link(struct fabric_device *d)
{
	for (size_t i = 0; i < d->n_ports; i++) {
		struct fabric_port *p = d->ports[i];
		const struct fabric_port *lag =
			p->lag && !p->peer && !p->host ? fabric_port(d, p->lag) : NULL;
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
static struct fabric_port *find_member(struct build *b, struct fabric_device *d,
	const struct yaml_node *at, const char *name, bool linked)
{
	struct fabric_port *p = (struct fabric_port *)fabric_port(d, name);
	if (p)
		return p;
	/* a LAG by its name: its first port stands for it */
	for (size_t i = 0; i < d->n_ports; i++)
		if (str_eq(d->ports[i]->lag, name))
			return d->ports[i];
	if (!linked)
		return add_port(b, at, d, name);
	const char **names = arena_array(b->c->arena, const char *, d->n_ports + 1);
	for (size_t i = 0; i < d->n_ports; i++)
		names[i] = d->ports[i]->name;
	const char *near = str_nearest(name, names, d->n_ports);
	if (near)
		build_error(b, at,
			"ports: '%.64s' is not a port of %s in 'links:'; did you mean '%s'?", name,
			d->name, near);
	else
		build_error(b, at,
			"ports: '%.64s' is not a port of %s in 'links:'; add its link or correct "
			"the name",
			name, d->name);
	return NULL;
}

/* A LAG by name becomes its first port, in natural order; so does any of its ports. */
static struct fabric_port *representative(struct fabric_port *p)
{
	struct fabric_port *first = NULL;
	const struct fabric_device *d = p->device;
	const char *lag = p->lag ? p->lag : p->name;
	for (size_t i = 0; i < d->n_ports; i++)
		if (str_eq(d->ports[i]->lag, lag) &&
			(!first || name_compare(d->ports[i]->name, first->name) < 0))
			first = d->ports[i];
	return first ? first : p;
}

static void build_group(struct build *b, const struct tree_group *t)
{
	struct fabric_device *d =
		t->device ? find_device(b, build_at(t->node, "device"), "device", t->device) : NULL;
	if (!d || !t->group)
		return;
	const struct yaml_node *at = build_at(t->node, "group");
	if (fabric_group(d, t->group)) {
		build_error(b, at,
			"group: '%.64s' of %s is given twice; put all its ports into one list",
			t->group, d->name);
		return;
	}
	/* What was heard is no list to hold names against: a port that was silent so far is not a
	 * slip. */
	bool linked = b->c->tree->links.n > 0 && !b->c->fabric->discover,
	     is_lag = strncmp(t->group, "lag:", 4) == 0;
	struct fabric_group g = {.id = t->group,
		.device = d,
		.given = true,
		.lb = t->lb >= 0 ? (enum lb_policy)t->lb : d->lb};
	g.members = arena_array(b->c->arena, struct fabric_port *, t->ports.n + 1);
	for (size_t i = 0; i < t->ports.n; i++) {
		struct fabric_port *p = find_member(b, d, t->ports.at[i], t->ports.v[i], linked);
		if (!p)
			continue;
		if (!is_lag)
			p = representative(p);
		for (size_t k = 0; k < g.n_members; k++)
			if (g.members[k] == p) {
				build_error(b, t->ports.at[i],
					"ports: '%.64s' is in a LAG that is already a member; name "
					"the LAG once",
					t->ports.v[i]);
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
	if (t->ports.n == 1)
		build_warn(b, build_at(t->node, "ports"),
			"ports: a group of one port has nothing to balance");
	fabric_group_add(d, b->c->arena, &g);
}

void build_links(struct build *b)
{
	const struct config_tree *t = b->c->tree;
	struct map *used = map_new();
	for (size_t i = 0; i < t->links.n; i++) {
		const struct tree_link *l = t->links.v[i];
		b->c->fabric->discover = b->c->fabric->discover || l->source == LINK_DISCOVERED;
		build_link(b, l, used);
	}
	map_free(used);
	for (size_t i = 0; i < t->captures.n; i++) {
		const struct tree_capture *c = t->captures.v[i];
		if (!c->port)
			continue;
		const struct yaml_node *at = build_at(c->node, "port");
		struct end e = find_end(b, at, "port", c->port);
		if (e.host)
			build_error(b, at,
				"port: read '%.64s', expected a switch port (\"DEVICE:PORT\")",
				c->port);
	}
	for (size_t i = 0; i < t->lags.n; i++)
		build_lag(b, t->lags.v[i]);
	for (size_t i = 0; i < b->c->fabric->n_devices; i++)
		spread_lag_link(b->c->fabric->devices[i]);
	for (size_t i = 0; i < t->groups.n; i++)
		build_group(b, t->groups.v[i]);
}
