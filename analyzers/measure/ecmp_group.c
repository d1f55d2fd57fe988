/* ecmp_group - a member of a group is a port or a LAG. */
#include "analyzers/measure/ecmp_group.h"

#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/str.h"

size_t ecmp_member_ports(const struct fabric_group *group, size_t index, struct arena *a,
	const struct fabric_port ***ret)
{
	const struct fabric_port *port = group->members[index];
	const struct fabric_device *d = group->device;
	const struct fabric_port **v = arena_array(a, const struct fabric_port *, d->n_ports + 1);
	size_t n = 0;
	v[n++] = port;
	if (port->lag && strncmp(group->id, "lag:", 4) != 0)
		for (size_t i = 0; i < d->n_ports; i++)
			if (d->ports[i] != port && str_eq(d->ports[i]->lag, port->lag))
				v[n++] = d->ports[i];
	*ret = v;
	return n;
}
