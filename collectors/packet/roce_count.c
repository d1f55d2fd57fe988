/* roce_count - adds decoded frames to plain counts. */
#include "collectors/packet/roce_count.h"

static void count_roce(struct roce_count *count, const struct roce_packet *packet)
{
	count->roce_packets++;
	count->roce_octets += packet->octets;
	count->sampled_packets += packet->sampled;
	count->by_opcode[packet->opcode]++;
	count->ecn[packet->ecn]++;
	count->icrc[packet->icrc]++;
	count->cnp += roce_is_cnp(packet);
	const bool data = packet->payload_bytes > 0;
	count->data_packets += data;
	count->data_not_ect += data && packet->ecn == ECN_NOT_ECT;
	count->rnr_nak += roce_is_rnr_nak(packet);
	count->aeth_cut += packet->aeth_cut;
	if (roce_is_nak(packet)) {
		count->nak++;
		count->nak_code[packet->syndrome & 31]++;
	}
	uint8_t *seen = &count->udp_port_seen[packet->src_port / 8],
		bit = (uint8_t)(1u << packet->src_port % 8);
	count->udp_source_ports += !(*seen & bit);
	*seen |= bit;
}

static void count_pfc(struct roce_count *count, const struct roce_packet *packet)
{
	count->pfc_frames++;
	for (int i = 0; i < 8; i++)
		if (packet->classes >> i & 1) {
			count->pfc_xoff[i] += packet->time[i] > 0;
			count->pfc_xon[i] += packet->time[i] == 0;
			count->pfc_quanta[i] += packet->time[i];
		}
}

void roce_count_copy(struct roce_count *count, const struct roce_packet *packet, int64_t t_ns)
{
	if (count->packets == 0 || t_ns < count->first_ns)
		count->first_ns = t_ns;
	if (count->packets == 0 || t_ns > count->last_ns)
		count->last_ns = t_ns;
	if (packet->sampled)
		return;
	count->packets++;
	count->octets += packet->frame_octets;
}

void roce_count_add(struct roce_count *count, const struct roce_packet *packet, int64_t t_ns)
{
	roce_count_copy(count, packet, t_ns);
	switch (packet->kind) {
	case PACKET_ROCE: count_roce(count, packet); break;
	case PACKET_ROCEV1: count->rocev1_packets++; break;
	case PACKET_PFC: count_pfc(count, packet); break;
	case PACKET_PAUSE: count->pause_frames++; break;
	case PACKET_BAD: count->errors[packet->error]++; break;
	case PACKET_SFLOW:
	case PACKET_UET:
	case PACKET_ENCAPSULATED: /* encapsulation_count has them */
	case PACKET_OTHER: break;
	}
}

uint64_t roce_count_bad(const struct roce_count *count)
{
	uint64_t bad = 0;
	for (int error = 0; error < ROCE_ERROR_COUNT; error++)
		bad += count->errors[error];
	return bad;
}

/* Opcodes begin with the transport service in three bits, 0 = reliable connection (InfiniBand
 * Architecture Specification, section 9.2.1). */
enum { RELIABLE_OPCODES = 32 };

uint64_t roce_count_requests(const struct roce_count *count)
{
	uint64_t n = 0;
	for (int opcode = 0; opcode < RELIABLE_OPCODES; opcode++)
		if (roce_opcode_role((uint8_t)opcode) == ROLE_REQUEST)
			n += count->by_opcode[opcode];
	return n;
}

uint64_t roce_count_answers(const struct roce_count *count)
{
	uint64_t n = 0;
	for (int opcode = 0; opcode < RELIABLE_OPCODES; opcode++) {
		const enum roce_role role = roce_opcode_role((uint8_t)opcode);
		if (role != ROLE_REQUEST && role != ROLE_NONE)
			n += count->by_opcode[opcode];
	}
	return n;
}
