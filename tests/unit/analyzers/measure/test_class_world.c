/* test_class_world - the world of a class: each word with its source, from declarations, settings,
 * counters and packets; contradictions are told, and what nothing says is unknown. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "analyzers/measure/class_world.h"
#include "tests/unit/analyzers/seen_world.h"

struct known { /* what the table below says of a class; counts of 0: nothing was told */
	enum congestion_policy congestion;
	bool declared, lb_declared;
	enum lb_policy lb;
	struct fabric_class class;
	unsigned pfc_on, pfc_off, credit_on, ecn_on, ecn_off, relative, kmin_bytes, trim_on,
		trim_off, lb_mixed;
	unsigned lb_static, lb_packet;
	double pause_frames, marked, trimmed, cnp, uet, srv6, spray;
};

static const struct {
	const char *name;
	struct known known;
	const char *words;
	const char *difference; /* part of one; NULL: there is none */
} worlds[] = {
	{"nothing is known", {0},
		"lossless by PFC (assumed), ECN on, bytes or shares unknown (assumed), "
		"congestion control: unknown (DCQCN assumed), load balancing: unknown (static hash "
		"assumed)",
		NULL},
	{"a plain RoCE fabric",
		{.declared = true,
			.lb_declared = true,
			.pfc_on = 8,
			.ecn_on = 8,
			.kmin_bytes = 8,
			.lb_static = 4,
			.pause_frames = 10,
			.marked = 5,
			.cnp = 7},
		"lossless by PFC (read back, pause frames seen), ECN absolute (read back, marks "
		"seen), DCQCN (declared, CNPs seen), static hash (read back)",
		NULL},
	{"packets alone", {.cnp = 100, .spray = 0.9, .marked = 1},
		"lossless by PFC (assumed), ECN on, bytes or shares unknown (marks seen), DCQCN "
		"(CNPs seen), packet spraying (sprayed packets seen)",
		NULL},
	{"relative ECN read back",
		{.declared = true, .lb_declared = true, .pfc_on = 4, .ecn_on = 4, .relative = 4},
		"lossless by PFC (read back), ECN relative (read back), DCQCN (declared), static "
		"hash (declared)",
		NULL},
	{"relative ECN on some ports",
		{.declared = true,
			.lb_declared = true,
			.ecn_on = 4,
			.relative = 2,
			.kmin_bytes = 2},
		"lossless by PFC (declared), ECN mixed (read back), DCQCN (declared), static hash "
		"(declared)",
		NULL},
	{"relative declared, bytes read back",
		{.declared = true,
			.lb_declared = true,
			.class = {.given = true, .ecn = ECN_RELATIVE},
			.ecn_on = 4,
			.kmin_bytes = 4},
		"lossless by PFC (declared), ECN absolute (read back), DCQCN (declared), static "
		"hash (declared)",
		"ECN relative is declared, and absolute is read back"},
	{"Ultra Ethernet", {.congestion = CC_UET, .declared = true, .uet = 1000, .pfc_off = 4},
		"not lossless (read back), ECN: unknown, UET (declared, UDP port 4793 seen), load "
		"balancing: unknown (static hash assumed)",
		NULL},
	{"Ultra Ethernet that nobody declared", {.uet = 1000},
		"lossless by PFC (assumed), ECN on, bytes or shares unknown (assumed), UET (UDP "
		"port 4793 seen), load balancing: unknown (static hash assumed)",
		NULL},
	{"DCQCN declared, Ultra Ethernet seen", {.declared = true, .lb_declared = true, .uet = 9},
		"lossless by PFC (declared), ECN on, bytes or shares unknown (declared), DCQCN "
		"(declared), static hash (declared)",
		"4793"},
	{"MRC with pause frames",
		{.congestion = CC_MRC,
			.declared = true,
			.lb = LB_SOURCE_ROUTED,
			.lb_declared = true,
			.lb_static = 4,
			.pause_frames = 100,
			.trimmed = 12,
			.srv6 = 50},
		"not lossless (declared), ECN: unknown, MRC (declared, RoCE in SRv6 seen), source "
		"routed (declared), trimming (declared, trimmed packets seen)",
		"pause frames are counted, and the class is declared to work without (congestion: "
		"mrc)"},
	{"MRC, and CNPs", {.congestion = CC_MRC, .declared = true, .lb_declared = true, .cnp = 3},
		"not lossless (declared), ECN: unknown, MRC (declared), static hash (declared), "
		"trimming (declared)",
		"CNPs are captured"},
	{"credits read back", {.declared = true, .lb_declared = true, .credit_on = 8, .ecn_on = 8},
		"lossless by credits (read back), ECN on, bytes or shares unknown (read back), "
		"DCQCN (declared), static hash (declared)",
		"lossless: pfc is declared, and credits is read back"},
	{"credits declared, PFC read back",
		{.congestion = CC_CREDIT, .declared = true, .lb_declared = true, .pfc_on = 8},
		"lossless by PFC (read back), ECN: unknown, credits (declared), static hash "
		"(declared)",
		"lossless: credits is declared, and pfc is read back"},
	{"both at once", {.pfc_on = 8, .credit_on = 8},
		"lossless by credits (read back), ECN on, bytes or shares unknown (assumed), "
		"congestion control: unknown (DCQCN assumed), load balancing: unknown (static hash "
		"assumed)",
		"PFC is on at 8 ports of the class and credits at 8"},
	{"spraying declared, a hash read back",
		{.declared = true, .lb = LB_PACKET, .lb_declared = true, .lb_static = 3},
		"lossless by PFC (declared), ECN on, bytes or shares unknown (declared), DCQCN "
		"(declared), static hash (read back)",
		"load balancing packet is declared, and 3 devices report static"},
	{"devices that differ", {.declared = true, .lb_static = 3, .lb_packet = 1},
		"lossless by PFC (declared), ECN on, bytes or shares unknown (declared), DCQCN "
		"(declared), load balancing differs between devices (read back)",
		NULL},
	{"PFC alone",
		{.congestion = CC_PFC_ONLY,
			.declared = true,
			.lb_declared = true,
			.pause_frames = 9},
		"lossless by PFC (declared, pause frames seen), ECN off (declared), PFC only "
		"(declared), static hash (declared)",
		NULL},
	{"a class of its own",
		{.declared = true,
			.lb_declared = true,
			.class = {.given = true,
				.congestion_given = true,
				.congestion = CC_UET,
				.lossless = LOSSLESS_NONE}},
		"not lossless (declared), ECN: unknown, UET (declared), static hash (declared)",
		NULL},
	{"trimming read back", {.declared = true, .lb_declared = true, .trim_on = 2},
		"lossless by PFC (declared), ECN on, bytes or shares unknown (declared), DCQCN "
		"(declared), static hash (declared), trimming (read back)",
		NULL},
};

static void facts_of(const struct known *known, struct fabric *fabric, struct world_facts *ret)
{
	*fabric = (struct fabric){.lossless_mask = 1 << 3,
		.congestion = known->congestion,
		.congestion_declared = known->declared,
		.lb = known->lb,
		.lb_declared = known->lb_declared};
	fabric->classes[3] = known->class;
	*ret = (struct world_facts){.fabric = fabric,
		.priority = 3,
		.pfc_on = known->pfc_on,
		.pfc_off = known->pfc_off,
		.credit_on = known->credit_on,
		.ecn_on = known->ecn_on,
		.ecn_off = known->ecn_off,
		.relative = known->relative,
		.kmin_bytes = known->kmin_bytes,
		.trim_on = known->trim_on,
		.trim_off = known->trim_off,
		.lb_mixed = known->lb_mixed,
		.pause_frames = known->pause_frames > 0 ? known->pause_frames : NAN,
		.marked = known->marked > 0 ? known->marked : NAN,
		.trimmed = known->trimmed > 0 ? known->trimmed : NAN,
		.cnp = known->cnp > 0 ? known->cnp : NAN,
		.uet = known->uet > 0 ? known->uet : NAN,
		.srv6 = known->srv6 > 0 ? known->srv6 : NAN,
		.spray_ratio = known->spray > 0 ? known->spray : NAN};
	ret->lb[LB_STATIC] = known->lb_static;
	ret->lb[LB_PACKET] = known->lb_packet;
}

static void all_worlds(void **state)
{
	for (size_t i = 0; i < rw_countof(worlds); i++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		struct fabric fabric;
		struct world_facts facts;
		struct class_world world;
		facts_of(&worlds[i].known, &fabric, &facts);
		class_world_of(&facts, a, &world);
		const char *words = class_world_words(&world, a);
		if (strcmp(words, worlds[i].words) != 0)
			fail_msg("%s:\n  is       %s\n  expected %s", worlds[i].name, words,
				worlds[i].words);
		bool told = !worlds[i].difference && !world.n_differences;
		for (size_t k = 0; k < world.n_differences && worlds[i].difference; k++)
			told = told || strstr(world.differences[k], worlds[i].difference);
		if (!told)
			fail_msg("%s: %zu differences, first: %s", worlds[i].name,
				world.n_differences,
				world.n_differences ? world.differences[0] : "-");
	}
}

/* What the agent tells by name is what its reader takes: the same words and differences follow. */
struct taking {
	struct world_facts facts;
	struct arena *a;
};

static void take_fact(void *arg, const char *name, double value)
{
	struct taking *taking = arg;
	assert_true(class_world_take(&taking->facts, name, value, taking->a));
}

static void facts_by_name(void **state)
{
	for (size_t i = 0; i < rw_countof(worlds); i++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		struct fabric fabric;
		struct world_facts facts;
		struct class_world world, again;
		facts_of(&worlds[i].known, &fabric, &facts);
		facts.lb_strange = 2;
		facts.lb_strange_text = "what/ever";
		struct taking taking = {class_world_blank(&fabric, 3), a};
		class_world_tell(&facts, take_fact, &taking);
		class_world_of(&facts, a, &world);
		class_world_of(&taking.facts, a, &again);
		assert_string_equal(class_world_line(&world, a), class_world_line(&again, a));
		assert_int_equal(world.n_differences, again.n_differences);
		for (size_t k = 0; k < world.n_differences; k++)
			assert_string_equal(world.differences[k], again.differences[k]);
		assert_int_equal(taking.facts.lb_strange, 2);
		assert_string_equal(taking.facts.lb_strange_text, "what/ever");
		assert_false(class_world_take(&taking.facts, "lb/no such", 1, a));
		assert_false(class_world_take(&taking.facts, "strange/x", -1, a));
	}
}

/* Each word where two facts compete, or one lies at its limit. */
static void words_at_their_limits(void **state)
{
	static const struct {
		struct known known;
		size_t word; /* of struct class_world */
		int value;
		enum world_source source;
		bool seen;
	} rows[] = {
#define WORD(name) offsetof(struct class_world, name)
		{{.credit_on = 1, .pfc_on = 1}, WORD(lossless), WORLD_BY_CREDITS, WORLD_READ,
			false},
		{{.pause_frames = 1}, WORD(lossless), WORLD_BY_PFC, WORLD_SEEN, true},
		{{.pause_frames = 1, .declared = true, .congestion = CC_ECN_ONLY}, WORD(lossless),
			WORLD_NOT_LOSSLESS, WORLD_DECLARED, false},
		{{.relative = 1, .kmin_bytes = 1}, WORD(ecn), WORLD_ECN_MIXED, WORLD_READ, false},
		{{.ecn_off = 1, .ecn_on = 1}, WORD(ecn), WORLD_ECN_ON, WORLD_READ, false},
		{{.ecn_off = 1}, WORD(ecn), WORLD_ECN_OFF, WORLD_READ, false},
		{{.ecn_on = 1, .class = {.given = true, .ecn = ECN_RELATIVE}}, WORD(ecn),
			WORLD_ECN_RELATIVE, WORLD_DECLARED, false},
		{{.uet = 1}, WORD(control), CC_UET + 1, WORLD_SEEN, true},
		{{.uet = 1, .cnp = 1}, WORD(control), CC_DCQCN + 1, WORLD_SEEN, true},
		{{.cnp = 1, .declared = true, .congestion = CC_RTT}, WORD(control), CC_RTT + 1,
			WORLD_DECLARED, false},
		{{.trim_off = 1, .trimmed = 1}, WORD(trim), WORLD_TRIM_OFF, WORLD_READ, false},
		{{.trimmed = 1}, WORD(trim), WORLD_TRIM_ON, WORLD_SEEN, true},
		{{.spray = 0.5}, WORD(paths), LB_STATIC + WORLD_PATHS_FIRST, WORLD_ASSUMED, false},
		{{.spray = 0.501}, WORD(paths), LB_PACKET + WORLD_PATHS_FIRST, WORLD_SEEN, true},
		{{.lb_packet = 1}, WORD(paths), LB_PACKET + WORLD_PATHS_FIRST, WORLD_READ, false},
		{{.lb_packet = 1, .lb_mixed = 1}, WORD(paths), WORLD_PATHS_MIXED, WORLD_READ,
			false},
#undef WORD
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		struct fabric fabric;
		struct world_facts facts;
		struct class_world world;
		struct world_word word;
		facts_of(&rows[i].known, &fabric, &facts);
		class_world_of(&facts, a, &world);
		memcpy(&word, (const char *)&world + rows[i].word, sizeof(word));
		if (word.value != rows[i].value || word.source != rows[i].source ||
			word.seen != rows[i].seen)
			fail_msg("row %zu: %d, %s, %d", i, word.value,
				world_source_name(word.source), word.seen);
	}
}

/* Of a setting that nobody tells nothing is counted; packets are counted once, in their totals. */
static void facts_of_a_window(void **state)
{
	struct seen_world w;
	struct world_facts facts;
	struct flow_sample flows[] = {{.total = true, .octets = 100, .spray_octets = 60, .cnp = 3},
		{.octets = 1000, .cnp = 9}};
	seen_world_init(&w);
	w.window.flows = flows;
	w.window.n_flows = rw_countof(flows);
	w.prios[0].pfc_enabled = 1;
	w.prios[1].pfc_enabled = 0;
	w.prios[2].kmin = w.prios[3].kmin = 1e6;
	w.prios[3].declared = true;
	class_world_facts(&w.o, PRIO, &facts);
	assert_true(facts.pfc_on == 1 && facts.pfc_off == 1 && facts.kmin_bytes == 1);
	assert_true(facts.cnp == 3 && facts.spray_ratio == 0.6 && facts.marked == 0);
	seen_world_done(&w);
}

static void words_of_vendors(void **state)
{
	static const struct {
		const char *text;
		int lb; /* -1: not known */
	} texts[] = {{"static", LB_STATIC}, {"packet", LB_PACKET},
		{"source_routed", LB_SOURCE_ROUTED}, {"SAI_ARS_MODE_FLOWLET_QUALITY", LB_FLOWLET},
		{"SAI_ARS_MODE_PER_PACKET_RANDOM", LB_PACKET}, {"SAI_ARS_MODE_FIXED", LB_STATIC},
		{"per-flowlet-quality", LB_FLOWLET}, {"dynamic", LB_ADAPTIVE},
		{"adaptive-routing", LB_ADAPTIVE}, {"disabled", LB_STATIC}, {"what?", -1},
		{"", -1}};
	for (size_t i = 0; i < rw_countof(texts); i++) {
		enum lb_policy lb = LB_COUNT;
		const bool known = lb_parse(texts[i].text, &lb);
		if (known != (texts[i].lb >= 0) || (known && (int)lb != texts[i].lb))
			fail_msg("'%s': %d", texts[i].text, known ? (int)lb : -1);
	}
	assert_true(lb_contradicts(LB_PACKET, LB_STATIC));
	assert_true(lb_contradicts(LB_STATIC, LB_ADAPTIVE));
	assert_false(lb_contradicts(LB_PACKET, LB_ADAPTIVE));
	assert_false(lb_contradicts(LB_SOURCE_ROUTED, LB_STATIC));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_worlds),
		cmocka_unit_test(facts_by_name),
		cmocka_unit_test(words_at_their_limits),
		cmocka_unit_test(facts_of_a_window),
		cmocka_unit_test(words_of_vendors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
