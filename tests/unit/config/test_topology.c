/* topology: what neighbours say becomes links. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "config/topology.h"

static struct topology_port leaf1_ports[] = {
	{.name = "Ethernet0",
		.alias = "etp1",
		.descr = "etp1",
		.mac = "02:00:00:00:01:00",
		.ifindex = 1},
	{.name = "Ethernet4",
		.alias = "etp2",
		.descr = "etp2",
		.mac = "02:00:00:00:01:04",
		.ifindex = 5},
};
static struct topology_port spine1_ports[] = {
	{.name = "Ethernet1/1",
		.alias = "to leaf1",
		.descr = "Ethernet1/1",
		.mac = "02:00:00:00:02:01",
		.ifindex = 436207616},
	{.name = "Ethernet1/2",
		.alias = "uplink",
		.descr = "Ethernet1/2",
		.mac = "02:00:00:00:02:02",
		.ifindex = 436208128},
};
static struct topology_port oob1_ports[] = {
	{.name = "Management1", .alias = "", .descr = "", .mac = "", .ifindex = 1, .outside = true},
};
static struct topology_device devices[] = {
	{.name = "leaf1",
		.sysname = "leaf1.pod-a.example",
		.chassis = "02:00:00:00:01:ff",
		.ports = leaf1_ports,
		.n_ports = 2},
	{.name = "spine1",
		.sysname = "SPINE1",
		.chassis = "02:00:00:00:02:ff",
		.ports = spine1_ports,
		.n_ports = 2},
	{.name = "spine9", .sysname = "", .chassis = ""}, /* silent */
	{.name = "oob1", .sysname = "oob1", .chassis = "", .ports = oob1_ports, .n_ports = 1},
};

static void test_ids(void **state)
{
	(void)state;
	static const struct {
		const char *what, *bytes;
		size_t n;
		bool chassis;
		int subtype;
		const char *expect;
	} rows[] = {
		{"chassis MAC is 4", "\x02\x00\x00\x00\x01\xff", 6, true, 4, "02:00:00:00:01:ff"},
		{"port MAC is 3", "\x02\x00\x00\x00\x01\xff", 6, false, 3, "02:00:00:00:01:ff"},
		{"4 of a port is an address", "\x01\x0a\x00\x00\x01", 5, false, 4, "10.0.0.1"},
		{"IPv6 address", "\x02\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 17, true, 5,
			"fe80::1"},
		{"interface name", "Ethernet1/1", 11, false, 5, "Ethernet1/1"},
		{"the C string's end is not part of it", "swp1\0", 5, false, 5, "swp1"},
		{"a MAC of odd length is text", "\x02\x41", 2, false, 3, "%02A"},
		{"a quote would break YAML", "a\"b", 3, false, 7, "a%22b"},
		{"nothing", "", 0, false, 7, ""},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		char buf[LLDP_ID_TEXT_MAX];
		lldp_id_text(buf, rows[i].chassis, rows[i].subtype, (const uint8_t *)rows[i].bytes,
			rows[i].n);
		if (strcmp(buf, rows[i].expect) != 0)
			fail_msg("%s: got \"%s\", expected \"%s\"", rows[i].what, buf,
				rows[i].expect);
	}
	uint8_t longest[300];
	memset(longest, 1, sizeof(longest));
	char buf[LLDP_ID_TEXT_MAX];
	assert_true(
		strlen(lldp_id_text(buf, false, 7, longest, sizeof(longest))) < LLDP_ID_TEXT_MAX);
}

static char *printed(const struct topology_neighbor *heard, size_t n)
{
	struct arena *a = arena_new();
	struct topology_link *links;
	const size_t k = topology_links(a, devices, rw_countof(devices), heard, n, &links);
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	topology_print(f, links, k);
	fclose(f);
	arena_free(a);
	return text;
}

static void test_links(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		struct topology_neighbor heard[4];
		size_t n;
		const char *expect;
	} rows[] = {
		{"both ends speak: one link, natural order",
			{{"spine1", "Ethernet1/1", "leaf1", 4, 7, "02:00:00:00:01:ff", "etp1",
				 "etp1"},
				{"leaf1", "Ethernet0", "SPINE1", 4, 5, "02:00:00:00:02:ff",
					"Ethernet1/1", ""}},
			2, "links:\n  - { a: \"leaf1:Ethernet0\", b: \"spine1:Ethernet1/1\" }\n"},
		{"local id that is an ifIndex",
			{{"leaf1", "Ethernet0", "spine1", 7, 7, "x", "436208128", ""}}, 1,
			"links:\n  - { a: \"leaf1:Ethernet0\", b: \"spine1:Ethernet1/2\" }  # only "
			"one end reports it\n"},
		{"port MAC",
			{{"leaf1", "Ethernet4", "spine1.pod-a", 7, 3, "", "02:00:00:00:02:02", ""}},
			1,
			"links:\n  - { a: \"leaf1:Ethernet4\", b: \"spine1:Ethernet1/2\" }  # only "
			"one end reports it\n"},
		{"interface alias",
			{{"leaf1", "Ethernet4", "", 4, 1, "02:00:00:00:02:ff", "uplink", ""}}, 1,
			"links:\n  - { a: \"leaf1:Ethernet4\", b: \"spine1:Ethernet1/2\" }  # only "
			"one end reports it\n"},
		{"the description helps when the id does not",
			{{"leaf1", "Ethernet4", "spine1", 4, 6, "", "0x1234", "Ethernet1/2"}}, 1,
			"links:\n  - { a: \"leaf1:Ethernet4\", b: \"spine1:Ethernet1/2\" }  # only "
			"one end reports it\n"},
		{"a host, by its name and NIC",
			{{"leaf1", "Ethernet4", "node-001", 4, 5, "aa:bb:cc:dd:ee:ff", "ens1f0",
				"rail 0"}},
			1, "links:\n  - { a: \"leaf1:Ethernet4\", b: \"host:node-001:ens1f0\" }\n"},
		{"a host that sends only MACs",
			{{"leaf1", "Ethernet4", "", 4, 3, "aa:bb:cc:dd:ee:ff", "aa:bb:cc:dd:ee:ff",
				""}},
			1,
			"links:\n  - { a: \"leaf1:Ethernet4\", b: \"host:aa-bb-cc-dd-ee-ff\" }\n"},
		{"a port that the neighbour does not have",
			{{"leaf1", "Ethernet4", "spine1", 4, 5, "", "Ethernet9/9", ""}}, 1,
			"links: []\n#  - { a: \"leaf1:Ethernet4\", b: \"spine1:Ethernet9/9\" }  # "
			"spine1 has no port that matches what leaf1:Ethernet4 heard (id "
			"\"Ethernet9/9\", description \"\")\n"},
		{"one port, two neighbours: neither is believed",
			{{"leaf1", "Ethernet0", "spine1", 4, 5, "", "Ethernet1/1", ""},
				{"leaf1", "Ethernet4", "spine1", 4, 5, "", "Ethernet1/1", ""}},
			2,
			"links: []\n#  - { a: \"leaf1:Ethernet0\", b: \"spine1:Ethernet1/1\" }  # "
			"spine1:Ethernet1/1 is also said to be linked to leaf1:Ethernet4\n"
			"#  - { a: \"leaf1:Ethernet4\", b: \"spine1:Ethernet1/1\" }  # "
			"spine1:Ethernet1/1 is also said to be linked to leaf1:Ethernet0\n"},
		{"what both ends say stands against a single voice",
			{{"leaf1", "Ethernet0", "spine1", 4, 5, "", "Ethernet1/1", ""},
				{"spine1", "Ethernet1/1", "leaf1", 4, 7, "", "etp1", ""},
				{"leaf1", "Ethernet4", "spine1", 4, 5, "", "Ethernet1/1", ""}},
			3,
			"links:\n  - { a: \"leaf1:Ethernet0\", b: \"spine1:Ethernet1/1\" }\n"
			"#  - { a: \"leaf1:Ethernet4\", b: \"spine1:Ethernet1/1\" }  # "
			"spine1:Ethernet1/1 is also said to be linked to leaf1:Ethernet0\n"},
		{"a NIC's firmware beside its host's system: one host, the one with a name",
			{{"leaf1", "Ethernet4", "", 4, 3, "aa:bb:cc:dd:ee:ff", "aa:bb:cc:dd:ee:ff",
				 ""},
				{"leaf1", "Ethernet4", "node-001", 4, 5, "aa:bb:cc:dd:ee:f0",
					"ens1f0", ""}},
			2, "links:\n  - { a: \"leaf1:Ethernet4\", b: \"host:node-001:ens1f0\" }\n"},
		{"two hosts with names on one port",
			{{"leaf1", "Ethernet4", "node-002", 4, 5, "", "eth0", ""},
				{"leaf1", "Ethernet4", "node-001", 4, 5, "", "eth0", ""}},
			2,
			"links: []\n#  - { a: \"leaf1:Ethernet4\", b: \"host:node-001:eth0\" }  # "
			"leaf1:Ethernet4 is also said to be linked to host:node-002\n"
			"#  - { a: \"leaf1:Ethernet4\", b: \"host:node-002:eth0\" }  # "
			"leaf1:Ethernet4 is also said to be linked to host:node-001\n"},
		{"a device whose ports nobody told: its own word is taken",
			{{"leaf1", "Ethernet4", "SPINE9.pod-a", 4, 5, "", "swp7", "uplink"}}, 1,
			"links:\n  - { a: \"leaf1:Ethernet4\", b: \"spine9:swp7\" }  # only one "
			"end reports it\n"},
		{"ports with blanks and parentheses, of switches that are not configured",
			{{"leaf1", "Ethernet0", "os9", 4, 5, "", "fortyGigE 1/50", ""},
				{"leaf1", "Ethernet4", "edge", 4, 0, "", "Eth49(Port49)", ""}},
			2,
			"links:\n  - { a: \"leaf1:Ethernet0\", b: \"host:os9:fortyGigE 1/50\" }\n  "
			"- { "
			"a: \"leaf1:Ethernet4\", b: \"host:edge:Eth49(Port49)\" }\n"},
		{"what is known to be a switch, or may be one, is no host",
			{{"leaf1", "Ethernet0", "os9", 4, 5, "", "fortyGigE 1/50", "",
				 NEIGHBOR_SWITCH},
				{"leaf1", "Ethernet4", "edge", 4, 0, "", "41", "",
					NEIGHBOR_UNKNOWN}},
			2,
			"links:\n  - { a: \"leaf1:Ethernet0\", b: \"switch:os9:fortyGigE 1/50\" "
			"}\n  - { a: \"leaf1:Ethernet4\", b: \"unknown:edge:41\" }\n"},
		{"a configured device is no outsider, whatever it looks like",
			{{"leaf1", "Ethernet4", "spine1", 4, 5, "", "Ethernet1/2", "",
				NEIGHBOR_SWITCH}},
			1,
			"links:\n  - { a: \"leaf1:Ethernet4\", b: \"spine1:Ethernet1/2\" }  # only "
			"one end reports it\n"},
		{"a host with a name that is no name",
			{{"leaf1", "Ethernet4", "no\"de: 1 #", 4, 5, "", "a: b", ""}}, 1,
			"links:\n  - { a: \"leaf1:Ethernet4\", b: \"host:no-de--1--\" }\n"},
		{"one end that says it twice is still one end",
			{{"leaf1", "Ethernet4", "spine1", 4, 5, "", "Ethernet1/2", ""},
				{"leaf1", "Ethernet4", "spine1", 4, 5, "", "Ethernet1/2", ""}},
			2,
			"links:\n  - { a: \"leaf1:Ethernet4\", b: \"spine1:Ethernet1/2\" }  # only "
			"one end reports it\n"},
		{"a port that hears itself",
			{{"leaf1", "Ethernet4", "leaf1", 4, 5, "", "Ethernet4", ""}}, 1,
			"links: []\n"},
		{"a port of management, heard by itself and by another",
			{{"oob1", "Management1", "office", 4, 5, "", "41", ""},
				{"leaf1", "Ethernet4", "oob1", 4, 5, "", "Management1", ""}},
			2,
			"links: []\n#  - { a: \"leaf1:Ethernet4\", b: \"oob1:Management1\" }  # "
			"management: no part of the fabric\n#  - { a: \"oob1:Management1\", b: "
			"\"host:office:41\" }  # management: no part of the fabric\n"},
		{"nobody", {{0}}, 0, "links: []\n"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		char *text = printed(rows[i].heard, rows[i].n);
		if (strcmp(text, rows[i].expect) != 0)
			fail_msg("%s: got\n%s expected\n%s", rows[i].what, text, rows[i].expect);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids), cmocka_unit_test(test_links)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
