/* icrc: against packets of public origin, and what may and may not change on the way. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "collectors/packet/frame/icrc.h"

static size_t unhex(const char *s, uint8_t *out)
{
	size_t n = 0;
	for (unsigned v; *s; s += 2, n++) {
		sscanf(s, "%2x", &v);
		out[n] = (uint8_t)v;
	}
	return n;
}

static void test_crc32(void **state)
{
	/* the check value of CRC-32/ISO-HDLC */
	assert_int_equal(crc32_ieee(0, "123456789", 9), 0xCBF43926);
	uint8_t v[100];
	for (size_t i = 0; i < sizeof(v); i++)
		v[i] = (uint8_t)(i * 31);
	for (size_t cut = 0; cut <= sizeof(v); cut++)
		assert_int_equal(crc32_ieee(crc32_ieee(0, v, cut), v + cut, sizeof(v) - cut),
			crc32_ieee(0, v, sizeof(v)));
}

/* Whole packets from the IP header on, ICRC last. */
static const struct {
	const char *what, *hex;
} vectors[] = {
	{"CNP captured from a NIC, published with Scapy's RoCE tests",
		"45c2003c718c4000401191610a0011010a001201000012b7002800008100ffff400001180000000000"
		"00000000000000000000000000000082fd002a"},
	{"UC SEND ONLY, published with Scapy's RoCE tests",
		"45010040047840004011b4d5c0a80007c0a80007c00012b7002caca22460ffff000000d300cf171046"
		"30818be28935d90e9a95505401be885e50000078f353f3"},
	{"IPv6 ACK, from an independent implementation with zlib",
		"62812345001c1140fd000000000000000000000000000001fd000000000000000000000000000002c0"
		"3012b7001cbeef1140ffff00001234000000071f0000030c134ae9"},
};

static size_t vector(size_t i, uint8_t *out)
{
	return unhex(vectors[i].hex, out);
}

static void test_vectors(void **state)
{
	for (size_t i = 0; i < rw_countof(vectors); i++) {
		uint8_t p[200];
		uint32_t icrc = 0;
		size_t n = vector(i, p);
		if (icrc_compute(p, n - 4, &icrc) != 0 || icrc != icrc_get(p + n - 4))
			fail_msg("%s: computed %08x, the packet says %08x", vectors[i].what, icrc,
				icrc_get(p + n - 4));
		uint8_t back[4];
		icrc_put(back, icrc);
		assert_memory_equal(back, p + n - 4, 4);
	}
}

/* Of every length, against the CRC of a copy with the fields that may change set to ones. */
static void test_lengths(void **state)
{
	static const size_t ones4[] = {1, 8, 10, 11, 26, 27, 32},
			    ones6[] = {1, 2, 3, 7, 46, 47, 52};
	uint8_t packet[600], copy[8 + 600];
	for (size_t n = 40; n <= sizeof(packet); n++) {
		const bool six = n >= 60 && n % 2;
		uint32_t icrc = 0;
		for (size_t i = 0; i < n; i++)
			packet[i] = (uint8_t)(i * 151 + n * 7);
		packet[0] = six ? 0x65 : 0x45;
		packet[six ? 6 : 9] = 17;
		memset(copy, 0xff, 8);
		memcpy(copy + 8, packet, n);
		for (size_t i = 0; i < rw_countof(ones4); i++)
			copy[8 + (six ? ones6[i] : ones4[i])] = 0xff;
		if (six)
			copy[8] = 0x6f;
		assert_int_equal(icrc_compute(packet, n, &icrc), 0);
		assert_int_equal(icrc, crc32_ieee(0, copy, 8 + n));
	}
}

/* Every byte flipped in turn: the ICRC must follow exactly where the specification says the field
 * is invariant. */
static void test_masks(void **state)
{
	/* offsets that routers may change */
	static const struct {
		size_t vector;
		const char *variant;
	} rows[] = {
		{0, "1 8 10 11 26 27 32"},
		{2, "1 2 3 7 46 47 52"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		uint8_t p[200];
		uint32_t want, got;
		size_t n = vector(rows[i].vector, p) - 4;
		assert_int_equal(icrc_compute(p, n, &want), 0);
		for (size_t at = 1; at < n; at++) {
			bool variant = false;
			for (const char *s = rows[i].variant; s; s = strchr(s + 1, ' '))
				variant |= strtoul(s, NULL, 10) == at;
			p[at] ^= 0x55;
			int rc = icrc_compute(p, n, &got);
			p[at] ^= 0x55;
			if (rc == -EINVAL) /* no longer UDP */
				continue;
			if ((got == want) != variant)
				fail_msg("vector %zu, byte %zu: %s", rows[i].vector, at,
					variant ? "should not count" : "should count");
		}
	}
}

static void test_refused(void **state)
{
	uint8_t p[200];
	uint32_t icrc;
	size_t n = vector(0, p);
	for (size_t cut = 0; cut < 40; cut++)
		assert_int_equal(icrc_compute(p, cut, &icrc), -EINVAL);
	p[0] = 0x46;
	assert_int_equal(icrc_compute(p, n - 4, &icrc), -EINVAL);
	p[0] = 0x45;
	p[9] = 6;
	assert_int_equal(icrc_compute(p, n - 4, &icrc), -EINVAL);
	n = vector(2, p);
	p[6] = 0; /* hop-by-hop */
	assert_int_equal(icrc_compute(p, n - 4, &icrc), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_crc32),
		cmocka_unit_test(test_vectors), cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_masks), cmocka_unit_test(test_refused)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
