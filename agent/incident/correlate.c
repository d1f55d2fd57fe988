/*
 * explain - see the header. Rows are read from the first column: a fault of the wire or of a device
 * explains what it does to load and queues; a host that stops the fabric explains the pressure in
 * the tree above it; and every named cause explains what was only seen to be slow.
 */
#include "agent/incident/correlate.h"

#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"

enum near {
	NEAR_LINK = 1, /* the same port, or the other end of its link */
	NEAR_DEVICE = 2, /* the same device, or the device at the other end of the port */
	/* the port is a member of the group, seen from either end; a whole device is in it by what
	   its members lead to */
	NEAR_GROUP = 4,
	NEAR_HOST = 8, /* the same host */
	NEAR_TREE = 16, /* it is named among the roles of the other */
	NEAR_FABRIC = 32, /* anywhere */
	/* the other is about a group of a tier further from the hosts: what arrives there was
	   spread before */
	NEAR_BEYOND = 128,
	/* both are about groups of one device, and the cause's holds all members of the other's and
	   more */
	NEAR_WIDER = 64,
};

#define LOAD "uplink_overload", "oversubscription"
#define UNEVEN "ecmp_imbalance", "ecmp_low_entropy", "unlucky_placement", "ecmp_polarization"
#define LOSS "lossless_loss", "headroom_small"
#define SLOW "host_slow", "straggler"
#define PRESSURE "incast", "ecn_late", "xon_close", "uplink_overload", "oversubscription"
#define VAGUE "unknown", "baseline_drift"

enum { OTHERS_MAX = 20 };
static const struct row {
	const char *cause;
	unsigned near;
	const char *others[OTHERS_MAX];
} rows[] = {
	{"device_down", NEAR_DEVICE | NEAR_GROUP,
		{"telemetry_gap", "link_flap", "link_errors", "link_slow", "missing_rail",
			"missing_route", "path_asymmetry", "remote_capacity", LOAD, UNEVEN,
			"config_drift"}},
	{"device_down", NEAR_FABRIC, {VAGUE, SLOW}},
	{"telemetry_gap", NEAR_DEVICE, {"baseline_drift"}},
	{"link_slow", NEAR_LINK | NEAR_GROUP | NEAR_HOST,
		{LOAD, UNEVEN, "path_asymmetry", "remote_capacity", PRESSURE, SLOW,
			"missing_route"}},
	{"link_slow", NEAR_FABRIC, {VAGUE}},
	{"link_errors", NEAR_LINK | NEAR_HOST, {LOSS, "optic_degrading", SLOW, "missing_route"}},
	{"link_errors", NEAR_FABRIC, {VAGUE}},
	{"link_flap", NEAR_LINK | NEAR_GROUP | NEAR_HOST,
		{"link_errors", "optic_degrading", "path_asymmetry", UNEVEN, LOSS, SLOW,
			"missing_rail", "missing_route"}},
	{"missing_rail", NEAR_HOST | NEAR_LINK, {SLOW, "cross_rail", "incast"}},
	{"missing_rail", NEAR_FABRIC, {VAGUE}},
	{"mtu_mismatch", NEAR_LINK | NEAR_HOST, {LOSS, "link_errors", SLOW}},
	{"mtu_mismatch", NEAR_LINK | NEAR_DEVICE, {"config_drift"}},
	{"dscp_mismatch", NEAR_DEVICE | NEAR_LINK,
		{"class_leak", "pfc_wrong_priority", "pfc_mismatch", "config_drift", LOSS}},
	{"pfc_wrong_priority", NEAR_LINK | NEAR_HOST, {"pfc_mismatch", "class_leak"}},
	{"pfc_mismatch", NEAR_LINK | NEAR_DEVICE, {LOSS, "config_drift"}},
	{"xon_close", NEAR_FABRIC, {"config_drift"}},
	{"pfc_wrong_priority", NEAR_DEVICE, {"config_drift"}},
	{"config_drift", NEAR_LINK | NEAR_DEVICE, {"baseline_drift"}},
	{"path_asymmetry", NEAR_GROUP | NEAR_DEVICE,
		{"remote_capacity", UNEVEN, LOAD, "missing_route", "incast", "ecn_late"}},
	{"path_asymmetry", NEAR_FABRIC, {VAGUE}},
	{"missing_route", NEAR_GROUP | NEAR_LINK | NEAR_DEVICE, {UNEVEN, LOAD, "path_asymmetry"}},
	{"remote_capacity", NEAR_DEVICE | NEAR_GROUP, {UNEVEN, PRESSURE}},
	{"remote_capacity", NEAR_FABRIC, {VAGUE}},
	{"missing_route", NEAR_FABRIC, {VAGUE}},
	{"class_leak", NEAR_FABRIC, {VAGUE, SLOW}},
	{"storage_receiver", NEAR_FABRIC, {VAGUE, SLOW}},
	{"path_asymmetry", NEAR_BEYOND, {UNEVEN}},
	{"link_slow", NEAR_BEYOND, {UNEVEN}},
	{"missing_route", NEAR_BEYOND, {UNEVEN}},
	{"ecmp_imbalance", NEAR_WIDER | NEAR_BEYOND, {UNEVEN}},
	{"ecmp_low_entropy", NEAR_WIDER | NEAR_BEYOND, {UNEVEN}},
	{"unlucky_placement", NEAR_WIDER | NEAR_BEYOND, {UNEVEN}},
	{"ecmp_polarization", NEAR_FABRIC, {UNEVEN, VAGUE}}, /* of one tier: told once */
	{"ecmp_polarization", NEAR_GROUP | NEAR_DEVICE, {LOAD, "incast", "ecn_late"}},
	{"ecmp_imbalance", NEAR_GROUP, {PRESSURE}},
	{"ecmp_low_entropy", NEAR_GROUP, {PRESSURE}},
	{"unlucky_placement", NEAR_GROUP, {PRESSURE}},
	{"ecmp_imbalance", NEAR_FABRIC, {VAGUE, SLOW}},
	{"ecmp_low_entropy", NEAR_FABRIC, {VAGUE, SLOW}},
	{"pfc_deadlock", NEAR_FABRIC,
		{"slow_receiver", "pfc_storm", "pfc_watchdog", PRESSURE, "dcqcn_off", "ecn_off",
			VAGUE, SLOW, "missing_route", "missing_rail", "path_asymmetry"}},
	{"pfc_storm", NEAR_HOST | NEAR_LINK, {"pfc_watchdog", "missing_rail", LOSS}},
	{"pfc_storm", NEAR_HOST | NEAR_LINK | NEAR_TREE,
		{"slow_receiver", PRESSURE, "dcqcn_off", "ecn_off", "missing_route"}},
	{"pfc_storm", NEAR_FABRIC, {VAGUE, SLOW, "missing_rail"}},
	{"slow_receiver", NEAR_HOST | NEAR_LINK | NEAR_TREE, {PRESSURE, "dcqcn_off", "ecn_off"}},
	{"slow_receiver", NEAR_FABRIC, {VAGUE, SLOW}},
	{"dcqcn_off", NEAR_HOST | NEAR_LINK | NEAR_TREE, {PRESSURE, "ecn_off", SLOW}},
	{"dcqcn_off", NEAR_FABRIC, {VAGUE, SLOW}},
	{"ecn_off", NEAR_FABRIC, {PRESSURE, VAGUE, SLOW, "config_drift"}},
	{"ecn_late", NEAR_FABRIC, {"xon_close", "incast", VAGUE, SLOW, "config_drift"}},
	{"ecn_early", NEAR_FABRIC, {VAGUE, SLOW, "config_drift"}},
	{"headroom_small", NEAR_DEVICE, {"lossless_loss", "pool_exhausted", "config_drift"}},
	{"headroom_small", NEAR_FABRIC, {VAGUE, SLOW}},
	{"pool_exhausted", NEAR_DEVICE, {"lossless_loss"}},
	{"oversubscription", NEAR_DEVICE | NEAR_GROUP, {"uplink_overload", "incast"}},
	{"oversubscription", NEAR_FABRIC, {VAGUE}},
	{"incast", NEAR_FABRIC, {VAGUE, SLOW}},
	{"uplink_overload", NEAR_FABRIC, {VAGUE}},
	{"slow_storage", NEAR_FABRIC, {VAGUE, SLOW}},
	/* pressure without an origin, and a job that became slower: one thing that is not known */
	{"unknown", NEAR_FABRIC, {VAGUE}},
	{"host_slow", NEAR_FABRIC, {VAGUE}},
	{"host_slow", NEAR_HOST, {"straggler"}},
	{"straggler", NEAR_FABRIC, {VAGUE}},
};

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

/* Roles name a port as "device:port", a device by its name, a host as "host:NAME" or NAME. */
static bool correlate_in_tree(const struct incident *left, const struct incident *right)
{
	const json_t *roles = json_object_get(left->json, "roles");
	char port[256];
	snprintf(port, sizeof(port), "%s:%s", str_or(right->device, ""), str_or(right->port, ""));
	for (size_t i = 0; i < json_array_size(roles); i++) {
		const char *entity =
			json_string_value(json_object_get(json_array_get(roles, i), "entity"));
		if (!entity)
			continue;
		if ((right->port && str_eq(entity, port)) ||
			(right->device && !right->port && str_eq(entity, right->device)))
			return true;
		if (right->host &&
			(str_eq(entity, right->host) ||
				(strncmp(entity, "host:", 5) == 0 &&
					str_eq(entity + 5, right->host))))
			return true;
	}
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
	for (size_t i = 0; i < rw_countof(rows); i++) {
		if (!str_eq(rows[i].cause, cause_of_it->cause))
			continue;
		for (size_t k = 0; k < OTHERS_MAX && rows[i].others[k]; k++)
			if (str_eq(rows[i].others[k], other->cause) &&
				near_enough(fabric, rows[i].near, cause_of_it, other))
				return true;
	}
	return false;
}
