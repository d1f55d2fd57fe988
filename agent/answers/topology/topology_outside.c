/* topo_outside - gathers the ports that lead out of the configuration by what they lead to. */
#include "agent/answers/topology/topology_outside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/answers/topology/topology_views.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"

struct outside_port {
	const struct fabric_port *port;
};

static int outside_compare(const void *left, const void *right)
{
	const struct fabric_port *x = ((const struct outside_port *)left)->port,
				 *y = ((const struct outside_port *)right)->port;
	const int c = name_compare(x->outsider, y->outsider);
	if (c)
		return c;
	if (x->index < y->index)
		return -1;
	return x->index > y->index;
}

static size_t outside_gather(const struct fabric *fabric, struct outside_port **ret)
{
	size_t n = 0, cap = 0;
	*ret = NULL;
	for (size_t i = 0; i < fabric->n_devices; i++)
		for (size_t k = 0; k < fabric->devices[i]->n_ports; k++) {
			const struct fabric_port *port = fabric->devices[i]->ports[k];
			if (!port->outsider)
				continue;
			rw_grow(*ret, n, cap);
			(*ret)[n++].port = port;
		}
	if (n > 1)
		qsort(*ret, n, sizeof(**ret), outside_compare);
	return n;
}

static bool outside_has_role(const struct fabric *fabric, enum device_role role)
{
	for (size_t i = 0; i < fabric->n_devices; i++)
		if (fabric->devices[i]->role == role)
			return true;
	return false;
}

/* Who hears one thing outside. */
struct outside_heard {
	unsigned by[ROLE_OTHER + 1]; /* devices of each role */
	const char **devices;
	size_t n_devices;
};

static struct outside_heard outside_heard_of(
	const struct outside_port *ports, size_t n, struct arena *a)
{
	struct outside_heard heard = {.devices = arena_array(a, const char *, n + 1)};
	for (size_t i = 0; i < n; i++) {
		const struct fabric_device *device = ports[i].port->device;
		if (i > 0 && ports[i - 1].port->device == device)
			continue;
		heard.by[device->role]++;
		heard.devices[heard.n_devices++] = device->name;
	}
	return heard;
}

static const char *outside_role(const struct fabric *fabric, const struct outside_heard *heard)
{
	const unsigned *by = heard->by;
	const unsigned others = by[ROLE_SUPERSPINE] + by[ROLE_OTHER];
	if (others == 0 && by[ROLE_LEAF] >= 2 && by[ROLE_SPINE] == 0)
		return device_role_name(ROLE_SPINE);
	if (others == 0 && by[ROLE_SPINE] >= 2 && by[ROLE_LEAF] == 0 &&
		!outside_has_role(fabric, ROLE_SUPERSPINE))
		return device_role_name(ROLE_LEAF);
	return "unknown";
}

static struct topo_outside outside_row(
	const struct fabric *fabric, const struct outside_port *ports, size_t n, struct arena *a)
{
	enum neighbor_kind kind = NEIGHBOR_UNKNOWN;
	for (size_t i = 0; i < n; i++)
		if (ports[i].port->outsider_kind == NEIGHBOR_SWITCH)
			kind = NEIGHBOR_SWITCH;
	struct outside_heard heard = outside_heard_of(ports, n, a);
	const char *role = "unknown";
	if (kind == NEIGHBOR_SWITCH)
		role = outside_role(fabric, &heard);
	return (struct topo_outside){.name = ports[0].port->outsider,
		.kind = neighbor_kind_word(kind),
		.role = role,
		.links = n,
		.devices = heard.devices,
		.n_devices = heard.n_devices};
}

struct topo_outside *topology_outside(const struct fabric *fabric, struct arena *a, size_t *ret_n)
{
	struct outside_port *ports;
	const size_t n = outside_gather(fabric, &ports);
	struct topo_outside *rows = arena_array(a, struct topo_outside, n + 1);
	*ret_n = 0;
	for (size_t from = 0, to; from < n; from = to) {
		to = from + 1;
		while (to < n && str_eq(ports[to].port->outsider, ports[from].port->outsider))
			to++;
		rows[(*ret_n)++] = outside_row(fabric, ports + from, to - from, a);
	}
	free(ports);
	return rows;
}

const char *topology_outside_text(char buf[TOPOLOGY_OUTSIDE_MAX], const struct fabric_port *port)
{
	snprintf(buf, TOPOLOGY_OUTSIDE_MAX, "%s:%s%s%s", neighbor_kind_word(port->outsider_kind),
		port->outsider, str_if(*port->outsider_port, ":"), port->outsider_port);
	return buf;
}
