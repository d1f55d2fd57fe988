/* sflow_ports: where a sampled packet belongs, rates that differ and change, bounds;
 * datagram_senders: whose datagrams are read; sflow_counters: what a counter sample becomes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "collectors/packet/datagram/datagram_senders.h"
#include "collectors/packet/sflow/sflow_counters.h"
#include "collectors/packet/sflow/sflow_ports.h"
#include "config/address.h"
#include "db/model/metric.h"

/* ---- ports ------------------------------------------------------------------- */

struct seen {
	struct flow_sample v[20000];
	size_t n;
};

static uint32_t entity_of(void *arg, uint32_t agent, uint32_t ifindex)
{
	return agent * 100000 + ifindex;
}
static bool heard(void *arg, uint32_t agent)
{
	return true;
}
static void keep(void *arg, const struct flow_sample *rows, size_t n)
{
	struct seen *seen = arg;
	assert_true(rows[0].total);
	for (size_t i = 0; i < n; i++)
		seen->v[seen->n++] = rows[i];
}

static struct seen seen;
static const struct sflow_ports_out out = {&seen, entity_of, heard, keep};

static void end(struct sflow_ports *ports)
{
	seen.n = 0;
	sflow_ports_end(ports, 0, 1000000000, &out);
}

static void add(struct sflow_ports *ports, uint32_t source, uint32_t in, uint32_t to,
	uint32_t sampling, uint32_t qp)
{
	/* 0, as in a datagram: it does not say */
	const struct sflow_sample s = {.kind = SFLOW_FLOW,
		.source_index = source,
		.sampling = sampling,
		.input = {in ? SFLOW_PORT_INDEX : SFLOW_PORT_UNKNOWN, in},
		.output = {to ? SFLOW_PORT_INDEX : SFLOW_PORT_UNKNOWN, to}};
	struct roce_packet p = {.kind = PACKET_ROCE,
		.sampled = true,
		.family = 4,
		.octets = 1000,
		.opcode = 4,
		.src_port = 50000,
		.dst_qp = qp};
	sflow_ports_add(ports, 0, &s, &p, 5);
}

/* Packets in the row of totals of a port and direction; -1: it has no row. */
static long total(uint32_t ifindex, enum flow_dir dir, uint32_t *ret_sampling)
{
	for (size_t i = 0; i < seen.n; i++) {
		if (!seen.v[i].total || seen.v[i].entity != ifindex || seen.v[i].dir != dir)
			continue;
		if (ret_sampling)
			*ret_sampling = seen.v[i].sampling;
		return (long)seen.v[i].packets;
	}
	return -1;
}

static void test_both_ends(void **state)
{
	struct sflow_ports *ports = sflow_ports_new(1);
	uint32_t sampling = 0;
	for (uint32_t i = 0; i < 10; i++)
		add(ports, 1, 1, 49, 1000, i);
	end(ports);
	assert_int_equal(total(1, FLOW_DIR_IN, &sampling), 10);
	assert_int_equal(sampling, 1000);
	assert_int_equal(total(49, FLOW_DIR_OUT, &sampling), 10);
	assert_int_equal(total(49, FLOW_DIR_IN, NULL), -1);
	end(ports); /* quiet: looked at, and nothing seen */
	assert_int_equal(total(49, FLOW_DIR_OUT, &sampling), 0);
	for (int i = 0; i < 6; i++)
		end(ports); /* and after a while not looked at any more */
	assert_int_equal(total(49, FLOW_DIR_OUT, NULL), -1);
	sflow_ports_free(ports);
}

/* A sender that knows no ports (a host, a collector in between): its samples are not lost, and
 * counted, so that somebody is told. */
static void test_no_port(void **state)
{
	struct sflow_ports *ports = sflow_ports_new(1);
	uint32_t sampling = 0;
	for (uint32_t i = 0; i < 10; i++)
		add(ports, 0, 0, 0, 32, i);
	add(ports, 3, 3, 0, 32, 1); /* one end is enough */
	assert_int_equal(sflow_ports_counts(ports)->portless, 10);
	end(ports);
	assert_int_equal(total(0, FLOW_DIR_UNKNOWN, &sampling), 10);
	assert_int_equal(sampling, 32);
	assert_int_equal(total(3, FLOW_DIR_IN, NULL), 1);
	sflow_ports_free(ports);
}

/* A switch that samples at both ports of a packet: it is counted once at each. */
static void test_sampled_at_output(void **state)
{
	struct sflow_ports *ports = sflow_ports_new(1);
	for (int interval = 0; interval < 2; interval++) {
		for (uint32_t i = 0; i < 10; i++) {
			add(ports, 1, 1, 49, 1000, i);
			add(ports, 49, 1, 49, 1000, i);
		}
		end(ports);
		if (interval == 0) /* it showed only then: what was counted is of two kinds */
			assert_int_equal(total(49, FLOW_DIR_OUT, NULL), -1);
	}
	assert_int_equal(total(1, FLOW_DIR_IN, NULL), 10);
	assert_int_equal(total(49, FLOW_DIR_OUT, NULL), 10);
	sflow_ports_free(ports);
}

static void test_rates(void **state)
{
	struct sflow_ports *ports = sflow_ports_new(1);
	uint32_t sampling = 0;
	for (int interval = 0; interval < 2; interval++) {
		for (uint32_t i = 0; i < 4000; i++)
			add(ports, 1, 1, 49, 1000, 7); /* 4 million packets */
		for (uint32_t i = 0; i < 1000; i++)
			add(ports, 2, 2, 49, 4000, 8); /* and as many */
		end(ports);
		if (interval == 0)
			assert_int_equal(total(49, FLOW_DIR_OUT, NULL), -1);
	}
	const long n = total(49, FLOW_DIR_OUT, &sampling);
	assert_int_equal(sampling, 4000);
	assert_true(labs(n - 2000) < 140); /* five standard deviations */
	assert_int_equal(total(1, FLOW_DIR_IN, &sampling), 4000);
	assert_int_equal(sampling, 1000);
	sflow_ports_free(ports);
}

static void test_port_bounds(void **state)
{
	struct sflow_ports *ports = sflow_ports_new(1);
	size_t flows = 0;
	for (uint32_t i = 0; i < 300 * 40; i++)
		add(ports, 1 + i % 300, 1 + i % 300, 5000, 1000, i / 300);
	end(ports);
	for (size_t i = 0; i < seen.n; i++)
		flows += !seen.v[i].total;
	assert_int_equal(flows, SFLOW_ROWS_ALL);
	assert_int_equal(seen.n - flows, 301);
	for (uint32_t i = 0; i < SFLOW_PORTS_MAX; i++)
		add(ports, 10000 + i, 10000 + i, 5000, 1000, 1);
	assert_int_equal(sflow_ports_counts(ports)->ports, SFLOW_PORTS_MAX);
	assert_int_equal(sflow_ports_counts(ports)->beyond, 301);
	sflow_ports_free(ports);
}

/* ---- agents --------------------------------------------------------------------- */

static void address(const char *text, uint8_t ret[16])
{
	struct network network;
	assert_int_equal(network_parse(text, &network), 0);
	memcpy(ret, network.address, 16);
}

static const char *port_name(void *arg, const char *device, uint32_t ifindex)
{
	if (str_eq(device, "leaf2") && ifindex == 5)
		return "swp5";
	return NULL;
}
static const char *peer(void *arg, const char *device)
{
	if (str_eq(device, "leaf2"))
		return "192.0.2.12:161";
	return NULL;
}

static void test_agents(void **state)
{
	struct config_sflow_port ports[] = {{7, "Ethernet4"}};
	struct config_sflow sflow = {.agent = "10.255.0.1", .ports = ports, .n_ports = 1};
	struct config_snmp snmp = {.address = "192.0.2.11"}, named = {.address = "leaf2.example"};
	struct config_device devices[] = {{.name = "leaf1", .snmp = &snmp, .sflow = &sflow},
		{.name = "leaf2", .snmp = &named}, {.name = "twin1", .snmp = &snmp}};
	struct config config = {.devices = devices, .n_devices = 3};
	struct config_capture capture = {.name = "s"};
	const struct collector_lookup lookup = {NULL, port_name, peer};
	struct datagram_senders *agents = datagram_senders_new(&config, &capture, &lookup);
	uint8_t loopback[16], own[16], leaf2[16], other[16];
	address("10.255.0.1", loopback);
	address("192.0.2.11", own);
	address("192.0.2.12", leaf2);
	address("192.0.2.99", other);
	assert_true(datagram_senders_allow(agents, own));
	assert_true(datagram_senders_allow(agents, loopback));
	assert_true(datagram_senders_allow(agents, leaf2)); /* by its resolved name */
	assert_false(datagram_senders_allow(agents, other));
	assert_ptr_equal(datagram_senders_device(agents, loopback, own), &devices[0]);
	assert_ptr_equal(datagram_senders_device(agents, other, leaf2), &devices[1]);
	assert_null(datagram_senders_device(agents, own, other)); /* of two devices */
	assert_null(datagram_senders_device(agents, other, other));
	assert_string_equal(datagram_senders_port(agents, &devices[0], 7), "Ethernet4");
	assert_string_equal(datagram_senders_port(agents, &devices[1], 5), "swp5");
	assert_null(datagram_senders_port(agents, &devices[1], 6));
	const char *const allow[] = {"192.0.2.96/27"};
	capture.allow = allow;
	capture.n_allow = 1;
	assert_true(datagram_senders_allow(agents, other));
	assert_false(datagram_senders_allow(agents, own));
	datagram_senders_free(agents);
}

/* ---- counters ---------------------------------------------------------------------- */

static void test_counters(void **state)
{
	struct sample v[SFLOW_COUNTERS_MAX];
	struct sflow_sample s = {.kind = SFLOW_COUNTERS, .has_if = true};
	memset(&s.interface, 0xff, sizeof(s.interface)); /* the agent knows nothing */
	assert_int_equal(sflow_counters(&s, 3, 1, v), 0);
	s.interface.in_octets = 1ull << 40;
	s.interface.in_unicast = UINT32_MAX - 1;
	s.interface.in_multicast = 5;
	s.interface.in_broadcast = 0;
	s.interface.status = 1; /* administratively up only */
	assert_int_equal(sflow_counters(&s, 3, 1, v), 3);
	assert_int_equal(v[0].metric, M_PORT_IN_OCTETS);
	assert_true(v[0].value == 1ull << 40);
	assert_int_equal(v[0].flags, 0);
	assert_int_equal(v[1].metric, M_PORT_IN_PACKETS);
	assert_true(v[1].value == 3); /* modulo 2^32, and flagged so */
	assert_int_equal(v[1].flags, SF_WRAP32);
	assert_int_equal(v[2].metric, M_PORT_OPER_UP);
	assert_true(v[2].value == 0);
	assert_int_equal(v[2].source, SOURCE_SFLOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ends),
		cmocka_unit_test(test_no_port),
		cmocka_unit_test(test_sampled_at_output),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_port_bounds),
		cmocka_unit_test(test_agents),
		cmocka_unit_test(test_counters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
