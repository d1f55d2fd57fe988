/*
 * otlp_wire - the protobuf wire format, as far as a reader needs it: tags, varints, lengths.
 * Source: protobuf.dev "Encoding". On bytes of others: every function leaves @in bad when it runs
 * over the end. Nothing is copied.
 */
#ifndef RW_COLLECTORS_OTLP_WIRE_H
#define RW_COLLECTORS_OTLP_WIRE_H

#include "agent/base/bytes.h"

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

static inline uint64_t wire_varint(struct bytes *in)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		const uint8_t byte = bytes_u8(in);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	in->bad = true; /* more than ten bytes */
	return 0;
}

static inline uint64_t wire_fixed64(struct bytes *in)
{
	uint64_t value = 0;
	const uint8_t *p = bytes_take(in, 8);
	if (!p)
		return 0;
	for (unsigned i = 0; i < 8; i++)
		value |= (uint64_t)p[i] << (8 * i);
	return value;
}

/* A length and so many bytes. */
static inline struct bytes wire_bytes(struct bytes *in)
{
	const uint64_t n = wire_varint(in);
	const uint8_t *p = NULL;
	if (n <= bytes_left(in))
		p = bytes_take(in, (size_t)n);
	else
		in->bad = true;
	if (!p)
		return (struct bytes){.bad = true};
	return bytes_of(p, (size_t)n);
}

/* wire_tag - the next field; false at the end, and when the tag cannot be. */
static inline bool wire_tag(struct bytes *in, uint32_t *ret_field, unsigned *ret_type)
{
	if (bytes_left(in) == 0)
		return false;
	const uint64_t tag = wire_varint(in);
	*ret_field = (uint32_t)(tag >> 3);
	*ret_type = (unsigned)(tag & 7);
	if (tag > UINT32_MAX || *ret_field == 0)
		in->bad = true;
	return !in->bad;
}

/* Over the value of a field that nobody wants. Groups do not exist any more. */
static inline void wire_skip(struct bytes *in, unsigned type)
{
	switch (type) {
	case WIRE_VARINT: wire_varint(in); break;
	case WIRE_FIXED64: bytes_skip(in, 8); break;
	case WIRE_BYTES: wire_bytes(in); break;
	case WIRE_FIXED32: bytes_skip(in, 4); break;
	default: in->bad = true;
	}
}

#endif
