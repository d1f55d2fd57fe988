/* Switches of many kinds (switch_hash.h) are learned from 4,000 samples of which 5 % are wrong, or
 * refused; a changed path is noticed; ports that are prescribed go where the switch itself sends
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "analyzers/xray/xray_plan.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "switch_hash.h"

enum { SAMPLES = 4000, JUDGED = 5000, WRONG = 5 };
#define CCITT 0x1021, 16
#define ANSI 0x8005, 16
#define CRC32 0x04C11DB7, 32
#define CRC32C 0x1EDC6F41, 32
#define FOLD 0, 16

static const struct switch_hash learned_rows[] = {
	{"2, CRC16 low bits", ANSI, true, false, LOW_BITS, 2, 0, 0x77},
	{"8, CRC16 low bits", CCITT, false, false, LOW_BITS, 8, 0, 0x1234},
	{"16, XOR", FOLD, false, false, LOW_BITS, 16, 0, 0x55},
	{"32, CRC32C high bits", CRC32C, true, true, HIGH_BITS, 32, 0, 0xABCD},
	{"128, CRC32 low bits", CRC32, false, false, LOW_BITS, 128, 0, 0xDEADBEEF},
	{"3, CRC16 modulo", CCITT, false, false, MODULO, 3, 0, 1},
	{"12, CRC16 modulo", ANSI, true, false, MODULO, 12, 0, 2},
	{"48, CRC32 upper half modulo", CRC32, true, true, MODULO, 48, 0, 3},
	{"127, CRC32C modulo", CRC32C, false, false, MODULO, 127, 0, 4},
	{"12, CRC16 multiplied", CCITT, false, false, MULTIPLY, 12, 0, 5},
	{"100, CRC32 multiplied", CRC32, true, true, MULTIPLY, 100, 0, 6},
	{"10, CRC16 table of 64", CCITT, false, false, TABLE, 10, 6, 7},
	{"6, CRC32C table of 256", CRC32C, true, false, TABLE, 6, 8, 8},
	{"3, all of CRC32 modulo", CRC32, true, false, WHOLE_MODULO, 3, 0, 0xFFFFFFFF},
	{"12, all of CRC32 modulo", CRC32, false, false, WHOLE_MODULO, 12, 0, 0x1234567},
	{"127, all of CRC32C modulo", CRC32C, true, false, WHOLE_MODULO, 127, 0, 9},
};

static struct xray_learned learn(
	const struct switch_hash *h, size_t n, uint8_t family, struct arena *a)
{
	rw_cleanup(freep) struct xray_sample *samples = draw_samples(h, n, WRONG, family);
	struct xray_learned learned;
	xray_learn(samples, n, a, &learned);
	return learned;
}

/* Flows that were never sampled: how many are decided; of these none in 1,000 may be wrong. */
static size_t judge(const struct switch_hash *h, const struct xray_learned *learned, size_t at)
{
	size_t right = 0, wrong = 0;
	for (size_t i = 0; i < JUDGED; i++) {
		const struct xray_flow flow = draw_flow(4);
		size_t member;
		if (xray_foretell(learned->model, &flow, &member) != XRAY_SAYS)
			continue;
		if (learned->member[member] == member_of(h, &flow, at))
			right++;
		else
			wrong++;
	}
	if (wrong * 1000 > right)
		fail_msg("%s: %zu of %zu wrong", h->what, wrong, right + wrong);
	return right + wrong;
}

static void learns(void **state)
{
	for (size_t i = 0; i < rw_countof(learned_rows); i++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		const struct switch_hash *h = &learned_rows[i];
		const struct xray_learned learned = learn(h, SAMPLES, 4, a);
		if (!learned.model || learned.members != h->members || learned.changed)
			fail_msg("%s: refusal %d", h->what, learned.refusal);
		if (judge(h, &learned, 0) < JUDGED * 97 / 100)
			fail_msg("%s: too little is decided", h->what);
	}
}

/* Drawn switches of all 32 bits modulo 3 to 127 members, and keyed ones of as many: RW_XRAY_DRAWN
 * of them, for the record. */
static void learns_drawn(void **state)
{
	const char *text = getenv("RW_XRAY_DRAWN");
	const unsigned n = text ? (unsigned)atoi(text) : 0;
	unsigned learned_n = 0;
	if (n == 0)
		skip();
	for (unsigned i = 0; i < n; i++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		struct switch_hash h = {"drawn", CRC32, .way = WHOLE_MODULO};
		h.polynomial = drawn(2) ? 0x04C11DB7 : 0x1EDC6F41;
		h.reflected = drawn(2);
		h.seed = drawn(UINT32_MAX);
		do
			h.members = 3 + drawn(125);
		while ((h.members & (h.members - 1)) == 0);
		const struct xray_learned learned = learn(&h, SAMPLES, 4, a);
		const size_t said = learned.model ? judge(&h, &learned, 0) : 0;
		learned_n += said >= JUDGED * 97 / 100;
		struct switch_hash keyed = h;
		keyed.way = i % 2 ? JHASH : KEYED;
		if (learn(&keyed, SAMPLES, 4, a).model)
			fail_msg("%u members, keyed: falsely learned", h.members);
		if (n > 1)
			printf("%u members: refusal %d, %zu of %d decided\n", h.members,
				learned.refusal, said, JUDGED);
	}
	printf("all 32 bits: %u of %u learned\n", learned_n, n);
	assert_int_equal(learned_n, n);
}

static void refuses(void **state)
{
	static const struct switch_hash rows[] = {
		{"keyed, 8", .way = KEYED, .members = 8, .seed = 1},
		{"keyed, 12", .way = KEYED, .members = 12, .seed = 2},
		{"Jenkins, 16", .way = JHASH, .members = 16, .seed = 3},
		{"each packet", .way = SPRAY, .members = 8},
		{"a table that changes", CCITT, .way = TABLE, .members = 8, .table_bits = 6,
			.changes = 150},
		{"changed at the end", CCITT, .way = LOW_BITS, .members = 8, .changes = 3950},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		if (learn(&rows[i], SAMPLES, 6, a).model)
			fail_msg("%s: falsely learned", rows[i].what);
	}
}

static void notices_change(void **state)
{
	static const struct switch_hash rows[] = {
		{"low bits", CCITT, .way = LOW_BITS, .members = 8, .changes = 2100},
		{"table, late", CRC32, .way = TABLE, .members = 6, .table_bits = 6,
			.changes = 3200},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		const struct xray_learned learned = learn(&rows[i], SAMPLES, 4, a);
		assert_true(learned.model && learned.changed);
		assert_in_range(learned.changed_at, rows[i].changes - 20, rows[i].changes + 20);
		assert_int_equal(learned.changed_ns, (learned.changed_at + 1) * 1000000);
		if (judge(&rows[i], &learned, SAMPLES - 1) < JUDGED * 8 / 10)
			fail_msg("%s: too little is decided", rows[i].what);
	}
}

/* What no sample has is not answered: another port, a host that was sampled once. */
static void abstains(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(freep) struct xray_sample *samples =
		draw_samples(&learned_rows[1], SAMPLES, WRONG, 4);
	struct xray_learned learned;
	struct xray_flow flow = draw_flow(4);
	size_t member;
	samples[7].flow.src[1] = 99;
	xray_learn(samples, SAMPLES, a, &learned);
	assert_non_null(learned.model);
	assert_int_equal(xray_foretell(learned.model, &flow, &member), XRAY_SAYS);
	flow.src[1] = 99;
	assert_int_not_equal(xray_foretell(learned.model, &flow, &member), XRAY_SAYS);
	flow.src[1] = 0;
	flow.src_port = 1;
	assert_int_equal(xray_foretell(learned.model, &flow, &member), XRAY_OUTSIDE);
	xray_learn(samples, 30, a, &learned);
	assert_int_equal(learned.refusal, XRAY_TOO_FEW);
}

/* Two tiers of 8: another seed is no other function; another polynomial is one. */
static void tiers(void **state)
{
	const struct switch_hash first = {"", CCITT, .way = LOW_BITS, .members = 8, .seed = 11};
	struct switch_hash second[] = {
		first, first, {"", CRC32C, true, .way = LOW_BITS, .members = 8, .seed = 13}};
	static const size_t paths[] = {8, 8, 64};
	second[1].seed = 0x5A5A;
	for (size_t i = 0; i < rw_countof(second); i++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		const struct xray_learned one = learn(&first, SAMPLES, 4, a);
		const struct xray_learned two = learn(&second[i], SAMPLES, 4, a);
		struct xray_tiers tiers;
		xray_compare(&one, &two, &tiers);
		assert_true(tiers.linear);
		assert_int_equal(tiers.pairs, paths[i]);
		assert_int_equal(1 << tiers.rank, paths[i]);
	}
}

/* 1,024 flows over 8 uplinks and then 16: even by the switches themselves, not by the model. */
static void prescribes(void **state)
{
	enum { FLOWS = 1024 };
	const struct switch_hash hashes[] = {{"", CCITT, .way = LOW_BITS, .members = 8, .seed = 1},
		{"", CRC32C, true, .way = LOW_BITS, .members = 16, .seed = 2}};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	static const uint32_t next[] = {1, 1, 1, 1, 1, 1, 1, 1};
	struct xray_learned learned[2];
	const struct xray_node nodes[] = {{&learned[0], next}, {&learned[1], NULL}};
	struct xray_planned *flows = arena_array(a, struct xray_planned, FLOWS);
	size_t load[2][2000] = {{0}};
	for (size_t i = 0; i < 2; i++) {
		learned[i] = learn(&hashes[i], 800, 4, a);
		assert_non_null(learned[i].model);
	}
	for (size_t i = 0; i < FLOWS; i++)
		flows[i] = (struct xray_planned){.flow = draw_flow(4), .weight = 1};
	xray_prescribe(nodes, 2, flows, FLOWS, 0xC000, 0xFFFF);
	for (size_t i = 0; i < FLOWS; i++) {
		assert_true(flows[i].given);
		for (size_t h = 0; h < 2; h++)
			load[h][member_of(&hashes[h], &flows[i].flow, 0)]++;
	}
	for (size_t h = 0; h < 2; h++)
		for (size_t m = 0; m < 2000; m++)
			if (load[h][m])
				assert_int_equal(load[h][m], FLOWS / hashes[h].members);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(learns), cmocka_unit_test(learns_drawn),
		cmocka_unit_test(refuses), cmocka_unit_test(notices_change),
		cmocka_unit_test(abstains), cmocka_unit_test(tiers), cmocka_unit_test(prescribes)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
