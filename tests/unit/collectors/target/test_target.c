/* target: the pause between tries, the jitter, secrets, and a deadline that passes while the agent
 * is busy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/locked.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "collectors/target/target.h"

static void test_backoff(void **state)
{
	static const struct target_hooks unbounded = {.protocol = "snmp"};
	static const struct target_hooks bounded = {.protocol = "gnmi",
		.backoff_min_ns = 200 * NS_PER_MS,
		.backoff_max_ns = 60 * NS_PER_S};
	static const struct {
		const char *what;
		const struct target_hooks *hooks;
		unsigned failures;
		int64_t interval_ns, expected_ns;
	} rows[] = {
		{"the first: one interval", &unbounded, 1, 10 * NS_PER_S, 10 * NS_PER_S},
		{"the second: two", &unbounded, 2, 10 * NS_PER_S, 20 * NS_PER_S},
		{"never more than three", &unbounded, 50, 10 * NS_PER_S, 30 * NS_PER_S},
		{"no bound", &unbounded, 3, 60 * NS_PER_S, 180 * NS_PER_S},
		{"the least", &bounded, 1, 10 * NS_PER_MS, 200 * NS_PER_MS},
		{"the most", &bounded, 3, 60 * NS_PER_S, 60 * NS_PER_S},
	};
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (target_backoff_ns(rows[i].hooks, rows[i].failures, rows[i].interval_ns) !=
			rows[i].expected_ns)
			fail_msg("%s", rows[i].what);
}

static void test_jitter(void **state)
{
	struct target_machine machine = {.random = 1};
	int64_t least = INT64_MAX, most = 0;
	for (int i = 0; i < 10000; i++) {
		int64_t ns = target_jittered(&machine, NS_PER_S);
		if (ns < least)
			least = ns;
		if (ns > most)
			most = ns;
	}
	assert_in_range(least, 900 * NS_PER_MS, 905 * NS_PER_MS);
	assert_in_range(most, 1095 * NS_PER_MS, 1100 * NS_PER_MS);
}

static void test_secrets(void **state)
{
	const struct config_secret file = {.from = SECRET_FILE, .name = "/etc/rw/a"},
				   same = {.from = SECRET_FILE,
					   .name = "/etc/rw/a",
					   .line = 7,
					   .col = 3},
				   other = {.from = SECRET_FILE, .name = "/etc/rw/b"},
				   none = {.from = SECRET_NONE};
	assert_true(target_secret_same(&file, &same));
	assert_false(target_secret_same(&file, &other));
	assert_false(target_secret_same(&file, &none));
	assert_true(target_secret_same(&none, &none));
	char *text = locked_dup("secret");
	target_secret_wipe(&text);
	assert_null(text);
	target_secret_wipe(&text);
}

#define LIMIT_NS (20 * NS_PER_MS)
#define STALL_NS (400 * NS_PER_MS)

struct poll {
	struct loop *loop;
	mono_t began, ended;
};

static void on_poll_late(void *arg)
{
	struct poll *p = arg;
	p->ended = mono_now();
	loop_stop(p->loop);
}

/* The agent does something else for so long. */
static void on_stall(void *arg)
{
	const int64_t until_ns = mono_now().ns + STALL_NS;
	while (mono_now().ns < until_ns)
		continue;
	(void)arg;
}

/* A deadline that passes while the agent itself is busy is no reason to blame the device: it gets
 * the time that the agent took. */
static void own_stall(bool same_turn)
{
	static const struct target_hooks hooks = {.protocol = "snmp", .deadline = on_poll_late};
	struct poll poll = {0};
	struct config config = {0};
	const struct config_device device = {.name = "leaf1"};
	struct target_machine machine;
	struct err e = {0};
	assert_int_equal(loop_new(&poll.loop), 0);
	const struct target_setup setup = {.loop = poll.loop,
		.device = &device,
		.config = &config,
		.sink = &(struct sink){0},
		.host = "127.0.0.1",
		.port = 161};
	assert_int_equal(target_init(&machine, &hooks, &poll, &setup, &e), 0);
	struct loop_timer *stall = loop_timer_new(poll.loop, on_stall, NULL);
	poll.began = mono_now();
	target_limit(&machine, LIMIT_NS);
	loop_timer_start(stall, NS_PER_MS, 0);
	while (same_turn && mono_now().ns < poll.began.ns + 2 * LIMIT_NS)
		continue;
	loop_run(poll.loop);
	assert_true(loop_away_ns(poll.loop) >= STALL_NS);
	assert_true(poll.ended.ns - poll.began.ns >= 2 * STALL_NS);
	loop_timer_free(stall);
	target_done(&machine);
	loop_free(poll.loop);
}

static void test_own_stall(void **state)
{
	own_stall(false);
}

/* Both are due when the loop wakes: the stall comes first, the deadline right after it. */
static void test_own_stall_at_once(void **state)
{
	own_stall(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_backoff),
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_own_stall),
		cmocka_unit_test(test_own_stall_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
