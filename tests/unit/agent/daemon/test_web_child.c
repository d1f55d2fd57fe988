/* test_web_child - the web server's process, played by a shell: started with nothing of ours, told
 * to reload, noticed when it ends, started again with growing gaps, ended for sure. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/daemon/web.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/str.h"
#include "tests/patience.h"

#define DEADLINE_NS patience_ns(60 * NS_PER_S)

struct world {
	char dir[64], file[80];
	struct loop *loop;
	struct loop_timer *timer;
	struct web_child *child;
	int downs;
	char why[160];
	bool (*until)(struct world *w);
	int64_t deadline_ns;
	const char *expected; /* part of the file */
};

static int setup(void **state)
{
	struct world *w = rw_calloc(1, sizeof(*w));
	snprintf(w->dir, sizeof(w->dir), "/tmp/rocewatch-web-XXXXXX");
	if (!mkdtemp(w->dir))
		return -1;
	snprintf(w->file, sizeof(w->file), "%s/said", w->dir);
	setenv("SAID", w->file, 1);
	*state = w;
	return loop_new(&w->loop);
}

static int teardown(void **state)
{
	struct world *w = *state;
	web_child_free(w->child);
	loop_timer_free(w->timer);
	loop_free(w->loop);
	unlink(w->file);
	const int rc = rmdir(w->dir);
	free(w);
	return rc;
}

static void on_down(void *arg, const char *why)
{
	struct world *w = arg;
	w->downs++;
	snprintf(w->why, sizeof(w->why), "%s", why);
}

static void make_child(struct world *w, const char *program, const char *script)
{
	const char *argv[] = {"sh", "-c", script, NULL};
	w->child = web_child_new(w->loop,
		&(struct web_child_options){
			.program = program, .argv = argv, .down = on_down, .arg = w});
}

static void on_timer(void *arg)
{
	struct world *w = arg;
	if (w->until(w) || mono_now().ns > w->deadline_ns)
		loop_stop(w->loop);
}

/* Run the loop until @until; the child's end arrives by itself. */
static void run_until(struct world *w, bool (*until)(struct world *w))
{
	w->until = until;
	w->deadline_ns = mono_now().ns + DEADLINE_NS;
	if (!w->timer)
		w->timer = loop_timer_new(w->loop, on_timer, w);
	loop_timer_start(w->timer, 10 * NS_PER_MS, 10 * NS_PER_MS);
	loop_run(w->loop);
	loop_timer_stop(w->timer);
	if (!until(w))
		fail_msg("not in time; down %d times: %s", w->downs, w->why);
}

static bool said(struct world *w)
{
	rw_cleanup(freep) char *text = NULL;
	if (str_read_file(w->file, 1 << 16, &text, NULL, NULL) != 0)
		return false;
	return strstr(text, w->expected) != NULL;
}

static bool is_down(struct world *w)
{
	return w->downs > 0;
}

static mono_t in(int64_t ns)
{
	return (mono_t){mono_now().ns + ns};
}

static void test_runs_reloads_stops(void **state)
{
	struct world *w = *state;
	const int leaked = open("/dev/null", O_RDONLY); /* without O_CLOEXEC, as a library may */
	signal(SIGPIPE, SIG_IGN);
	make_child(w, "/bin/sh",
		"trap 'echo reloaded >>$SAID' HUP; trap 'echo ended >>$SAID; exit 0' TERM; "
		"ls /proc/$$/fd | tr '\\n' ' ' >>$SAID; "
		"grep SigIgn /proc/$$/status >>$SAID; echo up >>$SAID; "
		"while :; do sleep 0.02; done");
	web_child_start(w->child);
	const pid_t pid = web_child_pid(w->child);
	assert_true(pid > 0);
	web_child_start(w->child); /* never a second one */
	assert_int_equal(web_child_pid(w->child), pid);
	assert_int_equal(web_child_starts(w->child), 1);
	w->expected = "up\n";
	run_until(w, said);
	char inherited[32];
	snprintf(inherited, sizeof(inherited), " %d ", leaked);
	w->expected = inherited;
	assert_false(said(w));
	rw_cleanup(freep) char *text = NULL;
	assert_int_equal(str_read_file(w->file, 1 << 16, &text, NULL, NULL), 0);
	const char *ignored = strstr(text, "SigIgn:");
	assert_non_null(ignored);
	assert_int_equal(strtoull(ignored + strlen("SigIgn:"), NULL, 16) & 1u << (SIGPIPE - 1), 0);
	web_child_reload(w->child);
	w->expected = "reloaded\n";
	run_until(w, said);
	web_child_stop(w->child);
	w->expected = "ended\n";
	assert_true(said(w));
	assert_int_equal(kill(pid, 0), -1); /* reaped */
	assert_int_equal(web_child_pid(w->child), 0);
	web_child_tick(w->child, in(3600 * NS_PER_S)); /* stopped stays stopped */
	assert_int_equal(web_child_pid(w->child), 0);
	assert_int_equal(w->downs, 0);
	close(leaked);
}

static void test_comes_back(void **state)
{
	struct world *w = *state;
	make_child(w, "/bin/sh", "echo x >>$SAID; [ $(wc -l <$SAID) -gt 1 ] || exit 3; sleep 60");
	web_child_start(w->child);
	run_until(w, is_down); /* at once, by the pidfd: nobody ticks here */
	assert_non_null(strstr(w->why, "exit code 3"));
	assert_int_equal(web_child_pid(w->child), 0);
	web_child_tick(w->child, in(NS_PER_S / 2));
	assert_int_equal(web_child_pid(w->child), 0); /* not yet */
	web_child_tick(w->child, in(NS_PER_S));
	assert_true(web_child_pid(w->child) > 0);
	assert_int_equal(web_child_starts(w->child), 2);

	w->downs = 0;
	kill(web_child_pid(w->child), SIGKILL);
	/* the second within a short time: told in the log later, no second event at once */
	int64_t deadline = mono_now().ns + DEADLINE_NS;
	while (web_child_pid(w->child) && mono_now().ns < deadline) {
		web_child_tick(w->child, mono_now());
		poll(NULL, 0, 10);
	}
	assert_int_equal(web_child_pid(w->child), 0);
	assert_int_equal(w->downs, 0);
}

/* 1, 2, 4, 8, 16, 30, 30 ... seconds between the attempts; a program that is missing counts too. */
static void test_gaps(void **state)
{
	static const int gaps[] = {1, 2, 4, 8, 16, 30, 30};
	struct world *w = *state;
	mono_t now = mono_now();
	make_child(w, "/nowhere/rocewatch", "");
	web_child_start(w->child);
	assert_int_equal(w->downs, 1);
	assert_non_null(strstr(w->why, "could not be started: No such file"));
	for (size_t i = 0; i < rw_countof(gaps); i++) {
		const uint64_t starts = web_child_starts(w->child);
		now.ns += gaps[i] * NS_PER_S - NS_PER_S / 2;
		web_child_tick(w->child, now);
		assert_int_equal(web_child_starts(w->child), starts);
		now.ns += NS_PER_S;
		web_child_tick(w->child, now);
		assert_int_equal(web_child_starts(w->child), starts + 1);
	}
}

static void test_stubborn(void **state)
{
	struct world *w = *state;
	make_child(w, "/bin/sh", "trap '' TERM; echo up >>$SAID; while :; do sleep 0.05; done");
	web_child_start(w->child);
	const pid_t pid = web_child_pid(w->child);
	w->expected = "up\n";
	run_until(w, said);
	web_child_stop(w->child);
	assert_int_equal(kill(pid, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_runs_reloads_stops, setup, teardown),
		cmocka_unit_test_setup_teardown(test_comes_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gaps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stubborn, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
