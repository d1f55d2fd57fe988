/* correlate - how near two incidents are: by link, device, ECMP group, host, or pause tree. */
#include "agent/incident/correlate.h"

#include <stdio.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"

/* ---- what an incident is about ------------------------------------------- */

static const struct fabric_device *device_of(
	const struct fabric *fabric, const struct incident *incident)
{
	if (!incident->device)
		return NULL;
	return fabric_device(fabric, incident->device);
}

/* Its port, or the hot member of its group. */
const struct fabric_port *correlate_port(
	const struct fabric *fabric, const struct incident *incident)
{
	const struct fabric_device *device = device_of(fabric, incident);
	const char *port = str_or(incident->port, incident->member);
	if (!device || !port)
		return NULL;
	return fabric_port(device, port);
}

static const struct fabric_group *correlate_group_of(
	const struct fabric *fabric, const struct incident *incident)
{
	const struct fabric_device *device = device_of(fabric, incident);
	if (!device || !incident->group)
		return NULL;
	return fabric_group(device, incident->group);
}

/* ---- how near ------------------------------------------------------------ */

static bool correlate_same_link(const struct fabric_port *left, const struct fabric_port *right)
{
	return left && right && (left == right || left->peer == right);
}

/* Does the port lead to the device with that name? */
static bool leads_to_device(const struct fabric_port *port, const char *device)
{
	return port && port->peer && str_eq(port->peer->device->name, device);
}

static bool same_device(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	if (left->device && str_eq(left->device, right->device))
		return true;
	return leads_to_device(correlate_port(fabric, left), right->device) ||
		leads_to_device(correlate_port(fabric, right), left->device);
}

/* Is the port a member of the group, seen from either end, or part of a LAG that is? */
static bool group_holds(const struct fabric_group *group, const struct fabric_port *port)
{
	for (size_t i = 0; i < group->n_members; i++) {
		const struct fabric_port *member = group->members[i];
		if (correlate_same_link(member, port))
			return true;
		if (port->lag && member->device == port->device && str_eq(member->lag, port->lag))
			return true;
	}
	return false;
}

static bool groups_meet(const struct fabric_group *left, const struct fabric_group *right)
{
	for (size_t i = 0; i < right->n_members; i++)
		if (group_holds(left, right->members[i]))
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

/*
 * Does the loss of @device change what the group carries? Yes when a member leads to another device
 * of the same tier although the group's device is linked to @device (the path through it is gone);
 * or when a member leads to a device nearer to the hosts that is linked to @device (it spreads anew
 * what it sends).
 */
static bool group_feels(const struct fabric_group *group, const struct fabric_device *device)
{
	for (size_t i = 0; i < group->n_members; i++) {
		if (!group->members[i]->peer)
			continue;
		const struct fabric_device *near = group->members[i]->device;
		const struct fabric_device *far = group->members[i]->peer->device;
		if (far->role == device->role && has_link_to(near, device))
			return true;
		if (far->role < device->role && has_link_to(far, device))
			return true;
	}
	return false;
}

static bool share_a_group(const struct fabric_port *left, const struct fabric_port *right)
{
	const struct fabric_device *device = left->device;
	for (size_t i = 0; i < device->n_groups; i++) {
		const struct fabric_group *group = &device->groups[i];
		if (group_holds(group, left) && group_holds(group, right))
			return true;
	}
	return false;
}

/* Are both in one ECMP group? */
static bool same_group(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	const struct fabric_group *left_group = correlate_group_of(fabric, left);
	const struct fabric_group *right_group = correlate_group_of(fabric, right);
	const struct fabric_port *left_port = correlate_port(fabric, left);
	const struct fabric_port *right_port = correlate_port(fabric, right);
	const struct fabric_device *left_device = device_of(fabric, left);
	/* 1. two groups: they have a member in common */
	if (left_group && right_group)
		return groups_meet(left_group, right_group);
	/* 2. a group and a port: it is a member */
	if (left_group && right_port)
		return group_holds(left_group, right_port);
	if (right_group && left_port)
		return group_holds(right_group, left_port);
	/* 3. a whole device and a group */
	if (right_group && left_device && !left->group && !left->port)
		return group_feels(right_group, left_device);
	/* 4. two ports: some group of the device has both */
	return left_port && right_port && share_a_group(left_port, right_port);
}

/* Both are about groups of one device, and the left one holds all members of the right one and
 * more. */
static bool wider_group(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	if (!left->device || !str_eq(left->device, right->device))
		return false;
	const struct fabric_group *wide = correlate_group_of(fabric, left);
	const struct fabric_group *narrow = correlate_group_of(fabric, right);
	if (!wide || !narrow || wide->n_members <= narrow->n_members)
		return false;
	for (size_t i = 0; i < narrow->n_members; i++)
		if (!group_holds(wide, narrow->members[i]))
			return false;
	return true;
}

/* The right one is about a group of a tier further from the hosts. */
static bool correlate_beyond(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	const struct fabric_device *here = device_of(fabric, left);
	const struct fabric_device *there = device_of(fabric, right);
	if (!here || !there || !right->group)
		return false;
	return here->role < there->role && there->role != ROLE_OTHER;
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

static bool same_host(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	return left->host && str_eq(left->host, right->host);
}

static bool same_link(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	return correlate_same_link(correlate_port(fabric, left), correlate_port(fabric, right));
}

static bool in_tree(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	return correlate_in_tree(left, right);
}

static bool correlate_anywhere(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	return true;
}

/* The left one is about all devices together, the right one about one of them. */
static bool correlate_whole(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	return !left->device && !left->host && right->device;
}

bool correlate_near(const struct fabric *fabric, unsigned near, const struct incident *left,
	const struct incident *right)
{
	/* the cheap ones first */
	static const struct {
		unsigned near; /* enum cause_near */
		bool (*fn)(const struct fabric *fabric, const struct incident *left,
			const struct incident *right);
	} tests[] = {
		{NEAR_FABRIC, correlate_anywhere},
		{NEAR_HOST, same_host},
		{NEAR_LINK, same_link},
		{NEAR_DEVICE, same_device},
		{NEAR_GROUP, same_group},
		{NEAR_TREE, in_tree},
		{NEAR_WIDER, wider_group},
		{NEAR_BEYOND, correlate_beyond},
		{NEAR_WHOLE, correlate_whole},
	};
	for (size_t i = 0; i < rw_countof(tests); i++)
		if ((near & tests[i].near) && tests[i].fn(fabric, left, right))
			return true;
	return false;
}

bool explains(const struct fabric *fabric, const struct incident *cause_of_it,
	const struct incident *other)
{
	const unsigned near = cause_explains(cause_of_it->cause, other->cause);
	return near && correlate_near(fabric, near, cause_of_it, other);
}
