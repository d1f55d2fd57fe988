/*
 * host - NICs: flows paced at their own rate and sent in turn, DCQCN at both ends (Zhu et al.,
 * SIGCOMM 2015, section 5; periods as the HPCC simulator's run.py has them), go-back-N.
 */
#include <math.h>
#include <stdlib.h>

#include "tests/packetsim/net.h"

#define ACK_EVERY 4
#define ASK_AGAIN (500 * PS_US)
#define TIMEOUT (2 * PS_MS)

static uint16_t size_of_packet(const struct flow *flow, uint32_t seq)
{
	const uint64_t left = flow->size - (uint64_t)seq * PAYLOAD;
	const uint64_t payload = left < PAYLOAD ? left : PAYLOAD;
	return (uint16_t)(payload + HEADERS);
}

static void host_list(struct net *net, uint32_t index)
{
	struct flow *flow = &net->flows[index];
	struct port *port = &net->ports[flow->src];
	if (flow->listed || flow->done || flow->next_seq >= flow->packets)
		return;
	if (port->n_ready == port->ready_room) {
		port->ready_room = port->ready_room ? 2 * port->ready_room : 32;
		port->ready = realloc(port->ready, port->ready_room * sizeof(*port->ready));
		if (!port->ready)
			abort();
	}
	port->ready[port->n_ready++] = index;
	flow->listed = true;
}

static void host_unlist(struct net *net, struct port *port, size_t at)
{
	net->flows[port->ready[at]].listed = false;
	port->ready[at] = port->ready[--port->n_ready];
}

uint32_t net_flow(struct net *net, uint32_t src, uint32_t dst, uint64_t size, uint16_t source_port,
	int64_t at, uint8_t kind)
{
	if (net->n_flows == net->flow_room) {
		net->flow_room = net->flow_room ? 2 * net->flow_room : 256;
		net->flows = realloc(net->flows, net->flow_room * sizeof(*net->flows));
		if (!net->flows)
			abort();
	}
	const double rate = (double)net->ports[src].rate;
	const uint32_t index = (uint32_t)net->n_flows++;
	net->flows[index] = (struct flow){.src = src,
		.dst = dst,
		.packets = (uint32_t)((size + PAYLOAD - 1) / PAYLOAD),
		.size = size,
		.source_port = source_port,
		.kind = kind,
		.started = at,
		.may_send = at,
		.rate = rate,
		.target = rate,
		.average = 1,
		.cnp_at = INT64_MIN / 2,
		.asked_at = INT64_MIN / 2};
	net->flows_open++;
	heap_push(&net->events, at, EVENT_START, index, 0);
	return index;
}

static uint32_t flow_emit(struct net *net, uint32_t index)
{
	struct flow *flow = &net->flows[index];
	const uint32_t packet = frame_new(net);
	const uint16_t size = size_of_packet(flow, flow->next_seq);
	net->packets[packet] = (struct packet){.flow = index,
		.seq = flow->next_seq,
		.in_port = UINT32_MAX,
		.size = size,
		.kind = PACKET_DATA};
	flow->next_seq++;
	if (flow->next_seq > flow->furthest)
		flow->furthest = flow->next_seq;
	flow->may_send = net->now + (int64_t)(size * 8e12 / flow->rate);
	return packet;
}

uint32_t host_take(struct net *net, uint32_t index)
{
	struct port *port = &net->ports[index];
	int64_t soonest = INT64_MAX;
	for (size_t i = port->n_ready; i-- > 0;)
		if (net->flows[port->ready[i]].done)
			host_unlist(net, port, i);
	for (size_t i = 0; i < port->n_ready; i++) {
		const size_t at = (port->turn + i) % port->n_ready;
		const struct flow *flow = &net->flows[port->ready[at]];
		if (flow->may_send > net->now) {
			if (flow->may_send < soonest)
				soonest = flow->may_send;
			continue;
		}
		const uint32_t packet = flow_emit(net, port->ready[at]);
		port->turn = at + 1;
		if (flow->next_seq >= flow->packets)
			host_unlist(net, port, at);
		return packet;
	}
	if (soonest < INT64_MAX && (port->pace_at <= net->now || soonest < port->pace_at)) {
		port->pace_at = soonest;
		heap_push(&net->events, soonest, EVENT_PACE, index, 0);
	}
	return NO_PACKET;
}

/* ---- the reaction point ---- */

static const struct reaction *reaction_of(const struct net *net, const struct flow *flow)
{
	return &net->reaction[flow->src % 2];
}

/* The average of marking is brought up to now: one period counts the mark, the others none. */
static void reaction_age(struct net *net, struct flow *flow)
{
	const struct reaction *how = reaction_of(net, flow);
	const int64_t periods = (net->now - flow->average_at) / how->average_every;
	if (periods <= 0)
		return;
	flow->average *= pow(1 - how->weight, (double)periods);
	if (flow->marked_alpha)
		flow->average += how->weight * pow(1 - how->weight, (double)(periods - 1));
	flow->marked_alpha = false;
	flow->average_at += periods * how->average_every;
}

static void reaction_mark(struct net *net, uint32_t index)
{
	struct flow *flow = &net->flows[index];
	const struct reaction *how = reaction_of(net, flow);
	if (!how->on || net->ports[flow->src].ignores_marks || flow->done)
		return;
	if (!flow->cut_before) {
		flow->cut_before = true;
		flow->average = 1;
		flow->average_at = flow->cut_grid = net->now;
	}
	reaction_age(net, flow);
	flow->marked_alpha = true;
	if (flow->cut_pending)
		return;
	const int64_t passed = (net->now - flow->cut_grid) / how->cut_every;
	flow->cut_pending = true;
	heap_push(
		&net->events, flow->cut_grid + (passed + 1) * how->cut_every, EVENT_CUT, index, 0);
}

static void reaction_cut(struct net *net, uint32_t index)
{
	struct flow *flow = &net->flows[index];
	const struct reaction *how = reaction_of(net, flow);
	flow->cut_pending = false;
	if (flow->done)
		return;
	reaction_age(net, flow);
	if (flow->raises != 0 || flow->raise_generation == 0)
		flow->target = flow->rate;
	flow->rate = fmax(how->min_bps, flow->rate * (1 - flow->average / 2));
	flow->raises = 0;
	flow->raise_generation++;
	heap_push(&net->events, net->now + how->raise_every, EVENT_RAISE, index,
		flow->raise_generation);
}

static void reaction_raise(struct net *net, uint32_t index)
{
	struct flow *flow = &net->flows[index];
	const struct reaction *how = reaction_of(net, flow);
	if (flow->raises == how->fast_recovery)
		flow->target += how->ai_bps;
	else if (flow->raises > how->fast_recovery)
		flow->target += how->hai_bps;
	flow->target = fmin(flow->target, (double)net->ports[flow->src].rate);
	flow->rate = (flow->rate + flow->target) / 2;
	flow->raises++;
	heap_push(&net->events, net->now + how->raise_every, EVENT_RAISE, index,
		flow->raise_generation);
}

/* ---- the two ends of a flow ---- */

static void host_answer(struct net *net, uint32_t flow, enum packet_kind kind, uint32_t seq)
{
	const uint32_t host = net->flows[flow].dst;
	const uint32_t packet = frame_new(net);
	net->packets[packet] = (struct packet){.flow = flow,
		.seq = seq,
		.in_port = UINT32_MAX,
		.size = CONTROL_SIZE,
		.kind = (uint8_t)kind};
	fifo_put(net, &net->ports[host].control, packet);
	port_kick(net, host);
}

static void flow_data(struct net *net, uint32_t index, const struct packet *packet)
{
	struct flow *flow = &net->flows[index];
	if (packet->ce && net->now - flow->cnp_at >= net->reaction[0].cnp_every) {
		flow->cnp_at = net->now;
		host_answer(net, index, PACKET_CNP, 0);
	}
	if (packet->seq == flow->expected) {
		flow->expected++;
		flow->asked_again = false;
		if (flow->expected % ACK_EVERY == 0 || flow->expected == flow->packets)
			host_answer(net, index, PACKET_ACK, flow->expected);
	} else if (packet->seq < flow->expected) {
		host_answer(net, index, PACKET_ACK, flow->expected);
	} else if (!flow->asked_again || net->now - flow->asked_at >= ASK_AGAIN) {
		flow->asked_again = true;
		flow->asked_at = net->now;
		host_answer(net, index, PACKET_NAK, flow->expected);
	}
}

static void flow_answered(struct net *net, uint32_t index, const struct packet *packet)
{
	struct flow *flow = &net->flows[index];
	if (flow->done)
		return;
	if (packet->seq > flow->acked) {
		flow->acked = packet->seq;
		flow->progress = net->now;
	}
	if (flow->acked == flow->packets) {
		flow->done = true;
		flow->ended = net->now;
		net->flows_open--;
		return;
	}
	if (flow->next_seq < flow->acked)
		flow->next_seq = flow->acked;
	if (packet->kind == PACKET_NAK && packet->seq >= flow->acked) {
		flow->next_seq = flow->acked;
		host_list(net, index);
		port_kick(net, flow->src);
	}
}

/* A slow receiver takes frames at a rate of its own, and pauses its switch before it is full. */
static void host_fill(struct net *net, uint32_t index, uint64_t size)
{
	enum { STOP = 192 * 1024, GO = 64 * 1024 };
	struct port *port = &net->ports[index];
	const double drained = port->drain_rate * (double)(net->now - port->filled_at) / 8e12;
	port->fill = fmax(0, port->fill - drained) + (double)size;
	port->filled_at = net->now;
	if (port->xoff || port->fill <= STOP)
		return;
	const double wait = (port->fill - GO) * 8e12 / port->drain_rate;
	port_ask_pause(net, index, true);
	heap_push(&net->events, net->now + (int64_t)wait, EVENT_DRAINED, index, 0);
}

void host_arrive(struct net *net, uint32_t index, uint32_t packet)
{
	const struct packet what = net->packets[packet];
	frame_free(net, packet);
	switch ((enum packet_kind)what.kind) {
	case PACKET_DATA:
		if (net->ports[index].drain_rate > 0)
			host_fill(net, index, what.size);
		flow_data(net, what.flow, &what);
		break;
	case PACKET_ACK:
	case PACKET_NAK: flow_answered(net, what.flow, &what); break;
	case PACKET_CNP: reaction_mark(net, what.flow); break;
	}
}

static void flow_timeout(struct net *net, uint32_t index)
{
	struct flow *flow = &net->flows[index];
	if (flow->done)
		return;
	const bool stuck = flow->next_seq >= flow->packets && !flow->listed;
	if (stuck && net->now - flow->progress >= TIMEOUT) {
		flow->progress = net->now;
		flow->next_seq = flow->acked;
		host_list(net, index);
		port_kick(net, flow->src);
	}
	heap_push(&net->events, net->now + TIMEOUT / 2, EVENT_TIMEOUT, index, 0);
}

void nic_event(struct net *net, const struct event *event)
{
	switch ((enum event_kind)event->kind) {
	case EVENT_START:
		net->flows[event->who].progress = net->now;
		host_list(net, event->who);
		port_kick(net, net->flows[event->who].src);
		heap_push(&net->events, net->now + TIMEOUT, EVENT_TIMEOUT, event->who, 0);
		break;
	case EVENT_PACE: port_kick(net, event->who); break;
	case EVENT_CUT: reaction_cut(net, event->who); break;
	case EVENT_RAISE:
		if (event->what == net->flows[event->who].raise_generation &&
			!net->flows[event->who].done)
			reaction_raise(net, event->who);
		break;
	case EVENT_TIMEOUT: flow_timeout(net, event->who); break;
	case EVENT_DRAINED:
		net->ports[event->who].filled_at = net->now;
		net->ports[event->who].fill = 64 * 1024;
		port_ask_pause(net, event->who, false);
		break;
	default: break;
	}
}
