/* icrc - CRC-32 by tables, eight bytes a step ("slicing-by-8", Kounavis and Berry, "Novel Table
 * Lookup-Based Algorithms for High-Performance CRC Generation", 2008), or by carry-less
 * multiplication where the processor has it, and the ICRC made of it. */
#include "collectors/packet/frame/icrc.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define CRC32_POLY 0xEDB88320u /* IEEE 802.3, reflected */

enum {
	IP4_BYTES = 20,
	IP6_BYTES = 40,
	UDP_BYTES = 8,
	BTH_BYTES = 12,
	LRH_BYTES = 8,
	ICRC_HEAD_MAX = 80, /* headers, and the odd bytes behind them */
	PROTO_UDP = 17
};

static uint32_t table[8][256];
static uint32_t crc_of_lrh; /* of the eight bytes of ones that every ICRC begins with */

/* Filled before main(), so that no thread can meet a half-made table and no packet pays for a
 * check. */
__attribute__((constructor)) static void crc32_tables(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;
		for (int bit = 0; bit < 8; bit++) {
			if (c & 1)
				c = CRC32_POLY ^ (c >> 1);
			else
				c = c >> 1;
		}
		table[0][i] = c;
	}
	for (int k = 1; k < 8; k++)
		for (int i = 0; i < 256; i++)
			table[k][i] = table[0][table[k - 1][i] & 0xff] ^ (table[k - 1][i] >> 8);
	static const uint8_t ones[LRH_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	crc_of_lrh = crc32_ieee(0, ones, LRH_BYTES);
}

/*
 * By carry-less multiplication, sixteen bytes a step: V. Gopal et al., "Fast CRC Computation for
 * Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009; the constants are those of its
 * appendix for the polynomial of IEEE 802.3, reflected. Bytes of zero before a message change
 * nothing as long as the register is zero: the message is filled up in front.
 */
#ifdef __x86_64__
enum { FOLD_BYTES = 16 };

static bool folds; /* this processor does */

__attribute__((constructor)) static void icrc_processor(void)
{
	__builtin_cpu_init();
	folds = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

__attribute__((target("pclmul,sse4.1"))) static __m128i fold_on(
	__m128i sum, const uint8_t *data, size_t n)
{
	const __m128i by = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
	for (; n; n -= FOLD_BYTES, data += FOLD_BYTES) {
		const __m128i low = _mm_clmulepi64_si128(sum, by, 0x00);
		const __m128i high = _mm_clmulepi64_si128(sum, by, 0x11);
		const __m128i next = _mm_loadu_si128((const __m128i *)(const void *)data);
		sum = _mm_xor_si128(_mm_xor_si128(low, high), next);
	}
	return sum;
}

/* What is left of @sum, 16 bytes, by the polynomial. */
__attribute__((target("pclmul,sse4.1"))) static uint32_t fold_end(__m128i sum)
{
	const __m128i by = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
	const __m128i low_words = _mm_set_epi32(0, -1, 0, -1);
	const __m128i polynomial = _mm_set_epi64x(0x01f7011641, 0x01db710641);
	__m128i part = _mm_clmulepi64_si128(sum, by, 0x10);
	sum = _mm_xor_si128(_mm_srli_si128(sum, 8), part);
	part = _mm_srli_si128(sum, 4);
	sum = _mm_and_si128(sum, low_words);
	sum = _mm_clmulepi64_si128(sum, _mm_set_epi64x(0, 0x0163cd6124), 0x00);
	sum = _mm_xor_si128(sum, part);
	part = _mm_and_si128(sum, low_words);
	part = _mm_clmulepi64_si128(part, polynomial, 0x10);
	part = _mm_and_si128(part, low_words);
	part = _mm_clmulepi64_si128(part, polynomial, 0x00);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(sum, part), 1);
}

/* icrc_folded - of @n_head bytes that stand at the end of @filled, behind zeros, and then @rest;
 * @n_rest a multiple of FOLD_BYTES. The first four bytes of the message hold the CRC so far. */
__attribute__((target("pclmul,sse4.1"))) static uint32_t icrc_folded(
	const uint8_t *filled, size_t n_head, const uint8_t *rest, size_t n_rest)
{
	const size_t n = (n_head + FOLD_BYTES - 1) / FOLD_BYTES * FOLD_BYTES;
	__m128i sum = fold_on(_mm_setzero_si128(), filled, n);
	return ~fold_end(fold_on(sum, rest, n_rest));
}
#endif

static uint32_t icrc_le32(const uint8_t *data)
{
	return (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
		(uint32_t)data[3] << 24;
}

uint32_t crc32_ieee(uint32_t crc, const void *data, size_t n)
{
	const uint8_t *p = data;
	uint32_t c = ~crc;
	for (; n >= 8; n -= 8, p += 8) {
		uint32_t lo = icrc_le32(p) ^ c, hi = icrc_le32(p + 4);
		c = table[7][lo & 0xff] ^ table[6][lo >> 8 & 0xff] ^ table[5][lo >> 16 & 0xff] ^
			table[4][lo >> 24] ^ table[3][hi & 0xff] ^ table[2][hi >> 8 & 0xff] ^
			table[1][hi >> 16 & 0xff] ^ table[0][hi >> 24];
	}
	if (n >= 4) {
		const uint32_t word = icrc_le32(p) ^ c;
		c = table[3][word & 0xff] ^ table[2][word >> 8 & 0xff] ^
			table[1][word >> 16 & 0xff] ^ table[0][word >> 24];
		p += 4;
		n -= 4;
	}
	while (n--)
		c = table[0][(c ^ *p++) & 0xff] ^ (c >> 8);
	return ~c;
}

int icrc_compute(const uint8_t *ip, size_t n, uint32_t *ret)
{
	uint8_t filled[ICRC_HEAD_MAX] = {0};
	uint8_t *h = filled;
	if (n < 1)
		return -EINVAL;
	size_t ip_bytes = IP6_BYTES;
	if (ip[0] >> 4 == 4)
		ip_bytes = IP4_BYTES;
	const size_t head_bytes = ip_bytes + UDP_BYTES + BTH_BYTES;
	if (n < head_bytes)
		return -EINVAL;
	const size_t body = n - head_bytes;
#ifdef __x86_64__
	const size_t odd = body % FOLD_BYTES, n_head = head_bytes + odd;
	h += -n_head % FOLD_BYTES;
	memcpy(h + head_bytes, ip + head_bytes, odd);
#endif
	if (ip_bytes == IP4_BYTES) /* sizes that the compiler knows need no call */
		memcpy(h, ip, IP4_BYTES + UDP_BYTES + BTH_BYTES);
	else
		memcpy(h, ip, IP6_BYTES + UDP_BYTES + BTH_BYTES);
	if (h[0] == 0x45 && h[9] == PROTO_UDP) {
		h[1] = 0xff; /* TOS */
		h[8] = 0xff; /* TTL */
		h[10] = h[11] = 0xff; /* header checksum */
	} else if (h[0] >> 4 == 6 && h[6] == PROTO_UDP) {
		h[0] |= 0x0f; /* traffic class and flow label: all but the version */
		h[1] = h[2] = h[3] = 0xff;
		h[7] = 0xff; /* hop limit */
	} else {
		return -EINVAL;
	}
	h[ip_bytes + 6] = h[ip_bytes + 7] = 0xff; /* UDP checksum */
	h[ip_bytes + UDP_BYTES + 4] = 0xff; /* BTH: FECN, BECN, reserved */
#ifdef __x86_64__
	if (folds) {
		for (int i = 0; i < 4; i++)
			h[i] ^= (uint8_t)(~crc_of_lrh >> 8 * i);
		*ret = icrc_folded(filled, n_head, ip + n_head, body - odd);
		return 0;
	}
#endif
	*ret = crc32_ieee(crc32_ieee(crc_of_lrh, h, head_bytes), ip + head_bytes, body);
	return 0;
}
