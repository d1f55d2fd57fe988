/* tune_agent: what a running agent makes of accepted changes: seen by itself when it is in force,
 * told when it does harm, and kept through a restart. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/command/command.h"
#include "agent/document/json_value.h"
#include "agent/modules.h"
#include "agent/daemon/tune_agent.h"
#include "db/open.h"
#include "db/series/series.h"
#include "db/store/store.h"
#include "tests/unit/db/db_world.h"

static const char yaml[] = "fabric: pod-a\n"
			   "defaults: { interval: 1s, slow_interval: 5s }\n"
			   "devices:\n"
			   "  - { name: leaf1, role: leaf }\n"
			   "  - { name: spine1, role: spine }\n"
			   "links:\n"
			   "  - { a: \"leaf1:e49\", b: \"spine1:e1\", speed: 400G }\n"
			   "  - { a: \"leaf1:e1\", b: \"host:n1\", speed: 400G }\n"
			   "  - { a: \"leaf1:e2\", b: \"host:n2\", speed: 400G }\n"
			   "lossless: { priorities: [3] }\n"
			   "jobs: [{ name: train, gpus: 16, hosts: \"*\" }]\n";

struct rig {
	struct db_world world;
	struct config *config;
	struct entities *entities;
	struct store *store;
	struct ledger *incidents;
	struct pipeline *pipeline;
	struct tune_agent *live;
	uint64_t octets, drops, kmin;
	int64_t now; /* s */
	unsigned opened, closed;
};

static void on_incident(void *arg, const struct incident *i, enum incident_state from)
{
	struct rig *r = arg;
	if (i->cause != CAUSE_TUNING_REGRESSION)
		return;
	r->opened += i->state == INCIDENT_OPEN && from != INCIDENT_OPEN;
	r->closed += i->state == INCIDENT_CLOSED && from != INCIDENT_CLOSED;
}

static void begin(struct rig *r)
{
	struct err e = {0};
	struct store_options o = {.path = r->world.path, .replay = true};
	r->entities = entities_new();
	if (db_store_open(&o, r->entities, &r->store, &e) != 0)
		fail_msg("%s", e.text);
	r->incidents = ledger_new(r->config->fabric, on_incident, r);
	r->pipeline = pipeline_new(r->config, r->entities, r->store, r->incidents);
	r->live = tune_agent_new(r->store, r->pipeline, r->incidents, r->config);
	assert_int_equal(tune_agent_resume(r->live, r->world.path, &e), 0);
}

static void end(struct rig *r)
{
	tune_agent_free(r->live);
	pipeline_free(r->pipeline);
	ledger_free(r->incidents);
	store_close(r->store);
	entities_free(r->entities);
}

static int setup(void **state)
{
	struct rig *r = rw_calloc(1, sizeof(*r));
	struct err_list errors = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	world_init(&r->world);
	if (config_parse(yaml, strlen(yaml), "test", CONFIG_CASE, tables, n, &r->config, &errors) !=
		0)
		fail_msg("%s", errors.n ? errors.v[0].text : "configuration");
	r->kmin = 1000000;
	r->octets = r->drops = 1;
	begin(r);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	end(r);
	config_free(r->config);
	world_done(&r->world);
	free(r);
	return 0;
}

/* @seconds of polls in which hosts get @rate, and as many ticks. */
static void pass(struct rig *r, int64_t seconds, double rate)
{
	static const char *const ports[] = {"e1", "e2"};
	for (int64_t until = r->now + seconds; r->now < until; r->now++) {
		r->octets += (uint64_t)rate;
		struct sample v[8];
		size_t n = 0;
		for (size_t k = 0; k < rw_countof(ports); k++) {
			const uint32_t port = entities_intern(
					       r->entities, "leaf1", ports[k], PRIO_NONE),
				       lane = entities_intern(r->entities, "leaf1", ports[k], 3);
			v[n++] = sample_at(SECONDS(r->now), port, M_PORT_OUT_OCTETS, r->octets, 0);
			v[n++] = sample_at(SECONDS(r->now), lane, M_PG_DROPS, r->drops, 0);
			if (r->now % 5 == 0)
				v[n++] = sample_at(
					SECONDS(r->now), lane, M_CFG_ECN_KMIN, r->kmin, 0);
		}
		pipeline_feed(r->pipeline, v, n, NULL, 0);
		tune_agent_tick(r->live, SECONDS(r->now));
	}
}

static char *ask(struct rig *r, json_t *request)
{
	json_t *reply = tune_agent_request(r->live, "ann", request, SECONDS(r->now));
	char *state = rw_strdup(reply ? json_is_true(json_object_get(reply, "ok"))
				? doc_word(reply, "state")
				: doc_word(reply, "error")
				      : "none of ours");
	json_decref(reply);
	json_decref(request);
	return state;
}

static void expect(struct rig *r, json_t *request, const char *expected)
{
	rw_cleanup(freep) char *got = ask(r, request);
	if (!strstr(got, expected))
		fail_msg("read '%s', expected '%s'", got, expected);
}

static json_t *sheet(const struct rig *r)
{
	return json_pack("{s:s, s:s, s:[s,s], s:[], s:i, s:s, s:s, s:s, s:[{s:s, s:f, s:f, s:n, "
			 "s:s}], s:{s:I, s:I, s:I, s:I}}",
		"id", "aaaaaaaa", "device", "leaf1", "ports", "e1", "e2", "rest", "priority", 3,
		"diagnosis", "ecn_late", "advice", "change", "summary", "lower Kmin", "changes",
		"knob", "kmin", "current", 1e6, "proposed", 4e5, "programmed", "unit", "bytes",
		"progress", "made_ns", (json_int_t)SECONDS(r->now), "expires_ns",
		(json_int_t)SECONDS(r->now + 72 * 3600), "from_ns", (json_int_t)SECONDS(0), "to_ns",
		(json_int_t)SECONDS(r->now));
}

static void apply(struct rig *r)
{
	pass(r, 400, 1e9);
	expect(r, json_pack("{s:s, s:o}", "cmd", "tune_propose", "sheet", sheet(r)), "proposed");
	expect(r, json_pack("{s:s, s:s}", "cmd", "tune_accept", "id", "aaaaaaaa"), "accepted");
	r->kmin = 400000;
	pass(r, 12, 1e9);
	expect(r, json_pack("{s:s, s:s}", "cmd", "tune_accept", "id", "aaaaaaaa"),
		"in force already");
}

static void test_harmless(void **state)
{
	struct rig *r = *state;
	apply(r);
	pass(r, 300, 1e9);
	assert_int_equal(r->opened, 0);
	expect(r, json_pack("{s:s, s:s}", "cmd", "status", "id", "aaaaaaaa"), "none of ours");
	expect(r, json_pack("{s:s, s:s}", "cmd", "tune_reject", "id", "zzzzzzzz"), "no such sheet");
}

/* One frame lost is enough; the incident goes when the old values are back. */
static void test_drops(void **state)
{
	struct rig *r = *state;
	struct err e = {0};
	apply(r);
	r->drops += 3;
	pass(r, 12, 1e9);
	assert_int_equal(r->opened, 1);
	pass(r, 30, 1e9);
	assert_int_equal(r->opened, 1);
	r->kmin = 1000000;
	pass(r, 30, 1e9);
	assert_int_equal(r->closed, 1);
	assert_int_equal(store_flush(r->store, &e), 0);
	assert_int_equal(world_int(&r->world,
				 "SELECT count(*) FROM recommendations WHERE state='undone' AND "
				 "json LIKE '%lossless drops on leaf1%'"),
		1);
	/* proposed accepted applied rollback_due undone */
	assert_int_equal(
		world_int(&r->world, "SELECT count(*) FROM events WHERE kind='tuning'"), 5);
	/* to and back, all of it agreed to */
	assert_int_equal(
		world_int(&r->world, "SELECT count(*) FROM events WHERE kind='config_drift'"), 0);
}

static void test_slower(void **state)
{
	struct rig *r = *state;
	apply(r);
	pass(r, 60, 0.9e9);
	assert_int_equal(r->opened, 0); /* twenty blocks have to agree */
	pass(r, 120, 0.9e9);
	assert_int_equal(r->opened, 1);
}

static void test_restart(void **state)
{
	struct rig *r = *state;
	pass(r, 100, 1e9);
	expect(r, json_pack("{s:s, s:o}", "cmd", "tune_propose", "sheet", sheet(r)), "proposed");
	expect(r,
		json_pack("{s:s, s:s, s:s}", "cmd", "tune_accept", "id", "aaaaaaaa", "note",
			"tonight"),
		"accepted");
	end(r);
	begin(r);
	/* known, and as it was */
	expect(r, json_pack("{s:s, s:o}", "cmd", "tune_propose", "sheet", sheet(r)), "accepted");
	r->kmin = 400000;
	pass(r, 12, 1e9);
	expect(r, json_pack("{s:s, s:s}", "cmd", "tune_accept", "id", "aaaaaaaa"),
		"in force already");
}

/* Nobody agreed: it is an event, and the incident that tells of settings. */
static void test_drift(void **state)
{
	struct rig *r = *state;
	struct err e = {0};
	pass(r, 100, 1e9);
	r->kmin = 300000;
	pass(r, 60, 1e9);
	assert_int_equal(store_flush(r->store, &e), 0);
	assert_int_equal(world_int(&r->world,
				 "SELECT count(*) FROM events WHERE kind='config_drift' AND "
				 "device='leaf1' AND text LIKE '%now 300 KB%'"),
		1);
	assert_int_equal(world_int(&r->world,
				 "SELECT count(*) FROM findings WHERE cause='config_drift' AND "
				 "verdict='over'"),
		1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_harmless, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drops, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slower, setup, teardown),
		cmocka_unit_test_setup_teardown(test_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drift, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
