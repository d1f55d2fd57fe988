/* pcapng: what blocks say besides packets: direction, interfaces over sections, loss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/err.h"
#include "collectors/packet/capture/pcap_file.h"
#include "db/model/flow.h"
#include "tests/unit/collectors/packet/packets.h"

static void put_option(struct capfile *f, unsigned code, const void *value, size_t n)
{
	static const uint8_t zero[4];
	cap_u16(f, code);
	cap_u16(f, (unsigned)n);
	cap_bytes(f, value, n);
	cap_bytes(f, zero, (4 - n % 4) % 4);
}

static void put_u64(struct capfile *f, unsigned code, uint64_t value)
{
	uint32_t parts[2] = {(uint32_t)value, (uint32_t)(value >> 32)};
	cap_u16(f, code);
	cap_u16(f, 8);
	cap_u32(f, parts[f->big]);
	cap_u32(f, parts[!f->big]);
}

/* Writes @type's two lengths round what was put since @begin. */
static void put_block(struct capfile *f, uint32_t type, const struct capfile *body)
{
	cap_u32(f, type);
	cap_u32(f, (uint32_t)body->n + 12);
	cap_bytes(f, body->b, body->n);
	cap_u32(f, (uint32_t)body->n + 12);
}

static void put_section(struct capfile *f)
{
	struct capfile body = {.big = f->big};
	cap_u32(&body, 0x1a2b3c4d);
	cap_u16(&body, 1);
	cap_u16(&body, 0);
	cap_u32(&body, 0xffffffff);
	cap_u32(&body, 0xffffffff);
	put_block(f, 0x0a0d0d0a, &body);
	free(body.b);
}

static void put_interface(struct capfile *f, unsigned link, const char *name)
{
	struct capfile body = {.big = f->big};
	cap_u16(&body, link);
	cap_u16(&body, 0);
	cap_u32(&body, 0);
	put_option(&body, 2, name, strlen(name));
	put_block(f, 1, &body);
	free(body.b);
}

static void put_packet(struct capfile *f, unsigned interface, uint32_t flags, uint64_t drops)
{
	static const uint8_t frame[60] = {[12] = 8};
	struct capfile body = {.big = f->big};
	cap_u32(&body, interface);
	cap_u32(&body, 0);
	cap_u32(&body, 1);
	cap_u32(&body, sizeof(frame));
	cap_u32(&body, 1500);
	cap_bytes(&body, frame, sizeof(frame));
	cap_u16(&body, 2);
	cap_u16(&body, 4);
	cap_u32(&body, flags);
	if (drops)
		put_u64(&body, 4, drops);
	put_block(f, 6, &body);
	free(body.b);
}

static void put_statistics(
	struct capfile *f, unsigned interface, uint64_t received, int64_t ifdrop, int64_t osdrop)
{
	struct capfile body = {.big = f->big};
	cap_u32(&body, interface);
	cap_u32(&body, 0);
	cap_u32(&body, 0);
	put_u64(&body, 4, received);
	if (ifdrop >= 0)
		put_u64(&body, 5, (uint64_t)ifdrop);
	if (osdrop >= 0)
		put_u64(&body, 7, (uint64_t)osdrop);
	put_block(f, 5, &body);
	free(body.b);
}

struct seen {
	struct packet_origin origin[8];
	uint32_t wire[8];
	size_t n;
	uint64_t drops;
	bool drops_known;
};

static struct seen read_all(struct capfile *f)
{
	struct seen seen = {.n = 0};
	struct pcap_reader *reader;
	struct pcap_record record;
	struct err e = {0};
	assert_int_equal(pcap_reader_memory(f->b, f->n, &reader, &e), 0);
	while (pcap_reader_next(reader, &record, &e) > 0) {
		seen.wire[seen.n] = record.wire;
		seen.origin[seen.n++] = record.origin;
	}
	assert_string_equal(e.text, "");
	seen.drops = pcap_reader_drops(reader, &seen.drops_known);
	pcap_reader_free(reader);
	free(f->b);
	return seen;
}

static void test_direction(void **state)
{
	for (int big = 0; big < 2; big++) {
		struct capfile f = {.big = big};
		put_section(&f);
		put_interface(&f, 1, "eth0");
		put_packet(&f, 0, 1, 0);
		put_packet(&f, 0, 2, 0);
		put_packet(&f, 0, 0, 0);
		put_packet(&f, 0, 2 | 4 << 5, 0); /* and four bytes of FCS */
		const struct seen seen = read_all(&f);
		assert_int_equal(seen.n, 4);
		assert_int_equal(seen.origin[0].direction, FLOW_DIR_IN);
		assert_int_equal(seen.origin[1].direction, FLOW_DIR_OUT);
		assert_int_equal(seen.origin[2].direction, FLOW_DIR_UNKNOWN);
		assert_int_equal(seen.wire[2], 1500);
		assert_int_equal(seen.wire[3], 1496);
		assert_false(seen.drops_known);
	}
}

/* The same interface keeps its number in a later section, whatever its place there. */
static void test_sections(void **state)
{
	struct capfile f = {.n = 0};
	put_section(&f);
	put_interface(&f, 1, "a");
	put_interface(&f, 1, "b");
	put_packet(&f, 0, 0, 0);
	put_packet(&f, 1, 0, 0);
	put_section(&f);
	put_interface(&f, 1, "b");
	put_interface(&f, 113, "a");
	put_interface(&f, 1, "a");
	put_packet(&f, 0, 0, 0);
	put_packet(&f, 1, 0, 0);
	put_packet(&f, 2, 0, 0);
	const struct seen seen = read_all(&f);
	static const uint32_t want[] = {0, 1, 1, 2, 0};
	assert_int_equal(seen.n, 5);
	for (size_t i = 0; i < seen.n; i++)
		assert_int_equal(seen.origin[i].interface, want[i]);
}

/* Two unnamed interfaces of one kind are two. */
static void test_unnamed(void **state)
{
	struct capfile f = {.n = 0};
	put_section(&f);
	put_interface(&f, 1, "");
	put_interface(&f, 1, "");
	put_packet(&f, 0, 0, 0);
	put_packet(&f, 1, 0, 0);
	const struct seen seen = read_all(&f);
	assert_int_equal(seen.origin[0].interface, 0);
	assert_int_equal(seen.origin[1].interface, 1);
}

static void test_drops(void **state)
{
	for (int big = 0; big < 2; big++) {
		struct capfile f = {.big = big};
		put_section(&f);
		put_interface(&f, 1, "a");
		put_interface(&f, 1, "b");
		put_packet(&f, 0, 0, 0);
		put_statistics(&f, 0, 100, 5, -1);
		put_statistics(&f, 0, 200, 7, 2); /* replaces the one before */
		put_statistics(&f, 1, 50, -1, -1);
		put_section(&f);
		put_interface(&f, 1, "a");
		put_statistics(&f, 0, 10, 1, 0);
		put_statistics(&f, 9, 10, 99, 99); /* of nothing */
		const struct seen seen = read_all(&f);
		assert_true(seen.drops_known);
		assert_int_equal(seen.drops, 10);
	}
}

static void test_dropcount(void **state)
{
	struct capfile f = {.n = 0};
	put_section(&f);
	put_interface(&f, 1, "a");
	put_packet(&f, 0, 0, 3);
	put_packet(&f, 0, 0, 4);
	const struct seen seen = read_all(&f);
	assert_true(seen.drops_known);
	assert_int_equal(seen.drops, 7);
}

/* Statistics without counters of loss: not known, which is not none. */
static void test_silent(void **state)
{
	struct capfile f = {.n = 0};
	put_section(&f);
	put_interface(&f, 1, "a");
	put_statistics(&f, 0, 100, -1, -1);
	const struct seen seen = read_all(&f);
	assert_false(seen.drops_known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_direction),
		cmocka_unit_test(test_sections), cmocka_unit_test(test_unnamed),
		cmocka_unit_test(test_drops), cmocka_unit_test(test_dropcount),
		cmocka_unit_test(test_silent)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
