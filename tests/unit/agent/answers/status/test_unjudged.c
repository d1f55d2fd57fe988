/* unjudged: the first reason that holds for which no incident is about something bad. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/answers/status/status.h"
#include "agent/answers/status/unjudged.h"
#include "agent/answers/status/verdict.h"
#include "agent/client/client.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/store/store.h"

#define NOW_S 1700000000LL /* 2023-11-14 22:13:20Z */

#define STORM_AT(where, silence)                                                                   \
	{                                                                                          \
		.id = "storm", .cause = "pfc_storm", .severity = "critical", .device = "leaf2",    \
		.port = where, .silenced = silence                                                 \
	}
#define FLAPS_AT(where)                                                                            \
	{                                                                                          \
		.id = "flaps", .cause = "link_flap", .severity = "warning", .device = "leaf2",     \
		.port = where                                                                      \
	}

static const enum cause pauses[] = {CAUSE_PFC_STORM, CAUSE_NONE};
static const enum cause gaps[] = {CAUSE_TELEMETRY_GAP, CAUSE_NONE};

static const struct row {
	const char *what;
	struct open_incident incident;
	const enum cause *causes;
	const char *device, *port;
	double lasted_s;
	bool never_answered, is_capture;
	int64_t data_s; /* that the database holds; 0: none is looked at */
	const char *closed; /* port of a storm that ended a minute before the newest sample */
	const char *says;
} rows[] = {
	{"silenced before all else", STORM_AT("swp1", "by ann"), pauses, "leaf2", "swp1",
		.data_s = 600, .closed = "swp1",
		.says = "incident storm at leaf2:swp1 is silenced by ann"},
	{"one of its kind elsewhere", STORM_AT("swp9", NULL), pauses, "leaf2", "swp1",
		.data_s = 600, .closed = "swp1",
		.says = "incident storm at leaf2:swp9 is of this kind"},
	{"one that ended here", FLAPS_AT("swp1"), pauses, "leaf2", "swp1", .data_s = 600,
		.closed = "swp1",
		.says = "incident ended at leaf2:swp1 ended 2023-11-14 22:12:20Z"},
	{"one that ended at another place", {0}, pauses, "leaf3", "swp1", .data_s = 600,
		.closed = "swp7",
		.says = "incident ended at leaf2:swp7 ended 2023-11-14 22:12:20Z"},
	{"a capture", {0}, gaps, "mirror", NULL, .data_s = 600, .is_capture = true,
		.says = "no analyzer judges a capture"},
	{"nothing is stored of it", {0}, gaps, "leaf9", NULL, .data_s = 600, .never_answered = true,
		.says = "no sample of it is stored"},
	{"it has lasted too short", {0}, pauses, "leaf2", "swp1", .lasted_s = 20, .data_s = 600,
		.says = "it is younger than that: analyzers.pause_storm asks for 4 windows of 30s"},
	{"it has lasted long enough", {0}, pauses, "leaf2", "swp1", .lasted_s = 120, .data_s = 600,
		.says = "analyzers.pause_storm found no fault in its windows"},
	{"there is not enough data", {0}, pauses, "leaf2", "swp1", .data_s = 60,
		.says = "the data is younger than that: analyzers.pause_storm asks for 4 windows "
			"of 30s"},
	{"another fault there", FLAPS_AT("swp1"), pauses, "leaf2", "swp1", .data_s = 600,
		.says = "analyzers.pause_storm found no fault in its windows; incident flaps there "
			"is "
			"link_flap"},
	{"another fault at another port", FLAPS_AT("swp2"), pauses, "leaf2", "swp1", .data_s = 600,
		.says = "analyzers.pause_storm found no fault in its windows"},
	{"another fault of its whole switch", FLAPS_AT(NULL), pauses, "leaf2", "swp1",
		.data_s = 600,
		.says = "analyzers.pause_storm found no fault in its windows; incident flaps there "
			"is "
			"link_flap"},
	{"no database", {0}, pauses, "leaf2", "swp1", .lasted_s = 1,
		.says = "analyzers.pause_storm found no fault in its windows"},
};

static void store_ended(struct store *store, const char *port)
{
	const int64_t ended_ns = (NOW_S - 60) * NS_PER_S;
	store_incident(store,
		&(struct store_incident){.id = "ended",
			.cause = "pfc_storm",
			.severity = "critical",
			.state = "closed",
			.device = "leaf2",
			.port = port,
			.summary = "over",
			.json = "{}",
			.priority = -1,
			.opened_ns = ended_ns - 60 * NS_PER_S,
			.closed_ns = ended_ns,
			.updated_ns = ended_ns,
			.usd_per_hour = NAN,
			.usd_total = NAN,
			.confidence = 0.5});
}

/* A replay's database with samples of @row->data_s, one each ten seconds. */
static void store_row(const struct row *row, const char *path)
{
	struct err e = {0};
	struct store *store;
	struct entities *entities = entities_new();
	const struct store_options options = {.path = path, .replay = true};
	if (db_store_open(&options, entities, &store, &e) < 0)
		fail_msg("%s", e.text);
	store_fabric(store, 0,
		"fabric: pod\ndevices:\n  - { name: leaf2, role: leaf }\n"
		"analyzers: { pause_storm: { window: 30s, hold: 4 } }\n");
	for (int64_t t_s = NOW_S - row->data_s; t_s <= NOW_S; t_s += 10) {
		const struct sample s = {.t_ns = t_s * NS_PER_S,
			.value = 7,
			.entity = entities_intern(entities, "leaf2", "swp1", PRIO_NONE),
			.metric = M_PORT_OUT_OCTETS,
			.source = SOURCE_REPLAY};
		store_samples(store, &s, 1);
	}
	if (row->closed)
		store_ended(store, row->closed);
	if (store_flush(store, &e) < 0)
		fail_msg("%s", e.text);
	store_close(store);
	entities_free(entities);
}

static void expect(const struct row *row, const struct client *client)
{
	rw_cleanup(str_done) struct str said = {0}, want = {0};
	const struct unjudged what = {.client = client,
		.incidents = &row->incident,
		.n_incidents = row->incident.id != NULL,
		.causes = row->causes,
		.device = row->device,
		.port = row->port,
		.lasted_s = row->lasted_s,
		.never_answered = row->never_answered,
		.is_capture = row->is_capture};
	unjudged_say(&what, &said);
	str_addf(&want, "no incident is about it: %s", row->says);
	if (!str_eq(said.s, want.s))
		fail_msg("%s: '%s', not '%s'", row->what, said.s, want.s);
}

static void test_reasons(void **state)
{
	char dir[] = "/tmp/rw-unjudged-XXXXXX";
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < rw_countof(rows); i++) {
		char path[64];
		struct client client;
		struct err e = {0};
		if (rows[i].data_s == 0) {
			expect(&rows[i], NULL);
			continue;
		}
		snprintf(path, sizeof(path), "%s/%zu.db", dir, i);
		store_row(&rows[i], path);
		const struct globals g = {.config_path = "/nonexistent/rocewatch.yaml", .db = path};
		if (client_open(&client, &g, 900 * NS_PER_S, &e) < 0)
			fail_msg("%s: %s", rows[i].what, e.text);
		expect(&rows[i], &client);
		client_done(&client);
	}
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

/* Of a device: how long it has been silent counts, and whether it ever said anything. */
static void test_device(void **state)
{
	const struct status_device silent = {.name = "leaf2", .age_s = 40},
				   never = {.name = "leaf3", .age_s = NAN};
	struct unjudged what = unjudged_device(NULL, &silent, NULL, 0);
	assert_string_equal(what.device, "leaf2");
	assert_false(what.never_answered);
	assert_true(what.lasted_s == 40);
	what = unjudged_device(NULL, &never, NULL, 0);
	assert_true(what.never_answered);
	assert_true(what.lasted_s == 0);
}

static void test_over(void **state)
{
	rw_cleanup(str_done) struct str said = {0};
	const struct unjudged what = {.causes = pauses};
	unjudged_over(&what, &said);
	assert_string_equal(said.s,
		"over its limit, and no incident is about it: analyzers.pause_storm found no fault "
		"in its windows");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_device), cmocka_unit_test(test_over)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
