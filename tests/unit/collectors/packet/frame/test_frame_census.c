/* frame_census: frames of each kind, written out by hand from their specifications. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "collectors/packet/frame/frame_count.h"

struct census_case {
	const char *what;
	enum census_kind kind;
	uint8_t type[8]; /* from the ethertype on */
	uint8_t n_type;
	uint8_t ip_protocol; /* 0 = no IP header follows */
	uint16_t dst_port;
};

static const struct census_case cases[] = {
	{"ARP", CENSUS_ARP, {0x08, 0x06}, 2, 0, 0},
	{"LLDP", CENSUS_LLDP, {0x88, 0xcc}, 2, 0, 0},
	{"LLDP, tagged", CENSUS_LLDP, {0x81, 0, 0, 5, 0x88, 0xcc}, 6, 0, 0},
	{"LACP", CENSUS_LACP, {0x88, 0x09}, 2, 0, 0},
	{"spanning tree", CENSUS_STP, {0, 38, 0x42, 0x42, 3}, 5, 0, 0},
	{"another 802.2 frame", CENSUS_OTHER, {0, 38, 0xaa, 0xaa, 3}, 5, 0, 0},
	{"BGP", CENSUS_BGP, {0x08, 0x00}, 2, 6, 179},
	{"TCP", CENSUS_TCP, {0x08, 0x00}, 2, 6, 443},
	{"UDP", CENSUS_UDP, {0x08, 0x00}, 2, 17, 53},
	{"DHCP", CENSUS_DHCP, {0x08, 0x00}, 2, 17, 67},
	{"VXLAN", CENSUS_MIRROR, {0x08, 0x00}, 2, 17, 4789},
	{"GRE", CENSUS_MIRROR, {0x08, 0x00}, 2, 47, 0},
	{"OSPF", CENSUS_OSPF, {0x08, 0x00}, 2, 89, 0},
	{"ICMP", CENSUS_NEIGHBOR, {0x08, 0x00}, 2, 1, 0},
	{"IP of another kind", CENSUS_IP, {0x08, 0x00}, 2, 99, 0},
};

static size_t census_frame(const struct census_case *c, uint8_t *frame)
{
	size_t n = 12;
	memcpy(frame + n, c->type, c->n_type);
	n += c->n_type;
	if (!c->ip_protocol)
		return n;
	frame[n] = 0x45;
	frame[n + 9] = c->ip_protocol;
	frame[n + 22] = (uint8_t)(c->dst_port >> 8);
	frame[n + 23] = (uint8_t)c->dst_port;
	return n + 28;
}

static void every_kind_is_told(void **state)
{
	for (size_t i = 0; i < rw_countof(cases); i++) {
		struct frame_census census = {0};
		uint8_t frame[64] = {2, 0, 0, 0, 0, 1};
		frame_census_add(&census, frame, census_frame(&cases[i], frame));
		if (census.frames[cases[i].kind] != 1)
			fail_msg("%s", cases[i].what);
		assert_non_null(frame_census_name(cases[i].kind));
	}
}

/* Cut at every byte: always one of the kinds, and nothing is read beyond the end. */
static void cut_frames_count_once(void **state)
{
	for (size_t i = 0; i < rw_countof(cases); i++) {
		uint8_t frame[64] = {0};
		const size_t n = census_frame(&cases[i], frame);
		for (size_t cut = 0; cut <= n; cut++) {
			struct frame_census census = {0};
			uint64_t sum = 0;
			rw_cleanup(freep) uint8_t *exact = rw_calloc(1, cut + 1);
			memcpy(exact, frame, cut);
			frame_census_add(&census, exact, cut);
			for (int kind = 0; kind < CENSUS_KINDS; kind++)
				sum += census.frames[kind];
			assert_int_equal(sum, 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_is_told),
		cmocka_unit_test(cut_frames_count_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
