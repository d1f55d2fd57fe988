/* client: which configuration counts when the file is broken, who writes the database as far as a
 * reader may know, which time it is, and what a state of the past is. */
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

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/check/check.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/answers/doctor/doctor.h"
#include "agent/answers/incident/incident_read.h"
#include "agent/answers/common/served.h"
#include "agent/answers/status/status.h"
#include "agent/answers/watch/watch_frame.h"
#include "config/config.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/store/store.h"

#define SPAN_NS (60 * NS_PER_S)
static const char yaml[] = "fabric: pod-a\ndefaults: { interval: 10s }\ndevices:\n"
			   "  - { name: leaf2, role: leaf }\n  - { name: spine1, role: spine }\n";

struct world {
	char dir[40], db[64], config[64];
	struct entities *entities;
	struct store *store;
};

static void open_store(struct world *w, bool recorded)
{
	struct err e = {0};
	const struct store_options o = {.path = w->db, .replay = true, .recorded = recorded};
	if (db_store_open(&o, w->entities, &w->store, &e) < 0)
		fail_msg("%s", e.text);
}

static void close_store(struct world *w)
{
	if (w->store)
		store_close(w->store);
	w->store = NULL;
}

static int begin(void **state)
{
	struct world *w = rw_calloc(1, sizeof(*w));
	strcpy(w->dir, "/tmp/rw-client-XXXXXX");
	if (!mkdtemp(w->dir) || chmod(w->dir, 0755) != 0)
		return -1;
	snprintf(w->db, sizeof(w->db), "%s/x.db", w->dir);
	snprintf(w->config, sizeof(w->config), "%s/x.yaml", w->dir);
	w->entities = entities_new();
	open_store(w, false);
	store_fabric(w->store, 1000000000LL * NS_PER_S, yaml);
	*state = w;
	return 0;
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

static void add_sample(struct world *w, const char *device, int64_t t_ns)
{
	const struct sample s = {.t_ns = t_ns,
		.value = 7,
		.entity = entities_intern(w->entities, device, "swp1", PRIO_NONE),
		.metric = M_PORT_OUT_OCTETS,
		.source = SOURCE_SNMP};
	store_samples(w->store, &s, 1);
}

static void add_target(struct world *w, const char *device, int64_t t_ns)
{
	const struct store_target t = {.device = device,
		.protocol = "snmp",
		.address = "192.0.2.1",
		.state = "up",
		.reason = "",
		.up = true,
		.since_ns = t_ns,
		.last_success_ns = t_ns,
		.now_ns = t_ns,
		.poll_p50_s = 0.02,
		.poll_p95_s = 0.03,
		.polls = 10};
	store_target(w->store, &t);
}

/* As an agent leaves it: a target, health and a minute of samples up to @t_ns. */
static void add_agent_data(struct world *w, int64_t t_ns)
{
	for (int64_t s = 60; s >= 0; s -= 10)
		add_sample(w, "leaf2", t_ns - s * NS_PER_S);
	add_target(w, "leaf2", t_ns);
	store_health(w->store, t_ns, &(struct store_health){"process/rss_bytes", "bytes", 1e7}, 1);
	struct err e = {0};
	if (store_flush(w->store, &e) < 0)
		fail_msg("%s", e.text);
}

static void put_file(const char *path, const char *before, const char *after)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%s%s", before, after);
	assert_int_equal(fclose(f), 0);
}

static void client_of(struct world *w, const struct globals *globals, struct client *ret)
{
	struct err e = {0};
	if (client_open(ret, globals, SPAN_NS, &e) < 0)
		fail_msg("%s: %s", w->dir, e.text);
}

static struct globals with_db(const struct world *w)
{
	return (struct globals){.config_path = "/nonexistent/x.yaml", .db = w->db};
}

static json_t *status_of(struct client *client)
{
	struct err e = {0};
	json_t *doc = status_document(client, &e);
	if (!doc)
		fail_msg("%s", e.text);
	return doc;
}

static const json_t *at(const json_t *doc, const char *object, const char *key)
{
	return json_object_get(json_object_get(doc, object), key);
}

/* ---- a broken file -------------------------------------------------------- */

/* The file is saved with a mistake while people look at the fabric: they go on by what is in force.
 */
static void test_broken_file(void **state)
{
	static const struct {
		const char *what, *before, *after, *place;
	} rows[] = {
		{"unknown key", "fabrik: pod-b\nstore: { path: ", " }\n", ":1:1: unknown key"},
		{"no YAML at all", "store:\n  # here\n  path: \"", "\" # moved\ndevices: [\n",
			"x.yaml:"},
	};
	struct world *w = *state;
	add_agent_data(w, wall_now().ns);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct globals g = {
			.config_path = w->config, .config_named = true, .config_given = true};
		struct client client;
		rw_cleanup(str_done) struct str text = {0}, line = {0};
		str_addf(&text, "%s%s", w->db, rows[i].after);
		put_file(w->config, rows[i].before, text.s);
		client_of(w, &g, &client);
		assert_string_equal(client.db_path, w->db);
		assert_string_equal(client.config->fabric->name, "pod-a");
		client_warning(&client, &line);
		if (!strstr(line.s, rows[i].place) ||
			!strstr(line.s,
				"; using the configuration in force since 2001-09-09 01:46:40Z"))
			fail_msg("%s: %s", rows[i].what, line.s);
		json_t *doc = status_of(&client);
		assert_string_equal(
			json_string_value(at(doc, "agent", "config_error")), client.config_error);
		json_decref(doc);
		client_done(&client);
	}
}

/* The mistake in the file is what people have to mend when there is no database either. */
static void test_broken_file_and_no_database(void **state)
{
	struct world *w = *state;
	const struct globals g = {.config_path = w->config, .config_named = true};
	struct client client;
	struct err e = {0};
	put_file(w->config, "fabrik: x\nstore: { path: /nonexistent/rw.db }\n", "");
	assert_int_equal(client_open(&client, &g, SPAN_NS, &e), -EINVAL);
	assert_int_equal(e.line, 1);
	assert_non_null(strstr(e.text, "unknown key 'fabrik'"));
	assert_non_null(strstr(e.text, "/nonexistent/rw.db"));
}

/* A check is not judged by a file that may mean something else: UNKNOWN. */
static void test_check_of_a_broken_file(void **state)
{
	struct world *w = *state;
	const struct globals g = {.config_path = w->config, .config_named = true};
	struct client client;
	char why[1024] = "";
	rw_cleanup(str_done) struct str text = {0};
	add_agent_data(w, wall_now().ns);
	str_addf(&text, "fabrik: x\nstore: { path: %s }\n", w->db);
	put_file(w->config, text.s, "");
	client_of(w, &g, &client);
	assert_true(check_unknown(&client, SPAN_NS, why, sizeof(why)));
	assert_non_null(strstr(why, "x.yaml:1:1: unknown key"));
	client_done(&client);
}

/* ---- who writes ----------------------------------------------------------- */

/* An agent that has stopped: the clock goes on, the data does not. Ranges still find it. */
static void test_stopped_agent(void **state)
{
	struct world *w = *state;
	const int64_t end_ns = wall_now().ns - 3600 * NS_PER_S;
	const struct globals g = with_db(w);
	struct client client;
	char why[512] = "";
	add_agent_data(w, end_ns);
	close_store(w);
	client_of(w, &g, &client);
	assert_int_equal(client.agent, AGENT_STOPPED);
	assert_true(client.now_ns - end_ns >= 3600 * NS_PER_S);
	assert_true(client.to_ns == end_ns && client.from_ns == end_ns - SPAN_NS);
	json_t *doc = status_of(&client);
	const json_t *agent = json_object_get(doc, "agent");
	const json_t *leaf2 = json_array_get(json_object_get(doc, "devices"), 0);
	assert_string_equal(doc_word(agent, "state"), "stopped");
	assert_true(json_is_true(json_object_get(agent, "stale")));
	assert_true(doc_number(agent, "data_age_s") >= 3600);
	assert_true(doc_number(leaf2, "age_s") >= 3600);
	assert_string_equal(doc_word(leaf2, "status"), "unknown");
	assert_true(json_is_true(at(doc, "data_quality", "stale")));
	assert_true(json_is_false(at(doc, "data_quality", "agent_running")));
	/* a check of a file that --db names is no better */
	assert_true(check_unknown(&client, SPAN_NS, why, sizeof(why)));
	assert_non_null(strstr(why, "no agent writes"));
	assert_non_null(strstr(why, "1h00m"));
	json_decref(doc);
	client_done(&client);
}

/* A clock that showed a day in 2099 once left samples, a target and health there. */
static void test_future_marks(void **state)
{
	struct world *w = *state;
	const int64_t end_ns = wall_now().ns - 3600 * NS_PER_S, wrong_ns = 4085000000 * NS_PER_S;
	const struct globals g = with_db(w);
	struct client client;
	char why[512] = "";
	add_agent_data(w, end_ns);
	add_sample(w, "leaf2", wrong_ns);
	add_sample(w, "spine1", wrong_ns);
	add_target(w, "spine1", wrong_ns);
	store_health(
		w->store, wrong_ns, &(struct store_health){"process/rss_bytes", "bytes", 1}, 1);
	close_store(w);
	client_of(w, &g, &client);
	assert_true(client.data_ns == end_ns);
	assert_true(client.to_ns == end_ns && client.from_ns == end_ns - SPAN_NS);
	assert_true(client.written_ns == end_ns);
	assert_true(check_unknown(&client, SPAN_NS, why, sizeof(why)));
	assert_non_null(strstr(why, "1h00m"));
	/* an agent whose lock may not be read does not seem to run because of them */
	json_t *doc = status_of(&client);
	assert_true(json_is_true(at(doc, "agent", "stale")));
	assert_true(doc_number(json_object_get(doc, "agent"), "data_age_s") >= 3600);
	json_decref(doc);
	client_done(&client);
}

/* All that there is lies ahead: found, and nothing that could be judged. */
static void test_only_future_marks(void **state)
{
	struct world *w = *state;
	const int64_t wrong_ns = 4085000000 * NS_PER_S;
	const struct globals g = with_db(w);
	struct client client;
	char why[512] = "";
	add_agent_data(w, wrong_ns);
	close_store(w);
	client_of(w, &g, &client);
	assert_int_equal(client.agent, AGENT_STOPPED);
	assert_true(client.to_ns == wrong_ns);
	assert_true(check_unknown(&client, SPAN_NS, why, sizeof(why)));
	assert_non_null(strstr(why, "ahead of this machine's clock"));
	client_done(&client);
}

static void expect_replay(struct world *w, int64_t end_ns)
{
	const struct globals g = with_db(w);
	struct client client;
	char why[512];
	client_of(w, &g, &client);
	assert_int_equal(client.agent, STORE_REPLAY);
	assert_true(client.now_ns == end_ns);
	assert_false(check_unknown(&client, SPAN_NS, why, sizeof(why)));
	json_t *doc = status_of(&client);
	assert_string_equal(json_string_value(at(doc, "agent", "state")), "replay");
	assert_true(json_is_false(at(doc, "agent", "stale")));
	assert_string_equal(
		doc_word(json_array_get(json_object_get(doc, "devices"), 0), "status"), "up");
	json_decref(doc);
	client_done(&client);
}

/* Signals of @state in the frame; *@ret_aged: those that say that they were well. */
static size_t count_signals(const json_t *frame, const char *state, size_t *ret_aged)
{
	const json_t *row;
	size_t i, n = 0;
	*ret_aged = 0;
	json_array_foreach (json_object_get(frame, "signals"), i, row) {
		n += str_eq(doc_word(row, "state"), state);
		*ret_aged += str_eq(doc_word(row, "why"), "was ok when the agent stopped");
	}
	return n;
}

/* A frame of the database, as of @until; NULL: now. */
static json_t *frame_of(struct world *w, const char *until)
{
	struct globals g = with_db(w);
	struct client client;
	struct err e = {0};
	g.until = until;
	client_of(w, &g, &client);
	json_t *frame = watch_frame(&client, &e);
	if (!frame)
		fail_msg("%s", e.text);
	client_done(&client);
	return frame;
}

/* An agent ended a moment ago, by a signal or by a crash: its data are not stale yet, and nobody
 * knows what the fabric does. */
static void test_just_stopped(void **state)
{
	struct world *w = *state;
	const int64_t now_ns = wall_now().ns;
	char until[WALL_TEXT_MAX];
	size_t n_aged;
	for (int64_t s = 60; s >= 0; s -= 10) {
		const struct sample errors = {.t_ns = now_ns - s * NS_PER_S,
			.value = 0,
			.entity = entities_intern(w->entities, "leaf2", "swp1", PRIO_NONE),
			.metric = M_PORT_IN_ERRORS,
			.source = SOURCE_SNMP};
		store_samples(w->store, &errors, 1);
	}
	add_agent_data(w, now_ns);
	close_store(w);
	json_t *frame = frame_of(w, NULL);
	assert_string_equal(doc_word(json_object_get(frame, "agent"), "state"), "stopped");
	assert_true(json_is_false(json_object_get(json_object_get(frame, "agent"), "stale")));
	assert_string_equal(doc_word(frame, "state"), "unknown");
	assert_int_equal(count_signals(frame, "ok", &n_aged), 0);
	assert_true(n_aged > 0);
	json_decref(frame);
	/* what it was at a moment of the past is known */
	wall_format(until, (wall_t){now_ns - 10 * NS_PER_S}, 3);
	frame = frame_of(w, until);
	assert_true(count_signals(frame, "ok", &n_aged) > 0);
	assert_int_equal(n_aged, 0);
	json_decref(frame);
}

/* A replay is the past, however old: it says so itself, and an older one is known by what no agent
 * wrote into it. */
static void test_replay(void **state)
{
	struct world *w = *state;
	const int64_t end_ns = 1700000000 * NS_PER_S;
	for (int64_t s = 60; s >= 0; s -= 10)
		add_sample(w, "leaf2", end_ns - s * NS_PER_S);
	close_store(w);
	expect_replay(w, end_ns); /* no mark, no target */
	open_store(w, true);
	store_health(w->store, end_ns, &(struct store_health){"process/rss_bytes", "bytes", 1}, 1);
	struct err e = {0};
	assert_int_equal(store_flush(w->store, &e), 0);
	expect_replay(w, end_ns); /* also while somebody writes it */
	close_store(w);
	expect_replay(w, end_ns); /* the mark */

	/* an agent goes on with the file */
	const struct store_options o = {.path = w->db};
	assert_int_equal(db_store_open(&o, w->entities, &w->store, &e), 0);
	close_store(w);
	struct client client;
	const struct globals g = with_db(w);
	client_of(w, &g, &client);
	assert_int_equal(client.agent, AGENT_STOPPED);
	client_done(&client);
}

/* What a user sees who may read the database, but not the lock. Returns to the parent by exit code.
 */
static int look_without_right(struct world *w, bool fresh)
{
	const struct globals g = with_db(w);
	struct client client;
	struct err e = {0};
	if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
		return 77;
	if (client_open(&client, &g, SPAN_NS, &e) < 0) {
		err_print(stderr, &e);
		return 1;
	}
	if (client.agent != AGENT_CANNOT_TELL || client.agent_alive != fresh)
		return 2;
	json_t *doctor = doctor_document(&client, &e);
	json_t *status = status_document(&client, &e);
	if (!doctor || !status)
		return 3;
	rw_cleanup(freep) char *todo = json_dumps(json_object_get(doctor, "todo"), 0);
	if (strstr(todo, "no agent is running"))
		return 4;
	if ((strstr(todo, "cannot tell whether an agent runs") == NULL) != fresh)
		return 5;
	if (!json_is_null(at(status, "data_quality", "agent_running")) ||
		!str_eq(json_string_value(at(status, "agent", "state")), "cannot_tell") ||
		json_is_true(at(status, "agent", "inferred")) != fresh)
		return 6;
	const json_t *leaf2 = json_array_get(json_object_get(status, "devices"), 0);
	if (!str_eq(doc_word(leaf2, "status"), fresh ? "up" : "unknown"))
		return 7;
	json_decref(doctor);
	json_decref(status);
	client_done(&client);
	return 0;
}

static void expect_without_right(struct world *w, bool fresh)
{
	char name[80];
	static const char *const files[] = {"", "-wal", "-shm"};
	for (size_t i = 0; i < rw_countof(files); i++) {
		snprintf(name, sizeof(name), "%s%s", w->db, files[i]);
		assert_true(chmod(name, 0666) == 0 || errno == ENOENT);
	}
	snprintf(name, sizeof(name), "%s.lock", w->db);
	assert_int_equal(chmod(name, 0600), 0);
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(look_without_right(w, fresh));
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WEXITSTATUS(status) == 77)
		skip(); /* only root may become another user */
	if (status != 0)
		fail_msg("%s data: %d", fresh ? "fresh" : "old", WEXITSTATUS(status));
}

/* A program that embeds the client names a database and no file. */
static void test_no_file_named(void **state)
{
	struct world *w = *state;
	const struct globals with = {.db = w->db}, without = {0};
	struct client client;
	struct err e = {0};
	add_agent_data(w, wall_now().ns);
	close_store(w);
	assert_int_equal(client_open(&client, &with, SPAN_NS, &e), 0);
	client_done(&client);
	assert_int_equal(client_open(&client, &without, SPAN_NS, &e), -EINVAL);
	assert_non_null(strstr(e.text, "there is no configuration"));
}

/* The first seconds of an agent: nothing can be reviewed yet, and that is no failure. */
static void test_too_little_to_review(void **state)
{
	struct world *w = *state;
	const struct globals g = {.db = w->db};
	const struct served_ask ask = {0};
	const struct served_document *row = served_find("tune/review");
	struct client client;
	struct err e = {0};
	json_t *doc = NULL;
	add_sample(w, "leaf2", wall_now().ns);
	close_store(w);
	assert_int_equal(client_open(&client, &g, row->span_ns, &e), 0);
	if (row->make(&client, &ask, &doc, &e) != 0)
		fail_msg("tune/review: %s", e.text);
	assert_int_equal(json_array_size(json_object_get(doc, "sheets")), 0);
	assert_non_null(strstr(doc_word(doc, "reason"), "less than one window"));
	json_decref(doc);
	client_done(&client);
}

/* The writer is this process: it runs, and the reader cannot see that. */
static void test_cannot_tell(void **state)
{
	struct world *w = *state;
	add_agent_data(w, wall_now().ns - 600 * NS_PER_S);
	expect_without_right(w, false);
	add_agent_data(w, wall_now().ns);
	expect_without_right(w, true);
}

static int look_at_copy(struct world *w)
{
	const struct globals g = with_db(w);
	struct client client;
	struct err e = {0};
	if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
		return 77;
	if (client_open(&client, &g, SPAN_NS, &e) < 0) {
		err_print(stderr, &e);
		return 1;
	}
	client_done(&client);
	return 0;
}

/* A copy in a directory that its reader may not write, with the empty log that lay beside it. */
static void test_copied_file(void **state)
{
	struct world *w = *state;
	char name[80];
	int status;
	add_agent_data(w, wall_now().ns);
	close_store(w);
	snprintf(name, sizeof(name), "%s-wal", w->db);
	put_file(name, "", "");
	assert_int_equal(chmod(name, 0444), 0);
	assert_int_equal(chmod(w->db, 0444), 0);
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(look_at_copy(w));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WEXITSTATUS(status) == 77)
		skip(); /* only root may become another user */
	assert_int_equal(status, 0);
}

/* ---- the past ------------------------------------------------------------- */

static void add_incident(struct world *w, const char *id, const char *severity, const char *state,
	int64_t opened_ns, int64_t closed_ns, const char *acked_by, const char *timeline)
{
	rw_cleanup(str_done) struct str json = {0};
	str_addf(&json, "{\"id\":\"%s\",\"state\":\"%s\",\"severity\":\"%s\",\"timeline\":[%s]}",
		id, state, severity, timeline);
	const struct store_incident incident = {.id = id,
		.cause = "pfc_storm",
		.severity = severity,
		.state = state,
		.summary = id,
		.json = json.s,
		.priority = -1,
		.opened_ns = opened_ns,
		.closed_ns = closed_ns,
		.updated_ns = opened_ns,
		.usd_per_hour = NAN,
		.usd_total = NAN,
		.confidence = 0.5,
		.acked_by = acked_by};
	store_incident(w->store, &incident);
}

#define LINE(t, text) "{\"t\":\"2026-03-01T" t "Z\",\"text\":\"" text "\"}"
#define T_03_14 1772334840LL /* 2026-03-01T03:14:00Z */

/* "What did the wall show at 03:14?" Four incidents: over before, open then, not yet, and one that
 * is closed now and was open, less severe and nobody's, then. */
static void test_as_of_a_time(void **state)
{
	struct world *w = *state;
	const int64_t t_ns = T_03_14 * NS_PER_S;
	for (int64_t s = -600; s <= 600; s += 10) {
		add_sample(w, "leaf2", t_ns + s * NS_PER_S);
		if (s < -120)
			add_sample(w, "spine1", t_ns + s * NS_PER_S);
	}
	add_target(w, "leaf2", t_ns + 600 * NS_PER_S);
	add_incident(w, "aaaaaaaa", "critical", "closed", t_ns - 1000 * NS_PER_S,
		t_ns - 100 * NS_PER_S, NULL, "");
	add_incident(w, "bbbbbbbb", "warning", "open", t_ns - 100 * NS_PER_S, 0, NULL,
		LINE("03:12:20", "open: held"));
	add_incident(w, "cccccccc", "critical", "open", t_ns + 100 * NS_PER_S, 0, NULL, "");
	add_incident(w, "dddddddd", "critical", "closed", t_ns - 200 * NS_PER_S,
		t_ns + 300 * NS_PER_S, "alice",
		LINE("03:10:40", "open: held") "," LINE("03:11:00",
			"severity: warning: a job loses 12 % by it") "," LINE("03:15:00",
			"severity: critical") "," LINE("03:16:00",
			"acknowledged by alice: mine") "," LINE("03:19:00", "closed: gone"));
	close_store(w);

	struct globals g = with_db(w);
	struct client client;
	g.around = "2026-03-01 03:14";
	client_of(w, &g, &client);
	assert_true(client.past && client.at_ns == t_ns);
	json_t *doc = status_of(&client);
	assert_string_equal(doc_word(doc, "time"), "2026-03-01T03:14:00.000Z");
	const json_t *leaf2 = json_array_get(json_object_get(doc, "devices"), 0);
	const json_t *spine1 = json_array_get(json_object_get(doc, "devices"), 1);
	assert_string_equal(doc_word(leaf2, "status"), "up");
	assert_true(doc_number(leaf2, "age_s") == 0);
	assert_true(json_is_null(json_object_get(leaf2, "polls")));
	assert_string_equal(doc_word(spine1, "status"), "unknown");
	assert_true(doc_number(spine1, "age_s") == 130);
	const json_t *incidents = json_object_get(doc, "incidents");
	assert_int_equal(json_array_size(incidents), 2);
	const json_t *first = json_array_get(incidents, 0), *second = json_array_get(incidents, 1);
	assert_string_equal(doc_word(first, "id"), "bbbbbbbb");
	assert_string_equal(doc_word(second, "id"), "dddddddd");
	assert_string_equal(doc_word(second, "severity"), "warning");
	assert_string_equal(doc_word(second, "state"), "open");
	assert_true(json_is_null(json_object_get(second, "acked_by")));
	json_decref(doc);
	client_done(&client);

	g.around = NULL;
	g.until = "2026-03-01T03:17:00Z";
	client_of(w, &g, &client);
	struct err e = {0};
	json_t *open = incidents_open(&client, &e);
	assert_int_equal(json_array_size(open), 3);
	const json_t *row = NULL;
	for (size_t i = 0; i < 3; i++)
		if (str_eq(doc_word(json_array_get(open, i), "id"), "dddddddd"))
			row = json_array_get(open, i);
	assert_string_equal(doc_word(row, "severity"), "critical");
	assert_string_equal(doc_word(row, "acked_by"), "alice");
	json_decref(open);
	json_t *doctor = doctor_document(&client, &e);
	assert_non_null(doctor);
	assert_true(json_is_null(at(doctor, "process", "rss_bytes")));
	assert_int_equal(json_array_size(json_object_get(doctor, "todo")), 0);
	assert_int_equal(json_array_size(json_object_get(doctor, "targets")), 2);
	json_decref(doctor);
	client_done(&client);
}

/* Closed, and back after a minute: between the two it was not open. */
static void test_opened_again(void **state)
{
	static const struct {
		int64_t t_s;
		bool open;
		const char *state;
	} rows[] = {
		{T_03_14 - 60, true, "open"},
		{T_03_14 + 1, false, NULL},
		{T_03_14 + 60, true, "open"},
		{T_03_14 + 121, true, "clearing"},
		{T_03_14 + 181, false, NULL},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		json_t *document = json_loads(
			"{\"state\":\"closed\",\"timeline\":[" LINE(
				"03:10:00", "open: held") "," LINE("03:14:00",
				"closed: gone") "," LINE("03:15:00",
				"opened again: the fault is back") "," LINE("03:16:00",
				"clearing: not seen") "," LINE("03:17:00", "closed: gone") "]}",
			0, NULL);
		assert_non_null(document);
		if (incident_as_of(document, rows[i].t_s * NS_PER_S) != rows[i].open)
			fail_msg("row %zu", i);
		if (rows[i].open)
			assert_string_equal(doc_word(document, "state"), rows[i].state);
		json_decref(document);
	}
}

/* ---- a refused reload ----------------------------------------------------- */

static bool doctor_says(struct world *w, const char *words)
{
	const struct globals g = with_db(w);
	struct client client;
	struct err e = {0};
	client_of(w, &g, &client);
	json_t *doc = doctor_document(&client, &e);
	assert_non_null(doc);
	rw_cleanup(freep) char *todo = json_dumps(json_object_get(doc, "todo"), 0);
	bool said = strstr(todo, words) != NULL;
	json_decref(doc);
	client_done(&client);
	return said;
}

static void test_refused_reload(void **state)
{
	static const char words[] = "in force is the one of 2001-09-09 01:46:40Z: x.yaml:3:5: "
				    "unknown key 'rolle'; 1 mistake";
	struct world *w = *state;
	const int64_t now_ns = wall_now().ns;
	struct err e = {0};
	add_agent_data(w, now_ns);
	store_event(w->store, now_ns - 50 * NS_PER_S, "agent_start", NULL, "", "pid 7");
	store_flush(w->store, &e);
	assert_false(doctor_says(w, "was refused"));
	store_event(w->store, now_ns - 40 * NS_PER_S, "config_refused", NULL, "",
		"x.yaml:3:5: unknown key 'rolle'; 1 mistake");
	store_flush(w->store, &e);
	assert_true(doctor_says(w, words));
	store_event(w->store, now_ns - 30 * NS_PER_S, "config_reloaded", NULL, "", "1 changed");
	store_flush(w->store, &e);
	assert_false(doctor_says(w, "was refused"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_broken_file, begin, end),
		cmocka_unit_test_setup_teardown(test_broken_file_and_no_database, begin, end),
		cmocka_unit_test_setup_teardown(test_check_of_a_broken_file, begin, end),
		cmocka_unit_test_setup_teardown(test_stopped_agent, begin, end),
		cmocka_unit_test_setup_teardown(test_just_stopped, begin, end),
		cmocka_unit_test_setup_teardown(test_future_marks, begin, end),
		cmocka_unit_test_setup_teardown(test_only_future_marks, begin, end),
		cmocka_unit_test_setup_teardown(test_replay, begin, end),
		cmocka_unit_test_setup_teardown(test_no_file_named, begin, end),
		cmocka_unit_test_setup_teardown(test_too_little_to_review, begin, end),
		cmocka_unit_test_setup_teardown(test_cannot_tell, begin, end),
		cmocka_unit_test_setup_teardown(test_copied_file, begin, end),
		cmocka_unit_test_setup_teardown(test_as_of_a_time, begin, end),
		cmocka_unit_test(test_opened_again),
		cmocka_unit_test_setup_teardown(test_refused_reload, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
