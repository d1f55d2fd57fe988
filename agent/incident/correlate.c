/*
 * explain - see the header. Rows are read from the first column: a fault of the wire or of a device
 * explains what it does to load and queues; a host that stops the fabric explains the pressure in
 * the tree above it; and every named cause explains what was only seen to be slow.
 */
#include "agent/incident/correlate.h"

#include <stdio.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"

/* ---- how near ------------------------------------------------------------ */

static const struct fabric_port *correlate_port_of(
	const struct fabric *fabric, const struct incident *incident)
{
	const struct fabric_device *d = NULL;
	if (incident->device)
		d = fabric_device(fabric, incident->device);
	const char *port = incident->port;
	if (!port)
		port = incident->member;
	if (d && port)
		return fabric_port(d, port);
	return NULL;
}

static bool correlate_same_link(const struct fabric_port *left, const struct fabric_port *right)
{
	return left && right && (left == right || left->peer == right);
}

static bool same_device(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	if (left->device && str_eq(left->device, right->device))
		return true;
	const struct fabric_port *p = correlate_port_of(fabric, left),
				 *q = correlate_port_of(fabric, right);
	return (p && p->peer && str_eq(p->peer->device->name, right->device)) ||
		(q && q->peer && str_eq(q->peer->device->name, left->device));
}

static bool correlate_holds(const struct fabric_group *group, const struct fabric_port *port)
{
	for (size_t i = 0; i < group->n_members; i++)
		if (correlate_same_link(group->members[i], port) ||
			(port->lag && group->members[i]->device == port->device &&
				str_eq(group->members[i]->lag, port->lag)))
			return true;
	return false;
}

static bool has_link_to(const struct fabric_device *device, const struct fabric_device *to)
{
	for (size_t i = 0; i < device->n_ports; i++)
		if (device->ports[i]->peer && device->ports[i]->peer->device == to)
			return true;
	return false;
}

/* Does the group's device lose a path of that tier with @device, or does it serve one nearer to the
 * hosts that does, and so receives what others spread anew? */
static bool leads_to(const struct fabric_group *group, const struct fabric_device *device)
{
	for (size_t i = 0; i < group->n_members; i++) {
		const struct fabric_device *near = group->members[i]->device;
		const struct fabric_device *far = NULL;
		if (group->members[i]->peer)
			far = group->members[i]->peer->device;
		if (far &&
			((far->role == device->role && has_link_to(near, device)) ||
				(far->role < device->role && has_link_to(far, device))))
			return true;
	}
	return false;
}

/* Are the ports of both in one ECMP group: that of a story about a group, or any group of the
 * port's device? */
static bool same_group(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	const struct fabric_port *p = correlate_port_of(fabric, left),
				 *q = correlate_port_of(fabric, right);
	const struct fabric_device *d = NULL;
	if (left->device)
		d = fabric_device(fabric, left->device);
	const struct fabric_device *e = NULL;
	if (right->device)
		e = fabric_device(fabric, right->device);
	const struct fabric_group *g = NULL;
	if (d && left->group)
		g = fabric_group(d, left->group);
	const struct fabric_group *h = NULL;
	if (e && right->group)
		h = fabric_group(e, right->group);
	if (g && h) {
		for (size_t i = 0; i < h->n_members; i++)
			if (correlate_holds(g, h->members[i]))
				return true;
		return false;
	}
	if (g && q)
		return correlate_holds(g, q);
	if (h && p)
		return correlate_holds(h, p);
	if (h && d && !left->group && !left->port)
		return leads_to(h, d);
	if (!p || !q)
		return false;
	for (size_t i = 0; i < p->device->n_groups; i++)
		if (correlate_holds(&p->device->groups[i], p) &&
			correlate_holds(&p->device->groups[i], q))
			return true;
	return false;
}

static bool wider_group(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	const struct fabric_device *d = NULL;
	if (left->device && str_eq(left->device, right->device))
		d = fabric_device(fabric, left->device);
	const struct fabric_group *g = NULL;
	if (d && left->group)
		g = fabric_group(d, left->group);
	const struct fabric_group *h = NULL;
	if (d && right->group)
		h = fabric_group(d, right->group);
	if (!g || !h || g->n_members <= h->n_members)
		return false;
	for (size_t i = 0; i < h->n_members; i++)
		if (!correlate_holds(g, h->members[i]))
			return false;
	return true;
}

static bool correlate_beyond(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	const struct fabric_device *d = NULL;
	if (left->device)
		d = fabric_device(fabric, left->device);
	const struct fabric_device *e = NULL;
	if (right->device)
		e = fabric_device(fabric, right->device);
	return d && e && right->group && d->role < e->role && e->role != ROLE_OTHER;
}

/* Does the role's entity name the subject of @incident? Roles name a port as "device:port", a
 * device by its name, a host as "host:NAME" or NAME. */
static bool correlate_names(const char *entity, const struct incident *incident)
{
	static const char host_prefix[] = "host:";
	if (!entity)
		return false;
	if (incident->port) {
		char port[256];
		snprintf(port, sizeof(port), "%s:%s", str_or(incident->device, ""), incident->port);
		if (str_eq(entity, port))
			return true;
	} else if (incident->device && str_eq(entity, incident->device)) {
		return true;
	}
	if (!incident->host)
		return false;
	if (strncmp(entity, host_prefix, strlen(host_prefix)) == 0)
		entity += strlen(host_prefix);
	return str_eq(entity, incident->host);
}

static bool correlate_in_tree(const struct incident *left, const struct incident *right)
{
	for (size_t i = 0; i < left->n_roles; i++)
		if (correlate_names(left->roles[i].entity, right))
			return true;
	return false;
}

static bool near_enough(const struct fabric *fabric, unsigned near, const struct incident *left,
	const struct incident *right)
{
	return (near & NEAR_FABRIC) ||
		((near & NEAR_HOST) && left->host && str_eq(left->host, right->host)) ||
		((near & NEAR_LINK) &&
			correlate_same_link(correlate_port_of(fabric, left),
				correlate_port_of(fabric, right))) ||
		((near & NEAR_DEVICE) && same_device(fabric, left, right)) ||
		((near & NEAR_GROUP) && same_group(fabric, left, right)) ||
		((near & NEAR_TREE) && correlate_in_tree(left, right)) ||
		((near & NEAR_WIDER) && wider_group(fabric, left, right)) ||
		((near & NEAR_BEYOND) && correlate_beyond(fabric, left, right));
}

bool explains(const struct fabric *fabric, const struct incident *cause_of_it,
	const struct incident *other)
{
	const unsigned near = cause_explains(cause_of_it->cause, other->cause);
	return near && near_enough(fabric, near, cause_of_it, other);
}
