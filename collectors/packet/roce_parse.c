/* roce_parse - see roce_parse.h. The decoders follow the order of the headers on the wire, bottom
 * of the file first. */
#include "collectors/packet/roce_parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/bytes.h"
#include "agent/base/cleanup.h"
#include "collectors/packet/icrc.h"

enum {
	ETH_BYTES = 14,
	SLL_BYTES = 16,
	SLL2_BYTES = 20,
	NULL_BYTES = 4,
	IP4_BYTES = 20,
	IP6_BYTES = 40,
	UDP_BYTES = 8,
	BTH_BYTES = 12,
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
	PROTO_UDP = 17,
	PROTO_ROUTING = 43,
	PROTO_FRAGMENT = 44,
	PROTO_AUTH = 51,
	PROTO_OPTIONS = 60,
};

/* ---- opcodes ------------------------------------------------------------- */

/* Extension headers, in the order in which they follow the BTH. */
enum { X_RETH = 1, X_ATOMIC = 2, X_AETH = 4, X_ATOMIC_ACK = 8, X_IMM = 16, X_IETH = 32 };

struct operation { /* low five bits of the opcode */
	const char *name;
	unsigned extensions;
	enum roce_role role;
};

static const struct operation operations[32] = {
	[0x00] = {"SEND_FIRST", 0, ROLE_REQUEST},
	[0x01] = {"SEND_MIDDLE", 0, ROLE_REQUEST},
	[0x02] = {"SEND_LAST", 0, ROLE_REQUEST},
	[0x03] = {"SEND_LAST_WITH_IMMEDIATE", X_IMM, ROLE_REQUEST},
	[0x04] = {"SEND_ONLY", 0, ROLE_REQUEST},
	[0x05] = {"SEND_ONLY_WITH_IMMEDIATE", X_IMM, ROLE_REQUEST},
	[0x06] = {"RDMA_WRITE_FIRST", X_RETH, ROLE_REQUEST},
	[0x07] = {"RDMA_WRITE_MIDDLE", 0, ROLE_REQUEST},
	[0x08] = {"RDMA_WRITE_LAST", 0, ROLE_REQUEST},
	[0x09] = {"RDMA_WRITE_LAST_WITH_IMMEDIATE", X_IMM, ROLE_REQUEST},
	[0x0a] = {"RDMA_WRITE_ONLY", X_RETH, ROLE_REQUEST},
	[0x0b] = {"RDMA_WRITE_ONLY_WITH_IMMEDIATE", X_RETH | X_IMM, ROLE_REQUEST},
	[0x0c] = {"RDMA_READ_REQUEST", X_RETH, ROLE_REQUEST},
	[0x0d] = {"RDMA_READ_RESPONSE_FIRST", X_AETH, ROLE_RESPONSE_FIRST},
	[0x0e] = {"RDMA_READ_RESPONSE_MIDDLE", 0, ROLE_RESPONSE},
	[0x0f] = {"RDMA_READ_RESPONSE_LAST", X_AETH, ROLE_RESPONSE},
	[0x10] = {"RDMA_READ_RESPONSE_ONLY", X_AETH, ROLE_RESPONSE_FIRST},
	[0x11] = {"ACKNOWLEDGE", X_AETH, ROLE_ACK},
	[0x12] = {"ATOMIC_ACKNOWLEDGE", X_AETH | X_ATOMIC_ACK, ROLE_ACK},
	[0x13] = {"COMPARE_SWAP", X_ATOMIC, ROLE_REQUEST},
	[0x14] = {"FETCH_ADD", X_ATOMIC, ROLE_REQUEST},
	[0x15] = {"RESYNC", 0, ROLE_REQUEST},
	[0x16] = {"SEND_LAST_WITH_INVALIDATE", X_IETH, ROLE_REQUEST},
	[0x17] = {"SEND_ONLY_WITH_INVALIDATE", X_IETH, ROLE_REQUEST},
};

struct transport { /* high three bits of the opcode */
	const char *name;
	uint32_t defined; /* bit n: operation n exists */
	uint8_t any_bytes; /* extension header on every packet (RDETH) */
	uint8_t request_bytes; /* and on requests (DETH, XRCETH) */
};

static const struct transport transports[8] = {
	[0] = {"RC", 0x00dfffff, 0, 0},
	[1] = {"UC", 0x00000fff, 0, 0},
	[2] = {"RD", 0x003fffff, 4, 8},
	[3] = {"UD", 0x00000030, 0, 8},
	[5] = {"XRC", 0x00dfffff, 0, 4},
};

static bool opcode_defined(uint8_t opcode)
{
	return transports[opcode >> 5].defined >> (opcode & 31) & 1;
}

char *roce_opcode_text(char buf[ROCE_OPCODE_TEXT_MAX], uint8_t opcode)
{
	if (opcode == ROCE_OPCODE_CNP)
		snprintf(buf, ROCE_OPCODE_TEXT_MAX, "CNP");
	else if (opcode_defined(opcode))
		snprintf(buf, ROCE_OPCODE_TEXT_MAX, "%s_%s", transports[opcode >> 5].name,
			operations[opcode & 31].name);
	else
		snprintf(buf, ROCE_OPCODE_TEXT_MAX, "0x%02x", opcode);
	return buf;
}

enum roce_role roce_opcode_role(uint8_t opcode)
{
	if (opcode_defined(opcode))
		return operations[opcode & 31].role;
	return ROLE_NONE;
}

const char *aeth_nak_text(uint8_t syndrome)
{
	static const char *const text[] = {"PSN sequence error", "invalid request",
		"remote access error", "remote operational error", "invalid RD request"};
	unsigned code = syndrome & 31;
	if (code < rw_countof(text))
		return text[code];
	return "reserved code";
}

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

enum roce_link link_of_dlt(uint32_t linktype)
{
	static const struct {
		uint32_t dlt;
		enum roce_link link;
	} known[] = {
		{0, LINK_NULL},
		{108, LINK_NULL},
		{1, LINK_ETHERNET},
		{12, LINK_RAW_IP},
		{14, LINK_RAW_IP},
		{101, LINK_RAW_IP},
		{228, LINK_RAW_IP},
		{229, LINK_RAW_IP},
		{113, LINK_SLL},
		{276, LINK_SLL2},
	};
	for (size_t i = 0; i < rw_countof(known); i++)
		if (known[i].dlt == linktype)
			return known[i].link;
	return LINK_UNSUPPORTED;
}

/* ---- decoders ------------------------------------------------------------ */

struct frame {
	struct bytes b;
	bool cut; /* fewer bytes captured than were on the wire */
	unsigned flags;
	const uint8_t *ip; /* IP header, for ICRC */
	/* no IPv4 options, no IPv6 extension headers, not a fragment: ICRC is defined */
	bool icrc_form;
	size_t wire_left; /* bytes of the packet from here on, as the last length field said */
};

static void roce_parse_bad(struct roce_packet *packet, enum roce_error error)
{
	packet->kind = PACKET_BAD;
	packet->error = error;
}

static void ran_out(const struct frame *frame, struct roce_packet *packet)
{
	if (frame->cut)
		roce_parse_bad(packet, ROCE_CUT_BY_SNAPLEN);
	else
		roce_parse_bad(packet, ROCE_SHORT_PACKET);
}

static void parse_extensions(struct frame *frame, struct roce_packet *packet, size_t body)
{
	if (!opcode_defined(packet->opcode))
		return;
	const struct transport *t = &transports[packet->opcode >> 5];
	const struct operation *o = &operations[packet->opcode & 31];
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

/* @udp_bytes: UDP length, header included; the reader stands behind the UDP header. */
static void parse_bth(
	struct frame *frame, struct roce_packet *roce_packet, const uint8_t *udp, size_t udp_bytes)
{
	if (udp_bytes < UDP_BYTES + BTH_BYTES + ICRC_BYTES) {
		roce_parse_bad(roce_packet, ROCE_BTH_SHORT);
		return;
	}
	size_t captured = bytes_left(&frame->b), packet = udp_bytes - UDP_BYTES;
	roce_packet->opcode = bytes_u8(&frame->b);
	uint8_t flags = bytes_u8(&frame->b);
	roce_packet->se = flags & 0x80;
	roce_packet->mig_req = flags & 0x40;
	roce_packet->pad = flags >> 4 & 3;
	roce_packet->p_key = bytes_be16(&frame->b);
	uint8_t ecn = bytes_u8(&frame->b);
	roce_packet->fecn = ecn & 0x80;
	roce_packet->becn = ecn & 0x40;
	roce_packet->dst_qp = bytes_be24(&frame->b);
	roce_packet->ack_req = bytes_u8(&frame->b) & 0x80;
	roce_packet->psn = bytes_be24(&frame->b);
	if (!bytes_ok(&frame->b)) {
		ran_out(frame, roce_packet);
		return;
	}
	if (flags & 0x0f) {
		roce_parse_bad(roce_packet, ROCE_BTH_VERSION);
		return;
	}
	roce_packet->kind = PACKET_ROCE;
	parse_extensions(frame, roce_packet, packet - BTH_BYTES - ICRC_BYTES);

	if (captured >= packet) {
		roce_packet->icrc_seen = true;
		roce_packet->icrc_wire = icrc_get(udp + udp_bytes - ICRC_BYTES);
	}
	if ((frame->flags & ROCE_CHECK_ICRC) && frame->icrc_form && captured >= packet) {
		const uint8_t *end = udp + udp_bytes;
		uint32_t icrc;
		if (icrc_compute(frame->ip, (size_t)(end - frame->ip) - ICRC_BYTES, &icrc) == 0) {
			if (icrc == icrc_get(end - ICRC_BYTES))
				roce_packet->icrc = ICRC_OK;
			else
				roce_packet->icrc = ICRC_BAD;
		}
	}
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

static void parse_udp(struct frame *frame, struct roce_packet *packet)
{
	const uint8_t *udp = frame->b.p;
	packet->src_port = bytes_be16(&frame->b);
	uint16_t dst_port = bytes_be16(&frame->b);
	size_t udp_bytes = bytes_be16(&frame->b);
	bytes_skip(&frame->b, 2);
	if (!bytes_ok(&frame->b)) {
		ran_out(frame, packet);
		return;
	}
	/* replies go to 4791 too: a source port of 4791 alone is someone else's */
	if (dst_port != ROCE_UDP_PORT && dst_port != SFLOW_UDP_PORT)
		return;
	if (udp_bytes < UDP_BYTES || udp_bytes > frame->wire_left) {
		roce_parse_bad(packet, ROCE_UDP_LENGTH);
		return;
	}
	if (dst_port == ROCE_UDP_PORT)
		parse_bth(frame, packet, udp, udp_bytes);
	else
		parse_sflow(frame, packet, udp_bytes - UDP_BYTES);
}

/* Shorten the reader to the packet: what follows is Ethernet padding. A captured part stays as it
 * is. */
static void roce_parse_limit(struct frame *frame, const uint8_t *start, size_t total)
{
	if ((size_t)(frame->b.end - start) > total)
		frame->b.end = start + total;
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
	if (total < header || total > frame->wire_left) {
		roce_parse_bad(packet, ROCE_IP_LENGTH);
		return;
	}
	packet->family = 4;
	memcpy(packet->src, h + 12, 4);
	memcpy(packet->dst, h + 16, 4);
	packet->dscp = h[1] >> 2;
	packet->ecn = h[1] & 3;
	packet->ttl = h[8];
	packet->ip_id = (uint16_t)((unsigned)h[4] << 8 | h[5]);
	if (h[9] != PROTO_UDP)
		return;
	if (fragment) {
		roce_parse_bad(packet, ROCE_IP_FRAGMENT);
		return;
	}
	frame->ip = h;
	frame->icrc_form = header == IP4_BYTES && !(h[6] & 0x20);
	roce_parse_limit(frame, h, total);
	frame->wire_left = total - header;
	if (!bytes_skip(&frame->b, header - IP4_BYTES)) {
		ran_out(frame, packet);
		return;
	}
	parse_udp(frame, packet);
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
	if (payload + IP6_BYTES > frame->wire_left) {
		roce_parse_bad(packet, ROCE_IP_LENGTH);
		return;
	}
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

	uint8_t next = h[6];
	for (int i = 0; next != PROTO_UDP; i++) {
		if (next != PROTO_HOP && next != PROTO_ROUTING && next != PROTO_FRAGMENT &&
			next != PROTO_AUTH && next != PROTO_OPTIONS)
			return;
		if (i == IP6_EXTENSIONS_MAX) {
			roce_parse_bad(packet, ROCE_IP6_EXTENSIONS);
			return;
		}
		const uint8_t *x = bytes_take(&frame->b, 8);
		if (!x) {
			ran_out(frame, packet);
			return;
		}
		/* length in units of 8 octets beyond the first 8; AH counts 4-octet units minus 2
		 * (RFC 4302); fragment: fixed */
		size_t size;
		if (next == PROTO_FRAGMENT)
			size = 8;
		else if (next == PROTO_AUTH)
			size = ((size_t)x[1] + 2) * 4;
		else
			size = ((size_t)x[1] + 1) * 8;
		if (size < 8 || size > frame->wire_left) {
			roce_parse_bad(packet, ROCE_IP_LENGTH);
			return;
		}
		if (!bytes_skip(&frame->b, size - 8)) {
			ran_out(frame, packet);
			return;
		}
		frame->icrc_form = false;
		frame->wire_left -= size;
		if (next == PROTO_FRAGMENT && (((unsigned)x[2] << 8 | x[3]) & 0xfff8)) {
			if (x[0] == PROTO_UDP)
				roce_parse_bad(packet, ROCE_IP_FRAGMENT);
			return;
		}
		next = x[0];
	}
	parse_udp(frame, packet);
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
	if (type == TYPE_IP4)
		parse_ip4(frame, packet);
	else if (type == TYPE_IP6)
		parse_ip6(frame, packet);
	else if (type == TYPE_ROCEV1)
		packet->kind = PACKET_ROCEV1;
	else if (type == TYPE_MAC_CONTROL)
		parse_mac_control(frame, packet);
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
	*ret = (struct roce_packet){.kind = PACKET_OTHER};
	if (link <= LINK_UNSUPPORTED || link >= rw_countof(links)) {
		ret->octets = ret->frame_octets = (uint32_t)wire;
		roce_parse_bad(ret, ROCE_UNSUPPORTED_LINK);
		return;
	}
	if (wire < n)
		wire = n;
	struct frame f = {.b = bytes_of(bytes, n), .cut = n < wire, .flags = flags};
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
}
