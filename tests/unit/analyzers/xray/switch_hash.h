/* switch_hash - simulated switches whose hash is computed bit by bit, and flows through them. It
 * shares no code with analyzers/xray. */
#ifndef RW_TEST_SWITCH_HASH_H
#define RW_TEST_SWITCH_HASH_H

#include <stdlib.h>
#include <string.h>

#include "analyzers/xray/xray_learn.h"
#include "base/bytes.h"
#include "base/map.h"

enum way { LOW_BITS, HIGH_BITS, MODULO, WHOLE_MODULO, MULTIPLY, TABLE, KEYED, JHASH, SPRAY };
struct switch_hash {
	const char *what;
	uint32_t polynomial; /* 0: XOR of 16-bit words */
	unsigned bits;
	bool reflected, upper_half;
	enum way way;
	unsigned members, table_bits;
	uint32_t seed;
	int32_t changes; /* the table is another one after so many samples; 0: never */
};

static uint64_t drawn_state = 1;
static uint32_t drawn(uint32_t below)
{
	drawn_state = hash_u64(drawn_state + 0x9E3779B97F4A7C15ull);
	return (uint32_t)((drawn_state >> 16) % below);
}

static size_t flow_bytes(const struct xray_flow *flow, uint8_t *ret)
{
	const size_t size = flow->family == 4 ? 4 : 16;
	const uint8_t rest[] = {(uint8_t)(flow->src_port >> 8), (uint8_t)flow->src_port,
		(uint8_t)(flow->dst_port >> 8), (uint8_t)flow->dst_port, flow->protocol};
	memcpy(ret, flow->src, size);
	memcpy(ret + size, flow->dst, size);
	memcpy(ret + 2 * size, rest, sizeof(rest));
	return 2 * size + sizeof(rest);
}

static uint32_t hash_of(const struct switch_hash *h, const uint8_t *bytes, size_t n)
{
	uint32_t value = h->seed & (h->bits == 32 ? UINT32_MAX : 0xFFFF);
	for (size_t i = 0; !h->polynomial && i < n; i++)
		value ^= (uint32_t)bytes[i] << (i % 2 ? 0 : 8);
	for (size_t i = 0; h->polynomial && i < 8 * n; i++) {
		const uint32_t in = bytes[i / 8] >> (h->reflected ? i % 8 : 7 - i % 8) & 1;
		const uint32_t out = value >> (h->bits - 1) & 1;
		value = (value << 1 & (h->bits == 32 ? UINT32_MAX : 0xFFFF)) ^
			(in ^ out ? h->polynomial : 0);
	}
	uint32_t turned = 0;
	for (unsigned i = 0; i < h->bits; i++)
		turned |= (value >> i & 1) << (h->bits - 1 - i);
	return h->reflected ? turned : value;
}

/* jhash_3words() of Linux: the final mix of lookup3 by B. Jenkins, over addresses and ports. */
static uint32_t jhash_of(const uint8_t *bytes, uint32_t seed)
{
	static const unsigned turns[] = {14, 11, 25, 16, 4, 14, 24};
	uint32_t v[3];
	memcpy(v, bytes, sizeof(v));
	for (unsigned i = 0; i < 3; i++)
		v[i] += 0xdeadbeef + 12 + seed;
	for (unsigned i = 0, to = 2, by = 1; i < 7; i++, by = to, to = (to + 1) % 3)
		v[to] = (v[to] ^ v[by]) - (v[by] << turns[i] | v[by] >> (32 - turns[i]));
	return v[2];
}

/* The member: ports 1000 on, in an order of their own. @at: of the sample. */
static uint32_t member_of(const struct switch_hash *h, const struct xray_flow *flow, size_t at)
{
	uint8_t bytes[64];
	const size_t n = flow_bytes(flow, bytes);
	uint32_t value = hash_of(h, bytes, n), index = 0;
	const struct siphash_key key = {h->seed, ~(uint64_t)h->seed};
	const uint64_t moved = h->changes ? at / (size_t)h->changes : 0;
	const uint32_t whole = value;
	if (h->upper_half)
		value >>= 16;
	value &= 0xFFFF;
	switch (h->way) {
	case HIGH_BITS:
	case MULTIPLY: index = value * h->members >> 16; break;
	case LOW_BITS:
	case MODULO: index = value % h->members; break;
	case WHOLE_MODULO: index = whole % h->members; break;
	case TABLE:
		index = (uint32_t)(hash_u64((value % (1u << h->table_bits)) + 7919 * h->seed +
					   104729 * moved) %
			h->members);
		break;
	case KEYED: index = (uint32_t)(siphash(&key, 2, 4, bytes, n) % h->members); break;
	case JHASH: index = jhash_of(bytes, h->seed) % h->members; break;
	case SPRAY: index = drawn(h->members); break;
	}
	if (h->way != TABLE)
		index = (uint32_t)((index + moved) % h->members);
	return 1000 + (uint32_t)((index * 37ull + h->seed) % 257);
}

/* A flow of a leaf: 16 hosts here, 48 elsewhere, any RoCE source port. */
static struct xray_flow draw_flow(uint8_t family)
{
	struct xray_flow flow = {.family = family,
		.src_port = (uint16_t)(0xC000 + drawn(0x4000)),
		.dst_port = 4791,
		.protocol = 17};
	const size_t last = family == 4 ? 3 : 15;
	flow.src[0] = flow.dst[0] = family == 4 ? 10 : 0x20;
	flow.src[last] = (uint8_t)drawn(16);
	flow.dst[last - 1] = (uint8_t)(1 + drawn(3));
	flow.dst[last] = (uint8_t)drawn(16);
	return flow;
}

static struct xray_sample *draw_samples(
	const struct switch_hash *h, size_t n, unsigned wrong_percent, uint8_t family)
{
	struct xray_sample *samples = calloc(n, sizeof(*samples));
	for (size_t i = 0; i < n; i++) {
		samples[i].flow = draw_flow(family);
		samples[i].t_ns = (int64_t)(i + 1) * 1000000;
		const struct xray_flow other = draw_flow(family);
		samples[i].member =
			member_of(h, drawn(100) < wrong_percent ? &other : &samples[i].flow, i);
	}
	return samples;
}

#endif
