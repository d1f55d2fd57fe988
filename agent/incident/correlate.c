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

static const struct fabric_port *port_of(const struct fabric *f, const struct incident *i)
{
	const struct fabric_device *d = i->device ? fabric_device(f, i->device) : NULL;
	const char *port = i->port ? i->port : i->member;
	return d && port ? fabric_port(d, port) : NULL;
}

static bool same_link(const struct fabric_port *a, const struct fabric_port *b)
{
	return a && b && (a == b || a->peer == b);
}

static bool same_device(const struct fabric *f, const struct incident *a, const struct incident *b)
{
	if (a->device && str_eq(a->device, b->device))
		return true;
	const struct fabric_port *p = port_of(f, a), *q = port_of(f, b);
	return (p && p->peer && str_eq(p->peer->device->name, b->device)) ||
		(q && q->peer && str_eq(q->peer->device->name, a->device));
}

static bool holds(const struct fabric_group *g, const struct fabric_port *p)
{
	for (size_t i = 0; i < g->n_members; i++)
		if (same_link(g->members[i], p) ||
			(p->lag && g->members[i]->device == p->device &&
				str_eq(g->members[i]->lag, p->lag)))
			return true;
	return false;
}

static bool has_link_to(const struct fabric_device *d, const struct fabric_device *to)
{
	for (size_t i = 0; i < d->n_ports; i++)
		if (d->ports[i]->peer && d->ports[i]->peer->device == to)
			return true;
	return false;
}

/* Does the group's device lose a path of that tier with @d, or does it serve one nearer to the
 * hosts that does, and so receives what others spread anew? */
static bool leads_to(const struct fabric_group *g, const struct fabric_device *d)
{
	for (size_t i = 0; i < g->n_members; i++) {
		const struct fabric_device *near = g->members[i]->device,
					   *far = g->members[i]->peer ? g->members[i]->peer->device
								      : NULL;
		if (far &&
			((far->role == d->role && has_link_to(near, d)) ||
				(far->role < d->role && has_link_to(far, d))))
			return true;
	}
	return false;
}

/* Are the ports of both in one ECMP group: that of a story about a group, or any group of the
 * port's device? */
static bool same_group(const struct fabric *f, const struct incident *a, const struct incident *b)
{
	const struct fabric_port *p = port_of(f, a), *q = port_of(f, b);
	const struct fabric_device *d = a->device ? fabric_device(f, a->device) : NULL,
				   *e = b->device ? fabric_device(f, b->device) : NULL;
	const struct fabric_group *g = d && a->group ? fabric_group(d, a->group) : NULL,
				  *h = e && b->group ? fabric_group(e, b->group) : NULL;
	if (g && h) {
		for (size_t i = 0; i < h->n_members; i++)
			if (holds(g, h->members[i]))
				return true;
		return false;
	}
	if (g && q)
		return holds(g, q);
	if (h && p)
		return holds(h, p);
	if (h && d && !a->group && !a->port)
		return leads_to(h, d);
	if (!p || !q)
		return false;
	for (size_t i = 0; i < p->device->n_groups; i++)
		if (holds(&p->device->groups[i], p) && holds(&p->device->groups[i], q))
			return true;
	return false;
}

static bool wider_group(const struct fabric *f, const struct incident *a, const struct incident *b)
{
	const struct fabric_device *d =
		a->device && str_eq(a->device, b->device) ? fabric_device(f, a->device) : NULL;
	const struct fabric_group *g = d && a->group ? fabric_group(d, a->group) : NULL,
				  *h = d && b->group ? fabric_group(d, b->group) : NULL;
	if (!g || !h || g->n_members <= h->n_members)
		return false;
	for (size_t i = 0; i < h->n_members; i++)
		if (!holds(g, h->members[i]))
			return false;
	return true;
}

static bool beyond(const struct fabric *f, const struct incident *a, const struct incident *b)
{
	const struct fabric_device *d = a->device ? fabric_device(f, a->device) : NULL,
				   *e = b->device ? fabric_device(f, b->device) : NULL;
	return d && e && b->group && d->role < e->role && e->role != ROLE_OTHER;
}

/* Roles name a port as "device:port", a device by its name, a host as "host:NAME" or NAME. */
static bool in_tree(const struct incident *a, const struct incident *b)
{
	const json_t *roles = json_object_get(a->json, "roles");
	char port[256];
	snprintf(port, sizeof(port), "%s:%s", b->device ? b->device : "", b->port ? b->port : "");
	for (size_t i = 0; i < json_array_size(roles); i++) {
		const char *entity =
			json_string_value(json_object_get(json_array_get(roles, i), "entity"));
		if (!entity)
			continue;
		if ((b->port && str_eq(entity, port)) ||
			(b->device && !b->port && str_eq(entity, b->device)))
			return true;
		if (b->host &&
			(str_eq(entity, b->host) ||
				(strncmp(entity, "host:", 5) == 0 && str_eq(entity + 5, b->host))))
			return true;
	}
	return false;
}

static bool near_enough(
	const struct fabric *f, unsigned near, const struct incident *a, const struct incident *b)
{
	return (near & NEAR_FABRIC) ||
		((near & NEAR_HOST) && a->host && str_eq(a->host, b->host)) ||
		((near & NEAR_LINK) && same_link(port_of(f, a), port_of(f, b))) ||
		((near & NEAR_DEVICE) && same_device(f, a, b)) ||
		((near & NEAR_GROUP) && same_group(f, a, b)) ||
		((near & NEAR_TREE) && in_tree(a, b)) ||
		((near & NEAR_WIDER) && wider_group(f, a, b)) ||
		((near & NEAR_BEYOND) && beyond(f, a, b));
}

bool explains(
	const struct fabric *f, const struct incident *cause_of_it, const struct incident *other)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		if (!str_eq(rows[i].cause, cause_of_it->cause))
			continue;
		for (size_t k = 0; k < OTHERS_MAX && rows[i].others[k]; k++)
			if (str_eq(rows[i].others[k], other->cause) &&
				near_enough(f, rows[i].near, cause_of_it, other))
				return true;
	}
	return false;
}
