/*
 * roce_parse - one captured frame to what rocewatch wants to know of it. Pure: bytes in, value out;
 * nothing is kept or allocated. Every size comes from the wire and none is believed: reading goes
 * through bytes.h.
 */
#pragma once

#include "base/base.h"

#include "base/bytes.h"
#include "collectors/packet/frame/decap.h"
#include "collectors/packet/frame/roce_opcode.h"

/*
 * link_type - how the frames of a capture begin: the link types that are read, and the names of
 * others with the way to convert them. Pure. Numbers and layouts: tcpdump.org, list of link types.
 */

/* Values are our own; link_of_dlt() translates the numbers of capture files. */
enum roce_link { LINK_UNSUPPORTED, LINK_ETHERNET, LINK_RAW_IP, LINK_SLL, LINK_SLL2, LINK_NULL };
enum roce_link link_of_dlt(uint32_t linktype);

/* link_name - of a number in a capture file: "IEEE 802.11", or "link type 233". */
#define LINK_NAME_MAX 64
const char *link_name(char buf[LINK_NAME_MAX], uint32_t linktype);

/* link_hint - what to do about a link type that is not read, as one phrase; where a tool converts
 * it, with its command line. */
const char *link_hint(uint32_t linktype);

/*
 * uet - Ultra Ethernet transport: the prologue of its packet delivery sublayer, UDP port 4793. It
 * is recognised and counted by type; its sequence numbers are not followed, since it does not keep
 * order. Pure. Source: Ultra Ethernet Specification 1.0.1, section on the packet delivery sublayer:
 * 5 bits type, 4 bits next header or control type, 7 bits flags.
 */

/* Groups of types, as the report counts them. */
enum uet_class {
	UET_CLASS_REQUEST, /* RUD, ROD */
	UET_CLASS_ACK,
	UET_CLASS_NACK,
	UET_CLASS_CONTROL,
	UET_CLASS_RUDI,
	UET_CLASS_UUD,
	UET_CLASS_ENCRYPTED,
	UET_CLASS_UNKNOWN,
	UET_CLASS_COUNT,
};
const char *uet_class_name(enum uet_class uet_class); /* "request": a key of the JSON report */

struct uet_packet {
	uint8_t type; /* enum uet_type, or a value that it does not define */
	uint8_t next; /* next header; of a control packet the control type */
	uint8_t flags;
	bool has_nack; /* .nack_code was captured */
	uint8_t nack_code;
};

enum uet_class uet_class_of(uint8_t type);
bool uet_retransmitted(const struct uet_packet *packet); /* the sender says so */
bool uet_nack_trimmed(const struct uet_packet *packet); /* a NACK because a switch trimmed */

enum roce_kind {
	PACKET_OTHER, /* understood, not ours */
	PACKET_ROCE, /* RoCEv2 */
	PACKET_ROCEV1, /* ethertype 0x8915: counted, not read */
	PACKET_PFC, /* 802.1Qbb, MAC control opcode 0x0101 */
	PACKET_PAUSE, /* 802.3x, MAC control opcode 0x0001 */
	PACKET_BAD, /* .error says why */
	PACKET_SFLOW, /* a datagram of sFlow: .sflow_data, .sflow_bytes */
	PACKET_UET, /* Ultra Ethernet transport: .uet */
	PACKET_ENCAPSULATED, /* recognised and not opened: .refusal says what */
};

enum roce_error {
	ROCE_OK,
	ROCE_UNSUPPORTED_LINK, /* link type that is not read */
	ROCE_CUT_BY_SNAPLEN, /* the capture ends within the headers, the packet did not */
	ROCE_SHORT_PACKET, /* the packet itself ends within its headers */
	ROCE_VLAN_DEPTH, /* more tags than VLAN_TAGS_MAX */
	ROCE_IP_HEADER, /* version or header length impossible */
	/* total length shorter than the header or longer than the frame */
	ROCE_IP_LENGTH,
	/* a later fragment of UDP: no header to read; RoCEv2 is never fragmented by its sender */
	ROCE_IP_FRAGMENT,
	ROCE_IP6_EXTENSIONS, /* more extension headers than IP6_EXTENSIONS_MAX */
	/* UDP length shorter than its header or longer than the IP payload */
	ROCE_UDP_LENGTH,
	ROCE_BTH_SHORT, /* UDP payload on port 4791 too short for BTH and ICRC */
	ROCE_BTH_VERSION, /* transport header version is not 0: not RoCEv2, or broken */
	ROCE_MAC_CONTROL, /* PFC or pause frame too short for its fields */
	ROCE_CUT_BY_MIRROR, /* the mirror or tunnel carries only a part of the frame's headers */
	ROCE_ERROR_COUNT,
};
const char *roce_error_name(enum roce_error error); /* "cut_by_snaplen": keys of the JSON report */

enum icrc_verdict { ICRC_UNCHECKED, ICRC_OK, ICRC_BAD };

/* ECN field of the IP header, RFC 3168. */
enum { ECN_NOT_ECT = 0, ECN_ECT1 = 1, ECN_ECT0 = 2, ECN_CE = 3 };

/* AETH syndrome bits 6:5; the low five bits are credits, the RNR timer or the NAK code. */
enum aeth_kind { AETH_ACK, AETH_RNR_NAK, AETH_RESERVED, AETH_NAK };

/* Where a frame was seen. Zero: one place, not known which. */
struct packet_origin {
	uint32_t interface; /* numbered over all files of a report */
	uint8_t direction; /* enum flow_dir, of that interface */
};

struct roce_packet {
	enum roce_kind kind;
	enum roce_error error;
	/* Ethernet frame on the wire without FCS; other link types: as if it had an Ethernet
	 * header. Of a frame in a tunnel or mirror: the inner frame, whole, also where the mirror
	 * cut it. */
	uint32_t octets;
	/* The frame as it was captured, with all that it was carried in; = octets without tunnel.
	 */
	uint32_t frame_octets;

	/* All that follows down to the PFC fields is of the innermost headers that were read. */
	uint8_t family; /* 4, 6; 0 = no IP header reached */
	uint8_t src[16], dst[16]; /* IPv4 in the first four bytes, the rest 0 */
	uint8_t ecn; /* in a tunnel that was marked CE: CE, if the packet is ECN-capable */
	uint8_t dscp, ttl;
	uint8_t n_vlan, pcp; /* tags of the innermost frame; priority of its outermost */
	uint16_t vlan; /* id of its outermost tag */
	uint8_t ip_protocol; /* of the innermost IP header; 0 = none reached */
	uint16_t ethertype; /* innermost that was reached behind the tags; 0 = none */
	uint16_t src_port, dst_port; /* UDP, TCP; 0 = none reached */

	/* BTH */
	uint8_t opcode, pad;
	bool se, mig_req, fecn, becn, ack_req;
	bool has_reth, has_aeth;
	uint16_t p_key;
	uint32_t dst_qp, psn;
	uint32_t reth_bytes; /* DMA length of the RETH */
	uint8_t syndrome; /* AETH */
	uint32_t msn;
	uint32_t payload_bytes; /* after extension headers, without pad and ICRC */
	enum icrc_verdict icrc;

	/* Which packet it is: copies of one packet agree in these. */
	uint16_t ip_id; /* IPv4 identification; 0 with IPv6 */
	bool icrc_seen; /* the ICRC was captured */
	uint32_t icrc_wire; /* as it stands in the packet */
	uint32_t flow_label; /* IPv6: entropy of the sender */
	uint8_t src_mac[6]; /* of the innermost Ethernet header; zero when there is none */
	/* The opcode has an AETH, and the capture ends before it: ACK or NAK is not known. */
	bool aeth_cut;
	/* Picked out of many by a sampler (sFlow): nothing follows from its PSN, its time or the
	 * packets around it. roce_parse() leaves it false. */
	bool sampled;

	/* RoCEv2 that is shorter than its opcode allows, although the headers' lengths are those
	 * of a whole packet: a switch kept the headers and dropped the payload. Only where the
	 * opcode proves it; false means not known. */
	bool trimmed;
	/* The mirror or tunnel carries less of the frame than there was. It is not the snap length
	 * of the capture; .octets and the payload are those of the whole frame. */
	bool inner_cut;

	/* What it was carried in. Plain frames: 0. */
	uint32_t layers; /* bits 1 << enum decap_layer */
	uint8_t n_tunnels; /* tunnels opened; VLAN tags do not count */
	uint8_t refusal; /* PACKET_ENCAPSULATED: enum decap_refusal */
	uint8_t outer_family; /* of the outermost IP header; 0 = not in an IP tunnel */

	/* PFC: time[i] in quanta of 512 bit times for each class in .classes; pause: time[0] */
	uint8_t classes;
	union { /* by .kind */
		uint16_t time[8]; /* PACKET_PFC, PACKET_PAUSE */
		struct { /* PACKET_SFLOW: captured bytes of the UDP payload, in the frame */
			const uint8_t *sflow_data;
			uint32_t sflow_bytes;
			bool sflow_cut; /* the datagram was longer */
		};
		struct uet_packet uet; /* PACKET_UET */
	};
	struct decap_mirror mirror; /* .layer 0: none */
	/* Who sent the tunnel or mirror: source of the outermost IP header. Not set without
	 * .outer_family. */
	uint8_t outer_src[16];
};

enum { ROCE_CHECK_ICRC = 1 };

/*
 * roce_parse - decode one frame.
 *
 * @link      how the frame begins
 * @bytes, @n     captured bytes
 * @wire      length of the frame on the wire, >= @n (a smaller value is taken as @n)
 * @flags     ROCE_CHECK_ICRC: verify ICRC when the whole packet is there (costs a CRC over it)
 *
 * Always fills *ret; kind PACKET_BAD says that it could not be understood.
 * Sources: IEEE 802.1Q, 802.3 annex 31B and 31D (pause, PFC), RFC 791, 8200, 768; InfiniBand
 * Architecture Specification vol. 1, chapter 9 (BTH, extension headers) and annex A17 (RoCEv2);
 * tcpdump.org link-type list (SLL, SLL2).
 */
void roce_parse(enum roce_link link, const uint8_t *bytes, size_t n, size_t wire, unsigned flags,
	struct roce_packet *ret);

static inline enum aeth_kind aeth_kind(uint8_t syndrome)
{
	return (enum aeth_kind)(syndrome >> 5 & 3);
}
static inline bool roce_is_cnp(const struct roce_packet *packet)
{
	return packet->kind == PACKET_ROCE && packet->opcode == ROCE_OPCODE_CNP;
}
static inline bool roce_is_nak(const struct roce_packet *packet)
{
	return packet->has_aeth && aeth_kind(packet->syndrome) == AETH_NAK;
}
static inline bool roce_is_rnr_nak(const struct roce_packet *packet)
{
	return packet->has_aeth && aeth_kind(packet->syndrome) == AETH_RNR_NAK;
}

/*
 * roce_bth - the transport headers of RoCE: base header, extension headers, invariant CRC. A part
 * of roce_parse, with the frame under way that both work on.
 */

enum { UDP_BYTES = 8, BTH_BYTES = 12 };

struct frame {
	struct bytes b;
	const uint8_t *captured_end; /* b.end is this, or the end of an inner packet before it */
	bool cut; /* fewer bytes captured than were on the wire */
	unsigned flags;
	const uint8_t *ip; /* IP header, for ICRC */
	/* no IPv4 options, no IPv6 extension headers, not a fragment: ICRC is defined */
	bool icrc_form;
	size_t wire_left; /* bytes of the packet from here on, as the last length field said */
	enum decap_tunnel tunnel; /* begins at the reader, and is to be opened next */
	bool outer_ce; /* a tunnel around this, and not a mirror, was marked CE */
};
