/* net - building a fabric, packets, queues, the loop. */
#include <stdlib.h>

#include "tests/packetsim/net.h"

uint64_t mixed(uint64_t value)
{
	value += UINT64_C(0x9e3779b97f4a7c15);
	value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
	return value ^ (value >> 31);
}

uint64_t net_random(struct net *net)
{
	net->random += UINT64_C(0x9e3779b97f4a7c15);
	return mixed(net->random);
}

uint32_t frame_new(struct net *net)
{
	if (net->free_packet != NO_PACKET) {
		const uint32_t got = net->free_packet;
		net->free_packet = net->packets[got].next;
		return got;
	}
	if (net->n_packets == net->packet_room) {
		net->packet_room = net->packet_room ? 2 * net->packet_room : 4096;
		net->packets = realloc(net->packets, net->packet_room * sizeof(*net->packets));
		if (!net->packets)
			abort();
	}
	return (uint32_t)net->n_packets++;
}

void frame_free(struct net *net, uint32_t packet)
{
	net->packets[packet].next = net->free_packet;
	net->free_packet = packet;
}

void fifo_put(struct net *net, struct fifo *fifo, uint32_t packet)
{
	net->packets[packet].next = NO_PACKET;
	if (fifo->head == NO_PACKET)
		fifo->head = packet;
	else
		net->packets[fifo->tail].next = packet;
	fifo->tail = packet;
	fifo->bytes += net->packets[packet].size;
}

uint32_t fifo_take(struct net *net, struct fifo *fifo)
{
	const uint32_t first = fifo->head;
	if (first == NO_PACKET)
		return NO_PACKET;
	fifo->head = net->packets[first].next;
	fifo->bytes -= net->packets[first].size;
	return first;
}

uint32_t net_host_port(const struct net *net, unsigned host)
{
	return net->nodes[host / net->hosts_per_leaf].first_port + host % net->hosts_per_leaf;
}

uint32_t net_uplink(const struct net *net, unsigned leaf, unsigned spine)
{
	return net->nodes[leaf].first_port + net->hosts_per_leaf + spine;
}

uint32_t net_downlink(const struct net *net, unsigned spine, unsigned leaf)
{
	return net->nodes[net->leaves + spine].first_port + leaf;
}

static void link_of(
	struct net *net, uint32_t one, uint32_t other, uint64_t rate, int64_t propagation)
{
	const uint32_t ends[2] = {one, other};
	for (unsigned i = 0; i < 2; i++) {
		struct port *port = &net->ports[ends[i]];
		port->peer = ends[1 - i];
		port->rate = rate;
		port->ps_per_byte = (int64_t)(UINT64_C(8000000000000) / rate);
		port->propagation = propagation;
		port->up = true;
		port->marks = true;
	}
}

static void net_links(struct net *net, const struct net_shape *shape)
{
	for (unsigned host = 0; host < net->n_hosts; host++)
		link_of(net, host, net_host_port(net, host),
			host % 2 ? shape->second_rate : shape->host_rate,
			host % 3 == 2 ? shape->third_propagation : shape->host_propagation);
	for (unsigned i = 0; net->wiring && i < net->wiring->links; i++)
		link_of(net, net->link_ports[i][0], net->link_ports[i][1], shape->uplink_rate,
			shape->uplink_propagation);
	for (unsigned leaf = 0; !net->wiring && leaf < net->leaves; leaf++)
		for (unsigned spine = 0; spine < net->spines; spine++)
			link_of(net, net_uplink(net, leaf, spine), net_downlink(net, spine, leaf),
				shape->uplink_rate, shape->uplink_propagation);
}

/* The links of a wiring that end at switch @node, as ports from @port on. How many. */
static uint32_t net_wire(struct net *net, unsigned node, uint32_t port)
{
	uint32_t n = 0;
	for (unsigned i = 0; i < net->wiring->links; i++)
		for (unsigned end = 0; end < 2; end++) {
			if (net->wiring->ends[i][end] != (int)node)
				continue;
			net->ports[port + n].link = i;
			net->link_ports[i][end] = port + n++;
		}
	return n;
}

static void net_nodes(struct net *net)
{
	uint32_t port = net->n_hosts;
	for (unsigned i = 0; i < net->n_nodes; i++) {
		struct node *node = &net->nodes[i];
		node->leaf = i < net->leaves;
		node->first_port = port;
		node->n_ports = node->leaf ? net->hosts_per_leaf : 0;
		if (net->wiring)
			node->n_ports += net_wire(net, i, port + node->n_ports);
		else
			node->n_ports += node->leaf ? net->spines : net->leaves;
		node->hash_seed = net_random(net);
		node->without_route = UINT32_MAX;
		for (uint32_t k = 0; k < node->n_ports; k++)
			net->ports[port + k].node = i;
		port += node->n_ports;
	}
}

struct net *net_new(const struct net_shape *shape)
{
	struct net *net = calloc(1, sizeof(*net));
	if (!net)
		abort();
	net->leaves = shape->leaves;
	net->spines = shape->spines;
	net->hosts_per_leaf = shape->hosts_per_leaf;
	net->n_hosts = shape->leaves * shape->hosts_per_leaf;
	net->n_nodes = shape->leaves + shape->spines;
	net->wiring = shape->wiring;
	const size_t links =
		net->wiring ? net->wiring->links : (size_t)shape->leaves * shape->spines;
	net->n_ports = 2 * ((size_t)net->n_hosts + links);
	net->random = mixed(shape->seed);
	net->free_packet = NO_PACKET;
	net->ports = calloc(net->n_ports, sizeof(*net->ports));
	net->nodes = calloc(net->n_nodes, sizeof(*net->nodes));
	net->link_ports = calloc(links + 1, sizeof(*net->link_ports));
	if (!net->ports || !net->nodes || !net->link_ports)
		abort();
	for (size_t i = 0; i < net->n_ports; i++) {
		struct port *port = &net->ports[i];
		port->node = port->link = UINT32_MAX;
		port->sending = port->control.head = port->data.head = NO_PACKET;
	}
	net_nodes(net);
	net_links(net, shape);
	return net;
}

void net_free(struct net *net)
{
	if (!net)
		return;
	for (size_t i = 0; i < net->n_ports; i++)
		free(net->ports[i].ready);
	heap_free(&net->events);
	free(net->packets);
	free(net->flows);
	free(net->nodes);
	free(net->link_ports);
	free(net->ports);
	free(net);
}

void net_settle(struct net *net)
{
	for (size_t i = 0; i < net->n_ports; i++) {
		struct port *port = &net->ports[i];
		if (port->paused) {
			port->count[COUNT_PAUSED_RX_NS] +=
				(uint64_t)((net->now - port->paused_since) / PS_NS);
			port->paused_since = net->now;
		}
		if (port->xoff) {
			port->count[COUNT_PAUSED_TX_NS] +=
				(uint64_t)((net->now - port->xoff_since) / PS_NS);
			port->xoff_since = net->now;
		}
	}
}

bool net_run(struct net *net, int64_t limit)
{
	struct event event;
	while (net->flows_open && net->events.n > 0) {
		if (net->events.v[0].at > limit)
			return false;
		heap_pop(&net->events, &event);
		net->now = event.at;
		net->n_events++;
		if (event.kind <= EVENT_REFRESH)
			port_event(net, &event);
		else
			nic_event(net, &event);
	}
	return true;
}
