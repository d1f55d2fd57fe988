/* roce_opcode - see roce_opcode.h. */
#include "collectors/packet/frame/roce_opcode.h"

const struct roce_operation roce_operations[32] = {
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

const struct roce_transport roce_transports[8] = {
	[0] = {"RC", 0x00dfffff, 0, 0},
	[1] = {"UC", 0x00000fff, 0, 0},
	[2] = {"RD", 0x003fffff, 4, 8},
	[3] = {"UD", 0x00000030, 0, 8},
	[5] = {"XRC", 0x00dfffff, 0, 4},
};

char *roce_opcode_text(char buf[ROCE_OPCODE_TEXT_MAX], uint8_t opcode)
{
	if (opcode == ROCE_OPCODE_CNP)
		snprintf(buf, ROCE_OPCODE_TEXT_MAX, "CNP");
	else if (roce_opcode_defined(opcode))
		snprintf(buf, ROCE_OPCODE_TEXT_MAX, "%s_%s", roce_transports[opcode >> 5].name,
			roce_operations[opcode & 31].name);
	else
		snprintf(buf, ROCE_OPCODE_TEXT_MAX, "0x%02x", opcode);
	return buf;
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
