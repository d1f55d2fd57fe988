/* snmp_trap: notifications to events, by the standard's rows and by a profile's; what a sender may
 * get wrong. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "collectors/snmp/snmp_trap.h"
#include "config/profile/profile.h"
#include "tests/unit/collectors/snmp/oid_text.h"

#define VARBINDS 6

struct varbind { /* as written in a row: an OID as text, a number, a text, or an OID as value */
	const char *oid;
	uint64_t number;
	const char *text, *object;
};

#define IFINDEX "1.3.6.1.2.1.2.2.1.1."
#define IFADMIN "1.3.6.1.2.1.2.2.1.7."
#define IFOPER "1.3.6.1.2.1.2.2.1.8."
#define IFNAME "1.3.6.1.2.1.31.1.1.1.1."
#define TRAPOID "1.3.6.1.6.3.1.1.4.1.0"
#define LINKDOWN "1.3.6.1.6.3.1.1.5.3"
#define DCB "1.3.6.1.4.1.33049.8.1."

static const struct row {
	const char *what;
	int version;
	const char *enterprise;
	int64_t generic, specific;
	const char *profile; /* NULL = none yet */
	struct varbind v[VARBINDS];
	int rc;
	const char *kind, *port, *text;
} rows[] = {
	{"link down, our name", 2, NULL, 0, 0, NULL,
		{{TRAPOID, .object = LINKDOWN}, {IFINDEX "7", 7}, {IFADMIN "7", 1},
			{IFOPER "7", 2}},
		0, "link_down", "swp7", "linkDown, administratively up, operationally down"},
	{"link up", 2, NULL, 0, 0, NULL,
		{{TRAPOID, .object = "1.3.6.1.6.3.1.1.5.4"}, {IFINDEX "7", 7}}, 0, "link_up",
		"swp7", "linkUp"},
	{"our name wins over the sender's", 2, NULL, 0, 0, NULL,
		{{TRAPOID, .object = LINKDOWN}, {IFINDEX "7", 7}, {IFNAME "7", .text = "etp7"}}, 0,
		"link_down", "swp7", "linkDown"},
	{"the sender's where we have none", 2, NULL, 0, 0, NULL,
		{{TRAPOID, .object = LINKDOWN}, {IFINDEX "9", 9}, {IFNAME "9", .text = "etp\n9 "}},
		0, "link_down", "etp 9", "linkDown"},
	{"no name at all", 2, NULL, 0, 0, NULL, {{TRAPOID, .object = LINKDOWN}, {IFINDEX "9", 9}},
		0, "link_down", "", "linkDown, ifIndex 9, a port whose name is unknown"},
	{"the index from an instance", 2, NULL, 0, 0, NULL,
		{{TRAPOID, .object = LINKDOWN}, {IFOPER "7", 2}}, 0, "link_down", "swp7",
		"linkDown, operationally down"},
	{"no place", 2, NULL, 0, 0, NULL, {{TRAPOID, .object = LINKDOWN}}, 0, "link_down", "",
		"linkDown, without saying which port"},
	{"index with a text in it", 2, NULL, 0, 0, NULL,
		{{TRAPOID, .object = LINKDOWN}, {IFINDEX "7", .text = "x"}}, 0, "link_down", "swp7",
		"linkDown"},
	{"index beyond all", 2, NULL, 0, 0, NULL,
		{{TRAPOID, .object = LINKDOWN}, {IFINDEX "7", UINT64_MAX}}, 0, "link_down", "swp7",
		"linkDown"},
	{"cold start", 3, NULL, 0, 0, NULL, {{TRAPOID, .object = "1.3.6.1.6.3.1.1.5.1"}}, 0,
		"cold_start", "",
		"coldStart: the device or its agent restarted, its configuration may have changed"},
	{"warm start of v1", 1, "1.3.6.1.4.1.8072.3.2.10", 1, 0, NULL, {{0}}, 0, "warm_start", "",
		"warmStart: the device or its agent restarted with the configuration it had"},
	{"link down of v1", 1, "1.3.6.1.4.1.8072.3.2.10", 2, 0, NULL, {{IFINDEX "7", 7}}, 0,
		"link_down", "swp7", "linkDown"},
	{"authentication failure", 2, NULL, 0, 0, NULL,
		{{TRAPOID, .object = "1.3.6.1.6.3.1.1.5.5"}}, -ENOENT, "", "", ""},
	{"a vendor's, before it said what it is", 2, NULL, 0, 0, NULL,
		{{TRAPOID, .object = DCB "0.7"}, {DCB "1.3.1.5.7", 2}}, -ENOENT, "", "", ""},
	{"a vendor's", 2, NULL, 0, 0, "onyx",
		{{TRAPOID, .object = DCB "0.7"}, {DCB "1.3.1.5.7", 2}}, 0, "pfc_state", "swp7",
		"PFC in operation on the port: disabled"},
	{"the same of v1", 1, "1.3.6.1.4.1.33049.8.1", 6, 7, "onyx", {{DCB "1.3.1.5.7", 1}}, 0,
		"pfc_state", "swp7", "PFC in operation on the port: enabled"},
	{"the device's", 2, NULL, 0, 0, "onyx", {{TRAPOID, .object = DCB "0.5"}, {DCB "1.2.0", 2}},
		0, "pfc_state", "", "PFC protocol of the device: disabled"},
	{"a state nobody described", 2, NULL, 0, 0, "onyx",
		{{TRAPOID, .object = DCB "0.7"}, {DCB "1.3.1.5.7", 77}}, 0, "pfc_state", "swp7",
		"PFC in operation on the port"},
	{"another vendor's", 2, NULL, 0, 0, "eos",
		{{TRAPOID, .object = DCB "0.7"}, {DCB "1.3.1.5.7", 2}}, -ENOENT, "", "", ""},
	{"no notification", 2, NULL, 0, 0, NULL, {{IFINDEX "7", 7}}, -EBADMSG, "", "", ""},
	{"a notification that is a number", 2, NULL, 0, 0, NULL, {{TRAPOID, 3}}, -EBADMSG, "", "",
		""},
	{"generic out of range", 1, "1.3.6.1.4.1.1", 7, 0, NULL, {{0}}, -EBADMSG, "", "", ""},
	{"specific out of range", 1, "1.3.6.1.4.1.1", 6, -1, NULL, {{0}}, -EBADMSG, "", "", ""},
	{"specific of nobody", 1, NULL, 6, 1, NULL, {{0}}, -EBADMSG, "", "", ""},
};

static const char *name_of(void *arg, uint32_t ifindex)
{
	return ifindex == 7 ? "swp7" : NULL;
}

static struct snmp_oid oid_of(const char *text, uint32_t *buf)
{
	int n = text ? oid_of_text(text, buf, SNMP_OID_MAX) : 0;
	assert_true(n >= 0);
	return (struct snmp_oid){buf, (size_t)n};
}

static int read_row(
	const struct row *r, const struct profiles *profiles, struct snmp_trap_event *ret)
{
	static uint32_t arcs[2 * VARBINDS + 1][SNMP_OID_MAX];
	struct snmp_varbind v[VARBINDS];
	struct snmp_trap_pdu p = {
		.version = r->version, .generic = r->generic, .specific = r->specific, .v = v};
	p.enterprise = oid_of(r->enterprise, arcs[2 * VARBINDS]);
	for (; p.n < VARBINDS && r->v[p.n].oid; p.n++) {
		const struct varbind *from = &r->v[p.n];
		v[p.n] = (struct snmp_varbind){.oid = oid_of(from->oid, arcs[2 * p.n]),
			.type = SNMP_INTEGER,
			.number = from->number};
		if (from->text)
			v[p.n] = (struct snmp_varbind){.oid = v[p.n].oid,
				.type = SNMP_STRING,
				.bytes = (const uint8_t *)from->text,
				.n_bytes = strlen(from->text)};
		if (from->object)
			v[p.n] = (struct snmp_varbind){.oid = v[p.n].oid,
				.type = SNMP_OBJECT_ID,
				.object = oid_of(from->object, arcs[2 * p.n + 1])};
	}
	struct snmp_trap_sender s = {
		.profile = r->profile ? profiles_get(profiles, r->profile) : NULL,
		.port_name = name_of};
	assert_true(!r->profile || s.profile);
	return snmp_trap_read(&p, &s, ret);
}

static void test_rows(void **state)
{
	struct profiles *profiles;
	struct err_list errors = {0};
	assert_int_equal(profiles_load(NULL, &profiles, &errors), 0);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct snmp_trap_event e;
		int rc = read_row(&rows[i], profiles, &e);
		if (rc != rows[i].rc)
			fail_msg("%s: %d", rows[i].what, rc);
		if (rc == 0 &&
			(strcmp(e.kind, rows[i].kind) != 0 || strcmp(e.port, rows[i].port) != 0 ||
				strcmp(e.text, rows[i].text) != 0))
			fail_msg("%s: '%s' '%s' '%s'", rows[i].what, e.kind, e.port, e.text);
	}
	profiles_free(profiles);
	err_list_done(&errors);
}

/* Parts of an instance beside the port, from a site's own profile. */
static void test_queue(void **state)
{
	static const char text[] =
		"name: mine\ndoc: d\nextends: generic\nsnmp:\n  traps:\n"
		"    - { oid: 1.3.6.1.4.1.99.0.1, kind: pfc_storm, doc: storm, at: "
		"1.3.6.1.4.1.99.1.3, index: [port, kind, queue], evidence: the test }\n";
	static const struct row row = {"a queue", 2, NULL, 0, 0, "mine",
		{{TRAPOID, .object = "1.3.6.1.4.1.99.0.1"}, {"1.3.6.1.4.1.99.1.3.7.1.3", 5}}, 0,
		"pfc_storm", "swp7", "storm, queue 3"};
	struct profiles *profiles;
	struct err_list errors = {0};
	struct snmp_trap_event e;
	if (profiles_parse(text, sizeof(text) - 1, "mine.yaml", &profiles, &errors) != 0)
		fail_msg("%s", errors.v[0].text);
	assert_int_equal(read_row(&row, profiles, &e), 0);
	assert_string_equal(e.kind, row.kind);
	assert_string_equal(e.port, row.port);
	assert_string_equal(e.text, row.text);
	profiles_free(profiles);
	err_list_done(&errors);
}

static void test_profile_mistakes(void **state)
{
	static const struct {
		const char *trap, *says;
	} mistakes[] = {
		{"{ oid: 1.3.6.1.4.1.99.0.1, kind: pfc_storm, doc: storm }", "evidence"},
		{"{ kind: pfc_storm, doc: storm, evidence: e }", "'oid' is missing"},
		{"{ oid: 1.3.6.1.4.1.99.0.1, kind: storm, doc: storm, evidence: e }",
			"one of pfc_storm"},
		{"{ oid: 1.3.6.1.4.1.99.0.1, kind: pfc_storm, doc: storm, evidence: e, index: "
		 "[port] }",
			"instance of 'at'"},
		{"{ oid: 1.3.6.1.4.1.99.0.1, kind: pfc_storm, doc: storm, evidence: e, at: "
		 "1.3.6.1.4.1.99.1, states: { x: y } }",
			"whole number"},
		{"{ oid: 1.3.6.1.4.1.99.0.1, kind: pfc_storm, doc: storm, evidence: e, sates: {} }",
			"did you mean"},
	};
	for (size_t i = 0; i < rw_countof(mistakes); i++) {
		char text[512];
		struct profiles *profiles;
		struct err_list errors = {0};
		snprintf(text, sizeof(text), "name: mine\ndoc: d\nsnmp:\n  traps:\n    - %s\n",
			mistakes[i].trap);
		assert_int_equal(
			profiles_parse(text, strlen(text), "mine.yaml", &profiles, &errors),
			-EINVAL);
		if (!strstr(errors.v[0].text, mistakes[i].says))
			fail_msg("%s: %s", mistakes[i].trap, errors.v[0].text);
		err_list_done(&errors);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_profile_mistakes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
