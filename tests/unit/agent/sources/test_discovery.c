/* discovery: which links are believed as devices speak, fall silent and say something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "base/str.h"
#include "agent/sources/discovery.h"

struct world {
	struct config *config;
	struct discovery *d;
	struct str peers, disputes; /* what was told */
	mono_t now;
	bool waits;
	const char *management; /* a port that the profile of every device leaves out */
};

static bool waits(void *arg, const char *device)
{
	return ((struct world *)arg)->waits;
}

static void peer(void *arg, const char *device, const char *port, const char *peer_device,
	const char *peer_port)
{
	str_addf(&((struct world *)arg)->peers, "%s:%s>%s:%s ", device, port, peer_device,
		peer_port);
}

static void dispute(void *arg, const char *device, const char *text, bool over)
{
	str_addf(&((struct world *)arg)->disputes, "%s%s; ", text, over ? " OVER" : "");
}

static void world_new(struct world *w, const char *links)
{
	struct err_list errors = {0};
	rw_cleanup(str_done) struct str text = {0};
	str_add(&text,
		"credentials: { c: { snmp: { version: 2c, community_file: /nowhere } } "
		"}\ndevices:\n");
	static const char *const names[] = {"leaf1", "leaf2", "spine1", "spine2"};
	for (size_t i = 0; i < rw_countof(names); i++)
		str_addf(&text,
			"  - { name: %s, role: %.*s, snmp: { address: 192.0.2.%zu, credentials: c, "
			"slow_interval: 100s } }\n",
			names[i], (int)strcspn(names[i], "12"), names[i], i + 1);
	str_add(&text, links);
	*w = (struct world){.now = {NS_PER_S}};
	if (config_parse(text.s, text.n, "test.yaml", CONFIG_FULL, NULL, 0, &w->config, &errors) !=
		0)
		fail_msg("%s", errors.v[0].text);
	err_list_done(&errors);
	const struct discovery_events events = {w, waits, peer, dispute};
	w->d = discovery_new(&events, w->now);
	str_add(&w->peers, "");
	str_add(&w->disputes, "");
}

static void world_free(struct world *w)
{
	discovery_free(w->d);
	config_free(w->config);
	str_done(&w->peers);
	str_done(&w->disputes);
}

/* "1>spine1:7 2>host-a" : what @device heard; ports of everybody are 1 to 9. */
static void hear(struct world *w, const char *device, const char *what)
{
	static const char *const names[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9"};
	struct topology_port ports[9] = {{0}};
	for (uint32_t i = 0; i < 9; i++)
		ports[i] = (struct topology_port){.name = names[i],
			.alias = "",
			.descr = "",
			.mac = "",
			.ifindex = i + 1,
			.outside = str_eq(w->management, names[i])};
	struct topology_device self = {
		.name = device, .sysname = device, .chassis = "", .ports = ports, .n_ports = 9};
	struct topology_neighbor heard[9];
	char port[9][8], system[9][32], id[9][8];
	size_t n = 0;
	for (int used = 0; sscanf(what, " %7[^>]>%31[^: ]%n", port[n], system[n], &used) == 2;
		n++) {
		what += used;
		id[n][0] = '\0';
		if (*what == ':' && sscanf(what, ":%7[^ ]%n", id[n], &used) == 1)
			what += used;
		bool mac = strncmp(system[n], "mac-", 4) == 0;
		heard[n] = (struct topology_neighbor){.device = device,
			.port = port[n],
			.sysname = mac ? "" : system[n],
			.chassis_subtype = 4,
			.chassis = mac ? system[n] : "",
			.port_subtype = LLDP_PORT_IFNAME,
			.port_id = id[n],
			.port_descr = ""};
	}
	discovery_report(w->d, &self, heard, n, w->now);
}

/* Three seconds later: did anything change, and what is believed? */
static void expect(struct world *w, const char *what, bool changed, const char *links)
{
	w->now.ns += 3 * NS_PER_S;
	bool got = discovery_settle(w->d, w->config, w->now);
	const struct config_link *v;
	size_t n = discovery_links(w->d, &v);
	rw_cleanup(str_done) struct str text = {0};
	str_add(&text, "");
	for (size_t i = 0; i < n; i++)
		str_addf(&text, "%s-%s ", v[i].a, v[i].b);
	if (strcmp(text.s, links) != 0)
		fail_msg("%s: believed '%s', expected '%s'", what, text.s, links);
	if (got != changed)
		fail_msg("%s: changed is %d", what, got);
}

#define BOTH "leaf1:1-spine1:1 leaf1:2-spine2:1 "

static void both(struct world *w)
{
	hear(w, "leaf1", "1>spine1:1 2>spine2:1");
	hear(w, "spine1", "1>leaf1:1");
	hear(w, "spine2", "1>leaf1:2");
	hear(w, "leaf2", "");
}

static void test_waits_for_all(void **state)
{
	struct world w;
	world_new(&w, "links: discover\n");
	w.waits = true;
	hear(&w, "leaf1", "1>spine1:1 2>spine2:1");
	expect(&w, "others may still answer", false, "");
	hear(&w, "spine1", "1>leaf1:1");
	w.waits = false;
	expect(&w, "the others are down", true, BOTH);
	world_free(&w);

	world_new(&w, "links: discover\n");
	w.waits = true;
	hear(&w, "leaf1", "1>spine1:1 2>spine2:1");
	w.now.ns += 299 * NS_PER_S;
	expect(&w, "three slow polls later", true, BOTH);
	world_free(&w);

	world_new(&w, "links: discover\n");
	hear(&w, "leaf1", "1>spine1:1");
	w.now.ns += NS_PER_S;
	assert_false(discovery_settle(w.d, w.config, w.now)); /* not quiet yet */
	for (int i = 0; i < 20; i++) {
		w.now.ns += NS_PER_S;
		hear(&w, "leaf2", i % 2 ? "1>spine1:2" : "1>spine1:3");
		if (discovery_settle(w.d, w.config, w.now))
			break;
		assert_true(i < 16); /* what never gets quiet is not put off for ever */
	}
	world_free(&w);
}

static void test_silence_keeps(void **state)
{
	struct world w;
	world_new(&w, "links: discover\n");
	both(&w);
	expect(&w, "all", true, BOTH);
	assert_string_equal(
		w.peers.s, "leaf1:1>spine1:1 spine1:1>leaf1:1 leaf1:2>spine2:1 spine2:1>leaf1:2 ");
	hear(&w, "leaf1", "1>spine1:1");
	hear(&w, "spine2", "");
	expect(&w, "a link went down", false, BOTH);
	hear(&w, "leaf1", "");
	hear(&w, "spine1", "");
	expect(&w, "all are silent", false, BOTH);
	both(&w);
	expect(&w, "and back", false, BOTH);
	assert_string_equal(w.disputes.s, "");
	/* once */
	assert_string_equal(
		w.peers.s, "leaf1:1>spine1:1 spine1:1>leaf1:1 leaf1:2>spine2:1 spine2:1>leaf1:2 ");
	world_free(&w);
}

static void test_replaced(void **state)
{
	struct world w;
	world_new(&w, "links: discover\n");
	both(&w);
	expect(&w, "all", true, BOTH);
	hear(&w, "leaf1", "1>spine1:1 2>spine1:9");
	expect(&w, "one end says otherwise", false, BOTH);
	hear(&w, "spine1", "1>leaf1:1 9>leaf1:2");
	expect(&w, "both do", true, "leaf1:1-spine1:1 leaf1:2-spine1:9 ");
	hear(&w, "spine2", "1>leaf1:2"); /* its memory of an old neighbour */
	expect(&w, "a late voice of before", false, "leaf1:1-spine1:1 leaf1:2-spine1:9 ");
	world_free(&w);

	world_new(&w, "links: discover\n");
	hear(&w, "leaf1", "1>host-a:e0");
	expect(&w, "a host", true, "leaf1:1-host:host-a:e0 ");
	hear(&w, "leaf1", "1>mac-1:e0");
	expect(&w, "its NIC speaks while it boots", false, "leaf1:1-host:host-a:e0 ");
	hear(&w, "leaf1", "1>host-b:e0");
	expect(&w, "another host, once", false, "leaf1:1-host:host-a:e0 ");
	expect(&w, "still the same report", false, "leaf1:1-host:host-a:e0 ");
	hear(&w, "leaf1", "1>host-b:e0");
	expect(&w, "another host, twice", true, "leaf1:1-host:host-b:e0 ");
	world_free(&w);
}

static void test_known_before(void **state)
{
	static const struct config_link known[] = {
		{"leaf1:2", "spine2:1"}, {"leaf1:1", "spine1:1"}};
	struct world w;
	world_new(&w, "links: discover\n");
	discovery_know(w.d, known, 2);
	expect(&w, "nobody spoke yet", false, BOTH);
	hear(&w, "leaf1", "1>spine1:1");
	expect(&w, "one link is down after the restart", false, BOTH);
	world_free(&w);
}

static void test_disputes(void **state)
{
	struct world w;
	world_new(&w,
		"links:\n  - { a: \"leaf1:1\", b: \"spine1:2\" }\n  - { a: \"leaf1:3\", b: "
		"\"host:n1:rail0\" }\n");
	hear(&w, "leaf1", "1>spine1:1 3>n1:eth0");
	hear(&w, "spine1", "1>leaf1:1");
	expect(&w, "declared otherwise", true, "leaf1:1-spine1:1 leaf1:3-host:n1:eth0 ");
	assert_string_equal(
		w.disputes.s, "leaf1:1 is declared to lead to spine1:2, but hears spine1:1; ");
	hear(&w, "leaf2", "1>spine1:1");
	expect(&w, "two ends of one port", false, "leaf1:1-spine1:1 leaf1:3-host:n1:eth0 ");
	assert_non_null(strstr(w.disputes.s,
		"leaf2:1 to spine1:1: spine1:1 is also said to be linked to leaf1:1; "));
	hear(&w, "leaf2", "");
	hear(&w, "leaf1", "1>spine1:2 3>n1:eth0");
	hear(&w, "spine1", "2>leaf1:1");
	expect(&w, "as declared", true, "leaf1:1-spine1:2 leaf1:3-host:n1:eth0 ");
	assert_non_null(strstr(w.disputes.s, "but hears spine1:1 OVER; "));
	world_free(&w);
}

static void test_management(void **state)
{
	struct world w;
	world_new(&w, "links: discover\n");
	hear(&w, "leaf1", "1>spine1:1 8>office:41 9>spine1:9");
	hear(&w, "spine1", "1>leaf1:1 9>leaf1:9");
	expect(&w, "every port is of the fabric", true,
		"leaf1:1-spine1:1 leaf1:8-host:office:41 leaf1:9-spine1:9 ");
	w.management = "9";
	hear(&w, "leaf1", "1>spine1:1 8>office:41 9>spine1:9");
	hear(&w, "spine1", "1>leaf1:1 9>leaf1:9");
	expect(&w, "what was believed before goes", true,
		"leaf1:1-spine1:1 leaf1:8-host:office:41 ");
	w.peers.n = 0;
	hear(&w, "leaf2", "8>office:42 9>leaf1:9");
	expect(&w, "a port of management is nobody's end", true,
		"leaf1:1-spine1:1 leaf1:8-host:office:41 leaf2:8-host:office:42 ");
	assert_null(strstr(w.peers.s, "leaf2:9"));
	assert_string_equal(w.disputes.s, "");
	world_free(&w);
}

static void test_left_out(void **state)
{
	struct world w;
	world_new(&w, "links: discover\n");
	config_free(w.config);
	struct err_list errors = {0};
	static const char text[] =
		"credentials: { c: { snmp: { version: 2c, community_file: /nowhere } } }\n"
		"devices:\n"
		"  - { name: leaf1, snmp: { address: 192.0.2.1, credentials: c }, "
		"ports: { exclude: [\"[78]\"], include: [\"9\"] } }\n"
		"  - { name: spine1, snmp: { address: 192.0.2.2, credentials: c } }\n"
		"links: discover\n";
	assert_int_equal(config_parse(text, strlen(text), "test.yaml", CONFIG_FULL, NULL, 0,
				 &w.config, &errors),
		0);
	w.management = "9";
	hear(&w, "leaf1", "1>spine1:1 7>spine1:7 8>office:41 9>n1:eth0");
	expect(&w, "the configuration knows better than the profile", true,
		"leaf1:1-spine1:1 leaf1:9-host:n1:eth0 ");
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_waits_for_all),
		cmocka_unit_test(test_silence_keeps), cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_known_before), cmocka_unit_test(test_disputes),
		cmocka_unit_test(test_management), cmocka_unit_test(test_left_out)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
