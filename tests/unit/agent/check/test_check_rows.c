/* check: what each check says of the documents it judges. The documents are written here; scope and
 * ranges as a user gives them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "agent/answers/counters/counters_document.h"
#include "agent/answers/pause/pause_document.h"
#include "agent/answers/watch/watch_frame.h"
#include "agent/check/check_source.h"
#include "agent/client/client.h"
#include "config/config.h"
#include "db/model/entity.h"

static const char yaml[] =
	"fabric: pod-a\n"
	"devices:\n  - { name: leaf1, role: leaf }\n  - { name: spine1, role: spine }\n"
	"links:\n  - { a: \"leaf1:swp1\", b: \"host:node-001\" }\n"
	"  - { a: \"leaf1:swp2\", b: \"host:stor-001\" }\n"
	"  - { a: \"leaf1:swp51\", b: \"spine1:swp1\" }\n"
	"lossless: { priorities: [3] }\n"
	"jobs: [ { name: train, gpus: 8, hosts: \"node-*\" } ]\n";
static struct config *config;

static int begin(void **state)
{
	struct err_list errors = {0};
	return config_parse(yaml, strlen(yaml), "test", CONFIG_CASE, NULL, 0, &config, &errors);
}

static int end(void **state)
{
	config_free(config);
	return 0;
}

/* Parts of documents, in JSON. */
#define UP "{'name': 'leaf1', 'status': 'up', 'age_s': 2}"
#define PORT(port, peer, lo, hi)                                                                   \
	"{'device': 'leaf1', 'port': '" port "', 'priority': 3, 'peer': '" peer                    \
	"', 'rx_lo_ratio': " lo ", 'rx_hi_ratio': " hi ", 'tx_lo_ratio': 0, 'tx_hi_ratio': 0}"
#define QUEUE(port, drops, marked, packets)                                                        \
	"{'device': 'leaf1', 'port': '" port "', 'priority': 3, 'lossless': true, 'drops': " drops \
	", 'marked': " marked ", 'packets': " packets "}"
#define LINK(port, errors, flaps)                                                                  \
	"{'device': 'leaf1', 'port': '" port "', 'priority': null, 'errors': " errors              \
	", 'flaps': " flaps "}"
#define INCIDENT(cause, severity)                                                                  \
	"{'id': 'abcdefgh', 'cause': '" cause "', 'severity': '" severity                          \
	"', 'device': 'leaf1', 'port': 'swp1', 'headline': 'node-001 pauses'}"
#define SILENCED                                                                                   \
	"{'id': 'silent01', 'cause': 'pfc_storm', 'severity': 'critical', 'device': 'leaf1', "     \
	"'headline': 'node-001 pauses', 'silenced': 'by ann until 2026-11-22T14:00:00Z: fans'}"
#define ACKED                                                                                      \
	"{'id': 'acked001', 'cause': 'pfc_storm', 'severity': 'warning', 'state': 'acked', "       \
	"'acked_by': 'ann', 'device': 'leaf1', 'headline': 'node-001 pauses', 'silenced': null}"
#define AUDIT(findings, known)                                                                     \
	"'topology/check': {'findings': [" findings "], 'checked': {'links': 3, 'speed': " known   \
	", 'mtu': " known ", 'pfc': " known "}}"
#define COUNTERS(rows) "'counters': {'seconds': 100, 'rows': [" rows "]}"
#define PAUSE(rows) "'pause/ports': {'observable': true, 'ports': [" rows "]}"
#define WATCH(incidents) "'watch': {'incidents': [" incidents "], 'agent': {}}"
/* The signal of marks is over its limit. */
#define ORDER(incidents) "'watch': {'incidents': [" incidents "], 'agent': {}, 'order': true}"
#define QUIET_LINK                                                                                 \
	"{'kind': 'link_undeclared', 'severity': 'warning', 'device': 'leaf1', 'text': 'x'}"

struct row {
	const char *what, *check, *docs;
	struct check_scope scope;
	const char *warn, *crit;
	enum check_state want;
	const char *says; /* in the line */
};

static const struct row rows[] = {
	/* target */
	{"all up", "target", "'status': {'devices': [" UP "]}", {0}, NULL, NULL, CHECK_OK,
		"TARGET OK - 1 of 1 devices up | 'up'=1;;;0;1 'down'=0;;0;0;1"},
	{"one down", "target",
		"'status': {'devices': [" UP
		", {'name': 'spine1', 'status': 'down', 'age_s': 3600, "
		"'reason': 'no route'}]}",
		{0}, NULL, NULL, CHECK_WARNING,
		"TARGET WARNING - 1 down, spine1: no route, and no incident is about it: "
		"analyzers.telemetry found no fault in its windows; 1 of 2 devices up"},
	{"one down that never answered", "target",
		"'status': {'devices': [{'name': 'spine1', 'status': 'down', 'age_s': null, "
		"'reason': 'no route'}]}",
		{0}, NULL, NULL, CHECK_WARNING,
		"spine1: no route, and no incident is about it: no sample of it is stored"},
	{"one down, as an incident says", "target",
		"'status': {'devices': [" UP
		", {'name': 'spine1', 'status': 'down', 'reason': 'no route'}]}, " WATCH(
			INCIDENT("device_down", "critical")),
		{0}, NULL, NULL, CHECK_CRITICAL, "1 of 2 devices up; 1 down, spine1: no route |"},
	{"one down may be", "target",
		"'status': {'devices': [" UP ", {'name': 'spine1', 'status': 'down'}]}", {0}, NULL,
		"1", CHECK_OK, "TARGET OK"},
	{"silent", "target",
		"'status': {'devices': [{'name': 'leaf1', 'status': 'unknown', 'reason': 'silent "
		"for 9s'}]}",
		{0}, NULL, NULL, CHECK_UNKNOWN, "1 unknown, leaf1: silent for 9s"},
	{"none matches", "target", "'status': {'devices': [" UP "]}", {.device = "x*"}, NULL, NULL,
		CHECK_UNKNOWN, "no device matches"},
	{"devices of a job", "target",
		"'status': {'devices': [" UP ", {'name': 'spine1', 'status': 'down'}]}",
		{.job = "train"}, NULL, NULL, CHECK_OK, "1 of 1 devices up"},
	/* freshness */
	{"fresh", "freshness", "'status': {'devices': [" UP "]}", {0}, NULL, NULL, CHECK_OK,
		"FRESHNESS OK - oldest data 2s, leaf1 | 'age'=2.0s;"},
	{"the oldest of two", "freshness",
		"'status': {'devices': [{'name': 'spine1', 'age_s': 9}, " UP "]}", {0}, NULL, NULL,
		CHECK_OK, "FRESHNESS OK - oldest data 9s, spine1 | 'age'=9.0s;"},
	{"late", "freshness", "'status': {'devices': [" UP "]}", {0}, "1", "10", CHECK_WARNING,
		"'age'=2.0s;1;10;0;"},
	{"too old is unknown, not critical", "freshness", "'status': {'devices': [" UP "]}", {0},
		"0.5", "1", CHECK_UNKNOWN, "FRESHNESS UNKNOWN - oldest data"},
	{"never answered", "freshness",
		"'status': {'devices': [" UP ", {'name': 'spine1', 'age_s': null}]}", {0}, NULL,
		NULL, CHECK_UNKNOWN, "1 of 2 devices never answered, one is spine1"},
	/* pfc */
	{"no pause", "pfc", PAUSE(PORT("swp1", "node-001", "0", "0")) ", " WATCH(""), {0}, NULL,
		NULL, CHECK_OK, "PFC OK - no pause at 1 queue | 'pause'=0.0000;0.01;0.05;0;1"},
	{"measured", "pfc", PAUSE(PORT("swp1", "node-001", "0.2", "0.2")) ", " WATCH(""), {0}, NULL,
		NULL, CHECK_OK,
		"leaf1:swp1 p3: node-001 paused us 20.0 % of the time (over its limit, and no "
		"incident is about it: analyzers.pause_storm found no fault in its windows)"},
	{"measured, and another fault is there", "pfc",
		PAUSE(PORT("swp1", "node-001", "0.2", "0.2")) ", " WATCH(
			INCIDENT("link_slow", "warning")),
		{0}, NULL, NULL, CHECK_OK,
		"found no fault in its windows; incident abcdefgh there is link_slow)"},
	{"measured, and silenced", "pfc",
		PAUSE(PORT("swp1", "node-001", "0.2", "0.2")) ", " WATCH(SILENCED), {0}, NULL, NULL,
		CHECK_OK,
		"no incident is about it: incident silent01 at leaf1 is silenced by ann until "
		"2026-11-22T14:00:00Z: fans)"},
	{"measured, against a range", "pfc",
		PAUSE(PORT("swp1", "node-001", "0.2", "0.2")) ", " WATCH(""), {0}, "1%", "5%",
		CHECK_CRITICAL, "PFC CRITICAL - leaf1:swp1 p3: node-001 paused us 20.0 % of"},
	{"measured, and an information is about it", "pfc",
		PAUSE(PORT("swp1", "node-001", "0.2", "0.2")) ", " WATCH(
			INCIDENT("oversubscription", "info")),
		{0}, NULL, NULL, CHECK_OK,
		"PFC OK - incident abcdefgh: node-001 pauses; leaf1:swp1 p3: node-001 paused us "
		"20.0 % of the time |"},
	{"a bound alone warns", "pfc", PAUSE(PORT("swp1", "node-001", "0", "0.9")) ", " WATCH(""),
		{0}, "1%", "5%", CHECK_WARNING, "<= 90.0 % of the time (from frames)"},
	{"a bound that is high at its low end", "pfc",
		PAUSE(PORT("swp1", "node-001", "0.3", "0.9")) ", " WATCH(""), {0}, "1%", "5%",
		CHECK_CRITICAL, "PFC CRITICAL"},
	{"the user's range", "pfc",
		PAUSE(PORT("swp1", "node-001", "0.2", "0.2")) ", " WATCH(
			INCIDENT("pfc_storm", "critical")),
		{0}, "30%", "50%", CHECK_OK, "'pause'=0.2000;0.3;0.5;0;1"},
	{"not counted", "pfc", PAUSE(PORT("swp1", "node-001", "null", "null")) ", " WATCH(""), {0},
		NULL, NULL, CHECK_UNKNOWN, "pause is not known for 1 of 1 queues"},
	{"nothing counted at all", "pfc", PAUSE("") ", " WATCH(""), {0}, NULL, NULL, CHECK_UNKNOWN,
		"'pause'=U;"},
	{"an incident", "pfc",
		PAUSE(PORT("swp1", "node-001", "0", "0")) ", " WATCH(
			INCIDENT("pfc_storm", "critical")),
		{0}, NULL, NULL, CHECK_CRITICAL,
		"PFC CRITICAL - incident abcdefgh: node-001 pauses; no pause at 1 queue"},
	{"another's incident", "pfc",
		PAUSE(PORT("swp1", "node-001", "0", "0")) ", " WATCH(
			INCIDENT("link_slow", "critical")),
		{0}, NULL, NULL, CHECK_OK, "PFC OK"},
	{"only hosts of the job", "pfc",
		PAUSE(PORT("swp1", "node-001", "0", "0") ", " PORT(
			"swp2", "stor-001", "0.9", "0.9")) ", " WATCH(""),
		{.job = "train"}, NULL, NULL, CHECK_OK, "no pause at 1 queue"},
	/* ecn */
	{"marks before pause", "ecn",
		COUNTERS(QUEUE("swp1", "0", "10", "1000")) ", " PAUSE(
			PORT("swp1", "node-001", "0.2", "0.2")) ", " WATCH(""),
		{0}, NULL, NULL, CHECK_OK, "ECN OK - CE 1.00 % at leaf1:swp1"},
	{"pause without marks", "ecn",
		COUNTERS(QUEUE("swp1", "0", "0", "1000")) ", " PAUSE("") ", " ORDER(""), {0}, NULL,
		NULL, CHECK_OK,
		"ECN OK - no marks at 1 queue; PFC fires and no queue marks: thresholds in the "
		"wrong order, or ECN is off (over its limit, and no incident"},
	{"pause without marks, and an incident", "ecn",
		COUNTERS(QUEUE("swp1", "0", "0", "1000")) ", " PAUSE("") ", " ORDER(
			INCIDENT("ecn_off", "warning")),
		{0}, NULL, NULL, CHECK_WARNING,
		"ECN WARNING - incident abcdefgh: node-001 pauses; no marks at 1 queue; PFC fires"},
	{"pause without marks, which a host makes", "ecn",
		COUNTERS(QUEUE("swp1", "0", "0", "1000")) ", " PAUSE(
			PORT("swp1", "node-001", "1", "1")) ", " WATCH(""),
		{0}, NULL, NULL, CHECK_OK, "ECN OK - no marks at 1 queue |"},
	{"marks everything", "ecn",
		COUNTERS(QUEUE("swp1", "0", "900", "1000")) ", " PAUSE("") ", " WATCH(""), {0},
		NULL, NULL, CHECK_OK, "'ce_ratio'=0.9000;0.2;;0;1"},
	{"marks more than the range", "ecn",
		COUNTERS(QUEUE("swp1", "0", "900", "1000")) ", " PAUSE("") ", " WATCH(""), {0},
		"20%", NULL, CHECK_WARNING, "'ce_ratio'=0.9000;0.2;;0;1"},
	{"idle", "ecn", COUNTERS(QUEUE("swp1", "0", "0", "0")) ", " PAUSE("") ", " WATCH(""), {0},
		NULL, NULL, CHECK_OK, "ECN OK - idle, 0 packets at 1 queue"},
	{"marks are not counted", "ecn",
		COUNTERS(QUEUE("swp1", "0", "null", "1000")) ", " PAUSE("") ", " WATCH(""), {0},
		NULL, NULL, CHECK_UNKNOWN, "'marked'=U;;;0;"},
	/* drops */
	{"none", "drops", COUNTERS(QUEUE("swp1", "0", "0", "1")) ", " WATCH(""), {0}, NULL, NULL,
		CHECK_OK, "DROPS OK - no drops at 1 lossless queue"},
	{"some", "drops",
		COUNTERS(QUEUE("swp1", "2", "0", "1") ", " QUEUE(
			"swp51", "5", "0", "1")) ", " WATCH(""),
		{0}, NULL, NULL, CHECK_OK,
		"7 frames dropped in 100 s, most at leaf1:swp51 p3: 5 (over its limit, and no "
		"incident is about it: analyzers.lossless_loss found no fault in its windows) | "
		"'drops'=7;;0;0;"},
	{"some, as an incident says", "drops",
		COUNTERS(QUEUE("swp1", "2", "0", "1")) ", " WATCH(
			INCIDENT("lossless_loss", "critical")),
		{0}, NULL, NULL, CHECK_CRITICAL,
		"DROPS CRITICAL - incident abcdefgh: node-001 pauses; 2 frames dropped in 100 s"},
	{"a range", "drops", COUNTERS(QUEUE("swp1", "2", "0", "1")) ", " WATCH(""), {0}, "1", "10",
		CHECK_WARNING, "'drops'=2;1;10;0;"},
	{"another port", "drops",
		COUNTERS(QUEUE("swp1", "2", "0", "1") ", " QUEUE(
			"swp51", "0", "0", "1")) ", " WATCH(""),
		{.port = "swp5*"}, NULL, NULL, CHECK_OK, "no drops at 1 lossless queue"},
	{"another priority", "drops", COUNTERS(QUEUE("swp1", "2", "0", "1")) ", " WATCH(""),
		{.priority = "4"}, NULL, NULL, CHECK_UNKNOWN, "not counted by any of 0"},
	{"drops are not counted", "drops", COUNTERS(QUEUE("swp1", "null", "0", "1")) ", " WATCH(""),
		{0}, NULL, NULL, CHECK_UNKNOWN, "'drops'=U;"},
	/* links */
	{"clean", "links",
		COUNTERS(LINK("swp1", "0", "0")) ", " AUDIT(QUIET_LINK, "3") ", " WATCH(""), {0},
		NULL, NULL, CHECK_OK, "LINKS OK - 1 ports up at their speed, no errors"},
	{"damaged", "links", COUNTERS(LINK("swp1", "500", "0")) ", " AUDIT("", "3") ", " WATCH(""),
		{0}, NULL, NULL, CHECK_OK, "leaf1:swp1 5 errors/s (over its limit, and no"},
	{"damaged by thousands", "links",
		COUNTERS(LINK("swp1", "162000", "0")) ", " AUDIT("", "3") ", " WATCH(""), {0}, NULL,
		NULL, CHECK_OK, "leaf1:swp1 1.62k errors/s (over its limit, and no"},
	{"the worst of two is told", "links",
		COUNTERS(LINK("swp1", "500", "0") ", " LINK("swp2", "200", "0")) ", " AUDIT(
			"", "3") ", " WATCH(""),
		{0}, NULL, NULL, CHECK_OK, "leaf1:swp1 5 errors/s (over its limit, and no"},
	{"damaged, as an incident says", "links",
		COUNTERS(LINK("swp1", "500", "0")) ", " AUDIT("", "3") ", " WATCH(
			INCIDENT("link_errors", "warning")),
		{0}, NULL, NULL, CHECK_WARNING,
		"LINKS WARNING - incident abcdefgh: node-001 pauses; leaf1:swp1 5 errors/s |"},
	{"flaps", "links", COUNTERS(LINK("swp1", "0", "2")) ", " AUDIT("", "3") ", " WATCH(""), {0},
		NULL, NULL, CHECK_OK, "'flaps'=2;"},
	{"slow", "links",
		COUNTERS(LINK("swp1", "0", "null")) ", " AUDIT(
			"{'kind': 'speed_mismatch', 'severity': 'critical', 'device': 'leaf1', "
			"'port': 'swp51', 'text': '100G here, 400G at the other end'}",
			"3") ", " WATCH(""),
		{0}, NULL, NULL, CHECK_CRITICAL,
		"LINKS CRITICAL - leaf1:swp51 100G here, 400G at the other end (no incident: "
		"settings are compared, no harm is measured)"},
	{"errors are not counted", "links",
		COUNTERS(LINK("swp1", "null", "null")) ", " AUDIT("", "3") ", " WATCH(""), {0},
		NULL, NULL, CHECK_UNKNOWN, "'errors_per_s'=U;"},
	/* mtu */
	{"one MTU", "mtu", AUDIT("", "3") ", " WATCH(""), {0}, NULL, NULL, CHECK_OK,
		"MTU OK - 3 links have one MTU at both ends | 'mismatches'=0;;;0; "
		"'links_known'=3;;;0;3"},
	{"two", "mtu",
		AUDIT("{'kind': 'mtu_mismatch', 'severity': 'critical', 'device': 'leaf1', 'port': "
		      "'swp51', 'text': 'MTU 9216 here, 1500 there'}",
			"3") ", " WATCH(""),
		{0}, NULL, NULL, CHECK_CRITICAL, "leaf1:swp51 MTU 9216 here, 1500 there"},
	{"two, as an incident says", "mtu",
		AUDIT("{'kind': 'mtu_mismatch', 'severity': 'critical', 'device': 'leaf1', 'port': "
		      "'swp51', 'text': 'MTU 9216 here, 1500 there'}",
			"3") ", " WATCH(INCIDENT("mtu_mismatch", "warning")),
		{0}, NULL, NULL, CHECK_WARNING,
		"MTU WARNING - incident abcdefgh: node-001 pauses; leaf1:swp51 MTU 9216 here, 1500 "
		"there |"},
	{"no MTU is known", "mtu", AUDIT("", "0") ", " WATCH(""), {0}, NULL, NULL, CHECK_UNKNOWN,
		"of no link"},
	/* config */
	{"agrees", "config", AUDIT("", "3") ", " WATCH(""), {0}, NULL, NULL, CHECK_OK, "CONFIG OK"},
	{"drift", "config", AUDIT("", "3") ", " WATCH(INCIDENT("config_drift", "info")), {0}, NULL,
		NULL, CHECK_OK, "1 open incident of settings"},
	/* fabric: its own part; the parts of other checks have their rows above */
	{"an open incident", "fabric",
		"'watch': {'incidents': [" INCIDENT("pfc_storm", "critical") "], 'money': {}}", {0},
		NULL, NULL, CHECK_CRITICAL,
		"FABRIC CRITICAL - 1 incident is open: node-001 pauses | 'incidents'=1;"},
	{"a silenced incident", "fabric", WATCH(SILENCED), {0}, NULL, NULL, CHECK_OK,
		"FABRIC OK - no incident is open; 1 silenced | 'incidents'=0;;;0; "},
	{"an acknowledged incident", "fabric", WATCH(ACKED), {0}, NULL, NULL, CHECK_WARNING,
		"FABRIC WARNING - 1 incident is open: node-001 pauses | 'incidents'=1;"},
	{"silenced and acknowledged", "fabric", WATCH(SILENCED ", " ACKED), {0}, NULL, NULL,
		CHECK_WARNING, "1 incident is open: node-001 pauses; 1 silenced | 'incidents'=1;"},
	{"silenced, of one kind", "pfc",
		PAUSE(PORT("swp1", "node-001", "0", "0")) ", " WATCH(SILENCED), {0}, NULL, NULL,
		CHECK_OK, "PFC OK - 1 silenced; no pause at 1 queue"},
	{"a refused reload", "config",
		AUDIT("", "3") ", 'watch': {'incidents': [], 'agent': {'reload_refused': {'text': "
			       "'1 mistake'}}}",
		{0}, NULL, NULL, CHECK_WARNING,
		"an older configuration, which is no incident: 1 mistake"},
};

static json_t *docs_of(const char *text)
{
	rw_cleanup(str_done) struct str json = {0};
	str_addf(&json, "{%s}", text);
	for (size_t i = 0; i < json.n; i++)
		if (json.s[i] == '\'')
			json.s[i] = '"';
	json_t *docs = json_loads(json.s, 0, NULL);
	if (!docs)
		fail_msg("no JSON: %s", json.s);
	return docs;
}

/* ---- the answers of a row, from its JSON --------------------------------------------- */

static const char *text_in(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static struct status_device device_in(const json_t *row)
{
	const char *status = text_in(row, "status");
	struct status_device device = {.name = text_in(row, "name"),
		.status = status,
		.reason = text_in(row, "reason"),
		.age_s = NAN};
	if (str_eq(status, "up"))
		device.up = MAYBE_YES;
	if (str_eq(status, "down"))
		device.up = MAYBE_NO;
	if (json_is_number(json_object_get(row, "age_s")))
		device.age_s = json_number_value(json_object_get(row, "age_s"));
	return device;
}

static struct open_incident incident_in(const json_t *row)
{
	return (struct open_incident){.id = text_in(row, "id"),
		.cause = text_in(row, "cause"),
		.severity = text_in(row, "severity"),
		.device = text_in(row, "device"),
		.port = text_in(row, "port"),
		.headline = text_in(row, "headline"),
		.silenced = text_in(row, "silenced"),
		.acked_by = text_in(row, "acked_by"),
		.priority = COUNT_UNKNOWN};
}

static const struct status_answer *status_in(const json_t *doc, struct arena *a)
{
	const json_t *list = json_object_get(doc, "devices");
	struct status_answer *status = arena_new_of(a, struct status_answer);
	status->n_devices = json_array_size(list);
	status->devices = arena_array(a, struct status_device, status->n_devices);
	for (size_t i = 0; i < status->n_devices; i++)
		status->devices[i] = device_in(json_array_get(list, i));
	return status;
}

static struct watch_answer *watch_in(const json_t *doc, struct arena *a)
{
	const json_t *list = json_object_get(doc, "incidents");
	const json_t *refused = json_object_get(json_object_get(doc, "agent"), "reload_refused");
	struct watch_answer *watch = arena_new_of(a, struct watch_answer);
	watch->status.agent.has_data = true;
	watch->status.agent.data_time.ns = 3600 * NS_PER_S;
	watch->signals = arena_array(a, struct watch_signal, GOLDEN_COUNT);
	watch->n_signals = GOLDEN_COUNT;
	for (size_t i = 0; i < GOLDEN_COUNT; i++)
		watch->signals[i] = (struct watch_signal){.state = GOLDEN_OK};
	watch->signals[GOLDEN_ECN_MARKS].over = json_is_true(json_object_get(doc, "order"));
	watch->n_incidents = json_array_size(list);
	watch->incidents = arena_array(a, struct open_incident, watch->n_incidents);
	for (size_t i = 0; i < watch->n_incidents; i++)
		watch->incidents[i] = incident_in(json_array_get(list, i));
	if (!refused)
		return watch;
	watch->status.agent.reload_refused = arena_new_of(a, struct agent_refused);
	watch->status.agent.reload_refused->text = text_in(refused, "text");
	return watch;
}

static double number_in(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

static struct counters_answer *counters_in(const json_t *doc, struct arena *a)
{
	const json_t *list = json_object_get(doc, "rows");
	struct counters_answer *answer = arena_new_of(a, struct counters_answer);
	answer->seconds = number_in(doc, "seconds");
	answer->n_rows = json_array_size(list);
	answer->rows = arena_array(a, struct counters_row, answer->n_rows + 1);
	for (size_t i = 0; i < answer->n_rows; i++) {
		const json_t *row = json_array_get(list, i);
		const json_t *priority = json_object_get(row, "priority");
		answer->rows[i] = (struct counters_row){.device = text_in(row, "device"),
			.port = text_in(row, "port"),
			.host = text_in(row, "host"),
			.job = text_in(row, "job"),
			.priority = json_is_integer(priority) ? (int)json_integer_value(priority)
							      : PRIO_NONE,
			.lossless = maybe_of(json_is_true(json_object_get(row, "lossless"))),
			.grew = {number_in(row, "drops"), number_in(row, "errors"),
				number_in(row, "flaps"), number_in(row, "marked"),
				number_in(row, "packets"), number_in(row, "octets")}};
	}
	return answer;
}

static struct pause_ports_answer *pause_in(const json_t *doc, struct arena *a)
{
	const json_t *list = json_object_get(doc, "ports");
	struct pause_ports_answer *answer = arena_new_of(a, struct pause_ports_answer);
	answer->n_ports = json_array_size(list);
	answer->ports = arena_array(a, struct pause_pair, answer->n_ports + 1);
	for (size_t i = 0; i < answer->n_ports; i++) {
		const json_t *row = json_array_get(list, i);
		answer->ports[i] = (struct pause_pair){.device = text_in(row, "device"),
			.port = text_in(row, "port"),
			.peer = text_in(row, "peer"),
			.priority = (int)json_integer_value(json_object_get(row, "priority")),
			.rx_lo_ratio = number_in(row, "rx_lo_ratio"),
			.rx_hi_ratio = number_in(row, "rx_hi_ratio"),
			.tx_lo_ratio = number_in(row, "tx_lo_ratio"),
			.tx_hi_ratio = number_in(row, "tx_hi_ratio")};
	}
	return answer;
}

static void give_answers(struct check_source *source, const char *docs)
{
	json_decref(source->docs);
	source->docs = docs_of(docs);
	const struct status_answer *status =
		status_in(json_object_get(source->docs, "status"), source->arena);
	source->counters = counters_in(json_object_get(source->docs, "counters"), source->arena);
	source->pause = pause_in(json_object_get(source->docs, "pause/ports"), source->arena);
	source->watch = watch_in(json_object_get(source->docs, "watch"), source->arena);
	source->watch->status.devices = status->devices;
	source->watch->status.n_devices = status->n_devices;
	source->measured = true;
}

static char *printed(const struct check *check, const struct check_line *line)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	check_print(out, check, line);
	fclose(out);
	return text;
}

static void each_row(void **state)
{
	struct client client = {.config = config, .agent = STORE_REPLAY};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct row *row = &rows[i];
		const struct check *check = check_by_name(row->check);
		struct check_ranges given = {0};
		struct check_source source;
		struct check_line line = {0};
		struct err e = {0};
		if (row->warn)
			assert_int_equal(check_range_parse(row->warn, &given.warn, &e), 0);
		if (row->crit)
			assert_int_equal(check_range_parse(row->crit, &given.crit, &e), 0);
		check_source_init(&source, &client, &row->scope, &given, false);
		give_answers(&source, row->docs);
		if (check->run(&source, &line, &e) < 0)
			fail_msg("%s %s: %s", row->check, row->what, e.text);
		rw_cleanup(freep) char *text = printed(check, &line);
		if (line.state != row->want || !strstr(text, row->says))
			fail_msg("%s, %s: %s\nexpected %s", row->check, row->what, text, row->says);
		check_line_done(&line);
		check_source_done(&source);
	}
}

/* Every check is in a row above, or is put together from others, or judges a report. */
static void every_check_has_rows(void **state)
{
	for (size_t c = 0; checks[c]; c++) {
		size_t n = checks[c]->parts != NULL || checks[c]->report != NULL;
		for (size_t i = 0; i < rw_countof(rows); i++)
			n += str_eq(rows[i].check, checks[c]->name);
		if (n == 0)
			fail_msg("check %s has no row in this test", checks[c]->name);
		for (size_t p = 0; checks[c]->parts && checks[c]->parts[p]; p++)
			assert_non_null(check_by_name(checks[c]->parts[p]));
	}
}

/* What is worst stands first, and nothing is worse than it is. */
static void sentences(void **state)
{
	struct check_line line = {0};
	check_say(&line, CHECK_OK, "a");
	check_say(&line, CHECK_UNKNOWN, "b");
	check_say(&line, CHECK_CRITICAL, "c");
	check_say(&line, CHECK_WARNING, "d|\n");
	assert_string_equal(line.text.s, "c; b; a; d/ ");
	assert_int_equal(line.state, CHECK_CRITICAL);
	check_line_value(&line, "noise", -1.68e-13, 4, NULL, NAN);
	check_line_unit(&line, "age", 74, "s", 0, NULL, NAN);
	assert_string_equal(line.perfdata.s, "'noise'=0.0000;;;0; 'age'=74s;;;0;");
	check_line_done(&line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row),
		cmocka_unit_test(every_check_has_rows),
		cmocka_unit_test(sentences),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
