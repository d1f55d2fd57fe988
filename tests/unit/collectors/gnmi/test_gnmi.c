/* gNMI targets against a server, by OpenConfig's profile: all ways to ask, and what is made of the
 * answers. */
#include "tests/unit/collectors/gnmi/gnmi_world.h"

#include <string.h>
#include "base/cleanup.h"
#include "base/loop.h"

#define IF "-\t/interfaces/interface[name=Ethernet1]/"
#define TABLE                                                                                      \
	IF "state/counters/in-octets\tuint\t$(1000,10)\n" IF                                       \
	   "state/counters/out-octets\tuint\t$(9007199254740993,1)\n" IF                           \
	   "state/counters/in-discards\tuint\t0\n" IF "state/counters/unheard-of\tuint\t5\n" IF    \
	   "state/oper-status\tstring\tUP\n" IF                                                    \
	   "ethernet/state/port-speed\tstring\topenconfig-if-ethernet:SPEED_100GB\n"               \
	   "-\t/qos/interfaces/interface[interface-id=Ethernet1]/output/queues/queue[name=UC3]/"   \
	   "state/ecn-marked-pkts\tuint\t$(7,1)\n"                                                 \
	   "-\t/qos/interfaces/interface[interface-id=Ethernet1]/output/queues/queue[name=GOLD]/"  \
	   "state/ecn-marked-pkts\tuint\t1\n"                                                      \
	   "-\t/qos/interfaces/interface[interface-id=Ethernet1]/output/queues/queue[name=3]/"     \
	   "config/queue-management-profile\tstring\tROCE\n"                                       \
	   "-\t/qos/queue-management-profiles/queue-management-profile[name=ROCE]/wred/"           \
	   "uniform\tjson_ietf\t"                                                                  \
	   "{\"openconfig-qos:state\":{\"min-threshold\":\"150000\",\"max-threshold\":"            \
	   "\"1500000\",\"enable-ecn\":true,\"max-drop-probability-percent\":5},"                  \
	   "\"config\":{\"min-threshold\":\"1\"}}\n"

#define PLAIN "tls: { off: true }"

static void expect_all(struct world *w)
{
	assert_string_equal(w->profile, "openconfig");
	world_expect(w, "port.oper_up", "Ethernet1", -1, 1);
	world_expect(w, "port.speed_bps", "Ethernet1", -1, 100e9);
	world_expect(w, "port.in_discards", "Ethernet1", -1, 0);
	/* not by way of a double */
	assert_true(
		world_last(w, "port.out_octets", "Ethernet1", -1)->value >= 9007199254740993ull);
	assert_true(world_count(w, "queue.ecn_marked", "Ethernet1", 3) >= 1);
	world_expect(w, "queue.ecn_marked", "Ethernet1#qGOLD", -1, 1);
	world_expect(w, "cfg.ecn_kmin_bytes", "Ethernet1", 3, 150000); /* state, not config */
	world_expect(w, "cfg.ecn_kmax_bytes", "Ethernet1", 3, 1500000);
	world_expect(w, "cfg.ecn_enabled", "Ethernet1", 3, 1);
	world_expect(w, "cfg.ecn_pmax_ratio", "Ethernet1", 3, 0.05);
	assert_int_equal(world_last(w, "port.in_octets", "Ethernet1", -1)->source, SOURCE_GNMI);
}

static const struct {
	const char *what;
	bool no_capabilities, no_stream, no_once, no_poll, no_get, sonic, one_by_one;
	enum gnmi_fault fault;
	unsigned gets, polls; /* at least */
} ways[] = {
	{"stream"},
	{"without Capabilities", .no_capabilities = true},
	{"one update per notification", .one_by_one = true},
	{"keep-alives in between", .fault = FAULT_EMPTY},
	{"once, because stream is not served", .no_stream = true},
	{"poll", .no_stream = true, .no_once = true, .no_get = true, .polls = 2},
	{"get", .no_stream = true, .no_once = true, .no_poll = true, .gets = 3},
	{"times of zero", .fault = FAULT_ZERO_TIME},
	{"no sync", .fault = FAULT_NO_SYNC},
};

static bool rounds_three(struct world *w)
{
	return world_count(w, "port.in_octets", "Ethernet1", -1) >= 4 &&
		world_count(w, "queue.ecn_marked", "Ethernet1", 3) >= 3 &&
		world_count(w, "cfg.ecn_kmin_bytes", "Ethernet1", 3) > 0;
}

static void test_ways(void **state)
{
	for (size_t i = 0; i < rw_countof(ways); i++) {
		struct world w;
		const struct gnmi_server_options o = {.no_capabilities = ways[i].no_capabilities,
			.no_stream = ways[i].no_stream,
			.no_once = ways[i].no_once,
			.no_poll = ways[i].no_poll,
			.no_get = ways[i].no_get,
			.one_by_one = ways[i].one_by_one,
			.fault = ways[i].fault};
		world_open(&w, &o, TABLE);
		world_target(&w, "profile: openconfig", PLAIN, "interval: 100ms, timeout: 500ms");
		if (!world_until(&w, rounds_three, 20))
			fail_msg("%s: %zu samples; %s", ways[i].what, w.samples.n, w.reasons);
		expect_all(&w);
		struct gnmi_server_counts n = gnmi_server_counts(w.server);
		if (w.downs > 0 || n.gets < ways[i].gets || n.polls < ways[i].polls)
			fail_msg("%s: %u downs, %u gets, %u polls: %s", ways[i].what, w.downs,
				n.gets, n.polls, w.reasons);
		world_end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ways),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
