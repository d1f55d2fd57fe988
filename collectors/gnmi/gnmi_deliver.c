/* gnmi_deliver - from a target to its sink: samples, ports that changed, LLDP neighbours. */
#include "collectors/gnmi/gnmi_target.h"

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"

static void deliver_ports(struct gnmi_target *target, struct gnmi_ports *ports)
{
	const struct sink *sink = &target->machine.sink;
	for (size_t i = 0; i < ports->n; i++) {
		const struct gnmi_port *port = &ports->v[i];
		if (port->changed)
			sink->port(sink->arg, target->machine.name, port->name, port->alias,
				port->speed_bps);
	}
	gnmi_ports_reported(ports);
}

void gnmi_target_deliver(struct gnmi_target *target, struct sample_list *samples)
{
	struct gnmi_ports *ports = gnmi_decode_ports(target->decoder);
	/* the receiver knows a port before it gets the first sample of it */
	if (ports->changed)
		deliver_ports(target, ports);
	if (samples->n)
		target->machine.sink.samples(target->machine.sink.arg, samples->v, samples->n);
	samples->n = 0;
	target->machine.state.suspects = gnmi_decode_stats(target->decoder)->suspects;
}

void gnmi_target_neighbors(struct gnmi_target *target)
{
	if (!target->machine.sink.neighbors)
		return;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct topology_device self = {.name = target->machine.name,
		.sysname = gnmi_decode_sysname(target->decoder),
		.chassis = ""};
	struct topology_neighbor *neighbors = NULL;
	size_t n = 0;
	if (gnmi_decode_has_lldp(target->decoder))
		n = gnmi_decode_neighbors(
			target->decoder, a, target->machine.set->profiles, &self, &neighbors);
	target->machine.sink.neighbors(target->machine.sink.arg, &self, neighbors, n);
}
