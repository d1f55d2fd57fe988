/*
 * roce_bth - the transport headers of RoCE: base header, extension headers, invariant CRC. A part
 * of roce_parse, with the frame under way that both work on.
 */
#ifndef RW_COLLECTORS_ROCE_BTH_H
#define RW_COLLECTORS_ROCE_BTH_H

#include "agent/base/bytes.h"
#include "collectors/packet/roce_parse.h"

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

/* What ended the reading, into @packet. */
void roce_parse_bad(struct roce_packet *packet, enum roce_error error);
/* The reader ran out: by snap length, by mirror, or the packet itself is short. */
void ran_out(const struct frame *frame, struct roce_packet *packet);

/* parse_bth_fields - the base transport header; false: not whole or of another version, which is
 * said in @packet. */
bool parse_bth_fields(struct frame *frame, struct roce_packet *packet);

/* parse_bth - all of a RoCEv2 packet. The reader stands behind the UDP header at @udp; @udp_bytes:
 * UDP length, header included. */
void parse_bth(
	struct frame *frame, struct roce_packet *packet, const uint8_t *udp, size_t udp_bytes);

/*
 * parse_trimmed - the same where the UDP length is longer than the IP packet. A switch that trims
 * packets writes the new length and checksum into the IP header and nothing into what follows (SAI,
 * proposal "Packet Trimming"): then the UDP length is that of a packet as its opcode allows.
 * Otherwise the lengths are wrong, and @packet says so.
 */
void parse_trimmed(
	struct frame *frame, struct roce_packet *packet, const uint8_t *udp, size_t udp_bytes);

#endif
