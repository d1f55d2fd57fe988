/*
 * decap - the headers of tunnels and mirrors: which kinds there are, where each begins, and what
 * stands behind its header. Pure; roce_parse walks the layers.
 *
 * A tunnel is opened where its own header says what is inside. What is recognised and cannot be
 * opened has a name (enum decap_refusal), so that a capture of such packets is never told as one
 * without RoCEv2.
 *
 * Sources: RFC 3032, 4385, 4448 (MPLS, pseudowire), 4023 and 7510 (MPLS in GRE and UDP; UDP port
 * 6635), 2784, 2890 (GRE), 8086 (GRE in UDP), draft-foschiano-erspan-03 (ERSPAN II, III), RFC 7348
 * (VXLAN), draft-ietf-nvo3-vxlan-gpe, RFC 8926 (Geneve), 2003, 4213, 2473 (IP in IP), 8754, 8986
 * (SRv6), 3378 (EtherIP), 4303 (ESP).
 */
#pragma once

#include "base/base.h"

#include "base/bytes.h"

enum { DECAP_DEPTH_MAX = 4 }; /* tunnels inside each other; VLAN tags do not count */

/* What a packet was carried in: bit 1 << kind of roce_packet.layers. The names are keys of the JSON
 * report. */
enum decap_layer {
	LAYER_VLAN, /* one tag */
	LAYER_QINQ, /* two or more */
	LAYER_MPLS, /* over Ethernet, GRE, IP or UDP; also pseudowires */
	LAYER_GRE, /* IP or Ethernet in GRE, GRE in UDP, NVGRE */
	LAYER_ERSPAN1,
	LAYER_ERSPAN2,
	LAYER_ERSPAN3,
	LAYER_VXLAN,
	LAYER_VXLAN_GPE,
	LAYER_GENEVE,
	LAYER_IPIP, /* IP in IP, four combinations */
	LAYER_SRV6, /* an IPv6 header with a segment routing header, or Ethernet in IPv6 */
	LAYER_ETHERIP,
	LAYER_TZSP,
	LAYER_SFLOW, /* the header of a packet that sFlow sampled; set by who reads sFlow */
	LAYER_COUNT,
};
const char *decap_layer_name(enum decap_layer layer); /* "erspan2": a key of the JSON report */
const char *decap_layer_text(enum decap_layer layer); /* one phrase, for docs/packets.md */

/* Recognised and not opened. */
enum decap_refusal {
	REFUSED_NOTHING,
	REFUSED_TOO_DEEP, /* more than DECAP_DEPTH_MAX tunnels */
	REFUSED_GRE_ROUTING, /* source routes of RFC 1701: where the payload begins is not known */
	REFUSED_GRE_VERSION, /* PPTP, or a version of the future */
	REFUSED_GRE_PROTOCOL, /* a payload type that is not known */
	REFUSED_ERSPAN_VERSION,
	REFUSED_ERSPAN_FRAME, /* ERSPAN III of a frame that is not Ethernet or IP */
	REFUSED_MPLS_PAYLOAD, /* neither IP nor Ethernet behind the labels */
	REFUSED_VXLAN_HEADER, /* flags that no version of VXLAN defines, or no network identifier */
	REFUSED_VXLAN_PROTOCOL, /* VXLAN-GPE with a payload that is not known */
	REFUSED_GENEVE_VERSION,
	REFUSED_GENEVE_PROTOCOL,
	REFUSED_ETHERIP_VERSION,
	REFUSED_TZSP_FRAME, /* TZSP of a frame that is not Ethernet */
	REFUSED_MIRROR_HEADER, /* a vendor's mirror header, and no frame behind it */
	REFUSED_ESP, /* encrypted by IPsec */
	REFUSED_MACSEC, /* encrypted by 802.1AE */
	REFUSED_L2TP,
	REFUSED_PBB, /* provider backbone bridges, 802.1ah */
	REFUSED_NSH, /* RFC 8300 */
	REFUSED_ETAG, /* 802.1BR port extender */
	REFUSED_VNTAG, /* Cisco's port extender */
	REFUSED_FABRICPATH, /* Cisco */
	REFUSED_TRILL,
	REFUSED_CISCO_METADATA, /* Cisco's security group tag, ethertype 0x8909 */
	REFUSED_ARISTA_TIME, /* Arista's time stamp before the packet, ethertype 0xd28b */
	REFUSED_COUNT,
};
const char *decap_refusal_name(enum decap_refusal refusal); /* a key of "errors.encapsulated" */
const char *decap_refusal_text(enum decap_refusal refusal); /* one phrase for people */

/* What a mirror says of itself. .layer = LAYER_VLAN (0): no mirror. */
struct decap_mirror {
	uint8_t layer; /* enum decap_layer: ERSPAN, TZSP, GRE of a vendor */
	uint8_t direction; /* enum flow_dir */
	bool has_session, has_port;
	bool truncated; /* the mirror says that it cut the frame */
	uint8_t cos; /* priority of the mirrored frame; valid with .vlan */
	uint16_t session;
	uint16_t vlan; /* that the mirror took out of the frame; 0 = none */
	uint32_t port; /* index that the switch gives the port */
};

/* A tunnel that begins at the reader. */
enum decap_tunnel {
	TUNNEL_NONE,
	TUNNEL_MPLS,
	TUNNEL_GRE,
	TUNNEL_IP, /* IP in IP */
	TUNNEL_SRV6_IP, /* the same behind a segment routing header */
	TUNNEL_SRV6_ETHERNET,
	TUNNEL_ETHERIP,
	TUNNEL_VXLAN,
	TUNNEL_VXLAN_OLD, /* the port that Linux used before 4789 was given; others use it, too */
	TUNNEL_VXLAN_GPE,
	TUNNEL_GENEVE,
	TUNNEL_TZSP,
	TUNNEL_COUNT,
};

/* Which tunnel a number announces. Both 0: none that is known. */
struct decap_door {
	enum decap_tunnel tunnel;
	enum decap_refusal refusal;
};
struct decap_door decap_of_type(unsigned ethertype);
struct decap_door decap_of_protocol(unsigned ip_protocol);
struct decap_door decap_of_port(unsigned udp_port); /* destination */

/* What stands behind a tunnel's header. */
enum decap_next {
	NEXT_SHORT, /* the header is not whole */
	NEXT_REFUSED, /* .refusal */
	NEXT_OTHER, /* not a packet in a tunnel: signalling, or another protocol on this port */
	NEXT_ETHERNET,
	NEXT_IP, /* of the version that its first four bits say */
	NEXT_TYPE, /* .type, an ethertype */
};

struct decap_inner {
	enum decap_next next;
	enum decap_layer layer;
	enum decap_refusal refusal;
	uint16_t type;
	struct decap_mirror mirror; /* .layer 0: the tunnel is no mirror */
};

/*
 * decap_open - read the header of @tunnel, which @bytes stands before; afterwards @bytes stands
 * behind it. @bytes may be cut by a snap length. Fills *ret always.
 */
void decap_open(enum decap_tunnel tunnel, struct bytes *bytes, struct decap_inner *ret);

/* decap_ip4_sum_ok - the IPv4 header at @ip, of which @n bytes are there, is whole and its checksum
 * is right (RFC 791). */
bool decap_ip4_sum_ok(const uint8_t *ip, size_t n);
