/* fabric: order, lookups, and the groups that follow from links, rails and LAGs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "config/config.h"

static struct config *parse(const char *what, const char *text)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct config *c = NULL;
	if (config_parse(text, strlen(text), what, CONFIG_CASE, NULL, 0, &c, &errors) < 0)
		fail_msg("%s:%d:%d: %s", what, errors.v[0].line, errors.v[0].col, errors.v[0].text);
	return c;
}

/* "uplinks: a b; to:x: a c" for one device */
static void groups_text(const struct fabric_device *d, struct str *out)
{
	str_add(out, "");
	for (size_t i = 0; i < d->n_groups; i++) {
		const struct fabric_group *g = &d->groups[i];
		str_addf(out, "%s%s:", i ? "; " : "", g->id);
		for (size_t k = 0; k < g->n_members; k++)
			str_addf(out, " %s", g->members[k]->name);
	}
}

#define DEVICES                                                                                    \
	"devices:\n"                                                                               \
	"  - { name: leaf1, role: leaf }\n  - { name: leaf2, role: leaf }\n  - { name: leaf10, "   \
	"role: leaf }\n"                                                                           \
	"  - { name: spine1, role: spine }\n  - { name: spine2, role: spine }\n  - { name: "       \
	"core1, role: superspine }\n  - { name: core2, role: superspine }\n"
#define RAILS                                                                                      \
	"devices:\n  - { name: leaf1, role: leaf }\n"                                              \
	"  - { name: spine1, role: spine, rail: a }\n  - { name: spine2, role: spine, rail: b "    \
	"}\n  - { name: spine3, role: spine }\n"

static void test_groups(void **state)
{
	static const struct {
		const char *what, *device, *text, *want;
	} rows[] = {
		{"one uplink is no choice", "leaf1",
			DEVICES "links:\n  - { a: \"leaf1:e1\", b: \"spine1:e1\" }\n", ""},
		{"hosts are no uplinks", "leaf1",
			DEVICES "links:\n  - { a: \"leaf1:e1\", b: \"host:n1\" }\n  - { a: "
				"\"leaf1:e2\", b: \"host:n1\" }\n",
			""},
		{"two spines, either way round", "leaf1",
			DEVICES "links:\n  - { a: \"leaf1:e10\", b: \"spine1:e1\" }\n  - { a: "
				"\"spine2:e1\", b: \"leaf1:e9\" }\n",
			"uplinks: e9 e10"},
		{"parallel links to each spine", "leaf1",
			DEVICES "links:\n  - { a: \"leaf1:e1\", b: \"spine1:e1\" }\n  - { a: "
				"\"leaf1:e2\", b: \"spine1:e2\" }\n"
				"  - { a: \"leaf1:e3\", b: \"spine2:e1\" }\n  - { a: \"leaf1:e4\", "
				"b: \"spine2:e2\" }\n",
			"to:spine1: e1 e2; to:spine2: e3 e4; uplinks: e1 e2 e3 e4"},
		{"one spine: uplinks and to: would be the same", "leaf1",
			DEVICES "links:\n  - { a: \"leaf1:e1\", b: \"spine1:e1\" }\n  - { a: "
				"\"leaf1:e2\", b: \"spine1:e2\" }\n",
			"uplinks: e1 e2"},
		{"downlinks of a spine", "spine1",
			DEVICES "links:\n  - { a: \"leaf1:e1\", b: \"spine1:e1\" }\n  - { a: "
				"\"leaf1:e2\", b: \"spine1:e2\" }\n"
				"  - { a: \"leaf2:e1\", b: \"spine1:e3\" }\n",
			"to:leaf1: e1 e2"},
		{"a spine's own uplinks", "spine1",
			DEVICES "links:\n  - { a: \"leaf1:e1\", b: \"spine1:e1\" }\n  - { a: "
				"\"spine1:e30\", b: \"core1:e1\" }\n"
				"  - { a: \"spine1:e31\", b: \"core2:e1\" }\n",
			"uplinks: e30 e31"},
		{"leaf to leaf in parallel", "leaf2",
			DEVICES "links:\n  - { a: \"leaf1:e1\", b: \"leaf2:e1\" }\n  - { a: "
				"\"leaf1:e2\", b: \"leaf2:e2\" }\n",
			"to:leaf1: e1 e2"},
		{"rails of spines split", "leaf1",
			RAILS "links:\n  - { a: \"leaf1:e1\", b: \"spine1:e1\" }\n  - { a: "
			      "\"leaf1:e2\", b: \"spine1:e2\" }\n"
			      "  - { a: \"leaf1:e3\", b: \"spine2:e1\" }\n  - { a: \"leaf1:e4\", "
			      "b: \"spine2:e2\" }\n",
			"uplinks@a: e1 e2; uplinks@b: e3 e4"},
		{"rails of links split", "leaf1",
			DEVICES "links:\n  - { a: \"leaf1:e1\", b: \"spine1:e1\", rail: r0 }\n  - "
				"{ a: \"leaf1:e2\", b: \"spine2:e2\", rail: r0 }\n"
				"  - { a: \"leaf1:e3\", b: \"spine1:e3\", rail: r1 }\n  - { a: "
				"\"leaf1:e4\", b: \"spine2:e4\", rail: r1 }\n",
			"to:spine1: e1 e3; to:spine2: e2 e4; uplinks@r0: e1 e2; uplinks@r1: e3 e4"},
		{"a LAG is one member, by its first port", "leaf1",
			DEVICES "links:\n  - { a: \"leaf1:e10\", b: \"spine1:e1\" }\n  - { a: "
				"\"leaf1:e9\", b: \"spine1:e2\" }\n"
				"  - { a: \"leaf1:e3\", b: \"spine2:e1\" }\nlags:\n  - { device: "
				"leaf1, name: po1, ports: [e10, e9] }\n",
			"lag:po1: e9 e10; uplinks: e3 e9"},
		{"a LAG linked by its name", "leaf1",
			DEVICES "links:\n  - { a: \"leaf1:po1\", b: \"spine1:po1\" }\n  - { a: "
				"\"leaf1:e3\", b: \"spine2:e1\" }\n"
				"lags:\n  - { device: leaf1, name: po1, ports: [e1, e2] }\n  - { "
				"device: spine1, name: po1, ports: [e1, e2] }\n",
			"lag:po1: e1 e2; uplinks: e1 e3"},
		{"a given group", "leaf1",
			DEVICES "links: discover\necmp:\n  - { device: leaf1, group: storage, "
				"ports: [e10, e2] }\n",
			"storage: e2 e10"},
		{"a given group replaces the derived one", "leaf1",
			DEVICES "links:\n  - { a: \"leaf1:e1\", b: \"spine1:e1\" }\n  - { a: "
				"\"leaf1:e2\", b: \"spine2:e1\" }\n"
				"  - { a: \"leaf1:e3\", b: \"spine2:e2\" }\necmp:\n  - { device: "
				"leaf1, group: uplinks, ports: [e2, e1] }\n",
			"to:spine2: e2 e3; uplinks: e1 e2"},
		{"a given group under another name", "leaf1",
			DEVICES "links:\n  - { a: \"leaf1:e1\", b: \"spine1:e1\" }\n  - { a: "
				"\"leaf1:e2\", b: \"spine2:e1\" }\n"
				"ecmp:\n  - { device: leaf1, group: mine, ports: [e2, e1] }\n",
			"mine: e1 e2"},
		{"a given group names a LAG", "leaf1",
			DEVICES "links:\n  - { a: \"leaf1:e1\", b: \"spine1:e1\" }\n  - { a: "
				"\"leaf1:e2\", b: \"spine1:e2\" }\n"
				"  - { a: \"leaf1:e3\", b: \"spine2:e2\" }\nlags:\n  - { device: "
				"leaf1, name: po1, ports: [e1, e2] }\n"
				"ecmp:\n  - { device: leaf1, group: uplinks, ports: [po1, e3] }\n",
			"lag:po1: e1 e2; uplinks: e1 e3"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct config *c = parse(rows[i].what, rows[i].text);
		rw_cleanup(str_done) struct str got = {0};
		groups_text(fabric_device(c->fabric, rows[i].device), &got);
		if (strcmp(got.s, rows[i].want) != 0)
			fail_msg("%s: got '%s', expected '%s'", rows[i].what, got.s, rows[i].want);
		config_free(c);
	}
}

static void test_links(void **state)
{
	struct config *c = parse("links",
		DEVICES "policy: { load_balancing: flowlet }\nlinks:\n"
			"  - { a: \"leaf1:et-0/0/0:1\", b: \"spine1:Ethernet1\", cable: 30m, "
			"speed: 400G }\n"
			"  - { a: \"host:node-1:rail0\", b: \"leaf1:Ethernet2\", cable: 3m }\n"
			"capture:\n  - { name: m, interface: eth0, port: \"leaf2:Ethernet7\" }\n");
	const struct fabric *f = c->fabric;
	const struct fabric_device *leaf1 = fabric_device(f, "leaf1"),
				   *leaf2 = fabric_device(f, "leaf2"),
				   *spine1 = fabric_device(f, "spine1");
	/* natural order */
	assert_int_equal(f->n_devices, 7);
	assert_string_equal(f->devices[2]->name, "leaf1");
	assert_string_equal(f->devices[3]->name, "leaf2");
	assert_string_equal(f->devices[4]->name, "leaf10");
	assert_null(fabric_device(f, "leaf3"));
	assert_int_equal(leaf1->n_ports, 2);
	const struct fabric_port *up = fabric_port(leaf1, "et-0/0/0:1"),
				 *down = fabric_port(leaf1, "Ethernet2"),
				 *spine = fabric_port(spine1, "Ethernet1");
	assert_ptr_equal(up->peer, spine);
	assert_ptr_equal(spine->peer, up);
	assert_ptr_equal(up->device, leaf1);
	assert_int_equal(up->cable_mm, 30000);
	assert_int_equal(spine->speed_bps, 400000000000);
	assert_null(up->host);
	assert_null(down->peer);
	assert_string_equal(down->host, "node-1");
	assert_string_equal(down->host_nic, "rail0");
	assert_int_equal(down->cable_mm, 3000);
	assert_int_equal(down->speed_bps, 0);
	assert_non_null(fabric_port(leaf2, "Ethernet7"));
	assert_null(fabric_port(leaf2, ""));
	assert_int_equal(leaf1->lb, LB_FLOWLET);
	assert_string_equal(lb_policy_name(LB_FLOWLET), "flowlet");
	assert_string_equal(congestion_policy_name(CC_RTT), "rtt_cc");
	assert_string_equal(device_role_name(ROLE_SUPERSPINE), "superspine");
	config_free(c);
}

static void test_jobs(void **state)
{
	struct config *c = parse("jobs",
		DEVICES "jobs:\n  - { name: a, gpus: 512, hosts: \"node-*\" }\n  - { name: b, "
			"gpus: 64, hosts: \"node-1?\" }\n");
	assert_int_equal(fabric_gpus(c->fabric), 576);
	config_free(c);
}

static void test_name_compare(void **state)
{
	/* strictly ascending; every pair is compared in both directions */
	static const char *const names[] = {"", "Ethernet", "Ethernet1", "Ethernet1/1",
		"Ethernet1/2", "Ethernet1/10", "Ethernet2", "Ethernet02", "Ethernet10",
		"Ethernet10000000000000000000000", "Ethernet10000000000000000000001", "eth0",
		"eth00", "eth0a", "po1"};
	for (size_t i = 0; i < rw_countof(names); i++)
		for (size_t k = 0; k < rw_countof(names); k++) {
			int want = i < k ? -1 : i > k;
			/* two spellings of one number: only that they differ matters */
			if (strspn(names[i], "eth0") == strlen(names[i]) &&
				strspn(names[k], "eth0") == strlen(names[k]) && i != k &&
				*names[i] && *names[k])
				assert_true(name_compare(names[i], names[k]) ==
						-name_compare(names[k], names[i]) &&
					name_compare(names[i], names[k]) != 0);
			else if (strstr(names[i], "02") || strstr(names[k], "02"))
				assert_true(i == k ? name_compare(names[i], names[k]) == 0
						   : name_compare(names[i], names[k]) ==
							-name_compare(names[k], names[i]));
			else if (name_compare(names[i], names[k]) != want)
				fail_msg("'%s' and '%s' give %d", names[i], names[k],
					name_compare(names[i], names[k]));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_jobs),
		cmocka_unit_test(test_name_compare),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
