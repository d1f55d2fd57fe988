/*
 * roce_opcode - what the opcode of a base transport header says: the operation, its extension
 * headers, and its role in the bookkeeping of sequence numbers. Pure tables. Source: InfiniBand
 * Architecture Specification vol. 1, chapter 9, tables of opcodes and extension headers.
 */
#pragma once

#include "base/base.h"

#define ROCE_OPCODE_CNP 0x81 /* annex A17.9.3 of the InfiniBand specification */

/* What an opcode means for PSN bookkeeping. */
enum roce_role { ROLE_REQUEST, ROLE_RESPONSE_FIRST, ROLE_RESPONSE, ROLE_ACK, ROLE_NONE };

/* Extension headers, in the order in which they follow the BTH. */
enum { X_RETH = 1, X_ATOMIC = 2, X_AETH = 4, X_ATOMIC_ACK = 8, X_IMM = 16, X_IETH = 32 };

struct roce_operation { /* low five bits of the opcode */
	const char *name;
	unsigned extensions; /* X_ bits */
	enum roce_role role;
};

struct roce_transport { /* high three bits of the opcode */
	const char *name;
	uint32_t defined; /* bit n: operation n exists */
	uint8_t any_bytes; /* extension header on every packet (RDETH) */
	uint8_t request_bytes; /* and on requests (DETH, XRCETH) */
};

extern const struct roce_operation roce_operations[32];
extern const struct roce_transport roce_transports[8];

static inline bool roce_opcode_defined(uint8_t opcode)
{
	return roce_transports[opcode >> 5].defined >> (opcode & 31) & 1;
}

/* Name as in the InfiniBand specification ("RC_RDMA_WRITE_ONLY"), or "0x9f" for an opcode it does
 * not define. */
#define ROCE_OPCODE_TEXT_MAX 48
char *roce_opcode_text(char buf[ROCE_OPCODE_TEXT_MAX], uint8_t opcode);
static inline enum roce_role roce_opcode_role(uint8_t opcode)
{
	if (roce_opcode_defined(opcode))
		return roce_operations[opcode & 31].role;
	return ROLE_NONE;
}
const char *aeth_nak_text(uint8_t syndrome); /* of a NAK: "PSN sequence error", ... */
