/*
 * xray_bits - a flow as bits, and spaces over GF(2): what linear algebra of hashes works on. Pure;
 * nothing is allocated.
 */
#pragma once

#include "base/base.h"

enum { XRAY_BITS = 320, XRAY_WORDS = XRAY_BITS / 64 };

struct xray_bits {
	uint64_t w[XRAY_WORDS];
};

/* What a switch may hash of a packet. */
struct xray_flow {
	uint8_t family; /* 4 or 6; IPv4 stands in the first four bytes, the rest is 0 */
	uint8_t src[16], dst[16];
	uint16_t src_port, dst_port;
	uint8_t protocol;
	uint32_t dst_qp; /* 24 bits */
};

enum xray_field {
	XRAY_SRC,
	XRAY_DST,
	XRAY_SRC_PORT,
	XRAY_DST_PORT,
	XRAY_PROTOCOL,
	XRAY_QP,
	XRAY_FIELDS
};

/* xray_key - the flow as bits; the family is no part of it. xray_flow_of - the way back. */
struct xray_bits xray_key(const struct xray_flow *flow);
struct xray_flow xray_flow_of(const struct xray_bits *key, uint8_t family);

static inline void xray_xor(struct xray_bits *to, const struct xray_bits *other)
{
	for (size_t i = 0; i < XRAY_WORDS; i++)
		to->w[i] ^= other->w[i];
}
static inline bool xray_bit(const struct xray_bits *bits, size_t i)
{
	return bits->w[i / 64] >> (i % 64) & 1;
}
static inline void xray_flip(struct xray_bits *bits, size_t i)
{
	bits->w[i / 64] ^= 1ull << (i % 64);
}
bool xray_is_zero(const struct xray_bits *bits);

/*
 * A space that grows by vectors. A row has its lowest bit where no other row has its own; the row
 * knows of which of the vectors that were added it is the sum.
 */
struct xray_span {
	size_t rank;
	int16_t at[XRAY_BITS]; /* the row whose lowest bit this is; -1: none */
	struct xray_bits row[XRAY_BITS], made_of[XRAY_BITS];
};
void xray_span_init(struct xray_span *span);
/* xray_span_add - false: @vector is in the space. Vectors that grew it are numbered from 0. */
bool xray_span_add(struct xray_span *span, const struct xray_bits *vector);
/* xray_span_reduce - takes from @vector what the space has of it; what is left has no lowest bit of
 * a row. @used (may be NULL): of which added vectors the part that was taken is the sum. */
void xray_span_reduce(
	const struct xray_span *span, struct xray_bits *vector, struct xray_bits *used);

/* Chance that is the same in every run (xorshift64*, Vigna 2014). */
struct xray_dice {
	uint64_t state; /* not 0 */
};
uint64_t xray_dice_throw(struct xray_dice *dice);
/* xray_dice_below - 0 to @n - 1, n below 2^32. */
static inline size_t xray_dice_below(struct xray_dice *dice, size_t n)
{
	return (size_t)((xray_dice_throw(dice) >> 32) * n >> 32);
}
