/* roce_count - see roce_count.h. */
#include "collectors/packet/roce_count.h"

static void count_roce(struct roce_count *c, const struct roce_packet *p)
{
	c->roce_packets++;
	c->roce_octets += p->octets;
	c->by_opcode[p->opcode]++;
	c->ecn[p->ecn]++;
	c->icrc[p->icrc]++;
	c->cnp += roce_is_cnp(p);
	c->rnr_nak += roce_is_rnr_nak(p);
	if (roce_is_nak(p)) {
		c->nak++;
		c->nak_code[p->syndrome & 31]++;
	}
	uint8_t *seen = &c->udp_port_seen[p->src_port / 8], bit = (uint8_t)(1u << p->src_port % 8);
	c->udp_source_ports += !(*seen & bit);
	*seen |= bit;
}

static void count_pfc(struct roce_count *c, const struct roce_packet *p)
{
	c->pfc_frames++;
	for (int i = 0; i < 8; i++)
		if (p->classes >> i & 1) {
			c->pfc_xoff[i] += p->time[i] > 0;
			c->pfc_xon[i] += p->time[i] == 0;
			c->pfc_quanta[i] += p->time[i];
		}
}

void roce_count_add(struct roce_count *c, const struct roce_packet *p, int64_t t_ns)
{
	if (c->packets == 0 || t_ns < c->first_ns)
		c->first_ns = t_ns;
	if (c->packets == 0 || t_ns > c->last_ns)
		c->last_ns = t_ns;
	c->packets++;
	c->octets += p->octets;
	switch (p->kind) {
	case PACKET_ROCE: count_roce(c, p); break;
	case PACKET_ROCEV1: c->rocev1_packets++; break;
	case PACKET_PFC: count_pfc(c, p); break;
	case PACKET_PAUSE: c->pause_frames++; break;
	case PACKET_BAD: c->errors[p->error]++; break;
	case PACKET_OTHER: break;
	}
}
