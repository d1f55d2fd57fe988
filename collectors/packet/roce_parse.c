/* roce_parse - see roce_parse.h. The decoders follow the order of the headers on the wire, bottom
 * of the file first. */
#include "collectors/packet/roce_parse.h"

#include <string.h>

#include "agent/base/bytes.h"
#include "agent/base/cleanup.h"
#include "collectors/packet/roce_bth.h"

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
	if (parse_bth_fields(frame, packet))
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
