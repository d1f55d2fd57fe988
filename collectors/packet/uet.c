/* uet - see uet.h. */
#include "collectors/packet/uet.h"

#include "agent/base/cleanup.h"

enum { FLAG_RETRANSMITTED = 0x10 };

/* NACK codes that tell of trimming: on the way, at the last switch, of an ACK with data. */
enum { NACK_TRIMMED = 0x01, NACK_TRIMMED_ACK = 0x03 };

static const struct {
	enum uet_class uet_class;
	bool reliable; /* its flags have the retransmission bit */
} types[] = {
	[UET_RESERVED] = {UET_CLASS_UNKNOWN, false},
	[UET_ENCRYPTED] = {UET_CLASS_ENCRYPTED, false},
	[UET_RUD_REQUEST] = {UET_CLASS_REQUEST, true},
	[UET_ROD_REQUEST] = {UET_CLASS_REQUEST, true},
	[UET_RUDI_REQUEST] = {UET_CLASS_RUDI, true},
	[UET_RUDI_RESPONSE] = {UET_CLASS_RUDI, true},
	[UET_UUD_REQUEST] = {UET_CLASS_UUD, false},
	[UET_ACK] = {UET_CLASS_ACK, true},
	[UET_ACK_CC] = {UET_CLASS_ACK, true},
	[UET_ACK_CCX] = {UET_CLASS_ACK, true},
	[UET_NACK] = {UET_CLASS_NACK, true},
	[UET_CONTROL] = {UET_CLASS_CONTROL, true},
	[UET_NACK_CCX] = {UET_CLASS_NACK, true},
	[UET_RUD_CC_REQUEST] = {UET_CLASS_REQUEST, true},
	[UET_ROD_CC_REQUEST] = {UET_CLASS_REQUEST, true},
};

const char *uet_class_name(enum uet_class uet_class)
{
	static const char *const names[UET_CLASS_COUNT] = {
		[UET_CLASS_REQUEST] = "request",
		[UET_CLASS_ACK] = "ack",
		[UET_CLASS_NACK] = "nack",
		[UET_CLASS_CONTROL] = "control",
		[UET_CLASS_RUDI] = "rudi",
		[UET_CLASS_UUD] = "uud",
		[UET_CLASS_ENCRYPTED] = "encrypted",
		[UET_CLASS_UNKNOWN] = "unknown",
	};
	if ((unsigned)uet_class < UET_CLASS_COUNT)
		return names[uet_class];
	return "unknown";
}

enum uet_class uet_class_of(uint8_t type)
{
	if (type < rw_countof(types))
		return types[type].uet_class;
	return UET_CLASS_UNKNOWN;
}

bool uet_parse(struct bytes *bytes, struct uet_packet *ret)
{
	uint16_t prologue = bytes_be16(bytes);
	*ret = (struct uet_packet){.type = (uint8_t)(prologue >> 11),
		.next = prologue >> 7 & 15,
		.flags = prologue & 0x7f};
	if (!bytes_ok(bytes))
		return false;
	if (uet_class_of(ret->type) == UET_CLASS_NACK && bytes_left(bytes) > 0) {
		ret->nack_code = bytes_u8(bytes);
		ret->has_nack = true;
	}
	return true;
}

bool uet_retransmitted(const struct uet_packet *packet)
{
	if (packet->type >= rw_countof(types) || !types[packet->type].reliable)
		return false;
	return packet->flags & FLAG_RETRANSMITTED;
}

bool uet_nack_trimmed(const struct uet_packet *packet)
{
	return packet->has_nack && packet->nack_code >= NACK_TRIMMED &&
		packet->nack_code <= NACK_TRIMMED_ACK;
}
