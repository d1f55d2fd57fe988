/*
 * port - a transmitter and its link: one packet at a time, PFC frames before everything, control
 * packets before data, data only while nobody pauses it (IEEE 802.1Qbb, one priority).
 */
#include "tests/packetsim/net.h"

#define QUANTA 65535
#define QUANTUM_BITS 512

static int64_t pause_time(const struct port *port)
{
	return (int64_t)(QUANTA * (QUANTUM_BITS / 8)) * port->ps_per_byte;
}

static void port_transmit(struct net *net, uint32_t index, uint32_t packet)
{
	struct port *port = &net->ports[index];
	const struct packet *what = &net->packets[packet];
	const int64_t end = net->now + what->size * port->ps_per_byte;
	port->busy = true;
	port->sending = packet;
	port->count[COUNT_OUT_OCTETS] += what->size;
	port->count[COUNT_OUT_PACKETS]++;
	if (what->kind == PACKET_DATA) {
		port->count[COUNT_DATA_OCTETS] += what->size;
		port->count[COUNT_DATA_PACKETS]++;
	} else {
		port->count[COUNT_CONTROL_OCTETS] += what->size;
		port->count[COUNT_CONTROL_PACKETS]++;
	}
	heap_push(&net->events, end, EVENT_SENT, index, 0);
	heap_push(&net->events, end + port->propagation, EVENT_ARRIVE, port->peer, packet);
}

static void port_send_pfc(struct net *net, uint32_t index)
{
	struct port *port = &net->ports[index];
	const int64_t end = net->now + CONTROL_SIZE * port->ps_per_byte;
	port->pfc_waiting = false;
	port->busy = true;
	port->sending = NO_PACKET;
	port->count[COUNT_PFC_TX]++;
	heap_push(&net->events, end, EVENT_SENT, index, 0);
	heap_push(&net->events, end + port->propagation, EVENT_PFC, port->peer, port->pfc_asks);
	if (port->pfc_asks)
		heap_push(&net->events, end + pause_time(port) / 2, EVENT_REFRESH, index,
			port->xoff_generation);
}

void port_kick(struct net *net, uint32_t index)
{
	struct port *port = &net->ports[index];
	if (port->busy)
		return;
	if (port->pfc_waiting) {
		port_send_pfc(net, index);
		return;
	}
	uint32_t packet = fifo_take(net, &port->control);
	if (packet == NO_PACKET && !port->paused && port->node == UINT32_MAX)
		packet = host_take(net, index);
	else if (packet == NO_PACKET && !port->paused)
		packet = switch_take(net, index);
	if (packet != NO_PACKET)
		port_transmit(net, index, packet);
}

void port_ask_pause(struct net *net, uint32_t index, bool pause)
{
	struct port *port = &net->ports[index];
	if (port->xoff == pause)
		return;
	port->xoff = pause;
	port->xoff_generation++;
	if (pause) {
		port->xoff_since = net->now;
		port->count[COUNT_EPISODES_TX]++;
	} else {
		port->count[COUNT_PAUSED_TX_NS] +=
			(uint64_t)((net->now - port->xoff_since) / PS_NS);
	}
	port->pfc_waiting = true;
	port->pfc_asks = pause;
	port_kick(net, index);
}

static void port_resume(struct net *net, uint32_t index)
{
	struct port *port = &net->ports[index];
	if (!port->paused)
		return;
	port->paused = false;
	port->count[COUNT_PAUSED_RX_NS] += (uint64_t)((net->now - port->paused_since) / PS_NS);
	port_kick(net, index);
}

static void port_hear(struct net *net, uint32_t index, bool pause)
{
	struct port *port = &net->ports[index];
	port->count[COUNT_PFC_RX]++;
	port->pause_generation++;
	if (!pause) {
		port_resume(net, index);
		return;
	}
	if (!port->paused) {
		port->paused = true;
		port->paused_since = net->now;
		port->count[COUNT_EPISODES_RX]++;
	}
	heap_push(&net->events, net->now + pause_time(port), EVENT_PAUSE_END, index,
		port->pause_generation);
}

static void port_receive(struct net *net, uint32_t index, uint32_t packet)
{
	struct port *port = &net->ports[index];
	const double draw = port->loss > 0 ? (double)(net_random(net) >> 11) * 0x1p-53 : 1;
	if (draw < port->loss) {
		port->count[COUNT_ERRORS]++;
		frame_free(net, packet);
		return;
	}
	port->count[COUNT_IN_OCTETS] += net->packets[packet].size;
	port->count[COUNT_IN_PACKETS]++;
	if (port->node == UINT32_MAX)
		host_arrive(net, index, packet);
	else
		switch_arrive(net, index, packet);
}

void port_event(struct net *net, const struct event *event)
{
	struct port *port = &net->ports[event->who];
	switch ((enum event_kind)event->kind) {
	case EVENT_ARRIVE: port_receive(net, event->who, event->what); break;
	case EVENT_SENT:
		port->busy = false;
		if (port->sending != NO_PACKET && port->node != UINT32_MAX)
			switch_release(net, port->sending);
		port_kick(net, event->who);
		break;
	case EVENT_PFC: port_hear(net, event->who, event->what == 1); break;
	case EVENT_PAUSE_END:
		if (event->what == port->pause_generation)
			port_resume(net, event->who);
		break;
	case EVENT_REFRESH:
		if (event->what == port->xoff_generation && port->xoff) {
			port->pfc_waiting = true;
			port->pfc_asks = true;
			port_kick(net, event->who);
		}
		break;
	default: break;
	}
}
