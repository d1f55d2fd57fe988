/*
 * loop - our wrapper of libuv. One loop thread owns all state; callbacks run on it, must not
 * block, and may free their own handle (freeing is two steps inside: stop now, release at the end
 * of the turn). Everything here is for the loop thread only, except loop_work's @work function and
 * mailbox_post().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/clock.h"

struct loop;
struct loop_timer;
struct loop_fd;
struct loop_signal;

int loop_new(struct loop **ret);
/* all handles must have been freed; runs the last turn that releases them, and waits for the
 * threads of loop_work(), however long that takes (agent/jail/stop_guard.h) */
void loop_free(struct loop *loop);
int loop_run(struct loop *loop); /* until loop_stop() or nothing is left */
void loop_stop(struct loop *loop);
mono_t loop_now(struct loop *loop); /* the turn's time, CLOCK_MONOTONIC */

/*
 * loop_away_ns - how long, since the loop began, its own callbacks kept everything else waiting:
 * the sum of all turns above 50 ms. What became late meanwhile is not late because of its peer.
 */
int64_t loop_away_ns(const struct loop *loop);

/* Timers fire at or after the time, ms grain, never early by more than 1 ms. Created stopped. One
 * of 0 fires in a later turn than this one: what starts itself again lets others work between. */
typedef void loop_timer_fn(void *arg);
struct loop_timer *loop_timer_new(struct loop *loop, loop_timer_fn *fn, void *arg);
/* repeat 0 = once; restarts */
void loop_timer_start(struct loop_timer *timer, int64_t delay_ns, int64_t repeat_ns);
void loop_timer_stop(struct loop_timer *timer);
void loop_timer_free(struct loop_timer *timer); /* NULL is fine */

/* File descriptors. The fd stays the caller's and must outlive the handle. NULL when this fd cannot
 * be waited for (a regular file). */
enum { LOOP_READ = 1, LOOP_WRITE = 2 };
typedef void loop_fd_fn(void *arg, int events);
struct loop_fd *loop_fd_new(struct loop *loop, int fd, int events, loop_fd_fn *fn, void *arg);
void loop_fd_events(struct loop_fd *fd, int events); /* 0 pauses */
void loop_fd_free(struct loop_fd *fd);

typedef void loop_signal_fn(void *arg, int signum); /* NULL from _new: no such signal */
struct loop_signal *loop_signal_new(struct loop *loop, int signum, loop_signal_fn *fn, void *arg);
void loop_signal_free(struct loop_signal *signal);

/*
 * loop_work - @job->work(@arg) on a thread of its own, then @job->done(@arg) on the loop. @arg is
 * owned by the pair.
 *
 * Of one kind of work at most LOOP_JOB_THREADS run at once, the others wait in turn; kinds never
 * wait for each other. Work waits for things that may never answer (a name server, a file on a
 * mount that hangs): what takes longer than @job->limit_ns is late. Then @job->late(@arg) is called
 * on the loop, once, where given, and its place goes to the next; the thread may still write to
 * @arg, and done() follows if it ever ends.
 *
 * -EAGAIN when LOOP_JOB_LATE_MAX of the kind are late or no thread could be made: nothing is called
 * then.
 */
enum { LOOP_JOB_THREADS = 4, LOOP_JOB_LATE_MAX = 16 };
typedef void loop_work_fn(void *arg);
struct loop_job { /* a kind of work: a constant, known by its address */
	int64_t limit_ns; /* of one piece, from its begin; held within a quarter of a second */
	loop_work_fn *work, *done, *late;
};
int loop_work(struct loop *loop, const struct loop_job *job, void *arg);

/* A mailbox carries pointers from other threads to the loop; bounded, FIFO, wakes the loop. */
struct mailbox;
typedef void mailbox_fn(void *arg, void *message);
struct mailbox *mailbox_new(struct loop *loop, uint32_t capacity, mailbox_fn *fn, void *arg);
/* any thread; false when full: the sender keeps the message and counts */
bool mailbox_post(struct mailbox *mailbox, void *message);
/* loop thread, once no sender is left; undelivered messages are handed to @fn first */
void mailbox_free(struct mailbox *mailbox);
