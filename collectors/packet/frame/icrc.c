/* icrc - CRC-32 by tables, eight bytes a step ("slicing-by-8", Kounavis and Berry, "Novel Table
 * Lookup-Based Algorithms for High-Performance CRC Generation", 2008), and the ICRC made of it. */
#include "collectors/packet/frame/icrc.h"

#include <errno.h>
#include <string.h>

#define CRC32_POLY 0xEDB88320u /* IEEE 802.3, reflected */

enum {
	IP4_BYTES = 20,
	IP6_BYTES = 40,
	UDP_BYTES = 8,
	BTH_BYTES = 12,
	LRH_BYTES = 8,
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
	if (n < 1)
		return -EINVAL;
	size_t ip_bytes = IP6_BYTES;
	if (ip[0] >> 4 == 4)
		ip_bytes = IP4_BYTES;
	size_t head_bytes = ip_bytes + UDP_BYTES + BTH_BYTES;
	if (n < head_bytes)
		return -EINVAL;

	uint8_t h[IP6_BYTES + UDP_BYTES + BTH_BYTES];
	memcpy(h, ip, head_bytes);
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

	const uint32_t crc = crc32_ieee(crc_of_lrh, h, head_bytes);
	*ret = crc32_ieee(crc, ip + head_bytes, n - head_bytes);
	return 0;
}
