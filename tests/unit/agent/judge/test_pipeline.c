/*
 * test_pipeline - live and replay are the same. Samples go in as they arrive from a network
 * (jittered, devices out of step), into a store and a ledger; the database is then replayed, and
 * the incidents must be the same bytes. Also a restart in the middle.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/command/command.h"
#include "agent/daemon/life.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/ledger.h"
#include "agent/judge/pipeline_state.h"
#include "agent/judge/resume.h"
#include "agent/judge/windows.h"
#include "agent/modules.h"
#include "analyzers/analyzer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/str.h"
#include "config/config.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"

#define T0 (1763690400 * NS_PER_S)
#define POLL (10 * NS_PER_S)
#define POLLS 200
#define PORTS 8 /* leaf1 and leaf2, two uplinks and two hosts each */

static const char yaml[] = "fabric: pod-a\n"
			   /* so that priming reads far back for the past alone */
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
			   "  ecmp_imbalance: { window: 60s, hold: 3 }\n"
			   /* shorter than the fault: what it remembers is not what it began with */
			   "  steps: { past: 11m }\n";

struct arrival {
	int64_t at_ns; /* when it reaches us */
	struct sample s;
};

struct run {
	struct entities *entities;
	struct config *config;
	struct store *store;
	struct ledger *ledger;
	struct pipeline *pipeline;
};

static struct config *config_of(const char *text)
{
	struct config *c = NULL;
	struct err_list errors = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	if (config_parse(text, strlen(text), "test", CONFIG_CASE, tables, n, &c, &errors) != 0)
		fail_msg("%s", errors.n ? errors.v[0].text : "configuration");
	err_list_done(&errors);
	return c;
}

static void run_open(struct run *r, const char *path)
{
	struct err e = {0};
	*r = (struct run){.entities = entities_new(), .config = config_of(yaml)};
	if (path) {
		struct store_options o = {.path = path};
		if (db_store_open(&o, r->entities, &r->store, &e) != 0)
			fail_msg("%s", e.text);
	}
	r->ledger = ledger_new(r->config->fabric, incident_store, r->store);
	r->pipeline = pipeline_new(r->config, r->entities, r->store, r->ledger);
}

static void run_close(struct run *r)
{
	pipeline_free(r->pipeline);
	ledger_free(r->ledger);
	store_close(r->store);
	entities_free(r->entities);
	config_free(r->config);
}

static char *incidents_text(struct run *r)
{
	const struct incident **v;
	size_t n = ledger_incidents(r->ledger, &v);
	json_t *all = json_array();
	for (size_t k = 0; k < n; k++)
		json_array_append_new(all, incident_json(v[k]));
	char *text = json_dumps(all, JSON_INDENT(1));
	json_decref(all);
	return text;
}

/* Numerical Recipes' LCG: the same each run */
static uint32_t random_next(uint32_t *state)
{
	return *state = *state * 1664525u + 1013904223u;
}

static int arrival_compare(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;
	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

/* Each device polls in its own phase, +-10 % jitter; answers take up to 900 ms; each poll brings
 * four ports. leaf1, or both, are skewed for a while, and the job a fifth slower. */
static size_t make_arrivals(struct entities *entities, int n_skewed, struct arrival *v)
{
	static const char *const ports[] = {"e49", "e50", "e1", "e2"};
	uint64_t octets[PORTS] = {1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000};
	uint32_t seed = 7;
	size_t n = 0;
	for (int device = 0; device < 2; device++) {
		const char *name = device ? "leaf2" : "leaf1";
		int64_t t = T0 + device * 3700 * NS_PER_MS, before = t;
		for (int poll = 0; poll < POLLS; poll++) {
			t = T0 + device * 3700 * NS_PER_MS + poll * POLL +
				(int64_t)(random_next(&seed) % 2000) * NS_PER_MS - NS_PER_S;
			for (int port = 0; port < 4; port++) {
				bool fault = poll >= 40 && poll < 110,
				     skewed = fault && device < n_skewed;
				/* all hosts wait */
				double share = port >= 2 ? (fault ? 0.24 : 0.3)
					: skewed         ? (port ? 0.1 : 0.7)
							 : 0.4;
				octets[device * 4 + port] += (uint64_t)(int64_t)(50e9 * share *
					(double)(t - before) / 1e9);
				uint32_t entity =
					entities_intern(entities, name, ports[port], PRIO_NONE);
				int64_t at = t + (int64_t)(random_next(&seed) % 900) * NS_PER_MS;
				v[n++] = (struct arrival){at,
					{.t_ns = t,
						.entity = entity,
						.metric = M_PORT_OUT_OCTETS,
						.value = octets[device * 4 + port],
						.source = SOURCE_SNMP}};
				if (poll % 30 == 0)
					v[n++] = (struct arrival){at,
						{.t_ns = t,
							.entity = entity,
							.metric = M_PORT_SPEED_BPS,
							.value = 400000000000,
							.source = SOURCE_SNMP}};
			}
			before = t;
		}
	}
	qsort(v, n, sizeof(*v), arrival_compare);
	return n;
}

/* As the agent does: what arrives goes in, and once a second time moves on. */
static void play(struct run *r, const struct arrival *v, size_t n, int64_t *now)
{
	const struct sink *sink = pipeline_sink(r->pipeline);
	for (size_t k = 0; k < n; k++) {
		for (; *now + NS_PER_S <= v[k].at_ns; *now += NS_PER_S)
			pipeline_advance(r->pipeline, *now + NS_PER_S);
		sink->samples(sink->arg, &v[k].s, 1);
	}
}

static char *replayed(const char *path)
{
	struct run r;
	struct history *history = NULL;
	struct err e = {0};
	struct resume_range all = {.from_ns = INT64_MIN};
	run_open(&r, NULL);
	if (db_history_open(path, &history, &e) != 0 ||
		resume_feed(history, r.entities, r.pipeline, &all, NULL, &e) != 0)
		fail_msg("%s", e.text);
	pipeline_finish(r.pipeline);
	char *text = incidents_text(&r);
	history_close(history);
	run_close(&r);
	return text;
}

static int take_json(void *arg, int n, char *const *values, char *const *names)
{
	json_array_append_new(arg, json_loads(values[0], 0, NULL));
	return 0;
}

/* What the database says of its incidents. */
static char *stored_incidents(const char *path)
{
	struct history *history = NULL;
	struct err e = {0};
	json_t *all = json_array();
	if (db_history_open(path, &history, &e) != 0 ||
		history_sql(history, "SELECT json FROM incidents ORDER BY opened_ns", take_json,
			all, &e) != 0)
		fail_msg("%s", e.text);
	char *text = json_dumps(all, JSON_INDENT(1));
	json_decref(all);
	history_close(history);
	return text;
}

struct place {
	char dir[64], path[96];
};

static void place_new(struct place *p)
{
	snprintf(p->dir, sizeof(p->dir), "/tmp/rocewatch-pipeline-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/live.db", p->dir);
}

static void place_remove(const struct place *p)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", ".lock", ".state"};
	for (size_t k = 0; k < rw_countof(suffixes); k++) {
		char name[128];
		snprintf(name, sizeof(name), "%s%s", p->path, suffixes[k]);
		unlink(name);
	}
	assert_int_equal(rmdir(p->dir), 0);
}

/* Two analyzers of one phase would leave it to chance which of their findings opens an incident. */
static void test_phases_differ(void **state)
{
	for (size_t i = 0; analyzers[i]; i++) {
		assert_true(analyzers[i]->phase > 0);
		for (size_t k = 0; k < i; k++)
			if (analyzers[k]->phase == analyzers[i]->phase)
				fail_msg("%s and %s have the same phase", analyzers[k]->name,
					analyzers[i]->name);
	}
}

static void test_live_equals_replay(void **state)
{
	struct arrival *v = rw_calloc(POLLS * 20, sizeof(*v));
	struct place place;
	struct run live;
	int64_t now = T0 - 2 * NS_PER_S;
	place_new(&place);
	run_open(&live, place.path);
	size_t n = make_arrivals(live.entities, 1, v);
	play(&live, v, n, &now);
	pipeline_finish(live.pipeline);
	assert_int_equal(store_flush(live.store, NULL), 0);
	rw_cleanup(freep) char *expected = incidents_text(&live);
	assert_int_equal(pipeline_counters(live.pipeline)->late, 0);
	assert_true(pipeline_counters(live.pipeline)->windows > 25);
	run_close(&live);

	rw_cleanup(freep) char *got = replayed(place.path);
	assert_non_null(strstr(expected, "\"leaf1\"")); /* the fault was seen at all */
	assert_null(strstr(expected, "\"device\": \"leaf2\""));
	assert_non_null(strstr(expected, "\"measured_at\": \"host ports\""));
	/* it fell, and this is why: what analyzers look back at was there */
	assert_non_null(strstr(expected, "\"share_ratio\": 1.0"));
	assert_string_equal(got, expected);
	place_remove(&place);
	free(v);
}

static void stop_turn(void *arg)
{
	loop_stop(arg);
}

/* What was seen while windows were judged in slices. */
struct sliced {
	size_t waited; /* samples that came while a window was judged */
	size_t parted; /* turns that ended in the midst of one window's findings */
	size_t most; /* findings that one turn handed on */
};

static void slice_turn(const struct run *r, struct loop *loop, struct sliced *seen)
{
	const struct judging *j = &r->pipeline->judging;
	size_t before = 0;
	if (j->delivers)
		before = j->handed;
	loop_run(loop);
	if (!j->delivers)
		return;
	seen->parted++;
	if (j->handed - before > seen->most)
		seen->most = j->handed - before;
}

/* As play(), but windows are judged in the smallest slices, and the loop turns only now and then:
 * samples arrive while a window is judged. */
static struct sliced play_in_slices(struct run *r, const struct arrival *v, size_t n, int64_t *now)
{
	const struct sink *sink = pipeline_sink(r->pipeline);
	struct loop *loop;
	struct sliced seen = {0};
	assert_int_equal(loop_new(&loop), 0);
	struct loop_timer *stop = loop_timer_new(loop, stop_turn, loop);
	pipeline_in_slices(r->pipeline, loop);
	r->pipeline->judging.slice_ns = 1;
	for (size_t k = 0; k < n; k++) {
		for (; *now + NS_PER_S <= v[k].at_ns; *now += NS_PER_S)
			pipeline_advance(r->pipeline, *now + NS_PER_S);
		sink->samples(sink->arg, &v[k].s, 1);
		seen.waited += r->pipeline->judging.n_samples > 0;
		for (int turns = 0; turns < 2 && r->pipeline->judging.waits; turns++) {
			loop_timer_start(stop, 0, 0);
			slice_turn(r, loop, &seen);
		}
	}
	pipeline_finish(r->pipeline);
	assert_false(r->pipeline->judging.waits);
	loop_timer_free(stop);
	judging_close(r->pipeline);
	loop_free(loop);
	return seen;
}

/* The same samples, judged at once and in slices: the same incidents, byte for byte. What was found
 * is handed on in slices too, one finding in each of the smallest. */
static void test_slices(void **state)
{
	struct arrival *v = rw_calloc(POLLS * 20, sizeof(*v));
	struct run whole, sliced;
	int64_t now = T0 - 2 * NS_PER_S;
	run_open(&whole, NULL);
	size_t n = make_arrivals(whole.entities, 2, v);
	play(&whole, v, n, &now);
	pipeline_finish(whole.pipeline);
	rw_cleanup(freep) char *expected = incidents_text(&whole);

	run_open(&sliced, NULL);
	n = make_arrivals(sliced.entities, 2, v);
	now = T0 - 2 * NS_PER_S;
	const struct sliced seen = play_in_slices(&sliced, v, n, &now);
	assert_true(seen.waited > 20);
	assert_true(seen.parted > 20);
	/* a turn ends when its own timer is due: on a busy machine a second slice is due by then */
	assert_in_range(seen.most, 1, 2);
	rw_cleanup(freep) char *got = incidents_text(&sliced);
	assert_string_equal(got, expected);
	assert_int_equal(pipeline_counters(sliced.pipeline)->late, 0);
	assert_int_equal(pipeline_counters(sliced.pipeline)->samples,
		pipeline_counters(whole.pipeline)->samples);
	assert_int_equal(pipeline_counters(sliced.pipeline)->findings,
		pipeline_counters(whole.pipeline)->findings);
	run_close(&whole);
	run_close(&sliced);
	free(v);
}

/* A sample that is held up for a minute: stored, flagged, analysed neither now nor in replay. */
static void test_late_samples(void **state)
{
	struct arrival *v = rw_calloc(POLLS * 20, sizeof(*v));
	struct place place;
	struct run live;
	int64_t now = T0 - 2 * NS_PER_S;
	place_new(&place);
	run_open(&live, place.path);
	size_t n = make_arrivals(live.entities, 1, v), held = 0;
	for (size_t k = 0; k < n; k++) {
		int64_t since = v[k].s.t_ns - T0;
		if (since > 500 * NS_PER_S && since < 560 * NS_PER_S) {
			v[k].at_ns += 120 * NS_PER_S;
			held++;
		}
	}
	qsort(v, n, sizeof(*v), arrival_compare);
	play(&live, v, n, &now);
	pipeline_finish(live.pipeline);
	assert_int_equal(store_flush(live.store, NULL), 0);
	rw_cleanup(freep) char *expected = incidents_text(&live);
	const struct pipeline_counters *c = pipeline_counters(live.pipeline);
	assert_true(held > 10);
	/* each held sample is older than what its series has by then: told as duplicate, or as late
	 * where the series had nothing newer */
	assert_int_equal(c->late + c->duplicates, held);
	run_close(&live);
	rw_cleanup(freep) char *got = replayed(place.path);
	assert_string_equal(got, expected);
	place_remove(&place);
	free(v);
}

/* ---- a clock that is set -------------------------------------------------- */

#define AHEAD (600 * NS_PER_S) /* of the clock, between these two times */
#define FORWARD_AT (T0 + 600 * NS_PER_S)
#define BACK_AT (T0 + 805 * NS_PER_S)

struct clocks {
	struct run *run;
	struct clock_watch watch;
	int64_t true_ns; /* what the boot clock shows */
	int steps;
};

static int64_t wall_at(int64_t true_ns)
{
	if (true_ns >= FORWARD_AT && true_ns < BACK_AT)
		return true_ns + AHEAD;
	return true_ns;
}

/* As the agent does it. */
static int64_t clocks_now(void *arg)
{
	struct clocks *c = arg;
	const int64_t wall = wall_at(c->true_ns);
	const struct clock_change change = clock_look(&c->watch, wall, c->true_ns, INT64_MAX);
	if (change.step_ns != 0) {
		c->steps++;
		pipeline_clock_set(c->run->pipeline, change.since_ns, change.step_ns);
	}
	return wall;
}

/* The agent's pulse and ticks, each second; samples are timed by the clock as it is. */
static void play_clocks(struct clocks *c, struct arrival *v, size_t n)
{
	const struct sink *sink = pipeline_sink(c->run->pipeline);
	struct pulse pulse = {0};
	int64_t tick_ns = T0 - NS_PER_S;
	pipeline_watch_clock(c->run->pipeline, clocks_now, c);
	for (size_t k = 0; k < n; k++) {
		for (; tick_ns <= v[k].at_ns; tick_ns += NS_PER_S) {
			c->true_ns = tick_ns;
			const int64_t now = clocks_now(c);
			pulse_beat(&pulse, c->run->entities, sink, ENTITY_AGENT_PORT, now, tick_ns,
				POLL, 0);
			pipeline_advance(c->run->pipeline, now);
		}
		c->true_ns = v[k].at_ns;
		/* of walks that were under way, timed at their middle by the clock at their end */
		if (v[k].s.t_ns >= BACK_AT && v[k].s.t_ns < BACK_AT + POLL)
			v[k].s.t_ns = BACK_AT - 3 * NS_PER_S;
		else
			v[k].s.t_ns = wall_at(v[k].s.t_ns);
		sink->samples(sink->arg, &v[k].s, 1);
	}
}

static int take_count(void *arg, int n, char *const *values, char *const *names)
{
	*(int64_t *)arg = strtoll(values[0], NULL, 10);
	return 0;
}

static int64_t count_in(const char *path, const char *sql)
{
	struct history *history = NULL;
	struct err e = {0};
	int64_t count = -1;
	if (db_history_open(path, &history, &e) != 0 ||
		history_sql(history, sql, take_count, &count, &e) != 0)
		fail_msg("%s", e.text);
	history_close(history);
	return count;
}

/*
 * Ten minutes forward, and back 205 s later, in the middle of a fault: every sample is stored, none
 * is taken for a duplicate, the fault stays one incident to its end, and nobody is accused of being
 * silent. What came between is kept, and flagged where its time lay ahead.
 */
static void test_clock_set(void **state)
{
	struct arrival *v = rw_calloc(POLLS * 20, sizeof(*v));
	struct place place;
	struct run live;
	place_new(&place);
	run_open(&live, place.path);
	struct clocks c = {.run = &live};
	size_t n = make_arrivals(live.entities, 1, v);
	play_clocks(&c, v, n);
	pipeline_finish(live.pipeline);
	assert_int_equal(store_flush(live.store, NULL), 0);
	assert_int_equal(c.steps, 2);
	const struct pipeline_counters *counters = pipeline_counters(live.pipeline);
	assert_int_equal(counters->duplicates, 0);
	assert_in_range(counters->late, 0, 20); /* at most the walks that were under way */
	assert_true(counters->windows > 25);

	const struct incident **incidents;
	size_t n_incidents = ledger_incidents(live.ledger, &incidents), n_leaf1 = 0;
	for (size_t k = 0; k < n_incidents; k++) {
		const struct incident *i = incidents[k];
		assert_int_not_equal(i->cause, CAUSE_TELEMETRY_GAP);
		assert_int_equal(i->state, INCIDENT_CLOSED);
		if (!str_eq(i->analyzer, "ecmp_imbalance"))
			continue;
		n_leaf1++;
		/* judged to its end: poll 110 by the right clock */
		assert_in_range(i->closed_ns, T0 + 110 * POLL, T0 + 110 * POLL + 300 * NS_PER_S);
	}
	assert_int_equal(n_leaf1, 1);
	run_close(&live);

	assert_int_equal(
		count_in(place.path, "SELECT count(*) FROM samples WHERE device NOT LIKE '(%)'"),
		(int64_t)n);
	int64_t late = count_in(place.path,
		"SELECT count(*) FROM samples WHERE device NOT LIKE '(%)' AND flags GLOB '*late*'");
	/* those of the 205 s, and of the walks that were under way */
	assert_in_range(late, 20 * 8, 21 * 8 + 16 + 20);
	rw_cleanup(freep) char *once = replayed(place.path);
	rw_cleanup(freep) char *again = replayed(place.path);
	assert_string_equal(once, again);
	assert_non_null(strstr(once, "\"leaf1\""));
	assert_null(strstr(once, "telemetry_gap"));
	place_remove(&place);
	free(v);
}

/* The agent stops (or is killed) at some moment and starts again at once: the story goes on as if
 * nothing had happened. */
static void test_restart(void **state)
{
	static const struct {
		const char *what;
		int at_s;
		enum { KILLED, ORDERLY, HURRIED } stop;
	} rows[] = {
		{"before anything", 15, ORDERLY},
		{"while pending", 530, ORDERLY},
		{"killed while pending", 530, KILLED},
		{"while open", 800, ORDERLY},
		{"killed while open", 817, KILLED},
		{"while clearing", 1200, ORDERLY},
		{"without the time to judge", 1200, HURRIED},
		{"after it closed", 1500, KILLED},
	};
	for (size_t row = 0; row < rw_countof(rows); row++) {
		struct arrival *v = rw_calloc(POLLS * 20, sizeof(*v));
		struct place place;
		struct run live;
		struct err e = {0};
		int64_t now = T0 - 2 * NS_PER_S;
		size_t cut = 0;
		print_message("   row: %s\n", rows[row].what);
		place_new(&place);
		run_open(&live, place.path);
		size_t n = make_arrivals(live.entities, 1, v);
		while (v[cut].at_ns < T0 + rows[row].at_s * NS_PER_S)
			cut++;
		play(&live, v, cut, &now);
		const uint64_t judged = pipeline_counters(live.pipeline)->windows;
		if (rows[row].stop == ORDERLY)
			pipeline_finish(live.pipeline);
		if (rows[row].stop == HURRIED)
			pipeline_finish_by(live.pipeline, (mono_t){1});
		const bool more = pipeline_counters(live.pipeline)->windows > judged;
		assert_int_equal(more, rows[row].stop == ORDERLY && rows[row].at_s > 15);
		assert_int_equal(store_flush(live.store, NULL), 0);
		run_close(&live);

		run_open(&live, place.path);
		if (resume_agent(place.path, live.entities, live.config, live.pipeline, live.ledger,
			    INT64_MAX / 2, &e) != 0)
			fail_msg("%s", e.text);
		struct arrival *again = rw_calloc(POLLS * 20, sizeof(*again));
		assert_int_equal(make_arrivals(live.entities, 1, again), n);
		play(&live, again + cut, n - cut, &now);
		pipeline_finish(live.pipeline);
		assert_int_equal(store_flush(live.store, NULL), 0);
		run_close(&live);

		rw_cleanup(freep) char *expected = replayed(place.path);
		rw_cleanup(freep) char *got = stored_incidents(place.path);
		assert_non_null(strstr(expected, "\"closed\""));
		assert_string_equal(got, expected);
		place_remove(&place);
		free(again);
		free(v);
	}
}

static void test_intake(void **state)
{
	struct run r;
	run_open(&r, NULL);
	const struct sink *sink = pipeline_sink(r.pipeline);
	const struct pipeline_counters *c = pipeline_counters(r.pipeline);
	uint32_t port = entities_intern(r.entities, "leaf1", "e49", PRIO_NONE),
		 device = entities_intern(r.entities, "leaf1", NULL, PRIO_NONE);
	struct sample s = {.t_ns = T0,
		.entity = port,
		.metric = M_PORT_OUT_OCTETS,
		.value = 1,
		.source = SOURCE_SNMP};
	sink->samples(sink->arg, &s, 1);
	assert_int_equal(c->samples, 1);
	sink->samples(sink->arg, &s, 1);
	assert_int_equal(c->duplicates, 1);
	struct sample wrong = s;
	wrong.entity = device;
	sink->samples(sink->arg, &wrong, 1); /* a port counter of a device */
	wrong = s;
	wrong.metric = METRIC_COUNT;
	sink->samples(sink->arg, &wrong, 1);
	wrong = s;
	wrong.entity = 4711;
	sink->samples(sink->arg, &wrong, 1);
	assert_int_equal(c->refused, 3);
	assert_int_equal(c->samples, 1);
	run_close(&r);
}

/* Days without a sample must cost nothing. */
static void test_gap_is_skipped(void **state)
{
	struct run r;
	run_open(&r, NULL);
	const struct sink *sink = pipeline_sink(r.pipeline);
	uint32_t port = entities_intern(r.entities, "leaf1", "e49", PRIO_NONE);
	struct sample v[] = {
		{.t_ns = 0,
			.entity = port,
			.metric = M_PORT_OUT_OCTETS,
			.value = 1,
			.source = SOURCE_REPLAY},
		{.t_ns = T0,
			.entity = port,
			.metric = M_PORT_OUT_OCTETS,
			.value = 2,
			.source = SOURCE_REPLAY},
	};
	pipeline_feed(r.pipeline, v, 2, NULL, 0); /* 29 million windows of a minute lie between */
	pipeline_finish(r.pipeline);
	size_t n = 0;
	while (analyzers[n])
		n++;
	assert_in_range(pipeline_counters(r.pipeline)->windows, 0, 3 * n);
	assert_non_null(sink);
	run_close(&r);
}

/* What the switch calls its port stays when the configuration, which has no alias, comes into
 * force. */
static void test_alias_survives(void **state)
{
	struct place place;
	struct run r;
	place_new(&place);
	run_open(&r, place.path);
	const struct sink *sink = pipeline_sink(r.pipeline);
	pipeline_announce(r.pipeline, T0);
	sink->port(sink->arg, "leaf1", "e49", "to spine1", 400000000000);
	pipeline_announce(r.pipeline, T0 + NS_PER_S);
	run_close(&r);
	assert_int_equal(count_in(place.path,
				 "SELECT count(*) FROM ports WHERE device='leaf1' AND port='e49' "
				 "AND alias='to spine1'"),
		1);
	place_remove(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phases_differ),
		cmocka_unit_test(test_live_equals_replay),
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_late_samples),
		cmocka_unit_test(test_clock_set),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_intake),
		cmocka_unit_test(test_gap_is_skipped),
		cmocka_unit_test(test_alias_survives),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
