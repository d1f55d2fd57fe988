/*
 * sim_host - senders and receivers of the fine grain: pacing, DCQCN (reaction and notification
 * point), go-back-N, and NICs that cannot take what they are sent.
 *
 * Reaction point: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015,
 * section 5, with the periods as parameters. The average of marking is brought up to date when it
 * is read, not by a timer per flow: same values, fewer events.
 */
#include "tests/fabric/sim_internal.h"

#include <math.h>

#include "base/cleanup.h"

struct sim_params sim_defaults(void)
{
	return (struct sim_params){
		.payload_bytes = 1000,
		.header_bytes = 48,
		.control_bytes = 60,
		.ack_every = 16,
		.rto_ps = PS_PER_MS,
		.cc = {.on = true,
			.g = 1.0 / 256,
			.alpha_ps = PS_PER_US,
			.decrease_ps = 4 * PS_PER_US,
			.increase_ps = 300 * PS_PER_US,
			.fast_stages = 1,
			.ai_bps = 40e6,
			.hai_bps = 200e6,
			.min_bps = 100e6,
			.warm_alpha = 0.1,
			.cnp_gap_ps = 4 * PS_PER_US},
		.nic_buffer_bytes = 1000000,
		.nic_xoff_bytes = 200000,
		.nic_xon_bytes = 150000,
		.seed = 1,
	};
}

struct switch_params switch_defaults(void)
{
	return (struct switch_params){.buffer_bytes = 3931000,
		.alpha = 0.125,
		.headroom_factor = 1.15,
		.xon_offset_bytes = 2 * 1048,
		.ecn = true,
		.kmin_bytes = 400000,
		.kmax_bytes = 1600000,
		.pmax = 0.2,
		.pfc_mask = 1u << 3,
		.ecn_mask = 1u << 3};
}

size_t sim_flow_add(struct sim *s, uint32_t src, uint32_t dst, uint64_t bytes, uint64_t start_ps,
	uint16_t sport, uint8_t priority, unsigned kind)
{
	rw_grow(s->flows, s->n_flows, s->cap_flows);
	struct sim_flow *f = &s->flows[s->n_flows];
	*f = (struct sim_flow){.src = src,
		.dst = dst,
		.bytes = bytes,
		.start_ps = start_ps,
		.sport = sport,
		.priority = priority,
		.kind = kind};
	f->packets = (uint32_t)((bytes + s->p.payload_bytes - 1) / s->p.payload_bytes);
	if (!f->packets)
		f->packets = 1;
	flow_route(s, f);
	s->n_awaited++;
	event_add(s, start_ps, EVENT_START, (uint32_t)s->n_flows, 0, NULL);
	return s->n_flows++;
}

void sim_flow_background(struct sim *s, size_t flow)
{
	s->n_awaited -= !s->flows[flow].background;
	s->flows[flow].background = true;
}

/* ---- reaction point ------------------------------------------------------ */

static void alpha_update(struct sim *s, struct sim_flow *f)
{
	const uint64_t periods = (s->now_ps - f->alpha_ps) / s->p.cc.alpha_ps;
	if (!periods)
		return;
	f->alpha = (1 - s->p.cc.g) * f->alpha + (f->cnp_in_alpha ? s->p.cc.g : 0);
	if (periods > 1)
		f->alpha *= pow(1 - s->p.cc.g, (double)(periods - 1));
	f->cnp_in_alpha = false;
	f->alpha_ps += periods * s->p.cc.alpha_ps;
}

static void timer_restart(struct sim *s, struct sim_flow *f)
{
	event_add(s, s->now_ps + s->p.cc.increase_ps, EVENT_INCREASE, (uint32_t)(f - s->flows),
		++f->timer_generation, NULL);
}

static void rate_cut(struct sim *s, struct sim_flow *f)
{
	f->cut_pending = false;
	if (!f->cnp_in_cut || f->done)
		return;
	alpha_update(s, f);
	if (s->p.cc.clamp_target || f->timer_stage > 0 || f->byte_stage > 0)
		f->target_bps = f->rate_bps;
	f->rate_bps = fmax(s->p.cc.min_bps, f->rate_bps * (1 - f->alpha / 2));
	f->timer_stage = f->byte_stage = 0;
	f->bytes_since = 0;
	f->cnp_in_cut = false;
	f->last_cut_ps = s->now_ps;
	timer_restart(s, f);
}

static void rate_increase(struct sim *s, struct sim_flow *f)
{
	const struct dcqcn_params *c = &s->p.cc;
	const double line = (double)s->ports[s->nodes[f->src].port0].bps;
	const unsigned most = f->timer_stage > f->byte_stage ? f->timer_stage : f->byte_stage;
	const unsigned least = c->increase_bytes && f->byte_stage < f->timer_stage ? f->byte_stage
		: c->increase_bytes                                                ? f->timer_stage
										   : most;
	if (most > c->fast_stages)
		f->target_bps = fmin(
			line, f->target_bps + (least > c->fast_stages ? c->hai_bps : c->ai_bps));
	f->rate_bps = (f->rate_bps + f->target_bps) / 2;
}

static void cnp_received(struct sim *s, struct sim_node *n, struct sim_flow *f)
{
	n->cnp_received++;
	f->cnps++;
	if (!s->p.cc.on || n->cc_off || f->done)
		return;
	if (!f->cut_seen) { /* the average starts at one: the first cut halves the rate */
		f->cut_seen = true;
		f->alpha = 1;
		f->alpha_ps = s->now_ps;
		f->target_bps = f->rate_bps;
	}
	alpha_update(s, f);
	f->cnp_in_alpha = f->cnp_in_cut = true;
	if (f->cut_pending)
		return;
	f->cut_pending = true;
	const uint64_t at = f->last_cut_ps ? f->last_cut_ps + s->p.cc.decrease_ps : s->now_ps;
	event_add(s, at > s->now_ps ? at : s->now_ps, EVENT_CUT, (uint32_t)(f - s->flows), 0, NULL);
}

/* ---- sending ------------------------------------------------------------- */

static void rto_restart(struct sim *s, struct sim_flow *f)
{
	f->acked_at_rto = f->acked;
	event_add(s, s->now_ps + s->p.rto_ps, EVENT_RTO, (uint32_t)(f - s->flows),
		++f->rto_generation, NULL);
}

/* The next packet in turn of a flow whose pace allows it; else come back when the first one's does.
 */
void host_send(struct sim *s, struct sim_node *n, struct sim_port *p)
{
	uint64_t soonest = UINT64_MAX;
	for (size_t k = 0; k < n->n_flows; k++) {
		const size_t i = (n->turn + k) % n->n_flows;
		struct sim_flow *f = &s->flows[n->flows[i]];
		if (f->next >= f->packets || p->paused[f->priority])
			continue;
		if (f->avail_ps > s->now_ps) {
			if (f->avail_ps < soonest)
				soonest = f->avail_ps;
			continue;
		}
		struct packet *pkt = packet_new(s);
		const uint64_t left = f->bytes - (uint64_t)f->next * s->p.payload_bytes;
		*pkt = (struct packet){.flow = n->flows[i],
			.number = f->next,
			.kind = PACKET_DATA,
			.prio = f->priority,
			.not_ect = f->not_ect,
			.size = (uint16_t)((left < s->p.payload_bytes ? left : s->p.payload_bytes) +
				s->p.header_bytes)};
		f->next++;
		f->sent_packets++;
		f->avail_ps = s->now_ps + (uint64_t)((double)pkt->size * 8e12 / f->rate_bps);
		f->bytes_since += pkt->size;
		if (s->p.cc.increase_bytes && f->cut_seen &&
			f->bytes_since >= s->p.cc.increase_bytes) {
			f->bytes_since = 0;
			f->byte_stage++;
			rate_increase(s, f);
		}
		n->turn = (i + 1) % n->n_flows;
		port_transmit(s, p, pkt);
		return;
	}
	if (soonest != UINT64_MAX && (n->wake_ps <= s->now_ps || soonest < n->wake_ps)) {
		n->wake_ps = soonest;
		event_add(s, soonest, EVENT_WAKE, (uint32_t)(n - s->nodes), 0, NULL);
	}
}

static void flow_done(struct sim *s, struct sim_flow *f)
{
	struct sim_node *n = &s->nodes[f->src];
	const uint32_t id = (uint32_t)(f - s->flows);
	f->done = true;
	f->end_ps = s->now_ps;
	f->timer_generation++;
	f->rto_generation++;
	s->n_done += !f->background;
	for (size_t i = 0; i < n->n_flows; i++) {
		if (n->flows[i] != id)
			continue;
		for (size_t k = i; k + 1 < n->n_flows; k++)
			n->flows[k] = n->flows[k + 1];
		n->n_flows--;
		if (n->turn > i)
			n->turn--;
		if (n->turn >= n->n_flows)
			n->turn = 0;
		break;
	}
	if (s->done)
		s->done(s->done_data, s, id);
}

static void go_back(struct sim *s, struct sim_flow *f, uint32_t number)
{
	if (number >= f->next)
		return;
	f->resent_packets += f->next - number;
	f->next = number;
	port_send(s, &s->ports[s->nodes[f->src].port0]);
}

/* ---- receiving ----------------------------------------------------------- */

static void answer(
	struct sim *s, struct sim_port *p, uint32_t flow, enum packet_kind kind, uint32_t number)
{
	struct packet *pkt = packet_new(s);
	*pkt = (struct packet){.flow = flow,
		.number = number,
		.kind = (uint8_t)kind,
		.prio = SIM_CONTROL_PRIORITY,
		.size = (uint16_t)s->p.control_bytes,
		.not_ect = true};
	control_queue(s, p, pkt);
}

/* A NIC that drains slower than the line: XOFF above one level, XON below another, discard when its
 * buffer is full. */
static bool nic_takes(
	struct sim *s, struct sim_node *n, struct sim_port *in, const struct packet *pkt)
{
	if (n->drain_bps == 0)
		return true;
	const double drain = n->drain_bps > 0 ? n->drain_bps / 8e12 : 0;
	n->rx_backlog = fmax(0, n->rx_backlog - drain * (double)(s->now_ps - n->rx_time_ps));
	n->rx_time_ps = s->now_ps;
	if (n->rx_backlog + pkt->size > (double)s->p.nic_buffer_bytes) {
		n->rx_drops++;
		return false;
	}
	n->rx_backlog += pkt->size;
	if (!n->rx_pausing && n->rx_backlog > (double)s->p.nic_xoff_bytes) {
		n->rx_pausing = true;
		pfc_send(s, in, pkt->prio, true);
		if (drain > 0)
			event_add(s,
				s->now_ps +
					(uint64_t)((n->rx_backlog - (double)s->p.nic_xon_bytes) /
						drain),
				EVENT_DRAINED, (uint32_t)(n - s->nodes), pkt->prio, NULL);
	}
	return true;
}

static void drained(struct sim *s, struct sim_node *n, unsigned prio)
{
	const double drain = n->drain_bps / 8e12;
	n->rx_backlog = fmax(0, n->rx_backlog - drain * (double)(s->now_ps - n->rx_time_ps));
	n->rx_time_ps = s->now_ps;
	if (n->rx_backlog > (double)s->p.nic_xon_bytes + 1) { /* more came in after XOFF was sent */
		event_add(s,
			s->now_ps +
				(uint64_t)((n->rx_backlog - (double)s->p.nic_xon_bytes) / drain) +
				1,
			EVENT_DRAINED, (uint32_t)(n - s->nodes), prio, NULL);
		return;
	}
	n->rx_pausing = false;
	pfc_send(s, &s->ports[n->port0], prio, false);
}

/* A NIC that stalls in a rhythm (page faults, a busy host bus): paused for its duty, then open for
 * the rest of the period. */
static void stall(struct sim *s, struct sim_node *n, unsigned prio)
{
	const bool on = !n->rx_pausing;
	const double share = on ? n->pause_duty : 1 - n->pause_duty;
	n->rx_pausing = on;
	pfc_send(s, &s->ports[n->port0], prio, on);
	event_add(s, s->now_ps + (uint64_t)((double)n->pause_period_ps * share), EVENT_STALL,
		(uint32_t)(n - s->nodes), prio, NULL);
}

void sim_stall(
	struct sim *s, struct sim_node *host, double duty, uint64_t period_ps, unsigned priority)
{
	host->pause_duty = duty;
	host->pause_period_ps = period_ps;
	event_add(s, 0, EVENT_STALL, (uint32_t)(host - s->nodes), priority, NULL);
}

static void data_receive(
	struct sim *s, struct sim_node *n, struct sim_port *in, const struct packet *pkt)
{
	struct sim_flow *f = &s->flows[pkt->flow];
	if (pkt->ce) {
		f->ce_packets++;
		n->ce_received++;
		if (!f->cnp_sent_ever || s->now_ps - f->last_cnp_ps >= s->p.cc.cnp_gap_ps) {
			f->cnp_sent_ever = true;
			f->last_cnp_ps = s->now_ps;
			n->cnp_sent++;
			answer(s, in, pkt->flow, PACKET_CNP, 0);
		}
	}
	if (s->p.spray) { /* order is the receiver's business: the count is what matters */
		f->received++;
		if (f->received % s->p.ack_every == 0 || f->received >= f->packets)
			answer(s, in, pkt->flow, PACKET_ACK, f->received);
		return;
	}
	if (pkt->number == f->expected) {
		f->expected++;
		f->nak_sent = false;
		if (f->expected % s->p.ack_every == 0 || f->expected == f->packets)
			answer(s, in, pkt->flow, PACKET_ACK, f->expected);
	} else if (pkt->number > f->expected) {
		if (!f->nak_sent) { /* one NAK per gap (InfiniBand specification, 9.7.5.2.8) */
			f->nak_sent = true;
			answer(s, in, pkt->flow, PACKET_NAK, f->expected);
		}
	} else if (pkt->number + 1 == f->packets || pkt->number % s->p.ack_every == 0)
		/* a duplicate: the ACK was lost */
		answer(s, in, pkt->flow, PACKET_ACK, f->expected);
}

void host_receive(struct sim *s, struct sim_node *n, struct sim_port *in, struct packet *pkt)
{
	struct sim_flow *f = &s->flows[pkt->flow];
	switch (pkt->kind) {
	case PACKET_DATA:
		if (nic_takes(s, n, in, pkt))
			data_receive(s, n, in, pkt);
		break;
	case PACKET_CNP: cnp_received(s, n, f); break;
	case PACKET_ACK:
	case PACKET_NAK:
		if (f->done)
			break;
		if (pkt->number > f->acked)
			f->acked = pkt->number;
		if (f->next < f->acked) /* sent before going back, and it did arrive */
			f->next = f->acked;
		if (f->acked >= f->packets)
			flow_done(s, f);
		else if (pkt->kind == PACKET_NAK)
			go_back(s, f, pkt->number);
		break;
	}
	packet_free(s, pkt);
}

void host_event(struct sim *s, const struct event *e)
{
	if (e->kind == EVENT_WAKE) {
		port_send(s, &s->ports[s->nodes[e->who].port0]);
		return;
	}
	if (e->kind == EVENT_DRAINED) {
		drained(s, &s->nodes[e->who], e->what);
		return;
	}
	if (e->kind == EVENT_STALL) {
		stall(s, &s->nodes[e->who], e->what);
		return;
	}
	struct sim_flow *f = &s->flows[e->who];
	struct sim_node *n = &s->nodes[f->src];
	switch (e->kind) {
	case EVENT_START:
		f->rate_bps = f->target_bps = (double)s->ports[n->port0].bps;
		if (f->warm_bps > 0 && s->p.cc.on && !n->cc_off) {
			f->rate_bps = f->target_bps = fmin(f->warm_bps, f->rate_bps);
			f->cut_seen = true;
			f->alpha = s->p.cc.warm_alpha;
			f->alpha_ps = s->now_ps;
			timer_restart(s, f);
		}
		f->avail_ps = s->now_ps;
		rw_grow(n->flows, n->n_flows, n->cap_flows);
		n->flows[n->n_flows++] = e->who;
		rto_restart(s, f);
		port_send(s, &s->ports[n->port0]);
		break;
	case EVENT_CUT: rate_cut(s, f); break;
	case EVENT_INCREASE:
		if (e->what != f->timer_generation || f->done)
			break;
		f->timer_stage++;
		rate_increase(s, f);
		timer_restart(s, f);
		break;
	case EVENT_RTO:
		if (e->what != f->rto_generation || f->done)
			break;
		/* Silence is loss only where nothing stops the sender: a paused NIC does not run
		 * its timer out in this model. */
		if (f->acked == f->acked_at_rto && f->next > f->acked &&
			!s->ports[n->port0].paused[f->priority] && !s->p.spray)
			go_back(s, f, f->acked);
		rto_restart(s, f);
		break;
	default: break;
	}
}
