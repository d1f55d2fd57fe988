/*
 * loop - our wrapper of libuv. One loop thread owns all state; callbacks run on it, must not
 * block, and may free their own handle (freeing is two steps inside: stop now, release at the end
 * of the turn). Everything here is for the loop thread only, except loop_work's @work function and
 * mailbox_post().
 */
#ifndef RW_BASE_LOOP_H
#define RW_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include "base/clock.h"

struct loop;
struct loop_timer;
struct loop_fd;
struct loop_signal;

int loop_new(struct loop **ret);
/* all handles must have been freed; runs the last turn that releases them, and waits for the work
 * of pool threads, however long that takes (agent/jail/stop_guard.h) */
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

/* Run @work on a pool thread (name resolution, SNMPv3 key work), then @done on the loop. @arg is
 * owned by the pair. */
typedef void loop_work_fn(void *arg);
int loop_work(struct loop *loop, loop_work_fn *work, loop_work_fn *done, void *arg);

/* A mailbox carries pointers from other threads to the loop; bounded, FIFO, wakes the loop. */
struct mailbox;
typedef void mailbox_fn(void *arg, void *message);
struct mailbox *mailbox_new(struct loop *loop, uint32_t capacity, mailbox_fn *fn, void *arg);
/* any thread; false when full: the sender keeps the message and counts */
bool mailbox_post(struct mailbox *mailbox, void *message);
/* loop thread, once no sender is left; undelivered messages are handed to @fn first */
void mailbox_free(struct mailbox *mailbox);

#endif
