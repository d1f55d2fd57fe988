/*
 * test_doctor - against a live agent with one good snmpd and one port where nobody listens: what
 * the table, the JSON and the exit code say, and the remedies; the same file without an agent;
 * files without health; and how rates are made.
 */
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/open.h"
#include "tests/patience.h"
#include "tests/unit/collectors/snmp/snmp_world.h"

#include "agent/daemon/agent.h"
#include "agent/daemon/reload.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "agent/command/command.h"
#include "agent/answers/doctor/doctor.h"
#include "agent/answers/doctor/doctor_internal.h"
#include "agent/judge/health.h"
#include "agent/jail/parser_child.h"
#include "config/config.h"
#include "db/series/history.h"
#include "db/store/store.h"

#define DEADLINE_NS patience_ns(60 * NS_PER_S)

struct place {
	char dir[64], config[96], db[96], out[96], community[96];
	struct world_agent good;
	uint16_t traps;
	pid_t agent;
};

static void put_config(const struct place *p, uint16_t good, uint16_t dead)
{
	FILE *f = fopen(p->config, "w");
	assert_non_null(f);
	fprintf(f,
		"fabric: test\nstore: { path: %s }\n"
		"credentials:\n  c: { snmp: { version: 2c, community_file: %s } }\n"
		"defaults: { interval: 500ms, timeout: 300ms }\n"
		"devices:\n"
		"  - { name: good, role: leaf, snmp: { address: \"127.0.0.1:%u\", credentials: c } "
		"}\n"
		"  - { name: dead, role: leaf, snmp: { address: \"127.0.0.2:%u\", credentials: c } "
		"}\n"
		"capture:\n  - { name: mirror, interface: rw-not-there }\n"
		"traps: { listen: \"127.0.0.1:%u\", credentials: [c] }\n",
		p->db, p->community, good, dead, p->traps);
	assert_int_equal(fclose(f), 0);
	f = fopen(p->community, "w");
	assert_non_null(f);
	fputs("secret\n", f);
	assert_int_equal(fclose(f), 0);
	chmod(p->community, 0600);
}

static pid_t launch(const struct place *p)
{
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	struct agent_options o = {.config_path = p->config};
	struct err_list errors = {0};
	struct config *config = NULL;
	struct err e = {0};
	log_set_level(LOG_ERROR_);
	if (agent_config(&o, &config, &errors) != 0)
		_exit(2);
	_exit(agent_run(&o, config, &e) == 0 ? 0 : 1);
}

/* The command as a user runs it: its exit code, and what it printed. Caller frees. */
static int doctor(const struct place *p, const char *format, char **ret)
{
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char *argv[] = {"rocewatch", "doctor", "-c", (char *)p->config, "--format",
			(char *)format, NULL};
		int fd = open(p->out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		dup2(fd, 1);
		_exit(cli_run(6, argv, commands));
	}
	int status;
	size_t n;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(str_read_file(p->out, 1 << 20, ret, &n, NULL), 0);
	return WEXITSTATUS(status);
}

static json_t *doctor_json(const struct place *p, int *ret_code)
{
	rw_cleanup(freep) char *text = NULL;
	*ret_code = doctor(p, "json", &text);
	return *ret_code == 2 ? NULL : json_loads(text, 0, NULL);
}

static const json_t *row(const json_t *doc, const char *list, const char *key, const char *name)
{
	json_t *r;
	size_t i;
	json_array_foreach (json_object_get(doc, list), i, r)
		if (str_eq(json_string_value(json_object_get(r, key)), name))
			return r;
	return NULL;
}

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}
static double number_of(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	return json_is_number(v) ? json_number_value(v) : NAN;
}

/* The good one is up and its load is known, the dead one is down and has missed polls. */
static bool settled(const json_t *doc)
{
	const json_t *good = row(doc, "targets", "name", "good"),
		     *dead = row(doc, "targets", "name", "dead");
	return str_eq(text_of(good, "status"), "up") && str_eq(text_of(dead, "status"), "down") &&
		number_of(good, "values_per_s") > 0 && number_of(dead, "missed_polls") > 0;
}

static json_t *wait_settled(const struct place *p, int *ret_code)
{
	for (int64_t until = mono_now().ns + DEADLINE_NS; mono_now().ns < until;
		poll(NULL, 0, 100)) {
		json_t *doc = doctor_json(p, ret_code);
		if (doc && settled(doc))
			return doc;
		json_decref(doc);
	}
	fail_msg("the doctor did not see both targets as they are in time");
	return NULL;
}

static int setup(void **state)
{
	struct place *p = rw_calloc(1, sizeof(*p));
	snprintf(p->dir, sizeof(p->dir), "/tmp/rw-doctor-XXXXXX");
	if (!mkdtemp(p->dir))
		return -1;
	snprintf(p->config, sizeof(p->config), "%s/rw.yaml", p->dir);
	snprintf(p->db, sizeof(p->db), "%s/rw.db", p->dir);
	snprintf(p->out, sizeof(p->out), "%s/out", p->dir);
	snprintf(p->community, sizeof(p->community), "%s/community", p->dir);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	char command[96];
	if (p->agent > 0) {
		kill(p->agent, SIGKILL);
		waitpid(p->agent, NULL, 0);
	}
	agent_stop(&p->good);
	snprintf(command, sizeof(command), "rm -rf %s", p->dir);
	int rc = system(command);
	free(p);
	return rc;
}

static int take_event(void *arg, int n, char *const *v, char *const *names)
{
	*(bool *)arg = v[0] && strlen(v[0]) == strlen("2026-11-21T08:01:12.293Z");
	return 0;
}

/* A linkDown from the good one: in the view "events", with device, port and time. One with a wrong
 * community: dropped and told. */
static void look_at_traps(const struct place *p)
{
	static const struct {
		const char *community;
	} sent[] = {{"secret"}, {"guess"}};
	bool there = false;
	struct err e = {0};
	for (size_t i = 0; i < rw_countof(sent); i++) {
		char line[512];
		snprintf(line, sizeof(line),
			"SNMP_PERSISTENT_DIR=%s MIBS= snmptrap -v2c -c %s 127.0.0.1:%u '' "
			"1.3.6.1.6.3.1.1.5.3 1.3.6.1.2.1.2.2.1.1.1 i 1 "
			">/dev/null 2>&1",
			p->good.dir, sent[i].community, p->traps);
		assert_int_equal(system(line), 0);
	}
	int64_t until = mono_now().ns + DEADLINE_NS;
	while (!there && mono_now().ns < until) {
		struct history *history;
		assert_int_equal(db_history_open(p->db, &history, &e), 0);
		int rc = history_sql(history,
			"SELECT time FROM events WHERE kind='link_down' AND device='good' AND "
			"port='lo' AND text LIKE 'linkDown%'",
			take_event, &there, &e);
		history_close(history);
		if (rc < 0)
			fail_msg("%s", e.text);
		poll(NULL, 0, 50);
	}
	assert_true(there);
	for (bool told = false; !told; poll(NULL, 0, 100)) {
		int code;
		json_t *doc = doctor_json(p, &code);
		const json_t *todo = row(doc, "todo", "subject", "traps"),
			     *t = json_object_get(doc, "traps");
		told = todo && number_of(t, "events") == 1 && number_of(t, "wrong_credential") == 1;
		if (told)
			assert_non_null(strstr(text_of(todo, "do"), "traps.credentials"));
		json_decref(doc);
		if (mono_now().ns > until)
			fail_msg("the doctor does not tell of the wrong community");
	}
}

/* The row that names the device. */
static const json_t *coverage_of(const json_t *doc, const char *device)
{
	json_t *kind, *name;
	size_t i, k;
	json_array_foreach (json_object_get(doc, "coverage"), i, kind)
		json_array_foreach (json_object_get(kind, "devices"), k, name)
			if (str_eq(json_string_value(name), device))
				return kind;
	return NULL;
}

static const json_t *coverage_cause(const json_t *device, const char *list, const char *cause)
{
	return row(device, list, "cause", cause);
}

static bool coverage_sees(const json_t *device, const char *cause)
{
	const json_t *seen = json_object_get(device, "sees");
	for (size_t i = 0; i < json_array_size(seen); i++)
		if (str_eq(json_string_value(json_array_get(seen, i)), cause))
			return true;
	return false;
}

/* Samples of one port of @device, @ago_s old: of the metrics given, or of all of them. */
static void put_samples(struct store *store, struct entities *entities, const char *device,
	const uint16_t *metrics, size_t n, int64_t ago_s)
{
	const int64_t t_ns = wall_now().ns - ago_s * NS_PER_S;
	for (size_t i = 0; i < n; i++) {
		const unsigned metric = metrics ? metrics[i] : (unsigned)i;
		const struct metric_info *info = metric_info(metric);
		struct sample sample = {.metric = (uint16_t)metric, .t_ns = t_ns};
		if (info->type == TYPE_TEXT)
			sample.value = entities_text_of(entities, device, "dscp");
		if (info->scope == SCOPE_DEVICE)
			sample.entity = entities_intern(entities, device, NULL, PRIO_NONE);
		else
			sample.entity = entities_intern(entities, device, "Ethernet0",
				info->scope == SCOPE_PRIO ? 3 : PRIO_NONE);
		store_samples(store, &sample, 1);
	}
}

/* One that delivers IF-MIB only, one that delivers everything (all of it 0), one whose last values
 * are old. */
static void test_coverage(void **state)
{
	static const uint16_t if_mib[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS, M_PORT_IN_PACKETS,
		M_PORT_OUT_PACKETS, M_PORT_IN_ERRORS, M_PORT_IN_DISCARDS, M_PORT_OPER_UP,
		M_PORT_SPEED_BPS, M_PORT_MTU_BYTES};
	static const char *const blind[] = {"slow_receiver", "pfc_storm", "pfc_deadlock",
		"pfc_watchdog", "dcqcn_off", "ecn_late", "ecn_off", "ecn_early", "cnp_starved",
		"incast", "optic_degrading", "headroom_small", "pool_exhausted", "class_leak",
		"baseline_drift", "config_drift"};
	static const char *const sees[] = {"path_asymmetry", "ecmp_imbalance", "missing_rail",
		"missing_route", "host_slow", "mtu_mismatch", "link_slow"};
	static const char *const unsure[] = {"link_errors", "link_flap", "lossless_loss"};
	struct place *p = *state;
	struct entities *entities = entities_new();
	struct store_options o = {.path = p->db, .replay = true};
	struct store *store;
	int code;
	rw_cleanup(freep) char *table = NULL;
	put_config(p, 1, 1);
	FILE *f = fopen(p->config, "w");
	assert_non_null(f);
	fprintf(f,
		"fabric: test\nstore: { path: %s }\ncredentials:\n  c: { snmp: { version: 2c, "
		"community_file: %s } }\n  g: { gnmi: { username: n, password_file: %s } }\n"
		"defaults: { interval: 10s }\ndevices:\n",
		p->db, p->community, p->community);
	static const char *const names[] = {"bare", "whole", "stale", "bare2", "late", "settings"};
	for (size_t i = 0; i < rw_countof(names); i++)
		fprintf(f,
			"  - { name: %s, role: leaf, snmp: { address: 127.0.0.1, credentials: c } "
			"}\n",
			names[i]);
	/* its polls are so far apart that old values are read for it, and only for it */
	fprintf(f,
		"  - { name: seldom, role: leaf, snmp: { interval: 10m, address: 127.0.0.1, "
		"credentials: c } }\n");
	/* SONiC tells marks every 10 s and watermarks every minute, however often it is asked */
	fprintf(f,
		"  - { name: sonic, role: leaf, gnmi: { interval: 1s, address: "
		"\"127.0.0.1:1\", credentials: g } }\n");
	assert_int_equal(fclose(f), 0);
	assert_int_equal(db_store_open(&o, entities, &store, NULL), 0);
	const struct store_device sonic = {
		.name = "sonic", .role = "leaf", .profile = "sonic", .t_ns = wall_now().ns};
	store_device(store, &sonic);
	static const uint16_t each_second[] = {M_PORT_OUT_OCTETS, M_PFC_RX_FRAMES, M_PFC_TX_FRAMES};
	static const uint16_t marks[] = {M_QUEUE_ECN_MARKED}, peaks[] = {M_PG_HEADROOM_WATERMARK};
	put_samples(store, entities, "sonic", each_second, rw_countof(each_second), 1);
	put_samples(store, entities, "sonic", marks, 1, 11);
	put_samples(store, entities, "sonic", peaks, 1, 61);
	uint16_t states[METRIC_COUNT], counters[METRIC_COUNT];
	size_t n_states = 0, n_counters = 0;
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		if (metric_info(m)->kind == METRIC_STATE)
			states[n_states++] = (uint16_t)m;
		else
			counters[n_counters++] = (uint16_t)m;
	put_samples(store, entities, "late", NULL, METRIC_COUNT, 90);
	put_samples(store, entities, "settings", counters, n_counters, 1);
	put_samples(store, entities, "settings", states, n_states, 90);
	put_samples(store, entities, "bare", if_mib, rw_countof(if_mib), 1);
	put_samples(store, entities, "bare2", if_mib, rw_countof(if_mib), 1);
	put_samples(store, entities, "whole", NULL, METRIC_COUNT, 1);
	put_samples(store, entities, "stale", NULL, METRIC_COUNT, 7200);
	store_close(store);
	entities_free(entities);
	json_t *doc = doctor_json(p, &code);
	const json_t *bare = coverage_of(doc, "bare"), *whole = coverage_of(doc, "whole"),
		     *stale = coverage_of(doc, "stale");
	for (size_t i = 0; i < rw_countof(blind); i++)
		if (!coverage_cause(bare, "blind", blind[i]))
			fail_msg("%s is not blind", blind[i]);
	for (size_t i = 0; i < rw_countof(sees); i++)
		if (!coverage_sees(bare, sees[i]))
			fail_msg("%s is not seen", sees[i]);
	for (size_t i = 0; i < rw_countof(unsure); i++)
		if (!coverage_cause(bare, "weak", unsure[i]))
			fail_msg("%s is not unsure", unsure[i]);
	const json_t *missing =
		json_object_get(coverage_cause(bare, "blind", "ecn_late"), "missing");
	assert_int_equal(json_array_size(missing), 2);
	assert_string_equal(text_of(json_array_get(missing, 1), "what"), "ECN marks");
	assert_string_equal(json_string_value(json_array_get(
				    json_object_get(json_array_get(missing, 1), "metrics"), 0)),
		"queue.ecn_marked");
	assert_int_equal(json_array_size(json_object_get(whole, "blind")), 0);
	assert_int_equal(json_array_size(json_object_get(whole, "weak")), 0);
	assert_true(json_array_size(json_object_get(whole, "sees")) > 30);
	assert_true(json_is_false(json_object_get(stale, "delivers")));
	assert_ptr_equal(bare, coverage_of(doc, "bare2")); /* equal ones stand once */
	assert_int_equal(json_array_size(json_object_get(bare, "devices")), 2);
	assert_int_equal(json_array_size(json_object_get(stale, "sees")), 0);
	/* counters of three polls ago are no counters; settings are read seldom, and count longer
	 */
	const json_t *told = coverage_of(doc, "sonic");
	if (coverage_cause(told, "blind", "ecn_late"))
		fail_msg("marks of 11 s ago are no marks");
	if (coverage_cause(told, "blind", "headroom_small"))
		fail_msg("watermarks of a minute ago are no watermarks");
	const json_t *late = coverage_of(doc, "late"), *settings = coverage_of(doc, "settings");
	assert_true(json_is_false(json_object_get(late, "delivers")));
	assert_int_equal(json_array_size(json_object_get(settings, "blind")), 0);
	assert_int_equal(json_array_size(json_object_get(settings, "weak")), 0);
	json_decref(doc);
	doctor(p, "table", &table);
	static const char *const words[] = {"COVERAGE     bare, bare2: shows ",
		"  blind: ", "ecn_late (no pause time or PFC frames; no ECN marks)",
		"  unsure:", ": unknown, nothing was delivered lately"};
	for (size_t i = 0; i < rw_countof(words); i++)
		if (!strstr(table, words[i]))
			fail_msg("'%s' is not in:\n%s", words[i], table);
}

static void test_live(void **state)
{
	struct place *p = *state;
	int code;
	rw_cleanup(freep) char *table = NULL;
	agent_start(&p->good, "udp:127.0.0.1", free_port(AF_INET), "rocommunity secret\n");
	p->traps = free_port(AF_INET);
	put_config(p, p->good.port, free_port(AF_INET));
	p->agent = launch(p);
	json_t *doc = wait_settled(p, &code);
	assert_int_equal(code, 1);
	assert_true(json_is_true(json_object_get(doc, "agent_running")));

	const json_t *good = row(doc, "targets", "name", "good"),
		     *dead = row(doc, "targets", "name", "dead");
	assert_true(number_of(good, "varbinds_per_s") > 0);
	const json_t *shows = coverage_of(doc, "good");
	assert_true(coverage_sees(shows, "missing_route"));
	assert_non_null(coverage_cause(shows, "blind", "slow_receiver"));
	/* optics are asked for, PFC is in no column of this profile */
	const json_t *lacks =
		json_object_get(coverage_cause(shows, "blind", "slow_receiver"), "missing");
	assert_true(json_is_false(json_object_get(json_array_get(lacks, 0), "asked")));
	lacks = json_object_get(coverage_cause(shows, "blind", "optic_degrading"), "missing");
	assert_true(json_is_true(json_object_get(json_array_get(lacks, 0), "asked")));
	shows = coverage_of(doc, "dead");
	assert_true(json_is_false(json_object_get(shows, "delivers")));
	assert_true(number_of(good, "max_repetitions") == 25);
	assert_true(number_of(good, "interval_s") == 0.5);
	assert_true(json_is_null(json_object_get(good, "do")));
	assert_non_null(strstr(text_of(dead, "reason"), "connection refused"));
	assert_non_null(strstr(text_of(dead, "do"), "start the SNMP agent"));
	assert_true(json_is_null(json_object_get(dead, "age_s"))); /* it never answered: not 0 */

	const json_t *todo = row(doc, "todo", "subject", "dead");
	assert_non_null(todo);
	assert_string_equal(text_of(todo, "severity"), "critical");
	assert_non_null(strstr(text_of(todo, "do"), "start the SNMP agent"));
	assert_null(row(doc, "todo", "subject", "good"));
	assert_null(row(doc, "todo", "subject", "agent"));
	todo = row(doc, "todo", "subject", "mirror");
	assert_non_null(todo);

	assert_true(number_of(json_object_get(doc, "data_quality"), "samples") > 0);
	assert_true(number_of(json_object_get(doc, "data_quality"), "suspect_samples") == 0);
	assert_true(number_of(json_object_get(doc, "process"), "rss_bytes") > 1e6);
	assert_true(number_of(json_object_get(json_object_get(doc, "process"), "dropped"),
			    "store_queue") == 0);
	const json_t *store = json_object_get(doc, "store");
	assert_true(number_of(store, "writer_pid") == p->agent);
	assert_true(number_of(store, "disk_free_ratio") > 0 &&
		number_of(store, "disk_free_ratio") <= 1);
	assert_true(number_of(store, "last_commit_age_s") >= 0 &&
		number_of(store, "last_commit_age_s") < 30);
	json_decref(doc);

	assert_int_equal(doctor(p, "table", &table), 1);
	static const char *const words[] = {"TARGET", "good", "connection refused", "DATA QUALITY",
		"STORE", "writer alive", "PROCESS", "TO DO", "CRITICAL", "-> start the SNMP agent"};
	for (size_t i = 0; i < rw_countof(words); i++)
		if (!strstr(table, words[i]))
			fail_msg("'%s' is not in:\n%s", words[i], table);

	look_at_traps(p);

	/* the agent goes: nothing that it said is shown as if it still held */
	kill(p->agent, SIGTERM);
	int status;
	assert_int_equal(waitpid(p->agent, &status, 0), p->agent);
	p->agent = 0;
	doc = doctor_json(p, &code);
	assert_int_equal(code, 1);
	assert_non_null(strstr(
		text_of(row(doc, "todo", "subject", "agent"), "what"), "no agent is running"));
	assert_string_equal(text_of(row(doc, "targets", "name", "good"), "status"), "unknown");
	assert_true(json_is_null(json_object_get(json_object_get(doc, "process"), "rss_bytes")));
	json_decref(doc);
}

/* A figure that the agent's store keeps of itself, and what the doctor says of it. */
struct told_row {
	const char *key;
	double value;
	const char *words;
};

/* The doctor, with these figures in the database, says all of it. Returns its exit code. */
static int tell_rows(const struct place *p, const struct told_row *rows, size_t n)
{
	rw_cleanup(freep) struct store_health *measures = rw_calloc(n, sizeof(*measures));
	rw_cleanup(freep) char *text = NULL;
	struct entities *entities = entities_new();
	struct store_options o = {.path = p->db, .replay = true};
	struct store *store;
	for (size_t i = 0; i < n; i++)
		measures[i] = (struct store_health){
			.key = rows[i].key, .unit = "", .value = rows[i].value};
	assert_int_equal(db_store_open(&o, entities, &store, NULL), 0);
	store_health(store, wall_now().ns, measures, n);
	store_close(store);
	entities_free(entities);
	const int code = doctor(p, "json", &text);
	for (size_t i = 0; i < n; i++)
		if (!strstr(text, rows[i].words))
			fail_msg("'%s' is not in:\n%s", rows[i].words, text);
	return code;
}

/* Each figure of the agent about its store that somebody has to know, in words. */
static void test_store_words(void **state)
{
	struct place *p = *state;
	static const struct told_row rows[] = {
		{"store/retention_failed", 1, "old data could not be deleted"},
		{"store/compact_failed", 1, "samples cannot be made into blocks"},
		{"store/damaged_devices", 3, "stored samples of 3 switches are damaged"},
		{"store/damaged_hours", 2, "2 hours of single switches lack minutes"},
		{"store/retention_held", 1, "the clock is far ahead"},
		{"store/quota_stuck", 1, "the quota is 20 MB, but 151 MB are in use"},
		{"store/quota_bytes", 20e6, "may not be deleted, 110 MB names, 40 MB samples"},
		{"store/used_bytes", 151e6, "40 MB samples"},
		{"store/use/names", 110e6, "110 MB names"},
		{"store/use/samples", 40e6, "store"},
		{"store/quota_full_s", 1e9, "is reached about 2001-09-09 01:46:40Z"},
		{"store/growth_bytes_day", 5e6, "growing by 5 MB a day"},
		{"store/cut/minute", 1, "holds less than store.retention asks for: minute samples"},
		{"store/oldest/minute_s", 1e9, "minute samples"},
		{"names/limit_per_device", 1000, "limits: names_per_device"},
		{"names/crowded/leaf1", 900, "of at most 1000 per device: leaf1 900"},
		{"names/limit", 5000, "raise limits: names,"},
		{"names/known", 4500, "4500 names of all devices are known, of at most 5000"},
		{"names/refused", 7, "leaf7 has more names than it may have: 7 new ones"},
		{"names/device/leaf7", 7, "ports_per_device"},
		{"process/memory_stalled_ratio", 0.45, "45 % of the last 10 s were spent waiting"},
	};
	p->traps = 1;
	put_config(p, 1, 1);
	assert_int_equal(tell_rows(p, rows, rw_countof(rows)), 1);
}

/* What comes pushed and is nobody's, and a receiver that got nothing, have words. */
static void test_pushed_words(void **state)
{
	struct place *p = *state;
	static const struct told_row rows[] = {
		{"push/push0/messages", 9, "\"messages\":"},
		{"push/push0/misnamed", 4, "4 pushed messages name a host that is no device"},
		{"push/push0/misnamed:son1_at_10.0.0.7", 4, "(son1_at_10.0.0.7 4)"},
		{"push/push0/pinned_points", 5, "5 pushed points name a device with push.pin"},
		{"push/push0/refused:pinned:leaf2_at_10.0.0.9", 5, "(leaf2_at_10.0.0.9 5)"},
		{"push/mute/values", 0, "nothing has been pushed to it yet"},
		{"push/hft/unknown_values", 34, "34 IPFIX values are of elements that nothing"},
		{"push/hft/unknown:e0_82", 34, "(e0_82 34)"},
	};
	put_config(p, 1, 1);
	FILE *f = fopen(p->config, "w");
	assert_non_null(f);
	fprintf(f,
		"fabric: test\nstore: { path: %s }\n"
		"credentials:\n  g: { gnmi: { username: n, password_file: %s } }\n"
		"devices:\n  - { name: leaf9, role: leaf, gnmi: { address: \"127.0.0.1:9\", "
		"credentials: g } }\n"
		"push:\n  - { name: push0, grpc: \"127.0.0.1:4317\", allow: [127.0.0.1] }\n"
		"  - { name: hft, ipfix: \"127.0.0.1:4739\", allow: [127.0.0.1] }\n"
		"  - { name: mute, ipfix: \"127.0.0.1:4740\", allow: [127.0.0.1] }\n",
		p->db, p->community);
	assert_int_equal(fclose(f), 0);
	tell_rows(p, rows, rw_countof(rows));
}

static void test_rate(void **state)
{
	struct health_rate r = {0};
	static const struct {
		const char *what;
		int64_t at_s;
		uint64_t count;
		double rate;
	} rows[] = {
		{"the first", 100, 1000, NAN},
		{"too early to say", 101, 1010, NAN},
		{"since the first", 110, 1100, 10},
		{"a minute", 160, 1600, 10},
		{"what was before is forgotten", 221, 1600, 0},
		{"a new process of the count", 230, 5, NAN},
		{"goes on", 240, 25, 2},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		double v = health_rate(&r, (mono_t){rows[i].at_s * NS_PER_S}, rows[i].count);
		if (isnan(v) != isnan(rows[i].rate) || (!isnan(v) && fabs(v - rows[i].rate) > 1e-6))
			fail_msg("%s: %f", rows[i].what, v);
	}
}

/* What is missing since the last answer, beside what the agent counted. */
static void test_missed_polls(void **state)
{
	static const struct {
		const char *what;
		double since_s, step_s, missed;
	} rows[] = {
		{"a moment ago", 1, NAN, 5},
		{"an outage", 103, NAN, 5 + 99},
		{"the clock was set forward by an hour, 2 s ago", 3601, 2, 5},
		{"the same, and silent since then", 3703, 103, 5 + 99},
		{"it was set long ago", 103, 90000, 5 + 99},
		{"never answered", INFINITY, 103, 5 + 99},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const double got = doctor_missed_polls(5, rows[i].since_s, rows[i].step_s, 1);
		if (got != rows[i].missed)
			fail_msg("%s: %g, expected %g", rows[i].what, got, rows[i].missed);
	}
}

/* The words say a share; what matters is how long it lasts. */
static void test_disk_room(void **state)
{
	static const struct {
		const char *what;
		double ratio, bytes, growth_day;
		enum disk_room room;
	} rows[] = {
		{"half of it", 0.5, 5e8, 1e9, DISK_ROOMY},
		{"a large disk, nearly full, a small fabric", 0.02, 6e9, 2e8, DISK_ROOMY},
		{"the same, nothing known of growth", 0.02, 6e9, NAN, DISK_ROOMY},
		{"a week at this growth", 0.02, 6e9, 1e9, DISK_SHORT},
		{"just above a week", 0.02, 7.1e9, 1e9, DISK_ROOMY},
		{"a shrinking database", 0.02, 6e9, -1e9, DISK_ROOMY},
		{"less than a day", 0.02, 6e9, 7e9, DISK_FULL_SOON},
		{"less than a day, of a tenth", 0.09, 6e9, 7e9, DISK_SHORT},
		{"3.9 GB", 0.09, 3.9e9, NAN, DISK_SHORT},
		{"3.9 GB of a small disk", 0.11, 3.9e9, NAN, DISK_ROOMY},
		{"0.9 GB of a small disk", 0.04, 0.9e9, NAN, DISK_SHORT},
		{"0.9 GB", 0.02, 0.9e9, NAN, DISK_FULL_SOON},
		{"1.1 GB", 0.02, 1.1e9, NAN, DISK_SHORT},
		{"not known", NAN, NAN, 1e9, DISK_ROOMY},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const enum disk_room room =
			doctor_disk_room(rows[i].ratio, rows[i].bytes, rows[i].growth_day);
		if (room != rows[i].room)
			fail_msg("%s: %d, expected %d", rows[i].what, room, rows[i].room);
	}
}

int main(int argc, char **argv)
{
	/* the agent under test runs this program anew for each capture */
	if (argc > 1 && str_eq(argv[1], "parser"))
		return parser_child_run(STDIN_FILENO);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_live, setup, teardown),
		cmocka_unit_test_setup_teardown(test_coverage, setup, teardown),
		cmocka_unit_test_setup_teardown(test_store_words, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pushed_words, setup, teardown),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_missed_polls),
		cmocka_unit_test(test_disk_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
