/* watch_past - baselines, jobs and money of the frame, from a made database: an hour of a quiet
 * fabric, then ten minutes of a fault with an open incident. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/answers/doctor/doctor.h"
#include "agent/answers/watch/watch_frame.h"
#include "agent/answers/watch/watch_past.h"
#include "config/config.h"
#include "db/model/golden.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/store/store.h"

#define START_S 1700000000LL
enum { QUIET_MIN = 60, FAULT_MIN = 10, END_MIN = QUIET_MIN + FAULT_MIN };
/* An incident from the begin on that showed in discards, and was closed. */
enum { PAST_END_MIN = 40 };

static char dir[] = "/tmp/rw-past-XXXXXX", db[64];

static const char yaml[] = "fabric: pod\n"
			   "devices:\n  - { name: leaf1, role: leaf }\n"
			   "lossless: { priorities: [3] }\n"
			   "jobs:\n  - { name: slow, gpus: 8, hosts: \"a*\", step: 400ms }\n"
			   "  - { name: ended, gpus: 8, hosts: \"b*\" }\n"
			   "  - { name: never, gpus: 8, hosts: \"c*\" }\n"
			   "  - { name: crawls, gpus: 8, hosts: \"d*\" }\n"
			   "cost: { usd_per_gpu_hour: 30 }\n";

static void keep(struct store *s, struct entities *t, const char *port, int minute, double value)
{
	const struct sample x = {.t_ns = (START_S + minute * 60) * NS_PER_S,
		.value = sample_of_f64(value),
		.entity = entities_intern(t, ENTITY_SIGNALS, port, PRIO_NONE),
		.metric = M_AGENT_SIGNAL,
		.source = SOURCE_AGENT};
	store_samples(s, &x, 1);
}

static void keep_job(
	struct store *s, struct entities *t, const char *job, int minute, double rate, double level)
{
	char port[GOLDEN_PORT_MAX];
	keep(s, t, golden_job_port(port, job, GOLDEN_JOB_RATE), minute, rate);
	keep(s, t, golden_job_port(port, job, GOLDEN_JOB_LEVEL), minute, level);
}

static void keep_incident(
	struct store *s, const char *id, const char *severity, double usd, const char *json)
{
	const struct store_incident incident = {.id = id,
		.cause = "slow_receiver",
		.severity = severity,
		.state = "open",
		.device = "leaf1",
		.port = "p1",
		.host = "a1",
		.summary = "a1 pauses its switch",
		.json = json,
		.priority = 3,
		.usd_per_hour = usd,
		.usd_total = usd / 10,
		.confidence = 0.9,
		.opened_ns = (START_S + (QUIET_MIN + 1) * 60) * NS_PER_S,
		.updated_ns = 1};
	store_incident(s, &incident);
}

static void keep_closed(struct store *s)
{
	const struct store_incident incident = {.id = "cccccccc",
		.cause = "class_leak",
		.severity = "info",
		.state = "closed",
		.device = "leaf1",
		.summary = "bytes in the wrong class",
		.json = "{}",
		.priority = PRIO_NONE,
		.opened_ns = START_S * NS_PER_S,
		.closed_ns = (START_S + PAST_END_MIN * 60) * NS_PER_S,
		.updated_ns = 1};
	store_incident(s, &incident);
}

static int begin(void **state)
{
	struct entities *t = entities_new();
	struct store *s = NULL;
	struct err e = {0};
	char json[256], onset[WALL_TEXT_MAX], port[GOLDEN_PORT_MAX];
	if (!mkdtemp(dir))
		return -1;
	snprintf(db, sizeof(db), "%s/x.db", dir);
	const struct store_options o = {.path = db, .replay = true};
	if (db_store_open(&o, t, &s, &e) < 0)
		return -1;
	store_fabric(s, 0, yaml);
	for (int minute = 0; minute < END_MIN; minute++) {
		const bool fault = minute >= QUIET_MIN;
		keep(s, t, "pause_time", minute, fault ? 0.5 : 0.001 * (minute % 3));
		if (minute >= QUIET_MIN - 5)
			keep(s, t, "ecn_marks", minute, fault ? 7e5 : 100);
		keep(s, t, "discards", minute, minute < PAST_END_MIN + 5 ? 9e3 : 2);
		keep_job(s, t, "slow", minute, fault ? 8e9 : 1e10, fault ? 8e9 : 1e10);
		/* what still passes in a storm is its level of now */
		keep_job(s, t, "crawls", minute, fault ? 5e7 : 5e9, fault ? 5e7 : 5e9);
		if (minute >= QUIET_MIN)
			keep(s, t, golden_job_port(port, "crawls", GOLDEN_JOB_IDLE), minute,
				(minute - QUIET_MIN) * 60 + 48);
		/* ended with the fault: nothing more is known of it after two minutes */
		if (minute < QUIET_MIN + 2)
			keep_job(s, t, "ended", minute, fault ? 0 : 5e9, 5e9);
	}
	const struct sample newest = {.t_ns = (START_S + (END_MIN - 1) * 60 + 5) * NS_PER_S,
		.value = 1,
		.entity = entities_intern(t, "leaf1", "p1", PRIO_NONE),
		.metric = M_PORT_OUT_OCTETS,
		.source = SOURCE_REPLAY};
	store_samples(s, &newest, 1);
	wall_format(onset, (wall_t){(START_S + QUIET_MIN * 60) * NS_PER_S}, 3);
	snprintf(json, sizeof(json), "{\"first\": \"%s\", \"jobs\": [\"slow\"]}", onset);
	keep_incident(s, "aaaaaaaa", "warning", 100, json);
	/* explained by the first, so its money is part of that */
	snprintf(json, sizeof(json), "{\"first\": \"%s\", \"parent\": \"aaaaaaaa\"}", onset);
	keep_incident(s, "bbbbbbbb", "critical", 40, json);
	keep_closed(s);
	const int r = store_flush(s, &e);
	store_close(s);
	entities_free(t);
	return r;
}

static int end(void **state)
{
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static json_t *frame(const char *until)
{
	const struct globals globals = {.config_path = "/nonexistent", .db = db, .until = until};
	struct client client;
	struct err e = {0};
	assert_int_equal(client_open(&client, &globals, 900 * NS_PER_S, &e), 0);
	json_t *doc = watch_frame(&client, &e);
	client_done(&client);
	assert_non_null(doc);
	return doc;
}

static const json_t *named(const json_t *list, const char *key, const char *name)
{
	const json_t *row;
	size_t i;
	json_array_foreach (list, i, row)
		if (str_eq(doc_word(row, key), name))
			return row;
	fail_msg("there is no %s '%s'", key, name);
	return NULL;
}

static void near(const json_t *row, const char *key, double wanted)
{
	if (!(fabs(doc_number(row, key) - wanted) < 1e-6))
		fail_msg("%s is %g, expected %g", key, doc_number(row, key), wanted);
}

static void expect_time(const json_t *row, const char *key, int minute)
{
	char wanted[WALL_TEXT_MAX];
	wall_format(wanted, (wall_t){(START_S + minute * 60) * NS_PER_S}, 3);
	assert_string_equal(doc_word(row, key), wanted);
}

/* A host that does not slow down shows in the pause it causes; the marks that its neighbours then
 * get are no more usual for that. */
static void test_a_fault_changes_all_signals(void **state)
{
	json_t *doc = frame(NULL);
	const json_t *marks = named(json_object_get(doc, "signals"), "name", "ecn_marks");
	near(marks, "baseline", 100);
	expect_time(marks, "baseline_to", QUIET_MIN - 1);
	json_decref(doc);
}

/* Closed by hand while it lasts, or over: its time was not usual. */
static void test_a_closed_incident_was_not_usual(void **state)
{
	json_t *doc = frame(NULL);
	const json_t *discards = named(json_object_get(doc, "signals"), "name", "discards");
	near(discards, "baseline", 2);
	expect_time(discards, "baseline_from", PAST_END_MIN + 5);
	json_decref(doc);
}

/* A fault that lasts does not become the usual. */
static void test_baseline_ends_at_the_onset(void **state)
{
	json_t *doc = frame(NULL);
	const json_t *pause = named(json_object_get(doc, "signals"), "name", "pause_time");
	near(pause, "baseline", 0.001);
	near(pause, "baseline_span_s", (QUIET_MIN - 1) * 60);
	expect_time(pause, "baseline_from", 0);
	expect_time(pause, "baseline_to", QUIET_MIN - 1);
	/* the worse of the two, though the other one costs more */
	assert_string_equal(doc_word(pause, "incident"), "bbbbbbbb");
	assert_string_equal(doc_word(pause, "state"), "critical");
	assert_string_equal(doc_word(pause, "where"), "a1 at leaf1 p1");
	json_decref(doc);
}

static void test_jobs(void **state)
{
	json_t *doc = frame(NULL);
	const json_t *jobs = json_object_get(doc, "jobs");
	const json_t *slow = named(jobs, "job", "slow");
	assert_string_equal(doc_word(slow, "state"), "running");
	near(slow, "step_base_s", 0.4);
	near(slow, "step_s", 0.5); /* the same bytes at 80 % of the rate */
	near(slow, "change_ratio", 0.25);
	const json_t *ended = named(jobs, "job", "ended");
	char since[WALL_TEXT_MAX];
	wall_format(since, (wall_t){(START_S + QUIET_MIN * 60) * NS_PER_S}, 3);
	assert_string_equal(doc_word(ended, "state"), "stopped");
	assert_string_equal(doc_word(ended, "since"), since);
	assert_string_equal(doc_word(named(jobs, "job", "never"), "state"), "unknown");
	assert_true(json_is_null(json_object_get(named(jobs, "job", "never"), "step_s")));
	const json_t *step = named(json_object_get(doc, "signals"), "name", "step_time");
	near(step, "value", 0.5);
	near(step, "baseline", 0.4);
	assert_string_equal(doc_word(step, "where"), "slow");
	near(step, "limit", 0.4 * 1.03);
	/* slower than usual, and no incident is about it */
	assert_true(json_is_true(json_object_get(step, "over")));
	assert_string_equal(doc_word(step, "state"), "ok");
	json_decref(doc);
}

/* Against its own level in the storm it would run. */
static void test_crawling_job(void **state)
{
	json_t *doc = frame(NULL);
	const json_t *crawls = named(json_object_get(doc, "jobs"), "job", "crawls");
	char since[WALL_TEXT_MAX];
	/* by its blocks, 48 s before the first minute that was kept of it */
	wall_format(since, (wall_t){(START_S + QUIET_MIN * 60 - 48) * NS_PER_S}, 3);
	assert_string_equal(doc_word(crawls, "state"), "stopped");
	assert_string_equal(doc_word(crawls, "since"), since);
	json_decref(doc);
}

/* One job that stands still, the signals of it; and one made incident or none. */
static void expect_stopped(const char *yaml_jobs, const struct open_incident *incident,
	enum golden_state state, const char *why)
{
	static const enum golden both[] = {GOLDEN_STEP_TIME, GOLDEN_EXCHANGE_TIME};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(str_done) struct str yaml_text = {0};
	struct err_list errors = {0};
	struct client client = {0};
	struct watch_signal signals[GOLDEN_COUNT] = {0};
	struct open_incident open = {0};
	struct watch_job job = {.job = "train",
		.state = JOB_STOPPED,
		.step_s = NAN,
		.step_base_s = NAN,
		.change_ratio = NAN,
		.exchange_s = NAN};
	struct watch_answer frame = {.signals = signals,
		.n_signals = GOLDEN_COUNT,
		.jobs = &job,
		.n_jobs = 1,
		.incidents = &open,
		.n_incidents = incident != NULL};
	assert_int_equal(wall_parse("2026-11-22T10:38:00.000Z", (wall_t){0}, &job.since), 0);
	if (incident)
		open = *incident;
	str_addf(
		&yaml_text, "fabric: pod\ndevices: [ { name: leaf1, role: leaf } ]\n%s", yaml_jobs);
	assert_int_equal(config_parse(yaml_text.s, yaml_text.n, "test", CONFIG_CASE, NULL, 0,
				 &client.config, &errors),
		0);
	watch_apply_jobs(&client, a, &frame);
	for (size_t i = 0; i < rw_countof(both); i++) {
		assert_int_equal(signals[both[i]].state, state);
		assert_string_equal(signals[both[i]].why, why);
	}
	config_free(client.config);
}

/* A job that stands still is never "no job is known to run". */
static void test_stopped_job(void **state)
{
	static const char declared[] =
		"jobs: [ { name: train, gpus: 8, hosts: \"a*\", step: 400ms } ]\n";
	static const char why[] = "job train stopped since 10:38:00Z";
	static const char alone[] = "job train stopped since 10:38:00Z; no fault is found: it "
				    "ended, or it hangs";
	struct open_incident open = {
		.id = "aaaaaaaa", .cause = "slow_receiver", .severity = "critical", .job = "train"};
	expect_stopped(declared, NULL, GOLDEN_UNKNOWN, alone);
	expect_stopped(declared, &open, GOLDEN_CRITICAL, why);
	open.job = "other";
	expect_stopped(declared, &open, GOLDEN_UNKNOWN, alone);
	open.job = NULL;
	open.cause = "telemetry_gap";
	expect_stopped(declared, &open, GOLDEN_UNKNOWN, alone);
	expect_stopped("", NULL, GOLDEN_IDLE, "train stopped since 10:38:00Z");
}

static void test_money_is_counted_once(void **state)
{
	json_t *doc = frame(NULL);
	const json_t *incidents = json_object_get(doc, "incidents");
	assert_int_equal(json_array_size(incidents), 2);
	/* by money first, then severity */
	assert_string_equal(doc_word(json_array_get(incidents, 0), "id"), "aaaaaaaa");
	near(json_object_get(doc, "money"), "usd_per_hour", 100);
	near(json_object_get(doc, "money"), "usd_total", 10);
	assert_string_equal(doc_word(json_array_get(incidents, 0), "job"), "slow");
	json_decref(doc);
}

/* The wall as it was before: nothing was open, the job ran at its usual speed. */
static void test_before_the_fault(void **state)
{
	char until[WALL_TEXT_MAX];
	wall_format(until, (wall_t){(START_S + 50 * 60) * NS_PER_S}, 0);
	json_t *doc = frame(until);
	assert_int_equal(json_array_size(json_object_get(doc, "incidents")), 0);
	const json_t *pause = named(json_object_get(doc, "signals"), "name", "pause_time");
	assert_true(json_is_null(json_object_get(pause, "incident")));
	json_decref(doc);
}

/* Each member of the answers is told, or hidden on purpose. */
static void test_members_are_told(void **state)
{
	static const struct shape *const shapes[] = {&watch_answer_shape, &watch_signal_shape,
		&status_answer_shape, &status_device_shape, &open_incident_shape,
		&open_incident_wall_shape, &agent_state_shape, &class_told_shape,
		&store_alarm_shape, &ship_fact_shape, &doctor_target_shape, &doctor_capture_shape};
	rw_cleanup(str_done) struct str mistakes = {0};
	for (size_t i = 0; i < rw_countof(shapes); i++)
		if (!shape_check(shapes[i], &mistakes))
			fail_msg("%s", mistakes.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_baseline_ends_at_the_onset),
		cmocka_unit_test(test_a_fault_changes_all_signals),
		cmocka_unit_test(test_a_closed_incident_was_not_usual),
		cmocka_unit_test(test_jobs),
		cmocka_unit_test(test_stopped_job),
		cmocka_unit_test(test_crawling_job),
		cmocka_unit_test(test_money_is_counted_once),
		cmocka_unit_test(test_before_the_fault),
		cmocka_unit_test(test_members_are_told),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
