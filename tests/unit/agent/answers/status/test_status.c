/* status and context: which configuration and time a command sees, and that stale is never shown as
 * up. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/document/paper.h"
#include "agent/answers/status/status.h"
#include "agent/answers/common/store_facts.h"
#include "config/config.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/sqlite/write/store_write.h"
#include "db/store/store.h"

#define NOW_S 1700000000LL
static const char yaml[] = "fabric: pod-a\ndevices:\n  - { name: leaf2, role: leaf }\n  - { name: "
			   "leaf10, role: leaf }\n  - { name: spine1, role: spine }\n";

struct world {
	char dir[32], db[64], config[64];
	struct entities *entities;
	struct store *store;
};

static int begin(void **state)
{
	struct world *w = rw_calloc(1, sizeof(*w));
	struct err e = {0};

	strcpy(w->dir, "/tmp/rw-status-XXXXXX");
	if (!mkdtemp(w->dir))
		return -1;
	snprintf(w->db, sizeof(w->db), "%s/x.db", w->dir);
	snprintf(w->config, sizeof(w->config), "%s/x.yaml", w->dir);
	w->entities = entities_new();
	const struct store_options o = {.path = w->db, .replay = true};
	if (db_store_open(&o, w->entities, &w->store, &e) < 0) {
		err_print(stderr, &e);
		return -1;
	}
	*state = w;
	return 0;
}

static void close_store(struct world *w)
{
	if (w->store)
		store_close(w->store);
	w->store = NULL;
}

static int end(void **state)
{
	struct world *w = *state;
	char command[64];
	close_store(w);
	entities_free(w->entities);
	snprintf(command, sizeof(command), "rm -rf %s", w->dir);
	int r = system(command);
	free(w);
	return r;
}

static void add_sample(struct world *w, const char *device, int64_t t_s)
{
	const struct sample s = {.t_ns = t_s * NS_PER_S,
		.value = 7,
		.entity = entities_intern(w->entities, device, "swp1", PRIO_NONE),
		.metric = M_PORT_OUT_OCTETS,
		.source = SOURCE_REPLAY};
	store_samples(w->store, &s, 1);
}

static void flush(struct world *w)
{
	struct err e = {0};
	if (store_flush(w->store, &e) < 0)
		fail_msg("%s", e.text);
}

static json_t *status_of(struct world *w)
{
	const struct globals g = {.config_path = "/nonexistent/rocewatch.yaml", .db = w->db};
	struct client x;
	struct err e = {0};
	if (client_open(&x, &g, 60 * NS_PER_S, &e) < 0)
		fail_msg("%s", e.text);
	json_t *doc = status_document(&x, &e);
	if (!doc)
		fail_msg("%s", e.text);
	client_done(&x);
	return doc;
}

static struct status_answer answer_of(struct world *w, struct arena *a)
{
	const struct globals g = {.config_path = "/nonexistent/rocewatch.yaml", .db = w->db};
	struct client x;
	struct err e = {0};
	struct status_answer answer = {0};
	if (client_open(&x, &g, 60 * NS_PER_S, &e) < 0 || status_read(&x, a, &answer, &e) < 0)
		fail_msg("%s", e.text);
	client_done(&x);
	return answer;
}

static void expect_device(
	const json_t *doc, size_t i, const char *name, const char *status, const char *reason_has)
{
	const json_t *d = json_array_get(json_object_get(doc, "devices"), i);
	const char *reason = json_string_value(json_object_get(d, "reason"));
	assert_string_equal(json_string_value(json_object_get(d, "name")), name);
	const json_t *up = json_object_get(d, "up");
	const char *word = json_is_true(up) ? "up"
		: json_is_false(up)         ? "down"
		: json_is_null(up)          ? "unknown"
					    : "missing";
	if (strcmp(word, status) != 0 ||
		strcmp(json_string_value(json_object_get(d, "status")), status) != 0)
		fail_msg("%s is %s (%s), not %s", name, word, reason ? reason : "-", status);
	if (reason_has && (!reason || !strstr(reason, reason_has)))
		fail_msg("%s: '%s' lacks '%s'", name, reason ? reason : "-", reason_has);
	if (!reason_has && reason)
		fail_msg("%s: '%s'", name, reason);
}

/* A recorded case: judged as of its newest sample. */
static void test_recorded(void **state)
{
	struct world *w = *state;
	store_fabric(w->store, 0, yaml);
	for (int64_t s = NOW_S - 300; s <= NOW_S; s += 10) {
		add_sample(w, "leaf2", s);
		if (s < NOW_S - 100)
			add_sample(w, "leaf10", s);
	}
	flush(w);
	close_store(w);
	json_t *doc = status_of(w);
	assert_string_equal(json_string_value(json_object_get(doc, "fabric")), "pod-a");
	assert_string_equal(
		json_string_value(json_object_get(doc, "time")), "2023-11-14T22:13:20.000Z");
	expect_device(doc, 0, "leaf2", "up", NULL);
	expect_device(doc, 1, "leaf10", "unknown", "silent for 1m50s, more than 3 intervals (30s)");
	expect_device(doc, 2, "spine1", "unknown", "no sample of it");
	assert_false(json_is_true(
		json_object_get(json_object_get(doc, "data_quality"), "agent_running")));
	assert_int_equal(json_integer_value(
				 json_object_get(json_object_get(doc, "data_quality"), "unknown")),
		2);
	json_decref(doc);
}

static void add_target(struct world *w, const char *device, bool up, const char *reason,
	int64_t age_s, uint64_t polls, uint64_t timeouts)
{
	int64_t now = wall_now().ns;
	const struct store_target t = {.device = device,
		.protocol = "snmp",
		.address = "192.0.2.1",
		.state = up ? "up" : "backoff",
		.reason = reason,
		.up = up,
		.since_ns = now,
		.last_success_ns = age_s < 0 ? 0 : now - age_s * NS_PER_S,
		.now_ns = now,
		.poll_p50_s = 0.028,
		.poll_p95_s = NAN,
		.polls = polls,
		.timeouts = timeouts};
	store_target(w->store, &t);
}

/* An agent writes (this process holds the lock): the wall clock is now. */
static void test_live_then_not(void **state)
{
	struct world *w = *state;
	store_fabric(w->store, 1, yaml);
	add_sample(w, "leaf2", NOW_S);
	/* its profile allows a reading each 20 s only: 40 s are no silence, though the configured
	 * interval is 10 s */
	add_target(w, "leaf2", true, "", 40, 10, 0);
	store_health(w->store, wall_now().ns,
		&(struct store_health){"target/leaf2/snmp/interval_s", "s", 20}, 1);
	add_target(w, "leaf10", true, "", 3600, 10, 0);
	add_target(w, "spine1", false, "no answer from 192.0.2.1: is snmpd running?", -1, 0, 5);
	const struct store_incident incidents[] = {
		{.id = "aaaaaaaa",
			.cause = "ecmp_imbalance",
			.severity = "warning",
			.state = "open",
			.summary = "lesser",
			.json = "{}",
			.priority = -1,
			.opened_ns = 1,
			.updated_ns = 1,
			.usd_per_hour = NAN,
			.usd_total = NAN,
			.confidence = 0.5},
		{.id = "bbbbbbbb",
			.cause = "ecmp_imbalance",
			.severity = "critical",
			.state = "clearing",
			.summary = "worse",
			.json = "{}",
			.priority = -1,
			.opened_ns = 1,
			.updated_ns = 1,
			.usd_per_hour = NAN,
			.usd_total = NAN,
			.confidence = 0.5},
		{.id = "cccccccc",
			.cause = "ecmp_imbalance",
			.severity = "critical",
			.state = "closed",
			.summary = "over",
			.json = "{}",
			.priority = -1,
			.opened_ns = 1,
			.closed_ns = 2,
			.updated_ns = 2,
			.usd_per_hour = NAN,
			.usd_total = NAN,
			.confidence = 0.5},
	};
	for (size_t i = 0; i < rw_countof(incidents); i++)
		store_incident(w->store, &incidents[i]);
	flush(w);

	json_t *doc = status_of(w);
	expect_device(doc, 0, "leaf2", "up", NULL);
	expect_device(doc, 1, "leaf10", "unknown", "silent for 1h00m");
	expect_device(doc, 2, "spine1", "down", "is snmpd running?");
	assert_true(json_is_null(
		json_object_get(json_array_get(json_object_get(doc, "devices"), 2), "age_s")));
	assert_int_equal(json_integer_value(json_object_get(doc, "open_incidents")), 2);
	assert_string_equal(
		json_string_value(json_object_get(
			json_array_get(json_object_get(doc, "incidents"), 0), "summary")),
		"worse");
	assert_true(json_is_true(
		json_object_get(json_object_get(doc, "data_quality"), "agent_running")));
	json_decref(doc);

	close_store(w);
	doc = status_of(w);
	for (size_t i = 0; i < 3; i++)
		expect_device(doc, i, (const char *[]){"leaf2", "leaf10", "spine1"}[i], "unknown",
			"no agent is running");
	json_decref(doc);
}

/* At one second an answer is up to two seconds old before a reader can see it: no silence yet. */
static void test_short_interval(void **state)
{
	static const struct {
		int64_t age_s;
		const char *status, *reason;
	} rows[] = {
		{3, "up", NULL},
		{8, "up", NULL}, /* a machine that does other work at the same time */
		{20, "unknown", "silent for 2"},
	};
	struct world *w = *state;
	store_fabric(w->store, 1,
		"fabric: pod-a\ndefaults: { interval: 1s }\ndevices:\n  - { name: leaf2, role: "
		"leaf "
		"}\n");
	for (size_t i = 0; i < rw_countof(rows);) {
		const int64_t begin_ns = mono_now().ns;
		add_target(w, "leaf2", true, "", rows[i].age_s, 10, 0);
		flush(w);
		json_t *doc = status_of(w);
		/* on a busy machine the answer grows old while it is stored: once more */
		const bool in_time = mono_now().ns - begin_ns < NS_PER_S;
		if (in_time)
			expect_device(doc, 0, "leaf2", rows[i].status, rows[i].reason);
		i += in_time;
		json_decref(doc);
	}
}

/* Two captures stand for ports of one device, one goes by a device's name, one was taken out of the
 * configuration; spine1 has gNMI only. */
static void test_captures_have_rows(void **state)
{
	static const struct {
		const char *what, *name;
		bool up;
	} captures[] = {
		{"alive", "leaf2", true},
		{"dead, of the same device", "mirror2", false},
		{"not configured any more", "gone", true},
	};
	struct world *w = *state;
	store_fabric(w->store, 1,
		"fabric: pod-a\n"
		"devices:\n  - { name: leaf2, role: leaf }\n  - { name: spine1, role: spine, gnmi: "
		"{ address: 192.0.2.9 } }\n  - { name: spine2, role: spine }\n"
		"capture:\n  - { name: leaf2, interface: eth1, port: \"leaf2:swp1\" }\n  - { name: "
		"mirror2, interface: eth2, port: \"leaf2:swp2\" }\n");
	add_target(w, "leaf2", true, "", 1, 10, 0);
	add_target(w, "left", true, "", 1, 10, 0);
	for (size_t i = 0; i < rw_countof(captures); i++) {
		int64_t now = wall_now().ns;
		const struct store_target t = {.device = captures[i].name,
			.protocol = "pcap",
			.address = "eth1",
			.state = captures[i].up ? "up" : "backoff",
			.reason = captures[i].up ? "" : "interface eth2 is down",
			.up = captures[i].up,
			.since_ns = now,
			.last_success_ns = now,
			.now_ns = now,
			.poll_p50_s = NAN,
			.poll_p95_s = NAN,
			.polls = 1};
		store_target(w->store, &t);
	}
	flush(w);

	json_t *doc = status_of(w);
	const json_t *q = json_object_get(doc, "data_quality"),
		     *rows = json_object_get(doc, "devices");
	assert_int_equal(json_array_size(rows), 5);
	expect_device(doc, 0, "leaf2", "up", NULL);
	expect_device(doc, 1, "spine1", "unknown", "not polled yet");
	expect_device(doc, 2, "spine2", "unknown", "no collector is configured");
	expect_device(doc, 3, "leaf2", "up", NULL);
	expect_device(doc, 4, "mirror2", "down", "eth2 is down");
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(rows, 4), "protocol")), "pcap");
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(rows, 4), "device")), "leaf2");
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(rows, 4), "port")), "swp2");
	static const struct {
		const char *key;
		int want;
	} counts[] = {
		{"up", 1},
		{"down", 0},
		{"unknown", 2},
		{"captures_up", 1},
		{"captures_down", 1},
		{"captures_unknown", 0},
	};
	for (size_t i = 0; i < rw_countof(counts); i++)
		if (json_integer_value(json_object_get(q, counts[i].key)) != counts[i].want)
			fail_msg("%s is not %d", counts[i].key, counts[i].want);
	json_decref(doc);
}

/* A reader comes as soon as there is a writer: whatever of the file is there by then, it waits for
 * the rest. */
static void test_store_being_made(void **state)
{
	struct world *w = *state;
	for (int i = 0; i < 10; i++) {
		char path[128];
		int done[2];
		snprintf(path, sizeof(path), "%s/fresh%d.db", w->dir, i);
		assert_int_equal(pipe(done), 0);
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			struct entities *entities = entities_new();
			struct store *s = NULL;
			const struct store_options o = {.path = path};
			struct err e = {0};
			char c;
			close(done[1]);
			if (db_store_open(&o, entities, &s, &e) < 0)
				_exit(1);
			store_fabric(s, 1, yaml);
			if (read(done[0], &c, 1) < 0)
				_exit(2);
			store_close(s);
			entities_free(entities);
			_exit(0);
		}
		close(done[0]);
		int status = 0;
		while (db_writer_pid(path) == 0)
			assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
		const struct globals g = {.config_path = "/nonexistent/rocewatch.yaml", .db = path};
		struct client x;
		struct err e = {0};
		int r = client_open(&x, &g, NS_PER_S, &e);
		/* it waited for seconds, and a machine can be busier than that */
		for (int tries = 0; r == -EAGAIN && tries < 20; tries++) {
			client_done(&x);
			r = client_open(&x, &g, NS_PER_S, &e);
		}
		json_t *doc = r == 0 ? status_document(&x, &e) : NULL;
		if (!doc)
			fail_msg("database %d: %d %s", i, r, e.text);
		json_decref(doc);
		client_done(&x);
		close(done[1]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

/* The agent holds the lock and never gets further. */
static void test_store_never_made(void **state)
{
	struct world *w = *state;
	char path[128];
	int lock;
	struct err e = {0};
	snprintf(path, sizeof(path), "%s/never.db", w->dir);
	assert_int_equal(writer_lock(path, &lock, &e), 0);
	const struct globals g = {.config_path = "/nonexistent/rocewatch.yaml", .db = path};
	struct client x;
	assert_int_equal(client_open(&x, &g, NS_PER_S, &e), -EAGAIN);
	assert_non_null(strstr(e.text, "not ready"));
	assert_null(strstr(e.text, "SQL"));
	writer_unlock(lock);
	assert_int_equal(client_open(&x, &g, NS_PER_S, &e), -ENOENT);
}

/* What the agent cannot do with its store, and how far the systems are to which it sends. */
static void test_store_facts(void **state)
{
	static const char ships[] =
		"  ship:\n    clickhouse: { url: 'http://192.0.2.9:8123' }\n    remote_write: { "
		"url: 'http://192.0.2.9:9090/api/v1/write' }\n";
	struct world *w = *state;
	rw_cleanup(str_done) struct str text = {0}, word = {0};
	const int64_t now = wall_now().ns;
	const struct store_health rows[] = {{"store/compact_failed", "", 1},
		{"store/damaged_devices", "", 0}, {"ship/clickhouse/failing_s", "s", 1699999000},
		{"ship/clickhouse/behind_s", "s", 90},
		{"ship/clickhouse/waiting_samples", "", 1234}, {"ship/clickhouse/lost", "", 7},
		{"push/otlp/refused:share:192.0.2.7", "", 9},
		{"push/otlp/refused:share:2001:db8::7", "", 2},
		{"traps/snmp/refused:rate:192.0.2.8", "", 0}, {"push/otlp/refused_rate", "", 4}};
	close_store(w);
	const struct store_options o = {.path = w->db};
	assert_int_equal(db_store_open(&o, w->entities, &w->store, NULL), 0);
	str_addf(&text, "%sstore:\n  path: %s\n%s", yaml, w->db, ships);
	store_fabric(w->store, 1, text.s);
	store_health(w->store, now, rows, rw_countof(rows));
	store_event(w->store, now - 2, "ship_failed", NULL, NULL,
		"remote_write does not take data, which waits in the database: another one");
	store_event(w->store, now - 1, "ship_failed", NULL, NULL,
		"clickhouse does not take data, which waits in the database: HTTP 503: busy");
	flush(w);
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct status_answer status = answer_of(w, a);
	assert_int_equal(status.n_alarms, 1);
	assert_string_equal(status.alarms[0].severity, "critical");
	assert_int_equal(status.n_refused, 2);
	assert_string_equal(status.refused[1].receiver, "otlp");
	assert_string_equal(status.refused[1].reason, "share");
	assert_string_equal(status.refused[1].sender, "2001:db8::7");
	assert_int_equal(status.refused[1].times, 2);
	assert_int_equal(status.n_ship, 2);
	ship_fact_text(&status.ship[0], &word);
	assert_string_equal(word.s,
		"FAILS since 2023-11-14 21:56:40Z (HTTP 503: busy); 1m30s behind, 1234 samples "
		"wait, 7 were NOT SENT because too much waited");
	word.n = 0;
	/* nothing is known of the other one, which is not the same as well */
	ship_fact_text(&status.ship[1], &word);
	assert_non_null(strstr(word.s, "not known"));
	assert_int_equal(status.ship[1].failing, MAYBE_UNKNOWN);
}

/* query and its like: the data are there, whatever became of the configuration beside them. */
static void test_data_without_configuration(void **state)
{
	static const struct {
		const char *what, *yaml;
	} rows[] = {{"none", NULL}, {"of another version", "fabrik: pod-a\n"}, {"right", yaml}};
	struct world *w = *state;
	add_sample(w, "leaf2", NOW_S);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct globals g = {
			.config_path = "/nonexistent/rocewatch.yaml", .db = w->db, .quiet = true};
		struct client x;
		struct err e = {0};
		bool right = rows[i].yaml == yaml;
		if (rows[i].yaml)
			store_fabric(w->store, (int64_t)i, rows[i].yaml);
		flush(w);
		int r = client_open_data(&x, &g, NS_PER_S, &e);
		if (r != 0 || (x.config != NULL) != right)
			fail_msg("%s: %d %s", rows[i].what, r, e.text);
		client_done(&x);
		r = client_open(&x, &g, NS_PER_S, &e);
		if (r != (right ? 0 : -EINVAL))
			fail_msg("%s, needed: %d %s", rows[i].what, r, e.text);
		if (r == 0)
			client_done(&x);
	}
}

static void test_time_ranges(void **state)
{
	struct world *w = *state;
	store_fabric(w->store, 0, yaml);
	add_sample(w, "leaf2", NOW_S);
	flush(w);
	close_store(w);
	static const struct {
		const char *what, *since, *until, *around, *span;
		int64_t from_s, to_s;
	} rows[] = {
		{"default", NULL, NULL, NULL, NULL, NOW_S - 3600, NOW_S},
		{"since", "2h", NULL, NULL, NULL, NOW_S - 7200, NOW_S},
		{"until", NULL, "1h", NULL, NULL, NOW_S - 7200, NOW_S - 3600},
		{"both", "2023-11-14 20:00", "2023-11-14T21:00:00Z", NULL, NULL, 1699992000,
			1699995600},
		{"around", NULL, NULL, "2023-11-14 20:00", NULL, 1699992000 - 900,
			1699992000 + 900},
		{"with a span", NULL, NULL, "2023-11-14 20:00", "1m", 1699992000 - 60,
			1699992000 + 60},
		{"empty", "1h", "2h", NULL, NULL, -1, 0},
		{"not a time", "yesterday", NULL, NULL, NULL, -1, 0},
		{"two ways", "1h", NULL, "2h", NULL, -1, 0},
		{"span alone", NULL, NULL, NULL, "1h", -1, 0},
		{"span is no duration", NULL, NULL, "1h", "10", -1, 0},
		{"span is zero", NULL, NULL, "1h", "0s", -1, 0},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct globals g = {.config_path = "/nonexistent/x.yaml",
			.db = w->db,
			.since = rows[i].since,
			.until = rows[i].until,
			.around = rows[i].around,
			.span = rows[i].span};
		struct client x;
		struct err e = {0};
		int r = client_open(&x, &g, 3600 * NS_PER_S, &e);
		if (rows[i].from_s < 0) {
			if (r != -EINVAL || !e.text[0])
				fail_msg("%s: %d", rows[i].what, r);
			continue;
		}
		if (r < 0 || x.from_ns != rows[i].from_s * NS_PER_S ||
			x.to_ns != rows[i].to_s * NS_PER_S)
			fail_msg("%s: %d %s", rows[i].what, r, e.text);
		client_done(&x);
	}
}

static void test_which_configuration(void **state)
{
	struct world *w = *state;
	struct client x;
	struct err e = {0};
	struct globals g = {.config_path = w->config, .db = w->db};

	add_sample(w, "leaf2", NOW_S);
	flush(w);
	/* a database without one, and no file named */
	assert_int_equal(client_open(&x, &g, NS_PER_S, &e), -EINVAL);
	assert_non_null(strstr(e.text, "-c FILE"));
	store_fabric(w->store, 0, yaml);
	flush(w);
	close_store(w);
	assert_int_equal(client_open(&x, &g, NS_PER_S, &e), 0); /* the missing default is silent */
	assert_string_equal(x.config->fabric->name, "pod-a");
	client_done(&x);

	g.config_named = true;
	/* a missing named one is not */
	assert_int_equal(client_open(&x, &g, NS_PER_S, &e), -EINVAL);
	assert_non_null(strstr(e.file, "x.yaml"));
	FILE *f = fopen(w->config, "w");
	fprintf(f,
		"fabric: site\nstore: { path: %s }\ncapture: [ { name: mirror, interface: lo } ]\n",
		w->db);
	fclose(f);
	/* named by the environment only: the database's own counts */
	assert_int_equal(client_open(&x, &g, NS_PER_S, &e), 0);
	assert_string_equal(x.config->fabric->name, "pod-a");
	client_done(&x);
	g.config_given = true;
	assert_int_equal(client_open(&x, &g, NS_PER_S, &e), 0);
	assert_string_equal(x.config->fabric->name, "site");
	client_done(&x);
	g.config_given = false;
	g.db = NULL;
	if (client_open(&x, &g, NS_PER_S, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(x.config->fabric->name, "site");
	client_done(&x);

	f = fopen(w->config, "w");
	fputs("fabrik: site\nintervall: 3\n", f);
	fclose(f);
	assert_int_equal(client_open(&x, &g, NS_PER_S, &e), -EINVAL);
	assert_int_equal(e.line, 1);
	assert_non_null(strstr(e.text, "config check"));
	g = (struct globals){.config_path = "/nonexistent/x.yaml"};
	assert_int_equal(client_open(&x, &g, NS_PER_S, &e), -EINVAL);
	g.db = "/nonexistent/x.db";
	assert_true(client_open(&x, &g, NS_PER_S, &e) < 0);
	assert_true(e.text[0] != '\0');
}

static int write_line(FILE *out, void *arg)
{
	return fputs(arg, out) < 0 ? -EIO : 0;
}

/* --out: a file is replaced whole; a link stays what it is, and a device that refuses is an error.
 */
static void test_file_write(void **state)
{
	char dir[] = "/tmp/rw_out_XXXXXX", text[8] = "";
	assert_non_null(mkdtemp(dir));
	rw_cleanup(str_done) struct str file = {0}, link = {0}, full = {0};
	str_addf(&file, "%s/report", dir);
	str_addf(&link, "%s/link", dir);
	str_addf(&full, "%s/full", dir);
	struct err e = {0};
	struct stat st;
	assert_int_equal(symlink(file.s, link.s), 0);
	assert_int_equal(symlink("/dev/full", full.s), 0);
	assert_int_equal(file_write(file.s, write_line, "first", &e), 0);
	assert_int_equal(file_write(link.s, write_line, "again", &e), 0);
	assert_true(lstat(link.s, &st) == 0 && S_ISLNK(st.st_mode));
	FILE *in = fopen(file.s, "r");
	assert_non_null(in);
	assert_non_null(fgets(text, sizeof(text), in));
	fclose(in);
	assert_string_equal(text, "again");
	assert_int_equal(file_write(full.s, write_line, "more", &e), -ENOSPC);
	assert_true(lstat(full.s, &st) == 0 && S_ISLNK(st.st_mode));
	unlink(file.s);
	unlink(link.s);
	unlink(full.s);
	assert_int_equal(rmdir(dir), 0); /* nothing half-made is left */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_write),
		cmocka_unit_test_setup_teardown(test_recorded, begin, end),
		cmocka_unit_test_setup_teardown(test_live_then_not, begin, end),
		cmocka_unit_test_setup_teardown(test_short_interval, begin, end),
		cmocka_unit_test_setup_teardown(test_captures_have_rows, begin, end),
		cmocka_unit_test_setup_teardown(test_store_being_made, begin, end),
		cmocka_unit_test_setup_teardown(test_store_facts, begin, end),
		cmocka_unit_test_setup_teardown(test_store_never_made, begin, end),
		cmocka_unit_test_setup_teardown(test_data_without_configuration, begin, end),
		cmocka_unit_test_setup_teardown(test_time_ranges, begin, end),
		cmocka_unit_test_setup_teardown(test_which_configuration, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
