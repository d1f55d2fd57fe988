/* loop: timers, descriptors, signals, work and the mailbox; and that a callback may free its own
 * handle. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <errno.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "tests/patience.h"

#define DEADLINE_NS patience_ns(60 * NS_PER_S)

struct world {
	struct loop *loop;
	struct loop_timer *deadline, *timer;
	struct loop_fd *fd;
	struct loop_signal *signal;
	struct mailbox *mailbox;
	int count, events, fds[2];
	uint64_t sum, last[4];
	bool in_order, late;
	mono_t at;
};

static void on_deadline(void *arg)
{
	struct world *w = arg;
	w->late = true;
	loop_stop(w->loop);
}

static int begin(void **state)
{
	struct world *w = rw_calloc(1, sizeof(*w));
	if (loop_new(&w->loop) < 0)
		return -1;
	w->deadline = loop_timer_new(w->loop, on_deadline, w);
	loop_timer_start(w->deadline, DEADLINE_NS, 0);
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;
	loop_timer_free(w->deadline);
	loop_free(w->loop);
	free(w);
	return 0;
}

static void run(struct world *w)
{
	loop_run(w->loop);
	if (w->late)
		fail_msg("nothing came within the deadline");
}

static void on_once(void *arg)
{
	struct world *w = arg;
	w->count++;
	w->at = mono_now();
	loop_stop(w->loop);
}

static void test_timer_once_is_not_early(void **state)
{
	struct world *w = *state;
	struct loop_timer *t = loop_timer_new(w->loop, on_once, w);
	mono_t began = mono_now();
	loop_timer_start(t, 30 * NS_PER_MS, 0);
	run(w);
	assert_int_equal(w->count, 1);
	assert_true(w->at.ns - began.ns >= 29 * NS_PER_MS);
	loop_timer_free(t);
	loop_timer_free(NULL);
}

static void on_repeat(void *arg)
{
	struct world *w = arg;
	if (++w->count < 5)
		return;
	loop_timer_free(w->timer); /* its own handle */
	loop_stop(w->loop);
}

static void test_timer_repeats_and_frees_itself(void **state)
{
	struct world *w = *state;
	w->timer = loop_timer_new(w->loop, on_repeat, w);
	loop_timer_start(w->timer, 0, NS_PER_MS);
	run(w);
	assert_int_equal(w->count, 5);
}

static void never(void *arg)
{
	fail_msg("a stopped or freed timer fired");
}

static void test_timer_stopped_or_freed_stays_silent(void **state)
{
	struct world *w = *state;
	struct loop_timer *stopped = loop_timer_new(w->loop, never, w),
			  *freed = loop_timer_new(w->loop, never, w);
	struct loop_timer *t = loop_timer_new(w->loop, on_once, w);
	loop_timer_start(stopped, NS_PER_MS, 0);
	loop_timer_start(freed, NS_PER_MS, NS_PER_MS);
	loop_timer_stop(stopped);
	loop_timer_free(freed);
	loop_timer_start(t, 20 * NS_PER_MS, 0);
	run(w);
	assert_int_equal(w->count, 1);
	loop_timer_free(stopped);
	loop_timer_free(t);
}

static void on_readable(void *arg, int events)
{
	struct world *w = arg;
	char c;
	w->events |= events;
	if (read(w->fds[0], &c, 1) == 1)
		w->count++;
	loop_fd_free(w->fd); /* its own handle */
	loop_stop(w->loop);
}

static void test_fd(void **state)
{
	struct world *w = *state;
	assert_int_equal(pipe(w->fds), 0);
	w->fd = loop_fd_new(w->loop, w->fds[0], 0, on_readable, w);
	assert_non_null(w->fd);
	assert_int_equal(write(w->fds[1], "x", 1), 1);
	/* Paused: only the timer may fire. */
	struct loop_timer *t = loop_timer_new(w->loop, on_once, w);
	loop_timer_start(t, 10 * NS_PER_MS, 0);
	run(w);
	assert_int_equal(w->events, 0);
	w->count = 0;
	loop_fd_events(w->fd, LOOP_READ);
	run(w);
	assert_int_equal(w->count, 1);
	assert_int_equal(w->events, LOOP_READ);
	loop_timer_free(t);
	close(w->fds[0]);
	close(w->fds[1]);
}

static void on_signal(void *arg, int signum)
{
	struct world *w = arg;
	w->count = signum;
	loop_stop(w->loop);
}

static void test_signal(void **state)
{
	struct world *w = *state;
	w->signal = loop_signal_new(w->loop, SIGHUP, on_signal, w);
	assert_non_null(w->signal);
	kill(getpid(), SIGHUP);
	run(w);
	assert_int_equal(w->count, SIGHUP);
	loop_signal_free(w->signal);
	assert_null(loop_signal_new(w->loop, 12345, on_signal, w));
}

struct job {
	struct world *w;
	pthread_t worked_on;
	bool worked;
};

static void work(void *arg)
{
	struct job *j = arg;
	j->worked_on = pthread_self();
	j->worked = true;
}

static void work_done(void *arg)
{
	struct job *j = arg;
	j->w->count += j->worked && !pthread_equal(j->worked_on, pthread_self());
	loop_stop(j->w->loop);
	free(j);
}

static const struct loop_job worked_on = {
	.limit_ns = 3600 * NS_PER_S, .work = work, .done = work_done};

static void test_work(void **state)
{
	struct world *w = *state;
	struct job *j = rw_calloc(1, sizeof(*j));
	j->w = w;
	assert_int_equal(loop_work(w->loop, &worked_on, j), 0);
	run(w);
	assert_int_equal(w->count, 1);
}

/* Work that waits for a pipe, as for a file on a mount that hangs. .events are late, .count ended.
 */
static void work_hangs(void *arg)
{
	char byte;
	(void)!read(((struct world *)arg)->fds[0], &byte, 1);
}

static void work_is_late(void *arg)
{
	struct world *w = arg;
	if (++w->events == LOOP_JOB_LATE_MAX)
		loop_stop(w->loop);
}

static void work_ended(void *arg)
{
	struct world *w = arg;
	if (++w->count == LOOP_JOB_LATE_MAX)
		loop_stop(w->loop);
}

static const struct loop_job hanging = {
	.limit_ns = 1, .work = work_hangs, .done = work_ended, .late = work_is_late};

/* Each gets a thread in the place of one that is late; another kind does not wait for them. */
static void test_work_without_end(void **state)
{
	struct world *w = *state;
	assert_int_equal(pipe(w->fds), 0);
	for (int i = 0; i < LOOP_JOB_LATE_MAX; i++)
		assert_int_equal(loop_work(w->loop, &hanging, w), 0);
	run(w);
	assert_int_equal(w->count, 0);
	assert_int_equal(loop_work(w->loop, &hanging, w), -EAGAIN);
	test_work(state);
	close(w->fds[1]);
	w->count = 0;
	run(w);
	assert_int_equal(w->events, LOOP_JOB_LATE_MAX);
	close(w->fds[0]);
}

enum { SENDERS = 4, MESSAGES = 20000 };

struct sender {
	struct mailbox *mailbox;
	uint64_t id;
	uint64_t refused;
};

static void *send_all(void *arg)
{
	struct sender *s = arg;
	for (uint64_t i = 1; i <= MESSAGES; i++)
		while (!mailbox_post(s->mailbox, (void *)(uintptr_t)(s->id << 32 | i))) {
			s->refused++;
			sched_yield();
		}
	return NULL;
}

static void on_message(void *arg, void *message)
{
	struct world *w = arg;
	uint64_t v = (uintptr_t)message, from = v >> 32, i = v & UINT32_MAX;
	w->in_order &= i == w->last[from] + 1;
	w->last[from] = i;
	if (++w->count == SENDERS * MESSAGES)
		loop_stop(w->loop);
}

static void test_mailbox_across_threads(void **state)
{
	struct world *w = *state;
	pthread_t threads[SENDERS];
	struct sender senders[SENDERS];

	w->in_order = true;
	/* small: senders must meet a full one */
	w->mailbox = mailbox_new(w->loop, 16, on_message, w);
	for (uint64_t i = 0; i < SENDERS; i++) {
		senders[i] = (struct sender){.mailbox = w->mailbox, .id = i};
		assert_int_equal(pthread_create(&threads[i], NULL, send_all, &senders[i]), 0);
	}
	loop_run(w->loop);
	for (int i = 0; i < SENDERS; i++)
		pthread_join(threads[i], NULL);
	mailbox_free(w->mailbox);
	assert_false(w->late);
	assert_int_equal(w->count, SENDERS * MESSAGES);
	assert_true(w->in_order); /* first in, first out, per sender */
}

static void count_message(void *arg, void *message)
{
	struct world *w = arg;
	w->sum = w->sum * 10 + (uintptr_t)message;
}

static void test_mailbox_is_bounded_and_empties_on_free(void **state)
{
	struct world *w = *state;
	w->mailbox = mailbox_new(w->loop, 3, count_message, w);
	for (uintptr_t i = 1; i <= 3; i++)
		assert_true(mailbox_post(w->mailbox, (void *)i));
	assert_false(mailbox_post(w->mailbox, (void *)(uintptr_t)4));
	assert_int_equal(w->sum, 0);
	mailbox_free(w->mailbox);
	assert_int_equal(w->sum, 123);
	mailbox_free(NULL);
}

static void free_own_mailbox(void *arg, void *message)
{
	struct world *w = arg;
	struct mailbox *m = w->mailbox;
	w->count++;
	w->mailbox = NULL;
	mailbox_free(m); /* hands over the second message, from within the first */
	loop_stop(w->loop);
}

static void test_mailbox_frees_itself(void **state)
{
	struct world *w = *state;
	w->mailbox = mailbox_new(w->loop, 8, free_own_mailbox, w);
	mailbox_post(w->mailbox, (void *)(uintptr_t)1);
	mailbox_post(w->mailbox, (void *)(uintptr_t)2);
	run(w);
	assert_int_equal(w->count, 2);
}

static void test_loop_time_is_monotonic_clock(void **state)
{
	struct world *w = *state;
	struct loop_timer *t = loop_timer_new(w->loop, on_once, w);
	loop_timer_start(t, NS_PER_MS, 0);
	run(w);
	int64_t apart = mono_now().ns - loop_now(w->loop).ns;
	assert_true(apart >= 0 && apart < DEADLINE_NS);
	loop_timer_free(t);
}

enum { AGAIN = 1000 };

static void on_again(void *arg)
{
	struct world *w = arg;
	if (++w->count < AGAIN)
		loop_timer_start(w->timer, 0, 0);
}

static void on_between(void *arg, int ready)
{
	struct world *w = arg;
	(void)ready;
	loop_stop(w->loop);
}

/* Work in slices starts its timer of 0 again and again: what else is ready comes between. */
static void test_timer_of_zero_lets_others_work(void **state)
{
	struct world *w = *state;
	assert_int_equal(pipe(w->fds), 0);
	assert_int_equal(write(w->fds[1], "x", 1), 1);
	w->timer = loop_timer_new(w->loop, on_again, w);
	w->fd = loop_fd_new(w->loop, w->fds[0], LOOP_READ, on_between, w);
	loop_timer_start(w->timer, 0, 0);
	run(w);
	assert_true(w->count < AGAIN);
	loop_timer_free(w->timer);
	loop_fd_free(w->fd);
	close(w->fds[0]);
	close(w->fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_timer_once_is_not_early, begin, end),
		cmocka_unit_test_setup_teardown(test_timer_repeats_and_frees_itself, begin, end),
		cmocka_unit_test_setup_teardown(
			test_timer_stopped_or_freed_stays_silent, begin, end),
		cmocka_unit_test_setup_teardown(test_timer_of_zero_lets_others_work, begin, end),
		cmocka_unit_test_setup_teardown(test_fd, begin, end),
		cmocka_unit_test_setup_teardown(test_signal, begin, end),
		cmocka_unit_test_setup_teardown(test_work, begin, end),
		cmocka_unit_test_setup_teardown(test_work_without_end, begin, end),
		cmocka_unit_test_setup_teardown(test_mailbox_across_threads, begin, end),
		cmocka_unit_test_setup_teardown(
			test_mailbox_is_bounded_and_empties_on_free, begin, end),
		cmocka_unit_test_setup_teardown(test_mailbox_frees_itself, begin, end),
		cmocka_unit_test_setup_teardown(test_loop_time_is_monotonic_clock, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
