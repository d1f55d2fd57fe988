/* flow_ports - a small table, searched by walking: 64 ports are two cache lines of keys. */
#include "collectors/packet/flow_ports.h"

#include <math.h>

#include "agent/base/cleanup.h"
#include "agent/base/map.h"

struct flow_ports *flow_ports_new(const struct flow_port *first)
{
	struct flow_ports *ports = rw_calloc(1, sizeof(*ports));
	ports->cap = 4;
	ports->v = rw_calloc(ports->cap, sizeof(*ports->v));
	ports->v[0] = *first;
	ports->key[0] = first->port;
	ports->n = 1;
	return ports;
}

void flow_ports_free(struct flow_ports *ports)
{
	if (!ports)
		return;
	free(ports->v);
	free(ports->others);
	free(ports);
}

struct flow_port *flow_ports_at(struct flow_ports *ports, uint16_t port, bool *ret_new)
{
	*ret_new = false;
	for (uint32_t i = 0; i < ports->n; i++)
		if (ports->key[i] == port)
			return &ports->v[i];
	*ret_new = true;
	if (ports->n < FLOW_PORTS_MAX) {
		rw_grow(ports->v, ports->n, ports->cap);
		ports->key[ports->n] = port;
		ports->v[ports->n] = (struct flow_port){.port = port};
		return &ports->v[ports->n++];
	}
	if (!ports->others)
		ports->others = hyperloglog_new(FLOW_PORTS_PRECISION);
	/* 16 bits: nothing that a keyed hash would protect */
	hyperloglog_add(ports->others, hash_u64(port));
	return &ports->beyond;
}

uint32_t flow_ports_beyond(const struct flow_ports *ports)
{
	if (!ports->others)
		return 0;
	return (uint32_t)lround(hyperloglog_estimate(ports->others));
}

uint32_t flow_ports_data(const struct flow_ports *ports)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < ports->n; i++)
		n += ports->v[i].payload_bytes > 0;
	if (ports->beyond.payload_bytes)
		n += flow_ports_beyond(ports);
	return n;
}

size_t flow_ports_bytes(const struct flow_ports *ports)
{
	size_t bytes = sizeof(*ports) + ports->cap * sizeof(*ports->v);
	if (ports->others)
		bytes += sizeof(*ports->others) + ((size_t)1 << FLOW_PORTS_PRECISION);
	return bytes;
}
