/*
 * icrc - the invariant CRC that ends every RoCEv2 packet: CRC-32 (IEEE 802.3) over the packet from
 * the IP header on, with the fields a router may change set to ones. Pure.
 */
#pragma once

#include "base/base.h"

#define ICRC_BYTES 4

/* crc32_ieee - chainable like zlib's crc32(): start with 0. */
uint32_t crc32_ieee(uint32_t crc, const void *data, size_t n);

/*
 * icrc_compute - the ICRC a RoCEv2 packet must carry.
 *
 * @ip  first byte of the IP header (IPv4 without options, or IPv6 without extension headers,
 * followed by UDP and BTH)
 * @n   bytes from there up to, not including, the ICRC itself
 *
 * On the wire the result stands least significant byte first (icrc_put, icrc_get). 0, or -EINVAL
 * when the bytes are not of that form: the specification defines no other.
 *
 * Source: InfiniBand Architecture Specification volume 1, "Invariant CRC" (section 7.8.1), and
 * annex A17 (RoCEv2): eight bytes of ones stand for the absent LRH; IPv4 TOS, TTL and header
 * checksum, or IPv6 traffic class, flow label and hop limit, the UDP checksum and the BTH byte with
 * FECN, BECN and reserved bits are taken as ones. Checked in the tests against packets of public
 * origin.
 */
int icrc_compute(const uint8_t *ip, size_t n, uint32_t *ret);

static inline void icrc_put(uint8_t *data, uint32_t icrc)
{
	data[0] = (uint8_t)icrc;
	data[1] = (uint8_t)(icrc >> 8);
	data[2] = (uint8_t)(icrc >> 16);
	data[3] = (uint8_t)(icrc >> 24);
}
static inline uint32_t icrc_get(const uint8_t *data)
{
	return (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
		(uint32_t)data[3] << 24;
}
