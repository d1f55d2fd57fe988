/* sim_internal - what sim.c (links, switches), sim_route.c (ways) and sim_host.c (senders,
 * receivers) share. */
#ifndef FABRIC_SIM_INTERNAL_H
#define FABRIC_SIM_INTERNAL_H

#include "tests/fabric/sim.h"

enum packet_kind { PACKET_DATA, PACKET_ACK, PACKET_NAK, PACKET_CNP };
struct packet {
	struct packet *next;
	uint32_t flow, number, in_port;
	uint16_t size;
	uint8_t kind, prio;
	bool ce, not_ect;
};

enum event_kind {
	EVENT_ARRIVE,
	EVENT_SENT,
	EVENT_PFC,
	EVENT_START,
	EVENT_WAKE,
	EVENT_CUT,
	EVENT_INCREASE,
	EVENT_RTO,
	EVENT_DRAINED,
	EVENT_STALL,
	EVENT_WATCHDOG
};
struct event {
	uint64_t t_ps, sequence;
	struct packet *pkt;
	uint32_t who, what; /* port, flow or node; what the kind says */
	enum event_kind kind;
};

void event_add(struct sim *s, uint64_t t_ps, enum event_kind kind, uint32_t who, uint32_t what,
	struct packet *pkt);
struct packet *packet_new(struct sim *s);
void packet_free(struct sim *s, struct packet *p);
void pfc_send(struct sim *s, struct sim_port *p, unsigned prio, bool on);
void port_send(struct sim *s, struct sim_port *p);
void port_transmit(struct sim *s, struct sim_port *p, struct packet *pkt);
void control_queue(struct sim *s, struct sim_port *p, struct packet *pkt);

/* Where it leaves @n, having come in by @in. */
struct sim_port *route(struct sim *s, const struct sim_node *n, const struct sim_port *in,
	const struct packet *p, struct sim_flow *f);
void flow_route(struct sim *s, struct sim_flow *f); /* chooses its way there and back, once */

void host_send(struct sim *s, struct sim_node *n, struct sim_port *p);
void host_receive(struct sim *s, struct sim_node *n, struct sim_port *in, struct packet *pkt);
void host_event(struct sim *s, const struct event *e);

/* Time of @bytes on the wire of a port. */
static inline uint64_t ser_ps(const struct sim_port *p, uint64_t bytes)
{
	return bytes * UINT64_C(8000000000000) / p->bps;
}

#endif
