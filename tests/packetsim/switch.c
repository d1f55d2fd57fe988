/*
 * switch - a shared buffer, priority groups with a dynamic threshold (Choudhury and Hahne, 1998)
 * and headroom of their own, PFC, marking on the egress queue, ECMP by hash.
 *
 * A packet that arrives is counted against its group: reserve first, then the shared part up to
 * alpha x (what is free), then headroom; what does not fit is lost. It leaves headroom first.
 */
#include "tests/packetsim/net.h"

static uint64_t group_limit(const struct node *node, const struct port *port)
{
	if (node->shared_used >= node->shared_size)
		return 0;
	return (uint64_t)(port->alpha * (double)(node->shared_size - node->shared_used));
}

static void peak_of(struct port *port, enum peak peak, uint64_t value)
{
	if (value > port->peak[peak])
		port->peak[peak] = value;
}

/* False: no room at all, the packet is lost. */
static bool group_admit(struct node *node, struct port *port, uint64_t size)
{
	const uint64_t limit = group_limit(node, port);
	const uint64_t room = node->reserve - port->in_reserve;
	const uint64_t spill = size > room ? size - room : 0;
	const bool shared_fits = node->shared_used + spill <= node->shared_size;
	if (port->in_headroom == 0 && port->in_shared + spill <= limit && shared_fits) {
		port->in_reserve += size - spill;
		port->in_shared += spill;
		node->shared_used += spill;
	} else if (port->in_headroom + size <= port->headroom_size) {
		port->in_headroom += size;
	} else {
		return false;
	}
	if (node->shared_used > node->shared_peak)
		node->shared_peak = node->shared_used;
	peak_of(port, PEAK_SHARED, port->in_shared + port->in_reserve);
	peak_of(port, PEAK_HEADROOM, port->in_headroom);
	peak_of(port, PEAK_GROUP, port->in_shared + port->in_reserve + port->in_headroom);
	return true;
}

void switch_release(struct net *net, uint32_t packet)
{
	const struct packet *what = &net->packets[packet];
	if (what->kind != PACKET_DATA || what->in_port == UINT32_MAX)
		return;
	struct port *port = &net->ports[what->in_port];
	struct node *node = &net->nodes[port->node];
	uint64_t left = what->size;
	uint64_t part = left < port->in_headroom ? left : port->in_headroom;
	port->in_headroom -= part;
	left -= part;
	part = left < port->in_shared ? left : port->in_shared;
	port->in_shared -= part;
	node->shared_used -= part;
	port->in_reserve -= left - part;
	const uint64_t limit = group_limit(node, port);
	const bool below = port->in_shared == 0 || port->in_shared + port->xon_offset <= limit;
	if (port->xoff && port->in_headroom == 0 && below)
		port_ask_pause(net, what->in_port, false);
}

static bool switch_marks(struct net *net, const struct port *port)
{
	const uint64_t queue = port->data.bytes;
	if (!port->marks || queue <= port->kmin)
		return false;
	if (queue > port->kmax)
		return true;
	const double share = (double)(queue - port->kmin) / (double)(port->kmax - port->kmin);
	return (double)(net_random(net) >> 11) * 0x1p-53 < share * port->pmax;
}

uint32_t switch_take(struct net *net, uint32_t index)
{
	struct port *port = &net->ports[index];
	const uint32_t packet = fifo_take(net, &port->data);
	if (packet != NO_PACKET && switch_marks(net, port)) {
		net->packets[packet].ce = 1;
		port->count[COUNT_MARKED]++;
	}
	return packet;
}

static bool spine_reaches(const struct net *net, unsigned spine, unsigned leaf)
{
	return net->ports[net_downlink(net, spine, leaf)].up;
}

/* Uplinks that lead to @leaf: those that are up, to spines that still reach it. */
static unsigned uplinks_towards(
	const struct net *net, unsigned from, unsigned leaf, uint32_t *candidates)
{
	unsigned n = 0;
	for (unsigned spine = 0; spine < net->spines; spine++) {
		const uint32_t port = net_uplink(net, from, spine);
		const bool routed = net->nodes[from].without_route != spine;
		if (net->ports[port].up && routed && spine_reaches(net, spine, leaf))
			candidates[n++] = port;
	}
	return n;
}

/* Over a wiring. @port: where it came in. */
static uint32_t switch_route_wired(
	const struct net *net, const struct port *port, const struct packet *packet)
{
	const uint32_t dst = net->flows[packet->flow].dst;
	if (packet->kind != PACKET_DATA || packet->hops > MOST_HOPS)
		return UINT32_MAX;
	if (port->node == dst / net->hosts_per_leaf)
		return net_host_port(net, dst);
	const uint32_t link =
		net->wiring->route(net->wiring->arg, packet->flow, port->node, port->link);
	if (link == UINT32_MAX)
		return UINT32_MAX;
	return net->link_ports[link][net->wiring->ends[link][1] == (int)port->node];
}

/* CRC-16/CCITT over addresses, protocol and source port: linear, as those of switch chips. */
static uint64_t route_crc(const struct node *node, uint32_t src, uint32_t dst, uint16_t port)
{
	const uint32_t words[3] = {
		FIRST_ADDRESS + src, FIRST_ADDRESS + dst, (uint32_t)port << 16 | 17};
	uint32_t crc = node->hash_seed & 0xffff;
	for (unsigned bit = 0; bit < 96; bit++) {
		const uint32_t in = words[bit / 32] >> (31 - bit % 32) & 1;
		crc = ((crc >> 15 & 1) ^ in) ? (crc << 1) ^ 0x1021 : crc << 1;
	}
	return crc & 0xffff;
}

static uint64_t route_hash(const struct node *node, uint32_t src, uint32_t dst, uint16_t port)
{
	uint64_t key = (uint64_t)src << 40 | (uint64_t)dst << 16;
	if (node->crc)
		return route_crc(node, src, dst, port);
	if (!node->blind_hash)
		key |= port;
	return mixed(key ^ node->hash_seed) >> 20;
}

static uint32_t switch_route(const struct net *net, unsigned from, const struct packet *packet)
{
	const struct flow *flow = &net->flows[packet->flow];
	const bool forward = packet->kind == PACKET_DATA;
	const uint32_t src = forward ? flow->src : flow->dst;
	const uint32_t dst = forward ? flow->dst : flow->src;
	const unsigned leaf = dst / net->hosts_per_leaf;
	const struct node *node = &net->nodes[from];
	if (from == leaf)
		return net_host_port(net, dst);
	if (!node->leaf)
		return net_downlink(net, from - net->leaves, leaf);
	uint32_t candidates[MOST_UPLINKS];
	const unsigned n = uplinks_towards(net, from, leaf, candidates);
	if (!n)
		return UINT32_MAX;
	return candidates[route_hash(node, src, dst, flow->source_port) % n];
}

uint32_t net_first_link(const struct net *net, const struct flow *flow)
{
	const struct packet packet = {.flow = (uint32_t)(flow - net->flows), .kind = PACKET_DATA};
	const unsigned leaf = flow->src / net->hosts_per_leaf;
	if (leaf == flow->dst / net->hosts_per_leaf)
		return UINT32_MAX;
	return switch_route(net, leaf, &packet);
}

void switch_arrive(struct net *net, uint32_t index, uint32_t packet)
{
	struct port *port = &net->ports[index];
	struct node *node = &net->nodes[port->node];
	struct packet *what = &net->packets[packet];
	what->hops++;
	const uint32_t out = net->wiring ? switch_route_wired(net, port, what)
					 : switch_route(net, port->node, what);
	if (out == UINT32_MAX) {
		frame_free(net, packet);
		return;
	}
	struct port *egress = &net->ports[out];
	what->in_port = index;
	if (what->kind != PACKET_DATA) {
		fifo_put(net, &egress->control, packet);
		port_kick(net, out);
		return;
	}
	if (!group_admit(node, port, what->size)) {
		port->count[COUNT_DROPS]++;
		net->drops += !port->lossy;
		frame_free(net, packet);
		return;
	}
	fifo_put(net, &egress->data, packet);
	peak_of(egress, PEAK_QUEUE, egress->data.bytes);
	if (!port->xoff && !port->lossy &&
		(port->in_headroom > 0 || port->in_shared >= group_limit(node, port)))
		port_ask_pause(net, index, true);
	port_kick(net, out);
}
