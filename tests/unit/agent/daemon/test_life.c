/* test_life - the agent's own life as events: what the next agent, and every reader, finds. Also
 * the watch over the clocks. */
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

#include "agent/daemon/life.h"
#include "agent/judge/health.h"
#include "agent/sources/sources.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"

#define T0 (1763690400 * NS_PER_S)
#define GAP (10 * NS_PER_S)
#define BOOT_NS (5000 * NS_PER_S) /* how long the machine has run */
/* Runs of the machine. They differ in the last digit, and as numbers would be longer than 10^15. */
#define BOOT "3982233994303544"
#define BOOT_OTHER "3982233994303545"

struct world {
	char dir[64], db[80];
	struct entities *entities;
	struct store *store;
};

static int setup(void **state)
{
	struct world *w = rw_calloc(1, sizeof(*w));
	struct err e = {0};
	snprintf(w->dir, sizeof(w->dir), "/tmp/rocewatch-life-XXXXXX");
	if (!mkdtemp(w->dir))
		return -1;
	snprintf(w->db, sizeof(w->db), "%s/rw.db", w->dir);
	w->entities = entities_new();
	*state = w;
	return db_store_open(
		&(struct store_options){.path = w->db, .replay = true}, w->entities, &w->store, &e);
}

static int teardown(void **state)
{
	struct world *w = *state;
	char command[128];
	store_close(w->store);
	entities_free(w->entities);
	snprintf(command, sizeof(command), "rm -r %s", w->dir);
	int rc = system(command);
	free(w);
	return rc;
}

static int add_row(void *arg, int n, char *const *values, char *const *names)
{
	str_addf(arg, "%s %s\n", values[0], values[1]);
	return 0;
}

/* Every event, "kind text", oldest first. */
static void expect_events(struct world *w, const char *expected)
{
	rw_cleanup(str_done) struct str got = {0};
	struct history *history = NULL;
	struct err e = {0};
	assert_int_equal(store_flush(w->store, &e), 0);
	assert_int_equal(db_history_open(w->db, &history, &e), 0);
	assert_int_equal(history_sql(history,
				 "SELECT kind, replace(text, 'pid ' || "
				 "substr(text, instr(text, 'pid ') + 4, 9), 'pid N') "
				 "FROM events ORDER BY t_ns",
				 add_row, &got, &e),
		0);
	history_close(history);
	if (!str_eq(str_or(got.s, ""), expected))
		fail_msg("events are\n%s\nexpected\n%s", str_or(got.s, ""), expected);
}

static struct life_past past_at(struct world *w, int64_t now_ns)
{
	struct life_past past;
	const struct life_boot boot = {.id = BOOT, .booted_ns = now_ns - BOOT_NS};
	struct err e = {0};
	assert_int_equal(store_flush(w->store, &e), 0);
	if (life_read(w->db, now_ns, &boot, &past, &e) != 0)
		fail_msg("%s", e.text);
	return past;
}

static void put_sample(struct world *w, int64_t t_ns)
{
	struct sample s = {.t_ns = t_ns,
		.value = 1,
		.entity = entities_intern(w->entities, "sw1", "e1", PRIO_NONE),
		.metric = M_PORT_IN_OCTETS,
		.source = SOURCE_SNMP};
	store_samples(w->store, &s, 1);
}

static void test_first_start(void **state)
{
	struct world *w = *state;
	struct life_past past = past_at(w, T0);
	assert_int_equal(past.seen_ns, 0);
	life_started(w->store, &past, T0, GAP);
	rw_cleanup(str_done) struct str expected = {0};
	str_addf(&expected, "agent_start rocewatch %s started, pid %d\n", RW_VERSION, getpid());
	struct str got = {0};
	struct history *history = NULL;
	struct err e = {0};
	store_flush(w->store, &e);
	assert_int_equal(db_history_open(w->db, &history, &e), 0);
	history_sql(history, "SELECT kind, text FROM events", add_row, &got, &e);
	history_close(history);
	assert_string_equal(got.s, expected.s);
	str_done(&got);
}

/* An absence is recorded with its length, its ends and its reason: an ordered stop, or none. */
static void test_away(void **state)
{
	struct world *w = *state;
	static const struct life_past none;
	life_started(w->store, &none, T0, GAP);
	put_sample(w, T0 + 60 * NS_PER_S);
	life_stopped(w->store, T0 + 61 * NS_PER_S, "SIGTERM");

	struct life_past past = past_at(w, T0 + 404 * NS_PER_S);
	assert_true(past.stopped);
	assert_int_equal(past.seen_ns, T0 + 61 * NS_PER_S);
	life_started(w->store, &past, T0 + 404 * NS_PER_S, GAP);
	put_sample(w, T0 + 500 * NS_PER_S);

	/* no stop: it crashed; its last sample says until when it lived */
	past = past_at(w, T0 + 800 * NS_PER_S);
	assert_false(past.stopped);
	assert_int_equal(past.seen_ns, T0 + 500 * NS_PER_S);
	life_started(w->store, &past, T0 + 800 * NS_PER_S, GAP);

	/* a quick restart is no absence */
	past = past_at(w, T0 + 805 * NS_PER_S);
	life_started(w->store, &past, T0 + 805 * NS_PER_S, GAP);
	struct history *history = NULL;
	struct err e = {0};
	rw_cleanup(str_done) struct str got = {0};
	store_flush(w->store, &e);
	assert_int_equal(db_history_open(w->db, &history, &e), 0);
	history_sql(history,
		"SELECT kind, CASE kind WHEN 'agent_start' THEN "
		"ifnull(nullif(substr(text, instr(text, ', after')), text), '') ELSE text END "
		"FROM events ORDER BY t_ns, kind",
		add_row, &got, &e);
	history_close(history);
	assert_string_equal(got.s,
		"agent_start \n"
		"agent_stop the agent was stopped: SIGTERM\n"
		"agent_away nothing was collected for 5m43s, from 2025-11-21 02:01:01Z to "
		"2025-11-21 02:06:44Z: the agent was stopped: SIGTERM\n"
		"agent_start , after 5m43s away\n"
		"agent_away nothing was collected for 5m00s, from 2025-11-21 02:08:20Z to "
		"2025-11-21 02:13:20Z: the agent had not been stopped; it crashed, was killed, or "
		"the machine lost power\n"
		"agent_start , after 5m00s away\n"
		"agent_start \n");
}

/* Samples from before the clock was set back, while no agent ran, are no sign of life. */
static void test_ahead(void **state)
{
	struct world *w = *state;
	static const struct life_past none;
	life_started(w->store, &none, T0, GAP);
	put_sample(w, T0 + 3600 * NS_PER_S);
	struct life_past past = past_at(w, T0 + 5 * NS_PER_S);
	assert_int_equal(past.ahead_ns, 3595 * NS_PER_S);
	assert_int_equal(past.seen_ns, T0);
}

/* What the agent before left of the machine's clocks. */
static void put_boot(struct world *w, int64_t t_ns, const char *id)
{
	struct health *health = health_new((wall_t){t_ns});
	health_begin(health, mono_now());
	health_boot(health, id, t_ns - BOOT_NS);
	health_commit(health, w->store, t_ns);
	health_free(health);
}

/* The clock is set by @step_s while no agent runs for 3 s; what the next one writes, on the run
 * @is of the machine. @was: what the one before knew of its own. */
static void expect_restart_of(
	struct world *w, int64_t step_s, const char *was, const char *is, const char *expected)
{
	rw_cleanup(str_done) struct str got = {0};
	struct history *history = NULL;
	struct life_past past;
	struct err e = {0};
	const int64_t now_ns = T0 + (step_s + 3) * NS_PER_S;
	struct life_boot boot = {.booted_ns = now_ns - 3 * NS_PER_S - BOOT_NS};
	snprintf(boot.id, sizeof(boot.id), "%s", is);
	put_sample(w, T0);
	put_boot(w, T0, was);
	assert_int_equal(store_flush(w->store, &e), 0);
	assert_int_equal(life_read(w->db, now_ns, &boot, &past, &e), 0);
	life_started(w->store, &past, now_ns, GAP);
	assert_int_equal(store_flush(w->store, &e), 0);
	assert_int_equal(db_history_open(w->db, &history, &e), 0);
	history_sql(history,
		"SELECT kind, CASE kind WHEN 'agent_start' THEN '' ELSE text END FROM event "
		"ORDER BY id",
		add_row, &got, &e);
	history_close(history);
	if (!str_eq(str_or(got.s, ""), expected))
		fail_msg("events are\n%s\nexpected\n%s", str_or(got.s, ""), expected);
}

static void expect_restart(struct world *w, int64_t step_s, const char *boot, const char *expected)
{
	expect_restart_of(w, step_s, BOOT, boot, expected);
}

static void test_set_forward_while_away(void **state)
{
	expect_restart(*state, 30 * 86400, BOOT,
		"clock_step the clock was set forward by 30d00h while no agent ran; no difference "
		"is "
		"drawn across the step\nagent_start \n");
}

static void test_set_back_while_away(void **state)
{
	expect_restart(*state, -7200, BOOT,
		"clock_step the clock was set back by 2h00m while no agent ran; samples ahead of "
		"the "
		"clock are kept and not analysed\nagent_start \n");
}

/* Another run of the machine: it was off, or its clock was set; who looks should know both. */
static void test_other_boot(void **state)
{
	expect_restart(*state, 30 * 86400, BOOT_OTHER,
		"agent_away nothing was collected for 30d00h, from 2025-11-21 02:00:00Z to "
		"2025-12-21 02:00:03Z: the agent had not been stopped; it crashed, was killed, or "
		"the machine lost power; the machine was restarted too: check that its clock is "
		"right\nagent_start \n");
}

static void test_short_restart(void **state)
{
	expect_restart(*state, 0, BOOT, "agent_start \n");
}

/* Where one of the two does not know its run, nothing is said of the machine. */
static void expect_boot_unknown(struct world *w, const char *was, const char *is)
{
	expect_restart_of(w, 30 * 86400, was, is,
		"agent_away nothing was collected for 30d00h, from 2025-11-21 02:00:00Z to "
		"2025-12-21 02:00:03Z: the agent had not been stopped; it crashed, was killed, or "
		"the machine lost power\nagent_start \n");
}

static void test_boot_unknown_before(void **state)
{
	expect_boot_unknown(*state, "", BOOT);
}

static void test_boot_unknown_now(void **state)
{
	expect_boot_unknown(*state, BOOT, "");
}

/* The kernel's text, whole, and the same at each look. */
static void test_boot_now(void **state)
{
	const struct life_boot boot = life_boot_now(T0), again = life_boot_now(T0);
	rw_cleanup(freep) char *text = NULL;
	struct err e = {0};
	size_t n;
	if (str_read_file("/proc/sys/kernel/random/boot_id", 256, &text, &n, &e) != 0)
		skip();
	assert_int_equal(strlen(boot.id), strcspn(text, "\n"));
	assert_memory_equal(boot.id, text, strlen(boot.id));
	assert_string_equal(boot.id, again.id);
}

static void put_text(const char *dir, const char *name, const char *text)
{
	rw_cleanup(str_done) struct str path = {0};
	str_addf(&path, "%s/%s", dir, name);
	FILE *f = fopen(path.s, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static bool said(struct memory_watch *watch, int64_t at_s, char text[MEMORY_TEXT_MAX])
{
	text[0] = '\0';
	return memory_watch_look(watch, (mono_t){at_s * NS_PER_S}, text, MEMORY_TEXT_MAX);
}

/* The files are opened once and written anew in place, as the kernel does. */
static void test_memory(void **state)
{
	struct world *w = *state;
	char command[256], text[MEMORY_TEXT_MAX];
	snprintf(command, sizeof(command), "mkdir -p %s/self %s/a/b %s/pressure", w->dir, w->dir,
		w->dir);
	assert_int_equal(system(command), 0);
	put_text(w->dir, "self/cgroup", "1:name=x:/y\n0::/a/b\n");
	put_text(w->dir, "a/b/memory.events", "low 0\nhigh 5\nmax 0\noom 0\noom_kill 0\n");
	put_text(w->dir, "pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
	struct memory_watch *watch = memory_watch_new(w->dir, w->dir);
	assert_false(said(watch, 1, text)); /* what was before does not count */
	put_text(w->dir, "a/b/memory.events", "low 0\nhigh 9\nmax 2\noom 1\noom_kill 0\n");
	assert_true(said(watch, 2, text));
	assert_string_equal(text,
		"memory is short: held back at MemoryHigh (4 times), at its limit, MemoryMax (2 "
		"times), out of memory (1 times)");
	assert_int_equal(memory_watch_counts(watch)->n[MEMORY_HIGH], 4);
	assert_false(said(watch, 3, text));
	put_text(w->dir, "pressure/memory", "some avg10=45.20 avg60=9.00 avg300=1.00 total=9\n");
	assert_false(said(watch, 500, text)); /* once in ten minutes */
	assert_true(said(watch, 700, text));
	assert_string_equal(
		text, "memory is short: 45 % of the last 10 s were spent waiting for memory");
	memory_watch_free(watch);
	watch = memory_watch_new("/nowhere", "/nowhere");
	assert_false(said(watch, 1, text));
	assert_null(memory_watch_counts(watch));
	memory_watch_free(watch);
}

static void test_refused(void **state)
{
	struct world *w = *state;
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct err e = {0};
	err_at(&e, -EINVAL, "rw.yaml", 10, 20, "unknown key 'rolle', did you mean 'role'?");
	err_list_add(&errors, &e);
	err_at(&e, -EINVAL, "rw.yaml", 12, 3, "another");
	err_list_add(&errors, &e);
	life_refused(w->store, T0, &errors);
	expect_events(w,
		"config_refused reload refused, the running configuration stays: 2 mistakes; the "
		"first: rw.yaml:10:20: unknown key 'rolle', did you mean 'role'?\n");
}

static void test_reloaded(void **state)
{
	static const struct {
		const char *what, *was, *is, *changed;
	} rows[] = {
		{"nothing", "fabric: a\n", "fabric: a\n", "nothing that it shows changed"},
		{"one section", "fabric: a\ndevices:\n  - { name: x }\nsinks: {}\n",
			"fabric: a\ndevices:\n  - { name: y }\nsinks: {}\n", "devices changed"},
		{"longer, new and gone", "fabric: a\ncost: { usd: 1 }\ndevices:\n- a\n",
			"fabric: a\ndevices:\n- a\n- b\njobs:\n- { name: j }\n",
			"devices, jobs, cost changed"},
	};
	struct world *w = *state;
	const struct source_changes changes = {1, 2, 3, 4};
	rw_cleanup(str_done) struct str expected = {0};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		life_reloaded(w->store, T0 + (int64_t)i, rows[i].was, rows[i].is, &changes);
		str_addf(&expected,
			"config_reloaded configuration reloaded: %s; sources: 1 added, 2 removed, "
			"3 changed, 4 unchanged\n",
			rows[i].changed);
		expect_events(w, expected.s);
	}
}

static void test_clocks(void **state)
{
	static const struct {
		const char *what;
		double wall_s, boot_s; /* moved since the look before */
		double step_s, away_s;
	} rows[] = {
		{"a second", 1, 1, 0, 0},
		{"NTP slews", 1.0005, 1, 0, 0},
		{"below the threshold", 2.9, 1, 0, 0},
		{"below it again: both together", 2.9, 1, 3.8, 0},
		{"a quiet hour", 3601, 3601, 0, 3601},
		{"slewed for an hour", 3602.8, 3601, 0, 3601},
		{"forward", 3601, 1, 3600, 0},
		{"back", -599, 1, -600, 0},
		{"back by just enough", -1, 1, -2, 0},
		{"the process was stopped", 30, 30, 0, 30},
		{"the machine slept, and its clock was set", 90, 30, 60, 30},
		{"a busy machine", 9, 9, 0, 0},
	};
	struct clock_watch watch = {0};
	int64_t wall = T0, boot = 77 * NS_PER_S;
	struct clock_change change = clock_look(&watch, wall, boot, GAP);
	assert_int_equal(change.step_ns, 0);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		wall += (int64_t)(rows[i].wall_s * 1e9);
		boot += (int64_t)(rows[i].boot_s * 1e9);
		change = clock_look(&watch, wall, boot, GAP);
		const double step_s = (double)change.step_ns / 1e9;
		if (step_s < rows[i].step_s - 0.01 || step_s > rows[i].step_s + 0.01 ||
			change.away_ns != (int64_t)(rows[i].away_s * 1e9))
			fail_msg("%s: step %lld away %lld", rows[i].what, (long long)change.step_ns,
				(long long)change.away_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_first_start, setup, teardown),
		cmocka_unit_test_setup_teardown(test_away, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ahead, setup, teardown),
		cmocka_unit_test_setup_teardown(test_set_forward_while_away, setup, teardown),
		cmocka_unit_test_setup_teardown(test_set_back_while_away, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_boot, setup, teardown),
		cmocka_unit_test_setup_teardown(test_short_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_boot_unknown_before, setup, teardown),
		cmocka_unit_test_setup_teardown(test_boot_unknown_now, setup, teardown),
		cmocka_unit_test_setup_teardown(test_boot_now, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reloaded, setup, teardown),
		cmocka_unit_test(test_clocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
