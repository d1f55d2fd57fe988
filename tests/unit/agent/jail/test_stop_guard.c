/*
 * The end of a process whose loop has work on a pool thread that never ends: it ends in time, as an
 * ordered stop, and says why. One whose work ends returns as always. In children: the guard ends
 * its process.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/loop.h"
#include "agent/jail/stop_guard.h"

#define HANGS_S 60 /* the child is ended by an alarm then; the guard is far quicker */
#define CHILD_RETURNED 7

struct child {
	struct loop *loop;
	int hold[2]; /* the work reads: nothing comes, or its end */
	bool let_go;
	struct loop_timer *ready;
	int told; /* the parent reads that the loop runs */
};

static void child_work(void *arg)
{
	struct child *child = arg;
	char byte;
	(void)!read(child->hold[0], &byte, 1);
}

static void child_worked(void *arg)
{
}

static const struct loop_job child_job = {
	.limit_ns = HANGS_S * NS_PER_S, .work = child_work, .done = child_worked};

static void child_on_term(void *arg, int signum)
{
	loop_stop(((struct child *)arg)->loop);
}

static void child_on_ready(void *arg)
{
	struct child *child = arg;
	(void)!write(child->told, "r", 1);
}

static void child_main(int told, bool let_go)
{
	struct child child = {.told = told};
	alarm(HANGS_S);
	if (pipe(child.hold) != 0 || loop_new(&child.loop) != 0)
		_exit(90);
	struct loop_signal *term = loop_signal_new(child.loop, SIGTERM, child_on_term, &child);
	child.ready = loop_timer_new(child.loop, child_on_ready, &child);
	if (stop_guard_start() != 0 || loop_work(child.loop, &child_job, &child) != 0)
		_exit(91);
	loop_timer_start(child.ready, 0, 0);
	loop_run(child.loop);
	stop_guard_stopping();
	loop_timer_free(child.ready);
	if (let_go)
		close(child.hold[1]);
	stop_guard_pool();
	loop_signal_free(term);
	loop_free(child.loop);
	stop_guard_done();
	_exit(CHILD_RETURNED);
}

/* Exit code of a child that is told to stop; negative: the signal that ended it. */
static int child_stopped(bool let_go, char *ret_said, size_t size)
{
	int told[2], said[2], status;
	char byte;
	size_t n = 0;
	ssize_t got;
	assert_int_equal(pipe(told), 0);
	assert_int_equal(pipe(said), 0);
	const pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(said[1], STDERR_FILENO);
		close(said[0]);
		close(said[1]);
		child_main(told[1], let_go);
	}
	close(told[1]);
	close(said[1]);
	assert_int_equal(read(told[0], &byte, 1), 1);
	kill(pid, SIGTERM);
	while (n + 1 < size && (got = read(said[0], ret_said + n, size - 1 - n)) > 0)
		n += (size_t)got;
	ret_said[n] = '\0';
	waitpid(pid, &status, 0);
	close(told[0]);
	close(said[0]);
	if (WIFSIGNALED(status))
		return -WTERMSIG(status);
	return WEXITSTATUS(status);
}

static void test_work_without_end(void **state)
{
	char said[4000];
	const int64_t begin_ns = mono_now().ns;
	const int code = child_stopped(false, said, sizeof(said));
	if (code != 0 || !strstr(said, "leaving without it; everything is stored"))
		fail_msg("ended with %d, said '%s'", code, said);
	assert_true(mono_now().ns - begin_ns >= STOP_GUARD_POOL_NS);
}

static void test_work_that_ends(void **state)
{
	char said[4000];
	assert_int_equal(child_stopped(true, said, sizeof(said)), CHILD_RETURNED);
	assert_string_equal(said, "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work_without_end),
		cmocka_unit_test(test_work_that_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
