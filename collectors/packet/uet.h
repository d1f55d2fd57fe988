/*
 * uet - Ultra Ethernet transport: the prologue of its packet delivery sublayer, UDP port 4793. It
 * is recognised and counted by type; its sequence numbers are not followed, since it does not keep
 * order. Pure. Source: Ultra Ethernet Specification 1.0.1, section on the packet delivery sublayer:
 * 5 bits type, 4 bits next header or control type, 7 bits flags.
 */
#ifndef RW_COLLECTORS_UET_H
#define RW_COLLECTORS_UET_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/bytes.h"

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

/* uet_parse - @bytes stands behind the UDP header. False when the prologue is not whole. */
bool uet_parse(struct bytes *bytes, struct uet_packet *ret);

enum uet_class uet_class_of(uint8_t type);
bool uet_retransmitted(const struct uet_packet *packet); /* the sender says so */
bool uet_nack_trimmed(const struct uet_packet *packet); /* a NACK because a switch trimmed */

#endif
