/* snmp_lldp: what agents make of LLDP-MIB, rows as the wire may bring them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "collectors/snmp/snmp_lldp.h"
#include "tests/unit/collectors/snmp/oid_text.h"

#define IF_NAME "1.3.6.1.2.1.31.1.1.1.1."
#define IF_DESCR "1.3.6.1.2.1.2.2.1.2."
#define IF_ALIAS "1.3.6.1.2.1.31.1.1.1.18."
#define IF_PHYS "1.3.6.1.2.1.2.2.1.6."
#define LOC "1.0.8802.1.1.2.1.3.7.1."
#define REM "1.0.8802.1.1.2.1.4.1.1."
#define SELF "1.0.8802.1.1.2.1.3."

struct object { /* number when text is NULL */
	const char *oid, *text;
	uint64_t number;
	size_t n; /* of text; 0 = strlen */
};

#define MAX_OBJECTS 40
#define MAX_ARCS 24
struct agent { /* a small agent: objects in any order */
	struct {
		uint32_t arcs[MAX_ARCS];
		size_t n;
		const struct object *o;
	} v[MAX_OBJECTS];
	size_t n;
};

static void agent_of(struct agent *a, const struct object *o)
{
	for (a->n = 0; a->n < MAX_OBJECTS && o[a->n].oid; a->n++) {
		const int n = oid_of_text(o[a->n].oid, a->v[a->n].arcs, MAX_ARCS);
		assert_true(n > 0);
		a->v[a->n].n = (size_t)n;
		a->v[a->n].o = &o[a->n];
	}
}

/* One GETBULK of @repetitions. */
static size_t answer(const struct agent *a, const struct snmp_oid *ask, size_t n,
	size_t repetitions, struct snmp_varbind *ret)
{
	struct snmp_oid at[16];
	size_t out = 0;
	memcpy(at, ask, n * sizeof(*at));
	for (size_t r = 0; r < repetitions; r++) {
		for (size_t i = 0; i < n; i++) {
			size_t best = SIZE_MAX;
			for (size_t k = 0; k < a->n; k++) {
				struct snmp_oid o = {a->v[k].arcs, a->v[k].n};
				if (snmp_oid_order(o, at[i]) > 0 &&
					(best == SIZE_MAX ||
						snmp_oid_order(o,
							(struct snmp_oid){a->v[best].arcs,
								a->v[best].n}) < 0))
					best = k;
			}
			if (best == SIZE_MAX) {
				ret[out++] = (struct snmp_varbind){
					.oid = at[i], .type = SNMP_END_OF_MIB};
				continue;
			}
			const struct object *o = a->v[best].o;
			at[i] = (struct snmp_oid){a->v[best].arcs, a->v[best].n};
			ret[out++] = (struct snmp_varbind){.oid = at[i],
				.type = o->text ? SNMP_STRING : SNMP_INTEGER,
				.number = o->number,
				.bytes = (const uint8_t *)o->text,
				.n_bytes = o->text ? (o->n ? o->n : strlen(o->text)) : 0};
		}
	}
	return out;
}

static const struct topology_port ports[] = {
	{.name = "Ethernet0", .alias = "etp1", .ifindex = 1},
	{.name = "Ethernet4", .alias = "etp2", .ifindex = 5},
	{.name = "swp3", .alias = "", .ifindex = 9},
};

/* A neighbour n1 on local port @port, with @mark and index 1. */
#define HEARD(mark, port, name)                                                                    \
	{REM "4." mark "." port ".1", NULL, 4, 0},                                                 \
		{REM "5." mark "." port ".1", "\2\0\0\0\1\1", 0, 6},                               \
		{REM "6." mark "." port ".1", NULL, 5, 0},                                         \
		{REM "7." mark "." port ".1", "eth0", 0, 0},                                       \
		{REM "8." mark "." port ".1", "", 0, 0},                                           \
	{                                                                                          \
		REM "9." mark "." port ".1", name, 0, 0                                            \
	}
#define INTERFACES                                                                                 \
	{IF_NAME "1", "etp1", 0, 0}, {IF_NAME "5", "etp2", 0, 0}, {IF_NAME "9", "swp3", 0, 0},     \
		{IF_DESCR "9", "port three", 0, 0}, {IF_ALIAS "5", "to spine", 0, 0},              \
		{IF_PHYS "1", "\2\0\0\0\0\1", 0, 6}, {IF_PHYS "5", "\2\0\0\0\0\5", 0, 6},          \
	{                                                                                          \
		IF_PHYS "9", "\2\0\0\0\0\5", 0, 6                                                  \
	}

static const struct {
	const char *what;
	struct object objects[MAX_OBJECTS];
	const char *expect; /* "PORT<NAME/chassis/port ..." */
} rows[] = {
	{"no LLDP at all", {INTERFACES}, ""},
	{"nothing at all", {{0}}, ""},
	{"local port numbers that are the ifIndex", {INTERFACES, HEARD("0", "5", "n1")},
		"Ethernet4<n1/02:00:00:00:01:01/eth0 "},
	{"a local id that is the name, under another number",
		{INTERFACES, {LOC "2.77", NULL, 7, 0}, {LOC "3.77", "etp2", 0, 0},
			HEARD("0", "77", "n1")},
		"Ethernet4<n1/02:00:00:00:01:01/eth0 "},
	{"interfaceName",
		{INTERFACES, {LOC "2.3", NULL, 5, 0}, {LOC "3.3", "swp3", 0, 0},
			HEARD("12", "3", "n1")},
		"swp3<n1/02:00:00:00:01:01/eth0 "},
	{"interfaceAlias by ifAlias",
		{INTERFACES, {LOC "2.3", NULL, 1, 0}, {LOC "3.3", "to spine", 0, 0},
			HEARD("0", "3", "n1")},
		"Ethernet4<n1/02:00:00:00:01:01/eth0 "},
	{"a local id that is an ifIndex",
		{INTERFACES, {LOC "2.3", NULL, 7, 0}, {LOC "3.3", "9", 0, 0},
			HEARD("0", "3", "n1")},
		"swp3<n1/02:00:00:00:01:01/eth0 "},
	{"MAC address",
		{INTERFACES, {LOC "2.3", NULL, 3, 0}, {LOC "3.3", "\2\0\0\0\0\1", 0, 6},
			HEARD("0", "3", "n1")},
		"Ethernet0<n1/02:00:00:00:01:01/eth0 "},
	{"a MAC address of two ports: the one with that number",
		{INTERFACES, {LOC "2.9", NULL, 3, 0}, {LOC "3.9", "\2\0\0\0\0\5", 0, 6},
			HEARD("0", "9", "n1")},
		"swp3<n1/02:00:00:00:01:01/eth0 "},
	{"a MAC address of two ports, neither of that number: nobody",
		{INTERFACES, {LOC "2.3", NULL, 3, 0}, {LOC "3.3", "\2\0\0\0\0\5", 0, 6},
			HEARD("0", "3", "n1")},
		""},
	{"the description when the id says nothing",
		{INTERFACES, {LOC "2.3", NULL, 6, 0}, {LOC "3.3", "circuit 7", 0, 0},
			{LOC "4.3", "port three", 0, 0}, HEARD("0", "3", "n1")},
		"swp3<n1/02:00:00:00:01:01/eth0 "},
	{"the largest mark wins", {INTERFACES, HEARD("10", "5", "old"), HEARD("20", "5", "new")},
		"Ethernet4<new/02:00:00:00:01:01/eth0 "},
	{"a port nobody knows", {INTERFACES, HEARD("0", "4000", "n1")}, ""},
	{"an index of the wrong length",
		{INTERFACES, {REM "9.1.5", "short", 0, 0}, {REM "9.1.5.1.1", "long", 0, 0},
			HEARD("1", "1", "n1")},
		"Ethernet0<n1/02:00:00:00:01:01/eth0 "},
	{"strings where numbers belong, and the other way",
		{INTERFACES, {REM "4.0.5.1", "four", 0, 0}, {REM "5.0.5.1", NULL, 5, 0},
			{REM "9.0.5.1", "n1", 0, 0}},
		"Ethernet4<n1// "},
	{"a name with a line break and a colour",
		{INTERFACES, {REM "9.0.5.1", "n\n\033[31m1", 0, 0}}, "Ethernet4<n  [31m1// "},
	{"a subtype from nowhere",
		{INTERFACES, {LOC "2.5", NULL, 99, 0}, {LOC "3.5", "x", 0, 0},
			{REM "6.0.5.1", NULL, 4000000000u, 0}, {REM "7.0.5.1", "eth0", 0, 0}},
		"Ethernet4<//eth0 "},
};

static size_t walk(struct snmp_lldp *l, const struct agent *a, size_t repetitions)
{
	struct snmp_varbind v[16 * 32];
	struct snmp_oid ask[16];
	size_t n, requests = 0;
	snmp_lldp_begin(l);
	while ((n = snmp_lldp_next(l, ask, 16)) > 0) {
		snmp_lldp_take(l, v, answer(a, ask, n, repetitions, v));
		if (++requests > 1000)
			fail_msg("the walk does not end");
	}
	return requests;
}

static void test_rows(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		for (size_t repetitions = 1; repetitions <= 25; repetitions += 8) {
			struct snmp_lldp *l = snmp_lldp_new();
			struct arena *arena = arena_new();
			struct agent a;
			struct topology_device self;
			struct topology_neighbor *heard;
			rw_cleanup(str_done) struct str got = {0};
			agent_of(&a, rows[i].objects);
			walk(l, &a, repetitions);
			walk(l, &a, repetitions); /* a second time: nothing of the first is left */
			size_t n = snmp_lldp_result(l, arena, NULL, "leaf1", "", ports,
				rw_countof(ports), &self, &heard);
			str_add(&got, "");
			for (size_t k = 0; k < n; k++)
				str_addf(&got, "%s<%s/%s/%s ", heard[k].port, heard[k].sysname,
					heard[k].chassis, heard[k].port_id);
			if (strcmp(got.s, rows[i].expect) != 0)
				fail_msg("%s, %zu repetitions: got '%s', expected '%s'",
					rows[i].what, repetitions, got.s, rows[i].expect);
			assert_int_equal(self.n_ports, rw_countof(ports));
			arena_free(arena);
			snmp_lldp_free(l);
		}
	}
}

static void test_self(void **state)
{
	static const struct object objects[] = {INTERFACES, {SELF "1.0", NULL, 4, 0},
		{SELF "2.0", "\2\0\0\0\0\377", 0, 6}, {SELF "3.0", "leaf1.example", 0, 0}, {0}};
	struct snmp_lldp *l = snmp_lldp_new();
	struct arena *arena = arena_new();
	struct agent a;
	struct topology_device self;
	struct topology_neighbor *heard;
	agent_of(&a, objects);
	walk(l, &a, 10);
	assert_int_equal(snmp_lldp_result(l, arena, NULL, "leaf1", "", ports, 3, &self, &heard), 0);
	assert_string_equal(self.chassis, "02:00:00:00:00:ff");
	assert_string_equal(self.sysname, "leaf1.example");
	assert_string_equal(self.ports[0].mac, "02:00:00:00:00:01");
	assert_string_equal(self.ports[0].alias, "etp1");
	assert_string_equal(self.ports[2].descr, "port three");
	arena_free(arena);
	snmp_lldp_free(l);
}

/* An agent that takes TimeFilter at its word: the same row again for every mark, without end. */
static void test_time_filter(void **state)
{
	struct snmp_lldp *l = snmp_lldp_new();
	struct snmp_oid ask[16];
	uint32_t arcs[8 * 20][16], mark = 0;
	struct snmp_varbind v[8 * 20];
	size_t n, requests = 0;
	snmp_lldp_begin(l);
	while ((n = snmp_lldp_next(l, ask, 16)) > 0) {
		size_t out = 0;
		bool neighbors =
			ask[0].n > 7 && ask[0].v[0] == 1 && ask[0].v[1] == 0 && ask[0].v[7] == 4;
		for (size_t r = 0; neighbors && r < 20; r++, mark++) {
			for (size_t i = 0; i < n; i++, out++) {
				memcpy(arcs[out], ask[i].v, 11 * sizeof(uint32_t));
				arcs[out][11] = mark;
				arcs[out][12] = 5;
				arcs[out][13] = 1;
				v[out] = (struct snmp_varbind){.oid = {arcs[out], 14},
					.type = SNMP_STRING,
					.bytes = (const uint8_t *)"n1",
					.n_bytes = 2};
			}
		}
		snmp_lldp_take(l, v, out);
		if (++requests > 2000)
			fail_msg("the walk does not end");
	}
	struct arena *arena = arena_new();
	struct topology_device self;
	struct topology_neighbor *heard;
	assert_int_equal(snmp_lldp_result(l, arena, NULL, "leaf1", "", ports, 3, &self, &heard), 1);
	assert_string_equal(heard[0].port, "Ethernet4");
	arena_free(arena);
	snmp_lldp_free(l);
}

static void test_refused(void **state)
{
	struct snmp_lldp *l = snmp_lldp_new();
	struct snmp_oid ask[16];
	size_t n, requests = 0;
	snmp_lldp_begin(l);
	/* SNMPv1: noSuchName for one after the other */
	while ((n = snmp_lldp_next(l, ask, 16)) > 0 && requests++ < 1000)
		snmp_lldp_refuse(l, 0);
	assert_int_equal(n, 0);
	snmp_lldp_begin(l);
	for (requests = 0; snmp_lldp_next(l, ask, 16) > 0; requests++)
		snmp_lldp_skip(l);
	assert_int_equal(requests, 4);
	snmp_lldp_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_self),
		cmocka_unit_test(test_time_filter), cmocka_unit_test(test_refused)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
