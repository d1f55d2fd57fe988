/* roce_parse - see roce_parse.h. The decoders follow the order of the headers on the wire, bottom
 * of the file first. */
#include "collectors/packet/frame/roce_parse.h"

#include "collectors/packet/frame/icrc.h"

enum uet_type {
	UET_RESERVED = 0,
	UET_ENCRYPTED = 1, /* header of the security sublayer: what follows is not readable */
	UET_RUD_REQUEST = 2, /* reliable, unordered */
	UET_ROD_REQUEST = 3, /* reliable, ordered */
	UET_RUDI_REQUEST = 4, /* reliable, unordered, idempotent */
	UET_RUDI_RESPONSE = 5,
	UET_UUD_REQUEST = 6, /* unreliable */
	UET_ACK = 7,
	UET_ACK_CC = 8,
	UET_ACK_CCX = 9,
	UET_NACK = 10,
	UET_CONTROL = 11,
	UET_NACK_CCX = 12,
	UET_RUD_CC_REQUEST = 13,
	UET_ROD_CC_REQUEST = 14,
};

#define ROCE_UDP_PORT 4791
#define SFLOW_UDP_PORT 6343
#define UET_UDP_PORT 4793

enum { VLAN_TAGS_MAX = 4, IP6_EXTENSIONS_MAX = 8 };

/* What ended the reading, into @packet. */
static void roce_parse_bad(struct roce_packet *packet, enum roce_error error)
{
	packet->kind = PACKET_BAD;
	packet->error = error;
}

/* The reader ran out: by snap length, by mirror, or the packet itself is short. */
static void ran_out(const struct frame *frame, struct roce_packet *packet)
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

/* parse_extensions - what follows the BTH at @bth. @captured bytes of the UDP payload were
 * captured,
 * @body bytes follow the BTH on the wire, without the ICRC. A header that is not whole reads as 0.
 */
static inline void parse_extensions(
	const uint8_t *bth, size_t captured, struct roce_packet *packet, size_t body)
{
	if (!roce_opcode_defined(packet->opcode))
		return;
	const struct roce_transport *t = &roce_transports[packet->opcode >> 5];
	const struct roce_operation *o = &roce_operations[packet->opcode & 31];
	size_t at = BTH_BYTES + t->any_bytes;
	if (o->role == ROLE_REQUEST)
		at += t->request_bytes;
	if (o->extensions & X_RETH) {
		packet->has_reth = captured >= at + 16;
		if (packet->has_reth) /* behind virtual address and R_Key */
			packet->reth_bytes = (uint32_t)bth[at + 12] << 24 |
				(uint32_t)bth[at + 13] << 16 | (uint32_t)bth[at + 14] << 8 |
				bth[at + 15];
		at += 16;
	}
	if (o->extensions & X_AETH) {
		packet->has_aeth = captured >= at + 4;
		packet->aeth_cut = !packet->has_aeth;
		if (captured > at)
			packet->syndrome = bth[at];
		if (packet->has_aeth)
			packet->msn = (uint32_t)bth[at + 1] << 16 | (uint32_t)bth[at + 2] << 8 |
				bth[at + 3];
		at += 4;
	}
	if (o->extensions & X_ATOMIC)
		at += 28;
	if (o->extensions & X_ATOMIC_ACK)
		at += 8;
	if (o->extensions & (X_IMM | X_IETH))
		at += 4;
	const size_t n = at - BTH_BYTES + packet->pad;
	if (body > n)
		packet->payload_bytes = (uint32_t)(body - n);
}

/* parse_bth_fields - the base transport header; false: of another version, which is said in
 * @packet. */
static inline bool parse_bth_fields(const uint8_t *h, struct roce_packet *packet)
{
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

/* parse_icrc - of a packet that was captured whole. @ip: its IP header, where the ICRC is to be
 * checked and has a form; else NULL. */
static void parse_icrc(
	struct roce_packet *packet, const uint8_t *ip, const uint8_t *udp, size_t udp_bytes)
{
	const uint8_t *end = udp + udp_bytes;
	uint32_t icrc;
	packet->icrc_seen = true;
	packet->icrc_wire = icrc_get(end - ICRC_BYTES);
	if (!ip || icrc_compute(ip, (size_t)(end - ip) - ICRC_BYTES, &icrc) != 0)
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

/* parse_transport - all that stands behind the UDP header at @udp: @captured bytes, which hold the
 * BTH. @udp_bytes: UDP length, header included, with room for BTH and ICRC. @ip: as in
 * parse_icrc(). */
static inline void parse_transport(struct roce_packet *packet, const uint8_t *ip,
	const uint8_t *udp, size_t udp_bytes, size_t captured)
{
	if (!parse_bth_fields(udp + UDP_BYTES, packet))
		return;
	packet->kind = PACKET_ROCE;
	parse_extensions(
		udp + UDP_BYTES, captured, packet, udp_bytes - UDP_BYTES - BTH_BYTES - ICRC_BYTES);
	if (captured >= udp_bytes - UDP_BYTES)
		parse_icrc(packet, ip, udp, udp_bytes);
}

/* parse_bth - all of a RoCEv2 packet. The reader stands behind the UDP header at @udp; @udp_bytes:
 * UDP length, header included. */
static void parse_bth(
	struct frame *frame, struct roce_packet *packet, const uint8_t *udp, size_t udp_bytes)
{
	const size_t captured = bytes_left(&frame->b);
	const uint8_t *ip = NULL;
	if (udp_bytes < UDP_BYTES + BTH_BYTES + ICRC_BYTES) {
		roce_parse_bad(packet, ROCE_BTH_SHORT);
		return;
	}
	if (!bytes_take(&frame->b, BTH_BYTES)) {
		ran_out(frame, packet);
		return;
	}
	if (frame->flags & ROCE_CHECK_ICRC && frame->icrc_form)
		ip = frame->ip;
	parse_transport(packet, ip, udp, udp_bytes, captured);
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

/* parse_trimmed - the same where the UDP length is longer than the IP packet. A switch that trims
 * packets writes the new length and checksum into the IP header and nothing into what follows (SAI,
 * proposal "Packet Trimming"): then the UDP length is that of a packet as its opcode allows.
 * Otherwise the lengths are wrong, and @packet says so. */
static void parse_trimmed(
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

enum { FLAG_RETRANSMITTED = 0x10 };

/* NACK codes that tell of trimming: on the way, at the last switch, of an ACK with data. */
enum { NACK_TRIMMED = 0x01, NACK_TRIMMED_ACK = 0x03 };

static const struct {
	enum uet_class uet_class;
	bool reliable; /* its flags have the retransmission bit */
} types[] = {
	[UET_RESERVED] = {UET_CLASS_UNKNOWN, false},
	[UET_ENCRYPTED] = {UET_CLASS_ENCRYPTED, false},
	[UET_RUD_REQUEST] = {UET_CLASS_REQUEST, true},
	[UET_ROD_REQUEST] = {UET_CLASS_REQUEST, true},
	[UET_RUDI_REQUEST] = {UET_CLASS_RUDI, true},
	[UET_RUDI_RESPONSE] = {UET_CLASS_RUDI, true},
	[UET_UUD_REQUEST] = {UET_CLASS_UUD, false},
	[UET_ACK] = {UET_CLASS_ACK, true},
	[UET_ACK_CC] = {UET_CLASS_ACK, true},
	[UET_ACK_CCX] = {UET_CLASS_ACK, true},
	[UET_NACK] = {UET_CLASS_NACK, true},
	[UET_CONTROL] = {UET_CLASS_CONTROL, true},
	[UET_NACK_CCX] = {UET_CLASS_NACK, true},
	[UET_RUD_CC_REQUEST] = {UET_CLASS_REQUEST, true},
	[UET_ROD_CC_REQUEST] = {UET_CLASS_REQUEST, true},
};

const char *uet_class_name(enum uet_class uet_class)
{
	static const char *const names[UET_CLASS_COUNT] = {
		[UET_CLASS_REQUEST] = "request",
		[UET_CLASS_ACK] = "ack",
		[UET_CLASS_NACK] = "nack",
		[UET_CLASS_CONTROL] = "control",
		[UET_CLASS_RUDI] = "rudi",
		[UET_CLASS_UUD] = "uud",
		[UET_CLASS_ENCRYPTED] = "encrypted",
		[UET_CLASS_UNKNOWN] = "unknown",
	};
	if ((unsigned)uet_class < UET_CLASS_COUNT)
		return names[uet_class];
	return "unknown";
}

enum uet_class uet_class_of(uint8_t type)
{
	if (type < rw_countof(types))
		return types[type].uet_class;
	return UET_CLASS_UNKNOWN;
}

/* uet_parse - @bytes stands behind the UDP header. False when the prologue is not whole. */
static bool uet_parse(struct bytes *bytes, struct uet_packet *ret)
{
	uint16_t prologue = bytes_be16(bytes);
	*ret = (struct uet_packet){.type = (uint8_t)(prologue >> 11),
		.next = prologue >> 7 & 15,
		.flags = prologue & 0x7f};
	if (!bytes_ok(bytes))
		return false;
	if (uet_class_of(ret->type) == UET_CLASS_NACK && bytes_left(bytes) > 0) {
		ret->nack_code = bytes_u8(bytes);
		ret->has_nack = true;
	}
	return true;
}

bool uet_retransmitted(const struct uet_packet *packet)
{
	if (packet->type >= rw_countof(types) || !types[packet->type].reliable)
		return false;
	return packet->flags & FLAG_RETRANSMITTED;
}

bool uet_nack_trimmed(const struct uet_packet *packet)
{
	return packet->has_nack && packet->nack_code >= NACK_TRIMMED &&
		packet->nack_code <= NACK_TRIMMED_ACK;
}

enum {
	ETH_BYTES = 14,
	SLL_BYTES = 16,
	SLL2_BYTES = 20,
	NULL_BYTES = 4,
	GRH_NEXT_BTH = 0x1b, /* next header of a global route header */
	IP4_BYTES = 20,
	IP6_BYTES = 40,
	TYPE_IP4 = 0x0800,
	TYPE_IP6 = 0x86dd,
	TYPE_ROCEV1 = 0x8915,
	TYPE_MAC_CONTROL = 0x8808,
	TYPE_VLAN = 0x8100,
	TYPE_QINQ = 0x88a8,
	TYPE_QINQ_OLD = 0x9100,
	MAC_PAUSE = 0x0001,
	MAC_PFC = 0x0101,
	PROTO_HOP = 0,
	PROTO_TCP = 6,
	PROTO_UDP = 17,
	PROTO_ROUTING = 43,
	PROTO_FRAGMENT = 44,
	PROTO_AUTH = 51,
	PROTO_OPTIONS = 60,
	ROUTING_SEGMENTS = 4, /* type of the IPv6 routing header, RFC 8754 */
};

const char *roce_error_name(enum roce_error error)
{
	static const char *const names[ROCE_ERROR_COUNT] = {
		[ROCE_OK] = "ok",
		[ROCE_UNSUPPORTED_LINK] = "unsupported_link_type",
		[ROCE_CUT_BY_SNAPLEN] = "cut_by_snaplen",
		[ROCE_SHORT_PACKET] = "short_packet",
		[ROCE_VLAN_DEPTH] = "vlan_depth",
		[ROCE_IP_HEADER] = "bad_ip_header",
		[ROCE_IP_LENGTH] = "bad_ip_length",
		[ROCE_IP_FRAGMENT] = "ip_fragment",
		[ROCE_IP6_EXTENSIONS] = "ipv6_extensions",
		[ROCE_UDP_LENGTH] = "bad_udp_length",
		[ROCE_BTH_SHORT] = "short_roce",
		[ROCE_BTH_VERSION] = "bad_bth_version",
		[ROCE_MAC_CONTROL] = "bad_mac_control",
		[ROCE_CUT_BY_MIRROR] = "cut_by_mirror",
	};
	if ((unsigned)error < ROCE_ERROR_COUNT)
		return names[error];
	return "unknown";
}

/* ---- decoders ------------------------------------------------------------ */

static void roce_parse_refuse(struct roce_packet *packet, enum decap_refusal refusal)
{
	packet->kind = PACKET_ENCAPSULATED;
	packet->refusal = (uint8_t)refusal;
}

/* Shorten the reader to the packet: what follows is Ethernet padding. A captured part stays as it
 * is. */
static void roce_parse_limit(struct frame *frame, const uint8_t *start, size_t total)
{
	if ((size_t)(frame->b.end - start) > total)
		frame->b.end = start + total;
}

/* The datagram is only found here; who reads sFlow reads it. */
static void parse_sflow(struct frame *frame, struct roce_packet *packet, size_t n)
{
	size_t captured = bytes_left(&frame->b);
	packet->kind = PACKET_SFLOW;
	packet->sflow_data = frame->b.p;
	packet->sflow_cut = captured < n;
	if (captured > n)
		captured = n;
	packet->sflow_bytes = (uint32_t)captured;
}

/* A datagram to another port than RoCEv2's: sFlow, Ultra Ethernet, a tunnel, or not ours. */
static void parse_udp_other(
	struct frame *frame, struct roce_packet *packet, const uint8_t *udp, size_t udp_bytes)
{
	struct decap_door door = {TUNNEL_NONE, REFUSED_NOTHING};
	const bool ours = packet->dst_port == SFLOW_UDP_PORT || packet->dst_port == UET_UDP_PORT;
	if (!ours)
		door = decap_of_port(packet->dst_port);
	if (!ours && door.tunnel == TUNNEL_NONE)
		return;
	if (udp_bytes < UDP_BYTES || udp_bytes > frame->wire_left) {
		roce_parse_bad(packet, ROCE_UDP_LENGTH);
		return;
	}
	roce_parse_limit(frame, udp, udp_bytes);
	frame->wire_left = udp_bytes - UDP_BYTES;
	frame->tunnel = door.tunnel;
	if (packet->dst_port == SFLOW_UDP_PORT) {
		parse_sflow(frame, packet, udp_bytes - UDP_BYTES);
	} else if (packet->dst_port == UET_UDP_PORT) {
		packet->kind = PACKET_UET;
		if (!uet_parse(&frame->b, &packet->uet))
			ran_out(frame, packet);
	}
}

static void parse_udp(struct frame *frame, struct roce_packet *packet)
{
	const uint8_t *udp = bytes_take(&frame->b, UDP_BYTES);
	if (!udp) {
		ran_out(frame, packet);
		return;
	}
	packet->src_port = (uint16_t)((unsigned)udp[0] << 8 | udp[1]);
	packet->dst_port = (uint16_t)((unsigned)udp[2] << 8 | udp[3]);
	const size_t udp_bytes = (size_t)udp[4] << 8 | udp[5];
	/* replies go to 4791 too: a source port of 4791 alone is someone else's */
	if (packet->dst_port != ROCE_UDP_PORT)
		parse_udp_other(frame, packet, udp, udp_bytes);
	else if (udp_bytes >= UDP_BYTES && udp_bytes <= frame->wire_left)
		parse_bth(frame, packet, udp, udp_bytes);
	else if (udp_bytes > frame->wire_left && frame->wire_left > UDP_BYTES + BTH_BYTES)
		parse_trimmed(frame, packet, udp, udp_bytes);
	else
		roce_parse_bad(packet, ROCE_UDP_LENGTH);
}

/* What follows an IP header is not UDP. True: a tunnel begins there. */
static bool parse_protocol(struct frame *frame, struct roce_packet *packet, unsigned protocol)
{
	const struct decap_door door = decap_of_protocol(protocol);
	if (door.refusal != REFUSED_NOTHING)
		roce_parse_refuse(packet, door.refusal);
	frame->tunnel = door.tunnel;
	return door.tunnel != TUNNEL_NONE;
}

static void parse_tcp_ports(struct frame *frame, struct roce_packet *packet)
{
	packet->src_port = bytes_be16(&frame->b);
	packet->dst_port = bytes_be16(&frame->b);
}

/* An IP packet that is longer than what carries it: in a tunnel or mirror, that cut it. Elsewhere
 * the lengths contradict each other, and false is returned. */
static bool parse_ip_longer(struct roce_packet *packet, size_t total)
{
	if (!packet->n_tunnels) {
		roce_parse_bad(packet, ROCE_IP_LENGTH);
		return false;
	}
	packet->inner_cut = true;
	packet->octets = (uint32_t)(total + ETH_BYTES + 4u * packet->n_vlan);
	return true;
}

/* A later fragment: of TCP it is not ours anyway. */
static void roce_parse_fragment(struct frame *frame, struct roce_packet *packet)
{
	frame->tunnel = TUNNEL_NONE;
	if (packet->ip_protocol != PROTO_TCP)
		roce_parse_bad(packet, ROCE_IP_FRAGMENT);
}

static void parse_ip4(struct frame *frame, struct roce_packet *packet)
{
	const uint8_t *h = bytes_take(&frame->b, IP4_BYTES);
	if (!h) {
		ran_out(frame, packet);
		return;
	}
	size_t header = (size_t)(h[0] & 15) * 4, total = (size_t)h[2] << 8 | h[3];
	unsigned fragment = ((unsigned)h[6] << 8 | h[7]) & 0x1fff;
	if (h[0] >> 4 != 4 || header < IP4_BYTES) {
		roce_parse_bad(packet, ROCE_IP_HEADER);
		return;
	}
	if (total == 0)
		total = frame->wire_left; /* segmentation offload: the sender's own capture shows 0
					   */
	if (total < header) {
		roce_parse_bad(packet, ROCE_IP_LENGTH);
		return;
	}
	if (total > frame->wire_left && !parse_ip_longer(packet, total))
		return;
	packet->family = 4;
	memcpy(packet->src, h + 12, 4);
	memcpy(packet->dst, h + 16, 4);
	packet->dscp = h[1] >> 2;
	packet->ecn = h[1] & 3;
	packet->ttl = h[8];
	packet->ip_id = (uint16_t)((unsigned)h[4] << 8 | h[5]);
	packet->ip_protocol = h[9];
	if (h[9] != PROTO_UDP && !parse_protocol(frame, packet, h[9]) && h[9] != PROTO_TCP)
		return;
	if (fragment) {
		roce_parse_fragment(frame, packet);
		return;
	}
	frame->ip = h;
	frame->icrc_form = header == IP4_BYTES && !(h[6] & 0x20);
	roce_parse_limit(frame, h, total);
	frame->wire_left = total - header;
	if (!bytes_skip(&frame->b, header - IP4_BYTES))
		ran_out(frame, packet);
	else if (h[9] == PROTO_UDP)
		parse_udp(frame, packet);
	else if (h[9] == PROTO_TCP)
		parse_tcp_ports(frame, packet);
}

static bool is_ip6_extension(unsigned protocol)
{
	return protocol == PROTO_HOP || protocol == PROTO_ROUTING || protocol == PROTO_FRAGMENT ||
		protocol == PROTO_AUTH || protocol == PROTO_OPTIONS;
}

/* Steps over one extension header; false: it is bad or not whole, which is said in @packet. */
static bool parse_ip6_extension(struct frame *frame, struct roce_packet *packet, unsigned kind)
{
	const uint8_t *x = bytes_take(&frame->b, 8);
	if (!x) {
		ran_out(frame, packet);
		return false;
	}
	/* length in units of 8 octets beyond the first 8; AH counts 4-octet units minus 2 (RFC
	 * 4302); fragment: fixed */
	size_t size = ((size_t)x[1] + 1) * 8;
	if (kind == PROTO_FRAGMENT)
		size = 8;
	else if (kind == PROTO_AUTH)
		size = ((size_t)x[1] + 2) * 4;
	if (size < 8 || size > frame->wire_left) {
		roce_parse_bad(packet, ROCE_IP_LENGTH);
		return false;
	}
	if (!bytes_skip(&frame->b, size - 8)) {
		ran_out(frame, packet);
		return false;
	}
	frame->icrc_form = false;
	frame->wire_left -= size;
	packet->ip_protocol = x[0];
	if (kind == PROTO_ROUTING && x[2] == ROUTING_SEGMENTS)
		packet->layers |= 1u << LAYER_SRV6;
	if (kind == PROTO_FRAGMENT && (((unsigned)x[2] << 8 | x[3]) & 0xfff8)) {
		if (x[0] == PROTO_UDP || decap_of_protocol(x[0]).tunnel != TUNNEL_NONE)
			roce_parse_bad(packet, ROCE_IP_FRAGMENT);
		return false;
	}
	return true;
}

/* Leaves the protocol behind the extension headers in @packet. */
static bool parse_ip6_extensions(struct frame *frame, struct roce_packet *packet, unsigned next)
{
	for (int i = 0; is_ip6_extension(next); i++) {
		if (i == IP6_EXTENSIONS_MAX) {
			roce_parse_bad(packet, ROCE_IP6_EXTENSIONS);
			return false;
		}
		if (!parse_ip6_extension(frame, packet, next))
			return false;
		next = packet->ip_protocol;
	}
	return true;
}

static void parse_ip6(struct frame *frame, struct roce_packet *packet)
{
	const uint8_t *h = bytes_take(&frame->b, IP6_BYTES);
	if (!h) {
		ran_out(frame, packet);
		return;
	}
	size_t payload = (size_t)h[4] << 8 | h[5];
	if (h[0] >> 4 != 6) {
		roce_parse_bad(packet, ROCE_IP_HEADER);
		return;
	}
	if (payload == 0) {
		/* as above, or a jumbogram */
		if (frame->wire_left > IP6_BYTES)
			payload = frame->wire_left - IP6_BYTES;
		else
			payload = 0;
	}
	if (payload + IP6_BYTES > frame->wire_left && !parse_ip_longer(packet, payload + IP6_BYTES))
		return;
	packet->family = 6;
	memcpy(packet->src, h + 8, 16);
	memcpy(packet->dst, h + 24, 16);
	packet->dscp = (uint8_t)((h[0] & 15) << 2 | h[1] >> 6);
	packet->ecn = h[1] >> 4 & 3;
	packet->ttl = h[7];
	packet->flow_label = (h[1] & 15u) << 16 | (uint32_t)h[2] << 8 | h[3];
	frame->ip = h;
	frame->icrc_form = true;
	roce_parse_limit(frame, h, IP6_BYTES + payload);
	frame->wire_left = payload;

	packet->ip_protocol = h[6];
	if (h[6] != PROTO_UDP && !parse_ip6_extensions(frame, packet, h[6]))
		return;
	if (packet->ip_protocol == PROTO_UDP)
		parse_udp(frame, packet);
	else if (packet->ip_protocol == PROTO_TCP)
		parse_tcp_ports(frame, packet);
	else if (parse_protocol(frame, packet, packet->ip_protocol) && frame->tunnel == TUNNEL_IP &&
		packet->layers & 1u << LAYER_SRV6)
		frame->tunnel = TUNNEL_SRV6_IP;
}

static void parse_mac_control(struct frame *frame, struct roce_packet *packet)
{
	unsigned opcode = bytes_be16(&frame->b);
	if (opcode == MAC_PFC) {
		packet->kind = PACKET_PFC;
		packet->classes = (uint8_t)bytes_be16(&frame->b); /* the high byte is reserved */
		for (int i = 0; i < 8; i++)
			packet->time[i] = bytes_be16(&frame->b);
	} else if (opcode == MAC_PAUSE) {
		packet->kind = PACKET_PAUSE;
		packet->time[0] = bytes_be16(&frame->b);
	}
	if (bytes_ok(&frame->b))
		return;
	if (frame->cut)
		roce_parse_bad(packet, ROCE_CUT_BY_SNAPLEN);
	else
		roce_parse_bad(packet, ROCE_MAC_CONTROL);
}

/* RoCE version 1: a global route header, laid out as an IPv6 header, and the transport header
 * behind it (annex A16). What can be read of it is filled in; its kind says what it is in any case.
 */
static void parse_rocev1(struct frame *frame, struct roce_packet *packet)
{
	const uint8_t *h = bytes_take(&frame->b, IP6_BYTES);
	packet->kind = PACKET_ROCEV1;
	if (!h || h[0] >> 4 != 6 || h[6] != GRH_NEXT_BTH)
		return;
	packet->dscp = (uint8_t)((h[0] & 15) << 2 | h[1] >> 6);
	packet->flow_label = (h[1] & 15u) << 16 | (uint32_t)h[2] << 8 | h[3];
	const uint8_t *bth = bytes_take(&frame->b, BTH_BYTES);
	if (!bth || parse_bth_fields(bth, packet))
		return;
	packet->kind = PACKET_ROCEV1;
	packet->error = ROCE_OK;
}

/* An ethertype that is neither IP nor RoCE: a tunnel, or not ours. */
static void parse_type_other(struct frame *frame, struct roce_packet *packet, unsigned type)
{
	const struct decap_door door = decap_of_type(type);
	if (door.refusal != REFUSED_NOTHING)
		roce_parse_refuse(packet, door.refusal);
	frame->tunnel = door.tunnel;
}

static void parse_type(struct frame *frame, struct roce_packet *packet, unsigned type)
{
	while (type == TYPE_VLAN || type == TYPE_QINQ || type == TYPE_QINQ_OLD) {
		unsigned tag = bytes_be16(&frame->b);
		type = bytes_be16(&frame->b);
		if (!bytes_ok(&frame->b)) {
			ran_out(frame, packet);
			return;
		}
		if (packet->n_vlan == VLAN_TAGS_MAX) {
			roce_parse_bad(packet, ROCE_VLAN_DEPTH);
			return;
		}
		if (packet->n_vlan++ == 0) {
			packet->pcp = (uint8_t)(tag >> 13);
			packet->vlan = tag & 0xfff;
		}
		frame->wire_left -= 4;
	}
	packet->ethertype = (uint16_t)type;
	if (packet->n_vlan)
		packet->layers |= 1u << (packet->n_vlan == 1 ? LAYER_VLAN : LAYER_QINQ);
	if (type == TYPE_IP4)
		parse_ip4(frame, packet);
	else if (type == TYPE_IP6)
		parse_ip6(frame, packet);
	else if (type == TYPE_ROCEV1)
		parse_rocev1(frame, packet);
	else if (type == TYPE_MAC_CONTROL)
		parse_mac_control(frame, packet);
	else
		parse_type_other(frame, packet, type);
}

static void parse_raw(struct frame *frame, struct roce_packet *packet)
{
	if (bytes_left(&frame->b) == 0)
		ran_out(frame, packet);
	else if (*frame->b.p >> 4 == 4)
		parse_ip4(frame, packet);
	else if (*frame->b.p >> 4 == 6)
		parse_ip6(frame, packet);
	else
		roce_parse_bad(packet, ROCE_IP_HEADER);
}

static void parse_ethernet(struct frame *frame, struct roce_packet *packet)
{
	const uint8_t *h = bytes_take(&frame->b, ETH_BYTES);
	if (!h) {
		ran_out(frame, packet);
		return;
	}
	memcpy(packet->src_mac, h + 6, sizeof(packet->src_mac));
	frame->wire_left -= ETH_BYTES;
	parse_type(frame, packet, (unsigned)h[12] << 8 | h[13]);
}

/* ---- tunnels ------------------------------------------------------------- */

/* The headers read so far were those around the packet: keep who sent it, forget the rest. */
static void parse_go_inside(struct frame *frame, struct roce_packet *packet, bool mirror)
{
	/* the congestion of the way that a mirror takes is not that of the packet in it */
	frame->outer_ce = !mirror && (frame->outer_ce || packet->ecn == ECN_CE);
	if (!packet->outer_family) {
		packet->outer_family = packet->family;
		memcpy(packet->outer_src, packet->src, sizeof(packet->outer_src));
	}
	memset(packet->src, 0, sizeof(packet->src));
	memset(packet->dst, 0, sizeof(packet->dst));
	packet->family = packet->ecn = packet->dscp = packet->ttl = 0;
	packet->ip_protocol = 0;
	packet->ip_id = packet->src_port = packet->dst_port = packet->ethertype = 0;
	packet->flow_label = 0;
	packet->n_tunnels++;
}

static void parse_inner(
	struct frame *frame, struct roce_packet *packet, const struct decap_inner *inner)
{
	packet->layers |= 1u << inner->layer;
	if (inner->mirror.layer)
		packet->mirror = inner->mirror;
	packet->inner_cut |= inner->mirror.truncated;
	packet->octets = (uint32_t)(frame->wire_left + ETH_BYTES);
	if (inner->next == NEXT_TYPE) {
		parse_type(frame, packet, inner->type);
	} else if (inner->next == NEXT_IP) {
		parse_raw(frame, packet);
	} else {
		packet->octets = (uint32_t)frame->wire_left;
		packet->n_vlan = packet->pcp = 0;
		packet->vlan = 0;
		parse_ethernet(frame, packet);
	}
	if (packet->mirror.vlan && packet->n_vlan == 0) {
		packet->vlan = packet->mirror.vlan;
		packet->pcp = packet->mirror.cos;
	}
}

/* Out of line: plain frames do not come here. */
static __attribute__((noinline)) void parse_tunnels(struct frame *frame, struct roce_packet *packet)
{
	while (frame->tunnel != TUNNEL_NONE) {
		struct decap_inner inner;
		const uint8_t *header = frame->b.p;
		if (packet->n_tunnels == DECAP_DEPTH_MAX) {
			roce_parse_refuse(packet, REFUSED_TOO_DEEP);
			return;
		}
		decap_open(frame->tunnel, &frame->b, &inner);
		frame->tunnel = TUNNEL_NONE;
		if (inner.next == NEXT_SHORT)
			ran_out(frame, packet);
		if (inner.next == NEXT_SHORT || inner.next == NEXT_OTHER)
			return;
		if (inner.next == NEXT_REFUSED) {
			roce_parse_refuse(packet, inner.refusal);
			return;
		}
		parse_go_inside(frame, packet, inner.mirror.layer != 0);
		frame->wire_left -= (size_t)(frame->b.p - header);
		parse_inner(frame, packet, &inner);
	}
	/* what the end of the tunnel will write into the packet: RFC 6040, figure 4 */
	if (frame->outer_ce && packet->family && packet->ecn != ECN_NOT_ECT)
		packet->ecn = ECN_CE;
}

/* ---- the frame ----------------------------------------------------------- */

/* .kind = PACKET_OTHER. The size is volatile so that the library's memset is called: for a size
 * that it knows, GCC writes a string instruction, which costs a tenth of all the decoding. */
static void roce_parse_clear(struct roce_packet *packet)
{
	static const volatile size_t size = sizeof(*packet);
	memset(packet, 0, size);
}

/*
 * roce_parse_plain - nearly all packets of a capture: Ethernet, at most one tag, IPv4 without
 * options and fragments, UDP to the port of RoCEv2, all of it captured. False: something else, and
 * nothing of it is judged here. The decoders above say the same of these, in three times as long.
 */
static bool roce_parse_plain(
	const uint8_t *bytes, size_t n, size_t wire, unsigned flags, struct roce_packet *packet)
{
	if (n < ETH_BYTES + 4 + IP4_BYTES + UDP_BYTES + BTH_BYTES || wire < n)
		return false;
	unsigned type = (unsigned)bytes[12] << 8 | bytes[13];
	const size_t tag_bytes = type == TYPE_VLAN ? 4 : 0;
	if (tag_bytes)
		type = (unsigned)bytes[16] << 8 | bytes[17];
	const uint8_t *ip = bytes + ETH_BYTES + tag_bytes, *udp = ip + IP4_BYTES;
	const size_t total = (size_t)ip[2] << 8 | ip[3], udp_bytes = (size_t)udp[4] << 8 | udp[5];
	const size_t left = wire - ETH_BYTES - tag_bytes;
	const bool plain = type == TYPE_IP4 && ip[0] == 0x45 && ip[9] == PROTO_UDP &&
		(((unsigned)ip[6] << 8 | ip[7]) & 0x3fff) == 0;
	const unsigned port = (unsigned)udp[2] << 8 | udp[3];
	if (!plain || port != ROCE_UDP_PORT || total > left || udp_bytes + IP4_BYTES != total ||
		udp_bytes < UDP_BYTES + BTH_BYTES + ICRC_BYTES)
		return false;
	size_t captured = n - (size_t)(udp + UDP_BYTES - bytes);
	if (captured > udp_bytes - UDP_BYTES)
		captured = udp_bytes - UDP_BYTES; /* the rest fills the frame up */
	packet->octets = packet->frame_octets = (uint32_t)wire;
	memcpy(packet->src_mac, bytes + 6, sizeof(packet->src_mac));
	if (tag_bytes) {
		const unsigned tag = (unsigned)bytes[14] << 8 | bytes[15];
		packet->n_vlan = 1;
		packet->pcp = (uint8_t)(tag >> 13);
		packet->vlan = tag & 0xfff;
		packet->layers = 1u << LAYER_VLAN;
	}
	packet->ethertype = TYPE_IP4;
	packet->family = 4;
	memcpy(packet->src, ip + 12, 4);
	memcpy(packet->dst, ip + 16, 4);
	packet->dscp = ip[1] >> 2;
	packet->ecn = ip[1] & 3;
	packet->ttl = ip[8];
	packet->ip_id = (uint16_t)((unsigned)ip[4] << 8 | ip[5]);
	packet->ip_protocol = PROTO_UDP;
	packet->src_port = (uint16_t)((unsigned)udp[0] << 8 | udp[1]);
	packet->dst_port = ROCE_UDP_PORT;
	if (!(flags & ROCE_CHECK_ICRC))
		ip = NULL;
	parse_transport(packet, ip, udp, udp_bytes, captured);
	return true;
}

void roce_parse(enum roce_link link, const uint8_t *bytes, size_t n, size_t wire, unsigned flags,
	struct roce_packet *ret)
{
	/* Where the protocol number stands in each link header; -1: nowhere, the IP version
	 * decides. */
	static const struct {
		size_t header;
		int type_at;
	} links[] = {
		[LINK_ETHERNET] = {ETH_BYTES, 12},
		[LINK_RAW_IP] = {0, -1},
		[LINK_SLL] = {SLL_BYTES, 14},
		[LINK_SLL2] = {SLL2_BYTES, 0},
		[LINK_NULL] = {NULL_BYTES, -1},
	};
	roce_parse_clear(ret);
	if (link == LINK_ETHERNET && roce_parse_plain(bytes, n, wire, flags, ret))
		return;
	if (link <= LINK_UNSUPPORTED || link >= rw_countof(links)) {
		ret->octets = ret->frame_octets = (uint32_t)wire;
		roce_parse_bad(ret, ROCE_UNSUPPORTED_LINK);
		return;
	}
	if (wire < n)
		wire = n;
	struct frame f = {.b = bytes_of(bytes, n),
		.captured_end = bytes + n,
		.cut = n < wire,
		.flags = flags};
	size_t header = links[link].header;
	const uint8_t *h = bytes_take(&f.b, header);
	ret->octets = (uint32_t)wire;
	if (wire >= header)
		ret->octets = (uint32_t)(wire - header + ETH_BYTES);
	ret->frame_octets = ret->octets;
	if (!h) {
		ran_out(&f, ret);
		return;
	}
	f.wire_left = wire - header;
	if (link == LINK_ETHERNET)
		memcpy(ret->src_mac, h + 6, sizeof(ret->src_mac));
	if (links[link].type_at < 0)
		parse_raw(&f, ret);
	else
		parse_type(&f, ret,
			(unsigned)h[links[link].type_at] << 8 | h[links[link].type_at + 1]);
	if (f.tunnel != TUNNEL_NONE)
		parse_tunnels(&f, ret);
}

#define CAPTURE_AGAIN "no tool converts it: capture again on the Ethernet interface"

struct link_row {
	uint32_t number;
	enum roce_link link;
	const char *name;
	/* NULL: CAPTURE_AGAIN. A header of fixed length before a frame can be taken off. */
	const char *hint;
};

static const struct link_row link_rows[] = {
	{0, LINK_NULL, "BSD loopback", NULL},
	{1, LINK_ETHERNET, "Ethernet", NULL},
	{6, LINK_UNSUPPORTED, "Token Ring", NULL},
	{9, LINK_UNSUPPORTED, "PPP", NULL},
	{10, LINK_UNSUPPORTED, "FDDI", NULL},
	{12, LINK_RAW_IP, "raw IP", NULL},
	{14, LINK_RAW_IP, "raw IP", NULL},
	{50, LINK_UNSUPPORTED, "PPP in HDLC framing", NULL},
	{51, LINK_UNSUPPORTED, "PPPoE", NULL},
	{101, LINK_RAW_IP, "raw IP", NULL},
	{104, LINK_UNSUPPORTED, "Cisco HDLC",
		"take its 4 bytes off: editcap -F pcap -C 4 -T rawip IN OUT"},
	{105, LINK_UNSUPPORTED, "IEEE 802.11", NULL},
	{108, LINK_NULL, "OpenBSD loopback", NULL},
	{113, LINK_SLL, "Linux cooked capture", NULL},
	{119, LINK_UNSUPPORTED, "IEEE 802.11 with Prism header", NULL},
	{127, LINK_UNSUPPORTED, "IEEE 802.11 with radiotap header", NULL},
	{163, LINK_UNSUPPORTED, "IEEE 802.11 with AVS header", NULL},
	{189, LINK_UNSUPPORTED, "USB", NULL},
	{192, LINK_UNSUPPORTED, "per-packet information", NULL},
	{197, LINK_UNSUPPORTED, "ERF of a capture card",
		"have the card write pcap with link type Ethernet"},
	{220, LINK_UNSUPPORTED, "USB", NULL},
	{228, LINK_RAW_IP, "raw IPv4", NULL},
	{229, LINK_RAW_IP, "raw IPv6", NULL},
	{239, LINK_UNSUPPORTED, "netfilter log", "capture on the interface and not on nflog"},
	{240, LINK_UNSUPPORTED, "netANALYZER",
		"take its 4 bytes off: editcap -F pcap -C 4 -T ether IN OUT"},
	{241, LINK_UNSUPPORTED, "netANALYZER, transparent",
		"take its 12 bytes off: editcap -F pcap -C 12 -T ether IN OUT"},
	{242, LINK_UNSUPPORTED, "IP over InfiniBand", NULL},
	{247, LINK_UNSUPPORTED, "InfiniBand",
		"it is native InfiniBand, which is not RoCE and is not judged"},
	{249, LINK_UNSUPPORTED, "USB", NULL},
	{252, LINK_UNSUPPORTED, "exported PDUs of Wireshark",
		"save the packets and not the exported PDUs"},
	{253, LINK_UNSUPPORTED, "Linux netlink", "capture on the interface and not on nlmon"},
	{271, LINK_UNSUPPORTED, "Linux vsock", NULL},
	{274, LINK_UNSUPPORTED, "Ethernet with preamble",
		"take its 8 bytes off: editcap -F pcap -C 8 -T ether IN OUT"},
	{276, LINK_SLL2, "Linux cooked capture 2", NULL},
};

static const struct link_row *link_find(uint32_t linktype)
{
	for (size_t i = 0; i < rw_countof(link_rows); i++)
		if (link_rows[i].number == linktype)
			return &link_rows[i];
	return NULL;
}

enum roce_link link_of_dlt(uint32_t linktype)
{
	const struct link_row *row = link_find(linktype);
	if (row)
		return row->link;
	return LINK_UNSUPPORTED;
}

const char *link_name(char buf[LINK_NAME_MAX], uint32_t linktype)
{
	const struct link_row *row = link_find(linktype);
	if (row)
		snprintf(buf, LINK_NAME_MAX, "%s", row->name);
	else
		snprintf(buf, LINK_NAME_MAX, "link type %u", linktype);
	return buf;
}

const char *link_hint(uint32_t linktype)
{
	const struct link_row *row = link_find(linktype);
	if (row && row->hint)
		return row->hint;
	return CAPTURE_AGAIN;
}
