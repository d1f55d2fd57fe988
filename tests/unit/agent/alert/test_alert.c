/*
 * test_alert - incidents of a real ledger, sent to receivers over real HTTP: once each, in order,
 * again after a restart, and never at the price of another receiver. Time is an argument: a tick of
 * the test is a second of the alert's.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <jansson.h>

#include "agent/alert/alert.h"
#include "agent/document/json_value.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/ledger.h"
#include "agent/modules.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/str.h"
#include "config/config.h"
#include "db/model/entity.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"

#include "http_sink.h"
#include "tests/patience.h"

#define W (10 * NS_PER_S)
#define START_NS (1700000000 * NS_PER_S)
#define PATIENCE_NS patience_ns(60 * NS_PER_S)
/* Turns of the loop until a message that has to come is missed, and when one was: a machine that
 * has much to do is slow at both, and a test that has failed once ends soon. */
enum { TURNS_MOST = 10000, TURNS_LOST = 200 };
static bool turns_lost; /* a message that had to come did not, or an answer */
#define TURN_NS (2 * NS_PER_MS) /* of real time, for one second of the test */
#define CONNECT_MS 20000 /* until a receiver's thread has connected */

struct world {
	char dir[64], db[96];
	struct loop *loop;
	struct loop_timer *timer;
	struct entities *entities;
	struct store *store;
	struct ledger *ledger;
	struct config *config;
	struct alert *alert;
	int window; /* of findings */
	bool open_only; /* a start restores no closed incidents */
	int64_t ticks, stop_at; /* stop_at: a tick; 0: by .wait only */
	struct http_sink *wait;
	size_t wait_n;
	mono_t deadline;
};

static struct config *world_config(const char *receivers)
{
	rw_cleanup(str_done) struct str yaml = {0};
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct config *c = NULL;
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	str_addf(&yaml,
		"fabric: pod-a\ndevices:\n"
		"  - { name: leaf1, role: leaf }\n  - { name: leaf2, role: leaf }\n"
		"  - { name: spine1, role: spine }\nalerts:\n%s",
		receivers);
	if (config_parse(yaml.s, yaml.n, "test", CONFIG_CASE, tables, n, &c, &errors) != 0)
		fail_msg("%s", errors.n ? errors.v[0].text : "configuration");
	return c;
}

static void world_changed(void *arg, const struct incident *incident, enum incident_state from)
{
	struct world *w = arg;
	incident_store(w->store, incident, from);
	alert_take(w->alert, incident, from);
}

static wall_t world_wall(const struct world *w)
{
	return (wall_t){START_NS + w->ticks * NS_PER_S};
}

static mono_t world_mono(const struct world *w)
{
	return (mono_t){1000 * NS_PER_S + w->ticks * NS_PER_S};
}

static int world_take_row(void *arg, int n, char *const *values, char *const *names)
{
	assert_int_equal(ledger_restore(arg, values[0]), 0);
	return 0;
}

/* From the database on, as the agent starts. */
static void world_start(struct world *w, const char *receivers)
{
	struct err e = {0};
	struct history *history = NULL;
	const struct store_options options = {.path = w->db};
	w->config = world_config(receivers);
	w->entities = entities_new();
	assert_int_equal(loop_new(&w->loop), 0);
	assert_int_equal(db_store_open(&options, w->entities, &w->store, &e), 0);
	w->ledger = ledger_new(w->config->fabric, world_changed, w);
	w->alert = alert_new(w->loop, w->store, w->config);
	assert_int_equal(db_history_open(w->db, &history, &e), 0);
	if (alert_load(w->alert, history, world_wall(w), world_mono(w), &e) != 0)
		fail_msg("%s", e.text);
	const char *sql = "SELECT json FROM incidents ORDER BY opened_ns";
	if (w->open_only)
		sql = "SELECT json FROM incidents WHERE state<>'closed' ORDER BY opened_ns";
	assert_int_equal(history_sql(history, sql, world_take_row, w->ledger, &e), 0);
	history_close(history);
	alert_sync(w->alert, w->ledger, world_wall(w));
}

static void world_begin(struct world *w, const char *receivers)
{
	*w = (struct world){.window = 1};
	snprintf(w->dir, sizeof(w->dir), "/tmp/rw-alert-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->db, sizeof(w->db), "%s/x.db", w->dir);
	world_start(w, receivers);
}

static void world_stop(struct world *w)
{
	alert_free(w->alert);
	store_close(w->store);
	ledger_free(w->ledger);
	entities_free(w->entities);
	loop_free(w->loop);
	config_free(w->config);
}

static void world_end(struct world *w)
{
	rw_cleanup(str_done) struct str rm = {0};
	world_stop(w);
	str_addf(&rm, "rm -r %s", w->dir);
	assert_int_equal(system(rm.s), 0);
}

static void world_tick(void *arg)
{
	struct world *w = arg;
	w->ticks++;
	alert_tick(w->alert, w->ledger, world_wall(w), world_mono(w));
	const bool enough = w->wait && sink_count(w->wait) >= w->wait_n;
	const bool late = mono_now().ns > w->deadline.ns;
	if (enough || late || (w->stop_at && w->ticks >= w->stop_at))
		loop_stop(w->loop);
}

static void world_run(struct world *w)
{
	w->deadline.ns = mono_now().ns + PATIENCE_NS;
	w->timer = loop_timer_new(w->loop, world_tick, w);
	loop_timer_start(w->timer, TURN_NS, TURN_NS);
	loop_run(w->loop);
	loop_timer_free(w->timer);
	w->wait = NULL;
	w->stop_at = 0;
}

static int64_t world_patience(const struct world *w)
{
	return w->ticks + (turns_lost ? TURNS_LOST : TURNS_MOST);
}

/* Where all go to one receiver: until the agent has its answers. The sink counts a message a moment
 * before. */
static void world_settle(struct world *w)
{
	const int64_t late_at = world_patience(w);
	if (w->alert->n_receivers != 1)
		return;
	while (w->alert->receivers[0].in_flight > 0 && w->ticks < late_at) {
		w->stop_at = w->ticks + 1;
		world_run(w);
	}
	turns_lost |= w->alert->receivers[0].in_flight > 0;
}

/* Until the sink has got @n messages, and then some seconds more, in which none may follow. */
static void world_expect(struct world *w, struct http_sink *sink, size_t n)
{
	w->wait = sink;
	w->wait_n = n;
	w->stop_at = world_patience(w);
	world_run(w);
	turns_lost |= sink_count(sink) < n;
	w->stop_at = w->ticks + 5;
	world_run(w);
	world_settle(w);
	if (sink_count(sink) != n)
		fail_msg("expected %zu messages, got %zu", n, sink_count(sink));
}

static void world_seconds(struct world *w, int64_t seconds);

/* Until the agent has the answers to @n messages to its first receiver: the sink counts them a
 * moment before. */
static void world_answered(struct world *w, uint64_t n)
{
	const int64_t late_at = world_patience(w);
	while (alert_at(w->alert, 0).sent < n && w->ticks < late_at)
		world_seconds(w, 1);
	turns_lost |= alert_at(w->alert, 0).sent < n;
	assert_int_equal(alert_at(w->alert, 0).sent, n);
}

static void world_seconds(struct world *w, int64_t seconds)
{
	w->stop_at = w->ticks + seconds;
	world_run(w);
}

/* ---- incidents ----------------------------------------------------------- */

static struct finding world_finding(
	struct world *w, const char *device, const char *port, enum severity severity)
{
	const int64_t to_ns = START_NS + w->window++ * W;
	return (struct finding){.analyzer = "pause_storm",
		.cause = CAUSE_PFC_STORM,
		.verdict = FINDING_OVER,
		.severity = severity,
		.from_ns = to_ns - W,
		.to_ns = to_ns,
		.device = device,
		.port = port,
		.priority = 3,
		.hold = 1,
		.summary = "paused \"all\" the time",
		.confidence_ratio = 0.9,
		.coverage_ratio = 1,
		.loss_ratio = NAN,
		.explained_ratio = NAN,
		.value = 1,
		.warn = 0.5};
}

static void world_raise(
	struct world *w, const char *device, const char *port, enum severity severity)
{
	const struct finding f = world_finding(w, device, port, severity);
	ledger_take(w->ledger, &f);
}

static void world_clear(struct world *w, const char *device, const char *port)
{
	struct finding f = world_finding(w, device, port, SEV_WARNING);
	f.verdict = FINDING_UNDER;
	ledger_take(w->ledger, &f);
}

static const struct incident *world_incident(const struct world *w, const char *port)
{
	const struct incident **all;
	const size_t n = ledger_incidents(w->ledger, &all);
	for (size_t i = 0; i < n; i++)
		if (str_eq(all[i]->port, port) && all[i]->state != INCIDENT_CLOSED)
			return all[i];
	fail_msg("no incident of %s", port);
	return NULL;
}

/* ---- what was sent ------------------------------------------------------- */

static json_t *sink_json(struct http_sink *sink, size_t i)
{
	json_t *o = json_loads(sink->bodies[i], 0, NULL);
	if (!o)
		fail_msg("no JSON: %s", sink->bodies[i]);
	return o;
}

/* "opened:Ethernet1 resolved:Ethernet1" of a webhook's messages. */
static void assert_told(struct http_sink *sink, const char *expected)
{
	rw_cleanup(str_done) struct str told = {0};
	str_add(&told, "");
	for (size_t i = 0; i < sink_count(sink); i++) {
		json_t *o = sink_json(sink, i);
		const json_t *subject = json_object_get(json_object_get(o, "incident"), "subject");
		str_addf(&told, "%s%s:%s", str_if(i, " "), doc_word(o, "event"),
			doc_word(subject, "port"));
		json_decref(o);
	}
	assert_string_equal(told.s, expected);
}

/* How often; what has ended carries both times. */
static size_t told_times(struct http_sink *sink, const char *event, const char *port)
{
	size_t n = 0;
	for (size_t i = 0; i < sink_count(sink); i++) {
		json_t *o = sink_json(sink, i);
		const json_t *incident = json_object_get(o, "incident");
		const json_t *subject = json_object_get(incident, "subject");
		n += str_eq(doc_word(o, "event"), event) && str_eq(doc_word(subject, "port"), port);
		if (str_eq(doc_word(o, "event"), "resolved"))
			assert_true(strcmp(doc_word(incident, "opened"),
					    doc_word(incident, "closed")) < 0);
		json_decref(o);
	}
	return n;
}

static int count_row(void *arg, int n, char *const *values, char *const *names)
{
	*(int64_t *)arg = strtoll(str_or(values[0], "0"), NULL, 10);
	return 0;
}

static int64_t world_count(struct world *w, const char *sql)
{
	struct err e = {0};
	struct history *history = NULL;
	int64_t n = -1;
	assert_int_equal(store_flush(w->store, &e), 0);
	assert_int_equal(db_history_open(w->db, &history, &e), 0);
	assert_int_equal(history_sql(history, sql, count_row, &n, &e), 0);
	history_close(history);
	return n;
}

static void hook(struct str *yaml, const char *name, const struct http_sink *sink, const char *more)
{
	str_addf(yaml, "    - { name: %s, url: \"http://127.0.0.1:%d/\"%s%s }\n", name, sink->port,
		str_if(*more, ", "), more);
}

/* ---- tests --------------------------------------------------------------- */

static void test_life_is_told_once(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_begin(&sink);
	str_add(&yaml, "  webhook:\n");
	hook(&yaml, "a", &sink, "");
	world_begin(&w, yaml.s);
	world_raise(&w, "leaf1", "e1", SEV_WARNING);
	world_raise(&w, "leaf1", "e2", SEV_INFO); /* nobody is paged for it */
	world_expect(&w, &sink, 1);
	world_raise(&w, "leaf1", "e1", SEV_WARNING);
	world_expect(&w, &sink, 1);
	world_raise(&w, "leaf1", "e1", SEV_CRITICAL);
	world_expect(&w, &sink, 2);
	world_clear(&w, "leaf1", "e1");
	world_expect(&w, &sink, 3);
	assert_told(&sink, "opened:e1 escalated:e1 resolved:e1");

	json_t *o = sink_json(&sink, 1);
	assert_string_equal(doc_word(json_object_get(o, "incident"), "severity"), "critical");
	assert_null(json_object_get(json_object_get(o, "incident"), "progress"));
	json_decref(o);
	world_answered(&w, 3);
	assert_int_equal(world_count(&w, "SELECT count(*) FROM events WHERE kind='alert_sent'"), 3);

	/* a restart does not repeat it */
	world_stop(&w);
	world_start(&w, yaml.s);
	world_seconds(&w, 20);
	assert_int_equal(sink_count(&sink), 3);
	world_end(&w);
	sink_done(&sink);
}

static void test_away_and_back(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink dead, live;
	struct world w;
	sink_init(&dead);
	sink_init(&live);
	sink_begin(&live);
	str_add(&yaml, "  webhook:\n");
	hook(&yaml, "dead", &dead, "");
	hook(&yaml, "live", &live, "");
	world_begin(&w, yaml.s);
	world_raise(&w, "leaf1", "stays", SEV_WARNING);
	world_raise(&w, "leaf1", "brief", SEV_WARNING);
	world_raise(&w, "leaf1", "worse", SEV_WARNING);
	world_expect(&w, &live, 3);
	world_clear(&w, "leaf1", "brief");
	world_raise(&w, "leaf1", "worse", SEV_CRITICAL);
	world_expect(&w, &live, 5);
	world_seconds(&w, 600);

	/* three at once, then one at a time with growing gaps of at most a minute: after
	 * 1 2 4 8 16 32 60 60 ... s */
	const struct alert_view view = alert_at(w.alert, 0);
	assert_string_equal(view.name, "dead");
	assert_in_range(view.failed, 14, 20);
	assert_int_equal(view.queued, 3);
	assert_true(view.failing);
	assert_int_equal(
		world_count(&w, "SELECT count(*) FROM events WHERE kind='alert_failed'"), 3);

	/* and a restart in between, as after kill -9: everything is in the store */
	world_count(&w, "SELECT 1");
	world_stop(&w);
	world_start(&w, yaml.s);
	world_seconds(&w, 10);
	sink_begin(&dead);
	world_expect(&w, &dead, 3);
	assert_int_equal(told_times(&dead, "opened", "stays"), 1);
	assert_int_equal(told_times(&dead, "resolved", "brief"), 1);
	assert_int_equal(told_times(&dead, "opened", "worse"), 1);
	assert_int_equal(sink_count(&live), 5);
	assert_int_equal(alert_at(w.alert, 0).queued, 0);
	assert_false(alert_at(w.alert, 0).failing);
	world_end(&w);
	sink_done(&dead);
	sink_done(&live);
}

static void test_hanging_delays_nobody(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink hanging, live;
	struct world w;
	sink_init(&hanging);
	sink_set(&hanging, 0, 0);
	sink_begin(&hanging);
	sink_init(&live);
	sink_begin(&live);
	str_add(&yaml, "  webhook:\n");
	hook(&yaml, "hanging", &hanging, "timeout: 5m");
	hook(&yaml, "live", &live, "");
	world_begin(&w, yaml.s);
	for (int i = 0; i < 20; i++) {
		char port[16];
		snprintf(port, sizeof(port), "e%d", i);
		world_raise(&w, "leaf1", port, SEV_WARNING);
	}
	world_expect(&w, &live, 20);
	assert_int_equal(sink_asked(&hanging), 1); /* still the first one */
	world_end(&w); /* and the end does not wait five minutes for it */
	sink_done(&hanging);
	sink_done(&live);
}

/* What comes to an end while the agent stops is counted, good or bad. */
static void test_results_at_the_end(void **state)
{
	static const int statuses[] = {200, 500};
	for (size_t k = 0; k < rw_countof(statuses); k++) {
		rw_cleanup(str_done) struct str yaml = {0};
		struct http_sink sink;
		struct world w;
		sink_init(&sink);
		str_add(&yaml, "  webhook:\n");
		hook(&yaml, "a", &sink, "timeout: 30s");
		world_begin(&w, yaml.s);
		world_raise(&w, "leaf1", "e1", SEV_WARNING);
		assert_int_equal(listen(sink.fd, 128), 0); /* connected, and not served yet */
		world_seconds(&w, 2);
		/* a message that is not begun would be dropped at the end */
		assert_int_equal(poll(&(struct pollfd){sink.fd, POLLIN, 0}, 1, CONNECT_MS), 1);
		sink_set(&sink, statuses[k], 0);
		sink_begin(&sink);
		world_stop(&w);
		world_start(&w, yaml.s);
		const bool told =
			world_count(&w, "SELECT count(*) FROM alerts WHERE state='open'") == 1;
		assert_true(told == (statuses[k] == 200));
		sink_set(&sink, 200, 0);
		world_expect(&w, &sink, 1); /* once, whoever sent it */
		world_end(&w);
		sink_done(&sink);
	}
}

static void test_grouped_by_parent(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_begin(&sink);
	str_add(&yaml, "  webhook:\n");
	hook(&yaml, "a", &sink, "");
	world_begin(&w, yaml.s);
	world_raise(&w, "leaf1", "root", SEV_WARNING);
	world_raise(&w, "leaf1", "part", SEV_WARNING);
	world_expect(&w, &sink, 2);
	char root[9], part[9];
	memcpy(root, world_incident(&w, "root")->id, sizeof(root));
	memcpy(part, world_incident(&w, "part")->id, sizeof(part));
	assert_int_equal(ledger_action(w.ledger, part, ACTION_MERGE, "ann", root, START_NS), 0);
	world_expect(&w, &sink, 3);
	json_t *o = sink_json(&sink, 2);
	assert_non_null(strstr(doc_word(o, "note"), root));
	json_decref(o);
	world_clear(&w, "leaf1", "part");
	world_clear(&w, "leaf1", "root");
	world_expect(&w, &sink, 4);
	assert_told(&sink, "opened:root opened:part resolved:part resolved:root");
	world_end(&w);
	sink_done(&sink);
}

/* Two incidents, the second of which is part of the first; both were told, and that end of the
 * second is, too. */
static void world_cover(struct world *w, struct http_sink *sink)
{
	char root[9], part[9];
	world_raise(w, "leaf1", "root", SEV_WARNING);
	world_raise(w, "leaf1", "part", SEV_WARNING);
	world_expect(w, sink, 2);
	memcpy(root, world_incident(w, "root")->id, sizeof(root));
	memcpy(part, world_incident(w, "part")->id, sizeof(part));
	assert_int_equal(ledger_action(w->ledger, part, ACTION_MERGE, "ann", root, START_NS), 0);
	world_expect(w, sink, 3);
}

/* What was part of an incident that has ended stays covered for ten minutes, since both end by the
 * same repair; what is open then is told again. */
static void test_cover_ends(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_begin(&sink);
	str_add(&yaml, "  webhook:\n");
	hook(&yaml, "a", &sink, "");
	world_begin(&w, yaml.s);
	world_cover(&w, &sink);
	w.window = (int)(w.ticks / 10) + 1; /* it ends now */
	const int64_t ended = w.ticks;
	world_clear(&w, "leaf1", "root");
	world_expect(&w, &sink, 4);
	w.stop_at = ended + 570;
	world_run(&w);
	assert_int_equal(sink_count(&sink), 4);
	world_seconds(&w, 60);
	world_expect(&w, &sink, 5);
	assert_told(&sink, "opened:root opened:part resolved:part resolved:root opened:part");
	world_end(&w);
	sink_done(&sink);
}

/* An end that lies ahead, since the clock was set back after it, does not cover until then. */
static void test_cover_ahead_of_the_clock(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_begin(&sink);
	str_add(&yaml, "  webhook:\n");
	hook(&yaml, "a", &sink, "");
	world_begin(&w, yaml.s);
	world_cover(&w, &sink);
	w.window += 7200; /* twenty hours: more seconds than the test has */
	world_clear(&w, "leaf1", "root");
	world_expect(&w, &sink, 5);
	assert_told(&sink, "opened:root opened:part resolved:part resolved:root opened:part");
	world_end(&w);
	sink_done(&sink);
}

/* A receiver that did not ask for the incident that explains this one gets this one. */
static void test_cover_is_the_receivers(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink all, leaf2;
	struct world w;
	sink_init(&all);
	sink_begin(&all);
	sink_init(&leaf2);
	sink_begin(&leaf2);
	str_add(&yaml, "  webhook:\n");
	hook(&yaml, "all", &all, "");
	hook(&yaml, "leaf2", &leaf2, "devices: [leaf2]");
	world_begin(&w, yaml.s);
	world_raise(&w, "leaf1", "root", SEV_WARNING);
	world_raise(&w, "leaf2", "part", SEV_WARNING);
	world_expect(&w, &all, 2);
	world_expect(&w, &leaf2, 1);
	char root[9], part[9];
	memcpy(root, world_incident(&w, "root")->id, sizeof(root));
	memcpy(part, world_incident(&w, "part")->id, sizeof(part));
	assert_int_equal(ledger_action(w.ledger, part, ACTION_MERGE, "ann", root, START_NS), 0);
	world_expect(&w, &all, 3);
	world_expect(&w, &leaf2, 1);
	assert_told(&leaf2, "opened:part"); /* and no end: it goes on, and nothing else was told */
	world_end(&w);
	sink_done(&all);
	sink_done(&leaf2);
}

static json_t *world_ask(struct world *w, const char *cmd, const char *json)
{
	json_t *request = json_loads(json, 0, NULL);
	assert_non_null(request);
	json_t *reply = alert_request(w->alert, cmd, "ann", request, world_wall(w));
	json_decref(request);
	assert_non_null(reply);
	return reply;
}

static void test_silence_and_ack(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0}, json = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_begin(&sink);
	str_add(&yaml, "  resend: 1m\n  webhook:\n");
	hook(&yaml, "a", &sink, "");
	world_begin(&w, yaml.s);
	str_addf(&json,
		"{\"port\": \"e*\", \"why\": \"new fans\", \"from_ns\": %lld, "
		"\"until_ns\": %lld}",
		(long long)START_NS, (long long)(START_NS + 100 * NS_PER_S));
	json_t *reply = world_ask(&w, "silence_add", json.s);
	assert_true(json_is_true(json_object_get(reply, "ok")));
	json_decref(reply);
	world_raise(&w, "leaf1", "e1", SEV_WARNING);
	world_raise(&w, "leaf1", "x1", SEV_WARNING);
	world_expect(&w, &sink, 1); /* x1 is not silenced */
	assert_told(&sink, "opened:x1");
	assert_int_equal(ledger_action(w.ledger, world_incident(&w, "x1")->id, ACTION_ACK, "bob",
				 NULL, START_NS),
		0);
	world_seconds(&w, 85 - w.ticks);
	assert_int_equal(sink_count(&sink), 1); /* no reminder of x1: bob works on it */
	world_expect(&w, &sink, 2); /* the silence is over */
	assert_int_equal(
		world_count(&w, "SELECT count(*) FROM events WHERE kind='silence_expired'"), 1);
	world_expect(&w, &sink, 3); /* nobody has acknowledged e1 */
	world_clear(&w, "leaf1", "x1"); /* the end is sent, acknowledged or not */
	world_expect(&w, &sink, 4);
	assert_told(&sink, "opened:x1 opened:e1 reminder:e1 resolved:x1");
	world_end(&w);
	sink_done(&sink);
}

/* What was told before a silence is told again when it is over: once, not each second. */
static void test_silence_of_what_was_told(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0}, json = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_begin(&sink);
	str_add(&yaml, "  resend: 1h\n  webhook:\n");
	hook(&yaml, "a", &sink, "");
	world_begin(&w, yaml.s);
	world_raise(&w, "leaf1", "e1", SEV_WARNING);
	world_expect(&w, &sink, 1);
	str_addf(&json,
		"{\"port\": \"e*\", \"why\": \"new fans\", \"from_ns\": %lld, \"until_ns\": %lld}",
		(long long)START_NS, (long long)(START_NS + (w.ticks + 50) * NS_PER_S));
	json_decref(world_ask(&w, "silence_add", json.s));
	world_seconds(&w, 40);
	assert_int_equal(sink_count(&sink), 1);
	world_expect(&w, &sink, 2);
	world_seconds(&w, 100);
	assert_told(&sink, "opened:e1 reminder:e1");
	world_end(&w);
	sink_done(&sink);
}

/* Made while the clock was an hour ahead: it goes on, rather than begin in an hour. */
static void test_silence_follows_the_clock(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0}, json = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_begin(&sink);
	str_add(&yaml, "  webhook:\n");
	hook(&yaml, "a", &sink, "");
	world_begin(&w, yaml.s);
	str_addf(&json,
		"{\"port\": \"e*\", \"why\": \"fans\", \"from_ns\": %lld, \"until_ns\": %lld}",
		(long long)START_NS, (long long)(START_NS + 100 * NS_PER_S));
	json_decref(world_ask(&w, "silence_add", json.s));
	const int64_t hour_ns = 3600 * NS_PER_S;
	alert_clock_set_back(w.alert, START_NS - hour_ns, -hour_ns);
	assert_int_equal(world_count(&w,
				 "SELECT (SELECT from_ns FROM silences) = "
				 "(SELECT t_ns FROM events WHERE kind='silence_moved')"),
		1);
	alert_clock_set_back(w.alert, START_NS, -hour_ns); /* made before that: it stays */
	assert_int_equal(
		world_count(&w, "SELECT count(*) FROM events WHERE kind='silence_moved'"), 1);
	world_end(&w);
	sink_done(&sink);
}

static const json_t *am_one(const json_t *alerts, size_t i)
{
	return json_array_get(alerts, i);
}

static int64_t am_end_s(const json_t *alert)
{
	wall_t t = {0};
	assert_int_equal(wall_parse(doc_word(alert, "endsAt"), (wall_t){0}, &t), 0);
	return t.ns / NS_PER_S;
}

static void test_alertmanager_labels(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_begin(&sink);
	str_addf(&yaml,
		"  web_url: \"http://noc/\"\n  alertmanager: { url: \"http://127.0.0.1:%d/\" }\n",
		sink.port);
	world_begin(&w, yaml.s);
	world_raise(&w, "leaf1", "e1", SEV_WARNING);
	world_expect(&w, &sink, 1);
	assert_non_null(strstr(sink.heads[0], "POST /api/v2/alerts "));
	json_t *o = sink_json(&sink, 0);
	assert_int_equal(json_array_size(o), 1);
	const json_t *labels = json_object_get(am_one(o, 0), "labels");
	assert_string_equal(doc_word(labels, "alertname"), "PfcStorm");
	assert_string_equal(doc_word(labels, "severity"), "warning");
	assert_string_equal(doc_word(labels, "device"), "leaf1");
	assert_string_equal(doc_word(labels, "priority"), "3");
	assert_string_equal(doc_word(labels, "fabric"), "pod-a");
	assert_string_equal(doc_word(labels, "incident"), world_incident(&w, "e1")->id);
	assert_non_null(strstr(doc_word(am_one(o, 0), "generatorURL"), "http://noc/#/incident/"));
	const json_t *annotations = json_object_get(am_one(o, 0), "annotations");
	assert_string_equal(doc_word(annotations, "runbook_url"), "http://noc/runbooks/pfc_storm");
	/* three repetitions ahead of the clock of this machine, which the sender reads */
	const int64_t ahead_s = am_end_s(am_one(o, 0)) - wall_now().ns / NS_PER_S;
	assert_in_range(ahead_s, 100, 180);
	json_decref(o);

	/* worse: the same alert goes on, and says so */
	world_raise(&w, "leaf1", "e1", SEV_CRITICAL);
	world_expect(&w, &sink, 2);
	o = sink_json(&sink, 1);
	assert_int_equal(json_array_size(o), 1);
	labels = json_object_get(am_one(o, 0), "labels");
	assert_string_equal(doc_word(labels, "severity"), "warning");
	annotations = json_object_get(am_one(o, 0), "annotations");
	assert_string_equal(doc_word(annotations, "severity"), "critical");
	assert_true(am_end_s(am_one(o, 0)) > wall_now().ns / NS_PER_S);
	json_decref(o);

	/* acknowledged: it goes on being repeated, and a silence stops the notifications there */
	assert_int_equal(ledger_action(w.ledger, world_incident(&w, "e1")->id, ACTION_ACK, "bob",
				 NULL, START_NS),
		0);
	world_expect(&w, &sink, 4);
	assert_non_null(strstr(sink.heads[3], "POST /api/v2/silences "));
	o = sink_json(&sink, 3);
	assert_string_equal(doc_word(o, "createdBy"), "bob");
	json_decref(o);
	world_seconds(&w, 65);
	assert_int_equal(sink_count(&sink), 5);
	assert_non_null(strstr(sink.heads[4], "POST /api/v2/alerts "));

	/* a restart knows the labels; the end comes with them */
	world_stop(&w);
	world_start(&w, yaml.s);
	world_clear(&w, "leaf1", "e1");
	world_expect(&w, &sink, 6);
	o = sink_json(&sink, 5);
	assert_int_equal(json_array_size(o), 1);
	labels = json_object_get(am_one(o, 0), "labels");
	assert_string_equal(doc_word(labels, "severity"), "warning");
	assert_true(am_end_s(am_one(o, 0)) <= wall_now().ns / NS_PER_S);
	json_decref(o);
	world_end(&w);
	sink_done(&sink);
}

static void world_pause(struct world *w, enum cause cause, double share, unsigned windows)
{
	while (windows-- > 0) {
		struct finding f = world_finding(w, "leaf1", "e1", SEV_CRITICAL);
		f.cause = cause;
		f.value = share;
		f.hold = 2;
		ledger_take(w->ledger, &f);
	}
}

/* A storm whose first and last windows hold a part of it only, and so look like a slow receiver:
 * one alert begins, one ends, and both name the same thing. */
static void test_one_alert_begins_and_ends(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_begin(&sink);
	str_addf(&yaml, "  alertmanager: { url: \"http://127.0.0.1:%d/\" }\n", sink.port);
	world_begin(&w, yaml.s);
	world_pause(&w, CAUSE_SLOW_RECEIVER, 0.6, 2);
	world_expect(&w, &sink, 1);
	world_pause(&w, CAUSE_PFC_STORM, 1, 3);
	world_expect(&w, &sink, 2);
	world_pause(&w, CAUSE_SLOW_RECEIVER, 0.37, 1);
	world_seconds(&w, 5);
	assert_int_equal(sink_count(&sink), 2);
	assert_int_equal(world_incident(&w, "e1")->cause, CAUSE_PFC_STORM);
	world_clear(&w, "leaf1", "e1");
	world_clear(&w, "leaf1", "e1");
	world_expect(&w, &sink, 3);

	static const char *const causes[] = {"slow_receiver", "pfc_storm", "pfc_storm"};
	char *first = NULL;
	for (size_t k = 0; k < rw_countof(causes); k++) {
		json_t *o = sink_json(&sink, k);
		assert_int_equal(json_array_size(o), 1);
		char *labels = json_dumps(json_object_get(am_one(o, 0), "labels"), JSON_SORT_KEYS);
		if (!first)
			first = strdup(labels);
		assert_string_equal(labels, first);
		assert_string_equal(
			doc_word(json_object_get(am_one(o, 0), "annotations"), "cause"), causes[k]);
		const bool ended = am_end_s(am_one(o, 0)) <= wall_now().ns / NS_PER_S;
		assert_int_equal(ended, k == 2);
		free(labels);
		json_decref(o);
	}
	free(first);
	world_end(&w);
	sink_done(&sink);
}

/* What looked like a slow receiver turns out to be a storm and becomes critical: it is told inside
 * the same alert. */
static void test_name_outlives_the_severity(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_begin(&sink);
	str_addf(&yaml, "  alertmanager: { url: \"http://127.0.0.1:%d/\" }\n", sink.port);
	world_begin(&w, yaml.s);
	struct finding f = world_finding(&w, "leaf1", "e1", SEV_WARNING);
	f.cause = CAUSE_SLOW_RECEIVER;
	f.value = 0.6;
	ledger_take(w.ledger, &f);
	world_expect(&w, &sink, 1);
	world_raise(&w, "leaf1", "e1", SEV_CRITICAL);
	world_expect(&w, &sink, 2);
	json_t *o = sink_json(&sink, 1);
	assert_int_equal(json_array_size(o), 1);
	assert_string_equal(
		doc_word(json_object_get(am_one(o, 0), "labels"), "alertname"), "SlowReceiver");
	assert_string_equal(
		doc_word(json_object_get(am_one(o, 0), "annotations"), "cause"), "pfc_storm");
	json_decref(o);
	world_end(&w);
	sink_done(&sink);
}

/* A batch with a message that is refused: the others get through, it is given up. */
static void test_refused_is_given_up(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_set(&sink, 200, 3);
	sink_begin(&sink);
	str_add(&yaml, "  webhook:\n");
	hook(&yaml, "a", &sink, "");
	world_begin(&w, yaml.s);
	world_raise(&w, "leaf1", "e1", SEV_WARNING);
	for (int k = 0; k < TURNS_MOST && sink_asked(&sink) < 3; k++)
		world_seconds(&w, 1);
	/* it answers: the message is at fault, and others need not wait */
	assert_false(alert_at(w.alert, 0).failing);
	world_seconds(&w, 60);
	assert_int_equal(sink_asked(&sink), 3);
	assert_int_equal(alert_at(w.alert, 0).dropped, 1);
	assert_int_equal(world_count(&w,
				 "SELECT count(*) FROM events WHERE kind='alert_failed' "
				 "AND text LIKE '%given up%status 400%'"),
		1);
	world_raise(&w, "leaf1", "e2", SEV_WARNING);
	world_expect(&w, &sink, 1);
	assert_told(&sink, "opened:e2");
	world_end(&w);
	sink_done(&sink);
}

static void test_spool_is_bounded(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink dead;
	struct world w;
	sink_init(&dead);
	str_add(&yaml, "  webhook:\n");
	hook(&yaml, "dead", &dead, "spool: 10");
	world_begin(&w, yaml.s);
	for (int i = 0; i < 25; i++) {
		char port[16];
		snprintf(port, sizeof(port), "e%02d", i);
		world_raise(&w, "leaf1", port, SEV_WARNING);
		world_seconds(&w, 1);
	}
	assert_int_equal(alert_at(w.alert, 0).queued, 10);
	assert_int_equal(alert_at(w.alert, 0).dropped, 15);
	assert_int_equal(world_count(&w,
				 "SELECT count(*) FROM events WHERE kind='alert_failed' "
				 "AND text LIKE '%spool%'"),
		15);
	sink_begin(&dead);
	world_seconds(&w, 70);
	world_expect(&w, &dead, 10);
	assert_non_null(strstr(dead.bodies[9], "e24")); /* the newest are kept */
	world_end(&w);
	sink_done(&dead);
}

/* Of what waits, ends of incidents go last: what was told as open must not stay so for ever. */
static void test_spool_keeps_ends(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_begin(&sink);
	str_add(&yaml, "  webhook:\n");
	hook(&yaml, "a", &sink, "spool: 10, retry: 5s");
	world_begin(&w, yaml.s);
	world_raise(&w, "leaf1", "told", SEV_WARNING);
	world_expect(&w, &sink, 1);
	sink_set(&sink, 503, 0);
	world_clear(&w, "leaf1", "told"); /* the oldest that waits */
	world_seconds(&w, 2);
	for (int i = 0; i < 15; i++) {
		char port[16];
		snprintf(port, sizeof(port), "e%02d", i);
		world_raise(&w, "leaf1", port, SEV_WARNING);
		world_seconds(&w, 1);
	}
	assert_int_equal(alert_at(w.alert, 0).dropped, 6);
	sink_set(&sink, 200, 0);
	world_expect(&w, &sink, 11);
	assert_int_equal(told_times(&sink, "resolved", "told"), 1);
	assert_int_equal(told_times(&sink, "opened", "e14"), 1);
	world_end(&w);
	sink_done(&sink);
}

static void test_reload(void **state)
{
	rw_cleanup(str_done) struct str before = {0}, after = {0};
	struct http_sink keeps, goes, comes;
	struct world w;
	sink_init(&keeps);
	sink_begin(&keeps);
	sink_init(&goes);
	sink_begin(&goes);
	sink_init(&comes);
	sink_begin(&comes);
	str_add(&before, "  webhook:\n");
	hook(&before, "keeps", &keeps, "");
	hook(&before, "goes", &goes, "");
	str_add(&after, "  webhook:\n");
	hook(&after, "comes", &comes, "min_severity: critical");
	hook(&after, "keeps", &keeps, "timeout: 3s");
	world_begin(&w, before.s);
	world_raise(&w, "leaf1", "e1", SEV_WARNING);
	world_raise(&w, "leaf1", "e2", SEV_CRITICAL);
	world_expect(&w, &keeps, 2);
	world_expect(&w, &goes, 2);
	struct config *fresh = world_config(after.s);
	alert_reload(w.alert, fresh, w.ledger, world_wall(&w));
	ledger_reload(w.ledger, fresh->fabric);
	config_free(w.config);
	w.config = fresh;
	world_expect(&w, &comes, 1);
	assert_told(&comes, "opened:e2");
	world_seconds(&w, 5);
	assert_int_equal(sink_count(&keeps), 2);
	assert_int_equal(world_count(&w, "SELECT count(*) FROM alerts WHERE receiver='goes'"), 0);
	assert_int_equal(world_count(&w, "SELECT count(*) FROM alerts WHERE receiver='keeps'"), 2);
	world_end(&w);
	sink_done(&keeps);
	sink_done(&goes);
	sink_done(&comes);
}

/* What the old thread of a receiver had in its hands when its words changed is sent by the new one.
 */
static void test_reload_under_way(void **state)
{
	rw_cleanup(str_done) struct str before = {0}, after = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_set(&sink, 0, 0); /* it takes the message, and never answers */
	sink_begin(&sink);
	str_add(&before, "  webhook:\n");
	hook(&before, "a", &sink, "timeout: 5m");
	str_add(&after, "  webhook:\n");
	hook(&after, "a", &sink, "timeout: 4m");
	world_begin(&w, before.s);
	world_raise(&w, "leaf1", "e1", SEV_WARNING);
	for (int k = 0; k < TURNS_MOST && sink_asked(&sink) < 1; k++)
		world_seconds(&w, 1);
	assert_int_equal(sink_asked(&sink), 1);
	sink_set(&sink, 200, 0);
	struct config *fresh = world_config(after.s);
	alert_reload(w.alert, fresh, w.ledger, world_wall(&w));
	ledger_reload(w.ledger, fresh->fabric);
	config_free(w.config);
	w.config = fresh;
	world_expect(&w, &sink, 1);
	assert_told(&sink, "opened:e1");
	world_end(&w);
	sink_done(&sink);
}

static void test_filters(void **state)
{
	static const struct {
		const char *filter, *told;
	} rows[] = {
		{"devices: [\"spine*\"]", "opened:s1"}, {"causes: [\"ecn_*\"]", ""},
		{"causes: [pfc_storm], devices: [leaf2]", "opened:l2"}, {"jobs: [nobody]", ""},
		{"devices: [\"gpu*\"]", "opened:h1"}, /* a host is a device, too */
	};
	enum { N = rw_countof(rows) };
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink sinks[N], all;
	struct world w;
	str_add(&yaml, "  webhook:\n");
	for (size_t i = 0; i < N; i++) {
		char name[8];
		snprintf(name, sizeof(name), "r%zu", i);
		sink_init(&sinks[i]);
		sink_begin(&sinks[i]);
		hook(&yaml, name, &sinks[i], rows[i].filter);
	}
	sink_init(&all);
	sink_begin(&all);
	hook(&yaml, "all", &all, "");
	world_begin(&w, yaml.s);
	world_raise(&w, "leaf1", "l1", SEV_WARNING);
	world_raise(&w, "leaf2", "l2", SEV_WARNING);
	world_raise(&w, "spine1", "s1", SEV_WARNING);
	struct finding of_host = world_finding(&w, "leaf1", "h1", SEV_WARNING);
	of_host.host = "gpu7";
	ledger_take(w.ledger, &of_host);
	world_expect(&w, &all, 4);
	for (size_t i = 0; i < N; i++) {
		world_expect(&w, &sinks[i], *rows[i].told ? 1 : 0);
		assert_told(&sinks[i], rows[i].told);
		sink_done(&sinks[i]);
	}
	world_end(&w);
	sink_done(&all);
}

/* A receiver that got an incident also gets its end, even if its cause has changed since. */
static void test_filter_keeps(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_begin(&sink);
	str_add(&yaml, "  webhook:\n");
	hook(&yaml, "a", &sink, "causes: [pfc_storm]");
	world_begin(&w, yaml.s);
	world_raise(&w, "leaf1", "e1", SEV_WARNING);
	world_expect(&w, &sink, 1);
	world_answered(&w, 1);
	struct finding other = world_finding(&w, "leaf1", "e1", SEV_WARNING);
	other.cause = CAUSE_INCAST;
	other.confidence_ratio = 0.99;
	ledger_take(w.ledger, &other);
	assert_int_equal(world_incident(&w, "e1")->cause, CAUSE_INCAST);
	world_expect(&w, &sink, 1);
	world_clear(&w, "leaf1", "e1");
	world_expect(&w, &sink, 2);
	assert_told(&sink, "opened:e1 resolved:e1");
	world_end(&w);
	sink_done(&sink);
}

/* The cause changes while the opening is under way: the receiver will have it, so it stays the
 * receiver's to its end. */
static void test_filter_keeps_what_is_under_way(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_begin(&sink);
	str_add(&yaml, "  webhook:\n");
	hook(&yaml, "a", &sink, "causes: [pfc_storm]");
	world_begin(&w, yaml.s);
	world_raise(&w, "leaf1", "e1", SEV_WARNING);
	/* the loop does not run, so no result comes back between these two */
	for (int turn = 0; turn < 2; turn++) {
		alert_tick(w.alert, w.ledger, world_wall(&w), world_mono(&w));
		struct finding other = world_finding(&w, "leaf1", "e1", SEV_WARNING);
		other.cause = CAUSE_INCAST;
		other.confidence_ratio = 0.99;
		other.value = 1.2;
		ledger_take(w.ledger, &other);
	}
	assert_int_equal(world_incident(&w, "e1")->cause, CAUSE_INCAST);
	world_expect(&w, &sink, 1);
	assert_told(&sink, "opened:e1");
	world_clear(&w, "leaf1", "e1");
	world_expect(&w, &sink, 2);
	assert_told(&sink, "opened:e1 resolved:e1");
	world_end(&w);
	sink_done(&sink);
}

/* The ledger forgets what is closed, and a restart brings only what is open into it: an end that
 * still waits for its receiver is sent all the same, with what is known of the incident. */
static void test_end_outlives_the_incident(void **state)
{
	for (int restarted = 0; restarted < 2; restarted++) {
		rw_cleanup(str_done) struct str yaml = {0};
		struct http_sink sink;
		struct world w;
		sink_init(&sink);
		sink_begin(&sink);
		str_add(&yaml, "  webhook:\n");
		hook(&yaml, "a", &sink, "retry: 5s");
		world_begin(&w, yaml.s);
		world_raise(&w, "leaf1", "e1", SEV_WARNING);
		world_expect(&w, &sink, 1);
		sink_set(&sink, 503, 0);
		world_clear(&w, "leaf1", "e1");
		world_seconds(&w, 3);
		ledger_forget(w.ledger, START_NS + 1000 * 3600 * NS_PER_S);
		const struct incident **all;
		assert_int_equal(ledger_incidents(w.ledger, &all), 0);
		world_seconds(&w, 5);
		if (restarted) {
			world_count(&w, "SELECT 1");
			world_stop(&w);
			w.open_only = true;
			world_start(&w, yaml.s);
			assert_int_equal(ledger_incidents(w.ledger, &all), 0);
		}
		sink_set(&sink, 200, 0);
		world_expect(&w, &sink, 2);
		assert_told(&sink, "opened:e1 resolved:e1");
		assert_int_equal(told_times(&sink, "resolved", "e1"), 1);
		json_t *o = sink_json(&sink, 1);
		assert_string_equal(doc_word(o, "note"), ""); /* it is closed, and nothing else */
		json_decref(o);
		world_end(&w);
		sink_done(&sink);
	}
}

/* What a restart takes over from the database: when the next reminder is due, what a receiver was
 * told last, and which rows to delete when it goes. */
static void test_restart_knows_what_was_told(void **state)
{
	enum { RESEND = 3600, SPARE = 2500 /* seconds of the test, for a slow machine */ };
	rw_cleanup(str_done) struct str yaml = {0}, nobody = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_begin(&sink);
	str_add(&yaml, "  resend: 1h\n  webhook:\n");
	hook(&yaml, "a", &sink, "retry: 5s");
	world_begin(&w, yaml.s);
	world_raise(&w, "leaf1", "e1", SEV_CRITICAL);
	world_expect(&w, &sink, 1);
	const int64_t told = w.ticks;
	const int64_t success_ns = alert_at(w.alert, 0).last_success_ns;
	assert_true(success_ns > START_NS);
	w.ticks += RESEND - 600;
	world_count(&w, "SELECT 1");
	world_stop(&w);
	world_start(&w, yaml.s);
	assert_true(alert_at(w.alert, 0).last_success_ns == success_ns);
	w.ticks += 500;
	world_seconds(&w, 10);
	assert_int_equal(sink_count(&sink), 1); /* not before its time */
	world_expect(&w, &sink, 2);
	assert_in_range(
		w.ticks - told, RESEND - 10, RESEND + SPARE); /* not an hour after the start */
	world_count(&w, "SELECT 1");
	world_stop(&w);
	w.ticks -=
		2 * RESEND; /* the clock was set back meanwhile: the next one is not late for it */
	const int64_t back = w.ticks;
	world_start(&w, yaml.s);
	w.ticks += RESEND - 100;
	world_expect(&w, &sink, 3);
	assert_in_range(w.ticks - back, RESEND - 10, RESEND + SPARE);
	assert_told(&sink, "opened:e1 reminder:e1 reminder:e1");
	world_count(&w, "SELECT 1");
	world_stop(&w);
	world_start(&w, yaml.s);
	str_add(&nobody, "  {}\n");
	struct config *fresh = world_config(nobody.s);
	alert_reload(w.alert, fresh, w.ledger, world_wall(&w));
	ledger_reload(w.ledger, fresh->fabric);
	config_free(w.config);
	w.config = fresh;
	assert_int_equal(world_count(&w, "SELECT count(*) FROM alerts"), 0);
	world_end(&w);
	sink_done(&sink);
}

/* What is settled is forgotten after a day, and its rows go; what still waits stays however long
 * the receiver is away. */
static void test_settled_is_forgotten(void **state)
{
	enum { DAY = 24 * 3600 };
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_begin(&sink);
	str_add(&yaml, "  webhook:\n");
	hook(&yaml, "a", &sink, "retry: 5s");
	world_begin(&w, yaml.s);
	world_raise(&w, "leaf1", "e1", SEV_WARNING);
	world_raise(&w, "leaf1", "e2", SEV_WARNING);
	world_expect(&w, &sink, 2);
	world_clear(&w, "leaf1", "e1");
	world_expect(&w, &sink, 3);
	sink_set(&sink, 503, 0);
	world_clear(&w, "leaf1", "e2");
	world_seconds(&w, 3);
	assert_int_equal(world_count(&w, "SELECT count(*) FROM alerts"), 2);
	w.ticks += DAY - 3600;
	world_seconds(&w, 3);
	assert_int_equal(world_count(&w, "SELECT count(*) FROM alerts"), 2);
	w.ticks += 2 * 3600;
	world_seconds(&w, 3);
	assert_int_equal(world_count(&w, "SELECT count(*) FROM alerts"), 1);
	sink_set(&sink, 200, 0);
	world_expect(&w, &sink, 4);
	assert_int_equal(told_times(&sink, "resolved", "e2"), 1);
	world_seconds(&w, 3);
	assert_int_equal(world_count(&w, "SELECT count(*) FROM alerts"), 0);
	world_end(&w);
	sink_done(&sink);
}

static void test_receiver_test(void **state)
{
	rw_cleanup(str_done) struct str yaml = {0};
	struct http_sink sink;
	struct world w;
	sink_init(&sink);
	sink_begin(&sink);
	str_add(&yaml, "  webhook:\n");
	hook(&yaml, "a", &sink, "");
	world_begin(&w, yaml.s);
	json_t *reply = world_ask(&w, "alert_test", "{\"receiver\": \"b\"}");
	assert_non_null(strstr(doc_word(reply, "error"), "expected one of a"));
	json_decref(reply);
	reply = world_ask(&w, "alert_test", "{}");
	assert_int_equal(json_integer_value(json_object_get(reply, "ticket")), 1);
	json_decref(reply);
	world_expect(&w, &sink, 1);
	reply = world_ask(&w, "alert_result", "{\"ticket\": 1}");
	assert_true(json_is_true(json_object_get(reply, "delivered")));
	json_decref(reply);
	assert_null(alert_request(w.alert, "other", "ann", NULL, world_wall(&w)));
	world_end(&w);
	sink_done(&sink);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life_is_told_once),
		cmocka_unit_test(test_away_and_back),
		cmocka_unit_test(test_hanging_delays_nobody),
		cmocka_unit_test(test_results_at_the_end),
		cmocka_unit_test(test_grouped_by_parent),
		cmocka_unit_test(test_cover_ends),
		cmocka_unit_test(test_cover_ahead_of_the_clock),
		cmocka_unit_test(test_cover_is_the_receivers),
		cmocka_unit_test(test_silence_and_ack),
		cmocka_unit_test(test_silence_of_what_was_told),
		cmocka_unit_test(test_silence_follows_the_clock),
		cmocka_unit_test(test_alertmanager_labels),
		cmocka_unit_test(test_one_alert_begins_and_ends),
		cmocka_unit_test(test_name_outlives_the_severity),
		cmocka_unit_test(test_refused_is_given_up),
		cmocka_unit_test(test_spool_is_bounded),
		cmocka_unit_test(test_spool_keeps_ends),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_reload_under_way),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_filter_keeps),
		cmocka_unit_test(test_filter_keeps_what_is_under_way),
		cmocka_unit_test(test_end_outlives_the_incident),
		cmocka_unit_test(test_restart_knows_what_was_told),
		cmocka_unit_test(test_settled_is_forgotten),
		cmocka_unit_test(test_receiver_test),
	};
	setenv("NO_PROXY", "", 1);
	setenv("http_proxy", "http://127.0.0.1:9", 1); /* must not be used */
	log_set_level(LOG_ERROR_);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
