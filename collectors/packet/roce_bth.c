/* roce_bth - see roce_bth.h. */
#include "collectors/packet/roce_bth.h"

#include "collectors/packet/icrc.h"

void roce_parse_bad(struct roce_packet *packet, enum roce_error error)
{
	packet->kind = PACKET_BAD;
	packet->error = error;
}

void ran_out(const struct frame *frame, struct roce_packet *packet)
{
	/* in a tunnel, before or behind an IP length that says that there was more */
	const bool by_mirror = packet->n_tunnels && (packet->inner_cut || packet->family == 0);
	if (frame->cut && frame->b.end == frame->captured_end)
		roce_parse_bad(packet, ROCE_CUT_BY_SNAPLEN);
	else if (by_mirror)
		roce_parse_bad(packet, ROCE_CUT_BY_MIRROR);
	else
		roce_parse_bad(packet, ROCE_SHORT_PACKET);
}

static void parse_extensions(struct frame *frame, struct roce_packet *packet, size_t body)
{
	if (!roce_opcode_defined(packet->opcode))
		return;
	const struct roce_transport *t = &roce_transports[packet->opcode >> 5];
	const struct roce_operation *o = &roce_operations[packet->opcode & 31];
	size_t n = t->any_bytes;
	if (o->role == ROLE_REQUEST)
		n += t->request_bytes;
	bytes_skip(&frame->b, n);
	if (o->extensions & X_RETH) {
		bytes_skip(&frame->b, 12); /* virtual address, R_Key */
		packet->reth_bytes = bytes_be32(&frame->b);
		packet->has_reth = bytes_ok(&frame->b);
		n += 16;
	}
	if (o->extensions & X_AETH) {
		packet->syndrome = bytes_u8(&frame->b);
		packet->msn = bytes_be24(&frame->b);
		packet->has_aeth = bytes_ok(&frame->b);
		packet->aeth_cut = !packet->has_aeth;
		n += 4;
	}
	if (o->extensions & X_ATOMIC)
		n += 28;
	if (o->extensions & X_ATOMIC_ACK)
		n += 8;
	if (o->extensions & (X_IMM | X_IETH))
		n += 4;
	if (body > n + packet->pad)
		packet->payload_bytes = (uint32_t)(body - n - packet->pad);
	else
		packet->payload_bytes = 0;
}

bool parse_bth_fields(struct frame *frame, struct roce_packet *packet)
{
	const uint8_t *h = bytes_take(&frame->b, BTH_BYTES);
	if (!h) {
		ran_out(frame, packet);
		return false;
	}
	packet->opcode = h[0];
	packet->se = h[1] & 0x80;
	packet->mig_req = h[1] & 0x40;
	packet->pad = h[1] >> 4 & 3;
	packet->p_key = (uint16_t)((unsigned)h[2] << 8 | h[3]);
	packet->fecn = h[4] & 0x80;
	packet->becn = h[4] & 0x40;
	packet->dst_qp = (uint32_t)h[5] << 16 | (uint32_t)h[6] << 8 | h[7];
	packet->ack_req = h[8] & 0x80;
	packet->psn = (uint32_t)h[9] << 16 | (uint32_t)h[10] << 8 | h[11];
	if (h[1] & 0x0f) {
		roce_parse_bad(packet, ROCE_BTH_VERSION);
		return false;
	}
	return true;
}

static void parse_icrc(
	const struct frame *frame, struct roce_packet *packet, const uint8_t *udp, size_t udp_bytes)
{
	const uint8_t *end = udp + udp_bytes;
	uint32_t icrc;
	packet->icrc_seen = true;
	packet->icrc_wire = icrc_get(end - ICRC_BYTES);
	if (!(frame->flags & ROCE_CHECK_ICRC) || !frame->icrc_form)
		return;
	if (icrc_compute(frame->ip, (size_t)(end - frame->ip) - ICRC_BYTES, &icrc) != 0)
		return;
	if (icrc == packet->icrc_wire) {
		packet->icrc = ICRC_OK;
		return;
	}
	packet->icrc = ICRC_BAD;
	/* All data of an RDMA WRITE ONLY is in its one packet. */
	const unsigned operation = packet->opcode & 31;
	const bool whole_write = operation == 0x0a || operation == 0x0b;
	if (whole_write && packet->has_reth && packet->payload_bytes < packet->reth_bytes)
		packet->trimmed = true;
}

void parse_bth(
	struct frame *frame, struct roce_packet *packet, const uint8_t *udp, size_t udp_bytes)
{
	if (udp_bytes < UDP_BYTES + BTH_BYTES + ICRC_BYTES) {
		roce_parse_bad(packet, ROCE_BTH_SHORT);
		return;
	}
	size_t captured = bytes_left(&frame->b);
	if (!parse_bth_fields(frame, packet))
		return;
	packet->kind = PACKET_ROCE;
	parse_extensions(frame, packet, udp_bytes - UDP_BYTES - BTH_BYTES - ICRC_BYTES);
	if (captured >= udp_bytes - UDP_BYTES)
		parse_icrc(frame, packet, udp, udp_bytes);
}

/* Whether a whole packet of this opcode can have the payload that its lengths say. */
static bool payload_fits(const struct roce_packet *packet)
{
	enum { SENDS_MIDDLE = 1 << 0x00 | 1 << 0x01, WRITES_MIDDLE = 1 << 0x06 | 1 << 0x07 };
	enum { READS_MIDDLE = 1 << 0x0d | 1 << 0x0e, WRITES_WHOLE = 1 << 0x0a | 1 << 0x0b };
	const uint32_t n = packet->payload_bytes, bit = 1u << (packet->opcode & 31);
	const bool power_of_two = (n & (n - 1)) == 0;
	if (!roce_opcode_defined(packet->opcode) || n == 0 || n > 4096)
		return false;
	if (bit & (SENDS_MIDDLE | WRITES_MIDDLE | READS_MIDDLE)) /* exactly the path MTU */
		return n >= 256 && power_of_two && packet->pad == 0;
	if (bit & WRITES_WHOLE)
		return packet->has_reth && n == packet->reth_bytes;
	return true;
}

void parse_trimmed(
	struct frame *frame, struct roce_packet *packet, const uint8_t *udp, size_t udp_bytes)
{
	const size_t missing = udp_bytes - frame->wire_left;
	const size_t ip_bytes = (size_t)(frame->b.end - frame->ip);
	const bool whole_ip4 = packet->family == 4 && decap_ip4_sum_ok(frame->ip, ip_bytes);
	parse_bth(frame, packet, udp, udp_bytes);
	if (packet->kind != PACKET_ROCE)
		return;
	const bool possible = frame->icrc_form && (packet->family == 6 || whole_ip4);
	if (!possible || !payload_fits(packet) || packet->payload_bytes <= missing) {
		roce_parse_bad(packet, ROCE_UDP_LENGTH);
		return;
	}
	packet->trimmed = true;
	packet->payload_bytes -= (uint32_t)missing;
}
