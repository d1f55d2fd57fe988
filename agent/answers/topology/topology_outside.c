/* topology_outside - gathers the ports that lead out of the configuration by what they lead to. */
#include "agent/answers/topology/topology_outside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	json_t *devices;
};

static struct outside_heard outside_heard_of(const struct outside_port *ports, size_t n)
{
	struct outside_heard heard = {.devices = json_array()};
	for (size_t i = 0; i < n; i++) {
		const struct fabric_device *device = ports[i].port->device;
		if (i > 0 && ports[i - 1].port->device == device)
			continue;
		heard.by[device->role]++;
		json_array_append_new(heard.devices, json_string(device->name));
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

static json_t *outside_row(const struct fabric *fabric, const struct outside_port *ports, size_t n)
{
	enum neighbor_kind kind = NEIGHBOR_UNKNOWN;
	for (size_t i = 0; i < n; i++)
		if (ports[i].port->outsider_kind == NEIGHBOR_SWITCH)
			kind = NEIGHBOR_SWITCH;
	struct outside_heard heard = outside_heard_of(ports, n);
	const char *role = "unknown";
	if (kind == NEIGHBOR_SWITCH)
		role = outside_role(fabric, &heard);
	return json_pack("{s:s, s:s, s:s, s:I, s:o}", "name", ports[0].port->outsider, "kind",
		neighbor_kind_word(kind), "role", role, "links", (json_int_t)n, "devices",
		heard.devices);
}

json_t *topology_outside_json(const struct fabric *fabric)
{
	struct outside_port *ports;
	json_t *rows = json_array();
	const size_t n = outside_gather(fabric, &ports);
	for (size_t from = 0, to; from < n; from = to) {
		to = from + 1;
		while (to < n && str_eq(ports[to].port->outsider, ports[from].port->outsider))
			to++;
		json_array_append_new(rows, outside_row(fabric, ports + from, to - from));
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
