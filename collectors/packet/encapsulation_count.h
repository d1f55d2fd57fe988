/*
 * encapsulation_count - what packets were carried in: tunnels, mirrors and their sessions, what
 * could not be opened, and transports other than RoCEv2. Pure; embedded, zeroed to start; bounded.
 */
#ifndef RW_COLLECTORS_ENCAPSULATION_COUNT_H
#define RW_COLLECTORS_ENCAPSULATION_COUNT_H

#include "collectors/packet/roce_parse.h"

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

#endif
