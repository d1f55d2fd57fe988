/* roce_parse: one row per form of frame; and every frame cut at every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "collectors/packet/frame/roce_parse.h"
#include "tests/unit/collectors/packet/packets.h"

#define WRITE                                                                                      \
	.opcode = 0x0a, .bth_flags = 0x40, .qp = 0x123456, .psn = 0xabcdef, .ext_bytes = 16,       \
	.ext = {[14] = 4}, .payload = 1024

struct row {
	const char *what;
	struct frame_spec s;
	enum roce_kind kind;
	enum roce_error error;
	enum icrc_verdict icrc;
};

static const struct row rows[] = {
	{"plain", {WRITE}, PACKET_ROCE, ROCE_OK, ICRC_OK},
	{"one tag", {WRITE, .n_vlan = 1}, PACKET_ROCE, ROCE_OK, ICRC_OK},
	{"QinQ", {WRITE, .n_vlan = 2}, PACKET_ROCE, ROCE_OK, ICRC_OK},
	{"four tags", {WRITE, .n_vlan = 4}, PACKET_ROCE, ROCE_OK, ICRC_OK},
	{"five tags", {WRITE, .n_vlan = 5}, PACKET_BAD, ROCE_VLAN_DEPTH, ICRC_UNCHECKED},
	{"IPv6", {WRITE, .v6 = 1}, PACKET_ROCE, ROCE_OK, ICRC_OK},
	{"IPv6, three extension headers", {WRITE, .v6 = 1, .options = 24}, PACKET_ROCE, ROCE_OK,
		ICRC_UNCHECKED},
	{"IPv6, eight extension headers", {WRITE, .v6 = 1, .options = 64}, PACKET_ROCE, ROCE_OK,
		ICRC_UNCHECKED},
	{"IPv6, nine extension headers", {WRITE, .v6 = 1, .options = 72}, PACKET_BAD,
		ROCE_IP6_EXTENSIONS, ICRC_UNCHECKED},
	{"IPv6, tagged", {WRITE, .v6 = 1, .n_vlan = 1}, PACKET_ROCE, ROCE_OK, ICRC_OK},
	{"IPv4 options", {WRITE, .options = 40}, PACKET_ROCE, ROCE_OK, ICRC_UNCHECKED},
	{"raw IPv4", {WRITE, .link = 101}, PACKET_ROCE, ROCE_OK, ICRC_OK},
	{"raw IPv6", {WRITE, .link = 101, .v6 = 1}, PACKET_ROCE, ROCE_OK, ICRC_OK},
	{"Linux cooked", {WRITE, .link = 113}, PACKET_ROCE, ROCE_OK, ICRC_OK},
	{"Linux cooked 2, IPv6", {WRITE, .link = 276, .v6 = 1}, PACKET_ROCE, ROCE_OK, ICRC_OK},
	{"wrong ICRC", {WRITE, .icrc = 1}, PACKET_ROCE, ROCE_OK, ICRC_BAD},
	{"Ethernet padding", {.opcode = 0x04, .padding = 30}, PACKET_ROCE, ROCE_OK, ICRC_OK},
	{"first fragment", {WRITE, .fragment = 0x2000}, PACKET_ROCE, ROCE_OK, ICRC_UNCHECKED},
	{"later fragment", {WRITE, .fragment = 0x00b9}, PACKET_BAD, ROCE_IP_FRAGMENT,
		ICRC_UNCHECKED},
	{"other port", {WRITE, .dst_port = 4788}, PACKET_OTHER, ROCE_OK, ICRC_UNCHECKED},
	{"from port 4791 only", {WRITE, .src_port = 4791, .dst_port = 5000}, PACKET_OTHER, ROCE_OK,
		ICRC_UNCHECKED},
	{"TCP", {WRITE, .proto = 6}, PACKET_OTHER, ROCE_OK, ICRC_UNCHECKED},
	{"UDP length longer than IP", {WRITE, .udp_less = -4}, PACKET_BAD, ROCE_UDP_LENGTH,
		ICRC_UNCHECKED},
	{"UDP length below its header", {.opcode = 4, .udp_less = 20}, PACKET_BAD, ROCE_UDP_LENGTH,
		ICRC_UNCHECKED},
	{"UDP payload below BTH", {.opcode = 4, .udp_less = 4}, PACKET_BAD, ROCE_BTH_SHORT,
		ICRC_UNCHECKED},
	{"IP length longer than the frame", {WRITE, .ip_more = 1}, PACKET_BAD, ROCE_IP_LENGTH,
		ICRC_UNCHECKED},
	{"IPv6 length longer than the frame", {WRITE, .v6 = 1, .ip_more = 1}, PACKET_BAD,
		ROCE_IP_LENGTH, ICRC_UNCHECKED},
	{"transport version 1", {.opcode = 4, .bth_flags = 1}, PACKET_BAD, ROCE_BTH_VERSION,
		ICRC_UNCHECKED},
};

static void test_rows(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct row *r = &rows[i];
		struct built f;
		struct roce_packet p;
		frame_build(&r->s, &f);
		roce_parse(link_of_dlt(r->s.link ? (uint32_t)r->s.link : 1), f.b, f.n, f.n,
			ROCE_CHECK_ICRC, &p);
		if (p.kind != r->kind || p.error != r->error || p.icrc != r->icrc)
			fail_msg("%s: kind %d error %s icrc %d, expected %d %s %d", r->what, p.kind,
				roce_error_name(p.error), p.icrc, r->kind,
				roce_error_name(r->error), r->icrc);
		if (p.kind != PACKET_ROCE)
			continue;
		size_t link = r->s.link == 101 ? 0
			: r->s.link == 113     ? 16
			: r->s.link == 276     ? 20
					       : 14;
		if (p.octets != f.n - link + 14)
			fail_msg("%s: %u octets of a frame of %zu", r->what, p.octets, f.n);
		if (p.family != (r->s.v6 ? 6 : 4) || p.opcode != r->s.opcode ||
			p.dst_qp != r->s.qp || p.psn != r->s.psn || p.src_port != 49152 ||
			p.payload_bytes != (uint32_t)r->s.payload || p.n_vlan != r->s.n_vlan ||
			p.p_key != 0xffff)
			fail_msg("%s: fields", r->what);
		if (r->s.n_vlan && (p.vlan != 100 || p.pcp != 3))
			fail_msg("%s: tag", r->what);
	}
}

/* An authentication header counts its length in words of 4 bytes, less two (RFC 4302): what follows
 * stands elsewhere when it is read like that of the other extension headers. */
static void test_authentication_header(void **state)
{
	static const struct {
		uint8_t length;
		enum roce_kind kind;
		enum roce_error error;
	} headers[] = {
		{4, PACKET_ROCE, ROCE_OK}, /* 24 bytes, as they are */
		{2, PACKET_OTHER, ROCE_OK}, /* 16: what is read as UDP has another port */
		{0xff, PACKET_BAD, ROCE_IP_LENGTH}, /* 1,028 and not 2,048: still too many */
	};
	const struct frame_spec spec = {.v6 = 1, .options = 24, .opcode = 4, .qp = 7, .psn = 9};
	for (size_t i = 0; i < rw_countof(headers); i++) {
		struct built f;
		struct roce_packet p;
		frame_build(&spec, &f);
		f.b[14 + 6] = 51;
		f.b[14 + 40] = 17; /* UDP follows */
		f.b[14 + 41] = headers[i].length;
		roce_parse(link_of_dlt(1), f.b, f.n, f.n, ROCE_CHECK_ICRC, &p);
		if (p.kind != headers[i].kind || p.error != headers[i].error)
			fail_msg("length %u: kind %d, %s", headers[i].length, p.kind,
				roce_error_name(p.error));
		if (p.kind == PACKET_ROCE && (p.dst_qp != 7 || p.psn != 9))
			fail_msg("length %u: fields", headers[i].length);
	}
}

/* Cut at every byte: never a crash (under the sanitizers), never another verdict than "cut" until
 * the headers are whole. */
static void test_cut(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct built f;
		frame_build(&rows[i].s, &f);
		bool whole = false;
		for (size_t n = 0; n <= f.n; n++) {
			/* so that the sanitizer sees one byte too many */
			uint8_t *exact = malloc(n ? n : 1);
			memcpy(exact, f.b, n);
			struct roce_packet p;
			roce_parse(link_of_dlt(rows[i].s.link ? (uint32_t)rows[i].s.link : 1),
				exact, n, f.n, ROCE_CHECK_ICRC, &p);
			if (whole && p.kind != rows[i].kind)
				fail_msg("%s: cut at %zu after it was understood: kind %d",
					rows[i].what, n, p.kind);
			whole = p.kind == rows[i].kind && p.error == rows[i].error;
			if (!whole && (p.kind != PACKET_BAD || p.error != ROCE_CUT_BY_SNAPLEN) &&
				p.kind != PACKET_OTHER && p.error != ROCE_VLAN_DEPTH)
				fail_msg("%s: cut at %zu: kind %d, %s", rows[i].what, n, p.kind,
					roce_error_name(p.error));
			free(exact);
		}
		assert_true(whole);
	}
}

static void test_short_packet(void **state)
{
	struct built f;
	struct roce_packet p;
	frame_build(&(struct frame_spec){WRITE}, &f);
	roce_parse(LINK_ETHERNET, f.b, 30, 30, 0, &p); /* the whole packet, not a cut one */
	assert_int_equal(p.error, ROCE_SHORT_PACKET);
	roce_parse(LINK_ETHERNET, f.b, f.n, 0, 0, &p); /* a wire length that is a lie */
	assert_int_equal(p.kind, PACKET_ROCE);
	assert_int_equal(p.octets, f.n);
	roce_parse(LINK_UNSUPPORTED, f.b, f.n, f.n, 0, &p);
	assert_int_equal(p.error, ROCE_UNSUPPORTED_LINK);
}

static void test_fields(void **state)
{
	struct built f;
	struct roce_packet p;
	/* everything set that can be */
	frame_build(&(struct frame_spec){.opcode = 0x05,
			    .bth_flags = 0xf0,
			    .bth_ecn = 0xc0,
			    .qp = 0xffffff,
			    .psn = 0xffffff,
			    .ack_req = 1,
			    .tos = 0xff,
			    .ext_bytes = 4,
			    .payload = 8},
		&f);
	roce_parse(LINK_ETHERNET, f.b, f.n, f.n, ROCE_CHECK_ICRC, &p);
	assert_int_equal(p.kind, PACKET_ROCE);
	assert_true(
		p.se && p.mig_req && p.fecn && p.becn && p.ack_req && !p.has_aeth && !p.has_reth);
	assert_int_equal(p.pad, 3);
	assert_int_equal(p.payload_bytes, 5);
	assert_int_equal(p.ecn, ECN_CE);
	assert_int_equal(p.dscp, 63);
	assert_int_equal(p.dst_qp, 0xffffff);
	assert_int_equal(p.psn, 0xffffff);
	assert_int_equal(p.icrc, ICRC_OK);

	struct frame_spec s = spec_write_only(7, 9, 600);
	frame_build(&s, &f);
	roce_parse(LINK_ETHERNET, f.b, f.n, f.n, 0, &p);
	assert_true(p.has_reth);
	assert_int_equal(p.reth_bytes, 600);
	assert_int_equal(p.icrc, ICRC_UNCHECKED);
	assert_int_equal(p.ecn, ECN_ECT0);
	assert_int_equal(p.dscp, 26);

	s = spec_back(0x11, 7, 9, 0x60 | 0);
	frame_build(&s, &f);
	roce_parse(LINK_ETHERNET, f.b, f.n, f.n, 0, &p);
	assert_true(roce_is_nak(&p) && !roce_is_rnr_nak(&p) && !roce_is_cnp(&p));
	assert_string_equal(aeth_nak_text(p.syndrome), "PSN sequence error");
	assert_int_equal(p.msn, 1);
	s = spec_back(0x11, 7, 9, 0x20 | 14);
	frame_build(&s, &f);
	roce_parse(LINK_ETHERNET, f.b, f.n, f.n, 0, &p);
	assert_true(roce_is_rnr_nak(&p) && !roce_is_nak(&p));
	s = spec_back(0x11, 7, 9, 0x1f);
	frame_build(&s, &f);
	roce_parse(LINK_ETHERNET, f.b, f.n, f.n, 0, &p);
	assert_true(p.has_aeth && !roce_is_rnr_nak(&p) && !roce_is_nak(&p));
	s = spec_cnp(0x55);
	frame_build(&s, &f);
	roce_parse(LINK_ETHERNET, f.b, f.n, f.n, ROCE_CHECK_ICRC, &p);
	assert_true(roce_is_cnp(&p) && p.becn);
	assert_int_equal(p.icrc, ICRC_OK);

	/* Extension headers of the transports that put one before the AETH or RETH. */
	/* RD: RDETH, AETH */
	frame_build(
		&(struct frame_spec){.opcode = 0x51, .ext_bytes = 8, .ext = {[4] = 0x61, [7] = 5}},
		&f);
	roce_parse(LINK_ETHERNET, f.b, f.n, f.n, 0, &p);
	assert_true(roce_is_nak(&p));
	assert_int_equal(p.msn, 5);
	/* XRC: XRCETH, RETH */
	frame_build(
		&(struct frame_spec){.opcode = 0xaa, .ext_bytes = 20, .ext = {[16 + 2] = 1}}, &f);
	roce_parse(LINK_ETHERNET, f.b, f.n, f.n, 0, &p);
	assert_int_equal(p.reth_bytes, 256);
}

static void test_pause(void **state)
{
	struct built f;
	struct roce_packet p;
	frame_pfc(0x0101, 0x48, 0xffff, &f);
	roce_parse(LINK_ETHERNET, f.b, f.n, f.n, 0, &p);
	assert_int_equal(p.kind, PACKET_PFC);
	assert_int_equal(p.classes, 0x48);
	assert_int_equal(p.time[3], 0xffff);
	assert_int_equal(p.time[6], 0xffff);
	assert_int_equal(p.time[0], 0);
	for (size_t n = 0; n < 34; n++) {
		roce_parse(LINK_ETHERNET, f.b, n, f.n, 0, &p);
		assert_int_equal(p.kind, PACKET_BAD);
	}
	frame_pfc(0x0001, 0, 77, &f);
	roce_parse(LINK_ETHERNET, f.b, f.n, f.n, 0, &p);
	assert_int_equal(p.kind, PACKET_PAUSE);
	assert_int_equal(p.time[0], 77);
	frame_pfc(0x0002, 0, 77, &f);
	roce_parse(LINK_ETHERNET, f.b, f.n, f.n, 0, &p);
	assert_int_equal(p.kind, PACKET_OTHER);
	f.b[12] = 0x89;
	f.b[13] = 0x15;
	roce_parse(LINK_ETHERNET, f.b, f.n, f.n, 0, &p);
	assert_int_equal(p.kind, PACKET_ROCEV1);
}

static void test_opcodes(void **state)
{
	static const struct {
		uint8_t opcode;
		const char *name;
		enum roce_role role;
	} names[] = {
		{0x00, "RC_SEND_FIRST", ROLE_REQUEST},
		{0x05, "RC_SEND_ONLY_WITH_IMMEDIATE", ROLE_REQUEST},
		{0x0a, "RC_RDMA_WRITE_ONLY", ROLE_REQUEST},
		{0x0c, "RC_RDMA_READ_REQUEST", ROLE_REQUEST},
		{0x0d, "RC_RDMA_READ_RESPONSE_FIRST", ROLE_RESPONSE_FIRST},
		{0x0f, "RC_RDMA_READ_RESPONSE_LAST", ROLE_RESPONSE},
		{0x11, "RC_ACKNOWLEDGE", ROLE_ACK},
		{0x12, "RC_ATOMIC_ACKNOWLEDGE", ROLE_ACK},
		{0x14, "RC_FETCH_ADD", ROLE_REQUEST},
		{0x15, "0x15", ROLE_NONE},
		{0x17, "RC_SEND_ONLY_WITH_INVALIDATE", ROLE_REQUEST},
		{0x18, "0x18", ROLE_NONE},
		{0x2b, "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", ROLE_REQUEST},
		{0x2c, "0x2c", ROLE_NONE},
		{0x55, "RD_RESYNC", ROLE_REQUEST},
		{0x64, "UD_SEND_ONLY", ROLE_REQUEST},
		{0x63, "0x63", ROLE_NONE},
		{0x80, "0x80", ROLE_NONE},
		{0x81, "CNP", ROLE_NONE},
		{0xa6, "XRC_RDMA_WRITE_FIRST", ROLE_REQUEST},
		{0xff, "0xff", ROLE_NONE},
	};
	char text[ROCE_OPCODE_TEXT_MAX];
	for (size_t i = 0; i < rw_countof(names); i++) {
		assert_string_equal(roce_opcode_text(text, names[i].opcode), names[i].name);
		if (roce_opcode_role(names[i].opcode) != names[i].role)
			fail_msg("%s: role", names[i].name);
	}
}

/* A datagram of sFlow is handed on: its bytes lie in the frame, without the padding. */
static void test_sflow(void **state)
{
	const struct frame_spec s = {.dst_port = 6343, .payload = 40, .padding = 5};
	struct built f;
	struct roce_packet p;
	frame_build(&s, &f);
	roce_parse(LINK_ETHERNET, f.b, f.n, f.n, 0, &p);
	assert_int_equal(p.kind, PACKET_SFLOW);
	assert_ptr_equal(p.sflow_data, f.b + 14 + 20 + 8);
	assert_int_equal(p.sflow_bytes, 12 + 40 + 4);
	assert_false(p.sflow_cut);
	assert_int_equal(p.family, 4);
	assert_int_equal(p.src[3], 1);
	roce_parse(LINK_ETHERNET, f.b, 60, f.n, 0, &p);
	assert_int_equal(p.kind, PACKET_SFLOW);
	assert_int_equal(p.sflow_bytes, 60 - 42);
	assert_true(p.sflow_cut);
}

static uint32_t parse_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

/* The short way of plain frames says what the long one says: a cooked header in front of the same
 * packet takes that one. Any byte may be wrong, and any length. */
static void test_plain(void **state)
{
	enum { ETHERNET = 14, COOKED = 16, ROUNDS = 40000 };
	uint64_t random = 7;
	int roce = 0, bad = 0;
	for (int i = 0; i < ROUNDS; i++) {
		struct frame_spec s = {WRITE, .n_vlan = parse_random(&random) % 3};
		if (i % 3 == 1)
			s = spec_back(0x11, 7, 9, (uint8_t)parse_random(&random));
		struct built f;
		struct roce_packet got, expected;
		frame_build(&s, &f);
		for (uint32_t k = parse_random(&random) % 3; k > 0; k--)
			f.b[12 + parse_random(&random) % 60] = (uint8_t)parse_random(&random);
		size_t n = f.n, wire = f.n;
		if (i % 4 == 0)
			n = ETHERNET + parse_random(&random) % (f.n - ETHERNET);
		if (i % 8 == 1)
			wire = n - parse_random(&random) % 40;
		uint8_t cooked[sizeof(f.b) + 2] = {0};
		memcpy(cooked + COOKED - 2, f.b + ETHERNET - 2, n - ETHERNET + 2);
		roce_parse(LINK_ETHERNET, f.b, n, wire, ROCE_CHECK_ICRC, &got);
		roce_parse(LINK_SLL, cooked, n + 2, wire + 2, ROCE_CHECK_ICRC, &expected);
		if (got.n_tunnels == 0)
			assert_memory_equal(got.src_mac, f.b + 6, sizeof(got.src_mac));
		memcpy(expected.src_mac, got.src_mac, sizeof(got.src_mac)); /* cooked: none */
		if (expected.kind == PACKET_SFLOW) /* it points into its own frame */
			expected.sflow_data = got.sflow_data;
		assert_memory_equal(&got, &expected, sizeof(got));
		roce += got.kind == PACKET_ROCE;
		bad += got.kind == PACKET_BAD;
	}
	assert_true(roce > ROUNDS / 4 && bad > ROUNDS / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_authentication_header),
		cmocka_unit_test(test_rows), cmocka_unit_test(test_sflow),
		cmocka_unit_test(test_cut), cmocka_unit_test(test_short_packet),
		cmocka_unit_test(test_fields), cmocka_unit_test(test_pause),
		cmocka_unit_test(test_opcodes), cmocka_unit_test(test_plain)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
