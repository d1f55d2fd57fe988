/* xray_bits - see xray_bits.h. */
#include "analyzers/xray/xray_bits.h"

static uint64_t bits_word(const uint8_t *bytes)
{
	uint64_t word = 0;
	for (size_t i = 0; i < 8; i++)
		word = word << 8 | bytes[i];
	return word;
}

static void bits_bytes(uint64_t word, uint8_t *ret)
{
	for (size_t i = 0; i < 8; i++)
		ret[i] = (uint8_t)(word >> (56 - 8 * i));
}

struct xray_bits xray_key(const struct xray_flow *flow)
{
	return (struct xray_bits){{bits_word(flow->src), bits_word(flow->src + 8),
		bits_word(flow->dst), bits_word(flow->dst + 8),
		(uint64_t)flow->src_port << 48 | (uint64_t)flow->dst_port << 32 |
			(uint64_t)flow->protocol << 24 | (flow->dst_qp & 0xFFFFFF)}};
}

struct xray_flow xray_flow_of(const struct xray_bits *key, uint8_t family)
{
	struct xray_flow flow = {.family = family,
		.src_port = (uint16_t)(key->w[4] >> 48),
		.dst_port = (uint16_t)(key->w[4] >> 32),
		.protocol = (uint8_t)(key->w[4] >> 24),
		.dst_qp = (uint32_t)(key->w[4] & 0xFFFFFF)};
	bits_bytes(key->w[0], flow.src);
	bits_bytes(key->w[1], flow.src + 8);
	bits_bytes(key->w[2], flow.dst);
	bits_bytes(key->w[3], flow.dst + 8);
	return flow;
}

bool xray_is_zero(const struct xray_bits *bits)
{
	uint64_t any = 0;
	for (size_t i = 0; i < XRAY_WORDS; i++)
		any |= bits->w[i];
	return any == 0;
}

void xray_span_init(struct xray_span *span)
{
	span->rank = 0;
	memset(span->at, 0xFF, sizeof(span->at));
}

void xray_span_reduce(
	const struct xray_span *span, struct xray_bits *vector, struct xray_bits *used)
{
	for (size_t word = 0; word < XRAY_WORDS; word++) {
		uint64_t rest = vector->w[word];
		while (rest) {
			const uint64_t lowest = rest & (~rest + 1);
			const int row = span->at[word * 64 + (size_t)__builtin_ctzll(rest)];
			if (row >= 0) {
				xray_xor(vector, &span->row[row]);
				if (used)
					xray_xor(used, &span->made_of[row]);
				rest = vector->w[word] & ~(lowest - 1);
			}
			rest &= ~lowest;
		}
	}
}

/* The lowest bit that is set; @bits is not zero. */
static size_t bits_lowest(const struct xray_bits *bits)
{
	size_t word = 0;
	while (bits->w[word] == 0)
		word++;
	return word * 64 + (size_t)__builtin_ctzll(bits->w[word]);
}

bool xray_span_add(struct xray_span *span, const struct xray_bits *vector)
{
	struct xray_bits rest = *vector, used = {{0}};
	xray_span_reduce(span, &rest, &used);
	if (xray_is_zero(&rest))
		return false;
	span->at[bits_lowest(&rest)] = (int16_t)span->rank;
	span->row[span->rank] = rest;
	xray_flip(&used, span->rank);
	span->made_of[span->rank++] = used;
	return true;
}

uint64_t xray_dice_throw(struct xray_dice *dice)
{
	dice->state ^= dice->state >> 12;
	dice->state ^= dice->state << 25;
	dice->state ^= dice->state >> 27;
	return dice->state * 0x2545F4914F6CDD1Dull;
}
