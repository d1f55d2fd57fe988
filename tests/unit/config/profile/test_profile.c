/* profile: the built-in ones load, mistakes are told with their place, devices find their profile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "base/str.h"
#include "config/profile/profile.h"
#include "config/profile/profile_coverage.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

static void test_builtin(void **state)
{
	struct err_list errors = {0};
	struct profiles *p = NULL;
	int rc = profiles_load(NULL, &p, &errors);
	for (size_t i = 0; i < errors.n; i++)
		err_print(stderr, &errors.v[i]);
	assert_int_equal(rc, 0);
	assert_string_equal(profiles_at(p, 0)->name, "generic");
	for (size_t i = 0; i < profiles_count(p); i++) {
		const struct profile *q = profiles_at(p, i);
		if ((!q->snmp && !q->gnmi && q->n_push == 0) || (q->snmp && q->n_tables == 0) ||
			!*q->doc || !q->text)
			fail_msg("%s is empty", q->name);
		for (size_t k = 0; k < q->n_quirks; k++)
			if (!*q->quirks[k].evidence)
				fail_msg("%s: quirk %s without evidence", q->name,
					q->quirks[k].name);
	}
	profiles_free(p);
	err_list_done(&errors);
}

#define HEAD "name: x\ndoc: d\n"
#define FLOW(table) HEAD "snmp:\n  tables:\n    - { name: t, " table " }\n"
#define FLAPS ", columns: [{ column: 1, metric: port.flaps }]"
#define DECIMAL(d) FLOW("cadence: fast, oid: 1.3, index: [port, kind], decimal: " d FLAPS)
#define TABLE                                                                                      \
	"snmp:\n  tables:\n    - name: t\n      cadence: fast\n      oid: 1.3.6\n      index: "    \
	"[port]\n      columns:\n"
#define ROW(column) HEAD TABLE "        - { column: 1, metric: " column " }\n"

static const struct {
	const char *what, *text;
	int line;
	const char *says; /* NULL = fine */
} texts[] = {
	{"smallest", HEAD, 0, NULL},
	{"a table", ROW("port.in_octets"), 0, NULL},
	{"no name", "doc: d\n", 1, "'name' is missing"},
	{"unknown key", HEAD "matches: []\n", 3, "did you mean 'match'?"},
	{"unknown metric", ROW("port.in_octet"), 10, "did you mean 'port.in_octets'?"},
	{"text metric", ROW("cfg.trust"), 10, "a metric that is a number"},
	{"neither metric nor attribute", HEAD TABLE "        - { column: 1 }\n", 10,
		"either 'metric' or 'attribute'"},
	{"column and oid", HEAD TABLE "        - { column: 1, oid: 1.3, metric: port.in_octets }\n",
		10, "either 'column'"},
	{"bad oid", HEAD TABLE "        - { oid: ifInOctets, metric: port.in_octets }\n", 10,
		"object identifier"},
	{"bad unit", ROW("port.in_octets, unit: furlong"), 10, "one of ns us ms"},
	{"evidence that is none", ROW("port.in_octets, evidence: rumour"), 10,
		"recorded, mock or document"},
	{"inherited from nobody",
		HEAD
		"extends: generic\nsnmp:\n  inherited: { interfaces: recorded, queues: mock }\n",
		5, "a table that comes from the profile this one extends"},
	{"unless of nobody", FLOW("cadence: fast, unless: u, oid: 1.3, index: [port]" FLAPS), 5,
		"a table before it"},
	{"behind nobody", FLOW("cadence: fast, behind: t, oid: 1.3, index: [port]" FLAPS), 5,
		"a table before it"},
	{"named without port", ROW("port.flaps, named: \"a*\""), 10, "without 'port'"},
	{"port without its word",
		FLOW("cadence: fast, oid: 1.3, index: [row], port: { column: 2, text: \"for *\" "
		     "}" FLAPS),
		5, "with {port}"},
	{"port twice", FLOW("cadence: fast, oid: 1.3, index: [port], port: { column: 2 }" FLAPS), 5,
		"a part of the index"},
	{"octal number", HEAD TABLE "        - { column: 010, metric: port.in_octets }\n", 10,
		"a whole number"},
	{"priority 8", ROW("pfc.rx_frames, priority: 8"), 10, "from 0 to 7"},
	{"where of an unknown part", ROW("pfc.rx_frames, where: { type: 1 }"), 10, "not a part"},
	{"divide by zero", ROW("port.in_octets, divide: 0"), 10, "from 1"},
	{"width 33", ROW("port.in_octets, width: 33"), 10, "32 or 64"},
	{"when without equals", ROW("port.in_octets, when: { column: 2 }"), 10,
		"'equals' is missing"},
	{"quirk without evidence", HEAD "quirks:\n  - { name: q, doc: d }\n", 4,
		"without 'evidence'"},
	{"quirk with empty evidence", HEAD "quirks:\n  - { name: q, doc: d, evidence: \"\" }\n", 4,
		"expected text"},
	{"quirk with evidence", HEAD "quirks:\n  - { name: q, doc: d, evidence: e }\n", 0, NULL},
	{"tc_map to 8", HEAD "tc_map: { 0: 8 }\n", 3, "from 0 to 7"},
	{"tc_map from a name", HEAD "tc_map: { gold: 1 }\n", 3, "whole number"},
	{"extends nobody", HEAD "extends: nobody\n", 3, "expected the name of a profile"},
	{"without of nothing", HEAD "extends: generic\nsnmp:\n  without: [tulips]\n", 5,
		"expected a table"},
	{"cadence often", FLOW("cadence: often, oid: 1.3, index: [port]" FLAPS), 5,
		"fast, slow or background"},
	{"no columns", FLOW("cadence: fast, oid: 1.3, index: [port]"), 5, "'columns'"},
	{"twice in an index", FLOW("cadence: fast, oid: 1.3, index: [port, port]" FLAPS), 5,
		"twice"},
	{"interval without unit", HEAD "snmp:\n  min_interval: 5\n", 4, "5"},
	{"port name without number",
		HEAD "snmp:\n  port_names: [{ first: 1, last: 9, name: Ethernet }]\n", 4, "{n}"},
	{"fold of a counter", ROW("port.in_octets, fold: min"), 10, "min or max"},
	{"fold of no kind",
		HEAD TABLE "        - { column: 4, metric: optic.rx_power_dbm, fold: mean }\n", 10,
		"min or max"},
	{"a sensor",
		HEAD TABLE
		"        - { column: 4, metric: optic.rx_power_dbm, sensor: true, fold: min }\n",
		0, NULL},
	{"a sensor that counts",
		HEAD TABLE "        - { column: 4, metric: port.in_octets, sensor: true }\n", 10,
		"in dBm or C"},
	{"decimal", DECIMAL("{ base: 1000, by: [100, 1] }"), 0, NULL},
	{"decimal of other length", DECIMAL("{ base: 1000, by: [100] }"), 5,
		"one divisor for each part"},
	{"decimal that grows", DECIMAL("{ base: 1000, by: [1, 100] }"), 5,
		"smaller than the one before"},
	{"decimal by zero", DECIMAL("{ base: 1000, by: [100, 0] }"), 5, "from 1"},
	{"decimal without 'by'", DECIMAL("{ base: 1000 }"), 5, "one divisor"},
	{"not a section", "- 1\n", 1, "a profile"},
	{"empty", "", 0, "a profile"},
};

static void test_texts(void **state)
{
	for (size_t i = 0; i < rw_countof(texts); i++) {
		struct err_list errors = {0};
		struct profiles *p = NULL;
		int rc =
			profiles_parse(texts[i].text, strlen(texts[i].text), "x.yaml", &p, &errors);
		if (!texts[i].says && rc != 0)
			fail_msg("%s: %s", texts[i].what, errors.n ? errors.v[0].text : "?");
		if (texts[i].says &&
			(rc == 0 || errors.n == 0 || !strstr(errors.v[0].text, texts[i].says) ||
				errors.v[0].line != texts[i].line ||
				strcmp(errors.v[0].file, "x.yaml") != 0))
			fail_msg("%s: got %d, %s:%d: '%s', expected line %d, '%s'", texts[i].what,
				rc, errors.n ? errors.v[0].file : "-",
				errors.n ? errors.v[0].line : 0, errors.n ? errors.v[0].text : "",
				texts[i].line, texts[i].says);
		profiles_free(p);
		err_list_done(&errors);
	}
}

static void test_meaning(void **state)
{
	static const char text[] = HEAD
		"extends: generic\ntc_map: { 0: 0, 9: 3 }\nsnmp:\n  min_interval: 5s\n  without: "
		"[etherlike]\n"
		"  port_names: [{ first: 1001, last: 1999, subtract: 1000, name: \"Po{n}x\" }]\n"
		"  tables:\n    - { name: q, cadence: fast, oid: 1.3, index: [port, dir, queue], "
		"first_queue: 1, columns: [\n"
		"        { column: 4, metric: queue.drops, where: { dir: 2 }, unit: cells, ignore: "
		"[0], when: { column: 3, equals: 1 }, fallback: true },\n"
		"        { column: 4, metric: pfc.rx_pause_ns, unit: us, where: { dir: 1 } }] }\n";
	struct err_list errors = {0};
	struct profiles *ps;
	assert_int_equal(profiles_parse(text, strlen(text), "x.yaml", &ps, &errors), 0);
	const struct profile *p = profiles_get(ps, "x");
	assert_int_equal(p->min_interval_ns, 5000000000);
	assert_int_equal(profile_priority(p, 9), 3);
	assert_int_equal(profile_priority(p, 3), PRIO_NONE);
	assert_int_equal(profile_priority(p, 4000000000u), PRIO_NONE);
	assert_int_equal(profile_priority(profiles_get(ps, "generic"), 7), 7);
	assert_int_equal(profile_priority(profiles_get(ps, "generic"), 8), PRIO_NONE);
	const struct profile_table *t = p->tables[p->n_tables - 1];
	for (size_t i = 0; i < p->n_tables; i++)
		assert_string_not_equal(p->tables[i]->name, "etherlike");
	assert_int_equal(t->n_columns, 2); /* column 4 is fetched once, 3 for the condition */
	assert_int_equal(t->parts[1], PART_OTHER);
	assert_int_equal(t->first_queue, 1);
	assert_true(t->sums_rows);
	const struct profile_value *us = &t->values[0], *drops = &t->values[1];
	assert_true(drops->fallback); /* fallbacks come last */
	assert_int_equal(us->mul, 1000);
	assert_int_equal(us->where[1], 1);
	assert_int_equal(us->where[0], PROFILE_ANY);
	assert_true(drops->cells && drops->when_column == 1 && drops->when_equals == 1 &&
		drops->n_ignore == 1);
	char name[16];
	assert_true(profile_port_name_of(p, 1007, name, sizeof(name)));
	assert_string_equal(name, "Po7x");
	assert_false(profile_port_name_of(p, 5, name, sizeof(name)));
	profiles_free(ps);
	err_list_done(&errors);
}

/* What SONiC switches of different makers answer for one ifIndex; aliases that only look native. */
/* The innermost evidence holds; nothing said is a document; what is inherited was seen elsewhere.
 */
static void test_coverage(void **state)
{
	static const char text[] =
		HEAD "extends: generic\nsnmp:\n  evidence: \"mock: the vendor's own agent\"\n"
		     "  inherited: { interfaces: \"recorded: a walk\" }\n  tables:\n"
		     "    - { name: pfc, cadence: fast, oid: 1.3.6.1, index: [port], columns: [\n"
		     "        { column: 1, priority: 3, metric: pfc.rx_frames },\n"
		     "        { column: 2, priority: 3, metric: pfc.tx_frames, evidence: recorded "
		     "} ] }\n"
		     "    - { name: more, cadence: fast, evidence: document, oid: 1.3.6.2, index: "
		     "[port], "
		     "columns: [\n"
		     "        { column: 1, priority: 3, metric: pfc.rx_frames, fallback: true },\n"
		     "        { column: 2, metric: port.flaps, fallback: true } ] }\n";
	static const struct {
		int metric;
		bool told;
		enum evidence_kind kind;
		const char *source, *table;
		bool only_fallback;
	} wanted[] = {
		{M_PFC_RX_FRAMES, true, EVIDENCE_MOCK, "the vendor's own agent", "pfc", false},
		{M_PFC_TX_FRAMES, true, EVIDENCE_RECORDED, NULL, "pfc", false},
		{M_PORT_FLAPS, true, EVIDENCE_DOCUMENT, NULL, "more", true},
		{M_PORT_IN_OCTETS, true, EVIDENCE_RECORDED, "a walk", "interfaces", false},
		{M_PORT_FCS_ERRORS, true, EVIDENCE_DOCUMENT, NULL, "etherlike", false},
		{M_QUEUE_ECN_MARKED, false, EVIDENCE_DOCUMENT, NULL, NULL, false},
	};
	struct err_list errors = {0};
	struct profiles *p = NULL;
	assert_int_equal(profiles_parse(text, sizeof(text) - 1, "x.yaml", &p, &errors), 0);
	for (size_t i = 0; i < rw_countof(wanted); i++) {
		struct coverage_cell cell;
		profile_coverage(
			profiles_get(p, "x"), (unsigned)wanted[i].metric, COVERAGE_SNMP, &cell);
		assert_int_equal(cell.told, wanted[i].told);
		assert_int_equal(cell.evidence.kind, wanted[i].kind);
		assert_int_equal(cell.only_fallback, wanted[i].only_fallback);
		assert_string_equal(str_or(cell.evidence.source, ""), str_or(wanted[i].source, ""));
		assert_string_equal(str_or(cell.table, ""), str_or(wanted[i].table, ""));
	}
	profiles_free(p);
	err_list_done(&errors);
}

static void test_told_names(void **state)
{
	static const struct {
		uint32_t ifindex;
		const char *text;
		bool native;
	} rows[] = {{1000, "eth0", true}, {10001, "PortChannel1", true},
		{1001, "PortChannel01", true}, {30001, "Vlan1", true}, {1, "Ethernet0", true},
		{1, "etp1", false}, {17, "Ethernet5", false}, {17, "Ethernet16", true},
		{1, "Ethernet1/1", false}, {1, "Ethernet", false},
		{1, "Ethernet99999999999999999999", false}, {1, "", false}};
	struct err_list errors = {0};
	struct profiles *all;
	assert_int_equal(profiles_load(NULL, &all, &errors), 0);
	const struct profile *sonic = profiles_get(all, "sonic");
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (profile_port_name_told(sonic, rows[i].ifindex, rows[i].text) != rows[i].native)
			fail_msg("%u %s", rows[i].ifindex, rows[i].text);
	profiles_free(all);
	err_list_done(&errors);
}

/* The names that switches of eight vendors give the port. */
static void test_management_ports(void **state)
{
	static const struct {
		const char *profile, *port;
		bool management;
	} rows[] = {{"eos", "Management1", true}, {"eos", "Ethernet1", false},
		{"nxos", "mgmt0", true}, {"dell-os9", "ManagementEthernet 1/1", true},
		{"generic", "mgmt1/1/1", true}, {"sonic", "eth0", true},
		{"sonic", "Ethernet0", false}, {"cumulus", "eth0", true},
		{"cumulus", "swp1", false}, {"generic", "eth0", false},
		{"junos", "re0:mgmt-0", true}, {"junos", "em1", true}, {"junos", "et-0/0/0", false},
		{"srlinux", "mgmt0", true}, {"openconfig", "Management0", true}};
	struct err_list errors = {0};
	struct profiles *all;
	assert_int_equal(profiles_load(NULL, &all, &errors), 0);
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (profile_is_management(profiles_get(all, rows[i].profile), rows[i].port) !=
			rows[i].management)
			fail_msg("%s: %s", rows[i].profile, rows[i].port);
	profiles_free(all);
	err_list_done(&errors);
}

static void test_match(void **state)
{
	static const char text[] =
		HEAD "match: [{ object_id: 1.3.6.1.4.1.77 }, { object_id: 1.3.6.1.4.1.88.1, descr: "
		     "\"*Tulip*\" }, { descr: \"Rose *\" }]\n"
		     "snmp:\n  tables: []\n";
	static const struct {
		const char *what;
		uint32_t oid[8];
		size_t n;
		const char *descr, *profile;
	} rows[] = {
		{"below the object id", {1, 3, 6, 1, 4, 1, 77, 5}, 8, "anything", "x"},
		{"the object id itself", {1, 3, 6, 1, 4, 1, 77}, 7, "", "x"},
		{"another", {1, 3, 6, 1, 4, 1, 78}, 7, "", "generic"},
		{"above it", {1, 3, 6, 1, 4, 1}, 6, "", "generic"},
		{"both must hold", {1, 3, 6, 1, 4, 1, 88, 1}, 8, "a Tulip", "x"},
		{"only one holds", {1, 3, 6, 1, 4, 1, 88, 1}, 8, "a Daisy", "generic"},
		{"description alone, net-snmp's object id", {1, 3, 6, 1, 4, 1, 8072}, 7, "Rose 5",
			"x"},
		{"nothing known", {0}, 0, NULL, "generic"},
	};
	struct err_list errors = {0};
	struct profiles *ps;
	assert_int_equal(profiles_parse(text, strlen(text), "x.yaml", &ps, &errors), 0);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct profile *p = profiles_match(ps, rows[i].oid, rows[i].n, rows[i].descr);
		if (!p || strcmp(p->name, rows[i].profile) != 0)
			fail_msg("%s: %s", rows[i].what, p ? p->name : "none");
	}
	profiles_free(ps);
	err_list_done(&errors);
}

static void test_site(void **state)
{
	char dir[] = "/tmp/rw-profiles-XXXXXX", path[64];
	struct err_list errors = {0};
	struct profiles *ps;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/ours.yaml", dir);
	FILE *f = fopen(path, "w");
	fputs("name: generic\ndoc: ours\nextends: nobody\n", f);
	fclose(f);
	assert_int_not_equal(profiles_load(dir, &ps, &errors), 0);
	assert_string_equal(errors.v[0].file, path);
	err_list_done(&errors);
	errors = (struct err_list){0};
	f = fopen(path, "w");
	fputs("name: generic\ndoc: ours\nsnmp: { tables: [] }\n", f);
	fclose(f);
	assert_int_equal(profiles_load(dir, &ps, &errors), 0);
	/* replaced, and the built-in ones that extend it are as they were */
	assert_string_equal(profiles_get(ps, "generic")->doc, "ours");
	assert_true(profiles_get(ps, "eos")->n_tables > 4);
	assert_string_equal(profiles_at(ps, 0)->name, "generic");
	profiles_free(ps);
	unlink(path);
	rmdir(dir);
	err_list_done(&errors);
	errors = (struct err_list){0};
	assert_int_not_equal(profiles_load("/nonexistent", &ps, &errors), 0);
	assert_non_null(strstr(errors.v[0].text, "/nonexistent"));
	err_list_done(&errors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builtin),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_meaning),
		cmocka_unit_test(test_coverage),
		cmocka_unit_test(test_told_names),
		cmocka_unit_test(test_management_ports),
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_site),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
