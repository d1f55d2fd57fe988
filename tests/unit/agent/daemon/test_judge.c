/*
 * test_judge - two agents with a share of the fabric each, and one judge, against one agent that
 * sees everything: the same incidents, the same findings. A judge that is killed in the middle, a
 * share that is away for ten minutes, and one that never comes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/daemon/health.h"
#include "agent/daemon/judge.h"
#include "agent/daemon/judge_read.h"
#include "agent/daemon/pipeline.h"
#include "agent/daemon/pulse.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/incident_store.h"
#include "agent/incident/ledger.h"
#include "agent/modules.h"
#include "config/config.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"

#define T0 (1763690400 * NS_PER_S)
#define POLL (10 * NS_PER_S)
#define POLLS 150
#define PORTS 4 /* of a leaf */
#define STEP_NS (20 * NS_PER_S) /* the judge looks so often */

static const char yaml[] = "fabric: pod-a\n"
			   "defaults: { interval: 10s, slow_interval: 20s }\n"
			   "devices:\n"
			   "  - { name: leaf1, role: leaf }\n"
			   "  - { name: leaf2, role: leaf }\n"
			   "  - { name: spine1, role: spine }\n"
			   "  - { name: spine2, role: spine }\n"
			   "links:\n"
			   "  - { a: \"leaf1:e49\", b: \"spine1:e1\" }\n"
			   "  - { a: \"leaf1:e50\", b: \"spine2:e1\" }\n"
			   "  - { a: \"leaf2:e49\", b: \"spine1:e2\" }\n"
			   "  - { a: \"leaf2:e50\", b: \"spine2:e2\" }\n"
			   "  - { a: \"leaf1:e1\", b: \"host:n1\" }\n"
			   "  - { a: \"leaf1:e2\", b: \"host:n2\" }\n"
			   "  - { a: \"leaf2:e1\", b: \"host:n3\" }\n"
			   "  - { a: \"leaf2:e2\", b: \"host:n4\" }\n"
			   "jobs:\n"
			   "  - { name: train, gpus: 512, hosts: \"*\" }\n"
			   "cost: { usd_per_gpu_hour: 30 }\n"
			   "analyzers:\n"
			   "  ecmp_imbalance: { window: 60s, hold: 3 }\n";

static const char shares_yaml[] =
	"agents:\n"
	"  - { name: pod1, devices: [leaf1, spine1] }\n"
	"  - { name: pod2, devices: [leaf2, spine2] }\n"
	"judge: { from: \"%s/pod1.db,%s/pod2.db\", wait: 60s, begin: 10y }\n";

/* ---- agents -------------------------------------------------------------- */

struct place {
	char dir[64];
};

struct run {
	char path[128];
	struct entities *entities;
	struct config *config;
	struct store *store;
	struct ledger *ledger;
	struct pipeline *pipeline;
	struct pulse pulse;
	struct judge *judge;
};

static void place_new(struct place *p)
{
	snprintf(p->dir, sizeof(p->dir), "/tmp/rocewatch-judge-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
}

static void place_remove(const struct place *p)
{
	static const char *const names[] = {"all", "pod1", "pod2", "judge"};
	static const char *const suffixes[] = {"", "-wal", "-shm", ".lock", ".state"};
	for (size_t i = 0; i < rw_countof(names); i++) {
		for (size_t k = 0; k < rw_countof(suffixes); k++) {
			char name[160];
			snprintf(name, sizeof(name), "%s/%s.db%s", p->dir, names[i], suffixes[k]);
			unlink(name);
		}
	}
	assert_int_equal(rmdir(p->dir), 0);
}

static struct config *config_of(const struct place *p, const char *who)
{
	rw_cleanup(str_done) struct str text = {0};
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct config *c = NULL;
	struct err e = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	str_add(&text, yaml);
	if (!str_eq(who, "all"))
		str_addf(&text, shares_yaml, p->dir, p->dir);
	if (config_parse(text.s, text.n, "test", CONFIG_CASE, tables, n, &c, &errors) != 0)
		fail_msg("%s", errors.n ? errors.v[0].text : "configuration");
	int rc = 0;
	if (str_eq(who, "judge"))
		rc = config_as_judge(c, &e);
	else if (!str_eq(who, "all"))
		rc = config_as_agent(c, who, &e);
	if (rc != 0)
		fail_msg("%s", e.text);
	return c;
}

static void run_open(struct run *r, const struct place *p, const char *who)
{
	struct err e = {0};
	*r = (struct run){.entities = entities_new(), .config = config_of(p, who)};
	snprintf(r->path, sizeof(r->path), "%s/%s.db", p->dir, who);
	struct store_options o = {.path = r->path};
	if (db_store_open(&o, r->entities, &r->store, &e) != 0)
		fail_msg("%s", e.text);
	r->ledger = ledger_new(r->config->fabric, incident_store, r->store);
	r->pipeline = pipeline_new(r->config, r->entities, r->store, r->ledger);
	if (!str_eq(who, "judge"))
		return;
	const struct judge_world world = {r->config, r->entities, r->pipeline, r->ledger, r->store};
	pipeline_fed(r->pipeline);
	if (judge_new(&world, r->path, &r->judge, &e) != 0)
		fail_msg("%s", e.text);
}

static void run_flush(struct run *r)
{
	struct err e = {0};
	if (store_flush(r->store, &e) != 0)
		fail_msg("%s", e.text);
}

static void run_close(struct run *r)
{
	judge_free(r->judge);
	pipeline_free(r->pipeline);
	ledger_free(r->ledger);
	store_close(r->store);
	entities_free(r->entities);
	config_free(r->config);
}

static void run_pulse(struct run *r, const char *name, int64_t now_ns)
{
	pulse_beat(
		&r->pulse, r->entities, pipeline_sink(r->pipeline), name, now_ns, now_ns, POLL, 0);
}

/* One poll of one leaf. leaf1 is skewed for a while, and the job a fifth slower. */
static void poll_leaf(struct run *r, int device, int poll)
{
	static const char *const ports[PORTS] = {"e49", "e50", "e1", "e2"};
	const struct sink *sink = pipeline_sink(r->pipeline);
	const int64_t t_ns = T0 + poll * POLL + device * 3700 * NS_PER_MS;
	const bool fault = poll >= 40 && poll < 110;
	for (int port = 0; port < PORTS; port++) {
		double share = port < 2 ? 0.4 : 0.3;
		if (fault && port >= 2)
			share = 0.24;
		else if (fault && device == 0)
			share = port ? 0.1 : 0.7;
		/* as many octets as since the start: the same whoever polls */
		const double before_s = 400, during_s = 700, rate = 50e9;
		const double usual = rate * (port < 2 ? 0.4 : 0.3);
		const double at_s = (double)(poll * POLL) / 1e9;
		double octets = usual * at_s;
		if (fault)
			octets = usual * before_s + rate * share * (at_s - before_s);
		else if (poll >= 110)
			octets = usual * at_s -
				during_s *
					(usual -
						rate *
							(port >= 2               ? 0.24
									: device ? 0.4
									: port   ? 0.1
										 : 0.7));
		const struct sample samples[] = {
			{.t_ns = t_ns,
				.entity = entities_intern(r->entities, device ? "leaf2" : "leaf1",
					ports[port], PRIO_NONE),
				.metric = M_PORT_OUT_OCTETS,
				.value = (uint64_t)octets,
				.source = SOURCE_SNMP},
			{.t_ns = t_ns,
				.entity = samples[0].entity,
				.metric = M_PORT_SPEED_BPS,
				.value = 400000000000,
				.source = SOURCE_SNMP},
		};
		sink->samples(sink->arg, samples, poll % 30 == 0 ? 2 : 1);
	}
}

static void run_judge(struct run *r, int64_t now_ns)
{
	struct err e = {0};
	int rc = 1;
	while (rc == 1)
		rc = judge_step(r->judge, (mono_t){now_ns}, &e);
	if (rc != 0)
		fail_msg("%s", e.text);
}

/* The judge's own pulse of life: where it is. */
static void run_health(struct run *r)
{
	struct health *health = health_new((wall_t){T0});
	health_begin(health, (mono_t){1});
	judge_health(r->judge, health);
	health_commit(health, r->store, T0);
	run_flush(r);
	health_free(health);
}

/* ---- what the databases say ---------------------------------------------- */

static int take_line(void *arg, int n, char *const *values, char *const *names)
{
	for (int i = 0; i < n; i++)
		str_addf(arg, "%s|", str_or(values[i], ""));
	str_add(arg, "\n");
	return 0;
}

static char *ask(const char *path, const char *sql)
{
	struct history *history = NULL;
	struct err e = {0};
	struct str out = {0};
	if (db_history_open(path, &history, &e) != 0 ||
		history_sql(history, sql, take_line, &out, &e) != 0)
		fail_msg("%s: %s", path, e.text);
	history_close(history);
	str_add(&out, "");
	return out.s;
}

#define INCIDENTS "SELECT json FROM incidents ORDER BY opened_ns, id"
#define EVENTS                                                                                     \
	"SELECT kind, incident_id, text FROM events WHERE incident_id IS NOT NULL ORDER BY t_ns, " \
	"text"
#define FINDINGS                                                                                   \
	"SELECT from_ns, to_ns, analyzer, cause, verdict, device, port, ecmp_group, priority, "    \
	"value, summary FROM findings ORDER BY to_ns, from_ns, analyzer, cause, device, port, "    \
	"ecmp_group, priority"

static void same(const char *one, const char *other, const char *sql)
{
	rw_cleanup(freep) char *expected = ask(one, sql), *got = ask(other, sql);
	assert_string_equal(got, expected);
}

static int count_sample(void *arg, const struct sample *sample)
{
	if (sample->source != SOURCE_AGENT)
		++*(size_t *)arg;
	return 0;
}

static size_t samples_in(const char *path)
{
	struct history *history = NULL;
	struct err e = {0};
	size_t n = 0;
	if (db_history_open(path, &history, &e) != 0 ||
		history_each_sample(history, NULL, count_sample, &n, &e) != 0)
		fail_msg("%s: %s", path, e.text);
	history_close(history);
	return n;
}

/* ---- tests --------------------------------------------------------------- */

struct fabric_run {
	struct place place;
	struct run all, pod[2], judge;
	int away_from, away_to; /* polls for which pod2 does not run */
	int killed_at; /* the judge is killed, and started anew two minutes later */
};

static void fabric_open(struct fabric_run *f)
{
	place_new(&f->place);
	run_open(&f->all, &f->place, "all");
	run_open(&f->pod[0], &f->place, "pod1");
	run_open(&f->pod[1], &f->place, "pod2");
	run_flush(&f->pod[0]);
	run_flush(&f->pod[1]);
	run_open(&f->judge, &f->place, "judge");
}

static void fabric_second(struct fabric_run *f, int poll, int64_t now_ns)
{
	static const char *const names[] = {"pod1", "pod2"};
	const bool away = poll >= f->away_from && poll < f->away_to;
	run_pulse(&f->all, ENTITY_AGENT_PORT, now_ns);
	pipeline_advance(f->all.pipeline, now_ns);
	for (int i = 0; i < 2; i++) {
		if (i == 1 && away)
			continue;
		run_pulse(&f->pod[i], names[i], now_ns);
		pipeline_advance(f->pod[i].pipeline, now_ns);
	}
}

static void fabric_judge(struct fabric_run *f, int poll, int64_t now_ns)
{
	run_flush(&f->pod[0]);
	run_flush(&f->pod[1]);
	if (f->killed_at && poll == f->killed_at) {
		/* it lived on after it last said where it is */
		run_health(&f->judge);
	} else if (f->killed_at && poll == f->killed_at + 6) {
		run_flush(&f->judge);
		run_close(&f->judge);
		run_open(&f->judge, &f->place, "judge");
	}
	if (f->killed_at && poll > f->killed_at + 6 && poll < f->killed_at + 18)
		return;
	run_judge(&f->judge, now_ns);
}

static void fabric_play(struct fabric_run *f)
{
	for (int poll = 0; poll < POLLS; poll++) {
		const bool away = poll >= f->away_from && poll < f->away_to;
		const int64_t now_ns = T0 + poll * POLL + 4 * NS_PER_S;
		for (int device = 0; device < 2; device++) {
			poll_leaf(&f->all, device, poll);
			if (device == 0 || !away)
				poll_leaf(&f->pod[device], device, poll);
		}
		fabric_second(f, poll, now_ns);
		if (now_ns / STEP_NS != (now_ns + POLL) / STEP_NS)
			fabric_judge(f, poll, now_ns);
	}
	for (int i = 0; i < 2; i++)
		run_flush(&f->pod[i]);
	run_flush(&f->all);
	run_flush(&f->judge);
}

static void fabric_close(struct fabric_run *f)
{
	run_close(&f->all);
	run_close(&f->pod[0]);
	run_close(&f->pod[1]);
	run_close(&f->judge);
	place_remove(&f->place);
}

/* What one agent says of windows that the judge has reached too. */
static void fabric_same(struct fabric_run *f)
{
	rw_cleanup(str_done) struct str findings = {0};
	same(f->all.path, f->judge.path, INCIDENTS);
	same(f->all.path, f->judge.path, EVENTS);
	str_addf(&findings, "SELECT * FROM (" FINDINGS ") WHERE to_ns <= %lld",
		(long long)judge_until(f->judge.judge) - POLL);
	same(f->all.path, f->judge.path, findings.s);
}

/* In the fault the judge is killed, a minute after it last wrote where it was, and is away for two
 * minutes. */
static void test_two_agents_equal_one(void **state)
{
	struct fabric_run f = {.killed_at = 60};
	fabric_open(&f);
	fabric_play(&f);
	rw_cleanup(freep) char *incidents = ask(f.all.path, INCIDENTS);
	assert_non_null(strstr(incidents, "\"leaf1\"")); /* the fault was seen at all */
	fabric_same(&f);
	/* behind the data by the interval that late samples get, and by what one step takes */
	assert_true(judge_until(f.judge.judge) >= T0 + (POLLS - 6) * POLL);
	/* a share keeps its samples and judges nothing; the judge keeps no samples of others */
	rw_cleanup(freep) char *of_share = ask(f.pod[0].path, "SELECT count(*) FROM findings");
	assert_string_equal(of_share, "0|\n");
	assert_int_equal(samples_in(f.judge.path), 0);
	assert_int_equal(
		samples_in(f.pod[0].path) + samples_in(f.pod[1].path), samples_in(f.all.path));
	rw_cleanup(freep) char *doubled = ask(f.judge.path,
		"SELECT count(*) FROM (SELECT 1 FROM findings GROUP BY from_ns, to_ns, analyzer, "
		"cause, device, port, ecmp_group, priority, host HAVING count(*) > 1)");
	assert_string_equal(doubled, "0|\n");
	fabric_close(&f);
}

/* Its devices are unknown, not silent; the others are judged on; it is told, once each way. */
static void test_share_away(void **state)
{
	struct fabric_run f = {.away_from = 50, .away_to = 110};
	int64_t newest_ns;
	fabric_open(&f);
	fabric_play(&f);
	rw_cleanup(freep) char *events = ask(
		f.judge.path, "SELECT kind FROM events WHERE kind LIKE 'share_%' ORDER BY rowid");
	assert_string_equal(events, "share_late|\nshare_back|\n");
	rw_cleanup(freep) char *incidents = ask(f.judge.path,
		"SELECT cause, device, state FROM incidents WHERE cause IN "
		"('telemetry_gap','device_down') ORDER BY id");
	assert_string_equal(incidents, "telemetry_gap||closed|\n");
	rw_cleanup(freep) char *summary = ask(f.judge.path,
		"SELECT count(*) > 0 FROM findings WHERE summary LIKE "
		"'nothing arrives from the agents pod2 for %: 1 switches are unknown'");
	assert_string_equal(summary, "1|\n");
	/* leaf1 was judged all the time */
	rw_cleanup(freep) char *leaf1 = ask(f.judge.path,
		"SELECT count(*) FROM incidents WHERE device='leaf1' AND state='closed'");
	assert_string_not_equal(leaf1, "0|\n");
	assert_false(judge_share_late(f.judge.judge, 1, &newest_ns));
	assert_true(newest_ns > T0 + 140 * POLL);
	fabric_close(&f);
}

/* ---- how far --------------------------------------------------------------- */

#define WAIT_NS (60 * NS_PER_S)
#define AT(s) ((int64_t)(s)*NS_PER_S)

static void test_horizon(void **state)
{
	struct judge_share v[3] = {{.name = "a", .newest_ns = AT(1000), .moved = {AT(10)}},
		{.name = "b", .newest_ns = AT(990), .moved = {AT(10)}},
		{.name = "c", .newest_ns = AT(980), .moved = {AT(9)}}};
	/* the slowest one */
	assert_int_equal(judge_horizon(v, 3, WAIT_NS, (mono_t){AT(12)}), AT(980));
	assert_false(v[2].late);
	/* nothing new from it for the time that was given */
	v[0].moved.ns = v[1].moved.ns = AT(68);
	assert_int_equal(judge_horizon(v, 3, WAIT_NS, (mono_t){AT(69)}), AT(990));
	assert_true(v[2].late);
	assert_int_equal(v[2].late_since_ns, AT(980));
	/* it moves again, not far behind: it is waited for */
	v[2].newest_ns = AT(985);
	v[2].moved.ns = AT(70);
	assert_int_equal(judge_horizon(v, 3, WAIT_NS, (mono_t){AT(70)}), AT(985));
	assert_false(v[2].late);
	/* it moves, and is days behind: it catches up by itself */
	v[0].newest_ns = AT(100000);
	v[1].newest_ns = AT(99990);
	assert_int_equal(judge_horizon(v, 3, WAIT_NS, (mono_t){AT(71)}), AT(99990));
	assert_true(v[2].late);
	/* all stand still: what is there is judged, and none but those behind is late */
	v[2].newest_ns = v[1].newest_ns = AT(100000);
	assert_int_equal(judge_horizon(v, 3, WAIT_NS, (mono_t){AT(900)}), AT(100000));
	assert_false(v[0].late || v[1].late || v[2].late);
	/* none ever came */
	for (int i = 0; i < 3; i++)
		v[i].newest_ns = INT64_MIN;
	assert_int_equal(judge_horizon(v, 3, WAIT_NS, (mono_t){AT(900)}), INT64_MIN);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_horizon),
		cmocka_unit_test(test_two_agents_equal_one),
		cmocka_unit_test(test_share_away),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
