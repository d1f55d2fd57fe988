/* judge_world - two agents that share a fabric, the judge of both, and one agent that sees all of
 * it, in a time of their own. */
#ifndef RW_TESTS_JUDGE_WORLD_H
#define RW_TESTS_JUDGE_WORLD_H

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

#include "agent/daemon/judge.h"
#include "agent/daemon/life.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/ledger.h"
#include "agent/judge/health.h"
#include "agent/judge/pipeline.h"
#include "agent/modules.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "config/config.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/ship/ship.h"
#include "db/store/store.h"

/* The last pulse before the judge looks is at a whole minute, when windows end; the samples before
 * it are older. */
#define T0 (1763690396 * NS_PER_S)
#define POLL (10 * NS_PER_S)
#define POLLS 150
#define PORTS 4 /* of a leaf */

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

static const char shares_yaml[] = "agents:\n"
				  "  - { name: pod1, devices: [leaf1, spine1] }\n"
				  "  - { name: pod2, devices: [leaf2, spine2] }\n"
				  "judge: { from: \"%s\", wait: 60s, begin: 10y }\n";

/* ---- agents -------------------------------------------------------------- */

struct place {
	char dir[64];
	const char *engine; /* URL that the agents ship to and the judge reads; NULL: their files */
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
	struct ship *ship;
};

static inline void place_new(struct place *p)
{
	snprintf(p->dir, sizeof(p->dir), "/tmp/rocewatch-judge-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
}

static inline void place_remove(const struct place *p)
{
	static const char *const names[] = {"all", "pod1", "pod2", "judge"};
	static const char *const suffixes[] = {"", "-wal", "-shm", ".lock", ".state", ".ship-ch"};
	for (size_t i = 0; i < rw_countof(names); i++) {
		for (size_t k = 0; k < rw_countof(suffixes); k++) {
			char name[160];
			snprintf(name, sizeof(name), "%s/%s.db%s", p->dir, names[i], suffixes[k]);
			unlink(name);
		}
	}
	assert_int_equal(rmdir(p->dir), 0);
}

static inline struct config *config_of(const struct place *p, const char *who)
{
	rw_cleanup(str_done) struct str text = {0}, files = {0};
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct config *c = NULL;
	struct err e = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	str_add(&text, yaml);
	str_addf(&files, "%s/pod1.db,%s/pod2.db", p->dir, p->dir);
	if (!str_eq(who, "all"))
		str_addf(&text, shares_yaml, str_or(p->engine, files.s));
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

static inline void run_open(struct run *r, const struct place *p, const char *who)
{
	struct err e = {0};
	*r = (struct run){.entities = entities_new(), .config = config_of(p, who)};
	snprintf(r->path, sizeof(r->path), "%s/%s.db", p->dir, who);
	struct store_options o = {
		.path = r->path, .spool = p->engine && strncmp(who, "pod", 3) == 0};
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

static inline void run_flush(struct run *r)
{
	struct err e = {0};
	if (store_flush(r->store, &e) != 0)
		fail_msg("%s", e.text);
}

static inline void run_close(struct run *r)
{
	ship_stop(r->ship);
	judge_free(r->judge);
	pipeline_free(r->pipeline);
	ledger_free(r->ledger);
	store_close(r->store);
	entities_free(r->entities);
	config_free(r->config);
}

static inline void run_pulse(struct run *r, const char *name, int64_t now_ns)
{
	pulse_beat(
		&r->pulse, r->entities, pipeline_sink(r->pipeline), name, now_ns, now_ns, POLL, 0);
}

/* One poll of one leaf. leaf1 is skewed for a while, and the job a fifth slower. */
static inline void poll_leaf(struct run *r, int device, int poll)
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

static inline void run_judge(struct run *r, int64_t now_ns)
{
	struct err e = {0};
	int rc = 1;
	while (rc == 1)
		rc = judge_step(r->judge, (mono_t){now_ns}, &e);
	if (rc != 0)
		fail_msg("%s", e.text);
}

/* The judge's own pulse of life: where it is. */
static inline void run_health(struct run *r)
{
	struct health *health = health_new((wall_t){T0});
	health_begin(health, (mono_t){1});
	judge_health(r->judge, health);
	health_commit(health, r->store, T0);
	run_flush(r);
	health_free(health);
}

/* ---- what the databases say ---------------------------------------------- */

static inline int take_line(void *arg, int n, char *const *values, char *const *names)
{
	for (int i = 0; i < n; i++)
		str_addf(arg, "%s|", str_or(values[i], ""));
	str_add(arg, "\n");
	return 0;
}

static inline char *ask(const char *path, const char *sql)
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

/* Until all that was committed has arrived. */
static inline void run_shipped(struct run *r)
{
	struct ship_status status = {0};
	if (!r->ship)
		return;
	rw_cleanup(freep) char *last =
		ask(r->path, "SELECT seq FROM sqlite_sequence WHERE name='spool'");
	for (int i = 0; ship_done(r->ship) < atoll(last); i++) {
		ship_status(r->ship, &status);
		if (i > 3000)
			fail_msg("it does not arrive: %s", status.error);
		usleep(20000);
	}
}

#define INCIDENTS "SELECT json FROM incidents ORDER BY opened_ns, id"
#define EVENTS                                                                                     \
	"SELECT kind, incident_id, text FROM events WHERE incident_id IS NOT NULL ORDER BY t_ns, " \
	"text"
#define FINDINGS                                                                                   \
	"SELECT from_ns, to_ns, analyzer, cause, verdict, device, port, ecmp_group, priority, "    \
	"value, summary FROM findings ORDER BY to_ns, from_ns, analyzer, cause, device, port, "    \
	"ecmp_group, priority"

static inline void same(const char *one, const char *other, const char *sql)
{
	rw_cleanup(freep) char *expected = ask(one, sql), *got = ask(other, sql);
	assert_string_equal(got, expected);
}

static inline int count_sample(void *arg, const struct sample *sample)
{
	if (sample->source != SOURCE_AGENT)
		++*(size_t *)arg;
	return 0;
}

static inline size_t samples_in(const char *path)
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

struct fabric_run {
	struct place place;
	struct run all, pod[2], judge;
	int away_from, away_to; /* polls for which pod2 does not run */
	int step; /* the judge looks after so many polls; 0 = 2 */
	bool engine_down;
	int killed_at; /* the judge is killed, and started anew two minutes later */
	bool untold; /* it never said where it is */
};

static inline void fabric_open(struct fabric_run *f)
{
	place_new(&f->place);
	run_open(&f->all, &f->place, "all");
	run_open(&f->pod[0], &f->place, "pod1");
	run_open(&f->pod[1], &f->place, "pod2");
	run_flush(&f->pod[0]);
	run_flush(&f->pod[1]);
	run_open(&f->judge, &f->place, "judge");
}

static inline void fabric_second(struct fabric_run *f, int poll, int64_t now_ns)
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

static inline void fabric_judge(struct fabric_run *f, int poll, int64_t now_ns)
{
	struct err e = {0};
	run_flush(&f->pod[0]);
	run_flush(&f->pod[1]);
	if (f->engine_down) {
		assert_true(judge_step(f->judge.judge, (mono_t){now_ns}, &e) < 0);
		return;
	}
	for (int i = 0; i < 2; i++)
		run_shipped(&f->pod[i]);
	if (f->killed_at && poll == f->killed_at) {
		/* it lived on after it last said where it is */
		if (!f->untold)
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

static inline void fabric_play(struct fabric_run *f, int from, int to)
{
	const int step = f->step ? f->step : 2;
	for (int poll = from; poll < to; poll++) {
		const bool away = poll >= f->away_from && poll < f->away_to;
		const int64_t now_ns = T0 + poll * POLL + 4 * NS_PER_S;
		for (int device = 0; device < 2; device++) {
			poll_leaf(&f->all, device, poll);
			if (device == 0 || !away)
				poll_leaf(&f->pod[device], device, poll);
		}
		fabric_second(f, poll, now_ns);
		if (poll % step == step - 1)
			fabric_judge(f, poll, now_ns);
	}
	for (int i = 0; i < 2; i++)
		run_flush(&f->pod[i]);
	run_flush(&f->all);
	run_flush(&f->judge);
}

static inline void fabric_close(struct fabric_run *f)
{
	run_close(&f->all);
	run_close(&f->pod[0]);
	run_close(&f->pod[1]);
	run_close(&f->judge);
	place_remove(&f->place);
}

/* What one agent says of windows that the judge has reached too. */
static inline void fabric_same(struct fabric_run *f)
{
	rw_cleanup(str_done) struct str findings = {0};
	same(f->all.path, f->judge.path, INCIDENTS);
	same(f->all.path, f->judge.path, EVENTS);
	str_addf(&findings, "SELECT * FROM (" FINDINGS ") WHERE to_ns <= %lld",
		(long long)judge_until(f->judge.judge) - POLL);
	same(f->all.path, f->judge.path, findings.s);
}

#endif
