/* topology_views: what the audit finds in a fabric, row by row, and that a right one has no
 * findings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "base/str.h"
#include "agent/answers/topology/topology_views.h"
#include "config/config.h"

#define G 1000000000ull
#define HEAD                                                                                       \
	"lossless: { priorities: [3], mtu: 4200B }\ndevices:\n  - { name: leaf1, role: leaf }\n  " \
	"- { name: leaf2, role: leaf }\n  - { name: spine1, role: spine }\n"                       \
	"  - { name: spine2, role: spine }\nlinks:\n"
#define LINKS                                                                                      \
	"  - { a: \"leaf1:u1\", b: \"spine1:1\" }\n  - { a: \"leaf1:u2\", b: \"spine2:1\" }\n  - " \
	"{ a: \"leaf2:u1\", b: \"spine1:2\" }\n"                                                   \
	"  - { a: \"leaf2:u2\", b: \"spine2:2\" }\n  - { a: \"leaf1:1\", b: \"host:n1\" }\n"

struct row {
	const char *what, *links;
	const char *device, *port; /* the one port that is different */
	struct port_facts facts;
	const char *sysname; /* of leaf1 */
	const char *expect; /* "severity kind device:port ..." */
};

static const struct port_facts usual = {
	.up = 1, .speed_bps = 100 * G, .mtu_bytes = 9216, .pfc_known = 0xff, .pfc_on = 1 << 3};

#define PORT(is_up, gbit, mtu, known, on)                                                          \
	{                                                                                          \
		.up = (is_up), .speed_bps = (gbit)*G, .mtu_bytes = (mtu), .pfc_known = (known),    \
		.pfc_on = (on)                                                                     \
	}
#define HEARD(device, port)                                                                        \
	{                                                                                          \
		.up = 1, .speed_bps = 100 * G, .mtu_bytes = 9216, .pfc_known = 0xff,               \
		.pfc_on = 1 << 3, .lldp_device = (device), .lldp_port = (port)                     \
	}
static const struct row rows[] = {
	{"as it should be", LINKS, "", "", {0}, "LEAF1.pod-a.example", ""},
	{"nothing known is no finding", LINKS, "leaf1", "u1", {.up = -1}, NULL, ""},
	{"link down", LINKS, "spine1", "1", PORT(0, 100, 9216, 0xff, 8), NULL,
		"warning link_down leaf1:u1 "},
	{"speed", LINKS, "leaf1", "u1", PORT(1, 40, 9216, 0xff, 8), NULL,
		"critical speed_mismatch leaf1:u1 warning group_speed leaf1:u1 "},
	{"MTU", LINKS, "spine2", "2", PORT(1, 100, 5000, 0xff, 8), NULL,
		"critical mtu_mismatch leaf2:u2 "},
	{"MTU counted without the header", LINKS, "spine2", "2", PORT(1, 100, 9202, 0xff, 8), NULL,
		"info mtu_mismatch leaf2:u2 "},
	{"MTU below the RoCE MTU", LINKS, "leaf1", "1", PORT(1, 100, 1500, 0xff, 8), NULL,
		"critical mtu_small leaf1:1 "},
	{"PFC", LINKS, "leaf1", "u1", PORT(1, 100, 9216, 0xff, 16), NULL,
		"critical pfc_mismatch leaf1:u1 "},
	{"PFC known for other priorities only", LINKS, "leaf1", "u1", PORT(1, 100, 9216, 32, 0),
		NULL, ""},
	{"oversubscription", LINKS, "leaf1", "1", PORT(1, 400, 9216, 0xff, 8), NULL,
		"warning oversubscription leaf1:- "},
	{"another name", LINKS, "", "", {0}, "leaf7", "warning sysname leaf1:- "},
	{"LLDP says otherwise", LINKS, "leaf1", "u1", HEARD("spine1", "9"), NULL,
		"warning lldp_mismatch leaf1:u1 "},
	{"LLDP agrees", LINKS, "leaf1", "1", HEARD("host:n1", "eth0"), NULL, ""},
	{"LLDP does not know what is declared to be a host", LINKS, "leaf1", "1",
		HEARD("unknown:n1", "41"), NULL, ""},
	{"a switch outside, once for both its links, and something that may be one",
		LINKS "  - { a: \"leaf1:u3\", b: \"switch:spine9:1/1\" }\n  - { a: "
		      "\"leaf2:u3\", b: \"switch:spine9:1/2\" }\n  - { a: \"leaf2:7\", b: "
		      "\"unknown:box\" }\n",
		"", "", {0}, NULL, "info outside_unknown leaf2:- info outside_switch leaf1:- "},
	{"LLDP agrees about a switch outside",
		LINKS "  - { a: \"leaf1:u3\", b: "
		      "\"switch:spine9:1/1\" }\n",
		"leaf1", "u3", HEARD("switch:spine9", "1/1"), NULL, "info outside_switch leaf1:- "},
	{"a link nobody declared", LINKS, "leaf1", "u9", HEARD("spine1", "9"), NULL,
		"warning link_undeclared leaf1:u9 "},
	{"a missing uplink", LINKS "  - { a: \"leaf2:u3\", b: \"spine2:3\" }\n", "", "", {0}, NULL,
		"warning ecmp_width leaf1:- "},
	{"two rails, neither of which misses the other's spine",
		"  - { a: \"leaf1:u1\", b: \"spine1:1\" }\n  - { a: \"leaf2:u1\", b: \"spine2:1\" "
		"}\n",
		"", "", {0}, NULL, ""},
	{"a spine that a leaf does not reach",
		"  - { a: \"leaf1:u1\", b: \"spine1:1\" }\n  - { a: \"leaf1:u2\", b: \"spine2:1\" "
		"}\n  - { a: \"leaf2:u1\", b: \"spine1:2\" }\n",
		"", "", {0}, NULL, "warning ecmp_width leaf2:- warning missing_member leaf2:- "},
	{"declared speed",
		"  - { a: \"leaf1:u1\", b: \"spine1:1\", speed: 400G }\n  - { a: \"leaf1:u2\", b: "
		"\"spine2:1\" }\n  - { a: \"leaf2:u1\", b: \"spine1:2\" }\n"
		"  - { a: \"leaf2:u2\", b: \"spine2:2\" }\n",
		"", "", {0}, NULL, "warning speed_declared leaf1:u1 "},
};

static struct port_facts port_get(void *arg, const char *device, const char *port)
{
	const struct row *r = arg;
	return strcmp(device, r->device) == 0 && strcmp(port, r->port) == 0 ? r->facts : usual;
}

static const char *sysname_get(void *arg, const char *device)
{
	const struct row *r = arg;
	return strcmp(device, "leaf1") == 0 ? r->sysname : NULL;
}

static void each_lldp(void *arg,
	void (*fn)(void *to, const char *device, const char *port, const struct port_facts *x),
	void *to)
{
	const struct row *r = arg;
	if (r->facts.lldp_device)
		fn(to, r->device, r->port, &r->facts);
}

static struct config *parsed(const char *links)
{
	rw_cleanup(str_done) struct str text = {0};
	struct err_list errors = {0};
	struct config *c = NULL;
	str_addf(&text, "%s%s", HEAD, links);
	if (config_parse(text.s, text.n, "test.yaml", CONFIG_CASE, NULL, 0, &c, &errors) != 0)
		fail_msg("%s", errors.v[0].text);
	err_list_done(&errors);
	return c;
}

static const char *string(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));
	return s ? s : "-";
}

static void test_check(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct config *c = parsed(rows[i].links);
		const struct topology_facts facts = {
			(void *)&rows[i], port_get, sysname_get, each_lldp};
		json_t *doc = topology_check_json(c->fabric, &facts), *f;
		rw_cleanup(str_done) struct str got = {0};
		size_t k;
		str_add(&got, "");
		json_array_foreach (json_object_get(doc, "findings"), k, f) {
			str_addf(&got, "%s %s %s:%s ", string(f, "severity"), string(f, "kind"),
				string(f, "device"), string(f, "port"));
			assert_true(
				strlen(string(f, "remedy")) > 10 && strlen(string(f, "text")) > 5);
		}
		if (strcmp(got.s, rows[i].expect) != 0)
			fail_msg(
				"%s: got '%s', expected '%s'", rows[i].what, got.s, rows[i].expect);
		json_decref(doc);
		config_free(c);
	}
}

/* Roles of switches outside: by who hears them. */
static void test_outside(void **state)
{
	(void)state;
	static const struct {
		const char *links, *expect;
	} cases[] = {
		{"  - { a: \"leaf1:1\", b: \"switch:x:1\" }\n  - { a: \"leaf2:1\", b: "
		 "\"switch:x:2\" }\n",
			"x switch spine 2 leaf1 leaf2 "},
		{"  - { a: \"leaf1:1\", b: \"switch:x:1\" }\n  - { a: \"leaf1:2\", b: "
		 "\"switch:x:2\" }\n",
			"x switch unknown 2 leaf1 "},
		{"  - { a: \"spine1:1\", b: \"switch:x:1\" }\n  - { a: \"spine2:1\", b: "
		 "\"switch:x:2\" }\n",
			"x switch leaf 2 spine1 spine2 "},
		{"  - { a: \"leaf1:1\", b: \"unknown:x:1\" }\n  - { a: \"leaf2:1\", b: "
		 "\"unknown:x\" }\n",
			"x unknown unknown 2 leaf1 leaf2 "},
	};
	const struct row nothing = {.device = "", .port = "", .facts = {.up = -1}};
	const struct topology_facts facts = {(void *)&nothing, port_get, sysname_get, each_lldp};
	for (size_t i = 0; i < rw_countof(cases); i++) {
		struct config *c = parsed(cases[i].links);
		json_t *doc = topology_show_json(c->fabric, &facts), *row, *device;
		rw_cleanup(str_done) struct str got = {0};
		size_t k, n;
		json_array_foreach (json_object_get(doc, "outside"), k, row) {
			str_addf(&got, "%s %s %s %lld ", string(row, "name"), string(row, "kind"),
				string(row, "role"),
				(long long)json_integer_value(json_object_get(row, "links")));
			json_array_foreach (json_object_get(row, "devices"), n, device)
				str_addf(&got, "%s ", json_string_value(device));
		}
		assert_string_equal(got.s, cases[i].expect);
		json_decref(doc);
		config_free(c);
	}
}

static void test_show(void **state)
{
	const struct row down = {.device = "spine1", .port = "1", .facts = {.up = 0}};
	const struct topology_facts facts = {(void *)&down, port_get, sysname_get, each_lldp};
	struct config *c = parsed(LINKS);
	json_t *doc = topology_show_json(c->fabric, &facts), *l;
	rw_cleanup(str_done) struct str got = {0};
	size_t k;
	json_array_foreach (json_object_get(doc, "links"), k, l)
		str_addf(&got, "%s:%s>%s:%s %s %s\n", string(l, "device"), string(l, "port"),
			string(l, "peer"), string(l, "peer_port"), string(l, "state"),
			string(l, "source"));
	assert_string_equal(got.s,
		"leaf1:1>host:n1:- up declared\nleaf1:u1>spine1:1 down declared\nleaf1:u2>spine2:1 "
		"up declared\n"
		"leaf2:u1>spine1:2 up declared\nleaf2:u2>spine2:2 up declared\n");
	rw_cleanup(freep) char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	assert_int_equal(report_print(f, doc, &topology_show_view, FORMAT_TABLE, true, false), 0);
	fclose(f);
	assert_non_null(strstr(text, "  leaf1                0/1        1   and 1 to hosts\n"));
	json_decref(doc);
	config_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_outside),
		cmocka_unit_test(test_check), cmocka_unit_test(test_show)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
