/* capture_sight: what a capture counted, and the reason that doctor gives. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "agent/answers/doctor/doctor_captures.h"

struct sight_case {
	const char *what;
	struct capture_sight sight;
	enum reason_code codes[4]; /* REASON_NONE ends them */
};

static const struct sight_case cases[] = {
	{"healthy",
		{.interface_frames = 9e6,
			.frames = 9e6,
			.roce = 9e6,
			.requests = 6e6,
			.answers = 3e6},
		{REASON_NONE}},
	{"no mirror", {.interface_frames = 0}, {REASON_PCAP_NO_FRAMES}},
	{"nothing known of the interface", {.interface_frames = NAN}, {REASON_PCAP_NO_ROCE}},
	{"CPU port",
		{.interface_frames = 500,
			.instead = 64,
			.instead_control = 62,
			.instead_as = "lldp 62, tcp 2"},
		{REASON_PCAP_CPU_PORT}},
	{"wrong session",
		{.interface_frames = 1e6,
			.instead = 64,
			.instead_control = 2,
			.instead_as = "tcp 62, arp 2"},
		{REASON_PCAP_OTHER_FRAMES}},
	{"too few frames to tell a CPU port",
		{.interface_frames = 3, .instead = 3, .instead_control = 3, .instead_as = "arp 3"},
		{REASON_PCAP_OTHER_FRAMES}},
	{"not opened",
		{.interface_frames = 1e6,
			.frames = 1e6,
			.encapsulated = 1e6,
			.encapsulated_as = "macsec 1000000"},
		{REASON_PCAP_NOT_OPENED}},
	{"partly opened",
		{.interface_frames = 1e6,
			.roce = 9e5,
			.requests = 6e5,
			.answers = 3e5,
			.encapsulated = 1e5,
			.encapsulated_as = "macsec 100000"},
		{REASON_PCAP_NOT_OPENED}},
	{"one direction", {.interface_frames = 1e6, .roce = 5000, .requests = 5000},
		{REASON_PCAP_ONE_WAY}},
	{"one direction, as asked for",
		{.interface_frames = 1e6, .roce = 5000, .requests = 5000, .one_direction = true},
		{REASON_NONE}},
	{"few requests", {.interface_frames = 1e6, .roce = 500, .requests = 500}, {REASON_NONE}},
	{"cut, dropped and doubled",
		{.interface_frames = 1e6,
			.roce = 5e5,
			.requests = 3e5,
			.answers = 2e5,
			.aeth_cut = 2e5,
			.kernel_drops = 7,
			.copies = 5e5},
		{REASON_PCAP_KERNEL_DROPS, REASON_PCAP_AETH_CUT, REASON_PCAP_COPIES}},
	{"a few duplicates",
		{.interface_frames = 1e6,
			.roce = 5e5,
			.requests = 3e5,
			.answers = 2e5,
			.copies = 90},
		{REASON_NONE}},
};

static void every_blindness_has_its_reason(void **state)
{
	for (size_t i = 0; i < rw_countof(cases); i++) {
		struct capture_sight sight = cases[i].sight;
		struct reason got[CAPTURE_SIGHT_MAX];
		if (!sight.instead_as)
			sight.instead_as = "";
		if (!sight.encapsulated_as)
			sight.encapsulated_as = "";
		const size_t n = capture_sight_reasons(&sight, "mirror1", got);
		size_t want = 0;
		while (cases[i].codes[want] != REASON_NONE)
			want++;
		if (n != want)
			fail_msg("%s: %zu reasons instead of %zu", cases[i].what, n, want);
		for (size_t k = 0; k < n; k++) {
			if (got[k].code != cases[i].codes[k])
				fail_msg("%s: %s", cases[i].what, got[k].text);
			assert_memory_equal(got[k].text, "mirror1: ", 9);
			assert_true(strlen(reason_row(got[k].code)->next) > 20);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_blindness_has_its_reason)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
