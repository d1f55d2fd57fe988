/* frame_count - counts of frames: by kind, by what they are carried in, and by what RoCE says in
 * them. */
#pragma once

#include "base/base.h"

#include "collectors/packet/frame/roce_parse.h"

/*
 * frame_census - what an interface shows while a capture waits in vain for RoCE: frames by kind, so
 * that "no mirror", "the wrong traffic" and "the CPU port of a switch" can be told apart. Pure.
 */

enum census_kind {
	/* protocols of the switch itself: all that its CPU port ever gets */
	CENSUS_ARP,
	CENSUS_LLDP,
	CENSUS_LACP,
	CENSUS_STP,
	CENSUS_BGP,
	CENSUS_OSPF,
	CENSUS_NEIGHBOR, /* ICMPv6, with neighbour discovery, and ICMP */
	CENSUS_DHCP,
	CENSUS_LAST_CONTROL = CENSUS_DHCP,
	/* traffic of others */
	CENSUS_MIRROR, /* GRE, VXLAN or Geneve: may be a mirror that is not opened */
	CENSUS_TCP,
	CENSUS_UDP,
	CENSUS_IP,
	CENSUS_OTHER,
	CENSUS_KINDS
};

struct frame_census { /* zeroed to start */
	uint64_t frames[CENSUS_KINDS];
};

/* frame_census_add - counts one Ethernet frame. @n: captured bytes; 60 are enough. */
void frame_census_add(struct frame_census *census, const uint8_t *bytes, size_t n);
const char *frame_census_name(enum census_kind kind); /* "arp": part of a health key */

/*
 * encapsulation_count - what packets were carried in: tunnels, mirrors and their sessions, what
 * could not be opened, and transports other than RoCEv2. Pure; embedded, zeroed to start; bounded.
 */

enum { MIRRORS_MAX = 64 };

/* One stream of mirrored frames. Without session (type I) the sender of the mirror tells them
 * apart. */
struct mirror_count {
	struct decap_mirror mirror; /* .truncated, .vlan, .cos: of the first packet only */
	uint8_t family, src[16]; /* who sent it; family 0 = no IP header around it */
	uint64_t packets; /* copies of what another mirror sent, too */
	uint64_t cut; /* of these: the mirror carries only a part of the frame */
};

struct encapsulation_count {
	uint64_t by_layer[LAYER_COUNT]; /* frames; a frame in two tunnels counts in both */
	uint64_t refused[REFUSED_COUNT];
	struct mirror_count mirrors[MIRRORS_MAX]; /* in the order in which they were seen */
	uint32_t n_mirrors;
	uint32_t last_mirror; /* index of the one seen last */
	uint64_t more_mirrors; /* packets of mirrors beyond MIRRORS_MAX */
	uint64_t inner_cut; /* frames of which a tunnel or mirror carries only a part */
	/* RoCEv2 in IPv6 with a segment routing header, or in IPv6 in IP: what a sender does that
	 * chooses the path of each packet (compressed SRv6 needs no routing header) */
	uint64_t roce_srv6;
	uint64_t trimmed; /* RoCEv2 whose payload a switch dropped */
	uint64_t uet[UET_CLASS_COUNT];
	uint64_t uet_retransmitted, uet_nack_trimmed;
};

/* encapsulation_count_mirror - add @packet to the row of its mirror, and to nothing else: a copy of
 * what another mirror sent before. Does nothing where it came by none. */
void encapsulation_count_mirror(
	struct encapsulation_count *count, const struct roce_packet *packet);

/* encapsulation_count_add - add a frame for which encapsulation_counts() is true. */
void encapsulation_count_add(struct encapsulation_count *count, const struct roce_packet *packet);

/* encapsulation_counts - @packet has something to count here; a plain one has not. */
static inline bool encapsulation_counts(const struct roce_packet *packet)
{
	return packet->layers || packet->trimmed || packet->kind == PACKET_UET ||
		packet->kind == PACKET_ENCAPSULATED;
}

/* roce_count - plain counts over a stream of decoded frames. Pure; embedded, zeroed to start. */

struct roce_count {
	uint64_t packets, octets; /* every frame */
	uint64_t roce_packets, roce_octets; /* RoCEv2 */
	uint64_t sampled_packets; /* RoCEv2 of sFlow samples; they are no frames of their own */
	uint64_t rocev1_packets, pfc_frames, pause_frames;
	uint64_t aeth_cut; /* answers of which ACK or NAK is not known, because they were cut */
	uint64_t by_opcode[256];
	uint64_t ecn[4]; /* RoCEv2, by the ECN field */
	uint64_t data_packets, data_not_ect; /* with payload; of these not ECN-capable */
	uint64_t cnp, nak, rnr_nak;
	uint64_t nak_code[32];
	uint64_t icrc[3]; /* by enum icrc_verdict */
	uint64_t errors[ROCE_ERROR_COUNT];
	uint64_t pfc_xoff[8], pfc_xon[8]; /* frames that stop / release the class */
	/* requested, summed; an upper bound of the time, since a later frame replaces an earlier */
	uint64_t pfc_quanta[8];
	/* wall time of the earliest and latest frame; valid when packets > 0 */
	int64_t first_ns, last_ns;
	uint8_t udp_port_seen[65536 / 8]; /* source ports of RoCEv2 */
	uint32_t udp_source_ports; /* distinct ones */
};

/* roce_count_bad - frames that could not be understood, whatever the error. */
uint64_t roce_count_bad(const struct roce_count *count);
/* Of reliable connections: packets that an answer is due for, and answers (ACKs, NAKs, responses).
 * One without the other: the capture sees one direction. */
uint64_t roce_count_requests(const struct roce_count *count);
uint64_t roce_count_answers(const struct roce_count *count);
void roce_count_add(struct roce_count *count, const struct roce_packet *packet, int64_t t_ns);

/* roce_count_copy - a packet that was captured before: a frame, and nothing else. */
void roce_count_copy(struct roce_count *count, const struct roce_packet *packet, int64_t t_ns);
