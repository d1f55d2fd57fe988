/*
 * capture_frame - a RoCEv2 frame as bytes: Ethernet, IPv4, UDP, BTH, RETH or AETH, ICRC. InfiniBand
 * specification, volume 1, chapter 9 and annexes A16 (ICRC over Ethernet) and A17 (RoCEv2, CNP).
 * Nothing is shared with the product's parser.
 */
#ifndef FABRIC_CAPTURE_FRAME_H
#define FABRIC_CAPTURE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_kind {
	FRAME_FIRST,
	FRAME_MIDDLE,
	FRAME_LAST,
	FRAME_ONLY,
	FRAME_ACK,
	FRAME_NAK,
	FRAME_CNP
};
struct frame {
	enum frame_kind kind;
	uint8_t src[4], dst[4], dscp, ecn, ttl;
	uint16_t sport, id;
	uint32_t dst_qp, psn, msn;
	uint32_t payload; /* bytes, data only */
	uint32_t message; /* bytes of the whole message, for the RETH */
	uint64_t address;
	bool ack_request;
};
enum { FRAME_HEADERS_MAX = 74 };

/* frame_write - the first @size bytes of the frame without FCS into @buf (zeros where there would
 * be payload). Returns its length on the wire without FCS. */
size_t frame_write(const struct frame *f, uint8_t *buf, size_t size);

#endif
